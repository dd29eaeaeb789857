"""Data of a problem: numbers, expressions, Python functions of many points, and fields of other solutions, turned into
what the library takes. A function gets the points as an array (n, dim) and, by name, what else it asks for: the
outward normals n, the time t, the group."""
from __future__ import annotations

import ctypes
import inspect
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _declarations as c
from ._library import Asked, InputError, lib, word

_KNOWN = ("n", "t", "group")


class Text(NamedTuple):
    """Data as texts: numbers and expressions; None where a component is left to others."""

    texts: List[Optional[str]]


class Function(NamedTuple):
    """Data as a C function with its user pointer, and the objects that must outlive it."""

    function: Any
    user: Optional[int]
    keep: Any


def is_field(value: Any) -> bool:
    return hasattr(value, "_as_field")


def number(value: Any, what: str) -> str:
    """A number as a text that gives the same number back."""
    if isinstance(value, (bool, np.bool_)) or np.ndim(value) != 0:
        raise InputError(f"{what}: {value!r} is no number and no expression")
    try:
        x = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{what}: {value!r} is no number, no expression and no function") from None
    if not np.isfinite(x):
        raise InputError(f"{what}: {x} is not finite")
    return repr(x)


def text(value: Any, what: str) -> str:
    return word(value, what) if isinstance(value, str) else number(value, what)


# ---------------------------------------------------------------------------------------------- functions

def _asks(function: Callable[..., Any], what: str) -> Tuple[str, ...]:
    """The names beyond the points that a function wants."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # of C, say
        return ()
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    wanted = tuple(p.name for p in parameters[1:] if p.kind not in
                   (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD) and
                   (p.default is inspect.Parameter.empty or p.name in _KNOWN))
    if not parameters or (parameters[0].kind not in plain and parameters[0].kind != inspect.Parameter.VAR_POSITIONAL):
        raise InputError(f"{what}: a function takes the points, an array (n, dim), first")
    for name in wanted:
        if name not in _KNOWN:
            raise InputError(f"{what}: a function is given the points and, by these names, n (normals), t and group; "
                             f"this one wants '{name}'")
    return wanted


def _view(pointer: int, n: int) -> Any:
    numbers: Any = (ctypes.c_double * n).from_address(pointer)
    return np.frombuffer(numbers)


def _fill(result: Any, values: Any, what: str) -> None:
    """The result of a function into values (n, n_values): a number, a row for all points, or a row for each."""
    array = np.asarray(result)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{what}: the function returned an array of {array.dtype}, not of real numbers")
    n, k = values.shape
    if array.ndim == 0 and k == 1 or array.shape == (k,) and k > 1:
        values[...] = array
    elif array.size == n * k and array.shape[:1] == (n,):
        values[...] = array.reshape(n, k)
    else:
        raise InputError(f"{what}: the function returned an array of shape {array.shape} for {n} points; "
                         f"{(n,) if k == 1 else (n, k)} is wanted")


def function(f: Callable[..., Any], n_values: int, what: str, pending: List[BaseException]) -> Function:
    """A Python function for the library. It may be called from threads of the library, one at a time, since each
    waits for the interpreter's lock. What it raises is stored in `pending` and comes out of the call."""
    asks = _asks(f, what)

    def back(user: Any, points: Any, values: int) -> int:
        try:
            p = points.contents
            n, dim = p.n, p.dim
            if n == 0:
                return 0
            more = {}
            if "n" in asks:
                if not p.normals:
                    raise InputError(f"{what}: there are no normals n but in data of boundary conditions")
                more["n"] = _view(p.normals, n * dim).reshape(n, dim).copy()
            if "t" in asks:
                more["t"] = p.t
            if "group" in asks:
                more["group"] = None if p.group is None else p.group.decode()
            x = _view(p.x, n * dim).reshape(n, dim).copy()  # a copy, which the function may keep
            with Asked():
                found = f(x, **more)
            _fill(found, _view(values, n * n_values).reshape(n, n_values), what)
            return 0
        except BaseException as error:  # nothing may pass through C
            pending.append(error)
            return 1

    made = c.facet_function(back)
    return Function(made, None, made)


def _constant(texts: Sequence[Optional[str]], what: str) -> Callable[[Any], Any]:
    """Numbers beside a function."""
    try:
        row = np.array([float(str(t)) for t in texts])
    except ValueError:
        raise InputError(f"{what}: beside a function there may be functions and numbers, not expressions") from None
    return lambda x: np.broadcast_to(row, (len(x), len(row)))


def joined(values: Sequence[Any], what: str, pending: List[BaseException]) -> Function:
    """Several numbers or functions as the columns of one."""
    columns = [v if callable(v) else _constant([text(v, what)], what) for v in values]
    wants = [() if is_field(column) else _asks(column, what) for column in columns]

    def all_of(x: Any, t: float = 0.0, group: Any = None) -> Any:
        given = {"t": t, "group": group}
        out = np.empty((len(x), len(columns)))
        for i, (column, names) in enumerate(zip(columns, wants)):
            one = out[:, i:i + 1]
            filled = np.empty((len(x), 1))
            _fill(column(x, **{name: given[name] for name in names if name in given}), filled, what)
            one[...] = filled
        return out
    return function(all_of, len(columns), what, pending)


def scalar(value: Any, what: str, pending: List[BaseException]) -> Any:
    """Text or Function with one value a point."""
    if is_field(value):
        return value._as_field(1, what)
    if callable(value):
        return function(value, 1, what, pending)
    return Text([text(value, what)])


def vector(value: Any, dim: int, what: str, pending: List[BaseException], none: bool = False) -> Any:
    """Text or Function with dim values a point."""
    if is_field(value):
        return value._as_field(dim, what)
    if callable(value):
        return function(value, dim, what, pending)
    if isinstance(value, str) and value == "exact":
        return Text(["exact"] * dim)
    if isinstance(value, str) or np.ndim(value) == 0 or len(value) != dim:
        raise InputError(f"{what}: {value!r} is no list of {dim} numbers or expressions")
    if any(callable(v) for v in value):
        if any(v is None for v in value):
            raise InputError(f"{what}: give one function for all components, and components=...")
        return joined(value, what, pending)
    return Text([None if v is None and none else text(v, what) for v in value])


def tensor(value: Any, mesh: Any, what: str, pending: List[BaseException]) -> Any:
    """Text or Function with one value a point or a dim x dim matrix, and how many values these are. A function is asked
    for one point to find that out."""
    dim = mesh.dim
    if is_field(value):
        return value._as_field(1, what), 1
    if callable(value):
        n = _components(value, mesh, what)
        return function(value, n, what, pending), n
    if isinstance(value, str) or np.ndim(value) == 0:
        return Text([text(value, what)]), 1
    rows = list(value)
    if len(rows) != dim or any(isinstance(row, str) or np.ndim(row) != 1 or len(row) != dim for row in rows):
        raise InputError(f"{what}: {value!r} is no number, expression or matrix of {dim} x {dim} of these")
    return Text([text(entry, what) for row in rows for entry in row]), dim * dim


def _components(f: Callable[..., Any], mesh: Any, what: str) -> int:
    """Whether a function gives a number or a matrix: what it says of the first point of the mesh."""
    dim = mesh.dim
    normal = np.eye(dim)[:1]
    given = {"n": normal, "t": 0.0, "group": None}
    result = np.asarray(f(np.array(mesh.points[:1]), **{name: given[name] for name in _asks(f, what)}))
    return dim * dim if result.size == dim * dim else 1


def pick(value: Any, with_text: Callable[[Text], int], with_function: Callable[[Function], int]) -> int:
    return with_text(value) if isinstance(value, Text) else with_function(value)


def field_function() -> Any:
    return ctypes.cast(lib.facet_field_function, c.facet_function)
