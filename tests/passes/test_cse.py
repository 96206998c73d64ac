"""Common subexpressions: equal computations are done once; those that differ anywhere are not."""

import numpy as np
from helpers import ordinary
from passes import SPECIAL, after

from transpile.passes.cse import eliminate_common_subexpressions

MATRIX = ordinary("f8", (3, 3))


def found(f, *args):
    return after(eliminate_common_subexpressions, f, *args)


def test_equal_expressions_are_computed_once():
    def f(x):
        return (np.sin(x) + 1) * (np.sin(x) + 1)

    assert found(f, SPECIAL) == ["sin", "add", "multiply"]


def test_other_operands_params_or_constants_are_other_values():
    assert found(lambda x: (x.sum(0), x.sum(1)), MATRIX).count("reduce_sum") == 2
    assert found(lambda x, y: (x - y, y - x), SPECIAL, SPECIAL[::-1].copy()) == ["subtract"] * 2
    assert found(lambda x: (x + 0.0, x + -0.0), SPECIAL) == ["add"] * 2
    assert (
        found(lambda x: (x.astype("f4"), x.astype("i1")), MATRIX).count("convert_element_type") == 2
    )


def test_equal_constants_are_one_value():
    def f(x):
        return np.copysign(x, np.array([1.0, -1.0, 0.0])) + np.copysign(
            x, np.array([1.0, -1.0, 0.0])
        )

    assert found(f, MATRIX).count("copysign") == 1


def test_equal_results_stay_two_results():
    assert found(lambda x: (np.sin(x), np.sin(x)), SPECIAL) == ["sin"]


def test_sums_and_products_do_not_depend_on_the_order_of_their_operands():
    other = SPECIAL[::-1].copy()
    assert found(lambda x, y: (x * y - y * x, x + y - (y + x)), SPECIAL, other) == [
        "multiply",
        "subtract",
        "add",
        "subtract",
    ]
