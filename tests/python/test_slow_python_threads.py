"""Threads of a Python program under the thread sanitizer: readers of one finished solution, data that read another one,
and solves of their own. The library is built for it with gcc, without OpenMP and vector kernels, so that every thread
and every lock is one that the sanitizer sees; Python itself is as it is. Exit status 77: gcc's thread sanitizer or NumPy
is not here, nothing was tested.

    test_slow_python_threads.py          build, and run what follows under the sanitizer
    test_slow_python_threads.py threads  what runs there"""

import importlib.util
import os
import subprocess
import sys
import threading

SOURCE = os.environ.get("FACET_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.path.join(os.environ.get("FACET_BUILD_DIR", "build"), "python-threads")
N_THREADS, N_TURNS = 4, 3


def at_once(work):
    """work(i) in threads that begin together; what one of them raises is raised here."""
    begin, errors = threading.Barrier(N_THREADS), []

    def run(i):
        try:
            begin.wait()
            for _ in range(N_TURNS):
                work(i)
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(N_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def run_threads():
    import facet
    import numpy as np

    def diffusion(mesh, **given):
        return facet.Diffusion(mesh, **given).dirichlet("xmin", 1).dirichlet("xmax", 0).neumann("rest")

    for shape in ("quad", "triangle"):
        mesh = facet.box([0, 0], [1, 1], [6, 6], shape=shape)
        u = diffusion(mesh, conductivity="1 + x").solve(degree=3)
        x = np.random.default_rng(1).random((50, 2))
        names = ("u", "q", "u", "q")
        alone = [u(x, name) for name in names]
        most, flux = u.max(), u.flux("xmin")

        def read(i):
            assert np.array_equal(u(x, names[i]), alone[i])
            assert u.max() == most and u.flux("xmin") == flux and u.report["iterations"] >= 0
            u.sample()

        def solve(i):
            assert np.isfinite(diffusion(mesh, conductivity=lambda p: 1 + (i + 1) * u(p)).solve(degree=2)([0.5, 0.5]))

        at_once(read)
        at_once(solve)


def build():
    """The path of the sanitizer's library; None: it is not here."""
    try:
        runtime = subprocess.run(["gcc", "-print-file-name=libtsan.so"], capture_output=True, text=True).stdout.strip()
    except OSError:
        return None
    if not os.path.isabs(runtime):
        return None
    given = ["CMAKE_C_COMPILER=gcc", "CMAKE_BUILD_TYPE=Debug", "CMAKE_C_FLAGS_DEBUG=-O1 -g1", "FACET_SANITIZE=thread",
             "FACET_INSTRUCTIONS=none"] + [f"FACET_{part}=OFF" for part in ("OPENMP", "BENCH", "PROGRAM", "TESTS", "MPI")]
    environment = {name: value for name, value in os.environ.items() if name not in ("CC", "CFLAGS")}
    for command in (["-S", SOURCE, "-B", BUILD] + ["-D" + one for one in given],
                    ["--build", BUILD, "--parallel", str(os.cpu_count()), "--target", "facet"]):
        subprocess.run(["cmake", *command], check=True, stdout=subprocess.DEVNULL, env=environment)
    return os.path.realpath(runtime)


def main():
    if sys.argv[1:] == ["threads"]:
        run_threads()
        return 0
    runtime = build() if importlib.util.find_spec("numpy") else None
    if runtime is None:
        print("skipped: this test needs NumPy, and gcc with its thread sanitizer (libtsan)")
        return 77
    # What is not instrumented, Python and BLAS, has no races for us.
    environment = {**os.environ, "LD_PRELOAD": runtime, "FACET_LIBRARY": os.path.join(BUILD, "libfacet.so"),
                   "PYTHONPATH": os.path.join(SOURCE, "python"), "OPENBLAS_NUM_THREADS": "1",
                   "TSAN_OPTIONS": "ignore_noninstrumented_modules=1 exitcode=66"}
    return subprocess.run([sys.executable, os.path.abspath(__file__), "threads"], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
