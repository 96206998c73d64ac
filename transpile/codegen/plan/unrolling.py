"""Unrolling: the innermost serial loops of which a compiler is asked to make several iterations
one.

Where a loop stores at places that values choose, or under a condition, its iterations are no lanes.
Many are so short that counting and the jump back take a good part of their time, and gcc unrolls no
loop that it need not. So they are marked where they are likely to be many, as the program's sizes
say. Loops that end where a value says are often over before an unrolled body is. Iterations that
choose among several things to do are better predicted as one: each copy has branches of its own.
And where a short iteration adds to a float, it waits for the addition before, and not for the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from transpile.ir.dims import Symbol, symbols_of
from transpile.ir.loop_ir import Apply, Declare, For, If, Load, Statement, Store, Update
from transpile.ir.loop_rewrite import parts, walk

_ITERATIONS = 4
_LEAST = 32  # iterations of a loop
_MOST_PARTS = 40  # operations and elements of an iteration
_PARTS_OF_AN_ADDITION = 12  # that a processor does while it adds two floats


def unrolling(loop: For, sizes: Set[Symbol]) -> int:
    """How many iterations of a loop become one; 0 for a loop that stays as it is."""
    if loop.simd or loop.parallel or not _is_long(loop, sizes):
        return 0
    inside = list(walk(loop.body))
    if loop.limit is not None and any(isinstance(s, Store) for s in inside):
        return 0  # a block whose iterations are looked up, but for few
    if not all(isinstance(s, Declare | Update | Store | If) for s in inside):
        return 0
    count = sum(isinstance(p, Apply | Load) for s in inside for p in parts(s))
    least = _PARTS_OF_AN_ADDITION if any(map(_adds_to_a_float, loop.body)) else 0
    return _ITERATIONS if least <= count <= _MOST_PARTS and _does_one_thing(inside) else 0


def _is_long(loop: For, sizes: Set[Symbol]) -> bool:
    extent = loop.extent
    return extent >= _LEAST if isinstance(extent, int) else symbols_of(extent) <= sizes


def _adds_to_a_float(statement: Statement) -> bool:
    return isinstance(statement, Update) and statement.target.dtype.kind in "fc"


def _does_one_thing(statements: Iterable[Statement]) -> bool:
    """True if branches have one arm, and there is one of them, or all change one variable or
    element."""
    branches = [s for s in statements if isinstance(s, If)]
    changes = {id(c) for b in branches for c in walk(b.body) if isinstance(c, Store | Update)}
    is_one = len(branches) <= 1 or len(changes) <= 1
    return is_one and not any(b.orelse for b in branches)
