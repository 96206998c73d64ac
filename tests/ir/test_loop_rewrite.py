"""Going over loops: which may run their iterations in any order, what a step leaves as it is, and
what is checked again after it."""

import numpy as np
import pytest

from transpile import schedule
from transpile.errors import InternalError
from transpile.intrinsics.products import Matmul
from transpile.ir.calls import Strided
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import (
    Alloc,
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
    While,
)
from transpile.ir.loop_rewrite import (
    is_independent,
    loads,
    map_statement,
    substitute_index,
    walk,
    with_bodies,
)
from transpile.ir.loop_verifier import check
from transpile.ir.types import BOOL, FLOAT64, UINT8
from transpile.options import Options
from transpile.util.frozen_records import replace

I, J = Symbol("i", 0, 8), Symbol("j", 0, 8)
i, j = Dim.of(I), Dim.of(J)
ONE = Literal(np.float64(1), FLOAT64)
ACC = Ref("acc", FLOAT64)


def store(*index):
    return Store("y", index, ONE)


def update(*index):
    return Update(Load("y", index, FLOAT64), "add", ONE)


def product(*index):
    """A call that writes a row of y, and scratch memory."""
    a, c = Strided(Load("x", (0,), FLOAT64), (1, 1)), Strided(Load("y", index, FLOAT64), (8, 1))
    return Matmul(1, 8, 1, a, a, c, Strided(Load("scratch", (0,), UINT8)))


INDEPENDENT = {
    "the results of a call of its own": (product(i, 0),),
    "elements of its own": (store(i),),
    "a scalar of its own": (Declare("acc", ONE, constant=False), Update(ACC, "add", ONE), store(i)),
    "an array of its own": (Alloc(Buffer("y", (8,), FLOAT64)), For(J, 8, (update(j),))),
    "rows of its own": (For(J, 8, (update(i, j),)),),
    "a window of its own": (For(J, i * 8 + 8, (store(j),), start=i * 8),),
}
DEPENDENT = {
    "a scalar from outside": (Update(ACC, "add", ONE),),
    "sums of columns": (For(J, 8, (update(j),)),),
    "the same element": (store(0),),
    "the results of one call": (product(0, 0),),
    "an array from outside": (For(J, 8, (store(j), Declare("t", Load("y", (j,), FLOAT64)))),),
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_iterations_are_independent_when_they_change(name):
    assert is_independent(For(I, 8, INDEPENDENT[name]))


@pytest.mark.parametrize("name", DEPENDENT)
def test_iterations_are_not_independent_when_they_change(name):
    assert not is_independent(For(I, 8, DEPENDENT[name]))


X = Load("x", (i,), FLOAT64)
POSITIVE = Apply("greater", (X, ONE), BOOL)
STATEMENTS = {
    "for": For(I, 8, (store(i),)),
    "if": If(POSITIVE, (store(i),), (Update(ACC, "add", X),)),
    "while": While(POSITIVE, (store(i),), (Declare("t", X),)),
    "update": Update(Load("y", (i, j), FLOAT64), "add", X),
    "store": Store("y", (i * 2 + 1,), Apply("add", (X, ONE), FLOAT64)),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_what_nothing_changes_is_the_same_object(name):
    statement = STATEMENTS[name]
    assert map_statement(statement, lambda e: e, lambda index: index) is statement
    assert substitute_index(statement, Symbol("k", 0, 8), 3) is statement
    assert with_bodies(statement, lambda body: (*body,)) is statement


@pytest.mark.parametrize("name", STATEMENTS)
def test_what_changes_is_another_object_with_elements_of_its_own(name):
    statement = For(J, 8, (STATEMENTS[name],))
    before = [load for s in walk((statement,)) for load in loads(s)]
    shifted = substitute_index(statement, I, i + 1)
    assert shifted != statement and shifted == substitute_index(statement, I, i + 1)
    after = [load for s in walk((shifted,)) for load in loads(s)]
    assert [l.index for l in after] == [
        tuple(i + 1 if d == i else d for d in l.index) for l in before
    ]
    assert [load for s in walk((statement,)) for load in loads(s)] == before


def program(*bodies):
    kernels = tuple(Kernel(f"k{number}", body) for number, body in enumerate(bodies))
    y = Buffer("y", (8,), FLOAT64)
    return Program("f", (Buffer("x", (8,), FLOAT64),), (y,), kernels)


GOOD, BAD = For(I, 8, (store(i),)), For(I, 8, (store(j),))


def test_a_kernel_that_a_step_changes_is_checked_again():
    before = program((GOOD,), (GOOD,))
    check(before)
    check(before, before)
    after = replace(before, kernels=(before.kernels[0], replace(before.kernels[1], body=(BAD,))))
    with pytest.raises(InternalError, match="j is not a loop here"):
        check(after, before)


def test_all_kernels_are_checked_again_among_other_buffers():
    before = program((GOOD,))
    check(before)
    with pytest.raises(InternalError, match="y has 2 axes, not 1"):
        check(replace(before, outputs=(Buffer("y", (8, 8), FLOAT64),)), before)


def test_the_schedule_notices_a_step_that_breaks_a_program(monkeypatch):
    def breaking(program, options):
        (kernel,) = program.kernels
        return replace(program, kernels=(replace(kernel, body=(BAD,)),))

    def same_again(program, options):
        kernels = tuple(replace(k, body=(*k.body,)) for k in program.kernels)
        return replace(program, kernels=kernels)

    monkeypatch.setattr(schedule, "SCHEDULE", ((same_again, "makes no difference"),))
    before = program((GOOD,))
    assert schedule.schedule(before, Options()).kernels[0] is before.kernels[0]
    monkeypatch.setattr(schedule, "SCHEDULE", ((breaking, "stores nowhere"),))
    with pytest.raises(InternalError, match="j is not a loop here"):
        schedule.schedule(before, Options())


@pytest.mark.parametrize("ends", [{"stop": j}, {"stop": 8, "start": j}], ids=["end", "start"])
def test_a_loop_ends_where_loops_around_it_say(ends):
    inner = For(I, body=(store(i),), **ends)
    check(program((For(J, 8, (inner,)),)))
    with pytest.raises(InternalError, match="j is not a loop here"):
        check(program((inner,)))
