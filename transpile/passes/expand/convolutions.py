"""Canonicalise convolutions for library calls: no base dilation, and complex ones by real parts.
What products/conv.h does not support becomes a matrix product of patches (im2col) or sums of taps.
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
from transpile.passes.expand.windows import in_phases, phase_shifts, shifted
from transpile.primitives import axes, dot, elementwise, reductions, windows
from transpile.primitives.convolution import conv_general_dilated

# Axes of space that runtime_c/products/conv.h knows.
SPACE = 3


def simpler_convolution(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    """The result of a convolution in simpler primitives; None for other primitives."""
    if equation.primitive is not conv_general_dilated:
        return None
    x, w = equation.inputs
    return [_convolution(builder, x, w, dict(equation.params), equation)]


def _convolution(
    builder: Builder, x: Atom, w: Atom, params: dict[str, Any], known: Equation | None = None
) -> Atom:
    (kind,) = conv_general_dilated.result_types([x.type, w.type], params)
    if 0 in (*x.type.shape, *w.type.shape, *kind.shape):
        return _zeros(builder, kind.shape, kind.dtype)
    if kind.dtype.kind == "c":
        return _by_parts(builder, x, w, params)
    base = params["lhs_dilation"]
    has_gaps = any(b != 1 for b in base)
    has_phases = (
        all(s == 1 for s in params["window_strides"])
        and math.prod(base) <= builder.machine.most_phases
    )
    if has_gaps and has_phases:
        return _by_phases(builder, x, w, params, kind.shape)
    if has_gaps:
        x, params = _with_gaps(builder, x, params)
    return _placed(builder, x, w, params)


def _zeros(builder: Builder, shape: Sequence[Index], dtype: np.dtype[Any]) -> Atom:
    zero = Const(np.zeros((), dtype))
    return builder.apply(axes.broadcast_in_dim, zero, shape=tuple(shape), broadcast_dimensions=())


def _by_parts(builder: Builder, x: Atom, w: Atom, params: dict[str, Any]) -> Atom:
    """A complex convolution: four real ones."""
    parts = [
        _convolution(builder, builder.apply(p, x), builder.apply(q, w), params)
        for p in (elementwise.real, elementwise.imag)
        for q in (elementwise.real, elementwise.imag)
    ]
    real = builder.apply(elementwise.subtract, parts[0], parts[3])
    imag = builder.apply(elementwise.add, parts[1], parts[2])
    return builder.apply(elementwise.make_complex, real, imag)


# ----------------------------------------------------------------------------- gaps in the operand


def _with_gaps(builder: Builder, x: Atom, params: dict[str, Any]) -> tuple[Atom, dict[str, Any]]:
    """Materialise the base dilation: the operand with zeros between its elements."""
    padding = [(0, 0, 0)] * x.type.ndim
    for axis, base in zip(params["dimension_numbers"][0][2:], params["lhs_dilation"], strict=True):
        padding[axis] = (0, 0, base - 1)
    zero = Const(np.zeros((), x.type.dtype))
    x = builder.apply(axes.pad, x, zero, padding=tuple(padding))
    return x, params | {"lhs_dilation": (1,) * len(params["lhs_dilation"])}


def _by_phases(
    builder: Builder, x: Atom, w: Atom, params: dict[str, Any], shape: Sequence[Index]
) -> Atom:
    """Polyphase decomposition of a transposed convolution: results with equal remainders read the
    same taps, so that each phase is a convolution without zeros."""
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
            found = phase_shifts(window, low, base, dilation, phase[k])
            if not found:
                return _zeros(builder, counts, x.type.dtype)
            strides[j] = base // math.gcd(base, dilation)
            apart.append(dilation // math.gcd(base, dilation))
            start[j], limit[j] = found[0][0], found[-1][0] + 1
            first, last = found[0][1], found[-1][1]
            padding.append((-first, counts[k] + last - x.type.shape[i]))
        part = w
        if any(s != 1 for s in strides) or any(start) or tuple(limit) != tuple(w.type.shape):
            cut = {"start": tuple(start), "limit": tuple(limit), "strides": tuple(strides)}
            part = builder.apply(axes.slice_, w, **cut)
        one = (1,) * len(padding)
        own = {"padding": tuple(padding), "lhs_dilation": one, "rhs_dilation": tuple(apart)}
        return _placed(builder, x, part, params | own)

    return in_phases(builder, shape, steps, piece)


# ------------------------------------------------------------------------ who computes the rest


def _placed(builder: Builder, x: Atom, w: Atom, params: dict[str, Any]) -> Atom:
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
        return _written_out(builder, x, w, params)
    (kind,) = conv_general_dilated.result_types([x.type, w.type], params)
    places = product(kind.shape[a] for a in params["dimension_numbers"][2][2:])
    has_few_places = isinstance(places, int) and places <= machine.most_written_terms
    if has_few_features and groups > 1 and has_few_places:
        return _place_by_place(_Grouped(builder, x, w, params))
    output = builder.apply(conv_general_dilated, x, w, **params)
    if _is_library_convolution(builder.producers[output], machine):
        return output
    del builder.producers[builder.equations.pop().output]
    return _as_product(builder, x, w, params)


def _is_library_convolution(equation: Equation, machine: Machine) -> bool:
    """True if products/conv.h has a convolution without gaps, and is worth calling."""
    x, w = (a.type for a in equation.inputs)
    out = equation.output.type
    if out.dtype not in (FLOAT32, FLOAT64) or x.ndim - 2 > SPACE:
        return False
    if not all(isinstance(d, int) for d in (*x.shape, *w.shape, *out.shape)):
        return False
    terms = product(w.shape) // w.shape[equation.params["dimension_numbers"][1][0]]
    operations = product(out.shape) * terms
    return isinstance(operations, int) and operations >= machine.least_convolution_products


class _Grouped:
    """A convolution by letters: n for the batch, g for groups, o for features of the result in one,
    c for those of the operand, and numbers for space. Operands are viewed with an axis for each."""

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
        """The array with a group axis of its own, and the letters of its axes."""
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

    def placed(self, x: Atom, letters: str) -> Atom:
        """An array with some axes of the result as one with all of them."""
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
        """The result, groups and features in one axis."""
        return self._reshaped(x, self.shape)

    def tap(self, channel: int, tap: Sequence[int]) -> Atom:
        """What one tap sees of one channel of every group, spread over the result."""
        zero = Const(np.zeros((), self.x.type.dtype))
        shifts, counts, steps = [], [], []
        for letter, size in zip(self.x_letters, self.x.type.shape, strict=True):
            k = self.space.index(letter) if letter in self.space else None
            shift = channel if letter == "c" else 0
            shifts.append(shift if k is None else tap[k] * self.apart[k] - self.low[k])
            steps.append(1 if k is None else self.strides[k])
            counts.append(1 if letter == "c" else size if k is None else self.sizes[letter])
        found = shifted(self.builder, self.x, zero, shifts, counts, steps)
        letters = self.x_letters.replace("c", "")
        found = self._reshaped(
            found, [n for n, a in zip(counts, self.x_letters, strict=True) if a != "c"]
        )
        return self.placed(found, letters)

    def weight(self, channel: int, tap: Sequence[int]) -> Atom:
        """The weights of one tap and channel, spread over the result."""
        first = [
            channel if a == "c" else tap[self.space.index(a)] if a in self.space else 0
            for a in self.w_letters
        ]
        counts = [
            n if a in "go" else 1 for a, n in zip(self.w_letters, self.w.type.shape, strict=True)
        ]
        zero = Const(np.zeros((), self.w.type.dtype))
        found = shifted(self.builder, self.w, zero, first, counts, [1] * len(first))
        found = self._reshaped(found, [self.sizes["g"], self.sizes["o"]])
        return self.placed(found, "go")

    def window(self, place: Sequence[int]) -> tuple[Atom, str]:
        """The products of what one place of the result sees with the weights, and the letters of
        their axes."""
        zero = Const(np.zeros((), self.x.type.dtype))
        window = dict(zip(self.w_letters, self.w.type.shape, strict=True))
        shifts, counts, steps = [], [], []
        for letter, size in zip(self.x_letters, self.x.type.shape, strict=True):
            k = self.space.index(letter) if letter in self.space else None
            shifts.append(0 if k is None else place[k] * self.strides[k] - self.low[k])
            steps.append(1 if k is None else self.apart[k])
            counts.append(size if k is None else window[letter])
        seen = shifted(self.builder, self.x, zero, shifts, counts, steps)
        letters = self.x_letters + "o"
        shape = (*counts, self.sizes["o"])
        factors = []
        for value, own in ((seen, self.x_letters), (self.w, self.w_letters)):
            kept = [letter for letter in letters if letter in own]
            order = tuple(map(own.index, kept))
            if order != tuple(range(len(order))):
                value = self.builder.apply(axes.transpose, value, permutation=order)
            places = tuple(map(letters.index, kept))
            spread = {"shape": shape, "broadcast_dimensions": places}
            factors.append(self.builder.apply(axes.broadcast_in_dim, value, **spread))
        return self.builder.apply(elementwise.multiply, *factors), letters

    def at_one_place(self, x: Atom, letters: str) -> Atom:
        """An array without axes of space as a result of one place."""
        kept = [letter for letter in self.out_letters if letter in letters]
        order = tuple(map(letters.index, kept))
        if order != tuple(range(len(order))):
            x = self.builder.apply(axes.transpose, x, permutation=order)
        shape = [1 if a in self.space else self.sizes[a] for a in self.out_letters]
        return self._reshaped(x, shape)

    def windows(self) -> tuple[Atom, str]:
        """All windows of the operand, and the letters of their axes: capital ones for taps."""
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


def _written_out(builder: Builder, x: Atom, w: Atom, params: dict[str, Any]) -> Atom:
    """The sum of every product, which fuses with what stands around it."""
    found = _Grouped(builder, x, w, params)
    sizes = dict(zip(found.w_letters, found.w.type.shape, strict=True))
    total: Atom | None = None
    for channel, *tap in np.ndindex(*(int(str(sizes[a])) for a in ("c", *found.space))):
        factors = found.tap(channel, tap), found.weight(channel, tap)
        term = builder.apply(elementwise.multiply, *factors)
        total = term if total is None else builder.apply(elementwise.add, total, term)
    if total is None:
        return _zeros(builder, found.shape, x.type.dtype)
    return found.result(total)


def _place_by_place(found: _Grouped) -> Atom:
    """For every place of the result the sum over its window: where windows are large and places are
    few, as in the gradient of weights of which each sees one feature."""
    builder = found.builder
    letters = "".join(a for a in found.x_letters if a not in (*found.space, "c")) + "o"
    parts = []
    for place in np.ndindex(*(int(str(found.sizes[a])) for a in found.space)):
        product_, order = found.window(place)
        over = tuple(k for k, a in enumerate(order) if a not in letters)
        total = builder.apply(reductions.reduce_sum, product_, axes=over)
        parts.append(found.at_one_place(total, letters))
    for axis in reversed(range(len(found.space))):
        size = int(str(found.sizes[found.space[axis]]))
        position = found.out_letters.index(found.space[axis])
        groups = [parts[k : k + size] for k in range(0, len(parts), size)]
        parts = [
            builder.apply(axes.concatenate, *group, dimension=position) if size > 1 else group[0]
            for group in groups
        ]
    return found.result(parts[0])


def _as_product(builder: Builder, x: Atom, w: Atom, params: dict[str, Any]) -> Atom:
    """The product of all windows with the weights."""
    found = _Grouped(builder, x, w, params)
    view, letters = found.windows()
    rank = len(found.x_letters)
    order = [a for a in found.x_letters if a in found.space]
    over_x = (letters.index("c"), *range(rank, rank + len(order)))
    over_w = tuple(map(found.w_letters.index, ("c", *order)))
    both = (letters.index("g"),), (found.w_letters.index("g"),)
    result = builder.apply(
        dot.dot_general, view, found.w, dimension_numbers=((over_x, over_w), both)
    )
    free = "g" + "".join(a for a in found.x_letters if a not in "gc") + "o"
    return found.result(found.placed(result, free))
