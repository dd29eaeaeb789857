"""Bodies in balance that nothing holds: solved up to their rigid motions, against closed forms on every shape of cells and
with every solver; loads that do not balance are refused. FACET_PROGRAM says where the program is."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_loads import SHAPES, Loads, box  # noqa: E402

ALL = SHAPES[2] + SHAPES[3]
SOLVERS = ("method: direct", "preconditioner: pmg", "preconditioner: gmg", "preconditioner: amg", "method: fgmres")
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "meshes")


class Adrift(Loads):
    def test_bar(self):
        """Pulled at both ends: u = (x - middle) sigma/E, and nu of that across, plane stress in 2D."""
        for shape in ALL:
            dim = 2 if shape in SHAPES[2] else 3
            mesh = self.lattice(shape, cells=[4] + [2] * (dim - 1), upper=[4] + [1] * (dim - 1)).replace("}", ", refine: 1}")
            zero = [0] * (dim - 1)
            for solver in SOLVERS:
                out = self.solve(mesh + f"""equation: elasticity
material: {{E: 2, nu: 0.25}}
{"plane: stress" if dim == 2 else ""}
boundary:
  - {{on: xmin, force: {[-3] + zero}}}
  - {{on: xmax, traction: {[3] + zero}}}
  - {{on: rest, traction: {[0] + zero}}}
discretization: {{degree: 1}}
solver: {{{solver}, rtol: 1e-11}}
values:
  - {{name: end, field: u, at: {[4] + [1] * (dim - 1)}}}
  - {{name: mean, field: u, take: mean}}
  - {{name: stress, field: stress, take: max}}
  - {{name: pull, field: traction, take: integral, on: xmax}}
""")
                what = f"{shape} {solver}"
                values = out["values"]
                self.near(values["end"], [3.0] + [-0.1875] * (dim - 1), 1e-8, what)
                self.near(values["mean"], [0] * dim, 1e-10, what)
                self.near(values["stress"], 3, 1e-8, what)
                self.near(values["pull"], [3] + zero, 1e-8, what)
                self.assertLess(out["balance"], 1e-8, what)

    def test_pressure_all_around(self):
        """sigma = -p I, whatever the shape of the body; of curved ones from the degree of their geometry on."""
        bodies = [(self.lattice(shape, shape + ".msh", moved=lambda x: [2 * x[0] + 0.1 * x[1] * x[-1]] + x[1:]),
                   2 if shape in SHAPES[2] else 3, (1, 2)) for shape in ALL]
        bodies += [(f"mesh: {{file: {MESHES}/{name}}}\n", dim, (degree,))
                   for name, dim, degree in (("annulus_4_41.msh", 2, 4), ("ball_3_41.msh", 3, 3), ("pipe_2_41.msh", 3, 2))]
        for mesh, dim, degrees in bodies:
            for degree in degrees:
                values = self.solve(mesh + f"""equation: elasticity
material: {{E: 7, nu: 0.3}}
boundary: [{{on: rest, pressure: 5}}]
discretization: {{degree: {degree}}}
values:
  - {{name: stress, field: stress, take: mean}}
  - {{name: most, field: stress, take: max}}
  - {{name: least, field: stress, take: min}}
  - {{name: mean, field: u, take: mean}}
""")["values"]
                what = f"{mesh} {degree}"
                self.near(values["stress"], [-5.0 * (i % (dim + 1) == 0) for i in range(dim * dim)], 1e-9, what)
                self.near([values["most"], values["least"]], [5 * dim**0.5] * 2, 1e-9, what)
                self.near(values["mean"], [0] * dim, 1e-10, what)

    def test_orders(self):
        """An exact solution with tractions all around: its own motions are given to u."""
        for shape in ALL:
            dim = 2 if shape in SHAPES[2] else 3
            exact = ["sin(x)*y + 3 - y", "x*cos(y) + 2 + 7*x", "x*y*z + z"][:dim]
            case = box(dim, shape) + f"""equation: elasticity
material: {{E: 2, nu: 0.3}}
exact: {str(exact).replace("'", "")}
boundary: [{{on: rest, traction: exact}}]
discretization: {{tau: 10}}
"""
            self.run_program("converge", self.write(case), "--refine", "0:1" if dim == 3 else "1:2", "--degree", "1:2",
                             "--json", "c.json")
            rows = json.loads(self.read("c.json"))["rows"]
            for p, row in enumerate([r for r in rows if "rates" in r], 1):
                self.assertGreater(row["rates"]["u"]["L2"], p + 1.55, f"{shape} {p}")
                self.assertGreater(row["rates"]["stress"]["L2"], p + 0.55, f"{shape} {p}")

    def test_heat(self):
        """A linear temperature stretches a body freely: no stress, a parabola in u."""
        for shape in SHAPES[3]:
            values = self.solve(box(3, shape) + """equation: elasticity
material: {E: 2, nu: 0.3}
thermal: {expansion: 0.1, temperature: 5 + 2*x}
boundary: [{on: rest, traction: [0, 0, 0]}]
discretization: {degree: 1}
values: [{name: stress, field: stress, take: max}, {name: a, field: u, at: [0.5, 1, 0.5]}, {name: b, field: u, at: [0.5, 0, 0.5]}]
""")["values"]
            self.near([values["stress"], values["a"][1] - values["b"][1]], [0, 0.6], 1e-9, shape)

    def test_two_pieces(self):
        """One hangs on its support, the other floats, each with its own motions; three in a row."""
        for shape in ALL:
            dim = 2 if shape in SHAPES[2] else 3
            mesh = self.pieces(shape)
            zero = [0] * (dim - 1)
            case = mesh + f"""equation: elasticity
material: {{E: 1, nu: 0}}
source:
  - {{on: left, value: {["12*(1.5 - x)"] + zero}}}
  - {{on: right, value: {["x - 5.5"] + zero}}}
boundary: [{{on: rest, traction: {[0] + zero}}}]
discretization: {{degree: 2}}
values:
  - {{name: left, field: u, take: mean, on: left}}
  - {{name: right, field: u, take: mean, on: right}}
  - {{name: a, field: u, component: x, at: {[2] + [0.5] * (dim - 1)}}}
  - {{name: b, field: u, component: x, at: {[1] + [0.5] * (dim - 1)}}}
  - {{name: c, field: u, component: x, at: {[6] + [0.5] * (dim - 1)}}}
  - {{name: d, field: u, component: x, at: {[5] + [0.5] * (dim - 1)}}}
""".replace("'", "")
            # u' = int of -f: with s = x - 1.5, sigma = 6 s^2 - 1.5, so that it shortens by 1; and -1/12 of that
            for solver in ("direct", "cg"):
                values = self.solve(case + f"solver: {{method: {solver}, rtol: 1e-12}}\n")["values"]
                self.near(values["left"] + values["right"], [0] * (2 * dim), 1e-10, shape)
                self.near([values["a"] - values["b"], values["c"] - values["d"]], [-1, 1 / 12], 1e-9, shape)
            self.refused(case.replace("x - 5.5", "0"), "unconnected pieces", "carries no load")
            self.refused(case.replace("x - 5.5", "x - 5"), "the piece with the cell at (5", "do not balance",
                         "a force of (0.5, 0")
            held = case.replace("boundary: [", f"boundary: [{{on: xmin, fixed: true}}, ").replace("12*(1.5 - x)", "1")
            values = self.solve(held)["values"]
            self.near([values["a"], values["c"] - values["d"]], [0.5, 1 / 12], 1e-9, shape)

    def pieces(self, shape):
        """Two bricks apart: 1 < x < 2 and 5 < x < 6."""
        dim = 2 if shape in SHAPES[2] else 3
        for i, name in enumerate(("left", "right")):
            self.lattice(shape, name + ".msh", lower=[1 + 4 * i] + [0] * (dim - 1), upper=[2 + 4 * i] + [1] * (dim - 1),
                         region=lambda x, name=name: name)
        parts = [self.read(name + ".msh").split("\n") for name in ("left", "right")]
        cut = [{key: p.index(key) for key in ("$Nodes", "$EndNodes", "$Elements", "$EndElements")} for p in parts]
        n = int(parts[0][cut[0]["$Nodes"] + 1])
        nodes = [p[c["$Nodes"] + 2:c["$EndNodes"]] for p, c in zip(parts, cut)]
        nodes[1] = [" ".join([str(int(line.split()[0]) + n)] + line.split()[1:]) for line in nodes[1]]
        elements = [[line.split() for line in p[c["$Elements"] + 2:c["$EndElements"]]] for p, c in zip(parts, cut)]
        for e in elements[1]:
            e[3] = e[4] = str(int(e[3]) + 100)
            e[5:] = [str(int(v) + n) for v in e[5:]]
        names = [line.split() for line in parts[0][parts[0].index("$PhysicalNames") + 2:parts[0].index("$EndPhysicalNames")]]
        other = [line.split() for line in parts[1][parts[1].index("$PhysicalNames") + 2:parts[1].index("$EndPhysicalNames")]]
        names += [[d, str(int(tag) + 100), name if name == '"right"' else name[:-1] + '2"'] for d, tag, name in other]
        lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", str(len(names))]
        lines += [" ".join(name) for name in names] + ["$EndPhysicalNames", "$Nodes", str(2 * n)] + nodes[0] + nodes[1]
        lines += ["$EndNodes", "$Elements", str(2 * len(elements[0]))]
        for i, e in enumerate(elements[0] + elements[1]):
            lines.append(" ".join([str(i + 1)] + e[1:]))
        self.write("\n".join(lines + ["$EndElements", ""]), "two.msh")
        return "mesh: {file: two.msh}\n"

    def test_periodic(self):
        """A body that repeats itself slides, and does not turn: -2 mu u'' = f."""
        for shape, dim in (("quad", 2), ("triangle", 2), ("hex", 3), ("tet", 3)):
            mesh = box(dim, shape, cells=[6] + [3] * (dim - 1)).replace("shape:", f"periodic: [x, y{', z' * (dim - 2)}], shape:")
            values = self.solve(mesh + f"""equation: elasticity
material: {{mu: 1, lambda: 0}}
source: {["2*(2*pi)^2*sin(2*pi*x)"] + [0] * (dim - 1)}
discretization: {{degree: {4 if dim == 2 else 3}}}
values: [{{name: u, field: u, at: {[0.25] + [0.5] * (dim - 1)}}}, {{name: mean, field: u, take: mean}}]
""".replace("'", ""))["values"]
            self.near(values["u"], [1] + [0] * (dim - 1), 1e-3, shape)
            self.near(values["mean"], [0] * dim, 1e-10, shape)

    def test_refusals(self):
        case = box(2, "quad") + "equation: elasticity\nmaterial: {E: 1, nu: 0.3}\n"
        for command in ("solve", "check"):
            self.refused(case + "boundary: [{on: xmax, traction: [1, 0.5]}, {on: rest, traction: [0, 0]}]\n", "case.yaml:4:",
                         "translate along x, translate along y, rotate about the z axis", "a force of (1, 0.5)",
                         "a moment of 0.25 about (0.5, 0.5)", command=command)
        shear = "boundary: [{on: xmax, traction: [0, 1]}, {on: xmin, traction: [0, -1]}, {on: rest, traction: [0, 0]}]\n"
        self.refused(case + shear, "a force of (0, 0) and a moment of 1 about (0.5, 0.5)")
        self.refused(case + shear + "discretization: {formulation: gradient}\n", "can still translate along x",
                     "or take the formulation symmetric")
        self.refused(box(3, "tet") + "equation: elasticity\nmaterial: {E: 1, nu: 0.3}\nsource: [0, 0, -9.81]\n"
                     "boundary: [{on: rest, pressure: 1}]\n", "a force of (0, 0, -9.81) and a moment of (0, 0, 0)")


if __name__ == "__main__":
    unittest.main()
