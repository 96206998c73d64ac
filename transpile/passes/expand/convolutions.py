"""Canonicalise convolutions for library calls, and expand those that the library does not have.

Complex convolutions become four real ones. A base dilation (a transposed convolution) is decomposed
into phases, or materialised. Then, by shape: a few products are unrolled into one expression,
grouped convolutions with few results become a reduction for each, and products/conv.h computes the
others in float32 and float64. What it does not support becomes a matrix product with a view of all
windows (im2col).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Index, product
from transpile.ir.graph import Atom, Const, Equation
from transpile.ir.graph_rewrite import Builder
from transpile.ir.types import FLOAT32, FLOAT64
from transpile.machine import Machine
from transpile.passes.expand.windows import interleave_phases, padded_slice, phase_taps
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
    """A complex convolution as four real ones."""
    parts = [
        _convolution(builder, builder.apply(p, x), builder.apply(q, w), params)
        for p in (elementwise.real, elementwise.imag)
        for q in (elementwise.real, elementwise.imag)
    ]
    real = builder.apply(elementwise.subtract, parts[0], parts[3])
    imag = builder.apply(elementwise.add, parts[1], parts[2])
    return builder.apply(elementwise.make_complex, real, imag)


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
    """Choose how to compute a real convolution without base dilation: a library call, one matrix
    product, a sum over taps, or a loop over results."""
    _, rhs, _ = params["dimension_numbers"]
    groups = params["feature_group_count"] * params["batch_group_count"]
    terms = product(w.type.shape) // w.type.shape[rhs[0]]
    features = w.type.shape[rhs[0]] // groups
    machine = builder.machine
    is_few = isinstance(terms, int) and terms <= machine.most_written_terms
    has_few_features = isinstance(features, int) and features <= machine.few_features
    if is_few and has_few_features:
        return _unrolled(builder, x, w, params)
    (kind,) = conv_general_dilated.result_types([x.type, w.type], params)
    positions = product(kind.shape[a] for a in params["dimension_numbers"][2][2:])
    has_few_positions = isinstance(positions, int) and positions <= machine.most_written_terms
    if has_few_features and groups > 1 and has_few_positions:
        return _sums_by_position(_GroupedConv(builder, x, w, params))
    output = builder.apply(conv_general_dilated, x, w, **params)
    if _is_library_convolution(builder.producers[output], machine):
        return output
    del builder.producers[builder.equations.pop().output]
    return _im2col(builder, x, w, params)


def _is_library_convolution(equation: Equation, machine: Machine) -> bool:
    """True if products/conv.h has this convolution, and it is large enough for a call."""
    x, w = (a.type for a in equation.inputs)
    out = equation.output.type
    if out.dtype not in (FLOAT32, FLOAT64) or x.ndim - 2 > SPACE:
        return False
    if not all(isinstance(d, int) for d in (*x.shape, *w.shape, *out.shape)):
        return False
    terms = product(w.shape) // w.shape[equation.params["dimension_numbers"][1][0]]
    operations = product(out.shape) * terms
    return isinstance(operations, int) and operations >= machine.least_convolution_products


class _GroupedConv:
    """A convolution whose operands are viewed with an axis for each of these letters, as in einsum:
    n the batch, g groups, o output features of a group, c input features of a group, and digits the
    spatial axes."""

    def __init__(self, builder: Builder, x: Atom, w: Atom, params: dict[str, Any]) -> None:
        self.builder = builder
        lhs, rhs, to = params["dimension_numbers"]
        batches = params["batch_group_count"]
        self.groups = params["feature_group_count"] * batches
        space = [str(k) for k in range(len(lhs) - 2)]
        split = ["gn", "c"] if batches > 1 else ["n", "gc"]
        self.x, self.x_letters = self._split(x, dict(zip(lhs, [*split, *space], strict=True)))
        self.w, self.w_letters = self._split(w, dict(zip(rhs, ["go", "c", *space], strict=True)))
        (kind,) = conv_general_dilated.result_types([x.type, w.type], params)
        self.shape = kind.shape
        letters = dict(zip(to, ["n", "go", *space], strict=True))
        self.out_letters = "".join(letters[a] for a in range(len(to)))
        sizes = {letters[a]: n for a, n in enumerate(kind.shape)}
        self.sizes = sizes | {"g": self.groups, "o": sizes["go"] // self.groups}
        self.space = space
        self.low = [low for low, _ in params["padding"]]
        self.padding = params["padding"]
        self.strides, self.apart = params["window_strides"], params["rhs_dilation"]

    def _split(self, x: Atom, letters: dict[int, str]) -> tuple[Atom, str]:
        """The array with its group axis split off, and the letters of its axes."""
        shape: list[Index] = []
        for axis, size in enumerate(x.type.shape):
            one = letters[axis]
            shape += [size] if len(one) == 1 else [self.groups, size // self.groups]
        x = self._reshaped(x, shape)
        return x, "".join(letters[a] for a in range(len(letters)))

    def _reshaped(self, x: Atom, shape: Sequence[Index]) -> Atom:
        if tuple(x.type.shape) == tuple(shape):
            return x
        return self.builder.apply(axes.reshape, x, shape=tuple(shape))

    def broadcast(self, x: Atom, letters: str) -> Atom:
        """An array with some axes of the result, broadcast to all of them."""
        kept = [letter for letter in self.out_letters if letter in letters]
        order = tuple(map(letters.index, kept))
        if order != tuple(range(len(order))):
            x = self.builder.apply(axes.transpose, x, permutation=order)
        return self.builder.apply(
            axes.broadcast_in_dim,
            x,
            shape=tuple(self.sizes[letter] for letter in self.out_letters),
            broadcast_dimensions=tuple(map(self.out_letters.index, kept)),
        )

    def result(self, x: Atom) -> Atom:
        """The result, with groups and features merged into one axis."""
        return self._reshaped(x, self.shape)

    def tap(self, channel: int, tap: Sequence[int]) -> Atom:
        """The elements that one tap reads of one channel of every group, broadcast to the
        result."""
        zero = Const(np.zeros((), self.x.type.dtype))
        shifts, counts, steps = [], [], []
        for letter, size in zip(self.x_letters, self.x.type.shape, strict=True):
            k = self.space.index(letter) if letter in self.space else None
            shift = channel if letter == "c" else 0
            shifts.append(shift if k is None else tap[k] * self.apart[k] - self.low[k])
            steps.append(1 if k is None else self.strides[k])
            counts.append(1 if letter == "c" else size if k is None else self.sizes[letter])
        elements = padded_slice(self.builder, self.x, zero, shifts, counts, steps)
        letters = self.x_letters.replace("c", "")
        elements = self._reshaped(
            elements, [n for n, a in zip(counts, self.x_letters, strict=True) if a != "c"]
        )
        return self.broadcast(elements, letters)

    def weight(self, channel: int, tap: Sequence[int]) -> Atom:
        """The weights of one tap and channel, broadcast to the result."""
        first = [
            channel if a == "c" else tap[self.space.index(a)] if a in self.space else 0
            for a in self.w_letters
        ]
        counts = [
            n if a in "go" else 1 for a, n in zip(self.w_letters, self.w.type.shape, strict=True)
        ]
        zero = Const(np.zeros((), self.w.type.dtype))
        elements = padded_slice(self.builder, self.w, zero, first, counts, [1] * len(first))
        elements = self._reshaped(elements, [self.sizes["g"], self.sizes["o"]])
        return self.broadcast(elements, "go")

    def window(self, position: Sequence[int]) -> tuple[Atom, str]:
        """The products of the window at one spatial position of the result with the weights, and
        the letters of their axes."""
        zero = Const(np.zeros((), self.x.type.dtype))
        window = dict(zip(self.w_letters, self.w.type.shape, strict=True))
        shifts, counts, steps = [], [], []
        for letter, size in zip(self.x_letters, self.x.type.shape, strict=True):
            k = self.space.index(letter) if letter in self.space else None
            shifts.append(0 if k is None else position[k] * self.strides[k] - self.low[k])
            steps.append(1 if k is None else self.apart[k])
            counts.append(size if k is None else window[letter])
        elements = padded_slice(self.builder, self.x, zero, shifts, counts, steps)
        letters = self.x_letters + "o"
        shape = (*counts, self.sizes["o"])
        factors = []
        for value, own in ((elements, self.x_letters), (self.w, self.w_letters)):
            kept = [letter for letter in letters if letter in own]
            order = tuple(map(own.index, kept))
            if order != tuple(range(len(order))):
                value = self.builder.apply(axes.transpose, value, permutation=order)
            dimensions = tuple(map(letters.index, kept))
            params = {"shape": shape, "broadcast_dimensions": dimensions}
            factors.append(self.builder.apply(axes.broadcast_in_dim, value, **params))
        return self.builder.apply(elementwise.multiply, *factors), letters

    def at_one_position(self, x: Atom, letters: str) -> Atom:
        """An array without spatial axes as the result at one spatial position."""
        kept = [letter for letter in self.out_letters if letter in letters]
        order = tuple(map(letters.index, kept))
        if order != tuple(range(len(order))):
            x = self.builder.apply(axes.transpose, x, permutation=order)
        shape = [1 if a in self.space else self.sizes[a] for a in self.out_letters]
        return self._reshaped(x, shape)

    def windows(self) -> tuple[Atom, str]:
        """The view of all windows of the operand, and the letters of its axes; taps have `t` and
        the letter."""
        own = [self.space.index(a) if a in self.space else None for a in self.x_letters]
        padding = tuple((0, 0, 0) if k is None else (*self.padding[k], 0) for k in own)
        x = self.x
        if any(map(any, padding)):
            x = self.builder.apply(axes.pad, x, Const(np.zeros((), x.type.dtype)), padding=padding)
        window = dict(zip(self.w_letters, self.w.type.shape, strict=True))
        taps = tuple(
            1 if k is None else window[a] for k, a in zip(own, self.x_letters, strict=True)
        )
        x = self.builder.apply(
            windows.windows,
            x,
            window_dimensions=taps,
            window_strides=tuple(1 if k is None else self.strides[k] for k in own),
            window_dilation=tuple(1 if k is None else self.apart[k] for k in own),
        )
        rank = len(own)
        kept = [size for size, k in zip(x.type.shape[rank:], own, strict=True) if k is not None]
        x = self._reshaped(x, (*x.type.shape[:rank], *kept))
        return x, self.x_letters + "".join(f"t{a}" for a in self.x_letters if a in self.space)


def _unrolled(builder: Builder, x: Atom, w: Atom, params: dict[str, Any]) -> Atom:
    """The sum of products as one expression, which fuses with its surroundings."""
    conv = _GroupedConv(builder, x, w, params)
    sizes = dict(zip(conv.w_letters, conv.w.type.shape, strict=True))
    total: Atom | None = None
    for channel, *tap in np.ndindex(*(int(str(sizes[a])) for a in ("c", *conv.space))):
        factors = conv.tap(channel, tap), conv.weight(channel, tap)
        term = builder.apply(elementwise.multiply, *factors)
        total = term if total is None else builder.apply(elementwise.add, total, term)
    if total is None:
        return _zeros(builder, conv.shape, x.type.dtype)
    return conv.result(total)


def _sums_by_position(conv: _GroupedConv) -> Atom:
    """A reduction over the window for each spatial position of the result: where windows are large
    and positions few, as in the gradient of depthwise weights."""
    builder = conv.builder
    letters = "".join(a for a in conv.x_letters if a not in (*conv.space, "c")) + "o"
    parts = []
    for spatial in np.ndindex(*(int(str(conv.sizes[a])) for a in conv.space)):
        product_, order = conv.window(spatial)
        over = tuple(k for k, a in enumerate(order) if a not in letters)
        total = builder.apply(reductions.reduce_sum, product_, axes=over)
        parts.append(conv.at_one_position(total, letters))
    for axis in reversed(range(len(conv.space))):
        size = int(str(conv.sizes[conv.space[axis]]))
        position = conv.out_letters.index(conv.space[axis])
        groups = [parts[k : k + size] for k in range(0, len(parts), size)]
        parts = [
            builder.apply(axes.concatenate, *group, dimension=position) if size > 1 else group[0]
            for group in groups
        ]
    return conv.result(parts[0])


def _im2col(builder: Builder, x: Atom, w: Atom, params: dict[str, Any]) -> Atom:
    """The matrix product of the view of all windows with the weights."""
    conv = _GroupedConv(builder, x, w, params)
    view, letters = conv.windows()
    rank = len(conv.x_letters)
    order = [a for a in conv.x_letters if a in conv.space]
    over_x = (letters.index("c"), *range(rank, rank + len(order)))
    over_w = tuple(map(conv.w_letters.index, ("c", *order)))
    both = (letters.index("g"),), (conv.w_letters.index("g"),)
    result = builder.apply(
        dot.dot_general, view, conv.w, dimension_numbers=((over_x, over_w), both)
    )
    free = "g" + "".join(a for a in conv.x_letters if a not in "gc") + "o"
    return conv.result(conv.broadcast(result, free))
