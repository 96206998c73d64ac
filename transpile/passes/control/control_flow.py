"""Simplify loops and branches: remove invariant carries, propagate constants into bodies, hoist
loop-invariant code, inline what runs exactly once, and if-convert cheap branches.

Innermost regions first. A carry that every iteration returns unchanged becomes an operand of the
body; equations that depend on such operands alone, if storing their results pays, move before the
loop (loop-invariant code motion). Loops of at most one iteration and branches with a constant index
disappear; a branch between cheap scalars becomes a select, which fusion can read through.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import repeat

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_CALLS, OF_EQUATIONS
from transpile.ir.graph import Atom, Const, Equation, Graph, Var, calls_python
from transpile.ir.graph_rewrite import Builder, counts_of, live_equations, reads_any, rewrite
from transpile.ir.types import BOOL
from transpile.machine import USUAL, Machine
from transpile.passes.control.inline_calls import inline
from transpile.primitives import axes, elementwise
from transpile.primitives.control import primitives
from transpile.primitives.control.graphs import chosen, others
from transpile.primitives.control.operands import (
    Operands,
    graphs_of,
    inputs_of,
    operands_of,
    rebuilt,
)
from transpile.primitives.indexing import CLIP, gather
from transpile.util.frozen_records import replace

# What C compilers make of it: a multiplication and a shift, on every machine.
_CONSTANT_DIVISOR_WEIGHT = 2
Vars = frozenset[Var]
_EXPRESSION = ("elementwise", "view", "generate", "piecewise")


# What is inlined or moved out of a body is neither expanded nor canonical.
@contract(requires=(NO_CALLS,), destroys=OF_EQUATIONS)
def simplify_control_flow(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Simplify the loops and branches of a graph and of its regions, innermost first."""
    return _simplified(graph, machine, frozenset())


def _simplified(graph: Graph, machine: Machine, near: Vars) -> Graph:
    """The graph of a branch, with the inputs of which elements are read beside it in any case, and
    those that are computed of elements."""
    if not any(primitive.kind == "control" for primitive in graph.primitives):
        return graph
    return rewrite(graph, partial(_rule, near, _kept_tests(graph, machine)), machine)


def _kept_tests(graph: Graph, machine: Machine) -> Vars:
    """The tests of branches that stay: `if a[i] > 0 and b[j] > 0:` need not read `b[j]` where the
    first is false."""
    kept: set[Var] = set()
    for equation in graph.equations:
        test = equation.inputs[0] if equation.primitive is primitives.cond else None
        if isinstance(test, Var) and test.type.dtype == BOOL:
            branches = equation.params["branches"]
            kept.update([] if _is_cheap(branches, machine) else [test])
    return frozenset(kept)


def _rule(near: Vars, kept: Vars, builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    if equation.primitive.kind != "control":
        return None
    graphs = graphs_of(equation)
    if equation.primitive is primitives.cond:
        test, *operands = equation.inputs
        known = _read_in_any_case(builder, near)
        # A test of counters alone is one that loops are split at.
        is_open = isinstance(test, Var) and test in known and kept.isdisjoint(equation.outputs)
        numbers = [k for k, a in enumerate(operands) if is_open and a in known]
        held = [frozenset(g.inputs[k] for k in numbers) for g in graphs]
        graphs = tuple(map(_simplified, graphs, repeat(builder.machine), held))
        equation = rebuilt(equation, operands_of(equation), graphs, equation.outputs)
        return _simplify_branch(builder, equation, held)
    graphs = tuple(simplify_control_flow(g, builder.machine) for g in graphs)
    equation = rebuilt(equation, operands_of(equation), graphs, equation.outputs)
    if equation.params.get("length") == 0:
        return _replace_empty_loop(builder, equation)
    if equation.params.get("length") == 1:
        return _inline_single_iteration(builder, equation)
    return _simplify_loop(builder, equation)


# ---------------------------------------------------------------------------------- branches


def _read_in_any_case(builder: Builder, near: Vars) -> Vars:
    """The arrays of which elements are read before a branch: those beside them are near; and what
    is computed of elements. `near` are those of the inputs."""
    known = set(near)
    for equation in builder.equations:
        if _reads_an_element(equation):
            known.update(x for x in equation.inputs[:1] if isinstance(x, Var))
        if not known.isdisjoint(equation.inputs):
            known.update(equation.outputs)
    return frozenset(known)


def _reads_an_element(equation: Equation) -> bool:
    is_clipped = equation.primitive is gather and equation.params["mode"] == CLIP
    return is_clipped and not equation.output.type.shape


def _simplify_branch(
    builder: Builder, equation: Equation, near: Sequence[Vars]
) -> Sequence[Atom] | None:
    index, *operands = equation.inputs
    branches: tuple[Graph, ...] = equation.params["branches"]
    if len(branches) == 1 or isinstance(index, Const):
        chosen = int(index.value) if isinstance(index, Const) else 0
        return inline(builder, branches[min(max(chosen, 0), len(branches) - 1)], operands)
    if index.type.dtype == BOOL and _is_cheap(branches, builder.machine, near):
        otherwise, then = (inline(builder, b, operands) for b in branches)
        choice = _select if _is_cheap(branches, builder.machine) else _in_lanes
        return [
            choice(builder, index, x, y)
            for x, y in zip(map(builder.read, then), map(builder.read, otherwise), strict=True)
        ]
    builder.add(equation)
    return equation.outputs


def _select(builder: Builder, test: Atom, x: Atom, y: Atom) -> Atom:
    return builder.apply(elementwise.select, test, x, y)


def _in_lanes(builder: Builder, test: Atom, x: Atom, y: Atom) -> Atom:
    """A choice that reads both elements: Python's `test or y` and `test and x` as operations on
    truths. Of a choice C reads one element, in a branch."""
    if x == test:
        return builder.apply(elementwise.logical_or, test, y)
    if y == test:
        return builder.apply(elementwise.logical_and, test, x)
    return _select(builder, test, x, y)


def _is_cheap(
    branches: Sequence[Graph], machine: Machine, near: Iterable[Vars] = repeat(frozenset())
) -> bool:
    """True where computing both of two branches costs less than a branch that is not predicted."""
    cost = sum(map(_cost_of_scalars, branches, near))
    return cost <= machine.cheap_branches and _choices(branches) <= machine.most_choices


def _choices(branches: Sequence[Graph]) -> int:
    """How many results of two branches are not one and the same operand."""
    one, other = ([g.inputs.index(a) if a in g.inputs else a for a in g.outputs] for g in branches)
    pairs = zip(one, other, strict=True)
    return sum(not (isinstance(x, int) and x == y) for x, y in pairs)


def _cost_of_scalars(graph: Graph, near: Vars) -> float:
    """The cost of a graph of scalar expressions; infinite where it has loops, or arrays of which it
    reads more than elements beside those that are read in any case. Subscripts cost nothing: most
    are known not to be negative later."""
    total = 0.0
    wanted: set[Atom] = set(graph.outputs)
    for equation in reversed(graph.equations):
        is_near = _reads_an_element(equation) and equation.inputs[0] in near
        is_expression = is_near or equation.primitive.kind in _EXPRESSION
        if not is_expression or any(v.type.shape for v in equation.outputs):
            return float("inf")
        if not wanted.isdisjoint(equation.outputs):
            total += 1 if is_near else _weight_of_scalars(equation)
            wanted.update(equation.inputs[: 1 if is_near else None])
    return total if not any(a.type.shape for a in graph.outputs) else float("inf")


def _weight_of_scalars(equation: Equation) -> int:
    """The weight of an equation; C compilers strength-reduce division by a constant integer."""
    primitive, last = equation.primitive, equation.inputs[-1] if equation.inputs else None
    is_constant = isinstance(last, Const) and last.type.dtype.kind in "iu"
    return min(primitive.weight, _CONSTANT_DIVISOR_WEIGHT) if is_constant else primitive.weight


# ------------------------------------------------------------------------ loops of trip count 0, 1


def _replace_empty_loop(builder: Builder, equation: Equation) -> Sequence[Atom]:
    operands = operands_of(equation)
    empty = equation.outputs[len(operands.carry) :]
    return [*operands.carry, *[_zeros(builder, v) for v in empty]]


def _zeros(builder: Builder, var: Var) -> Atom:
    zero = Const(var.type.dtype.type(0))
    return builder.apply(axes.broadcast_in_dim, zero, shape=var.type.shape, broadcast_dimensions=())


def _inline_single_iteration(builder: Builder, equation: Equation) -> Sequence[Atom]:
    operands = operands_of(equation)
    slices = [builder.apply(axes.reshape, x, shape=x.type.shape[1:]) for x in operands.xs]
    results = inline(
        builder, equation.params["graph"], [*operands.consts, *operands.carry, *slices]
    )
    count = len(operands.carry)
    ys = [builder.apply(axes.reshape, y, shape=(1, *y.type.shape)) for y in results[count:]]
    return [*results[:count], *ys]


# ------------------------------------------------------------------------------------------ loops


def _simplify_loop(builder: Builder, equation: Equation) -> Sequence[Atom]:
    equation, forwarded = _without_invariant_carries(equation)
    equation = _with_propagated_constants(equation)
    for number in range(len(graphs_of(equation))):
        equation = _with_hoisted_invariants(builder, equation, number)
    builder.add(equation)
    results = iter(equation.outputs)
    return [atom if atom is not None else next(results) for atom in forwarded]


def _without_invariant_carries(equation: Equation) -> tuple[Equation, list[Atom | None]]:
    """The loop with its invariant carries as consts; and for each result the operand that it
    equals, or None."""
    operands, graphs = operands_of(equation), graphs_of(equation)
    before = inputs_of(equation, graphs[-1]).carry
    invariant = [graphs[-1].outputs[k] is v for k, v in enumerate(before)]
    forwarded: list[Atom | None] = [
        atom if is_invariant else None
        for atom, is_invariant in zip(operands.carry, invariant, strict=True)
    ]
    forwarded += [None] * (len(equation.outputs) - len(forwarded))
    if not any(invariant):
        return equation, forwarded
    reordered = []
    for number, graph in enumerate(graphs):
        inputs = inputs_of(equation, graph)
        ordered = (
            *inputs.counter,
            *inputs.consts,
            *chosen(inputs.carry, invariant),
            *others(inputs.carry, invariant),
            *inputs.xs,
        )
        outputs = graph.outputs
        if number == len(graphs) - 1:
            count = len(invariant)
            outputs = (*others(outputs[:count], invariant), *outputs[count:])
        reordered.append(replace(graph, inputs=ordered, outputs=outputs))
    changed = Operands(
        operands.bounds,
        (*operands.consts, *chosen(operands.carry, invariant)),
        tuple(others(operands.carry, invariant)),
        operands.xs,
    )
    left = [v for v, atom in zip(equation.outputs, forwarded, strict=True) if atom is None]
    return rebuilt(equation, changed, reordered, left), forwarded


def _with_propagated_constants(equation: Equation) -> Equation:
    """The loop with scalar constants substituted into its graphs, and no operand twice."""
    operands, graphs = operands_of(equation), graphs_of(equation)
    first: dict[Atom, int] = {}
    kept = []
    for k, atom in enumerate(operands.consts):
        is_number = isinstance(atom, Const) and atom.is_scalar
        if not is_number and first.setdefault(atom, k) == k:
            kept.append(k)
    if len(kept) == len(operands.consts):
        return equation
    changed = []
    for graph in graphs:
        inputs = inputs_of(equation, graph)
        values: dict[Var, Atom] = {}
        for var, atom in zip(inputs.consts, operands.consts, strict=True):
            if isinstance(atom, Const) and atom.is_scalar:
                values[var] = atom
            elif inputs.consts[first[atom]] is not var:
                values[var] = inputs.consts[first[atom]]
        left = [inputs.consts[k] for k in kept]
        ordered = (*inputs.counter, *left, *inputs.carry, *inputs.xs)
        changed.append(_substituted(replace(graph, inputs=ordered), values))
    consts = tuple(operands.consts[k] for k in kept)
    return rebuilt(equation, replace(operands, consts=consts), changed, equation.outputs)


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


def _with_hoisted_invariants(builder: Builder, equation: Equation, number: int) -> Equation:
    """The loop with profitable invariant equations of one of its graphs moved before it."""
    operands, graphs = operands_of(equation), list(graphs_of(equation))
    graph = graphs[number]
    inputs = inputs_of(equation, graph)
    wanted = _profitable_invariants(graph, inputs.consts, builder.machine.cheap_weight)
    if not wanted:
        return equation
    values: dict[Var, Atom] = dict(zip(inputs.consts, operands.consts, strict=True))
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
    consts = (*operands.consts, *[values[v] for v in wanted])
    return rebuilt(equation, replace(operands, consts=consts), graphs, equation.outputs)


def _profitable_invariants(graph: Graph, consts: Sequence[Var], cheap: int) -> list[Var]:
    """The values that depend on consts alone, that variant code reads, and that cost more to
    rematerialise in each iteration than to load."""
    invariant: set[Atom] = set(consts)
    counted = counts_of(graph.equations)  # in each iteration
    costs: dict[Atom, float] = {}
    read: dict[Var, bool] = {}
    for equation in graph.equations:
        is_whole = equation.primitive.kind not in (*_EXPRESSION, "reduce")
        variables = [a for a in equation.inputs if isinstance(a, Var)]
        if (
            all(a in invariant for a in variables)
            and variables
            and equation.primitive is not primitives.while_
            and not calls_python(equation)
            and not reads_any(equation, counted)
        ):
            invariant.update(equation.outputs)
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
    """The cost of an element: views are free, what is no expression of one element is infinite."""
    primitive = equation.primitive
    if primitive.kind in ("view", "generate"):
        return 0
    return max(primitive.weight, 1) if primitive.kind in _EXPRESSION else float("inf")
