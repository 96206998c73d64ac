"""Sorts, argsorts, selection, partitions and searches: `sort.h`, `argsort.h`, `select.h`,
`partition.h` and `first_of.h` in `runtime_c/arrays/`."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.calls import Call, Invocation, Strided
from transpile.ir.dims import Index
from transpile.ir.loop_ir import UNALLOCATED, Load
from transpile.ir.types import SHORT_NAMES, kind_letter, real_dtype
from transpile.util.frozen_records import dataclass

# The format of keys in sort.h: the width of a float's fraction, or a negative code for integers.
_FRACTION = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
# Positions have 32 bits while they are sorted.
LONGEST_ROW = (1 << 32) - 1
_INTEGERS = {"b": -2, "u": -2, "i": -1}


class _Sort(Call):
    """Sorts of an array [outer][n][inner] along its middle axis, by up to `slots` threads with a
    workspace each. A row is the elements along that axis."""

    outer: Index
    n: Index
    inner: Index
    x: Strided
    slots: int
    workspace: Strided

    @property
    def flops(self) -> Index:
        return 2 * self.outer * self.n * self.inner

    @property
    def scratch_bytes(self) -> Index:
        """Two 64-bit words for each element of the rows that are sorted concurrently."""
        return 64 + 16 * self.slots * self.n

    @property
    def limits(self) -> tuple[tuple[Index, int], ...]:
        return ((self.n, LONGEST_ROW),)

    def _in_c(self, helper: str, *arguments: Index | Load) -> Invocation:
        """The helper for keys of this size, with their format and the words of an element."""
        dtype = self.x.dtype
        words = 2 if dtype.kind == "c" else 1
        kind = _INTEGERS.get(kind_letter(dtype))
        layout = _FRACTION[SHORT_NAMES[real_dtype(dtype)]] if kind is None else kind
        return Invocation(
            f"{helper}_u{8 * dtype.itemsize // words}",
            (
                *(self.outer, self.n, self.inner, layout, words, self.x.first),
                *(*arguments, self.slots, self.workspace.first),
            ),
        )


@dataclass(frozen=True)
class Sort(_Sort):
    """Sort each row."""

    outer: Index
    n: Index
    inner: Index
    x: Strided
    out: Strided
    slots: int
    workspace: Strided = UNALLOCATED

    name = "sort"
    signature = "x(outer,n,inner) -> out(outer,n,inner)"

    @property
    def is_in_place(self) -> bool:
        """True for numbers of one word, of which a row is read before it is written."""
        return self.x.dtype.kind != "c"

    def numpy(self, x: Any) -> Any:
        return np.sort(x, axis=1, kind="stable")

    def in_c(self) -> Invocation:
        helper = "sort_pairs" if self.x.dtype.kind == "c" else "sort"
        return self._in_c(helper, self.out.first)


@dataclass(frozen=True)
class OrderStatistics(_Sort):
    """The elements of each sorted row at ranks, of complex numbers up to eight, in ascending
    order."""

    outer: Index
    n: Index
    inner: Index
    count: int
    x: Strided
    ranks: Strided
    out: Strided
    slots: int
    workspace: Strided = UNALLOCATED

    name = "order_statistics"
    signature = "x(outer,n,inner), ranks(count) -> out(outer,count,inner)"

    def numpy(self, x: Any, ranks: Any) -> Any:
        return np.take(np.sort(x, axis=1, kind="stable"), ranks, 1)

    def in_c(self) -> Invocation:
        return self._in_c("select", self.count, self.ranks.first, self.out.first)


@dataclass(frozen=True)
class Partition(_Sort):
    """Each row of real numbers with the elements at ranks, in ascending order, where sorting puts
    them, and those that are not greater before them."""

    outer: Index
    n: Index
    inner: Index
    count: int
    x: Strided
    ranks: Strided
    out: Strided
    slots: int
    workspace: Strided = UNALLOCATED

    name = "partition"
    signature = "x(outer,n,inner), ranks(count) -> out(outer,n,inner)"
    is_in_place = True  # a row is read before it is written

    def numpy(self, x: Any, ranks: Any) -> Any:
        return np.sort(x, axis=1, kind="stable")

    def in_c(self) -> Invocation:
        return self._in_c("partition", self.count, self.ranks.first, self.out.first)


@dataclass(frozen=True)
class Argpartition(_Sort):
    """The positions of a partition of each row of numbers of 32 bits, or of 64 and up to eight
    ranks."""

    outer: Index
    n: Index
    inner: Index
    count: int
    x: Strided
    ranks: Strided
    order: Strided
    slots: int
    workspace: Strided = UNALLOCATED

    name = "argpartition"
    signature = "x(outer,n,inner), ranks(count) -> order(outer,n,inner)"

    def numpy(self, x: Any, ranks: Any) -> Any:
        return np.argsort(x, axis=1, kind="stable")

    def in_c(self) -> Invocation:
        return self._in_c("argpartition", self.count, self.ranks.first, self.order.first)


@dataclass(frozen=True)
class Argsort(_Sort):
    """The permutation that sorts each row."""

    outer: Index
    n: Index
    inner: Index
    x: Strided
    order: Strided
    slots: int
    workspace: Strided = UNALLOCATED

    name = "argsort"
    signature = "x(outer,n,inner) -> order(outer,n,inner)"

    def numpy(self, x: Any) -> Any:
        return np.argsort(x, axis=1, kind="stable")

    def in_c(self) -> Invocation:
        return self._in_c("argsort", self.order.first, 0)


@dataclass(frozen=True)
class ArgsortFurther(_Sort):
    """Sort each row's permutation, which sorts a less significant key, by this key."""

    outer: Index
    n: Index
    inner: Index
    x: Strided
    order: Strided
    slots: int
    workspace: Strided = UNALLOCATED

    name = "argsort_further"
    signature = "x(outer,n,inner), order(outer,n,inner) -> order(outer,n,inner)"

    def numpy(self, x: Any, order: Any) -> Any:
        keys = np.take_along_axis(x, order, 1)
        return np.take_along_axis(order, np.argsort(keys, 1, kind="stable"), 1)

    def in_c(self) -> Invocation:
        return self._in_c("argsort", self.order.first, 1)


@dataclass(frozen=True)
class FirstOf(Call):
    """The position of the first bool of a value in each row, 0 where there is none."""

    rows: int
    n: int
    value: int
    x: Strided
    position: Strided

    name = "first_of"
    signature = "x(rows,n) -> position(rows)"

    @property
    def flops(self) -> int:
        return self.rows * self.n

    def numpy(self, x: Any) -> Any:
        return np.argmax(x == bool(self.value), axis=1)

    def in_c(self) -> Invocation:
        sizes = (self.rows, self.n, self.value)
        return Invocation("first_of_bool", (*sizes, self.x.first, self.position.first))
