"""numpy.lib.stride_tricks.sliding_window_view of traced arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

import transpile as tp
from transpile.errors import UnsupportedError

sliding_window_view = np.lib.stride_tricks.sliding_window_view


@st.composite
def windows(draw):
    """The arguments of a call: an array of up to three axes, windows that fit, and their axes."""
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    dtype = draw(st.sampled_from(["f8", "f4", "i4", "?", "c16"]))
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    x = draw(st.sampled_from([x, np.asfortranarray(x), x[::-1]]))
    if draw(st.booleans()):
        return x, tuple(draw(st.integers(0, d)) for d in shape), None
    axes = draw(st.lists(st.integers(-len(shape), len(shape) - 1), min_size=1, max_size=3))
    left, lengths = list(shape), []
    for axis in axes:  # the same one may come again
        lengths.append(draw(st.integers(0, left[axis])))
        left[axis] -= max(lengths[-1], 1) - 1
    if len(axes) == 1 and draw(st.booleans()):
        return x, lengths[0], axes[0]
    return x, tuple(lengths), tuple(axes)


@settings(max_examples=tries(25), deadline=None)
@given(windows())
def test_windows_are_numpys(case):
    x, window, axis = case
    expected = sliding_window_view(x, window, axis)
    found = tp.jit(lambda x: sliding_window_view(x, window, axis=axis))(x)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("shape", "window", "axis", "kind"),
    [
        ((4,), 5, None, ValueError),
        ((4, 4), 2, None, ValueError),
        ((4, 4), (2, 2), 0, ValueError),
        ((4,), -1, None, ValueError),
        ((4,), 2, 1, np.exceptions.AxisError),
        ((4,), 1.5, None, TypeError),
    ],
)
def test_errors_are_numpys_at_the_users_line(shape, window, axis, kind):
    x = np.zeros(shape)
    with pytest.raises(kind) as numpys:
        sliding_window_view(x, window, axis)
    with pytest.raises(kind, match=r"test_numpy_windows.py:\d+: ") as ours:
        tp.jit(lambda x: sliding_window_view(x, window, axis))(x)
    assert str(ours.value).endswith(str(numpys.value))


def test_windows_to_write_into_are_refused_with_the_remedy():
    with pytest.raises(UnsupportedError, match=r"test_numpy_windows.py:\d+: .*numpy.add.at"):
        tp.jit(lambda x: sliding_window_view(x, 2, writeable=True))(np.zeros(4))


def moving_average(x):
    return sliding_window_view(x, 8).mean(axis=-1)


def test_windows_are_subscripts_and_take_no_memory():
    x = np.random.default_rng(0).standard_normal(1000)
    lowered = tp.jit(moving_average).lower(x)
    program = lowered.compiler_ir("loops")
    assert not program.temporaries and "gather" not in lowered.as_text("c")
    np.testing.assert_allclose(lowered.compile()(x), moving_average(x), rtol=1e-13, atol=1e-15)


def test_derivatives_and_batches_of_windows():
    x = np.arange(1.0, 7.0)
    slope = tp.grad(lambda x: (sliding_window_view(x, 3) ** 2).sum())(x)
    np.testing.assert_array_equal(slope, 2 * x * [1, 2, 3, 3, 2, 1])
    stack = np.arange(12.0).reshape(2, 6)
    found = tp.vmap(lambda x: sliding_window_view(x, 2))(stack)
    np.testing.assert_array_equal(found, sliding_window_view(stack, 2, axis=1))


def test_windows_of_a_runtime_size():
    f = tp.djit(moving_average)
    for size in (8, 20, 33):
        np.testing.assert_allclose(f(np.arange(float(size))), np.arange(size - 7) + 3.5)
