"""Kernels of textbooks over points, codes, schedules and signals, for which nothing was tuned when
they were written. Where they come from is in each one's docstring.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.python_kernels import Kernel


def convex_hull(px, py, order, hull):
    """The convex hull by a monotone chain (Andrew 1979), of points in `order` by x."""
    n = len(px)
    k = 0
    for i in range(n):
        p = order[i]
        while k >= 2:
            a, b = hull[k - 2], hull[k - 1]
            if (px[b] - px[a]) * (py[p] - py[a]) - (py[b] - py[a]) * (px[p] - px[a]) > 0:
                break
            k -= 1
        hull[k] = p
        k += 1
    lower = k + 1
    for i in range(n - 2, -1, -1):
        p = order[i]
        while k >= lower:
            a, b = hull[k - 2], hull[k - 1]
            if (px[b] - px[a]) * (py[p] - py[a]) - (py[b] - py[a]) * (px[p] - px[a]) > 0:
                break
            k -= 1
        hull[k] = p
        k += 1
    return k - 1


def point_in_polygon(x, y, px, py, inside):
    """Crossings of a ray (Shimrat 1962, O'Rourke 7.4)."""
    n = len(px)
    for k in range(len(x)):
        crossed = False
        j = n - 1
        for i in range(n):
            if (py[i] > y[k]) != (py[j] > y[k]):
                t = (px[j] - px[i]) * (y[k] - py[i]) / (py[j] - py[i]) + px[i]
                if x[k] < t:
                    crossed = not crossed
            j = i
        inside[k] = crossed


def hamming_code(data, out):
    """Hamming's (7, 4) code with one error in each word, corrected (Hamming 1950)."""
    corrected = 0
    for k in range(len(data)):
        d = data[k] & 15
        d1, d2, d3, d4 = d & 1, (d >> 1) & 1, (d >> 2) & 1, (d >> 3) & 1
        p1, p2, p3 = d1 ^ d2 ^ d4, d1 ^ d3 ^ d4, d2 ^ d3 ^ d4
        word = p1 | p2 << 1 | d1 << 2 | p3 << 3 | d2 << 4 | d3 << 5 | d4 << 6
        word ^= 1 << (k % 7)
        s = 0
        for i in range(7):
            if word >> i & 1:
                s ^= i + 1
        if s:
            word ^= 1 << (s - 1)
            corrected += 1
        out[k] = (
            (word >> 2 & 1) | (word >> 4 & 1) << 1 | (word >> 5 & 1) << 2 | (word >> 6 & 1) << 3
        )
    return corrected


def viterbi_decoder(received, bits):
    """The convolutional code (7, 5), decoded (Viterbi 1967); its distance."""
    n = len(received)
    cost = np.full(4, 1000000)
    cost[0] = 0
    back = np.zeros((n, 4), np.int64)
    new = np.zeros(4, np.int64)
    for t in range(n):
        for s in range(4):
            new[s] = 1000000
        for s in range(4):
            for b in range(2):
                register = b << 2 | s
                o1 = (register ^ register >> 1 ^ register >> 2) & 1
                o2 = (register ^ register >> 2) & 1
                d = cost[s] + (o1 ^ received[t] >> 1 & 1) + (o2 ^ received[t] & 1)
                to = register >> 1
                if d < new[to]:
                    new[to] = d
                    back[t, to] = s
        for s in range(4):
            cost[s] = new[s]
    best = 0
    for s in range(1, 4):
        if cost[s] < cost[best]:
            best = s
    total = cost[best]
    for t in range(n - 1, -1, -1):
        bits[t] = best >> 1
        best = back[t, best]
    return total


def list_scheduling(times, machines, load):
    """Graham's list scheduling by a heap of machines (1966): the makespan."""
    for m in range(machines):
        load[m] = 0.0
    for k in range(len(times)):
        t = load[0] + times[k]
        i = 0
        while True:
            child = 2 * i + 1
            if child >= machines:
                break
            if child + 1 < machines and load[child + 1] < load[child]:
                child += 1
            if load[child] >= t:
                break
            load[i] = load[child]
            i = child
        load[i] = t
    top = 0.0
    for m in range(machines):
        top = max(top, load[m])
    return top


def fft_in_place(re, im):
    """Cooley and Tukey's transform, radix 2, with bit reversal (1965)."""
    n = len(re)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            re[i], re[j] = re[j], re[i]
            im[i], im[j] = im[j], im[i]
    length = 2
    while length <= n:
        angle = -2 * math.pi / length
        wr, wi = math.cos(angle), math.sin(angle)
        for i in range(0, n, length):
            cr, ci = 1.0, 0.0
            for k in range(length // 2):
                a, b = i + k, i + k + length // 2
                tr = re[b] * cr - im[b] * ci
                ti = re[b] * ci + im[b] * cr
                re[b], im[b] = re[a] - tr, im[a] - ti
                re[a] += tr
                im[a] += ti
                cr, ci = cr * wr - ci * wi, cr * wi + ci * wr
        length <<= 1


def grid_distances(cost, distance):
    """Shortest paths over a grid by a heap of cells (Dijkstra 1959)."""
    n, m = cost.shape
    heap = np.zeros(4 * n * m, np.int64)
    key = np.zeros(4 * n * m)
    distance[:] = np.inf
    distance[0, 0] = cost[0, 0]
    heap[0] = 0
    key[0] = cost[0, 0]
    size = 1
    while size > 0:
        cell, d = heap[0], key[0]
        size -= 1
        last, lk = heap[size], key[size]
        i = 0
        while 2 * i + 1 < size:
            c = 2 * i + 1
            if c + 1 < size and key[c + 1] < key[c]:
                c += 1
            if key[c] >= lk:
                break
            heap[i], key[i] = heap[c], key[c]
            i = c
        heap[i], key[i] = last, lk
        row, column = cell // m, cell % m
        if d > distance[row, column]:
            continue
        for s in range(4):
            r = row + (1 if s == 0 else -1 if s == 1 else 0)
            q = column + (1 if s == 2 else -1 if s == 3 else 0)
            if 0 <= r < n and 0 <= q < m:
                e = d + cost[r, q]
                if e < distance[r, q]:
                    distance[r, q] = e
                    i = size
                    size += 1
                    while i > 0 and key[(i - 1) // 2] > e:
                        heap[i], key[i] = heap[(i - 1) // 2], key[(i - 1) // 2]
                        i = (i - 1) // 2
                    heap[i] = r * m + q
                    key[i] = e
    return distance[n - 1, m - 1]


def sandpile(n, grains):
    """A pile that topples until no cell has four grains (Bak, Tang and Wiesenfeld 1987)."""
    grid = np.zeros((n, n), np.int64)
    grid[n // 2, n // 2] = grains
    topples = 0
    while True:
        unstable = False
        for i in range(n):
            for j in range(n):
                k = grid[i, j] // 4
                if k:
                    unstable = True
                    topples += k
                    grid[i, j] -= 4 * k
                    if i > 0:
                        grid[i - 1, j] += k
                    if i + 1 < n:
                        grid[i + 1, j] += k
                    if j > 0:
                        grid[i, j - 1] += k
                    if j + 1 < n:
                        grid[i, j + 1] += k
        if not unstable:
            return grid, topples


def heated_rod(n, strength):
    """Bratu's problem, u'' + strength exp(u) = 0, by Newton's method and conjugate gradients."""
    h = 1.0 / (n + 1)
    u = np.zeros(n)
    for _ in range(20):
        f = np.zeros(n)
        for i in range(n):
            left = u[i - 1] if i > 0 else 0.0
            right = u[i + 1] if i < n - 1 else 0.0
            f[i] = (left - 2 * u[i] + right) / h**2 + strength * math.exp(u[i])
        if math.sqrt((f * f).sum()) < 1e-7:
            break
        d = np.zeros(n)
        r = f.copy()
        p = r.copy()
        size = r @ r
        for _ in range(10 * n):
            q = np.empty(n)
            for i in range(n):
                v = -2 * p[i]
                if i > 0:
                    v += p[i - 1]
                if i < n - 1:
                    v += p[i + 1]
                q[i] = -(v / h**2 + strength * math.exp(u[i]) * p[i])
            step = size / (p @ q)
            d += step * p
            r -= step * q
            new = r @ r
            if new < 1e-20:
                break
            p = r + new / size * p
            size = new
        u += d
    return u


def _zeros(*shape):
    return np.zeros(shape, np.int64)


def _polygon(draw, n):
    """Points, and a star around most of them."""
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    radius = 1 + 0.3 * draw.normal(size=60)
    return *draw.normal(size=(2, n)), radius * np.cos(angle), radius * np.sin(angle), _zeros(n)


PLANE = {
    "convex_hull": Kernel(
        convex_hull,
        lambda d, n: (np.sort(d.normal(size=n)), d.normal(size=n), np.arange(n), _zeros(2 * n + 1)),
        20,
        20_000,
    ),
    "point_in_polygon": Kernel(point_in_polygon, _polygon, 5, 5000),
    "hamming_code": Kernel(
        hamming_code, lambda d, n: (d.integers(0, 16, n), _zeros(n)), 30, 20_000
    ),
    "viterbi_decoder": Kernel(
        viterbi_decoder, lambda d, n: (d.integers(0, 4, n), _zeros(n)), 20, 5000
    ),
    "list_scheduling": Kernel(
        list_scheduling, lambda d, n: (d.random(n), 7, np.zeros(7)), 30, 20_000
    ),
    "fft_in_place": Kernel(fft_in_place, lambda d, n: tuple(d.normal(size=(2, n))), 16, 4096),
    "grid_distances": Kernel(
        grid_distances, lambda d, n: (d.random((n, n)), np.zeros((n, n))), 5, 80
    ),
    "sandpile": Kernel(sandpile, lambda d, n: (n, 2 * n * n), 5, 31),
    "heated_rod": Kernel(heated_rod, lambda d, n: (n, 1.0), 5, 60),
}
