"""facet-mpi as a program: how it shares meshes out, the one file that all ranks write, and how it ends when one rank
fails. FACET_PROGRAM and FACET_MPI_PROGRAM say where the programs are; test_mpi_solve.py is about the numbers."""

import glob
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program"))
from mpi_ranks import ENVIRONMENT, MPI, RUNNER  # noqa: E402
from test_app import SOURCE, Program  # noqa: E402
from test_mpi_solve import SAME  # noqa: E402

try:
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader
    import vtkmodules.vtkRenderingCore  # noqa: F401
except ImportError:
    vtkXMLUnstructuredGridReader = None

CASE = """mesh: {box: {lower: [0, 0], upper: [2, 1], cells: [8, 4], shape: triangle}}
equation: diffusion
exact: sin(x)*cos(2*y)
discretization: {degree: 2}
solver: {rtol: 1.0e-12, method: cg, preconditioner: pmg}
values: [{name: line, field: u, along: [[0, 0.3], [2, 0.6]], points: 7, file: line.csv}]
output: {file: out.vtu, fields: [u, q, cell]}
"""


@unittest.skipUnless(MPI, "facet-mpi was not built")
class Mpi(Program):
    def mpi(self, n, *arguments, status=0, seconds=30):
        run = subprocess.run([*RUNNER, "-n", str(n), MPI, *arguments], cwd=self.place.name, env=ENVIRONMENT,
                             capture_output=True, text=True, timeout=seconds)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run

    def messages(self, run):
        """What facet-mpi itself said on standard error."""
        return [line for line in run.stderr.splitlines() if line.startswith("facet-mpi: ")]

    def one_message(self, run, *words):
        lines = self.messages(run)
        self.assertEqual(len(lines), 1, run.stderr)
        for word in words:
            self.assertIn(word, lines[0])


class Check(Mpi):
    def test_counts(self):
        """The same mesh as in a serial run, whatever the number of ranks: curved, and with all shapes."""
        for case, n in (("annulus", 3), ("transition", 5)):
            path = os.path.join(SOURCE, "examples", case + ".yaml")
            one = self.run_program("check", path).stdout
            many = self.mpi(n, "check", path).stdout
            for title in ("mesh", "geometry", "quality", "unknowns"):
                wanted = re.search(rf"^{title}.*\n(?: .*\n)*", one, re.M).group()
                self.assertIn(wanted, many)
            for line in re.findall(r"^(?:parts|regions)?  +\w+ +\d+ (?:faces|cells).*$", one, re.M):
                self.assertIn(line.split(None, 1)[1] if not line.startswith(" ") else line.strip(), many)
            self.assertIn(f"parts     {n} ranks", many)

    def test_few_cells(self):
        """More ranks than cells: the others have nothing to do, also in a solve."""
        self.write(CASE.replace("[8, 4]", "[2, 1]").replace("triangle", "quad"))
        self.assertIn("2 ranks without cells", self.mpi(4, "check", "case.yaml").stdout)
        self.mpi(4, "solve", "case.yaml", "--json", "out.json")
        self.assertEqual(json.loads(self.read("out.json"))["parts"]["count"], 2)


class Names(Mpi):
    def test_names(self):
        """It tells which libraries it has, and calls itself by its own name."""
        info = self.mpi(1, "info").stdout
        for library in ("MPI", "PETSc", "METIS"):
            self.assertRegex(info, rf"(?m)^{library} +\d+\.\d")
        self.one_message(self.mpi(1, "slove", status=2), "'facet-mpi solve'")


class Output(Mpi):
    def read_grid(self, name):
        reader = vtkXMLUnstructuredGridReader()
        reader.SetFileName(self.path(name))
        reader.Update()
        return reader.GetOutput()

    def sorted_values(self, grid):
        """Of each cell its corners and values, in the order of the cells of a serial run."""
        cells = vtk_to_numpy(grid.GetCellData().GetArray("cell")).astype(int)
        n = grid.GetCell(0).GetNumberOfPoints()
        rows = {}
        for i, cell in enumerate(cells):
            ids = [grid.GetCell(i).GetPointId(k) for k in range(n)]
            rows[int(cell)] = [vtk_to_numpy(a)[ids] for a in
                               (grid.GetPoints().GetData(), grid.GetPointData().GetArray("u"),
                                grid.GetPointData().GetArray("q"))]
        return rows

    @unittest.skipUnless(vtkXMLUnstructuredGridReader, "VTK's Python reader is not installed")
    def test_one_file(self):
        """What VTK reads is what a serial run writes, cell by cell."""
        self.write(CASE)
        self.mpi(3, "solve", "case.yaml", "--output", "many.vtu", "--json", "many.json", "--quiet")
        many_line = self.read("line.csv")
        self.run_program("solve", "case.yaml", "--output", "one.vtu", "--quiet")
        one, many = (self.sorted_values(self.read_grid(name)) for name in ("one.vtu", "many.vtu"))
        self.assertEqual(set(one), set(many))
        for cell, values in one.items():
            for a, b in zip(values, many[cell]):
                self.assertLess(abs(a - b).max(), SAME)
        for a, b in zip(re.split("[,\n]", self.read("line.csv")), re.split("[,\n]", many_line)):
            if re.match("[-0-9]", a):
                self.assertAlmostEqual(float(a), float(b), delta=SAME)
            else:
                self.assertEqual(a, b)
        out = json.loads(self.read("many.json"))
        self.assertEqual(out["ranks"], 3)
        self.assertEqual(out["parts"]["cells"]["mean"] * 3, out["mesh"]["cells"])
        self.assertLessEqual(out["parts"]["seconds"]["total"]["least"], out["parts"]["seconds"]["total"]["most"])


class Failure(Mpi):
    def differ(self, one, other):
        return subprocess.run([*RUNNER, "-n", "2", MPI, *one, ":", "-n", "1", MPI, *other], cwd=self.place.name,
                              env=ENVIRONMENT, capture_output=True, text=True, timeout=30)

    def test_other_options(self):
        """A rank that was started with another command line is named; it may have other threads."""
        solve = ("solve", self.write(CASE), "--quiet")
        for other, here, there in (
                ((*solve, "--set", "discretization.degree=3"), "none of them", "--set discretization.degree=3"),
                (("solve", "other.yaml", "--quiet"), "case.yaml --quiet", "other.yaml --quiet"),
                (("check", "case.yaml"), "solve case.yaml --quiet", "check case.yaml"), ((), "solve case.yaml", "none of them")):
            done = self.differ(solve, other)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.one_message(done, f"rank 2 was started with other options: {there}", f"where rank 0 has {here}")
        for threads in (("--threads", "1"), ("--threads=1",)):
            self.assertEqual(self.differ(solve, (*solve, *threads)).returncode, 0)

    def test_input(self):
        self.write(CASE + "sorce: 1\n")
        self.one_message(self.mpi(3, "solve", "case.yaml", status=2), "sorce", "source")
        self.one_message(self.mpi(3, "solve", "none.yaml", status=2), "rank 0: ", "none.yaml")
        self.write("mesh: {file: none.msh}\nequation: diffusion\nexact: x\n")
        self.write("$MeshFormat\n4.1 0 8\n", "none.msh")
        self.one_message(self.mpi(3, "solve", "case.yaml", status=2), "rank 0: ", "none.msh")

    def test_files(self):
        self.write(CASE)
        self.one_message(self.mpi(3, "solve", "case.yaml", "--output", "no/where.vtu", status=3), "rank 0: ", "no/where.vtu")
        self.assertEqual(glob.glob(self.path("*.part")), [])

    def test_full_disk(self):
        """MPI-IO does not notice: the room is reserved before. The old file stays, and of pieces all or none."""
        disk = self.path("disk")
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", disk], capture_output=True).returncode != 0:
            self.skipTest("a disk that is soon full takes the right to mount one")
        try:
            self.write(CASE.replace("file: line.csv", "").replace("out.vtu", "disk/out.vtu").replace("[8, 4]", "[24, 16]"))
            self.write("old", "disk/out.vtu")
            for n, pieces in ((1, "1"), (3, "1"), (3, "3")):
                run = self.mpi(n, "solve", "case.yaml", "--quiet", "--set", "output.pieces=" + pieces, status=3)
                self.assertIn("': No space left on device\n" , run.stderr)
                self.assertEqual(run.stderr.count("No space left"), 1, run.stderr)
                self.assertEqual(os.listdir(disk), ["out.vtu"])
                self.assertEqual(self.read("disk/out.vtu"), "old")
        finally:
            subprocess.run(["umount", disk], check=True)

    def test_limit(self):
        """Of all ranks, and of one that is not the first."""
        self.write(CASE.replace("file: line.csv", ""))
        limited = ["sh", "-c", 'ulimit -f 16; exec "$0" solve case.yaml --quiet', MPI]
        for n, first in ((2, limited), (1, [MPI, "solve", "case.yaml", "--quiet"])):
            run = subprocess.run([*RUNNER, "-n", "1", *first, ":", "-n", str(n), *limited], cwd=self.place.name,
                                 env=ENVIRONMENT, capture_output=True, text=True, timeout=30)
            self.assertEqual(run.returncode, 3, run.stderr)
            self.one_message(run, f"rank {2 - n}: cannot write 'out.vtu': File too large")
            self.assertEqual(os.listdir(self.place.name), ["case.yaml"])

    def test_folders_that_differ(self):
        """As on hosts without a common disk: nobody waits for the rank that does not see the file."""
        self.write(CASE.replace("file: line.csv", ""))
        os.makedirs(self.path("a/out"))
        os.mkdir(self.path("b"))
        command = [MPI, "solve", "../case.yaml", "--output", "out/out.vtu", "--quiet"]
        run = subprocess.run([*RUNNER, "-n", "1", "--wdir", self.path("a"), *command, ":", "-n", "1", "--wdir",
                              self.path("b"), *command], env=ENVIRONMENT, capture_output=True, text=True, timeout=30)
        self.assertEqual(run.returncode, 3, run.stderr)
        self.one_message(run, "facet-mpi: rank 1, on ", "does not see the file", "'out/out.vtu'", "share")
        self.assertEqual(os.listdir(self.path("a/out")), [])

    def test_a_function_of_one_part(self):
        """Data that are wrong in the cells of one rank alone."""
        self.write(CASE.replace("exact: sin(x)*cos(2*y)", "source: sqrt(1.9 - x)\nboundary: [{on: rest, dirichlet: 0}]"))
        self.one_message(self.mpi(4, "solve", "case.yaml", status=2), "rank ", "source")

    def stop_one(self, begun_with):
        """One rank is asked to stop, a second after all have begun, or once a line has this beginning: all do, soon, and
        leave the old file."""
        self.write("old", "out.vtu")
        run = subprocess.Popen([*RUNNER, "-n", "3", MPI, "solve", "case.yaml"], cwd=self.place.name, env=ENVIRONMENT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ranks, begun = [], time.time()
        while len(ranks) < 3 and time.time() - begun < 10.0:
            ranks = subprocess.run(["pgrep", "-P", str(run.pid)], capture_output=True, text=True).stdout.split()
        self.assertEqual(len(ranks), 3)
        if begun_with is None:
            time.sleep(1.0)
        while begun_with is not None and not run.stdout.readline().lstrip().startswith(begun_with):
            self.assertIsNone(run.poll())
        os.kill(int(ranks[1]), signal.SIGTERM)
        begun = time.time()
        error = run.communicate(timeout=20)[1]
        self.assertLess(time.time() - begun, 10.0)
        self.assertEqual(run.returncode, 128 + signal.SIGTERM, error)
        self.assertIn("facet-mpi: interrupted", error)
        self.assertEqual(self.read("out.vtu"), "old")
        self.assertEqual(glob.glob(self.path("*.part")), [])

    def test_signals(self):
        self.write(CASE.replace("[8, 4]", "[768, 512]").replace("degree: 2", "degree: 4"))
        self.stop_one(None)

    def test_signals_inside_petsc(self):
        """An iteration of PETSc that has no end."""
        self.write(CASE.replace("method: cg, preconditioner: pmg", "method: petsc, max_iterations: 1000000000, petsc: "
                                "'-ksp_type richardson -ksp_richardson_scale 1e-9 -pc_type none -ksp_monitor'"))
        self.stop_one("1 KSP Residual norm")


if __name__ == "__main__":
    unittest.main()
