"""Storage: which values share a buffer, and where the carry of a loop is."""

import numpy as np
import pytest
from graphs import random_graph, small_machine
from helpers import ordinary, trace_to_graph

from transpile import debug, lax
from transpile.fusion.nodes import Branch, LibraryCall, Loop, Scatter
from transpile.fusion.rematerialize import loops_of_graph
from transpile.library.plan import SCRATCH
from transpile.lower.assign_storage import assign_storage
from transpile.lower.kernels import lower
from transpile.lower.storage import Place, Variable
from transpile.machine import USUAL
from transpile.passes import optimise
from transpile.symbols.identifiers import program_name

X = ordinary("f8", (40,))


def storage_of(f, *args):
    return assign_storage(loops_of_graph(optimise(trace_to_graph(f, *args))), "f")


def nodes_of(frame, kind):
    return [n for n in frame.loops.block.nodes if isinstance(n, kind)]


def node_of(frame, kind):
    (node,) = nodes_of(frame, kind)
    return node


def loop_of(storage):
    return storage.frame.regions[node_of(storage.frame, Loop)]


def body_of(frame):
    return frame.bodies[node_of(frame, Loop).body]


def looped(body, *args, turns=5):
    return storage_of(lambda *carry: lax.fori_loop(0, turns, body, carry), *args)


def test_arguments_and_results_have_the_user_s_names_and_are_no_temporaries():
    def f(first, second):
        total = first + second
        return total, np.sin(total)

    storage = storage_of(f, X, X)
    assert [b.name for b in storage.outputs] == ["total", "out_1"]
    assert storage.temporaries == ()
    assert {b.name for b in (*storage.inputs, *storage.outputs)} <= storage.names


def test_a_value_in_a_scalar_or_a_row_has_no_buffer():
    def softmax(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    assert storage_of(softmax, ordinary("f8", (5, 20))).temporaries == ()


def test_an_array_is_made_where_its_update_will_be():
    def f(x, i):
        y = np.sin(x)
        return y.at[i].set(y.sum())

    storage = storage_of(f, X, np.array([3, 5]))
    update = node_of(storage.frame, Scatter)
    places = storage.frame.places
    assert [b.shape for b in storage.temporaries] == [()]  # the sum
    assert places[update.equation.inputs[0]] == places[update.var] == Place(storage.outputs[0])


def test_an_array_that_is_read_later_keeps_a_buffer_of_its_own():
    def f(x, i):
        y = np.sin(x)
        z = y.at[i].set(0.0)
        return z, (y * z).sum()

    storage = storage_of(f, X, np.array([3, 5]))
    assert [b.shape for b in storage.temporaries] == [X.shape]


def test_a_settled_array_of_a_carry_is_in_the_result_from_the_start():
    storage = looped(lambda i, c: (c[0] * 2 + 1,), X)
    (carried,) = loop_of(storage).carried
    assert carried.settled and carried.following is None
    assert carried.current == carried.final == Place(storage.outputs[0])
    assert storage.temporaries == ()


def test_an_array_that_changes_while_it_is_read_is_exchanged_with_a_second_one():
    def shifted(i, c):
        return (np.roll(c[0], 1) * 2,)

    for turns in (4, 5):  # it ends where it began, or where the other one is
        storage = looped(shifted, X, turns=turns)
        (carried,) = loop_of(storage).carried
        result = Place(storage.outputs[0])
        assert not carried.settled and not carried.copied
        assert {carried.current, carried.following} == {result, Place(storage.temporaries[0])}
        assert (carried.current == result) == (turns % 2 == 0)


@pytest.mark.parametrize("more", [0, 1])
def test_a_small_array_is_copied_and_not_exchanged(more):
    x = ordinary("f8", (USUAL.most_copied_elements + more,))
    (carried,) = loop_of(looped(lambda i, c: (np.roll(c[0], 1) * 2,), x)).carried
    assert carried.following is not None
    assert carried.copied == (carried.following != carried.final) == (not more)


def test_numbers_of_a_carry_are_variables_with_names_unlike_the_counter_s():
    storage = looped(lambda i, c: (c[0] * i,), 1.5)
    loop = loop_of(storage)
    (carried,) = loop.carried
    assert isinstance(carried.current, Variable) and loop.declared == (carried.current,)
    assert carried.current.name != loop.counter.name
    assert carried.final == Place(storage.outputs[0])


def test_a_condition_sees_the_carry_where_the_body_changes_it():
    def f(x):
        return lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] * 2, c[1] + c[0]), (x, x))

    storage = storage_of(f, 1.5)
    loop = loop_of(storage)
    condition = storage.frame.bodies[node_of(storage.frame, Loop).condition]
    seen = [condition.places[v] for v in condition.loops.block.graph.inputs]
    assert seen == [c.current for c in loop.carried] and loop.counter is None


def test_stacked_results_are_written_at_the_counter():
    def f(x):
        return lax.scan(lambda c, r: (c + r, c * r), 0.0, x)[1]

    storage = storage_of(f, X)
    body = body_of(storage.frame)
    place = body.places[body.loops.block.graph.outputs[1]]
    assert place.buffer is storage.outputs[0] and len(place.prefix) == 1
    (row,) = [v for v, view in body.views.items() if view.prefix]
    assert body.places[row] == Place(storage.inputs[0], place.prefix)


def test_counters_inside_one_another_have_names_of_their_own():
    def f(a):
        def row(i, a):
            return lax.fori_loop(0, i, lambda j, a: a.at[i].add(a[j]), a)

        return lax.fori_loop(0, 5, row, a)

    storage = storage_of(f, X)
    body = body_of(storage.frame)
    outer, inner = loop_of(storage), body.regions[node_of(body, Loop)]
    assert outer.counter.name != inner.counter.name
    assert body_of(body).counters == (outer.counter.name, inner.counter.name)
    assert len(body_of(body).around) == 2


def test_branches_put_their_results_at_the_same_places():
    def f(x, n):
        return lax.cond(n > 0, lambda x: (x * 2, x.sum()), lambda x: (x[::-1], x[0]), x)

    storage = storage_of(f, X, 3)
    node = node_of(storage.frame, Branch)
    branch = storage.frame.regions[node]
    for part in node.parts:
        frame = storage.frame.bodies[part]
        results = [frame.places[v] for v in frame.loops.block.graph.outputs]
        assert results == [Place(b) for b in storage.outputs] == list(branch.results)


@pytest.mark.parametrize("seed", range(0, 120, 7))
def test_all_that_drawn_programs_read_and_write_has_storage_before_a_statement_is_made(seed):
    graph, _ = random_graph(seed)
    machine = small_machine(seed)
    graph = optimise(graph, machine)
    storage = assign_storage(loops_of_graph(graph, machine), program_name(graph.name))
    before = storage.temporaries, storage.constants
    program = lower(graph, machine=machine)
    assert (program.temporaries, [b.name for b in program.constants]) == (
        before[0],
        [b.name for b in before[1]],
    )


def test_the_calls_of_an_equation_share_scratch_memory_and_those_of_others_have_their_own():
    def f(a, b):
        return np.lexsort((a, b)), np.sort(a)

    storage = storage_of(f, X, X)
    order, values = nodes_of(storage.frame, LibraryCall)
    first, second = (storage.frame.arrays[n][SCRATCH].buffer for n in (order, values))
    assert first != second and {first, second} <= set(storage.temporaries)
    assert len(order.plan.calls) == 2 and first.shape == (order.plan.scratch_bytes,)


def test_what_python_is_shown_is_a_temporary_in_the_body_too():
    def f(x):
        def body(i, c):
            debug.print("{} {}", i, c[1:])
            return c * 2

        return lax.fori_loop(0, 3, body, x)

    storage = storage_of(f, X)
    (arrays,) = body_of(storage.frame).arrays.values()
    assert [place.shape for place in arrays.values()] == [(1,), (39,)]
    assert {place.buffer for place in arrays.values()} <= set(storage.temporaries)
