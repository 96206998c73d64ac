"""The generators that JAX has beside Threefry-2x32: bits, keys and samples as in JAX 0.10.2."""

import pickle

import numpy as np
import pytest
from thorough import one_in

import transpile as jax
from transpile import lax, random
from transpile import numpy as jnp

# For the key of 2**40 + 42, what JAX prints: its words, those of fold_in(key, 5) and of its split
# into two; for the second of these 64 bits, 32 bits, three integers below 100, samples.
FACTS = {
    "rbg": [
        "rbg",
        [256, 42, 256, 42],
        [3949739660, 4188441414, 3949739660, 4188441414],
        [
            [2279242652, 3443630612, 2279242652, 3443630612],
            [1154285898, 2542564374, 1154285898, 2542564374],
        ],
        [8386115913485100892, 10730927711238300044, 7686336925285810223],
        [3834095452, 1952544765],
        [92, 253],
        [49, 62, 17],
        [2, 4, 0, 1, 3],
        [0.45461225460579024, 0.5817247568654733],
        [-0.11401675787254914, 0.20630779975106409],
        [0.017835347893721914, 3.9757548284866746],
        [-4.026572954125366, 1.3802146240376314],
    ],
    "unsafe_rbg": [
        "urbg",
        [256, 42, 256, 42],
        [3810770253, 2355008983, 1837142873, 748193156],
        [
            [762345356, 2562678063, 4059591071, 4128217196],
            [4129088625, 3227452471, 3953671774, 3597586992],
        ],
        [14022362835398431088, 9501866191700634119, 12405592321082227998],
        [2207256944, 3264835764],
        [112, 180],
        [63, 50, 98],
        [1, 2, 0, 4, 3],
        [0.7601538124759488, 0.5150971983854196],
        [0.706797424949558, 0.03785210136389311],
        [0.00016037355955024306, 7.518383996792892],
        [-8.738004716828792, 2.0173512208252165],
    ],
    "philox2x32": [
        "phx2",
        [1812269945],
        [14793869],
        [[91599420], [2108851873]],
        [11624000271856338142, 11747731516421391323, 6345137408161511744],
        [2153396855, 3556577353],
        [119, 73],
        [47, 31, 1],
        [3, 0, 1, 2, 4],
        [0.6301383173859367, 0.636845801594025],
        [0.332219705393223, 0.35004037552353695],
        [0.3261403644152295, 6.880927555073328],
        [-1.1204274245913322, 1.9287534619093365],
    ],
    "philox4x32": [
        "phx4",
        [541324533, 3803038970],
        [2889423421, 2534755886],
        [[2700577604, 3840915109], [2226172475, 1259571508]],
        [11300839044223622301, 11955752004385745856, 9875970321719556917],
        [816504924, 1653767016],
        [92, 104],
        [89, 99, 4],
        [1, 3, 0, 2, 4],
        [0.612619712132813, 0.6481226148426473],
        [0.2861534752808675, 0.3802568397546169],
        [0.0038613353373935697, 6.06438230982451],
        [-5.556742212999708, 1.8024326921681542],
    ],
    "threefry4x32": [
        "fry4",
        [2174137671, 3891451577, 4183534710, 1328945212],
        [4266974845, 2285541244, 1324391373, 2591995435],
        [
            [3226205006, 426663404, 856954887, 1401743151],
            [887023638, 2353902648, 1680016039, 1999934047],
        ],
        [3028767691040177746, 3731213526562943309, 7518042854283584832],
        [3517539960, 3425525667],
        [120, 163],
        [75, 67, 19],
        [4, 1, 2, 3, 0],
        [0.1641898255289831, 0.20226949057534216],
        [-0.9773828482995585, -0.8335422479633708],
        [0.10535682535587676, 6.43205780822528],
        [-2.2504023533993553, 1.861294519433491],
    ],
}


def drawn(key):
    """What FACTS has of a key, from one program."""
    own = random.split(key)[1]
    return [
        random.key_data(random.fold_in(key, 5)),
        random.key_data(random.split(key)),
        random.bits(own, (3,)),
        random.bits(own, (2,), "uint32"),
        random.bits(own, (2,), "uint8"),
        random.randint(own, (3,), 0, 100),
        random.permutation(own, 5),
        random.uniform(own, (2,)),
        random.normal(own, (2,)),
        random.gamma(own, np.array([0.3, 7.0]), (2,)),
        random.loggamma(own, np.array([0.3, 7.0]), (2,)),
    ]


@pytest.mark.parametrize("name", FACTS)
@one_in(7)
def test_bits_keys_and_samples_are_those_of_jax(name):
    tag, words, *expected = FACTS[name]
    key = random.key(2**40 + 42, impl=name)
    assert str(key.dtype) == f"key<{tag}>" and random.key_impl(key) == name
    assert random.key_dtype(name) == key.dtype != random.key(0).dtype
    assert random.key_data(key).tolist() == random.PRNGKey(2**40 + 42, impl=name).tolist() == words
    for found, wanted in zip(jax.jit(drawn)(key), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert f"dtype=key<{tag}>) overlaying" in repr(key)


@pytest.mark.parametrize("name", ["unsafe_rbg", "philox2x32"])
@one_in(2)
def test_keys_are_arrays_and_leaves(name):
    """Of two parts, and of one."""

    def programs(key, others):
        def step(key, _):
            key, own = random.split(key)
            return key, random.bits(own)

        last, found = lax.scan(step, key, None, length=3)
        moved = jnp.concatenate([others[::-1].reshape(3, 1), others[:, None]], axis=-1)
        chosen = jnp.where(np.array([True, False, True]), others, others[0])
        mapped = jax.vmap(random.bits, in_axes=-1)(moved.reshape(6)[:3])
        halves = jax.vmap(random.split, out_axes=1)(others)
        return {
            "last": last, "found": found, "moved": moved, "chosen": chosen, "mapped": mapped,
            "halves": halves, "set": others.at[1].set(key), "equal": others == others[::-1],
        }  # fmt: skip

    key = random.wrap_key_data(random.key_data(random.key(3, impl=name)), impl=name)
    others = random.split(key, 3)
    assert len(jax.tree.leaves([key, others])) == 2
    found = jax.jit(programs)(key, others)
    data = random.key_data
    each = [data(k).tolist() for k in others]
    assert data(found["moved"])[:, 0].tolist() == each[::-1]
    assert data(found["moved"])[:, 1].tolist() == each
    assert data(found["chosen"]).tolist() == [each[0], each[0], each[2]]
    assert data(found["set"]).tolist() == [each[0], data(key).tolist(), each[2]]
    assert found["equal"].tolist() == [False, True, False]
    assert found["mapped"].tolist() == [int(random.bits(k)) for k in found["moved"].reshape(6)[:3]]
    assert found["halves"].shape == (2, 3) and found["last"].dtype == key.dtype
    assert data(found["halves"][:, 1]).tolist() == data(random.split(others[1])).tolist()
    assert len(set(found["found"].tolist())) == 3
    again = pickle.loads(pickle.dumps(others))
    assert data(again).tolist() == each and again.dtype == key.dtype
    shape = jax.eval_shape(lambda k: random.split(k, (2, 3)), key)
    assert shape.shape == (2, 3) and shape.dtype == key.dtype
    with jax.disable_jit():
        assert data(random.split(key, 3)).tolist() == each


def test_derivatives_go_around_keys():
    key = random.key(1, impl="rbg")
    slope = jax.grad(lambda a: random.gamma(key, a, (4,)).sum())(2.5)
    of_logarithms = jax.grad(lambda a: random.loggamma(key, a, (4,)).sum())(0.5)
    of_jax = [4.6281144752684185, 7.591154292255763]
    np.testing.assert_allclose([slope, of_logarithms], of_jax, rtol=1e-9)
    zero = np.zeros((), jax.float0)
    out, tangent = jax.jvp(lambda k, x: random.normal(k) * x, (key, 2.0), (zero, 1.0))
    assert out == 2 * tangent


def test_errors_name_the_generators():
    compiled = jax.jit(random.uniform).lower(random.key(0, impl="rbg")).compile()
    assert compiled(random.key(0, impl="rbg")) == random.uniform(random.key(0, impl="rbg"))
    with pytest.raises(TypeError, match=r"expected CustomNode\(KeyArray_rbg.*, got .*\(KeyArray\["):
        compiled(random.key(0))
    with pytest.raises(ValueError, match='"rbg", "unsafe_rbg"') as raised:
        random.key(0, impl="philox")
    assert 'unrecognized PRNG implementation "philox"' in str(raised.value)
    with pytest.raises(TypeError, match=r"to end with \(4,\); got shape=\(2,\) for impl='rbg'"):
        random.wrap_key_data(np.zeros(2, "u4"), impl="rbg")
    with pytest.raises(TypeError, match=r"key<fry>, key<rbg>"):
        jnp.stack([random.key(0), random.key(0, impl="rbg")])
    with pytest.raises(TypeError, match="incompatible dtypes key<rbg>, key<fry>"):
        random.split(random.key(0, impl="rbg")).at[0].set(random.key(0))
