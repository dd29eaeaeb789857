"""Every notebook runs from its first line to its last, in a directory where it may write."""
import contextlib
import glob
import io
import os
import runpy
import tempfile
import unittest

ROOT = os.environ["FACET_SOURCE_DIR"]


class Notebooks(unittest.TestCase):
    def test_all(self):
        os.environ["MPLBACKEND"] = "Agg"
        paths = sorted(glob.glob(os.path.join(ROOT, "python", "notebooks", "*.py")))
        self.assertGreaterEqual(len(paths), 5)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        for path in paths:
            said = io.StringIO()
            with self.subTest(os.path.basename(path)), tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                with contextlib.redirect_stdout(said):
                    runpy.run_path(path, run_name="__main__")
                os.chdir(before)
            for line in said.getvalue().splitlines():
                if line.startswith("SKIPPED"):
                    print(f"{os.path.basename(path)}: {line} ", end="", flush=True)


if __name__ == "__main__":
    unittest.main()
