"""Runs that write the same files at the same time, runs that are killed at random moments, and runs whose files have no
place: there must never be a torn or a missing file, and nothing beside them.

    test_files.py [PAIRS KILLS [SEED]]        FACET_PROGRAM says where the program is; default: 20 30

A pair are two runs of different cases with one name for each of their three files (VTU, CSV, JSON). A kill is a run that
gets SIGTERM, SIGINT, SIGTERM twice or SIGKILL by turns at some moment of its life, with the files of an earlier run in
place. Only SIGKILL may leave a part behind. VTU and CSV are compared with those of a quiet run byte by byte.
"""

import collections
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.environ["FACET_PROGRAM"]
SOURCE = os.environ.get("FACET_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
CASE = """mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [12, 12]}}
equation: diffusion
exact: %s
discretization: {degree: 1, postprocess: false}
output: {file: out.vtu, fields: [u, q], order: 10}
values: [{name: line, field: u, along: [[0, 0], [1, 1]], points: 2000, file: out.csv}]
"""
EXACT = {"a": "x*y", "b": "x + y*y"}
FILES = ("out.vtu", "out.csv", "out.json")
PAIRS, KILLS, SEED = 20, 30, 1
SANITIZED = "-fsanitize" in os.environ.get("CFLAGS", "")


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


class Files(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place, self.whole = place.name, {}
        for name, exact in EXACT.items():
            with open(os.path.join(self.place, name + ".yaml"), "w", encoding="utf-8") as file:
                file.write(CASE % exact)
        for name in EXACT:
            begin = time.monotonic()
            self.assertEqual(self.start(name).wait(), 0)
            self.seconds = time.monotonic() - begin
            self.whole[name] = [read(self.place, file) for file in FILES[:2]]
        self.assertNotEqual(*self.whole.values())
        self.names = sorted([*FILES, *(name + ".yaml" for name in EXACT)])

    def start(self, name, *arguments, prefix=(), **options):
        return subprocess.Popen([*prefix, PROGRAM, "solve", name + ".yaml", "--json", "out.json", "--threads", "1",
                                 *arguments], cwd=self.place, stdout=options.pop("stdout", subprocess.DEVNULL),
                                stderr=options.pop("stderr", subprocess.DEVNULL), **options)

    def check(self, message, parts=0):
        """All files are whole and of one of the cases; returns of which, by files."""
        names = os.listdir(self.place)
        left = [name for name in names if name.endswith(".part")]
        self.assertLessEqual(len(left), parts, message)
        self.assertEqual(sorted(set(names) - set(left)), self.names, message)
        for name in left:
            os.unlink(os.path.join(self.place, name))
        found = []
        for i, file in enumerate(FILES[:2]):
            data = read(self.place, file)
            owners = [name for name in EXACT if self.whole[name][i] == data]
            self.assertEqual(len(owners), 1, f"{message}: {file} is torn, {len(data)} bytes")
            found += owners
        found.append(json.loads(read(self.place, "out.json"))["case"][0])
        return found

    def test_pairs(self):
        random.seed(SEED)
        winners = collections.Counter()
        for i in range(PAIRS):
            children = [self.start(name) for name in EXACT]
            for child in children:
                self.assertEqual(child.wait(timeout=60), 0)
            winners["".join(self.check(f"pair {i}"))] += 1
        print(f"{PAIRS} pairs, files by winners: {dict(winners)}", flush=True)

    def test_kills(self):
        random.seed(SEED)
        ends, parts, changed = collections.Counter(), 0, 0
        ways = [(signal.SIGTERM,), (signal.SIGINT,), (signal.SIGTERM, signal.SIGTERM), (signal.SIGKILL,)]
        before = self.check("before")
        for i in range(KILLS):
            way = ways[i % len(ways)]
            child = self.start("ab"[i // len(ways) % 2])
            time.sleep(random.uniform(0, 1.1 * self.seconds))
            for number in way:
                if child.poll() is None:
                    child.send_signal(number)
            status = child.wait(timeout=60)
            allowed = {0, -way[0]} | ({128 + way[0]} if way[0] != signal.SIGKILL else set())
            self.assertIn(status, allowed, f"kill {i}")
            ends[status] += 1
            n = len(os.listdir(self.place))
            after = self.check(f"kill {i}", 1 if way[0] == signal.SIGKILL else 0)
            parts += n > len(self.names)
            changed += after != before
            before = after
        print(f"{KILLS} kills, exit status: {dict(ends)}; {changed} changed a file, {parts} left a part (SIGKILL)", flush=True)

    def refused(self, status, message, *arguments, name="b", **options):
        """A run that fails and leaves the files of case a."""
        self.assertEqual(self.start("a").wait(), 0)
        old = read(self.place, "out.json")
        child = self.start(name, *arguments, stderr=subprocess.PIPE, text=True, **options)
        _, said = child.communicate(timeout=60)
        self.assertEqual(child.returncode, status, said)
        self.assertIn(message, said)
        self.assertEqual(self.check(message), ["a", "a", "a"])
        self.assertEqual(read(self.place, "out.json"), old)
        return said

    @unittest.skipIf(SANITIZED, "the sanitizers write files of their own")
    def test_limits(self):
        """ulimit -f, in blocks of 1024 bytes: the VTU is too large for all of these."""
        for blocks in (0, 1, 8, 64):
            said = self.refused(3, "File too large", prefix=["bash", "-c", f'ulimit -f {blocks}; exec "$@"', "-"])
            self.assertIn("'out.vtu' is old", said)

    def test_full_disk(self):
        """A small disk of its own, where this machine lets us make one."""
        disk = os.path.join(self.place, "disk")
        script = (f'mount -t tmpfs -o size=64k none "{disk}" && echo old > disk/out.vtu && "$0" solve b.yaml --output '
                  'disk/out.vtu; echo "status $?"; ls disk; cat disk/out.vtu')
        os.mkdir(disk)
        done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "bash", "-c", script, PROGRAM],
                              cwd=self.place, capture_output=True, text=True)
        if "status" not in done.stdout or "mount:" in done.stderr:
            self.skipTest("no small disk can be mounted here")
        self.assertEqual(done.stdout.split(), ["status", "3", "out.vtu", "old"], done.stderr)
        self.assertIn("No space left", done.stderr)

    def test_closed_output(self):
        """Nobody would hear the report: known before the solve."""
        for arguments in ([], ["--json", "-"], ["--json", "-", "--quiet"]):
            self.refused(3, "cannot write to standard output", *arguments,
                         prefix=["bash", "-c", '"$@" >&-', "-"])
        self.refused(3, "cannot write to standard output: Broken pipe", "--json", "-", "--output", "/dev/null", "--set",
                     "values=[]", prefix=["bash", "-c", '"$@" | true; exit ${PIPESTATUS[0]}', "-"])

    def test_pipe_without_reader(self):
        """The first SIGTERM ends a run that waits for somebody to read."""
        os.mkfifo(os.path.join(self.place, "pipe"))
        self.names = sorted(self.names + ["pipe"])
        for output in (["--output", "pipe"], ["--json", "pipe", "--output", "/dev/null", "--set", "values=[]"]):
            child = self.start("b", *output, stderr=subprocess.PIPE, text=True)
            time.sleep(5 * self.seconds + 0.2)
            self.assertIsNone(child.poll())
            child.send_signal(signal.SIGTERM)
            _, said = child.communicate(timeout=10)
            self.assertEqual(child.returncode, 143, said)
            self.check("pipe")
        with subprocess.Popen(["cat", "pipe"], cwd=self.place, stdout=subprocess.PIPE) as cat:
            child = self.start("b", "--output", "pipe")
            self.assertEqual(cat.communicate(timeout=60)[0], self.whole["b"][0])
            self.assertEqual(child.wait(), 0)

    def test_devices(self):
        vtu = self.whole["b"][0]
        for output in ("/dev/stdout", "/dev/stderr"):
            child = self.start("b", "--output", output, "--quiet", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(child.communicate()[output.endswith("err")], vtu)
            self.assertEqual(child.returncode, 0)
        self.assertEqual(self.start("b", "--output", "/dev/null").wait(), 0)
        for name in ("-", "/dev/stdout"):  # into a file: what was there before and what comes after stays
            script = f'{{ echo before; "$0" solve b.yaml --quiet --json {name}; echo after; }} > all'
            subprocess.run(["bash", "-c", script, PROGRAM], cwd=self.place, check=True)
            all_lines = read(self.place, "all").decode()
            self.assertTrue(all_lines.startswith("before\n{") and all_lines.endswith("}\nafter\n"), all_lines[-40:])
            json.loads(all_lines[7:-6])

    def test_check_touches_nothing(self):
        """A run that is refused after its targets were looked at has changed no directory and no file."""
        folder = os.path.join(self.place, "folder")
        os.mkdir(folder)
        with open(os.path.join(folder, "old.vtu.part"), "w", encoding="utf-8") as file:
            file.write("mine")
        os.symlink("old.vtu.part", os.path.join(folder, "new.vtu.part"))
        before = os.stat(folder).st_mtime_ns
        for output in ("folder/new.vtu", "folder/old.vtu"):
            self.assertEqual(self.start("b", "--output", output, "--set", "boundary=[{on: nowhere, dirichlet: 0}]").wait(), 2)
        self.assertEqual(os.stat(folder).st_mtime_ns, before)
        self.assertEqual(self.start("b", "--output", "folder/new.vtu").wait(), 0)
        self.assertEqual(read(folder, "old.vtu.part"), b"mine")
        self.assertEqual(read(folder, "new.vtu"), self.whole["b"][0])
        longest = "folder/" + 251 * "x" + ".vtu"
        self.assertEqual(self.start("b", "--output", longest).wait(), 0)
        self.assertEqual(read(self.place, longest), self.whole["b"][0])


COUNTERS = """==PROF== some words
"ID","Kernel Name","gpu__time_duration.sum","launch__grid_size"
"","","ms",""
"0","void ladder_kernel<double, 3, 0, 3>(int)","1.5","64"
"""


class Scripts(unittest.TestCase):
    """The scripts of bench/ write their tables as the program does; ncu is played."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name
        with open(os.path.join(self.place, "ncu"), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ncat <<'end'\n{COUNTERS}end\n")
        os.chmod(os.path.join(self.place, "ncu"), 0o755)
        self.scripts = {"compare.md": ["compare.py", PROGRAM, PROGRAM, "--only", "no such case", "--output"],
                        "cui2024-gpu-profile.md": ["profile.py", PROGRAM]}

    def script(self, name, prefix=()):
        script, *arguments = self.scripts[name]
        target = os.path.join(self.place, name)
        command = [*prefix, sys.executable, os.path.join(SOURCE, "bench", script), *arguments,
                   target if script == "compare.py" else self.place]
        path = self.place + os.pathsep + os.environ["PATH"]
        return subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True), target

    def test_scripts(self):
        for name in self.scripts:
            with self.subTest(name):
                done, target = self.script(name)
                self.assertEqual(done.returncode, 0, done.stderr)
                whole = read(target)
                self.assertIn(b"| ", whole)
                os.chmod(target, 0o600)
                os.rename(target, target + ".real")
                os.symlink(name + ".real", target)
                self.script(name)
                self.assertTrue(os.path.islink(target))
                self.assertEqual((read(target), os.stat(target).st_mode & 0o777), (whole, 0o600))
                with open(target, "wb") as file:
                    file.write(b"old")
                done, _ = self.script(name, ["bash", "-c", 'ulimit -f 0; exec "$@"', "-"])
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(read(target), b"old")
        self.assertEqual([name for name in os.listdir(self.place) if name.endswith(".part")], [])


if __name__ == "__main__":
    if len(sys.argv) > 2:
        PAIRS, KILLS, SEED = int(sys.argv[1]), int(sys.argv[2]), int((sys.argv[3:] or [1])[0])
        del sys.argv[1:]
    unittest.main(verbosity=1)
