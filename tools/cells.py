"""The shape functions of VTK's cells: weights(vtk_type, n_nodes, parameters).

All of them come from Lagrange polynomials on the lattice of points i/g: a cell is a product of simplices (a prism that
of a triangle and a segment), and on a simplex with barycentric coordinates l_0 .. l_d the node with the integers
a_0 .. a_d, whose sum is g, has the function

    product over i of P(a_i, g l_i),    P(a, t) = t (t - 1) .. (t - a + 1) / a!

Parameters are those of VTK, each between 0 and 1.
"""
import numpy as np

MOST_ORDER = 16

CORNERS = {
    "segment": [(0, 0, 0), (1, 0, 0)],
    "triangle": [(0, 0, 0), (1, 0, 0), (0, 1, 0)],
    "quad": [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)],
    "tet": [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)],
    "hex": [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)],
    "prism": [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (0, 1, 1)],
}
# The coordinates of each simplex that the cell is a product of.
FACTORS = {"segment": [[0]], "triangle": [[0, 1]], "quad": [[0], [1]], "tet": [[0, 1, 2]], "hex": [[0], [1], [2]],
           "prism": [[0, 1], [2]]}
# How VTK goes through the nodes of a cell, by numbers of corners.
EDGES = {
    "segment": [(0, 1)],
    "triangle": [(0, 1), (1, 2), (2, 0)],
    "quad": [(0, 1), (1, 2), (3, 2), (0, 3)],
    "tet": [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)],
    "hex": [(0, 1), (1, 2), (3, 2), (0, 3), (4, 5), (5, 6), (7, 6), (4, 7), (0, 4), (1, 5), (2, 6), (3, 7)],
    "prism": [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)],
}
FACES = {
    "tet": [(0, 1, 3), (2, 3, 1), (0, 3, 2), (0, 2, 1)],
    "hex": [(0, 3, 7, 4), (1, 2, 6, 5), (0, 1, 5, 4), (3, 2, 6, 7), (0, 1, 2, 3), (4, 5, 6, 7)],
    "prism": [(0, 1, 2), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)],
}
AXES = {"triangle": (1, 2), "quad": (1, 3), "hex": (1, 3, 4), "prism": (1, 2, 3)}  # corners next to the first one

LAGRANGE = {68: "segment", 69: "triangle", 70: "quad", 71: "tet", 72: "hex", 73: "prism"}
# Types of one order that are numbered as the Lagrange cells are.
COMPLETE = {3: ("segment", 1), 21: ("segment", 2), 35: ("segment", 3), 5: ("triangle", 1), 22: ("triangle", 2),
            9: ("quad", 1), 28: ("quad", 2), 10: ("tet", 1), 24: ("tet", 2), 12: ("hex", 1), 29: ("hex", 2),
            13: ("prism", 1), 32: ("prism", 2)}
# Quads and hexes along the axes, which are numbered by rows.
PERMUTED = {8: ("quad", [0, 1, 3, 2]), 11: ("hex", [0, 1, 3, 2, 4, 5, 7, 6])}
# Quadratic cells without the nodes inside of quads and hexes, and how many they have.
SERENDIPITY = {23: ("quad", 8), 25: ("hex", 20), 26: ("prism", 15)}
TRIANGLE_WITH_CENTRE = 34

KINDS = {**LAGRANGE, **{number: kind for number, (kind, _) in {**COMPLETE, **PERMUTED, **SERENDIPITY}.items()},
         TRIANGLE_WITH_CENTRE: "triangle"}


# ------------------------------------------------------------------------------------------ nodes

def count_nodes(kind, order):
    n = 1
    for axes in FACTORS[kind]:
        size = 1
        for d in range(len(axes)):
            size = size * (order + 1 + d) // (d + 1)
        n *= size
    return n


def nodes(kind, order):
    """The lattice points (integers, 0 .. order) of a Lagrange cell in the order of VTK 9.1: corners, the insides of
    edges, of faces, of the cell."""
    corners = order * np.array(CORNERS[kind])
    return np.array(list(_walk(kind, order, corners, kind in ("quad", "hex", "prism"))))


def _walk(kind, order, corners, by_rows):
    if order == 0:
        yield corners[0]
        return
    yield from corners
    for a, b in EDGES[kind]:
        for m in range(1, order):
            yield corners[a] + (corners[b] - corners[a]) // order * m
    for face in FACES.get(kind, []):
        yield from _inside("triangle" if len(face) == 3 else "quad", order, corners[list(face)], by_rows)
    if kind != "segment":
        yield from _inside(kind, order, corners, by_rows)


def _inside(kind, order, corners, by_rows):
    """Row by row, or as a smaller cell of the same kind. The corners of the smaller cell have moved by one step along
    each edge that meets there."""
    if by_rows:
        yield from _rows(kind, order, corners)
        return
    less = len(corners)  # a triangle of order g has one of order g - 3 inside, a tet one of order g - 4
    if order < less:
        return
    inner = corners.copy()
    for a, b in EDGES[kind]:
        step = (corners[b] - corners[a]) // order
        inner[a] += step
        inner[b] -= step
    yield from _walk(kind, order - less, inner, by_rows)


def _rows(kind, order, corners):
    steps = [(corners[c] - corners[0]) // order for c in AXES[kind]]
    for k in range(1, order if len(steps) == 3 else 2):
        for j in range(1, order):
            for i in range(1, order - j if kind in ("triangle", "prism") else order):
                yield corners[0] + sum(count * step for count, step in zip((i, j, k), steps))


# ------------------------------------------------------------------------------------------ functions

def _powers(order, t):
    """P(a, t) for a = 0 .. order: (points, order + 1)."""
    table = np.ones((len(t), order + 1))
    for a in range(1, order + 1):
        table[:, a] = table[:, a - 1] * (t - (a - 1)) / a
    return table


def lagrange(kind, order, parameters):
    lattice = nodes(kind, order)
    result = np.ones((len(parameters), len(lattice)))
    for axes in FACTORS[kind]:
        t, a = order * parameters[:, axes], lattice[:, axes]
        for column in range(len(axes)):
            result *= _powers(order, t[:, column])[:, a[:, column]]
        result *= _powers(order, order - t.sum(axis=1))[:, order - a.sum(axis=1)]
    return result


def serendipity(kind, n, parameters):
    """The quadratic Lagrange cell whose values at its missing nodes, the middles of quads and of the hex, follow from
    those at the corners and edges around them."""
    lattice = nodes(kind, 2)
    places = lattice if kind != "prism" else np.column_stack([lattice, 2 - lattice[:, 0] - lattice[:, 1]])
    is_corner = (lattice[:n] % 2 == 0).all(axis=1)
    extension = np.eye(len(lattice), n)
    for row in range(n, len(lattice)):
        fixed = places[row] != 1  # coordinates that all nodes of the face have
        around = (places[:n, fixed] == places[row, fixed]).all(axis=1)
        extension[row, around & is_corner] = -0.25
        extension[row, around & ~is_corner] = 0.5 if fixed.any() else 0.25
    return lagrange(kind, 2, parameters) @ extension


def triangle_with_centre(parameters):
    """The quadratic triangle and a bubble that is 1 in the centre."""
    x, y = parameters[:, 0], parameters[:, 1]
    bubble = (27 * x * y * (1 - x - y))[:, None]
    centre = lagrange("triangle", 2, np.array([[1 / 3, 1 / 3, 0]]))
    return np.hstack([lagrange("triangle", 2, parameters) - bubble * centre, bubble])


def order_of(vtk_type, n_nodes):
    """The order of a cell of a type in KINDS, None if no cell of this type has so many nodes."""
    if vtk_type in LAGRANGE:
        return next((g for g in range(1, MOST_ORDER + 1) if count_nodes(LAGRANGE[vtk_type], g) == n_nodes), None)
    if vtk_type in COMPLETE:
        kind, order = COMPLETE[vtk_type]
        return order if count_nodes(kind, order) == n_nodes else None
    if vtk_type in PERMUTED:
        return 1 if len(PERMUTED[vtk_type][1]) == n_nodes else None
    if vtk_type in SERENDIPITY:
        return 2 if SERENDIPITY[vtk_type][1] == n_nodes else None
    return 2 if vtk_type == TRIANGLE_WITH_CENTRE and n_nodes == 7 else None


def weights(vtk_type, n_nodes, parameters):
    """The shape functions at parametric points (points, 3): (points, nodes). order_of(vtk_type, n_nodes) is known."""
    parameters = np.asarray(parameters, dtype=float)
    if vtk_type in SERENDIPITY:
        return serendipity(*SERENDIPITY[vtk_type], parameters)
    if vtk_type in PERMUTED:
        kind, order = PERMUTED[vtk_type]
        return lagrange(kind, 1, parameters)[:, order]
    if vtk_type == TRIANGLE_WITH_CENTRE:
        return triangle_with_centre(parameters)
    return lagrange(KINDS[vtk_type], order_of(vtk_type, n_nodes), parameters)
