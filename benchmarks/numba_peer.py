"""The workloads in Numba, each in the form that ran fastest there: explicit loops, fused by hand.

Loops that are worth two threads are `prange`; where threads keep sums of their own, each has a
piece of the elements. Matrix products are those of SciPy's OpenBLAS. Its threads and those of
`prange` do not go together in a function: each spin while they wait for work, and keep the others
from theirs. Elementary functions are those of `benchmarks.numba_math`. Numba has neither
derivatives nor a Fourier transform.
"""

import math

import numpy as np
from numba import njit, prange

from benchmarks import numba_arrays
from benchmarks.loop_programs import DECAY, MOST_STEPS, STEPS, TOLERANCE
from benchmarks.numba_arrays import softmax_row
from benchmarks.numba_math import CONTRACTED, exp32, f32, i32

ITERATED = 64  # points that are iterated until the last has left
EQUATIONS = 256  # equations that are solved until the last stands still


@njit
def product(a, b):
    return a @ b


@njit(**CONTRACTED, error_model="numpy")
def gelu(y):
    """y * (1 + tanh(u)) / 2, which is y - y / (e**2u + 1)."""
    u = f32(math.sqrt(2 / math.pi)) * (y + f32(0.044715) * y * y * y)
    return y - y / (exp32(f32(2) * u) + f32(1))


@njit(error_model="numpy")
def dense_gelu(x, w, b):
    y = x @ w
    for i in range(len(y)):
        for j in range(len(b)):
            y[i, j] = gelu(y[i, j] + b[j])
    return y


@njit
def dense(x, w, b, least):
    """A layer, and the largest of its numbers and `least`."""
    y = x @ w
    for i in range(len(y)):
        for j in range(len(b)):
            y[i, j] = max(y[i, j] + b[j], least)
    return y


@njit
def three_layers(w1, b1, w2, b2, w3, b3, x):
    x = dense(dense(x, w1, b1, f32(0)), w2, b2, f32(0))
    return dense(x, w3, b3, f32(-np.inf))


def mlp(params, x):
    (w1, b1), (w2, b2), (w3, b3) = params
    return three_layers(w1, b1, w2, b2, w3, b3, x)


@njit
def small_dense(x, w, b, least):
    n, m = len(x), len(b)
    y = np.empty((n, m), x.dtype)
    for i in range(n):
        y[i] = b
        for k in range(len(w)):
            for j in range(m):
                y[i, j] += x[i, k] * w[k, j]
        for j in range(m):
            y[i, j] = max(y[i, j], least)
    return y


@njit
def three_small_layers(w1, b1, w2, b2, w3, b3, x):
    x = small_dense(small_dense(x, w1, b1, f32(0)), w2, b2, f32(0))
    return small_dense(x, w3, b3, f32(-np.inf))


def mlp_small(params, x):
    (w1, b1), (w2, b2), (w3, b3) = params
    return three_small_layers(w1, b1, w2, b2, w3, b3, x)


@njit
def attention(query, key, value):
    batch, heads, length, width = query.shape
    out, scores = np.empty_like(query), np.empty((length, length), query.dtype)
    scale = f32(1 / math.sqrt(width))
    for b in range(batch):
        for h in range(heads):
            np.dot(query[b, h], key[b, h].T, scores)
            for i in range(length):
                softmax_row(scores[i], scores[i], scale)
            np.dot(scores, value[b, h], out[b, h])
    return out


@njit
def patches(x, columns):
    """The neighbourhoods of 3 x 3 of an image, a row for each channel and place in them."""
    _, height, width = x.shape
    for row in range(len(columns)):
        channel, up, left = row // 9, row // 3 % 3 - 1, row % 3 - 1
        for i in range(height):
            for j in range(width):
                inside = 0 <= i + up < height and 0 <= j + left < width
                columns[row, i * width + j] = x[channel, i + up, j + left] if inside else f32(0)


@njit
def conv2d(x, kernel):
    """The filters times the patches of each image."""
    n, channels, height, width = x.shape
    out = np.empty((n, len(kernel), height * width), x.dtype)
    columns = np.empty((channels * 9, height * width), x.dtype)
    filters = kernel.reshape(len(kernel), channels * 9)
    for image in range(n):
        patches(x[image], columns)
        np.dot(filters, columns, out[image])
    return out.reshape(n, len(kernel), height, width)


@njit(**CONTRACTED, error_model="numpy")
def lu(matrix):
    a = matrix.copy()
    n = len(a)
    for k in range(n):
        pivots = a[k, k + 1 :]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k] = factor
            own = a[i, k + 1 :]
            for j in range(own.size):
                own[j] -= factor * pivots[j]
    return a


@njit(parallel=True)
def floyd_warshall(lengths):
    d = lengths.copy()
    n = len(d)
    for k in range(n):
        onwards = d[k].copy()
        for i in prange(n):
            own = d[i]
            first = own[k]
            for j in range(n):
                through = first + onwards[j]
                own[j] = through if through < own[j] else own[j]
    return d


@njit
def nussinov(sequence):
    """The table is kept a second time, turned, so that both halves of a split are rows."""
    n = len(sequence)
    best, turned = np.zeros((n, n), sequence.dtype), np.zeros((n, n), sequence.dtype)
    for d in range(1, n):
        for i in range(n - d):
            j = i + d
            most = best[i + 1, j - 1] + (sequence[i] + sequence[j] == 3)
            left, right = best[i, i:j], turned[j, i + 1 : j + 1]
            for k in range(d):
                most = max(most, left[k] + right[k])
            best[i, j] = turned[j, i] = most
    return best


@njit(**CONTRACTED)
def moving_average(x):
    """One step after the other, as the scan says: blocks of steps round elsewhere, and overflow
    where the steps do not."""
    out, mean = np.empty_like(x), x[0]
    for i in range(x.size):
        mean = DECAY * mean + (1 - DECAY) * x[i]
        out[i] = mean
    return out


@njit(parallel=True, error_model="numpy")
def newton(a):
    """A block goes on until it stands still: others need not wait for it, nor it for them."""
    x = np.empty_like(a)
    for block in prange((a.size + EQUATIONS - 1) // EQUATIONS):
        place = slice(block * EQUATIONS, (block + 1) * EQUATIONS)
        right = a[place]
        own = right / 2
        moves = True
        while moves:
            moves = False
            for i in range(own.size):
                root = own[i]
                change = (root * (root * root + 1) - right[i]) / (3 * root * root + 1)
                own[i] = root - change
                moves |= abs(change) > TOLERANCE
        x[place] = own
    return x


@njit(parallel=True)
def stencil(u):
    n, m = u.shape
    here, there = u.copy(), u.copy()
    for _ in range(STEPS):
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                around = here[i - 1, j] + here[i + 1, j] + here[i, j - 1] + here[i, j + 1]
                there[i, j] = here[i, j] + f32(0.2) * (around - f32(4) * here[i, j])
        here, there = there, here
    return here


@njit(parallel=True)
def mandelbrot(real, imaginary):
    """Points of a row at a time, in vectors, until the last of them has left."""
    n, m = real.shape
    out = np.empty((n, m), np.int32)
    for i in prange(n):
        x, y = np.empty(ITERATED, np.float32), np.empty(ITERATED, np.float32)
        count = np.empty(ITERATED, np.int32)
        for start in range(0, m, ITERATED):
            place = slice(start, start + ITERATED)
            a, b = real[i, place], imaginary[i, place]
            x[:], y[:], count[:] = 0, 0, 0
            for _ in range(MOST_STEPS):
                some = i32(0)
                for j in range(ITERATED):
                    u, v = x[j], y[j]
                    inside = u * u + v * v < f32(4)
                    x[j] = u * u - v * v + a[j] if inside else u
                    y[j] = f32(2) * u * v + b[j] if inside else v
                    count[j] = i32(count[j] + i32(inside))
                    some |= i32(inside)
                if some == 0:
                    break
            out[i, place] = count
    return out


FUNCTIONS = {
    "elementwise": numba_arrays.elementwise,
    "small_expression": numba_arrays.small_expression,
    "small_call": numba_arrays.small_call,
    "ten_arguments": numba_arrays.ten_arguments,
    "tiny_chain": numba_arrays.tiny_chain,
    "black_scholes": numba_arrays.black_scholes,
    "softmax": numba_arrays.softmax,
    "logsumexp": numba_arrays.logsumexp,
    "layer_norm": numba_arrays.layer_norm,
    "row_statistics": numba_arrays.row_statistics,
    "column_statistics": numba_arrays.column_statistics,
    "transposed_add": numba_arrays.transposed_add,
    "stencil_step": numba_arrays.stencil_step,
    "nbody": numba_arrays.nbody,
    "cumulative_sum": numba_arrays.cumulative_sum,
    "gather": numba_arrays.gather,
    "scatter": numba_arrays.scatter,
    "histogram": numba_arrays.histogram,
    "sort": numba_arrays.sort,
    "kmeans_step": numba_arrays.kmeans_step,
    "matmul_float32": product,
    "matmul_float64": product,
    "dense_gelu": dense_gelu,
    "mlp": mlp,
    "mlp_small": mlp_small,
    "attention": attention,
    "conv2d": conv2d,
    "lu_numbers": lu,
    "lu_rows": lu,
    "floyd_warshall": floyd_warshall,
    "nussinov": nussinov,
    "moving_average": moving_average,
    "newton": newton,
    "stencil": stencil,
    "mandelbrot": mandelbrot,
}
