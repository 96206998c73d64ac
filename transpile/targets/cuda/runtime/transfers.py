"""Copies between the memory of the host and that of a GPU.

A copy from ordinary memory has read it when the call returns. Memory that is locked for transfers,
which other libraries give arrays of the host, is read later: such a copy is waited for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.errors import LaunchError
from transpile.ir.types import check_dtype
from transpile.targets.cuda.runtime.array import Array, array_at
from transpile.targets.cuda.runtime.device import CudaDevice, device_named
from transpile.targets.cuda.runtime.streams import Stream, size_class
from transpile.targets.cuda.toolchain.cudart import ON_DEVICE, TO_DEVICE, TO_HOST, Cudart


def new(shape: tuple[int, ...], dtype: np.dtype[Any], stream: Stream) -> Array:
    """An array whose elements nobody has written yet."""
    size = dtype.itemsize
    for extent in shape:
        size *= extent
    block = stream.take(size_class(size))
    return array_at(shape, dtype, block.pointer, block, stream)


def from_host(values: np.ndarray[Any, Any], stream: Stream) -> Array:
    """A copy of an array of the host."""
    dtype = check_dtype(values.dtype, "an array")
    values = np.require(values, dtype.newbyteorder("="), ["C"])
    array = new(values.shape, values.dtype, stream)
    if values.nbytes:
        cuda, address = stream.device.cuda, values.ctypes.data
        with stream.device.active():
            code = cuda.functions.cudaMemcpyAsync(
                array.pointer, address, values.nbytes, TO_DEVICE, stream.handle
            )
            cuda.check(code, f"a copy to {stream.device}")
            if cuda.is_locked(address):
                stream.synchronize()
    return array


def to_host(array: Array) -> np.ndarray[Any, Any]:
    """The elements in the memory of the host, once they have been computed."""
    if array.host is not None:
        return array.host.values()  # type: ignore[no-any-return]
    if array.nbytes >= _LARGE:
        copy = HostCopy(array)
        array.stream.synchronize()
        return copy.memory.array(array.shape, array.dtype)
    values = np.empty(array.shape, array.dtype)
    if values.nbytes:
        with array.device.active():
            _begin_to_host(values.ctypes.data, array)
            array.stream.synchronize()
    return values


def _begin_to_host(address: int, array: Array) -> None:
    cuda, stream = array.device.cuda, array.stream
    code = cuda.functions.cudaMemcpyAsync(
        address, array.pointer, array.nbytes, TO_HOST, stream.handle
    )
    if code:
        stream.synchronize()  # whose error says more
        raise LaunchError(f"a copy from {array.device}: {cuda.message(code)}")


class HostCopy:
    """A copy to the host that is under way: the copy, in memory of the host that is locked for
    transfers, and the event of its end."""

    def __init__(self, array: Array) -> None:
        self._device, self._stream = array.device, array.stream
        self._kind = array.shape, array.dtype
        self.memory = LockedMemory(array.device, array.nbytes)
        with self._device.active():
            if array.nbytes:
                _begin_to_host(self.memory.address, array)
            self._event = self._stream.event()

    def values(self) -> np.ndarray[Any, Any]:
        """The elements, once they are there."""
        if not self._stream.has_happened(self._event):
            self._stream.synchronize()
        return self.memory.array(*self._kind).copy()


# Copies of so many bytes go to memory that is locked for transfers, several times as fast as to
# other memory. So much of it is kept for later copies.
_LARGE = 1 << 20
_MOST_KEPT = 1 << 28
_kept: dict[int, list[int]] = {}


class LockedMemory:
    """Memory of the host that is locked for transfers, until nobody refers to it or to an array
    of it."""

    def __init__(self, device: CudaDevice, size: int) -> None:
        cuda, self._size = device.cuda, size
        rounded = size_class(size)
        try:
            self.address = _kept.get(rounded, []).pop()
        except IndexError:
            self.address = cuda.number("cudaHostAlloc", rounded, 0)
        address = self.address
        memory = cuda.ffi.cast("host_memory", address)
        self._memory = cuda.ffi.gc(memory, lambda _: _give_back(cuda, address, rounded))
        self._buffer = cuda.ffi.buffer(self._memory, size)

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """The memory as an array, which keeps it."""
        return np.frombuffer(self._buffer, np.uint8).view(dtype).reshape(shape)


def _give_back(cuda: Cudart, address: int, size: int) -> None:
    """Keep memory for later copies, or give it back to the system."""
    if size + sum(each * len(blocks) for each, blocks in list(_kept.items())) <= _MOST_KEPT:
        _kept.setdefault(size, []).append(address)
    else:
        cuda.functions.cudaFreeHost(address)


def copied(array: Array, stream: Stream) -> Array:
    """A copy in the memory of the stream's device."""
    if array.device is not stream.device:
        return from_host(to_host(array), stream)
    if array.stream is not stream:
        stream.wait_for(array.stream)
        array.owner.used_in(stream)
    copy = new(array.shape, array.dtype, stream)
    copy_into(copy.pointer, array, stream)
    return copy


def copy_into(pointer: int, array: Array, stream: Stream) -> None:
    """Copy the elements to other memory of the device."""
    if array.nbytes:
        with stream.device.active():
            code = stream.device.cuda.functions.cudaMemcpyAsync(
                pointer, array.pointer, array.nbytes, ON_DEVICE, stream.handle
            )
            stream.device.cuda.check(code, f"a copy on {stream.device}")


def put(value: Any, device: CudaDevice | str) -> Array:
    """An array on a device: the value itself where it is there, else a copy."""
    chosen = device_named(device) if isinstance(device, str) else device
    stream = chosen.current.stream
    if isinstance(value, Array):
        return value if value.device is chosen else copied(value.alive(), stream)
    return from_host(np.asarray(value), stream)
