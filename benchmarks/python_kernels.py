"""Numerical kernels as they are written for Python: loops, branches, early exits, in place.

Each is written from the mathematical definition, or the textbook that its docstring names, and is
the same text for Python, for `transpile.jit` and for Numba's `njit` (`python_kernel_times.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Kernel(NamedTuple):
    """A function, and its arguments of a size, for a generator of random numbers."""

    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator, int], tuple[Any, ...]]
    small: int
    large: int


def cholesky(a):
    """The lower factor, in place (Golub and Van Loan, Matrix Computations, 4.2.5)."""
    n = a.shape[0]
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= a[j, k] * a[j, k]
        if s <= 0.0:
            return j + 1
        d = math.sqrt(s)
        a[j, j] = d
        for i in range(j + 1, n):
            t = a[i, j]
            for k in range(j):
                t -= a[i, k] * a[j, k]
            a[i, j] = t / d
            a[j, i] = 0.0
    return 0


def lu_with_pivoting(a, order):
    """PA = LU, in place (Golub and Van Loan, 3.4.1)."""
    n = a.shape[0]
    for k in range(n - 1):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        order[k] = p
        if p != k:
            for j in range(n):
                t = a[k, j]
                a[k, j] = a[p, j]
                a[p, j] = t
        if a[k, k] != 0.0:
            for i in range(k + 1, n):
                a[i, k] /= a[k, k]
                for j in range(k + 1, n):
                    a[i, j] -= a[i, k] * a[k, j]


def thomas(lower, diagonal, upper, right):
    """A tridiagonal system (Thomas 1949; Golub and Van Loan, 4.3.6)."""
    n = len(diagonal)
    d = diagonal.copy()
    x = right.copy()
    for i in range(1, n):
        w = lower[i] / d[i - 1]
        d[i] -= w * upper[i - 1]
        x[i] -= w * x[i - 1]
    x[n - 1] /= d[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = (x[i] - upper[i] * x[i + 1]) / d[i]
    return x


def edit_distance(a, b):
    """Levenshtein's distance of two texts (Wagner and Fischer 1974)."""
    m = len(b)
    row = np.zeros(m + 1, np.int64)
    for j in range(m + 1):
        row[j] = j
    for i in range(len(a)):
        before = row[0]
        row[0] = i + 1
        for j in range(m):
            cost = before
            if a[i] != b[j]:
                cost += 1
            before = row[j + 1]
            if before + 1 < cost:
                cost = before + 1
            if row[j] + 1 < cost:
                cost = row[j] + 1
            row[j + 1] = cost
    return row[m]


def knapsack(weights, values, capacity):
    """The 0/1 knapsack (Bellman 1957)."""
    best = np.zeros(1001, np.int64)
    for i in range(len(weights)):
        w = weights[i]
        v = values[i]
        for c in range(capacity, w - 1, -1):
            if best[c - w] + v > best[c]:
                best[c] = best[c - w] + v
    return best[capacity]


def smith_waterman(a, b):
    """The best local alignment (Smith and Waterman 1981), linear gaps."""
    n = len(a)
    m = len(b)
    h = np.zeros((n + 1, m + 1))
    best = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = h[i - 1, j - 1] + (2.0 if a[i - 1] == b[j - 1] else -1.0)
            if h[i - 1, j] - 1.0 > s:
                s = h[i - 1, j] - 1.0
            if h[i, j - 1] - 1.0 > s:
                s = h[i, j - 1] - 1.0
            if s < 0.0:
                s = 0.0
            h[i, j] = s
            if s > best:
                best = s
    return best


def jacobi(u, f, steps):
    """Poisson's equation by Jacobi's iteration, with boundary code in the loop."""
    n, m = u.shape
    new = np.zeros_like(u)
    for _ in range(steps):
        for i in range(n):
            for j in range(m):
                if i == 0 or j == 0 or i == n - 1 or j == m - 1:
                    new[i, j] = 0.0
                else:
                    s = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                    new[i, j] = 0.25 * (s + f[i, j])
        for i in range(n):
            for j in range(m):
                u[i, j] = new[i, j]
    return u


def game_of_life(world, steps):
    """Conway's game on a torus."""
    n, m = world.shape
    for _ in range(steps):
        old = world.copy()
        for i in range(n):
            for j in range(m):
                count = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            count += old[(i + di) % n, (j + dj) % m]
                if count == 3 or (count == 2 and old[i, j] == 1):
                    world[i, j] = 1
                else:
                    world[i, j] = 0
    return world.sum()


def mandelbrot(real, imaginary, limit):
    """Steps until |z| > 2 (Mandelbrot 1980)."""
    counts = np.zeros((len(imaginary), len(real)), np.int64)
    for i in range(len(imaginary)):
        for j in range(len(real)):
            x = 0.0
            y = 0.0
            k = 0
            while k < limit and x * x + y * y <= 4.0:
                x, y = x * x - y * y + real[j], 2.0 * x * y + imaginary[i]
                k += 1
            counts[i, j] = k
    return counts


def queens(n):
    """Solutions of the n queens problem by bit masks (Richards 1997), without recursion."""
    full = (1 << n) - 1
    columns = np.zeros(32, np.int64)
    left = np.zeros(32, np.int64)
    right = np.zeros(32, np.int64)
    free = np.zeros(32, np.int64)
    free[0] = full
    row = 0
    count = 0
    while row >= 0:
        if free[row] == 0:
            row -= 1
        else:
            bit = free[row] & -free[row]
            free[row] ^= bit
            if row == n - 1:
                count += 1
            else:
                columns[row + 1] = columns[row] | bit
                left[row + 1] = (left[row] | bit) << 1
                right[row + 1] = (right[row] | bit) >> 1
                row += 1
                free[row] = full & ~(columns[row] | left[row] | right[row])
    return count


def sparse_product(starts, columns, values, x):
    """A matrix in CSR times a vector."""
    n = len(starts) - 1
    y = np.zeros(n)
    for i in range(n):
        s = 0.0
        for k in range(starts[i], starts[i + 1]):
            s += values[k] * x[columns[k]]
        y[i] = s
    return y


def crc32(data):
    """The checksum of ISO 3309, bit by bit."""
    crc = 0xFFFFFFFF
    for i in range(len(data)):
        crc = crc ^ data[i]
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0xEDB88320
            else:
                crc = crc >> 1
    return crc ^ 0xFFFFFFFF


def bisection(low, high, tolerance):
    """A root of x**3 - x - 2."""
    f = low * low * low - low - 2.0
    while high - low > tolerance:
        middle = 0.5 * (low + high)
        g = middle * middle * middle - middle - 2.0
        if g == 0.0:
            return middle
        if (g > 0.0) == (f > 0.0):
            low = middle
            f = g
        else:
            high = middle
    return 0.5 * (low + high)


def adaptive_ode(y, end, tolerance):
    """y' = -2 t y by Bogacki and Shampine's pair (1989) with adaptive steps."""
    t = 0.0
    h = 0.1
    steps = 0
    while t < end:
        if t + h > end:
            h = end - t
        k1 = -2.0 * t * y
        k2 = -2.0 * (t + h / 2) * (y + h / 2 * k1)
        k3 = -2.0 * (t + 0.75 * h) * (y + 0.75 * h * k2)
        new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = -2.0 * (t + h) * new
        error = abs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8))
        if error <= tolerance:
            t += h
            y = new
            steps += 1
        if error == 0.0:
            h *= 2.0
        else:
            scale = 0.9 * (tolerance / error) ** (1 / 3)
            h *= 5.0 if scale > 5.0 else (0.2 if scale < 0.2 else scale)
    return y, steps


def bellman_ford(sources, targets, weights, n):
    """Shortest paths from vertex 0 (Bellman 1958), until nothing changes."""
    distance = np.full(1000, np.inf)
    distance[0] = 0.0
    for _ in range(n):
        changed = False
        for e in range(len(weights)):
            d = distance[sources[e]] + weights[e]
            if d < distance[targets[e]]:
                distance[targets[e]] = d
                changed = True
        if not changed:
            break
    return distance


def kalman(observations, q, r):
    """The scalar random walk's filter, missing observations skipped (Kalman 1960)."""
    x = 0.0
    p = 1.0
    out = np.zeros(len(observations))
    for k in range(len(observations)):
        p += q
        z = observations[k]
        if not np.isnan(z):
            gain = p / (p + r)
            x += gain * (z - x)
            p *= 1.0 - gain
        out[k] = x
    return out


def rejection(seed, n):
    """Pi by rejection, with Marsaglia's xorshift of 32 bits (2003)."""
    state = seed
    inside = 0
    tried = 0
    while inside < n:
        xy = 0.0
        for _ in range(2):
            state ^= (state << 13) & 0xFFFFFFFF
            state ^= state >> 17
            state ^= (state << 5) & 0xFFFFFFFF
            u = state / 4294967296.0
            xy += u * u
        tried += 1
        if xy <= 1.0:
            inside += 1
    return 4.0 * inside / tried


def ray_march(width, limit):
    """Depths of a unit sphere seen from z = -3, by sphere tracing (Hart 1996)."""
    depths = np.zeros((48, 48))
    for i in range(48):
        for j in range(48):
            dx = (j - 23.5) / width
            dy = (i - 23.5) / width
            norm = math.sqrt(dx * dx + dy * dy + 1.0)
            t = 0.0
            for _ in range(limit):
                px = t * dx / norm
                py = t * dy / norm
                pz = t / norm - 3.0
                d = math.sqrt(px * px + py * py + pz * pz) - 1.0
                if d < 1e-6:
                    break
                t += d
                if t > 10.0:
                    t = np.inf
                    break
            depths[i, j] = t
    return depths


def insertion_sort(a):
    """In place (Knuth, The Art of Computer Programming 3, 5.2.1)."""
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


def sieve(flags):
    """The primes, after Eratosthenes."""
    n = len(flags)
    p = 2
    while p * p < n:
        if flags[p]:
            for q in range(p * p, n, p):
                flags[q] = False
        p += 1
    return flags.sum()


def floyd_warshall(d):
    """All shortest paths (Floyd 1962)."""
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]


def matrix_product(a, b):
    """The definition, with the sum innermost."""
    n, m, p = a.shape[0], a.shape[1], b.shape[1]
    c = np.zeros((n, p))
    for i in range(n):
        for j in range(p):
            s = 0.0
            for k in range(m):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    return c


def euclid(a, b):
    """Greatest common divisors of pairs (Euclid, VII.2)."""
    out = np.zeros(len(a), np.int64)
    for i in range(len(a)):
        x, y = a[i], b[i]
        while y != 0:
            x, y = y, x % y
        out[i] = x
    return out


def bubble_network(a):
    """An odd-even transposition network (Knuth 3, 5.3.4)."""
    n = len(a)
    for step in range(n):
        for i in range(step % 2, n - 1, 2):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]


def histogram(x, low, high, counts):
    """Counts of values in equal bins, those outside left out."""
    bins = len(counts)
    width = (high - low) / bins
    for i in range(len(x)):
        if low <= x[i] < high:
            k = int((x[i] - low) / width)
            if k >= bins:
                k = bins - 1
            counts[k] += 1


def newton_raphson(a, x):
    """Real roots of cubics a x**3 + x - 1 by Newton's method with a limit."""
    roots = np.zeros(len(a))
    for i in range(len(a)):
        y = x
        for _ in range(50):
            step = (a[i] * y**3 + y - 1.0) / (3 * a[i] * y**2 + 1.0)
            y -= step
            if abs(step) < 1e-13:
                break
        roots[i] = y
    return roots


def longest_increasing(a):
    """The length of the longest increasing subsequence (Fredman 1975)."""
    tails = np.zeros(len(a), a.dtype)
    size = 0
    for i in range(len(a)):
        low, high = 0, size
        while low < high:
            middle = (low + high) // 2
            if tails[middle] < a[i]:
                low = middle + 1
            else:
                high = middle
        tails[low] = a[i]
        if low == size:
            size += 1
    return size


def union_find(a, b, n):
    """Components of a graph (Tarjan 1975), with path halving."""
    parent = np.arange(1000)
    count = n
    for e in range(len(a)):
        i, j = a[e], b[e]
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        while parent[j] != j:
            parent[j] = parent[parent[j]]
            j = parent[j]
        if i != j:
            parent[i] = j
            count -= 1
    return count


def logistic_map(r, x, steps):
    """Lyapunov's exponent of the logistic map (May 1976)."""
    s = 0.0
    for _ in range(steps):
        x = r * x * (1.0 - x)
        s += math.log(abs(r * (1.0 - 2.0 * x)))
    return s / steps


def simpson(low, high, n):
    """The integral of exp(-x*x) by Simpson's rule."""
    h = (high - low) / n
    total = math.exp(-low * low) + math.exp(-high * high)
    for k in range(1, n):
        x = low + k * h
        total += (4.0 if k % 2 == 1 else 2.0) * math.exp(-x * x)
    return total * h / 3.0


def _spd(draw, n):
    a = draw.normal(size=(n, n))
    return (a @ a.T + n * np.eye(n),)


def _csr(draw, n):
    counts = draw.integers(0, 9, size=n)
    starts = np.concatenate([[0], np.cumsum(counts)])
    nonzero = int(starts[-1])
    return starts, draw.integers(0, n, size=nonzero), draw.normal(size=nonzero), draw.normal(size=n)


def _edges(draw, n):
    return draw.integers(0, n, size=4 * n), draw.integers(0, n, size=4 * n)


def _observations(draw, n):
    z = np.cumsum(draw.normal(size=n))
    z[draw.random(n) < 0.1] = np.nan
    return z, 1.0, 0.5


KERNELS = {
    "cholesky": Kernel(cholesky, _spd, 6, 200),
    "lu_with_pivoting": Kernel(
        lu_with_pivoting, lambda d, n: (d.normal(size=(n, n)), np.zeros(n, np.int64)), 6, 200
    ),
    "thomas": Kernel(
        thomas,
        lambda d, n: (d.random(n), 4 + d.random(n), d.random(n), d.normal(size=n)),
        9,
        100_000,
    ),
    "edit_distance": Kernel(
        edit_distance, lambda d, n: (d.integers(0, 4, n), d.integers(0, 4, n + 3)), 12, 1000
    ),
    "knapsack": Kernel(
        knapsack, lambda d, n: (d.integers(1, 30, n), d.integers(1, 99, n), 1000), 8, 500
    ),
    "smith_waterman": Kernel(
        smith_waterman, lambda d, n: (d.integers(0, 4, n), d.integers(0, 4, n + 3)), 12, 1000
    ),
    "jacobi": Kernel(
        jacobi, lambda d, n: (d.normal(size=(n, n)), d.normal(size=(n, n)), 10), 9, 300
    ),
    "game_of_life": Kernel(game_of_life, lambda d, n: (d.integers(0, 2, size=(n, n)), 5), 9, 200),
    "mandelbrot": Kernel(
        mandelbrot, lambda d, n: (np.linspace(-2, 1, n), np.linspace(-1, 1, n), 100), 12, 200
    ),
    "queens": Kernel(queens, lambda d, n: (n,), 6, 10),
    "sparse_product": Kernel(sparse_product, _csr, 12, 50_000),
    "crc32": Kernel(crc32, lambda d, n: (d.integers(0, 256, n),), 12, 100_000),
    "bisection": Kernel(bisection, lambda d, n: (1.0, 2.0, 1e-12), 1, 1),
    "adaptive_ode": Kernel(adaptive_ode, lambda d, n: (1.0, 2.0, 1e-12), 1, 1),
    "bellman_ford": Kernel(
        bellman_ford, lambda d, n: (*_edges(d, n), d.random(4 * n), n), 12, 1000
    ),
    "kalman": Kernel(kalman, _observations, 12, 100_000),
    "rejection": Kernel(rejection, lambda d, n: (2463534242, n), 12, 100_000),
    "ray_march": Kernel(ray_march, lambda d, n: (24.0, 100), 1, 1),
    "insertion_sort": Kernel(insertion_sort, lambda d, n: (d.normal(size=n),), 12, 1000),
    "sieve": Kernel(sieve, lambda d, n: (np.ones(n, bool),), 60, 100_000),
    "floyd_warshall": Kernel(floyd_warshall, lambda d, n: (d.random((n, n)),), 7, 150),
    "matrix_product": Kernel(
        matrix_product, lambda d, n: (d.normal(size=(n, n)), d.normal(size=(n, n))), 7, 150
    ),
    "euclid": Kernel(
        euclid, lambda d, n: (d.integers(1, 10**6, n), d.integers(1, 10**6, n)), 9, 20_000
    ),
    "bubble_network": Kernel(bubble_network, lambda d, n: (d.normal(size=n),), 12, 1000),
    "histogram": Kernel(
        histogram, lambda d, n: (d.normal(size=n), -2.0, 2.0, np.zeros(16, np.int64)), 50, 200_000
    ),
    "newton_raphson": Kernel(newton_raphson, lambda d, n: (d.random(n), 0.5), 9, 20_000),
    "longest_increasing": Kernel(longest_increasing, lambda d, n: (d.normal(size=n),), 12, 50_000),
    "union_find": Kernel(union_find, lambda d, n: (*_edges(d, n), n), 12, 1000),
    "logistic_map": Kernel(logistic_map, lambda d, n: (3.9, 0.3, n), 12, 100_000),
    "simpson": Kernel(simpson, lambda d, n: (0.0, 1.0, n), 12, 100_000),
}
