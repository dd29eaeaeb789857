"""Reads VTU and PVTU files, VTK's XML files of unstructured grids, with nothing but NumPy.

read(path) checks the whole frame of a file: its XML, the places and sizes of all arrays, the cells. Fields are read
when their values are asked for. Whatever is damaged or not supported ends in Refused, whose text is one sentence.

    format      ascii, binary (base64), appended raw or base64
    compressor  none or vtkZLibDataCompressor
    numbers     either byte order, headers UInt32 or UInt64

An array that is not compressed is a count of bytes and the bytes. A compressed one is n_blocks, block_bytes,
last_block_bytes (0 if the last block is full too), the compressed bytes of each block, and the blocks.
"""
import base64
import binascii
import os
import re
import stat
import warnings
import xml.parsers.expat
import zlib

import numpy as np

ZLIB = "vtkZLibDataCompressor"
TYPES = {"Int8": "i1", "UInt8": "u1", "Int16": "i2", "UInt16": "u2", "Int32": "i4", "UInt32": "u4", "Int64": "i8",
         "UInt64": "u8", "Float32": "f4", "Float64": "f8"}
CHUNK_BYTES = 1 << 16
MOST_ELEMENTS, MOST_DEPTH = 1000000, 20  # of the XML
ZLIB_RATIO = 1032  # no stream of zlib grows by more when it is unpacked
OLD_HEX_VERSION = (2, 1)  # files before it have the last two edges of Lagrange hexes in the other order
LAGRANGE_HEX = 72


class Refused(Exception):
    """The file is damaged or not supported: one sentence."""


class Damage(Exception):
    """What is wrong inside a file; File.damaged makes Refused of it."""


# ------------------------------------------------------------------------------------------ bytes

def open_regular(path):
    """A directory, a device or a pipe is refused, and opening a pipe does not wait for its writer."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise Refused(f"there is no file '{path}'") from None
    except OSError as error:
        raise Refused(f"'{path}' cannot be opened: {error.strerror}") from None
    except ValueError:  # a NUL in the name
        raise Refused(f"there is no file {path!r}") from None
    file = None
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise Refused(f"'{path}' is not a regular file")
        file = open(number, "rb")
        return file
    finally:
        if file is None:
            os.close(number)


def read_range(path, at, n):
    with open_regular(path) as file:
        try:
            file.seek(at)
            data = file.read(n)
        except OSError as error:
            raise Refused(f"'{path}' cannot be read: {error.strerror}") from None
    if len(data) != n:
        raise Refused(f"'{path}' changed while it was read")
    return data


class Source:
    """`size` bytes, or characters of base64, that read(at, n) delivers."""

    def __init__(self, size, read, encoded):
        self.size, self.read, self.encoded = size, read, encoded

    def take(self, at, n):
        """At least n bytes from `at` on, and where they end; base64 comes in groups of three bytes."""
        span = 4 * ((n + 2) // 3) if self.encoded else n
        if at + span > self.size:
            raise Damage("it ends before its data do")
        data = self.read(at, span)
        if self.encoded:
            try:
                data = base64.b64decode(data, validate=True)
            except binascii.Error:
                raise Damage("it has data that are not base64") from None
            if len(data) < n:
                raise Damage("its base64 data end too early")
        return data, at + span


# ------------------------------------------------------------------------------------------ XML

class Element:
    def __init__(self, name, attributes):
        self.name, self.attributes, self.children, self.text = name, attributes, [], []

    def find(self, name):
        return [child for child in self.children if child.name == name]

    def only(self, name):
        found = self.find(name)
        if len(found) != 1:
            raise Damage(f"its element {self.name} has {len(found)} elements {name} instead of one")
        return found[0]

    def count(self, name, default=None):
        """An attribute that is a whole number."""
        text = self.attributes.get(name, default)
        if text is None or not re.fullmatch(r"\s*[0-9]{1,18}\s*", text):
            raise Damage(f"the attribute {name} of its element {self.name} is {text!r}, which is not a count"
                         if text is not None else f"its element {self.name} has no attribute {name}")
        return int(text)


class AppendedData(Exception):
    """The XML is followed by data from here on."""


class Tree:
    """The elements of a file up to its appended data, whose element may have anything inside."""

    def __init__(self):
        self.root, self.appended_at, self.appended = None, None, None
        self._open, self._count = [], 0
        self._parser = xml.parsers.expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def parse(self, file):
        try:
            while True:
                chunk = file.read(CHUNK_BYTES)
                self._parser.Parse(chunk, not chunk)
                if not chunk:
                    return
        except AppendedData:
            return
        except (xml.parsers.expat.ExpatError, LookupError, ValueError) as error:  # the last two: its encoding
            raise Damage(f"its XML has an error: {error}") from None

    def _doctype(self, *_):
        raise Damage("it has a document type, which VTU files do not have")

    def _start(self, name, attributes):
        self._count += 1
        if self._count > MOST_ELEMENTS or len(self._open) > MOST_DEPTH:
            raise Damage("it has too many elements")
        if self.root is None and name != "VTKFile":
            raise Damage(f"it begins with the element {name[:40]} instead of VTKFile")
        element = Element(name, attributes)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)
        if name == "AppendedData":
            if len(self._open) != 2:
                raise Damage("its element AppendedData stands in the wrong place")
            self.appended, self.appended_at = element, self._parser.CurrentByteIndex
            raise AppendedData

    def _end(self, _name):
        self._open.pop()

    def _characters(self, text):
        if self._open[-1].name == "DataArray":
            self._open[-1].text.append(text)


# ------------------------------------------------------------------------------------------ one file

class File:
    """The frame of a VTU or PVTU file: its elements and how its arrays are written."""

    def __init__(self, path):
        self.path = path
        tree = Tree()
        with open_regular(path) as file:
            try:
                self.size = os.fstat(file.fileno()).st_size
                if self.size == 0:
                    raise Refused(f"'{path}' is empty")
                tree.parse(file)
                self.root = tree.root
                self.kind = self.root.attributes.get("type", "")
                self._read_conventions(self.root.attributes)
                self.appended = self._find_appended(file, tree)
            except Damage as damage:
                raise self.damaged(damage) from None
            except OSError as error:
                raise Refused(f"'{path}' cannot be read: {error.strerror}") from None

    def damaged(self, why):
        return Refused(f"'{self.path}' is not a VTU file, or is damaged: {why}")

    def unsupported(self, what):
        return Refused(f"'{self.path}' has {what}, which is not supported")

    def _read_conventions(self, attributes):
        order = attributes.get("byte_order", "LittleEndian")
        header = attributes.get("header_type", "UInt32")
        compressor = attributes.get("compressor", "")
        version = re.fullmatch(r"([0-9]{1,4})\.([0-9]{1,4})", attributes.get("version", "0.1"))
        if order not in ("LittleEndian", "BigEndian"):
            raise Damage(f"its byte_order is {order!r}")
        if header not in ("UInt32", "UInt64"):
            raise Damage(f"its header_type is {header!r}")
        if version is None:
            raise Damage(f"its version is {attributes['version']!r}")
        if compressor not in ("", ZLIB):
            raise self.unsupported(f"data of the compressor {compressor!r}")
        self.version = int(version[1]), int(version[2])
        self.endian = "<" if order == "LittleEndian" else ">"
        self.header = np.dtype(self.endian + TYPES[header])
        self.compressed = compressor == ZLIB

    def _find_appended(self, file, tree):
        """The Source of the appended data, None without them. A file that was cut lacks its last tag."""
        if tree.appended is None:
            return None
        encoding = tree.appended.attributes.get("encoding", "base64")
        if encoding not in ("raw", "base64"):
            raise self.unsupported(f"appended data of the encoding {encoding!r}")
        file.seek(tree.appended_at)
        tag = re.match(rb"""<AppendedData(?:[^>"']|"[^"]*"|'[^']*')*>\s*_""", file.read(CHUNK_BYTES))
        if tag is None:
            raise Damage("its appended data do not begin with '_'")
        file.seek(max(0, self.size - 1024))
        if re.search(rb"</AppendedData\s*>\s*</VTKFile\s*>\s*\Z", file.read()) is None:
            raise Damage("it does not end as a whole file does")
        begin = tree.appended_at + tag.end()
        return Source(self.size - begin, lambda at, n: read_range(self.path, begin + at, n), encoding == "base64")


class Array:
    """A DataArray of `count` tuples. Of binary ones the sizes are checked at once."""

    def __init__(self, file, element, count, n_components=None):
        self.file, self.count = file, count
        self.name = element.attributes.get("Name", "")
        kind = element.attributes.get("type")
        if kind not in TYPES:
            raise Damage(f"the type of its array '{self.name}' is {kind!r}")
        self.type = np.dtype(file.endian + TYPES[kind])
        self.n_components = element.count("NumberOfComponents", "1")
        if n_components not in (None, self.n_components) or self.n_components == 0:
            raise Damage(f"its array '{self.name}' has {self.n_components} components")
        self._open(element)

    def values(self):
        """Of shape (tuples, components)."""
        try:
            found = self._from_text() if self.source is None else self._from_bytes()
        except Damage as damage:
            raise self.file.damaged(damage) from None
        return found.reshape(self.count, self.n_components)

    def _open(self, element):
        form = element.attributes.get("format", "ascii")
        self.source, self.at, self.text = None, 0, None
        if form == "ascii":
            self.text = "".join(element.text)
            return
        if form == "binary":
            text = "".join("".join(element.text).split()).encode("ascii", "replace")
            self.source = Source(len(text), lambda at, n: text[at:at + n], True)
        elif form == "appended":
            if self.file.appended is None:
                raise Damage(f"its array '{self.name}' is appended, but nothing is appended")
            self.source, self.at = self.file.appended, element.count("offset")
        else:
            raise Damage(f"the format of its array '{self.name}' is {form!r}")
        self._locate()

    def _n_values(self):
        return self.count * self.n_components

    def _expect(self, n_bytes):
        wanted = self._n_values() * self.type.itemsize
        if n_bytes != wanted:
            raise Damage(f"its array '{self.name}' has {n_bytes} bytes instead of {wanted}")

    def _numbers(self, at, n):
        data, end = self.source.take(at, n * self.file.header.itemsize)
        return np.frombuffer(data, self.file.header, n).tolist(), end, len(data)

    def _locate(self):
        """Sets where the data begin and, of compressed ones, the sizes of the blocks: (compressed, unpacked)."""
        if not self.file.compressed:
            (n_bytes,), end, n_taken = self._numbers(self.at, 1)
            self._expect(n_bytes)
            # The count of bytes is a group of base64 by itself, or the data follow in the same one.
            self.skip = self.file.header.itemsize if n_taken > self.file.header.itemsize else 0
            self.begin = self.at if self.skip else end
            self.n_packed = self.skip + n_bytes
            self.blocks = None
        else:
            (n_blocks, block_bytes, last_bytes), _, _ = self._numbers(self.at, 3)
            self._expect(n_blocks * block_bytes - (block_bytes - last_bytes if n_blocks and last_bytes else 0))
            numbers, self.begin, _ = self._numbers(self.at, 3 + n_blocks)
            unpacked = [block_bytes] * n_blocks
            if n_blocks and last_bytes:
                unpacked[-1] = last_bytes
            self.blocks = list(zip(numbers[3:], unpacked))
            self.skip, self.n_packed = 0, sum(numbers[3:])
            if any(n > ZLIB_RATIO * packed for packed, n in self.blocks):
                raise Damage(f"the sizes of the blocks of its array '{self.name}' are wrong")
        span = 4 * ((self.n_packed + 2) // 3) if self.source.encoded else self.n_packed
        if self.begin + span > self.source.size:
            raise Damage(f"it ends before its array '{self.name}' does")

    def _from_bytes(self):
        data, _ = self.source.take(self.begin, self.n_packed)
        if self.blocks is None:
            return np.frombuffer(data, self.type, self._n_values(), self.skip)
        out = np.empty(self._n_values() * self.type.itemsize, np.uint8)
        data, at, to = memoryview(data), 0, 0
        for packed, n in self.blocks:
            out[to:to + n] = np.frombuffer(self._unpack(data[at:at + packed], n), np.uint8)
            at, to = at + packed, to + n
        return out.view(self.type)

    def _unpack(self, data, n):
        stream = zlib.decompressobj()
        try:
            raw = stream.decompress(data, n + 1)
        except zlib.error:
            raw = b""
        if len(raw) != n or not stream.eof:
            raise Damage(f"a block of its array '{self.name}' cannot be unpacked")
        return raw

    def _from_text(self):
        kind = np.float64 if self.type.kind == "f" else np.uint64 if self.type.kind == "u" else np.int64
        found = np.zeros(0, kind)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # which NumPy gives where the text is no number
                if not self.text.isspace() and self.text:
                    found = np.fromstring(self.text, kind, sep=" ")
        except (DeprecationWarning, ValueError, OverflowError):
            raise Damage(f"its array '{self.name}' has text that is no number") from None
        self._expect(len(found) * self.type.itemsize)
        return found


# ------------------------------------------------------------------------------------------ pieces

class Piece:
    """Points, cells and fields of a Piece of a VTU file."""

    def __init__(self, file, element):
        self.file = file
        self.n_points, self.n_cells = element.count("NumberOfPoints"), element.count("NumberOfCells")
        self.point_fields = self._fields(element, "PointData", self.n_points)
        self.cell_fields = self._fields(element, "CellData", self.n_cells)
        self._points = Array(file, element.only("Points").only("DataArray"), self.n_points, 3)
        self._read_cells(element.only("Cells"))

    def _fields(self, element, section, count):
        found = {}
        for data in element.find(section):
            if "HigherOrderDegrees" in data.attributes:
                raise self.file.unsupported("cells with an order for each direction (HigherOrderDegrees)")
            for child in data.find("DataArray"):
                if child.attributes.get("type") == "String":
                    continue  # no field that can be drawn
                array = Array(self.file, child, count)
                found.setdefault(array.name, array)
        return found

    def points(self):
        x = self._points.values().astype(float, copy=False)
        if not np.isfinite(x).all():
            raise self.file.damaged("a coordinate of its points is not a number")
        return x

    def _read_cells(self, element):
        by_name = {child.attributes.get("Name"): child for child in element.find("DataArray")}
        for name in ("connectivity", "offsets", "types"):
            if name not in by_name:
                raise Damage(f"its cells have no array '{name}'")
        self.types = self._integers(by_name["types"], self.n_cells)
        if len(self.types) and not (0 <= self.types.min() and self.types.max() <= 255):
            raise Damage("a type of its cells is not between 0 and 255")
        self.offsets = np.concatenate([[0], self._integers(by_name["offsets"], self.n_cells)])
        if (self.offsets[1:] < self.offsets[:-1]).any():
            raise Damage("the offsets of its cells do not grow")
        self.connectivity = self._integers(by_name["connectivity"], int(self.offsets[-1]))
        if len(self.connectivity) and not (0 <= self.connectivity.min() and self.connectivity.max() < self.n_points):
            raise Damage("a cell has a point that is not in the file")
        if self.file.version < OLD_HEX_VERSION:
            self._turn_old_hexes()

    def _integers(self, element, count):
        array = Array(self.file, element, count, 1)
        if array.type.kind == "f":
            raise Damage(f"its array '{array.name}' does not have whole numbers")
        values = array.values()[:, 0]
        if array.type.itemsize == 8 and array.type.kind == "u" and len(values) and values.max() >= 1 << 63:
            raise Damage(f"its array '{array.name}' has a number that is too large")
        return values.astype(np.int64)

    def _turn_old_hexes(self):
        """To the order of VTK 9.1 and later."""
        sizes = np.diff(self.offsets)
        for size in np.unique(sizes[self.types == LAGRANGE_HEX]).tolist():
            inner = round(size ** (1 / 3)) - 2  # of an edge
            if inner < 1 or (inner + 2) ** 3 != size:
                continue  # no cell that anybody can draw
            begin = self.offsets[:-1][(self.types == LAGRANGE_HEX) & (sizes == size)]
            first = begin[:, None] + 8 + 10 * inner + np.arange(inner)
            self.connectivity[first], self.connectivity[first + inner] = (self.connectivity[first + inner],
                                                                          self.connectivity[first])


def vtu_pieces(file):
    grid = file.root.only("UnstructuredGrid")
    try:
        return [Piece(file, element) for element in grid.find("Piece")]
    except Damage as damage:
        raise file.damaged(damage) from None


def pvtu_pieces(file):
    folder, pieces = os.path.dirname(file.path), []
    for element in file.root.only("PUnstructuredGrid").find("Piece"):
        if not element.attributes.get("Source"):
            raise Damage("a piece has no Source")
        part = File(os.path.join(folder, element.attributes["Source"]))
        if part.kind != "UnstructuredGrid":
            raise Refused(f"'{part.path}' is a piece of '{file.path}', but not a VTU file")
        pieces += vtu_pieces(part)
    return pieces


def active_names(element, sections):
    """The names that PointData, then CellData, mark as active."""
    return [data.attributes[key] for section in sections for data in element.find(section)
            for key in ("Scalars", "Vectors", "Tensors") if data.attributes.get(key)]


# ------------------------------------------------------------------------------------------ the grid

def join(arrays):
    """One array is not copied."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


class Field:
    """A field of all pieces: name, n_components, and values() of shape (points or cells, components)."""

    def __init__(self, arrays):
        self.name, self.n_components, self._arrays = arrays[0].name, arrays[0].n_components, arrays

    def values(self):
        return join([array.values().astype(float, copy=False) for array in self._arrays])


def joined_fields(pieces, fields_of):
    joined = {}
    for name, first in fields_of(pieces[0]).items():
        arrays = [fields_of(piece).get(name) for piece in pieces]
        for piece, array in zip(pieces, arrays):
            if array is None or array.n_components != first.n_components:
                raise piece.file.damaged(f"a piece does not have the field '{name}' as the first piece has it")
        joined[name] = Field(arrays)
    return joined


class Grid:
    """points (n, 3); the points of cell c are connectivity[offsets[c]:offsets[c + 1]], in the order of VTK 9.1;
    types: VTK's numbers; point_fields and cell_fields by name; active: names of fields, the foremost first."""

    def __init__(self, pieces, active):
        self.points = join([piece.points() for piece in pieces])
        self.types = join([piece.types for piece in pieces])
        first_point = np.cumsum([0] + [piece.n_points for piece in pieces])
        self.connectivity = join([piece.connectivity + first for piece, first in zip(pieces, first_point)])
        sizes = [np.diff(piece.offsets) for piece in pieces]
        self.offsets = np.concatenate([[0], np.cumsum(join(sizes))])
        self.point_fields = joined_fields(pieces, lambda piece: piece.point_fields)
        self.cell_fields = joined_fields(pieces, lambda piece: piece.cell_fields)
        self.active = [name for name in active if name in self.point_fields or name in self.cell_fields]


def read(path):
    """The Grid of a file, which has at least one cell."""
    file = File(path)
    try:
        if file.kind == "UnstructuredGrid":
            pieces = vtu_pieces(file)
            active = [name for piece in file.root.only("UnstructuredGrid").find("Piece")
                      for name in active_names(piece, ("PointData", "CellData"))]
        elif file.kind == "PUnstructuredGrid":
            pieces = pvtu_pieces(file)
            active = active_names(file.root.only("PUnstructuredGrid"), ("PPointData", "PCellData"))
        else:
            raise Refused(f"'{path}' has data of type {file.kind!r}; a VTU file has the type 'UnstructuredGrid'")
    except Damage as damage:
        raise file.damaged(damage) from None
    pieces = [piece for piece in pieces if piece.n_cells]
    if not pieces:
        raise Refused(f"'{path}' has no cells")
    return Grid(pieces, active)
