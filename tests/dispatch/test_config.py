"""Settings by JAX's names: accepted where they hold or change nothing, refused elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import transpile
from transpile.dispatch.switches import GENERATORS
from transpile.random.keys import KINDS


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jax_enable_x64", True),
        ("jax_platforms", "cpu"),
        ("jax_platform_name", "cpu"),
        ("jax_default_device", None),
        ("jax_default_matmul_precision", "highest"),
        ("jax_debug_nans", False),
        ("jax_default_prng_impl", "threefry2x32"),
        ("jax_check_tracer_leaks", True),
        ("jax_compilation_cache_dir", "/nowhere"),
        ("jax_traceback_filtering", "off"),
    ],
)
def test_what_holds_or_changes_nothing_may_be_asked_for(name, value):
    before = getattr(transpile.config, name)
    transpile.config.update(name, value)
    assert getattr(transpile.config, name) == transpile.config.read(name) == value
    transpile.config.update(name, before)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("jax_enable_x64", False, "jax_enable_x64 is True and cannot be False: say dtype="),
        ("jax_platforms", "gpu", "jax_platforms is 'cpu' and cannot be 'gpu'"),
        ("jax_threefry_partitionable", False, "random keys are those of JAX's threefry2x32"),
        ("jax_numpy_rank_promotion", "raise", "operands are promoted and broadcast as NumPy does"),
    ],
)
def test_what_does_not_hold_is_refused(name, value, words):
    with pytest.raises(ValueError) as error:
        transpile.config.update(name, value)
    assert words in str(error.value)
    assert getattr(transpile.config, name) != value


def test_an_unknown_setting_is_named():
    with pytest.raises(AttributeError, match=r"^Unrecognized config option: jax_enable_x65$"):
        transpile.config.update("jax_enable_x65", True)
    with pytest.raises(AttributeError, match=r"^Unrecognized config option: jax_enable_x65$"):
        _ = transpile.config.jax_enable_x65
    with pytest.raises(AttributeError, match=r"^Unrecognized config option: x$"):
        transpile.config.read("x")


def test_the_generator_of_keys_that_name_none():
    """Traces of before are dropped. The words and numbers are JAX's."""
    random, config = transpile.random, transpile.config
    draw = transpile.jit(lambda seed: random.uniform(random.key(seed), (2,)))
    of_raw = transpile.jit(lambda key: random.split(random.fold_in(key, 3))[1])
    by_threefry, by_rbg = [0.86539290, 0.45320441], [0.78952948, 0.34420707]
    np.testing.assert_allclose(draw(3), by_threefry, rtol=1e-6)
    with transpile.default_prng_impl("rbg"):
        assert config.jax_default_prng_impl == random.key_impl(random.key(0)) == "rbg"
        np.testing.assert_allclose(draw(3), by_rbg, rtol=1e-6)
        raw = random.PRNGKey(7)
        assert raw.tolist() == [0, 7, 0, 7]
        assert of_raw(raw).tolist() == [4073741833, 2748900490] * 2
        np.testing.assert_allclose(random.normal(raw, (2,)), [-0.47239169, 0.74111532], rtol=1e-6)
        assert random.key_data(random.wrap_key_data(raw)).tolist() == raw.tolist()
        with pytest.raises(TypeError, match=r"end with \(4,\); got shape=\(2,\) for impl='rbg'"):
            random.split(np.zeros(2, np.uint32))
    assert config.jax_default_prng_impl == "threefry2x32"
    np.testing.assert_allclose(draw(3), by_threefry, rtol=1e-6)
    assert of_raw(random.PRNGKey(7)).tolist() == [4073741833, 2748900490]
    with pytest.raises(
        ValueError, match=r"^jax_default_prng_impl is one of 'threefry2x32', .*'pcg'"
    ):
        config.update("jax_default_prng_impl", "pcg")
    assert tuple(KINDS) == GENERATORS


def test_contexts_hold_until_they_end():
    assert transpile.config.x64_enabled
    with transpile.enable_x64(True), transpile.default_matmul_precision("float32"):
        assert transpile.config.jax_default_matmul_precision == "float32"
    assert transpile.config.jax_default_matmul_precision is None
    with transpile.checking_leaks():
        assert transpile.config.jax_check_tracer_leaks
    assert not transpile.config.jax_check_tracer_leaks
    with (
        pytest.raises(ValueError, match="jax_enable_x64 is True and cannot be False"),
        transpile.enable_x64(False),
    ):
        raise AssertionError("the context was entered")


def test_jit_is_switched_off_and_on():
    runs = []

    @transpile.jit
    def function(x):
        runs.append(type(x))
        return x

    transpile.config.update("jax_disable_jit", True)
    try:
        assert transpile.config.jax_disable_jit
        function(1.0)
    finally:
        transpile.config.update("jax_disable_jit", False)
    assert runs == [float] and not transpile.config.jax_disable_jit
