"""Convolutions as products/conv.h sees them: a plan, which holds all sizes and steps, and operands
that are read where they are, through any view that strides describe.

The plan is made here, once; the program carries it as a constant.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from transpile.ir.graph import Atom, Equation
from transpile.library.matmul import Access, strides_in
from transpile.util.frozen_records import dataclass

PLANES, FEATURES = range(2)
# Axes of space, and the places in a plan, as runtime_c/products/conv.h has them.
SPACE, FIELDS = 3, 55
DEPTH, FEW, BAND = 512, 2, 4
# Rows and bytes of the largest tiles of runtime_c/products/matmul.h.
_ROWS, _VECTOR = 8, 64
# As many bytes of images are copied at a time, between which threads wait for each other; and as
# many pixels repay new panels.
_CACHED, _REPAYING = 1 << 22, 4096
# The most numbers in panels of weights, and terms in one of them.
_PANELS, _LONGEST = 1 << 21, 1 << 15
# What it costs to move a number, in steps of a vector: among neighbours, or from anywhere.
_NEAR, _FAR = 0.15, 1.5


@dataclass(frozen=True)
class Piece:
    """An operand: the element i is at offset + sum(i * steps) of `base`."""

    base: Atom
    offset: int
    steps: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Convolution:
    """What a call needs: its operands, the plan, bytes of scratch memory, operations."""

    operands: tuple[Piece, Piece]
    plan: Any
    workspace: int
    flops: int

    @property
    def function(self) -> str:
        """The helper for the form of the plan."""
        return ("conv_planes", "conv_features")[self.plan[0]]


@dataclass(frozen=True)
class Axis:
    """One axis of space: pixels of operand and result, taps of the window."""

    size: int
    out: int
    window: int
    stride: int
    dilation: int
    low: int

    @property
    def taps(self) -> list[int]:
        """The places of the taps, from that of the first one."""
        return [k * self.dilation for k in range(self.window)]

    @property
    def reach(self) -> int:
        """How many pixels of the padded operand are read."""
        return (self.out - 1) * self.stride + (self.window - 1) * self.dilation + 1

    @property
    def is_inside(self) -> bool:
        """Tell whether no padding is read."""
        return self.low <= 0 and self.reach - self.low <= self.size


@dataclass(frozen=True)
class Sizes:
    """The numbers of a convolution; steps are (image, group, channel, z, y, x) of the operand,
    (group, feature, channel, z, y, x) of the weights, (image, group, feature, z, y, x) of the
    result."""

    batch: int
    groups: int
    features: int
    channels: int
    axes: tuple[Axis, ...]
    x: tuple[int, ...]
    w: tuple[int, ...]
    out: tuple[int, ...]

    @property
    def terms(self) -> int:
        """How many products an element is the sum of."""
        return self.channels * math.prod(a.window for a in self.axes)

    @property
    def pixels(self) -> int:
        """Pixels of the result of one image."""
        return math.prod(a.out for a in self.axes)


def as_convolution(equation: Equation, accesses: Sequence[Access]) -> Convolution:
    """The call that a convolution is; `accesses` gives each operand's base and the views on it,
    the last view first. An operand whose views no strides describe becomes its own base."""
    first, second = (
        _piece(a, *access) for a, access in zip(equation.inputs, accesses, strict=True)
    )
    sizes = _sizes(equation, first.steps, second.steps)
    itemsize = equation.output.type.dtype.itemsize
    plan, workspace = make_plan(sizes, itemsize)
    flops = 2 * sizes.batch * sizes.groups * sizes.features * sizes.pixels * sizes.terms
    return Convolution((first, second), plan, workspace, flops)


def _piece(atom: Atom, base: Atom, path: Sequence[Equation]) -> Piece:
    for start, views in ((base, path), (atom, ())):
        found = strides_in(atom, start, views) if start.type.shape else None
        if found is not None:
            offset, steps = found
            if isinstance(offset, int) and all(isinstance(s, int) for s in steps):
                return Piece(start, offset, tuple(int(str(s)) for s in steps))
    raise TypeError(f"{atom} has sizes that are not known")


def _row_major(shape: Sequence[Any]) -> list[int]:
    return [math.prod(shape[a + 1 :]) for a in range(len(shape))]


def _sizes(equation: Equation, x: Sequence[int], w: Sequence[int]) -> Sizes:
    params = equation.params
    lhs, rhs, to = params["dimension_numbers"]
    shapes: list[Any] = [a.type.shape for a in (*equation.inputs, equation.output)]
    out = _row_major(shapes[2])
    groups, batches = params["feature_group_count"], params["batch_group_count"]
    count = groups * batches
    channels, features = shapes[1][rhs[1]], shapes[1][rhs[0]] // count
    batch = shapes[0][lhs[0]] // batches
    by_group = batch * x[lhs[0]] if batches > 1 else channels * x[lhs[1]]
    none = SPACE - len(lhs) + 2
    axes = [Axis(1, 1, 1, 1, 1, 0)] * none + [
        Axis(shapes[0][i], shapes[2][k], shapes[1][j], stride, dilation, low)
        for i, j, k, stride, dilation, (low, _) in zip(
            lhs[2:],
            rhs[2:],
            to[2:],
            params["window_strides"],
            params["rhs_dilation"],
            params["padding"],
            strict=True,
        )
    ]
    space = (0,) * none
    return Sizes(
        batch,
        count,
        features,
        channels,
        tuple(axes),
        (x[lhs[0]], by_group, x[lhs[1]], *space, *(x[a] for a in lhs[2:])),
        (features * w[rhs[0]], w[rhs[0]], w[rhs[1]], *space, *(w[a] for a in rhs[2:])),
        (out[to[0]], features * out[to[1]], out[to[1]], *space, *(out[a] for a in to[2:])),
    )


# ------------------------------------------------------------------------------------------ plans


@dataclass(frozen=True)
class _Copy:
    """How the operand is copied: images at a time (0: not at all), numbers for each, whether zeros
    are among them, steps, steps between pixels of the result, and by axis the offsets of the taps
    and the parts (first pixel, pixels, step, place)."""

    together: int
    image: int
    padded: bool
    steps: tuple[int, ...]
    walk: tuple[int, ...]
    taps: tuple[list[int], ...]
    parts: tuple[list[tuple[int, int, int, int]], ...]


def make_plan(sizes: Sizes, itemsize: int) -> tuple[Any, int]:
    """The plan as an array of whole numbers, and the bytes of scratch memory."""
    form = _form(sizes, itemsize)
    copy = _planes(sizes, itemsize) if form == PLANES else _rows(sizes, itemsize)
    order = sorted(range(6), key=lambda a: -copy.steps[a])
    inner = copy.steps[2] < min(s for s in copy.steps[3:] if s) if any(copy.steps[3:]) else True
    header = [form, int(inner), sizes.batch, sizes.groups, sizes.features, sizes.channels]
    header += [copy.together, copy.image, int(copy.padded)]
    header += [a.out for a in sizes.axes] + [a.window for a in sizes.axes]
    header += [*sizes.x, *copy.steps, *order, *copy.walk, *sizes.w[:3], *sizes.out]
    tables: list[int] = []

    def table(values: Sequence[int]) -> None:
        header.append(FIELDS + len(tables))
        tables.extend(values)

    for taps in copy.taps:
        table(taps)
    for axis, step in zip(sizes.axes, sizes.w[3:], strict=True):
        table([k * step for k in range(axis.window)])
    for parts in copy.parts:
        table([len(parts), *(number for part in parts for number in part)])
    header.append(_terms(sizes, form))
    plan = np.array([*header, *tables], np.int64)
    return plan, _workspace(sizes, form, copy, itemsize)


def _terms(sizes: Sizes, form: int) -> int:
    """How many terms of the sum there are panels for: all, or as many as memory is spent on, in
    whole blocks."""
    if form == PLANES:
        return sizes.terms
    most = max(1, min(_LONGEST, _PANELS // sizes.features) // DEPTH) * DEPTH
    return min(sizes.terms, most)


def _workspace(sizes: Sizes, form: int, copy: _Copy, itemsize: int) -> int:
    terms = _terms(sizes, form)
    width = 2 * _VECTOR // itemsize
    panels = sizes.groups * (sizes.features + _ROWS)
    if form == FEATURES:
        panels = sizes.features + width
    numbers = panels * terms + copy.together * copy.image + BAND * width
    return 16 * (terms + 8) + numbers * itemsize + 2 * _VECTOR


def _lanes(count: int, lanes: int) -> int:
    """As many lanes as are computed: whole tiles of two vectors, the last perhaps of one."""
    return -(-count // lanes) * lanes


def _form(sizes: Sizes, itemsize: int) -> int:
    """Whether pixels or features are lanes, by what each would cost."""
    lanes = _VECTOR // itemsize
    result = sizes.batch * sizes.groups * sizes.features * sizes.pixels
    operand = sizes.batch * sizes.groups * sizes.channels * math.prod(a.size for a in sizes.axes)
    *_, y, x = (a.out + (a.window - 1) * a.dilation // a.stride for a in sizes.axes)
    z, rows, width = (a.out for a in sizes.axes)
    walked = ((z - 1) * y + rows - 1) * x + width
    tall = sizes.features if sizes.features <= FEW else -(-sizes.features // _ROWS) * _ROWS
    planes = sizes.batch * sizes.groups * tall * _lanes(walked, lanes) / lanes * sizes.terms
    planes += result * (_NEAR if sizes.out[-1] == 1 else _FAR)
    planes += operand * (_NEAR if sizes.x[-1] == 1 else _FAR)
    pixels = -(-sizes.batch * sizes.pixels // _ROWS) * _ROWS
    wide = _lanes(sizes.features, lanes)
    features = pixels * sizes.groups * wide / lanes * sizes.terms
    passes = -(-sizes.terms // DEPTH)
    features += result * passes * (_NEAR if sizes.out[2] == 1 else _FAR)
    features += sizes.groups * wide * sizes.terms * (_NEAR if sizes.w[1] == 1 else _FAR)
    if not all(a.is_inside for a in sizes.axes):
        features += operand * _NEAR
    return PLANES if planes <= features else FEATURES


def _planes(sizes: Sizes, itemsize: int) -> _Copy:
    """The copy for lanes of pixels: for each image, group and channel, and for each phase of the
    strides, the pixels that are a stride apart."""
    lengths = [a.out + (a.window - 1) * a.dilation // a.stride for a in sizes.axes]
    steps = _row_major(lengths)
    volume = math.prod(lengths)
    phases = [sorted({t % a.stride for t in a.taps}) for a in sizes.axes]
    apart = [volume * s for s in _row_major([len(p) for p in phases])]
    taps, parts, padded = [], [], False
    for axis, length, step, found, leap in zip(
        sizes.axes, lengths, steps, phases, apart, strict=True
    ):
        taps.append(
            [found.index(t % axis.stride) * leap + t // axis.stride * step for t in axis.taps]
        )
        pieces = []
        for number, phase in enumerate(found):
            place = max(0, -((phase - axis.low) // axis.stride))
            first = place * axis.stride + phase - axis.low
            count = max(0, min(length - place, (axis.size - 1 - first) // axis.stride + 1))
            padded = padded or count < length
            pieces.append((first if count else 0, count, axis.stride, number * leap + place * step))
        parts.append(pieces)
    channel = volume * math.prod(len(p) for p in phases)
    image = channel * sizes.channels * sizes.groups
    together = min(sizes.batch, max(1, _CACHED // (image * itemsize)))
    own = (image, channel * sizes.channels, channel, *steps)
    return _Copy(
        together, image, padded, own, (0, lengths[1], lengths[2]), tuple(taps), tuple(parts)
    )


def _in_place(sizes: Sizes) -> _Copy:
    """The operand where it is, where no padding is read."""
    steps = sizes.x[3:]
    walk = tuple(a.stride * s for a, s in zip(sizes.axes, steps, strict=True))
    taps = ([(t - a.low) * s for t in a.taps] for a, s in zip(sizes.axes, steps, strict=True))
    return _Copy(0, 0, False, sizes.x, walk, tuple(taps), ([], [], []))


def _rows(sizes: Sizes, itemsize: int) -> _Copy:
    """The copy for lanes of features, in the order of the operand; or the operand itself."""
    if all(a.is_inside for a in sizes.axes):
        return _in_place(sizes)
    image = sizes.groups * sizes.channels * math.prod(a.reach for a in sizes.axes)
    together = max(_CACHED // (image * itemsize), -(-_REPAYING // sizes.pixels), 1)
    together = min(sizes.batch, together)
    extents = (together, sizes.groups, sizes.channels, *(a.reach for a in sizes.axes))
    steps, size = [0] * 6, 1
    for a in sorted(range(6), key=lambda a: (extents[a] == 1, sizes.x[a], -a)):
        steps[a] = size
        size *= extents[a]
    taps, parts, walk = [], [], []
    for axis, step in zip(sizes.axes, steps[3:], strict=True):
        place, first = max(0, axis.low), max(0, -axis.low)
        count = max(0, min(axis.size - first, axis.reach - place))
        taps.append([t * step for t in axis.taps])
        parts.append([(first if count else 0, count, 1, place * step)])
        walk.append(axis.stride * step)
    return _Copy(together, image, True, tuple(steps), tuple(walk), tuple(taps), tuple(parts))


# ------------------------------------------------------------------------------- image by image


@dataclass(frozen=True)
class Images:
    """What calls for one image after the other need to know of a plan in the form of planes: how
    many there are, from where to where an image reaches in the operand and how far apart they are,
    likewise in the result, and the numbers of offsets, panels and the copy."""

    count: int
    operand_step: int
    operand_reach: int
    result_step: int
    terms: int
    panels: int
    copy: int


def images_of(plan: Any, itemsize: int) -> Images:
    """The images of a plan in the form of planes."""
    _, _, batch, groups, features, channels, _, image = (int(n) for n in plan[:8])
    terms = channels * math.prod(int(n) for n in plan[12:15])
    steps = [int(n) for n in plan[15:21]]
    reach = (groups - 1) * abs(steps[1]) + (channels - 1) * abs(steps[2]) + 1
    for axis in range(3):
        table = plan[int(plan[51 + axis]) :]
        parts = [table[1 + 4 * k : 5 + 4 * k] for k in range(int(table[0]))]
        reach += abs(steps[3 + axis]) * max(
            (int(p[0] + (p[1] - 1) * p[2]) for p in parts), default=0
        )
    if min(steps) < 0:
        reach = 1 << 62  # what lies before the first element is another image's
    return Images(
        count=batch,
        operand_step=steps[0],
        operand_reach=reach,
        result_step=int(plan[39]),
        terms=terms,
        panels=groups * (features + _ROWS) * terms,
        copy=image + BAND * 2 * _VECTOR // itemsize,
    )


# -------------------------------------------------------------------------------------- the oracle


def elements(
    plan: Any, read_x: Callable[[int], Any], read_w: Callable[[int], Any]
) -> Iterator[tuple[int, Any]]:
    """The place and the value of each element of the result of a plan, as products/conv.h goes by
    it; places, also of what is read, are counted from where the arrays begin."""
    form, _, batch, groups, features, channels, together = (int(n) for n in plan[:7])
    out, window, copied, walk = (plan[a:b] for a, b in ((9, 12), (12, 15), (21, 27), (33, 36)))
    walk = copied[3:] if form == PLANES else walk
    tables = [plan[plan[45 + k] :] for k in range(9)]
    for n in range(batch):
        read, image = read_x, n
        if together:
            image = n % together
            read = _copied(plan, tables[6:], n, read_x).__getitem__
        for g, o, *pixel in np.ndindex(groups, features, *out):
            start = copied[:2] @ [image, g] + walk @ pixel
            total = 0
            for c, *tap in np.ndindex(channels, *window):
                at, at_w = (sum(t[k] for t, k in zip(tables[i:], tap)) for i in (0, 3))  # noqa: B905
                x = read(int(start + c * copied[2] + at))
                total = total + x * read_w(int(plan[36:39] @ [g, o, c] + at_w))
            yield int(plan[39:45] @ [n, g, o, *pixel]), total


def _copied(plan: Any, parts: Sequence[Any], n: int, read: Callable[[int], Any]) -> dict[int, Any]:
    """The copy of one image, by place, which is zero where nothing is copied to."""
    source, target = plan[15:21], plan[21:27]
    found: dict[int, Any] = defaultdict(int)
    every = [[p[1 + 4 * k : 5 + 4 * k] for k in range(p[0])] for p in parts]
    for chosen in itertools.product(*every):
        counts = [int(part[1]) for part in chosen]
        for g, c, *pixel in np.ndindex(int(plan[3]), int(plan[5]), *counts):
            place = [part[0] + k * part[2] for part, k in zip(chosen, pixel, strict=True)]
            to = target @ [n % int(plan[6]), g, c, *pixel] + sum(part[3] for part in chosen)
            found[int(to)] = read(int(source @ [n, g, c, *place]))
    return found


def one_image(plan: Any) -> Any:
    """The plan for the first image alone."""
    return np.array([*plan[:2], 1, *plan[3:]], plan.dtype)


def weight_places(plan: Any) -> list[int]:
    """The places of the weights that a plan reads, each once, in order."""
    tables = [plan[plan[45 + k] :] for k in range(3, 6)]
    return [
        int(plan[36:39] @ list(index[:3])) + sum(int(t[k]) for t, k in zip(tables, index[3:]))  # noqa: B905
        for index in np.ndindex(*(int(plan[k]) for k in (3, 4, 5, 12, 13, 14)))
    ]
