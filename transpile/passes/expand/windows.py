"""Expand window primitives (pooling, select-and-scatter) into slices of the operand, one for a tap.

    reduce_window_max, 2 taps of stride 2  ->  maximum(x[0::2], x[1::2])

A tap is a padded and strided slice. The taps of a small window are combined in one expression;
large windows are reduced axis by axis, by doubling. Index-set splitting later separates the border,
where a tap reads padding, from the interior.

With a base dilation, results with equal remainders (a phase) read the same taps: each phase is
computed without the zeros of the dilation, and the phases are interleaved (polyphase
decomposition).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Index
from transpile.ir.graph import Atom, Const, Equation
from transpile.ir.graph_rewrite import Builder
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.primitive import TABLE
from transpile.ir.types import INT64
from transpile.primitives import axes, elementwise, reductions, windows

INT32 = np.dtype("int32")

Phase = tuple[int, ...]
# For one axis and one of its phases: (tap, start) such that result u reads element u + start by it.
TapReads = list[tuple[int, int]]


def expand_window(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    """The result of a window primitive in simpler ones; None for other primitives."""
    if equation.primitive.kind != "window":
        return None
    return [_RULES.get(equation.primitive, _reduction)(builder, equation)]


# ------------------------------------------------------------------------------------------- taps


def padded_slice(
    builder: Builder,
    x: Atom,
    fill: Const,
    starts: Sequence[int],
    counts: Sequence[Index],
    strides: Sequence[int],
) -> Atom:
    """The array y[u] = x[u * stride + start] for u below the counts; `fill` out of range."""
    padding: list[tuple[Index, Index, int]] = []
    ranges: list[tuple[Index, Index]] = []
    for start, count, stride, size in zip(starts, counts, strides, x.type.shape, strict=True):
        span = (count - 1) * stride + 1
        low, high = -start, start + span - size
        is_inside = is_at_most(low, 0) and isinstance(high, int) and high <= 0
        padding.append((0, 0, 0) if is_inside else (low, high, 0))
        ranges.append((start, start + span) if is_inside else (0, span))
    if any(map(any, padding)):
        # Each tap has a pad of its own, whose negative widths crop what the tap does not read.
        x = builder.apply(axes.pad, x, fill, padding=tuple(padding))
    first, limit = zip(*ranges, strict=True) if ranges else ((), ())
    if limit != tuple(x.type.shape) or any(first) or any(stride != 1 for stride in strides):
        x = builder.apply(axes.slice_, x, start=first, limit=limit, strides=tuple(strides))
    return x


def _constant(value: Any, dtype: np.dtype[Any]) -> Const:
    return Const(np.array(value, dtype))


class _Window:
    """The window of an equation's params, and the `counts` of its positions along each axis."""

    def __init__(self, params: Mapping[str, Any], counts: Sequence[Index]) -> None:
        self.size = params["window_dimensions"]
        self.strides = params["window_strides"]
        self.low = [low for low, _ in params["padding"]]
        self.base = params["base_dilation"]
        self.dilation = params["window_dilation"]
        self.padding = params["padding"]
        self.counts = tuple(counts)
        self.tap_count = math.prod(self.size)

    def every_tap(self) -> list[tuple[int, ...]]:
        """All taps, in row-major order."""
        return list(np.ndindex(*self.size))

    def tap(self, builder: Builder, x: Atom, fill: Const, tap: Sequence[int]) -> Atom:
        """The elements that one tap reads, one for each window."""
        shifts = [k * d - low for k, d, low in zip(tap, self.dilation, self.low, strict=True)]
        return padded_slice(
            builder, self._dilated(builder, x, fill), fill, shifts, self.counts, self.strides
        )

    def _dilated(self, builder: Builder, x: Atom, fill: Const) -> Atom:
        if all(b == 1 for b in self.base):
            return x
        return builder.apply(axes.pad, x, fill, padding=tuple((0, 0, b - 1) for b in self.base))

    def view(self, builder: Builder, x: Atom, fill: Const) -> Atom:
        """The view of all windows: an axis of positions for each axis, then an axis of taps for
        each."""
        padding = tuple((*pair, b - 1) for pair, b in zip(self.padding, self.base, strict=True))
        if any(map(any, padding)):
            x = builder.apply(axes.pad, x, fill, padding=padding)
        return builder.apply(
            windows.windows,
            x,
            window_dimensions=self.size,
            window_strides=self.strides,
            window_dilation=self.dilation,
        )


# ----------------------------------------------------------------------------------------- phases


def knows_phases(lows: Sequence[Index], base: Sequence[int]) -> bool:
    """True if it is known which taps a phase reads: along dilated axes, of the padding in front."""
    return all(isinstance(low, int) or b == 1 for low, b in zip(lows, base, strict=True))


def phase_taps(window: int, low: int, base: int, apart: int, phase: int, sign: int = 1) -> TapReads:
    """The taps k for which phase + sign * (k * apart - low) is divisible by `base`, with the
    quotients."""
    offsets = [(k, phase + sign * (k * apart - low)) for k in range(window)]
    return [(k, offset // base) for k, offset in offsets if offset % base == 0]


def interleave_phases(
    builder: Builder,
    extents: Sequence[Index],
    steps: Sequence[int],
    piece: Callable[[Phase, tuple[Index, ...]], Atom],
) -> Atom:
    """The array whose element steps * u + phase is the element u of `piece(phase, counts)`: the
    pieces concatenated along axes of their own, which a reshape merges."""
    counts = tuple(-(-n // s) if s > 1 else n for n, s in zip(extents, steps, strict=True))
    wide = [
        size for n, s in zip(counts, steps, strict=True) for size in ((n, 1) if s > 1 else (n,))
    ]
    pieces = {
        phase: builder.apply(axes.reshape, piece(phase, counts), shape=tuple(wide))
        for phase in itertools.product(*map(range, steps))
    }
    axis_of_phase = len(wide)
    for axis in reversed(range(len(steps))):
        axis_of_phase -= 1
        if steps[axis] == 1:
            continue
        joined: dict[Phase, list[Atom]] = {}
        for phase, part in pieces.items():
            joined.setdefault((*phase[:axis], 0, *phase[axis + 1 :]), []).append(part)
        pieces = {
            phase: builder.apply(axes.concatenate, *parts, dimension=axis_of_phase)
            for phase, parts in joined.items()
        }
        axis_of_phase -= 1
    (whole,) = pieces.values()
    shape = tuple(n * s for n, s in zip(counts, steps, strict=True))
    whole = builder.apply(axes.reshape, whole, shape=shape)
    return padded_slice(
        builder, whole, _constant(0, whole.type.dtype), [0] * len(shape), extents, [1] * len(shape)
    )


# ------------------------------------------------------------------------------------- reductions


def _reduction(builder: Builder, equation: Equation) -> Atom:
    """The reduction of each window: by phases, by doubling, or tap by tap."""
    (x,) = equation.inputs
    combine = equation.primitive.combine
    fill = Const(reductions.identity(combine, x.type.dtype).value)
    window = _Window(equation.params, equation.output.type.shape)
    phases = math.prod(window.base)
    has_phases = 1 < phases <= builder.machine.most_phases and knows_phases(window.low, window.base)
    if has_phases and all(s == 1 for s in window.strides):
        return interleave_phases(
            builder,
            window.counts,
            window.base,
            lambda phase, counts: _phase(builder, x, fill, window, phase, counts, combine),
        )
    if window.tap_count > builder.machine.most_summed_taps:
        return _reduce_by_doubling(builder, x, fill, window, TABLE[combine])
    return _combined(
        builder, TABLE[combine], [window.tap(builder, x, fill, tap) for tap in window.every_tap()]
    )


def _reduce_by_doubling(
    builder: Builder, x: Atom, fill: Const, window: _Window, combine: Any
) -> Atom:
    """Reduce large windows one axis after the other, in O(log size) operations per element: runs of
    2**k elements are combined from two of half the length, and a window from the runs of the binary
    digits of its size."""
    padding = tuple((*pair, b - 1) for pair, b in zip(window.padding, window.base, strict=True))
    if any(map(any, padding)):
        x = builder.apply(axes.pad, x, fill, padding=padding)
    for axis, (size, stride, apart) in enumerate(
        zip(window.size, window.strides, window.dilation, strict=True)
    ):
        if size == 1 and stride == 1:
            continue

        def strided(run: Atom, first: int, count: Index, step: int = 1, axis: int = axis) -> Atom:
            shape = run.type.shape
            shifts = [first if a == axis else 0 for a in range(len(shape))]
            counts = [count if a == axis else n for a, n in enumerate(shape)]
            steps = [step if a == axis else 1 for a in range(len(shape))]
            return padded_slice(builder, run, fill, shifts, counts, steps)

        total, taps_done, length = None, 0, 1
        while True:
            if size & length:
                part = strided(x, taps_done * apart, window.counts[axis], stride)
                total = part if total is None else builder.apply(combine, total, part)
                taps_done += length
            if taps_done == size:
                break
            count = x.type.shape[axis] - length * apart
            x = builder.apply(combine, strided(x, 0, count), strided(x, length * apart, count))
            length *= 2
        x = total if total is not None else x
    return x


def _combined(builder: Builder, combine: Any, parts: Sequence[Atom]) -> Atom:
    total = parts[0]
    for part in parts[1:]:
        total = builder.apply(combine, total, part)
    return total


def _splat(builder: Builder, value: Const, shape: Sequence[Index]) -> Atom:
    return builder.apply(axes.broadcast_in_dim, value, shape=tuple(shape), broadcast_dimensions=())


def _phase(
    builder: Builder,
    x: Atom,
    fill: Const,
    window: _Window,
    phase: Phase,
    counts: tuple[Index, ...],
    combine: str,
) -> Atom:
    """The reductions of one phase, over the taps that read no zeros of the base dilation."""
    along = [
        phase_taps(w, low, b, d, r)
        for w, low, b, d, r in zip(
            window.size, window.low, window.base, window.dilation, phase, strict=True
        )
    ]
    ones = [1] * len(counts)
    parts = [
        padded_slice(builder, x, fill, [shift for _, shift in tap], counts, ones)
        for tap in itertools.product(*along)
    ]
    if not parts:
        return _splat(builder, fill, counts)
    return _combined(builder, TABLE[combine], parts)


# ------------------------------------------------------------- gather and scatter at the extremes


def _comparison(select: str) -> Any:
    return elementwise.greater_equal if select == "ge" else elementwise.less_equal


def _initial(select: str, dtype: np.dtype[Any]) -> Const:
    return Const(reductions.identity(windows.COMBINES[select], dtype).value)


def _gather_add(builder: Builder, equation: Equation) -> Atom:
    """Gather from the first operand at the tap that the second selects, its first extreme."""
    t, x = equation.inputs
    select = equation.params["select"]
    window = _Window(equation.params, equation.output.type.shape)
    zero, low = _constant(0, t.type.dtype), _initial(select, x.type.dtype)
    if window.tap_count > builder.machine.most_written_taps:
        mask, every = _selected_mask(builder, x, window, select)
        values = builder.apply(elementwise.select, mask, window.view(builder, t, zero), zero)
        return builder.apply(reductions.reduce_sum, values, axes=every)
    first, *rest = window.every_tap()
    best, selected = window.tap(builder, x, low, first), window.tap(builder, t, zero, first)
    for tap in rest:
        other = window.tap(builder, x, low, tap)
        keeps = builder.apply(_comparison(select), best, other)
        selected = builder.apply(
            elementwise.select, keeps, selected, window.tap(builder, t, zero, tap)
        )
        best = builder.apply(elementwise.select, keeps, best, other)
    return selected


def _selected_mask(
    builder: Builder, x: Atom, window: _Window, select: str
) -> tuple[Atom, tuple[int, ...]]:
    """The mask of the selected taps in the view of all windows, and the axes of taps in it."""
    number = _selected_tap(builder, x, window, select)
    rank = x.type.ndim
    shape = (*window.counts, *window.size)
    selected = builder.apply(
        axes.broadcast_in_dim, number, shape=shape, broadcast_dimensions=tuple(range(rank))
    )
    mask = builder.apply(elementwise.equal, _numbers(builder, shape, window.size), selected)
    return mask, tuple(range(rank, 2 * rank))


def _numbers(builder: Builder, shape: Sequence[Index], size: Sequence[int]) -> Atom:
    """The row-major number of each tap, in the shape of the view of all windows."""
    flat = builder.apply(axes.iota, shape=(math.prod(size),), dimension=0, dtype=INT64)
    rank = len(shape)
    taps = builder.apply(axes.reshape, flat, shape=tuple(size))
    return builder.apply(
        axes.broadcast_in_dim,
        taps,
        shape=tuple(shape),
        broadcast_dimensions=tuple(range(rank - len(size), rank)),
    )


def _selected_tap(builder: Builder, x: Atom, window: _Window, select: str) -> Atom:
    """The number of the selected tap of each window."""
    low = _initial(select, x.type.dtype)
    if window.tap_count <= builder.machine.most_written_taps:
        first, *rest = window.every_tap()
        dtype = INT32 if x.type.dtype.itemsize <= INT32.itemsize else INT64
        best, selected = window.tap(builder, x, low, first), None
        for number, tap in enumerate(rest, start=1):
            other = window.tap(builder, x, low, tap)
            keeps = builder.apply(_comparison(select), best, other)
            before = _constant(0, dtype) if selected is None else selected
            selected = builder.apply(elementwise.select, keeps, before, _constant(number, dtype))
            best = builder.apply(elementwise.select, keeps, best, other)
        return _splat(builder, _constant(0, dtype), window.counts) if selected is None else selected
    rank = x.type.ndim
    every, shape = tuple(range(rank, 2 * rank)), (*window.counts, *window.size)
    values = window.view(builder, x, low)
    reduce = reductions.reduce_max if select == "ge" else reductions.reduce_min
    best = builder.apply(reduce, values, axes=every)
    best_everywhere = builder.apply(
        axes.broadcast_in_dim, best, shape=shape, broadcast_dimensions=tuple(range(rank))
    )
    is_best = builder.apply(
        elementwise.logical_or,
        builder.apply(elementwise.equal, values, best_everywhere),
        builder.apply(elementwise.isnan, values),
    )
    sentinel = _constant(window.tap_count, INT64)
    numbers = _numbers(builder, shape, window.size)
    candidates = builder.apply(elementwise.select, is_best, numbers, sentinel)
    return builder.apply(reductions.reduce_min, candidates, axes=every)


def _scatter_add(builder: Builder, equation: Equation) -> Atom:
    """Scatter-add the first operand to the elements that the windows of the second select."""
    ct, x = equation.inputs
    window = _Window(equation.params, ct.type.shape)
    zero = _constant(0, ct.type.dtype)
    if 0 in ct.type.shape:
        return _splat(builder, zero, x.type.shape)
    number_selected = _selected_tap(builder, x, window, equation.params["select"])
    extents = [windows.dilated(n, b) for n, b in zip(x.type.shape, window.base, strict=True)]
    of_taps: dict[tuple[int, ...], Atom] = {}

    def of_tap(tap: tuple[int, ...]) -> Atom:
        number = int(np.ravel_multi_index(tap, window.size)) if tap else 0
        if tap not in of_taps:
            is_here = builder.apply(
                elementwise.equal, number_selected, _constant(number, number_selected.type.dtype)
            )
            of_taps[tap] = builder.apply(elementwise.select, is_here, ct, zero)
        return of_taps[tap]

    def piece(phase: Phase, counts: tuple[Index, ...]) -> Atom:
        along = [
            phase_taps(w, low, s, d, r, -1)
            for w, low, s, d, r in zip(
                window.size, window.low, window.strides, window.dilation, phase, strict=True
            )
        ]
        parts = []
        for tap in itertools.product(*along):
            taps, shifts = tuple(k for k, _ in tap), [shift for _, shift in tap]
            parts.append(
                padded_slice(builder, of_tap(taps), zero, shifts, counts, [1] * len(counts))
            )
        if not parts:
            return _splat(builder, zero, counts)
        return _combined(builder, elementwise.add, parts)

    few_phases = math.prod(window.strides) <= builder.machine.most_phases
    if few_phases and knows_phases(window.low, window.strides):
        whole = interleave_phases(builder, extents, window.strides, piece)
    else:
        whole = _sum_of_padded_taps(builder, window, extents, of_tap, zero)
    return padded_slice(builder, whole, zero, [0] * len(extents), x.type.shape, window.base)


def _sum_of_padded_taps(
    builder: Builder,
    window: _Window,
    extents: Sequence[Index],
    of_tap: Callable[[tuple[int, ...]], Atom],
    zero: Const,
) -> Atom:
    """The sum over taps of their elements, each interior-padded to the elements that it reads."""
    parts = []
    for tap in window.every_tap():
        padding = []
        for k, d, low, s, n, count in zip(
            tap, window.dilation, window.low, window.strides, extents, window.counts, strict=True
        ):
            first = k * d - low
            padding.append((first, n - first - windows.dilated(count, s), s - 1))
        parts.append(builder.apply(axes.pad, of_tap(tap), zero, padding=tuple(padding)))
    return _combined(builder, elementwise.add, parts)


_RULES = {
    windows.select_and_gather_add: _gather_add,
    windows.select_and_scatter_add: _scatter_add,
}
