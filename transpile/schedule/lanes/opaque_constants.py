"""Shifted constants of vector loops are variables, which compilers take for vectors.

    for i simd: out[i] = 1 << x[i]    ->    base = opaque(1);  for i simd: out[i] = base << x[i]

gcc has no vector code for a constant of 64 bits that lanes shift by counts of their own (its
pattern for shifts of vectors by vectors asks for a variable), and leaves the loop scalar. Runs
after `vectorize_loops`.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND
from transpile.ir.loop_ir import Apply, Declare, Expr, For, Literal, Program, Ref, Statement
from transpile.ir.loop_rewrite import map_bodies, map_statement, names_in, with_bodies
from transpile.ir.types import INT64
from transpile.options import Options
from transpile.primitives.elementwise.bits import left_shift, opaque, right_shift
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import same

_SHIFTS = {left_shift.name, right_shift.name}


@contract(requires=(LANES_BOUND,))
def hide_constants(program: Program, options: Options) -> Program:
    """The program with the shifted constants of its vector loops in variables."""
    names = Names(names_in(program))
    return map_bodies(program, lambda body: same(body, tuple(_body(body, names.inner()))))


def _body(body: tuple[Statement, ...], names: Names) -> Iterator[Statement]:
    for statement in body:
        if isinstance(statement, For) and statement.simd:
            yield from _with_variables(statement, names)
        else:
            yield with_bodies(statement, lambda b: same(b, tuple(_body(b, names.inner()))))


def _with_variables(loop: For, names: Names) -> Iterator[Statement]:
    """The loop behind the declarations of its shifted constants."""
    variables: dict[Literal, Declare] = {}

    def visit(expr: Expr) -> Expr:
        match expr:
            case Apply(op=op, args=(Literal() as base, count)) if (
                op in _SHIFTS
                and base.dtype.itemsize == INT64.itemsize
                and not isinstance(count, Literal)
            ):
                if base not in variables:
                    value = Apply(opaque.name, (base,), base.dtype)
                    variables[base] = Declare(names.new("base"), value)
                return Apply(op, (Ref(variables[base].name, base.dtype), count), expr.dtype)
            case _:
                return expr

    after = map_statement(loop, visit)
    yield from variables.values()
    yield after
