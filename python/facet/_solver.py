"""Solvers, solutions and fields: set up once, solve many times, and ask for numbers, arrays, files and pictures."""
from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from . import _declarations as c
from ._arrays import Doubles, address, device_address, doubles, is_device, out, points
from ._context import Context, phase_name
from ._data import Function, field_function
from ._library import (Handle, InputError, NotConverged, Settled, Turn, as_dict, call, check, decode, encode, instance,
                       integer, is_truth, lib, names, nearest, real, sized, some, texts, word)
from ._mesh import AXES, Mesh, file_name
from ._problem import Problem

# Names of the case file that differ from those of facet_options.
_RENAMED = {"operator": "operator_name"}
_FLAGS = ("postprocess", "warm_start", "watch")


def options(**given: Any) -> Any:
    """facet_options from keywords, and what keeps their texts alive. The names are those of the case file: degree,
    discretization (hdg, condensed, continuous), operator, tau (a number, an expression or {"hat": 25}), postprocess,
    formulation, plane, method, preconditioner, cycle, smoother, smoother_degree, precision, coarse_device,
    coarse_unknowns, degrees, fill, warm_start, watch, max_iterations, rtol, error, overlap."""
    made = c.facet_options()
    lib.facet_options_default(ctypes.byref(made), ctypes.sizeof(made))
    return change_options(made, given)


def change_options(made: Any, given: Mapping[str, Any]) -> Any:
    """The same with some of them changed."""
    kinds = {field[0]: field[1] for field in c.facet_options._fields_ if field[0] != "size"}
    for name, value in given.items():
        member = _RENAMED.get(name, name)
        if member not in kinds or name in _RENAMED.values():
            known = [word for word in kinds if word != "tau_hat"]
            raise InputError(f"no option is called '{name}'" + nearest(name, known))
        if name == "tau" and isinstance(value, Mapping):
            if set(value) != {"hat"}:
                raise InputError("tau: a number, an expression, or {'hat': number}")
            made.tau_hat = real(value["hat"], "tau")
        elif value is None:
            continue
        elif kinds[member] is ctypes.c_char_p:
            if not isinstance(value, str) and name != "tau":
                raise InputError(f"{name}: {value!r} is no word")
            setattr(made, member, encode(str(value)))
        elif kinds[member] is ctypes.c_double:
            setattr(made, member, real(value, name))
        else:
            setattr(made, member, int(value) if name in _FLAGS and is_truth(value) else integer(value, name))
    return made


class _Asked(Settled):
    """What can be asked of a solver that was solved. `_solver()` is its pointer, or raises."""

    _instead = "take what you need as numbers and arrays (evaluate(), sample(), values), or save() it as a VTU file"

    mesh: Mesh
    context: Context
    dim: int
    handle: Handle
    _turn: Turn
    _records: Any
    _fields: Dict[str, "Field"]  # those that were evaluated: their search for cells is prepared

    def _solver(self) -> int:
        raise NotImplementedError

    def _ask(self, function: Any, *arguments: Any) -> None:
        """A function of the solver, while nobody solves and nobody changes the mesh."""
        with self._turn.read:
            call(function, self._solver(), *arguments, pending=(self.context.pending,), using=self._records)

    # ------------------------------------------------------------------------------------- numbers

    def take(self, take: str, field: str = "u", on: Any = None, component: Any = None) -> Any:
        """integral, mean, max or min of a field over the mesh, over groups of cells or parts of the boundary. A vector
        or tensor gives an array, its extremes are those of the magnitude; component: "x", "xy" and so on."""
        words, values, n = names(on), np.empty(9), ctypes.c_int()
        number = -1 if component is None else _component(component, self.dim, field)
        self._ask(lib.facet_solver_take, encode(word(field, "field")), number, encode(word(take, "take")), len(words),
                  texts(words), address(values), ctypes.byref(n))
        return float(values[0]) if n.value == 1 else _shaped(values[:n.value].copy(), (), self.dim)

    def max(self, field: str = "u", on: Any = None, component: Any = None) -> Any:
        return self.take("max", field, on, component)

    def min(self, field: str = "u", on: Any = None, component: Any = None) -> Any:
        return self.take("min", field, on, component)

    def argmax(self, field: str = "u", on: Any = None, component: Any = None) -> Tuple[Doubles, int]:
        """Where max is: the point, and the number of its cell."""
        return self._place("max", field, on, component)

    def argmin(self, field: str = "u", on: Any = None, component: Any = None) -> Tuple[Doubles, int]:
        return self._place("min", field, on, component)

    def _place(self, take: str, field: str, on: Any, component: Any) -> Tuple[Doubles, int]:
        words, value, at, cell = names(on), ctypes.c_double(), np.zeros(3), ctypes.c_int64()
        number = -1 if component is None else _component(component, self.dim, field)
        self._ask(lib.facet_solver_extreme, encode(word(field, "field")), number, encode(take), len(words),
                  texts(words), ctypes.byref(value), address(at), ctypes.byref(cell))
        return at[:self.dim].copy(), cell.value

    def mean(self, field: str = "u", on: Any = None, component: Any = None) -> Any:
        return self.take("mean", field, on, component)

    def integral(self, field: str = "u", on: Any = None, component: Any = None) -> Any:
        return self.take("integral", field, on, component)

    def flux(self, on: Any) -> float:
        """Diffusion: the integral of q . n, what flows out through the part, or the parts together."""
        return float(self.take("integral", "flux", some(on, "flux")))

    def reaction(self, on: Any) -> Doubles:
        """Elasticity: the force upon the part, the integral of sigma n."""
        force: Doubles = self.take("integral", "traction", some(on, "reaction"))
        return force

    def potential(self, part: str) -> float:
        """The number that u is on a part with a total flux."""
        value = ctypes.c_double()
        self._ask(lib.facet_solver_potential, encode(word(part, "part")), ctypes.byref(value))
        return value.value

    # ------------------------------------------------------------------------------------- fields

    def evaluate(self, field: str, x: Any, out: Optional[Doubles] = None) -> Any:
        """A field at points: x is one point, or an array (..., dim). q, u of elasticity: (..., dim); stress, strain
        and H: (..., dim, dim). out: receives the values instead of a new array."""
        self._solver()  # which may be gone
        found = self._fields.get(word(field, "field"))
        if found is None:  # of threads that come here at once the first one's stays
            found = self._fields.setdefault(field, Field(self, field))
        return found(x, out)

    def __call__(self, x: Any, field: str = "u") -> Any:
        return self.evaluate(field, x)

    @property
    def equation(self) -> str:
        return str(self.report["equation"])

    # ------------------------------------------------------------------------------------- the solve

    @property
    def report(self) -> "Report":
        """How it was solved: iterations, residual, the method that was taken, seconds by phase, the balance."""
        told = sized(c.facet_report)
        self._ask(lib.facet_solver_report, ctypes.byref(told))
        found = Report(as_dict(told))
        for name in ("seconds", "peak_bytes"):
            found[name] = {phase_name(i): found[name][i] for i in range(c.FACET_N_PHASES) if found[name][i]}
        found["operator"] = found.pop("operator_name")
        found["converged"] = bool(found["converged"])
        for name in ("rate", "conservation", "conservation_whole", "error"):
            if found[name] < 0:
                found[name] = None
        found["notes"] = [self._note(i) for i in range(found.pop("n_notes"))]
        return found

    def _note(self, i: int) -> str:
        text = ctypes.create_string_buffer(1000)
        self._ask(lib.facet_solver_note, i, len(text), ctypes.addressof(text))
        return str(decode(text.value))

    @property
    def levels(self) -> List[Dict[str, Any]]:
        """The levels of the multigrid that was used, the finest first."""
        found = []
        for i in range(lib.facet_solver_n_levels(self._solver())):
            told = sized(c.facet_level)
            self._ask(lib.facet_solver_level, i, ctypes.byref(told))
            found.append(as_dict(told))
        return found

    @property
    def errors(self) -> Dict[str, float]:
        """Against the exact solution of the problem: u_L2, q_L2, u_star_L2 and so on."""
        told = sized(c.facet_errors)
        self._ask(lib.facet_solver_errors, ctypes.byref(told))
        return {name: value for name, value in as_dict(told).items() if value >= 0}

    @property
    def history(self) -> Doubles:
        """The relative residuals, before the first iteration and after each."""
        n = ctypes.c_int64()
        self._ask(lib.facet_solver_history, 0, None, ctypes.byref(n))
        values = np.empty(n.value)
        self._ask(lib.facet_solver_history, n.value, address(values), ctypes.byref(n))
        return values

    # ------------------------------------------------------------------------------------- files, pictures

    def save(self, path: Any, fields: Any = None, order: int = 0) -> None:
        """A VTU file for ParaView. fields: names, or None for all; order: of the cells in it, 0: chosen."""
        name = file_name(path)
        if not name.endswith(b".vtu"):
            raise InputError(f"'{path}': the name of the file is to end in .vtu")
        if order:
            self.sample(fields, order).save(name)
        else:
            self._ask(lib.facet_solver_write, name, _fields(fields))

    def sample(self, fields: Any = None, order: int = 0) -> "Sample":
        """The cells of such a file as arrays."""
        return Sample(self, fields, order)

    def field(self, name: str = "u") -> "Field":
        """A field to be asked often, and to be data of another problem."""
        return Field(self, name)

    def to_pyvista(self, fields: Any = None, order: int = 0) -> Any:
        """A pyvista.UnstructuredGrid with Lagrange cells, curved ones where the mesh is."""
        from ._convert import to_pyvista
        return to_pyvista(self.sample(fields, order))

    def to_meshio(self, fields: Any = None) -> Any:
        """A meshio.Mesh with cells of order 1, points of their own in each cell, and the fields."""
        from ._convert import sample_to_meshio
        return sample_to_meshio(self.sample(fields, 1))

    def plot(self, field: str = "u", component: Any = None, **more: Any) -> Any:
        """A picture by matplotlib, whose axes are returned: in 2D coloured cells, in 3D the surface, or what
        clip="z" (or ("z", 0.5)) leaves of it. deform: a factor of the displacement; edges: the mesh; ax, cmap, order,
        levels: see docs/python.md."""
        from ._plot import plot
        return plot(self, field, component, **more)

    def _as_field(self, components: int, what: str) -> Function:
        return self.field("u")._as_field(components, what)


class Report(Dict[str, Any]):
    """A report, with its entries as attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def _repr_html_(self) -> str:
        from ._html import table
        return table("report", self.items())


class Solution(_Asked):
    """What a solve found; it keeps its solver, problem and mesh. When the solver solves again, an older solution says
    so instead of giving the newer numbers."""

    def __init__(self, owner: Any) -> None:
        self._owner, self._stamp = owner, owner._stamp
        self.mesh, self.context, self.dim = owner.mesh, owner.context, owner.mesh.dim
        self.handle = owner.handle
        self._turn, self._records = owner._turn, owner._records
        self._fields = {}

    def _solver(self) -> int:
        if self._stamp != self._owner._stamp:
            raise InputError("this solution is gone: its solver has solved again, or was changed; ask the newer "
                             "solution, or prepare a solver for each")
        return self.handle.pointer

    @property
    def solver(self) -> Any:
        """The solver, with its points, its linear system and its preconditioner."""
        return self._owner if isinstance(self._owner, Solver) else None

    @property
    def equation(self) -> str:
        return "elasticity" if self._owner.elastic else "diffusion"

    def _temperature(self, field: str) -> Handle:
        self._solver()
        return self.handle

    def __repr__(self) -> str:
        if self._stamp != self._owner._stamp:
            return "<facet.Solution: gone, since its solver has solved again or was changed>"
        r = self.report
        how = f"{r.iterations} iterations" if r.method != "direct" else "direct"
        return (f"<facet.Solution: {r.equation}, {r.discretization} of degree {r.degree} on {self.mesh.n_cells} cells "
                f"({self.mesh.shape}), {r.trace_unknowns if r.trace_unknowns >= 0 else r.volume_unknowns} unknowns; "
                f"{how}, residual {r.residual:.1e}" + (f"; report['notes']: {len(r.notes)}" if r.notes else "") + ">")

    def _repr_html_(self) -> str:
        from ._html import table
        if self._stamp != self._owner._stamp:
            return table("facet.Solution", [("gone", "its solver has solved again or was changed")])
        r = self.report
        rows = [("equation", r.equation), ("method", f"{r.discretization}, degree {r.degree}, operator {r.operator}"),
                ("mesh", f"{self.mesh.n_cells} cells ({self.mesh.shape})"),
                ("unknowns", f"{r.trace_unknowns} of the trace, {r.volume_unknowns} in the cells"),
                ("solve", f"{r.method}, {r.preconditioner}: {r.iterations} iterations, residual {r.residual:.2e}; "
                          f"{r.reason}"),
                ("largest u", f"{self.max():.6g}"),
                ("seconds", ", ".join(f"{k} {v:.3f}" for k, v in r.seconds.items()))]
        return table("facet.Solution", rows + [("note", note) for note in r.notes])


class Solver(Settled):
    """A problem that is set up once, to be solved many times: u = solver.solve(), or solver.solve(source=array).

    points: where sources are given and solutions returned, (n, dim); weights: of integrals over them. After a solve
    `solution` answers all that a Solution does. A solver keeps the data that its problem had when it was made: what is
    said to the problem later is for solvers that are made later. set() gives other times and parameters to the
    expressions and functions it has. Threads that share a solver take turns; its solution they may read at once.
    """

    _instead = "hand over what its problem is made from, and make it there"

    def __init__(self, problem: Problem, degree: int = 3, **given: Any) -> None:
        instance(problem, Problem, "problem")
        self.problem, self.mesh, self.context, self.dim = problem, problem.mesh, problem.context, problem.dim
        self.elastic = problem._equation == c.FACET_ELASTICITY
        self._create(options(degree=degree, **{**problem._options, **given}))

    def _create(self, told: Any) -> None:
        problem, made = self.problem, ctypes.c_void_p()
        call(lib.facet_solver_create, problem.handle.pointer, ctypes.byref(told), ctypes.byref(made),
             pending=(problem.pending, self.context.pending), using=problem.handle.records())
        self.handle = Handle(made, lib.facet_solver_destroy, (problem.handle,), list(problem._keep))
        self._turn, self._records = Turn(), self.handle.records()
        # The formulation gradient is not symmetric where tractions are given.
        self._symmetric = not (self.elastic and told.formulation == b"gradient")
        self._pending = (problem.pending, self.context.pending)
        self._stamp = 0
        self._pointer = self.handle.pointer
        self._n: int = lib.facet_solver_n_points(self._pointer)
        self._size = self._n * (self.dim if self.elastic else 1)
        self._shape = (self._n, self.dim) if self.elastic else (self._n,)
        self._solution: Optional[Solution] = None

    @classmethod
    def _from(cls, problem: Problem, told: Any) -> "Solver":
        """With options that a case gave."""
        solver = cls.__new__(cls)
        solver.problem, solver.mesh, solver.context, solver.dim = problem, problem.mesh, problem.context, problem.dim
        solver.elastic = problem._equation == c.FACET_ELASTICITY
        solver._create(told)
        return solver

    @property
    def n_points(self) -> int:
        return self._n

    @property
    def points(self) -> Doubles:
        x = np.empty((self._n, self.dim))
        check(lib.facet_solver_points(self._pointer, address(x)))
        return x

    @property
    def weights(self) -> Doubles:
        w = np.empty(self._n)
        check(lib.facet_solver_weights(self._pointer, address(w)))
        return w

    # ------------------------------------------------------------------------------------- solving

    def solve(self, source: Any = None, out: Any = None) -> Any:
        """Solves, and returns u at the points. source: values there, (n,), in elasticity (n, dim); None: the problem's
        own. out: an array that receives u, which may be the source's own. Contiguous arrays of float64 are read and
        written where they are. Arrays of the device (CuPy, PyTorch, Context.empty) stay there."""
        if is_device(source) or is_device(out):
            return self._solve_device(source, out)
        if source is not None:
            source = self._values(source, "source")
        if out is None:
            out = np.empty(self._shape)
        elif type(out) is not np.ndarray or out.shape != self._shape or out.dtype != np.float64 or \
                not out.flags.c_contiguous or not out.flags.writeable:
            _out(out, self._size, self._shape)
        self._run(source, out)
        return out

    def _run(self, source: Any, u: Any) -> None:
        self._solve(lib.facet_solver_solve_n, self._size, None if source is None else address(source),
                    None if u is None else address(u))

    def _solve(self, function: Any, *arguments: Any) -> None:
        with self._turn.change:
            self._stamp += 1
            self._solution = None
            try:
                call(function, self._pointer, *arguments, pending=self._pending, using=self._records)
            except NotConverged as error:
                error.solver = self
                raise

    def _solve_device(self, source: Any, u: Any) -> Any:
        u = self.context.empty(self._size) if u is None else u
        f, keep = device_address(source, self._shape, "source", False, self.context)
        to, also = device_address(u, self._shape, "out", True, self.context)
        self._solve(lib.facet_solver_solve_device, f or None, to)
        del keep, also
        return u

    def _values(self, values: Any, what: str) -> Doubles:
        array = doubles(values, what)
        if array.shape != self._shape:
            raise InputError(f"{what}: an array of shape {array.shape} where the solver has {self._shape}")
        return array

    def _change(self, function: Any, *arguments: Any) -> None:
        with self._turn.change:
            check(function(self._pointer, *arguments))

    @property
    def solution(self) -> Solution:
        """What the last solve found."""
        if self._stamp == 0:
            raise InputError("nothing was solved yet: call solve() first")
        if self._solution is None:
            self._solution = Solution(self)
        return self._solution

    def guess(self, u: Any) -> "Solver":
        """Where the next iteration begins: values at the points."""
        array = self._values(u, "guess")
        self._change(lib.facet_solver_set_guess, array.size, address(array))
        return self

    def set(self, t: Optional[float] = None, **parameters: float) -> "Solver":
        """Another time, other values of parameters; what depends on them is made anew by the next solve, or by
        update()."""
        given = {name: real(value, f"parameter '{name}'") for name, value in parameters.items()}
        time = None if t is None else real(t, "t")
        for name, value in given.items():
            self._change(lib.facet_solver_set_parameter, encode(name), value)
        if time is not None:
            self._change(lib.facet_solver_set_time, time)
        return self

    def set_reaction(self, reaction: float) -> "Solver":
        """Another reaction, one number, on boxes: an implicit step of another length."""
        self._change(lib.facet_solver_set_reaction, real(reaction, "reaction"))
        return self

    def update(self) -> Tuple[str, ...]:
        """Makes anew what depends on the time and parameters that set() has changed, and says what that was: load,
        trace, cells. (Data that were given to the problem after prepare() are for other solvers.)"""
        changed = ctypes.c_int()
        with self._turn.change:
            self._stamp += self._stamp > 0
            self._solution = None
            call(lib.facet_solver_update, self._pointer, ctypes.byref(changed), pending=self._pending,
                 using=self._records)
        return tuple(name for name, bit in (("load", c.FACET_LOAD), ("trace", c.FACET_TRACE), ("cells", c.FACET_CELLS))
                     if changed.value & bit)

    # ------------------------------------------------------------------------------------- the linear system

    @property
    def n_unknowns(self) -> int:
        return int(lib.facet_solver_n_unknowns(self._pointer))

    def _product(self, function: Any, x: Any) -> Doubles:
        n = self.n_unknowns
        if np.shape(x) not in ((n,), (n, 1)):
            raise InputError(f"x: an array of shape {np.shape(x)} where there are {n} unknowns")
        vector = doubles(np.ravel(x), "x")
        y = np.empty(n)
        with self._turn.change:
            call(function, self._pointer, n, address(vector), address(y), pending=self._pending, using=self._records)
        return y

    def apply(self, x: Any) -> Doubles:
        """K x."""
        return self._product(lib.facet_solver_apply, x)

    def precondition(self, x: Any) -> Doubles:
        """M x, the preconditioner that is used; of a direct solve the inverse itself."""
        return self._product(lib.facet_solver_precondition, x)

    def system(self) -> Tuple[Doubles, Doubles]:
        """F and x of the last solve, K x = F."""
        n = self.n_unknowns
        right, x = np.empty(n), np.empty(n)
        self._change(lib.facet_solver_system, n, address(right), address(x))
        return right, x

    @property
    def K(self) -> Any:
        """K as a scipy.sparse.linalg.LinearOperator, with its transpose where K is symmetric: always but in
        elasticity with the formulation "gradient"."""
        return self._operator(self.apply, self.apply if self._symmetric else None)

    @property
    def M(self) -> Any:
        """The preconditioner as a scipy.sparse.linalg.LinearOperator."""
        return self._operator(self.precondition)

    def _operator(self, product: Any, transposed: Any = None) -> Any:
        from scipy.sparse.linalg import LinearOperator
        n = self.n_unknowns
        return LinearOperator((n, n), matvec=product, rmatvec=transposed, dtype=np.float64)

    def matrix(self) -> Any:
        """K as a scipy.sparse.csr_matrix, assembled for this call: of the operator mapped."""
        from scipy.sparse import csr_matrix
        n, entries = self.n_unknowns, ctypes.c_int64()
        self._change(lib.facet_solver_matrix, n, ctypes.byref(entries), None, None, None)
        offsets = np.empty(n + 1, dtype=np.int64)
        columns, values = np.empty(entries.value, dtype=np.int32), np.empty(entries.value)
        with self._turn.change:
            call(lib.facet_solver_matrix, self._pointer, n, ctypes.byref(entries), address(offsets), address(columns),
                 address(values), pending=self._pending, using=self._records)
        return csr_matrix((values, columns, offsets), shape=(n, n))

    def __repr__(self) -> str:
        done = f"{self._stamp} solve{'s' if self._stamp != 1 else ''}" if self._stamp else "not solved yet"
        return (f"<facet.Solver: {self.problem._name} on {self.mesh.n_cells} cells ({self.mesh.shape}), "
                f"{self.n_unknowns} unknowns, {self._n} points; {done}>")

    def _repr_html_(self) -> str:
        from ._html import table
        return table("facet.Solver", [("equation", self.problem._name), ("cells", self.mesh.n_cells),
                                      ("unknowns", self.n_unknowns), ("points", self._n),
                                      ("solves", self._stamp)])


class Field(Settled):
    """A field of a solution, to be asked as often as one likes: the search for cells is prepared once. It is a
    function of points, and data of other problems. When its solver solves again it says so, as the solution does;
    update() takes the newer one."""

    _instead = "evaluate it where it is, and hand over the values"

    def __init__(self, solution: _Asked, name: str = "u") -> None:
        made = ctypes.c_void_p()
        self._of: Any = instance(solution, Solution, "solution")
        self._stamp = self._of._stamp
        solution._ask(lib.facet_field_create, encode(word(name, "field")), ctypes.byref(made))
        self.name, self.mesh, self.dim, self.context = name, solution.mesh, solution.dim, solution.context
        self.handle = Handle(made, lib.facet_field_destroy, (solution.handle,))

    @property
    def components(self) -> int:
        return int(lib.facet_field_components(self.handle.pointer))

    def update(self) -> "Field":
        with self._of._turn.change:
            check(lib.facet_field_update(self.handle.pointer))
            self._stamp = self._of._owner._stamp
        return self

    def __call__(self, x: Any, out: Optional[Doubles] = None) -> Any:
        rows, shape = points(x, self.dim)
        k = self.components
        rest = _rest(self.dim, k)
        flat = isinstance(out, np.ndarray) and k == 1 and out.shape == (len(rows),)
        values = _out(out, len(rows) * k, (len(rows),) if flat else shape + rest)
        with self._of._turn.read:
            if self._stamp != self._of._owner._stamp:
                raise InputError("this field is that of a solution that is gone: its solver has solved again, or was "
                                 "changed; update() takes the newer one")
            call(lib.facet_field_evaluate, self.handle.pointer, len(rows), address(rows), address(values),
                 pending=(self.context.pending,), using=self._of._records)
        return out if out is not None else _shaped(values, shape, self.dim, k)

    def _as_field(self, components: int, what: str) -> Function:
        if self.components != components:
            raise InputError(f"{what}: the field {self.name} has {self.components} values a point, and {components} "
                             f"{'is' if components == 1 else 'are'} wanted")
        return Function(field_function(), self.handle.pointer, self.handle)

    def __repr__(self) -> str:
        return f"<facet.Field: {self.name}, {self.components} value{'s' if self.components > 1 else ''} a point>"


class Sample(Settled):
    """A solution on the cells of a VTU file: points (n, dim), nodes and offsets of the cells in the order of VTK 9,
    VTK's types, and fields by name."""

    _instead = "hand over its arrays (points, nodes, offsets, fields), or save() it as a VTU file"

    def __init__(self, solution: _Asked, fields: Any = None, order: int = 0) -> None:
        made = ctypes.c_void_p()
        instance(solution, Solution, "solution")
        solution._ask(lib.facet_sample_create, _fields(fields), integer(order, "order"), ctypes.byref(made))
        self.handle = Handle(made, lib.facet_sample_destroy)
        info = sized(c.facet_sample_info)
        check(lib.facet_sample_get_info(self.handle.pointer, ctypes.byref(info)))
        self.dim, self.order, self._info = int(info.dim), int(info.order), info
        self.points = np.empty((info.n_points, info.dim))
        self.nodes = np.empty(info.n_nodes, dtype=np.int64)
        self.offsets = np.empty(info.n_cells + 1, dtype=np.int64)
        self.types = np.empty(info.n_cells, dtype=np.uint8)
        check(lib.facet_sample_cells(self.handle.pointer, address(self.points), address(self.nodes),
                                     address(self.offsets), address(self.types)))
        self.fields: Dict[str, Doubles] = {}
        self.on_cells: List[str] = []
        for i in range(info.n_fields):
            self._read(i)

    def _read(self, i: int) -> None:
        told = sized(c.facet_sample_field)
        check(lib.facet_sample_get_field(self.handle.pointer, i, ctypes.byref(told), None))
        n = self._info.n_cells if told.on_cells else self._info.n_points
        values = np.empty((n, told.components) if told.components > 1 else (n,))
        check(lib.facet_sample_get_field(self.handle.pointer, i, ctypes.byref(told), address(values)))
        name = str(decode(told.name))
        self.fields[name] = values
        if told.on_cells:
            self.on_cells.append(name)

    def save(self, path: Any) -> None:
        check(lib.facet_sample_write(self.handle.pointer, file_name(path)))

    def __repr__(self) -> str:
        return (f"<facet.Sample: {len(self.types)} cells of order {self.order}, {len(self.points)} points; fields: "
                f"{', '.join(self.fields) or 'none'}>")


# ---------------------------------------------------------------------------------------------- shapes

def _fields(fields: Any) -> Optional[bytes]:
    return None if fields is None else encode(", ".join(names(fields)))


def _out(array: Any, size: int, shape: Optional[Sequence[int]] = None) -> Doubles:
    return out(array, (size,) if shape is None else shape, "out")


def _rest(dim: int, k: int) -> Tuple[int, ...]:
    """The axes of one value of k numbers."""
    return () if k == 1 else (dim, dim) if k == dim * dim else (k,)


def _shaped(values: Doubles, shape: Tuple[int, ...], dim: int, k: Optional[int] = None) -> Any:
    k = values.size if k is None else k
    array = values.reshape(shape + _rest(dim, k))
    return float(array) if array.ndim == 0 else array


def _component(component: Any, dim: int, field: str) -> int:
    """"y" is 1; "xy" is 1 of a tensor, by rows."""
    word = str(component)
    if isinstance(component, str) and word and all(letter in AXES[:dim] for letter in word) and len(word) <= 2:
        numbers = [AXES.index(letter) for letter in word]
        return numbers[0] if len(numbers) == 1 else numbers[0] * dim + numbers[1]
    raise InputError(f"component: '{component}' is none; a vector has {', '.join(AXES[:dim])}, a tensor xx, xy and so "
                     f"on (field {field})")
