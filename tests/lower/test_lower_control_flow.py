"""Loops and branches of the user's as statements."""

import numpy as np
from graphs import lowered, statements_of
from helpers import ordinary

import transpile
from transpile import lax
from transpile.ir.loop_ir import Apply, Declare, For, If, Ref, Store, Swap, Update, While
from transpile.ir.loop_rewrite import walk

V = ordinary("f8", (40,))


def body_of(f, *args):
    (kernel,) = lowered(f, *args).kernels
    return kernel.body


def test_a_number_of_a_carry_is_declared_changed_and_given_as_result():
    def f(x):
        return lax.fori_loop(0, 5, lambda i, c: c * x, 1.0)

    declared, loop, result = body_of(f, 1.5)
    assert isinstance(declared, Declare) and not declared.constant
    assert (loop.start, loop.stop, loop.ordered, loop.independent) == (0, 5, True, False)
    (update,) = loop.body
    assert isinstance(update, Update) and update.op == "multiply"
    assert isinstance(result, Store) and result.value == Ref(declared.name, np.dtype("f8"))


def test_bounds_that_are_values_are_variables():
    def f(x, low, high):
        return lax.fori_loop(low, high, lambda i, c: c * x, 1.0)

    body = body_of(f, 1.5, 2, 5)
    bounds = [s for s in body if isinstance(s, Declare) and s.symbol is not None]
    (loop,) = [s for s in body if isinstance(s, For)]
    assert [str(loop.start), str(loop.stop)] == [bound.name for bound in bounds]


def test_buffers_are_exchanged_after_each_iteration_of_what_reads_its_neighbours():
    def f(x):
        return lax.fori_loop(0, 5, lambda i, x: np.roll(x, 1) * 2, x)

    program = lowered(f, V)
    (loop,) = [s for s in statements_of(program, For) if s.ordered]
    assert isinstance(loop.body[-1], Swap)
    assert len(statements_of(program, Swap)) == 2  # and once more: five exchanges, and one back


def test_a_condition_is_computed_before_each_iteration():
    def f(x):
        return lax.while_loop(lambda c: (c * c).sum() < 100, lambda c: c * 1.5, x)

    (loop,) = [s for s in body_of(f, V) if isinstance(s, While)]
    assert any(isinstance(s, For) for s in loop.test)
    assert isinstance(loop.condition, Apply) and loop.condition.op == "less"


def test_iterations_that_share_nothing_are_independent():
    def f(x):
        return lax.map(lambda r: lax.while_loop(lambda c: c < 9, lambda c: c * 2 + r, r), x)

    (loop,) = [s for s in body_of(f, V) if isinstance(s, For)]
    assert loop.ordered and loop.independent


def test_of_two_branches_the_first_is_taken_where_the_truth_is_false():
    def f(x, n):
        return lax.cond(n > 0, lambda x: np.sin(x), lambda x: x[::-1] * 2, x)

    (choice,) = body_of(f, V, 3)
    assert isinstance(choice, If) and choice.condition.op == "greater"
    assert "sin" in str(choice.body) and "sin" not in str(choice.orelse)


def test_numbers_out_of_range_choose_the_nearest_branch():
    def f(x, n):
        return lax.switch(n, [np.sin, lambda x: x[::-1], lambda x: x * 2], x)

    (choice,) = [s for s in body_of(f, V, 3) if isinstance(s, If)]
    assert choice.condition.op == "less_equal"
    ((second,), (last,)) = (choice.orelse, choice.orelse[0].orelse)
    assert second.condition.op == "equal" and isinstance(last, For)


def test_an_array_has_not_the_name_of_a_loop_that_was_placed_before():
    """What the loop over j of the way back reads is the array of what the user calls j."""

    def f(x, n):
        s = 0.0
        for i in range(n):
            print(i)
            j = 0
            while j < i:
                s += x * j
                j += 1
        return s

    program = transpile.jit(transpile.grad(f)).lower(3.0, 4).compiler_ir("loops")
    loops = {s.symbol.name for k in program.kernels for s in walk(k.body) if isinstance(s, For)}
    assert loops.isdisjoint(program.buffers())
