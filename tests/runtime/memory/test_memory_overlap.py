"""Arguments that share memory, and arguments in awkward memory: results and buffers are NumPy's."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from thorough import one_in, tries

import transpile
from transpile.runtime.memory.overlap import overlap, overlaps_itself, unshared

# ------------------------------------------------------------------------------------- the tests


def owners(array, buffer):
    """For each byte of a buffer, how many elements of the array lie there."""
    start = buffer.__array_interface__["data"][0]
    found = np.zeros(buffer.size, int)
    for index in np.ndindex(array.shape):
        at = array.__array_interface__["data"][0] + sum(
            i * s for i, s in zip(index, array.strides, strict=True)
        )
        found[at - start : at - start + array.itemsize] += 1
    return found


@st.composite
def strided(draw):
    """A buffer of 200 bytes and an array of any strides in it."""
    buffer = np.zeros(200, np.uint8)
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    strides = draw(st.tuples(*[st.integers(-16, 16)] * len(shape)))
    low = sum(min(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True) if n)
    array = np.ndarray(tuple(shape), "f4", buffer, -low, strides)
    return buffer, array


@given(strided())
def test_arrays_that_overlap_themselves(drawn):
    buffer, array = drawn
    assert overlaps_itself(array) == bool((owners(array, buffer) > 1).any())


def test_large_windows_and_slices_are_told_apart():
    x = np.zeros((1000, 1000))
    assert not overlaps_itself(x[::3, ::-2].T)
    assert not overlaps_itself(x.T.reshape(10, 100, 1000)[:, ::5])
    assert overlaps_itself(as_strided(x, (999, 2, 1000), (8000, 8000, 8)))
    assert overlaps_itself(as_strided(x, (5,), (0,)))
    interleaved = as_strided(x, (2, 3), (24, 16))
    assert not overlaps_itself(interleaved)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8)), min_size=1, max_size=8))
def test_arrays_that_nothing_else_lies_in(ranges):
    buffer = np.zeros(30)
    arrays = [buffer[start : start + count] for start, count in ranges]
    found = unshared(arrays, range(len(arrays)))
    for n, array in enumerate(arrays):
        others = (other for m, other in enumerate(arrays) if m != n)
        is_shared = any(np.shares_memory(array, other) for other in others)
        assert (found[n] is None) == is_shared
        assert is_shared or found[n] is array


def test_arrays_of_any_strides_that_overlap():
    x = np.zeros((6, 6))
    assert not overlap(x[::2], x[1::2]) and not overlap(x[:, 0], x[:, 1])
    assert overlap(x[::2], x[:, 1]) and overlap(x, x.T[3])
    # Which is hard to tell, and so they do.
    many = as_strided(
        np.zeros(1 << 20, np.uint8), (8,) * 8, (1009, 2003, 3001, 4001, 5003, 2, 4, 6)
    )
    assert overlap(many, many[::-1, ::-1])


# -------------------------------------------------------------------------------------- donation

DONATED = {
    "reversed": (lambda a, b: a + b[::-1], (0,)),
    "both": (lambda a, b: (a + 1, b * 10), (0, 1)),
    "swapped": (lambda a, b: (b * 2, a - 1), (0, 1)),
    "the second": (lambda a, b: (np.cumsum(a), b + 1), (1,)),
    "one of them": (lambda a, b: a[::-1].sum() + b, (1,)),
}


@pytest.mark.parametrize("calls", ["c", "python"])
@pytest.mark.parametrize("name", DONATED)
@one_in(3)
def test_donated_arguments_that_share_memory(name, calls, monkeypatch):
    monkeypatch.setenv("TRANSPILE_CALLS", calls)
    function, donated = DONATED[name]
    fast = transpile.jit(function, donate_argnums=donated)
    views = [slice(s, s + 6) for s in (0, 1, 3, 5, 6, 12)]
    apart = [slice(0, 6), slice(20, 26)]
    for first, second in [apart, apart, *itertools.product(views, views)]:
        x = np.arange(30.0)
        before = x.copy()
        expected = function(before[first], before[second])
        found = fast(x[first], x[second])
        for a, b in zip(*map(np.atleast_2d, (found, expected)), strict=True):
            np.testing.assert_array_equal(a, b)
        outside = np.ones(30, bool)
        for n in donated:
            outside[(first, second)[n]] = False
        np.testing.assert_array_equal(x[outside], before[outside])


@pytest.mark.parametrize("calls", ["c", "python"])
def test_a_donated_argument_is_still_taken_where_it_is_alone(calls, monkeypatch):
    monkeypatch.setenv("TRANSPILE_CALLS", calls)
    fast = transpile.jit(lambda a, b: a + b, donate_argnums=0)
    whole = np.zeros(8)
    for _ in range(3):
        x, y = whole[:4], whole[4:]
        assert not np.shares_memory(fast(x, x), whole)
        assert not np.shares_memory(fast(x, whole[3:7]), whole)
        assert fast(x, y).ctypes.data == whole.ctypes.data
        assert x.dtype != whole.dtype  # it is deleted


AWKWARD = {
    "read-only": lambda x: np.broadcast_to(x, x.shape),
    "broadcast": lambda x: np.broadcast_to(x[:1], (4,)),
    "zero strides": lambda x: as_strided(x, (4,), (0,)),
    "reversed": lambda x: x[::-1],
    "byte-swapped": lambda x: x.astype(x.dtype.newbyteorder()),
    "misaligned": lambda x: np.frombuffer(bytearray(b"\0" + x.tobytes()), "u1")[1:].view("f8"),
    "subclass": lambda x: x.view(np.recarray),
}


@pytest.mark.parametrize("calls", ["c", "python"])
@pytest.mark.parametrize("name", AWKWARD)
def test_donated_arguments_of_any_layout(name, calls, monkeypatch):
    monkeypatch.setenv("TRANSPILE_CALLS", calls)
    fast = transpile.jit(lambda x: x + 1, donate_argnums=0)
    for _ in range(3):
        memory = np.arange(4.0)
        x = AWKWARD[name](memory)
        expected = np.array(x) + 1
        found = fast(x)
        assert type(found) is np.ndarray and found.dtype == np.float64
        np.testing.assert_array_equal(found, expected)
        if name in ("read-only", "broadcast"):
            np.testing.assert_array_equal(memory, np.arange(4.0))


# ------------------------------------------------------------------------------------ assignments


@st.composite
def layouts(draw):
    """What makes an array of shape (4, 3): from equal bytes, by equal steps, equal arrays, with all
    the memory behind it."""
    dtype = draw(st.sampled_from(["f8", ">f8", ">i2", ">c8"]))
    flips = draw(st.tuples(st.booleans(), st.booleans()))
    steps = draw(st.tuples(st.integers(1, 2), st.integers(1, 3)))
    is_turned, offset = draw(st.booleans()), draw(st.integers(0, 9))
    kind = draw(st.sampled_from([np.ndarray, np.recarray, Plain]))

    def make():
        buffer = np.zeros(16 * 8 * 12 + 16, np.uint8)
        shape = (9, 8) if is_turned else (8, 9)
        whole = np.ndarray(shape, dtype, buffer, offset)
        whole[...] = np.arange(72).reshape(shape)
        array = whole.T if is_turned else whole
        array = array[:: steps[0], :: steps[1]][:4, :3]
        array = array[:: -1 if flips[0] else 1, :: -1 if flips[1] else 1]
        return array.view(kind), buffer

    return make


class Plain(np.ndarray):
    """A subclass without anything of its own."""


def assign_row(x):
    x[0] = 7
    x += 1


def assign_column(x):
    x[:, 1] = x[:, 0] * 2
    return x.sum()


def assign_view(x):
    y = x[1:3].T
    y[::-1] -= 3
    return x


@pytest.mark.parametrize("function", [assign_row, assign_column, assign_view])
@settings(max_examples=tries(25), deadline=None)  # the first of a dtype compiles
@given(make=layouts(), times=st.integers(1, 3))
def test_assignments_to_arguments_of_any_layout(function, make, times):
    (x, expected), (y, found) = make(), make()
    fast = transpile.jit(function)
    for _ in range(times):
        a, b = function(x), fast(y)
        np.testing.assert_array_equal(found, expected)
        if function is assign_column:
            np.testing.assert_allclose(b, a)
        elif a is not None:
            np.testing.assert_array_equal(b, a)


@pytest.mark.parametrize("dtype", ["f8", ">f8"])
def test_assignments_of_a_compiled_function(dtype):
    compiled = transpile.jit(assign_row).lower(np.zeros((4, 3))).compile()
    for _ in range(3):
        x, y = np.arange(12).astype(dtype).reshape(4, 3), np.arange(12.0).reshape(4, 3)
        compiled(x)
        assign_row(y)
        np.testing.assert_array_equal(x, y)


def test_assignments_where_elements_share_memory():
    fast = transpile.jit(assign_row)
    memory = np.arange(8.0)
    windows = as_strided(memory, (4, 3), (8, 8))
    for _ in range(2):
        with pytest.raises(ValueError, match=r"argument 'x' of assign_row \(.*share memory with"):
            fast(windows)
        with pytest.raises(ValueError, match="assignment destination is read-only: argument 'x'"):
            fast(np.broadcast_to(memory[:3], (4, 3)))
    np.testing.assert_array_equal(memory, np.arange(8.0))
    fast(as_strided(memory, (2, 3), (24, 8)))
    np.testing.assert_array_equal(memory, [8, 8, 8, 4, 5, 6, 6, 7])


def from_other(x, y):
    x[:] = y[::-1] * 2
    return x.sum()


def one_by_one(x, y):
    x += 1
    y *= 2


def read_later(x, y):
    x[0] = 5
    return y + 1


def returned_later(x, y):
    late = y[1:]
    x[:] = 3
    return late


PAIRS = [from_other, one_by_one, read_later, returned_later]


@pytest.mark.parametrize("function", PAIRS)
@pytest.mark.parametrize("donated", [(), (1,)])
@one_in(2)
def test_assignments_to_arguments_that_share_memory(function, donated):
    fast = transpile.jit(function, donate_argnums=donated)
    for first, second in itertools.product(range(5), range(5)):
        for step in (1, -1, 2):
            memory, expected = np.arange(12.0), np.arange(12.0)
            views = slice(first, first + 4), slice(second, second + 8 if step == 2 else second + 4)

            def both(memory, views=views, step=step):
                return memory[views[0]], memory[views[1]][::step][:4]

            is_shared = np.shares_memory(*both(memory))
            if is_shared and function is not from_other:
                with pytest.raises(ValueError, match=f"'x' and 'y' of {function.__name__} .*share"):
                    fast(*both(memory))
                continue
            found, wanted = fast(*both(memory)), function(*both(expected))
            if wanted is not None:
                np.testing.assert_array_equal(found, wanted)
            ours = np.ones(12, bool)
            if donated and function in (read_later, returned_later):
                both(ours)[1][...] = False
            np.testing.assert_array_equal(memory[ours], expected[ours])


def test_columns_of_one_array_do_not_share_memory():
    fast = transpile.jit(one_by_one)
    for _ in range(2):
        x, y = np.ones((5, 2)), np.ones((5, 2))
        fast(x[:, 0], x[:, 1])
        one_by_one(y[:, 0], y[:, 1])
        np.testing.assert_array_equal(x, y)
