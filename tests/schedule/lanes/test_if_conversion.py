"""Nested selects of vector loops: which are named first, and that results stay."""

import numpy as np
import pytest
from graphs import assert_steps_agree, lowered, scheduled_until, statements_of
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

from transpile import grad, jit, lax
from transpile import numpy as tnp
from transpile.ir.dims import Dim, Symbol
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    For,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import subexpressions
from transpile.options import Options
from transpile.schedule import schedule
from transpile.schedule.lanes.if_conversion import convert_ifs

pytestmark = pytest.mark.full_level


def numbers(*shape, dtype="f8"):
    return np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(dtype)


X, Y = numbers(4, 40), numbers(4, 40) + 1


def nested(x, y):
    return np.where(x > 0, np.where(y == 1, x, y), 0)


def three(x, y):
    inner = np.where(y == 2, x * 2, np.where(y == 3, -x, y))
    return np.where(x > 0, inner, 1)


def in_sum(x, y):
    """A choice in an operation that is chosen."""
    return np.where(x > 0, y + np.where(y > 1, x, 3), 0)


def both(x, y):
    return np.where(x > 0, np.where(y > 1, x, y), np.where(y < 0, y, x))


def joined(x, y):
    """Two results side by side, each of which asks for the same number."""
    parts = [np.where(x > k, np.where(y == k, x, 0), 0) for k in range(2)]
    return np.stack(parts, axis=-1).reshape(4, 80)


def summed(x, y):
    return np.where(x > 0, np.where(y > 1, x, y), 0).sum(axis=1)


def integers(x, y):
    return np.where(x > 0, np.where(y > 1, 1, 2), 3)


def windows(x, y):
    """The way back through the largest of two."""

    def f(x):
        pairs = lax.reduce_window(np.maximum(x, 0), -np.inf, lax.max, (1, 2), (1, 2), "VALID")
        return (pairs * y[:, :20]).sum()

    return grad(f)(x)


NAMED = [nested, three, in_sum, both, joined, summed, integers, windows]


def single(x, y):
    return np.where(x > 0, x, y)


def in_condition(x, y):
    return np.where(np.where(x > 0, y > 0, y < 0), x, y)


def dear(x, y):
    """A function that few elements need."""
    return np.where(x > 0, np.where(y > 1, np.exp(x), y), 0)


def divided(x, y):
    """Integers are divided where that is allowed."""
    a, b = x.astype(int), y.astype(int)
    return np.where(a > 0, np.where(b != 0, a // np.where(y > 1, b, 1), a), 0)


UNNAMED = [single, in_condition, dear]


def prepared(f, *arguments):
    """A program before the step."""
    return scheduled_until(convert_ifs, lowered(f, *arguments), Options())


def inner_choices(program):
    """The choices in branches of others, in loops in lanes."""
    bodies = [s.body for s in statements_of(program, For) if s.simd]
    values = [s.value for body in bodies for s in body if isinstance(s, Declare | Store | Update)]
    choices_of = [p for v in values for p in subexpressions(v) if _is_choice(p)]
    return [p for c in choices_of for a in c.args[1:] for p in subexpressions(a) if _is_choice(p)]


def _is_choice(part):
    return isinstance(part, Apply) and part.op == "select"


@pytest.mark.parametrize("f", NAMED, ids=lambda f: f.__name__)
def test_inner_choices_are_named(f):
    before = prepared(f, X, Y)
    assert inner_choices(before)
    after = assert_steps_agree(before, [X, Y], convert_ifs)
    assert not inner_choices(after)


@pytest.mark.parametrize("f", UNNAMED, ids=lambda f: f.__name__)
def test_others_stay(f):
    after = assert_steps_agree(prepared(f, X, Y), [X, Y], convert_ifs)
    assert all(isinstance(s.value, Load) for s in statements_of(after, Declare))


def masked_sum(x, y):
    return np.sum(x, where=y > 0)


def masked_product(x, y):
    return np.where(y > 0, x * x, 1) * 2


@pytest.mark.parametrize("f", [masked_sum, masked_product, single])
@pytest.mark.parametrize("shape", [(4, 40), (5, 30000)])  # and blocks of a sum, which have a limit
def test_elements_that_are_chosen_are_loaded_first_and_once(f, shape):
    x, y = numbers(*shape), numbers(*shape) + 1
    after = convert_ifs(prepared(f, x, y), Options())
    loaded = [s.value for s in statements_of(after, Declare) if s.name.startswith("loaded")]
    assert len({str(v) for v in loaded}) == len(loaded)
    assert not list(chosen_loads(after)) and loaded
    if shape == X.shape:
        assert_steps_agree(prepared(f, x, y), [x, y], convert_ifs)


def chosen_loads(program):
    """The elements in arms of selects, in loops in lanes, that the loop does not load elsewhere."""
    for loop in statements_of(program, For):
        if loop.simd:
            values = [s.value for s in loop.body if isinstance(s, Declare | Store | Update)]
            parts = [p for v in values for p in subexpressions(v)]
            arms = [a for p in parts if _is_choice(p) for a in p.args[1:]]
            chosen = [p for a in arms for p in subexpressions(a) if isinstance(p, Load)]
            everywhere = [p for p in parts if isinstance(p, Load)]
            yield from (p for p in chosen if everywhere.count(p) == chosen.count(p))


def test_elements_that_need_not_be_there_and_those_at_positions_in_memory_stay_chosen():
    def f(x, y):
        there = np.where(y > 0, x[np.abs(y).astype(int) % 160], 0)
        return there, np.where(np.arange(160) < 100, np.pad(x[:100], (0, 60)), y)

    x, y = X.reshape(-1), Y.reshape(-1)
    before = prepared(f, x, y)
    after = assert_steps_agree(before, [x, y], convert_ifs)
    loads = [s.value for s in statements_of(after, Declare) if s.name.startswith("loaded")]
    assert not any("x[" in str(v) for v in loads)


def test_divisions_of_integers_are_not_made_where_they_are_not_chosen():
    before = prepared(divided, X, Y)
    after = convert_ifs(before, Options())
    named = [s.value for s in statements_of(after, Declare) if s.name.startswith("chosen")]
    assert len(named) == 1
    assert all(p.op != "floor_divide" for v in named for p in subexpressions(v) if _is_apply(p))
    np.testing.assert_array_equal(jit(divided)(X, Y), divided(X, Y))


def _is_apply(part):
    return isinstance(part, Apply)


def test_choices_stand_before_all_that_is_stored():
    program = convert_ifs(prepared(joined, X, Y), Options())
    (body,) = (s.body for s in statements_of(program, For) if s.simd and len(s.body) > 2)
    assert [type(s) for s in body] == [Declare, Declare, Store, Store]


def test_what_a_place_decides_is_not_computed_elsewhere():
    """Elements behind the end of an array are not read, in C either."""

    def shifted(x, k):
        rows = np.pad(x, (0, 8))
        return np.where(k > 0, np.where(rows[8:] > 0, rows[8:], 1), rows[:-8])

    x, k = numbers(30), numbers(30)
    program = convert_ifs(prepared(shifted, x, k), Options())
    schedule(lowered(shifted, x, k), Options())
    for statement in statements_of(program, Declare):
        assert "x0[i + 8]" not in str(statement.value)
    np.testing.assert_array_equal(jit(shifted)(x, k), shifted(x, k))


def test_choices_stay_behind_what_changes_the_numbers_in_them():
    """A scalar that is updated before, and an array of which the element is stored before."""
    i = Symbol("i", 0, 40)
    index, real = (Dim.of(i),), np.dtype("f8")
    x, out = Load("x", index, real), Load("out", index, real)
    zero, total = Literal(0.0, real), Ref("total", real)
    is_positive = Apply("greater", (x, zero), np.dtype(bool))

    def chosen(value):
        inner = Apply("select", (is_positive, value, zero), real)
        return Apply("select", (is_positive, inner, x), real)

    body = (
        Update(total, "add", x),
        Store("out", index, x),
        Store("again", index, chosen(total)),
        Store("more", index, chosen(out)),
        Store("first", index, chosen(x)),
    )
    loop = For(i, 40, body, simd=True)
    buffers = {name: Buffer(name, (40,), real) for name in ("x", "out", "again", "more", "first")}
    outputs = tuple(b for name, b in buffers.items() if name != "x")
    kernel = Kernel("k", (Declare("total", zero, constant=False), loop))
    program = Program("p", (buffers["x"],), outputs, (kernel,))
    after = assert_steps_agree(program, [X[0]], convert_ifs)
    (found,) = (s for s in after.kernels[0].body if isinstance(s, For))
    kinds = [type(s) for s in found.body]
    assert kinds == [Declare, Update, Store, Declare, Store, Declare, Declare, Store, Store]


def test_choices_stay_behind_the_place_that_they_read():
    """`at`, declared after something is stored, is a subscript."""
    i, at = Symbol("i", 0, 40), Symbol("at", 0, 40)
    index, real, whole = (Dim.of(i),), np.dtype("f8"), np.dtype("i8")
    x, y = Load("x", index, real), Load("x", (Dim.of(at),), real)
    zero = Literal(0.0, real)
    is_positive = Apply("greater", (x, zero), np.dtype(bool))
    inner = Apply("select", (is_positive, y, zero), real)
    body = (
        Store("out", index, x),
        Declare("at", Literal(3, whole), symbol=at),
        Store("more", index, Apply("select", (is_positive, inner, x), real)),
    )
    buffers = {name: Buffer(name, (40,), real) for name in ("x", "out", "more")}
    kernel = Kernel("k", (For(i, 40, body, simd=True),))
    outputs = (buffers["out"], buffers["more"])
    program = Program("p", (buffers["x"],), outputs, (kernel,))
    after = assert_steps_agree(program, [X[0]], convert_ifs)
    (found,) = (s for s in after.kernels[0].body if isinstance(s, For))
    assert [type(s) for s in found.body] == [Store, Declare, Declare, Store]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("f", NAMED, ids=lambda f: f.__name__)
@one_in(4)
def test_results_in_c_are_numpys(f, dtype):
    random = np.random.default_rng(1)
    specials = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1, 2, 3, -1, 0.5])
    x, y = (random.choice(specials, (4, 40)).astype(dtype) for _ in range(2))
    with np.errstate(all="ignore"):
        expected = f(tnp.asarray(x), tnp.asarray(y))
    found = jit(f)(x, y)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@st.composite
def expressions(draw, depth=3):
    """A function of two arrays made of choices, and of what may stand in them."""
    if depth == 0:
        return draw(st.sampled_from([lambda x, y: x, lambda x, y: y, lambda x, y: 0.5 + 0 * x]))
    one, two = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return lambda x, y: np.maximum(one(x, y), two(x, y) - 1)
    number = draw(st.integers(-2, 2))
    if kind == 1:
        return lambda x, y: np.where(x == number, one(x, y), two(x, y))
    return lambda x, y: np.where(one(x, y) > number, two(x, y), one(x, y))


@settings(max_examples=tries(30), deadline=None)
@given(f=expressions())
def test_drawn_choices_have_the_same_results(f):
    before = prepared(f, X, Y)
    if inner_choices(before):
        assert_steps_agree(before, [X, Y], convert_ifs)


def test_complex_numbers_that_are_copied_beside_other_work_are_copied_by_parts():
    z = numbers(40) + 1j * numbers(40)

    def parts(f):
        program = schedule(lowered(f, z), Options())
        stored = [s.value for s in statements_of(program, Store) if s.value.dtype == z.dtype]
        return [isinstance(v, Apply) and v.op == "complex" for v in stored]

    def work(z):
        return z.real * 2, z[::-1]

    assert parts(work) == [True]
    real, copied = jit(work)(z)
    np.testing.assert_array_equal(real, z.real * 2)
    np.testing.assert_array_equal(copied, z[::-1])
    assert parts(lambda z: (z[::-1], z[3:])) == [False, False]
