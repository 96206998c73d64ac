"""Carries: where a loop keeps what one iteration hands to the next.

A number is in a variable. An array is in one buffer if the body may update it in place (it is
settled). Otherwise it is double-buffered: an iteration reads the current buffer and writes the
following one, then the two are exchanged, or copied where the array is small. Carries that take
one another's array (`fusion/scopes.py`) exchange their buffers as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.fusion.nodes import Loop
from transpile.ir.dims import Index, Symbol
from transpile.ir.graph import Var
from transpile.lower.assignment.placement import Placement
from transpile.lower.storage import Carried, Place, Variable


def carried_values(
    placement: Placement, node: Loop, counter: Symbol | None, declared: list[Variable]
) -> Iterator[Carried]:
    """The storage of each value of a loop's carry; the variables it needs are added to those that
    the loop declares."""
    settled = placement.aliases.inner[node.body].settled
    rotated = {k for cycle in node.body.block.scope.rotated for k in cycle}
    for k, (before, after) in enumerate(node.body.block.scope.carry):
        result, is_settled = node.results[k], before in settled
        current: Place | Variable
        final: Place | Variable
        following = None
        if k in rotated:
            current, following, final = _exchanged(placement, result, is_settled)
        elif result.type.shape:
            current, following, final = _buffers(placement, result, is_settled, node.length)
        else:
            hint = before.name or result.name or getattr(after, "name", "") or "carry"
            current, final = placement.number(result, hint, counter, declared)
        yield Carried(
            node.carry[k],
            node.initial[k],
            result,
            before,
            after,
            is_settled,
            current,
            following,
            final,
            _is_small(placement, result),
        )


def _buffers(
    placement: Placement, result: Var, settled: bool, length: Index | None
) -> tuple[Place, Place | None, Place]:
    """The places of an array: current, following (None if it is settled), and after the loop.

    With an even number of exchanges an array ends where it began: so where it is known whether the
    trip count is even, one of the two buffers is the final place. Otherwise both are temporaries,
    and the array is copied to its final place, unless nothing reads it.
    """
    memory = placement.memory
    if not settled and _is_unused(placement, result):
        current = memory.temporary(result)
        return current, memory.temporary(result), current
    final = placement.stored(result)
    if settled:
        return final, None, final
    spare = memory.temporary(result)
    parity = None if length is None else length % 2
    if not isinstance(parity, int) or final.prefix or _is_small(placement, result):
        return spare, memory.temporary(result), final
    return (spare, final, final) if parity else (final, spare, final)


def _exchanged(
    placement: Placement, result: Var, settled: bool
) -> tuple[Place, Place | None, Place]:
    """The places of an array that changes its memory with others: it is copied to its final place,
    unless nothing reads it."""
    memory = placement.memory
    current = memory.temporary(result)
    following = None if settled else memory.temporary(result)
    is_unused = _is_unused(placement, result)
    return current, following, current if is_unused else placement.stored(result)


def _is_unused(placement: Placement, result: Var) -> bool:
    """True if nothing reads what a loop leaves in an array."""
    return not placement.aliases.is_read(result) and placement.places.get(result) is None


def _is_small(placement: Placement, var: Var) -> bool:
    """True if an array is copied rather than exchanged by pointers, so that its elements can live
    in registers."""
    size = var.type.size
    return isinstance(size, int) and size <= placement.block.scope.machine.most_copied_elements
