"""Print numbers: the shortest decimal digits that read back to the same bits.

The conversion uses integer arithmetic only (G. Steele and J. White, 1990; intervals as in R. Burger
and R. Dybvig, 1996). So the text of a program, and its key, depend neither on NumPy's print options
nor on the locale nor on the floating-point modes of the processor (rounding, flush to zero).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from transpile.ir.types import is_bfloat16, kind_letter

_FRACTION = {2: 10, 4: 23, 8: 52}  # the width of the fraction by the bytes of a float
_ENOUGH = 17  # significant digits that tell any two floats apart
_LEAST_POINT, _LAST_POINT = -3, 16  # from 1e-4 to below 1e16 there is no exponent


def number_text(value: Any, dtype: np.dtype[Any]) -> str:
    """A number of a dtype in Python's notation: `True`, `-7`, `0.1`, `1e-45`, `-inf`, `(1+2j)`.

    NaNs other than the default one have their sign and payload: `-nan`, `nan(0x1)`.
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


def float_texts(values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> list[str]:
    """The texts of an array of floats, in the order of C: those of `number_text`, sooner."""
    bits = np.asarray(values, dtype).ravel().view(f"u{dtype.itemsize}").tolist()
    size, width = 8 * dtype.itemsize, _fraction_bits(dtype)
    return [_float_text(b, size, width) for b in bits]


def bits_of(value: Any, dtype: np.dtype[Any]) -> int:
    """The bits of a float, as an unsigned integer."""
    return int(np.asarray(value, dtype).view(f"u{dtype.itemsize}"))


def _fraction_bits(dtype: np.dtype[Any]) -> int:
    """The width of a float's fraction."""
    return 7 if is_bfloat16(dtype) else _FRACTION[dtype.itemsize]


def nan_bits(value: Any, dtype: np.dtype[Any]) -> tuple[bool, int]:
    """Is a NaN quiet, and its payload."""
    quiet = 1 << (_fraction_bits(dtype) - 1)
    bits = bits_of(value, dtype)
    return bool(bits & quiet), bits & (quiet - 1)


def number_bytes(value: float | complex) -> bytes:
    """The bits of a Python number, by which NaNs and -0.0 compare."""
    return np.array(value).tobytes()


@lru_cache(maxsize=8192)
def _float_text(bits: int, size: int, width: int) -> str:
    """The text of a float of these bits, of which `width` are the fraction."""
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
        is_power_of_two = fraction == 0 and exponent > 1
        digits, point = _shortest(fraction | 1 << width, least + exponent - 1, is_power_of_two)
    return sign + _with_point(digits, point)


def _shortest(number: int, exponent: int, is_power_of_two: bool) -> tuple[str, int]:
    """The digits of number * 2**exponent, and the position of the decimal point: 12.5 has the
    digits 125 and the position 2.

    They are the fewest within half the distance to both neighbours, and of those the nearest to the
    number. The neighbour below a power of two is at half the distance of the one above.
    """
    # In units of a quarter of the gap above: the number, and half of the gaps above and below.
    value, above, below, scale = 4 * number, 2, 1 if is_power_of_two else 2, 4
    up, down = 1 << max(exponent, 0), 1 << max(-exponent, 0)
    # An estimate of the point that is exact or one too small: 1233 / 4096 is just below log10(2).
    point = (number.bit_length() + exponent - 1) * 1233 >> 12
    up, down = up * 10 ** max(_ENOUGH - point, 0), down * 10 ** max(point - _ENOUGH, 0)
    value, above, below, scale = value * up, above * up, below * up, scale * down
    # The interval of integers that read back to the number; ties round to the even float.
    is_odd = number % 2
    high, rest = divmod(value + above, scale)
    high -= is_odd and not rest
    low, rest = divmod(value - below, scale)
    low += bool(is_odd or rest)
    unit = 1
    while high // (10 * unit) * 10 * unit >= low:
        unit *= 10
    nearest, rest = divmod(value, scale * unit)
    nearest += 2 * rest > scale * unit - nearest % 2  # ties to even
    digits = str(min(max(nearest, -(-low // unit)), high // unit))
    return digits, point - _ENOUGH + len(digits) + len(str(unit)) - 1


def _with_point(digits: str, point: int) -> str:
    if not _LEAST_POINT <= point <= _LAST_POINT:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{digits[0]}{fraction}e{point - 1:+03d}"
    if point <= 0:
        return f"0.{'0' * -point}{digits}"
    return f"{digits[:point]:0<{point}}.{digits[point:] or '0'}"
