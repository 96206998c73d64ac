"""Random numbers: the bits and the samples are JAX's, in a program and interpreted with NumPy."""

import functools
import inspect
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_facts import FACTS
from thorough import one_in

import transpile
from transpile import random
from transpile.primitives.reference.threefry import folded, threefry
from transpile.random.generators.threefry import FEW, MANY

COVARIANCE = np.array([[2.0, 0.5], [0.5, 1.0]])
# In units of the precision: JAX's elementary functions are off by some, in single precision more.
ULPS = {"float16": 2, "float32": 40, "float64": 120, "complex64": 40, "complex128": 40}
# Both are the roots of a matrix of rounded numbers.
LOOSE = {"random.orthogonal": 500, "random.multivariate_normal": 200}


def call(text, key):
    """The result of a fact's call."""
    names = {"random": random, "np": np, "k": key, "COVARIANCE": COVARIANCE}
    return eval(text, names)


@functools.cache
def compiled():
    """The results of all facts from one program."""
    return transpile.jit(lambda k: [call(text, k) for text, _, _ in FACTS])(random.key(42))


def assert_fact(found, text, dtype, values):
    want = np.asarray(values, dtype)
    found = np.asarray(found)
    assert (found.dtype, found.shape) == (want.dtype, want.shape)
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(found, want)
        return
    ulps = next((n for name, n in LOOSE.items() if text.startswith(name)), ULPS[dtype])
    limit = ulps * np.finfo(dtype).eps
    np.testing.assert_allclose(found, want, rtol=limit, atol=limit * 1e-6)


@pytest.mark.parametrize(("text", "dtype", "values"), FACTS, ids=[f[0] for f in FACTS])
@one_in(3)
def test_samples_are_those_that_jax_prints(text, dtype, values):
    with transpile.disable_jit():
        assert_fact(call(text, random.key(42)), text, dtype, values)


@pytest.mark.parametrize("number", range(len(FACTS)), ids=[f[0] for f in FACTS])
@one_in(10)
def test_samples_of_a_program_are_those_that_jax_prints(number):
    assert_fact(compiled()[number], *FACTS[number])


# -------------------------------------------------------------------------------------- generator


@pytest.mark.parametrize(
    ("key", "counter", "words"),
    [  # the known answers that come with Random123, for 20 rounds
        (0, 0, 0x6B20015999BA4EFE),
        (2**64 - 1, 2**64 - 1, 0x1CB996FCBB002BE7),
        (0x13198A2E03707344, 0x243F6A8885A308D3, 0xC4923A9C483DF7A0),
    ],
)
def test_threefry_gives_the_known_answers(key, counter, words):
    assert int(threefry(key, counter)) == words
    assert int(folded(key, counter)) == words >> 32 ^ words & 0xFFFFFFFF
    # In JAX's terms: a key of these words, and what `fold_in` of small numbers makes of it.
    if counter < 2**32:
        raw = np.array([key >> 32, key & 0xFFFFFFFF], "uint32")
        found = random.fold_in(random.wrap_key_data(raw), counter)
        assert random.key_data(found).tolist() == [words >> 32, words & 0xFFFFFFFF]


@given(st.integers(0, 2**64 - 1), st.integers(0, 2 * FEW))
@settings(max_examples=30)
def test_few_keys_and_many_are_the_same(bits, count):
    raw = np.array([bits >> 32, bits & 0xFFFFFFFF], "uint32")
    key = random.wrap_key_data(raw)
    many = random.key_data(random.split(key, 3 * FEW))
    np.testing.assert_array_equal(random.key_data(random.split(key, count)), many[:count])
    np.testing.assert_array_equal(random.split(raw, count), many[:count])
    np.testing.assert_array_equal(threefry(bits, np.arange(3 * FEW)) >> np.uint64(32), many[:, 0])


def test_very_many_keys_are_the_same_by_a_program():
    key = random.key(3)
    found = random.key_data(random.split(key, MANY + 1))
    inside = transpile.jit(lambda k: random.split(k, (MANY + 1,)))(key)
    np.testing.assert_array_equal(found[:9], random.key_data(random.split(key, 9)))
    np.testing.assert_array_equal(found, random.key_data(inside))


SHAPES = st.lists(st.integers(0, 5), max_size=3).map(tuple)


@given(SHAPES, st.sampled_from([8, 16, 32, 64]), st.integers(0, 2**32))
@settings(max_examples=40)
def test_bits_of_an_element_depend_on_its_number_alone(shape, width, seed):
    """Each element has the bits of a key and a counter of 64 bits, in the order of memory."""
    key = random.key(seed)
    with transpile.disable_jit():
        found = random.bits(key, shape, f"uint{width}")
    words = threefry(int(seed), np.arange(int(np.prod(shape))))
    expected = words if width == 64 else (words ^ words >> np.uint64(32)).astype(f"uint{width}")
    np.testing.assert_array_equal(found, expected.reshape(shape), strict=True)


def test_counters_have_64_bits():
    """Elements beyond the first 2**32 have bits of their own, with no array that large in memory:
    the counter is computed where it is used."""

    found = transpile.jit(lambda k: random.bits(k, (2**33,))[-2:])(random.key(5))
    np.testing.assert_array_equal(found, threefry(5, np.arange(2**33 - 2, 2**33)))


@given(
    st.sampled_from(["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 2**32),
)
@settings(max_examples=60)
def test_integers_are_remainders_of_twice_as_many_bits(dtype, low, high, seed):
    """By Python's integers. Bounds that the dtype does not have are those nearest to them, but that
    the upper one, which is not drawn, may be one more than the largest; for dtypes of 8 and 16 bits
    the bounds are integers of 32 bits, as in JAX."""
    info = np.iinfo(dtype)
    width = max(32, info.bits)
    inner = np.iinfo(dtype if info.bits >= 32 else "int32")
    if info.bits < 32:
        low, high = (x >> 32 for x in (low, high))
    with transpile.disable_jit():
        found = random.randint(random.key(seed), (4,), low, high, dtype)
    first, last = max(info.min, min(low, info.max)), min(high, info.max + 1)
    span = max(1, last - first) % 2**width
    bits = [threefry(k, np.arange(4)) for k in threefry(seed, np.arange(2))]
    for n in range(4):
        upper, lower = (int(b[n] if width == 64 else (b[n] ^ b[n] >> 32) % 2**32) for b in bits)
        if span:
            factor = (2 ** (width // 2) % span) ** 2 % 2**width % span
            offset = (upper % span * factor % 2**width + lower % span) % 2**width % span
        else:  # all integers of the dtype
            offset = lower
        expected = (first + offset - inner.min) % 2**width + inner.min
        assert int(found[n]) == expected
        assert first <= expected < max(last, first + 1)


@pytest.mark.parametrize(("width", "dtype"), [(8, "u1"), (16, "u2"), (32, "u4"), (64, "u8")])
@one_in(2)
def test_narrow_bits_are_the_two_words_folded(width, dtype):
    """Whatever the width of the vector lanes that they are made in, and in those left over."""
    key = random.key(11)
    number = int(random.key_data(key)[0]) << 32 | int(random.key_data(key)[1])
    words = threefry(number, np.arange(1003))
    want = words if width == 64 else words ^ (words >> np.uint64(32))
    np.testing.assert_array_equal(random.bits(key, (17, 59), dtype).ravel(), want.astype(dtype))
    assert random.bits(key, (), dtype) == want.astype(dtype)[0]


# ---------------------------------------------------------------------------------------- programs


def test_random_bits_fuse_into_the_loop_that_uses_them():
    """Ten million samples are summed without an array of them."""

    def mean(key):
        return random.normal(key, (10_000_000,), "float32").mean()

    lowered = transpile.jit(mean).lower(random.key(0))
    assert lowered.compile().memory_analysis().temp_size_in_bytes < 10**6
    assert "threefry_2x32" in lowered.as_text()
    assert abs(float(transpile.jit(mean)(random.key(0)))) < 1e-3


def test_samples_in_a_program_and_outside_are_equal():
    key = random.key(8)
    inside = transpile.jit(lambda k: random.normal(k, (5, 3)))(key)
    np.testing.assert_array_equal(inside, random.normal(key, (5, 3)))
    known = transpile.jit(lambda: random.normal(random.key(8), (5, 3)))()
    np.testing.assert_array_equal(inside, known)


def test_a_second_call_traces_nothing(caplog):
    key = random.key(0)
    random.normal(key, (3, 4))
    caplog.clear()
    with transpile.explain_cache_misses():
        random.normal(random.key(1), (3, 4))
        random.normal(random.PRNGKey(1), [3, 4], np.float64)
    assert not caplog.records


def test_halves_and_single_precision_keep_their_dtypes():
    samplers = (random.uniform, random.normal, random.exponential, random.gumbel)

    @transpile.jit
    def everything(key):
        return {
            dtype: [f(key, (2,), dtype) for f in samplers] + [random.gamma(key, 2, (2,), dtype)]
            for dtype in ("float16", "float32", "float64")
        }

    for dtype, found in everything(random.key(1)).items():
        assert {x.dtype.name for x in found} == {dtype}
        assert all(np.isfinite(x).all() for x in found)


def test_bfloat16_has_eight_bits_of_the_generator():
    pytest.importorskip("ml_dtypes")
    found = random.uniform(random.key(42), (5,), "bfloat16")
    assert found.dtype.name == "bfloat16"
    # As JAX prints them.
    assert found.astype(float).tolist() == [0.6328125, 0.84375, 0.96875, 0.8359375, 0.078125]


def test_equal_seeds_give_equal_samples_in_another_process():
    code = (
        "from transpile import random; print(random.normal(random.key(5), (3,)).tolist(), "
        "random.key_data(random.split(random.key(5)))[1].tolist())"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    key = random.key(5)
    again = random.normal(key, (3,)).tolist(), random.key_data(random.split(key))[1].tolist()
    assert found.stdout.strip() == f"{again[0]} {again[1]}"


def test_calls_from_everywhere_share_a_program(tmp_path):
    """The line that calls is not part of the text, nor of its key in the cache."""
    code = "from transpile import random\nrandom.poisson(random.key(1), 3.0, (2,))\n"
    for number, text in enumerate((code, "\n\n" + code)):
        path = tmp_path / f"caller{number}.py"
        path.write_text(text)
        variables = {**os.environ, "TRANSPILE_CACHE_DIR": str(tmp_path / "cache")}
        subprocess.run([sys.executable, str(path)], check=True, env=variables)
    (program,) = (tmp_path / "cache").glob("poisson-*")
    assert "caller" not in (program / "program.c").read_text()


# ---------------------------------------------------------------------------------- shapes, dtypes

PARAMETERS = {
    "categorical": (np.zeros((5, 4)),),
    "permutation": (np.zeros((5, 4)),),
    "choice": (np.zeros(7, "int16"), (2,)),
    "ball": (3,),
    "orthogonal": (3,),
    "dirichlet": (np.ones((5, 3)),),
    "multivariate_normal": (np.zeros((5, 3)), np.eye(3)),
    "multinomial": (10, np.ones((5, 3)) / 3),
    "randint": ((5,), 0, 9),
    "binomial": (np.full(5, 9), 0.5),
    "truncated_normal": (np.zeros(5), 1),
    "triangular": (np.zeros(5), 1, 2),
    "f": (np.ones(5), 2),
    "beta": (np.ones(5), 2),
    "double_sided_maxwell": (np.zeros(5), 1.0, (5,)),
    "weibull_min": (1.0, np.ones(5), (5,)),
    "generalized_normal": (2.0, (5,)),
    "uniform": ((5,),),
    **dict.fromkeys(("gamma", "loggamma", "t", "chisquare", "pareto"), (np.ones(5),)),
    **dict.fromkeys(("rayleigh", "wald", "lognormal", "poisson"), (np.ones(5),)),
    **dict.fromkeys(("bernoulli", "geometric"), (np.full(5, 0.5),)),
}
SHAPES_OF = {
    "permutation": (5, 4),
    "choice": (2,),
    "ball": (3,),
    "orthogonal": (3, 3),
    "double_sided_maxwell": (5, 5),
    **dict.fromkeys(("dirichlet", "multivariate_normal", "multinomial"), (5, 3)),
}
DTYPES_OF = {
    "bits": "uint64",
    "bernoulli": "bool",
    "choice": "int16",
    **dict.fromkeys(("randint", "rademacher", "poisson", "geometric", "categorical"), "int64"),
}
SAMPLERS = sorted(
    set(random.__all__)
    - {"PRNGKey", "clone", "fold_in", "key", "key_data", "key_dtype", "key_impl", "split"}
    - {"wrap_key_data"}
)


@pytest.mark.parametrize("name", SAMPLERS)
def test_shapes_and_dtypes_of_samples(name):
    """By default they are of 64 bits, and of the shape of the parameters."""
    arguments = PARAMETERS.get(name, ((5,),))
    found = transpile.eval_shape(lambda k: getattr(random, name)(k, *arguments), random.key(0))
    assert found.shape == SHAPES_OF.get(name, (5,))
    assert found.dtype == DTYPES_OF.get(name, "float64")
    if "dtype" in inspect.signature(getattr(random, name)).parameters:
        kind = {"u": "uint8", "i": "int32", "f": "float32"}[found.dtype.kind]
        wanted = [x.astype("float32") if isinstance(x, np.ndarray) else x for x in arguments]
        found = transpile.eval_shape(
            lambda k: getattr(random, name)(k, *wanted, dtype=kind), random.key(0)
        )
        assert found.dtype == kind
