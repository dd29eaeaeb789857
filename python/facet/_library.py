"""The shared library: where it is found, what its calls return, how they are interrupted, and when what they made is
freed. Everything else of the package goes through `lib` and `check`."""
from __future__ import annotations

import ctypes
import numbers
import operator
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple

from . import _declarations as c

if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # whose functions take a tenth of those of signal, which make enums of numbers


class Error(Exception):
    """What the library refused or could not do, in its own sentence."""


class InputError(Error, ValueError):
    """The input is wrong: the sentence says what, where, and what would be right."""


class MachineError(Error, RuntimeError):
    """Memory, a device or a file failed."""


class NotConverged(Error, RuntimeError):
    """The solve stopped before it reached the tolerance. solver: that which was solved, with its report."""

    solver: Any = None


class Interrupted(Error):
    """facet.interrupt(), or Context.interrupt(), was called. (Ctrl-C is a KeyboardInterrupt, as always.)"""


_KINDS = {c.FACET_NOT_CONVERGED: NotConverged, c.FACET_ERROR_INPUT: InputError, c.FACET_ERROR_MACHINE: MachineError,
          c.FACET_INTERRUPTED: Interrupted}


# ---------------------------------------------------------------------------------------------- finding it

def candidates() -> List[str]:
    """Where the library may be: what FACET_LIBRARY names, and nothing else then; next to this file, as in a wheel; in
    the build directories of the checkout that this file belongs to."""
    named = os.environ.get("FACET_LIBRARY")
    if named:
        return [named]
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(here))
    return [os.path.join(folder, "libfacet.so") for folder in
            (here, os.path.join(root, "build"), os.path.join(root, "build-cuda"))]


def version_of(library: ctypes.CDLL, path: str) -> str:
    """The version of a library that this package can use, or an ImportError."""
    try:
        library.facet_version.restype = ctypes.c_char_p
        version = bytes(library.facet_version()).decode()
    except AttributeError:
        raise ImportError(f"{path} is not facet's library: it has no facet_version") from None
    # 0.x promises nothing across minor versions; from 1 on a newer minor version knows what an older one did.
    have = [int(part) for part in version.split(".")[:2]]
    want = [c.FACET_VERSION_MAJOR, c.FACET_VERSION_MINOR]
    if have[0] != want[0] or (have[1] != want[1] if want[0] == 0 else have[1] < want[1]):
        raise ImportError(f"{path} is version {version} of facet's library, and this package is for "
                          f"{c.FACET_VERSION}: build or install the two together, or let FACET_LIBRARY name another")
    return version


def load() -> ctypes.CDLL:
    tried = candidates()
    path = next((path for path in tried if os.path.exists(path)), None)
    if path is None:
        raise ImportError("facet's library was not found; looked for " + ", ".join(tried) +
                          ". Build it ('make', or 'pip install .'), or let FACET_LIBRARY name it")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"facet's library cannot be loaded: {error}") from None
    version_of(library, path)
    missing = []
    for name, (result, arguments) in c.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            missing.append(name)
            continue
        function.restype, function.argtypes = result, arguments
    if missing:
        raise ImportError(f"{path} does not have {', '.join(missing[:3])}{' and others' if len(missing) > 3 else ''}: "
                          "it was built from another facet.h than this package; build the two together")
    return library


lib: Any = load()


# ---------------------------------------------------------------------------------------------- failure

def message() -> str:
    return bytes(lib.facet_message()).decode("utf-8", "replace")


Pending = List[BaseException]


def fail(status: int, *pending: Pending) -> NoReturn:
    """Raises what a status means: the exception of a callback where there was one, else the library's sentence."""
    text = message()
    for errors in pending:
        if errors:
            error = errors[0]
            errors.clear()
            raise error
    raise _KINDS.get(status, Error)(text)


def check(status: int) -> None:
    if status:
        fail(status)


_main = threading.main_thread().ident


def call(function: Callable[..., int], *arguments: Any, pending: Sequence[Pending] = (),
         using: Sequence["_Record"] = ()) -> None:
    """A call that may take long. using: what it reads, which nobody may change while it runs."""
    _not_in_a_child()
    _begin(using)
    try:
        status = function(*arguments) if threading.get_ident() != _main else _watched(function, arguments, pending)
    finally:
        _end(using)
    if status:
        fail(status, *pending)


def _watched(function: Callable[..., int], arguments: Sequence[Any], pending: Sequence[Pending]) -> int:
    """A call in the main thread, where signals are handled: Python runs their handlers as soon as the monitor (see
    Context), which is a Python function, is called. Ctrl-C asks the library to stop, and the handler that was there
    does what it would have done once the library has come back. What other handlers raise cannot pass through C,
    and ctypes hands it to sys.unraisablehook: there it is kept, and comes out of the call."""
    came: List[Any] = []
    raised: List[BaseException] = []
    interrupted, ignored = signal.getsignal(signal.SIGINT), sys.unraisablehook

    def stop(number: int, frame: Any) -> None:
        came.append((number, frame))
        lib.facet_interrupt()

    def keep(lost: Any) -> None:
        if threading.get_ident() != _main or "ctypes callback" not in (lost.err_msg or "") or lost.exc_value is None:
            ignored(lost)
            return
        raised.append(lost.exc_value)
        lib.facet_interrupt()

    sys.unraisablehook = keep
    try:
        if callable(interrupted):
            signal.signal(signal.SIGINT, stop)
        status = function(*arguments)
    finally:
        if callable(interrupted):
            signal.signal(signal.SIGINT, interrupted)
        sys.unraisablehook = ignored
    if came or raised:
        lib.facet_interrupt_clear()
        for errors in pending:
            errors.clear()
    if came and callable(interrupted):
        interrupted(*came[0])
    if raised:
        raise raised[0]
    return status


# ---------------------------------------------------------------------------------------------- one at a time

_counting = threading.Lock()
_threads = False  # whether there was a context of several threads
_worked = False   # whether a long call was made
_child = False    # whether this process was forked after both


def several_threads() -> None:
    global _threads
    _threads = True


def _forked() -> None:
    global _child
    _child = _child or (_threads and _worked)


os.register_at_fork(after_in_child=_forked)


def _not_in_a_child() -> None:
    if _child:
        raise MachineError("this process was forked from one in which facet has worked with threads, which do not "
                           "survive a fork: start processes by 'spawn' (multiprocessing.get_context('spawn')), or "
                           "fork before facet is used")


def _begin(records: Sequence["_Record"]) -> None:
    global _worked
    _worked = True
    with _counting:
        for record in records:
            if record.running < 0:
                raise InputError("the mesh is being refined or scaled by another call; wait for it")
        for record in records:
            record.running += 1


def _end(records: Sequence["_Record"]) -> None:
    with _counting:
        for record in records:
            record.running -= 1


class Change:
    """with Change(handle): nobody uses it now, and nobody can until it is done."""

    def __init__(self, handle: "Handle") -> None:
        self.record = handle.record

    def __enter__(self) -> None:
        with _counting:
            if self.record.running:
                raise InputError("this mesh is in use: a call that is running, in this thread or in another one, needs "
                                 "it as it is; refine or scale it before or after")
            self.record.running = -1

    def __exit__(self, *error: Any) -> None:
        with _counting:
            self.record.running = 0


_inside = threading.local()


class Asked:
    """with Asked(): this thread, which may be one of the library's own, is in a function that a call asks."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = getattr(_inside, "function", False)
        _inside.function = True

    def __exit__(self, *error: Any) -> None:
        _inside.function = self.before


class Turn:
    """Who may use a solver: with turn.read: any number of threads; with turn.change: one thread alone. Others wait, but
    for functions that a call asks: they might wait for that very call. A change that waits lets nobody in before it
    who could wait, so that its time comes."""

    __slots__ = ("turn", "readers", "changer", "waiting", "read", "change")

    def __init__(self) -> None:
        self.turn = threading.Condition(threading.Lock())
        self.readers: Dict[int, int] = {}  # threads, and how often each reads, one call inside another
        self.changer, self.waiting = 0, 0
        self.read, self.change = _Reading(self), _Changing(self)

    def begin_reading(self) -> None:
        _not_in_a_child()  # in which nobody would give the lock back
        me, asked = threading.get_ident(), getattr(_inside, "function", False)
        with self.turn:
            while self.changer or (self.waiting and not asked and me not in self.readers):
                self.refuse(self.changer == me or asked)
                self.turn.wait()
            self.readers[me] = self.readers.get(me, 0) + 1

    def end_reading(self) -> None:
        me = threading.get_ident()
        with self.turn:
            self.readers[me] -= 1
            if self.readers[me] == 0:
                del self.readers[me]
            if not self.readers:
                self.turn.notify_all()

    def begin_change(self) -> None:
        _not_in_a_child()
        me, asked = threading.get_ident(), getattr(_inside, "function", False)
        with self.turn:
            self.refuse(self.changer == me or me in self.readers)
            self.waiting += 1
            try:
                while self.changer or self.readers:
                    self.refuse(asked)
                    self.turn.wait()
                self.changer = me
            finally:
                self.waiting -= 1
                if not self.changer:
                    self.turn.notify_all()

    def end_change(self) -> None:
        with self.turn:
            self.changer = 0
            self.turn.notify_all()

    @staticmethod
    def refuse(refused: bool) -> None:
        if refused:
            raise InputError("this solver is at work: a function that a call asks for data, or that hears of its "
                             "progress, cannot wait for a solver, and cannot use one before the call that it is at has "
                             "come back")


class _Reading:
    __slots__ = ("turn",)

    def __init__(self, turn: Turn) -> None:
        self.turn = turn

    def __enter__(self) -> None:
        self.turn.begin_reading()

    def __exit__(self, *error: Any) -> None:
        self.turn.end_reading()


class _Changing(_Reading):
    def __enter__(self) -> None:
        self.turn.begin_change()

    def __exit__(self, *error: Any) -> None:
        self.turn.end_change()


def interrupt() -> None:
    """Asks the running calls of all contexts to stop, from any thread: they raise Interrupted."""
    lib.facet_interrupt()


def interrupt_clear() -> None:
    """Takes back what interrupt() asked for and no call has obeyed yet."""
    lib.facet_interrupt_clear()


def version() -> str:
    """The version of the library."""
    return bytes(lib.facet_version()).decode()


def commit() -> str:
    """The commit that the library was built from (facet_commit)."""
    return bytes(lib.facet_commit()).decode()


# ---------------------------------------------------------------------------------------------- ownership

_lock = threading.RLock()


class _Record:
    """What one facet_X_create made. It is freed when its Handle is gone and everything made from it is freed; so the
    order in which Python drops its objects does not matter, not even inside cycles."""

    __slots__ = ("pointer", "destroy", "parents", "keep", "count", "running")

    def __init__(self, pointer: int, destroy: Optional[Callable[[Any], None]], parents: Sequence["_Record"],
                 keep: Any) -> None:
        self.pointer, self.destroy, self.parents, self.keep, self.count = pointer, destroy, parents, keep, 1
        self.running = 0  # calls that use it; -1: one that changes it
        with _lock:
            for parent in parents:
                parent.count += 1

    def release(self) -> None:
        with _lock:
            self.count -= 1
            if self.count > 0:
                return
            if self.destroy is not None and self.pointer:
                self.destroy(ctypes.byref(ctypes.c_void_p(self.pointer)))
            self.pointer = 0
            parents, self.parents, self.keep = self.parents, (), None
            for parent in parents:
                parent.release()


class Handle:
    """A pointer of the library. destroy: NULL: somebody else frees it, which `parents` then are. keep: what must live
    as long, such as callbacks."""

    __slots__ = ("pointer", "record", "__weakref__")
    record: _Record

    def __init__(self, pointer: Any, destroy: Optional[Callable[[Any], None]], parents: Sequence["Handle"] = (),
                 keep: Any = None) -> None:
        self.pointer = int((pointer.value if isinstance(pointer, ctypes.c_void_p) else pointer) or 0)
        self.record = _Record(self.pointer, destroy, tuple(parent.record for parent in parents), keep)

    def depend(self, other: "Handle") -> None:
        """Lets another live as long as this one."""
        with _lock:
            other.record.count += 1
            self.record.parents = (*self.record.parents, other.record)

    def records(self) -> Tuple[_Record, ...]:
        """Its own and those of all that it is made from."""
        found: List[_Record] = []
        ahead = [self.record]
        while ahead:
            record = ahead.pop()
            if record not in found:
                found.append(record)
                ahead += record.parents
        return tuple(found)

    def __del__(self) -> None:
        if not sys.is_finalizing() and hasattr(self, "record"):
            self.record.release()


class Settled:
    """What lives in the library of this process: it is not pickled (as multiprocessing would), nor copied. _instead:
    what to do."""

    _instead = ""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"a facet.{type(self).__name__} is neither pickled nor copied, since it lives in the library of "
                        f"this process: {self._instead}")


# ---------------------------------------------------------------------------------------------- words

def encode(text: Optional[str]) -> Optional[bytes]:
    return None if text is None else word(text, "a text").encode("utf-8")


def word(text: Any, what: str) -> str:
    """A name or an expression that C can read to its end."""
    if not isinstance(text, str):
        raise InputError(f"{what}: {text!r} is no text")
    if "\0" in text:
        raise InputError(f"{what}: {text!r} has a character NUL")
    return text


def is_truth(value: Any) -> bool:
    """True and False of Python and NumPy, which Python takes for 1 and 0."""
    return type(value).__name__ in ("bool", "bool_")


def integer(value: Any, what: str, least: int = -2**31) -> int:
    """An integer of C."""
    if is_truth(value):
        raise InputError(f"{what}: {value!r} is no integer")
    try:
        n = operator.index(value)
    except TypeError:
        if not isinstance(value, numbers.Real) or not float(value).is_integer():
            raise InputError(f"{what}: {value!r} is no integer") from None
        n = int(float(value))
    if not -2**31 <= n < 2**31:
        raise InputError(f"{what}: {n} is beyond integers of 32 bits")
    if n < least:
        raise InputError(f"{what}: {n} is less than {least}")
    return n


def real(value: Any, what: str) -> float:
    try:
        if isinstance(value, (str, bytes)) or is_truth(value):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{what}: {value!r} is no number") from None


def entries(values: Any, what: str) -> List[Any]:
    """A list, an array, a tuple as a list."""
    try:
        return list(values)
    except TypeError:
        raise InputError(f"{what}: {values!r} is no list") from None


def instance(value: Any, kind: Any, what: str) -> Any:
    """value, which must be of a class: its pointer goes to C, which cannot tell what it points to."""
    if not isinstance(value, kind):
        raise TypeError(f"{what}: a facet.{kind.__name__} is wanted, not {type(value).__name__}")
    return value


def texts(words: Sequence[Optional[str]]) -> Any:
    """A list of words as `const char *const *`."""
    return (ctypes.c_char_p * max(len(words), 1))(*[encode(word) for word in words])


def names(on: Any) -> List[str]:
    """One name, several, or None for none."""
    return [] if on is None else some(on)


def some(on: Any, what: str = "names") -> List[str]:
    """One name, or several, but not none."""
    if isinstance(on, str):
        return [word(on, what)]
    try:
        found = [word(name, what) for name in on]
    except TypeError:
        raise InputError(f"{what}: {on!r} is no name, and no list of names") from None
    if not found:
        raise InputError(f"{what}: an empty list names nothing")
    return found


def decode(text: Optional[bytes]) -> Optional[str]:
    return None if text is None else text.decode("utf-8", "replace")


def as_dict(struct: ctypes.Structure) -> dict[str, Any]:
    """The members of a struct but for its size; texts are text, arrays tuples."""
    found = {}
    for field in struct._fields_:
        value = getattr(struct, field[0])
        if field[0] != "size":
            found[field[0]] = (decode(value) if isinstance(value, bytes) else
                               tuple(value) if isinstance(value, ctypes.Array) else value)
    return found


def sized(kind: Any, **members: Any) -> Any:
    return kind(size=ctypes.sizeof(kind), **members)


def nearest(word: str, known: Sequence[str]) -> str:
    import difflib
    close = difflib.get_close_matches(word, known, 1, 0.5)
    return f"; did you mean '{close[0]}'?" if close else "; there are " + ", ".join(known)
