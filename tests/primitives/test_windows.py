"""`lax.reduce_window`: values against plain loops, derivatives, batches, errors in JAX's words."""

import functools
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile import lax
from transpile.analysis.oracle import loop_interpreter
from transpile.test_util import check_grads

LOWEST = {"f": -np.inf, "i": np.iinfo(np.int32).min, "u": 0}
HIGHEST = {"f": np.inf, "i": np.iinfo(np.int32).max, "u": 255}


def by_loops(xs, inits, combine, window, strides, pads, base, apart):
    """Every window, tap by tap; what is no element is passed over."""
    shape = xs[0].shape
    counts = [
        max(0, ((n - 1) * b + 1 if n else 0) + low + high - (w - 1) * d - 1 + s) // s
        for n, w, s, (low, high), b, d in zip(
            shape, window, strides, pads, base, apart, strict=True
        )
    ]
    results = [np.empty(counts, x.dtype) for x in xs]
    for place in np.ndindex(*counts):
        total = list(inits)
        for tap in np.ndindex(*window):
            at = [
                p * s + k * d - low
                for p, s, k, d, (low, _) in zip(place, strides, tap, apart, pads, strict=True)
            ]
            if any(a % b for a, b in zip(at, base, strict=True)):
                continue
            at = tuple(a // b for a, b in zip(at, base, strict=True))
            if all(0 <= a < n for a, n in zip(at, shape, strict=True)):
                total = combine(total, [x[at] for x in xs])
        for result, value in zip(results, total, strict=True):
            result[place] = value
    return results


@st.composite
def windows(draw, least=1):
    """A shape, and the arguments of windows over it."""
    rank = draw(st.integers(0, 3))

    def each(low, high):
        return tuple(draw(st.integers(low, high)) for _ in range(rank))

    shape = each(least, 5)
    window, strides, base, apart = each(1, 3), each(1, 3), each(1, 2), each(1, 2)
    pads = tuple(
        (draw(st.integers(-1, 2)), draw(st.integers(0, 2))) if n > 1 else (0, 1) for n in shape
    )
    return shape, (window, strides, pads, base, apart)


MONOIDS = {
    "sum": (lax.add, operator.add, lambda kind: 0),
    "max": (lax.max, max, LOWEST.__getitem__),
    "min": (lax.min, min, HIGHEST.__getitem__),
    "product": (lax.mul, operator.mul, lambda kind: 1),
}


@settings(max_examples=150, deadline=None)
@given(windows(), st.sampled_from(sorted(MONOIDS)), st.sampled_from(["f", "i", "u"]), st.booleans())
def test_values_equal_plain_loops_outside_jit(case, name, kind, is_neutral):
    shape, arguments = case
    row, plain, neutral = MONOIDS[name]
    dtype = np.dtype({"f": "float64", "i": "int32", "u": "uint8"}[kind])
    x = np.random.default_rng(1).integers(0, 4, shape).astype(dtype)
    start = dtype.type(neutral(kind) if is_neutral else 2)
    got = lax.reduce_window(x, start, row, *arguments)
    with np.errstate(over="ignore"):
        (want,) = by_loops([x], [start], lambda a, b: [plain(a[0], b[0])], *arguments)
    assert got.dtype == dtype
    assert np.array_equal(got, want)


COMPILED = [
    ((2, 9, 8), ((1, 3, 3), (1, 1, 1), ((0, 0), (1, 1), (1, 1)))),
    ((2, 9, 8), ((1, 3, 2), (1, 2, 2), ((0, 0), (0, 1), (-1, 2)))),
    ((2, 9, 8), ((1, 2, 2), (1, 2, 2), ((0, 0), (0, 0), (0, 0)))),
    ((7, 6), ((2, 3), (1, 1), ((1, 2), (2, 2)), (2, 3), (1, 2))),
    ((30,), ((13,), (2,), ((6, 6),))),
    ((14, 13), ((9, 9), (1, 1), ((4, 4), (4, 4)))),
]


@pytest.mark.parametrize("case", COMPILED, ids=str)
@pytest.mark.parametrize("name", ["sum", "max"])
@one_in(3)
def test_values_equal_plain_loops_in_c(case, name):
    shape, (window, strides, pads, *dilations) = case
    base, apart = dilations or ((1,) * len(shape),) * 2
    row, plain, neutral = MONOIDS[name]
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)

    def f(x):
        return lax.reduce_window(
            x * 2, np.float32(neutral("f")), row, window, strides, pads, base, apart
        )

    (want,) = by_loops(
        [x * 2],
        [np.float32(neutral("f"))],
        lambda a, b: [plain(a[0], b[0])],
        *(window, strides, pads, base, apart),
    )
    np.testing.assert_allclose(transpile.jit(f)(x), want, rtol=1e-5, atol=1e-5)
    (got,) = loop_interpreter.run(transpile.jit(f).lower(x).compiler_ir("loops"), [x])
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_pooling_is_one_loop_with_what_stands_around_it():
    def f(x):
        pooled = lax.reduce_window(x * 2, -np.inf, lax.max, (2, 2), (2, 2), "VALID")
        return np.maximum(pooled - 0.5, 0)

    program = transpile.jit(f).lower(np.ones((8, 6))).compiler_ir("loops")
    assert len(program.kernels) == 1
    assert not program.temporaries


# --------------------------------------------------------------------------- any computation


def test_computations_see_elements_in_order_and_no_padding():
    x = np.arange(1.0, 5.0)
    got = lax.reduce_window(x, 1.0, lambda a, b: a + 2 * b, (3,), (1,), "SAME")
    assert got.tolist() == [7, 13, 19, 15]
    assert lax.reduce_window(x, 1.0, lax.add, (3,), (1,), "SAME").tolist() == [4, 7, 10, 8]
    got = lax.reduce_window(x[:3], 1.0, lax.add, (3,), (1,), "SAME", (2,))
    assert got.tolist() == [2, 4, 3, 6, 4]


@pytest.mark.parametrize("size", [3, 100])
def test_pytrees_are_combined_together(size):
    """The extreme and its position, from a computation of pairs; large windows go by a loop."""
    x = np.random.default_rng(3).standard_normal((2, 120)).astype(np.float32)
    place = np.broadcast_to(np.arange(120, dtype=np.int32), x.shape)

    def ahead(a, b):
        is_first = lax.ge(a["value"], b["value"])
        return {k: lax.select(is_first, a[k], b[k]) for k in a}

    def f(x, place):
        operand = {"value": x, "place": place}
        start = {"value": np.float32(-np.inf), "place": np.int32(-1)}
        return lax.reduce_window(operand, start, ahead, (1, size), (1, 2), "VALID")

    for got in (f(x, place), transpile.jit(f)(x, place)):
        for k in range(got["value"].shape[1]):
            part = x[:, 2 * k : 2 * k + size]
            assert np.array_equal(got["value"][:, k], part.max(axis=1))
            assert np.array_equal(got["place"][:, k], part.argmax(axis=1) + 2 * k)


def test_bitwise_and_logical_reductions():
    assert lax.reduce_window(
        np.array([True, False, False]), False, lax.bitwise_or, (2,), (1,), "SAME"
    ).tolist() == [True, False, False]
    x = np.array([7, 5, 3])
    assert lax.reduce_window(x, -1, lax.bitwise_and, (2,), (1,), "SAME").tolist() == [5, 1, 3]
    assert lax.reduce_window(x, 0, lax.bitwise_xor, (2,), (1,), "VALID").tolist() == [2, 6]


def test_complex_numbers_are_summed():
    x = np.array([1 + 2j, 3 - 1j, 0.5j])
    got = lax.reduce_window(x, 0j, lax.add, (2,), (1,), "VALID")
    assert got.tolist() == [4 + 1j, 3 - 0.5j]


# ------------------------------------------------------------------------------------ derivatives

WINDOWS = [
    ((7,), ((3,), (1,), "SAME")),
    ((5, 6), ((2, 3), (2, 3), "VALID")),
    ((5, 6), ((3, 3), (2, 1), "SAME")),
    ((4, 5), ((2, 2), (1, 1), ((1, 0), (-1, 2)), (2, 1), (1, 2))),
    ((12, 11), ((9, 9), (2, 1), "SAME")),
]
TAKEN = {
    "sum": (lax.add, 0.0),
    "max": (lax.max, -np.inf),
    "min": (lax.min, np.inf),
    "product": (lax.mul, 1.0),
    "other": (lambda a, b: a * 0.5 + b * b, 0.25),
}


@pytest.mark.parametrize("case", WINDOWS, ids=str)
@pytest.mark.parametrize("name", sorted(TAKEN))
@one_in(3)
def test_derivatives_are_those_of_finite_differences(case, name):
    shape, arguments = case
    if name in ("product", "other") and shape[0] > 9:
        shape, arguments = (9,), ((4,), (2,), "SAME")
    row, start = TAKEN[name]
    size = int(np.prod(shape))
    x = np.random.default_rng(4).permutation(np.linspace(0.5, 2.0, size)).reshape(shape)

    def f(x):
        return np.sin(lax.reduce_window(x, start, row, *arguments))

    def without_padding(x):  # a window of padding only is infinite
        found = lax.reduce_window(x, start, row, *arguments)
        return np.sin(np.where(np.isfinite(found), found, 0.0))

    check_grads(without_padding if name in ("max", "min") else f, (x,), 2)


@pytest.mark.parametrize("case", WINDOWS, ids=str)
@pytest.mark.parametrize("name", ["sum", "max"])
@one_in(3)
def test_compiled_gradients_equal_those_outside_jit(case, name):
    shape, arguments = case
    row, start = TAKEN[name]
    x = np.random.default_rng(5).standard_normal(shape)

    def loss(x):
        found = lax.reduce_window(x, start, row, *arguments)
        return np.sin(np.where(np.isfinite(found), found, 0.0)).sum()

    gradient = transpile.grad(loss)
    np.testing.assert_allclose(transpile.jit(gradient)(x), gradient(x), rtol=1e-12, atol=1e-12)


def test_the_first_of_equal_elements_is_chosen():
    """What JAX prints."""
    x = np.array([1.0, 1.0, 1, np.nan, 2, 2, -np.inf])

    def f(x):
        return lax.reduce_window(x, -np.inf, lax.max, (3,), (1,), "SAME")

    for gradient in (transpile.grad(lambda x: f(x).sum()),):
        for g in (gradient, transpile.jit(gradient)):
            assert g(x).tolist() == [2, 0, 0, 1, 3, 1, 0]
    _, t = transpile.jvp(f, (x,), (np.arange(7.0),))
    assert t.tolist() == [0, 0, 3, 4, 4, 4, 5]


def test_the_gradient_of_a_sum_pool_is_spread():
    x = np.random.default_rng(6).standard_normal((2, 6, 7))

    def loss(x):
        mean = lax.reduce_window(x, 0.0, lax.add, (1, 2, 3), (1, 2, 3), "VALID") / 6
        return np.square(mean).sum()

    want = np.zeros(x.shape)
    means = x[:, :, :6].reshape(2, 3, 2, 2, 3).mean(axis=(2, 4)) / 3
    want[:, :, :6] = np.repeat(np.repeat(means, 2, axis=1), 3, axis=2)
    for gradient in (transpile.grad(loss), transpile.jit(transpile.grad(loss))):
        np.testing.assert_allclose(gradient(x), want, rtol=1e-13, atol=1e-13)


# ---------------------------------------------------------------------------------------- batches


@pytest.mark.parametrize("name", sorted(TAKEN))
def test_batches_equal_a_loop(name):
    row, start = TAKEN[name]
    xs = np.random.default_rng(7).standard_normal((4, 3, 5))
    f = functools.partial(
        lax.reduce_window,
        init_value=start,
        computation=row,
        window_dimensions=(2, 3),
        window_strides=(1, 2),
        padding="SAME",
    )
    want = np.stack([f(x) for x in xs])
    np.testing.assert_allclose(transpile.vmap(f)(xs), want, rtol=1e-13)
    gradient = transpile.grad(lambda x: np.sin(f(x)).sum())
    want = np.stack([gradient(x) for x in xs])
    np.testing.assert_allclose(transpile.vmap(gradient)(xs), want, rtol=1e-12, atol=1e-14)


# ----------------------------------------------------------------------------------------- errors


def test_shapes_are_what_jax_prints():
    arguments = (6, 7), (2, 3), (1, 2), ((0, 1), (2, 2))
    assert lax.reduce_window_shape_tuple(*arguments) == (6, 5)
    assert lax.reduce_window_shape_tuple(*arguments, (2, 1), (1, 2)) == (11, 4)
    assert lax.reduce_window(np.arange(6.0), 0.0, lax.add, (9,), (1,), "VALID").shape == (0,)
    assert lax.reduce_window(np.arange(6), 0.0, lax.add, (2,), (2,)).tolist() == [1, 5, 9]
    assert lax.reduce_window(3, 0, lax.add, (), (), ()) == 3


def reduced(x=(6,), start=0.0, computation=lax.add, window=(2,), strides=(1,), padding="VALID", *d):
    return lax.reduce_window(np.zeros(x), start, computation, window, strides, padding, *d)


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (
            {"window": (2, 2)},
            TypeError,
            "reduce_window got the wrong number of window_dimensions for operand: got operand "
            "shape (6,) with window_dimensions (2, 2).",
        ),
        (
            {"strides": (2, 2)},
            TypeError,
            "reduce_window got inconsistent window_strides and window_dimensions: got "
            "window_strides (2, 2) and window_dimensions (2,).",
        ),
        (
            {"strides": (0,)},
            TypeError,
            "reduce_window window_strides must have every element be strictly positive, got (0,).",
        ),
        (
            {"window": (0,)},
            TypeError,
            "reduce_window window_dimensions must have every element be strictly positive, got "
            "(0,).",
        ),
        (
            {"padding": "FOO"},
            RuntimeError,
            "Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got FOO.",
        ),
        (
            {"start": np.zeros(2)},
            TypeError,
            "reduce_window expected init_values to be scalars but init_values have shapes [(2,)].",
        ),
        (
            {"start": (0.0,)},
            ValueError,
            "Operands must have the same tree structure as init_values: PyTreeDef(*) vs. "
            "PyTreeDef((*,))",
        ),
        (
            {"computation": lambda a, b: (a, b)},
            ValueError,
            "reduce_window output must have the same tree structure as the operands PyTreeDef(*) "
            "vs. PyTreeDef((*, *))",
        ),
    ],
)
def test_errors_are_in_jaxs_words(arguments, kind, words):
    with pytest.raises(kind) as caught:
        reduced(**arguments)
    assert words in str(caught.value)


def test_dilations_are_positive():
    with pytest.raises(TypeError, match=r"All dilations must be positive, got \(0,\)\."):
        lax.reduce_window(np.zeros(6), 0.0, lax.add, (2,), (1,), "VALID", (0,), (1,))


def test_values_and_gradients_equal_jaxs():
    jax = pytest.importorskip("jax")
    x = np.random.default_rng(8).standard_normal((5, 6)).astype(np.float32)

    def loss(lib):
        def f(x):
            found = lib.reduce_window(x, -np.inf, lib.max, (3, 2), (2, 1), "SAME")
            return (found * found).sum()

        return f

    np.testing.assert_allclose(loss(lax)(x), loss(jax.lax)(x), rtol=1e-5)
    got, want = transpile.grad(loss(lax))(x), jax.grad(loss(jax.lax))(x)
    np.testing.assert_allclose(got, want, rtol=1e-5)
