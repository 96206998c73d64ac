"""Callbacks in the loop language: what becomes of an equation that calls Python.

The values of its operands are put into memory of their own, and the program's caller is called with
their addresses, those of the results, and the number of the site: which callback, with arrays of
which types.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.fusion.nodes import CallBack
from transpile.intrinsics.callbacks import Callback
from transpile.ir.calls import Strided
from transpile.ir.dims import Shape
from transpile.ir.graph import site_of
from transpile.ir.loop_ir import Expr, Statement
from transpile.lower.assignment.calls import given_name, shown_name
from transpile.lower.storage import Place
from transpile.lower.writer import Writer
from transpile.util.frozen_records import dataclass


def call_back(writer: Writer, node: CallBack) -> Iterator[Statement]:
    """The statements of a callback. Arrays without elements have no address."""
    arrays = writer.frame.arrays[node]
    values: list[Strided | None] = []
    for number, operand in enumerate(node.operands):
        place = arrays.get(shown_name(number))
        if place is not None:
            yield from writer.nest(operand, node, _Store(place))
        values.append(None if place is None else Strided(place.first))
    given = [arrays.get(given_name(number)) for number in range(len(node.results))]
    results = (None if place is None else Strided(place.first) for place in given)
    yield Callback(site_of(node.equation), tuple(values), tuple(results))
    for var, place in zip(node.results, given, strict=True):
        final = writer.frame.places.get(var)
        if place is not None and final is not None and final != place:
            yield final.store((), place.first)


@dataclass(frozen=True)
class _Store:
    """What puts an element into its place; a number is the element of an array of one."""

    place: Place

    def __call__(self, index: Shape, value: Expr) -> list[Statement]:
        return [self.place.store(index or (0,) * len(self.place.shape), value)]
