"""What errors of expansions are relative to, and which functions lose digits."""

import numpy as np

from transpile.ir.types import finfo
from transpile.primitives.reference.threefry import threefry

# Sums of terms of about 1 that cancel near zeros of the result. The zeta function of negative
# numbers is such a sum, and so is polygamma.
CANCEL = {"cosine_integral", "logaddexp", "logaddexp2"}
CANCEL_BELOW_ZERO = {"polygamma", "zeta"}
# How many times the usual error: where these are exponentials of logarithms in the hundreds.
LOSES = {"igamma": 4, "igamma_grad_a": 4, "igammac": 4, "polygamma": 10}


def scale(name, operands, want):
    """What the errors of a result are relative to: its size, or that of the terms that cancel."""
    least = np.full(want.shape, 1.0 if name in CANCEL else float(finfo(want.dtype).tiny))
    if name in CANCEL_BELOW_ZERO:
        least[operands[-1] < 0] = 1
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    size = np.abs(want.astype(wide))
    if name == "fft":  # each element is a sum of all
        least = np.maximum(least, size.max(initial=0, where=np.isfinite(size)))
    return np.maximum(size, least)


def gamma_samples(dtype):
    """Parameters of all sizes, and those that are none, and a key for each."""
    parameters = [1e-300, 1e-8, 0.01, 0.3, 0.99, 1.0, 1.01, 2.5, 30.0, 1e4, 1e30]
    parameters += [0.0, -0.0, -0.5, -1.0, -7.0, np.inf, -np.inf, np.nan]
    with np.errstate(over="ignore"):
        alpha = np.repeat(np.array(parameters, dtype), 100)
    return [alpha, threefry(11, np.arange(alpha.size))]
