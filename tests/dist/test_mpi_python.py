"""The Python package over MPI (mpi4py): each of three processes solves its part, and all have the numbers of one.
FACET_MPI_LIBRARY names libfacet_dist.so. Without it, NumPy or mpi4py the test counts as skipped."""
import os
import subprocess
import sys

SKIPPED = 77
ROOT = os.environ.get("FACET_SOURCE_DIR") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LIBRARY = os.environ.get("FACET_MPI_LIBRARY")

SCRIPT = """
import sys
import facet
from mpi4py import MPI

def solve(context):
    heat = facet.Diffusion(facet.box([0, 0], [2, 1], [16, 8], shape="triangle", context=context),
                           conductivity="1 + x*y", source=lambda x: 1 + x[:, 0])
    heat.dirichlet("xmin", 0).robin("xmax", a=10, g=lambda x: x[:, 1]).neumann("rest", 0)
    T = heat.solve(degree=3, method="cg", preconditioner="pmg", rtol=1e-12)
    rank = MPI.COMM_WORLD.rank
    own = [[0.3 * i, 0.1 + 0.2 * rank] for i in range(2 * rank)] + [[1.0, 0.5]]  # the last lies between cells
    return T.mean(), T.max(), T.flux("xmin"), *T(own), *T(own, "q")[-1]

many = solve(facet.Context(comm=MPI.COMM_WORLD, threads=1))
one = solve(facet.Context(comm=MPI.COMM_SELF, threads=1))
assert MPI.COMM_WORLD.size == 3
for a, b in zip(many, one):
    assert abs(a - b) < 1e-9 * max(1, abs(b)), (many, one)
try:
    facet.Context(comm=MPI.COMM_NULL)
    assert False
except facet.InputError as error:
    assert "communicator" in str(error)
try:
    solve(facet.Context("nowhere", comm=MPI.COMM_WORLD))
    assert False
except facet.Error as error:
    assert "nowhere" in str(error)
print("rank", MPI.COMM_WORLD.rank, "agrees")
"""


def main():
    if not LIBRARY or not os.path.exists(LIBRARY):
        print("facet over MPI was not built: skipped")
        return SKIPPED
    try:
        import mpi4py  # noqa: F401
        import numpy  # noqa: F401
    except ImportError as error:
        print(f"{error}: skipped")
        return SKIPPED
    environment = dict(os.environ, FACET_LIBRARY=LIBRARY, PYTHONPATH=os.path.join(ROOT, "python"), OMP_NUM_THREADS="1",
                       OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PYTHONDONTWRITEBYTECODE="1")
    run = subprocess.run(["mpiexec", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", "3", sys.executable,
                          "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=100)
    print(run.stdout + run.stderr)
    return 0 if run.returncode == 0 and run.stdout.count("agrees") == 3 else 1


if __name__ == "__main__":
    sys.exit(main())
