"""XLA computes by the modules of drawn graphs, with loops and branches in some, what they mean.

The text and the message of each are one module to XLA; the message and StableHLO are both run. The
numbers are exact in any order of the sums.
"""

from random import Random

import numpy as np
import pytest
from graphs import assert_same_results, random_graph
from loop_graphs import random_loops
from thorough import THOROUGH

from transpile import lax, xla_computation
from transpile.hlo.emit import module_of
from transpile.hlo.proto import serialised
from transpile.hlo.stablehlo import to_stablehlo
from transpile.hlo.text import to_text
from transpile.primitives.rules import apply
from transpile.transforms.interpret import interpret

pytest.importorskip("jaxlib")
import xla

COUNT = 400 if THOROUGH else 24


@pytest.mark.parametrize("seed", range(COUNT))
def test_drawn_graphs_mean_the_same_to_xla(seed):
    graph, values = random_loops(Random(seed)) if seed % 4 == 3 else random_graph(seed)
    module = module_of(graph, "drawn")
    text, proto = to_text(module), serialised(module)
    assert xla.printed_text(text) == xla.printed(proto)
    expected = interpret(graph, values)
    assert_same_results(xla.run_proto(proto, values), expected, "the message")
    assert_same_results(xla.run_stablehlo(to_stablehlo(module), values), expected, "StableHLO")


def test_a_slice_of_a_slice_that_begins_too_far():
    """XLA makes one slice of both, whose start is the sum of theirs."""

    def f(x, i):
        inner = lax.dynamic_slice(x, (i,), (4,))
        return lax.dynamic_slice(inner, (i + 5,), (2,))

    x, i = np.arange(7), np.int64(0)
    (found,) = xla.run_stablehlo(xla_computation(f)(x, i).as_stablehlo_text(), [x, i])
    assert found.tolist() == [2, 3]


def test_a_range_of_bools():
    index = lambda: apply("iota", shape=(2, 3), dimension=1, dtype=np.dtype(bool))
    computation = xla_computation(index)()
    (found,) = xla.run_stablehlo(computation.as_stablehlo_text(), [])
    assert found.tolist() == [[False, True, True]] * 2


def test_a_scan_of_no_steps():
    def f(x):
        return lax.scan(lambda c, row: (c + row.sum(), row * 2), 1.0, x)

    x = np.zeros((0, 3))
    carry, rows = xla.run_stablehlo(xla_computation(f)(x).as_stablehlo_text(), [x])
    assert carry == 1 and rows.shape == (0, 3)
