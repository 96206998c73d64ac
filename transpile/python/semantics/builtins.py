"""Built-in functions of traced numbers, arrays and iterables. Of others, they are Python's."""

from __future__ import annotations

import builtins
import dis
import itertools
from collections.abc import Callable, Sequence
from functools import partial, reduce
from types import GeneratorType
from typing import Any

import numpy as np

from transpile import debug, errors, lax
from transpile.ir.dims import Dim
from transpile.ir.indices.requirements import may_be_0, require
from transpile.ir.source_info import user_source
from transpile.ir.types import BOOL, INT64
from transpile.numpy.core.promotion import as_array, strengthen, weaken
from transpile.primitives import elementwise
from transpile.python.growing.arrays import GrowingArrays
from transpile.python.objects.list_functions import (
    extreme_of,
    is_long,
    isinstance_,
    numbers_in,
    of_nothing,
    opened,
)
from transpile.python.rolling import MOST_UNROLLED
from transpile.python.semantics.branches import choose, if_
from transpile.python.semantics.conditions import compared, not_
from transpile.python.semantics.exceptions import (
    as_python,
    raise_,
    traced_values,
    weak_values,
    with_values,
)
from transpile.python.semantics.generators import (
    Generated,
    Generating,
    TakenWhile,
    collected,
    filter_,
    is_chosen,
    list_of,
    next_,
    takewhile,
)
from transpile.python.semantics.iterables import (
    Items,
    count,
    enumerate_,
    items_of,
    ndenumerate,
    ndindex,
    range_,
    reversed_,
    zip_,
)
from transpile.python.semantics.loops import for_, while_
from transpile.python.semantics.numbers import (
    any_unknown,
    as_bool,
    as_complex,
    as_float,
    as_integer,
    is_unknown,
)
from transpile.python.semantics.values import is_array, truth
from transpile.trace.bytecode import printing
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.bytecode.handlers import tests_of_arithmetic
from transpile.trace.trace import bind, current_trace
from transpile.trace.tracer import Tracer

Function = Callable[..., Any]
_NOTHING: Any = object()


def _unknown_items(iterable: Any) -> Items | None:
    """The items of an iterable whose number is not known."""
    items = items_of(iterable)
    return None if items is None or items.is_known else items


def _is_short(generator: Generated) -> bool:
    """True for the items that may be traced one by one, and are all known."""
    items = generator.items()
    return items is not None and items.is_known and items.length <= MOST_UNROLLED


def _is_row(value: Any) -> bool:
    """True for a traced array of one axis and at least one element."""
    return isinstance(value, Tracer) and value.ndim == 1 and value.shape[0] != 0


# ----------------------------------------------------------------------------------------- extremes


def _extreme(original: Function, better: Function, reduction: Function) -> Function:
    """`min` or `max`: of several values, the first one that no later one is better than."""
    name = original.__name__

    def extreme(*args: Any, key: Any = None, default: Any = _NOTHING) -> Any:
        if not args or (len(args) > 1 and default is not _NOTHING):
            given = {} if default is _NOTHING else {"default": default}
            return original(*args, key=key, **given)
        key = None if key is None else resolved(key)
        if len(args) > 1:
            return _best(args, key, better)
        (iterable,) = args
        if is_chosen(iterable):
            iterable = collected(iterable)
        if key is None and _is_row(iterable):
            return _of_some(name, iterable, reduction, default)
        if key is None and numbers_in(iterable):
            return extreme_of(iterable, lambda row: _of_row(row, reduction))
        items = _unknown_items(iterable)
        if items is None and isinstance(iterable, Generated) and not _is_short(iterable):
            items = iterable.items()
        if items is not None:
            return _best_of_items(name, items, key, better, default)
        values = list(iterable)
        if not values:
            return original(values) if default is _NOTHING else default
        return _best(values, key, better)

    return extreme


def _of_some(name: str, row: Any, reduction: Function, default: Any) -> Any:
    """Of an array that may turn out to have no elements. Equal ones share the derivative."""
    size = row.shape[0]
    if default is not _NOTHING and may_be_0(size):
        return choose(size.as_value() > 0, lambda: _of_row(row, reduction), lambda: default)
    require(1, size, f"the {name} of an array", str(of_nothing(name)))
    return _of_row(row, reduction)


def _of_row(row: Any, reduction: Function) -> Any:
    """Of an array: Python's comparisons with NaN are false, so that only a first one counts."""
    if row.dtype.kind != "f":
        return reduction(row)
    number_or_nan = {np.min: np.nanmin, np.max: np.nanmax}[reduction](row)
    return np.where(np.isnan(row[0]), row[0], number_or_nan)


def _best(values: Any, key: Function | None, better: Function) -> Any:
    best, *others = values
    rank = best if key is None else key(best)
    for value in others:
        best, rank = _better(value, best, rank, key, better)
    return best


def _better(
    value: Any, best: Any, rank: Any, key: Function | None, better: Function
) -> tuple[Any, Any]:
    """The better one of two, and its rank."""
    candidate = value if key is None else key(value)
    wins = truth(better(candidate, rank))
    chosen = _picked(wins, value, best)
    return chosen, chosen if key is None else _picked(wins, candidate, rank)


def _picked(wins: Any, value: Any, other: Any) -> Any:
    if not isinstance(wins, Tracer):
        return value if wins else other
    if is_array(value) and is_array(other) and np.shape(value) == () == np.shape(other):
        return np.where(wins, value, other)
    return choose(wins, lambda: value, lambda: other)


def _best_of_items(
    name: str, items: Items, key: Function | None, better: Function, default: Any
) -> Any:
    """Of items whose number is traced."""

    def of_all() -> Any:
        first = items.item(0)
        best = first, first if key is None else key(first)
        return for_(
            items,
            lambda value, best, rank: _better(value, best, rank, key, better),
            (),
            ("the best", "its key"),
            best,
        )[0]

    length = items.length.as_value() if isinstance(items.length, Dim) else items.length
    if default is not _NOTHING:
        return choose(length > 0, of_all, lambda: default)
    if isinstance(items.length, Dim):
        require(1, items.length, f"the {name} of a range", str(of_nothing(name)))
    else:
        if_(length > 0, lambda: (), lambda: _raised(name), (), ())
    return of_all()


def _raised(name: str) -> tuple[()]:
    raise_(lambda: of_nothing(name), None)
    return ()


# --------------------------------------------------------------------------- sums, all and any


def sum_(iterable: Any, /, start: Any = 0) -> Any:
    """`sum`: of an array, along its first axis."""
    if isinstance(iterable, Tracer) and iterable.ndim and iterable.dtype != BOOL:
        total = np.sum(iterable, axis=0, dtype=iterable.dtype)
        return total if type(start) is int and not start else start + total
    if isinstance(iterable, Generated | Generating | TakenWhile):
        return iterable.folded(lambda item, total: total + item, "the sum", start)
    items = _unknown_items(iterable)
    if items is None and is_long(iterable, MOST_UNROLLED):
        items = items_of(iterable)
    if items is None:
        return builtins.sum(iterable, start)
    return for_(items, lambda item, total: (total + item,), (), ("the sum",), (start,))[0]


def _quantified(ends: bool, combine: Function, reduction: Function) -> Function:
    """`any` or `all`: `ends` is the truth that decides."""

    def quantified(iterable: Any, /) -> Any:
        if _is_row(iterable):
            return as_bool(reduction(iterable != 0))
        items = _unknown_items(iterable)
        is_loop = isinstance(iterable, Generated) and (
            not _is_short(iterable) or iterable.changes()
        )
        if items is not None or is_loop or isinstance(iterable, Generating):
            return as_bool(_until(iterable, ends))
        traced = []
        for item in iterable:
            holds = truth(item)
            if isinstance(holds, Tracer) and _binds_names(iterable):
                raise errors.UnsupportedError(
                    f"{user_source()}: which item ends `{user_source().text}`, and is bound by "
                    f"`:=`, a traced value decides. Write a loop: for, if and break."
                )
            if isinstance(holds, Tracer):
                traced.append(holds)
            elif holds is ends:
                return ends
        return as_bool(reduce(combine, traced)) if traced else not ends

    return quantified


def _binds_names(iterable: Any) -> bool:
    """True for a generator that binds names of the function around (`:=`)."""
    if not isinstance(iterable, GeneratorType):
        return False
    stores = ("STORE_DEREF", "STORE_GLOBAL")
    return any(i.opname in stores for i in dis.get_instructions(iterable.gi_code))


def _until(iterable: Any, ends: bool) -> Any:
    """`any`, or `all`, as a loop that ends where an item decides."""

    def step(item: Any, _: Any) -> Any:
        holds = truth(item)
        if not isinstance(holds, Tracer):
            return holds is ends
        return holds if ends else np.logical_not(holds)

    if isinstance(iterable, Generated | Generating):
        decided = iterable.folded(step, "the result", False, ends=True)
    else:
        (decided,) = for_(
            iterable, lambda *now: (step(*now),), (0,), ("the result",), (np.bool_(False),)
        )
    return decided if ends else not_(decided)


# --------------------------------------------------------------------------------------- numbers


def len_(value: Any, /) -> Any:
    """`len`, also of what has a length that only the program knows."""
    if isinstance(value, GrowingArrays):
        return value.length()
    if isinstance(value, Tracer) and value.ndim and isinstance(value.shape[0], Dim):
        return value.shape[0].as_value()
    items = _unknown_items(value)
    return len(value) if items is None else items.length


def int_(*args: Any, **kwargs: Any) -> Any:
    """`int`: a traced number truncated towards zero, in 64 bits."""
    if len(args) != 1 or kwargs or not is_unknown(args[0]):
        return int(*args, **kwargs)
    return _integer(int, args[0])


def _integer(function: Function, number: Any) -> Any:
    tests = tests_of_arithmetic()
    if tests is not None:
        tests.check_integer(function, number)
    return as_integer(number)


def float_(*args: Any) -> Any:
    """`float`."""
    return as_float(args[0]) if any_unknown(args) else float(*args)


def bool_(*args: Any) -> Any:
    """`bool`."""
    return as_bool(truth(args[0])) if any_unknown(args) else bool(*args)


def complex_(*args: Any, **kwargs: Any) -> Any:
    """`complex`, of one number, or of two parts."""
    parts = [*args, *kwargs.values()]
    if not any_unknown(parts):
        return complex(*args, **kwargs)
    given = dict(zip(("real", "imag"), args, strict=False)) | kwargs
    real, imag = given.get("real", 0.0), given.get("imag", 0.0)
    if "imag" not in given:
        return as_complex(real)
    if all(np.result_type(x).kind != "c" for x in (real, imag)):
        return weaken(lax.complex(as_float(real), as_float(imag)))
    return as_complex(real) + 1j * as_complex(imag)


def round_(number: Any, ndigits: Any = None) -> Any:
    """`round`: to an integer, half to even, where no number of digits is given."""
    if not is_unknown(number):
        return round(number) if ndigits is None else round(number, ndigits)
    if ndigits is not None:
        return np.round(number, ndigits)
    return _integer(round, np.rint(number) if number.dtype.kind == "f" else number)


def pow_(base: Any, exp: Any, mod: Any = None) -> Any:
    """`pow`; with a modulus, that of integers."""
    if mod is None:
        return base**exp
    if not any_unknown((base, exp, mod)):
        return pow(base, exp, mod)
    if any(np.result_type(x).kind not in "biu" for x in (base, exp, mod)):
        raise TypeError(
            f"{user_source()}: pow() 3rd argument not allowed unless all arguments are integers"
        )
    base, exp, mod = map(as_integer, (base, exp, mod))
    base = choose(exp < 0, lambda: _inverse(base, mod), lambda: base)
    return _power(base, abs(exp), mod)


def _times(one: Any, other: Any, mod: Any) -> Any:
    """A product modulo `mod`."""
    return as_integer(
        bind(elementwise.multiply_modulo, *(strengthen(as_array(x)) for x in (one, other, mod)))
    )


def _power(base: Any, exp: Any, mod: Any) -> Any:
    """By repeated squares."""

    def step(result: Any, square: Any, left: Any) -> tuple[Any, ...]:
        result = np.where(left % 2 == 1, _times(result, square, mod), result)
        return result, _times(square, square, mod), left // 2

    names = "the power", "its square", "the exponent"
    begin = as_integer(np.ones((), INT64) % mod), base % mod, exp
    return while_(lambda _, __, left: left > 0, step, (), names, begin)[0]


def _inverse(number: Any, mod: Any) -> Any:
    """The inverse modulo `mod`, by Euclid's algorithm."""

    def step(a: Any, b: Any, x: Any, y: Any) -> tuple[Any, ...]:
        quotient = a // b
        return b, a - quotient * b, y, x - quotient * y

    names = "a", "b", "x", "y"
    begin = number % mod, mod, 1, 0
    divisor, _, inverse, _ = while_(lambda a, b, x, y: b != 0, step, (), names, begin)
    if_(abs(divisor) == 1, lambda: (), _not_invertible, (), ())
    return _times(inverse, divisor, mod)


def _not_invertible() -> tuple[()]:
    raise_(lambda: ValueError("base is not invertible for the given modulus"), None)
    return ()


# --------------------------------------------------------------------------------------- print


def print_(*values: Any, **options: Any) -> None:
    """`print`; of traced values, and in statements that depend on them, when the program comes to
    it."""
    values = tuple(map(opened, values))
    traced = [x for value in values for x in traced_values(value)]
    trace = current_trace()
    if traced or (trace is not None and trace.is_region):
        debug.callback(_Printing(values, options), *traced)
    else:
        printing.print_(*values, **options)


class _Printing:
    """Prints a line with the values that the program has."""

    __name__ = "print"

    def __init__(self, values: Sequence[Any], options: dict[str, Any]) -> None:
        self._values = values
        self._options = options

    def __call__(self, *values: Any) -> None:
        """Print it."""
        given = iter(values)
        parts = []
        for part in self._values:
            own = [as_python(next(given), weak) for weak in weak_values(part)]
            parts.append(with_values(part, own))
        builtins.print(*parts, **self._options)


TABLE: dict[Function, Function] = {
    range: range_,
    zip: zip_,
    itertools.count: count,
    enumerate: enumerate_,
    reversed: reversed_,
    np.ndindex: ndindex,
    np.ndenumerate: ndenumerate,
    min: _extreme(min, partial(compared, "<"), np.min),
    max: _extreme(max, partial(compared, ">"), np.max),
    sum: sum_,
    any: _quantified(True, np.logical_or, np.any),
    all: _quantified(False, np.logical_and, np.all),
    len: len_,
    int: int_,
    float: float_,
    bool: bool_,
    complex: complex_,
    round: round_,
    pow: pow_,
    print: print_,
    isinstance: isinstance_,
    list: list_of,
    next: next_,
    filter: filter_,
    itertools.takewhile: takewhile,
}
