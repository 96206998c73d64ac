"""More kernels like those of `python_kernels.py`, for which nothing was tuned: where these
are slow, a rule is missing. Those that walk through numbers and words are in `search_kernels.py`.

Each is a textbook's algorithm, the same text for Python, for `transpile.jit` and for Numba.
"""

from __future__ import annotations

import numpy as np

from benchmarks.python_kernels import Kernel
from benchmarks.search_kernels import (
    bit_counts,
    collatz,
    interpolation_search,
    largest_part,
    next_permutations,
    pollard_rho,
    radix_sort,
    rolling_hash,
    string_search,
    three_sum,
)


def area_table(a, k):
    """The largest sum of a window of k x k, by a table of prefix sums (Crow 1984)."""
    n, m = a.shape
    table = np.zeros((n + 1, m + 1), np.int64)
    for i in range(n):
        line = 0
        for j in range(m):
            line += a[i, j]
            table[i + 1, j + 1] = table[i, j + 1] + line
    best = -(1 << 60)
    for i in range(k, n + 1):
        for j in range(k, m + 1):
            s = table[i, j] - table[i - k, j] - table[i, j - k] + table[i - k, j - k]
            if s > best:
                best = s
    return best


def heap_sort(a):
    """In place (Williams 1964; Floyd 1964)."""
    n = len(a)
    start = n // 2
    end = n
    while end > 1:
        if start > 0:
            start -= 1
            value = a[start]
        else:
            end -= 1
            value = a[end]
            a[end] = a[0]
        hole = start
        child = 2 * hole + 1
        while child < end:
            if child + 1 < end and a[child + 1] > a[child]:
                child += 1
            if a[child] <= value:
                break
            a[hole] = a[child]
            hole = child
            child = 2 * hole + 1
        a[hole] = value


def breadth_first(starts, neighbours, source):
    """Distances in a graph of compressed rows (Moore 1959)."""
    n = len(starts) - 1
    distance = np.full(n, -1)
    queue = np.zeros(n, np.int64)
    queue[0] = source
    distance[source] = 0
    first = 0
    last = 1
    while first < last:
        v = queue[first]
        first += 1
        for k in range(starts[v], starts[v + 1]):
            w = neighbours[k]
            if distance[w] < 0:
                distance[w] = distance[v] + 1
                queue[last] = w
                last += 1
    return distance


def least_recently_used(pages, held, used):
    """Hits of a cache that forgets what was used least recently."""
    slots = len(held)
    hits = 0
    for t in range(len(pages)):
        page = pages[t]
        at = -1
        oldest = 0
        for k in range(slots):
            if held[k] == page:
                at = k
                break
            if used[k] < used[oldest]:
                oldest = k
        if at >= 0:
            hits += 1
        else:
            at = oldest
            held[at] = page
        used[at] = t + 1
    return hits


def reflecting_heat(u, steps):
    """Heat on a plate whose borders reflect: neighbours are chosen at borders."""
    n, m = u.shape
    new = u.copy()
    for _ in range(steps):
        for i in range(n):
            up = i - 1 if i > 0 else 1
            down = i + 1 if i < n - 1 else n - 2
            for j in range(m):
                left = j - 1 if j > 0 else 1
                right = j + 1 if j < m - 1 else m - 2
                s = u[up, j] + u[down, j] + u[i, left] + u[i, right]
                new[i, j] = u[i, j] + 0.2 * (s - 4.0 * u[i, j])
        for i in range(n):
            for j in range(m):
                u[i, j] = new[i, j]


def banded_solve(bands, right, width):
    """A banded system without pivoting, bands[i, width + j - i] = A[i, j] (Golub and Van Loan)."""
    n = len(right)
    for k in range(n - 1):
        for i in range(k + 1, min(n, k + width + 1)):
            factor = bands[i, width + k - i] / bands[k, width]
            for j in range(k + 1, min(n, k + width + 1)):
                bands[i, width + j - i] -= factor * bands[k, width + j - k]
            right[i] -= factor * right[k]
    for i in range(n - 1, -1, -1):
        s = right[i]
        for j in range(i + 1, min(n, i + width + 1)):
            s -= bands[i, width + j - i] * right[j]
        right[i] = s / bands[i, width]


def gauss_seidel(a, b, x, tolerance):
    """Sweeps until no unknown changes by more than the tolerance."""
    n = len(b)
    sweeps = 0
    while sweeps < 1000:
        largest = 0.0
        for i in range(n):
            s = b[i]
            for j in range(n):
                if j != i:
                    s -= a[i, j] * x[j]
            s /= a[i, i]
            change = abs(s - x[i])
            if change > largest:
                largest = change
            x[i] = s
        sweeps += 1
        if largest <= tolerance:
            break
    return sweeps


def nelder_mead(x, y, limit):
    """Rosenbrock's function by a simplex of three points (Nelder and Mead 1965)."""
    p = np.zeros((3, 2))
    f = np.zeros(3)
    for i in range(3):
        p[i, 0] = x + (0.5 if i == 1 else 0.0)
        p[i, 1] = y + (0.5 if i == 2 else 0.0)
        f[i] = (1.0 - p[i, 0]) ** 2 + 100.0 * (p[i, 1] - p[i, 0] ** 2) ** 2
    steps = 0
    while steps < limit:
        steps += 1
        low = 0
        high = 0
        for i in range(1, 3):
            if f[i] < f[low]:
                low = i
            if f[i] >= f[high]:
                high = i
        if f[high] - f[low] < 1e-14:
            break
        middle = 3 - low - high
        cx = 0.5 * (p[low, 0] + p[middle, 0])
        cy = 0.5 * (p[low, 1] + p[middle, 1])
        rx = 2.0 * cx - p[high, 0]
        ry = 2.0 * cy - p[high, 1]
        fr = (1.0 - rx) ** 2 + 100.0 * (ry - rx**2) ** 2
        if fr < f[low]:
            ex = 3.0 * cx - 2.0 * p[high, 0]
            ey = 3.0 * cy - 2.0 * p[high, 1]
            fe = (1.0 - ex) ** 2 + 100.0 * (ey - ex**2) ** 2
            if fe < fr:
                rx, ry, fr = ex, ey, fe
            p[high, 0] = rx
            p[high, 1] = ry
            f[high] = fr
        elif fr < f[middle]:
            p[high, 0] = rx
            p[high, 1] = ry
            f[high] = fr
        else:
            kx = 0.5 * (cx + p[high, 0])
            ky = 0.5 * (cy + p[high, 1])
            fk = (1.0 - kx) ** 2 + 100.0 * (ky - kx**2) ** 2
            if fk < f[high]:
                p[high, 0] = kx
                p[high, 1] = ky
                f[high] = fk
            else:
                for i in range(3):
                    if i != low:
                        p[i, 0] = 0.5 * (p[i, 0] + p[low, 0])
                        p[i, 1] = 0.5 * (p[i, 1] + p[low, 1])
                        f[i] = (1.0 - p[i, 0]) ** 2 + 100.0 * (p[i, 1] - p[i, 0] ** 2) ** 2
    return f.min(), steps


def coin_change(coins, ways):
    """In how many ways coins make each amount, modulo a prime."""
    ways[0] = 1
    for i in range(len(coins)):
        c = coins[i]
        for amount in range(c, len(ways)):
            ways[amount] = (ways[amount] + ways[amount - c]) % 1000000007


def lines(x0, y0, x1, y1, raster):
    """Lines on a raster (Bresenham 1965)."""
    for k in range(len(x0)):
        x = x0[k]
        y = y0[k]
        dx = abs(x1[k] - x)
        dy = -abs(y1[k] - y)
        sx = 1 if x < x1[k] else -1
        sy = 1 if y < y1[k] else -1
        error = dx + dy
        while True:
            raster[y, x] += 1
            if x == x1[k] and y == y1[k]:
                break
            twice = 2 * error
            if twice >= dy:
                error += dy
                x += sx
            if twice <= dx:
                error += dx
                y += sy


def flood_fill(picture, row, column, colour):
    """An area of one colour gets another, by a stack."""
    n, m = picture.shape
    old = picture[row, column]
    stack = np.zeros(4 * n * m + 4, np.int64)
    stack[0] = row * m + column
    top = 1
    filled = 0
    while top > 0:
        top -= 1
        i = stack[top] // m
        j = stack[top] % m
        if picture[i, j] == old:
            picture[i, j] = colour
            filled += 1
            if i > 0:
                stack[top] = (i - 1) * m + j
                top += 1
            if i < n - 1:
                stack[top] = (i + 1) * m + j
                top += 1
            if j > 0:
                stack[top] = i * m + j - 1
                top += 1
            if j < m - 1:
                stack[top] = i * m + j + 1
                top += 1
    return filled


def matrix_chain(sizes):
    """Multiplications of a product of matrices in the best order (Godbole 1973)."""
    n = len(sizes) - 1
    cost = np.zeros((n, n), np.int64)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            best = 1 << 60
            for k in range(i, j):
                c = cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if c < best:
                    best = c
            cost[i, j] = best
    return cost[0, n - 1]


def _graph(draw, n):
    counts = draw.integers(1, 7, size=n)
    starts = np.concatenate([[0], np.cumsum(counts)])
    return starts, draw.integers(0, n, size=int(starts[-1])), 0


def _bands(draw, n):
    width = 4
    bands = draw.normal(size=(n, 2 * width + 1))
    bands[:, width] += 20
    return bands, draw.normal(size=n), width


def _dominant(draw, n):
    return draw.normal(size=(n, n)) + 20 * n * np.eye(n), draw.normal(size=n), np.zeros(n), 1e-13


def _words(draw, n):
    return draw.integers(0, 2, n), np.array([0, 1, 0, 0, 1, 0, 1, 0])


def _sorted_and_queries(draw, n):
    return np.sort(draw.integers(0, 10 * n, n)), draw.integers(0, 10 * n, n)


def _ends(draw, n):
    points = [draw.integers(0, 200, n) for _ in range(4)]
    return (*points, np.zeros((200, 200), np.int64))


FURTHER = {
    "area_table": Kernel(area_table, lambda d, n: (d.integers(-9, 9, (n, n)), 5), 9, 500),
    "three_sum": Kernel(three_sum, lambda d, n: (np.sort(d.integers(-n, n, n)), 3), 12, 1000),
    "heap_sort": Kernel(heap_sort, lambda d, n: (d.normal(size=n),), 13, 20_000),
    "breadth_first": Kernel(breadth_first, _graph, 12, 20_000),
    "least_recently_used": Kernel(
        least_recently_used,
        lambda d, n: (d.integers(0, 40, n), np.full(32, -1), np.zeros(32, np.int64)),
        60,
        20_000,
    ),
    "bit_counts": Kernel(
        bit_counts,
        lambda d, n: (d.integers(0, 1 << 40, n), np.zeros(64, np.int64)),
        12,
        50_000,
    ),
    "reflecting_heat": Kernel(reflecting_heat, lambda d, n: (d.normal(size=(n, n)), 10), 7, 300),
    "banded_solve": Kernel(banded_solve, _bands, 12, 5000),
    "gauss_seidel": Kernel(gauss_seidel, _dominant, 6, 200),
    "nelder_mead": Kernel(nelder_mead, lambda d, n: (-1.2, 1.0, n), 20, 1000),
    "coin_change": Kernel(
        coin_change, lambda d, n: (d.integers(1, 50, 20), np.zeros(n, np.int64)), 60, 20_000
    ),
    "string_search": Kernel(string_search, _words, 60, 100_000),
    "rolling_hash": Kernel(rolling_hash, _words, 60, 100_000),
    "interpolation_search": Kernel(interpolation_search, _sorted_and_queries, 30, 20_000),
    "lines": Kernel(lines, _ends, 6, 2000),
    "flood_fill": Kernel(flood_fill, lambda d, n: (1 * (d.random((n, n)) < 0.2), 0, 0, 7), 9, 300),
    "collatz": Kernel(collatz, lambda d, n: (n,), 30, 30_000),
    "pollard_rho": Kernel(pollard_rho, lambda d, n: (d.integers(10**3, 10**6, n) * 2 + 1,), 6, 300),
    "largest_part": Kernel(largest_part, lambda d, n: (d.normal(size=n),), 30, 200_000),
    "matrix_chain": Kernel(matrix_chain, lambda d, n: (d.integers(1, 99, n),), 9, 150),
    "next_permutations": Kernel(next_permutations, lambda d, n: (np.arange(10), n), 50, 20_000),
    "radix_sort": Kernel(
        radix_sort, lambda d, n: (d.integers(0, 2**31, n), np.zeros(n, np.int64)), 30, 50_000
    ),
}
