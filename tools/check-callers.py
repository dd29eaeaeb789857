#!/usr/bin/env python3
"""Checks that every function with external linkage in the library has a caller.

A function that leaves its object is referenced from another object of the library or of the program's app/, is named in
src/dist or app/mpi (which are not built everywhere), is declared in include/facet.h, or stands in KEPT with a reason. Tests and benches are no callers: what only they need lives with
them. The objects are those of the build directory; how a function is reached (a call, a table of kernels) does not
matter, a reference is one.
Usage: check-callers.py [BUILD [ROOT]]; BUILD is FACET_BUILD_DIR or build. Prints each offence and exits 1 if there is one.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

# Nobody in the library calls these, and they stay: name or beginning of names (with *), and why.
KEPT = {
    "base_available_under": "test hook: limits read from a folder of the test's own",
    "base_memory_fail_at": "test hook: makes the k-th allocation fail",
    "base_memory_reset_peak": "benches measure the memory of a part of a run",
    "base_pretend_available": "test hook: a machine with little room",
    "box_axis_create": "the papers' algorithms in bench/papers build on it",
    "box_direction_*": "the same",
    "box_fold_*": "the same",
    "box_layers": "the same",
    "box_transform_*": "the same",
    "cholesky_factor": "test hook: a factor of a matrix that is kept",
    "device_copies": "GPU benches count what crosses the bus",
    "device_describe": "records of GPU benches name the machine",
    "fsai_factor": "test hook: the factor itself",
    "gmsh_read_bytes": "the fuzz target starts here",
    "mesh_bytes_per_cell": "test hook: what was promised against what is taken",
    "mesh_refine": "the fuzz target and tests refine without keeping the coarse mesh",
    "multigrid_diagnose": "test hook: the diagnosis without a failed solve",
}


def objects_of(build, root, target, top):
    """By source: what its object gives to others (functions alone) and takes from others, as nm tells it.

    Objects of sources that are gone linger in a build directory and do not count.
    """
    base = build / "CMakeFiles" / f"{target}.dir"
    paths = {str(path): str(path.relative_to(base).with_suffix("")) for path in sorted((base / top).rglob("*.o"))}
    paths = {path: source for path, source in paths.items() if (root / source).is_file()}
    result = {source: (set(), set()) for source in paths.values()}
    if paths:
        text = subprocess.run(["nm", "-A", "-P", *paths], check=True, capture_output=True, text=True).stdout
        for line in text.splitlines():
            path, _, symbol = line.rpartition(": ")
            name, letter = symbol.split()[:2]
            gives, takes = result[paths[path]]
            if letter == "U":
                takes.add(name)
            elif letter in "TWi" and not name.startswith("_"):  # names with _ in front are the compilers' own
                gives.add(name)
    return result


def kept(name):
    return any(name == word or word.endswith("*") and name.startswith(word[:-1]) for word in KEPT)


def offences(library, program, public, root):
    taken = {}
    for source, (_, takes) in {**library, **program}.items():
        for name in takes:
            taken.setdefault(name, set()).add(source)
    for source, (gives, _) in library.items():
        text = (root / source).read_text(encoding="utf-8")
        for name in sorted(gives):
            if name in taken or name in public or kept(name):
                continue
            if len(re.findall(rf"\b{name}\b", text)) > 1:
                yield source, name, "is used in its own file only: make it static and take it out of the header"
            else:
                yield source, name, "has no caller: delete it, or move it beside the bench or test that calls it"
    given = set().union(*(gives for gives, _ in library.values()))
    for word in KEPT:
        if not any(name == word or word.endswith("*") and name.startswith(word[:-1]) for name in given):
            yield "tools/check-callers.py", word, "is in KEPT, but the library has no such function"
        elif word in taken:
            yield "tools/check-callers.py", word, f"is in KEPT, but {min(taken[word])} calls it: take it off the list"


def main():
    arguments = sys.argv[1:]
    build = Path(arguments[0] if arguments else os.environ.get("FACET_BUILD_DIR", "build"))
    root = Path(arguments[1] if len(arguments) > 1 else Path(__file__).parent.parent).resolve()
    library = {}
    for top in ("src", "kernels"):
        library.update(objects_of(build, root, "facet_objects", top))
    # The vector kernels, once for each instruction set, and what chooses among them.
    for place in sorted((build / "CMakeFiles").glob("facet_*.dir/kernels")):
        target = place.parent.name[:-len(".dir")]
        if target == "facet_objects":
            continue
        for source, (gives, takes) in objects_of(build, root, target, "kernels").items():
            all_gives, all_takes = library.setdefault(source, (set(), set()))
            all_gives.update(gives)
            all_takes.update(takes)
    program = objects_of(build, root, "facet_program", "app")
    if not library or not program:
        sys.exit(f"check-callers: no objects of the library and the program under {build}: build first")
    public = set(re.findall(r"\bfacet_\w+(?=\()", (root / "include/facet.h").read_text(encoding="utf-8")))
    for path in [*(root / "src/dist").glob("*.c"), *(root / "app/mpi").glob("*.c")]:
        public.update(re.findall(r"\b\w+\b", path.read_text(encoding="utf-8")))
    count = 0
    for source, name, text in offences(library, program, public, root):
        print(f"{source}: {name} {text}")
        count += 1
    functions = sum(len(gives) for gives, _ in library.values())
    print(f"check-callers: {functions} functions of {len(library)} objects, {count} offences")
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
