"""What `transpile.numpy` makes in a traced function is traced: traced numbers may index it."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import numpy as jnp
from transpile.errors import TracerIntegerConversionError
from transpile.trace.tracer import Tracer

MAKERS = {
    "array": lambda xp: xp.array([[1.5, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    "asarray": lambda xp: xp.asarray(np.arange(12).reshape(3, 4)),
    "asarray of a dtype": lambda xp: xp.asarray([1, 2, 3], dtype=np.float32),
    "array of a dtype": lambda xp: xp.array([1.7, 2.2, -3.9], dtype=np.int64),
    "array of one dimension more": lambda xp: xp.array([1, 2, 3], ndmin=2).T,
    "arange": lambda xp: xp.arange(3),
    "arange of floats": lambda xp: xp.arange(0.1, 0.4, 0.1),
    "arange with a step": lambda xp: xp.arange(7, 1, -2),
    "linspace": lambda xp: xp.linspace(0, 1, 4),
    "eye": lambda xp: xp.eye(3, 4, 1),
    "identity": lambda xp: xp.identity(3),
    "tri": lambda xp: xp.tri(3),
    "full": lambda xp: xp.full((3, 2), 7),
    "zeros": lambda xp: xp.zeros(3, bool),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@one_in(3)
def test_what_is_made_is_traced_and_what_numpy_makes(make):
    expected = make(np)
    is_traced = []

    def made():
        is_traced.append(isinstance(make(jnp), Tracer))
        return make(jnp)

    np.testing.assert_array_equal(transpile.jit(made)(), expected, strict=True)
    assert is_traced == [True]
    np.testing.assert_array_equal(make(jnp), expected, strict=True)
    assert type(make(jnp)) is np.ndarray


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@one_in(3)
def test_what_is_made_can_be_indexed_and_updated_by_a_traced_number(make):
    expected = make(np)
    for k in (0, 2, -1):
        np.testing.assert_array_equal(transpile.jit(lambda i: make(jnp)[i])(k), expected[k])
        updated = transpile.jit(lambda i: make(jnp).at[i].set(1))(k)
        changed = expected.copy()
        changed[k] = 1
        np.testing.assert_array_equal(updated, changed, strict=True)


def test_a_known_array_is_indexed_through_asarray():
    table = np.arange(6.0).reshape(3, 2)
    row = transpile.jit(lambda i: jnp.asarray(table)[i])(2)
    np.testing.assert_array_equal(row, [4, 5])


def test_numpys_own_functions_give_plain_arrays():
    def known():
        assert type(np.arange(3)) is type(np.array([1, 2])) is type(np.eye(2)) is np.ndarray
        return np.arange(3)

    assert transpile.jit(known)().tolist() == [0, 1, 2]


def test_a_number_that_is_made_is_a_size_that_the_program_finds():
    made = lambda: jnp.zeros(int(jnp.array(3)))
    with pytest.raises(TracerIntegerConversionError):
        transpile.jit(made, python_control_flow=False)()
    assert transpile.jit(made)().shape == (3,)
    assert transpile.jit(lambda: jnp.zeros(int(np.array(3))))().shape == (3,)


def test_linspace_gives_its_step_too():
    values, step = transpile.jit(lambda: jnp.linspace(1, 2, 5, retstep=True))()
    assert values.tolist() == [1, 1.25, 1.5, 1.75, 2]
    assert step == 0.25
