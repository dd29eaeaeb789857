"""Configures the tree on machines whose optional libraries are half there: AUTO goes on and says what it leaves out and
why, in one line; ON ends with a sentence. Nothing is compiled but the trial programs of the configuration."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("FACET_SOURCE_DIR") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


class Impostors(unittest.TestCase):
    """Each test puts its impostors into a prefix that stands before everything else."""

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="facet impostors ")  # with a space, as folders of users have
        self.prefix = os.path.join(self.place, "prefix")
        self.addCleanup(shutil.rmtree, self.place)

    def put(self, path, text, mode=0o644):
        write(os.path.join(self.prefix, path), text, mode)

    def configure(self, *options):
        """Status and output of a configuration of its own, without the tests and the sets that take longer to try."""
        environment = {**os.environ, "PATH": os.path.join(self.prefix, "bin") + os.pathsep + os.environ["PATH"],
                       "PKG_CONFIG_PATH": os.path.join(self.prefix, "lib", "pkgconfig"),
                       "CMAKE_PREFIX_PATH": self.prefix}
        for name in ("MPICC", "CUDACXX", "CFLAGS"):
            environment.pop(name, None)
        build = os.path.join(self.place, "build")
        shutil.rmtree(build, ignore_errors=True)
        done = subprocess.run(["cmake", "-S", SOURCE, "-B", build, "-DFACET_TESTS=OFF", "-DFACET_INSTRUCTIONS=none",
                               *options], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def hold(self, option, name, *words):
        """AUTO leaves it out with a line that has these words; ON ends with them."""
        others = [f"-D{other}=OFF" for other in ("FACET_MPI", "FACET_CUDA") if other != option]
        status, output = self.configure(*others, f"-D{option}=AUTO")
        self.assertEqual(status, 0, output)
        line = re.findall(rf"^-- {name} is not used: .*$", output, re.M)
        self.assertEqual(len(line), 1, output)
        status, refused = self.configure(*others, f"-D{option}=ON")
        self.assertNotEqual(status, 0, refused)
        refused = " ".join(refused.split())
        self.assertIn(f"{option}=ON, but {name} cannot be used", refused)
        for word in words:
            self.assertIn(word, line[0])
            self.assertIn(word, refused)

    def test_mpicc_names_a_folder_that_is_not_there(self):
        """As openmpi-bin without libopenmpi-dev does."""
        self.put("bin/mpicc", "#!/bin/sh\n[ \"$1\" != -show ] || { echo gcc -I/nowhere/openmpi/include -lmpi; exit 0; }\n"
                 "[ \"$1\" != --showme:incdirs ] || { echo /nowhere/openmpi/include; exit 0; }\n"
                 "echo 'mpi.h: No such file or directory' >&2; exit 1\n", 0o755)
        self.hold("FACET_MPI", "facet-mpi", "/nowhere/openmpi/include, which is not there (libopenmpi-dev)")

    def test_mpicc_fails(self):
        self.put("bin/mpicc", "#!/bin/sh\necho 'mpicc: error: no licence' >&2\nexit 1\n", 0o755)
        self.hold("FACET_MPI", "facet-mpi", "mpicc: error: no licence")

    @unittest.skipUnless(shutil.which("mpicc"), "PETSc is looked for after MPI, which is not here")
    def test_petsc_without_its_library(self):
        self.put("include/petscsys.h", "int PetscFinalize(void);\n")
        self.put("lib/pkgconfig/petsc.pc", f"prefix={self.prefix.replace(' ', chr(92) + ' ')}\nName: PETSc\nVersion: 3.18\n"
                 "Description: an impostor\nLibs: -L${prefix}/lib -lpetsc_that_is_not_there\nCflags: -I${prefix}/include\n")
        self.hold("FACET_MPI", "facet-mpi", "PETSc", "does not link (libpetsc-real-dev)")

    @unittest.skipUnless(shutil.which("mpicc"), "METIS is looked for after MPI, which is not here")
    def test_empty_header_of_metis(self):
        self.put("include/metis.h", "")
        self.hold("FACET_MPI", "facet-mpi", "METIS", "metis.h")

    def test_empty_library_of_cholmod(self):
        self.put("include/cholmod.h", "typedef int cholmod_common;\nint cholmod_start(cholmod_common *);\n")
        self.put("lib/libcholmod.so", "")
        self.hold("FACET_CHOLMOD", "CHOLMOD", "a trial program with", "cholmod.h")

    def test_header_of_zlib_without_its_library(self):
        self.put("include/zlib.h", "const char *zlibVersion_of_nobody(void);\n#define zlibVersion zlibVersion_of_nobody\n")
        self.hold("FACET_ZLIB", "zlib", "zlib.h", "zlibVersion_of_nobody")

    def test_nvcc_fails(self):
        self.put("bin/nvcc", "#!/bin/sh\necho 'nvcc fatal : unsupported GNU version! error' >&2\nexit 1\n", 0o755)
        self.hold("FACET_CUDA", "CUDA", "unsupported GNU version")

    def test_nvcc_does_nothing(self):
        self.put("bin/nvcc", "#!/bin/sh\nexit 0\n", 0o755)
        self.hold("FACET_CUDA", "CUDA", "a project of CMake with")

    def test_mpicc_does_nothing(self):
        self.put("bin/mpicc", "#!/bin/sh\nexit 0\n", 0o755)
        self.hold("FACET_MPI", "facet-mpi", "it says nothing and makes no program")

    def test_words_of_options(self):
        for option, words in (("FACET_MPI=MAYBE", "AUTO, ON or OFF"), ("FACET_INSTRUCTIONS=fast", "'fast' is no such set")):
            status, output = self.configure("-DFACET_MPI=OFF", "-D" + option)
            self.assertNotEqual(status, 0)
            self.assertIn(words, " ".join(output.split()))

    def test_compiler_without_openmp(self):
        self.put("bin/no_openmp", "#!/bin/sh\nfor word; do [ \"$word\" != -fopenmp ] || { echo 'error: no OpenMP' >&2; exit 1; }"
                 "; done\nexec cc \"$@\"\n", 0o755)
        os.environ["CC"], before = os.path.join(self.prefix, "bin", "no_openmp"), os.environ.get("CC")
        try:
            self.hold("FACET_OPENMP", "OpenMP", "no OpenMP")
        finally:
            os.environ["CC"] = before or "cc"

    def test_what_is_required_is_named_at_once(self):
        """Two of the three required libraries are broken: one message names both, with their packages."""
        self.put("include/yaml.h", "")
        self.put("lib/pkgconfig/yaml-0.1.pc", "Name: yaml\nVersion: 1\nDescription: an impostor\nCflags: -I/nowhere\n")
        self.put("include/lapacke.h", "")
        status, output = self.configure("-DFACET_MPI=OFF")
        self.assertNotEqual(status, 0)
        output = " ".join(output.split())
        for word in ("facet cannot be built without these libraries: libyaml: ", "LAPACKE: ", "install-packages.sh"):
            self.assertIn(word, output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
