"""Random programs of loops and branches with callbacks call the same, in the same order, with the
same values: run by Python, in C, and under derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import one_in

import transpile as tp
from transpile import debug, lax
from transpile import numpy as jnp
from transpile.errors import UnsupportedError

LEAVES = ["plain", "note", "note", "update", "ask"]
KINDS = ["note", "sequence", "fori", "dynamic", "while", "cond", "scan", "map"]


class Programs:
    """Makes functions (array of 3, number) -> the same, whose numbers stay small integers, and so
    exact; `seen` is what their callbacks have been called with."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.seen = []
        self.asked = False

    def make(self, depth):
        kind = self.random.choice(KINDS if depth else LEAVES)
        if kind in LEAVES:
            return getattr(self, kind)()
        if kind == "sequence":
            return self.chain(self.make(depth - 1), self.make(depth - 1))
        inner = self.chain(self.make(0), self.make(depth - 1), self.make(0))
        count = int(self.random.integers(0, 4))
        if kind == "cond":
            other, limit = self.make(depth - 1), float(self.random.integers(-2, 3))
            return lambda x, s: lax.cond(s > limit, inner, other, x, s)
        return getattr(self, f"{kind}_of")(inner, count)

    def chain(self, *parts):
        def function(x, s):
            for part in parts:
                x, s = part(x, s)
            return np.clip(x, -50, 50), np.clip(s, -50, 50)

        return function

    def plain(self):
        choices = [
            lambda x, s: (x + 2, s),
            lambda x, s: (x * 2 - s, s + 1),
            lambda x, s: (x[::-1] + 0.0, x.sum()),
        ]
        return choices[self.random.integers(3)]

    def note(self):
        tag, which = int(self.random.integers(1000)), self.random.integers(4)

        def note(*values):
            self.seen.append((tag, *[np.asarray(v).tolist() for v in values]))

        def function(x, s):
            shown = [(x, s), (s,), (x + s,), (x[1:], x.sum() > s)][which]
            debug.callback(note, *shown)
            return x, s

        return function

    def ask(self):
        self.asked = True
        tag, takes_array = int(self.random.integers(1000)), self.random.integers(2)
        kinds = (tp.ShapeDtypeStruct((), float), tp.ShapeDtypeStruct((3,), float))

        def answer(v):
            self.seen.append((tag, np.asarray(v).tolist()))
            return np.max(v) - 1, np.full(3, np.min(v))

        def function(x, s):
            asked = tp.stop_gradient(x if takes_array else s)
            t, y = tp.io_callback(answer, kinds, asked)
            return x + y, s - t

        return function

    def update(self):
        place = int(self.random.integers(3))
        return lambda x, s: (jnp.at(x)[place].set(s), s)

    def fori_of(self, inner, count):
        return lambda x, s: lax.fori_loop(0, count, lambda i, c: inner(c[0], c[1] + i), (x, s))

    def dynamic_of(self, inner, _):
        def function(x, s):
            stop = jnp.asarray(np.clip(s, 0, 3)).astype(int)
            return lax.fori_loop(0, stop, lambda i, c: inner(c[0], c[1] + i), (x, s))

        return function

    def while_of(self, inner, count):
        def function(x, s):
            step = lambda c: (c[0] + 1, *inner(c[1], c[2]))
            return lax.while_loop(lambda c: c[0] < count, step, (0, x, s))[1:]

        return function

    def scan_of(self, inner, count):
        def step(carry, v):
            x, s = inner(carry[0], carry[1] + v)
            return (x, s), s

        def function(x, s):
            (y, last), ys = lax.scan(step, (x, s), x, reverse=bool(count % 2))
            return y + (ys if count else 0.0), last

        return function

    def map_of(self, inner, _):
        return lambda x, s: (x + lax.map(lambda v: inner(x, v)[1], x), s)


@pytest.mark.parametrize("seed", range(8))
@one_in(3)
def test_callbacks_are_called_alike_in_every_way(seed):
    programs = Programs(seed)
    function = programs.chain(programs.make(3), programs.make(3))
    x, s = np.array([1.0, -2.0, 3.0]), np.float64(2.0)

    def calls(way):
        programs.seen.clear()
        return way(x, s), list(programs.seen)

    result, expected = calls(function)
    found, in_c = calls(tp.jit(function))
    np.testing.assert_array_equal(found[0], result[0])
    assert found[1] == result[1] and in_c == expected

    def total(x, s):
        y, t = function(x, s)
        return y.sum() + t

    for derivative in (tp.jacfwd(total), tp.jit(tp.jacfwd(total))):
        try:
            assert calls(derivative)[1] == expected
        except UnsupportedError as error:  # of a loop that would be computed twice
            assert programs.asked and "io_callback" in str(error)
    stacked = tp.vmap(function)(np.stack([x, x]), np.stack([s, s]))
    np.testing.assert_array_equal(stacked[0], [result[0]] * 2)
