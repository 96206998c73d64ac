"""Expensive nests over short rows are coalesced a block of rows at a time, and results stay."""

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered, statements_of
from thorough import one_in

from transpile import jit
from transpile.ir.loop_ir import For
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule import SCHEDULE
from transpile.schedule.domain.short_rows import coalesce_short_rows

pytestmark = pytest.mark.full_level

OPTIONS = Options(machine=Machine(packed_block=20))


def before(f, *args):
    """The loops as the pass gets them."""
    program = lowered(f, *args)
    for loop_pass, _ in SCHEDULE:
        if loop_pass is coalesce_short_rows:
            return program
        program = loop_pass(program, OPTIONS)
    raise AssertionError("coalesce_short_rows is not in SCHEDULE")


def step(program, options):
    return coalesce_short_rows(program, OPTIONS)


def numbers(*shape, dtype="f8"):
    return np.random.default_rng(sum(shape)).uniform(0.5, 2, shape).astype(dtype)


def by_row(x, y):
    return np.arctan2(x, y)


def by_column(x, y):
    return np.exp(x[:, :1]) * np.power(x, 1.5) + y


def with_subscripts(x, y):
    return np.power(x, np.arange(x.shape[1]) + y)


def two_results(x, y):
    e = np.exp(x * y)
    return e, e > 2, (e + 1).astype(np.float32)


@pytest.mark.parametrize("f", [by_row, by_column, with_subscripts, two_results])
@pytest.mark.parametrize("shape", [(3, 5), (4, 5), (23, 5), (40, 3), (7, 29)])
def test_short_rows_become_long_loops(f, shape):
    x, y = numbers(*shape), numbers(shape[1])
    program = before(f, x, y)
    after = assert_steps_agree(program, [x, y], step)
    innermost = [s for s in statements_of(after, For) if not statements_of_body(s)]
    height = min(shape[0], max(1, 20 // shape[1]))
    assert height * shape[1] in {loop.extent for loop in innermost}


def statements_of_body(loop):
    return [s for s in loop.body if isinstance(s, For)]


@pytest.mark.parametrize("layout", ["rows", "columns", "gaps", "reversed"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4"])
@pytest.mark.parametrize("shape", [(1000, 5), (6, 50, 3)])
@one_in(5)
def test_compiled_programs_have_the_same_results(layout, dtype, shape):
    x = (numbers(*shape) * 3).astype(dtype)
    wide = np.zeros((*shape[:-1], shape[-1] + 3), dtype)
    wide[..., 1:-2] = x
    x = {
        "rows": x,
        "columns": np.asfortranarray(x),
        "gaps": wide[..., 1:-2],
        "reversed": x[::-1],
    }[layout]
    y = (numbers(shape[-1]) * 2).astype(dtype)
    want = np.arctan2(x, y)
    np.testing.assert_allclose(jit(by_row)(x, y), want, rtol=4 * np.finfo(want.dtype).eps)


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (lambda x, y: x * y, (40, 5)),  # cheap
        (by_row, (40, 8)),  # a vector
        (by_row, (40, 45)),  # more than a few
        (lambda x, y: np.sum(np.exp(x * y), axis=1), (40, 5)),  # a reduction
        (lambda x, y: np.pad(np.exp(x), 1) * 2, (40, 5)),  # elements that are not there
    ],
)
def test_other_nests_stay(f, shape):
    program = before(f, numbers(*shape), numbers(shape[1]))
    after = coalesce_short_rows(program, OPTIONS)
    assert after is program
