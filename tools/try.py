#!/usr/bin/env python3
"""Looks for runs that end with status 0 and a wrong number: solves random problems whose answer is known.

Usage: try.py N SEED [-j J] [--first I] [--facet PROGRAM] [--mpi PROGRAM] [--family NAME,..] [--extreme SHARE]
              [--skip KIND,..] [--only I] [--keep DIR] [--json FILE] [--before PROGRAM] [--timeout SECONDS]
              [--within SECONDS] [--suspects]

Solves N problems from number I (0) on, J at a time with one thread each; all that it needs is Python. Problem i of a
seed depends on seed, i, SHARE, the families and on whether there is a program for ranks, and on nothing else. SHARE of
them (by default half) are extreme: units, moduli and contacts over many orders of magnitude, slender cells.

    box       polynomials and smooth functions as `exact`, on boxes or files like them; every method and solver
    heat      layers one behind the other: contacts, electrodes, Robin, sources; u piecewise linear or quadratic
    bar       the same pulled: springs, forces, heat by group, rollers, planes of symmetry
    flow      a linear u on any cells, straight or curved, K a matrix
    stress    a linear displacement: isotropic, orthotropic, plane strain and stress, heat, springs, both formulations
    mean      joined sides with a mean gradient or strain
    chain     a linear temperature and the body that it bends without stress
    pipe      layers around each other with contacts, and lame: a cylinder under pressure

Of `box`, two thirds have a solution in the discrete space, so that the error of u is that of the algebra; the others
are compared along a line, in the mean square, with a second solve of the same discretization, direct where the first
was not. All others compare values: at points, means, integrals, fluxes, forces, potentials, extremes, each with its own
answer and relative to its own scale (u to the largest |u| of its group, fluxes and forces to the largest of the
problem). Some run on ref and debug, with --mpi on 2 to 5 ranks, and some write files, which are read again. A run is

    a violation    when it ends with status 0 and a wrong number: the error is more than ten times the estimate of the
                   run (solver.error of the JSON; where a second solve is the measure, with its own estimate added) and
                   above 1e-7, and neither `bars` nor a note names the value; or more than ten times its bar and 1e-7;
    a false alarm  when it ends with status 1 because values are not trusted, all of which are right to 1e-6;
    a failure      when it crashes, runs out of time (--timeout), writes numbers that are not finite or a file that
                   cannot be read, or ends with another status without a sentence;
    a suspect      (`box`) when its error is above 10 rtol and 1e-7 of u, or when a smooth solution does not get better
                   with the degree; without an estimate every suspect is a violation.

Prints them (suspects with --suspects), worst first, each with the call that repeats it, and counts all other ends of
runs by their message. --skip leaves kinds of values out (extreme, potential, flux, ..; derived: fluxes and stresses
whose error is what the estimated error of u makes of them). After --within seconds no
problem is begun any more, and the summary counts the problems that were begun. Exits 1 after a violation or failure. Of
solutions that are "not trusted", --before names a program that writes them all the same: which were good?
"""
import argparse
import collections
import concurrent.futures
import contextlib
import functools
import json
import math
import os
import re
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
from trial.draw import FAMILIES, draw  # noqa: E402
from trial.judge import WIDE, WRONG, judge, write_case  # noqa: E402


def kind(message):
    text = re.sub(r"^facet: (\S+\.(yaml|msh):[\d:]* )?", "", message)
    return re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?", "#", re.sub(r"'[^']*'", "'...'", text))[:150]


def short(value):
    return "-" if value is None else f"{value:.1e}"


def print_record(options, record):
    words = [f"true {short(record['true'])}", f"estimate {short(record['estimate'])}"]
    words += [f"second solve {short(record['second'])}"]
    words += [f"residual {short(record['residual'])}"] if "residual" in record else []
    words += [record.get("used", f"status {record['status']}")]
    words += [record["note"]] if record["note"] else []
    print(f"{record['index']:6d} {record['verdict']}: {', '.join(words)}\n       {record['words']}")
    reason = record.get("reason", record["message"] if record["verdict"] == "failure" else "")
    if reason not in ("", "the tolerance was reached"):
        print(f"       {reason}")
    share = "" if options.extreme == 0.5 else f" --extreme {options.extreme:g}"
    share += f" --family {','.join(options.family)}" if options.family else ""
    share += " --mpi PROGRAM" if options.mpi else ""
    print(f"       again: tools/try.py 1 {options.seed} --only {record['index']}{share}")


def summary(options, records):
    if not records:
        print("0 problems")
        return 0
    total = collections.Counter(str(record["status"]) for record in records)
    times = sorted(record["seconds"] for record in records)
    print(f"{len(records)} problems; by status: " + ", ".join(f"{k}: {n}" for k, n in sorted(total.items())) +
          f"; seconds: median {times[len(times)//2]:.2f}, most {times[-1]:.2f}")
    runs = [status for record in records for status in record.get("runs", [])]
    print(f"{len(runs)} runs, second solves included: {runs.count('timeout')} out of time, "
          f"{sum(str(status).startswith(('signal', 'sanitizer')) for status in runs)} crashed")
    wanted = options.count if options.only is None else 1
    if len(records) < wanted:
        print(f"{wanted - len(records)} of {wanted} were not begun: {options.within:.0f} seconds were over")
    judged = [r for r in records if r["status"] == 0]
    print(f"solved    {sum(not r['extreme'] for r in judged)} mild, {sum(r['extreme'] for r in judged)} extreme; "
          f"{sum(r['true'] is None for r in judged)} without a second solve to compare with")
    checked = sum(r.get("values", 0) for r in judged)
    print(f"families  " + ", ".join(f"{name} {n}" for name, n in collections.Counter(r["family"] for r in records).items()) +
          f"; {checked} values compared, {sum(r.get('marked', 0) for r in judged)} more that the runs mark themselves")
    print(f"bars      {sum(r.get('measured', 0) for r in judged)} of errors above 1e-12, "
          f"{sum(r.get('wide', 0) for r in judged)} of them more than {WIDE} times too large")
    both = [r for r in judged if r["true"] is not None and r["true"] > 1e-12 and r["estimate"] is not None]
    if both:
        near = sum(1/30 <= max(r["estimate"], 1e-300)/r["true"] <= 30 for r in both)
        above = sum(r["estimate"] > 30*r["true"] for r in both)
        print(f"estimates of {len(both)} true errors above 1e-12: {near} within a factor of 30 "
              f"({100*near/len(both):.1f} %), {above} larger, {len(both) - near - above} smaller")
    for status in (1, 2, 3):
        ends = collections.defaultdict(list)
        for record in records:
            if record["status"] == status:
                ends[kind(record["message"])].append(record)
        for text, group in sorted(ends.items(), key=lambda item: -len(item[1])):
            mild = sum(not r["extreme"] for r in group)
            others = sum((r["second"] or 1) < 1e-6 for r in group)
            others = f", {others} solved to 1e-6 otherwise" if status == 1 else ""
            print(f"status {status}  {len(group)} times ({mild} mild{others}; first {group[0]['index']}): {text}")
    for r in sorted(records, key=lambda r: r["true"] or 0):
        if r["status"] == 1 and r["true"] is not None and r["estimate"] > 30*r["true"]:
            print_record(options, {**r, "verdict": "not trusted, though good" if r["true"] < 1e-6 else "estimate too large"})
    bad = [r for r in records if r["verdict"]]
    order = ("failure", "violation", "alarm", "little", "suspect")
    bad.sort(key=lambda r: (order.index(r["verdict"]), -max(r["true"] or 0, r.get("error", 0) if r["note"] else 0)))
    for record in bad:
        if record["verdict"] == "suspect" and not options.suspects:
            continue
        print_record(options, record)
    count = collections.Counter(r["verdict"] for r in bad)
    wrong = collections.Counter((r["family"], r.get("kind", "u")) for r in bad if r["verdict"] == "violation")
    for (family, what), n in wrong.most_common():
        print(f"violations of {family}, {what}: {n}")
    print(f"{count['failure']} failures, {count['violation']} violations, {count['alarm']} false alarms, {count['little']} "
          f"more with errors below {WRONG:g}, {count['suspect']} suspects that say so")
    return count["failure"] + count["violation"] + count["alarm"]


def try_one(options, index):
    """The record of a problem; None when it came too late."""
    if time.monotonic() > options.deadline:
        return None
    record = {"index": index, "words": "", "family": "none", "extreme": None, "verdict": "failure", "true": None, "estimate": None,
              "second": None, "note": "", "status": "exception", "message": "", "seconds": 0.0}
    with tempfile.TemporaryDirectory() as place:
        try:
            p = draw(options.seed, index, options.extreme, options.family, bool(options.mpi))
            record = judge(options, p, Path(place))
            record["runs"] = p["runs"]
            if any(str(status).startswith(("signal", "sanitizer")) for status in p["runs"]):
                record["verdict"] = "failure"
        except Exception:  # what the program wrote cannot be read, say: the other problems go on
            record["message"] = traceback.format_exc()
            return record
        if options.keep and (record["verdict"] or options.only is not None):
            options.keep.mkdir(parents=True, exist_ok=True)
            write_case(p, options.keep, f"try-{options.seed}-{index}", {})
        if options.only is not None:
            print(write_case(p, Path(place), "case", {}).read_text(encoding="utf-8"))
            print(json.dumps(record, indent=2))
        elif record["verdict"] and sys.stderr.isatty():
            print(f"{index}: {record['verdict']}, true {short(record['true'])}", file=sys.stderr)
    return record


def try_all(options):
    """The records of all problems that were begun, by their numbers; the same for any number of processes."""
    indices = [options.only] if options.only is not None else range(options.first, options.first + options.count)
    records = []
    with contextlib.ExitStack() as stack:
        together = map
        if options.processes > 1:
            pool = stack.enter_context(concurrent.futures.ProcessPoolExecutor(options.processes))
            together = pool.map
        try:
            for record in together(functools.partial(try_one, options), indices):
                if record is not None:
                    records.append(record)
        except KeyboardInterrupt:  # those that are done count
            print("interrupted")
            options.within = time.monotonic() - options.began
            if options.processes > 1:
                pool.shutdown(wait=False, cancel_futures=True)
    return records


def main():
    parser = argparse.ArgumentParser(description="Random problems with known answers: looks for wrong ones.")
    parser.add_argument("count", type=int, metavar="N", help="how many problems")
    parser.add_argument("seed", type=int, metavar="SEED")
    parser.add_argument("-j", "--processes", type=int, default=1, metavar="J", help="problems at a time")
    parser.add_argument("--first", type=int, default=0, metavar="I", help="the number of the first problem")
    parser.add_argument("--facet", default=os.environ.get("FACET_PROGRAM", "build/facet"), help="the program")
    parser.add_argument("--mpi", metavar="PROGRAM", help="facet-mpi: some problems run on 2 to 5 ranks")
    parser.add_argument("--launcher", default="mpiexec --oversubscribe", metavar="WORDS", help="what starts ranks")
    parser.add_argument("--family", type=lambda text: text.split(","), default=[], metavar="NAME,..",
                        help="of problems: " + ", ".join(FAMILIES))
    parser.add_argument("--skip", type=lambda text: text.split(","), default=[], metavar="KIND,..",
                        help="kinds of values that are not judged")
    parser.add_argument("--extreme", type=float, default=0.5, metavar="SHARE", help="of extreme problems")
    parser.add_argument("--only", type=int, metavar="I", help="this problem alone; prints its case and record")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the case files of bad runs are kept")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all records")
    parser.add_argument("--suspects", action="store_true", help="are printed too")
    parser.add_argument("--before", metavar="PROGRAM", help="one that trusts every solution")
    parser.add_argument("--timeout", type=float, default=60, metavar="SECONDS", help="of a run")
    parser.add_argument("--within", type=float, default=math.inf, metavar="SECONDS", help="problems begin until then")
    options = parser.parse_args()
    options.facet = os.path.abspath(options.facet)
    options.before = options.before and os.path.abspath(options.before)
    options.mpi = options.mpi and os.path.abspath(options.mpi)
    options.began = time.monotonic()
    options.deadline = options.began + options.within
    if not os.access(options.facet, os.X_OK):
        parser.error(f"there is no program {options.facet}")
    unknown = [name for name in options.family if name not in FAMILIES]
    if unknown:
        parser.error(f"there is no family {unknown[0]}; there are {', '.join(FAMILIES)}")
    if options.processes < 1:
        parser.error("at least one process is needed")
    records = try_all(options)
    if options.json:
        options.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if summary(options, records) else 0)


if __name__ == "__main__":
    main()
