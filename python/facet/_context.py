"""Contexts: a device, a number of threads, and who hears how far a call has come."""
from __future__ import annotations

import ctypes
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Union

import numpy as np

from . import _declarations as c
from ._arrays import DeviceArray
from ._library import Asked, Handle, InputError, Settled, check, encode, instance, integer, lib, several_threads

_PLAIN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_KINDS = ("begin", "progress", "iteration", "end", "tick")


class Event(NamedTuple):
    """What a monitor hears: kind is begin, progress, iteration, end or tick."""

    kind: str
    phase: str
    done: float
    total: float
    iteration: int
    residual: float
    seconds: float


Progress = Union[None, bool, Callable[[Event], Any]]


def _nothing(user: Any, event: Any) -> None:
    """The monitor of those who want none: while it is called Python looks whether Ctrl-C was pressed."""


_tick = _PLAIN(_nothing)


class _Bar:
    """Progress by tqdm: a bar for each phase that tells how far it is, and the residual of iterations."""

    def __init__(self) -> None:
        from tqdm.auto import tqdm
        self.make, self.bar = tqdm, None
        self.phase = ""

    def __call__(self, event: Event) -> None:
        if event.kind in ("begin", "end"):
            self.close()
            self.phase = event.phase
        elif event.kind in ("progress", "iteration"):
            if self.bar is None:
                total = int(event.total) if event.kind == "progress" else None
                self.bar = self.make(total=total, desc=event.phase or self.phase, leave=False)
            bar: Any = self.bar
            bar.n = int(event.done) if event.kind == "progress" else event.iteration
            if event.kind == "iteration":
                bar.set_postfix_str(f"residual {event.residual:.1e}", refresh=False)
            bar.update(0)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def phase_name(phase: int) -> str:
    return bytes(lib.facet_phase_name(phase)).decode()


def _event(told: Any) -> Event:
    kind = _KINDS[told.kind] if 0 <= told.kind < len(_KINDS) else "tick"
    phase = phase_name(told.phase) if told.phase < c.FACET_N_PHASES else ""
    return Event(kind, phase, told.done, told.total, told.iteration, told.residual, told.seconds)


def create_over(comm: Any, device: Optional[bytes], made: ctypes.c_void_p) -> None:
    """made: a context over a communicator of mpi4py (facet_dist.h)."""
    if not hasattr(lib, "facet_context_create_mpi"):
        raise InputError("comm: this library is for one process; build that over MPI ('make mpi') and let FACET_LIBRARY "
                         "name it: build/libfacet_dist.so")
    try:
        from mpi4py import MPI
    except ImportError:
        raise InputError("comm: mpi4py is not installed") from None
    if not isinstance(comm, MPI.Comm) or comm == MPI.COMM_NULL:
        raise InputError(f"comm: {comm!r} is no communicator of mpi4py")
    handle = ctypes.c_void_p if MPI._sizeof(MPI.Comm) == ctypes.sizeof(ctypes.c_void_p) else ctypes.c_int
    create = lib.facet_context_create_mpi
    create.restype, create.argtypes = ctypes.c_int, [handle, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
    check(create(handle.from_address(MPI._addressof(comm)), device, ctypes.byref(made)))


class Context(Settled):
    """Where meshes, problems and solvers live.

    device: "cpu", "ref", "debug" or "cuda". threads: of each call; 0: as many as the process may use. progress: True
    for bars (tqdm), or a function that is called with each Event; an exception that it raises stops the call and
    comes out of it. comm: a communicator of mpi4py, for the library over MPI (libfacet_dist.so, which FACET_LIBRARY
    names): every call is collective then, and meshes are parts of the whole.
    """

    _instead = "make one in each process, facet.Context()"

    def __init__(self, device: str = "cpu", threads: int = 0, progress: Progress = None, comm: Any = None) -> None:
        made = ctypes.c_void_p()
        if comm is None:
            check(lib.facet_context_create(encode(device), ctypes.byref(made)))
        else:
            create_over(comm, encode(device), made)
        self.comm = comm  # lives as long as this
        self.handle = Handle(made, lib.facet_context_destroy)
        self.pending: List[BaseException] = []
        self._monitor: Any = None
        if integer(threads, "threads"):
            self.threads = threads
        if self.threads != 1:
            several_threads()
        self.progress = progress

    @property
    def device(self) -> str:
        return bytes(lib.facet_context_device(self.handle.pointer)).decode()

    @property
    def threads(self) -> int:
        """Of the calls that begin later; a solver keeps the number it was made with."""
        return int(lib.facet_context_threads(self.handle.pointer))

    @threads.setter
    def threads(self, n: int) -> None:
        check(lib.facet_context_set_threads(self.handle.pointer, integer(n, "threads")))
        if self.threads != 1:
            several_threads()

    @property
    def progress(self) -> Progress:
        return self._progress

    @progress.setter
    def progress(self, progress: Progress) -> None:
        if progress is True:
            try:
                progress = _Bar()
            except ImportError:
                progress = None
        if progress and not callable(progress):
            raise InputError(f"progress: {progress!r} is no function; True is for bars")
        self._progress = progress
        self._monitor = c.facet_monitor(self._listener(progress)) if progress else \
            ctypes.cast(_tick, c.facet_monitor)
        lib.facet_context_set_monitor(self.handle.pointer, self._monitor, None)
        self.handle.record.keep = self._monitor

    def _listener(self, progress: Any) -> Callable[[Any, Any], None]:
        pending, pointer = self.pending, self.handle.pointer

        def listen(user: Any, event: Any) -> None:
            try:
                with Asked():
                    progress(_event(event.contents))
            except BaseException as error:  # comes out of the call that is interrupted here
                pending.append(error)
                lib.facet_context_interrupt(pointer)
        return listen

    def interrupt(self) -> None:
        """Asks the running calls of this context to stop, from any thread: they raise Interrupted."""
        lib.facet_context_interrupt(self.handle.pointer)

    def empty(self, n: int) -> DeviceArray:
        """n numbers in the memory of the device, for Solver.solve."""
        return DeviceArray(self, n)

    def array(self, values: Any) -> DeviceArray:
        """The same with numbers of the host copied into it."""
        return DeviceArray(self, int(np.size(values))).write(np.ravel(values))

    def __repr__(self) -> str:
        return f"facet.Context({self.device!r}, threads={self.threads})"


def chosen(context: Optional[Context]) -> Context:
    """That which was given, or that of those who name none."""
    return default() if context is None else instance(context, Context, "context")


_default: Dict[str, Context] = {}
_lock = threading.Lock()


def default(device: Optional[str] = None) -> Context:
    """The context of those who name none, one for each device."""
    name = device or "cpu"
    with _lock:
        if name not in _default:
            _default[name] = Context(name)
        return _default[name]
