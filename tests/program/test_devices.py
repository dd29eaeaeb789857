"""Solves every case of examples/ with the program on every device and compares the JSON: what describes the run is the
same, numbers agree to 1e-9 (relative; values, which may be zeros, in units of the largest of them, or of 1). On
`debug` memory of the device cannot be touched from outside its kernels, so a run that ends there has no missing
transfer. FACET_PROGRAM names the program, by default build/facet; FACET_SOURCE_DIR the checkout."""

import json
import os
import re
import subprocess
import tempfile
import unittest

SOURCE = os.environ.get("FACET_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROGRAM = os.environ.get("FACET_PROGRAM", os.path.join(SOURCE, "build", "facet"))
EXAMPLES = os.path.join(SOURCE, "examples")
CASES = sorted(name for name in os.listdir(EXAMPLES) if name.endswith(".yaml"))
OF_THE_RUN = {"device", "threads", "seconds", "memory_bytes", "memory", "bars"}  # may differ
JUDGED = re.compile("is zero: it is below|may be off by")  # a flux beside the rounding of this device
LEFT = "left to the host: "  # how a note of a device that is not the host begins
ROUNDING = {"residual", "rate", "error", "balance"}  # measures of rounding: no two devices agree on them
TOLERANCE = 1e-9
LONG = "FACET_LONG" in os.environ
# The iterations for this body take the plain kernels a quarter of a minute; smaller bodies of tets show the same.
TAKES_LONG = () if LONG else ("tripod.yaml",)
ROUNDING_OF_ERRORS = 1e-12


class Devices(unittest.TestCase):
    def solve(self, case, device, *arguments):
        with tempfile.TemporaryDirectory() as place:
            done = subprocess.run([PROGRAM, "solve", os.path.join(EXAMPLES, case), "--device", device, "--quiet",
                                   "--json", "-", *arguments], cwd=place, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"{case} on {device}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        result = json.loads(done.stdout)
        for one in result.get("cases", [result]):
            self.assertEqual(one["device"], device)
            self.assertTrue(one["solver"]["converged"])
        return result

    def solve_case(self, case, device):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
            json.dump(case, file)
        try:
            return self.solve(file.name, device)
        finally:
            os.remove(file.name)

    def assert_same(self, a, b, where, floor=0.0):
        """Walks through two results."""
        if isinstance(a, dict):
            self.assertEqual(a.keys(), b.keys(), where)
            for key in a.keys() - ROUNDING:
                scale = floor
                if key == "values":
                    scale = max([1.0, *(abs(x) for x in a[key].values() if isinstance(x, float))])
                self.assert_same(a[key], b[key], f"{where}.{key}", scale)
        elif isinstance(a, list):
            self.assertEqual(len(a), len(b), where)
            scale = max([abs(x) for x in a if isinstance(x, float)], default=0.0)
            for i, (x, y) in enumerate(zip(a, b)):
                self.assert_same(x, y, f"{where}[{i}]", max(floor, scale))
        elif isinstance(a, float) or isinstance(b, float):
            self.assertLessEqual(abs(a - b), TOLERANCE * max(abs(a), floor) + ROUNDING_OF_ERRORS, where)
        else:
            self.assertEqual(a, b, where)

    def compare(self, case, device, *arguments):
        expected = self.solve(case, "cpu", *arguments)
        found = self.solve(case, device, *arguments)
        for result in (expected, found):
            for one in result.get("cases", [result]):
                for key in OF_THE_RUN:
                    one.pop(key, None)
                if one["solver"]["method"] == "direct":  # how often it is repeated is a matter of rounding
                    one["solver"].pop("iterations")
                one["notes"] = [note for note in one.get("notes", []) if not note.startswith(LEFT) and not JUDGED.search(note)]
        self.assert_same(expected, found, f"{case} on {device}")
        for one in expected.get("cases", [expected]):
            self.assertTrue({"mesh", "unknowns", "solver"} <= one.keys())
            self.assertTrue("errors" in one or "values" in one, f"{case} says nothing to compare")

    def test_every_example_on_debug(self):
        """Which has the kernels of `ref`, behind the wall and with another number of lanes."""
        self.assertGreaterEqual(len(CASES), 8)
        for case in [case for case in CASES if case not in TAKES_LONG]:
            with self.subTest(case=case):
                self.compare(case, "debug")

    def test_what_is_left_to_the_host(self):
        """A device that is not the host says which cells it does not condense; the host says nothing."""
        wanted = {"transition.yaml": "28 of 60 cells", "shell.yaml": "load and recovery", "poisson.yaml": None}
        for case, words in wanted.items():
            with self.subTest(case=case):
                here, there = (self.solve(case, device).get("notes", []) for device in ("cpu", "debug"))
                self.assertFalse([note for note in here if note.startswith(LEFT)])
                found = [note for note in there if note.startswith(LEFT)]
                self.assertEqual(len(found), 0 if words is None else 1, found)
                self.assertTrue(words is None or words in found[0], found)

    def test_quads_one_by_one(self):
        """Orthotropic cells that are no parallelograms: their functions are of physical coordinates, and the host loads
        and recovers them one by one, on its side of the wall."""
        mesh = """$MeshFormat
2.2 0 8
$EndMeshFormat
$Nodes
6
1 0 0 0
2 1 0.1 0
3 2 0 0
4 0 1 0
5 1.2 0.8 0
6 2 1 0
$EndNodes
$Elements
2
1 3 2 1 1 1 2 5 4
2 3 2 1 1 2 3 6 5
$EndElements
"""
        with tempfile.TemporaryDirectory() as place:
            name = os.path.join(place, "quads.msh")
            with open(name, "w") as file:
                file.write(mesh)
            case = {"mesh": {"file": name}, "equation": "elasticity", "plane": "stress",
                    "material": {"orthotropic": {"E": [140, 10], "nu": 0.3, "G": 5, "first": [0.8, 0.6]}},
                    "source": ["1+x", "y"], "boundary": [{"on": "rest", "displacement": [0, "x*y"]}],
                    "discretization": {"degree": 3}, "values": [{"name": "mean", "field": "u", "take": "mean"}]}
            found = {device: self.solve_case(case, device) for device in ("cpu", "ref", "debug")}
        for device in ("ref", "debug"):
            self.assert_same(found["cpu"]["values"], found[device]["values"], device)

    def test_moduli_on_faces(self):
        """Moduli that are none on faces, though at all points inside, are refused by every device."""
        for shape, dim, mu in (("tet", 3, "x"), ("triangle", 2, "1-1.2*exp(-2000*((x-0.26)^2+(y-0.26)^2))")):
            case = {"mesh": {"box": {"lower": [0] * dim, "upper": [1] * dim, "cells": [4] * dim, "shape": shape}},
                    "equation": "elasticity", "material": {"mu": mu, "lambda": 1}, "source": [1] * dim,
                    "boundary": [{"on": "rest", "displacement": [0] * dim}],
                    "discretization": {"degree": 3 if dim == 2 else 1}}
            for device in ("cpu", "debug"):
                with self.subTest(shape=shape, device=device), tempfile.TemporaryDirectory() as place:
                    with open(os.path.join(place, "case.yaml"), "w") as file:
                        json.dump(case, file)
                    done = subprocess.run([PROGRAM, "solve", "case.yaml", "--device", device], cwd=place,
                                          capture_output=True, text=True)
                    self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                    self.assertIn("mu must be positive", done.stderr)

    def test_every_example_on_ref(self):
        """A few in the default run: of triangles, of tets, of a body, of boxes both ways."""
        few = ("annulus.yaml", "sphere.yaml", "beam.yaml", "cook.yaml", "box-hdg.yaml", "continuous.yaml")
        for case in CASES if LONG else few:
            with self.subTest(case=case):
                self.compare(case, "ref")

    def test_iterations_on_debug(self):
        """Krylov methods and their preconditioners behind the wall; counts may differ by rounding."""
        for method, preconditioner in (("cg", "none"), ("cg", "jacobi"), ("cg", "block"), ("cg", "amg"),
                                       ("fgmres", "block"), ("fgmres", "amg")):
            with self.subTest(method=method, preconditioner=preconditioner):
                settings = ["--set", f"solver.method={method}", "--set", f"solver.preconditioner={preconditioner}",
                            "--set", "solver.rtol=1e-11", "--set", "mesh.box.cells=[10, 10]"]
                cpu = self.solve("helmholtz.yaml", "cpu", *settings)
                debug = self.solve("helmholtz.yaml", "debug", *settings)
                self.assertLessEqual(abs(cpu["solver"]["iterations"] - debug["solver"]["iterations"]), 2)
                self.assert_same(cpu["errors"], debug["errors"], preconditioner)

    def test_boxes_on_debug(self):
        """Every method on boxes behind the wall, with Dirichlet values and singular."""
        ways = [("hdg", method, preconditioner) for method, preconditioner in
                (("direct", "none"), ("cg", "additive"), ("cg", "chebyshev"), ("cg", "block"), ("cg", "none"))]
        ways += [("continuous", method, preconditioner) for method, preconditioner in
                 (("direct", "none"), ("cg", "patches"), ("multigrid", "patches"), ("cg", "jacobi"))]
        for discretization, method, preconditioner in ways:
            for dim in (2, 3):
                for singular in (False, True):
                    with self.subTest(discretization=discretization, method=method, preconditioner=preconditioner,
                                      dim=dim, singular=singular):
                        self.compare_box(discretization, method, preconditioner, dim, singular)

    def test_other_lanes(self):
        """`debug` has another number of lanes than `cpu`: the same iterations and digits, with cells that fill no
        batch of either."""
        def mesh(shape, *cells):
            dim = len(cells)
            return {"box": {"lower": [0] * dim, "upper": [1] * dim, "cells": list(cells), "shape": shape}}

        wave, bend = "sin(2*x)*exp(y)", ["sin(x)*y", "x*cos(2*y)"]
        solid, twist = "sin(2*x)*exp(y)*(1+z)", ["sin(x)*y", "x*cos(2*y)+z", "x*z"]
        scalar = {"equation": "diffusion", "exact": wave, "reaction": 1, "conductivity": 2}
        elastic = {"equation": "elasticity", "material": {"E": 3, "nu": 0.3}}
        cases = {
            "triangles": {**scalar, "mesh": mesh("triangle", 7, 5)},
            "quads": {**scalar, "mesh": mesh("quad", 8, 8), "operator": "mapped"},
            "rows": {**scalar, "mesh": mesh("quad", 12, 8), "operator": "mapped", "smoother": "rows"},
            "varying": {**scalar, "mesh": mesh("quad", 7, 3), "conductivity": "1+x"},
            "tets": {**scalar, "mesh": mesh("tet", 3, 2, 3), "exact": solid},
            "condensed": {**scalar, "mesh": mesh("triangle", 7, 5), "method": "condensed"},
            "condensed hexes": {**scalar, "mesh": mesh("hex", 3, 2, 3), "method": "condensed", "exact": solid},
            "elastic": {**elastic, "mesh": mesh("triangle", 5, 4), "exact": bend},
            "elastic tets": {**elastic, "mesh": mesh("tet", 2, 1, 2), "exact": twist},
            "box": {**scalar, "mesh": mesh("quad", 13, 5), "operator": "tensor"},
            "box of hexes": {**scalar, "mesh": mesh("hex", 10, 3, 2), "operator": "tensor", "exact": solid},
            "graded box": {**scalar, "mesh": {"box": {"shape": "quad", "coordinates": {
                "x": [0, 0.1, 0.3, 0.6, 1, 1.1, 1.4, 2], "y": [0, 0.5, 1]}}}, "operator": "tensor"},
        }
        kinds = {"box": ("additive", "chebyshev"), "quads": ("pmg", "gmg"), "triangles": ("pmg", "gmg"),
                 "rows": ("gmg",)}
        for name, case in cases.items():
            for preconditioner in kinds.get(name, ("auto",)):
                with self.subTest(case=name, preconditioner=preconditioner):
                    self.compare_lanes(case, preconditioner)

    def test_instructions(self):
        """The kernels of every instruction set that the processor has, and what is said of others."""
        def run(name, case, instructions):
            return subprocess.run([PROGRAM, "solve", os.path.join(EXAMPLES, case), "--quiet", "--json", "-"],
                                  capture_output=True, text=True, env={**os.environ, name: instructions}, cwd=self.place)

        with tempfile.TemporaryDirectory() as self.place:
            for case in ("poisson.yaml", "annulus.yaml", "box-hdg.yaml", "continuous.yaml"):
                best = json.loads(run("FACET_NOTHING", case, "").stdout)
                for instructions in ("x86-64", "x86-64-v3", "x86-64-v4", "native"):
                    done = run("FACET_INSTRUCTIONS", case, instructions)
                    if done.returncode == 0:
                        with self.subTest(case=case, instructions=instructions):
                            lesser = json.loads(done.stdout)
                            self.assertEqual(best["solver"]["iterations"], lesser["solver"]["iterations"])
                            self.assert_same(best.get("errors", {}), lesser.get("errors", {}), "errors")
                    else:
                        self.assertEqual(done.returncode, 2)
                        self.assertIn("FACET_INSTRUCTIONS=" + instructions, done.stderr)
            done = run("FACET_INSTRUCTIONS", "poisson.yaml", "nonsense")
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr.count("FACET_INSTRUCTIONS=nonsense: there are no such kernels"), 1)

    def test_two_ways(self):
        """Cells with a Robin face are condensed one by one, their neighbours in batches: with a = 0 both ways solve the
        problem with Neumann conditions, on curved cells, with data that vary and with matrices."""
        def solve(mesh, conductivity, condition):
            case = {"mesh": {"file": os.path.join(EXAMPLES, "meshes", mesh)}, "equation": "diffusion",
                    "exact": "sin(x)*exp(0.5*y)", "reaction": "1+x*x", "conductivity": conductivity,
                    "boundary": [{"on": self.parts[mesh], **condition}],
                    "discretization": {"degree": 3}, "solver": {"rtol": 1e-12}}
            return self.solve_case(case, "cpu")

        self.parts = {"annulus.msh": "outer", "sphere.msh": "inner"}
        flat = {"number": 2, "varying": "2+x*y", "matrix": [[3, 1], [1, 2]], "matrices": [["3+x", 1], [1, "2+y*y"]]}
        solid = {"varying": "2+x*y", "matrices": [["3+x", 1, 0], [1, "2+y*y", 0], [0, 0, 1]]}
        for mesh, kinds in (("annulus.msh", flat), ("sphere.msh", solid)):
            for name, conductivity in kinds.items():
                with self.subTest(mesh=mesh, conductivity=name):
                    neumann = solve(mesh, conductivity, {"neumann": "exact"})
                    robin = solve(mesh, conductivity, {"robin": {"a": 0, "g": "exact"}})
                    for field, norms in neumann["errors"].items():
                        self.assertLess(abs(norms["L2"] / robin["errors"][field]["L2"] - 1), 1e-6, field)

    def compare_lanes(self, case, preconditioner):
        case = dict(case)
        case["discretization"] = {"degree": 3, **{key: case.pop(key) for key in ("method", "operator") if key in case}}
        case["solver"] = {"method": "cg", "preconditioner": preconditioner, "rtol": 1e-12}
        if "smoother" in case:
            case["solver"]["smoother"] = case.pop("smoother")
        cpu, debug = (self.solve_case(case, device) for device in ("cpu", "debug"))
        # Sums are taken in another order: the last of many iterations may be one more or less.
        self.assertLessEqual(abs(cpu["solver"]["iterations"] - debug["solver"]["iterations"]),
                             cpu["solver"]["iterations"] // 40)
        self.assertEqual(cpu["solver"]["preconditioner"], debug["solver"]["preconditioner"])
        self.assert_same(cpu["errors"], debug["errors"], "errors")

    def compare_box(self, discretization, method, preconditioner, dim, singular):
        waves = "*".join(f"cos(pi*{x})" for x in "xyz"[:dim])
        case = {"mesh": {"box": {"lower": [0] * dim, "upper": [1] * dim, "cells": [6, 4, 4][:dim],
                                 "shape": "quad" if dim == 2 else "hex"}},
                "equation": "diffusion", "exact": waves, "conductivity": 2,
                "discretization": {"method": discretization, "degree": 3},
                "solver": {"method": method, "preconditioner": preconditioner, "rtol": 1e-12}}
        if singular:
            case["boundary"] = [{"on": "rest", "neumann": "exact"}]
        cpu, debug = (self.solve_case(case, device) for device in ("cpu", "debug"))
        self.assertEqual((debug["solver"]["method"], debug["solver"]["preconditioner"]), (method, preconditioner))
        self.assertLessEqual(abs(cpu["solver"]["iterations"] - debug["solver"]["iterations"]), 1)
        self.assert_same(cpu["errors"], debug["errors"], discretization)


if __name__ == "__main__":
    unittest.main()
