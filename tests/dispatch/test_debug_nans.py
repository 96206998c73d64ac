"""`debug_nans` and `debug_infs`: the operation and the line of the first NaN in a result."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import transpile as tp
from transpile import lax


def logarithm(x):
    y = np.log(x)
    return y * 2


LINE = logarithm.__code__.co_firstlineno + 1


def found(f, *args):
    with pytest.raises(FloatingPointError) as caught:
        f(*args)
    return str(caught.value)


@pytest.mark.parametrize("transform", [tp.jit, tp.djit, tp.vmap, lambda f: tp.jit(tp.vmap(f))])
def test_the_operation_and_its_line(transform):
    f, x = transform(logarithm), np.array([1.0, -1.0])
    assert np.isnan(f(x)[1])
    with tp.debug_nans(True):
        for _ in range(2):
            expected = f"test_debug_nans.py:{LINE}: invalid value (nan) encountered in log"
            assert found(f, x) == expected
        np.testing.assert_array_equal(f(np.ones(2)), np.zeros(2))
    assert np.isnan(f(x)[1])


def test_calls_in_c_are_searched_too():
    f = tp.jit(logarithm)
    for _ in range(300):
        f(1.0)
    with tp.debug_nans():
        assert "in log" in found(f, -1.0)
        assert f(1.0) == 0
    assert np.isnan(f(-1.0))


def test_only_results_count():
    with tp.debug_nans(True):
        assert tp.jit(lambda x: np.where(x > 0, np.log(x), 0.0))(-1.0) == 0


def test_loops_branches_and_derivatives():
    def loop(x):
        return lax.fori_loop(0, 3, lambda i, x: np.sqrt(x - 1), x)

    def branch(x):
        return lax.cond(x > 0, lambda x: x, lambda x: np.log(x), x)

    with tp.debug_nans(True):
        assert "encountered in sqrt" in found(tp.jit(loop), 1.0)
        assert "encountered in log" in found(tp.jit(branch), -1.0)
        for way in (lambda f: f, tp.jit):
            assert "in multiply" in found(way(tp.grad(lambda x: np.sqrt(x) * 0.0)), 0.0)


def test_arguments_that_change_and_effects():
    seen = []

    @tp.jit
    def f(x):
        tp.debug.callback(seen.append, x[0])
        x -= 2
        return np.sqrt(x)

    with tp.debug_nans(True):
        assert "encountered in sqrt" in found(f, np.ones(2))
    assert len(seen) == 1
    f = tp.jit(lambda x: tp.io_callback(np.log, tp.ShapeDtypeStruct((), float), x))
    with tp.debug_nans(True), np.errstate(all="ignore"):
        assert "or comes from a callback" in found(f, -1.0)


def test_what_no_operation_gives():
    with tp.debug_nans(True):
        assert "in no operation: it is a constant or an argument" in found(
            tp.jit(lambda x: x), np.nan
        )


def test_infinities_and_settings():
    f = tp.jit(lambda x: 1 / x)
    with tp.debug_infs(True):
        assert "invalid value (inf) encountered in divide" in found(f, 0.0)
        assert np.isnan(f(np.nan))
    tp.config.update("jax_debug_nans", True)
    try:
        assert tp.config.jax_debug_nans and not tp.config.jax_debug_infs
        assert "nan" in found(f, np.nan)
        with tp.debug_nans(False):
            assert np.isnan(f(np.nan))
        assert tp.config.jax_debug_nans
    finally:
        tp.config.update("jax_debug_nans", False)
    assert f(0.0) == np.inf


def test_a_context_is_for_its_thread_and_the_configuration_for_all():
    """As in JAX: what a context says goes before what `config` says."""
    f, x = tp.jit(logarithm), np.array([1.0, -1.0])

    def elsewhere():
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(f, x).result()

    with tp.debug_nans(True):
        assert np.isnan(elsewhere()[1]) and "nan" in found(f, x)
        with tp.debug_nans(False), tp.debug_infs(True):
            assert np.isnan(f(x)[1])
        assert "nan" in found(f, x)
    tp.config.update("jax_debug_nans", True)
    try:
        assert "nan" in found(elsewhere)
        with tp.debug_nans(False):
            assert np.isnan(f(x)[1]) and not tp.config.jax_debug_nans
            assert "nan" in found(elsewhere)
        assert tp.config.jax_debug_nans and "nan" in found(f, x)
    finally:
        tp.config.update("jax_debug_nans", False)
    assert np.isnan(f(x)[1]) and np.isnan(elsewhere()[1])
