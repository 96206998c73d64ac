"""nn: values and derivatives that JAX prints, in C and outside of it, over shapes, axes, masks."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from helpers import seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in

import transpile as tp
from transpile import nn
from transpile.ir.loop_ir import For

POINTS = np.array([-3.0, -1.0, 0.0, 1.0, 2.0, 6.0, -0.5])
SMOOTH = {
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "silu": lambda x: x / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "log_sigmoid": lambda x: -mpmath.log1p(mpmath.exp(-x)),
    "mish": lambda x: x * mpmath.tanh(mpmath.log1p(mpmath.exp(x))),
    "soft_sign": lambda x: x / (abs(x) + 1),
    "squareplus": lambda x: (x + mpmath.sqrt(x * x + 4)) / 2,
    "tanh": mpmath.tanh,
    "elu": lambda x: x if x > 0 else mpmath.expm1(x),
    "celu": lambda x: x if x > 0 else mpmath.expm1(x),
    "selu": lambda x: (
        mpmath.mpf("1.0507009873554804934")
        * (x if x > 0 else mpmath.mpf("1.6732632423543772848") * mpmath.expm1(x))
    ),
    "gelu": lambda x: (
        x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + 0.044715 * x * x * x)))
    ),
}
# Values and derivatives of functions with kinks, at and beside them, as JAX 0.10.2 prints them.
KINKS = {
    "relu": ([0, 0, 0, 1, 2, 6, 0], [0, 0, 0, 1, 1, 1, 0]),
    "relu6": ([0, 0, 0, 1, 2, 6, 0], [0, 0, 0, 1, 1, 0, 0]),
    "hard_tanh": ([-1, -1, 0, 1, 1, 1, -0.5], [0, 1, 1, 1, 0, 0, 1]),
    "hard_sigmoid": ([0, 1 / 3, 0.5, 2 / 3, 5 / 6, 1, 2.5 / 6], [0, *[1 / 6] * 4, 0, 1 / 6]),
    "hard_silu": (
        [0, -1 / 3, 0, 2 / 3, 5 / 3, 6, -1.25 / 6],
        [0, 1 / 6, 0.5, 5 / 6, 7 / 6, 1, 1 / 3],
    ),
    "leaky_relu": ([-0.03, -0.01, 0, 1, 2, 6, -0.005], [0.01, 0.01, 1, 1, 1, 1, 0.01]),
    "sparse_plus": ([0, 0, 0.25, 1, 2, 6, 0.0625], [0, 0, 0.5, 1, 1, 1, 0.25]),
    "sparse_sigmoid": ([0, 0, 0.5, 1, 1, 1, 0.25], [0, 0.25, 0.5, 0.25, 0, 0, 0.5]),
    "identity": (POINTS, [1] * 7),
    "celu": (
        [*np.expm1([-3, -1]), 0, 1, 2, 6, np.expm1(-0.5)],
        [*np.exp([-3, -1]), 1, 1, 1, 1, np.exp(-0.5)],
    ),
}
ELEMENTWISE = sorted({*SMOOTH, *KINKS, "hard_swish", "swish"})


def functions(names):
    """Of an array, the results of all these functions: one program."""
    return lambda x: [getattr(nn, name)(x) for name in names]


def test_smooth_activations_are_exact():
    x = np.array([-30.0, -3.7, -1.0, -1e-9, 0.0, 1e-9, 0.3, 2.5, 6.0, 30.0])
    for way in (functions(SMOOTH), tp.jit(functions(SMOOTH))):
        for name, found in zip(SMOOTH, way(x), strict=True):
            expected = [float(SMOOTH[name](mpmath.mpf(v))) for v in x]
            np.testing.assert_allclose(found, expected, rtol=3e-13, atol=1e-300, err_msg=name)


def test_values_and_derivatives_at_kinks():
    def slopes(x):
        return [tp.vmap(tp.grad(getattr(nn, name)))(x) for name in KINKS]

    for values, derivatives in (
        (functions(KINKS)(POINTS), slopes(POINTS)),
        (tp.jit(functions(KINKS))(POINTS), tp.jit(slopes)(POINTS)),
    ):
        for name, value, slope in zip(KINKS, values, derivatives, strict=True):
            np.testing.assert_allclose(value, KINKS[name][0], rtol=1e-14, err_msg=name)
            np.testing.assert_allclose(slope, KINKS[name][1], rtol=1e-14, err_msg=name)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_c_is_numpy_and_the_dtype_stays(dtype):
    x = np.array([-4, -1, -0.0, 0, 0.5, 1, 3, 7, np.nan, np.inf, -np.inf], dtype)
    pairs = zip(tp.jit(functions(ELEMENTWISE))(x), functions(ELEMENTWISE)(x), strict=True)
    for name, (found, expected) in zip(ELEMENTWISE, pairs, strict=True):
        assert expected.dtype == found.dtype == x.dtype
        tolerance = 8 * np.finfo(dtype).eps
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=1e-7, err_msg=name)


def test_integers_become_float64():
    names = [*sorted(set(SMOOTH) - {"sigmoid", "silu"}), "relu6", "standardize"]
    x = np.array([-2, 0, 3])
    for way in (functions(names), tp.jit(functions(names))):
        for name, found in zip(names, way(x), strict=True):
            assert found.dtype == np.float64
            expected = getattr(nn, name)(x.astype(float))
            np.testing.assert_allclose(found, expected, rtol=1e-14, err_msg=name)


def test_integers_stay_where_nothing_makes_them_floats():
    x = np.array([-2, 0, 3], np.int32)
    for function in (nn.relu, nn.hard_tanh, nn.identity):
        assert function(x).dtype == tp.jit(function)(x).dtype == np.int32
    assert nn.relu(-3) == 0 and nn.relu(2.5) == 2.5
    np.testing.assert_array_equal(tp.jit(nn.relu)(x), [0, 0, 3])


def test_arguments_that_are_no_floats_are_refused_as_in_jax():
    with pytest.raises(
        TypeError, match=r"logistic does not accept dtype int64\. Accepted dtypes are"
    ):
        nn.sigmoid(np.arange(3))
    with pytest.raises(TypeError, match="maximum requires ndarray or scalar arguments"):
        nn.relu([1.0])
    with pytest.raises(TypeError, match="logistic does not accept dtype bool"):
        tp.jit(nn.silu)(np.array([True]))


def test_parameters_of_activations():
    x = np.array([-1.0, 2.0])
    np.testing.assert_allclose(nn.leaky_relu(x, 0.5), [-0.5, 2])
    np.testing.assert_allclose(nn.elu(x, np.array([2.0, 3.0])), [2 * np.expm1(-1), 2])
    np.testing.assert_allclose(nn.celu(x, 2), [2 * np.expm1(-0.5), 2], rtol=1e-15)
    np.testing.assert_allclose(
        nn.squareplus(x, b=np.array([1.0, 2.0])), [0.20710678118654757, 2.224744871391589]
    )
    weak = tp.jit(lambda x, a: nn.elu(x, a))(x.astype(np.float32), 2.0)
    assert weak.dtype == np.float32


def test_gelu_exactly_and_nearly():
    x = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(
        nn.gelu(x, approximate=False), [-0.15865525393145707, 0, 1.9544997361036416], rtol=1e-14
    )
    np.testing.assert_allclose(nn.gelu(x), [-0.1588080093917233, 0, 1.954597694087775], rtol=1e-14)
    exact = tp.jit(lambda x: nn.gelu(x, approximate=False))
    np.testing.assert_allclose(exact(x), nn.gelu(x, approximate=False), rtol=1e-14)
    tp.test_util.check_grads(lambda x: nn.gelu(x, approximate=False), (x,), 2)


def test_glu_gates_the_first_half():
    x = np.arange(6.0)
    np.testing.assert_allclose(nn.glu(x), [0, 0.9820137900379085, 1.9866142981514305], rtol=1e-15)
    y = np.arange(24.0).reshape(2, 4, 3)
    expected = y[:, :2] * nn.sigmoid(y[:, 2:])
    np.testing.assert_array_equal(tp.jit(lambda y: nn.glu(y, axis=1))(y), expected)
    with pytest.raises(AssertionError, match="axis size must be divisible by 2"):
        nn.glu(np.arange(5.0))


def test_log1mexp_on_both_sides():
    x = np.array([1e-20, 1e-3, 0.5, 0.7, 3.0, 800.0])
    expected = [float(mpmath.log(-mpmath.expm1(-mpmath.mpf(v)))) for v in x]
    np.testing.assert_allclose(tp.jit(nn.log1mexp)(x), expected, rtol=1e-14)
    slope = tp.vmap(tp.grad(nn.log1mexp))(np.array([0.0, 1.0, np.inf]))
    np.testing.assert_allclose(slope, [np.inf, 0.5819767068693263, 0.0], rtol=1e-14)


def test_derivatives_away_from_kinks():
    x = np.array([-2.3, -0.4, 0.3, 1.7, 4.1])
    tp.test_util.check_grads(functions(ELEMENTWISE), (x,), 2)


# ------------------------------------------------------------------------------- softmax and others

MASK = np.array([True, False, True])
ROW = np.array([1.0, 5.0, 2.0])
# function: (value of ROW with MASK, with nothing chosen, gradient of its sum times (0, 1, 2))
MASKED = {
    "softmax": (
        [0.2689414213699951, 0, 0.7310585786300049],
        [0] * 3,
        [-0.3932238664829637, 0, 0.3932238664829637],
    ),
    "log_softmax": (
        [-1.3132616875182228, -np.inf, -0.31326168751822286],
        [-np.inf] * 3,
        [-0.5378828427399902, 0, 0.5378828427399902],
    ),
    "logsumexp": (2.313261687518223, -np.inf, [0.8068242641099853, 0, 2.193175735890015]),
    "logmeanexp": (1.6201145069582776, np.nan, [0.8068242641099853, 0, 2.193175735890015]),
    "standardize": (
        [-0.9999800005999799, 6.99986000419986, 0.9999800005999799],
        [np.nan] * 3,
        [5.999520025198798, 1.9999600011999599, -7.999480026398761],
    ),
}


def test_masks_choose_what_counts():
    def everything(x, mask):
        def of(function):
            loss = lambda x: (function(x, where=MASK) * np.arange(3.0)).sum()
            return function(x, where=mask), function(x, where=~mask & mask), tp.grad(loss)(x)

        return [of(getattr(nn, name)) for name in MASKED]

    for way in (everything, tp.jit(everything)):
        for (chosen, nothing, slope), found in zip(MASKED.values(), way(ROW, MASK), strict=True):
            np.testing.assert_allclose(found[0], chosen, rtol=1e-14)
            np.testing.assert_allclose(found[1], nothing)
            np.testing.assert_allclose(found[2], slope, rtol=1e-12)


REDUCED = {
    "softmax": lambda e, total: e / total,
    "log_softmax": lambda e, total: np.log(e / total),
    "logsumexp": lambda e, total: np.log(total),
    "logmeanexp": lambda e, total: np.log(total * e.size / e.size / (e.size / total.size)),
}
axis_choices = st.sampled_from([-1, 0, 1, (0, 1), (1, -1), (0, 1, 2), None])


@settings(max_examples=25, deadline=None)
@given(axis_choices, st.sampled_from(["float32", "float64"]), seeds)
def test_axes_in_every_form(axis, dtype, seed):
    x = np.random.default_rng(seed).normal(size=(2, 3, 4)).astype(dtype)
    axes = tuple(range(3)) if axis is None else axis
    e = np.exp(x)
    total = e.sum(axes, keepdims=True)
    for name, meaning in REDUCED.items():
        options = {} if name.endswith("softmax") else {"keepdims": True}
        found = getattr(nn, name)(x, axis, **options)
        assert found.dtype == x.dtype
        expected = np.broadcast_to(meaning(e, total), found.shape)
        np.testing.assert_allclose(
            found,
            expected,
            rtol=1e-5 if dtype == "float32" else 1e-12,
            atol=1e-6 if dtype == "float32" else 1e-13,
        )


@pytest.mark.parametrize("axis", [-1, (0, 1), None])
@one_in(3)
def test_c_derivatives_and_batches_of_softmax_and_others(axis):
    random = np.random.default_rng(0)
    x, mask = random.normal(size=(4, 3)), random.random((4, 3)) < 0.7
    mask[:, 0] = True
    batch = random.normal(size=(2, 4, 3))
    every = lambda x: [getattr(nn, name)(x, axis, where=mask) for name in MASKED]
    for found, expected in zip(tp.jit(every)(x), every(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    for k, found in enumerate(tp.vmap(every)(batch)):
        np.testing.assert_allclose(found, [every(b)[k] for b in batch], rtol=1e-12)
    # minus infinity, which log_softmax has where the mask leaves out, has no finite differences
    finite = lambda x: [
        v for v, name in zip(every(x), MASKED, strict=True) if name != "log_softmax"
    ]
    tp.test_util.check_grads(lambda x: [*finite(x), nn.log_softmax(x, axis)], (x,), 2)


def test_softmax_of_large_numbers_does_not_overflow():
    x = np.array([1e4, 1e4 - 1, -1e308])
    expected = [0.7310585786300049, 0.2689414213699951, 0]
    np.testing.assert_allclose(nn.softmax(x), expected)
    np.testing.assert_allclose(nn.log_softmax(x)[:2], np.log(expected[:2]))
    assert np.isnan(nn.softmax(np.array([1.0, np.inf]))).all()
    assert nn.softmax(np.zeros((2, 0))).shape == nn.standardize(np.zeros((2, 0))).shape == (2, 0)


def test_softmax_and_its_gradient_are_one_loop_over_rows():
    x = np.ones((50, 8))
    for function in (nn.softmax, tp.grad(lambda x: (nn.softmax(x) * np.arange(8.0)).sum())):
        program = tp.jit(function).lower(x).compiler_ir("loops")
        (kernel,) = program.kernels
        (loop,) = [s for s in kernel.body if isinstance(s, For)]
        assert loop.stop == 50 and not program.temporaries


def test_axes_that_are_not_there():
    for function in (nn.softmax, nn.log_softmax, nn.standardize, nn.logsumexp):
        with pytest.raises(ValueError, match="axis 3 is out of bounds for array of dimension 2"):
            function(np.ones((2, 3)), axis=3)
        with pytest.raises(ValueError, match=r"duplicate value in 'axis': \(0, 0\)"):
            function(np.ones((2, 3)), axis=(0, 0))
    with pytest.raises(ValueError, match=r"Unknown algorithm 'q'\. Expected 'fast'"):
        nn.standardize(ROW, algorithm="q")


def test_logsumexp_with_factors_and_signs():
    x = np.array([1.0, 2.0])
    assert np.isnan(nn.logsumexp(x, b=np.array([1.0, -1.0])))
    size, sign = nn.logsumexp(x, b=np.array([1, -1]), return_sign=True)
    np.testing.assert_allclose([size, sign], [1.5413248546129181, -1.0], rtol=1e-15)
    assert nn.logsumexp(x, b=0.0) == -np.inf
    assert nn.logsumexp(np.array([-np.inf, -np.inf])) == -np.inf
    assert nn.logsumexp(np.array([np.inf, 1])) == np.inf
    mixed = nn.logsumexp(x.astype(np.float32), b=np.array([1.0, 3.0]))
    assert mixed.dtype == np.float64
    np.testing.assert_allclose(mixed, 3.2142833003627604, rtol=1e-6)
    z = np.array([1 + 2j, 3 - 1j])
    np.testing.assert_allclose(nn.logsumexp(z), 2.856394780842109 - 0.9779503462008972j)
    size, sign = tp.jit(lambda z: nn.logsumexp(z, return_sign=True))(z)
    np.testing.assert_allclose(size, 2.856394780842109)
    np.testing.assert_allclose(sign, 0.5587236076169977 - 0.8293539234195781j)
    slope = tp.grad(nn.logsumexp)
    np.testing.assert_array_equal(slope(np.array([-np.inf, 1.0])), [0, 1])
    np.testing.assert_array_equal(slope(np.array([-np.inf, -np.inf])), [np.nan, np.nan])


def test_standardize_by_given_moments_and_both_algorithms():
    np.testing.assert_allclose(
        nn.standardize(ROW, algorithm="stable"),
        [-0.9805789785364645, 1.3728105699510504, -0.39223159141458575],
        rtol=1e-14,
    )
    found = nn.standardize(ROW, mean=1.0, variance=4.0, epsilon=0.0)
    np.testing.assert_array_equal(found, [0.0, 2.0, 0.5])
    x = np.random.default_rng(0).normal(3, 2, (5, 7))
    for algorithm in ("fast", "stable"):
        found = tp.jit(lambda x: nn.standardize(x, (0, 1), epsilon=0, algorithm=algorithm))(x)
        np.testing.assert_allclose([found.mean(), found.std()], [0, 1], atol=1e-12)


# ----------------------------------------------------------------------------------------- one_hot


def test_one_hot_of_places_and_of_none():
    expected = [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    for form in (lambda f: f, tp.jit):
        found = form(lambda k: nn.one_hot(k, 3))(np.array([0, 2, 3, -1]))
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected)
        small = form(lambda k: nn.one_hot(k, 300, dtype=np.int8))(np.array([-1, 7], np.int8))
        assert small.dtype == np.int8 and small.sum() == small[1, 7] == 1
        assert form(lambda k: nn.one_hot(k, 2, axis=0))(np.array([[0, 1]])).tolist() == [
            [[1, 0]],
            [[0, 1]],
        ]
    assert nn.one_hot(1, 3).tolist() == nn.one_hot([1], 3).tolist()[0] == [0, 1, 0]


def test_one_hot_refuses_what_jax_refuses():
    with pytest.raises(ValueError, match="axis 5 is out of bounds for array of dimension 2"):
        nn.one_hot(np.array([0]), 2, axis=5)
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        nn.one_hot(np.array([0]), 2.5)
    with pytest.raises(TypeError, match="iota does not accept dtype bool"):
        nn.one_hot(np.array([True]), 2)


# -------------------------------------------------------------------------- beside JAX itself


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_every_function_is_that_of_jax(seed):
    jax = pytest.importorskip("jax")
    if not jax.config.jax_enable_x64:
        pytest.skip("JAX_ENABLE_X64 is not set")
    random = np.random.default_rng(seed)
    x = random.normal(size=(3, 4)) * 3
    names = [n for n in nn.__all__ if n in {*ELEMENTWISE, *MASKED, "log1mexp", "glu"}]
    for name in names:
        theirs, ours = getattr(jax.nn, name), getattr(nn, name)
        expected = np.asarray(theirs(x))
        np.testing.assert_allclose(ours(x), expected, rtol=1e-12, atol=1e-14)
        want = jax.grad(lambda x: (theirs(x) ** 2).sum())(x)
        got = tp.grad(lambda x: (ours(x) ** 2).sum())(x)
        np.testing.assert_allclose(got, np.asarray(want), rtol=1e-9, atol=1e-12)
