"""Transposition of tiles into local arrays: `runtime_c/arrays/transpose.h`."""

from __future__ import annotations

from typing import Any

from transpile.ir.calls import Call, Invocation, Strided
from transpile.ir.dims import Index
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class TransposeTile(Call):
    """Transpose a tile of `tile` rows and columns, clipped to the `rows` and `columns` that the
    array has from there on. The result is a whole local tile, whose remainder keeps its values."""

    tile: int
    rows: Index
    columns: Index
    x: Strided
    out: Strided

    name = "transpose_tile"
    signature = "x(height,width) -> out(width,height)"
    is_local = True

    @property
    def height(self) -> int:
        """The rows of the clipped tile."""
        return min(self.tile, _known(self.rows))

    @property
    def width(self) -> int:
        """The columns of the clipped tile."""
        return min(self.tile, _known(self.columns))

    def numpy(self, x: Any) -> Any:
        return x.T

    def in_c(self) -> Invocation:
        sizes = (self.tile, self.rows, self.columns)
        return Invocation(
            f"transpose_tile_u{8 * self.x.dtype.itemsize}",
            (*sizes, *self.x.with_row_strides, self.out.first),
        )


def _known(size: Index) -> int:
    """A size as an int, which it is when the interpreter runs a call."""
    if not isinstance(size, int):
        raise TypeError(f"the size {size} is symbolic")
    return size
