"""Storage of calls: where the arrays are that calls of a library, or of Python, take."""

from __future__ import annotations

from collections.abc import Mapping

from transpile.errors import InternalError, UnsupportedError
from transpile.fusion.nodes import CallBack
from transpile.ir.graph import Atom, Var, site_of
from transpile.ir.indices.lengths import lengths_in
from transpile.ir.types import ArrayType
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


def arrays_of_callback(
    node: CallBack, places: Mapping[Atom, Place | Variable], memory: Memory
) -> dict[str, Place]:
    """Arrays for what a call of Python is shown and for what it gives, by `shown_name` and
    `given_name`; those without elements have no address, and numbers are arrays of one. A result
    is given where it will be, unless that is a variable."""
    arrays: dict[str, Place] = {}
    site = site_of(node.equation)
    for kind in (*site.types, *site.results):
        if lengths_in([kind.shape]):
            source = node.equation.source
            raise UnsupportedError(
                f"{source}: a callback with arrays whose length depends on values; with size=n it "
                "is known"
            )
    for number, kind in enumerate(site.types):
        if kind.size != 0:
            arrays[shown_name(number)] = _array(kind, "shown", memory)
    for number, (kind, var) in enumerate(zip(site.results, node.results, strict=True)):
        place = places.get(var)
        if kind.size != 0:
            own = place if isinstance(place, Place) else _array(kind, "given", memory)
            arrays[given_name(number)] = own
    return arrays


def _array(kind: ArrayType, name: str, memory: Memory) -> Place:
    return memory.temporary(Var(kind.with_shape(kind.shape or (1,)), name))


def shown_name(number: int) -> str:
    """The name of the array with an operand of a callback."""
    return f"shown{number}"


def given_name(number: int) -> str:
    """The name of the array for a result of a callback."""
    return f"given{number}"
