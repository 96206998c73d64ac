"""Derivatives outside of `jit`, of functions whose arrays are as long as values say."""

import numpy as np
import pytest

import transpile

X = np.array([0.5, -1.0, 2.0, 0.5, 3.0, -0.25, 2.0])
FUNCTIONS = {
    "unique": lambda x: np.unique(x) ** 2,
    "unique of selected": lambda x: np.unique(x[x > 0]) ** 2,
    "selected by a mean": lambda x: x[x > x[x < 0].mean()] ** 3,
    "intersect1d": lambda x: np.intersect1d(x, x[::2]) * x.sum(),
    "repeat": lambda x: np.repeat(x, (x * 3 % 4).astype(int)) ** 2,
    "of two lengths": lambda x: np.unique(x)[:, None] * x[x > 0],
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("wrapped", [lambda f: f, transpile.jit], ids=["plain", "jit"])
def test_derivatives_are_those_of_the_program(name, wrapped):
    function = FUNCTIONS[name]

    def total(x):
        return function(x).sum()

    want = transpile.jit(transpile.grad(total))(X)
    result, pullback = transpile.vjp(wrapped(function), X)
    np.testing.assert_allclose(result, function(X))
    np.testing.assert_allclose(pullback(np.ones(result.shape))[0], want)
    with pytest.raises(ValueError, match="unexpected type"):
        pullback(np.ones((9, *result.shape)))
    np.testing.assert_allclose(transpile.grad(wrapped(total))(X), want)
    value, gradient = transpile.value_and_grad(wrapped(total))(X)
    np.testing.assert_allclose((value, *gradient), (total(X), *want))
    _, derivative = transpile.linearize(wrapped(function), X)
    for direction in np.eye(len(X))[:3]:
        pushed = transpile.jvp(wrapped(function), (X,), (direction,))[1]
        assert pushed.shape == result.shape
        np.testing.assert_allclose(derivative(direction), pushed)
        np.testing.assert_allclose(pushed.sum(), want @ direction)
