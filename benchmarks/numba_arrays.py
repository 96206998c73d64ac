"""The functions of `benchmarks.array_programs` in Numba; see `benchmarks.numba_peer`.

`RELAXED` functions may reorder their sums and assume that nothing is a NaN, without which LLVM
makes no vectors of sums and maxima of rows. Results stay within the tolerances of the cases. Sizes
that LLVM should know are constants, and divide those of the cases.
"""

import math

import numba
import numpy as np
from numba import njit, prange

from benchmarks.array_programs import BINS, CLUSTERS, SUMS, TINY_STEPS
from benchmarks.numba_math import exp32, exp64, f32, i32, log64, sin32, u32

RELAXED = {"parallel": True, "fastmath": True}

TILE = 16  # rows and columns that are transposed at a time
COLUMNS = 64  # columns whose statistics are kept at a time
LANES = 16  # points of k-means that are measured at a time
DIMENSIONS = 8  # of a point of k-means
DIGIT = 11  # bits that are sorted at a time


@njit
def piece(part, parts, n):
    """The first and the last of the elements that a thread works on."""
    size = (n + parts - 1) // parts
    return part * size, min((part + 1) * size, n)


@njit(parallel=True)
def elementwise(x, y):
    out = np.empty_like(x)
    for i in prange(x.size):
        out[i] = exp32(-x[i] * x[i]) * sin32(y[i]) + f32(0.5) * x[i]
    return out


@njit
def small_expression(x, y):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = exp32(-x[i] * x[i]) * sin32(y[i]) + f32(0.5) * x[i]
    return out


@njit
def small_call(x):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = x[i] * 2 + 1
    return out


@njit
def ten_arguments(a, b, c, d, e, f, g, h, i, j):
    out = np.empty_like(a)
    for k in range(a.size):
        out[k] = a[k] + b[k] + c[k] + d[k] + e[k] + f[k] + g[k] + h[k] + i[k] + j[k]
    return out


@njit
def tiny_chain(x):
    x = x.copy()
    for k in range(TINY_STEPS // 4):
        factor = f32(1 + k / TINY_STEPS)
        for i in range(x.size):
            x[i] = abs(sin32(x[i]) * factor - f32(0.5))
    return x


@njit
def distribution(x):
    t = 1 / (1 + 0.2316419 * abs(x))
    p = 1.781477937 + t * (-1.821255978 + t * 1.330274429)
    p = t * (0.319381530 + t * (-0.356563782 + t * p))
    upper = exp64(-x * x / 2) / math.sqrt(2 * math.pi) * p
    return upper if x < 0 else 1 - upper


@njit(parallel=True, error_model="numpy")
def black_scholes(spot, strike, years):
    rate, volatility = 0.03, 0.25
    call, put = np.empty_like(spot), np.empty_like(spot)
    for i in prange(spot.size):
        spread = volatility * math.sqrt(years[i])
        d1 = (log64(spot[i] / strike[i]) + (rate + volatility**2 / 2) * years[i]) / spread
        discounted = strike[i] * exp64(-rate * years[i])
        price = spot[i] * distribution(d1) - discounted * distribution(d1 - spread)
        call[i] = price
        put[i] = price - spot[i] + discounted
    return call, put


@njit(fastmath=True)
def softmax_row(x, out, scale):
    """Of the row times the scale; `out` may be the row."""
    largest, total = x[0], f32(0)
    for j in range(x.size):
        largest = max(largest, x[j])
    for j in range(x.size):
        e = exp32((x[j] - largest) * scale)
        out[j] = e
        total += e
    total = 1 / total
    for j in range(x.size):
        out[j] *= total


@njit(**RELAXED)
def softmax(x):
    out = np.empty_like(x)
    for i in prange(len(x)):
        softmax_row(x[i], out[i], f32(1))
    return out


@njit(**RELAXED)
def logsumexp(x):
    n, m = x.shape
    out = np.empty(n, x.dtype)
    for i in prange(n):
        largest, total = x[i, 0], f32(0)
        for j in range(m):
            largest = max(largest, x[i, j])
        for j in range(m):
            total += exp32(x[i, j] - largest)
        out[i] = math.log(total) + largest
    return out


@njit(**RELAXED)
def layer_norm(x, scale, shift):
    n, m = x.shape
    out = np.empty_like(x)
    for i in prange(n):
        total, squares = f32(0), f32(0)
        for j in range(m):
            total += x[i, j]
        mean = total / f32(m)
        for j in range(m):
            squares += (x[i, j] - mean) ** 2
        factor = 1 / math.sqrt(squares / f32(m) + f32(1e-5))
        for j in range(m):
            out[i, j] = (x[i, j] - mean) * factor * scale[j] + shift[j]
    return out


@njit(**RELAXED)
def row_statistics(x):
    n, m = x.shape
    mean, deviation, least, largest = np.empty((4, n), x.dtype)
    for i in prange(n):
        total, low, high, squares = f32(0), x[i, 0], x[i, 0], f32(0)
        for j in range(m):
            total += x[i, j]
            low = min(low, x[i, j])
            high = max(high, x[i, j])
        mean[i], least[i], largest[i] = total / f32(m), low, high
        for j in range(m):
            squares += (x[i, j] - mean[i]) ** 2
        deviation[i] = math.sqrt(squares / f32(m))
    return mean, deviation, least, largest


@njit(**RELAXED)
def column_statistics(x):
    """Each statistic in a loop of its own, which LLVM makes vectors of."""
    n, m = x.shape
    mean, deviation, least, largest = np.empty((4, m), x.dtype)
    for block in prange(m // COLUMNS):
        own = slice(block * COLUMNS, (block + 1) * COLUMNS)
        total, squares = np.zeros(COLUMNS, x.dtype), np.zeros(COLUMNS, x.dtype)
        low, high = x[0, own].copy(), x[0, own].copy()
        for i in range(n):
            row = x[i, own]
            for j in range(COLUMNS):
                total[j] += row[j]
            for j in range(COLUMNS):
                low[j] = min(low[j], row[j])
            for j in range(COLUMNS):
                high[j] = max(high[j], row[j])
        total /= f32(n)
        for i in range(n):
            row = x[i, own]
            for j in range(COLUMNS):
                squares[j] += (row[j] - total[j]) ** 2
        mean[own], least[own], largest[own] = total, low, high
        deviation[own] = np.sqrt(squares / f32(n))
    return mean, deviation, least, largest


@njit(parallel=True)
def transposed_add(x, y):
    n, m = x.shape
    out = np.empty_like(x)
    for block in prange(n // TILE):
        top = block * TILE
        turned = np.empty((TILE, TILE), x.dtype)
        for left in range(0, m, TILE):
            for j in range(TILE):
                for i in range(TILE):
                    turned[i, j] = y[left + j, top + i]
            for i in range(TILE):
                for j in range(TILE):
                    out[top + i, left + j] = x[top + i, left + j] + turned[i, j]
    return out


@njit(parallel=True)
def stencil_step(u):
    n, m = u.shape
    out = np.empty((n - 2, m - 2), u.dtype)
    for i in prange(n - 2):
        for j in range(m - 2):
            here = u[i + 1, j + 1]
            around = u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2]
            out[i, j] = here + f32(0.2) * (around - f32(4) * here)
    return out


@njit(**RELAXED)
def nbody(position, mass):
    n = len(mass)
    x, y, z = position[:, 0].copy(), position[:, 1].copy(), position[:, 2].copy()
    out = np.empty_like(position)
    for i in prange(n):
        ax, ay, az = f32(0), f32(0), f32(0)
        for j in range(n):
            dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
            distance = dx * dx + dy * dy + dz * dz + f32(1e-3)
            weight = mass[j] / (distance * math.sqrt(distance))
            ax += dx * weight
            ay += dy * weight
            az += dz * weight
        out[i, 0], out[i, 1], out[i, 2] = ax, ay, az
    return out


@njit(parallel=True)
def cumulative_sum(x):
    """The sums of all pieces but the last; then every piece from where the one before ends."""
    parts = numba.get_num_threads()
    starts, out = np.zeros(parts, x.dtype), np.empty_like(x)
    for part in prange(parts - 1):
        lanes = np.zeros(LANES, x.dtype)
        first, end = piece(part, parts, x.size)
        for i in range(first, end - LANES + 1, LANES):
            for k in range(LANES):
                lanes[k] += x[i + k]
        total = lanes.sum()
        for i in range(end - (end - first) % LANES, end):
            total += x[i]
        starts[part + 1] = total
    for part in range(1, parts):
        starts[part] += starts[part - 1]
    for part in prange(parts):
        total = starts[part]
        first, end = piece(part, parts, x.size)
        for i in range(first, end - 3, 4):
            two, later = x[i] + x[i + 1], x[i + 2]
            four = two + (later + x[i + 3])
            out[i] = total + x[i]
            out[i + 1] = total + two
            out[i + 2] = total + (two + later)
            total += four
            out[i + 3] = total
        for i in range(end - (end - first) % 4, end):
            total += x[i]
            out[i] = total
    return out


@njit(parallel=True)
def gather(table, index):
    out = np.empty(index.size, table.dtype)
    for i in prange(index.size):
        out[i] = table[index[i]]
    return out


@njit(parallel=True)
def scatter(values, index):
    parts = numba.get_num_threads()
    sums = np.zeros((parts, SUMS), values.dtype)
    for part in prange(parts):
        first, end = piece(part, parts, index.size)
        for i in range(first, end):
            sums[part, index[i]] += values[i]
    return sums.sum(axis=0)


@njit(parallel=True)
def histogram(x):
    parts = numba.get_num_threads()
    counts = np.zeros((parts, BINS), np.int64)
    for part in prange(parts):
        first, end = piece(part, parts, x.size)
        for i in range(first, end):
            if x[i] >= -4 and x[i] <= 4:
                counts[part, min(np.int64((x[i] + f32(4)) * f32(BINS / 8)), BINS - 1)] += 1
    return counts.sum(axis=0)


@njit(parallel=True)
def sort(x):
    """By digits from the last to the first, of integers in the order of the numbers."""
    parts, n, digits = numba.get_num_threads(), x.size, 1 << DIGIT
    bits, keys, other = x.view(np.uint32), np.empty(n, np.uint32), np.empty(n, np.uint32)
    places = np.empty((parts, digits), np.int64)
    mask, sign, everything = u32(digits - 1), u32(0x80000000), u32(0xFFFFFFFF)
    for i in prange(n):
        keys[i] = bits[i] ^ (everything if bits[i] & sign else sign)
    for shift in range(0, 32, DIGIT):
        for part in prange(parts):
            first, end = piece(part, parts, n)
            places[part] = 0
            for i in range(first, end):
                places[part, (keys[i] >> u32(shift)) & mask] += 1
        place = 0
        for digit in range(digits):
            for part in range(parts):
                count = places[part, digit]
                places[part, digit] = place
                place += count
        for part in prange(parts):
            first, end = piece(part, parts, n)
            for i in range(first, end):
                digit = (keys[i] >> u32(shift)) & mask
                other[places[part, digit]] = keys[i]
                places[part, digit] += 1
        keys, other = other, keys
    for i in prange(n):
        keys[i] ^= sign if keys[i] & sign else everything
    return keys.view(np.float32)


@njit(**RELAXED)
def kmeans_step(points, centres):
    parts, n = numba.get_num_threads(), len(points)
    sums = np.zeros((parts, CLUSTERS, DIMENSIONS), points.dtype)
    members = np.zeros((parts, CLUSTERS), points.dtype)
    for part in prange(parts):
        turned = np.empty((DIMENSIONS, LANES), points.dtype)
        least, nearest = np.empty(LANES, points.dtype), np.empty(LANES, np.int32)
        first, end = piece(part, parts, n)
        for start in range(first, end, LANES):
            number = min(LANES, end - start)
            for i in range(number):
                for d in range(DIMENSIONS):
                    turned[d, i] = points[start + i, d]
            least[:] = np.inf
            for c in range(CLUSTERS):
                for i in range(LANES):
                    square = f32(0)
                    for d in range(DIMENSIONS):
                        square += (turned[d, i] - centres[c, d]) ** 2
                    nearest[i] = i32(c) if square < least[i] else nearest[i]
                    least[i] = min(square, least[i])
            for i in range(number):
                members[part, nearest[i]] += 1
                for d in range(DIMENSIONS):
                    sums[part, nearest[i], d] += points[start + i, d]
    means, number = sums.sum(axis=0), members.sum(axis=0)
    for c in range(CLUSTERS):
        means[c] /= max(number[c], f32(1))
    return means
