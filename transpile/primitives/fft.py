"""Discrete Fourier transforms, complex and real, as `jax.lax.fft` but along any axes, with a scale.

`rfft` gives the half of a spectrum that determines a real signal's, `irfft` reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.primitive import Axis, Linear, Primitive, register
from transpile.ir.types import ArrayType, real_dtype
from transpile.primitives.rules import apply, linear

Axes = tuple[int, ...]


def _fft_type(
    x: ArrayType, *, fft_type: str, fft_lengths: tuple[int, ...], axes: Axes, scale: float
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
        if n < 1 or x.shape[axis] != (n // 2 + 1 if fft_type == "irfft" else n):
            raise TypeError(f"{x} has no {fft_type} of length {n} along axis {axis}")
        shape[axis] = n // 2 + 1 if fft_type == "rfft" else n
    dtype = real if fft_type == "irfft" else np.dtype(f"c{2 * real.itemsize}")
    return ArrayType(tuple(shape), dtype)


def _fft(x: Any, *, fft_type: str, fft_lengths: tuple[int, ...], axes: Axes, scale: float) -> Any:
    """The unnormalised transform times `scale`."""
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


def _half_weights(n: int, axis: int, ndim: int, inner: float, dtype: np.dtype[Any]) -> Any:
    """Weights of a half spectrum: 1 for frequencies that are their own conjugates (zero, and the
    Nyquist frequency of an even length), `inner` for the others."""
    weights = np.full(n // 2 + 1, inner, real_dtype(dtype))
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    return weights.reshape([-1 if a == axis else 1 for a in range(ndim)])


def _fft_transpose(
    ct: Any, x: Linear, *, fft_type: str, fft_lengths: tuple[int, ...], axes: Axes, scale: float
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
