"""Callbacks, which are the host's: the loops and branches around one are, too."""

from __future__ import annotations

from collections.abc import Iterator, Set

from transpile.errors import UnsupportedError
from transpile.intrinsics.callbacks import Callback
from transpile.ir.calls import Strided
from transpile.ir.dims import Dim, Symbol, symbols_of
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    IndexValue,
    Literal,
    Load,
    Ref,
    Statement,
    Store,
    Update,
    While,
)
from transpile.ir.loop_rewrite import walk
from transpile.ir.types import BOOL, INT64
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace


def calls_host(statement: Statement) -> bool:
    """True if there is a callback inside a statement that returns."""
    return any(isinstance(s, Callback) and not s.fails for s in walk((statement,)))


def with_own_arrays(
    call: Callback, known: Set[Symbol], names: Names
) -> tuple[tuple[Statement, ...], Callback]:
    """A callback whose arrays are where the host, which knows some symbols, can tell; with the
    statements of the device before it."""
    before: list[Statement] = []
    values: list[Strided | None] = []
    for value, kind in zip(call.values, call.site.types, strict=True):
        if value is not None and not _symbols(value) <= known:
            own = Buffer(names.new(f"{value.buffer}_shown"), (kind.size,), kind.dtype)
            before += [Alloc(own), *copy_of(own, value.first)]
            value = Strided(Load(own.name, (0,), own.dtype))
        values.append(value)
    if any(not _symbols(value) <= known for value in call.results):
        raise UnsupportedError(
            f"{call.source}: the results of a callback in an array whose place the device has "
            "computed are not for a GPU yet"
        )
    return tuple(before), replace(call, values=tuple(values))


def _symbols(value: Strided) -> frozenset[Symbol]:
    return frozenset().union(*map(symbols_of, value.first.index))


def copy_of(to: Buffer, first: Load) -> Iterator[Statement]:
    """The copy of contiguous elements from the first on, or of a number."""
    if not first.index:
        yield Store(to.name, (0,), first)
        return
    k = Symbol(f"{to.name}_k", 0, to.shape[0])
    at = Dim.of(k)
    value = replace(first, index=(first.index[0] + at,))
    yield For(k, to.shape[0], (Store(to.name, (at,), value),))


def as_while(loop: For, names: Names) -> tuple[Declare, While]:
    """A loop by a counter in a variable, which is declared before."""
    counter = Ref(names.new(f"{loop.symbol.name}_next"), INT64)
    goes_on: Expr = Apply("less", (counter, IndexValue(loop.stop)), BOOL)
    if loop.limit is not None:
        below = Apply("less", (counter, IndexValue(loop.limit)), BOOL)
        goes_on = Apply("bitwise_and", (goes_on, below), BOOL)
    index = Declare(loop.symbol.name, counter, symbol=loop.symbol)
    body = (index, *loop.body, Update(counter, "add", Literal(1, INT64)))
    return Declare(counter.name, IndexValue(loop.start), constant=False), While(goes_on, body)
