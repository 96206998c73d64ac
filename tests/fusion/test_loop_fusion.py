"""Loop fusion: what shares a loop, and what lives in a scalar, a row or memory."""

import numpy as np
import pytest
from graphs import loops_of, lowered, statements_of
from helpers import assert_equal_values, ordinary, trace_to_graph

from transpile.analysis.oracle.loop_interpreter import run
from transpile.fusion.loop_fusion import explain
from transpile.fusion.nodes import InMemory, InRow, InScalar, Nest
from transpile.fusion.rematerialize import loops_of_graph
from transpile.ir.loop_ir import Alloc, For
from transpile.machine import Machine
from transpile.options import Options
from transpile.passes import optimise


def check_against_numpy(f, *args, options=Options()):
    program = lowered(f, *args, options=options)
    for found, expected in zip(run(program, args), np.atleast_1d(f(*args))[None], strict=True):
        assert_equal_values(found, np.reshape(expected, found.shape), 1e-12)
    return program


def homes(f, *args):
    """Where the value of each node of f lives, by the primitive's name."""
    loops = loops_of_graph(optimise(trace_to_graph(f, *args)))
    return [(n.equation.primitive.name, type(home)) for n, home in loops.homes.items()]


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)


@pytest.mark.parametrize("f", [softmax, layer_norm])
def test_normalisations_of_rows_are_one_kernel_without_temporaries(f):
    program = check_against_numpy(f, ordinary("f8", (5, 20)))
    assert len(program.kernels) == 1
    assert program.temporaries == ()
    outer, *inner = loops_of(program)
    assert outer.stop == 5 and all(loop.stop == 20 for loop in inner)


def test_the_exponentials_of_a_softmax_live_in_a_row():
    found = homes(softmax, ordinary("f8", (5, 20)))
    assert found == [
        ("reduce_max", InScalar),
        ("exp", InRow),
        ("reduce_sum", InScalar),
        ("divide", InMemory),
    ]


@pytest.mark.parametrize(("row_bytes", "stored"), [(159, [(5, 20)]), (160, [])])
def test_a_row_too_large_for_the_cache_is_stored(row_bytes, stored):
    options = Options(machine=Machine(row_bytes=row_bytes))
    program = check_against_numpy(softmax, ordinary("f8", (5, 20)), options=options)
    assert [b.shape for b in program.temporaries] == stored


def forces(p):
    d = p[None, :, :] - p[:, None, :]
    r2 = (d * d).sum(axis=-1) + 0.01
    return (d / (r2 * np.sqrt(r2))[:, :, None]).sum(axis=1)


def test_the_n_body_problem_takes_memory_for_n_only():
    n = 24
    program = check_against_numpy(forces, ordinary("f8", (n, 3)))
    sizes = [np.prod(b.shape) for b in program.temporaries]
    sizes += [np.prod(s.buffer.shape) for s in statements_of(program, Alloc)]
    assert all(size < n * n for size in sizes)
    assert len(program.kernels) == 1


def shared(items):
    """How many nodes stand in each loop."""
    for nest in items:
        if isinstance(nest, Nest):
            yield len(nest.nodes)
            yield from shared(nest.items)


def brought_together(x, y):
    return (x - 1).sum(axis=1) * (y - 2).sum(axis=1) + (x * y).sum(axis=1)


@pytest.mark.parametrize("most", [1, 2])
def test_no_loop_has_more_nodes_than_the_machine_allows(most):
    """Neither where a node joins, nor where loops are brought together for one that reads both."""
    x = ordinary("f8", (9, 20))
    for f, args in ((softmax, (x,)), (layer_norm, (x,)), (brought_together, (x, x))):
        graph = optimise(trace_to_graph(f, *args))
        usual, few = (
            list(shared(loops_of_graph(graph, machine).items))
            for machine in (Machine(), Machine(most_fused=most))
        )
        assert max(usual) > 1 and max(few) <= most
        check_against_numpy(f, *args, options=Options(machine=Machine(most_fused=most)))


def test_sibling_reductions_share_a_loop():
    x = ordinary("f8", (300,))
    program = lowered(lambda x: (x.sum(), x.max(), (x * x).sum()), x)
    assert len(loops_of(program)) == 1


@pytest.mark.parametrize("axis", [0, 1])
def test_reductions_join_a_nest_that_goes_on_with_what_it_has_found(axis):
    def statistics(x):
        return x.mean(axis), x.std(axis), x.min(axis), x.max(axis)

    x = ordinary("f8", (20, 30))
    program = lowered(statistics, x)
    assert len(program.kernels) == 1
    assert len(loops_of(program)) == 3  # one over what is kept, and two passes over the rest
    for found, expected in zip(run(program, [x]), statistics(x), strict=True):
        assert_equal_values(found, expected, 1e-12)


def test_reductions_over_different_axes_do_not():
    x = ordinary("f8", (20, 30))
    program = lowered(lambda x: (x.sum(0), x.sum(1)), x)
    assert len(program.kernels) == 2


def test_a_costly_value_spread_by_a_broadcast_is_computed_once():
    x, y = ordinary("f8", (6, 30)), ordinary("f8", (6, 1))
    program = check_against_numpy(lambda x, y: x * np.sin(y), x, y)
    (outer, inner) = loops_of(program)
    assert "sin(" in str(outer.body[0]) or "sin" in repr(outer.body[0])
    assert "sin" not in repr(inner)


@pytest.mark.parametrize("axes", [(1, 0), (0, 1)])
def test_transposed_readers_see_the_right_elements(axes):
    def f(x):
        y = np.sin(x)
        return y + np.transpose(y, axes) * np.cos(y)

    program = check_against_numpy(f, ordinary("f8", (7, 7)))
    assert len(program.kernels) == (2 if axes == (1, 0) else 1)


@pytest.mark.parametrize(
    "move", [lambda y: y[::-1], lambda y: np.roll(y, 1, 0), lambda y: np.flip(y, 1)]
)
def test_moved_readers_see_the_right_elements(move):
    def f(x):
        y = np.cumsum(np.exp(x / 8), axis=1)
        return y + move(y)

    check_against_numpy(f, ordinary("f8", (5, 9)))


@pytest.mark.parametrize("steps", [4, 12, 40])
def test_chains_of_cheap_stencils_do_not_repeat_each_other(steps):
    program = check_against_numpy(lambda x: np.diff(x, n=steps), np.arange(60.0) ** 2 % 7)
    assert len(str(program)) < 1000 + 200 * steps


def test_every_computed_value_is_explained():
    loops = loops_of_graph(optimise(trace_to_graph(softmax, ordinary("f8", (5, 20)))))
    words = [line.rpartition(": ")[2].split(",")[0] for line in explain(loops)]
    assert words == ["scalar", "inline", "row", "scalar", "stored"]


def test_an_expensive_reader_of_a_running_value_has_a_loop_of_its_own():
    def grown(x):
        return np.exp(np.cumsum(x, axis=1)), np.cumsum(x, axis=1) * 2.0

    x = ordinary("f8", (6, 20))
    program = lowered(grown, x)
    (rows,) = program.kernels[0].body
    scan, readers = (s for s in rows.body if isinstance(s, For))
    assert "exp" not in str(scan) and "'exp'" in str(readers)
    assert homes(grown, x)[0] == ("cumsum", InRow)


def test_a_loop_joins_an_earlier_one_when_that_cannot_wait():
    def f(x, y):
        total = (np.exp(x).sum(axis=1)).sum() * 2  # the sum over rows ends before weights begin
        weights = (y * y).sum(axis=1)
        return total, np.exp(x) * (weights / np.exp(x).sum(axis=1))[:, None]

    program = lowered(f, ordinary("f8", (5, 20)), ordinary("f8", (5, 20)))
    outer = [s for s in program.kernels[0].body if isinstance(s, For)]
    assert len(program.kernels) == 1 and len(outer) == 1
    check_each_result(f, ordinary("f8", (5, 20)), ordinary("f8", (5, 20)))


def check_each_result(f, *args):
    for found, expected in zip(run(lowered(f, *args), args), f(*args), strict=True):
        assert_equal_values(found, np.asarray(expected), 1e-12)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_running_value_has_a_loop_of_its_own_behind_reductions(axis):
    def f(x):
        return np.cumsum(np.sum(x, axis=axis))

    assert homes(f, ordinary("f8", (30, 40))) == [("reduce_sum", InMemory), ("cumsum", InMemory)]
    check_against_numpy(f, ordinary("f8", (30, 40)))
