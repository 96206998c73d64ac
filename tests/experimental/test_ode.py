"""`odeint` against solutions that are known, and against numbers that JAX gives."""

import numpy as np
import pytest

import transpile
from transpile import grad, jit
from transpile import numpy as jnp
from transpile.experimental.ode import odeint

TIMES = np.linspace(0.0, 3.0, 6)
START = {"angle": np.array([1.0, 0.2]), "speed": np.array([0.0, -1.0])}
# What JAX 0.10.2 gives.
ANGLES = [
    [1.0, 0.2],
    [0.7167306716936955, -0.3781499252198666],
    [0.03919810846043535, -0.6645059171461634],
    [-0.5936389813356164, -0.4939029546201129],
    [-0.7922810539172572, 0.008756805982952911],
    [-0.4817957286734375, 0.4979744840012453],
]
GRADIENT = [
    6.365431651438138,
    1.1852593479996534,
    0.2636574128250535,
    -2.801002892279807,
    -7.468175965148674,
    -0.17959183269582182,
    0.3961330122198843,
    -0.6696185450611658,
    0.03720137946458797,
    0.27618895158757856,
    -0.16746416932759917,
    -0.3771167214679775,
]
LOOSE = [1.0, 2.3186534188923043, 1.820721366880195, 1.9348357523426922]


def pendulum(y, t, friction, pull):
    turn = -pull * np.sin(y["angle"]) - friction * y["speed"] + 0.1 * np.sin(t)
    return {"angle": y["speed"], "speed": turn}


def loss(y, friction, pull, times):
    path = odeint(pendulum, y, times, friction, pull)
    return (path["angle"] ** 2).sum() + path["speed"][-1].sum()


def test_trees_and_derivatives_are_those_of_jax():
    path = jit(lambda y: odeint(pendulum, y, TIMES, 0.1, 2.0))(START)
    np.testing.assert_allclose(path["angle"], ANGLES, rtol=1e-12)
    gradient = jit(grad(loss, argnums=(0, 1, 2, 3)))(START, 0.1, 2.0, TIMES)
    np.testing.assert_allclose(gradient[0]["angle"], GRADIENT[0:2], rtol=1e-10)
    np.testing.assert_allclose(gradient[0]["speed"], GRADIENT[2:4], rtol=1e-10)
    np.testing.assert_allclose(gradient[1:3], GRADIENT[4:6], rtol=1e-10)
    np.testing.assert_allclose(gradient[3], GRADIENT[6:], rtol=1e-10, atol=1e-10)


def test_values_that_the_function_closes_over_have_derivatives():
    last = lambda k: odeint(lambda y, t: -k * y, np.array(1.5), np.array([0.0, 1.0, 2.0]))[-1]
    assert last(0.7) == pytest.approx(1.5 * np.exp(-1.4), rel=1e-7)
    assert grad(last)(0.7) == pytest.approx(-3 * np.exp(-1.4), rel=1e-6)
    each = transpile.vmap(last)(np.array([0.1, 1.0, 3.0]))
    np.testing.assert_allclose(each, 1.5 * np.exp([-0.2, -2.0, -6.0]), rtol=1e-6)


def test_tolerances_are_those_of_jax():
    times = np.array([0.0, 1.0, 2.5, 7.0])
    loose = odeint(lambda y, t: np.cos(t) * y, 1.0, times, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(loose, LOOSE, rtol=1e-12)
    assert 1e-4 < np.abs(loose - np.exp(np.sin(times))).max() < 1e-2


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_dtypes(dtype):
    factor = -1 if dtype == "float32" else 1j
    y = odeint(lambda y, t: factor * y, np.ones(2, dtype), np.array([0.0, 1.0]))
    assert y.dtype == dtype
    np.testing.assert_allclose(y[1], [np.exp(factor)] * 2, rtol=1e-6)
    with pytest.raises(TypeError, match="odeint takes arrays of floats, not int64"):
        odeint(lambda y, t: y, np.array(1), np.array([0.0, 1.0]))


def test_steps_may_be_few_and_short():
    times = np.array([0.0, 1.0])
    rotated = lambda **limits: odeint(lambda y, t: -y, jnp.ones(1), times, **limits)[1, 0]
    assert abs(rotated(mxstep=1) - np.exp(-1)) > 1e-3
    assert rotated(hmax=0.01) == pytest.approx(np.exp(-1), rel=1e-10)
