"""What test_vtu.py, test_view.py and test_view_files.py share: they read the files of tests/write_vtu.c."""
import os
import subprocess
import sys
import tempfile
import unittest


def run_tests():
    """Runs the tests of the script that is under way, whose DIRECTORY has the files; an argument names write_vtu."""
    if len(sys.argv) > 1:
        program = sys.argv.pop()
    else:
        program = os.path.join(os.environ.get("FACET_BUILD_DIR", "build"), "tests", "write_vtu")
    with tempfile.TemporaryDirectory() as sys.modules["__main__"].DIRECTORY:
        subprocess.run([program, sys.modules["__main__"].DIRECTORY], check=True)
        unittest.main(verbosity=1)
