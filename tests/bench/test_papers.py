#!/usr/bin/env python3
"""The papers' tables as regressions: what `facet bench` prints is parsed and held against the printed digits, and the columns
that are ours must change when tau does."""
import functools
import math
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["FACET_PROGRAM"]


@functools.lru_cache
def run(bench, *options):
    """All tables a bench writes, by name: rows of texts."""
    tables = {}
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run([PROGRAM, "bench", bench, "--quick", "--output", place, *options], capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        for name in os.listdir(place):
            if not name.endswith(".md"):
                continue
            with open(os.path.join(place, name)) as file:
                rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in file if line.startswith("|")]
            tables[name[:-3]] = rows[2:]
    return tables


def table(name, *options):
    bench = name.split("-")[0]
    return run(bench if bench == "king2014" else bench + "-accuracy", *options)[name]


def agrees(ours, paper, digits, rounding=0.0):
    """Equal in so many digits, up to what rounding of either may change."""
    unit = 10.0 ** (math.floor(math.log10(abs(paper))) - digits + 1)
    return abs(ours - paper) <= 0.51 * unit + rounding


class King2014(unittest.TestCase):
    """Table 1: P, Linf paper, its way, true, L2 paper, its way, true, ..."""

    def test_printed_digits(self):
        rows = table("king2014-table1")
        for row in rows[:4]:
            P, values = int(row[0]), [float(v) for v in row[1:7]]
            if P <= 2:
                self.assertTrue(agrees(values[1], values[0], 6), row)
            if P <= 3:
                self.assertTrue(agrees(values[4], values[3], 6 if P < 3 else 5), row)
            self.assertLess(abs(values[4] / values[3] - 1), 1e-3, row)
        for row, true in zip(rows, (3.8442e-3, 7.8375e-5, 1.3087e-6)):
            self.assertTrue(agrees(float(row[6]), true, 5), row)

    def test_tau_changes_our_columns(self):
        for with_one, with_two in zip(table("king2014-table1"), table("king2014-table1", "--tau", "2")):
            for column in (2, 3, 5, 6):
                self.assertNotEqual(with_one[column], with_two[column])
            for column in (1, 4):
                self.assertEqual(with_one[column], with_two[column])


class Fabien2017(unittest.TestCase):
    """Table 1: p, N, then paper, ours, true for u, u*, q, q*."""

    def test_printed_digits(self):
        for row in table("fabien2017-table1"):
            for k in range(4):
                paper, ours = float(row[2 + 3 * k]), float(row[3 + 3 * k])
                self.assertTrue(agrees(ours, paper, 3, rounding=1e-15 if paper < 1e-13 else 0.0), row)

    def test_orders_of_the_problem_as_written(self):
        rows = [row for row in table("fabien2017-variable") if row[1] == "32"]
        self.assertGreaterEqual(len(rows), 3)
        for row in rows:
            p = int(row[0])
            for column, order in ((3, p + 1), (5, p + 2), (7, p + 1), (9, p + 1)):
                self.assertGreater(float(row[column]), order - 0.2, row)

    def test_tau_changes_our_columns(self):
        for with_one, with_two in zip(table("fabien2017-table1"), table("fabien2017-table1", "--tau", "3")):
            self.assertNotEqual(with_one[3], with_two[3])
            self.assertEqual(with_one[2], with_two[2])


class Fabien2019(unittest.TestCase):
    """Tables 1 to 3: k, lambda, tets, then paper, ours, true for H, u, epsilon p, trace, u*."""

    def test_printed_digits(self):
        for number, digits, n_rows in ((1, 5, 10), (2, 3, 6), (3, 3, 6)):
            rows = table(f"fabien2019-table{number}")
            self.assertEqual(len(rows), n_rows)
            for row in rows:
                for column in range(3, 18, 3):
                    self.assertTrue(agrees(float(row[column + 1]), float(row[column]), digits), row)

    def test_no_locking(self):
        """In true norms: what lambda does to the errors of H, u and u* is nothing."""
        for number in (2, 3):
            rows = [[float(cell) for cell in row] for row in table(f"fabien2019-table{number}")]
            for row in rows[2:]:
                compressible = rows[0] if row[2] == 48 else rows[1]
                for column in (5, 8, 14, 17):
                    self.assertLess(row[column], 1.02 * compressible[column])

    def test_spectrum(self):
        """k, tets, DoF, error, seconds, of these solve, method, iterations, digits, DoF/s."""
        tables = run("fabien2019-tas")
        self.assertEqual(sorted(tables), ["fabien2019-tas-1", "fabien2019-tas-1e3", "fabien2019-tas-1e6"])
        for rows in tables.values():
            self.assertEqual(sorted({int(row[0]) for row in rows}), [1, 2, 3, 4, 5, 6])
            for row in rows:
                error, seconds = float(row[3]), float(row[4])
                self.assertAlmostEqual(float(row[8]), -math.log10(error * seconds), delta=0.01)
                self.assertAlmostEqual(float(row[9]) * seconds / float(row[2]), 1, delta=0.01)
            errors = [float(row[3]) for row in rows if row[1] == "48"]
            self.assertEqual(errors, sorted(errors, reverse=True))  # more digits with every degree

    def test_speed(self):
        """Figures 6, 7, 15. A product has 2 n^2 operations and passes n (n + 1) / 2 entries of a cell, its maps and, of
        each unknown, x and y: a face of k = 2 has 18, a tet four."""
        tables = run("fabien2019-gpu", "--device", "debug")
        self.assertEqual(sorted(tables), ["fabien2019-gpu", "fabien2019-gpu-speed"])
        (row,) = tables["fabien2019-gpu"]
        n, tets, unknowns = 72, int(row[1]), int(row[2])
        bytes_passed = tets * (4 * n * (n + 1) + 32) + 16 * unknowns
        self.assertEqual((tets, unknowns % 18), (320, 0))
        self.assertAlmostEqual(float(row[6]), 2 * n * n * tets / bytes_passed, delta=0.001)
        (row,) = tables["fabien2019-gpu-speed"]
        self.assertEqual(row[:3], ["1", "320", "5"])

    def test_tau_changes_our_columns(self):
        for with_one, with_two in zip(table("fabien2019-table1"), table("fabien2019-table1", "--tau", "2")):
            for column in range(3, 18, 3):
                self.assertEqual(with_one[column], with_two[column])
                self.assertNotEqual(with_one[column + 1], with_two[column + 1])
                self.assertNotEqual(with_one[column + 2], with_two[column + 2])


if __name__ == "__main__":
    sys.exit(unittest.main())
