"""Long cumulative sums: the runs of a row are added up at once, in an order of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

import transpile
from transpile.machine import USUAL

pytestmark = pytest.mark.full_level

RUN = 1008
SHORTEST = USUAL.shortest_library_sum


def by_runs(x):
    """What the C text says, of one row."""
    out = np.empty_like(x)
    start = x.dtype.type(-0.0)
    for first in range(0, len(x), RUN):
        local = np.cumsum(x[first : first + RUN])
        out[first : first + RUN] = start + local
        start = start + local[-1]
    return out


def drawn(random, count, dtype):
    return (random.standard_normal(count) * 10.0 ** random.integers(-3, 4, count)).astype(dtype)


@settings(max_examples=tries(25), deadline=None)
@given(
    st.sampled_from([SHORTEST, 9 * RUN, 16 * RUN, 70_000]),
    st.integers(0, RUN),
    st.sampled_from([np.float32, np.float64]),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_rows_of_any_length_are_added_up_run_by_run(base, more, dtype, reverse, seed):
    x = drawn(np.random.default_rng(seed), base + more, dtype)
    if reverse:
        found = transpile.jit(lambda x: transpile.lax.cumsum(x, reverse=True))(x)[::-1]
        np.testing.assert_array_equal(found, by_runs(x[::-1]))
    else:
        np.testing.assert_array_equal(transpile.jit(np.cumsum)(x), by_runs(x))


@pytest.mark.parametrize("shape, axis", [((3, 9000), 1), ((2, 8192, 1), 1), ((5, 2, 10000), 2)])
def test_rows_of_matrices(shape, axis):
    x = drawn(np.random.default_rng(0), shape, np.float64)
    compiled = transpile.jit(lambda x: np.cumsum(x, axis=axis)).lower(x).compile()
    assert "cumsum_f64(" in compiled.as_text()
    rows = x.reshape(-1, shape[axis])
    expected = np.stack([by_runs(row) for row in rows]).reshape(shape)
    np.testing.assert_array_equal(compiled(x), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 600_000), (7, 50_000), (70, 8200)])
@one_in(3)
def test_parts_that_fit_into_a_cache_go_on_where_the_ones_before_end(shape, dtype):
    x = drawn(np.random.default_rng(4), shape, dtype)
    expected = np.stack([by_runs(row) for row in x])
    np.testing.assert_array_equal(transpile.jit(lambda x: np.cumsum(x, axis=1))(x), expected)
    backwards = transpile.jit(lambda x: transpile.lax.cumsum(x, axis=1, reverse=True))
    np.testing.assert_array_equal(backwards(x[:, ::-1])[:, ::-1], expected)


def test_what_is_short_or_strided_or_exact_is_a_loop():
    for x, axis in (
        (np.ones(SHORTEST - 1), 0),
        (np.ones((SHORTEST, 2)), 0),
        (np.ones(SHORTEST, np.int64), 0),
        (np.ones(SHORTEST, np.complex64), 0),
        (np.ones(SHORTEST, np.float16), 0),
    ):
        compiled = transpile.jit(lambda x, axis=axis: np.cumsum(x, axis=axis)).lower(x).compile()
        assert "cumsum_f" not in compiled.as_text()
        np.testing.assert_array_equal(compiled(x)[-1], np.cumsum(x, axis=axis)[-1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_errors_are_smaller_than_those_of_one_sum_after_the_other(dtype):
    x = np.random.default_rng(1).random(1_000_000).astype(dtype)
    exact = np.cumsum(x.astype(np.longdouble))
    ours = abs(transpile.jit(np.cumsum)(x) - exact).max()
    assert ours <= abs(np.cumsum(x) - exact).max()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([np.float32, np.float64]))
def test_sums_of_what_is_not_negative_never_decrease(seed, dtype):
    random = np.random.default_rng(seed)
    x = abs(drawn(random, 20_000, dtype)) * (random.random(20_000) < 0.5)
    assert (np.diff(transpile.jit(np.cumsum)(x)) >= 0).all()


def test_zeros_keep_their_sign_and_infinities_and_nans_stay():
    cumsum = transpile.jit(np.cumsum)
    x = np.full(10_000, -0.0)
    assert np.signbit(cumsum(x)).all()
    x[3000] = np.inf
    assert not cumsum(x)[:3000].any() and (cumsum(x)[3000:] == np.inf).all()
    x[5000] = -np.inf
    np.testing.assert_array_equal(np.isnan(cumsum(x)), np.arange(10_000) >= 5000)


def test_a_sum_may_take_the_memory_of_its_operand():
    x = drawn(np.random.default_rng(2), 100_000, np.float64)
    expected = by_runs(x)
    given = x.copy()
    found = transpile.jit(np.cumsum, donate_argnums=0)(given)
    np.testing.assert_array_equal(found, expected)


def test_derivatives_go_backwards():
    x = drawn(np.random.default_rng(3), 9000, np.float64)
    weights = np.arange(9000.0)
    gradient = transpile.jit(transpile.grad(lambda x: (np.cumsum(x) * weights).sum()))
    np.testing.assert_allclose(gradient(x), np.cumsum(weights[::-1])[::-1], rtol=1e-12)
    batched = transpile.jit(transpile.vmap(np.cumsum))
    np.testing.assert_array_equal(batched(np.stack([x, -x])), [by_runs(x), by_runs(-x)])


PRINTED = """
import numpy as np, transpile
x = np.random.default_rng(5).standard_normal(300_000).astype(np.float32)
print(transpile.jit(np.cumsum)(x).tobytes().hex()[:4000], transpile.jit(np.cumsum)(x).sum())
"""


def test_results_do_not_depend_on_threads():
    printed = {
        subprocess.run(
            [sys.executable, "-c", PRINTED],
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in (1, 2, 3)
    }
    assert len(printed) == 1
