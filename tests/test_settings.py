"""Settings of JAX's are accepted where they hold anyway, and refused where they do not."""

from __future__ import annotations

import pytest

import transpile


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jax_enable_x64", True),
        ("jax_platforms", "cpu"),
        ("jax_platform_name", "cpu"),
        ("jax_default_matmul_precision", "highest"),
        ("jax_debug_nans", False),
        ("jax_default_prng_impl", "threefry2x32"),
    ],
)
def test_what_holds_anyway_may_be_asked_for(name, value):
    transpile.config.update(name, value)
    assert getattr(transpile.config, name) == value


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("jax_enable_x64", False, "jax_enable_x64 is True and cannot be False: say dtype="),
        ("jax_disable_jit", True, "transpile.disable_jit()"),
        ("jax_debug_nans", True, "jax_debug_nans is False and cannot be True"),
        ("jax_platforms", "gpu", "jax_platforms is 'cpu' and cannot be 'gpu'"),
        ("jax_default_matmul_precision", "bfloat16", "cannot be 'bfloat16'"),
    ],
)
def test_what_does_not_hold_is_refused(name, value, words):
    with pytest.raises(ValueError) as error:
        transpile.config.update(name, value)
    assert words in str(error.value)
    assert getattr(transpile.config, name) != value


def test_an_unknown_setting_is_named():
    with pytest.raises(AttributeError, match="^Unrecognized config option: jax_enable_x65$"):
        transpile.config.update("jax_enable_x65", True)
    with pytest.raises(AttributeError, match="^Unrecognized config option: jax_enable_x65$"):
        _ = transpile.config.jax_enable_x65
