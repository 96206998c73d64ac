"""The order of passes: each has what it requires, by its contract and in programs."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from contracts import Evaluation, unmet
from golden_functions import FUNCTIONS
from graphs import random_graph, small_machine
from helpers import ordinary
from loop_graphs import random_loops
from thorough import one_in

import transpile
from transpile import lax, nn, random
from transpile.codegen.render import render
from transpile.ir.contracts import Property, Settled, contract, contract_of
from transpile.ir.contracts import graphs as of_graphs
from transpile.ir.contracts import loops as of_loops
from transpile.ir.graph import graphs_in
from transpile.lower.kernels import lower
from transpile.machine import USUAL
from transpile.options import Options
from transpile.passes import PASSES, optimise
from transpile.passes.barriers import remove_barriers
from transpile.passes.canonical_dots import canonicalize_dots
from transpile.passes.control.control_flow import simplify_control_flow
from transpile.passes.cse import eliminate_common_subexpressions
from transpile.passes.expand.decompose import decompose
from transpile.passes.half_precision import widen_halves
from transpile.passes.layouts.transposes import sink_transposes
from transpile.schedule import SCHEDULE
from transpile.schedule.cleanup.scalar_replacement import replace_with_scalars
from transpile.schedule.cleanup.stack_promotion import promote_to_stack
from transpile.schedule.domain.coalesce import coalesce
from transpile.schedule.domain.delinearize import delinearize
from transpile.schedule.domain.index_set_split import split_index_sets
from transpile.schedule.lanes.jam.columns import unroll_and_jam
from transpile.schedule.lanes.nan_flags import flag_nans
from transpile.schedule.memory_plan import plan_memory
from transpile.schedule.parallelize import parallelize_loops
from transpile.schedule.stack import move_arrays_off_stack
from transpile.schedule.vectorize import vectorize_loops

GRAPH_PASSES = [function for function, _ in PASSES]
LOOP_PASSES = [function for function, _ in SCHEDULE]
# The passes of each form, what is true before the first, and what has to be after the last.
ORDERS = {
    "graphs": (GRAPH_PASSES, (), contract_of(lower).requires),
    "loops": (LOOP_PASSES, contract_of(lower).provides, contract_of(render).requires),
}


def properties_in(module):
    return {p for p in vars(module).values() if isinstance(p, Property | Settled)}


PROPERTIES = {"graphs": properties_in(of_graphs), "loops": properties_in(of_loops)}


@pytest.mark.parametrize("form", ORDERS)
def test_the_order_of_passes_keeps_their_contracts(form):
    assert unmet(*ORDERS[form]) == []


@pytest.mark.parametrize("form", ORDERS)
def test_each_property_is_provided_and_required(form):
    passes, given, wanted = ORDERS[form]
    contracts = [contract_of(function) for function in passes]
    provided = {p for own in contracts for p in own.provides}
    required = {p for own in contracts for p in own.requires}
    assert provided.union(given) == required.union(wanted) == PROPERTIES[form]
    assert {p for p in PROPERTIES[form] if isinstance(p, Settled)} <= provided
    assert not any(set(own.provides).intersection(own.destroys) for own in contracts)


def moved(passes, later, earlier):
    """The passes, with one before another one that it follows."""
    order = [function for function in passes if function is not later]
    order.insert(order.index(earlier), later)
    assert order != passes
    return order


@pytest.mark.parametrize(
    ("form", "later", "earlier"),
    [
        ("graphs", decompose, widen_halves),
        ("graphs", decompose, simplify_control_flow),
        ("graphs", remove_barriers, eliminate_common_subexpressions),
        ("graphs", sink_transposes, remove_barriers),
        ("graphs", canonicalize_dots, sink_transposes),
        ("loops", delinearize, split_index_sets),
        ("loops", promote_to_stack, replace_with_scalars),
        ("loops", vectorize_loops, coalesce),
        ("loops", parallelize_loops, promote_to_stack),
        ("loops", unroll_and_jam, vectorize_loops),
        ("loops", unroll_and_jam, flag_nans),
        ("loops", move_arrays_off_stack, parallelize_loops),
        ("loops", plan_memory, move_arrays_off_stack),
    ],
)
def test_an_order_that_breaks_a_contract_is_noticed(form, later, earlier):
    passes, given, wanted = ORDERS[form]
    assert unmet(moved(passes, later, earlier), given, wanted)


@pytest.mark.parametrize("form", ORDERS)
def test_no_pass_with_requirements_can_be_the_first(form):
    """It is one that provides what another one requires, or its requirements are given."""
    passes, given, wanted = ORDERS[form]
    for function in passes[1:]:
        if not set(contract_of(function).requires) <= set(given):
            order = [function, *(other for other in passes if other is not function)]
            assert unmet(order, given, wanted), function


# ------------------------------------------------------------------------------- in programs


def in_halves(x):
    return (x * 2 + 1).sum(axis=0)


def checkpointed(x):
    return transpile.grad(lambda x: transpile.checkpoint(lambda y: np.sin(np.sin(y)))(x).sum())(x)


def drawn_normals(key):
    return random.normal(key, (5000,))


def layers(x, w):
    return nn.relu(np.einsum("bik,jk->jbi", x, w)).transpose(1, 2, 0) @ w


def triangle(x, y):
    return np.where(np.tri(40, dtype=bool), x * 2, y.T)


def products_in_loop(x):
    return lax.fori_loop(0, 3, lambda i, c: c @ c.T + np.argmax(c, axis=0), x)


def branches(x):
    return lax.cond(x.sum() > 0, lambda x: transpile.jit(np.tanh)(x), lambda x: x, x)


X = ordinary("f8", (40, 40))
WRITTEN = {
    "halves": (in_halves, (X.astype("f2"),)),
    "checkpointed": (checkpointed, (X[0],)),
    "normals": (drawn_normals, (np.array([0, 7], "u4"),)),
    "layers": (layers, (ordinary("f8", (6, 20, 30)), ordinary("f8", (30, 30)))),
    "triangle": (triangle, (X, X)),
    "loop": (products_in_loop, (X,)),
    "branches": (branches, (X[0],)),
    "extremes": (lambda x: (x.max(), x.max(axis=0), x.min(axis=0)), (ordinary("f8", (600, 40)),)),
    "angles": (lambda x: np.sin(x) * np.cos(x), (ordinary("f8", (600,)),)),
}


@pytest.fixture(scope="module")
def programs():
    """Names, traced graphs, and options to compile them with."""
    return list(every_program())


def every_program():
    golden = {f.__name__: (f, arguments) for f, arguments in FUNCTIONS.items()}
    for name, (f, args) in (WRITTEN | golden).items():
        yield name, transpile.jit(f).trace(*args)._graph, Options()
    for seed in range(60):
        options = Options(machine=small_machine(seed))
        yield f"graph {seed}", random_graph(seed)[0], options
        if seed % 2:
            yield f"loops {seed}", random_loops(Random(seed))[0], options


@pytest.fixture(scope="module")
def evaluations(programs):
    """The properties of all programs after all passes, and what the last ones give."""
    graphs = Evaluation(GRAPH_PASSES, PROPERTIES["graphs"])
    loops = Evaluation(LOOP_PASSES, PROPERTIES["loops"])
    for name, graph, options in programs:
        graphs.run(name, graph, options.machine)
        donated = tuple(range(len(graph.inputs)))
        program = lower(optimise(graph, options.machine), donated, options.machine)
        loops.run(name, program, options)
    return {"graphs": graphs, "loops": loops}


@pytest.mark.parametrize("form", ORDERS)
@one_in(2)
def test_programs_have_what_passes_say(evaluations, form):
    assert evaluations[form].complaints == []


@pytest.mark.parametrize("form", ORDERS)
def test_no_property_is_one_of_every_program(evaluations, form):
    assert evaluations[form].lacking == PROPERTIES[form]


def regions(graph):
    """A graph, and all graphs inside of it."""
    yield graph
    for equation in graph.equations:
        for inner in graphs_in(equation):
            yield from regions(inner)


def test_lowering_has_what_it_requires_in_regions_too(programs):
    wanted = contract_of(lower).requires
    seen = 0
    for name, graph, options in programs:
        _, *inner = regions(optimise(graph, options.machine))
        missing = [(name, p) for g in inner for p in wanted if not p.holds(g, options.machine)]
        assert missing == []
        seen += len(inner)
    assert seen > 20


def evaluated(form, passes, f, *args):
    """The complaints about a program after passes in another order."""
    evaluation = Evaluation(passes, PROPERTIES[form])
    graph = transpile.jit(f).trace(*args)._graph
    if form == "graphs":
        evaluation.run("f", graph, USUAL)
    else:
        evaluation.run("f", lower(optimise(graph)), Options())
    return evaluation.complaints


def test_programs_show_an_order_that_breaks_a_contract():
    order = moved(LOOP_PASSES, vectorize_loops, coalesce)
    (complaint, *_) = evaluated("loops", order, np.sin, X)
    assert complaint == "coalesce requires: no loop is in lanes (f)"
    order = moved(GRAPH_PASSES, remove_barriers, eliminate_common_subexpressions)
    complaints = evaluated("graphs", order, lambda x: (np.sin(x) + x, np.sin(x) * x), X)
    assert "remove_barriers requires: no two equations are equal (f)" in complaints


def test_a_pass_without_a_contract_is_named():
    def round_once(graph, machine):
        return graph

    with pytest.raises(TypeError, match="round_once is no pass: it has no @contract"):
        unmet([round_once])


def test_programs_show_a_contract_that_says_too_little():
    @contract()
    def vectorize(program, options):
        return vectorize_loops(program, options)

    order = [vectorize if f is vectorize_loops else f for f in LOOP_PASSES]
    evaluation = Evaluation([*order], PROPERTIES["loops"] - {of_loops.LANES_BOUND})
    evaluation.run("f", lower(optimise(transpile.jit(np.sin).trace(X)._graph)), Options())
    assert "vectorize preserves: no loop is in lanes (f)" in evaluation.complaints
