"""The shape functions of tools/cells.py: they are 1 at their own node and 0 at the others, reproduce polynomials, and
agree with VTK's own where VTK for Python is installed (otherwise that comparison alone is skipped). Exit status 77:
NumPy is not here, nothing was tested."""

import os
import sys
import unittest

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: NumPy is not installed ({missing}); Debian: python3-numpy")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import cells  # noqa: E402

TOLERANCE = 1e-12
MOST_ORDER = 8
LAGRANGE_SEGMENT = 68  # which may have any number of nodes
CUBIC_LINE = 35  # VTK's parameter of it runs from -1 to 1


def kinds_and_sizes():
    """(type of VTK, number of nodes) of every cell that is tested."""
    for vtk_type, kind in cells.LAGRANGE.items():
        for order in range(1, MOST_ORDER + 1):
            yield vtk_type, cells.count_nodes(kind, order)
    for vtk_type, (kind, order) in cells.COMPLETE.items():
        yield vtk_type, cells.count_nodes(kind, order)
    for vtk_type, (_, numbers) in cells.PERMUTED.items():
        yield vtk_type, len(numbers)
    for vtk_type, (_, n_nodes) in cells.SERENDIPITY.items():
        yield vtk_type, n_nodes
    yield cells.TRIANGLE_WITH_CENTRE, 7


def points_inside(kind, n=12):
    """Random points of the cell."""
    found = np.random.default_rng(1).random((n, 3))
    for axes in cells.FACTORS[kind]:
        if len(axes) > 1:
            found[:, axes] /= np.maximum(1, found[:, axes].sum(axis=1))[:, None]
    found[:, max(max(axes) for axes in cells.FACTORS[kind]) + 1:] = 0
    return found


class Functions(unittest.TestCase):
    def test_orders(self):
        for vtk_type, n_nodes in kinds_and_sizes():
            self.assertIsNotNone(cells.order_of(vtk_type, n_nodes), (vtk_type, n_nodes))
            if vtk_type != LAGRANGE_SEGMENT:
                self.assertIsNone(cells.order_of(vtk_type, n_nodes + 1), (vtk_type, n_nodes))
        self.assertEqual(cells.order_of(72, 9 ** 3), 8)
        self.assertIsNone(cells.order_of(72, 10 ** 9))
        self.assertIsNone(cells.order_of(1, 1))

    def test_nodes(self):
        """Each node of a Lagrange cell occurs once, and its function is 1 there and 0 at the others."""
        for vtk_type, kind in cells.LAGRANGE.items():
            for order in range(1, MOST_ORDER + 1):
                lattice = cells.nodes(kind, order)
                self.assertEqual(len({tuple(node) for node in lattice.tolist()}), cells.count_nodes(kind, order))
                found = cells.weights(vtk_type, len(lattice), lattice / order)
                self.assertLess(np.abs(found - np.eye(len(lattice))).max(), TOLERANCE)

    def test_sum(self):
        for vtk_type, n_nodes in kinds_and_sizes():
            found = cells.weights(vtk_type, n_nodes, points_inside(cells.KINDS[vtk_type]))
            self.assertEqual(found.shape, (12, n_nodes))
            self.assertLess(np.abs(found.sum(axis=1) - 1).max(), TOLERANCE)

    def test_vtk(self):
        try:
            from vtkmodules.vtkCommonCore import mutable, vtkPoints
            from vtkmodules.vtkCommonDataModel import vtkGenericCell, vtkUnstructuredGrid
            import vtkmodules.vtkRenderingCore  # noqa: F401  (some VTK builds load cell types only with it)
        except ImportError as missing:
            self.skipTest(f"VTK for Python is not installed ({missing}); Debian: python3-vtk9")
        for vtk_type, n_nodes in kinds_and_sizes():
            points = points_inside(cells.KINDS[vtk_type])
            grid, somewhere, cell, theirs = vtkUnstructuredGrid(), vtkPoints(), vtkGenericCell(), []
            somewhere.SetNumberOfPoints(n_nodes)
            for i in range(n_nodes):
                somewhere.SetPoint(i, 0, 0, 0)
            grid.SetPoints(somewhere)
            grid.InsertNextCell(vtk_type, n_nodes, list(range(n_nodes)))
            grid.GetCell(0, cell)
            for point in 2 * points - (1, 0, 0) if vtk_type == CUBIC_LINE else points:
                row = [0.0] * n_nodes
                cell.EvaluateLocation(mutable(0), point.tolist(), [0.0] * 3, row)
                theirs.append(row)
            difference = np.abs(cells.weights(vtk_type, n_nodes, points) - theirs).max()
            self.assertLess(difference, TOLERANCE, (vtk_type, n_nodes))


if __name__ == "__main__":
    unittest.main(verbosity=1)
