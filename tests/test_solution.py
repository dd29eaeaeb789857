"""Solves problems whose solution is a polynomial with the program, reads the written fields with VTK's own reader, and
compares them with the polynomial at every point, and inside the cells: what io/solution.c samples is what was solved.
FACET_PROGRAM says where the program is. Exit status 77: VTK is not here, nothing was tested."""

import math
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader
    import vtkmodules.vtkRenderingCore  # noqa: F401  (some VTK builds load cell types only with it)
except ImportError as missing:
    print(f"skipped: VTK's Python reader is not installed ({missing}); Debian: python3-vtk9")
    sys.exit(77)

PROGRAM = os.environ["FACET_PROGRAM"]
SOURCE = os.path.abspath(os.environ.get("FACET_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..")))
BOX = "{{box: {{lower: [0, 0], upper: [1, 1], cells: [2, 3], shape: {}}}}}"
TOLERANCE = 1e-10


def solve(mesh, exact, degree, output=""):
    """Points, fields at points and fields of cells of the file that a solve writes."""
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "a.vtu")
        case = (f"mesh: {mesh}\nequation: diffusion\nexact: {exact}\nconductivity: 2\n"
                f"discretization: {{degree: {degree}}}\noutput: {{file: {path}{output}}}\n")
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

    def check(self, mesh, power, degree, output=""):
        exact = f"(0.2+x/2-y/3)^{power}"
        grid, x, point, cell = solve(mesh, exact, degree, output)
        base = 0.2 + x[:, 0] / 2 - x[:, 1] / 3
        flux = -2 * power * base[:, None] ** (power - 1) * np.array([1 / 2, -1 / 3])
        for name, values in point.items():
            if name in ("u", "u_star"):
                self.near(values, base**power)
            elif name in ("q", "q_star"):
                self.near(values[:, :2], flux)
            else:
                self.assertEqual(name, "error")
                self.assertLess(np.max(np.abs(values)), TOLERANCE)
        return grid, x, point, cell

    def test_shapes_and_degrees(self):
        for shape in ("triangle", "quad"):
            for degree in (1, 2, 5, 9):
                _, _, point, _ = self.check(BOX.format(shape), degree, degree)
                self.assertEqual(set(point), {"u", "u_star", "q", "q_star", "error"})

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
