"""Divisions of integers that 32 bits hold are such divisions, and no others."""

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import jit

pytestmark = pytest.mark.full_level

LARGE = 2**32


def squares(x, out):
    for i in range(len(out)):
        out[i] = (i * i + 3) % 11 + (i + 5) // 3
    return out


def of_elements(x, out):
    for i in range(len(out)):
        out[i] = x[i] % 11 + x[i] // 3
    return out


def of_small_elements(x, out):
    for i in range(len(out)):
        out[i] = (x[i] & 0xFFFFFFFF) % 11 + (x[i] & 0xFFFFFFFF) // 65521
    return out


def of_larger_elements(x, out):
    for i in range(len(out)):
        out[i] = (x[i] & 0x1FFFFFFFF) % 11
    return out


def of_negative_numbers(x, out):
    for i in range(len(out)):
        out[i] = (i - 5) % 11 + (i - 7) // 3
    return out


def by_negative_numbers(x, out):
    for i in range(len(out)):
        out[i] = (i * i) % -11
    return out


def by_counters(x, out):
    for i in range(len(out)):
        out[i] = 1000 % (i + 1) + 77 * i // (i + 3)
    return out


def by_what_may_be_0(x, out):
    for i in range(len(out)):
        out[i] = 1000 % (x[i] & 3)
    return out


@pytest.mark.parametrize(
    ("function", "is_narrow"),
    [
        (squares, True),
        (of_elements, False),
        (of_small_elements, True),
        (of_larger_elements, False),
        (of_negative_numbers, False),
        (by_negative_numbers, False),
        (by_counters, True),
        (by_what_may_be_0, False),
    ],
)
@one_in(2)
def test_which_are_narrow(function, is_narrow):
    edges = [0, 1, 10, 11, LARGE - 1, LARGE, LARGE + 11, 2**62, -1, -12, -LARGE]
    x = np.array(edges * 40)  # so long that Python does not unroll the loop
    x |= function is by_what_may_be_0  # Python would raise
    jitted = jit(function)
    text = jitted.lower(x, np.zeros_like(x)).as_text("loops")
    assert ("u32(" in text) == is_narrow, text
    expected = function(x, np.zeros_like(x))
    np.testing.assert_array_equal(jitted(x, np.zeros_like(x)), expected)


def test_by_a_size_that_is_known_at_run_time():
    def ring(x):
        out = np.zeros(len(x), np.int64)
        for i in range(len(x)):
            out[i] = (i * 7 + 3) % len(x) + x[i]
        return out

    (n,) = transpile.dims("n", "n <= 4096")
    compiled = jit(ring).lower(transpile.ShapeDtypeStruct((n,), np.int64)).compile()
    assert "u32(" in compiled.as_text("loops")
    for n in (1, 2, 50, 333):
        np.testing.assert_array_equal(compiled(np.arange(n)), ring(np.arange(n)))
