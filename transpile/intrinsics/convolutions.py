"""Direct convolutions in up to three spatial axes: `runtime_c/products/conv.h`.

The C functions interpret a plan, a constant of the program with all sizes and strides but the
number of images, which `transpile.library.convolution` makes. Operands are read through any strided
view. In one form lanes are pixels of the result (PLANES), in the other its features (FEATURES).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from transpile.ir.calls import Call, Invocation, Strided
from transpile.ir.dims import Index, Shape, bounds
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import UNALLOCATED
from transpile.ir.types import SHORT_NAMES
from transpile.util.frozen_records import cached_property, dataclass

PLANES, FEATURES = range(2)
# The spatial axes, and the length of a plan's header, behind which its tables begin.
SPACE, FIELDS = 3, 54
# The register tiles of conv.h and matmul.h: rows, bytes of a vector, and vectors of pixels.
ROWS, VECTOR, BAND = 8, 64, 4


@dataclass(frozen=True)
class Axis:
    """One spatial axis: extents of operand, result and window, stride, dilation, padding at both
    ends; what the low padding is decides what is read."""

    size: Index
    out: Index
    window: int
    stride: int
    dilation: int
    low: Index
    high: Index = 0

    @property
    def taps(self) -> list[int]:
        """The offsets of the taps from the first one."""
        return [k * self.dilation for k in range(self.window)]

    @property
    def span(self) -> Index:
        """The number of pixels from the first to the last that is read of the padded operand."""
        return (self.out - 1) * self.stride + (self.window - 1) * self.dilation + 1

    @property
    def is_known(self) -> bool:
        """True if the extents are known while compiling."""
        return all(isinstance(n, int) for n in (self.size, self.out, self.low))

    @property
    def padded(self) -> Index:
        """The pixels of the padded operand. Of runtime sizes all are copied, also those that a
        stride or padding below 0 leaves out, and what padding may be at most is planned for."""
        if self.is_known:
            return self.span
        low, high = (bounds(n)[1] for n in (self.low, self.high))
        widths = (self.low if low is None else low, self.high if high is None else max(high, 0))
        return self.size + widths[0] + widths[1]

    @property
    def is_inside(self) -> bool:
        """True if no padding is read."""
        if self.low == 0 and self.high == 0 and not self.is_known:
            return True
        if not isinstance(self.low, int):
            return False
        beyond = self.span - self.low - self.size
        return self.low <= 0 and isinstance(beyond, int) and beyond <= 0


@dataclass(frozen=True)
class Sizes:
    """The sizes of a convolution and the strides of its arrays: (image, group, channel, z, y, x) of
    the operand, (group, feature, channel, z, y, x) of the weights, (image, group, feature, z, y, x)
    of the result."""

    batch: Index
    groups: int
    features: int
    channels: int
    axes: tuple[Axis, ...]
    x: Shape
    w: Shape
    out: Shape

    @property
    def is_known(self) -> bool:
        """True if all but the number of images is known while compiling."""
        strides = (*self.x, *self.w, *self.out)
        return all(a.is_known for a in self.axes) and all(isinstance(n, int) for n in strides)

    @property
    def terms(self) -> int:
        """The products in the sum of one element."""
        return self.channels * math.prod(a.window for a in self.axes)

    @property
    def pixels(self) -> Index:
        """The pixels of one image of the result."""
        return product(a.out for a in self.axes)

    @property
    def flops(self) -> Index:
        """The additions and multiplications."""
        return self.batch * self.flops_of_image

    @property
    def flops_of_image(self) -> Index:
        """Those of one image."""
        return 2 * self.groups * self.features * self.pixels * self.terms


@dataclass(frozen=True)
class Copy:
    """The packed copy of the operand, with its padding.

    images          images that are copied at a time; 0 if the operand is read where it is
    image           elements of one image of the copy
    padded          the copy has zeros
    strides         the strides of the copy, in the order of the operand's
    result_strides  the strides in the copy between adjacent pixels of the result
    taps            for each spatial axis the offsets of the taps in the copy
    parts           for each spatial axis the runs of pixels that are copied: (first pixel, count,
                    stride, offset in the copy)
    """

    images: Index
    image: Index
    padded: bool
    strides: Shape
    result_strides: Shape
    taps: tuple[Sequence[Index], ...]
    parts: tuple[Sequence[tuple[Index, Index, int, Index]], ...]


@dataclass(frozen=True)
class Images:
    """The images of a convolution that is computed by a call for each: their count, the strides
    between images of operand and result, the elements that an image of the operand spans, and the
    elements of the offsets, the panels and the copy."""

    count: Index
    operand_stride: int
    operand_span: int
    result_stride: int
    terms: int
    panels: int
    copy: int


@dataclass(frozen=True, eq=False)
class Plan:
    """How a convolution is computed: its form, the copy of its operand, and the number of terms of
    the sum for which panels of weights are packed at a time."""

    form: int
    sizes: Sizes
    copy: Copy
    terms: int

    @cached_property
    def numbers(self) -> Any:
        """The encoded plan that conv.h reads, where all of it is known."""
        return np.array(self.entries, np.int64)

    @cached_property
    def entries(self) -> tuple[Index, ...]:
        """The encoded plan that conv.h reads: a header, then tables at offsets in the header."""
        sizes, copy = self.sizes, self.copy
        steps = [weight_of(s) for s in copy.strides]
        order = sorted(range(6), key=lambda a: -steps[a])
        _, _, channel, *space = steps
        inner = channel < min(s for s in space if s) if any(space) else True
        header: list[Index] = [self.form, int(inner), sizes.groups, sizes.features, sizes.channels]
        header += [copy.images, copy.image, int(copy.padded)]
        header += [a.out for a in sizes.axes] + [a.window for a in sizes.axes]
        header += [
            *sizes.x,
            *copy.strides,
            *order,
            *copy.result_strides,
            *sizes.w[:SPACE],
            *sizes.out,
        ]
        tables: list[Index] = []
        for table in self._tables():
            header.append(FIELDS + len(tables))
            tables.extend(table)
        header.append(self.terms)
        return (*header, *tables)

    def _tables(self) -> Iterator[Sequence[Index]]:
        yield from self.copy.taps
        for axis, step in zip(self.sizes.axes, self.sizes.w[SPACE:], strict=True):
            yield [k * step for k in range(axis.window)]
        for parts in self.copy.parts:
            yield [len(parts), *(number for part in parts for number in part)]

    def scratch_bytes(self, itemsize: int) -> Index:
        """The bytes of workspace."""
        sizes, copy = self.sizes, self.copy
        width = 2 * VECTOR // itemsize
        panels = sizes.groups * (sizes.features + ROWS)
        if self.form == FEATURES:
            panels = sizes.features + width
        numbers = panels * self.terms + copy.images * copy.image + BAND * width
        return 16 * (self.terms + 8) + numbers * itemsize + 2 * VECTOR

    def images(self, itemsize: int) -> Images:
        """The images of a plan whose lanes are pixels."""
        sizes = self.sizes
        image, group, channel, *space = map(weight_of, sizes.x)
        span = (sizes.groups - 1) * abs(group) + (sizes.channels - 1) * abs(channel) + 1
        for step, parts in zip(space, self.copy.parts, strict=True):
            ends = (first + (count - 1) * stride for first, count, stride, _ in parts)
            span += abs(step) * max(map(weight_of, ends), default=0)
        if min(image, group, channel, *space) < 0:
            span = 1 << 62  # unbounded: elements before the first one belong to another image
        return Images(
            count=sizes.batch,
            operand_stride=image,
            operand_span=span,
            result_stride=weight_of(sizes.out[0]),
            terms=sizes.terms,
            panels=sizes.groups * (sizes.features + ROWS) * sizes.terms,
            copy=weight_of(self.copy.image) + BAND * 2 * VECTOR // itemsize,
        )


# ----------------------------------------------------------------------------------- intrinsics


class _Convolution(Call):
    """The sizes in the signatures of convolutions; `space`, `window` and `pixels` are the three
    spatial axes of the operand, the weights and the result."""

    layout: Plan

    @property
    def batch(self) -> Index:
        """The number of images."""
        return self.layout.sizes.batch

    @property
    def groups(self) -> int:
        """The number of groups."""
        return self.layout.sizes.groups

    @property
    def features(self) -> int:
        """The output features of a group."""
        return self.layout.sizes.features

    @property
    def channels(self) -> int:
        """The input features of a group."""
        return self.layout.sizes.channels

    @property
    def space(self) -> Shape:
        """The spatial extents of the operand."""
        return tuple(a.size for a in self.layout.sizes.axes)

    @property
    def window(self) -> tuple[int, ...]:
        """The spatial extents of the weights."""
        return tuple(a.window for a in self.layout.sizes.axes)

    @property
    def pixels(self) -> Shape:
        """The spatial extents of the result."""
        return tuple(a.out for a in self.layout.sizes.axes)


@dataclass(frozen=True)
class Convolve(_Convolution):
    """A convolution; the strides of its arrays are in its plan, too."""

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
    def flops(self) -> Index:
        return self.layout.sizes.flops

    @property
    def scratch_bytes(self) -> Index:
        return self.layout.scratch_bytes(self.out.dtype.itemsize)

    def numpy(self, x: Any, w: Any) -> Any:
        return convolved(self.layout.sizes.axes, x, w)

    def in_c(self) -> Invocation:
        form = ("planes", "features")[self.layout.form]
        arrays = (self.x.first, self.w.first, self.out.first, self.workspace.first)
        return Invocation(
            f"conv_{form}_{SHORT_NAMES[self.out.dtype]}",
            (self.plan.first, self.batch, self.flops, *arrays),
        )


@dataclass(frozen=True)
class ConvolveOfSizes(Call):
    """A convolution of images whose extents are known at run time: the program computes the numbers
    of its plan. `pixels`, `strides`, `dilations` and `low` are of the three spatial axes."""

    form: int
    table: tuple[Index, ...]
    batch: Index
    groups: int
    features: int
    channels: int
    space: Shape
    window: tuple[int, ...]
    pixels: Shape
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    low: Shape
    room: Index
    x: Strided
    w: Strided
    out: Strided
    workspace: Strided = UNALLOCATED

    name = "conv_of_sizes"
    signature = (
        "x(batch,groups,channels,space), w(groups,features,channels,window)"
        " -> out(batch,groups,features,pixels)"
    )

    @property
    def flops(self) -> Index:
        sizes = (self.groups, self.features, self.channels, *self.window, *self.pixels)
        return self.batch * 2 * product(sizes)

    @property
    def scratch_bytes(self) -> Index:
        return self.room

    def numpy(self, x: Any, w: Any) -> Any:
        extents = (self.space, self.pixels, self.window, self.strides, self.dilations, self.low)
        return convolved([Axis(*axis) for axis in zip(*extents, strict=True)], x, w)

    def in_c(self) -> Invocation:
        form = ("planes", "features")[self.form]
        arrays = (self.x.first, self.w.first, self.out.first, self.workspace.first)
        return Invocation(
            f"conv_{form}_{SHORT_NAMES[self.out.dtype]}",
            (self.table, self.batch, self.flops, *arrays),
        )


@dataclass(frozen=True)
class ConvolvePanels(_Convolution):
    """Prepare what all images share: the offsets of the terms, and the weights packed into
    panels."""

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
    """The convolution of one image by one thread; `copy` is scratch memory for its packed copy."""

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
    def flops(self) -> Index:
        return self.layout.sizes.flops_of_image

    def numpy(self, x: Any, panels: Any) -> Any:
        return convolved(self.layout.sizes.axes, x[None], panels)[0]

    def in_c(self) -> Invocation:
        weights = (self.offsets.first, self.panels.first)
        arrays = (self.plan.first, self.x.first, *weights, self.out.first, self.copy.first)
        return Invocation(f"conv_planes_image_{SHORT_NAMES[self.out.dtype]}", arrays)


def weight_of(index: Index) -> int:
    """A number by which strides are ordered, whose order changes no results."""
    return index if isinstance(index, int) else estimate(index)


def convolved(axes: Sequence[Axis], x: Any, w: Any) -> Any:
    """The convolution of [image][group][channel][z][y][x] with the weights
    [group][feature][channel][z][y][x], tap by tap."""
    shape = (x.shape[0], *w.shape[:2], *(a.out for a in axes))
    result = np.zeros(shape, x.dtype)
    for tap in np.ndindex(*(a.window for a in axes)):
        elements = x
        for number, (a, k) in enumerate(zip(axes, tap, strict=True), 3):
            pixels = np.arange(weight_of(a.out)) * a.stride + k * a.dilation - weight_of(a.low)
            inside = (pixels >= 0) & (pixels < a.size)
            mask = inside.reshape(-1, *[1] * (5 - number))
            elements = np.where(mask, np.take(elements, np.where(inside, pixels, 0), number), 0)
        result += np.einsum("ngczyx,gfc->ngfzyx", elements, w[(..., *tap)])
    return result
