"""Storage of calls: where the arrays are that calls of a library, or of Python, take."""

from __future__ import annotations

from collections.abc import Mapping

from transpile.errors import InternalError, UnsupportedError
from transpile.fusion.nodes import Effect
from transpile.ir.graph import Atom, Var, site_of
from transpile.library.plan import SCRATCH, CallPlan
from transpile.lower.assignment.memory import Memory
from transpile.lower.storage import Place, Variable


def arrays_of_call(
    plan: CallPlan, places: Mapping[Atom, Place | Variable], memory: Memory
) -> dict[str, Place]:
    """Where the arrays of a library call are, by their names; its calls share their scratch
    memory."""
    arrays: dict[str, Place] = {}
    for name, value in (*plan.reads.items(), *plan.writes.items()):
        place = places[value]
        if not isinstance(place, Place):
            raise InternalError(f"{place} is a variable, not an array in memory")
        arrays[name] = place
    for name, table in plan.tables.items():
        arrays[name] = memory.constant(table)
    if plan.scratch_bytes is not None:
        arrays[SCRATCH] = memory.scratch(plan.scratch_bytes)
    return arrays


def arrays_of_effect(node: Effect, memory: Memory) -> dict[str, Place]:
    """Arrays for what a call of Python is shown, by the numbers of the operands; those without
    elements have no address, and numbers are arrays of one."""
    arrays: dict[str, Place] = {}
    for number, kind in enumerate(site_of(node.equation).types):
        if any(not isinstance(n, int) for n in kind.shape):
            source = node.equation.source
            raise UnsupportedError(f"{source}: a callback with arrays of a runtime size")
        if kind.size != 0:
            shown = Var(kind.with_shape(kind.shape or (1,)), "shown")
            arrays[str(number)] = memory.temporary(shown)
    return arrays
