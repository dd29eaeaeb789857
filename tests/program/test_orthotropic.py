"""Orthotropic materials against closed forms: tension off the axes, uniform stresses with turned axes, bodies turned with
their axes, Lekhnitskii's cylinder, orders, and what is refused. FACET_PROGRAM says where the program is."""

import itertools
import json
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lattice  # noqa: E402
from test_app import SOURCE, Program  # noqa: E402

NINE = [140.0, 10.0, 8.0, 0.3, 0.25, 0.4, 5.0, 4.0, 3.0]  # E1 E2 E3 nu12 nu13 nu23 G12 G13 G23


def law(c, first=None, second=None, **more):
    """The material of a case."""
    axes = f", first: {first}" if first else ""
    axes += f", second: {second}" if second else ""
    if len(c) == 4:
        return f"{{orthotropic: {{E: [{c[0]}, {c[1]}], nu: {c[2]}, G: {c[3]}{axes}}}}}"
    return f"{{orthotropic: {{E: {c[:3]}, nu: {c[3:6]}, G: {c[6:]}{axes}}}}}"


def axes_of(first, second=None):
    """The axes as rows, by Gram and Schmidt; in 2D the third is z."""
    def unit(v):
        return [x / math.sqrt(sum(y * y for y in v)) for x in v]
    if second is None:
        a = unit(list(first) + [0])
        return [a, [-a[1], a[0], 0], [0, 0, 1]]
    a = unit(first)
    along = sum(x * y for x, y in zip(a, second))
    b = unit([y - along * x for x, y in zip(a, second)])
    return [a, b, [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]]


def strain(c, axes, stress):
    """eps = S sigma of 3 x 3 tensors, in the axes of the material and back."""
    E, nu, G = c[:3], c[3:6], c[6:]
    S = [[1 / E[0], -nu[0] / E[0], -nu[1] / E[0]], [-nu[0] / E[0], 1 / E[1], -nu[2] / E[1]],
         [-nu[1] / E[0], -nu[2] / E[1], 1 / E[2]]]
    shear = {(0, 1): G[0], (0, 2): G[1], (1, 2): G[2]}
    r = range(3)
    own = [[sum(axes[i][a] * stress[a][b] * axes[j][b] for a in r for b in r) for j in r] for i in r]
    e = [[sum(S[i][k] * own[k][k] for k in r) if i == j else own[i][j] / (2 * shear[min(i, j), max(i, j)]) for j in r]
         for i in r]
    return [[sum(axes[i][a] * e[i][j] * axes[j][b] for i in r for j in r) for b in r] for a in r]


class Orthotropic(Program):
    def near(self, found, wanted, delta, message=""):
        found, wanted = (x if isinstance(x, list) else [x] for x in (found, wanted))
        self.assertEqual(len(found), len(wanted), message)
        for a, b in zip(found, wanted):
            self.assertAlmostEqual(a, b, delta=delta, msg=f"{message}: {found}, not {wanted}")

    def uniform(self, mesh, dim, plane, material, sigma, epsilon, message):
        """A body under a uniform stress, held at xmin: u = eps x, all tractions given as numbers."""
        exact = ["+".join(f"({epsilon[c][a]!r})*{'xyz'[a]}" for a in range(dim)) for c in range(dim)]
        sides = [(a, s) for a in range(dim) for s in (0, 1)][1:]
        boundary = "".join(f"  - {{on: {'xyz'[a]}{('min', 'max')[s]}, traction: "
                           f"{[(2 * s - 1) * sigma[c][a] for c in range(dim)]}}}\n" for a, s in sides)
        out = self.solve(mesh + f"""equation: elasticity
{plane}material: {material}
exact: [{", ".join(exact)}]
boundary:
  - {{on: xmin, displacement: exact}}
{boundary}discretization: {{degree: 1}}
solver: {{method: direct}}
values: [{{name: stress, field: stress, take: mean}}, {{name: strain, field: strain, take: mean}}]
""")
        self.assertNotIn("notes", out, message)  # given and exact tractions agree
        self.assertLess(out["errors"]["u"]["L2"], 1e-10, message)
        self.assertLess(out["errors"]["stress"]["L2"], 1e-8, message)
        self.near(out["values"]["stress"], [sigma[a][b] for a in range(dim) for b in range(dim)], 1e-8, message)
        self.near(out["values"]["strain"], [epsilon[a][b] for a in range(dim) for b in range(dim)], 1e-10, message)

    def test_tension_off_axis(self):
        """1/E_x = c^4/E1 + s^4/E2 + (1/G12 - 2 nu12/E1) s^2 c^2 of a strip in plane stress."""
        E1, E2, nu, G = 140.0, 10.0, 0.3, 5.0
        for angle in (0, 0.4, math.pi / 4, 1.2):
            c, s = math.cos(angle), math.sin(angle)
            stiff = 1 / (c**4 / E1 + s**4 / E2 + (1 / G - 2 * nu / E1) * s * s * c * c)
            cross = stiff * (nu / E1 * (s**4 + c**4) - (1 / E1 + 1 / E2 - 1 / G) * s * s * c * c)
            shear = 2 * s * c * ((1 / E1 + nu / E1 - 1 / (2 * G)) * c * c - (1 / E2 + nu / E1 - 1 / (2 * G)) * s * s)
            for shape in ("triangle", "quad"):
                values = self.solve(f"""mesh: {{box: {{lower: [0, 0], upper: [2, 1], cells: [3, 2], shape: {shape}}}}}
equation: elasticity
plane: stress
material: {law([E1, E2, nu, G], [c, s])}
boundary:
  - {{on: xmin, displacement: [0, "{-7 * cross / stiff}*y"]}}
  - {{on: xmax, traction: [7, 0]}}
  - {{on: rest, traction: [0, 0]}}
discretization: {{degree: 1}}
values:
  - {{name: corner, field: u, at: [2, 1]}}
  - {{name: mises, field: von_mises, take: max}}
  - {{name: stress, field: stress, at: [0.3, 0.3]}}
""")["values"]
                self.near(values["corner"], [14 / stiff, 14 * shear - 7 * cross / stiff], 1e-9, f"{angle} {shape}")
                self.near([values["mises"]] + values["stress"], [7, 7, 0, 0, 0], 1e-8)

    def test_uniform_in_the_plane(self):
        """Plane stress and strain, cells of every kind, axes turned."""
        sigma = [[3.0, 1.0, 0], [1.0, -2.0, 0], [0, 0, 0]]
        first = [math.cos(0.7), math.sin(0.7)]
        axes = axes_of(first)
        held = strain(NINE, axes, [[0, 0, 0], [0, 0, 0], [0, 0, 1.0]])[2][2]
        across = -strain(NINE, axes, sigma)[2][2] / held
        strained = strain(NINE, axes, [row[:2] + [across * (i == 2)] for i, row in enumerate(sigma)])
        for shape in ("triangle", "quad"):
            lattice.write(self.path("body.msh"), shape, [0, 0], [2, 1], [3, 2])
            for mesh in ("mesh: {file: body.msh}\n",
                         f"mesh: {{box: {{lower: [0, 0], upper: [2, 1], cells: [2, 2], shape: {shape}}}}}\n"):
                self.uniform(mesh, 2, "plane: stress\n", law(NINE, first), sigma, strain(NINE, axes, sigma), shape)
                four = [NINE[0], NINE[1], NINE[3], NINE[6]]
                self.uniform(mesh, 2, "plane: stress\n", law(four, first), sigma, strain(NINE, axes, sigma), shape)
                self.uniform(mesh, 2, "", law(NINE, first), sigma, strained, shape)
                # fields that vary, though they do not
                varying = law(NINE, [f"{first[0]!r} + 0*x", first[1]]).replace("'", "")
                out = self.solve(mesh + f"""equation: elasticity
material: {varying}
boundary: [{{on: xmin, displacement: [{strained[0][1]!r}*y, {strained[1][1]!r}*y]}}, {{on: xmax, traction: [3, 1]}},
  {{on: ymax, traction: [1, -2]}}, {{on: ymin, traction: [-1, 2]}}]
discretization: {{degree: 1}}
values: [{{name: across, field: stress_across, take: mean}}, {{name: corner, field: u, at: [2, 1]}}]
""")["values"]
                self.near(out["across"], across, 1e-8, shape)
                self.near(out["corner"], [2 * strained[0][0] + strained[0][1], 2 * strained[1][0] + strained[1][1]],
                          1e-9, shape)

    def test_uniform_in_space(self):
        sigma = [[3.0, 1.0, 0.5], [1.0, -2.0, -1.0], [0.5, -1.0, 1.5]]
        first, second = [1.0, 2.0, -0.5], [0.3, 1.0, 2.0]
        epsilon = strain(NINE, axes_of(first, second), sigma)
        for shape in ("tet", "hex"):
            lattice.write(self.path("body.msh"), shape, [0, 0, 0], [1, 1, 1], [2, 1, 1])
            self.uniform("mesh: {file: body.msh}\n", 3, "", law(NINE, first, second), sigma, epsilon, shape)
        self.uniform("mesh: {file: body.msh}\n", 3, "", law(NINE), sigma, strain(NINE, axes_of([1, 0, 0], [0, 1, 0]), sigma),
                     "along x, y, z")

    def test_as_isotropic(self):
        """The nine constants of an isotropic material, along any axes."""
        E, nu = 5.0, 0.3
        nine = [E, E, E, nu, nu, nu] + [E / (2 * (1 + nu))] * 3
        data = """boundary: [{on: ymin, fixed: true}, {on: ymax, pressure: 1}, {on: rest, traction: %s}]
discretization: {degree: 2}
values:
  - {name: u, field: u, at: %s}
  - {name: mises, field: von_mises, at: %s}
"""
        ways = [(2, shape, plane, "[2, 1]", None) for shape in ("triangle", "quad")
                for plane in ("strain", "stress", "axisymmetric")]
        ways += [(3, shape, None, "[1, 2, 3]", "[0, 1, 1]") for shape in ("tet", "hex")]
        for dim, shape, plane, first, second in ways:
            mesh = (f"mesh: {{box: {{lower: {[1] + [0] * (dim - 1)}, upper: {[2] + [1] * (dim - 1)}, cells: {[2] * dim}, "
                    f"shape: {shape}}}}}\nequation: elasticity\n" + (f"plane: {plane}\n" if plane else ""))
            rest = data % ([0] * dim, [1.3] + [0.7] * (dim - 1), [1.3] + [0.7] * (dim - 1))
            if dim == 2:
                rest += "  - {name: across, field: stress_across, at: [1.3, 0.7]}\n"
            plain = self.solve(mesh + f"material: {{E: {E}, nu: {nu}}}\n" + rest)
            ours = self.solve(mesh + f"material: {law(nine, first, second)}\n" + rest)
            for name, value in plain["values"].items():
                self.near(ours["values"][name], value, 1e-9, f"{shape} {plane} {name}")
            self.assertLess(ours["balance"], 1e-10)

    def test_turned_body(self):
        """Body, axes and load turned together: the displacement turns with them."""
        angle = 0.6
        c, s = math.cos(angle), math.sin(angle)
        found = []
        for turned in (0, 1):
            first = [c, s] if turned else [1, 0]
            push = [-s, c] if turned else [0, 1]
            at = [2 * c - s, 2 * s + c] if turned else [2, 1]
            for shape in ("triangle", "quad"):
                lattice.write(self.path("body.msh"), shape, [0, 0], [2, 1], [4, 2],
                              moved=lambda x: (c * x[0] - s * x[1], s * x[0] + c * x[1]) if turned else x)
                u = self.solve(f"""mesh: {{file: body.msh}}
equation: elasticity
plane: stress
material: {law([140, 10, 0.3, 5], first)}
boundary: [{{on: xmin, fixed: true}}, {{on: xmax, traction: {push}}}, {{on: rest, traction: [0, 0]}}]
discretization: {{degree: 2}}
values: [{{name: corner, field: u, at: {[0.999999 * x for x in at]}}}]
""")["values"]["corner"]
                found.append([c * u[0] + s * u[1], c * u[1] - s * u[0]] if turned else u)
        self.near(found[2], found[0], 1e-9)
        self.near(found[3], found[1], 1e-9)

    def test_orders(self):
        """k + 1 of the stress, k + 2 of u."""
        cases = (("triangle", 2, "[sin(x)*exp(y), cos(x)*y]", "", 3), ("quad", 2, "[sin(x)*exp(y), cos(x)*y]", "", 3),
                 ("triangle", 2, "[sin(x)*exp(y), cos(x)*y]", "plane: axisymmetric\n", 3),
                 ("quad", 2, "[sin(x)*exp(y), cos(x)*y]", "plane: axisymmetric\n", 3),
                 ("tet", 3, "[sin(x)*exp(y), cos(z)*y, x*z^2*y]", "", 1))
        for shape, dim, exact, plane, last in cases:
            nine = [14.0] + NINE[1:]
            material = law(nine, [1, 1], None) if dim == 2 else law(nine, [1, 1, 0], [0, 1, 1])
            self.write(f"mesh: {{box: {{lower: {[0] * dim}, upper: {[1] * dim}, cells: {[2] * dim}, shape: {shape}}}}}\n"
                       + plane + f"equation: elasticity\nmaterial: {material}\nexact: {exact}\n")
            self.run_program("converge", "case.yaml", "--refine", f"{last - 1}:{last}", "--degree", "2:2", "--json",
                             "rows.json", "--set", "solver.method=direct")
            rates = json.loads(self.read("rows.json"))["rows"][-1]["rates"]
            self.assertGreater(rates["stress"]["L2"], 2.75, f"{shape} {plane}: {rates}")
            self.assertGreater(rates["u"]["L2"], 3.6, f"{shape} {plane}: {rates}")

    def test_lekhnitskii(self):
        """A cylinder of wound fibres, E around four times E across: sigma of r and 1/r^3 by k = sqrt(4). In the plane with
        axes that turn, and as a body of revolution whose third axis is around."""
        def stress(r):
            factor = 0.125 / (1 - 0.0625)
            return [factor * (r / 2 - (2 / r)**3), 2 * factor * (r / 2 + (2 / r)**3)]
        mesh = os.path.join(SOURCE, "examples", "meshes", "cylinder.msh")
        values = self.solve(f"mesh: {{file: {mesh}}}\n" + f"""equation: elasticity
plane: stress
material: {law([1, 4, 0.2, 0.8], ["x", "y"])}
boundary: [{{on: [bottom, left], symmetry: true}}, {{on: inner, pressure: 1}}, {{on: outer, traction: [0, 0]}}]
discretization: {{degree: 4}}
values: [{{name: middle, field: stress, at: [1.5, 0]}}, {{name: inside, field: u, at: [1, 0]}}]
""".replace("'", ""))["values"]
        around = stress(1.0)[1]
        self.near([values["middle"][0], values["middle"][3]], stress(1.5), 1e-3)
        self.near(values["inside"][0], around / 4 + 0.2, 1e-3)  # (sigma_o - nu_or sigma_r)/E_o, nu_or/E_o = nu_ro/E_r
        for shape in ("triangle", "quad"):
            values = self.solve(f"""mesh: {{box: {{lower: [1, 0], upper: [2, 0.5], cells: [4, 1], shape: {shape}}}}}
equation: elasticity
plane: axisymmetric
material: {law([1, 3, 4, 0, 0.2, 0, 1, 1, 1])}
boundary: [{{on: xmin, pressure: 1}}, {{on: ymin, roller: y}}, {{on: rest, traction: [0, 0]}}]
discretization: {{degree: 5}}
values: [{{name: r, field: stress, component: xx, at: [1.5, 0.1]}}, {{name: o, field: stress_across, at: [1.5, 0.1]}},
  {{name: inside, field: u, component: x, at: [1, 0.1]}}]
""")["values"]
            self.near([values["r"], values["o"]], stress(1.5), 1e-5, shape)
            self.near(values["inside"], around / 4 + 0.2, 1e-6, shape)

    def test_by_group(self):
        """The same material in words of both kinds, side by side: nothing is seen of the border."""
        E, nu = 5.0, 0.3
        nine = [E, E, E, nu, nu, nu] + [E / (2 * (1 + nu))] * 3
        for shape, dim in (("triangle", 2), ("quad", 2), ("tet", 3), ("hex", 3)):
            lattice.write(self.path("body.msh"), shape, [0] * dim, [1] * dim, [2] * dim,
                          region=lambda x: "left" if x[0] < 0.5 else "right")
            exact = ["x + 2*y", "3*x - y", "x - z"][:dim]
            for ways in itertools.permutations((f"E: {E}, nu: {nu}", law(nine)[1:-1])):
                out = self.solve(f"""mesh: {{file: body.msh}}
equation: elasticity
material: [{{on: left, {ways[0]}}}, {{on: right, {ways[1]}}}]
exact: [{", ".join(exact)}]
discretization: {{degree: 1}}
""")
                self.assertLess(out["errors"]["stress"]["L2"], 1e-9, shape)

    def test_solvers(self):
        """Multigrid, devices and precision that elasticity has otherwise."""
        case = f"""mesh: {{box: {{lower: [0, 0], upper: [2, 1], cells: [8, 4], shape: quad}}}}
equation: elasticity
material: {law(NINE, [1, 1])}
boundary: [{{on: xmin, fixed: true}}, {{on: xmax, traction: [0, 1]}}, {{on: rest, traction: [0, 0]}}]
discretization: {{degree: 2}}
values: [{{name: tip, field: u, at: [2, 1]}}]
"""
        wanted = self.solve(case)["values"]["tip"]
        for way in (("--set", "solver={method: cg, preconditioner: pmg}"), ("--device", "debug"), ("--device", "ref"),
                    ("--set", "solver={method: cg, preconditioner: amg}"),
                    ("--set", "solver={method: cg, preconditioner: gmg}")):
            self.near(self.solve(case, *way)["values"]["tip"], wanted, 1e-6 * max(map(abs, wanted)), str(way))

    def test_refused(self):
        head = "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 2]}}\nequation: elasticity\n"
        tail = "\nexact: [x, y]\n"
        self.refused(head + "material: " + law(NINE) + tail + "discretization: {formulation: gradient}\n", "symmetric")
        self.refused(head + "material: " + law([1, 1, 0.3, 1]) + tail, "plane: stress alone", "give nine")
        self.refused(head + "material: " + law([1, 1, 1, 0.9, 0.9, 0.9, 1, 1, 1]) + tail, "case.yaml:3:", "takes work")
        self.refused(head + "material: " + law([1, -1, 1, 0, 0, 0, 1, 1, 1]) + tail, "must be positive")
        self.refused(head + "material: " + law(NINE).replace("E: [", "E: [x - 0.5 + 0*").replace("140", "1") + "\nsource: [0, 0]\n"
                     "boundary: [{on: rest, fixed: true}]\n", "must be positive", "at x=")
        self.refused(head + "material: " + law(NINE, [1, 1], [0, 1]) + tail, "second", "3D")
        self.refused(head + "material: " + law(NINE, [1, 1, 1]) + tail, "first", "2 dimensions")
        self.refused(head + "material: " + law(NINE, [0, 0]) + tail, "directions of its axes")
        self.refused(head + "material: " + law(NINE, ["x", 1]).replace("'", "") + tail, "material of numbers")
        self.refused(head + "material: {E: 1, " + law(NINE)[1:] + tail, "keep one")
        self.refused(head + "material: " + law(NINE).replace("nu: [0.3, 0.25, 0.4]", "nu: 0.3") + tail, "of three")
        self.refused(head + "material: " + law(NINE) + tail.replace("exact: [x, y]", "boundary: [{on: rest, fixed: true}]")
                     + "thermal: {expansion: 1, temperature: 1}\n", "thermal", "orthotropic")
        solid = head.replace("[0, 0]", "[0, 0, 0]").replace("[1, 1]", "[1, 1, 1]").replace("[2, 2]", "[2, 2, 2]")
        self.refused(solid + "material: " + law(NINE, [1, 1, 0]) + "\nexact: [x, y, z]\n", "first", "together with second")
        self.refused(solid + "material: " + law(NINE, [1, 1, 0], [2, 2, 0]) + "\nexact: [x, y, z]\n", "are the same")


if __name__ == "__main__":
    unittest.main()
