"""What the pass makes of convolutions and windows: the equations that are left, by their kinds."""

from collections import Counter

import numpy as np
import pytest
from helpers import trace_to_graph

from transpile import lax
from transpile.passes.expand.decompose import decompose


def equations(f, *args):
    """The number of equations of each primitive after the pass; its convolutions."""
    graph = decompose(trace_to_graph(f, *args))
    graph.check()
    found = [e for e in graph.equations if e.primitive.name == "conv_general_dilated"]
    return Counter(e.primitive.name for e in graph.equations), found


def conv(x, w, strides=(1, 1), padding="SAME", **options):
    return lax.conv_general_dilated(x, w, strides, padding, **options)


X, W = np.ones((2, 8, 16, 16), np.float32), np.ones((8, 8, 3, 3), np.float32)


def test_large_convolutions_stay():
    counts, found = equations(conv, X, W)
    assert counts == {"conv_general_dilated": 1}
    assert len(found) == 1


def test_gaps_become_phases_with_the_taps_that_they_meet():
    padding = ((1, 1), (1, 1))
    _, found = equations(lambda x, w: conv(x, w, padding=padding, lhs_dilation=(2, 2)), X, W)
    assert all(e.params["lhs_dilation"] == (1, 1) for e in found)
    windows = sorted(e.inputs[1].type.shape[2:] for e in found)
    assert windows == [(1, 1), (1, 2), (2, 1), (2, 2)]


@pytest.mark.parametrize("groups", [1, 2])
def test_complex_numbers_go_by_parts(groups):
    """In one group as one convolution of twice the channels and features."""
    x, w = X.astype(np.complex64), np.concatenate([W[:, : 8 // groups]] * 2).astype(np.complex64)
    counts, found = equations(lambda x, w: conv(x, w, feature_group_count=groups), x, w)
    assert len(found) == (1 if groups == 1 else 4)
    assert all(e.output.type.dtype == np.float32 for e in found)
    assert counts["complex"] == 1


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_others_are_products_of_windows(dtype):
    small = np.ones((1, 4, 5, 5), dtype), np.ones((2, 4, 3, 3), dtype)
    counts, found = equations(conv, *small)
    assert not found
    assert counts["dot_general"] == counts["windows"] == 1


def test_one_feature_a_group_is_written_out():
    counts, found = equations(lambda x, w: conv(x, w, feature_group_count=8), X, W[:, :1])
    assert not found
    assert counts["multiply"] == 9
    assert counts["add"] == 8


def test_large_windows_are_runs_that_double():
    def f(x):
        return lax.reduce_window(x, 0.0, lax.add, (1, 1, 1, 11), (1,) * 4, "VALID")

    counts, _ = equations(f, np.ones((2, 4, 12, 40)))
    # 11 = 1 + 2 + 8: runs of 2, 4 and 8, and two more sums.
    assert counts["add"] == 5
    assert "pad" not in counts
    assert "reduce_sum" not in counts


def test_taps_inside_are_slices_and_others_have_a_pad_of_their_own():
    def f(x, padding):
        return lax.reduce_window(x, -np.inf, lax.max, (3,), (1,), padding)

    counts, _ = equations(lambda x: f(x, "VALID"), np.ones(9))
    assert counts == {"slice": 3, "maximum": 2}
    counts, _ = equations(lambda x: f(x, "SAME"), np.ones(9))
    assert counts == {"pad": 2, "maximum": 2}
