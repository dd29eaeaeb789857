"""Runs a problem and says what to think of its end."""
import json
import math
import os
import re
import subprocess
import time

from trial.draw import describe

DIRECT = {"method": "direct"}
WRONG = 1e-7  # relative errors from here on are wrong numbers
RIGHT = 1e-6  # relative errors up to here are no reason for status 1
SLOW = 5  # times longer may a run on device debug take: its kernels are plain, and every call of one crosses a wall
WIDE = 1000  # bars of so many times the error say little


def write_case(p, folder, name, changes):
    case = {**p["case"], **changes}
    if "mesh_text" in p:
        (folder / f"{name}.msh").write_text(p["mesh_text"], encoding="utf-8")
        case["mesh"] = {**case["mesh"], "file": f"{name}.msh"}
    path = folder / f"{name}.yaml"
    path.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in case.items()), encoding="utf-8")
    return path


def finite(value):
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, list):
        return all(map(finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def command_of(options, p, name, program, device):
    """The command line; over ranks where a problem has them."""
    words = [program or options.facet, "solve", name, "--json", "result.json", "--quiet", "--threads", "1", "--device", device]
    if p.get("ranks", 1) > 1 and program is None and options.mpi:
        words[0] = options.mpi
        words = [*options.launcher.split(), "-n", str(p["ranks"]), *words]
    return words


def solve(options, p, folder, changes, device=None, program=None):
    """One run: its status ('timeout', 'signal 11', ... or a number), the JSON, the last line of its messages."""
    path = write_case(p, folder, "case", changes)
    answer = folder / "result.json"
    answer.unlink(missing_ok=True)
    device = device or p.get("device", "cpu")
    words = command_of(options, p, path.name, program, device)
    limit = options.timeout*(SLOW if device == "debug" else 1)
    started = time.monotonic()
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=limit, env=environment)
    except subprocess.TimeoutExpired:
        p["runs"].append("timeout")
        return {"status": "timeout", "result": None, "message": "", "seconds": limit}
    run = {"status": done.returncode, "result": None, "seconds": time.monotonic() - started}
    said = [line for line in done.stderr.strip().split("\n") if line.startswith("facet")]
    run["message"] = (said or done.stderr.strip().split("\n"))[-1]
    if done.returncode < 0:
        run["status"] = f"signal {-done.returncode}"
    elif "Sanitizer" in done.stderr or "runtime error" in done.stderr:
        run["status"] = "sanitizer"
    elif done.returncode not in (0, 1, 2, 3):
        run["status"] = f"exit {done.returncode}"
    elif done.returncode != 0 and not said:
        run["status"] = f"exit {done.returncode} without a sentence"
    if done.returncode in (0, 1) and answer.exists():
        run["result"] = json.loads(answer.read_text(encoding="utf-8"))
    if done.returncode == 0:
        errors = run["result"].get("errors", {}) if "exact" in p["case"] else None
        if not finite(run["result"]) or errors is not None and errors.get("u", {}).get("L2") is None:
            run["status"] = "not finite"
    p["runs"].append(run["status"])
    return run


def difference(run, other):
    """Of two solutions along the line, in the mean square and relative; None without one of them."""
    if run["status"] != 0 or other["status"] != 0:
        return None
    lines = []
    for one in (run, other):
        rows = one["result"]["values"]["line"]
        lines.append([v for row in rows for v in (row if isinstance(row, list) else [row])])
    return math.dist(*lines)/max(math.hypot(*line) for line in lines)


def second(p):
    """What changes for the second solve: it is direct, with mapped cells on boxes that vary or were solved directly.

    Where the first was the same, device ref makes the difference: that of rounding.
    """
    space = dict(p["case"]["discretization"])
    if p["data"] == "gradient" and "t" in p["conditions"]:
        other = "block" if p["case"]["solver"].get("preconditioner") in ("pmg", "gmg") else "pmg"
        return {"solver": {"method": "fgmres", "preconditioner": other}}
    again = p["case"]["solver"]["method"] == "direct"
    if again and p["data"] == "number" and not p["polynomial"] and (p["method"] == "continuous" or p["tensor"]):
        return {"solver": {"method": "cg"}}  # other cells would integrate the source by another rule
    if p["method"] == "continuous" and (again or p["data"] != "number"):
        space["method"] = "condensed"
    elif p["tensor"] and (again or p["data"] != "number"):
        space["operator"] = "mapped"
    return {"solver": DIRECT, "discretization": space}


def solve_again(options, p, folder):
    """The second solve, as accurate as rounding allows."""
    for rtol in (1e-13, 1e-12, 1e-11, 1e-9):
        changes = second(p)
        changes["solver"] = {**changes["solver"], "rtol": rtol}
        run = solve(options, p, folder, changes, "ref")
        if run["status"] != 1:
            break
    return run


# Values whose answers are known (lattices)

def numbers(result):
    """Values and potentials by name, estimates and notes of all cases of a run."""
    found, estimates, notes = {}, [], []
    for case in result.get("cases", [result]):
        found.update(case.get("values", {}))
        found.update(case.get("potentials", {}))
        estimates.append(case["solver"].get("error"))
        notes += case.get("notes", [])
    known = [e for e in estimates if e is not None]
    return found, max(known) if known else None, notes


def told(result):
    """What a run says of the values that it marks as uncertain or as zero: their errors, by name."""
    bars = {}
    for case in result.get("cases", [result]):
        bars.update({name: bar["error"] for name, bar in case.get("bars", {}).items()})
    return bars


def judge_values(options, p, folder, record):
    """The worst value of a run against what is allowed: ten times the estimate, and WRONG."""
    run = solve(options, p, folder, {})
    record.update(status=run["status"], message=run["message"], seconds=run["seconds"])
    if run["status"] in (1, 2, 3):
        return alarm(options, p, run, record) if run["status"] == 1 else record
    if run["status"] != 0:
        record["verdict"] = "failure"
        return record
    estimate, notes = numbers(run["result"])[1:]
    solver = run["result"].get("cases", [run["result"]])[-1]["solver"]
    record.update(estimate=estimate, residual=solver["residual"], reason=solver["reason"], notes=notes,
                  used=f"{solver['method']} {solver.get('preconditioner', '')}", true=0.0)
    compare(options, p, run["result"], record)
    problem = files_of(p, folder, run["result"])
    if problem:
        record.update(verdict="failure", note=problem)
    return record


def excess_of(options, e, error, bar, estimate):
    """How often an error is as large as it may be: ten times its bar and WRONG, or, of a value that the run does not mark,
    ten times the error of u or WRONG; and the kind of what is wrong."""
    if bar is not None:
        return error/(10*bar/e["scale"] + WRONG), "bar of " + e["kind"]
    seen = 10*max(estimate or 0.0, 1e-15)*max(1.0, e.get("sees", 0.0)/e["scale"])  # what an error of u would do to it
    if error <= seen and "derived" in options.skip:
        return 0.0, ""
    return error/max(10*(estimate or 0.0), WRONG), e["kind"] + (", by the error of u" if error <= seen else "")


def compare(options, p, result, record):
    """Every value with its answer; of those that are marked, their bars."""
    found, estimate, notes = numbers(result)
    bars = told(result)
    worst = 1.0
    record.update(values=0, marked=0, measured=0, wide=0)
    for e in p["expect"]:
        got, scale = found.get(e["name"]), e["scale"]
        if e["kind"] in options.skip or scale == 0.0:
            continue
        if got is None:
            record.update(verdict="failure", note=f"{e['name']} is missing")
            return
        error, bar = abs(got - e["want"])/scale, bars.get(e["name"])
        if bar is None and any(f"'{e['name']}'" in note for note in notes):
            record["marked"] += 1
            continue
        record["values" if bar is None else "marked"] += 1
        if bar is None:
            record["true"] = max(record["true"], error)
        elif error > 1e-12:
            record["measured"] += 1
            record["wide"] += bar > WIDE*error*scale
        excess, kind = excess_of(options, e, error, bar, estimate)
        if excess > worst:
            worst = excess
            within = "" if bar is None else f", with a bar of {bar:.1e}"
            record.update(true=error, kind=kind, note=f"{e['name']} is {got:.9g} for {e['want']:.9g}{within}", verdict="violation")


def alarm(options, p, run, record):
    """Of status 1 after a solve that converged: a false alarm when every value that is marked is right."""
    result = run["result"] or {}
    if "values" not in result or not result["solver"].get("converged"):
        return record
    found, record["estimate"], _ = numbers(result)
    marked = told(result)
    errors = [abs(found[e["name"]] - e["want"])/e["scale"] for e in p["expect"] if e["name"] in marked and e["scale"] != 0.0]
    record["true"] = max(errors, default=0.0)
    if record["true"] <= RIGHT:
        record.update(verdict="alarm", note="the values that are not trusted are right")
    return record


def files_of(p, folder, result):
    """Reads what the run wrote; "", or what is wrong with it."""
    if "output" not in p["case"]:
        return ""
    try:
        import vtu
    except ImportError:  # no NumPy
        return ""
    try:
        grid = vtu.read(str(folder / p["case"]["output"]["file"]))
    except vtu.Refused as refused:
        return str(refused)
    for fields in (grid.point_fields, grid.cell_fields):
        for field in fields.values():
            if not all(map(math.isfinite, field.values().ravel().tolist())):
                return f"{field.name} has numbers that are not finite"
    if len(grid.types) < result["mesh"]["cells"]:
        return f"{len(grid.types)} cells were written of {result['mesh']['cells']}"
    rows = (folder / "line.csv").read_text(encoding="utf-8").split("\n")
    table = [float(row.split(",")[-1]) for row in rows[1:] if row]
    if table != result["values"]["line"]:
        return "the table is not the line of the JSON"
    return ""


# Solutions that the case knows (boxes)

def judge(options, p, folder):
    """A record of the problem: how it ended, its true error, and what to think of it."""
    record = {"index": p["index"], "words": describe(p), "extreme": p["extreme"], "verdict": "", "true": None,
              "estimate": None, "second": None, "note": "", "family": p["family"]}
    if p["family"] != "box":
        return judge_values(options, p, folder, record)
    run = solve(options, p, folder, {})
    record.update(status=run["status"], message=run["message"], seconds=run["seconds"])
    if run["status"] in (1, 2, 3):
        if run["status"] == 1:  # can others solve it?
            other = solve_again(options, p, folder)
            record["second"] = relative(p, other)
            record["estimate"] = ((run["result"] or {}).get("solver") or {}).get("error")
            if options.before and record["estimate"] is not None:
                bold = solve(options, p, folder, {}, program=options.before)
                record["true"] = relative(p, bold) if p["polynomial"] else difference(bold, other)
        return record
    if run["status"] != 0:
        record["verdict"] = "failure"
        return record
    result = run["result"]
    rtol = p["case"]["solver"].get("rtol", 1e-10)
    error = relative(p, run)
    record.update(error=error, residual=result["solver"]["residual"], estimate=result["solver"].get("error"),
                  used=f"{result['solver']['method']} {result['solver'].get('preconditioner', '')}",
                  reason=result["solver"]["reason"], notes=result.get("notes", []))
    limit = max(10*rtol, 1e-8)
    doubt = 0.0  # what the second solve says of its own error
    if p["polynomial"]:
        record["true"] = error
        suspect = error > limit
        if suspect or record["estimate"] is not None and error > 10*max(record["estimate"], 1e-13):
            record["second"] = relative(p, solve_again(options, p, folder))
    else:
        other = solve_again(options, p, folder)
        record["second"] = relative(p, other)
        suspect = False
        if other["status"] == 0:
            record["true"] = difference(run, other)
            doubt = other["result"]["solver"].get("error") or 0.0
            suspect = record["true"] > limit or error > 10*record["second"] + limit
        if error > 1e-3:
            space = {**p["case"]["discretization"], "degree": p["degree"] + 2}
            finer = solve(options, p, folder, {"solver": DIRECT, "discretization": space})
            if finer["status"] == 0 and relative(p, finer) > error/2:
                suspect, record["note"] = True, f"{relative(p, finer):.1e} with two degrees more"
    if suspect:
        record["verdict"] = "suspect"
    if record["true"] is not None and record["estimate"] is not None:
        record["honest"] = record["true"] <= 10*max(record["estimate"] + doubt, 1e-13)
        if not record["honest"]:
            record["verdict"] = "violation" if record["true"] > WRONG else "little"
    elif suspect:
        record["verdict"] = "violation"
    if record["note"]:
        record["verdict"] = "violation"
    return record


def relative(p, run):
    """The error of u against the size of u; None without a solution."""
    return run["result"]["errors"]["u"]["L2"]/p["size"] if run["status"] == 0 else None
