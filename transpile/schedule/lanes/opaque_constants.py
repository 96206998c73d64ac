"""Constants that keep compilers from vector code are variables.

    for i simd: out[i] = 1 << x[i]    ->    base = opaque(1);  for i simd: out[i] = base << x[i]

gcc has no vector code for a constant of 64 bits that lanes shift by counts of their own (its
pattern for shifts of vectors by vectors asks for a variable), and leaves the loop scalar.

    out[i] = (x[i] > 1 ? 0.5 : x[i]) > 0.7    ->    out[i] = (x[i] > 1 ? 0.5 : x[i]) > bound

Of a choice of constants gcc knows how the comparison ends, and jumps there: a loop with such a
branch (jump threading) has no vector code. Runs after `vectorize_loops`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND
from transpile.ir.loop_ir import Apply, Declare, Expr, For, Literal, Program, Ref, Statement
from transpile.ir.loop_rewrite import (
    map_bodies,
    map_statement,
    names_in,
    subexpressions,
    walk,
    with_bodies,
)
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL, INT64
from transpile.options import Options
from transpile.primitives.elementwise.arithmetic import fmax, fmin, sign
from transpile.primitives.elementwise.bits import left_shift, opaque, right_shift
from transpile.primitives.elementwise.comparisons import (
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
    select,
)
from transpile.primitives.elementwise.identities import convert
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import replace, same

_SHIFTS = {left_shift.name, right_shift.name}
# What asks of each operand whether it is zero.
_OF_BOOLS = {logical_and.name, logical_not.name, logical_or.name, logical_xor.name}
# What computes one of several constants, or a constant instead of its operand.
_CHOICES = {select.name, fmax.name, fmin.name, sign.name}


@contract(requires=(LANES_BOUND,))
def hide_constants(program: Program, options: Options) -> Program:
    """The program with such constants of its vector loops in variables."""
    names = Names(names_in(program))
    return map_bodies(program, lambda body: same(body, tuple(_body(body, names.inner()))))


def _body(body: tuple[Statement, ...], names: Names) -> Iterator[Statement]:
    for statement in body:
        if isinstance(statement, For) and statement.simd:
            yield from _with_variables(statement, names)
        else:
            yield with_bodies(statement, lambda b: same(b, tuple(_body(b, names.inner()))))


def _with_variables(loop: For, names: Names) -> Iterator[Statement]:
    """The loop behind the declarations of its hidden constants."""
    named = {s.name: s.value for s in walk(loop.body) if isinstance(s, Declare)}
    variables: dict[Literal, Declare] = {}

    def variable(constant: Literal, word: str) -> Ref:
        if constant not in variables:
            value = Apply(opaque.name, (constant,), constant.dtype)
            variables[constant] = Declare(names.new(word), value)
        return Ref(variables[constant].name, constant.dtype)

    def bound_of(value: Expr) -> Expr:
        return variable(value, "bound") if isinstance(value, Literal) else value

    def truth(value: Expr) -> Expr:
        zero = Literal(value.dtype.type(0), value.dtype)
        return Apply(not_equal.name, (value, variable(zero, "bound")), BOOL)

    def visit(expr: Expr) -> Expr:
        match expr:
            case Apply(op=op, args=(Literal() as base, count)) if (
                op in _SHIFTS
                and base.dtype.itemsize == INT64.itemsize
                and not isinstance(count, Literal)
            ):
                return replace(expr, args=(variable(base, "base"), count))
            case Apply(op=op, args=args) if TABLE[op].signs and _may_be_constant(args, named):
                return replace(expr, args=tuple(map(bound_of, args)))
            case Apply(args=args, dtype=dtype) if dtype == BOOL and _may_be_constant(args, named):
                if expr.op == convert.name:
                    return truth(args[0])
                return replace(expr, args=tuple(map(truth, args))) if expr.op in _OF_BOOLS else expr
            case _:
                return expr

    after = map_statement(loop, visit)
    yield from variables.values()
    yield after


def _may_be_constant(values: Iterable[Expr], named: Mapping[str, Expr]) -> bool:
    """True if one of several numbers is computed from a choice of constants."""
    return any(
        isinstance(part, Apply)
        and part.op in _CHOICES
        and (part.op == sign.name or any(isinstance(a, Literal) for a in part.args))
        for value in values
        if value.dtype.kind in "iuf"
        for part in _parts(value, named)
    )


def _parts(value: Expr, named: Mapping[str, Expr]) -> Iterator[Expr]:
    """The operations of a value, those of the scalars in it among them, each scalar once: the
    powers of a polynomial name each other twice."""
    pending, met = [value], set[str]()
    while pending:
        for part in subexpressions(pending.pop()):
            yield part
            if isinstance(part, Ref) and part.name in named and part.name not in met:
                met.add(part.name)
                pending.append(named[part.name])
