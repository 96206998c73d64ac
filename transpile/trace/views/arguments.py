"""Arguments that have to lie in rows, as a trace has decided by that what shares memory.

One trace serves arguments in all orders of memory. Where an array is a view if an argument lies in
rows, and a copy if not, and what is assigned to one of them would then be seen in the other, or
not, a call with another order is refused (`runtime/mutated_arguments.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transpile.ir.graph import Var
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD

if TYPE_CHECKING:
    from transpile.trace.trace import Trace

_MOVING = ("sort", "length")  # the kinds of what gives elements other places
_IN_ROWS = "contract"  # the kind of products, which lie in rows however their operands lie


def note_decided(trace: Trace, base: Var, result: Var) -> None:
    """Record that what is a view of an array, or a copy, follows from how that lies in memory."""
    if base.type.shape and THREAD.traces:
        is_itself = result is base
        since = len(trace.equations) - 1 if is_itself else trace.births.get(result, -1)
        THREAD.traces[0].layouts.decided.append((trace, base, result, since))


def note_like(trace: Trace, var: Var) -> None:
    """Record that an array has been made with the dtype of another one."""
    if THREAD.traces:
        THREAD.traces[0].layouts.likes.append((trace, var))


def note_asked(trace: Trace, var: Var) -> None:
    """Record that a value follows from how an array lies in memory."""
    if var.type.shape and THREAD.traces:
        THREAD.traces[0].layouts.asked.append((trace, var))


def moved_by(trace: Trace, outputs: Sequence[Any]) -> set[Var]:
    """The inputs of a trace whose elements one of these outputs has as they are, or of which it has
    the dtype (`zeros_like`)."""
    origins: dict[Any, Any] = {var: var for var in trace.inputs}
    for equation in trace.equations:
        arrays = [a for a in equation.inputs if isinstance(a, Var)]
        if not arrays or not equation.outputs:
            continue
        found = {origins.get(a) for a in arrays}
        primitive = equation.primitive
        is_moved = primitive.picks or primitive.identity or primitive.kind in _MOVING
        if is_moved or trace.viewed(equation.outputs[0]) is not None:
            origins[equation.outputs[0]] = origins.get(arrays[0])
        elif primitive.kind == "piecewise" and len(found) == 1:  # as `roll` and `pad` have it
            origins[equation.outputs[0]] = found.pop()
        elif primitive.has_graphs:
            by_type = {a.type: origins[a] for a in arrays if origins.get(a) is not None}
            origins |= {y: by_type[y.type] for y in equation.outputs if y.type in by_type}
    likes = (var for owner, var in trace.layouts.likes if owner is trace)
    shown = (*(x.variable for x in outputs if isinstance(x, Tracer)), *likes)
    return {origins[y] for y in shown if origins.get(y) is not None}


def in_rows_by(trace: Trace, outputs: Sequence[Any]) -> set[Var]:
    """The inputs of an outermost trace with these outputs that have to lie in rows."""
    layouts = trace.layouts
    returned = {x.variable for x in outputs if isinstance(x, Tracer)}
    shown = [
        (t, base)
        for t, base, y, since in layouts.decided
        if t.roots and _is_shown(t, base, y, since, returned)
    ]
    return _inputs_of(trace, [*shown, *layouts.asked]) if shown or layouts.asked else set()


def _is_shown(trace: Trace, base: Var, result: Var, since: int, returned: set[Var]) -> bool:
    """True if it can be seen whether a result is a view of an array, or a copy: there is an
    assignment to one of them, and then the other one is read."""
    roots = {trace.root_of(base), trace.root_of(result)}
    changes = {c for c, r in trace.roots.items() if r in roots and trace.births.get(c, -1) > since}
    if not changes or any(root not in trace.producers for root in roots):
        return bool(changes)
    if len(roots) > 1 or base not in roots or trace.is_region:
        return True
    of_result = all(_is_reshaped(trace, c, result) for c in changes)
    return (
        not of_result
        or not changes.isdisjoint(returned)
        or any(
            trace.roots.get(equation.outputs[0]) is not result
            for equation in trace.equations
            if not changes.isdisjoint(a for a in equation.inputs if isinstance(a, Var))
        )
    )


def _is_reshaped(trace: Trace, changed: Var, result: Var) -> bool:
    """True for a new value of an array that is one of a reshape of it."""
    equation = trace.producers.get(changed)
    if equation is None or equation.primitive.name != "reshape":
        return False
    return equation.inputs[0].type.shape == result.type.shape


def _inputs_of(outermost: Trace, pending: list[tuple[Trace, Var]]) -> set[Var]:
    """The inputs that decide how some arrays lie in memory: vectors decide of themselves and of
    their views only."""
    found: set[Var] = set()
    met: set[Var] = set()
    while pending:
        trace, var = pending.pop()
        if var in met or not var.type.shape or var in trace.layouts.rows:
            continue
        met.add(var)
        if var in trace.roots:
            pending.append((trace, trace.roots[var]))
        elif (equation := trace.producers.get(var)) is not None:
            if trace.viewed(var) is not None:
                pending += [(trace, a) for a in equation.inputs[:1] if isinstance(a, Var)]
            elif equation.primitive.kind != _IN_ROWS:
                arrays = [a for a in equation.inputs if isinstance(a, Var)]
                pending += [(trace, a) for a in arrays if len(a.type.shape) > 1]
        elif trace is outermost:
            found.add(var)
        else:
            outer = next((o for o, here in trace.captures.values() if here is var), None)
            if outer is None:  # what a loop carries, or the argument of a function inside
                found.update(v for v in outermost.inputs if len(v.type.shape) > 1)
            else:
                pending.append((outer.owner, outer.original))
    return found
