"""Gather and scatter with all dimension numbers: slices that begin where an array of indices says.

A gather moves slices into the array; a scatter leaves out those that do not lie in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile import lax
from transpile.functional.vectorize import vmap
from transpile.hlo_import.context import Call, Rules
from transpile.hlo_import.rules.reductions import single
from transpile.ir.graph import Graph
from transpile.ir.types import INT64
from transpile.primitives.rules import apply

_SCATTERS = {
    "add": lax.scatter_add,
    "maximum": lax.scatter_max,
    "minimum": lax.scatter_min,
    "multiply": lax.scatter_mul,
}
_OF_BOOLS = {"logical_and": lax.scatter_min, "logical_or": lax.scatter_max}


def _indices(call: Call, indices: Any) -> Any:
    """The indices with the axis of a whole index last."""
    if indices.dtype.kind not in "iu":
        raise call.fail("its indices are no integers")
    axis = call.get("index_vector_dim", int)
    if axis == indices.ndim:
        return lax.reshape(indices, (*indices.shape, 1))
    if not 0 <= axis < indices.ndim:
        raise call.fail(f"its indices have no axis {axis}")
    order = [a for a in range(indices.ndim) if a != axis]
    return lax.transpose(indices, (*order, axis))


def _batch_axes(call: Call, name: str) -> tuple[int, ...]:
    """The axes of the indices that go with axes of the array, as axes without that of an index."""
    axis = call.get("index_vector_dim", int)
    return tuple(a - (a > axis) for a in call.axes(name))


def gather(call: Call, x: Any, indices: Any) -> Any:
    """The slices, stacked."""
    numbers = lax.GatherDimensionNumbers(
        call.axes("offset_dims"),
        call.axes("collapsed_slice_dims"),
        call.axes("start_index_map"),
        call.axes("operand_batching_dims"),
        _batch_axes(call, "start_indices_batching_dims"),
    )
    return lax.gather(x, _indices(call, indices), numbers, call.axes("slice_sizes"), mode="clip")


def scatter(call: Call, *operands: Any) -> Any:
    """The array with slices replaced by a function of them and of the updates."""
    count = (len(operands) - 1) // 2
    if len(operands) != 2 * count + 1 or not count:
        raise call.fail("it has arrays, indices, and updates for each array")
    arrays, updates = operands[:count], operands[count + 1 :]
    indices = _indices(call, operands[count])
    numbers = lax.ScatterDimensionNumbers(
        call.axes("update_window_dims"),
        call.axes("inserted_window_dims"),
        call.axes("scatter_dims_to_operand_dims"),
        call.axes("input_batching_dims"),
        _batch_axes(call, "scatter_indices_batching_dims"),
    )
    params = {"unique_indices": call.get("unique_indices", bool, False), "mode": "fill"}
    function = call.function()
    if len(function.inputs) != 2 * count:
        raise call.fail(f"its computation does not take {2 * count} values")
    graph = function.graph
    if all(graph.outputs[k] is graph.inputs[count + k] for k in range(count)):
        results = [
            lax.scatter(x, indices, u, numbers, **params)
            for x, u in zip(arrays, updates, strict=True)
        ]
    elif count == 1 and _combine(graph) is not None:
        results = [_combine(graph)(arrays[0], indices, updates[0], numbers, **params)]
    elif count == 1 and not _reads(graph, 1):
        change: Any = vmap(lambda v: function(v, np.zeros((), v.dtype))[0])
        results = [_changed(arrays[0], change, indices, updates[0], numbers)]
    else:
        results = _one_by_one(call, list(arrays), indices, list(updates), numbers)
    return results if isinstance(call.instruction.type, tuple) else results[0]


def _combine(graph: Graph) -> Any:
    """The scatter of the primitive that a computation is."""
    name = single(graph)
    of_bools = _OF_BOOLS if graph.inputs[0].type.dtype.kind == "b" else {}
    return _SCATTERS.get(name) or of_bools.get(name)


def _reads(graph: Graph, position: int) -> bool:
    """True if an input of a graph is read, or given on."""
    var = graph.inputs[position]
    return any(var in e.inputs for e in graph.equations) or var in graph.outputs


def _changed(x: Any, change: Any, indices: Any, updates: Any, numbers: Any) -> Any:
    """The array with a function applied to the elements of slices."""

    def every(v: Any) -> Any:
        return lax.reshape(change(lax.reshape(v, (v.size,))), v.shape)

    return lax.scatter_apply(x, indices, every, numbers, update_shape=updates.shape, mode="fill")


def _one_by_one(
    call: Call, arrays: list[Any], indices: Any, updates: list[Any], numbers: Any
) -> list[Any]:
    """In a loop over the elements of the updates, one after the other: whatever the function."""
    function = call.function()
    shape = arrays[0].shape
    count = arrays[0].size
    # Which element of the array each element of the updates goes to; none: the last number.
    places = lax.reshape(lax.iota(INT64, count), shape)
    window = numbers.update_window_dims
    sizes = iter(updates[0].shape[a] for a in window)
    gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    of_slice = tuple(1 if a in gone else next(sizes) for a in range(len(shape)))
    found = lax.gather(
        places,
        indices,
        lax.GatherDimensionNumbers(
            window,
            numbers.inserted_window_dims,
            numbers.scatter_dims_to_operand_dims,
            numbers.operand_batching_dims,
            numbers.scatter_indices_batching_dims,
        ),
        of_slice,
        mode="fill",
        fill_value=-1,
    )
    flat = [lax.reshape(x, (count,)) for x in arrays]
    given = [lax.reshape(u, (u.size,)) for u in updates]
    where = lax.reshape(found, (found.size,))

    def step(k: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        at = apply("dynamic_slice", where, k, sizes=(1,))
        old = [apply("dynamic_slice", x, lax.reshape(at, ()), sizes=(1,)) for x in state]
        new = [apply("dynamic_slice", u, k, sizes=(1,)) for u in given]
        combine: Any = vmap(function)
        results = combine(*old, *new)
        kept = [lax.select(lax.lt(at, 0 * at), o, r) for o, r in zip(old, results, strict=True)]
        return tuple(
            apply("dynamic_update_slice", x, r, lax.reshape(at, ()))
            for x, r in zip(state, kept, strict=True)
        )

    done = lax.fori_loop(0, int(where.size), step, tuple(flat)) if count else tuple(flat)
    return [lax.reshape(x, shape) for x in done]


RULES: Rules = {"gather": gather, "scatter": scatter}
