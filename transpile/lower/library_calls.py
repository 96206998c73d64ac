"""Library calls: the statements of a plan, whose arrays have their places by now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.fusion.nodes import LibraryCall
from transpile.ir.dims import Dim, Index, Symbol, substitute
from transpile.ir.loop_ir import For, Load, Statement
from transpile.library.plan import LoopedCall
from transpile.lower.storage import Place
from transpile.lower.writer import Writer


def library_call(writer: Writer, node: LibraryCall) -> Iterator[Statement]:
    """The calls that a node is, in loops over what they do not do themselves."""
    for looped in node.plan.calls:
        yield from _statements(writer, looped, writer.frame.arrays[node])


def _statements(
    writer: Writer, looped: LoopedCall, arrays: Mapping[str, Place]
) -> tuple[Statement, ...]:
    loops = [Symbol(writer.loop_name(d), 0, s.extent) for d, s in enumerate(looped.loops)]
    values = {s: Dim.of(loop) for s, loop in zip(looped.loops, loops, strict=True)}

    def renamed(index: Index) -> Index:
        return substitute(index, values)

    def placed(load: Load) -> Load:
        return arrays[load.buffer].load(tuple(map(renamed, load.index)))

    body: tuple[Statement, ...] = (looped.call.mapped(placed, renamed),)
    for symbol in reversed(loops):
        if symbol.extent is not None and symbol.extent != 1:
            body = (For(symbol, symbol.extent, body),)
    return body
