"""Bodies of revolution, plane: axisymmetric, against closed forms: cylinders, disks, spheres; polynomials to rounding,
orders, integrals over the body, and what is refused. FACET_PROGRAM says where the program is."""

import json
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lattice  # noqa: E402
from test_app import SOURCE, Program  # noqa: E402

SHAPES = ("triangle", "quad")
AXIS = "plane: axisymmetric\n"
SPHERE = os.path.join(SOURCE, "examples", "meshes", "cylinder.msh")  # a quarter of a ring: half a hollow sphere


def box(shape, lower=(0, 0), upper=(2, 1), cells=(2, 2)):
    return (f"mesh: {{box: {{lower: {list(lower)}, upper: {list(upper)}, cells: {list(cells)}, shape: {shape}}}}}\n")


class Axis(Program):
    def near(self, found, wanted, delta, message=""):
        found, wanted = (x if isinstance(x, list) else [x] for x in (found, wanted))
        self.assertEqual(len(found), len(wanted), message)
        for a, b in zip(found, wanted):
            self.assertAlmostEqual(a, b, delta=delta, msg=f"{message}: {found}, not {wanted}")

    def skewed(self, shape, lower=(0, 0), upper=(2, 1), cells=(3, 3)):
        """Cells of which none is like another; the axis stays where it is."""
        lattice.write(self.path("skewed.msh"), shape, list(lower), list(upper), list(cells),
                      moved=lambda x: (x[0] + 0.1 * (x[0] - lower[0]) * (upper[0] - x[0]) * math.sin(7 * x[1]),
                                       x[1] + 0.1 * math.sin(3 * x[0] + 1) * (x[1] - lower[1]) * (upper[1] - x[1])))
        return "mesh: {file: skewed.msh}\n"

    def orders(self, case, degree, refine, expected):
        """expected: by field, the least order that is observed last."""
        self.run_program("converge", self.write(case), "--refine", refine, "--degree", f"{degree}:{degree}", "--json",
                         "rows.json", "--set", "solver.method=direct")
        rates = json.loads(self.read("rows.json"))["rows"][-1]["rates"]
        for field, order in expected.items():
            self.assertGreater(rates[field]["L2"], order, f"{field}: {rates}")


class Diffusion(Axis):
    def test_polynomials(self):
        """Of the degree, with a matrix and a reaction, on cells at the axis and away from it: exact to rounding."""
        for shape in SHAPES:
            for mesh in (box(shape), self.skewed(shape), self.skewed(shape, lower=(1, 0), upper=(2, 1))):
                out = self.solve(mesh + AXIS + """equation: diffusion
conductivity: [[2 + y, 0.3*x], [0.3*x, 1 + x/5]]
reaction: 1 + x
exact: 1 + x^2*y - y^3 + 2*x^2
discretization: {degree: 3}
solver: {method: direct}
""")
                # K grad u is of degree 3 as well
                for field in ("u", "q", "u_star", "trace"):
                    self.assertLess(out["errors"][field]["L2"], 2e-10, f"{shape} {field}")
                self.assertLess(out["balance"], 1e-12)

    def test_orders(self):
        """The profile of a hollow cylinder, a source of heat in space and a function that is round at the axis."""
        cases = (("log(x)", (1, 0), "1", "1 + x*y"), ("1/sqrt(x^2 + (y + 1)^2)", (0, 0), "0", "1"),
                 ("cos(x)*exp(y)", (0, 0), "1", "[[2 + y, x/2], [x/2, 1]]"))
        for shape in SHAPES:
            for exact, lower, reaction, conductivity in cases:
                case = box(shape, lower) + AXIS + f"""equation: diffusion
exact: {exact}
reaction: {reaction}
conductivity: {conductivity}
discretization: {{tau: {1 if shape == "triangle" else 10}}}
"""
                for degree in (1, 2):
                    self.orders(case, degree, "2:3",
                                {"u": degree + 0.9, "q": degree + 0.8, "u_star": degree + 1.75})

    def test_curved_orders(self):
        """Half a hollow sphere in curved triangles, a hole in curved quads; one of their sides is on the axis."""
        for mesh, tau in ((SPHERE, 1), (SPHERE.replace("cylinder", "kirsch"), 10)):
            case = f"mesh: {{file: {mesh}}}\n" + AXIS + "equation: diffusion\nexact: 1/sqrt(x^2 + y^2)\n"
            self.orders(case + f"discretization: {{tau: {tau}}}\n", 2, "1:2", {"u": 2.8, "q": 2.7, "u_star": 3.7})

    def test_sphere(self):
        """u = 2/R - 1 between the radii 1 and 2: 8 pi through every sphere, half of it through the upper half."""
        out = self.solve(f"mesh: {{file: {SPHERE}}}\n" + AXIS + """equation: diffusion
conductivity: 3
boundary: [{on: inner, dirichlet: 1}, {on: outer, dirichlet: 0}, {on: bottom, neumann: 0}]
discretization: {degree: 5}
values:
  - {name: out, field: flux, take: integral, on: outer}
  - {name: in, field: flux, take: integral, on: inner}
  - {name: axis, field: flux, take: integral, on: left}
  - {name: pole, field: u_star, at: [0, 1.5]}
  - {name: all, field: u, take: integral}
""")
        self.assertLess(out["balance"], 1e-12)
        values = out["values"]
        self.near([values["out"], values["in"], values["axis"]], [12 * math.pi, -12 * math.pi, 0], 2e-4)
        self.near(values["pole"], 1 / 3, 1e-5)
        self.near(values["all"], 2 * math.pi * (3 - 7 / 3), 2e-4)

    def test_cylinder(self):
        """A rod with heat inside and a film outside: u = w + f (R^2 - r^2)/(4 k), a (w - 3) = f R/2."""
        case = box("quad", upper=(2, 3)) + AXIS + """equation: diffusion
conductivity: 5
source: 7
boundary: [{on: xmax, robin: {a: 2, g: 6}}, {on: [ymin, ymax], neumann: 0}]
discretization: {degree: 2}
values:
  - {name: axis, field: u_star, at: [0, 1.3]}
  - {name: mean, field: u, take: mean}
  - {name: all, field: u, take: integral}
  - {name: out, field: flux, take: integral, on: xmax}
  - {name: wall, field: u, take: mean, on: xmax}
  - {name: hottest, field: u, take: max, on: xmin}
"""
        wanted = [7.9, 7.2, 7.2 * 12 * math.pi, 84 * math.pi, 6.5, 7.9]
        ways = [(), ("--device", "ref"), ("--device", "debug"), ("--set", "mesh.box.shape=triangle"),
                ("--set", "solver={method: cg, preconditioner: amg, rtol: 1e-13}"),
                ("--set", "solver={method: cg, preconditioner: block, rtol: 1e-13}"),
                ("--set", "solver={method: cg, preconditioner: pmg, rtol: 1e-13}"),
                ("--set", "solver={method: cg, preconditioner: gmg, rtol: 1e-13}"),
                ("--set", "discretization={degree: 2, tau: {hat: 4}}"), ("--set", "discretization.tau=3 + x")]
        for way in ways:
            out = self.solve(case, *way)
            self.near(list(out["values"].values()), wanted, 1e-9, str(way))
            self.assertLess(out["balance"], 1e-11)

    def test_one_part_all_around(self):
        """A part that touches the axis and goes on elsewhere has its condition elsewhere; a ring that repeats itself."""
        lattice.write(self.path("body.msh"), "quad", [0, 0], [2, 1], [3, 3])
        with open(self.path("body.msh")) as file:
            text = file.read()
        for name in ("xmin", "ymin", "ymax"):  # all become one part, with the number of xmax
            number = next(line.split()[1] for line in text.split("\n") if line.endswith(f'"{name}"'))
            wall = next(line.split()[1] for line in text.split("\n") if line.endswith('"xmax"'))
            text = text.replace(f" 1 2 {number} {number} ", f" 1 2 {wall} {wall} ").replace(f'1 {number} "{name}"\n', "")
        with open(self.path("body.msh"), "w") as file:
            file.write(text.replace("$PhysicalNames\n5", "$PhysicalNames\n2"))
        case = "mesh: {file: body.msh}\n" + AXIS + """equation: diffusion
source: 2
boundary: [{on: xmax, dirichlet: y^2 - x^2}]
discretization: {degree: 2}
values: [{name: u, field: u, at: [0, 0.5]}, {name: out, field: flux, take: integral, on: xmax}]
"""
        values = self.solve(case)["values"]
        self.near([values["u"], values["out"]], [0.25, 8 * math.pi], 1e-9)
        ring = box("triangle", (0, 0), (1, 1)).replace("triangle}", "triangle, periodic: [y]}") + AXIS + """equation: diffusion
source: 4
boundary: [{on: xmax, dirichlet: 0}]
discretization: {degree: 2}
values: [{name: u, field: u, at: [0, 0.5]}]
"""
        self.near(self.solve(ring)["values"]["u"], 1, 1e-9)

    def test_electrode(self):
        """A current of 8 pi out of a wire of radius 1 and length 4 into a tube of radius e: u = ln(e/r)."""
        values = self.solve(self.skewed("triangle", (1, 0), (math.e, 4), (4, 4)) + AXIS + """equation: diffusion
boundary: [{on: xmin, total_flux: 8*pi}, {on: xmax, dirichlet: 0}, {on: rest, neumann: 0}]
discretization: {degree: 6}
values: [{name: wire, field: u, take: mean, on: xmin}, {name: in, field: flux, take: integral, on: xmin}]
""")["values"]
        self.near([values["wire"], values["in"]], [1, -8 * math.pi], 1e-6)

    def test_fluxes_all_around(self):
        """Only the mean tells: u = z^2 - r^2/2 is harmonic; its mean over a cylinder of radius 2, height 1 is 1/3 - 1."""
        for shape in SHAPES:
            out = self.solve(self.skewed(shape) + AXIS + """equation: diffusion
exact: y^2 - x^2/2
boundary: [{on: rest, neumann: exact}]
discretization: {degree: 2}
values: [{name: mean, field: u, take: mean}]
""")
            self.assertLess(out["errors"]["u"]["L2"], 1e-10)
            self.near(out["values"]["mean"], 1 / 3 - 1, 1e-11)
        self.refused(box("quad") + AXIS + "equation: diffusion\nsource: 1\nboundary: [{on: rest, neumann: 0}]\n",
                     "must balance", "12.5664")

    def test_reaction_alone(self):
        """A weak reaction holds the constant: u = source / reaction."""
        for reaction in ("1e-6", "0.3"):
            values = self.solve(self.skewed("quad") + AXIS + f"""equation: diffusion
reaction: {reaction}
source: 5*{reaction}
boundary: [{{on: rest, neumann: 0}}]
values: [{{name: mean, field: u, take: mean}}]
""")["values"]
            self.near(values["mean"], 5, 1e-9)


class Elasticity(Axis):
    def test_polynomials(self):
        """Of degree k + 1, so that the stress is of degree k and A sigma = eps(u) holds as it stands."""
        warm = "thermal: {expansion: 0.5, reference: 1, temperature: x^2 + y}\n"
        cases = ((1, "[x*y + 2*x, y^2 - x^2]", ""), (2, "[x^3 + x*y^2, x^2*y - y^3 + x^2]", ""),
                 (2, "[x^3 + x*y^2, x^2*y - y^3 + x^2]", warm))
        for shape in SHAPES:
            for degree, exact, heat in cases:
                for mesh in (box(shape), self.skewed(shape), self.skewed(shape, lower=(1, 0), upper=(2, 1))):
                    out = self.solve(mesh + AXIS + f"""equation: elasticity
material: {{E: 3, nu: 0.3}}
exact: {exact}
discretization: {{degree: {degree}}}
boundary: [{{on: xmax, traction: exact}}, {{on: ymax, traction: exact, spring: 3}}]
solver: {{method: direct}}
{heat}""")
                    for field in ("u", "stress"):
                        self.assertLess(out["errors"][field]["L2"], 3e-10, f"{shape} {field}")
                    self.assertLess(out["balance"], 1e-11)

    def test_orders(self):
        """Lame's cylinder, sphere and a body that is whole at the axis: k + 1 of the stress, k + 2 of u."""
        cases = (("[x + 4/x, 0]", (1, 0), "{E: 1, nu: 0.3}"),
                 ("[x*(1 + 4/R^3), (y + 1)*(1 + 4/R^3)]".replace("R^3", "sqrt(x^2 + (y + 1)^2)^3"), (0, 0),
                  "{E: 1, nu: 0.3}"),
                 ("[sin(x)*exp(y), cos(x)*y]", (0, 0), "{mu: 1, lambda: 1000}"))
        for shape in SHAPES:
            for exact, lower, material in cases:
                case = box(shape, lower) + AXIS + f"equation: elasticity\nexact: {exact}\nmaterial: {material}\n"
                for degree in (2, 3):
                    self.orders(case, degree, "2:3", {"stress": degree + 0.75, "u": degree + 1.5})

    def test_curved_orders(self):
        for mesh in (SPHERE, SPHERE.replace("cylinder", "kirsch")):
            case = f"mesh: {{file: {mesh}}}\n" + AXIS + """equation: elasticity
exact: [x*(1 + 4/sqrt(x^2 + y^2)^3), y*(1 + 4/sqrt(x^2 + y^2)^3)]
material: {E: 1, nu: 0.3}
"""
            self.orders(case, 2, "1:2", {"stress": 2.7, "u": 3.6})

    def test_cylinder(self):
        """Lame's thick-walled cylinder, its ends held: radii 1 and 2, pressure 1, E = 1, nu = 0.3."""
        case = box("quad", (1, 0), (2, 0.5), (4, 1)) + AXIS + """equation: elasticity
material: {E: 1, nu: 0.3}
boundary: [{on: xmin, pressure: 1}, {on: [ymin, ymax], roller: y}, {on: xmax, traction: [0, 0]}]
discretization: {degree: 5}
values:
  - {name: inside, field: u, component: x, at: [1, 0.2]}
  - {name: outside, field: u, component: x, at: [2, 0.2]}
  - {name: radial, field: stress, component: xx, at: [1, 0.2]}
  - {name: along, field: stress, component: yy, at: [1, 0.2]}
  - {name: hoop, field: stress_across, at: [1, 0.2]}
  - {name: mises, field: von_mises, at: [1, 0.2]}
  - {name: strain, field: strain, at: [1, 0.2]}
  - {name: end, field: traction, component: y, take: integral, on: ymax}
  - {name: push, field: traction, component: x, take: integral, on: xmin}
"""
        across = 0.3 * (5 / 3 - 1)
        mises = math.sqrt(((-1 - 5 / 3)**2 + (5 / 3 - across)**2 + (across + 1)**2) / 2)
        wanted = [1.3 / 3 * 4.4, 1.3 / 3 * 2.8, -1, across, 5 / 3, mises,
                  [-1 - 0.3 * (5 / 3 + across), 0, 0, 0], across * math.pi * 3 - 0, math.pi]
        ways = [(), ("--device", "ref"), ("--device", "debug"), ("--set", "mesh.box.shape=triangle"),
                ("--set", "solver={method: cg, preconditioner: amg}"), ("--set", "material.nu=0.3 + 0*x")]
        for way in ways:
            out = self.solve(case, *way)
            for (name, found), value in zip(out["values"].items(), wanted):
                self.near(found, value, 2e-5, f"{name} {way}")
            self.assertLess(out["balance"], 1e-9)

    def test_sphere(self):
        """Lame's hollow sphere, curved triangles: radii 1 and 2, pressure 1, E = 1, nu = 0.3."""
        out = self.solve(f"mesh: {{file: {SPHERE}}}\n" + AXIS + """equation: elasticity
material: {E: 1, nu: 0.3}
boundary: [{on: inner, pressure: 1}, {on: bottom, roller: y}, {on: outer, traction: [0, 0]}]
discretization: {degree: 5}
values:
  - {name: equator, field: u, at: [1, 0]}
  - {name: pole, field: u, at: [0, 2]}
  - {name: hoop, field: stress_across, at: [1, 0]}
  - {name: meridian, field: stress, component: yy, at: [1, 0]}
  - {name: up, field: traction, component: y, take: integral, on: inner}
  - {name: support, field: traction, component: y, take: integral, on: bottom}
""")
        self.assertLess(out["balance"], 1e-12)
        values = out["values"]
        self.near(values["equator"] + values["pole"], [0.8, 0, 0, 0.3], 2e-5)
        self.near([values["hoop"], values["meridian"]], [5 / 7, 5 / 7], 2e-3)
        self.near([values["up"], values["support"]], [math.pi, -math.pi], 2e-5)

    def test_spinning_cylinder(self):
        """A solid one between walls: u = (1 + nu)(1 - 2 nu)/(8 E (1 - nu)) w^2 r ((3 - 2 nu) b^2 - r^2), a polynomial."""
        for shape in SHAPES:
            values = self.solve(self.skewed(shape) + AXIS + """equation: elasticity
material: {E: 2, nu: 0.25}
source: [3*x, 0]
boundary: [{on: [ymin, ymax], roller: y}, {on: xmax, traction: [0, 0]}]
discretization: {degree: 2}
values: [{name: rim, field: u, at: [2, 0.5]}, {name: axis, field: u, at: [0, 0.5]},
  {name: middle, field: stress, component: xx, at: [0, 0.5]}, {name: hoop, field: stress_across, at: [0, 0.5]}]
""")["values"]
            rim = 1.25 * 0.5 / (8 * 2 * 0.75) * 3 * 2 * (2.5 * 4 - 4)
            middle = 3 * 2.5 / (8 * 0.75) * 4
            self.near(values["rim"] + values["axis"], [rim, 0, 0, 0], 1e-9, shape)
            self.near([values["middle"], values["hoop"]], [middle, middle], 1e-8, shape)

    def test_forces_of_a_thin_tube(self):
        """Pulled, 1000 times as wide as thick: what is given at one end is the force at the other. It had a bar 10000
        times its error, since a doubt of 7e-8 was not worth a look at the balance."""
        inner, outer = 1 - 5e-4, 1 + 5e-4
        for cells in (20, 100):
            out = self.solve(f"""mesh:
  box: {{shape: quad, lower: [{inner}, 0], upper: [{outer}, 0.3], cells: [2, {cells}]}}
equation: elasticity
plane: axisymmetric
material: {{E: 1, nu: 0.3}}
boundary: [{{on: ymin, roller: y}}, {{on: ymax, traction: [0, 1]}}, {{on: rest, traction: [0, 0]}}]
discretization: {{degree: 2}}
solver: {{method: direct}}
values: [{{name: foot, field: traction, component: y, take: integral, on: ymin}}]
""")
            force = math.pi * (outer ** 2 - inner ** 2)
            self.near(out["values"]["foot"] / force, -1, 1e-13, cells)
            self.assertNotIn("foot", out.get("bars", {}))

    def test_heat(self):
        """Hot inside, its ends held (Timoshenko, Goodier, section 150), by a chain; and a ball that is free to grow."""
        out = self.solve(box("quad", (1, 0), (2, 0.5), (4, 1)) + """cases:
  - name: heat
    equation: diffusion
    plane: axisymmetric
    boundary: [{on: xmin, dirichlet: 100}, {on: xmax, dirichlet: 0}, {on: rest, neumann: 0}]
    discretization: {degree: 5}
  - name: stress
    equation: elasticity
    plane: axisymmetric
    material: {E: 1, nu: 0.3}
    thermal: {expansion: 0.01, temperature: {case: heat, field: u_star}}
    boundary: [{on: [ymin, ymax], roller: y}, {on: rest, pressure: 0}]
    discretization: {degree: 4}
    values:
      - {name: inside, field: stress_across, at: [1, 0.25]}
      - {name: outside, field: stress_across, at: [2, 0.25]}
      - {name: along, field: stress, component: yy, at: [1, 0.25]}
""")["cases"][1]
        self.near([out["values"][name] for name in ("inside", "outside", "along")],
                  [-0.874265, 0.554306, -0.3 * 0.874265 - 1], 5e-4)
        self.assertLess(out["balance"], 1e-9)
        for shape in SHAPES:
            out = self.solve(self.skewed(shape) + AXIS + """equation: elasticity
material: {E: 5, nu: 0.3 + x/20}
thermal: {expansion: 0.02, reference: 20, temperature: 70}
boundary: [{on: ymin, roller: y}, {on: rest, traction: [0, 0]}]
discretization: {degree: 1}
values: [{name: corner, field: u, at: [2, 1]}, {name: stress, field: von_mises, take: max},
  {name: strain, field: strain, take: max}]
""")
            self.near(out["values"]["corner"], [2, 1], 1e-8, shape)
            self.near([out["values"]["stress"], out["values"]["strain"]], [0, math.sqrt(2)], 1e-7, shape)

    def test_multigrid(self):
        """Iterations do not grow with the mesh, nor with lambda, though coarse levels are held on the axis."""
        case = box("triangle") + AXIS + """equation: elasticity
material: {mu: 1, lambda: 1000}
exact: [sin(x)*exp(y), cos(x)*y]
discretization: {degree: 2}
solver: {method: cg, preconditioner: pmg}
"""
        for refine in (2, 4):
            out = self.solve(case, "--set", f"mesh.refine={refine}")
            self.assertLess(out["solver"]["iterations"], 20)
        heat = box("quad", cells=(4, 4)) + AXIS + """equation: diffusion
exact: cos(x)*exp(y)
boundary: [{on: rest, neumann: exact}]
discretization: {degree: 2}
"""
        for preconditioner in ("pmg", "gmg"):
            for refine in (1, 3):
                out = self.solve(heat, "--set", f"mesh.refine={refine}", "--set",
                                 f"solver={{method: cg, preconditioner: {preconditioner}}}")
                self.assertLess(out["solver"]["iterations"], 16, preconditioner)

    def test_weight(self):
        """What stands on a ring carries its weight; the ring takes no more than it is told."""
        for shape in SHAPES:
            out = self.solve(self.skewed(shape) + AXIS + """equation: elasticity
material: {E: 5, nu: 0.3}
source: [0, -2]
boundary: [{on: ymin, fixed: true}, {on: ymax, force: [0, -10]}, {on: xmax, traction: [0, 1]}]
discretization: {degree: 2}
values: [{name: foot, field: traction, component: y, take: integral, on: ymin}]
""")
            self.near(out["values"]["foot"], 8 * math.pi + 10 - 4 * math.pi, 1e-8, shape)
            self.assertLess(out["balance"], 1e-10)

    def test_afloat(self):
        """Pressure all around: sigma = -1, the mean displacement along the axis is zero."""
        case = box("triangle", upper=(1, 2), cells=(3, 4)) + AXIS + """
equation: elasticity
material: {E: 10, nu: 0.3}
boundary: [{on: rest, pressure: 1}]
values:
  - {name: stress, field: stress, at: [0.4, 0.7]}
  - {name: across, field: stress_across, at: [0.4, 0.7]}
  - {name: upper, field: u, at: [1, 2]}
  - {name: lower, field: u, at: [1, 0]}
"""
        for method in ("direct", "cg"):
            values = self.solve(case + f"solver: {{method: {method}, rtol: 1.0e-12}}\n")["values"]
            self.near(values["stress"], [-1, 0, 0, -1], 1e-9, method)
            self.near(values["across"], -1, 1e-9, method)
            self.near(values["upper"], [-0.04, -0.04], 1e-9, method)
            self.near(values["lower"], [-0.04, 0.04], 1e-9, method)

    def test_cone(self):
        """A sector of a hollow sphere that slides along a cone, an oblique surface of symmetry."""
        for shape in SHAPES:
            lattice.write(self.path("cone.msh"), shape, [1, 0], [2, math.pi / 4], [3, 3],
                          moved=lambda x: (x[0] * math.sin(x[1]), x[0] * math.cos(x[1])))
            case = "mesh: {file: cone.msh}\n" + AXIS + """equation: elasticity
exact: [x*(1 + 4/sqrt(x^2 + y^2)^3), y*(1 + 4/sqrt(x^2 + y^2)^3)]
material: {E: 1, nu: 0.3}
boundary: [{on: ymax, symmetry: true}, {on: xmin, traction: exact}]
"""
            self.orders(case, 2, "1:2", {"stress": 2.7, "u": 3.6})


class Refused(Axis):
    def test_data(self):
        case = box("quad") + AXIS + "equation: diffusion\nexact: x\n"
        self.refused(case + "boundary: [{on: xmin, dirichlet: 0}]\n", "'xmin' lies on the axis x = 0", "leave it out")
        self.refused(case.replace("[0, 0]", "[-1, 0]"), "x = -1", "move the mesh")
        self.refused(case.replace("exact: x", "source: 1\nboundary: [{on: xmax, dirichlet: 0}]"), "ymin, ymax")
        hollow = box("quad", (1, 0)) + AXIS + "equation: diffusion\nsource: 1\n"
        self.refused(hollow + "boundary: [{on: [xmax, ymin, ymax], dirichlet: 0}]\n", "have no condition", "xmin")
        self.refused(case.replace("axisymmetric", "stress"), "case.yaml:2:8: plane", "belongs to equation: elasticity")
        self.refused(case.replace("quad}", "quad, periodic: [x]}"), "periodic in x")
        self.refused(case + "values: [{name: m, field: u, take: mean, on: xmin}]\n", "no mean", "axis")
        solid = case.replace("[0, 0]", "[0, 0, 0]").replace("[2, 1]", "[2, 1, 1]").replace("[2, 2]", "[2, 2, 2]")
        self.refused(solid.replace("quad", "hex"), "plane: belongs to 2D")

    def test_methods(self):
        case = box("quad") + AXIS + "equation: diffusion\nexact: x\n"
        for method in ("condensed", "continuous"):
            self.refused(case + f"discretization: {{method: {method}}}\n", method, "use hdg")
        self.refused(case + "discretization: {operator: tensor}\n", "axisymmetric", "operator: mapped")
        self.refused(case + "solver: {method: cg, preconditioner: pmg, precision: mixed}\n", "use double")

    def test_elasticity(self):
        case = box("quad") + AXIS + "equation: elasticity\nmaterial: {E: 1, nu: 0.3}\n"
        self.refused(case + "boundary: [{on: ymax, pressure: 1}, {on: rest, traction: [0, 0]}]\n",
                     "translate along y", "do not balance")
        self.refused(case + "boundary: [{on: xmax, roller: x}, {on: rest, traction: [0, 0]}]\n", "translate along y")
        self.refused(case + "boundary: [{on: xmin, roller: x}, {on: rest, fixed: true}]\n", "axis x = 0")
        self.refused(case + "exact: [x, 0]\ndiscretization: {formulation: gradient}\n", "axisymmetric", "use symmetric")
        self.refused(case.replace("E: 1", "E: 1 + x") + "exact: [x, 0]\n", "material of numbers")
        self.refused(case + "exact: [x, 0]\nsolver: {preconditioner: pmg, precision: mixed}\n", "use double")

    def test_report(self):
        done = self.run_program("check", self.write(box("quad") + AXIS + "equation: diffusion\nexact: x\n"))
        self.assertRegex(done.stdout, r"xmin +2 faces, length 1, on the axis")


if __name__ == "__main__":
    unittest.main()
