"""Distributions with a location and a scale, of the functions of their rows.

Values outside of the support, invalid parameters and NaN are as in SciPy: densities are 0 outside,
distribution functions 0 or 1, and all is NaN where a parameter is invalid or a value NaN. Formulas
see values inside of the support alone, so that derivatives are finite outside of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.promotion import unsupported
from transpile.scipy.calls.families.row import Row
from transpile.scipy.calls.families.search import least_count
from transpile.scipy.special.operands import promoted, public

__all__ = ["Family"]

_OF_VALUES = ("cdf", "sf", "logcdf", "logsf")
_AT_ENDS = {"cdf": (0, 1), "sf": (1, 0), "logcdf": (-np.inf, 0), "logsf": (0, -np.inf)}
_MOMENTS = {"m": "mean", "v": "var", "s": "skewness", "k": "kurtosis"}


class Family:
    """A distribution of SciPy's: its methods, each with the value first, then the shapes, loc and
    scale, as SciPy has them."""

    def __init__(self, name: str, row: Row) -> None:
        self.name = name
        self._row = row.completed()
        self.is_discrete = row.is_discrete
        scale = () if row.is_discrete else ("scale",)
        self._parameters = (*row.shapes, "loc", *scale)

    def method(self, name: str) -> Callable[..., Any] | None:
        """A method by its name; None where the distribution has none."""
        function = self._method(name)
        return None if function is None else public(function)

    def _method(self, name: str) -> Callable[..., Any] | None:
        row = self._row
        density = ("logpmf", "pmf") if row.is_discrete else ("logpdf", "pdf")
        if name in density:
            return None if row.logpdf is None else self._density(name)
        if name in _OF_VALUES:
            return None if getattr(row, name) is None else self._of_values(name)
        if name in ("ppf", "isf", "median", "interval"):
            has_quantiles = (row.cdf if row.is_discrete else row.ppf) is not None
            return getattr(self, f"_{name}") if has_quantiles else None
        if name in ("mean", "var", "std", "entropy"):
            needed = "var" if name == "std" else name
            return None if getattr(row, needed) is None else self._moment(name)
        return {"stats": self._stats, "support": self._support}.get(name)

    # -------------------------------------------------------------------------- parameters

    def _bound(
        self, method: str, first: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], list[Any], Any, Any, Any]:
        """Values, shapes, loc and scale in their common dtype, and whether the parameters are
        valid."""
        names = self._parameters
        title = f"{self.name}.{method}"
        if len(args) > len(names):
            raise located(TypeError, f"{title}() takes no more parameters than {', '.join(names)}")
        given = dict(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key not in names or key in given:
                raise located(TypeError, f"{title}() got an unexpected parameter {key!r}")
            given[key] = value
        missing = [name for name in self._row.shapes if name not in given]
        if missing:
            raise located(TypeError, f"{title}() is missing the parameter {missing[0]!r}")
        given = {"loc": 0, "scale": 1, **given}
        order = (*self._row.shapes, "loc", "scale")
        values = promoted(title, *first, *(given[name] for name in order))
        count = len(first)
        shapes, (loc, scale) = values[count:-2], values[-2:]
        valid = self._row.valid(*shapes) & (scale > 0)
        return values[:count], shapes, loc, scale, valid

    def _ends(self, shapes: list[Any]) -> tuple[Any, Any]:
        low, high = (b(*shapes) if callable(b) else b for b in self._row.support)
        return low, high

    def _inner(self, low: Any, high: Any) -> Any:
        """A value inside of the support."""
        if self._row.is_discrete:
            return np.where(np.isfinite(low), low, 0)
        bounded = np.isfinite(low) & np.isfinite(high)
        one_sided = np.where(np.isfinite(low), low + 1, np.where(np.isfinite(high), high - 1, 0))
        middle = (np.where(bounded, low, 0) + np.where(bounded, high, 0)) / 2
        return np.where(bounded, middle, one_sided)

    # ------------------------------------------------------------------------------ values

    def _density(self, name: str) -> Callable[..., Any]:
        logpdf = self._row.logpdf
        assert logpdf is not None

        def function(x: Any, /, *args: Any, **kwargs: Any) -> Any:
            (value,), shapes, loc, scale, valid = self._bound(name, (x,), args, kwargs)
            y = (value - loc) / scale
            low, high = self._ends(shapes)
            inside = (y >= low) & (y <= high) & np.isfinite(y) & valid
            if self._row.is_discrete:
                inside = inside & np.equal(y, np.floor(y))
            logarithm = logpdf(np.where(inside, y, self._inner(low, high)), *shapes)
            if not self._row.is_discrete:
                logarithm = logarithm - np.log(scale)
            outside = -np.inf if name.startswith("log") else 0
            result = logarithm if name.startswith("log") else np.exp(logarithm)
            result = np.where(inside, result, outside)
            return np.where(valid & ~np.isnan(value), result, np.nan).astype(value.dtype)

        return function

    def _of_values(self, name: str) -> Callable[..., Any]:
        function_of_row = getattr(self._row, name)
        below, above = _AT_ENDS[name]

        def function(x: Any, /, *args: Any, **kwargs: Any) -> Any:
            (value,), shapes, loc, scale, valid = self._bound(name, (x,), args, kwargs)
            y = (value - loc) / scale
            low, high = self._ends(shapes)
            if self._row.is_discrete:
                y = np.floor(y)
                inside = (y >= low) & (y < high) & valid
            else:
                inside = (y > low) & (y < high) & valid
            result = function_of_row(np.where(inside, y, self._inner(low, high)), *shapes)
            result = np.where(y >= high, above, np.where(inside, result, below))
            return np.where(valid & ~np.isnan(value), result, np.nan).astype(value.dtype)

        return function

    # --------------------------------------------------------------------------- quantiles

    def _quantile(self, name: str, q: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        (chance,), shapes, loc, scale, valid = self._bound(name, (q,), args, kwargs)
        low, high = self._ends(shapes)
        inside = (chance > 0) & (chance < 1) & valid
        p = np.where(inside, chance, 0.5)
        zero, one = (low, high) if name == "ppf" else (high, low)
        if self._row.is_discrete:
            y = least_count(self._row, name, p, np.where(valid, low, 0), shapes, valid)
            zero, one = (low - 1, high) if name == "ppf" else (high, low - 1)
        else:
            y = getattr(self._row, name)(p, *shapes)
        ends = np.where(np.equal(chance, 0), zero, np.where(np.equal(chance, 1), one, np.nan))
        result = np.where(inside, y, ends) * scale + loc
        return np.where(valid, result, np.nan).astype(chance.dtype)

    def _ppf(self, q: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self._quantile("ppf", q, args, kwargs)

    def _isf(self, q: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self._quantile("isf", q, args, kwargs)

    def _median(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._quantile("ppf", 0.5, args, kwargs)

    def _interval(self, confidence: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The quantiles between which a share lies, as much of the rest below as above."""
        rest = (1 - confidence) / 2
        ends = (self._quantile("ppf", q, args, kwargs) for q in (rest, (1 + confidence) / 2))
        low, high = ends
        return low, high

    # ----------------------------------------------------------------------------- moments

    def _value_of(self, name: str, shapes: list[Any], loc: Any, scale: Any) -> Any:
        given = getattr(self._row, name)
        value = given(*shapes) if callable(given) else given
        if name == "mean":
            return value * scale + loc
        if name == "var":
            return value * np.square(scale)
        if name == "entropy" and not self._row.is_discrete:
            return value + np.log(scale) + 0 * loc
        return value + 0 * (loc + scale)

    def _moment(self, name: str) -> Callable[..., Any]:
        def function(*args: Any, **kwargs: Any) -> Any:
            _, shapes, loc, scale, valid = self._bound(name, (), args, kwargs)
            value = self._value_of("var" if name == "std" else name, shapes, loc, scale)
            return np.where(valid, np.sqrt(value) if name == "std" else value, np.nan)

        return function

    def _stats(self, *args: Any, moments: str = "mv", **kwargs: Any) -> Any:
        """Mean, variance, skewness and kurtosis, those whose letters are in `moments`."""
        _, shapes, loc, scale, valid = self._bound("stats", (), args, kwargs)
        found = []
        for letter in moments:
            name = _MOMENTS.get(letter, letter)
            if getattr(self._row, name, None) is None:
                raise unsupported(
                    f"scipy.stats.{self.name}.stats has no {name} for traced parameters"
                )
            value = self._value_of(name, shapes, loc, scale)
            found.append(np.where(valid, value, np.nan))
        return found[0] if len(found) == 1 else tuple(found)

    def _support(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The least and the greatest value."""
        _, shapes, loc, scale, valid = self._bound("support", (), args, kwargs)
        low, high = (np.where(valid, end * scale + loc, np.nan) for end in self._ends(shapes))
        return low, high
