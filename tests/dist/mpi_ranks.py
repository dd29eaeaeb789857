"""Ranks that stay: tests/dist/serve.c runs one command line of facet-mpi after the other on them, so that MPI starts once
for each number of ranks and not for every case. What is about the start and the end of the program itself is for
facet-mpi (test_mpi.py)."""

import atexit
import os
import select
import subprocess
import tempfile
import time

MPI = os.environ.get("FACET_MPI_PROGRAM")
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1")
RUNNER = ["mpiexec", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl_vader_single_copy_mechanism",
          "none", "--mca", "odls_base_sigkill_timeout", "0"]
SECONDS = 60  # of a command


class Ranks:
    """n ranks that wait for commands."""

    def __init__(self, n):
        self.place = tempfile.TemporaryDirectory()
        self.ends = []
        for name in [f"commands.{k}" for k in range(n)] + ["answers"]:
            os.mkfifo(self.path(name))
            self.ends.append(os.open(self.path(name), os.O_RDWR))  # does not wait for the other end
        self.answers = self.ends.pop()
        self.log = open(self.path("log"), "w+", encoding="utf-8", errors="replace")
        server = os.path.join(os.path.dirname(MPI), "tests", "mpi_serve")
        self.process = subprocess.Popen([*RUNNER, "-n", str(n), server, self.place.name], env=ENVIRONMENT,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def path(self, name):
        return os.path.join(self.place.name, name)

    def run(self, directory, *arguments):
        """The exit status of a command, and what it says on standard error."""
        line = "\t".join([directory, *arguments]) + "\n"
        for end in self.ends:
            os.write(end, line.encode())
        limit = time.monotonic() + SECONDS
        while not select.select([self.answers], [], [], 0.5)[0]:
            if self.process.poll() is not None or time.monotonic() > limit:
                self.process.kill()
                self.process.wait()
                self.log.seek(0)
                raise AssertionError(f"the ranks ended, or did not end within {SECONDS} s:\n{self.log.read()[-4000:]}")
        with open(self.path("errors"), encoding="utf-8", errors="replace") as file:
            return int(os.read(self.answers, 64)), file.read()

    def end(self):
        """Ranks that read the end of their pipe leave."""
        for end in [*self.ends, self.answers]:
            os.close(end)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()
        self.place.cleanup()


waiting = {}


def run(n, directory, *arguments):
    """On n ranks."""
    if n not in waiting or waiting[n].process.poll() is not None:
        waiting[n] = Ranks(n)
    return waiting[n].run(directory, *arguments)


@atexit.register
def end():
    for ranks in waiting.values():
        ranks.end()
