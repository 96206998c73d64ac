"""Carries that take one another's array: loops exchange their memory, and copy nothing."""

import itertools

import numpy as np
import pytest
from thorough import one_in, thorough

import transpile
from transpile import lax
from transpile.ir.loop_ir import For, Load, Store, Swap, While
from transpile.ir.loop_rewrite import walk

N = 40
ARRAYS = [np.sin(np.arange(N) + k) for k in range(3)]


def stepped(u, v, n):
    """A leapfrog step: the new `u` is written where `v` was."""
    for _ in range(n):
        w = 2 * u - v
        w[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        v = u
        u = w
    return u, v


def exchanged(u, v, n):
    """Two arrays that a loop reads and writes in turn, and that the caller sees."""
    for _ in range(n):
        for i in range(1, len(u) - 1):
            v[i] = 0.25 * u[i - 1] + 0.5 * u[i] + 0.25 * u[i + 1]
        u, v = v, u
    return u


def shifted(u, v, n):
    """Each element is of two of `u`, so that `u` is still read when it is written."""
    body = lambda _, c: (np.roll(c[0], 1) + 0.5 * c[1][::-1], c[0])
    return lax.fori_loop(0, n, body, (u, v))


def until(u, v, n):
    def step(c):
        return c[0] + 1, 0.5 * c[1] + 0.25 * c[2], c[1]

    return lax.while_loop(lambda c: c[0] < n, step, (0, u, v))


@pytest.mark.parametrize("function", [stepped, exchanged, shifted, until])
@one_in(2)
def test_results_are_those_of_python(function, shared_cache):
    jitted = transpile.jit(function)
    for n in (0, 1, 2, 5):
        given, expected = ([x.copy() for x in ARRAYS[:2]] for _ in range(2))
        with transpile.disable_jit():
            wanted = function(*expected, n)
        found = jitted(*given, n)
        pairs = zip(
            transpile.tree.leaves((found, given)),
            transpile.tree.leaves((wanted, expected)),
            strict=True,
        )
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.parametrize("function", [stepped, exchanged, until])
def test_an_iteration_copies_nothing(function):
    program = transpile.jit(function).lower(*ARRAYS[:2], 5)._lowering.program()
    statements = [s for kernel in program.kernels for s in walk(kernel.body)]
    (loop,) = [s for s in statements if isinstance(s, For | While) and swaps(s.body)]
    assert len(swaps(loop.body)) == 1
    stores = [s for s in walk(loop.body) if isinstance(s, Store)]
    assert stores and {s.buffer for s in stores} <= {swaps(loop.body)[0].second}
    assert not any(isinstance(s.value, Load) and s.value.buffer != s.buffer for s in stores)


def swaps(body):
    return [s for s in body if isinstance(s, Swap)]


@thorough
def test_every_exchange_of_three(shared_cache):
    for order in itertools.product(range(3), repeat=3):

        def body(_, c, order=order):
            taken = [c[k] for k in order]
            taken[0] = 0.5 * taken[0] + 0.25 * c[1]
            return tuple(taken)

        jitted = transpile.jit(lambda u, v, w, n, body=body: lax.fori_loop(0, n, body, (u, v, w)))
        for n in (1, 4):
            expected = tuple(ARRAYS)
            for _ in range(n):
                expected = body(0, expected)
            for one, other in zip(jitted(*ARRAYS, n), expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-13, err_msg=str(order))


def test_derivatives_and_batches(shared_cache):
    def total(u):
        return stepped(u, ARRAYS[1] + 0, 4)[0].sum()

    steps = 1e-6 * np.eye(N)[:3]
    slopes = [(total(ARRAYS[0] + s) - total(ARRAYS[0] - s)) / 2e-6 for s in steps]
    np.testing.assert_allclose(transpile.jit(transpile.grad(total))(ARRAYS[0])[:3], slopes, 1e-6)
    batch = np.stack(ARRAYS)
    found = transpile.jit(transpile.vmap(lambda u: stepped(u, u + 1, 3)[0]))(batch)
    np.testing.assert_allclose(found, [stepped(u, u + 1, 3)[0] for u in ARRAYS], rtol=1e-13)
