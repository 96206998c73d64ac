"""What the test that ends a loop chooses stands in its branch."""

import numpy as np
import pytest

import transpile
from transpile.ir.loop_ir import Apply, If, Update, While
from transpile.ir.loop_rewrite import walk


def loops_of(function, *args):
    program = transpile.jit(function).lower(*args).compiler_ir("loops")
    return [s for k in program.kernels for s in walk(k.body) if isinstance(s, While)]


def exits(loop):
    """How many branches set a variable that ends the loop."""
    ends = {
        part.args[0]
        for part in [loop.condition, *getattr(loop.condition, "args", ())]
        if isinstance(part, Apply) and part.op == "logical_not"
    }
    branches = [s for s in walk(loop.body) if isinstance(s, If)]
    return sum(isinstance(s, Update) and s.target in ends for b in branches for s in b.body)


def is_chosen(statement):
    value = getattr(statement, "value", None)
    return isinstance(value, Apply) and value.op == "select"


def marched(x, steps):
    t = 0.0
    count = 0
    for _ in range(steps):
        d = abs(np.cos(t) - x) / 2.0
        count += 1
        if d < 1e-3:
            break
        t += d
        if t > 3.0:
            t = -1.0
            break
    return t, count


def test_each_end_has_a_branch_and_the_next_iteration_waits_for_none():
    (loop,) = loops_of(marched, 0.5, 99)
    assert exits(loop) == 2 and not any(map(is_chosen, walk(loop.body)))
    compiled = transpile.jit(marched)
    for x in (-3.0, -1.0, 0.0, 0.5, 1.0, 7.0, np.nan):
        for steps in (0, 1, 2, 99):
            np.testing.assert_allclose(compiled(x, steps), marched(x, steps), rtol=1e-12)


def first_free(used, n):
    v = 1
    tries = 0
    while v <= n:
        tries += 1
        if not used & 1 << v:
            break
        v += 1
    return v, tries


def test_a_place_that_moves_until_the_end_moves_in_the_other_branch():
    (loop,) = loops_of(first_free, 0, 9)
    (branch,) = (s for s in loop.body if isinstance(s, If))
    assert exits(loop) == 1 and [s.value.args[1].value for s in branch.orelse] == [1]
    compiled = transpile.jit(first_free)
    for used in (0, 2, 6, 0b1011110, -1):
        for n in (-1, 0, 3, 9):
            assert compiled(used, n) == first_free(used, n)


def entangled(x, n):
    """Each variable is read by what sets the other, and the test by neither."""
    a, b = x, 1.0
    for i in range(n):
        near = abs(a - b) < 0.25
        a, b = (b, a) if near else (a * 0.5 + b, b + 0.125 * i)
        if near:
            break
    return a, b


def told_late(x, n):
    """The end's test is of what is chosen in the same iteration."""
    a = x
    for _ in range(n):
        a = 1.0 if a > 2.0 else a * 1.5
        if a == 1.0:
            break
    return a


def in_a_branch(x, n):
    a = x
    for i in range(n):
        if i % 2 == 1:
            if a > 5.0:
                break
            a += 2.0
        else:
            a *= 1.25
    return a


@pytest.mark.parametrize("function", [entangled, told_late, in_a_branch])
def test_what_is_read_in_between_is_what_it_was(function):
    compiled = transpile.jit(function)
    for x in (-2.0, 0.3, 1.0, 2.0, 4.0, 6.0):
        for n in (0, 1, 2, 3, 30):
            np.testing.assert_array_equal(compiled(x, n), function(x, n))


def test_a_loop_that_no_flag_ends_is_as_it_was():
    def halved(x):
        count = 0
        while x > 1.0:
            x = x - 3.0 if x > 4.0 else x * 0.5
            count += 1
        return x, count

    (loop,) = loops_of(halved, 9.0)
    assert any(map(is_chosen, walk(loop.body)))
