"""`x.view(dtype)` of traced arrays: the bytes of NumPy's views."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from thorough import one_in, tries

import transpile
from transpile.errors import UnsupportedError

DTYPES = ("?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16")


def numbers(dtype, shape):
    """Arrays of any bytes, but for bools, which have two values."""
    if dtype == "?":
        return arrays.arrays(np.dtype("?"), shape)
    size = np.dtype(dtype).itemsize
    raw = arrays.arrays(np.dtype("u1"), (*shape[:-1], shape[-1] * size))
    return raw.map(lambda x: x.view(dtype))


@st.composite
def cases(draw):
    """An array, and a dtype that its last axis can be viewed as."""
    own, wanted = draw(st.sampled_from(DTYPES)), draw(st.sampled_from(DTYPES))
    per = max(1, np.dtype(wanted).itemsize // np.dtype(own).itemsize)
    shape = (*draw(st.lists(st.integers(0, 3), max_size=2)), per * draw(st.integers(0, 3)))
    return draw(numbers(own, shape)), wanted


def same(x, y):
    """True if two arrays have the same bytes, but for NaNs, which are not told apart."""
    if y.dtype.kind in "fc":
        parts = [(a.real, a.imag) if y.dtype.kind == "c" else (a,) for a in (np.asarray(x), y)]
        return all(
            np.array_equal(a, b, equal_nan=True)
            and np.array_equal(np.signbit(a)[a == a], np.signbit(b)[b == b])
            for a, b in zip(*parts, strict=True)
        )
    return np.asarray(x).tobytes() == y.tobytes()


@settings(max_examples=tries(40), deadline=None)
@given(cases())
def test_bytes_are_those_of_numpy(case):
    x, wanted = case
    found = transpile.jit(lambda x: x.view(wanted))(x)
    expected = x.view(wanted)
    if wanted == "?":  # bytes other than 0 and 1 are no bools
        expected = x.view("u1") != 0
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert same(found, expected)


def test_a_number_without_axes():
    assert transpile.jit(lambda x: x.view("u4"))(np.float32(1)) == 0x3F800000
    parts = transpile.jit(lambda z: z.sum().view("u8"), python_control_flow=False)
    with pytest.raises(ValueError, match="Changing the dtype of a 0d array is only supported"):
        parts(np.ones(3, "f4"))


def test_a_last_axis_that_does_not_fit():
    with pytest.raises(ValueError, match=r"its size must be a divisor of the total size in bytes"):
        transpile.jit(lambda x: x.view("f8"))(np.ones((2, 3), "f4"))


def test_classes_of_arrays():
    x = np.ones(3)
    np.testing.assert_array_equal(transpile.jit(lambda x: x.view(np.ndarray))(x), x)
    np.testing.assert_array_equal(transpile.jit(lambda x: x.view(type=np.ndarray))(x), x)
    with pytest.raises(TypeError, match="cannot be viewed as matrix"):
        transpile.jit(lambda x: x.view(np.matrix))(x)


def test_a_view_of_the_same_dtype_is_written_through():
    def f(x):
        x = x + 0
        v = x.view()
        v[1:] = 7
        w = x.view(np.float64)
        w[0] += 1
        return x

    np.testing.assert_array_equal(transpile.jit(f)(np.zeros(3)), f(np.zeros(3)))


def into_view(x):
    y = x + 1
    y.view("i8")[0] = 3
    return y


def into_base(x):
    y = x + 1
    v = y.view("i8")
    y[1:] = 3
    return v, y


def into_both(x):
    y = x + 1
    v = y.view("u4")
    y[1] = 3
    v[::2] += 1
    y += 1
    v[-1] ^= 0x80000000
    return v, y, v.copy(), y[::-1]


def into_an_argument(x):
    v = x.view("i8")
    v[:] = x  # the numbers, as integers in their place
    return v


def into_pairs(x):
    z = x.view("c16")
    z *= 1j
    return x, z


def of_a_copy(x):
    v = x.view("i8").copy()
    v[0] = 3
    return v, x


@pytest.mark.parametrize(
    "function", [into_view, into_base, into_both, into_an_argument, into_pairs, of_a_copy]
)
@one_in(2)
def test_what_is_assigned_to_is_seen_in_the_other(function, shared_cache):
    given, expected = (np.array([1.0, 2.5, -3.0, 4.0]) for _ in range(2))
    pairs = zip(
        transpile.tree.leaves(transpile.jit(function)(given)),
        transpile.tree.leaves(function(expected)),
        strict=True,
    )
    for found, wanted in pairs:
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(given, expected)


def test_a_view_of_a_part_ends_the_other():
    def into_part(x):
        y = x + 1
        y[1:].view("i8")[0] = 3
        return y

    with pytest.raises(UnsupportedError, match="one is a view of the other with another dtype"):
        transpile.jit(into_part)(np.ones(3))


def test_derivatives_go_through_complex_parts():
    x = np.array([1.0, 2.0, 3.0, -1.0])
    found = transpile.grad(lambda x: (np.abs(x.view("c16")) ** 2 * np.array([1, 3])).sum())(x)
    np.testing.assert_allclose(found, 2 * x * [1, 1, 3, 3])
    found = transpile.grad(lambda x: ((x + 1j * x).view("f8") ** 2).sum())(x)
    np.testing.assert_allclose(found, 4 * x)


def test_batches_and_runtime_sizes():
    x = np.arange(12, dtype="f4").reshape(3, 4)
    found = transpile.vmap(lambda row: row.view("i8"))(x)
    np.testing.assert_array_equal(found, x.view("i8"))
    rows = transpile.jit(lambda x: x.view("u1"), dynamic_shapes={"x": ("n", 4)})
    np.testing.assert_array_equal(rows(x), x.view("u1"))
    wide = transpile.jit(lambda x: x.view("f8"), dynamic_shapes={"x": (3, "n")})
    with pytest.raises(UnsupportedError, match="a last axis of n elements cannot be viewed"):
        wide(x)
