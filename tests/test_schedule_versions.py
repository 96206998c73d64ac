"""Loops over angles in two versions: the fast one for ordinary angles, and the one for all."""

import numpy as np
import pytest

import transpile


@transpile.jit
def waves(x, y):
    return np.sin(x) * np.cos(2 * y), np.tan(x + y)


def expected(x, y):
    return np.sin(x) * np.cos(2 * y), np.tan(x + y)


def kernels(function, *args):
    text = function.lower(*args).compile().as_text()
    return text[text.index("/* test_schedule_versions.py") :]


ORDINARY = np.linspace(-50, 50, 1003)
PLACES = [0, 500, 1000, 1002]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("angle", [1e300, -(2.0**41), 1e22, np.inf, np.nan])
def test_one_huge_angle_anywhere_is_right_and_so_are_the_others(place, angle):
    x, y = ORDINARY.copy(), ORDINARY[::-1].copy()
    x[place] = angle
    with np.errstate(invalid="ignore"):
        for a, b in zip(waves(x, y), expected(x, y), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_a_nan_does_not_hide_a_huge_angle():
    x = ORDINARY.copy()
    x[3], x[700] = np.nan, 1e300
    assert waves(x, x)[0][700] == pytest.approx(np.sin(1e300) * np.cos(2e300), rel=1e-12)


def test_the_bits_do_not_depend_on_the_version():
    x = ORDINARY.copy()
    alone = waves(x, x)[0]
    x[5] = 1e30
    together = waves(x, x)[0]
    np.testing.assert_array_equal(np.delete(alone, 5), np.delete(together, 5))


def test_the_loop_exists_twice_for_double_precision_alone():
    assert kernels(waves, ORDINARY, ORDINARY).count("for (") == 2
    single = ORDINARY.astype("f4")
    assert kernels(waves, single, single).count("for (") == 1


def test_a_loop_that_overwrites_what_it_reads_is_not_run_twice():
    donating = transpile.jit(lambda x: np.sin(x) + 1, donate_argnums=0)
    x = ORDINARY.copy()
    assert "sin_near_f64" not in donating.lower(x).compile().as_text()
    x[7] = 1e300
    wanted = np.sin(x) + 1
    np.testing.assert_allclose(donating(x), wanted, rtol=1e-12)


def test_precise_math_uses_the_library():
    precise = transpile.jit(np.sin, compiler_options={"precise_math": True})
    text = precise.lower(ORDINARY).compile().as_text()
    assert "sin_near" not in text and "= sin(" in text
