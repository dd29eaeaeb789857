"""Solves every case of examples/ with the program, in an empty directory, and checks its numbers: errors against stated
bounds, observed orders, conservation, and values known by other means. FACET_PROGRAM names the program, by default
build/facet; FACET_SOURCE_DIR the checkout."""

import csv
import json
import math
import os
import re
import subprocess
import tempfile
import unittest

import test_elastic_examples

SOURCE = os.environ.get("FACET_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROGRAM = os.environ.get("FACET_PROGRAM", os.path.join(SOURCE, "build", "facet"))
EXAMPLES = os.path.join(SOURCE, "examples")
ROUNDING = 1e-13  # orders are not judged where the finer error is below this


def case(name):
    return os.path.join(EXAMPLES, name + ".yaml")


class Examples(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def path(self, name):
        return os.path.join(self.place.name, name)

    def run_facet(self, *arguments):
        done = subprocess.run([PROGRAM, *arguments, "--json", "result.json"], cwd=self.place.name, capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.path("result.json")) as file:
            return json.load(file)

    def solve(self, name, **settings):
        """The JSON object of a converged run. Dots of a setting's key are written as two underscores."""
        sets = [text for key, value in settings.items() for text in ("--set", f"{key.replace('__', '.')}={value}")]
        result = self.run_facet("solve", case(name), *sets)
        self.assertTrue(result["solver"]["converged"])
        self.assertLess(result["solver"]["residual"], 1e-10)
        return result

    def assert_errors(self, result, **bounds):
        for field, bound in bounds.items():
            error = result["errors"][field]["L2"]
            self.assertLess(error, bound, field)
            self.assertGreater(error, bound / 10, f"{field}: the bound is too generous to notice anything")

    def assert_close(self, value, expected, relative):
        self.assertLessEqual(abs(value - expected), relative * abs(expected), f"{value}, expected {expected}")

    def assert_orders(self, result, expected):
        """expected: by field, (what is added to the degree, how much less is tolerated)."""
        judged = 0
        for row in result["rows"]:
            if "rates" not in row:
                continue
            for field, (more, slack) in expected.items():
                if row["errors"][field]["L2"] < ROUNDING:
                    continue
                self.assertGreaterEqual(row["rates"][field]["L2"], row["degree"] + more - slack,
                                        f"{field}, degree {row['degree']}, {row['mesh']['cells']} cells")
                judged += 1
        return judged

    # -------------------------------------------------------------------------------------- the cases

    def test_every_case_is_tested_and_listed(self):
        with open(os.path.join(EXAMPLES, "README.md")) as file:
            readme = file.read()
        for name in sorted(os.listdir(EXAMPLES)):
            if name.endswith(".yaml"):
                test = "test_" + name[:-5].replace("-", "_")
                self.assertTrue(hasattr(self, test) or hasattr(test_elastic_examples.ElasticExamples, test),
                                f"{name} has no test")
            if name.endswith((".yaml", ".c")):
                self.assertIn(f"]({name})", readme)

    def test_commands_in_the_cases_are_accepted(self):
        """`facet solve` and `facet converge` as the comments write them; here only checked, for they may take long."""
        n = 0
        for name in sorted(os.listdir(EXAMPLES)):
            if not name.endswith(".yaml"):
                continue
            with open(os.path.join(EXAMPLES, name)) as file:
                text = file.read().replace("\\\n#", " ")
            for words in re.findall(r"^# +facet (?:solve|converge) examples/(\S+)(.*)$", text, re.MULTILINE):
                self.assertEqual(words[0], name)
                sets = re.findall(r"--set (?:'([^']*)'|(\S+))", words[1])
                arguments = [a for quoted, plain in sets for a in ("--set", quoted or plain)]
                if name == "box-hdg.yaml" and "discretization.operator=mapped" in arguments and "FACET_LONG" not in os.environ:
                    arguments += ["--set", "discretization.degree=4"]  # tables of degree 12 take a quarter of a minute
                done = subprocess.run([PROGRAM, "check", os.path.join(EXAMPLES, name), *arguments],
                                      cwd=self.place.name, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                n += 1
        self.assertGreaterEqual(n, 8)

    def test_poisson(self):
        """The Fourier series of the middle: u = 1/8 - sum over odd n of (4/(n pi)^3) sin(n pi/2) / cosh(n pi/2)."""
        series = 1 / 8 - sum(4 / (n * math.pi) ** 3 * math.sin(n * math.pi / 2) / math.cosh(n * math.pi / 2)
                             for n in range(1, 60, 2))
        result = self.solve("poisson")
        self.assert_close(result["values"]["middle"], series, 1e-6)
        self.assertGreater(os.path.getsize(self.path("poisson.vtu")), 1000)
        self.assert_close(self.solve("poisson", discretization__degree=9)["values"]["middle"], series, 1e-10)

    def test_helmholtz(self):
        result = self.solve("helmholtz")
        self.assertEqual((result["mesh"]["shape"], result["mesh"]["cells"]), ("triangle", 3200))
        self.assert_errors(result, u=1.35e-6, q=3.2e-6, u_star=8e-9)
        self.assert_close(result["errors"]["u"]["L2"], 1.3446e-6, 0.05)  # king2014, Table 1, P = 3

    def test_plate(self):
        result = self.solve("plate")
        values = result["values"]
        self.assertEqual(result["mesh"]["shape"], "triangle+quad")
        parts = ["out_heated", "out_bore", "out_held", "out_insulated"]
        largest = max(abs(values[part]) for part in parts)

        # Balance: what leaves is what the source puts in, 80e3 times the area; the area is an integral over a mean.
        area = self.solve("plate", values="[{name: i, field: u, take: integral}, {name: m, field: u, take: mean}]")
        area = area["values"]["i"] / area["values"]["m"]
        self.assert_close(area, 0.3 * 0.2 - math.pi * 0.025 ** 2, 1e-6)
        self.assertLess(abs(sum(values[part] for part in parts) - 80e3 * area), 1e-8 * largest)

        # The conditions: the heated edge takes what it is given, nothing passes the insulation, and the water takes
        # film * (wall - water) along the bore.
        self.assert_close(values["out_heated"], -20e3 * 0.2, 1e-10)
        self.assertLess(abs(values["out_insulated"]), 1e-8 * largest)
        self.assert_close(values["out_bore"], 2000 * (values["bore_wall"] - 15) * 2 * math.pi * 0.025, 1e-4)

        # An independent reference: more than four times the cells, and two degrees more.
        finer = self.solve("plate", mesh__refine=1, discretization__degree=6, discretization__tau=5000)["values"]
        for name in ["hottest", "bore_wall", "below_the_bush", "out_bore", "out_held"]:
            self.assert_close(values[name], finer[name], 1e-6)

        # The line along the bottom, as a table: from the hot corner to the held edge.
        with open(self.path("plate.csv")) as file:
            rows = list(csv.reader(file))
        self.assertEqual(len(rows), 1 + 61)
        self.assert_close(float(rows[1][-1]), values["hottest"], 1e-2)
        self.assert_close(float(rows[-1][-1]), 100, 1e-4)
        self.assertGreater(os.path.getsize(self.path("plate.vtu")), 10000)

    def test_annulus(self):
        values = self.solve("annulus")["values"]
        self.assert_close(values["in_through_outer"], -2 * math.pi, 1e-8)
        self.assert_close(values["out_through_inner"], 2 * math.pi, 1e-8)
        result = self.run_facet("converge", case("annulus"), "--refine", "0:2", "--degree", "1:3")
        judged = self.assert_orders(result, {"u": (1, 0.3), "q": (1, 0.3), "u_star": (2, 0.35)})
        self.assertEqual(judged, 3 * 2 * 3)

    def test_mixed(self):
        self.assert_errors(self.solve("mixed"), u=2e-4, q=2.2e-3, u_star=4.5e-5)
        result = self.run_facet("converge", case("mixed"), "--refine", "0:2", "--degree", "1:6", "--set", "solver.rtol=1e-13")
        self.assertEqual([(row["degree"], row["mesh"]["cells"]) for row in result["rows"]],
                         [(p, cells) for p in range(1, 7) for cells in (20, 80, 320)])
        judged = self.assert_orders(result, {"u": (1, 0.3), "q": (1, 0.3), "u_star": (2, 0.35)})
        self.assertGreaterEqual(judged, 6 * 2 * 3 - 1)  # the last u* is at rounding

    def test_electrode(self):
        result = self.solve("electrode")
        core = 4 * math.log(2) / (2 * math.pi * 0.6)
        self.assertAlmostEqual(result["potentials"]["inner"], core, delta=3e-5)
        self.assertAlmostEqual(result["values"]["core"], core, delta=3e-4)
        self.assertAlmostEqual(result["values"]["leaks"], 1, delta=1e-8)
        self.assertAlmostEqual(result["values"]["insulated"], 0, delta=1e-8)

    def test_contact(self):
        values = self.solve("contact")["values"]
        heat = 60 * math.pi / 2 / (math.log(1.5) / 16 + 1 / (4 * 1.5) + math.log(2 / 1.5) / 0.8)
        self.assertAlmostEqual(values["heat"], heat, delta=1e-6)
        self.assertAlmostEqual(values["pipe_least"] - values["jacket_most"], heat / (4 * 1.5 * math.pi / 2), delta=1e-3)

    def test_transition(self):
        result = self.solve("transition")
        self.assertEqual(result["mesh"]["shape"], "tet+hex+prism+pyramid")
        self.assert_errors(result, u=2e-4, q=2e-3, u_star=1e-4)
        self.assert_close(result["values"]["through_bottom"], math.sin(2) - math.sin(4) / 2, 1e-8)
        self.assertLess(result["balance"], 1e-9)
        table = self.run_facet("converge", case("transition"), "--refine", "0:1", "--degree", "2:3")
        self.assertEqual(self.assert_orders(table, {"u": (1, 0.1), "q": (1, 0.35), "u_star": (2, 0.4)}), 6)

    def test_perforated(self):
        f = math.pi / 16
        rayleigh = 1 - 2 * f / (1 + f - 0.305827 * f**4 / (1 - 1.402958 * f**8) - 0.013362 * f**8)
        self.assertAlmostEqual(self.solve("perforated")["values"]["K"][0], -rayleigh, delta=3e-8)

    def test_neumann(self):
        result = self.solve("neumann")
        self.assert_errors(result, u=5e-9, q=6e-9, u_star=6e-11)
        for value in result["values"].values():
            self.assert_close(value, (math.e - 1) * math.sin(1), 1e-10)

    def test_neumann_without_exact(self):
        """The same fluxes without the exact solution: the mean is then zero."""
        box = "{box: {lower: [0, 0], upper: [1, 1], cells: [6, 6], shape: quad}}"
        with open(self.path("case.yaml"), "w") as file:
            file.write(f"mesh: {box}\nequation: diffusion\nboundary:\n"
                       "  - {on: xmin, neumann: -cos(y)}\n  - {on: xmax, neumann: e*cos(y)}\n"
                       "  - {on: ymin, neumann: 0}\n  - {on: ymax, neumann: -exp(x)*sin(1)}\n"
                       "discretization: {degree: 5}\n"
                       "values: [{name: mean, field: u, take: mean}, {name: corner, field: u_star, at: [1, 0]}]\n")
        values = self.run_facet("solve", self.path("case.yaml"))["values"]
        self.assertLess(abs(values["mean"]), 1e-12)
        self.assert_close(values["corner"], math.e - (math.e - 1) * math.sin(1), 1e-7)

    def test_box_hdg(self):
        result = self.solve("box-hdg")
        self.assertEqual(result["solver"]["method"], "direct")
        self.assert_errors(result, u=9.4e-5, q=1.5e-3, u_star=6.2e-5)
        for preconditioner in ("none", "jacobi", "block", "additive", "chebyshev"):
            other = self.solve("box-hdg", discretization__operator="tensor", solver__method="cg",
                               solver__preconditioner=preconditioner)
            self.assertEqual(other["solver"]["preconditioner"], preconditioner)
            self.assert_close(other["values"]["somewhere"], result["values"]["somewhere"], 1e-8)
            self.assert_close(other["errors"]["u"]["L2"], result["errors"]["u"]["L2"], 1e-6)
        self.assertLess(other["solver"]["iterations"], 100)

    def test_continuous(self):
        result = self.solve("continuous")
        self.assertEqual((result["method"], result["solver"]["method"]), ("continuous", "direct"))
        self.assertEqual(result["unknowns"], {"volume": 17 ** 3})
        self.assert_errors(result, u=6.9e-7, q=3.4e-5)
        cycles = self.solve("continuous", solver__method="multigrid")
        self.assertLessEqual(cycles["solver"]["iterations"], 4)
        self.assert_close(cycles["values"]["middle"], result["values"]["middle"], 1e-9)
        rows = self.run_facet("converge", case("continuous"), "--refine", "0:2", "--degree", "1:4")
        self.assertEqual(self.assert_orders(rows, {"u": (1, 0.3), "q": (0, 0.3)}), 4 * 2 * 2)

    def test_continuous_jumps(self):
        result = self.solve("continuous-jumps")
        values = result["values"]
        self.assertEqual((result["solver"]["method"], result["solver"]["preconditioner"]), ("cg", "pmg"))
        self.assert_close(values["flow_in"], -values["flow_out"], 1e-7)
        other = self.solve("continuous-jumps", discretization__method="condensed")["values"]
        for name in values:
            self.assert_close(values[name], other[name], 1e-7)

    def test_periodic(self):
        result = self.solve("periodic")
        self.assertEqual(result["mesh"]["faces"], 3 * 64)  # every face has two cells
        self.assert_errors(result, u=1.2e-3, q=4e-3, u_star=7e-6)
        values = result["values"]
        self.assert_close(values["mean"], 2, 1e-10)
        self.assertEqual(len(values["left_side"]), 5)
        for i, (left, right) in enumerate(zip(values["left_side"], values["right_side"])):
            self.assertLess(abs(left - right), 1e-3)
            self.assertLess(abs(left - (2 + math.cos(math.pi * i / 2))), 1e-3)

    def test_hot_shell(self):
        values = self.solve("hot-shell")["values"]
        self.assert_close(values["pole"], 100 / 3, 1e-5)
        self.assert_close(values["flow"], 400 * math.pi, 1e-5)
        self.assert_close(values["heat"], 100 * 2 * math.pi * 2 / 3, 1e-5)

    def test_anisotropic(self):
        result = self.solve("anisotropic")
        self.assert_errors(result, u=1e-5, q=4e-4, u_star=2e-7)
        conductivity = 50 * math.cos(math.pi / 6) ** 2 + math.sin(math.pi / 6) ** 2  # K_xx; u_y = 0 on this side
        self.assert_close(result["values"]["heat_through_the_left_side"], conductivity * (-20 + 1 / 3), 1e-8)
        even = self.solve("anisotropic", mesh__box="{lower: [0, 0], upper: [1, 1], cells: [8, 6], shape: quad}")
        self.assertEqual(even["mesh"]["cells"], result["mesh"]["cells"])
        self.assertGreater(even["errors"]["u"]["L2"], 20 * result["errors"]["u"]["L2"])

    def test_heat_sink(self):
        result = self.solve("heat-sink")
        values = result["values"]
        self.assertEqual((result["dimension"], result["mesh"]["shape"]), (3, "tet"))
        self.assert_close(values["from_chip"], -20e3 * 0.02 ** 2, 1e-10)
        self.assert_close(values["to_air"], 8, 1e-8)
        self.assertLess(abs(values["through_sides"]), 1e-8)
        # The air takes film * (wall - air) over the base's top, less the feet of the pins, and the pins.
        area = 0.02 ** 2 + 4 * 2 * math.pi * 0.0025 * 0.012
        self.assert_close(values["to_air"], 80 * (values["wall"] - 25) * area, 1e-3)
        finer = self.solve("heat-sink", discretization__degree=3, discretization__tau=1e5)["values"]
        self.assert_close(values["hottest"], finer["hottest"], 5e-4)
        self.assert_close(values["tip_of_a_pin"], finer["tip_of_a_pin"], 5e-4)

    def test_hex_jump(self):
        values = self.solve("hex-jump", discretization__degree=4)["values"]
        # Out below, with du/dz = sin(2x) cos(y) (1 - 1) = 0 there; u = 0 half way up.
        self.assertLess(abs(values["below"]), 1e-4)
        self.assertLess(abs(values["middle"]), 1e-6)
        result = self.run_facet("converge", case("hex-jump"), "--refine", "0:2", "--degree", "1:3")
        judged = self.assert_orders({"rows": [row for row in result["rows"] if row["mesh"]["cells"] == 512]},
                                    {"u": (1, 0.3), "q": (1, 0.35), "u_star": (2, 0.35)})
        self.assertEqual(judged, 3 * 3)


if __name__ == "__main__":
    unittest.main()
