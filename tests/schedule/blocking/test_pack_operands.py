"""Transposed right operands: which are packed before a loop, and that results stay."""

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered, statements_of

from transpile import jit, lax
from transpile.intrinsics.products import Matmul
from transpile.ir.loop_ir import Store
from transpile.ir.loop_rewrite import walk
from transpile.options import Options
from transpile.schedule.blocking.pack_operands import pack_operands

pytestmark = pytest.mark.full_level

LENGTH = 5


def signs(*shape):
    """Numbers whose sums have the same bits in any order."""
    return np.random.default_rng(sum(shape)).integers(-1, 2, shape).astype("f8")


X, SQUARE, WIDE, STACK = signs(8, 16), signs(16, 16), signs(24, 16), signs(LENGTH, 16, 16)


def in_scan(w, x):
    def step(x, _):
        return np.sign(x @ w.T) @ w, None

    return lax.scan(step, x, None, length=LENGTH)[0]


def twice(w, x):
    """The same operand, turned once for both products."""
    return lax.fori_loop(0, LENGTH, lambda _, x: np.sign((x @ w.T) + (-x @ w.T)[::-1]), x)


def in_while(w, x):
    def step(state):
        count, x = state
        return count + 1, np.sign(x @ w.T)

    return lax.while_loop(lambda state: state[0] < LENGTH, step, (0, x))[1]


def in_nested(w, x):
    def step(x, v):
        return lax.fori_loop(0, 2, lambda _, x: np.sign(x @ w.T @ v.T), x), None

    return lax.scan(step, x, STACK)[0]


def in_branch(w, x):
    def step(i, x):
        return lax.cond(i % 2 == 0, lambda x: np.sign(x @ w.T), lambda x: -x, x)

    return lax.fori_loop(0, LENGTH, step, x)


def of_stack(w, x):
    """One of a stack, chosen before the loop."""
    return lax.fori_loop(0, LENGTH, lambda _, x: np.sign(x @ w[2].T), x)


def moving(w, x):
    """Another operand in each iteration."""
    return lax.scan(lambda x, v: (np.sign(x @ v.T), None), x, w)[0]


def carried(w, x):
    """An operand that the loop changes."""

    def step(_, state):
        w, x = state
        return np.sign(w + np.eye(16)[::-1]), np.sign(x @ w.T)

    return lax.fori_loop(0, LENGTH, step, (w, x))[1]


def part(w, x):
    """Some columns of rows that are longer."""
    return lax.fori_loop(0, LENGTH, lambda _, x: np.sign(x @ w[:16, :16].T), x)


def as_it_is(w, x):
    """Rows are where they should be."""
    return lax.fori_loop(0, LENGTH, lambda _, x: np.sign(x @ w), x)


def without_loop(w, x):
    return x @ w.T


# The function, its first argument, and how many arrays are turned before a loop.
CASES = [
    (in_scan, WIDE, 1),
    (twice, SQUARE, 1),
    (in_while, SQUARE, 1),
    (in_nested, SQUARE, 2),
    (in_branch, SQUARE, 1),
    (of_stack, STACK, 1),
    (moving, STACK, 0),
    (carried, SQUARE, 0),
    (part, signs(20, 20), 0),
    (as_it_is, SQUARE, 0),
    (without_loop, SQUARE, 0),
]


def turned_products(program):
    """The products whose right operand lies the other way round."""
    return [c for c in statements_of(program, Matmul) if c.b.strides[-1] != 1]


@pytest.mark.parametrize(("f", "w", "count"), CASES, ids=[f.__name__ for f, _, _ in CASES])
def test_operands_that_stay_the_same_are_turned_before_the_loop(f, w, count):
    before = lowered(f, w, X)
    if count == 0:
        assert pack_operands(before, Options()) == before
    else:
        after = assert_steps_agree(before, [w, X], pack_operands)
        assert len([b for b in after.temporaries if b not in before.temporaries]) == count
        assert turned_products(before)
        assert not turned_products(after)


def test_what_only_the_inner_loop_keeps_is_turned_in_the_outer_one():
    after = pack_operands(lowered(in_nested, SQUARE, X), Options())
    first, outer = (s for k in after.kernels for s in k.body if made_in(s))
    assert made_in(first) == {"x0_turned"}
    assert outer.ordered
    inner = [s for s in outer.body if made_in(s)]
    assert len(inner) == 1
    assert not inner[0].ordered


def made_in(statement):
    """The turned operands that a statement makes."""
    stores = (s for s in walk((statement,)) if isinstance(s, Store))
    return {s.buffer for s in stores if s.buffer.endswith("_turned")}


def test_a_blas_turns_what_it_needs():
    before = lowered(in_scan, WIDE, X)
    assert pack_operands(before, Options(blas="auto")) == before


@pytest.mark.parametrize("f", [in_nested, in_branch], ids=["in_nested", "in_branch"])
def test_the_numbers_of_compiled_programs_are_right(f):
    np.testing.assert_array_equal(jit(f)(SQUARE, X), f(SQUARE, X))


@pytest.mark.parametrize(("n", "dtype"), [(17, "f8"), (70, "f4")])
def test_results_have_the_bits_of_a_product_alone(n, dtype):
    random = np.random.default_rng(n)
    w, x = random.standard_normal((n, n)).astype(dtype), random.standard_normal((9, n))
    x = x.astype(dtype)
    product = jit(lambda w, x: x @ w.T)
    looped = jit(lambda w, x: lax.fori_loop(0, 3, lambda _, x: x @ w.T, x))
    alone = x
    for _ in range(3):
        alone = product(w, alone)
    assert looped(w, x).tobytes() == alone.tobytes()
