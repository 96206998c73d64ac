"""Batching rules of collectives: where `vmap` maps an axis of that name, they exchange examples.

Over that axis alone a collective is reductions and views of the batch. Where others are named as
well, whose values are elsewhere, those are gathered first: the exchange is computed for all
participants, and each takes its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.indices.row_major import product
from transpile.ir.primitive import Axis
from transpile.ir.types import INT32, INT64
from transpile.primitives.collectives.participants import Groups, Same, in_groups
from transpile.primitives.rules import apply, reshaped, transposed, with_batch_axis

Axes = tuple[Axis, ...]
Batched = tuple[Any, bool]


def batch_rule(
    name: str, exchange: Callable[..., Any], shifted: Sequence[str] = ()
) -> Callable[..., Batched]:
    """The batching rule of a collective that means `exchange`, and whose params `shifted` are
    dimensions."""

    def rule(
        axis: Axis,
        batched: Sequence[bool],
        x: Any,
        /,
        *,
        axes: Axes,
        groups: Groups | None,
        **params: Any,
    ) -> Batched:
        if not _names(axis, axes):
            params = {k: v + 1 if k in shifted else v for k, v in params.items()}
            return apply(name, x, axes=axes, groups=groups, **params), True
        x = with_batch_axis(x, axis, batched[0])
        others = tuple(a for a in axes if a.name != axis.name)
        if others:
            x = _of_all(x, axis, axes, others)
        result = in_groups(exchange, x, groups, **params)
        if isinstance(result, Same):
            return result.value, False
        return (_own(result, axis, axes, others) if others else result), True

    return rule


def reduction_rule(
    name: str, exchange: Callable[..., Any], by: str, of_equals: Callable[[Any, Any], Any]
) -> Callable[..., Batched]:
    """That of a reduction, which reduces over the examples first and over the other axes then;
    `of_equals(x, count)` is the reduction of as many equal values."""
    general = batch_rule(name, exchange)

    def rule(
        axis: Axis,
        batched: Sequence[bool],
        x: Any,
        /,
        *,
        axes: Axes,
        groups: Groups | None,
    ) -> Batched:
        if groups is not None or not _names(axis, axes):
            return general(axis, batched, x, axes=axes, groups=groups)
        x = apply(by, x, axes=(0,)) if batched[0] else of_equals(x, axis.size)
        others = tuple(a for a in axes if a.name != axis.name)
        return (apply(name, x, axes=others, groups=None) if others else x), False

    return rule


def index_rule(axis: Axis, _: Sequence[bool], /, *, axes: Axes) -> Batched:
    """The index along the mapped axis is a vector of all of them."""
    if not _names(axis, axes):
        return apply("axis_index", axes=axes), False
    return apply("iota", shape=(axis.size,), dimension=0, dtype=INT32), True


def participant(axes: Axes) -> Any:
    """The number of this participant among those along the axes, an int32."""
    number = apply("axis_index", axes=axes[:1])
    for axis in axes[1:]:
        number = number * np.int32(axis.static_size) + apply("axis_index", axes=(axis,))
    return number


def _names(axis: Axis, axes: Axes) -> bool:
    return axis.name is not None and any(a.name == axis.name for a in axes)


def _of_all(x: Any, axis: Axis, axes: Axes, others: Axes) -> Any:
    """The values of all participants along the axes in their order, of which `x` has those of
    this device along the mapped axis."""
    sizes = tuple(a.size for a in others)
    everywhere = apply(
        "all_gather", reshaped(x, (1, *x.shape)), axes=others, groups=None, dimension=0
    )
    everywhere = reshaped(everywhere, (*sizes, *x.shape))
    place = [a.name for a in axes].index(axis.name)
    order = list(range(everywhere.ndim))
    order.insert(place, order.pop(len(others)))
    total = product(sizes) * axis.size
    return reshaped(transposed(everywhere, order), (total, *x.shape[1:]))


def _own(result: Any, axis: Axis, axes: Axes, others: Axes) -> Any:
    """Of what all participants get, that of this device's, along the mapped axis in front."""
    shape = tuple(result.shape[1:])
    result = reshaped(result, (*[a.size for a in axes], *shape))
    order = list(range(result.ndim))
    order.insert(0, order.pop([a.name for a in axes].index(axis.name)))
    result = reshaped(
        transposed(result, order), (axis.size, product(tuple(a.size for a in others)), *shape)
    )
    start = apply("convert_element_type", participant(others), dtype=INT64)
    zeros = [np.int64(0)] * len(shape)
    sizes = (axis.size, 1, *shape)
    own = apply("dynamic_slice", result, np.int64(0), start, *zeros, sizes=sizes)
    return reshaped(own, (axis.size, *shape))
