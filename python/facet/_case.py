"""Case files: solved as a whole, or read and taken further step by step."""
from __future__ import annotations

import ctypes
import json
from typing import Any, Dict, List, Mapping, Optional

import numpy as np

from . import _declarations as c
from ._arrays import address
from ._context import Context, chosen
from ._library import (Handle, InputError, Settled, Turn, as_dict, call, check, decode, encode, entries, instance,
                       integer, lib, sized, texts)
from ._mesh import Mesh, file_name
from ._problem import Diffusion, Elasticity, Problem
from ._solver import Solution, Solver, change_options


def _settings(given: Any) -> List[str]:
    """{"parameters.h": 5} or ["parameters.h=5"] as texts; lists and maps in the notation of YAML."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        return [given] if isinstance(given, str) else [str(setting) for setting in entries(given, "set")]
    return [f"{key}={_yaml(value)}" for key, value in given.items()]


def _yaml(value: Any) -> str:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str) else json.dumps(value)


class Case(Settled):
    """A case file, or a chain of cases: Case("fin.yaml", set={"parameters.h": 5}), or Case(text="mesh: ...").

    solve() runs all of it, as the program does. mesh(), problem() and solver() give what it says, to go on with.
    """

    _instead = "hand over its path or text and make it there"

    def __init__(self, path: Any = None, set: Any = None, *, text: Optional[str] = None,
                 context: Optional[Context] = None) -> None:
        self.context = chosen(context)
        settings, made = _settings(set), ctypes.c_void_p()
        if (path is None) and (text is None):
            raise InputError("a case needs the path of its file, or its text")
        name = None if path is None else file_name(path)
        if text is None:
            check(lib.facet_case_load(self.context.handle.pointer, name, len(settings), texts(settings),
                                      ctypes.byref(made)))
        else:
            check(lib.facet_case_parse(self.context.handle.pointer, encode(text), name, len(settings), texts(settings),
                                       ctypes.byref(made)))
        self.handle = Handle(made, lib.facet_case_destroy, (self.context.handle,))
        self.path = path
        self._stamp = 0
        self._turn, self._records = Turn(), self.handle.records()
        self.cases = [self._info(i) for i in range(lib.facet_case_count(self.handle.pointer))]

    def _info(self, i: int) -> Dict[str, Any]:
        told = sized(c.facet_case_info)
        check(lib.facet_case_get_info(self.handle.pointer, i, ctypes.byref(told)))
        found = as_dict(told)
        found["equation"] = "elasticity" if told.equation == c.FACET_ELASTICITY else "diffusion"
        found["parameters"] = dict(self._parameter(i, k) for k in range(found.pop("n_parameters")))
        return found

    def _parameter(self, i: int, k: int) -> Any:
        name, value = ctypes.c_char_p(), ctypes.c_double()
        check(lib.facet_case_parameter(self.handle.pointer, i, k, ctypes.byref(name), ctypes.byref(value)))
        return decode(name.value), value.value

    @property
    def parameters(self) -> Dict[str, float]:
        found: Dict[str, float] = dict(self.cases[0]["parameters"])
        return found

    # ------------------------------------------------------------------------------------- step by step

    def mesh(self) -> Mesh:
        """The mesh it says, to go on with."""
        made = ctypes.c_void_p()
        call(lib.facet_case_create_mesh, self.handle.pointer, ctypes.byref(made), pending=(self.context.pending,))
        return Mesh._from(made, self.context)

    def problem(self, mesh: Mesh, i: int = 0, temperature: Optional[Solution] = None) -> Problem:
        """The problem of case i on a mesh; temperature: of the case whose field is its temperature."""
        made = ctypes.c_void_p()
        instance(mesh, Mesh, "mesh")
        if temperature is not None:
            instance(temperature, Solution, "temperature")
        i = self._which(i)
        check(lib.facet_case_create_problem(self.handle.pointer, i, mesh.handle.pointer,
                                            None if temperature is None else temperature._solver(),
                                            ctypes.byref(made)))
        kind = Elasticity if self.cases[i]["equation"] == "elasticity" else Diffusion
        problem: Problem = kind._adopt(mesh, made)
        if temperature is not None:
            problem.handle.depend(temperature.handle)
        return problem

    def _which(self, i: int) -> int:
        if not 0 <= integer(i, "case") < len(self.cases):
            raise InputError(f"case {i}: there are {len(self.cases)}, the first is 0")
        return integer(i, "case")

    def options(self, i: int = 0) -> Any:
        """Its facet_options."""
        told, i = sized(c.facet_options), self._which(i)
        check(lib.facet_case_options(self.handle.pointer, i, ctypes.byref(told)))
        return told

    def solver(self, mesh: Optional[Mesh] = None, i: int = 0, temperature: Optional[Solution] = None,
               **changes: Any) -> Solver:
        """A solver of case i, with its options, or others: degree=4."""
        told = change_options(self.options(i), changes)
        solver = Solver._from(self.problem(self.mesh() if mesh is None else mesh, i, temperature), told)
        solver.handle.depend(self.handle)
        return solver

    # ------------------------------------------------------------------------------------- as a whole

    def solve(self, write: bool = False) -> "Result":
        """All of it, as `facet solve` does; write: also the files that it names."""
        with self._turn.change:
            self._stamp += 1
            call(lib.facet_case_solve, self.handle.pointer, int(write), pending=(self.context.pending,))
        return Result(self)

    def values(self, i: int = 0, solution: Optional[Solution] = None) -> Dict[str, Any]:
        """What stands under `values` of case i, by name; solution: whose; None: that of solve()."""
        found = {}
        if solution is not None:
            instance(solution, Solution, "solution")
        for k in range(self.cases[self._which(i)]["n_values"]):
            told = sized(c.facet_value)
            with (self if solution is None else solution)._turn.read:
                pointer = None if solution is None else solution._solver()
                fixed = (self.handle.pointer, i, k, pointer, ctypes.byref(told))
                check(lib.facet_case_value(*fixed, 0, None))
                numbers = np.empty(told.n)
                check(lib.facet_case_value(*fixed, told.n, address(numbers)))
            if told.n_points and told.components > 1:
                numbers = numbers.reshape(told.n_points, told.components)
            found[str(decode(told.name))] = float(numbers[0]) if told.n == 1 else numbers
        return found

    def __repr__(self) -> str:
        title = self.cases[0]["title"]
        return (f"<facet.Case: {self.path or 'a text'}{f': {title}' if title else ''}; "
                f"{', '.join(case['equation'] for case in self.cases)}>")

    def _repr_html_(self) -> str:
        from ._html import table
        rows = [(case["name"] or "case", case["equation"]) for case in self.cases]
        return table(f"facet.Case {self.path or ''}", rows + [("parameters", self.parameters)])


class Result(Settled):
    """What a case gave: values by name, json (what the program writes), and the solutions. It is that of the last
    solve of its case."""

    _instead = "take its values and json, and save() its solution as a VTU file"

    def __init__(self, case: Case) -> None:
        self.case, self._stamp, self.context = case, case._stamp, case.context
        self.json: Dict[str, Any] = json.loads(lib.facet_case_json(case.handle.pointer) or b"{}")
        self.handle = case.handle
        self.mesh = Mesh._from(lib.facet_case_mesh(case.handle.pointer), case.context, (case.handle,), owned=False)
        self.solutions: List[Solution] = [Solution(_Solved(self, i)) for i in range(len(case.cases))]
        every = [case.values(i) for i in range(len(case.cases))]
        self.values: Dict[str, Any] = {name: value for values in every for name, value in values.items()}

    @property
    def solution(self) -> Solution:
        """That of the last case of a chain."""
        return self.solutions[-1]

    def __getitem__(self, name: str) -> Any:
        """A value by its name, or a solution by that of its case."""
        if name in self.values:
            return self.values[name]
        for case, solution in zip(self.case.cases, self.solutions):
            if case["name"] == name:
                return solution
        raise KeyError(name)

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}: {v:.6g}" if isinstance(v, float) else f"{k}: {len(v)} numbers"
                          for k, v in self.values.items())
        return f"<facet.Result: {self.case.path or 'a text'}; {shown or 'no values'}>"

    def _repr_html_(self) -> str:
        from ._html import table
        return table(f"facet.Result {self.case.path or ''}", self.values.items())


class _Solved:
    """The solver of a case that was solved, which the case owns: what a Solution needs of it."""

    def __init__(self, result: Result, i: int) -> None:
        case = result.case
        pointer = lib.facet_case_solver(case.handle.pointer, i)
        self.case, self.mesh, self.context = case, result.mesh, case.context
        self.elastic = case.cases[i]["equation"] == "elasticity"
        self.handle = Handle(pointer, None, (case.handle,))
        self._turn, self._records = case._turn, self.handle.records() + result.mesh.handle.records()

    @property
    def _stamp(self) -> int:
        return self.case._stamp


def solve(path: Any = None, set: Any = None, *, text: Optional[str] = None, write: bool = False,
          context: Optional[Context] = None) -> Result:
    """Solves a case file: facet.solve("fin.yaml", set={"parameters.h": 5}).values["hottest"]. set: what --set of the
    program takes, as a map or a list of "key=value"; write: also the files that it names."""
    return Case(path, set, text=text, context=context).solve(write)
