"""numpy.array, numpy.asarray and their kin on traced values, by NumPy's own names."""

import threading

import numpy as np
import pytest
from helpers import assert_same, evaluate, ordinary, trace_to_graph

import transpile
from transpile.test_util import check_grads

MAKERS = [
    lambda x: np.asarray(x),
    lambda x: np.array(x) * 2,
    lambda x: np.asarray(x, dtype="f4"),
    lambda x: np.array(x, ndmin=3),
    lambda x: np.asanyarray(x),
    lambda x: np.ascontiguousarray(x.T),
    lambda x: np.asfortranarray(x),
    lambda x: np.require(x, "f8"),
    lambda x: np.asarray_chkfinite(x),
    lambda x: np.array([x[0, 0], 1.0]),
    lambda x: np.array([[x[0, 0], 1], [2, x[1, 1]]]),
    lambda x: np.array([x, x]),
    lambda x: np.array((x[0], [1, 2, 3])),
    lambda x: np.asarray([x.sum(), 3], dtype="i4"),
    lambda x: np.full((2, 2), x[0, 0]),
    lambda x: np.r_[x[0], 1, 2:4],
    lambda x: np.c_[x[0], x[1]],
    lambda x: np.array([x, x[0]]),
    lambda x: np.array([1, 2]) + x[:, :1],
    lambda x: np.stack([np.asarray(r) for r in x]),
    lambda x: np.vectorize(lambda v, w: v * w + 1)(x, x[0]),
    lambda x: sum(v * (i + 2 * j) for (i, j), v in np.ndenumerate(x)),
    lambda x: np.zeros(np.broadcast(x, x[0]).shape) + x,
]


@pytest.mark.parametrize("f", MAKERS)
@pytest.mark.parametrize("dtype", ["i4", "f8"])
def test_array_of_traced_values_is_numpys(f, dtype):
    assert_same(f, ordinary(dtype, (2, 3), 4))


def test_array_is_another_one_and_asarray_the_same():
    def f(x):
        copied, same = np.array(x), np.asarray(x)
        copied[0] = 7
        same[1] = 9
        return x + 0, copied

    x = np.array([1.0, 2.0, 3.0])
    assert_same(lambda a: f(a + 0), x)


def test_names_are_numpys_own_before_and_after_a_trace():
    before = {n: getattr(np, n) for n in ("array", "asarray", "full", "r_")}
    during = []
    trace_to_graph(lambda x: during.append(np.asarray) or np.array(x), np.ones(2))
    assert during[0] is not before["asarray"]
    assert {n: getattr(np, n) for n in before} == before

    def fails(x):
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        transpile.jit(lambda x: transpile.vmap(fails)(x))(np.ones(3))
    assert {n: getattr(np, n) for n in before} == before


def test_names_stay_as_long_as_any_thread_traces():
    inside, done, found = threading.Event(), threading.Event(), []

    def slow(x):
        inside.set()
        assert done.wait(20)
        return np.array([x[0], 1.0])

    def worker():
        found.append(evaluate(slow, np.ones(2))[0])

    thread = threading.Thread(target=worker)
    thread.start()
    assert inside.wait(20)
    (other,) = evaluate(lambda x: np.array([x[0], 2.0]), np.ones(2))  # begins and ends meanwhile
    plain = np.array([[1, 2], [3, 4]])  # in a thread that traces nothing
    done.set()
    thread.join()
    assert type(plain) is np.ndarray
    np.testing.assert_array_equal(other, [1, 2])
    np.testing.assert_array_equal(found, [[1, 1]])


def test_derivative_through_an_array_of_a_list_is_right():
    check_grads(lambda x: np.array([x[0] * x[1], np.sin(x[1]), 1.0]), (np.array([0.5, 0.7]),), 2)
