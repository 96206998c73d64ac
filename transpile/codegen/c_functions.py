"""The C of operations: the C column of a primitive, and the functions that it calls.

A column is an expression over the operands x, y, z in Python's syntax, parsed once. A function in
it is a helper of runtime_c or a function of the C library, by the dtype of the operands. The
printer prints columns; decisions by the calls of a program are made here, without text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from transpile.analysis.value_range import measured
from transpile.codegen.dialect import suffix
from transpile.errors import InternalError
from transpile.ir.loop_ir import Apply, Expr, Statement, Update
from transpile.ir.loop_rewrite import expressions
from transpile.ir.primitive import TABLE
from transpile.ir.types import FLOAT32, FLOAT64, is_bfloat16, is_half
from transpile.symbols import c_helpers
from transpile.util.frozen_records import dataclass

DType = np.dtype[Any]

# ------------------------------------------------------------------------------------- columns

# The names of operands in a column.
OPERANDS = ("x", "y", "z")


def column(op: str, dtype: DType) -> str:
    """The C column of a primitive for operands of a dtype."""
    columns = TABLE[op].c
    kind = "e" if is_half(dtype) and "e" in columns else dtype.kind
    if kind == "u" and dtype.itemsize < 4 and "u" not in columns:
        kind = "i"
    return columns.get(kind, columns[""])


@cache
def parsed(text: str) -> ast.expr:
    """The syntax tree of a column."""
    return ast.parse(text, mode="eval").body


@cache
def infix(op: str, dtype: DType) -> str:
    """The C operator of a primitive with the column `x operator y`; `""` for the others."""
    words = [] if is_half(dtype) else column(op, dtype).split()
    return words[1] if len(words) == 3 and words[0] == "x" and words[2] == "y" else ""


@cache
def assigning(op: str, dtype: DType) -> str:
    """The operator of C that stands before `=` in an update, such as the + of `+=`; `""` for the
    other primitives: comparisons have none."""
    operator = infix(op, dtype)
    is_arithmetic = operator != "" and isinstance(parsed_column(op, dtype), ast.BinOp)
    return operator if is_arithmetic else ""


def dtype_of_column(expr: Apply) -> DType:
    """The dtype that chooses the column of an operation, and the functions in it."""
    return expr.args[0].dtype if expr.args and expr.op != "select" else expr.dtype


@cache
def parsed_column(op: str, dtype: DType) -> ast.expr:
    """The syntax tree of the C column of a primitive. Raises InternalError where the column is no
    expression, or has a name that is neither an operand nor called."""
    text = column(op, dtype)
    try:
        tree = parsed(text)
    except SyntaxError:
        raise InternalError(
            f"the C column of {op} is no expression in Python's syntax: {text!r}"
        ) from None
    for name in _names_in(tree):
        if name not in OPERANDS:
            raise InternalError(
                f"the C column of {op} has the name {name}: {text!r}; operands are x, y and z"
            )
    return tree


def accumulated(statement: Update) -> Expr | None:
    """The value that an update assigns to its target, where C has no operator such as `+=`."""
    dtype = statement.target.dtype
    if statement.op == "set" or assigning(statement.op, dtype):
        return None
    return applied(statement.op, (statement.target, statement.value), dtype)


def applied(op: str, args: tuple[Expr, ...], dtype: DType) -> Expr:
    """An operation on operands of its dtype; one on halves is computed in float32 and rounded."""
    if not is_half(dtype):
        return Apply(op, args, dtype)
    result = Apply(op, tuple(map(as_float32, args)), FLOAT32)
    return Apply("convert_element_type", (result,), dtype)


def as_float32(x: Expr) -> Expr:
    """The expression in float32."""
    return Apply("convert_element_type", (x,), FLOAT32)


# ----------------------------------------------------------------------------------- functions


@cache
def function(
    name: str, dtype: DType, precise: bool = False, near: bool = False, lanes: bool = False
) -> str:
    """The C function for a name in a column and a dtype: a helper, else one of the C library.

    precise   the function with the smallest error: a `_precise` helper, or the C library's
    near      the helper for ordinary angles, if there is one
    lanes     the helper that is faster in vector loops, and only there, if there is one
    """
    ending = suffix(dtype)
    helper = f"{name}_{ending}"
    for wanted, kind in ((lanes, "in_lanes"), (near, "near")):
        if wanted and c_helpers.find(f"{name}_{kind}_{ending}") is not None:
            helper = f"{name}_{kind}_{ending}"
    library = c_helpers.library_name(name, ending)
    of_library = precise and library is not None and name in TABLE and TABLE[name].transcendental
    exact = f"{name}_precise_{ending}"
    if precise and c_helpers.find(exact) is not None:
        return exact
    if not of_library and c_helpers.find(helper) is not None:
        return helper
    if library is None:
        raise InternalError(
            f"there is no C function for {name} of {dtype.name}: runtime_c has no {name}_{ending}, "
            "and the C library no function of that meaning"
        )
    return library


def via(source: DType, target: DType) -> DType | None:
    """The intermediate dtype of a conversion to or from a half, or None. Halves are bits in C,
    which helpers convert from and to float32, and to float16 from float64 too."""
    if is_half(source):
        return None if target == FLOAT32 else FLOAT32
    if source.kind == "c":  # the real part is converted
        source = np.dtype(f"f{source.itemsize // 2}")
    direct = source == FLOAT32 or (source == FLOAT64 and not is_bfloat16(target))
    return FLOAT32 if is_half(target) and not direct else None


def conversion(source: DType, target: DType) -> str:
    """The helper for a conversion without an intermediate dtype; `""` for a cast."""
    if source.kind == "c":
        source = np.dtype(f"f{source.itemsize // 2}")
    if source.kind + target.kind in ("fi", "fu", "bc") or is_half(source) or is_half(target):
        return f"convert_{suffix(source)}_{suffix(target)}"
    return ""


def unrounded(expr: Expr, target: DType) -> Expr | None:
    """The float32 x of `float32(half(x))`, which is a rounding alone; None for others."""
    match expr:
        case Apply(op="convert_element_type", args=(x,)) if target == x.dtype == FLOAT32:
            return x if is_half(expr.dtype) else None
        case _:
            return None


def is_byte(expr: Expr) -> bool:
    """True for an integer of one byte as a float: either half has it, without rounding."""
    match expr:
        case Apply(op="convert_element_type", args=(x,)):
            return x.dtype.kind in "biu" and x.dtype.itemsize == 1
        case _:
            return False


# --------------------------------------------------------------------------------------- calls


@dataclass(frozen=True)
class Calls:
    """Lists the C functions that expressions call.

    precise    as in the options
    ordinary   the angles that are known to be of ordinary magnitude
    """

    precise: bool
    ordinary: frozenset[Expr]

    def of_statement(self, statement: Statement, near: bool, lanes: bool) -> Iterator[str]:
        """The functions that a statement itself calls, as often as its text does; those in
        subscripts are not counted."""
        value = accumulated(statement) if isinstance(statement, Update) else None
        for expr in expressions(statement) if value is None else (value,):
            yield from self.of_expression(expr, near, lanes)

    def of_expression(self, expr: Expr, near: bool, lanes: bool) -> Iterator[str]:
        """The functions that an expression calls."""
        match expr:
            case Apply(op="convert_element_type", args=(x,)):
                yield from self._of_conversion(x, expr.dtype, near, lanes)
            case Apply():
                dtype = dtype_of_column(expr)
                names, operands = _names(expr.op, dtype)
                for name in names:
                    of_ordinary = near or measured(expr) in self.ordinary
                    yield function(name, dtype, self.precise, of_ordinary, lanes)
                for position in operands:
                    yield from self.of_expression(expr.args[position], near, lanes)
            case _:
                pass

    def _of_conversion(self, x: Expr, target: DType, near: bool, lanes: bool) -> Iterator[str]:
        middle = via(x.dtype, target)
        if middle is not None:
            yield conversion(middle, target)
            target = middle
        exact = unrounded(x, target)
        if exact is None or not is_byte(exact):
            yield conversion(x.dtype, target) if exact is None else f"round_{suffix(x.dtype)}"
        yield from self.of_expression(x if exact is None else exact, near, lanes)


@cache
def _names(op: str, dtype: DType) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The functions that a column calls, and the operands in it, with repetitions."""
    tree = parsed_column(op, dtype)
    heads = [part.func for part in ast.walk(tree) if isinstance(part, ast.Call)]
    functions = [head.id for head in heads if isinstance(head, ast.Name)]
    return tuple(functions), tuple(map(OPERANDS.index, _names_in(tree)))


def _names_in(tree: ast.expr) -> list[str]:
    """The names in a column but those of functions, with repetitions."""
    parts = list(ast.walk(tree))
    heads = [part.func for part in parts if isinstance(part, ast.Call)]
    return [part.id for part in parts if isinstance(part, ast.Name) and part not in heads]
