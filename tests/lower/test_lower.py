"""Lowering: kernels that mean what the graph means, named and explained for people."""

import numpy as np
import pytest
from graphs import GraphMaker, loops_of, lowered, statements_of
from helpers import ordinary, trace_to_graph
from thorough import one_in

from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.calls import Call
from transpile.ir.loop_ir import Declare, Update
from transpile.lower.kernels import lower
from transpile.passes import optimise

X = ordinary("f8", (6, 7))

FUNCTIONS = {
    "an expression": lambda x: np.sin(x) * 2 + x,
    "a sum of each row": lambda x: x.sum(axis=1),
    "a sum over nothing": lambda x: x[:0].sum(axis=0),
    "a short sum": lambda x: x[:3].sum(axis=0),
    "a running sum": lambda x: np.cumsum(x, axis=1),
    "a running sum of one column": lambda x: np.cumsum(x[:, :1], axis=1),
    "a running sum from the end": lambda x: np.cumsum(x[::-1], axis=0)[::-1],
    "views": lambda x: np.flip(x.T[::2].reshape(-1), 0),
    "a padded array": lambda x: np.pad(x, ((1, 2), (0, 3)), constant_values=5),
    "joined arrays": lambda x: np.concatenate([x, x[:2] * 2, x[::-1]], axis=0),
    "a product": lambda x: x @ x.T,
    "the first largest": lambda x: x.argmax(axis=1),
    "no elements": lambda x: x[:0] * 2,
    "a scalar": lambda x: x[1, 2] * 2,
    "several results": lambda x: (x, x.T, x.sum(), np.float64(2), x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_kernels_mean_what_the_function_means(name):
    f = FUNCTIONS[name]
    expected = f(X) if isinstance(f(X), tuple) else (f(X),)
    found = run(lowered(f, X), [X])
    for x, y in zip(found, map(np.asarray, expected), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def test_values_have_the_user_s_names():
    def f(x):
        largest = x.max(axis=1, keepdims=True)
        shifted = np.exp(x - largest)
        return shifted / shifted.sum(axis=1, keepdims=True)

    text = str(lowered(f, X[:, [0, 1, 2, 3, 4, 5, 6, 0, 1, 2]]))
    assert "largest maximum= x0[i, j]" in text
    assert "shifted[j] = " in text


def test_a_kernel_quotes_the_lines_that_it_comes_from():
    program = lowered(lambda x: np.sin(x) + 1, X)
    (kernel,) = program.kernels
    assert kernel.source.file == __file__
    assert kernel.comment == (f"{kernel.source}: {kernel.source.text}",)
    assert "np.sin(x) + 1" in kernel.source.text


def test_an_accumulator_starts_before_its_loop():
    program = lowered(lambda x: x.sum(axis=1), ordinary("f8", (3, 20)))
    outer, inner = loops_of(program)
    assert [type(s) for s in outer.body][:2] == [Declare, type(inner)]
    assert isinstance(inner.body[0], Update)


def test_a_large_product_is_a_call_for_each_matrix_of_a_batch():
    x = ordinary("f8", (2, 16, 16))
    program = lowered(lambda x: x @ x, x)
    assert len(statements_of(program, Call)) == 1 and len(loops_of(program)) == 1
    np.testing.assert_allclose(run(program, [x])[0], x @ x, rtol=1e-12)


def test_loops_are_named_even_when_arrays_are_called_like_them():
    def f(i, j, k):
        return i * j[:, None] + k

    args = ordinary("f8", (3, 4)), ordinary("f8", (3,)), ordinary("f8", (4,))
    graph = trace_to_graph(f, *args)
    for var, name in zip(graph.inputs, "ijk", strict=True):
        var.name = name
    program = lower(optimise(graph))
    assert {str(loop.symbol) for loop in loops_of(program)}.isdisjoint("ijk")
    np.testing.assert_array_equal(run(program, args)[0], f(*args))


def test_arrays_of_sixteen_axes_have_loops():
    x = ordinary("f8", (2,) + (1, 2) * 7 + (2,))
    deep = ordinary("f8", (2,) * 5 + (1,) * 10 + (2,))
    for array in (x, deep):
        np.testing.assert_array_equal(run(lowered(lambda a: a + 1, array), [array])[0], array + 1)
    many = np.broadcast_to(1.0, (2,) * 15)
    names = [str(loop.symbol) for loop in loops_of(lowered(lambda a: a + 1, many))]
    assert len(set(names)) == 15


# ------------------------------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    "step",
    [lambda x, k: x * 1.5 + k, lambda x, k: np.sin(x) * x, lambda x, k: np.where(x > k, x, -x)],
)
@one_in(3)
def test_long_chains_take_statements_in_proportion(step):
    def chain(x, turns):
        for k in range(turns):
            x = step(x, k)
        return x

    sizes = [len(str(lowered(lambda x: chain(x, turns), X))) for turns in (250, 1000)]
    assert sizes[1] < 5 * sizes[0]


def test_mixed_graphs_take_statements_in_proportion():
    sizes = []
    for equations in (300, 900):
        graph = GraphMaker(3, keep=True).graph(equations)
        sizes.append(len(str(lower(optimise(graph)))) / len(graph.equations))
    assert sizes[1] < 2 * sizes[0]
