"""Functions of angles, of complex numbers that are nearly real, and the Bessel function i0."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.types import FLOAT64
from transpile.numpy.core.elementwise import where
from transpile.numpy.core.promotion import (
    Array,
    as_array,
    axis_of,
    concatenate_along,
    convert,
    implements,
    result_dtype,
    slice_axis,
    strengthen,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.scans import cumsum
from transpile.numpy.core.ufuncs import call
from transpile.numpy.math.bessel import LARGE, SMALL
from transpile.numpy.math.calculus import diff


@implements(np.unwrap)
def unwrap(p: Array, discont: Any = None, axis: Any = -1, *, period: Any = 2 * np.pi) -> Any:
    """The phases along an axis with multiples of the period added, so that neighbours differ by at
    most half a period.

    A difference smaller than `discont` stays as it is. Raises ValueError for scalars.
    """
    x = as_array(p)
    if x.ndim == 0:
        raise located(ValueError, "diff requires input that is at least one dimensional")
    number = axis_of(axis, x.ndim)
    size = x.shape[number]
    steps = diff(x, axis=number)
    dtype = result_dtype(steps, period)
    jump = period / 2 if discont is None else discont
    if dtype.kind in "iu":
        high, rest = divmod(period, 2)
        is_ambiguous = rest == 0
    else:
        high, is_ambiguous = period / 2, True
    wrapped = call(np.add, call(np.remainder, call(np.subtract, steps, -high), period), -high)
    if is_ambiguous:
        at_the_edge = call(
            np.logical_and, call(np.equal, wrapped, -high), call(np.greater, steps, 0)
        )
        wrapped = where(at_the_edge, convert(as_array(high), wrapped.dtype), wrapped)
    correction = call(np.subtract, wrapped, steps)
    is_small = call(np.less, call(np.absolute, steps), jump)
    correction = where(is_small, np.zeros((), correction.dtype), correction)
    first = convert(slice_axis(x, number, 0, min(size, 1)), dtype)
    if size < 2:
        return strengthen(first)
    later = call(np.add, slice_axis(x, number, 1, size), cumsum(correction, number))
    return concatenate_along([first, convert(later, dtype)], number)


@implements(np.real_if_close)
def real_if_close(a: Array, tol: Any = 100) -> Any:
    """The array itself, whose dtype stays complex: that all imaginary parts are small is only known
    at run time."""
    return strengthen(as_array(a))


# ----------------------------------------------------------------------------------------- Bessel


@implements(np.i0)
def i0(x: Array) -> Any:
    """The modified Bessel function of the first kind of order 0, in the dtype of floats and float64
    for integers.

    Chebyshev series up to 8 and beyond, summed by C. Clenshaw's recurrence (A Note on the Summation
    of Chebyshev Series, 1955). Raises TypeError for complex numbers.
    """
    value = as_array(x)
    if value.dtype.kind == "c":
        raise located(TypeError, "i0 not supported for complex values")
    if value.dtype.kind != "f":
        value = convert(value, FLOAT64)
    size = call(np.absolute, value)
    is_small = call(np.less_equal, size, 8.0)
    near = _chebyshev(call(np.subtract, call(np.divide, size, 4.0), 1.0), SMALL)
    # Not the size itself, whose zero would make the derivative of what is not chosen NaN.
    far_size = where(is_small, size.dtype.type(8), size)
    far = _chebyshev(call(np.subtract, call(np.divide, 16.0, far_size), 1.0), LARGE)
    scaled = where(is_small, near, call(np.divide, far, call(np.sqrt, far_size)))
    return call(np.multiply, call(np.exp, size), scaled)


def _chebyshev(t: Any, coefficients: tuple[float, ...]) -> Any:
    """The sum of c[k] T_k(t), by Clenshaw's recurrence."""
    before = after = np.zeros((), t.dtype)
    twice = call(np.multiply, 2.0, t)
    for c in coefficients[:0:-1]:
        step = call(np.multiply, twice, before)
        before, after = call(np.add, call(np.subtract, step, after), t.dtype.type(c)), before
    last = call(np.subtract, call(np.multiply, t, before), after)
    return call(np.add, last, t.dtype.type(coefficients[0]))
