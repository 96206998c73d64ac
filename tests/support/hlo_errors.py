"""What errors of expansions are relative to, and which functions lose digits."""

import numpy as np

from transpile.ir.types import finfo

# Sums of terms of about 1 that cancel near zeros of the result. The zeta function of negative
# numbers is such a sum, and so is polygamma.
CANCEL = {"cosine_integral", "logaddexp", "logaddexp2"}
CANCEL_BELOW_ZERO = {"polygamma", "zeta"}
# Of orders above 170 polygamma is the exponential of logarithms in the thousands.
LOSES = {"polygamma": 10}


def scale(name, operands, want):
    """What the errors of a result are relative to: its size, or that of the terms that cancel."""
    least = np.full(want.shape, 1.0 if name in CANCEL else float(finfo(want.dtype).tiny))
    if name in CANCEL_BELOW_ZERO:
        least[operands[-1] < 0] = 1
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    return np.maximum(np.abs(want.astype(wide)), least)
