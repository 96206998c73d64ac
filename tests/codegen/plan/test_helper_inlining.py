"""Outlined helpers: long programs call them, in vector lanes of the width of their loops."""

import platform
import re
from functools import partial

import numpy as np
import pytest
from thorough import one_in, thorough

import transpile
from transpile.build.compiler_probe import find_compiler
from transpile.machine import Machine
from transpile.options import Options
from transpile.scipy import special

pytestmark = pytest.mark.full_level

ON_X86 = platform.machine() == "x86_64" and find_compiler(Options()).kind == "gcc"


def chain(x, steps=60):
    for k in range(steps):
        x = np.abs(np.sin(x) * (1 + k / 200) - 0.5)
    return x


def masked(x, steps=40):
    mask = x > 0
    for k in range(steps):
        e = np.exp(x * (1 + k / 200))
        x = x - e / np.where(mask, e, 0).sum(axis=1, keepdims=True)
    return x


def calls(function, x, name):
    """How often the compiled function calls a helper for one number, and for several."""
    unrolled = transpile.jit(function, python_control_flow=False)
    text = unrolled.lower(x).compile().as_text("asm")
    targets = re.findall(r"\bcall\s+(\w+)", text)
    several = [t for t in targets if t.startswith("_ZGV") and t.endswith(f"_{name}")]
    return targets.count(name), len(several)


@pytest.mark.skipif(not ON_X86, reason="gcc for x86 names its copies for vectors so")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("count", [4, 8, 16, 64])
@one_in(3)
def test_few_elements_go_through_long_chains_in_vector_lanes(dtype, count):
    x = np.linspace(-3, 3, count).astype(dtype)
    single, several = calls(partial(chain, steps=160), x, f"sin_near_f{8 * x.itemsize}")
    assert single == 0 and several >= 150


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("count", [1, 3, 4, 5, 8, 11, 16, 33])
@one_in(5)
def test_an_element_has_the_same_bits_at_any_place_among_any_number(dtype, count):
    x = np.resize(np.array([0.3, -2.0, 1e-3], dtype), count)
    found = transpile.jit(chain)(x)
    alone = transpile.jit(chain)(x[:3])
    np.testing.assert_array_equal(found, np.resize(alone, count))
    np.testing.assert_allclose(found, chain(x), rtol=1e-3 if dtype == "f4" else 1e-9)


def chosen(x, steps=40):
    for k in range(steps):
        x = np.where(x > 0.5, np.exp(x * (k / 200 - 1)), np.sin(x))
    return x


@thorough
@pytest.mark.skipif(not ON_X86, reason="gcc for x86 names its copies for vectors so")
def test_helpers_beside_choices_are_called_in_vector_lanes():
    x = np.random.default_rng(0).standard_normal((8, 64))
    single, several = calls(masked, x, "exp_f64")
    assert single == 0 and several > 0
    np.testing.assert_allclose(transpile.jit(masked)(x), masked(x), rtol=1e-9)


@pytest.mark.skipif(not ON_X86, reason="gcc for x86 names its copies for vectors so")
def test_helpers_in_arms_of_choices_are_called_in_vector_lanes():
    x = np.random.default_rng(0).standard_normal(64)
    single, several = calls(chosen, x, "exp_f64")
    assert single == 0 and several > 0
    np.testing.assert_allclose(transpile.jit(chosen)(x), chosen(x), rtol=1e-9)


@pytest.mark.skipif(not ON_X86, reason="gcc for x86 names its copies for vectors so")
def test_long_programs_of_half_precision_are_in_vector_lanes():
    x = np.random.default_rng(0).uniform(0, 10, 64).astype("f2")
    single, several = calls(np.i0, x, "round_f16")
    assert single == 0 and several > 0
    np.testing.assert_allclose(transpile.jit(np.i0)(x), np.i0(x), rtol=5e-3)


def test_series_in_arms_of_choices_are_computed_only_where_they_are_chosen():
    def iterated(x):
        for k in range(20):
            x = np.where(x > 0.5, special.gammainc(2.5 + k, np.abs(x)), np.exp(-x) * (x + k))
        return x

    text = transpile.jit(iterated).lower(np.ones(64)).as_text("loops")
    assert "= exp(" in text or "= multiply(exp(" in text
    assert "= igamma(" not in text and "igamma(" in text


@pytest.mark.parametrize(("limits", "outlined"), [((10**6, 1), False), ((0, 1), True)])
def test_the_machine_says_what_is_worth_a_call(limits, outlined):
    most, fewest = limits
    machine = Machine(most_inlined_statements=most, fewest_called_statements=fewest)
    x = np.linspace(-3, 3, 8)
    compiled = transpile.jit(partial(chain, steps=3), compiler_options={"machine": machine})
    assert ("noinline" in compiled.lower(x).as_text()) == outlined
    np.testing.assert_array_equal(compiled(x), transpile.jit(partial(chain, steps=3))(x))
