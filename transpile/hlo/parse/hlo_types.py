"""XLA's names of types: f32[2,3]{1,0}, and (f32[], s32[2]{0})."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from transpile.hlo.module import Type
from transpile.hlo.parse.cursor import Cursor
from transpile.ir.types import MOST, ArrayType, as_dtype, size_of

_ARRAY = re.compile(r"([a-z][a-z0-9]*)\[([\d,<=? ]*)\]")
_LAYOUT = re.compile(r"\{([\d,]*)(?::[^{}]*)?\}")
_NAMES = {
    "pred": "bool",
    "bf16": "bfloat16",
    "c64": "complex64",
    "c128": "complex128",
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"s{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}


def dtype_of(name: str) -> np.dtype[Any] | None:
    """The dtype of XLA's name for it; None for one that is not supported."""
    return as_dtype(_NAMES[name]) if name in _NAMES else None


def parse_shape(c: Cursor) -> tuple[Type, Any]:
    """A type, and the order of its axes in memory, minor one first: None where it is row-major, or
    not said."""
    if c.take("("):
        c.enter()
        kinds: list[Type] = []
        layouts = []
        while not c.at(")"):
            kind, layout = parse_shape(c)
            kinds.append(kind)
            layouts.append(layout)
            if not c.take(","):
                break
        c.need(")")
        c.leave()
        return tuple(kinds), tuple(layouts)
    begin = c.position
    found = c.match(_ARRAY)
    if found is None:
        c.expected("a type")
    if found[1] == "token":
        return (), None
    dtype = dtype_of(found[1])
    if dtype is None:
        c.fail(f"elements of type {found[1]} are not supported", begin)
    words = [w for w in found[2].replace(" ", "").split(",") if w]
    if not all(w.isdigit() for w in words):
        c.fail("sizes that are known at run time are not supported", begin)
    array = array_type(words, dtype)
    if array is None:
        c.fail("this shape is too large", begin)
    order = c.match(_LAYOUT)
    axes = tuple(int(a) for a in order[1].split(",") if a) if order else ()
    if axes and sorted(axes) != list(range(array.ndim)):
        c.fail(f"{axes} is no order of {array.ndim} axes", begin)
    is_plain = axes == tuple(range(array.ndim))[::-1]
    return array, None if is_plain or not axes else axes


def array_type(sizes: Any, dtype: np.dtype[Any]) -> ArrayType | None:
    """The type of arrays of these sizes; None where they are too large."""
    words = [str(s) for s in sizes]
    if len(words) > 64 or any(len(w) > 19 for w in words):
        return None
    shape = tuple(map(int, words))
    if any(not 0 <= d <= MOST for d in shape) or size_of(shape, dtype.itemsize) > MOST:
        return None
    return ArrayType(shape, dtype)
