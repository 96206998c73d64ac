"""Elements: subscripts that are values, what guards them, and arithmetic that needs no variable."""

import numpy as np
import pytest
from graphs import lowered, statements_of

from transpile import numpy as jnp
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.dims import Dim, Symbol
from transpile.ir.indices.values import as_index
from transpile.ir.loop_ir import Apply, Declare, IndexValue, Literal, Load
from transpile.ir.types import INT64
from transpile.primitives.indexing import PROMISED, gather
from transpile.trace.trace import bind

I = Dim.of(Symbol("i", 0, 10))


def whole(number):
    return Literal(np.int64(number), INT64)


def test_sums_and_multiples_of_loop_indices_are_index_arithmetic():
    i = IndexValue(I)
    assert as_index(whole(3)) == 3
    assert as_index(Apply("add", (Apply("multiply", (i, whole(2)), INT64), whole(1)), INT64)) == (
        I * 2 + 1
    )
    assert as_index(Apply("subtract", (whole(9), i), INT64)) == 9 - I
    assert as_index(Apply("multiply", (i, i), INT64)) is None
    assert as_index(Load("x", (I,), INT64)) is None
    assert as_index(Literal(np.float64(1), np.dtype(float))) is None


def subscripts(program):
    return [d for d in statements_of(program, Declare) if d.symbol is not None]


def test_value_that_is_arithmetic_needs_no_variable():
    x = np.arange(12.0).reshape(4, 3)
    program = lowered(lambda x: x[np.arange(3), np.arange(3)] * 2, x)
    assert not subscripts(program)
    np.testing.assert_array_equal(run(program, [x])[0], np.diag(x) * 2)


def test_one_array_of_indices_is_read_once_for_all_that_it_indexes():
    x, i = np.arange(5.0), np.array([4, 0, 9, -1])
    program = lowered(lambda x, y, i: x[i] * y[i], x, x, i)
    assert len(subscripts(program)) == 1


def test_index_under_a_pad_is_read_only_where_there_is_one():
    x, i = np.arange(5.0), np.array([4, 0])
    program = lowered(lambda x, i: np.pad(x[i], 3), x, i)  # run would refuse i[-3]
    np.testing.assert_array_equal(run(program, [x, i])[0], np.pad(x[i], 3))
    joined = lowered(lambda x, i: np.concatenate([x, x[i], x[i] * 2]), x, i)
    np.testing.assert_array_equal(run(joined, [x, i])[0], [*x, 4, 0, 8, 0])


def test_indices_of_indices_are_read_in_order():
    x, i, j = np.arange(5.0), np.array([4, 0, 2]), np.array([2, 2, 0, 1])
    program = lowered(lambda x, i, j: x[i[j]], x, i, j)
    np.testing.assert_array_equal(run(program, [x, i, j])[0], x[i[j]])


def test_promised_indices_are_not_checked():
    x, i = np.arange(5.0), np.array([4, 0])
    program = lowered(lambda x, i: bind(gather, x, i, axes=(0,), mode=PROMISED), x, i)
    (declared,) = subscripts(program)
    assert isinstance(declared.value, Load)
    np.testing.assert_array_equal(run(program, [x, i])[0], [4, 0])


@pytest.mark.parametrize("combine", ["add", "set"])
def test_scatter_to_subscripts_that_meet_is_no_independent_loop(combine):
    """x[i + j] for two loops i and j: each alone would look as if its elements were its own."""
    from_both = np.arange(3)[:, None] + np.arange(4)
    x, v = np.zeros(6), np.arange(12.0).reshape(3, 4)

    def update(x, v):
        rows = jnp.arange(3) + (x[0] * 0).astype(int)
        places = rows[:, None] + np.arange(4)
        return getattr(x.at[places], combine)(v)

    program = lowered(update, x, v)
    want = x.copy()
    if combine == "add":
        np.add.at(want, from_both, v)
    else:
        want[from_both] = v
    np.testing.assert_array_equal(run(program, [x, v])[0], want)
