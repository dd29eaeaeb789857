"""Makes pictures of the files of tests/io/write_vtu.c with tools/view.py and looks at their pixels. Usage: test_view.py
[WRITE_VTU], by default tests/write_vtu in FACET_BUILD_DIR. Exit status 77: NumPy is not here, nothing was tested."""

import collections
import os
import struct
import subprocess
import sys
import unittest
import zlib

from written import run_tests

VIEW = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "view.py")


def view(*arguments):
    return subprocess.run([sys.executable, VIEW, *arguments], capture_output=True, text=True)


def read_png(path):
    """Width, height, rows of (r, g, b); the files of view.py have no filters."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        if kind == b"IDAT":
            packed += body
        at += 12 + length
    raw = zlib.decompress(packed)
    stride = 1 + 3 * width
    rows = [[tuple(raw[r * stride + 1 + 3 * c:r * stride + 4 + 3 * c]) for c in range(width)] for r in range(height)]
    return width, height, rows


class Pictures(unittest.TestCase):
    def path(self, name):
        return os.path.join(DIRECTORY, name)

    def test_colours_follow_the_field(self):
        """The first reference coordinate grows from left to right: from dark to light in every drawn cell."""
        png = self.path("xi.png")
        done = view(self.path("quad_3.vtu"), "--field", "xi", "--component", "x", "--output", png, "--size", "600x300")
        self.assertEqual((done.returncode, done.stdout.strip()), (0, png), done.stderr)
        width, height, rows = read_png(png)
        self.assertEqual((width, height), (600, 300))
        middle = [sum(pixel) for pixel in rows[(30 + 300 - 45) // 2][:410] if pixel != (255, 255, 255)]
        self.assertGreater(len(middle), 200)
        half = len(middle) // 2
        for cell in (middle[:half], middle[half:]):
            inner = cell[8:-8]
            self.assertLess(inner[0], inner[-1] - 200)
            self.assertTrue(all(b > a - 12 for a, b in zip(inner, inner[4:])))

    def test_default_name_and_3d(self):
        for name in ("triangle_5_curved", "mixed_2", "tet_4", "hex_3_curved", "full_points_1"):
            done = view(self.path(name + ".vtu"), "--size", "400x300")
            self.assertEqual((done.returncode, done.stdout.strip()), (0, self.path(name + ".png")), done.stderr)
            _, _, rows = read_png(self.path(name + ".png"))
            coloured = sum(max(p) - min(p) > 30 for row in rows for p in row)
            self.assertGreater(coloured, 1000)

    def test_faces_are_shaded(self):
        """Three sides of a brick are seen, of one value: one colour in three shades, none of them far from the scale."""
        png = self.path("shaded.png")
        done = view(self.path("hex_1.vtu"), "--field", 'cell "number" <&>', "--output", png, "--size", "400x300")
        self.assertEqual(done.returncode, 0, done.stderr)
        _, _, rows = read_png(png)
        count = collections.Counter(pixel for row in rows for pixel in row[:220])
        sides = [p for p, n in count.most_common() if n > 300 and max(p) - min(p) > 30]
        self.assertEqual(len(sides), 6, count.most_common(12))  # of two bricks
        for brick in (sorted(p for p in sides if p[1] < 100), sorted(p for p in sides if p[1] >= 100)):
            self.assertEqual(len(brick), 3)
            for darker, lighter in zip(brick, brick[1:]):
                self.assertGreater(sum(lighter), 1.05 * sum(darker))
            self.assertGreater(sum(brick[0]), 0.6 * sum(brick[2]))
            for channel in range(3):  # the hue stays
                self.assertAlmostEqual(brick[0][channel] / sum(brick[0]), brick[2][channel] / sum(brick[2]), delta=0.01)

    def test_write(self):
        """The picture appears when it is whole, under any name, with the permissions of the old one; a file or a link
        PATH.part is left alone, a link to the picture stays, and a device is written directly."""
        quad, png, part = self.path("quad_3.vtu"), self.path("a.png"), self.path("a.png.part")
        os.symlink(self.path("precious"), part)
        os.symlink("a.png", self.path("link.png"))
        with open(self.path("precious"), "w", encoding="utf-8") as file:
            file.write("precious")
        with open(png, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o640)
        longest = self.path("b" * 251 + ".png")
        for output in (self.path("link.png"), longest, "/dev/null"):
            done = view(quad, "--output", output, "--size", "320x240")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(read_png(png)[:2], (320, 240))
        self.assertEqual(read_png(longest)[:2], (320, 240))
        self.assertEqual(os.stat(png).st_mode & 0o777, 0o640)
        self.assertTrue(os.path.islink(self.path("link.png")))
        with open(part, encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")
        os.unlink(part)
        self.assertFalse([name for name in os.listdir(DIRECTORY) if name.endswith(".part")])

    def test_warp(self):
        self.assertEqual(view(self.path("quad_3.vtu"), "--warp", "--size", "400x300").returncode, 0)
        self.assertEqual(view(self.path("quad_3.vtu"), "--field", "xi", "--warp", "0.1", "--size", "400x300").returncode, 0)

    def test_refusals(self):
        damaged = self.path("damaged.vtu")
        with open(self.path("many_10.vtu"), "rb") as whole, open(damaged, "wb") as cut:
            cut.write(whole.read()[:100000])
        quad, pipe, nothing = self.path("quad_3.vtu"), self.path("pipe"), self.path("nothing.vtu")
        os.mkfifo(pipe)
        with open(nothing, "wb"):
            pass
        for status, arguments in [
            (2, [self.path("none.vtu")]),
            (2, [os.path.abspath(__file__)]),
            (2, [damaged]),
            (2, [DIRECTORY]),
            (2, ["/dev/zero"]),
            (2, [pipe]),
            (2, [nothing]),
            (2, [self.path("empty_2.vtu")]),
            (2, [quad, "--field", "none"]),
            (2, [quad, "--field", "xi", "--component", "3"]),
            (2, [quad, "--size", "huge"]),
            (2, [quad, "--warp", "nan"]),
            (2, [quad, "--component", "\u00b2"]),
            (2, [quad, "--nonsense"]),
            (2, [quad, "--output", self.path("picture.jpg")]),
            (3, [quad, "--output", self.path("none/picture.png")]),
        ]:
            done = view(*arguments)
            self.assertEqual(done.returncode, status, arguments)
            self.assertIn("facet view", done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("unknown option '--nonsense'", view(quad, "--nonsense").stderr)
        self.assertIn("'--feild'; did you mean '--field'?", view(quad, "--feild", "u").stderr)
        self.assertIn("let its name end in .png", view(quad, "--output", "picture.jpg").stderr)

    def test_modules(self):
        """Beside NumPy nothing is loaded that does not come with Python."""
        done = subprocess.run([sys.executable, "-X", "importtime", VIEW, self.path("tet_2.vtu"), "--size", "320x240"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("numpy", done.stderr)
        for module in ("vtk", "matplotlib", "PIL"):
            self.assertNotIn(module, [line.split("|")[-1].strip().split(".")[0] for line in done.stderr.splitlines()])

    def test_letters(self):
        """Every printable letter of ASCII has strokes of its own, and leaves ink where it was put."""
        sys.path.insert(0, os.path.dirname(VIEW))
        import letters
        import numpy as np
        drawn = set()
        for code in range(33, 127):
            self.assertIn(chr(code), letters.LETTERS)
            image = np.ones((30, 30, 3))
            letters.put_text(image, chr(code), 5, 15, 13)
            self.assertGreaterEqual((image < 0.5).sum(), 3, chr(code))
            drawn.add(image.tobytes())
        self.assertGreaterEqual(len(drawn), 94 - 2)  # I, l and | may look alike
        image = np.ones((30, 30, 3))
        letters.put_text(image, "a long text with \u00e9 and \u2207 at the edge", 20, 1, 13)
        self.assertEqual(letters.text_width("\u00e9", 13), letters.text_width("e", 13))
        self.assertGreater(letters.text_width("\u2207", 13), 0)
        self.assertEqual(letters.text_width("", 13), 0)


if __name__ == "__main__":
    try:
        import numpy  # noqa: F401
    except ImportError as missing:
        print(f"skipped: NumPy is not installed ({missing}); Debian: python3-numpy")
        sys.exit(77)
    run_tests()
