"""Decompose: argmax and constant powers become simpler rows with the same meaning."""

import numpy as np
import pytest
from helpers import ordinary, trace_to_graph
from passes import SPECIAL, after, names

from transpile.passes.expand.decompose import decompose
from transpile.transforms.interpret import interpret

TIES = np.array([[1.0, 3.0, 3.0], [-0.0, 0.0, -0.0], [np.nan, 5.0, np.nan], [np.inf, np.inf, 1]])


@pytest.mark.parametrize("f", [np.argmax, np.argmin])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("x", [TIES, TIES > 0, TIES[[0, 1, 3]].clip(-9, 9).astype("i4")])
def test_positions_are_the_first_extreme_or_nan(f, axis, x):
    found = after(decompose, lambda x: f(x, axis=axis), x)
    assert "argmax" not in found and "argmin" not in found


@pytest.mark.parametrize("x", [SPECIAL[-np.inf != SPECIAL], np.array([7, 7, 3])])
def test_the_position_in_a_flat_array(x):
    graph = decompose(trace_to_graph(np.argmax, x))
    assert interpret(graph, [x])[0] == np.argmax(x)


@pytest.mark.parametrize("exponent, expected", [(1, []), (2, ["square"])])
def test_small_powers_of_any_number_are_exact(exponent, expected):
    found = after(decompose, lambda x: np.power(x, float(exponent)), SPECIAL)
    assert found == expected


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["i1", "u8", "i8"])
def test_powers_of_integers_wrap_as_numpy_s(exponent, dtype):
    x = np.array([0, 1, 2, 11, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    after(decompose, lambda x: np.power(x, np.array(exponent, dtype)), x)


@pytest.mark.parametrize("exponent", [3, 4])
def test_cubes_are_within_two_ulp(exponent):
    x = np.random.default_rng(0).normal(size=200)
    graph = trace_to_graph(lambda x: np.power(x, float(exponent)), x)
    rewritten = decompose(graph)
    assert "power" not in names(rewritten)
    (got,), (want,) = interpret(rewritten, [x]), interpret(graph, [x])
    assert (np.abs(got - want) <= 2 * np.spacing(np.abs(want))).all()


@pytest.mark.parametrize("exponent", [-2.0, 2.5, 5.0, 1000.0, np.nan, np.inf])
def test_other_powers_stay(exponent):
    assert after(decompose, lambda x: np.power(x, exponent), ordinary("f8", (5,))) == ["power"]


def test_powers_with_an_array_for_an_exponent_stay():
    x = ordinary("f8", (5,)) + 9
    assert after(decompose, np.power, x, x) == ["power"]


@pytest.mark.parametrize("f, same", [(np.max, "any"), (np.min, "all")])
def test_extremes_of_many_bools_end_where_they_are_known(f, same):
    x = np.zeros((300, 2), bool)
    for truth in (x, ~x, np.arange(600).reshape(x.shape) == 299):
        found = after(decompose, f, truth)
        assert found == after(decompose, getattr(np, same), truth) and "first_of" in found
