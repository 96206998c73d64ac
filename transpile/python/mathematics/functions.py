"""`math` and `cmath` of traced numbers, in doubles and integers of 64 bits.

Where Python raises ValueError or OverflowError for a number outside of a function's domain, the
result is NaN or infinite, as NumPy's is; with `check_arithmetic` the program raises it.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from functools import reduce, wraps
from typing import Any

import numpy as np

from transpile import lax
from transpile.ir.types import INT64
from transpile.numpy.core.promotion import weaken
from transpile.python.mathematics.exact_sums import exact_sum
from transpile.python.semantics.iterables import range_, traced_array
from transpile.python.semantics.loops import for_
from transpile.python.semantics.numbers import any_unknown, as_complex, as_float, as_integer
from transpile.scipy.special.gammas import gamma, gammaln
from transpile.trace.bytecode.handlers import tests_of_arithmetic
from transpile.trace.tracer import Tracer

Function = Callable[..., Any]


def _where_traced(original: Function, ours: Function) -> Function:
    """Ours of traced numbers, and Python's of others."""

    @wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        is_ours = any_unknown(args) or any_unknown(kwargs.values())
        tests = tests_of_arithmetic() if is_ours else None
        if tests is not None:
            return _checked(tests, original, ours, args, kwargs)
        return (ours if is_ours else original)(*args, **kwargs)

    return call


def _checked(
    tests: Any, original: Function, ours: Function, args: Any, kwargs: dict[str, Any]
) -> Any:
    """Ours, with Python's exceptions."""
    if original in _ROUNDING:
        tests.check_integer(original, *args)
    elif original in _COUNTS:
        tests.check_count(original, args, _COUNTS[original])
    result = ours(*args, **kwargs)
    if original in _FAILING:
        domain, range_ = _FAILING[original]
        tests.check_function(original, args, result, domain, range_)
    return result


def _of_floats(function: Function, result: Function = as_float) -> Function:
    return lambda *args: result(function(*map(as_float, args)))


def _of_complex(function: Function, result: Function = as_complex) -> Function:
    return lambda z: result(function(as_complex(z)))


def _integer(value: Any) -> Any:
    """A traced or known integer."""
    if np.result_type(value).kind not in "biu":
        raise TypeError("'float' object cannot be interpreted as an integer")
    return as_integer(value)


def _truth(value: Any) -> Any:
    return value


def _to_integer(rounded: Function) -> Function:
    """`floor`, `ceil` or `trunc`, which leave integers as they are."""

    def call(x: Any) -> Any:
        return as_integer(x if np.result_type(x).kind in "biu" else rounded(as_float(x)))

    return call


# ----------------------------------------------------------------------------------------- floats


def _log(x: Any, base: Any = math.e) -> Any:
    numerator = np.log(as_float(x))
    return as_float(numerator if base is math.e else numerator / np.log(as_float(base)))


def _remainder(x: Any, y: Any) -> Any:
    """The IEEE 754 remainder, which is exact: by comparisons, as in Python's `mathmodule.c`."""
    x, y = as_float(x), as_float(y)
    divisor = np.abs(y)
    rest = np.fmod(np.abs(x), divisor)
    other = divisor - rest
    even = rest - 2.0 * np.fmod(0.5 * (np.abs(x) - rest), divisor)
    magnitude = np.where(rest < other, rest, np.where(rest > other, -other, even))
    finite = np.where(np.isinf(divisor) & np.isfinite(x), x, np.copysign(1.0, x) * magnitude)
    return as_float(np.where(np.isnan(y), y, finite))


def _modf(x: Any) -> Any:
    return tuple(map(as_float, np.modf(as_float(x))))


def _frexp(x: Any) -> Any:
    mantissa, exponent = np.frexp(as_float(x))
    return as_float(mantissa), as_integer(exponent)


def _ldexp(x: Any, exponent: Any) -> Any:
    return as_float(np.ldexp(as_float(x), _integer(exponent)))


def _hypot(*coordinates: Any) -> Any:
    return as_float(reduce(np.hypot, map(as_float, coordinates), 0.0))


def _dist(p: Any, q: Any) -> Any:
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return _hypot(*[as_float(a) - as_float(b) for a, b in zip(p, q, strict=True)])


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-9, abs_tol: Any = 0.0) -> Any:
    return _is_close(as_float(a), as_float(b), rel_tol, abs_tol)


def _complex_isclose(a: Any, b: Any, *, rel_tol: Any = 1e-9, abs_tol: Any = 0.0) -> Any:
    return _is_close(as_complex(a), as_complex(b), rel_tol, abs_tol)


def _is_close(a: Any, b: Any, rel_tol: Any, abs_tol: Any) -> Any:
    tolerance = np.maximum(rel_tol * np.maximum(np.abs(a), np.abs(b)), abs_tol)
    is_infinite = np.isinf(a) | np.isinf(b)
    return (a == b) | (~is_infinite & (np.abs(a - b) <= tolerance))


# --------------------------------------------------------------------------------------- integers


def _folded(function: Function) -> Function:
    """`gcd` or `lcm`, of any number of integers."""
    return lambda *args: as_integer(reduce(function, map(_integer, args)))


def _wrapped(number: int) -> int:
    """An integer in 64 bits."""
    return (number + 2**63) % 2**64 - 2**63


# 66! and all behind it are multiples of 2**64.
_FACTORIALS = np.array([_wrapped(math.factorial(n)) for n in range(67)], INT64)


def _factorial(n: Any) -> Any:
    return as_integer(traced_array(_FACTORIALS)[np.clip(_integer(n), 0, len(_FACTORIALS) - 1)])


def _comb(n: Any, k: Any) -> Any:
    n, k = _integer(n), _integer(k)

    def step(i: Any, result: Any) -> tuple[Any]:
        return (result * (n - i) // (i + 1),)

    fewer = range_(np.minimum(k, n - k))
    (result,) = for_(fewer, step, (), ("the result",), (1,))
    return as_integer(np.where(k > n, 0, result))


def _perm(n: Any, k: Any = None) -> Any:
    if k is None:
        return _factorial(n)
    n, k = _integer(n), _integer(k)
    (result,) = for_(range_(k), lambda i, product: (product * (n - i),), (), ("the result",), (1,))
    return as_integer(np.where(k > n, 0, result))


def _isqrt(n: Any) -> Any:
    """The root of the nearest double is off by one at most; no square is computed that is larger
    than `n`, and might wrap around."""
    n = _integer(n)
    root = np.maximum(as_integer(np.floor(np.sqrt(as_float(n)))), 1)
    root = np.where(root > n // root, root - 1, root)
    root = np.where(root + 1 <= n // (root + 1), root + 1, root)
    return as_integer(np.where(n == 0, 0, root))


def _prod(iterable: Any, *, start: Any = 1) -> Any:
    product = start
    for item in iterable:
        product = product * item
    return product


def _fsum(iterable: Any) -> Any:
    if not isinstance(iterable, Tracer):
        items = list(iterable)
        if not any_unknown(items):
            return math.fsum(items)
        iterable = np.stack([as_float(item) for item in items])
    return weaken(exact_sum(np.reshape(iterable.astype(np.float64), -1)))


# ---------------------------------------------------------------------------------- complex numbers


def _complex_log(z: Any, base: Any = math.e) -> Any:
    logarithm = np.log(as_complex(z))
    return as_complex(logarithm if base is math.e else logarithm / np.log(as_complex(base)))


def _polar(z: Any) -> tuple[Any, Any]:
    z = as_complex(z)
    return as_float(np.abs(z)), as_float(np.angle(z))


def _rect(r: Any, phi: Any) -> Any:
    r, phi = as_float(r), as_float(phi)
    return weaken(lax.complex(as_float(r * np.cos(phi)), as_float(r * np.sin(phi))))


# Of the same name in NumPy, from doubles to a double.
_FLOATS = (
    "exp expm1 log2 log10 log1p sqrt sin cos tan sinh cosh tanh degrees radians copysign fmod "
    "fabs nextafter cbrt exp2"
)
_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}
_NAMES |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "pow": "power"}
_NAMES |= {name: name for name in _FLOATS.split()}
_COMPLEX = "exp log10 sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"
_TESTS = "isnan isinf isfinite"

# Arguments for which a function raises an exception, since the result is NaN, and infinite.
_FAILING: dict[Function, tuple[Any, Any]] = {
    **dict.fromkeys((math.sqrt, math.acosh), ((-1.0,), None)),
    **dict.fromkeys((math.log, math.log2, math.log10), ((-1.0,), (0.0,))),
    **dict.fromkeys((math.sin, math.cos, math.tan), ((math.inf,), None)),
    **dict.fromkeys((math.asin, math.acos), ((2.0,), None)),
    **dict.fromkeys((math.exp, math.expm1, math.exp2, math.sinh, math.cosh), (None, (1e300,))),
    math.log1p: ((-2.0,), (-1.0,)),
    math.atanh: ((2.0,), (1.0,)),
    math.gamma: ((-math.inf,), (1e300,)),
    math.lgamma: (None, (0.0,)),
    math.pow: ((-1.0, 0.5), (1e300, 2.0)),
    math.fmod: ((1.0, 0.0), None),
    math.remainder: ((1.0, 0.0), None),
    math.ldexp: (None, (1.0, 10**6)),
}
_ROUNDING = (math.floor, math.ceil, math.trunc)
_COUNTS: dict[Function, tuple[int, ...]] = {
    math.factorial: (-1,),
    math.isqrt: (-1,),
    math.comb: (-1, -1),
    math.perm: (-1, -1),
}

_MATH: dict[str, Function] = {
    **{name: _of_floats(getattr(np, theirs)) for name, theirs in _NAMES.items()},
    **{name: _of_floats(getattr(np, name), _truth) for name in _TESTS.split()},
    "erf": _of_floats(lax.erf),
    "erfc": _of_floats(lax.erfc),
    "gamma": _of_floats(gamma),
    "lgamma": _of_floats(gammaln),
    "ulp": _of_floats(lambda x: np.spacing(np.abs(x))),
    "floor": _to_integer(np.floor),
    "ceil": _to_integer(np.ceil),
    "trunc": _to_integer(np.trunc),
    "log": _log,
    "remainder": _remainder,
    "modf": _modf,
    "frexp": _frexp,
    "ldexp": _ldexp,
    "hypot": _hypot,
    "dist": _dist,
    "isclose": _isclose,
    "gcd": _folded(np.gcd),
    "lcm": _folded(np.lcm),
    "factorial": _factorial,
    "comb": _comb,
    "perm": _perm,
    "isqrt": _isqrt,
    "prod": _prod,
}
_CMATH: dict[str, Function] = {
    **{name: _of_complex(getattr(np, _NAMES.get(name, name))) for name in _COMPLEX.split()},
    **{name: _of_complex(getattr(np, name), _truth) for name in _TESTS.split()},
    "log": _complex_log,
    "phase": _of_complex(np.angle, as_float),
    "polar": _polar,
    "rect": _rect,
    "isclose": _complex_isclose,
}
TABLE: dict[Function, Function] = {
    getattr(module, name): _where_traced(getattr(module, name), ours)
    for module, functions in ((math, _MATH), (cmath, _CMATH))
    for name, ours in functions.items()
}
TABLE[math.fsum] = _fsum  # generators are no values, and may hold traced ones
