"""Convolutions of pictures whose extents are runtime sizes call the routine, with numbers of its
plan that the program computes."""

import numpy as np
import pytest
from graphs import lowered
from thorough import one_in

import transpile
from transpile import ShapeDtypeStruct, lax
from transpile.machine import Machine
from transpile.options import Options

H, W, N = transpile.dims("h, w, n", "h >= 3", "w >= 2")
RNG = np.random.default_rng(0)
LAYOUTS = {"first": ("NCHW", "OIHW", "NCHW"), "last": ("NHWC", "HWIO", "NHWC")}
SHAPES = [(3, 2, 1), (3, 9, 2), (17, 2, 3), (20, 40, 2)]  # of height, width and pictures


def arranged(x, order, to):
    return np.transpose(x, [order.index(axis) for axis in to])


def same(size, reach, stride):
    """Padding that gives ceil(size / stride) results: an odd number goes behind."""
    width = max((-(-size // stride) - 1) * stride + reach - size, 0)
    return width // 2, width - width // 2


def convolved(x, w, strides, padding, dilation, groups):
    """The convolution of pictures whose channels are the second axis, tap by tap."""
    (count, channels, *_), (features, _, *window) = x.shape, w.shape
    reaches = [(k - 1) * d + 1 for k, d in zip(window, dilation, strict=True)]
    if padding == "SAME":
        padding = [same(*of) for of in zip(x.shape[2:], reaches, strides, strict=True)]
    x = np.pad(x, ((0, 0), (0, 0), *padding))
    extents = zip(x.shape[2:], reaches, strides, strict=True)
    rows, columns = ((n - k) // stride + 1 for n, k, stride in extents)
    down, right = strides
    out = np.zeros((count, groups, features // groups, rows, columns))
    of_groups = x.reshape(count, groups, channels // groups, *x.shape[2:])
    weights = w.reshape(groups, features // groups, *w.shape[1:])
    for i, j in np.ndindex(*window):
        y, z = i * dilation[0], j * dilation[1]
        part = of_groups[..., y:, z:][..., : (rows - 1) * down + 1 : down, :]
        part = part[..., : (columns - 1) * right + 1 : right]
        out += np.einsum("ngchw,gfc->ngfhw", part, weights[..., i, j])
    return out.reshape(count, features, rows, columns)


def of_runtime_sizes(layout, channels, w, strides, padding, dilation, groups, dtype):
    """The program, whose result has an operation behind the convolution."""
    numbers = LAYOUTS[layout]
    sizes = {"N": N, "C": channels, "H": H, "W": W}
    x = ShapeDtypeStruct([sizes[axis] for axis in numbers[0]], dtype)
    w = arranged(w, "OIHW", numbers[1]).astype(dtype)

    def f(x, w):
        out = lax.conv_general_dilated(
            x, w, strides, padding, (1, 1), dilation, numbers, feature_group_count=groups
        )
        return np.maximum(out, 0)

    return transpile.jit(f).lower(x, w), w, numbers


CASES = [
    # layout, channels, weights, strides, padding, dilation, groups, dtype
    ("first", 4, (12, 4, 3, 2), (1, 1), ((1, 1), (0, 1)), (1, 1), 1, "f4"),
    ("last", 4, (12, 4, 3, 2), (1, 1), ((0, 0), (0, 0)), (1, 1), 1, "f8"),
    ("last", 8, (16, 4, 2, 2), (1, 1), ((2, 1), (0, 3)), (2, 1), 2, "f4"),
    ("first", 4, (12, 4, 3, 2), (2, 3), "SAME", (1, 1), 1, "f4"),
    ("last", 4, (16, 4, 3, 3), (2, 1), "SAME", (1, 2), 1, "f4"),
    ("first", 8, (16, 4, 3, 2), (3, 2), ((3, 0), (2, 5)), (1, 1), 2, "f8"),
    ("last", 4, (16, 4, 2, 2), (2, 2), "VALID", (1, 1), 1, "f4"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[3]}-{c[6]}-{c[7]}")
@one_in(2)
def test_the_routine_is_called_and_gives_what_numpy_gives(case):
    layout, channels, shape, strides, padding, dilation, groups, dtype = case
    program, w, numbers = of_runtime_sizes(layout, channels, RNG.normal(size=shape), *case[3:])
    padding = ((0, 0), (0, 0)) if padding == "VALID" else padding
    assert "call conv_of_sizes(" in program.as_text("loops")
    compiled = program.compile()
    for h, width, count in SHAPES:
        x = RNG.normal(size=(count, channels, h, width)).astype(dtype)
        found = compiled(arranged(x, "NCHW", numbers[0]).copy(), w)
        weights = arranged(w, numbers[1], "OIHW")
        expected = np.maximum(convolved(x, weights, strides, padding, dilation, groups), 0)
        bound = 1e-4 if dtype == "f4" else 1e-11
        np.testing.assert_allclose(
            arranged(found, numbers[2], "NCHW"), expected, rtol=bound, atol=bound
        )


def test_cropping_takes_another_way():
    """The numbers of a plan are then no polynomials of the sizes."""
    x, w = ShapeDtypeStruct((1, 4, H, W), np.float32), np.ones((12, 4, 2, 2), np.float32)
    f = transpile.jit(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), ((-1, 1), (0, 0))))
    assert "conv_of_sizes" not in f.lower(x, w).as_text("loops")


def test_the_extents_of_strided_results_are_short():
    """Those of windows shorter than the stride too, whose padding is below 0 behind the picture."""
    h, w = transpile.dims("h, w", "h >= 1", "w >= 1")
    x = ShapeDtypeStruct((1, 1, h, w), np.float32)
    f = transpile.jit(lambda x, k: lax.conv(x, k, (2, 4), "SAME"))
    lowered = f.lower(x, np.ones((1, 1, 3, 2), np.float32))
    (out,) = transpile.tree.leaves(lowered.out_info)
    assert tuple(map(str, out.shape)) == ("1", "1", "(h + 1) // 2", "(w + 3) // 4")
    compiled = lowered.compile()
    for size in (1, 1), (2, 3), (7, 9), (8, 5):
        x = RNG.normal(size=(1, 1, *size)).astype(np.float32)
        expected = convolved(x, np.ones((1, 1, 3, 2)), (2, 4), "SAME", (1, 1), 1)
        np.testing.assert_allclose(
            compiled(x, np.ones((1, 1, 3, 2), np.float32)), expected, 1e-5, 1e-5
        )


def test_a_convolution_that_is_written_out_has_plain_subscripts():
    """Rows of a padded picture are no multiple of its width, but of what is left of it."""
    h, w = transpile.dims("h, w", "h >= 5", "w >= 5")
    x = ShapeDtypeStruct((1, 1, h, w), np.float32)
    f = transpile.jit(lambda x, k: lax.conv(x, k, (1, 1), "VALID"))
    text = f.lower(x, np.ones((1, 1, 5, 5), np.float32)).as_text("loops")
    assert "//" not in text
    assert "%" not in text


def test_a_machine_without_the_routine_has_sums_or_products_for_all_sizes():
    """However large runtime sizes are estimated to be."""
    options = Options(machine=Machine(least_convolution_products=1 << 62))
    types = ShapeDtypeStruct((N, 64, H, W), np.float32), np.ones((512, 64, 3, 3), np.float32)

    def f(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME")

    assert "conv_of_sizes" not in str(lowered(f, *types, options=options))
    assert "conv_of_sizes" in str(lowered(f, *types))
