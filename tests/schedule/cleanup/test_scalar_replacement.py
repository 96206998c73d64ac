"""Temporaries of one element that one kernel uses become variables."""

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered, statements_of
from helpers import ordinary

from transpile.analysis.oracle.loop_interpreter import run
from transpile.intrinsics.products import Matmul
from transpile.ir.calls import Strided
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import Buffer, Declare, For, Kernel, Load, Program, Ref, Store, Update
from transpile.ir.loop_ir import Literal as Number
from transpile.ir.loop_rewrite import used_buffers
from transpile.ir.types import FLOAT64
from transpile.options import Options
from transpile.schedule.cleanup.scalar_replacement import replace_with_scalars

pytestmark = pytest.mark.full_level

X = ordinary("f8", (50,))
I = Symbol("i", 0, 50)
SCALAR = Load("t", (), FLOAT64)
ADDED = Update(Ref("acc", FLOAT64), "add", Load("x", (Dim.of(I),), FLOAT64))
START = Declare("acc", Number(0.0, FLOAT64), constant=False)


def test_an_accumulator_is_read_where_it_is():
    program = lowered(lambda x: (x * x).sum() / 50, X)
    assert [b.name for b in program.temporaries] != []
    after = assert_steps_agree(program, [X], replace_with_scalars)
    assert after.temporaries == ()
    assert len(statements_of(after, Store)) == 1


def test_a_number_that_another_kernel_reads_stays_in_memory():
    matrix = ordinary("f8", (64, 64))
    program = lowered(lambda a: a @ a / np.sqrt((a * a).sum()), matrix)
    assert len(program.kernels) > 1
    after = replace_with_scalars(program, Options())
    kept = [b.name for b in after.temporaries if not b.shape]
    assert len(kept) == 1
    assert sum(kept[0] in used_buffers(kernel)[0] for kernel in after.kernels) == 2


def test_an_accumulator_that_goes_on_is_copied_first():
    x, t, y = Buffer("x", (50,), FLOAT64), Buffer("t", (), FLOAT64), Buffer("y", (), FLOAT64)
    body = (
        START,
        For(I, 50, (ADDED,)),
        Store("t", (), Ref("acc", FLOAT64)),
        For(I, 50, (ADDED,)),
        Store("y", (), SCALAR),
    )
    program = Program("f", (x,), (y,), (Kernel("k", body),), temporaries=(t,))
    after = assert_steps_agree(program, [X], replace_with_scalars)
    assert after.temporaries == () and len(statements_of(after, Declare)) == 2


def test_results_are_stored():
    program = lowered(lambda x: (x.sum(), x.sum() * 2), X)
    assert replace_with_scalars(program, Options()) == program


def test_a_number_whose_address_a_call_takes_stays_in_memory():
    t, y = Buffer("t", (), FLOAT64), Buffer("y", (), FLOAT64)
    scratch = Buffer("scratch", (8,), np.dtype("uint8"))
    result, space = Load("y", (), FLOAT64), Load("scratch", (0,), scratch.dtype)
    number = Strided(SCALAR, (1, 1))
    call = Matmul(1, 1, 1, number, number, Strided(result, (1, 1)), Strided(space))
    body = (Store("t", (), Number(3.0, FLOAT64)), call)
    program = Program("f", (), (y,), (Kernel("k", body),), temporaries=(t, scratch))
    assert replace_with_scalars(program, Options()) == program
    assert run(program, [])[0] == 9
