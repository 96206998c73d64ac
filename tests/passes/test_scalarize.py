"""Components: long sums of short vectors are taken apart, and only those."""

import numpy as np
import pytest
from graphs import loops_of, lowered
from helpers import ordinary
from passes import after

from transpile.analysis.oracle.loop_interpreter import run
from transpile.passes.scalarize import scalarize_reductions


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("f", [np.sum, np.max, np.min])
def test_the_sum_of_short_vectors_is_a_sum_for_each_component(count, f):
    found = after(scalarize_reductions, lambda x: f(x, axis=0), ordinary("f8", (20, count)))
    assert [n for n in found if n.startswith("reduce")] == [f"reduce_{f.__name__}"] * count
    assert found[-1] == "concatenate"


def test_leading_axes_are_kept():
    x = ordinary("f8", (5, 17, 2))
    assert after(scalarize_reductions, lambda x: x.sum(axis=1), x).count("reduce_sum") == 2
    assert after(scalarize_reductions, lambda x: x.sum(axis=(0, 1)), x).count("reduce_sum") == 2


@pytest.mark.parametrize("shape, axis", [((20, 5), 0), ((20, 1), 0), ((9, 3), 0), ((3, 20), 1)])
def test_other_sums_stay(shape, axis):
    assert after(scalarize_reductions, lambda x: x.sum(axis=axis), ordinary("f8", shape)) == [
        "reduce_sum"
    ]


def test_the_components_share_one_loop():
    x = ordinary("f8", (20, 3))
    program = lowered(lambda x: x.sum(axis=0), x)
    assert [loop.stop for loop in loops_of(program)] == [20, 3]  # the sums; joining them
    np.testing.assert_array_equal(run(program, [x])[0], x.sum(axis=0))


def test_many_columns_behind_the_sum_stay_columns():
    x = ordinary("f8", (20, 9, 3))
    assert after(scalarize_reductions, lambda x: x.sum(axis=0), x) == ["reduce_sum"]
    x = ordinary("f8", (9, 20, 3))
    assert after(scalarize_reductions, lambda x: x.sum(axis=1), x).count("reduce_sum") == 3
