"""Contractions, convolutions, Fourier transforms, and the two factorisations of XLA's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile import lax
from transpile.hlo.module import Labels, Window
from transpile.hlo_import.context import Call, Rules


def dot(call: Call, x: Any, y: Any) -> Any:
    """A contraction, in the dtype of the result."""
    contracting = (call.axes("lhs_contracting_dims"), call.axes("rhs_contracting_dims"))
    batch = (call.axes("lhs_batch_dims"), call.axes("rhs_batch_dims"))
    dtype = call.instruction.dtype
    if x.dtype != y.dtype:
        x, y = (lax.convert_element_type(v, dtype) for v in (x, y))
    preferred = None if x.dtype == dtype else dtype
    return lax.dot_general(x, y, (contracting, batch), preferred_element_type=preferred)


def convolution(call: Call, x: Any, w: Any) -> Any:
    """With strides, padding, dilations and groups."""
    window, labels = call.get("window", Window), call.get("dim_labels", Labels)
    dtype = call.instruction.dtype
    if x.dtype != w.dtype:
        x, w = (lax.convert_element_type(v, dtype) for v in (x, w))
    return lax.conv_general_dilated(
        x,
        w,
        window.stride,
        window.padding,
        window.base_dilation,
        window.window_dilation,
        lax.ConvDimensionNumbers(labels.array, labels.kernel, labels.result),
        call.get("feature_group_count", int, 1),
        call.get("batch_group_count", int, 1),
        preferred_element_type=None if x.dtype == dtype else dtype,
    )


def fft(call: Call, x: Any) -> Any:
    """Over the last axes."""
    kind = call.get("fft_type", str)
    if kind not in ("FFT", "IFFT", "RFFT", "IRFFT"):
        raise call.fail(f"there is no transform {kind}")
    return lax.fft(x, kind, call.axes("fft_length"))


def cholesky(call: Call, x: Any) -> Any:
    """The factor, of which XLA defines one triangle: the other is 0 here."""
    if call.get("lower", bool, False):
        return lax.linalg.cholesky(x, symmetrize_input=False)
    swap = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    factor = lax.linalg.cholesky(_conjugate(lax.transpose(x, swap)), symmetrize_input=False)
    return _conjugate(lax.transpose(factor, swap))


def _conjugate(x: Any) -> Any:
    return lax.conj(x) if x.dtype.kind == "c" else x


def triangular_solve(call: Call, a: Any, b: Any) -> Any:
    """The solution of a system with a triangular matrix."""
    form = call.get("transpose_a", str, "NO_TRANSPOSE")
    if form not in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"):
        raise call.fail(f"there is no transpose {form}")
    return lax.linalg.triangular_solve(
        a,
        b,
        left_side=call.get("left_side", bool, False),
        lower=call.get("lower", bool, False),
        transpose_a=form != "NO_TRANSPOSE",
        conjugate_a=form == "ADJOINT" and np.dtype(a.dtype).kind == "c",
        unit_diagonal=call.get("unit_diagonal", bool, False),
    )


RULES: Rules = {
    "cholesky": cholesky,
    "convolution": convolution,
    "dot": dot,
    "fft": fft,
    "triangular-solve": triangular_solve,
}
