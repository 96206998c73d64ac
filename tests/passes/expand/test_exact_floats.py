"""Sums of small integers and rests by powers of two: simpler operations with the same bits."""

import numpy as np
import pytest
from helpers import trace_to_graph
from passes import SPECIAL, assert_same_bits, names

from transpile.passes.expand.decompose import decompose
from transpile.passes.simplify import simplify
from transpile.transforms.interpret import interpret

QUOTIENTS = [np.fmod, np.remainder, np.floor_divide]


def rewritten(f, *args):
    """The graph behind the pass, which has the results of the one before to the bit."""
    graph = trace_to_graph(f, *args)
    after = decompose(graph)
    with np.errstate(all="ignore"):
        assert_same_bits(interpret(after, args), interpret(graph, args))
    return after


def numbers(dtype):
    """Ones near whole multiples, small and large ones, and what has no rest."""
    info = np.finfo(dtype)
    edges = [info.max, info.tiny, info.smallest_subnormal, info.eps, 2.0**24 + 2, 1e-30]
    whole = np.arange(-40, 41) / 8
    beside = np.nextafter(whole.astype(dtype), dtype(np.inf))
    with np.errstate(over="ignore"):
        special = SPECIAL.astype(dtype)
    edges = np.array(edges, dtype)
    return np.concatenate([special, edges, -edges, whole.astype(dtype), beside, -beside])


@pytest.mark.parametrize("f", QUOTIENTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("divisor", [1, 2, 4, 1024, 2.0**100])
def test_rests_by_powers_of_two_are_what_the_whole_part_leaves(f, dtype, divisor):
    after = rewritten(lambda x: f(x, dtype(divisor)), numbers(dtype))
    assert "trunc" in names(after) and f.__name__ not in names(after)


@pytest.mark.parametrize("divisor", [-1, -8])
def test_the_sign_of_the_divisor_is_nothing_to_fmod(divisor):
    after = rewritten(lambda x: np.fmod(x, float(divisor)), numbers(np.float64))
    assert "fmod" not in names(after)
    for f in QUOTIENTS[1:]:
        after = rewritten(lambda x, f=f: f(x, float(divisor)), numbers(np.float64))
        assert names(after) == [f.__name__]


@pytest.mark.parametrize("f", QUOTIENTS)
@pytest.mark.parametrize("divisor", [0.0, 0.5, 3.0, np.inf, np.nan])
def test_other_divisors_stay(f, divisor):
    assert names(rewritten(lambda x: f(x, divisor), numbers(np.float64))) == [f.__name__]


@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "u2", "i2"])
@pytest.mark.parametrize("axis", [None, 0, (0, 2)])
def test_means_of_small_integers_are_sums_of_integers(dtype, axis):
    random = np.random.default_rng(0)
    low, high = (0, 1) if dtype == "?" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    x = random.integers(low, high, (3, 5, 7), endpoint=True).astype(dtype)
    x[0], x[1, 2] = low, high
    after = rewritten(lambda x: x.mean(axis=axis), x)
    (total,) = [e for e in after.equations if e.primitive.name == "reduce_sum"]
    assert total.output.type.dtype == np.int64


def test_sums_that_a_float_has_no_integers_for_stay():
    def total(x):
        return x.sum(axis=0, dtype="f4")

    for dtype, count, is_whole in (
        ("u1", 1 << 16, True),
        ("u1", (1 << 16) + 1, False),
        ("u2", 1 << 8, True),
        ("u2", (1 << 8) + 1, False),
        ("i4", 2, False),
    ):
        after = decompose(trace_to_graph(total, np.zeros((count, 2), dtype)))
        (found,) = [e for e in after.equations if e.primitive.name == "reduce_sum"]
        assert (found.output.type.dtype == np.int64) == is_whole


def test_what_is_left_is_simple():
    """The product of a rest and 0, which keeps NaNs, is no constant."""
    after = simplify(decompose(trace_to_graph(lambda x: x // 2.0, SPECIAL)))
    assert names(after).count("multiply") == 3
