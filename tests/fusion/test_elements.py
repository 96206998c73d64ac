"""Elements: whatever is materialised, the expressions of values compute them."""

from random import Random

import numpy as np
import pytest
from graphs import assert_same_results, random_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in

from transpile.analysis.oracle.loop_interpreter import run
from transpile.fusion.elements import is_by_elements, values_of
from transpile.fusion.index_lambda import arithmetic, index_of, result_of, value_of
from transpile.ir.dims import Dim, Symbol, evaluate
from transpile.ir.graph import Const, Var
from transpile.ir.loop_ir import Buffer, Declare, For, Kernel, Program, Store
from transpile.machine import USUAL
from transpile.passes import optimise
from transpile.util.frozen_records import replace


def drawn(seed):
    """A drawn graph, the values of all its variables, and some of them that are materialised."""
    graph, inputs = random_graph(seed)
    graph = optimise(graph)
    numbers = dict(zip(graph.inputs, inputs, strict=True))
    with np.errstate(all="ignore"):
        for equation in graph.equations:
            operands = [a.value if isinstance(a, Const) else numbers[a] for a in equation.inputs]
            results = equation.primitive.numpy(*operands, **equation.params)
            results = results if isinstance(results, tuple) else (results,)
            numbers.update(zip(equation.outputs, map(np.asarray, results), strict=True))
    random = Random(seed)
    share = random.choice([0.0, 0.3, 1.0])
    chosen = {
        v
        for e in graph.equations
        for v in e.outputs
        if not is_by_elements(e, USUAL) or random.random() < share
    }
    return graph, numbers, replace(values_of(graph, {}), materialised=chosen)


def computed(lambda_, var, values, numbers):
    """What an index lambda computes, in a program that reads materialised values."""
    body = [Declare(s.name, e, symbol=s) for s, e in lambda_.bound.items()]
    body.append(Store("out", lambda_.index, lambda_.body))
    statements = tuple(body)
    for symbol in reversed(lambda_.order):
        statements = (For(symbol, symbol.extent, statements),)
    atoms = {k: a for k, a in values.atoms.items() if isinstance(a, Const) or a in numbers}
    inputs = tuple(Buffer(k, a.type.shape, a.type.dtype) for k, a in atoms.items())
    given = [a.value if isinstance(a, Const) else numbers[a] for a in atoms.values()]
    out = Buffer("out", var.type.shape, var.type.dtype)
    return run(Program("f", inputs, (out,), (Kernel("f", statements),)), given)


@pytest.mark.parametrize("seed", range(0, 400, 11))
@one_in(3)
def test_the_elements_of_values_of_drawn_graphs_are_those_values(seed):
    graph, numbers, values = drawn(seed)
    for equation in graph.equations:
        var = equation.outputs[0]
        if is_by_elements(equation, USUAL) and var.type.size != 0:
            result = result_of(values, equation, "a")
            assert_same_results(computed(result, var, values, numbers), [numbers[var]], equation)


@pytest.mark.parametrize("seed", range(0, 400, 37))
def test_a_lambda_reads_what_is_materialised_and_names_where_it_comes_from(seed):
    graph, _, values = drawn(seed)
    for atom in graph.outputs:
        value = value_of(values, atom, "a")
        again = value_of(values, atom, "a")
        assert (value.body, value.order, value.bound) == (again.body, again.order, again.bound)
        if not values.is_inlined(atom):
            assert value.sources == () or isinstance(atom, Const)
        else:
            assert values.producers[atom].source in value.sources
        assert all(symbol.name.startswith("a") for symbol in (*value.order, *value.bound))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_keys_name_each_value_once(seed):
    graph, _ = random_graph(seed)
    values = values_of(graph, {})
    atoms = {*graph.inputs, *graph.outputs, *(v for e in graph.equations for v in e.outputs)}
    assert atoms <= values.keys.keys()
    assert len(set(values.keys.values())) == len(values.keys) == len(values.atoms)
    assert all(values.keys[atom] == key for key, atom in values.atoms.items())


@pytest.mark.parametrize("seed", range(0, 300, 13))
def test_what_is_arithmetic_on_indices_is_so_without_memory(seed):
    graph, numbers, values = drawn(seed)
    values = replace(values, materialised=frozenset())
    for var in (v for e in graph.equations for v in e.outputs):
        if isinstance(var, Var) and var.type.ndim == 1 and var in values.arithmetic:
            symbol = Symbol("i", 0, var.type.shape[0])
            index = index_of(values, var, (Dim.of(symbol),))
            assert arithmetic(values, var, (Dim.of(symbol),)) is not None
            if index is not None:
                rows = [evaluate(index, {"i": k}) for k in range(var.type.shape[0])]
                np.testing.assert_array_equal(rows, numbers[var])
