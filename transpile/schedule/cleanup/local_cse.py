"""Repeated: a scalar expression that a statement uses twice gets a name, and is computed once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

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


def local_cse(program: Program, options: Options) -> Program:
    """The program with its repeated subexpressions named."""
    taken = Names(names_in(program))
    return map_bodies(program, lambda body: tuple(_body(body, taken.inner())))


def _body(body: tuple[Statement, ...], names: Names) -> Iterator[Statement]:
    known = _Known()
    for statement in body:
        if known.refs:
            known.forget(_changed(statement))
            statement = known.replaced(statement)
        if isinstance(statement, For | If | While):
            yield with_bodies(statement, lambda inner: tuple(_body(inner, names)))
        else:
            for part in _named(statement, names):
                yield part
                if isinstance(part, Declare) and part.constant and isinstance(part.value, Apply):
                    known.add(part.value, Ref(part.name, part.dtype))


class _Known:
    """The expressions whose value a scalar of a body holds already."""

    def __init__(self) -> None:
        self.refs: dict[Expr, Ref] = {}
        self.by_name: dict[str, list[tuple[Expr, Ref]]] = {}  # by what a change of ends that

    def add(self, expr: Expr, ref: Ref) -> None:
        """A scalar has this value from now on."""
        self.refs[expr] = ref
        for name in _reads(expr) | {ref.name}:
            self.by_name.setdefault(name, []).append((expr, ref))

    def forget(self, changed: set[str]) -> None:
        """These names stand for something else from now on."""
        for name in changed & self.by_name.keys():
            for expr, ref in self.by_name.pop(name):
                if self.refs.get(expr) is ref:
                    del self.refs[expr]

    def replaced(self, statement: Statement) -> Statement:
        """The statement that reads the scalars."""
        return map_statement(statement, lambda e: self.refs.get(e, e))


def _changed(statement: Statement) -> set[str]:
    """The buffers and scalars that a statement writes, or that go by those names inside it."""
    found: set[str] = set()
    for inner in walk((statement,)):
        found |= set(written(inner))
        match inner:
            case Update(target=Ref(name=name)) | Declare(name=name):
                found.add(name)
            case Alloc(buffer=buffer):
                found.add(buffer.name)
            case _:
                pass
    return found


def _reads(expr: Expr) -> set[str]:
    """The buffers and scalars that an expression reads."""
    parts = list(subexpressions(expr))
    found = {p.buffer for p in parts if isinstance(p, Load)}
    return found | {p.name for p in parts if isinstance(p, Ref)}


def _named(statement: Statement, names: Names) -> Iterator[Statement]:
    """A statement, and before it the declarations of what it would compute twice."""
    while isinstance(statement, (Declare, Update, Store)):
        twice = _smallest_repeated(statement)
        if twice is None:
            break
        name = names.new("t")
        ref = Ref(name, twice.dtype)
        yield from _named(Declare(name, twice), names)
        target = twice

        def swap(expr: Expr, target: Expr = target, ref: Ref = ref) -> Expr:
            return ref if expr == target else expr

        statement = map_statement(statement, swap)
    yield statement


def _smallest_repeated(statement: Statement) -> Expr | None:
    """The largest expression that is evaluated twice for certain, if there is one."""
    counts: dict[Expr, int] = {}
    for expr in expressions(statement):
        _count(expr, counts, 1)
    found = [e for e, n in counts.items() if n > 1]
    return max(found, key=lambda e: sum(1 for _ in subexpressions(e)), default=None)


def _count(expr: Expr, counts: dict[Expr, int], times: int) -> None:
    if not isinstance(expr, Apply):
        return
    counts[expr] = counts.get(expr, 0) + times
    if counts[expr] > times:
        return  # its parts are counted already
    args = expr.args
    if expr.op == "select" and any(isinstance(p, Within) for p in subexpressions(args[0])):
        args = args[:1]  # what a bound guards must not be computed without it
    for arg, uses in zip(args, _uses(expr.op), strict=False):
        _count(arg, counts, uses)


@cache
def _uses(op: str) -> tuple[int, ...]:
    """How often each operand stands in a row's C expression, at most."""
    texts = TABLE[op].c.values()
    words = ["".join(c if c.isalnum() or c == "_" else " " for c in t).split() for t in texts]
    return tuple(max([w.count(letter) for w in words] + [1]) for letter in "xyz")
