"""associative_scan: the prefix sums of any associative operation, by recursive halving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile import tree
from transpile.ir.indices.requirements import may_be_0
from transpile.ir.source_info import user_source
from transpile.lax.control.bodies import outside
from transpile.lax.control.loops import scan
from transpile.primitives.indexing import FILL, gather
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.trace import bind, current_trace
from transpile.trace.tracebacks import api_boundary

__all__ = ["associative_scan"]

Combine = Callable[[list[Any], list[Any]], list[Any]]


@api_boundary
def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """The prefix combinations a, fn(a, b), fn(fn(a, b), c), ... of elements along an axis, by an
    associative function.

    fn       (a, b) -> their combination, for slices of many elements at once: pytrees like `elems`
    elems    a pytree of arrays with one size along the axis
    reverse  from the last element to the first

    By recursive halving (G. Blelloch, Prefix Sums and Their Applications, CMU-CS-90-190, 1990):
    about 2 log2(n) calls of `fn` on whole slices. Of a runtime size, one element after another.
    That `fn` is associative is not checked. Raises ValueError for arrays of different sizes.
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")

    def associative_scan(elems: Any) -> Any:
        leaves, structure = tree.flatten(elems)
        if not leaves:
            return elems
        number = _checked_axis(leaves, axis)

        def combine(a: list[Any], b: list[Any]) -> list[Any]:
            return tree.leaves(resolved(fn)(structure.unflatten(a), structure.unflatten(b)))

        if reverse:
            leaves = [np.flip(x, number) for x in leaves]
        known = isinstance(leaves[0].shape[number], int)
        scanned = (_scanned if known else _in_order)(combine, leaves, number)
        if reverse:
            scanned = [np.flip(x, number) for x in scanned]
        return structure.unflatten(scanned)

    if current_trace() is None:
        return outside(associative_scan, elems)
    return associative_scan(elems)


def _checked_axis(leaves: Sequence[Any], axis: int) -> int:
    """The axis, counted from the front."""
    shapes = [np.shape(x) for x in leaves]
    rank = len(shapes[0])
    if not -rank <= axis < rank:
        raise ValueError(
            f"{user_source()}: axis {axis} is out of bounds for array of dimension {rank}"
        )
    number = axis % rank
    if any(len(s) <= number or s[number] != shapes[0][number] for s in shapes):
        raise ValueError(
            f"{user_source()}: Array inputs to associative_scan must have the same first "
            f"dimension. (saw: {shapes})"
        )
    return number


def _scanned(combine: Combine, elems: list[Any], axis: int) -> list[Any]:
    """Pairs of neighbours are combined and scanned: these are the results at odd positions. Those
    at even positions are each one of them, combined with the element that follows."""
    count = elems[0].shape[axis]
    if count < 2:
        return elems
    pairs = combine(
        [_part(x, axis, 0, count - 1, 2) for x in elems],
        [_part(x, axis, 1, count, 2) for x in elems],
    )
    odd = _scanned(combine, pairs, axis)
    first = [_part(x, axis, 0, 1, 1) for x in elems]
    if count == 2:
        return [np.concatenate(pair, axis) for pair in zip(first, odd, strict=True)]
    before = [_part(x, axis, 0, (count - 1) // 2, 1) for x in odd]
    later = combine(before, [_part(x, axis, 2, count, 2) for x in elems])
    even = [np.concatenate(pair, axis) for pair in zip(first, later, strict=True)]
    return [_interleaved(a, b, axis) for a, b in zip(even, odd, strict=True)]


def _in_order(combine: Combine, elems: list[Any], axis: int) -> list[Any]:
    """One element after the other: how often a runtime size is halved is not known."""
    rows = [np.moveaxis(x, axis, 0) for x in elems]

    def step(carry: tuple[Any, Any], row: list[Any]) -> tuple[tuple[Any, Any], list[Any]]:
        is_first, last = carry
        elem = [np.expand_dims(x, axis) for x in row]
        found = combine(last, elem)
        if is_first is not None:
            found = [np.where(is_first, x, y) for x, y in zip(elem, found, strict=True)]
            is_first = False
        return (is_first, found), [np.squeeze(x, axis) for x in found]

    if may_be_0(elems[0].shape[axis]):
        # Where there is no first element nothing reads it.
        numbers = [bind(gather, x, np.int64(0), axes=(0,), mode=FILL) for x in rows]
        first = [np.expand_dims(x, axis) for x in numbers]
        _, results = scan(step, (True, first), rows)
        return [np.moveaxis(x, 0, axis) for x in results]
    first = [_part(x, axis, 0, 1, 1) for x in elems]
    _, later = scan(step, (None, first), [x[1:] for x in rows])
    return [
        np.concatenate([a, np.moveaxis(b, 0, axis)], axis)
        for a, b in zip(first, later, strict=True)
    ]


def _part(x: Any, axis: int, start: int, stop: int, step: int) -> Any:
    return x[(*[slice(None)] * axis, slice(start, stop, step))]


def _interleaved(even: Any, odd: Any, axis: int) -> Any:
    """The elements alternately; `even` has as many as `odd`, or one more."""
    count = odd.shape[axis]
    pairs = np.stack([_part(even, axis, 0, count, 1), odd], axis + 1)
    shape = (*odd.shape[:axis], 2 * count, *odd.shape[axis + 1 :])
    together = np.reshape(pairs, shape)
    if even.shape[axis] == count:
        return together
    return np.concatenate([together, _part(even, axis, count, count + 1, 1)], axis)
