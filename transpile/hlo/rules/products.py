"""Contractions, convolutions and Fourier transforms."""

from __future__ import annotations

import math

import numpy as np

from transpile.hlo.builder import Builder, Rules
from transpile.hlo.module import Instruction, Labels, Window
from transpile.ir.graph import Equation
from transpile.ir.primitive import inverse
from transpile.ir.types import ArrayType, computed_dtype

MOST_AXES = 3  # of one transform of XLA


def dot(b: Builder, equation: Equation, x: Instruction, y: Instruction) -> Instruction:
    """A contraction; of bools whether any product is true."""
    (cx, cy), (bx, by) = equation.params["dimension_numbers"]
    kind = equation.output.type.strong
    wide = np.dtype("int32") if kind.dtype.kind == "b" else computed_dtype(kind.dtype)
    result = b.add(
        "dot",
        ArrayType(kind.shape, wide),
        b.convert(x, wide),
        b.convert(y, wide),
        lhs_batch_dims=tuple(bx),
        lhs_contracting_dims=tuple(cx),
        rhs_batch_dims=tuple(by),
        rhs_contracting_dims=tuple(cy),
    )
    if kind.dtype.kind == "b":
        return b.compare("NE", result, b.splat(0, result.array))
    return b.convert(result, kind.dtype)


def convolution(b: Builder, equation: Equation, x: Instruction, w: Instruction) -> Instruction:
    """With strides, padding, dilations and groups."""
    params, kind = equation.params, equation.output.type.strong
    array, kernel, result = params["dimension_numbers"]
    wide = computed_dtype(kind.dtype)
    window = Window(
        tuple(w.shape[a] for a in kernel[2:]),
        tuple(params["window_strides"]),
        tuple(tuple(p) for p in params["padding"]),
        tuple(params["lhs_dilation"]),
        tuple(params["rhs_dilation"]),
    )
    done = b.add(
        "convolution",
        ArrayType(kind.shape, wide),
        b.convert(x, wide),
        b.convert(w, wide),
        window=window,
        dim_labels=Labels(tuple(array), tuple(kernel), tuple(result)),
        feature_group_count=params["feature_group_count"],
        batch_group_count=params["batch_group_count"],
    )
    return b.convert(done, kind.dtype)


def fft(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """XLA transforms the last axes, at most three at a time, and divides what it transforms back
    by their lengths; here results are not divided, but scaled."""
    params, name = equation.params, equation.params["fft_type"]
    axes, lengths = list(params["axes"]), list(params["fft_lengths"])
    scale, kind = params["scale"], equation.output.type
    if name in ("fft", "ifft"):
        x = b.convert(x, kind.dtype)
    if name in ("ifft", "irfft"):
        scale = scale * math.prod(lengths)
    while axes:
        few, axes = axes[-MOST_AXES:], axes[:-MOST_AXES]
        counts, lengths = lengths[-MOST_AXES:], lengths[:-MOST_AXES]
        order = (*(a for a in range(len(x.shape)) if a not in few), *few)
        moved = b.transpose(x, order)
        shape = moved.shape[: -len(few)] + _lengths(name, counts)
        done = b.add(
            "fft", ArrayType(shape, kind.dtype), moved,
            fft_type=name.upper(), fft_length=tuple(counts),
        )  # fmt: skip
        x = b.transpose(done, inverse(order))
    return x if scale == 1 else b.same("multiply", x, b.splat(scale, x.array))


def _lengths(name: str, counts: list[int]) -> tuple[int, ...]:
    """The lengths of the transformed axes of the result."""
    return (*counts[:-1], counts[-1] // 2 + 1) if name == "rfft" else tuple(counts)


RULES: Rules = {"conv_general_dilated": convolution, "dot_general": dot, "fft": fft}
