"""Gradients and Hessians of twenty composite functions: against differences, and against JAX's."""

import numpy as np
import pytest
from composites import COMPOSITES, argument
from thorough import THOROUGH, one_in

import transpile
from transpile.test_util import check_grads

try:
    import jax
    import jax.numpy as jnp
except ImportError:  # an optional check: JAX is not among the packages that the tests install
    jax = None
else:
    jax.config.update("jax_enable_x64", True)

NAMES = list(COMPOSITES)


def ours(name):
    f, _ = COMPOSITES[name]
    return lambda x: f(np, x)


@pytest.mark.parametrize("name", NAMES)
@one_in(3)
def test_derivatives_of_two_orders_agree_with_differences(name):
    check_grads(ours(name), (argument(name),), order=2, atol=2e-4, rtol=2e-4)


def test_compiled_derivatives_agree_with_interpreted_ones():
    """All gradients in one program, and in the thorough tier all Hessians in another."""

    def every(derivative):
        return lambda points: [derivative(ours(n))(x) for n, x in zip(NAMES, points, strict=True)]

    points = [argument(name) for name in NAMES]
    for derivative in (transpile.value_and_grad, transpile.hessian)[: 1 + THOROUGH]:
        f = every(derivative)
        compiled = transpile.jit(f, compiler_options={"opt_level": 1})(points)
        found, expected = transpile.tree.leaves(compiled), transpile.tree.leaves(f(points))
        for name, got, want in zip(NAMES, found, expected, strict=False):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.skipif(jax is None, reason="jax is not installed: pip install jax")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_gradients_and_hessians_are_those_of_jax(name):
    f, _ = COMPOSITES[name]
    x = argument(name)
    for mine, peer in ((transpile.grad, jax.grad), (transpile.hessian, jax.hessian)):
        want = np.asarray(peer(lambda v: f(jnp, v))(x))
        scale = np.abs(want).max() + 1
        assert np.abs(mine(ours(name))(x) - want).max() <= 1e-13 * scale
        assert np.abs(transpile.jit(mine(ours(name)))(x) - want).max() <= 1e-13 * scale
