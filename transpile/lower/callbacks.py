"""Effects in the loop language: what becomes of a row that calls Python.

The values of its operands are put into memory of their own, and the program's caller is called with
their addresses and the number of the site: which callback, with arrays of which types.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.errors import UnsupportedError
from transpile.fusion.nodes import Effect
from transpile.intrinsics.callbacks import Callback
from transpile.ir.calls import Strided
from transpile.ir.dims import Shape
from transpile.ir.graph import Var, site_of
from transpile.ir.loop_ir import Expr, Statement
from transpile.lower.storage import Place
from transpile.lower.writer import Writer
from transpile.util.frozen_records import dataclass


def effect(writer: Writer, node: Effect) -> Iterator[Statement]:
    """The statements of an effect. Arrays without elements have no address."""
    site = site_of(node.equation)
    if any(not isinstance(n, int) for kind in site.types for n in kind.shape):
        source = node.equation.source
        raise UnsupportedError(f"{source}: a callback with arrays of a runtime size")
    values: list[Strided | None] = []
    for part, kind in zip(node.operands, site.types, strict=True):
        if kind.size == 0:
            values.append(None)
            continue
        place = writer.memory.temporary(Var(kind.with_shape(kind.shape or (1,)), "shown"))
        yield from writer.nest(part, node, _Store(place))
        values.append(Strided(place.first))
    yield Callback(site, tuple(values))


@dataclass(frozen=True)
class _Store:
    """What puts an element into its place; a number is the element of an array of one."""

    place: Place

    def __call__(self, index: Shape, value: Expr) -> list[Statement]:
        return [self.place.store(index or (0,) * len(self.place.shape), value)]
