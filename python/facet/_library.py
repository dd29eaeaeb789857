"""The shared library: where it is found, what its calls return, how they are interrupted, and when what they made is
freed. Everything else of the package goes through `lib` and `check`."""
from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable, List, NoReturn, Optional, Sequence

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


def call(function: Callable[..., int], *arguments: Any, pending: Sequence[Pending] = ()) -> None:
    """A call that may take long. While it runs in the main thread Ctrl-C asks the library to stop: Python runs the
    handler as soon as the monitor (see Context), which is a Python function, is called. The handler that was there
    then does what it would have done, once the library has come back."""
    if threading.get_ident() != _main or not callable(previous := signal.getsignal(signal.SIGINT)):
        status = function(*arguments)
    else:
        came: List[Any] = []

        def stop(number: int, frame: Any) -> None:
            came.append((number, frame))
            lib.facet_interrupt()

        signal.signal(signal.SIGINT, stop)
        try:
            status = function(*arguments)
        finally:
            signal.signal(signal.SIGINT, previous)
        if came:
            lib.facet_interrupt_clear()
            for errors in pending:
                errors.clear()
            previous(*came[0])
    if status:
        fail(status, *pending)


def interrupt() -> None:
    """Asks the running calls of all contexts to stop, from any thread: they raise Interrupted."""
    lib.facet_interrupt()


def interrupt_clear() -> None:
    """Takes back what interrupt() asked for and no call has obeyed yet."""
    lib.facet_interrupt_clear()


def share_processors() -> None:
    """For machines that others use too: threads that wait give their processor up soon (facet_share_processors). To
    be called before anything else."""
    lib.facet_share_processors()


def version() -> str:
    """The version of the library."""
    return bytes(lib.facet_version()).decode()


# ---------------------------------------------------------------------------------------------- ownership

_lock = threading.RLock()


class _Record:
    """What one facet_X_create made. It is freed when its Handle is gone and everything made from it is freed; so the
    order in which Python drops its objects does not matter, not even inside cycles."""

    __slots__ = ("pointer", "destroy", "parents", "keep", "count")

    def __init__(self, pointer: int, destroy: Optional[Callable[[Any], None]], parents: Sequence["_Record"],
                 keep: Any) -> None:
        self.pointer, self.destroy, self.parents, self.keep, self.count = pointer, destroy, parents, keep, 1
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

    def __del__(self) -> None:
        if not sys.is_finalizing() and hasattr(self, "record"):
            self.record.release()


# ---------------------------------------------------------------------------------------------- words

def encode(text: Optional[str]) -> Optional[bytes]:
    return None if text is None else text.encode("utf-8")


def texts(words: Sequence[Optional[str]]) -> Any:
    """A list of words as `const char *const *`."""
    return (ctypes.c_char_p * max(len(words), 1))(*[encode(word) for word in words])


def names(on: Any) -> List[str]:
    """One name, several, or None for none."""
    if on is None:
        return []
    return [on] if isinstance(on, str) else [str(name) for name in on]


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
