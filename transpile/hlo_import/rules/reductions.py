"""Reductions of axes and of windows, by any computation.

One of a single primitive is a reduction of that name; a prefix sum is a reduction of windows that
reach back to the first element; the index of an extreme one of pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile import lax
from transpile.functional.vectorize import vmap
from transpile.hlo.module import Window
from transpile.hlo_import.context import Call, Rules, known, producer
from transpile.hlo_import.orders import extreme_of
from transpile.ir.graph import Graph
from transpile.ir.primitive import TABLE
from transpile.ir.types import kind_letter
from transpile.primitives.rules import apply

_PREFIXES = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"}
_NEUTRAL = {"add": 0, "multiply": 1}


def single(graph: Graph) -> str:
    """The primitive of its two inputs, in this order, that a graph is; "" where it is more."""
    if len(graph.equations) != 1 or len(graph.inputs) != 2:
        return ""
    (equation,) = graph.equations
    is_plain = equation.inputs == graph.inputs and graph.outputs == equation.outputs
    is_turned = equation.primitive.commutative and equation.inputs == graph.inputs[::-1]
    return equation.primitive.name if is_plain or is_turned else ""


def combining(call: Call, count: int) -> Callable[[Any, Any], Any]:
    """The computation of a reduction of so many arrays: of two lists of values."""
    function = call.function()
    if len(function.inputs) != 2 * count:
        raise call.fail(f"its computation does not combine {count} values with {count}")
    return lambda x, y: tuple(function(*x, *y))


def reduce(call: Call, *operands: Any) -> Any:
    """Arrays along axes, and for each a value to start from."""
    arrays, starts = _halves(call, operands)
    axes, count = call.axes("dimensions"), len(arrays)
    function = combining(call, count)
    if count == 2 and len(axes) == 1:
        found = _extreme(call, arrays, starts, axes[0])
        if found is not None:
            return found
    if not axes:
        combine: Any = call.function()
        for _ in arrays[0].shape:
            combine = vmap(combine)
        given = [lax.broadcast_in_dim(s, arrays[0].shape, ()) for s in starts]
        results = combine(*given, *arrays)
    else:
        results = lax.reduce(tuple(arrays), tuple(starts), function, axes)
    return list(results) if isinstance(call.instruction.type, tuple) else results[0]


def _halves(call: Call, operands: Any) -> tuple[list[Any], list[Any]]:
    count = len(operands) // 2
    if not operands or len(operands) % 2:
        raise call.fail("it has as many arrays as values to start from")
    return list(operands[:count]), list(operands[count:])


def _extreme(call: Call, arrays: list[Any], starts: list[Any], axis: int) -> list[Any] | None:
    """The extreme elements and their indices, where that is what pairs are reduced to."""
    x, indices = arrays
    name = extreme_of(call.function().graph)
    index = producer(indices, "iota")
    if not name or index is None or index.params["dimension"] != axis or not x.size:
        return None
    worst = known(starts[0])
    if worst is None or known(starts[1]) is None or worst != _worst(name, x.dtype):
        return None
    found = apply(name, x, axis=axis)
    best = apply({"argmax": "reduce_max", "argmin": "reduce_min"}[name], x, axes=(axis,))
    return [best, lax.convert_element_type(found, indices.dtype)]


def _worst(name: str, dtype: np.dtype[Any]) -> Any:
    """What no element is further from being the extreme than."""
    if kind_letter(dtype) == "f":
        return -np.inf if name == "argmax" else np.inf
    if dtype.kind == "b":
        return name == "argmin"
    info = np.iinfo(dtype)
    return info.min if name == "argmax" else info.max


# ---------------------------------------------------------------------------------------- windows


def reduce_window(call: Call, *operands: Any) -> Any:
    """Arrays over windows, and for each a value to start from."""
    arrays, starts = _halves(call, operands)
    window = call.get("window", Window)
    prefix = _prefix(call, arrays, starts, window)
    if prefix is not None:
        return prefix
    results = lax.reduce_window(
        tuple(arrays),
        tuple(starts),
        combining(call, len(arrays)),
        window.size,
        window.stride,
        window.padding,
        window.base_dilation,
        window.window_dilation,
    )
    return list(results) if isinstance(call.instruction.type, tuple) else results[0]


def _prefix(call: Call, arrays: list[Any], starts: list[Any], window: Window) -> Any:
    """The prefixes of an axis, where windows reach back to its beginning, or on to its end."""
    name = single(call.function().graph)
    first = known(starts[0])
    if len(arrays) != 1 or name not in _PREFIXES or first is None:
        return None
    (x,) = arrays
    primitive = TABLE[_PREFIXES[name]]
    if x.dtype.kind not in primitive.dtypes:
        return None
    is_neutral = first == (
        _NEUTRAL[name] if name in _NEUTRAL else _worst(f"arg{name[:3]}", x.dtype)
    )
    ones = (1,) * x.ndim
    is_plain = (window.stride, window.base_dilation, window.window_dilation) == (ones,) * 3
    long = [a for a, size in enumerate(window.size) if size != 1]
    if not (is_neutral and is_plain and len(long) == 1):
        return None
    (axis,) = long
    size = x.shape[axis]
    pads = [p for a, p in enumerate(window.padding) if a != axis]
    if window.size[axis] != size or any(map(any, pads)):
        return None
    if window.padding[axis] not in ((size - 1, 0), (0, size - 1)):
        return None
    return apply(primitive.name, x, axis=axis, reverse=window.padding[axis] == (0, size - 1))


def select_and_scatter(call: Call, x: Any, source: Any, start: Any) -> Any:
    """What each window gives goes to its extreme: the derivative of a maximum over windows."""
    window = call.get("window", Window)
    select = single(call.function("select").graph)
    add = single(call.function("scatter").graph)
    chosen = {"greater_equal": "ge", "less_equal": "le"}.get(select)
    if chosen is None or add != "add":
        raise call.fail("only sums at the first extreme of each window are supported")
    total = apply(
        "select_and_scatter_add",
        source,
        x,
        select=chosen,
        window_dimensions=window.size,
        window_strides=window.stride,
        padding=window.padding,
        base_dilation=window.base_dilation,
        window_dilation=window.window_dilation,
    )
    return total if known(start) == 0 else total + start


RULES: Rules = {
    "reduce": reduce,
    "reduce-window": reduce_window,
    "select-and-scatter": select_and_scatter,
}
