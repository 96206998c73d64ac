"""The primitive fft: derivatives, batches, operands read in place, saved programs."""

import shutil
import subprocess

import numpy as np
import pytest
from helpers import ordinary
from programs import run_main, run_sanitized
from thorough import one_in

import transpile
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.calls import Call
from transpile.ir.dims import Dim
from transpile.ir.loop_rewrite import walk
from transpile.ir.primitive import TABLE
from transpile.ir.types import ArrayType
from transpile.lower.kernels import lower
from transpile.options import Options
from transpile.test_util import check_grads
from transpile.trace.trace import trace_function

SANITIZED = Options(sanitize=True, opt_level=1)


def calls_of(program):
    return [s for k in program.kernels for s in walk(k.body) if isinstance(s, Call)]


def loops(f, *args):
    return transpile.jit(f).lower(*args).compiler_ir("loops")


def functions():
    """Functions of real numbers through each kind of transform, and an array for each."""
    random = np.random.default_rng(0)
    for n in (5, 6):
        x, y = random.standard_normal((2, 3, n))
        yield lambda x: abs(np.fft.fft(x * (1 + 2j))) ** 2, x
        yield lambda x: np.fft.ifft(np.fft.fft(x, axis=0) ** 2).real, y
        yield lambda x: abs(np.fft.rfft(x) * (1 - 1j)) ** 2, y
        yield lambda x, n=n: np.fft.irfft(x * (0.5 + 1j), 2 * n - n % 2), x
        yield lambda x, n=n: np.fft.hfft(np.exp(1j * x), 2 * n - 1, 0, "ortho") ** 2, y
    yield (
        lambda x: abs(np.fft.fftn(x, (4, 5, 3), (0, 1, 2))) ** 2,
        random.standard_normal((2, 5, 4)),
    )


@pytest.mark.parametrize("number", range(11))
@one_in(3)
def test_derivatives_are_those_of_differences(number):
    f, x = list(functions())[number]
    check_grads(f, (x,), order=2)


def matrix(kind, n, real):
    """The linear map of a kind of transform as a matrix of its values on unit vectors."""
    size = n // 2 + 1 if kind == "irfft" else n
    units = np.eye(size)
    if not real:
        units = units.astype(complex)
    params = {"fft_type": kind, "fft_lengths": (n,), "axes": (1,), "scale": 0.5}
    return TABLE["fft"].numpy(units, **params)


@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_gradients_of_spectra_are_the_matrices_transposed(n):
    random = np.random.default_rng(1)
    x = random.standard_normal(n)
    weights = random.standard_normal(n // 2 + 1) + 1j * random.standard_normal(n // 2 + 1)
    found = transpile.grad(lambda x: (np.fft.rfft(x) * weights).real.sum())(x)
    want = 2 * (matrix("rfft", n, True) @ weights).real
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-13)


def test_a_batch_is_one_transform():
    x = ordinary("complex128", (4, 3, 10))
    f = transpile.vmap(np.fft.fft)
    np.testing.assert_allclose(f(x), np.stack([np.fft.fft(v) for v in x]), rtol=0, atol=1e-12)
    graph = transpile.make_jaxpr(f)(x)
    assert [e.primitive.name for e in graph.equations] == ["fft"]
    g = transpile.vmap(np.fft.rfft, in_axes=1)
    y = x.real
    want = np.stack([np.fft.rfft(y[:, k]) for k in range(3)])
    np.testing.assert_allclose(g(y), want, rtol=0, atol=1e-12)


def test_views_are_read_where_they_are_and_several_axes_need_no_other_memory():
    x = np.zeros((6, 8, 10), complex)
    program = loops(lambda x: np.fft.fft(x[::-1, 1:7:2, ::3].transpose(2, 0, 1), axis=0), x)
    assert [b.name for b in program.temporaries] == ["scratch"]
    assert len(calls_of(program)) == 1
    program = loops(np.fft.fftn, x)
    assert [b.name for b in program.temporaries] == ["scratch"]
    assert len(calls_of(program)) == 3
    program = loops(lambda x: np.fft.fft(x.real), x)
    assert len(program.temporaries) == 2  # the real parts are computed


def test_equal_lengths_share_their_factors():
    program = loops(lambda x: np.fft.fft(x) + np.fft.fft(x + 1), np.zeros(64))
    assert len(calls_of(program)) == 2 and len(program.constants) == 2


def test_loops_mean_what_numpy_means():
    random = np.random.default_rng(2)
    x = random.standard_normal((2, 6, 3)) + 1j * random.standard_normal((2, 6, 3))

    def f(x):
        return (
            np.fft.fft(x[:, ::-2], axis=1) + 1,
            np.fft.ifftn(x),
            np.fft.rfft(x.real, axis=0),
            np.fft.irfft(x, 11, axis=1),
        )

    for got, want in zip(run(loops(f, x), [x]), f(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-13)


def test_the_number_of_transforms_may_be_a_runtime_size():
    n = Dim.symbol("n", 1)
    for shape, axis in (((n, 12), 1), ((12, n), 0), ((2, 12, n), 1)):
        kind = ArrayType(shape, np.dtype("complex128"))
        graph, _ = trace_function(lambda x, a=axis: ([np.fft.fft(x, axis=a)], None), [kind], ["x"])
        for count in (1, 5):
            x = ordinary("complex128", tuple(d if isinstance(d, int) else count for d in shape))
            (got,) = run(lower(graph), [x])
            np.testing.assert_allclose(got, np.fft.fft(x, axis=axis), rtol=0, atol=1e-12)


def test_the_cost_grows_as_n_log_n():
    def flops(n):
        return transpile.jit(np.fft.fft).lower(np.zeros((3, n), complex)).cost_analysis()["flops"]

    assert flops(1024) == 3 * 5 * 1024 * 10


def test_wrong_operands_are_errors():
    kind = ArrayType((3, 4), np.dtype("complex128"))
    rule = TABLE["fft"].type_rule
    good = {"fft_type": "fft", "fft_lengths": (4,), "axes": (1,), "scale": 1.0}
    assert rule(kind, **good) == kind
    for change in (
        {"fft_lengths": (5,)},
        {"axes": ()},
        {"axes": (0, 1)},
        {"fft_type": "rfft"},
        {"fft_type": "irfft"},
    ):
        with pytest.raises(TypeError):
            rule(kind, **{**good, **change})


# -------------------------------------------------------------------------------- saved programs

C_PROGRAM = r"""
/* The spectrum of a signal of two tones: prints its largest lines. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "spectrum.h"

enum { COUNT = 6000 };

int main(void)
{
    static double signal[COUNT], power[COUNT / 2 + 1];
    for (int i = 0; i < COUNT; i++) {
        signal[i] = 2.0 * sin(0.1 * 2.0 * 3.14159265358979323846 * i)
                    + cos(0.25 * 2.0 * 3.14159265358979323846 * i);
    }
    void *workspace = malloc(spectrum_workspace_size());
    if (spectrum(signal, power, workspace) != 0) {
        return 1;
    }
    for (int i = 0; i <= COUNT / 2; i++) {
        if (power[i] > 0.1) {
            printf("%d %.12f\n", i, power[i]);
        }
    }
    free(workspace);
    return 0;
}
"""


def test_a_c_program_finds_the_tones_of_a_signal(tmp_path):
    def spectrum(signal):
        return abs(np.fft.rfft(signal, norm="forward")) ** 2

    transpile.jit(spectrum).lower(np.zeros(6000)).compile().save(tmp_path, "spectrum")
    lines = [line.split() for line in run_main(tmp_path, "spectrum", C_PROGRAM)]
    assert [int(i) for i, _ in lines] == [600, 1500]
    np.testing.assert_allclose([float(p) for _, p in lines], [1.0, 0.25], rtol=1e-9)


def everything():
    """A function with transforms of each kind and method, and its argument."""
    lengths = [1, 2, 12, 49, 103, 210, 300]

    def f(x):
        found = []
        for n in lengths:
            found += [np.fft.fft(x, n), np.fft.ifft(x, n, 0), np.fft.rfft(x.real, n, 0)]
            found += [np.fft.irfft(x, n), np.fft.irfft(x, n, 0), np.fft.fft(x.real, n)]
            found += [np.fft.rfft(x.real[0], n), np.fft.irfft(x[:, 0], n), np.fft.ifft(x[:, 1], n)]
        return found

    return f, ordinary("complex64", (5, 17), 1)


def run_sanitized_transforms():
    """Run all with the sanitizers, as the test below does in a process that has them loaded."""
    f, x = everything()
    found = transpile.jit(f, compiler_options={"sanitize": True, "opt_level": 1})(x)
    for got, want in zip(found, f(x), strict=True):
        limit = 20 * np.finfo(x.dtype).eps * np.max(np.abs(want))
        np.testing.assert_allclose(got, want, rtol=0, atol=limit)


@pytest.mark.sanitized
def test_no_transform_has_undefined_behaviour():
    run_sanitized(
        "import test_primitives_fft; test_primitives_fft.run_sanitized_transforms()", __file__
    )


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_programs_compile_without_a_warning(tmp_path, compiler):
    command = shutil.which(compiler)
    if command is None:
        pytest.skip(f"no {compiler} here")

    def f(x, y):
        return [
            g(v) for v in (x, y) for g in (np.fft.fft, np.fft.irfft, lambda v: np.fft.fft(v.real))
        ]

    x = np.zeros((4, 9), "c8")
    quick = transpile.jit(f, compiler_options={"opt_level": 0})
    quick.lower(x, x.astype("c16")).compile().save(tmp_path, "program")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fopenmp", "-c"]
    subprocess.run([command, *flags, "program.c", "-o", "p.o"], cwd=tmp_path, check=True)
