"""Drives the program from outside: what its commands compute, the names in its JSON, its exit status on every kind of
failure, and what is left on the disk afterwards. FACET_PROGRAM says where it is."""

import contextlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.environ["FACET_PROGRAM"]
SOURCE = os.environ.get("FACET_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BOX = "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [4, 4]}}\nequation: diffusion\n"
EXACT = BOX + "exact: sin(pi*x)*sin(pi*y)\n"
SANITIZED = "-fsanitize" in os.environ.get("CFLAGS", "")
ERROR_NAMES = {"u": {"L2", "Linf"}, "q": {"L2"}, "u_star": {"L2"}, "q_star": {"L2"}, "trace": {"L2"}}


class Program(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def path(self, name):
        return os.path.join(self.place.name, name)

    def write(self, text, name="case.yaml"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def run_program(self, *arguments, status=0, **options):
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, cwd=self.place.name, timeout=120,
                              **options)
        self.assertEqual(done.returncode, status, f"facet {' '.join(arguments)}\n{done.stdout}\n{done.stderr}")
        for line in done.stderr.splitlines() if status not in (0, 1) else []:
            self.assertTrue(line.startswith("facet: "), line)
        return done

    def solve(self, text, *arguments, status=0):
        """The JSON of a solve."""
        self.run_program("solve", self.write(text), "--json", "out.json", *arguments, status=status)
        return json.loads(self.read("out.json"))

    def refused(self, text, *words, arguments=(), status=2, command="solve"):
        """A case is refused with a message that contains the words."""
        done = self.run_program(command, self.write(text), *arguments, status=status)
        for word in words:
            self.assertIn(word, done.stderr)
        return done


class Solve(Program):
    def test_names_of_the_json(self):
        out = self.solve(EXACT + "values: [{name: middle, field: u_star, at: [0.5, 0.5]}]\noutput: {file: a.vtu}\n")
        self.assertEqual(set(out), {"facet", "commit", "case", "device", "threads", "dimension", "method", "equation",
                                    "degree", "mesh", "unknowns", "solver", "errors", "values", "seconds", "memory_bytes", "memory",
                                    "balance",
                                    "files"})
        self.assertEqual(out["mesh"], {"cells": 32, "faces": 56, "shape": "triangle"})
        self.assertEqual(out["unknowns"], {"trace": 40 * 4, "volume": 32 * 10 * 3})
        self.assertEqual(set(out["solver"]), {"method", "preconditioner", "iterations", "converged", "reason", "error",
                                              "residual", "rate"})
        self.assertTrue(out["solver"]["converged"])
        self.assertLess(out["solver"]["residual"], 1e-10)
        self.assertEqual({name: set(norms) for name, norms in out["errors"].items()}, ERROR_NAMES)
        self.assertLess(out["errors"]["u_star"]["L2"], out["errors"]["u"]["L2"])
        self.assertAlmostEqual(out["values"]["middle"], 1.0, delta=1e-3)
        self.assertEqual(set(out["seconds"]), {"mesh", "condense", "assemble", "setup", "load", "solve", "recover",
                                               "postprocess", "measure", "output", "total"})
        self.assertGreater(out["memory_bytes"], 1e6)
        self.assertEqual(max(out["memory"].values()), out["memory"]["measure"])  # until the end of each phase
        self.assertLessEqual(out["memory"]["measure"], out["memory_bytes"])
        self.assertEqual((out["dimension"], out["method"], out["equation"], out["degree"], out["device"]),
                         (2, "hdg", "diffusion", 3, "cpu"))
        with open(self.path("a.vtu"), "rb") as file:
            self.assertIn(b"<VTKFile", file.read(200))

    def test_keys_that_do_not_apply_are_left_out(self):
        out = self.solve(BOX + "source: 1\nboundary: [{on: rest, dirichlet: 0}]\ndiscretization: {postprocess: false}\n")
        for key in ("errors", "values"):
            self.assertNotIn(key, out)
        self.assertNotIn("postprocess", out["seconds"])
        self.assertNotIn("output", out["seconds"])
        out = self.solve(EXACT + "discretization: {postprocess: false}\n")
        self.assertEqual(set(out["errors"]), {"u", "q", "trace"})

    def test_what_the_json_says_of_the_request(self):
        case = BOX + """title: A "title" with ä
parameters: {a: 2, b: 0.5}
exact: a*x + b*y
boundary: [{on: xmin, dirichlet: 17}]
values: [{name: l, field: u, along: [[0, 0], [1, 1]], points: 3, file: l.csv}, {name: m, field: u, take: mean}]
output: {file: a.vtu}
"""
        out = self.solve(case, "--set", "parameters.b=3", "--set", "discretization.degree=1", "--set",
                         "discretization.degree=2", "--set", "solver.method=cg", "--output", "other.vtu")
        self.assertEqual(out["title"], 'A "title" with ä')
        self.assertEqual(out["parameters"], {"a": 2, "b": 3})
        self.assertEqual(out["overrides"], {"parameters.b": 3, "discretization.degree": 2, "solver.method": "cg"})
        self.assertTrue(0 <= out["balance"] < 1e-10)
        self.assertEqual(out["files"], ["other.vtu", "l.csv"])
        self.assertEqual(len(out["notes"]), 3)
        self.assertIn("'xmin' and 'rest' differ by 17 at (0, 0)", out["notes"][0])
        self.assertIn("'xmin' are not those of the exact solution (they differ by 17)", out["notes"][1])
        self.assertIn("'l': between cells", out["notes"][2])  # the data jump at (0, 0), and so do the cells there
        self.assertEqual(list(out)[-6:], ["title", "parameters", "overrides", "balance", "notes", "files"])
        quads = BOX.replace("]}}", "], shape: quad}}") + "exact: sin(x)*y\nreaction: 1 + x\n"
        notes = self.solve(quads)["notes"]
        self.assertEqual(len(notes), 1)
        self.assertTrue(notes[0].startswith("operator mapped: tensor needs"), notes)
        for key in ("title", "parameters", "overrides", "files"):
            self.assertNotIn(key, self.solve(quads))
        hidden = EXACT + "parameters: {t: 2}\nreaction: t\n"
        self.assertEqual(self.solve(hidden)["notes"], ["t in expressions is the parameter of the case, not the time"])
        self.assertIn("note      t in expressions", self.run_program("check", self.write(hidden)).stdout)
        self.run_program("converge", self.write(case), "--json", "rows.json", "--refine", "0:1")
        for row in json.loads(self.read("rows.json"))["rows"]:
            self.assertEqual(row["parameters"], {"a": 2, "b": 0.5})
            self.assertTrue({"title", "balance", "notes"} < set(row) and not {"files", "overrides"} & set(row))

    def test_phases_add_up(self):
        cube = "mesh: {box: {lower: [0, 0, 0], upper: [1, 1, 1], cells: [%d, %d, %d], shape: hex}}\n"
        smooth = "equation: diffusion\nexact: sin(x)*cos(y)*exp(z)\n"
        values = "values: [{name: most, field: u, take: max}, {name: at, field: u, at: [0.4, 0.3, 0.2]}]\n"
        cases = {
            "triangles": EXACT.replace("4, 4", "24, 24") + "boundary: [{on: xmin, neumann: exact}]\n"
                         "discretization: {degree: 4}\nvalues: [{name: mean, field: u, take: mean}]\n"
                         "output: {file: a.vtu}\n",
            "box": cube % (8, 8, 8) + smooth + "discretization: {degree: 7}\n" + values,
            "continuous": cube % (8, 8, 8) + smooth + "discretization: {method: continuous, degree: 6}\n" + values,
            "elasticity": cube % (4, 4, 4) + "equation: elasticity\nmaterial: {E: 1, nu: 0.3}\nsource: [0, 0, -1]\n"
                          "boundary: [{on: zmin, displacement: [0, 0, 0]}, {on: rest, traction: [0, 0, 0]}]\n"
                          "discretization: {degree: 2}\n" + values,
        }
        for name, text in cases.items():
            with self.subTest(name):
                seconds = self.solve(text)["seconds"]
                self.assertGreater(seconds["load"], 0)
                self.assertGreater(seconds["measure"], 0)
                total = seconds.pop("total")
                self.assertAlmostEqual(sum(seconds.values()), total, delta=0.02 * total + 0.005)

    def test_settings(self):
        out = self.solve(BOX + "source: 1\nboundary: [{on: rest, dirichlet: 0}]\n", "--set", "discretization.degree=5",
                         "--set", "mesh.box.cells=[2, 3]", "--set=mesh.box.shape=quad", "--set", "boundary.0.dirichlet=7",
                         "--set", "source=0", "--set", "values=[{name: m, field: u, take: mean}]", "--threads", "1",
                         "--device", "ref")
        self.assertEqual((out["degree"], out["mesh"]["cells"], out["mesh"]["shape"]), (5, 6, "quad"))
        self.assertEqual((out["threads"], out["device"]), (1, "ref"))
        self.assertAlmostEqual(out["values"]["m"], 7, delta=1e-10)

    def test_devices_and_methods_agree(self):
        case = EXACT + "conductivity: 1 + x\nsolver: {rtol: 1e-12}\n"
        errors = [self.solve(case, *arguments)["errors"]["u"]["L2"]
                  for arguments in ([], ["--device", "ref"], ["--set", "solver.method=cg"],
                                    ["--set", "solver.method=cg", "--set", "solver.preconditioner=jacobi"])]
        for error in errors[1:]:
            self.assertAlmostEqual(error / errors[0], 1, delta=1e-6)

    def test_values(self):
        """u = x + 2y is in the space: every value is known."""
        out = self.solve(BOX + """exact: x + 2*y
values:
  - {name: point, field: u, at: [0.3, 0.2]}
  - {name: vector, field: q, at: [0.3, 0.2]}
  - {name: one, field: q_star, component: y, at: [1, 1]}
  - {name: most, field: u, take: max}
  - {name: least, field: u_star, take: min}
  - {name: longest, field: q, take: max}
  - {name: total, field: u, take: integral}
  - {name: flow, field: q, take: integral}
  - {name: average, field: q, component: x, take: mean}
  - {name: out, field: flux, take: integral, on: xmax}
  - {name: side, field: u, take: mean, on: xmax}
  - {name: line, field: u, along: [[0, 0], [1, 1]], points: 5, file: line.csv}
  - {name: arrows, field: q, along: [[0, 0.5], [1, 0.5]], points: 3, file: arrows.csv}
""")["values"]
        for name, expected in {"point": 0.7, "one": -2, "most": 3, "least": 0, "longest": math.sqrt(5), "total": 1.5,
                               "average": -1, "out": -1, "side": 2}.items():
            self.assertAlmostEqual(out[name], expected, delta=1e-10, msg=name)
        for name, expected in {"vector": [-1, -2], "flow": [-1, -2], "line": [0, 0.75, 1.5, 2.25, 3]}.items():
            self.assertEqual(len(out[name]), len(expected))
            for a, b in zip(out[name], expected):
                self.assertAlmostEqual(a, b, delta=1e-10, msg=name)
        self.assertEqual([len(pair) for pair in out["arrows"]], [2, 2, 2])
        rows = [line.split(",") for line in self.read("line.csv").splitlines()]
        self.assertEqual(rows[0], ["distance", "x", "y", "u"])
        self.assertEqual(len(rows), 6)
        for row in rows[1:]:
            distance, x, y, u = map(float, row)
            self.assertAlmostEqual(distance, math.hypot(x, y), delta=1e-14)
            self.assertAlmostEqual(u, x + 2 * y, delta=1e-10)
        self.assertEqual(self.read("arrows.csv").splitlines()[0], "distance,x,y,q_x,q_y")

    def test_data_defined_up_to_a_side(self):
        """Points of the sides lie on them exactly, so that roots can be taken there."""
        for exact in ("x^1.5 + y", "sqrt(x + 1e-3)*y", "(1 - x)^2.5", "(1 - y)^2.5"):
            for shape in ("triangle", "quad"):
                self.solve(BOX + f"exact: {exact}\n", "--set", f"mesh.box.shape={shape}")
        self.solve(BOX + "source: 1\nboundary: [{on: xmin, dirichlet: sqrt(x)}, {on: xmax, dirichlet: sqrt(1 - x)}, "
                         "{on: rest, dirichlet: sqrt(y*(1 - y))}]\n")

    def test_json_alone_on_stdout(self):
        done = self.run_program("solve", self.write(EXACT), "--json", "-")
        self.assertIn("errors", json.loads(done.stdout))
        self.assertIn("trace unknowns", done.stderr)
        done = self.run_program("solve", self.write(EXACT), "--json=-", "--quiet")
        self.assertIn("errors", json.loads(done.stdout))
        self.assertEqual(done.stderr, "")

    def test_report_monitor_and_quiet(self):
        case = self.write("title: A title\n" + EXACT)
        said = self.run_program("solve", case, "--output", "o.vtu").stdout
        for word in ("A title", "32 cells", "160 trace unknowns", "tolerance was reached", "u_star", "condense",
                     "algebraic error", "memory", "facet view o.vtu"):
            self.assertIn(word, said)
        self.assertNotIn("per second", said)
        self.assertNotIn("\r", said)
        self.assertEqual(self.run_program("solve", case, "--quiet").stdout, "")
        said = self.run_program("solve", case, "--monitor", "--set", "solver={method: cg, preconditioner: block}").stdout
        lines = [line.split() for line in said.splitlines() if line.strip().startswith("iteration ")]
        self.assertGreater(len(lines), 10)
        self.assertLess(float(lines[-1][3]), 1e-10)
        self.assertIn("per second", said)
        self.assertIn(", rate 0.", said)

    def test_mesh_file_is_relative_to_the_case(self):
        os.mkdir(self.path("below"))
        with open(os.path.join(SOURCE, "tests/cases/good/two.msh"), encoding="utf-8") as file:
            self.write(file.read(), "below/two.msh")
        self.write("mesh: {file: two.msh}\nequation: diffusion\nexact: x\n"
                   "conductivity: [{on: left, value: 1}, {on: right, value: 1}]\noutput: {file: here.vtu}\n", "below/case.yaml")
        self.run_program("solve", "below/case.yaml")
        self.assertTrue(os.path.exists(self.path("here.vtu")))

    def test_not_converged(self):
        case = EXACT + "output: {file: old.vtu}\nvalues: [{name: m, field: u, take: max}]\n"
        self.write("precious", "old.vtu")
        once = "solver={method: cg, preconditioner: block, max_iterations: 1}"
        out = self.solve(case, "--set", once, status=1)
        said = self.run_program("solve", "case.yaml", "--set", once, status=1).stderr
        self.assertIn("'old.vtu' is old: this run did not write it", said)
        self.assertNotIn("is old", self.run_program("solve", "case.yaml", "--output", "new.vtu", "--set", once, status=1).stderr)
        self.assertFalse(out["solver"]["converged"])
        self.assertEqual(out["solver"]["iterations"], 1)
        self.assertTrue(out["solver"]["reason"])
        self.assertNotIn("errors", out)
        self.assertNotIn("values", out)
        self.assertEqual(self.read("old.vtu"), "precious")


class Data(Program):
    def test_check_evaluates_the_data(self):
        for setting, phrase in (("conductivity=x-0.5", "must be positive"), ("reaction=x-0.5", "must not be negative")):
            done = self.run_program("check", self.write(EXACT), "--set", setting, status=2)
            self.assertIn(phrase, done.stderr)

    def test_jumps_of_the_coefficient(self):
        """Rounding keeps the residual of a factored solve above the tolerance; the flux is right all the same."""
        case = self.write("""
mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [4, 3], shape: quad}}
equation: diffusion
conductivity: "if(x < 0.5, 1, 1e6)"
boundary: [{on: xmin, dirichlet: 0}, {on: xmax, robin: {a: 2, g: 3}}, {on: rest, neumann: 0}]
values: [{name: out, field: flux, take: integral, on: xmax}]
""")
        self.run_program("solve", case, "--json", "out.json")
        self.assertAlmostEqual(json.loads(self.read("out.json"))["values"]["out"], -1.5 / (1 + 0.5e-6), delta=1e-7)

    def test_data_against_the_exact_solution(self):
        case = self.write(EXACT)
        self.assertNotIn("not those of the exact", self.run_program("solve", case).stdout)
        setting = ("--set", "boundary=[{on: xmin, dirichlet: 17}]")
        for command in (("solve", case), ("check", case), ("converge", case, "--refine", "0:0")):
            self.assertIn("'xmin' are not those of the exact", self.run_program(*command, *setting).stdout)
        for agreeing in ("{on: xmin, dirichlet: exact}", "{on: rest, dirichlet: 0}", "{on: xmax, dirichlet: 0}",
                         "{on: ymin, neumann: -pi*sin(pi*x)}", "{on: xmax, robin: {a: 3, g: -pi*sin(pi*y)}}"):
            for command in (("solve", case), ("check", case), ("converge", case, "--refine", "0:0")):
                said = self.run_program(*command, "--set", f"boundary=[{agreeing}]").stdout
                self.assertNotIn("not those of the exact", said, agreeing)

    def test_rounding_is_no_contradiction(self):
        """Data that vanish where the exact solution is 1e-16 for rounding: values, fluxes and tractions."""
        box = "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [1, 1], shape: quad}}\nequation: "
        elastic = box + "elasticity\nmaterial: {E: 1e9, nu: 0.3}\n"
        shear = elastic + "exact: [cos(pi*y)*1e3, 0]\n"
        cases = {
            "value": box + "diffusion\nexact: 1e5*sin(pi*x)\nboundary: [{on: xmax, dirichlet: 0}]\n",
            "flux": box + "diffusion\nexact: cos(pi*x)\nboundary: [{on: xmax, neumann: 0}, {on: ymin, neumann: 0}]\n",
            "robin": box + "diffusion\nexact: 2 + cos(pi*x)\nboundary: [{on: xmax, robin: {a: 1e3, g: 1e3}}]\n",
            "displacement": elastic + "exact: [sin(pi*x), sin(pi*x)*y]\nboundary: [{on: xmax, displacement: [0, 0]}]\n",
            "traction": shear + "boundary: [{on: ymax, displacement: [-1e3, null], traction: [null, 0]}]\n",
            "roller": shear + "boundary: [{on: ymax, displacement: [null, 0], traction: [0, null]}]\n",
        }
        for name, text in cases.items():
            with self.subTest(name):
                case = self.write(text)
                self.assertNotIn("not those of the exact", self.run_program("check", case).stdout)
        self.assertIn("differ by 1e-08", self.run_program("check", case, "--set", "boundary.0.displacement=[null, 1e-8]",
                                                          "--set", "exact=[cos(pi*y), 0]").stdout)


class Converge(Program):
    def test_rates(self):
        case = self.write(EXACT + "output: {file: never.vtu}\n")
        self.run_program("converge", case, "--refine", "1:3", "--degree", "1:2", "--json", "rows.json")
        self.assertFalse(os.path.exists(self.path("never.vtu")))
        rows = json.loads(self.read("rows.json"))["rows"]
        self.assertEqual([(row["degree"], row["mesh"]["cells"]) for row in rows],
                         [(p, 32 * 4**r) for p in (1, 2) for r in (1, 2, 3)])
        self.assertEqual(["rates" in row for row in rows], [False, True, True] * 2)
        for row in rows[2::3]:
            self.assertEqual({name: set(norms) for name, norms in row["rates"].items()}, ERROR_NAMES)
            order = row["degree"] + 1
            for name, expected in {"u": order, "q": order, "u_star": order + 1}.items():
                self.assertAlmostEqual(row["rates"][name]["L2"], expected, delta=0.2)
        self.assertAlmostEqual(rows[1]["rates"]["u"]["L2"],
                               math.log2(rows[0]["errors"]["u"]["L2"] / rows[1]["errors"]["u"]["L2"]), delta=1e-12)

    def test_table(self):
        case = self.write(EXACT)
        table = self.run_program("converge", case, "--refine", "0:1").stdout
        self.assertIn("u* L2", table)
        table = self.run_program("converge", case, "--refine=0:1", "--markdown").stdout.splitlines()
        self.assertTrue(all(line.startswith("|") for line in table))
        self.assertEqual(len(table), 4)

    def test_refusals(self):
        self.refused(BOX + "boundary: [{on: rest, dirichlet: 0}]\n", "exact", command="converge")
        self.refused(EXACT, "--degree", arguments=("--degree", "0:3"), command="converge")
        self.refused(EXACT, "--refine", arguments=("--refine", "3:1"), command="converge")
        self.refused(EXACT, "--refine", arguments=("--refine", "x"), command="converge")

    def test_not_converged(self):
        self.run_program("converge", self.write(EXACT), "--set",
                         "solver={method: cg, preconditioner: block, max_iterations: 1}", "--json", "rows.json", status=1)
        rows = json.loads(self.read("rows.json"))["rows"]
        self.assertEqual(len(rows), 1)
        self.assertNotIn("errors", rows[0])


class Refusals(Program):
    def test_bad_cases(self):
        given = BOX + "boundary: [{on: rest, dirichlet: 0}]\n"
        self.refused(given + "discretisation: {degree: 2}\n", "case.yaml:4:1", "discretization")
        self.refused("mesh: {file: none.msh}\nequation: diffusion\nexact: x\n", "none.msh", "case.yaml:1:")
        self.refused(given + "source: .nan\n", "case.yaml:4:9")
        self.refused(given + "conductivity: -1\n", "case.yaml:4:", "conductivity")
        self.refused(given + "conductivity: 0.5 - x\n", "conductivity", "x=")
        self.refused(given + "conductivity: [[1, 2], [2, 1]]\n", "positive definite")
        self.refused(given + "reaction: -1\n", "reaction")
        self.refused(given + "reaction: x - 0.5\n", "reaction", "x=")
        self.refused(given + "discretization: {tau: 0}\n", "tau")
        self.refused(given + "discretization: {tau: 0.5 - x}\n", "tau", "x=")
        self.refused(given + "discretization: {tau: {hat: -1}}\n", "tau")
        for degree in (0, 33, "two"):
            self.refused(given + f"discretization: {{degree: {degree}}}\n", "case.yaml:4:", "degree", "32")
        self.refused(given + "discretization: {degree: 17}\n", "case.yaml:4:", "degree", "16", "tensor")
        self.refused(given + "source: 1/(x - x)\n", "division by zero")
        self.refused(given + "source: log(x - 0.5)\n", "logarithm")
        self.refused(BOX + "boundary: [{on: xmin, dirichlet: 0}, {on: xmin, neumann: 0}, {on: rest, neumann: 0}]\n",
                     "xmin", "case.yaml:3:")
        self.refused(BOX + "boundary: [{on: inlet, dirichlet: 0}, {on: rest, neumann: 0}]\n", "inlet", "xmax")
        self.refused(BOX + "boundary: [{on: xmin, dirichlet: 0}]\n", "xmax")
        self.refused(given + "values: [{name: far, field: u, at: [2, 2]}]\n", "outside", "case.yaml:4:")
        self.refused(given + "solver: {method: cq}\n", "did you mean")

    def test_all_errors_at_once(self):
        text = BOX + "boundary: [{on: rest, dirichlet: 0}]\nreaction: -1\nsource: foo\nsolvr: {}\n"
        for command in ("solve", "check"):
            said = self.refused(text, "case.yaml:4:", "case.yaml:5:", "case.yaml:6:", command=command).stderr
            self.assertEqual(len(said.splitlines()), 3)

    def test_names_of_a_mesh_file(self):
        """What a file's groups do not have is found when the mesh is there, all at once and with its place."""
        with open(os.path.join(SOURCE, "tests/cases/good/two.msh"), encoding="utf-8") as file:
            self.write(file.read(), "two.msh")
        head = "mesh: {file: two.msh}\nequation: diffusion\n"
        said = self.refused(head + """conductivity: [{on: left, value: 1}, {on: rihgt, value: 2}]
boundary:
  - {on: wals, dirichlet: 0}
values:
  - {name: a, field: flux, take: integral, on: nowhere}
  - {name: b, field: u, at: [9, 9]}
""", "rihgt", "wals", "nowhere", "outside", "case.yaml:3:43: conductivity", "did you mean 'right'?", "case.yaml:5:10",
                            "did you mean 'walls'?", "case.yaml:7:48", "case.yaml:8:5", "left, right").stderr
        self.assertEqual(len(said.splitlines()), 4)
        given = head + "boundary: [{on: walls, dirichlet: 0}]\n"
        self.refused(given, "--set boundary.0.on: there is no boundary part 'rset'", "did you mean 'rest'?",
                     arguments=("--set", "boundary.0.on=rset"))
        self.refused(given, "--set values: value 'a': there is no 'lfet'", "did you mean 'left'?",
                     arguments=("--set", "values=[{name: a, field: u, take: mean, on: lfet}]"))
        self.refused(given + "values: [{name: a, field: flux, take: mean, on: left}]\n", "case.yaml:4:",
                     "'left' is a group of cells, but flux needs a boundary part: walls")
        for entry, words in (("{on: left, value: 1}", ("case.yaml:4:15: conductivity: ", "the group 'right'")),
                             ("{on: left, value: x - 0.5}, {on: right, value: 1}", ("conductivity",))):
            self.refused(given + f"conductivity: [{entry}]\n", *words)
        self.refused(head + "boundary: [{on: walls, dirichlet: 0}, {on: inner, dirichlet: 1}]\n", "case.yaml:3:",
                     "inner")
        self.refused(head + "boundary: [{on: left, dirichlet: 0}]\n", "group of cells")
        self.refused(head + "conductivity: [{on: left, value: 1}]\nboundary: [{on: walls, dirichlet: 0}]\n", "conductivity")
        self.refused(head + "source: 1\n", "no condition", "walls", command="check")

    def test_coordinates_the_mesh_does_not_have(self):
        given = BOX + "boundary: [{on: rest, dirichlet: 0}]\n"
        self.refused(BOX + "exact: x + z\n", "case.yaml:3:8", "z")
        self.refused(given + "source: 1\nreaction: z^2\ndiscretization: {tau: 1 + z^2}\n", "case.yaml:5:", "case.yaml:6:")
        self.refused(BOX + "boundary: [{on: rest, robin: {a: 1, g: z}}]\n", "case.yaml:3:", "z")
        with open(os.path.join(SOURCE, "tests/cases/good/two.msh"), encoding="utf-8") as file:
            self.write(file.read(), "two.msh")
        self.refused("mesh: {file: two.msh}\nequation: diffusion\nexact: x*z\n", "case.yaml:3:", "'x*z' uses z")

    def test_meshes_too_large(self):
        """Refused at once, with the number of cells, and before anything is computed."""
        self.refused(EXACT, "case.yaml:1:", "32 x 4^16", "11 times", arguments=("--set", "mesh.refine=16"))
        self.refused(EXACT, "2:14", "8.59e+09", arguments=("--refine", "2:14"), command="converge")
        self.refused(EXACT, "case.yaml:1:", "2e+10", arguments=("--set", "mesh.box.cells=[100000, 100000]"))

    def test_bad_mesh(self):
        for bytes_kept in (100, 300):
            with open(os.path.join(SOURCE, "tests/cases/good/two.msh"), encoding="utf-8") as file:
                self.write(file.read()[:bytes_kept], "cut.msh")
            self.refused("mesh: {file: cut.msh}\nequation: diffusion\nexact: x\n", "cut.msh")

    def test_files_that_are_no_mesh(self):
        """Known for what they are, as the mesh of a case and in place of the case, with what to do."""
        case = "mesh: {file: %s}\nequation: diffusion\nexact: x\n"
        for name, text, words in (("part.step", "ISO-10303-21;\nHEADER;\n", ("STEP geometry", "gmsh -3 part.step -o part.msh")),
                                  ("part.stl", "solid part\n", ("STL surface", "Surface Loop(1)")),
                                  ("part.vtk", "# vtk DataFile Version 2.0\n", ("VTK mesh", "gmsh part.vtk -save -o part.msh")),
                                  ("part.inp", "*NODE\n1, 0, 0\n", ("Abaqus mesh", "meshio convert part.inp part.msh")),
                                  ("part.geo", "Point(1) = {0, 0, 0};\n", ("Gmsh script", "gmsh -3 part.geo")),
                                  ("part.png", "\x89PNG", ("part.png",))):
            self.write(text, name)
            self.refused(case % name + "colour: red\n", "case.yaml:1:14: mesh.file", "unknown key", *words)
            for command in ("solve", "check", "converge"):
                said = self.run_program(command, name, status=2).stderr
                for word in words:
                    self.assertIn(word, said)
        self.write("", "empty.msh")
        self.refused(case % "empty.msh", "case.yaml:1:14", "is empty")
        self.assertIn("is empty", self.run_program("check", "empty.msh", status=2).stderr)
        shutil.copy(os.path.join(SOURCE, "tests/cases/good/two.msh"), self.path("two.msh"))
        shutil.copy(self.path("two.msh"), self.path("two"))
        self.assertIn("a Gmsh mesh, not a case file", self.run_program("solve", "two.msh", status=2).stderr)
        for name in ("two.msh", "two"):
            self.assertIn("good", self.run_program("check", name).stdout)
        self.solve(case % "two")

    def test_bad_command_lines(self):
        case = self.write(EXACT)
        for arguments, word in ((["sovle", case], "solve"), (["solve"], "CASE"), (["solve", case, "more"], "more"),
                                (["solve", case, "--jsno", "x"], "--json"), (["solve", case, "--threads", "0"], "threads"),
                                (["solve", case, "--json"], "--json"), (["solve", case, "--quiet=1"], "--quiet"),
                                (["solve", case, "--device", "abacus"], "abacus"), (["solve", "none.yaml"], "none.yaml"),
                                (["solve", case, "--set", "degree"], "degree"), (["solve", case, "--output", "a.png"], ".vtu"),
                                (["check", "none.msh"], "none.msh"), (["bench", "kign2014"], "king2014"), (["view"], "FILE"),
                                (["help", "me"], "me"), (["solve", case, "--refine", "1:2"], "--refine")):
            self.assertIn(word, self.run_program(*arguments, status=2).stderr)


class Machine(Program):
    def test_targets_that_cannot_be_written(self):
        """They are refused before the solve, and nothing is left behind."""
        case = self.write(EXACT)
        line = "values=[{name: l, field: u, along: [[0, 0], [1, 1]], file: none/l.csv}]"
        for arguments in (["--output", "none/a.vtu"], ["--json", "none/a.json"], ["--set", line], ["--output", "dir.vtu"]):
            os.makedirs(self.path("dir.vtu"), exist_ok=True)
            self.run_program("solve", case, *arguments, status=3)
        self.assertEqual(sorted(os.listdir(self.place.name)), ["case.yaml", "dir.vtu"])

    def test_targets_that_collide(self):
        """Two results in one file, or a result over the case or its mesh: refused before the solve, both are named."""
        line = "{name: %s, field: u, along: [[0, 0], [1, 1]], file: %s}"
        with open(os.path.join(SOURCE, "tests/cases/good/two.msh"), encoding="utf-8") as file:
            mesh = file.read()
        self.write(mesh, "two.msh")
        case = self.write(EXACT)
        os.mkdir(self.path("below"))
        os.symlink("nothing.vtu", self.path("link.vtu"))
        for arguments, words in ((["--output", "l.vtu", "--json", "l.vtu"], ["the output", "the JSON", "l.vtu"]),
                                 (["--output", "l.vtu", "--json", "below/../l.vtu"], ["the output", "the JSON"]),
                                 (["--output", "link.vtu", "--json", "nothing.vtu"], ["the output", "the JSON"]),
                                 (["--json", "case.yaml"], ["the JSON", "the case file"]),
                                 (["--set", f"values=[{line % ('a', 'x.csv')}, {line % ('b', './x.csv')}]"],
                                  ["value a", "value b", "x.csv"]),
                                 (["--set", f"values=[{line % ('a', 'case.yaml')}]"], ["value a", "the case file"]),
                                 (["--set", f"values=[{line % ('a', '-')}]", "--json", "-"], ["value a", "the JSON"])):
            said = self.run_program("solve", case, *arguments, status=2).stderr
            for word in words:
                self.assertIn(word, said)
        text = "mesh: {file: two.msh}\nequation: diffusion\nexact: x\n"
        self.refused(text + f"values:\n  - {line % ('a', 'two.msh')}\n", "case.yaml:5:", "value a", "the mesh file")
        self.refused(text, "the JSON", "the mesh file", arguments=("--json", "two.msh"), command="converge")
        self.assertEqual(self.read("two.msh"), mesh)
        self.assertEqual(sorted(os.listdir(self.place.name)), ["below", "case.yaml", "link.vtu", "two.msh"])
        self.run_program("solve", self.write(EXACT), "--output", "/dev/null", "--json", "/dev/null")

    def test_disk_full(self):
        case = self.write(EXACT)
        self.assertIn("/dev/full", self.run_program("solve", case, "--output", "/dev/full", status=3).stderr)
        self.assertIn("/dev/full", self.run_program("solve", case, "--json", "/dev/full", status=3).stderr)
        os.symlink("/dev/full", self.path("full.vtu"))
        self.run_program("solve", case, "--output", "full.vtu", status=3)
        with open("/dev/full", "w", encoding="utf-8") as full:
            for arguments in (["solve", case], ["info"], ["help", "input"], ["bench"], ["check", case]):
                done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, cwd=self.place.name)
                self.assertEqual(done.returncode, 3, arguments)

    def test_no_permission(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        case = self.write(EXACT)
        self.write("old", "a.vtu")
        os.chmod(self.path("a.vtu"), 0o444)
        self.run_program("solve", case, "--output", "a.vtu", status=3)
        self.assertEqual(self.read("a.vtu"), "old")

    @unittest.skipIf(SANITIZED, "the sanitizers need more address space than the limit leaves")
    def test_no_memory(self):
        """Boxes of every kind and mapped cells are refused before they are tried, with numbers."""
        case = self.write(EXACT + "output: {file: a.vtu}\n")
        for method, operator, degree in (("hdg", "tensor", 20), ("continuous", "tensor", 15), ("hdg", "mapped", 6)):
            done = subprocess.run(["bash", "-c", 'ulimit -v 400000; exec "$0" "$@"', PROGRAM, "solve", case, "--threads",
                                   "1", "--set", "mesh.box.cells=[400, 400]", "--set", "mesh.box.shape=quad", "--set",
                                   f"discretization.degree={degree}", "--set", f"discretization.method={method}", "--set",
                                   f"discretization.operator={operator}"],
                                  capture_output=True, text=True, cwd=self.place.name, timeout=100,
                                  env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertRegex(done.stderr, r"facet: .* would take about .* GiB \(\d+ bytes\) of memory, and .* would fit")
            self.assertFalse(os.path.exists(self.path("a.vtu")))

    @unittest.skipIf(SANITIZED, "the sanitizers need more address space than the limits leave")
    def test_little_address_space(self):
        """Whatever `ulimit -v` leaves, a run ends soon: solved, or refused."""
        case = self.write(EXACT)
        ends = set()
        for kilobytes in (150000, 400000, 700000, 2000000):
            for threads in (1, 2):
                done = subprocess.run(["bash", "-c", f'ulimit -v {kilobytes}; exec "$0" "$@"', PROGRAM, "solve", case,
                                       "--threads", str(threads)], capture_output=True, text=True, timeout=100,
                                      cwd=self.place.name)
                self.assertIn(done.returncode, (0, 3), f"{kilobytes} kB, {threads} threads: {done.stderr}")
                self.assertEqual("ulimit -v" in done.stderr, done.returncode == 3, done.stderr)
                ends.add(done.returncode)
        self.assertEqual(ends, {0, 3})

    @unittest.skipIf(SANITIZED, "the sanitizers have threads of their own")
    def test_one_thread(self):
        """--threads 1 is one thread, in a factor and in an iteration."""
        case = self.write(EXACT)
        for method in ("direct", "cg"):
            run = subprocess.Popen([PROGRAM, "solve", case, "--threads", "1", "--set", "mesh.box.cells=[60, 60]", "--set",
                                    f"solver.method={method}"], stdout=subprocess.DEVNULL, cwd=self.place.name)
            counts = []
            while run.poll() is None:
                with contextlib.suppress(OSError), open(f"/proc/{run.pid}/status") as status:
                    counts += [int(line.split()[1]) for line in status if line.startswith("Threads:")]
                time.sleep(0.001)
            self.assertEqual(run.returncode, 0)
            # the BLAS has started some before main
            self.assertEqual(counts[len(counts)//2:], [1]*(len(counts) - len(counts)//2), method)

    def test_threads_that_are_there(self):
        """A program without OpenMP has one thread, and says so."""
        case, several = self.write(EXACT), "built without OpenMP" not in self.run_program("info").stdout
        done = self.run_program("solve", case, "--threads", "3", "--json", "out.json")
        self.assertEqual(json.loads(self.read("out.json"))["threads"], 3 if several else 1)
        self.assertEqual("--threads 3: built without OpenMP, this program works with one thread" in done.stderr,
                         not several)

    def test_interrupt(self):
        """Ctrl-C in the middle of an iteration that would take forever: 130, soon, and the old files are whole."""
        case = self.write(EXACT + "output: {file: old.vtu}\nsolver: {method: cg, preconditioner: none, rtol: 1e-15, "
                                  "max_iterations: 1000000000}\n")
        self.write("precious", "old.vtu")
        self.write("precious", "old.json")
        for sent, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with subprocess.Popen([PROGRAM, "solve", case, "--json", "old.json", "--set", "mesh.box.cells=[100, 100]",
                                   "--monitor"], cwd=self.place.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) as child:
                for line in child.stdout:
                    if "iteration" in line and int(line.split()[1]) > 20:
                        break
                child.send_signal(sent)
                begin = time.monotonic()
                _, said = child.communicate(timeout=60)
                self.assertEqual(child.returncode, status, said)
                self.assertLess(time.monotonic() - begin, 10)
            self.assertEqual(said, "facet: interrupted\nfacet: 'old.vtu' is old: this run did not write it\n")
            self.assertEqual(sorted(os.listdir(self.place.name)), ["case.yaml", "old.json", "old.vtu"])
            self.assertEqual((self.read("old.vtu"), self.read("old.json")), ("precious", "precious"))

    def test_terminate_while_writing(self):
        """The part is removed, and the old file is whole."""
        case = self.write(EXACT + "discretization: {degree: 6}\noutput: {file: old.vtu}\n")
        self.write("precious", "old.vtu")
        with subprocess.Popen([PROGRAM, "solve", case, "--set", "mesh.box.cells=[80, 80]", "--set",
                               "discretization.postprocess=false"], cwd=self.place.name, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as child:
            while child.poll() is None and len(os.listdir(self.place.name)) == 2:
                time.sleep(1e-4)
            child.send_signal(signal.SIGTERM)
            _, said = child.communicate(timeout=60)
        self.assertIn(child.returncode, (0, 143), said)  # 0: it was faster
        self.assertEqual(sorted(os.listdir(self.place.name)), ["case.yaml", "old.vtu"])
        if child.returncode == 143:
            self.assertEqual(self.read("old.vtu"), "precious")


class Others(Program):
    def test_parameters_that_nothing_uses(self):
        case = BOX + "parameters: {ho: 2, two: 2*ho, spare: 1}\nsource: two\nboundary: [{on: rest, dirichlet: 0}]\n"
        note = "parameter 'spare' is used by no expression"
        self.assertEqual(self.solve(case)["notes"], [note])
        for command in ("solve", "check"):
            self.assertIn(note, self.run_program(command, "case.yaml").stdout)
        used = self.solve(case.replace(", spare: 1", ""), "--set", "parameters.ho=3", "--set", "parameters.new=1",
                          "--set", "reaction=new")
        self.assertNotIn("notes", used)
        for text, name, words in ((case, "hO", "did you mean 'ho'?"), (case, "zzz", "its parameters are: ho, two, spare"),
                                  (EXACT, "k", "it has no parameters")):
            self.refused(text, f"--set parameters.{name}: the file has no parameter '{name}'", words,
                         arguments=("--set", f"parameters.{name}=5"))
        chain = """mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 2]}}
parameters: {a: 1, b: 1, c: 1}
cases:
  - {equation: diffusion, exact: a*x}
  - {equation: diffusion, exact: b*y}
"""
        first, second = self.solve(chain)["cases"]
        self.assertEqual(first["notes"], ["parameter 'c' is used by no expression"])
        self.assertNotIn("notes", second)

    def test_sides_that_are_meant(self):
        for dim, name, side in ((2, "left", "xmin"), (2, "top", "ymax"), (3, "top", "zmax"), (3, "front", "ymin")):
            text = f"""mesh: {{box: {{lower: {[0] * dim}, upper: {[1] * dim}, cells: {[2] * dim}}}}}
equation: diffusion
boundary: [{{on: {name}, dirichlet: 0}}, {{on: rest, neumann: 0}}]
values: [{{name: far, field: u, at: {[3] * dim}}}]
"""
            for command in ("solve", "check"):  # with what the mesh says
                self.refused(text, f'did you mean "{side}"?', "lies outside the mesh", command=command)

    def test_advice_for_solves_that_fail(self):
        plate = """mesh: {box: {lower: [0, 0, 0], upper: [0.1, 0.1, 0.02], cells: [4, 4, 1], shape: hex}}
equation: elasticity
material: {E: 210e9, nu: 0.3}
boundary:
  - {on: xmin, spring: 100}
  - {on: zmax, traction: [0, 0, -1e6]}
  - {on: zmin, traction: [0, 0, 1e6]}
  - {on: rest, traction: [0, 0, 0]}
"""
        said = self.refused(plate, "is not trusted", "make it stiffer", "leave it out", status=1).stderr
        self.assertNotIn("method: direct", said)
        bar = """mesh: {box: {lower: [0, 0], upper: [4, 1], cells: [16, 4], shape: triangle}}
equation: elasticity
material: {E: 1, nu: 0.3}
boundary: [{on: xmin, fixed: true}, {on: rest, traction: [0, -1]}]
discretization: {formulation: gradient}
solver: {max_iterations: 3}
"""
        self.refused(bar, "did not converge", "use discretization.formulation: symmetric", status=1)

    def test_check(self):
        said = self.run_program("check", self.write(BOX + "boundary: [{on: xmin, neumann: y}, {on: rest, dirichlet: 0}]\n")).stdout
        for word in ("32 triangle", "56 faces", "xmin", "neumann: y", "dirichlet: 0", "area 1", "4 faces, length 1, neumann", f"{44 * 4} on the trace"):
            self.assertIn(word, said)
        said = self.run_program("check", os.path.join(SOURCE, "tests/meshes/annulus_3_41.msh")).stdout
        for word in ("order 3", "3 curved", "inner", "ring"):
            self.assertIn(word, said)

    def test_check_tells_everything(self):
        """Names, points and fields beside what the schema refuses, each with its place, sorted; also of a chain."""
        shutil.copy(os.path.join(SOURCE, "tests/meshes/annulus_3_41.msh"), self.path("ring.msh"))
        case = """mesh: {file: ring.msh}
equation: diffusion
conductivity: [{on: steel, value: 1}, {on: copper, value: [[1, 2]]}]
sorce: 1
boundary:
  - {on: innre, dirichlet: 0}
  - {dirichlet: 1}
  - {on: rest, neumann: exact}
discretization: {degree: 2.5}
output: {file: a.vtu, fields: [u, stress]}
values:
  - {name: a, field: u, at: [20, 20]}
  - {name: b, field: q, take: integral, on: nowhere}
  - {name: c, field: u, at: far}
  - {field: u, at: [20, 20]}
"""
        places = [(3, 21), (3, 44), (3, 59), (4, 1), (6, 10), (7, 5), (8, 25), (9, 26), (10, 35), (12, 5), (13, 45), (14, 29), (15, 5)]
        done = self.run_program("check", self.write(case), status=2)
        found = [tuple(int(n) for n in place) for place in re.findall(r"case.yaml:(\d+):(\d+): ", done.stderr)]
        self.assertEqual(found, places, done.stderr)
        for words in ("no group of cells 'steel'", "did you mean \"source\"", "'innre'", "(20, 20) lies outside", "'nowhere'"):
            self.assertIn(words, done.stderr)
        # nothing but the mesh is right, and nothing is right
        self.assertIn("lies outside", self.run_program("check", self.write(
            "mesh: {file: ring.msh}\nvalues: [{name: a, field: u, at: [20, 20]}]\n"), status=2).stderr)
        self.assertIn("no file", self.run_program("check", self.write(case.replace("ring", "none")), status=2).stderr)
        chain = """mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 2]}}
cases:
  - {equation: diffusion, exact: x, values: [{name: a, field: u, at: [2, 0]}]}
  - {equation: diffusion, exact: y, values: [{name: b, field: u, at: [0, 2]}]}
"""
        said = self.run_program("check", self.write(chain), status=2).stderr
        self.assertIn("case.yaml:3:", said)
        self.assertIn("case.yaml:4:", said)

    def test_fields_by_default(self):
        """All that there is, with the numbers of cells, and of groups where the mesh has any."""
        shutil.copy(os.path.join(SOURCE, "tests/meshes/annulus_3_41.msh"), self.path("ring.msh"))
        for mesh, numbers in (("{box: {lower: [0, 0], upper: [1, 1], cells: [2, 2]}}", ["cell", "part"]),
                              ("{file: ring.msh}", ["cell", "region", "part"])):
            self.solve(f"mesh: {mesh}\nequation: diffusion\nexact: x\noutput: {{file: a.vtu}}\n")
            with open(self.path("a.vtu"), "rb") as file:
                names = re.findall(r'DataArray[^>]* Name="(\w+)"', file.read().decode("latin-1"))
            for name in ["u", "u_star", "q", "q_star", "error", *numbers]:
                self.assertIn(name, names)
            self.assertEqual("region" in names, "region" in numbers)

    def test_check_of_bodies(self):
        """Two squares of two triangles each, the second one shifted; of the first one side has a name."""
        def squares(x, y):
            corners = [(0, 0), (1, 0), (1, 1), (0, 1), (x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)]
            nodes = "".join(f"{i + 1} {a} {b} 0\n" for i, (a, b) in enumerate(corners))
            return ("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n1 1 \"left\"\n2 2 \"first\"\n"
                    f"$EndPhysicalNames\n$Nodes\n8\n{nodes}$EndNodes\n$Elements\n5\n1 1 2 1 1 4 1\n2 2 2 2 1 1 2 3\n"
                    "3 2 2 2 1 1 3 4\n4 2 2 0 2 5 6 7\n5 2 2 0 2 5 7 8\n$EndElements\n")

        case = "mesh: {file: two.msh}\nequation: diffusion\nboundary: [{on: left, dirichlet: 1}, {on: rest, %s: 0}]\n"
        self.write(squares(0.75, 0.5), "two.msh")
        self.assertIn("both occupy the space at", self.run_program("check", "two.msh", status=2).stderr)
        self.refused(case % "dirichlet", "both occupy the space at", command="check")
        said = self.run_program("check", self.write(case % "dirichlet"), "--set", "mesh.overlap=allow").stdout
        for words in ("pieces    2 that no face connects", "2 cells, one at (0.666667, 0.333333)",
                      "2 cells, one at (1.41667, 0.833333)", "overlap   allowed: cells ",
                      "of the area of all cells, 2,", "7 faces of no part", "2 cells of no region", "good"):
            self.assertIn(words, said)
        found = re.search(r"about (\S+) of the area .* the union has about (\S+)\n", said)
        self.assertAlmostEqual(float(found.group(1)), 0.125, delta=0.002)
        self.assertAlmostEqual(float(found.group(2)), 1.875, delta=0.002)
        self.assertRegex(said, r"rest +7 faces of no part, dirichlet: 0\n")
        self.write(squares(1.25, 0.5), "two.msh")
        said = self.run_program("check", "two.msh").stdout
        self.assertIn("pieces    2 that", said)
        self.assertNotIn("overlap", said)
        self.refused(case % "neumann", "2 unconnected pieces", command="check")
        for word in ("pieces", "overlap", "of no part"):
            self.assertNotIn(word, self.run_program("check", self.write(EXACT)).stdout)

    def test_commit(self):
        """The program says the same commit everywhere; test_commit.py compares with git."""
        version, commit = re.fullmatch(r"facet (\S+) \(commit (\S+)\)\n", self.run_program("--version").stdout).groups()
        self.assertIn(f"facet      {version} (commit {commit})\n", self.run_program("info").stdout)
        out = self.solve(EXACT)
        self.assertEqual((out["facet"], out["commit"]), (version, commit))
        self.run_program("converge", self.write(EXACT), "--refine", "0:1", "--json", "rows.json")
        self.assertEqual({row["commit"] for row in json.loads(self.read("rows.json"))["rows"]}, {commit})

    def test_help(self):
        for arguments in ([], ["--help"], ["help"], ["solve", "--help"], ["help", "solve"], ["--version"], ["info"],
                          ["bench"], ["converge", "-h"]):
            done = self.run_program(*arguments)
            self.assertIn("facet", done.stdout)
            self.assertEqual(done.stderr, "")
        self.assertIn("discretization.degree", self.run_program("solve", "--help").stdout)
        self.assertIn("'facet help input' explains all keys", self.run_program("help").stdout)
        said = self.run_program("help", "input").stdout
        for words in ("discretization.degree", "of one argument sin cos", "of two or more min max", "of three if"):
            self.assertIn(words, said)
        self.assertIn("king2014", self.run_program("bench").stdout)
        with open(os.path.join(SOURCE, "docs/input.md"), encoding="utf-8") as page:
            self.assertEqual(self.run_program("help", "--markdown").stdout, page.read(),
                             "docs/input.md is old; write it again with: facet help --markdown > docs/input.md")

    def test_bench(self):
        """Folders are made, and one that cannot be is refused before anything is computed."""
        self.write("", "file")
        begin = time.monotonic()
        for output in ("file/below", "file", "/proc/none"):
            self.assertIn(output.split("/")[0], self.run_program("bench", "king2014", "--output", output, status=3).stderr)
        self.assertLess(time.monotonic() - begin, 5)
        said = self.run_program("bench", "king2014", "--quick", "--tau", "2", "--output", "new/folder").stdout
        for text in (said, self.read("new/folder/king2014-table1.md")):
            self.assertIn("tau = 2 ", text)
            self.assertNotIn("tau = 1,", text)
        self.assertIn("facet bench king2014", self.read("new/folder/king2014-table1.md"))
        self.assertEqual(sorted({name.rsplit(".")[-1] for name in os.listdir(self.path("new/folder"))}), ["dat", "md"])

    def test_plot(self):
        """Pictures are drawn when they are asked for; what is no figure is refused with its line, no gnuplot is said."""
        figure = "# title: it's `touch bad`\n# x: n\n# y: error\n# log: xy\n# linespoints: p's\n1 1\n2 0.25\n\n\n# lines: h^2\n1 2\n"
        os.makedirs(self.path("figures"))
        self.write(figure, "figures/a.dat")
        for text, line in ((figure + "3 x\n", "line 12"), ("1 2\n", "line 1"), ("# title: none\n", "no series"),
                           (figure.replace("xy", "z"), "line 4"), (figure.replace("lines:", "lines; exit:"), "line 10")):
            self.write(text, "bad.dat")
            self.assertIn(line, self.run_program("bench", "--plot", "bad.dat", status=2).stderr)
        for arguments, word in ((["none.dat"], "none.dat"), ([], "bench/results"), (["figures", "--quick"], "--output"),
                                (["case.md"], ".dat"), (["empty"], "no .dat")):
            os.makedirs(self.path("empty"), exist_ok=True)
            self.write("", "case.md")
            self.assertIn(word, self.run_program("bench", "--plot", *arguments, status=2).stderr)
        self.assertIn("gnuplot", self.run_program("bench", "--plot", "figures", status=3, env={**os.environ, "PATH": "/none"}).stderr)
        self.assertIn("--plot", self.run_program("help", "bench").stdout)
        self.assertEqual(os.listdir(self.path("figures")), ["a.dat"])
        if not shutil.which("gnuplot"):
            self.skipTest("gnuplot is not installed")
        self.run_program("bench", "--plot", "figures")
        self.assertEqual(sorted(os.listdir(self.path("figures"))), ["a.dat", "a.png", "a.svg"])
        self.run_program("bench", "--plot", "figures/a.dat", "--output", "pictures")
        self.assertEqual(sorted(os.listdir(self.path("pictures"))), ["a.png", "a.svg"])
        self.assertIn("touch bad", self.read("pictures/a.svg"))
        self.assertFalse(os.path.exists(self.path("bad")))

    def test_view(self):
        self.run_program("solve", self.write(EXACT), "--output", "a.vtu")
        done = subprocess.run([PROGRAM, "view", "a.vtu", "--field", "u", "--output", "a.png"], capture_output=True, text=True,
                              cwd=self.place.name)
        if done.returncode == 3 and ("NumPy" in done.stderr or "beside the program" in done.stderr):
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(os.path.getsize(self.path("a.png")), 1000)
        done = subprocess.run([PROGRAM, "view", "a.vtu"], capture_output=True, text=True, cwd=self.place.name,
                              env={"PATH": "/nonexistent"})
        self.assertEqual(done.returncode, 3)
        self.assertIn("python3", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1 if len(sys.argv) == 1 else 2)
