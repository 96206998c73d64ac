"""Programs with loops and branches, and what they mean: the same programs unrolled in Python.

A program is a function of a namespace and of its arguments. The namespace is `transpile.lax`, or
`unrolled`, whose loops are Python's and whose branches are all computed, and one selected. So what
a transformation makes of a loop is compared with what it makes of straight code.
"""

from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np

from transpile import tree
from transpile.functional.checkpoint import checkpoint, checkpoint_policies
from transpile.functional.custom import custom_jvp, custom_vjp, stop_gradient

MOST = 12  # iterations of an unrolled while


def _select(index, trees):
    def chosen(*values):
        result = values[0]
        for number, value in enumerate(values[1:], 1):
            result = np.where(index >= number, value, result)
        return result

    return tree.map(chosen, *trees)


def _scan(f, init, xs=None, length=None, reverse=False, unroll=1):
    leaves = tree.leaves(xs)
    length = leaves[0].shape[0] if leaves else length
    carry, ys = init, []
    for i in range(length)[:: -1 if reverse else 1]:
        carry, y = f(carry, tree.map(lambda x, i=i: x[i], xs))
        ys.append(y)
    ys = ys[::-1] if reverse else ys
    return carry, tree.map(lambda *parts: np.stack(parts), *ys)


def _while(condition, body, carry):
    for _ in range(MOST):
        goes_on, following = condition(carry), body(carry)
        carry = tree.map(partial(np.where, goes_on), following, carry)
    return carry


def _fori(lower, upper, body, carry):
    if isinstance(lower, int) and isinstance(upper, int):
        for i in range(lower, upper):
            carry = body(i, carry)
        return carry
    state = (lower, carry)
    return _while(lambda s: s[0] < upper, lambda s: (s[0] + 1, body(*s)), state)[1]


unrolled = SimpleNamespace(
    scan=_scan,
    while_loop=_while,
    fori_loop=_fori,
    cond=lambda p, t, f, *xs: _select(p, [f(*xs), t(*xs)]),
    switch=lambda i, branches, *xs: _select(i, [branch(*xs) for branch in branches]),
    map=lambda f, xs: _scan(lambda _, x: ((), f(x)), (), xs)[1],
)


# --------------------------------------------------------------------------------- the programs


def products(lax, c, xs):
    """The simplest carry, and ys that are not it."""
    return lax.scan(lambda c, x: (c * x, np.sin(c) + x), c, xs)


def network(lax, w, h, xs):
    """A recurrent network: a matrix as a const, and what each step computes from it alone."""

    def step(h, x):
        h = np.tanh(np.exp(0.1 * w) @ h + x)
        return h, h * h

    return lax.scan(step, h, xs)


def backwards(lax, tree_, xs):
    """A reverse scan of pytrees with integers, and a None among the ys."""

    def step(c, x):
        total = c["a"] * np.cos(x[0]) + x[1] * c["n"]
        return {"a": total, "n": c["n"] + 1}, (total, None, c["n"])

    return lax.scan(step, {"a": tree_["a"], "n": 0}, (xs, xs * xs), reverse=True)


def nested(lax, w, xs):
    """Scans in a scan, the inner one over a const and over the outer slice."""

    def outer(c, row):
        inner, parts = lax.scan(lambda s, x: (s * w + x * c, s), c, row)
        back, _ = lax.scan(lambda s, x: (np.sin(s + x), None), inner, row, reverse=True)
        return inner + back, parts

    return lax.scan(outer, 0.3, xs)


def counted(lax, x, c):
    """A counted loop that reads at its index."""
    return lax.fori_loop(1, 4, lambda i, c: np.sin(c) + x[i] * i, c)


def updated(lax, x):
    """A counted loop that assigns to its carry."""

    def step(i, c):
        c[i] = np.sin(c[i - 1]) * c[i]
        return c

    return lax.fori_loop(1, 5, step, x * 1.0)


def dynamic_sum(lax, x, n):
    """A loop whose end is traced."""
    return lax.fori_loop(0, n, lambda i, c: c * np.cos(x) + i, x)


def halving(lax, x, limit):
    """A while with a state that the condition does not read, and a counter."""

    def body(s):
        k, value, log = s
        return k + 1, value * 0.6, log + np.sin(value)

    return lax.while_loop(lambda s: np.abs(s[1]) > limit, body, (0, x, 0.0))


def choices(lax, x, y):
    """A branch on a traced predicate; the branches use different values."""
    return lax.cond(x > 0.5, lambda a: (np.sin(a) * y, a), lambda a: (a * a, y + a), x)


def chosen_in_scan(lax, w, xs):
    """A branch on the carry in a scan."""

    def step(c, x):
        c = lax.cond(c > 0, lambda c: np.sin(c * w) - x, lambda c: c * c * w + x, c)
        return c, lax.switch((x * 3).astype("int64"), [np.cos, np.exp, lambda v: v * w], x)

    return lax.scan(step, 0.4, xs)


def mapped(lax, w, xs):
    """A map of a function with a closure."""
    return lax.map(lambda x: np.tanh(w @ x) * x, xs)


def partly_constant(lax, x, xs):
    """Carries of which one moves only after the first iteration, one never, and one is stopped."""

    def step(c, v):
        a, b, k, s = c
        return (a + v, b * a, k + 1, stop_gradient(s * a + k)), b * s

    return lax.scan(step, (x, 1.0, 0, 0.5), xs)


@custom_jvp
def _cubed(x, y):
    return x**3 * y


@_cubed.defjvp
def _(primals, tangents):
    x, y = primals
    dx, dy = tangents
    return _cubed(x, y), 3 * x**2 * y * dx + x**3 * dy


@custom_vjp
def _squared(x, y):
    return x * x * y


_squared.defvjp(
    lambda x, y: (_squared(x, y), (x, y)), lambda r, ct: (2 * r[0] * r[1] * ct, r[0] ** 2 * ct)
)


def own_jvp(lax, w, xs):
    """A function with a derivative of its own in a body."""
    return lax.scan(lambda c, x: (_cubed(np.sin(c), w) + x, c), 0.5, xs)


def own_vjp(lax, w, xs):
    """A function with a derivative of its own in reverse mode."""
    return lax.scan(lambda c, x: (_squared(np.sin(c), w) + x, c), 0.5, xs)


def checkpointed_body(lax, w, xs):
    """Each step is computed again on the way back."""
    step = checkpoint(lambda c, x: (np.tanh(np.sin(c * w)) + x, c))
    return lax.scan(step, 0.5, xs)


def checkpointed_scan(lax, w, xs):
    """The whole scan is computed again on the way back."""

    def whole(w, xs):
        return lax.scan(lambda c, x: (np.tanh(np.sin(c * w)) + x, c), 0.5, xs)

    return checkpoint(whole)(w, xs)


def checkpointed_by_policy(lax, w, xs):
    """As before, but products are kept."""

    def whole(w, xs):
        return lax.scan(lambda c, x: (np.tanh(w @ c) + x, c), xs[0], xs)

    return checkpoint(whole, policy=checkpoint_policies.dots_saveable)(w, xs)


def complex_scan(lax, z, xs):
    """Complex numbers."""
    return lax.scan(lambda c, x: (c * x + np.conj(c), (c * np.conj(c)).real), z, xs)


def powers(lax, w, xs):
    """What the linear loop reads can be had from xs and consts, by few operations."""
    return lax.scan(lambda c, x: (c * (2.0 * x - w), c.sum()), w, xs)


def gathered(lax, table, order):
    """Integers among the xs: elements of a const are read by them."""
    return lax.scan(lambda c, k: (c * np.sin(table[k]), (c + table[k], k)), 1.0, order)


def filtered(lax, a, z, zs):
    """A Kalman filter's step: matrices in the carry."""

    def step(state, z):
        m, p = state
        p = a @ p @ a.T + np.eye(2)
        gain = p / (p[0, 0] + 0.5)
        m = a @ m + gain[:, 0] * (z - m[0])
        return (m, p - np.outer(gain[:, 0], p[0])), m

    return lax.scan(step, (z, np.eye(2)), zs)


@dataclass(frozen=True)
class Program:
    """A program with arguments, of which some have derivatives, in these modes."""

    function: object
    args: tuple
    reverse: bool = True
    second: bool = True

    @property
    def name(self):
        return self.function.__name__


def draw(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.2, 0.9, shape)


PROGRAMS = [
    Program(products, (0.7, draw(4))),
    Program(products, (np.float64(0.7), draw(1))),
    Program(products, (0.7, draw(3, seed=8))),
    Program(network, (draw(3, 3), draw(3, seed=1), draw(4, 3, seed=2))),
    Program(backwards, ({"a": np.float64(0.3)}, draw(4))),
    Program(nested, (0.8, draw(3, 2))),
    Program(counted, (draw(5), 0.2)),
    Program(updated, (draw(5),)),
    Program(dynamic_sum, (0.6, 4), reverse=False),
    Program(halving, (0.9, 0.1), reverse=False),
    Program(choices, (0.7, 0.4)),
    Program(choices, (0.3, 0.4)),
    Program(chosen_in_scan, (0.9, draw(5))),
    Program(mapped, (draw(3, 3), draw(4, 3))),
    Program(partly_constant, (0.6, draw(3))),
    Program(own_jvp, (0.8, draw(3))),
    Program(checkpointed_body, (0.8, draw(3))),
    Program(checkpointed_scan, (0.8, draw(3))),
    Program(checkpointed_by_policy, (draw(3, 3), draw(4, 3))),
    Program(complex_scan, (0.5 + 0.3j, draw(3) + 0.2j * draw(3, seed=1))),
    Program(powers, (draw(3), draw(4))),
    Program(gathered, (draw(4), np.array([2, 0, 3, 2, 1]))),
    Program(filtered, (draw(2, 2), draw(2, seed=3), draw(4, seed=4))),
]
# Their derivatives in forward mode are an error.
REVERSE_ONLY = [Program(own_vjp, (0.8, draw(3)), second=False)]
IDS = [f"{k}-{p.name}" for k, p in enumerate(PROGRAMS)]


def by(namespace, program):
    """The program with its loops from a namespace."""
    return partial(program.function, namespace)
