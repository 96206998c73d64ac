"""What a distribution is: functions of the standard one, of which the others follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from transpile.nn import log1mexp

__all__ = ["Row", "central", "mirrored", "vanishing"]

Function = Callable[..., Any]
Bound = float | Function


def _positive(*shapes: Any) -> Any:
    """All parameters are positive and finite."""
    valid: Any = True
    for shape in shapes:
        valid = valid & (shape > 0) & (shape < np.inf)
    return valid


@dataclass(frozen=True, kw_only=True)
class Row:
    """A distribution: functions (value, *shapes) of the standard one, inside of its support.

    shapes        the names of its parameters beside loc and scale, as SciPy has them
    support       the least and the greatest value, each a number or a function of the shapes
    valid         whether the shapes are such of a distribution
    logpdf, ...   functions of a value; of discrete distributions `logpdf` is that of the mass
    ppf, isf      functions of a probability in (0, 1)
    ilogcdf, ...  functions of the logarithm of a probability, where that is what the formula takes
    mean, ...     functions of the shapes, or numbers; `kurtosis` is the excess

    Given are `logpdf`, one of `cdf`, `logcdf`, `sf` and `logsf`, and one of the quantiles; both of
    a pair where the one less than 1 would cancel. What is not given and does not follow is None.
    """

    shapes: tuple[str, ...] = ()
    support: tuple[Bound, Bound] = (0.0, np.inf)
    valid: Function = _positive
    logpdf: Function | None = None
    cdf: Function | None = None
    sf: Function | None = None
    logcdf: Function | None = None
    logsf: Function | None = None
    ppf: Function | None = None
    isf: Function | None = None
    ilogcdf: Function | None = None
    ilogsf: Function | None = None
    mean: Any = None
    var: Any = None
    skewness: Any = None
    kurtosis: Any = None
    entropy: Any = None
    is_discrete: bool = False

    def completed(self) -> Row:
        """With all functions that follow from those given."""
        row = _with_tails(self)
        if row.ilogsf is not None:
            by_tail = row.ilogsf
            return replace(
                row,
                isf=row.isf or (lambda q, *s: by_tail(np.log(q), *s)),
                ppf=row.ppf or (lambda q, *s: by_tail(np.log1p(-q), *s)),
            )
        if row.ilogcdf is not None:
            by_head = row.ilogcdf
            return replace(
                row,
                ppf=row.ppf or (lambda q, *s: by_head(np.log(q), *s)),
                isf=row.isf or (lambda q, *s: by_head(np.log1p(-q), *s)),
            )
        if row.ppf is not None and row.isf is None:
            quantile = row.ppf
            return replace(row, isf=lambda q, *s: quantile(1 - q, *s))
        return row


def _with_tails(row: Row) -> Row:
    """With both distribution functions, and their logarithms."""
    cdf, sf, logcdf, logsf = row.cdf, row.sf, row.logcdf, row.logsf
    if logsf is not None:
        of_tail = logsf
        sf = sf or (lambda y, *s: np.exp(of_tail(y, *s)))
        cdf = cdf or (lambda y, *s: -np.expm1(of_tail(y, *s)))
        logcdf = logcdf or log1mexp_of(of_tail)
    elif logcdf is not None:
        of_head = logcdf
        cdf = cdf or (lambda y, *s: np.exp(of_head(y, *s)))
        sf = sf or (lambda y, *s: -np.expm1(of_head(y, *s)))
        logsf = log1mexp_of(of_head)
    elif cdf is not None:
        head = cdf
        sf = sf or (lambda y, *s: 1 - head(y, *s))
        logcdf, logsf = _log_of(cdf), _log_of(sf)
    return replace(row, cdf=cdf, sf=sf, logcdf=logcdf, logsf=logsf)


def _log_of(function: Function) -> Function:
    return lambda y, *s: np.log(function(y, *s))


def log1mexp_of(logarithm: Function) -> Function:
    """log(1 - p) for a function that gives log p."""
    return lambda y, *s: log1mexp(-logarithm(y, *s))


def mirrored(row: Row) -> Row:
    """The distribution of -X."""
    of = row.completed()

    def at(function: Function | None) -> Function | None:
        return None if function is None else lambda y, *s: function(-y, *s)

    def minus(value: Any) -> Any:
        if callable(value):
            return lambda *args: -value(*args)
        return None if value is None else -value

    low, high = of.support
    return replace(
        of,
        support=(minus(high), minus(low)),
        logpdf=at(of.logpdf),
        cdf=at(of.sf),
        sf=at(of.cdf),
        logcdf=at(of.logsf),
        logsf=at(of.logcdf),
        ppf=minus(of.isf),
        isf=minus(of.ppf),
        ilogcdf=None,
        ilogsf=None,
        mean=minus(of.mean),
        skewness=minus(of.skewness),
    )


def vanishing(logpdf: Function) -> Function:
    """A density that is 0 at 0, where its formula has no value."""

    def function(y: Any, *shapes: Any) -> Any:
        is_zero = np.equal(y, 0)
        return np.where(is_zero, -np.inf, logpdf(np.where(is_zero, 1, y), *shapes))

    return function


def central(raw: Function) -> dict[str, Any]:
    """The moments of a row from those about 0: raw(order, *shapes)."""

    def var(*s: Any) -> Any:
        return raw(2, *s) - np.square(raw(1, *s))

    def skewness(*s: Any) -> Any:
        one, two, three = (raw(k, *s) for k in (1, 2, 3))
        return (three - 3 * one * two + 2 * one**3) / np.power(two - one * one, 1.5)

    def kurtosis(*s: Any) -> Any:
        one, two, three, four = (raw(k, *s) for k in (1, 2, 3, 4))
        fourth = four - 4 * one * three + 6 * one**2 * two - 3 * one**4
        return fourth / np.square(two - one * one) - 3

    return {
        "mean": lambda *s: raw(1, *s),
        "var": var,
        "skewness": skewness,
        "kurtosis": kurtosis,
    }
