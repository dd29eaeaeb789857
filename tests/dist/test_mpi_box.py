"""Boxes of quads and hexes over several processes, each with a block of their cells and the tensor operator on it,
against those of one: values, errors and balance, iterations; and output in pieces."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program"))
from test_app import SOURCE  # noqa: E402
from test_mpi_solve import Mpi, box  # noqa: E402

VALUES = """values:
  - {name: mean, field: u, take: mean}
  - {name: most, field: u, take: max}
  - {name: flux, field: q, take: integral}
"""
EXACT = "exact: sin(2*x)*cos(y)*exp(z/2)\n"


def case(mesh, data, degree, solver="", discretization=""):
    return (mesh + "equation: diffusion\n" + data +
            f"discretization: {{degree: {degree}, operator: tensor{discretization}}}\n"
            f"solver: {{rtol: 1.0e-12, method: cg{solver}}}\n" + VALUES)


def cubes(cells, more=""):
    """Of side 1, so that conditions on x, y, z in expressions are those of cells."""
    return f"mesh: {{box: {{lower: [0, 0, 0], upper: {cells}, cells: {cells}, shape: hex{more}}}}}\n"


class Boxes(Mpi):
    def test_smooth(self):
        mixed = "boundary: [{on: xmin, dirichlet: exact}, {on: rest, neumann: exact}]\n"
        self.compare(case(box("hex", 3, 3), EXACT + mixed, 5), (3, 8), iterations=1)
        self.compare(case(box("hex", 3, 2), EXACT + mixed, 3), (3,), iterations=1, device="ref")
        self.compare(case(box("quad", 2, 5), EXACT.replace("*exp(z/2)", "") + mixed, 4), (2, 7), iterations=1)

    def test_high_degree(self):
        """The example that mapped cells do not end within half a minute."""
        with open(os.path.join(SOURCE, "examples/box-hdg.yaml"), encoding="utf-8") as file:
            text = file.read()
        self.compare(text + "solver: {rtol: 1.0e-12, preconditioner: additive}\n", (3,), iterations=1)

    def test_preconditioners(self):
        for solver in (", preconditioner: chebyshev", ", preconditioner: block", ", preconditioner: none",
                       ", preconditioner: additive, precision: mixed",
                       ", preconditioner: chebyshev, precision: mixed"):
            self.compare(case(box("hex", 3, 3), EXACT, 4, solver), (3,), iterations=1)

    def test_rings(self):
        """Periodic directions, cut and whole, one of them without anything that holds the constant."""
        self.compare(case(box("hex", 3, 2, ", periodic: [x]"), "exact: sin(pi*x)*cos(y)\n"
                          "boundary: [{on: ymin, dirichlet: exact}, {on: rest, neumann: exact}]\n", 3), (2, 3), iterations=1)
        self.compare(case(box("quad", 2, 4, ", periodic: [x, y]"), "source: sin(pi*x)*cos(2*pi*y)\n", 3), (4,), iterations=1)

    def test_data_that_do_not_repeat(self):
        """Around a ring two copies of a node stand at other places: the value of its owner counts."""
        self.compare("""mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [4, 4], shape: quad, periodic: [y]}}
equation: diffusion
source: 1
boundary: [{on: xmin, dirichlet: y}, {on: xmax, dirichlet: 0}]
discretization: {method: continuous, degree: 2}
solver: {rtol: 1.0e-12, method: multigrid}
values: [{name: mean, field: u, take: mean}, {name: out, field: flux, take: integral, on: xmin}]
""", (2, 4))

    def test_device(self):
        """A device that is not the host: sweeps there, messages and the last level through the host."""
        mixed = "boundary: [{on: xmin, dirichlet: exact}, {on: rest, neumann: exact}]\n"
        self.compare(case(box("hex", 3, 2), EXACT + mixed, 3), (3,), iterations=1, device="debug")
        self.compare(case(box("hex", 3, 2), EXACT, 3, ", preconditioner: chebyshev, precision: mixed"), (2,), iterations=1,
                     device="debug")
        self.compare(case(box("quad", 2, 4, ", periodic: [x, y]"), "source: sin(pi*x)*cos(2*pi*y)\n", 3), (4,), iterations=1,
                     device="debug")
        board = 'conductivity: "if(mod(floor(x) + floor(y) + floor(z), 2) > 0.5, 100, 1)"\nsource: 1\n' \
                "boundary: [{on: xmin, dirichlet: 0}, {on: rest, neumann: 0}]\n"
        above_rounding = case(cubes([4, 4, 2]), board, 4).replace("1.0e-12", "1.0e-11")  # which ends at any of some steps
        self.compare(above_rounding, (3,), iterations=2, device="debug")

    def test_constants(self):
        """Nothing holds them; a weak reaction does; one that is dropped. Their residuals end near rounding, where a
        true one may ask for a step or two more."""
        neumann = "boundary: [{on: rest, neumann: 0}]\n"
        self.compare(case(box("hex", 3, 2), "source: x - 1\n" + neumann, 3), (3,), iterations=2)
        self.compare(case(box("hex", 3, 2), "source: x - 1\n" + neumann, 3, ", precision: mixed"), (3,), iterations=2)
        for reaction in ("1.0e-6", "1.0e-15"):
            self.compare(case(box("hex", 3, 2), f"reaction: {reaction}\nsource: 1 + x\n" + neumann, 3), (3,), iterations=2)

    def test_many_vertices(self):
        """More than nobody thinks about: by modes where blocks are wide, by BoomerAMG where a box is long."""
        for cells in ([190, 170], [1500, 24]):
            mesh = f"mesh: {{box: {{lower: [0, 0], upper: {cells}, cells: {cells}, shape: quad}}}}\n"
            self.compare(case(mesh, "exact: sin(x/3)*cos(y/2)\n", 1), (3,), iterations=6)

    def test_jumps(self):
        """Of k and of the reaction in layers (vertices below), and on a chessboard, whose stars lie in several
        blocks (constants of faces); without a tolerance that is below rounding."""
        held = "source: 1\nboundary: [{on: xmin, dirichlet: 0}, {on: rest, neumann: 0}]\n"
        layers = 'conductivity: "if(x > 3, 50, 1)"\nreaction: "if(y > 1, 3, 0)"\n' + held
        self.compare(case(cubes([6, 3, 2]), layers, 3), (3,), iterations=1)
        board = 'conductivity: "if(mod(floor(x) + floor(y) + floor(z), 2) > 0.5, 100, 1)"\n' + held
        self.compare(case(cubes([4, 4, 2]), board, 4), (2, 5), iterations=2)
        self.compare(case(cubes([4, 4, 2]), board, 2), (3,), iterations=1)

    def test_graded(self):
        mesh = ("mesh: {box: {coordinates: {x: [0, 0.1, 0.3, 0.7, 1, 1.5], y: [0, 0.5, 0.6, 1], z: [0, 0.2, 0.5, 1.1, 2]}, "
                "shape: hex}}\n")
        self.compare(case(mesh, EXACT, 3), (4,), iterations=1)
        self.compare(case(mesh, EXACT, 2, discretization=", tau: {hat: 2}"), (5,), iterations=1)

    def test_refined(self):
        """A refined box is a box; more ranks than cells before."""
        mesh = cubes([2, 1, 1]).replace("}}\n", "}, refine: 2}\n")
        self.compare(case(mesh, EXACT, 3), (5,), iterations=1)

    def test_borders_of_refined_cells(self):
        """Coordinates are those of one process to the last bit: points between cells are in the same one."""
        points = ((1, 2), (5, 7), (7, 1), (9, 11))
        self.compare("mesh: {box: {lower: [0.1, 0.1], upper: [0.8, 0.8], cells: [3, 3], shape: quad}, refine: 2}\n"
                     "equation: diffusion\nexact: sin(9*x)*cos(8*y)\ndiscretization: {degree: 1, operator: tensor}\n"
                     "solver: {rtol: 1.0e-12, method: cg}\nvalues:\n" +
                     "".join(f"  - {{name: p{i}, field: u, at: [{0.1 + 0.7 * i / 12}, {0.1 + 0.7 * j / 12}]}}\n"
                             for i, j in points), (1, 3), iterations=1)

    def test_one_rank(self):
        """Has all cells, and solves as one process does."""
        for text in (case(cubes([4, 2, 2]), EXACT, 3), continuous(cubes([4, 2, 2]), EXACT, 3)):
            text = text.replace(", method: cg", "").replace(", method: multigrid", "")
            self.compare(text, (1,), iterations=0)
            self.assertEqual(self.mpi(1, text)["solver"]["method"], "direct")

    def test_what_is_refused(self):
        mesh = cubes([4, 2, 2])
        error = self.mpi(2, case(mesh, EXACT, 2).replace("method: cg", "method: direct"), status=2)
        self.assertIn("the method direct is not distributed yet", error)
        error = self.mpi(2, case(mesh, 'conductivity: "1 + x"\n' + EXACT, 2), status=2)
        self.assertIn("the operator tensor needs the conductivity to be constant in every cell", error)
        error = self.mpi(3, case(mesh, 'conductivity: "if(x > 2, 2, 1)"\n' + EXACT, 2, discretization=", tau: 1"), status=2)
        self.assertIn("the same in all cells of a layer", error)


def continuous(mesh, data, degree, solver=", method: multigrid"):
    return (mesh + "equation: diffusion\n" + data + f"discretization: {{method: continuous, degree: {degree}}}\n"
            f"solver: {{rtol: 1.0e-12{solver}}}\n" + VALUES)


class Continuous(Mpi):
    """Nodes that up to eight blocks share, patches that reach into others, levels of blocks and whole ones."""

    MIXED = "boundary: [{on: xmin, dirichlet: exact}, {on: rest, neumann: exact}]\n"
    QUADS = EXACT.replace("*exp(z/2)", "") + MIXED

    def compare(self, case, ranks, iterations=0, device="cpu"):
        super().compare(case, ranks, iterations, device)

    def test_levels(self):
        """The steps of one process on blocks of any size: one layer, one cell, cut at odd places."""
        self.compare(continuous(box("hex", 3, 4), EXACT + self.MIXED, 3), (3, 8))
        self.compare(continuous(box("hex", 3, 2), EXACT + self.MIXED, 2), (5,), device="ref")
        self.compare(continuous(cubes([2, 2, 2]), EXACT + self.MIXED, 3), (3, 9))
        self.compare(continuous(box("quad", 2, 5), self.QUADS, 4), (7,))
        self.compare(continuous(box("quad", 2, 16), self.QUADS, 5), (4,))  # two levels of blocks
        self.compare(continuous(box("quad", 2, 8), self.QUADS, 1), (3,))

    def test_solvers(self):
        for solver in (", method: cg", ", method: cg, precision: mixed", ", method: multigrid, precision: mixed",
                       ", method: fgmres, cycle: F", ", method: cg, cycle: W", ", method: cg, preconditioner: jacobi",
                       ", method: multigrid, smoother: patches, smoother_degree: 2"):
            self.compare(continuous(box("quad", 2, 8), self.QUADS, 3, solver), (3,))
        for solver in (", method: cg, smoother: chebyshev", ""):
            self.compare(continuous(box("quad", 2, 8), self.QUADS, 3, solver), (3,), iterations=1 if solver else 5)

    def test_rings(self):
        self.compare(continuous(box("hex", 3, 4, ", periodic: [x]"), "exact: sin(pi*x)*cos(y)\n"
                                "boundary: [{on: ymin, dirichlet: exact}, {on: rest, neumann: exact}]\n", 3), (3,))
        self.compare(continuous(box("quad", 2, 4, ", periodic: [x, y]"), "source: sin(pi*x)*cos(2*pi*y)\n", 3), (3, 4))
        self.compare(continuous(box("quad", 2, 3, ", periodic: [x, y]"), "reaction: 1\nsource: sin(pi*x)*cos(2*pi*y)\n",
                                3), (2, 9))

    def test_constants(self):
        neumann = "boundary: [{on: rest, neumann: 0}]\n"
        self.compare(continuous(box("hex", 3, 2), "source: x - 1\n" + neumann, 3, ", method: cg"), (5,))
        for reaction in ("1.0e-6", "1"):
            self.compare(continuous(box("hex", 3, 2), f"reaction: {reaction}\nsource: 1 + x\n" + neumann, 3, ", method: cg"),
                         (3,), iterations=1)

    def test_coefficients(self):
        """Of the cells: on vertices where k jumps, and by patches; cells of all widths."""
        held = "source: 1\nboundary: [{on: xmin, dirichlet: 0}, {on: rest, neumann: 0}]\n"
        layers = 'conductivity: "if(x > 3, 50, 1)"\nreaction: "if(y > 1, 3, 0)"\n' + held
        self.compare(continuous(cubes([6, 4, 2]), layers, 3, ""), (5,), iterations=1)
        board = 'conductivity: "if(mod(floor(x) + floor(y) + floor(z), 2) > 0.5, 100, 1)"\n' + held
        self.compare(continuous(cubes([8, 4, 4]), board, 2, ", smoother: patches"), (5,), iterations=1)
        mesh = ("mesh: {box: {coordinates: {x: [0, 0.1, 0.3, 0.7, 1, 1.5, 2, 3, 3.3], y: [0, 0.5, 0.6, 1, 1.1], "
                "z: [0, 0.2, 0.5, 1.1, 2]}, shape: hex}}\n")
        self.compare(continuous(mesh, EXACT, 3), (3,))

    def test_vertices_below(self):
        """Too many nodes to be had whole, and blocks that cannot be halved."""
        mesh = "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [41, 41], shape: quad}}\n"
        self.compare(continuous(mesh, self.QUADS, 8), (8,), iterations=6)

    def test_what_is_refused(self):
        for solver, word in ((", smoother: additive", "the smoother additive is"),
                             (", method: direct", "the method direct is")):
            error = self.mpi(2, continuous(box("quad", 2, 4), self.QUADS, 3, solver), status=2)
            self.assertIn(word + " not distributed yet", error)


class Pieces(Mpi):
    def test_pieces(self):
        """Three files of five ranks, and one that names them, as ParaView reads them; one process writes one file."""
        text = case(cubes([4, 3, 2]), EXACT, 2) + "output: {file: out.vtu, pieces: 3, fields: [u, q, cell]}\n"
        out = self.mpi(5, text)
        self.assertEqual(out["files"], ["out.pvtu", "out-0.vtu", "out-1.vtu", "out-2.vtu"])
        self.assertFalse(os.path.exists(os.path.join(self.place.name, "out.vtu")))
        try:
            from vtkmodules.util.numpy_support import vtk_to_numpy
            from vtkmodules.vtkIOXML import vtkXMLPUnstructuredGridReader
        except ImportError:
            self.skipTest("VTK for Python is not installed")
        reader = vtkXMLPUnstructuredGridReader()
        reader.SetFileName(os.path.join(self.place.name, "out.pvtu"))
        reader.Update()
        grid = reader.GetOutput()
        self.assertEqual(sorted(vtk_to_numpy(grid.GetCellData().GetArray("cell"))), list(range(24)))
        self.assertEqual(grid.GetPointData().GetArray("q").GetNumberOfComponents(), 3)
        self.assertEqual(self.solve(text)["files"], ["out.vtu"])

    def test_fewer_pieces(self):
        """What an older index names goes with it, and nothing else."""
        text = case(cubes([4, 3, 2]), EXACT, 1) + "output: {file: out.vtu, pieces: %d, fields: [u]}\n"
        self.mpi(4, text % 4)
        index = os.path.join(self.place.name, "out.pvtu")
        found = lambda: sorted(n for n in os.listdir(self.place.name) if n.endswith("vtu"))  # noqa: E731
        for name in ("out-2.vtu", "out-7.vtu", "out-x.vtu"):  # the first is newer than the index: another's
            with open(os.path.join(self.place.name, name), "w", encoding="utf-8") as file:
                file.write("another's")
        os.utime(os.path.join(self.place.name, "out-2.vtu"), (os.stat(index).st_mtime + 5,) * 2)
        self.mpi(4, text % 2)
        self.assertEqual(found(), ["out-0.vtu", "out-1.vtu", "out-2.vtu", "out-7.vtu", "out-x.vtu", "out.pvtu"])
        self.mpi(2, text % 1)
        self.assertEqual(found(), ["out-2.vtu", "out-7.vtu", "out-x.vtu", "out.vtu"])
        with open(index, "w", encoding="utf-8") as file:
            file.write('<VTKFile type="PUnstructuredGrid"><Piece Source="out-7.vtu"/></VTKFile>')
        self.solve(text % 1)
        self.assertEqual(found(), ["out-2.vtu", "out-7.vtu", "out-x.vtu", "out.pvtu", "out.vtu"])

    def test_more_pieces_than_ranks(self):
        text = case(cubes([4, 3, 2]), EXACT, 1) + "output: {file: out.vtu, pieces: 9}\n"
        self.assertEqual(self.mpi(2, text)["files"], ["out.pvtu", "out-0.vtu", "out-1.vtu"])
        self.assertEqual(self.mpi(1, text)["files"], ["out.vtu"])


class Conditions(Mpi):
    def test_faces_without_a_condition(self):
        """They are counted in all parts, and their names are those of all."""
        text = ("mesh: {file: " + os.path.join(SOURCE, "examples/meshes/cook.msh") + "}\nequation: diffusion\nsource: 1\n"
                "boundary: [{on: clamped, dirichlet: 0}]\n")
        wanted = self.run_program("solve", self.write(text), status=2).stderr.replace("facet: ", "")
        self.assertIn(wanted.strip(), self.mpi(4, text, status=2))


if __name__ == "__main__":
    unittest.main()
