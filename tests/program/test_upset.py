"""Coefficients and supports that upset what `auto` takes first: anisotropy that nothing holds at the sides, jumps with
loads of nearly nothing, boxes that nothing holds, levels of lesser precision, data that jump at the boundary itself.
FACET_PROGRAM says where the program is."""

import math
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_app import Program  # noqa: E402

HELD_AT_ONE_SIDE = "boundary: [{on: xmin, dirichlet: 0}, {on: rest, neumann: 0}]\n"
STRIPES = "conductivity: if(mod(floor(x*4),2)<0.5,1,%s)\n"


class Upset(Program):
    def test_auto_turns_to_a_factor(self):
        case = """mesh: {box: {lower: [0, 0, 0], upper: [1, 1, 1], cells: [8, 8, 8], shape: tet}}
equation: diffusion
conductivity: [[0.68, 0.466, 0], [0.466, 0.3195, 0], [0, 0, 1e-6]]
source: 1
values: [{name: mean, field: u, take: mean}]
discretization: {degree: 1}
""" + HELD_AT_ONE_SIDE
        by_auto, by_hand = self.solve(case), self.solve(case, "--set", "solver.method=direct")
        self.assertEqual(by_auto["solver"]["method"], "direct")
        self.assertAlmostEqual(by_auto["values"]["mean"] / by_hand["values"]["mean"], 1, delta=1e-9)

    def test_jump_of_1e8_beside_walls(self):
        case = """mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [16, 16], shape: triangle}}
equation: diffusion
conductivity: if(max(abs(x-0.5),abs(y-0.5))<0.25, %s, 1)
source: 1
discretization: {degree: 3}
values: [{name: flux, field: flux, take: integral, on: xmin}, {name: mean, field: u, take: mean}]
""" + HELD_AT_ONE_SIDE
        means = [self.solve(case % c)["values"] for c in ("1e6", "1e8")]
        self.assertAlmostEqual(means[1]["flux"], 1, delta=1e-9)
        self.assertAlmostEqual(means[0]["mean"], means[1]["mean"], delta=1e-6)  # they differ by 2e-7

    def test_levels_of_lesser_precision(self):
        case = """mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [64, 64], shape: triangle}}
equation: diffusion
conductivity: if(mod(floor(x*4)+floor(y*4),2)<0.5,1e5,1)
source: 1+x
discretization: {degree: 3}
values: [{name: flux, field: flux, take: integral, on: xmin}]
solver: {method: cg, preconditioner: gmg}
""" + HELD_AT_ONE_SIDE
        self.assertAlmostEqual(self.solve(case)["values"]["flux"], 1.5, delta=1e-8)

    def test_boxes_that_nothing_holds(self):
        case = """mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [12, 12], shape: quad}}
equation: diffusion
source: cos(pi*x)*cos(pi*y)
boundary: [{on: rest, neumann: 0}]
discretization: {degree: 2, operator: %s}
values: [{name: u, field: u, at: [0.1, 0.2]}]
"""
        for c in ("50", "1e3"):
            mapped = self.solve(case % "mapped" + STRIPES % c)["values"]["u"]
            for device in ("cpu", "debug"):
                tensor = self.solve(case % "tensor" + STRIPES % c, "--device", device)["values"]["u"]
                self.assertAlmostEqual(tensor / mapped, 1, delta=1e-9)

    def test_data_that_jump_at_the_boundary(self):
        case = """mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [4, 4], shape: quad}}
equation: diffusion
boundary: [{on: rest, neumann: exact}, {on: xmin, dirichlet: exact}]
discretization: {degree: 2, method: %s, operator: %s}
"""
        data = (STRIPES % "100" + "exact: ceil(floor(x*4)/2)*0.25+floor(floor(x*4)/2)*0.0025"
                                  "+(x-floor(x*4)/4)/if(mod(floor(x*4),2)<0.5,1,100)\n",
                "conductivity: if(x<0.5,1,if(x<1,100,1))\nexact: min(x,0.5)+max(x-0.5,0)/100\n")
        for way in (("hdg", "tensor"), ("hdg", "mapped"), ("continuous", "auto"), ("condensed", "auto")):
            for both in data:
                self.assertLess(self.solve(case % way + both)["errors"]["u"]["L2"], 1e-10, f"{way} {both}")

    def test_units_beyond_single_precision(self):
        case = """mesh: {box: {lower: [0, 0, 0], upper: [1, 1, 1], cells: [3, 3, 3], shape: tet}}
equation: elasticity
material: {mu: 1, lambda: 1}
parameters: {A: 1}
exact: [A*sin(x+y), A*x*z, A*cos(y)]
discretization: {degree: 1}
"""
        mixed = "preconditioner=pmg, precision=mixed, method="
        for solver in (mixed + "cg", mixed + "multigrid", mixed + "multigrid, cycle=full", mixed + "fgmres",
                       "method=cg, preconditioner=block"):
            words = [w for key in solver.split(", ") for w in ("--set", "solver." + key)]
            one = self.solve(case, *words)
            for A in ("1e60", "1e-60"):
                found = self.solve(case, "--set", "parameters.A=" + A, *words)
                self.assertEqual(found["solver"]["iterations"], one["solver"]["iterations"], f"{A} {solver}")
                self.assertAlmostEqual(found["errors"]["u"]["L2"] / float(A) / one["errors"]["u"]["L2"], 1, delta=1e-4)
                self.assertAlmostEqual(math.log10(found["solver"]["error"] / one["solver"]["error"]), 0, delta=1)

    def test_coefficients_beyond_single_precision(self):
        case = """mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [64, 64], shape: quad}}
equation: diffusion
conductivity: %s
exact: sin(x+y)
discretization: {degree: 5, method: continuous}
"""
        for K in ("1e30", "1e-60"):
            self.assertLess(self.solve(case % K)["errors"]["u"]["L2"], 1e-8)


if __name__ == "__main__":
    unittest.main()
