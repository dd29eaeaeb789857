"""Problems: the equation, its data and its boundary conditions, in the words of the case file (docs/input.md)."""
from __future__ import annotations

import ctypes
from typing import Any, Callable, Dict, Iterator, List, Mapping, MutableMapping, Optional, Tuple, Union

import numpy as np

from . import _data as data
from . import _declarations as c
from ._data import Function, Text
from ._library import (Handle, InputError, Settled, call, encode, entries, fail, instance, lib, names, nearest, real,
                       some, texts, word)
from ._mesh import AXES, Mesh


class Parameters(MutableMapping[str, float]):
    """Names for expressions. Set again, a name has another value for all of them."""

    def __init__(self, problem: "Problem") -> None:
        self._problem, self._values = problem, {}  # type: Problem, Dict[str, float]

    def __setitem__(self, name: str, value: float) -> None:
        number = real(value, f"parameter '{name}'")
        self._problem._check(lib.facet_problem_set_parameter(self._problem.handle.pointer,
                                                             encode(word(name, "parameter")), number))
        self._values[name] = number

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __delitem__(self, name: str) -> None:
        raise InputError("a parameter cannot be taken back")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)


class ByGroup:
    """Data for all cells, or by group. problem.source = 1 and problem.source = {"steel": 2} are all that is said from
    then on; problem.source["steel"] = 2 is said beside the rest. nothing: what it means to say nothing of a group,
    where that can be said."""

    def __init__(self, mesh: Mesh, give: Callable[[Optional[str], Any], None], nothing: Any = None,
                 earlier: bool = False) -> None:
        self._mesh, self._give, self._nothing = mesh, give, nothing
        self._values: Dict[Optional[str], Any] = {}
        # A case may have said something of any group.
        self._said: List[str] = list(mesh.regions) if earlier else []

    def _all(self, value: Any) -> None:
        """In place of everything that was said before."""
        if value is self:  # as after problem.source["steel"] = 2
            return
        if isinstance(value, ByGroup):
            raise InputError("these are data of another problem; give the numbers, expressions or functions")
        said = list(self._said)
        if not isinstance(value, Mapping):
            self._one(None, value)
            for group in said:  # the library keeps what is said of a group beside what is said of all
                self._give(group, value)
            self._values, self._said = {None: value}, said
            return
        named = [group for groups in value for group in some(groups, "group")]
        for group in named:
            self._known(group)
        left: List[Optional[str]] = [group for group in said if group not in named]
        left += [None] if None in self._values else []
        if left and self._nothing is None:
            raise InputError("what was said of " + ", ".join("all cells" if one is None else f"'{one}'" for one in left)
                             + " cannot be taken back: name it too, change one group as in x['group'] = ..., or make "
                             "another problem")
        for one in left:
            self._give(one, self._nothing)
        self._values = {}
        for groups, entry in value.items():
            self[groups] = entry

    def _known(self, group: str) -> None:
        if group not in (known := self._mesh.regions):
            raise InputError(f"the mesh has no group of cells '{group}'" +
                             (nearest(group, known) if known else "; it has none at all"))

    def _one(self, group: Optional[str], value: Any) -> None:
        if group is not None:
            self._known(group)
        self._give(group, value)
        self._values[group] = value
        if group is not None and group not in self._said:
            self._said.append(group)

    def __setitem__(self, groups: Any, value: Any) -> None:
        for group in some(groups, "group"):
            self._one(group, value)

    def __getitem__(self, group: str) -> Any:
        if group not in self._values and None not in self._values:
            raise KeyError(group)
        return self._values[group] if group in self._values else self._values[None]

    def __repr__(self) -> str:
        shown = {group: value for group, value in self._values.items() if group is not None}
        if not shown:
            return repr(self._values.get(None))
        return repr({**({"all others": self._values[None]} if None in self._values else {}), **shown})


class Problem(Settled):
    """What Diffusion and Elasticity have in common."""

    _instead = "hand over what it is made from, and make it there"

    _equation = c.FACET_DIFFUSION
    _name = "diffusion"
    _own = ("mesh", "context", "dim", "handle", "pending", "conditions")
    _hints: Dict[str, str] = {}

    def __init__(self, mesh: Mesh) -> None:
        made = ctypes.c_void_p()
        instance(mesh, Mesh, "mesh")
        call(lib.facet_problem_create, mesh.context.handle.pointer, mesh.handle.pointer, self._equation,
             ctypes.byref(made), using=(mesh.handle.record,))
        self._begin(mesh, made)

    def __setattr__(self, name: str, value: Any) -> None:
        """A word that is no datum would be forgotten in silence."""
        known = getattr(type(self), name, None)
        if name.startswith("_") or name in self._own and name not in self.__dict__ or \
                isinstance(known, property) and known.fset is not None:
            object.__setattr__(self, name, value)
            return
        kind = type(self).__name__
        if name in self._hints:
            raise AttributeError(f"{kind}.{name} cannot be assigned: {self._hints[name]}")
        if callable(known):
            raise AttributeError(f"{kind}.{name} is called, not assigned: problem.{name}(...)")
        if known is not None or name in self.__dict__:
            raise AttributeError(f"{kind}.{name} cannot be assigned; make another problem")
        words = [word for word, found in vars(type(self)).items() if isinstance(found, property) and found.fset]
        raise AttributeError(f"a {kind} has no '{name}'" + nearest(name, words + ["parameters"]))

    @classmethod
    def _adopt(cls, mesh: Mesh, made: Any) -> Any:
        """A problem that a case made. What the case said is not told again by its repr."""
        problem = cls.__new__(cls)
        problem._begin(mesh, made)
        problem._complete = True
        problem._blank()
        return problem

    def _blank(self) -> None:
        """The data that a user may set, none of them yet."""

    def _begin(self, mesh: Mesh, made: Any) -> None:
        self.mesh, self.context, self.dim = mesh, mesh.context, mesh.dim
        self._keep: List[Any] = []
        self.handle = Handle(made, lib.facet_problem_destroy, (mesh.handle, self.context.handle), self._keep)
        self.pending: List[BaseException] = []
        self._parameters = Parameters(self)
        self.conditions: List[Tuple[str, str, Any]] = []
        self._options: Dict[str, Any] = {}
        self._complete = False  # whether all conditions are there, as in a problem that a case made

    def _check(self, status: int) -> None:
        if status:
            fail(status, self.pending)

    def _held(self, value: Any) -> Any:
        """Data that the problem, and solvers made from it, need for as long as they live."""
        if isinstance(value, Function):
            if isinstance(value.keep, Handle):
                self.handle.depend(value.keep)
            else:
                self._keep.append(value.keep)
        return value

    def _jump(self, words: List[str]) -> None:
        self._check(lib.facet_problem_set_jump(self.handle.pointer, len(words), texts(words)))

    def _set(self, name: str, value: Any, *front: Any, counted: bool = False) -> None:
        """facet_problem_set_NAME(problem, front..., text or texts) or ..._function."""
        if isinstance(value, Text):
            words = (len(value.texts), texts(value.texts)) if counted else (encode(value.texts[0]),)
            self._check(getattr(lib, f"facet_problem_set_{name}")(self.handle.pointer, *front, *words))
        else:
            self._held(value)
            self._check(getattr(lib, f"facet_problem_set_{name}_function")(
                self.handle.pointer, *front, value.function, value.user))

    @property
    def parameters(self) -> Parameters:
        """Names with numbers, to be used in expressions."""
        return self._parameters

    @parameters.setter
    def parameters(self, values: Mapping[str, float]) -> None:
        if values is not self._parameters:
            if not isinstance(values, Mapping):
                raise InputError(f"parameters: {values!r} is no map of names to numbers")
            self._parameters.update(values)

    def _parts(self, on: Any) -> List[str]:
        """The parts that a condition names. The library would refuse others only when a solver is made, and a
        condition cannot be taken back."""
        known = self.mesh.parts
        parts = some(on, "parts of the boundary")
        for part in parts:
            if part != "rest" and part not in known:
                raise InputError(f"the boundary has no part '{part}'" + nearest(part, known + ["rest"]))
        return parts

    def _on(self, kind: str, on: Any, value: Any, give: Callable[[bytes], None]) -> None:
        """A condition on each of the parts."""
        for part in self._parts(on):
            give(part.encode())
            self.conditions.append((part, kind, value))

    # ------------------------------------------------------------------------------------- solving

    def prepare(self, degree: int = 3, **options: Any) -> Any:
        """Sets up once what is solved many times: a Solver. Options: those of facet.options(). It keeps the data of
        now; what is said to the problem later is for solvers that are made later."""
        from ._solver import Solver
        return Solver(self, degree=degree, **options)

    def solve(self, degree: int = 3, **options: Any) -> Any:
        """The Solution. degree: polynomial degree; options: those of facet.options()."""
        solver = self.prepare(degree=degree, **options)
        solver._run(None, None)
        return solver.solution

    def _summary(self) -> List[Tuple[str, Any]]:
        return [("equation", self._name), ("mesh", f"{self.mesh.n_cells} cells ({self.mesh.shape})")]

    def _rows(self) -> List[Tuple[str, Any]]:
        rows = self._summary()
        if self._parameters:
            rows.append(("parameters", repr(self._parameters)))
        rows += [(part, f"{kind}: {value!r}" if value is not None else kind) for part, kind, value in self.conditions]
        return rows

    def __repr__(self) -> str:
        return f"<facet.{type(self).__name__}: " + "; ".join(f"{k} {v}" for k, v in self._rows()[1:]) + ">"

    def _repr_html_(self) -> str:
        from ._html import table
        return table(f"facet.{type(self).__name__}", self._rows())


class Diffusion(Problem):
    """reaction u - div(conductivity grad u) = source.

    Data are numbers, expressions ("sin(pi*x)*y"), functions of an array of points (n, dim), fields of other solutions,
    or by group {"steel": 45}; the conductivity also a symmetric matrix [[a, b], [b, c]]. exact: the exact solution, an
    expression: source and missing boundary data follow from it, and Solution.errors measures against it. plane:
    "axisymmetric", in 2D: the body that the mesh makes turning about x = 0. Assignment, as in problem.source = 1,
    replaces all that was said of the source before, also by group; problem.source["steel"] = 1 says it of one group.
    Solvers that were made before keep their data.
    """

    _hints = {"plane": 'it is given to Diffusion(mesh, ..., plane="axisymmetric"), or to solve and prepare'}

    def __init__(self, mesh: Mesh, conductivity: Any = None, reaction: Any = None, source: Any = None, *,
                 exact: Optional[str] = None, plane: Optional[str] = None,
                 parameters: Optional[Mapping[str, float]] = None) -> None:
        super().__init__(mesh)
        if plane is not None:
            self._options["plane"] = plane
        self._blank()
        self.parameters = parameters or {}
        for kind, given in ((self._conductivity, conductivity), (self._reaction, reaction), (self._source, source)):
            if given is not None:
                kind._all(given)
        if exact is not None:
            self.exact = exact

    def _blank(self) -> None:
        earlier = self._complete
        self._conductivity = ByGroup(self.mesh, self._give_conductivity, None, earlier)
        self._reaction = ByGroup(self.mesh, self._give_reaction, 0, earlier)
        self._source = ByGroup(self.mesh, self._give_source, 0, earlier)
        self._exact: Optional[str] = None

    def _give_conductivity(self, group: Optional[str], value: Any) -> None:
        entry, n = data.tensor(value, self.mesh, "conductivity", self.pending)
        if isinstance(entry, Text):
            self._set("conductivity", entry, encode(group), counted=True)
        else:
            self._set("conductivity", entry, encode(group), n)

    def _give_reaction(self, group: Optional[str], value: Any) -> None:
        entry = data.scalar(value, "reaction", self.pending)
        if group is None:
            self._set("reaction", entry)
        else:
            self._set("group_reaction", entry, encode(group))

    def _give_source(self, group: Optional[str], value: Any) -> None:
        entry = data.scalar(value, "source", self.pending)
        if group is None:
            self._set("source", entry)
        else:
            self._set("group_source", entry, encode(group), counted=True)

    @property
    def conductivity(self) -> ByGroup:
        return self._conductivity

    @conductivity.setter
    def conductivity(self, value: Any) -> None:
        self._conductivity._all(value)

    @property
    def reaction(self) -> ByGroup:
        return self._reaction

    @reaction.setter
    def reaction(self, value: Any) -> None:
        self._reaction._all(value)

    @property
    def source(self) -> ByGroup:
        return self._source

    @source.setter
    def source(self, value: Any) -> None:
        self._source._all(value)

    @property
    def exact(self) -> Optional[str]:
        return self._exact

    @exact.setter
    def exact(self, value: str) -> None:
        self._check(lib.facet_problem_set_exact(self.handle.pointer, encode(data.text(value, "exact"))))
        self._exact = value

    def dirichlet(self, on: Any, g: Any = 0) -> "Diffusion":
        """u = g on the part, or parts; "rest": all that no other condition names; g may be the word "exact"."""
        entry = data.scalar(g, "dirichlet", self.pending)
        self._on("dirichlet", on, g, lambda part: self._set("dirichlet", entry, part))
        return self

    def neumann(self, on: Any, g: Any = 0) -> "Diffusion":
        """K grad u . n = g, with the outer normal n."""
        entry = data.scalar(g, "neumann", self.pending)
        self._on("neumann", on, g, lambda part: self._set("neumann", entry, part))
        return self

    def robin(self, on: Any, a: Any, g: Any) -> "Diffusion":
        """K grad u . n + a u = g, with a not negative."""
        entries = [data.scalar(value, f"robin's {name}", self.pending) for name, value in (("a", a), ("g", g))]
        if any(isinstance(entry, Function) for entry in entries):
            entries = [entry if isinstance(entry, Function) else data.function(
                data._constant(entry.texts, "robin"), 1, "robin", self.pending) for entry in entries]

        def give(part: bytes) -> None:
            first, second = entries
            if isinstance(first, Text):
                self._check(lib.facet_problem_set_robin(self.handle.pointer, part, encode(first.texts[0]),
                                                        encode(second.texts[0])))
            else:
                self._held(first), self._held(second)
                self._check(lib.facet_problem_set_robin_function(
                    self.handle.pointer, part, first.function, first.user, second.function, second.user))
        self._on("robin", on, {"a": a, "g": g}, give)
        return self

    def interface(self, one: str, other: str, conductance: Any) -> "Diffusion":
        """A contact that resists where cells of two groups meet: the flux is the conductance times the jump of u."""
        self._check(lib.facet_problem_set_interface(self.handle.pointer, encode(word(one, "group")),
                                                    encode(word(other, "group")),
                                                    encode(data.text(conductance, "conductance"))))
        self.conditions.append((f"{one}, {other}", "interface", conductance))
        return self

    def jump(self, jump: Any) -> "Diffusion":
        """On a mesh with joined sides: u is jump . x plus a function that repeats itself; dim numbers."""
        self._jump([data.text(value, "jump") for value in entries(jump, "jump")])
        return self

    def total_flux(self, on: Any, total: Any) -> "Diffusion":
        """The parts together are an electrode: u is one number there (Solution.potential), such that the integral of
        K grad u . n, what goes in, is this number, or expression of parameters."""
        parts = self._parts(on)
        self._check(lib.facet_problem_set_total_flux(self.handle.pointer, len(parts), texts(parts),
                                                     encode(data.text(total, "total_flux"))))
        self.conditions.extend((part, "total_flux", total) for part in parts)
        return self

    def _summary(self) -> List[Tuple[str, Any]]:
        rows = super()._summary()
        for name in ("conductivity", "reaction", "source"):
            if getattr(self, name)._values:
                rows.append((name, repr(getattr(self, name))))
        return rows + ([("exact", self._exact)] if self._exact else [])


class Elasticity(Problem):
    """-div sigma = source, sigma = 2 mu eps(u) + lambda (div u) I, with the displacement u.

    E and nu, or mu and lambda_: numbers, expressions, functions of points, or by group {"steel": 210e9}. source and
    exact: lists of dim entries, or functions that return (n, dim). plane: "strain" (default), "stress"
    or "axisymmetric", in 2D.
    """

    _equation = c.FACET_ELASTICITY
    _name = "elasticity"
    _hints = {**dict.fromkeys(("E", "nu", "mu", "lambda_", "material"),
                              'body.material["steel"] = {"E": 210e9, "nu": 0.3} changes a group; the moduli of all '
                              "cells are given to Elasticity(mesh, E=, nu=)"),
              "plane": 'it is given to Elasticity(mesh, ..., plane="stress"), or to solve and prepare'}

    def __init__(self, mesh: Mesh, E: Any = None, nu: Any = None, *, mu: Any = None, lambda_: Any = None,
                 source: Any = None, exact: Any = None, plane: Optional[str] = None,
                 parameters: Optional[Mapping[str, float]] = None) -> None:
        super().__init__(mesh)
        if plane is not None:
            self._options["plane"] = plane
        self._blank()
        self.parameters = parameters or {}
        given = {name: value for name, value in (("E", E), ("nu", nu), ("mu", mu), ("lambda", lambda_))
                 if value is not None}
        for group, moduli in _by_group(given).items():
            self._material._one(group, moduli)
        if source is not None:
            self._source._all(source)
        if exact is not None:
            self.exact = exact

    def _blank(self) -> None:
        self._material = ByGroup(self.mesh, self._give_material)
        self._source = ByGroup(self.mesh, self._give_source, [0] * self.dim, self._complete)
        self._exact: Any = None

    def _give_material(self, group: Optional[str], moduli: Any) -> None:
        known = {("E", "nu"), ("mu", "lambda")}
        if not isinstance(moduli, Mapping):
            raise InputError(f"material: {moduli!r} is no map as {{'E': 210e9, 'nu': 0.3}}")
        moduli = {"lambda" if name == "lambda_" else name: value for name, value in moduli.items()}
        kind = next((pair for pair in known if set(moduli) == set(pair)), None)
        if kind is None:
            raise InputError(f"material: {' and '.join(moduli) or 'nothing'} given; E and nu are wanted, or mu and "
                             "lambda_")
        values = [moduli[name] for name in kind]
        front = (encode(group), ",".join(kind).encode())
        if any(callable(value) for value in values):
            made = self._held(data.joined(values, "material", self.pending))
            self._check(lib.facet_problem_set_material_function(self.handle.pointer, *front, made.function, made.user))
        else:
            words = texts([data.text(value, name) for name, value in zip(kind, values)])
            self._check(lib.facet_problem_set_material(self.handle.pointer, *front, words))

    def _give_source(self, group: Optional[str], value: Any) -> None:
        entry = data.vector(value, self.dim, "source", self.pending)
        if group is not None:
            self._set("group_source", entry, encode(group), counted=True)
        elif isinstance(entry, Text):
            self._set("vector_source", entry, counted=True)
        else:
            self._set("source", entry)

    @property
    def material(self) -> ByGroup:
        """By group: body.material["steel"] = {"E": 210e9, "nu": 0.3}."""
        return self._material

    @property
    def source(self) -> ByGroup:
        """The force per volume."""
        return self._source

    @source.setter
    def source(self, value: Any) -> None:
        self._source._all(value)

    @property
    def exact(self) -> Any:
        return self._exact

    @exact.setter
    def exact(self, value: Any) -> None:
        entry = data.vector(value, self.dim, "exact", self.pending)
        if not isinstance(entry, Text):
            raise InputError("exact: expressions are wanted, since their derivatives are")
        self._check(lib.facet_problem_set_vector_exact(self.handle.pointer, self.dim, texts(entry.texts)))
        self._exact = value

    def orthotropic(self, E: Any, nu: Any, G: Any, first: Any = None, second: Any = None,
                    on: Any = None) -> "Elasticity":
        """E1, E2, E3, nu12, nu13, nu23, G12, G13, G23 (in plane stress E1, E2, nu12, G12) along axes, those of the
        coordinates or `first` and, in 3D, `second`; of a group, or of all cells."""
        parts = [[one] if np.ndim(one) == 0 else list(one) for one in (E, nu, G)]
        words = [data.text(value, "orthotropic") for part in parts for value in part]
        axes = [data.text(value, "axis") for axis in (first, second) if axis is not None
                for value in entries(axis, "axis")]
        for group in names(on) if on is not None else [None]:
            self._check(lib.facet_problem_set_orthotropic(self.handle.pointer, encode(group), len(words), texts(words),
                                                          len(axes), texts(axes)))
        return self

    def jump(self, jump: Any) -> "Elasticity":
        """On a mesh with joined sides: the mean gradient of the displacement, dim x dim numbers."""
        self._jump([data.text(value, "jump") for row in entries(jump, "jump") for value in entries(row, "jump")])
        return self

    # ------------------------------------------------------------------------------------- heat

    def thermal(self, temperature: Any, expansion: Any, reference: Any = 0, field: str = "u") -> "Elasticity":
        """Without stress the body is stretched by expansion (temperature - reference). temperature: a Solution of
        Diffusion (whose field is taken), a number, an expression or a function; expansion: also by group."""
        for group, value in (expansion if isinstance(expansion, Mapping) else {None: expansion}).items():
            entry = data.scalar(value, "expansion", self.pending)
            for name in some(group, "group") if group is not None else [None]:
                self._set("expansion", entry, encode(name))
        against = encode(data.text(reference, "reference"))
        if hasattr(temperature, "_temperature"):
            solver = temperature._temperature(field)
            self.handle.depend(solver)
            self._check(lib.facet_problem_set_temperature_field(self.handle.pointer, solver.pointer, encode(field),
                                                                against))
        else:
            entry = data.scalar(temperature, "temperature", self.pending)
            if isinstance(entry, Text):
                self._check(lib.facet_problem_set_temperature(self.handle.pointer, encode(entry.texts[0]), against))
            else:
                self._held(entry)
                self._check(lib.facet_problem_set_temperature_function(self.handle.pointer, entry.function, entry.user,
                                                                       against))
        return self

    # ------------------------------------------------------------------------------------- supports

    def _vector(self, kind: str, on: Any, value: Any, components: Any) -> "Elasticity":
        entry = data.vector(value, self.dim, kind, self.pending, none=True)

        def give(part: bytes) -> None:
            if isinstance(entry, Text):
                self._set(kind, entry, part, counted=True)
                return
            flags = None
            if components is not None:
                flags = (ctypes.c_int * self.dim)(*[axis in _axes(components, self.dim) for axis in AXES[:self.dim]])
            self._set(kind, entry, part, flags)
        if components is not None and isinstance(entry, Text):
            raise InputError(f"{kind}: components belong to a function; in a list a free one is None")
        self._on(kind, on, value, give)
        return self

    def displacement(self, on: Any, u: Any, components: Any = None) -> "Elasticity":
        """u = g: a list, in which a free component is None, or a function; components: which of its are held, as
        "xy"."""
        return self._vector("displacement", on, u, components)

    def fixed(self, on: Any) -> "Elasticity":
        """u = 0."""
        return self._vector("displacement", on, [0] * self.dim, None)

    def roller(self, on: Any, axes: Any) -> "Elasticity":
        """The components of u that are zero, as "y" or "xz"; the others are free."""
        held = _axes(axes, self.dim)
        return self._vector("displacement", on, [0 if axis in held else None for axis in AXES[:self.dim]], None)

    def symmetry(self, on: Any) -> "Elasticity":
        """u . n = 0, and no traction along the part."""
        self._on("symmetry", on, None, lambda part: self._check(
            lib.facet_problem_set_symmetry(self.handle.pointer, part)))
        return self

    def spring(self, on: Any, k: Any = None, *, normal: Any = None, tangential: Any = 0) -> "Elasticity":
        """sigma n + k u = t: a number, a symmetric matrix, or different ones along the normal and across it."""
        if (k is None) == (normal is None):
            raise InputError("spring: give k, or normal and tangential")
        if normal is not None:
            entry: Union[Text, Function] = Text([])
            n = 2
            if callable(normal) or callable(tangential):
                entry = data.joined([normal, tangential], "spring", self.pending)
            else:
                entry = Text([data.text(normal, "spring"), data.text(tangential, "spring")])
        else:
            entry, n = data.tensor(k, self.mesh, "spring", self.pending)

        def give(part: bytes) -> None:
            if isinstance(entry, Text):
                self._set("spring", entry, part, counted=True)
            else:
                self._set("spring", entry, part, n)
        self._on("spring", on, k if k is not None else {"normal": normal, "tangential": tangential},
                        give)
        return self

    # ------------------------------------------------------------------------------------- loads

    def traction(self, on: Any, t: Any = None, components: Any = None) -> "Elasticity":
        """sigma n = t, with the outer normal n: a list, in which a component that is held is None, or a function;
        nothing: a free part."""
        return self._vector("traction", on, [0] * self.dim if t is None else t, components)

    def free(self, on: Any = "rest") -> "Elasticity":
        """No traction. Without any condition on "rest", and without `exact`, parts that are not named are free."""
        return self.traction(on)

    def prepare(self, degree: int = 3, **options: Any) -> Any:
        if not self._complete and self._exact is None and all(part != "rest" for part, _, _ in self.conditions):
            self.free()
        return super().prepare(degree, **options)

    def pressure(self, on: Any, p: Any) -> "Elasticity":
        """-p n is added to the traction of the components that are free."""
        entry = data.scalar(p, "pressure", self.pending)
        self._on("pressure", on, p, lambda part: self._set("pressure", entry, part))
        return self

    def force(self, on: Any, total: Any) -> "Elasticity":
        """A total force, spread evenly over all the parts together: numbers, or expressions of parameters."""
        parts, entry = self._parts(on), data.vector(total, self.dim, "force", self.pending)
        if not isinstance(entry, Text):
            raise InputError("force: a total depends on no coordinate; traction takes a function")
        self._check(lib.facet_problem_set_force(self.handle.pointer, len(parts), texts(parts), self.dim,
                                                texts(entry.texts)))
        self.conditions.extend((part, "force", total) for part in parts)
        return self

    def gradient_pressure(self, on: Any, g: Any) -> "Elasticity":
        """(mu grad u - p I) n = g, of the formulation "gradient"."""
        entry = data.vector(g, self.dim, "gradient_pressure", self.pending)

        def give(part: bytes) -> None:
            self._set("gradient_pressure", entry, part, counted=True)
        self._on("gradient_pressure", on, g, give)
        return self

    def _summary(self) -> List[Tuple[str, Any]]:
        rows = super()._summary() + [("material", repr(self._material))]
        return rows + ([("source", repr(self._source))] if self._source._values else [])


def _by_group(given: Mapping[str, Any]) -> Dict[Optional[str], Dict[str, Any]]:
    """{"E": {"steel": 1, "brass": 2}, "nu": 0.3} as moduli by group; None for all cells."""
    found: Dict[Optional[str], Dict[str, Any]] = {}
    groups: List[str] = []
    for value in given.values():
        if isinstance(value, Mapping):
            groups += [group for key in value for group in names(key) if group not in groups]
    for group in groups or [None]:  # type: ignore[list-item]
        for name, value in given.items():
            if isinstance(value, Mapping):
                here = [one for key, one in value.items() if group in names(key)]
                if here:
                    found.setdefault(group, {})[name] = here[0]
            else:
                found.setdefault(group, {})[name] = value
    return found


def _axes(axes: Any, dim: int) -> List[str]:
    found = entries(axes, "directions")
    for axis in found:
        if axis not in tuple(AXES[:dim]):
            raise InputError(f"'{axis}' is no direction of this mesh; they are {', '.join(AXES[:dim])}")
    return found
