"""Collectives of `lax`: what the examples of `vmap(axis_name=...)`, or the devices of `pmap`, know
of each other.

An axis is given by name, or several as a tuple, over which participants are numbered with the last
name fastest. Values are pytrees. `axis_index_groups`, lists of such numbers in which each stands
once, lets only the members of a group exchange. An unknown name raises NameError.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any

import numpy as np

from transpile.ir.indices.row_major import product
from transpile.ir.primitive import Axis, Primitive
from transpile.ir.types import INT32, INT64
from transpile.lax.arrays.promotion import array, as_value, public, shape_of, traced
from transpile.lax.arrays.shapes import axis_in
from transpile.numpy.core.promotion import convert, reshape_to
from transpile.numpy.core.promotion import error as located
from transpile.primitives.collectives import primitives
from transpile.primitives.collectives.batching import participant
from transpile.primitives.collectives.participants import Groups
from transpile.trace.axis_names import named_axis
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer
from transpile.tree import map as tree_map

__all__ = [
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "pbroadcast",
    "pcast",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
    "ragged_all_to_all",
]

Axes = tuple[Axis, ...]
IndexGroups = Sequence[Sequence[int]] | None

# -------------------------------------------------------------------------------- axes and groups


def _names(axis_name: Any) -> tuple[Hashable, ...]:
    names = tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)
    if len(set(names)) < len(names):
        raise located(ValueError, f"an axis name is given twice: {axis_name}")
    return names


def _axes(axis_name: Any) -> Axes:
    """The axes in scope that have these names."""
    return tuple(map(named_axis, _names(axis_name)))


def _count(axes: Axes) -> int:
    return prod(axis.static_size for axis in axes)


def _groups(axes: Axes, groups: IndexGroups, alike: bool = False) -> Groups | None:
    """The groups as tuples, or a ValueError; `alike`: they must be of one size."""
    if groups is None:
        return None
    found = tuple(tuple(int(k) for k in group) for group in groups)
    if sorted(k for group in found for k in group) != list(range(_count(axes))):
        raise located(ValueError, "axis_index_groups must cover all indices exactly once")
    if alike and len({len(group) for group in found}) > 1:
        raise located(ValueError, "axis_index_groups must all be the same size")
    return found


def _members(axes: Axes, groups: Groups | None) -> Any:
    """How many participants the group of this one has: a Python int, or where groups differ a
    traced int32."""
    if groups is None:
        return _count(axes)
    sizes = {k: len(group) for group in groups for k in group}
    if len(set(sizes.values())) == 1:
        return sizes[0]
    return traced(np.array([sizes[k] for k in range(len(sizes))], INT32))[participant(axes)]


def _with_dimension(x: Any, dimension: int) -> Any:
    shape = shape_of(x)
    return reshape_to(traced(x), (*shape[:dimension], 1, *shape[dimension:]))


def _without_dimension(x: Any, dimension: int) -> Any:
    return reshape_to(x, (*x.shape[:dimension], *x.shape[dimension + 1 :]))


def _of_leaves(name: str, function: Callable[[Any], Any], tree: Any) -> Any:
    return tree_map(lambda leaf: function(as_value(leaf, name)), tree)


# -------------------------------------------------------------------------------------- reductions


def _split(axis_name: Any, groups: IndexGroups) -> tuple[tuple[int, ...], Axes]:
    """The positions among the names, which are dimensions of an array, and the named axes."""
    names = _names(axis_name)
    positions = tuple(n for n in names if isinstance(n, int))
    if positions and groups is not None:
        raise located(ValueError, "axis_index_groups only supported for sums over just named axes")
    return positions, tuple(named_axis(n) for n in names if not isinstance(n, int))


def _reduced(
    primitive: Primitive, by: Callable[..., Any], axis_name: Any, groups: IndexGroups
) -> Callable[[Any], Any]:
    positions, axes = _split(axis_name, groups)
    found = _groups(axes, groups)

    def reduce(x: Any) -> Any:
        x = by(x, axis=positions) if positions else x
        return bind(primitive, x, axes=axes, groups=found) if axes else x

    return reduce


@public
def psum(x: Any, axis_name: Any, *, axis_index_groups: IndexGroups = None) -> Any:
    """The sum over the participants along named axes; bools are summed as int32.

    The sum of a Python number is a Python number: `psum(1, "i")` is the size of the axis. An
    integer among the names is a dimension of the array, which is summed too.
    """
    positions, axes = _split(axis_name, axis_index_groups)
    groups = _groups(axes, axis_index_groups)

    def total(x: Any) -> Any:
        x = np.sum(x, axis=positions) if positions else x
        if isinstance(x, bool):
            x = np.int32(x)
        elif isinstance(x, Tracer | np.ndarray | np.generic) and x.dtype == bool:
            x = convert(x, INT32)
        if not axes:
            return x
        if isinstance(x, Tracer):
            return bind(primitives.psum, x, axes=axes, groups=groups)
        members = _members(axes, groups)
        return x * (convert(members, x.dtype) if hasattr(x, "dtype") else members)

    return _of_leaves("psum", total, x)


@public
def pmean(x: Any, axis_name: Any, *, axis_index_groups: IndexGroups = None) -> Any:
    """The mean over the participants along named axes, each of its own group; integers and bools
    become floats."""
    positions, axes = _split(axis_name, axis_index_groups)
    members = _members(axes, _groups(axes, axis_index_groups))

    def mean(x: Any) -> Any:
        count = members * product(shape_of(x)[p] for p in positions)
        total = psum(x, axis_name, axis_index_groups=axis_index_groups)
        if isinstance(count, Tracer) and np.result_type(total) != count.dtype:
            count = convert(count, total.dtype)
        return total / count

    return _of_leaves("pmean", mean, x)


@public
def pmax(x: Any, axis_name: Any, *, axis_index_groups: IndexGroups = None) -> Any:
    """The largest value, element by element, of the participants along named axes; NaN where one
    has a NaN. It has no derivative, except where `vmap` maps the axis inside of `grad`."""
    return _of_leaves("pmax", _reduced(primitives.pmax, np.max, axis_name, axis_index_groups), x)


@public
def pmin(x: Any, axis_name: Any, *, axis_index_groups: IndexGroups = None) -> Any:
    """The least value, element by element, of the participants along named axes; as `pmax`."""
    return _of_leaves("pmin", _reduced(primitives.pmin, np.min, axis_name, axis_index_groups), x)


# ------------------------------------------------------------------------------------ permutations


@public
def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """For each pair (source, destination) the value of the one participant, given to the other;
    zeros where nobody sends to. Numbers are taken modulo the size of the axis.

    Raises ValueError where a source or a destination stands twice.
    """
    axes = _axes(axis_name)
    count = _count(axes)
    pairs = tuple((int(s) % count, int(t) % count) for s, t in perm)
    if any(len(set(ends)) < len(pairs) for ends in zip(*pairs, strict=True)):
        raise located(ValueError, f"ppermute sources and destinations must be unique, got {perm}.")

    def permute(x: Any) -> Any:
        return bind(primitives.ppermute, x, axes=axes, groups=None, pairs=pairs)

    return _of_leaves("ppermute", permute, x)


@public
def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """The value of participant `perm[k]`, given to participant k.

    Raises ValueError unless `perm` is a permutation of all.
    """
    if sorted(perm) != list(range(len(perm))):
        raise located(ValueError, f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)), strict=True)))


@public
def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """The value of one participant along named axes, given to all.

    Raises ValueError if there is no such participant.
    """
    axes = _axes(axis_name)
    if not 0 <= source < _count(axes):
        raise located(ValueError, f"pbroadcast from {source}, but the axis has size {_count(axes)}")

    def broadcast(x: Any) -> Any:
        return bind(primitives.pbroadcast, x, axes=axes, groups=None, source=int(source))

    return _of_leaves("pbroadcast", broadcast, x)


# ------------------------------------------------------------------------------ gathers, exchanges


@public
def all_gather(
    x: Any,
    axis_name: Any,
    *,
    axis_index_groups: IndexGroups = None,
    axis: int = 0,
    tiled: bool = False,
) -> Any:
    """The values of all participants along named axes, stacked along the new dimension `axis`;
    side by side along that dimension if `tiled`.

    Raises ValueError for groups of several sizes and for a dimension that there is not.
    """
    axes = _axes(axis_name)
    groups = _groups(axes, axis_index_groups, alike=True)

    def gather(x: Any) -> Any:
        dimension = axis_in(axis, len(shape_of(x)) + (not tiled))
        x = x if tiled else _with_dimension(x, dimension)
        return bind(primitives.all_gather, x, axes=axes, groups=groups, dimension=dimension)

    return _of_leaves("all_gather", gather, x)


@public
def psum_scatter(
    x: Any,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: IndexGroups = None,
    tiled: bool = False,
) -> Any:
    """The sum over the participants along named axes, of which participant k gets the k-th slice
    along a dimension, which the result has not; if `tiled`, the k-th of equal parts.

    Raises ValueError unless the dimension has the size of the axis or, if `tiled`, a multiple.
    """
    axes = _axes(axis_name)
    groups = _groups(axes, axis_index_groups, alike=True)
    count = _members(axes, groups)

    def scatter(x: Any) -> Any:
        x = convert(x, INT32) if hasattr(x, "dtype") and x.dtype == bool else x
        dimension = axis_in(scatter_dimension, len(shape_of(x)))
        size = shape_of(x)[dimension]
        if tiled and size % count:
            raise located(
                ValueError,
                f"tiled reduce_scatter operand scatter dimension size {size} must be divisible by "
                f"shard_count {count}",
            )
        if not tiled and size != count:
            raise located(
                ValueError,
                f"reduce_scatter operand scatter dimension size {size} must match shard count "
                f"{count}",
            )
        part = bind(primitives.psum_scatter, x, axes=axes, groups=groups, dimension=dimension)
        return part if tiled else _without_dimension(part, dimension)

    return _of_leaves("psum_scatter", scatter, x)


@public
def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: IndexGroups = None,
    tiled: bool = False,
) -> Any:
    """Slice k along dimension `split_axis`, sent to participant k; what arrives is stacked along
    the new dimension `concat_axis` of the result. If `tiled`, parts instead of slices, side by side
    along a dimension that there was.

    Raises ValueError unless the split dimension has the size of the axis; a multiple, if `tiled`.
    """
    axes = _axes(axis_name)
    groups = _groups(axes, axis_index_groups, alike=True)
    count = _members(axes, groups)

    def exchange(x: Any) -> Any:
        shape = shape_of(x)
        split, concat = (axis_in(a, len(shape)) for a in (split_axis, concat_axis))
        if tiled and shape[split] % count:
            raise located(
                ValueError,
                f"The size of all_to_all split_axis ({shape[split]}) has to be divisible by the "
                f"size of the named axis {axis_name} ({count})",
            )
        if not tiled and shape[split] != count:
            raise located(
                ValueError,
                f"all_to_all requires the size of the mapped axis axis_name to equal "
                f"x.shape[split_axis], but they are {count} and {shape[split]} respectively.",
            )
        stacks = not tiled and split != concat
        if stacks:  # `concat` counts the dimensions of the result, which has not the split one
            concat += concat > split
            x = _with_dimension(x, concat)
            split += concat <= split
        result = bind(
            primitives.all_to_all, x, axes=axes, groups=groups, split=split, concat=concat
        )
        return _without_dimension(result, split) if stacks else result

    return _of_leaves("all_to_all", exchange, x)


@public
def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: IndexGroups = None) -> Any:
    """The named axis and a dimension of the array, exchanged: `all_to_all` along it.

    Raises ValueError unless they have one size.
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


@public
def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """The value as one that varies along named axes, which any value may do here: itself.

    Raises ValueError unless `to` is "varying": sums that are not yet computed have no type here.
    """
    _axes(axis_name)
    if to != "varying":
        raise located(ValueError, f"pcast: `to` is 'varying', not {to!r}")
    return x


@public
def ragged_all_to_all(
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: Any,
    axis_index_groups: IndexGroups = None,
) -> Any:
    """Slices of different lengths along the first dimension, each sent to one participant and
    written into what that has as `output`, at an offset that its sender chooses.

    input_offsets, send_sizes   which rows of `operand` each slice is; with n slices for each of the
                    participants, the first n are for the first one
    output_offsets  the row at which the receiver writes each of the slices that are sent
    recv_sizes      how long the slices are that arrive; their senders' sizes are what counts

    Every participant gathers the operands of all. Raises ValueError for offsets and sizes that are
    no vectors of integers, of one length, that the participants divide, and for operands whose
    dtypes or further dimensions differ.
    """
    axes = _axes(axis_name)
    count = _members(axes, _groups(axes, axis_index_groups, alike=True))
    operand, output = (array(x, "ragged_all_to_all", k) for k, x in enumerate((operand, output)))
    given = (input_offsets, send_sizes, output_offsets, recv_sizes)
    tables = [array(x, "ragged_all_to_all", 2 + k) for k, x in enumerate(given)]
    _check_ragged(operand, output, tables, count)
    settings: dict[str, Any] = {"axis_index_groups": axis_index_groups}
    sources = np.reshape(all_gather(operand, axis_name, **settings), (-1, *operand.shape[1:]))
    sent = np.stack([convert(x, INT64) for x in tables[:3]], axis=-1)
    arriving = all_to_all(sent, axis_name, 0, 0, tiled=True, **settings)
    of_source = np.arange(len(sent)) // (len(sent) // count) * operand.shape[0]
    rows = np.arange(output.shape[0])[:, None]
    at = rows - arriving[:, 2]
    is_hit = (at >= 0) & (at < arriving[:, 1])
    last = len(sent) - 1 - np.argmax(is_hit[:, ::-1], axis=1)  # a later slice is written over it
    index = (arriving[:, 0] + of_source + at)[rows[:, 0], last]
    is_written = np.reshape(is_hit.any(axis=1), (-1, *[1] * (output.ndim - 1)))
    return np.where(is_written, sources[np.where(is_hit.any(axis=1), index, 0)], output)


def _check_ragged(operand: Any, output: Any, tables: Sequence[Any], count: int) -> None:
    names = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")
    for name, table in zip(names, tables, strict=True):
        shape = tuple(table.shape)
        if table.dtype.kind not in "iu":
            raise located(ValueError, f"ragged_all_to_all {name} must be integer type.")
        if len(shape) != 1 or not shape[0]:
            raise located(
                ValueError,
                f"ragged_all_to_all {name} must be rank 1 with positive dimension size, but got "
                f"shape {shape}",
            )
        if shape[0] % count or shape != tables[0].shape:
            raise located(
                ValueError,
                f"ragged_all_to_all {name} must have the length of the others, a multiple of the "
                f"size of the axis ({count}), but got {shape[0]}",
            )
    if operand.dtype != output.dtype or operand.shape[1:] != output.shape[1:]:
        raise located(
            ValueError,
            "ragged_all_to_all operand and output must have one dtype and the same dimensions "
            f"after the first, not {operand.dtype}{list(operand.shape)} and "
            f"{output.dtype}{list(output.shape)}",
        )


# --------------------------------------------------------------------------------------- the axes


@public
def axis_index(axis_name: Any) -> Any:
    """The number of this participant along named axes, an int32."""
    return participant(_axes(axis_name))


def axis_size(axis_name: Any) -> int:
    """The size of a named axis, or the product of several, a Python int."""
    return _count(_axes(axis_name))
