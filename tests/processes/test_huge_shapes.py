"""Sizes beyond 2**31 and 2**63: what cannot be is an error with the user's line, the rest compiles
without a number of 32 bits in its subscripts."""

import re
from pathlib import Path

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import ShapeDtypeStruct
from transpile.errors import UnsupportedError
from transpile.ir.loop_ir import Buffer, Kernel, Load, Program, Store
from transpile.options import Options
from transpile.schedule.memory_plan import plan_memory

pytestmark = pytest.mark.full_level  # loops over 2**31 elements

HERE = re.escape(Path(__file__).name)


def u1(*shape):
    return ShapeDtypeStruct(shape, "uint8")


def f8(*shape):
    return ShapeDtypeStruct(shape, "float64")


@pytest.mark.parametrize(
    "argument",
    [u1(2**63), u1(2**64), f8(2**60), f8(2**31, 2**31), f8(2**40, 2**40), f8(2**40, 0, 2**40)],
)
def test_an_argument_of_too_many_bytes_is_refused(argument):
    """NumPy does not make such an array either."""
    with pytest.raises(ValueError):
        np.broadcast_to(np.zeros((), argument.dtype), argument.shape).astype(argument.dtype)
    with pytest.raises(ValueError, match=rf"argument 'x' of .*{HERE}.*more than 2\*\*63 - 1 bytes"):
        transpile.jit(lambda x: x + 1).lower(argument)


def test_a_negative_extent_is_refused():
    with pytest.raises(ValueError, match=rf"argument 'x' of .*{HERE}.*an extent is negative"):
        transpile.jit(lambda x: x.sum()).lower(u1(4, -3))


@pytest.mark.parametrize(
    "function, argument",
    [
        (lambda x: x[:, None] * x, f8(2**33)),
        (lambda x: np.broadcast_to(x, (2**62, 3)).sum(), f8(3)),
        (lambda x: np.broadcast_to(x, (2**40, 2**40, 3)).sum(axis=0), u1(3)),
    ],
)
def test_a_value_of_too_many_elements_is_refused(function, argument):
    message = rf"{HERE}:\d+: .* more than 2\*\*63 - 1 elements"
    with pytest.raises(UnsupportedError, match=message):
        transpile.jit(function).lower(argument)


@pytest.mark.parametrize(
    "function, arguments",
    [
        (lambda x: x @ x.T, (f8(2**31, 2),)),
        (lambda x, y: x[:, None] + y, (f8(2**30), f8(2**31))),
        (lambda x: x.astype(np.float64), (u1(2**61),)),
    ],
)
def test_a_stored_value_of_too_many_bytes_is_refused(function, arguments):
    lowered = transpile.jit(function).lower(*arguments)
    with pytest.raises(UnsupportedError, match=rf"{HERE}:\d+: .* has more than 2\*\*63 - 1 bytes"):
        lowered.as_text()


def test_what_is_not_stored_may_be_larger():
    """The numbers that are added up are of 64 bits, the array of them is nowhere."""
    transpile.jit(lambda x: x.sum()).lower(u1(2**62)).compile()


def test_a_workspace_of_too_many_bytes_is_refused():
    dtype = np.dtype("uint8")
    parts = tuple(Buffer(name, (2**62,), dtype) for name in ("a", "b", "c"))
    out = Buffer("out", (1,), dtype)
    loads = tuple(Store("out", (0,), Load(part.name, (0,), dtype)) for part in parts)
    program = Program("big", (), (out,), (Kernel("kernel", loads),), parts)
    with pytest.raises(
        UnsupportedError, match="big needs a workspace of 13835058055282163712 bytes"
    ):
        plan_memory(program, Options())
    assert plan_memory(
        program.__class__("big", (), (out,), (Kernel("k", loads[:1]),), parts), Options()
    )


@pytest.fixture(scope="module")
def long():
    """More than 2**31 elements; pages that nobody has written to take no memory."""
    x = np.zeros(2**31 + 11, np.uint8)
    x[2**31 - 1] = 9
    x[-3:] = [1, 2, 3]
    return x


@pytest.mark.parametrize(
    "function, value",
    [
        (lambda x: x.argmax(), 2**31 - 1),
        (lambda x: x.sum(), 15),
        (lambda x: (x == 3).any(), True),
        (lambda x: x[11:][::-1].reshape(2, -1).max(axis=1), [9, 0]),
        (lambda x: x[np.array([-1, 2**31 - 1, 2**31 + 9])], [3, 9, 2]),
        (lambda x: x[::-1][:13], [3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0]),
    ],
)
@one_in(2)
def test_elements_beyond_2_to_31_are_found(function, value, long):
    np.testing.assert_array_equal(transpile.jit(function)(long), value)
