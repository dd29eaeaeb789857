"""Solves the elastic cases of examples/ with the program and holds their numbers against answers known by other means:
closed forms of Kirsch, Lame and Timoshenko, equilibrium, and finer discretizations; at moderate Poisson ratios and
nearly incompressible. FACET_PROGRAM names the program, by default build/facet; FACET_SOURCE_DIR the checkout."""

import csv
import json
import math
import os
import subprocess
import tempfile
import unittest

SOURCE = os.environ.get("FACET_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROGRAM = os.environ.get("FACET_PROGRAM", os.path.join(SOURCE, "build", "facet"))
EXAMPLES = os.path.join(SOURCE, "examples")
NEARLY = "{mu: 1, lambda: 1.0e6}"


def moduli(nu=None):
    """E and nu of the cases, which have E = 1; None: those of NEARLY."""
    if nu is not None:
        return 1.0, nu
    mu, lam = 1.0, 1e6
    return mu * (3 * lam + 2 * mu) / (lam + mu), lam / (2 * (lam + mu))


class ElasticExamples(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def path(self, name):
        return os.path.join(self.place.name, name)

    def run_facet(self, command, name, *arguments):
        done = subprocess.run([PROGRAM, command, os.path.join(EXAMPLES, name + ".yaml"), *arguments, "--json",
                               "result.json"], cwd=self.place.name, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.path("result.json")) as file:
            return json.load(file)

    def solve(self, name, **settings):
        """The values of a converged run. Dots of a setting's key are written as two underscores."""
        sets = [text for key, value in settings.items() for text in ("--set", f"{key.replace('__', '.')}={value}")]
        result = self.run_facet("solve", name, *sets)
        self.assertTrue(result["solver"]["converged"])
        return result["values"]

    def materials(self):
        """Pairs of a setting and its E and nu."""
        for nu in (0.3, 0.4999):
            yield {"material": f"{{E: 1, nu: {nu}}}"}, moduli(nu)
        yield {"material": NEARLY}, moduli()

    def assert_near(self, value, expected, tolerance):
        self.assertLessEqual(abs(value - expected), tolerance, f"{value}, expected {expected}")

    # -------------------------------------------------------------------------------------- the cases

    def test_beam(self):
        """Timoshenko's theory knows nothing of the clamped end, where the section cannot contract: 1.5 %."""
        mu, lam, g, L, D = 1.0, 1.25, 0.016, 1.0, 0.2
        E, nu = mu * (3 * lam + 2 * mu) / (lam + mu), lam / (2 * (lam + mu))
        q, kappa = g * D * D, 10 * (1 + nu) / (12 + 11 * nu)
        theory = -q * L ** 4 / (8 * E * D ** 4 / 12) - q * L ** 2 / (2 * kappa * mu * D * D)
        values = self.solve("beam")
        self.assert_near(values["tip"], theory, 0.015 * abs(theory))
        for force, expected in zip(values["support"], (0, 0, q)):
            self.assert_near(force, expected, 1e-8 * q)
        with open(self.path("beam.csv")) as file:
            rows = list(csv.reader(file))
        self.assertEqual(len(rows), 1 + 21)
        finer = self.solve("beam", mesh__refine=1)["tip"]
        self.assert_near(values["tip"], finer, 0.003 * abs(finer))
        other = self.solve("beam", discretization__formulation="gradient", discretization__degree=3,
                           mesh__box__cells="[5, 1, 1]", output__fields="[u]")["tip"]
        self.assert_near(other, finer, 0.02 * abs(finer))

    def test_tripod(self):
        values = self.solve("tripod")
        area = 0.2811367623  # of the polygon that the mesh has for a top; the circle: 0.2827
        for force, expected in zip(values["feet"], (0, 0, area)):
            self.assert_near(force, expected, 1e-8)
        finer = self.solve("tripod", discretization__degree=2)["sinks"]
        self.assert_near(values["sinks"], finer, 0.03 * abs(finer))

    def test_kirsch(self):
        for setting, _ in self.materials():  # the stresses know nothing of the material
            values = self.solve("kirsch", **setting)
            for value, expected in zip(values["top_of_hole"], (3, 0, 0, 0)):
                self.assert_near(value, expected, 1e-3)
            for value, expected in zip(values["side_of_hole"], (0, 0, 0, -1)):
                self.assert_near(value, expected, 1e-3)
        finer = self.solve("kirsch", mesh__refine=1)
        self.assert_near(finer["top_of_hole"][0], 3, 8e-5)
        self.assert_near(self.solve("kirsch", plane="stress")["top_of_hole"][0], 3, 1e-3)

    def test_gradient_formulation_under_tractions(self):
        """With a tau that does not grow like 1/h these displacements were off by factors."""
        gradient = {"discretization__formulation": "gradient"}
        for refine, tolerance in ((0, 5e-3), (1, 5e-3)):
            value = self.solve("kirsch", mesh__refine=refine, **gradient)["top_of_hole"][0]
            self.assert_near(value, 3, tolerance)
        errors = [abs(self.solve("cook", mesh__refine=refine, **gradient)["rises"] - 23.96) for refine in (0, 1)]
        self.assertLess(errors[0], 1.5)
        self.assertLess(errors[1], 0.7 * errors[0])

    def test_cylinder(self):
        for setting, (E, nu) in self.materials():
            values = self.solve("cylinder", **setting)
            inside, outside = ((1 + nu) / (3 * E) * ((1 - 2 * nu) * r + 4 / r) for r in (1, 2))
            for value, expected in zip(values["inside"], (inside, 0)):  # a vertex: of one cell or of the other
                self.assert_near(value, expected, 5e-5)
            for value, expected in zip(values["outside"], (0, outside)):
                self.assert_near(value, expected, 3e-5)
            for value, expected in zip(values["stress_inside"], (-1, 0, 0, 5 / 3)):
                self.assert_near(value, expected, 1e-3)
            self.assert_near(values["roller"][0], -1, 1e-5)

    def test_cylinder_orders(self):
        """With the exact displacement: stress k + 1, u k + 2, on cubic cells with rollers and tractions."""
        for setting, (E, nu) in self.materials():
            radial = f"*({(1 + nu) / (3 * E)!r})*({1 - 2 * nu!r} + 4/(x^2+y^2))"
            result = self.run_facet(
                "converge", "cylinder", "--refine", "0:2", "--degree", "1:3", "--set", f"material={setting['material']}",
                "--set", f"exact=[x{radial}, y{radial}]", "--set",
                "boundary=[{on: bottom, displacement: [null, 0], traction: [0, null]}, "
                "{on: left, displacement: [0, null], traction: [null, 0]}, {on: rest, traction: exact}]")
            rows = [row for row in result["rows"] if row["mesh"]["cells"] == 1440]
            self.assertEqual([row["degree"] for row in rows], [1, 2, 3])
            for row in rows:
                self.assertGreater(row["rates"]["stress"]["L2"], row["degree"] + 1 - 0.25)
                if row["errors"]["u"]["L2"] > 1e-13 * (1 + E * nu / (1 + nu) / (1 - 2 * nu)):  # rounding times lambda
                    self.assertGreater(row["rates"]["u"]["L2"], row["degree"] + 2 - 0.35)

    def test_sphere(self):
        for setting, (E, nu) in self.materials():
            inside, outside = (((1 - 2 * nu) * r + 4 * (1 + nu) / r ** 2) / (7 * E) for r in (1, 2))
            for degree, tolerance in ((2, 0.015), (3, 0.005)):  # at vertices: means of cells that differ by 0.01
                values = self.solve("sphere", discretization__degree=degree, **setting)
                for value, expected in zip(values["inside"], (inside, 0, 0)):
                    self.assert_near(value, expected, tolerance)
                for value, expected in zip(values["outside"], (0, 0, outside)):
                    self.assert_near(value, expected, tolerance / 5)
                for value, expected in zip(values["stress_inside"], (-1, 0, 0, 0, 5 / 7, 0, 0, 0, 5 / 7)):
                    self.assert_near(value, expected, 2 * tolerance)

    def test_foundation(self):
        values = self.solve("foundation")
        self.assert_near(values["sinks"], -1 / 8, 1e-3)
        self.assert_near(values["rises"], math.exp(-math.pi) / 8, 2e-4)
        self.assert_near(values["ground"], 10 / 24, 1e-8)  # half of k/(4 beta)
        self.assert_near(values["others"], -10 / 24, 1e-8)

    def test_afloat(self):
        values = self.solve("afloat")
        self.assert_near(values["middle"] - values["end"], 0.1, 1e-9)
        self.assert_near(values["bending"], 2.5, 1e-9)
        for mean in values["mean"]:
            self.assertLess(abs(mean), 1e-12)

    def test_bimetal(self):
        values = self.solve("bimetal")
        a, b, c = values["middle"]
        self.assert_near((a - 2 * b + c) / 0.02**2, -1.0181818, 1e-5)
        self.assert_near(values["tip"], -1.0181818 * 0.1**2 / 2, 2e-4)
        for force in values["clamp"]:  # of forces of 1e5
            self.assert_near(force, 0, 1e-4)

    def test_hot_cylinder(self):
        heat, stress = (case["values"] for case in self.run_facet("solve", "hot-cylinder")["cases"])
        self.assert_near(heat["flow"] / 100, math.pi / (2 * math.log(2)), 1e-4)
        hoop = [1 / (1.4 * math.log(2)) * (1 - math.log(2 / r) - (1 + 4 / r**2) * math.log(2) / 3) for r in (1, 2)]
        self.assert_near(stress["inside"], hoop[0], 2e-3)
        self.assert_near(stress["outside"], hoop[1], 5e-4)

    def test_ply(self):
        values = self.solve("ply")
        c, s = math.cos(math.pi / 6), math.sin(math.pi / 6)
        stiff = 1 / (c**4 / 140 + s**4 / 10 + (1 / 5 - 0.6 / 140) * s * s * c * c)
        shear = 2 * s * c * ((1.3 / 140 - 0.1) * c * c - (0.1 + 0.3 / 140 - 0.1) * s * s)
        self.assert_near(values["end"][0], 0.2 / stiff, 1e-11)
        self.assert_near(values["end"][1], 0.2 * shear, 1e-11)
        self.assert_near(values["stress"][0], 0.1, 1e-9)

    def test_shell(self):
        values = self.solve("shell")
        self.assert_near(values["inside"], 0.8, 1e-4)
        self.assert_near(values["outside"], 0.3, 1e-4)
        self.assert_near(values["hoop"], 5 / 7, 1e-2)
        self.assert_near(values["support"], -math.pi, 1e-5)

    def test_cook(self):
        values = self.solve("cook")
        self.assert_near(values["rises"], 23.96, 0.07)
        self.assert_near(values["support"][0], 0, 1e-9)
        self.assert_near(values["support"][1], -1, 1e-9)
        finer = self.solve("cook", mesh__refine=1, discretization__degree=4)["rises"]
        self.assert_near(finer, 23.96, 0.025)
        # Nearly incompressible: no locking, the coarse mesh is as good as it is for a compressible body.
        nearly = {"plane": "strain", "material": NEARLY}
        coarse, fine = self.solve("cook", **nearly)["rises"], self.solve("cook", mesh__refine=1, **nearly)["rises"]
        self.assert_near(coarse, fine, 0.01 * fine)

    def test_cantilever(self):
        values = self.solve("cantilever")
        P, E, nu, L, D = 1, 1, 0.3, 8, 2
        I = D ** 3 / 12
        tip = -(P * L ** 3 / (3 * E * I) + (4 + 5 * nu) * P * D ** 2 * L / (24 * E * I))
        self.assert_near(values["tip"], tip, 1e-8)
        for value, expected in zip(values["bending_stress"], (P * L * D / (2 * I), 0, 0, 0)):
            self.assert_near(value, expected, 1e-8)
        for force, expected in zip(values["support"], (0, P)):
            self.assert_near(force, expected, 1e-9)
        errors = [abs(self.solve("cantilever", mesh__box__cells=cells, discretization__degree=1)["tip"] - tip)
                  for cells in ("[8, 2]", "[16, 4]")]
        self.assertLess(errors[1], 0.001 * abs(tip))
        self.assertGreater(math.log2(errors[0] / errors[1]), 3 - 0.2)


if __name__ == "__main__":
    unittest.main()
