"""Kernels of textbooks over texts, rasters and random numbers: for these, too, nothing was tuned
when they were written. Where they come from is in each one's docstring.
"""

from __future__ import annotations

import numpy as np

from benchmarks.graph_kernels import GRAPHS
from benchmarks.plane_kernels import PLANE
from benchmarks.python_kernels import Kernel


def z_function(text, z):
    """How much of the text's beginning stands at each place (Gusfield 1997, 1.3)."""
    n = len(text)
    z[0] = n
    left = 0
    right = 0
    for i in range(1, n):
        k = 0
        if i < right:
            k = min(right - i, z[i - left])
        while i + k < n and text[k] == text[i + k]:
            k += 1
        z[i] = k
        if i + k > right:
            left = i
            right = i + k


def inversions(a):
    """Pairs out of order, by a tree of partial sums (Fenwick 1994)."""
    n = len(a)
    tree = np.zeros(n + 1, np.int64)
    count = 0
    for i in range(n - 1, -1, -1):
        k = a[i]
        while k > 0:
            count += tree[k]
            k -= k & -k
        k = a[i] + 1
        while k <= n:
            tree[k] += 1
            k += k & -k
    return count


def suffix_array(text, order):
    """The suffixes of a text in order, by doubling (Manber and Myers 1993) and counting."""
    n = len(text)
    size = max(n, 256) + 1
    rank = np.zeros(n, np.int64)
    other = np.zeros(n, np.int64)
    second = np.zeros(n, np.int64)
    counts = np.zeros(size, np.int64)
    for i in range(n):
        rank[i] = text[i] + 1
        counts[rank[i]] += 1
    for v in range(1, size):
        counts[v] += counts[v - 1]
    for i in range(n - 1, -1, -1):
        counts[rank[i]] -= 1
        order[counts[rank[i]]] = i
    length = 1
    while length < n:
        place = 0
        for i in range(n - length, n):
            second[place] = i
            place += 1
        for i in range(n):
            if order[i] >= length:
                second[place] = order[i] - length
                place += 1
        for v in range(size):
            counts[v] = 0
        for i in range(n):
            counts[rank[i]] += 1
        for v in range(1, size):
            counts[v] += counts[v - 1]
        for i in range(n - 1, -1, -1):
            counts[rank[second[i]]] -= 1
            order[counts[rank[second[i]]]] = second[i]
        classes = 1
        other[order[0]] = 1
        for i in range(1, n):
            a = order[i - 1]
            b = order[i]
            next_a = rank[a + length] if a + length < n else 0
            next_b = rank[b + length] if b + length < n else 0
            if rank[a] != rank[b] or next_a != next_b:
                classes += 1
            other[b] = classes
        rank, other = other, rank
        if classes == n:
            break
        length *= 2


def needleman_wunsch(a, b, first, second):
    """The best global alignment (Needleman and Wunsch 1970), -1 for a gap; its length."""
    n = len(a)
    m = len(b)
    score = np.zeros((n + 1, m + 1), np.int64)
    for i in range(1, n + 1):
        score[i, 0] = -i
    for j in range(1, m + 1):
        score[0, j] = -j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            same = 1 if a[i - 1] == b[j - 1] else -1
            score[i, j] = max(score[i - 1, j - 1] + same, score[i - 1, j] - 1, score[i, j - 1] - 1)
    i = n
    j = m
    length = 0
    while i > 0 or j > 0:
        same = -1
        if i > 0 and j > 0 and a[i - 1] == b[j - 1]:
            same = 1
        if i > 0 and j > 0 and score[i, j] == score[i - 1, j - 1] + same:
            i -= 1
            j -= 1
            first[length] = i
            second[length] = j
        elif i > 0 and score[i, j] == score[i - 1, j] - 1:
            i -= 1
            first[length] = i
            second[length] = -1
        else:
            j -= 1
            first[length] = -1
            second[length] = j
        length += 1
    return length


def lempel_ziv(text, window, offsets, lengths):
    """The longest earlier match at each token (Ziv and Lempel 1977); how many tokens."""
    n = len(text)
    tokens = 0
    i = 0
    while i < n:
        best = 0
        offset = 0
        for start in range(max(0, i - window), i):
            k = 0
            while i + k < n and k < 255 and text[start + k] == text[i + k]:
                k += 1
            if k > best:
                best = k
                offset = i - start
        offsets[tokens] = offset
        lengths[tokens] = best
        tokens += 1
        i += max(best, 1)
    return tokens


def adler32(data):
    """The checksum of RFC 1950."""
    a = 1
    b = 0
    for k in range(len(data)):
        a = (a + data[k]) % 65521
        b = (b + a) % 65521
    return b * 65536 + a


def marching_squares(field, level, segments):
    """Segments of a contour (after Lorensen and Cline 1987); how many."""
    n, m = field.shape
    count = 0
    for i in range(n - 1):
        for j in range(m - 1):
            a = field[i, j] - level
            b = field[i, j + 1] - level
            c = field[i + 1, j + 1] - level
            d = field[i + 1, j] - level
            ends = 0
            for side in range(4):
                if side == 0:
                    p, q, y, x, dy, dx = a, b, i, j, 0, 1
                elif side == 1:
                    p, q, y, x, dy, dx = b, c, i, j + 1, 1, 0
                elif side == 2:
                    p, q, y, x, dy, dx = c, d, i + 1, j + 1, 0, -1
                else:
                    p, q, y, x, dy, dx = d, a, i + 1, j, -1, 0
                if (p > 0) != (q > 0):
                    t = p / (p - q)
                    segments[count, 2 * (ends % 2)] = y + t * dy
                    segments[count, 2 * (ends % 2) + 1] = x + t * dx
                    ends += 1
                    if ends % 2 == 0:
                        count += 1
    return count


def heap_permutations(a):
    """All permutations by exchanges (Heap 1963): a checksum of them."""
    n = len(a)
    counters = np.zeros(n, np.int64)
    checksum = a[0]
    i = 1
    while i < n:
        if counters[i] < i:
            if i % 2 == 0:
                a[0], a[i] = a[i], a[0]
            else:
                a[counters[i]], a[i] = a[i], a[counters[i]]
            checksum = (3 * checksum + a[0]) % 1000003
            counters[i] += 1
            i = 1
        else:
            counters[i] = 0
            i += 1
    return checksum


def palindromes(text, radius):
    """Radii of odd palindromes (Manacher 1975): the longest one's length."""
    n = len(text)
    centre = 0
    right = -1
    longest = 0
    for i in range(n):
        k = 1
        if i <= right:
            k = min(radius[2 * centre - i], right - i + 1)
        while i - k >= 0 and i + k < n and text[i - k] == text[i + k]:
            k += 1
        radius[i] = k
        if i + k - 1 > right:
            centre = i
            right = i + k - 1
        longest = max(longest, 2 * k - 1)
    return longest


def time_warping(a, b, window):
    """The distance of two series under warping in a band (Sakoe and Chiba 1978)."""
    n = len(a)
    m = len(b)
    table = np.full((n + 1, m + 1), np.inf)
    table[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(max(1, i - window), min(m, i + window) + 1):
            cost = abs(a[i - 1] - b[j - 1])
            table[i, j] = cost + min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
    return table[n, m]


def ising(spins, seed, sweeps, weights):
    """Metropolis's algorithm (1953) for Ising's model: the magnetization."""
    n = len(spins)
    for _ in range(sweeps * n * n):
        seed = (1103515245 * seed + 12345) & 0x7FFFFFFF
        i = (seed >> 8) % n
        seed = (1103515245 * seed + 12345) & 0x7FFFFFFF
        j = (seed >> 8) % n
        near = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % n] + spins[i, j - 1]
        energy = 2 * spins[i, j] * near
        seed = (1103515245 * seed + 12345) & 0x7FFFFFFF
        if energy <= 0 or seed < weights[energy] * 2147483648.0:
            spins[i, j] = -spins[i, j]
    total = 0
    for i in range(n):
        for j in range(n):
            total += spins[i, j]
    return total


def mersenne_twister(state, out):
    """Random bits of 32 (Matsumoto and Nishimura 1998)."""
    for i in range(624):
        y = (state[i] & 0x80000000) | (state[(i + 1) % 624] & 0x7FFFFFFF)
        state[i] = state[(i + 397) % 624] ^ (y >> 1)
        if y & 1:
            state[i] ^= 0x9908B0DF
    for i in range(len(out)):
        y = state[i % 624]
        y ^= y >> 11
        y ^= (y << 7) & 0x9D2C5680
        y ^= (y << 15) & 0xEFC60000
        y &= 0xFFFFFFFF
        out[i] = y ^ (y >> 18)


def verlet(x, v, mass, dt, steps):
    """Bodies under gravity by Verlet's steps (1967), softened; their energy."""
    n = len(x)
    a = np.zeros((n, 3))
    for step in range(steps + 1):
        if step > 0:
            for i in range(n):
                for d in range(3):
                    v[i, d] += 0.5 * dt * a[i, d]
                    x[i, d] += dt * v[i, d]
        for i in range(n):
            for d in range(3):
                a[i, d] = 0.0
            for j in range(n):
                if j != i:
                    dx = x[j, 0] - x[i, 0]
                    dy = x[j, 1] - x[i, 1]
                    dz = x[j, 2] - x[i, 2]
                    r2 = dx * dx + dy * dy + dz * dz + 0.01
                    w = mass[j] / (r2 * np.sqrt(r2))
                    a[i, 0] += w * dx
                    a[i, 1] += w * dy
                    a[i, 2] += w * dz
        if step > 0:
            for i in range(n):
                for d in range(3):
                    v[i, d] += 0.5 * dt * a[i, d]
    energy = 0.0
    for i in range(n):
        energy += 0.5 * mass[i] * (v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)
    return energy


def over_relaxation(u, f, omega, tolerance):
    """Poisson's equation by successive over-relaxation (Young 1950): how many sweeps."""
    n, m = u.shape
    for sweep in range(1000):
        change = 0.0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                own = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
                step = omega * (own - u[i, j])
                u[i, j] += step
                change = max(change, abs(step))
        if change < tolerance:
            return sweep + 1
    return 1000


def huffman_lengths(weights, lengths):
    """Lengths of codes (Huffman 1952) of ascending weights, by two queues (van Leeuwen 1976)."""
    n = len(weights)
    total = np.zeros(2 * n, np.int64)
    parent = np.zeros(2 * n, np.int64)
    for i in range(n):
        total[i] = weights[i]
    leaf = 0
    node = n
    for made in range(n, 2 * n - 1):
        for _ in range(2):
            if leaf < n and (node >= made or total[leaf] <= total[node]):
                child = leaf
                leaf += 1
            else:
                child = node
                node += 1
            total[made] += total[child]
            parent[child] = made
    depth = np.zeros(2 * n, np.int64)
    for k in range(2 * n - 3, -1, -1):
        depth[k] = depth[parent[k]] + 1
        if k < n:
            lengths[k] = depth[k]


def circles(x, y, radius, raster):
    """Circles on a raster (Bresenham 1977), cut at its borders."""
    n, m = raster.shape
    for k in range(len(x)):
        dx = radius[k]
        dy = 0
        error = 1 - dx
        while dx >= dy:
            for octant in range(8):
                u = dx if octant & 1 else dy
                v = dy if octant & 1 else dx
                i = y[k] + (v if octant & 2 else -v)
                j = x[k] + (u if octant & 4 else -u)
                if 0 <= i < n and 0 <= j < m:
                    raster[i, j] += 1
            dy += 1
            if error < 0:
                error += 2 * dy + 1
            else:
                dx -= 1
                error += 2 * (dy - dx) + 1


def miller_rabin(numbers):
    """How many numbers below 2**31 are prime (Rabin 1980; bases of Jaeschke 1993)."""
    count = 0
    for i in range(len(numbers)):
        n = numbers[i]
        if n < 2:
            continue
        prime = True
        for p in (2, 3, 5, 7):
            if n % p == 0:
                prime = n == p
                break
        else:
            d = n - 1
            s = 0
            while d % 2 == 0:
                d //= 2
                s += 1
            for base in (2, 3, 5, 7):
                x = 1
                b = base
                e = d
                while e > 0:
                    if e & 1:
                        x = x * b % n
                    b = b * b % n
                    e >>= 1
                if x == 1 or x == n - 1:
                    continue
                for _ in range(s - 1):
                    x = x * x % n
                    if x == n - 1:
                        break
                else:
                    prime = False
                    break
        if prime:
            count += 1
    return count


def _zeros(*shape):
    return np.zeros(shape, np.int64)


TEXTBOOK = {
    **GRAPHS,
    **PLANE,
    "huffman_lengths": Kernel(
        huffman_lengths, lambda d, n: (np.sort(d.integers(1, 10**6, n)), _zeros(n)), 20, 20_000
    ),
    "over_relaxation": Kernel(
        over_relaxation,
        lambda d, n: (d.normal(size=(n, n)), d.normal(size=(n, n)), 1.5, 1e-3),
        7,
        80,
    ),
    "verlet": Kernel(
        verlet,
        lambda d, n: (d.normal(size=(n, 3)), d.normal(size=(n, 3)), d.random(n), 0.01, 3),
        5,
        100,
    ),
    "z_function": Kernel(z_function, lambda d, n: (d.integers(0, 2, n), _zeros(n)), 20, 100_000),
    "inversions": Kernel(inversions, lambda d, n: (d.permutation(n),), 20, 20_000),
    "suffix_array": Kernel(suffix_array, lambda d, n: (d.integers(0, 4, n), _zeros(n)), 20, 10_000),
    "needleman_wunsch": Kernel(
        needleman_wunsch,
        lambda d, n: (d.integers(0, 4, n), d.integers(0, 4, n), _zeros(2 * n), _zeros(2 * n)),
        12,
        500,
    ),
    "lempel_ziv": Kernel(
        lempel_ziv, lambda d, n: (d.integers(0, 3, n), 200, _zeros(n), _zeros(n)), 30, 10_000
    ),
    "adler32": Kernel(adler32, lambda d, n: (d.integers(0, 256, n),), 30, 100_000),
    "marching_squares": Kernel(
        marching_squares,
        lambda d, n: (d.normal(size=(n, n)), 0.5, np.zeros((2 * n * n, 4))),
        6,
        150,
    ),
    "heap_permutations": Kernel(heap_permutations, lambda d, n: (np.arange(n),), 5, 9),
    "palindromes": Kernel(palindromes, lambda d, n: (d.integers(0, 2, n), _zeros(n)), 20, 100_000),
    "time_warping": Kernel(
        time_warping, lambda d, n: (d.normal(size=n), d.normal(size=n), 20), 30, 1000
    ),
    "ising": Kernel(
        ising,
        lambda d, n: (d.integers(0, 2, (n, n)) * 2 - 1, 7, 5, np.exp(-0.4 * np.arange(9.0))),
        6,
        60,
    ),
    "mersenne_twister": Kernel(
        mersenne_twister, lambda d, n: (d.integers(0, 2**32, 624), _zeros(n)), 30, 20_000
    ),
    "circles": Kernel(
        circles,
        lambda d, n: (*d.integers(0, 200, (2, n)), d.integers(1, 60, n), _zeros(200, 200)),
        3,
        500,
    ),
    "miller_rabin": Kernel(miller_rabin, lambda d, n: (d.integers(1, 2**31, n),), 30, 2000),
}
