"""Alias analysis: what may be made in the memory of what."""

import numpy as np
import pytest
from helpers import ordinary, trace_to_graph

from transpile import lax
from transpile.fusion.buffer_reuse import aliases
from transpile.fusion.nodes import Branch, Loop, Scatter
from transpile.fusion.rematerialize import loops_of_graph
from transpile.passes import optimise

X = ordinary("f8", (40,))
A = ordinary("f8", (12, 12))


def answer(f, *args):
    return aliases(loops_of_graph(optimise(trace_to_graph(f, *args))))


def node_of(found, kind):
    (node,) = [n for n in found.order if isinstance(n, kind)]
    return node


def change_of(found, kind=Scatter):
    (change,) = found.changes[node_of(found, kind)]
    return change


def body_of(f, *args):
    """The answer for the body of the only loop of f."""
    found = answer(f, *args)
    return found.inner[node_of(found, Loop).parts[-1]]


def looped(body, *args):
    return body_of(lambda *carry: lax.fori_loop(0, 5, body, carry), *args)


def test_the_last_reader_of_an_array_may_update_it_where_it_lies():
    def f(x, i):
        y = np.sin(x)
        return y.at[i].set(y.sum())

    change = change_of(answer(f, X, np.array([3, 5])))
    assert change.is_last


def test_an_update_of_what_is_read_later_may_not():
    def f(x, i):
        y = np.sin(x)
        z = y.at[i].set(0.0)
        return z, (y * z).sum()

    assert not change_of(answer(f, X, np.array([3, 5]))).is_last


def test_what_is_read_later_may_be_updated_where_nothing_later_reads():
    def f(x, *places):
        y = np.sin(x)
        z = y.at[places[0]].set(0.0).at[places[1]].set(1.0)
        return z, y[2] * z[5]

    def takes(*places):
        found = answer(lambda x: f(x, *places), X)
        first, second = (n for n in found.order if isinstance(n, Scatter))
        return [c.is_last for n in (first, second) for c in found.changes[n]]

    assert takes(3, 4) == [True, True]
    assert takes(2, 4) == [False, True]
    assert takes(3, 2) == [False, True]


def test_a_carry_is_settled_if_elements_are_read_before_they_are_updated():
    def quarter(_, c):
        (x,) = c
        first = x.at[0].add(x[4])
        second = first.at[1].add(first[5] * first[0])
        return (second.at[5].set(second[2] - second[1]),)

    found = looped(quarter, X)
    assert len(found.settled) == 1

    def read_late(_, c):
        (x,) = c
        return (x.at[0].add(x[4]).at[1].set(x[0]),)

    (first, *_) = looped(read_late, X).order
    assert not isinstance(first, Scatter)  # the element is read before it is changed


def test_an_update_of_a_result_may_not():
    def f(x, i):
        y = np.sin(x)
        return y, y.at[i].set(0.0)

    assert not change_of(answer(f, X, np.array([3, 5]))).is_last


def test_an_update_of_an_argument_may_not():
    assert not change_of(answer(lambda x, i: x.at[i].set(0.0), X, np.array([3, 5]))).is_last


def test_an_update_that_reads_what_others_changed_may_not():
    def f(x, i):
        y = np.sin(x)
        return y.at[i].add(y[i[::-1]])

    assert not change_of(answer(f, X, np.array([3, 5, 1, 0] * 3))).is_last


@pytest.mark.parametrize(
    ("body", "settles"),
    [
        (lambda i, c: (c[0] * 2 + 1,), True),  # each element just before it is overwritten
        (lambda i, c: (c[0][::-1] * 2,), False),  # elements that are overwritten by then
        (lambda i, c: (c[0] / c[0].sum(),), True),  # all are read before any is written
        (lambda i, c: (c[0].at[i].set(c[0][i + 1]),), True),
        (lambda i, c: (np.pad(c[0][1:], (0, 1)) + np.roll(c[0], 3),), False),
    ],
)
def test_a_body_settles_what_it_reads_before_it_writes(body, settles):
    found = looped(body, X)
    ((before, _),) = found.loops.block.scope.carry
    assert (before in found.settled) == settles
    assert not found.late


def test_carries_that_read_each_other_by_element_are_written_late():
    found = looped(lambda i, c: (c[0] + c[1], c[0] - c[1]), X, X)
    assert len(found.settled) == 2
    assert len(found.late) == 1
    (late,) = found.late
    assert late is found.order[0]


def test_of_carries_that_are_exchanged_in_another_order_one_needs_two_buffers():
    found = looped(lambda i, c: (c[1][::-1], c[0]), X, X)
    (_, (second, _)) = found.loops.block.scope.carry
    assert second not in found.settled


def test_a_carry_that_an_inner_loop_updates_is_settled_there_and_around():
    def f(a):
        def row(i, a):
            return lax.fori_loop(0, 12, lambda j, a: a.at[i, j].multiply(2.0), a)

        return lax.fori_loop(0, 12, row, a)

    outer = body_of(f, A)
    inner = outer.inner[node_of(outer, Loop).parts[0]]
    assert len(outer.settled) == len(inner.settled) == 1


def test_branches_change_an_operand_where_all_of_them_may():
    def f(x, n):
        y = np.sin(x)
        return lax.cond(n > 0, lambda y: y.at[n].set(0.0), lambda y: y * 2, y)

    found = answer(f, X, 3)
    change = change_of(found, Branch)
    assert change.operand in node_of(found, Branch).consts and change.is_last

    def g(x, n):
        y = np.sin(x)
        return lax.cond(n > 0, lambda y: y.at[n].set(0.0), lambda y: y[::-1] * 2, y)

    found = answer(g, X, 3)
    assert not found.changes[node_of(found, Branch)]


def test_questions_change_nothing():
    def f(a, b):
        return lax.fori_loop(0, 5, lambda i, c: (c[0] + c[1], c[0] - c[1]), (a, b))

    loops = loops_of_graph(optimise(trace_to_graph(f, X, X)))
    first, second = aliases(loops), aliases(loops)
    assert first.changes == second.changes
    (part,) = node_of(first, Loop).parts
    assert first.inner[part].late == second.inner[part].late != frozenset()
