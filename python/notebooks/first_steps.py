# %% [markdown]
# # First steps
# A plate with a hot spot: a mesh, an equation, conditions, a solution, and what can be asked of it. Cells of this
# file are marked by `# %%`: Jupyter (by jupytext), VS Code and Spyder show it as a notebook; Python runs it as it is.

# %%
import facet
import numpy as np

print("facet", facet.version())
mesh = facet.box([0, 0], [2, 1], [16, 8])  # sides are called xmin, xmax, ymin, ymax
mesh

# %% [markdown]
# `reaction u - div(conductivity grad u) = source`. Data are numbers, expressions, functions of points, or by group.

# %%
heat = facet.Diffusion(mesh, conductivity=45)
heat.source = "1e5*exp(-((x - 1)^2 + (y - 0.5)^2)/0.1^2)"
heat.dirichlet("xmin", 20)                                   # u = 20
heat.robin("xmax", a=25, g=25 * 20)                          # K grad u . n + 25 u = 25 * 20
heat.neumann("rest", lambda x, n: 10 * np.ones(len(x)))      # a little heat from all other sides

# %% [markdown]
# Degree 4, and everything else chosen: the solution has u, its flux q = -K grad u, and post-processed u_star, q_star.

# %%
T = heat.solve(degree=4)
T

# %%
print("hottest      ", T.max(), "mean", T.mean())
print("at a point   ", T([1.0, 0.5]), "along a line", T(np.column_stack([np.linspace(0, 2, 5), np.full(5, 0.5)])))
print("flux out     ", T.flux("xmin"), T.flux("xmax"))

# %% [markdown]
# What comes in goes out: the source, and 10 through ymin and ymax, which together are 4 long.

# %%
rule = mesh.quadrature(20)
source = 1e5 * np.exp(-((rule.x[:, 0] - 1) ** 2 + (rule.x[:, 1] - 0.5) ** 2) / 0.1 ** 2)
into = source @ rule.weights + 10 * 4
out = T.flux(["xmin", "xmax"])
print("balance      ", into, out)
assert abs(into - out) < 1e-3 * abs(into)

# %% [markdown]
# A picture, where matplotlib is installed; ParaView opens what `save` writes.

# %%
try:
    T.plot("u")
except ImportError:
    print("no matplotlib: no picture")
T.save("first_steps.vtu")
