"""What works with other packages: meshio, Gmsh, pyvista, matplotlib, tqdm, mypy. A package that is not installed is a
test that says it was skipped."""
import importlib.util
import os
import subprocess
import sys
import unittest

import facet
import numpy as np

ROOT = os.environ["FACET_SOURCE_DIR"]


def needs(name):
    return unittest.skipUnless(importlib.util.find_spec(name), f"{name} is not installed")


def mesh_file(name):
    return os.path.join(ROOT, "tests", "meshes", name)


def solved(mesh, degree=2):
    return facet.Diffusion(mesh, source=1).dirichlet("rest", 0).solve(degree=degree)


def prism_and_pyramid():
    """Half a cube, and a pyramid on its square side x = 0."""
    x = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1], [-1, 0.5, 0.5]]
    return facet.Mesh(np.array(x, dtype=float), {"prism": [[0, 1, 2, 3, 4, 5]], "pyramid": [[0, 3, 5, 2, 6]]},
                      {"bottom": [[0, 1, 2]]})


class Refusals(unittest.TestCase):
    def test_shapes_that_are_not_drawn(self):
        mesh = prism_and_pyramid()
        for draw in (mesh.plot, solved(mesh, 1).plot):
            with self.assertRaisesRegex(facet.InputError, "shape prism are not drawn"):
                draw()

    def test_levels(self):
        T = solved(facet.box([0, 0], [1, 1], [2, 2]))
        for levels in (-1, 0, 1.5, "a"):
            with self.assertRaisesRegex(facet.InputError, "levels"):
                T.plot(levels=levels)


@needs("meshio")
class Meshio(unittest.TestCase):
    def test_there_and_back(self):
        for name in ("annulus_1_41.msh", "annulus_3_41.msh", "ball_2_41.msh", "hex_2.msh", "hex_3.msh", "tets_2.msh"):
            mesh = facet.read(mesh_file(name))
            again = facet.from_meshio(mesh.to_meshio())
            self.assertAlmostEqual(again.volume, mesh.volume, 12, name)
            for group in mesh.groups.values():
                self.assertEqual(again.groups[group.name][1:], group[1:], name)

    def test_files_that_meshio_reads(self):
        """Nodes of curved cells in the order that meshio gives them."""
        import meshio
        for name in ("ball_2_22.msh", "hex_2.msh", "pipe_2_41.msh", "annulus_3_22.msh"):
            theirs, ours = facet.from_meshio(meshio.read(mesh_file(name))), facet.read(mesh_file(name))
            self.assertAlmostEqual(theirs.volume, ours.volume, 12, name)
            self.assertAlmostEqual(theirs.info["smallest_jacobian"], ours.info["smallest_jacobian"], 10, name)
            named = {group.name for group in ours.groups.values() if not group.name.isdigit()}
            self.assertLessEqual(named, set(theirs.groups), name)

    def test_prisms_and_pyramids(self):
        import meshio
        mesh = prism_and_pyramid()
        theirs = mesh.to_meshio()
        self.assertLessEqual({"wedge", "pyramid"}, {block.type for block in theirs.cells})
        again = facet.from_meshio(theirs)
        self.assertEqual(again.shape, mesh.shape)
        self.assertAlmostEqual(again.volume, 0.5 + 1 / 3, 12)
        self.assertEqual(again.groups["bottom"][1:], mesh.groups["bottom"][1:])
        self.assertEqual({"wedge", "hexahedron"},  # a pyramid of VTU is a brick with a side drawn together
                         {block.type for block in solved(mesh, 1).to_meshio(["u"]).cells})
        curved = meshio.Mesh(np.random.default_rng(1).random((18, 3)), [("wedge18", np.arange(18)[None])])
        with self.assertRaisesRegex(facet.InputError, "shape prism and order 2"):
            facet.from_meshio(curved)

    def test_solutions(self):
        T = solved(facet.box([0, 0, 0], [1, 1, 1], [2, 2, 2]))
        mesh = T.to_meshio(["u", "cell"])
        self.assertEqual(mesh.cells[0].type, "tetra")
        self.assertEqual(mesh.point_data["u"].shape, (len(mesh.points),))


@needs("gmsh")
class Gmsh(unittest.TestCase):
    def test_model(self):
        import gmsh
        try:
            gmsh.initialize(interruptible=False)
        except TypeError:  # before Gmsh 4.9
            gmsh.initialize()
        try:
            gmsh.option.setNumber("General.Terminal", 0)
            for order in (1, 2):
                gmsh.clear()
                disk = gmsh.model.occ.addDisk(0, 0, 0, 1, 1)
                gmsh.model.occ.synchronize()
                rim = [tag for _, tag in gmsh.model.getBoundary([(2, disk)])]
                for dim, tags, name in ((2, [disk], "plate"), (1, rim, "rim")):
                    gmsh.model.setPhysicalName(dim, gmsh.model.addPhysicalGroup(dim, tags), name)
                gmsh.model.mesh.generate(2)
                gmsh.model.mesh.setOrder(order)
                mesh = facet.from_gmsh()
                self.assertEqual(set(mesh.groups), {"plate", "rim"})
                self.assertLess(abs(mesh.volume - np.pi), 0.2 if order == 1 else 1e-2)
                T = facet.Diffusion(mesh, source=4).dirichlet("rim", 0).solve(degree=2)
                self.assertAlmostEqual(T([0, 0]), 1, 1 if order == 1 else 2)
        finally:
            gmsh.finalize()


@needs("pyvista")
class Pyvista(unittest.TestCase):
    def test_curved_cells(self):
        mesh = facet.read(mesh_file("ball_3_41.msh"))
        grid = solved(mesh, 3).to_pyvista(["u", "cell"], order=3)
        corners = mesh.points[mesh.blocks()[0].nodes[:, :4]]
        flat = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])).sum() / 6
        self.assertEqual(grid.n_cells, mesh.n_cells)
        self.assertIn("u", grid.point_data)
        self.assertIn("cell", grid.cell_data)
        # VTK cuts curved cells into flat ones: nearer to the ball than to its corners by far.
        self.assertLess(abs(grid.tessellate().volume - mesh.volume), 0.05 * abs(flat - mesh.volume))


@needs("matplotlib")
class Pictures(unittest.TestCase):
    def setUp(self):
        import matplotlib
        matplotlib.use("Agg")

    def tearDown(self):
        import matplotlib.pyplot as plt
        plt.close("all")

    def area(self, ax):
        """That of all triangles of a flat picture."""
        total = 0
        for collection in ax.collections:
            triangulation = getattr(collection, "_triangulation", None)
            if triangulation is not None:
                x, y, t = triangulation.x, triangulation.y, triangulation.triangles
                a, b, c = (np.stack([x[t[:, i]], y[t[:, i]]], 1) for i in range(3))
                total += np.abs((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]).sum() / 2
        return total

    def test_flat(self):
        mesh = facet.read(mesh_file("annulus_3_41.msh"))
        T = solved(mesh, 4)
        self.assertAlmostEqual(self.area(T.plot()) / mesh.volume, 1, 1)
        T.plot("q", "x", levels=8, edges=False)
        T.plot("cell", order=2)
        mesh.plot()
        with self.assertRaises(facet.InputError):
            T.plot(clip="z")
        with self.assertRaises(facet.InputError):
            T.plot(deform=1)

    def test_solid(self):
        from facet import _plot
        surfaces = []

        def noted(triangles, lines, x, *rest):
            surfaces.append(x[triangles])
            return draw(triangles, lines, x, *rest)
        draw, _plot._draw_surface = _plot._draw_surface, noted
        self.addCleanup(setattr, _plot, "_draw_surface", draw)
        for shape in ("tet", "hex"):
            mesh = facet.box([0, 0, 0], [2, 1, 1], [2, 2, 2], shape=shape)
            u = facet.Elasticity(mesh, E=1, nu=0.3, source=[0, 0, -1]).fixed("xmin").free().solve(degree=1)
            for clip, area in ((None, 10), ("x", 6), (("z", 0.5), 7)):
                u.plot("von_mises", clip=clip, edges=False)
                x = surfaces[-1]
                got = np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1).sum() / 2
                if shape == "hex":
                    self.assertAlmostEqual(got, area, 6)
            u.plot("u", "z", deform=0.1)
            mesh.plot()


@needs("mypy")
class Types(unittest.TestCase):
    def test_strict(self):
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "-p", "facet",
                               "--config-file", os.path.join(ROOT, "pyproject.toml"),
                               "--cache-dir", os.devnull], cwd=os.path.join(ROOT, "python"), capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
