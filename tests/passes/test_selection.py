"""Selection: sorted rows of which few ranks are read, and only those."""

import numpy as np
import pytest
from helpers import ordinary, trace_to_graph
from passes import names
from thorough import one_in

import transpile
from transpile.machine import Machine
from transpile.passes.selection import select_ranks


def primitives(f, *shape, **machine):
    graph = select_ranks(trace_to_graph(f, ordinary("f8", shape)), Machine(**machine))
    graph.check()
    return [name for name in names(graph) if name in ("sort", "order_statistics")]


SELECTED = {
    "a median": lambda x: np.median(x, axis=-1),
    "of an even number": lambda x: np.median(x[..., 1:], axis=-1),
    "the least": lambda x: np.partition(x, 0)[..., 0],
    "a few": lambda x: (s := np.sort(x))[..., 3:7] * s[..., 5:6],
    "columns": lambda x: np.median(x.T, axis=0),
    "a half": lambda x: np.sort(x)[..., :300],
    "the largest": lambda x: np.partition(x, -20)[..., -20:].sum(-1),
}
SORTED = {
    "all": lambda x: np.sort(x),
    "steps": lambda x: np.sort(x)[..., ::200],
    "a function": lambda x: (s := np.sort(x))[..., 0] + s.sum(-1),
    "a result": lambda x: ((s := np.sort(x)), s[..., 0]),
}


@pytest.mark.parametrize("name", SELECTED)
@pytest.mark.parametrize("shape", [(601,), (3, 601)])
@one_in(3)
def test_few_ranks_are_selected(name, shape):
    f, x = SELECTED[name], ordinary("f8", shape)
    assert set(primitives(f, *shape)) == {"order_statistics"}
    np.testing.assert_array_equal(transpile.jit(f)(x), f(x))


@pytest.mark.parametrize("name", SORTED)
def test_rows_that_are_read_otherwise_are_sorted(name):
    assert set(primitives(SORTED[name], 3, 601)) == {"sort"}


def test_short_rows_are_sorted_unless_there_is_one():
    assert primitives(SELECTED["a median"], 3, 100) == ["sort"]
    assert primitives(SELECTED["a median"], 100) == ["order_statistics"]
    assert primitives(SELECTED["a median"], 50) == ["sort"]
    assert primitives(SELECTED["a median"], 3, 100, longest_sorted_in_lanes=99) == [
        "order_statistics"
    ]
    assert primitives(SELECTED["a median"], 601, most_ranks=1) == ["sort"]
    assert primitives(SELECTED["a half"], 601, most_ranks=299) == ["sort"]


def test_long_rows_are_partitioned_at_few_ranks():
    """Bytes are sorted by counting, and the positions of 64-bit numbers at many ranks."""

    def chosen(function, kth, dtype="f8", n=601, **machine):
        graph = trace_to_graph(lambda x: function(x, kth), ordinary(dtype, (n,)))
        return names(select_ranks(graph, Machine(**machine)))

    assert chosen(np.partition, 5) == chosen(np.partition, [5, -1], "i2") == ["partition"]
    assert chosen(np.argpartition, 5) == chosen(np.argpartition, 5, "i4") == ["argpartition"]
    assert chosen(np.partition, 5, n=50) == chosen(np.partition, 5, "u1") == ["sort"]
    assert chosen(np.partition, [1, 2], most_ranks=1) == ["sort"]
    assert chosen(np.argpartition, 5, "i2") == chosen(np.argpartition, range(9)) == ["argsort"]


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i2", "u1", "?", "f2"])
@one_in(3)
def test_medians_are_numpys(dtype):
    for n in (600, 601):
        x = ordinary(dtype, (4, n))
        if x.dtype.kind in "fc":
            x[1, 7] = np.nan
            x[2, 9:400] = x[2, 9]
        got, want = transpile.jit(lambda x: np.median(x, axis=1))(x), np.median(x, axis=1)
        np.testing.assert_array_equal(got, want)
