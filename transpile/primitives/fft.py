"""The row of Fourier transforms, as `jax.lax.fft`, along any axes and with any factor."""

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
        raise TypeError(f"{fft_type} takes no {x}")
    several = fft_type in ("fft", "ifft")
    if len(axes) != len(fft_lengths) or not axes or len(set(axes)) > (x.ndim if several else 1):
        raise TypeError(f"{fft_type} of lengths {fft_lengths} along axes {axes} of {x}")
    shape = list(x.shape)
    for axis, n in zip(axes, fft_lengths, strict=True):
        if n < 1 or x.shape[axis] != (n // 2 + 1 if fft_type == "irfft" else n):
            raise TypeError(f"{fft_type} of length {n} along axis {axis} of {x}")
        shape[axis] = n // 2 + 1 if fft_type == "rfft" else n
    dtype = real if fft_type == "irfft" else np.dtype(f"c{2 * real.itemsize}")
    return ArrayType(tuple(shape), dtype)


def _fft(x: Any, *, fft_type: str, fft_lengths: tuple[int, ...], axes: Axes, scale: float) -> Any:
    """The sums without a factor, times `scale`."""
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


def _ends(n: int, axis: int, ndim: int, between: float, dtype: np.dtype[Any]) -> Any:
    """For the half of a spectrum: 1 for what stands in it once (the constant, and at an even length
    the highest frequency), `between` for the others."""
    weights = np.full(n // 2 + 1, between, real_dtype(dtype))
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    return weights.reshape([-1 if a == axis else 1 for a in range(ndim)])


def _fft_transpose(
    ct: Any, x: Linear, *, fft_type: str, fft_lengths: tuple[int, ...], axes: Axes, scale: float
) -> list[Any]:
    """The matrix of a transform is symmetric; those of half a spectrum count it from both sides."""
    params: dict[str, Any] = {"fft_lengths": fft_lengths, "axes": axes, "scale": scale}
    if fft_type == "rfft":
        weights = _ends(fft_lengths[0], axes[0], ct.ndim, 0.5, ct.dtype)
        return [apply("fft", np.conjugate(ct) * weights, fft_type="irfft", **params)]
    if fft_type == "irfft":
        found = apply("fft", ct, fft_type="rfft", **params)
        weights = _ends(fft_lengths[0], axes[0], ct.ndim, 2, found.dtype)
        return [np.conjugate(found) * weights]
    found = apply("fft", ct, fft_type=fft_type, **params)
    return [found if x.type.dtype.kind == "c" else np.real(found)]


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
