"""Magnitudes: which angles are known to be ordinary, that they are, and that results stay."""

import numpy as np
import pytest
from graphs import lowered, statements_of
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

import transpile
from transpile import lax, random
from transpile.analysis.value_range import ordinary_angles
from transpile.ir.loop_ir import Apply, If, Update
from transpile.ir.loop_rewrite import parts, walk
from transpile.options import Options
from transpile.primitives.elementary.primitives import LARGEST_ANGLE
from transpile.schedule.lanes.trig_versions import version_trig_loops
from transpile.schedule.vectorize import vectorize_loops

pytestmark = pytest.mark.full_level

X = np.linspace(-3, 3, 9)


def angles_of(f, *args):
    """How many angles there are, and how many are known to be ordinary."""
    program = lowered(f, *args)
    found = {
        p.args[0]
        for k in program.kernels
        for s in walk(k.body)
        for p in parts(s)
        if isinstance(p, Apply) and p.primitive.near and p.dtype.kind in p.primitive.near_of
    }
    known = set().union(*(ordinary_angles(k) for k in program.kernels))
    assert known <= found
    return len(found), len(known)


# A function, what makes its angles, and how many of them there are; those are known to be ordinary,
# but for the one in the other function there.
KNOWN = {
    "a sine": (np.cos, lambda x: np.sin(x) * 100 + 3, 2),
    "a product": (np.cos, lambda x: np.sin(x) * np.tanh(x), 2),
    "a square": (np.sin, lambda x: np.sin(x) ** 2 - 1, 2),
    "a quotient": (np.cos, lambda x: np.sign(x) / 1e-9, 1),
    "a choice": (np.tan, lambda x: np.where(x > 0, np.arctan(x), -2.0), 1),
    "a bound": (np.tan, lambda x: np.maximum(np.sin(x), -0.5), 2),
    "a rounded number": (np.cos, lambda x: np.floor(np.sin(x) * 7), 2),
    "a hypotenuse": (np.cos, lambda x: np.hypot(np.cos(x), np.arctan2(x, 2 * x)), 2),
    "a truth": (np.cos, lambda x: (x > 0).astype("f8"), 1),
    "a counter": (np.cos, lambda x: lax.iota("f8", 9) * 0.1 + np.tanh(x), 1),
    "a short integer": (np.cos, lambda x: (x < 0).astype("i4") * 7.0, 1),
}
UNKNOWN = {
    "a number": np.sin,
    "a product with one": lambda x: np.sin(np.arctan(x) * x),
    "a quotient by one": lambda x: np.sin(2.0 / x),
    "a quotient by zero": lambda x: np.sin(np.tanh(x) / 0.0),
    "a choice of one": lambda x: np.sin(np.where(x > 0, np.tanh(x), x)),
    "a bound of one side": lambda x: np.sin(np.minimum(x, 3.0)),
    "an exponential": lambda x: np.cos(np.exp(x)),
    "a long integer": lambda x: np.cos(x.astype("i8").astype("f8")),
    "a huge multiple": lambda x: np.sin(np.tanh(x) * 2.0**40),
    "an infinity": lambda x: np.sin(np.tanh(x) * np.inf),
    "a complex number": lambda x: np.abs(np.sin(np.sin(x * 1j) * 2)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_angles_are_known_to_be_ordinary_that_come_from_bounded_numbers(name):
    function, angles, count = KNOWN[name]
    assert angles_of(lambda x: function(angles(x)), X) == (count, 1)


@pytest.mark.parametrize("name", UNKNOWN)
def test_others_are_not(name):
    total, known = angles_of(UNKNOWN[name], X)
    assert total > 0
    assert known == 0


def test_a_tangent_is_not_bounded():
    assert angles_of(lambda x: np.sin(np.tan(np.tanh(x))), X) == (2, 1)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shift", [0, 1])
def test_random_numbers_are_known_to_be_small(dtype, shift):
    """Not if a bit in front of those places is drawn as well."""
    size, behind = (32, 9) if dtype == "f4" else (64, 12)
    kept = f"u{size // 8}"

    def f(bits):
        one = np.ones((), dtype).view(kept)
        shifted = lax.shift_right_logical(bits, np.array(behind - shift, kept))
        return np.cos(lax.bitcast_convert_type(shifted | one, dtype) * 7)

    bits = np.random.default_rng(0).integers(2**size, size=9, dtype=kept)
    assert angles_of(f, bits) == (1, 1 - shift)
    np.testing.assert_allclose(transpile.jit(f)(bits), f(bits), rtol=1e-5)


def test_angles_of_random_numbers_need_no_second_version():
    key = np.array([1, 7], "u4")
    text = transpile.jit(lambda key: random.cauchy(key, (2000,), "f4")).lower(key).as_text()
    assert "tan_near_f32" in text
    assert "largest" not in text


def test_numbers_of_other_iterations_are_not_known():
    """A variable that a loop changes."""

    def f(x):
        return lax.fori_loop(0, 60, lambda _, y: np.sin(y) + 4 * y, x)

    assert angles_of(f, 0.5) == (1, 0)
    np.testing.assert_allclose(transpile.jit(f)(0.5), f(0.5), rtol=1e-6)


@settings(deadline=None, max_examples=tries(12))
@given(st.sampled_from(["f4", "f8"]), st.sampled_from(sorted(KNOWN)), st.integers(0, 99))
def test_results_have_the_bits_of_functions_of_any_angle(dtype, name, seed):
    """Where angles come as an argument, nothing is known of them."""
    function, angles, _ = KNOWN[name]
    random = np.random.default_rng(seed)
    x = (random.standard_normal(9) * 10.0 ** random.integers(-3, 9)).astype(dtype)
    x[random.integers(9, size=3)] = np.inf, np.nan, -0.0
    found = transpile.jit(lambda x: function(angles(x)))(x)
    expected = transpile.jit(function)(transpile.jit(angles)(x))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(expected[found == 0]))


def test_known_angles_need_no_second_version():
    program = vectorize_loops(lowered(lambda x: x * np.cos(lax.iota("f8", 9) * 0.1), X), Options())
    assert statements_of(version_trig_loops(program, Options()), If) == []
    both = vectorize_loops(
        lowered(lambda x: np.cos(x) * np.cos(lax.iota("f8", 9) * 0.1), X), Options()
    )
    (far,) = statements_of(version_trig_loops(both, Options()), If)
    (flag,) = statements_of(version_trig_loops(both, Options()), Update)
    assert far.condition.args[0] == flag.target


def test_their_functions_are_those_for_ordinary_angles():
    text = transpile.jit(lambda x: np.sin(np.sin(x))).lower(X[:2].astype("f4")).as_text()
    assert "sin_near_f32(sin_f32(" in text


def test_the_largest_angle_is_one_that_the_functions_take():
    f = transpile.jit(lambda x: np.sin(np.sign(x) * (LARGEST_ANGLE / 2)))
    np.testing.assert_allclose(f(X), np.sin(np.sign(X) * 2.0**39), rtol=1e-14)
