#!/usr/bin/env python3
"""Makes python/facet/_declarations.py, which is facet.h in the words of ctypes, from the header. With --check it only
says whether the file is what the header gives. tests/python/test_python.py compares the result with the compiled header.

The header is written in one way throughout, so a few patterns read it: enums, structs whose members are declared one
after the other, types of functions, functions. What fits none of them is an error, not left out."""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
HEADER = "include/facet.h"
TARGET = "python/facet/_declarations.py"

NUMBERS = {"int": "c_int", "double": "c_double", "size_t": "c_size_t", "int64_t": "c_int64", "int32_t": "c_int32",
           "uint8_t": "c_uint8"}


OPENING = '''"""facet.h in the words of ctypes. Made by tools/python-declarations.py; not to be changed by hand."""
# mypy: ignore-errors
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64,  # noqa: F401
                    c_size_t, c_uint8, c_void_p)
'''


class Header:
    def __init__(self, text):
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
        self.macros = dict(re.findall(r"^#define (FACET_\w+) +(\d+|\"[^\"]*\")$", text, re.MULTILINE))
        text = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#"))
        text = re.sub(r'extern "C" \{', "", text)
        self.text = re.sub(r"\s+", " ", text)
        self.handles, self.enums, self.structs, self.callbacks, self.functions = [], {}, {}, {}, {}
        self.constants = {}
        self.read()

    def read(self):
        rest = self.text
        patterns = [
            (r"typedef enum (\w+) \{([^}]*)\} \1 ?;", self.read_enum),
            (r"enum()\s?\{([^}]*)\} ?;", self.read_enum),
            (r"typedef struct (\w+) \1 ?;", lambda m: self.handles.append(m[1])),
            (r"typedef struct (\w+) \{([^}]*)\} \1 ?;", self.read_struct),
            (r"typedef (\w+) \(\*(\w+)\)\(([^)]*)\) ?;", self.read_callback),
            (r"FACET_API ([\w ]+?[ *]+)(facet_\w+)\(([^)]*)\) ?;", self.read_function),
        ]
        while rest.strip(" }"):
            rest = rest.lstrip(" ")
            for pattern, action in patterns:
                match = re.match(pattern, rest)
                if match:
                    action(match)
                    rest = rest[match.end():]
                    break
            else:
                sys.exit(f"python-declarations: {HEADER} has something unknown: {rest[:100]}")

    def read_enum(self, match):
        value = -1
        for item in filter(None, (part.strip() for part in match[2].split(","))):
            name, _, number = item.partition("=")
            value = int(number, 0) if number else value + 1
            self.constants[name.strip()] = value
        if match[1]:
            self.enums[match[1]] = True

    def read_struct(self, match):
        members = []
        for line in filter(None, (part.strip() for part in match[2].split(";"))):
            kind, rest = re.match(r"((?:const )?\w+) ?(.*)$", line).groups()
            for name in rest.split(","):
                stars, word, count = re.match(r" ?([*]*) ?(\w+)(?:\[(\w+)\])?$", name.strip()).groups()
                members.append((word, self.kind(f"{kind} {stars}", member=True), self.macros.get(count, count)))
        self.structs[match[1]] = members

    def read_callback(self, match):
        self.callbacks[match[2]] = [self.kind(match[1])] + [self.kind(a) for a in self.arguments(match[3])]

    def read_function(self, match):
        self.functions[match[2]] = [self.kind(match[1])] + [self.kind(a) for a in self.arguments(match[3])]

    @staticmethod
    def arguments(text):
        """Types alone: names go, and arrays are pointers."""
        if text.strip() == "void":
            return []
        found = []
        for argument in text.split(","):
            argument = re.sub(r"(\w+)\[\d*\]", r"*\1", argument.strip())
            found.append(re.sub(r"\w+$", "", argument))
        return found

    def kind(self, text, member=False):
        """A type of C as one of ctypes. Pointers to numbers are addresses, so that arrays go without a detour."""
        stars = text.count("*")
        base = re.sub(r"\b(const|struct)\b|\*", " ", text).strip()
        if stars == 0:
            if base in NUMBERS:
                return NUMBERS[base]
            if base in self.enums:
                return "c_int"
            if base in self.callbacks:
                return base
            if base == "void":
                return "None"
        elif base == "char":
            inside = "c_char_p" if "const" in text else "c_void_p"
            return inside if stars == 1 else f"POINTER({inside})"
        elif base in NUMBERS or base == "void":
            return "c_void_p" if stars == 1 else "POINTER(c_void_p)"
        elif base in self.structs and stars == 1:
            return f"POINTER({base})"
        elif base in self.handles:
            return "c_void_p" if stars == 1 else "POINTER(c_void_p)"
        sys.exit(f"python-declarations: {HEADER} has the unknown type '{text}'")

    def write(self):
        lines = [OPENING]
        lines += [f"{name} = {value}" for name, value in self.macros.items()]
        lines += [f"{name} = {value}" for name, value in self.constants.items()]
        order = re.findall(r"typedef struct (\w+) \{|typedef \w+ \(\*(\w+)\)\(", self.text)
        for struct, callback in order:
            if callback:
                lines += ["", f"{callback} = CFUNCTYPE({', '.join(self.callbacks[callback])})"]
                continue
            lines += ["", "", f"class {struct}(Structure):", "    _fields_ = ["]
            for name, kind, count in self.structs[struct]:
                lines.append(f'        ("{name}", {kind}{" * " + count if count else ""}),')
            lines += ["    ]", ""]
        lines += ["", "# What each function returns, and what it takes.", "FUNCTIONS = {"]
        for name, kinds in self.functions.items():
            line = f'    "{name}": ({kinds[0]}, ['
            for i, kind in enumerate(kinds[1:]):
                piece = kind + (", " if i + 2 < len(kinds) else "")
                if len(line.split("\n")[-1]) + len(piece) > 112:
                    line = line.rstrip(" ") + "\n        "
                line += piece
            lines.append(line + "]),")
        lines += ["}"]
        return re.sub(r"\n{3,}", "\n\n\n", "\n".join(lines)) + "\n"


def main():
    with open(os.path.join(ROOT, HEADER), encoding="utf-8") as file:
        text = Header(file.read()).write()
    path = os.path.join(ROOT, TARGET)
    if "--check" in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            same = file.read() == text
        if not same:
            print(f"{TARGET} is not what {HEADER} gives: run tools/python-declarations.py")
        return 0 if same else 1
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
