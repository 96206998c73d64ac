"""What the computation of a sort or of a reduction of pairs means: an order, an extreme.

    keys_of(graph, 3)  ->  2 where the comparison is the usual one of the first two of three arrays
    extreme_of(graph)  ->  "argmax" where it keeps the greater one of (value, index), NaN first

They are compared with those that JAX makes, and with those of `transpile.hlo.rules.reductions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile import lax
from transpile.hlo_import.same_functions import is_same
from transpile.ir.graph import Graph
from transpile.ir.types import FLOAT32, is_half, kind_letter

Precedes = Callable[[Any, Any], Any]
MOST_KEYS = 16


def total_order(x: Any) -> Any:
    """The bits of floats as integers in the total order of IEEE 754, section 5.10: -NaN first, NaN
    last."""
    bits = lax.bitcast_convert_type(x, np.dtype(f"int{8 * x.dtype.itemsize}"))
    rest = np.array(np.iinfo(bits.dtype).max, bits.dtype)
    return lax.select(lax.lt(bits, _like(bits, 0)), lax.bitwise_xor(bits, _like(bits, rest)), bits)


def _like(x: Any, value: Any) -> Any:
    return lax.full_like(x, value)


def _key(x: Any) -> list[Any]:
    """The keys that JAX's order compares for an array: as numbers, or bits in the total order."""
    if x.dtype.kind == "c":
        return [*_key(lax.real(x)), *_key(lax.imag(x))]
    if kind_letter(x.dtype) != "f":
        return [x]
    zero = lax.select(lax.eq(x, _like(x, 0)), _like(x, 0), x)
    return [lax.select(lax.ne(x, x), _like(x, np.nan), zero)]


def _ordered(compare: Any, x: Any, y: Any) -> Any:
    if kind_letter(x.dtype) == "f":
        return compare(total_order(x), total_order(y))
    return compare(x, y)


def _of_jax(*pairs: Any) -> list[Any]:
    """The first keys come before the second ones, by the first pair that differs."""
    first = [k for x in pairs[::2] for k in _key(x)]
    second = [k for y in pairs[1::2] for k in _key(y)]
    result: Any = None
    for x, y in reversed(list(zip(first, second, strict=True))):
        here = _ordered(lax.lt, x, y)
        tie = None if result is None else lax.bitwise_and(_ordered(lax.eq, x, y), result)
        result = here if tie is None else lax.bitwise_or(here, tie)
    return [result]


def _precedes(x: Any, y: Any) -> Any:
    """NumPy's order: NaN last; complex numbers by their real parts, then by the imaginary ones."""
    if x.dtype.kind == "c":
        real, imag = _precedes(lax.real(x), lax.real(y)), _precedes(lax.imag(x), lax.imag(y))
        is_back = _precedes(lax.real(y), lax.real(x))
        return lax.bitwise_or(real, lax.bitwise_and(lax.bitwise_not(is_back), imag))
    if kind_letter(x.dtype) != "f":
        return lax.lt(x, y)
    return lax.bitwise_or(lax.lt(x, y), lax.bitwise_and(_is_nan(y), _is_number(x)))


def _is_nan(x: Any) -> Any:
    """Of 16-bit floats as `transpile.hlo` asks: in float32."""
    wide = lax.convert_element_type(x, FLOAT32) if is_half(x.dtype) else x
    return lax.ne(wide, wide)


def _is_number(x: Any) -> Any:
    return lax.bitwise_not(_is_nan(x))


def _of_numpy(*pairs: Any) -> list[Any]:
    """The first keys come before the second ones in NumPy's order."""
    result: Any = None
    for x, y in reversed(list(zip(pairs[::2], pairs[1::2], strict=True))):
        here = _precedes(x, y)
        if result is not None:
            here = lax.bitwise_or(here, lax.bitwise_and(lax.bitwise_not(_precedes(y, x)), result))
        result = here
    return [result]


def _plain(*pairs: Any) -> list[Any]:
    """The same without a place for NaN."""
    result: Any = None
    for x, y in reversed(list(zip(pairs[::2], pairs[1::2], strict=True))):
        here = lax.lt(x, y)
        tie = None if result is None else lax.bitwise_and(lax.eq(x, y), result)
        result = here if tie is None else lax.bitwise_or(here, tie)
    return [result]


def _descending(*pairs: Any) -> list[Any]:
    return _plain(*[v for k in range(0, len(pairs), 2) for v in (pairs[k + 1], pairs[k])])


def keys_of(graph: Graph, arrays: int) -> int:
    """How many of the arrays are keys in ascending order; 0 where it is another comparison, and -1
    for the first one in descending order."""
    types = [v.type for v in graph.inputs]
    if len(types) != 2 * arrays:
        return 0
    for count in range(1, min(arrays, MOST_KEYS) + 1):
        is_complex = any(t.dtype.kind == "c" for t in types[: 2 * count])
        for order in (_of_jax, _of_numpy) if is_complex else (_of_jax, _of_numpy, _plain):
            if is_same(graph, _first(order, 2 * count), types):
                return count
    if types[0].dtype.kind == "c":
        return 0
    return -1 if is_same(graph, _first(_descending, 2), types) else 0


def _first(order: Callable[..., list[Any]], count: int) -> Callable[..., list[Any]]:
    return lambda *values: order(*values[:count])


# --------------------------------------------------------------------------------------- extremes


def _kept(compare: Precedes) -> Callable[..., list[Any]]:
    """JAX's reduction of pairs: what is further or NaN, of equal ones the one of lower index."""

    def keep(v: Any, i: Any, w: Any, j: Any) -> list[Any]:
        is_first = compare(v, w)
        if kind_letter(v.dtype) == "f":
            is_first = lax.bitwise_or(is_first, lax.ne(v, v))
        is_tie = lax.bitwise_and(lax.eq(v, w), lax.lt(i, j))
        is_lower = lax.bitwise_or(is_first, is_tie)
        return [lax.select(is_first, v, w), lax.select(is_lower, i, j)]

    return keep


def _further(compare: Precedes) -> Callable[..., list[Any]]:
    """NumPy's: a pair is kept that is more extreme, or equal and comes first; NaN is extreme."""

    def keep(v: Any, i: Any, w: Any, j: Any) -> list[Any]:
        is_beyond, is_tie = compare(v, w), lax.eq(v, w)
        if kind_letter(v.dtype) == "f":
            missing = _is_nan(v)
            is_beyond = lax.bitwise_or(is_beyond, lax.bitwise_and(missing, _is_number(w)))
            is_tie = lax.bitwise_or(is_tie, lax.bitwise_and(missing, _is_nan(w)))
        is_first = lax.bitwise_or(is_beyond, lax.bitwise_and(is_tie, lax.lt(i, j)))
        return [lax.select(is_first, v, w), lax.select(is_first, i, j)]

    return keep


_EXTREMES = {
    "argmax": (_kept(lax.gt), _further(lax.gt)),
    "argmin": (_kept(lax.lt), _further(lax.lt)),
}


def extreme_of(graph: Graph) -> str:
    """The primitive that a reduction of (value, index) is, or ""."""
    types = [v.type for v in graph.inputs]
    if len(types) != 4 or types[1].dtype.kind not in "iu" or types[0].dtype.kind == "c":
        return ""
    for name, templates in _EXTREMES.items():
        if any(is_same(graph, t, types) for t in templates):
            return name
    return ""
