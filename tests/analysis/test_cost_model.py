"""Costs against hand counts: one flop an element, n - 1 a reduction, 2mnk a product."""

import numpy as np
import pytest

import transpile

N, M = 24, 40
MATRIX = np.ones((N, M))
VECTOR = np.ones(M)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer(x, w, b):
    return np.maximum(x @ w + b, 0)


CASES = {
    "an elementwise operation is one flop an element": (
        lambda x: x * 2.0 + x,
        [MATRIX],
        2 * N * M,
        0,
        2 * N * M * 8,
    ),
    "an elementary function is a transcendental": (
        lambda x: np.exp(x) + np.sqrt(x),
        [MATRIX],
        N * M,
        2 * N * M,
        2 * N * M * 8,
    ),
    "a reduction of n is n - 1": (
        lambda x: x.sum(axis=1),
        [MATRIX],
        N * (M - 1),
        0,
        (N * M + N) * 8,
    ),
    "a reduction of everything is one less than everything": (
        lambda x: x.max(),
        [MATRIX],
        N * M - 1,
        0,
        (N * M + 1) * 8,
    ),
    "a small reduction is written out and counts the same": (
        lambda x: (x[:, :3] * x[:, :3]).sum(axis=1),
        [MATRIX],
        N * (3 + 2),
        0,
        (N * 3 + N) * 8,
    ),
    "a product of matrices is 2mnk": (
        lambda x, y: x @ y,
        [np.ones((32, 64)), np.ones((64, 16))],
        2 * 32 * 16 * 64,
        0,
        (32 * 64 + 64 * 16 + 32 * 16) * 8,
    ),
    "views are free": (
        lambda x: x.T[::2].reshape(-1) + 1.0,
        [MATRIX],
        N * M // 2,
        0,
        2 * (N * M // 2) * 8,
    ),
    "what is recomputed is counted as often as it runs": (
        lambda x: (x[1:] - 1.0) * (x[:-1] - 1.0),
        [VECTOR],
        3 * (M - 1),
        0,
        (M + M - 1) * 8,
    ),
    "a broadcast value is computed once": (
        lambda x: x * np.exp(x.sum(axis=1, keepdims=True)),
        [MATRIX],
        N * (M - 1) + N * M,
        N,
        2 * N * M * 8,
    ),
    "a border is not computed": (lambda x: np.pad(x * 2.0, 1), [VECTOR], M, 0, (M + M + 2) * 8),
    "the rows of softmax": (softmax, [MATRIX], 2 * N * (M - 1) + 2 * N * M, N * M, 2 * N * M * 8),
}


@pytest.mark.parametrize("name", CASES)
def test_the_counts_are_those_by_hand(name):
    function, arguments, flops, transcendentals, moved = CASES[name]
    cost = transpile.jit(function).lower(*arguments).cost_analysis()
    assert cost["flops"] == flops
    assert cost["transcendentals"] == transcendentals
    assert cost["bytes accessed"] == moved


def test_the_counts_do_not_depend_on_how_loops_are_scheduled():
    """Blocks, strips and tiles add bookkeeping, and no operations of the program."""
    x = np.ones((3000, 300), "f4")
    cost = transpile.jit(lambda x: ((x * x).sum(), x.mean(axis=0))).lower(x).cost_analysis()
    assert cost["flops"] == 2 * x.size - 1 + (3000 - 1) * 300 + 300


def test_compiled_and_lowered_agree():
    lowered = transpile.jit(layer).lower(np.ones((8, 16)), np.ones((16, 32)), np.ones(32))
    assert lowered.compile().cost_analysis() == lowered.cost_analysis()


def test_memory_is_arguments_results_workspace_and_code():
    x, w, b = np.ones((64, 96), "f4"), np.ones((96, 48), "f4"), np.ones(48, "f4")
    sizes = transpile.jit(layer).lower(x, w, b).compile().memory_analysis()
    assert sizes.argument_size_in_bytes == x.nbytes + w.nbytes + b.nbytes
    assert sizes.output_size_in_bytes == 64 * 48 * 4
    product, scratch = 64 * 48 * 4, (64 + 48 + 64) * 96 * 4 + 128
    assert sizes.temp_size_in_bytes == product + scratch
    assert sizes.alias_size_in_bytes == 0
    assert 10_000 < sizes.generated_code_size_in_bytes < 100_000


def test_a_fused_program_needs_no_workspace():
    assert transpile.jit(softmax).lower(MATRIX).compile().memory_analysis().temp_size_in_bytes == 0
