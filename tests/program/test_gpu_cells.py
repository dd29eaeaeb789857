"""Mapped cells on the GPU: triangles, quads, tets and hexes, straight with constant data and with every solver, and
curved or with data that vary, against `cpu`: iterations, and errors of all fields to 1e-9; bodies in both formulations,
prisms, pyramids and bodies of revolution the same; every example to 1e-8 in its values. Where there is no GPU the same
runs on `debug`, but for the examples, which test_devices.py solves there.
FACET_PROGRAM names the program, by default build/facet; FACET_SOURCE_DIR the checkout."""

import re
import subprocess
import unittest

import test_devices

DEVICES = subprocess.run([test_devices.PROGRAM, "info"], capture_output=True, text=True, check=True).stdout
HAS_GPU = re.search("^devices .*cuda.*; ", DEVICES, re.MULTILINE) is not None
DEVICE = "cuda" if HAS_GPU else "debug"
NOTHING = {"bimetal.yaml": ["clamp"]}  # zero up to the rounding of stresses of 3e8
TOLERANCE = 1e-9  # of errors, which are differences of fields of size 1, and of values
SHAPES = {"triangle": [13, 11], "quad": [12, 8], "tet": [4, 3, 4], "hex": [4, 4, 3]}
EXACT = {2: "sin(2*x)*exp(y)", 3: "sin(2*x)*exp(y)*(1+z*z)"}


class Cells(unittest.TestCase):
    solve = test_devices.Devices.solve
    solve_case = test_devices.Devices.solve_case

    def assert_near(self, a, b, where, tolerance=TOLERANCE):
        """Numbers of two results, relative where they are larger than 1."""
        if isinstance(a, dict):
            self.assertEqual(a.keys(), b.keys(), where)
            for key in a:
                self.assert_near(a[key], b[key], f"{where}.{key}", tolerance)
        elif isinstance(a, list):
            self.assertEqual(len(a), len(b), where)
            for i, (x, y) in enumerate(zip(a, b)):
                self.assert_near(x, y, f"{where}[{i}]", tolerance)
        else:
            self.assertLessEqual(abs(a - b), tolerance * max(1.0, abs(a)), where)

    def compare(self, case):
        cpu, gpu = (self.solve_case(case, device) for device in ("cpu", DEVICE))
        self.assertEqual(cpu["solver"]["preconditioner"], gpu["solver"]["preconditioner"])
        self.assertLessEqual(gpu["solver"]["iterations"], cpu["solver"]["iterations"] * 41 // 40 + 1)
        self.assert_near(cpu["errors"], gpu["errors"], "errors")
        self.assert_near(cpu.get("values", {}), gpu.get("values", {}), "values")

    @staticmethod
    def case(shape, degree, **more):
        cells = SHAPES[shape]
        dim = len(cells)
        return {"mesh": {"box": {"lower": [0] * dim, "upper": [1, 1.5, 0.8][:dim], "cells": cells, "shape": shape}},
                "equation": "diffusion", "exact": EXACT[dim], "conductivity": 2,
                "discretization": {"degree": degree, "operator": "mapped"},
                "solver": {"method": "cg", "preconditioner": "auto", "rtol": 1e-12}, **more}

    def test_shapes_and_degrees(self):
        for shape, cells in SHAPES.items():
            for degree in range(1, 6 if HAS_GPU else 3):
                with self.subTest(shape=shape, degree=degree):
                    self.compare(self.case(shape, degree))

    def test_solvers(self):
        """Levels of both multigrids, rows, patches and factors, CG and FGMRES, in double and mixed precision."""
        solvers = [{"preconditioner": name} for name in ("pmg", "gmg", "amg", "block", "jacobi", "none")]
        solvers += [{"preconditioner": "pmg", "precision": name} for name in ("double", "mixed")]
        solvers += [{"method": "fgmres", "preconditioner": "pmg"}, {"method": "direct"},
                    {"preconditioner": "pmg", "coarse_device": "cpu"}]
        for shape in ("triangle", "quad", "tet", "hex") if HAS_GPU else ("triangle", "tet"):
            for solver in solvers:
                with self.subTest(shape=shape, **solver):
                    case = self.case(shape, 2)
                    case["solver"] = {"method": "cg", "rtol": 1e-12, **solver}
                    if solver.get("method") == "direct":
                        del case["solver"]["rtol"]
                    self.compare(case)

    def test_smoothers(self):
        for smoother in ("faces", "rows", "fsai"):
            with self.subTest(smoother=smoother):
                case = self.case("quad", 2)
                case["solver"] = {"method": "cg", "preconditioner": "gmg", "smoother": smoother, "rtol": 1e-12}
                self.compare(case)

    def test_data(self):
        """Reactions, matrices, groups of tau, Neumann and Robin parts, singular problems, condensed."""
        more = {"reaction": {"reaction": 3}, "matrix": {"conductivity": [[3, 1], [1, 2]]},
                "neumann": {"boundary": [{"on": "xmax", "neumann": "exact"}]},
                "robin": {"boundary": [{"on": "xmax", "robin": {"a": 2, "g": "exact"}}]},
                "singular": {"boundary": [{"on": "rest", "neumann": "exact"}]},
                "values": {"values": [{"name": "mean", "field": "u", "take": "mean"},
                                      {"name": "there", "field": "q", "at": [0.3, 0.4]},
                                      {"name": "flow", "field": "flux", "take": "integral", "on": "xmin"}]},
                "condensed": {"discretization": {"degree": 3, "method": "condensed"}}}
        for name, data in more.items():
            for shape in ("triangle", "quad"):
                with self.subTest(data=name, shape=shape):
                    self.compare({**self.case(shape, 3), **data})

    GENERAL = {
        "varying": {"conductivity": "1 + x*y"},
        "matrix": {"conductivity": [["3 + x", "y/2"], ["y/2", "2"]]},
        "reaction": {"reaction": "1 + x^2"},
        "tau": {"conductivity": "2 - y", "discretization": {"degree": 2, "tau": 3}},
        "robin": {"conductivity": "1 + x", "boundary": [{"on": "xmax", "robin": {"a": "1 + y", "g": "exact"}}]},
        "neumann": {"reaction": "x", "boundary": [{"on": "xmax", "neumann": "exact"}]},
        "singular": {"conductivity": "1 + x", "boundary": [{"on": "rest", "neumann": "exact"}]},
        "condensed": {"conductivity": "1 + x*y", "discretization": {"degree": 3, "method": "condensed"}}}

    def test_general(self):
        """Conductivities, reactions and data of all kinds that vary."""
        for name, data in self.GENERAL.items():
            for shape, cells in SHAPES.items():
                if len(cells) == 3 and (name == "matrix" or (not HAS_GPU and name not in ("varying", "robin"))):
                    continue
                with self.subTest(data=name, shape=shape):
                    self.compare({**self.case(shape, 3 if HAS_GPU else 2), **data})

    def test_curved(self):
        """Curved cells beside straight ones, triangles and quads in one mesh, groups, matrices; values of what stays on
        the device."""
        meshes = f"{test_devices.EXAMPLES}/meshes"
        take = [{"name": "mean", "field": "u", "take": "mean"}, {"name": "most", "field": "u", "take": "max"},
                {"name": "q_mean", "field": "q", "take": "mean"}, {"name": "star", "field": "u_star", "take": "max"}]
        annulus = [{"on": "inner", "robin": {"a": "2 + x", "g": "y"}}, {"on": "rest", "dirichlet": "x*y"}]
        plate = [{"on": "held", "dirichlet": 1}, {"on": "bore", "robin": {"a": 3, "g": "x"}}, {"on": "rest", "neumann": 0}]
        solids = [{"on": "base", "neumann": 1}, {"on": "air", "robin": {"a": 2, "g": "x"}}, {"on": "sides", "neumann": 0}]
        cases = {
            "annulus": {"boundary": annulus, "source": "x*sin(3*y)", "conductivity": 2},
            "annulus of a matrix": {"boundary": annulus, "source": 1, "conductivity": [[3, 1], [1, 2]], "reaction": 0.5},
            "annulus that varies": {"boundary": annulus, "source": "exp(x)", "conductivity": "2 + x*y",
                                    "reaction": "x^2"},
            "plate": {"boundary": plate, "source": 1,
                      "conductivity": [{"on": "plate", "value": 2}, {"on": "bush", "value": "5 + x"}]},
            "heat-sink": {"boundary": solids, "source": "x", "conductivity": "1 + 10*z"}}
        for name, data in cases.items():
            case = {"mesh": {"file": f"{meshes}/{name.split()[0]}.msh"}, "equation": "diffusion", "values": take,
                    "discretization": {"degree": 2 if name == "heat-sink" else 3},
                    "solver": {"method": "direct"}, **data}
            with self.subTest(case=name):
                cpu, gpu = (self.solve_case(case, device) for device in ("cpu", DEVICE))
                self.assert_near(cpu["values"], gpu["values"], "values")
                self.assertLess(gpu["balance"], 1e-10)

    def test_straight_cells_of_high_order(self):
        """Sources are taken at the same points whatever cells a batch has: two coarse ones see every other rule."""
        for order in (2, 3):
            mesh = {"file": f"{test_devices.SOURCE}/tests/meshes/straight_{order}.msh"}
            for data in ({"source": "sin(6*x)"}, {"source": "step(x - 0.4)", "conductivity": "1 + x^2"}):
                case = {"mesh": mesh, "equation": "diffusion", "boundary": [{"on": "rest", "dirichlet": 0}],
                        "values": [{"name": "mean", "field": "u", "take": "mean"}],
                        "discretization": {"degree": 2}, "solver": {"method": "direct"}, **data}
                cpu, gpu = (self.solve_case(case, device) for device in ("cpu", DEVICE))
                self.assert_near(cpu["values"], gpu["values"], f"order {order}, {data}", 1e-12)

    def test_sources(self):
        """What stays on the device: sources, loads, recovery, the balance, and all that a value asks for."""
        for shape, cells in SHAPES.items():
            dim = len(cells)
            point, third = [0.3, 0.45, 0.2][:dim], "z" if dim == 3 else "y"
            take = [{"name": "mean", "field": "u", "take": "mean"}, {"name": "most", "field": "u", "take": "max"},
                    {"name": "at", "field": "u", "at": point}, {"name": "q_at", "field": "q", "at": point},
                    {"name": "q_mean", "field": "q", "take": "mean"}, {"name": "star", "field": "u_star", "at": point},
                    {"name": "out", "field": "flux", "take": "integral", "on": "xmin"},
                    {"name": "side", "field": "u", "take": "mean", "on": "xmax"}]
            for source in ("1", f"x*sin(3*y) + {third}^2"):
                case = self.case(shape, 2, source=source, values=take, reaction=0.5)
                del case["exact"]
                case["boundary"] = [{"on": "xmin", "dirichlet": "1 + y"}, {"on": "xmax", "neumann": "y"},
                                    {"on": "ymin", "robin": {"a": 2, "g": "x"}}, {"on": "rest", "dirichlet": 0}]
                with self.subTest(shape=shape, source=source):
                    cpu, gpu = (self.solve_case(case, device) for device in ("cpu", DEVICE))
                    self.assertEqual(cpu["solver"]["iterations"], gpu["solver"]["iterations"])
                    self.assert_near(cpu["values"], gpu["values"], "values")
                    self.assertLess(gpu["balance"], 1e-10)

    @staticmethod
    def body(shape, degree, formulation, **more):
        """Held at xmin, or all around where tractions would make the system nonsymmetric."""
        cells = [max(1, n // (1 if HAS_GPU else 3)) for n in SHAPES[shape]]
        dim = len(cells)
        held = {"on": "rest" if formulation == "gradient" else "xmin", "displacement": ["0.1*y", "x*y", "-x"][:dim]}
        free = [] if formulation == "gradient" else [{"on": "rest", "traction": ["0.2", "y", "-x"][:dim]}]
        point = [0.3, 0.45, 0.2][:dim]
        take = [{"name": "at", "field": "u", "at": point}, {"name": "stress", "field": "stress", "at": point},
                {"name": "mean", "field": "u", "take": "mean"}, {"name": "most", "field": "von_mises", "take": "max"},
                {"name": "force", "field": "traction", "take": "integral", "on": "xmin"}]
        if formulation == "gradient":
            take += [{"name": "p", "field": "p", "take": "mean"}, {"name": "star", "field": "u_star", "at": point}]
        return {"mesh": {"box": {"lower": [0] * dim, "upper": [1, 1.5, 0.8][:dim], "cells": cells, "shape": shape}},
                "equation": "elasticity", "material": {"mu": 2, "lambda": 3},
                "source": ["sin(3*x)*y", "1", "x - y"][:dim], "boundary": [held, *free],
                "discretization": {"degree": degree, "formulation": formulation},
                "solver": {"method": "cg", "preconditioner": "auto", "rtol": 1e-12}, "values": take, **more}

    def compare_bodies(self, case, tolerance=TOLERANCE):
        """Balances hold what rounding and residuals leave, on both devices about as much."""
        cpu, gpu = (self.solve_case(case, device) for device in ("cpu", DEVICE))
        self.assertLessEqual(gpu["solver"]["iterations"], cpu["solver"]["iterations"] * 41 // 40 + 2)
        self.assert_near(cpu["values"], gpu["values"], "values", tolerance)
        self.assert_near(cpu.get("errors", {}), gpu.get("errors", {}), "errors", tolerance)
        self.assertLess(gpu["balance"], max(1e-10, 0.1 * tolerance, 10 * cpu["balance"]))
        return gpu

    def stays_there(self, gpu):
        """Loads and recovery are not left to the host."""
        self.assertNotIn("left to the host: load and recovery", gpu.get("notes", []))

    def test_bodies(self):
        """What stays on the device of a body: coefficients, loads, recovery, the balance, and all that a value asks."""
        for shape in SHAPES:
            for formulation in ("symmetric", "gradient"):
                for degree in range(1, (5 if shape == "hex" else 6) if HAS_GPU else 2):
                    with self.subTest(shape=shape, formulation=formulation, degree=degree):
                        self.compare_bodies(self.body(shape, degree, formulation))

    def test_body_data(self):
        """Plane stress, rollers, springs, heat, exact solutions and large lambda; of these rollers and heat load and
        recover through the host."""
        roll = [{"on": "xmin", "displacement": [0, None], "traction": [None, 0]},
                {"on": "ymin", "displacement": [None, 0], "traction": [0, None]}, {"on": "rest", "traction": [1, "x"]}]
        more = {"plane": {"plane": "stress"}, "rollers": {"boundary": roll},
                "locking": {"material": {"mu": 1, "lambda": 1000}},
                "heat": {"thermal": {"expansion": 0.1, "temperature": "x*y"}}}
        for name, data in more.items():
            with self.subTest(data=name):
                self.compare_bodies({**self.body("triangle", 2, "symmetric"), **data})
        exact = {"exact": ["sin(x)*cos(y)*z", "cos(x)*y*sin(z)", "x*sin(y)*cos(z)"]}
        for formulation in ("symmetric", "gradient"):
            with self.subTest(exact=formulation):
                case = {**self.body("tet", 2, formulation), **exact}
                del case["source"], case["boundary"]
                self.compare_bodies(case)
        with self.subTest(data="locking tets"):  # what a residual of 1e-12 leaves of a strain, lambda times
            self.compare_bodies({**self.body("tet", 2, "symmetric"), "material": {"mu": 1, "lambda": 1e5}}, 1e-7)

    def test_general_bodies(self):
        """Moduli that vary, by group too, with numbers of tau, rollers, springs, heat and plane stress."""
        lame = {"material": {"mu": "2 + x*y", "lambda": "3 + y"}}
        lambdas = {"material": {"mu": 2, "lambda": "3 + exp(x)*y"}}
        for shape in SHAPES:
            for formulation, material in (("symmetric", lame), ("gradient", lambdas)):
                for degree in range(1, 2 if not HAS_GPU else 3 if shape == "hex" else 5):
                    with self.subTest(shape=shape, formulation=formulation, degree=degree):
                        self.stays_there(self.compare_bodies({**self.body(shape, degree, formulation), **material}))
        roll = [{"on": "xmin", "displacement": [0, None], "traction": [None, 0]},
                {"on": "ymin", "displacement": [None, 0], "traction": [0, None]}, {"on": "rest", "traction": [1, "x"]}]
        spring = [{"on": "xmin", "displacement": [0, 0]}, {"on": "rest", "traction": [1, 0], "spring": "1 + y"}]
        more = {"plane": {"plane": "stress"}, "rollers": {"boundary": roll}, "springs": {"boundary": spring},
                "tau": {"discretization": {"degree": 2, "tau": 3, "formulation": "symmetric"}},
                "heat": {"thermal": {"expansion": 0.1, "temperature": "x*y"}},
                "young": {"material": {"E": "200 + x", "nu": "0.3 + y/10"}, "plane": "stress"}}
        for name, data in more.items():
            with self.subTest(data=name):
                self.compare_bodies({**self.body("triangle", 2, "symmetric"), **lame, **data})

    def test_curved_bodies(self):
        """Curved triangles and quads beside straight ones; curved tets and hexes."""
        take = [{"name": "mean", "field": "u", "take": "mean"}, {"name": "most", "field": "von_mises", "take": "max"},
                {"name": "stress", "field": "stress", "take": "mean"}]
        ring = [{"on": "inner", "displacement": ["x*y", "0.1"]}, {"on": "rest", "traction": ["y", "-x"]}]
        held = [{"on": "inner", "displacement": ["x*y", "0.1"]}, {"on": "rest", "displacement": [0, "x"]}]
        skin = [{"on": "skin", "displacement": ["x*y", "0.1", "x*z"]}]
        pipe = [{"on": "inside", "displacement": ["x*y", "0.1", "x*z"]}, {"on": "rest", "traction": ["y", "-x", 0]}]
        one, both, lame = {"mu": 1, "lambda": 2}, {"mu": 1, "lambda": "2 + y*y"}, {"mu": "1 + x*x", "lambda": "2 + y*y"}
        rings = f"{test_devices.EXAMPLES}/meshes/annulus"
        solids = f"{test_devices.EXAMPLES}/../tests/meshes"
        bodies = [(rings, "symmetric", ring, one), (rings, "symmetric", ring, lame), (rings, "gradient", held, one),
                  (rings, "gradient", held, both), (f"{solids}/pipe_2_41", "symmetric", pipe, lame),
                  (f"{solids}/ball_2_41", "symmetric", skin, one)]
        if HAS_GPU:
            bodies += [(f"{solids}/pipe_2_41", "symmetric", pipe, one), (f"{solids}/ball_3_41", "gradient", skin, one),
                       (f"{solids}/ball_2_41", "gradient", skin, both)]
        for mesh, formulation, boundary, material in bodies:
            for degree in (2, 3) if HAS_GPU else (2,):
                with self.subTest(mesh=mesh, formulation=formulation, degree=degree, **material):
                    gpu = self.compare_bodies({
                        "mesh": {"file": f"{mesh}.msh"}, "equation": "elasticity", "material": material,
                        "source": ["y", "1", "-x"][:len(boundary[0]["displacement"])], "boundary": boundary,
                        "values": take, "discretization": {"degree": degree, "formulation": formulation},
                        "solver": {"method": "direct"}})
                    self.stays_there(gpu)

    def test_cells_of_the_host(self):
        """Cells that the host condenses one by one: prisms, pyramids beside others, bodies of revolution; smoothers, single
        and half precision where faces differ in size, and what is around an axis."""
        wedges = {"mesh": {"box": {"lower": [0, 0, 0], "upper": [1, 1.5, 0.8], "cells": [3, 2, 2], "shape": "prism"}}}
        scalar = {"equation": "diffusion", "conductivity": 2, "discretization": {"degree": 3}}
        solid = {**scalar, **wedges, "exact": EXACT[3]}
        four = {**scalar, "mesh": {"file": f"{test_devices.EXAMPLES}/meshes/transition.msh"}, "exact": EXACT[3]}
        for case in (solid, four):
            for solver in ({"preconditioner": "pmg", "precision": "double"}, {"preconditioner": "pmg", "precision": "mixed"},
                           {"preconditioner": "amg"}, {"preconditioner": "block"}):
                with self.subTest(solver=solver, shapes="prisms" if case is solid else "all"):
                    self.compare({**case, "solver": {"method": "cg", "rtol": 1e-12, **solver}})
        with self.subTest(case="a body of prisms"):
            body = self.body("tet", 1, "symmetric")
            body["mesh"]["box"]["shape"] = "prism"
            self.compare_bodies(body)
        for lower in (0, 1):  # around an axis, and a ring
            for shape in ("triangle", "quad"):
                mesh = {"box": {"lower": [lower, 0], "upper": [lower + 1, 1.5], "cells": [6, 5], "shape": shape}}
                around = {"plane": "axisymmetric", "mesh": mesh, "solver": {"method": "cg", "rtol": 1e-12}}
                with self.subTest(lower=lower, shape=shape):
                    self.compare({**scalar, **around, "exact": "x^2*exp(y)"})
                with self.subTest(lower=lower, shape=shape, equation="elasticity"):
                    self.compare_bodies({"equation": "elasticity", "material": {"mu": 2, "lambda": 3},
                                         "exact": ["x*exp(y)", "x^2*sin(y)"], "discretization": {"degree": 2}, **around,
                                         "values": [{"name": "most", "field": "von_mises", "take": "max"}]})

    @unittest.skipUnless(HAS_GPU, "there is no GPU")
    def test_examples(self):
        for case in test_devices.CASES:
            with self.subTest(case=case):
                cpu, gpu = (self.solve(case, device) for device in ("cpu", "cuda"))
                for one in (cpu, gpu):
                    for name in NOTHING.get(case, []):
                        del one["values"][name]
                for key in ("errors", "values"):
                    self.assert_near(cpu.get(key, {}), gpu.get(key, {}), case, 1e-8)


if __name__ == "__main__":
    unittest.main()
