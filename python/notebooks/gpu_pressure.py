# %% [markdown]
# # A flow code's pressure solve on the GPU
# Right-hand side and pressure are arrays of the GPU (CuPy, PyTorch, or facet's own): nothing of the size of the problem
# goes to the host and back. Without a GPU, or where the library was built without CUDA, the same is shown on the device
# `debug`, whose memory the host cannot reach either; and this is said.

# %%
import facet
import numpy as np

try:
    context = facet.Context("cuda")
    n, degree = 32, 7
except facet.Error as error:
    print("SKIPPED on the GPU:", error)
    context, n, degree = facet.Context("debug"), 4, 3

# %%
mesh = facet.box([0, 0, 0], [2 * np.pi] * 3, [n, n, n], shape="hex", periodic="xy", context=context)
pressure = facet.Diffusion(mesh).dirichlet("rest", 0)
solver = pressure.prepare(degree=degree, method="cg", postprocess=False)
print(solver)

# %% [markdown]
# A divergence whose pressure is known: div grad p = f with p = sin x cos y sin(z/2).

# %%
x = solver.points
wanted = np.sin(x[:, 0]) * np.cos(x[:, 1]) * np.sin(x[:, 2] / 2)
try:
    if context.device != "cuda":
        raise ImportError
    import cupy
    f = cupy.asarray(2.25 * wanted)
    p = cupy.empty_like(f)
    solver.solve(f, out=p)
    got = cupy.asnumpy(p)
except ImportError:
    f = context.array(2.25 * wanted)
    got = solver.solve(f).read()

# %%
error = np.abs(got - wanted).max()
print("device", context.device, "error", error, "iterations", solver.solution.report.iterations)
assert error < (1e-7 if context.device == "cuda" else 2e-2)
