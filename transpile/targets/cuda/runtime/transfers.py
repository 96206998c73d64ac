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
from transpile.targets.cuda.toolchain.cudart import ON_DEVICE, TO_DEVICE, TO_HOST


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
    values = np.empty(array.shape, array.dtype)
    if not values.nbytes:
        return values
    cuda, stream = array.device.cuda, array.stream
    with array.device.active():
        code = cuda.functions.cudaMemcpyAsync(
            values.ctypes.data, array.pointer, values.nbytes, TO_HOST, stream.handle
        )
        if code:
            stream.synchronize()  # whose error says more
            raise LaunchError(f"a copy from {array.device}: {cuda.message(code)}")
        stream.synchronize()
    return values


class HostCopy:
    """A copy to the host that is under way: the copy, in memory of the host that is locked for
    transfers, and the event of its end."""

    def __init__(self, array: Array) -> None:
        self._device, self._stream = array.device, array.stream
        self._kind = array.shape, array.dtype
        self._memory = LockedMemory(array.device, array.nbytes)
        with self._device.active():
            if array.nbytes:
                code = self._device.cuda.functions.cudaMemcpyAsync(
                    self._memory.address, array.pointer, array.nbytes, TO_HOST, array.stream.handle
                )
                self._device.cuda.check(code, f"a copy from {array.device}")
            self._event = self._stream.event()

    def values(self) -> np.ndarray[Any, Any]:
        """The elements, once they are there."""
        if not self._stream.has_happened(self._event):
            self._stream.synchronize()
        shape, dtype = self._kind
        data = np.frombuffer(self._memory.buffer, np.uint8)
        return data.view(dtype).reshape(shape).copy()


class LockedMemory:
    """Memory of the host that is locked for transfers."""

    def __init__(self, device: CudaDevice, size: int) -> None:
        self._functions = device.cuda.functions
        self.address = device.cuda.number("cudaHostAlloc", max(1, size), 0)
        ffi = device.cuda.ffi
        self.buffer = ffi.buffer(ffi.cast("host_memory", self.address), size)

    def __del__(self) -> None:
        self._functions.cudaFreeHost(self.address)


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
