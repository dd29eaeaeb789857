"""Pictures by matplotlib: coloured cells in 2D, surfaces in 3D. Curved cells of high degree are cut into small flat
triangles by the lattice of their nodes."""
from __future__ import annotations

import functools
import itertools
from typing import Any, List, Optional, Tuple

import numpy as np

from ._convert import _VTK_SHAPES
from ._library import InputError, integer
from ._mesh import _DIM, _SIMPLEX, AXES, Mesh


# ---------------------------------------------------------------------------------------------- lattices

def _lattice(shape: str, order: int) -> Any:
    """The integer coordinates of the nodes, the first coordinate fastest."""
    dim = _DIM[shape]
    rows = [row[::-1] for row in itertools.product(range(order + 1), repeat=dim)]
    return np.array([row for row in rows if shape not in _SIMPLEX or sum(row) <= order])


@functools.lru_cache(maxsize=None)
def _vtk_lattice(shape: str, order: int) -> Any:
    """The integer coordinates of the nodes in VTK's order: what a mesh of one cell says of it."""
    lattice = _lattice(shape, order)
    mesh = Mesh(lattice / order, {shape: np.arange(len(lattice))[None]}, numbering="lattice")
    return np.rint(mesh.points[mesh.blocks("vtk")[0].nodes[0]] * order).astype(int)


def _split(index: Any, corners: Any, three: bool) -> Any:
    """The small triangles of a face. index: (i, j) to the number of a node."""
    n = corners
    found = []
    for i in range(n):
        for j in range(n - i if three else n):
            found.append((index[i, j], index[i + 1, j], index[i, j + 1]))
            if not three or i + j < n - 1:
                found.append((index[i + 1, j], index[i + 1, j + 1], index[i, j + 1]))
    return np.array(found)


@functools.lru_cache(maxsize=None)
def _cell_triangles(shape: str, order: int) -> Tuple[Any, Any]:
    """Of a 2D cell: the small triangles, and the nodes around it, by numbers in VTK's order."""
    where = {tuple(row): k for k, row in enumerate(_vtk_lattice(shape, order))}
    three = shape == "triangle"
    n = order
    around = [where[i, 0] for i in range(n)]
    if three:
        around += [where[n - i, i] for i in range(n)] + [where[0, n - i] for i in range(n + 1)]
    else:
        around += [where[n, i] for i in range(n)] + [where[n - i, n] for i in range(n)]
        around += [where[0, n - i] for i in range(n + 1)]
    return _split(where, n, three), np.array(around)


@functools.lru_cache(maxsize=None)
def _face_triangles(shape: str, order: int) -> List[Tuple[Any, Any, Any]]:
    """Of a 3D cell, for each face: its corners among the cell's, the small triangles, and the nodes around it."""
    nodes = _vtk_lattice(shape, order)
    corners = _vtk_lattice(shape, 1) * order
    n, found = order, []
    sides = [nodes[:, axis] == level for axis in range(3) for level in ((0,) if shape == "tet" else (0, n))]
    fixed = [axis for axis in range(3) for _ in ((0,) if shape == "tet" else (0, n))]
    if shape == "tet":
        sides.append(nodes.sum(axis=1) == n)
        fixed.append(2)
    for side, axis in zip(sides, fixed):
        free = [a for a in range(3) if a != axis]
        where = {tuple(int(v) for v in nodes[k, free]): int(k) for k in np.nonzero(side)[0]}
        on = [c for c, row in enumerate(corners) if side[np.nonzero((nodes == row).all(axis=1))[0][0]]]
        three = shape == "tet"
        path = [(i, 0) for i in range(n)]
        path += [(n - i, i) for i in range(n)] if three else [(n, i) for i in range(n)] + [(n - i, n) for i in range(n)]
        path += [(0, n - i) for i in range(n + 1)]
        found.append((tuple(on), _split(where, n, three), np.array([where[p] for p in path])))
    return found


# ---------------------------------------------------------------------------------------------- what is drawn

def _blocks(sample: Any) -> List[Tuple[str, Any, Any]]:
    """Cells by shape: numbers of the cells, and their nodes as rows."""
    found = []
    for kind in np.unique(sample.types):
        which = np.nonzero(sample.types == kind)[0]
        if int(kind) not in _VTK_SHAPES:
            raise InputError(f"cells of VTK's type {int(kind)} are not drawn here; save() writes them for ParaView")
        count = int(sample.offsets[which[0] + 1] - sample.offsets[which[0]])
        found.append((_VTK_SHAPES[int(kind)], which, sample.nodes[sample.offsets[which][:, None] + np.arange(count)]))
    return found


def _flat(sample: Any) -> Tuple[Any, Any]:
    """2D: triangles of all cells, and the lines around them."""
    triangles, lines = [], []
    for shape, _, nodes in _blocks(sample):
        small, around = _cell_triangles(shape, sample.order)
        triangles.append(nodes[:, small].reshape(-1, 3))
        lines.append(nodes[:, around])
    return np.concatenate(triangles), [line for block in lines for line in block]


def _kept(centres: Any, clip: Any) -> Any:
    """Cells that a clip leaves: those whose middle is below the plane."""
    if clip is None:
        return np.ones(len(centres), dtype=bool)
    axis, at = (clip, None) if isinstance(clip, str) else clip
    if axis not in tuple(AXES):
        raise InputError(f"clip: '{axis}' is no direction; 'z' is, or ('z', 0.5)")
    x = centres[:, AXES.index(axis)]
    return x <= (0.5 * (x.min() + x.max()) if at is None else at)


def _surface(mesh: Mesh, sample: Any, clip: Any) -> Tuple[Any, Any]:
    """3D: triangles of the faces that no other cell that is kept shares, and the lines around them."""
    corners = [block.nodes[:, :4 if block.shape == "tet" else 8] for block in mesh.blocks("vtk")]
    centres = np.concatenate([mesh.points[rows].mean(axis=1) for rows in corners])
    keep = _kept(centres, clip)
    all_faces, drawn, start = [], [], 0
    for (shape, which, nodes), rows in zip(_blocks(sample), corners):
        if len(which) != len(rows):
            raise InputError("cells of this degree are written in parts; plot with order=10 or less")
        mine = keep[start:start + len(rows)]
        for on, small, around in _face_triangles(shape, sample.order):
            ids = np.sort(rows[mine][:, list(on)], axis=1)
            if ids.shape[1] == 3:
                ids = np.column_stack([ids, np.full(len(ids), -1)])
            all_faces.append(ids)
            drawn.append((nodes[mine], small, around))
        start += len(rows)
    _, inverse, counts = np.unique(np.concatenate(all_faces), axis=0, return_inverse=True, return_counts=True)
    alone = counts[np.ravel(inverse)] == 1
    triangles, lines, start = [], [], 0
    for ids, (nodes, small, around) in zip(all_faces, drawn):
        mine = nodes[alone[start:start + len(ids)]]
        start += len(ids)
        triangles.append(mine[:, small].reshape(-1, 3))
        lines.append(mine[:, around])
    return np.concatenate(triangles), [line for block in lines for line in block]


def _numbers(values: Any, component: Any, dim: int, field: str) -> Tuple[Any, str]:
    """One number a point: a component, or the magnitude. Files have vectors of three components, tensors of nine."""
    if values.ndim == 1:
        return values, field
    if component is None:
        return np.sqrt((values ** 2).sum(axis=1)), f"|{field}|"
    from ._solver import _component
    width = 3 if values.shape[1] in (3, 9) else dim
    return values[:, _component(component, width, field)], f"{field} {component}"


# ---------------------------------------------------------------------------------------------- pictures

def _drawable(mesh: Mesh) -> None:
    for shape in sorted({block.shape for block in mesh.cells}):
        if shape in ("prism", "pyramid"):
            raise InputError(f"cells of the shape {shape} are not drawn here; save() of a solution writes them for "
                             "ParaView, and to_pyvista() gives them to pyvista")


def plot(solution: Any, field: str = "u", component: Any = None, *, ax: Any = None, cmap: str = "viridis",
         order: int = 0, levels: Optional[int] = None, edges: bool = True, deform: float = 0, clip: Any = None,
         colorbar: bool = True, view: Tuple[float, float] = (25, -60)) -> Any:
    """See Solution.plot. levels: 2D: so many filled contours instead of smooth colours; view: elevation and azimuth
    of 3D."""
    mesh = solution.mesh
    _drawable(mesh)
    if levels is not None and integer(levels, "levels") < 1:
        raise InputError(f"levels: {levels}; at least 1 contour is drawn, and None is for smooth colours")
    fields = [field] + (["u"] if deform and field != "u" else [])
    sample = solution.sample(fields, order or min(max(solution.report["degree"], 1), 4 if mesh.dim == 2 else 3))
    if field not in sample.fields:
        raise InputError(f"the field '{field}' cannot be drawn")
    values = sample.fields[field]
    if field in sample.on_cells:
        values = np.repeat(values, np.diff(sample.offsets))[np.argsort(sample.nodes)]
    numbers, label = _numbers(values, component, mesh.dim, field)
    x = sample.points
    if deform:
        if solution.equation != "elasticity":
            raise InputError("deform: only a displacement deforms the mesh")
        x = x + deform * sample.fields["u"][:, :mesh.dim]
    if mesh.dim == 2:
        if clip is not None:
            raise InputError("clip: this mesh is flat")
        return _draw_flat(sample, x, numbers, label, ax, cmap, levels, edges, colorbar)
    return _draw_surface(*_surface(mesh, sample, clip), x, numbers, label, ax, cmap, edges, colorbar, view)


def _draw_flat(sample: Any, x: Any, numbers: Any, label: str, ax: Any, cmap: str, levels: Any, edges: bool,
               colorbar: bool) -> Any:
    import matplotlib.pyplot as plt
    from matplotlib.collections import LineCollection
    triangles, lines = _flat(sample)
    ax = ax or plt.subplots()[1]
    if levels:
        shown = ax.tricontourf(x[:, 0], x[:, 1], triangles, numbers, levels=levels, cmap=cmap)
    else:
        shown = ax.tripcolor(x[:, 0], x[:, 1], triangles, numbers, shading="gouraud", cmap=cmap)
    if edges:
        ax.add_collection(LineCollection([x[line] for line in lines], colors="k", linewidths=0.3, alpha=0.5))
    if colorbar:
        ax.figure.colorbar(shown, ax=ax, label=label)
    ax.set_aspect("equal")
    ax.set_xlabel("x"), ax.set_ylabel("y")
    return ax


def _draw_surface(triangles: Any, lines: Any, x: Any, numbers: Any, label: str, ax: Any, cmap: str, edges: bool,
                  colorbar: bool, view: Tuple[float, float]) -> Any:
    import matplotlib.pyplot as plt
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection
    ax = ax or plt.figure().add_subplot(projection="3d")
    colours = ScalarMappable(Normalize(float(numbers.min()), float(numbers.max())), cmap)
    ax.add_collection3d(Poly3DCollection(x[triangles], facecolors=colours.to_rgba(numbers[triangles].mean(axis=1)),
                                         edgecolors="none"))
    if edges:
        ax.add_collection3d(Line3DCollection([x[line] for line in lines], colors="k", linewidths=0.3, alpha=0.6))
    used = x[np.unique(triangles)]
    for axis, low, high in zip(AXES, used.min(axis=0), used.max(axis=0)):
        getattr(ax, f"set_{axis}lim")(low, high), getattr(ax, f"set_{axis}label")(axis)
    ax.set_box_aspect(np.maximum(np.ptp(used, axis=0), 1e-12 * np.ptp(used)))
    ax.view_init(*view)
    if colorbar:
        ax.figure.colorbar(colours, ax=ax, label=label, shrink=0.7)
    return ax


class _Cells:
    """A mesh as a sample of itself."""

    def __init__(self, mesh: Mesh) -> None:
        blocks = mesh.blocks("vtk")
        counts = [len(block.nodes) for block in blocks]
        self.order = mesh.info["geometry_order"]
        self.nodes = np.concatenate([np.ravel(block.nodes) for block in blocks])
        self.offsets = np.concatenate([[0], np.cumsum(np.repeat([block.nodes.shape[1] for block in blocks], counts))])
        kinds = {"triangle": 69, "quad": 70, "tet": 71, "hex": 72}
        self.types = np.repeat([kinds[block.shape] for block in blocks], counts)


def plot_mesh(mesh: Mesh, *, ax: Any = None, clip: Any = None, view: Tuple[float, float] = (25, -60)) -> Any:
    """The edges of the cells; in 3D those of the surface, or of what a clip leaves."""
    _drawable(mesh)
    import matplotlib.pyplot as plt
    cells = _Cells(mesh)
    if mesh.dim == 3:
        triangles, lines = _surface(mesh, cells, clip)
        return _draw_surface(triangles, lines, mesh.points, np.zeros(len(mesh.points)), "", ax, "Pastel1", True, False,
                             view)
    from matplotlib.collections import LineCollection
    ax = ax or plt.subplots()[1]
    ax.add_collection(LineCollection([mesh.points[line] for line in _flat(cells)[1]], colors="k", linewidths=0.6))
    ax.autoscale(), ax.set_aspect("equal")
    return ax
