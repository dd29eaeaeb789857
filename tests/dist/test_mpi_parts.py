"""Meshes that Gmsh has partitioned and split into files: each rank reads its own. Values, errors and balance are those of
one process with the whole mesh, and what could make a seam a part of the boundary is refused."""

import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program"))
from test_app import SOURCE  # noqa: E402
from test_mpi import Mpi  # noqa: E402
from test_mpi_solve import SAME  # noqa: E402

MESHES = os.path.join(SOURCE, "tests", "meshes")
CASE = """mesh: {{file: "{file}"}}
equation: diffusion
exact: sin(x)*exp(y)
boundary: [{boundary}{{on: rest, neumann: exact}}]
discretization: {{degree: 2}}
solver: {{rtol: 1.0e-12, method: cg, preconditioner: pmg}}
values: [{{name: mean, field: u, take: mean}}, {{name: most, field: u, take: max}}{value}]
"""
PLATE = {"boundary": "{on: cold, dirichlet: exact}, {on: hot, robin: {a: 2, g: exact}}, ",
         "value": ", {name: out, field: flux, take: integral, on: cold}"}


class Parts(Mpi):
    def copy(self, name, n):
        for i in range(1, n + 1):
            shutil.copy(os.path.join(MESHES, f"{name}_{i}.msh"), self.path(f"part_{i}.msh"))

    def check(self, n, *words):
        self.write(CASE.format(file="part_*.msh", **PLATE))
        self.one_message(self.mpi(n, "check", "case.yaml", status=2), *words)

    def test_values(self):
        for name, n, more in (("parts", 3, PLATE), ("parts-mixed", 3, {"boundary": "", "value": ""}),
                              ("parts-solid", 4, {"boundary": "{on: bottom, dirichlet: exact}, ", "value": ""})):
            self.copy(name, n)
            case = CASE.format(file="part_*.msh", **more).replace("[{on: rest, neumann", "[{on: rest, dirichlet")
            self.write(case)
            self.mpi(n, "solve", "case.yaml", "--quiet", "--json", "many.json")
            self.write(case.replace("part_*.msh", os.path.join(MESHES, name + ".msh")))
            self.run_program("solve", "case.yaml", "--quiet", "--json", "one.json")
            one, many = (json.loads(self.read(file)) for file in ("one.json", "many.json"))
            for key in ("mesh", "unknowns"):
                self.assertEqual(one[key], many[key], name)
            for key, value in one["values"].items():
                self.assertAlmostEqual(many["values"][key], value, delta=SAME, msg=f"{key}, {name}")
            for key, value in one["errors"].items():
                self.assertAlmostEqual(many["errors"][key]["L2"], value["L2"], delta=SAME, msg=f"{key}, {name}")
            self.assertLess(many["balance"], 1e-11)
            self.assertLessEqual(abs(one["solver"]["iterations"] - many["solver"]["iterations"]), 1)

    def test_refined(self):
        """Refined in place, with geometric multigrid over both meshes."""
        self.copy("parts", 3)
        more = "file: \"part_*.msh\", refine: 1"
        self.write(CASE.format(file="part_*.msh", **PLATE).replace('file: "part_*.msh"', more).replace("pmg", "gmg"))
        self.mpi(3, "solve", "case.yaml", "--quiet", "--json", "many.json")
        self.assertEqual(json.loads(self.read("many.json"))["mesh"]["cells"], 4 * 86)

    def test_physical_numbers(self):
        """The curve between parts carries the number of the surface, which the part `cold` of the boundary has too."""
        self.copy("parts", 3)
        self.assertIn('1 1 "cold"', self.read("part_1.msh"))
        self.assertIn('2 1 "plate"', self.read("part_1.msh"))
        self.write(CASE.format(file="part_*.msh", **PLATE))
        self.assertIn("cold             4 faces", self.mpi(3, "check", "case.yaml").stdout)

    def test_numbers_of_parts(self):
        self.copy("parts", 3)
        self.check(2, "one of 3 parts", "mpiexec -n 3")
        shutil.copy(self.path("part_1.msh"), self.path("part_2.msh"))
        self.check(3, "part_2.msh is part 1, not part 2")
        os.unlink(self.path("part_2.msh"))
        self.check(3, "part_2.msh")
        self.write(CASE.format(file="part_*.msh", **PLATE))
        self.assertIn("facet-mpi", self.run_program("check", "case.yaml", status=2).stderr)

    def test_not_of_one_mesh(self):
        """Part 2 with other numbers of nodes: its seam is found nowhere."""
        self.copy("parts", 3)
        self.write(renumbered(self.read("part_2.msh"), 1000), "part_2.msh")
        self.check(3, "another part has a cell across", "none has")

    def test_moved(self):
        """The same numbers of nodes in another place."""
        self.copy("parts", 3)
        lines = self.read("part_1.msh").split("\n")
        _, seams = between(lines)
        at = next(i for i, line in enumerate(lines) if line.split()[:1] == ["1"] and line.split()[1:3] == [seams[0], "0"]
                  and i > lines.index("$Nodes"))
        n = int(lines[at].split()[3])
        x, y, z = map(float, lines[at + 1 + n].split())
        lines[at + 1 + n] = f"{x + 1e-9!r} {y!r} {z!r}"
        self.write("\n".join(lines), "part_1.msh")
        self.check(3, "lies in different places in parts 1 and")

    def test_without_ghosts(self):
        """Neither ghosts nor elements between parts: nothing says where the seams are."""
        self.copy("parts", 3)
        for i in (1, 2, 3):
            self.write(without_seams(self.read(f"part_{i}.msh")), f"part_{i}.msh")
        self.check(3, "does not say that it lies between parts")

    def test_whole_file(self):
        """Several parts in one file, and a file without parts."""
        shutil.copy(os.path.join(MESHES, "partitioned.msh"), self.path("part_1.msh"))
        shutil.copy(os.path.join(MESHES, "partitioned.msh"), self.path("part_2.msh"))
        self.check(2, "-part_split")
        shutil.copy(os.path.join(MESHES, "parts.msh"), self.path("part_1.msh"))
        shutil.copy(os.path.join(MESHES, "parts.msh"), self.path("part_2.msh"))
        self.check(2, "not the part of a mesh")


def between(lines):
    """Tags of the ghosts, and of the curves between parts, of a file in lines."""
    first = lines.index("$PartitionedEntities")
    n = int(lines[first + 2])
    entities = [line.split() for line in lines[first + 4 + n:lines.index("$EndPartitionedEntities")]]
    return ([line.split()[0] for line in lines[first + 3:first + 3 + n]],
            [words[0] for words in entities if words[1] == "2" and words[3] == "2"])


def element_blocks(lines):
    """Blocks of elements: their heads, and where they begin and end."""
    at = lines.index("$Elements") + 2
    while lines[at] != "$EndElements":
        words = lines[at].split()
        yield words, at, at + 1 + int(words[3])
        at += 1 + int(words[3])


def without_seams(text):
    """Without the elements of ghosts and between parts."""
    lines = text.split("\n")
    ghosts, seams = between(lines)
    first, last, kept, n = lines.index("$Elements"), lines.index("$EndElements"), [], [0, 0]
    for words, begin, end in element_blocks(lines):
        if not (words[0] == "2" and words[1] in ghosts) and not (words[0] == "1" and words[1] in seams):
            kept += lines[begin:end]
            n = [n[0] + 1, n[1] + end - begin - 1]
    head = " ".join(map(str, n + lines[first + 1].split()[2:]))
    return "\n".join(lines[:first + 1] + [head] + kept + lines[last:])


def renumbered(text, more):
    """With other tags of nodes."""
    lines = text.split("\n")
    at = lines.index("$Nodes") + 2
    while lines[at] != "$EndNodes":
        n = int(lines[at].split()[3])
        for i in range(at + 1, at + 1 + n):
            lines[i] = str(int(lines[i]) + more)
        at += 1 + 2 * n
    for _, begin, end in element_blocks(lines):
        for i in range(begin + 1, end):
            words = lines[i].split()
            lines[i] = " ".join(words[:1] + [str(int(word) + more) for word in words[1:]])
    return "\n".join(lines)


if __name__ == "__main__":
    unittest.main()
