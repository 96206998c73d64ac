"""Routines of CUDA by themselves, on the CPU: products of all shapes, strides and dtypes."""

import numpy as np
import pytest
from cuda_programs import results, run
from test_cuda_programs import FEW

import transpile
from transpile.ir.types import BFLOAT16, finfo, real_dtype
from transpile.targets.cuda.gpu import Gpu

# Few tiles are enough to have large ones.
LARGE = Gpu(most_blocks=3, enough_blocks=1)
RNG = np.random.default_rng(23)
# Rows, columns and terms: smaller than a tile, whole tiles, and tiles with a rest.
SHAPES = ((20, 18, 9), (64, 64, 32), (70, 129, 40), (1, 150, 30), (150, 4, 300))
DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")


def drawn(shape, dtype):
    """Numbers of a dtype."""
    x = RNG.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RNG.normal(size=shape)
    return x.astype(BFLOAT16 if dtype == "bfloat16" else dtype)


def check(function, arguments, runs=run, gpu=FEW):
    """Compare a function of products with NumPy in double precision, relative to the terms."""
    stage = transpile.jit(function).lower(*arguments)
    (found,) = results(stage._lowering, arguments, gpu, runs)
    wide = [a.astype(np.result_type(a.dtype, np.float64)) for a in arguments]
    expected, size = function(*wide), function(*map(np.abs, wide))
    assert (found.shape, found.dtype) == (expected.shape, function(*arguments).dtype)
    precision = float(finfo(real_dtype(found.dtype)).eps)
    assert (np.abs(found.astype(expected.dtype) - expected) <= 8 * precision * size).all()


def product(a, b):
    return a @ b


ORDERS = {
    "a b": lambda a, b: a @ b,
    "a' b": lambda a, b: a.T @ b,
    "a b'": lambda a, b: a @ b.T,
    "a' b'": lambda a, b: a.T @ b.T,
    "strided": lambda a, b: a[::2, ::3] @ b[::3, ::2],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_products(shape, dtype):
    check_product(shape, dtype)


def check_product(shape, dtype, runs=run, gpu=FEW):
    m, n, k = shape
    check(product, [drawn((m, k), dtype), drawn((k, n), dtype)], runs, gpu)


@pytest.mark.parametrize("dtype", ("float16", "float32", "float64"))
@pytest.mark.parametrize("order", ORDERS)
def test_orders_of_operands(order, dtype):
    check_order(order, dtype, 72, 56, 40)


def check_order(order, dtype, m, n, k, runs=run, gpu=FEW):
    left, right = (m, k), (k, n)
    if order == "strided":
        left, right = (2 * m, 3 * k), (3 * k, 2 * n)
    left = left[::-1] if "a'" in order else left
    right = right[::-1] if "b'" in order else right
    check(ORDERS[order], [drawn(left, dtype), drawn(right, dtype)], runs, gpu)


@pytest.mark.parametrize("dtype", ("float16", "float32", "float64"))
def test_large_tiles(dtype):
    check_product((140, 150, 70), dtype, gpu=LARGE)


@pytest.mark.parametrize("dtype", DTYPES)
def test_batches(dtype):
    check_batch((6, 33, 18, 20), dtype)


def check_batch(shape, dtype, runs=run, gpu=FEW):
    count, m, n, k = shape
    check(product, [drawn((count, m, k), dtype), drawn((count, k, n), dtype)], runs, gpu)
