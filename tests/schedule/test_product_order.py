"""Products that leave the range of their dtype are 0, infinite and NaN where NumPy's are."""

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered
from helpers import ordinary, trace_to_graph
from thorough import one_in

import transpile
from transpile.ir.loop_ir import If, Update
from transpile.ir.loop_rewrite import walk
from transpile.lower.kernels import lower
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.lanes.blocked_reductions import block_reductions
from transpile.schedule.lanes.outer.column_reductions import vectorize_columns
from transpile.schedule.lanes.privatized_scatters import privatize_scatters
from transpile.schedule.product_order import restore_product_order
from transpile.schedule.vectorize import vectorize_loops

pytestmark = pytest.mark.full_level

# Blocks of 64 elements, on as many threads as there are.
SMALL = Machine(sum_block=64, fewest_sum_blocks=2, least_parallel_work=1000)
LARGE = {"f2": 6e4, "f4": 1e30, "f8": 1e250, "c8": 1e30, "c16": 1e250}
NAN, INFINITE, ZERO, NUMBER = range(4)


def products(x):
    """Products in one nest of every kind, and beside other reductions."""
    return (
        np.prod(x),
        np.prod(x.T),
        np.prod(x, axis=1),
        np.nanprod(x),
        np.multiply.reduce(x * x, axis=None),
        np.prod(x, where=x.real < 2),
        np.prod(np.concatenate([x[3:], x])),
        np.prod(x, axis=0),
        np.cumprod(x),
        x.real.max(),
    )


def drawn(dtype, shape, weights, random):
    """Numbers of a dtype: large, small, 1, -1, 2, 1/2, 0, infinite, NaN in these proportions."""
    large = LARGE[dtype]
    values = np.array([large, 1 / large, 1, -1, 2, 0.5, 0, np.inf, np.nan]).astype(dtype)
    weights = np.array(weights, float)
    return random.choice(values, shape, p=weights / weights.sum())


def classes(x):
    """What each number is, or each part of complex ones."""
    x = x if x.dtype.kind == "f" else np.stack([x.real, x.imag])
    return np.select([np.isnan(x), np.isinf(x), x == 0], [NAN, INFINITE, ZERO], NUMBER)


MIXTURES = {
    "edges": (1, 1, 1, 1, 1, 1, 1, 0.1, 0.1),
    "swings": (1, 1, 1, 1, 0, 0, 0, 0, 0),
    "zeros": (0, 0, 1, 1, 1, 1, 0.02, 0, 0),
    "grows, then zeros": (0, 0, 1, 1, 1, 0, 0.002, 0, 0),
    "shrinks, then infinities": (0, 0, 1, 1, 0, 1, 0, 0.002, 0),
    "grows, then NaNs": (0, 0, 1, 1, 1, 0, 0, 0, 0.002),
    "ordinary": (0, 0, 1, 1, 1, 1, 0, 0, 0),
}


@pytest.mark.parametrize("dtype", LARGE)
@one_in(3)
def test_products_are_those_of_numpys_order(dtype):
    """Never NaN, infinite or 0 where NumPy has another answer. A number where NumPy's running
    product has left the range of numbers on its way there is allowed, and only that."""
    random = np.random.default_rng(11)
    jitted = transpile.jit(products, compiler_options={"machine": SMALL})
    seen = set()
    for weights in MIXTURES.values():
        for x in (drawn(dtype, (37, 61), weights, random) for _ in range(4)):
            with np.errstate(all="ignore"):
                expected = products(x)
            for k, (ours, want) in enumerate(zip(jitted(x), expected, strict=True)):
                if dtype == "f2" and k in (1, 3, 5, 7, 8):
                    continue  # NumPy rounds to float16 between rows and pieces
                got, wanted = classes(np.asarray(ours)), classes(np.asarray(want))
                differs = got != wanted
                assert np.all(got[differs] == NUMBER), k
                numbers = (got == NUMBER) & (wanted == NUMBER)
                if dtype[0] == "f" and k not in (0, 1, 3, 4, 5, 6):
                    np.testing.assert_allclose(ours[numbers], want[numbers], rtol=1e-2)
                seen |= set(np.unique(wanted))
    assert seen == {NAN, INFINITE, ZERO, NUMBER}


def test_a_zero_among_blocks_that_overflow():
    x = np.full(100_000, 200.0)
    x[70] = 0
    assert transpile.jit(np.prod)(x) == 0
    x[50_000] = np.inf
    assert np.isnan(transpile.jit(np.prod)(x))
    x[70] = -200
    assert transpile.jit(np.prod)(x) == -np.inf


def test_all_blocks_of_rows_of_runtime_sizes_are_multiplied_and_no_more():
    """How many there are was an estimate, which is too small for long rows and too large for
    short ones: those took seconds where the extent was a quotient of sizes."""
    spec = transpile.ShapeDtypeStruct(("m", "n"), np.float64)
    lowering = transpile.jit(lambda x: np.prod(x, axis=1)).lower(spec)
    x = np.ones((2, (1 << 20) + 1000))
    x[:, 0], x[1, -1] = np.inf, 0
    np.testing.assert_array_equal(lowering.compile()(x), [np.inf, np.nan])
    repeated = lowering.as_text().split("if (!(")[1]
    assert "for (int64_t block = 0; block < (n + 255) / 256; block++)" in repeated


def in_lanes(f, *args, options=Options()):
    return vectorize_loops(lowered(f, *args), options)


def repeats(program):
    return [s for kernel in program.kernels for s in kernel.body if isinstance(s, If)]


def test_only_inexact_products_in_lanes_are_repeated():
    x = ordinary("f8", (40, 30))
    after = assert_steps_agree(in_lanes(np.prod, x), [x], restore_product_order, Options())
    assert len(repeats(after)) == 1
    columns = lowered(lambda x: x.prod(axis=0), ordinary("f8", (40, 64)))
    for program in (
        in_lanes(np.sum, x),
        in_lanes(np.prod, x.astype("i4")),
        in_lanes(np.cumprod, x),
        vectorize_loops(vectorize_columns(columns, Options()), Options()),
    ):
        assert restore_product_order(program, Options()) == program
    program = in_lanes(np.prod, x)
    assert restore_product_order(program, Options(fast_math=True)) == program


def test_what_else_a_loop_makes_is_not_made_again():
    x = ordinary("f8", (4000,))
    program = in_lanes(lambda x: (np.exp(x), np.prod(np.sqrt(x)), x.sum()), x)
    program = restore_product_order(program, Options())
    (again,) = repeats(program)
    names = {s.target.name for s in walk(again.body) if isinstance(s, Update)}
    assert len(names) == 1


def test_a_product_of_what_another_sum_is_beside_is_made_again_without_the_sum():
    def both(x):
        return np.prod(x.min(axis=-1)), x.sum(axis=0)

    for scale in 1.0, 1e200:
        x = np.random.default_rng(0).normal(size=(50, 50)) * scale
        with np.errstate(over="ignore"):
            expected = both(x)
        for got, wanted in zip(transpile.jit(both)(x), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


def test_a_product_beside_its_overwritten_argument_stays_in_order():
    x = ordinary("f8", (4000,))
    program = lower(trace_to_graph(lambda x: (x + 1, np.prod(x)), x), (0,))
    options = Options(machine=SMALL)
    assert block_reductions(program, options) == program
    jitted = transpile.jit(lambda x: (x + 1, np.prod(x)), donate_argnums=0)
    x = np.full(4000, 2.0)
    x[7] = 0
    assert jitted(x.copy())[1] == 0


def test_scattered_products_have_no_private_tables():
    x, k = ordinary("f8", (5000,)), np.arange(5000) % 3

    def scattered(op):
        return lambda k, x: getattr(transpile.numpy.ones(3).at[k], op)(x)

    options = Options(machine=Machine(fewest_updates=2))
    for op, stays in (("multiply", True), ("add", False)):
        program = lowered(scattered(op), k, x)
        assert (privatize_scatters(program, options) == program) == stays
