"""Packed columns: which loops read them, and that results have the same bits."""

import numpy as np
import pytest
from graphs import assert_same_results, lowered, statements_of
from thorough import one_in

from transpile import jit
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.loop_ir import Alloc, Apply, For
from transpile.ir.loop_rewrite import loads, parts
from transpile.ir.loop_verifier import check
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.domain.coalesce import coalesce
from transpile.schedule.domain.index_set_split import split_index_sets
from transpile.schedule.lanes.blocked_reductions import block_reductions
from transpile.schedule.lanes.packed_columns import pack_columns

pytestmark = pytest.mark.full_level

# Blocks of eight elements, and blocks of sums of 24 or 20: with and without a remainder.
MACHINE = Machine(packed_block=8, shortest_packed=4, sum_block=24, fewest_sum_blocks=2)
SMALL = Options(machine=MACHINE)


def values(*shape, dtype="f8"):
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


def before(f, x, options=SMALL):
    """The loops as the step gets them."""
    program = lowered(f, x)
    for earlier in (split_index_sets, coalesce, block_reductions):
        program = earlier(program, options)
    return program


def assigned(x):
    x[:, 1] = np.exp(x[:, 0] - x[:, 2])
    return x


def named(x):
    e = np.exp(x[:, 1] + x[:, 3])
    return e * np.log1p(e)


# A function, its argument, and how many columns are packed.
PACKED = {
    "two columns": (lambda x: np.exp(x[:, 0]) * np.sin(x[:, 3]), values(40, 6), 2),
    "a remainder": (lambda x: np.exp(x[:, 0] + x[:, 3]), values(41, 6), 2),
    "one block": (lambda x: np.exp(x[:, 0] + x[:, 3]), values(7, 6), 2),
    "a column read twice": (lambda x: np.exp(x[:, 0]) + x[:, 0] + x[:, 1], values(40, 6), 2),
    "a power of two": (lambda x: np.exp(x[:, 5]), values(40, 16), 1),
    "single precision": (lambda x: np.exp(x[:, 5]), values(40, 32, dtype="f4"), 1),
    "backwards": (lambda x: np.exp(x[::-1, 0] + x[::-1, 3]), values(40, 6), 2),
    "a sum": (lambda x: np.exp(x[:, 1] + x[:, 2]).sum(), values(96, 6), 2),
    "a maximum": (lambda x: np.exp(x[:, 1] + x[:, 2]).max(), values(23, 6), 2),
    "names": (named, values(40, 6), 2),
    "integers": (lambda x: np.exp(x[:, 0]) + x[:, 1], np.arange(240).reshape(40, 6) % 7, 2),
    "two axes": (lambda x: np.exp(x[:, :, 0] + x[:, :, 1]), values(3, 20, 6), 2),
    "transposed": (lambda x: np.exp(x.T[3:5, :30] * x.T[1:3, 2:32]), values(32, 6), 2),
}
LEFT = {
    "cheap": (lambda x: x[:, 0] * x[:, 3], values(40, 6)),
    "one column": (lambda x: np.exp(x[:, 0]), values(40, 6)),
    "a short stride": (lambda x: np.exp(x[:, 0] + x[:, 1]), values(40, 4)),
    "half a vector": (lambda x: np.exp(x[:, 0]), values(40, 8)),
    "rows": (lambda x: np.exp(x[3] + x[5]), values(40, 60)),
    "few": (lambda x: np.exp(x[:, 0] + x[:, 3]), values(3, 6)),
    "a gather": (lambda x: np.exp(x[np.arange(40)[::-1] // 2, 3]), values(40, 6)),
}


def packed(program):
    return [a for a in statements_of(program, Alloc) if "column" in a.buffer.name]


@pytest.mark.parametrize("name", PACKED)
def test_columns_are_copied_before_functions_of_them_are_computed(name):
    f, x, count = PACKED[name]
    program = before(f, x)
    after = pack_columns(program, SMALL)
    check(after)
    assert len(packed(after)) == count
    assert_same_results(run(after, [x]), run(program, [x]))
    names = {a.buffer.name for a in packed(after)}
    for loop in statements_of(after, For):
        applied = {p.primitive for s in loop.body for p in parts(s) if isinstance(p, Apply)}
        if any(primitive.transcendental for primitive in applied):
            assert {load.buffer for s in loop.body for load in loads(s)} >= names


@pytest.mark.parametrize("name", LEFT)
def test_other_loops_stay(name):
    f, x = LEFT[name]
    program = before(f, x)
    assert pack_columns(program, SMALL) == program


def test_a_column_that_the_loop_writes_stays():
    x = values(40, 3)
    program = before(assigned, x)
    after = pack_columns(program, SMALL)
    check(after)
    assert_same_results(run(after, [x]), run(program, [x]))


def one_new(x):
    y = x.copy()
    y[:, 1] = np.exp(x[:, 0] - x[:, 2])
    return y


def joined(x):
    return np.concatenate([x, np.exp(x[:, 0] - x[:, 2])[:, None]], axis=1)


@pytest.mark.parametrize("rows", [40, 41, 7])
@pytest.mark.parametrize("f", [one_new, joined])
@one_in(3)
def test_values_beside_other_loops_have_a_loop_of_their_own(f, rows):
    x = values(rows, 9)
    program = before(f, x)
    after = pack_columns(program, SMALL)
    check(after)
    assert any("value" in a.buffer.name for a in statements_of(after, Alloc))
    assert_same_results(run(after, [x]), run(program, [x]))
    for loop in statements_of(after, For):
        applied = {p.primitive for s in loop.body for p in parts(s) if isinstance(p, Apply)}
        around = any(isinstance(s, For) for s in loop.body)
        assert not (around and any(primitive.name == "exp" for primitive in applied))
    plain = jit(f, compiler_options={"machine": Machine(least_packed_work=1 << 30)})
    np.testing.assert_array_equal(jit(f, compiler_options={"machine": MACHINE})(x), plain(x))


def widened(program):
    return [a for a in statements_of(program, Alloc) if "_wide" in a.buffer.name]


BYTES = np.arange(6 * 52, dtype="u1").reshape(6, 52) % 7
NARROW = {
    "bytes": (lambda x: np.exp(x * 0.5), BYTES, 1),
    "bools": (lambda x: np.exp(x * 0.5), BYTES > 3, 1),
    "two bytes": (lambda x: np.log1p(x * 0.5), BYTES.astype("i2"), 1),
    "two dtypes of one array": (lambda x: np.exp(x * 0.5) + np.sin(x.astype("f4")), BYTES, 2),
    "a sum": (lambda x: np.exp(x * 0.5).sum(1), BYTES, 1),
    "gone beyond a block": (lambda x: np.exp(x * 0.5), np.tile(BYTES, (1, 3)), 0),
    "whole vectors": (lambda x: np.exp(x * 0.5), BYTES[:, :32].copy(), 0),
    "four bytes": (lambda x: np.exp(x * 0.5), BYTES.astype("i4"), 0),
    "cheap": (lambda x: x * 0.5, BYTES, 0),
    "of another length": (lambda x: np.exp(x[:, :, None] * np.ones(20)), BYTES, 0),
}


@pytest.mark.parametrize("name", NARROW)
def test_bytes_of_short_rows_are_widened_before_functions_of_them_are_computed(name):
    f, x, count = NARROW[name]
    program = lowered(f, x)
    after = pack_columns(program, Options())
    check(after)
    assert len(widened(after)) == count
    assert_same_results(run(after, [x]), run(program, [x]))


def test_values_of_what_the_loop_makes_stay():
    """The sum of a row is known after the row."""
    x = values(40, 9)
    program = before(lambda x: np.exp(x.sum(1)), x)
    assert pack_columns(program, SMALL) == program


def test_blocks_that_do_not_fit_into_blocks_of_sums_stay():
    """Blocks of 20 sums have no whole number of blocks of 8, and the last one ends earlier."""
    options = Options(machine=Machine(packed_block=8, shortest_packed=4, sum_block=20))
    x = values(90, 6)
    program = before(PACKED["a sum"][0], x, options)
    after = pack_columns(program, options)
    check(after)
    assert_same_results(run(after, [x]), run(program, [x]))


def test_too_many_columns_stay():
    options = Options(machine=Machine(packed_block=8, shortest_packed=4, most_packed=1))
    f, x, _ = PACKED["two columns"]
    program = before(f, x, options)
    assert pack_columns(program, options) == program


@pytest.mark.parametrize("name", PACKED)
@one_in(4)
def test_results_in_c_are_those_without_blocks(name):
    f, x, _ = PACKED[name]
    plain = jit(f, compiler_options={"machine": Machine(shortest_packed=1 << 30)})
    blocks = jit(f, compiler_options={"machine": MACHINE})
    if "sum" in name:
        np.testing.assert_allclose(blocks(x), plain(x), rtol=1e-14)
    else:
        np.testing.assert_array_equal(blocks(x), plain(x))
