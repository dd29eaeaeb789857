"""Meshes and solutions of others: meshio, Gmsh's model, pyvista. None of these packages is imported before it is asked
for."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy as np

from ._context import Context
from ._library import InputError
from ._mesh import Mesh, n_nodes

# meshio's names of the cells that we have; orders follow from the number of nodes.
_MESHIO = {"triangle": ("triangle", "triangle6", "triangle10", "triangle15", "triangle21", "triangle28", "triangle36",
                        "triangle45", "triangle55"),
           "quad": ("quad", "quad9", "quad16", "quad25", "quad36", "quad49", "quad64", "quad81", "quad100"),
           "tet": ("tetra", "tetra10", "tetra20", "tetra35", "tetra56", "tetra84", "tetra120", "tetra165", "tetra220"),
           "hex": ("hexahedron", "hexahedron27", "hexahedron64", "hexahedron125", "hexahedron216", "hexahedron343",
                   "hexahedron512", "hexahedron729", "hexahedron1000"),
           "prism": ("wedge", "wedge18", "wedge40", "wedge75", "wedge126", "wedge196", "wedge288", "wedge405",
                     "wedge550"),
           "pyramid": ("pyramid", "pyramid14", "pyramid30", "pyramid55", "pyramid91", "pyramid140", "pyramid204",
                       "pyramid285", "pyramid385")}
_SOLID = ("tet", "hex", "prism", "pyramid")
_SHAPES = {name: shape for shape, row in _MESHIO.items() for name in row}
_VTK_SHAPES = {5: "triangle", 9: "quad", 10: "tet", 12: "hex", 13: "prism", 14: "pyramid", 69: "triangle", 70: "quad",
               71: "tet", 72: "hex", 73: "prism", 74: "pyramid"}


# ---------------------------------------------------------------------------------------------- meshio

def from_meshio(mesh: Any, scale: float = 1, *, context: Optional[Context] = None) -> Mesh:
    """A meshio.Mesh. Groups are its cell_sets, and the physical groups of a Gmsh file (cell_data "gmsh:physical",
    named by field_data)."""
    dim = 3 if any(block.type.startswith(("tetra", "hexahedron", "wedge", "pyramid")) for block in mesh.cells) else 2
    x = np.asarray(mesh.points, dtype=float)
    if dim == 2 and x.shape[1] == 3 and np.any(x[:, 2] != x[0, 2]):
        raise InputError("this mesh is a surface in space; facet has meshes of a plane and of solids")
    cells, faces, start = [], {}, {}  # type: List[Tuple[str, Any]], Dict[int, Any], Dict[int, Any]
    blocks: Dict[str, List[int]] = {}
    n, orders = 0, {1}
    for i, block in enumerate(mesh.cells):
        shape = _SHAPES.get(block.type)
        if shape in (("triangle", "quad") if dim == 2 else _SOLID):
            _straight(str(shape), _MESHIO[str(shape)].index(block.type) + 1)
            orders.add(_MESHIO[str(shape)].index(block.type) + 1)
            blocks.setdefault(block.type, []).append(i)
        elif block.type.startswith("line") if dim == 2 else shape in ("triangle", "quad"):
            corners = 2 if dim == 2 else 3 if shape == "triangle" else 4
            faces[i] = np.asarray(block.data)[:, :corners]
        elif shape is None and not block.type.startswith(("vertex", "line")):
            raise InputError(f"cells of meshio's type '{block.type}' are none of facet's")
    for name, which in blocks.items():  # a cell that is in several groups stands several times in some files
        rows = np.concatenate([np.asarray(mesh.cells[i].data) for i in which])
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        place = np.empty(len(first), dtype=np.int64)
        place[np.argsort(first)] = n + np.arange(len(first))
        numbers = place[np.ravel(inverse)]
        cells.append((_SHAPES[name], rows[np.sort(first)]))
        for i, own in zip(which, np.split(numbers, np.cumsum([len(mesh.cells[i].data) for i in which])[:-1])):
            start[i] = own
        n += len(first)
    groups = _meshio_groups(mesh, start, faces)
    return Mesh(x[:, :dim] * scale, cells, groups, numbering=_numbering(orders), context=context)


def _straight(shape: str, order: int) -> None:
    """meshio numbers the nodes of curved prisms and pyramids as each format does."""
    if order > 1 and shape in ("prism", "pyramid"):
        raise InputError(f"cells of the shape {shape} and order {order}: meshio has no numbering of their nodes that "
                         "holds for all formats; straight ones are taken, and facet.read takes Gmsh's files")


def _numbering(orders: Any) -> str:
    """meshio numbers the nodes of order 2 as VTK does, those of higher orders as Gmsh. (Those of order 1 are the
    same.)"""
    if max(orders) > 2 and 2 in orders:
        raise InputError("cells of order 2 beside such of higher order are numbered in two ways by meshio; convert one")
    return "vtk" if 2 in orders else "gmsh"


def _meshio_groups(mesh: Any, start: Mapping[int, Any], faces: Mapping[int, Any]) -> Dict[str, Any]:
    of_cells: Dict[str, List[Any]] = {}
    of_faces: Dict[str, List[Any]] = {}

    def add(name: str, i: int, rows: Any) -> None:
        if i in start:
            of_cells.setdefault(name, []).append(start[i][np.asarray(rows, dtype=np.int64)])
        elif i in faces:
            corners = faces[i][np.asarray(rows, dtype=np.int64)]
            if corners.shape[1] == 3:
                corners = np.concatenate([corners, np.full((len(corners), 1), -1)], axis=1)
            of_faces.setdefault(name, []).append(corners)
    for name, sets in (mesh.cell_sets or {}).items():
        if not name.startswith("gmsh:"):
            for i, rows in enumerate(sets):
                if rows is not None and len(rows):
                    add(name, i, rows)
    named = {(int(entry[0]), int(entry[1])): name for name, entry in (mesh.field_data or {}).items()
             if len(np.atleast_1d(entry)) == 2}
    dims = {"vertex": 0, "line": 1, "triangle": 2, "quad": 2, "tetra": 3, "hexahedron": 3, "wedge": 3,
            "pyramid": 3}
    for i, tags in enumerate((mesh.cell_data or {}).get("gmsh:physical", [])):
        kind = mesh.cells[i].type.rstrip("0123456789")
        for tag in np.unique(tags):
            found = named.get((int(tag), dims.get(kind, -1)))
            if found is not None and found not in (mesh.cell_sets or {}):
                add(found, i, np.nonzero(np.asarray(tags) == tag)[0])
    groups = {name: np.concatenate(parts) for name, parts in of_cells.items()}
    for name, parts in of_faces.items():
        if name in groups:
            raise InputError(f"the group '{name}' has cells and faces; give them two names")
        groups[name] = np.concatenate(parts)
    return groups


def mesh_to_meshio(mesh: Mesh) -> Any:
    import meshio
    blocks, sets = [], {}  # type: List[Any], Dict[str, List[Any]]
    for block in mesh.cells:
        _straight(block.shape, block.order)
    for block in mesh.blocks(_numbering({mesh.info["geometry_order"]})):
        blocks.append((_MESHIO[block.shape][block.order - 1], block.nodes))
    ends = np.cumsum([0] + [len(nodes) for _, nodes in blocks])
    faces: List[Tuple[str, str, Any]] = []
    for name, group in mesh.groups.items():
        members = mesh.members(name)
        if group.dim == mesh.dim:
            sets[name] = [members.cells[(members.cells >= a) & (members.cells < b)] - a
                          for a, b in zip(ends[:-1], ends[1:])]
            continue
        nodes = members.nodes
        assert nodes is not None
        if mesh.dim == 2:
            faces.append((name, "line", nodes))
        else:
            three = nodes[:, 3] < 0
            faces += [(name, kind, rows) for kind, rows in (("triangle", nodes[three][:, :3]), ("quad", nodes[~three]))
                      if len(rows)]
    n_cells = len(blocks)
    for name, kind, rows in faces:
        sets.setdefault(name, [])
        blocks.append((kind, rows))
    none = np.zeros(0, dtype=np.int64)
    for name, found in sets.items():
        found += [none] * (n_cells - len(found))
        found += [np.arange(len(rows)) if face == name else none for face, _, rows in faces]
    x = mesh.points if mesh.dim == 3 else np.column_stack([mesh.points, np.zeros(len(mesh.points))])
    return meshio.Mesh(x, blocks, cell_sets=sets)


def sample_to_meshio(sample: Any) -> Any:
    """A sample of order 1."""
    import meshio
    blocks, by_type = [], {}  # type: List[Any], Dict[int, Any]
    for kind in np.unique(sample.types):
        which = np.nonzero(sample.types == kind)[0]
        shape = _VTK_SHAPES[int(kind)]
        first = sample.offsets[which]
        blocks.append((_MESHIO[shape][0], sample.nodes[first[:, None] + np.arange(n_nodes(shape, 1))]))
        by_type[int(kind)] = which
    x = sample.points if sample.dim == 3 else np.column_stack([sample.points, np.zeros(len(sample.points))])
    on_points = {name: values for name, values in sample.fields.items() if name not in sample.on_cells}
    on_cells = {name: [sample.fields[name][which] for which in by_type.values()] for name in sample.on_cells}
    return meshio.Mesh(x, blocks, point_data=on_points, cell_data=on_cells)


# ---------------------------------------------------------------------------------------------- pyvista

def to_pyvista(sample: Any) -> Any:
    import pyvista
    counts = np.diff(sample.offsets)
    cells = np.empty(len(sample.nodes) + len(counts), dtype=np.int64)
    heads = sample.offsets[:-1] + np.arange(len(counts))
    body = np.ones(len(cells), dtype=bool)
    body[heads] = False
    cells[heads], cells[body] = counts, sample.nodes
    x = sample.points if sample.dim == 3 else np.column_stack([sample.points, np.zeros(len(sample.points))])
    grid = pyvista.UnstructuredGrid(cells, sample.types, x)
    for name, values in sample.fields.items():
        (grid.cell_data if name in sample.on_cells else grid.point_data)[name] = values
    return grid


# ---------------------------------------------------------------------------------------------- Gmsh

def from_gmsh(model: Any = None, scale: float = 1, *, context: Optional[Context] = None) -> Mesh:
    """The mesh of Gmsh's current model (gmsh.model, after gmsh.model.mesh.generate). Physical groups that have a name
    become groups."""
    if model is None:
        import gmsh
        model = gmsh.model
    dim = 3 if len(model.mesh.getElements(3)[0]) else 2
    tags, x, _ = model.mesh.getNodes()
    if len(tags) == 0:
        raise InputError("Gmsh's model has no mesh: call gmsh.model.mesh.generate first")
    place = np.full(int(np.max(tags)) + 1, -1, dtype=np.int64)
    place[np.asarray(tags, dtype=np.int64)] = np.arange(len(tags))
    x = np.asarray(x).reshape(-1, 3)
    if dim == 2 and np.any(x[:, 2] != x[0, 2]):
        raise InputError("this mesh is a surface in space; facet has meshes of a plane and of solids")
    physical = {(d, tag): model.getPhysicalName(d, tag) for d, tag in model.getPhysicalGroups()}
    cells, groups, n = [], {}, 0  # type: List[Tuple[str, Any]], Dict[str, List[Any]], int
    solid = [(d, tag) for d, tag in physical if d == dim]
    entities = sorted({(dim, int(e)) for d, tag in solid for e in model.getEntitiesForPhysicalGroup(d, tag)}) or \
        model.getEntities(dim)
    where: Dict[int, Any] = {}
    for d, entity in entities:
        first = n
        for shape, nodes in _elements(model, d, entity, place):
            cells.append((shape, nodes))
            n += len(nodes)
        where[entity] = np.arange(first, n)
    for (d, tag), name in physical.items():
        if not name:
            continue
        for entity in model.getEntitiesForPhysicalGroup(d, tag):
            if d == dim:
                groups.setdefault(name, []).append(where[int(entity)])
            elif d == dim - 1:
                for corners in _faces(model, d, int(entity), place, dim):
                    groups.setdefault(name, []).append(corners)
    return Mesh(x[:, :dim] * scale, cells, {name: np.concatenate(parts) for name, parts in groups.items()},
                context=context)


def _elements(model: Any, d: int, entity: int, place: Any) -> List[Tuple[str, Any]]:
    found = []
    kinds, _, nodes = model.mesh.getElements(d, entity)
    for kind, numbers in zip(kinds, nodes):
        name, _, _, count, _, _ = model.mesh.getElementProperties(kind)
        family = next((shape for shape, word in (("triangle", "Triangle"), ("quad", "Quadrilateral"),
                                                 ("tet", "Tetrahedron"), ("hex", "Hexahedron"),
                                                 ("prism", "Prism"), ("pyramid", "Pyramid"))
                       if name.startswith(word)), None)
        if family is None:
            raise InputError(f"Gmsh's elements '{name}' are none of facet's")
        found.append((family, place[np.asarray(numbers, dtype=np.int64)].reshape(-1, count)))
    return found


def _faces(model: Any, d: int, entity: int, place: Any, dim: int) -> List[Any]:
    found = []
    kinds, _, nodes = model.mesh.getElements(d, entity)
    for kind, numbers in zip(kinds, nodes):
        _, _, _, count, _, corners = model.mesh.getElementProperties(kind)
        rows = place[np.asarray(numbers, dtype=np.int64)].reshape(-1, count)[:, :corners]
        if dim == 3 and corners == 3:
            rows = np.concatenate([rows, np.full((len(rows), 1), -1)], axis=1)
        found.append(rows)
    return found
