"""Convolutions, and other products whose left operand repeats numbers, gather what they read."""

import math
import re

import numpy as np
import pytest
from cuda_programs import results, run
from test_cuda_epilogues import text_of
from test_cuda_programs import FEW
from test_cuda_routines import LARGE, LIBRARY, drawn, tensor_floats
from thorough import each, one_in

import transpile
from transpile import lax
from transpile.ir.types import finfo

# Shapes of the operand and of the weights, and what else a convolution has.
CONVOLUTIONS = {
    "padded": ((2, 5, 9, 8), (20, 5, 3, 3), {"padding": "SAME"}),
    "without padding": ((2, 5, 9, 8), (20, 5, 3, 3), {"padding": "VALID"}),
    "strides and dilations": (
        (2, 5, 13, 14), (20, 5, 3, 2),
        {"padding": ((2, 1), (0, 3)), "window_strides": (2, 1), "rhs_dilation": (1, 3)},
    ),
    "cropped": ((2, 5, 9, 11), (20, 5, 3, 3), {"padding": ((-1, 1), (0, -2))}),
    "channels last": (
        (2, 9, 8, 5), (3, 3, 5, 20),
        {"padding": "SAME", "dimension_numbers": ("NHWC", "HWIO", "NHWC")},
    ),
    "one axis": ((3, 6, 40), (18, 6, 5), {"padding": "SAME"}),
    "three axes": ((2, 3, 5, 6, 4), (17, 3, 2, 3, 2), {"padding": "SAME"}),
    "groups": ((2, 6, 9, 8), (40, 3, 3, 3), {"padding": "SAME", "feature_group_count": 2}),
    "large": ((3, 5, 9, 11), (150, 5, 3, 3), {"padding": "SAME"}),
}  # fmt: skip


def convolved(options):
    """The convolution with some parameters."""
    strides = options.get("window_strides")

    def function(x, w):
        given = {"window_strides": strides or (1,) * (x.ndim - 2), **options}
        return lax.conv_general_dilated(x, w, **given)

    return function


def by_numpy(x, w, options):
    """The convolution by sums of products, one tap after the other."""
    x, w = (a.astype(np.float64) for a in (x, w))
    last = "dimension_numbers" in options
    if last:
        x, w = np.moveaxis(x, -1, 1), np.moveaxis(w, (-1, -2), (0, 1))
    rank = x.ndim - 2
    strides = options.get("window_strides", (1,) * rank)
    apart = options.get("rhs_dilation", (1,) * rank)
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], apart, strict=True)]
    pads = options["padding"]
    if isinstance(pads, str):
        wide = [r - 1 if pads == "SAME" else 0 for r in reach]
        pads = [(p // 2, p - p // 2) for p in wide]
    grown = [(max(0, low), max(0, high)) for low, high in pads]
    x = np.pad(x, [(0, 0), (0, 0), *grown])
    cut = tuple(
        slice(max(0, -a), n - max(0, -b)) for (a, b), n in zip(pads, x.shape[2:], strict=True)
    )
    x = x[(slice(None), slice(None), *cut)]
    sizes = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, strides, strict=True)]
    count = options.get("feature_group_count", 1)
    out = np.zeros((x.shape[0], w.shape[0], *sizes))
    for tap in np.ndindex(*w.shape[2:]):
        places = zip(tap, apart, strides, sizes, strict=True)
        seen = tuple(slice(t * d, t * d + s * (n - 1) + 1, s) for t, d, s, n in places)
        picked = x[(slice(None), slice(None), *seen)]
        for g in range(count):
            own = slice(g * picked.shape[1] // count, (g + 1) * picked.shape[1] // count)
            to = slice(g * w.shape[0] // count, (g + 1) * w.shape[0] // count)
            weights = w[(to, slice(None), *tap)]
            out[:, to] += np.einsum("oi,ni...->no...", weights, picked[:, own])
    return np.moveaxis(out, 1, -1) if last else out


def check_convolution(name, dtype="float32", runs=run, gpu=FEW, launches=1):
    """Compare with NumPy in double precision; a convolution is one launch."""
    shape, weights, options = CONVOLUTIONS[name]
    x, w = drawn(shape, dtype), drawn(weights, dtype)
    stage = transpile.jit(convolved(options)).lower(x, w)
    (found,) = results(stage._lowering, [x, w], gpu, runs)
    terms = math.prod(weights) / weights[0]
    expected = by_numpy(x, w, options)
    assert (found.shape, found.dtype) == (expected.shape, x.dtype)
    limit = 40 * np.finfo(dtype).eps * terms
    np.testing.assert_allclose(found, expected, rtol=0, atol=limit)
    text = text_of(stage, gpu)
    assert "_gathered_" in text and text.count("static __global__") == launches


@each("dtype", ("float32", "float64"), ordinary=("float32",))
@pytest.mark.parametrize("name", [name for name in CONVOLUTIONS if name != "large"])
@one_in(2)
def test_convolutions(name, dtype):
    # Weights whose features are last are copied into their order first.
    check_convolution(name, dtype, launches=2 if name == "channels last" else 1)


def test_convolutions_in_large_tiles():
    check_convolution("large", gpu=LARGE)


@each("dtype", ("float16", "bfloat16"), ordinary=("float16",))
@each("name", ("padded", "strides and dilations", "channels last", "groups"), ordinary=("padded",))
def test_convolutions_of_halves_are_on_tensor_cores(name, dtype):
    """Their patches are halves, too."""
    shape, weights, options = CONVOLUTIONS[name]
    x, w = drawn(shape, dtype), drawn(weights, dtype)
    stage = transpile.jit(convolved(options)).lower(x, w)
    (found,) = results(stage._lowering, [x, w], FEW)
    expected = by_numpy(x, w, options)
    assert (found.shape, found.dtype) == (expected.shape, x.dtype)
    limit = 2 * float(finfo(x.dtype).eps) * (np.abs(expected) + 1)
    assert (np.abs(found.astype(np.float64) - expected) <= limit).all()
    text = text_of(stage)
    call = re.search(r"block_matmul_(then_|sums_)*b?f16\(blockIdx", text)
    assert call is not None and "float *__restrict__" not in text[text.index("static __global__") :]


def test_halves_that_others_read_are_converted_once():
    x = transpile.ShapeDtypeStruct((40, 40), "f2")

    def by_both(x, w):
        wide = np.where(x > 0, x, 0).astype(np.float32)
        return lax.dot(wide, w), np.cumsum(wide, axis=0)

    single = transpile.ShapeDtypeStruct((40, 40), "f4")
    assert "block_matmul_f32" in text_of(transpile.jit(by_both).lower(x, single))


def test_convolutions_on_tensor_cores_with_an_epilogue():
    shape, weights, options = CONVOLUTIONS["padded"]
    x, w, b = drawn(shape, "float32"), drawn(weights, "float32"), drawn(weights[:1], "float32")
    with transpile.default_matmul_precision("tensorfloat32"):
        stage = transpile.jit(
            lambda x, w, b: np.maximum(convolved(options)(x, w) + b[:, None, None], 0)
        ).lower(x, w, b)
    (found,) = results(stage._lowering, [x, w, b], FEW)
    expected = by_numpy(tensor_floats(x), tensor_floats(w), options) + b[:, None, None]
    np.testing.assert_allclose(found, np.maximum(expected, 0), rtol=1e-4, atol=1e-4)
    text = text_of(stage)
    assert "block_matmul_then_gathered_tf32_f32" in text and text.count("static __global__") == 1


def test_other_operands_that_repeat_numbers():
    """Rows that are repeated, each several times."""
    x, w = drawn((20, 24), np.float64), drawn((24, 20), np.float64)
    repeated = lambda x, w: np.repeat(x, 3, axis=0) @ w
    stage = transpile.jit(repeated).lower(x, w)
    assert "_gathered_" in text_of(stage)
    (found,) = results(stage._lowering, [x, w], FEW)
    np.testing.assert_allclose(found, repeated(x, w), rtol=1e-12, atol=1e-12)


def is_gathered(function, *types, gpu=FEW):
    return "_gathered_" in text_of(transpile.jit(function).lower(*types), gpu)


def test_what_others_read_or_change_is_stored():
    x, w = (transpile.ShapeDtypeStruct(s, "f4") for s in ((2, 5, 9, 8), (20, 5, 3, 3)))
    padded = convolved({"padding": "SAME"})
    assert is_gathered(padded, x, w)
    assert not is_gathered(padded, x, w, gpu=LIBRARY)
    many = transpile.ShapeDtypeStruct((300, 5, 3, 3), "f4")
    assert not is_gathered(padded, x, many)  # again for each of three tiles
    sized = transpile.ShapeDtypeStruct(("n", 5, 9, 8), "f4")
    assert not is_gathered(padded, sized, w)  # numbers of 64 bits are divided slowly
    halves = [transpile.ShapeDtypeStruct(t.shape, "f2") for t in (x, w)]
    assert not is_gathered(padded, *halves)

    def both(x, w):
        patches = lax.conv_general_dilated_patches(x, (3, 3), (1, 1), "SAME")
        rows = np.moveaxis(patches, 1, 3).reshape(-1, 45)
        return rows @ w.reshape(20, 45).T, rows

    assert not is_gathered(both, x, w)

    def repeated(x, w):
        return lax.fori_loop(0, 3, lambda _, x: np.tanh(padded(x, w)), x)

    x, w = drawn((2, 20, 5, 6), np.float64), drawn((20, 20, 3, 3), np.float64) / 9
    expected = x
    for _ in range(3):
        expected = np.tanh(by_numpy(expected, w, {"padding": "SAME"}))
    stage = transpile.jit(repeated).lower(x, w)
    (found,) = results(stage._lowering, [x, w], FEW)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
