"""Extremes (take: max, min) through the program: they are those of the polynomials, have places, and do not depend on
devices, threads or ranks. FACET_PROGRAM and FACET_MPI_PROGRAM say where the programs are."""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dist"))
import mpi_ranks  # noqa: E402

SOURCE = os.environ.get("FACET_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
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

# Polynomials of one cell, the point of an extreme, and which: it lies in a face or an edge, close to where a climb that
# holds on to another edge or vertex ends.
ONE_CELL = (
    ("tet", 2, "2.2053923 - 11.600193*z + 12.079509*z^2 - 0.40093822*y - 0.002229*y*z - 0.09515558*y^2 - 2.1529360*x"
     " + 3.5502796*x*z - 0.19657487*x*y + 1.1541029*x^2", "least", (0.0624, 0.4501, 0.4875)),
    ("tet", 3, "-0.9966 - 0.8771*z + 3.3314*z^2 - 0.8694*z^3 + 8.3387*y + 12.3494*y*z - 14.4011*y*z^2 - 14.972*y^2"
     " - 11.0708*y^2*z + 6.8547*y^3 + 12.3628*x - 33.2371*x*z + 20.3801*x*z^2 - 41.7988*x*y + 38.8457*x*y*z"
     " + 30.269*x*y^2 - 27.5781*x^2 + 36.4741*x^2*z + 37.279*x^2*y + 16.2374*x^3", "most", (0, 0.3, 0.55)),
    ("triangle", 3, "-1.586 + 0.055*(y+0.1) - 0.626*(y+0.1)^2 + 1.602*(y+0.1)^3 - 0.034*(x+0.16)"
     " - 0.072*(x+0.16)*(y+0.1) - 1.132*(x+0.16)*(y+0.1)^2 + 1.078*(x+0.16)^2 + 3.361*(x+0.16)^2*(y+0.1)"
     " - 0.054*(x+0.16)^3", "least", (0, 0.1)),
)
# Gmsh's numbers of a shape's faces and of its cells, their vertices, and where these lie.
CELLS = {
    "triangle": (1, 2, "12 23 31", ("0 0 0", "1 0 0", "0 1 0")),
    "tet": (2, 4, "132 124 143 234", ("0 0 0", "1 0 0", "0 1 0", "0 0 1")),
}
VARYING = """mesh: {file: one.msh}
equation: diffusion
conductivity: 1.5 + 0.9*sin(6*x + 6.9*y)
exact: 0.6*x + 0.9*y + 0.5*x*y + 0.8*x^2
discretization: {degree: 1, method: condensed}
values:
  - {name: most, field: q, component: x, take: max}
  - {name: least, field: q, component: x, take: min}
"""


def one_cell(shape):
    face, cell, faces, points = CELLS[shape]
    elements = [f"{i + 1} {face} 2 1 1 {' '.join(f)}" for i, f in enumerate(faces.split())]
    elements.append(f"{len(elements) + 1} {cell} 2 2 2 {' '.join(str(i + 1) for i in range(len(points)))}")
    nodes = [f"{i + 1} {p}" for i, p in enumerate(points)]
    return "\n".join(["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$Nodes", str(len(nodes)), *nodes, "$EndNodes",
                      "$Elements", str(len(elements)), *elements, "$EndElements", ""])


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

    def write_cell(self, shape):
        with open(os.path.join(self.place.name, "one.msh"), "w") as file:
            file.write(one_cell(shape))

    def test_one_cell(self):
        for shape, degree, formula, which, at in ONE_CELL:
            self.write_cell(shape)
            values = self.solve(f"""mesh: {{file: one.msh}}
equation: diffusion
exact: {formula}
discretization: {{degree: {degree}}}
values:
  - {{name: most, field: u, take: max}}
  - {{name: least, field: u, take: min}}
  - {{name: there, field: u, at: {list(at)}}}
""")["values"]
            if which == "most":
                self.assertGreaterEqual(values["most"], values["there"])
            else:
                self.assertLessEqual(values["least"], values["there"])

    def test_a_coefficient_that_varies_in_a_cell(self):
        """Its flux is no polynomial of the degree of u."""
        self.write_cell("triangle")
        points = [[i / 40, j / 40] for i in range(41) for j in range(41 - i)]
        grid = "".join(f"  - {{name: g{i}, field: q, at: {p}}}\n" for i, p in enumerate(points))
        values = self.solve(VARYING + grid)["values"]
        seen = [value[0] for name, value in values.items() if name.startswith("g")]
        self.assertGreaterEqual(values["most"], max(seen) - 1e-9)
        self.assertLessEqual(values["least"], min(seen) + 1e-9)

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
