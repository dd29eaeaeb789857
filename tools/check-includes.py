#!/usr/bin/env python3
"""Checks that every #include respects the order of the rooms.

A room may include itself and every room before it in the way of the data; USES says which stand directly before it.
kernels/ is seen from src/device (and from the hot loops of bench) alone and sees of src/ only base; app and bench may include any room; facet.h is for all.
Usage: check-includes.py [ROOT]. Prints file:line for each offence and exits 1 if there is one.
"""
import re
import sys
from pathlib import Path

USES = {
    "base": [],
    "device": ["base", "kernels"],
    "poly": ["device"],
    "expr": ["device"],
    "solve": ["device"],
    "mesh": ["poly"],
    "trace": ["mesh", "solve"],
    "hdg": ["trace", "expr"],
    "box": ["solve", "mesh", "expr"],
    "boxhdg": ["box"],
    "boxsem": ["box"],
    "problem": ["hdg", "boxhdg", "boxsem"],
    "io": ["problem"],
    "dist": ["problem"],
    "case": ["io", "dist"],
    "api": ["case"],
}
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
ACCELERATOR = re.compile(r"(cuda|cublas|cusparse|cusolver|hip)\w*(/|\.h$)")


def allowed(room):
    """The rooms that `room` may include: itself and, through rooms of src/, all it stands on. Kernels do not pass on."""
    seen, todo = {room}, list(USES[room])
    while todo:
        other = todo.pop()
        if other != "kernels" and other not in seen:
            seen.add(other)
            todo += USES[other]
    return seen | {other for other in USES[room] if other == "kernels"}


ALLOWED = {room: allowed(room) for room in USES}
ALLOWED["kernels"] = {"kernels", "base"}
ALLOWED["app"] = set(USES) | {"app", "bench"}
ALLOWED["bench"] = set(USES) | {"bench", "kernels"}


def room_of(path):
    """The room of a path relative to the root: src/poly/rule.h -> poly, kernels/ref/x.c -> kernels."""
    parts = path.parts
    return parts[1] if parts[0] == "src" else parts[0]


def target_room(root, file, name):
    """The room a quoted include leads to, None for facet.h, "?" if there is no such file."""
    for base in (file.parent, root / "src", root, root / "include"):
        if (base / name).is_file():
            path = (base / name).resolve().relative_to(root)
            return None if path.parts[0] == "include" else room_of(path)
    return "?"


def offences(root, file):
    room = room_of(file.relative_to(root))
    if room not in ALLOWED:
        yield 1, f"the room '{room}' is not in the table of tools/check-includes.py"
        return
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        bracket, name = match.groups()
        if bracket == "<":
            if ACCELERATOR.match(name) and room not in ("kernels", "device"):
                yield number, f"'{room}' includes <{name}>: accelerators are known to kernels and src/device only"
            continue
        target = target_room(root, file, name)
        if target == "?":
            yield number, f'"{name}" is not a file of this project; a system header is written <{name}>'
        elif target is not None and target not in ALLOWED[room]:
            yield number, f"'{room}' includes \"{name}\", but may include only: {', '.join(sorted(ALLOWED[room]))}"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    files = sorted(file for top in ("src", "kernels", "app", "bench") for file in (root / top).rglob("*")
                   if file.suffix in (".c", ".h", ".cu", ".cuh", ".inc") and "tests" not in file.parts)
    if not files:
        sys.exit(f"check-includes: no source files under {root}")
    count = 0
    for file in files:
        for number, text in offences(root, file):
            print(f"{file.relative_to(root)}:{number}: {text}")
            count += 1
    print(f"check-includes: {len(files)} files, {count} offences")
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
