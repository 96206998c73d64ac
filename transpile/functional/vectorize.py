"""vmap: a function of examples becomes one of arrays of examples.

The function is traced once, on one example; the graph is batched (`transpile.transforms.batch`).
The mapped axes move to the front on the way in and to `out_axes` on the way out, as views.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from transpile import tree
from transpile.functional.flatten_fun import (
    Flat,
    argument_names,
    as_value,
    flatten_function,
    value_type,
)
from transpile.functional.gradients import named_like
from transpile.ir.dims import Index
from transpile.ir.primitive import Axis
from transpile.ir.source_info import user_source
from transpile.ir.types import FLOAT0
from transpile.primitives.rules import broadcast
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.axis_names import with_axes
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_signature import describe, type_text
from transpile.trace.trace import current_trace
from transpile.trace.tracebacks import api_boundary
from transpile.trace.tracer import UNKNOWN
from transpile.transforms.batch import batch

Axes = list[int | None]  # for each leaf the mapped axis, None where it is not mapped


@api_boundary
def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable = None,
    axis_size: Index | None = None,
    spmd_axis_name: Hashable = None,
) -> Callable[..., Any]:
    """A function that computes `fun` for every example along an axis of its arguments at once, by
    batching its graph.

    in_axes         the axis of the arguments that is mapped, None where an argument is the same for
                    all examples (it may be any Python object); or a tuple with an entry for each
                    positional argument, an axis, None, or a container of those: a prefix of the
                    argument's structure. Negative axes count from the end. Keyword arguments are
                    mapped along axis 0
    out_axes        the position of the mapped axis in the results: an axis or a prefix of the
                    result's structure. None: the result must be the same for all examples, and has
                    no such axis. Other results that are the same for all are repeated
    axis_name       the name by which collectives in `fun` refer to the mapped axis (`lax.psum`)
    axis_size       the size of the mapped axis, where no argument has it
    spmd_axis_name  accepted for compatibility; it changes nothing on one device

    `fun` is traced once, for one example. Python may ask for the values of arguments that are not
    mapped, not for those that are: a branch on these raises a TracerError.

    Raises ValueError where the axes do not fit the arguments or results, or have different sizes;
    TypeError for axes of another type, and for mapped arguments and results that are no arrays.
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    _check_axes(in_axes, out_axes)

    @functools.wraps(fun)
    @api_boundary
    def mapped(*args: Any, **kwargs: Any) -> Any:
        return _mapped(fun, in_axes, out_axes, (axis_name, axis_size), args, kwargs)

    return named_like(fun, mapped, "vmap")


def _check_axes(in_axes: Any, out_axes: Any) -> None:
    if in_axes is not None and type(in_axes) not in (int, tuple):
        raise TypeError(
            f"vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {in_axes}."
        )
    for name, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        if any(type(axis) is not int for axis in tree.leaves(axes)):
            raise TypeError(
                f"vmap {name} must be an int, None, or (nested) container with those types as "
                f"leaves, but got {axes}."
            )


def _mapped(
    fun: Callable[..., Any],
    in_axes: Any,
    out_axes: Any,
    axis_settings: tuple[Hashable, Index | None],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(
            f"{user_source()}: vmap in_axes must be an int, None, or a tuple of entries "
            f"corresponding to the positional arguments passed to the function, but got "
            f"len(in_axes)={len(in_axes)}, len(args)={len(args)}"
        )
    leaves, in_tree = flatten_arrays((args, kwargs))
    axes = prefix_axes("vmap in_axes", in_axes, flatten_arrays(args)[1])
    axes += [0] * (len(leaves) - len(axes))
    names = _names(fun, args, kwargs)
    leaves = [
        x if axis is None else as_value(x, f"{name!r} of {describe(fun)}")
        for x, axis, name in zip(leaves, axes, names, strict=True)
    ]
    name, size = axis_settings
    axis = Axis(mapped_size("vmap", leaves, axes, (args, kwargs), names, size), name)
    fronted = [x if a is None else _to_front(x, a) for x, a in zip(leaves, axes, strict=True)]
    examples = _Examples(fun, in_tree, fronted, [a is not None for a in axes])
    mapped = [x for x, m in zip(fronted, examples.is_mapped, strict=True) if m]
    kinds = [value_type(x) for x in mapped]
    flat, _ = flatten_function(
        examples.function(axis),
        mapped,
        known=[UNKNOWN] * len(mapped),
        types=[kind.with_shape(kind.shape[1:]) for kind in kinds],
        names=[n for n, m in zip(names, examples.is_mapped, strict=True) if m],
        role="repeated",
    )
    closed, batched = batch(flat.closed, axis, [True] * len(mapped))
    axes_out = _result_axes(fun, axis, out_axes, flat, batched)
    results = flat.run(closed, mapped)
    for axis_out, nothing in examples.float0.items():
        results[axis_out] = nothing
    return flat.out_tree.unflatten(
        with_mapped_axis(value, is_batched, axis_out, axis.size)
        for value, is_batched, axis_out in zip(results, batched, axes_out, strict=True)
    )


def _names(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """How the user calls each leaf of the arguments: `x`, `params['w']`."""
    names = argument_names(fun, args, None)
    return names + [p for k in sorted(kwargs) for p in flatten_arrays(kwargs[k])[1].paths(k)]


def _to_front(x: Any, axis: int) -> Any:
    """The array with this axis in front; of a float0, which holds nothing, an example."""
    moved = np.moveaxis(x, axis, 0)
    return np.zeros(moved.shape[1:], FLOAT0) if moved.dtype == FLOAT0 else moved


class _Examples:
    """The leaves of a call's arguments, and the function of those that are mapped."""

    def __init__(
        self,
        fun: Callable[..., Any],
        in_tree: tree.TreeDef,
        leaves: Sequence[Any],
        has_axis: Sequence[bool],
    ) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.leaves = leaves
        self.is_mapped = [
            has and x.dtype != FLOAT0 for x, has in zip(leaves, has_axis, strict=True)
        ]
        self.float0: dict[int, Any] = {}  # the results that hold nothing, by their positions

    def function(self, axis: Axis) -> Callable[..., Any]:
        """The user's function of the mapped leaves of one example."""
        fun = self.fun

        @functools.wraps(fun)
        def of_example(*values: Any) -> Any:
            given = iter(values)
            leaves = [
                next(given) if m else x for x, m in zip(self.leaves, self.is_mapped, strict=True)
            ]
            args, kwargs = self.in_tree.unflatten(leaves)
            return self._without_float0(with_axes([axis], lambda: resolved(fun)(*args, **kwargs)))

        return of_example

    def _without_float0(self, result: Any) -> Any:
        """The result, with bools for float0, which no trace can hold."""
        leaves, structure = flatten_arrays(result)
        self.float0 = {
            position: x
            for position, x in enumerate(leaves)
            if isinstance(x, np.ndarray) and x.dtype == FLOAT0
        }
        return structure.unflatten(
            np.zeros(x.shape, bool) if k in self.float0 else x for k, x in enumerate(leaves)
        )


def _result_axes(
    fun: Callable[..., Any], axis: Axis, out_axes: Any, flat: Flat, batched: Sequence[bool]
) -> Axes:
    """The position of the mapped axis in each result, or the ValueError about `out_axes`."""
    wanted = prefix_axes("vmap out_axes", out_axes, flat.out_tree)
    axes: Axes = []
    for position, kind, is_batched, path in zip(
        wanted, flat.out_types, batched, flat.out_tree.paths(), strict=True
    ):
        rank = kind.ndim + 1
        if position is None and is_batched:
            problem = (
                f"at vmap out_axes{path}, got axis spec None but output was batched on axis 0"
                if axis.name is None
                else f"vmap has mapped output (axis_name={axis.name}) but out_axes is None"
            )
            raise ValueError(f"{user_source()}: {problem} (the result{path} of {describe(fun)})")
        if position is not None and not -rank <= position < rank:
            raise ValueError(
                f"{user_source()}: vmap out_axes{path} of {describe(fun)}: axis {position} is out "
                f"of bounds for array of dimension {rank}"
            )
        axes.append(None if position is None else position % rank)
    return axes


def with_mapped_axis(value: Any, is_batched: bool, position: int | None, size: Index) -> Any:
    """A result with the mapped axis at its position: moved from the front, or repeated along it."""
    if position is None:
        return value
    if is_batched:
        moved = np.moveaxis(value, 0, position)
        return moved if current_trace() is not None else np.ascontiguousarray(moved)
    shape = (*value.shape[:position], size, *value.shape[position:])
    if current_trace() is not None and value.dtype != FLOAT0:
        return broadcast(value, shape, [k for k in range(len(shape)) if k != position])
    return np.array(np.broadcast_to(np.expand_dims(value, position), shape), order="C")


# ----------------------------------------------------------------------------------------- axes


def prefix_axes(what: str, axes: Any, full: tree.TreeDef) -> Axes:
    """An axis for each leaf of a structure of which `axes` is a prefix, with None as a leaf."""
    problems: list[str] = []
    spread = list(_spread_prefix(what, "", axes, full, problems))
    if problems:
        raise ValueError(
            f"{user_source()}: {what} specification must be a tree prefix of the corresponding "
            f"value; \n  Mismatch details ({len(problems)} found):\n  " + "\n  ".join(problems)
        )
    return spread


def _spread_prefix(
    what: str, path: str, axes: Any, full: tree.TreeDef, problems: list[str]
) -> Iterator[int | None]:
    if axes is None or isinstance(axes, int):
        yield from [axes] * full.num_leaves
        return
    prefix = _one_level(axes)
    problem = _mismatch(axes, prefix, full)
    if problem:
        problems.append(
            f"pytree structure error: different {problem[0]} at key path\n    {what}{path}\n"
            f"At that key path, the prefix pytree {what} has a subtree of {problem[1]}"
        )
        return
    children = tree.one_level(axes)
    assert children is not None
    for key, child, part in zip(full.keys, children[0], full.subtrees, strict=True):
        yield from _spread_prefix(what, f"{path}{key}", child, part, problems)


def _one_level(axes: Any) -> tree.TreeDef:
    """The structure of a container whose children count as leaves."""
    return tree.structure(axes, is_leaf=lambda x: x is not axes)


def _mismatch(axes: Any, prefix: tree.TreeDef, full: tree.TreeDef) -> tuple[str, str] | None:
    """What differs between the root of a prefix and that of the full tree, and how."""
    own = type(axes).__name__
    if full.node is not prefix.node:
        other = "pytree leaf" if full.node is None else full.node.name
        return "types", (
            f"type {own}, but at the same key path the full pytree has a subtree of different "
            f"type {other}."
        )
    here, there = len(prefix.subtrees), len(full.subtrees)
    if here != there and isinstance(axes, list | tuple):
        return f"lengths of {own}", (
            f"type {own} of length {here}, but the full pytree has a subtree of the same type but "
            f"of length {there}."
        )
    if here != there:
        keys, other_keys = (" ".join(map(str, structure.keys)) for structure in (prefix, full))
        return "numbers of pytree children", (
            f"type {own} with {here} child keys {keys}, but at the same key path the full pytree "
            f"has a subtree of the same type but with {there} child keys {other_keys}"
        )
    if prefix.data != full.data:
        return "pytree metadata", (
            f"type {own} with metadata {prefix.data}, but at the same key path the full pytree has "
            f"a subtree of the same type but with metadata {full.data}"
        )
    return None


def mapped_size(
    what: str,
    leaves: Sequence[Any],
    axes: Axes,
    arguments: tuple[tuple[Any, ...], dict[str, Any]],
    names: Sequence[str],
    axis_size: Index | None,
) -> Index:
    """The size that all mapped axes have, or a ValueError."""
    if not leaves and axis_size is None:
        raise ValueError(
            f"{user_source()}: {what} wrapped function must be passed at least one argument "
            f"containing an array or axis_size must be specified, got empty *args={arguments[0]} "
            f"and **kwargs={arguments[1]}"
        )
    sizes = [
        None if axis is None else _size_along(what, x, axis)
        for x, axis in zip(leaves, axes, strict=True)
    ]
    given = [] if axis_size is None else [axis_size]
    distinct = list(dict.fromkeys([s for s in sizes if s is not None] + given))
    if len(distinct) == 1:
        return distinct[0]
    if not distinct:
        raise ValueError(
            f"{user_source()}: {what} must have at least one non-None value in in_axes or "
            f"axis_size must be specified"
        )
    lines = [f"the `axis_size` argument was {axis_size}"] if given else []
    counts = Counter(s for s in sizes if s is not None).most_common()
    texts = flatten_arrays(arguments[1])[1].paths("kwargs")
    texts = [f"argument {name}" for name in names[: len(names) - len(texts)]] + texts
    for rank, (size, count) in enumerate(counts):
        first = sizes.index(size)
        example = f"axis {axes[first]} of {texts[first]} of type {_type_of(leaves[first])}"
        some = "most" if rank == 0 else "some"
        lines.append(
            f"one axis had size {size}: {example}"
            if count == 1
            else f"{some} axes ({count} of them) had size {size}, e.g. {example}"
        )
    raise ValueError(
        f"{user_source()}: {what} got inconsistent sizes for array axes to be mapped:\n"
        + ";\n".join(f"  * {line}" for line in lines)
    )


def _size_along(what: str, x: Any, axis: int) -> Index:
    shape = np.shape(x)
    if not -len(shape) <= axis < len(shape):
        raise ValueError(
            f"{user_source()}: {what} was requested to map its argument along axis {axis}, which "
            f"implies that its rank should be at least {axis + 1 if axis >= 0 else -axis}, but is "
            f"only {len(shape)} (its shape is {shape})"
        )
    size: Index = shape[axis]
    return size


def _type_of(x: Any) -> str:
    return f"float0{list(x.shape)}" if x.dtype == FLOAT0 else type_text(value_type(x))
