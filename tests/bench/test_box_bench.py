#!/usr/bin/env python3
"""The benches on boxes with tiny sizes: they run, and their tables say what must hold at any size: solvers of one
discretization reach one error, the two forms of one method need the same iterations, ratios are those of the times."""
import functools
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["FACET_PROGRAM"]
DIRECT = ("direct, trace", "direct, volume")
OF_HDG = ("HDG-unprec", "HDG-diag", "HDG-block", "HDG-trans", "trans, our operator", "additive", "Chebyshev", "vertex stars", *DIRECT)
OF_CONDENSED = ("CCG-unprec", "CCG-diag", "CCG-block", "CCG-trans", "condensed, two levels")


@functools.lru_cache
def run(bench):
    """All tables a bench writes, by name: rows of texts by heading; and the names of all files."""
    tables = {}
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run([PROGRAM, "bench", bench, "--quick", "--output", place], capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        files = sorted(os.listdir(place))
        for name in files:
            if not name.endswith(".md"):
                continue
            with open(os.path.join(place, name)) as file:
                rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in file if line.startswith("|")]
            tables[name[:-3]] = [dict(zip(rows[0], row)) for row in rows[2:]]
    return tables, files


class Huismann2020(unittest.TestCase):
    def test_operators(self):
        tables, files = run("huismann2020-operators")
        for name in ("preparation", "runtime", "updates", "gflops", "ours", "roofline", "operators-targets"):
            self.assertIn("huismann2020-" + name, tables)
        for name in ("2a", "2b", "2c", "2d", "3"):
            self.assertIn(f"huismann2020-figure{name}.dat", files)
        for time, rate in zip(tables["huismann2020-runtime"], tables["huismann2020-updates"]):
            p = int(time["p"])
            for name in ("HDG-TP", "HDG-TPT", "CCG-MM", "CCG-TP", "CCG-TPT", "ours (HDG)", "ours (condensed)"):
                unknowns = 1e3 * float(time[name]) * float(rate[name])
                self.assertLess(abs(unknowns / (2 * (p + 1)) ** 3 - 1), 2e-3)

    def test_solvers(self):
        for bench in ("huismann2020-solvers", "huismann2020-high"):
            tables, files = run(bench)
            self.assertIn(f"{bench}-iterations.dat", files)
            self.assertIn(f"{bench}-targets", tables)
            for row in tables[f"{bench}-errors"]:
                for names in (OF_HDG, OF_CONDENSED):
                    errors = [float(row[name]) for name in names if row[name] != "-"]
                    self.assertGreaterEqual(len(errors), 2)
                    self.assertLess(max(errors), 1.01 * min(errors))
            for row in tables[f"{bench}-iterations"]:
                self.assertFalse([name for name in row if row[name].endswith("!")])
                self.assertLessEqual(abs(int(row["HDG-trans"]) - int(row["trans, our operator"])), 2)
                if row["HDG-block"] != "-":
                    self.assertLessEqual(abs(int(row["HDG-trans"]) - int(row["HDG-block"])), 4)
                self.assertLess(int(row["vertex stars"]), int(row["Chebyshev"]))
        self.assertIn("huismann2020-threads", run("huismann2020-solvers")[0])

    def test_mesh(self):
        tables, _ = run("huismann2020-mesh")
        self.assertEqual([row["n_e"] for row in tables["huismann2020-mesh-iterations"]], ["2^3", "4^3"])
        for row in tables["huismann2020-growth"]:
            self.assertLess(abs(float(row["last/first"]) - int(row["8^3"]) / int(row["4^3"])), 0.006)
            self.assertLess(int(row["8^3"]), 60)

    def test_robust(self):
        tables, _ = run("huismann2020-robust")
        self.assertEqual(sorted({row["tau"] for row in tables["huismann2020-penalty"]}), ["1", "25", "625"])
        self.assertEqual([row["aspect"] for row in tables["huismann2020-aspect"]], ["1", "10", "100"])
        for row in tables["huismann2020-contrast"]:
            self.assertGreater(int(row["additive"]), 0)


class HdgPays(unittest.TestCase):
    def test_errors(self):
        tables, files = run("hdg-pays")
        self.assertIn("hdg-pays-smooth.dat", files)
        rows = tables["hdg-pays-smooth"]
        for name in ("HDG u", "HDG u*", "condensed", "continuous"):
            errors = [float(row[name]) for row in rows]
            self.assertLess(errors[-1], 0.02 * errors[2])
        self.assertLess(float(rows[-1]["HDG u*"]), float(rows[-1]["HDG u"]))
        self.assertLess(abs(float(rows[-1]["condensed"]) / float(rows[-1]["continuous"]) - 1), 0.2)


if __name__ == "__main__":
    sys.exit(unittest.main())
