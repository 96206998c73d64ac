"""Scalars that nothing reads are removed, with those that only they read; live ones stay."""

import numpy as np
import pytest

from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    For,
    If,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Store,
    Update,
)
from transpile.ir.loop_verifier import check
from transpile.ir.types import BOOL, FLOAT64, INT64
from transpile.options import Options
from transpile.schedule.cleanup.dead_scalars import remove_dead_scalars

pytestmark = pytest.mark.full_level

X, OUT = Buffer("x", (4,), FLOAT64), Buffer("out", (4,), FLOAT64)
SYMBOL = Symbol("i", 0, 4)
I = Dim.of(SYMBOL)


def kept(*body):
    """The names that are declared after the step, in a loop over i."""
    loop = For(SYMBOL, 4, body)
    program = Program("f", (X,), (OUT,), (Kernel("f_kernel", (loop,)),))
    after = remove_dead_scalars(program, Options())
    check(after)
    (loop,) = after.kernels[0].body

    def names(statements):
        for s in statements:
            if isinstance(s, Declare):
                yield s.name
            if isinstance(s, If | For):
                yield from names(s.body)

    return list(names(loop.body))


def ref(name):
    return Ref(name, FLOAT64)


X_I = Load("x", (I,), FLOAT64)
STORE_B = Store("out", (I,), ref("b"))


def test_what_is_read_stays():
    assert kept(Declare("a", X_I), Declare("b", ref("a")), STORE_B) == ["a", "b"]


def test_chains_that_end_nowhere_go():
    unread = Declare("c", X_I), Declare("d", Apply("square", (ref("c"),), FLOAT64))
    assert kept(*unread, Declare("b", X_I), STORE_B) == ["b"]


def test_what_only_a_branch_reads_stays_for_it():
    test = Load("x", (0,), FLOAT64)
    condition = Apply("less", (test, Literal(np.float64(0), FLOAT64)), BOOL)
    inner = If(condition, (Declare("c", ref("a")), Declare("b", ref("a")), STORE_B))
    assert kept(Declare("a", X_I), inner) == ["a", "b"]


def test_accumulators_stay():
    zero = Literal(np.float64(0), FLOAT64)
    assert kept(Declare("a", zero, constant=False), Update(ref("a"), "add", X_I)) == ["a"]


def test_subscripts_are_read_by_what_they_index():
    symbol = Symbol("at", 0, 4)
    place = Declare("at", Literal(np.int64(2), INT64), symbol=symbol)
    assert kept(place, Store("out", (Dim.of(symbol),), X_I)) == ["at"]
    assert kept(place, Store("out", (I,), X_I)) == []
