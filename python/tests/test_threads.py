"""Threads of Python and of the library: solutions that many read at once, solvers that one alone uses, and processors
that others want too."""
import os
import subprocess
import sys
import threading
import time
import unittest

import facet
import numpy as np

ROOT = os.environ["FACET_SOURCE_DIR"]
POINTS = np.random.default_rng(1).uniform(0.05, 0.95, (300, 2))


def bar(mesh, **data):
    return facet.Diffusion(mesh, **data).dirichlet("xmin", 1).dirichlet("xmax", 0).neumann("rest")


class Readers(unittest.TestCase):
    """Functions as data run in threads of the library, several at once."""

    def setUp(self):
        self.mesh = facet.box([0, 0], [1, 1], [16, 16], context=facet.Context(threads=4))
        self.u = bar(self.mesh).solve(degree=4)  # 1 - x

    def test_a_function_that_evaluates_another_solution(self):
        for name, read in (("solution", self.u), ("field", self.u.field("u"))):
            with self.subTest(name):  # (3 - 2 x) v' = c: v = ln(3 - 2 x) / ln 3
                v = bar(self.mesh, conductivity=lambda x: 1 + 2 * read(x)).solve(degree=4)
                self.assertLess(np.abs(v(POINTS) - np.log(3 - 2 * POINTS[:, 0]) / np.log(3)).max(), 1e-8)

    def test_picard(self):
        """-((1 + 2 u) u')' = 0 with u = 1 and 0 at the ends: u + u^2 = 2 (1 - x)."""
        u = self.u
        for _ in range(12):
            u = bar(self.mesh, conductivity=lambda x, u=u: 1 + 2 * u(x)).solve(degree=4)
        x = POINTS[:, 0]
        self.assertLess(np.abs(u(POINTS) - (np.sqrt(1 + 8 * (1 - x)) - 1) / 2).max(), 3e-3)

    def test_all_that_is_read(self):
        """What is made at the first question (q, u*, fields, samples), asked for by all at once."""
        for device in ("cpu", "debug"):
            for options in ({}, {"discretization": "continuous"}, {"operator": "mapped"}):
                with self.subTest(device=device, **options):
                    self.read_at_once(facet.Context(device, threads=2), options)

    def read_at_once(self, context, options):
        solver = bar(facet.box([0, 0], [1, 1], [6, 6], shape="quad", context=context), source="x*y") \
            .prepare(degree=3, **options)
        solver.solve()
        expected, wrong = self.read(solver.solution), []
        solver.solve()
        u, start = solver.solution, threading.Barrier(4)

        def work():
            start.wait()
            try:
                if self.read(u) != expected:
                    wrong.append("other numbers")
            except Exception as error:
                wrong.append(error)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    @staticmethod
    def read(u):
        return (u(POINTS).tolist(), u(POINTS, "q").tolist(), u.max(), u.integral(), u.flux("xmin"),
                u.take("max", "q"), u.sample(["u"]).fields["u"].tolist(), u.report.conservation)


class Turns(unittest.TestCase):
    def test_readers_wait_for_a_solve(self):
        solver = bar(facet.box([0, 0], [1, 1], [4, 4]), source=lambda x: (inside.set(), time.sleep(0.2))[1] or 1.0) \
            .prepare(degree=2, method="cg")
        inside, seen = threading.Event(), []
        solver.solve()
        inside.clear()
        threads = [threading.Thread(target=solver.solve),
                   threading.Thread(target=lambda: inside.wait() and seen.append(solver.solution.max()))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        self.assertEqual(len(seen), 1)

    def test_a_change_comes_to_its_turn(self):
        """Two threads read without a pause, and a third solves."""
        solver = bar(facet.box([0, 0], [1, 1], [4, 4])).prepare(degree=2)
        solver.solve()
        done = threading.Event()

        def read():
            while not done.is_set():
                try:
                    solver.solution(POINTS[:10])
                except facet.InputError as error:  # the solver has solved again
                    assert "gone" in str(error), error
        threads = [threading.Thread(target=read) for _ in range(2)]
        for thread in threads:
            thread.start()
        begin = time.perf_counter()
        for _ in range(5):
            solver.solve()
        self.assertLess(time.perf_counter() - begin, 30)
        done.set()
        for thread in threads:
            thread.join()


STEPS = """
import time, facet, numpy as np
solver = facet.Diffusion(facet.box([0, 0], [1, 1], [16, 16], shape="triangle"), reaction=100).dirichlet("rest", 0) \\
    .prepare(degree=3)
u = solver.solve(np.ones(solver.n_points))
for _ in range(20):
    begin = time.perf_counter()
    for _ in range(5):
        u = solver.solve(100 * u)
    print(time.perf_counter() - begin)
"""


class Processors(unittest.TestCase):
    @unittest.skipIf((os.cpu_count() or 1) < 2, "one processor has one thread")
    def test_beside_others(self):
        """Threads that wait do not hold the processors that others want: as fast as those that never spin, which is 4 to
        60 times faster than those that always do. Quartiles of many short times: others decide on the longest."""
        spin = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
        times = {"passive": [], "": []}
        try:
            for _ in range(6):
                for policy, of in times.items():
                    of += self.steps(policy)
        finally:
            for process in spin:
                process.kill()
                process.wait()
        adaptive, passive = (sorted(times[policy])[len(times[policy]) // 4] for policy in ("", "passive"))
        print(f"{adaptive / passive:.2f} of those that never spin ", end="", flush=True)
        self.assertLess(adaptive, 1.8 * passive)

    @staticmethod
    def steps(policy):
        unset = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
        environment = {name: value for name, value in os.environ.items() if name not in unset}
        if policy:
            environment["OMP_WAIT_POLICY"] = policy
        environment["PYTHONPATH"] = os.path.join(ROOT, "python")
        return [float(line) for line in subprocess.run([sys.executable, "-c", STEPS], env=environment, check=True,
                                                       capture_output=True, text=True).stdout.split()]


if __name__ == "__main__":
    unittest.main()
