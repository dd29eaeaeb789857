"""What keys do together that each does alone in tests of its own: electrodes through which nothing goes, or on several
pieces; jumps with exact solutions; chains across contacts and axes; springs along normals. FACET_PROGRAM says where the
program is."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lattice  # noqa: E402
from test_app import Program  # noqa: E402

SQUARE = "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [4, 4], shape: %s}}\n"


class Electrodes(Program):
    CASE = SQUARE + """equation: diffusion
boundary: [{on: xmin, total_flux: 0}, %s, {on: rest, neumann: 0}]
values: [{name: u, field: u, at: [0.1, 0.3]}]
"""

    def test_nothing_goes_through(self):
        for method in ("hdg", "condensed", "continuous"):
            case = self.CASE % ("quad", "{on: xmax, dirichlet: 5}") + f"discretization: {{method: {method}}}\n"
            self.assertAlmostEqual(self.solve(case)["values"]["u"], 5, delta=1e-9)
        # where nothing holds the constant the electrode is the ground, and what goes in elsewhere balances
        self.solve(self.CASE % ("triangle", "{on: xmax, neumann: y - 0.5}"))
        self.refused(self.CASE % ("triangle", "{on: xmax, neumann: y}"), "must balance")

    def test_pieces(self):
        lattice.write(self.path("pieces.msh"), "quad", [0, 0], [1, 1], [4, 4])
        text = self.read("pieces.msh").split("\n")
        nodes, elements = text.index("$Nodes"), text.index("$Elements")
        n = int(text[nodes + 1])
        points = text[nodes + 2:nodes + 2 + n]
        rows = text[elements + 2:elements + 2 + int(text[elements + 1])]
        for line in list(points):
            number, x, y, z = line.split()
            points.append(f"{int(number) + n} {float(x) + 3} {y} {z}")
        second = [row.split() for row in rows]
        for row in second:
            row[0] = str(int(row[0]) + len(rows))
            row[3:5] = [str(int(row[3]) + 100 if row[1] == "1" else int(row[3]))] * 2
            row[5:] = [str(int(v) + n) for v in row[5:]]
        names = text[text.index("$PhysicalNames") + 2:text.index("$EndPhysicalNames")]
        for name in list(names):
            d, number, word = name.split()
            if d == "1":
                names.append(f'1 {int(number) + 100} "second_{word[1:]}')
        rows += [" ".join(row) for row in second]
        with open(self.path("pieces.msh"), "w") as file:
            for kind, lines in (("PhysicalNames", names), ("Nodes", points), ("Elements", rows)):
                if kind == "PhysicalNames":
                    file.write("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n")
                file.write(f"${kind}\n{len(lines)}\n" + "\n".join(lines) + f"\n$End{kind}\n")
        case = "mesh: {file: pieces.msh}\nequation: diffusion\nboundary: [{on: xmin, total_flux: 1}, {on: xmax, %s}, " \
               "{on: second_xmin, total_flux: 2}, {on: second_xmax, %s}, {on: rest, neumann: 0}]\n" \
               "values: [{name: a, field: u, at: [0, 0.5]}, {name: b, field: u, at: [3, 0.5]}]\n"
        self.refused(case % ("dirichlet: 1", "total_flux: -2"), "unconnected pieces", "total_flux")
        values = self.solve(case % ("dirichlet: 1", "dirichlet: 7"))["values"]
        self.assertAlmostEqual(values["a"], 2, delta=1e-9)
        self.assertAlmostEqual(values["b"], 9, delta=1e-9)


class Jumps(Program):
    def test_exact(self):
        for shape in ("triangle", "quad"):
            case = SQUARE.replace("}}", ", periodic: [x]}}") % shape + "equation: diffusion\njump: [1, 0]\nexact: x + y\n"
            errors = self.solve(case)["errors"]
            self.assertLess(errors["u"]["L2"], 1e-10)
            self.assertLess(errors["q"]["L2"], 1e-9)

    def test_about_an_axis(self):
        box = "mesh: {box: {lower: [1, 0], upper: [2, 1], cells: [3, 3], shape: %s, periodic: [%s]}}\nplane: axisymmetric\n"
        heat = "equation: diffusion\nboundary: [{on: rest, dirichlet: 0}]\n"
        for shape in ("triangle", "quad"):
            self.refused(box % (shape, "x") + heat, "axisymmetric", "joined across the axis")
            self.solve(box % (shape, "y") + heat + "jump: [0, 1]\n")
        body = ("equation: elasticity\nmaterial: {E: 1, nu: 0.3}\n"
                "boundary: [{on: xmin, fixed: true}, {on: xmax, traction: [0, 0]}]\n")
        self.refused(box % ("quad", "y") + body + "jump: [[0, 0.1], [0.1, 0]]\n", "jump", "along y alone")


class Chains(Program):
    def test_across_a_contact(self):
        """T = 1 and 0 on both sides of a contact that lets nothing through: sigma_zz = -5/3 everywhere on the hot one."""
        lattice.write(self.path("two.msh"), "triangle", [0, 0], [2, 1], [4, 3], region=lambda x: "A" if x[0] < 1 else "B")
        for formulation in ("symmetric", "gradient"):
            out = self.solve(f"""mesh: {{file: two.msh}}
cases:
  - {{name: heat, equation: diffusion, conductivity: 1e4, interfaces: [{{between: [A, B], conductance: 1e-6}}],
      boundary: [{{on: xmin, dirichlet: 1}}, {{on: xmax, dirichlet: 0}}, {{on: rest, neumann: 0}}]}}
  - {{name: stress, equation: elasticity, material: {{E: 1, nu: 0.25}}, discretization: {{formulation: {formulation}}},
      thermal: {{expansion: 1, temperature: {{case: heat}}}},
      boundary: [{{on: [xmin, xmax], displacement: [0, null], traction: [null, 0]}},
                 {{on: [ymin, ymax], displacement: [null, 0], traction: [0, null]}}],
      values: [{{name: high, field: stress_across, take: max, on: A}}, {{name: low, field: stress_across, take: min, on: A}},
               {{name: bent, field: strain, component: xx, take: max, on: B}}]}}
""")
            values = out["cases"][1]["values"]
            for name, right in (("high", -5 / 3), ("low", -5 / 3), ("bent", -5 / 6)):
                self.assertAlmostEqual(values[name], right, delta=1e-6, msg=f"{formulation}, {name}: {values}")

    def test_planes_agree(self):
        case = """mesh: {box: {lower: [1, 0], upper: [2, 1], cells: [2, 2], shape: quad}}
cases:
  - {name: heat, equation: diffusion, boundary: [{on: xmin, dirichlet: 1}, {on: rest, neumann: 0}]}
  - {name: stress, equation: elasticity, plane: axisymmetric, material: {E: 1, nu: 0.3},
      thermal: {expansion: 1, temperature: {case: heat}}, boundary: [{on: ymin, roller: y}, {on: rest, traction: [0, 0]}]}
"""
        self.refused(case, "thermal.temperature", "axisymmetric")
        self.run_program("solve", self.write(case), "--set", "cases.0.plane=axisymmetric", "--quiet")


class Springs(Program):
    def test_normals(self):
        """-nx is 1 on the left: as a number."""
        case = SQUARE % "quad" + """equation: elasticity
material: {E: 1, nu: 0.3}
boundary: [{on: xmin, spring: %s}, {on: rest, traction: [0, -0.1]}]
values: [{name: u, field: u, at: [1, 1]}]
"""
        number, normal = (self.solve(case % k)["values"]["u"] for k in ("1", "-nx"))
        for a, b in zip(number, normal):
            self.assertAlmostEqual(a, b, delta=1e-9)
        self.refused(case % "nx", "must not be negative")


if __name__ == "__main__":
    unittest.main()
