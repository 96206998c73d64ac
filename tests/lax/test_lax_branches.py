"""The branches of lax, as users call them."""

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import lax
from transpile.functional.vectorize import vmap

FORMS = [
    lambda p, x: lax.cond(p, lambda x: x + 1, lambda x: x - 1, x),
    lambda p, x: lax.cond(p, lambda x: x + 1, lambda x: x - 1, operand=x),
    lambda p, x: lax.cond(p, x, lambda x: x + 1, x, lambda x: x - 1),
    lambda p, x: lax.cond(p, lambda: x + 1, lambda: x - 1),
    lambda p, x: lax.cond(p, lambda _: x + 1, lambda _: x - 1, operand=None),
    lambda p, x: lax.switch(p * 1, [lambda x: x - 1, lambda x: x + 1], x),
    lambda p, x: lax.switch(p * 5 - 1, [lambda: x - 1, lambda: x + 1]),
]


@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
@one_in(2)
def test_forms_of_branches(form):
    for p in (True, False):
        expected = 4.0 if p else 2.0
        assert form(p, 3.0) == expected
        assert form(np.array(p), np.float64(3.0)) == expected
        assert transpile.jit(form)(p, 3.0) == expected
        assert transpile.jit(lambda x, p=p: form(p, x))(3.0) == expected
        with transpile.disable_jit():
            assert form(p, 3.0) == expected
    np.testing.assert_array_equal(vmap(form)(np.array([True, False]), np.ones(2)), [2.0, 0.0])


@pytest.mark.parametrize("pred", [0, 2, 0.0, -0.5, np.float32(3), np.uint8(0), np.array(1.5)])
def test_a_number_is_true_unless_it_is_zero(pred):
    assert lax.cond(pred, lambda: 1, lambda: 0) == bool(pred)
    assert transpile.jit(lambda p: lax.cond(p, lambda: 1, lambda: 0))(pred) == bool(pred)


@pytest.mark.parametrize("index", [-5, 0, 1, 2, 3, 100, np.int8(1), np.uint32(7)])
def test_an_index_out_of_bounds_is_the_nearest(index):
    branches = [lambda x, k=k: x * 10 + k for k in range(3)]
    expected = 20 + min(max(int(index), 0), 2)
    assert lax.switch(index, branches, 2) == expected
    assert transpile.jit(lambda i, x: lax.switch(i, branches, x))(index, 2) == expected
    assert lax.switch(index, branches[:1], 2) == 20


def test_only_the_branch_that_is_taken_is_computed():
    def f(x):
        slow = lambda x: lax.while_loop(lambda c: c > -1, lambda c: c + 1, x)  # goes on for ever
        return lax.cond(x > 0, slow, lambda x: x - 1, x)

    assert f(-2) == -3
    assert transpile.jit(f)(-2) == -3


def test_a_branch_that_is_known_leaves_the_other_out():
    text = str(transpile.make_jaxpr(lambda x: lax.cond(True, np.sin, np.cos, x))(1.0))
    assert "sin" in text and "cos" not in text and "cond" not in text


def test_branches_share_what_they_close_over():
    def f(x, y):
        return lax.cond(x > 0, lambda: x * y, lambda: y + x)

    (equation,) = (
        e for e in transpile.make_jaxpr(f)(1.0, 2.0).equations if e.primitive.name == "cond"
    )
    assert len(equation.inputs) == 3
    assert f(2.0, 3.0) == 6.0 and f(-2.0, 3.0) == 1.0


def test_platform_dependent_is_the_function_for_this_platform():
    assert lax.platform_dependent(1.0, cpu=lambda x: x + 1, tpu=lambda x: x) == 2.0
    assert lax.platform_dependent(1.0, tpu=lambda x: x, default=lambda x: x + 2) == 3.0


@pytest.mark.parametrize("condition", [True, False])
def test_a_number_that_a_routine_of_a_branch_finds(condition):
    """It has no axes, and stands in the branch alone."""

    def function(x, condition):
        return lax.cond(condition, lambda x: x[np.argmax(x > 3)], lambda x: x.sum(), x)

    x = np.array([0, 3, 7, 5])
    assert transpile.jit(function)(x, condition) == (7 if condition else 15)
