"""Calling compiled programs: any memory layout, threads, forks, saved libraries used from C."""

import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, thorough, tries

import transpile
from transpile.build import toolchain
from transpile.options import Options


@transpile.jit
def blend(x, y):
    """Elementwise, with a remainder in every vector loop."""
    return np.exp(-x * x) * np.sin(y) + 0.5 * x


def grid(shape, dtype="f8"):
    """Numbers that differ everywhere."""
    return (np.arange(np.prod(shape), dtype="f8").reshape(shape) / 7 - 2).astype(dtype)


# ------------------------------------------------------------------------------- memory layouts


def strided(x):
    spread = np.zeros((x.shape[0] * 2, x.shape[1] * 3), x.dtype)
    spread[::2, ::3] = x
    return spread[::2, ::3]


def backwards(x):
    return np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def misaligned(x):
    memory = np.zeros(x.nbytes + 1, np.uint8)
    view = memory[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    assert not view.flags.aligned
    return view


LAYOUTS = {
    "row-major": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": strided,
    "negative strides": backwards,
    "read-only": read_only,
    "misaligned": misaligned,
    "byte-swapped": lambda x: x.astype(x.dtype.newbyteorder()),
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
    "subclass": lambda x: x.view(Tagged),
}


class Tagged(np.ndarray):
    """An ndarray subclass."""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@one_in(3)
def test_any_memory_layout_is_accepted(layout, dtype):
    x = LAYOUTS[layout](grid((6, 35), dtype))
    before = x.copy()
    y = grid((6, 35), dtype)
    np.testing.assert_allclose(blend(x, y), np.exp(-x * x) * np.sin(y) + 0.5 * x, rtol=1e-5)
    np.testing.assert_array_equal(x, before)


def test_the_results_are_new_arrays_each_time():
    x = grid((3, 4))
    first = blend(x, x)
    kept = first.copy()
    second = blend(x + 1, x)
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, kept)


def test_the_arguments_may_be_one_array_twice():
    x = grid((5, 5))
    np.testing.assert_allclose(blend(x, x), np.exp(-x * x) * np.sin(x) + 0.5 * x, rtol=1e-12)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4, 2)])
def test_empty_arrays_pass_through(shape):
    assert blend(np.zeros(shape), np.zeros(shape)).shape == shape


@settings(max_examples=tries(60), deadline=None)
@given(length=st.integers(1, 67), value=st.floats(-30, 30, width=32), place=st.data())
def test_equal_inputs_give_equal_outputs_at_every_position(length, value, place):
    """The scalar remainder of a vector loop computes the same bits as the vectors."""
    x = np.full(length, value, np.float32)
    result = everything(x)
    for row in result:
        assert (
            row.view(np.uint32) == row.view(np.uint32)[place.draw(st.integers(0, length - 1))]
        ).all()


@transpile.jit
def everything(x):
    return np.exp(x), np.sin(x), np.tanh(x), np.log1p(x * x), np.cos(x) / (1 + x * x), x**1.5


# ------------------------------------------------------------------------------ threads and forks


@transpile.jit(compiler_options={"num_threads": 2})
def row_scores(x):
    shifted = x - x.max(axis=1, keepdims=True)
    return (np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True) * x).sum()


def expected_scores(x):
    shifted = np.exp(x - x.max(axis=1, keepdims=True))
    return (shifted / shifted.sum(axis=1, keepdims=True) * x).sum()


@thorough
def test_calls_from_several_threads_at_once_are_safe():
    inputs = [np.random.default_rng(seed).standard_normal((256, 512)) for seed in range(8)]
    wanted = [expected_scores(x) for x in inputs]
    row_scores(inputs[0])
    wrong = []

    def work(x, y):
        for _ in range(20):
            if not np.isclose(row_scores(x), y, rtol=1e-12):
                wrong.append(y)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(inputs, wanted)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.full_level  # a call that computes for long
def test_the_gil_is_released_during_a_call():
    """A Python thread makes progress while another one is inside a long call."""

    @transpile.jit(compiler_options={"openmp": False})
    def slow(x):
        return np.tanh(np.tanh(np.tanh(np.tanh(np.sin(x))))).sum()

    x = np.linspace(0, 1, 4_000_000)
    slow(x)
    interval = sys.getswitchinterval()
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    sys.setswitchinterval(10)  # without releasing the GIL, the other thread would now have to wait
    thread = threading.Thread(target=tick)
    thread.start()
    try:
        start = time.perf_counter()
        slow(x)
        end = time.perf_counter()
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
    inside = [t for t in ticks if start < t < end]
    assert len(inside) >= 3, f"{len(inside)} ticks in {end - start:.3f} s"


def test_a_forked_child_can_call_what_its_parent_has_called():
    code = """
import os, warnings, numpy as np, transpile
warnings.simplefilter("ignore", DeprecationWarning)
@transpile.jit(compiler_options={"num_threads": 2})
def f(x):
    return np.exp(np.sin(x)).sum(axis=1)
x = np.random.default_rng(0).standard_normal((512, 1024))
wanted = f(x)
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(f(x), wanted) else 3)
_, status = os.waitpid(child, 0)
print("child", os.waitstatus_to_exitcode(status))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "child 0\n", done.stderr


def test_the_same_sum_comes_out_for_every_number_of_threads():
    x = np.random.default_rng(1).standard_normal(300_001).astype("f4")

    def total(x):
        return (x * x).sum(), np.exp(x).mean(), x.max()

    results = []
    for threads in (1, 2, 3):
        f = transpile.jit(total, compiler_options={"num_threads": threads})
        results.append([r.tobytes() for r in f(x)])
    assert results[0] == results[1] == results[2]


# ----------------------------------------------------------------------------- saved libraries

C_PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include "scores.h"

int main(void)
{
    static float x[8][40], w[40][16], out[8][16];
    float total;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 40; j++)
            x[i][j] = (float)(i - j) / 16.0f;
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 16; j++)
            w[i][j] = (float)(i + j) / 64.0f;
    size_t size = scores_workspace_size();
    void *workspace = size ? malloc(size) : NULL;
    int code = scores(x[0], w[0], out[0], &total, workspace);
    if (code != 0) {
        fprintf(stderr, "%s\n", scores_error(code));
        return 1;
    }
    for (int j = 0; j < 16; j++)
        printf("%.9g\n", (double)out[7][j]);
    printf("%.9g\n", (double)total);
    free(workspace);
    return 0;
}
"""
TABLE = np.linspace(0, 1, 16 * 400, dtype="f4").reshape(16, 400)


def scores(x, w):
    hidden = np.tanh(x @ w)
    return hidden / (1 + np.abs(hidden @ TABLE).mean()), hidden.sum()


def test_a_c_program_links_the_saved_library_with_only_its_files(tmp_path):
    x = ((np.arange(8)[:, None] - np.arange(40)) / 16).astype("f4")
    w = ((np.arange(40)[:, None] + np.arange(16)) / 64).astype("f4")
    compiled = transpile.jit(scores).lower(x, w).compile()
    paths = compiled.save(tmp_path / "library")
    assert sorted(p.name for p in paths) == ["scores.bin", "scores.c", "scores.h", "scores.so"]
    (tmp_path / "main.c").write_text(C_PROGRAM)
    (cc, *arguments) = toolchain.find_compiler(Options()).command
    library = str(tmp_path / "library")
    subprocess.run(
        [
            cc,
            *arguments,
            "-std=c11",
            "-Wall",
            "-Werror",
            "-I",
            library,
            "main.c",
            "-o",
            "main",
            f"{library}/scores.so",
            "-Wl,-rpath," + library,
        ],
        cwd=tmp_path,
        check=True,
    )
    done = subprocess.run(
        [str(tmp_path / "main")],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
    )
    printed = np.array(done.stdout.split(), dtype="f4")
    out, total = compiled(x, w)
    np.testing.assert_array_equal(printed, np.append(out[7], total))
    linked = subprocess.run(["ldd", f"{library}/scores.so"], capture_output=True, text=True).stdout
    assert "python" not in linked and "blas" not in linked


def test_the_saved_c_file_compiles_on_its_own(tmp_path):
    x, w = np.zeros((8, 40), "f4"), np.zeros((40, 16), "f4")
    transpile.jit(scores).lower(x, w).compile().save(tmp_path, "renamed")
    cc = toolchain.find_compiler(Options()).command
    subprocess.run(
        [
            *cc,
            "-std=c11",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Wconversion",
            "-Werror",
            "-fopenmp",
            "-shared",
            "-fPIC",
            "renamed.c",
            "-o",
            "again.so",
            "-lm",
        ],
        cwd=tmp_path,
        check=True,
    )
    symbols = ctypes.CDLL(str(tmp_path / "again.so"))
    assert symbols.renamed_workspace_size() > 0
    symbols.renamed_error.restype = ctypes.c_char_p
    assert symbols.renamed_error(0) == b"success"
    # A workspace of the right size is not optional.
    assert symbols.renamed(None, None, None, None, None) == 1


def test_the_saved_so_exports_the_functions_of_its_header_alone(tmp_path):
    transpile.jit(scores).lower(np.zeros((8, 40), "f4"), np.zeros((40, 16), "f4")).compile().save(
        tmp_path
    )
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", tmp_path / "scores.so"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert sorted(line.split()[-1] for line in shown.splitlines()) == [
        "scores",
        *(f"scores_{name}" for name in ("abi_version", "arguments", "error", "on_threads")),
        *(f"scores_{name}" for name in ("results", "sizes", "workspace_size")),
    ]


# ------------------------------------------------------------------------------------- donation


def test_a_donated_argument_lends_its_memory_to_the_result():
    f = transpile.jit(lambda x: x - x.max(axis=1, keepdims=True), donate_argnums=0)
    x = grid((6, 30))
    wanted = x - x.max(axis=1, keepdims=True)
    compiled = f.lower(x).compile()
    assert compiled.memory_analysis().alias_size_in_bytes == x.nbytes
    address = x.ctypes.data
    y = f(x)
    assert y.ctypes.data == address and y.base is x
    np.testing.assert_array_equal(y, wanted)


def test_a_donated_argument_that_is_read_later_keeps_its_memory():
    def rolled(x):
        return np.concatenate([x[1:], x[:1]])

    f = transpile.jit(rolled, donate_argnums=0)
    x = grid((6, 8))
    before = x.copy()
    assert f.lower(x).compile().memory_analysis().alias_size_in_bytes == 0
    np.testing.assert_array_equal(f(x), rolled(before))
    np.testing.assert_array_equal(x, before)


def test_a_donated_argument_that_cannot_be_written_is_copied():
    f = transpile.jit(lambda x: np.exp(x), donate_argnums=0)
    x = read_only(grid((6, 8)))
    before = x.copy()
    np.testing.assert_allclose(f(x), np.exp(before), rtol=1e-14)
    np.testing.assert_array_equal(x, before)


# ------------------------------------------------------------------------------- products, BLAS


@pytest.mark.parametrize("blas", ["none", "auto"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@one_in(2)
def test_matrix_products_of_views_need_no_copy(blas, dtype):
    def products(a, b):
        return (
            a @ b,
            a.T @ b.T,
            a[::2, 3:40] @ b[3:40, ::-1],
            np.einsum("ij,kj->ik", a, a),
        )

    a = np.random.default_rng(0).standard_normal((64, 48)).astype(dtype)
    b = np.random.default_rng(1).standard_normal((48, 64)).astype(dtype)
    f = transpile.jit(products, compiler_options={"blas": blas})
    text = f.lower(a, b).compile().as_text()
    kernels = text[text.index("/* test_executable.py") :]
    assert "for (" not in kernels  # the products alone: no loop copies an operand
    for x, y in zip(f(a, b), products(a, b)):
        np.testing.assert_allclose(x, y, rtol=1e-4 if dtype == "f4" else 1e-11, atol=1e-4)


def test_batched_and_awkward_contractions_match_numpy():
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((3, 20, 4, 24)), rng.standard_normal((3, 24, 20, 4))

    def contract(x, y):
        return (
            np.einsum("bihj,bjih->bi", x, y),
            np.einsum("bihj,bjkh->bik", x, y),
            x[0] @ y[1].transpose(1, 0, 2),
            np.tensordot(x, y, axes=([1, 3], [2, 1])),
        )

    for a, b in zip(transpile.jit(contract)(x, y), contract(x, y)):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


# ------------------------------------------------------------------------------------ constants


def test_long_constants_live_in_a_file_of_their_own():
    weights = np.random.default_rng(5).standard_normal((100, 90)).astype("f4")
    mask = np.arange(5000) % 3 == 0

    @transpile.jit
    def f(x, y):
        return x @ weights, np.where(mask, y, -y)

    x, y = np.ones((7, 100), "f4"), np.arange(5000.0)
    text = f.lower(x, y).compile().as_text()
    assert text.count(".incbin") == 2 and len(text) < 40_000
    product, masked = f(x, y)
    np.testing.assert_allclose(product, x @ weights, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(masked, np.where(mask, y, -y))
