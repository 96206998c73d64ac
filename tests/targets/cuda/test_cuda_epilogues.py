"""Elementwise work behind matrix products is done in their launch, unless others read them, too."""

import re

import numpy as np
import pytest
from cuda_programs import lowered, results, run
from test_cuda_programs import FEW
from test_cuda_routines import LARGE, LIBRARY, drawn, tensor_floats
from thorough import each, one_in

import transpile
from transpile import lax
from transpile.targets.cuda.render import cuda_text


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.79788456 * (x + 0.044715 * x**3)))


def swapped(x, w):
    """NCHW of a product of pixels and features: neighbours in memory are below each other."""
    return np.moveaxis((x @ w).reshape(3, 4, 6, w.shape[1]), 3, 1) * 2


FUNCTIONS = {
    "scaled": (lambda x, w: (x @ w) * 0.5, (70, 40), (40, 33)),
    "bias and gelu": (lambda x, w, b: gelu(x @ w + b), (70, 40), (40, 33), (33,)),
    "residual": (lambda x, w: x + np.tanh(x @ w), (70, 40), (40, 40)),
    "a column": (lambda x, w, b: np.maximum(x @ w * b, 0), (70, 40), (40, 33), (70, 1)),
    "two results": (lambda x, w: (np.sin(x @ w), x @ w > 0), (70, 40), (40, 33)),
    "gated": (lambda x, w, v: (x @ w) / (1 + np.exp(-(x @ v))), (70, 40), (40, 33), (40, 33)),
    "a batch": (lambda x, w, b: np.tanh(x @ w + b), (3, 33, 18), (3, 18, 20), (20,)),
    "transposed": (lambda x, w: np.exp((x @ w).T), (70, 40), (40, 33)),
    "channels first": (swapped, (72, 40), (40, 33)),
    "large": (lambda x, w, b: gelu(x @ w + b), (140, 70), (70, 150), (150,)),
    "a network": (lambda x, w, v: np.tanh(np.tanh(x @ w) @ v), (70, 40), (40, 33), (33, 20)),
}
DTYPES = ("float32", "float64", "float16", "bfloat16", "complex64")


def check_epilogue(name, dtype, runs=run, gpu=FEW, launches=None):
    """Compare with NumPy, in double precision; with as many launches as products, unless other
    are expected."""
    function, *shapes = FUNCTIONS[name]
    arguments = [(drawn(shape, np.float64) / 4).astype(drawn((), dtype).dtype) for shape in shapes]
    if dtype == "complex64":
        arguments = [x + 1j * x[::-1] for x in arguments]
    stage = transpile.jit(function).lower(*arguments)
    found = results(stage._lowering, arguments, gpu, runs)
    wide = (a.astype(np.result_type(a.dtype, np.float64)) for a in arguments)
    expected = transpile.tree.leaves(function(*wide))
    limit = {"float64": 1e-12, "float32": 2e-5, "complex64": 2e-5}.get(dtype, 0.1)
    for one, other in zip(found, expected, strict=True):
        if one.dtype == bool:
            assert (one == other).mean() > 0.98
        else:
            np.testing.assert_allclose(one.astype(other.dtype), other, rtol=limit, atol=limit)
    text = text_of(stage, gpu)
    assert "block_matmul_then_" in text or "block_matmul_wide_then_" in text
    assert text.count("__global__") == (
        launches or text.count("block_matmul", text.index("__global__"))
    )


def text_of(stage, gpu=FEW):
    """The CUDA of a lowered function, for a GPU."""
    program = lowered(stage._lowering.graph, stage._lowering.options)
    return cuda_text(program, stage._lowering.options, gpu=gpu)


def has_epilogue(function, *arguments, gpu=FEW):
    return "_then_" in text_of(transpile.jit(function).lower(*arguments), gpu)


@each("dtype", DTYPES, ordinary=("float32", "float16"))
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "large"])
@one_in(6)
def test_epilogues(name, dtype):
    if dtype == "complex64" and name in ("a batch", "two results", "a column"):
        return  # a block for each product of a batch; complex numbers have no order
    check_epilogue(name, dtype, launches=3 if (name, dtype) == ("a network", "bfloat16") else None)


@each("dtype", DTYPES, ordinary=("float64", "bfloat16", "complex64"))
def test_epilogues_of_dtypes(dtype):
    check_epilogue("residual", dtype)


@each("dtype", ("float32", "float64", "float16"), ordinary=("float16",))
def test_epilogues_of_large_tiles(dtype):
    check_epilogue("large", dtype, gpu=LARGE)


def test_epilogues_on_tensor_cores():
    x, w = drawn((70, 40), np.float32), drawn((40, 33), np.float32)
    stage = transpile.jit(lambda x, w: lax.dot(x, w, precision="high") * 2 + 1).lower(x, w)
    (found,) = results(stage._lowering, [x, w], FEW)
    expected = tensor_floats(x).astype(np.float64) @ tensor_floats(w) * 2 + 1
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert "block_matmul_then_tf32_f32" in text_of(stage)


def test_rows_may_be_a_runtime_size():
    stage = transpile.jit(lambda x, w: np.tanh(x @ w)).lower(
        transpile.ShapeDtypeStruct(("n", 40), np.float64), np.ones((40, 33))
    )
    x, w = drawn((70, 40), np.float64), drawn((40, 33), np.float64)
    (found,) = results(stage._lowering, [x, w], FEW)
    np.testing.assert_allclose(found, np.tanh(x @ w), rtol=1e-12, atol=1e-12)
    assert "_then_" in text_of(stage)


def test_a_product_that_others_read_is_stored():
    x, w, row = np.ones((40, 40)), np.ones((40, 40)), np.ones((3, 40))
    assert has_epilogue(lambda x, w: np.tanh(x @ w), x, w)
    for function in (
        lambda x, w: (x @ w, np.tanh(x @ w)),  # a result
        lambda x, w: np.tanh(x @ w).sum(axis=1),  # rows, which are summed up
        lambda x, w: np.tanh(x @ w) + (x @ w)[::-1],  # by other iterations
        lambda x, w: (x @ w)[::2] * 2,  # of which a part is read
    ):
        assert not has_epilogue(function, x, w)
    assert not has_epilogue(lambda x, w: np.tanh(x @ w), row, w)  # vectors
    assert not has_epilogue(lambda x, w: np.tanh(x @ w), x, w, gpu=LIBRARY)


def test_what_the_product_reads_is_not_stored_beside_it():
    """Other blocks of the product still read what an iteration of the loop assigns to."""

    def repeated(x, w):
        for _ in range(3):
            x[:] = np.tanh(x @ w)
        return x.sum()

    def carried(x, w):
        return lax.fori_loop(0, 3, lambda _, x: np.tanh(x @ w), x)

    x, w = drawn((70, 40), np.float64), drawn((40, 40), np.float64) / 4
    expected = np.tanh(np.tanh(np.tanh(x @ w) @ w) @ w)
    stage = transpile.jit(carried).lower(x, w)
    (found,) = results(stage._lowering, [x, w], FEW)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assigned = text_of(transpile.jit(repeated).lower(x, w))
    kernels = assigned.split("static __global__")[1:]
    for kernel in (k for k in kernels if "_then_" in k):
        stored = re.findall(r"^ +(\w+)\[.*\] = ", kernel, re.MULTILINE)
        call = kernel[kernel.index("_then_") :]
        assert stored and not any(re.search(rf"\b{name}\b", call) for name in stored)
