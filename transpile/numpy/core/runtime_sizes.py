"""Runtime sizes as values of a trace."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index, sides, terms_of
from transpile.ir.graph import Atom, Const, Equation, Var
from transpile.ir.indices.lengths import are_equal_later, lengths_of
from transpile.ir.indices.requirements import (
    extreme,
    is_at_most,
    require,
    require_signed_index,
)
from transpile.ir.indices.size_value import SIZE_VALUES, UNDECIDED
from transpile.ir.primitive import TABLE
from transpile.ir.types import FLOAT64, INT64
from transpile.numpy.core.promotion import convert, index_of, is_weak, strengthen, weaken
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.ufuncs import call
from transpile.primitives import axes as primitives
from transpile.primitives import elementwise
from transpile.trace.bytecode.call_resolution import SUBSTITUTES
from transpile.trace.lengths import measured, none_of
from transpile.trace.trace import Trace, bind, the_trace
from transpile.trace.tracer import UNKNOWN, Tracer
from transpile.util.interrupt_safety import THREAD


def dimension_value(dim: Any) -> Any:
    """A size as a value: a Python int, or for a runtime size the last of as many numbers and one,
    counted from 0, which costs nothing: elements of `iota` are their subscripts. A multiple that is
    more than any int64 raises OverflowError."""
    if isinstance(dim, int):
        return dim
    if any(not -(2**63) <= factor < 2**63 for _, factor in terms_of(dim)):
        raise located(OverflowError, "Python int too large to convert to C long")
    counted = bind(primitives.iota, shape=(dim + 1,), dimension=0, dtype=INT64)
    last = bind(primitives.slice_, counted, start=(dim,), limit=(dim + 1,), strides=(1,))
    value = weaken(bind(primitives.reshape, last, shape=()))
    value.owner.sizes[value.original] = dim
    return value


SIZE_VALUES.append(dimension_value)


def _compared(compare: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """A comparison of sizes that the program makes: in functions that are converted from source."""
    if THREAD.python is None:
        return None
    return compare(*(v.as_value() if isinstance(v, Dim) else v for v in (left, right)))


UNDECIDED.append(_compared)


def smaller_of(a: Index, b: Index) -> Index:
    """The smaller of two sizes, neither of which may be negative: a length that the program finds
    where which it is depends on their values."""
    if is_at_most(a, b) or is_at_most(b, a):
        return extreme(a, b, -1)
    if not is_at_most(0, a) or not is_at_most(0, b):
        return extreme(a, b, -1)  # an error
    most = a if isinstance(a, int) else b
    return measured(_of_two(np.minimum, a, b), most, lambda found: (a - found, b - found))


def larger_of(a: Index, b: Index) -> Index:
    """The larger of two sizes, one of which is not negative: a length that the program finds where
    which it is depends on their values."""
    if is_at_most(a, b) or is_at_most(b, a) or not (is_at_most(0, a) or is_at_most(0, b)):
        return extreme(a, b, 1)
    most = sides(a)[1] + sides(b)[1]
    return measured(_of_two(np.maximum, a, b), most, lambda found: (found - a, found - b))


def position_of(bound: Index, size: Index, behind: int = 0) -> Index:
    """Where a bound of a slice stands in an axis, or as many elements behind that: counted from the
    end if it is less than 0, and cut short. A length that the program finds where that depends on
    sizes."""
    if is_at_most(bound, -1):
        return size - smaller_of(-bound - behind, size)
    if is_at_most(0, bound):
        return smaller_of(bound + behind, size)
    if THREAD.assumed is not None:
        require(0, bound, f"the slice bound {bound} of an axis of size {size}")
    given: Any = bound  # which NumPy's functions take, too
    whole: Any = size
    from_end = np.maximum(given + (whole + behind), 0)
    position = np.where(np.less(given, 0), from_end, np.minimum(given + behind, whole))
    return measured(strengthen(convert(position, INT64)), size, lambda found: (size - found,))


def element_of(index: Index, size: Index, none: Index | None = None) -> Index:
    """The element of an axis at an index, which counts from the end if it is less than 0. Where
    that depends on sizes it is one that the program finds, and `none`, by default the size, if
    there is no such element."""
    if is_at_most(index, -1):
        return index + size
    if is_at_most(0, index) or THREAD.assumed is not None:
        return index
    given: Any = index  # which NumPy's functions take, too
    missing: Any = size if none is None else none
    from_start = np.where(np.less(given, 0), given + size, given)
    element = np.where(np.less(given + size, 0), missing, from_start)
    return measured(strengthen(convert(element, INT64)), larger_of(index, missing))


def with_equal_extents(x: Any, i: int, y: Any, k: int, text: str) -> tuple[Any, Any] | None:
    """The arrays with one extent along an axis of each: where one of the two is a length that the
    program finds, the call ends with the error of this text unless they are equal. None where they
    differ."""
    one, other = x.shape[i], y.shape[k]
    if one == other:
        return x, y
    if not are_equal_later(one, other, text):
        return None
    if lengths_of(one):
        return _with_extent(x, i, other), y
    return x, _with_extent(y, k, one)


def _with_extent(x: Any, axis: int, extent: Index) -> Any:
    shape = list(x.shape)
    shape[axis] = extent
    return bind(TABLE["resized"], x, shape=tuple(shape))


def exact(value: Any) -> Any:
    """An axis, a number, or a tuple of them, of which none is a bool: NumPy's functions in C take
    none, those in Python do."""
    if any(type(v) is bool for v in (value if type(value) is tuple else (value,))):
        raise located(TypeError, "an integer is required")
    return value


def extent_of(value: Any) -> Index:
    """An extent that a user gives: an int, a runtime size, or, in a function that is converted from
    source, a traced integer. Then the program finds the extent when it runs, and ends with a
    ValueError where that is negative. Otherwise a traced value raises its error."""
    if isinstance(value, Dim):
        return value
    if not is_found_later(value):
        return index_of(value)
    known = size_of(value)
    if known is not None:
        return known
    text = "negative dimensions are not allowed"
    count = strengthen(convert(value, INT64))
    if the_trace().is_region:
        THREAD.python.require(0, count, text)
        return length_of(count)
    found = length_of(count)
    none_of(bind(primitives.reshape, call(np.less, count, 0), shape=(1,)), text)
    trace = the_trace()  # which counts it, and may be traced again
    here = trace.atom(value)
    assert isinstance(here, Var)  # of a traced value
    trace.sizes[here] = found
    return found


def offset_of(value: Any) -> Index:
    """An index or an offset that a user gives: an int, or a runtime size. A traced value raises its
    error."""
    return value if isinstance(value, Dim) else index_of(value)


def size_of(value: Any) -> Index | None:
    """The size that a traced number is, if it is made of sizes, and not negative."""
    known = None
    for trace in reversed(THREAD.traces):
        if trace is value.owner:
            known = _size_of(trace, value.variable, {}, _FOLLOWED)
            break
        _, captured = trace.captures.get(value.variable, (None, None))
        if captured in trace.sizes:  # it is a length that this trace counts
            known = trace.sizes[captured]
            break
    return known if known is not None and is_at_most(0, known) else None


def require_indices(index: Tracer, axis: int, size: Index, behind: int = 0) -> None:
    """Have the call end with NumPy's IndexError where an index that is made of sizes is none of an
    axis, nor one of so many behind it: those of a list, too."""
    for known in dict.fromkeys(_sizes_among(index.owner, index.variable)):
        require_signed_index(known, axis, size, behind)


def _sizes_among(trace: Trace, atom: Atom) -> Iterator[Dim]:
    """The sizes that elements of an int64 array are."""
    equation = trace.producers.get(atom) if isinstance(atom, Var) and atom.type.shape else None
    if equation is None:
        known = _size_of(trace, atom, {}, _FOLLOWED)
        if isinstance(known, Dim):
            yield known
    elif equation.primitive in _ARRANGING:
        for part in equation.inputs:
            yield from _sizes_among(trace, part)


# Operations whose results have all elements of their operands, and no others.
_ARRANGING = (primitives.broadcast_in_dim, primitives.concatenate, primitives.reshape)

# Operations behind each other that are followed from a number to the sizes that it is made of.
_FOLLOWED = 32


def _size_of(
    trace: Trace, atom: Atom, found: dict[Atom, Index | None], further: int
) -> Index | None:
    """The size that an int64 number is, if it follows from known sizes by so many operations.
    `found` has what other numbers are, as one may be read several times."""
    if isinstance(atom, Const):
        return int(atom.value) if atom.is_scalar else None
    if atom in trace.sizes:
        return trace.sizes[atom]
    if atom not in found:
        equation = trace.producers.get(atom)
        if equation is None or not further or (atom.type.dtype, atom.type.shape) != (INT64, ()):
            return None
        found[atom] = _combined(trace, equation, found, further - 1)
    return found[atom]


def _combined(
    trace: Trace, equation: Equation, found: dict[Atom, Index | None], further: int
) -> Index | None:
    match equation.primitive.name, [_size_of(trace, x, found, further) for x in equation.inputs]:
        case (elementwise.convert.name, [known]) if equation.inputs[0].type.dtype.kind in "iu":
            return known
        case (elementwise.add.name, [int() | Dim() as one, int() | Dim() as other]):
            return one + other
        case (elementwise.subtract.name, [int() | Dim() as one, int() | Dim() as other]):
            return one - other
        case (elementwise.multiply.name, [int() | Dim() as one, int() | Dim() as other]):
            return one * other
    return None


def length_of(count: Any) -> Dim:
    """The length of a range of so many numbers: of none, where there are less."""
    return measured(call(np.maximum, strengthen(convert(count, INT64)), 0))


def range_of(start: Any, stop: Any, step: int, dtype: Any) -> Any:
    """The numbers from start, in steps, to before stop: integers or sizes, of which one at least is
    traced. In the dtype that NumPy gives them, if none is given."""
    if step == 0:
        raise located(ZeroDivisionError, "division by zero")
    low, high = (dimension_value(v) if isinstance(v, Dim) else v for v in (start, stop))
    if (type(low), low, step) == (int, 0, 1):
        count = high
    else:
        count = call(np.negative, call(np.floor_divide, call(np.subtract, low, high), step))
    numbers = bind(primitives.iota, shape=(length_of(count),), dimension=0, dtype=INT64)
    values = call(np.add, call(np.multiply, numbers, step), low)
    if dtype is None:
        is_typed = [isinstance(v, Tracer) and not is_weak(v) for v in (start, stop)]
        zeros: list[Any] = [
            v.dtype.type(0) if t else 0 for v, t in zip((start, stop), is_typed, strict=True)
        ]
        dtype = np.arange(*zeros).dtype
    return convert(values, dtype)


def range_of_floats(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    """A range between numbers of which one is a float, which may be traced, or runtime sizes: of
    as many numbers as NumPy's."""
    numbers = start, stop, step
    if not isinstance(step, Tracer) and step == 0:
        raise located(ZeroDivisionError, "division by zero")
    low, high, by = (v.as_value() if isinstance(v, Dim) else v for v in numbers)
    span = call(np.subtract, high, low)
    steps = call(np.divide, span, by)
    # One step that is longer than the span by so much that the quotient is 0.
    is_one = (steps == 0) & (span != 0) & ~call(np.signbit, steps)
    length = np.where(is_one, 1.0, np.where(steps > 0, call(np.ceil, steps), 0.0))
    most = None
    if not any(isinstance(v, Tracer) for v in numbers):
        first, last = (v if isinstance(v, Dim) else math.floor(v) for v in (start, stop))
        a_size = 1 if isinstance(step, Dim) else math.ceil(1 / abs(step))  # so many, at most
        most = (sum(sides(last - first)) + 1) * a_size + 1
    else:
        is_too_long = length >= 2.0**63
        none_of(np.reshape(np.isnan(steps), (1,)), "arange: cannot compute length")
        none_of(np.reshape(is_too_long, (1,)), "Maximum allowed size exceeded")
        length = np.where(is_too_long, 0.0, length)
    count = measured(convert(length, INT64), most)
    places = bind(primitives.iota, shape=(count,), dimension=0, dtype=FLOAT64)
    apart = call(np.subtract, call(np.add, low, by), low)
    apart = np.where(np.isfinite(apart), apart, 0.0)  # else there is one number at most
    values = call(np.add, call(np.multiply, places, apart), low)
    return convert(values, FLOAT64 if dtype is None else dtype)


def is_float_found_later(value: Any) -> bool:
    """True for a traced float that can bound a range, as the program finds it when it runs."""
    return (
        THREAD.python is not None
        and isinstance(value, Tracer)
        and not value.shape
        and value.dtype == FLOAT64
        and value.owner.value(value.variable) is UNKNOWN
    )


def is_found_later(value: Any) -> bool:
    """True for a traced integer that can be an extent, as the program finds it when it runs."""
    return (
        THREAD.python is not None
        and isinstance(value, Tracer)
        and not value.shape
        and value.dtype.kind in "iu"
        and value.owner.value(value.variable) is UNKNOWN
    )


def _of_two(ufunc: np.ufunc, a: Index, b: Index) -> Any:
    value = call(ufunc, dimension_value(a), dimension_value(b))
    return strengthen(convert(value, INT64))


def _length(value: Any) -> Any:
    """`len`, which may be a runtime size."""
    shape = value.shape if isinstance(value, Tracer) else ()
    return shape[0] if shape and isinstance(shape[0], Dim) else len(value)


def _extreme(builtin: Any, plain: Callable[..., Any], sign: int) -> Callable[..., Any]:
    """`max` (of sign 1) or `min`, of runtime sizes too."""

    def call(*args: Any, **kwargs: Any) -> Any:
        values = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
        sizes = any(isinstance(v, Dim) for v in values)
        if kwargs or not sizes or not all(isinstance(v, int | Dim) for v in values):
            return plain(*args, **kwargs)
        return functools.reduce(larger_of if sign > 0 else smaller_of, values)

    return call


def _absolute(value: Any) -> Any:
    """`abs`, of a runtime size too."""
    is_size = isinstance(value, Dim)
    return larger_of(value, 0) + larger_of(-value, 0) if is_size else _plain_abs(value)


_plain_abs = SUBSTITUTES.get(id(abs), (abs, abs))[1]
SUBSTITUTES[id(abs)] = (abs, _absolute)
SUBSTITUTES[id(len)] = (len, _length)
for _builtin, _sign in ((max, 1), (min, -1)):
    _plain = SUBSTITUTES.get(id(_builtin), (_builtin, _builtin))[1]
    SUBSTITUTES[id(_builtin)] = (_builtin, _extreme(_builtin, _plain, _sign))
