"""What filters share: arguments that are one for all axes or one for each, the dtype of results,
and arrays that are continued beyond their edges."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index
from transpile.ir.indices.requirements import require
from transpile.ir.types import COMPLEX128, FLOAT64, INT32, INT64, kind_letter
from transpile.numpy.core.promotion import Array, as_array, convert, has_tracer, unsupported
from transpile.numpy.core.promotion import error as located

__all__ = [
    "as_stored",
    "axes_of",
    "axis_of",
    "extended",
    "for_each",
    "image",
    "known",
    "output_dtype",
    "shifted",
    "stored_edge",
    "surroundings",
    "wide",
    "window",
    "with_edge",
]

# By mode of SciPy: the mode of `np.pad`.
_PADDING: Mapping[str, Any] = {
    "constant": "constant",
    "grid-constant": "constant",
    "grid-mirror": "symmetric",
    "grid-wrap": "wrap",
    "mirror": "reflect",
    "nearest": "edge",
    "reflect": "symmetric",
    "wrap": "wrap",
}


def image(input: Array, is_real: bool = False) -> Any:
    """The array to be filtered. TypeError for complex ones, where a filter orders the values."""
    x = as_array(input)
    if is_real and kind_letter(x.dtype) == "c":
        raise located(TypeError, "Complex type not supported")
    return x


def known(name: str, value: Any) -> Any:
    """A parameter that has to be known while the function is traced."""
    if has_tracer(value):
        raise unsupported(f"a traced {name} of a filter: its shape depends on it")
    return value


def output_dtype(output: Any, x: Any, is_complex: bool = False) -> Any:
    """The dtype of the result, that of the array by default. Arrays to be written are refused."""
    if output is None:
        dtype = x.dtype
    elif isinstance(output, str | type | np.dtype):
        dtype = np.dtype(output)
    else:
        raise unsupported("output= of a traced value may be a dtype, not an array")
    if is_complex and kind_letter(dtype) != "c":
        return np.promote_types(dtype, np.complex64)
    return dtype


def as_stored(values: Any, dtype: Any) -> Any:
    """Values in the dtype of the result, as C casts them: integers are cut off, and those below 0
    count from the largest unsigned one downwards."""
    kind = kind_letter(dtype)
    if values.dtype == dtype or kind_letter(values.dtype) not in "fc":
        return convert(values, dtype)
    if kind == "b":
        return np.trunc(values) != 0
    if kind == "u":
        values = convert(values, INT32 if dtype.itemsize < 4 else INT64)
    return convert(values, dtype)


def wide(x: Any) -> Any:
    """The array in double precision, in which SciPy's filters compute."""
    return convert(x, COMPLEX128 if kind_letter(x.dtype) == "c" else FLOAT64)


def for_each(value: Any, count: int) -> list[Any]:
    """A value for each axis, from a sequence of them or one for all."""
    if isinstance(value, str) or not np.iterable(value):
        return [value] * count
    values = list(value)
    if len(values) != count:
        raise located(RuntimeError, "sequence argument must have length equal to input rank")
    return values


def axis_of(axis: Any, ndim: int) -> int:
    """An axis counted from the front; AxisError, a ValueError, where there is none."""
    number = operator.index(axis)
    if not -ndim <= number < ndim:
        raise located(
            np.exceptions.AxisError,
            f"axis {number} is out of bounds for array of dimension {ndim}",
        )
    return number % ndim


def axes_of(axes: Any, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front, all by default."""
    if axes is None:
        return tuple(range(ndim))
    numbers = [operator.index(a) for a in (axes if isinstance(axes, Iterable) else (axes,))]
    for number in numbers:
        if not -ndim <= number < ndim:
            raise located(ValueError, f"specified axis: {number} is out of range")
    if len({n % ndim for n in numbers}) != len(numbers):
        raise located(ValueError, "axes must be unique")
    return tuple(n % ndim for n in numbers)


def window(
    shape: Sequence[Index], origin: Any, axes: Any, ndim: int, name: str
) -> tuple[list[Any], list[int]]:
    """The size of a window and its origin for each axis of the array, for a window along some
    axes, whose own are in the array's order. As in SciPy origins are in the order of `axes`, unless
    these are all."""
    along = axes_of(axes, ndim)
    if len(shape) != len(along):
        raise located(
            RuntimeError, f"{name}.ndim ({len(shape)}) must match len(axes) ({len(along)})"
        )
    if 0 in shape:
        raise located(RuntimeError, f"{name} must not be empty")
    origins = for_each(origin, len(along))
    if len(along) == ndim:
        return list(shape), origins
    sizes = dict(zip(sorted(along), shape, strict=True))
    given = dict(zip(along, origins, strict=True))
    return [sizes.get(k, 1) for k in range(ndim)], [given.get(k, 0) for k in range(ndim)]


def extended(
    x: Any, widths: Mapping[int, tuple[Any, Any]], mode: str | Mapping[int, str], cval: Any
) -> Any:
    """The array with so many elements before and after it along some axes, as a mode has them."""
    modes = {a: mode if isinstance(mode, str) else mode[a] for a in widths}
    for name in modes.values():
        if name not in _PADDING:
            raise located(RuntimeError, "boundary mode not supported")
    if 0 in np.shape(x) or not any(map(any, widths.values())):
        return x
    if len(set(modes.values())) > 1:
        for axis, pair in widths.items():
            x = extended(x, {axis: pair}, modes[axis], cval)
        return x
    pairs = [widths.get(axis, (0, 0)) for axis in range(np.ndim(x))]
    padding = _PADDING[next(iter(modes.values()))]
    if padding != "constant":
        return np.pad(x, pairs, mode=padding)
    if isinstance(cval, complex | np.complexfloating) and kind_letter(x.dtype) != "c":
        raise located(ValueError, "Cannot provide a complex-valued cval when the input is real.")
    return np.pad(x, pairs, mode="constant", constant_values=cval)


def stored_edge(cval: Any, dtype: Any) -> Any:
    """What lies beyond the edges in the dtype of the array, as C casts it."""
    return cval if has_tracer(cval) else as_stored(np.array(cval), dtype)[()]


def with_edge(x: Any, mode: Any, cval: Any) -> Any:
    """The array in a dtype that has `cval`, too, where that lies beyond the edges."""
    if mode not in ("constant", "grid-constant") or kind_letter(x.dtype) == "f":
        return x
    if not has_tracer(cval) and np.array(cval).astype(x.dtype) == cval:
        return x
    return wide(x)


def surroundings(
    size: Index, origin: Any, text: str = "invalid origin", backwards: bool = False
) -> tuple[Any, Any]:
    """How many elements before and after the middle one a window of a size reaches. Of one that is
    backwards the middle is the first of two, and an origin moves it the other way."""
    before: Index
    if backwards:
        before = (size - 1) // 2 - operator.index(origin)
    else:
        before = size // 2 + operator.index(origin)
    if isinstance(size, Dim):
        require(0, before, "the origin of a window")
        require(before + 1, size, "the origin of a window")
    elif not 0 <= before < size:
        raise located(ValueError, text)
    return before, size - 1 - before


def shifted(x: Any, offsets: Sequence[int], sizes: Sequence[Index]) -> Any:
    """For each window of some sizes, the element at the offsets in it."""
    cut = tuple(
        slice(offset, offset + 1 - size or None)
        for offset, size in zip(offsets, sizes, strict=True)
    )
    return x[cut]
