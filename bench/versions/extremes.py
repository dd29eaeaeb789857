#!/usr/bin/env python3
"""The table of two versions of facet from the output of bench/versions/extremes.c linked with each:

    bench/versions/extremes.py BEFORE.txt AFTER.txt

Ratios of times, least to greatest over degrees and solutions."""

import sys


def read(path):
    times = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) == 8:
                times[tuple(words[:6])] = float(words[7])
    return times


def kind(field):
    return {"von_mises": "von Mises"}.get(field, "component")


def main():
    before, after = read(sys.argv[1]), read(sys.argv[2])
    ratios = {}
    for case in before.keys() & after.keys():
        mesh, _, _, equation, field, take = case
        magnitude = field == "q" or (field == "u" and equation == "elasticity")
        of = f"{'magnitude' if magnitude else kind(field)}, {take}"
        ratios.setdefault(mesh, {}).setdefault(of, []).append(after[case] / before[case])
    columns = [f"{of}, {take}" for of in ("component", "magnitude", "von Mises") for take in ("max", "min")]
    print("| mesh | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for mesh in sorted(ratios):
        row = [f"{min(r):.2f} to {max(r):.2f}" if (r := ratios[mesh].get(column)) else "" for column in columns]
        print(f"| {mesh.replace('_', ', ')} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
