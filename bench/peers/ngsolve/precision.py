"""Work against precision, beside NGSolve: which program reaches an error first, with the mesh and the degree that suit it.

    python3 bench/peers/ngsolve/precision.py FOLDER [--only REGEX] [--rounds 3] [--threads 2]

Solves every family of problems on several meshes with several degrees, as run.py does, and writes FOLDER/precision.md
(for each error the fastest run of either program that reaches it) and FOLDER/precision-FAMILY.dat (the runs that no
other one of the program beats, for `facet bench`'s plots). Variables: BUILD, FACET.
"""

import argparse
import datetime
import os
import re
import sys

import run
from whole import write_whole

ERRORS = (1e-4, 1e-6, 1e-8)
ENOUGH = 1e-9  # finer meshes of that degree are not tried
LONGEST = 8.0  # seconds of the slower program, likewise

# family: what is solved, degrees of facet (the peer has one more), meshes from coarse to fine
FAMILIES = {
    "2D": ({"exact": run.WAVE[2]}, range(1, 9), [("box", (n, n), 1) for n in (5, 10, 20, 40, 80, 160)]),
    "tets": ({"exact": run.WAVE[3]}, range(1, 8), [("box", (n, n, n), 1) for n in (2, 4, 8)]),
    "sphere": ({"exact": run.SMOOTH}, range(1, 7), [("sphere", h) for h in (0.7, 0.5, 0.35, 0.2)]),
}


def solve_family(name, arguments):
    """{program: [(seconds, error, mesh, degree)]}"""
    what, degrees, meshes = FAMILIES[name]
    points = {"facet": [], "NGSolve": []}
    for p in degrees:
        for mesh in meshes:
            best = run.measure(f"{name}, {mesh[1]}, p = {p}", mesh, p, what, arguments)
            rivals = [best[solver] for solver in run.SOLVERS if "failed" not in best[solver]]
            if "failed" in best["facet"] or not rivals:
                break
            fastest = min(rivals, key=lambda one: one["seconds"])
            size = f"{mesh[1][0]}^{len(mesh[1])}" if mesh[0] == "box" else f"h = {mesh[1]}"
            points["facet"].append((best["facet"]["seconds"], best["facet"]["error"], size, p))
            points["NGSolve"].append((fastest["seconds"], fastest["error"], size, p + 1))
            if max(best["facet"]["error"], fastest["error"]) < ENOUGH:
                break
            if max(best["facet"]["seconds"], fastest["seconds"]) > LONGEST:
                break
    return points


def unbeaten(points):
    best, kept = float("inf"), []
    for point in sorted(points):
        if point[1] < best:
            best = point[1]
            kept.append(point)
    return kept


def first(points, error):
    return min((point for point in points if point[1] <= error), default=None)


def write_lines(path, family, points):
    text = f"# title: Error of u against seconds, {family}\n# x: seconds\n# y: error in L2\n# log: xy\n"
    for program, of in points.items():
        text += f"# linespoints: {program}\n" + "".join(f"{p[0]:.6g} {p[1]:.6g}\n" for p in unbeaten(of)) + "\n\n"
    write_whole(path, text.rstrip().encode() + b"\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    os.makedirs(run.BUILD, exist_ok=True)
    run.install()
    rows = []
    for family in [name for name in FAMILIES if re.search(arguments.only, name)]:
        points = solve_family(family, arguments)
        write_lines(os.path.join(arguments.folder, f"precision-{family}.dat"), family, points)
        for error in ERRORS:
            ours, theirs = first(points["facet"], error), first(points["NGSolve"], error)
            cells = [f"{p[0]:.3f} ({p[2]}, degree {p[3]})" if p else "not reached" for p in (ours, theirs)]
            ratio = f"**{ours[0] / theirs[0]:.2f}**" if ours and theirs else ""
            rows.append(f"| {family} | {error:g} | {cells[0]} | {cells[1]} | {ratio} |")
    processor = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                     "?")
    only = f" --only '{arguments.only}'" if arguments.only else ""
    text = f"""# Work against precision, beside NGSolve

Seconds of the fastest run that reaches an error of u in L2 (facet: u* of degree p + 1), over the meshes and degrees of
`precision.py`, everything but reading the mesh, the fastest of {arguments.rounds} rounds by turns. 2D: triangles of the
unit square, sin(pi x) sin(pi y); tets: Kuhn's, of the unit cube; sphere: order 2, sin(x) cos(2 y) exp(z).

- command: `python3 bench/peers/ngsolve/precision.py bench/results --rounds {arguments.rounds} --threads {arguments.threads}{only}`
- date: {datetime.date.today()}, processor: {processor}, {os.cpu_count()} cores, {arguments.threads} threads; load when
  it ended {os.getloadavg()[0]:.1f}
- {run.versions()}

| family | error | facet s | NGSolve s | ratio |
|---|---|---|---|---|
""" + "\n".join(rows) + "\n"
    write_whole(os.path.join(arguments.folder, "precision.md"), text.encode())


if __name__ == "__main__":
    sys.exit(main())
