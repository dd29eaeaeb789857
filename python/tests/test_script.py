"""The script that people expect: meshes, problems, solutions and cases, against closed forms and the case file."""
import gc
import os
import tempfile
import unittest

import facet
import numpy as np

ROOT = os.environ["FACET_SOURCE_DIR"]


def mesh_file(name):
    return os.path.join(ROOT, "tests", "meshes", name)


def two_regions():
    """Two quads beside each other, a region each."""
    points = np.array([[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]], dtype=float)
    return facet.Mesh(points, {"quad": [[0, 1, 4, 3], [1, 2, 5, 4]]},
                      {"steel": [0], "aluminium": np.array([1]), "left": [[0, 3]], "right": [[2, 5]],
                       "low": [[0, 1], [1, 2]], "high": [[3, 4], [4, 5]]})


class Meshes(unittest.TestCase):
    def test_box(self):
        mesh = facet.box([0, 0, 0], [1, 2, 3], [2, 3, 4], shape="hex")
        self.assertEqual((mesh.n_cells, mesh.dim, mesh.shape), (24, 3, "hex"))
        self.assertAlmostEqual(mesh.volume, 6)
        self.assertEqual(mesh.parts, ["xmin", "xmax", "ymin", "ymax", "zmin", "zmax"])
        graded = facet.box(coordinates={"x": [0, 0.1, 1], "y": [0, 1]}, shape="quad")
        self.assertEqual((graded.n_cells, graded.dim), (2, 2))
        self.assertAlmostEqual(graded.info["smallest_cell"], np.hypot(0.1, 1))
        self.assertEqual(facet.box([0, 0], [1, 1], [2, 2], periodic="x").parts, ["ymin", "ymax"])
        self.assertAlmostEqual(facet.box([0, 0], [1, 1], [1, 1], scale=3, refine=2).volume, 9)

    def test_there_and_back(self):
        for name in ("annulus_3_41.msh", "ball_2_41.msh", "hex_4.msh"):
            mesh = facet.read(mesh_file(name))
            for numbering in ("gmsh", "vtk", "lattice"):
                groups = {}
                for group in mesh.groups.values():
                    members = mesh.members(group.name)
                    groups[group.name] = members.cells if group.dim == mesh.dim else members.nodes
                blocks = mesh.blocks(numbering)
                again = facet.Mesh(mesh.points, [(b.shape, b.nodes) for b in blocks], groups, numbering=numbering)
                self.assertAlmostEqual(again.volume, mesh.volume, 13)
                self.assertEqual(set(again.groups), set(mesh.groups))
                self.assertEqual(len(again.points), len(mesh.points))

    def test_quadrature(self):
        mesh = facet.read(mesh_file("annulus_4_41.msh"))
        volume, border = mesh.quadrature(8), mesh.quadrature(12, "boundary")
        self.assertAlmostEqual(volume.weights.sum(), mesh.volume, 12)
        self.assertIsNone(volume.normals)
        gauss = (border.x * border.normals).sum(axis=1) @ border.weights / 2  # Gauss: the volume
        self.assertAlmostEqual(gauss, mesh.volume, 10)

    def test_repr(self):
        mesh = two_regions()
        self.assertIn("2 cells (quad)", repr(mesh))
        self.assertIn("aluminium", mesh._repr_html_())
        self.assertEqual(mesh.regions, ["steel", "aluminium"])


class Heat(unittest.TestCase):
    def test_wall_of_two_layers(self):
        """Flux and temperatures of two layers in series are exact: k u' is one number."""
        heat = facet.Diffusion(two_regions(), conductivity={"steel": 45, "aluminium": 180})
        heat.dirichlet("left", 100).dirichlet("right", 0).neumann("rest")
        T = heat.solve(degree=2)
        q = 100 / (1 / 45 + 1 / 180)
        self.assertAlmostEqual(T.flux("right") / q, 1, 9)
        self.assertAlmostEqual(T.flux("left") / q, -1, 9)
        self.assertAlmostEqual(T.max(), 100, 7)
        self.assertAlmostEqual(T.min(), 0, 7)
        (hot, first), (cold, last) = T.argmax(), T.argmin("u", "right")
        self.assertEqual((hot[0], first, cold[0], last), (0, 0, 2, 1))
        self.assertAlmostEqual(T([1.0, 0.5]), 100 - q / 45, 6)
        np.testing.assert_allclose(T([[0.5, 0.2], [1.5, 0.2]]), [100 - q / 90, q / 360], rtol=1e-8)
        np.testing.assert_allclose(T.evaluate("q", [0.3, 0.3]), [q, 0], atol=1e-6)
        self.assertAlmostEqual(T.mean(on="left"), 100, 6)
        self.assertAlmostEqual(T.integral("q", component="x"), 2 * q, 5)
        self.assertEqual(T.evaluate("q", np.zeros((4, 3, 2)) + 0.5).shape, (4, 3, 2))
        self.assertIn("diffusion", repr(T))
        self.assertIn("unknowns", T._repr_html_())
        self.assertIn("steel", repr(heat))
        self.assertIn("conductivity", heat._repr_html_())

    def test_data_in_every_form(self):
        """Numbers, expressions, functions and fields of the same data give the same solution."""
        mesh = facet.box([0, 0], [1, 1], [4, 4])
        plain = facet.Diffusion(mesh, conductivity=[[2, "0.1*x"], ["0.1*x", 3]], reaction="1 + x", source="x*y")
        plain.dirichlet("xmin", "y").neumann("ymin", "x").robin(["xmax", "ymax"], a="1 + y", g="x")
        functions = facet.Diffusion(
            mesh, conductivity=lambda x: np.stack([2 + 0 * x[:, 0], 0.1 * x[:, 0], 0.1 * x[:, 0], 3 + 0 * x[:, 0]], 1),
            reaction=lambda x: 1 + x[:, 0], source=lambda x: x[:, 0] * x[:, 1])
        functions.dirichlet("xmin", lambda x: x[:, 1]).neumann("ymin", lambda x, n: -x[:, 0] * n[:, 1])
        functions.robin(["xmax", "ymax"], a=lambda x: 1 + x[:, 1], g=lambda x: x[:, 0])
        x = np.random.default_rng(1).random((50, 2))
        a, b = plain.solve(degree=3), functions.solve(degree=3)
        np.testing.assert_allclose(a(x), b(x), rtol=1e-9)
        carried = facet.Diffusion(mesh, source=a, reaction=a.field("u"), conductivity=2)
        carried.dirichlet("rest", a)
        again = facet.Diffusion(mesh, source=lambda x: a(x), reaction=lambda x: a(x), conductivity=lambda x: 2.0)
        again.dirichlet("rest", lambda x: a(x))
        np.testing.assert_allclose(carried.solve(degree=2)(x), again.solve(degree=2)(x), rtol=1e-8)

    def test_groups(self):
        mesh = two_regions()
        heat = facet.Diffusion(mesh, reaction={"steel": 1, ("aluminium",): lambda x, group: 2.0 if group else 3.0})
        heat.source["aluminium"] = 4
        heat.source["steel"] = lambda x: 1 + 0 * x[:, 0]
        heat.conductivity["steel"] = "1e-6"
        heat.conductivity["aluminium"] = lambda x: 1e-6
        self.assertIn("aluminium", repr(heat.source))
        heat.neumann("rest")
        T = heat.solve(degree=1)
        self.assertAlmostEqual(T.mean(on="steel"), 1, 2)
        self.assertAlmostEqual(T.mean(on="aluminium"), 2, 2)
        plain = facet.Diffusion(mesh, source=2, reaction=4).neumann("rest")
        self.assertAlmostEqual(plain.solve(degree=1).mean(), 0.5, 10)

    def test_electrodes(self):
        mesh = facet.box([0, 0], [1, 1], [2, 2])
        heat = facet.Diffusion(mesh, conductivity=2).total_flux("xmax", 3).dirichlet("xmin", 1).neumann("rest")
        T = heat.solve(degree=1)
        self.assertAlmostEqual(T.potential("xmax"), 1 + 3 / 2, 10)

    def test_exact(self):
        """Orders of convergence p + 1, and u* of p + 2."""
        errors = []
        for n in (4, 8):
            heat = facet.Diffusion(facet.box([0, 0], [1, 1], [n, n]), exact="sin(pi*x)*sin(pi*y)")
            errors.append(heat.solve(degree=2).errors)
        self.assertGreater(np.log2(errors[0]["u_L2"] / errors[1]["u_L2"]), 2.8)
        self.assertGreater(np.log2(errors[0]["u_star_L2"] / errors[1]["u_star_L2"]), 3.7)

    def test_parameters_and_time(self):
        heat = facet.Diffusion(facet.box([0, 0], [1, 1], [2, 2]), parameters={"h": 2})
        heat.source = "h + t"
        heat.dirichlet("rest", 0)
        solver = heat.prepare(degree=2)
        first = solver.solve()
        second = solver.set(t=2, h=4).solve()
        np.testing.assert_allclose(second, 3 * first, rtol=1e-10)
        self.assertEqual(solver.update(), ())
        solver.set(h=1)
        self.assertEqual(solver.update(), ("load",))
        self.assertEqual(dict(heat.parameters), {"h": 2.0})

    def test_report(self):
        heat = facet.Diffusion(facet.box([0, 0], [1, 1], [8, 8]), source=1).dirichlet("rest", 0)
        T = heat.solve(degree=2, method="cg", preconditioner="pmg", watch=True)
        report = T.report
        self.assertTrue(report.converged)
        self.assertEqual(report["equation"], "diffusion")
        self.assertEqual(len(T.history), report.iterations + 1)
        self.assertGreater(len(T.levels), 1)
        self.assertIn("solve", report.seconds)
        quads = facet.Diffusion(facet.box([0, 0], [1, 1], [4, 4], shape="quad"), conductivity="1 + x")
        self.assertIn("tensor", quads.dirichlet("rest", 0).solve(degree=2).report.notes[0])


class Solids(unittest.TestCase):
    def test_bar(self):
        """A bar that is pulled: stress, displacement and reaction in closed form."""
        mesh = facet.box([0, 0, 0], [2, 1, 1], [2, 1, 1], shape="hex")
        body = facet.Elasticity(mesh, E=100, nu=0.3)
        body.roller("xmin", "x").roller("ymin", "y").roller("zmin", "z").traction("xmax", [5, 0, 0]).free()
        u = body.solve(degree=1)
        np.testing.assert_allclose(u([2, 1, 1]), [0.1, -0.015, -0.015], rtol=1e-7)
        np.testing.assert_allclose(u.reaction("xmin"), [-5, 0, 0], atol=1e-7)
        self.assertAlmostEqual(u.max("von_mises"), 5, 6)
        np.testing.assert_allclose(u.evaluate("stress", [1, 0.5, 0.5]), np.diag([5, 0, 0]), atol=1e-6)
        self.assertAlmostEqual(u.mean("stress", component="xx"), 5, 7)
        self.assertEqual(u.mean("stress").shape, (3, 3))

    def test_loads_in_every_form(self):
        """A pressure, a force, and a traction as list and function are one load."""
        mesh = facet.box([0, 0], [2, 1], [4, 2])
        loads = [lambda b: b.pressure("xmax", -3), lambda b: b.force("xmax", [3, 0]),
                 lambda b: b.traction("xmax", ["3", 0]), lambda b: b.traction("xmax", lambda x, n: 3 * n),
                 lambda b: b.pressure("xmax", lambda x: -3 + 0 * x[:, 0])]
        ends = []
        for load in loads:
            body = facet.Elasticity(mesh, mu=1, lambda_=1.5).displacement("xmin", [0, 0])
            load(body)
            ends.append(body.free().solve(degree=2)([2, 1]))
        for end in ends[1:]:
            np.testing.assert_allclose(end, ends[0], rtol=1e-8)

    def test_functions(self):
        """Everything as functions against the same as expressions."""
        mesh = facet.box([0, 0], [1, 1], [2, 2])

        def supports(body, how):
            if how == "text":
                return body.displacement("xmin", ["0.1*y", 0]).spring("xmax", "2 + y").spring("ymin", normal=2)
            body.displacement("xmin", lambda x: np.stack([0.1 * x[:, 1], 0 * x[:, 1]], 1))
            body.spring("xmax", lambda x: 2 + x[:, 1])
            return body.spring("ymin", normal=lambda x: 2.0, tangential=0)
        text = facet.Elasticity(mesh, E="1 + x", nu=0.3, source=["x", 1], plane="stress")
        code = facet.Elasticity(mesh, E=lambda x: 1 + x[:, 0], nu=0.3, plane="stress",
                                source=lambda x: np.stack([x[:, 0], 1 + 0 * x[:, 0]], 1))
        solved = [supports(body, how).free().solve(degree=2) for body, how in ((text, "text"), (code, "code"))]
        np.testing.assert_allclose(solved[0]([0.7, 0.6]), solved[1]([0.7, 0.6]), rtol=1e-8)
        held = facet.Elasticity(mesh, E=1, nu=0.3).roller("xmin", "x").roller("ymin", "y")
        held.displacement("xmax", lambda x: 0.1 + 0 * x, components="x").free()
        self.assertAlmostEqual(held.solve(degree=1)([1, 0.5])[0], 0.1, 9)

    def test_groups(self):
        mesh = two_regions()
        body = facet.Elasticity(mesh, E={"steel": 2, "aluminium": 1}, nu=0.0)
        body.roller("left", "x").roller("low", "y").traction("right", [1, 0]).free()
        body.source["steel"] = [0, 0]
        body.source["aluminium"] = lambda x: 0 * x
        u = body.solve(degree=2)
        self.assertAlmostEqual(u([2, 0.5])[0], 1 / 2 + 1, 8)
        body = facet.Elasticity(mesh)
        body.material["steel"] = {"E": 1, "nu": 0}
        body.material["aluminium"] = {"mu": lambda x: 0.5, "lambda": 0}
        self.assertAlmostEqual(body.roller("left", "x").roller("low", "y").traction("right", [1, 0]).free()
                               .solve(degree=1)([2, 0.5])[0], 2, 8)

    def test_symmetry_and_exact(self):
        mesh = facet.box([0, 0], [1, 1], [2, 2], shape="quad")
        body = facet.Elasticity(mesh, E=1, nu=0.25, exact=["x + x*y", "y - x^2"])
        body.displacement("xmin", "exact").traction("xmax", "exact")
        self.assertLess(body.solve(degree=2).errors["u_L2"], 1e-9)
        body = facet.Elasticity(mesh, E=1, nu=0.25).symmetry(["xmin", "ymin"]).pressure("xmax", -1).free()
        self.assertAlmostEqual(body.solve(degree=1)([1, 0.5])[0], 1 - 0.25 ** 2, 8)
        for g in (["-1", 0], lambda x: np.array([-1.0, 0])):
            flow = facet.Elasticity(mesh, mu=1, lambda_=1).displacement("xmin", [0, 0]).gradient_pressure("xmax", g)
            flow.gradient_pressure("rest", [0, 0])
            self.assertLess(flow.solve(degree=1, formulation="gradient")([1, 0.5])[0], 0)

    def test_heat(self):
        """A body that is free and warm stretches by expansion (T - reference)."""
        mesh = two_regions()
        T = facet.Diffusion(mesh).dirichlet("rest", 70).solve(degree=1)
        temperatures = [T, 70, "70", lambda x: 70.0, T.field("u")]
        for temperature in temperatures:
            body = facet.Elasticity(mesh, E=1, nu=0.3, plane="stress")
            body.thermal(temperature, expansion={"steel": 1e-3, "aluminium": lambda x: 2e-3}, reference=20)
            body.roller("left", "x").roller("low", "y").free()
            u = body.solve(degree=2)
            self.assertTrue(0.05 < u([2, 0.0])[0] < 0.2)
        body = facet.Elasticity(mesh, E=1, nu=0.3).thermal(T, expansion=1e-3, reference=20)
        body.roller("left", "x").roller("low", "y").free()
        self.assertAlmostEqual(body.solve(degree=1)([2, 1])[0], 2 * 50e-3 * 1.3, 8)  # held across the plane

    def test_a_body_of_revolution(self):
        """Heat through the wall of a pipe, 1 to 2 and 1 high."""
        pipe = facet.Diffusion(facet.box([1, 0], [2, 1], [4, 2]), conductivity=3, plane="axisymmetric")
        T = pipe.dirichlet("xmin", 1).dirichlet("xmax", 0).neumann("rest").solve(degree=6)
        self.assertAlmostEqual(T.flux("xmax"), 6 * np.pi / np.log(2), 6)

    def test_notes(self):
        """Who looks at a solution sees that there are notes."""
        heat = facet.Diffusion(facet.box([0, 0], [1, 1], [3, 3]), source=lambda x: 1.0 * (abs(x - 0.45).max(axis=1) < 0.05))
        T = heat.dirichlet("rest").solve(degree=2)
        self.assertIn("not resolved", " ".join(T.report["notes"]))
        self.assertIn("report['notes']: 1", repr(T))
        heat.source = 1
        self.assertNotIn("notes", repr(heat.solve(degree=2)))

    def test_unnamed_parts_are_free(self):
        said, unsaid = [facet.Elasticity(two_regions(), E=1, nu=0.3).fixed("left").pressure("right", -1)
                        for _ in range(2)]
        np.testing.assert_array_equal(said.free().solve(degree=2)([2, 1]), unsaid.solve(degree=2)([2, 1]))
        unsaid.solve(degree=1)
        with self.assertRaisesRegex(facet.InputError, "have no condition"):
            facet.Diffusion(two_regions()).dirichlet("left").solve()


class Later(unittest.TestCase):
    def test_orthotropic(self):
        """Moduli of an isotropic body as orthotropic ones."""
        mesh = facet.box([0, 0], [1, 1], [2, 2])
        plain = facet.Elasticity(mesh, E=2, nu=0.25, plane="stress").fixed("xmin").traction("xmax", [1, 0])
        nine = facet.Elasticity(mesh, plane="stress").orthotropic(E=[2, 2], nu=0.25, G=0.8)
        nine.fixed("xmin").traction("xmax", [1, 0])
        np.testing.assert_allclose(nine.solve(degree=2)([1, 1]), plain.solve(degree=2)([1, 1]), rtol=1e-7)

    def test_interface(self):
        """Two layers of conductivity 1 and a contact of conductance 2: resistances add up."""
        heat = facet.Diffusion(two_regions()).interface("steel", "aluminium", 2)
        heat.dirichlet("left", 1).dirichlet("right", 0).neumann("rest")
        self.assertAlmostEqual(heat.solve(degree=1, operator="mapped").flux("right"), 1 / (1 + 1 / 2 + 1), 8)

    def test_joined_sides(self):
        """A homogeneous cell: u = jump . x up to a constant, and q is minus the jump."""
        mesh = facet.box([0, 0], [1, 1], [2, 2], periodic="xy")
        T = facet.Diffusion(mesh).jump([1, 2]).solve(degree=1, operator="mapped")
        np.testing.assert_allclose(T.mean("q"), [-1, -2], atol=1e-8)
        body = facet.Elasticity(mesh, E=1, nu=0).jump([[1, 0], [0, 0]])
        self.assertAlmostEqual(body.solve(degree=1).mean("stress", component="xx"), 1, 7)
        apart = facet.read(mesh_file("periodic_41.msh"), apart=True)
        self.assertGreater(apart.info["n_boundary_faces"], facet.read(mesh_file("periodic_41.msh"))
                           .info["n_boundary_faces"])


class Files(unittest.TestCase):
    def test_save_and_sample(self):
        heat = facet.Diffusion(facet.box([0, 0], [1, 1], [3, 3], shape="quad"), source=1).dirichlet("rest", 0)
        T = heat.solve(degree=2)
        with tempfile.TemporaryDirectory() as folder:
            for order in (0, 3):
                path = os.path.join(folder, f"a{order}.vtu")
                T.save(path, ["u", "cell"], order)
                self.assertGreater(os.path.getsize(path), 500)
            with self.assertRaises(facet.MachineError):
                T.save(os.path.join(folder, "none", "a.vtu"))
        sample = T.sample(["u", "cell"], 2)
        self.assertEqual(sample.on_cells, ["cell"])
        self.assertEqual(len(sample.types), 9)
        self.assertEqual(sample.fields["u"].shape, (len(sample.points),))
        self.assertIn("u, cell", repr(sample))

    def test_case(self):
        path = os.path.join(ROOT, "examples", "heat-sink.yaml")
        result = facet.solve(path)
        self.assertEqual(set(result.values), set(result.json["values"]))
        for name, value in result.json["values"].items():
            np.testing.assert_allclose(result[name], value, rtol=1e-9)
        self.assertGreater(result.solution.report.degree, 0)
        self.assertIn("facet.Result", repr(result))
        self.assertIn("table", result._repr_html_())
        with self.assertRaises(KeyError):
            result["no such value"]

    TEXT = """
title: A plate
parameters: {k: 2, f: k + 1}
mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [3, 2], shape: quad}}
equation: diffusion
conductivity: k
source: f
boundary: [{on: xmin, dirichlet: 0}, {on: rest, neumann: 0}]
discretization: {degree: 2}
values:
  - {name: far, field: u, at: [1, 0.5]}
  - {name: line, field: q, along: [[0, 0.5], [1, 0.5]], points: 5}
"""

    def test_case_step_by_step(self):
        far = [facet.solve(text=self.TEXT, set={"parameters.k": k}).values["far"] for k in (1, 2)]
        np.testing.assert_allclose(far, [2 / 2, 3 / 4], rtol=1e-9)
        with self.assertRaisesRegex(facet.InputError, "no parameter 'K'.*did you mean 'k'"):
            facet.solve(text=self.TEXT, set={"parameters.K": 5})
        case = facet.Case(text=self.TEXT, set=["parameters.k=3"])
        self.assertEqual(case.parameters, {"k": 3.0, "f": 4.0})
        self.assertIn("A plate", repr(case))
        self.assertIn("diffusion", case._repr_html_())
        self.assertEqual(case.options().degree, 2)
        solver = case.solver()
        solver.solve()
        values = case.values(0, solver.solution)
        self.assertAlmostEqual(values["far"], 4 / 6, 8)
        self.assertEqual(values["line"].shape, (5, 2))
        finer = case.solver(degree=5)
        finer.solve()
        self.assertEqual(finer.solution.report.degree, 5)

    def test_chain(self):
        result = facet.solve(os.path.join(ROOT, "examples", "hot-cylinder.yaml"))
        self.assertEqual(len(result.solutions), 2)
        heat, stress = result.solutions
        self.assertEqual((heat.equation, stress.equation), ("diffusion", "elasticity"))
        names = [case["name"] for case in result.case.cases]
        self.assertIs(result[names[1]], stress)
        case = result.case
        mesh = case.mesh()
        first = case.solver(mesh, 0)
        first.solve()
        second = case.solver(mesh, 1, first.solution)
        second.solve()
        self.assertAlmostEqual(second.solution.max("von_mises") / stress.max("von_mises"), 1, 8)


class Lives(unittest.TestCase):
    def test_whatever_is_dropped_first(self):
        """A solution keeps what it needs; cycles through callbacks are collected; nothing is freed twice."""
        def make():
            mesh = facet.box([0, 0], [1, 1], [2, 2])
            heat = facet.Diffusion(mesh)
            heat.source = lambda x: x[:, 0] * heat.dim  # a cycle
            T = heat.dirichlet("rest", 0).solve(degree=1)
            return T, T.field("u"), T.solver
        T, field, solver = make()
        gc.collect()
        value = T([0.5, 0.5])
        del T
        gc.collect()
        self.assertEqual(field([0.5, 0.5]), value)
        del solver
        gc.collect()
        self.assertEqual(field([0.5, 0.5]), value)
        case_mesh = facet.solve(text=Files.TEXT).mesh
        gc.collect()
        self.assertEqual(case_mesh.n_cells, 6)

    def test_memory_comes_back(self):
        def grown():
            with open("/proc/self/statm", encoding="utf-8") as file:
                return int(file.read().split()[1]) * 4096

        mesh = facet.box([0, 0], [1, 1], [24, 24])
        for i in range(25):
            if i == 5:
                before = grown()
            heat = facet.Diffusion(mesh, source=lambda x: x[:, 0]).dirichlet("rest", 0)
            heat.solve(degree=3)
            del heat
            gc.collect()
        self.assertLess(grown() - before, 20e6)


if __name__ == "__main__":
    unittest.main()
