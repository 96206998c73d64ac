"""Drawn programs of loops in loops, under every transformation, against the same unrolled."""

import random

import numpy as np
import pytest
from control_programs import unrolled
from test_control_derivatives import close, directions, examples, gradient
from thorough import one_in

import transpile
from transpile import lax
from transpile.functional.differentiate import jvp
from transpile.functional.vectorize import vmap

# (namespace, number, vector of two, number) -> number
OPERATIONS = [
    lambda space, c, w, x: np.sin(c) * w.sum() + x,
    lambda space, c, w, x: c * x + np.cos(c),
    lambda space, c, w, x: np.tanh(c + w[0] * x),
    lambda space, c, w, x: c * np.exp(-x * x) + w[1],
    lambda space, c, w, x: np.where(c > x, c * w[0], x * w[1]),
    lambda space, c, w, x: (w * c).sum() * x,
]


def drawn(source, depth):
    """A function of that form: an operation, or a loop or branch over two drawn ones."""
    kinds = ["operation", "operation", "scan", "count", "branch", "map", "pair"]
    kind = source.choice(kinds) if depth else "operation"
    if kind == "operation":
        return source.choice(OPERATIONS)
    a, b = drawn(source, depth - 1), drawn(source, depth - 1)
    reverse, times = source.random() < 0.5, source.randrange(1, 4)

    def scan(space, c, w, x):
        step = lambda c, v: (a(space, c, w, v * x), b(space, c, w, v))
        last, ys = space.scan(step, c, w * 1.0, reverse=reverse)
        return last + ys.sum() * 0.1

    def count(space, c, w, x):
        step = lambda i, c: a(space, c, w, x * w[i % 2]) + b(space, x, w, c) * 0.3
        return space.fori_loop(0, times, step, c)

    def branch(space, c, w, x):
        return space.cond(c > x, lambda c: a(space, c, w, x), lambda c: b(space, c, w, c * x), c)

    def each(space, c, w, x):
        return space.map(lambda v: a(space, v, w, x) * c, w).sum() + b(space, c, w, x)

    def pair(space, c, w, x):
        def step(i, s):
            return a(space, s[0], w, x), s[1] * 0.9 + b(space, s[1], w, s[0]) * 0.1

        return space.fori_loop(0, 2, step, (c, x))[1]

    return {"scan": scan, "count": count, "branch": branch, "map": each, "pair": pair}[kind]


def case(seed):
    """A drawn program with loops, and as it is unrolled; arguments, and a batch of them."""
    source = random.Random(seed)
    function = next(f for f in iter(lambda: drawn(source, 3), None) if f not in OPERATIONS)
    values = np.random.default_rng(seed)
    args = (values.uniform(0.2, 0.9), values.uniform(0.2, 0.9, 2), values.uniform(0.2, 0.9))
    batch = tuple(np.stack([a, a * 1.1, a * 0.8]) for a in args)
    return lambda *a: function(lax, *a), lambda *a: function(unrolled, *a), args, batch


@pytest.mark.parametrize("seed", range(12))
@one_in(6)
def test_transformations_of_drawn_programs(seed):
    looped, straight, args, batch = case(seed)
    close(looped(*args), straight(*args), 1e-9)
    slopes = [gradient(f, args) for f in (looped, straight)]
    close(slopes[0](*args), slopes[1](*args), 1e-7)
    tangents = directions(args)
    close(*[jvp(slope, args, tangents) for slope in slopes], 1e-6)
    close(vmap(slopes[0])(*batch), examples(slopes[1], batch), 1e-7)
    some = (batch[0], args[1], batch[2])
    of_batches = [gradient(vmap(f, (0, None, 0)), some) for f in (looped, straight)]
    close(of_batches[0](*some), of_batches[1](*some), 1e-7)


def test_drawn_programs_in_c(shared_cache):
    cases = [case(seed) for seed in range(4)]
    slopes = [[vmap(gradient(f, args)) for f in (one, two)] for one, two, args, _ in cases]
    together = transpile.jit(
        lambda *batches: [s[0](*b) for s, b in zip(slopes, batches, strict=True)]
    )
    found = together(*[batch for *_, batch in cases])
    for values, (_, straight), (*_, batch) in zip(found, slopes, cases, strict=True):
        close(values, straight(*batch), 1e-7)
