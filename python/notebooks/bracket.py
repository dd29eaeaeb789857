# %% [markdown]
# # A bracket: heat into stress
# A steel foot, an upright of aluminium, bolts below. The mesh is made of arrays: cells of a grid of which an L is kept.

# %%
import facet
import numpy as np

nx, ny, nz = 5, 2, 5
grid = np.stack(np.meshgrid(np.linspace(0, 0.1, nx + 1), np.linspace(0, 0.04, ny + 1), np.linspace(0, 0.1, nz + 1),
                            indexing="ij"), -1)
number = np.arange(grid[..., 0].size).reshape(grid.shape[:3])


def corners(i, j, k):
    """Of a hex, in the order of Gmsh and VTK."""
    return [number[i + a, j + b, k + c] for c in (0, 1) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]


kept = [(i, j, k) for i in range(nx) for j in range(ny) for k in range(nz) if k == 0 or i == 0]
foot = [m for m, (i, j, k) in enumerate(kept) if k == 0]
upright = [m for m, (i, j, k) in enumerate(kept) if k > 0]
bolts = [[number[i + a, j + b, 0] for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))] for i in (2, 4) for j in range(ny)]
top = [[number[a, j + b, nz] for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))] for j in range(ny)]
rest = [[number[0, j + a, k + b] for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))] for j in range(ny) for k in range(nz)]
mesh = facet.Mesh(grid.reshape(-1, 3), {"hex": [corners(*cell) for cell in kept]},
                  {"steel": foot, "aluminium": upright, "bolts": bolts, "top": top, "back": rest})
mesh

# %% [markdown]
# Heat: a source in the aluminium, air all around, and bolts that hold their temperature.

# %%
heat = facet.Diffusion(mesh, conductivity={"steel": 45, "aluminium": 180})
heat.source["aluminium"] = 2e5
heat.robin("rest", a=25, g=25 * 20)
heat.dirichlet("bolts", lambda x: 80 + 5 * x[:, 0])
T = heat.solve(degree=2)
print("hottest", T.max(), "into the bolts", T.flux("bolts"), "at a point", T([0.01, 0.02, 0.08]))
assert abs(T.flux(["bolts", "rest"]) / (2e5 * T.integral("u", on="aluminium") / T.mean("u", on="aluminium")) - 1) < 1e-6

# %% [markdown]
# Stress: the temperature is that solution, a pressure acts from above.

# %%
body = facet.Elasticity(mesh, E={"steel": 210e9, "aluminium": 70e9}, nu=0.3)
body.thermal(T, expansion={"steel": 1.2e-5, "aluminium": 2.3e-5}, reference=20)
body.fixed("bolts").pressure("top", 1e6).free()
u = body.solve(degree=1)
force = u.reaction("bolts")
print("reaction", force, "largest displacement", u.max(), "largest stress", u.max("von_mises"))
area = 0.04 * 0.1 / nx  # of the top
assert abs(force[2] / (1e6 * area) - 1) < 1e-6

# %%
try:
    u.plot("von_mises", clip="y", deform=50)
except ImportError:
    print("no matplotlib: no picture")
u.save("bracket.vtu")
