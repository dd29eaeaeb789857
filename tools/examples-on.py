#!/usr/bin/env python3
"""Solves every case of examples/ on a device, or over MPI, and by one process on `cpu`, and prints a table: the largest
difference of their errors and values, and the seconds of both, from exec to exit.

    tools/examples-on.py [--device cuda] [--program build/facet] [--all] [--repeat N] [CASE ...]
    tools/examples-on.py --ranks 1,2,3,4,7,8 [--mpi build/facet-mpi] [CASE ...]

Numbers are compared relative to the larger of 1 and themselves. Exit status 1 where one differs by more than 1e-8 or a
run fails; what the device refuses is told with its sentence, and counts as a failure with --all. --repeat: the least of
so many times. CASE: files, instead of the examples. A number that differs by more may be what is left of much larger ones
(a force that vanishes, of stresses of 1e8), and has no digits to compare. Whether it is, the host decides by itself: the
case is solved on `ref` as well, other code and another order of sums. Where `ref` differs from `cpu` by more than 1e-8
too, up to ten times that is accepted, and the line names the number and both differences.

--ranks: with rtol 1e-12 on both sides. Numbers, counts of the mesh and unknowns, volume and balance of every number of
ranks are compared with those of one process: by more than 1e-9 (relative to the largest of a list) is a failure, unless
one process finds as much between a direct solve and conjugate gradients: what cancels has no digits to compare.
Iterations are compared with those of the fewest ranks above one, whose levels and coarse solves are the same, and of one
rank with those of one process, if it took the same method: more than one more or fewer is a failure, unless the residual
came down to rounding (marked ~), where the last steps are chance."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

TOLERANCE = 1e-8
RANKS_TOLERANCE = 1e-9
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT = 180  # seconds of a run, beside others


def solve(command, case, *options):
    """Seconds, exit status, and the result or what was said."""
    with tempfile.TemporaryDirectory() as place:
        begin = time.perf_counter()
        try:
            done = subprocess.run([*command, "solve", case, *options, "--quiet", "--json", "result.json"], cwd=place,
                                  capture_output=True, text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return LIMIT, 124, f"did not end within {LIMIT} s"
        seconds = time.perf_counter() - begin
        if done.returncode != 0:
            return seconds, done.returncode, said(done.stderr or done.stdout)
        with open(os.path.join(place, "result.json")) as file:
            return seconds, 0, json.load(file)


def said(text):
    """What the program said, without what mpiexec adds."""
    own = [line for line in text.splitlines() if line.startswith(("facet: ", "facet-mpi: "))]
    return "\n".join(own) or text.strip()


def difference(a, b):
    """The largest of two results of one shape; infinite where their shapes differ."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return max((difference(a[key], b[key]) for key in a), default=0.0)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return max((difference(x, y) for x, y in zip(a, b)), default=0.0)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) / max(1.0, abs(a))
    return 0.0 if a == b else float("inf")


def flat(x):
    return [z for y in x for z in flat(y)] if isinstance(x, list) else [x]


def difference_of_size(a, b):
    """The same, of lists and numbers relative to the largest of their own numbers."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return max((difference_of_size(a[key], b[key]) for key in a), default=0.0)
    one, two = flat(a), flat(b)
    if len(one) != len(two) or not all(isinstance(x, (int, float)) for x in one + two):
        return difference(a, b)
    size = max([abs(x) for x in one if x is not None] + [1e-300])
    return max((abs(x - y) / size for x, y in zip(one, two)), default=0.0)


def without_digits(cpu, ref, other):
    """Of results whose numbers differ: the largest difference of those that the host knows, and words for the rest."""
    known, words = 0.0, []
    for a, b, c in zip(numbers(cpu), numbers(ref), numbers(other)):
        known = max(known, difference(a["errors"], c["errors"]))
        for name in a["values"]:
            own, found = (difference(a["values"][name], x["values"].get(name)) for x in (b, c))
            if TOLERANCE < found <= 10 * own and own > TOLERANCE:
                words.append(f"{name}: {found:.1e}, on ref {own:.1e}")
            else:
                known = max(known, found)
    return known, words


def numbers(result):
    return [{key: one.get(key, {}) for key in ("errors", "values")} for one in result.get("cases", [result])]


def on_device(arguments, cases):
    program, device = [os.path.abspath(arguments.program)], arguments.device
    failed = False
    print(f"{'case':24} {'difference':>10} {'cpu':>8} {device:>8}")
    for case in cases:
        runs = {}
        for name in ("cpu", device):
            several = [solve(program, case, "--device", name) for _ in range(max(1, arguments.repeat))]
            runs[name] = (min(seconds for seconds, _, _ in several), *several[0][1:])
        worst = "-"
        notes = [text for _, status, text in runs.values() if status != 0]
        if not notes:
            largest = difference(numbers(runs["cpu"][2]), numbers(runs[device][2]))
            if largest > TOLERANCE:
                _, status, ref = solve(program, case, "--device", "ref")
                if status == 0:
                    largest, notes = without_digits(runs["cpu"][2], ref, runs[device][2])
            worst = f"{largest:.1e}"
            failed |= not largest <= TOLERANCE
        refused = runs["cpu"][1] == 0 and runs[device][1] == 2
        failed |= any(status != 0 for _, status, _ in runs.values()) and (arguments.all or not refused)
        print(f"{os.path.basename(case).removesuffix('.yaml'):24} {worst:>10} {runs['cpu'][0]:8.3f} "
              f"{runs[device][0]:8.3f}{'  ' if notes else ''}{' '.join(notes)}", flush=True)
    return failed


def what_differs(one, other, many):
    """Worst difference of values and errors, beyond ten times that of `other` (of one process by another method, or None),
    and the names of counts that are not the same, or balance."""
    worst, names = 0.0, []
    others = other.get("cases", [other]) if other else one.get("cases", [one])
    for a, o, b in zip(one.get("cases", [one]), others, many.get("cases", [many])):
        names += [key for key in ("mesh", "unknowns") if difference_of_size(a.get(key, {}), b.get(key, {})) > 1e-12]
        names += ["balance"] * (b.get("balance", 0.0) > max(1e-11, 10 * max(a.get("balance", 0.0), o.get("balance", 0.0))))
        found, rest, wanted = numbers(b)[0], numbers(o)[0], numbers(a)[0]
        for key, value in wanted["values"].items():
            differ = difference_of_size(value, found["values"].get(key))
            if not RANKS_TOLERANCE < differ <= 10 * difference_of_size(value, rest["values"].get(key)):
                worst = max(worst, differ)
        # errors of a solution are what is left of a difference: they have the digits of the solution, not their own
        worst = max(worst, difference(wanted["errors"], found["errors"]))
    return worst, names


def iterations(result):
    return [one["solver"].get("iterations", 0) for one in result.get("cases", [result])]


def is_at_rounding(result):
    return any("rounding" in one["solver"].get("reason", "") for one in result.get("cases", [result]))


def tight(case):
    """Options for a small residual, of every one of several cases in a file."""
    with open(case) as file:
        text = file.read()
    n = len(re.findall("^  - name:", text.split("\ncases:")[1], re.M)) if "\ncases:" in text else 0
    keys = [f"cases.{i}.solver.rtol" for i in range(n)] or ["solver.rtol"]
    return [word for key in keys for word in ("--set", key + "=1e-12")], [key.replace("rtol", "method") for key in keys]


def method_of(result):
    return [(one["solver"]["method"], one["solver"].get("preconditioner")) for one in result.get("cases", [result])]


def over_ranks(arguments, cases):
    counts = [int(n) for n in arguments.ranks.split(",")]
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1"}
    os.environ.update({key: value for key, value in environment.items() if key not in os.environ})
    runner = ["mpiexec", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n"]
    failed = False
    print("| case | one process: method, iterations | s | " + " | ".join(f"{n} rank{'s' if n > 1 else ''}" for n in counts) + " |")
    print("|---|---|---|" + "---|" * len(counts))
    for case in cases:
        name = os.path.basename(case).removesuffix(".yaml")
        small, methods = tight(case)
        options = ["--threads", "1", *small]
        seconds, status, one = solve([os.path.abspath(arguments.program)], case, *options)
        if status != 0:
            print(f"| {name} | {one} |")
            failed = True
            continue
        instead = "cg" if method_of(one)[0][0] == "direct" else "direct"
        _, status, other = solve([os.path.abspath(arguments.program)], case, *options,
                                 *[word for key in methods for word in ("--set", f"{key}={instead}")])
        other = other if status == 0 else None
        method = " / ".join(" + ".join(filter(None, words)) for words in method_of(one))
        row, first = [name, f"{method}, {', '.join(map(str, iterations(one)))}", f"{seconds:.1f}"], None
        for n in counts:
            _, status, many = solve([*runner, str(n), os.path.abspath(arguments.mpi)], case, *options)
            if status != 0:
                row.append(" ".join(many.split()).replace("|", "/").removeprefix("facet-mpi: ").replace(ROOT + "/", ""))
                failed |= status != 2
                if status in (2, 124) and n == counts[0]:
                    break  # refused, or hopeless, whatever the number of ranks
                continue
            worst, names = what_differs(one, other, many)
            if n == 1:
                wanted = iterations(one if method_of(one) == method_of(many) else many)
            else:
                wanted = first = first or iterations(many)
            steps = max((abs(a - b) for a, b in zip(iterations(many), wanted)), default=0)
            rounding = is_at_rounding(many)
            bad = names + [f"{worst:.0e}"] * (not worst <= RANKS_TOLERANCE)
            bad += [f"{steps} iterations off"] * (steps > 1 and not rounding)
            failed |= bool(bad)
            row.append(f"{worst:.0e}, {', '.join(map(str, iterations(many)))}{'~' * rounding}" +
                       (" **" + ", ".join(bad) + "**" if bad else ""))
        print("| " + " | ".join(row + [""] * (3 + len(counts) - len(row))) + " |", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "facet"))
    parser.add_argument("--mpi", default=os.path.join(ROOT, "build", "facet-mpi"))
    parser.add_argument("--ranks")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    arguments = parser.parse_args()
    examples = os.path.join(ROOT, "examples")
    cases = [os.path.abspath(case) for case in arguments.cases] or sorted(
        os.path.join(examples, name) for name in os.listdir(examples) if name.endswith(".yaml"))
    return 1 if (over_ranks if arguments.ranks else on_device)(arguments, cases) else 0


if __name__ == "__main__":
    sys.exit(main())
