"""Programs as people write them first, with arrays that are made empty and filled by assignment:
jitted as they stand, each gives what plain NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import one_in

import transpile

RANDOM = np.random.default_rng(15)


def kalman_filter(measurements, q, r):
    n = len(measurements)
    estimates = np.zeros(n)
    variances = np.zeros(n)
    estimate, variance = 0.0, 1.0
    for k in range(n):
        variance = variance + q
        gain = variance / (variance + r)
        estimate = estimate + gain * (measurements[k] - estimate)
        variance = (1 - gain) * variance
        estimates[k] = estimate
        variances[k] = variance
    return estimates, variances


def box_blur(image):
    out = np.zeros(image.shape)
    padded = np.zeros((image.shape[0] + 2, image.shape[1] + 2))
    padded[1:-1, 1:-1] = image
    for di in range(3):
        for dj in range(3):
            out += padded[di : di + image.shape[0], dj : dj + image.shape[1]]
    out /= 9
    return out


def element_stiffness(length):
    return np.array([[1.0, -1.0], [-1.0, 1.0]]) / length


def finite_elements(nodes, load):
    n = len(nodes)
    stiffness = np.zeros((n, n))
    force = np.zeros(n)
    for e in range(n - 1):
        length = nodes[e + 1] - nodes[e]
        stiffness[e : e + 2, e : e + 2] += element_stiffness(length)
        force[e : e + 2] += load * length / 2
    stiffness[0, :] = 0
    stiffness[0, 0] = 1
    force[0] = 0
    return np.linalg.solve(stiffness, force)


def jacobi(a, b):
    x = np.zeros_like(b)
    for _ in range(8):
        new = np.zeros_like(b)
        for i in range(len(b)):
            new[i] = (b[i] - a[i, :i] @ x[:i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
        x = new
    return x


def game_of_life(board):
    n, m = board.shape
    for _ in range(3):
        neighbours = np.zeros((n, m), dtype=int)
        for di in (-1, 0, 1):
            for dj in (-1, 0, 1):
                if (di, dj) != (0, 0):
                    neighbours += np.roll(np.roll(board, di, axis=0), dj, axis=1)
        new = np.zeros((n, m), dtype=int)
        new[(neighbours == 3) | ((board == 1) & (neighbours == 2))] = 1
        board = new
    return board


def viterbi(observations, start, transition, emission):
    steps, states = len(observations), len(start)
    score = np.empty((steps, states))
    back = np.zeros((steps, states), dtype=int)
    score[0] = np.log(start) + np.log(emission[:, observations[0]])
    for t in range(1, steps):
        for s in range(states):
            options = score[t - 1] + np.log(transition[:, s])
            back[t, s] = np.argmax(options)
            score[t, s] = np.max(options) + np.log(emission[s, observations[t]])
    path = np.zeros(steps, dtype=int)
    path[-1] = np.argmax(score[-1])
    for t in range(steps - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path, score


def smith_waterman(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1))
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            match = table[i - 1, j - 1] + np.where(a[i - 1] == b[j - 1], 3, -3)
            table[i, j] = np.max([0, match, table[i - 1, j] - 2, table[i, j - 1] - 2])
    return table, table.max()


def thomas(lower, diagonal, upper, right):
    n = len(diagonal)
    c = np.zeros(n - 1)
    d = np.zeros(n)
    c[0] = upper[0] / diagonal[0]
    d[0] = right[0] / diagonal[0]
    for i in range(1, n):
        w = diagonal[i] - lower[i - 1] * c[i - 1]
        if i < n - 1:
            c[i] = upper[i] / w
        d[i] = (right[i] - lower[i - 1] * d[i - 1]) / w
    x = np.empty(n)
    x[-1] = d[-1]
    for i in range(n - 2, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


def lotka_volterra(state, a, b):
    x, y = state
    return np.array([a * x - b * x * y, b * x * y - a * y])


def runge_kutta(start, a, b):
    dt = 0.1
    times = np.arange(0, 1, dt)
    states = np.zeros((len(times), 2))
    states[0] = start
    for k in range(len(times) - 1):
        s = states[k]
        k1 = lotka_volterra(s, a, b)
        k2 = lotka_volterra(s + dt / 2 * k1, a, b)
        k3 = lotka_volterra(s + dt / 2 * k2, a, b)
        k4 = lotka_volterra(s + dt * k3, a, b)
        states[k + 1] = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return times, states


def histogram(values):
    counts = np.zeros(8, dtype=int)
    for v in values:
        counts[v] += 1
    return counts


def moving_average(x):
    window = 4
    out = np.full(len(x), np.nan)
    for i in range(window - 1, len(x)):
        out[i] = x[i - window + 1 : i + 1].mean()
    return out


def cholesky(a):
    n = a.shape[0]
    lower = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j] - np.sum(lower[i, :j] * lower[j, :j])
            lower[i, j] = np.sqrt(s) if i == j else s / lower[j, j]
    return lower


def primes_weighted(x):
    sieve = np.ones(len(x), dtype=bool)
    sieve[:2] = False
    for i in range(2, int(len(x) ** 0.5) + 1):
        if sieve[i]:  # known while tracing
            sieve[i * i :: i] = False
    total = np.zeros(1)
    for p in np.flatnonzero(sieve):
        total += x[p] / p
    return total, sieve


def newton_polynomial(x, y, at):
    coefficients = np.copy(y)
    for k in range(1, len(x)):
        coefficients[k:] = (coefficients[k:] - coefficients[k - 1 : -1]) / (x[k:] - x[: -k or None])
    value = np.zeros_like(at)
    for k in range(len(x) - 1, -1, -1):
        value *= at - x[k]
        value += coefficients[k]
    return value


def matrix_power(a):
    result = np.eye(len(a))
    powers = np.empty((5, *a.shape))
    for k in range(5):
        powers[k] = result
        result = result @ a
    return result, powers


class Layers:
    """A network that keeps its activations in an array of its own."""

    def __init__(self, sizes):
        self.activations = np.zeros((len(sizes), max(sizes)))

    def forward(self, x, weights):
        self.activations[0, : len(x)] = x
        for k, w in enumerate(weights):
            x = np.tanh(w @ x)
            self.activations[k + 1, : len(x)] = x
        return x


def network(x, w1, w2):
    layers = Layers([len(x), w1.shape[0], w2.shape[0]])
    return layers.forward(x, [w1, w2]), layers.activations


def positive(n):
    a = RANDOM.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


STOCHASTIC = RANDOM.dirichlet(np.ones(3), 3)
PROGRAMS = {
    kalman_filter: (RANDOM.normal(size=12), 0.01, 0.5),
    box_blur: (RANDOM.normal(size=(6, 7)),),
    finite_elements: (np.cumsum(RANDOM.uniform(0.5, 1, 6)), 2.0),
    jacobi: (positive(5), RANDOM.normal(size=5)),
    game_of_life: (RANDOM.integers(0, 2, (7, 6)),),
    viterbi: (RANDOM.integers(0, 3, 6), STOCHASTIC[0], STOCHASTIC, RANDOM.dirichlet(np.ones(3), 3)),
    smith_waterman: (RANDOM.integers(0, 4, 5), RANDOM.integers(0, 4, 4)),
    thomas: (RANDOM.normal(size=5), 5 + RANDOM.uniform(size=6), RANDOM.normal(size=5), np.ones(6)),
    runge_kutta: (np.array([1.0, 0.5]), 1.1, 0.4),
    histogram: (RANDOM.integers(0, 8, 20),),
    moving_average: (RANDOM.normal(size=10),),
    cholesky: (positive(4),),
    primes_weighted: (RANDOM.normal(size=30),),
    newton_polynomial: (np.array([0.0, 1.0, 2.5]), np.array([1.0, 3.0, 2.0]), np.linspace(0, 2, 5)),
    matrix_power: (RANDOM.normal(size=(3, 3)),),
    network: (RANDOM.normal(size=3), RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(2, 4))),
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@one_in(3)
def test_a_program_gives_what_numpy_gives(program):
    arguments = PROGRAMS[program]
    found = transpile.tree.leaves(transpile.jit(program)(*arguments))
    expected = transpile.tree.leaves(program(*arguments))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
        assert np.asarray(a).dtype == b.dtype and np.shape(a) == b.shape
