"""Arrays that go into the library: NumPy's as they are where the layout allows, others copied once, what cannot be
meant refused; and arrays of a GPU by __cuda_array_interface__ or DLPack."""
from __future__ import annotations

import ctypes
import sys
from typing import Any, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from ._library import InputError, Settled, check, is_truth, lib

Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def address(array: npt.NDArray[Any]) -> int:
    """Where its numbers are. (array.ctypes.data builds an object each time.)"""
    return int(array.__array_interface__["data"][0])


def doubles(values: Any, what: str) -> Doubles:
    """values as numbers in double precision, one after the other: itself where it is that, else a copy. Complex
    numbers, texts and objects are refused: they would lose something."""
    if type(values) is np.ndarray and values.dtype == np.float64 and values.flags.c_contiguous:
        return values
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{what}: an array of {array.dtype} is no array of real numbers")
    if array.dtype.itemsize > 8 and array.dtype.kind == "f":
        raise InputError(f"{what}: an array of {array.dtype} would lose digits; give float64")
    return np.ascontiguousarray(array, dtype=np.float64)


def integers(values: Any, what: str) -> Integers:
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise InputError(f"{what}: an array of {array.dtype} is no array of integers")
    if array.dtype == np.uint64 and int(array.max()) > 2**63 - 1:
        raise InputError(f"{what}: {int(array.max())} is beyond 64-bit integers with a sign")
    return np.ascontiguousarray(array, dtype=np.int64)


def points(values: Any, dim: int, what: str = "points") -> Tuple[Doubles, Tuple[int, ...]]:
    """Points as rows, and the shape without the last axis: one point is (dim,), many are (..., dim)."""
    array = doubles(values, what)
    if array.ndim == 0 or array.shape[-1] != dim:
        raise InputError(f"{what}: an array of shape {array.shape} has no points of {dim} coordinates; its last axis "
                         f"is to have length {dim}")
    return array.reshape(-1, dim), array.shape[:-1]


def out(array: Any, shape: Sequence[int], what: str) -> Doubles:
    """An array that is written to: a copy would be lost, so it must be right as it is."""
    if array is None:
        return np.empty(shape)
    if type(array) is not np.ndarray or array.dtype != np.float64 or not array.flags.c_contiguous or \
            not array.flags.writeable:
        raise InputError(f"{what}: results are written into a contiguous, writeable NumPy array of float64")
    if array.shape != tuple(shape):
        raise InputError(f"{what}: an array of shape {array.shape} where {tuple(shape)} is needed")
    return array


# ---------------------------------------------------------------------------------------------- devices

class DeviceArray(Settled):
    """n numbers in the memory of a context's device (facet_device_alloc). CuPy and PyTorch take it by
    __cuda_array_interface__ where the device is cuda; to(), read() and write() work on every device."""

    _instead = "read() it into an array of NumPy"

    def __init__(self, context: Any, n: int) -> None:
        if not isinstance(n, (int, np.integer)) or is_truth(n) or not 0 <= n < 2**60:
            raise InputError(f"an array of {n!r} numbers: give an integer that is not negative")
        self.context, self.size = context, int(n)
        self._pointer = ctypes.c_void_p()
        check(lib.facet_device_alloc(context.handle.pointer, self.nbytes, ctypes.byref(self._pointer)))

    def __del__(self) -> None:
        if not sys.is_finalizing() and getattr(self, "_pointer", None):
            lib.facet_device_free(self.context.handle.pointer, ctypes.byref(self._pointer))

    @property
    def nbytes(self) -> int:
        return 8 * self.size

    @property
    def pointer(self) -> int:
        """Its address, of the device."""
        return self._pointer.value or 0

    def write(self, values: Any) -> "DeviceArray":
        """Copies numbers of the host to the device."""
        array = doubles(values, "values")
        if array.size != self.size:
            raise InputError(f"values: {array.size} numbers where the array has {self.size}")
        check(lib.facet_device_write(self.context.handle.pointer, self.pointer, address(array), self.nbytes))
        return self

    def read(self, values: Optional[Doubles] = None) -> Doubles:
        """Copies them to the host, into an array that is given or a new one."""
        array = out(values, (self.size,), "values")
        check(lib.facet_device_read(self.context.handle.pointer, address(array), self.pointer, self.nbytes))
        return array

    @property
    def __cuda_array_interface__(self) -> Any:
        if self.context.device != "cuda":
            raise AttributeError(f"an array of the device {self.context.device} is none of CUDA")
        return {"shape": (self.size,), "typestr": "<f8", "data": (self.pointer, False), "version": 3, "strides": None,
                "stream": 1}

    def __repr__(self) -> str:
        return f"DeviceArray({self.size} numbers on {self.context.device})"


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_CUDA_KINDS = (2, 13)  # kDLCUDA, kDLCUDAManaged


def _from_dlpack(array: Any) -> Tuple[int, Tuple[int, ...], Any]:
    """Address and shape of a DLPack array of a GPU, and its capsule, which keeps it alive. The array outlives the
    call, so its producer keeps the deleter: the capsule is not consumed."""
    # Work on the legacy stream, on which the library waits for what was asked of the device before.
    capsule = array.__dlpack__(stream=1)
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(get(capsule, b"dltensor"))
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    if (tensor.code, tensor.bits, tensor.lanes) != (2, 64, 1):
        raise InputError("an array of a GPU is to have float64 numbers")
    if tensor.strides:
        _contiguous(shape, tuple(tensor.strides[i] for i in range(tensor.ndim)))
    return int(tensor.data or 0) + int(tensor.byte_offset), shape, capsule


def _contiguous(shape: Tuple[int, ...], strides: Tuple[int, ...]) -> None:
    expected = 1
    for n, stride in zip(reversed(shape), reversed(strides)):
        if n > 1 and stride != expected:
            raise InputError("an array of a GPU is to be contiguous; it is not copied behind your back")
        expected *= n


def is_device(array: Any) -> bool:
    """Whether an array says of itself that it is a GPU's, or is one of facet's own."""
    if array is None or isinstance(array, np.ndarray):
        return False
    if isinstance(array, DeviceArray) or hasattr(array, "__cuda_array_interface__"):
        return True
    return hasattr(array, "__dlpack_device__") and int(array.__dlpack_device__()[0]) in _CUDA_KINDS


def _same_memory(array: Any, context: Any, what: str) -> None:
    """An address of one device means something else on another one, and nothing on the host."""
    have = array.context.device if isinstance(array, DeviceArray) else "cuda"
    if have != context.device:
        raise InputError(f"{what}: an array in the memory of the device {have}, and the solver's context is of the "
                         f"device {context.device}; give an array of the host, or one of the solver's context")


def device_address(array: Any, shape: Tuple[int, ...], what: str, writes: bool, context: Any) -> Tuple[int, Any]:
    """The address of the numbers of an array of the device, and what keeps them alive during the call."""
    if array is None:
        return 0, None
    n, wanted = int(np.prod(shape)), shape
    if is_device(array):
        _same_memory(array, context, what)
    if isinstance(array, DeviceArray):
        pointer, size, keep = array.pointer, array.size, array
        shape = (size,)
    elif hasattr(array, "__cuda_array_interface__"):
        told = array.__cuda_array_interface__
        if told["typestr"] not in ("<f8", "=f8"):
            raise InputError(f"{what}: an array of a GPU is to have float64 numbers, not {told['typestr']}")
        shape = tuple(int(k) for k in told["shape"])
        if told.get("strides"):
            _contiguous(shape, tuple(int(s) // 8 for s in told["strides"]))
        if writes and told["data"][1]:
            raise InputError(f"{what}: this array is read-only")
        pointer, size, keep = int(told["data"][0]), int(np.prod(shape)), array
    elif is_device(array):
        pointer, shape, keep = _from_dlpack(array)
        size = int(np.prod(shape))
    else:
        raise InputError(f"{what}: an array of the device is wanted, as of CuPy, PyTorch or Context.empty; got "
                         f"{type(array).__name__}")
    if size != n:
        raise InputError(f"{what}: {size} numbers where the solver has {n}")
    if len(shape) > 1 and shape != wanted:
        raise InputError(f"{what}: an array of shape {shape} where the solver has {wanted}")
    return pointer, keep
