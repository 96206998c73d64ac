"""How loops are mapped: loop programs written by hand, for what the mapping has to see, run as CUDA
on the CPU."""

import numpy as np
import pytest
from cuda_programs import lowered, run

import transpile
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    For,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Store,
    Swap,
    Update,
)
from transpile.options import Options
from transpile.targets.cuda.gpu import Gpu
from transpile.targets.cuda.render import cuda_text
from transpile.util.frozen_records import replace

F64 = np.dtype("float64")
N = 100
X = np.random.default_rng(3).normal(size=N)
I, J, K = (Dim.of(Symbol(name, 0, N)) for name in "ijk")
GPUS = (Gpu(block=64, most_blocks=3), Gpu(block=64, most_blocks=3, least_grid_work=1))


def over(index, *body, extent=N, **options):
    """A loop over all elements, or over so many."""
    (symbol,) = index.symbols()
    return For(symbol, extent, body, **options)


def x(index):
    return Load("x", (index,), F64)


def out(index):
    return Load("out", (index,), F64)


def times(a, b):
    return Apply("multiply", (a, b), F64)


def program(*bodies, temporaries=()):
    """A program of kernels with these bodies, from `x` to `out`."""
    arrays = Buffer("x", (N,), F64), Buffer("out", (N,), F64)
    kernels = tuple(Kernel(f"p_{number}", body) for number, body in enumerate(bodies, start=1))
    return Program("p", arrays[:1], arrays[1:], kernels, temporaries)


def results(made, gpu):
    """What the program makes of X, and its text."""
    text = cuda_text(made, Options(), gpu=gpu)
    (found,) = run(made, text, [X])
    return found, text


COPY = over(I, Store("out", (I,), x(I)))


@pytest.mark.parametrize("gpu", GPUS)
def test_what_a_nest_writes_is_not_read_before_it_by_each_thread(gpu):
    first = Declare("first", out(0))
    scaled = over(I, Store("out", (I,), times(out(I), Ref("first", F64))))
    found, _ = results(program((COPY,), (first, scaled)), gpu)
    np.testing.assert_array_equal(found, X * X[0])


@pytest.mark.parametrize("gpu", GPUS)
def test_pointers_that_are_exchanged_in_a_loop_stay_so_behind_it(gpu):
    copy = over(I, Store("t", (I,), x(I)))
    step = over(J, Store("u", (J,), times(Load("t", (J,), F64), Literal(2.0, F64))))
    loop = over(K, step, Swap("t", "u"), extent=3, ordered=True)
    back = over(I, Store("out", (I,), Load("t", (I,), F64)))
    arrays = Buffer("t", (N,), F64), Buffer("u", (N,), F64)
    found, text = results(program((copy, loop, back), temporaries=arrays), gpu)
    np.testing.assert_array_equal(found, X * 8)
    assert ("std::swap(t, u)" in text) == (gpu.least_grid_work == 1)


@pytest.mark.parametrize("gpu", GPUS)
def test_a_loop_from_a_negative_number_on(gpu):
    index = Dim.of(Symbol("i", -3, N - 3))
    (symbol,) = index.symbols()
    loop = For(symbol, N - 3, (Store("out", (index + 3,), x(index + 3)),), start=-3)
    again = Update(out(0), "add", x(1))
    found, _ = results(program((loop, again), (again, loop)), gpu)
    np.testing.assert_array_equal(found, X)


@pytest.mark.parametrize("gpu", GPUS)
def test_a_sum_begins_with_a_number_once(gpu):
    start = Declare("acc", Literal(1000.0, F64), constant=False)
    add = over(I, Update(Ref("acc", F64), "add", x(I)))
    every = over(J, Store("out", (J,), Ref("acc", F64)))
    found, _ = results(program((start, add, add, every)), gpu)
    np.testing.assert_allclose(found, 1000 + 2 * X.sum(), rtol=1e-12)


@pytest.mark.parametrize("gpu", GPUS)
def test_a_running_sum_is_sequential(gpu):
    start = Declare("acc", Literal(0.0, F64), constant=False)
    body = Update(Ref("acc", F64), "add", x(I)), Store("out", (I,), Ref("acc", F64))
    found, _ = results(program((start, over(I, *body))), gpu)
    np.testing.assert_array_equal(found, np.cumsum(X))


def test_one_block_shares_what_stands_between_wide_nests():
    text = cuda_text(program((COPY, Update(out(0), "add", x(1)), COPY)), Options(), gpu=GPUS[1])
    assert text.count("__global__") == 3 and text.count("One block.") == 1


@pytest.mark.parametrize("gpu", GPUS)
def test_scopes_may_have_arrays_of_one_name(gpu):
    """In C each loop of a kernel may have a `row` of its own shape; passes of CUDA know arrays by
    their names."""

    def softmax(x):
        e = np.exp(x - x.max(axis=(1, 2), keepdims=True))
        return e / e.sum(axis=(1, 2), keepdims=True)

    def two(x):
        return softmax(x[:60].reshape(3, 2, 10)), softmax(x[:80].reshape(2, 8, 5))

    program = lowered(transpile.jit(two).lower(X)._lowering.graph, Options())
    first, second = program.kernels
    whole = replace(program, kernels=(replace(first, body=(*first.body, *second.body)),))
    assert "local e:f64[2,10]" in str(whole) and "local e:f64[8,5]" in str(whole)
    results = run(whole, cuda_text(whole, Options(), gpu=gpu), [X])
    for found, expected in zip(results, two(X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("gpu", GPUS)
def test_kernels_may_have_arrays_of_one_name(gpu):
    """An array that is local to a kernel outlives its launches, where there are several."""

    def through_row(value, target):
        fill, read = over(I, Store("row", (I,), value)), over(J, Store(target, (J,), row(J)))
        return Alloc(Buffer("row", (N,), F64)), fill, read

    def row(index):
        return Load("row", (index,), F64)

    once = Buffer("once", (N,), F64)
    first = through_row(times(x(I), x(I)), "once")
    second = through_row(times(Load("once", (I,), F64), x(I)), "out")
    found, text = results(program(first, second, temporaries=(once,)), gpu)
    assert "*row = (" in text or gpu is not GPUS[1]
    np.testing.assert_array_equal(found, X * X * X)
