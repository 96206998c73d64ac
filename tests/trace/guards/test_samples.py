"""Captured arrays above 4 kB: a sample of their elements tells of changes in place."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile.runtime import fast_call
from transpile.trace.guards.checks import SAMPLE
from transpile.trace.guards.samples import (
    FEW_STRETCHES,
    MOST_ARRAYS,
    STRETCHES,
    can_be_sampled,
    sample,
    sampled,
)
from transpile.trace.guards.survey import SMALL

X = np.ones(3)


def negate(w):
    w *= -1


def first(w):
    w[(0,) * w.ndim] += 1


def last(w):
    w[(-1,) * w.ndim] += 1


def sixteenth(w):
    flat = w.reshape(-1, order="A")
    flat[w.size // 3 : w.size // 3 + w.size // 16 + 1] += 1


def row_major(*shape):
    return np.arange(1.0, np.prod(shape) + 1).reshape(shape)


@pytest.mark.parametrize("calls", [1, 130])  # made in Python, and in C
@pytest.mark.parametrize("change", [negate, first, last, sixteenth])
@pytest.mark.parametrize(
    "w",
    [row_major(1000), row_major(64, 64), np.asfortranarray(row_major(40, 50)),
     row_major(3000).astype("f4"), row_major(5000).astype("i2"), row_major(999).astype("c16")],
    ids=lambda w: f"{w.dtype}{w.shape}",
)  # fmt: skip
@one_in(4)
def test_a_change_in_place_is_noticed(w, change, calls):
    w = w.copy(order="K")
    assert w.nbytes > SMALL
    f = transpile.jit(lambda x: x * w.sum())
    for _ in range(calls):
        before = f(X)
    np.testing.assert_allclose(before, X * w.sum(), rtol=1e-5)
    change(w)
    np.testing.assert_allclose(f(X), X * w.sum(), rtol=1e-5)
    assert not np.array_equal(f(X), before)


def test_equal_elements_are_no_change():
    w, traces = row_major(1000), []

    def f(x):
        traces.append(1)
        return x + w[5]

    jitted = transpile.jit(f)
    for _ in range(150):
        w += 1
        w -= 1
        jitted(X)
    assert len(traces) == 1


def test_views_with_gaps_and_references_are_not_sampled():
    w = row_major(64, 64)
    for array in (w[::2], w[:, :32], w[::-1], np.array([None] * 1000), np.zeros((0, 3))):
        assert not can_be_sampled(array)
    f = transpile.jit(lambda x, w=w[:, :32]: x * w[0, 0])
    np.testing.assert_array_equal(f(X), X)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=3),
    st.sampled_from(["f8", "f4", "i1", "c16", "U3"]),
    st.sampled_from("CF"),
    st.integers(1, 2 * MOST_ARRAYS),
    st.data(),
)
def test_no_two_neighbouring_stretches_are_without_a_sample(shape, dtype, order, number, data):
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype, order=order)
    *_, held, offsets = sampled(array, number)
    positions = np.frombuffer(offsets, np.int64) // array.itemsize
    assert (positions[0], positions[-1]) == (0, array.size - 1)
    stretches = STRETCHES if number <= MOST_ARRAYS else FEW_STRETCHES
    assert len(positions) <= stretches + 2
    assert np.diff(positions).max(initial=1) <= 2 * (array.size // stretches + 1)
    position = data.draw(st.integers(0, array.size - 1))
    memory = array.reshape(-1, order="A")
    memory[position] = "99" if dtype == "U3" else memory[position] + 1
    assert (sample(array, offsets) != held) == (position in positions)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda dtype, shape, held, offsets: (dtype, shape, held),
        lambda dtype, shape, held, offsets: (dtype, shape, held[:-1], offsets),
        lambda dtype, shape, held, offsets: (dtype, shape, held, offsets[:-8]),
        lambda dtype, shape, held, offsets: (dtype, shape, held, b"\xff" * len(offsets)),
        lambda dtype, shape, held, offsets: (dtype, shape, None, offsets),
        lambda dtype, shape, held, offsets: (dtype, list(shape), held, offsets),
    ],
)
def test_c_takes_no_guard_that_would_read_elsewhere(spoil):
    api = fast_call.module()
    if api is None:
        pytest.skip("no module for calls in C")
    w = row_major(1000)
    right = sampled(w, 1)
    executable = transpile.jit(lambda x: x + 1).lower(X).compile().runtime_executable()
    arguments = {
        "key": ("key",),
        "arguments": ((api.ARRAY, X.dtype, X.shape),),
        "positional": 1,
        "names": (),
        "program": fast_call.program(executable.call),
        "inputs": (0,),
        "result": ((api.ARRAY, None, ()),),
        "finish": None,
        "changed": None,
    }
    api.Entry(guards=((SAMPLE, w, None, right),), **arguments)
    with pytest.raises(ValueError, match="no such guard"):
        api.Entry(guards=((SAMPLE, w, None, spoil(*right)),), **arguments)
