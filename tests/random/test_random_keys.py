"""Keys: arrays of a dtype of their own, in and out of programs, loops and trees; raw keys."""

import copy
import pickle

import numpy as np
import pytest
from thorough import one_in

import transpile as jax
from transpile import lax, random
from transpile import numpy as jnp

KEY = random.key(0)
KEYS = random.split(KEY, 3)
# As JAX prints them.
WORDS = [[1797259609, 2579123966], [928981903, 3453687069], [4146024105, 2718843009]]


def words(keys):
    return random.key_data(keys).tolist()


# ------------------------------------------------------------------------------------- key arrays


def test_keys_look_like_an_array_of_keys():
    assert (KEY.shape, KEY.ndim, KEY.size) == ((), 0, 1)
    assert (KEYS.shape, KEYS.ndim, KEYS.size, KEYS.itemsize, KEYS.nbytes) == ((3,), 1, 3, 8, 24)
    assert repr(KEY.dtype) == str(KEY.dtype) == KEY.dtype.name == "key<fry>"
    assert repr(KEY) == "Array((), dtype=key<fry>) overlaying:\n[0 0]"
    assert str(KEYS[:1]) == ("Array((1,), dtype=key<fry>) overlaying:\n[[1797259609 2579123966]]")
    assert isinstance(KEYS, jax.Array)
    assert (jax.typeof(KEYS).shape, jax.typeof(KEYS).dtype) == ((3,), KEY.dtype)


def test_the_dtype_of_keys_is_known_as_such():
    assert KEY.dtype == KEYS.dtype == random.key_dtype() != np.dtype("uint64")
    assert len({KEY.dtype, KEYS.dtype}) == 1
    for issubdtype in (jnp.issubdtype, jax.dtypes.issubdtype):
        assert issubdtype(KEY.dtype, jax.dtypes.prng_key)
        assert issubdtype(KEY.dtype, jax.dtypes.extended)
        assert not issubdtype(KEY.dtype, np.integer)
        assert not issubdtype(np.uint64, jax.dtypes.prng_key)
        assert issubdtype("float32", np.floating)
        assert issubdtype(np.float32, jnp.inexact)
        assert not issubdtype(int, np.floating)
    assert KEY.dtype.type is jax.dtypes.prng_key
    assert random.key_impl(KEY) == "threefry2x32"


def test_keys_are_indexed_and_iterated_over():
    assert words(KEYS) == WORDS
    assert [words(k) for k in KEYS] == WORDS
    first, *rest = KEYS
    assert words(first) == WORDS[0]
    assert len(KEYS) == len(rest) + 1 == 3
    assert words(KEYS[1]) == words(KEYS[-2]) == WORDS[1]
    assert words(KEYS[::-1]) == WORDS[::-1]
    assert words(KEYS[np.array([2, 0])]) == [WORDS[2], WORDS[0]]
    assert words(KEYS[np.array([True, False, True])]) == [WORDS[0], WORDS[2]]
    assert words(KEYS[None, 1:])[0] == WORDS[1:]
    with pytest.raises(IndexError):
        KEYS[0, 0]
    with pytest.raises(TypeError, match="iteration over a 0-d key array"):
        iter(KEY)
    with pytest.raises(TypeError, match="unsized"):
        len(KEY)


def test_keys_are_moved_like_numbers():
    square = random.split(KEY, (2, 3))
    data = random.key_data(square)
    assert square.T.shape == (3, 2)
    for moved, expected in [
        (square.reshape(3, 2), data.reshape(3, 2, 2)),
        (square.ravel(), data.reshape(6, 2)),
        (square.flatten(), data.reshape(6, 2)),
        (square.T, data.transpose(1, 0, 2)),
        (square.swapaxes(0, 1), data.swapaxes(0, 1)),
        (square.transpose(1, 0), data.transpose(1, 0, 2)),
        (square[:1].squeeze(0), data[0]),
        (square.take(4), data.reshape(6, 2)[4]),
        (square.take(np.array([1]), axis=1), data[:, 1:2]),
        (square.copy(), data),
        (square.at[0, 1].set(KEY), np.where(np.arange(6).reshape(2, 3, 1) == 1, [0, 0], data)),
        (square.at[1].get(), data[1]),
        (jnp.stack([square[0], square[1]]), data),
        (jnp.concatenate([square, square], axis=1), np.concatenate([data, data], axis=1)),
        (jnp.expand_dims(square, 1), data[:, None]),
        (jnp.roll(square, 1, axis=1), np.roll(data, 1, axis=1)),
        (jnp.broadcast_to(KEY, (2,)), np.zeros((2, 2))),
        (jnp.where(np.array([True, False, True]), KEYS, KEY), [WORDS[0], [0, 0], WORDS[2]]),
        (jnp.zeros_like(KEYS), np.zeros((3, 2))),
        (jnp.asarray(square), data),
        (jnp.array([square, square]), np.stack([data, data])),
    ]:
        np.testing.assert_array_equal(random.key_data(moved), expected)
    assert jnp.shape(square) == (2, 3)
    assert jnp.ndim(square) == 2
    assert [words(k) for k in np.split(KEYS, 3)] == [[w] for w in WORDS]


def test_keys_are_moved_by_lax():
    square = random.split(KEY, (2, 3))
    data = random.key_data(square)

    def everything(ks, i):
        return {
            "index": lax.dynamic_index_in_dim(ks, i, axis=1, keepdims=False),
            "slice": lax.dynamic_slice(ks, (0, i), (2, 2)),
            "update": lax.dynamic_update_slice(ks, ks[:1, :1], (1, i)),
            "select": lax.select(np.full((2, 3), i == 1), ks, ks[::-1]),
            "reshape": lax.reshape(ks, (3, 2)),
            "concatenate": lax.concatenate([ks, ks], 0),
            "squeeze": lax.squeeze(lax.expand_dims(ks, (0,)), (0,)),
            "stopped": lax.stop_gradient(ks),
            "taken": jnp.take(ks, i, axis=1),
            "known": jnp.take(square, i, axis=1),
        }

    expected = {
        "index": data[:, 1],
        "slice": data[:, 1:],
        "update": np.where(np.arange(6).reshape(2, 3, 1) == 4, data[0, 0], data),
        "select": data,
        "reshape": data.reshape(3, 2, 2),
        "concatenate": np.concatenate([data, data]),
        "squeeze": data,
        "stopped": data,
        "taken": data[:, 1],
        "known": data[:, 1],
    }
    for found in (everything(square, 1), jax.jit(lambda ks, i: everything(ks, i))(square, 1)):
        for name, keys in found.items():
            np.testing.assert_array_equal(random.key_data(keys), expected[name], err_msg=name)
    with pytest.raises(TypeError, match="sort does not accept dtype key<fry>"):
        lax.sort(KEYS)


def test_keys_are_no_numbers():
    for operation, text in [
        (lambda: KEY + 1, "add does not accept dtypes key<fry>, int"),
        (lambda: 2 * KEYS, "multiply does not accept dtypes int, key<fry>"),
        (lambda: -KEY, "negative does not accept dtypes key<fry>"),
        (lambda: KEY < KEY, "less does not accept dtypes key<fry>, key<fry>"),
        (lambda: KEY == 1, "equal does not accept dtypes key<fry>, int"),
        (lambda: np.exp(KEY), "exp does not accept dtypes key<fry>"),
        (lambda: jnp.sum(KEYS), "sum does not accept dtype key<fry>"),
        (lambda: bool(KEY), "key array cannot be converted to boolean"),
        (lambda: np.asarray(KEY), "cannot be converted to a NumPy array"),
        (lambda: hash(KEY), "unhashable"),
        (lambda: int(KEY), "int"),
        (lambda: float(KEY), "float"),
    ]:
        with pytest.raises(TypeError, match=text):
            operation()


def test_keys_are_compared():
    assert bool(random.key(0) == KEY)
    assert (KEYS[1] == KEYS).tolist() == [False, True, False]
    assert (KEYS[1] != KEYS).tolist() == [True, False, True]
    assert np.array_equal(KEYS, KEYS.copy())


def test_keys_are_copied_and_pickled():
    for again in (copy.copy(KEYS), copy.deepcopy(KEYS), pickle.loads(pickle.dumps(KEYS))):
        assert words(again) == WORDS
    assert words(random.clone(KEYS)) == WORDS
    assert words(random.wrap_key_data(random.key_data(KEYS))) == WORDS
    assert KEYS.block_until_ready() is KEYS


def test_keys_are_permuted_and_chosen():
    order = random.permutation(KEY, 3)
    assert words(random.permutation(KEY, KEYS)) == [WORDS[n] for n in order]
    places = random.choice(KEY, 3, (5,))
    assert words(random.choice(KEY, KEYS, (5,))) == [WORDS[n] for n in places]
    inside = jax.jit(lambda k, ks: (random.permutation(k, ks), jnp.array([ks[0], k])))(KEY, KEYS)
    assert words(inside[0]) == [WORDS[n] for n in order]
    assert words(inside[1]) == [WORDS[0], [0, 0]]


# ----------------------------------------------------------------------------------------- seeds


@pytest.mark.parametrize(
    ("seed", "expected"),
    [  # as JAX prints them
        (0, [0, 0]),
        (-1, [4294967295, 4294967295]),
        (-(2**63), [2147483648, 0]),
        (2**32 + 5, [1, 5]),
        (np.int32(-1), [0, 4294967295]),
        (np.uint8(255), [0, 255]),
        (np.int64(-5), [4294967295, 4294967291]),
        (True, [0, 1]),
    ],
)
@one_in(3)
def test_a_seed_is_the_bits_of_the_key(seed, expected):
    assert words(random.key(seed)) == random.PRNGKey(seed).tolist() == expected
    inside = jax.jit(lambda s: (random.key(s), random.PRNGKey(s)))(np.asarray(seed))
    assert words(inside[0]) == inside[1].tolist() == expected


def test_raw_keys_give_raw_keys():
    raw = random.PRNGKey(0)
    assert (raw.dtype, raw.shape) == (np.uint32, (2,))
    assert random.split(raw, 3).tolist() == WORDS
    assert random.split(raw, (2, 2)).shape == (2, 2, 2)
    assert random.fold_in(raw, 1).tolist() == WORDS[1]
    assert random.clone(raw).tolist() == [0, 0]
    assert random.key_data(raw).tolist() == [0, 0]
    assert random.key_impl(raw) == "threefry2x32"
    assert random.normal(raw, (3,)).tolist() == random.normal(KEY, (3,)).tolist()
    inside = jax.jit(lambda k: random.split(random.fold_in(k, 1)))(raw)
    assert inside.dtype == np.uint32
    np.testing.assert_array_equal(inside, random.key_data(random.split(KEYS[1])))


# -------------------------------------------------------------------------------- transformations


def test_keys_cross_programs():
    same = jax.jit(lambda ks: ks)(KEYS)
    assert words(same) == WORDS
    assert words(jax.jit(lambda ks, i: ks[i])(KEYS, 1)) == WORDS[1]
    assert words(jax.jit(lambda i: KEYS[i])(2)) == WORDS[2]
    moved = jax.jit(lambda t: {"first": t["keys"][0], "rest": [t["keys"][1:]]})({"keys": KEYS})
    assert words(moved["first"]) == WORDS[0]
    assert words(moved["rest"][0]) == WORDS[1:]
    chosen = jax.jit(lambda test, ks: jnp.where(test, ks, ks[0]))
    assert words(chosen(np.array([True, False, True]), KEYS)) == [WORDS[0], WORDS[0], WORDS[2]]
    compiled = jax.jit(lambda k: random.split(k)).lower(KEY).compile()
    assert words(compiled(KEY)) == WORDS[:2]
    assert words(pickle.loads(pickle.dumps(compiled))(KEY)) == WORDS[:2]


def test_a_program_takes_a_key_for_no_number():
    """The key of a call knows keys from what holds the same numbers."""
    jitted = jax.jit(lambda x: x)
    assert isinstance(jitted(np.zeros(3, np.uint64)), np.ndarray)
    assert words(jitted(KEYS)) == WORDS
    assert jitted._cache_size() == 2


def test_shapes_of_keys_are_known_without_values():
    found = jax.eval_shape(random.split, KEY)
    assert (found.shape, found.dtype) == ((2,), KEY.dtype)
    assert repr(found) == "ShapeDtypeStruct(shape=(2,), dtype=key<fry>)"
    given = jax.ShapeDtypeStruct((2,), KEY.dtype)
    assert repr(given) == repr(found)
    lowered = jax.jit(lambda ks: random.normal(ks[0])).lower(given)
    assert lowered.compile()(KEYS[:2]) == random.normal(KEYS[0])
    plain = jax.ShapeDtypeStruct((2,), "float32")
    assert copy.copy(plain) == pickle.loads(pickle.dumps(plain)) == plain
    samples = jax.eval_shape(lambda k: random.normal(k, (4,)), KEY)
    assert (samples.shape, samples.dtype) == ((4,), np.float64)


def test_vmap_over_keys_is_a_loop_over_them():
    samplers = {
        "normal": lambda k: random.normal(k, (4,)),
        "uniform": lambda k: random.uniform(k, (2, 2), "float32"),
        "bits": lambda k: random.bits(k, (3,), "uint8"),
        "randint": lambda k: random.randint(k, (3,), 0, 100),
        "gamma": lambda k: random.gamma(k, 0.7, (3,)),
        "categorical": lambda k: random.categorical(k, np.zeros(5), shape=(4,)),
        "permutation": lambda k: random.permutation(k, 6),
        "choice": lambda k: random.choice(k, 9, (4,), replace=False),
        "poisson": lambda k: random.poisson(k, np.array([2.0, 30.0])),
        "split": lambda k: random.key_data(random.split(k, (2, 2))),
        "fold_in": lambda k: random.key_data(random.fold_in(k, 9)),
        "multivariate_normal": lambda k: random.multivariate_normal(k, np.zeros(2), np.eye(2)),
    }
    everything = jax.jit(lambda ks: {n: jax.vmap(f)(ks) for n, f in samplers.items()})(KEYS)
    one = jax.jit(lambda k: {n: f(k) for n, f in samplers.items()})
    for number, key in enumerate(KEYS):
        for name, expected in one(key).items():
            np.testing.assert_array_equal(everything[name][number], expected, err_msg=name)


def test_vmap_over_any_axis_and_of_parameters():
    square = random.split(KEY, (2, 3))
    last = jax.vmap(jax.vmap(random.bits), in_axes=-1)(square)
    first = jax.vmap(jax.vmap(random.bits))(square)
    np.testing.assert_array_equal(last, first.T)
    turned = jax.vmap(lambda ks: ks, in_axes=1, out_axes=-1)(square)
    np.testing.assert_array_equal(random.key_data(turned), random.key_data(square))
    scales = np.array([1.0, 2.0, 3.0])
    found = jax.vmap(lambda k, s: random.uniform(k, (2,), maxval=s))(KEYS, scales)
    expected = [random.uniform(k, (2,), maxval=s) for k, s in zip(KEYS, scales, strict=True)]
    np.testing.assert_array_equal(found, expected)
    same = jax.vmap(lambda s: random.uniform(KEY, (2,), maxval=s))(scales)
    np.testing.assert_array_equal(same[2], random.uniform(KEY, (2,), maxval=3.0))


def test_keys_are_carried_by_loops():
    def step(key, _):
        key, own = random.split(key)
        return key, random.normal(own, (2,))

    @jax.jit
    def walk(key):
        last, samples = lax.scan(step, key, None, length=4)
        counted = lax.fori_loop(0, 4, lambda _, k: random.split(k)[0], key)
        waited = lax.while_loop(
            lambda s: s[1] < 4, lambda s: (random.split(s[0])[0], s[1] + 1), (key, 0)
        )
        chosen = lax.cond(samples[0, 0] > 9, lambda k: k, lambda k: random.fold_in(k, 1), key)
        return last, samples, counted, waited[0], chosen

    last, samples, counted, waited, chosen = walk(KEY)
    key, expected = KEY, []
    for _ in range(4):
        key, sample = step(key, None)
        expected.append(sample)
    np.testing.assert_array_equal(samples, expected)
    assert words(last) == words(counted) == words(waited) == words(key)
    assert words(chosen) == WORDS[1]
    # Outside of programs, too, and over arrays of keys.
    outside, same = lax.scan(step, KEY, None, length=4)
    assert words(outside) == words(key)
    np.testing.assert_allclose(same, expected, rtol=1e-13)
    over = lax.map(random.bits, KEYS)
    assert over.tolist() == [int(random.bits(k)) for k in KEYS]
    _, kept = lax.scan(lambda c, k: (c, random.fold_in(k, 0)), 0, KEYS)
    assert words(kept) == [words(random.fold_in(k, 0)) for k in KEYS]


def test_functions_of_keys_have_derivatives_by_other_arguments():
    def f(key, scale):
        return (scale * random.normal(key, (3,))).sum()

    slope = random.normal(KEY, (3,)).sum()
    assert jax.grad(f, argnums=1)(KEY, 2.0) == pytest.approx(slope)
    value, pullback = jax.vjp(f, KEY, 2.0)
    of_key, of_scale = pullback(1.0)
    assert value == pytest.approx(2 * slope)
    assert of_scale == pytest.approx(slope)
    assert of_key.dtype == jax.dtypes.float0
    assert jax.jvp(lambda s: f(KEY, s), (2.0,), (1.0,))[1] == pytest.approx(slope)
    with pytest.raises(TypeError, match="requires real"):
        jax.grad(f)(KEY, 2.0)


def test_custom_rules_keep_keys():
    def f(key, x):
        return random.normal(key) * x

    by_vjp = jax.custom_vjp(f)
    by_vjp.defvjp(
        lambda key, x: (f(key, x), (key, x)),
        lambda kept, t: (None, 10 * t * random.normal(kept[0])),
    )
    by_jvp = jax.custom_jvp(f)
    by_jvp.defjvp(lambda p, t: (f(*p), 10 * t[1] * random.normal(p[0])))
    checkpointed = jax.checkpoint(lambda key, x: 10 * f(key, x))
    for function in (by_vjp, by_jvp, checkpointed):
        for slope in (jax.grad(function, argnums=1), jax.jit(jax.grad(function, argnums=1))):
            assert slope(KEY, 2.0) == pytest.approx(10 * random.normal(KEY))


def test_keys_are_leaves_of_trees():
    tree = {"a": KEY, "b": [KEYS]}
    leaves, structure = jax.tree.flatten(tree)
    assert [x.shape for x in leaves] == [(), (3,)]
    assert structure == jax.tree.structure({"a": 0, "b": [0]})
    assert words(jax.tree.unflatten(structure, leaves)["b"][0]) == WORDS
    # The usual way to give each parameter a key of its own.
    params = {"w": np.ones((2, 3)), "b": np.ones(3)}
    structure = jax.tree.structure(params)
    keys = jax.tree.unflatten(structure, list(random.split(KEY, structure.num_leaves)))
    noisy = jax.tree.map(lambda p, k: p + random.normal(k, p.shape), params, keys)
    np.testing.assert_array_equal(noisy["w"], 1 + random.normal(KEYS[1], (2, 3)))
    stacked = jax.tree.map(lambda *ks: jnp.stack(ks), keys, keys)
    assert stacked["w"].shape == (2,)
    inside = jax.jit(lambda ps, ks: jax.tree.map(lambda p, k: p + random.normal(k), ps, ks))
    assert inside(params, keys)["b"].shape == (3,)
