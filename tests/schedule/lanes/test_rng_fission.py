"""Random generators: which loops are split off, and that results have the same bits."""

import numpy as np
import pytest
from graphs import assert_same_results, lowered, statements_of
from thorough import one_in

from transpile import jit, lax, random
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.loop_ir import Alloc, Apply, For
from transpile.ir.loop_rewrite import parts
from transpile.ir.loop_verifier import check
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.domain.coalesce import coalesce
from transpile.schedule.lanes.blocked_reductions import block_reductions
from transpile.schedule.lanes.rng_fission import fission_rng

pytestmark = pytest.mark.full_level

KEY = np.array([1, 7], "u4")


# Blocks of eight elements.
MACHINE = Machine(draw_block=8, shortest_drawn=4, longest_drawn=16)
SMALL = Options(machine=MACHINE)


def in_c(f):
    """A function compiled at these thresholds."""
    return jit(f, compiler_options={"machine": MACHINE})


def before(f, *args):
    """The loops as the step gets them."""
    program = lowered(f, *args)
    for earlier in (coalesce, block_reductions):
        program = earlier(program, SMALL)
    return program


def normals(shape, dtype="f4"):
    return lambda key: random.normal(key, shape, dtype)


def two_draws(key):
    one, other = random.split(key)
    return random.normal(one, (50,)) * np.log(random.uniform(other, (50,)) + 1)


def three_draws(key):
    return sum(random.normal(k, (50,)) for k in random.split(key, 3))


def of_batch(keys):
    """A key for each row."""
    return lax.map(lambda key: random.normal(key, (40,)), keys)


def named(key):
    """What is drawn has a name, and two uses."""
    u = random.uniform(key, (50,))
    return np.exp(u) * u


def summed(key):
    return np.exp(random.normal(key, (10,))).max()


# A function, its key, and how many loops draw first.
DRAWN = {
    "blocks": (normals((50,)), KEY, 1),
    "a remainder": (normals((61,)), KEY, 1),
    "double precision": (normals((50,), "f8"), KEY, 1),
    "short rows": (normals((3, 12)), KEY, 1),
    "two": (two_draws, KEY, 2),
    "a name": (named, KEY, 1),
    "a search": (summed, KEY, 1),
    "exponentials": (lambda key: random.exponential(key, (50,)), KEY, 1),
}
LEFT = {
    "three": (three_draws, KEY),
    "bits alone": (lambda key: random.bits(key, (50,)), KEY),
    "cheap functions": (lambda key: random.uniform(key, (50,)), KEY),
    "few": (normals((3,)), KEY),
    "other functions": (lambda x: np.exp(x), np.ones(50)),
}


@pytest.mark.parametrize("name", DRAWN)
def test_bits_are_drawn_before_functions_of_them_are_computed(name):
    f, key, count = DRAWN[name]
    program = before(f, key)
    after = fission_rng(program, SMALL)
    check(after)
    assert len([a for a in statements_of(after, Alloc) if "drawn" in a.buffer.name]) == count
    assert_same_results(run(after, [key]), run(program, [key]))
    for loop in statements_of(after, For):
        rows = {p.primitive for s in loop.body for p in parts(s) if isinstance(p, Apply)}
        draws_bits = any(row.fills_registers for row in rows)
        assert not (draws_bits and any(row.transcendental for row in rows))


@pytest.mark.parametrize("name", LEFT)
def test_other_loops_stay(name):
    f, x = LEFT[name]
    program = before(f, x)
    assert fission_rng(program, SMALL) == program


def test_what_is_drawn_by_a_loop_in_order_stays():
    """Each step draws with a key that the one before has made."""

    def f(key):
        def step(key, _):
            key, own = random.split(key)
            return key, random.normal(own, ())

        return lax.scan(step, key, None, length=20)[1]

    program = before(f, KEY)
    assert fission_rng(program, SMALL) == program
    np.testing.assert_allclose(in_c(f)(KEY), f(KEY), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("count", [7, 64, 1000, 4096, 4100, 9001])
@one_in(5)
def test_numbers_are_the_same_however_many_are_drawn(dtype, count):
    """A counter's bits are its own: in blocks, in one pair of loops, or in no loop of their own."""
    many = jit(lambda key: random.normal(key, (10_000,), dtype))(KEY)
    np.testing.assert_array_equal(jit(normals((count,), dtype))(KEY), many[:count])


@pytest.mark.parametrize("f", [of_batch, two_draws, named], ids=lambda f: f.__name__)
def test_compiled_numbers_are_right(f):
    key = random.split(KEY, 70) if f is of_batch else KEY
    np.testing.assert_allclose(jit(f)(key), f(key), rtol=1e-6)


X, Y = np.arange(-25, 25), np.arange(50) % 7
# A function of integers, and how many of its calls without vector code have a loop of their own.
SCALAR = {
    "a quotient": (lambda x, y: np.exp(x // y), 1),
    "by a constant": (lambda x, y: np.exp(-(x % 5)), 1),
    "beside a function": (lambda x, y: np.lcm(3, x) - np.arcsinh(y), 1),
    "one in another": (lambda x, y: np.exp(-(np.gcd(x, y) // 2)), 1),
    "two": (lambda x, y: np.exp(-np.gcd(x, 6)) + x // y, 2),
    "a power": (lambda x, y: np.sin((x % 3) ** y), 1),
    "of narrow integers": (lambda x, y: np.exp(x.astype("i4") // y.astype("i4")), 0),
    "no function": (lambda x, y: x // y + x, 0),
    "of a function": (lambda x, y: np.exp(x / 9).astype("i8") // y, 0),
}


@pytest.mark.parametrize("name", SCALAR)
@one_in(2)
def test_what_has_no_vector_code_is_computed_before_what_has(name):
    f, count = SCALAR[name]
    program = before(f, X, Y)
    after = fission_rng(program, SMALL)
    check(after)
    assert len(statements_of(after, Alloc)) == count
    assert_same_results(run(after, [X, Y]), run(program, [X, Y]))
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(in_c(f)(X, Y), f(X, Y), rtol=1e-13)
