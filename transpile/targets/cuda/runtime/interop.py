"""Arrays of other libraries in the memory of a GPU, in and out, without copies.

DLPack says in which stream the taker works, and the giver has its work done before what comes later
there. The interface `__cuda_array_interface__` names the giver's stream, for which the taker waits.
Memory that was taken is kept until our last use of it in any stream is over, as the giver's stream
does not wait for ours.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from transpile.build.support_libraries import support_library
from transpile.disk_cache.cache import Entry
from transpile.errors import LaunchError, UnsupportedError
from transpile.ir.types import check_dtype, is_bfloat16
from transpile.pytree.device_arrays import EAGER
from transpile.runtime.loader import loader_path
from transpile.targets.cuda.runtime import transfers
from transpile.targets.cuda.runtime.array import Array, array_at
from transpile.targets.cuda.runtime.device import CudaDevice, all_devices
from transpile.targets.cuda.runtime.streams import Stream

# Of DLPack: kinds of devices, and of numbers; the flag of tensors that nobody may write to.
CUDA, _CUDA_HOST, _CUDA_MANAGED = 2, 3, 13
_KINDS = {0: "i", 1: "u", 2: "f", 4: "V", 5: "c", 6: "b"}
_READ_ONLY = 1
_LEGACY = 1  # the name of the stream 0 in both protocols


class _Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]


class _Tensor(ctypes.Structure):
    """A DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    """A DLManagedTensor."""

    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


class _Versioned(ctypes.Structure):
    """A DLManagedTensorVersioned."""

    _fields_ = [
        ("version", _Version),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_api = ctypes.pythonapi
_new = _api.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_pointer = _api.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_is_valid = _api.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
_rename = _api.PyCapsule_SetName
_rename.restype, _rename.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
_PLAIN, _PLAIN_USED = b"dltensor", b"used_dltensor"
_NEW, _NEW_USED = b"dltensor_versioned", b"used_dltensor_versioned"


# -- in --------------------------------------------------------------------------------------------


class Adopted:
    """Memory of another library, kept until our streams have done what reads it.

    release       called at the end
    is_read_only  True where nobody may write to it
    """

    __slots__ = ("is_read_only", "release", "streams")

    def __init__(self, release: Callable[[], Any], stream: Stream, is_read_only: bool) -> None:
        self.release = release
        self.streams = [stream]
        self.is_read_only = is_read_only

    def used_in(self, stream: Stream) -> None:
        """Note a use in a stream."""
        if stream not in self.streams:
            self.streams.append(stream)

    def __del__(self) -> None:
        kept = _Kept(self.release)
        with contextlib.suppress(LaunchError):  # at the end of the process there are no streams
            for stream in self.streams:
                stream.hold(kept)


class _Kept:
    """Calls a function with the last reference to it."""

    __slots__ = ("_release",)

    def __init__(self, release: Callable[[], Any]) -> None:
        self._release = release

    def __del__(self) -> None:
        self._release()


def adopted(value: Any) -> Array | None:
    """An array of another library as one of ours in the same memory, ready in this thread's stream;
    None for what is in the memory of no GPU."""
    torch = sys.modules.get("torch")
    if torch is not None and type(value) is torch.Tensor and _is_plain(value):
        stream = all_devices()[value.device.index].current.stream
        theirs = torch.cuda.current_stream(value.device).cuda_stream
        return _from_interface(value, value.__cuda_array_interface__, stream, theirs)
    names_stream = type(value).__module__.partition(".")[0] == "cupy"
    if hasattr(value, "__dlpack__") and not names_stream:
        kind, number = value.__dlpack_device__()
        if kind not in (CUDA, _CUDA_MANAGED):
            return None
        stream = all_devices()[number].current.stream
        asked = stream.handle or _LEGACY
        try:
            given = value.__dlpack__(stream=asked, max_version=(1, 0))
        except TypeError:  # a library that knows no versions
            given = value.__dlpack__(stream=asked)
        return from_capsule(given, stream, _is_fixed(value))
    described = value.__cuda_array_interface__
    stream = _device_of(described["data"][0]).current.stream
    return _from_interface(value, described, stream, described.get("stream"))


def _device_of(pointer: int) -> CudaDevice:
    """The device whose memory has an address."""
    devices = all_devices()
    return devices[0] if devices[0].is_alone else devices[devices[0].cuda.device_of(pointer)]


def _is_fixed(value: Any) -> bool:
    """True for an array of a library whose arrays never change, which it does not say by DLPack."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.Array)


# The dtypes of torch that NumPy has, too.
_PLAIN_DTYPES = frozenset(np.dtype(code).name for code in "?BbhiqefdFD")
_plain: dict[Any, bool] = {}


def _is_plain(tensor: Any) -> bool:
    """True for a tensor of torch whose memory has its elements: not their conjugates or negatives,
    which DLPack refuses."""
    known = _plain.get(tensor.dtype)
    if known is None:
        name = str(tensor.dtype).removeprefix("torch.")
        known = _plain[tensor.dtype] = name in _PLAIN_DTYPES
    return known and not (tensor.is_conj() or tensor.is_neg())


def from_capsule(given: Any, stream: Stream, is_fixed: bool = False) -> Array:
    """The tensor of a capsule as an array in the same memory; nobody writes to it if it
    `is_fixed`."""
    if _is_valid(given, _NEW):
        address = _pointer(given, _NEW)
        managed: Any = _Versioned.from_address(address)
        if managed.version.major > 1:
            raise BufferError(f"DLPack of version {managed.version.major} is not known")
        _rename(given, _NEW_USED)
        is_fixed = is_fixed or bool(managed.flags & _READ_ONLY)
    elif _is_valid(given, _PLAIN):
        address = _pointer(given, _PLAIN)
        managed = _Managed.from_address(address)
        _rename(given, _PLAIN_USED)
    else:
        raise BufferError("a capsule of DLPack can be taken once")
    deleter, tensor = managed.deleter, managed.tensor
    if tensor.device_type not in (CUDA, _CUDA_MANAGED):
        raise BufferError("the tensor is in the memory of no GPU")
    owner = Adopted((lambda: deleter(address)) if deleter else int, stream, is_fixed)
    shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
    strides = tuple(tensor.strides[k] for k in range(tensor.ndim)) if tensor.strides else None
    dtype = _dtype_of(tensor.code, tensor.bits, tensor.lanes)
    return _array(shape, dtype, (tensor.data or 0) + tensor.byte_offset, strides, owner, stream)


def _dtype_of(code: int, bits: int, lanes: int) -> np.dtype[Any]:
    kind = _KINDS.get(code)
    if kind is None or lanes != 1:
        raise UnsupportedError(f"arrays of DLPack's type {code} of {bits} bits are not known")
    if kind == "V":
        return check_dtype("bfloat16", "an array")
    return np.dtype(np.bool_) if kind == "b" else np.dtype(f"{kind}{bits // 8}")


def _from_interface(
    value: Any, interface: dict[str, Any], stream: Stream, theirs: int | None
) -> Array:
    """The array that `__cuda_array_interface__` describes, for a stream; `theirs` is the address of
    the one in which the other library works. Memory of a library that works in the same one needs
    not be kept: what comes later there has it later."""
    if interface.get("mask") is not None:
        raise UnsupportedError("a masked array: fill it first")
    pointer, is_read_only = interface["data"]
    other = None
    if theirs is not None:
        other = stream.device.stream_of(0 if theirs == _LEGACY else theirs)
        if other is not stream:
            stream.wait_for(other)
    dtype = np.dtype(interface["typestr"])
    strides = interface.get("strides")
    if strides is not None:
        strides = tuple(s // dtype.itemsize for s in strides)
    owner = Adopted(_Holding(value), stream, bool(is_read_only))
    if other is stream:
        owner.streams.clear()
    return _array(tuple(interface["shape"]), dtype, pointer, strides, owner, stream)


class _Holding:
    """Holds an object while it is there to be called."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self) -> None:
        self._value = None


def _array(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    pointer: int,
    strides: tuple[int, ...] | None,
    owner: Adopted,
    stream: Stream,
) -> Array:
    """The array of these elements; one in row-major order is a copy, where they are not."""
    dtype = check_dtype(dtype, "an array")
    usual = row_major(shape)
    rows = strides is None or all(
        n <= 1 or a == b for n, a, b in zip(shape, strides, usual, strict=True)
    )
    if rows or math.prod(shape) == 0:
        return array_at(shape, dtype, pointer, owner, stream)
    assert strides is not None
    span = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    flat = array_at((span,), dtype, pointer, owner, stream)
    array: Array = EAGER["gathered"](flat, shape, strides)
    return array


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of an array in row-major order, in elements."""
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))


# -- out -------------------------------------------------------------------------------------------

# The tensors that others have, by address, with what keeps their memory.
_given: dict[int, tuple[Any, ...]] = {}


def _drop(address: int) -> None:
    _given.pop(address, None)


@cache
def _capsules() -> tuple[Any, int]:
    """The functions at the ends of tensors and of capsules, of `runtime_c/python/capsules.c`."""

    def use(entry: Entry) -> Any:
        file = "capsules.so"
        with entry.opened(file) as handle, loader_path(entry.path(file), handle) as path:
            return ctypes.CDLL(path)

    library = support_library("capsules", ("-fvisibility=default",), use)
    library.transpile_capsules_begin(_dropping)
    destroy = ctypes.cast(library.transpile_capsules_destroy, ctypes.c_void_p).value or 0
    return _Deleter(("transpile_capsules_release", library)), destroy


_dropping = _Deleter(_drop)


def capsule(
    array: Array,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A capsule with the array's memory, whose elements are there for what comes later in the
    taker's stream: 1, or None, is the stream 0, and -1 asks for no order."""
    device = array.device
    if dl_device is not None and tuple(dl_device) != (CUDA, device.id):
        raise BufferError(f"an array on {device} is given for no other device")
    if copy:
        array = transfers.copied(array, array.stream)
    if stream != -1:
        theirs = device.stream_of(0 if stream in (None, _LEGACY) else stream)
        if theirs is not array.stream:
            theirs.wait_for(array.stream)
        array.owner.used_in(theirs)
    has_version = max_version is not None and max_version[0] >= 1
    managed: Any = _Versioned() if has_version else _Managed()
    shape = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
    strides = (ctypes.c_int64 * max(1, array.ndim))(*row_major(array.shape))
    tensor = managed.tensor
    tensor.data, tensor.device_type, tensor.device_id = array.pointer, CUDA, device.id
    tensor.ndim, tensor.lanes, tensor.byte_offset = array.ndim, 1, 0
    tensor.code, tensor.bits = _code_of(array.dtype), 8 * array.dtype.itemsize
    tensor.shape, tensor.strides = shape, strides
    managed.deleter, destroy = _capsules()
    if has_version:
        managed.version.major, managed.version.minor = 1, 0
        managed.flags = _READ_ONLY if array.owner.is_read_only else 0
    address = ctypes.addressof(managed)
    _given[address] = managed, shape, strides, array.owner
    return _new(address, _NEW if has_version else _PLAIN, destroy)


def _code_of(dtype: np.dtype[Any]) -> int:
    if is_bfloat16(dtype):
        return 4
    return next(code for code, kind in _KINDS.items() if kind == dtype.kind)


def interface(array: Array) -> dict[str, Any]:
    """What `__cuda_array_interface__` says of an array."""
    return {
        "shape": array.shape,
        "typestr": array.dtype.str,
        "data": (array.pointer, array.owner.is_read_only),
        "strides": None,
        "stream": array.stream.handle or _LEGACY,
        "version": 3,
    }
