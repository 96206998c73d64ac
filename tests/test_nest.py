"""Fusion: which loops stages share, and where their values live, on the programs that matter."""

import numpy as np
import pytest
from helpers import trace_to_graph

from transpile.loops import Alloc, For
from transpile.lower import lower
from transpile.nest import fuse
from transpile.passes import optimise
from transpile.walks import walk


def lowered(function, *arguments):
    return lower(optimise(trace_to_graph(function, *arguments)))


def homes(function, *arguments):
    """Where the value of each stage lives, by the name of its primitive, in order."""
    fused = fuse(optimise(trace_to_graph(function, *arguments)))
    return [(s.equation.primitive.name, fused.homes[s].kind) for s in fused.placement.stages]


def loops_of(program):
    return [s for k in program.kernels for s in walk(k.body) if isinstance(s, For)]


X = np.ones((64, 100))


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layernorm(x, g, b):
    c = x - x.mean(axis=1, keepdims=True)
    return c / np.sqrt((c * c).mean(axis=1, keepdims=True) + 1e-5) * g + b


def test_softmax_is_one_loop_over_rows_without_temporaries():
    program = lowered(softmax, X)
    assert len(program.kernels) == 1 and program.temporaries == ()
    assert len(program.kernels[0].body) == 1
    assert homes(softmax, X) == [
        ("reduce_max", "scalar"),
        ("exp", "row"),
        ("reduce_sum", "scalar"),
        ("divide", "stored"),
    ]


def test_layernorm_is_one_loop_over_rows_and_recomputes_the_cheap_difference():
    g = np.ones(100)
    program = lowered(layernorm, X, g, g)
    assert len(program.kernels) == 1 and program.temporaries == ()
    assert not any(isinstance(s, Alloc) for s in walk(program.kernels[0].body))


@pytest.mark.parametrize("layout", ["one array", "three arrays"])
def test_pairwise_forces_need_no_memory_for_the_pairs(layout):
    def together(p, m):
        d = p[None, :, :] - p[:, None, :]
        w = m / ((d * d).sum(-1) + 0.01) ** 1.5
        return (d * w[:, :, None]).sum(1)

    def apart(x, y, z, m):
        dx, dy, dz = (q[None, :] - q[:, None] for q in (x, y, z))
        w = m / (dx * dx + dy * dy + dz * dz + 0.01) ** 1.5
        return (dx * w).sum(1), (dy * w).sum(1), (dz * w).sum(1)

    n = 50
    m = np.ones(n)
    program = (
        lowered(together, np.ones((n, 3)), m)
        if layout == "one array"
        else lowered(apart, m, m, m, m)
    )
    assert len(program.kernels) == 1 and program.temporaries == ()
    assert [loop.extent for loop in loops_of(program)][:2] == [n, n]
    statements = list(walk(program.kernels[0].body))
    assert not any(isinstance(s, Alloc) for s in statements)
    powers = sum(str(s).count("op='power'") for s in statements if not isinstance(s, For))
    assert powers == 1  # the weight of a pair is computed once, for all three components


def test_sibling_reductions_share_one_loop():
    program = lowered(lambda x: (x.sum(axis=1), x.max(axis=1), (x * x).sum(axis=1)), X)
    assert [loop.extent for loop in loops_of(program)] == [64, 100]


def test_an_expensive_value_that_is_spread_is_computed_once_a_row():
    def spread(v, x):
        return np.exp(v)[:, None] * x

    program = lowered(spread, np.ones(64), X)
    (outer,) = program.kernels[0].body
    assert "exp" in str(outer.body[0]) and isinstance(outer.body[1], For)
    assert homes(spread, np.ones(64), X)[0] == ("exp", "scalar")


def test_an_expensive_value_that_is_spread_along_rows_is_stored_once():
    program = lowered(lambda v, x: np.exp(v)[None, :] * x, np.ones(100), X)
    assert [b.shape for b in program.temporaries] == [(100,)]


def test_a_transposed_reader_does_not_join_the_loop():
    def both(x):
        e = np.exp(x)
        return e + 1.0, e.T * 2.0

    program = lowered(both, np.ones((30, 30)))
    assert len(program.kernels) == 2 and [b.shape for b in program.temporaries] == [(30, 30)]


def test_neighbours_are_read_from_memory_when_they_are_expensive():
    def difference(x):
        e = np.exp(x)
        return e[1:] - e[:-1]

    program = lowered(difference, np.ones(100))
    assert [b.shape for b in program.temporaries] == [(100,)]


def test_neighbours_are_computed_again_when_they_are_cheap():
    def difference(x):
        e = x * 2.0
        return e[1:] - e[:-1]

    assert lowered(difference, np.ones(100)).temporaries == ()


def test_a_row_that_is_too_long_for_the_stack_is_stored():
    assert homes(softmax, np.ones((4, 20_000)))[1] == ("exp", "stored")


def test_a_result_that_is_read_on_the_spot_is_not_read_back():
    def two(x):
        e = np.exp(x)
        return e, e + 1.0

    program = lowered(two, np.ones(50))
    (loop,) = program.kernels[0].body
    declared, stored, result = loop.body
    assert len(program.kernels) == 1 and declared.value.op == "exp"
    assert stored.value.name == result.value.args[0].name == declared.name


def test_a_reader_waits_for_a_sum_to_be_complete():
    program = lowered(lambda x: x / x.sum(), np.ones(100))
    assert [loop.extent for loop in loops_of(program)] == [100, 100]
    assert len(program.kernels) == 2
