"""`lax`'s convolutions: values against plain loops, derivatives, batches, errors in JAX's words."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile import lax
from transpile.analysis.oracle import loop_interpreter
from transpile.test_util import check_grads

NHWC = ("NHWC", "HWIO", "NHWC")
CONV = lax.conv_general_dilated


def by_loops(x, w, strides, pads, base=None, apart=None, numbers=None, groups=1, batch_groups=1):
    """The convolution, element by element."""
    rank = x.ndim - 2
    base, apart = base or (1,) * rank, apart or (1,) * rank
    lhs, rhs, to = lax.conv_dimension_numbers(x.shape, w.shape, numbers)
    x, w = np.transpose(x, lhs), np.transpose(w, rhs)
    space = [
        max(0, ((n - 1) * b + 1 + low + high - (k - 1) * d - 1) // s + 1)
        for n, b, (low, high), k, d, s in zip(
            x.shape[2:], base, pads, w.shape[2:], apart, strides, strict=True
        )
    ]
    batch, each = x.shape[0] // batch_groups, w.shape[0] // (groups * batch_groups)
    out = np.zeros((batch, w.shape[0], *space), x.dtype)
    for o, *place in np.ndindex(*out.shape[1:]):
        group = o // each
        images = slice(group * batch, (group + 1) * batch) if batch_groups > 1 else slice(None)
        first = group * w.shape[1] if groups > 1 else 0
        for tap in np.ndindex(*w.shape[2:]):
            at = [
                p * s + k * d - low
                for p, s, k, d, (low, _) in zip(place, strides, tap, apart, pads, strict=True)
            ]
            if any(a % b for a, b in zip(at, base, strict=True)):
                continue
            at = [a // b for a, b in zip(at, base, strict=True)]
            if all(0 <= a < size for a, size in zip(at, x.shape[2:], strict=True)):
                seen = x[(images, slice(first, first + w.shape[1]), *at)]
                out[(slice(None), o, *place)] += seen @ w[(o, slice(None), *tap)]
    return np.transpose(out, np.argsort(to))


def drawn(random, shape, dtype):
    """Numbers whose products and sums are exact where they are whole."""
    if np.dtype(dtype).kind in "iu":
        return random.integers(0, 6, shape).astype(dtype)
    x = random.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.standard_normal(shape)
    return x.astype(dtype)


def near(got, want, scale=1.0):
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    eps = np.finfo(want.dtype).eps if want.dtype.kind in "fc" else 0
    np.testing.assert_allclose(got, want, rtol=0, atol=200 * eps * scale)


@st.composite
def convolutions(draw):
    """Operands and arguments of a convolution of up to two axes of space."""
    rank = draw(st.integers(0, 2))
    few = st.integers(1, 2)

    def each(strategy):
        return tuple(draw(strategy) for _ in range(rank))

    groups, batch_groups = draw(st.sampled_from([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2)]))
    window, apart, base = each(st.integers(1, 3)), each(few), each(few)
    strides, size = each(st.integers(1, 3)), each(st.integers(1, 5))
    pads = each(st.tuples(st.integers(-1, 3), st.integers(-1, 3)))
    for n, b, (low, high) in zip(size, base, pads, strict=True):
        if (n - 1) * b + 1 + low + high < 0 or (n - 1) * b + 1 + min(low, 0) + min(high, 0) < 1:
            pads = ((0, 0),) * rank
    batch, channels = draw(few) * batch_groups, draw(few)
    features = draw(few) * groups * batch_groups
    numbers = draw(st.sampled_from([None, "last", "mixed"]))
    letters = "AB"[:rank]
    spelled = {
        None: None,
        "last": (f"N{letters}C", f"{letters}IO", f"N{letters}C"),
        "mixed": (f"C{letters[::-1]}N", f"O{letters}I", f"{letters}NC"),
    }[numbers]
    lhs, rhs, _ = lax.conv_dimension_numbers((0,) * (rank + 2), (0,) * (rank + 2), spelled)
    x, w = [0] * (rank + 2), [0] * (rank + 2)
    for a, n in zip(lhs, (batch, channels * groups, *size), strict=True):
        x[a] = n
    for a, n in zip(rhs, (features, channels, *window), strict=True):
        w[a] = n
    dtype = draw(st.sampled_from(["float32", "float64", "int32", "uint8", "complex64"]))
    random = np.random.default_rng(draw(st.integers(0, 1000)))
    arguments = (strides, pads, base, apart, spelled, groups, batch_groups)
    return drawn(random, x, dtype), drawn(random, w, dtype), arguments


@settings(max_examples=100, deadline=None)
@given(convolutions())
def test_values_equal_plain_loops_outside_jit(case):
    x, w, (strides, pads, base, apart, numbers, groups, batch_groups) = case
    got = CONV(x, w, strides, pads, base, apart, numbers, groups, batch_groups)
    near(got, by_loops(x, w, *case[2]), 10)


@settings(max_examples=8, deadline=None)
@given(convolutions())
def test_values_equal_plain_loops_in_c(case):
    x, w, arguments = case
    got = transpile.jit(lambda x, w: CONV(x, w, *arguments))(x, w)
    near(got, by_loops(x, w, *arguments), 10)


LARGE = [
    ((2, 3, 9, 8), (8, 3, 3, 3), {"padding": "SAME"}),
    ((2, 9, 8, 3), (3, 3, 3, 32), {"padding": "SAME", "dimension_numbers": NHWC}),
    ((2, 9, 8, 4), (3, 2, 2, 32), {"padding": "VALID", "dimension_numbers": NHWC, "groups": 2}),
    ((2, 4, 11, 9), (6, 4, 3, 3), {"padding": "SAME", "strides": (2, 2)}),
    ((2, 4, 7, 6), (6, 4, 3, 3), {"padding": ((1, 2), (2, 1)), "base": (2, 3)}),
    ((4, 3, 9, 9), (8, 3, 3, 3), {"padding": ((-1, 1), (1, 1)), "batch_groups": 2}),
    ((1, 2, 40), (4, 2, 9), {"padding": "SAME_LOWER", "apart": (2,)}),
    ((1, 2, 6, 5, 6), (5, 2, 2, 3, 3), {"padding": "SAME"}),
    ((2, 4, 9, 9), (4, 1, 3, 3), {"padding": "SAME", "groups": 4}),
    ((2, 9, 9, 4), (3, 3, 1, 8), {"padding": "SAME", "dimension_numbers": NHWC, "groups": 4}),
]


def convolved(x, w, padding, strides=None, base=None, apart=None, dimension_numbers=None, **groups):
    rank = x.ndim - 2
    return CONV(
        x,
        w,
        strides or (1,) * rank,
        padding,
        base,
        apart,
        dimension_numbers,
        groups.get("groups", 1),
        groups.get("batch_groups", 1),
    )


@pytest.mark.parametrize(
    ("dtype", "case"),
    [*(("float32", case) for case in LARGE), ("float64", LARGE[1]), ("complex128", LARGE[4])],
    ids=str,
)
@one_in(5)
def test_library_convolutions_equal_plain_loops(dtype, case):
    random = np.random.default_rng(5)
    x, w = (drawn(random, shape, dtype) for shape in case[:2])
    options = dict(case[2])
    got = transpile.jit(lambda x, w: convolved(x, w, **options))(x, w)
    rank = x.ndim - 2
    strides = options.get("strides", (1,) * rank)
    pads = options["padding"]
    if isinstance(pads, str):
        lhs, rhs, _ = lax.conv_dimension_numbers(x.shape, w.shape, options.get("dimension_numbers"))
        reach = [
            (w.shape[a] - 1) * d + 1
            for a, d in zip(rhs[2:], options.get("apart", (1,) * rank), strict=True)
        ]
        pads = lax.padtype_to_pads([x.shape[a] for a in lhs[2:]], reach, strides, pads)
    want = by_loops(
        x,
        w,
        strides,
        pads,
        options.get("base"),
        options.get("apart"),
        options.get("dimension_numbers"),
        options.get("groups", 1),
        options.get("batch_groups", 1),
    )
    near(got, want, 20)


def test_loops_have_a_meaning_without_c():
    random = np.random.default_rng(6)
    x, w = drawn(random, (1, 3, 9, 8), "float64"), drawn(random, (9, 3, 3, 3), "float64")
    f = transpile.jit(lambda x, w: np.maximum(CONV(x, w, (1, 1), "SAME") + 1, 0))
    program = f.lower(x, w).compiler_ir("loops")
    assert "call conv(plan=&plan[0], x=&" in str(program)
    (got,) = loop_interpreter.run(program, [x, w])
    near(got, np.maximum(by_loops(x, w, (1, 1), ((1, 1), (1, 1))) + 1, 0), 10)


def test_views_and_padding_are_not_copied():
    def f(x, w):
        return CONV(x[:, ::-1].transpose(0, 3, 1, 2), w[::2], (1, 1), "SAME")

    random = np.random.default_rng(7)
    x, w = drawn(random, (2, 8, 8, 3), "float32"), drawn(random, (16, 3, 3, 3), "float32")
    program = transpile.jit(f).lower(x, w).compiler_ir("loops")
    assert len(program.kernels) == 1
    assert [t.name for t in program.temporaries] == ["scratch"]
    near(transpile.jit(f)(x, w), f(x, w), 20)


def test_a_bias_and_a_maximum_are_one_loop_after_it():
    def layer(x, w, b):
        return np.maximum(CONV(x, w, (1, 1), "SAME") + b[:, None, None], 0)

    random = np.random.default_rng(8)
    x, w = drawn(random, (2, 3, 8, 8), "float32"), drawn(random, (8, 3, 3, 3), "float32")
    b = drawn(random, 8, "float32")
    assert len(transpile.jit(layer).lower(x, w, b).compiler_ir("loops").kernels) == 2
    near(transpile.jit(layer)(x, w, b), layer(x, w, b), 20)


def test_few_products_fuse_with_what_stands_around_them():
    def layer(x, w):
        return np.tanh(CONV(np.square(x), w, (1, 1), "SAME", feature_group_count=3))

    random = np.random.default_rng(9)
    x, w = drawn(random, (2, 3, 8, 8), "float32"), drawn(random, (3, 1, 3, 3), "float32")
    assert len(transpile.jit(layer).lower(x, w).compiler_ir("loops").kernels) == 1
    near(transpile.jit(layer)(x, w), layer(x, w), 20)


def test_results_do_not_depend_on_the_batch():
    random = np.random.default_rng(10)
    x, w = drawn(random, (4, 3, 9, 9), "float32"), drawn(random, (8, 3, 3, 3), "float32")
    f = transpile.jit(lambda x, w: CONV(x, w, (1, 1), "SAME"))
    assert np.array_equal(f(x, w)[1:2], f(x[1:2], w))


# ------------------------------------------------------------------------------------- derivatives

GROUPED = [
    ((2, 3, 12, 11), (3, 1, 3, 3), {"padding": "SAME", "groups": 3}),
    ((2, 12, 11, 3), (3, 3, 1, 6), {"padding": "SAME", "groups": 3, "dimension_numbers": NHWC}),
    ((2, 4, 13), (8, 2, 5), {"padding": ((2, 3),), "groups": 2, "strides": (2,)}),
    ((1, 3, 12, 11), (3, 1, 7, 7), {"padding": "SAME", "groups": 3}),
]


DERIVED = [
    ((1, 2, 4), (3, 2, 2), {"padding": "SAME"}),
    ((2, 2, 5), (2, 2, 3), {"padding": ((2, 1),), "strides": (2,), "base": (3,)}),
    ((1, 4, 4), (4, 2, 2), {"padding": "SAME", "groups": 2, "apart": (2,)}),
    ((4, 1, 4), (2, 1, 3), {"padding": "SAME", "batch_groups": 2}),
    ((1, 4, 4, 2), (2, 2, 2, 3), {"padding": "SAME", "dimension_numbers": NHWC, "strides": (2, 1)}),
]


@pytest.mark.parametrize("case", DERIVED, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@one_in(3)
def test_derivatives_are_those_of_finite_differences(case, dtype):
    random = np.random.default_rng(11)
    x, w = (drawn(random, shape, dtype) for shape in case[:2])
    check_grads(lambda x, w: convolved(x, w, **case[2]), (x, w), 2)


@pytest.mark.parametrize("case", [*GROUPED[:3], LARGE[3], LARGE[5]], ids=str)
@one_in(2)
def test_compiled_gradients_equal_those_outside_jit(case):
    random = np.random.default_rng(12)
    x, w = (drawn(random, shape, "float64") for shape in case[:2])

    def loss(x, w):
        return np.sin(convolved(x, w, **case[2])).sum()

    gradient = transpile.grad(loss, (0, 1))
    for got, want in zip(transpile.jit(gradient)(x, w), gradient(x, w), strict=True):
        near(got, want, 100)


def test_gradients_of_a_layer_are_calls():
    def loss(x, w):
        return np.square(CONV(x, w, (2, 2), "SAME", dimension_numbers=NHWC)).sum()

    x, w = np.ones((2, 16, 16, 8), np.float32), np.ones((3, 3, 8, 16), np.float32)
    text = transpile.jit(transpile.grad(loss, (0, 1))).lower(x, w).as_text("loops")
    # Forwards, by the weights, and by each of four phases of the operand.
    assert text.count("call conv(") == 6


# ------------------------------------------------------------------------------------------ batches


@pytest.mark.parametrize("axes", [(0, None), (None, 1), (0, 0), (2, 1)])
@pytest.mark.parametrize("options", [{}, {"groups": 2}, {"batch_groups": 2}], ids=str)
@one_in(3)
def test_batches_equal_a_loop(axes, options):
    random = np.random.default_rng(13)
    groups, batch_groups = options.get("groups", 1), options.get("batch_groups", 1)
    shapes = (2 * batch_groups, 2 * groups, 5), (4, 2, 3)
    x, w = (
        drawn(random, s if a is None else (*s[:a], 3, *s[a:]), "float64")
        for s, a in zip(shapes, axes, strict=True)
    )

    def f(x, w):
        return convolved(x, w, ((1, 0),), **options)

    def example(k, v, a):
        return v if a is None else np.take(v, k, a)

    want = np.stack(
        [f(*(example(k, *p) for p in zip((x, w), axes, strict=True))) for k in range(3)]
    )
    near(transpile.vmap(f, axes)(x, w), want, 10)
    near(transpile.jit(transpile.vmap(f, axes))(x, w), want, 10)


# ------------------------------------------------------------------------------------ special kinds


def test_special_kinds_are_the_general_one():
    random = np.random.default_rng(14)
    x, w = drawn(random, (2, 3, 6, 5), "float64"), drawn(random, (4, 3, 3, 2), "float64")
    assert np.array_equal(lax.conv(x, w, (2, 1), "SAME"), CONV(x, w, (2, 1), "SAME"))
    pads = ((1, 2), (0, -1))
    near(
        lax.conv_with_general_padding(x, w, (1, 2), pads, (2, 1), (1, 2)),
        by_loops(x, w, (1, 2), pads, (2, 1), (1, 2)),
        10,
    )


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("strides", [(1, 1), (2, 3), (4, 2)])
def test_conv_transpose_of_the_kernel_is_the_gradient(padding, strides):
    """The vector-Jacobian product of the forward convolution, for sizes that strides divide."""
    random = np.random.default_rng(15)
    big = drawn(random, (2, 8, 12, 3), "float64")
    w = drawn(random, (4, 4, 3, 5), "float64")
    big = big if padding == "SAME" else big[:, : 4 + strides[0], : 4 + strides[1]]

    def forward(x):
        return CONV(x, w, strides, padding, dimension_numbers=NHWC)

    small, pullback = transpile.vjp(forward, big)
    ct = drawn(random, small.shape, "float64")
    got = lax.conv_transpose(ct, w, strides, padding, transpose_kernel=True)
    near(got, pullback(ct)[0], 10)


def test_patches_are_windows_and_local_weights_multiply_them():
    random = np.random.default_rng(16)
    x = drawn(random, (2, 3, 6, 5), "float64")
    patches = lax.conv_general_dilated_patches(x, (2, 3), (2, 1), ((1, 0), (0, 0)))
    wide = np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 0)))
    for c, k, m in np.ndindex(3, 2, 3):
        want = wide[:, c, k : k + 5 : 2, m : m + 3]
        assert np.array_equal(patches[:, c * 6 + k * 3 + m], want)
    weights = drawn(random, (4, 18, 3, 3), "float64")
    got = lax.conv_general_dilated_local(x, weights, (2, 1), ((1, 0), (0, 0)), (2, 3))
    near(got, np.einsum("nkyx,okyx->noyx", patches, weights), 10)
    mixed = ("NCHW", "OIHW", "NHWC")
    got = lax.conv_general_dilated_local(
        x, weights, (2, 1), ((1, 0), (0, 0)), (2, 3), dimension_numbers=mixed
    )
    near(got, np.einsum("nkyx,okyx->nyxo", patches, weights), 10)
    last = lax.conv_general_dilated_patches(
        x.transpose(0, 2, 3, 1), (2, 3), (2, 1), ((1, 0), (0, 0)), dimension_numbers=NHWC
    )
    assert np.array_equal(last, patches.transpose(0, 2, 3, 1))


def test_the_preferred_dtype_is_that_of_the_computation():
    x, w = np.full((1, 2, 40), 100, np.int8), np.full((1, 2, 3), 100, np.int8)
    got = CONV(x, w, (1,), "VALID", preferred_element_type=np.int32)
    assert got.dtype == np.int32
    assert np.all(got == 60000)
    x, w = np.ones((1, 2, 4), np.float16), np.ones((1, 2, 3), np.float16)
    assert CONV(x, w, (1,), "SAME", preferred_element_type=np.float32).dtype == np.float32
    assert CONV(x, w, (1,), "SAME").dtype == np.float16


def test_bools_ask_whether_any_product_is_true():
    x, w = np.array([[[True, False, True]]]), np.array([[[True, True]]])
    got = CONV(x, w, (1,), ((1, 0),))
    assert got.dtype == bool
    assert got.tolist() == [[[True, True, True]]]
    assert not CONV(~x & False, w, (1,), "SAME").any()


# ------------------------------------------------------------------------------------------- shapes


def test_shapes_and_padding_are_what_jax_prints():
    assert lax.padtype_to_pads((5, 6), (3, 3), (2, 1), "SAME") == [(1, 1), (1, 1)]
    assert lax.padtype_to_pads((5, 6), (3, 4), (2, 1), "SAME_LOWER") == [(1, 1), (2, 1)]
    assert lax.padtype_to_pads((5, 6), (3, 3), (2, 1), "valid") == [(0, 0), (0, 0)]
    assert lax.conv_dimension_numbers((1, 2, 5, 5), (3, 2, 3, 3), NHWC) == (
        (0, 3, 1, 2),
        (3, 2, 0, 1),
        (0, 3, 1, 2),
    )
    shapes = (1, 5, 5, 2), (3, 3, 2, 4)
    assert lax.conv_general_shape_tuple(*shapes, (1, 2), "SAME", NHWC) == (1, 5, 3, 4)
    assert lax.conv_shape_tuple((4, 2, 5, 5), (4, 2, 3, 3), (1, 2), "SAME", 2) == (2, 4, 5, 3)
    assert lax.conv_transpose_shape_tuple(*shapes, (1, 2), "SAME", NHWC) == (1, 5, 10, 4)
    pads = ((1, 1), (0, 1))
    assert lax.conv_transpose_shape_tuple(*shapes, (2, 2), pads, NHWC) == (1, 9, 8, 4)
    x, w = np.ones(shapes[0]), np.ones(shapes[1])
    found = {
        "SAME": (1, 10, 10, 4),
        "VALID": (1, 11, 11, 4),
        ((1, 0), (0, 3)): (1, 8, 10, 4),
    }
    for padding, shape in found.items():
        assert lax.conv_transpose(x, w, (2, 2), padding).shape == shape
    assert lax.conv_transpose(
        x, w, (2, 2), ((1, 0), (0, 3)), use_consistent_padding=True
    ).shape == (1, 10, 8, 4)
    x, w = np.ones((1, 2, 0, 5)), np.ones((3, 2, 3, 3))
    assert CONV(x, w, (1, 1), "SAME").shape == (1, 3, 0, 5)
    assert CONV(np.ones((1, 2, 5, 5)), np.ones((3, 2, 7, 7)), (1, 1), "VALID").shape == (1, 3, 0, 0)
    assert np.all(CONV(np.ones((1, 0, 5)), np.ones((3, 0, 3)), (1,), "SAME") == 0)


def convolution(x=(1, 2, 5, 5), w=(3, 2, 3, 3), strides=(1, 1), padding="SAME", **options):
    dtype = options.pop("dtype", "float32")
    return CONV(np.ones(x, "float32"), np.ones(w, dtype), strides, padding, **options)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        (
            {"padding": "FOO"},
            RuntimeError,
            "Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got FOO.",
        ),
        (
            {"w": (3, 4, 3, 3)},
            ValueError,
            "conv_general_dilated lhs feature dimension size divided by feature_group_count must "
            "equal the rhs input feature dimension size, but 2 // 1 != 4.",
        ),
        (
            {"w": (3, 2, 3)},
            TypeError,
            "convolution requires lhs and rhs ndim to be equal, got 4 and 3.",
        ),
        (
            {"strides": (1,)},
            ValueError,
            "conv_general_dilated window and window_strides must have the same number of "
            "dimensions, but got 2 and 1",
        ),
        (
            {"padding": ((0, 0),)},
            TypeError,
            "Wrong number of explicit pads for convolution: expected 2, got 1.",
        ),
        (
            {"lhs_dilation": (2, 1)},
            ValueError,
            "String padding is not implemented for transposed convolution using this op. Please "
            "either exactly specify the required padding or use conv_transpose.",
        ),
        ({"rhs_dilation": (0, 1)}, TypeError, "All dilations must be positive, got (0, 1)."),
        (
            {"feature_group_count": 0},
            ValueError,
            "conv_general_dilated feature_group_count must be a positive integer, got 0.",
        ),
        (
            {"x": (1, 4, 5, 5), "feature_group_count": 2},
            ValueError,
            "conv_general_dilated rhs output feature dimension size must be a multiple of "
            "feature_group_count, but 3 is not a multiple of 2.",
        ),
        (
            {"batch_group_count": 2},
            ValueError,
            "conv_general_dilated batch_group_count must divide lhs batch dimension size, but 2 "
            "does not divide 1.",
        ),
        (
            {"x": (4, 4, 5, 5), "w": (4, 2, 3, 3), "batch_group_count": 2}
            | {"feature_group_count": 2},
            ValueError,
            "At most one of batch_group_count and feature_group_count may be > 1, got "
            "batch_group_count=2 and feature_group_count=2",
        ),
        (
            {"dtype": "float64"},
            TypeError,
            "lax.conv_general_dilated requires arguments to have the same dtypes, got float32, "
            "float64.",
        ),
        (
            {"preferred_element_type": np.float16},
            TypeError,
            "`preferred_element_type` must not be narrower than the original type.",
        ),
        (
            {"preferred_element_type": np.int32},
            TypeError,
            "Input type is incompatible with `preferred_element_type`.",
        ),
        (
            {"dimension_numbers": ("NHWC", "HWIO")},
            TypeError,
            "convolution dimension_numbers list/tuple must be length 3, got 2.",
        ),
        (
            {"dimension_numbers": ("NHHC", "HWIO", "NHWC")},
            TypeError,
            "convolution dimension_numbers[0] cannot have duplicate characters, got NHHC.",
        ),
        (
            {"dimension_numbers": ("NHWC", "HWIO", "NHDC")},
            TypeError,
            "convolution dimension_numbers elements must each have the same set of spatial "
            "characters, got ('NHWC', 'HWIO', 'NHDC').",
        ),
        (
            {"dimension_numbers": ("AHWC", "HWIO", "NHWC")},
            TypeError,
            "convolution dimension_numbers[0] must contain the characters 'N' and 'C' exactly "
            "once, got AHWC.",
        ),
        (
            {"padding": None},
            ValueError,
            "padding argument to conv_general_dilated should be a string or a sequence of (low, "
            "high) pairs, got None",
        ),
        (
            {"padding": ((-3, -3), (0, 0))},
            ValueError,
            "Negative padding is larger than the size of the corresponding dimension: got "
            "padding=((-3, -3), (0, 0)) for lhs_shape[2:]=(5, 5)",
        ),
    ],
    ids=lambda x: str(x)[:40] if isinstance(x, dict) else "",
)
def test_errors_are_in_jaxs_words(options, kind, words):
    with pytest.raises(kind) as caught:
        convolution(**options)
    assert words in str(caught.value)


def test_values_equal_jaxs():
    jax = pytest.importorskip("jax")
    random = np.random.default_rng(17)
    choices = itertools.product(
        [(1, 1), (2, 1)], ["SAME", ((1, 2), (0, 1))], [1, 2], [(1, 1), (1, 2)]
    )
    for strides, padding, groups, apart in choices:
        x = drawn(random, (2, 4, 6, 5), "float32")
        w = drawn(random, (4, 4 // groups, 3, 2), "float32")
        options = {"feature_group_count": groups, "rhs_dilation": apart}
        want = jax.lax.conv_general_dilated(x, w, strides, padding, **options)
        near(CONV(x, w, strides, padding, **options), np.asarray(want), 20)
