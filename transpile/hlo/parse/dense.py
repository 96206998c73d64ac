"""The elements of constants: lists of numbers, bits in hexadecimal digits, splats.

The lists are not nested Python lists on the way, however long they are.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from transpile.ir.types import ArrayType, kind_letter, real_dtype

_NUMBER = (
    r"[-+]?(?:0x[0-9A-Fa-f]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf|nan(?:\(0x[0-9a-f]+\))?)"
)
_REAL = re.compile(rf"{_NUMBER}|true|false")
_COMPLEX = re.compile(rf"\(\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\)")
_BLANK = re.compile(r"\s+")
MOST_ELEMENTS = 2**31  # of a constant that is written out
_WORDS = {"true": 1, "false": 0}


def number(text: str, dtype: np.dtype[Any]) -> Any:
    """A number of a dtype; hexadecimal digits are the bits of a float.

    Raises ValueError and OverflowError for what is none.
    """
    if kind_letter(dtype) == "f":
        if "0x" in text and "nan" not in text:
            bits = np.array(int(text, 16), f"u{dtype.itemsize}")
            return bits.view(dtype)[()]
        return np.float64(text.split("(")[0]).astype(dtype)
    if text in _WORDS:
        return dtype.type(_WORDS[text])
    value = int(text, 0) if "0x" in text else int(text)
    if dtype.kind == "b":
        if value not in (0, 1):
            raise ValueError(f"{text} is no truth value")
        return np.bool_(value)
    info = np.iinfo(dtype)
    if dtype.kind == "i" and info.max < value <= 2 * int(info.max) + 1 and "0x" in text:
        value -= 2 * int(info.max) + 2
    return np.array(value, dtype)[()]


def numbers(text: str, kind: ArrayType, brackets: str) -> Any:
    """The array of a type that a list of numbers spells, nested in these brackets as its axes are,
    or one number for all elements.

    Raises ValueError and OverflowError.
    """
    dtype = kind.dtype
    if dtype.kind == "c":
        part = real_dtype(dtype)
        pairs = _COMPLEX.findall(text)
        flat = np.empty(len(pairs), dtype)
        flat.real = [number(x, part) for x, _ in pairs]
        flat.imag = [number(y, part) for _, y in pairs]
        rest = _COMPLEX.sub("", text)
    else:
        words = _REAL.findall(text)
        flat, rest = _flat(words, dtype), _REAL.sub("", text)
    rest = _BLANK.sub("", rest)
    if flat.size == 1 and not rest:
        return splat(flat[0], kind)
    if flat.size != kind.size:
        raise ValueError(f"{flat.size} elements are given for {kind}")
    if rest != _skeleton(kind.static_shape(), brackets):
        raise ValueError(f"the elements are not nested as the axes of {kind} are")
    return flat.reshape(kind.static_shape())


def _flat(words: list[str], dtype: np.dtype[Any]) -> Any:
    try:  # most constants are plain numbers, for which there is a faster way
        if kind_letter(dtype) == "f":
            return np.array(words, np.float64).astype(dtype)
        if dtype.kind == "i" and not any("x" in w for w in words):
            wide = np.array(words, np.int64)
            if dtype.itemsize == 8 or not wide.size or np.abs(wide).max() < 2**7:
                return wide.astype(dtype)
    except (ValueError, OverflowError):
        pass
    return np.array([number(w, dtype) for w in words], dtype)


def splat(value: Any, kind: ArrayType) -> Any:
    """An array of one number, which is stored once."""
    return np.broadcast_to(np.asarray(value, kind.dtype), kind.static_shape())


def from_bytes(data: bytes, kind: ArrayType) -> Any:
    """The array of little-endian bytes, or of the bytes of one element; bools may be bits.

    Raises ValueError.
    """
    dtype, size = kind.dtype, kind.size
    assert isinstance(size, int)
    if dtype.kind == "b" and len(data) != size:
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        if len(data) == 1 and data[0] in (0, 255):
            return splat(data[0] == 255, kind)
        if len(data) != -(-size // 8):
            raise ValueError(f"{len(data)} bytes are given for {kind}")
        return bits[:size].astype(bool).reshape(kind.static_shape())
    if len(data) == dtype.itemsize and size != 1:
        return splat(np.frombuffer(data, dtype)[0], kind)
    if len(data) != size * dtype.itemsize:
        raise ValueError(f"{len(data)} bytes are given for {kind}")
    if dtype.kind == "b":
        return (np.frombuffer(data, np.uint8) != 0).reshape(kind.static_shape())
    return np.frombuffer(data, dtype).reshape(kind.static_shape())


def _skeleton(shape: tuple[int, ...], brackets: str) -> str:
    """The brackets and commas between the elements of an array."""
    if not shape:
        return ""
    if 0 in shape:
        shape = shape[: shape.index(0) + 1]
    text = ""
    for size in reversed(shape):
        text = f"{brackets[0]}{','.join([text] * size)}{brackets[1]}"
    return text
