"""Integer arguments that Python needs while it traces become static by themselves, once."""

import logging

import numpy as np
import pytest

import transpile
from transpile.errors import TracerIntegerConversionError

X = np.arange(6.0).reshape(2, 3)


def of_list(n):
    return np.array([0.5] * n) + 1


def of_rank(x, n):
    return x.reshape((1,) * n + x.shape)


def of_axis(x, *, axis=0):
    return x.sum(axis=axis)


def of_functions(x, which):
    return [np.sin, np.cos][which](x)


CALLS = [
    (of_list, (3,), {}),
    (of_rank, (X, 2), {}),
    (of_axis, (X,), {"axis": 1}),
    (of_functions, (X, 1), {}),
]


@pytest.mark.parametrize(("function", "args", "kwargs"), CALLS)
def test_results_are_those_of_python(function, args, kwargs, caplog, shared_cache):
    f = transpile.jit(function)
    with caplog.at_level(logging.WARNING, "transpile"):
        for _ in range(2):
            np.testing.assert_allclose(f(*args, **kwargs), function(*args, **kwargs), rtol=1e-15)
    (message,) = caplog.messages
    assert f"{function.__name__} " in message and "static_argnames" in message
    assert f._cache_size() == 1


def test_each_value_is_a_program():
    f = transpile.jit(of_list)
    assert [len(f(n)) for n in (2, 3, 2, np.int8(4), np.array(5))] == [2, 3, 2, 4, 5]
    assert f._cache_size() == 4
    f.clear_cache()
    assert f._cache_size() == 0


def test_stages():
    f = transpile.jit(of_axis)
    np.testing.assert_array_equal(f.lower(X, axis=1).compile()(X), X.sum(axis=1))
    assert f.eval_shape(X, axis=0).shape == (3,)


def test_methods():
    class Model:
        @transpile.jit
        def total(self, x, axis):
            return x.sum(axis=axis)

    model = Model()
    np.testing.assert_array_equal(model.total(X, 1), X.sum(axis=1))
    np.testing.assert_array_equal(model.total(X, 0), X.sum(axis=0))


@pytest.mark.parametrize("axis", [1.0, np.array([1]), np.array(1.0)])
def test_what_is_no_integer_keeps_its_error(axis):
    with pytest.raises(TracerIntegerConversionError, match="It comes from the argument 'axis'"):
        transpile.jit(of_axis)(X, axis=axis)


def test_what_also_depends_on_arrays_keeps_its_error():
    with pytest.raises(TracerIntegerConversionError, match="the arguments 'x', 'n'"):
        transpile.jit(lambda x, n: np.array([1.0] * (n + x.astype(int)[0])))(np.ones(2), 3)


def test_without_conversion_the_error_stays():
    with pytest.raises(TracerIntegerConversionError, match="It comes from the argument 'n'"):
        transpile.jit(of_list, python_control_flow=False)(3)
