"""Machines with limits and habits of their own: memory that a control group or ulimit limits, renames that fail, and a
locale with decimal commas. FACET_PROGRAM says where the program is, FACET_RENAME where the rename of tests/rename.c."""

import errno
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_app import PROGRAM, SOURCE, Program  # noqa: E402

SMALL = """mesh: {box: {lower: [0, 0], upper: [1.5, 1], cells: [4, 4]}}
equation: diffusion
exact: 0.25*x + 1.5*y*y
output: {file: out.vtu}
values: [{name: line, field: u, along: [[0.1, 0.2], [1.25, 0.75]], points: 5, file: out.csv}]
"""
LARGE = """mesh: {box: {lower: [0, 0, 0], upper: [1, 1, 1], cells: [24, 24, 24], shape: tet}}
equation: diffusion
exact: x
discretization: {degree: 4}
output: {file: out.vtu}
"""
SANITIZED = "-fsanitize" in os.environ.get("CFLAGS", "")
GROUPS = "/sys/fs/cgroup/memory"


class Limits(Program):
    def solve(self, text, *prefix, **options):
        with open(self.path("case.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        return subprocess.run([*prefix, PROGRAM, "solve", "case.yaml", "--json", "out.json", "--threads", "1"],
                              cwd=self.place.name, capture_output=True, text=True, **options)

    def names(self):
        return sorted(os.listdir(self.place.name))

    def read(self, *names):
        found = {}
        for name in names or self.names():
            with open(self.path(name), "rb") as file:
                found[name] = file.read()
        return found

    def ends_with_a_sentence(self, done):
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, r"facet: .*memory")
        self.assertEqual(self.names(), ["case.yaml"])

    @unittest.skipIf(SANITIZED, "the sanitizers map more than any such limit")
    def test_address_space(self):
        self.ends_with_a_sentence(self.solve(LARGE, "bash", "-c", 'ulimit -v 1500000; exec "$@"', "-"))

    @unittest.skipIf(SANITIZED, "the sanitizers take memory of their own")
    def test_control_group(self):
        """The limit of a group is known before the memory is taken: no run is killed."""
        group = os.path.join(GROUPS, f"facet-test-{os.getpid()}")
        try:
            os.mkdir(group)
        except OSError as error:
            self.skipTest(f"no control group can be made here: {error.strerror}")
        self.addCleanup(os.rmdir, group)
        with open(os.path.join(group, "memory.limit_in_bytes"), "w", encoding="utf-8") as file:
            file.write(str(600 << 20))
        enter = ["bash", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "-"]
        self.ends_with_a_sentence(self.solve(LARGE, *enter))
        self.assertEqual(self.solve(SMALL, *enter).returncode, 0)

    @unittest.skipUnless(os.environ.get("FACET_RENAME"), "a program with sanitizers loads nothing before itself")
    def test_rename_fails(self):
        """What was there stays, and no part lies beside it."""
        self.assertEqual(self.solve(SMALL).returncode, 0)
        before = self.read()
        for number in (errno.EIO, errno.EACCES, errno.EXDEV, errno.ENOSPC):
            with self.subTest(errno.errorcode[number]):
                done = self.solve(SMALL, env={**os.environ, "LD_PRELOAD": os.environ["FACET_RENAME"],
                                              "FACET_RENAME_ERRNO": str(number)})
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(os.strerror(number), done.stderr)
                self.assertEqual(self.read(), before)

    def test_target_is_a_directory(self):
        os.mkdir(self.path("out.vtu"))
        done = self.solve(SMALL)
        self.assertIn(done.returncode, (2, 3), done.stderr)
        self.assertIn("out.vtu", done.stderr)
        self.assertEqual([name for name in self.names() if name.endswith(".part")], [])

    def test_decimal_commas(self):
        """Files and reports have points, whatever the locale says; the Python package too."""
        place = self.path("locales")
        os.mkdir(place)
        made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(place, "de_DE.UTF-8")],
                              capture_output=True, text=True) if os.path.exists("/usr/bin/localedef") else None
        if made is None or made.returncode > 1:  # 1: with warnings
            self.skipTest("no locale can be made here")
        comma = {**os.environ, "LOCPATH": place, "LC_ALL": "de_DE.UTF-8"}
        said, files = [], []
        for environment in (os.environ, comma):
            done = self.solve(SMALL, env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            said.append([line for line in done.stdout.split("\n") if "x^" in line or "errors" in line])
            files.append(self.read("out.vtu", "out.csv"))
            with open(self.path("out.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file)["mesh"]["cells"], 32)
        self.assertEqual(said[0], said[1])
        self.assertEqual(files[0], files[1])
        if not os.environ.get("FACET_LIBRARY") or SANITIZED:
            return
        script = ("import locale; locale.setlocale(locale.LC_ALL, ''); assert locale.str(1.5) == '1,5'\n"
                  "import facet; u = facet.Diffusion(facet.box([0, 0], [1, 1], [2, 2]), source='0.5*x')"
                  ".dirichlet('rest', '1.25*x').solve(degree=2); print(float(u([0.5, 0.25])))\n")
        package = os.path.join(SOURCE, "python")
        for environment in ({**os.environ, "LC_ALL": "C"}, comma):
            run = script if environment is comma else script.split("\n", 1)[1]
            done = subprocess.run([sys.executable, "-c", run], cwd=self.place.name, capture_output=True, text=True,
                                  env={**environment, "PYTHONPATH": package})
            if "No module named 'numpy'" in done.stderr:
                return
            self.assertEqual(done.returncode, 0, done.stderr)
            said.append(done.stdout)
        self.assertEqual(said[2], said[3])
        self.assertIn(".", said[3])


if __name__ == "__main__":
    unittest.main()
