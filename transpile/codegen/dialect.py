"""Dialects: the spelling of types and literals in a target language, and its template, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import numpy as np

from transpile.ir.number_text import bits_of, float_texts, nan_bits, number_text
from transpile.ir.types import FLOAT16, SHORT_NAMES, is_bfloat16, is_half
from transpile.util.frozen_records import dataclass, replace

DType = np.dtype[Any]


@dataclass(frozen=True)
class Dialect:
    """One target language.

    types      the name of each dtype
    literal    (value, dtype) -> its text; `literals` (array, dtype) -> those of its elements
    template   the file that renders a program, in templates/
    includes   the headers that every program needs; `complex_includes` those for complex numbers
    is_timed   True: the program adds up the seconds of each of its kernels
    helpers    {function of the C library: the helper that is called in its place}
    calls_back False: a program that fails returns its code, and calls nobody
    """

    name: str
    types: Mapping[DType, str]
    literal: Callable[[Any, DType], str]
    literals: Callable[[np.ndarray[Any, Any], DType], list[str]]
    template: str
    includes: tuple[str, ...]
    complex_includes: tuple[str, ...]
    is_timed: bool = False
    helpers: Mapping[str, str] = field(default_factory=dict)
    calls_back: bool = True

    def headers(self, is_complex: bool) -> tuple[str, ...]:
        """The headers of a program with or without complex numbers."""
        return self.includes + (self.complex_includes if is_complex else ())


def c_literal(value: Any, dtype: DType) -> str:
    """A C literal of this dtype, exact to the bit."""
    kind = dtype.kind
    if kind == "f" and dtype.itemsize > 2:  # first, as most literals are floats
        return _float_literal(value, dtype)
    if is_half(dtype):  # which are passed as their bits
        return f"0x{bits_of(value, dtype):04x}"
    if kind == "b":
        return "true" if value else "false"
    if kind == "c":
        suffix = "F" if dtype.itemsize == 8 else ""
        part = np.dtype(f"f{dtype.itemsize // 2}")
        parts = (c_literal(np.real(value), part), c_literal(np.imag(value), part))
        return f"CMPLX{suffix}({parts[0]}, {parts[1]})"
    number = int(value)
    info = np.iinfo(dtype)
    bits = dtype.itemsize * 8
    if bits >= 32 and number == info.max:
        return f"{'U' if kind == 'u' else ''}INT{bits}_MAX"
    if kind == "i" and bits >= 32 and number == info.min:
        return f"INT{bits}_MIN"
    return f"{number}u" if kind == "u" and dtype.itemsize >= 4 else str(number)


def c_literals(values: np.ndarray[Any, Any], dtype: DType) -> list[str]:
    """The literals of an array's elements, in the order of C."""
    elements = values.ravel()
    if dtype.kind != "f" or dtype.itemsize == 2:
        return [c_literal(element, dtype) for element in elements]
    ending = _ending(dtype)
    return [
        text + ending if text[-1].isdigit() else _float_literal(element, dtype)
        for text, element in zip(float_texts(elements, dtype), elements, strict=True)
    ]


def _ending(dtype: DType) -> str:
    """What the literals of a float end in."""
    return "f" if dtype.itemsize == 4 else ""


def _float_literal(value: Any, dtype: DType) -> str:
    ending = _ending(dtype)
    text = number_text(value, dtype)
    sign, size = ("-", text[1:]) if text.startswith("-") else ("", text)
    if size in ("inf", "nan"):
        return sign + {"inf": "INFINITY", "nan": "NAN"}[size]
    if size.startswith("nan"):
        is_quiet, bits = nan_bits(value, dtype)
        return f'{sign}__builtin_nan{"" if is_quiet else "s"}{ending}("{bits:#x}")'
    return text + ending


class _Types(dict[DType, str]):
    """The types of dtypes; bfloat16 is added at its first use, as its package takes long to
    import."""

    def __missing__(self, dtype: DType) -> str:
        if not is_bfloat16(dtype):
            raise KeyError(dtype)
        return self.setdefault(dtype, self[FLOAT16])

    def __contains__(self, dtype: object) -> bool:
        return super().__contains__(dtype) or is_bfloat16(dtype)


_INTEGERS = [np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]
_C_TYPES = _Types(
    {
        **{d: f"{d.name}_t" for d in _INTEGERS},
        FLOAT16: "uint16_t",
        np.dtype("bool"): "bool",
        np.dtype("float32"): "float",
        np.dtype("float64"): "double",
        np.dtype("complex64"): "float complex",
        np.dtype("complex128"): "double complex",
    }
)

C = Dialect(
    name="c",
    types=_C_TYPES,
    literal=c_literal,
    literals=c_literals,
    template="program.c.j2",
    includes=("math.h", "stdbool.h", "stddef.h", "stdint.h", "string.h"),
    complex_includes=("complex.h",),
)

DIALECTS = {"c": C}


def without_library(dialect: Dialect, *, calls_back: bool) -> Dialect:
    """C of programs that have no C library but math.h."""
    kept = tuple(header for header in dialect.includes if header != "string.h")
    return replace(dialect, includes=kept, calls_back=calls_back)


def suffix(dtype: DType) -> str:
    """The suffix of the helpers for a dtype: f32, i64, u8, c128; `bool` for bool."""
    return SHORT_NAMES[dtype]
