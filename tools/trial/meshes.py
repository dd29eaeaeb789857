"""Lattices of all shapes as Gmsh files (MSH 2.2), straight or curved, with groups: the boxes between given lines, cut into
cells and moved by a map. Indices of nodes count quarters of a box, so that middles of edges and faces, the apex of
pyramids and the middles of their edges have one too."""
import itertools

from trial.text import AXES, number

WHOLE = 4  # steps of an index from one line to the next
# Corners of a box by bits: x, y, z. Which of them a cell has (8: the middle), in the order of Gmsh.
CUTS = {"quad": [(0, 1, 3, 2)], "triangle": [(0, 1, 3), (0, 3, 2)], "hex": [(0, 1, 3, 2, 4, 5, 7, 6)],
        "tet": [(0, 1, 3, 7), (0, 3, 2, 7), (0, 2, 6, 7), (0, 6, 4, 7), (0, 4, 5, 7), (0, 5, 1, 7)],
        "prism": [(0, 1, 3, 4, 5, 7), (0, 3, 2, 4, 7, 6)],
        "pyramid": [(0, 1, 3, 2, 8), (5, 4, 6, 7, 8), (1, 0, 4, 5, 8), (3, 1, 5, 7, 8), (2, 3, 7, 6, 8), (0, 2, 6, 4, 8)]}
# Of a shape: the type of Gmsh of order 1 and 2; what the further nodes of order 2 are the middles of; faces.
SHAPES = {
    "segment": (1, 8, [(0, 1)], []),
    "triangle": (2, 9, [(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2), (2, 0)]),
    "quad": (3, 10, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 1, 2, 3)], [(0, 1), (1, 2), (2, 3), (3, 0)]),
    "tet": (4, 11, [(0, 1), (1, 2), (2, 0), (3, 0), (2, 3), (1, 3)], [(0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 2, 3)]),
    "hex": (5, 12, [(0, 1), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 6), (3, 7), (4, 5), (4, 7), (5, 6), (6, 7),
                    (0, 1, 2, 3), (0, 1, 5, 4), (0, 3, 7, 4), (1, 2, 6, 5), (2, 3, 7, 6), (4, 5, 6, 7), tuple(range(8))],
            [(0, 1, 2, 3), (0, 1, 5, 4), (0, 3, 7, 4), (1, 2, 6, 5), (2, 3, 7, 6), (4, 5, 6, 7)]),
    "prism": (6, 13, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (3, 5), (4, 5), (0, 1, 4, 3), (0, 2, 5, 3),
                      (1, 2, 5, 4)], [(0, 1, 2), (3, 4, 5), (0, 1, 4, 3), (0, 2, 5, 3), (1, 2, 5, 4)]),
    "pyramid": (7, 14, [(0, 1), (0, 3), (0, 4), (1, 2), (1, 4), (2, 3), (2, 4), (3, 4), (0, 1, 2, 3)],
                [(0, 1, 2, 3), (0, 1, 4), (1, 2, 4), (2, 3, 4), (0, 3, 4)])}


def middle(points):
    return tuple(sum(p[d] for p in points)//len(points) for d in range(len(points[0])))


def place(lines, index):
    """Where an index lies before it is moved."""
    point = []
    for line, i in zip(lines, index):
        whole, part = divmod(i, WHOLE)
        point.append(line[whole] if part == 0 else line[whole] + (line[whole + 1] - line[whole])*part/WHOLE)
    return point


class Lattice:
    """shape_of(box) and group_of(box) name shape and group of the cells in a box, given by its numbers."""

    def __init__(self, lines, shape_of, group_of, order=1, moved=None):
        self.lines, self.order, self.moved = lines, order, moved or (lambda x: x)
        self.nodes, self.tags, self.elements = {}, {}, []
        dim = len(lines)
        ends = [WHOLE*(len(line) - 1) for line in lines]
        for box in itertools.product(*(range(len(line) - 1) for line in lines)):
            corners = [tuple(WHOLE*(b + (c >> d & 1)) for d, b in enumerate(box)) for c in range(2**dim)]
            corners.append(middle([corners[0], corners[-1]]))
            shape = shape_of(box)
            for cut in CUTS[shape]:
                cell = [corners[c] for c in cut]
                self.add(shape, dim, group_of(box), cell)
                for face in SHAPES[shape][3]:
                    points = [cell[c] for c in face]
                    for d, side in itertools.product(range(dim), (0, 1)):
                        if all(p[d] == side*ends[d] for p in points):
                            kind = {2: "segment", 3: "triangle", 4: "quad"}[len(points)]
                            self.add(kind, dim - 1, AXES[d] + ("min", "max")[side], points)

    def node(self, index):
        return self.nodes.setdefault(index, len(self.nodes) + 1)

    def add(self, shape, dim, group, points):
        kinds, middles = SHAPES[shape][:2], SHAPES[shape][2]
        if self.order == 2:
            points = points + [middle([points[c] for c in corners]) for corners in middles]
        tag = self.tags.setdefault((dim, group), len(self.tags) + 1)
        self.elements.append((kinds[self.order - 1], tag, [self.node(p) for p in points]))

    def text(self):
        lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", str(len(self.tags))]
        lines += [f'{d} {tag} "{name}"' for (d, name), tag in self.tags.items()]
        lines += ["$EndPhysicalNames", "$Nodes", str(len(self.nodes))]
        for index, name in self.nodes.items():
            point = list(self.moved(place(self.lines, index))) + [0.0]*(3 - len(index))
            lines.append(f"{name} " + " ".join(number(v) for v in point))
        lines += ["$EndNodes", "$Elements", str(len(self.elements))]
        lines += [f"{n + 1} {kind} 2 {tag} {tag} " + " ".join(map(str, nodes))
                  for n, (kind, tag, nodes) in enumerate(self.elements)]
        return "\n".join(lines + ["$EndElements", ""])


def bump(lines, axes, amount):
    """Moves along these axes, inside the box alone."""
    low, length = [line[0] for line in lines], [line[-1] - line[0] for line in lines]

    def moved(x):
        size = 1.0
        for v, a, n in zip(x, low, length):
            t = min(max((v - a)/n, 0.0), 1.0)
            size *= 4*t*(1 - t)
        return [v + (amount*length[d]*size/(len(lines[d]) - 1) if d in axes else 0.0) for d, v in enumerate(x)]
    return moved
