"""Loops and branches become as small as they can be.

What an iteration hands on unchanged is no carry; what it computes from that alone is computed
once, before the loop. A loop of one iteration is none, nor is a branch whose choice is known; and a
choice between numbers that cost next to nothing computes them all.
"""

from __future__ import annotations

from collections.abc import Sequence

from transpile.ir.graph import Atom, Const, Equation, Graph, Var, has_effect, live_equations
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.ir.types import BOOL
from transpile.machine import USUAL, Machine
from transpile.passes.inline_calls import inlined
from transpile.primitives import axes, elementwise
from transpile.primitives.control import rows as rows
from transpile.primitives.control.graphs import chosen, others
from transpile.primitives.control.operands import (
    Operands,
    graphs_of,
    inputs_of,
    operands_of,
    rebuilt,
)
from transpile.util.frozen_records import replace

_KNOWN_DIVISOR = 2
_INLINE = ("elementwise", "view", "generate", "piecewise")


def loops(graph: Graph, machine: Machine = USUAL) -> Graph:
    """The graph with its loops and branches reduced, the innermost first."""
    if not any(row.kind == "control" for row in graph.primitives):
        return graph
    return rewrite(graph, _rule, machine)


def _rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    if equation.primitive.kind != "control":
        return None
    graphs = [loops(g, builder.machine) for g in graphs_of(equation)]
    equation = rebuilt(equation, operands_of(equation), graphs, equation.outputs)
    if equation.primitive is rows.cond:
        return _branch(builder, equation)
    if equation.params.get("length") == 0:
        return _never(builder, equation)
    if equation.params.get("length") == 1:
        return _once(builder, equation)
    return _loop(builder, equation)


# ---------------------------------------------------------------------------------- branches


def _branch(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    index, *operands = equation.inputs
    branches: tuple[Graph, ...] = equation.params["branches"]
    if len(branches) == 1 or isinstance(index, Const):
        chosen = int(index.value) if isinstance(index, Const) else 0
        return inlined(builder, branches[min(max(chosen, 0), len(branches) - 1)], operands)
    if (
        index.type.dtype == BOOL
        and sum(map(_cost_of_numbers, branches)) <= builder.machine.cheap_branches
    ):
        otherwise, then = (inlined(builder, b, operands) for b in branches)
        return [
            builder.apply(elementwise.select, index, x, y)
            for x, y in zip(map(builder.read, then), map(builder.read, otherwise), strict=True)
        ]
    builder.add(equation)
    return equation.outputs


def _cost_of_numbers(graph: Graph) -> float:
    """What a graph of numbers costs; infinite where there are arrays, or loops."""
    total = 0.0
    for equation in graph.equations:
        if equation.primitive.kind not in _INLINE or any(v.type.shape for v in equation.outputs):
            return float("inf")
        total += _weight_of_numbers(equation)
    return total if not any(a.type.shape for a in graph.outputs) else float("inf")


def _weight_of_numbers(equation: Equation) -> int:
    """Compilers multiply by the reciprocal, or shift, where an integer divisor is known."""
    primitive, last = equation.primitive, equation.inputs[-1] if equation.inputs else None
    is_known = isinstance(last, Const) and last.type.dtype.kind in "iu"
    return min(primitive.weight, _KNOWN_DIVISOR) if is_known else primitive.weight


# ------------------------------------------------------------------------------ loops of few turns


def _never(builder: Builder, equation: Equation) -> Sequence[Atom]:
    given = operands_of(equation)
    empty = equation.outputs[len(given.carry) :]
    return [*given.carry, *[_zeros(builder, v) for v in empty]]


def _zeros(builder: Builder, var: Var) -> Atom:
    zero = Const(var.type.dtype.type(0))
    return builder.apply(axes.broadcast_in_dim, zero, shape=var.type.shape, broadcast_dimensions=())


def _once(builder: Builder, equation: Equation) -> Sequence[Atom]:
    given = operands_of(equation)
    slices = [builder.apply(axes.reshape, x, shape=x.type.shape[1:]) for x in given.xs]
    found = inlined(builder, equation.params["graph"], [*given.consts, *given.carry, *slices])
    count = len(given.carry)
    ys = [builder.apply(axes.reshape, y, shape=(1, *y.type.shape)) for y in found[count:]]
    return [*found[:count], *ys]


# ------------------------------------------------------------------------------------------ loops


def _loop(builder: Builder, equation: Equation) -> Sequence[Atom]:
    equation, constant = _without_constant_carry(equation)
    equation = _with_known_consts(equation)
    for number in range(len(graphs_of(equation))):
        equation = _with_hoisted(builder, equation, number)
    builder.add(equation)
    found = iter(equation.outputs)
    return [atom if atom is not None else next(found) for atom in constant]


def _without_constant_carry(equation: Equation) -> tuple[Equation, list[Atom | None]]:
    """The loop with what no iteration changes among the consts; and for each result the operand
    that it is, if it is one."""
    given, graphs = operands_of(equation), graphs_of(equation)
    before = inputs_of(equation, graphs[-1]).carry
    fixed = [graphs[-1].outputs[k] is v for k, v in enumerate(before)]
    constant: list[Atom | None] = [
        atom if is_fixed else None for atom, is_fixed in zip(given.carry, fixed, strict=True)
    ]
    constant += [None] * (len(equation.outputs) - len(constant))
    if not any(fixed):
        return equation, constant
    moved = []
    for number, graph in enumerate(graphs):
        inputs = inputs_of(equation, graph)
        ordered = (
            *inputs.counter,
            *inputs.consts,
            *chosen(inputs.carry, fixed),
            *others(inputs.carry, fixed),
            *inputs.xs,
        )
        outputs = graph.outputs
        if number == len(graphs) - 1:
            count = len(fixed)
            outputs = (*others(outputs[:count], fixed), *outputs[count:])
        moved.append(replace(graph, inputs=ordered, outputs=outputs))
    changed = Operands(
        given.bounds,
        (*given.consts, *chosen(given.carry, fixed)),
        tuple(others(given.carry, fixed)),
        given.xs,
    )
    left = [v for v, atom in zip(equation.outputs, constant, strict=True) if atom is None]
    return rebuilt(equation, changed, moved, left), constant


def _with_known_consts(equation: Equation) -> Equation:
    """The loop with numbers that are known written into its graphs, and no operand twice."""
    given, graphs = operands_of(equation), graphs_of(equation)
    first: dict[Atom, int] = {}
    kept = []
    for k, atom in enumerate(given.consts):
        is_number = isinstance(atom, Const) and atom.is_scalar
        if not is_number and first.setdefault(atom, k) == k:
            kept.append(k)
    if len(kept) == len(given.consts):
        return equation
    changed = []
    for graph in graphs:
        inputs = inputs_of(equation, graph)
        values: dict[Var, Atom] = {}
        for var, atom in zip(inputs.consts, given.consts, strict=True):
            if isinstance(atom, Const) and atom.is_scalar:
                values[var] = atom
            elif inputs.consts[first[atom]] is not var:
                values[var] = inputs.consts[first[atom]]
        left = [inputs.consts[k] for k in kept]
        ordered = (*inputs.counter, *left, *inputs.carry, *inputs.xs)
        changed.append(_substituted(replace(graph, inputs=ordered), values))
    consts = tuple(given.consts[k] for k in kept)
    return rebuilt(equation, replace(given, consts=consts), changed, equation.outputs)


def _substituted(graph: Graph, values: dict[Var, Atom]) -> Graph:
    def atom(a: Atom) -> Atom:
        return values.get(a, a) if isinstance(a, Var) else a

    equations = tuple(
        e
        if not any(a in values for a in e.inputs if isinstance(a, Var))
        else replace(e, inputs=tuple(map(atom, e.inputs)))
        for e in graph.equations
    )
    return replace(graph, equations=equations, outputs=tuple(map(atom, graph.outputs)))


def _with_hoisted(builder: Builder, equation: Equation, number: int) -> Equation:
    """The loop with what one of its graphs computes of the consts alone computed before it."""
    given, graphs = operands_of(equation), list(graphs_of(equation))
    graph = graphs[number]
    inputs = inputs_of(equation, graph)
    wanted = _worth_hoisting(graph, inputs.consts, builder.machine.cheap_weight)
    if not wanted:
        return equation
    values: dict[Var, Atom] = dict(zip(inputs.consts, given.consts, strict=True))
    for part in live_equations(graph.equations, wanted, effects=False):
        outputs = tuple(Var(v.type, v.name) for v in part.outputs)
        read = tuple(values.get(a, a) if isinstance(a, Var) else a for a in part.inputs)
        builder.add(replace(part, inputs=read, outputs=outputs))
        values.update(zip(part.outputs, outputs, strict=True))
    for k, other in enumerate(graphs):
        own = inputs_of(equation, other)
        fresh = [Var(v.type.strong, v.name) for v in wanted]
        ordered = (*own.counter, *own.consts, *fresh, *own.carry, *own.xs)
        graphs[k] = replace(other, inputs=ordered)
        if k == number:
            changed = _substituted(graphs[k], dict(zip(wanted, fresh, strict=True)))
            left = live_equations(changed.equations, changed.outputs)
            graphs[k] = replace(changed, equations=left)
    consts = (*given.consts, *[values[v] for v in wanted])
    return rebuilt(equation, replace(given, consts=consts), graphs, equation.outputs)


def _worth_hoisting(graph: Graph, consts: Sequence[Var], cheap: int) -> list[Var]:
    """The values that depend on consts alone, that something else reads, and that are not as
    cheap to compute again as to read."""
    fixed: set[Atom] = set(consts)
    costs: dict[Atom, float] = {}
    read: dict[Var, bool] = {}
    for equation in graph.equations:
        is_whole = equation.primitive.kind not in (*_INLINE, "reduce")
        variables = [a for a in equation.inputs if isinstance(a, Var)]
        if (
            all(a in fixed for a in variables)
            and variables
            and equation.primitive is not rows.while_
            and not has_effect(equation)
        ):
            fixed.update(equation.outputs)
            cost = sum(costs.get(a, 0) for a in equation.inputs) + _cost(equation)
            costs.update(dict.fromkeys(equation.outputs, cost))
            continue
        for a in variables:
            if a in costs:
                read[a] = read.get(a, False) or is_whole
    return [
        a
        for a, is_whole in read.items()
        if costs[a] and (costs[a] > cheap or is_whole or not a.type.shape)
    ]


def _cost(equation: Equation) -> float:
    """What an element costs; views cost nothing, and what is no single expression much."""
    row = equation.primitive
    if row.kind in ("view", "generate"):
        return 0
    return max(row.weight, 1) if row.kind in _INLINE else float("inf")
