"""Calls of libraries: one for what it does itself, in loops over the rest, with its scratch."""

import numpy as np
import pytest
from graphs import lowered, statements_of
from helpers import ordinary

from transpile import jit
from transpile import numpy as jnp
from transpile.intrinsics.fourier import Fft
from transpile.intrinsics.products import Matmul
from transpile.ir.calls import Call
from transpile.ir.loop_ir import For
from transpile.lax import fori_loop


def calls_of(f, *args):
    program = lowered(f, *args)
    return program, statements_of(program, Call)


def test_a_product_reads_a_transposed_operand_where_it_lies():
    a, b = ordinary("f8", (30, 40)), ordinary("f8", (30, 50))
    program, (call,) = calls_of(lambda a, b: a.T @ b, a, b)
    assert isinstance(call, Matmul)
    assert call.a.strides == (1, 40) and call.b.strides == (50, 1)
    assert [b.dtype.name for b in program.temporaries] == ["uint8"]  # scratch only


@pytest.mark.parametrize(
    ("rows", "terms", "columns", "is_call"),
    [
        *[(2, 64, 64, True), (3, 16, 50, True), (2, 64, 31, False), (2, 15, 80, False)],
        *[(1, 64, 64, False), (64, 64, 2, False), (64, 2, 64, False)],
    ],
)
def test_two_rows_are_a_call_where_loops_would_read_much_for_each(rows, terms, columns, is_call):
    a, b = ordinary("f8", (rows, terms)), ordinary("f8", (terms, columns))
    _, calls = calls_of(np.matmul, a, b)
    assert [isinstance(call, Matmul) for call in calls] == [True] * is_call
    np.testing.assert_allclose(jit(np.matmul)(a, b), a @ b, rtol=1e-12, atol=1e-12)


def test_two_complex_rows_are_loops():
    a, b = ordinary("c16", (2, 64)), ordinary("c16", (64, 64))
    _, calls = calls_of(np.matmul, a, b)
    assert not calls


def test_a_product_of_many_large_matrices_is_in_a_loop_over_them():
    a = ordinary("f8", (3, 200, 200))
    program, (call,) = calls_of(lambda a: a @ a, a)
    (loop,) = statements_of(program, For)
    assert loop.stop == 3 and loop.body == (call,)


def test_a_sort_by_several_keys_is_a_call_for_each_and_they_share_their_scratch():
    a = ordinary("f8", (30,))
    program, calls = calls_of(lambda a, b: np.lexsort((a, b)), a, a)
    assert len(calls) == 2
    assert len({call.workspace for call in calls}) == 1
    assert len([b for b in program.temporaries if b.dtype == np.uint8]) == 1


def test_a_transform_over_several_axes_works_on_where_it_began():
    program, calls = calls_of(lambda a: np.fft.fft2(a), ordinary("c16", (12, 18)))
    assert all(isinstance(call, Fft) for call in calls) and len(calls) == 2
    first, second = calls
    assert first.out.first.buffer == second.x.first.buffer == program.outputs[0].name


def test_a_decomposition_of_a_stack_is_a_call_for_each_matrix():
    program, (call,) = calls_of(lambda a: jnp.linalg.cholesky(a), ordinary("f8", (4, 6, 6)))
    loops = [s for s in statements_of(program, For) if call in s.body]
    assert [loop.stop for loop in loops] == [4]


def test_a_constant_of_one_number_is_in_memory_where_a_body_hands_it_to_a_call():
    def drawn_by(x):
        total = 0.0
        if x[0] > 0.5:
            total += np.lexsort((np.array([3]), np.stack([x[1]])))[0] + 1
        return total

    def solved(x):
        divisor = np.array([[3.0]])
        return fori_loop(0, 3, lambda i, v: v + np.linalg.solve(divisor, v[None])[0], x[0])

    x = ordinary("f8", (4,)) + 1
    assert jit(drawn_by)(x) == 1
    np.testing.assert_allclose(jit(solved)(x), x[0] * (4 / 3) ** 3)
