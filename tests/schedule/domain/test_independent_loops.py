"""Loops of Python are independent where no two iterations meet, and only there."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from graphs import loops_of
from thorough import one_in
from user_loops import (
    apart,
    below_pivots,
    chained,
    counted,
    iterated,
    last_of,
    numbered,
    pairs,
    prefixes,
    scattered,
    shifted_in_place,
    sums_of_rows,
    swept,
    tallied,
    tallied_in_order,
)

import transpile
from transpile.ir.dims import Dim, Symbol, evaluate
from transpile.ir.loop_ir import Buffer, For, Kernel, Load, Program, Store
from transpile.ir.types import FLOAT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.domain.independent_loops import find_independent_loops
from transpile.tree import leaves

pytestmark = pytest.mark.full_level

I, K = (Dim.of(Symbol(name)) for name in "ik")


def drawn_nest(random):
    """A nest of two loops of the user's that assigns to an element, and reads one: the program, and
    the trip counts, the second of which may depend on the first loop."""
    stop = random.randint(1, 5)
    inner = random.choice([3, 4, I + 1, I * -1 + 5, I * 2 + 1])
    start = random.choice([0, 0, I, I + 1])

    def subscript():
        index = I * random.choice([0, 1, 1, 2, 3, 4]) + K * random.choice([0, 0, 1, 1, 2, -1])
        return index + random.randint(10, 12)

    write, *reads = [(subscript(), subscript()) for _ in range(random.randint(2, 3))]
    reads.append(tuple(s + random.randint(-1, 1) for s in write))
    value = Load("a", random.choice(reads), FLOAT64)
    store = Store("a", write, value)
    loop = For(Symbol("k"), start + inner, (store,), start=start, ordered=True)
    nest = For(Symbol("i"), stop, (loop,), ordered=True)
    out = Buffer("a", (64, 64), FLOAT64)
    return Program("drawn", (), (out,), (Kernel("drawn_1", (nest,)),)), value.index


def accesses(loop, given, inside):
    """{iteration: (elements read, elements written)} of a loop, by running through it."""
    found = {}
    start, stop = (evaluate(i, given) for i in (loop.start, loop.stop))
    for number in range(start, stop):
        values = {**given, loop.symbol.name: number}
        read, written = found.setdefault(number, (set(), set()))
        for statement in loop.body:
            if isinstance(statement, For):
                for r, w in accesses(statement, values, inside).values():
                    read |= r
                    written |= w
            else:
                read.add(tuple(evaluate(i, values) for i in inside))
                written.add(tuple(evaluate(i, values) for i in statement.index))
    return found


def meet(found):
    """Whether an iteration writes what another one reads or writes."""
    pairs = ((a, b) for a in found for b in found if a != b)
    return any(found[a][1] & (found[b][0] | found[b][1]) for a, b in pairs)


def test_what_is_marked_never_meets():
    """By running through drawn nests. Most of those that never meet are found, too."""
    random, right, missed = Random(8), 0, 0
    for _ in range(600):
        program, read = drawn_nest(random)
        outer, inner = loops_of(find_independent_loops(program, Options()))
        is_apart = not meet(accesses(outer, {}, read))
        each = [accesses(inner, {"i": i}, read) for i in range(outer.stop)]
        for loop, truth in ((outer, is_apart), (inner, not any(map(meet, each)))):
            assert truth or not loop.independent, (program, read)
            right += loop.independent
            missed += truth and not loop.independent
    assert right > missed, (right, missed)


# How long x is, so that Python does not unroll the loop; its range, and whether threads share it.
LOOPS = {
    apart: (100, "0..100", True),
    sums_of_rows: (100, "0..4", True),  # in strips, as below
    prefixes: (100, "0..100", True),
    below_pivots: (100, "0..-i + 99", True),
    pairs: (100, "0..100", True),
    iterated: (100, "0..4", True),
    chained: (100, "0..99", False),
    swept: (100, "0..98", False),
    shifted_in_place: (300, "0..299", False),
    scattered: (100, "0..20", False),  # in blocks of 5, as y is read
    counted: (100, "0..2", False),  # in blocks of 64, whose conditions lanes compute
    last_of: (300, "0..300", False),
    tallied_in_order: (100, "0..100", False),
    numbered: (100, "0..100", False),
}


@pytest.mark.parametrize("function", LOOPS)
@one_in(3)
def test_threads_share_loops_of_python_that_are_independent(function):
    random, (length, extent, is_shared) = np.random.default_rng(3), LOOPS[function]
    x, y = random.normal(size=length), random.normal(size=101)
    options = {"machine": Machine(least_parallel_work=1, fewest_shared=2), "num_threads": 2}
    jitted = transpile.jit(function, compiler_options=options)
    lines = jitted.lower(x, y).as_text("loops").splitlines()
    loops = [line for line in lines if f" in {extent}" in line and "simd" not in line]
    assert any("parallel" in line for line in loops) == is_shared, lines
    assert is_shared or loops, lines
    expected = function(x.copy(), y.copy())
    for _ in range(5):
        for one, other in zip(leaves(jitted(x.copy(), y.copy())), leaves(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_integers_have_the_same_sum_in_any_order():
    x = np.random.default_rng(3).normal(size=400)
    jitted = transpile.jit(tallied)
    assert "simd add:n2" in jitted.lower(x, x).as_text("loops")
    assert jitted(x, x)[1] == (x > 0).sum()


def test_a_guard_counts_what_depends_on_the_loop_around():
    """Rows below a pivot are shared where there are many, and one thread takes the last ones."""
    options = {"num_threads": 2, "machine": Machine(least_parallel_work=50_000)}
    jitted = transpile.jit(below_pivots, compiler_options=options)
    x, y = np.random.default_rng(4).normal(size=(2, 130))
    assert "parallel for num_threads(2) if(parallel: 8 * i * i" in jitted.lower(x, y).as_text("c")
    found = jitted(x, y)
    product = (np.tril(found, -1) + np.eye(130)) @ np.triu(found)
    np.testing.assert_allclose(product, np.outer(x, y) + 9 * np.eye(130), atol=1e-12)


def up_to(x, count):
    out = np.zeros(1000)
    for i in range(count):
        for j in range(len(x)):
            out[i] += x[j] * i
    return out


def test_a_loop_that_ends_at_a_value_asks_for_it():
    jitted = transpile.jit(up_to, compiler_options={"num_threads": 2})
    x = np.arange(3000.0)
    for count in (0, 1, 5, 1000):
        np.testing.assert_allclose(jitted(x, count), up_to(x, count))
