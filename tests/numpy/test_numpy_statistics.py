"""Averages, covariances and correlations against NumPy."""

import warnings

import numpy as np
import pytest
from helpers import assert_same, ordinary

import transpile
from transpile.test_util import check_grads


def quietly(f):
    def silent(*args):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return f(*args)

    return silent


FUNCTIONS = [
    lambda x: np.cov(x),
    lambda x: np.cov(x, rowvar=False),
    lambda x: np.cov(x, bias=True),
    lambda x: np.cov(x, ddof=0),
    lambda x: np.cov(x, ddof=99),
    lambda x: np.cov(x, x * 2 + 1),
    lambda x: np.cov(x, x[:1], rowvar=True),
    lambda x: np.cov(x, x, rowvar=False),
    lambda x: np.cov(x, fweights=[1, 2, 3, 1]),
    lambda x: np.cov(x, aweights=[0.1, 0.2, 0.5, 1.5]),
    lambda x: np.cov(x, aweights=[0.1, 0.2, 0.5, 1.5], ddof=0),
    lambda x: np.cov(x, fweights=[1, 2, 3, 1], aweights=[0.1, 0.2, 0.5, 1.5]),
    lambda x: np.cov(x, fweights=[1, 2, 3, 1.5]),
    lambda x: np.cov(x, aweights=[1, 2, 3, -1.0]),
    lambda x: np.cov(x[0]),
    lambda x: np.cov(x[0], x[1]),
    lambda x: np.cov(x[:0]),
    lambda x: np.cov(x, dtype="c16"),
    lambda x: np.cov(x, ddof=1.5),
    lambda x: np.cov(x[None]),
    lambda x: np.corrcoef(x),
    lambda x: np.corrcoef(x, rowvar=False),
    lambda x: np.corrcoef(x[0], x[1]),
    lambda x: np.corrcoef(x[0]),
    lambda x: np.average(x, axis=(0, 1), weights=x * x + 1),
    lambda x: np.average(x, axis=(1, 0), weights=np.ones((4, 3)) + np.arange(3)),
    lambda x: np.average(x, axis=0, weights=[1, 2, 3], returned=True),
    lambda x: np.average(x, axis=1, returned=True, keepdims=True),
    lambda x: np.average(x, axis=(0, 1), returned=True),
    lambda x: np.average(x, axis=0, weights=[1, 2]),
    lambda x: np.average(x, weights=[1, 2]),
]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["i4", "f4", "f8", "c16"])
def test_statistic_is_numpys(f, dtype):
    x = ordinary(dtype, (3, 4), 8)
    assert_same(quietly(f), x, tolerance=1e-6 if dtype == "f4" else 1e-13)


@pytest.mark.parametrize("weights", ["fweights", "aweights"])
def test_weights_of_the_wrong_shape_are_refused_in_numpys_words(weights):
    for given in (np.ones(3), np.ones((4, 4))):
        with pytest.raises(RuntimeError) as expected:
            np.cov(np.ones((3, 4)), **{weights: given})
        with pytest.raises(RuntimeError, match=str(expected.value)):
            check_grads(lambda x, g=given: np.cov(x, **{weights: g}), (np.ones((3, 4)),), 1)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: np.cov(x),
        lambda x, w: np.cov(x, aweights=w),
        lambda x, w: np.corrcoef(x) * w[0],
        lambda x, w: np.average(x, axis=1, weights=w),
    ],
)
def test_derivative_of_a_statistic_is_right(f):
    x = np.array([[0.3, 1.7, -0.4, 2.1], [1.2, 0.1, 0.9, -1.3], [0.2, 0.4, 1.4, 0.8]])
    check_grads(f, (x, np.array([0.5, 1.5, 1.0, 2.0])), order=1)


def test_arrays_of_one_value_keep_their_size():
    """Weights that are known and equal are a scalar in the graph, but as many as they are."""

    def covariance(x):
        return np.cov(x, aweights=np.full(5, 0.2)), np.cov(
            x, aweights=np.ones(5), fweights=X[0] > 0
        )

    X = np.random.default_rng(0).uniform(1, 2, (3, 5))
    for found, want in zip(transpile.jit(covariance)(X), covariance(X), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-13)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: np.average(x[0], weights=w),
        lambda x, w: np.average(x, axis=1, weights=w, returned=True),
        lambda x, w: np.cov(x, aweights=w),
        lambda x, w: np.cov(x, fweights=w),
        lambda x, w: np.cov(x, fweights=w.astype(int), aweights=w),
    ],
)
@pytest.mark.parametrize("dynamic_shapes", [False, True])
def test_weights_that_numpy_refuses_are_its_errors(f, dynamic_shapes):
    x = np.array([[0.3, 1.7, -0.4, 2.1], [1.2, 0.1, 0.9, -1.3]])
    compiled = transpile.jit(f, dynamic_shapes=dynamic_shapes)
    kinds = set()
    for w in ([0.0] * 4, [1.0, -1.0, 0.0, 0.0], [0.5, 1.0, 1.0, 2.0], [1.0, 2.0, 0.0, 1.0]):
        try:
            want = quietly(f)(x, np.array(w))
        except (ZeroDivisionError, ValueError, TypeError) as problem:
            kinds.add(type(problem))
            with pytest.raises(type(problem), match=str(problem)):
                compiled(x, np.array(w))
        else:
            np.testing.assert_allclose(compiled(x, np.array(w)), want, rtol=1e-12)
    assert ZeroDivisionError in kinds
