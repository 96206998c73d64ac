"""Elements that a mask selects are set by a select where that is cheap, and else are compacted."""

import numpy as np
import pytest
from helpers import ordinary, trace_to_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from passes import names
from thorough import one_in

import transpile
from transpile.passes import optimise
from transpile.passes.cse import eliminate_common_subexpressions
from transpile.passes.lengths.compaction import assign_under_masks
from transpile.passes.lengths.equal_lengths import unify_lengths


def assigned(make):
    def f(x, y):
        m = x > 0
        x[m] = make(x, y, m)
        return x

    return f


SELECTED = {
    "other elements": lambda x, y, m: y[m],
    "arithmetic": lambda x, y, m: x[m] ** 2 + y[m] * 3 - 1,
    "a number of all": lambda x, y, m: y[m] * x.sum(),
    "a mean of the selected": lambda x, y, m: y[m] - x[m].mean(),
}
COMPACTED = {
    "a dear function": lambda x, y, m: np.sin(x[m]),
    "a running sum": lambda x, y, m: np.cumsum(y[m]),
    "others": lambda x, y, m: y[m][::-1],
    "of another mask": lambda x, y, m: y[m][::-1] + x[m],
}


def primitives(f, shape):
    graph = trace_to_graph(f, ordinary("f8", shape), ordinary("f8", shape))
    for make in (eliminate_common_subexpressions, unify_lengths, assign_under_masks):
        graph = make(graph)
    graph.check()
    return names(graph)


@pytest.mark.parametrize("shape", [(37,), (5, 6), (2, 3, 7)])
@pytest.mark.parametrize("name", SELECTED)
def test_cheap_elements_are_chosen(name, shape):
    f = assigned(SELECTED[name])
    assert "scatter" not in primitives(f, shape)


@pytest.mark.parametrize("name", COMPACTED)
def test_other_elements_are_put(name):
    assert "scatter" in primitives(assigned(COMPACTED[name]), (4, 9))


def test_no_length_is_left():
    x = ordinary("f8", (40,))
    graph = optimise(trace_to_graph(assigned(SELECTED["arithmetic"]), x, x))
    assert not {"compact", "gather", "scatter"} & set(names(graph))


@pytest.mark.parametrize("name", [*SELECTED, *COMPACTED])
@given(st.data())
@settings(max_examples=3)
@one_in(2)
def test_results_are_numpys(name, data):
    f = assigned((SELECTED | COMPACTED)[name])
    shape = data.draw(st.sampled_from([(0,), (1,), (37,), (5, 6), (2, 1, 7)]))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    x, y = random.standard_normal((2, *shape))
    x.ravel()[::5] = data.draw(st.sampled_from([0.0, np.nan, np.inf, -1.0]))
    with np.errstate(all="ignore"):
        if not (x > 0).any() and "mean" in name:
            return  # of no elements
        wanted = f(x.copy(), y)
        np.testing.assert_allclose(transpile.jit(f)(x.copy(), y), wanted, rtol=1e-12)


def test_of_runtime_sizes_and_other_dtypes():
    def f(n, m, bound):
        x = np.arange(n * m).reshape(n, m)
        odd = x % 2 == 1
        x[odd] = x[odd] * bound - np.ones((n, m))[odd]
        return x

    g = transpile.jit(f)
    for n, m in ((3, 4), (1, 7), (6, 2)):
        np.testing.assert_array_equal(g(n, m, 3), f(n, m, 3))
    assert g._cache_size() == 1
    assert "scatter" not in g.lower(3, 4, 3).as_text("graph")
