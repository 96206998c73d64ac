"""Functions of `lax` on whole arrays: shapes, slices, sorts, reductions and products; compiled,
with derivatives, and under vmap."""

import numpy as np
import pytest
from helpers import ordinary
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile import lax
from transpile import numpy as jnp
from transpile.test_util import check_grads

X = np.random.default_rng(0).permutation(np.linspace(-2, 3, 24)).reshape(2, 3, 4)
ROW = np.array([3.0, 1.0, 2.0, 5.0, -1.0])

# Functions of an array of (2, 3, 4), and the same with NumPy.
FUNCTIONS = {
    "broadcast": (lambda x: lax.broadcast(x, (2,)), lambda x: np.stack([x, x])),
    "broadcast_in_dim": (
        lambda x: lax.broadcast_in_dim(x, (2, 5, 3, 4), (0, 2, 3)),
        lambda x: np.repeat(x[:, None], 5, 1),
    ),
    "expand_dims": (lambda x: lax.expand_dims(x, (0, -1)), lambda x: x[None, ..., None]),
    "reshape": (
        lambda x: lax.reshape(x, (4, 6), (2, 0, 1)),
        lambda x: x.transpose(2, 0, 1).reshape(4, 6),
    ),
    "collapse": (lambda x: lax.collapse(x, 1), lambda x: x.reshape(2, 12)),
    "transpose": (lambda x: lax.transpose(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    "rev": (lambda x: lax.rev(x, (0, 2)), lambda x: x[::-1, :, ::-1]),
    "concatenate": (lambda x: lax.concatenate([x, x], 1), lambda x: np.concatenate([x, x], 1)),
    "stack": (lambda x: lax.stack([x, 2 * x], 1), lambda x: np.stack([x, 2 * x], 1)),
    "tile": (lambda x: lax.tile(x, (1, 2, 3)), lambda x: np.tile(x, (1, 2, 3))),
    "pad": (
        lambda x: lax.pad(x, 0.5, [(1, -1, 0), (0, 2, 1), (-1, 0, 2)]),
        lambda x: padded(x, 0.5, [(1, -1, 0), (0, 2, 1), (-1, 0, 2)]),
    ),
    "slice": (
        lambda x: lax.slice(x, (0, 1, 0), (2, 3, 4), (1, 2, 3)),
        lambda x: x[:, 1:3:2, 0:4:3],
    ),
    "slice_in_dim": (lambda x: lax.slice_in_dim(x, -3, -1, 1, 2), lambda x: x[:, :, -3:-1]),
    "dynamic_slice": (
        lambda x: lax.dynamic_slice(x, (0, np.int32(2), -3), (2, 2, 2)),
        lambda x: x[:, 1:3, 1:3],
    ),
    "dynamic_index_in_dim": (lambda x: lax.dynamic_index_in_dim(x, -1, 1), lambda x: x[:, 2:]),
    "dynamic_update_slice": (
        lambda x: lax.dynamic_update_slice(x, x[:1, :2] * 2, (1, 9, 0)),
        lambda x: np.stack([x[0], np.concatenate([x[1, :1], x[0, :2] * 2])]),
    ),
    "dynamic_update_index_in_dim": (
        lambda x: lax.dynamic_update_index_in_dim(x, x[:, 0] * 3, 2, 1),
        lambda x: np.concatenate([x[:, :2], x[:, :1] * 3], 1),
    ),
    "index_take": (
        lambda x: lax.index_take(x, (np.array([1, -1]), np.array([0, 5])), (0, 2)),
        lambda x: np.stack([x[1, :, 0], x[1, :, 1]]),
    ),
    "sort": (lambda x: lax.sort(x, 1), lambda x: np.sort(x, 1)),
    "top_k": (lambda x: lax.top_k(x, 2)[0], lambda x: -np.sort(-x, -1)[..., :2]),
    "approx_min_k": (lambda x: lax.approx_min_k(x, 2, 1)[0], lambda x: np.sort(x, 1)[:, :2]),
    "cumsum": (lambda x: lax.cumsum(x, 1, True), lambda x: np.cumsum(x[:, ::-1], 1)[:, ::-1]),
    "cumprod": (lambda x: lax.cumprod(x, 2), lambda x: np.cumprod(x, 2)),
    "cummax": (lambda x: lax.cummax(x, 0), lambda x: np.maximum.accumulate(x, 0)),
    "cumlogsumexp": (
        lambda x: lax.cumlogsumexp(x, 2, True),
        lambda x: np.logaddexp.accumulate(x[..., ::-1], 2)[..., ::-1],
    ),
    "reduce_sum": (lambda x: lax.reduce_sum(x, (0, 2)), lambda x: x.sum((0, 2))),
    "reduce_max": (lambda x: lax.reduce_max(x, (1,)), lambda x: x.max(1)),
    "reduce": (lambda x: lax.reduce(x, 2.0, lax.add, (0, 1)), lambda x: x.sum((0, 1)) + 2),
    "reduce by pairs": (
        lambda x: lax.reduce(x, 1.0, lambda a, b: a + b + a * b, (1, 2)),
        lambda x: 2 * np.prod(1 + x, (1, 2)) - 1,
    ),
    "dot_general": (
        lambda x: lax.dot_general(x, x, (((2,), (2,)), ((0,), (0,)))),
        lambda x: np.einsum("bik,bjk->bij", x, x),
    ),
    "batch_matmul": (
        lambda x: lax.batch_matmul(x, lax.transpose(x, (0, 2, 1))),
        lambda x: x @ x.swapaxes(1, 2),
    ),
    "fft": (
        lambda x: lax.real(lax.fft(lax.complex(x, 2 * x), "fft", (3, 4))),
        lambda x: np.fft.fftn((1 + 2j) * x, axes=(1, 2)).real,
    ),
    "ragged_dot": (
        lambda x: lax.ragged_dot(x[0], lax.reshape(x, (2, 4, 3)), np.array([1, 1])),
        lambda x: np.stack(
            [x[0, 0] @ x.reshape(2, 4, 3)[0], x[0, 1] @ x.reshape(2, 4, 3)[1], np.zeros(3)]
        ),
    ),
    "scaled_dot": (
        lambda x: lax.scaled_dot(
            x, lax.transpose(x, (0, 2, 1)), lhs_scale=x[:, :, :2], preferred_element_type=float
        ),
        lambda x: (x * np.repeat(x[:, :, :2], 2, 2)) @ x.swapaxes(1, 2),
    ),
    "clamp": (lambda x: lax.clamp(-1.0, x, 1.5), lambda x: np.clip(x, -1, 1.5)),
    "select": (lambda x: lax.select(x > 0, x, -2 * x), lambda x: np.where(x > 0, x, -2 * x)),
    "full_like": (lambda x: lax.full_like(x, 2) * x, lambda x: 2 * x),
    "split": (lambda x: lax.split(x, (1, 2), 1)[1], lambda x: x[:, 1:]),
    "unstack": (lambda x: lax.unstack(x, 1)[2], lambda x: x[:, 2]),
}


def padded(x, value, config):
    """What `lax.pad` means, one axis after the other."""
    for axis, (low, high, between) in enumerate(config):
        x = np.moveaxis(x, axis, 0)
        rows = []
        for k, row in enumerate(x):
            rows += [np.full_like(row, value)] * between * (k > 0) + [row]
        rows = [np.full_like(x[0], value)] * max(low, 0) + rows[max(-low, 0) :]
        rows = rows[: len(rows) + min(high, 0)] + [np.full_like(x[0], value)] * max(high, 0)
        x = np.moveaxis(np.stack(rows), 0, axis)
    return x


@pytest.fixture(scope="module")
def compiled(shared_cache):
    """The results of one program for all functions."""
    return transpile.jit(lambda x: {name: f(x) for name, (f, _) in FUNCTIONS.items()})(X)


@pytest.mark.parametrize("name", FUNCTIONS)
@one_in(3)
def test_results_are_numpys(name, compiled):
    function, numpys = FUNCTIONS[name]
    expected = numpys(X)
    for found in (function(X), compiled[name]):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name):
    check_grads(FUNCTIONS[name][0], (X,), 1)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vmap_is_a_loop(name):
    function = FUNCTIONS[name][0]
    several = np.stack([X, X[::-1] * 1.5, X + 0.25])
    found = transpile.vmap(function)(several)
    for k in range(3):
        np.testing.assert_allclose(found[k], function(several[k]), rtol=1e-13, atol=1e-13)


# ------------------------------------------------------------------------------- sorts, positions


@given(st.integers(0, 1000), st.sampled_from(["i4", "f8", "u1", "?"]), st.integers(1, 3))
@settings(max_examples=30)
def test_several_operands_are_sorted_by_keys(seed, dtype, num_keys):
    random = np.random.default_rng(seed)
    arrays = [random.integers(0, 3, (3, 7)).astype(dtype) for _ in range(num_keys)]
    arrays.append(np.arange(21.0).reshape(3, 7))
    found = lax.sort(tuple(arrays), dimension=1, num_keys=num_keys)
    order = np.lexsort([*reversed(arrays[:num_keys])], 1)
    for got, x in zip(found, arrays, strict=True):
        np.testing.assert_array_equal(got, np.take_along_axis(x, order, 1))


@given(st.lists(st.sampled_from([0.0, 1.0, -2.5, np.nan, np.inf, -np.inf]), min_size=1))
@settings(max_examples=50)
def test_top_k_prefers_the_first_of_equal_ones(row):
    x = np.array(row)
    values, places = lax.top_k(x, len(row))
    order = sorted(range(len(row)), key=lambda k: (not np.isnan(x[k]), -np.nan_to_num(x[k], nan=0)))
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, x[order])
    assert places.dtype == np.int32


def test_the_largest_element_is_found_without_a_sort(shared_cache):
    x = np.array([[2.0, np.nan, np.nan], [5.0, 7.0, 7.0]])

    def largest(x):
        return lax.top_k(x, 1), lax.top_k(x, 1, axis=0)

    for found in (largest(x), transpile.jit(largest)(x)):
        np.testing.assert_array_equal(found[0][0], [[np.nan], [7]])
        np.testing.assert_array_equal(found[0][1], [[1], [1]])
        np.testing.assert_array_equal(found[1][1], [[1, 0, 0]])
    graph = transpile.make_jaxpr(largest)(x)
    assert not any(e.primitive.kind == "sort" for e in graph.equations)


def test_positions_of_extremes(shared_cache):
    x = np.array([[2.0, np.nan, 7.0], [5.0, 1.0, 5.0]])
    found = transpile.jit(lambda x: (lax.argmax(x, 1, jnp.int32), lax.argmin(x, 0, jnp.uint8)))(x)
    np.testing.assert_array_equal(found[0], np.argmax(x, 1))
    np.testing.assert_array_equal(found[1], np.argmin(x, 0))
    assert (found[0].dtype, found[1].dtype) == (np.int32, np.uint8)


# -------------------------------------------------------------------------------------- reductions


@given(st.integers(0, 9), st.integers(1, 4), st.integers(0, 100))
@settings(max_examples=30)
def test_reductions_by_a_computation_keep_the_order(size, width, seed):
    """Affine maps x -> a x + b, composed from left to right: associative, not commutative."""
    random = np.random.default_rng(seed)
    a, b = random.integers(-3, 4, (2, size, width)).astype(float)

    def composed(first, second):
        return first[0] * second[0], first[1] * second[0] + second[1]

    found = lax.reduce((a, b), (2.0, 3.0), composed, (0,))
    scale, shift = np.full(width, 2.0), np.full(width, 3.0)
    for k in range(size):
        scale, shift = scale * a[k], shift * a[k] + b[k]
    np.testing.assert_array_equal(found[0], scale)
    np.testing.assert_array_equal(found[1], shift)


def test_reductions_of_pytrees_compiled(shared_cache):
    def best(x):
        numbers = lax.broadcasted_iota(np.int64, x.shape, 1)
        start = {"value": -np.inf, "place": np.int64(-1)}

        def better(a, b):
            wins = a["value"] >= b["value"]
            return {k: jnp.where(wins, a[k], b[k]) for k in a}

        return lax.reduce({"value": x, "place": numbers}, start, better, (1,))

    x = np.random.default_rng(0).normal(size=(4, 9))
    found = transpile.jit(best)(x)
    np.testing.assert_array_equal(found["value"], x.max(1))
    np.testing.assert_array_equal(found["place"], x.argmax(1))
    np.testing.assert_array_equal(best(x)["place"], x.argmax(1))


@pytest.mark.parametrize(
    ("computation", "start", "row"),
    [
        (lax.add, 0.0, "reduce_sum"),
        (lambda a, b: b + a, 0.0, "reduce_sum"),
        (lax.mul, 1.0, "reduce_prod"),
        (lax.max, -np.inf, "reduce_max"),
        (jnp.minimum, np.inf, "reduce_min"),
    ],
)
def test_known_reductions_are_one_row(computation, start, row):
    graph = transpile.make_jaxpr(lambda x: lax.reduce(x, start, computation, (1,)))(X)
    assert [e.primitive.name for e in graph.equations] == [row]


def test_bitwise_reductions(shared_cache):
    x = np.random.default_rng(0).integers(-100, 100, (50, 3))
    found = transpile.jit(
        lambda x: [f(x, (0,)) for f in (lax.reduce_and, lax.reduce_or, lax.reduce_xor)]
    )(x)
    for got, ufunc in zip(found, (np.bitwise_and, np.bitwise_or, np.bitwise_xor), strict=True):
        np.testing.assert_array_equal(got, ufunc.reduce(x, 0))
    even = transpile.jit(lambda x: lax.reduce_xor(x > 0, (0,)))(x)
    np.testing.assert_array_equal(even, np.logical_xor.reduce(x > 0, 0))


# ----------------------------------------------------------------------------------------- products


@given(st.data())
@settings(max_examples=40)
def test_dot_general_is_einsum(data):
    letters = data.draw(st.lists(st.sampled_from("abcde"), unique=True, max_size=5))
    roles = {c: data.draw(st.sampled_from(["batch", "contract", "left", "right"])) for c in letters}
    left = data.draw(st.permutations([c for c in letters if roles[c] != "right"]))
    right = data.draw(st.permutations([c for c in letters if roles[c] != "left"]))
    sizes = {c: data.draw(st.integers(0, 3)) for c in letters}
    batch = [c for c in letters if roles[c] == "batch"]
    inner = [c for c in letters if roles[c] == "contract"]
    x = ordinary(np.float64, tuple(sizes[c] for c in left), 1)
    y = ordinary(np.float64, tuple(sizes[c] for c in right), 2)
    numbers = tuple(
        tuple(tuple(side.index(c) for c in chosen) for side in (left, right))
        for chosen in (inner, batch)
    )
    out = [
        *batch,
        *(c for c in left if roles[c] == "left"),
        *(c for c in right if roles[c] == "right"),
    ]
    expected = np.einsum(f"{''.join(left)},{''.join(right)}->{''.join(out)}", x, y)
    np.testing.assert_allclose(lax.dot_general(x, y, numbers), expected, rtol=1e-13, atol=1e-13)


def test_products_in_a_wider_dtype(shared_cache):
    x = np.full((2, 300), 100, np.int8)
    found = transpile.jit(lambda x: lax.dot(x, x.T, preferred_element_type=jnp.int32))(x)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, 300 * 100 * 100)


def test_values_that_are_python_numbers_stay_weak():
    single = np.ones(3, np.float32)

    def both(x):
        return lax.add(single, lax.clamp(0.0, x, 1.0)), lax.mul(single, lax.full((), x))

    assert [v.dtype for v in transpile.jit(both)(0.5)] == [np.float32, np.float32]


def test_shapes_of_arrays_only(shared_cache):
    assert lax.broadcast_shapes((2, 1), (3,)) == (2, 3)
    with pytest.raises(TypeError, match="no negative lengths"):
        lax.broadcast_shapes((-1,))
    with pytest.raises(TypeError, match="not a valid transpile type"):
        lax.stop_gradient(len)
    np.testing.assert_array_equal(lax.shape_as_value((2, 3)), [2, 3])
    made = transpile.jit(lambda: (lax.iota(np.float32, 3), lax.broadcasted_iota(int, (2, 2), 0)))()
    np.testing.assert_array_equal(made[0], np.arange(3, dtype=np.float32), strict=True)
    np.testing.assert_array_equal(made[1], [[0, 0], [1, 1]])
    # A large array that is made in a trace is no constant of the program.
    graph = transpile.make_jaxpr(lambda x: lax.add(x, lax.iota(np.float64, 10**6)))(np.ones(10**6))
    assert any(e.primitive.name == "iota" for e in graph.equations)
