"""Read the text of an extent: `n`, `2*n + 1`, `(n + m) // 2`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from transpile.ir.dims import Dim, Index, floor_divide, modulo
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    import ast
else:
    ast = Later("ast")

_NONE: Mapping[str, Index] = MappingProxyType({})
# Characters of a text, which bounds how deep an expression is.
LONGEST = 1000


def parsed(text: str) -> Index:
    """The extent that a text means, with Python's precedence; each name is a size of at least 1.

    Raises ValueError for other texts.
    """
    try:
        return extent(tree_of(text))
    except (ValueError, RecursionError, MemoryError):
        raise ValueError(
            f"{text[:LONGEST]!r} is no extent: an int, a name, or an expression of them with "
            "+, -, *, //, % and parentheses"
        ) from None


def tree_of(text: str) -> ast.expr:
    """The expression that a text is. Raises ValueError for a text that is none, or too long."""
    try:
        if len(text) > LONGEST:
            raise ValueError("too long")
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{text[:LONGEST]!r} is no expression of sizes") from None


def extent(node: ast.expr, known: Mapping[str, Index] = _NONE) -> Index:
    """The extent that a parsed expression means, where names are the `known` extents, or sizes of
    at least 1; ValueError for other expressions."""
    match node:
        case ast.Constant(value=int(value)) if type(value) is int:
            return value
        case ast.Name(id=name) if name.isascii():
            return known[name] if name in known else Dim.symbol(name, 1)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return extent(operand, known) * -1
        case ast.BinOp(left=left, op=operator, right=right):
            return _combined(extent(left, known), operator, extent(right, known))
    raise ValueError(f"{ast.unparse(node)!r} is no extent: only +, -, *, // and % of sizes are")


def _combined(left: Index, operator: ast.operator, right: Index) -> Index:
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv() if right != 0:
            return floor_divide(left, right)
        case ast.Mod() if right != 0:
            return modulo(left, right)
    raise ValueError("only +, -, *, // and % are operators of extents, and none divides by 0")
