"""Small problems for chex: dataclasses, assertions, variants."""

import chex
import jax
import jax.numpy as jnp
import numpy as np


@chex.dataclass
class State:
    """A pytree."""

    x: chex.Array
    n: int


def state():
    s = State(x=jnp.ones(3), n=2)
    grown = jax.tree_util.tree_map(lambda v: v * 2, s)
    slope = jax.grad(lambda s: jnp.sum(s.x**2) * s.n)(State(x=jnp.arange(3.0), n=2.0))
    return grown, slope, jax.jit(lambda s: s.replace(x=s.x + s.n))(s)


def refused(check, *args, **kwargs):
    try:
        check(*args, **kwargs)
    except AssertionError:
        return 1.0
    return 0.0


def assertions():
    x, tree = jnp.ones((2, 3)), {"a": jnp.ones(2), "b": np.zeros(3)}
    nan = jnp.array([1.0, jnp.nan])
    return [
        refused(chex.assert_shape, x, (2, 3)),
        refused(chex.assert_shape, x, (3, None)),
        refused(chex.assert_rank, x, 2),
        refused(chex.assert_rank, x, {1, 3}),
        refused(chex.assert_type, x, float),
        refused(chex.assert_type, x, int),
        refused(chex.assert_tree_all_finite, tree),
        refused(chex.assert_tree_all_finite, nan),
        refused(chex.assert_trees_all_close, tree, tree),
        refused(chex.assert_trees_all_close, tree, {"a": jnp.zeros(2), "b": np.zeros(3)}),
        refused(chex.assert_trees_all_equal_structs, tree, [1, 2]),
        refused(chex.assert_equal_shape, [x, x]),
        refused(chex.assert_equal_shape, [x, nan]),
        refused(chex.assert_scalar, 1.0),
        refused(chex.assert_axis_dimension, x, 0, 2),
        refused(chex.assert_is_broadcastable, (1, 3), (2, 3)),
        refused(chex.assert_trees_all_equal_dtypes, tree, tree),
    ]


def traced_once():
    @jax.jit
    @chex.assert_max_traces(n=1)
    def f(x):
        return x + 1

    return f(jnp.ones(2)), f(jnp.zeros(2))


def problems():
    return {"dataclass": state, "assertions": assertions, "assert_max_traces": traced_once}
