"""Settings by JAX's names: accepted where they hold or change nothing, refused elsewhere."""

from __future__ import annotations

import pytest

import transpile


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
