"""Inlining: what has to be in memory is materialised, and choices are kept to."""

from random import Random

import numpy as np
import pytest
from graphs import random_graph, small_machine
from helpers import trace_to_graph
from thorough import one_in

import transpile
from transpile.fusion.elements import is_by_elements
from transpile.fusion.inlining.decisions import materialised
from transpile.fusion.materialize import materialise
from transpile.fusion.nodes import Choices
from transpile.fusion.rematerialize import loops_of_graph
from transpile.fusion.scopes import scope_of
from transpile.fusion.survey import survey
from transpile.ir.graph import Var
from transpile.ir.loop_rewrite import subexpressions
from transpile.machine import USUAL
from transpile.passes import optimise

SEEDS = range(0, 300, 9)


def drawn(seed):
    machine = small_machine(seed)
    graph, _ = random_graph(seed)
    return survey(scope_of(optimise(graph, machine), machine), {})


def producers(known):
    return known.scope.values.producers


@pytest.mark.parametrize("seed", SEEDS)
def test_results_and_what_is_no_expression_and_operands_of_calls_are_in_memory(seed):
    known = drawn(seed)
    chosen = materialised(known, Choices())
    outputs = {v for v in known.scope.graph.outputs if v in producers(known)}
    operands = {a for plan in known.calls.values() for a in plan.reads.values()}
    whole = {v for v, e in producers(known).items() if not is_by_elements(e, known.scope.machine)}
    assert outputs | whole | {a for a in operands if a in producers(known)} <= chosen


@pytest.mark.parametrize("seed", SEEDS)
def test_a_value_that_has_memory_for_a_reason_of_its_own_is_not_inlined_by_a_choice(seed):
    known = drawn(seed)
    plain = materialised(known, Choices())
    random = Random(seed)
    values = sorted(producers(known), key=known.scope.values.keys.__getitem__)
    picked = frozenset(v for v in values if random.random() < 0.3)
    assert picked <= materialised(known, Choices(kept=picked))
    inlined = materialised(known, Choices(inlined=picked))
    must = {v for v in plain if v in inlined & picked}
    for var in must:
        equation = producers(known)[var]
        operands = [a for plan in known.calls.values() for a in plan.reads.values()]
        assert (
            var in known.scope.graph.outputs
            or var in known.tangled
            or var in known.updates
            or var in operands
            or not is_by_elements(equation, known.scope.machine)
        )


def test_what_windows_take_again_and_again_is_stored_however_cheap_it_is():
    def stored(f, *args):
        return {e.primitive.name for e in nodes_of(f, *args)}

    def nodes_of(f, *args):
        block = loops_of_graph(optimise(trace_to_graph(f, *args), USUAL)).block
        return [block.values.producers[v] for v in block.values.materialised]

    k, z = np.add.outer(np.arange(50), np.arange(12)), np.arange(12) * 1j
    assert "multiply" in stored(lambda x: np.sum((x * 2)[k], axis=1), np.ones(61))
    assert "multiply" not in stored(lambda x: np.sum((x * 2)[k[:4]], axis=1), np.ones(61))
    assert "real" in stored(lambda x, z: x + z.real, np.ones((50, 12)), z)
    assert "real" not in stored(lambda x, z: x + z.real, np.ones((5, 12)), z)


SLICED = {
    "columns": (lambda x: x[:, :5].ravel()[1:], True),
    "columns of a plane": (lambda x: x.reshape(3, 2, 8)[:, 1:].ravel()[1:], True),
    "rows apart": (lambda x: x[::2].ravel()[1:], True),
    "parts of a transpose": (lambda x: x.T.ravel()[1:] - x.T.ravel()[:-1], True),
    "parts of three axes": (lambda x: np.diff(x.reshape(3, 2, 8).T.ravel()), True),
    "a part of a transpose": (lambda x: x.T.ravel()[1:], False),
    "rows of a transpose": (lambda x: np.diff(x.T.ravel().reshape(8, 6), axis=0), False),
    "all of it": (lambda x: x[:, :5].ravel(), False),
    "little of it": (lambda x: x[:, :5].ravel()[::3], False),
    "rows": (lambda x: x[1:].ravel()[1:], False),
    "every second, without a gap": (lambda x: x[:, ::2].ravel()[1:], False),
    "columns apart": (lambda x: x[:, :6].reshape(6, 2, 3)[:, 1:], False),
    "columns of one row": (lambda x: x[:1, :5].ravel()[1:], False),
}


@pytest.mark.parametrize("name", SLICED)
@one_in(3)
def test_what_is_merged_across_gaps_is_stored_where_parts_of_it_are_read(name):
    f, is_stored = SLICED[name]
    x = np.arange(48.0).reshape(6, 8)
    block = loops_of_graph(optimise(trace_to_graph(lambda x: f(x) + 1, x), USUAL)).block
    stored = {block.values.producers[v].primitive.name for v in block.values.materialised}
    assert stored == ({"reshape", "add"} if is_stored else {"add"})
    np.testing.assert_array_equal(transpile.jit(f)(x), f(x))


@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_read_materialised_values_and_inputs_only(seed):
    known = drawn(seed)
    block = materialise(known, Choices())
    for node in block.nodes:
        for key in node.reads:
            atom = block.values.atoms[key]
            assert not (isinstance(atom, Var) and block.values.is_inlined(atom))


@pytest.mark.parametrize("seed", SEEDS)
def test_symbols_of_different_lambdas_differ(seed):
    block = materialise(drawn(seed), Choices())
    lambdas = [value for node in block.nodes for value in node.lambdas]
    symbols = [s for value in lambdas for s in (*value.order, *value.bound)]
    assert len(symbols) == len(set(symbols))
    assert all(list(subexpressions(e)) for value in lambdas for e in value.expressions)


def test_arithmetic_on_subscripts_is_never_stored():
    """Of what is read often, the roots of numbers are stored."""

    def f(x):
        i, j = transpile.numpy.arange(6)[:, None], transpile.numpy.arange(7)
        position, roots = i + j, np.sqrt(x)
        return np.where(position < 5, roots[0] + position, roots[1] - position) * roots

    graph = optimise(trace_to_graph(f, np.ones((6, 7))), USUAL)
    known = survey(scope_of(graph, USUAL), {})
    chosen = materialised(known, Choices())
    (roots,) = (e.output for e in graph.equations if e.primitive.name == "sqrt")
    whole = [e.output for e in graph.equations if e.output.type.dtype == np.int64]
    assert roots in chosen and len(whole) > 2 and chosen.isdisjoint(whole)


def stored(function, x):
    """The dtypes of the arrays that the program of a function keeps in memory of its own."""
    return [t.dtype for t in transpile.jit(function).lower(x).compiler_ir("loops").temporaries]


@pytest.mark.parametrize("size", [4000, 4003])
def test_comparisons_whose_bits_are_packed_are_stored(size):
    """Lanes of eight of them would load eight columns of the compared numbers."""
    x = np.random.default_rng(0).standard_normal(size)

    def packed(x):
        return np.packbits(x > 0)

    assert stored(packed, x) and {t.itemsize for t in stored(packed, x)} == {1}
    np.testing.assert_array_equal(transpile.jit(packed)(x), packed(x))


def test_bytes_that_are_added_up_by_columns_or_searched_are_not_stored():
    x = np.ones((64, 500))
    assert not stored(lambda x: np.packbits(x > 0, axis=0), x)
    assert not stored(lambda x: (x.reshape(-1, 8) > 0).any(1), x)
