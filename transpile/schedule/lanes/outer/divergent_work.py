"""Whether inner loops have enough to compute in lanes.

Lanes go on until the slowest one has ended, and all of them compute what any of them does. Scalar
code runs the next steps of a loop beside those before, and iterations of the loop around beside one
another: so it is faster where a step is one operation, or reads elements one after the other, or
has branches of which few are taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.ir.dims import symbols_of
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Load,
    Ref,
    Statement,
    Update,
    While,
)
from transpile.ir.loop_rewrite import parts, walk
from transpile.machine import Machine
from transpile.primitives.elementwise import add, subtract
from transpile.schedule.lanes.outer.branches import updated

Body = tuple[Statement, ...]


def is_worth_lanes(loops: tuple[For | While, ...], machine: Machine) -> bool:
    """True if a step of the loops takes enough operations, of which a sine or a root is
    many, without many branches, and subscripts of its own depend on what it has read before."""
    inside = tuple(walk(loops))
    operations = sum(map(_work, (part for s in inside for part in parts(s))))
    operations += sum(_work(updated(s)) for s in inside if isinstance(s, Update))
    branches = sum(isinstance(s, If) for s in inside)
    return (
        operations >= machine.fewest_divergent_operations
        and branches <= machine.most_divergent_branches
        and not _read_in_order(inside)
    )


def _work(part: Expr) -> int:
    """The operations on numbers of an expression itself, without those that count."""
    if not isinstance(part, Apply) or part.dtype.kind == "b":
        return 0
    if part.op in (add.name, subtract.name) and any(isinstance(x, Literal) for x in part.args):
        return 0
    return part.primitive.weight if part.primitive.transcendental else 1


def _read_in_order(inside: Body) -> bool:
    """True if a subscript that the loops compute follows from numbers that are only counted."""
    counted = _counted(inside)
    values = {s.symbol: s.value for s in inside if isinstance(s, Declare) and s.symbol is not None}
    read = {
        symbol
        for s in inside
        for part in parts(s)
        if isinstance(part, Load)
        for index in part.index
        for symbol in symbols_of(index)
    }
    return any(_names(values[symbol], inside) <= counted for symbol in read & values.keys())


def _counted(inside: Body) -> set[str]:
    """The scalars that all updates add a number to."""
    changed: dict[str, bool] = {}
    for s in inside:
        if isinstance(s, Update) and isinstance(s.target, Ref):
            name = s.target.name
            adds = s.op == add.name and isinstance(s.value, Literal)
            if s.op == "set" and isinstance(s.value, Apply):
                adds = s.value.op == add.name and Ref(name, s.target.dtype) in s.value.args
                adds = adds and any(isinstance(x, Literal) for x in s.value.args)
            changed[name] = changed.get(name, True) and adds
    return {name for name, adds in changed.items() if adds}


def _names(value: Expr, inside: Body) -> set[str]:
    """The scalars of the loops' surroundings or state that a value follows from."""
    declared = {s.name: s.value for s in inside if isinstance(s, Declare)}
    found: set[str] = set()
    waiting = [*_refs(value)]
    while waiting:
        name = waiting.pop()
        if name in declared and name not in found:
            waiting += _refs(declared[name])
        found.add(name)
    return found - declared.keys() | (found & _updated(inside))


def _updated(inside: Body) -> set[str]:
    return {s.target.name for s in inside if isinstance(s, Update) and isinstance(s.target, Ref)}


def _refs(value: Expr) -> Iterator[str]:
    if isinstance(value, Ref):
        yield value.name
    elif isinstance(value, Apply):
        for x in value.args:
            yield from _refs(x)
