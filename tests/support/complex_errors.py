"""Errors of complex numbers, relative to their size."""

from __future__ import annotations

import numpy as np


def within_relative(got, want, ulps, size=0.0):
    """Where complex numbers are near: relative to their size, or to `size` where that is larger;
    infinities and NaN alike."""
    got, want = np.asarray(got), np.asarray(want)
    limit = ulps * np.finfo(got.dtype).eps
    with np.errstate(all="ignore"):
        scale = np.maximum(np.abs(want), size)
        near = np.abs(got - want) <= limit * scale + np.finfo(got.dtype).tiny
        alike = same_kind(got.real, want.real) & same_kind(got.imag, want.imag)
    return near | (alike & ~np.isfinite(want)) | (np.isnan(got) & np.isnan(want))


def same_kind(got, want):
    """Where both parts are NaN, or the same infinity, or finite."""
    finite = np.isfinite(got) & np.isfinite(want)
    return finite | ((got == want) & np.isinf(want)) | (np.isnan(got) & np.isnan(want))
