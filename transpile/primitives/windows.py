"""Window primitives: the view of an array's windows, reductions of windows (pooling), and the
gather and scatter at the extreme of each window that are the derivatives of extremes.

A tap is one of the positions of a window. Padding is not an element: reductions leave it out, and
it is never the extreme. All but the view are expanded by a pass, `transpile.passes.expand.windows`.
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
from transpile.primitives.rules import apply, linear, with_batch_axis, zeros_like

Pairs = tuple[tuple[int, int], ...]
Ints = tuple[int, ...]

# ------------------------------------------------------------------------------------------- sizes


def dilated(size: Index, dilation: int) -> Index:
    """The extent of an axis after dilation: `dilation - 1` gaps between its elements."""
    if isinstance(size, int):
        return max(0, (size - 1) * dilation + 1)
    return size if dilation == 1 else (size - 1) * dilation + 1


def window_count(size: Index, window: Index, stride: int) -> Index:
    """The number of windows of an extent, `stride` apart, that lie in an axis."""
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
    """The number of windows along each axis."""
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
    """The padding of the transposed windows, which slide over the results (dilated by `stride`) and
    give the elements (at the stride `base`), with taps `apart` from each other."""
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
    result_type = _windows_type(
        ArrayType(x.shape, x.dtype),
        window_dimensions=window_dimensions,
        window_strides=window_strides,
        window_dilation=window_dilation,
    )
    if result_type.size == 0:
        return np.empty(result_type.shape, x.dtype)
    reach = tuple((w - 1) * d + 1 for w, d in zip(window_dimensions, window_dilation, strict=True))
    every = np.lib.stride_tricks.sliding_window_view(x, reach) if reach else x
    steps = (*window_strides, *window_dilation)
    return every[tuple(slice(None, None, step) for step in steps)]


def _windows_transpose(ct: Any, x: Linear, *, window_dimensions: Ints, **steps: Ints) -> list[Any]:
    """The sum over taps of the cotangents, each at the elements that the tap reads."""
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
    """Windows of one element along the batch axis; the axis of their taps is dropped."""
    views = apply("windows", x, **{key: (1, *value) for key, value in params.items()})
    shape = (*views.shape[: x.ndim], *views.shape[x.ndim + 1 :])
    return apply("reshape", views, shape=tuple(shape)), True


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
    """The windows of a NumPy array with the taps as the last axis; padding reads `fill`."""
    views = _windows(
        _padded(x, np.asarray(fill, x.dtype), padding, base_dilation),
        window_dimensions=window_dimensions,
        window_strides=window_strides,
        window_dilation=window_dilation,
    )
    return views.reshape(*views.shape[: x.ndim], math.prod(window_dimensions))


def _reduced_type(x: ArrayType, **params: Any) -> ArrayType:
    return x.with_shape(windowed_shape(x.shape, **params))


def _with_batch_windows(
    axis: Axis,
    *,
    window_dimensions: Ints,
    window_strides: Ints,
    padding: Pairs,
    base_dilation: Ints,
    window_dilation: Ints,
) -> dict[str, Any]:
    """The params with windows of one element along the batch axis, which is the first."""
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
        aligned = [with_batch_axis(x, axis, b) for x, b in zip(operands, batched, strict=True)]
        own = {"select": select} if select else {}
        return apply(name, *aligned, **own, **_with_batch_windows(axis, **params)), True

    return rule


_REDUCTIONS: dict[str, Primitive] = {}


def _window_reduction(
    name: str, combine: str, reduce: Callable[..., Any], **rules: Any
) -> Primitive:
    def meaning(x: Any, **params: Any) -> Any:
        fill = identity(combine, x.dtype).value[()]
        return reduce(taps_of(x, fill, **params), axis=-1).astype(x.dtype)

    primitive = register(
        Primitive(
            name, "window", meaning, _reduced_type, combine=combine, batch=_batch(name), **rules
        )
    )
    _REDUCTIONS[combine] = primitive
    return primitive


def reduction_of_windows_by(combine: Primitive) -> Primitive | None:
    """The reduction of windows by a binary primitive; None where there is none."""
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
    """A sum of windows again, over the results that read an element: strides and base dilations are
    exchanged."""
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

# ------------------------------------------------------------- gather and scatter at the extremes

COMBINES = {"ge": "maximum", "le": "minimum"}


def _selected_tap(x: Any, select: str, params: dict[str, Any]) -> Any:
    """The tap of each window's extreme: the first one of equal ones."""
    taps = taps_of(x, identity(COMBINES[select], x.dtype).value[()], **params)
    best, tap = taps[..., 0], np.zeros(taps.shape[:-1], np.int64)
    compare = np.greater_equal if select == "ge" else np.less_equal
    for k in range(1, taps.shape[-1]):
        stays = compare(best, taps[..., k])
        best, tap = np.where(stays, best, taps[..., k]), np.where(stays, tap, k)
    return tap


def _gather_add(t: Any, x: Any, *, select: str, **params: Any) -> Any:
    tap = _selected_tap(x, select, params)[..., None]
    return np.take_along_axis(taps_of(t, 0, **params), tap, -1)[..., 0]


def _scatter_add(ct: Any, x: Any, *, select: str, **params: Any) -> Any:
    numbers = np.arange(1, x.size + 1).reshape(x.shape)  # 0 is the padding
    elements = taps_of(numbers, 0, **params)
    tap = _selected_tap(x, select, params)[..., None]
    selected = np.take_along_axis(elements, tap, -1).ravel()
    wide = np.zeros(x.size + 1, computed_dtype(ct.dtype))
    np.add.at(wide, selected, ct.ravel().astype(wide.dtype))
    return wide[1:].reshape(x.shape).astype(ct.dtype)


def _gather_type(t: ArrayType, x: ArrayType, *, select: str, **params: Any) -> ArrayType:
    if t.shape != x.shape:
        raise TypeError(f"the operands of select_and_gather_add have different shapes: {t}, {x}")
    return t.with_shape(windowed_shape(x.shape, **params))


def _scatter_type(ct: ArrayType, x: ArrayType, *, select: str, **params: Any) -> ArrayType:
    if ct.shape != windowed_shape(x.shape, **params):
        raise TypeError(f"a cotangent {ct} does not have one element for each window of {x}")
    return ct.with_shape(x.shape)


def _linear_in_first(name: str) -> Callable[..., Any]:
    """The JVP of a primitive that is linear in its first operand and selects by the second."""

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
        jvp=_linear_in_first("select_and_gather_add"),
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
        jvp=_linear_in_first("select_and_scatter_add"),
        transpose=lambda ct, t, x, **params: [
            apply("select_and_gather_add", ct, x, **params),
            None,
        ],
        batch=_batch("select_and_scatter_add"),
    )
)
