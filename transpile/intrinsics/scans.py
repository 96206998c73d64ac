"""Cumulative sums of long rows: `runtime_c/arrays/cumsum.h`.

In a loop each addition waits for the one before, about four cycles. The routine is a blocked scan:
one pass sums the blocks of a row side by side, a second one scans them from the sums before.
"""

from __future__ import annotations

from typing import Any

from transpile.ir.calls import Call, Invocation, Strided
from transpile.ir.dims import Index
from transpile.ir.indices.row_major import blocks_of
from transpile.ir.loop_ir import UNALLOCATED
from transpile.ir.primitive import TABLE
from transpile.ir.types import SHORT_NAMES
from transpile.util.frozen_records import dataclass

_RUN = 1008  # the elements of a block, each with a sum in the workspace; as in cumsum.h


@dataclass(frozen=True)
class CumulativeSum(Call):
    """The inclusive prefix sums of each row; in `reverse`, the suffix sums. Prefixes combined by
    another operation than `add` are for targets that have them."""

    rows: Index
    n: Index
    reverse: int
    x: Strided
    out: Strided
    workspace: Strided = UNALLOCATED
    combine: str = "add"

    name = "cumsum"
    signature = "x(rows,n) -> out(rows,n)"

    @property
    def flops(self) -> Index:
        return 2 * self.rows * self.n

    @property
    def scratch_bytes(self) -> Index:
        return self.rows * blocks_of(self.n, _RUN) * self.out.dtype.itemsize

    def numpy(self, x: Any) -> Any:
        along = slice(None, None, -1 if self.reverse else 1)
        return TABLE[self.combine].ufunc.accumulate(x[:, along], 1)[:, along]

    def in_c(self) -> Invocation:
        arrays = (self.x.first, self.out.first, self.workspace.first)
        return Invocation(
            f"cumsum_{SHORT_NAMES[self.out.dtype]}", (self.rows, self.n, self.reverse, *arrays)
        )
