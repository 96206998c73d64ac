"""Memory that knows who wrote it: what the interpreter of loops runs on, to find every mistake."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.errors import InternalError
from transpile.ir.dims import evaluate, product
from transpile.ir.loop_ir import Buffer

UNWRITTEN = 0


class Memory:
    """The elements of one buffer, and for each of them which buffer wrote it last."""

    def __init__(
        self, buffer: Buffer, sizes: dict[str, int], place: Workspace, offset: int
    ) -> None:
        self.name = buffer.name
        self.dtype = buffer.dtype
        self.mark = place.new_mark()
        count = evaluate(product(buffer.shape), sizes)
        end = offset + count * buffer.dtype.itemsize
        if offset < 0 or end > place.bytes.size:
            raise InternalError(f"{self.name} does not fit into its workspace")
        self.data = place.bytes[offset:end].view(buffer.dtype)
        self.owners = place.owners[offset:end].reshape(count, buffer.dtype.itemsize)

    def fill(self, value: Any) -> None:
        """Write every element."""
        self.data[:] = np.asarray(value, self.dtype).ravel()
        self.owners[:] = self.mark

    def read(self, position: int) -> Any:
        """An element, in row-major order."""
        owners = self.owners[position]
        if owners[0] != self.mark or owners[-1] != self.mark:
            raise InternalError(f"{self.name}: element {position} is read before it is written")
        return self.data[position]

    def gather(self, positions: Any) -> Any:
        """The elements at these positions, as an array."""
        written = (self.owners[positions] == self.mark).all(axis=-1)
        if not written.all():
            first = positions[~written].min()
            raise InternalError(f"{self.name}: element {first} is read before it is written")
        return self.data[positions]

    def scatter(self, positions: Any, values: Any) -> None:
        """Change the elements at these positions."""
        self.data[positions] = values
        self.owners[positions] = self.mark

    def write(self, position: int, value: Any) -> None:
        """Change an element."""
        self.data[position] = value
        self.owners[position] = self.mark


class Team:
    """The threads of a parallel loop: which iteration has written which element."""

    def __init__(self) -> None:
        self.iteration = 0
        self.writers: dict[tuple[Memory, int], int] = {}

    def note(self, memory: Memory, position: int) -> None:
        """Raise unless an access of the present iteration is none of another one's business."""
        if self.writers.get((memory, position), self.iteration) != self.iteration:
            raise InternalError(f"two iterations of a parallel loop meet at {memory.name}")


class Workspace:
    """Bytes that buffers share."""

    def __init__(self, size: int) -> None:
        self.bytes = np.zeros(size, np.uint8)
        self.owners = np.full(size, UNWRITTEN, np.int64)
        self._marks = UNWRITTEN

    def new_mark(self) -> int:
        """A number by which another buffer knows its own elements."""
        self._marks += 1
        return self._marks
