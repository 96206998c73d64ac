"""Numbers as text: the shortest decimal digits that give them back, to the last bit.

The digits are found by integer arithmetic. So neither NumPy's print options nor the locale nor the
processor's floating-point modes (rounding, subnormal numbers taken for zeros) reach the text of a
program or its key.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from transpile.ir.types import is_bfloat16, kind_letter

# The bits of the fraction, by the bytes of a number.
_FRACTION = {2: 10, 4: 23, 8: 52}
# No float has a neighbour that agrees with it in so many digits.
_ENOUGH = 17
# Numbers from 1e-4 to below 1e16 have no exponent.
_LEAST_POINT, _LAST_POINT = -3, 16


def number_text(value: Any, dtype: np.dtype[Any]) -> str:
    """A number of a dtype as Python writes it: `True`, `-7`, `0.1`, `1e-45`, `-inf`, `(1+2j)`.

    NaNs that are not the usual one have their sign and the bits of their fraction: `-nan`,
    `nan(0x1)`.
    """
    kind = kind_letter(dtype)
    if kind == "b":
        return str(bool(value))
    if kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        real, imaginary = (number_text(x, part) for x in (np.real(value), np.imag(value)))
        real, imaginary = real.removesuffix(".0"), imaginary.removesuffix(".0")
        sign = "" if imaginary.startswith("-") else "+"
        return f"{imaginary}j" if real == "0" else f"({real}{sign}{imaginary}j)"
    if kind != "f":
        return str(int(value))
    bits = bits_of(value, dtype)
    return _float_text(bits, 8 * dtype.itemsize, _fraction_bits(dtype))


def bits_of(value: Any, dtype: np.dtype[Any]) -> int:
    """The bits of a float, as an unsigned integer."""
    return int(np.asarray(value, dtype).view(f"u{dtype.itemsize}"))


def _fraction_bits(dtype: np.dtype[Any]) -> int:
    """How many bits of a float are those of its fraction."""
    return 7 if is_bfloat16(dtype) else _FRACTION[dtype.itemsize]


def nan_bits(value: Any, dtype: np.dtype[Any]) -> tuple[bool, int]:
    """Whether a NaN is a quiet one, and the other bits of its fraction."""
    quiet = 1 << (_fraction_bits(dtype) - 1)
    bits = bits_of(value, dtype)
    return bool(bits & quiet), bits & (quiet - 1)


def number_bytes(value: float | complex) -> bytes:
    """What two of Python's numbers have in common that are the same, NaN and -0.0 included."""
    return np.array(value).tobytes()


@lru_cache(maxsize=8192)
def _float_text(bits: int, size: int, width: int) -> str:
    """The float with these bits, of which `width` are the fraction."""
    sign = "-" if bits >> (size - 1) else ""
    highest = (1 << (size - 1 - width)) - 1
    fraction, exponent = bits & ((1 << width) - 1), bits >> width & highest
    if exponent == highest:
        if not fraction:
            return f"{sign}inf"
        return f"{sign}nan" if fraction == 1 << (width - 1) else f"{sign}nan({fraction:#x})"
    if not (fraction or exponent):
        return f"{sign}0.0"
    least = 1 - (highest >> 1) - width  # the exponent of the last bit of a subnormal number
    if exponent == 0:
        digits, point = _shortest(fraction, least, False)
    else:
        is_first = fraction == 0 and exponent > 1
        digits, point = _shortest(fraction | 1 << width, least + exponent - 1, is_first)
    return sign + _with_point(digits, point)


def _shortest(number: int, exponent: int, is_first: bool) -> tuple[str, int]:
    """The digits of number * 2**exponent, and the place of the point among them: 12.5 has the
    digits 125 and the place 2.

    They are the fewest that lie nearer to it than to its neighbours, and of those the nearest.
    Below the first number of a binade (`is_first`) the neighbours are twice as near.
    """
    # In quarters of the distance to the neighbour above: the number, and half of both distances.
    value, above, below, scale = 4 * number, 2, 1 if is_first else 2, 4
    up, down = 1 << max(exponent, 0), 1 << max(-exponent, 0)
    # The place of the point or the one before: 1233 / 4096 is a little less than log10(2).
    place = (number.bit_length() + exponent - 1) * 1233 >> 12
    up, down = up * 10 ** max(_ENOUGH - place, 0), down * 10 ** max(place - _ENOUGH, 0)
    value, above, below, scale = value * up, above * up, below * up, scale * down
    # The integers nearer to it than to its neighbours. A reader takes what is half-way for the
    # even one.
    is_odd = number % 2
    high, rest = divmod(value + above, scale)
    high -= is_odd and not rest
    low, rest = divmod(value - below, scale)
    low += bool(is_odd or rest)
    unit = 1
    while high // (10 * unit) * 10 * unit >= low:
        unit *= 10
    nearest, rest = divmod(value, scale * unit)
    nearest += 2 * rest > scale * unit - nearest % 2  # of two that are as near, the even one
    digits = str(min(max(nearest, -(-low // unit)), high // unit))
    return digits, place - _ENOUGH + len(digits) + len(str(unit)) - 1


def _with_point(digits: str, point: int) -> str:
    if not _LEAST_POINT <= point <= _LAST_POINT:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{digits[0]}{fraction}e{point - 1:+03d}"
    if point <= 0:
        return f"0.{'0' * -point}{digits}"
    return f"{digits[:point]:0<{point}}.{digits[point:] or '0'}"
