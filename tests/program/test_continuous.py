"""Continuous elements through the program: what is refused and with which status, the JSON, files, pictures, tables.
FACET_PROGRAM names the program, by default build/facet; FACET_SOURCE_DIR the checkout."""

import json
import os
import re
import subprocess
import tempfile
import unittest

SOURCE = os.environ.get("FACET_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROGRAM = os.environ.get("FACET_PROGRAM", os.path.join(SOURCE, "build", "facet"))
CASE = """mesh: {box: {lower: [0, 0], upper: [2, 1], cells: [4, 4], shape: quad}}
equation: diffusion
exact: sin(x)*exp(y)
discretization: {method: continuous, degree: 3}
values: [{name: middle, field: u, at: [1, 0.5]}, {name: out, field: flux, take: integral, on: xmax}]
"""


class Continuous(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        with open(os.path.join(self.place.name, "case.yaml"), "w") as file:
            file.write(CASE)

    def run_facet(self, command, *arguments, expect=0):
        done = subprocess.run([PROGRAM, command, *arguments], cwd=self.place.name, capture_output=True, text=True)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def solve(self, *settings, expect=0):
        sets = [text for setting in settings for text in ("--set", setting)]
        done = self.run_facet("solve", "case.yaml", "--quiet", "--json", "-", *sets, expect=expect)
        return json.loads(done.stdout) if done.stdout else None, done.stderr

    def test_json_has_no_trace(self):
        result, _ = self.solve()
        self.assertEqual(result["method"], "continuous")
        self.assertEqual(result["unknowns"], {"volume": 13 * 13})
        self.assertEqual(set(result["errors"]), {"u", "q"})
        self.assertEqual(result["solver"]["method"], "direct")
        self.assertNotIn("rate", result["solver"])
        cycles, _ = self.solve("solver.method=multigrid", "solver.rtol=1e-12")
        self.assertEqual(cycles["solver"]["preconditioner"], "patches")
        self.assertLess(cycles["solver"]["rate"], 0.1)
        for name, value in result["values"].items():
            self.assertLess(abs(value - cycles["values"][name]), 1e-9)

    def test_extremes_of_linear_elements(self):
        """Their reach is no more than their values: the cell that has the greatest one must not be passed over."""
        result, _ = self.solve("discretization.degree=1", "values=[{name: most, field: u, take: max},"
                               "{name: least, field: u, take: min}, {name: corner, field: u, at: [1.5, 1]}]")
        self.assertAlmostEqual(result["values"]["most"], result["values"]["corner"], delta=1e-12)
        self.assertAlmostEqual(result["values"]["least"], 0.0, delta=1e-12)

    def test_a_reaction_that_holds_the_constant(self):
        """What rounds alike in all cells adds up: the estimate knows, or the mean is found by itself."""
        for reaction in (1e-3, 1e-2, 5e-2, 0.5):
            case = ["mesh={box: {lower: [0, 0, 0], upper: [1, 1, 1], cells: [6, 6, 6], shape: hex}}",
                    f"reaction={reaction}", "exact=cos(pi*x)*cos(pi*y) + 10", "boundary=[{on: rest, neumann: exact}]",
                    "discretization.degree=7", "solver={method: cg, rtol: 1e-10}",
                    "values=[{name: mean, field: u, take: mean}]"]
            result, _ = self.solve(*case)
            with self.subTest(reaction=reaction):
                self.assertLess(abs(result["values"]["mean"] / 10 - 1), 10 * result["solver"]["error"] + 1e-12)

    def test_not_converged(self):
        result, message = self.solve("solver={method: cg, preconditioner: none, max_iterations: 2}", expect=1)
        self.assertFalse(result["solver"]["converged"])
        self.assertNotIn("values", result)
        self.assertIn("did not converge", message)

    def test_weak_reaction(self):
        """Without a Dirichlet part and with a reaction far below k / L^2 the constant is large, and rounding is all that is left."""
        free = ["exact=cos(pi*x)*cos(pi*y)+1", "boundary=[{on: rest, neumann: exact}]", "discretization.degree=5"]
        square = "mesh={box: {lower: [0, 0], upper: [1, 1], cells: [4, 4], shape: quad}}"
        for reaction, most in (("1e-4", 2e-7), ("1e-8", 2e-7), ("1e-10", 1e-5)):
            result, _ = self.solve(square, *free, f"reaction={reaction}")
            self.assertLess(result["errors"]["u"]["L2"], most, reaction)
        for conductivity in ("1e2", "1e3"):
            result, _ = self.solve(
                "mesh={box: {lower: [0, 0], upper: [1, 0.05], cells: [4, 4], shape: quad, periodic: [x, y]}}",
                "exact=1.5+sin(2*pi*x)", "values=[{name: mean, field: u, take: mean}]", f"conductivity={conductivity}",
                "reaction=1", "discretization.degree=7")
            self.assertTrue(result["solver"]["converged"])
            # Rounding of the stiffness matrix, which grows with k, against the reaction that holds the constant.
            self.assertLess(abs(result["values"]["mean"] - 1.5), 5e-9 * float(conductivity))

    def test_stretched_cells_are_solved_directly(self):
        flat, _ = self.solve("mesh={box: {lower: [0, 0], upper: [1, 0.01], cells: [80, 80], shape: quad}}",
                             "discretization.degree=4", "values=[]")
        self.assertEqual(flat["solver"]["method"], "direct")
        self.assertLess(flat["errors"]["u"]["L2"], 1e-9)

    def test_refused(self):
        for settings, text in (
                (["boundary=[{on: xmin, robin: {a: 1, g: exact}}]"], "use the discretization condensed"),
                (["conductivity=[[2, 1], [1, 2]]"], "not a matrix"),
                (["conductivity=1+x"], "constant in every cell"),
                (["mesh.box.shape=triangle"], "quads or hexes"),
                (["discretization.degree=16"], "1 to 15"),
                (["discretization.tau=1"], "belongs to method: hdg"),
                (["discretization.operator=mapped"], "continuous has tensor"),
                (["solver.preconditioner=amg"], "none, jacobi, gmg and patches"),
                (["solver.smoother=fsai"], "patches, additive, point, jacobi and chebyshev"),
                (["solver={method: direct, precision: mixed}"], "does not belong to the direct solve"),
                (["solver={method: cg, cycle: full}"], "goes with the method multigrid"),
                (["output={file: a.vtu, fields: [trace]}"], "trace belongs to"),
                (["output={file: a.vtu, fields: [u_star]}"], "continuous has u and q"),
                (["discretization.method=hdg", "solver.preconditioner=patches"], "belongs to the discretization continuous"),
                (["discretization.method=contiguous"], "continuous")):
            with self.subTest(settings=settings):
                _, message = self.solve(*settings, expect=2)
                self.assertIn(text, message)

    def test_check_foretells_the_method(self):
        varying = "conductivity=2+floor(2*x)"
        jump = "conductivity=1+1e6*floor(1.99*x)"
        for settings in ([], [varying], [jump], ["solver.cycle=V"], ["solver.smoother=additive"], ["solver.cycle=full"],
                         ["solver={method: cg, preconditioner: jacobi}"], ["solver.smoother=chebyshev"],
                         ["discretization.method=hdg"], ["discretization.method=hdg", varying],
                         ["discretization.method=hdg", jump], ["discretization.method=hdg", "solver.method=cg"]):
            with self.subTest(settings=settings):
                report, _ = self.solve(*settings)
                used = report["solver"]
                words = [word for setting in settings for word in ("--set", setting)]
                said = re.search("^solver +(.*)$", self.run_facet("check", "case.yaml", *words).stdout, re.M)[1]
                self.assertTrue(said.startswith(used["method"] + ": "), said)
                if used["preconditioner"] != "none":
                    self.assertIn(f"; {used['preconditioner']}: ", said)

    def test_check_and_converge(self):
        self.assertIn("degree 3: 169\n", self.run_facet("check", "case.yaml").stdout)
        self.run_facet("check", "case.yaml", "--set", "solver.cycle=full", "--set", "solver.method=cg", expect=2)
        self.run_facet("converge", "case.yaml", "--refine", "0:1", "--degree", "2:5", "--json", "rows.json")
        with open(os.path.join(self.place.name, "rows.json")) as file:
            rows = json.load(file)["rows"]
        for row in rows:
            if "rates" in row:
                self.assertGreater(row["rates"]["u"]["L2"], row["degree"] + 0.7)
                self.assertGreater(row["rates"]["q"]["L2"], row["degree"] - 0.3)
                self.assertNotIn("trace", row["rates"])

    def test_files(self):
        for degree in (3, 12):  # cells of a degree above 10 are written in parts
            self.run_facet("solve", "case.yaml", "--output", "a.vtu", "--set", f"discretization.degree={degree}")
            self.assertGreater(os.path.getsize(os.path.join(self.place.name, "a.vtu")), 1000)

    def test_levels(self):
        done = self.run_facet("solve", "case.yaml", "--monitor", "--set", "solver.method=multigrid")
        self.assertIn("2x2", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
