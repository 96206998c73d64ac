"""Interpolators that SciPy has made of known points, called with traced coordinates: piecewise
polynomials, splines, `interp1d` and `RegularGridInterpolator`.

A spline is a polynomial on each of its intervals. SciPy computes the coefficients when it makes
it; what is traced is the search for the interval and Horner's rule.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from transpile.numpy.core.promotion import as_array, has_tracer, unsupported
from transpile.numpy.core.promotion import error as located
from transpile.numpy.subscripts.at import at
from transpile.scipy.calls.choice import if_traced
from transpile.util.lazy.imports import imported

__all__ = ["CLASSES", "interpolator"]

_INSIDE = "promise_in_bounds"


def interpolator(callee: Any) -> Callable[..., Any] | None:
    """What is called in the place of an interpolator, or of `splev`."""
    transform = sys.modules.get("scipy.spatial.transform")
    if transform is not None and isinstance(callee, transform.Slerp):
        return if_traced(callee, functools.partial(_rotated, callee))
    theirs = sys.modules.get("scipy.interpolate")
    if theirs is None:
        return None
    if callee is theirs.splev:
        return if_traced(callee, _splev)
    for name, ours in CLASSES.items():
        if isinstance(callee, getattr(theirs, name)):
            return if_traced(callee, functools.partial(ours, callee))
    return None


def _rotated(slerp: Any, times: Any) -> Any:
    """The rotations of a `Slerp` at times: a rotation of ours."""
    ours = imported("transpile.scipy.spatial.transform")
    begins = ours.Rotation.from_quat(slerp.rotations.as_quat())
    return ours.Slerp(slerp.times, slerp.timedelta, begins, slerp.rotvecs)(times)


def _polynomial(pieces: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """A `PPoly` or its derivative of order `nu`. NaN outside of its intervals, unless it is
    extrapolated, or periodic."""
    if extrapolate is None:
        extrapolate = pieces.extrapolate
    if nu:
        pieces = pieces.derivative(nu)
    x = as_array(x)
    ends = np.asarray(pieces.x)
    if ends[0] > ends[-1]:
        raise unsupported("a piecewise polynomial with descending intervals, of a traced value")
    if extrapolate == "periodic":
        x = ends[0] + np.remainder(x - ends[0], ends[-1] - ends[0])
    values = _evaluated(ends, np.asarray(pieces.c), x)
    if not extrapolate:
        values = _outside(x, ends, values, np.nan)
    return np.moveaxis(values, _lead(x), _place(x, pieces.axis)) if pieces.axis else values


def _evaluated(ends: Any, coefficients: Any, x: Any) -> Any:
    """The polynomials of the intervals that x lies in, (*x.shape, ...), by Horner's rule."""
    interval = np.clip(np.searchsorted(ends, x, side="right") - 1, 0, len(ends) - 2)
    trailing = coefficients.ndim - 2
    distance = (x - at(ends)[interval].get(mode=_INSIDE)).reshape(*x.shape, *[1] * trailing)
    value = at(coefficients[0])[interval].get(mode=_INSIDE)
    for coefficient in coefficients[1:]:
        value = value * distance + at(coefficient)[interval].get(mode=_INSIDE)
    return value


def _outside(x: Any, ends: Any, values: Any, *fills: Any) -> Any:
    """The values, with others for what lies below and above the ends."""
    shape = (*x.shape, *[1] * (values.ndim - x.ndim))
    values = np.where((x < ends[0]).reshape(shape), fills[0], values)
    return np.where((x > ends[-1]).reshape(shape), fills[-1], values)


def _lead(x: Any) -> list[int]:
    return list(range(x.ndim))


def _place(x: Any, axis: int) -> list[int]:
    return list(range(axis, axis + x.ndim))


def _spline(spline: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """A `BSpline`, or its derivative of order `nu`."""
    pieces = _pieces(spline.t, spline.c, spline.k, spline.axis)
    return _polynomial(pieces, x, nu, spline.extrapolate if extrapolate is None else extrapolate)


def _pieces(knots: Any, coefficients: Any, degree: int, axis: int = 0) -> Any:
    """The polynomials of a spline between the knots k and n, of which it is made."""
    theirs = imported("scipy.interpolate")
    count = len(knots) - degree - 1
    flat = np.asarray(coefficients)[:count].reshape(count, -1)
    whole = [theirs.PPoly.from_spline((knots, column, degree)).c for column in flat.T]
    used = np.stack(whole, axis=-1)[:, degree:count].reshape(
        -1, count - degree, *coefficients.shape[1:]
    )
    return theirs.PPoly(used, knots[degree : count + 1], axis=axis)


def _univariate(spline: Any, x: Any, nu: int = 0, ext: Any = None) -> Any:
    """A `UnivariateSpline`, or its derivative of order `nu`."""
    return _splev(x, spline._eval_args, nu, spline.ext if ext is None else ext)


_BEYOND: Mapping[Any, int] = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}


def _splev(x: Any, tck: Any, der: int = 0, ext: Any = 0) -> Any:
    """A spline of knots, coefficients and degree. `ext` says what lies outside: 0 for the last
    polynomial, 1 for zeros, 3 for the last value."""
    if has_tracer(tck):
        raise unsupported("a spline with traced knots or coefficients")
    if not isinstance(tck, tuple | list):
        tck = (tck.t, tck.c, tck.k)
    pieces = _pieces(np.asarray(tck[0]), np.asarray(tck[1]), int(tck[2]))
    x, ends, beyond = as_array(x), pieces.x, _BEYOND.get(ext, ext)
    if beyond == 2:
        raise located(ValueError, 'ext="raise" would ask for the value of a traced x')
    if beyond == 3:
        x = np.clip(x, ends[0], ends[-1])
    values = _polynomial(pieces, x, der, True)
    return _outside(x, ends, values, 0.0) if beyond == 1 else values


def _interp1d(known: Any, x: Any) -> Any:
    """An `interp1d`: what lies outside is its `fill_value`, NaN where that is an error."""
    x, ends = as_array(x), known.x
    values = np.moveaxis(known.y, known.axis, 0)
    if known._kind in ("nearest", "nearest-up", "previous", "next"):
        inside = at(values)[_nearest(known._kind, ends, x)].get(mode=_INSIDE)
    elif known._kind == "linear":
        slopes = np.diff(values, axis=0) / np.diff(ends).reshape(-1, *[1] * (values.ndim - 1))
        inside = _evaluated(ends, np.stack([slopes, values[:-1]]), x)
    else:
        spline = known._spline
        pieces = _pieces(spline.t, spline.c, spline.k)
        inside = _polynomial(pieces, x, 0, True).reshape(*x.shape, *values.shape[1:])
    fill = known.fill_value
    if not (isinstance(fill, str) and fill == "extrapolate"):
        inside = _outside(x, ends, inside, *(fill if isinstance(fill, tuple) else (fill,)))
    return np.moveaxis(inside, _lead(x), _place(x, known.axis)) if known.axis else inside


def _nearest(kind: str, ends: Any, x: Any) -> Any:
    """The number of the point that is taken, as `interp1d` has it."""
    if kind == "previous":
        index = np.searchsorted(ends, x, side="right") - 1
    elif kind == "next":
        index = np.searchsorted(ends, x, side="left")
    else:  # halves to the lower point, or to the upper one
        middles = ends[:-1] + np.diff(ends) / 2.0
        index = np.searchsorted(middles, x, side="right" if kind == "nearest-up" else "left")
    return np.clip(index, 0, len(ends) - 1)


def _grid(known: Any, xi: Any, method: str | None = None, *, nu: Any = None) -> Any:
    """A `RegularGridInterpolator` of known points and values."""
    ours = imported("transpile.scipy.interpolate").RegularGridInterpolator
    if nu is not None:
        raise unsupported("the argument nu= of a RegularGridInterpolator")
    chosen = method or known.method
    return ours(known.grid, known.values, chosen, False, known.fill_value)(xi)


# By class of scipy.interpolate; the first that an object belongs to.
CLASSES: Mapping[str, Callable[..., Any]] = {
    "PPoly": _polynomial,
    "BSpline": _spline,
    "UnivariateSpline": _univariate,
    "interp1d": _interp1d,
    "RegularGridInterpolator": _grid,
}
