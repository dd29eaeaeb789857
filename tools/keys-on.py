#!/usr/bin/env python3
"""Solves small cases with every word of the keys that choose a method (`discretization`, `solver`, `plane`), for every
kind of cells and equation, on `cpu` and on a device, and prints a table: the largest difference of errors and values,
the iterations of both, and what the device says that it leaves to the host.

    tools/keys-on.py [--device cuda] [--program build/facet] [--jobs N] [--some N] [--refused] [PLACE ...]

Words of `solver` come from `facet help --markdown`, so that a new one is tried as well, and one of `discretization` that
no case has is a failure. What `cpu` refuses is no case (listed with
--refused). Exit status 1 where the device refuses what `cpu` takes, or numbers differ by
more than 1e-8 of the larger of 1 and themselves. PLACE: those of them; --some: one of n cases, by chance that is always
the same."""

import argparse
import concurrent.futures
import importlib
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
examples = importlib.import_module("examples-on")
EXACT = {2: "sin(2*x)*exp(y)", 3: "sin(2*x)*exp(y)*(1+z*z)"}
BODY = {2: ["sin(x)*y", "x*cos(2*y)"], 3: ["sin(x)*y", "x*cos(2*y)+z", "x*z*y"]}
DEFAULTS = ("hdg", "symmetric")  # words of discretization that cases have without saying so
CELLS = {"triangle": [8, 6], "quad": [12, 8], "tet": [2, 2, 2], "hex": [4, 4, 2], "prism": [2, 2, 2]}


def words_of(program):
    """By key of discretization and solver its words."""
    text = subprocess.run([program, "help", "--markdown"], capture_output=True, text=True, check=True).stdout
    words = {}
    for section in re.split("^### ", text, flags=re.M)[1:]:
        name = section.split("\n", 1)[0]
        if name in ("discretization", "solver"):
            for key, list_ in re.findall(r"^\| `(\w+)` \| one of ([^|]+) \|", section, re.M):
                words[key if name == "solver" else "discretization." + key] = list_.split(", ")
    return words


def box(shape, lower=0, cells=None):
    cells = cells or CELLS[shape]
    return {"box": {"lower": [lower] + [0] * (len(cells) - 1), "upper": [lower + 1, 1.5, 0.8][:len(cells)],
                    "cells": cells, "shape": shape}}


def diffusion(shape, degree=2, lower=0, **more):
    return {"mesh": box(shape, lower), "equation": "diffusion", "exact": EXACT[len(CELLS[shape])], "conductivity": 2,
            "discretization": {"degree": degree}, **more}


def body(shape, degree=1, lower=0, **more):
    cells = [max(1, n // 2) for n in CELLS[shape]]
    return {"mesh": box(shape, lower, cells), "equation": "elasticity", "exact": BODY[len(cells)],
            "material": {"mu": 2, "lambda": 3}, "discretization": {"degree": degree}, **more}


def meshes(name, **more):
    """Of tets, pyramids, prisms and hexes at once, or curved ones."""
    return {"mesh": {"file": os.path.join(ROOT, "examples", "meshes", name)}, **more}


def places():
    """By name a case; solver keys are added to it."""
    all_ = {}
    for shape in CELLS:
        all_[f"hdg, {shape}"] = diffusion(shape, discretization={"degree": 2, "operator": "mapped"})
        all_[f"condensed, {shape}"] = diffusion(shape, discretization={"degree": 3, "method": "condensed"})
        all_[f"varying, {shape}"] = diffusion(shape, conductivity="1 + x*y", reaction="x")
        all_[f"body, {shape}"] = body(shape)
        all_[f"gradient, {shape}"] = body(shape, discretization={"degree": 1, "formulation": "gradient"})
    for shape in ("quad", "hex"):
        all_[f"tensor, {shape}"] = diffusion(shape, discretization={"degree": 3, "operator": "tensor"})
        all_[f"continuous, {shape}"] = diffusion(shape, discretization={"degree": 3, "method": "continuous"})
        all_[f"continuous by cell, {shape}"] = diffusion(
            shape, discretization={"degree": 2, "method": "continuous"}, conductivity="x < 0.5 ? 1 : 3",
            exact=None, source="1", boundary=[{"on": "xmin", "dirichlet": 0}, {"on": "rest", "neumann": "y"}],
            values=[{"name": "mean", "field": "u", "take": "mean"}, {"name": "most", "field": "u", "take": "max"}])
    for shape in ("triangle", "quad"):
        all_[f"revolution, {shape}"] = diffusion(shape, lower=1, plane="axisymmetric")
        all_[f"revolved body, {shape}"] = body(shape, lower=1, plane="axisymmetric")
        all_[f"plane stress, {shape}"] = body(shape, plane="stress")
    values = [{"name": "mean", "field": "u", "take": "mean"}, {"name": "most", "field": "u", "take": "max"}]
    all_["transition"] = meshes("transition.msh", equation="diffusion", source="x + z", values=values, conductivity=2,
                                discretization={"degree": 1}, boundary=[{"on": "rest", "dirichlet": "x*y"}])
    all_["annulus"] = meshes("annulus.msh", equation="diffusion", source="x*sin(3*y)", values=values,
                             discretization={"degree": 2}, boundary=[{"on": "rest", "dirichlet": "x*y"}])
    return {name: {key: value for key, value in case.items() if value is not None} for name, case in all_.items()}


def solvers(words):
    """What may stand under solver: methods with preconditioners, then what belongs to a multigrid, one key at a time."""
    pairs = [*itertools.product(words["method"], words["preconditioner"])]
    found = [{"method": method, "preconditioner": which} for method, which in pairs if method != "petsc"]
    for which in ("pmg", "gmg", "patches", "amg", "additive", "chebyshev"):
        for key in ("cycle", "smoother", "precision", "coarse_device", "degrees"):
            for word in words[key]:
                if word not in ("auto", "same", "cuda", "ref"):
                    found.append({"preconditioner": which, key: word})
    found += [{"preconditioner": "gmg", "smoother": "fsai", "fill": 2}, {"preconditioner": "gmg", "smoother_degree": 3},
              {"preconditioner": "pmg", "smoother_degree": 2},
              {"preconditioner": "gmg", "coarse_device": "cpu", "coarse_unknowns": 300}]
    return found


def degrees():
    """High degrees, which take other kernels or none."""
    found = {}
    for shape, high in (("triangle", 16), ("quad", 16), ("tet", 7), ("hex", 6), ("prism", 5)):
        found[f"hdg, {shape}, degree {high}"] = {**diffusion(shape), "mesh": box(shape, 0, [2, 2, 1][:len(CELLS[shape])]),
                                                 "discretization": {"degree": high, "operator": "mapped"}}
    for shape in ("quad", "hex"):
        for method in ("tensor", "continuous"):
            for high in (9, 13, 15) + ((28, 32) if method == "tensor" else ()):
                how = {"operator": "tensor"} if method == "tensor" else {"method": "continuous"}
                found[f"{method}, {shape}, degree {high}"] = {
                    **diffusion(shape), "mesh": box(shape, 0, [4, 2, 2][:len(CELLS[shape])]),
                    "discretization": {"degree": high, **how}, "solver": {"method": "cg", "rtol": 1e-12}}
    return found


def cases(words):
    for name, case in places().items():
        for solver in solvers(words):
            yield name, {**case, "solver": {"rtol": 1e-12, **solver}}
    for name, case in degrees().items():
        yield name, case


def run(program, case, device):
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "case.yaml")
        with open(path, "w") as file:
            json.dump(case, file)
        return examples.solve([program], path, "--device", device, "--threads", "1")


def of_host(result):
    return [note for one in result.get("cases", [result]) for note in one.get("notes", []) if note.startswith("left to the host")]


def compare(program, device, name, case):
    """The row of a table and whether it fails."""
    solver = ", ".join(f"{key} {value}" for key, value in case.get("solver", {}).items() if key != "rtol")
    here = run(program, case, "cpu")
    if here[1] == 2:
        return f"| {name} | {solver} | refused | {' '.join(here[2].split())[:150]} |", False
    there = run(program, case, device)
    first = [" ".join(str(text).split())[:150] if status else "" for _, status, text in (here, there)]
    if here[1] != there[1]:
        return (f"| {name} | {solver} | **{here[1]}, {there[1]}** | {first[0]} {first[1]} |", True)
    if here[1] != 0:
        return (f"| {name} | {solver} | both end with {here[1]} | {first[0]} |", False)
    worst = examples.difference(examples.numbers(here[2]), examples.numbers(there[2]))
    steps = ", ".join(str(n) for result in (here[2], there[2]) for n in examples.iterations(result))
    bad = not worst <= examples.TOLERANCE
    return (f"| {name} | {solver} | {'**' * bad}{worst:.0e}{'**' * bad} | {steps} {' '.join(of_host(there[2]))} |", bad)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="*", metavar="PLACE")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "facet"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--some", type=int, default=1)
    parser.add_argument("--refused", action="store_true")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.program)
    words = words_of(program)
    unused = [f"{key}: {word}" for key, list_ in words.items() if key.startswith("discretization.") for word in list_
              if word != "auto" and not any(case["discretization"].get(key.split(".")[1]) == word or
                                            word in DEFAULTS for case in places().values())]
    if unused:
        print("no case has " + ", ".join(unused))
        return 1
    chance = random.Random(1)
    wanted = [(name, case) for name, case in cases(words)
              if chance.randrange(arguments.some) == 0 and
              (not arguments.places or any(name.startswith(place) for place in arguments.places))]
    failed, refused = 0, 0
    print("| case | solver | difference | iterations of cpu and " + arguments.device + "; what it says |\n|---|---|---|---|")
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for row, bad in pool.map(lambda one: compare(program, arguments.device, *one), wanted):
            failed += bad
            refused += "| refused |" in row
            if bad or arguments.refused or "| refused |" not in row:
                print(row, flush=True)
    print(f"\n{len(wanted)} cases, {refused} of which cpu refuses, and {failed} that differ or that {arguments.device} "
          "refuses alone")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
