"""Loops and branches as programs: everything that test_control_derivatives.py tries, in C.

All programs of a kind are one program: they compile side by side.
"""

import numpy as np
import pytest
from control_programs import PROGRAMS, REVERSE_ONLY, by, unrolled
from test_control_derivatives import batched, close, directions, examples, gradient
from thorough import one_in, thorough

import transpile
from transpile import lax
from transpile.functional.differentiate import jvp
from transpile.functional.vectorize import vmap
from transpile.ir.types import FLOAT0

pytestmark = pytest.mark.usefixtures("shared_cache")
REVERSIBLE = [p for p in [*PROGRAMS, *REVERSE_ONLY] if p.reverse]
STRICT = {"extra_cflags": ("-Werror",)}


def together(functions, arguments):
    """The results of functions, each of its own arguments, as one program."""
    jitted = transpile.jit(
        lambda *every: [f(*args) for f, args in zip(functions, every, strict=True)],
        compiler_options=STRICT,
    )
    return jitted(*arguments)


def check(functions, arguments, references, names, tolerance=1e-10):
    for found, args, reference, name in zip(
        together(functions, arguments), arguments, references, names, strict=True
    ):
        try:
            close(found, reference(*args), tolerance)
        except AssertionError as problem:
            raise AssertionError(f"{name}: {problem}") from problem


def names(programs):
    return [f"{k}-{p.name}" for k, p in enumerate(programs)]


def test_values():
    functions, references = ([by(namespace, p) for p in PROGRAMS] for namespace in (lax, unrolled))
    check(functions, [p.args for p in PROGRAMS], references, names(PROGRAMS))


def test_tangents():
    def of(namespace, program):
        tangents = directions(program.args)
        return lambda *args: [
            t
            for t in transpile.tree.leaves(jvp(by(namespace, program), args, tangents)[1])
            if t.dtype != FLOAT0
        ]

    functions, references = ([of(namespace, p) for p in PROGRAMS] for namespace in (lax, unrolled))
    check(functions, [p.args for p in PROGRAMS], references, names(PROGRAMS))


def test_gradients():
    functions, references = (
        [gradient(by(namespace, p), p.args) for p in REVERSIBLE] for namespace in (lax, unrolled)
    )
    check(functions, [p.args for p in REVERSIBLE], references, names(REVERSIBLE))


def test_batches():
    functions = [vmap(by(lax, p)) for p in PROGRAMS]
    references = [lambda *args, p=p: examples(by(unrolled, p), args) for p in PROGRAMS]
    check(functions, [batched(p) for p in PROGRAMS], references, names(PROGRAMS))


@thorough
def test_gradients_of_batches():
    functions = [vmap(gradient(by(lax, p), p.args)) for p in REVERSIBLE]
    references = [
        lambda *args, p=p: examples(gradient(by(unrolled, p), p.args), args) for p in REVERSIBLE
    ]
    check(functions, [batched(p) for p in REVERSIBLE], references, names(REVERSIBLE))


@thorough
def test_second_derivatives():
    programs = [p for p in REVERSIBLE if p.second]

    def of(namespace, program):
        tangents = directions(program.args)
        found = gradient(by(namespace, program), program.args)
        return lambda *args: [
            t for t in transpile.tree.leaves(jvp(found, args, tangents)[1]) if t.dtype != FLOAT0
        ]

    functions, references = ([of(space, p) for p in programs] for space in (lax, unrolled))
    check(functions, [p.args for p in programs], references, names(programs), 1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "bool", "complex64"])
@one_in(2)
def test_carries_of_every_kind(dtype):
    xs = np.array([3, 0, 1, 2, 5]).astype(dtype)

    def step(c, x):
        total = (c[0] + x).astype(dtype)
        return (total, np.where(c[1] == x, c[1], total)), (c[1], total == x)

    def f(init, xs):
        return lax.scan(step, init, xs, reverse=True)

    init = (xs[0], xs[:2])
    found = transpile.jit(f, compiler_options=STRICT)(init, xs)
    with transpile.disable_jit():
        expected = f(init, xs)
    close(found, expected, 1e-6)
    for x, y in zip(transpile.tree.leaves(found), transpile.tree.leaves(expected), strict=True):
        assert x.dtype == y.dtype
