"""Collectives: instructions among groups of replicas, which are numbered over the module's axes."""

from __future__ import annotations

from typing import Any

from transpile.hlo.builder import Builder, Rules
from transpile.hlo.module import Instruction
from transpile.hlo.traced import combined
from transpile.ir.graph import Equation
from transpile.ir.indices.row_major import product
from transpile.ir.types import INT32, ArrayType, as_dtype
from transpile.primitives.collectives.replicas import position, replica_groups, source_target_pairs

UINT32 = as_dtype("uint32")


def _groups(b: Builder, equation: Equation) -> Any:
    params = equation.params
    return replica_groups(b.shared.axes, params["axes"], params["groups"])


def _combine(b: Builder, equation: Equation, x: Instruction) -> Any:
    return combined(b, equation.primitive.combine, x.dtype)


def all_reduce(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """The elements of all replicas of a group, combined."""
    combine = _combine(b, equation, x)
    return b.same("all-reduce", x, replica_groups=_groups(b, equation), to_apply=combine)


def all_gather(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """Side by side along a dimension."""
    kind, dimension = equation.output.type.strong, equation.params["dimension"]
    groups = _groups(b, equation)
    return b.add("all-gather", kind, x, replica_groups=groups, dimensions=(dimension,))


def reduce_scatter(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """A part of the sum along a dimension."""
    return b.add(
        "reduce-scatter",
        equation.output.type.strong,
        x,
        replica_groups=_groups(b, equation),
        dimensions=(equation.params["dimension"],),
        to_apply=_combine(b, equation, x),
    )


def all_to_all(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """XLA's leaves the parts side by side where they were; they are moved to another dimension."""
    split, concat = equation.params["split"], equation.params["concat"]
    groups = _groups(b, equation)
    x = b.same("all-to-all", x, replica_groups=groups, dimensions=(split,))
    if split == concat:
        return x
    count, shape = len(groups[0]), list(x.shape)
    parts = b.reshape(x, [*shape[:split], count, shape[split] // count, *shape[split + 1 :]])
    order = [a for a in range(len(shape) + 1) if a != split]
    order.insert(concat, split)
    return b.reshape(b.transpose(parts, order), equation.output.type.shape)


def collective_permute(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """From sources to targets; zeros for those that are no target."""
    params = equation.params
    pairs = source_target_pairs(b.shared.axes, params["axes"], params["pairs"])
    return b.same("collective-permute", x, source_target_pairs=pairs)


def collective_broadcast(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """From the first replica of each group."""
    source = equation.params["source"]
    groups = tuple(
        (group[source], *group[:source], *group[source + 1 :]) for group in _groups(b, equation)
    )
    return b.same("collective-broadcast", x, replica_groups=groups)


def axis_index(b: Builder, equation: Equation) -> Instruction:
    """The index along an axis from the number of the replica."""
    (axis,) = equation.params["axes"]
    k = position(b.shared.axes, axis)
    later = product(a.static_size for a in b.shared.axes[k + 1 :])
    number = b.add("replica-id", ArrayType((), UINT32))
    number = b.same("divide", number, b.constant(UINT32.type(later)))
    number = b.same("remainder", number, b.constant(UINT32.type(axis.static_size)))
    return b.convert(number, INT32)


RULES: Rules = {
    "all_gather": all_gather,
    "all_to_all": all_to_all,
    "axis_index": axis_index,
    "pbroadcast": collective_broadcast,
    "pmax": all_reduce,
    "pmin": all_reduce,
    "ppermute": collective_permute,
    "psum": all_reduce,
    "psum_scatter": reduce_scatter,
}
