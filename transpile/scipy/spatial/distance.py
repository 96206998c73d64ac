"""`scipy.spatial.distance` for traced functions: distances of vectors, and of all pairs of rows.

Vectors are real and computed in double precision, as SciPy does. All pairs are one loop over
differences, which no array holds. A distance of a zero vector to any other by "cosine" or of a
constant one by "correlation" is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index, floor_divide
from transpile.ir.types import BOOL, FLOAT64
from transpile.nn.operands import operand, public
from transpile.numpy.core.promotion import Array, convert, unsupported
from transpile.numpy.core.promotion import error as located
from transpile.numpy.subscripts.at import at
from transpile.numpy.subscripts.triangles import triu_indices
from transpile.scipy.sized_arrays import arange

__all__ = [
    "braycurtis",
    "canberra",
    "cdist",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "euclidean",
    "hamming",
    "mahalanobis",
    "minkowski",
    "pdist",
    "seuclidean",
    "sqeuclidean",
    "squareform",
]


def _operand(function: str, value: Array) -> Any:
    return convert(operand(function, value), FLOAT64)


def _sum(x: Any, w: Any) -> Any:
    return np.sum(x if w is None else x * w, axis=-1)


def _sqeuclidean(u: Any, v: Any, w: Any) -> Any:
    return _sum(np.square(u - v), w)


def _minkowski(u: Any, v: Any, w: Any, p: Any = 2) -> Any:
    return _sum(np.abs(u - v) ** p, w) ** (1 / p)


def _chebyshev(u: Any, v: Any, w: Any) -> Any:
    difference = np.abs(u - v)
    return np.max(difference if w is None else np.where(np.asarray(w) > 0, difference, 0), axis=-1)


def _cosine(u: Any, v: Any, w: Any) -> Any:
    lengths = np.sqrt(_sum(np.square(u), w) * _sum(np.square(v), w))
    return np.clip(1 - _sum(u * v, w) / lengths, 0, 2)


def _correlation(u: Any, v: Any, w: Any) -> Any:
    share = 1 / u.shape[-1] if w is None else np.asarray(w) / np.sum(w)
    first, second = (x - np.sum(x * share, axis=-1, keepdims=True) for x in (u, v))
    return _cosine(first, second, w)


def _hamming(u: Any, v: Any, w: Any) -> Any:
    return _sum(np.not_equal(u, v), w) / (u.shape[-1] if w is None else np.sum(w))


def _braycurtis(u: Any, v: Any, w: Any) -> Any:
    return _sum(np.abs(u - v), w) / _sum(np.abs(u + v), w)


def _canberra(u: Any, v: Any, w: Any) -> Any:
    size = np.abs(u) + np.abs(v)
    return _sum(np.where(size > 0, np.abs(u - v) / np.where(size > 0, size, 1), 0), w)


def _seuclidean(u: Any, v: Any, w: Any, V: Any = None) -> Any:
    return np.sqrt(_sum(np.square(u - v) / V, w))


def _mahalanobis(u: Any, v: Any, w: Any, VI: Any = None) -> Any:
    difference = u - v
    return np.sqrt(np.sum((difference @ VI) * difference, axis=-1))


# By the name of a metric, distances along the last axis, with weights or without.
_METRICS: Mapping[str, Callable[..., Any]] = {
    "braycurtis": _braycurtis,
    "canberra": _canberra,
    "chebyshev": _chebyshev,
    "cityblock": lambda u, v, w: _sum(np.abs(u - v), w),
    "correlation": _correlation,
    "cosine": _cosine,
    "euclidean": lambda u, v, w: np.sqrt(_sqeuclidean(u, v, w)),
    "hamming": _hamming,
    "mahalanobis": _mahalanobis,
    "minkowski": _minkowski,
    "seuclidean": _seuclidean,
    "sqeuclidean": _sqeuclidean,
}
_ALIASES = {"manhattan": "cityblock", "cheby": "chebyshev", "l2": "euclidean", "l1": "cityblock"}


def _metric(metric: Any) -> Callable[..., Any]:
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", "")
    name = _ALIASES.get(name.lower(), name.lower())
    if name not in _METRICS:
        raise unsupported(f"the metric {metric!r} is not supported for traced values")
    return _METRICS[name]


def _of_two(name: str) -> Callable[..., Any]:
    metric = _METRICS[name]

    def distance(u: Array, v: Array, w: Array | None = None) -> Any:
        x, y = _operand(name, u), _operand(name, v)
        if x.ndim != 1 or x.shape != y.shape:
            raise located(ValueError, f"{name} of vectors of shapes {x.shape} and {y.shape}")
        return metric(x, y, w)

    distance.__name__ = distance.__qualname__ = name
    distance.__doc__ = f"""The {name} distance of two vectors (n,), with weights `w` (n,) or not.

    Raises ValueError for other shapes.
    """
    return public(distance)


braycurtis = _of_two("braycurtis")
canberra = _of_two("canberra")
chebyshev = _of_two("chebyshev")
cityblock = _of_two("cityblock")
correlation = _of_two("correlation")
cosine = _of_two("cosine")
euclidean = _of_two("euclidean")
hamming = _of_two("hamming")
sqeuclidean = _of_two("sqeuclidean")


@public
def minkowski(u: Array, v: Array, p: Array = 2, w: Array | None = None) -> Any:
    """The distance of two vectors (n,) by the norm of order p, with weights (n,) or without."""
    return _minkowski(_operand("minkowski", u), _operand("minkowski", v), w, p)


@public
def seuclidean(u: Array, v: Array, V: Array) -> Any:
    """The Euclidean distance of two vectors (n,) in units of the standard deviations: V (n,) are
    variances."""
    return _seuclidean(_operand("seuclidean", u), _operand("seuclidean", v), None, V)


@public
def mahalanobis(u: Array, v: Array, VI: Array) -> Any:
    """The Mahalanobis distance of two vectors (n,): VI (n, n) is the inverse covariance."""
    return _mahalanobis(_operand("mahalanobis", u), _operand("mahalanobis", v), None, VI)


@public
def cdist(XA: Array, XB: Array, metric: Any = "euclidean", **settings: Any) -> Any:
    """The distances of all rows of XA (m, n) to all of XB (k, n): (m, k).

    metric    a name of SciPy's, or its function: those of this module
    settings  `p` of "minkowski", `V` of "seuclidean", `VI` of "mahalanobis", weights `w`

    Raises ValueError for shapes that do not fit, UnsupportedError for other metrics. SciPy's
    defaults of `V` and `VI`, which depend on all rows, are not made.
    """
    x, y = _operand("cdist", XA), _operand("cdist", XB)
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
        raise located(
            ValueError,
            "XA and XB must be matrices with the same number of columns: their shapes are "
            f"{x.shape} and {y.shape}",
        )
    return _metric(metric)(x[:, None, :], y[None, :, :], settings.pop("w", None), **settings)


@public
def pdist(X: Array, metric: Any = "euclidean", **settings: Any) -> Any:
    """The distances of all pairs of rows i < j of X (m, n), (m (m - 1) / 2,); arguments as of
    `cdist`."""
    x = _operand("pdist", X)
    if x.ndim != 2:
        raise located(ValueError, f"X must be a matrix, its shape is {x.shape}")
    first, second = _pairs(x.shape[0])
    rows = at(x)
    inside = "promise_in_bounds"
    pairs = rows[first].get(mode=inside), rows[second].get(mode=inside)
    return _metric(metric)(*pairs, settings.pop("w", None), **settings)


@public
def squareform(X: Array) -> Any:
    """The symmetric matrix (m, m) of distances with a zero diagonal of what `pdist` gives, or that
    of a matrix, whose symmetry is not checked."""
    x = operand("squareform", X)
    if x.ndim == 2:
        return at(x)[_pairs(x.shape[0])].get(mode="promise_in_bounds")
    count = _rows_of_pairs(x.shape[0])
    if x.ndim != 1 or floor_divide(count * (count - 1), 2) != x.shape[0]:
        raise located(ValueError, f"there is no matrix of {x.shape} distances of pairs")
    one, other = arange(count)[:, None], arange(count)
    first, second = np.minimum(one, other), np.maximum(one, other)
    number = first * count - first * (first + 1) // 2 + second - first - 1
    number = np.where(first < second, number, 0)
    spread = at(x)[number].get(mode="promise_in_bounds")
    zero = x.dtype.type(0) if x.dtype != BOOL else False
    return np.where(np.equal(first, second), zero, spread)


def _pairs(count: Any) -> tuple[Any, Any]:
    """The indices i < j of all pairs of rows."""
    return (triu_indices if isinstance(count, Dim) else np.triu_indices)(count, 1)


def _rows_of_pairs(pairs: Index) -> Index:
    """The number n of rows that have so many pairs, n (n - 1) / 2, or one that has not as many.

    Of a runtime size it is one of its symbols and a number. UnsupportedError where it is none: a
    root is no size.
    """
    if not isinstance(pairs, Dim):
        return math.isqrt(2 * pairs) + 1
    for symbol in sorted(pairs.symbols(), key=str):
        size = Dim.of(symbol) * symbol.unit
        for count in (size, size + 1, size - 1):
            if floor_divide(count * (count - 1), 2) == pairs:
                return count
    raise unsupported(
        f"squareform of {pairs} distances: declare their number as 'n*(n - 1)//2', of n rows"
    )
