"""`checkpoint`: a call whose derivative rematerialises the residuals of its graph.

Only the operands, and values that a policy selects, are kept from the forward pass. Recomputed
equations read their operands through an optimization barrier, so that common-subexpression
elimination does not merge them with the forward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from transpile.ir.graph import Equation, Graph, Var
from transpile.ir.graph_rewrite import counts_of, lengths_read, live_equations
from transpile.ir.indices.lengths import lengths_in
from transpile.ir.primitive import Axis, Linear, Primitive, register
from transpile.primitives.control.calls import Flags, Values, call_type, call_value
from transpile.primitives.control.graphs import filled
from transpile.primitives.control.primitives import scan
from transpile.primitives.effects.checks import as_it_is, call_checked
from transpile.primitives.rules import apply, bind_call
from transpile.trace.lengths import with_new_lengths
from transpile.trace.tracer import Tracer
from transpile.transforms.batch import batch
from transpile.transforms.closed import Closed
from transpile.transforms.jvp import jvp
from transpile.transforms.linearize import partition
from transpile.transforms.transpose import transpose

# (primitive, *types of the operands, **params) -> are the results of such an equation kept
Policy = Callable[..., bool]


def _checkpoint_jvp(
    tangents: Values,
    *operands: Any,
    graph: Graph,
    policy: Policy | None,
    prevent_cse: tuple[bool, ...],
) -> tuple[list[Any], list[Any]]:
    """Two calls: of the primals, which gives the results and the values that the policy keeps; and
    of the tangents, which recomputes its residuals from the operands and the kept values."""
    both, flags = jvp(Closed(graph), [t is not None for t in tangents])
    derivative, count = both.graph, len(graph.outputs)
    moving = derivative.inputs[len(derivative.inputs) - sum(t is not None for t in tangents) :]
    fixed = derivative.inputs[: len(derivative.inputs) - len(moving)]
    known, rest = partition(derivative, moving)
    kept = _Kept(policy, known)
    tangents_out = derivative.outputs[count:]
    recomputed, read = _equations_from((*kept.again, *rest), tangents_out, kept.values)
    saved = [v for v in kept.values if v in read]
    values = dict(zip(fixed, (*both.captured, *operands), strict=True))
    guards = dict(zip(fixed, (*[True] * len(both.captured), *prevent_cse), strict=True))

    results = (*derivative.outputs[:count], *saved)
    forwards = _part(derivative, fixed, live_equations(kept.first, results), results)
    primal_out = bind_call(
        checkpoint,
        *values.values(),
        graph=forwards,
        policy=policy,
        prevent_cse=tuple(guards.values()),
    )
    values.update(zip(saved, primal_out[count:], strict=True))
    needed = [v for v in fixed if v in read] + saved
    changes = bind_call(
        checkpoint,
        *[values[v] for v in needed],
        *[t for t in tangents if t is not None],
        graph=with_new_lengths(_part(derivative, (*needed, *moving), recomputed, tangents_out)),
        policy=policy,
        prevent_cse=(*[guards.get(v, True) for v in needed], *[True] * len(moving)),
    )
    given = iter(changes)
    return primal_out[:count], [next(given) if f else None for f in flags]


def _part(
    graph: Graph, inputs: Sequence[Var], equations: tuple[Equation, ...], outputs: Sequence[Any]
) -> Graph:
    return Graph(tuple(inputs), equations, tuple(outputs), graph.name, source=graph.source)


class _Kept:
    """What a policy keeps of the results of some equations.

    first    the equations of the forward pass; a scan also stacks what is kept in its body
    again    the equations that recompute; a scan reads these stacks
    values   the kept values
    """

    def __init__(self, policy: Policy | None, equations: Sequence[Equation]) -> None:
        self.first: list[Equation] = []
        self.again: list[Equation] = []
        self.values: dict[Any, None] = {}
        for equation in equations:
            first, again = equation, equation
            if policy is None:
                kept: Sequence[Var] = ()
            elif policy(equation.primitive, *[a.type for a in equation.inputs], **equation.params):
                kept = equation.outputs
            elif equation.primitive is scan:
                first, again, kept = _scan_keeping(policy, equation)
            else:
                kept = ()
            self.first.append(first)
            self.again.append(again)
            self.values.update(dict.fromkeys(kept))


def _scan_keeping(policy: Policy, equation: Equation) -> tuple[Equation, Equation, list[Var]]:
    """The scan that stacks the values kept in its body, the scan that reads them, and the
    stacks."""
    body: Graph = equation.params["graph"]
    kept = _Kept(policy, body.equations)
    if not kept.values:
        return equation, equation, []
    values, length = list(kept.values), equation.params["length"]
    stacks = [Var(v.type.strong.with_shape((length, *v.type.shape)), v.name) for v in values]
    first = replace(body, equations=tuple(kept.first), outputs=(*body.outputs, *values))
    recomputed, _ = _equations_from(kept.again, body.outputs, kept.values)
    again = replace(body, inputs=(*body.inputs, *values), equations=recomputed)
    return (
        replace(
            equation,
            params={**equation.params, "graph": first},
            outputs=(*equation.outputs, *stacks),
        ),
        replace(
            equation,
            inputs=(*equation.inputs, *stacks),
            params={**equation.params, "graph": again},
        ),
        stacks,
    )


def _equations_from(
    equations: Sequence[Equation], outputs: Sequence[Any], saved: Collection[Var]
) -> tuple[tuple[Equation, ...], set[Any]]:
    """The equations that compute the outputs from the inputs and the saved values, and all that
    these equations and the outputs read. Lengths are counted again, but those that saved values
    have."""
    read = set(outputs)
    given = lengths_in(v.type.shape for v in saved)
    counts = {s: v for s, v in counts_of(equations).items() if s not in given}
    kept: list[Equation] = []
    for equation in reversed(equations):
        flags = [v in read and v not in saved for v in equation.outputs]
        if any(flags):
            dce = equation.primitive.dce
            equation = equation if dce is None else dce(equation, flags)
            kept.append(equation)
            read.update(equation.inputs)
            read.update(counts[s] for s in lengths_read(equation) if s in counts)
    return tuple(reversed(kept)), read


def _checkpoint_transpose(
    cotangents: Values,
    *operands: Any,
    graph: Graph,
    policy: Policy | None,
    prevent_cse: tuple[bool, ...],
) -> list[Any]:
    """A call of the transpose, which reads its operands through barriers if it recomputes."""
    linear = [isinstance(x, Linear) for x in operands]
    backward, flags = transpose(Closed(graph), linear, [c is not None for c in cotangents])
    tangents = [v for v, is_linear in zip(graph.inputs, linear, strict=True) if is_linear]
    recomputed, _ = partition(graph, tangents)
    known = [
        _guarded(x) if is_guarded and recomputed else x
        for x, is_guarded in zip(operands, prevent_cse, strict=True)
        if not isinstance(x, Linear)
    ]
    given = [*backward.captured, *known, *[c for c in cotangents if c is not None]]
    results = iter(
        bind_call(
            checkpoint,
            *given,
            graph=backward.graph,
            policy=policy,
            prevent_cse=(any(prevent_cse),) * len(given),
        )
    )
    has_cotangent = filled(flags, linear, False)
    return [next(results) if flag else None for flag in has_cotangent]


def _guarded(x: Any) -> Any:
    return apply("optimization_barrier", x) if isinstance(x, Tracer) else x


def _checkpoint_batch(
    axis: Axis,
    batched: Flags,
    *operands: Any,
    graph: Graph,
    policy: Policy | None,
    prevent_cse: tuple[bool, ...],
) -> tuple[list[Any], list[bool]]:
    batched_graph, flags = batch(Closed(graph), axis, batched)
    given = [*batched_graph.captured, *operands]
    guards = (*[True] * len(batched_graph.captured), *prevent_cse)
    results = bind_call(
        checkpoint, *given, graph=batched_graph.graph, policy=policy, prevent_cse=guards
    )
    return results, flags


checkpoint = register(
    Primitive(
        "checkpoint",
        "call",
        call_value,
        call_type,
        jvp=_checkpoint_jvp,
        transpose=_checkpoint_transpose,
        batch=_checkpoint_batch,
        checked=call_checked("checkpoint", as_it_is),
    )
)
