"""Two programs of facet on the same cases, by turns: is the new one slower anywhere?

    python3 bench/compare.py OLD NEW [--rounds 5] [--threads 2] [--only REGEX] [--output FILE] [--list]

OLD and NEW are the programs. Every case of the table below is solved by both alternately (old, new, old, new, ...),
so that a busy machine disturbs both alike, and of each the best round counts. What is compared is the processor time
of the whole `facet solve` (user and system); runs too short to measure are repeated in every round and summed up.
Writes markdown: seconds and iterations, then where the time of the best run went by phases (wall clock; a program
without the phases load and measure counts the load as solve). Exit status 1: a case that the old program solves
fails with the new one.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from whole import write_whole  # noqa: E402

PHASES = ["mesh", "condense", "assemble", "setup", "load", "solve", "recover", "postprocess", "measure", "output"]
SHORTEST = 1.0  # processor seconds of a round
MOST_RUNS = 20  # in a round
NOISE = "sin(91*x)*cos(73*y)"  # no coarse space favours it
WAVE = "cos(x - 3*y + 2*z)*sin(1 + x)*sin(1 - y)*sin(2*x + y)*sin(3*x - 2*y + 2*z)"  # huismann2020, eq. 48, k = 1


def box(shape, cells, upper=1):
    dim = 3 if shape in ("tet", "hex") else 2
    return (f"mesh: {{box: {{lower: {[0] * dim}, upper: {[upper] * dim}, cells: {[cells] * dim}, shape: {shape}}}}}\n"
            "equation: diffusion\n")


def loaded(source):
    return f'source: "{source}"\nboundary: [{{on: rest, dirichlet: 0}}]\n'


def method(discretization, solver):
    return f"discretization: {{{discretization}}}\nsolver: {{{solver}}}\n"


def list_cases():
    """(name, text of the case file)"""
    mapped = "degree: %d, operator: mapped, postprocess: false"
    multigrid = "method: cg, preconditioner: %s, rtol: 1.0e-10"
    solid = loaded(NOISE + "*cos(57*z)")
    cases = [
        ("king2014, 80 x 80 x 2 triangles, P = 9", box("triangle", 80) + "reaction: 1\n"
         "exact: sin(2*pi*x)*sin(2*pi*y)\n" + method("degree: 9, tau: 1, postprocess: false", "rtol: 1.0e-10")),
        ("pmg, 32^3 hexes, P = 3", box("hex", 32) + solid + method(mapped % 3, multigrid % "pmg")),
        ("pmg, 24^3 x 6 tets, P = 3", box("tet", 24) + solid + method(mapped % 3, multigrid % "pmg")),
        ("gmg, 512^2 quads, P = 4", box("quad", 512) + loaded(NOISE) + method(mapped % 4, multigrid % "gmg")),
    ]
    wave = "exact: sin(pi*x)*sin(pi*y)\n"  # errors are measured, as in peers/ngsolve
    for degree in (1, 2, 3, 4):
        cases.append((f"small, 80^2 x 2 triangles, P = {degree}",
                      box("triangle", 80) + wave + method(f"degree: {degree}", "rtol: 1.0e-10")))
    cases += [
        ("small, 160^2 x 2 triangles, P = 3", box("triangle", 160) + wave + method("degree: 3", "rtol: 1.0e-10")),
        ("small, 80^2 x 2 triangles, P = 4, direct",
         box("triangle", 80) + wave + method("degree: 4", "method: direct")),
        ("small, 8^3 x 6 tets, P = 2, direct", box("tet", 8) + wave + method("degree: 2", "method: direct")),
        ("small, 16^3 x 6 tets, P = 2", box("tet", 16) + wave + method("degree: 2", "rtol: 1.0e-10")),
    ]
    for cells in (8, 16):
        for degree in (3, 7, 15):
            for solver in ("additive", "chebyshev", "direct"):
                how = "method: direct" if solver == "direct" else multigrid % solver
                cases.append((f"box HDG, {cells}^3, p = {degree}, {solver}",
                              box("hex", cells, 2 * math.pi) + loaded(WAVE) +
                              method(f"degree: {degree}, tau: 25, postprocess: false", how)))
    for degree, cells in ((1, 96), (4, 24), (7, 16)):
        for solver in ("cg", "direct"):
            how = "method: direct" if solver == "direct" else multigrid % "patches"
            cases.append((f"continuous, {cells}^3, k = {degree}, {solver}",
                          box("hex", cells) + solid + method(f"method: continuous, degree: {degree}", how)))
    return cases


class Failed(Exception):
    pass


def run(program, case, threads):
    """Processor seconds, wall seconds and the JSON of one solve."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        begin = time.monotonic()
        child = subprocess.Popen([program, "solve", case, "--threads", str(threads), "--json", "-", "--quiet"],
                                 stdout=out, stderr=errors, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            errors.seek(0)
            raise Failed(f"exit {child.returncode}: {errors.read().decode(errors='replace').strip()}")
        out.seek(0)
        return usage.ru_utime + usage.ru_stime, wall, json.load(out)


class Best:
    """The best round of a program."""

    def __init__(self, program):
        self.program, self.processor, self.wall, self.json, self.failure = program, math.inf, math.inf, None, None

    def round(self, case, threads, n_runs):
        processor = wall = 0.0
        for _ in range(n_runs):
            seconds, clock, result = run(self.program, case, threads)
            processor, wall = processor + seconds, wall + clock
        if processor < self.processor:
            self.processor, self.json = processor, result
        self.wall = min(self.wall, wall)

    def try_round(self, case, threads, n_runs):
        try:
            self.round(case, threads, n_runs)
        except Failed as failure:
            self.failure = str(failure)

    def iterations(self):
        return str(self.json["solver"]["iterations"])


def compare(programs, case, arguments):
    """The best of both, and how many runs a round has. The first run of each only looks how long one takes."""
    best = [Best(program) for program in programs]
    n_runs = 1
    for side in best:
        try:
            seconds, _, _ = run(side.program, case, arguments.threads)
            n_runs = max(n_runs, min(MOST_RUNS, math.ceil(SHORTEST / max(seconds, 1e-3))))
        except Failed as failure:
            side.failure = str(failure)
    for _ in range(arguments.rounds):
        for side in best:
            if side.failure is None:
                side.try_round(case, arguments.threads, n_runs)
    return best, n_runs


def table_row(name, best, n_runs):
    old, new = best
    if old.failure or new.failure:
        failed = "; ".join(f"{label}: {side.failure}" for label, side in zip(("old", "new"), best) if side.failure)
        return f"| {name} | | | | | | {failed.replace('|', '/')} |", None
    ratio = new.processor / old.processor
    return (f"| {name} | {n_runs} | {old.processor:.3f} | {new.processor:.3f} | {ratio:.3f} | "
            f"{new.wall / old.wall:.3f} | {old.iterations()} / {new.iterations()} |"), ratio


def phase_rows(name, best):
    for label, side in zip(("old", "new"), best):
        if side.json is not None:
            seconds = side.json["seconds"]
            cells = [f"{seconds[phase]:.4f}" if phase in seconds else "" for phase in PHASES + ["total"]]
            yield f"| {name} | {label} | " + " | ".join(cells) + " |"


def parse():
    parser = argparse.ArgumentParser(description="Two programs of facet on the same cases, by turns.")
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="cases whose name contains this regular expression")
    parser.add_argument("--output", help="file for the tables (otherwise standard output)")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    return parser.parse_args()


def version(program):
    """The version and the commit that a program was built from."""
    return subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip() or "unknown"


def main():
    arguments = parse()
    cases = [case for case in list_cases() if re.search(arguments.only, case[0])]
    if arguments.list:
        print("\n".join(name for name, _ in cases))
        return 0
    rows, phases, ratios, lost = [], [], [], False
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "case.yaml")
        for name, text in cases:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            best, n_runs = compare((arguments.old, arguments.new), path, arguments)
            row, ratio = table_row(name, best, n_runs)
            print(row, file=sys.stderr, flush=True)
            rows.append(row)
            phases.extend(phase_rows(name, best))
            lost = lost or bool(best[1].failure and not best[0].failure)
            if ratio is not None:
                ratios.append((ratio, name))
    worst = "Worst ratio: %.3f (%s)." % max(ratios) if ratios else "Nothing was compared."
    text = "\n".join(
        [f"Whole solves by two programs in turn, {arguments.threads} threads, best of {arguments.rounds} rounds; "
         "processor seconds of all runs of a round.", "",
         f"- old: {version(arguments.old)}", f"- new: {version(arguments.new)}", "",
         "| case | runs | old s | new s | new/old | wall new/old | iterations old / new |", "|---" * 7 + "|", *rows, "",
         worst, "", "Seconds by phases of a run of the best round, wall clock:", "",
         "| case | program | " + " | ".join(PHASES + ["total"]) + " |", "|---" * (len(PHASES) + 3) + "|", *phases, ""])
    if arguments.output:
        write_whole(arguments.output, text.encode())
    else:
        print(text)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
