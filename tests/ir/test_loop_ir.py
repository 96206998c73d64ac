"""The loop language: its checker refuses broken programs, its interpreter is strict, its text."""

import numpy as np
import pytest

from transpile.analysis.oracle.loop_interpreter import run
from transpile.errors import InternalError
from transpile.intrinsics.products import Matmul
from transpile.intrinsics.scans import CumulativeSum
from transpile.ir.calls import Strided
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    For,
    If,
    IndexValue,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Store,
    Update,
    Within,
)
from transpile.ir.loop_verifier import check
from transpile.ir.types import BOOL, FLOAT64, INT64

N = 4
I, J = Symbol("i", 0, N), Symbol("j", 0, N)
i, j = Dim.of(I), Dim.of(J)
X, Y = Buffer("x", (N,), FLOAT64), Buffer("y", (N,), FLOAT64)
VALUES = np.array([1.0, 2.0, 4.0, 8.0])


def number(value):
    return Literal(np.float64(value), FLOAT64)


def x(index):
    return Load("x", (index,), FLOAT64)


def ref(name):
    return Ref(name, FLOAT64)


def apply(op, *args, dtype=FLOAT64):
    return Apply(op, args, dtype)


def program(*body, outputs=(Y,), shapes=(), **more):
    return Program("f", (X,), outputs, (Kernel("k", body, shapes=shapes),), **more)


def result(*body, **more):
    whole = program(*body, **more)
    check(whole)
    return run(whole, [VALUES])[0]


def loop(*body, **more):
    return For(I, N, body, **more)


# ------------------------------------------------------------------------------------- check


def summed(n, *strides):
    """A call whose workspace is not allocated yet."""
    first = Strided(Load("x", (0,), FLOAT64), strides)
    return CumulativeSum(1, n, 0, first, Strided(Load("y", (0,), FLOAT64)))


BROKEN = {
    "an unknown buffer": (loop(Store("y", (i,), Load("z", (i,), FLOAT64))), "unknown buffer z"),
    "an unknown target": (loop(Store("z", (i,), number(0))), "unknown buffer z"),
    "too many subscripts": (loop(Store("y", (i, 0), number(0))), "has 1 axes, not 2"),
    "too few subscripts": (loop(Store("y", (i,), Load("x", (), FLOAT64))), "has 1 axes, not 0"),
    "a loop that is not there": (loop(Store("y", (j,), number(0))), "j is not a loop here"),
    "a call without workspace": (summed(4), "the workspace of cumsum is not allocated"),
    "a stride of a loop that is not there": (summed(4, j), "j is not a loop here"),
    "a scalar before its declaration": (
        loop(Store("y", (i,), ref("t"))),
        "t is read before it is declared",
    ),
    "a scalar outside its scope": (
        For(J, N, (loop(Declare("t", x(i))), Store("y", (j,), ref("t")))),
        "t is read before it is declared",
    ),
    "a local array outside its scope": (
        For(J, N, (loop(Alloc(Buffer("row", (1,), FLOAT64))), Store("row", (0,), number(1)))),
        "unknown buffer row",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_program_is_refused(name):
    statement, message = BROKEN[name]
    with pytest.raises(InternalError, match=message):
        check(program(statement))


# ------------------------------------------------------------------------------- the interpreter


def test_loops_have_starts_stops_and_limits():
    body = (Store("y", (i,), number(0)),)
    window = For(I, 7, (Store("y", (i,), x(i)),), start=1, limit=3)
    np.testing.assert_array_equal(result(For(I, N, body), window), [0, 2, 4, 0])


def test_accumulators_and_local_arrays():
    found = result(
        Declare("acc", number(0), constant=False),
        loop(
            Alloc(Buffer("row", (2,), FLOAT64)),
            Store("row", (1,), x(i)),
            Update(Load("row", (1,), FLOAT64), "multiply", number(2)),
            Update(ref("acc"), "add", Load("row", (1,), FLOAT64)),
            Store("y", (i,), ref("acc")),
        ),
    )
    np.testing.assert_array_equal(found, 2 * np.cumsum(VALUES))


def test_branches_indices_and_bounds():
    found = result(
        loop(
            If(
                Within(i, 1, 3),
                (Store("y", (i,), apply("convert_element_type", IndexValue(i * 10))),),
                (Store("y", (i,), number(-1)),),
            )
        )
    )
    np.testing.assert_array_equal(found, [-1, 10, 20, -1])


def test_a_choice_evaluates_only_what_it_chooses():
    guarded = apply("select", Within(i, 1, N), x(i - 1), number(0))
    np.testing.assert_array_equal(result(loop(Store("y", (i,), guarded))), [0, 1, 2, 4])


def test_a_kernel_may_see_a_buffer_in_another_shape():
    body = loop(Store("y", (i // 2, i % 2), x(i)))
    found = result(body, outputs=(Y,), shapes=(("y", (2, 2)),))
    np.testing.assert_array_equal(found, VALUES)


def test_products_are_calls():
    a, b = Buffer("a", (2, 3), FLOAT64), Buffer("b", (3, 2), FLOAT64)
    c, scratch = Buffer("c", (2, 2), FLOAT64), Buffer("s", (64,), np.dtype("u1"))

    def at(name, rank=2):
        return Load(name, (0,) * rank, FLOAT64)

    left, right, result = (
        Strided(at(n), s) for n, s in (("a", (3, 1)), ("b", (2, 1)), ("c", (2, 1)))
    )
    call = Matmul(2, 2, 3, left, right, result, Strided(at("s", 1)))
    whole = Program("f", (a, b), (c,), (Kernel("k", (call,)),), (scratch,))
    check(whole)
    left, right = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(run(whole, [left, right])[0], left @ right)


def test_runtime_sizes_come_from_the_inputs():
    n = Dim.symbol("n", 1)
    walk = Symbol("i", 0, n)
    inner = Buffer("x", (n, 2), FLOAT64), Buffer("y", (2 * n,), FLOAT64)
    body = For(
        walk,
        n,
        tuple(
            Store("y", (Dim.of(walk) * 2 + k,), Load("x", (Dim.of(walk), k), FLOAT64))
            for k in (0, 1)
        ),
    )
    whole = Program("f", inner[:1], inner[1:], (Kernel("k", (body,)),))
    check(whole)
    np.testing.assert_array_equal(run(whole, [np.arange(6.0).reshape(3, 2)])[0], np.arange(6.0))


WRONG = {
    "a subscript too large": ((loop(Store("y", (i,), x(i + 1))),), IndexError, "outside an axis"),
    "a subscript too small": ((loop(Store("y", (i - 1,), x(i))),), IndexError, "outside an axis"),
    "an element nobody wrote": (
        (For(I, 2, (Store("y", (i,), x(i)),)),),
        InternalError,
        "read before",
    ),
    "a shared accumulator": (
        (
            Declare("acc", number(0), constant=False),
            loop(Update(ref("acc"), "add", x(i)), Store("y", (i,), x(i)), parallel=True),
        ),
        InternalError,
        "all threads share",
    ),
    "a shared element": (
        (
            loop(Store("y", (i,), x(i))),
            loop(Store("y", (0,), x(i)), parallel=True),
        ),
        InternalError,
        "two iterations of a parallel loop meet at y",
    ),
    "a value of another iteration": (
        (
            Store("y", (0,), x(0)),
            For(I, N, (Store("y", (i,), Load("y", (i - 1,), FLOAT64)),), start=1, parallel=True),
        ),
        InternalError,
        "read before it is written|meet at y",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_c_would_let_pass_is_an_error(name):
    body, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        result(*body)


def test_temporaries_that_share_memory_must_not_live_together():
    a, b = Buffer("a", (1,), FLOAT64), Buffer("b", (1,), FLOAT64)
    body = (
        Store("a", (0,), x(0)),
        Store("b", (0,), x(1)),
        loop(Store("y", (i,), Load("a", (0,), FLOAT64))),
    )
    apart = {"temporaries": (a, b), "offsets": (0, 64), "workspace": 72}
    np.testing.assert_array_equal(result(*body, **apart), 1)
    with pytest.raises(InternalError, match="a: element 0 is read before it is written"):
        result(*body, **{**apart, "offsets": (0, 0)})


def test_an_element_that_was_not_written_may_be_loaded_where_another_one_is_chosen():
    a, of_a = Buffer("a", (N,), FLOAT64), Load("a", (i,), FLOAT64)
    first = Store("a", (0,), x(0))

    def chosen(value):
        loaded = Declare("loaded", value)
        return loop(loaded, Store("y", (i,), apply("select", Within(i, 0, 1), ref("loaded"), x(i))))

    for value in of_a, apply("add", of_a, number(0)):
        np.testing.assert_array_equal(result(first, chosen(value), temporaries=(a,)), VALUES)
    for used in (
        Store("y", (i,), apply("multiply", of_a, number(0))),
        If(apply("less", of_a, number(0), dtype=BOOL), (Store("y", (i,), x(i)),)),
    ):
        with pytest.raises(InternalError, match="a: element 1 is read before it is written"):
            result(first, loop(used), temporaries=(a,))


# -------------------------------------------------------------------------------------- text


def test_the_text_is_short_and_says_everything():
    whole = program(
        Declare("acc", number(0), constant=False),
        loop(
            Update(ref("acc"), "add", x(i)), parallel=True, simd=True, reductions=(("add", "acc"),)
        ),
        For(J, 8, (Store("y", (j,), apply("sqrt", ref("acc"))),), start=1, limit=3),
        If(apply("less", number(0), ref("acc"), dtype=BOOL), (Store("y", (0,), number(1)),)),
        temporaries=(Buffer("t", (2, 3), INT64),),
    )
    assert str(whole) == (
        "program f\n"
        "  inputs: x:f64[4]\n"
        "  outputs: y:f64[4]\n"
        "  temporaries: t:i64[2,3]\n"
        "kernel k\n"
        "  var acc:f64 = 0.0\n"
        "  for i in 0..4 parallel simd add:acc\n"
        "    acc add= x[i]\n"
        "  for j in 1..min(8, 3)\n"
        "    y[j] = sqrt(acc)\n"
        "  if less(0.0, acc)\n"
        "    y[0] = 1.0"
    )
