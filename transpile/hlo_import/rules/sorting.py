"""Sorts by any comparison, and the largest elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile import lax
from transpile.functional.vectorize import vmap
from transpile.hlo_import.context import Call, Rules, producer
from transpile.hlo_import.orders import keys_of
from transpile.ir.primitive import inverse
from transpile.ir.types import INT64
from transpile.primitives.rules import apply
from transpile.primitives.sorting import along_axis


def sort(call: Call, *arrays: Any) -> Any:
    """Arrays of one shape along an axis, in the order of a comparison of their elements; stable."""
    (axis,) = call.axes("dimensions")
    function = call.function()
    shape = np.shape(arrays[0])
    if any(np.shape(x) != shape for x in arrays) or not 0 <= axis < len(shape):
        raise call.fail("it has no such axis, or operands of several shapes")
    if len(function.inputs) != 2 * len(arrays):
        raise call.fail(f"its comparison does not take {2 * len(arrays)} values")
    keys = keys_of(function.graph, len(arrays))
    is_list = isinstance(call.instruction.type, tuple)
    if keys == 1 == len(arrays):
        results = [lax.sort(arrays[0], dimension=axis)]
    elif 0 in shape:
        results = list(arrays)
    else:
        results = _in_order(arrays, _order(call, arrays, axis, keys), axis)
    return results if is_list else results[0]


def _order(call: Call, arrays: tuple[Any, ...], axis: int, keys: int) -> Any:
    """The indices of the elements in order, along an axis."""
    if keys > 0:
        return apply("argsort", *arrays[:keys], axis=axis)
    if keys < 0:  # backwards twice: so the sort, which is stable, keeps equal elements in order
        back = lax.rev(apply("argsort", lax.rev(arrays[0], (axis,)), axis=axis), (axis,))
        return lax.sub(lax.full_like(back, arrays[0].shape[axis] - 1), back)
    return _by_ranks(call, arrays, axis)


def _by_ranks(call: Call, arrays: tuple[Any, ...], axis: int) -> Any:
    """The rank of an element is the number of those before it: all pairs are compared."""
    rank = arrays[0].ndim
    order = (*(a for a in range(rank) if a != axis), axis)
    arrays = tuple(lax.transpose(x, order) for x in arrays)
    whole = (*arrays[0].shape, arrays[0].shape[-1])
    rows, columns = tuple(range(rank)), (*range(rank - 1), rank)
    function: Any = call.function()
    for _ in whole:
        function = vmap(function)

    def before(first: Any, second: Any) -> Any:
        def pair(x: Any) -> list[Any]:
            return [lax.broadcast_in_dim(x, whole, axes) for axes in (first, second)]

        (found,) = function(*[v for x in arrays for v in pair(x)])
        return found

    is_before, is_behind = before(columns, rows), before(rows, columns)
    here, there = (lax.broadcasted_iota(INT64, whole, a) for a in (rank - 1, rank))
    is_first = lax.bitwise_and(lax.bitwise_not(is_behind), lax.lt(there, here))
    counted = lax.convert_element_type(lax.bitwise_or(is_before, is_first), INT64)
    found = apply("argsort", lax.reduce_sum(counted, (rank,)), axis=rank - 1)
    return lax.transpose(found, inverse(order))


def _in_order(arrays: tuple[Any, ...], order: Any, axis: int) -> list[Any]:
    """The arrays in an order; numbers along the axis are the order itself."""
    results = []
    for x in arrays:
        index = producer(x, "iota")
        if index is not None and index.params["dimension"] == axis:
            results.append(lax.convert_element_type(order, x.dtype))
        else:
            results.append(along_axis(x, order, axis))
    return results


def first_in_order(call: Call, arrays: tuple[Any, ...], axis: int, count: int) -> list[Any]:
    """The first of the elements along an axis, in the order of a comparison."""
    function = call.function()
    if len(function.inputs) != 2 * len(arrays):
        raise call.fail(f"its comparison does not take {2 * len(arrays)} values")
    order = _order(call, arrays, axis, keys_of(function.graph, len(arrays)))
    return _in_order(arrays, lax.slice_in_dim(order, 0, count, axis=axis), axis)


def top_k(call: Call, x: Any) -> Any:
    """The largest elements along the last axis, and their indices."""
    if not call.get("largest", bool, True):
        raise call.fail("only the largest elements are supported")
    values, indices = lax.top_k(x, call.get("k", int))
    kinds = call.instruction.type
    assert isinstance(kinds, tuple)
    wanted = kinds[1] if len(kinds) == 2 else None
    dtype = getattr(wanted, "dtype", indices.dtype)
    return [values, lax.convert_element_type(indices, dtype)]


RULES: Rules = {"sort": sort, "topk": top_k}
