"""Extremes (take: max, min) through the program: they are those of the polynomials, have places, and do not depend on
devices, threads or ranks. FACET_PROGRAM and FACET_MPI_PROGRAM say where the programs are."""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mpi_ranks  # noqa: E402

SOURCE = os.environ.get("FACET_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
PROGRAM = os.environ.get("FACET_PROGRAM", os.path.join(SOURCE, "build", "facet"))
PEAK = """mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 2], shape: quad}}
equation: diffusion
exact: exp(-20*((x-0.31)^2+(y-0.22)^2))
discretization: {degree: 8}
values:
  - {name: most, field: u, take: max}
  - {name: there, field: u, at: [0.31, 0.22]}
  - {name: side, field: u, take: max, on: xmin}
"""
WAVES = """mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [6, 6], shape: triangle}}
equation: diffusion
exact: sin(3*pi*x)*sin(3*pi*y)
discretization: {degree: 4}
solver: {rtol: 1.0e-13}
values:
  - {name: most, field: u, take: max}
  - {name: least, field: u, take: min}
  - {name: flux, field: q, take: max}
  - {name: star, field: u_star, take: min}
  - {name: side, field: q, component: x, take: max, on: xmin}
"""
FLAT = """mesh: {box: {lower: [0, 0, 0], upper: [1, 1, 1], cells: [3, 3, 3], shape: tet}}
equation: diffusion
exact: 7
discretization: {degree: 2}
values: [{name: most, field: u, take: max}, {name: least, field: u, take: min}]
"""
LEAST = """mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [7, 9], shape: triangle}}
equation: diffusion
exact: (x-0.31)^2 + 0.3*y*s + (1-s)*(y-0.22)^2 + (y-0.22)^3*s
parameters: {s: 1}
discretization: {degree: 3}
solver: {rtol: 1.0e-14}
values: [{name: least, field: q, take: min}]
"""
STRESS = """mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [5, 5], shape: triangle}}
equation: elasticity
material: {mu: 1, lambda: 1.25}
exact: ["x^2*y+y^2", "x*y-0.3*x+y^3"]
discretization: {degree: 3}
solver: {rtol: 1.0e-13}
values:
  - {name: most, field: von_mises, take: max}
  - {name: least, field: von_mises, take: min}
"""


class Extremes(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def write(self, case):
        with open(os.path.join(self.place.name, "case.yaml"), "w") as file:
            file.write(case)

    def solve(self, case, *arguments, threads=1):
        self.write(case)
        done = subprocess.run([PROGRAM, "solve", "case.yaml", "--quiet", "--json", "-", *arguments],
                              cwd=self.place.name, capture_output=True, text=True,
                              env=dict(os.environ, OMP_NUM_THREADS=str(threads)))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_peak_between_samples(self):
        """Its error goes down with that of u."""
        for shape in ("quad", "triangle"):
            for degree, off in ((8, 2e-3), (12, 1e-5), (16, 5e-8)):
                found = self.solve(PEAK, "--set", f"discretization.degree={degree}", "--set", f"mesh.box.shape={shape}")
                values, at = found["values"], found["places"]["most"]["at"]
                self.assertGreaterEqual(values["most"], values["there"] - 1e-13)
                self.assertLess(values["most"] - values["there"], 10 * off * off + 1e-12)
                self.assertLess(abs(values["most"] - 1), off)
                self.assertLess(math.dist(at, (0.31, 0.22)), 3 * math.sqrt(off))
                self.assertEqual(found["places"]["most"]["cell"], 0)
                self.assertEqual(found["places"]["side"]["at"][0], 0)
                self.assertLess(abs(values["side"] - math.exp(-20 * 0.31**2)), 10 * off)

    def test_a_value_is_that_of_its_place(self):
        at = self.solve(PEAK)["places"]["most"]["at"]
        values = self.solve(PEAK + f"  - {{name: again, field: u, at: {at}}}\n")["values"]
        self.assertAlmostEqual(values["again"], values["most"], delta=1e-12)

    def test_threads_have_the_same_bits(self):
        one, two = self.solve(WAVES, threads=1), self.solve(WAVES, threads=2)
        self.assertEqual(one["values"], two["values"])
        self.assertEqual(one["places"], two["places"])

    def same(self, one, other):
        for name, value in one["values"].items():
            self.assertAlmostEqual(other["values"][name], value, delta=1e-9)
            self.assertEqual(other["places"][name]["cell"], one["places"][name]["cell"], name)
            self.assertLess(math.dist(other["places"][name]["at"], one["places"][name]["at"]), 1e-6)

    def test_devices(self):
        for more in (("--set", "mesh.box.shape=quad"), ()):
            here = self.solve(WAVES, *more)
            for device in ("ref", "debug"):
                self.same(here, self.solve(WAVES, "--device", device, *more))

    def test_the_least_magnitude(self):
        """|q|^2 = 4 (x - 0.31)^2 + (0.3 + 3 (y - 0.22)^2)^2, and a flux that vanishes at one point."""
        for shape in ("triangle", "quad"):
            for s, least in ((1, 0.3), (0, 0.0)):
                found = self.solve(LEAST, "--set", f"mesh.box.shape={shape}", "--set", f"parameters.s={s}")
                self.assertAlmostEqual(found["values"]["least"], least, delta=1e-9)
                self.assertLess(math.dist(found["places"]["least"]["at"], (0.31, 0.22)), 1e-3)

    def test_von_mises(self):
        """Its extremes are the field's own values at their places, and no point of a grid has more."""
        one, two = self.solve(STRESS, threads=1), self.solve(STRESS, threads=2)
        self.assertEqual(one["values"], two["values"])
        self.assertEqual(one["places"], two["places"])
        at = {name: one["places"][name]["at"] for name in ("most", "least")}
        grid = "".join(f"  - {{name: g{i}_{j}, field: von_mises, at: [{i / 40}, {j / 40}]}}\n"
                       for i in range(41) for j in range(41))
        values = self.solve(STRESS + grid + "".join(f"  - {{name: {name}_again, field: von_mises, at: {place}}}\n"
                                                    for name, place in at.items()))["values"]
        for name in at:
            self.assertAlmostEqual(values[name + "_again"], values[name], delta=1e-9)
        seen = [value for name, value in values.items() if name.startswith("g")]
        self.assertGreaterEqual(values["most"], max(seen) - 1e-9)
        self.assertLessEqual(values["least"], min(seen) + 1e-9)

    def test_a_constant_lies_in_the_first_cell(self):
        found = self.solve(FLAT)
        for name in ("most", "least"):
            self.assertAlmostEqual(found["values"][name], 7, delta=1e-11)
            self.assertTrue(all(0 <= x <= 1 for x in found["places"][name]["at"]))

    @unittest.skipUnless(mpi_ranks.MPI, "the build has no MPI")
    def test_ranks(self):
        here = self.solve(WAVES)
        for n in (2, 3, 5):
            ranks = mpi_ranks.Ranks(n)
            self.addCleanup(ranks.end)
            status, errors = ranks.run(self.place.name, "solve", "case.yaml", "--quiet", "--json", "there.json")
            self.assertEqual(status, 0, errors)
            with open(os.path.join(self.place.name, "there.json")) as file:
                self.same(here, json.load(file))


if __name__ == "__main__":
    unittest.main()
