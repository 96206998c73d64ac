"""Discrete Fourier transforms, complex and real, as `jax.lax.fft` but along any axes, with a scale.

`rfft` gives the half of a spectrum that determines a real signal's, `irfft` reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Index, Shape, evaluate
from transpile.ir.primitive import Axis, Linear, Primitive, register
from transpile.ir.types import INT64, ArrayType, real_dtype
from transpile.primitives.rules import apply, linear
from transpile.util.frozen_records import dataclass, replace

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Normalization:
    """The scale `factor / divisor` of a transform, or with `root` that by the square root of the
    divisor, where this depends on runtime sizes."""

    factor: float
    divisor: Index
    root: bool

    def __mul__(self, other: float | Normalization) -> Normalization:
        """The scale of transforms that are one, which have norms of the same name."""
        if isinstance(other, float):
            return replace(self, factor=self.factor * other)
        return Normalization(self.factor * other.factor, self.divisor * other.divisor, self.root)

    def __str__(self) -> str:
        return f"{self.factor} / {'sqrt' * self.root}({self.divisor})"


def _fft_type(
    x: ArrayType, *, fft_type: str, fft_lengths: Shape, axes: Axes, scale: float | Normalization
) -> ArrayType:
    real = real_dtype(x.dtype)
    kinds = {"fft": "fc", "ifft": "fc", "rfft": "f", "irfft": "c"}[fft_type]
    if x.dtype.kind not in kinds:
        raise TypeError(f"{fft_type} does not take {x}")
    several = fft_type in ("fft", "ifft")
    if len(axes) != len(fft_lengths) or not axes or len(set(axes)) > (x.ndim if several else 1):
        raise TypeError(f"{x} has no {fft_type} of lengths {fft_lengths} along axes {axes}")
    shape = list(x.shape)
    for axis, n in zip(axes, fft_lengths, strict=True):
        is_too_short = isinstance(n, int) and n < 1  # of runtime sizes the call has checked it
        if is_too_short or x.shape[axis] != (n // 2 + 1 if fft_type == "irfft" else n):
            raise TypeError(f"{x} has no {fft_type} of length {n} along axis {axis}")
        shape[axis] = n // 2 + 1 if fft_type == "rfft" else n
    dtype = real if fft_type == "irfft" else np.dtype(f"c{2 * real.itemsize}")
    return ArrayType(tuple(shape), dtype)


def _fft(
    x: Any, *, fft_type: str, fft_lengths: Shape, axes: Axes, scale: float | Normalization
) -> Any:
    """The unnormalised transform times `scale`."""
    if isinstance(scale, Normalization):
        divisor = evaluate(scale.divisor, {})
        scale = scale.factor / (divisor**0.5 if scale.root else divisor)
    dtype = _fft_type(
        ArrayType(np.shape(x), x.dtype),
        fft_type=fft_type,
        fft_lengths=fft_lengths,
        axes=axes,
        scale=scale,
    ).dtype
    norm = "backward" if fft_type in ("fft", "rfft") else "forward"
    for axis, n in reversed(list(zip(axes, fft_lengths, strict=True))):
        x = getattr(np.fft, fft_type)(x, n, axis, norm)
    x = x.astype(dtype, copy=False)
    return x if scale == 1 else x * real_dtype(dtype).type(scale)


def _half_weights(n: Index, axis: int, ndim: int, inner: float, dtype: np.dtype[Any]) -> Any:
    """Weights of a half spectrum: 1 for frequencies that are their own conjugates (zero, and the
    Nyquist frequency of an even length), `inner` for the others."""
    count = n // 2 + 1
    real = real_dtype(dtype)
    if isinstance(n, int):
        weights = np.full(count, inner, real)
        weights[0] = 1
        if n % 2 == 0:
            weights[-1] = 1
        return weights.reshape([-1 if a == axis else 1 for a in range(ndim)])
    shape = tuple(count if a == axis else 1 for a in range(ndim))
    k = apply("iota", shape=shape, dimension=axis, dtype=INT64)
    return np.where((k == 0) | (2 * k == n), real.type(1), real.type(inner))


def _fft_transpose(
    ct: Any,
    x: Linear,
    *,
    fft_type: str,
    fft_lengths: Shape,
    axes: Axes,
    scale: float | Normalization,
) -> list[Any]:
    """The matrix of a complex transform is symmetric. `rfft` and `irfft` are each other's
    transposes but for the weights of frequencies that a half spectrum leaves out."""
    params: dict[str, Any] = {"fft_lengths": fft_lengths, "axes": axes, "scale": scale}
    if fft_type == "rfft":
        weights = _half_weights(fft_lengths[0], axes[0], ct.ndim, 0.5, ct.dtype)
        return [apply("fft", np.conjugate(ct) * weights, fft_type="irfft", **params)]
    if fft_type == "irfft":
        transformed = apply("fft", ct, fft_type="rfft", **params)
        weights = _half_weights(fft_lengths[0], axes[0], ct.ndim, 2, transformed.dtype)
        return [np.conjugate(transformed) * weights]
    transformed = apply("fft", ct, fft_type=fft_type, **params)
    return [transformed if x.type.dtype.kind == "c" else np.real(transformed)]


def _fft_batch(_: Axis, __: Sequence[bool], x: Any, *, axes: Axes, **params: Any) -> Any:
    return apply("fft", x, axes=tuple(a + 1 for a in axes), **params), True


fft = register(
    Primitive(
        "fft",
        "fft",
        _fft,
        _fft_type,
        dtypes="fc",
        jvp=linear("fft"),
        transpose=_fft_transpose,
        batch=_fft_batch,
    )
)
