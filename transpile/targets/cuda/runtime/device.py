"""The GPUs of this machine as devices: streams, memory, and what they are."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from transpile.errors import DeviceNotFoundError
from transpile.runtime.devices import Device
from transpile.targets.cuda.runtime.streams import Stream
from transpile.targets.cuda.toolchain.cudart import (
    COMPUTE_MAJOR,
    COMPUTE_MINOR,
    NON_BLOCKING,
    Cudart,
    cudart,
)
from transpile.util.fork_safe_lock import Lock
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    import transpile.targets.cuda.runtime.transfers as transfers
else:
    transfers = Later("transpile.targets.cuda.runtime.transfers")


class _Current(threading.local):
    """The stream that a thread works in."""

    def __init__(self, first: Stream) -> None:
        self.stream = first


class CudaDevice(Device):
    """A GPU, with JAX's attributes of devices, its streams and its memory."""

    platform = "cuda"

    def __init__(self, number: int, cuda: Cudart, count: int) -> None:
        super().__init__(number)
        self.cuda = cuda
        self.is_alone = count == 1
        major, minor = (
            cuda.number("cudaDeviceGetAttribute", attribute, number)
            for attribute in (COMPUTE_MAJOR, COMPUTE_MINOR)
        )
        self.compute_capability = f"{major}.{minor}"
        self.architecture = f"sm_{major}{minor}"
        self.default_stream = Stream(cuda, self, 0)
        self._streams = {0: self.default_stream}
        self._lock = Lock()
        self.current = _Current(self.default_stream)

    @property
    def process_index(self) -> int:
        """0: processes share no GPUs."""
        return 0

    @property
    def local_hardware_id(self) -> int:
        """Its number."""
        return self.id

    @property
    def device_kind(self) -> str:  # type: ignore[override]
        """What the manufacturer calls it."""
        return self.cuda.device_name(self.id)

    def __repr__(self) -> str:
        return f"CudaDevice(id={self.id})"

    def __reduce__(self) -> Any:
        return device_named, (str(self),)

    # ------------------------------------------------------------------------------- streams

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Make it the device of this thread's calls of CUDA."""
        if self.is_alone:
            yield
            return
        functions = self.cuda.functions
        before = self.cuda.number("cudaGetDevice")
        self.cuda.check(functions.cudaSetDevice(self.id), f"the choice of {self}")
        try:
            yield
        finally:
            functions.cudaSetDevice(before)

    @contextlib.contextmanager
    def stream(self, stream: Any = None) -> Iterator[Stream]:
        """A context in which this thread's calls work in another stream: a new one, or that of
        another library (an object with `cuda_stream`, `ptr` or `handle`, or its address). It has
        to exist as long as arrays of it do."""
        chosen = self._stream(stream)
        before, self.current.stream = self.current.stream, chosen
        try:
            yield chosen
        finally:
            self.current.stream = before

    def _stream(self, stream: Any) -> Stream:
        if isinstance(stream, Stream):
            if stream.device is not self:
                raise ValueError(f"{stream!r} is not one of {self}")
            return stream
        if stream is None:
            with self.active():
                handle = self.cuda.number("cudaStreamCreateWithFlags", NON_BLOCKING)
        else:
            handle = _handle(stream)
        return self.stream_of(handle)

    def stream_of(self, handle: int) -> Stream:
        """The stream of an address, always the same object."""
        known = self._streams.get(handle)
        if known is None:
            with self._lock:
                known = self._streams.setdefault(handle, Stream(self.cuda, self, handle))
        return known

    def synchronize(self) -> None:
        """Wait until all that the device has been given has been done."""
        with self.active():
            for stream in list(self._streams.values()):
                stream.synchronize()

    # ------------------------------------------------------------------------------- memory

    def put(self, value: Any) -> Any:
        """An array in its memory: the array itself where it is there, else a copy."""
        return transfers.put(value, self)

    def memory_stats(self) -> dict[str, int]:
        """Bytes, by JAX's names: `bytes_in_use` of arrays, `bytes_reserved` with the free blocks
        that are kept, `bytes_limit` of the device, and `bytes_available` that nobody has."""
        with self.active():
            free, total = self.cuda.free_memory()
        streams = list(self._streams.values())
        reserved, kept = sum(s.reserved for s in streams), sum(s.free for s in streams)
        return {
            "bytes_in_use": reserved - kept,
            "bytes_reserved": reserved,
            "bytes_limit": total,
            "bytes_available": free,
        }

    def empty_cache(self) -> None:
        """Give the memory that is kept for later arrays back to the device."""
        self.synchronize()
        with self.active():
            for stream in list(self._streams.values()):
                stream.release_free()


def _handle(stream: Any) -> int:
    """The address of a stream of any library."""
    for name in ("cuda_stream", "ptr", "handle"):
        stream = getattr(stream, name, stream)
    if not isinstance(stream, int):
        raise TypeError(f"a stream, or its address, is wanted, not {stream!r}")
    return 0 if stream == 1 else stream  # 1 is another name of 0


@cache
def all_devices() -> tuple[CudaDevice, ...]:
    """The GPUs. Raises DeviceNotFoundError, which says what is missing, where there are none."""
    cuda = cudart()
    count = cuda.device_count
    return tuple(CudaDevice(number, cuda, count) for number in range(count))


def device_named(name: str) -> CudaDevice:
    """The device of a name, `cuda` or `cuda:1`. Raises DeviceNotFoundError."""
    number = int(name.partition(":")[2] or 0)
    known = all_devices()
    if number >= len(known):
        raise DeviceNotFoundError(f"there is no {name}: this machine has {len(known)} of them")
    return known[number]
