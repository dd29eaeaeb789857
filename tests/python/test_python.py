"""The Python package: runs python/tests against the library that was built, in one process, and counts the calls: in
the end every function of facet.h has been called. Arguments: names of test modules, to run these alone."""
import glob
import os
import sys
import unittest

ROOT = os.environ.get("FACET_SOURCE_DIR") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
os.environ["FACET_SOURCE_DIR"] = os.path.abspath(ROOT)
SKIPPED = 77


def main():
    if "-fsanitize" in os.environ.get("CFLAGS", ""):
        print("a library with sanitizers cannot be loaded into a Python without them: skipped")
        return SKIPPED
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("NumPy is not installed (Debian: python3-numpy): skipped")
        return SKIPPED
    sys.path[:0] = [os.path.join(ROOT, "python"), os.path.join(ROOT, "python", "tests")]
    sys.dont_write_bytecode = True
    import counting
    called = counting.begin()
    wanted = sys.argv[1:] or sorted(os.path.basename(path)[:-3]
                                    for path in glob.glob(os.path.join(ROOT, "python", "tests", "test_*.py")))
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromName(name) for name in wanted)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    from facet import _declarations
    missing = sorted(set(_declarations.FUNCTIONS) - called)
    if missing and not sys.argv[1:]:
        print("functions of facet.h that no test calls:", ", ".join(missing))
    return 0 if result.wasSuccessful() and (sys.argv[1:] or not missing) else 1


if __name__ == "__main__":
    sys.exit(main())
