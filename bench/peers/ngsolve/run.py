"""facet beside NGSolve on the same meshes, by turns, on this machine.

    python3 bench/peers/ngsolve/run.py TABLE.md [--only REGEX] [--rounds 5] [--threads 2] [--list]

The first run makes a virtual environment with NGSolve's wheel (and Gmsh's, for the curved meshes) in BUILD (default
build/peer-ngsolve). Every case is written as a Gmsh file that both programs read; then, round by round, facet and
every solver of NGSolve solve it in turn, and of each the fastest round counts. Variables: BUILD, FACET (default
build/facet).
"""

import argparse
import datetime
import itertools
import json
import os
import re
import resource
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
from whole import write_whole  # noqa: E402

BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build", "peer-ngsolve"))
FACET = os.environ.get("FACET", os.path.join(ROOT, "build", "facet"))
SOLVERS = ["bddc", "direct"]
WAVE = {2: "sin(pi*x)*sin(pi*y)", 3: "sin(pi*x)*sin(pi*y)*sin(pi*z)"}
SMOOTH = "sin(x)*cos(2*y)*exp(z)"
SHIFT = ["sin(x)*cos(y)*z", "cos(x)*y*sin(z)", "x*sin(y)*cos(z)"]
KUHN = [(0, 1, 3, 7), (0, 1, 5, 7), (0, 2, 3, 7), (0, 2, 6, 7), (0, 4, 5, 7), (0, 4, 6, 7)]  # corners x + 2 y + 4 z


def board(dim):
    """u K of a chessboard: zero where squares meet, and its gradient is continuous."""
    return "*".join(f"sin(4*pi*{c})" for c in "xyz"[:dim]) + "*(1 + x + y^2)"


def list_cases():
    """(name, mesh, degree of facet, what is solved)"""
    for p in (1, 2, 3, 4, 6, 8, 9):
        yield f"2D, 80^2 x 2 triangles, p = {p}", ("box", (80, 80), 1), p, {"exact": WAVE[2]}
    yield "2D, 320^2 x 2 triangles, p = 3", ("box", (320, 320), 1), 3, {"exact": WAVE[2]}
    for p in (2, 4, 9):
        yield f"2D, 80^2 x 2 triangles, p = {p}, factors", ("box", (80, 80), 1), p, {"exact": WAVE[2], "only": "direct"}
    for p in (1, 2, 3, 4, 5, 6):
        n = 16 if p < 5 else 8
        yield f"3D, {n}^3 x 6 tets, p = {p}", ("box", (n, n, n), 1), p, {"exact": WAVE[3]}
    for p in (2, 3, 4, 5):
        yield f"curved sphere, p = {p}", ("sphere", 0.14 if p < 4 else 0.2), p, {"exact": SMOOTH}
    for cells in ((80, 80), (160, 160), (8, 8, 8), (16, 16, 16)):
        name = f"chessboard 1, 1e4, {cells[0]}^{len(cells)} x {2 if len(cells) == 2 else 6}, p = 3"
        yield name, ("box", cells, 2), 3, {"exact": board(len(cells)), "conductivity": {"black": 1, "white": 1e4}}
    for cells, k in (((8, 8, 4), 2), ((16, 16, 8), 2), ((8, 8, 4), 3)):
        count = 6 * cells[0] * cells[1] * cells[2]
        yield (f"elasticity, {count} tets, k = {k}", ("box", cells, 1), k,
               {"equation": "elasticity", "mu": 1, "lambda": 1, "exact": SHIFT})


def write_box(path, cells, colours):
    """The unit box (the longest side is 1) in triangles or Kuhn's tets; two colours: a chessboard of 4^d squares."""
    dim, longest = len(cells), max(cells)
    counts = [n + 1 for n in cells]
    strides = [1]
    for n in counts[:-1]:
        strides.append(strides[-1] * n)
    with open(path, "w") as out:
        out.write("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n")
        names = [(dim - 1, 1, "skin")] + [(dim, 2 + c, ("black", "white")[c]) for c in range(colours)]
        out.write(f"{len(names)}\n" + "".join(f'{d} {i} "{name}"\n' for d, i, name in names) + "$EndPhysicalNames\n")
        nodes = list(itertools.product(*[range(n) for n in reversed(counts)]))
        out.write(f"$Nodes\n{len(nodes)}\n")
        for i, at in enumerate(nodes):
            point = [c / longest for c in reversed(at)] + [0] * (3 - dim)
            out.write(f"{i + 1} {point[0]:.17g} {point[1]:.17g} {point[2]:.17g}\n")
        lines = []
        parts = [(0, 1, 3), (0, 2, 3)] if dim == 2 else KUHN
        skin = {}
        for at in itertools.product(*[range(n) for n in reversed(cells)]):
            at = at[::-1]
            corner = [sum((at[d] + (c >> d & 1)) * strides[d] for d in range(dim)) + 1 for c in range(1 << dim)]
            colour = sum(4 * at[d] // cells[d] for d in range(dim)) % 2 if colours > 1 else 0
            for part in parts:
                cell = [corner[c] for c in part]
                # Kuhn's cells are right-handed when the order of the steps is even
                steps = [part[i + 1] - part[i] for i in range(dim)]
                odd = sum(steps[i] > steps[j] for i in range(dim) for j in range(i + 1, dim)) % 2
                if odd:
                    cell[-1], cell[-2] = cell[-2], cell[-1]
                lines.append((2 if dim == 2 else 4, 2 + colour, cell))
                for left in range(dim + 1):
                    face = [v for i, v in enumerate(cell) if i != left]
                    key = tuple(sorted(face))
                    if skin.pop(key, None) is None:
                        skin[key] = face
        lines += [(1 if dim == 2 else 2, 1, face) for face in skin.values()]
        out.write(f"$EndNodes\n$Elements\n{len(lines)}\n")
        for i, (kind, group, vertices) in enumerate(lines):
            out.write(f"{i + 1} {kind} 2 {group} {group} {' '.join(map(str, vertices))}\n")
        out.write("$EndElements\n")


SPHERE = """
import gmsh, sys
gmsh.initialize()
gmsh.option.setNumber("General.Terminal", 0)
gmsh.option.setNumber("General.NumThreads", 1)
gmsh.model.occ.addSphere(0, 0, 0, 1)
gmsh.model.occ.synchronize()
gmsh.option.setNumber("Mesh.MeshSizeMax", float(sys.argv[2]))
gmsh.model.addPhysicalGroup(3, [1], 1, "ball")
gmsh.model.addPhysicalGroup(2, [1], 2, "skin")
gmsh.model.mesh.generate(3)
gmsh.model.mesh.setOrder(2)
gmsh.option.setNumber("Mesh.MshFileVersion", 2.2)
gmsh.write(sys.argv[1])
"""


def python():
    return os.path.join(BUILD, "venv", "bin", "python")


def install():
    if not os.path.exists(python()):
        print("peer: installing NGSolve's wheel", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", os.path.join(BUILD, "venv")], check=True)
        subprocess.run([python(), "-m", "pip", "install", "-q", "ngsolve", "gmsh"], check=True)


def make_mesh(mesh):
    name = "-".join(str(part) for part in mesh).replace(", ", "x").strip("()")
    path = os.path.join(BUILD, re.sub(r"[^0-9A-Za-z.x-]", "", name) + ".msh")
    if not os.path.exists(path):
        part = path + ".part.msh"
        if mesh[0] == "box":
            write_box(part, mesh[1], mesh[2])
        else:
            subprocess.run([python(), "-c", SPHERE, part, str(mesh[1])], check=True)
        os.replace(part, path)
    return path


def facet_case(mesh, dim, degree, what):
    lines = [f"mesh: {{file: {mesh}}}", f"equation: {what.get('equation', 'diffusion')}"]
    if "conductivity" in what:
        black, white = what["conductivity"]["black"], what["conductivity"]["white"]
        squares = " + ".join(f"floor(4*{c})" for c in "xyz"[:dim])
        lines += [f"conductivity: [{{on: black, value: {black:g}}}, {{on: white, value: {white:g}}}]",
                  f"exact: ({what['exact']})*if(mod({squares}, 2) < 0.5, {1 / black:g}, {1 / white:g})"]
    else:
        lines.append(f"exact: {json.dumps(what['exact'])}")
    if "mu" in what:
        lines.append(f"material: {{mu: {what['mu']}, lambda: {what['lambda']}}}")
    method = f"method: {what['only']}, " if "only" in what else ""
    lines += [f"discretization: {{degree: {degree}}}", f"solver: {{{method}rtol: 1.0e-10}}"]
    return "\n".join(lines) + "\n"


def run_facet(path, threads):
    command = [FACET, "solve", path, "--threads", str(threads), "--quiet", "--json", "-"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr else "?"}
    run = json.loads(done.stdout)
    seconds = run["seconds"]
    errors = run["errors"]
    result = {"seconds": seconds["total"] - seconds["mesh"], "iterations": run["solver"]["iterations"],
              "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
              "unknowns": run["unknowns"].get("trace", run["unknowns"]["volume"]), "bytes": run["memory_bytes"],
              "version": run["facet"],
              "solve": seconds["solve"] + seconds.get("setup", 0) + seconds.get("assemble", 0),
              "solver": run["solver"].get("preconditioner", run["solver"]["method"])}
    result["error"] = errors.get("u_star", errors["u"])["L2"]
    return result


def run_peer(case, limit):
    try:
        done = subprocess.run([python(), os.path.join(HERE, "peer.py"), json.dumps(case)], capture_output=True,
                              text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {limit:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not lines:
        return {"failed": (done.stderr.strip().splitlines() or ["?"])[-1]}
    return json.loads(lines[-1][len("RESULT "):])


def best_of(runs):
    good = [run for run in runs if "failed" not in run]
    return min(good, key=lambda run: run["seconds"]) if good else runs[0]


def agree(ours, theirs):
    """Whether the two programs have the same accuracy."""
    return 0.2 < ours["error"] / theirs["error"] < 5 or max(ours["error"], theirs["error"]) < 1e-9


def measure(name, mesh, degree, what, arguments):
    path = make_mesh(mesh)
    case = os.path.join(BUILD, "case.yaml")
    with open(case, "w") as out:
        out.write(facet_case(path, len(mesh[1]) if mesh[0] == "box" else 3, degree, what))
    peer = dict({"equation": "diffusion", "conductivity": 1, "rtol": 1e-10}, **what, mesh=path, order=degree + 1,
                threads=arguments.threads)
    solvers = [what["only"]] if "only" in what else SOLVERS
    runs = {program: [] for program in ["facet"] + solvers}
    for _ in range(arguments.rounds):
        runs["facet"].append(run_facet(case, arguments.threads))
        limit = max(40, 20 * best_of(runs["facet"]).get("seconds", 0))
        for solver in solvers:
            runs[solver].append(run_peer(dict(peer, solver=solver), limit))
        fastest = min(best_of(runs[solver]).get("seconds", 1e9) for solver in runs if solver != "facet")
        solvers = [solver for solver in solvers if best_of(runs[solver]).get("seconds", 1e9) < 4 * fastest]
    best = {program: best_of(of) for program, of in runs.items()}
    print(name, {program: round(run.get("seconds", -1), 3) for program, run in best.items()}, file=sys.stderr)
    return best


def row(name, best):
    ours = best["facet"]
    if "failed" in ours:
        return f"| {name} | facet failed: {ours['failed']} |"
    theirs = {s: best[s] for s in best if s != "facet" and "failed" not in best[s]}
    if not theirs:
        return f"| {name} | NGSolve failed: {next(best[s]['failed'] for s in best if s != 'facet')} |"
    first = min(theirs, key=lambda s: theirs[s]["seconds"])
    peer = theirs[first]
    lean = theirs.get("bddc", peer)
    return (f"| {name} | {ours['seconds']:.3f} | {peer['seconds']:.3f} ({first}) | "
            f"**{ours['seconds'] / peer['seconds']:.2f}** | {ours['cpu']:.2f} / {peer['cpu']:.2f} | "
            f"{ours['solve'] / ours['seconds']:.2f} | {ours['iterations']} {ours['solver']} / "
            f"{lean['iterations']} | {ours['bytes'] / 1e6:.0f} / {lean['bytes'] / 1e6:.0f} "
            f"({ours['bytes'] / lean['bytes']:.2f}) | {ours['error']:.2e} / {peer['error']:.2e}"
            f"{'' if agree(ours, peer) else ' **differ**'} |")


def versions(with_peer=True):
    """Of the programs that ran, with facet's commit."""
    def said(*command):
        return subprocess.run(command, capture_output=True, text=True).stdout.strip() or "?"

    peer = said(python(), "-c", "import ngsolve; print(ngsolve.__version__)") if with_peer else "not there"
    return f"{said(FACET, '--version')}, NGSolve: {peer}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    cases = [case for case in list_cases() if re.search(arguments.only, case[0])]
    if arguments.list:
        print("\n".join(case[0] for case in cases))
        return
    os.makedirs(BUILD, exist_ok=True)
    install()
    rows, begin = [], time.time()
    for case in cases:
        rows.append(row(case[0], measure(*case, arguments)))
    processor = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                     "?")
    only = f" --only '{arguments.only}'" if arguments.only else ""
    text = f"""# facet beside NGSolve

The same meshes, the same accuracy: facet's post-processed u of degree p + 1 (elasticity: u, of degree k + 1) against
continuous elements of degree p + 1, eliminated inside the cells; CG to 1e-10 with BDDC, or a sparse Cholesky factor,
whichever is faster (`factors`: a factor in both programs). Seconds of everything but reading the mesh: spaces, matrices, solve, fields, errors; the fastest
of {arguments.rounds} rounds by turns (a solver of NGSolve that takes four times as long as another has one round, of at
most 40 s or twenty times what facet takes).
`solve`: the share of set-up and solve in facet's time. Memory of NGSolve (with BDDC): what it takes above that of the
interpreter and the mesh; of facet: all.

- command: `python3 bench/peers/ngsolve/run.py TABLE.md --rounds {arguments.rounds} --threads {arguments.threads}{only}`
- date: {datetime.date.today()}, processor: {processor}, {os.cpu_count()} cores, {arguments.threads} threads;
  load when it ended {os.getloadavg()[0]:.1f}, {time.time() - begin:.0f} s in all
- {versions()}

| case | facet s | NGSolve s | ratio | CPU s | solve | iterations | MB | error |
|---|---|---|---|---|---|---|---|---|
""" + "\n".join(rows) + "\n"
    write_whole(arguments.table, text.encode())


if __name__ == "__main__":
    main()
