"""Expand window primitives (pooling, select-and-scatter) into shifted views of the operand.

Each tap is a padded and strided slice; the taps of a small window are combined in one expression.
Index-set splitting later separates the border, where a tap reads padding, from the interior.

With a base dilation, results fall into phases: those with equal remainders read the same taps, and
each phase is computed without the zeros in between (polyphase decomposition).
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
from transpile.ir.primitive import TABLE
from transpile.ir.types import INT64
from transpile.primitives import axes, elementwise, reductions, windows

INT32 = np.dtype("int32")

Phase = tuple[int, ...]
# For an axis and a phase of it: (tap, shift) such that result u sees element u + shift by this tap.
Shifts = list[tuple[int, int]]


def without_windows(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    """The result of a window primitive in simpler ones; None for other primitives."""
    if equation.primitive.kind != "window":
        return None
    return [_RULES.get(equation.primitive, _reduction)(builder, equation)]


# ------------------------------------------------------------------------------------------- taps


def shifted(
    builder: Builder,
    x: Atom,
    fill: Const,
    shifts: Sequence[int],
    counts: Sequence[Index],
    steps: Sequence[int],
) -> Atom:
    """The array y[u] = x[u * step + shift] for u below the counts; `fill` where x has no such
    element."""
    padding: list[tuple[Index, Index, int]] = []
    cut: list[tuple[Index, Index]] = []
    for shift, count, step, size in zip(shifts, counts, steps, x.type.shape, strict=True):
        reach = (count - 1) * step + 1
        low, high = -shift, shift + reach - size
        is_inside = low <= 0 and (high == 0 or (isinstance(high, int) and high < 0))
        padding.append((0, 0, 0) if is_inside else (low, high, 0))
        cut.append((shift, shift + reach) if is_inside else (0, reach))
    if any(map(any, padding)):
        # Each tap has a pad of its own, whose negative widths crop what the tap does not read.
        x = builder.apply(axes.pad, x, fill, padding=tuple(padding))
    start, limit = zip(*cut, strict=True) if cut else ((), ())
    if limit != tuple(x.type.shape) or any(start) or any(step != 1 for step in steps):
        x = builder.apply(axes.slice_, x, start=start, limit=limit, strides=tuple(steps))
    return x


def _constant(value: Any, dtype: np.dtype[Any]) -> Const:
    return Const(np.array(value, dtype))


class _Windows:
    """The windows of an equation's params over an array; `counts` says how many there are."""

    def __init__(self, params: Mapping[str, Any], counts: Sequence[Index]) -> None:
        self.size = params["window_dimensions"]
        self.strides = params["window_strides"]
        self.low = [low for low, _ in params["padding"]]
        self.base = params["base_dilation"]
        self.apart = params["window_dilation"]
        self.padding = params["padding"]
        self.counts = tuple(counts)
        self.taps = math.prod(self.size)

    def every(self) -> list[tuple[int, ...]]:
        """All taps, in row-major order."""
        return list(np.ndindex(*self.size))

    def tap(self, builder: Builder, x: Atom, fill: Const, tap: Sequence[int]) -> Atom:
        """The elements that one tap reads, one for each window."""
        shifts = [k * d - low for k, d, low in zip(tap, self.apart, self.low, strict=True)]
        return shifted(
            builder, self._dilated(builder, x, fill), fill, shifts, self.counts, self.strides
        )

    def _dilated(self, builder: Builder, x: Atom, fill: Const) -> Atom:
        if all(b == 1 for b in self.base):
            return x
        return builder.apply(axes.pad, x, fill, padding=tuple((0, 0, b - 1) for b in self.base))

    def view(self, builder: Builder, x: Atom, fill: Const) -> Atom:
        """All windows of an array: an axis for each axis, then one for the taps along each."""
        padding = tuple((*pair, b - 1) for pair, b in zip(self.padding, self.base, strict=True))
        if any(map(any, padding)):
            x = builder.apply(axes.pad, x, fill, padding=padding)
        return builder.apply(
            windows.windows,
            x,
            window_dimensions=self.size,
            window_strides=self.strides,
            window_dilation=self.apart,
        )


# ----------------------------------------------------------------------------------------- phases


def phase_shifts(window: int, low: int, base: int, apart: int, phase: int, sign: int = 1) -> Shifts:
    """The taps k with (phase + sign * (k * apart - low)) divisible by `base`, and the quotients."""
    places = [(k, phase + sign * (k * apart - low)) for k in range(window)]
    return [(k, place // base) for k, place in places if place % base == 0]


def in_phases(
    builder: Builder,
    extents: Sequence[Index],
    steps: Sequence[int],
    piece: Callable[[Phase, tuple[Index, ...]], Atom],
) -> Atom:
    """The array whose element steps * u + phase is the element u of `piece(phase, counts)`."""
    counts = tuple(-(-n // s) if s > 1 else n for n, s in zip(extents, steps, strict=True))
    wide = [
        size for n, s in zip(counts, steps, strict=True) for size in ((n, 1) if s > 1 else (n,))
    ]
    pieces = {
        phase: builder.apply(axes.reshape, piece(phase, counts), shape=tuple(wide))
        for phase in itertools.product(*map(range, steps))
    }
    place = len(wide)
    for axis in reversed(range(len(steps))):
        place -= 1
        if steps[axis] == 1:
            continue
        joined: dict[Phase, list[Atom]] = {}
        for phase, part in pieces.items():
            joined.setdefault((*phase[:axis], 0, *phase[axis + 1 :]), []).append(part)
        pieces = {
            phase: builder.apply(axes.concatenate, *parts, dimension=place)
            for phase, parts in joined.items()
        }
        place -= 1
    (whole,) = pieces.values()
    shape = tuple(n * s for n, s in zip(counts, steps, strict=True))
    whole = builder.apply(axes.reshape, whole, shape=shape)
    return shifted(
        builder, whole, _constant(0, whole.type.dtype), [0] * len(shape), extents, [1] * len(shape)
    )


# ------------------------------------------------------------------------------------- reductions


def _reduction(builder: Builder, equation: Equation) -> Atom:
    """The reduction of each window: by phases, by taps, or axis by axis."""
    (x,) = equation.inputs
    combine = equation.primitive.combine
    fill = Const(reductions.identity(combine, x.type.dtype).value)
    found = _Windows(equation.params, equation.output.type.shape)
    phases = math.prod(found.base)
    if 1 < phases <= builder.machine.most_phases and all(s == 1 for s in found.strides):
        return in_phases(
            builder,
            found.counts,
            found.base,
            lambda phase, counts: _phase(builder, x, fill, found, phase, counts, combine),
        )
    if found.taps > builder.machine.most_summed_taps:
        return _axis_by_axis(builder, x, fill, found, TABLE[combine])
    return _combined(
        builder, TABLE[combine], [found.tap(builder, x, fill, tap) for tap in found.every()]
    )


def _axis_by_axis(builder: Builder, x: Atom, fill: Const, found: _Windows, row: Any) -> Atom:
    """Reduce large windows one axis after the other, in O(log size) operations an element: runs of
    2**k elements are combined from runs of half their length, a window from such runs."""
    padding = tuple((*pair, b - 1) for pair, b in zip(found.padding, found.base, strict=True))
    if any(map(any, padding)):
        x = builder.apply(axes.pad, x, fill, padding=padding)
    for axis, (size, stride, apart) in enumerate(
        zip(found.size, found.strides, found.apart, strict=True)
    ):
        if size == 1 and stride == 1:
            continue

        def seen(run: Atom, first: int, count: Index, step: int = 1, axis: int = axis) -> Atom:
            shape = run.type.shape
            shifts = [first if a == axis else 0 for a in range(len(shape))]
            counts = [count if a == axis else n for a, n in enumerate(shape)]
            steps = [step if a == axis else 1 for a in range(len(shape))]
            return shifted(builder, run, fill, shifts, counts, steps)

        total, place, length = None, 0, 1
        while True:
            if size & length:
                part = seen(x, place * apart, found.counts[axis], stride)
                total = part if total is None else builder.apply(row, total, part)
                place += length
            if place == size:
                break
            count = x.type.shape[axis] - length * apart
            x = builder.apply(row, seen(x, 0, count), seen(x, length * apart, count))
            length *= 2
        x = total if total is not None else x
    return x


def _combined(builder: Builder, row: Any, parts: Sequence[Atom]) -> Atom:
    total = parts[0]
    for part in parts[1:]:
        total = builder.apply(row, total, part)
    return total


def _spread(builder: Builder, value: Const, shape: Sequence[Index]) -> Atom:
    return builder.apply(axes.broadcast_in_dim, value, shape=tuple(shape), broadcast_dimensions=())


def _phase(
    builder: Builder,
    x: Atom,
    fill: Const,
    found: _Windows,
    phase: Phase,
    counts: tuple[Index, ...],
    combine: str,
) -> Atom:
    """The reductions of one phase, without the zeros of the base dilation."""
    along = [
        phase_shifts(w, low, b, d, r)
        for w, low, b, d, r in zip(
            found.size, found.low, found.base, found.apart, phase, strict=True
        )
    ]
    ones = [1] * len(counts)
    parts = [
        shifted(builder, x, fill, [shift for _, shift in tap], counts, ones)
        for tap in itertools.product(*along)
    ]
    if not parts:
        return _spread(builder, fill, counts)
    return _combined(builder, TABLE[combine], parts)


# ------------------------------------------------------------------------ beside chosen elements


def _is_ahead(select: str) -> Any:
    return elementwise.greater_equal if select == "ge" else elementwise.less_equal


def _lowest(select: str, dtype: np.dtype[Any]) -> Const:
    return Const(reductions.identity(windows.COMBINES[select], dtype).value)


def _gather_add(builder: Builder, equation: Equation) -> Atom:
    """Gather from the first operand at the tap that the second selects, its first extreme."""
    t, x = equation.inputs
    select = equation.params["select"]
    found = _Windows(equation.params, equation.output.type.shape)
    zero, low = _constant(0, t.type.dtype), _lowest(select, x.type.dtype)
    if found.taps > builder.machine.most_written_taps:
        place, every = _place_by_loops(builder, x, found, select)
        beside = builder.apply(elementwise.select, place, found.view(builder, t, zero), zero)
        return builder.apply(reductions.reduce_sum, beside, axes=every)
    first, *rest = found.every()
    best, chosen = found.tap(builder, x, low, first), found.tap(builder, t, zero, first)
    for tap in rest:
        other = found.tap(builder, x, low, tap)
        stays = builder.apply(_is_ahead(select), best, other)
        chosen = builder.apply(elementwise.select, stays, chosen, found.tap(builder, t, zero, tap))
        best = builder.apply(elementwise.select, stays, best, other)
    return chosen


def _place_by_loops(
    builder: Builder, x: Atom, found: _Windows, select: str
) -> tuple[Atom, tuple[int, ...]]:
    """The mask of the selected taps, over all taps of all windows, and the axes of taps."""
    number = _place(builder, x, found, select)
    rank = x.type.ndim
    shape = (*found.counts, *found.size)
    spread = builder.apply(
        axes.broadcast_in_dim, number, shape=shape, broadcast_dimensions=tuple(range(rank))
    )
    is_chosen = builder.apply(elementwise.equal, _numbers(builder, shape, found.size), spread)
    return is_chosen, tuple(range(rank, 2 * rank))


def _numbers(builder: Builder, shape: Sequence[Index], size: Sequence[int]) -> Atom:
    """The number of each tap, in an array whose last axes are those of the taps."""
    flat = builder.apply(axes.iota, shape=(math.prod(size),), dimension=0, dtype=INT64)
    rank = len(shape)
    taps = builder.apply(axes.reshape, flat, shape=tuple(size))
    return builder.apply(
        axes.broadcast_in_dim,
        taps,
        shape=tuple(shape),
        broadcast_dimensions=tuple(range(rank - len(size), rank)),
    )


def _place(builder: Builder, x: Atom, found: _Windows, select: str) -> Atom:
    """The number of the selected tap of each window."""
    low = _lowest(select, x.type.dtype)
    if found.taps <= builder.machine.most_written_taps:
        first, *rest = found.every()
        dtype = INT32 if x.type.dtype.itemsize <= INT32.itemsize else INT64
        best, place = found.tap(builder, x, low, first), None
        for number, tap in enumerate(rest, start=1):
            other = found.tap(builder, x, low, tap)
            stays = builder.apply(_is_ahead(select), best, other)
            before = _constant(0, dtype) if place is None else place
            place = builder.apply(elementwise.select, stays, before, _constant(number, dtype))
            best = builder.apply(elementwise.select, stays, best, other)
        return _spread(builder, _constant(0, dtype), found.counts) if place is None else place
    rank = x.type.ndim
    every, shape = tuple(range(rank, 2 * rank)), (*found.counts, *found.size)
    values = found.view(builder, x, low)
    row = reductions.reduce_max if select == "ge" else reductions.reduce_min
    best = builder.apply(row, values, axes=every)
    spread = builder.apply(
        axes.broadcast_in_dim, best, shape=shape, broadcast_dimensions=tuple(range(rank))
    )
    is_best = builder.apply(
        elementwise.logical_or,
        builder.apply(elementwise.equal, values, spread),
        builder.apply(elementwise.isnan, values),
    )
    never = _constant(found.taps, INT64)
    numbers = _numbers(builder, shape, found.size)
    candidates = builder.apply(elementwise.select, is_best, numbers, never)
    return builder.apply(reductions.reduce_min, candidates, axes=every)


def _scatter_add(builder: Builder, equation: Equation) -> Atom:
    """Scatter-add the first operand to the elements that the windows of the second select."""
    ct, x = equation.inputs
    found = _Windows(equation.params, ct.type.shape)
    zero = _constant(0, ct.type.dtype)
    if 0 in ct.type.shape:
        return _spread(builder, zero, x.type.shape)
    place = _place(builder, x, found, equation.params["select"])
    extents = [windows.dilated(n, b) for n, b in zip(x.type.shape, found.base, strict=True)]
    chosen: dict[tuple[int, ...], Atom] = {}

    def of_tap(tap: tuple[int, ...]) -> Atom:
        number = int(np.ravel_multi_index(tap, found.size)) if tap else 0
        if tap not in chosen:
            is_here = builder.apply(elementwise.equal, place, _constant(number, place.type.dtype))
            chosen[tap] = builder.apply(elementwise.select, is_here, ct, zero)
        return chosen[tap]

    def piece(phase: Phase, counts: tuple[Index, ...]) -> Atom:
        along = [
            phase_shifts(w, low, s, d, r, -1)
            for w, low, s, d, r in zip(
                found.size, found.low, found.strides, found.apart, phase, strict=True
            )
        ]
        parts = []
        for tap in itertools.product(*along):
            taps, shifts = tuple(k for k, _ in tap), [shift for _, shift in tap]
            parts.append(shifted(builder, of_tap(taps), zero, shifts, counts, [1] * len(counts)))
        if not parts:
            return _spread(builder, zero, counts)
        return _combined(builder, elementwise.add, parts)

    if math.prod(found.strides) <= builder.machine.most_phases:
        whole = in_phases(builder, extents, found.strides, piece)
    else:
        whole = _by_gaps(builder, found, extents, of_tap, zero)
    return shifted(builder, whole, zero, [0] * len(extents), x.type.shape, found.base)


def _by_gaps(
    builder: Builder,
    found: _Windows,
    extents: Sequence[Index],
    of_tap: Callable[[tuple[int, ...]], Atom],
    zero: Const,
) -> Atom:
    """The sum over taps of their elements, interior-padded to their subscripts."""
    parts = []
    for tap in found.every():
        padding = []
        for k, d, low, s, n, count in zip(
            tap, found.apart, found.low, found.strides, extents, found.counts, strict=True
        ):
            first = k * d - low
            padding.append((first, n - first - windows.dilated(count, s), s - 1))
        parts.append(builder.apply(axes.pad, of_tap(tap), zero, padding=tuple(padding)))
    return _combined(builder, elementwise.add, parts)


_RULES = {
    windows.select_and_gather_add: _gather_add,
    windows.select_and_scatter_add: _scatter_add,
}
