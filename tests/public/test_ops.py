"""ops: segments against loops over elements, in every mode, in C and outside of it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import seeds
from hypothesis import given, settings
from hypothesis import strategies as st

import transpile as tp
from transpile import lax, ops

FORMS = {
    "segment_sum": (ops.segment_sum, np.add, 0),
    "segment_prod": (ops.segment_prod, np.multiply, 1),
    "segment_max": (ops.segment_max, np.maximum, -np.inf),
    "segment_min": (ops.segment_min, np.minimum, np.inf),
}
DATA = np.array([1.0, 2, 3, 4, 5])
IDS = np.array([0, 0, 2, -1, 7])


def by_hand(name, data, ids, count):
    _, combine, start = FORMS[name]
    if data.dtype.kind in "iu" and not np.isfinite(start):
        limits = np.iinfo(data.dtype)
        start = limits.min if start < 0 else limits.max
    found = np.full((count, *data.shape[ids.ndim :]), start, data.dtype)
    for place in np.ndindex(ids.shape):
        if 0 <= ids[place] < count:
            found[ids[place]] = combine(found[ids[place]], data[place])
    return found


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(FORMS)),
    st.sampled_from(["int32", "uint8", "float16", "float32", "float64"]),
    st.sampled_from([(7,), (7, 2), (2, 3, 2)]),
    st.sampled_from([None, 1, 2, 3, 100]),
    seeds,
)
def test_segments_are_loops_over_elements(name, dtype, shape, bucket_size, seed):
    random = np.random.default_rng(seed)
    data = random.integers(0, 4, shape).astype(dtype)
    ids = random.integers(-2, 6, shape[:2] if len(shape) == 3 else shape[:1])
    found = FORMS[name][0](data, ids, 4, bucket_size=bucket_size)
    expected = by_hand(name, data, ids, 4)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", FORMS)
def test_segments_in_c_with_ids_known_at_run_time(name):
    function = tp.jit(lambda data, ids: FORMS[name][0](data, ids, 4))
    for ids in (IDS, np.array([3, 2, 1, 0, 3])):
        np.testing.assert_array_equal(function(DATA, ids), by_hand(name, DATA, ids, 4))


# What JAX 0.10.2 prints for DATA, IDS, 4 segments, mode="clip".
CLIPPED = {
    "segment_sum": [7, 0, 3, 5],
    "segment_prod": [8, 1, 3, 5],
    "segment_max": [4, -np.inf, 3, 5],
    "segment_min": [1, np.inf, 3, 5],
}


@pytest.mark.parametrize("name", FORMS)
def test_modes_and_promises(name):
    function = FORMS[name][0]
    for mode in ("clip", lax.GatherScatterMode.CLIP):
        np.testing.assert_array_equal(function(DATA, IDS, 4, mode=mode), CLIPPED[name])
    dropped = by_hand(name, DATA, IDS, 4)
    for mode in ("drop", "fill", lax.GatherScatterMode.FILL_OR_DROP):
        np.testing.assert_array_equal(function(DATA, IDS, 4, mode=mode), dropped)
    ids = np.array([0, 1, 2, 3, 3])
    expected = by_hand(name, DATA, ids, 4)
    sorted_ids = function(DATA, ids, 4, indices_are_sorted=True, mode="promise_in_bounds")
    np.testing.assert_array_equal(sorted_ids, expected)
    unique = function(DATA, np.array([4, 2, 0, 1, 3]), unique_indices=True)
    np.testing.assert_array_equal(unique, [3, 4, 2, 5, 1])


def test_the_number_of_segments_by_default():
    np.testing.assert_array_equal(ops.segment_sum(DATA, np.array([0, 0, 2, 1, 3])), [3, 4, 3, 5])
    assert ops.segment_sum(DATA, IDS, 0).shape == (0,)
    with pytest.raises(TypeError, match="used as a Python int"):
        tp.jit(ops.segment_sum)(np.tile(DATA, 2), np.tile(IDS, 2))


def test_bools():
    np.testing.assert_array_equal(ops.segment_max(DATA > 2, IDS, 4), [False, False, True, False])
    np.testing.assert_array_equal(ops.segment_min(DATA > 2, IDS, 4), [False, True, True, True])
    with pytest.raises(TypeError, match="add does not accept dtype bool"):
        ops.segment_sum(DATA > 2, IDS, 4)


WRONG = [
    ((DATA, IDS, -1), {}, ValueError, "num_segments must be non-negative."),
    ((DATA, IDS, 4), {"mode": "wrong"}, ValueError, 'Unknown gather mode "wrong"'),
    ((DATA, DATA, 4), {}, TypeError, "must have integer or boolean type, got indexer with type fl"),
    ((DATA, IDS[:3], 4), {}, ValueError, "which the shape (5,) of the data does not begin with"),
    (([1.0], IDS, 4), {}, TypeError, "segment_sum requires ndarray or scalar arguments"),
    ((DATA, IDS, 4), {"bucket_size": 0}, ValueError, "bucket_size must be positive, not 0"),
]


@pytest.mark.parametrize(("args", "options", "kind", "text"), WRONG, ids=[w[3][:20] for w in WRONG])
def test_arguments_that_mean_nothing(args, options, kind, text):
    with pytest.raises(kind) as found:
        ops.segment_sum(*args, **options)
    assert text in str(found.value)


def test_derivatives_and_batches():
    ids = np.array([0, 0, 2, 1, 3])
    for name in ("segment_sum", "segment_max", "segment_min"):
        function = lambda data: FORMS[name][0](data, ids, 4)
        tp.test_util.check_grads(function, (DATA,), 2)
        batch = np.stack([DATA, DATA[::-1]])
        np.testing.assert_array_equal(tp.vmap(function)(batch), [function(b) for b in batch])
    by_ids = tp.vmap(lambda ids: ops.segment_sum(DATA, ids, 4))
    stacked = np.stack([ids, IDS])
    np.testing.assert_array_equal(by_ids(stacked), [ops.segment_sum(DATA, i, 4) for i in stacked])
    tied = tp.grad(lambda d: ops.segment_max(d, ids, 4).sum())(np.array([2.0, 2, 1, 1, 1]))
    np.testing.assert_array_equal(tied, [0.5, 0.5, 1, 1, 1])  # as JAX shares it
