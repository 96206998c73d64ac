"""Whole programs as CUDA, on the CPU, against NumPy: what people write, and drawn graphs."""

from random import Random

import numpy as np
import pytest
from composites import COMPOSITES
from cuda_programs import WIDE, lowered, results, run
from graphs import random_graph, small_machine
from loop_graphs import random_loops
from thorough import THOROUGH, each, one_in

import transpile
from transpile import lax, nn, random
from transpile.errors import UnsupportedError
from transpile.options import Options
from transpile.targets.cuda.gpu import Gpu
from transpile.targets.cuda.render import cuda_text
from transpile.transforms.interpret import interpret

RNG = np.random.default_rng(19)
# Blocks that take their time here, and grids of several.
FEW = Gpu(block=64, most_blocks=3)
IN_MEMORY = Gpu(block=32, most_blocks=2, most_slices=2, shared_bytes=0, local_bytes=0)
GPUS = {"few": FEW, "wide": WIDE, "in memory": IN_MEMORY}


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x, scale, shift):
    mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * scale + shift


def network(weights, x, y):
    hidden = np.tanh(x @ weights["first"] + weights["shift"])
    return ((hidden @ weights["second"] - y) ** 2).mean()


def attention(q, k, v):
    return softmax(q @ k.T / np.sqrt(q.shape[1])) @ v


def stencil(u):
    def step(_, u):
        inside = u[1:-1, 1:-1] + 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
        return u.at[1:-1, 1:-1].set(inside)

    return lax.fori_loop(0, 5, step, u)


def counted(u, n):
    return lax.fori_loop(0, n, lambda _, u: u.at[1:-1].set(u[:-2] + u[2:] - u[1:-1]), u)


def two_fields(u):
    def step(_, fields):
        u, v = fields
        return u.at[1:-1].set(u[:-2] + v[2:]), v.at[1:-1].set(u[:-2] - v[1:-1])

    def outer(k, fields):
        return lax.fori_loop(0, 3, step, (fields[1] + k, fields[0]))

    return lax.fori_loop(0, 5, outer, (u, 2 * u))


def histogram(x, places):
    return transpile.numpy.zeros(10).at[places].add(x)


def recurrence(x):
    return lax.scan(lambda c, row: (0.9 * c + row, c.sum()), x[0], x)


def halving(x):
    return lax.while_loop(lambda s: (s * s).sum() > 1e-3, lambda s: 0.5 * s + 0.1 * np.sin(s), x)


def branch(x):
    return lax.cond(x.sum() > 0, lambda x: np.cumsum(x), lambda x: np.sort(x), x)


def orders(x):
    return np.sort(x, axis=0), np.argsort(x, axis=1), x.argmax(axis=0), np.median(x)


def draws(n):
    key = random.key(7)
    return random.normal(key, (300,)), random.permutation(key, 17)


WEIGHTS = {
    "first": RNG.normal(size=(7, 20)),
    "shift": RNG.normal(size=20),
    "second": RNG.normal(size=(20, 3)),
}
X = RNG.normal(size=(33, 7))
PROGRAMS = {
    "softmax": (softmax, (RNG.normal(size=(37, 100)),)),
    "softmax_of_long_rows": (softmax, (RNG.normal(size=(3, 1500)).astype("f4"),)),
    "softmax_of_halves": (softmax, (RNG.normal(size=(3, 1024)).astype("f2"),)),
    "layer_norm": (layer_norm, (RNG.normal(size=(9, 70)), np.ones(70), np.zeros(70))),
    "network": (network, (WEIGHTS, X, RNG.normal(size=(33, 3)))),
    "gradient": (transpile.value_and_grad(network), (WEIGHTS, X, RNG.normal(size=(33, 3)))),
    "attention": (attention, tuple(RNG.normal(size=(3, 21, 8)))),
    "stencil": (stencil, (RNG.normal(size=(20, 19)),)),
    "counted": (counted, (RNG.normal(size=90), 3)),
    "two_fields": (two_fields, (RNG.normal(size=90),)),
    "histogram": (histogram, (RNG.normal(size=400), RNG.integers(-10, 12, 400))),
    "recurrence": (recurrence, (RNG.normal(size=(6, 40)),)),
    "halving": (halving, (RNG.normal(size=200),)),
    "branch": (branch, (RNG.normal(size=70),)),
    "orders": (orders, (RNG.normal(size=(21, 18)),)),
    "product": (lambda a, b: a @ b, (RNG.normal(size=(35, 50)), RNG.normal(size=(50, 41)))),
    "columns": (lambda x: x.sum(axis=0), (RNG.normal(size=(300, 40)),)),
    "total": (lambda x: (x * x).sum(), (RNG.normal(size=20000),)),
    "draws": (draws, (1.0,)),
    "gelu": (nn.gelu, (RNG.normal(size=(5, 60)).astype("f4"),)),
}


def check(lowering, values, gpu, expected, runs=run):
    """Compare the results of a program, as CUDA, with these."""
    for x, y in zip(results(lowering, values, gpu, runs), expected, strict=True):
        y = np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        exact = {4: 2e-5, 8: 1e-11}.get(x.dtype.itemsize, 2e-2) if x.dtype.kind in "fc" else 0
        np.testing.assert_allclose(x, y, rtol=exact, atol=exact)


@each("gpu", tuple(GPUS), ordinary=("wide",))
@pytest.mark.parametrize("name", PROGRAMS)
@one_in(4)
def test_programs_are_those_of_c(name, gpu):
    check_program(name, GPUS[gpu], run)


def check_program(name, gpu, runs):
    """Compare one of PROGRAMS with C."""
    function, arguments = PROGRAMS[name]
    stage = transpile.jit(function).lower(*arguments)
    values = [np.asarray(leaf) for leaf in transpile.tree.leaves(arguments)]
    values = [values[k] for k in stage.kept]
    expected = transpile.tree.leaves(transpile.jit(function)(*arguments))
    check(stage._lowering, values, gpu, expected, runs)


@each("name", tuple(COMPOSITES), ordinary=("statistics", "pooling"))
def test_gradients_of_composites(name):
    function, shape = COMPOSITES[name]
    x = np.abs(RNG.normal(size=shape)) + 0.5
    gradient = transpile.grad(lambda x: function(np, x))
    stage = transpile.jit(gradient).lower(x)
    expected = transpile.tree.leaves(transpile.jit(gradient)(x))
    check(stage._lowering, [x], WIDE, expected)


@pytest.mark.parametrize("seed", range(400 if THOROUGH else 6))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@one_in(2)
def test_drawn_graphs(seed):
    graph, values = random_loops(Random(seed)) if seed % 2 else random_graph(seed)
    options = Options(machine=small_machine(seed)) if seed % 3 == 1 else Options()
    check_drawn(graph, values, options, list(GPUS.values())[seed % 3], run)


def check_drawn(graph, values, options, gpu, runs):
    """Compare a drawn graph with NumPy, unless there is something in it that CUDA has not yet."""
    program = lowered(graph, options)
    try:
        text = cuda_text(program, options, gpu=gpu)
    except UnsupportedError as error:
        assert "device='cuda'" in str(error)
        return
    found = runs(program, text, values)
    for x, y in zip(found, interpret(graph, values), strict=True):
        assert np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"), (x, y)


# A scalar that a loop before a wide nest reads, and one in a branch of the host; no launch at all;
# a nest without iterations.
@pytest.mark.parametrize("seed", (1429, 1505, 3047, 3079, 3172))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_drawn_graphs_that_once_failed(seed):
    graph, values = random_loops(Random(seed)) if seed % 2 else random_graph(seed)
    check_drawn(graph, values, Options(), WIDE, run)


def test_runtime_sizes():
    n = transpile.ShapeDtypeStruct(("n", 40), np.float64)
    stage = transpile.jit(softmax).lower(n)
    for rows in (1, 50):
        x = RNG.normal(size=(rows, 40))
        (found,) = results(stage._lowering, [x], FEW)
        np.testing.assert_allclose(found, softmax(x), rtol=1e-13)


@pytest.mark.parametrize("offset", [1, 2])
def test_arrays_that_begin_inside_others_are_accessed_by_elements(offset):
    x = RNG.normal(size=(8, 256)).astype("f4")
    gain = RNG.normal(size=256).astype("f4")
    stage = transpile.jit(lambda x, gain: (layer_norm(x, gain, gain), x + gain)).lower(x, gain)
    program = lowered(stage._lowering.graph, Options())
    text = cuda_text(program, Options(), gpu=Gpu(block=64, least_grid_work=1))
    assert "load_pack(x_row[turn], x" in text and "store_pack(out_0" in text
    found = run(program, text, [x, gain], offset)
    for a, b in zip(found, (layer_norm(x, gain, gain), x + gain), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
