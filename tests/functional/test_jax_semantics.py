"""What JAX's programs expect of transformations outside and inside `jit`: the values are JAX's."""

import numpy as np
import pytest

import transpile as jax
import transpile.numpy as jnp
from transpile import errors, lax
from transpile.ir.types import FLOAT0

X = np.array([1.0, 2.0, 3.0])


class Table:
    """An object with an array, which is no pytree."""

    values = np.array([[1.0, 2.0], [3.0, 4.0]])


# ------------------------------------------------------------------------- arrays, traced indices

HANDED_ON = {
    "vmap": lambda f: jax.vmap(lambda i: f(X, i))(np.array([0, 2])),
    "vmap in_axes": lambda f: jax.vmap(f, in_axes=(None, 0))(X, np.array([0, 2])),
    "vmap keyword": lambda f: jax.vmap(lambda i, *, x: f(x, i), in_axes=0)(
        np.array([0, 2]), x=np.stack([X, X])
    ),
    "jit of vmap": lambda f: jax.jit(jax.vmap(f, in_axes=(None, 0)))(X, np.array([0, 2])),
    "scan": lambda f: lax.scan(lambda c, i: (c, f(X, i)), 0, np.array([0, 2]))[1],
    "checkpoint": lambda f: jax.vmap(lambda i: jax.checkpoint(lambda j: f(X, j))(i))(
        np.array([0, 2])
    ),
}


@pytest.mark.parametrize("how", HANDED_ON)
def test_an_array_is_indexed_by_a_traced_value(how):
    np.testing.assert_array_equal(HANDED_ON[how](lambda x, i: x[i] + 0), [1, 3])


@pytest.mark.parametrize("how", HANDED_ON)
def test_an_array_has_updates_at_a_traced_index(how):
    found = HANDED_ON[how](lambda x, i: x.at[i].set(0.0))
    np.testing.assert_array_equal(found, [[0, 2, 3], [1, 2, 0]])


def test_grad_and_jvp_hand_on_arrays_that_traced_values_index():
    where = np.array([2, 0])

    def total(s, x):
        return lax.fori_loop(0, 2, lambda k, c: c + x[where[k]] * s, 0.0)

    assert jax.grad(total)(2.0, X) == 4
    assert jax.jvp(lambda s: total(s, X), (2.0,), (1.0,)) == (8, 4)


def test_an_attribute_is_indexed_by_traced_values():
    table = Table()
    found = jax.jit(lambda i, j: (table.values[i], table.values[i, j], table.values[:, j]))(1, 0)
    for one, expected in zip(found, ([3, 4], 3, [1, 3]), strict=True):
        np.testing.assert_array_equal(one, expected)


def test_an_array_in_a_list_is_indexed_by_an_array_of_indices():
    tables = {"a": [np.arange(5.0)]}
    found = jax.jit(lambda i: tables["a"][0][i])(np.array([[4, 0], [1, 1]]))
    np.testing.assert_array_equal(found, [[4, 0], [1, 1]])


def test_what_was_lifted_follows_assignments_of_python():
    made = X * 1

    def f(i):
        first = made[i]
        made[1] = 7.0
        second = made[i]
        made[1] = 2.0
        return first, second

    assert jax.jit(f, compiler_options={})(1) == (2, 7)


def test_an_array_of_the_surroundings_is_not_assigned_to():
    def f(i):
        Table.values[i] += 5.0
        return Table.values[i]

    with pytest.raises((errors.UnsupportedError, errors.TracerError)):
        jax.jit(f)(1)
    np.testing.assert_array_equal(Table.values, [[1, 2], [3, 4]])


def test_known_indices_still_give_known_values():
    """Outside of `jit` a gradient may branch on what an array has at a known index."""

    def f(x, k):
        return x * 2 if X[k] > 1.5 else x

    assert jax.grad(f)(1.0, 1) == 2 and jax.grad(f)(1.0, 0) == 1


def test_masks_of_known_values_choose():
    assert jax.grad(lambda x: (x * X)[X > 1.5].sum())(1.0) == 5


# -------------------------------------------------------------------------- shapes of traced values


def test_eval_shape_and_make_jaxpr_of_traced_values():
    texts = []

    def f(x, n):
        assert jax.eval_shape(lambda v: (v * 2, v + n), x)[0].shape == (3,)
        shape = jax.eval_shape(lambda v, w: {"a": v @ w["w"]}, x, {"w": np.ones((3, 2))})
        graph, kinds = jax.make_jaxpr(lambda v: v * n, return_shape=True)(x)
        texts.append(str(graph))
        assert kinds.dtype == x.dtype and jax.jit(lambda v: v + 1).eval_shape(X).shape == (3,)
        return jnp.zeros(shape["a"].shape, shape["a"].dtype)

    np.testing.assert_array_equal(jax.jit(f)(X, 2.0), [0, 0])
    assert "multiply" in texts[0]


def test_make_jaxpr_returns_shapes_outside_too():
    graph, kinds = jax.make_jaxpr(lambda x: x.sum(), return_shape=True)(X)
    assert len(graph.equations) == 1 and kinds.shape == ()


# ------------------------------------------------------------------ branches and loops under vmap


def test_a_branch_that_is_not_taken_gives_no_nan():
    def f(x):
        return lax.cond(x < 1e-3, lambda _: 1e-3, lambda _: jnp.sqrt(x), ())

    assert jax.grad(lambda v: jax.vmap(f)(v).sum())(np.zeros(2)).tolist() == [0, 0]
    assert jax.grad(lambda v: jax.vmap(f)(v).sum())(np.array([0.0, 4.0])).tolist() == [0, 0.25]
    branches = [jnp.sqrt, jnp.log, lambda x: x]
    found = jax.grad(
        lambda v: jax.vmap(lambda k, x: lax.switch(k, branches, x))(np.array([2, 0, 1]), v).sum()
    )(np.array([0.0, 4.0, 2.0]))
    assert found.tolist() == [1, 0.25, 0.5]


def test_no_selection_of_operands_is_left_without_a_derivative():
    def f(x):
        return lax.cond(x < 1e-3, lambda x: x, jnp.sqrt, x)

    text = jax.jit(jax.vmap(f)).lower(X).as_text("graph")
    assert text.count("select") == 1


def test_cond_hands_an_operand_on_that_is_not_mapped():
    def f(x, y):
        return lax.cond(x < 3, lambda a, b: (a * 2, b), lambda a, b: (a * 3, b), x, y)

    first, second = jax.vmap(f, (0, None), (0, None))(jnp.arange(4), 3.0)
    assert first.tolist() == [0, 2, 4, 9] and second == 3


def test_a_carry_that_no_iteration_changes_stays_unmapped():
    def f(w, x, most):
        def step(v):
            return v[0] + 1, v[1] @ v[2], v[2]

        return lax.while_loop(lambda v: v[0] < most, step, (0, x, w))[1:]

    w, x = np.array([[1.0, 2.0], [0.0, 1.0]]), np.ones((4, 2))
    powers, same = jax.vmap(f, (None, 0, 0), (0, None))(w, x, jnp.arange(4))
    np.testing.assert_array_equal(same, w)
    expected = [np.ones(2) @ np.linalg.matrix_power(w, k) for k in range(4)]
    np.testing.assert_array_equal(powers, expected)


# ---------------------------------------------------------------------------------- other results


def test_float0_is_a_result_of_jit():
    def f(a, n):
        return jax.vjp(lambda a, n: a * n.sum(), a, n)[1](1.0)

    first, second = jax.jit(f)(2.0, np.arange(6).reshape(2, 3))
    assert first == 15 and second.dtype == FLOAT0 and second.shape == (2, 3)
    both = jax.jit(lambda a, n: {"t": f(a, n), "n": n})(2.0, np.arange(3))
    assert both["t"][1].dtype == FLOAT0 and both["n"].tolist() == [0, 1, 2]


def test_the_derivative_of_a_power_with_a_traced_exponent():
    slope = jax.grad(lambda x, n: x**n)
    for one in (slope, jax.jit(slope)):
        assert [float(one(0.0, n)) for n in (0, 1, 2)] == [0, 1, 0]
        assert float(one(np.nan, 0)) == 0 and float(one(2.0, 3)) == 12
        assert jax.grad(one)(0.0, 2) == 2
    for pow in (lax.pow, jnp.power):
        slopes = jax.jit(jax.vmap(jax.grad(pow), (None, 0)))
        assert slopes(0.0, np.arange(3)).tolist() == [0, 1, 0]
    assert np.isnan(jax.jit(slope)(0.0, 0.0))  # a float exponent is not the constant 0


def test_vmap_of_a_convolution_over_no_examples():
    def f(a):
        return lax.conv_general_dilated(a, np.zeros((2, 2, 2, 2)), (1, 1), "VALID")

    assert jax.vmap(f)(np.zeros((0, 1, 2, 3, 4))).shape == (0, 1, 2, 2, 3)


def test_conversions_and_types_of_traced_values():
    found = jax.jit(lambda y: (jnp.float32(y.sum()), np.int32(y[0]), jnp.complex64(y)))(X)
    assert [x.dtype.name for x in found] == ["float32", "int32", "complex64"]
    assert jax.jit(lambda x: isinstance(x, jnp.ndarray))(3.0) and isinstance(X, jnp.ndarray)
    assert not isinstance(3.0, jnp.ndarray) and issubclass(np.ndarray, jnp.ndarray)


def test_the_inverse_of_a_traced_bool_of_python_is_a_bool():
    found = jax.jit(lambda x: ~x)(True)
    assert found.dtype == np.bool_ and not found
