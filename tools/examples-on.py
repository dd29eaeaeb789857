#!/usr/bin/env python3
"""Solves every case of examples/ on a device and on `cpu` and prints a table: the largest difference of their errors
and values, and the seconds of both, from exec to exit.

    tools/examples-on.py [--device cuda] [--program build/facet] [--all] [--repeat N] [CASE ...]

Numbers are compared relative to the larger of 1 and themselves. Exit status 1 where some differ by more than 1e-8 or a
run fails; what the device refuses is told with its sentence, and counts as a failure with --all. --repeat: the least of
so many times. CASE: files, instead of the examples."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

TOLERANCE = 1e-8
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def solve(program, case, device):
    """Seconds, exit status, and the result or what was said."""
    with tempfile.TemporaryDirectory() as place:
        begin = time.perf_counter()
        done = subprocess.run([program, "solve", case, "--device", device, "--quiet", "--json", "result.json"],
                              cwd=place, capture_output=True, text=True)
        seconds = time.perf_counter() - begin
        if done.returncode != 0:
            return seconds, done.returncode, (done.stderr or done.stdout).strip()
        with open(os.path.join(place, "result.json")) as file:
            return seconds, 0, json.load(file)


def difference(a, b):
    """The largest of two results of one shape; infinite where their shapes differ."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return max((difference(a[key], b[key]) for key in a), default=0.0)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return max((difference(x, y) for x, y in zip(a, b)), default=0.0)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) / max(1.0, abs(a))
    return 0.0 if a == b else float("inf")


def numbers(result):
    return [{key: one.get(key, {}) for key in ("errors", "values")} for one in result.get("cases", [result])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "facet"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    arguments = parser.parse_args()
    program, device = os.path.abspath(arguments.program), arguments.device
    examples = os.path.join(ROOT, "examples")
    cases = [os.path.abspath(case) for case in arguments.cases] or sorted(
        os.path.join(examples, name) for name in os.listdir(examples) if name.endswith(".yaml"))
    failed = False
    print(f"{'case':24} {'difference':>10} {'cpu':>8} {device:>8}")
    for case in cases:
        runs = {}
        for name in ("cpu", device):
            several = [solve(program, case, name) for _ in range(max(1, arguments.repeat))]
            runs[name] = (min(seconds for seconds, _, _ in several), *several[0][1:])
        worst = "-"
        notes = [text for _, status, text in runs.values() if status != 0]
        if not notes:
            largest = difference(numbers(runs["cpu"][2]), numbers(runs[device][2]))
            worst = f"{largest:.1e}"
            failed |= not largest <= TOLERANCE
        refused = runs["cpu"][1] == 0 and runs[device][1] == 2
        failed |= bool(notes) and (arguments.all or not refused)
        print(f"{os.path.basename(case).removesuffix('.yaml'):24} {worst:>10} {runs['cpu'][0]:8.3f} "
              f"{runs[device][0]:8.3f}{'  ' if notes else ''}{' '.join(notes)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
