"""Sorts as runtime_c/arrays/sort.h sees them: rows along an axis, one call for each key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from transpile.errors import UnsupportedError
from transpile.ir.dims import Index, product
from transpile.ir.graph import Equation
from transpile.ir.loop_ir import Call, Load
from transpile.ir.types import SHORT_NAMES, kind_letter, real_dtype
from transpile.lower.storage import Place
from transpile.primitives.sorting import argsort

# The bits of the fraction of a float; and how the helpers call integers.
_FRACTION = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
_INTEGERS = {"b": -2, "u": -2, "i": -1}
# As many rows are sorted at a time as there may be threads, if their scratch memory is this small.
_MOST_ROWS, _MOST_SCRATCH = 16, 1 << 24
# Positions have 32 bits while they are sorted.
_LONGEST_ROW = (1 << 32) - 1


def sort_workspace(equation: Equation) -> int:
    """The bytes of scratch memory: two words of 64 bits for each element of the rows that are
    sorted at a time.

    Raises UnsupportedError for rows whose length is not known, or more than memory will hold.
    """
    places, (_, n, _) = _places(equation)
    return 64 + 16 * places * n


def _places(equation: Equation) -> tuple[int, tuple[int, int, int]]:
    """How many rows are sorted at a time, and the sizes before, along and after their axis."""
    shape, axis = equation.output.type.shape, equation.params["axis"]
    outer, n, inner = product(shape[:axis]), shape[axis], product(shape[axis + 1 :])
    if not (isinstance(outer, int) and isinstance(n, int) and isinstance(inner, int)):
        raise UnsupportedError(f"{equation.source}: {equation.primitive} over a runtime size")
    if n > _LONGEST_ROW:
        raise UnsupportedError(f"{equation.source}: {equation.primitive} of {n} elements in a row")
    places = max(1, min(outer * inner, _MOST_ROWS, _MOST_SCRATCH // (16 * max(1, n))))
    return places, (outer, n, inner)


def sort_calls(
    equation: Equation, keys: Sequence[Place], out: Place, scratch: Place
) -> Iterator[Call]:
    """The calls that sort the keys, the least significant one first: each call is stable."""
    places, sizes = _places(equation)
    name = equation.primitive.name
    for number, key in enumerate(reversed(keys)):
        function, *layout = _helper(name, key.dtype)
        arguments: list[Index | Load] = [*sizes, *layout, key.first, out.first]
        if equation.primitive is argsort:
            arguments.append(int(number > 0))
        arguments += [places, scratch.first]
        yield Call(function, tuple(arguments), (out.name, scratch.name))


def _helper(row: str, dtype: np.dtype[Any]) -> tuple[str, int, int]:
    """The helper for a row and the dtype of its keys, the format of these, and how many words an
    element has."""
    words = 2 if dtype.kind == "c" else 1
    size = dtype.itemsize // words
    kind = _INTEGERS.get(kind_letter(dtype))
    layout = _FRACTION[SHORT_NAMES[real_dtype(dtype)]] if kind is None else kind
    name = "sort_pairs" if row == "sort" and words == 2 else row
    return f"{name}_u{8 * size}", layout, words
