"""Elasticity through the program: names in the JSON, orders in the tables of both formulations, values with known
answers, the forces of supports, pictures, and what is refused. FACET_PROGRAM says where the program is."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_app import SOURCE, Program  # noqa: E402

BOX = "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 2], shape: triangle}}\nequation: elasticity\n"
CUBE = "mesh: {box: {lower: [0, 0, 0], upper: [1, 1, 1], cells: [1, 1, 1], shape: tet}}\nequation: elasticity\n"
MATERIAL = "material: {mu: 1, lambda: 2}\n"
EXACT = "exact: [sin(x)*y, x*cos(y)]\n"
SOLID_EXACT = "exact: [sin(x)*y, x*cos(z), y*exp(z/2)]\n"
GRADIENT = "discretization: {formulation: gradient}\n"


class Solve(Program):
    def test_names_of_the_json(self):
        out = self.solve(BOX + MATERIAL + EXACT)
        self.assertEqual(out["equation"], "elasticity")
        self.assertEqual({k: set(v) for k, v in out["errors"].items()},
                         {"u": {"L2", "Linf"}, "stress": {"L2"}, "trace": {"L2"}})
        out = self.solve(BOX + MATERIAL + EXACT + GRADIENT)
        self.assertEqual({k: set(v) for k, v in out["errors"].items()},
                         {"u": {"L2", "Linf"}, "stress": {"L2"}, "H": {"L2"}, "p": {"L2"}, "u_star": {"L2"},
                          "trace": {"L2"}})
        self.assertIn("postprocess", out["seconds"])

    def test_moduli_in_both_forms(self):
        errors = [self.solve(BOX + material + EXACT)["errors"]["stress"]["L2"]
                  for material in ("material: {E: 2.5, nu: 0.25}\n", "material: {mu: 1, lambda: 1}\n",
                                   "material: {E: 2.5 + 0*x, nu: 0.25}\n")]
        for error in errors[1:]:
            self.assertAlmostEqual(error / errors[0], 1, delta=1e-9)

    def test_a_bar_under_tension(self):
        """sigma_xx = 3 and all else 0: with E = 10, nu = 0.3, plane stress, u = (0.3 x, -0.09 y)."""
        for formulation in ("symmetric", "gradient"):
            out = self.solve(BOX.replace("upper: [1, 1]", "upper: [2, 1]") + f"""material: {{E: 10, nu: 0.3}}
plane: stress
boundary:
  - {{on: xmin, displacement: [0, null], traction: [null, 0]}}
  - {{on: ymin, displacement: [null, 0], traction: [0, null]}}
  - {{on: xmax, traction: [3, 0]}}
  - {{on: ymax, traction: [0, 0]}}
discretization: {{degree: 1, formulation: {formulation}}}
solver: {{rtol: 1e-13}}
values:
  - {{name: corner, field: u, at: [2, 1]}}
  - {{name: across, field: u, component: y, at: [1, 1]}}
  - {{name: largest, field: u, take: max}}
  - {{name: stress, field: stress, take: mean}}
  - {{name: xx, field: stress, component: xx, at: [1.1, 0.4]}}
  - {{name: mises, field: von_mises, take: max}}
  - {{name: held, field: traction, take: integral, on: xmin}}
  - {{name: pulled, field: traction, component: x, take: mean, on: xmax}}
  - {{name: line, field: u, component: x, along: [[0, 0.5], [2, 0.5]], points: 3}}
""")["values"]
            self.assertEqual(set(out), {"corner", "across", "largest", "stress", "xx", "mises", "held", "pulled", "line"})
            wanted = {"corner": [0.6, -0.09], "across": [-0.09], "largest": [(0.6**2 + 0.09**2)**0.5],
                      "stress": [3, 0, 0, 0], "xx": [3], "mises": [3], "held": [-3, 0], "pulled": [3],
                      "line": [0, 0.3, 0.6]}
            scale = {"stress": 2, "line": 1}  # the area of the bar; a mean is not one of the sum
            for name, numbers in wanted.items():
                found = out[name] if isinstance(out[name], list) else [out[name]]
                self.assertEqual(len(found), len(numbers), name)
                for a, b in zip(found, numbers):
                    self.assertAlmostEqual(a, b, delta=1e-9 * scale.get(name, 1), msg=f"{formulation}: {name}")

    def test_forces_balance(self):
        """The supports carry the load, whatever the mesh resolves."""
        case = CUBE + MATERIAL + """source: [0, 0, -5]
boundary:
  - {on: zmin, displacement: [0, 0, 0]}
  - {on: zmax, traction: [1, 0, x]}
  - {on: rest, traction: [0, 0, 0]}
discretization: {degree: 1}
values: [{name: support, field: traction, take: integral, on: zmin}]
"""
        for found, wanted in zip(self.solve(case)["values"]["support"], (-1, 0, 4.5)):
            self.assertAlmostEqual(found, wanted, delta=1e-8)

    def test_methods(self):
        case = BOX + MATERIAL + EXACT + "boundary: [{on: xmax, traction: exact}]\nsolver: {rtol: 1e-11}\n"
        wanted = self.solve(case)["errors"]["u"]["L2"]
        for method, preconditioner in (("cg", "auto"), ("cg", "pmg"), ("cg", "amg"), ("cg", "block"),
                                       ("fgmres", "block"), ("direct", "auto")):
            out = self.solve(case, "--set", f"solver.method={method}", "--set",
                             f"solver.preconditioner={preconditioner}")
            self.assertEqual(out["solver"]["method"], method)
            self.assertAlmostEqual(out["errors"]["u"]["L2"] / wanted, 1, delta=1e-4)

    def test_what_is_not_symmetric_takes_fgmres(self):
        case = BOX + MATERIAL + EXACT + GRADIENT
        self.assertEqual(self.solve(case)["solver"]["method"], "direct")
        case += "boundary: [{on: xmax, traction: exact}]\n"
        self.assertEqual(self.solve(case)["solver"]["method"], "fgmres")
        for method in ("cg", "direct", "multigrid"):
            self.refused(case + f"solver: {{method: {method}}}\n", "not symmetric", "fgmres")

    def test_check(self):
        said = self.run_program("check", self.write(BOX + MATERIAL + EXACT + """boundary:
  - {on: xmax, displacement: [exact, null], traction: [null, exact]}
""")).stdout
        for words in ("displacement: [exact, null], traction: [null, exact]", "displacement: exact", "good"):
            self.assertIn(words, said)

    def test_view(self):
        self.run_program("solve", self.write(BOX + MATERIAL + EXACT + "output: {file: a.vtu}\n"))
        for arguments in ([], ["--warp"], ["--field", "von_mises", "--warp", "0.1"], ["--field", "stress"]):
            done = subprocess.run([sys.executable, os.path.join(SOURCE, "tools/view.py"), self.path("a.vtu"), "--size",
                                   "400x300", *arguments], capture_output=True, text=True, timeout=120)
            if done.returncode == 3:
                self.skipTest(done.stderr)
            self.assertEqual(done.returncode, 0, done.stderr)


class Converge(Program):
    def rates(self, case, *arguments):
        self.run_program("converge", self.write(case), "--json", "rows.json", *arguments)
        return {name: norms["L2"] for name, norms in json.loads(self.read("rows.json"))["rows"][-1]["rates"].items()}

    def check_orders(self, case, formulation, degree, *arguments):
        rates = self.rates(case + f"discretization: {{degree: {degree}, formulation: {formulation}}}\n", *arguments)
        wanted = {"stress": degree + 1, "u": degree + 2}
        if formulation == "gradient":
            wanted = {"H": degree + 1, "u": degree + 1, "p": degree + 1, "u_star": degree + 2}
        for name, order in wanted.items():
            self.assertGreater(rates[name], order - 0.3, f"{formulation} {degree}: {name}")

    def test_orders_on_triangles(self):
        for formulation in ("symmetric", "gradient"):
            self.check_orders(BOX + MATERIAL + EXACT, formulation, 2, "--refine", "1:2")
        self.check_orders(BOX + MATERIAL + EXACT + "boundary: [{on: xmax, traction: exact}]\n", "symmetric", 1,
                          "--refine", "4:5")

    def test_orders_on_tets(self):
        for formulation in ("symmetric", "gradient"):
            self.check_orders(CUBE + MATERIAL + SOLID_EXACT, formulation, 2, "--refine", "1:2")

    def test_orders_of_auxetic_bodies(self):
        """nu = -0.5: lambda = -mu/2 is allowed, and no solver minds."""
        for material in ("material: {E: 1, nu: -0.5}\n", "material: {E: 1, nu: -0.5}\nplane: stress\n",
                         "material: {mu: 1, lambda: -0.5 - 0.1*x}\n"):
            for formulation in ("symmetric", "gradient"):
                for name in ("pmg", "amg"):
                    solver = f"solver: {{preconditioner: {name}}}\n"
                    self.check_orders(BOX + material + EXACT + solver, formulation, 2, "--refine", "1:2")
        traction = "boundary: [{on: xmax, traction: exact}]\nsolver: {preconditioner: pmg}\n"
        self.check_orders(BOX + "material: {E: 1, nu: -0.5}\n" + EXACT + traction, "symmetric", 1, "--refine", "4:5")
        for name in ("pmg", "amg"):
            case = CUBE + "material: {E: 1, nu: -0.5}\n" + SOLID_EXACT + f"solver: {{preconditioner: {name}}}\n"
            for formulation in ("symmetric", "gradient"):
                self.check_orders(case, formulation, 2, "--refine", "1:2")

    def test_columns(self):
        case = self.write(BOX + MATERIAL + EXACT)
        symmetric = self.run_program("converge", case, "--refine", "0:1").stdout
        gradient = self.run_program("converge", case, "--refine", "0:1", "--set",
                                    "discretization.formulation=gradient").stdout
        self.assertIn("stress L2", symmetric)
        self.assertNotIn("q L2", symmetric)
        for name in ("H L2", "p L2", "u* L2"):
            self.assertIn(name, gradient)


class Refusals(Program):
    def test_bodies_that_can_move(self):
        free = BOX + MATERIAL + "boundary: [{on: rest, traction: [0, 0]}]\nsource: [1, 0]\n"
        for command in ("solve", "check"):
            self.refused(free, "the body can still translate along x, translate along y, rotate about the z axis",
                         command=command)
        self.refused(BOX + MATERIAL + """boundary:
  - {on: ymin, displacement: [null, 0], traction: [0, null]}
  - {on: rest, traction: [0, 0]}
""", "the body can still translate along x;")
        self.refused(CUBE + MATERIAL + """boundary:
  - {on: zmin, displacement: [null, null, 0], traction: [0, 0, null]}
  - {on: rest, traction: [0, 0, 0]}
""", "translate along x, translate along y, rotate about the z axis")

    def test_materials(self):
        fixed = "boundary: [{on: rest, displacement: [0, 0]}]\n"
        self.refused(BOX + fixed, "material")
        self.refused(BOX + fixed + "material: {E: 1, nu: 0.5}\n", "lambda/mu <= 1e6", "case.yaml:4:")
        self.refused(BOX + fixed + "material: {E: 1, nu: 0.4 + x}\n", "nu must be below 0.5")
        self.refused(BOX + fixed + "material: {E: 1, nu: -1}\n", "> -1")
        self.refused(BOX + fixed + "material: {E: 1, nu: -1.5 + 0*x}\n", "nu must be above -1, not -1.5")
        self.refused(BOX + fixed + "material: {mu: 3, lambda: -2}\n", "above -2 mu/3 = -2, not -2", "case.yaml:4:")
        self.refused(BOX + fixed + "material: {E: -1, nu: 0.3}\n", "> 0")
        self.refused(BOX + fixed + "material: {mu: 1, lambda: 1e7}\n", "lambda/mu <= 1e6")
        self.refused(BOX + fixed + "material: {mu: 1 + x, lambda: 1}\n" + GRADIENT, "one mu")
        with open(os.path.join(SOURCE, "tests/cases/good/two.msh"), encoding="utf-8") as file:
            self.write(file.read(), "two.msh")
        head = "mesh: {file: two.msh}\nequation: elasticity\nboundary: [{on: walls, displacement: [0, 0]}]\n"
        self.refused(head + "material: [{on: left, mu: 1, lambda: 1}]\n", "the group 'right'")
        self.refused(head + "material: [{on: left, mu: 1, lambda: 1}, {on: rihgt, mu: 1, lambda: 1}]\n",
                     "no group of cells 'rihgt'", "case.yaml:4:")
        two = "material: [{on: left, mu: 1, lambda: 1}, {on: right, mu: 2, lambda: 1}]\n"
        self.refused(head + two + GRADIENT, "one mu")
        self.solve(head + two)
        self.refused(head.replace("[0, 0]", "[0, 0, 0]") + two, "3 components, but the mesh has 2")

    def test_methods(self):
        fixed = MATERIAL + "boundary: [{on: rest, displacement: [0, 0]}]\n"
        self.refused(BOX + fixed + "discretization: {method: condensed}\n", "condensed")
        self.refused(BOX + fixed + "discretization: {degree: 0}\n", "degree")
        self.refused(CUBE + MATERIAL + "boundary: [{on: rest, displacement: [0, 0, 0]}]\nplane: stress\n", "plane")


if __name__ == "__main__":
    unittest.main()
