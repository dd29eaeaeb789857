"""One problem, solved once by NGSolve, as a user of it would write it after its documentation.

    python peer.py '{"mesh": FILE, "equation": ..., "order": ..., "solver": ..., ...}'

Prints a JSON object: seconds and processor seconds of everything behind the mesh, of the solve alone, unknowns,
iterations, the L2 error, and the memory above that of the interpreter with the library and the mesh. run.py calls it.
"""

import json
import os
import resource
import sys
import time

from netgen.read_gmsh import ReadGmsh
from ngsolve import (BND, BilinearForm, CGSolver, CoefficientFunction, Grad, GridFunction, H1, InnerProduct, Integrate,
                     LinearForm, Mesh, Preconditioner, SetNumThreads, Sym, TaskManager, Trace, VectorH1, cos, dx, exp,
                     grad, pi, sin, x, y, z)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def function(text):
    """An expression of facet's language (products, powers, sin, cos, exp) as a coefficient function."""
    return eval(text.replace("^", "**"), {"sin": sin, "cos": cos, "exp": exp, "pi": pi, "x": x, "y": y, "z": z})


def laplacian(u, dim):
    return sum(u.Diff(c).Diff(c) for c in (x, y, z)[:dim])


def gradient(u, dim):
    return [u.Diff(c) for c in (x, y, z)[:dim]]


def diffusion(mesh, case):
    K = mesh.MaterialCF(case["conductivity"]) if isinstance(case["conductivity"], dict) else CoefficientFunction(1)
    flow = function(case["exact"])  # u K, whose gradient is continuous
    exact, source = flow / K, -laplacian(flow, mesh.dim)
    space = H1(mesh, order=case["order"], dirichlet=".*")
    u, v = space.TnT()
    a = BilinearForm(space, symmetric=True, condense=True)
    a += K * grad(u) * grad(v) * dx
    f = LinearForm(source * v * dx)
    return space, a, f, exact, flow  # where K is not 1, u is zero on the boundary


def elasticity(mesh, case):
    mu, lam = case["mu"], case["lambda"]
    exact = CoefficientFunction(tuple(function(t) for t in case["exact"]))
    g = [gradient(exact[i], mesh.dim) for i in range(mesh.dim)]
    div = sum(g[i][i] for i in range(mesh.dim))
    stress = [[mu * (g[i][j] + g[j][i]) + (lam * div if i == j else 0) for j in range(mesh.dim)]
              for i in range(mesh.dim)]
    axes = (x, y, z)[:mesh.dim]
    source = CoefficientFunction(tuple(-sum(stress[i][j].Diff(axes[j]) for j in range(mesh.dim))
                                       for i in range(mesh.dim)))
    space = VectorH1(mesh, order=case["order"], dirichlet=".*")
    u, v = space.TnT()
    a = BilinearForm(space, symmetric=True, condense=True)
    a += (2 * mu * InnerProduct(Sym(Grad(u)), Sym(Grad(v))) + lam * Trace(Grad(u)) * Trace(Grad(v))) * dx
    f = LinearForm(source * v * dx)
    return space, a, f, exact, exact


def solve(mesh, case):
    space, a, f, exact, outside = (elasticity if case["equation"] == "elasticity" else diffusion)(mesh, case)
    result = {"unknowns": space.ndof}
    gf = GridFunction(space)
    gf.Set(outside, BND)
    pre = Preconditioner(a, "bddc") if case["solver"] == "bddc" else None
    a.Assemble()
    f.Assemble()
    begin = time.perf_counter()
    r = f.vec - a.mat * gf.vec
    r += a.harmonic_extension_trans * r
    if pre is not None:
        inverse = CGSolver(a.mat, pre.mat, tol=case["rtol"], maxiter=2000)
    else:
        inverse = a.mat.Inverse(space.FreeDofs(True), inverse="sparsecholesky")
    gf.vec.data += inverse * r
    gf.vec.data += a.harmonic_extension * gf.vec
    gf.vec.data += a.inner_solve * r
    result["solve"] = time.perf_counter() - begin
    result["iterations"] = inverse.iterations if pre is not None else 1
    e = gf - exact
    result["error"] = Integrate(InnerProduct(e, e), mesh, order=2 * case["order"]) ** 0.5
    return result


def main():
    case = json.loads(sys.argv[1])
    SetNumThreads(case["threads"])
    mesh = Mesh(ReadGmsh(case["mesh"]))
    before = resident()
    with TaskManager():
        wall, cpu = time.perf_counter(), time.process_time()
        result = solve(mesh, case)
        result["seconds"] = time.perf_counter() - wall
        result["cpu"] = time.process_time() - cpu
    result["bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    print("RESULT " + json.dumps(result))


main()
