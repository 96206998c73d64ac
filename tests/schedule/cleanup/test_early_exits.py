"""What the test that ends a loop chooses stands in its branch."""

import numpy as np
import pytest

import transpile
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    If,
    Kernel,
    Literal,
    Program,
    Ref,
    Store,
    Update,
    While,
)
from transpile.ir.loop_rewrite import walk
from transpile.ir.types import BOOL, INT64
from transpile.options import Options
from transpile.schedule.cleanup.exit_tests import end_at_tests


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


def one_test(x, y, ends, counts):
    """The lines of Bresenham: what stands before the test is done in the last iteration, too."""
    for k in range(len(x)):
        i = x[k]
        j = y[k]
        while True:
            counts[i, j] += 1
            if i == ends[k]:
                break
            if j < 3:
                j += 1
            i += 1


def test_a_loop_until_a_flag_is_set_ends_at_its_test():
    x, y, ends = np.array([0, 2, 5]), np.array([3, 0, 1]), np.array([4, 2, 7])
    (loop,) = loops_of(one_test, x, y, ends, np.zeros((8, 4), np.int64))
    assert loop.test and loop.body and not exits(loop)
    counts, expected = np.zeros((8, 4), np.int64), np.zeros((8, 4), np.int64)
    one_test(x, y, ends, expected)
    transpile.jit(one_test)(x, y, ends, counts)
    assert counts.tolist() == expected.tolist()


def test_a_test_at_the_end_is_the_condition_there():
    """What an iteration does behind the test, it does before it where that reads none of it."""

    def popped(stack, height, until):
        count = 0
        while True:
            height -= 1
            top = stack[height]
            stack[height] = -1
            count += 1
            if top == until:
                break
        return height, count

    (loop,) = loops_of(popped, np.arange(9), 9, 3)
    assert loop.test and not exits(loop)
    for height, until in ((9, 3), (9, 8), (4, 0), (1, 0)):
        mine, theirs = np.arange(9), np.arange(9)
        assert transpile.jit(popped)(mine, height, until) == popped(theirs, height, until)
        assert mine.tolist() == theirs.tolist()


def test_both_ends_of_a_branch_and_what_follows_it():
    """Where the loop goes on in the branch, where its last iteration counts, too, and where a flag
    is read behind the loop."""

    def searched(x, start):
        i = start
        steps = 0
        found = False
        while not found:
            value = x[i]
            steps += 1
            if value < 5:
                i += 1
                steps += value
            else:
                found = True
                steps += 100
        return i, steps, found

    x = np.array([1, 4, 2, 7, 0, 9, 3])
    for start in (0, 3, 4, 5):
        assert transpile.jit(searched)(x, start) == searched(x, start)


def test_what_the_last_iteration_assigns_stays_where_only_it_has_it():
    """The branch that ends the loop reads what the iteration declares."""

    def last_seen(x, i):
        seen = -1
        count = 0
        while True:
            value = x[i] * 3
            x[i] = 0
            count += 1
            if value > 10:
                seen = value
                break
            i += value % 3 + 1
        return seen, count

    for start in (0, 1, 3):
        mine, theirs = np.array([1, 2, 3, 4, 5]), np.array([1, 2, 3, 4, 5])
        assert transpile.jit(last_seen)(mine, start) == last_seen(theirs, start)
        assert mine.tolist() == theirs.tolist()


def test_a_loop_that_counts_as_well_keeps_its_flag():
    def nearest(x, steps):
        t = 1.0
        for _ in range(steps):
            t = (t + x / t) / 2.0
            if abs(t * t - x) < 1e-3:
                break
        return t

    (loop,) = loops_of(nearest, 2.0, 40)
    assert not loop.test
    for steps in (0, 1, 2, 40):
        np.testing.assert_allclose(transpile.jit(nearest)(2.0, steps), nearest(2.0, steps))


def program_of(*body):
    return Program("f", (), (), (Kernel("k", body),))


def loop_to(flag, *body):
    return While(Apply("logical_not", (flag,), BOOL), body)


def test_flags_that_are_asked_elsewhere():
    """One that is read before its loop, set at its beginning, set twice, or that the loop reads,
    stays; one that is read behind the loop is set there."""
    flag, near, i = Ref("stop", BOOL), Ref("near", BOOL), Ref("i", INT64)
    yes, no, one = (Literal(np.bool_(v), BOOL) for v in (True, False, True))
    begin, change = Declare("stop", no, constant=False), Update(i, "add", Ref("d", INT64))
    setting = Update(flag, "set", yes)
    branch = If(near, (setting,), (change,))

    def after(*body):
        (kernel,) = end_at_tests(program_of(*body), Options()).kernels
        return kernel.body

    go_on = Apply("logical_not", (near,), BOOL)
    assert after(begin, loop_to(flag, branch)) == (While(go_on, (change,)),)
    assert after(begin, loop_to(flag, change, branch)) == (While(go_on, (change,), (change,)),)
    read = Declare("a", flag)
    assert after(begin, loop_to(flag, branch), read) == (
        begin,
        While(go_on, (change,)),
        setting,
        read,
    )
    negated = If(near, (change,), (setting, change))
    assert after(begin, loop_to(flag, negated)) == (While(near, (change,)), change)
    noted = Update(flag, "bitwise_or", near)
    assert after(begin, loop_to(flag, change, noted)) == (While(go_on, (), (change,)),)
    both = Apply("logical_or", (Apply("logical_or", (near, flag), BOOL), flag), BOOL)
    assert after(begin, loop_to(flag, change, Update(flag, "set", both))) == (
        While(go_on, (), (change,)),
    )
    known = Update(flag, "set", Apply("not_equal", (flag, near), BOOL))
    unlike = Apply("logical_not", (Apply("not_equal", (no, near), BOOL),), BOOL)
    assert after(begin, loop_to(flag, change, known)) == (While(unlike, (), (change,)),)
    changes_test = Update(near, "set", one)
    for kept in (
        (begin, read, loop_to(flag, branch)),
        (Declare("stop", yes, constant=False), loop_to(flag, branch)),
        (begin, setting, loop_to(flag, branch)),
        (begin, loop_to(flag, branch, branch)),
        (begin, loop_to(flag, read, branch)),
        (begin, loop_to(flag, noted, changes_test)),
        (begin, loop_to(flag, If(near, (branch,)))),
        (begin, loop_to(flag, branch, Store("x", (), i))),
        (loop_to(flag, branch),),
    ):
        assert after(*kept) == kept


def test_arms_that_leave_their_scope_have_names_of_their_own():
    flag, near, i, d = Ref("stop", BOOL), Ref("near", BOOL), Ref("i", INT64), Ref("d", INT64)
    no, yes = (Literal(np.bool_(v), BOOL) for v in (False, True))
    begin, setting = Declare("stop", no, constant=False), Update(flag, "set", yes)
    before, inside = Declare("t", Apply("add", (i, d), INT64)), Declare("t", d)
    change = Update(i, "add", Ref("t", INT64))
    kernel = program_of(begin, loop_to(flag, before, If(near, (setting,), (inside, change))))
    ((loop,),) = [k.body for k in end_at_tests(kernel, Options()).kernels]
    declared, added = loop.body
    assert loop.test == (before,) and declared.name != "t"
    assert added == Update(i, "add", Ref(declared.name, INT64))
    # The arm in which the loop ends reads a constant of the iteration: it stays where that is.
    last = program_of(begin, loop_to(flag, before, If(near, (change, setting), ())))
    assert end_at_tests(last, Options()) == last


def of_two_tests(x, s):
    """The second test sets the flag, or leaves it as it is."""
    c = 0
    while True:
        c += 1
        if c > 40:
            break
        if c > 7 or max(s, x[0]) < 1.25:
            break
    return c


def test_a_flag_that_is_kept_where_it_is_set_is_not_read():
    compiled = transpile.jit(of_two_tests)
    x = np.array([0.5])
    for s in (2.0, -2.0, 0.0):
        assert compiled(x, s) == of_two_tests(x, s)
