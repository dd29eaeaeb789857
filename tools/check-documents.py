#!/usr/bin/env python3
"""Holds the documents to what they promise: every link, anchor and path in them leads somewhere, lines are below 120
characters, pictures that they show are in docs/images and no others, and bench/results holds tables and data alone."""
import glob
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
NARROW = ["README.md", "CHANGELOG.md", "docs/*.md"]
OTHERS = ["examples/README.md", "tests/README.md", "bench/peers/*/README.md"]
GENERATED = "docs/input.md"  # facet help --markdown: rows of its tables may be long
WIDTH = 119
ROOMS = "app bench cmake docs examples include kernels python src tests tools".split()
RESULTS = (".md", ".dat", ".txt")


def files(patterns):
    return sorted(os.path.relpath(path, ROOT) for pattern in patterns for path in glob.glob(os.path.join(ROOT, pattern)))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def without_code(text):
    return re.sub(r"`[^`\n]*`", "``", re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL))


def anchors(text):
    """Headings as GitHub turns them into anchors."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        found.add(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-"))
    return found


def check_target(path, target, say):
    if re.match(r"[a-z]+://|mailto:", target):
        return
    name, _, anchor = target.partition("#")
    where = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
    if where.startswith("..") or not os.path.exists(os.path.join(ROOT, where)):
        say(f"a link to '{target}', which is not there")
    elif anchor and anchor not in anchors(read(where)):
        say(f"a link to '{target}': no such heading")


def check_links(path, text, say):
    plain = without_code(text)
    defined = dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", plain, re.MULTILINE))
    used = set(re.findall(r"\]\[([^\]]+)\]", plain))
    for target in re.findall(r"\]\(([^)\s]+)\)", plain) + list(defined.values()):
        check_target(path, target, say)
    for name in sorted(used - defined.keys()):
        say(f"the link [{name}] is not defined")
    for name in sorted(defined.keys() - used):
        say(f"nothing uses the link [{name}]")


def check_paths(text, say):
    """What stands in backquotes, or in a command, and begins with a directory of the checkout."""
    pattern = r"(?<![\w./-])((?:%s)/[\w.*/-]*[\w*])(?![\w<{])" % "|".join(ROOMS)
    for place in set(re.findall(pattern, " ".join(re.findall(r"`[^`\n]*`|^.*$", text, re.MULTILINE)))):
        if not glob.glob(os.path.join(ROOT, place)) and not glob.glob(os.path.join(ROOT, place + ".*")):
            say(f"'{place}' is not there")


def check_width(path, text, say):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > WIDTH and not (path == GENERATED and line.startswith("|")):
            say(f"line {number} has {len(line)} characters; {WIDTH} are the most")


def check_pictures(documents, say):
    shown = set()
    for path in documents:
        for target in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", read(path)):
            shown.add(os.path.normpath(os.path.join(os.path.dirname(path), target)))
    for picture in sorted(shown - set(files(["docs/images/*"]))):
        say(f"{picture} is shown, but is not in docs/images")
    for picture in sorted(set(files(["docs/images/*"])) - shown):
        say(f"{picture} is shown by no document")


def check_results(say):
    with open(os.path.join(ROOT, ".gitignore"), encoding="utf-8") as file:
        ignored = tuple("." + line.strip().rsplit(".")[-1] for line in file if line.startswith("/bench/results/"))
    for folder, _, names in os.walk(os.path.join(ROOT, "bench/results")):
        for name in names:
            if not name.endswith(RESULTS + ignored):
                say(f"{os.path.relpath(os.path.join(folder, name), ROOT)}: bench/results holds {', '.join(RESULTS)} alone")


def main():
    problems = []
    documents = files(NARROW + OTHERS)
    for path in documents:
        text = read(path)

        def say(what, path=path):
            problems.append(f"{path}: {what}")
        check_links(path, text, say)
        if path != "CHANGELOG.md":  # which may speak of what is gone
            check_paths(text, say)
        if path in files(NARROW):
            check_width(path, text, say)
    check_pictures(documents, problems.append)
    check_results(problems.append)
    print("\n".join(problems + [f"check-documents: {len(documents)} documents, {len(problems)} offences"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
