"""Shadow memory: every byte records which buffer wrote it last, so that bad reads are detected."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.errors import InternalError
from transpile.ir.dims import evaluate
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import Buffer

UNWRITTEN = 0


class Unwritten:
    """What stands in an element that was not written. It may be loaded, and computed with, where a
    select takes another value: arrays whose length depends on values have room for more elements,
    which are in bounds."""

    def __init__(self, text: str) -> None:
        self.text = text


def settled(value: Any) -> Any:
    """A value that is used; InternalError if it depends on an element that was not written."""
    if isinstance(value, Unwritten):
        raise InternalError(value.text)
    return value


class Memory:
    """The elements of one buffer with their owners: the buffer that wrote each of them last."""

    def __init__(
        self, buffer: Buffer, sizes: dict[str, int], workspace: Workspace, offset: int
    ) -> None:
        self.name = buffer.name
        self.dtype = buffer.dtype
        self.mark = workspace.new_mark()
        count = evaluate(product(buffer.shape), sizes)
        end = offset + count * buffer.dtype.itemsize
        if offset < 0 or end > workspace.bytes.size:
            raise InternalError(f"{self.name} does not fit into its workspace")
        self.data = workspace.bytes[offset:end].view(buffer.dtype)
        self.owners = workspace.owners[offset:end].reshape(count, buffer.dtype.itemsize)

    def fill(self, value: Any) -> None:
        """Write all elements."""
        self.data[:] = np.asarray(value, self.dtype).ravel()
        self.owners[:] = self.mark

    def read(self, position: int) -> Any:
        """An element at a flat position, which is `Unwritten` if this buffer did not write it."""
        owners = self.owners[position]
        if owners[0] != self.mark or owners[-1] != self.mark:
            return Unwritten(f"{self.name}: element {position} is read before it is written")
        return self.data[position]

    def gather(self, positions: Any) -> Any:
        """The elements at these positions; InternalError if one was not written by this buffer."""
        written = (self.owners[positions] == self.mark).all(axis=-1)
        if not written.all():
            first = positions[~written].min()
            raise InternalError(f"{self.name}: element {first} is read before it is written")
        return self.data[positions]

    def scatter(self, positions: Any, values: Any) -> None:
        """Write the elements at these positions."""
        self.data[positions] = values
        self.owners[positions] = self.mark

    def write(self, position: int, value: Any) -> None:
        """Write an element."""
        self.data[position] = value
        self.owners[position] = self.mark


class Team:
    """Race detection for a parallel loop: the iteration that wrote each element."""

    def __init__(self) -> None:
        self.iteration = 0
        self.writers: dict[tuple[Memory, int], int] = {}

    def note(self, memory: Memory, position: int) -> None:
        """Raise InternalError if another iteration wrote the element."""
        if self.writers.get((memory, position), self.iteration) != self.iteration:
            raise InternalError(f"two iterations of a parallel loop meet at {memory.name}")


class Workspace:
    """Bytes that buffers share."""

    def __init__(self, size: int) -> None:
        self.bytes = np.zeros(size, np.uint8)
        self.owners = np.full(size, UNWRITTEN, np.int64)
        self._marks = UNWRITTEN

    def new_mark(self) -> int:
        """A fresh number that identifies a buffer as an owner."""
        self._marks += 1
        return self._marks
