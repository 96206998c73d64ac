"""Rows over windows: the view of an array's windows, sums and extremes of windows, and the two rows
by which an extreme's derivatives go: what stands beside the chosen element, and the way back.

A window has one tap for each of its places. Padding is never an element: it is as if it were not
there. All but the view are taken apart by a pass, `transpile.passes.expand.windows`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Index, Shape
from transpile.ir.graph import Const
from transpile.ir.primitive import TABLE, Axis, Linear, Primitive, register
from transpile.ir.types import ArrayType, computed_dtype
from transpile.primitives.reductions import identity
from transpile.primitives.rules import apply, in_front, linear, zeros_like

Pairs = tuple[tuple[int, int], ...]
Ints = tuple[int, ...]

# ------------------------------------------------------------------------------------------- sizes


def dilated(size: Index, dilation: int) -> Index:
    """The extent of an axis whose elements are `dilation` apart."""
    if isinstance(size, int):
        return max(0, (size - 1) * dilation + 1)
    return size if dilation == 1 else (size - 1) * dilation + 1


def window_count(size: Index, window: Index, stride: int) -> Index:
    """How many windows of an extent, `stride` apart, lie in an axis."""
    if isinstance(size, int) and isinstance(window, int):
        return 0 if size < window else (size - window) // stride + 1
    return (size - window) // stride + 1


def windowed_shape(
    shape: Shape,
    window_dimensions: Shape,
    window_strides: Ints,
    padding: Pairs,
    base_dilation: Ints,
    window_dilation: Ints,
) -> Shape:
    """How many windows there are along each axis."""
    return tuple(
        window_count(dilated(n, b) + low + high, dilated(w, d), s)
        for n, w, s, (low, high), b, d in zip(
            shape,
            window_dimensions,
            window_strides,
            padding,
            base_dilation,
            window_dilation,
            strict=True,
        )
    )


def padding_back(
    size: Index,
    window: Index,
    stride: int,
    out: Index,
    pads: tuple[int, int],
    base: int,
    apart: int,
) -> tuple[Index, Index]:
    """The padding with which windows over the results find the elements: the way back. A result is
    `stride` apart from the next, an element `base`, a tap `apart`."""
    reach = dilated(window, apart)
    before = reach - pads[0] - 1
    after = dilated(size, base) + reach - 1 - dilated(out, stride) - before
    return before, after


# ---------------------------------------------------------------------------- the view of windows


def _windows_type(
    x: ArrayType, *, window_dimensions: Ints, window_strides: Ints, window_dilation: Ints
) -> ArrayType:
    none: Pairs = ((0, 0),) * x.ndim
    counts = windowed_shape(
        x.shape, window_dimensions, window_strides, none, (1,) * x.ndim, window_dilation
    )
    return x.with_shape((*counts, *window_dimensions))


def _windows(
    x: Any, *, window_dimensions: Ints, window_strides: Ints, window_dilation: Ints
) -> Any:
    found = _windows_type(
        ArrayType(x.shape, x.dtype),
        window_dimensions=window_dimensions,
        window_strides=window_strides,
        window_dilation=window_dilation,
    )
    if found.size == 0:
        return np.empty(found.shape, x.dtype)
    reach = tuple((w - 1) * d + 1 for w, d in zip(window_dimensions, window_dilation, strict=True))
    every = np.lib.stride_tricks.sliding_window_view(x, reach) if reach else x
    steps = (*window_strides, *window_dilation)
    return every[tuple(slice(None, None, step) for step in steps)]


def _windows_transpose(ct: Any, x: Linear, *, window_dimensions: Ints, **steps: Ints) -> list[Any]:
    """Every tap's elements, back at their places, summed."""
    rank, total = x.type.ndim, None
    zero = Const(np.zeros((), ct.dtype))
    for tap in np.ndindex(*window_dimensions):
        start, limit = (*(0,) * rank, *tap), (*ct.shape[:rank], *(k + 1 for k in tap))
        part = apply("slice", ct, start=start, limit=limit, strides=(1,) * (2 * rank))
        part = apply("reshape", part, shape=tuple(ct.shape[:rank]))
        padding = []
        for size, count, k, stride, apart in zip(
            x.type.shape, ct.shape, tap, steps["window_strides"], steps["window_dilation"],
            strict=False,
        ):  # fmt: skip
            low = k * apart
            padding.append((low, size - low - dilated(count, stride), stride - 1))
        part = apply("pad", part, zero, padding=tuple(padding))
        total = part if total is None else total + part
    return [zeros_like(x) if total is None else total]


def _windows_batch(axis: Axis, _: Sequence[bool], x: Any, /, **params: Any) -> tuple[Any, bool]:
    """The examples' axis has windows of one element, whose axis in the result goes away."""
    found = apply("windows", x, **{key: (1, *value) for key, value in params.items()})
    shape = (*found.shape[: x.ndim], *found.shape[x.ndim + 1 :])
    return apply("reshape", found, shape=tuple(shape)), True


windows = register(
    Primitive(
        "windows",
        "view",
        _windows,
        _windows_type,
        index=lambda index, x, *, window_dimensions, window_strides, window_dilation: tuple(
            i * s + k * d
            for i, k, s, d in zip(
                index[: x.ndim], index[x.ndim :], window_strides, window_dilation, strict=True
            )
        ),
        cost=0,
        weight=0,
        picks=True,
        jvp=linear("windows"),
        transpose=_windows_transpose,
        batch=_windows_batch,
    )
)

# ---------------------------------------------------------------------------- reductions of windows


def _padded(x: Any, fill: Any, padding: Pairs, base_dilation: Ints) -> Any:
    widths = tuple((*pair, b - 1) for pair, b in zip(padding, base_dilation, strict=True))
    return TABLE["pad"].numpy(x, fill, padding=widths)


def taps_of(
    x: Any,
    fill: Any,
    *,
    window_dimensions: Ints,
    window_strides: Ints,
    padding: Pairs,
    base_dilation: Ints,
    window_dilation: Ints,
) -> Any:
    """The windows of a NumPy array with their taps along the last axis; padding is `fill`."""
    found = _windows(
        _padded(x, np.asarray(fill, x.dtype), padding, base_dilation),
        window_dimensions=window_dimensions,
        window_strides=window_strides,
        window_dilation=window_dilation,
    )
    return found.reshape(*found.shape[: x.ndim], math.prod(window_dimensions))


def _reduced_type(x: ArrayType, **params: Any) -> ArrayType:
    return x.with_shape(windowed_shape(x.shape, **params))


def _in_front(
    axis: Axis,
    *,
    window_dimensions: Ints,
    window_strides: Ints,
    padding: Pairs,
    base_dilation: Ints,
    window_dilation: Ints,
) -> dict[str, Any]:
    """The params with windows of one element along an axis in front."""
    return {
        "window_dimensions": (1, *window_dimensions),
        "window_strides": (1, *window_strides),
        "padding": ((0, 0), *padding),
        "base_dilation": (1, *base_dilation),
        "window_dilation": (1, *window_dilation),
    }


def _batch(name: str) -> Callable[..., Any]:
    def rule(
        axis: Axis, batched: Sequence[bool], /, *operands: Any, select: str = "", **params: Any
    ) -> tuple[Any, bool]:
        aligned = [in_front(x, axis, b) for x, b in zip(operands, batched, strict=True)]
        chosen = {"select": select} if select else {}
        return apply(name, *aligned, **chosen, **_in_front(axis, **params)), True

    return rule


_REDUCTIONS: dict[str, Primitive] = {}


def _window_reduction(
    name: str, combine: str, reduce: Callable[..., Any], **rules: Any
) -> Primitive:
    def meaning(x: Any, **params: Any) -> Any:
        fill = identity(combine, x.dtype).value[()]
        return reduce(taps_of(x, fill, **params), axis=-1).astype(x.dtype)

    row = register(
        Primitive(
            name, "window", meaning, _reduced_type, combine=combine, batch=_batch(name), **rules
        )
    )
    _REDUCTIONS[combine] = row
    return row


def reduction_of_windows_by(combine: Primitive) -> Primitive | None:
    """The row that reduces windows by a binary primitive."""
    return _REDUCTIONS.get(combine.name)


def _sum_transpose(
    ct: Any,
    x: Linear,
    *,
    window_dimensions: Ints,
    window_strides: Ints,
    padding: Pairs,
    base_dilation: Ints,
    window_dilation: Ints,
) -> list[Any]:
    """What each element has been summed into, summed: strides and dilations change places."""
    back = tuple(
        padding_back(*of_axis)
        for of_axis in zip(
            x.type.shape,
            window_dimensions,
            window_strides,
            ct.shape,
            padding,
            base_dilation,
            window_dilation,
            strict=True,
        )
    )
    if 0 in ct.shape:
        return [zeros_like(x)]
    params = {
        "window_dimensions": window_dimensions,
        "window_strides": base_dilation,
        "padding": back,
        "base_dilation": window_strides,
        "window_dilation": window_dilation,
    }
    return [apply("reduce_window_sum", ct, **params)]


def _extreme_jvp(select: str) -> Callable[..., Any]:
    def jvp(tangents: Sequence[Any], _: Any, x: Any, **params: Any) -> Any:
        return apply("select_and_gather_add", tangents[0], x, select=select, **params)

    return jvp


reduce_window_sum = _window_reduction(
    "reduce_window_sum",
    "add",
    lambda x, *, axis: np.sum(x, axis=axis, dtype=computed_dtype(x.dtype)),
    dtypes="iufc",
    jvp=lambda tangents, _, x, **params: apply("reduce_window_sum", tangents[0], **params),
    transpose=_sum_transpose,
)
reduce_window_max = _window_reduction(
    "reduce_window_max", "maximum", np.max, dtypes="biuf", jvp=_extreme_jvp("ge")
)
reduce_window_min = _window_reduction(
    "reduce_window_min", "minimum", np.min, dtypes="biuf", jvp=_extreme_jvp("le")
)

# ------------------------------------------------------------------------- beside chosen elements

COMBINES = {"ge": "maximum", "le": "minimum"}


def _chosen(x: Any, select: str, params: dict[str, Any]) -> Any:
    """Which tap of each window is chosen: the first that no later one is ahead of."""
    taps = taps_of(x, identity(COMBINES[select], x.dtype).value[()], **params)
    best, place = taps[..., 0], np.zeros(taps.shape[:-1], np.int64)
    is_ahead = np.greater_equal if select == "ge" else np.less_equal
    for k in range(1, taps.shape[-1]):
        stays = is_ahead(best, taps[..., k])
        best, place = np.where(stays, best, taps[..., k]), np.where(stays, place, k)
    return place


def _gather_add(t: Any, x: Any, *, select: str, **params: Any) -> Any:
    place = _chosen(x, select, params)[..., None]
    return np.take_along_axis(taps_of(t, 0, **params), place, -1)[..., 0]


def _scatter_add(ct: Any, x: Any, *, select: str, **params: Any) -> Any:
    inside = np.arange(1, x.size + 1).reshape(x.shape)
    places = taps_of(inside, 0, **params)
    chosen = np.take_along_axis(places, _chosen(x, select, params)[..., None], -1).ravel()
    wide = np.zeros(x.size + 1, computed_dtype(ct.dtype))
    np.add.at(wide, chosen, ct.ravel().astype(wide.dtype))
    return wide[1:].reshape(x.shape).astype(ct.dtype)


def _gather_type(t: ArrayType, x: ArrayType, *, select: str, **params: Any) -> ArrayType:
    if t.shape != x.shape:
        raise TypeError(f"what stands beside {x} has its shape, not that of {t}")
    return t.with_shape(windowed_shape(x.shape, **params))


def _scatter_type(ct: ArrayType, x: ArrayType, *, select: str, **params: Any) -> ArrayType:
    if ct.shape != windowed_shape(x.shape, **params):
        raise TypeError(f"{ct} has no element for each window of {x}")
    return ct.with_shape(x.shape)


def _first_moves(name: str) -> Callable[..., Any]:
    """The derivative of a row that is linear in its first operand; by the other one it only
    chooses."""

    def jvp(tangents: Sequence[Any], _: Any, t: Any, x: Any, **params: Any) -> Any:
        return None if tangents[0] is None else apply(name, tangents[0], x, **params)

    return jvp


select_and_gather_add = register(
    Primitive(
        "select_and_gather_add",
        "window",
        _gather_add,
        _gather_type,
        dtypes="f",
        jvp=_first_moves("select_and_gather_add"),
        transpose=lambda ct, t, x, **params: [
            apply("select_and_scatter_add", ct, x, **params),
            None,
        ],
        batch=_batch("select_and_gather_add"),
    )
)
select_and_scatter_add = register(
    Primitive(
        "select_and_scatter_add",
        "window",
        _scatter_add,
        _scatter_type,
        dtypes="f",
        jvp=_first_moves("select_and_scatter_add"),
        transpose=lambda ct, t, x, **params: [
            apply("select_and_gather_add", ct, x, **params),
            None,
        ],
        batch=_batch("select_and_scatter_add"),
    )
)
