# %% [markdown]
# # A thousand time steps
# Heat spreads in a square, du/dt = div grad u, by implicit steps: lambda v - div grad v = lambda u, lambda = 1/dt. The
# solver is set up once; arrays go in and out without copies; the second half has steps of another length.

# %%
import time

import facet
import numpy as np

dt = [1e-4, 5e-4]
mesh = facet.box([0, 0], [np.pi, np.pi], [4, 4], shape="quad")
step = facet.Diffusion(mesh, reaction=1 / dt[0]).dirichlet("rest", 0)
solver = step.prepare(degree=6, postprocess=False)

# %%
x = solver.points
shape = np.sin(x[:, 0]) * np.sin(x[:, 1])
u, source = shape.copy(), np.empty(len(x))
amplitude = 1.0
begin = time.perf_counter()
for half in (0, 1):
    if half:
        solver.set_reaction(1 / dt[1])
    for i in range(500):
        np.multiply(u, 1 / dt[half], out=source)
        solver.solve(source, out=u)
        amplitude /= 1 + 2 * dt[half]
print(f"{(time.perf_counter() - begin) / 1000 * 1e6:.0f} us a step")

# %% [markdown]
# In every step the amplitude of this mode is divided by 1 + 2 dt.

# %%
error = np.abs(u - amplitude * shape).max()
print("error", error)
assert error < 1e-6

# %% [markdown]
# Data that follow the time: t in expressions, and in functions that ask for it by name.

# %%
moving = facet.Diffusion(mesh, source=lambda x, t: np.exp(-((x - 1.5 - np.cos(t)) ** 2).sum(axis=1)))
moving.dirichlet("rest", "0.1*sin(t)")
solver = moving.prepare(degree=3)
for t in np.linspace(0, 1, 5):
    solver.set(t=t).solve()
    print(f"t = {t:.2f}: mean {solver.solution.mean():.6f}")
