"""numpy.pad in every mode, with every argument, against NumPy."""

import numpy as np
import pytest
from helpers import assert_same, ordinary, seeds, shapes
from hypothesis import given, settings
from hypothesis import strategies as st

import transpile
from transpile.test_util import check_grads

MODES = ["edge", "wrap", "reflect", "symmetric", "maximum", "minimum", "mean", "linear_ramp"]
ARGUMENTS = {
    "reflect": [{"reflect_type": "odd"}, {"reflect_type": "even"}],
    "symmetric": [{"reflect_type": "odd"}],
    "maximum": [{"stat_length": 2}, {"stat_length": ((1, 3),)}, {"stat_length": 99}],
    "minimum": [{"stat_length": (1, 2)}],
    "mean": [{"stat_length": 2}, {"stat_length": ((3, 1),)}],
    "median": [{}, {"stat_length": 2}],
    "linear_ramp": [{"end_values": 5}, {"end_values": ((1, -2),)}, {"end_values": (0.5, 3)}],
    "constant": [{}, {"constant_values": 3}, {"constant_values": ((1, 2),)}],
}


@settings(max_examples=200)
@given(
    st.sampled_from(MODES),
    st.sampled_from(["i4", "u1", "f4", "f8", "c16"]),
    shapes(max_rank=2),
    seeds,
    st.data(),
)
def test_mode_of_pad_is_numpys(mode, dtype, shape, seed, data):
    if mode in ("maximum", "minimum") and dtype == "c16":
        return
    width = st.tuples(st.integers(0, 9), st.integers(0, 9))
    widths = [data.draw(width) for _ in shape] or ((0, 0),)
    extra = data.draw(st.sampled_from([{}, *ARGUMENTS.get(mode, [])]))
    if mode == "linear_ramp" and dtype in ("u1", "i4"):
        extra = {}  # rounding of a ramp between integers to the left or right of one
    x = ordinary(dtype, shape, seed)
    assert_same(lambda a: np.pad(a, widths, mode, **extra), x, tolerance=1e-6)


@pytest.mark.parametrize("mode", [m for m in ARGUMENTS if m != "median"])
def test_argument_of_a_mode_is_numpys(mode):
    for extra in ARGUMENTS[mode]:
        assert_same(
            lambda a: np.pad(a, 3, mode, **extra), ordinary("f8", (4, 3), 1), tolerance=1e-14
        )
        assert_same(
            lambda a: np.pad(a, ((0, 1), (5, 0)), mode, **extra),
            ordinary("f4", (4, 3), 1),
            tolerance=1e-6,
        )


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.pad(a, {0: 1, -1: (0, 2)}),
        lambda a: np.pad(a, (2,), "edge"),
        lambda a: np.pad(a, 1, "nothing"),
        lambda a: np.pad(a, 1.5),
        lambda a: np.pad(a, -1),
        lambda a: np.pad(a, ((1, 2), (3, 4), (5, 6))),
        lambda a: np.pad(a, 1, "edge", constant_values=1),
        lambda a: np.pad(a[:0], 1, "edge"),
        lambda a: np.pad(a[:0], ((0, 0), (1, 1)), "edge"),
        lambda a: np.pad(a, 1, "maximum", stat_length=0),
        lambda a: np.pad(a, 1, "maximum", stat_length=-2),
        lambda a: np.pad(a, 0, "wrap"),
    ],
)
def test_widths_and_errors_of_pad_are_numpys(f):
    assert_same(f, ordinary("f8", (4, 3), 2))


def test_function_as_mode_changes_vectors_in_place_or_gives_new_ones():
    def filled(vector, pad_width, axis, kwargs):
        low, high = pad_width
        inner = vector[low : vector.shape[0] - high]
        ends = [np.full(low, kwargs["value"]), inner, np.full(high, kwargs["value"])]
        return np.concatenate(ends)

    def numpys(vector, pad_width, axis, kwargs):
        vector[:] = filled(vector, pad_width, axis, kwargs)

    x = ordinary("f8", (3, 4), 5)
    expected = np.pad(x, ((1, 2), (0, 3)), numpys, value=7.0)
    found = transpile.jit(lambda a: np.pad(a, ((1, 2), (0, 3)), filled, value=7.0))(x)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mode", MODES)
def test_derivative_of_pad_is_right(mode):
    x = np.array([[0.3, 1.7, -0.4, 2.1], [1.2, 0.1, 0.9, -1.3]])
    check_grads(lambda a: np.pad(a, ((1, 2), (3, 1)), mode), (x,), order=1)
    if mode in ("reflect", "symmetric"):
        check_grads(lambda a: np.pad(a, 5, mode, reflect_type="odd"), (x,), order=1)
