"""Streams, and the memory that belongs to them.

Work in one stream runs in its order. So memory that an array gives back is reused by the next array
of the same stream at once, even while a kernel still reads it: what the next one is for comes later
in the stream. Free blocks are kept by their size, rounded up to one of four sizes for each power of
two.
"""

from __future__ import annotations

import contextlib
from collections import deque
from typing import Any

from transpile.errors import LaunchError
from transpile.targets.cuda.toolchain.cudart import (
    NOT_READY,
    OUT_OF_MEMORY,
    WITHOUT_TIMES,
    Cudart,
)
from transpile.util.fork_safe_lock import Lock

# The smallest block in bytes. All are multiples of it, and begin at one.
LEAST = 512


def size_class(size: int) -> int:
    """The bytes of a block for so many: at least LEAST, and at most a quarter more than needed."""
    if size <= LEAST:
        return LEAST
    step = max(LEAST, 1 << (size - 1).bit_length() - 3)
    return -(-size // step) * step


class Free(list[int]):
    """The free blocks of one size that belong to a stream.

    others   for blocks that are not free the further streams in which they have been used
    """

    __slots__ = ("others", "size", "stream")

    def __init__(self, stream: Stream, size: int) -> None:
        super().__init__()
        self.stream = stream
        self.size = size
        self.others: dict[int, list[Stream]] = {}

    def take(self) -> int:
        """A block. Raises MemoryError."""
        try:
            return self.pop()
        except IndexError:
            return self.stream.new(self.size)

    def join(self, pointer: int) -> None:
        """Have the stream wait for the others in which a block has been used."""
        for other in self.others.pop(pointer, ()):
            self.stream.wait_for(other)


class Block:
    """Memory of the device, which goes back to its stream with the last reference to it.

    pointer  its address
    home     the free blocks of its size
    """

    __slots__ = ("home", "pointer")

    is_read_only = False

    def __init__(self, pointer: int, home: Free) -> None:
        self.pointer = pointer
        self.home = home

    def used_in(self, stream: Stream) -> None:
        """Note a use in a stream."""
        if stream is not self.home.stream:
            others = self.home.others.setdefault(self.pointer, [])
            if stream not in others:
                others.append(stream)

    def __del__(self) -> None:
        home = self.home
        if home.others:
            home.join(self.pointer)
        home.append(self.pointer)


class Stream:
    """A stream of a device.

    handle   CUDA's; 0 is the stream that waits for others and that others wait for, in which
             PyTorch and CuPy work unless they are told otherwise
    """

    def __init__(self, cuda: Cudart, device: Any, handle: int) -> None:
        self.device = device
        self.handle = handle
        self.last = ""  # the program that was launched last
        self.numbers: dict[Any, Any] = {}  # numbers that programs were given, on the device
        self._cuda = cuda
        self._free: dict[int, Free] = {}
        self._reserved = 0
        self._events: list[int] = []
        self.held: deque[tuple[int, Any]] = deque()  # events, and what is kept until then
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"<stream {self.handle:#x} of {self.device}>"

    # ------------------------------------------------------------------------------- memory

    def blocks(self, size: int) -> Free:
        """The free blocks of a size that `size_class` gives."""
        known = self._free.get(size)
        return self._free.setdefault(size, Free(self, size)) if known is None else known

    def take(self, size: int) -> Block:
        """A block of a size that `size_class` gives. Raises MemoryError."""
        home = self.blocks(size)
        return Block(home.take(), home)

    def new(self, size: int) -> int:
        """A block that there has not been yet. Raises MemoryError."""
        with self.device.active():
            pointer = self._cuda.ffi.new("uintptr_t[1]")
            code = self._cuda.functions.cudaMalloc(pointer, size)
            if code == OUT_OF_MEMORY:
                self._cuda.functions.cudaGetLastError()
                self.device.empty_cache()
                code = self._cuda.functions.cudaMalloc(pointer, size)
            if code:
                self._cuda.fail(code, f"{size} bytes of the memory of {self.device}")
        with self._lock:
            self._reserved += size
        return int(pointer[0])

    def release_free(self) -> None:
        """Give free blocks back to the device. All work in the stream has been done."""
        for size, home in list(self._free.items()):
            with contextlib.suppress(IndexError):
                while True:
                    pointer = home.pop()
                    self._cuda.check(self._cuda.functions.cudaFree(pointer), "cudaFree")
                    with self._lock:
                        self._reserved -= size

    @property
    def reserved(self) -> int:
        """The bytes of all its blocks."""
        return self._reserved

    @property
    def free(self) -> int:
        """The bytes of its free blocks."""
        return sum(size * len(home) for size, home in list(self._free.items()))

    # ------------------------------------------------------------------------------- order

    def event(self) -> int:
        """An event that has happened when all that is in the stream now has been done."""
        try:
            event = self._events.pop()
        except IndexError:
            event = self._cuda.number("cudaEventCreateWithFlags", WITHOUT_TIMES)
        self._cuda.check(self._cuda.functions.cudaEventRecord(event, self.handle), "an event")
        return event

    def has_happened(self, event: int) -> bool:
        """True if all that was in the stream at an event has been done."""
        code = self._cuda.functions.cudaEventQuery(event)
        if code not in (0, NOT_READY):
            self._fail(code)
        return bool(code == 0)

    def drop(self, event: int) -> None:
        """Take an event back, for later ones."""
        self._events.append(event)

    def wait_for(self, other: Stream) -> None:
        """Have all later work of this stream wait for what is in another one now."""
        event = other.event()
        code = self._cuda.functions.cudaStreamWaitEvent(self.handle, event, 0)
        other.drop(event)
        self._cuda.check(code, f"{self!r} waits for {other!r}")

    def hold(self, value: Any) -> None:
        """Keep an object until all that is in the stream now has been done."""
        self.held.append((self.event(), value))

    def let_go(self) -> None:
        """Drop the objects that have been kept long enough."""
        waiting = self.held
        with contextlib.suppress(IndexError):  # another thread was here
            while waiting and self.has_happened(waiting[0][0]):
                event, _ = waiting.popleft()
                self._events.append(event)

    def synchronize(self) -> None:
        """Wait until all that is in the stream has been done; LaunchError where a kernel has
        failed."""
        code = self._cuda.functions.cudaStreamSynchronize(self.handle)
        if code:
            self._fail(code)
        if self.held:
            self.let_go()

    def is_idle(self) -> bool:
        """True if all that is in the stream has been done."""
        code = self._cuda.functions.cudaStreamQuery(self.handle)
        if code not in (0, NOT_READY):
            self._fail(code)
        return bool(code == 0)

    def _fail(self, code: int) -> None:
        raise LaunchError(
            f"a kernel has failed on {self.device}: {self._cuda.message(code)}. The last program "
            f"in this stream was {self.last or 'none'}; with CUDA_LAUNCH_BLOCKING=1 in the "
            "environment the call that fails says so itself. This process cannot use the device "
            "any more"
        )
