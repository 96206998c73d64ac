"""Elementwise functions that are not ufuncs: where, clip, round, nan_to_num, isclose and others."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.types import BOOL, FLOAT32, FLOAT64, is_bfloat16, kind_letter
from transpile.numpy.core.extensions import accepts_more
from transpile.numpy.core.promotion import (
    NOTHING,
    Array,
    DType,
    NumpyErrors,
    add_methods,
    as_array,
    as_operand,
    common_shape,
    convert,
    fill,
    fit,
    fit_all,
    implements,
    index_of,
    is_weak,
    refuse,
    result_dtype,
    strengthen,
    weaken,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.reductions import all as all_of
from transpile.numpy.core.ufuncs import call
from transpile.numpy.manipulation.shapes import imag, real
from transpile.primitives import elementwise as primitives
from transpile.trace.trace import bind
from transpile.trace.tracer import FUNCTIONS, Tracer, add_method


@accepts_more("size", "fill_value")
@implements(np.where)
def where(
    condition: Array,
    x: Any = NOTHING,
    y: Any = NOTHING,
    /,
    *,
    size: Any = None,
    fill_value: Any = None,
) -> Any:
    """Elements of x where the condition holds, else of y, in the dtype that x and y promote to; all
    three broadcast.

    Both are computed, and a derivative flows into the one that is chosen only. The condition alone
    gives the indices of its true elements, as `nonzero`.
    """
    if x is NOTHING and y is NOTHING:
        return FUNCTIONS[np.nonzero](condition, size=size, fill_value=fill_value)
    if x is NOTHING or y is NOTHING:
        raise located(ValueError, "either both or neither of x and y should be given")
    operands = [as_array(condition), as_operand(x), as_operand(y)]
    dtype = result_dtype(*operands[1:])
    shape = common_shape(*operands)
    choices = [fit(_chosen(v, dtype), shape, dtype) for v in operands[1:]]
    return bind(primitives.select, fit(operands[0], shape, BOOL), *choices)


def _chosen(value: Any, dtype: DType) -> Any:
    """A Python int as the installed NumPy's `where` reads it: one that the dtype cannot hold wraps
    around, and is an OverflowError from 2.5 on."""
    if type(value) is int and dtype.kind in "iu":
        with NumpyErrors():
            np.where(True, value, np.zeros((), dtype))
    return _wrapped(value, dtype)


def _wrapped(value: Any, dtype: DType) -> Any:
    """A Python int as `select` reads its default: one that the dtype cannot hold wraps around."""
    if type(value) is not int or dtype.kind not in "iu":
        return value
    array = np.asarray(value)
    return array.astype(dtype) if array.dtype.kind in "iu" else value


@implements(np.clip)
def clip(
    a: Array,
    a_min: Any = NOTHING,
    a_max: Any = NOTHING,
    out: Any = None,
    *,
    min: Any = NOTHING,
    max: Any = NOTHING,
    dtype: Any = None,
    **kwargs: Any,
) -> Any:
    """Each element limited to [a_min, a_max]: the maximum with a_min, then the minimum with a_max;
    None is no limit.

    So a_max wins where a_min is larger. NaN stays NaN. The dtype is promoted with the limits,
    Python ints beyond the dtype limit nothing.
    """
    kwargs.pop("casting", None)  # which is one of the result to `out`
    refuse("clip", out=out, **kwargs)
    if (min is not NOTHING or max is not NOTHING) and not (a_min is a_max is NOTHING):
        raise located(
            ValueError,
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is "
            "forbidden.",
        )
    if a_min is NOTHING and a_max is NOTHING:
        low, high = (None if v is NOTHING else v for v in (min, max))
    elif a_min is NOTHING or a_max is NOTHING:
        missing = "a_min" if a_min is NOTHING else "a_max"
        raise located(TypeError, f"clip() missing 1 required positional argument: '{missing}'")
    else:
        low, high = a_min, a_max
    x = as_array(a)
    if x.dtype.kind in "iu":  # a bound that no element can pass is none
        limits = np.iinfo(x.dtype)
        low = None if type(low) is int and low <= limits.min else low
        high = None if type(high) is int and high >= limits.max else high
    if low is None and high is None:
        return call(np.positive, x)
    bounds = [as_operand(v) for v in (low, high) if v is not None]
    if len(bounds) == 1:
        return call(np.maximum if high is None else np.minimum, x, bounds[0], dtype=dtype)
    if is_bfloat16(x.dtype):  # of which numpy.clip has no loop
        x = convert(x, FLOAT32)
    promoted = np.dtype(dtype) if dtype is not None else result_dtype(x, *bounds)
    values = fit_all((x, *bounds), (promoted,) * 3)
    return bind(primitives.minimum, bind(primitives.maximum, values[0], values[1]), values[2])


def _clip_method(
    x: Tracer, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any
) -> Any:
    """Each element limited to [min, max]; see `numpy.clip`."""
    return FUNCTIONS[np.clip](x, min, max, out=out, **kwargs)


@implements(np.round, np.around)
def round(a: Array, decimals: Any = 0, out: Any = None) -> Any:
    """Each element rounded to `decimals` decimal places, halves to even.

    As NumPy: scaled by a power of ten, rounded, scaled back, so that a product that overflows gives
    infinity. `decimals` must be known while tracing. Integers are rounded for negative `decimals`
    only. Raises TypeError for bools with decimals.
    """
    refuse("round", out=out)
    x = as_array(a)
    digits = index_of(decimals)
    if x.dtype.kind in "iu" and digits >= 0:
        return strengthen(x)
    if digits == 0:
        return call(np.rint, x)
    if x.dtype.kind == "c":
        return bind(primitives.make_complex, round(real(x), digits), round(imag(x), digits))
    scale = 10.0 ** abs(digits)
    first, second = (np.multiply, np.divide) if digits > 0 else (np.divide, np.multiply)
    if x.dtype == BOOL:
        raise located(
            TypeError,
            f"Cannot cast ufunc '{first.__name__}' output from dtype('float64') to dtype('bool') "
            "with casting rule 'same_kind'",
        )
    return convert(call(second, call(np.rint, call(first, x, scale)), scale), x.dtype)


@implements(np.fix)
def fix(x: Array, out: Any = None) -> Any:
    """Each element rounded towards zero; integers keep their dtype."""
    refuse("fix", out=out)
    return call(np.trunc, x)


@implements(np.nan_to_num)
def nan_to_num(
    x: Array, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Each NaN replaced by `nan`, and infinities by the largest and least numbers of the dtype or
    by those given; complex numbers part by part. Without `copy` in the array itself."""
    value = as_array(x)
    if not copy and isinstance(x, Tracer) and x.ndim:
        x[...] = nan_to_num(x, True, nan, posinf, neginf)
        return x
    if value.dtype.kind not in "fc":
        return strengthen(value)
    if value.dtype.kind == "c":
        parts = [nan_to_num(part(value), True, nan, posinf, neginf) for part in (real, imag)]
        return bind(primitives.make_complex, *parts)
    limits = np.finfo(value.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    result = where(call(np.isnan, value), convert(as_array(nan), value.dtype), value)
    result = where(call(np.equal, value, np.inf), convert(as_array(high), value.dtype), result)
    return where(call(np.equal, value, -np.inf), convert(as_array(low), value.dtype), result)


@implements(np.isclose)
def isclose(a: Array, b: Array, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Whether |a - b| <= atol + rtol |b| element by element, or a equals b; not symmetric in a and
    b.

    NaN is close to nothing, and to NaN with `equal_nan`.
    """
    x, y = as_array(a), as_operand(b)
    if not is_weak(y):
        y = convert(as_array(y), result_dtype(as_array(y), 1.0))
    elif not isinstance(y, Tracer):
        y = y if type(y) is complex else float(y)
    elif y.dtype.kind not in "fc":
        y = weaken(convert(y, FLOAT64))
    distance = call(np.absolute, call(np.subtract, x, y))
    allowed = as_operand(atol) + as_operand(rtol) * abs(y)
    near = call(np.less_equal, distance, allowed)
    finite = call(np.isfinite, y) if isinstance(y, Tracer) else np.isfinite(y)
    result = call(np.logical_or, call(np.logical_and, near, finite), call(np.equal, x, y))
    if equal_nan:
        nan_x, nan_y = (call(np.isnan, v) if isinstance(v, Tracer) else np.isnan(v) for v in (x, y))
        result = call(np.logical_or, result, call(np.logical_and, *_traced_first(nan_x, nan_y)))
    return result


def _traced_first(x: Any, y: Any) -> tuple[Any, Any]:
    return (x, y) if isinstance(x, Tracer) else (y, x)


@implements(np.allclose)
def allclose(
    a: Array, b: Array, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> Any:
    """Whether all elements are close as `isclose` says: a traced bool, which cannot be the test of
    an `if`."""
    return all_of(isclose(a, b, rtol, atol, equal_nan))


@implements(np.array_equal)
def array_equal(a1: Array, a2: Array, equal_nan: bool = False) -> Any:
    """Whether all elements are equal: a traced bool, or the Python False where the shapes
    differ."""
    x, y = as_array(a1), as_array(a2)
    if tuple(x.shape) != tuple(y.shape):
        return False
    same = call(np.equal, x, y)
    if equal_nan:
        both = call(np.logical_and, call(np.not_equal, x, x), call(np.not_equal, y, y))
        same = call(np.logical_or, same, both)
    return all_of(same)


@implements(np.angle)
def angle(z: Array, deg: bool = False) -> Any:
    """The argument of each complex number in (-pi, pi], by atan2; in degrees with `deg`."""
    value = as_array(z)
    if value.dtype.kind != "c":
        result = call(np.arctan2, 0, value)
    else:
        result = call(np.arctan2, imag(value), real(value))
    return convert(call(np.multiply, result, 180 / np.pi), result.dtype) if deg else result


@implements(np.isreal)
def isreal(x: Array) -> Any:
    """Whether the imaginary part of each element is zero."""
    return call(np.equal, imag(x), 0)


@implements(np.iscomplex)
def iscomplex(x: Array) -> Any:
    """Whether the imaginary part of each element is not zero; False for real dtypes."""
    value = as_array(x)
    if value.dtype.kind != "c":
        return fill(False, value.shape, BOOL)
    return call(np.not_equal, imag(value), 0)


@implements(np.real_if_close)
def real_if_close(a: Array, tol: Any = 100) -> Any:
    """The array itself, whose dtype stays complex: that all imaginary parts are small is only known
    at run time."""
    return strengthen(as_array(a))


def _is_infinite(x: Array, negative: bool) -> Any:
    value = as_array(x)
    if value.dtype.kind == "c":
        raise located(
            TypeError,
            f"This operation is not supported for {value.dtype.name} values because it would be "
            "ambiguous.",
        )
    if kind_letter(value.dtype) != "f":
        return fill(False, value.shape, BOOL)
    return call(np.equal, value, -np.inf if negative else np.inf)


@implements(np.isposinf)
def isposinf(x: Array, out: Any = None) -> Any:
    """Whether each element is plus infinity; raises TypeError for complex dtypes."""
    refuse("isposinf", out=out)
    return _is_infinite(x, False)


@implements(np.isneginf)
def isneginf(x: Array, out: Any = None) -> Any:
    """Whether each element is minus infinity; raises TypeError for complex dtypes."""
    refuse("isneginf", out=out)
    return _is_infinite(x, True)


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Each element from the first choice whose condition holds, else from `default`; all broadcast,
    and the dtype is what choices and default promote to.

    All choices are computed. Raises TypeError for conditions that are not bools, and ValueError for
    no conditions or unequal lengths of the lists.
    """
    if len(condlist) != len(choicelist):
        raise located(ValueError, "list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise located(ValueError, "select with an empty condition list is not possible")
    conditions = [as_array(c) for c in condlist]
    if any(c.dtype != BOOL for c in conditions):
        raise located(TypeError, "the conditions of numpy.select must be bool arrays")
    choices = [as_operand(c) for c in (*choicelist, default)]
    dtype = result_dtype(*choices)
    shape = common_shape(*conditions, *choices)
    choices[-1] = _wrapped(choices[-1], dtype)
    values = [fit(c, shape, dtype) for c in choices]
    result = values[-1]
    for condition, value in reversed(list(zip(conditions, values, strict=False))):
        result = bind(primitives.select, fit(condition, shape, BOOL), value, result)
    return result


add_method("clip", _clip_method)
add_methods(np.round)
