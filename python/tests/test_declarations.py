"""The declarations of ctypes against the compiled header: sizes, offsets, values of enums, and of every function the
number and kinds of what it takes and returns. C++ knows the types of functions, and the header is one of C++ too."""
import ctypes
import os
import subprocess
import sys
import tempfile
import unittest

from facet import _declarations as c
from facet._library import lib

ROOT = os.environ["FACET_SOURCE_DIR"]

HEAD = r"""
#include <cstddef>
#include <cstdio>
#include <type_traits>
#include "facet.h"
template <class T> struct kind {
    static void print() {
        if (std::is_enum<T>::value) std::printf(" i4");
        else if (std::is_floating_point<T>::value) std::printf(" f%d", (int)sizeof(T));
        else std::printf(" %c%d", std::is_signed<T>::value ? 'i' : 'u', (int)sizeof(T));
    }
};
template <> struct kind<void> { static void print() { std::printf(" void"); } };
template <class T> struct kind<T *> { static void print() { std::printf(" pointer"); } };
template <class F> struct function;
template <class R, class... A> struct function<R(A...)> {
    static void print(const char *name) {
        std::printf("%s", name);
        kind<R>::print();
        int all[] = {0, (kind<A>::print(), 0)...};
        (void)all;
        std::printf("\n");
    }
};
int main() {
"""


def kind(t):
    if t is None:
        return "void"
    if t is ctypes.c_double:
        return "f8"
    if isinstance(t, type) and issubclass(t, ctypes._SimpleCData) and t not in (ctypes.c_void_p, ctypes.c_char_p):
        return ("i" if t(-1).value < 0 else "u") + str(ctypes.sizeof(t))
    return "pointer"


def structs():
    return {name: t for name, t in vars(c).items() if isinstance(t, type) and issubclass(t, ctypes.Structure)
            and t is not ctypes.Structure}


def constants():
    return {name: value for name, value in vars(c).items() if name.startswith("FACET_") and isinstance(value, int)}


class Declarations(unittest.TestCase):
    def test_made_from_the_header(self):
        tool = os.path.join(ROOT, "tools", "python-declarations.py")
        done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def compiled(self):
        lines = [HEAD]
        lines += [f'    function<decltype({name})>::print("{name}");' for name in c.FUNCTIONS]
        for name, t in structs().items():
            lines.append(f'    std::printf("sizeof {name} %zu\\n", sizeof({name}));')
            lines += [f'    std::printf("{name}.{f[0]} %zu %zu\\n", offsetof({name}, {f[0]}), '
                      f'sizeof((({name} *)0)->{f[0]}));' for f in t._fields_]
        lines += [f'    std::printf("{name} %d\\n", (int){name});' for name in constants()]
        lines.append("}")
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "a.cpp"), os.path.join(folder, "a")
            with open(source, "w", encoding="utf-8") as file:
                file.write("\n".join(lines))
            subprocess.run([os.environ.get("CXX", "c++"), "-std=c++14", "-Wno-invalid-offsetof",
                            "-I" + os.path.join(ROOT, "include"), source, "-o", program], check=True)
            return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()

    def test_against_the_compiler(self):
        wanted = [f"{name} " + " ".join(kind(t) for t in [result] + arguments)
                  for name, (result, arguments) in c.FUNCTIONS.items()]
        for name, t in structs().items():
            wanted.append(f"sizeof {name} {ctypes.sizeof(t)}")
            wanted += [f"{name}.{f[0]} {getattr(t, f[0]).offset} {getattr(t, f[0]).size}" for f in t._fields_]
        wanted += [f"{name} {value}" for name, value in constants().items()]
        self.assertEqual(self.compiled(), wanted)

    def test_no_member_is_left_out(self):
        for name, t in structs().items():
            end = 0
            for field in t._fields_:
                member = getattr(t, field[0])
                self.assertLess(member.offset - end, 8, f"{name}.{field[0]}: something is missing before it")
                end = member.offset + member.size
            self.assertLess(ctypes.sizeof(t) - end, 8, name)

    def test_what_the_library_exports(self):
        path = lib._name
        try:
            done = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest(f"nm: {error}")
        exported = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines() if " T facet_" in line}
        self.assertEqual(exported, set(c.FUNCTIONS))

    def test_versions(self):
        from facet import _library
        self.assertEqual(_library.version(), c.FACET_VERSION)
        code = "import sys; sys.path.insert(0, {!r}); import facet".format(os.path.join(ROOT, "python"))

        def message(path):
            done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "FACET_LIBRARY": path},
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            return done.stderr
        self.assertIn("was not found; looked for /nowhere.so", message("/nowhere.so"))
        with tempfile.TemporaryDirectory() as folder:
            source, library = os.path.join(folder, "a.c"), os.path.join(folder, "a.so")
            for text, words in (('const char *facet_version(void) { return "0.1.7"; }', "is version 0.1.7"),
                                ("int nothing;", "is not facet's library"),
                                (f'const char *facet_version(void) {{ return "{c.FACET_VERSION}"; }}',
                                 "built from another facet.h")):
                with open(source, "w", encoding="utf-8") as file:
                    file.write(text)
                subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", library, source], check=True)
                self.assertIn(words, message(library))
            with open(library, "w", encoding="utf-8") as file:
                file.write("no library")
            self.assertIn("cannot be loaded", message(library))


if __name__ == "__main__":
    unittest.main()
