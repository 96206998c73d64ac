"""Canonicalise convolutions for library calls, and expand those that the library does not have.

Complex convolutions become four real ones. A base dilation (a transposed convolution) is decomposed
into phases, or materialised. Then, by shape: a few products are unrolled into one expression,
grouped convolutions with few results become a reduction for each, and products/conv.h computes the
others in float32 and float64. What it does not support becomes a matrix product with a view of all
windows (im2col).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Index
from transpile.ir.graph import Atom, Const, Equation
from transpile.ir.graph_rewrite import Builder
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.indices.row_major import product
from transpile.ir.types import FLOAT32, FLOAT64, ArrayType
from transpile.machine import Machine
from transpile.passes.expand.labelled import Labelled, reshaped
from transpile.passes.expand.windows import interleave_phases, knows_phases, phase_taps
from transpile.primitives import axes, dot, elementwise, reductions, windows
from transpile.primitives.convolution import conv_general_dilated

SPACE = 3  # the most spatial axes of runtime_c/products/conv.h


def expand_convolution(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    """The result of a convolution in simpler primitives; None for other primitives."""
    if equation.primitive is not conv_general_dilated:
        return None
    x, w = equation.inputs
    return [_convolution(builder, x, w, dict(equation.params))]


def _convolution(builder: Builder, x: Atom, w: Atom, params: dict[str, Any]) -> Atom:
    (kind,) = conv_general_dilated.result_types([x.type, w.type], params)
    if 0 in (*x.type.shape, *w.type.shape, *kind.shape):
        return _zeros(builder, kind.shape, kind.dtype)
    if kind.dtype.kind == "c":
        return _complex_convolution(builder, x, w, params)
    base = params["lhs_dilation"]
    has_gaps = any(b != 1 for b in base)
    has_phases = (
        all(s == 1 for s in params["window_strides"])
        and math.prod(base) <= builder.machine.most_phases
        and knows_phases([low for low, _ in params["padding"]], base)
    )
    if has_gaps and has_phases:
        return _polyphase(builder, x, w, params, kind.shape)
    if has_gaps:
        x, params = _dilate_operand(builder, x, params)
    return _choose_algorithm(builder, x, w, params)


def _zeros(builder: Builder, shape: Sequence[Index], dtype: np.dtype[Any]) -> Atom:
    zero = Const(np.zeros((), dtype))
    return builder.apply(axes.broadcast_in_dim, zero, shape=tuple(shape), broadcast_dimensions=())


def _complex_convolution(builder: Builder, x: Atom, w: Atom, params: dict[str, Any]) -> Atom:
    """A complex convolution as real ones: one of twice the channels and features where that is a
    call of the library, or else four."""
    if _is_one_call(builder.machine, x, w, params):
        return _joint_convolution(builder, x, w, params)
    parts = [
        _convolution(builder, builder.apply(p, x), builder.apply(q, w), params)
        for p in elementwise.COMPLEX_PARTS
        for q in elementwise.COMPLEX_PARTS
    ]
    real = builder.apply(elementwise.subtract, parts[0], parts[3])
    imag = builder.apply(elementwise.add, parts[1], parts[2])
    return builder.apply(elementwise.make_complex, real, imag)


def _is_one_call(machine: Machine, x: Atom, w: Atom, params: Mapping[str, Any]) -> bool:
    """True if the library convolves the parts of these complex operands, in one group."""
    groups = params["feature_group_count"] * params["batch_group_count"]
    if groups > 1 or any(b != 1 for b in params["lhs_dilation"]):
        return False
    lhs, rhs, to = params["dimension_numbers"]
    (kind,) = conv_general_dilated.result_types([x.type, w.type], params)
    real = np.dtype(f"f{kind.dtype.itemsize // 2}")

    def doubled(of: ArrayType, axes: Sequence[int]) -> ArrayType:
        return ArrayType(tuple(d * (1 + axes.count(a)) for a, d in enumerate(of.shape)), real)

    types = doubled(x.type, lhs[1:2]), doubled(w.type, rhs[:2]), doubled(kind, to[1:2])
    terms = product(types[1].shape) // types[1].shape[rhs[0]]
    is_written_out = isinstance(terms, int) and terms <= machine.most_written_terms
    return not is_written_out and _is_in_library(types, terms, params, machine)


def _joint_convolution(builder: Builder, x: Atom, w: Atom, params: dict[str, Any]) -> Atom:
    """A complex convolution as one real one: the parts of x are channels, those of the result
    features, and the weights of these are the rows of a matrix, w.real, -w.imag and w.imag, w.real.
    """
    lhs, rhs, to = params["dimension_numbers"]
    x_parts = [builder.apply(p, x) for p in elementwise.COMPLEX_PARTS]
    real, imag = (builder.apply(p, w) for p in elementwise.COMPLEX_PARTS)
    rows = (real, builder.apply(elementwise.negative, imag)), (imag, real)
    joined = builder.apply(axes.concatenate, *x_parts, dimension=lhs[1])
    features = [builder.apply(axes.concatenate, *row, dimension=rhs[1]) for row in rows]
    weights = builder.apply(axes.concatenate, *features, dimension=rhs[0])
    both = _convolution(builder, joined, weights, params)
    count = w.type.shape[rhs[0]]
    sliced = [
        builder.apply(
            axes.slice_,
            both,
            start=tuple(first if a == to[1] else 0 for a in range(both.type.ndim)),
            limit=tuple(first + count if a == to[1] else d for a, d in enumerate(both.type.shape)),
            strides=(1,) * both.type.ndim,
        )
        for first in (0, count)
    ]
    return builder.apply(elementwise.make_complex, *sliced)


# ---------------------------------------------------------------------------------- base dilation


def _dilate_operand(
    builder: Builder, x: Atom, params: dict[str, Any]
) -> tuple[Atom, dict[str, Any]]:
    """Materialise the base dilation: interior-pad the operand with zeros."""
    padding = [(0, 0, 0)] * x.type.ndim
    for axis, base in zip(params["dimension_numbers"][0][2:], params["lhs_dilation"], strict=True):
        padding[axis] = (0, 0, base - 1)
    zero = Const(np.zeros((), x.type.dtype))
    x = builder.apply(axes.pad, x, zero, padding=tuple(padding))
    return x, params | {"lhs_dilation": (1,) * len(params["lhs_dilation"])}


def _polyphase(
    builder: Builder, x: Atom, w: Atom, params: dict[str, Any], shape: Sequence[Index]
) -> Atom:
    """Polyphase decomposition: results with equal remainders modulo the base dilation read the same
    taps, so that each phase is a convolution without the zeros of the dilation."""
    lhs, rhs, to = params["dimension_numbers"]
    steps = [1] * len(shape)
    for axis, base in zip(to[2:], params["lhs_dilation"], strict=True):
        steps[axis] = base

    def piece(phase: tuple[int, ...], counts: tuple[Index, ...]) -> Atom:
        start, limit = [0] * w.type.ndim, list(w.type.shape)
        strides, padding, apart = [1] * w.type.ndim, [], []
        for i, j, k, base, dilation, (low, _) in zip(
            lhs[2:],
            rhs[2:],
            to[2:],
            params["lhs_dilation"],
            params["rhs_dilation"],
            params["padding"],
            strict=True,
        ):
            window = int(str(w.type.shape[j]))
            taps = phase_taps(window, low, base, dilation, phase[k])
            if not taps:
                return _zeros(builder, counts, x.type.dtype)
            strides[j] = base // math.gcd(base, dilation)
            apart.append(dilation // math.gcd(base, dilation))
            start[j], limit[j] = taps[0][0], taps[-1][0] + 1
            first, last = taps[0][1], taps[-1][1]
            padding.append((-first, counts[k] + last - x.type.shape[i]))
        part = w
        if any(s != 1 for s in strides) or any(start) or tuple(limit) != tuple(w.type.shape):
            slice_params = {"start": tuple(start), "limit": tuple(limit), "strides": tuple(strides)}
            part = builder.apply(axes.slice_, w, **slice_params)
        one = (1,) * len(padding)
        own = {"padding": tuple(padding), "lhs_dilation": one, "rhs_dilation": tuple(apart)}
        return _choose_algorithm(builder, x, part, params | own)

    return interleave_phases(builder, shape, steps, piece)


# ----------------------------------------------------------------------------- choice of algorithm


def _choose_algorithm(builder: Builder, x: Atom, w: Atom, params: dict[str, Any]) -> Atom:
    """Choose how to compute a real convolution without base dilation: unrolled, by a reduction for
    each position, by the library, or as one matrix product."""
    machine = builder.machine
    _, rhs, to = params["dimension_numbers"]
    groups = params["feature_group_count"] * params["batch_group_count"]
    (kind,) = conv_general_dilated.result_types([x.type, w.type], params)
    terms = product(w.type.shape) // w.type.shape[rhs[0]]
    features = w.type.shape[rhs[0]] // groups
    positions = product(kind.shape[a] for a in to[2:])

    def is_at_most(count: Index, limit: int) -> bool:
        return isinstance(count, int) and count <= limit

    has_few_features = is_at_most(features, machine.few_features)
    if has_few_features and is_at_most(terms, machine.most_written_terms):
        return _unrolled(_GroupedConv(builder, x, w, params))
    if has_few_features and groups > 1 and is_at_most(positions, machine.most_written_terms):
        return _sums_by_position(_GroupedConv(builder, x, w, params))
    if _is_in_library((x.type, w.type, kind), terms, params, machine):
        return builder.apply(conv_general_dilated, x, w, **params)
    return _im2col(_GroupedConv(builder, x, w, params))


def _is_in_library(
    types: Sequence[ArrayType], terms: Index, params: Mapping[str, Any], machine: Machine
) -> bool:
    """True if products/conv.h has a convolution of these operands and result, whose elements are
    sums of so many terms, and it is large enough for a call."""
    result = types[-1]
    if result.dtype not in (FLOAT32, FLOAT64) or result.ndim - 2 > SPACE:
        return False
    is_known = all(isinstance(d, int) for t in types for d in t.shape)
    if not is_known and not _knows_plan(types, params):
        return False
    return estimate(product(result.shape) * terms) >= machine.least_convolution_products


def _knows_plan(types: Sequence[ArrayType], params: Mapping[str, Any]) -> bool:
    """True if the numbers of a plan are polynomials of runtime sizes: the number of images may be
    one, and so may extents of images of which no pixels in front are cut off."""
    x, w, result = types
    lhs, _, to = params["dimension_numbers"]
    is_one_group = params["batch_group_count"] == 1
    if not all(isinstance(d, int) for d in (*w.shape, x.shape[lhs[1]])) or not is_one_group:
        return False
    space = [(x.shape[i], result.shape[k]) for i, k in zip(lhs[2:], to[2:], strict=True)]
    if all(isinstance(d, int) for extents in space for d in extents):
        return True
    return all(is_at_most(0, low) for low, _ in params["padding"])


class _GroupedConv:
    """A convolution whose operands have an axis for each of these letters: n the batch, g groups,
    o output features of a group, c input features of a group, digits the spatial axes. Axes of taps
    have the capital letters of `tap_letter`."""

    def __init__(self, builder: Builder, x: Atom, w: Atom, params: dict[str, Any]) -> None:
        self.builder = builder
        lhs, rhs, to = params["dimension_numbers"]
        batches = params["batch_group_count"]
        self.precision = {k: v for k, v in params.items() if k == "precision"}
        groups = {"g": params["feature_group_count"] * batches}
        self.space = "".join(map(str, range(len(lhs) - 2)))
        of_x = [*(("gn", "c") if batches > 1 else ("n", "gc")), *self.space]
        self.x = Labelled.of(builder, x, [of_x[lhs.index(a)] for a in range(len(lhs))], groups)
        of_w = ["go", "c", *self.space]
        self.w = Labelled.of(builder, w, [of_w[rhs.index(a)] for a in range(len(rhs))], groups)
        (kind,) = conv_general_dilated.result_types([x.type, w.type], params)
        names = ["n", "go", *self.space]
        self.shape, self.letters = kind.shape, "".join(names[to.index(a)] for a in range(len(to)))
        extents = {names[to.index(a)]: extent for a, extent in enumerate(kind.shape)}
        self.sizes = {**extents, **groups, "o": extents["go"] // groups["g"]}
        self.windows = {a: self.w.sizes[a] for a in self.space}
        self.padding = dict(zip(self.space, params["padding"], strict=True))
        self.strides = dict(zip(self.space, params["window_strides"], strict=True))
        self.dilation = dict(zip(self.space, params["rhs_dilation"], strict=True))

    def result(self, x: Labelled) -> Atom:
        """The result, with groups and features merged into one axis."""
        return reshaped(self.builder, x.atom, self.shape)

    def tap(self, channel: int, tap: Mapping[str, int]) -> Labelled:
        """The elements that one tap reads of one channel of every group, one for each result."""
        starts = {a: k * self.dilation[a] - self.padding[a][0] for a, k in tap.items()}
        counts = {a: self.sizes[a] for a in self.space}
        elements = self.x.slice({"c": channel, **starts}, {"c": 1, **counts}, self.strides)
        return elements.without("c").broadcast(self.letters, self.sizes)

    def weight(self, channel: int, tap: Mapping[str, int]) -> Labelled:
        """The weights of one tap and channel, one for each result."""
        one = dict.fromkeys(f"c{self.space}", 1)
        weights = self.w.slice({"c": channel, **tap}, one, {})
        return weights.without(f"c{self.space}").broadcast(self.letters, self.sizes)

    def products_at(self, position: Mapping[str, int]) -> Labelled:
        """The products of weights and elements in the window at one spatial position."""
        starts = {a: k * self.strides[a] - self.padding[a][0] for a, k in position.items()}
        elements = self.x.slice(starts, self.windows, self.dilation)
        letters, sizes = f"{self.x.letters}o", {**elements.sizes, "o": self.sizes["o"]}
        factors = [factor.broadcast(letters, sizes).atom for factor in (elements, self.w)]
        products = self.builder.apply(elementwise.multiply, *factors)
        return Labelled(self.builder, products, letters)

    def at_one_position(self, x: Labelled) -> Atom:
        """A value without spatial axes as the result at one spatial position."""
        shape = [1 if a in self.space else self.sizes[a] for a in self.letters]
        return reshaped(self.builder, x.ordered(self.letters).atom, shape)

    @staticmethod
    def tap_letter(axis: str) -> str:
        """The letter of the axis of taps along a spatial axis."""
        return chr(ord("A") + int(axis))

    def all_windows(self) -> Labelled:
        """The view of all windows of the operand, whose last axes are taps."""
        builder, x, letters = self.builder, self.x.atom, self.x.letters
        padding = tuple((*self.padding[a], 0) if a in self.space else (0, 0, 0) for a in letters)
        if any(map(any, padding)):
            x = builder.apply(axes.pad, x, Const(np.zeros((), x.type.dtype)), padding=padding)
        x = builder.apply(
            windows.windows,
            x,
            window_dimensions=tuple(self.windows.get(a, 1) for a in letters),
            window_strides=tuple(self.strides.get(a, 1) for a in letters),
            window_dilation=tuple(self.dilation.get(a, 1) for a in letters),
        )
        spatial = [a for a in letters if a in self.space]
        shape = (*x.type.shape[: len(letters)], *(self.windows[a] for a in spatial))
        taps = "".join(map(self.tap_letter, spatial))
        return Labelled(builder, reshaped(builder, x, shape), letters + taps)


def _indices(sizes: Mapping[str, Index]) -> Iterator[dict[str, int]]:
    """All indices of axes of static extents, by letter, in row-major order."""
    for index in np.ndindex(*(int(str(extent)) for extent in sizes.values())):
        yield dict(zip(sizes, index, strict=True))


def _unrolled(conv: _GroupedConv) -> Atom:
    """The sum of products as one expression, which fuses with its surroundings."""
    builder, total = conv.builder, None
    for tap in _indices({"c": conv.w.sizes["c"], **conv.windows}):
        channel = tap.pop("c")
        factors = conv.tap(channel, tap).atom, conv.weight(channel, tap).atom
        term = builder.apply(elementwise.multiply, *factors)
        total = term if total is None else builder.apply(elementwise.add, total, term)
    if total is None:
        return _zeros(builder, conv.shape, conv.x.atom.type.dtype)
    return conv.result(Labelled(builder, total, conv.letters))


def _sums_by_position(conv: _GroupedConv) -> Atom:
    """A reduction over the window for each spatial position of the result: where windows are large
    and positions few, as in the gradient of depthwise weights."""
    builder = conv.builder
    kept = "".join(a for a in f"{conv.x.letters}o" if a not in f"c{conv.space}")
    parts = []
    for position in _indices({a: conv.sizes[a] for a in conv.space}):
        products = conv.products_at(position)
        over = tuple(k for k, a in enumerate(products.letters) if a not in kept)
        total = builder.apply(reductions.reduce_sum, products.atom, axes=over)
        parts.append(conv.at_one_position(Labelled(builder, total, kept)))
    for letter in reversed(conv.space):
        size, axis = int(str(conv.sizes[letter])), conv.letters.index(letter)
        groups = [parts[k : k + size] for k in range(0, len(parts), size)]
        parts = [
            builder.apply(axes.concatenate, *group, dimension=axis) if size > 1 else group[0]
            for group in groups
        ]
    return conv.result(Labelled(builder, parts[0], conv.letters))


def _im2col(conv: _GroupedConv) -> Atom:
    """The matrix product of the view of all windows with the weights."""
    view = conv.all_windows()
    spatial = [a for a in conv.x.letters if a in conv.space]
    over_view = tuple(map(view.letters.index, ["c", *map(conv.tap_letter, spatial)]))
    over_w = tuple(map(conv.w.letters.index, ["c", *spatial]))
    batch = (view.letters.index("g"),), (conv.w.letters.index("g"),)
    numbers = (over_view, over_w), batch
    product = {"dimension_numbers": numbers, **conv.precision}
    result = conv.builder.apply(dot.dot_general, view.atom, conv.w.atom, **product)
    letters = "g" + "".join(a for a in conv.x.letters if a not in "gc") + "o"
    return conv.result(Labelled(conv.builder, result, letters).broadcast(conv.letters, conv.sizes))
