"""The length of programs: the names and numbers in their statements.

A C compiler takes time by it, so it decides how much of that time a program gets
(`compile_budget.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from transpile.codegen.c_functions import dtype_of_column, infix
from transpile.ir.calls import Call
from transpile.ir.dims import Index, Symbol
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Declare,
    Expr,
    For,
    Kernel,
    Literal,
    Load,
    Ref,
    Statement,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import indices, parts, walk
from transpile.util.frozen_records import once

# `int64_t i = ; i < ; i++`, of which the ends are counted for themselves; `const double x`.
_OF_LOOP = 5
_OF_DECLARATION = 3


def length(kernels: Iterable[Kernel]) -> int:
    """The number of names and numbers in the statements of kernels, as C has them."""
    return sum(map(_of_kernel, kernels))


@once
def _of_kernel(kernel: Kernel) -> int:
    return sum(map(_of_statement, walk(kernel.body)))


def _of_statement(statement: Statement) -> int:
    """The names and numbers that stand directly in a statement."""
    total = sum(map(_of_expression, parts(statement))) + sum(map(_of_index, indices(statement)))
    match statement:
        case For():
            return total + _OF_LOOP
        case Declare() | Alloc():
            return total + _OF_DECLARATION
        case Update(target=Ref()) | Store() | Call():
            return total + 1
        case _:
            return total


def _of_expression(expr: Expr) -> int:
    """One for a variable or function, none for an operator; a float's digits are two numbers."""
    match expr:
        case Apply(op="convert_element_type"):
            return 1
        case Apply():
            return 0 if infix(expr.op, dtype_of_column(expr)) else 1
        case Ref() | Load():
            return 1
        case Literal():
            return 2 if expr.dtype.kind == "f" else 1
        case _:
            return 0


def _of_index(index: Index) -> int:
    if isinstance(index, int):
        return 1
    total = 0
    for monomial, coefficient in index.terms:
        total += abs(coefficient) != 1 or not monomial
        for atom in monomial:
            if isinstance(atom, Symbol):
                total += 1
            else:
                total += _of_index(atom.dividend) + _of_index(atom.divisor)
    return total
