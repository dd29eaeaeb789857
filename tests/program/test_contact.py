"""Contacts that resist (interfaces), against closed forms on every shape of cells, with every solver, and what of them is
refused. FACET_PROGRAM says where the program is."""

import json
import math
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_loads import SHAPES, Loads  # noqa: E402

ALL = SHAPES[2] + SHAPES[3]


def halves(x):
    return "left" if x[0] < 0.5 else "right"


class Contact(Loads):
    def bars(self, shape, cells=None, region=halves):
        dim = 2 if shape in SHAPES[2] else 3
        return self.lattice(shape, cells=cells or [4] + [2] * (dim - 1), region=region)

    def test_two_bars(self):
        """In series: the flux is 1 over the sum of the resistances, the jump that over h, from almost nothing to far
        beyond what the bars conduct."""
        for shape in ALL:
            mesh = self.bars(shape)
            for h in (1e-8, 1e-3, 1.0, 1e3, 1e12, 1e100):
                q = 1 / (0.5 / 2 + 1 / h + 0.5 / 5)
                for solver in ("method: direct", "preconditioner: pmg", "preconditioner: amg", "preconditioner: block"):
                    out = self.solve(mesh + f"""equation: diffusion
conductivity: [{{on: left, value: 2}}, {{on: right, value: 5}}]
interfaces: [{{between: [right, left], conductance: {h!r}}}]
boundary: [{{on: xmin, dirichlet: 0}}, {{on: xmax, dirichlet: 1}}, {{on: rest, neumann: 0}}]
discretization: {{degree: 2}}
solver: {{{solver}, rtol: 1e-12}}
values:
  - {{name: out, field: flux, take: integral, on: xmin}}
  - {{name: left, field: u, take: max, on: left}}
  - {{name: right, field: u, take: min, on: right}}
""")
                    what = f"{shape} {h} {solver}"
                    values = out["values"]
                    self.near([values["left"], values["right"]], [0.5 * q / 2, 1 - 0.5 * q / 5], 1e-10, what)
                    self.near(values["out"], q, 1e-10 + 1e-6 * q * (h < 1e-6), what)
                    self.assertLess(out["balance"], max(1e-9, 1e-10 / h), what)
                    self.assertLessEqual(out["solver"]["iterations"], 20 if "pmg" in solver else 400, what)

    def test_held_by_the_contact(self):
        """The right bar hangs on the contact alone, with sources in both: what goes in there goes through it."""
        for shape in ALL:
            mesh = self.bars(shape).replace("}", ", refine: 1}")
            for h in (1e-3, 2.0, 1e8):
                for solver in ("direct", "cg", "fgmres"):
                    out = self.solve(mesh + f"""equation: diffusion
source: [{{on: left, value: 1}}, {{on: right, value: 3}}]
interfaces: [{{between: [left, right], conductance: h}}]
parameters: {{h: {h!r}}}
boundary: [{{on: xmin, dirichlet: 0}}, {{on: rest, neumann: 0}}]
discretization: {{degree: 2}}
solver: {{method: {solver}, rtol: 1e-12}}
values:
  - {{name: left, field: u, take: max, on: left}}
  - {{name: right, field: u, take: min, on: right}}
  - {{name: mean, field: u, take: mean, on: xmax}}
""")
                    # u' = 2 - x on the left, 3 (1 - x) on the right; 1.5 goes through
                    left = 1 - 0.125
                    right = left + 1.5 / h
                    self.near([out["values"]["left"], out["values"]["right"] * h, out["values"]["mean"] * h],
                              [left, right * h, (right + 0.375) * h], 1e-9 * max(1, h), f"{shape} {h} {solver}")

    def test_all_around(self):
        """Fluxes everywhere: the solution is that of mean zero. An electrode on the far side of a contact."""
        for shape in ALL:
            mesh = self.bars(shape)
            case = mesh + """equation: diffusion
interfaces: [{between: [left, right], conductance: 4}]
boundary: [{on: xmin, neumann: -1}, {on: xmax, neumann: 1}, {on: rest, neumann: 0}]
discretization: {degree: 1}
values: [{name: right, field: u, take: mean, on: right}, {name: a, field: u, take: mean, on: xmax}]
"""
            values = self.solve(case)["values"]
            self.near([values["right"], values["a"]], [0.375, 0.625], 1e-11, shape)
            out = self.solve(case.replace("neumann: -1", "dirichlet: 0").replace("neumann: 1", "total_flux: 1"))
            self.near(out["potentials"]["xmax"], 1.25, 1e-9, shape)

    def test_weak_electrode(self):
        """An electrode behind a contact of almost nothing: its potential is that of the series to the last digits, though
        rounding in q is larger than the flux. What values show, balance tells."""
        for shape in ("triangle", "hex"):
            for h in (1e-8, 1e-3, 1e3):
                for solver in ("method: direct", "preconditioner: pmg, method: cg", "preconditioner: amg, method: cg"):
                    what = f"{shape} {h} {solver}"
                    case = self.bars(shape) + f"""equation: diffusion
interfaces: [{{between: [left, right], conductance: {h!r}}}]
boundary: [{{on: xmin, dirichlet: 0}}, {{on: xmax, total_flux: {h!r}}}, {{on: rest, neumann: 0}}]
discretization: {{degree: 2}}
solver: {{{solver}}}
values: [{{name: in, field: flux, take: integral, on: xmax}}, {{name: out, field: flux, take: integral, on: xmin}}]
"""
                    out = self.solve(case)
                    wanted = 1 + h
                    error = abs(out["potentials"]["xmax"] / wanted - 1)
                    self.assertLess(error, max(10 * out["solver"]["error"], 1e-13), what)
                    self.assertLess(out["solver"]["error"], 1e-8, what)
                    lost = abs(out["values"]["in"] + out["values"]["out"]) / h
                    # beside a flux of 1e-3 q is rounded as (p + 1) K / size = 12 is, once by either end
                    rounding = 12 * 2.2e-16 / h if h == 1e-3 else 0.0
                    self.assertLess(lost, 3 * out["balance"] + 1e-12 + rounding, what)
                    if h == 1e-8:
                        found = self.solve(case.replace("dirichlet: 0", "robin: {a: 1, g: 0}"))
                        self.near(found["potentials"]["xmax"], 1 + 2e-8, 1e-10, what)

    def test_loose_electrodes(self):
        """Behind contacts of 1e-14 a loose solve leaves a potential 1e-5 off: a correction mends it, and is its bar."""
        for shape in ("triangle", "hex"):
            for h in (1e-14, 1e-12):
                for solver in ("method: fgmres, preconditioner: jacobi", "method: cg, preconditioner: block"):
                    out = self.solve(self.bars(shape) + f"""equation: diffusion
interfaces: [{{between: [left, right], conductance: {h!r}}}]
boundary: [{{on: xmin, dirichlet: 0}}, {{on: xmax, total_flux: {h!r}}}, {{on: rest, neumann: 0}}]
discretization: {{degree: 2}}
solver: {{{solver}}}
values: [{{name: xmax, field: u, take: mean, on: right}}]
""")
                    error, bars = abs(out["potentials"]["xmax"] - 1 - h), out.get("bars", {})
                    bar = bars.get("potential of xmax", {}).get("error", 0.0)
                    self.assertLess(error, max(3 * bar, 2e-8), f"{shape} {h} {solver}")
                    self.assertLess(bar, 1e-5, f"{shape} {h} {solver}")
                    self.assertEqual("xmax" in bars, "potential of xmax" in bars)

    def test_bars_behind_a_contact(self):
        """q of a body that hardly anything reaches has bars of its own size, whatever q is elsewhere in the mesh."""
        for shape in ("triangle", "hex"):
            case = self.bars(shape, cells=[8, 3, 2][:2 if shape in SHAPES[2] else 3]) + """equation: diffusion
source: [{on: left, value: 1000*x*y}]
interfaces: [{between: [left, right], conductance: 1.0e-6}]
boundary: [{on: xmin, dirichlet: y}, {on: xmax, robin: {a: 1, g: 1}}, {on: rest, neumann: 0}]
discretization: {degree: 2}
values:
  - {name: elsewhere, field: q, take: max, on: left}
  - {name: largest, field: q, take: max, on: right}
  - {name: mean, field: q, take: mean, component: x, on: right}
  - {name: whole, field: q, take: integral, component: x, on: right}
"""
            wanted = self.solve(case + "solver: {method: direct}\n")["values"]
            out = self.solve(case + "solver: {method: cg, preconditioner: block, rtol: 1.0e-8}\n")
            for name in ("largest", "mean", "whole"):
                error, bar = abs(out["values"][name] - wanted[name]), out.get("bars", {}).get(name, {}).get("error", 0.0)
                self.assertGreater(error, 1e-7 * wanted["largest"], f"{shape} {name}: a case for this test")
                self.assertLess(error, 10 * bar, f"{shape} {name}")
            self.assertLess(out["bars"].get("elsewhere", {"error": 0.0})["error"], 1e-4)

    def test_a_heavy_tau(self):
        """The second side is condensed by a factor: by an inverse, rounded by eps tau^2 / K, u was off by 1e-3."""
        for shape in SHAPES[2]:
            out = self.solve(self.bars(shape) + """equation: diffusion
conductivity: [{on: left, value: 700}, {on: right, value: 3.0e-6}]
interfaces: [{between: [left, right], conductance: 1.0e-4}]
boundary: [{on: xmin, neumann: 1}, {on: xmax, dirichlet: 0}, {on: rest, neumann: 0}]
discretization: {degree: 3, tau: 3000}
solver: {method: direct}
values: [{name: u, field: u, take: mean, on: left}]
""")
            self.near(out["values"]["u"] / (1e4 + 0.5 / 3e-6 + 0.25 / 700), 1, 1e-6, shape)

    def test_orders(self):
        """A solution that varies along the contact: order p + 1 of u and q, p + 2 of u*."""
        for shape in ALL:
            # 2 u_x is the same on both sides, and 4 times the jump
            exact = "if(x < 0.5, sin(y)*x, sin(y)*(1 + 2*(x - 0.5)/5))"
            case = self.bars(shape, cells=[2, 1, 1][:2 if shape in SHAPES[2] else 3]) + f"""equation: diffusion
conductivity: [{{on: left, value: 2}}, {{on: right, value: 5}}]
interfaces: [{{between: [left, right], conductance: 4}}]
exact: "{exact}"
discretization: {{tau: 10}}
"""
            refine = "1:3" if shape in SHAPES[2] else "0:2"
            self.run_program("converge", self.write(case), "--refine", refine, "--degree", "1:2", "--json", "c.json")
            rows = [r for r in json.loads(self.read("c.json"))["rows"] if "rates" in r]
            last = [rows[len(rows) // 2 - 1], rows[-1]]
            for p, row in enumerate(last, 1):
                for field, order in (("u", p + 1), ("q", p + 1), ("u_star", p + 2)):
                    self.assertGreater(row["rates"][field]["L2"], order - 0.35, f"{shape} {p} {field}")

    def test_curved(self):
        """Two layers of a pipe (the mesh of examples/contact.yaml, of order 4): the heat converges to the closed form."""
        mesh = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "meshes", "layers.msh")
        wanted = math.pi / 2 / (math.log(1.5) / 16 + 1 / (4 * 1.5) + math.log(2 / 1.5) / 0.8)
        errors = {}
        for degree in (1, 2, 3):
            for refine in (0, 1):
                out = self.solve(f"""mesh: {{file: "{mesh}", refine: {refine}}}
equation: diffusion
conductivity: [{{on: pipe, value: 16}}, {{on: jacket, value: 0.8}}]
interfaces: [{{between: [pipe, jacket], conductance: 4*(x^2 + y^2)/2.25}}]
boundary: [{{on: inner, dirichlet: 1}}, {{on: outer, dirichlet: 0}}, {{on: rest, neumann: 0}}]
discretization: {{degree: {degree}}}
values: [{{name: heat, field: flux, take: integral, on: outer}}, {{name: in, field: flux, take: integral, on: inner}}]
""")
                self.near(out["values"]["heat"] + out["values"]["in"], 0, 1e-11)
                errors[degree, refine] = abs(out["values"]["heat"] / wanted - 1)
        for degree in (1, 2):
            rate = math.log2(errors[degree, 0] / errors[degree, 1])
            self.assertGreater(rate, 2 * degree + 0.5, f"{errors}")  # of a functional
        self.assertLess(errors[3, 1], 2e-8)

    def test_three_layers(self):
        """Several contacts, one of whose cells has two of them; groups that no contact names conduct as ever."""
        for shape in SHAPES[2]:
            names = ["a", "b", "c", "d"]
            mesh = self.bars(shape, region=lambda x: names[int(4 * x[0])])
            values = self.solve(mesh + """equation: diffusion
interfaces: [{between: [a, b], conductance: 2}, {between: [c, b], conductance: 5}]
boundary: [{on: xmin, dirichlet: 0}, {on: xmax, dirichlet: 1}, {on: rest, neumann: 0}]
discretization: {degree: 1}
values: [{name: q, field: flux, take: integral, on: xmin}, {name: d, field: u, take: min, on: d}]
""")["values"]
            q = 1 / (1 + 0.5 + 0.2)
            self.near([values["q"], values["d"]], [q, 1 - q / 4], 1e-11, shape)

    def test_slender_cells(self):
        """What a weak contact holds, it holds against the stiffness across slender cells: u of the right part is right to
        1e-7, and where u of the left one is a millionth of that, a note tells how far it may be off there."""
        F, h = -2.43e-6, 4e-11  # an ulp of u on the right is 4e-6 of the load
        there = -1 + F / h
        for shape, reaction in (("triangle", 0), ("quad", 0), ("quad", 8.21e-16)):
            height = 6700 if shape == "quad" else 2000
            mesh = self.lattice(shape, upper=[2, height], cells=[2, 3], region=lambda x: "left" if x[0] < 1 else "right")
            for solver in ("method: direct", "preconditioner: amg"):
                out = self.solve(mesh + f"""equation: diffusion
conductivity: [{{on: left, value: 2.43e-6}}, {{on: right, value: 1.37}}]
interfaces: [{{between: [left, right], conductance: {h!r}}}]
{f"reaction: {reaction}" if reaction else ""}
source: [{{on: left, value: "{reaction}*(-x)"}}, {{on: right, value: "{reaction}*({there!r} + {F / 1.37!r}*(x - 1))"}}]
boundary:
  - {{on: xmin, robin: {{a: 1.31e-10, g: {-F!r}}}}}
  - {{on: xmax, neumann: {F!r}}}
  - {{on: rest, neumann: 0}}
discretization: {{degree: 3}}
solver: {{{solver}}}
values: [{{name: left, field: u, at: [0.6, {0.18 * height}]}}, {{name: right, field: u, at: [1.4, {0.64 * height}]}}]
""")
                what = f"{shape} {reaction} {solver}"
                left, right = out["values"]["left"], out["values"]["right"]
                self.near(right / there, 1, 1e-7, what)
                told = [float(found[1]) for note in out.get("notes", [])
                        if (found := re.search(r"group 'left' .*error there is about (\S+) of u", note))]
                self.assertLess(abs(left + 0.6) / 0.6, 10 * max(told + [1e-6]), what)

    def test_a_heavy_robin_side(self):
        """One cell has the contact and a Robin side whose a is 1e10 of its K: what goes in comes out."""
        for shape in ALL:
            out = self.solve(self.bars(shape, cells=[2, 1, 1][:2 if shape in SHAPES[2] else 3]) + """equation: diffusion
conductivity: [{on: left, value: 11270}, {on: right, value: 8.47e-6}]
interfaces: [{between: [left, right], conductance: 651}]
boundary: [{on: xmin, neumann: 3}, {on: xmax, robin: {a: 76300, g: 200141}}, {on: rest, neumann: 0}]
discretization: {degree: 2}
solver: {method: direct}
values: [{name: out, field: flux, take: integral, on: xmax}, {name: u, field: u, take: mean, on: left}]
""")
            self.near(out["values"]["out"] / 3, 1, 1e-11, shape)
            u = 200144 / 76300 + 3 * (0.5 / 8.47e-6 + 1 / 651 + 0.25 / 11270)
            self.near(out["values"]["u"] / u, 1, 1e-10, shape)

    def test_a_heavy_tau(self):
        """tau far above K/h in the cell of a contact whose modes its radii couple: constants stay constants there."""
        for shape in ("triangle", "quad"):
            mesh = self.lattice(shape, cells=[2, 4], region=lambda x: "low" if x[1] < 0.5 else "high",
                                moved=lambda x: [x[0] + 0.2 * x[0] * (1 - x[0]) * x[1], x[1]])
            out = self.solve(mesh + """equation: diffusion
plane: axisymmetric
conductivity: [{on: low, value: 0.01}, {on: high, value: 1}]
interfaces: [{between: [low, high], conductance: 1}]
boundary: [{on: ymin, neumann: 600}, {on: ymax, dirichlet: 3.0e+5}, {on: xmax, neumann: 0}]
discretization: {degree: 1, tau: 1.0e+7}
solver: {method: direct}
values: [{name: high, field: u, at: [0.3, 0.6]}, {name: low, field: u, at: [0.3, 0.1]}]
""")
            values = [out["values"]["high"] / (3e5 + 600 * 0.4), out["values"]["low"] / (3e5 + 600 * (0.5 + 1 + 40))]
            self.near(values, [1, 1], 1e-7, shape)

    def test_a_light_tau(self):
        """What tau / K of 3e-6 leaves inside of the cells of one group is in the bars of u there."""
        Ks, ends, a, g, left = (3.3e-6, 1740, 0.27, 2.4e-4), (0.2, 0.5, 0.8, 1), 16800, 1.5, -0.927
        for shape in ("quad", "triangle"):
            mesh = self.lattice(shape, cells=[2, 10], region=lambda x: f"g{[x[1] < y for y in ends].index(True)}",
                                moved=lambda x: [x[0] + 0.2 * x[0] * (1 - x[0]) * math.sin(3 * x[1]), x[1]])
            for rtol in (1e-5, 3e-6, 1e-6):
                out = self.solve(mesh + f"""equation: diffusion
plane: axisymmetric
conductivity: [{", ".join(f"{{on: g{i}, value: {K}}}" for i, K in enumerate(Ks))}]
interfaces: [{{between: [g2, g3], conductance: 5190}}]
boundary: [{{on: ymin, dirichlet: {left}}}, {{on: ymax, robin: {{a: {a}, g: {g}}}}}, {{on: xmax, neumann: 0}}]
discretization: {{degree: 2, tau: 0.005}}
solver: {{method: cg, preconditioner: block, rtol: {rtol}, max_iterations: 3000}}
values: [{{name: most, field: u, take: max, on: g1}}, {{name: least, field: u, take: min, on: g1}}]
""")
                q = (g / a - left) / (sum(w / K for w, K in zip((0.2, 0.3, 0.3, 0.2), Ks)) + 1 / 5190 + 1 / a)
                least = left + q * 0.2 / Ks[0]
                for name, u in ("least", least), ("most", least + q * 0.3 / Ks[1]):
                    error, bar = abs(out["values"][name] - u), out["bars"][name]["error"]
                    self.assertLess(error, 5 * bar, f"{shape} {rtol} {name}")
                    self.assertLess(bar, 1e-4 * abs(u), f"{shape} {rtol} {name}")
                    if shape == "quad":  # 9e-8 without what is inside
                        self.assertGreater(bar, 1.4e-7 * abs(u), f"{rtol} {name}")

    def assert_told(self, out, wanted, what):
        """Every value is right to 1e-7 of its scale, or the run says how far it may be off."""
        for name, (value, scale) in wanted.items():
            bar = out.get("bars", {}).get(name, {}).get("error", 0.0)
            self.assertLess(abs(out["values"][name] - value), max(10 * bar, 1e-7 * scale), f"{what}, {name}")

    def test_values_of_a_small_group(self):
        """Behind a weak contact u is a millionth of that before it: values of a loose solve are judged by the error of u
        where they are taken. Of accurate ones nothing is said."""
        h, names = 1e-6, ("at", "star", "mean", "integral", "most", "least", "q")
        for shape, K in (("triangle", 1), ("triangle", 1e3), ("quad", 1e3)):
            case = self.bars(shape) + f"""equation: diffusion
conductivity: [{{on: left, value: 1}}, {{on: right, value: {K}}}]
interfaces: [{{between: [left, right], conductance: {h}}}]
boundary: [{{on: xmin, neumann: 1}}, {{on: xmax, dirichlet: 1}}, {{on: rest, neumann: 0}}]
discretization: {{degree: 3}}
values:
  - {{name: at, field: u, at: [0.77, 0.41]}}
  - {{name: star, field: u_star, at: [0.77, 0.41]}}
  - {{name: mean, field: u, take: mean, on: right}}
  - {{name: integral, field: u, take: integral, on: right}}
  - {{name: most, field: u, take: max, on: right}}
  - {{name: least, field: u, take: min, on: right}}
  - {{name: q, field: q, component: x, take: mean, on: right}}
  - {{name: far, field: u, at: [0.27, 0.41]}}
  - {{name: out, field: flux, take: integral, on: xmax}}
"""
            wanted = [1 + 0.23 / K, 1 + 0.23 / K, 1 + 0.25 / K, 0.5 + 0.125 / K, 1 + 0.5 / K, 1, 1]
            wanted = {**{name: (value, 1) for name, value in zip(names, wanted)}, "out": (1, 1),
                      "far": (1 + 0.5 / K + 1 / h + 0.23, 1 / h)}
            for preconditioner in ("none", "jacobi"):
                what = f"{shape} {K} {preconditioner}"
                out = self.solve(case + f"solver: {{method: cg, preconditioner: {preconditioner}, rtol: 1e-6}}\n")
                self.assert_told(out, wanted, what)
                self.assertLess(abs(out["values"]["out"] - 1), 1e-12, what)  # it is what goes in, which is given
                for name in out.get("bars", {}):
                    self.assertLess(out["bars"][name]["error"], 0.02, f"{what}, {name}")
            out = self.solve(case + "solver: {method: direct}\n", "--set", "interfaces.0.conductance=1")
            self.assertNotIn("bars", out)

    def test_what_steps_never_saw(self):
        """Between two contacts u as a whole is a billionth of that before them, and so is its part of the residual: steps
        that end before they know how little of it a preconditioner finds say how far values there may be off."""
        h, q, names = 1e-9, 1e-9, "aabbccd"
        for thin, between in ((0.04, 0.76), (0.04, 0.076), (0.1, 0.76)):
            lines = [-0.6, -0.4, -0.2, -0.2 + thin/2, -0.2 + thin, -0.08, 0.06, 0.4]

            def along(x):
                i = min(int(7*x[0] + 1e-9), 6)
                return [lines[i] + (7*x[0] - i)*(lines[i + 1] - lines[i]), x[1], x[2]]

            wanted = q*(1/8e5 + 0.34/0.16 + (0.26 - thin)/10 + 1/between + thin/1400)
            for shape in SHAPES[3]:
                mesh = self.lattice(shape, cells=[7, 1, 2], moved=along, region=lambda x: names[int(7*x[0])])
                for solver in ("method: cg, preconditioner: amg", "method: cg, preconditioner: pmg",
                               "method: fgmres, preconditioner: pmg"):
                    out = self.solve(mesh + f"""equation: diffusion
conductivity: [{{on: a, value: 240}}, {{on: b, value: 700}}, {{on: c, value: 10}}, {{on: d, value: 0.16}}]
interfaces: [{{between: [a, b], conductance: {h}}}, {{between: [b, c], conductance: {between}}}]
boundary: [{{on: xmin, total_flux: {q}}}, {{on: xmax, robin: {{a: 8e5, g: 0}}}}, {{on: rest, neumann: 0}}]
discretization: {{degree: 2}}
values: [{{name: mean, field: u, take: mean, on: b}}]
solver: {{{solver}, rtol: 1e-11}}
""")
                    self.assert_told(out, {"mean": (wanted, wanted)}, f"{shape} {thin} {between} {solver}")

    def test_groups_of_one_size_are_not_told(self):
        out = self.solve(self.bars("triangle") + """equation: diffusion
conductivity: [{on: left, value: 1}, {on: right, value: 1e3}]
interfaces: [{between: [left, right], conductance: 0.1}]
boundary: [{on: xmin, dirichlet: 0}, {on: xmax, dirichlet: 1}, {on: rest, neumann: 0}]
discretization: {degree: 2}
""")
        self.assertNotIn("notes", out)
        self.assertLess(out["solver"]["error"], 1e-11)

    def test_refusals(self):
        case = self.bars("quad", region=lambda x: ["a", "b", "c", "d"][int(4 * x[0])]) + """equation: diffusion
boundary: [{on: xmin, dirichlet: 0}, {on: rest, neumann: 0}]
"""

        def refused(interfaces, *words, more=""):
            self.refused(case + f"interfaces: [{interfaces}]\n" + more, *words)

        refused("{between: [a, c], conductance: 1}", "case.yaml:4:", "'a' and 'c' do not touch")
        refused("{between: [a, a], conductance: 1}", "case.yaml:4:", "'a' is named twice")
        refused("{between: [a, e], conductance: 1}", "case.yaml:4:", "no group of cells 'e'", "a, b, c, d")
        refused("{between: [a, b], conductance: 0}", "interfaces.0.conductance", "> 0")
        refused("{between: [a, b], conductance: -2}", "interfaces.0.conductance", "> 0")
        refused("{between: [a, b], conductance: x - 1}", "'a' and 'b'", "must be positive", "x=0.25")
        refused("{between: [a, b], conductance: nx}", "interfaces.0.conductance", "normal")
        refused("{between: [a], conductance: 1}", "interfaces.0.between", "2 names")
        refused("{between: [a, b]}", "interfaces.0", "missing key", "conductance")
        refused("{between: [a, b], conductance: 1}, {between: [b, a], conductance: 2}", "two conductances")
        refused("{between: [a, b], conductance: 1e-12}", "all that holds the part", "rounding")
        self.refused(case.replace("dirichlet: 0", "robin: {a: 1, g: 0}") +
                     "interfaces: [{between: [a, b], conductance: 1e-12}]\n", "all that holds the part")
        for hangs, holds, side in (("[b, c, d]", "a", "xmin"), ("a", "[b, c, d]", "xmax")):  # its own K counts
            self.refused(case.replace("xmin", side) + "interfaces: [{between: [a, b], conductance: 1e-6}]\n" +
                         f"conductivity: [{{on: {hangs}, value: 1e6}}, {{on: {holds}, value: 1e-3}}]\n",
                         "all that holds the part")
        for method in ("condensed", "continuous"):
            refused("{between: [a, b], conductance: 1}", "case.yaml:4:", "method: hdg",
                    more=f"discretization: {{method: {method}}}\n")
        self.refused(case.replace("diffusion", "elasticity") + "interfaces: [{between: [a, b], conductance: 1}]\n",
                     "interfaces", "diffusion")


if __name__ == "__main__":
    unittest.main()
