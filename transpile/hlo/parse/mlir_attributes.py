"""Types and attributes in MLIR's syntax.

A type of an array is an ArrayType, a tuple of types a tuple; attributes are integers, floats,
strings, truth values, lists, dicts, arrays, types, and the records below.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from transpile.hlo.parse.cursor import Cursor
from transpile.hlo.parse.dense import from_bytes, numbers
from transpile.ir.types import MOST, ArrayType, as_dtype, size_of
from transpile.util.frozen_records import dataclass

_TENSOR = re.compile(r"tensor<\s*((?:\d+\s*x\s*)*)(complex<\s*f(?:32|64)\s*>|[A-Za-z]\w*)\s*>")
_ELEMENTS = {
    "i1": "bool",
    "bf16": "bfloat16",
    "index": "int64",
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"si{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}
WORD = re.compile(r"[A-Za-z_][\w$.]*")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_SYMBOL = re.compile(r'@(?:([\w$.\-]+)|"((?:[^"\\\n]|\\.)*)")')
_NUMBER = re.compile(r"[-+]?(?:0x[0-9A-Fa-f]+(?![\w.])|\d+(\.\d*)?([eE][-+]?\d+)?)")
_ESCAPE = re.compile(r'\\([0-9A-Fa-f]{2}|[nt"\\])')
_DENSE = re.compile(r'dense<\s*([^<>"]*|"0x([0-9A-Fa-f]*)")\s*>')
_RESOURCE = re.compile(r"dense_resource<\s*([\w$.\-]+)\s*>")
_INTEGERS = re.compile(r"array<\s*(i1|i8|i16|i32|i64|f32|f64)\s*(?::([^<>]*))?>")
_DIALECT = re.compile(r"[#!][\w$.\-]+")
_OTHER_TYPE = re.compile(r"none|token|memref|vector|function")


@dataclass(frozen=True)
class Symbol:
    """The name of a function."""

    name: str


@dataclass(frozen=True)
class Opaque:
    """An attribute of a dialect, `#name<text>`, not parsed further."""

    name: str
    text: str


@dataclass(frozen=True)
class Token:
    """The type of values that order effects, and have no elements."""


@dataclass(frozen=True)
class FunctionType:
    """The types of operands and of results."""

    operands: tuple[Any, ...]
    results: tuple[Any, ...]


def element_dtype(name: str) -> np.dtype[Any] | None:
    """The dtype of an element type; None for one that has none here."""
    known = _ELEMENTS.get(name.replace(" ", ""))
    return None if known is None else as_dtype(known)


def string_value(inside: str) -> str:
    """A quoted string without its quotes and escapes."""
    special = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
    return _ESCAPE.sub(lambda m: special.get(m[1]) or chr(int(m[1], 16)), inside)


# ------------------------------------------------------------------------------------------ types


def parse_type(c: Cursor) -> Any:
    """A type."""
    begin = c.position
    found = c.match(_TENSOR)
    if found is not None:
        return _array_type(c, found, begin)
    if c.at("tensor<"):
        c.match(WORD)
        inside = c.balanced()
        what = "sizes that are known at run time" if "?" in inside else "this type of elements"
        c.fail(f"tensor<{inside}> has {what}, which is not supported", begin)
    if c.take("tuple<"):
        c.enter()
        parts = []
        while not c.at(">"):
            parts.append(parse_type(c))
            if not c.take(","):
                break
        c.need(">")
        c.leave()
        return tuple(parts)
    if c.at("!"):
        name = c.needed(_DIALECT, "a type")
        if c.at("<"):
            c.balanced()
        if name.endswith(".token"):
            return Token()
        c.fail(f"the type {name} is not supported", begin)
    if c.at("("):
        return parse_function_type(c)
    if c.at("complex<"):
        c.match(WORD)
        return _scalar_type(c, f"complex<{c.balanced().strip()}>", begin)
    return _scalar_type(c, c.needed(WORD, "a type"), begin)


def _scalar_type(c: Cursor, name: str, begin: int) -> Any:
    dtype = element_dtype(name)
    if dtype is None:
        if _OTHER_TYPE.fullmatch(name):
            return Token()
        c.fail(f"the type {name} is not supported", begin)
    return ArrayType((), dtype)


def _array_type(c: Cursor, found: re.Match[str], begin: int) -> ArrayType:
    dtype = element_dtype(found[2])
    if dtype is None:
        c.fail(f"elements of type {found[2]} are not supported", begin)
    sizes = [d for d in re.split(r"\s*x\s*", found[1]) if d]
    if len(sizes) > 64 or any(len(d) > 19 for d in sizes):
        c.fail("this shape is too large", begin)
    shape = tuple(map(int, sizes))
    if size_of(shape, dtype.itemsize) > MOST or any(d > MOST for d in shape):
        c.fail(f"an array of shape {shape} is too large", begin)
    return ArrayType(shape, dtype)


def parse_types(c: Cursor) -> list[Any]:
    """One type, or several in parentheses."""
    if not c.take("("):
        return [parse_type(c)]
    found = []
    while not c.at(")"):
        found.append(parse_type(c))
        if not c.take(","):
            break
    c.need(")")
    return found


def parse_function_type(c: Cursor) -> FunctionType:
    """(types) -> types."""
    c.enter()
    operands = parse_types(c)
    c.need("->")
    results = parse_types(c)
    c.leave()
    return FunctionType(tuple(operands), tuple(results))


def array_types(types: Any) -> list[ArrayType]:
    """The arrays of types, without tokens."""
    found: list[ArrayType] = []
    for kind in types:
        if isinstance(kind, ArrayType):
            found.append(kind)
        elif isinstance(kind, tuple):
            found += array_types(kind)
    return found


def is_type(kind: Any) -> bool:
    """True for the type of a value."""
    return isinstance(kind, ArrayType | Token | tuple)


# ------------------------------------------------------------------------------------- attributes


class Attributes:
    """The parser of attributes: it knows those that a file gives names to."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.named: dict[str, Any] = {}
        self.resources: dict[str, bytes] = {}

    def dictionary(self) -> dict[str, Any]:
        """`{name = value, name}`; a name alone is true."""
        c = self.cursor
        c.need("{")
        c.enter()
        found: dict[str, Any] = {}
        while not c.at("}"):
            quoted = c.match(STRING)
            name = quoted[1] if quoted else c.needed(WORD, "the name of an attribute")
            found[name] = self.value() if c.take("=") else True
            if not c.take(","):
                break
        c.need("}")
        c.leave()
        return found

    def value(self, *, typed: bool = True) -> Any:
        """An attribute; `typed`: a number may have a type behind it."""
        c = self.cursor
        if c.at("["):
            return self._list()
        if c.at("{"):
            return self.dictionary()
        if c.at('"'):
            found = c.match(STRING)
            if found is None:
                c.fail("this string is not closed")
            if typed and c.take(":"):
                parse_type(c)
            return string_value(found[1])
        if c.at("@"):
            return self.symbol()
        if c.at("#"):
            return self._of_dialect()
        if c.at("!") or c.at("("):
            return parse_type(c)
        number = c.match(_NUMBER)
        if number is not None:
            return self._number(number, typed)
        return self._word()

    def symbol(self) -> Symbol:
        """`@name`."""
        c = self.cursor
        found = c.match(_SYMBOL)
        if found is None:
            c.expected("a symbol")
        while c.take("::"):
            c.match(_SYMBOL)
        return Symbol(found[1] or string_value(found[2] or ""))

    def _list(self) -> list[Any]:
        c = self.cursor
        c.need("[")
        c.enter()
        found = []
        while not c.at("]"):
            found.append(self.value())
            if not c.take(","):
                break
        c.need("]")
        c.leave()
        return found

    def _number(self, found: re.Match[str], typed: bool) -> Any:
        c, text = self.cursor, found.group()
        if len(text) > 400:
            c.fail("this number is too long", found.start())
        kind = parse_type(c) if typed and c.take(":") else None
        if "x" in text:
            return int(text, 16)
        if found[1] or found[2]:
            return float(text)
        is_float = isinstance(kind, ArrayType) and kind.dtype.kind == "f"
        return float(text) if is_float else int(text)

    def _of_dialect(self) -> Any:
        c = self.cursor
        name = c.needed(_DIALECT, "an attribute")[1:]
        if c.at("<"):
            return Opaque(name, c.balanced())
        return self.named.get(name, Opaque(name, ""))

    def _word(self) -> Any:
        c, begin = self.cursor, self.cursor.position
        for pattern, read in (
            (_DENSE, self._dense),
            (_RESOURCE, self._resource),
            (_INTEGERS, self._integers),
        ):
            found = c.match(pattern)
            if found is not None:
                return read(found)
        for word in ("dense<", "array<"):
            if c.at(word):
                c.fail(f"this {word[:-1]} is not understood")
        if c.at("tensor<") or c.at("tuple<") or c.at("complex<"):
            return parse_type(c)
        name = c.needed(WORD, "an attribute")
        if name in ("true", "false"):
            return name == "true"
        if c.at("<"):
            return Opaque(name, c.balanced())
        if c.at("(") and name == "loc":
            return Opaque(name, c.balanced())
        dtype = element_dtype(name)
        if dtype is not None and c.position > begin:
            return ArrayType((), dtype)
        return name

    def _dense(self, found: re.Match[str]) -> Any:
        kind = self._type_of_elements()
        try:
            if found[2] is not None:
                return from_bytes(bytes.fromhex(found[2]), kind)
            if not found[1].strip():
                return from_bytes(b"", kind)
            return numbers(found[1], kind, "[]")
        except (ValueError, OverflowError) as problem:
            self.cursor.fail(f"these elements are no constant: {problem}", found.start())

    def _resource(self, found: re.Match[str]) -> Any:
        kind = self._type_of_elements()
        if found[1] not in self.resources:
            self.cursor.fail(f"the file has no elements of the resource {found[1]}", found.start())
        try:
            return from_bytes(self.resources[found[1]], kind)
        except ValueError as problem:
            self.cursor.fail(f"these elements are no constant: {problem}", found.start())

    def _type_of_elements(self) -> ArrayType:
        c = self.cursor
        c.need(":")
        kind = parse_type(c)
        if not isinstance(kind, ArrayType):
            c.fail("a constant has the type of an array")
        return kind

    def _integers(self, found: re.Match[str]) -> list[Any]:
        words = [w.strip() for w in (found[2] or "").split(",") if w.strip()]
        read = float if found[1][0] == "f" else int
        known = {"true": True, "false": False}
        try:
            return [known[w] if w in known else read(w) for w in words]
        except ValueError as problem:
            self.cursor.fail(f"this is no array of numbers: {problem}", found.start())
