"""Solves problems whose solution is a polynomial with the program, reads the written fields with VTK's own reader, and
compares them with the polynomial at every point, and inside the cells: what io/solution.c samples is what was solved.
FACET_PROGRAM says where the program is. Exit status 77: VTK is not here, nothing was tested."""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonCore import mutable, vtkIdList, vtkPoints
    from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader
    import vtkmodules.vtkRenderingCore  # noqa: F401  (some VTK builds load cell types only with it)
except ImportError as missing:
    print(f"skipped: VTK's Python reader is not installed ({missing}); Debian: python3-vtk9")
    sys.exit(77)

PROGRAM = os.environ["FACET_PROGRAM"]
SOURCE = os.path.abspath(os.environ.get("FACET_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", "..")))
BOX = "{{box: {{lower: [0, 0], upper: [1, 1], cells: [2, 3], shape: {}}}}}"
SOLID = "{{box: {{lower: [0, 0, 0], upper: [1, 1, 1], cells: [1, 2, 1], shape: {}}}}}"
TOLERANCE = 1e-10


def solve(mesh, exact, degree, output="", data="equation: diffusion\nconductivity: 2\n", method=""):
    """Points, fields at points and fields of cells of the file that a solve writes."""
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "a.vtu")
        case = (f"mesh: {mesh}\n{data}exact: {exact}\n"
                f"discretization: {{degree: {degree}{method}}}\noutput: {{file: {path}{output}}}\n")
        with open(os.path.join(place, "case.yaml"), "w", encoding="utf-8") as file:
            file.write(case)
        done = subprocess.run([PROGRAM, "solve", file.name], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, case + done.stdout + done.stderr
        reader = vtkXMLUnstructuredGridReader()
        reader.SetFileName(path)
        errors = []
        reader.AddObserver("ErrorEvent", lambda *_: errors.append(path))
        reader.Update()
        assert not errors
    grid = reader.GetOutput()

    def arrays(data):
        return {data.GetArrayName(i): vtk_to_numpy(data.GetArray(i)) for i in range(data.GetNumberOfArrays())}

    return grid, vtk_to_numpy(grid.GetPoints().GetData()), arrays(grid.GetPointData()), arrays(grid.GetCellData())


class Solution(unittest.TestCase):
    def near(self, a, b):
        self.assertEqual(a.shape, b.shape)
        self.assertLess(np.max(np.abs(a - b)), TOLERANCE)

    def check(self, mesh, power, degree, output="", dim=2):
        exact = f"(0.2+x/2-y/3{'+z/4' if dim == 3 else ''})^{power}"
        grid, x, point, cell = solve(mesh, exact, degree, output)
        base = 0.2 + x[:, 0] / 2 - x[:, 1] / 3 + (x[:, 2] / 4 if dim == 3 else 0)
        flux = -2 * power * base[:, None] ** (power - 1) * np.array([1 / 2, -1 / 3, 1 / 4][:dim])
        for name, values in point.items():
            if name in ("u", "u_star"):
                self.near(values, base**power)
            elif name in ("q", "q_star"):
                self.near(values[:, :dim], flux)
            else:
                self.assertEqual(name, "error")
                self.assertLess(np.max(np.abs(values)), TOLERANCE)
        return grid, x, point, cell

    def test_shapes_and_degrees(self):
        for shape in ("triangle", "quad"):
            for degree in (1, 2, 5, 9):
                _, _, point, _ = self.check(BOX.format(shape), degree, degree)
                self.assertEqual(set(point), {"u", "u_star", "q", "q_star", "error"})

    def check_elastic(self, mesh, dim, formulation):
        """A quadratic displacement: all fields of degree 2 or less are exact."""
        exact = "[x^2 + y/2, x*y - y^2]" if dim == 2 else "[x^2 + y/2, x*y - y^2, x*z + y]"
        _, x, point, cell = solve(mesh, exact, 2, ", fields: [u, stress, strain, von_mises, error, trace, cell"
                                  + (", u_star, H, p, vorticity]" if formulation == "gradient" else "]"),
                                  "equation: elasticity\nmaterial: {mu: 1.5, lambda: 2}\n",
                                  f", formulation: {formulation}")
        x, y, z = x.T
        zero, one = 0 * x, 1 + 0 * x
        u = np.array([x**2 + y / 2, x * y - y**2, x * z + y if dim == 3 else zero]).T
        H = np.array([[2 * x, one / 2, zero], [y, x - 2 * y, zero], [z, one, x] if dim == 3 else [zero] * 3])
        H = H.transpose(2, 0, 1)
        strain = (H + H.transpose(0, 2, 1)) / 2
        trace = np.trace(strain, axis1=1, axis2=2)
        stress = 3 * strain + 2 * trace[:, None, None] * np.eye(3)
        deviator = stress - np.trace(stress, axis1=1, axis2=2)[:, None, None] / 3 * np.eye(3)
        if dim == 2:
            stress = stress * np.array([1, 1, 0])[:, None]  # the file has the tensor of the plane
        self.near(point["u"], u)
        self.near(point["error"], 0 * u)
        self.near(point["stress"].reshape(-1, 3, 3), stress)
        self.near(point["strain"].reshape(-1, 3, 3), strain)
        self.near(point["von_mises"], np.sqrt(1.5 * (deviator**2).sum(axis=(1, 2))))
        self.assertEqual(cell["trace"].shape, (len(cell["cell"]), 3))
        if formulation == "gradient":
            self.near(point["u_star"], u)
            self.near(point["H"].reshape(-1, 3, 3), H)
            self.near(point["p"], -3.5 * trace)
            curl = np.array([H[:, 2, 1] - H[:, 1, 2], H[:, 0, 2] - H[:, 2, 0], H[:, 1, 0] - H[:, 0, 1]]).T
            self.near(point["vorticity"], curl if dim == 3 else curl[:, 2])

    def test_tensors_of_elasticity(self):
        for formulation in ("symmetric", "gradient"):
            for shape in ("triangle", "quad"):
                self.check_elastic(BOX.format(shape), 2, formulation)
            for shape in ("tet", "hex"):
                self.check_elastic(SOLID.format(shape), 3, formulation)

    def test_above_ten_the_cells_are_split(self):
        for shape, cells in (("triangle", 12), ("quad", 6)):
            grid, _, _, _ = self.check(BOX.format(shape), 6, 12, ", fields: [u, q, u_star]")
            self.assertEqual(grid.GetNumberOfCells(), 4 * cells)
            area = 0.0  # the pieces cover the square and do not overlap
            for i in range(grid.GetNumberOfCells()):
                corners = [np.array(grid.GetCell(i).GetPoints().GetPoint(k)) for k in range(grid.GetCell(i).GetNumberOfEdges())]
                rolled = corners[1:] + corners[:1]
                area += sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(corners, rolled)) / 2
            self.assertAlmostEqual(area, 1, places=12)

    def volume(self, grid):
        """Of all cells, each cut into its own tets by VTK."""
        total, points, ids = 0.0, vtkPoints(), vtkIdList()
        for i in range(grid.GetNumberOfCells()):
            grid.GetCell(i).Triangulate(0, ids, points)
            x = np.array([points.GetPoint(k) for k in range(points.GetNumberOfPoints())]).reshape(-1, 4, 3)
            total += np.abs(np.linalg.det(x[:, 1:] - x[:, :1])).sum() / 6
        return total

    def inside(self, grid, point, power):
        """VTK's own shape functions give the polynomial between the nodes too."""
        weights, sub, x = [0.0] * 2000, mutable(0), [0.0] * 3
        for i in range(0, grid.GetNumberOfCells(), 3):
            cell = grid.GetCell(i)
            cell.EvaluateLocation(sub, [0.21, 0.34, 0.13], x, weights)
            value = sum(weights[k] * point["u"][cell.GetPointId(k)] for k in range(cell.GetNumberOfPoints()))
            self.assertAlmostEqual(value, (0.2 + x[0] / 2 - x[1] / 3 + x[2] / 4) ** power, places=9)

    def test_solids(self):
        for shape, cells in (("tet", 12), ("hex", 2)):
            for degree in (1, 2, 3, 4, 5):
                grid, _, point, _ = self.check(SOLID.format(shape), degree, degree, dim=3)
                self.assertEqual(set(point), {"u", "u_star", "q", "q_star", "error"})
                self.assertEqual(grid.GetNumberOfCells(), cells)
                self.assertAlmostEqual(self.volume(grid), 1, places=12)
                self.inside(grid, point, degree)

    def test_solids_above_ten_are_split(self):
        grid, _, point, _ = self.check(SOLID.format("tet"), 4, 11, ", fields: [u]", dim=3)
        self.assertEqual(grid.GetNumberOfCells(), 8 * 12)
        self.assertAlmostEqual(self.volume(grid), 1, places=12)
        self.inside(grid, point, 4)

    def test_curved_solids(self):
        for name, radius in (("ball_3_fine", 1), ("pipe_3_fine", 2)):
            mesh = "{file: " + os.path.join(SOURCE, "tests", "meshes", name + ".msh") + "}"
            fields = ", fields: [u, q, u_star, cell, trace]"
            _, x, _, cell = self.check(mesh, 1, 3, fields, dim=3)
            self.assertLess(np.linalg.norm(x[:, :3 if radius == 1 else 2], axis=1).max(), radius + 5e-3)
            self.assertEqual(sorted(cell["cell"].ravel()), list(range(len(cell["cell"]))))
            self.assertTrue(np.all(np.isfinite(cell["trace"])))

    def test_values_of_solids(self):
        """u = x + 2 y z on [0,1] x [0,2] x [0,3], K = 1: everything is known by hand."""
        case = ("mesh: {box: {coordinates: {x: [0, 0.3, 1], y: [0, 2], z: [0, 1, 3]}, shape: SHAPE}}\n"
                "equation: diffusion\nexact: x+2*y*z\ndiscretization: {degree: 2}\nvalues:\n"
                "- {name: at, field: u, at: [0.7, 1.1, 2.9]}\n- {name: q, field: q, at: [0.2, 0.5, 0.25]}\n"
                "- {name: z, field: q_star, component: z, at: [0.2, 0.5, 0.25]}\n"
                "- {name: max, field: u_star, take: max}\n- {name: min, field: u, take: min}\n"
                "- {name: integral, field: u, take: integral}\n- {name: mean, field: q, take: mean}\n"
                "- {name: flux, field: flux, take: integral, on: zmax}\n"
                "- {name: side, field: u, take: mean, on: ymax}\n"
                "- {name: line, field: u, along: [[0, 0, 0], [1, 2, 3]], points: 5, file: line.csv}\n")
        for shape in ("tet", "hex"):
            with tempfile.TemporaryDirectory() as place:
                with open(os.path.join(place, "case.yaml"), "w", encoding="utf-8") as file:
                    file.write(case.replace("SHAPE", shape))
                done = subprocess.run([PROGRAM, "solve", "case.yaml", "--json", "-"], cwd=place, capture_output=True,
                                      text=True, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(os.path.join(place, "line.csv"), encoding="utf-8") as file:
                    table = [row.split(",") for row in file.read().split()]
            result = json.loads(done.stdout)
            self.assertEqual((result["dimension"], result["mesh"]["shape"]), (3, shape))
            expected = {"at": 0.7 + 2 * 1.1 * 2.9, "q": [-1, -0.5, -1], "z": -1, "max": 13, "min": 0,
                        "integral": 3 + 18, "mean": [-1, -3, -2], "flux": -4, "side": 0.5 + 6,
                        "line": [t + 12 * t * t for t in (0, 0.25, 0.5, 0.75, 1)]}
            for name, value in expected.items():
                self.assertLess(np.max(np.abs(np.array(result["values"][name]) - value)), 1e-10, (shape, name))
            self.assertEqual(table[0][:4], ["distance", "x", "y", "z"])
            self.assertAlmostEqual(float(table[3][4]), 3.5, places=10)

    def test_points_of_solids_that_are_refused(self):
        mesh = os.path.join(SOURCE, "tests", "meshes", "pipe_2_41.msh")
        for point, expected in (("[1.2, 0.3]", "has 3 coordinates, not 2"), ("[1.2, 0.3, 7]", "(1.2, 0.3, 7) lies outside")):
            with tempfile.TemporaryDirectory() as place:
                with open(os.path.join(place, "case.yaml"), "w", encoding="utf-8") as file:
                    file.write(f"mesh: {{file: {mesh}}}\nequation: diffusion\nexact: x\n"
                               f"values: [{{name: a, field: u, at: {point}}}]\n")
                done = subprocess.run([PROGRAM, "check", file.name], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2)
            self.assertIn(expected, done.stderr)

    def test_an_order_of_the_users(self):
        for order in (1, 3, 10):
            grid, x, _, _ = self.check(BOX.format("quad"), 2, 2, f", order: {order}")
            self.assertEqual(len(x), 6 * (order + 1) ** 2)
            self.assertEqual(grid.GetNumberOfCells(), 6)

    def test_curved_and_mixed(self):
        mesh = "{file: " + os.path.join(SOURCE, "tests", "meshes", "annulus_3_41.msh") + ", refine: 1}"
        _, x, _, cell = self.check(mesh, 1, 3, ", fields: [u, q, u_star, q_star, error, cell, trace]")
        radius = np.hypot(x[:, 0], x[:, 1])
        self.assertLess(radius.max(), 2.001)
        self.assertGreater(radius.min(), 0.999)
        self.assertEqual(sorted(cell["cell"].ravel()), list(range(len(cell["cell"]))))
        self.assertTrue(np.all(np.isfinite(cell["trace"])))

    def test_the_trace_is_the_mean_over_the_faces(self):
        _, x, _, cell = self.check("{box: {lower: [0, 0], upper: [1, 1], cells: [1, 1], shape: quad}}", 1, 1,
                                   ", fields: [u, trace]")
        self.assertEqual(len(x), 4)
        self.assertTrue(math.isclose(cell["trace"][0], 0.2 + 0.25 - 1 / 6, rel_tol=1e-12))


if __name__ == "__main__":
    unittest.main(verbosity=1)
