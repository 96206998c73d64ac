"""Large local arrays move to the workspace and share it where live ranges do not overlap.

No thread needs more stack than the header says.
"""

import os
import subprocess
import threading

import numpy as np
import pytest
from stack_usage import stack_of
from thorough import one_in

import transpile
from transpile import ShapeDtypeStruct
from transpile.build import toolchain
from transpile.ir.loop_ir import Alloc, For
from transpile.ir.loop_rewrite import walk
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.stack import HELPERS, STACK

pytestmark = pytest.mark.full_level

COMPILER = toolchain.find_compiler(Options())


def chain(count):
    def stages(x):
        for _ in range(count):
            x = np.sqrt(x + x[:, ::-1] * 0.5 + 1)
        return x

    return stages


def kept(count):
    """Rows that all live until the end."""

    def rows(x):
        values = [np.exp(x * (k + 1) / count) for k in range(count)]
        sums = [value.sum(axis=1, keepdims=True) for value in values]
        return sum(a / b for a, b in zip(values, sums, strict=True))

    return rows


def attention(x, w):
    hidden = np.maximum(x @ w, 0)
    scores = hidden @ w.T
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)) @ w


def layers(x, *weights):
    for w in weights:
        x = np.tanh(x @ w)
    return x


def alive(x):
    """Numbers that are all needed again, one after the other."""
    values = [np.sin(x * (k + 1)) for k in range(60)]
    for value in [*values, *values[::-1]]:
        x = np.sqrt(x * x + value * value)
    return x


def recurrent(x, w):
    def step(state, row):
        state = np.tanh(state @ w + row)
        return state, state.sum(axis=1)

    return transpile.lax.scan(step, x[0], x)


def convolved(x, w):
    y = transpile.lax.conv_general_dilated(x, w, (1, 1), "SAME")
    y = np.maximum(y, 0)
    return transpile.lax.reduce_window(
        y, -np.inf, transpile.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"
    )


def f(*shape):
    return ShapeDtypeStruct(shape, "float32")


def d(*shape):
    return ShapeDtypeStruct(shape, "float64")


PROGRAMS = {
    "rows of 64 KiB": (chain(127), d(400, 8192)),
    "rows of 24 KiB": (chain(3), d(400, 3072)),
    "rows that live together": (kept(40), d(300, 700)),
    "attention": (attention, d(512, 256), d(256, 256)),
    "layers": (layers, d(512, 512), d(512, 512), d(512, 512)),
    "narrow and deep product": (lambda x, y: x @ y.T, d(32, 100_000), d(32, 100_000)),
    "the same in float32": (lambda x, y: x @ y, f(20, 100_000), f(100_000, 32)),
    "sorts": (lambda x: (np.sort(x, axis=1), np.argsort(x, axis=1)), f(1000, 20)),
    "sorted columns": (lambda x: np.sort(x, axis=0), d(3000, 20)),
    "prime transform": (np.fft.fft, ShapeDtypeStruct((10007,), "complex64")),
    "transform": (np.fft.fft, ShapeDtypeStruct((7 * 11 * 13 * 97,), "complex128")),
    "statistics of columns": (
        lambda x: (x.mean(axis=0), x.std(axis=0), x.max(axis=0)),
        d(999, 999),
    ),
    "transposed": (lambda x, y: x + y.T, f(999, 999), f(999, 999)),
    "sums of runs": (lambda x: np.cumsum(x, axis=1), d(50, 100_000)),
    "many numbers": (alive, d(10_000)),
    "recurrent": (recurrent, f(100, 16, 64), f(64, 64)),
    "convolution": (convolved, f(8, 16, 56, 56), f(32, 16, 3, 3)),
    "random": (lambda key: transpile.random.normal(key, (3000,)), ShapeDtypeStruct((2,), "uint32")),
}


@pytest.mark.skipif(COMPILER.kind != "gcc", reason="only gcc says how much stack functions take")
@pytest.mark.parametrize("name", PROGRAMS)
@one_in(8)
def test_no_program_takes_more_stack_than_its_header_says(name, tmp_path):
    function, *arguments = PROGRAMS[name]
    lowered = transpile.jit(function).lower(*arguments)
    size, chain_of_calls = stack_of(lowered, tmp_path)
    assert size <= STACK, chain_of_calls
    assert f"needs at most {STACK >> 10} KiB of stack" in (tmp_path / "program.h").read_text()


@pytest.mark.skipif(COMPILER.kind != "gcc", reason="only gcc says how much stack functions take")
def test_the_measure_sees_frames_through_calls_and_regions(tmp_path):
    """Without the step the very same programs take more."""
    lowered = transpile.jit(kept(40)).lower(d(300, 700))
    program = lowered._lowering.program()
    arrays = [s for k in program.kernels for s in walk(k.body) if isinstance(s, Alloc)]
    on_stack = sum(a.buffer.size_in_bytes for a in arrays if a.slot is None)
    assert on_stack <= Machine.stack_array_bytes < sum(a.buffer.size_in_bytes for a in arrays)
    size, _ = stack_of(lowered, tmp_path)
    assert on_stack <= size <= on_stack + STACK - Machine.stack_array_bytes - HELPERS


def slots(function, *arguments, **options):
    program = transpile.jit(function, compiler_options=options).lower(*arguments)
    program = program.compiler_ir("loops")
    found = [s for k in program.kernels for s in walk(k.body) if isinstance(s, Alloc)]
    loops = [s for k in program.kernels for s in walk(k.body) if isinstance(s, For) and s.threads]
    return program, [s.slot for s in found if s.slot is not None], loops


def test_arrays_that_do_not_live_together_share_memory():
    program, found, (loop,) = slots(chain(20), d(400, 8192))
    assert {slot.offset for slot in found} == {0, 8192 * 8} and len(found) == 19
    assert loop.threads == Machine.most_slices
    (slices,) = program.temporaries
    assert slices.shape == (Machine.most_slices, 2 * 8192 * 8)
    assert program.workspace == slices.size_in_bytes


def test_there_are_no_more_slices_than_iterations_or_threads():
    _, _, (loop,) = slots(chain(4), d(40, 8192))
    assert loop.threads == 40
    _, _, (loop,) = slots(chain(4), d(400, 8192), num_threads=3)
    assert loop.threads == 3
    program, found, loops = slots(chain(4), d(400, 8192), num_threads=1)
    assert loops == [] and not any(slot.shared_out for slot in found)
    assert program.workspace == 2 * 8192 * 8


def test_large_slices_are_few():
    program, found, (loop,) = slots(kept(40), d(300, 700))
    assert len({slot.offset for slot in found}) > 30 and loop.threads == Machine.most_slices
    size = program.workspace // Machine.most_slices
    for most, threads in ((size * 20, 20), (size * 20 - 1, 19), (size, Machine.fewest_slices)):
        machine = Machine(slices_bytes=most)
        program, _, (loop,) = slots(kept(40), d(300, 700), machine=machine)
        assert loop.threads == threads and program.workspace == threads * size


@pytest.mark.parametrize("threads", [0, 1, 3])
@pytest.mark.parametrize("count, shape", [(30, (37, 8192)), (3, (5, 3072)), (9, (1, 8000))])
@one_in(4)
def test_the_numbers_are_those_of_numpy(count, shape, threads):
    x = np.random.default_rng(0).random(shape)
    options = {"num_threads": threads}
    for function in (chain(count), kept(count)):
        got = transpile.jit(function, compiler_options=options)(x)
        np.testing.assert_allclose(got, function(x), rtol=1e-12)


def test_a_matrix_product_of_rows_is_that_of_numpy():
    random = np.random.default_rng(1)
    x, w = random.normal(size=(512, 256)) / 100, random.normal(size=(256, 256)) / 10
    np.testing.assert_allclose(transpile.jit(attention)(x, w), attention(x, w), rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("m, n", [(3, 5), (17, 31), (32, 32)])
@one_in(3)
def test_narrow_and_deep_products_are_those_of_numpy(m, n, dtype):
    random = np.random.default_rng(m)
    x, y = random.normal(size=(m, 5001)).astype(dtype), random.normal(size=(n, 5001)).astype(dtype)
    for function in (lambda x, y: x @ y.T, lambda x, y: x.T.copy().T @ y.T.copy()):
        got = transpile.jit(function)(x, y)
        np.testing.assert_allclose(
            got,
            function(x, y),
            rtol=1e-4 if dtype == "float32" else 1e-10,
            atol=1e-3 if dtype == "float32" else 1e-10,
        )


def test_threads_with_little_stack_run_every_kernel():
    """Python itself needs some of the 192 KiB that the thread has."""
    random = np.random.default_rng(0)
    rows = transpile.jit(chain(127))
    products = transpile.jit(attention)
    x, w = random.normal(size=(512, 256)) / 100, random.normal(size=(256, 256)) / 10
    y = random.random((4, 8192))
    calls = [(products, (x, w), attention(x, w)), (rows, (y,), chain(127)(y))]
    for function, arguments, _ in calls:
        function(*arguments)
    failed = []

    def run():
        for function, arguments, want in calls:
            if not np.allclose(function(*arguments), want):
                failed.append(function)

    before = threading.stack_size(192 << 10)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join(60)
    finally:
        threading.stack_size(before)
    assert failed == [] and not thread.is_alive()


MAIN = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "stages.h"
enum { ROWS = 40, COLUMNS = 8192, CALLERS = 4 };
static double x[ROWS * COLUMNS], out[CALLERS][ROWS * COLUMNS];
static void *call(void *result)
{
    void *workspace = malloc(stages_workspace_size());
    const int code = stages(x, result, workspace);
    free(workspace);
    return code == 0 ? NULL : result;
}
int main(void)
{
    pthread_attr_t attributes;
    pthread_t threads[CALLERS];
    void *failed = NULL;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 80 << 10);
    for (int k = 0; k < ROWS * COLUMNS; k++) {
        x[k] = k % 7;
    }
    for (int k = 0; k < CALLERS; k++) {
        if (pthread_create(&threads[k], &attributes, call, out[k]) != 0) {
            return 1;
        }
    }
    for (int k = 0; k < CALLERS; k++) {
        void *code;
        pthread_join(threads[k], &code);
        failed = failed == NULL ? code : failed;
    }
    /* In a team of the caller's own, where its threads have numbers. */
    #pragma omp parallel for num_threads(CALLERS)
    for (int k = 0; k < CALLERS; k++) {
        if (call(out[k]) != NULL) {
            abort();
        }
    }
    for (int k = 0; k < CALLERS; k++) {
        printf("%.17g\\n", out[k][ROWS * COLUMNS - 1]);
    }
    return failed != NULL;
}
"""


def test_a_saved_program_runs_in_threads_with_80_kib(tmp_path, monkeypatch):
    """Under the system's OpenMP, with more threads than slices, and in teams of the caller's."""
    monkeypatch.setenv("OMP_STACKSIZE", "80k")
    x = np.arange(40 * 8192).reshape(40, 8192) % 7.0
    want = chain(30)(x)
    transpile.jit(chain(30)).lower(x).compile().save(tmp_path, "stages")
    cc = [*COMPILER.command, "-fopenmp"] if COMPILER.openmp else [*COMPILER.command]
    (tmp_path / "main.c").write_text(MAIN)
    words = ["main.c", "stages.so", f"-Wl,-rpath,{tmp_path}", "-pthread", "-o", "main"]
    subprocess.run([*cc, *words], cwd=tmp_path, check=True)
    for threads in ("1", "3", "200"):
        environment = {**os.environ, "OMP_NUM_THREADS": threads}
        done = subprocess.run([tmp_path / "main"], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, (threads, done.stderr)
        np.testing.assert_allclose(
            [float(n) for n in done.stdout.split()], want[-1, -1], rtol=1e-12
        )
