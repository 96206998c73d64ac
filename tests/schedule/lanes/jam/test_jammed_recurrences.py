"""Recurrences take four rows at a time where the terms that rows have in common are known before,
with the bits of one row at a time."""

import math

import numpy as np
import pytest
from graphs import assert_same_results, run, scheduled_until
from hypothesis import given, settings
from hypothesis import strategies as st
from source_text import function_of
from thorough import one_in, tries

import transpile
from transpile import ShapeDtypeStruct
from transpile.ir.loop_ir import For
from transpile.ir.loop_rewrite import walk
from transpile.ir.loop_verifier import check
from transpile.options import Options
from transpile.schedule.lanes.jam.recurrences import jam_recurrences

OPTIONS = Options()
N = 22


def steps(f, *args):
    """The loops of a function before and behind the pass."""
    program = transpile.jit(f).lower(*args)._lowering._pipeline.lowered
    before = scheduled_until(jam_recurrences, program, OPTIONS)
    after = jam_recurrences(before, OPTIONS)
    check(after, before)
    return before, after


def groups(program):
    return [
        s
        for kernel in program.kernels
        for s in walk(kernel.body)
        if isinstance(s, For) and s.symbol.name.startswith("group") and s.ordered
    ]


def array(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape)


def arguments(f, size):
    a, b = array(size, size) + 3 * np.eye(size), array(size, seed=1)
    return (a, b)[: f.__code__.co_argcount]


def forward_substitution(a, b):
    x = np.zeros(len(b))
    for i in range(len(b)):
        s = b[i]
        for j in range(i):
            s -= a[i, j] * x[j]
        x[i] = s / a[i, i]
    return x


def cholesky(a):
    for i in range(len(a)):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = math.sqrt(abs(a[i, i]))
    return a


def doolittle(a):
    for i in range(len(a)):
        for j in range(i):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[k, j]
            a[i, j] = s / a[j, j]
        for j in range(i, len(a)):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def normal_equations(a, b):
    """A product with a matrix and its transpose, a row at a time."""
    y = np.zeros(len(b))
    for i in range(len(a)):
        s = 0.0
        for j in range(len(b)):
            s += a[i, j] * b[j]
        for j in range(len(b)):
            y[j] += a[i, j] * s
    return y


def rows_and_a_total(a, b):
    """What comes behind the sum changes a scalar of all rows, in their order."""
    total = 0.0
    for i in range(len(a)):
        s = 1.0
        for j in range(len(b)):
            s += a[i, j] * b[j]
        total = total * 0.5 + s
    return total


def complex_rows(a, b):
    z = a + 1j * b
    x = np.zeros(len(b), np.complex128)
    for i in range(len(b)):
        s = 1j * b[i]
        for j in range(i):
            s -= z[i, j] * x[j]
        x[i] = s
    return x


def later_terms(a, b):
    """Rows have the terms from the third on in common."""
    for i in range(3, len(b)):
        s = 0.0
        for j in range(1, i - 2):
            s += a[i, j] * b[j]
        b[i] = s
    return b


JAMMED = {
    f.__name__: f
    for f in (
        forward_substitution,
        cholesky,
        doolittle,
        normal_equations,
        rows_and_a_total,
        complex_rows,
        later_terms,
    )
}


@pytest.mark.parametrize("size", [N, N + 3])
@pytest.mark.parametrize("name", JAMMED)
@one_in(2)
def test_four_rows_have_sums_of_their_own(name, size):
    args = arguments(JAMMED[name], size)
    before, after = steps(JAMMED[name], *args)
    assert groups(after)
    assert_same_results(run(after, args), run(before, args))


@pytest.mark.full_level
@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 40, 67])
@pytest.mark.parametrize("name", JAMMED)
@one_in(3)
def test_programs_compute_what_python_does(name, size):
    f = JAMMED[name]
    expected = f(*arguments(f, size))
    # NumPy's products of complex numbers have another last bit where it fuses them.
    rtol = 1e-12 if f is complex_rows else 0
    np.testing.assert_allclose(transpile.jit(f)(*arguments(f, size)), expected, rtol=rtol)


def test_sizes_may_be_known_at_run_time():
    a, b = ShapeDtypeStruct(("n", "n"), float), ShapeDtypeStruct(("n",), float)
    assert groups(steps(forward_substitution, a, b)[1])
    compiled = transpile.jit(forward_substitution).lower(a, b).compile()
    for size in (1, 2, 4, 7, 33):
        args = array(size, size), array(size, seed=1)
        np.testing.assert_array_equal(compiled(*args), forward_substitution(*args))


def test_loops_behind_the_sum_take_turns_at_each_element():
    _, after = steps(normal_equations, array(N, N), array(N))
    (group,) = groups(after)
    (lanes,) = [s for s in group.body if isinstance(s, For) and s.simd]
    assert len(lanes.body) == 4


def nearest_first(a, b):
    """The first term of each row is the row before."""
    for i in range(len(b)):
        s = 1.0
        for j in range(i):
            s += a[i, j] * b[i - 1 - j]
        b[i] = s
    return b


def whole_rows(a, b):
    """The terms of a row include what the row before assigned to."""
    for i in range(len(b)):
        s = 0.0
        for j in range(len(b)):
            s += a[i, j] * b[j]
        b[i] = s
    return b


def gradient_steps(a, b):
    for i in range(len(a)):
        s = 0.0
        for j in range(len(b)):
            s += a[i, j] * b[j]
        for j in range(len(b)):
            b[j] -= a[i, j] * s
    return b


def begins_with_the_row_before(a, b):
    for i in range(1, len(b)):
        s = b[i - 1]
        for j in range(len(b)):
            s += a[i, j]
        b[i] = s
    return b


def begins_with_a_scalar(a, b):
    last = 0.0
    for i in range(len(b)):
        s = last
        for j in range(len(b)):
            s += a[i, j]
        last = s
        b[i] = s
    return b


def changes_a_scalar_of_all_rows_first(a, b):
    """What comes behind the sum reads what each row has made of it before its own."""
    scale = 1.0
    for i in range(len(a)):
        scale *= 0.5
        s = 0.0
        for j in range(len(b)):
            s += a[i, j]
        b[i] = s * scale
    return b


def stores_what_terms_read(a, b):
    """A row assigns, before its sum, to what the sums of the rows above read."""
    c = np.ones(len(b) + 1)
    for i in range(len(b)):
        c[i] = b[i]
        s = 0.0
        for j in range(len(b)):
            s += a[i, j] * c[j]
        b[i] = s
    return b


def begins_elsewhere(a, b):
    for i in range(len(b)):
        s = 0.0
        for j in range(i, len(b)):
            s += a[i, j] * b[j]
        b[i] = s
    return b


ALONE = {
    f.__name__: f
    for f in (
        nearest_first,
        whole_rows,
        gradient_steps,
        begins_with_the_row_before,
        begins_with_a_scalar,
        changes_a_scalar_of_all_rows_first,
        stores_what_terms_read,
        begins_elsewhere,
    )
}


@pytest.mark.parametrize("name", ALONE)
def test_rows_whose_terms_are_not_known_before_stay(name):
    f = ALONE[name]
    a, b = array(N, N), array(N, seed=1)
    before, after = steps(f, a, b)
    assert after == before
    np.testing.assert_array_equal(transpile.jit(f)(a, b.copy()), f(a, b.copy()))


@pytest.mark.full_level
@settings(max_examples=tries(80))
@given(
    st.integers(0, 4),
    st.sampled_from(["i", "i - 1", "i + 1", "n", "max(i, 3)"]),
    st.sampled_from(["i", "i + 1", "i + 3", "i - 1", "7"]),
    st.sampled_from(["j", "j + 1", "j + 2", "j + 3", "i", "i - j", "n - 1 - j", "2 * j % n"]),
    st.sampled_from(["i", "i + 1", "i + 2", "i + 4", "n - i", "i // 2"]),
    st.integers(17, 26),
)
def test_which_rows_are_jammed_is_decided_by_subscripts(start, stop, first, read, written, n):
    text = f"""
def f(a, b):
    n = len(b) - 8
    for i in range({start}, n):
        s = b[{first}]
        for j in range({stop}):
            s += a[i, j] * b[{read}]
        b[{written}] = s * 0.125
    return b
"""
    f = function_of(text, "recurrence.py")
    a, b = array(n, n), array(n + 8, seed=1)
    np.testing.assert_array_equal(transpile.jit(f)(a, b.copy()), f(a, b.copy()))
