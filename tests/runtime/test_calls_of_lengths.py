"""Calls in C of programs whose results are as long as values say."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from test_fast_call import PYTHON, RUN, X, at_once, calls_of, program  # noqa: F401 (a fixture)

import transpile
from transpile.runtime import fast_call


def selected(x):
    positive = x[x > 0]
    return positive, x.sum(), {"first": positive[:2], "where": np.flatnonzero(x > 0)}


def test_results_of_lengths_that_values_decide_are_made_in_c():
    fast = transpile.jit(selected)
    values = np.array([3.0, -1.0, 2.0, 0.0, 4.0])
    for _ in range(3):
        fast(values)
    for x in (values, -values, values - 9, values + 9):
        with calls_of(PYTHON, RUN) as found:
            got = fast(x)
        assert not found
        expected = selected(x)
        np.testing.assert_array_equal(got[1], expected[1])
        pairs = zip(*(transpile.tree.leaves((r[0], r[2])) for r in (got, expected)), strict=True)
        for one, other in pairs:
            np.testing.assert_array_equal(one, other, strict=True)
            assert one.flags.owndata and one.flags.c_contiguous


def assert_made(fast, function, *args, in_c=True):
    """A call has the function's results, made in C."""
    with calls_of(PYTHON, RUN) as found:
        got = fast(*args)
    assert bool(found) != in_c
    for one, other in zip(got, function(*args), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
        assert one.flags.owndata and one.flags.c_contiguous


def chosen_rows(x, mask):
    return x[mask], np.argwhere(x > 0), np.exp(x[mask]).sum(axis=1)


@pytest.mark.parametrize("dynamic", [None, {"x": ("n", 3), "mask": ("n",)}])
def test_rows_whose_number_values_decide_are_made_in_c(dynamic):
    fast = transpile.jit(chosen_rows, dynamic_shapes=dynamic)
    x = np.arange(-6.0, 9).reshape(5, 3)
    masks = [x[:, 0] > least for least in (0, -9, 9, 3)]
    for _ in range(3):
        fast(x, masks[0])
    for mask in masks:
        assert_made(fast, chosen_rows, x, mask)


def test_what_is_computed_of_a_length_is_told_in_python():
    twice = lambda x, mask: (np.repeat(x[mask], 2, axis=0), x[0, mask[:4]])
    fast = transpile.jit(twice)
    x = np.arange(20.0).reshape(5, 4)
    for k in range(6):
        assert_made(fast, twice, x, x[:, 0] > k, in_c=False)


def test_selected_columns_are_made_in_c():
    columns = lambda x, mask: (x[:, mask].T, x[0][mask])
    fast = transpile.jit(columns)
    x = np.arange(12.0).reshape(3, 4)
    for _ in range(3):
        fast(x, x[0] > 1)
    for k in range(4):
        assert_made(fast, columns, x, x[0] > k)


def repeated(x, counts):
    return np.repeat(x, counts), np.repeat(x[:, None] * np.ones(3), counts, axis=0), x * 2


def test_memory_for_lengths_without_a_bound_grows_and_shrinks_in_c():
    fast = transpile.jit(repeated)
    x = np.arange(10.0)
    ones = np.ones(10, np.int64)
    for _ in range(3):
        fast(x, ones)
    call = fast.trace(x, ones).lower().compile().runtime_executable().call
    rooms = []
    for times in [1, 3000, *[2] * 40, 0, 5000, 5001]:
        assert_made(fast, repeated, x, times * ones)
        rooms.append(max(room.size for room in call.grown.rooms.rooms))
    assert rooms[1] == 33750 and rooms[0] < rooms[41] == 22 and rooms[-2:] == [56250] * 2
    for _ in range(2):
        with pytest.raises(
            ValueError, match=r"test_calls_of_lengths.py:\d+: repeated: repeats may not contain neg"
        ):
            fast(x, -ones)
        assert_made(fast, repeated, x, ones)


def test_calls_in_many_threads_share_the_memory_that_has_grown():
    fast = transpile.jit(repeated)
    x = np.arange(10.0)
    fast(x, np.ones(10, np.int64))

    def calls(seed):
        rng = np.random.default_rng(seed)
        for _ in range(300):
            counts = rng.integers(0, rng.choice([2, 2000]), 10)
            for one, other in zip(fast(x, counts), repeated(x, counts), strict=True):
                np.testing.assert_array_equal(one, other)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(calls, range(3)))


def test_what_a_program_may_be_resized_to():
    found = fast_call.module()
    returns = [0]

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_void_p))
    def function(pointers):
        ctypes.cast(pointers[2], ctypes.POINTER(ctypes.c_int64))[0] = 2
        return returns[0]

    shapes = {
        "outputs": ((found.ARRAY, X.dtype, (9000,)), (found.ARRAY, np.dtype(np.int64), ())),
        "aliases": (-1, -1),
        "makers": (None,) * 3,
        "lengths": ((found.ARRAY, None, (1,)),),
    }
    asked = []

    def resized(code, lengths):
        asked.append((code, lengths))
        if isinstance(answers[0], Exception):
            raise answers[0]
        return answers[0]

    made = partial(program, found, function, None, **shapes)
    run = made(resize=resized)
    answers = [None]
    assert run([X])[0].shape == (2,)
    returns = [7]
    for wrong in (None, 3, found.Program, program(found, function, None)):
        answers = [wrong]
        with pytest.raises(TypeError, match="resized to one with the same outputs"):
            run([X])
    answers = [KeyError("no memory")]
    with pytest.raises(KeyError, match="no memory"):
        run([X])
    assert asked == [(0, [2]), *[(7, [2])] * 5]
    answers = [made(resize=lambda code, lengths: returns.__setitem__(0, 0) or made())]
    assert run([X])[0].shape == (2,)
    assert asked[6:] == [(7, [2])]
    assert run([X])[0].shape == (2,) and len(asked) == 7
    with pytest.raises(ValueError, match="resized by the lengths"):
        program(found, function, None, resize=resized)
