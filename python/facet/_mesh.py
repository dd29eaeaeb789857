"""Meshes: from files, boxes, arrays, meshio and Gmsh's model, and back to arrays."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _declarations as c
from ._arrays import Doubles, Integers, address, doubles, integers
from ._context import Context, chosen
from ._library import (Change, Handle, InputError, Settled, as_dict, call, check, decode, encode, entries, integer,
                       lib, names, nearest, real, sized, texts, word)

AXES = "xyz"
_SIMPLEX = {"triangle": 2, "tet": 3}
_BRICK = {"quad": 2, "hex": 3}
_DIM = {**_SIMPLEX, **_BRICK, "prism": 3, "pyramid": 3}


def n_nodes(shape: str, order: int) -> int:
    """Nodes of a cell."""
    if shape in _BRICK:
        return int((order + 1) ** _BRICK[shape])
    if shape == "prism":
        return (order + 1) ** 2 * (order + 2) // 2
    if shape == "pyramid":
        return (order + 1) * (order + 2) * (2 * order + 3) // 6
    return (order + 1) * (order + 2) // 2 * ((order + 3) if shape == "tet" else 3) // 3


def order_of(shape: str, nodes: int) -> int:
    for order in range(1, 10):
        if n_nodes(shape, order) == nodes:
            return order
    raise InputError(f"no {shape} of order 1 to 9 has {nodes} nodes; the first orders have "
                     + ", ".join(str(n_nodes(shape, order)) for order in (1, 2, 3)))


class Block(NamedTuple):
    """Cells of one shape and order; nodes: rows of Mesh.points."""

    shape: str
    order: int
    nodes: Integers


class Group(NamedTuple):
    """A named group of cells (dim is that of the mesh) or a part of the boundary (one less); size: how many."""

    name: str
    dim: int
    size: int


class Members(NamedTuple):
    """Of a group: cells (or the cells at its faces), which face of the cell, and the corners of these faces."""

    cells: Integers
    faces: Optional[Any]
    nodes: Optional[Integers]


class Quadrature(NamedTuple):
    """Points, weights, and for faces the outward normals; cells: in which each point lies."""

    x: Doubles
    weights: Doubles
    normals: Optional[Doubles]
    cells: Integers


Cells = Union[Mapping[str, Any], Sequence[Tuple[str, Any]]]


class Mesh(Settled):
    """A mesh from arrays.

    points: (n, dim). cells: {"triangle": array} or a list of (shape, array), the shapes being triangle and quad, or
    tet and hex; an array has a row of nodes for each cell, whose number tells the order. groups: {name: array}; an
    array of one axis is a group of cells, one of two axes are faces by their corners. numbering: of the nodes of a
    cell, "gmsh", "vtk" or "lattice". Arrays are copied. facet.read and facet.box make meshes too.
    """

    _instead = "hand over the name of its file, or its arrays (points, blocks(), groups), and make it there; " \
               "to_meshio() writes files"

    def __init__(self, points: Any, cells: Cells, groups: Optional[Mapping[str, Any]] = None, *,
                 numbering: str = "gmsh", context: Optional[Context] = None) -> None:
        self.context = chosen(context)
        x = doubles(points, "points")
        if x.ndim != 2 or x.shape[1] not in (2, 3):
            raise InputError(f"points: an array of shape {x.shape} has no rows of 2 or 3 coordinates")
        dim, keep = int(x.shape[1]), [x]  # type: int, List[Any]
        pairs = list(cells.items()) if isinstance(cells, Mapping) else entries(cells, "cells")
        if any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in pairs):
            raise InputError("cells: a map of shapes to arrays is wanted, or a list of pairs (shape, array)")
        if groups is not None and not isinstance(groups, Mapping):
            raise InputError(f"groups: {groups!r} is no map of names to arrays")
        blocks = (c.facet_cells * max(len(pairs), 1))()
        for block, (shape, nodes) in zip(blocks, pairs):
            rows = integers(nodes, f"cells of shape {shape}")
            if shape not in _DIM:
                raise InputError(f"cells: '{shape}' is no shape" + nearest(str(shape), list(_DIM)))
            if rows.ndim != 2:
                raise InputError(f"cells: those of shape {shape} are an array of shape {rows.shape}; it is to have a "
                                 "row of nodes for each cell")
            keep.append(rows)
            block.size, block.shape = ctypes.sizeof(block), shape.encode()
            block.order, block.count, block.nodes = order_of(shape, rows.shape[1]), rows.shape[0], address(rows)
        members = (c.facet_members * max(len(groups or {}), 1))()
        for member, (name, rows) in zip(members, (groups or {}).items()):
            keep.append(self._group(member, name, rows, dim))
        arrays = sized(c.facet_arrays, dim=dim, n_points=len(x), points=address(x), numbering=encode(numbering),
                       n_blocks=len(pairs), blocks=blocks, n_groups=len(groups or {}), groups=members)
        self.numbers: Optional[Integers] = np.empty(sum(len(rows[1]) for rows in pairs), dtype=np.int64)
        made = ctypes.c_void_p()
        call(lib.facet_mesh_create_arrays, self.context.handle.pointer, ctypes.byref(arrays), address(self.numbers),
             ctypes.byref(made), pending=(self.context.pending,))
        self._adopt(made)

    @staticmethod
    def _group(member: Any, name: str, members: Any, dim: int) -> Integers:
        rows = integers(members, f"group '{name}'")
        member.size, member.name, member.count = ctypes.sizeof(member), encode(word(name, "group")), len(rows)
        if rows.ndim == 1:
            member.dim, member.cells = dim, address(rows)
            return rows
        wanted = (2,) if dim == 2 else (3, 4)
        if rows.ndim != 2 or rows.shape[1] not in wanted:
            raise InputError(f"group '{name}': an array of shape {rows.shape}; cells are an array of one axis, faces "
                             f"have {' or '.join(str(k) for k in wanted)} corners a row")
        if dim == 3 and rows.shape[1] == 3:
            rows = np.concatenate([rows, np.full((len(rows), 1), -1, dtype=np.int64)], axis=1)
        member.dim, member.nodes = dim - 1, address(rows)
        return rows

    def _adopt(self, made: Any, parents: Sequence[Handle] = (), owned: bool = True) -> None:
        if not made:
            raise InputError("this process has no cells: the mesh has fewer than there are processes")
        self.handle = Handle(made, lib.facet_mesh_destroy if owned else None, parents or (self.context.handle,))
        self._owned = owned
        self._look()

    def _look(self) -> None:
        info = sized(c.facet_mesh_info)
        check(lib.facet_mesh_get_info(self.handle.pointer, ctypes.byref(info)))
        self.info = as_dict(info)
        self.dim: int = self.info["dim"]
        self._blocks: Dict[str, List[Block]] = {}
        self._points: Optional[Doubles] = None

    @classmethod
    def _from(cls, made: Any, context: Context, parents: Sequence[Handle] = (), owned: bool = True) -> "Mesh":
        mesh = cls.__new__(cls)
        mesh.context, mesh.numbers = context, None
        mesh._adopt(made, parents, owned)
        return mesh

    def _read(self, function: Any, *arguments: Any) -> None:
        """A function of the mesh that reads, while nobody refines or scales it."""
        call(function, self.handle.pointer, *arguments, using=(self.handle.record,))

    # ------------------------------------------------------------------------------------- what it is

    @property
    def n_cells(self) -> int:
        return int(self.info["n_cells"])

    @property
    def volume(self) -> float:
        return float(self.info["volume"])

    @property
    def shape(self) -> str:
        """triangle, quad, triangle+quad; tet, hex, tet+hex."""
        return str(self.info["shape"])

    @property
    def groups(self) -> Dict[str, Group]:
        found = {}
        for i in range(lib.facet_mesh_n_groups(self.handle.pointer)):
            group = sized(c.facet_group)
            check(lib.facet_mesh_group(self.handle.pointer, i, ctypes.byref(group)))
            name = str(decode(group.name))
            found[name] = Group(name, group.dim, group.count)
        return found

    @property
    def parts(self) -> List[str]:
        """The names of the parts of the boundary."""
        return [group.name for group in self.groups.values() if group.dim < self.dim]

    @property
    def regions(self) -> List[str]:
        """The names of the groups of cells."""
        return [group.name for group in self.groups.values() if group.dim == self.dim]

    def members(self, name: str) -> Members:
        """The cells of a group, or its faces with the cells at them."""
        groups = self.groups
        if word(name, "group") not in groups:
            raise InputError(f"the mesh has no group '{name}'" + nearest(name, list(groups)))
        i, group = list(groups).index(name), groups[name]
        cells = np.empty(group.size, dtype=np.int64)
        if group.dim == self.dim:
            self._read(lib.facet_mesh_group_members, i, address(cells), None, None)
            return Members(cells, None, None)
        faces = np.empty(group.size, dtype=np.intc)
        nodes = np.empty((group.size, 2 if self.dim == 2 else 4), dtype=np.int64)
        self._read(lib.facet_mesh_group_members, i, address(cells), address(faces), address(nodes))
        return Members(cells, faces, nodes)

    @property
    def points(self) -> Doubles:
        """(n, dim): the corners of cells first, then the nodes of curved ones."""
        if self._points is None:
            n = ctypes.c_int64()
            self._read(lib.facet_mesh_n_points, ctypes.byref(n))
            found = np.empty((n.value, self.dim))
            self._read(lib.facet_mesh_points, address(found))
            found.flags.writeable = False
            self._points = found
        return self._points

    def blocks(self, numbering: str = "gmsh") -> List[Block]:
        """The cells by shape, numbered through the blocks as groups and results are."""
        if numbering not in self._blocks:
            found = []
            for i in range(lib.facet_mesh_n_blocks(self.handle.pointer)):
                told = sized(c.facet_cells)
                self._read(lib.facet_mesh_block, i, encode(numbering), ctypes.byref(told), None)
                shape = str(decode(told.shape))
                nodes = np.empty((told.count, n_nodes(shape, told.order)), dtype=np.int64)
                self._read(lib.facet_mesh_block, i, encode(numbering), ctypes.byref(told), address(nodes))
                nodes.flags.writeable = False
                found.append(Block(shape, int(told.order), nodes))
            self._blocks[numbering] = found
        return self._blocks[numbering]

    @property
    def cells(self) -> List[Block]:
        return self.blocks()

    def quadrature(self, degree: int, on: Any = None) -> Quadrature:
        """Points and weights for integrals over the mesh, over groups of cells, or over parts of the boundary
        ("boundary": all of it): exact for polynomials of the degree on straight cells."""
        words, n = names(on), ctypes.c_int64()
        fixed = (integer(degree, "degree"), len(words), texts(words), ctypes.byref(n))
        self._read(lib.facet_mesh_quadrature, *fixed, None, None, None, None)
        groups = self.groups
        faces = bool(words) and (groups[words[0]].dim < self.dim if words[0] in groups else True)
        x, weights = np.empty((n.value, self.dim)), np.empty(n.value)
        normals = np.empty((n.value, self.dim)) if faces else None
        cells = np.empty(n.value, dtype=np.int64)
        self._read(lib.facet_mesh_quadrature, *fixed, address(x), address(weights),
                   address(normals) if normals is not None else None, address(cells))
        return Quadrature(x, weights, normals, cells)

    # ------------------------------------------------------------------------------------- changes

    def _changeable(self) -> None:
        if not self._owned:
            raise InputError("this mesh belongs to a case that was solved; facet.Case(...).mesh() makes one to change")

    def refine(self, times: int = 1) -> "Mesh":
        """Splits every cell `times` times into 2^dim. Solvers that were made before refuse to go on."""
        self._changeable()
        n = integer(times, "refine")
        with Change(self.handle):
            call(lib.facet_mesh_refine, self.handle.pointer, n, pending=(self.context.pending,))
            self._look()
        return self

    def scale(self, factor: float) -> "Mesh":
        """Multiplies all coordinates. Solvers that were made before refuse to go on."""
        self._changeable()
        by = real(factor, "scale")
        with Change(self.handle):
            check(lib.facet_mesh_scale(self.handle.pointer, by))
            self._look()
        return self

    # ------------------------------------------------------------------------------------- others

    def to_meshio(self) -> Any:
        """A meshio.Mesh with the cells, and the groups of cells and faces as cell_sets of their own blocks."""
        from ._convert import mesh_to_meshio
        return mesh_to_meshio(self)

    def plot(self, **options: Any) -> Any:
        """The edges of the mesh, by matplotlib; options as of Solution.plot."""
        from ._plot import plot_mesh
        return plot_mesh(self, **options)

    def __repr__(self) -> str:
        order = self.info["geometry_order"]
        return (f"<facet.Mesh: {self.n_cells} cells ({self.shape}{f', order {order}' if order > 1 else ''}), "
                f"{self.info['n_faces']} faces, volume {self.volume:.6g}; groups: "
                f"{', '.join(self.groups) or 'none'}>")

    def _repr_html_(self) -> str:
        from ._html import table
        rows = [("cells", f"{self.n_cells} ({self.shape})"), ("faces", self.info["n_faces"]),
                ("order", self.info["geometry_order"]), ("volume", f"{self.volume:.6g}"),
                ("diameters", f"{self.info['smallest_cell']:.4g} to {self.info['largest_cell']:.4g}"),
                ("regions", ", ".join(self.regions) or "none"), ("boundary", ", ".join(self.parts) or "none")]
        return table("facet.Mesh", rows)


# ---------------------------------------------------------------------------------------------- makers

def file_name(path: Any) -> bytes:
    try:
        name = os.fsencode(path)
    except TypeError:
        raise InputError(f"{path!r} is no name of a file") from None
    if b"\0" in name:
        raise InputError(f"{path!r}: the name of a file has no character NUL")
    return name


def _finish(mesh: Mesh, scale: float, refine: int) -> Mesh:
    if scale != 1:
        mesh.scale(scale)
    return mesh.refine(refine) if refine else mesh


def read(path: Any, scale: float = 1, refine: int = 0, *, apart: bool = False,
         context: Optional[Context] = None) -> Mesh:
    """A Gmsh file (MSH 2.2 or 4.1); physical groups name the parts of the boundary and the regions. scale: what
    coordinates are multiplied by, 0.001 for millimetres. refine: how many times cells are split. apart: sides that
    the file says to repeat each other are not joined."""
    context = chosen(context)
    made = ctypes.c_void_p()
    call(lib.facet_mesh_read_apart if apart else lib.facet_mesh_read, context.handle.pointer, file_name(path),
         ctypes.byref(made), pending=(context.pending,))
    return _finish(Mesh._from(made, context), scale, refine)


def _triple(kind: Any, values: Sequence[Any]) -> Any:
    return (kind * 3)(*values)


def box(lower: Optional[Sequence[float]] = None, upper: Optional[Sequence[float]] = None,
        cells: Optional[Sequence[int]] = None, *, coordinates: Optional[Any] = None, shape: Optional[str] = None,
        split: Optional[str] = None, periodic: Any = (), scale: float = 1, refine: int = 0,
        context: Optional[Context] = None) -> Mesh:
    """A box cut into cells; its sides are called xmin, xmax, ymin, ymax, in 3D also zmin, zmax.

    coordinates: instead of lower, upper and cells: where the cells begin and end, a list of arrays or {"x": ...}.
    shape: triangle (default) or quad, in 3D tet (default) or hex. split: right, left, alternating; six, five.
    periodic: directions in which opposite sides are joined, as "x" or ["x", "y"].
    """
    context = chosen(context)
    told = sized(c.facet_box)
    keep: List[Doubles] = []
    if coordinates is not None:
        if lower is not None or upper is not None or cells is not None:
            raise InputError("box: coordinates stand in place of lower, upper and cells")
        if isinstance(coordinates, Mapping):
            if list(sorted(coordinates, key=str)) != list(AXES[:len(coordinates)]):
                raise InputError(f"box: coordinates of {', '.join(str(axis) for axis in coordinates)}; they are to be "
                                 "of x and y, or of x, y and z")
            axes = [coordinates[axis] for axis in AXES[:len(coordinates)]]
        else:
            axes = entries(coordinates, "coordinates")
        keep = [doubles(axis, f"coordinates in {AXES[i]}") for i, axis in enumerate(axes[:3])]
        if any(axis.ndim != 1 for axis in keep):
            raise InputError("box: the coordinates of each direction are an array of one axis")
        dim = len(axes)
        told.cells = _triple(ctypes.c_int, [len(axis) - 1 for axis in keep])
        told.coordinates = _triple(ctypes.c_void_p, [address(axis) for axis in keep])
    else:
        if lower is None or upper is None or cells is None:
            raise InputError("box: lower, upper and cells are required, unless coordinates are given")
        for name, given in (("lower", lower), ("upper", upper), ("cells", cells)):
            if isinstance(given, str) or np.ndim(given) != 1:
                raise InputError(f"box: {name}: {given!r} is no list with an entry for each direction")
        dim = len(cells)
        if len(lower) != dim or len(upper) != dim:
            raise InputError(f"box: lower, upper and cells have {len(lower)}, {len(upper)} and {dim} entries; they are "
                             "to have one for each direction")
        if dim in (2, 3):
            told.lower = _triple(ctypes.c_double, [real(x, "lower") for x in lower])
            told.upper = _triple(ctypes.c_double, [real(x, "upper") for x in upper])
            told.cells = _triple(ctypes.c_int, [integer(n, "cells") for n in cells])
    if dim not in (2, 3):
        raise InputError(f"box: {dim} directions; there are boxes of 2 and 3")
    for axis in [] if periodic is None else entries(periodic, "periodic"):
        if not isinstance(axis, str) or axis not in tuple(AXES[:dim]):
            raise InputError(f"box: periodic in '{axis}'; the directions are {', '.join(AXES[:dim])}")
        told.periodic[AXES.index(axis)] = 1
    told.dim, told.shape = dim, encode(shape or ("triangle" if dim == 2 else "tet"))
    told.split = encode(split)
    made = ctypes.c_void_p()
    call(lib.facet_mesh_create_box, context.handle.pointer, ctypes.byref(told), ctypes.byref(made),
         pending=(context.pending,))
    return _finish(Mesh._from(made, context), scale, refine)
