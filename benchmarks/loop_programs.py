"""Loops as one writes them for JAX, each beside the same in C: `benchmarks/c/loops.c`.

`library` is transpile or jax. The bodies are numbers, slices or whole arrays, on purpose: what
matters is what becomes of the loops.
"""

import numpy as np

LENGTH = 1_000_000
DECAY = 0.99
STEPS = 100
MOST_STEPS = 100
TOLERANCE = 1e-12


def diagonally_dominant(random, n):
    """A matrix that needs no pivoting."""
    return random.standard_normal((n, n)) + n * np.eye(n)


def lu_numbers(xp, library):
    """LU without pivoting, number by number: three nested loops."""
    fori_loop = library.lax.fori_loop

    def lu(a):
        n = a.shape[0]

        def eliminate(k, a):
            def row(i, a):
                a = a.at[i, k].divide(a[k, k])
                return fori_loop(k + 1, n, lambda j, a: a.at[i, j].add(-a[i, k] * a[k, j]), a)

            return fori_loop(k + 1, n, row, a)

        return fori_loop(0, n - 1, eliminate, a)

    return lu


def lu_rows(xp, library):
    """LU without pivoting, row by row, by slices of a whole row."""
    lax, jnp = library.lax, library.numpy

    def lu(a):
        n = a.shape[0]
        columns = jnp.arange(n)

        def eliminate(k, a):
            pivot = lax.dynamic_index_in_dim(a, k, keepdims=False)

            def row(i, a):
                own = lax.dynamic_index_in_dim(a, i, keepdims=False)
                factor = own[k] / pivot[k]
                own = jnp.where(columns > k, own - factor * pivot, own)
                own = jnp.where(columns == k, factor, own)
                return lax.dynamic_update_index_in_dim(a, own, i, 0)

            return lax.fori_loop(k + 1, n, row, a)

        return lax.fori_loop(0, n - 1, eliminate, a)

    return lu


def distances(random, n):
    """Lengths of the edges of a graph, inf where there is none."""
    lengths = random.exponential(size=(n, n))
    lengths[lengths < 0.5] = np.inf
    np.fill_diagonal(lengths, 0)
    return lengths


def floyd_warshall(xp, library):
    """All shortest paths: a loop over whole matrices."""
    lax, jnp = library.lax, library.numpy

    def shortest(d):
        return lax.fori_loop(
            0, d.shape[0], lambda k, d: jnp.minimum(d, d[:, k][:, None] + d[k][None, :]), d
        )

    return shortest


def nussinov(xp, library):
    """The most pairs of an RNA's letters: four nested loops, tables read and written by slices."""
    lax, jnp = library.lax, library.numpy

    def fold(sequence):
        n = sequence.shape[0]

        def cell(i, j, best):
            def split(k, most):
                left = lax.dynamic_slice(best, (i, k), (1, 1))[0, 0]
                right = lax.dynamic_slice(best, (k + 1, j), (1, 1))[0, 0]
                return jnp.maximum(most, left + right)

            pair = (sequence[i] + sequence[j] == 3).astype(best.dtype)
            inner = lax.dynamic_slice(best, (i + 1, j - 1), (1, 1))[0, 0]
            most = lax.fori_loop(i, j, split, inner + pair)
            return lax.dynamic_update_slice(best, most[None, None], (i, j))

        def diagonal(d, best):
            return lax.fori_loop(0, n - d, lambda i, best: cell(i, i + d, best), best)

        return lax.fori_loop(1, n, diagonal, jnp.zeros((n, n), sequence.dtype))

    return fold


def moving_average(xp, library):
    """An exponential moving average of a long series, by scan."""

    def average(x):
        def step(mean, value):
            mean = DECAY * mean + (1 - DECAY) * value
            return mean, mean

        return library.lax.scan(step, x[0], x)[1]

    return average


def newton(xp, library):
    """x with x**3 + x = a, for many a at once, until none of them moves."""
    lax, jnp = library.lax, library.numpy

    def solve(a):
        def step(state):
            x, _ = state
            change = (x * (x * x + 1) - a) / (3 * x * x + 1)
            return x - change, jnp.max(jnp.abs(change))

        return lax.while_loop(lambda state: state[1] > TOLERANCE, step, (a / 2, jnp.inf))[0]

    return solve


def stencil(xp, library):
    """Heat in a plate, explicit steps of the 5-point stencil."""

    def heat(u):
        def step(_, u):
            inside = u[1:-1, 1:-1]
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            return u.at[1:-1, 1:-1].set(inside + 0.2 * (around - 4 * inside))

        return library.lax.fori_loop(0, STEPS, step, u)

    return heat


def mandelbrot(xp, library):
    """How many steps each point takes to leave the circle: a loop until the last has left."""
    lax, jnp = library.lax, library.numpy

    def steps(real, imaginary):
        def step(state):
            k, x, y, count = state
            inside = x * x + y * y < 4
            x, y = (
                jnp.where(inside, x * x - y * y + real, x),
                jnp.where(inside, 2 * x * y + imaginary, y),
            )
            return k + 1, x, y, count + inside

        def goes_on(state):
            k, x, y, _ = state
            return (k < MOST_STEPS) & jnp.any(x * x + y * y < 4)

        zero = jnp.zeros_like(real)
        return lax.while_loop(goes_on, step, (0, zero, zero, jnp.zeros(real.shape, jnp.int32)))[3]

    return steps


def plane(random, n):
    """(real, imaginary) parts of a grid of points, with something in each."""
    y, x = np.mgrid[-1.25 : 1.25 : n * 1j, -2 : 0.5 : n * 1j].astype(np.float32)
    return x, y
