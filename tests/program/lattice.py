"""Lattices of all shapes as Gmsh files (MSH 2.2), with groups, for tests that need a mesh which is no box: cells of a
box, moved by a map, in the group that a function of their middle names, and the sides xmin .. zmax."""

CUTS = {"quad": [(0, 1, 3, 2)], "triangle": [(0, 1, 3), (0, 3, 2)], "hex": [(0, 1, 3, 2, 4, 5, 7, 6)],
        "tet": [(0, 1, 3, 7), (0, 3, 2, 7), (0, 2, 6, 7), (0, 6, 4, 7), (0, 4, 5, 7), (0, 5, 1, 7)]}
KINDS = {"segment": 1, "triangle": 2, "quad": 3, "tet": 4, "hex": 5}


def write(path, shape, lower, upper, cells, moved=lambda x: x, region=lambda x: "body"):
    dim = len(cells)
    names, elements = {}, []
    strides = [1]
    for n in cells[:-1]:
        strides.append(strides[-1] * (n + 1))

    def number(index):
        return sum(i * s for i, s in zip(index, strides)) + 1

    def point(index):
        return [a + (b - a) * i / n for i, a, b, n in zip(index, lower, upper, cells)]

    def group(name, d):
        return names.setdefault((d, name), len(names) + 1)

    def indices(counts):
        if not counts:
            yield ()
            return
        for rest in indices(counts[1:]):
            for i in range(counts[0]):
                yield (i,) + rest

    corners = [tuple(c >> d & 1 for d in range(dim)) for c in range(2**dim)]
    for cell in indices(cells):
        middle = [x + (b - a) / n / 2 for x, a, b, n in zip(point(cell), lower, upper, cells)]
        vertices = [number([i + o for i, o in zip(cell, corner)]) for corner in corners]
        for cut in CUTS[shape]:
            elements.append((KINDS[shape], group(region(middle), dim), [vertices[v] for v in cut]))
            for d in range(dim):
                for side in (0, 1):
                    if cell[d] != side * (cells[d] - 1):
                        continue
                    on = [v for v in cut if (v >> d & 1) == side]
                    if len(on) < dim:
                        continue
                    face = {2: "segment", 3: "triangle", 4: "quad"}[len(on)]
                    if face == "quad" and d < 2:
                        on[2:] = on[:1:-1]  # around
                    elements.append((KINDS[face], group("xyz"[d] + ("min", "max")[side], dim - 1),
                                     [vertices[v] for v in on]))
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", str(len(names))]
    lines += [f'{d} {n} "{name}"' for (d, name), n in names.items()]
    lines += ["$EndPhysicalNames", "$Nodes"]
    nodes = list(indices([n + 1 for n in cells]))
    lines.append(str(len(nodes)))
    for index in nodes:
        x = list(moved(point(index)))
        lines.append(" ".join([str(number(index))] + [repr(float(v)) for v in x + [0.0] * (3 - dim)]))
    lines += ["$EndNodes", "$Elements", str(len(elements))]
    lines += [" ".join(map(str, [i + 1, kind, 2, tag, tag] + vertices))
              for i, (kind, tag, vertices) in enumerate(elements)]
    lines += ["$EndElements", ""]
    with open(path, "w") as file:
        file.write("\n".join(lines))
