"""Plan calls of the convolution routine (products/conv.h): vector lanes, blocks, copies, strides.

Lanes are pixels or features, whichever costs less. Operands are read in place through any view that
strides describe; padded or strided images are first copied, block by block. The plan is computed
once and is a constant of the program. The number of images may be a runtime size; where the extents
of images are, too, the numbers of the plan are polynomials, of which the program makes an array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from transpile.intrinsics.convolutions import (
    FEATURES,
    PLANES,
    ROWS,
    SPACE,
    VECTOR,
    Axis,
    Convolve,
    ConvolveOfSizes,
    Copy,
    Plan,
    Sizes,
    weight_of,
)
from transpile.ir.calls import Strided
from transpile.ir.dims import Index, floor_divide
from transpile.ir.graph import Atom, Const, Equation
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.indices.row_major import product
from transpile.library.plan import CallPlan, LoopedCall, View, Views, array, part
from transpile.machine import USUAL, Machine

# As in conv.h: the terms of a block, and the features of which each has lanes of its own.
DEPTH, FEW = 512, 2
# The cost of copying a number, relative to a multiply-add of a vector: contiguous, and strided.
_NEAR, _FAR = 0.15, 1.5


def plan_convolution(equation: Equation, views: Views, machine: Machine) -> CallPlan:
    """The call of a convolution."""
    first, second = (_operand(atom, views) for atom in equation.inputs)
    out = equation.output
    sizes = _sizes(equation, first.strides, second.strides)
    layout = make_plan(sizes, out.type.dtype.itemsize, machine)
    reads = {"x": first.base, "w": second.base}
    arrays = (
        array("x", first.base, first.offset, sizes.x),
        array("w", second.base, second.offset, sizes.w),
        part("out", out, strides=sizes.out),
    )
    if not sizes.is_known:
        of_sizes = call_of_sizes(layout, out.type.dtype.itemsize, arrays)
        return CallPlan(reads, {"out": out}, {}, (LoopedCall((), of_sizes),))
    table = Const(layout.numbers, name="plan")
    call = Convolve(part("plan", table), *arrays, layout)
    return CallPlan(reads, {"out": out}, {"plan": table}, (LoopedCall((), call),))


def call_of_sizes(
    layout: Plan, itemsize: int, arrays: tuple[Strided, Strided, Strided]
) -> ConvolveOfSizes:
    """The call for images whose extents are runtime sizes."""
    sizes = layout.sizes
    return ConvolveOfSizes(
        layout.form,
        layout.entries,
        sizes.batch,
        sizes.groups,
        sizes.features,
        sizes.channels,
        tuple(a.size for a in sizes.axes),
        tuple(a.window for a in sizes.axes),
        tuple(a.out for a in sizes.axes),
        tuple(a.stride for a in sizes.axes),
        tuple(a.dilation for a in sizes.axes),
        tuple(a.low for a in sizes.axes),
        layout.scratch_bytes(itemsize),
        *arrays,
    )


def _operand(atom: Atom, views: Views) -> View:
    """The view of an operand: one with known strides, where there is one."""
    found = [view for view in views.of(atom) if view.base.type.shape]
    known = (v for v in found if all(isinstance(n, int) for n in (v.offset, *v.strides)))
    return next(known, found[0])


def _row_major(shape: Sequence[Any]) -> list[Index]:
    return [product(shape[a + 1 :]) for a in range(len(shape))]


def _sizes(equation: Equation, x: Sequence[Any], w: Sequence[Any]) -> Sizes:
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
        Axis(shapes[0][i], shapes[2][k], shapes[1][j], stride, dilation, *ends)
        for i, j, k, stride, dilation, ends in zip(
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


def make_plan(sizes: Sizes, itemsize: int, machine: Machine = USUAL) -> Plan:
    """The plan for these sizes."""
    form = _form(sizes, itemsize, machine)
    copied = _planes if form == PLANES else _rows
    return Plan(form, sizes, copied(sizes, itemsize, machine), _terms(sizes, form, machine))


def _terms(sizes: Sizes, form: int, machine: Machine) -> int:
    """The number of terms of the sum that are packed into panels at once: all, or whole blocks of
    them up to the machine's limit of memory."""
    if form == PLANES:
        return sizes.terms
    most = min(machine.longest_panel, machine.most_panel_numbers // sizes.features)
    return min(sizes.terms, max(1, most // DEPTH) * DEPTH)


def _lanes(count: int, lanes: int) -> int:
    """The number of lanes computed for `count` elements: whole vectors."""
    return -(-count // lanes) * lanes


def _form(sizes: Sizes, itemsize: int, machine: Machine) -> int:
    """PLANES, where lanes are pixels, or FEATURES, by the estimated cost of each."""
    lanes = VECTOR // itemsize
    if not sizes.is_known and sizes.features >= lanes and _are_apart(sizes):
        return FEATURES
    batch = estimate(sizes.batch)
    z, rows, width = out = [weight_of(a.out) for a in sizes.axes]
    image = math.prod(out)
    result = batch * sizes.groups * sizes.features * image
    of_image = math.prod(weight_of(a.size) for a in sizes.axes)
    operand = batch * sizes.groups * sizes.channels * of_image
    _, y, x = (
        n + (a.window - 1) * a.dilation // a.stride for n, a in zip(out, sizes.axes, strict=True)
    )
    walked = ((z - 1) * y + rows - 1) * x + width
    tall = sizes.features if sizes.features <= FEW else -(-sizes.features // ROWS) * ROWS
    planes = batch * sizes.groups * tall * _lanes(walked, lanes) / lanes * sizes.terms
    planes += result * (_NEAR if weight_of(sizes.out[-1]) == 1 else _FAR)
    planes += operand * (_NEAR if weight_of(sizes.x[-1]) == 1 else _FAR)
    pixels = -(-batch * image // ROWS) * ROWS
    wide = _lanes(sizes.features, lanes)
    features = pixels * sizes.groups * wide / lanes * sizes.terms
    passes = -(-sizes.terms // DEPTH)
    features += result * passes * (_NEAR if weight_of(sizes.out[2]) == 1 else _FAR)
    features += sizes.groups * wide * sizes.terms * (_NEAR if weight_of(sizes.w[1]) == 1 else _FAR)
    if not all(a.is_inside for a in sizes.axes):
        features += operand * _NEAR
    return PLANES if planes <= features * machine.feature_lanes_cost else FEATURES


def _are_apart(sizes: Sizes) -> bool:
    """True if pixels a stride apart are read where they are, which lanes of pixels would copy: a
    picture may turn out small, and a row of it fills no vector."""
    return any(a.stride > 1 for a in sizes.axes) and all(a.is_inside for a in sizes.axes)


def _planes(sizes: Sizes, itemsize: int, machine: Machine) -> Copy:
    """The copy for lanes of pixels: for each image, group and channel, and for each phase of the
    strides, the pixels at a distance of a stride, contiguously."""
    lengths = [
        a.out + (a.window - 1) * a.dilation // a.stride
        if a.is_known
        else (a.padded - 1) // a.stride + 1
        for a in sizes.axes
    ]
    steps = _row_major(lengths)
    volume = product(lengths)
    phases = [sorted({t % a.stride for t in a.taps}) for a in sizes.axes]
    apart = [volume * s for s in _row_major([len(p) for p in phases])]
    taps, parts, padded = [], [], False
    for axis, length, step, own_phases, leap in zip(
        sizes.axes, lengths, steps, phases, apart, strict=True
    ):
        taps.append(
            [own_phases.index(t % axis.stride) * leap + t // axis.stride * step for t in axis.taps]
        )
        pieces = []
        for number, phase in enumerate(own_phases):
            place = -((phase - axis.low) // axis.stride)
            if isinstance(place, int):
                place = max(0, place)
            first = place * axis.stride + phase - axis.low
            count = (axis.size - 1 - first) // axis.stride + 1  # of runtime sizes all are copied
            if isinstance(length, int) and isinstance(count, int):
                count = max(0, min(length - place, count))
            padded = padded or length - count != 0
            begin = 0 if count == 0 else first
            pieces.append((begin, count, axis.stride, number * leap + place * step))
        parts.append(pieces)
    channel = volume * math.prod(len(p) for p in phases)
    image = channel * sizes.channels * sizes.groups
    together = 1
    if isinstance(image, int):
        most = max(1, machine.images_bytes // (image * itemsize))
        together = min(estimate(sizes.batch), most)
    own = (image, channel * sizes.channels, channel, *steps)
    return Copy(
        together, image, padded, own, (0, lengths[1], lengths[2]), tuple(taps), tuple(parts)
    )


def _in_place(sizes: Sizes) -> Copy:
    """No copy: the operand is read in place, as no window reaches into the padding."""
    steps = sizes.x[3:]
    walk = tuple(a.stride * s for a, s in zip(sizes.axes, steps, strict=True))
    taps = ([(t - a.low) * s for t in a.taps] for a, s in zip(sizes.axes, steps, strict=True))
    return Copy(0, 0, False, sizes.x, walk, tuple(taps), ([], [], []))


def _rows(sizes: Sizes, itemsize: int, machine: Machine) -> Copy:
    """The padded copy for lanes of features, with axes in the operand's order; or no copy."""
    if all(a.is_inside for a in sizes.axes):
        return _in_place(sizes)
    image = sizes.groups * sizes.channels * product(a.padded for a in sizes.axes)
    together: Index = 1
    if isinstance(image, int) and isinstance(sizes.pixels, int):
        repaying = -(-machine.repaying_pixels // sizes.pixels)
        most = max(machine.images_bytes // (image * itemsize), repaying, 1)
        together = min(estimate(sizes.batch), most)
    elif sizes.batch != 1 and is_at_most(1, sizes.pixels):
        together = floor_divide(machine.repaying_pixels, sizes.pixels) + 1
    extents = (together, sizes.groups, sizes.channels, *(a.padded for a in sizes.axes))
    steps: list[Index] = [0] * 6
    size: Index = 1
    weights = [weight_of(s) for s in sizes.x]
    for a in sorted(range(6), key=lambda a: (weight_of(extents[a]) == 1, weights[a], -a)):
        steps[a] = size if sizes.is_known or extents[a] != 1 else 0
        size = extents[a] * size
    taps, parts, walk = [], [], []
    for axis, step in zip(sizes.axes, steps[3:], strict=True):
        place, first = axis.low, 0
        count = axis.size
        if isinstance(axis.low, int):
            place, first = max(0, axis.low), max(0, -axis.low)
        if isinstance(axis.size, int) and isinstance(axis.span, int) and isinstance(place, int):
            count = max(0, min(axis.size - first, axis.span - place))
        taps.append([t * step for t in axis.taps])
        parts.append([(first if count else 0, count, 1, place * step)])
        walk.append(axis.stride * step)
    return Copy(together, image, True, tuple(steps), tuple(walk), tuple(taps), tuple(parts))
