"""Materialise: a node for each value that is not inlined.

A node is `value[index] = expression` for these axes, or an accumulation of the expression over
further axes; the expression has all in it that is inlined. `transpile.fusion.loop_fusion` then
decides where a node's value lives: in a scalar, a row, or memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from transpile.errors import UnsupportedError
from transpile.fusion.elements import Values, is_unrolled, length_key
from transpile.fusion.index_lambda import (
    IndexLambda,
    products_of,
    reshape_of,
    result_of,
    running_terms_of,
    stored_of,
    terms_of,
    update_of,
    value_of,
)
from transpile.fusion.inlining.decisions import materialised
from transpile.fusion.nodes import (
    Block,
    Branch,
    CallBack,
    Choices,
    Compact,
    LibraryCall,
    Loop,
    LoopNode,
    Map,
    Measure,
    Node,
    Reduce,
    Region,
    Scan,
    Scatter,
)
from transpile.fusion.survey import Survey
from transpile.ir.graph import Const, Equation, has_effect
from transpile.ir.graph_rewrite import lengths_read
from transpile.ir.indices.lengths import room_of
from transpile.ir.loop_rewrite import loads_of
from transpile.machine import Machine
from transpile.primitives import axes as axis_primitives
from transpile.primitives import indexing
from transpile.primitives.control import primitives as control_primitives
from transpile.primitives.dot import dot_general
from transpile.primitives.lengths.primitives import measured
from transpile.util.frozen_records import replace


def materialise(survey: Survey, choices: Choices) -> Block:
    """The nodes of a graph that a result needs. Others are left where the readers have no elements,
    or read other pieces only."""
    scope = survey.scope
    values = replace(scope.values, materialised=materialised(survey, choices))
    nodes: list[Node] = []
    for number, equation in enumerate(scope.graph.equations):
        outputs = equation.outputs
        if scope.is_body and equation.primitive.kind == "requirement":
            raise UnsupportedError(
                f"{equation.source}: in the body of a loop or branch a program cannot end with the "
                f"error '{equation.params['text']}', for sizes, or lengths that depend on values, "
                "there. Declare which sizes there are, transpile.dims('n', 'n >= 6'); "
                "numpy.where(mask, x, other) keeps the shape of x, and reductions take where= and "
                "initial="
            )
        is_measured = equation.primitive is measured
        if scope.is_body and is_measured and room_of(equation.params["length"]) is not None:
            raise UnsupportedError(
                f"{equation.source}: in the body of a loop or branch a length needs a bound: "
                "make an array of the largest length, of which x[:n] is a part, or say how long "
                "the result is: transpile.numpy.repeat(..., total_repeat_length=n), "
                "numpy.bincount(x, minlength=n)"
            )
        is_value = any(v in values.materialised and v.type.size != 0 for v in outputs)
        if equation.primitive.kind != "requirement" and (is_value or has_effect(equation)):
            nodes.append(_node(survey, values, equation, f"{scope.prefix}e{number}"))
    results = tuple(
        value_of(values, atom, f"{scope.prefix}r{number}")
        for number, atom in enumerate(scope.graph.outputs if scope.is_condition else ())
    )
    return Block(scope, choices, values, _needed(values, survey, nodes, results), results)


def _needed(
    values: Values, survey: Survey, nodes: Sequence[Node], results: Sequence[IndexLambda]
) -> tuple[Node, ...]:
    """The nodes that a result needs."""
    keys = values.keys
    graph = survey.scope.graph
    wanted = {keys[atom] for atom in graph.outputs}
    requirements = (e for e in graph.equations if e.primitive.kind == "requirement")
    wanted.update(length_key(s) for e in requirements for s in lengths_read(e))
    for result in results:
        wanted.update(load.buffer for load in loads_of(*result.expressions))
    needed: list[Node] = []
    for node in reversed(nodes):
        is_wanted = any(keys[v] in wanted for v in node.results) or any(
            length_key(s) in wanted for s in node.counted
        )
        if is_wanted or has_effect(node.equation):
            needed.append(node)
            wanted |= node.reads.keys()
    needed.reverse()
    return tuple(needed)


def _node(survey: Survey, values: Values, equation: Equation, stem: str) -> Node:
    """The node of an equation, whose symbols begin with this stem."""
    call = survey.calls.get(equation)
    if call is not None:
        return LibraryCall(equation, call, tuple(values.keys[a] for a in call.reads.values()))
    match equation.primitive.kind:
        case "callback":
            named = enumerate(equation.inputs)
            operands = tuple(value_of(values, a, f"{stem}o{k}") for k, a in named)
            return CallBack(equation, operands)
        case "length" if equation.primitive is measured:
            return Measure(equation, value_of(values, equation.inputs[0], f"{stem}m"))
        case "length":
            elements = enumerate(equation.inputs)
            mask, *rest = (value_of(values, a, f"{stem}m{k}") for k, a in elements)
            return Compact(equation, mask, tuple(rest))
        case "control":
            return _region(survey, values, equation, stem)
        case _ if equation.primitive is indexing.scatter or equation.output in survey.updates:
            first = value_of(values, equation.inputs[0], f"{stem}x")
            then, tests = update_of(values, equation, stem)
            return Scatter(equation, first, then, tests, equation.params.get("combine", "set"))
        case _:
            return _loop_node(values, equation, stem, survey.scope.machine)


def _loop_node(values: Values, equation: Equation, stem: str, machine: Machine) -> LoopNode:
    primitive = equation.primitive
    if primitive is axis_primitives.reshape:
        return Map(equation, reshape_of(values, equation, stem))
    if is_unrolled(equation, machine):
        return Map(equation, result_of(values, equation, stem))
    if primitive.kind == "scan":
        (x,) = equation.inputs
        if x.type.shape[equation.params["axis"]] == 1:
            return Map(equation, value_of(values, x, stem))
        return Scan(equation, running_terms_of(values, equation, stem), primitive.combine)
    if primitive.kind == "reduce":
        terms, reduced = terms_of(values, equation, stem)
        return Reduce(equation, terms, primitive.combine, reduced)
    if primitive is dot_general:
        terms, reduced, combine = products_of(values, equation, stem)
        return Reduce(equation, terms, combine, reduced)
    return Map(equation, result_of(values, equation, stem))


def _region(survey: Survey, values: Values, equation: Equation, stem: str) -> Region:
    bodies, parts, fixed = (
        survey.scope.inner[equation],
        survey.parts[equation],
        survey.fixed[equation],
    )
    operands = bodies.operands
    # A constant that a body hands to a library is in memory, were it one number.
    in_memory = {atom for atom in fixed.wholes if isinstance(atom, Const)}
    read = {
        atom: (stored_of if atom in in_memory else value_of)(values, atom, f"{stem}f{number}")
        for number, atom in enumerate(fixed.operands)
    }
    bounds = tuple(
        value_of(values, atom, f"{stem}b{number}") for number, atom in enumerate(operands.bounds)
    )
    region = equation, parts, operands.consts, read, fixed.wholes
    if equation.primitive is control_primitives.cond:
        return Branch(*region, *bounds)
    initial = tuple(
        value_of(values, atom, f"{stem}c{number}") for number, atom in enumerate(operands.carry)
    )
    return Loop(
        *region,
        limits=bounds,
        carry=operands.carry,
        initial=initial,
        xs=operands.xs,
        symbol=bodies.symbol,
        where=bodies.where,
    )
