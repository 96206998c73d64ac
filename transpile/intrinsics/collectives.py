"""Exchanges between devices: `runtime_c/collectives/exchange.h`, calls of the communicator.

The groups of devices are the rows of a table; -1 stands behind the last one of a shorter row.
"""

from __future__ import annotations

from typing import Any, ClassVar

from transpile.ir.calls import Call, Invocation, Strided
from transpile.util.frozen_records import dataclass


class Exchange(Call):
    """A call of the communicator, which the function is given first. It may fail, which ends the
    program; all devices make their calls in one order."""

    communicates = True
    leading: ClassVar[tuple[str, ...]]  # the integer arguments of the function

    @property
    def is_specialised(self) -> bool:
        return True

    def in_c(self) -> Invocation:
        numbers = tuple(getattr(self, name) for name in self.leading)
        arrays = [array.first for array in self.arrays.values()]
        return Invocation(self.name, (*numbers, *arrays))


class _Combining(Exchange):
    """An exchange that combines elements of a dtype."""

    n: int
    columns: int
    out: Strided
    sign: ClassVar[str] = "'+'"
    function: ClassVar[str] = "device_reduce"
    leading = ("n", "rows", "columns")

    @property
    def flops(self) -> int:
        return self.n * (self.columns - 1)

    def in_c(self) -> Invocation:
        dtype = self.out.dtype
        how = (self.sign, f"'{dtype.kind}'", dtype.itemsize)
        return Invocation(self.function, (*how, *super().in_c().arguments))


@dataclass(frozen=True)
class _Reduce(_Combining):
    """The elements of all devices of a group, combined."""

    n: int
    rows: int
    columns: int
    groups: Strided
    x: Strided
    out: Strided

    signature = "groups(rows,columns), x(n) -> out(n)"


class DeviceSum(_Reduce):
    """The sums of the elements of all devices of a group."""

    name, by = "device_sum", "add"


class DeviceMaximum(_Reduce):
    """The greatest of the elements of all devices of a group."""

    name, by, sign = "device_maximum", "maximum", "'>'"


class DeviceMinimum(_Reduce):
    """The least of the elements of all devices of a group."""

    name, by, sign = "device_minimum", "minimum", "'<'"


class DeviceScatter(_Reduce):
    """The sums of blocks of n elements, of which each device of a group gets its own."""

    name = function = "device_scatter"
    signature = "groups(rows,columns), x(columns,n) -> out(n)"


@dataclass(frozen=True)
class _Move(Exchange):
    """A move of n elements, or of blocks of as many, which are `size` bytes."""

    size: int
    n: int
    rows: int
    columns: int
    groups: Strided
    x: Strided
    out: Strided

    leading = ("size", "rows", "columns")


class DeviceGather(_Move):
    """The values of all devices of a group as rows."""

    name = "device_gather"
    signature = "groups(rows,columns), x(n) -> out(columns,n)"


class DeviceExchange(_Move):
    """A row to each device of a group, and a row from each."""

    name = "device_exchange"
    signature = "groups(rows,columns), x(columns,n) -> out(columns,n)"


class DeviceBroadcast(_Move):
    """The values of the first device of a group."""

    name = "device_broadcast"
    signature = "groups(rows,columns), x(n) -> out(n)"


@dataclass(frozen=True)
class DevicePermute(Exchange):
    """The values of the device that sends to this one, by a table of pairs; zeros without one."""

    size: int
    n: int
    pairs: int
    ends: int
    table: Strided
    x: Strided
    out: Strided

    name = "device_permute"
    signature = "table(pairs,ends), x(n) -> out(n)"
    leading = ("size", "pairs")


@dataclass(frozen=True)
class DeviceRank(Exchange):
    """The number of the device."""

    n: int
    out: Strided

    name = "device_rank"
    signature = "-> out(n)"
    leading = ()


# By the binary primitive, and by the name of the exchange.
COMBINING: dict[str, Any] = {c.by: c for c in (DeviceSum, DeviceMaximum, DeviceMinimum)}
MOVES: dict[str, Any] = {c.name: c for c in (DeviceBroadcast, DeviceExchange, DeviceGather)}
