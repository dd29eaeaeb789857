#!/usr/bin/env python3
"""What waiting costs in Python: the adaptive default beside OMP_WAIT_POLICY=active and passive.

    python3 bench/waits.py LIBRARY [SECONDS [COMPETITORS]]

LIBRARY is a libfacet.so. A process for each policy, problem and number of threads repeats solves by turns, and stands
still between its turns. Without COMPETITORS the machine should be idle; with them, so many processes spin meanwhile and
'active' is left out. Prints minima and medians of a round in milliseconds, and their ratios to the default's.
"""
import os
import random
import signal
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CORES = len(os.sched_getaffinity(0))
POLICIES = ("default", "active", "passive")
WORK = {"tiny": (8, 2, 60), "small": (16, 3, 20), "middle": (48, 3, 4), "large": (96, 4, 2)}  # cells, degree, solves


def work(name):
    """The process that solves: a line of its input is a question."""
    import numpy as np
    import facet
    cells, degree, solves = WORK[name]
    solver = facet.Diffusion(facet.box([0, 0], [1, 1], [cells, cells], shape="triangle"), reaction=100)
    solver = solver.dirichlet("rest", 0).prepare(degree=degree)
    u = solver.solve(np.ones(solver.n_points))
    print("ready", flush=True)
    for _ in sys.stdin:
        u = solver.solve(100 * u)
        begin = time.perf_counter()
        for _ in range(solves):
            u = solver.solve(100 * u)
        print(time.perf_counter() - begin, flush=True)


class Worker:
    def __init__(self, library, name, threads, policy):
        unset = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
        environment = {key: value for key, value in os.environ.items() if key not in unset}
        environment.update(PYTHONPATH=os.path.join(ROOT, "python"), FACET_LIBRARY=library, OMP_NUM_THREADS=str(threads))
        if policy != "default":
            environment["OMP_WAIT_POLICY"] = policy
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--work", name], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.process.stdout.readline()
        self.process.send_signal(signal.SIGSTOP)

    def seconds(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write("again\n")
        self.process.stdin.flush()
        said = float(self.process.stdout.readline())
        self.process.send_signal(signal.SIGSTOP)
        return said


def measure(library, seconds, policies):
    end = time.time() + seconds
    workers = {(name, n, policy): Worker(library, name, n, policy)
               for name in WORK for n in sorted({min(4, CORES), CORES}) for policy in policies}
    times = {key: [] for key in workers}
    try:
        while time.time() < end or min(map(len, times.values())) < 4:
            for key in random.sample(list(workers), len(workers)):
                times[key].append(workers[key].seconds())
    finally:
        for worker in workers.values():
            worker.process.kill()
            worker.process.wait()
    return {key: of[1:] for key, of in times.items()}


def main():
    library, seconds = os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 60.0
    competitors = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    policies = [policy for policy in POLICIES if competitors == 0 or policy != "active"]
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(competitors)]
    try:
        times = measure(library, seconds, policies)
    finally:
        for process in spinning:
            process.kill()
            process.wait()
    print("problem, threads, rounds" + "".join(f" | {policy}: min, median" for policy in policies)
          + "".join(f" | default/{policy}" for policy in policies[1:]))
    for name, n in dict.fromkeys(key[:2] for key in times):
        of = {policy: (min(t), statistics.median(t)) for policy in policies for t in [times[name, n, policy]]}
        print(f"{name}, {n}, {len(times[name, n, 'default'])}"
              + "".join(f" | {1e3 * low:.2f}, {1e3 * middle:.2f}" for low, middle in of.values())
              + "".join(f" | {of['default'][0] / of[p][0]:.2f}, {of['default'][1] / of[p][1]:.2f}" for p in policies[1:]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2])
    elif len(sys.argv) < 2:
        sys.exit(__doc__)
    else:
        main()
