"""Kernels around a convolution are fused with it, an image at a time."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered, statements_of
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

from transpile import grad, jit, lax
from transpile import numpy as tnp
from transpile.analysis.oracle.loop_interpreter import run
from transpile.intrinsics.convolutions import Axis, Images, Sizes
from transpile.ir.calls import Call
from transpile.ir.loop_ir import Alloc, For
from transpile.library import convolution
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule import schedule
from transpile.schedule.blocking.conv_fusion import fuse_convolutions

pytestmark = pytest.mark.full_level

NHWC = ("NHWC", "HWIO", "NHWC")


# Few operations and images are worth it, and lanes are pixels.
IMAGES = {
    "least_product_flops": 1,
    "fewest_images": 2,
    "least_convolution_products": 1,
    "few_features": 0,
    "feature_lanes_cost": 1 << 30,
}
MACHINE = Machine(**IMAGES)
SMALL = Options(machine=MACHINE)


def in_c(f):
    """A function compiled at these thresholds."""
    return jit(f, compiler_options={"machine": MACHINE})


def integers(*shape, dtype="f8"):
    """Small ones, so that sums have the same bits in any order."""
    return np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(dtype)


X, W, B = integers(3, 2, 9, 9), integers(4, 2, 3, 3), integers(4)
V = integers(2, 4, 3, 3)


def convolved(x, w, strides=(1, 1), padding="SAME", **options):
    return lax.conv_general_dilated(x, w, strides, padding, **options)


def largest(x, size=2):
    shape = (1, 1, size, size)
    return lax.reduce_window(x, -np.inf, lax.max, shape, shape, "VALID")


def with_bias(x, w, b):
    return np.maximum(convolved(x, w, feature_group_count=1) + b[:, None, None], 0)


def pooled(x, w, b):
    return largest(with_bias(x, w, b))


def two_layers(x, w, b):
    y = np.maximum(convolved(x, w), 0)
    return convolved(y, V.astype(x.dtype), padding="VALID") + b[:2, None, None]


def after_nest(x, w, b):
    return convolved(np.abs(x) * 2 - 1, w)


def residual(x, w, b):
    return np.abs(x) + np.maximum(convolved(x, np.concatenate([w[:2]])), 0)


def strided(x, w, b):
    return np.abs(convolved(x, w, (2, 3), ((1, 2), (0, 1)), rhs_dilation=(2, 1)))


def grouped(x, w, b):
    return np.abs(convolved(x, w[:, :1], feature_group_count=2))


def with_sums(x, w, b):
    """Normalised images."""
    y = convolved(x, w)
    return y - y.sum(axis=(1, 2, 3), keepdims=True)


def channels_last(x, w, b):
    y = convolved(x[:, :, :, :2], w.transpose(2, 3, 1, 0), dimension_numbers=NHWC)
    return np.maximum(y + b, 0)


def two_results(x, w, b):
    y = convolved(x, w)
    return y, np.abs(y)


def sliced(x, w, b):
    return np.abs(convolved(x[:, :, 1::2, ::-1], w))


MERGED = {
    "with_bias": (with_bias, 1),
    "pooled": (pooled, 1),
    "two_layers": (two_layers, 2),
    "after_nest": (after_nest, 1),
    "residual": (residual, 1),
    "strided": (strided, 1),
    "grouped": (grouped, 1),
    "with_sums": (with_sums, 1),
    "two_results": (two_results, 1),
    "sliced": (sliced, 1),
}


def over_images(x, w, b):
    """A mean over the batch, subtracted."""
    y = convolved(x, w)
    return y - y.sum(axis=0)


def other_images(x, w, b):
    return np.abs(convolved(np.abs(x), w)[::-1]) + 1


def gradient_of_weights(x, w, b):
    """Sums over images."""
    return np.abs(grad(lambda w: (convolved(x, w) * 2).sum())(w))


def alone(x, w, b):
    return convolved(x, w)


def one_image(x, w, b):
    return with_bias(x[:1], w, b)


def images_moved(x, w, b):
    """Images in another order than that of the memory."""
    y = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "CNHW"))
    return np.abs(y)


UNMERGED = [gradient_of_weights, alone, one_image, images_moved]


def calls_of(program):
    return [c.in_c().function for c in statements_of(program, Call)]


@pytest.mark.parametrize("name", MERGED)
def test_kernels_around_a_convolution_become_one(name):
    f, count = MERGED[name]
    before = lowered(f, X, W, B, options=SMALL)
    after = assert_steps_agree(before, [X, W, B], fuse_convolutions, SMALL)
    (kernel,) = after.kernels
    expected = ["conv_planes_image_f64"] * count + ["conv_planes_panels_f64"] * count
    assert sorted(calls_of(after)) == expected
    (loop,) = (s for s in kernel.body if isinstance(s, For))
    assert loop.parallel
    assert loop.stop == 3


def test_images_of_channels_that_come_last_are_merged_too():
    x, w = integers(3, 9, 9, 2), W
    after = assert_steps_agree(
        lowered(channels_last, x, w, B, options=SMALL), [x, w, B], fuse_convolutions, SMALL
    )
    assert "conv_planes_image_f64" in calls_of(after)


@pytest.mark.parametrize("f", UNMERGED, ids=lambda f: f.__name__)
def test_other_convolutions_stay(f):
    before = lowered(f, X, W, B, options=SMALL)
    assert "conv_planes_f64" in calls_of(before)
    assert fuse_convolutions(before, SMALL) == before


@pytest.mark.parametrize(
    ("f", "kernels", "call"),
    [(over_images, 3, "conv_planes_f64"), (other_images, 2, "conv_planes_image_f64")],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_needs_other_images_waits_for_all(f, kernels, call):
    before = lowered(f, X, W, B, options=SMALL)
    after = fuse_convolutions(before, SMALL)
    assert len(after.kernels) == kernels and calls_of(after)[-1] == call
    assert (after == before) == (call == "conv_planes_f64")
    for found, expected in zip(_run(after), _run(before), strict=True):
        np.testing.assert_array_equal(found, expected)


def _run(program):
    return run(program, [X, W, B])


def test_what_nothing_else_reads_is_one_image_long():
    after = fuse_convolutions(lowered(two_layers, X, W, B, options=SMALL), SMALL)
    local = {s.buffer.shape for s in statements_of(after, Alloc) if len(s.buffer.shape) > 1}
    assert local == {(4, 9, 9), (2, 7, 7)}
    assert not any(b.shape[:1] == (3,) for b in after.temporaries)


def test_large_images_stay_in_memory():
    options = Options(machine=Machine(**IMAGES, block_bytes=6000))
    after = assert_steps_agree(
        lowered(two_layers, X, W, B, options=SMALL), [X, W, B], fuse_convolutions, options
    )
    assert all(len(s.buffer.shape) == 1 for s in statements_of(after, Alloc))
    assert any(b.shape[:1] == (3,) for b in after.temporaries)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("least_product_flops", 1 << 30),
        ("fewest_images", 4),
        ("panel_bytes", 8),
        ("block_bytes", 8),
    ],
)
def test_where_it_does_not_pay_convolutions_stay(name, value):
    options = Options(machine=Machine(**{**IMAGES, name: value}))
    before = lowered(with_bias, X, W, B, options=SMALL)
    assert fuse_convolutions(before, options) == before


def test_without_threads_convolutions_stay():
    before = lowered(with_bias, X, W, B, options=SMALL)
    assert fuse_convolutions(before, replace(SMALL, openmp=False)) == before


def test_the_whole_schedule_has_one_loop_over_images():
    program = schedule(lowered(two_layers, X, W, B, options=SMALL), SMALL)
    loops = [s for s in statements_of(program, For) if s.parallel]
    assert len(loops) == 1


@st.composite
def layers(draw):
    """Shapes of an operand and weights, and what a convolution does with them."""
    groups = draw(st.integers(1, 2))
    batch, channels, features = draw(st.integers(2, 5)), draw(st.integers(1, 3)), 0
    features = groups * draw(st.sampled_from([1, 2, 3, 9]))
    window = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    dilation = (draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    size = tuple(
        (w - 1) * d + draw(st.integers(1, 20)) for w, d in zip(window, dilation, strict=True)
    )
    options = {
        "strides": (draw(st.integers(1, 3)), draw(st.integers(1, 2))),
        "padding": tuple((draw(st.integers(-1, 2)), draw(st.integers(0, 2))) for _ in size),
        "rhs_dilation": dilation,
        "feature_group_count": groups,
    }
    dtype = draw(st.sampled_from(["f4", "f8"]))
    x = integers(batch, groups * channels, *size, dtype=dtype)
    return x, integers(features, channels, *window, dtype=dtype), options


def has_result(case):
    x, w, options = case
    sizes = zip(x.shape[2:], w.shape[2:], options["rhs_dilation"], options["padding"], strict=True)
    return all(n + low + high >= (k - 1) * d + 1 for n, k, d, (low, high) in sizes)


@settings(max_examples=tries(40), deadline=None)
@given(case=layers().filter(has_result))
def test_drawn_layers_have_the_same_results(case):
    x, w, options = case
    bias = integers(len(w), dtype=x.dtype)

    def layer(x, w, b):
        return np.maximum(convolved(x, w, **options) + b[:, None, None], 0)

    before = lowered(layer, x, w, bias, options=SMALL)
    if "conv_planes_" in "".join(calls_of(before)):
        after = assert_steps_agree(before, [x, w, bias], fuse_convolutions, SMALL)
        assert any(name.startswith("conv_planes_image_") for name in calls_of(after))


COMPILED = [(with_bias, "f4"), (pooled, "f8"), (two_layers, "f4"), (strided, "f8"), (grouped, "f4")]


@pytest.mark.parametrize(("f", "dtype"), COMPILED, ids=lambda p: getattr(p, "__name__", p))
@one_in(2)
def test_layers_in_c_are_those_outside(f, dtype):
    operands = [a.astype(dtype) for a in (X, W, B)]
    np.testing.assert_array_equal(in_c(f)(*operands), f(*map(tnp.asarray, operands)))


def test_results_have_the_bits_of_a_convolution_alone():
    random = np.random.default_rng(0)
    x, w = (random.standard_normal(s).astype("f4") for s in ((4, 3, 17, 23), (11, 3, 3, 3)))
    one, both = (
        in_c(convolved)(x, w),
        in_c(lambda x, w: np.abs(convolved(x, w)))(x, w),
    )
    assert np.abs(one).tobytes() == both.tobytes()


def test_what_a_plan_says_of_images():
    axes = (Axis(1, 1, 1, 1, 1, 0), Axis(5, 5, 3, 1, 1, 1), Axis(7, 7, 3, 1, 1, 1))
    steps = ((70, 0, 35, 0, 7, 1), (0, 18, 9, 0, 3, 1), (140, 0, 35, 0, 7, 1))
    sizes = Sizes(3, 1, 4, 2, axes, *steps)
    plan = convolution.make_plan(sizes, 4)
    copy = 2 * 7 * 9 + 4 * 32
    assert plan.images(4) == Images(3, 70, 70, 140, 18, (4 + 8) * 18, copy)
