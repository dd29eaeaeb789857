"""Solves over several processes against those of one: values, errors and balance, iterations, and what is refused.
FACET_PROGRAM and FACET_MPI_PROGRAM say where the programs are."""

import json
import math
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program"))
import mpi_ranks  # noqa: E402
from mpi_ranks import MPI  # noqa: E402
from test_app import SOURCE, Program  # noqa: E402

# Of what both find with a tolerance of 1e-12: the residual times the condition of these small systems, below 1e3.
SAME = 1e-9

DIFFUSION = """equation: diffusion
conductivity: 1 + x*y/2
exact: sin(2*x)*cos(y){z}
boundary: [{{on: xmin, dirichlet: exact}}, {{on: xmax, robin: {{a: 10, g: exact}}}}, {{on: rest, neumann: exact}}]
discretization: {{degree: {degree}, operator: mapped}}
solver: {{rtol: 1.0e-12, {solver}}}
values:
  - {{name: mean, field: u, take: mean}}
  - {{name: most, field: u, take: max}}
  - {{name: out, field: flux, take: integral, on: xmax}}
  - {{name: here, field: u, at: {point}}}
"""
ELASTICITY = """equation: elasticity
material: {{E: 1, nu: {nu}}}
source: [0, {weight}]
boundary: [{{on: xmin, displacement: [{zeros}]}}, {{on: rest, traction: [{zeros}]}}]
discretization: {{degree: 2}}
solver: {{rtol: 1.0e-12, method: cg, preconditioner: pmg}}
values:
  - {{name: tip, field: u, take: max}}
  - {{name: support, field: traction, take: integral, on: xmin}}
"""


def box(shape, dim, n, more=""):
    return (f"mesh: {{box: {{lower: {[0] * dim}, upper: {[2] + [1] * (dim - 1)}, cells: {[2 * n] + [n] * (dim - 1)}, "
            f"shape: {shape}{more}}}}}\n")


def diffusion(shape, n, degree, solver="method: cg, preconditioner: pmg", more=""):
    dim = 2 if shape in ("triangle", "quad") else 3
    return box(shape, dim, n, more) + DIFFUSION.format(
        z="*exp(z/2)" if dim == 3 else "", degree=degree, solver=solver, point=[0.31, 0.47, 0.23][:dim])


def write_squares(path, n, lefts):
    """A Gmsh file of unit squares of triangles that touch nowhere, with parts left0, right0, left1, ..."""
    nodes, triangles, lines = [], [], []
    for k, x in enumerate(lefts):
        first = len(nodes) + 1
        nodes += [(x + i / n, j / n) for j in range(n + 1) for i in range(n + 1)]
        for j in range(n):
            row, above = first + j * (n + 1), first + (j + 1) * (n + 1)
            lines += [(2 * k + 1, row, above), (2 * k + 2, row + n, above + n)]
            for i in range(n):
                triangles += [(row + i, row + i + 1, above + i + 1), (row + i, above + i + 1, above + i)]
    names = [f'1 {2 * k + 1 + side} "{word}{k}"' for k in range(len(lefts)) for side, word in enumerate(("left", "right"))]
    elements = [f"1 2 {tag} {tag} {a} {b}" for tag, a, b in lines] + [f"2 2 99 1 {a} {b} {c}" for a, b, c in triangles]
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", str(len(names) + 1), *names,
                              '2 99 "body"', "$EndPhysicalNames", "$Nodes", str(len(nodes)),
                              *(f"{i + 1} {x} {y} 0" for i, (x, y) in enumerate(nodes)), "$EndNodes", "$Elements",
                              str(len(elements)), *(f"{i + 1} {text}" for i, text in enumerate(elements)), "$EndElements", ""]))


def write_bricks(path, n, size, moved):
    """A Gmsh file of n^d quads or hexes of a square or cube, whose cells and vertices are numbered and turned at random, so
    that faces and edges run either way; inner vertices are displaced by up to `moved` of a cell. The side x = 0 is "left"."""
    import itertools
    import random
    dice = random.Random(1)
    dim = len(n)
    points = list(itertools.product(*(range(m + 1) for m in n)))
    tags = list(range(1, len(points) + 1))
    dice.shuffle(tags)
    tag = dict(zip(points, tags))
    inner = {p for p in points if all(0 < c < m for c, m in zip(p, n))}
    places = sorted((tag[p], [size * (c + (dice.uniform(-moved, moved) if p in inner else 0)) for c in p]) for p in points)
    square = [(0, 0), (1, 0), (1, 1), (0, 1)]
    cube = [(*c, 0) for c in square] + [(*c, 1) for c in square]
    corners, turns = (square, ([1, 2, 3, 0],)) if dim == 2 else (cube, ([1, 2, 3, 0, 5, 6, 7, 4], [4, 0, 3, 7, 5, 1, 2, 6]))
    elements = []
    for cell in itertools.product(*map(range, n)):
        order = list(range(len(corners)))
        for turn in turns * 2:
            for _ in range(dice.randrange(4)):
                order = [order[i] for i in turn]
        vertices = [tag[tuple(a + b for a, b in zip(cell, corners[i]))] for i in order]
        elements.append(f"{3 if dim == 2 else 5} 2 1 1 " + " ".join(map(str, vertices)))
    for cell in itertools.product(*map(range, n[1:])):
        side = [(0, *(a + b for a, b in zip(cell, c))) for c in ([(0,), (1,)] if dim == 2 else square)]
        elements.append(f"{1 if dim == 2 else 3} 2 2 2 " + " ".join(str(tag[p]) for p in side))
    dice.shuffle(elements)
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", "2", f'{dim} 1 "body"',
                              f'{dim - 1} 2 "left"', "$EndPhysicalNames", "$Nodes", str(len(places)),
                              *(f"{t} {' '.join(map(str, x + [0] * (3 - dim)))}" for t, x in places), "$EndNodes", "$Elements",
                              str(len(elements)), *(f"{i + 1} {text}" for i, text in enumerate(elements)), "$EndElements", ""]))


@unittest.skipUnless(MPI, "facet-mpi was not built")
class Mpi(Program):
    def mpi(self, n, case, *arguments, status=0):
        line = ["solve", self.write(case), "--quiet", "--json", "mpi.json", "--threads", "1", *arguments]
        if "petsc:" in case:  # options of PETSc stay with a process
            run = subprocess.run([*mpi_ranks.RUNNER, "-n", str(n), MPI, *line], cwd=self.place.name,
                                 env=mpi_ranks.ENVIRONMENT, capture_output=True, text=True, timeout=mpi_ranks.SECONDS)
            found, error = run.returncode, run.stderr
        else:
            found, error = mpi_ranks.run(n, self.place.name, *line)
        self.assertEqual(found, status, error)
        return json.loads(self.read("mpi.json")) if status == 0 else error

    def same(self, found, wanted, message):
        found, wanted = (x if isinstance(x, list) else [x] for x in (found, wanted))
        size = max(abs(x) for x in wanted)
        for a, b in zip(found, wanted):
            self.assertAlmostEqual(a, b, delta=SAME * max(size, 1e-3), msg=message)

    def compare(self, case, ranks, iterations=None, device="cpu", balance=1e-9):
        """iterations: how many more or fewer there may be. balance: more is no rounding, of what goes through the whole. Of several numbers of ranks the default run leaves out those
        above five: ranks that wait take the processors of those that work."""
        one = self.solve(case)
        few = [n for n in ranks if n <= 5 or "FACET_LONG" in os.environ]
        for n in few or ranks[:1]:
            out = self.mpi(n, case, "--device", device)
            name = f"{n} ranks of {case.splitlines()[0]}"
            for key in ("mesh", "unknowns"):
                self.assertEqual(out[key], one[key], name)
            for key, value in one.get("values", {}).items():
                self.same(out["values"][key], value, f"{key}, {name}")
            for key, value in one.get("errors", {}).items():
                self.same(out["errors"][key]["L2"], value["L2"], f"error of {key}, {name}")
            self.assertEqual("balance" in out, "balance" in one, name)
            self.assertLess(out.get("balance", 0.0), balance, name)
            if iterations is not None:
                self.assertLessEqual(abs(out["solver"]["iterations"] - one["solver"]["iterations"]), iterations,
                                     f"{name}: {out['solver']} {one['solver']}")


class Solve(Mpi):
    def test_a_largest_eigenvalue_that_is_missed(self):
        """E jumps inside cells; on two ranks the estimate of the smoother begins without the mode that this makes stiff.
        The cycle is indefinite then, its bounds are found again, and the solve begins anew. One process has the linear
        functions below (18 iterations), parts the motions of faces (20 and 12)."""
        self.compare("""mesh: {box: {lower: [0, 0], upper: [1.49, 1.06], cells: [5, 3], shape: triangle}}
equation: elasticity
material: {E: "if(x < 0.4, 1, 1000)", nu: 0.3}
source: [0.1, 0.1]
boundary:
  - {on: xmax, displacement: [0, 0]}
  - {on: ymax, pressure: 0.2}
  - {on: xmin, spring: 0.5}
  - {on: ymin, displacement: [null, 0]}
discretization: {degree: 4}
solver: {method: cg, preconditioner: pmg, rtol: 1.0e-12}
values: [{name: mean, field: u, take: mean}]
""", (2, 3), 8)

    def test_face_blocks(self):
        """Conjugate gradients over blocks of faces: the same steps on any number of ranks."""
        case = diffusion("triangle", 3, 2, "method: cg, preconditioner: block")
        self.compare(case, (1, 2, 3, 4, 7), iterations=1)
        self.compare(case, (1, 3), iterations=1, device="ref")

    def test_shapes(self):
        for shape, n, degree in (("triangle", 6, 3), ("quad", 6, 3), ("tet", 2, 2), ("hex", 3, 2)):
            self.compare(diffusion(shape, n, degree), (4,), iterations=2)

    def test_elasticity(self):
        for shape, dim, nu in (("triangle", 2, 0.3), ("tet", 3, 0.3), ("tet", 3, 0.49)):
            case = box(shape, dim, 2) + ELASTICITY.format(nu=nu, weight=", ".join(["0"] * (dim - 2) + ["-0.01"]),
                                                          zeros=", ".join(["0"] * dim))
            self.compare(case, (3,), iterations=None if nu > 0.4 else 3)

    def test_row_modes(self):
        """Quads and hexes at small tau h: the last level has the modes of rows of cells, which go through many parts; rings;
        constants that nothing holds; edges that run either way."""
        solver = "discretization: {{degree: {}, operator: mapped, tau: 0.05}}\n" \
                 "solver: {{rtol: 1.0e-12, method: cg, preconditioner: pmg}}\nvalues: [{{name: most, field: u, take: max}}]\n"
        held = "boundary: [{on: xmin, dirichlet: 0}, {on: rest, neumann: 0}]\n"
        heat = "equation: diffusion\nsource: cos(pi*x)*(1 + y)\n"
        for shape, n, degree, more, sides, ranks in (
                ("hex", 3, 2, "", held, (2, 5)), ("hex", 2, 3, ", periodic: [y, z]", held, (4,)), ("quad", 8, 2, "", held, (3, 8)),
                ("quad", 8, 3, ", periodic: [y]", held, (4,)), ("hex", 2, 2, "", "boundary: [{on: rest, neumann: 0}]\n", (3,)),
                ("hex", 3, 1, "", held, (3,)), ("quad", 8, 1, "", "boundary: [{on: rest, neumann: 0}]\n", (3,))):
            case = box(shape, 3 if shape == "hex" else 2, n, more) + heat + sides + solver.format(degree)
            self.assertIn("linear+rows", self.run_program("solve", self.write(case), "--monitor", "--threads", "1").stdout)
            self.compare(case, ranks, iterations=1 if degree > 1 else 8)
        for name, n, degree in (("hexes", [4, 3, 3], 3), ("quads", [12, 12], 3)):
            write_bricks(os.path.join(self.place.name, name + ".msh"), n, 0.1, 0.15)
            case = f"mesh: {{file: {name}.msh}}\n" + heat + held.replace("xmin", "left") + solver.format(degree)
            self.assertIn("linear+rows", self.run_program("solve", self.write(case), "--monitor", "--threads", "1").stdout)
            self.compare(case, (5,), iterations=1)

    def test_pieces_of_vertices(self):
        """K jumps from cell to cell, or by bricks, or by halves: vertices of seams are cut as one process cuts them."""
        for shape, n, rule in (("tet", 3, "mod(floor(x*3) + floor(y*3) + floor(z*3), 2) < 0.5"),
                               ("tet", 3, "mod(floor(19*sin(91*x)) + floor(17*sin(83*y + z)), 2) < 0.5"),
                               ("triangle", 8, "mod(floor(x*4) + floor(y*4), 2) < 0.5"), ("tet", 3, "x < 1")):
            case = box(shape, 3 if shape == "tet" else 2, n) + (
                f'equation: diffusion\nconductivity: "if({rule}, 1, 1e5)"\nsource: 1\n'
                "boundary: [{on: xmin, dirichlet: 0}, {on: rest, neumann: 0}]\ndiscretization: {degree: 2}\n"
                "solver: {rtol: 1.0e-10, method: cg, preconditioner: pmg}\n")
            self.compare(case, (2, 7) if shape == "triangle" else (5,), iterations=2)

    def test_single_precision(self):
        self.compare(diffusion("tet", 3, 3, "method: cg, preconditioner: pmg, precision: mixed"), (3,), iterations=2)

    def test_device(self):
        """A device that is not the host: products, smoothers and transfers there, messages through the host."""
        mixed = "method: cg, preconditioner: pmg, precision: mixed"
        for shape, n, degree, solver, ranks in (("tet", 2, 2, mixed, (1, 3)), ("hex", 2, 2, mixed, (4,)),
                                                ("triangle", 3, 3, "method: cg, preconditioner: pmg", (2,)),
                                                ("quad", 3, 2, "method: cg, preconditioner: block", (3,))):
            self.compare(diffusion(shape, n, degree, solver), ranks, iterations=2, device="debug")
        self.compare(diffusion("triangle", 2, 2, "method: cg, preconditioner: gmg").replace("}}\n", "}, refine: 2}\n", 1),
                     (3,), iterations=2, device="debug")
        self.compare(box("tet", 3, 2) + ELASTICITY.format(nu=0.3, weight="0, -0.01", zeros="0, 0, 0"), (3,),
                     iterations=3, device="debug")
        petsc = diffusion("triangle", 2, 2, "method: petsc")
        condensed = petsc.replace("petsc", "auto").replace("operator: mapped", "method: condensed")
        for ranks, word, case in ((1, "the method petsc", petsc), (3, "the method petsc", petsc),
                                  (3, "the discretization condensed over several processes", condensed)):
            out = self.mpi(ranks, case, "--device", "debug")
            self.assertIn(f"left to the host: all of it: {word}", out["notes"])
            self.same(out["values"]["mean"], self.solve(case.replace("petsc", "cg"))["values"]["mean"], word)

    def test_kernel(self):
        """Constants are free: periodic in one direction, no flux in the other."""
        case = box("triangle", 2, 4, ", periodic: [x]") + """equation: diffusion
source: cos(pi*x)*y + cos(pi*y)
boundary: [{on: rest, neumann: 0}]
discretization: {degree: 2}
solver: {rtol: 1.0e-12, method: cg}
values: [{name: most, field: u, take: max}, {name: mean, field: u, take: mean}]
"""
        self.compare(case, (3,), iterations=1)

    def test_rings(self):
        """The vertices of the last level across sides that are joined between parts, and inside of one: two cells round."""
        for cells, ranks in (("[4, 3, 2]", (2, 5)), ("[2, 1, 3]", (3,))):
            self.compare(f"mesh: {{box: {{lower: [0, 0, 0], upper: [2, 1, 1], cells: {cells}, shape: tet, "
                         "periodic: [x, y]}}\nequation: diffusion\nsource: sin(pi*x)*cos(2*pi*y) + z\n"
                         "boundary: [{on: zmin, dirichlet: 0}, {on: rest, neumann: 0}]\ndiscretization: {degree: 2}\n"
                         "solver: {rtol: 1.0e-12, method: cg, preconditioner: pmg}\nvalues: [{name: most, field: u, take: max}]\n",
                         ranks, iterations=1)

    def test_weak_constants(self):
        """A reaction holds the constant so weakly that it is found anew, or is as good as none; one that varies."""
        for data in ("reaction: 1.0e-9\nsource: 1 + x\n", "reaction: 1.0e-14\nsource: 1 + x\n",
                     'reaction: "1.0e-6*(1 + x)"\nsource: x - 1\n'):
            self.compare(box("triangle", 2, 3) + "equation: diffusion\n" + data + "boundary: [{on: rest, neumann: 0}]\n"
                         "discretization: {degree: 2}\nsolver: {rtol: 1.0e-12, method: cg, preconditioner: pmg}\n"
                         "values: [{name: most, field: u, take: max}, {name: flux, field: q, take: integral}]\n",
                         (3,), iterations=1, balance=1e-4)  # rounding of u = 2e9 beside fluxes of 1

    def test_bodies_that_nothing_holds(self):
        """Loads that balance; those that do not are refused with what is left of them."""
        case = box("triangle", 2, 3) + """equation: elasticity
material: {E: 1, nu: 0.3}
boundary: [{on: xmin, traction: [-0.01, 0]}, {on: xmax, traction: [0.01, 0]}, {on: rest, traction: [0, 0]}]
discretization: {degree: 2}
solver: {rtol: 1.0e-12, method: cg, preconditioner: pmg}
values: [{name: most, field: u, take: max}, {name: here, field: u, at: [0.31, 0.47]}]
"""
        self.compare(case, (2, 5), iterations=1)
        self.compare("""mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 2], shape: quad, periodic: [x, y]}}
equation: elasticity
material: {E: 1, nu: 0.3}
source: [sin(2*pi*x), cos(2*pi*x)*sin(2*pi*y)]
discretization: {degree: 2}
solver: {rtol: 1.0e-12, method: cg, preconditioner: pmg}
values: [{name: most, field: u, take: max}]
""", (4,), iterations=1)  # every face lies between parts
        self.compare(box("tet", 3, 2) + """equation: elasticity
material: {E: 1, nu: 0.3}
exact: [0.1*x*y, 0.1*x^2 + z, 0.2*z*x]
boundary: [{on: rest, traction: exact}]
discretization: {degree: 1}
solver: {rtol: 1.0e-12, method: cg, preconditioner: pmg}
""", (3,), iterations=3)
        error = self.mpi(3, case.replace("xmax, traction: [0.01", "xmax, traction: [0.02"), status=2)
        self.assertIn("a force of (0.01, 0) and a moment of 0 about (1, 0.5) are left", error)

    def test_pieces(self):
        """Three squares that touch nowhere: each held by itself or by nothing, constants that are weak in two of them,
        an electrode; and what is wrong with one of them, in the same words."""
        write_squares(os.path.join(self.place.name, "squares.msh"), 3, (0, 1.5, 3.2))
        solver = "discretization: {degree: 2}\nsolver: {rtol: 1.0e-12, method: cg, preconditioner: pmg}\n"
        values = "values: [{name: most, field: u, take: max}, {name: here, field: u, at: [1.7, 0.3]}]\n"
        solid = "mesh: {file: squares.msh}\nequation: elasticity\nmaterial: {E: 1, nu: 0.3}\n"
        ends = "{on: left0, displacement: [0, 0]}, {on: right2, displacement: [0, 0.01]}, {on: rest, traction: [0, 0]}"
        drawn = f"boundary: [{{on: left1, traction: [-0.01, 0]}}, {{on: right1, traction: [0.01, 0]}}, {ends}]\n"
        self.compare(solid + drawn + solver + values, (2, 5), iterations=2)
        heat = "mesh: {file: squares.msh}\nequation: diffusion\nsource: 1 + x\n"
        weak = "reaction: 1.0e-7\nboundary: [{on: left0, dirichlet: 0}, {on: right2, robin: {a: 1.0e-8, g: 1}}, " \
               "{on: rest, neumann: 0}]\n"
        self.compare(heat + weak + solver + values, (3,), iterations=1)
        flux = "boundary: [{on: left0, dirichlet: 0}, {on: right0, total_flux: 0.3}, {on: left1, dirichlet: 2}, " \
               "{on: right2, dirichlet: 1}, {on: rest, neumann: 0}]\n"
        self.compare(heat + flux + solver + values, (3,), iterations=1)
        for text in (solid + drawn.replace("[0.01", "[0.03") + solver, heat + flux.replace("{on: left1, dirichlet: 2}, ", "") +
                     solver, solid + f"boundary: [{{on: left1, roller: x}}, {ends}]\n" + solver):
            wanted = self.run_program("solve", self.write(text), status=2).stderr.replace("facet: ", "")
            self.assertIn(wanted.strip(), self.mpi(4, text, status=2))

    def test_refined(self):
        """Geometric multigrid over meshes that were refined in place."""
        case = diffusion("triangle", 2, 2, "method: cg, preconditioner: gmg").replace("}}\n", "}, refine: 2}\n", 1)
        self.compare(case, (1, 3), iterations=0)
        case = diffusion("hex", 2, 2, "method: cg, preconditioner: gmg").replace("}}\n", "}, refine: 1}\n", 1)
        self.compare(case, (2,), iterations=1)

    def test_rows_that_are_cut(self):
        """Quads at small tau h: tridiagonals along rows that go through many parts, and rings. One process has a factor on
        the second level."""
        for n, degree, more, solver, ranks, differ in (
                (4, 2, "", "", (2, 7), 2), (4, 1, ", periodic: [y]", ", precision: mixed", (5,), 4),
                (2, 3, "", ", smoother: rows", (8,), 1)):
            case = box("quad", 2, n, more).replace("}}\n", "}, refine: 2}\n", 1) + (
                "equation: diffusion\nsource: cos(pi*x)*(1 + y)\nboundary: [{on: xmin, dirichlet: 0}, {on: rest, neumann: 0}]\n"
                f"discretization: {{degree: {degree}, operator: mapped, tau: 0.02}}\n"
                f"solver: {{rtol: 1.0e-12, method: cg, preconditioner: gmg{solver}}}\n"
                "values: [{name: most, field: u, take: max}]\n")
            self.compare(case, ranks, iterations=differ)

    def example(self, name, more="solver: {rtol: 1.0e-12, method: cg, preconditioner: pmg}\n"):
        with open(os.path.join(SOURCE, "examples", name), encoding="utf-8") as file:
            return file.read().replace("meshes/", os.path.join(SOURCE, "examples", "meshes", "")) + more

    def test_contacts(self):
        """That resist, wherever the seams run; one that is too weak; groups that do not touch."""
        case = self.example("contact.yaml")
        self.compare(case, (3, 8), iterations=0)
        error = self.mpi(3, case.replace("h: 4,", "h: 1e-12,"), status=2)
        self.assertIn("an interface whose conductance is below", error)
        error = self.mpi(3, case.replace("[pipe, jacket]", "[pipe, mantle]"), status=2)
        self.assertIn("there is no group of cells 'mantle'", error)

    def test_jumps(self):
        """Across joined sides that are seams, or not: of heat and of solids, and on a box."""
        heat = self.example("perforated.yaml")
        self.compare(heat, (2, 7), iterations=0)
        solid = heat.replace("equation: diffusion", "equation: elasticity\nmaterial: {E: 1, nu: 0.3}").replace(
            "jump: [1, 0]", "jump: [[1, 0], [0, 0]]").replace("neumann: 0", "traction: [0, 0]").replace(
            "field: q", "field: stress")
        self.compare(solid, (4,), iterations=1)
        ring = (box("triangle", 2, 4, ", periodic: [x, y]") + "equation: diffusion\njump: [0.5, 0.3]\nconductivity: 1 + y\n"
                "reaction: 1\nsource: x*(2 - x)\ndiscretization: {degree: 2}\n"
                "solver: {rtol: 1.0e-12, method: cg, preconditioner: pmg}\nvalues: [{name: mean, field: u, take: mean}]\n")
        self.compare(ring, (2, 8), iterations=0)
        slides = ("mesh: {box: {lower: [0, 0], upper: [2, 1], cells: [2, 1], shape: triangle, periodic: [x]}}\n"
                  "equation: elasticity\nmaterial: {E: 1, nu: 0.3}\nsource: [sin(pi*x), y - 0.5]\n"
                  "boundary: [{on: rest, traction: [0, 0]}]\ndiscretization: {degree: 2}\nsolver: {rtol: 1.0e-12}\n"
                  "values: [{name: most, field: u, take: max}]\n")  # all joined sides are seams
        self.compare(slides, (2, 4))
        error = self.mpi(2, ring.replace(", periodic: [x, y]", "").replace(
            "reaction: 1", "boundary: [{on: rest, dirichlet: 0}]"), status=2)
        self.assertIn("jump: the mesh has no joined sides", error)

    def test_temperature_of_another_case(self):
        case = self.example("hot-cylinder.yaml", "").replace(
            "discretization: {degree: 3}", "discretization: {degree: 3}\n    solver: {rtol: 1.0e-12}")
        one = self.solve(case)["cases"]
        for n in (1, 3):
            for found, wanted in zip(self.mpi(n, case)["cases"], one):
                for key, value in wanted["values"].items():
                    self.same(found["values"][key], value, f"{key}, {n} ranks")

    def test_condensed(self):
        """Vertices and edges that more than two parts have, with values that faces of another part give them."""
        for shape, n, degree, ranks in (("triangle", 4, 3, (3, 7)), ("quad", 3, 4, (5,)), ("tet", 2, 3, (5,)), ("hex", 2, 3, (3,))):
            case = diffusion(shape, n, degree, "method: auto").replace("operator: mapped", "method: condensed")
            self.compare(case, ranks)
            given = case[:case.index("boundary:")] + case[case.index("discretization:"):]
            self.compare(given, ranks[:1])
        case = diffusion("triangle", 4, 3, "method: cg, preconditioner: block").replace("operator: mapped", "method: condensed")
        self.compare(case, (1, 3), iterations=1)
        ring = box("triangle", 2, 4, ", periodic: [x]") + "equation: diffusion\nexact: sin(pi*x)*cos(y)\n"
        free = box("triangle", 2, 4) + "equation: diffusion\nsource: x - 1\nboundary: [{on: rest, neumann: 0}]\n"
        for text, word in ((case.replace(", preconditioner: block", ""), "the preconditioner amg, which"),
                           (ring + "discretization: {method: condensed}\n", "joined sides of the discretization condensed"),
                           (free + "discretization: {method: condensed}\n", "where nothing holds the constant")):
            error = self.mpi(2, text, status=2)
            self.assertIn("not distributed yet", error)
            self.assertIn(word, error)

    def sector(self, shape, cells):
        """A quarter of a ring whose one end is the other, turned (tests/program/test_periodic.py)."""
        import test_periodic
        self.lattice = lambda *a, **more: test_periodic.Loads.lattice(self, *a, **more)
        back = [0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]

        def moved(x):
            r, phi = 1 + x[1], math.pi / 2 * (1 - x[0])
            return [r * math.cos(phi), r * math.sin(phi)] + x[2:]

        return test_periodic.Periodic.joined(self, shape, cells, [0], maps={0: back}, moved=moved)

    def test_turned(self):
        """Bodies that a rotation joins to themselves, at seams and inside of parts, held and adrift; oblique walls."""
        solid = "equation: elasticity\nmaterial: {E: 1, nu: 0.3}\n"
        solver = "discretization: {degree: 2}\nsolver: {rtol: 1.0e-12}\n"
        values = "values: [{name: most, field: u, take: max}, {name: strong, field: von_mises, take: max}]\n"
        for shape, cells, ranks in (("triangle", [4, 3], (2, 5)), ("quad", [4, 3], (3,)), ("hex", [4, 2, 1], (3,))):
            mesh = self.sector(shape, cells)
            zeros = str([0] * len(cells))
            held = f"source: {['-y', 'x*x'] + ['0'] * (len(cells) - 2)}\nboundary: [{{on: ymin, displacement: {zeros}}}, " \
                   f"{{on: rest, traction: {zeros}}}]\n"
            self.compare(mesh + solid + held.replace("'", "") + solver + values, ranks)
        mesh = self.sector("triangle", [4, 3])
        adrift = "source: [x, y]\nboundary: [{on: rest, traction: [0, 0]}]\n"
        self.compare(mesh + solid + adrift + solver + values, (2,))
        self.compare(mesh + "equation: diffusion\nexact: x^4 - 6*x^2*y^2 + y^4\ndiscretization: {degree: 3}\n"
                     "solver: {rtol: 1.0e-12, method: cg, preconditioner: pmg}\n", (3,), iterations=0)
        wall = "source: [1, 2]\nboundary: [{on: ymin, pressure: 1}, {on: ymax, fixed: true}, {on: [xmin, xmax], symmetry: true}]\n"

        def oblique(x):
            r, t = 1 + x[1], 0.3 + 0.9 * x[0]
            return [r * math.cos(t), r * math.sin(t)]

        mesh = self.lattice("quad", cells=[4, 4], moved=oblique)
        self.compare(mesh + solid + wall + solver + values, (3,))
        error = self.mpi(2, mesh + solid + wall + solver.replace("12}", "12, method: cg}"), status=2)
        self.assertIn("the preconditioner amg, which this method takes, is not distributed yet", error)

    def test_points_between_cells(self):
        """Fluxes differ from cell to cell: the cell is that of one process, whether one point is asked for or many, and
        however its coordinates are rounded."""
        values = """values:
  - {{name: at, field: q, component: x, at: {to}}}
  - {{name: line, field: q, component: x, along: [{zeros}, {to}], points: 13}}
"""
        grid = "[0.0, 0.3, 0.4, 0.6, 0.8, 1.1, 1.2], y: [0.0, 0.3, 0.6, 0.8, 1.0, 1.1, 1.2]"
        rest = """equation: diffusion
source: exp(x)*(1 + y)
boundary: [{on: rest, dirichlet: 0}]
discretization: {degree: 1}
solver: {rtol: 1.0e-12}
"""
        for mesh, to, ranks in ((f"mesh: {{box: {{coordinates: {{x: {grid}}}, shape: quad}}}}\n", [1.2, 1.2], (4,)),
                                (box("tet", 3, 3), [1, 1, 1], (2,))):
            case = mesh + rest + values.format(to=to, zeros=[0] * len(to))
            self.compare(case, ranks)
            found = self.solve(case)["values"]
            self.assertEqual(found["line"][-1], found["at"])

    def test_notes(self):
        """Reasons are those of one process, whichever rank has them; the host's cells are those of all ranks."""
        rest = """equation: diffusion
source: 1
boundary: [{on: [xmin, ymin], dirichlet: 0}, {on: [xmax, ymax], robin: {a: 1, g: 0}}]
discretization: {degree: 2}
"""
        mesh = "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [5, 6], shape: SHAPE}}\n"
        odd = mesh.replace("SHAPE", "triangle") + rest + "solver: {method: cg, preconditioner: gmg}\n"
        for case, word in ((odd, "5 x 6"), (mesh.replace("SHAPE", "quad") + rest, "'xmax'")):
            notes = self.solve(case)["notes"]
            self.assertIn(word, notes[0])
            self.assertEqual(self.mpi(3, case)["notes"], notes)
        case = f"""mesh: {{file: {SOURCE}/tests/meshes/prisms_1.msh}}
equation: diffusion
source: 1
boundary: [{{on: rest, dirichlet: 0}}]
"""
        notes = [self.mpi(n, case, "--device", "debug")["notes"] for n in (1, 2)]
        self.assertRegex(notes[0][0], r"the matrices of (\d+) of \1 cells")
        self.assertEqual(notes[0], notes[1])

    def test_petsc(self):
        one = self.solve(diffusion("triangle", 4, 2))
        for solver, name in (("method: petsc, petsc: '-ksp_mistyped 1'", "boomeramg"),
                             ("method: petsc, preconditioner: pmg", "pmg"),
                             ("method: petsc, petsc: '-ksp_type cg -pc_type bddc'", "bddc"),
                             ("method: cg, preconditioner: pmg, petsc: '-facet_coarse_pc_type gamg'", "pmg")):
            out = self.mpi(3, diffusion("triangle", 4, 2, solver))
            for key in one["errors"]:
                self.same(out["errors"][key]["L2"], one["errors"][key]["L2"], f"{key}, {solver}")
            self.assertEqual(out["solver"]["preconditioner"], name)
            self.assertAlmostEqual(out["solver"]["rate"] ** out["solver"]["iterations"] / out["solver"]["residual"], 1,
                                   delta=1e-6)
            self.assertEqual(out.get("notes"), ["PETSc: nobody asked for -facet_ksp_mistyped"] if "mistyped" in solver
                             else None)

    def test_petsc_fails(self):
        """Its own reason is told, with the iterations that it made."""
        for options, message in (("-ksp_type richardson -pc_type none", r"PETSc ended with DIVERGED_DTOL, .* [2-9] iter"),
                                 ("-ksp_atol 1e30", "PETSc ended with CONVERGED_ATOL, .* after 0 iterations")):
            error = self.mpi(2, diffusion("triangle", 4, 2, f"method: petsc, petsc: '{options}'"), status=1)
            self.assertRegex(error, message)

    def test_refused(self):
        for solver, word in (("method: direct", "direct"), ("method: cg, preconditioner: amg", "amg"),
                             ("method: cg, preconditioner: gmg, smoother: fsai", "smoother")):
            error = self.mpi(2, diffusion("triangle", 2, 1, solver), status=2)
            self.assertIn("not distributed yet", error)
            self.assertIn(word, error)
        self.assertIn("facet-mpi", self.run_program("solve", self.write(diffusion("triangle", 2, 1, "method: petsc")),
                                                    status=2).stderr)


if __name__ == "__main__":
    unittest.main()
