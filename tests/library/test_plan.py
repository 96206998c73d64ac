"""Plans of library calls: interpreted in memory of any contents, they compute their equation."""

import numpy as np
import pytest
from helpers import ordinary, trace_to_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from transpile import lax
from transpile import numpy as jnp
from transpile.analysis.oracle.loop_interpreter import run
from transpile.errors import InternalError, UnsupportedError
from transpile.ir.graph import Const
from transpile.ir.loop_ir import Buffer, For, Kernel, Program
from transpile.ir.types import UINT8
from transpile.library import routines
from transpile.library.plan import SCRATCH, Views
from transpile.library.planner import plan_calls
from transpile.machine import Machine
from transpile.passes import optimise

# A machine on which small arrays are worth a call.
SMALL = Machine(
    shortest_product_side=1,
    least_product_terms=1,
    least_stack_terms=1,
    shortest_library_sum=2,
    longest_along=4,
    longest_streamed=4,
    longest_across=8,
)


def planned(f, *args, machine=SMALL):
    """The graph of f, the values of all its variables, and the plans of its equations."""
    graph = optimise(trace_to_graph(f, *args))
    values = dict(zip(graph.inputs, map(np.asarray, args), strict=True))
    for equation in graph.equations:
        operands = [a.value if isinstance(a, Const) else values[a] for a in equation.inputs]
        result = equation.primitive.numpy(*operands, **equation.params)
        results = result if isinstance(result, tuple) else (result,)
        values.update(zip(equation.outputs, map(np.asarray, results), strict=True))
    producers = {v: e for e in graph.equations for v in e.outputs}
    return values, plan_calls(graph, Views(producers), machine)


def program_of(plan, values):
    """A plan as a program whose buffers have the names that its calls know them by."""

    def buffers(atoms):
        return tuple(Buffer(n, a.type.shape, a.type.dtype) for n, a in atoms.items())

    statements = []
    for looped in plan.calls:
        body = (looped.call,)
        for symbol in reversed(looped.loops):
            body = (For(symbol, symbol.extent, body),)
        statements += body
    tables = tuple(Buffer(n, c.type.shape, c.type.dtype, c.value) for n, c in plan.tables.items())
    scratch = () if plan.scratch_bytes is None else (Buffer(SCRATCH, (plan.scratch_bytes,), UINT8),)
    kernels = (Kernel("f", tuple(statements)),)
    program = Program("f", buffers(plan.reads), buffers(plan.writes), kernels, scratch, tables)
    inputs = (a.value if isinstance(a, Const) else values[a] for a in plan.reads.values())
    return run(program, list(inputs))


def assert_plans_compute(f, *args, count=1, machine=SMALL):
    values, plans = planned(f, *args, machine=machine)
    assert len(plans) == count
    for equation, plan in plans.items():
        for result, var in zip(program_of(plan, values), equation.outputs, strict=True):
            np.testing.assert_allclose(result, values[var], rtol=1e-9, atol=1e-9)
    return list(plans.values())


SIZES = st.integers(1, 5)


@settings(max_examples=25, deadline=None)
@given(st.lists(SIZES, min_size=2, max_size=4), SIZES, SIZES, SIZES, st.data())
def test_products_of_views_of_any_batch(batch, m, n, k, data):
    """Operands whose axes are in any order, and which are cut out of larger arrays."""

    def operand(letters):
        order = data.draw(st.permutations(letters))
        extents = [sizes[a] for a in order]
        return "".join(order), ordinary("f8", (2 * extents[0] + 1, *extents[1:]))

    letters = "bcde"[: len(batch)]
    sizes = {**dict(zip(letters, batch, strict=True)), "m": m, "n": n, "k": k}
    (left, x), (right, y) = operand([*letters, "m", "k"]), operand([*letters, "k", "n"])

    def f(x, y):
        return np.einsum(f"{left},{right}->{letters}mn", x[1::2], y[:-1:2])

    values, plans = planned(f, x, y)
    for equation, plan in plans.items():
        (result,) = program_of(plan, values)
        np.testing.assert_allclose(result, values[equation.output], rtol=1e-12, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.lists(SIZES, min_size=1, max_size=4), st.data())
def test_transforms_of_views_along_any_axes(shape, data):
    axes = data.draw(st.lists(st.sampled_from(range(len(shape))), min_size=1, unique=True))
    order = data.draw(st.permutations(range(len(shape))))
    length = data.draw(st.sampled_from([None, 2, 7, 12]))
    lengths = None if length is None else [length] * len(axes)
    back = tuple(map(int, np.argsort(order)))
    x = ordinary("c16", [(1 + (k == 0)) * shape[a] for k, a in enumerate(order)])

    def f(x):
        return np.fft.fftn(np.transpose(x[::2], back), lengths, axes)

    values, plans = planned(f, x)
    for equation, plan in plans.items():
        assert len(plan.calls) == len(equation.params["axes"])
        (result,) = program_of(plan, values)
        np.testing.assert_allclose(result, values[equation.output], rtol=1e-9, atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.lists(SIZES, min_size=1, max_size=3), st.integers(1, 3), st.data())
def test_sorts_by_several_keys(shape, count, data):
    axis = data.draw(st.integers(0, len(shape) - 1))
    keys = [np.round(ordinary("f8", shape) * 2) for _ in range(count)]
    (plan,) = assert_plans_compute(lambda *keys: jnp.lexsort(keys, axis), *keys)
    assert len(plan.calls) == count
    assert_plans_compute(lambda x: jnp.sort(x.reshape(-1)), keys[0])


@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative_sums_of_reshapes_read_what_is_in_memory(reverse):
    x = ordinary("f8", (3, 4, 10))

    def f(x):
        return lax.cumsum(x.reshape(12, 10), axis=1, reverse=reverse)

    (plan,) = assert_plans_compute(f, x)
    assert [atom.type.shape for atom in plan.reads.values()] == [(3, 4, 10)]


@pytest.mark.parametrize("batch", [(), (4,), (1, 3)])
def test_decompositions_of_stacks(batch):
    a = ordinary("f8", (*batch, 3, 3))
    (plan,) = assert_plans_compute(lambda a: jnp.linalg.qr(a, mode="r"), a)
    (looped,) = plan.calls
    assert tuple(s.extent for s in looped.loops) == batch


def test_convolutions_carry_their_plan_as_a_table():
    x, w = ordinary("f8", (2, 9, 9, 3)), ordinary("f8", (3, 3, 3, 8))
    numbers = ("NHWC", "HWIO", "NHWC")

    def f(x, w):
        flipped = x[:, ::-1]
        return lax.conv_general_dilated(flipped, w, (2, 1), "SAME", dimension_numbers=numbers)

    (plan,) = assert_plans_compute(f, x, w)
    assert [table.type.dtype for table in plan.tables.values()] == [np.dtype("i8")]
    assert plan.reads["x"].type.shape == x.shape  # read where it lies, backwards


def test_an_operand_that_no_strides_describe_is_read_as_it_is():
    x, y = ordinary("f8", (6, 4)), ordinary("f8", (8, 5))

    def f(x, y):
        return x.T.reshape(3, 8) @ y

    (plan,) = assert_plans_compute(f, x, y)
    assert plan.reads["a"].type.shape == (3, 8)


def test_equations_without_elements_have_no_calls():
    _, plans = planned(lambda x: np.sort(x[:0]), ordinary("f8", (5,)))
    assert not plans


def test_rows_that_are_too_long_to_sort_are_refused():
    with pytest.raises(UnsupportedError, match="in a row"):
        graph = trace_to_graph(lambda x: np.sort(np.broadcast_to(x, (1 << 32,))), np.float64(1))
        plan_calls(graph, Views({v: e for e in graph.equations for v in e.outputs}), SMALL)


def test_a_routine_needs_one_intrinsic_of_its_operands(monkeypatch):
    def solved(x):
        return planned(np.linalg.cholesky, x)

    x = np.eye(3) + ordinary("f8", (3, 1)) ** 2
    assert solved(x)
    (cholesky,) = (r for r in routines.ROUTINES if r.primitive == "cholesky")
    monkeypatch.setattr(cholesky, "signature", "x(n,n), y(n) -> out(n,n)")
    with pytest.raises(InternalError, match="cholesky has 1 operands and 1 results, and not those"):
        solved(x)
    monkeypatch.setattr(routines, "ROUTINES", ())
    with pytest.raises(InternalError, match=r"cholesky of .* has 0 of the ROUTINES, not one: none"):
        solved(x)
