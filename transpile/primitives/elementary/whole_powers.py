"""Powers whose exponents were integers.

To JAX the derivative of x**n for an integer n = 0 is 0, at x = 0 and NaN too; that of x**y for a
float y = 0 is y x**(y - 1), and NaN there. Converted to the base's dtype both are one primitive.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.primitives import elementwise
from transpile.primitives.elementary.primitives import power
from transpile.trace.trace import bind


def whole_power(x: Any, n: Any) -> Any:
    """x**n of operands of one dtype and shape, where n holds integers: flat in x where n is 0."""
    one = np.ones((), x.dtype)
    is_zero = bind(elementwise.equal, n, np.zeros((), x.dtype))
    return bind(
        elementwise.select, is_zero, one, bind(power, x, bind(elementwise.select, is_zero, one, n))
    )
