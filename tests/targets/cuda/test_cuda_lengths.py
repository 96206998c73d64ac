"""Lengths that depend on values, on a GPU or on the CPU in its place; and their kernels, of which
several blocks compact a mask, without races."""

import numpy as np
import pytest
from cuda_programs import WIDE, lowered, results
from cuda_runtime import using_toolkit
from thorough import each

import transpile as tp
from transpile.targets.cuda.gpu import Gpu
from transpile.targets.cuda.render import cuda_text

RNG = np.random.default_rng(5)
X = RNG.integers(-4, 9, 3000).astype(np.float32)


@pytest.fixture(scope="module", autouse=True)
def _toolkit():
    with using_toolkit():
        yield


def chained(x):
    y = np.sort(x[x > 0])
    return y[::2] * 2, y.sum(), y[y > 3].max()


FUNCTIONS = {
    "mask": lambda x: x[x > 0],
    "nothing": lambda x: x[x > 100],
    "rows": lambda x: x.reshape(-1, 3)[x.reshape(-1, 3)[:, 0] > 0],
    "nonzero": lambda x: np.nonzero(x.reshape(-1, 5) > 2),
    "unique": np.unique,
    "inverse": lambda x: np.unique(x, return_inverse=True, return_counts=True),
    "mean": lambda x: x[x > 0].mean(),
    "chained": chained,
    "bincount": lambda x: np.bincount(np.abs(x).astype(int)),
    "repeat": lambda x: np.repeat(x, np.abs(x).astype(int)),
    "computed": lambda x: (np.sqrt(np.abs(x)) + 1)[np.isin(x, [1, 2])],
}


@each("name", tuple(FUNCTIONS), ordinary=("chained", "bincount", "nonzero"))
def test_results_are_as_long_as_on_the_cpu(name):
    on_gpu = tp.jit(FUNCTIONS[name], device="cuda")
    for x in (X[:750], -X[:750]):
        if name == "chained" and not (x > 3).any():
            continue
        found, expected = (tp.tree.leaves(f(x)) for f in (on_gpu, FUNCTIONS[name]))
        for a, b in zip(found, expected, strict=True):
            assert (a.shape, a.dtype) == (np.shape(b), np.asarray(b).dtype)
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-5)


def test_what_is_required_of_lengths_is_checked():
    on_gpu = tp.jit(lambda x: x[x > 0].max(), device="cuda")
    assert float(on_gpu(X)) == 8
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum"):
        on_gpu(-np.abs(X))


def test_what_is_required_of_sizes_is_checked_before_anything_is_read():
    types = tp.ShapeDtypeStruct(("n",), np.float32)
    on_gpu = tp.jit(lambda x: x[3] * x, device="cuda").lower(types).compile()
    np.testing.assert_array_equal(np.asarray(on_gpu(X[:4])), X[3] * X[:4])
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size n"):
        on_gpu(X[:3])
    with pytest.raises(ValueError, match="must have no negative elements"):
        tp.jit(lambda x: np.bincount(x.astype(int)), device="cuda")(X)


def test_a_result_keeps_no_memory_that_it_does_not_need():
    gpu = tp.devices("gpu")[0]
    x = np.zeros(1 << 16, np.float32)
    x[7] = 1
    on_gpu = tp.jit(lambda x: np.nonzero(x)[0], device="cuda")
    before = gpu.memory_stats()["bytes_in_use"]
    result = on_gpu(x)
    assert result.shape == (1,) and gpu.memory_stats()["bytes_in_use"] - before <= 1 << 12


def test_a_runtime_size_is_the_bound_of_a_length():
    on_gpu = tp.jit(lambda x: x[x > 0] * 2, device="cuda")
    compiled = on_gpu.lower(tp.ShapeDtypeStruct(("n",), np.float32)).compile()
    for n in (1, 10, 700):
        np.testing.assert_array_equal(np.asarray(compiled(X[:n])), X[:n][X[:n] > 0] * 2)


@each("gpu", ("wide", "one block"), ordinary=("wide",))
@each("name", ("mask", "nonzero", "unique", "chained", "computed"), ordinary=("chained",))
def test_kernels_race_for_nothing(name, gpu):
    function, x = FUNCTIONS[name], X[:2500]
    gpu = {"wide": WIDE, "one block": Gpu(block=64, most_blocks=3)}[gpu]
    stage = tp.jit(function).lower(x)._lowering
    found = results(stage, [x], gpu)
    for a, b in zip(found, tp.tree.leaves(function(x)), strict=False):
        np.testing.assert_allclose(a.reshape(-1)[: np.size(b)], np.ravel(b), rtol=1e-5)


def test_a_mask_is_compacted_by_all_blocks():
    stage = tp.jit(FUNCTIONS["mask"]).lower(np.ones(100_000, np.float32))._lowering
    text = cuda_text(lowered(stage.graph, stage.options), stage.options)
    assert "block_compact_f32(blockIdx.x, gridDim.x" in text and "read_back" not in text
