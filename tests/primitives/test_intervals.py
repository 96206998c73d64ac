"""Intervals of integer results hold every result of operands in their intervals."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

from transpile.ir.indices.intervals import full
from transpile.ir.primitive import TABLE

RULES = sorted(name for name in TABLE if TABLE[name].interval is not None)
DTYPES = ("bool", "int8", "uint8", "int64", "uint64")


def ends(dtype):
    """Numbers of a dtype, with those at its ends and around zero."""
    low, high = full(np.dtype(dtype))
    near = [
        x for x in (low, low + 1, -2, -1, 0, 1, 2, 7, 63, 64, high - 1, high) if low <= x <= high
    ]
    return st.one_of(st.sampled_from(near), st.integers(low, high))


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=tries(60))
@given(data=st.data())
@one_in(3)
def test_a_result_is_in_the_interval(name, data):
    primitive = TABLE[name]
    dtype = data.draw(st.sampled_from(DTYPES))
    assume(np.dtype(dtype).kind in primitive.dtypes)
    intervals, operands = [], []
    for _ in range(primitive.arity):
        low, high, value = sorted(data.draw(st.tuples(*[ends(dtype)] * 3)))
        value, high = data.draw(st.permutations([value, high]))
        low, value, high = sorted([low, value, high])
        intervals.append((low, high))
        operands.append(np.dtype(dtype).type(value))
    params = {"dtype": np.dtype("int64")} if name == "convert_element_type" else {}
    with np.errstate(all="ignore"):
        result = np.asarray(primitive.numpy(*operands, **params))
    found = primitive.interval(*intervals)
    whole = full(result.dtype)
    if found is not None and whole[0] <= found[0] and found[1] <= whole[1]:
        assert found[0] <= int(result) <= found[1], (operands, intervals)


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("add", [(1, 3), (-2, 5)], (-1, 8)),
        ("subtract", [(1, 3), (-2, 5)], (-4, 5)),
        ("multiply", [(-3, 2), (-5, 4)], (-12, 15)),
        ("floor_divide", [(-7, 7), (2, 3)], (-4, 3)),
        ("floor_divide", [(-7, 7), (-1, 1)], None),
        ("remainder", [(-7, 7), (1, 5)], (0, 4)),
        ("remainder", [(0, 3), (4, 9)], (0, 3)),
        ("remainder", [(0, 9), (-4, -2)], (-3, 0)),
        ("bitwise_and", [(-9, 9), (0, 7)], (0, 7)),
        ("bitwise_or", [(1, 4), (2, 9)], (2, 15)),
        ("right_shift", [(-9, 9), (1, 2)], (-5, 4)),
        ("left_shift", [(-1, 3), (0, 2)], (-4, 12)),
        ("logical_and", [(1, 5), (-2, 0)], (0, 1)),
        ("logical_not", [(3, 5)], (0, 0)),
    ],
)
def test_an_interval_is_no_wider_than_it_must_be(name, operands, expected):
    assert TABLE[name].interval(*operands) == expected
