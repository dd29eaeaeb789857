"""Machines that are set up in another way: allocators that give memory back, stacks without limit, files that are no
files. FACET_PROGRAM says where the program is, FACET_UNMAP where the allocator of tests/program/unmap.c is."""

import importlib.util
import os
import resource
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_app import PROGRAM, SOURCE, Program  # noqa: E402


def unlimited_stack():
    """As clusters have it: addresses are then laid out in another order."""
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (hard, hard))


class Machines(Program):
    @unittest.skipUnless(os.environ.get("FACET_UNMAP"), "a program with sanitizers has an allocator of its own")
    def test_what_is_freed_is_not_touched(self):
        for case in ("poisson.yaml", "beam.yaml"):
            for prepare in (None, unlimited_stack):
                with self.subTest(case=case, prepare=prepare):
                    done = subprocess.run([PROGRAM, "solve", os.path.join(SOURCE, "examples", case), "--quiet"], cwd=self.place.name,
                                          env={**os.environ, "LD_PRELOAD": os.environ["FACET_UNMAP"]},
                                          preexec_fn=prepare, capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(os.environ.get("FACET_UNMAP"), "sanitizers want stacks of their own")
    def test_small_stacks(self):
        """Solved, or refused with a sentence and status 3: never a crash."""
        case = os.path.join(SOURCE, "examples", "sphere.yaml")
        for words, prefix, variables in (("ulimit -s", ["bash", "-c", 'ulimit -s 128; exec "$@"', "-"], {}),
                                         ("OMP_STACKSIZE", [], {"OMP_STACKSIZE": "64k"}),
                                         ("", ["bash", "-c", 'ulimit -s 256; exec "$@"', "-"], {}),
                                         ("", [], {"OMP_STACKSIZE": "256k"})):
            with self.subTest(words=words, variables=variables):
                done = subprocess.run([*prefix, PROGRAM, "solve", case, "--quiet"], cwd=self.place.name,
                                      env={**os.environ, **variables}, capture_output=True, text=True)
                self.assertEqual(done.returncode, 3 if words else 0, done.stderr)
                self.assertIn(words, done.stderr)

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "the Python package needs NumPy")
    def test_small_stacks_of_callers(self):
        """The library says so as well, to a caller in Python or in C."""
        script = ("import facet, threading\n"
                  "def make():\n"
                  "    try: facet.Context()\n"
                  "    except facet.Error as error: print(error)\n"
                  "threading.stack_size(131072)\n"
                  "thread = threading.Thread(target=make); thread.start(); thread.join()\n")
        for words, variables in (("OMP_STACKSIZE", {"OMP_STACKSIZE": "64k"}), ("the calling thread", {})):
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": os.path.join(SOURCE, "python"), **variables})
            self.assertIn(words, done.stdout, done.stderr)

    def test_devices_and_pipes_are_no_files(self):
        """Refused at once: neither read without end nor waited for."""
        os.mkfifo(self.path("pipe"))
        for name, what in (("/dev/zero", "a device"), (self.path("pipe"), "a pipe"), (self.path("."), "a directory")):
            with self.subTest(what):
                self.assertIn(f"it is {what}, not a file", self.run_program("check", name, status=2).stderr)
                self.refused(f"mesh: {{file: {name}}}\nequation: diffusion\nexact: x\n", f"is {what}, not a file")

    def test_size_of_a_case(self):
        with open(self.path("large.yaml"), "wb") as file:
            file.truncate(100 << 20)
        self.assertIn("no case is larger", self.run_program("solve", "large.yaml", status=2).stderr)


if __name__ == "__main__":
    unittest.main()
