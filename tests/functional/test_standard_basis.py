"""Linear graphs at all unit vectors: products with them are picked, not computed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import one_in

from transpile import jacfwd, jacrev, jit, make_jaxpr

RANDOM = np.random.default_rng(11)
W = RANDOM.normal(size=(4, 3))


def rows_of(function, *args):
    """The names of the primitives in a function's graph."""
    return [e.primitive.name for e in make_jaxpr(function)(*args).equations]


def numeric(f, x):
    """The Jacobian of a linear function, a column for each unit vector."""
    columns = [f(e.reshape(x.shape)) for e in np.eye(x.size, dtype=x.dtype)]
    shape = np.shape(f(x))
    return np.stack(columns, axis=-1).reshape((*shape, *x.shape)) if columns else None


@given(
    st.lists(st.sampled_from("bfcg"), max_size=6, unique=False),
    st.lists(st.sampled_from("bfcg"), max_size=6),
    st.booleans(),
    st.integers(0, 99),
)
def test_products_of_unit_vectors_with_any_axes(first, second, is_first, seed):
    # Axes b stand in both operands and in the result, c in both operands, f and g in one.
    random = np.random.default_rng(seed)
    shared = min(first.count("b"), second.count("b")), min(first.count("c"), second.count("c"))
    letters = {"b": "ijklmn", "c": "opqrst", "f": "uvwxyz", "g": "ABCDEF"}

    def subscripts(kinds, own):
        taken = dict.fromkeys("bcfg", 0)
        text = ""
        for kind in kinds:
            limit = {"b": shared[0], "c": shared[1]}.get(kind, 2 if kind == own else 0)
            if taken[kind] < limit:
                text += letters[kind][taken[kind]]
                taken[kind] += 1
        return text

    x_axes, y_axes = subscripts(first, "f"), subscripts(second, "g")
    result = "".join(random.permutation([a for a in {*x_axes, *y_axes} if a not in letters["c"]]))
    sizes = {a: int(random.integers(1, 4)) for a in sorted({*x_axes, *y_axes})}
    x, y = (random.normal(size=[sizes[a] for a in axes]) for axes in (x_axes, y_axes))
    if is_first:
        f = lambda x: np.einsum(f"{x_axes},{y_axes}->{result}", x, y)
    else:
        f = lambda x: np.einsum(f"{y_axes},{x_axes}->{result}", y, x)
    wanted = numeric(f, x)
    for jac in (jacfwd, jacrev):
        np.testing.assert_allclose(jac(f)(x), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (lambda x: x @ W, (4,)),
        (lambda x: W.T @ x, (4,)),
        (lambda x: x @ W, (2, 4)),
        (lambda x: W.T @ x, (4, 2)),
        (lambda x: x.reshape(2, 4) @ W, (8,)),
        (lambda x: x @ np.stack([W, 2 * W]), (2, 5, 4)),
    ],
    ids=range(6),
)
@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["numpy", "jit"])
@one_in(3)
def test_the_jacobian_of_a_product_takes_no_product(f, shape, wrap):
    x = RANDOM.normal(size=shape)
    assert "dot_general" in rows_of(f, x)
    found = wrap(jacfwd(f))(x)
    np.testing.assert_allclose(found, numeric(f, x), rtol=1e-12)
    forwards = [r for r in rows_of(jacfwd(f), x) if r == "dot_general"]
    assert not forwards


def test_a_product_of_two_layers_is_one_product():
    def f(x):
        return np.tanh(x @ W) @ W.T

    x = RANDOM.normal(size=4)
    assert rows_of(f, x).count("dot_general") == 2
    # The first layer once more for the residuals; then one product for the second.
    assert rows_of(jacfwd(f), x).count("dot_general") == 2
    slope = 1 - np.tanh(x @ W) ** 2
    np.testing.assert_allclose(jacfwd(f)(x), (W * slope @ W.T).T, rtol=1e-12)
    np.testing.assert_allclose(jit(jacrev(f))(x), (W * slope @ W.T).T, rtol=1e-12)


def test_infinite_elements_stay_in_their_places():
    weights = np.array([[1.0, np.inf], [np.nan, 2.0]])
    np.testing.assert_array_equal(jacfwd(lambda x: x @ weights)(np.ones(2)), weights.T)
    found = jacfwd(lambda x: x @ weights)(np.ones((2, 2)))
    np.testing.assert_array_equal(found[0, :, 0, :], weights.T)
    np.testing.assert_array_equal(found[0, :, 1, :], np.zeros((2, 2)))


def test_a_unit_vector_of_a_product_of_two_variables():
    x = RANDOM.normal(size=(3, 3))
    wanted = np.zeros((3, 3, 3, 3))
    for i in range(3):
        for j in range(3):
            unit = np.zeros((3, 3))
            unit[i, j] = 1
            wanted[:, :, i, j] = unit @ x + x @ unit
    for jac in (jacfwd, jacrev):
        np.testing.assert_allclose(jac(lambda x: x @ x)(x), wanted, rtol=1e-12, atol=1e-12)
