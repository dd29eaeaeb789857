"""Mistakes of a caller, which may neither crash the process nor give a wrong number: objects, arrays and integers of
the wrong kind, several threads, changes during a call, signals, forks."""
import copy
import os
import pickle
import subprocess
import sys
import threading
import unittest

import facet
import numpy as np

ROOT = os.environ["FACET_SOURCE_DIR"]


def square(n=4, **options):
    return facet.box([0, 0], [1, 1], [n, n], **options)


def poisson(n=4, **options):
    return facet.Diffusion(square(n), source=1, **options).dirichlet("rest", 0)


def halves(n=2):
    """Two groups of cells, left and right."""
    mesh = facet.box([0, 0], [1, 1], [n, n], shape="quad")
    left = [k for k, row in enumerate(mesh.cells[0].nodes) if mesh.points[row, 0].mean() < 0.5]
    rest = [k for k in range(mesh.n_cells) if k not in left]
    faces = {part: mesh.members(part).nodes for part in mesh.parts}
    return facet.Mesh(mesh.points, {"quad": mesh.cells[0].nodes}, {"left": left, "right": rest, **faces})


class Mistakes(unittest.TestCase):
    def refused(self, words, function, *arguments, kind=facet.InputError, **options):
        with self.assertRaises(kind) as caught:
            function(*arguments, **options)
        self.assertIn(words, str(caught.exception))


class Kinds(Mistakes):
    def test_objects_of_another_kind(self):
        heat = poisson()
        T = heat.solve(degree=1)
        case = facet.Case(text="mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 2]}}\nequation: diffusion\n"
                               "exact: x")
        for function, arguments, options in (
                (facet.Diffusion, (heat, 1), {}), (facet.Elasticity, (T,), {"E": 1, "nu": 0.3}),
                (facet.Solver, (heat.mesh,), {}), (case.problem, (heat,), {}), (case.solver, (heat,), {}),
                (case.problem, (case.mesh(),), {"temperature": heat}), (case.values, (0, heat), {}),
                (square, (), {"context": heat}), (facet.read, ("a.msh",), {"context": heat.mesh}),
                (facet.Case, (), {"text": "", "context": T}), (facet.Field, (heat,), {}), (facet.Sample, (heat,), {})):
            self.refused("is wanted, not", function, *arguments, kind=TypeError, **options)
        self.refused("there are 1", case.problem, case.mesh(), 1)

    def test_integers(self):
        for cells in ([2**32 + 2, 2], [2.5, 2], ["2", 2]):
            self.refused("cells", facet.box, [0, 0], [1, 1], cells)
        mesh, heat = square(), poisson()
        for wrong in (1.5, 2**32 + 1, "1", float("nan"), None):
            self.refused("refine", mesh.refine, wrong)
            self.refused("degree", mesh.quadrature, wrong)
            self.refused("threads", setattr, facet.Context(), "threads", wrong)
        self.refused("degree: 4294967297 is beyond", heat.solve, degree=2**32 + 1)
        self.refused("degree: 1.5 is no integer", heat.solve, degree=1.5)
        self.refused("order: 4294967297 is beyond", heat.solve(degree=1).sample, None, 2**32 + 1)
        self.refused("scale: 'a' is no number", mesh.scale, "a")

    def test_truth_values(self):
        """True is no degree, although Python takes it for 1; flags are."""
        problem, mesh = poisson(), square()
        for value in (True, False, np.True_):
            for name, function in (("degree", lambda: facet.Solver(problem, degree=value)), ("refine", lambda: mesh.refine(value)),
                                   ("max_iterations", lambda: facet.Solver(problem, max_iterations=value)),
                                   ("cells", lambda: facet.box([0, 0], [1, 1], [value, 2])),
                                   ("threads", lambda: facet.Context(threads=value)),
                                   ("degree", lambda: mesh.quadrature(value)),
                                   ("rtol", lambda: facet.Solver(problem, rtol=value)),
                                   ("numbers", lambda: facet.DeviceArray(facet.Context(), value))):
                self.refused(name, function)
            facet.Solver(problem, degree=1, postprocess=value, warm_start=value)

    def test_pickles(self):
        """What lives in the library says what to do instead; reports are numbers."""
        solver = poisson().prepare(degree=1)
        solver.solve()
        case = facet.Case(text="mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 2]}}\nequation: diffusion\nexact: x\n")
        for thing, words in ((facet.Context(), "facet.Context()"), (square(), "to_meshio"), (poisson(), "make it there"),
                             (solver, "make it there"), (solver.solution, "save()"), (solver.solution.field(), "evaluate it"),
                             (solver.solution.sample(), "its arrays"), (case, "path or text"), (case.solve(), "json")):
            for function in (pickle.dumps, copy.copy, copy.deepcopy):
                self.refused(words, function, thing, kind=TypeError)
        self.assertEqual(pickle.loads(pickle.dumps(solver.solution.report))["degree"], 1)

    def test_names(self):
        heat = poisson()
        T = heat.solve(degree=1)
        for on in (3, [], None, ["xmin", None], [3], "xmin\0"):
            self.refused("", facet.Diffusion(square()).dirichlet, on)
            self.refused("", T.flux, on)
            self.refused("", heat.source.__setitem__, on, 1)
        for on in ([], 3, "xmin\0"):
            self.refused("", T.max, "u", on)
            self.refused("", heat.mesh.quadrature, 2, on)
        self.refused("NUL", facet.Diffusion, square(), source="x\0+1")
        self.refused("NUL", facet.read, "a\0.msh")
        self.refused("is no text", heat.mesh.members, None)
        self.refused("is no text", heat.interface, None, "a", 1)
        self.refused("of x and y", facet.box, coordinates={"x": [0, 1], "z": [0, 1]})
        self.refused("one axis", facet.box, coordinates=[[[0, 1]], [[0, 1]]])

    def test_numbers(self):
        solver = facet.Diffusion(square(), source="k", parameters={"k": 3}).dirichlet("rest", 0).prepare(degree=1)
        self.refused("t: 'a' is no number", solver.set, t="a")
        self.refused("parameter 'k': '3' is no number", solver.set, k="3")
        self.refused("parameter 'k': '3' is no number", facet.Diffusion, square(), parameters={"k": "3"})
        self.refused("no map of names", facet.Diffusion, square(), parameters=3)

    def test_lists(self):
        points, body = [[0, 0], [1, 0], [0, 1.0]], facet.Elasticity(square(), E=1, nu=0.3)
        self.refused("cells: 3 is no list", facet.Mesh, points, 3)
        self.refused("pairs (shape, array)", facet.Mesh, points, [3])
        self.refused("groups: 3 is no map", facet.Mesh, points, {"triangle": [[0, 1, 2]]}, 3)
        self.refused("coordinates: 3 is no list", facet.box, coordinates=3)
        self.refused("periodic: 3 is no list", square, periodic=3)
        self.refused("no list with an entry", facet.box, 0, 1, 4)
        self.refused("set: 3 is no list", facet.Case, text="", set=3)
        self.refused("jump: 3 is no list", poisson().jump, 3)
        self.refused("jump: 3 is no list", body.jump, 3)
        self.refused("directions: 3 is no list", body.roller, "xmin", 3)
        self.refused("axis: 3 is no list", body.orthotropic, 1, 0.3, 1, first=3)
        self.refused("progress: 3 is no function", facet.Context, progress=3)
        self.refused("field: [1] is no text", poisson().solve(degree=1).evaluate, [1], [0.5, 0.5])


class Shapes(Mistakes):
    def test_arrays(self):
        solver = facet.Elasticity(square(), E=1, nu=0.3).fixed("xmin").prepare(degree=2)
        f = np.ones((solver.n_points, 2))
        for wrong in (f.T, np.ascontiguousarray(f.T), f.ravel(), f[None]):
            self.refused("where the solver has", solver.solve, wrong)
            self.refused("where the solver has", solver.guess, wrong)
        for wrong in (np.empty((2, solver.n_points)), np.empty(2 * solver.n_points)):
            self.refused("is needed", solver.solve, f, out=wrong)
        solver.solve(f, out=f)
        x = np.random.default_rng(1).random((5, 2))
        u = solver.solution
        self.refused("is needed", u.evaluate, "u", x, out=np.empty((2, 5)))
        self.refused("is needed", u.evaluate, "stress", x, out=np.empty((5, 4)))
        values = np.empty((5, 2))
        self.assertIs(u.evaluate("u", x, out=values), values)
        np.testing.assert_array_equal(values, u(x))
        heat = poisson().prepare(degree=1)
        self.refused("where the solver has", heat.solve, np.ones((heat.n_points, 1)))
        n = heat.n_unknowns
        self.refused("unknowns", heat.apply, np.ones((2, n // 2)))
        self.assertEqual(heat.apply(np.ones((n, 1))).shape, (n,))


class Changes(Mistakes):
    def test_mesh_in_its_own_solve(self):
        """A function that is asked for data refines the mesh under the solve."""
        for change in (lambda mesh: mesh.refine(), lambda mesh: mesh.scale(2)):
            mesh = square()
            heat = facet.Diffusion(mesh, source=lambda x: change(mesh) and 1).dirichlet("rest", 0)
            self.refused("this mesh is in use", heat.solve, degree=2)
            self.assertEqual(mesh.n_cells, 32)
            mesh.refine()
            self.assertEqual(mesh.n_cells, 128)

    def test_mesh_in_another_thread(self):
        mesh, refused = square(), []

        def other():
            try:
                mesh.refine()
            except facet.InputError as error:
                refused.append(str(error))

        def source(x):
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            return 1
        facet.Diffusion(mesh, source=source).dirichlet("rest", 0).solve(degree=2)
        self.assertIn("this mesh is in use", refused[0])

    def test_solver_in_its_own_solve(self):
        found = []
        heat = facet.Diffusion(square(), source=lambda x: (found[0].solve() if found else 0) or 1)
        solver = heat.dirichlet("rest", 0).prepare(degree=2)
        found.append(solver)
        self.refused("this solver is at work", solver.solve)
        found.clear()
        self.assertEqual(solver.solve().shape, (solver.n_points,))

    def test_one_solver_in_several_threads(self):
        """They take turns: each gets the solution of its own source."""
        solver = poisson(8).prepare(degree=3, method="cg")
        one = solver.solve(np.ones(solver.n_points))
        wrong = []

        def work(k):
            for _ in range(5):
                u = solver.solve(np.full(solver.n_points, float(k)))
                if np.abs(u - k * one).max() > 1e-6:
                    wrong.append(k)
        threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_gone(self):
        solver = facet.Diffusion(square(), source="1 + t").dirichlet("rest", 0).prepare(degree=2)
        solver.solve()
        T = solver.solution
        field = T.field()
        first = field([0.5, 0.5])
        solver.set(t=1).solve()
        self.refused("gone", field, [0.5, 0.5])
        self.refused("gone", T, [0.5, 0.5])
        self.assertIn("gone", repr(T))
        self.assertIn("gone", T._repr_html_())
        self.assertAlmostEqual(field.update()([0.5, 0.5]), 2 * first, 9)


class Assignment(Mistakes):
    def test_replaces(self):
        """Assignment is all that is said; of one group it is said beside the rest."""
        whole = facet.Diffusion(halves(), conductivity=100, source=3).dirichlet("xmin", 0).neumann("rest")
        wanted = whole.solve(degree=2)
        heat = facet.Diffusion(halves(), conductivity={"left": 1, "right": 7}, source={"left": 5})
        heat.dirichlet("xmin", 0).neumann("rest")
        heat.conductivity, heat.source = 100, 3
        self.assertAlmostEqual(heat.solve(degree=2).max(), wanted.max(), 12)
        self.assertEqual(repr(heat.source), "3")
        heat.source = {"right": 4}
        self.assertAlmostEqual(heat.solve(degree=2).flux("xmin"), 2, 9)
        heat.source["left"] = 2
        self.assertAlmostEqual(heat.solve(degree=2).flux("xmin"), 3, 9)
        heat.source = 0
        self.assertAlmostEqual(heat.solve(degree=2).flux("xmin"), 0, 9)
        self.refused("cannot be taken back", setattr, heat, "conductivity", {"left": 1})

    def test_unknown(self):
        heat, body = poisson(), facet.Elasticity(square(), E=1, nu=0.3)
        for problem, name, words in ((heat, "sorce", "did you mean 'source'"), (body, "E", "body.material["),
                                     (body, "plane", 'plane="stress"'), (heat, "plane", 'plane="axisymmetric"'),
                                     (body, "material", "body.material["),
                                     (heat, "dirichlet", "is called"), (heat, "mesh", "make another problem")):
            self.refused(words, setattr, problem, name, 5, kind=AttributeError)

    def test_prepared(self):
        """A solver keeps the data that its problem had."""
        heat = poisson()
        solver = heat.prepare(degree=2)
        u = solver.solve()
        heat.source = 2
        np.testing.assert_array_equal(solver.solve(), u)
        np.testing.assert_allclose(heat.prepare(degree=2).solve(), 2 * u, rtol=1e-9)


class Processes(unittest.TestCase):
    def run_code(self, code):
        done = subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {ROOT!r} + '/python')\n" + code],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def test_other_signals(self):
        """What the handler of an alarm raises comes out of the solve."""
        told, lost = self.run_code("""
import signal, facet
heat = facet.Diffusion(facet.box([0, 0, 0], [1, 1, 1], [16, 16, 16]), source=1).dirichlet("rest", 0)
def late(number, frame):
    raise TimeoutError("late")
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, 0.4)
hook = sys.unraisablehook
try:
    for i in range(1000):
        heat.solve(degree=2, method="cg", preconditioner="jacobi")
except TimeoutError as error:
    print(error, sys.unraisablehook is hook)
small = facet.Diffusion(facet.box([0, 0], [1, 1], [2, 2]), source=1).dirichlet("rest", 0)
print("goes on", small.solve().max() > 0)
""")
        self.assertEqual((told, lost), ("late True\ngoes on True\n", ""))

    def test_fork(self):
        """The threads of the parent are not in its child, which would wait for them: it is told so."""
        told, _ = self.run_code("""
import os, facet
context = facet.Context(threads=2)
heat = facet.Diffusion(facet.box([0, 0], [1, 1], [8, 8], context=context), source=1).dirichlet("rest", 0)
heat.solve(degree=2)
sys.stdout.flush()
child = os.fork()
if child == 0:
    try:
        heat.solve(degree=2)
    except facet.MachineError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(heat.solve(degree=2).max() > 0)
""")
        self.assertIn("spawn", told)
        self.assertIn("True", told)


if __name__ == "__main__":
    unittest.main()
