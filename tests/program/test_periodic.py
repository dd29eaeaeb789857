"""Sides that $Periodic of a Gmsh file joins: translations and rotations, against the periodic boxes of the program, exact
solutions and Rayleigh's series; the jump across them; and what of it is refused. FACET_PROGRAM says where the program
is."""

import itertools
import json
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_loads import SHAPES, Loads, box  # noqa: E402

ALL = SHAPES[2] + SHAPES[3]
HERE = os.path.dirname(os.path.abspath(__file__))
PERFORATED = os.path.join(HERE, "..", "..", "examples", "meshes", "perforated.msh")


def translation(s):
    return [1, 0, 0, s[0], 0, 1, 0, s[1], 0, 0, 1, s[2], 0, 0, 0, 1]


class Periodic(Loads):
    def joined(self, shape, cells, directions, maps=None, spoil=None, affine=True, **more):
        """A lattice whose upper sides in some directions repeat the lower ones."""
        dim = len(cells)
        mesh = self.lattice(shape, cells=cells, **more)
        strides = [1]
        for n in cells[:-1]:
            strides.append(strides[-1] * (n + 1))
        lines = ["$Periodic", str(len(directions))]
        for d in directions:
            shift = [0.0, 0.0, 0.0]
            shift[d] = more.get("upper", [1] * dim)[d] - more.get("lower", [0] * dim)[d]
            lines.append(f"{dim - 1} {10 + d} {d + 1}")
            if affine:
                lines.append("Affine " + " ".join(map(str, (maps or {}).get(d, translation(shift)))))
            pairs = []
            for index in itertools.product(*[range(n + 1) if k != d else [0] for k, n in enumerate(cells)]):
                here = sum(i * s for i, s in zip(index, strides)) + 1
                pairs.append(f"{here + cells[d] * strides[d]} {here}")
            if spoil:
                pairs = spoil(pairs)
            lines += [str(len(pairs))] + pairs
        self.write(self.read("body.msh") + "\n".join(lines + ["$EndPeriodic", ""]), "body.msh")
        return mesh

    def test_like_a_box(self):
        """A file gives what the periodic box of the same cells gives, also where cells meet their own images."""
        for shape in ("triangle", "quad", "hex"):  # bricks are cut otherwise into tets
            dim = 2 if shape in SHAPES[2] else 3
            for n, affine in ((3, True), (1, False)):
                cells = [4] + [n] * (dim - 1)
                directions = "xyz"[:dim]
                values = []
                for mesh in (self.joined(shape, cells, range(dim), affine=affine),
                             box(dim, shape, cells=cells).replace("shape:", f"periodic: [{', '.join(directions)}], shape:")):
                    out = self.solve(mesh.replace("}\n", ", refine: 1}\n") + f"""equation: diffusion
conductivity: 2 + sin(2*pi*x)*cos(2*pi*y)
reaction: 1
source: exp(cos(2*pi*(x + y)))
discretization: {{degree: 2}}
solver: {{rtol: 1e-12}}
values: [{{name: a, field: u, at: {[0.3, 0.4, 0.2][:dim]}}}, {{name: b, field: u, at: {[0.9, 0.1, 0.6][:dim]}}}]
""")
                    values.append([out["values"]["a"], out["values"]["b"]])
                    self.assertLess(out["balance"], 1e-9)
                self.near(values[0], values[1], 1e-9, f"{shape} {n}")

    def test_orders(self):
        for shape in ALL:
            dim = 2 if shape in SHAPES[2] else 3
            case = self.joined(shape, [3] * dim, range(dim)) + """equation: diffusion
exact: sin(2*pi*x)*cos(2*pi*y)
discretization: {tau: 10}
"""
            self.run_program("converge", self.write(case), "--refine", "1:2" if dim == 2 else "0:1", "--degree", "2:3",
                             "--json", "c.json")
            for row in [r for r in json.loads(self.read("c.json"))["rows"] if "rates" in r]:
                self.assertGreater(row["rates"]["u"]["L2"], row["degree"] + 0.5, shape)

    def test_sector(self):
        """A quarter of a plate about a corner: one side is the other, turned. Scalars and displacements that every quarter
        repeats are exact from their degree on; with walls, and adrift."""
        for shape in ALL:
            dim = 2 if shape in SHAPES[2] else 3

            def sector(x):
                r, phi = 1 + x[1], math.pi / 2 * (1 - x[0])
                return [r * math.cos(phi), r * math.sin(phi)] + x[2:]

            # upper x is angle 0, lower x is angle 90: the upper side is the lower one turned back
            back = [0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
            mesh = self.joined(shape, [4, 3, 2][:dim], [0], maps={0: back}, moved=sector)
            out = self.solve(mesh + """equation: diffusion
exact: x^4 - 6*x^2*y^2 + y^4
discretization: {degree: 4}
""")
            self.near([out["errors"]["u"]["L2"], out["balance"]], [0, 0], 1e-8, shape)
            exact = ["0.3*x - 0.2*y", "0.2*x + 0.3*y", "0.5*z"][:dim]
            head = mesh + f"equation: elasticity\nmaterial: {{E: 1, nu: 0.3}}\nexact: {str(exact)}\n".replace("'", "")
            for formulation in ("symmetric", "gradient"):
                if formulation == "gradient" and dim == 3:
                    continue
                out = self.solve(head + f"discretization: {{degree: 2, formulation: {formulation}}}\n")
                self.near([out["errors"]["u"]["L2"], out["balance"]], [0, 0], 1e-8, f"{shape} {formulation}")
            for solver in ("direct", "cg"):
                out = self.solve(head + "boundary: [{on: rest, traction: exact}]\ndiscretization: {degree: 2}\n"
                                 f"solver: {{method: {solver}, rtol: 1e-12}}\n")
                self.near([out["errors"]["u"]["L2"], out["errors"]["stress"]["L2"]], [0, 0], 1e-8, f"{shape} {solver}")
            # a push along x is none that every quarter repeats: it balances; a turning one does not
            spin = ["-y", "x", "0"][:dim]
            self.refused(head.split("exact")[0] + f"source: {str(spin)}\n".replace("'", "") +
                         f"boundary: [{{on: rest, traction: {[0] * dim}}}]\n", "can still ", "rotate about the z axis",
                         "do not balance")
            self.refused(head + "solver: {preconditioner: pmg}\n", "pmg")
            self.refused(mesh + f"equation: diffusion\njump: {[1] * dim}\nboundary: [{{on: rest, neumann: 0}}]\n",
                         "joined by a rotation")

    def test_laminate(self):
        """Layers across x: the harmonic mean of K along x, the arithmetic one across; with contacts in series."""
        for shape in ALL:
            dim = 2 if shape in SHAPES[2] else 3
            for n in (1, 2):
                case = self.joined(shape, [4] + [n] * (dim - 1), range(dim), upper=[2] + [1] * (dim - 1),
                                   region=lambda x: "soft" if x[0] < 1 else "hard") + f"""equation: diffusion
conductivity: [{{on: soft, value: 1}}, {{on: hard, value: 3}}]
jump: {["a", 5, 7][:dim]}
parameters: {{a: 2}}
discretization: {{degree: 1}}
values: [{{name: q, field: q, take: mean}}, {{name: u, field: u, take: mean}}]
""".replace("'", "")
                for solver in ("method: direct", "preconditioner: pmg", "preconditioner: amg"):
                    out = self.solve(case + f"solver: {{{solver}, rtol: 1e-12}}\n")
                    self.near(out["values"]["q"], [-3, -10, -14][:dim], 1e-9, f"{shape} {n} {solver}")
                    self.near(out["values"]["u"], 0, 1e-10)
                    self.assertLess(out["balance"], 1e-9)
                out = self.solve(case + "interfaces: [{between: [soft, hard], conductance: 4}]\n")
                # along x: 4 / (1 + 1/3 + 2/4); both joints of the layers resist, one of them across the pair
                self.near(out["values"]["q"], [-4 / (4 / 3 + 0.5), -10, -14][:dim], 1e-9, f"{shape} {n}")

    def test_mean_strain(self):
        for shape in ALL:
            dim = 2 if shape in SHAPES[2] else 3
            strain = [[1, 0.3, 0.2], [0.3, 2, 0.1], [0.2, 0.1, 3]]
            strain = [row[:dim] for row in strain[:dim]]
            case = self.joined(shape, [3] + [2] * (dim - 1), range(dim)) + f"""equation: elasticity
material: {{mu: 1, lambda: 2}}
jump: {strain}
discretization: {{degree: 1}}
values: [{{name: s, field: stress, take: mean}}, {{name: u, field: u, take: mean}}]
"""
            trace = sum(strain[i][i] for i in range(dim))
            wanted = [2 * strain[i][j] + 2 * trace * (i == j) for i in range(dim) for j in range(dim)]
            for solver in ("direct", "cg"):
                out = self.solve(case + f"solver: {{method: {solver}, rtol: 1e-12}}\n")
                self.near(out["values"]["s"], wanted, 1e-9, f"{shape} {solver}")
                self.near(out["values"]["u"], [0] * dim, 1e-10)
                self.assertLess(out["balance"], 1e-9)

    def test_perforated_plate(self):
        """Against Rayleigh's series of a square array of insulating cylinders, on curved cells."""
        f = math.pi / 16
        wanted = 1 - 2 * f / (1 + f - 0.305827 * f**4 / (1 - 1.402958 * f**8) - 0.013362 * f**8)
        case = f"""mesh: {{file: "{PERFORATED}"}}
equation: diffusion
boundary: [{{on: hole, neumann: 0}}]
values: [{{name: K, field: q, take: integral}}]
"""
        for jump, turned in (([1, 0], 0), ([0, 1], 1)):
            for degree, delta in ((2, 1e-4), (4, 3e-8)):
                K = self.solve(case + f"jump: {jump}\ndiscretization: {{degree: {degree}}}\n")["values"]["K"]
                self.near(K[turned], -wanted, delta)
                self.near(K[1 - turned], 0, delta)

    def test_refusals(self):
        case = """equation: diffusion
boundary: [{on: rest, neumann: 0}]
"""
        mesh = self.joined("quad", [3, 3], [0], spoil=lambda p: [" ".join(a.split()[:1] + b.split()[1:])
                                                                for a, b in zip(p, p[1:] + p[:1])])
        self.refused(mesh + case, "$Periodic: the map from entity 1 to 10", "does not match", "(1, 1, 0) is 1 away")
        self.solve(mesh.replace("}", ", periodic: false}") + case.replace("neumann", "dirichlet"))
        mesh = self.joined("quad", [3, 3], [0], maps={0: [-1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]})
        self.solve(mesh + case)  # the nodes are those of a translation
        mesh = self.joined("quad", [3, 3], [0], moved=lambda x: [x[0], x[1] * (1 + x[0])])
        self.refused(mesh + case, "does not match", "away from the image")
        mesh = self.joined("triangle", [3, 3], [0], spoil=lambda p: p[::2])
        self.refused(mesh + case, "no face of entity 10", "(1, 0, 0)")
        mesh = self.joined("quad", [3, 3], [0])
        self.refused(mesh + case.replace("rest", "xmin"), "'xmin' is joined", "mesh.periodic: false")
        self.refused(mesh + case + "jump: [1, y]\n", "case.yaml:4:", "must be numbers")
        self.refused(mesh + case + "jump: [[1, 0], [0, 1]]\n", "case.yaml:4:", "of diffusion is a list")
        self.refused(mesh + case + "jump: [1, 0]\ndiscretization: {method: condensed}\n", "method: hdg")
        self.refused(box(2, "quad") + case + "jump: [1, 0]\n", "no joined sides")
        self.refused(box(2, "quad").replace("mesh: {", "mesh: {periodic: true, ") + case, "box.periodic")
        solid = mesh + "equation: elasticity\nmaterial: {E: 1, nu: 0}\nboundary: [{on: rest, traction: [0, 0]}]\n"
        self.refused(solid + "jump: [1, 0]\n", "the mean strain")
        self.refused(solid.replace("[{on: rest, traction", "[{on: ymin, fixed: true}, {on: rest, traction") +
                     "jump: [[1, 0], [0, 0]]\ndiscretization: {formulation: gradient}\n", "formulation symmetric")


if __name__ == "__main__":
    unittest.main()
