# %% [markdown]
# # A manufactured solution and its orders
# With an exact solution the source and the boundary data follow from it, and errors are measured. Errors of u and q
# fall as h^(p+1), those of u_star as h^(p+2).

# %%
import facet
import numpy as np

rows = []
for degree in (1, 2, 3):
    for n in (4, 8, 16):
        problem = facet.Diffusion(facet.box([0, 0], [1, 1], [n, n]), conductivity="1 + x*y", exact="sin(pi*x)*cos(y)")
        errors = problem.solve(degree=degree).errors
        rows.append((degree, n, errors["u_L2"], errors["q_L2"], errors["u_star_L2"]))

# %%
print("  p    n          u   order          q   order     u_star   order")
for i, (degree, n, *errors) in enumerate(rows):
    line = f"{degree:3d} {n:4d}"
    for k, error in enumerate(errors):
        order = np.log2(rows[i - 1][2 + k] / error) if n > 4 else np.nan
        line += f"  {error:9.2e}  {order:6.2f}" if n > 4 else f"  {error:9.2e}        "
    print(line)

# %%
for degree in (1, 2, 3):
    coarse, fine = [np.array(row[2:]) for row in rows if row[0] == degree][1:]
    assert np.all(np.log2(coarse / fine) > np.array([degree + 1, degree + 1, degree + 2]) - 0.25)

# %% [markdown]
# The exact solution in Python, for a norm of one's own: the maximum over points of the solver.

# %%
solver = problem.prepare(degree=3)
u, x = solver.solve(), solver.points
print("largest error at the points", np.abs(u - np.sin(np.pi * x[:, 0]) * np.cos(x[:, 1])).max())
