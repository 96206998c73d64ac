"""Convolutions of neural networks: `runtime_c/products/conv.h`.

A plan, which the program carries as a constant, tells the C functions all sizes and strides;
`transpile.library.convolution` makes it. The operands are read where they are, through any view
that strides describe.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from transpile.ir.calls import Call, Invocation, Strided
from transpile.ir.loop_ir import UNALLOCATED
from transpile.ir.types import SHORT_NAMES
from transpile.util.frozen_records import cached_property, dataclass

PLANES, FEATURES = range(2)
# Axes of space, and the numbers in front of the tables of a plan.
SPACE, FIELDS = 3, 55
# The tiles of conv.h and matmul.h: rows, bytes of a vector, and bands of pixels.
ROWS, VECTOR, BAND = 8, 64, 4


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

    @property
    def flops(self) -> int:
        """Additions and multiplications."""
        return 2 * self.batch * self.groups * self.features * self.pixels * self.terms


@dataclass(frozen=True)
class Copy:
    """How the operand is copied.

    together  images at a time; 0: it is read where it is
    image     the numbers of one image, and
    padded    whether zeros are among them
    steps     the strides of the copy, as those of the operand
    walk      the strides between pixels of the result
    taps      by axis the offsets of the taps, and
    parts     the parts (first pixel, pixels, stride, place)
    """

    together: int
    image: int
    padded: bool
    steps: tuple[int, ...]
    walk: tuple[int, ...]
    taps: tuple[Sequence[int], ...]
    parts: tuple[Sequence[tuple[int, int, int, int]], ...]


@dataclass(frozen=True)
class Images:
    """What calls for one image after the other need to know: how many images there are, from where
    to where an image reaches in the operand and how far apart they are, likewise in the result, and
    the numbers of offsets, panels and the copy."""

    count: int
    operand_step: int
    operand_reach: int
    result_step: int
    terms: int
    panels: int
    copy: int


@dataclass(frozen=True, eq=False)
class Plan:
    """How a convolution is computed: its form, its copy, and for how many terms of the sum there
    are panels at a time."""

    form: int
    sizes: Sizes
    copy: Copy
    terms: int

    @cached_property
    def numbers(self) -> Any:
        """The plan as conv.h reads it."""
        sizes, copy = self.sizes, self.copy
        order = sorted(range(6), key=lambda a: -copy.steps[a])
        _, _, channel, *space = copy.steps
        inner = channel < min(s for s in space if s) if any(space) else True
        header = [self.form, int(inner), sizes.batch, sizes.groups, sizes.features, sizes.channels]
        header += [copy.together, copy.image, int(copy.padded)]
        header += [a.out for a in sizes.axes] + [a.window for a in sizes.axes]
        header += [*sizes.x, *copy.steps, *order, *copy.walk, *sizes.w[:SPACE], *sizes.out]
        tables: list[int] = []
        for table in self._tables():
            header.append(FIELDS + len(tables))
            tables.extend(table)
        header.append(self.terms)
        return np.array([*header, *tables], np.int64)

    def _tables(self) -> Iterator[Sequence[int]]:
        yield from self.copy.taps
        for axis, step in zip(self.sizes.axes, self.sizes.w[SPACE:], strict=True):
            yield [k * step for k in range(axis.window)]
        for parts in self.copy.parts:
            yield [len(parts), *(number for part in parts for number in part)]

    def scratch_bytes(self, itemsize: int) -> int:
        """The bytes of scratch memory."""
        sizes, copy = self.sizes, self.copy
        width = 2 * VECTOR // itemsize
        panels = sizes.groups * (sizes.features + ROWS)
        if self.form == FEATURES:
            panels = sizes.features + width
        numbers = panels * self.terms + copy.together * copy.image + BAND * width
        return 16 * (self.terms + 8) + numbers * itemsize + 2 * VECTOR

    def images(self, itemsize: int) -> Images:
        """The images of a plan in the form of planes."""
        sizes = self.sizes
        image, group, channel, *space = sizes.x
        reach = (sizes.groups - 1) * abs(group) + (sizes.channels - 1) * abs(channel) + 1
        for step, parts in zip(space, self.copy.parts, strict=True):
            ends = (first + (count - 1) * stride for first, count, stride, _ in parts)
            reach += abs(step) * max(ends, default=0)
        if min(sizes.x) < 0:
            reach = 1 << 62  # what lies before the first element is another image's
        return Images(
            count=sizes.batch,
            operand_step=image,
            operand_reach=reach,
            result_step=sizes.out[0],
            terms=sizes.terms,
            panels=sizes.groups * (sizes.features + ROWS) * sizes.terms,
            copy=self.copy.image + BAND * 2 * VECTOR // itemsize,
        )


# ----------------------------------------------------------------------------------- intrinsics


class _Convolution(Call):
    """The sizes by which signatures name the axes of arrays; `space`, `window` and `pixels` are
    three axes: of the operand, of the weights and of the result."""

    layout: Plan

    @property
    def batch(self) -> int:
        """The images."""
        return self.layout.sizes.batch

    @property
    def groups(self) -> int:
        """The groups of channels and features."""
        return self.layout.sizes.groups

    @property
    def features(self) -> int:
        """The features of the result in a group."""
        return self.layout.sizes.features

    @property
    def channels(self) -> int:
        """The features of the operand in a group."""
        return self.layout.sizes.channels

    @property
    def space(self) -> tuple[int, ...]:
        """The pixels of the operand."""
        return tuple(a.size for a in self.layout.sizes.axes)

    @property
    def window(self) -> tuple[int, ...]:
        """The taps."""
        return tuple(a.window for a in self.layout.sizes.axes)

    @property
    def pixels(self) -> tuple[int, ...]:
        """The pixels of the result."""
        return tuple(a.out for a in self.layout.sizes.axes)


@dataclass(frozen=True)
class Convolve(_Convolution):
    """A convolution; the strides of its arrays stand in its plan as well."""

    plan: Strided
    x: Strided
    w: Strided
    out: Strided
    layout: Plan
    workspace: Strided = UNALLOCATED

    name = "conv"
    signature = (
        "plan(*), x(batch,groups,channels,space), w(groups,features,channels,window)"
        " -> out(batch,groups,features,pixels)"
    )

    @property
    def flops(self) -> int:
        return self.layout.sizes.flops

    @property
    def scratch_bytes(self) -> int:
        return self.layout.scratch_bytes(self.out.dtype.itemsize)

    def numpy(self, x: Any, w: Any) -> Any:
        return convolved(self.layout.sizes.axes, x, w)

    def in_c(self) -> Invocation:
        form = ("planes", "features")[self.layout.form]
        arrays = (self.x.first, self.w.first, self.out.first, self.workspace.first)
        return Invocation(
            f"conv_{form}_{SHORT_NAMES[self.out.dtype]}", (self.plan.first, self.flops, *arrays)
        )


@dataclass(frozen=True)
class ConvolvePanels(_Convolution):
    """What is the same for all images: the offsets of the terms, and the weights as panels."""

    plan: Strided
    w: Strided
    offsets: Strided
    panels: Strided
    layout: Plan

    name = "conv_planes_panels"
    signature = (
        "plan(*), w(groups,features,channels,window)"
        " -> offsets(*), panels(groups,features,channels,window)"
    )

    def numpy(self, w: Any) -> Any:
        return w

    def in_c(self) -> Invocation:
        arrays = (self.plan.first, self.w.first, self.offsets.first, self.panels.first)
        return Invocation(f"conv_planes_panels_{SHORT_NAMES[self.w.dtype]}", arrays)


@dataclass(frozen=True)
class ConvolveImage(_Convolution):
    """The convolution of one image by one thread; `copy` has room for its copy."""

    plan: Strided
    x: Strided
    offsets: Strided
    panels: Strided
    out: Strided
    copy: Strided
    layout: Plan

    name = "conv_planes_image"
    signature = (
        "plan(*), x(groups,channels,space), offsets(*), panels(groups,features,channels,window)"
        " -> out(groups,features,pixels)"
    )

    @property
    def flops(self) -> int:
        return self.layout.sizes.flops // self.batch

    def numpy(self, x: Any, panels: Any) -> Any:
        return convolved(self.layout.sizes.axes, x[None], panels)[0]

    def in_c(self) -> Invocation:
        weights = (self.offsets.first, self.panels.first)
        arrays = (self.plan.first, self.x.first, *weights, self.out.first, self.copy.first)
        return Invocation(f"conv_planes_image_{SHORT_NAMES[self.out.dtype]}", arrays)


def convolved(axes: Sequence[Axis], x: Any, w: Any) -> Any:
    """The convolution of [image][group][channel][z][y][x] with the weights
    [group][feature][channel][z][y][x], tap by tap."""
    shape = (x.shape[0], *w.shape[:2], *(a.out for a in axes))
    result = np.zeros(shape, x.dtype)
    for tap in np.ndindex(*(a.window for a in axes)):
        seen = x
        for number, (a, k) in enumerate(zip(axes, tap, strict=True), 3):
            pixels = np.arange(a.out) * a.stride + k * a.dilation - a.low
            inside = (pixels >= 0) & (pixels < a.size)
            zeros = inside.reshape(-1, *[1] * (5 - number))
            seen = np.where(zeros, np.take(seen, np.where(inside, pixels, 0), number), 0)
        result += np.einsum("ngczyx,gfc->ngfzyx", seen, w[(..., *tap)])
    return result
