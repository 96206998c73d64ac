"""Regions: the graphs of statements, which read and assign to the arrays of the function around
them.

What a region reads is captured. Where it assigns to a captured array, the graph has the array's new
value as a further result, and whoever binds the region assigns that to the array
(`Trace.is_region`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from transpile import tree
from transpile.functional.flatten_fun import lifted
from transpile.ir.dims import Dim
from transpile.ir.graph import Atom, Const, Graph, Var
from transpile.ir.primitive import TABLE
from transpile.ir.source_info import user_source
from transpile.ir.types import ArrayType
from transpile.lax.control.bodies import Body
from transpile.primitives import elementwise
from transpile.trace.trace import Trace, constant, current_trace, with_active
from transpile.trace.tracer import Tracer
from transpile.trace.views.memory import note_outputs
from transpile.util.interrupt_safety import THREAD


class Region:
    """The trace of a part of a function, which may be run in pieces before its graph is made."""

    def __init__(
        self, name: str, types: Sequence[ArrayType] = (), names: Sequence[str] = ()
    ) -> None:
        around = current_trace()
        around = around if around is not None and around.is_region else None
        self.trace = Trace(name, user_source(), is_region=True, around=around)
        names = names or [""] * len(types)
        self.trace.inputs = [Var(t, n) for t, n in zip(types, names, strict=True)]

    @property
    def parameters(self) -> list[Tracer]:
        """The tracers of the inputs."""
        return [Tracer(self.trace, var) for var in self.trace.inputs]

    def run(self, function: Callable[[], Any]) -> Any:
        """Trace a call."""
        self.trace.active = True
        return with_active(self.trace, function)

    def atom(self, value: Any, kind: ArrayType | None = None) -> Atom:
        """A value in the region, converted to a type."""
        atom = self.trace.atom(value.as_value() if isinstance(value, Dim) else value)
        if kind is None or atom.type.dtype == kind.dtype:
            return atom
        if isinstance(atom, Const):
            return constant(np.asarray(atom.value, kind.dtype))
        operand = Tracer(self.trace, atom)
        (result,) = self.trace.append(elementwise.convert, (operand,), {"dtype": kind.dtype})
        return result.variable

    def zeros(self, kind: ArrayType) -> Atom:
        """Zeros of a type."""
        zero = constant(np.zeros((), kind.dtype))
        if not kind.shape:
            return zero
        params = {"shape": kind.shape, "broadcast_dimensions": ()}
        (result,) = self.trace.append(TABLE["broadcast_in_dim"], (zero,), params)
        return result.variable

    def assigned(self) -> dict[Var, Tracer]:
        """The outer arrays that it assigns to, by their Vars."""
        return {
            var: tracer
            for var, (tracer, here) in self.trace.captures.items()
            if self.trace.newest(here) is not here
        }

    def final(self, var: Var, tracer: Tracer) -> Var:
        """The value of an outer array behind the region."""
        return self.trace.newest(self.captured(var, tracer))

    def captured(self, var: Var, tracer: Tracer) -> Var:
        """The input that stands for an outer array."""
        if var not in self.trace.captures:
            self.trace.captures[var] = tracer, Var(tracer.type, var.name)
        return self.trace.captures[var][1]

    def settle_views(self, assigned: Collection[Var]) -> None:
        """Capture views of outer arrays that nobody assigns to as they are."""
        trace = self.trace
        inputs = {here: var for var, (_, here) in trace.captures.items()}
        for outer, (tracer, here) in list(trace.mirrored.items()):
            root: Atom = here
            while root not in inputs and (view := trace.viewed(root)) is not None:  # type: ignore[arg-type]  # a Var: constants have no views
                root = view.inputs[0]
            # A view that is made of another value than that of an input is of an assigned array.
            if root in inputs and inputs[root] not in assigned:  # type: ignore[index]  # a Var
                trace.equations.remove(trace.producers.pop(here))
                del trace.mirrored[outer]
                trace.captures[outer] = tracer, here
                inputs[here] = outer

    def body(self, outputs: Sequence[Atom], parameters: Sequence[Var]) -> Body:
        """The region as a graph of captured values and parameters, which may be captured ones;
        arrays of constants are captured too."""
        trace = self.trace
        note_outputs(trace, outputs)
        THREAD.python.kept.goes_on(trace, outputs)
        captured = [(t, var) for t, var in trace.captures.values() if var not in parameters]
        graph = Graph(
            (*[var for _, var in captured], *parameters),
            tuple(trace.equations),
            tuple(outputs),
            trace.name,
            source=trace.source,
        )
        graph, constants = lifted(graph)
        return Body(self.run, graph, [*constants, *[t for t, _ in captured]], tree.LEAF)
