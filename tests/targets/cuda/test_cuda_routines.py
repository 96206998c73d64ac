"""Routines of CUDA by themselves, on the CPU: products of all shapes, strides and dtypes, sums and
sorts of long rows, Fourier transforms, decompositions."""

import re
from functools import partial

import numpy as np
import pytest
from cuda_programs import lowered, results, run
from test_cuda_primitives import BY_NAME
from test_cuda_programs import FEW
from thorough import each, one_in, thorough

import transpile
from transpile import lax
from transpile.ir.types import BFLOAT16, finfo, kind_letter, real_dtype
from transpile.targets.cuda.gpu import USUAL, Gpu
from transpile.targets.cuda.render import cuda_text
from transpile.util.frozen_records import replace

# Few tiles are enough to have large ones.
LARGE = Gpu(most_blocks=3, enough_blocks=1)
# All products are those of NVIDIA's library, `support/cuda/cublas_on_cpu.cpp` on the CPU.
LIBRARY = Gpu(
    has_cublas=True, least_library_flops=1, least_library_flops_of_halves=1,
    library_workspace=1 << 12,
)  # fmt: skip
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


@each("dtype", DTYPES, ordinary=("float16", "float64", "complex64"))
@pytest.mark.parametrize("shape", SHAPES)
@one_in(4)
def test_products(shape, dtype):
    check_product(shape, dtype)


def check_product(shape, dtype, runs=run, gpu=FEW):
    m, n, k = shape
    check(product, [drawn((m, k), dtype), drawn((k, n), dtype)], runs, gpu)


@each("dtype", ("float16", "float32", "float64"), ordinary=("float16", "float32"))
@pytest.mark.parametrize("order", ORDERS)
@one_in(3)
def test_orders_of_operands(order, dtype):
    check_order(order, dtype, 72, 56, 40)


def check_order(order, dtype, m, n, k, runs=run, gpu=FEW):
    left, right = (m, k), (k, n)
    if order == "strided":
        left, right = (2 * m, 3 * k), (3 * k, 2 * n)
    left = left[::-1] if "a'" in order else left
    right = right[::-1] if "b'" in order else right
    check(ORDERS[order], [drawn(left, dtype), drawn(right, dtype)], runs, gpu)


def tensor_floats(x):
    """Floats with ten bits of mantissa, to nearest, ties away from zero."""
    return ((x.view(np.uint32) + 0x1000) & 0xFFFFE000).view(np.float32)


def check_tensor_floats(shape, order="a b", runs=run, gpu=FEW):
    """Compare a product whose factors may be rounded with that of rounded factors, to the precision
    of float32, in which it is far from that of the others."""
    *batch, m, n, k = shape
    left, right = ((m, k)[:: -1 if "a'" in order else 1], (k, n)[:: -1 if "b'" in order else 1])
    arguments = [drawn((*batch, *left), np.float32), drawn((*batch, *right), np.float32)]
    function = product if batch else ORDERS[order]
    with transpile.default_matmul_precision("tensorfloat32"):
        stage = transpile.jit(function).lower(*arguments)
    (found,) = results(stage._lowering, arguments, gpu, runs)
    wide, rounded = (
        [f(a).astype(np.float64) for a in arguments] for f in (lambda a: a, tensor_floats)
    )
    limit = 8 * np.finfo(np.float32).eps * function(*map(np.abs, wide))
    assert (np.abs(found - function(*rounded)) <= limit).all()
    assert (np.abs(found - function(*wide)) > limit).mean() > 0.5


ON_TENSOR_CORES = {
    "less than a tile": (20, 18, 9),
    "whole tiles": (64, 64, 32),
    "tiles with a rest": (70, 129, 40),
    "sums in parts": (40, 30, 1024),
    "a batch": (3, 33, 18, 20),
}


@each("name", ON_TENSOR_CORES, ordinary=("tiles with a rest", "sums in parts", "a batch"))
def test_products_on_tensor_cores(name):
    check_tensor_floats(ON_TENSOR_CORES[name])


@pytest.mark.parametrize("order", ("a' b", "a b'", "a' b'"))
@one_in(2)
def test_orders_of_operands_on_tensor_cores(order):
    check_tensor_floats((72, 56, 40), order)


@thorough
def test_large_tiles_and_the_librarys_products_on_tensor_cores():
    check_tensor_floats((140, 150, 70), gpu=LARGE)
    check_tensor_floats((40, 30, 20), gpu=LIBRARY)


def test_who_asks_for_tensor_cores_gets_them():
    """By a name that allows it, for float32, and more than vectors; nobody else does."""

    def text(function, *types, gpu=FEW):
        lowering = transpile.jit(function).lower(*types)._lowering
        return cuda_text(lowered(lowering.graph, lowering.options), lowering.options, gpu=gpu)

    square, row, halves, image, weights = (
        transpile.ShapeDtypeStruct(shape, dtype)
        for shape, dtype in (
            ((40, 40), "f4"), ((3, 40), "f4"), ((40, 40), "f2"),
            ((2, 20, 9, 9), "f4"), ((24, 20, 3, 3), "f4"),
        )
    )  # fmt: skip
    named = lambda precision: lambda a, b: lax.dot(a, b, precision=precision)
    assert "mma_tf32" in text(named("tensorfloat32"), square, square)
    sums = text(named("high"), square, square, gpu=LIBRARY)
    assert "CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F" in sums
    for precision in (None, "highest", lax.DotAlgorithmPreset.BF16_BF16_F32_X3):
        assert "tf32" not in text(named(precision), square, square)
    assert "tf32" not in text(named("high"), halves, halves)
    assert "tf32" not in text(named("high"), row, square)
    convolved = lambda x, w: lax.conv(x, w, (1, 1), "SAME", precision="tensorfloat32")
    assert "mma_tf32" in text(convolved, image, weights)
    gradient = transpile.grad(lambda x, w: convolved(x, w).sum(), (0, 1))
    calls = re.findall(r"block_matmul_\w*tf32_f32\(blockIdx", text(gradient, image, weights))
    assert len(calls) == 2


@each("dtype", DTYPES, ordinary=("bfloat16", "complex64"))
def test_products_of_the_library(dtype):
    check_of_the_library(dtype)


def check_of_the_library(dtype, runs=run):
    check_batch((3, 33, 18, 20), dtype, runs, LIBRARY)
    for order in ("a' b", "a b'"):
        check_order(order, dtype, 72, 56, 40, runs, LIBRARY)
    x, y = drawn((40, 30), dtype), drawn((30, 20), dtype)
    check(lambda x, y: x[3:, 1:] @ y[1:, 5:], [x, y], runs, LIBRARY)


def test_which_products_are_the_librarys():
    def text(function, *shapes, dtype=np.float32, gpu=LIBRARY):
        arguments = [transpile.ShapeDtypeStruct(shape, dtype) for shape in shapes]
        lowering = transpile.jit(function).lower(*arguments)._lowering
        return cuda_text(lowered(lowering.graph, lowering.options), lowering.options, gpu=gpu)

    whole = text(product, (40, 30), (30, 20))
    assert "library_matmul(1, 40, 20, 30, {a, CUDA_R_32F, 30, false, 0}," in whole
    assert "block_matmul" not in whole and "__global__" not in whole
    for given in (  # too few operations, and operands that are nowhere contiguous
        text(product, (40, 30), (30, 20), gpu=replace(LIBRARY, least_library_flops=1 << 20)),
        text(lambda a, b: a[:, ::2] @ b, (40, 60), (30, 20)),
    ):
        assert "block_matmul" in given and "library_matmul" not in given
    sized = text(product, ("n", 30), (30, 20))
    assert "library_matmul(1, n, 20, 30, {a, CUDA_R_32F, 30, false, 0}," in sized


def test_products_of_halves_store_halves():
    a, b = drawn((40, 30), "float16"), drawn((30, 20), "float16")

    def arrays_of(function):
        text = transpile.jit(function).lower(a, b).as_text("cuda")
        return "float *__restrict__ t" in text, text.count("__global__")

    assert arrays_of(product) == (False, 1)
    assert arrays_of(lambda a, b: np.tanh(a @ b)) == (False, 1)
    assert arrays_of(lambda a, b: np.tanh(a @ b).sum(axis=1)) == (False, 2)

    def both(a, b):
        t = transpile.lax.dot(a, b, preferred_element_type=np.float32)
        return t.astype(np.float16), t.sum()

    assert arrays_of(both)[0]
    check(lambda a, b: np.abs(a @ b), [a, b])
    for gpu in (FEW, LARGE):
        check_product((3, 60, 512), "float16", gpu=gpu)


@each("dtype", ("float16", "float32", "float64"), ordinary=("float16",))
def test_large_tiles(dtype):
    check_product((140, 150, 70), dtype, gpu=LARGE)


@pytest.mark.parametrize("shape", ((3, 60, 512), (60, 3, 512), (40, 30, 1024)))
@one_in(3)
def test_products_of_long_sums_have_parts(shape):
    check_product(shape, "float32")


@each("dtype", DTYPES, ordinary=("bfloat16", "float32", "complex128"))
@one_in(2)
def test_batches(dtype):
    check_batch((6, 33, 18, 20), dtype)


def check_batch(shape, dtype, runs=run, gpu=FEW):
    count, m, n, k = shape
    check(product, [drawn((count, m, k), dtype), drawn((count, k, n), dtype)], runs, gpu)


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@each("rows", (1, 3, 150), ordinary=(3,))
@one_in(2)
def test_cumulative_sums(rows, dtype):
    for reverse in (False, True):
        check_cumulative_sum((rows, 9000), dtype, reverse)


def check_cumulative_sum(shape, dtype, reverse, runs=run, gpu=FEW):
    """Compare with sums in double precision, relative to the sum of absolute values."""
    function = partial(lax.cumsum, axis=len(shape) - 1, reverse=reverse)
    x = drawn(shape, dtype)
    (found,) = results(transpile.jit(function).lower(x)._lowering, [x], gpu, runs)
    along = np.s_[..., :: -1 if reverse else 1]
    expected = np.cumsum(x[along].astype(np.float64), -1)[along]
    limit = 40 * np.finfo(dtype).eps * np.abs(x).sum(-1, keepdims=True)
    assert (np.abs(found - expected) <= limit).all()


PREFIXES = {
    "sums of integers": (np.cumsum, "i8"),
    "sums of truths": (np.cumsum, "?"),
    "sums of float32": (np.cumsum, "f4"),
    "products of integers": (np.cumprod, "u4"),
    "largest": (np.maximum.accumulate, "f4"),
    "smallest": (np.minimum.accumulate, "i4"),
}


@each("name", tuple(PREFIXES), ordinary=("sums of truths", "largest"))
def test_prefixes_of_rows(name):
    check_prefixes(name)


def check_prefixes(name, runs=run):
    """Compare with NumPy: of short rows, which have a warp, of those that have a block, and of one
    that has several."""
    ufunc, dtype = PREFIXES[name]
    arrays = [(RNG.normal(size=s) * 3).astype(dtype) for s in ((9, 45), (2, 2500), (9000,))]
    arrays[1][0, 30:33] = 0
    function = lambda *arrays: tuple(ufunc(x, axis=-1) for x in arrays)
    found = results(transpile.jit(function).lower(*arrays)._lowering, arrays, USUAL, runs)
    for x, y in zip(found, function(*arrays), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-3 if y.dtype.kind == "f" else 0)


@each("name", tuple(PREFIXES), ordinary=("sums of float32",))
def test_prefixes_of_columns(name):
    check_columns(name)


def check_columns(name, runs=run):
    """Compare with NumPy, where a few long columns are cut into slices."""
    ufunc, dtype = PREFIXES[name]
    x = (RNG.normal(size=(1500, 4, 40)) * 3).astype(dtype)
    stage = transpile.jit(lambda x: ufunc(x, axis=0)).lower(x)
    (found,) = results(stage._lowering, [x], USUAL, runs)
    expected = ufunc(x, axis=0)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-3 if dtype == "f4" else 0)
    assert "slice" in stage.as_text("cuda")


@each("name", tuple(BY_NAME), ordinary=("i8", "f32"))
@one_in(2)
def test_sorts_of_long_rows(name):
    """A radix sort: stable, NaNs last, and -0.0 equal to 0.0."""
    check_sorts(BY_NAME[name], (2, 2100))


def check_sorts(dtype, shape, runs=run, gpu=FEW):
    if dtype.kind == "c":
        return  # a network, as for short rows
    x = drawn(shape, np.float64) * 50
    x = (x > 0 if dtype.kind == "b" else x % 100 if dtype.kind == "u" else x).astype(dtype)
    if kind_letter(dtype) == "f":
        x[..., ::5], x[..., 1::25] = 0.0, -0.0
        x[..., 7], x[..., 8], x[..., 9] = np.nan, -np.nan, -np.inf
    stage = transpile.jit(lambda x: (np.sort(x), np.argsort(x))).lower(x)
    values, order = results(stage._lowering, [x], gpu, runs)
    wide = x.astype(np.float64) if kind_letter(dtype) == "f" else x
    np.testing.assert_array_equal(order, np.argsort(wide, kind="stable"))
    np.testing.assert_array_equal(values.astype(wide.dtype), np.sort(wide))
    stage = transpile.jit(lambda x: (np.partition(x, 9), np.argpartition(x, 9))).lower(x[:1])
    values, order = results(stage._lowering, [x[:1]], gpu, runs)  # a sorted row is a partition
    np.testing.assert_array_equal(order, np.argsort(wide[:1], kind="stable"))
    np.testing.assert_array_equal(values.astype(wide.dtype), np.sort(wide[:1]))
    columns = transpile.jit(lambda x: (np.median(x, axis=0), np.lexsort((x[0], x[1]))))
    if dtype.itemsize >= 4:
        x = np.nan_to_num(x)
        stage = columns.lower(x.T)
        middle, order = results(stage._lowering, [np.ascontiguousarray(x.T)], gpu, runs)
        np.testing.assert_array_equal(middle, np.median(x.T, axis=0))
        np.testing.assert_array_equal(order, np.lexsort((x.T[0], x.T[1])))


def close(found, expected, limit=100):
    """Check results against those of NumPy, relative to the largest number."""
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    size = np.max(np.abs(expected), initial=1)
    precision = finfo(real_dtype(found.dtype)).eps
    assert (np.abs(found - expected) <= limit * precision * size).all()


TRANSFORMS = {
    "fft": (np.fft.fft, (3, 64), complex),
    "ifft": (np.fft.ifft, (2, 60), complex),
    "rfft": (np.fft.rfft, (4, 30), float),
    "irfft": (np.fft.irfft, (4, 17), complex),
    "irfft, odd": (partial(np.fft.irfft, n=31), (4, 16), complex),
    "fft of columns": (partial(np.fft.fft, axis=0), (37, 5), complex),
    "fft2": (np.fft.fft2, (8, 12), complex),
    "two passes": (np.fft.fft, (6000,), complex),
    "two passes, rfft": (np.fft.rfft, (2, 5000), float),
    "two passes, irfft": (np.fft.irfft, (2, 2401), complex),
}


@each("single", (False, True), ordinary=(False,))
@pytest.mark.parametrize("name", TRANSFORMS)
@one_in(4)
def test_fourier_transforms(name, single):
    check_transform(name, single)


def check_transform(name, single, runs=run, gpu=FEW):
    function, shape, kind = TRANSFORMS[name]
    dtype = np.dtype(kind)
    dtype = np.dtype(f"{dtype.kind}{dtype.itemsize // 2}") if single else dtype
    x = drawn(shape, dtype)
    (found,) = results(transpile.jit(function).lower(x)._lowering, [x], gpu, runs)
    close(found, function(x).astype(found.dtype), 30)


def positive(x):
    """A positive definite matrix."""
    return x @ np.conj(np.swapaxes(x, -1, -2)) + x.shape[-1] * np.eye(x.shape[-1], dtype=x.dtype)


DECOMPOSITIONS = {
    "cholesky": (lambda x: np.linalg.cholesky(positive(x)), (3, 5, 5)),
    "solve": (lambda x: np.linalg.solve(x[:, :, :5], x[:, :, 5:]), (3, 5, 7)),
    "det and inv": (lambda x: (np.linalg.det(x), np.linalg.inv(x)), (2, 6, 6)),
    "qr": (np.linalg.qr, (7, 4)),
    "qr, wide": (np.linalg.qr, (2, 4, 6)),
    "complete qr": (partial(np.linalg.qr, mode="complete"), (7, 4)),
    "reflectors": (partial(np.linalg.qr, mode="raw"), (6, 4)),
    "eigvalsh": (lambda x: np.linalg.eigvalsh(positive(x)), (3, 6, 6)),
}


@each("dtype", DTYPES[2:], ordinary=("complex64",))
@pytest.mark.parametrize("name", DECOMPOSITIONS)
@one_in(2)
def test_decompositions(name, dtype):
    check_decomposition(name, dtype)


def check_decomposition(name, dtype, runs=run, gpu=FEW):
    function, shape = DECOMPOSITIONS[name]
    x = drawn(shape, dtype)
    found = results(transpile.jit(function).lower(x)._lowering, [x], gpu, runs)
    for one, other in zip(found, transpile.tree.leaves(function(x)), strict=True):
        close(one, np.asarray(other).astype(one.dtype), 2000)


# Matrices of two blocks of 32 columns, and a rest, are large.
BLOCKED = replace(FEW, least_blocked_side=33)


@thorough
@each("dtype", DTYPES[2:], ordinary=("complex64",))
def test_large_matrices_are_decomposed_by_blocks(dtype):
    check_blocked(dtype, 68)


def check_blocked(dtype, n, runs=run, gpu=BLOCKED):
    x, b = drawn((n, n), dtype), drawn((n, 3), dtype)
    for matrix in (x, x[:, : n - 30], x[: n - 30]):  # square, tall, wide
        stage = transpile.jit(lax.linalg.lu).lower(matrix)
        lu, pivots, permutation = results(stage._lowering, [matrix], gpu, runs)
        count = min(matrix.shape)
        lower = np.tril(lu, -1)[:, :count] + np.eye(len(lu), count, dtype=lu.dtype)
        close(matrix[permutation], lower @ np.triu(lu)[:count], 2000)
        order = np.arange(len(matrix))
        for k, pivot in enumerate(pivots):
            order[[k, pivot]] = order[[pivot, k]]
        np.testing.assert_array_equal(order, permutation)
        assert (np.abs(np.tril(lu, -1)[:, :count]) <= np.sqrt(2.01)).all()
    positive_definite = positive(x)
    stage = transpile.jit(np.linalg.cholesky).lower(positive_definite)
    (factor,) = results(stage._lowering, [positive_definite], gpu, runs)
    close(factor, np.linalg.cholesky(positive_definite).astype(x.dtype), 2000)
    positive_definite[40, 40] = -1
    (factor,) = results(stage._lowering, [positive_definite], gpu, runs)
    assert np.isnan(factor[np.tril_indices(n)]).all() and (np.triu(factor, 1) == 0).all()
    for lower in (False, True):
        triangle = (np.tril if lower else np.triu)(x) + 4 * np.eye(n, dtype=x.dtype)
        for options in ({}, {"transpose_a": True}, {"transpose_a": True, "conjugate_a": True}):
            solve = partial(lax.linalg.triangular_solve, left_side=True, lower=lower, **options)
            (found,) = results(
                transpile.jit(solve).lower(triangle, b)._lowering, [triangle, b], gpu, runs
            )
            taken = triangle.T if "transpose_a" in options else triangle
            taken = taken.conj() if "conjugate_a" in options else taken
            close(taken @ found, b, 2000)


@each("dtype", DTYPES[2:], ordinary=("complex128",))
def test_eigenvectors(dtype):
    check_eigenvectors(dtype)


def check_eigenvectors(dtype, runs=run, gpu=FEW):
    x = drawn((2, 7, 7), dtype)
    x = (x + np.conj(np.swapaxes(x, -1, -2))).astype(dtype)
    x[1] = np.eye(7)  # all eigenvalues the same
    values, vectors = results(transpile.jit(np.linalg.eigh).lower(x)._lowering, [x], gpu, runs)
    close(values, np.linalg.eigvalsh(x))
    close(x @ vectors, (vectors * values[:, None]).astype(dtype))
    square = np.conj(np.swapaxes(vectors, -1, -2)) @ vectors
    close(square, np.broadcast_to(np.eye(7, dtype=dtype), square.shape))


def test_a_matrix_that_is_not_positive_definite_has_nan():
    x = np.diag([1.0, 2.0, -1.0, 3.0])
    (found,) = results(transpile.jit(np.linalg.cholesky).lower(x)._lowering, [x], FEW)
    assert np.isnan(np.diag(found)).all()
