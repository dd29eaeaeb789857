"""Work against precision, beside NGSolve and deal.II: which program reaches an error first, with the mesh and the degree
that suit it.

    python3 bench/peers/ngsolve/precision.py FOLDER [--only REGEX] [--seconds 480] [--threads 2] [--install]

Solves every family of problems on several meshes with several degrees, from the cheap to the dear until its part of the
seconds is spent, and writes FOLDER/precision.md (for each error the fastest run of either program that reaches it) and
FOLDER/hdg-pays-FAMILY.dat (the runs that no other one of the program beats, for `facet bench --plot`). `facet bench
hdg-pays` calls it. NGSolve takes part where its wheel is in BUILD (--install puts it there, with Gmsh's, which the
sphere needs), deal.II, on hexes instead of tets, where bench/peers/dealii/run.sh has built it. Variables: BUILD, FACET,
DEALII.
"""

import argparse
import datetime
import os
import re
import subprocess
import sys
import time

import run
from whole import write_whole

ERRORS = (1e-4, 1e-6, 1e-8)
ENOUGH = 1e-9  # finer meshes of that degree are not tried
LONGEST = 8.0  # seconds of any program, likewise
DEALII = os.environ.get("DEALII", os.path.join(run.ROOT, "build", "peer-dealii", "native", "poisson"))
SIZES = (3e3, 3e4, 3e5, 2e6)  # unknowns of deal.II

# family: what is solved, degrees of facet (NGSolve has one more), meshes from coarse to fine
FAMILIES = {
    "2D": ({"exact": run.WAVE[2]}, range(1, 9), [("box", (n, n), 1) for n in (5, 10, 20, 40, 80, 160)]),
    "tets": ({"exact": run.WAVE[3]}, range(1, 8), [("box", (n, n, n), 1) for n in (2, 4, 8)]),
    "sphere": ({"exact": run.SMOOTH}, range(1, 7), [("sphere", h) for h in (0.7, 0.5, 0.35, 0.2)]),
}


def size_of(mesh):
    return f"{mesh[1][0]}^{len(mesh[1])}" if mesh[0] == "box" else f"h = {mesh[1]}"


def solve_one(mesh, degree, what, arguments):
    """{program: (seconds, error, mesh, degree)} of one mesh and degree."""
    path, case = run.make_mesh(mesh), os.path.join(run.BUILD, "case.yaml")
    with open(case, "w") as out:
        out.write(run.facet_case(path, len(mesh[1]) if mesh[0] == "box" else 3, degree, what))
    ours = run.best_of([run.run_facet(case, arguments.threads) for _ in range(2)])
    found = {"facet": ours}
    peer = dict({"equation": "diffusion", "conductivity": 1, "rtol": 1e-10}, **what, mesh=path, order=degree + 1,
                threads=arguments.threads)
    theirs = [run.run_peer(dict(peer, solver=solver), 4 * LONGEST) for solver in run.SOLVERS if arguments.ngsolve]
    if theirs:
        found["NGSolve"] = run.best_of(theirs)
    points = {program: (of["seconds"], of["error"], size_of(mesh), degree + (program == "NGSolve"))
              for program, of in found.items() if "failed" not in of}
    print(f"{size_of(mesh)}, p = {degree}:", {program: f"{p[0]:.3f} s, {p[1]:.1e}" for program, p in points.items()},
          file=sys.stderr)
    return points


def solve_family(name, end, arguments):
    """{program: [(seconds, error, mesh, degree)]}; coarse meshes first, each with all degrees that still gain."""
    what, degrees, meshes = FAMILIES[name]
    points, done = {}, set()
    for mesh in meshes:
        for p in degrees:
            if p in done or time.time() > end:
                continue
            for program, point in solve_one(mesh, p, what, arguments).items():
                points.setdefault(program, []).append(point)
                if point[0] > LONGEST:
                    done.add(p)
            last = [of[-1] for of in points.values() if of[-1][2] == size_of(mesh)]
            if not last or max(point[1] for point in last) < ENOUGH:
                done.add(p)
    return points


def solve_hexes(end, arguments):
    """facet's continuous elements on hexes of the unit cube, beside deal.II's."""
    case, points = os.path.join(run.BUILD, "case.yaml"), []
    for n in (2, 4, 8, 16, 32):
        for degree in range(3, 10):
            if time.time() > end or any(point[1] < ENOUGH and point[3] == degree for point in points):
                continue
            with open(case, "w") as out:
                out.write(f"mesh: {{box: {{lower: [0, 0, 0], upper: [1, 1, 1], cells: [{n}, {n}, {n}], shape: hex}}}}\n"
                          f"equation: diffusion\nexact: {run.WAVE[3]}\n"
                          f"discretization: {{method: continuous, degree: {degree}}}\nsolver: {{rtol: 1.0e-10}}\n")
            done = run.best_of([run.run_facet(case, arguments.threads) for _ in range(2)])
            if "failed" not in done:
                points.append((done["seconds"], done["error"], f"{n}^3", degree))
    return points


def solve_dealii(end, arguments):
    """deal.II's Q_k on hexes of the unit cube, the same function: set-up and solve."""
    points = []
    command = ["mpirun", "--bind-to", "none", "--oversubscribe", "-np", str(arguments.threads), DEALII]
    allowed = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    for size in SIZES:
        for degree in range(3, 8):
            if time.time() > end:
                return points
            done = subprocess.run(command + [str(degree), str(size), "5", "1"], capture_output=True, text=True,
                                  env=allowed)
            if done.returncode != 0:
                continue
            said = dict(part.split("=", 1) for part in done.stdout.split() if "=" in part)
            points.append((float(said["setup"]) + float(said["solve"]), float(said["l2"]), f"{said['cells']}^3", degree))
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
    text = f"# title: Error of the best field against seconds of a run, {family}\n"
    text += "# x: seconds\n# y: error in L2\n# log: xy\n"
    for program, of in points.items():
        text += f"# linespoints: {program}\n" + "".join(f"{p[0]:.6g} {p[1]:.6g}\n" for p in unbeaten(of)) + "\n\n"
    write_whole(path, text.rstrip().encode() + b"\n")


def rows_of(family, points):
    for error in ERRORS:
        reached = {program: first(of, error) for program, of in points.items()}
        ours = None
        for program, point in reached.items():
            cell = f"{point[0]:.3f} ({point[2]}, degree {point[3]})" if point else "not reached"
            if program.startswith("facet"):
                ours, ratio = point, ""
            else:
                ratio = f"{ours[0] / point[0]:.2f}" if ours and point else ""
            yield f"| {family} | {error:g} | {program} | {cell} | {ratio} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=480.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--install", action="store_true")
    arguments = parser.parse_args()
    os.makedirs(run.BUILD, exist_ok=True)
    if arguments.install:
        run.install()
    arguments.ngsolve = os.path.exists(run.python())
    families = [name for name in FAMILIES if re.search(arguments.only, name)]
    if "sphere" in families and not arguments.ngsolve:
        print("no Gmsh for the sphere: --install puts it beside NGSolve", file=sys.stderr)
        families.remove("sphere")
    begin, rows = time.time(), []
    for i, family in enumerate(families):
        end = begin + (i + 1) * arguments.seconds / len(families)
        dealii = family == "tets" and os.path.exists(DEALII)
        points = solve_family(family, end - (arguments.seconds / 12 if dealii else 0), arguments)
        if dealii:
            points["facet, hexes"] = solve_hexes(end, arguments)
            points["deal.II, hexes"] = solve_dealii(end, arguments)
        write_lines(os.path.join(arguments.folder, f"hdg-pays-{family}.dat"), family, points)
        rows += rows_of(family, points)
    processor = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                     "?")
    only = f" --only '{arguments.only}'" if arguments.only else ""
    text = f"""# Work against precision

Seconds of the fastest run that reaches an error in L2 (facet: u* of degree p + 1), over the meshes and degrees of
`precision.py`, everything but reading the mesh. 2D: triangles of the unit square, sin(pi x) sin(pi y); tets: Kuhn's, of
the unit cube; hexes: of the unit cube, continuous elements (deal.II: set-up and solve); sphere: order 2, sin(x) cos(2 y)
exp(z). Ratio: facet, on such cells, to the other.

- command: `python3 bench/peers/ngsolve/precision.py FOLDER --seconds {arguments.seconds:g} --threads {arguments.threads}{only}`
- date: {datetime.date.today()}, processor: {processor}, {os.cpu_count()} cores, {arguments.threads} threads; load when
  it ended {os.getloadavg()[0]:.1f}, {time.time() - begin:.0f} s in all
- {run.versions(arguments.ngsolve)}; deal.II: {"there" if os.path.exists(DEALII) else "not there"}

| family | error | program | seconds | ratio |
|---|---|---|---|---|
""" + "\n".join(rows) + "\n"
    write_whole(os.path.join(arguments.folder, "precision.md"), text.encode())


if __name__ == "__main__":
    sys.exit(main())
