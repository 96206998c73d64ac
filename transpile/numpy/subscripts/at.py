"""Functional updates, as in JAX: `x.at[key].set(value)` is a new array, and x stays as it is.

Traced arrays have `at`; `transpile.numpy.at(x)` is the same for every array, as `numpy.ndarray` has
no such attribute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.ir.types import type_of
from transpile.numpy.core.promotion import as_array, as_operand, convert, fill, has_tracer
from transpile.numpy.core.ufuncs import call
from transpile.numpy.subscripts.advanced import check_mode
from transpile.numpy.subscripts.basic import get_item, set_item, update_item
from transpile.primitives import elementwise
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.trace import bind, trace_function
from transpile.trace.tracer import Tracer, add_property
from transpile.transforms.interpret import interpret


def at(x: Any) -> At:
    """The functional updates of an array, traced or not: `at(x)[key].set(value)` is an updated
    copy.

    The key is any subscript that NumPy takes: slices, integers, arrays of indices, masks, tuples of
    them. The methods are those of JAX's `x.at[key]`: get, set, add, subtract, multiply, divide,
    power, min, max, apply.
    """
    return At(x)


class At:
    """The attribute `x.at`, to be subscripted by the elements to update."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, key: Any) -> IndexUpdates:
        return IndexUpdates(self.array, key)

    def __repr__(self) -> str:
        return f"at({self.array!r})"


class IndexUpdates:
    """The elements `x.at[key]` of an array, which its methods read, or update in a copy of the
    array.

    Every method takes `mode`, which says what becomes of indices out of range: `clip` means the
    nearest element, `fill` or `drop` none (what is read there is `fill_value`), `wrap` counts on
    from the beginning, and `promise_in_bounds` says that there are none. By default known ones
    raise IndexError, and traced ones are clipped in `get` and dropped in updates. Negative indices
    count from the end. `unique_indices` promises that no index occurs twice; where one does, the
    result is undefined. `indices_are_sorted` changes nothing. Values are cast to the dtype of the
    array.
    """

    def __init__(self, array: Any, key: Any) -> None:
        self.array = array
        self.key = key

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | None = None,
        fill_value: Any = None,
    ) -> Any:
        """The elements; with mode "fill", NaN or the extreme integer for indices out of range,
        unless `fill_value` says otherwise."""
        chosen = check_mode("fill" if mode is None and fill_value is not None else mode)
        return _computed(
            lambda x: get_item(x, self.key, chosen, fill_value), self.array, key=self.key
        )

    def set(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | None = None,
    ) -> Any:
        """The array with the elements replaced by values that broadcast to them; of several for one
        element the last remains."""
        return self._updated("set", values, mode, unique_indices)

    def add(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | None = None,
    ) -> Any:
        """The array with values added to the elements; of several for one element all are added."""
        return self._updated("add", values, mode, unique_indices)

    def subtract(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | None = None,
    ) -> Any:
        """The array with values subtracted from the elements; of several for one element all are
        subtracted."""

        def change(x: Any, v: Any) -> Any:
            negative = call(np.negative, convert(as_operand(v), x.dtype))
            return update_item(x, self.key, negative, "add", check_mode(mode), unique_indices)

        return _computed(change, self.array, values, key=self.key)

    def multiply(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | None = None,
    ) -> Any:
        """The array with the elements multiplied by values; of several for one element all multiply
        it."""
        return self._updated("multiply", values, mode, unique_indices)

    mul = multiply

    def divide(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | None = None,
    ) -> Any:
        """The array with the elements divided by values; an array of indices divides by the product
        of the values for each element."""
        return self._with_factors(np.divide, values, mode, unique_indices)

    def power(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | None = None,
    ) -> Any:
        """The array with the elements raised to values; an array of indices raises to the product
        of the values for each element."""
        return self._with_factors(np.power, values, mode, unique_indices)

    def min(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | None = None,
    ) -> Any:
        """The array with each element's minimum with its values."""
        return self._updated("minimum", values, mode, unique_indices)

    def max(
        self,
        values: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | None = None,
    ) -> Any:
        """The array with each element's maximum with its values."""
        return self._updated("maximum", values, mode, unique_indices)

    def apply(
        self,
        function: Callable[[Any], Any],
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | None = None,
    ) -> Any:
        """The array with an elementwise function applied to the elements, once to each, however
        often its index occurs."""

        def change(x: Any) -> Any:
            chosen = check_mode(mode)
            values = resolved(function)(
                get_item(x, self.key, chosen if chosen != "drop" else "fill")
            )
            return set_item(x, self.key, values, chosen, unique_indices)

        return _computed(change, self.array, key=self.key)

    def _updated(self, combine: str, values: Any, mode: str | None, unique: bool) -> Any:
        chosen = check_mode(mode)
        return _computed(
            lambda x, v: update_item(x, self.key, v, combine, chosen, unique),
            self.array,
            values,
            key=self.key,
        )

    def _with_factors(self, ufunc: Any, values: Any, mode: str | None, unique: bool) -> Any:
        chosen = check_mode(mode)

        def change(x: Any, v: Any) -> Any:
            if x.dtype.kind in "fc" and _selects_once(self.key):
                value = convert(as_operand(v), x.dtype)
                before = get_item(x, self.key, chosen if chosen != "drop" else "fill")
                return set_item(x, self.key, call(ufunc, before, value), chosen, unique)
            ones = fill(1, x.shape, x.dtype)
            factors = update_item(ones, self.key, v, "multiply", chosen, unique)
            return call(ufunc, x, factors)

        return _computed(change, self.array, values, key=self.key)


def _selects_once(key: Any) -> bool:
    """Whether an index selects each element once at most: it holds no arrays of indices."""
    entries = key if isinstance(key, tuple) else (key,)
    return all(
        e is None
        or e is Ellipsis
        or isinstance(e, slice | int | np.integer)
        or (isinstance(e, Tracer) and not e.shape and e.dtype.kind in "iu")
        for e in entries
        if not isinstance(e, bool)
    ) and not any(isinstance(e, bool) for e in entries)


def _computed(function: Callable[..., Any], x: Any, *values: Any, key: Any = None) -> Any:
    """The function of an array (and of values), traced if anything is, and computed if nothing."""
    if has_tracer((x, key, *values)):
        x = as_array(x)
        return function(x if isinstance(x, Tracer) else bind(elementwise.copy, x), *values)
    x = np.asarray(x)
    graph, _ = trace_function(lambda t: ([function(t, *values)], None), [type_of(x)], ["x"])
    (result,) = interpret(graph, [x])
    return result


add_property("at", At)
