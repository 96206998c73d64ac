"""Large arguments with gaps are read where they lie: each layout has a program, which reads no byte
between or behind the elements, and the results are those of a copy in row-major order."""

import ctypes
import mmap
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

import transpile
from transpile.ir.memory_layout import Gaps, gaps
from transpile.trace import call_key
from transpile.trace.call_key import LARGEST_COPY, memory_layout

ROOT = Path(__file__).parents[2]
CUBE = np.arange(40.0 * 30 * 20).reshape(40, 30, 20)
VIEWS = {
    "some columns": CUBE[..., 3:11],
    "every second row": CUBE[::2],
    "from the end": CUBE[:, ::-1],
    "every second element": CUBE[..., ::2],
    "a transpose of a part": CUBE.T[::3, 1:],
    "backwards": CUBE[::-1, ::2, ::-1].T,
    "repeated in front": np.broadcast_to(CUBE[0], (9, 30, 20)),
    "repeated inside": np.broadcast_to(CUBE[:, :1], (40, 30, 20)),
    "real parts": (CUBE + 1j).real,
    "with an axis of one": CUBE[:, None, 1:-1, ::-1],
}


def layouts(function):
    """The layout in which each program of a jitted function takes its only input."""
    known = function._tracing.table.known.values()
    return [layout for k in known for layout in k.specialization.layouts or ((),)]


def several(x):
    return {
        "elements": 2 * x + 1,
        "rows": x.sum(-1),
        "columns": x.max(0),
        "all": (x * x).sum(),
        "turned": x.T - 1,
        "sorted": np.sort(x, -1),
        "running": np.cumsum(x, 0),
        "itself": x,
        "part": x[1:3],
    }


@pytest.mark.parametrize("calls", ["python", "c"])
@pytest.mark.parametrize("name", VIEWS)
@one_in(2)
def test_an_array_with_gaps_is_read_in_place(name, calls, monkeypatch):
    monkeypatch.setenv("TRANSPILE_CALLS", calls)
    x = VIEWS[name]
    fast, wanted = transpile.jit(lambda x: several(x)), several(np.ascontiguousarray(x))
    for _ in range(3):
        got = fast(x)
        for key, y in wanted.items():
            np.testing.assert_allclose(got[key], y, rtol=1e-14, err_msg=key)
            assert not np.may_share_memory(got[key], x)
    (layout,) = layouts(fast)
    assert layout == memory_layout(x)
    assert isinstance(layout, Gaps)
    assert type(fast.__call__).__name__ == ("Caller" if calls == "c" else "method")


@pytest.mark.parametrize("name", VIEWS)
@one_in(2)
def test_results_lie_as_numpys_do(name):
    x = VIEWS[name]
    function = lambda x: (x + 1, np.exp(-x), x * x)
    for got, wanted in zip(transpile.jit(function)(x), function(x), strict=True):
        assert got.strides == wanted.strides


def behind_a_wall(shape, strides, offset, dtype):
    """An array with these strides, whose last element is the last one before memory that must not
    be read, and what keeps that memory."""
    ends = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    before, behind = -sum(e for e in ends if e < 0), sum(e for e in ends if e > 0)
    page = mmap.PAGESIZE
    pages = -(-(before + behind + dtype.itemsize) // page)
    memory = mmap.mmap(-1, (pages + 1) * page)
    start = pages * page - behind - dtype.itemsize
    whole = np.frombuffer(memory, np.uint8, pages * page)
    whole[:] = np.random.default_rng(offset).integers(0, 64, whole.size)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + pages * page
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    assert mprotect(ctypes.c_void_p(address), ctypes.c_size_t(page), 0) == 0
    x = np.ndarray(shape, dtype, memory, start, strides)
    return x, lambda: mprotect(ctypes.c_void_p(address), ctypes.c_size_t(page), 3)


@given(st.data())
@settings(max_examples=tries(12), deadline=None)
def test_any_strides_give_the_results_of_a_copy(data):
    """Of integers, so that the order of sums does not matter; nothing behind the array is read."""
    dtype = np.dtype(data.draw(st.sampled_from(["i1", "i4", "i8"])))
    ndim = data.draw(st.integers(1, 3))
    least = {1: 17_000, 2: 140, 3: 30}[ndim]
    shape = tuple(data.draw(st.integers(least, least + 9)) for _ in range(ndim))
    order = data.draw(st.permutations(range(ndim)))
    strides, stride = [0] * ndim, dtype.itemsize * data.draw(st.integers(1, 3))
    for axis in reversed(order):
        strides[axis] = stride * data.draw(st.sampled_from([1, 1, -1]))
        stride *= shape[axis] + data.draw(st.integers(0, 3))
        stride *= data.draw(st.sampled_from([1, 1, 2]))
    x, release = behind_a_wall(shape, tuple(strides), data.draw(st.integers(0, 9)), dtype)
    rows = np.ascontiguousarray(x)
    try:
        fast = transpile.jit(lambda x: several(x))
        got = fast(x)
        for key, wanted in several(rows).items():
            np.testing.assert_array_equal(got[key], wanted, err_msg=key)
        assert layouts(fast) == [memory_layout(x)]
    finally:
        release()


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.lists(st.integers(-40, 40), min_size=4, max_size=4),
)
def test_a_layout_is_that_of_the_array(shape, strides):
    """The elements that the slice of the frame reads are those of the array, each in its place."""
    strides = tuple(8 * s for s in strides[: len(shape)])
    layout = gaps(tuple(shape), strides, 8)
    assume(layout is not None)
    memory = np.arange(5_000.0)
    x = np.lib.stride_tricks.as_strided(memory[2500:], shape, strides)
    frame = layout.frame_of(x)
    assert frame.flags.c_contiguous
    taken = frame
    for position, axis in enumerate(layout.axes):
        inside = int(np.prod(layout.frame[position + 1 :], dtype=int))
        step = abs(layout.strides[axis]) // inside
        taken = np.moveaxis(
            np.moveaxis(taken, position, 0)[:: step or 1][: shape[axis]], 0, position
        )
    taken = taken.transpose(np.argsort(layout.axes))
    np.testing.assert_array_equal(np.flip(taken, layout.reversed) + np.zeros(shape), x)


@pytest.mark.parametrize(
    "x",
    [
        np.lib.stride_tricks.sliding_window_view(np.arange(9000.0), 4),
        np.zeros(9000, [("a", "u1"), ("b", "f8")])["b"],
        np.zeros((90, 90), ">f8")[:, ::2],
    ],
    ids=["overlapping", "unaligned", "in another byte order"],
)
def test_what_is_no_part_of_an_array_is_copied(x):
    assert memory_layout(x) == ()
    np.testing.assert_array_equal(transpile.jit(lambda x: x + 1)(x), x + 1)


def test_a_function_has_few_such_programs():
    x = np.random.default_rng(0).random((100, 200))
    fast = transpile.jit(lambda x: x * 2)
    for columns in range(101, 115):
        view = np.ascontiguousarray(x[:, :columns])[:, :100]
        np.testing.assert_array_equal(fast(view), view * 2)
    assert sum(map(bool, layouts(fast))) == 8
    assert len(layouts(fast)) == 14


def test_scattered_elements_are_copied_where_they_are_read_twice():
    column = np.random.default_rng(0).random((4000, 20))[:, 3]
    once, twice = transpile.jit(lambda x: x + 1), transpile.jit(lambda x: x - x.mean())
    for function in (once, twice):
        function(column)
    (layout,) = layouts(once)
    assert layout.step == 20
    assert layouts(twice) == [()]


def test_stages_and_runtime_sizes_copy():
    x = np.random.default_rng(0).random((300, 100))
    fast = transpile.jit(lambda x: x * 2)
    for function in (fast.lower(x).compile(), transpile.jit(lambda x: x * 2, dynamic_shapes=True)):
        for _ in range(3):
            np.testing.assert_array_equal(function(x[:, ::-1]), x[:, ::-1] * 2)


def test_c_and_python_agree_on_what_is_copied():
    text = (ROOT / "runtime_c" / "python" / "call_arguments.h").read_text()
    (shift,) = re.findall(r"LARGEST_COPY = 1 << (\d+)", text)
    assert 1 << int(shift) == LARGEST_COPY
    x = np.zeros((2, LARGEST_COPY // 8), np.uint8)[:, ::-1]
    assert memory_layout(x) == ()
    assert call_key.shape_and_layout(x) == x.shape
