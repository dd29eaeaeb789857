"""The commit that a program names: cmake/commit.cmake in trees of every kind, and the program that was built. What the
program says is compared with what its build found, since the checkout may have moved on since."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.environ.get("FACET_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("FACET_BUILD_DIR", os.path.join(SOURCE, "build"))
PROGRAM = os.environ.get("FACET_PROGRAM", os.path.join(BUILD, "facet"))
CMAKE = shutil.which("cmake")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def output(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout.strip()


def git(folder, *arguments):
    return output("git", "-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "protocol.file.allow=always",
                  "-C", folder, *arguments, env=ENVIRONMENT)


def head(folder):
    return git(folder, "rev-parse", "--short", "HEAD")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


@unittest.skipIf(CMAKE is None or shutil.which("git") is None, "needs cmake and git")
class Trees(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name

    def path(self, name):
        return os.path.join(self.place, name)

    def tree(self, name):
        """A source tree without git."""
        write(os.path.join(self.path(name), "README.md"), name)
        os.mkdir(os.path.join(self.path(name), "cmake"))
        for file in (".gitattributes", "cmake/commit.txt", "cmake/commit.c.in"):
            shutil.copy(os.path.join(SOURCE, file), os.path.join(self.path(name), file))
        return self.path(name)

    def checkout(self, name):
        folder = self.tree(name)
        git(folder, "init", "--quiet")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", "a commit of " + name)
        return folder

    def start(self, folder, given="", target="commit.c", **environment):
        return subprocess.Popen([CMAKE, f"-DSOURCE={folder}", f"-DGIVEN={given}",
                                 f"-DTEMPLATE={folder}/cmake/commit.c.in", f"-DOUTPUT={self.path(target)}", "-P",
                                 os.path.join(SOURCE, "cmake/commit.cmake")], env={**ENVIRONMENT, **environment})

    def written(self, target="commit.c"):
        with open(self.path(target), encoding="utf-8") as file:
            return re.search(r'return "(.*)";', file.read()).group(1)

    def commit(self, folder, given="", **environment):
        self.assertEqual(self.start(folder, given, **environment).wait(), 0)
        return self.written()

    def test_checkout(self):
        folder = self.checkout("a folder with spaces")
        self.assertEqual(self.commit(folder), head(folder))
        git(folder, "tag", "-a", "v9", "-m", "a tag is no commit")
        write(os.path.join(folder, "new.txt"), "not tracked")
        self.assertEqual(self.commit(folder), head(folder))
        write(os.path.join(folder, "README.md"), "changed")
        self.assertEqual(self.commit(folder), head(folder) + "-dirty")
        self.assertEqual(self.commit(folder, given="1.2-3+x"), "1.2-3+x")

    def test_what_is_the_same_is_not_written(self):
        folder = self.checkout("tree")
        self.commit(folder)
        os.utime(self.path("commit.c"), (1, 1))
        self.commit(folder)
        self.assertEqual(os.stat(self.path("commit.c")).st_mtime, 1)

    def test_worktree(self):
        folder = self.checkout("main")
        git(folder, "worktree", "add", "--quiet", self.path("other"))
        write(self.path("other/README.md"), "changed")
        git(self.path("other"), "commit", "--quiet", "-a", "-m", "another")
        self.assertEqual(self.commit(self.path("other")), head(self.path("other")))
        self.assertNotEqual(self.commit(self.path("other")), self.commit(folder))

    def test_inside_another_project(self):
        outer, inner = self.checkout("outer"), self.checkout("inner")
        git(outer, "submodule", "--quiet", "add", inner, "module")
        git(outer, "commit", "--quiet", "-m", "with a module")
        self.assertEqual(self.commit(os.path.join(outer, "module")), head(inner))
        copy = self.tree("outer/copy")
        self.assertEqual(self.commit(copy), "unknown")
        os.mkdir(os.path.join(copy, ".git"))  # which is no repository: git itself would go on to the one outside
        self.assertEqual(self.commit(copy), "unknown")

    def test_inside_a_hook(self):
        folder, other = self.checkout("tree"), self.checkout("other")
        self.assertEqual(self.commit(folder, GIT_DIR=other + "/.git", GIT_WORK_TREE=other,
                                     GIT_INDEX_FILE=other + "/.git/index"), head(folder))

    @unittest.skipIf(os.getuid() != 0, "gives files to another user: for root alone")
    def test_files_of_another_user(self):
        folder = self.checkout("tree")
        expected = head(folder)
        for path, _, files in os.walk(folder):
            for name in (path, *(os.path.join(path, file) for file in files)):
                os.chown(name, 12345, 12345)
        self.assertEqual(self.commit(folder, HOME=self.place), expected)

    def test_archive(self):
        folder = self.checkout("tree")
        expected = head(folder)
        git(folder, "archive", "--prefix=archive/", "-o", self.path("a.tar"), "HEAD")
        output("tar", "-C", self.place, "-xf", self.path("a.tar"))
        self.assertEqual(self.commit(self.path("archive")), expected)
        self.checkout("outer")
        shutil.move(self.path("archive"), self.path("outer/archive"))
        self.assertEqual(self.commit(self.path("outer/archive")), expected)

    def test_source_distribution(self):
        folder = self.tree("tree")
        write(os.path.join(folder, "cmake/commit-of-sdist.txt"), "0123abc-dirty\n")
        self.assertEqual(self.commit(folder), "unknown")  # left behind in a checkout that was copied without .git
        write(os.path.join(folder, "PKG-INFO"), "")
        self.assertEqual(self.commit(folder), "0123abc-dirty")
        write(os.path.join(folder, "cmake/commit-of-sdist.txt"), 'a"b\n')
        self.assertEqual(self.commit(folder), "unknown")

    def test_without_git(self):
        self.assertEqual(self.commit(self.checkout("tree"), PATH=self.place), "unknown")

    def test_without_a_commit(self):
        folder = self.tree("tree")
        git(folder, "init", "--quiet")
        self.assertEqual(self.commit(folder), "unknown")

    def test_at_once(self):
        folder = self.checkout("tree")
        runs = [self.start(folder, target=f"{i}.c") for i in range(8)]
        self.assertEqual([run.wait() for run in runs], [0] * 8)
        self.assertEqual({self.written(f"{i}.c") for i in range(8)}, {head(folder)})


class Built(unittest.TestCase):
    def test_program(self):
        with open(os.path.join(BUILD, "commit.c"), encoding="utf-8") as file:
            found = re.search(r'return "(.*)";', file.read()).group(1)
        self.assertTrue(output(PROGRAM, "--version").endswith(f" (commit {found})"))

    @unittest.skipUnless(CMAKE and shutil.which("git") and os.path.exists(os.path.join(SOURCE, ".git")),
                         "needs cmake, git and a checkout")
    def test_archive_of_this_checkout(self):
        with tempfile.TemporaryDirectory() as place:
            git(SOURCE, "archive", "--prefix=the sources/", "-o", os.path.join(place, "a.tar"), "HEAD")
            output("tar", "-C", place, "-xf", os.path.join(place, "a.tar"))
            build = os.path.join(place, "a build")
            output(CMAKE, "-S", os.path.join(place, "the sources"), "-B", build, "-DFACET_TESTS=OFF", "-DFACET_MPI=OFF")
            output(CMAKE, "--build", build, "--target", "facet_commit")
            with open(os.path.join(build, "commit.c"), encoding="utf-8") as file:
                self.assertIn(f'"{head(SOURCE)}"', file.read())


if __name__ == "__main__":
    unittest.main()
