"""numpy.array, numpy.asarray and their kin on traced values, by NumPy's own names."""

import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from helpers import assert_same, evaluate, ordinary, trace_to_graph

import transpile
from transpile.errors import TracerError, UnsupportedError
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
    lambda x: (x + range(3), range(1, 4) * x, x < range(3), x @ range(3)),
    lambda x: np.stack([np.asarray(r) for r in x]),
    lambda x: np.vectorize(lambda v, w: v * w + 1)(x, x[0]),
    lambda x: sum(v * (i + 2 * j) for (i, j), v in np.ndenumerate(x)),
]


@pytest.mark.parametrize("f", MAKERS)
@pytest.mark.parametrize("dtype", ["i4", "f8"])
def test_array_of_traced_values_is_numpys(f, dtype):
    assert_same(f, ordinary(dtype, (2, 3), 4))


def test_broadcast_takes_traced_values_and_stays_a_class():
    def shape(x, y):
        return np.broadcast(x, y).shape

    def f(x):
        return np.zeros(shape(x, x[0])) + x + np.array([x[0, 0], 1.0, 2.0])

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(transpile.jit(f)(x), f(x))
    seen = []
    transpile.jit(lambda x: seen.append(np.broadcast) or x + 1)(x)
    assert seen == [np.broadcast] and type(np.broadcast) is type


def test_array_is_another_one_and_asarray_the_same():
    def f(x):
        copied, same = np.array(x), np.asarray(x)
        copied[0] = 7
        same[1] = 9
        return x + 0, copied

    x = np.array([1.0, 2.0, 3.0])
    assert_same(lambda a: f(a + 0), x)


def test_names_are_numpys_own_in_a_trace_too():
    before = {n: getattr(np, n) for n in ("array", "asarray", "full", "r_", "vectorize")}
    during = []

    def f(x):
        during.append({n: getattr(np, n) for n in before})
        return np.array([x[0], 1.0])

    trace_to_graph(f, np.ones(2))
    assert len(during) == 1 and all(during[0][n] is before[n] for n in before)


def test_derivative_through_an_array_of_a_list_is_right():
    check_grads(lambda x: np.array([x[0] * x[1], np.sin(x[1]), 1.0]), (np.array([0.5, 0.7]),), 2)


# ------------------------------------------------------------- what others see while one traces


@pytest.fixture
def traced_elsewhere():
    """While another thread traces."""
    inside, done = threading.Event(), threading.Event()

    def slow(x):
        inside.set()
        assert done.wait(60)
        return x + 1

    thread = threading.Thread(target=evaluate, args=(slow, np.ones(2)))
    thread.start()
    assert inside.wait(60)
    yield
    done.set()
    thread.join()


OTHERS = [
    "class V(np.vectorize): pass\nassert V(abs)(np.array([-1])) == 1",
    "assert not isinstance(3, np.broadcast) and issubclass(np.vectorize, object)",
    "assert type(np.vectorize(abs)) is np.vectorize and np.vectorize(abs)(-2) == 2",
    "assert np.vectorize.__call__.__name__ == '__call__'",
    "assert np.broadcast(np.ones((3, 1)), np.ones(4)).shape == (3, 4)",
    "assert type(np.broadcast(1, 2)) is np.broadcast",
    "assert list(np.ndenumerate(np.array([5, 6]))) == [((0,), 5), ((1,), 6)]",
    "it = np.ndenumerate(np.ones(1)); next(it); assert next(it, None) is None",
    "assert np.r_[1:3, 7].tolist() == [1, 2, 7] and np.c_[[1], [2]].tolist() == [[1, 2]]",
    "a, b = np.ones((1, 1)), np.zeros((1, 1))\n"
    "assert np.r_['a, b'].tolist() == np.bmat('a, b').tolist() == [[1, 0]]",
    "import inspect; assert 'fill_value' in str(inspect.signature(np.full))",
    "class A:\n make, full = np.array, np.full\nassert A().make([1]).tolist() == [1]",
    "assert A().full.__self__.__class__ is A",
    "assert np.array.__name__ == 'array' and np.array.__module__ == 'numpy' and np.array.__doc__",
    "import copy; assert copy.copy(np.full) == np.full",
    "assert np.asarray([[1, 2], [3, 4]], dtype='f4').dtype == 'f4'",
    "try: np.asarray()\nexcept TypeError as error: assert 'asarray' in str(error)\n"
    "else: raise AssertionError",
]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of np.matrix
@pytest.mark.parametrize("text", OTHERS)
def test_other_threads_see_numpy_as_it_is(text, traced_elsewhere):
    names = {"np": np}
    exec("class A:\n make, full = np.array, np.full", names)
    exec(text, names)


def test_what_is_taken_from_numpy_in_a_trace_is_numpys():
    kept = []
    trace_to_graph(lambda x: kept.append((np.asarray, np.full)) or x, np.ones(2))
    ((asarray, full),) = kept
    assert asarray is np.asarray and full is np.full
    assert pickle.loads(pickle.dumps(asarray)) is asarray
    assert evaluate(lambda x: asarray([x[0], 1.0]), np.ones(2))[0].tolist() == [1, 1]


def test_modules_in_c_may_be_imported_first_in_a_trace():
    """numpy.random asks whether numpy.broadcast is a class of the right size."""
    code = """if True:
        import sys
        import numpy as np
        import transpile
        assert "numpy.random" not in sys.modules
        seed = transpile.jit(lambda x: x + np.random.RandomState(0).rand(3))(np.ones(3))
        assert seed.tolist() == (1 + np.random.RandomState(0).rand(3)).tolist()
        assert np.random.default_rng(0).normal(np.zeros((2, 1)), np.ones(3)).shape == (2, 3)
    """
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_an_instance_made_outside_takes_traced_values():
    plus = np.vectorize(lambda v, w=1: v * w + 1, excluded={"w"})
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(transpile.jit(lambda x: plus(x, w=3))(x), plus(x, w=3))
    np.testing.assert_array_equal(plus(x), x + 1)


array_of_the_module, full_of_the_module = np.array, np.full


def test_names_that_were_bound_before_take_traced_values():
    def helper(x):
        return full_of_the_module(2, x[0])

    def f(x):
        return array_of_the_module([x[0], 1.0]) + helper(x)

    x = np.array([2.0, 3.0])
    np.testing.assert_array_equal(transpile.jit(f)(x), f(x))


def test_what_is_not_finite_is_numpys_error_of_the_call():
    f = transpile.jit(lambda x: np.asarray_chkfinite([x[0], 2.0]))
    np.testing.assert_array_equal(f(np.array([1.0])), [1, 2])
    for value in (np.inf, np.nan):
        with pytest.raises(ValueError, match="array must not contain infs or NaNs"):
            f(np.array([value]))


def test_what_goes_over_memory_says_what_to_write():
    with pytest.raises(UnsupportedError, match=r"nditer goes over memory.* numpy\.ndenumerate"):
        transpile.jit(lambda x: sum(v for v in np.nditer([x, x])))(np.ones(3))
    known = transpile.jit(lambda x: x + sum(int(v) for v in np.nditer(np.arange(3))))
    assert known(1.0) == 4


def test_python_cannot_iterate_over_a_length_that_the_program_finds():
    with pytest.raises(TracerError, match=r"py:\d+: .* one by one in `transpile.jit"):
        transpile.jit(lambda x: np.poly1d(x[x > 0])(2.0))(np.ones(3))
