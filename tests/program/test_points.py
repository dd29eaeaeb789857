"""Values at points between cells and at curved boundaries, and cells that occupy the same space: from one process and,
where FACET_MPI_PROGRAM names the program, from several. FACET_PROGRAM names the program."""

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
RANKS = (2, 3, 5) if mpi_ranks.MPI else ()
CASE = "equation: diffusion\nexact: x+2*y\ndiscretization: {degree: 2}\n"
JUMPS = """equation: diffusion
conductivity: "if(x<0.5, 1, 10)"
source: 1+x*y
boundary: [{on: rest, dirichlet: 0}]
discretization: {degree: 2}
solver: {method: cg, rtol: 1.0e-13}
values:
"""


class Gmsh:
    """A mesh of straight quads, and of curved ones with 4 or 9 nodes, as a file."""

    def __init__(self):
        self.nodes, self.quads = [], []

    def add(self, n, m, order, place):
        """n x m quads of the unit square, mapped."""
        first, width = len(self.nodes) + 1, order * n + 1
        self.nodes += [place(i / (order * n), j / (order * m)) for j in range(order * m + 1) for i in range(width)]
        for j in range(m):
            for i in range(n):
                at = [[first + (order * j + b) * width + order * i + a for a in range(order + 1)]
                      for b in range(order + 1)]
                k = order
                corners = [at[0][0], at[0][k], at[k][k], at[k][0]]
                self.quads.append(corners if order == 1 else
                                  corners + [at[0][1], at[1][2], at[2][1], at[1][0], at[1][1]])

    def write(self, path):
        kind = {4: 3, 9: 10}
        with open(path, "w", encoding="ascii") as file:
            file.write(f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{len(self.nodes)}\n")
            file.writelines(f"{i + 1} {x!r} {y!r} 0\n" for i, (x, y) in enumerate(self.nodes))
            file.write(f"$EndNodes\n$Elements\n{len(self.quads)}\n")
            file.writelines(f"{i + 1} {kind[len(q)]} 2 1 1 {' '.join(map(str, q))}\n"
                            for i, q in enumerate(self.quads))
            file.write("$EndElements\n")


def ring(inner, outer, turn=0.0, around=2 * math.pi):
    def place(s, t):
        r, angle = inner + (outer - inner) * t, turn - around * s
        return r * math.cos(angle), r * math.sin(angle)
    return place


def square(x, y, size=1.0):
    return lambda s, t: (x + size * s, y + size * t)


class Points(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def path(self, name):
        return os.path.join(self.place.name, name)

    def run_case(self, text, command="solve"):
        with open(self.path("case.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        out = ["--json", self.path("out.json")] if command == "solve" else []
        done = subprocess.run([PROGRAM, command, self.path("case.yaml"), *out], capture_output=True, text=True)
        result = None
        if command == "solve" and done.returncode == 0:
            with open(self.path("out.json"), encoding="utf-8") as file:
                result = json.load(file)
        return done.returncode, done.stderr, result

    def solve(self, text):
        status, errors, result = self.run_case(text)
        self.assertEqual(status, 0, errors)
        return result

    def over_ranks(self, n, text):
        with open(self.path("case.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        status, errors = mpi_ranks.run(n, self.place.name, "solve", "case.yaml", "--json", "out.json")
        if status != 0:
            return status, errors, None
        with open(self.path("out.json"), encoding="utf-8") as file:
            return status, errors, json.load(file)

    def refused(self, text, words):
        for command in ("check", "solve"):
            status, errors, _ = self.run_case(text, command)
            self.assertEqual(status, 2, errors)
            for word in words:
                self.assertIn(word, errors)
        for n in RANKS:
            status, errors, _ = self.over_ranks(n, text)
            self.assertEqual(status, 2, errors)
            self.assertIn(words[0], errors)

    def test_overlaps_are_refused(self):
        """By a corner, one inside the other, a thin layer, crossing bars of one cell each; in all units."""
        pairs = {"corner": (square(0, 0), square(0.53, 0.47), 0.47 * 0.53),
                 "inside": (square(0, 0), square(0.31, 0.32, 0.2), 0.04),
                 "layer": (square(0, 0), square(0.999, 0.11, 0.8), 0.8e-3),
                 "bars": (lambda s, t: (10 * s, t), lambda s, t: (2.3 + t, 10 * s - 3.1), 1.0)}
        for name, (one, two, area) in pairs.items():
            for scale in (1e-6, 1.0, 1e6):
                mesh = Gmsh()
                n = 1 if name == "bars" else 3
                mesh.add(n, n, 1, one)
                mesh.add(1 if name == "bars" else 2, n, 1, two)
                mesh.write(self.path("mesh.msh"))
                text = f"mesh: {{file: mesh.msh, scale: {scale!r}}}\n" + CASE
                self.refused(text, ["both occupy the space at", "overlap: allow"])
                _, errors, _ = self.run_case(text)
                found = float(errors.split(": about ")[1].split()[0])
                self.assertLess(abs(found - area * scale**2), 0.05 * area * scale**2, name)
                self.solve(text.replace("}", ", overlap: allow}", 1))

    def test_contacts_are_no_overlap(self):
        """A gap; a ring in a ring, meshed apart, coarse and fine, which reach into each other by chords."""
        for order in (1, 2):
            for n in ((12, 17), (40, 9), (9, 40)):
                for shift, overlaps in ((0, 0), (0.4, 1)):
                    mesh = Gmsh()
                    for k in range(2):
                        for half in range(2):
                            around = ring((0.5, 1)[k], (1, 1.5)[k], (0.1, 0)[k] + half * math.pi, math.pi)
                            mesh.add(n[k], 2, order, lambda s, t, m=around, d=shift * (k == 0): (m(s, t)[0] + d,
                                                                                                m(s, t)[1]))
                    # halves share their nodes
                    places = {}
                    numbers = [places.setdefault((round(x, 9), round(y, 9), i // (len(mesh.nodes) // 2 + 1) * 0
                                                  + (i >= 2 * (order * n[0] + 1) * (2 * order + 1))), i + 1)
                               for i, (x, y) in enumerate(mesh.nodes)]
                    mesh.quads = [[numbers[i - 1] for i in quad] for quad in mesh.quads]
                    mesh.write(self.path("mesh.msh"))
                    status, errors, _ = self.run_case("mesh: {file: mesh.msh}\n" + CASE, "check")
                    if "non-conforming" in errors:  # nodes of one on the edge of the other
                        continue
                    self.assertEqual(status, 2 * overlaps, f"{order} {n} {shift}: {errors}")

    def test_points_on_a_hole(self):
        """Points of the circle are there on every mesh, in all units; what is farther away is refused."""
        for order in (1, 2):
            for n in (5, 7, 8):
                for scale in (1e-6, 1.0, 1e6):
                    mesh = Gmsh()
                    mesh.add(n, 2, order, ring(1, 2, math.pi / 2, math.pi / 2))
                    mesh.write(self.path("mesh.msh"))
                    angles = (0.2, 0.7, math.pi / 4, 1.2)
                    points = [(round(r * math.cos(a), 8), round(r * math.sin(a), 8)) for a in angles for r in (1, 2)]
                    text = f"mesh: {{file: mesh.msh, scale: {scale!r}}}\n" + CASE + "values:\n"
                    for i, (x, y) in enumerate(points):
                        text += f"  - {{name: v{i}, field: u, at: [{x * scale!r}, {y * scale!r}]}}\n"
                    out = self.solve(text)
                    for i, (x, y) in enumerate(points):
                        self.assertLess(abs(out["values"][f"v{i}"] / scale - x - 2 * y), 0.1)
                    self.assertIn("within the error of its geometry", " ".join(out["notes"]))
        for n in RANKS:
            status, errors, there = self.over_ranks(n, text)
            self.assertEqual(status, 0, errors)
            for name, value in out["values"].items():
                self.assertLess(abs(there["values"][name] - value), 1e-9 * scale, name)
        self.refused(text + "  - {name: far, field: u, at: [0.5e6, 0.5e6]}\n", ["outside the mesh by 2.9", "far"])

    def test_lines_may_leave(self):
        mesh = Gmsh()
        mesh.add(8, 2, 2, ring(1, 2, math.pi / 2, math.pi / 2))
        mesh.write(self.path("mesh.msh"))
        text = "mesh: {file: mesh.msh}\n" + CASE + "values:\n  - {name: l, field: u, along: [[0, 0], [1.2, 1.2]], "
        out = self.solve(text + "points: 13}\n")
        self.assertEqual([v is None for v in out["values"]["l"]], [i <= 7 for i in range(13)])
        self.assertIn("8 of the 13 points of value 'l' are outside the mesh", " ".join(out["notes"]))
        for n in RANKS:
            there = self.over_ranks(n, text + "points: 13}\n")[2]
            self.assertEqual([v is None for v in there["values"]["l"]], [i <= 7 for i in range(13)])
        self.refused(text.replace("1.2, 1.2", "0.6, 0.6") + "points: 13}\n", ["all 13 points of the line lie outside"])

    def test_nothing_between_cells(self):
        """A stress that is zero: cells differ by rounding, which its bar tells. In plane stress nothing is across, exactly."""
        text = """mesh: {box: {lower: [0, 0], upper: [2, 1], cells: [4, 2]}}
equation: elasticity
plane: %s
material: {E: 100, nu: 0.3}
thermal: {expansion: 1e-3, reference: 20, temperature: 70}
boundary: [{on: xmin, roller: x}, {on: ymin, roller: y}, {on: rest, traction: [0, 0]}]
values: [{name: s, field: stress, at: [1, 0.4]}, {name: across, field: stress_across, at: [1, 0.4]}]
"""
        strain, stress = self.solve(text % "strain"), self.solve(text % "stress")
        self.assertNotIn("between cells", " ".join(strain["notes"] + stress["notes"]))
        self.assertLess(max(map(abs, strain["values"]["s"])), strain["bars"]["s"]["error"])
        self.assertAlmostEqual(strain["values"]["across"], -5, 9)
        self.assertEqual(stress["values"]["across"], 0)
        self.assertNotIn("across", stress.get("bars", {}))

    def test_between_cells(self):
        """The mean of the cells that touch the point, on faces and vertices, by all operators, in all units."""
        values = ("  - {name: v, field: u, at: [0.5, 0.5]}\n  - {name: s, field: u_star, at: [0.25, 0.5]}\n"
                  "  - {name: q, field: q, at: [0.5, 0.3]}\n")
        beside = "".join(f"  - {{name: q{i}, field: q, at: [{0.5 + d}, 0.3]}}\n" for i, d in enumerate((-1e-6, 1e-6)))
        found = {}
        for shape, operator in (("quad", "tensor"), ("quad", "mapped"), ("triangle", "mapped")):
            text = (f"mesh: {{box: {{lower: [0, 0], upper: [1, 1], cells: [4, 4], shape: {shape}}}}}\n"
                    + JUMPS.replace("degree: 2", f"degree: 2, operator: {operator}") + values)
            out = self.solve(text + beside)
            sides = out["values"]["q0"], out["values"]["q1"]
            self.assertGreater(abs(sides[0][1] - sides[1][1]), 0.1)
            for c in range(2):
                self.assertLess(abs(out["values"]["q"][c] - (sides[0][c] + sides[1][c]) / 2), 1e-5)
            self.assertIn("between cells", " ".join(out["notes"]))
            found[shape, operator] = out["values"]
            for n in RANKS:
                status, errors, there = self.over_ranks(n, text)
                self.assertEqual(status, 0, errors)
                for name, value in there["values"].items():
                    for a, b in zip(*[v if isinstance(v, list) else [v] for v in (value, out["values"][name])]):
                        self.assertLess(abs(a - b), 1e-9, name)
        for name, value in found["quad", "tensor"].items():
            other = found["quad", "mapped"][name]
            for a, b in zip(*[v if isinstance(v, list) else [v] for v in (value, other)]):
                self.assertLess(abs(a - b), 1e-9, name)


if __name__ == "__main__":
    unittest.main()
