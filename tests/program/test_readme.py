"""The cases of README.md do what it says: the first block is checked and solved as it stands, and with the lines of the
second in place of those of the same keys the errors have the orders of the method. FACET_PROGRAM names the program."""

import json
import os
import re
import subprocess
import tempfile
import unittest

SOURCE = os.environ.get("FACET_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROGRAM = os.environ.get("FACET_PROGRAM", os.path.join(SOURCE, "build", "facet"))


def blocks():
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
        return re.findall(r"^```yaml\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)


def keys(text):
    """The top-level keys of a case, each with its lines."""
    parts = re.split(r"^(?=[a-z])", text, flags=re.MULTILINE)
    return {part.split(":")[0]: part for part in parts if part}


class Readme(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.case, self.exact = map(keys, blocks())

    def run_facet(self, command, case, *arguments):
        with open(os.path.join(self.place.name, "first.yaml"), "w", encoding="utf-8") as file:
            file.write("".join(case.values()))
        done = subprocess.run([PROGRAM, command, "first.yaml", *arguments], cwd=self.place.name, capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def assert_orders(self, case, *settings):
        sets = [word for setting in settings for word in ("--set", setting)]
        out = self.run_facet("converge", case, "--refine", "0:2", "--degree", "1:3", "--json", "-", "--set",
                             "mesh.box.cells=[4, 4]", *sets)
        rows = [row for row in json.loads(out)["rows"] if row["mesh"]["cells"] == 32 * 16]
        self.assertEqual([row["degree"] for row in rows], [1, 2, 3])
        for row in rows:
            for field, more in {"u": 1, "q": 1, "u_star": 2}.items():
                self.assertAlmostEqual(row["rates"][field]["L2"], row["degree"] + more, delta=0.25)

    def test_first_case(self):
        self.assertIn("good", self.run_facet("check", self.case))
        result = json.loads(self.run_facet("solve", self.case, "--json", "-"))
        self.assertTrue(result["solver"]["converged"])
        self.assertEqual(set(result["values"]), {"mean", "out"})
        self.assertTrue(0 < result["values"]["out"] < 1)  # the rest of the source leaves through xmin
        self.assertTrue(os.path.exists(os.path.join(self.place.name, "first.vtu")))

    def test_exact_solution(self):
        case = {key: text for key, text in self.case.items() if key not in ("source", "boundary")}
        self.assertEqual(set(self.exact), {"exact", "boundary"})
        self.assert_orders({**case, **self.exact})
        self.assert_orders(case, self.exact["exact"].strip().replace(": ", "=", 1))  # dirichlet: exact everywhere
        self.assert_orders({**case, **self.exact}, "exact=exp(x*y)", "boundary.1.robin.a=3")


if __name__ == "__main__":
    unittest.main()
