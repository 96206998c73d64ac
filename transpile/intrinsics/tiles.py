"""Tiles of arrays: `runtime_c/arrays/transpose.h`."""

from __future__ import annotations

from typing import Any

from transpile.ir.calls import Call, Invocation, Strided
from transpile.ir.dims import Index
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class TransposeTile(Call):
    """The transpose of a tile: of at most `tile` rows and columns, of the `rows` and `columns` that
    an array has from there on. The result is a whole tile, of which the rest is left as it is."""

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
        """The rows that are there."""
        return min(self.tile, _known(self.rows))

    @property
    def width(self) -> int:
        """The columns that are there."""
        return min(self.tile, _known(self.columns))

    def numpy(self, x: Any) -> Any:
        return x.T

    def in_c(self) -> Invocation:
        sizes = (self.tile, self.rows, self.columns)
        return Invocation(
            f"transpose_tile_u{8 * self.x.dtype.itemsize}",
            (*sizes, *self.x.by_rows, self.out.first),
        )


def _known(size: Index) -> int:
    """A size where the indices of loops are numbers, as they are when a call is run."""
    if not isinstance(size, int):
        raise TypeError(f"{size} is not known")
    return size
