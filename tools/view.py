#!/usr/bin/env python3
"""A picture of a VTU file:  view.py FILE [--field NAME] [--component C] [--warp [FACTOR]] [--output PNG]

vtu.py reads the file, cells.py knows the shape functions of its cells, letters.py draws text; the pixels are made here.
Nothing but NumPy is needed: neither a screen, nor an X server, nor OpenGL. Each cell is cut into a lattice of triangles
on which its own shape functions are evaluated, so that curved cells and high degrees look as smooth as they are. Of
cells in space the outer faces are drawn, seen from above at an angle.

Exit status: 0 done (the path of the picture is printed), 2 the file or an option is wrong, 3 NumPy is missing or the
picture cannot be written.
"""
import argparse
import difflib
import math
import os
import signal
import struct
import sys
import zlib

SYSTEM_PYTHON = "/usr/bin/python3"
try:
    import numpy as np
except ImportError as missing:
    # A Python of the user's own may stand before the distribution's, which is the one that has NumPy.
    if os.access(SYSTEM_PYTHON, os.X_OK) and not os.environ.get("FACET_VIEW_AGAIN"):
        os.environ["FACET_VIEW_AGAIN"] = "1"
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, os.path.abspath(__file__)] + sys.argv[1:])
    print(f"facet view: NumPy for Python is needed ({missing}).\nInstall it with: apt-get install python3-numpy",
          file=sys.stderr)
    sys.exit(3)

import cells as shapes
import vtu
from letters import put_text, text_width
from whole import write_whole

SUPERSAMPLE = 2  # the picture is made larger and averaged down, against jagged edges
MESH_LINES_UP_TO = 5000  # cells; more would be a black picture
# The flat patches of a cell in its parametric coordinates: (is it a triangle, origin, first side, second side).
PATCHES = {
    "triangle": [(True, (0, 0, 0), (1, 0, 0), (0, 1, 0))],
    "quad": [(False, (0, 0, 0), (1, 0, 0), (0, 1, 0))],
    "tet": [(True, (0, 0, 0), (1, 0, 0), (0, 1, 0)), (True, (0, 0, 0), (1, 0, 0), (0, 0, 1)),
            (True, (0, 0, 0), (0, 1, 0), (0, 0, 1)), (True, (1, 0, 0), (-1, 1, 0), (-1, 0, 1))],
    "hex": [(False, (0, 0, 0), (1, 0, 0), (0, 1, 0)), (False, (0, 0, 1), (1, 0, 0), (0, 1, 0)),
            (False, (0, 0, 0), (1, 0, 0), (0, 0, 1)), (False, (0, 1, 0), (1, 0, 0), (0, 0, 1)),
            (False, (0, 0, 0), (0, 1, 0), (0, 0, 1)), (False, (1, 0, 0), (0, 1, 0), (0, 0, 1))],
    "prism": [(True, (0, 0, 0), (1, 0, 0), (0, 1, 0)), (True, (0, 0, 1), (1, 0, 0), (0, 1, 0)),
              (False, (0, 0, 0), (1, 0, 0), (0, 0, 1)), (False, (0, 0, 0), (0, 1, 0), (0, 0, 1)),
              (False, (1, 0, 0), (-1, 1, 0), (0, 0, 1))],
}


class Wrong(Exception):
    """The file or an option is wrong: exit status 2."""


# ------------------------------------------------------------------------------------------ data

class Group:
    """Cells of one type and number of points: ids of shape (cells, points)."""

    def __init__(self, vtk_type, cells, ids):
        self.type, self.kind, self.cells, self.ids = vtk_type, shapes.KINDS[vtk_type], cells, ids
        order = shapes.order_of(vtk_type, ids.shape[1])
        if order is None:
            raise Wrong(f"a cell of VTK type {vtk_type} with {ids.shape[1]} points cannot be drawn")
        self.linear = order == 1

    def weights(self, parameters):
        """Shape functions at parametric points: (points, nodes)."""
        return shapes.weights(self.type, self.ids.shape[1], parameters)

    def interpolate(self, weights, chosen, numbers):
        """Numbers at points (points, ...) in the chosen cells: (cells, weights, ...)."""
        at_nodes = np.moveaxis(numbers[self.ids[chosen]], 1, -1)
        return np.moveaxis(at_nodes @ weights.T, -1, 1)


def find_groups(grid):
    sizes = np.diff(grid.offsets)
    key = grid.types + 256 * sizes
    groups, unknown = [], set()
    for size, vtk_type in (divmod(k, 256) for k in np.unique(key).tolist()):
        if vtk_type not in shapes.KINDS:
            unknown.add(vtk_type)
            continue
        cells = np.nonzero(key == vtk_type + 256 * size)[0]
        groups.append(Group(vtk_type, cells, grid.connectivity[grid.offsets[cells][:, None] + np.arange(size)]))
    if unknown:
        print(f"facet view: cells of VTK types {sorted(unknown)} are not drawn", file=sys.stderr)
    if not groups:
        raise Wrong("the file has no cells that can be drawn")
    return groups


def find_field(grid, name):
    """(name, is it on cells, array of rows)."""
    known = [*grid.point_fields, *grid.cell_fields]
    if not known:
        raise Wrong("the file has no fields")
    if name is None:
        name = (grid.active or known)[0]
    for fields, on_cells in ((grid.point_fields, False), (grid.cell_fields, True)):
        if name in fields:
            return name, on_cells, fields[name].values()
    raise Wrong(f"the file has no field '{name}'; it has {', '.join(known)}")


def take_component(name, array, component):
    """One number per row, and what to call it."""
    n = array.shape[1]
    if n == 1 and component in (None, "0", "magnitude"):
        return name, array[:, 0] if component != "magnitude" else np.abs(array[:, 0])
    if component in (None, "magnitude"):
        return f"|{name}|", np.sqrt((array ** 2).sum(axis=1))
    letters = {1: [], 2: list("xy"), 3: list("xyz"), 9: [a + b for a in "xyz" for b in "xyz"]}.get(n, [])
    if component in letters:
        index = letters.index(component)
    else:
        index = int(component) if component.isdecimal() else n
        if index >= n:
            raise Wrong(f"field '{name}' has no component '{component}'; it has magnitude, 0 .. {n - 1}"
                        + (", " + ", ".join(letters) if letters else ""))
    return f"{name}_{letters[index] if letters else index}", array[:, index]


# ------------------------------------------------------------------------------------------ geometry

def lattice(triangle, s):
    """Nodes (a, b) of a triangle or square cut s times, its triangles, and its outline as pairs of nodes."""
    number, nodes = {}, []
    for j in range(s + 1):
        for i in range(s + 1 - j if triangle else s + 1):
            number[i, j] = len(nodes)
            nodes.append((i / s, j / s))
    pieces = []
    for (i, j) in number:
        if (i + 1, j) in number and (i, j + 1) in number:
            pieces.append((number[i, j], number[i + 1, j], number[i, j + 1]))
            if (i + 1, j + 1) in number:
                pieces.append((number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]))
    bottom, left = [(i, 0) for i in range(s + 1)], [(0, j) for j in range(s + 1)]
    far = [[(s - j, j) for j in range(s + 1)]] if triangle else [[(s, j) for j in range(s + 1)],
                                                                  [(i, s) for i in range(s + 1)]]
    outline = [(number[a], number[b]) for line in [bottom, left] + far for a, b in zip(line, line[1:])]
    return np.array(nodes), np.array(pieces), np.array(outline)


def patch_parameters(patch, nodes):
    _, origin, first, second = (np.array(p) for p in patch)
    return origin + nodes[:, :1] * first + nodes[:, 1:] * second


def is_twice(x):
    """Which rows of x, between 0 and 1 or not far from it, occur more than once, up to rounding. Two grids half a step
    apart: a pair that one of them separates lies well inside a box of the other. A box has one number of 63 bits."""
    twice = np.zeros(len(x), dtype=bool)
    for shift in (0.0, 0.5):
        box = np.clip(np.floor((x + 0.5) * 1e6 + shift), 0, (1 << 21) - 1).astype(np.int64)
        number = (box[:, 0] << 42) | (box[:, 1] << 21) | box[:, 2]
        order = np.argsort(number, kind="stable")
        same = number[order[1:]] == number[order[:-1]]
        twice[order[1:][same]] = twice[order[:-1][same]] = True
    return twice


def outer_patches(groups, points):
    """(group, patch, which cells) of everything to be drawn; a face that two cells share is inside."""
    found, centres = [], []
    for group in groups:
        for patch in PATCHES.get(group.kind, []):
            found.append((group, patch))
            middle = np.array([[1 / 3, 1 / 3]] if patch[0] else [[0.5, 0.5]])
            weights = group.weights(patch_parameters(patch, middle))
            centres.append(group.interpolate(weights, slice(None), points)[:, 0])
    if not found:
        return []
    inner = is_twice(np.concatenate(centres))
    result, begin = [], 0
    for (group, patch), centre in zip(found, centres):
        solid = group.kind in ("tet", "hex", "prism")
        keep = ~inner[begin:begin + len(centre)] if solid else np.ones(len(centre), dtype=bool)
        begin += len(centre)
        result.append((group, patch, np.nonzero(keep)[0]))
    return result


class Pieces:
    """Triangles (n, 3 corners) and mesh lines (m, 2 ends) with positions and values."""

    def __init__(self):
        self.x, self.value, self.line_x, self.line_value = [], [], [], []

    def add_patch(self, group, patch, chosen, s, points, values):
        nodes, pieces, outline = lattice(patch[0], s)
        weights = group.weights(patch_parameters(patch, nodes))
        self.add(group.interpolate(weights, chosen, points), interpolate(weights, group, chosen, values), pieces,
                 outline)

    def add_segments(self, group, s, points, values):
        """Segments are drawn as coloured lines."""
        nodes = np.array([(i / s, 0, 0) for i in range(s + 1)])
        weights = group.weights(nodes)
        everyone = np.arange(len(group.ids))
        self.add(group.interpolate(weights, everyone, points), interpolate(weights, group, everyone, values),
                 np.zeros((0, 3), dtype=int), np.array([(i, i + 1) for i in range(s)]))

    def add(self, x, value, pieces, outline):
        self.x.append(x[:, pieces].reshape(-1, 3, 3))
        self.value.append(value[:, pieces].reshape(-1, 3))
        self.line_x.append(x[:, outline].reshape(-1, 2, 3))
        self.line_value.append(value[:, outline].reshape(-1, 2))

    def close(self):
        for name in ("x", "value", "line_x", "line_value"):
            setattr(self, name, np.concatenate(getattr(self, name)))


def interpolate(weights, group, chosen, values):
    on_cells, numbers = values
    if on_cells:
        return np.repeat(numbers[group.cells[chosen]][:, None], len(weights), axis=1)
    return group.interpolate(weights, chosen, numbers)


def build_pieces(groups, points, still, values, pixels):
    """still: the points before they were moved; a displacement that jumps between cells would part their faces."""
    patches = outer_patches(groups, still)
    n_patches = sum(len(chosen) for _, _, chosen in patches)
    side = math.sqrt(pixels / max(1, n_patches))  # of a patch, in pixels, about
    pieces = Pieces()
    for group, patch, chosen in patches:
        flat = group.linear and patch[0]
        s = 1 if flat else int(min(24, max(2, math.ceil(side / 4))))
        if len(chosen):
            pieces.add_patch(group, patch, chosen, s, points, values)
    for group in groups:
        if group.kind == "segment":
            pieces.add_segments(group, 1 if group.linear else 12, points, values)
    if not pieces.x:
        raise Wrong("the cells have no outer face that could be drawn")
    pieces.close()
    return pieces


# ------------------------------------------------------------------------------------------ pixels

class Canvas:
    """Value, shade and depth of each pixel; row 0 is the top."""

    def __init__(self, width, height):
        self.width, self.height = width, height
        self.value = np.full(width * height, np.nan)
        self.shade = np.ones(width * height)
        self.depth = np.full(width * height, -np.inf)
        self.covered = np.zeros(width * height, dtype=bool)
        self.line = np.zeros(width * height, dtype=bool)

    def put(self, pixel, depth, value, shade):
        """Nearest wins: in order of depth, a later assignment to the same pixel overwrites an earlier one."""
        order = np.argsort(depth, kind="stable")
        order = order[depth[order] >= self.depth[pixel[order]]]
        pixel = pixel[order]
        self.depth[pixel], self.value[pixel], self.shade[pixel] = depth[order], value[order], shade[order]
        self.covered[pixel] = True

    def triangles(self, p, depth, value, shade):
        """Corners p (n, 3, 2) in pixels. Triangles of about one size are tested against their pixels all at once."""
        low = np.floor(p.min(axis=1)).astype(int)
        extent = (np.ceil(p.max(axis=1)).astype(int) - low).max(axis=1)
        first, second = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]
        area = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
        power = np.ceil(np.log2(np.maximum(extent, 1))).astype(int)
        for k in np.unique(power):
            members = np.nonzero((power == k) & (np.abs(area) > 1e-12))[0]
            box = 1 << int(k)
            batch = max(1, (1 << 21) // (box * box))
            for begin in range(0, len(members), batch):
                self._batch(members[begin:begin + batch], box, low, p, area, depth, value, shade)

    def _batch(self, t, box, low, p, area, depth, value, shade):
        step = np.arange(box)
        px = low[t, 0][:, None, None] + step[None, None, :]
        py = low[t, 1][:, None, None] + step[None, :, None]
        weights = []
        for i in range(3):
            a, b = p[t, (i + 1) % 3], p[t, (i + 2) % 3]
            side = b - a
            cross = (side[:, 0, None, None] * (py + 0.5 - a[:, 1, None, None])
                     - side[:, 1, None, None] * (px + 0.5 - a[:, 0, None, None]))
            weights.append(cross / area[t][:, None, None])
        inside = (weights[0] >= -1e-6) & (weights[1] >= -1e-6) & (weights[2] >= -1e-6)
        inside &= (px >= 0) & (px < self.width) & (py >= 0) & (py < self.height)
        which, row, column = np.nonzero(inside)
        w = np.stack([weight[inside] for weight in weights], axis=1)
        t = t[which]
        pixel = (low[t, 1] + row) * self.width + low[t, 0] + column
        self.put(pixel, (w * depth[t]).sum(axis=1), (w * value[t]).sum(axis=1), shade[t])

    def _line_pixels(self, p, thickness):
        """Pixels along segments p (n, 2, 2): (segment, position 0..1, pixel)."""
        steps = np.ceil(np.abs(p[:, 1] - p[:, 0]).max(axis=1)).astype(int) + 1
        segment = np.repeat(np.arange(len(p)), steps)
        count = np.arange(len(segment)) - np.repeat(np.cumsum(steps) - steps, steps)
        at = count / np.maximum(1, steps[segment] - 1)
        x = p[segment, 0] + at[:, None] * (p[segment, 1] - p[segment, 0]) - (thickness - 1) / 2
        for dy in range(thickness):
            for dx in range(thickness):
                ix, iy = (x + (dx, dy)).astype(int).T
                ok = (ix >= 0) & (ix < self.width) & (iy >= 0) & (iy < self.height)
                yield segment[ok], at[ok], (iy * self.width + ix)[ok]

    def mesh_lines(self, p, depth, tolerance):
        for segment, at, pixel in self._line_pixels(p, SUPERSAMPLE):
            here = depth[segment, 0] * (1 - at) + depth[segment, 1] * at
            self.line[pixel[here >= self.depth[pixel] - tolerance]] = True

    def coloured_lines(self, p, depth, value):
        for segment, at, pixel in self._line_pixels(p, 2 * SUPERSAMPLE):
            self.put(pixel, depth[segment, 0] * (1 - at) + depth[segment, 1] * at,
                     value[segment, 0] * (1 - at) + value[segment, 1] * at, np.ones(len(pixel)))


# ------------------------------------------------------------------------------------------ colours, scale, PNG

def oklab_to_rgb(lightness, a, b):
    """Oklab to sRGB in 0..1, cut at the ends of the gamut."""
    cone = np.array([[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728],
                     [1, -0.0894841775, -1.2914855480]]) @ np.array([lightness, a, b])
    linear = np.array([[4.0767416621, -3.3077115913, 0.2309699292], [-1.2684380046, 2.6097574011, -0.3413193965],
                       [-0.0041960863, -0.7034186147, 1.7076147010]]) @ cone ** 3
    linear = np.clip(linear, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055).T


def colour_map(name, n=256):
    """Lightness grows evenly from dark violet over blue-green to yellow, so that equal steps look equal and a grey
    print keeps the order; 'diverging' runs from blue over near white to red and is meant for signed fields."""
    at = np.linspace(0, 1, n)
    if name == "diverging":
        away = np.abs(2 * at - 1)
        hue = np.radians(np.where(at < 0.5, 262, 27))
        chroma = 0.19 * away ** 0.9
        return oklab_to_rgb(0.95 - 0.45 * away ** 1.2, chroma * np.cos(hue), chroma * np.sin(hue))
    # Polynomials, since a corner in the colours would look like one in the field.
    knots = [0, 0.25, 0.5, 0.75, 1]
    hue = np.radians(np.polyval(np.polyfit(knots, [308, 268, 206, 150, 106], 4), at))
    chroma = np.polyval(np.polyfit(knots, [0.12, 0.105, 0.085, 0.14, 0.17], 4), at)
    return oklab_to_rgb(np.linspace(0.28, 0.93, n), chroma * np.cos(hue), chroma * np.sin(hue))


def ticks(low, high):
    step = high / 5 - low / 5
    if not 0 < step < math.inf:
        return []
    power = 10.0 ** math.floor(math.log10(step))
    step = min((m * power for m in (1, 2, 5, 10)), key=lambda s: abs(math.log(s / step)))
    return [i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def title_size(name, room):
    """Large, or as small as it must be to fit, in pixels."""
    return next((size for size in range(18, 9, -1) if text_width(name, size) <= room), 9)


def put_scale(image, box, name, bounds, extremes, colours):
    """The scale of colours from bounds[0] to bounds[1] in box (left, top, right, bottom), with the name above and the
    least and the largest value at its ends."""
    low, high = bounds
    left, top, right, bottom = box
    rows = np.arange(top, bottom)
    index = ((bottom - 1 - rows) / max(1, bottom - top - 1) * (len(colours) - 1)).astype(int)
    image[top - 1:bottom + 1, left - 1:right + 1] = 0.2
    image[top:bottom, left:right] = colours[index][:, None, :]
    put_text(image, name, left, top - 40, title_size(name, image.shape[1] - left - 6))
    put_text(image, f"max {extremes[1]:.4g}", left, top - 14, 13)
    put_text(image, f"min {extremes[0]:.4g}", left, bottom + 14, 13)
    if math.isfinite(high - low):
        for value in ticks(low, high):
            y = bottom - 1 - (value - low) / (high - low) * (bottom - top - 1)
            image[int(y), right:right + 5] = 0.2
            put_text(image, f"{0.0 if abs(value) < 1e-12 * (high - low) else value:.4g}", right + 9, y, 13)


def png_bytes(image):
    height, width, _ = image.shape
    rows = np.zeros((height, 1 + 3 * width), dtype=np.uint8)
    rows[:, 1:] = (np.clip(image, 0, 1) * 255 + 0.5).astype(np.uint8).reshape(height, -1)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 6))
            + chunk(b"IEND", b""))


# ------------------------------------------------------------------------------------------ the picture

def find_displacement(grid):
    """The vector u of a deformed body, or None."""
    field = grid.point_fields.get("u")
    return field.values() if field is not None and field.n_components == 3 else None


def warp(points, on_cells, array, numbers, factor):
    """A vector moves the points by itself; a number lifts them by its value. 'auto' makes the largest move visible."""
    if on_cells:
        raise Wrong("a field on cells cannot warp the mesh; choose a field on points with --field")
    move = array.copy() if array.shape[1] == 3 else np.outer(numbers, (0, 0, 1))
    largest = np.sqrt((move ** 2).sum(axis=1)).max()
    share = 0.1 if array.shape[1] == 3 else 0.3
    size = extent_of(points).max()
    scale = (share * size / largest if largest > 0 else 0) if factor == "auto" else factor
    moved = points + scale * move
    if not np.isfinite(moved).all():
        raise Wrong("the mesh cannot be warped: the field or the factor is not a number, or too large")
    return moved, scale


def bounds_of(points):
    """By columns, since NumPy takes the least of long columns faster than that of short rows."""
    return np.array([column.min() for column in points.T]), np.array([column.max() for column in points.T])


def extent_of(points):
    low, high = bounds_of(points)
    return high - low


def unit_size(points):
    """The points as they are drawn, moved and scaled to a box of side 1: neither tiny nor huge numbers follow."""
    low, high = bounds_of(points)
    size = (high - low).max()
    if not math.isfinite(size):
        raise Wrong("the coordinates of the points are too large")
    return (points - low) / max(size, 1e-300)


def camera(points):
    """Rows: to the right, up, towards the eye. A flat mesh is seen from above, anything else from a corner."""
    extent = extent_of(points)
    if extent[2] <= 1e-12 * max(extent.max(), 1e-300):
        return np.eye(3), True
    azimuth, height = math.radians(-60), math.radians(28)
    eye = np.array([math.cos(azimuth) * math.cos(height), math.sin(azimuth) * math.cos(height), math.sin(height)])
    right = np.array([-math.sin(azimuth), math.cos(azimuth), 0])
    return np.array([right, np.cross(eye, right), eye]), False


def picture_size(text, ratio):
    """Width and height; where the user does not say, the height follows the mesh. ratio: height / width of it."""
    if text is None:
        return 1200, int(min(1200, max(420, 90 + ratio * (1200 - 230))))
    try:
        width, height = (int(part) for part in text.lower().split("x"))
    except ValueError:
        raise Wrong(f"--size is WIDTHxHEIGHT, as in 1200x900, not '{text}'") from None
    if not (320 <= width <= 8192 and 240 <= height <= 8192):
        raise Wrong("--size lies between 320x240 and 8192x8192")
    return width, height


def shade_of(x, flat):
    """Light from above the viewer's left shoulder, by the angle of each triangle (camera coordinates). It reaches around
    the body, so that also what is turned away has a shape, and is bright everywhere, so that colours stay those of the
    scale."""
    if flat:
        return np.ones(len(x))
    normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    length = np.maximum(np.sqrt((normal ** 2).sum(axis=1)), 1e-300)
    light = np.array([-0.35, 0.5, 0.79])
    towards = np.where(normal[:, 2:] < 0, -1.0, 1.0)
    return 0.6 + 0.4 * (0.5 + 0.5 * (towards * normal) @ light / length) ** 2


def draw(pieces, axes, flat, canvas, margin, n_cells):
    """Projects everything into the canvas, which leaves `margin` pixels (left, top, right, bottom) free."""
    x, line_x = pieces.x @ axes.T, pieces.line_x @ axes.T
    everything = np.concatenate([x.reshape(-1, 3), line_x.reshape(-1, 3)])
    low, high = everything[:, :2].min(axis=0), everything[:, :2].max(axis=0)
    room = np.array([canvas.width - margin[0] - margin[2], canvas.height - margin[1] - margin[3]], dtype=float)
    scale = (room / np.maximum(high - low, 1e-300)).min()
    corner = np.array([margin[0], margin[1]]) + (room - scale * (high - low)) / 2

    def to_pixels(y):
        return np.stack([corner[0] + scale * (y[..., 0] - low[0]), corner[1] + scale * (high[1] - y[..., 1])], axis=-1)

    if len(x):
        canvas.triangles(to_pixels(x), scale * x[..., 2], pieces.value, shade_of(x, flat))
        if n_cells < MESH_LINES_UP_TO:
            canvas.mesh_lines(to_pixels(line_x), scale * line_x[..., 2], 2.0 * SUPERSAMPLE)
    else:
        canvas.coloured_lines(to_pixels(line_x), scale * line_x[..., 2], pieces.line_value)


def colour(canvas, low, high, colours):
    """The canvas as an image, averaged down."""
    place = (canvas.value - low) / (high - low) if high > low else np.where(np.isnan(canvas.value), np.nan, 0.5)
    finite = np.isfinite(place)
    index = (np.clip(np.where(finite, place, 0), 0, 1) * (len(colours) - 1) + 0.5).astype(int)
    image = np.ones((len(place), 3))
    image[canvas.covered] = 0.6  # where the field is not a number
    drawn = canvas.covered & finite
    image[drawn] = colours[index[drawn]] * canvas.shade[drawn, None]
    image[canvas.line] = 0.65 * image[canvas.line] + 0.35 * 0.08
    k = SUPERSAMPLE
    return image.reshape(canvas.height // k, k, canvas.width // k, k, 3).mean(axis=(1, 3))


def picture(options):
    grid = vtu.read(options.file)
    groups = find_groups(grid)
    points = grid.points
    name, on_cells, array = find_field(grid, options.field)
    title, numbers = take_component(name, array, options.component)
    caption = f"{os.path.basename(options.file)}: {len(grid.types)} cells"
    if options.warp is not None:
        moved = find_displacement(grid)  # of a body, whose other fields are shown in its deformed shape
        if moved is not None:
            on_cells_now, array, name = False, moved, "u"
        else:
            on_cells_now = on_cells
        points, factor = warp(points, on_cells_now, array, numbers, options.warp)
        caption += f", warped by {factor:.3g} {name}"

    still = unit_size(grid.points)
    points = still if points is grid.points else unit_size(points)
    axes, flat = camera(points)
    spread = extent_of(points @ axes.T)
    width, height = picture_size(options.size, spread[1] / max(spread[0], 1e-300))
    pieces = build_pieces(groups, points, still, (on_cells, numbers), width * height)
    k = SUPERSAMPLE
    canvas = Canvas(width * k, height * k)
    draw(pieces, axes, flat, canvas, (30 * k, 30 * k, 180 * k, 45 * k), len(grid.types))

    finite = numbers[np.isfinite(numbers)]
    if len(finite) == 0:
        raise Wrong(f"the field '{title}' has no value that is a number")
    if len(finite) < numbers.size:
        caption += f", grey: no number ({numbers.size - len(finite)} of {numbers.size} values)"
    extremes = finite.min(), finite.max()
    low, high = extremes
    if options.map == "diverging":  # zero has the colour of the middle
        high = np.abs(extremes).max()
        low = -high
    colours = colour_map(options.map)
    image = colour(canvas, low, high, colours)
    middle, half = height // 2, min(260, (height - 170) // 2)
    put_scale(image, (width - 145, middle - half, width - 121, middle + half), title, (low, high), extremes,
              colours)
    put_text(image, caption, 30, height - 18, 13, colour=(0.4, 0.4, 0.4))
    return image


class Parser(argparse.ArgumentParser):
    def error(self, message):
        """A sentence, without the usage."""
        name = message.split(": ")[-1].split(" ")[0]
        if message.startswith("unrecognized arguments"):
            near = difflib.get_close_matches(name.split("=")[0], self._option_string_actions, 1)
            message = f"unknown option '{name}'" if name.startswith("-") else f"one argument too many: '{name}'"
            if name.startswith("-") and near:
                message += f"; did you mean '{near[0]}'?"
        elif message.startswith("the following arguments are required"):
            message = "needs FILE"
        print(f"facet view: {message}" + ("" if message.endswith("?") else "; see 'facet view --help'"), file=sys.stderr)
        sys.exit(2)


def parse(arguments):
    parser = Parser(prog="facet view", description="a picture (PNG) of a VTU file")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--field", metavar="NAME", help="default: the active field, else the first")
    parser.add_argument("--component", metavar="C", help="magnitude (default), 0 .. n-1, x, y, z, xx, xy, ...")
    parser.add_argument("--output", metavar="PNG", help="default: the name of the file with .png")
    parser.add_argument("--size", metavar="WxH", help="of the picture, as in 1200x900")
    parser.add_argument("--warp", metavar="FACTOR", nargs="?", const="auto",
                        help="move the points by the displacement u of a body; else by the field: along a vector, or "
                             "upwards by a number")
    parser.add_argument("--map", choices=["sequential", "diverging"], default="sequential", help="of colours")
    options = parser.parse_args(arguments)
    if options.warp not in (None, "auto"):
        try:
            options.warp = float(options.warp)
        except ValueError:
            parser.error(f"--warp takes a number, not '{options.warp}' (with FILE after it: --warp auto FILE)")
    if options.output is None:
        options.output = os.path.splitext(options.file)[0] + ".png"
    kind = os.path.splitext(options.output)[1].lower()
    if kind not in ("", ".png"):
        parser.error(f"--output {options.output}: the picture is a PNG file, not one of kind '{kind}'; let its name end in .png")
    return options


def stop(number, _frame):
    sys.exit(128 + number)


def main():
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    np.seterr(all="ignore")  # fields may have values that are no numbers
    options = parse(sys.argv[1:])
    try:
        write_whole(options.output, png_bytes(picture(options)))
    except (Wrong, vtu.Refused) as wrong:
        print(f"facet view: {wrong}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"facet view: cannot write '{options.output}': {error.strerror}", file=sys.stderr)
        return 3
    except MemoryError:
        print("facet view: not enough memory for this picture; try a smaller --size", file=sys.stderr)
        return 3
    print(options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
