"""Data that contradict each other: parts of the boundary where they meet, an exact solution and what is inside of the
mesh, loads that must balance. All methods take what the documents say, and the notes tell the size. FACET_PROGRAM and,
where there is one, FACET_MPI_PROGRAM say where the programs are."""

import json
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dist"))
import mpi_ranks  # noqa: E402
from test_contact import halves  # noqa: E402
from test_loads import SHAPES, Loads, box  # noqa: E402

ALL = SHAPES[2] + SHAPES[3]


def dim_of(shape):
    return 2 if shape in SHAPES[2] else 3


class Contradictions(Loads):
    def note(self, case, about, ranks=0):
        """The notes of a run that contain the words, and its values."""
        path = self.write(case)
        if ranks:
            status, message = mpi_ranks.run(ranks, self.path(""), "solve", path, "--quiet", "--json", self.path("r.json"))
            self.assertEqual(status, 0, message)
            found = json.loads(self.read("r.json"))
        else:
            found = self.solve(case)
        return [n for n in found.get("notes", []) if about in n], found

    def ranks(self):
        return (0, 2, 5) if mpi_ranks.MPI else (0,)

    # -------------------------------------------------------------------------------------- data finer than the mesh

    PEAK = "100*exp(-((x - 0.53)^2 + (y - 0.47)^2)/0.01^2)"
    STEP = "if(y < 0.43, 1, 0)"

    def unresolved(self, shape, data, ranks=0, cells=8):
        dim = dim_of(shape)
        mesh = f"mesh: {{box: {{lower: {[0] * dim}, upper: {[1] * dim}, cells: {[cells] * dim}, shape: {shape}}}}}\n"
        notes, found = self.note(mesh + data, "is not resolved by the mesh", ranks)
        return notes, found

    def test_source_finer_than_the_mesh(self):
        """What goes out is 20 % more than what was given (0.0314): told with the place, on all meshes and over ranks, by
        expressions as by groups."""
        for shape in SHAPES[2]:
            for ranks in self.ranks():
                notes, found = self.unresolved(shape, f"""equation: diffusion
source: {self.PEAK}
boundary: [{{on: rest, dirichlet: 0}}]
discretization: {{degree: 2}}
values: [{{name: out, field: flux, take: integral, on: [xmin, xmax, ymin, ymax]}}]
""", ranks, 10)
                self.assertGreater(abs(found["values"]["out"] / (0.01 * math.pi) - 1), 0.1)
                self.assertEqual(len(notes), 1, f"{shape} {ranks}")
                self.assertRegex(notes[0], r"the source .* no better than \d+ %.* cell at \(0.5\d*, 0.4\d*\)")

    def test_large_meshes(self):
        """Where not all cells are looked at: a lone peak, and a step along a circle."""
        peak, circle = "exp(-((x - 0.531)^2 + (y - 0.471)^2)/0.002^2)", "if(hypot(x - 0.5, y - 0.5) < 0.3, 1, 0)"
        for shape in SHAPES[2]:
            for source in (peak, circle):
                notes, _ = self.unresolved(shape, f"""equation: diffusion
source: "{source}"
boundary: [{{on: rest, dirichlet: 0}}]
discretization: {{degree: 1}}
""", 0, 60 if source == peak else 16)
                self.assertEqual(len(notes), 1, f"{shape} {source}")

    def test_other_data_finer_than_the_mesh(self):
        diffusion = {"conductivity": "the conductivity", "reaction": "the reaction", "neumann": "the neumann flux on 'xmax'",
                     "robin a": "the robin a on 'xmin'", "robin g": "the robin g on 'xmin'",
                     "dirichlet": "the dirichlet value on 'ymin'"}
        for shape in ("triangle", "quad", "hex"):
            for which, name in diffusion.items():
                step = {key: f'"1 + {self.STEP if key != "dirichlet" else self.STEP.replace("y", "x")}"' if key == which else "1"
                        for key in diffusion}
                notes, _ = self.unresolved(shape, f"""equation: diffusion
conductivity: {step["conductivity"]}
reaction: {step["reaction"]}
boundary:
  - {{on: xmin, robin: {{a: {step["robin a"]}, g: {step["robin g"]}}}}}
  - {{on: xmax, neumann: {step["neumann"]}}}
  - {{on: ymin, dirichlet: {step["dirichlet"]}}}
  - {{on: rest, neumann: 0}}
discretization: {{degree: 2}}
""", 0, 8 if shape != "hex" else 4)
                self.assertEqual(len(notes), 1, f"{shape} {which}")
                self.assertIn(name, notes[0], shape)

    def test_bodies_finer_than_the_mesh(self):
        for shape in SHAPES[2]:
            for which, name in (("E", "the modulus mu"), ("traction", "the traction on 'xmax'"), ("f", "the source"),
                                ("pressure", "the pressure on 'ymax'"), ("spring", "the spring on 'xmin'")):
                step = {key: f'"1 + {self.STEP if key != "pressure" else self.STEP.replace("y", "x")}"' if key == which else "1"
                        for key in ("E", "traction", "f", "pressure", "spring")}
                notes, _ = self.unresolved(shape, f"""equation: elasticity
material: {{E: {step["E"]}, nu: 0.3}}
source: [0, {step["f"]}]
boundary:
  - {{on: xmin, spring: {step["spring"]}}}
  - {{on: xmax, traction: [{step["traction"]}, 0]}}
  - {{on: ymax, pressure: {step["pressure"]}}}
  - {{on: ymin, fixed: true}}
discretization: {{degree: 2}}
""")
                self.assertEqual(len(notes), 1, f"{shape} {which}")
                self.assertIn(name, notes[0], shape)

    def test_heat_finer_than_the_mesh(self):
        """The strain that heat makes, not the temperature by itself: 1 K upon 293 K is all of the load, and 293 K of the
        reference none. Smooth heat is nobody's concern."""
        spot = "if(hypot(x - 0.42, y - 0.51) < 0.05, 1, 0)"
        for shape in SHAPES[2]:
            for temperature, expansion, n in ((f'"293 + {spot}"', "1e-5", 1), ("294", f'"1e-5*{spot}"', 1),
                                              ("293 + exp(x)*y", "1e-5*(1 + x)", 0), ("293", "1e-5", 0)):
                notes, _ = self.unresolved(shape, f"""equation: elasticity
material: {{E: 1, nu: 0.3}}
thermal: {{expansion: {expansion}, reference: 293, temperature: {temperature}}}
boundary: [{{on: xmin, fixed: true}}, {{on: rest, traction: [0, 0]}}]
discretization: {{degree: 2}}
""")
                self.assertEqual(len(notes), n, f"{shape} {temperature} {expansion}")
                if n:
                    self.assertIn("the thermal strain is not resolved", notes[0], shape)

    def test_data_that_are_resolved(self):
        """Smooth data of the coarsest meshes and the lowest degrees, steps along the borders of cells, numbers, and data of
        an exact solution are nobody's concern."""
        smooth = """equation: diffusion
conductivity: 1 + 0.9*sin(3*x)*cos(2*y)
source: exp(3*x)*sin(pi*x)*sin(pi*y)
boundary:
  - {on: xmin, dirichlet: sin(pi*y)}
  - {on: xmax, neumann: exp(-3*y)}
  - {on: rest, robin: {a: 1 + sin(3*x), g: cos(5*y)}}
"""
        steps = """equation: diffusion
source: "if(x < 0.5, 1, 100)"
boundary: [{on: xmin, dirichlet: "if(y < 0.5, 1, 2)"}, {on: rest, neumann: 0}]
"""
        exact = f"equation: diffusion\nexact: {self.PEAK}\n"
        for shape in SHAPES[2]:
            for degree in (1, 2):
                for data, cells in ((smooth, 1), (smooth, 2), (steps, 4), (exact, 4)):
                    notes, _ = self.unresolved(shape, data + f"discretization: {{degree: {degree}}}\n", 0, cells)
                    self.assertEqual(notes, [], f"{shape} {degree} {cells}")

    # -------------------------------------------------------------------------------------- data beyond the range

    def refuse_huge(self, case, *arguments):
        done = self.run_program("solve", self.write(case), *arguments, status=2)
        self.assertRegex(done.stderr, r"1e\+140( \(|.*; )use other units", case)

    def test_huge_data(self):
        """Squares of 1e300 are infinite: refused by every datum, as a number, an expression and over elements of all
        methods."""
        diffusion = """equation: diffusion
source: 1
boundary:
  - {on: xmin, dirichlet: 0}
  - {on: xmax, neumann: 0}
  - {on: ymin, robin: {a: 1, g: 0}}
  - {on: rest, neumann: 0}
discretization: {degree: 2}
"""
        elasticity = """equation: elasticity
material: {E: 1, nu: 0.3}
boundary:
  - {on: xmin, displacement: [0, 0]}
  - {on: xmax, traction: [0, 0]}
  - {on: ymin, spring: 1, pressure: 0}
  - {on: rest, force: [0, 1]}
thermal: {expansion: 1, temperature: 0, reference: 0}
discretization: {degree: 2}
"""
        for value in ("1e300", "1e300*(1 + x)"):
            for key in ("source", "conductivity", "reaction", "boundary.0.dirichlet", "boundary.1.neumann",
                        "boundary.2.robin.a", "boundary.2.robin.g", "discretization.tau"):
                self.refuse_huge(box(2, "triangle") + diffusion, "--set", f"{key}={value}")
            for key in ("source", "boundary.0.displacement", "boundary.1.traction"):
                self.refuse_huge(box(2, "triangle") + elasticity, "--set", f"{key}=[{value}, 0]")
            for key in ("material.E", "boundary.2.spring", "boundary.2.pressure", "thermal.expansion",
                        "thermal.temperature", "thermal.reference"):
                self.refuse_huge(box(2, "triangle") + elasticity, "--set", f"{key}={value}")
            for method in ("hdg", "continuous"):
                self.refuse_huge(box(2, "quad") + "equation: diffusion\nboundary: [{on: rest, dirichlet: 0}]\n", "--set",
                             f"source={value}", "--set", f"discretization.method={method}")
        self.refuse_huge(box(2, "triangle") + elasticity, "--set", "boundary.3.force=[0, 1e300]")
        self.refuse_huge(box(2, "triangle") + diffusion, "--set", "boundary.1={on: xmax, total_flux: 1e300}")

    def test_huge_loads(self):
        """Data within the range whose integrals are not."""
        case = "mesh: {box: {lower: [0, 0], upper: [1e9, 1e9], cells: [4, 4], shape: triangle}}\nequation: diffusion\n"
        done = self.run_program("solve", self.write(case + "source: 1e139\nboundary: [{on: rest, dirichlet: 0}]\n"), status=2)
        self.assertIn("right-hand side that the data make is too large", done.stderr)

    # -------------------------------------------------------------------------------------- electrodes, joined sides

    def test_electrode_at_a_dirichlet_part(self):
        """The potential has no limit under refinement: told with the difference and the place, unless there is a gap."""
        case = """equation: diffusion
boundary: [{on: xmin, total_flux: 1}, {on: %s, dirichlet: 0}, {on: rest, neumann: 0}]
"""
        for shape in SHAPES[2]:
            for method in ("hdg", "condensed"):
                options = f"discretization: {{method: {method}, degree: 2}}\n"
                for ranks in self.ranks()[:2 if method == "hdg" else 1]:
                    notes, found = self.note(box(2, shape) + case % "ymin" + options, "leave a gap", ranks)
                    self.assertEqual(len(notes), 1, f"{shape} {method} {ranks}")
                    difference = f"{found['potentials']['xmin']:.3g}"
                    self.assertIn(f"potentials of 'xmin' and 'ymin' differ by {difference} at (0, 0)", notes[0])
                notes, _ = self.note(box(2, shape) + case % "xmax" + options, "leave a gap")
                self.assertEqual(notes, [], f"{shape} {method}")

    def joined_square(self, joined):
        """A square of two triangles whose sides the file joins."""
        lines = {"bottom": (1, 2), "right": (2, 4), "top": (3, 4), "left": (1, 3)}
        names = "".join(f'1 {i + 1} "{name}"\n' for i, name in enumerate(lines))
        text = f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n4\n{names}$EndPhysicalNames\n"
        text += "$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 1 1 0\n$EndNodes\n$Elements\n6\n"
        text += "".join(f"{i + 1} 1 2 {i + 1} {i + 1} {a} {b}\n" for i, (a, b) in enumerate(lines.values()))
        text += "5 2 2 9 1 1 2 4\n6 2 2 9 1 1 4 3\n$EndElements\n"
        pairs = {"x": "1 2 4\n2\n2 1\n4 3\n", "y": "1 3 1\n2\n3 1\n4 2\n"}
        text += f"$Periodic\n{len(joined)}\n" + "".join(pairs[d] for d in joined) + "$EndPeriodic\n"
        with open(self.path("joined.msh"), "w", encoding="utf-8") as file:
            file.write(text)

    def test_sides_that_a_file_joins(self):
        """They are no boundary: `rest` says nothing about them, and nobody would know."""
        case = """mesh: {file: joined.msh, refine: 2%s}
equation: diffusion
source: sin(2*pi*x)*sin(2*pi*y)
boundary: [{on: rest, dirichlet: 0}]
"""
        for joined, names, words in (("x", "'left', 'right'", "does not hold there"),
                                     ("xy", "'bottom', 'left', 'right', 'top'", "has no face")):
            self.joined_square(joined)
            notes, _ = self.note(case % "", "$Periodic")
            self.assertEqual(len(notes), 1)
            self.assertIn(names, notes[0])
            self.assertIn(words, notes[0])
            self.assertIn("mesh.periodic: false", notes[0])
            self.assertIn("joined to the side", self.run_program("check", self.write(case % "")).stdout)
            self.assertEqual(self.note(case % ", periodic: false", "$Periodic")[0], [])
        for shape in ("triangle", "quad"):  # boxes are asked to be periodic
            mesh = box(2, shape).replace("cells:", "periodic: [x], cells:")
            self.assertEqual(self.note(mesh + "equation: diffusion\nboundary: [{on: rest, dirichlet: 0}]\n", "$Periodic")[0], [])

    # -------------------------------------------------------------------------------------- soft supports

    def test_the_softest_support_is_named(self):
        spring = """equation: elasticity
material: {E: 210e9, nu: 0.3}
boundary:
  - {on: xmin, spring: 1e-4}
  - {on: ymin, spring: 1e-3}
  - {on: rest, traction: [0, -1e3]}
discretization: {degree: 2}
"""
        robin = """equation: diffusion
source: 1
conductivity: 1e3
boundary: [{on: xmin, robin: {a: 1e-14, g: 0}}, {on: rest, neumann: 0}]
discretization: {degree: 2}
solver: {method: direct}
"""
        across = spring.replace("spring: 1e-4}", "spring: {normal: 1, tangential: 1e-4}}")
        for case, words in ((across, r"the spring on 'xmin': 0.0001, which is \d.\de-15 of the shear modulus"),
                            (spring, r"the spring on 'xmin': 0.0001, which is \d.\de-15 of the shear modulus"),
                            (robin, r"robin a on 'xmin': 1e-14, which is 1.0e-17 of the conductivity")):
            done = self.run_program("solve", self.write(box(2, "triangle") + case), status=1)
            self.assertRegex(done.stderr, words)

    # -------------------------------------------------------------------------------------- lists of errors

    def test_many_errors(self):
        """The list ends with a whole line, and with the number of those that had no room."""
        self.joined_square("x")
        wrong = "".join(f"  - {{on: a side that is not there, number {i}, dirichlet: 0}}\n".replace(", number", " number")
                        for i in range(70))
        case = "mesh: {file: joined.msh}\nequation: diffusion\nboundary:\n" + wrong
        for command in ("check", "solve"):
            lines = self.run_program(command, self.write(case), status=2).stderr.splitlines()
            self.assertTrue(all(line.endswith("top") for line in lines[:-1]), lines[-2])
            self.assertRegex(lines[-1], rf"and {70 - len(lines) + 1} more errors$")

    # -------------------------------------------------------------------------------------- corners

    def test_one_rule(self):
        """Where sides of 3, 1 and 0 meet continuous elements take 4/3, where two of them meet their mean, and HDG lets
        every face have its own; on all meshes, and over ranks."""
        case = """equation: diffusion
boundary: [{on: xmin, dirichlet: 3}, {on: ymin, dirichlet: 1}, {on: rest, dirichlet: 0}]
values: [{name: corner, field: u, at: [0, 0, 0]}, {name: edge, field: u, at: [0, 0.5, 0]}, {name: side, field: u, at: [0, 0, 0.5]}]
"""
        for shape in ("tet", "hex"):
            for method in ("hdg", "condensed", "continuous"):
                if (shape, method) == ("tet", "continuous"):
                    continue
                for ranks in self.ranks():
                    what = f"{shape} {method} {ranks}"
                    notes, found = self.note(box(3, shape) + case + f"discretization: {{method: {method}, degree: 3}}\n",
                                             "differ by 3", ranks)
                    self.assertEqual(len(notes), 1, what)
                    self.assertIn("'xmin'", notes[0], what)
                    self.assertIn("keeps its own" if method == "hdg" else "the mean", notes[0], what)
                    if method != "hdg":
                        values = found["values"]
                        self.near([values["corner"], values["edge"], values["side"]], [4 / 3, 1.5, 2], 1e-9, what)

    def test_displacements(self):
        for shape in ALL:
            dim = dim_of(shape)
            free = [0] * dim
            case = box(dim, shape) + f"""equation: elasticity
material: {{E: 1, nu: 0.3}}
boundary:
  - {{on: ymin, fixed: true}}
  - {{on: xmax, displacement: {[0.25] + ["null"] * (dim - 1)}, traction: {["null"] + [0] * (dim - 1)}}}
  - {{on: rest, traction: {free}}}
""".replace("'", "")
            for ranks in self.ranks():
                notes, _ = self.note(case, "differ by 0.25 in x", ranks)
                self.assertEqual(len(notes), 1, f"{shape} {ranks}")
                self.assertIn("'ymin' and 'xmax'", notes[0])
                self.assertIn("at (1, 0", notes[0])
            # a component that the other part leaves free, and one that is the same
            for other in ("roller: x", "roller: y"):
                self.assertEqual(self.note(case.replace(case.split("xmax, ")[1].split("}")[0], other), "differ")[0], [])

    def test_count_of_corners(self):
        """The note tells the largest difference, and how many other vertices of the mesh have one: around a side there are
        two in the plane, and those of its four edges in space."""
        case = "equation: diffusion\nboundary: [{on: xmin, dirichlet: 1 + y}, {on: rest, dirichlet: 0}]\n"
        for shape in ALL:
            dim, n = dim_of(shape), 3
            for ranks in self.ranks():
                notes, _ = self.note(box(dim, shape, cells=[n] * dim) + case, "differ by 2 at", ranks)
                others = {2: "1 other vertex", 3: f"{4 * n - 1} other vertices"}[dim]
                self.assertEqual(len(notes), 1, f"{shape} {ranks}")
                self.assertIn(f"where these parts meet, and by no more at {others}: u has", notes[0], f"{shape} {ranks}")
        alone = "equation: diffusion\nboundary: [{on: xmin, dirichlet: y}, {on: rest, dirichlet: 0}]\n"
        self.assertIn("meet: u", self.note(box(2, "quad") + alone, "differ by 1 at")[0][0])

    def test_no_false_alarm(self):
        """Rounding is no conflict, nor are data that agree where parts meet, or that have no value there."""
        for mesh in (box(2, "quad", cells=[1, 1]), box(2, "triangle", cells=[1, 1]), box(2, "quad"), self.lattice("quad")):
            for data in ("sin(2*pi*x)", "x*(1 - x)", "1e-30*x*(1 - x)"):
                case = mesh + f"equation: diffusion\nboundary: [{{on: ymin, dirichlet: {data}}}, {{on: rest, dirichlet: 0}}]\n"
                self.assertEqual(self.note(case, "differ by")[0], [], data)
            case = mesh + """equation: diffusion
boundary: [{on: xmin, dirichlet: 300 + 20*y}, {on: ymin, dirichlet: 300}, {on: xmax, dirichlet: 290 + 20*y + 10*sqrt(x)},
           {on: ymax, neumann: 0}]
"""
            self.assertEqual(self.note(case, "differ by")[0], [])
            pole = mesh + """equation: diffusion
boundary: [{on: xmin, dirichlet: log(y)}, {on: rest, dirichlet: 0}]
"""
            self.assertEqual(self.note(pole, "at (0, 0)")[0], [])
            # a side may depend on its normal
            self.assertEqual(self.note(mesh + "equation: diffusion\nboundary: [{on: rest, dirichlet: nx}]\n", "differ")[0], [])

    def test_check(self):
        path = self.write(box(2, "quad") + "equation: diffusion\nboundary: [{on: xmin, dirichlet: 1}, {on: rest, dirichlet: 0}]\n")
        text = self.run_program("check", path).stdout
        self.assertIn("'xmin' and 'rest' differ by 1 at (0, 0)", text)
        self.assertIn("'xmin' and 'rest' differ by 1 at (0, 0)", self.run_program("solve", path).stdout)

    # -------------------------------------------------------------------------------------- balance

    def test_balance(self):
        """Fluxes with eight digits: what is left is taken off, and told; more is refused with the number."""
        case = "equation: diffusion\nsource: 1\nboundary: [{on: rest, neumann: -0.25000001}]\n"
        for mesh in (box(2, "quad"), box(2, "triangle"), self.lattice("quad")):
            for method in ("hdg", "condensed") + (("continuous",) if mesh == box(2, "quad") else ()):
                for device in ("cpu", "debug"):
                    path = self.write(mesh + case + f"discretization: {{method: {method}}}\n")
                    self.run_program("solve", path, "--device", device, "--json", "b.json")
                    notes = [n for n in json.loads(self.read("b.json")).get("notes", []) if "sum to -4e-08" in n]
                    self.assertEqual(len(notes), 1, f"{mesh} {method} {device}")
                for ranks in self.ranks()[1:] if method != "condensed" else ():  # that is not distributed here
                    notes, _ = self.note(mesh + case + f"discretization: {{method: {method}}}\n", "sum to -4e-08", ranks)
                    self.assertEqual(len(notes), 1, f"{mesh} {method} {ranks}")
            self.assertEqual(self.note(mesh + case.replace("0.25000001", "0.25"), "sum to")[0], [])
            self.refused(mesh + case.replace("0.25000001", "0.26"), "sum to -0.04")
        body = box(2, "quad") + """equation: elasticity
material: {E: 1, nu: 0.3}
boundary: [{on: xmin, traction: [-1.0000001, 0]}, {on: xmax, traction: [1, 0]}, {on: rest, traction: [0, 0]}]
"""
        notes, _ = self.note(body, "do not balance")
        self.assertEqual(len(notes), 1)
        self.assertIn("1e-07", notes[0])
        self.assertEqual(self.note(body.replace("1.0000001", "1"), "balance")[0], [])

    # -------------------------------------------------------------------------------------- exact solutions

    def test_contacts(self):
        """2 u_x is the same on both sides, and 4 times the jump: what is one per cent off is told."""
        exact = "if(x < 0.5, sin(y)*x, sin(y)*(1 + 2*(x - 0.5)/5))"
        for shape in ALL:
            mesh = self.lattice(shape, cells=[2] + [1] * (dim_of(shape) - 1), region=halves)
            case = mesh + f"""equation: diffusion
conductivity: [{{on: left, value: 2}}, {{on: right, value: 5}}]
interfaces: [{{between: [left, right], conductance: 4}}]
exact: "{exact}"
discretization: {{degree: 1}}
"""
            for ranks in self.ranks()[:2]:
                self.assertEqual(self.note(case, "none of this problem", ranks)[0], [], f"{shape} {ranks}")
                for wrong in (case.replace("conductance: 4", "conductance: 4.04"), case.replace("value: 5", "value: 5.1"),
                              case.replace(exact, "x*sin(y)")):
                    notes, _ = self.note(wrong, "interface between 'left' and 'right'", ranks)
                    self.assertEqual(len(notes), 1, f"{shape} {ranks} {wrong}")

    def test_groups(self):
        """A flux that jumps with the conductivity, or a traction with the moduli."""
        for shape in ALL:
            dim = dim_of(shape)
            mesh = self.lattice(shape, region=halves)
            case = mesh + """equation: diffusion
conductivity: [{on: left, value: 1}, {on: right, value: 2}]
discretization: {degree: 1}
exact: """
            right = "if(x < 0.5, x, 0.25 + x/2) + y"
            for ranks in self.ranks()[:2]:
                self.assertEqual(self.note(case + f'"{right}"\n', "none of this problem", ranks)[0], [], shape)
                notes, _ = self.note(case + "x + y\n", "its flux jumps between groups", ranks)
                self.assertEqual(len(notes), 1, f"{shape} {ranks}")
                self.assertIn("by 1 at (0.5,", notes[0])
            case = mesh + f"""equation: elasticity
material: [{{on: left, mu: 1, lambda: 0}}, {{on: right, mu: 2, lambda: 0}}]
discretization: {{degree: 1}}
exact: {["if(x < 0.5, x, 0.25 + x/2)"] + [0] * (dim - 1)}
"""
            self.assertEqual(self.note(case, "none of this problem")[0], [], shape)
            notes, _ = self.note(case.replace("if(x < 0.5, x, 0.25 + x/2)", "x"), "its traction jumps")
            self.assertEqual(len(notes), 1, shape)

    def test_periodic(self):
        for shape in ALL:
            dim = dim_of(shape)
            for ranks in self.ranks()[:2]:
                mesh = box(dim, shape).replace("shape", "periodic: [x], shape")
                case = mesh + "equation: diffusion\nexact: "
                for good in ("sin(2*pi*x)*y", "sin(pi*x)^2*y", "1e6 + cos(2*pi*x)"):
                    self.assertEqual(self.note(case + good + "\n", "none of this problem", ranks)[0], [], f"{shape} {good}")
                for bad, words in (("x*y", "u does not repeat"), ("sin(pi*x)*y", "its flux does not repeat")):
                    self.assertEqual(len(self.note(case + bad + "\n", words, ranks)[0]), 1, f"{shape} {bad} {ranks}")
                jump = mesh + f"equation: diffusion\njump: {[3] + [0] * (dim - 1)}\nexact: 3*x + y\n"
                self.assertEqual(self.note(jump, "none of this problem", ranks)[0], [], f"{shape} {ranks}")
                notes, _ = self.note(jump.replace("3*x", "2*x"), "not what jump says", ranks)
                self.assertEqual(len(notes), 1, f"{shape} {ranks}")
                self.assertIn("by 1 at", notes[0])


if __name__ == "__main__":
    unittest.main()
