"""Random functions refuse what JAX refuses, in its words, with the user's line before them."""

import numpy as np
import pytest

import transpile
from transpile import random
from transpile.dtypes import TypePromotionError

K = random.key(0)
KEYS = random.split(K, 3)

# (call, error, JAX's words)
WRONG = [
    # keys
    (
        lambda: random.normal(KEYS, (2,)),
        ValueError,
        "normal accepts a single key, but was given a key array of shape (3,) != (). "
        "Use jax.vmap for batching.",
    ),
    (
        lambda: random.normal(random.key_data(KEYS), (2,)),
        ValueError,
        "normal accepts a single key, but was given a key array of shape (3, 2) != (). "
        "Use jax.vmap for batching.",
    ),
    (
        lambda: random.gamma(KEYS, 1.0),
        ValueError,
        "gamma accepts a single key, but was given a key array of shape (3,) != ().",
    ),
    (
        lambda: random.split(KEYS),
        ValueError,
        "split accepts a single key, but was given a key array of shape (3,) != (). Use"
        " jax.vmap for batching.",
    ),
    (
        lambda: random.fold_in(KEYS, 1),
        ValueError,
        "fold_in accepts a single key, but was given a key array of shape (3,) != ().",
    ),
    (
        lambda: random.normal(0),
        TypeError,
        "transpile encountered invalid PRNG key data: expected key_data to have ndim, "
        "shape, and dtype attributes. Got 0",
    ),
    (lambda: random.normal([1, 2]), TypeError, "unexpected PRNG key type <class 'list'>"),
    (lambda: random.normal(None), TypeError, "unexpected PRNG key type <class 'NoneType'>"),
    (
        lambda: random.normal(np.uint32(3)),
        TypeError,
        "transpile encountered invalid PRNG key data: expected key_data.ndim >= 1; got ndim=0",
    ),
    (
        lambda: random.normal(np.zeros(3, np.uint32)),
        TypeError,
        "transpile encountered invalid PRNG key data: expected key_data.shape to end "
        "with (2,); got shape=(3,) for impl='threefry2x32'",
    ),
    (
        lambda: random.normal(np.zeros(2, np.int32)),
        TypeError,
        "transpile encountered invalid PRNG key data: expected key_data.dtype = uint32;"
        " got dtype=int32",
    ),
    (
        lambda: random.wrap_key_data([0, 1]),
        TypeError,
        "expected key_data to have ndim, shape, and dtype attributes. Got [0, 1]",
    ),
    (lambda: random.key(1.5), TypeError, "PRNG key seed must be an integer; got 1.5"),
    (lambda: random.key(K), TypeError, "key accepts a scalar seed, but was given a PRNG key."),
    (
        lambda: random.PRNGKey(np.arange(3)),
        TypeError,
        "PRNGKey accepts a scalar seed, but was given an array of shape (3,) != (). Use"
        " jax.vmap for batching",
    ),
    (lambda: random.key(2**63), OverflowError, "Python int too large to convert to C long"),
    (
        lambda: random.key(0, impl="foo"),
        ValueError,
        'unrecognized PRNG implementation "foo". Did you mean one of: "threefry2x32", ',
    ),
    (
        lambda: random.key(0, impl=3),
        TypeError,
        "unrecognized type <class 'int'> for specifying PRNG implementation.",
    ),
    (
        lambda: random.key(0, impl="threefry2x32", dtype="threefry2x32"),
        ValueError,
        "Cannot specify both `impl` and `dtype` arguments to transpile.random.key",
    ),
    (
        lambda: random.fold_in(K, np.arange(3)),
        TypeError,
        "fold_in accepts a scalar, but was given an array of shape (3,) != (). Use "
        "jax.vmap for batching.",
    ),
    (lambda: random.fold_in(K, -1), OverflowError, "Python integer -1 out of bounds for uint32"),
    (
        lambda: random.fold_in(K, 2**40),
        OverflowError,
        "Python integer 1099511627776 out of bounds for uint32",
    ),
    (
        lambda: random.split(K, -1),
        ValueError,
        "negative dimensions are not allowed, got shape (-1,)",
    ),
    (
        lambda: random.split(K, 2.0),
        TypeError,
        "Shapes must be 1D sequences of concrete values of integer type, got (2.0,).",
    ),
    (
        lambda: random.split(K, "a"),
        TypeError,
        "Shapes must be 1D sequences of concrete values of integer type, got ('a',).",
    ),
    # shapes
    (
        lambda: random.normal(K, (2.0,)),
        TypeError,
        "Shapes must be 1D sequences of concrete values of integer type, got (2.0,).",
    ),
    (
        lambda: random.normal(K, (-1,)),
        ValueError,
        "negative dimensions are not allowed, got shape (-1,)",
    ),
    (lambda: random.normal(K, None), TypeError, "'NoneType' object is not iterable"),
    (
        lambda: random.uniform(K, (2,), minval=np.zeros(3)),
        TypeError,
        "mul got incompatible shapes for broadcasting: (2,), (3,).",
    ),
    (
        lambda: random.randint(K, (2,), np.zeros(3, int), 5),
        ValueError,
        "Incompatible shapes for broadcasting: shapes=[(2,), (3,), ()]",
    ),
    (
        lambda: random.bernoulli(K, np.array([0.1, 0.2]), (3,)),
        ValueError,
        "Incompatible shapes for broadcasting: shapes=[(3,), (2,)]",
    ),
    (
        lambda: random.gamma(K, np.ones(3), (1,)),
        ValueError,
        "gamma parameter shapes must be broadcast-compatible with shape argument, and "
        "the result of broadcasting the shapes must equal the shape argument, but got "
        "result (3,) for shape argument (1,).",
    ),
    (
        lambda: random.truncated_normal(K, 0, np.ones(3), (2,)),
        ValueError,
        "Incompatible shapes for broadcasting: shapes=[(2,), (), (3,)]",
    ),
    (
        lambda: random.categorical(K, np.zeros((2, 3)), shape=(4,)),
        ValueError,
        "Incompatible shapes for broadcasting: shapes=[(4,), (2,)]",
    ),
    (
        lambda: random.categorical(K, np.zeros(3), axis=2),
        IndexError,
        "index 2 is out of bounds for axis 0 with size 1",
    ),
    (
        lambda: random.dirichlet(K, 1.0),
        ValueError,
        "dirichlet requires alpha.ndim >= 1, got alpha.ndim == 0",
    ),
    (
        lambda: random.multivariate_normal(K, 0.0, np.eye(2)),
        ValueError,
        "multivariate_normal requires mean.ndim >= 1, got mean.ndim == 0",
    ),
    (
        lambda: random.multivariate_normal(K, np.zeros(2), np.ones(2)),
        ValueError,
        "multivariate_normal requires cov.ndim >= 2, got cov.ndim == 1",
    ),
    (
        lambda: random.multivariate_normal(K, np.zeros(2), np.eye(3)),
        ValueError,
        "multivariate_normal requires cov.shape == (..., n, n) for n=2, but got "
        "cov.shape == (3, 3).",
    ),
    (
        lambda: random.choice(K, 5, 3),
        TypeError,
        "shape argument of jax.random.choice must be a sequence, got 3",
    ),
    (
        lambda: random.choice(K, np.zeros((2, 3)), (4,), axis=5),
        ValueError,
        "axis 5 is out of bounds for array of dimension 2",
    ),
    (
        lambda: random.permutation(K, np.arange(4), axis=1),
        ValueError,
        "axis 1 is out of bounds for array of dimension 1",
    ),
    (
        lambda: random.choice(K, 3, (4,), p=np.ones(4)),
        ValueError,
        "p must be None or a 1D vector with the same size as a.shape[axis]. p has shape"
        " (4,) and a.shape[axis] is 3.",
    ),
    # dtypes
    (
        lambda: random.normal(K, (2,), int),
        ValueError,
        "dtype argument to `normal` must be a float or complex dtype, got int64",
    ),
    (
        lambda: random.uniform(K, (2,), complex),
        ValueError,
        "dtype argument to `uniform` must be a float dtype, got complex128",
    ),
    (
        lambda: random.exponential(K, dtype="int8"),
        ValueError,
        "dtype argument to `exponential` must be a float dtype, got int8",
    ),
    (
        lambda: random.bits(K, (2,), "int32"),
        ValueError,
        "dtype argument to `bits` must be an unsigned int dtype, got int32",
    ),
    (
        lambda: random.geometric(K, 0.5, dtype=float),
        ValueError,
        "dtype argument to `geometric` must be an int dtype, got float64",
    ),
    (
        lambda: random.binomial(K, 10, 0.3, dtype=int),
        ValueError,
        "dtype argument to `binomial` must be a float dtype, got int64",
    ),
    (
        lambda: random.randint(K, (2,), 0, 5, float),
        TypeError,
        "randint only accepts integer dtypes, got float64",
    ),
    (lambda: random.normal(K, (2,), "foo"), TypeError, "data type 'foo' not understood"),
    (
        lambda: random.bernoulli(K, 1),
        TypeError,
        "bernoulli probability `p` must have a floating dtype, got int64.",
    ),
    (
        lambda: random.categorical(K, np.zeros(3, int)),
        ValueError,
        "dtype argument to `gumbel` must be a float dtype, got int64",
    ),
    (
        lambda: random.beta(K, np.array(1.0), 2, dtype="float32"),
        TypePromotionError,
        "In arguments to beta, cannot safely cast argument of type float64 to float32",
    ),
    (
        lambda: random.triangular(K, 0.0, np.array([0.1]), 1.0, dtype="float32"),
        TypePromotionError,
        "In arguments to triangular, cannot safely cast argument of type float64 to float32",
    ),
    (
        lambda: random.permutation(K, 2.5),
        TypeError,
        "x must be an integer or at least 1-dimensional",
    ),
    (
        lambda: random.orthogonal(K, 2.5),
        TypeError,
        "'float' object cannot be interpreted as an integer",
    ),
    (
        lambda: random.multinomial(K, 10, [0.2, 0.8]),
        TypeError,
        "multinomial requires ndarray or scalar arguments, got <class 'list'> at position 1.",
    ),
    # values
    (
        lambda: random.bernoulli(K, 0.5, (3,), "foo"),
        ValueError,
        "got mode='foo', expected 'high' or 'low'",
    ),
    (
        lambda: random.gumbel(K, (2,), mode="foo"),
        ValueError,
        "Must provide valid mode for gumbel got: foo",
    ),
    (
        lambda: random.multivariate_normal(K, np.zeros(2), np.eye(2), method="foo"),
        ValueError,
        "method must be one of {'svd', 'eigh', 'cholesky'}",
    ),
    (
        lambda: random.choice(K, 0, (3,)),
        ValueError,
        "a must be greater than 0 unless no samples are taken",
    ),
    (
        lambda: random.choice(K, 3, (4,), replace=False),
        ValueError,
        "Cannot take a larger sample (size 4) than population (size 3) when 'replace=False'",
    ),
    (
        lambda: random.categorical(K, np.zeros((2, 3)), replace=False, shape=(4, 2)),
        ValueError,
        "Number of samples without replacement (4) cannot exceed number of categories (3).",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), WRONG, ids=[text for _, _, text in WRONG])
def test_what_jax_refuses_is_refused_in_its_words(call, error, text):
    with pytest.raises(error) as outside:
        call()
    with pytest.raises(error) as inside:
        transpile.make_jaxpr(lambda x: call())(0)
    for found in (outside, inside):
        assert text in str(found.value)
        assert str(found.value).startswith("test_random_errors.py:")


@pytest.mark.parametrize(
    "draw", [lambda n: random.normal(K, (n,)), lambda n: random.permutation(K, n)]
)
def test_a_shape_is_known_while_tracing_or_becomes_static(draw):
    with pytest.raises(transpile.errors.TracerIntegerConversionError):
        transpile.jit(draw, python_control_flow=False)(3)
    np.testing.assert_array_equal(transpile.jit(draw)(3), draw(3))


def test_empty_shapes_give_empty_arrays():
    for found in (
        random.normal(K, (0, 3)),
        random.gamma(K, 1.0, (0, 3)),
        random.poisson(K, 20.0, (0, 3)),
        random.randint(K, (0, 3), 0, 5),
        random.categorical(K, np.zeros((0, 3, 4))),
        random.dirichlet(K, np.ones(3), (0,)),
    ):
        assert found.shape == (0, 3)
    assert random.split(K, 0).shape == (0,)
    assert random.permutation(K, 0).shape == random.permutation(K, -3).shape == (0,)
    assert random.choice(K, 0, (0,)).dtype == np.int64
