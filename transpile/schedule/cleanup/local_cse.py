"""Local common subexpression elimination of scalar expressions.

An expression that a statement certainly evaluates twice becomes a constant, and later statements of
the scope reuse constants until an operand is written (available expressions). Arms of selects on
bounds (`Within`) are not moved: they may be out of bounds elsewhere. A primitive whose C expression
repeats an operand counts that operand as often.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import NO_LANES, SCALARS_REPLACED, SUBEXPRESSIONS_SHARED
from transpile.ir.dims import symbols_of
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Declare,
    Expr,
    For,
    If,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
    While,
    Within,
)
from transpile.ir.loop_rewrite import (
    expressions,
    map_bodies,
    map_statement,
    names_in,
    subexpressions,
    walk,
    with_bodies,
    written,
)
from transpile.ir.primitive import TABLE
from transpile.options import Options
from transpile.symbols.identifiers import Names


# Reads of a temporary are no common subexpressions, those of a variable may be.
@contract(requires=(NO_LANES, SCALARS_REPLACED), provides=(SUBEXPRESSIONS_SHARED,))
def local_cse(program: Program, options: Options) -> Program:
    """The program with its common subexpressions named."""
    taken = Names(names_in(program))
    return map_bodies(program, lambda body: tuple(_body(body, taken.inner())))


def _body(body: tuple[Statement, ...], names: Names) -> Iterator[Statement]:
    available = _Available()
    for statement in body:
        if available.refs:
            available.forget(_changed(statement))
            statement = available.replaced(statement)
        if isinstance(statement, For | If | While):
            yield with_bodies(statement, lambda inner: tuple(_body(inner, names)))
        else:
            for part in _named(statement, names):
                yield part
                if isinstance(part, Declare) and part.constant and isinstance(part.value, Apply):
                    available.add(part.value, Ref(part.name, part.dtype))


class _Available:
    """The available expressions of a scope, by the constants that hold them."""

    def __init__(self) -> None:
        self.refs: dict[Expr, Ref] = {}
        self.by_name: dict[str, list[tuple[Expr, Ref]]] = {}  # by what they depend on

    def add(self, expr: Expr, ref: Ref) -> None:
        """Make an expression available."""
        self.refs[expr] = ref
        for name in _reads(expr) | {ref.name}:
            self.by_name.setdefault(name, []).append((expr, ref))

    def forget(self, changed: set[str]) -> None:
        """Kill the expressions that depend on these names."""
        for name in changed & self.by_name.keys():
            for expr, ref in self.by_name.pop(name):
                if self.refs.get(expr) is ref:
                    del self.refs[expr]

    def replaced(self, statement: Statement) -> Statement:
        """The statement with available expressions replaced."""
        return map_statement(statement, lambda e: self.refs.get(e, e))


def _changed(statement: Statement) -> set[str]:
    """The buffers and scalars that a statement writes or declares."""
    names: set[str] = set()
    for inner in walk((statement,)):
        names |= set(written(inner))
        match inner:
            case Update(target=Ref(name=name)) | Declare(name=name):
                names.add(name)
            case Alloc(buffer=buffer):
                names.add(buffer.name)
            case _:
                pass
    return names


def _reads(expr: Expr) -> set[str]:
    """The buffers and scalars that an expression reads, also in subscripts."""
    parts = list(subexpressions(expr))
    loads = [p for p in parts if isinstance(p, Load)]
    names = {s.name for load in loads for index in load.index for s in symbols_of(index)}
    names |= {load.buffer for load in loads}
    return names | {p.name for p in parts if isinstance(p, Ref)}


def _named(statement: Statement, names: Names) -> Iterator[Statement]:
    """A statement, preceded by the declarations of its common subexpressions."""
    while isinstance(statement, (Declare, Update, Store)):
        common = _largest_repeated(statement)
        if common is None:
            break
        name = names.new("t")
        ref = Ref(name, common.dtype)
        yield from _named(Declare(name, common), names)
        target = common

        def swap(expr: Expr, target: Expr = target, ref: Ref = ref) -> Expr:
            return ref if expr == target else expr

        statement = map_statement(statement, swap)
    yield statement


def _largest_repeated(statement: Statement) -> Expr | None:
    """The largest expression that is certainly evaluated twice; None if there is none."""
    counts: dict[Expr, int] = {}
    for expr in expressions(statement):
        _count(expr, counts, 1)
    repeated = [e for e, n in counts.items() if n > 1]
    return max(repeated, key=lambda e: sum(1 for _ in subexpressions(e)), default=None)


def _count(expr: Expr, counts: dict[Expr, int], times: int) -> None:
    if not isinstance(expr, Apply):
        return
    counts[expr] = counts.get(expr, 0) + times
    if counts[expr] > times:
        return  # its subexpressions have been counted
    args = expr.args
    if expr.op == "select" and any(isinstance(p, Within) for p in subexpressions(args[0])):
        args = args[:1]  # the arms may be out of bounds where the test fails
    for arg, uses in zip(args, _uses(expr.op), strict=False):
        _count(arg, counts, uses)


@cache
def _uses(op: str) -> tuple[int, ...]:
    """The number of times that each operand occurs in a primitive's C expression, at most."""
    texts = TABLE[op].c.values()
    words = ["".join(c if c.isalnum() or c == "_" else " " for c in t).split() for t in texts]
    return tuple(max([w.count(letter) for w in words] + [1]) for letter in "xyz")
