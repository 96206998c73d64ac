"""Barriers: they keep equal computations apart until those are merged, and leave no trace."""

import numpy as np
from passes import after, names

import transpile
from transpile.passes import PASSES, optimise
from transpile.passes.barriers import remove_barriers
from transpile.passes.cse import eliminate_common_subexpressions
from transpile.primitives.rules import apply

X = np.array([0.5, -1.0, 2.0])


def test_what_stands_behind_a_barrier_reads_what_stands_before():
    guarded = lambda x: np.sin(apply("optimization_barrier", np.cos(x)))
    assert after(remove_barriers, guarded, X) == ["cos", "sin"]
    assert after(remove_barriers, lambda x: apply("optimization_barrier", x), X) == []


def test_equal_computations_on_both_sides_stay_two():
    again = lambda x: np.sin(x) * np.sin(apply("optimization_barrier", x))
    assert names(optimise(transpile.make_jaxpr(again)(X))) == ["sin", "sin", "multiply"]
    order = [transform for transform, _ in PASSES]
    assert order.index(eliminate_common_subexpressions) < order.index(remove_barriers)
    assert eliminate_common_subexpressions not in order[order.index(remove_barriers) :]


def test_a_barrier_before_a_product_is_no_copy():
    matrix = np.arange(9.0).reshape(3, 3)
    product = lambda x, y: apply("optimization_barrier", x) @ y
    plain = transpile.jit(lambda x, y: x @ y).lower(matrix, matrix).compile()
    found = transpile.jit(product).lower(matrix, matrix).compile()
    kept = [c.memory_analysis().temp_size_in_bytes for c in (plain, found)]
    assert kept[0] == kept[1]
    np.testing.assert_array_equal(found(matrix, matrix), matrix @ matrix)
