"""Sums over the iterations of a scan that its transpose makes: which of them are made after it."""

import numpy as np
import pytest
from helpers import trace_to_graph
from hypothesis import given, settings
from hypothesis import strategies as st

import transpile
from transpile import jit, lax
from transpile.test_util import check_grads

pytestmark = pytest.mark.full_level

LENGTH = 6


def numbers(*shape, dtype="f8"):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype) / 4


def recurrent(bias, hidden, inputs, x, xs):
    """The const whose cotangent is worth stacking factors for is not the first one."""
    last, _ = lax.scan(lambda h, x: (np.tanh(x @ inputs + h @ hidden + bias), None), x, xs)
    return (last**2).sum()


def arguments(batch=4, given=8, kept=16, dtype="f8"):
    shapes = ((kept,), (kept, kept), (given, kept), (batch, kept), (LENGTH, batch, given))
    return tuple(numbers(*shape, dtype=dtype) for shape in shapes)


def gradient(f, argnums=(0, 1, 2)):
    return transpile.grad(f, argnums=argnums)


def backwards(f, *operands):
    """The scan that goes backwards, and the names of the rows after it."""
    graph = trace_to_graph(f, *operands)
    names = [e.primitive.name for e in graph.equations]
    position = max(k for k, name in enumerate(names) if name == "scan")
    return graph.equations[position], names[position + 1 :]


def test_all_sums_over_what_is_stacked_are_made_after_the_scan():
    scan, after = backwards(gradient(recurrent), *arguments())
    assert after.count("dot_general") == 2
    assert "reduce_sum" in after
    assert scan.params["carry"] == 1
    body = [e.primitive.name for e in scan.params["graph"].equations]
    assert "reduce_sum" not in body
    assert body.count("dot_general") == 1


def test_sums_stay_inside_where_nothing_is_stacked():
    """The factors are larger than the matrix, and a bias alone is not worth them."""
    scan, after = backwards(gradient(recurrent), *arguments(batch=32))
    assert "dot_general" not in after
    assert scan.params["carry"] == 4


def test_sums_stay_inside_under_checkpoint():
    """What is not kept for the way back is not kept for sums either."""

    def f(bias, hidden, x):
        step = transpile.checkpoint(lambda h, _: (np.tanh(h @ hidden + bias), None))
        last, _ = lax.scan(step, x, None, length=LENGTH)
        return (last**2).sum()

    bias, hidden, _, x, _ = arguments(batch=8)
    scan, after = backwards(gradient(f, (0, 1)), bias, hidden, x)
    assert "dot_general" not in after
    assert scan.params["carry"] == 3


@pytest.mark.parametrize("batch", [1, 4, 32])
def test_gradients_are_those_of_finite_differences(batch):
    *rest, xs = arguments(batch=batch)
    check_grads(lambda *a: recurrent(*a, xs), tuple(rest), order=1, modes=["rev"])


def test_second_derivatives_are_those_of_finite_differences():
    bias, hidden, inputs, x, xs = arguments(batch=1, given=2, kept=4)
    check_grads(lambda *a: recurrent(*a, x, xs), (bias, hidden, inputs), order=2)


@settings(max_examples=10, deadline=None)
@given(batch=st.integers(1, 6), given=st.integers(1, 9), kept=st.sampled_from([4, 16, 32]))
def test_drawn_sizes_give_the_gradients_of_steps_one_by_one(batch, given, kept):
    operands = arguments(batch, given, kept)

    def unrolled(bias, hidden, inputs, x, xs):
        for step in xs:
            x = np.tanh(step @ inputs + x @ hidden + bias)
        return (x**2).sum()

    found, expected = gradient(recurrent)(*operands), gradient(unrolled)(*operands)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_compiled_sums_of_single_precision_are_near_those_of_double():
    exact = jit(gradient(recurrent))(*arguments())
    found = jit(gradient(recurrent))(*arguments(dtype="f4"))
    for one, other in zip(found, exact, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=4e-6 * abs(other).max())


def test_batches_of_gradients_are_those_of_a_loop():
    bias, hidden, inputs, x, xs = arguments()
    many = np.stack([xs, -xs, 2 * xs])
    f = transpile.grad(lambda xs: recurrent(bias, hidden, inputs, x, xs))
    of_weights = transpile.vmap(lambda xs: gradient(recurrent)(bias, hidden, inputs, x, xs))(many)
    for k, one in enumerate(many):
        for part, other in zip(
            of_weights, gradient(recurrent)(bias, hidden, inputs, x, one), strict=True
        ):
            np.testing.assert_allclose(part[k], other, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(transpile.vmap(f)(many)[1], f(many[1]), rtol=1e-11, atol=1e-13)
