"""Long reductions are blocked; loops that read running values are not."""

import numpy as np
import pytest
from graphs import assert_steps_agree, loops_of, lowered
from helpers import ordinary

import transpile
from transpile import ShapeDtypeStruct
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.loop_ir import If
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.domain.index_set_split import split_index_sets
from transpile.schedule.lanes.blocked_reductions import block_long_reductions, block_reductions

pytestmark = pytest.mark.full_level


# Blocks of four elements.
SMALL = Options(machine=Machine(sum_block=4))


def unchanged(f, *args):
    program = lowered(f, *args)
    return block_reductions(program, SMALL) == program


@pytest.mark.parametrize("length", [16, 17, 19, 41])
def test_a_long_sum_is_done_in_blocks(length):
    x = ordinary("f8", (length,))
    program = assert_steps_agree(lowered(np.sum, x), [x], block_reductions, SMALL)
    assert [b.shape for b in program.temporaries] == [(-(-length // 4),)]


def test_rows_longer_than_a_block_are_blocks():
    x = ordinary("f8", (9, 7, 3))
    program = assert_steps_agree(lowered(np.max, x), [x], block_reductions, SMALL)
    assert program.temporaries[0].shape == (9,)


def test_sibling_sums_share_their_blocks():
    x = ordinary("f8", (30,))
    program = assert_steps_agree(
        lowered(lambda x: (x.sum(), x.max(), (x * x).sum()), x), [x], block_reductions, SMALL
    )
    assert len(loops_of(program)) == 3  # over the blocks, inside a block, over the parts


def test_a_short_sum_stays():
    assert unchanged(np.sum, ordinary("f8", (15,)))


def test_sums_of_rows_stay():
    assert unchanged(lambda x: x.sum(axis=1), ordinary("f8", (8, 40)))


@pytest.mark.parametrize(
    "f", [np.cumsum, lambda x: np.sign(np.cumsum(x)), lambda x: np.cumsum(np.cumsum(x))]
)
def test_running_values_stay(f):
    assert unchanged(f, ordinary("f8", (40,)))


def test_a_sum_of_a_runtime_length_has_the_bits_of_a_known_one():
    """One loop up to 15 elements, blocks of 4 from then on; a long body has no second version."""

    def sums(x):
        return (x / 3).sum(), (x * x).max()

    any_length = ShapeDtypeStruct(("n",), np.float64)
    program = block_long_reductions(lowered(sums, any_length), SMALL)
    (branch,) = (s for k in program.kernels for s in k.body if isinstance(s, If))
    least = branch.condition.args[1]
    assert (branch.condition.op, least.value, len(branch.orelse)) == ("greater_equal", 16, 1)
    for length in 1, 15, 16, 17, 41:
        x = ordinary("f8", (length,))
        known = block_long_reductions(lowered(sums, x), SMALL)
        for one, other in zip(run(program, [x]), run(known, [x]), strict=True):
            assert one.tobytes() == other.tobytes()
    few = Options(machine=Machine(sum_block=4, most_versioned_statements=1))
    program = block_long_reductions(lowered(sums, any_length), few)
    assert not any(isinstance(s, If) for k in program.kernels for s in k.body)


def test_blocks_depend_on_sizes_alone():
    x = np.broadcast_to(1.0, (100000,))
    one, many = (block_reductions(lowered(np.sum, x), Options(num_threads=n)) for n in (1, 8))
    assert one == many
    assert one.temporaries[0].shape == (-(-100000 // Machine.sum_block),)


@pytest.mark.parametrize("shape", [(30,), (13, 7), (25, 3)])
def test_a_loop_cut_at_the_border_is_done_in_blocks_too(shape):
    x = ordinary("f8", shape)
    program = split_index_sets(lowered(lambda x: (np.roll(x, 1, axis=0) * x).sum(), x), SMALL)
    program = assert_steps_agree(program, [x], block_reductions, SMALL)
    assert len(program.temporaries) == 1


def sums_of_slices(x, begins):
    out = np.empty(begins.size - 1)
    for i in range(begins.size - 1):
        out[i] = x[begins[i] : begins[i + 1]].sum()
    return out


def test_a_sum_stays_whose_length_a_statement_finds():
    x = ordinary("f8", (200,))
    begins = np.sort(np.random.default_rng(1).integers(0, 200, 90))
    options = {"machine": SMALL.machine}
    found = transpile.jit(sums_of_slices, compiler_options=options)(x, begins)
    np.testing.assert_allclose(found, sums_of_slices(x, begins), rtol=1e-14, atol=1e-14)


def sums_of_rests(x):
    total = 0.0
    for i in range(1, len(x)):
        total += x[i:].sum()
    return total


def test_a_sum_stays_whose_length_is_of_a_loop_over_a_size_that_may_be_0():
    """The loop's end is found by the program, so that its index has no known extent."""
    (n,) = transpile.dims("n", "n >= 0")
    function = transpile.jit(sums_of_rests, compiler_options={"machine": SMALL.machine})
    compiled = function.lower(transpile.ShapeDtypeStruct((n,), np.float64)).compile()
    for size in 0, 1, 2, 60:
        x = ordinary("f8", (size,))
        np.testing.assert_allclose(compiled(x), sums_of_rests(x), rtol=1e-13, atol=1e-13)
