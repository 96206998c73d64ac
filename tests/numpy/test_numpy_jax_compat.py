"""What jax.numpy has beyond NumPy: arguments, copies in place of changes, functions of scalars."""

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import numpy as jnp

X = np.arange(6.0).reshape(2, 3)


def both_ways(function, *arguments):
    """The result outside a trace, which is also the compiled one."""
    outside = function(*arguments)
    compiled = transpile.jit(function)(*arguments)
    np.testing.assert_array_equal(compiled, outside)
    assert compiled.dtype == np.asarray(outside).dtype
    return outside


@pytest.mark.parametrize(
    "product",
    [
        lambda x, **k: jnp.matmul(x, x.T, **k),
        lambda x, **k: jnp.dot(x, x.T, **k),
        lambda x, **k: jnp.inner(x, x, **k),
        lambda x, **k: jnp.tensordot(x, x, ((1,), (1,)), **k),
        lambda x, **k: jnp.einsum("ij,kj->ik", x, x, **k),
    ],
)
@one_in(2)
def test_products_take_a_precision_and_a_wider_dtype(product, shared_cache):
    np.testing.assert_array_equal(both_ways(lambda x: product(x, precision="highest"), X), X @ X.T)
    small = np.full((2, 300), 100, np.int8)
    found = both_ways(lambda x: product(x, preferred_element_type=jnp.int32), small)
    np.testing.assert_array_equal(found, np.full((2, 2), 3000000, np.int32), strict=True)


def test_take_in_the_modes_of_jax(shared_cache):
    at = np.array([[0, 5], [-1, 2]])

    def taken(x):
        return jnp.stack(
            [
                jnp.take(x, at, 1, mode="fill"),
                jnp.take(x, at, 1, mode="fill", fill_value=7),
                jnp.take(x, at, 1, mode="clip"),
                jnp.take(x, at, 1, mode="wrap"),
            ]
        )

    found = both_ways(taken, X)
    rows = [[[0, np.nan], [2, 2]], [[0, 7], [2, 2]], [[0, 2], [0, 2]], [[0, 2], [2, 2]]]
    for got, row in zip(found, rows, strict=True):
        np.testing.assert_array_equal(got[0], row)
    np.testing.assert_array_equal(jnp.take(X, [4, 1], mode="promise_in_bounds"), [4, 1])
    with pytest.raises(IndexError):
        jnp.take(X, 9)


def test_take_along_axis_in_the_modes_of_jax(shared_cache):
    at = np.array([[2], [-1]])
    found = both_ways(lambda x: jnp.take_along_axis(x, at, 1, mode="fill"), X)
    np.testing.assert_array_equal(found, [[2], [5]])
    far = both_ways(lambda x: jnp.take_along_axis(x, at + 9, 1, mode="fill", fill_value=-1), X)
    np.testing.assert_array_equal(far, [[-1], [-1]])
    kept = jnp.take_along_axis(X, at, 1, mode="fill", wrap_negative_indices=False)
    np.testing.assert_array_equal(kept, [[2], [np.nan]])
    flat = jnp.take_along_axis(X, np.array([5, 8]), None, mode="clip")
    np.testing.assert_array_equal(flat, [5, 5])
    np.testing.assert_array_equal(jnp.take_along_axis(X, at, 1), [[2], [5]])


def test_changed_copies_leave_the_array(shared_cache):
    def changed(x):
        return jnp.stack(
            [
                jnp.fill_diagonal(x, -1.0, inplace=False),
                jnp.put_along_axis(x, np.array([[2], [0]]), 9.0, 1, inplace=False),
                jnp.put(x, [1, 5], 8.0, inplace=False),
                x,
            ]
        )

    expected = [
        [[-1, 1, 2], [3, -1, 5]],
        [[0, 1, 9], [9, 4, 5]],
        [[0, 8, 2], [3, 4, 8]],
        X,
    ]
    np.testing.assert_array_equal(both_ways(changed, X), expected)
    own = X.copy()
    assert jnp.fill_diagonal(own, 5.0) is None
    np.testing.assert_array_equal(own, [[5, 1, 2], [3, 5, 5]])
    np.testing.assert_array_equal(jnp.place(X, X > 3, [0.5], inplace=False)[1], [3, 0.5, 0.5])


def test_arguments_that_change_nothing_or_the_dtype(shared_cache):
    assert jnp.argsort(np.array([3, 1]), dtype=jnp.int32).dtype == np.int32
    assert jnp.dstack([X, X], dtype=jnp.float32).dtype == np.float32
    np.testing.assert_array_equal(
        both_ways(lambda x: jnp.searchsorted(x, 2.5, method="scan"), np.arange(5.0)), 3
    )
    np.testing.assert_array_equal(jnp.polyval([1.0, 2.0], 3.0, unroll=4), 5)
    np.testing.assert_array_equal(jnp.isin([1, 2], [2], method="sort"), [False, True])
    np.testing.assert_array_equal(jnp.delete(X, 1, 1, assume_unique_indices=True), X[:, ::2])


def test_functions_of_scalars_have_the_methods_of_ufuncs(shared_cache):
    affine = jnp.frompyfunc(lambda x, y: 2 * x + y, 2, 1)
    assert (affine.nin, affine.nout, affine.nargs, affine.identity) == (2, 1, 3, None)
    a = np.arange(4.0)
    np.testing.assert_array_equal(both_ways(affine, a, 1.0), 2 * a + 1)
    assert both_ways(affine.reduce, a) == ((0 * 2 + 1) * 2 + 2) * 2 + 3
    np.testing.assert_array_equal(both_ways(affine.accumulate, a), [0, 1, 4, 11])
    np.testing.assert_array_equal(both_ways(affine.outer, a, a), 2 * a[:, None] + a)
    table = np.arange(6.0).reshape(2, 3)
    found = both_ways(lambda x: affine.reduce(x, axis=1, keepdims=True), table)
    np.testing.assert_array_equal(found, [[4], [25]])
    total = affine.reduce(table, None, initial=1.0)
    assert total == np.dot(2.0 ** np.arange(5, -1, -1), np.arange(6)) + 64
    masked = affine.reduce(a, initial=0.0, where=np.array([True, False, True, True]))
    assert masked == (0 * 2 + 2) * 2 + 3
    np.testing.assert_array_equal(affine.at(a, np.array([1]), 5.0, inplace=False), [0, 7, 2, 3])
    with pytest.raises(ValueError, match="which has no identity"):
        affine.reduce(np.zeros(0))
    with pytest.raises(ValueError, match="only supported for binary functions"):
        jnp.frompyfunc(np.sin, 1, 1).reduce(a)
    assert jnp.frompyfunc(np.add, 2, 1, identity=0).reduce(np.zeros((0, 2))).shape == (2,)


# ------------------------------------------------------------------- arguments that are JAX's


@pytest.mark.parametrize("size", [2, 4, 7])
def test_known_conditions_take_a_size(size):
    mask = X > 2.5
    want = np.concatenate([np.extract(mask, X), np.full(size, -1.0)])[:size]
    want[np.count_nonzero(mask) :] = -1
    take = lambda m, x: jnp.extract(m, x, size=size, fill_value=-1)
    for found in (both_ways(lambda x: take(mask, x), X), transpile.jit(take)(mask, X)):
        np.testing.assert_array_equal(found, want)
    columns = jnp.compress([True, False, True], X, axis=1, size=size)
    np.testing.assert_array_equal(columns[:, :2], X[:, [0, 2]])
    assert columns.shape == (2, size)


def test_keywords_may_be_arrays():
    x, y, w = np.arange(5.0), np.arange(5.0) ** 2, np.array([1.0, 2.0, 1.0, 2.0, 1.0])
    np.testing.assert_array_equal(jnp.polyfit(x, y, 1, w=w), np.polyfit(x, y, 1, w=w))
    np.testing.assert_array_equal(jnp.average(x, weights=w), np.average(x, weights=w))
    np.testing.assert_array_equal(jnp.diff(y, prepend=w, axis=0), np.diff(y, prepend=w))


@pytest.mark.parametrize("name", ["sum", "prod", "any", "max", "min", "mean", "std", "nansum"])
@one_in(2)
def test_where_none_is_no_mask_in_the_namespace(name):
    """`numpy.sum(x, where=None)` is a sum of nothing; to JAX None is no mask."""
    function = getattr(jnp, name)
    found = both_ways(lambda x: function(x, axis=0, where=None), X)
    np.testing.assert_array_equal(found, getattr(np, name)(X, axis=0))
    if hasattr(X, name):
        method = transpile.jit(lambda x: getattr(x, name)(axis=0, where=None))
        np.testing.assert_array_equal(method(X), found)


A = np.array([[4.0, 1.0], [1.0, 3.0]])
SKEWED = np.array([[4.0, 0.0], [2.0, 3.0]])


def test_functions_of_hermitian_matrices_have_symmetric_derivatives():
    """Values of JAX 0.10.2."""
    of_values = transpile.grad(lambda x: jnp.linalg.eigvalsh(x)[0])(A)
    np.testing.assert_allclose(of_values, [[0.27639, -0.44721], [-0.44721, 0.72361]], atol=1e-5)
    of_factor = transpile.grad(lambda x: jnp.linalg.cholesky(x).sum())(A)
    np.testing.assert_allclose(of_factor, [[0.20634, 0.17462], [0.17462, 0.30151]], atol=1e-5)
    vectors = transpile.grad(lambda x: jnp.linalg.eigh(x)[1][0, 0] ** 2)(A)
    np.testing.assert_allclose(vectors, vectors.T, atol=1e-15)


def test_functions_of_hermitian_matrices_take_the_hermitian_part():
    expected = np.linalg.cholesky((SKEWED + SKEWED.T) / 2)
    for one in (jnp.linalg.cholesky, transpile.jit(jnp.linalg.cholesky)):
        np.testing.assert_allclose(one(SKEWED), expected)
    plain = transpile.jit(lambda x: jnp.linalg.cholesky(x, symmetrize_input=False))(SKEWED)
    np.testing.assert_allclose(plain, np.linalg.cholesky(SKEWED))
    of_numpy = transpile.jit(lambda x: np.linalg.cholesky(x))(SKEWED)
    np.testing.assert_allclose(of_numpy, np.linalg.cholesky(SKEWED))
    w = jnp.linalg.eigh(SKEWED, UPLO="U").eigenvalues
    np.testing.assert_allclose(w, np.linalg.eigvalsh((SKEWED + SKEWED.T) / 2))
    assert both_ways(lambda x: jnp.linalg.eigvalsh(x), A)[0] == np.linalg.eigvalsh(A)[0]
    with pytest.raises(np.linalg.LinAlgError):
        jnp.linalg.cholesky(np.ones((2, 3)))


def test_astype_takes_numbers_and_lists():
    assert jnp.astype(10, jnp.float32).dtype == np.float32
    np.testing.assert_array_equal(jnp.astype([1, 2], np.float64), [1.0, 2.0])
    assert both_ways(lambda x: jnp.astype(x, np.int32), X).dtype == np.int32


def test_vectorize_gives_scalars_that_have_a_dtype():
    assert jnp.vectorize(lambda a, y: y.ndim, excluded={0})("foo", 1) == 0
    found = jnp.vectorize(lambda x, y: x.dtype.type(y))(np.arange(3), 2.5)
    np.testing.assert_array_equal(found, [2, 2, 2])


def test_bfloat16_with_pythons_numbers_stays_bfloat16():
    """In traced code; NumPy's own operators make float32 of them."""
    x = np.ones(3, jnp.bfloat16)
    for f in (lambda x: x * 0.5, lambda x: 2 - x, lambda x: np.where(x > 0, x, 0.5)):
        assert transpile.jit(f)(x).dtype == jnp.bfloat16
    for other in (np.float32, np.int64, np.float64):  # numbers and arrays with a dtype have it
        for y in (other(1), np.ones(3, other)):
            want = (x + y).dtype
            assert transpile.jit(np.add)(x, y).dtype == want
            assert transpile.jit(lambda x, y=y: x + y)(x).dtype == want
    for name in ("gelu", "elu", "leaky_relu", "silu", "softplus", "celu", "hard_tanh"):
        function = getattr(transpile.nn, name)
        assert function(x).dtype == transpile.jit(function)(x).dtype == jnp.bfloat16, name
