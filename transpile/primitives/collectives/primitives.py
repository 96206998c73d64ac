"""The collectives: sums, extremes, permutations, gathers and exchanges over named axes.

    psum  pmax  pmin       reduce; every participant gets the result
    ppermute  pbroadcast   participants get the value of another one, or of one
    all_gather             values side by side along `dimension`
    psum_scatter           the sum, of which each participant gets a part along `dimension`
    all_to_all             parts along `split`, exchanged, side by side along `concat`
    axis_index             the number of a participant along an axis

`axes` are the axes by name and size, which were bound when the function was traced. Participants
are numbered row-major over them; `groups` are those that exchange with each other, None: all do.
Transposes take a value that all participants have as one value of each, as JAX does outside of
`shard_map`: that of a sum is a sum.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np

from transpile.ir.indices.row_major import product
from transpile.ir.primitive import NoRule, Primitive, register
from transpile.ir.source_info import user_source
from transpile.ir.types import INT32, ArrayType
from transpile.primitives.collectives import participants
from transpile.primitives.collectives.batching import (
    Axes,
    batch_rule,
    index_rule,
    participant,
    reduction_rule,
)
from transpile.primitives.collectives.participants import Groups
from transpile.primitives.rules import apply, broadcast, linear, zeros_like

Pairs = tuple[tuple[int, int], ...]


def unbound(*_: Any, axes: Axes, **__: Any) -> NoReturn:
    """One value is not enough to say what a collective gives: raise a NameError."""
    raise NameError(f"{user_source()}: unbound axis name: {axes[0].name}")


def group_size(axes: Axes, groups: Groups | None) -> Any:
    """How many participants exchange with each other; groups other than of reductions are of one
    size."""
    return product(a.size for a in axes) if groups is None else len(groups[0])


def _collective(name: str, type_rule: Callable[..., ArrayType], **columns: Any) -> Primitive:
    """Register a collective of one operand, in which it is linear unless it has another rule."""
    columns.setdefault("jvp", linear(name))
    return register(Primitive(name, "collective", unbound, type_rule, **columns))


def _same_type(x: ArrayType, **_: Any) -> ArrayType:
    return x


# ----------------------------------------------------------------------------------- reductions


def _reduction(name: str, by: str, combine: str, of_equals: Any, **columns: Any) -> Primitive:
    exchange = partial(participants.reduced, by=by)
    batch = reduction_rule(name, exchange, by, of_equals)
    return _collective(name, _same_type, combine=combine, batch=batch, agrees=True, **columns)


psum = _reduction(
    "psum",
    "reduce_sum",
    "add",
    lambda x, count: x * np.asarray(count).astype(x.dtype)[()],
    dtypes="iufc",
    transpose=lambda ct, x, **params: [apply("psum", ct, **params)],
)


def _no_derivative(name: str) -> NoRule:
    return NoRule(f"Differentiation rule for '{name}' not implemented: as in JAX, it has none")


pmax = _reduction("pmax", "reduce_max", "maximum", lambda x, _: x, jvp=_no_derivative("pmax"))
pmin = _reduction("pmin", "reduce_min", "minimum", lambda x, _: x, jvp=_no_derivative("pmin"))

# --------------------------------------------------------------------------------- permutations


def _inverse(ct: Any, x: Any, *, pairs: Pairs, **params: Any) -> list[Any]:
    return [apply("ppermute", ct, pairs=tuple((t, s) for s, t in pairs), **params)]


ppermute = _collective(
    "ppermute",
    _same_type,
    transpose=_inverse,
    batch=batch_rule("ppermute", participants.permuted),
)


def _to_source(ct: Any, x: Any, *, axes: Axes, groups: Groups | None, source: int) -> list[Any]:
    """The sum of all cotangents, for the source alone."""
    total = apply("psum", ct, axes=axes, groups=groups)
    is_source = broadcast(participant(axes) == np.int32(source), total.shape, ())
    return [apply("select", is_source, total, zeros_like(x))]


pbroadcast = _collective(
    "pbroadcast",
    _same_type,
    transpose=_to_source,
    agrees=True,
    batch=batch_rule("pbroadcast", participants.chosen),
)

# ---------------------------------------------------------------------------- gathers, exchanges


def _resized(x: ArrayType, dimension: int, size: Any) -> ArrayType:
    return ArrayType((*x.shape[:dimension], size, *x.shape[dimension + 1 :]), x.dtype)


def _part(x: ArrayType, name: str, dimension: int, count: Any) -> Any:
    size = x.shape[dimension]
    if size % count:
        raise ValueError(
            f"{name} cuts dimension {dimension} of {x}, {size}, into {count} parts, which do not "
            f"have one size"
        )
    return size // count


def _gather_type(x: ArrayType, *, axes: Axes, groups: Groups | None, dimension: int) -> ArrayType:
    return _resized(x, dimension, x.shape[dimension] * group_size(axes, groups))


def _scatter_type(x: ArrayType, *, axes: Axes, groups: Groups | None, dimension: int) -> ArrayType:
    size = _part(x, "psum_scatter", dimension, group_size(axes, groups))
    return _resized(x, dimension, size)


def _exchange_type(
    x: ArrayType, *, axes: Axes, groups: Groups | None, split: int, concat: int
) -> ArrayType:
    count = group_size(axes, groups)
    x = _resized(x, split, _part(x, "all_to_all", split, count))
    return _resized(x, concat, x.shape[concat] * count)


all_gather = _collective(
    "all_gather",
    _gather_type,
    transpose=lambda ct, x, **params: [apply("psum_scatter", ct, **params)],
    agrees=True,
    batch=batch_rule("all_gather", participants.gathered, ("dimension",)),
)
psum_scatter = _collective(
    "psum_scatter",
    _scatter_type,
    combine="add",
    dtypes="iufc",
    transpose=lambda ct, x, **params: [apply("all_gather", ct, **params)],
    batch=batch_rule("psum_scatter", participants.scattered, ("dimension",)),
)
all_to_all = _collective(
    "all_to_all",
    _exchange_type,
    transpose=lambda ct, x, *, split, concat, **params: [
        apply("all_to_all", ct, split=concat, concat=split, **params)
    ],
    batch=batch_rule("all_to_all", participants.exchanged, ("split", "concat")),
)
axis_index = register(
    Primitive(
        "axis_index",
        "collective",
        unbound,
        lambda *, axes: ArrayType((), INT32),
        batch=index_rule,
        nonnegative="i",
    )
)
