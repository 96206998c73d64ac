"""Temporaries whose live ranges overlap never share memory, others do."""

import numpy as np
import pytest
from graphs import lowered
from helpers import ordinary

from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.loop_rewrite import used_buffers
from transpile.options import Options
from transpile.schedule.memory_plan import ALIGNMENT, plan_memory

pytestmark = pytest.mark.full_level


def chain(turns):
    """Each step needs the whole of the one before."""

    def f(x):
        for _ in range(turns):
            x = np.sin(x + x.sum(axis=0, keepdims=True).T)
        return x

    return f


X = ordinary("f8", (9, 9))


@pytest.mark.parametrize("turns", [1, 3, 12])
def test_a_long_chain_takes_the_memory_of_a_short_one(turns):
    program = plan_memory(lowered(chain(turns), X), Options())
    assert program.workspace <= 4 * (9 * 9 * 8 + ALIGNMENT)
    (found,) = run(program, [X])  # raises where one temporary destroys another
    np.testing.assert_allclose(found, chain(turns)(X), rtol=1e-12)


def test_places_are_aligned_and_apart():
    def f(x):
        parts = [np.cumsum(np.sin(x + k), axis=0) for k in range(5)]
        return [p.T @ p for p in parts]

    program = plan_memory(lowered(f, X), Options())
    lives = {}
    for position, kernel in enumerate(program.kernels):
        for name in used_buffers(kernel)[0]:
            lives[name] = (lives.get(name, (position, 0))[0], position)
    places = [
        (offset, offset + b.size_in_bytes, *lives[b.name])
        for b, offset in zip(program.temporaries, program.offsets, strict=True)
    ]
    assert [b.shape for b in program.temporaries] == [X.shape] * 5
    assert all(low % ALIGNMENT == 0 and high <= program.workspace for low, high, _, _ in places)
    for a in places:
        for b in places:
            alive = a[2] <= b[3] and b[2] <= a[3]
            assert a is b or not alive or a[1] <= b[0] or b[1] <= a[0]


def test_a_program_without_temporaries_needs_no_workspace():
    assert plan_memory(lowered(np.sin, X), Options()).workspace == 0
