"""What engineers say of a body: data by group, loads, supports, springs, planes of symmetry, heat, each against a closed
form on every shape of cells, and what of it is refused. FACET_PROGRAM says where the program is."""

import math
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lattice  # noqa: E402
from test_app import Program  # noqa: E402

SOURCE = os.environ.get("FACET_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SHAPES = {2: ("triangle", "quad"), 3: ("tet", "hex")}


def box(dim, shape, upper=None, cells=None):
    upper = upper or [1] * dim
    cells = cells or [2] * dim
    return f"mesh: {{box: {{lower: {[0] * dim}, upper: {upper}, cells: {cells}, shape: {shape}}}}}\n"


class Loads(Program):
    def near(self, found, wanted, delta, message=""):
        found, wanted = (x if isinstance(x, list) else [x] for x in (found, wanted))
        self.assertEqual(len(found), len(wanted), message)
        for a, b in zip(found, wanted):
            self.assertAlmostEqual(a, b, delta=delta, msg=f"{message}: {found}, not {wanted}")

    def lattice(self, shape, name="body.msh", lower=None, upper=None, cells=None, **more):
        dim = 2 if shape in SHAPES[2] else 3
        lattice.write(self.path(name), shape, lower or [0] * dim, upper or [1] * dim, cells or [2] * dim, **more)
        return f"mesh: {{file: {name}}}\n"


class ByGroup(Loads):
    def test_source_and_reaction(self):
        """-u'' = f with f = 4 on the left half and 0 on the right, u(0) = u(1) = 0: u = 3x/2 - 2x^2, (1 - x)/2. With a
        reaction of its own in each half, u = 3 where f = 3 (reaction)."""
        for shape in SHAPES[2] + SHAPES[3]:
            mesh = self.lattice(shape, region=lambda x: "left" if x[0] < 0.5 else "right")
            dim = 2 if shape in SHAPES[2] else 3
            for method in ("hdg", "condensed"):
                case = mesh + f"""equation: diffusion
discretization: {{degree: 2, method: {method}}}
boundary: [{{on: [xmin, xmax], dirichlet: 0}}, {{on: rest, neumann: 0}}]
values: [{{name: a, field: u, at: {[0.25] + [0.4] * (dim - 1)}}}, {{name: b, field: u, at: {[0.75] + [0.4] * (dim - 1)}}}]
source: [{{on: left, value: 4}}]
"""
                values = self.solve(case)["values"]
                self.near([values["a"], values["b"]], [0.25, 0.125], 1e-11, f"{shape} {method}")
                values = self.solve(case.replace("[{on: left, value: 4}]", "[{on: [left, right], value: 4 + 0*y}]"))["values"]
                self.near([values["a"], values["b"]], [0.375, 0.375], 1e-11, f"{shape} {method}")
                held = case.replace("dirichlet: 0", "neumann: 0").replace(
                    "source: [{on: left, value: 4}]",
                    "reaction: [{on: left, value: 2 + x}, {on: right, value: 5}]\n"
                    "source: [{on: left, value: 6 + 3*x}, {on: right, value: 15}]")
                values = self.solve(held)["values"]
                self.near([values["a"], values["b"]], [3, 3], 1e-10, f"{shape} {method}")

    def test_body_force(self):
        """Columns that hang by their own weight, each with its own: u_y = (rho/E) (y - y^2/2) downward."""
        for shape in SHAPES[2] + SHAPES[3]:
            dim = 2 if shape in SHAPES[2] else 3
            mesh = self.lattice(shape, region=lambda x: "below" if x[1] < 0.5 else "above")
            force = [0, "g"] + [0] * (dim - 2)
            for formulation in ("symmetric", "gradient"):
                values = self.solve(mesh + f"""equation: elasticity
parameters: {{base: 3, g: 2*base}}
material: {{E: 1, nu: 0}}
source: [{{on: [below], value: {str(force).replace("'", "")}}}]
boundary: [{{on: ymin, fixed: true}}, {{on: rest, traction: {[0] * dim}}}]
discretization: {{degree: 2, formulation: {formulation}}}
values:
  - {{name: top, field: u, component: y, take: mean, on: ymax}}
  - {{name: foot, field: traction, component: y, take: integral, on: ymin}}
  - {{name: others, field: traction, component: y, take: integral, on: rest}}
""")["values"]
                # the lower half stretches by the mean of 6 (0.5 - y) over it
                self.near([values["top"], values["foot"], values["others"]], [0.75, -3, 0], 1e-9, f"{shape} {formulation}")

    def test_values_on_several_parts(self):
        """Parts that overlap count once; `rest` is what no other condition names."""
        mesh = self.lattice("quad")
        for mesh in (mesh, box(2, "quad"), box(2, "triangle")):
            for method in ("hdg", "condensed"):
                values = self.solve(mesh + f"""equation: diffusion
source: 2
discretization: {{method: {method}}}
boundary: [{{on: xmin, dirichlet: 0}}, {{on: rest, neumann: 0}}]
values:
  - {{name: all, field: u, take: mean, on: [xmin, xmax]}}
  - {{name: rest, field: flux, take: integral, on: rest}}
  - {{name: both, field: flux, take: integral, on: [xmin, rest]}}
  - {{name: largest, field: u, take: max, on: [xmin, ymin]}}
""")["values"]
                self.near([values["all"], values["rest"], values["both"], values["largest"]], [0.5, 0, 2, 1], 1e-8)
        case = box(2, "quad") + "equation: diffusion\nboundary: [{on: [xmin, xmax, ymin, ymax], dirichlet: 0}]\n"
        self.refused(case + "values: [{name: a, field: flux, take: integral, on: rest}]\n",
                     "case.yaml:4:", "'rest' is nothing")
        self.refused(case + "values: [{name: a, field: flux, take: integral, on: [xmin, xmin]}]\n", "duplicate name")

    def test_scale(self):
        for mesh in (self.lattice("quad"), box(2, "quad"), box(2, "triangle")):
            mesh = mesh.rstrip()[:-1] + ", scale: 0.001, refine: 1}\n"
            values = self.solve(mesh + """equation: diffusion
source: 2e6
boundary: [{on: [xmin, xmax], dirichlet: 0}, {on: rest, neumann: 0}]
values: [{name: middle, field: u, at: [0.0005, 0.0003]}, {name: all, field: u, take: integral}]
""")["values"]
            self.near([values["middle"], 1e6 * values["all"]], [0.25, 1 / 6], 1e-9)
        self.refused(box(2, "quad").rstrip()[:-1] + ", scale: -1}\nequation: diffusion\nexact: x\n", "mesh.scale", "> 0")
        self.refused(box(2, "quad").rstrip()[:-1] + ", scale: 1e300}\nequation: diffusion\nexact: x\n", "beyond double")

    def test_parameters(self):
        case = box(2, "quad") + "equation: diffusion\nexact: c*x\nvalues: [{name: u, field: u, at: [1, 1]}]\n"
        out = self.solve(case + "parameters: {a: 2, b: a^2, c: \"max(a, b) + 1e-1*0\"}\n")
        self.near(out["values"]["u"], 4, 1e-9)
        self.assertEqual(out["parameters"], {"a": 2, "b": 4, "c": 4})
        self.near(self.solve(case + "parameters: {a: 2, c: 3*a}\n", "--set", "parameters.a=5")["values"]["u"], 15, 1e-9)
        self.refused(case + "parameters: {c: 2*a, a: 1}\n", "case.yaml:5:17: parameters.c", "'a'", "stands after it")
        self.refused(case + "parameters: {c: x}\n", "parameters.c: must be a number, or an expression of parameters")
        self.refused(case + "parameters: {c: c}\n", "parameters.c", "'c'")
        self.refused(case + "parameters: {c: 1/0}\n", "parameters.c")

    def test_numbers_in_the_file(self):
        """Regions and parts as numbers of cells, which VTK reads."""
        mesh = self.lattice("quad", cells=[4, 2], region=lambda x: "left" if x[0] < 0.5 else "right")
        self.solve(mesh + """equation: diffusion
boundary: [{on: rest, dirichlet: 0}]
output: {file: a.vtu, fields: [u, region, part]}
""")
        try:
            import vtkmodules.vtkRenderingCore  # noqa: F401
            from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader
        except ImportError as missing:
            print(f"skipped: VTK's Python reader is not installed ({missing}); Debian: python3-vtk9")
            self.skipTest("VTK's Python reader is not installed")
        reader = vtkXMLUnstructuredGridReader()
        reader.SetFileName(self.path("a.vtu"))
        reader.Update()
        grid = reader.GetOutput()
        data = grid.GetCellData()
        for c in range(grid.GetNumberOfCells()):
            bounds = grid.GetCell(c).GetBounds()
            left = bounds[1] <= 0.5 + 1e-9
            self.assertEqual(data.GetArray("region").GetValue(c), 1 if left else 2)
            self.assertEqual(data.GetArray("part").GetValue(c) > 0, True)  # every cell touches ymin or ymax

    def test_refusals(self):
        mesh = self.lattice("quad", region=lambda x: "left" if x[0] < 0.5 else "right")
        case = mesh + "equation: diffusion\nboundary: [{on: rest, dirichlet: 0}]\n"
        self.refused(case + "source: [{on: lift, value: 1}]\n", "case.yaml:4:15: source: ", "'lift'", "did you mean 'left'")
        self.refused(case + "source: [{on: left, value: 1}, {on: left, value: 2}]\n", "duplicate group")
        self.refused(case + "source: []\n", "source: the list is empty")
        self.refused(case + "source: [{on: left}]\n", "missing key \"value\"")
        self.refused(case + "source: [{on: [], value: 1}]\n", "source.0.on: the list is empty")
        self.refused(case + "source: [{on: left, value: [1, 2]}]\n", "source.0.value", "one unknown")
        self.refused(case + "reaction: [{on: left, value: -1}]\n", "reaction.0.value: must be a number >= 0")
        self.refused(case + "reaction: [{on: left, value: x - 1}]\n", "must not be negative")
        self.refused(case + "source: [{on: left, value: 1}]\nexact: x\n", "source: follows from exact")
        self.refused(box(2, "quad") + "equation: diffusion\nsource: [{on: left, value: 1}]\n"
                     "boundary: [{on: rest, dirichlet: 0}]\n", "source: there is no group of cells 'left'")


class Supports(Loads):
    def test_a_bar(self):
        """E = 10, nu = 0.3, plane stress, or 3D: sigma_xx = 3 by a traction, a pressure of -3, or a force."""
        for dim in (2, 3):
            for shape in SHAPES[dim]:
                for load in (f"traction: {[3] + [0] * (dim - 1)}", "pressure: -3", f"force: {[3 * 0.5**(dim - 1)] + [0] * (dim - 1)}",
                             f"pressure: -1, traction: {[1] + ['null'] * (dim - 1)}, force: {[0.5**(dim - 1)] + [0] * (dim - 1)}"):
                    for formulation in ("symmetric", "gradient"):
                        out = self.solve(box(dim, shape, [1] + [0.5] * (dim - 1)) + f"""equation: elasticity
material: {{E: 10, nu: 0.3}}
{"plane: stress" if dim == 2 else ""}
boundary:
  - {{on: xmin, roller: x}}
  - {{on: ymin, roller: y}}
  {"- {on: zmin, roller: [z]}" if dim == 3 else ""}
  - {{on: xmax, {load.replace("'", "")}}}
  - {{on: rest, traction: {[0] * dim}}}
discretization: {{degree: 1, formulation: {formulation}}}
solver: {{rtol: 1e-12}}
values:
  - {{name: corner, field: u, at: {[1] + [0.5] * (dim - 1)}}}
  - {{name: held, field: traction, take: integral, component: x, on: xmin}}
""")["values"]
                        self.near(out["corner"], [0.3] + [-0.045] * (dim - 1), 1e-8, f"{shape} {load} {formulation}")
                        self.near(out["held"], -3 * 0.5**(dim - 1), 1e-8, load)

    def test_a_force_over_several_parts(self):
        """A total over two sides of different length, so the same traction on both."""
        out = self.solve(box(2, "quad", [2, 1]) + """equation: elasticity
material: {E: 1, nu: 0.2}
boundary:
  - {on: xmin, fixed: true}
  - {on: [xmax, ymax], force: [0, -6]}
  - {on: ymin, traction: [0, 0]}
values:
  - {name: end, field: traction, take: integral, on: xmax}
  - {name: top, field: traction, take: integral, on: ymax}
  - {name: all, field: traction, take: integral, on: xmin}
""")["values"]
        self.near(out["end"] + out["top"] + out["all"], [0, -2, 0, -4, 0, 6], 1e-9)

    def test_pressure_on_a_curved_wall(self):
        """Lame's cylinder, without a normal being written: u_r inside is 1.9066667."""
        out = self.solve(f"mesh: {{file: {self.example('cylinder.msh')}}}" + """
equation: elasticity
material: {E: 1, nu: 0.3}
boundary: [{on: bottom, roller: y}, {on: left, roller: x}, {on: inner, pressure: 1}, {on: outer, pressure: 0}]
discretization: {degree: 5}
values:
  - {name: inside, field: u, component: x, at: [1, 0]}
  - {name: stress, field: stress, component: yy, at: [1, 0]}
""")["values"]
        self.near([out["inside"]], [(1 + 0.3) / 3 * (0.4 + 4)], 2e-5)  # as round as the mesh
        self.near([out["stress"]], [5 / 3], 1e-3)

    def example(self, name):
        return os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "meshes", name)

    def test_free_components(self):
        """What is not given has no traction; with an exact solution, where that is one, to rounding."""
        for shape in SHAPES[2]:
            for formulation in ("symmetric", "gradient"):
                for part, own in (("ymin", "[null, exact]"), ("xmin", "[exact, null]")):
                    out = self.solve(box(2, shape) + f"""equation: elasticity
material: {{mu: 1, lambda: 2}}
exact: [x^2 + y^2, x*y]
boundary: [{{on: {part}, displacement: {own}}}]
discretization: {{degree: 2, formulation: {formulation}}}
solver: {{rtol: 1e-12}}
""")
                    if part == "ymin":  # (sigma n)_x on y = 0 is -mu (2y + y) = 0
                        self.assertNotIn("notes", out)
                        self.assertLess(out["errors"]["u"]["L2"], 1e-9)
                    else:  # (sigma n)_y on x = 0 is that, too: not zero
                        self.assertIn("the boundary data on 'xmin' are not those", str(out["notes"]))

    def test_contradictions(self):
        head = box(2, "quad") + "equation: elasticity\nmaterial: {E: 1, nu: 0.3}\nboundary:\n  - {on: rest, fixed: true}\n  - {on: xmin, "
        for text, words in {
                "fixed: true, roller: x": ["case.yaml:6:5: boundary.1: fixed holds the part", "roller"],
                "fixed: true, pressure: 1": ["fixed holds the part in all directions"],
                "fixed: false": ["boundary.1.fixed: false says nothing"],
                "fixed: yes": ["true or false"],
                "roller: w": ["boundary.1.roller: must be one of x, y, z"],
                "roller: z": ["boundary.1.roller: a box of 2 dimensions has no z"],
                "roller: []": ["boundary.1.roller"],
                "roller: [x, x]": ["duplicate word"],
                "roller: x, displacement: [0, null]": ["the component x is given by both roller and displacement"],
                "roller: x, traction: [1, 0]": ["the component x is given by both roller and traction"],
                "roller: [x, y], pressure: 1": ["pressure does nothing where all components are held"],
                "roller: x, force: [1, 0]": ["the component x of the force on 'xmin' does nothing"],
                "displacement: [0, 0], spring: 1": ["spring does nothing"],
                "symmetry: true, roller: x": ["symmetry is all there is to say"],
                "symmetry: true, pressure: 1": ["symmetry is all there is to say"],
                "force: [x, 0]": ["force on 'xmin': is a total"],
                "force: [1, null]": ["a component may not be null here; write 0"],
                "force: [1, 2, 3]": ["has 3 components"],
                "pressure: [1, 2]": ["boundary.1.pressure"],
                "spring: -1": ["boundary.1.spring: must be a number >= 0"],
                "spring: x - 2": ["the spring on 'xmin' must not be negative, but is -2"],
                "spring: [[1, 2], [2, 1]]": ["boundary.1.spring: the matrix must be positive semidefinite"],
                "spring: [[1, 2*x + 2], [2*x + 2, 1]]": ["spring on 'xmin' must be a symmetric matrix without negative"],
                "spring: [[1, 2], [3, 1]]": ["the matrix must be symmetric"],
                "spring: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]": ["a matrix of size 3 for a box of 2"],
                "spring: {normal: 1, tangent: 2}": ["unknown key \"tangent\"", "tangential"],
                "spring: {tangential: 2}": ["missing key \"normal\""],
                "neumann: 1": ["belongs to equation: diffusion"],
                "pressure: 1, dirichlet: 2": ["belongs to equation: diffusion"]}.items():
            self.refused(head + text + "}\n", "case.yaml:6", *words)
        self.refused(head + "spring: 1}\ndiscretization: {formulation: gradient}\n",
                     "boundary.1.spring: belongs to discretization.formulation: symmetric")
        self.refused(box(2, "quad") + "equation: diffusion\nboundary: [{on: rest, pressure: 1}]\n",
                     "boundary.0.pressure: belongs to equation: elasticity")

    def test_loose_bodies(self):
        head = "equation: elasticity\nmaterial: {E: 1, nu: 0.3}\nboundary:\n  - {on: rest, pressure: 0}\n"
        for dim, shape, item, words in (
                (2, "quad", "{on: xmin, roller: x}", ["translate along y"]),
                (2, "quad", "{on: xmin, spring: {normal: 1}}", ["translate along y"]),
                (2, "quad", "{on: xmin, spring: 0}", ["translate along x, translate along y, rotate about the z axis"]),
                (2, "quad", "{on: [xmin, xmax], spring: [[1, 1], [1, 1]]}", ["translate along (0.707, -0.707)|translate along (-0.707, 0.707)"]),
                (3, "tet", "{on: [xmin, ymin], symmetry: true}", ["translate along z; "]),
                (3, "hex", "{on: zmin, roller: z}", ["translate along x, translate along y, rotate about the z axis"]),
                (3, "hex", "{on: zmin, spring: {normal: 4}}", ["translate along x, translate along y, rotate about the z axis"])):
            done = self.refused(box(dim, shape) + head + f"  - {item}\n", "the body can still ")
            for word in words:
                self.assertTrue(any(w in done.stderr for w in word.split("|")), done.stderr)

    def test_round_walls(self):
        """A wall without friction that is a circle or a sphere holds no rotation, whatever its cells look like."""
        meshes = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "meshes")
        for name, items, axis in (
                ("annulus", "{on: outer, symmetry: true}, {on: inner, traction: [-y, x]}", "z"),
                ("annulus", "{on: outer, spring: {normal: 1000}}, {on: inner, pressure: 1}", "z"),
                ("cylinder", "{on: outer, symmetry: true}, {on: rest, pressure: 0}", "z"),
                ("sphere", "{on: outer, symmetry: true}, {on: rest, pressure: 0}", "x")):
            self.refused(f"mesh: {{file: {meshes}/{name}.msh}}\nequation: elasticity\nmaterial: {{E: 1, nu: 0.3}}\n"
                         f"boundary: [{items}]\n", f"rotate about the {axis} axis")


class Springs(Loads):
    def test_a_block(self):
        """Pressed by sigma upon springs k: it sinks by sigma/k, and is shortened by sigma/E (nu = 0)."""
        for dim in (2, 3):
            for shape in SHAPES[dim]:
                last = "xyz"[dim - 1]
                for spring in ("5", "{normal: 5, tangential: 1}", str([[5.0 if i == j else 0 for j in range(dim)] for i in range(dim)]),
                               "5 + 0*x"):
                    for more in ("", "solver: {method: cg, rtol: 1e-12}"):
                        out = self.solve(box(dim, shape) + f"""equation: elasticity
material: {{E: 2, nu: 0}}
boundary: [{{on: {last}min, spring: {spring}}}, {{on: {last}max, pressure: 10}}, {{on: rest, pressure: 0}}]
discretization: {{degree: 1}}
{more}
values:
  - {{name: below, field: u, component: {last}, take: mean, on: {last}min}}
  - {{name: above, field: u, component: {last}, take: mean, on: {last}max}}
  - {{name: carried, field: traction, component: {last}, take: integral, on: {last}min}}
""")["values"]
                        self.near([out["below"], out["above"], out["carried"]], [-2, -7, 10], 1e-8, f"{shape} {spring}")

    def test_exact_solutions(self):
        """sigma n + k u = g with g of the exact solution: to rounding where it is in the space, curved or not."""
        spring = {2: ("2", "{normal: 3, tangential: 1 + x}", "[[2 + y, 1], [1, 1]]"),
                  3: ("2", "{normal: 3, tangential: 1 + x}", "[[2 + y, 1, 0], [1, 1, 0], [0, 0, 0]]")}
        exact = {2: "[x^2 - y, x*y + y^2]", 3: "[x^2 - y*z, x*y + y^2, z^2 - x]"}
        for dim in (2, 3):
            for shape in SHAPES[dim]:
                for k in spring[dim]:
                    out = self.solve(self.lattice(shape, moved=lambda x: [x[0] + 0.1 * x[1], x[1] - 0.2 * x[0]] + x[2:]) + f"""equation: elasticity
material: {{mu: 1, lambda: 3}}
exact: {exact[dim]}
boundary: [{{on: ymin, displacement: exact}}, {{on: rest, spring: {k}, traction: exact}}]
discretization: {{degree: 2}}
solver: {{rtol: 1e-12}}
""")
                    self.assertLess(out["errors"]["u"]["L2"], 2e-9, f"{shape} {k}")
                    self.assertNotIn("notes", out)

    def test_a_ring_that_turns(self):
        """A stiff ring on soft springs, 1 to 2, turned by a shear on its outside: it turns by 4 t/k. Rotations are functions
        of the degree of the geometry, 3: below it the cells are strained, and what is missing of the moments is told, as
        much as the turn is too small by. A ring that does not turn has nothing to tell."""
        mesh = f"mesh: {{file: {os.path.join(SOURCE, 'examples', 'meshes', 'annulus.msh')}}}\n"
        case = mesh + """equation: elasticity
material: {E: 1, nu: 0.3}
boundary: [{on: inner, spring: %s}, {on: outer, %s}]
discretization: {degree: %d}
values: [{name: a, field: u, component: y, at: [1.5, 0]}]
"""
        for k, degree in (("1e-3", 1), ("1e-5", 1), ("1e-6", 1), ("1e-6", 2), ("1e-6", 3), ("1e-7", 2)):
            out = self.solve(case % (k, "traction: [-1e-3*ny, 1e-3*nx]", degree))
            wanted = 6e-3 / float(k)
            missing = 1 - out["values"]["a"] / wanted
            notes = [n for n in out.get("notes", []) if "cannot turn without strain" in n]
            self.assertEqual(len(notes), missing > 1e-3, f"{k} {degree}: {missing}")
            for note in notes:
                self.assertIn(f"order 3 cannot turn without strain at degree {degree}", note)
                share = float(note.split(": ")[1].split()[0])
                self.assertLess(abs(math.log(share / missing)), math.log(3), f"{k} {degree}: {missing}")
        self.assertNotIn("notes", self.solve((case % ("1e-6", "pressure: 1e-3", 1)).split("values:")[0]))

    def test_hetenyi(self):
        """M. Hetenyi, Beams on Elastic Foundation (1946), section 9: an infinite beam under a force P,
        w = P beta/(2 k) exp(-beta x) (cos beta x + sin beta x), beta^4 = k/(4 E I). Half of it, with beta h = 0.02; a
        shear that theory does not know leaves a few parts of 1e-4."""
        h, E, beta, P = 0.02, 1e6, 1.0, 1e-4
        k = 4 * E * h**3 / 12 * beta**4
        out = self.solve(box(2, "quad", [8, h], [200, 1]) + f"""equation: elasticity
plane: stress
material: {{E: {E}, nu: 0.3}}
boundary:
  - {{on: xmin, roller: x, force: [0, {-P / 2}]}}
  - {{on: ymin, spring: {{normal: {k!r}}}}}
  - {{on: rest, traction: [0, 0]}}
discretization: {{degree: 3}}
values: [{{name: w, field: u, component: y, along: [[0, {h / 2}], [4, {h / 2}]], points: 9}}]
""")["values"]["w"]
        for i, w in enumerate(out):
            x = 0.5 * i
            self.near(-w, P * beta / (2 * k) * math.exp(-beta * x) * (math.cos(beta * x) + math.sin(beta * x)),
                      2e-3 * P * beta / (2 * k), f"x = {x}")


class Symmetry(Loads):
    def test_planes_across_axes(self):
        """The same numbers as with rollers, in both formulations."""
        for dim in (2, 3):
            for shape in SHAPES[dim]:
                for formulation in ("symmetric", "gradient"):
                    case = box(dim, shape) + f"""equation: elasticity
material: {{mu: 1, lambda: 2}}
source: {[1, 2, 3][:dim]}
boundary: [{{on: xmin, symmetry: true}}, {{on: ymin, symmetry: true}}, {{on: rest, displacement: {[0] * dim}}}]
discretization: {{degree: 2, formulation: {formulation}}}
values: [{{name: u, field: u, at: {[0.1, 0.15, 0.22][:dim]}}}, {{name: s, field: stress, at: {[0.2, 0.27, 0.11][:dim]}}}]
"""
                    values = self.solve(case)["values"]
                    rolled = self.solve(case.replace("symmetry: true", "roller: x", 1).replace("symmetry: true", "roller: y"))["values"]
                    if formulation == "symmetric":
                        self.near(values["u"] + values["s"], rolled["u"] + rolled["s"], 1e-10, shape)
                    else:  # there a roller is a traction, and symmetry natural
                        self.near(values["u"], rolled["u"], 0.02, shape)

    def test_oblique_planes(self):
        """A body turned by an angle has the turned solution, with every solver that knows such planes."""
        for dim in (2, 3):
            for shape in SHAPES[dim]:
                for angle in (0.4, 2.5):
                    c, s = math.cos(angle), math.sin(angle)
                    for formulation in ("symmetric", "gradient"):
                        def case(c, s, name):
                            def moved(x):
                                return [c * x[0] - s * x[1], s * x[0] + c * x[1]] + x[2:]
                            force = moved([1, 2] + [3] * (dim - 2))
                            return self.lattice(shape, name, moved=moved) + f"""equation: elasticity
material: {{mu: 1, lambda: 2}}
source: {force}
boundary: [{{on: [xmin, ymin], symmetry: true}}, {{on: rest, displacement: {[0] * dim}}}]
discretization: {{degree: 2, formulation: {formulation}}}
values: [{{name: u, field: u, at: {moved([0.1, 0.15, 0.22][:dim])}}}, {{name: reaction, field: traction, take: integral, on: xmin}}]
"""
                        plain = self.solve(case(1, 0, "plain.msh"))["values"]
                        for solver in ("{method: auto}", "{method: direct}", "{method: cg, preconditioner: amg}",
                                       "{method: cg, preconditioner: block}"):
                            turned = self.solve(case(c, s, "turned.msh") + f"solver: {solver}\n")["values"]
                            for name in ("u", "reaction"):
                                x = turned[name]
                                back = [c * x[0] + s * x[1], -s * x[0] + c * x[1]] + x[2:]
                                self.near(back, plain[name], 1e-8, f"{shape} {angle} {formulation} {solver} {name}")
                        self.refused(case(c, s, "turned.msh") + "solver: {preconditioner: pmg}\n",
                                     "the preconditioner pmg does not know oblique planes of symmetry")

    def test_lame_in_a_sector(self):
        """A sector of a cylinder between two oblique planes; cells with straight sides, so the orders of the shape."""
        errors = []
        for n in (4, 8):
            def moved(x):
                r, t = 1 + x[0], 0.3 + 0.9 * x[1]
                return [r * math.cos(t), r * math.sin(t)]
            out = self.solve(self.lattice("quad", cells=[n, n], moved=moved) + """equation: elasticity
material: {E: 1, nu: 0.3}
boundary: [{on: [ymin, ymax], symmetry: true}, {on: xmin, pressure: 1}, {on: xmax, pressure: 0}]
discretization: {degree: 3}
values: [{name: u, field: u, take: mean, on: xmin}, {name: lean, field: u, take: max}]
""")["values"]
            errors.append(abs(out["lean"] - 1.3 / 3 * 4.4))
        self.assertLess(errors[1], 0.35 * errors[0])
        self.assertLess(errors[1], 2e-2)

    def example(self, name):
        return os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "meshes", name)

    def test_curved_walls(self):
        """A body that turns about the axis slides along its curved wall: to the roundness of the mesh (order 3), where a
        fixed wall would leave an error of 1; and a wall that gives no way presses back (Lame with u_r = 0 inside)."""
        for name, motion, limit in (("cylinder.msh", "[-y, x]", 1e-4), ("sphere.msh", "[-y, x, 0]", 2e-3)):
            for solver in ("{method: auto}", "{method: cg, preconditioner: block}", "{method: cg, preconditioner: amg}"):
                out = self.solve(f"""mesh: {{file: {self.example(name)}}}
equation: elasticity
material: {{E: 1, nu: 0.3}}
exact: {motion}
boundary: [{{on: inner, symmetry: true}}]
discretization: {{degree: 2}}
solver: {solver}
""")
                self.assertLess(out["errors"]["u"]["L2"], limit, name)
                self.assertLess(out["balance"], 1e-3)  # relative to forces that only the roundness makes
        for wall in ("symmetry: true", "fixed: true"):  # the same by symmetry
            out = self.solve(f"""mesh: {{file: {self.example("cylinder.msh")}}}
equation: elasticity
material: {{E: 1, nu: 0.3}}
boundary: [{{on: inner, {wall}}}, {{on: [left, bottom], symmetry: true}}, {{on: outer, pressure: 1}}]
discretization: {{degree: 3}}
values: [{{name: out, field: u, component: x, at: [2, 0]}}, {{name: force, field: traction, take: integral, on: inner}}]
""")["values"]
            # u = A r + B/r, u(1) = 0, sigma_r(2) = -1
            mu, lam = 1 / 2.6, 0.3 / (1.3 * 0.4)
            A = -1 / (2 * (mu + lam) + 2 * mu / 4)
            self.near(out["out"], A * (2 - 1 / 2), 1e-5, wall)
            pressed = -(2 * (mu + lam) * A + 2 * mu * A)  # on a quarter of the wall
            self.near(out["force"], [pressed, pressed], 1e-4, wall)

    def test_curved_faces_of_gradient(self):
        self.refused(f"mesh: {{file: {self.example('cylinder.msh')}}}" + """
equation: elasticity
material: {E: 1, nu: 0.3}
boundary: [{on: [inner, bottom], symmetry: true}, {on: rest, fixed: true}]
discretization: {formulation: gradient}
""", "case.yaml:4:18: boundary: the face at", "'inner' is curved")


class Electrodes(Loads):
    def ways(self):
        """Meshes with the methods they have."""
        for dim in (2, 3):
            for shape in SHAPES[dim]:
                for mesh in (box(dim, shape), self.lattice(shape)):
                    for method in ("hdg", "condensed", "continuous"):
                        if method == "continuous" and ("file" in mesh or shape in ("triangle", "tet")):
                            continue
                        yield mesh, method, f"{shape} {method} {mesh}"

    def test_a_bar(self):
        """Q = 6 into the end of a bar of K = 2 whose other end is at 1: the end is at 4, and 6 comes out."""
        for mesh, method, what in self.ways():
            for more in ("", "solver: {method: cg, rtol: 1e-12}\n"):
                if more and method == "continuous":
                    continue
                out = self.solve(mesh + f"""equation: diffusion
conductivity: 2
boundary: [{{on: xmin, dirichlet: 1}}, {{on: xmax, total_flux: 6}}, {{on: rest, neumann: 0}}]
discretization: {{degree: 2, method: {method}}}
values: [{{name: out, field: flux, take: integral, on: xmin}}, {{name: in, field: flux, take: integral, on: xmax}}]
{more}""")
                self.near(list(out["potentials"].values()), [4], 1e-8, what)
                self.near([out["values"]["out"], out["values"]["in"]], [6, -6], 1e-7, what)

    def test_between_electrodes(self):
        """Nothing else holds u: the first electrode is the ground, and the totals balance."""
        for mesh, method, what in self.ways():
            case = mesh + f"""equation: diffusion
boundary: [{{on: xmin, total_flux: -Q}}, {{on: xmax, total_flux: Q}}, {{on: rest, neumann: 0}}]
discretization: {{degree: 2, method: {method}}}
parameters: {{Q: 3}}
"""
            self.near(list(self.solve(case)["potentials"].values()), [0, 3], 1e-8, what)
            self.refused(case.replace("-Q", "-Q/2"), "must balance", "1.5")

    def test_one_electrode_of_several_parts(self):
        """A ring at one potential in a body with a source: what goes out is what it makes."""
        out = self.solve(box(2, "quad", cells=[4, 4]) + """equation: diffusion
source: 5
reaction: 1
boundary: [{on: [xmin, xmax, ymin], total_flux: -2}, {on: rest, robin: {a: 3, g: 1}}]
values: [{name: out, field: flux, take: integral, on: [xmin, xmax, ymin]}, {name: u, field: u, take: mean, on: xmin}]
discretization: {degree: 4}
""")
        potentials = list(out["potentials"].values())
        self.near(potentials, [potentials[0]] * 3, 0)
        self.near([out["values"]["out"], out["values"]["u"]], [2, potentials[0]], 1e-4)
        self.near(out["values"]["out"], 2, 1e-7)

    def test_a_coaxial_line(self):
        """An annulus, 1 < r < 2: u = Q ln 2/(2 pi K) inside, a quarter of it here."""
        mesh = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "meshes", "cylinder.msh")
        out = self.solve(f"""mesh: {{file: {mesh}}}
equation: diffusion
conductivity: 3
boundary: [{{on: inner, total_flux: 10}}, {{on: outer, dirichlet: 0}}, {{on: rest, neumann: 0}}]
discretization: {{degree: 4}}
""")
        self.near(out["potentials"]["inner"], 10 * math.log(2) / (math.pi / 2 * 3), 1e-4)

    def test_refusals(self):
        head = box(2, "quad") + "equation: diffusion\nboundary: [{on: rest, neumann: 0}, "
        for text, words in {
                "{on: xmin, total_flux: x}": ["total_flux on 'xmin': is a total"],
                "{on: xmin, total_flux: 1, dirichlet: 2}": ["has 2 conditions"],
                "{on: xmin, total_flux: [1, 2]}": ["total_flux"]}.items():
            self.refused(head + text + "]\n", "case.yaml:3:", *words)
        self.refused(head + "{on: xmin, total_flux: 1}]\nexact: x\n", "total_flux: is excluded by exact")
        self.refused(box(2, "quad") + "equation: elasticity\nmaterial: {E: 1, nu: 0.3}\n"
                     "boundary: [{on: rest, total_flux: 1}]\n", "belongs to equation: diffusion")


class Heat(Loads):
    def rollers(self, dim):
        return "".join(f"  - {{on: {'xyz'[d]}min, roller: {'xyz'[d]}}}\n" for d in range(dim))

    def test_free_and_held_expansion(self):
        """alpha (T - T0) = 0.02: free, u = e x without stress; held along x, sigma_xx = -E e and nothing else. In plane
        strain e is (1 + nu) 0.02, and sigma_zz = -E 0.02 while the plane is free."""
        E, nu, strain = 10.0, 0.3, 0.02
        for dim, plane in ((2, "stress"), (2, "strain"), (3, "")):
            e = (1 + nu) * strain if plane == "strain" else strain
            for shape in SHAPES[dim]:
                for formulation in ("symmetric", "gradient"):
                    for material in (f"{{E: {E}, nu: {nu}}}", f"{{E: {E} + 0*x, nu: {nu}}}"):
                        if formulation == "gradient" and "x" in material:
                            continue
                        for held in (False, True):
                            out = self.solve(box(dim, shape) + f"""equation: elasticity
{"plane: " + plane if plane else ""}
material: {material}
thermal: {{expansion: 1e-3, reference: 20, temperature: 40}}
boundary:
{self.rollers(dim)}  - {{on: xmax, {"roller: x" if held else "pressure: 0"}}}
  - {{on: rest, pressure: 0}}
discretization: {{degree: 1, formulation: {formulation}}}
solver: {{rtol: 1e-13}}
values:
  - {{name: corner, field: u, at: {[1] * dim}}}
  - {{name: stress, field: stress, at: {[0.3, 0.4, 0.2][:dim]}}}
  - {{name: strain, field: strain, at: {[0.3, 0.4, 0.2][:dim]}}}
  - {{name: mises, field: von_mises, at: {[0.3, 0.4, 0.2][:dim]}}}
  - {{name: wall, field: traction, component: x, take: integral, on: xmin}}
""")
                            what = f"{shape} {plane} {formulation} {material} {held}"
                            self.assertLess(out["balance"], 1e-11, what)
                            out = out["values"]
                            if held:
                                modulus = E / (1 - nu**2) if plane == "strain" else E
                                sigma = -modulus * e
                                across = e - nu / (1 - nu) * sigma / modulus if plane == "strain" else e - nu * sigma / E
                                zz = nu * sigma - E * strain if plane == "strain" else 0
                                mises = math.sqrt(sigma**2 - sigma * zz + zz**2)
                                self.near(out["corner"], [0] + [across] * (dim - 1), 1e-10, what)
                                self.near(out["stress"], [sigma] + [0] * (dim * dim - 1), 1e-9, what)
                                self.near(out["wall"], -sigma, 1e-9, what)
                            else:
                                mises = E * strain if plane == "strain" else 0
                                self.near(out["corner"], [e] * dim, 1e-10, what)
                                self.near(out["stress"], [0] * dim * dim, 1e-9, what)
                                self.near(out["strain"], [e if i % (dim + 1) == 0 else 0 for i in range(dim * dim)], 1e-10, what)
                            self.near(out["mises"], mises, 1e-8, what)

    def test_nearly_incompressible(self):
        """Free expansion with lambda = 1e5 mu: nothing but rounding grows."""
        for shape in SHAPES[2]:
            for formulation in ("symmetric", "gradient"):
                out = self.solve(box(2, shape) + f"""equation: elasticity
material: {{mu: 1, lambda: 1e5}}
thermal: {{expansion: 1, temperature: 0.01}}
boundary:
{self.rollers(2)}  - {{on: rest, pressure: 0}}
discretization: {{degree: 2, formulation: {formulation}}}
solver: {{rtol: 1e-12}}
values: [{{name: corner, field: u, at: [1, 1]}}]
""")["values"]["corner"]
                e = (2 + 3e5) / (2 + 2e5) * 0.01
                self.near(out, [e, e], 1e-7, f"{shape} {formulation}")

    def test_exact_solutions(self):
        """Sources, tractions and errors of exact solutions know heat: to rounding where all is in the spaces."""
        heat = "thermal: {expansion: 0.5 + 0.1*y, reference: 1 + x, temperature: 3*x - y}\n"
        exact = {2: "[x^2 - y, x*y + y^2]", 3: "[x^2 - y*z, x*y + y^2, z^2 - x]"}
        for dim, plane in ((2, "stress"), (2, "strain"), (3, "")):
            for shape in SHAPES[dim]:
                for formulation in ("symmetric", "gradient"):
                    mesh = self.lattice(shape, moved=lambda x: [x[0] + 0.1 * x[1], x[1] - 0.2 * x[0]] + x[2:])
                    out = self.solve(mesh + heat + f"""equation: elasticity
{"plane: " + plane if plane else ""}
material: {{mu: 1, lambda: 3}}
exact: {exact[dim]}
boundary: [{{on: [xmin, ymax], displacement: exact}}, {{on: rest, traction: exact}}]
discretization: {{degree: 3, formulation: {formulation}}}
solver: {{rtol: 1e-12}}
""")
                    self.assertLess(out["errors"]["u"]["L2"], 1e-8, f"{shape} {plane} {formulation}")
                    self.assertLess(out["errors"]["stress"]["L2"], 1e-7, f"{shape} {plane} {formulation}")
                    self.assertLess(out["balance"], 1e-10)
        out = self.solve(self.lattice("quad") + heat + """equation: elasticity
material: {E: 2 + x*y, nu: 0.3 - 0.1*x}
exact: [x^2 - y, x*y + y^2]
boundary: [{on: [xmin, ymax], displacement: exact}, {on: rest, traction: exact}]
discretization: {degree: 9}
""")
        self.assertLess(out["errors"]["stress"]["L2"], 1e-7)

    def test_bimetal(self):
        """S. Timoshenko, Analysis of bi-metal thermostats, J. Opt. Soc. Am. 11 (1925): the curvature of a strip of two
        layers, thickness ratio m, ratio of moduli n: 6 (a2 - a1) dT (1 + m)^2 / (h (3 (1 + m)^2 + (1 + m n) (m^2 +
        1/(m n)))). Plane stress with one nu: away from the ends theory is exact."""
        for shape in SHAPES[2]:
            for m, n in ((1, 1), (1, 3), (3, 0.5)):
                mesh = self.lattice(shape, upper=[20, 1], cells=[20, 4],
                                    region=lambda x: "one" if x[1] < m / (1 + m) else "two")
                out = self.solve(mesh + f"""equation: elasticity
plane: stress
material: [{{on: one, E: {1000 * n}, nu: 0.3}}, {{on: two, E: 1000, nu: 0.3}}]
thermal: {{expansion: [{{on: one, value: 1e-5}}, {{on: two, value: 3e-5}}], reference: 20, temperature: 120}}
boundary: [{{on: xmin, fixed: true}}, {{on: rest, pressure: 0}}]
discretization: {{degree: 3}}
values: [{{name: w, field: u, component: y, along: [[6, 0.5], [14, 0.5]], points: 3}}]
""")["values"]["w"]
                curvature = -(out[2] - 2 * out[1] + out[0]) / 16
                wanted = 6 * 2e-5 * 100 * (1 + m)**2 / (3 * (1 + m)**2 + (1 + m * n) * (m**2 + 1 / (m * n)))
                self.near(curvature / wanted, 1, 1e-5, f"{shape} {m} {n}")

    def chain(self, mesh, heat="", stress="", dim=2):
        rollers = "".join(f"{{on: {'xyz'[d]}min, roller: {'xyz'[d]}}}, " for d in range(dim))
        return mesh + f"""parameters: {{a: 0.01}}
cases:
  - name: heat
    equation: diffusion
    source: 2
    boundary: [{{on: [xmin, xmax], dirichlet: 0}}, {{on: rest, neumann: 0}}]
    discretization: {{degree: 2{heat}}}
  - name: stress
    equation: elasticity
    material: {{E: 1, nu: 0.25}}
    thermal: {{expansion: a, temperature: {{case: heat}}}}
    boundary: [{rollers}{{on: rest, pressure: 0}}]
    discretization: {{degree: 2}}
    values: [{{name: u, field: u, at: {[0.3, 0.4, 0.2][:dim]}}}, {{name: s, field: stress, at: {[0.3, 0.4, 0.2][:dim]}}}]
{stress}"""

    def test_chains(self):
        """The temperature of the first case, x - x^2, is that of an expression in the second."""
        for dim in (2, 3):
            for shape in SHAPES[dim]:
                meshes = [self.lattice(shape), box(dim, shape)]
                methods = ["", ", method: condensed"] + ([", method: continuous"] if shape in ("quad", "hex") else [])
                for mesh in meshes:
                    text = self.chain(mesh, dim=dim)
                    second = text[text.index("    equation: elasticity"):].replace("{case: heat}", "x - x^2")
                    alone = self.solve(mesh + "parameters: {a: 0.01}\n" + second.replace("\n    ", "\n").lstrip())["values"]
                    for method in methods:
                        if "continuous" in method and "file" in mesh:
                            continue
                        out = self.solve(self.chain(mesh, method, dim=dim))["cases"]
                        self.assertEqual([case["name"] for case in out], ["heat", "stress"])
                        self.near(out[1]["values"]["u"] + out[1]["values"]["s"], alone["u"] + alone["s"], 1e-10,
                                  f"{shape} {method}")

    def test_chains_and_commands(self):
        mesh = box(2, "quad")
        text = self.chain(mesh)
        first = self.solve(text)["cases"][1]["values"]["u"]
        twice = self.solve(text, "--set", "cases.0.source=4")["cases"][1]["values"]["u"]
        self.near(twice, [2 * x for x in first], 1e-10)
        self.assertIn("heat", self.run_program("check", self.write(text)).stdout)
        self.refused(text, "names one file", arguments=("--output", "a.vtu"))
        self.refused(text, "is a chain of cases", command="converge", arguments=("--refine", "0:1"))
        stopped = self.chain(mesh, ", operator: mapped", "") .replace(
            "    source: 2\n", "    source: 2\n    solver: {method: cg, preconditioner: none, max_iterations: 1}\n")
        self.assertEqual([case["name"] for case in self.solve(stopped, status=1)["cases"]], ["heat"])
        output = text.replace("    source: 2\n", "    source: 2\n    output: {file: heat.vtu}\n")
        self.solve(output)
        os.remove(self.path("heat.vtu"))
        self.refused(output.replace("{on: rest, pressure: 0}", "{on: lid, pressure: 0}"), "lid")
        self.refused(output.replace("{on: ymin, roller: y}, ", ""), "the body can still translate along y")
        self.assertFalse(os.path.exists(self.path("heat.vtu")))  # nothing was solved
        self.refused(output + "    output: {file: heat.vtu}\n", "also where to write")
        for old, new, words in (
                ("{case: heat}", "{case: cold}", ["case.yaml:12:", "no case before this one has the name \"cold\""]),
                ("{case: heat}", "{case: stress}", ["no case before this one"]),
                ("{case: heat}", "{case: heat, field: q}", ["thermal.temperature.field", "u, u_star"]),
                ("{case: heat}", "{field: u}", ["cases.1.thermal.temperature: missing key \"case\""]),
                ("name: stress", "name: heat", ["duplicate case"]),
                ("cases:", "solver: {}\ncases:", ["solver: beside cases there are mesh, parameters and title"]),
                ("    source: 2", "    mesh: {file: a.msh}", ["cases.0.mesh: belongs to the whole chain"]),
                ("    source: 2", "    sauce: 2", ["cases.0: unknown key \"sauce\"", "source"]),
                ("    equation: diffusion\n", "", ["cases.0: missing key \"equation\""])):
            self.refused(text.replace(old, new, 1), *words)
        self.refused(self.chain(mesh, ", method: condensed").replace("{case: heat}", "{case: heat, field: u_star}"),
                     "has no u_star, only u")
        self.refused(mesh + "cases: []\n", "cases: the list is empty")
        self.refused(mesh + "cases: 3\n", "cases: must be a list of cases")
        done = self.refused(text.replace("upper: [1, 1]", "upper: [1, 1, 1]"), "dimensions")
        self.assertEqual(done.stderr.count("\n"), 1)  # told once, not for each case

    def test_refusals(self):
        head = box(2, "quad") + "equation: elasticity\nmaterial: {E: 1, nu: 0.3}\nboundary: [{on: rest, fixed: true}]\n"
        for text, words in {
                "{expansion: 1}": ["missing key \"temperature\""],
                "{temperature: 1}": ["missing key \"expansion\""],
                "{expansion: 1, temperature: nx}": ["the normal"],
                "{expansion: [1, 2], temperature: 1}": ["thermal.expansion"],
                "{expansion: [{on: steel, value: 1}], temperature: 1}": ["case.yaml:5:28: thermal.expansion: there is no group", "'steel'"],
                "{expansion: 1, temperature: 1, reference: [1]}": ["thermal.reference"]}.items():
            self.refused(head + f"thermal: {text}\n", "case.yaml:5", *words)
        for command in ("solve", "check"):
            self.refused(head + "thermal: {expansion: 1, temperature: log(x - 2)}\n", "case.yaml: cell 0 (quad): ",
                         "thermal.temperature: ", "logarithm", command=command)
        self.refused(box(2, "quad") + "equation: diffusion\nexact: x\nthermal: {expansion: 1, temperature: 1}\n",
                     "thermal: belongs to equation: elasticity")


if __name__ == "__main__":
    unittest.main()
