"""Numbers that Python takes out of a function whose derivative is wanted would lose it in silence:
each is an error, unless what takes them has a traced form. What has no derivative to lose is known
as ever."""

import cmath
import functools
import math
import operator

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import errors, grad, jacfwd, jacrev, jit, jvp, lax, linearize, value_and_grad, vjp

X = np.array([0.5, 1.5, 2.0])
BOUND_EARLY = np.array


SURROUNDING = np.zeros(3)


def assigned(x):
    for i in range(3):
        SURROUNDING[i] = x[i] ** 2
    return SURROUNDING.sum()


# What methods of arrays take out, and what NumPy does.
TAKEN = {
    "assignment to an array of the surroundings": assigned,
}
# Functions of Python that have traced forms.
CONVERTED = {
    "item": lambda x: x[1].item(),
    "tolist": lambda x: sum(x.tolist()),
    "float": lambda x: float(x[0]),
    "float in code without a source": eval("lambda x: float(x[0])"),
    "float by map": lambda x: functools.reduce(operator.add, map(float, x)),
    "complex": lambda x: complex(x[0]).real,
    "math": lambda x: math.sin(x[0]),
    "cmath": lambda x: cmath.exp(x[2]).real,
    "of what was computed from it": lambda x: float(np.exp(x).sum()),
    "in a function inside": lambda x: transpile.checkpoint(lambda y: float(y[0]) * y[1])(x),
    "of what surrounds a function": lambda x: transpile.vmap(lambda k: k * float(x[0]))(X).sum(),
}
DERIVATIVES = {
    "grad": lambda f: grad(f)(X),
    "value_and_grad": lambda f: value_and_grad(f)(X),
    "jvp": lambda f: jvp(f, (X,), (X,)),
    "vjp": lambda f: vjp(f, X),
    "linearize": lambda f: linearize(f, X),
    "jacrev": lambda f: jacrev(f)(X),
    "jacfwd": lambda f: jacfwd(f)(X),
    "second": lambda f: grad(lambda y: grad(f)(y).sum())(X),
}


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("conversion", TAKEN)
def test_a_number_that_has_a_derivative_is_not_taken_out(conversion, derivative):
    f = TAKEN[conversion]
    with pytest.raises(errors.TracerError, match="A derivative goes through it") as caught:
        DERIVATIVES[derivative](lambda x: f(x) * x.sum())
    assert "test_lost_derivatives.py" in str(caught.value)
    assert "lax.stop_gradient" in str(caught.value)


@pytest.mark.parametrize("conversion", CONVERTED)
@one_in(3)
def test_a_number_of_pythons_keeps_its_derivative(conversion):
    def f(x):
        return CONVERTED[conversion](x) * x.sum()

    def value(x):
        return np.asarray(jit(f)(x))

    steps = 1e-5 * np.eye(3)
    expected = [(value(X + step) - value(X - step)) / 2e-5 for step in steps]
    for derivative in (grad(f), jacfwd(f), jacrev(f), linearize(f, X)[1]):
        found = derivative(X) if derivative(X).shape else [derivative(row) for row in np.eye(3)]
        np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_an_array_that_the_function_makes_keeps_the_derivative():
    def f(x):
        out = np.zeros(3)
        for i in range(3):
            out[i] = x[i] ** 2
        return out.sum()

    for derivative in (grad(f), transpile.jit(grad(f)), grad(transpile.jit(f))):
        np.testing.assert_allclose(derivative(X), 2 * X)


@pytest.mark.parametrize("make", [BOUND_EARLY, np.asarray, np.array], ids=range(3))
def test_arrays_of_traced_values_keep_their_derivative(make):
    def f(x):
        return (make([x[0], 1.0]) ** 2).sum() + (make(x) ** 3).sum()

    expected = 3 * X**2 + np.array([2 * X[0], 0, 0])
    np.testing.assert_allclose(grad(f)(X), expected)
    np.testing.assert_allclose(jit(grad(f))(X), expected)


KEPT = {
    "a branch": (lambda x: x.sum() if x[0] > 0 else 0 * x[0], [1, 1, 1]),
    "an int": (lambda x: x[int(x[2])] * 1.0, [0, 0, 1]),
    "an index": (lambda x: operator.getitem([x[0], x[1]], (x[0] > 0).astype(int)), [0, 1, 0]),
    "a number of integers": (lambda x: float((x > 1).sum()) * x[0], [2, 0, 0]),
    "a stopped value": (lambda x: float(lax.stop_gradient(x[0])) * x[1], [0, X[0], 0]),
    "of a stopped value": (lambda x: math.sin(2 * lax.stop_gradient(x)[0]) * x[1], None),
    "of other arrays": (lambda x: float(transpile.numpy.sin(X)[1]) * x[0], [np.sin(X[1]), 0, 0]),
}
KEPT["of a stopped value"] = (KEPT["of a stopped value"][0], [0, math.sin(2 * X[0]), 0])


@pytest.mark.parametrize("name", KEPT)
def test_what_has_no_derivative_to_lose_is_known(name):
    f, expected = KEPT[name]
    np.testing.assert_allclose(grad(f)(X), np.array(expected, float))


def test_arguments_that_are_not_differentiated_are_known():
    found = grad(lambda x, y: x.sum() * float(y[0]))(X, X)
    np.testing.assert_allclose(found, np.full(3, X[0]))


def test_a_function_with_a_rule_of_its_own_may_look_at_values_where_no_derivative_is_wanted():
    @transpile.custom_jvp
    def f(x):
        return x * float(x[0])

    f.defjvp(lambda primals, tangents: (f(*primals), 2 * primals[0][0] * tangents[0]))
    np.testing.assert_allclose(f(X), X * X[0])
