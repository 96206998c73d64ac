"""Reshaped arrays are read by one linear subscript where that is simpler."""

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered
from helpers import ordinary

from transpile import jit, lax
from transpile.options import Options
from transpile.schedule.domain.linearize import linearize

pytestmark = pytest.mark.full_level

X = ordinary("f8", (6, 4))


@pytest.mark.parametrize("shape", [(3, 8), (24,), (2, 3, 4), (8, 3), (2, 2, 6)])
def test_a_reshaped_array_is_walked_by_its_position(shape):
    program = lowered(lambda x: np.sin(x.reshape(shape)), X)
    if "//" not in str(program):
        assert linearize(program, Options()) == program  # its axes are those of x
        return
    after = assert_steps_agree(program, [X], linearize)
    assert "//" not in str(after) and "%" not in str(after)
    assert after.kernels[0].shapes == (("x0", (24,)),)


def test_all_accesses_of_an_array_change_together():
    y = ordinary("f8", (3, 8))
    program = lowered(lambda x, y: x.reshape(3, 8) * y + x[0, 0], X, y)
    after = assert_steps_agree(program, [X, y], linearize)
    assert "x0[0]" in str(after)


def test_plain_subscripts_stay():
    program = lowered(lambda x: x.T[1:] * 2, X)
    assert linearize(program, Options()) == program


def test_what_stays_a_quotient_stays():
    program = lowered(lambda x: x.T.reshape(3, 8) * 2, X)
    assert "//" in str(program)
    assert linearize(program, Options()) == program


def transposed(x):
    """One step: the softmax of each matrix, by columns in the shape of its rows."""
    e = np.exp(x - x.max(axis=(1, 2), keepdims=True))
    return (e / e.sum(axis=(1, 2), keepdims=True)).transpose(0, 2, 1).reshape(x.shape)


def test_buffers_that_are_exchanged_change_together():
    def f(x):
        return lax.fori_loop(0, 3, lambda _, x: transposed(x), x)

    x = ordinary("f8", (2, 6, 4))
    after = assert_steps_agree(lowered(f, x), [x], linearize)
    assert "Swap" in str(after.kernels)
    assert {shape for _, shape in after.kernels[0].shapes} == {(48,)}
    np.testing.assert_allclose(jit(f)(x), transposed(transposed(transposed(x))), rtol=1e-14)


@pytest.mark.parametrize("copies", [2, 5])
def test_windows_of_a_repeated_array_are_read_from_memory(copies):
    x = ordinary("f8", (3, 5, 7))

    def f(x):
        return np.convolve(np.broadcast_to(x, (copies, *x.shape)).ravel(), [1.0, -2.0, 3.0, 0.5])

    assert "%" not in str(lowered(f, x))
    np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-12)
