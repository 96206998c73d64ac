"""Convolutions of pictures whose extents are runtime sizes call the routine, with numbers of its
plan that the program computes."""

import numpy as np
import pytest
from graphs import lowered

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


def convolved(x, w, padding, dilation, groups):
    """The convolution of pictures whose channels are the second axis, tap by tap."""
    (count, channels, *_), (features, _, *window) = x.shape, w.shape
    x = np.pad(x, ((0, 0), (0, 0), *padding))
    rows, columns = (n - (k - 1) * d for n, k, d in zip(x.shape[2:], window, dilation, strict=True))
    out = np.zeros((count, groups, features // groups, rows, columns))
    of_groups = x.reshape(count, groups, channels // groups, *x.shape[2:])
    weights = w.reshape(groups, features // groups, *w.shape[1:])
    for i, j in np.ndindex(*window):
        y, z = i * dilation[0], j * dilation[1]
        part = of_groups[..., y : y + rows, z : z + columns]
        out += np.einsum("ngchw,gfc->ngfhw", part, weights[..., i, j])
    return out.reshape(count, features, rows, columns)


def of_runtime_sizes(layout, channels, w, padding, dilation, groups, dtype):
    """The program, whose result has an operation behind the convolution."""
    numbers = LAYOUTS[layout]
    sizes = {"N": N, "C": channels, "H": H, "W": W}
    x = ShapeDtypeStruct([sizes[axis] for axis in numbers[0]], dtype)
    w = arranged(w, "OIHW", numbers[1]).astype(dtype)

    def f(x, w):
        out = lax.conv_general_dilated(
            x, w, (1, 1), padding, (1, 1), dilation, numbers, feature_group_count=groups
        )
        return np.maximum(out, 0)

    return transpile.jit(f).lower(x, w), w, numbers


CASES = [
    # layout, channels, weights, padding, dilation, groups, dtype
    ("first", 4, (12, 4, 3, 2), ((1, 1), (0, 1)), (1, 1), 1, "f4"),
    ("last", 4, (12, 4, 3, 2), ((0, 0), (0, 0)), (1, 1), 1, "f8"),
    ("last", 8, (16, 4, 2, 2), ((2, 1), (0, 3)), (2, 1), 2, "f4"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[5]}-{c[6]}")
def test_the_routine_is_called_and_gives_what_numpy_gives(case):
    layout, channels, shape, padding, dilation, groups, dtype = case
    program, w, numbers = of_runtime_sizes(
        layout, channels, RNG.normal(size=shape), padding, dilation, groups, dtype
    )
    assert "call conv_of_sizes(" in program.as_text("loops")
    compiled = program.compile()
    for h, width, count in SHAPES:
        x = RNG.normal(size=(count, channels, h, width)).astype(dtype)
        found = compiled(arranged(x, "NCHW", numbers[0]).copy(), w)
        weights = arranged(w, numbers[1], "OIHW")
        expected = np.maximum(convolved(x, weights, padding, dilation, groups), 0)
        bound = 1e-4 if dtype == "f4" else 1e-11
        np.testing.assert_allclose(
            arranged(found, numbers[2], "NCHW"), expected, rtol=bound, atol=bound
        )


def test_strides_and_cropping_take_another_way():
    """The numbers of a plan are then no polynomials of the sizes."""
    x, w = ShapeDtypeStruct((1, 4, H, W), np.float32), np.ones((12, 4, 2, 2), np.float32)
    for strides, padding in (((2, 1), "SAME"), ((1, 1), ((-1, 1), (0, 0)))):
        f = transpile.jit(
            lambda x, w, s=strides, p=padding: lax.conv_general_dilated(x, w, s, p),
            static_argnums=(2, 3),
        )
        assert "conv_of_sizes" not in f.lower(x, w).as_text("loops")


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
