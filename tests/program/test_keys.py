"""One of 29 cases of tools/keys-on.py (of 11 in the long form), on the GPU where there is one, else on `debug`: no word
that `cpu` takes is refused, and numbers agree. FACET_PROGRAM names the program, by default build/facet; FACET_SOURCE_DIR
the checkout."""

import os
import subprocess
import sys
import unittest

import test_devices
import test_gpu_cells


class Keys(unittest.TestCase):
    def test_some_keys(self):
        some = 11 if "FACET_LONG" in os.environ else 29
        done = subprocess.run([sys.executable, f"{test_devices.SOURCE}/tools/keys-on.py", "--device", test_gpu_cells.DEVICE,
                               "--program", test_devices.PROGRAM, "--some", str(some)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(done.stdout.count("\n"), 1650 // some, "too few cases were taken")


if __name__ == "__main__":
    unittest.main()
