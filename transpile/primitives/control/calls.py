"""Calls of a graph: `named_call`, `custom_jvp_call` and `custom_vjp_call`; the pass `inline_calls`
inlines the graphs.

A user's derivative rule is an object in the equation's params. It runs when the derivative is
taken, on the tracers of the current trace:

    JvpRule   (operands, tangents) -> (results, tangents)
    VjpRule   .forward(operands, active) -> (results, residuals, backward), where
              backward(residuals, cotangents of the results) -> cotangents of the operands

Zero tangents and cotangents are None. Under vmap, a rule is wrapped in one that batches it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol

from transpile.ir.graph import Graph, Source, Var
from transpile.ir.primitive import TABLE, Axis, Primitive, register
from transpile.ir.source_info import user_source
from transpile.ir.types import ArrayType, type_of
from transpile.primitives.effects.checks import as_it_is, call_checked, with_jvp, with_vjp
from transpile.primitives.rules import apply, bind_call, with_batch_axis
from transpile.trace.axis_names import with_axes
from transpile.trace.trace import the_trace
from transpile.trace.tracer import Tracer
from transpile.transforms.batch import spread
from transpile.transforms.closed import close, operand, tangent_type
from transpile.transforms.interpret import interpret
from transpile.transforms.jvp import push
from transpile.transforms.transpose import pull
from transpile.util.frozen_records import dataclass

Values = Sequence[Any]
Flags = Sequence[bool]
Backward = Callable[[Values, Values], list[Any]]
JvpRule = Callable[[Values, Values], tuple[list[Any], list[Any]]]


class VjpRule(Protocol):
    """A user's reverse-mode derivative."""

    def forward(self, operands: Values, active: Flags) -> tuple[list[Any], list[Any], Backward]:
        """The results, the residuals, and the backward pass."""


def call_type(*types: ArrayType, graph: Graph, **_: Any) -> tuple[ArrayType, ...]:
    """The types of a graph's results. Raises TypeError for operands of other types than its
    inputs."""
    expected = [v.type.strong for v in graph.inputs]
    if [t.strong for t in types] != expected:
        raise TypeError(
            f"a call of {graph.name} takes {', '.join(map(str, expected))}, "
            f"not {', '.join(map(str, types))}"
        )
    return tuple(a.type for a in graph.outputs)


def call_value(*values: Any, graph: Graph, **_: Any) -> list[Any]:
    """The reference semantics of a call: its graph, interpreted."""
    return interpret(graph, values)


def _push(tangents: Values, *operands: Any, graph: Graph, **_: Any) -> tuple[list[Any], list[Any]]:
    results, tangents_out = push(graph, operands, tangents)
    return [operand(x) for x in results], tangents_out


def _pull(cotangents: Values, *operands: Any, graph: Graph, **_: Any) -> list[Any]:
    return pull(graph, operands, cotangents)


def _spread(
    axis: Axis, batched: Flags, *operands: Any, graph: Graph, **_: Any
) -> tuple[list[Any], list[bool]]:
    results, flags = spread(graph, axis, operands, batched)
    return [operand(x) for x in results], flags


named_call = register(
    Primitive(
        "named_call",
        "call",
        call_value,
        call_type,
        jvp=_push,
        transpose=_pull,
        batch=_spread,
        checked=call_checked("named_call", as_it_is),
    )
)


# ------------------------------------------------------------------------------- batching of rules


def batched_graph(graph: Graph, axis: Axis, batched: Flags) -> Graph:
    """The batched graph with all results batched, so that a rule's results have their types."""

    def on_arrays(*values: Any) -> list[Any]:
        results, flags = spread(graph, axis, values, batched)
        return [
            with_batch_axis(operand(x), axis, is_batched)
            for x, is_batched in zip(results, flags, strict=True)
        ]

    inputs = [
        Var(v.type.with_shape((axis.size, *v.type.shape)), v.name) if is_batched else v
        for v, is_batched in zip(graph.inputs, batched, strict=True)
    ]
    return close(on_arrays, inputs, name=graph.name, source=graph.source).graph


def spread_function(
    function: Callable[..., list[Any]], axis: Axis, values: Values, batched: Flags
) -> list[tuple[Any, bool]]:
    """The results of a function of one example, applied to batches; each with a flag, is it
    batched.

    None (zero) and constants that are not batched are passed to the function as they are.
    """
    is_input = [isinstance(x, Tracer) or b for x, b in zip(values, batched, strict=True)]
    is_input = [i and x is not None for i, x in zip(is_input, values, strict=True)]
    traced = [(x, b) for x, b, i in zip(values, batched, is_input, strict=True) if i]
    inputs = [_example(x, is_batched) for x, is_batched in traced]
    is_zero: list[bool] = []

    def on_example(*tracers: Any) -> list[Any]:
        given = iter(tracers)
        operands = [next(given) if i else x for x, i in zip(values, is_input, strict=True)]
        results = with_axes([axis], lambda: function(*operands))
        is_zero[:] = [x is None for x in results]
        return [x for x in results if x is not None]

    source = the_trace().origin or user_source()
    closed = close(on_example, inputs, name="rule", source=source)
    batches, flags = spread(
        closed.graph,
        axis,
        (*closed.captured, *[x for x, _ in traced]),
        [False] * len(closed.captured) + [is_batched for _, is_batched in traced],
    )
    given = iter(zip(map(operand, batches), flags, strict=True))
    return [(None, False) if z else next(given) for z in is_zero]


def _example(x: Any, is_batched: bool) -> Var:
    """A variable of the type of one example of a value."""
    kind = type_of(x)
    name = x.variable.name if isinstance(x, Tracer) else ""
    return Var(kind.with_shape(kind.shape[1:]) if is_batched else kind, name)


def all_batched(
    pairs: Sequence[tuple[Any, bool]], axis: Axis, wanted: Flags | None = None
) -> list[Any]:
    """The values, all of them batched; where flags say that one is not `wanted` so, the sum over
    the examples. None stays None."""
    full = [x if x is None else with_batch_axis(x, axis, is_batched) for x, is_batched in pairs]
    return [
        x if x is None or is_wanted else apply("reduce_sum", x, axes=(0,))
        for x, is_wanted in zip(full, wanted or [True] * len(full), strict=True)
    ]


def _batch_rule(
    name: str, param: str, batched_rule: Callable[[Any, Axis, tuple[bool, ...]], Any]
) -> Callable[..., tuple[list[Any], list[bool]]]:
    """The batching rule of a call: batch its graph, and the user's rule in the param of this
    name."""

    def rule(
        axis: Axis, batched: Flags, *operands: Any, graph: Graph, **params: Any
    ) -> tuple[list[Any], list[bool]]:
        params[param] = batched_rule(params[param], axis, tuple(batched))
        graph = batched_graph(graph, axis, batched)
        results = bind_call(TABLE[name], *operands, graph=graph, **params)
        return results, [True] * len(results)

    return rule


# ------------------------------------------------------------------------------------ custom_jvp


@dataclass(frozen=True, eq=False)
class BatchedJvp:
    """A user's JVP rule, applied to batches of the operands whose flag is set."""

    rule: JvpRule
    axis: Axis
    batched: tuple[bool, ...]

    def __call__(self, operands: Values, tangents: Values) -> tuple[list[Any], list[Any]]:
        """The results and tangents, all of them batched."""
        count = len(operands)

        def both(*values: Any) -> list[Any]:
            results, tangents_out = self.rule(values[:count], values[count:])
            return [*results, *tangents_out]

        pairs = spread_function(both, self.axis, (*operands, *tangents), self.batched * 2)
        everything = all_batched(pairs, self.axis)
        half = len(everything) // 2
        return everything[:half], everything[half:]

    @property
    def __name__(self) -> str:
        return name_of(self.rule)


def name_of(rule: Any) -> str:
    """The name of a rule, for the text of graphs."""
    return str(getattr(rule, "__name__", type(rule).__name__))


def _custom_jvp(
    tangents: Values, *operands: Any, jvp: JvpRule, **_: Any
) -> tuple[list[Any], list[Any]]:
    return jvp(operands, tangents)


custom_jvp_call = register(
    Primitive(
        "custom_jvp_call",
        "call",
        call_value,
        call_type,
        jvp=_custom_jvp,
        transpose=_pull,
        batch=_batch_rule("custom_jvp_call", "jvp", BatchedJvp),
        checked=call_checked("custom_jvp_call", with_jvp),
    )
)


# ------------------------------------------------------------------------------------ custom_vjp


@dataclass(frozen=True, eq=False)
class BatchedVjp:
    """A user's VJP rule, applied to batches of the operands whose flag is set."""

    rule: VjpRule
    axis: Axis
    batched: tuple[bool, ...]

    def forward(self, operands: Values, active: Flags) -> tuple[list[Any], list[Any], Backward]:
        """The results, all of them batched, residuals as they come, and the batched backward
        pass."""
        count = 0
        backward: Backward | None = None

        def results_and_residuals(*values: Any) -> list[Any]:
            nonlocal count, backward
            results, residuals, backward = self.rule.forward(values, active)
            count = len(results)
            return [*results, *residuals]

        pairs = spread_function(results_and_residuals, self.axis, operands, self.batched)
        assert backward is not None
        residuals = pairs[count:]
        flags = tuple(is_batched for _, is_batched in residuals)
        return (
            all_batched(pairs[:count], self.axis),
            [x for x, _ in residuals],
            BatchedBackward(backward, self.axis, flags, self.batched),
        )

    @property
    def __name__(self) -> str:
        return name_of(self.rule)


@dataclass(frozen=True, eq=False)
class BatchedBackward:
    """A user's backward pass, applied to batches of cotangents and of the flagged residuals; the
    flagged operands get batches of cotangents."""

    backward: Backward
    axis: Axis
    residuals: tuple[bool, ...]
    operands: tuple[bool, ...]

    def __call__(self, residuals: Values, cotangents: Values) -> list[Any]:
        """The cotangents; that of an operand which is not batched is the sum over examples."""
        count = len(residuals)
        pairs = spread_function(
            lambda *values: self.backward(values[:count], values[count:]),
            self.axis,
            (*residuals, *cotangents),
            (*self.residuals, *[True] * len(cotangents)),
        )
        return all_batched(pairs, self.axis, self.operands)

    @property
    def __name__(self) -> str:
        return name_of(self.backward)


def _custom_vjp(
    tangents: Values, *operands: Any, graph: Graph, vjp: VjpRule, **_: Any
) -> tuple[list[Any], list[Any]]:
    active = tuple(t is not None for t in tangents)
    results, residuals, backward = vjp.forward(operands, active)
    moving = bind_call(
        custom_vjp_linear,
        *residuals,
        *[t for t in tangents if t is not None],
        active=active,
        backward=backward,
        results=tuple(a.type.strong for a in graph.outputs),
    )
    given = iter(moving)
    return results, [next(given) if tangent_type(a.type) else None for a in graph.outputs]


custom_vjp_call = register(
    Primitive(
        "custom_vjp_call",
        "call",
        call_value,
        call_type,
        jvp=_custom_vjp,
        transpose=_pull,
        batch=_batch_rule("custom_vjp_call", "vjp", BatchedVjp),
        checked=call_checked("custom_vjp_call", with_vjp),
    )
)


def refuse_forward_mode(where: Source) -> NoReturn:
    """Raise the TypeError for a use of tangents of a custom_vjp function, which have no values."""
    raise TypeError(f"{where}: can't apply forward-mode autodiff (jvp) to a custom_vjp function.")


def _refuse(*_: Any, **__: Any) -> NoReturn:
    refuse_forward_mode(user_source())


def _linear_type(*_: ArrayType, results: tuple[ArrayType, ...], **__: Any) -> tuple[Any, ...]:
    return tuple(kind for kind in results if tangent_type(kind))


def _linear_transpose(
    cotangents: Values,
    *operands: Any,
    active: tuple[bool, ...],
    backward: Backward,
    results: tuple[ArrayType, ...],
) -> list[Any]:
    count = len(operands) - sum(active)
    given = iter(cotangents)
    of_results = [next(given) if tangent_type(kind) else None for kind in results]
    of_operands = backward(operands[:count], of_results)
    return [None] * count + [c for c, a in zip(of_operands, active, strict=True) if a]


# The tangents of a custom_vjp_call's results as a linear function of those of its active operands,
# given the residuals. It has no values: it exists to be transposed, by `backward`.
custom_vjp_linear = register(
    Primitive(
        "custom_vjp_linear",
        "call",
        _refuse,
        _linear_type,
        jvp=_refuse,
        transpose=_linear_transpose,
        batch=_refuse,
    )
)
