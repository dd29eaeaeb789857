"""The reader of tools/vtu.py: files in every form that it knows, damaged files, which it must refuse with one sentence,
and files with bytes changed at random. Usage: test_view_files.py [WRITE_VTU], by default tests/write_vtu in
FACET_BUILD_DIR. Where VTK for Python is installed, files that VTK writes are read as well. Exit status 77: NumPy is not
here, nothing was tested."""

import base64
import glob
import os
import random
import re
import sys
import time
import unittest
import zlib

from written import run_tests

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: NumPy is not installed ({missing}); Debian: python3-numpy")
    sys.exit(77)

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools")
sys.path.insert(0, TOOLS)
import view  # noqa: E402
import vtu  # noqa: E402

CHANGES = 2000  # of a file, at random
PICTURES = 60  # of such files
TYPE_NAMES = {kind: name for name, kind in vtu.TYPES.items()}


def path_of(name):
    return os.path.join(DIRECTORY, name)


def bytes_of(name):
    with open(path_of(name), "rb") as file:
        return file.read()


def write(name, data):
    with open(path_of(name), "wb") as file:
        file.write(data)
    return path_of(name)


class Form:
    """A way to write a file: two triangles and a quad with a scalar and a vector."""

    def __init__(self, form="ascii", encoding="raw", order="<", header="u4", packed=False, apart=False, wide="i8"):
        self.form, self.encoding, self.order, self.packed, self.apart = form, encoding, order, packed, apart
        self.header, self.wide, self.appended = np.dtype(order + header), wide, b""

    def encode(self, values):
        raw = values.tobytes()
        encode = base64.b64encode if self.form == "binary" or self.encoding == "base64" else bytes
        if not self.packed:
            count = np.array([len(raw)], self.header).tobytes()
            return encode(count) + encode(raw) if self.apart else encode(count + raw)
        block = 16  # small, so that there are many, of which the last one may be full or not
        parts = [zlib.compress(raw[at:at + block]) for at in range(0, len(raw), block)]
        head = np.array([len(parts), block, len(raw) % block, *map(len, parts)], self.header).tobytes()
        return encode(head) + encode(b"".join(parts))

    def array(self, name, values, kind):
        values = np.asarray(values, np.dtype(self.order + kind))
        attributes = (f'type="{TYPE_NAMES[kind]}" Name="{name}" NumberOfComponents="{values[0].size}" '
                      f'format="{self.form}"')
        if self.form == "ascii":
            return f"<DataArray {attributes}>\n{' '.join(map(str, values.ravel().tolist()))}\n</DataArray>"
        if self.form == "binary":
            return f"<DataArray {attributes}>\n{self.encode(values).decode()}\n</DataArray>"
        offset = len(self.appended)
        self.appended += self.encode(values)
        return f'<DataArray {attributes} offset="{offset}"/>'

    def file(self, points=None, connectivity=None, offsets=(3, 6, 10), types=(5, 5, 9), u=(1, 2, 3, 4, 5, 6), n_points=6):
        points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (2, 0, 0), (2, 1, 0)] if points is None else points
        connectivity = (0, 1, 2, 0, 2, 3, 1, 4, 5, 2) if connectivity is None else connectivity
        body = (f'<PointData Scalars="u">{self.array("u", u, "f8")}{self.array("v", points, "f4")}</PointData>'
                f'<CellData>{self.array("part", (7, 8, 9), "i2")}</CellData>'
                f'<Points>{self.array("Points", points, "f8")}</Points><Cells>'
                f'{self.array("connectivity", connectivity, self.wide)}{self.array("offsets", offsets, self.wide)}'
                f'{self.array("types", types, "u1")}</Cells>')
        order, header = "LittleEndian" if self.order == "<" else "BigEndian", TYPE_NAMES[self.header.str[1:]]
        compressor = f' compressor="{vtu.ZLIB}"' if self.packed else ""
        head = (f'<?xml version="1.0"?>\n<VTKFile type="UnstructuredGrid" version="0.1" '
                f'byte_order="{order}" header_type="{header}"{compressor}>'
                f'<UnstructuredGrid><Piece NumberOfPoints="{n_points}" NumberOfCells="3">{body}'
                f'</Piece></UnstructuredGrid>')
        end = f'<AppendedData encoding="{self.encoding}">\n _'.encode() + self.appended + b"\n</AppendedData>"
        return head.encode() + (end if self.form == "appended" else b"") + b"</VTKFile>\n"


def all_forms():
    for order in "<>":
        yield {"form": "ascii", "order": order}
        for header in ("u4", "u8"):
            for packed in (False, True):
                for apart in (False, True):
                    yield {"form": "binary", "order": order, "header": header, "packed": packed, "apart": apart}
                    yield {"form": "appended", "encoding": "base64", "order": order, "header": header, "packed": packed,
                           "apart": apart, "wide": "i4"}
                yield {"form": "appended", "order": order, "header": header, "packed": packed, "wide": "u4"}


class Forms(unittest.TestCase):
    def test_all(self):
        for form in all_forms():
            with self.subTest(**form):
                grid = vtu.read(write("form.vtu", Form(**form).file()))
                self.assertEqual(grid.points.shape, (6, 3))
                self.assertEqual(grid.points[5].tolist(), [2, 1, 0])
                self.assertEqual(grid.connectivity.tolist(), [0, 1, 2, 0, 2, 3, 1, 4, 5, 2])
                self.assertEqual(grid.offsets.tolist(), [0, 3, 6, 10])
                self.assertEqual(grid.types.tolist(), [5, 5, 9])
                self.assertEqual(grid.point_fields["u"].values().tolist(), [[1], [2], [3], [4], [5], [6]])
                self.assertEqual(grid.point_fields["v"].values().tolist(), grid.points.tolist())
                self.assertEqual(grid.cell_fields["part"].values().tolist(), [[7], [8], [9]])
                self.assertEqual(grid.active, ["u"])

    def test_pieces(self):
        """Of a PVTU file, which names them relative to itself; an empty one says nothing about fields."""
        os.makedirs(path_of("parts"), exist_ok=True)
        write("parts/a.vtu", Form("appended", packed=True).file())
        write("parts/b.vtu", Form().file(u=(11, 12, 13, 14, 15, 16)))
        pieces = "".join(f'<Piece Source="parts/{name}"/>' for name in ("a.vtu", "empty.vtu", "b.vtu"))
        index = ('<VTKFile type="PUnstructuredGrid"><PUnstructuredGrid GhostLevel="0"><PCellData Scalars="part"/>'
                 f'<PPointData Vectors="v"/>{pieces}</PUnstructuredGrid></VTKFile>').encode()
        with open(path_of("empty_2.vtu"), "rb") as file:
            write("parts/empty.vtu", file.read())
        grid = vtu.read(write("all.pvtu", index))
        self.assertEqual(grid.point_fields["u"].values().ravel().tolist(), [1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16])
        self.assertEqual(grid.connectivity[10:].tolist(), [6, 7, 8, 6, 8, 9, 7, 10, 11, 8])
        self.assertEqual(grid.offsets.tolist(), [0, 3, 6, 10, 13, 16, 20])
        self.assertEqual(grid.active, ["v", "part"])
        for wrong in (index.replace(b"b.vtu", b"c.vtu"), index.replace(b"parts/b.vtu", b"all.pvtu"),
                      index.replace(b'Source="parts/b.vtu"', b"")):
            self.assertRaises(vtu.Refused, vtu.read, write("all.pvtu", wrong))

    def test_information_keys(self):
        """ParaView describes arrays by elements inside them."""
        key = b'<InformationKey name="L2_NORM_RANGE" length="2"><Value index="0">0</Value></InformationKey></DataArray>'
        grid = vtu.read(write("keys.vtu", Form().file().replace(b"</DataArray>", key)))
        self.assertEqual(grid.point_fields["u"].values().ravel().tolist(), [1, 2, 3, 4, 5, 6])

    def test_vtk(self):
        """Everything that VTK's writer makes of the files of write_vtu, and those files themselves, old and new order
        of the nodes of hexes."""
        try:
            from vtkmodules.util.numpy_support import vtk_to_numpy
            from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader, vtkXMLUnstructuredGridWriter
        except ImportError as missing:
            self.skipTest(f"VTK for Python is not installed ({missing}); Debian: python3-vtk9")

        def compare(path, theirs):
            ours = vtu.read(path)
            self.assertTrue(np.array_equal(ours.points, vtk_to_numpy(theirs.GetPoints().GetData())))
            self.assertTrue(np.array_equal(ours.connectivity, vtk_to_numpy(theirs.GetCells().GetConnectivityArray())))
            self.assertTrue(np.array_equal(ours.offsets, vtk_to_numpy(theirs.GetCells().GetOffsetsArray())))
            self.assertTrue(np.array_equal(ours.types, vtk_to_numpy(theirs.GetCellTypesArray())))
            for fields, data in ((ours.point_fields, theirs.GetPointData()), (ours.cell_fields, theirs.GetCellData())):
                self.assertEqual(len(fields), data.GetNumberOfArrays())
                for name, field in fields.items():
                    array = vtk_to_numpy(data.GetArray(name))
                    self.assertTrue(np.array_equal(field.values(), array.reshape(len(array), -1)))
            self.assertEqual(ours.active[0], theirs.GetPointData().GetScalars().GetName())

        def read_theirs(path):
            reader = vtkXMLUnstructuredGridReader()
            reader.SetFileName(path)
            reader.Update()
            return reader.GetOutput()

        for path in sorted(glob.glob(path_of("*_[1-9].vtu")) + glob.glob(path_of("*_10.vtu"))):
            name = os.path.basename(path)
            if name.startswith("empty"):
                continue
            grid = read_theirs(path)
            compare(path, grid)
            if not re.match("hex_[234]|tet_3|mixed_2|many_10", name):
                continue
            grid.GetCellData().GetArray(0).SetName("number")  # VTK's writer does not escape the name that it has
            for mode in range(3):
                for compressed in (True, False):
                    for bits in (32, 64):
                        for encoded in (True, False):
                            writer = vtkXMLUnstructuredGridWriter()
                            writer.SetFileName(path_of("theirs"))
                            writer.SetInputData(grid)
                            writer.SetDataMode(mode)
                            writer.SetHeaderType(bits)
                            writer.SetEncodeAppendedData(encoded)
                            if not compressed:
                                writer.SetCompressorTypeToNone()
                            writer.Write()
                            compare(path_of("theirs"), read_theirs(path_of("theirs")))
        hexes = bytes_of("hex_3.vtu")
        for version in (b"0.1", b"1.0", b"2.0", b"2.1", b"2.2"):
            path = write("version.vtu", hexes.replace(b'version="1.0" byte', b'version="' + version + b'" byte'))
            compare(path, read_theirs(path))


class Damaged(unittest.TestCase):
    def refuse(self, path, *words):
        begin = time.monotonic()
        with self.assertRaises(vtu.Refused) as caught:
            grid = vtu.read(path)
            for field in (*grid.point_fields.values(), *grid.cell_fields.values()):
                field.values()
        self.assertLess(time.monotonic() - begin, 2)
        self.assertNotIn("\n", str(caught.exception))
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_no_files(self):
        os.mkfifo(path_of("pipe"))
        self.refuse(path_of("none.vtu"), "there is no file")
        self.refuse(path_of("quad_3.vtu/a"), "there is no file")
        self.refuse(DIRECTORY, "not a regular file")
        self.refuse("/dev/zero", "not a regular file")
        self.refuse(path_of("pipe"), "not a regular file")
        self.refuse(write("nothing.vtu", b""), "is empty")
        self.refuse(path_of("empty_2.vtu"), "has no cells")
        with open(path_of("sparse.vtu"), "wb") as file:
            file.truncate(1 << 40)
        self.refuse(path_of("sparse.vtu"), "XML")

    def test_xml(self):
        file = Form().file()
        for wrong, word in ((b"a\xff\x00", "XML"), (b"<a/>", "VTKFile"), (b"<?xml?>", "XML"),
                            (b'<?xml version="1.0" encoding="nonsense"?>' + file[21:], "XML"),
                            (b'<?xml version="1.0" encoding="utf-7"?>' + file[21:], "XML"),
                            (b'<!DOCTYPE a [<!ENTITY b "c">]>' + file[22:], "document type"),
                            (file[:-3], "XML"), (b"<VTKFile>" * 1000, "too many"), (b'<VTKFile type="PolyData"/>', "PolyData"),
                            (b'<VTKFile type="UnstructuredGrid"/>', "UnstructuredGrid"),
                            (file.replace(b"NumberOfPoints", b"Points"), "NumberOfPoints"),
                            (file.replace(b'NumberOfCells="3"', b'NumberOfCells="-3"'), "NumberOfCells"),
                            (file.replace(b'="connectivity"', b'="c"'), "connectivity"),
                            (file.replace(b"<Points>", b"<P>").replace(b"</Points>", b"</P>"), "Points"),
                            (file.replace(b"<Cells>", b"<Cells/><Cells>"), "Cells"),
                            (file.replace(b"Float32", b"Float16"), "Float16"),
                            (file.replace(b"ascii", b"asciii"), "asciii"),
                            (file.replace(b"ascii", b"appended"), "appended"),
                            (file.replace(b"LittleEndian", b"little"), "byte_order"),
                            (file.replace(b"UInt32", b"UInt3"), "header_type"),
                            (file.replace(b'version="0.1"', b'version="x"'), "version")):
            with self.subTest(word=word):
                self.refuse(write("wrong.vtu", wrong), word)

    def test_unsupported(self):
        file = Form("appended", packed=True).file()
        for name in (b"vtkLZ4DataCompressor", b"vtkLZMADataCompressor"):
            self.refuse(write("wrong.vtu", file.replace(vtu.ZLIB.encode(), name)), name.decode(), "not supported")
        degrees = Form().file().replace(b"<CellData>", b'<CellData HigherOrderDegrees="d">')
        self.refuse(write("wrong.vtu", degrees), "HigherOrderDegrees", "not supported")
        self.refuse(write("wrong.vtu", file.replace(b'"raw"', b'"hex"')), "hex", "not supported")

    def test_field_without_numbers(self):
        """Extremes of such a field would be made up."""
        path = write("nan.vtu", Form().file(u=(float("nan"),) * 6))
        with self.assertRaisesRegex(view.Wrong, "no value that is a number"):
            view.picture(view.parse([path, "--field", "u"]))

    def test_numbers(self):
        square = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (2, 0, 0)]
        for form in ({}, {"form": "binary"}, {"form": "appended"}, {"form": "appended", "packed": True}):
            for changes, word in (({"points": square + [(float("nan"), 0, 0)]}, "coordinate"),
                                  ({"points": square + [(0, float("inf"), 0)]}, "coordinate"),
                                  ({"points": square}, "instead of"), ({"u": (1, 2, 3, 4, 5)}, "instead of"),
                                  ({"connectivity": (0, 1, 2, 0, 2, 3, 1, 4, 6, 2)}, "not in the file"),
                                  ({"connectivity": (0, 1, 2, 0, 2, 3, 1, 4, -1, 2)}, "not in the file"),
                                  ({"connectivity": (0, 1, 2)}, "instead of"), ({"offsets": (3, 6)}, "instead of"),
                                  ({"offsets": (6, 3, 10)}, "grow"), ({"offsets": (-1, 3, 10)}, "grow"),
                                  ({"offsets": (3, 6, 2 ** 62)}, "instead of"),
                                  ({"n_points": 999999999999999999}, "instead of"),
                                  ({"n_points": 10 ** 30}, "NumberOfPoints")):
                with self.subTest(**form, word=word):
                    self.refuse(write("wrong.vtu", Form(**form).file(**changes)), word)
        self.refuse(write("wrong.vtu", Form().file().replace(b"1.0 2.0 3.0", b"1.0 two 3.0")), "no number")
        self.refuse(write("wrong.vtu", Form("binary").file().replace(b'"binary">\n', b'"binary">\n?')), "base64")

    def test_blocks(self):
        """A block that unpacks to more than the file says, and one that says more than it can have."""
        file = Form("appended", packed=True).file()
        at = file.index(b" _") + 2
        head = np.frombuffer(file[at:at + 12], "<u4")
        self.assertEqual(head[1:].tolist(), [16, 0])
        for n_blocks, block, last in ((head[0], 1 << 30, 0), (1 << 31, 16, 0), (head[0], 8, 0), (head[0], 0, 0),
                                      (0, 0, 0), (1, 48, 0), (6, 8, 0)):
            wrong = file[:at] + np.array([n_blocks, block, last], "<u4").tobytes() + file[at + 12:]
            self.refuse(write("wrong.vtu", wrong))
        bomb = zlib.compress(bytes(1 << 26))
        head = f'<VTKFile type="UnstructuredGrid" compressor="{vtu.ZLIB}"><UnstructuredGrid><Piece NumberOfPoints="1" '
        arrays = '<Points><DataArray type="Float64" NumberOfComponents="3" format="appended" offset="0"/></Points>'
        types = "".join(f'<DataArray type="Int8" Name="{name}"/>' for name in ("connectivity", "offsets", "types"))
        text = (f'{head}NumberOfCells="0">{arrays}<Cells>{types}</Cells></Piece></UnstructuredGrid>'
                '<AppendedData encoding="raw">_').encode()
        size = np.array([1, 24, 0, len(bomb)], "<u4").tobytes()
        path = write("bomb.vtu", text + size + bomb + b"</AppendedData></VTKFile>")
        with self.assertRaises(vtu.Refused):
            piece, = vtu.vtu_pieces(vtu.File(path))
            piece.points()

    def test_cut(self):
        """At every length the file is refused."""
        for name in ("quad_2.vtu", "mixed_1.vtu"):
            whole = bytes_of(name)
            for n in range(0, len(whole) - 12, 7):
                self.refuse(write("cut.vtu", whole[:n]))


class Random(unittest.TestCase):
    def changed(self, whole, chance):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 2, 8))):
            at = chance.randrange(len(data))
            what = chance.randrange(5)
            if what == 0:
                data[at] ^= 1 << chance.randrange(8)
            elif what == 1:
                data[at] = chance.randrange(256)
            elif what == 2:
                del data[at:at + chance.randrange(1, 40)]
            elif what == 3:
                data[at:at] = data[max(0, at - chance.randrange(1, 60)):at]
            else:
                data[at:at + 1] = chance.choice((b"0", b"9999999999", b"-1", b"nan", b"<", b'"', b"\0" * 8, b"\xff" * 8))
            if not data:
                return b""
        return bytes(data)

    def forms(self):
        yield from (bytes_of(name) for name in ("quad_2.vtu", "hex_2.vtu", "mixed_1.vtu"))
        yield from (Form(**form).file() for form in ({}, {"form": "binary", "packed": True}, {"form": "appended"},
                                                     {"form": "appended", "encoding": "base64"}))

    def test_reader(self):
        """Nothing but Refused may come out."""
        chance, n_refused = random.Random(1), 0
        forms = list(self.forms())
        for i in range(CHANGES):
            path = write("random.vtu", self.changed(forms[i % len(forms)], chance))
            try:
                grid = vtu.read(path)
                for field in (*grid.point_fields.values(), *grid.cell_fields.values()):
                    field.values()
            except vtu.Refused as refused:
                n_refused += 1
                self.assertNotIn("\n", str(refused))
        self.assertGreater(n_refused, CHANGES // 3)

    def test_pictures(self):
        """What the reader lets pass makes a picture, or is refused."""
        chance, forms, n_drawn = random.Random(2), list(self.forms()), 0
        output = path_of("random.png")
        with np.errstate(all="ignore"):
            for i in range(PICTURES):
                path = write("random.vtu", self.changed(forms[i % len(forms)], chance))
                options = ["--size", "320x240", "--output", output] + chance.choice(([], ["--warp"], ["--map", "diverging"]))
                try:
                    view.picture(view.parse([path] + options))
                    n_drawn += 1
                except (vtu.Refused, view.Wrong):
                    pass
        self.assertGreater(n_drawn, 0)


if __name__ == "__main__":
    run_tests()
