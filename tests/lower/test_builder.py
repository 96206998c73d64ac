"""Build loops: the statements of nodes, in the loops that they share."""

import numpy as np
from graphs import lowered, statements_of
from helpers import ordinary

from transpile import lax
from transpile.ir.loop_ir import Alloc, Declare, For, If, Load, Ref, Store, Update

X = ordinary("f8", (5, 20))
V = ordinary("f8", (40,))


def body_of(f, *args):
    (kernel,) = lowered(f, *args).kernels
    return kernel.body


def test_an_accumulation_begins_before_its_loop_and_is_kept_after_it():
    (rows,) = body_of(lambda x: x.sum(axis=1), X)
    start, loop, kept = rows.body
    assert isinstance(start, Declare) and not start.constant
    assert isinstance(loop, For) and isinstance(kept, Store)
    (update,) = loop.body
    assert isinstance(update, Update) and update.op == "add"
    assert kept.value == update.target == Ref(start.name, X.dtype)


def test_a_running_sum_is_kept_in_each_iteration():
    start, loop = body_of(lambda x: np.cumsum(x), V)
    assert isinstance(start, Declare)
    assert [type(s) for s in loop.body] == [Update, Store]


def test_a_row_is_declared_in_the_innermost_loop_that_its_readers_share():
    def softmax(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    (rows,) = body_of(softmax, X)
    assert isinstance(rows.body[0], Alloc)
    assert rows.body[0].buffer.shape == (20,)


def test_a_stored_value_is_read_from_a_scalar_in_the_iteration_that_makes_it():
    def f(x):
        y = np.sin(x)
        return y, y * np.cos(y)

    (loop,) = body_of(f, V)
    declared, first, second = loop.body
    assert isinstance(declared, Declare)
    assert first.value == Ref(declared.name, V.dtype)
    assert not any(isinstance(part, Load) for part in second.value.args)


def test_an_update_in_place_copies_nothing():
    def f(x, i):
        y = np.sin(x)
        return y.at[i].add(y.sum())

    program = lowered(f, V, np.array([3, 5, 3]))
    stores = statements_of(program, Store)
    assert len([s for s in stores if s.buffer == program.outputs[0].name]) == 1  # the sines


def test_an_update_in_a_branch_copies_nothing_where_its_operand_lies_there():
    def f(x, n):
        y = np.sin(x)
        return lax.cond(n > 0, lambda y: y.at[n].set(0.0), lambda y: y * 2, y)

    program = lowered(f, V, 3)
    copies = [s for s in statements_of(program, Store) if isinstance(s.value, Load)]
    assert program.temporaries == () and not copies


def test_an_update_of_an_argument_copies_it_first():
    first, then = body_of(lambda x, i: x.at[i].set(0.0), V, np.array([3, 5, 3]))
    (copy,) = first.body
    assert isinstance(copy.value, Load) and copy.value.index == copy.index
    assert isinstance(then, For) and then.stop == 3


def test_an_update_out_of_range_is_under_a_test():
    def f(x, i):
        return x.at[i].set(0.0, mode="drop")

    assert statements_of(lowered(f, V, np.array([3, 50])), If)


def test_elements_that_are_read_after_they_are_due_are_stored_last():
    def f(a, b):
        return lax.fori_loop(0, 5, lambda i, c: (c[0] + c[1], c[0] - c[1]), (a, b))

    *_, turns = body_of(f, V, V)
    (elements,) = turns.body
    stored = {s.buffer for s in elements.body if isinstance(s, Store)}
    assert len(stored) == 2
    assert isinstance(elements.body[0], Declare) and isinstance(elements.body[-1], Store)
    assert elements.body[-1].value == Ref(elements.body[0].name, V.dtype)


def test_no_loop_is_called_what_an_array_is():
    def f(i):
        return i + 1

    program = lowered(f, V)
    names = {b.name for b in program.buffers().values()}
    assert not names & {loop.symbol.name for loop in statements_of(program, For)}
