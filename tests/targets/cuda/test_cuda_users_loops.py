"""Loops of Python on a GPU: the grid shares those whose iterations do not meet."""

import re

import numpy as np
import pytest
import user_loops
from cuda_programs import WIDE, results
from thorough import one_in

import transpile
from transpile.targets.cuda.gpu import Gpu
from transpile.tree import leaves

NAMES = [name for name, value in vars(user_loops).items() if callable(value)]
# Each iteration waits for the one before.
IN_ORDER = (
    *("chained", "shifted_in_place", "scattered", "counted", "swept", "last_of"),
    *("tallied_in_order", "numbered"),
)
ROWS = re.compile(r"for \(int \w+ = \d; \w+ < (3000|2999|2998);")
GPUS = {"wide": WIDE, "few": Gpu(block=64, most_blocks=3, least_grid_work=1)}


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", NAMES)
@one_in(3)
def test_loops_of_python_give_python_s_results(name, gpu):
    function = getattr(user_loops, name)
    random = np.random.default_rng(7)
    x, y = random.normal(size=120), random.normal(size=121)
    stage = transpile.jit(function).lower(x.copy(), y)._lowering
    values = [x.copy(), y][: len(stage.graph.inputs)]
    found = results(stage, values, GPUS[gpu])
    expected = leaves(function(x.copy(), y))
    for one, other in zip(found, expected, strict=False):  # then those that are as they were
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", NAMES)
@one_in(3)
def test_the_grid_shares_what_does_not_meet(name):
    x, y = np.ones(3000), np.ones(3001 if name == "below_pivots" else 400)
    text = transpile.jit(getattr(user_loops, name)).lower(x, y).as_text("cuda")
    assert bool(ROWS.search(text)) == (name in IN_ORDER), text
