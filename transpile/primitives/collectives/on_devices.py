"""Collectives between devices: exchanges of flat arrays among groups of devices by their numbers.

A program that runs on several devices has these in the place of collectives over named axes, once
the axes of its devices are known: `on_devices`. Each is a call of the program's communicator
(`runtime_c/python/communicator.h`).

    device_reduce     elements of all devices of a group, combined `by` a binary primitive
    device_scatter    sums of blocks, the rows of an array, of which each device gets its own
    device_gather     the values of a group as rows
    device_exchange   row k goes to member k, and row k comes from it
    device_broadcast  the values of the first member
    device_permute    the values of another device, by pairs (source, target)
    device_rank       the number of the device
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from transpile.errors import InternalError, UnsupportedError
from transpile.ir.graph import Equation, Graph, axis_names
from transpile.ir.indices.row_major import product
from transpile.ir.primitive import Axis, Primitive, register
from transpile.ir.source_info import user_source
from transpile.ir.types import BOOL, INT32, UINT8, ArrayType, is_half, kind_letter
from transpile.primitives.collectives.participants import Groups, cut, gathered, moved
from transpile.primitives.collectives.replicas import (
    position,
    replica_groups,
    source_target_pairs,
)
from transpile.primitives.rules import apply, reshaped, zeros_like
from transpile.trace.trace import the_trace
from transpile.transforms.closed import Environment, close, operand
from transpile.util.frozen_records import replace

Axes = Sequence[Axis]
FLOAT32 = np.dtype("float32")


def _no_value(*_: Any, **__: Any) -> NoReturn:
    raise InternalError("what devices exchange is known where they run")


def _between_devices(name: str, type_rule: Callable[..., ArrayType]) -> Primitive:
    return register(Primitive(name, "communicate", _no_value, type_rule))


def _alike(x: ArrayType, **_: Any) -> ArrayType:
    return x.strong


device_reduce = _between_devices("device_reduce", _alike)
device_scatter = _between_devices(
    "device_scatter", lambda x, *, groups: ArrayType(x.shape[1:], x.dtype)
)
device_gather = _between_devices(
    "device_gather", lambda x, *, groups: ArrayType((len(groups[0]), *x.shape), x.dtype)
)
device_exchange = _between_devices("device_exchange", _alike)
device_broadcast = _between_devices("device_broadcast", _alike)
device_permute = _between_devices("device_permute", _alike)
device_rank = _between_devices("device_rank", lambda: ArrayType((1,), INT32))


def on_devices(graph: Graph, axes: Axes) -> Graph:
    """The graph for devices that are numbered row-major over these axes, the last one fastest:
    without collectives over named axes, also in its regions."""

    def emit(*values: Any) -> list[Any]:
        trace = the_trace()
        environment = Environment(trace, graph.inputs, values)
        for equation in graph.equations:
            given = [environment[a] for a in equation.inputs]
            if equation.primitive.kind == "collective":
                rule = _RULES[equation.primitive.name]
                with trace.at(equation.source):
                    results = [rule(axes, *map(operand, given), **equation.params)]
            else:
                results = trace.copy(_with_regions(equation, axes), given)
            environment.define(equation.outputs, results)
        return [environment[a] for a in graph.outputs]

    made = close(emit, graph.inputs, name=graph.name, source=graph.source).graph
    count = math.prod(axis.static_size for axis in axes)
    return replace(made, output_names=graph.output_names, devices=count)


def _with_regions(equation: Equation, axes: Axes) -> Equation:
    if not axis_names(equation):
        return equation

    def rebuilt(value: Any) -> Any:
        if isinstance(value, Graph):
            return on_devices(value, axes)
        return tuple(map(rebuilt, value)) if isinstance(value, tuple) else value

    params = {name: rebuilt(value) for name, value in equation.params.items()}
    return replace(equation, params=params)


# ----------------------------------------------------------------------------------------- rules


def _flat(x: Any) -> Any:
    return reshaped(x, (product(x.shape),))


def _rows(x: Any) -> Any:
    """The array with all axes but the first as one."""
    return reshaped(x, (x.shape[0], product(x.shape[1:])))


def _reduction(by: str, extreme: str) -> Callable[..., Any]:
    """Sums of 16-bit floats are rounded once; the greatest bool is that of numbers, the greatest
    complex number that of all of them."""

    def reduce(all_axes: Axes, x: Any, *, axes: Axes, groups: Groups | None) -> Any:
        members = replica_groups(all_axes, axes, groups)
        dtype = x.dtype
        if extreme and kind_letter(dtype) == "c":
            if len({len(group) for group in members}) > 1:
                raise UnsupportedError(
                    f"{user_source()}: extremes of complex numbers in groups of several sizes"
                )
            everywhere = apply("device_gather", _flat(x), groups=members)
            return reshaped(apply(extreme, everywhere, axes=(0,)), x.shape)
        wide = UINT8 if dtype == BOOL else FLOAT32 if is_half(dtype) else dtype
        flat = _converted(_flat(x), wide)
        result = apply("device_reduce", flat, groups=members, by=by)
        return reshaped(_converted(result, dtype), x.shape)

    return reduce


def _converted(x: Any, dtype: np.dtype[Any]) -> Any:
    return x if x.dtype == dtype else apply("convert_element_type", x, dtype=dtype)


def _gather(all_axes: Axes, x: Any, *, axes: Axes, groups: Groups | None, dimension: int) -> Any:
    members = replica_groups(all_axes, axes, groups)
    rows = apply("device_gather", _flat(x), groups=members)
    return gathered(reshaped(rows, (len(members[0]), *x.shape)), 0, dimension=dimension).value


def _scatter(all_axes: Axes, x: Any, *, axes: Axes, groups: Groups | None, dimension: int) -> Any:
    members = replica_groups(all_axes, axes, groups)
    wide = FLOAT32 if is_half(x.dtype) else x.dtype
    parts = moved(cut(x, dimension, len(members[0])), dimension, 0)
    own = apply("device_scatter", _converted(_rows(parts), wide), groups=members)
    return reshaped(_converted(own, x.dtype), parts.shape[1:])


def _exchange(
    all_axes: Axes, x: Any, *, axes: Axes, groups: Groups | None, split: int, concat: int
) -> Any:
    members = replica_groups(all_axes, axes, groups)
    parts = moved(cut(x, split, len(members[0])), split, 0)
    arrived = apply("device_exchange", _rows(parts), groups=members)
    return gathered(reshaped(arrived, parts.shape), 0, dimension=concat).value


def _permute(all_axes: Axes, x: Any, *, axes: Axes, groups: None, pairs: Any) -> Any:
    if not pairs:
        return zeros_like(x)
    pairs = source_target_pairs(all_axes, axes, pairs)
    return reshaped(apply("device_permute", _flat(x), pairs=pairs), x.shape)


def _broadcast(all_axes: Axes, x: Any, *, axes: Axes, groups: Groups | None, source: int) -> Any:
    members = tuple(
        (group[source], *group[:source], *group[source + 1 :])
        for group in replica_groups(all_axes, axes, groups)
    )
    return reshaped(apply("device_broadcast", _flat(x), groups=members), x.shape)


def _index(all_axes: Axes, *, axes: Axes) -> Any:
    (axis,) = axes
    later = math.prod(a.static_size for a in all_axes[position(all_axes, axis) + 1 :])
    number = reshaped(apply("device_rank"), ())
    return number // np.int32(later) % np.int32(axis.static_size)


_RULES: Mapping[str, Callable[..., Any]] = {
    "all_gather": _gather,
    "all_to_all": _exchange,
    "axis_index": _index,
    "pbroadcast": _broadcast,
    "pmax": _reduction("maximum", "reduce_max"),
    "pmin": _reduction("minimum", "reduce_min"),
    "ppermute": _permute,
    "psum": _reduction("add", ""),
    "psum_scatter": _scatter,
}
