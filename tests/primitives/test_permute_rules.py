"""Permute rules: a result with its axes in another order, from operands with theirs in others."""

from random import Random

import numpy as np
import pytest
from rule_cases import cases, dtypes_of
from rule_checks import seeded

from transpile.ir.primitive import TABLE
from transpile.ir.types import type_of

# What the rules of these are tried on is elsewhere: they have parameters of their own.
UNTRIED = ("random_gamma", "random_loggamma")
WITH_RULE = [name for name, p in TABLE.items() if p.permute is not None and name not in UNTRIED]


def drawn(primitive, dtype):
    """Operands and params; matrices, for primitives that work by elements."""
    for operands, params in cases(primitive, dtype, seeded()):
        if primitive.kind != "elementwise":
            yield operands, params
            continue
        if primitive.name == "convert_element_type":  # C converts what does not fit as it likes
            operands = [np.where(abs(x) < 100, abs(x), 0).astype(x.dtype) for x in operands]
        yield [np.stack([x, x[::-1]]) if x.ndim else x for x in operands], params


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("name", WITH_RULE)
def test_a_permuted_result_is_that_of_permuted_operands(name):
    primitive, random = TABLE[name], Random(name)
    tried = 0
    for dtype in dtypes_of(primitive):
        for operands, params in drawn(primitive, dtype):
            kinds = [type_of(x) for x in operands]
            (kind,) = primitive.result_types(kinds, params)
            order = tuple(random.sample(range(kind.ndim), kind.ndim))
            orders, permuted = primitive.permute(order, *kinds, **params)
            moved = [np.transpose(x, o) for x, o in zip(operands, orders, strict=True)]
            with np.errstate(all="ignore"):
                expected = np.transpose(primitive.numpy(*operands, **params), order)
                result = primitive.numpy(*moved, **permuted)
            assert result.dtype == expected.dtype
            np.testing.assert_array_almost_equal_nulp(*map(comparable, (result, expected)), 4)
            tried += 1
    assert tried


def comparable(x):
    """The numbers of an array; NaNs and infinities are equal to themselves."""
    return np.nan_to_num(x.astype("c16" if x.dtype.kind == "c" else "f8"), nan=7.0)


def test_primitives_by_elements_and_reductions_have_the_rule():
    for primitive in TABLE.values():
        if primitive.kind in ("elementwise", "reduce"):
            assert primitive.permute is not None, primitive


def test_primitives_whose_axes_are_not_alike_have_none():
    for name in ("reshape", "transpose", "gather", "sort", "cumsum", "dot_general", "fft"):
        assert TABLE[name].permute is None
