"""Loops whose iterations run loops of their own: lanes against Python, and what is refused."""

import numpy as np
import pytest
from divergent_programs import (
    GUARDED,
    IN_LANES,
    NOT_IN_LANES,
    bisections,
    square_roots,
)
from drawn_loops import drawn_function
from thorough import THOROUGH, one_in

from transpile import grad, jit
from transpile.ir.dims import Symbol
from transpile.ir.loop_ir import Apply, Declare, For, If, Literal, Ref, Update, While
from transpile.ir.types import BOOL, FLOAT64
from transpile.schedule.lanes.outer.branches import without_branches
from transpile.schedule.lanes.outer.scopes import read_of_others, updated_of_others
from transpile.symbols.identifiers import Names

SIZES = {"x": ("n",), "y": ("n",)}


def arguments(count, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=count), random.normal(size=count)


def assert_agree(jitted, function, *given):
    """Both give the same, and change their arguments in the same way."""
    ours, theirs = ([a.copy() if isinstance(a, np.ndarray) else a for a in given] for _ in range(2))
    one, other = jitted(*ours), function(*theirs)
    if not isinstance(other, tuple):
        one, other = (one,), (other,)
    for x, y in zip((*one, *ours), (*other, *theirs), strict=True):
        tolerance = 1e-6 if getattr(x, "dtype", None) == np.float32 else 1e-12
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=1e-12)


@pytest.mark.parametrize("function", IN_LANES, ids=lambda f: f.__name__)
@one_in(3)
def test_iterations_are_lanes(function):
    jitted = jit(function, dynamic_shapes=SIZES)
    for count in (33, 1, 32, 7, 70):
        assert_agree(jitted, function, *arguments(count))
    text = jitted.lower(*arguments(64)).as_text("loops")
    lanes = [line for line in text.splitlines() if "for lane" in line]
    assert lanes, text
    assert all("simd" in line for line in lanes), text


@pytest.mark.parametrize("function", NOT_IN_LANES, ids=lambda f: f.__name__)
@one_in(2)
def test_iterations_that_meet_or_read_memory_are_no_lanes(function):
    jitted = jit(function)
    assert_agree(jitted, function, *arguments(40))
    assert "for lane" not in jitted.lower(*arguments(40)).as_text("loops")


@pytest.mark.parametrize("function", GUARDED, ids=lambda f: f.__name__)
def test_elements_exist_that_lanes_read(function):
    assert_agree(jit(function), function, *arguments(40))


@pytest.mark.parametrize("seed", range(400 if THOROUGH else 10))
@one_in(3)
def test_drawn_loops_give_what_python_gives(seed):
    function, source = drawn_function(seed)
    random = np.random.default_rng(seed)
    jitted = jit(function)
    count = int(random.choice([5, 31, 32, 33, 64, 97]))
    x, y = 2 * random.normal(size=count), random.normal(size=count)
    try:
        assert_agree(jitted, function, x, y, random.integers(0, 50, count), seed % 13)
    except AssertionError as error:
        raise AssertionError(source) from error


def test_few_iterations_stay_as_they_are():
    text = jit(square_roots).lower(*arguments(31)).as_text("loops")
    assert "for lane" not in text


def test_rounds_are_those_of_one_lane_alone():
    """What one iteration gives does not depend on those beside it."""
    x, y = arguments(40)
    whole = jit(square_roots)(x, y)
    ones = jit(square_roots, dynamic_shapes=SIZES)
    assert whole.tolist() == [ones(x[i : i + 1], y[i : i + 1])[0] for i in range(40)]


def test_derivatives_go_through_the_loop():
    x, y = arguments(40)
    steps = grad(lambda x: bisections(x, y).sum())(x)
    assert not np.any(steps)  # of numbers that are chosen, none depends on x smoothly
    slopes = grad(lambda x: _iterated(x).sum())(x)
    shift = np.full(40, 1e-6)
    expected = (_iterated(x + shift) - _iterated(x - shift)) / 2e-6
    np.testing.assert_allclose(slopes, expected, rtol=1e-6, atol=1e-8)


def _iterated(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        a = x[i]
        for _ in range(100):
            a = a - 0.1 * (a * a * a + a - x[i])
        out[i] = a
    return out


A, B, T = Ref("a", FLOAT64), Ref("b", FLOAT64), Ref("t", BOOL)


def test_scopes_know_names_that_are_declared_twice():
    """`a` of the branch is another one than that behind it."""
    inner = (Declare("a", Literal(1.0, FLOAT64)), Update(B, "add", A))
    body = (If(T, inner), Update(A, "set", B))
    assert read_of_others(body) == {"t", "a", "b"}
    assert updated_of_others(body) == {"a", "b"}
    assert read_of_others((If(T, inner),)) == {"t", "b"}
    assert read_of_others((Declare("a", B), *body)) == {"t", "b"}
    loop = While(T, (Update(A, "set", B),), (Declare("t", Literal(True, BOOL)),))
    assert read_of_others((loop,)) == {"a", "b", "t"}
    assert read_of_others((For(Symbol("i", 0, 3), 3, inner),)) == {"b"}


def test_branches_become_choices():
    """Both arms declare a scalar of the same name."""
    half = Apply("multiply", (A, Literal(0.5, FLOAT64)), FLOAT64)
    arms = [(Declare("c", value), Update(B, "add", Ref("c", FLOAT64))) for value in (A, half)]
    flat = [*without_branches((If(T, *arms),), Names({"a", "b", "t", "c"}))]
    assert not any(isinstance(s, If) for s in flat)
    declared = [s.name for s in flat if isinstance(s, Declare)]
    assert len(declared) == len(set(declared)) == 3
    for t, expected in ((True, 5.0), (False, 4.0)):
        values = {"a": 2.0, "b": 3.0, "t": t}
        for s in flat:
            name = s.name if isinstance(s, Declare) else s.target.name
            assert isinstance(s, Declare) or s.op == "set"
            values[name] = _value(s.value, values)
        assert values["b"] == expected


def _value(expr, values):
    match expr:
        case Literal(value=value):
            return value
        case Ref(name=name):
            return values[name]
        case Apply(op="select", args=(test, x, y)):
            return _value(x if _value(test, values) else y, values)
        case Apply():
            return expr.primitive.numpy(*(_value(x, values) for x in expr.args))
