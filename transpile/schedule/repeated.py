"""Repeated: a scalar expression that a statement uses twice gets a name, and is computed once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from transpile.loops import (
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
from transpile.names import Names
from transpile.options import Options
from transpile.primitive import TABLE
from transpile.walks import (
    expressions,
    map_statement,
    names_in,
    subexpressions,
    walk,
    with_bodies,
    written,
)


def repeated(program: Program, options: Options) -> Program:
    """The program with its repeated subexpressions named."""
    taken = names_in(program)
    kernels = []
    for kernel in program.kernels:
        names = Names(taken)
        kernels.append(replace(kernel, body=tuple(_body(kernel.body, names))))
    return replace(program, kernels=tuple(kernels))


def _body(body: tuple[Statement, ...], names: Names) -> Iterator[Statement]:
    known: dict[Expr, Ref] = {}  # expressions whose value a scalar of this body holds already
    for statement in body:
        changed = _changed(statement)
        known = {
            e: ref
            for e, ref in known.items()
            if ref.name not in changed and _reads(e).isdisjoint(changed)
        }
        statement = _replaced(statement, known)
        if isinstance(statement, For | If | While):
            yield with_bodies(statement, lambda inner: tuple(_body(inner, names)))
        else:
            for part in _named(statement, names):
                yield part
                if isinstance(part, Declare) and part.constant and isinstance(part.value, Apply):
                    known[part.value] = Ref(part.name, part.dtype)


def _replaced(statement: Statement, known: dict[Expr, Ref]) -> Statement:
    return map_statement(statement, lambda e: known.get(e, e), lambda index: index)


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

        statement = map_statement(statement, swap, lambda index: index)
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
    column = TABLE[expr.op].c
    for position, arg in enumerate(args):
        letter = "xyz"[position]
        uses = max((_letters(text, letter) for text in column.values()), default=1)
        _count(arg, counts, max(uses, 1))


def _letters(text: str, letter: str) -> int:
    """How often an operand stands in a row's C expression."""
    words = "".join(c if c.isalnum() or c == "_" else " " for c in text).split()
    return words.count(letter)
