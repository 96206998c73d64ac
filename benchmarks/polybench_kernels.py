"""Kernels of PolyBench/C 4.2 (L.-N. Pouchet and T. Yuki, 2016) as loops of Python, written from
their definitions: linear algebra, statistics, stencils."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.python_kernels import Kernel


def atax(a, x):
    """A.T @ (A @ x), a row at a time."""
    y = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        t = 0.0
        for j in range(a.shape[1]):
            t += a[i, j] * x[j]
        for j in range(a.shape[1]):
            y[j] += a[i, j] * t
    return y


def bicg(a, p, r):
    """A.T @ r and A @ p."""
    s = np.zeros(a.shape[1])
    q = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s[j] += r[i] * a[i, j]
            q[i] += a[i, j] * p[j]
    return s, q


def gemver(a, u, v, w, z, x, y, out):
    """An update of rank two, and products with the result and its transpose."""
    n = len(u)
    for i in range(n):
        for j in range(n):
            a[i, j] += u[i] * v[j] + w[i] * z[j]
    for i in range(n):
        for j in range(n):
            x[i] += 1.2 * a[j, i] * y[j]
    for i in range(n):
        for j in range(n):
            out[i] += 1.5 * a[i, j] * x[j]


def gesummv(a, b, x):
    """The sum of two products of a matrix with a vector."""
    y = np.zeros(len(x))
    for i in range(len(x)):
        t = 0.0
        s = 0.0
        for j in range(len(x)):
            t += a[i, j] * x[j]
            s += b[i, j] * x[j]
        y[i] = 1.5 * t + 1.2 * s
    return y


def symm(c, a, b):
    """A product with a symmetric matrix, of which one triangle is read."""
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            t = 0.0
            for k in range(i):
                c[k, j] += 1.5 * b[i, j] * a[i, k]
                t += b[k, j] * a[i, k]
            c[i, j] = 1.2 * c[i, j] + 1.5 * b[i, j] * a[i, i] + 1.5 * t


def syrk(c, a):
    """The lower triangle of a product with the transpose."""
    for i in range(c.shape[0]):
        for j in range(i + 1):
            c[i, j] *= 1.2
        for k in range(a.shape[1]):
            for j in range(i + 1):
                c[i, j] += 1.5 * a[i, k] * a[j, k]


def trmm(a, b):
    """A product with a triangular matrix, in place."""
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            for k in range(i + 1, b.shape[0]):
                b[i, j] += a[k, i] * b[k, j]
            b[i, j] *= 1.5


def doitgen(a, c):
    """Products of the rows of a stack with a matrix, in place."""
    t = np.zeros(len(c))
    for r in range(a.shape[0]):
        for q in range(a.shape[1]):
            for p in range(len(c)):
                t[p] = 0.0
                for s in range(len(c)):
                    t[p] += a[r, q, s] * c[s, p]
            for p in range(len(c)):
                a[r, q, p] = t[p]


def cholesky_by_rows(a):
    for i in range(len(a)):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = math.sqrt(a[i, i])


def lu_solve(a, b):
    """Doolittle's factors in place, and the solution."""
    n = len(b)
    x = np.zeros(n)
    y = np.zeros(n)
    for i in range(n):
        for j in range(i):
            w = a[i, j]
            for k in range(j):
                w -= a[i, k] * a[k, j]
            a[i, j] = w / a[j, j]
        for j in range(i, n):
            w = a[i, j]
            for k in range(i):
                w -= a[i, k] * a[k, j]
            a[i, j] = w
    for i in range(n):
        w = b[i]
        for j in range(i):
            w -= a[i, j] * y[j]
        y[i] = w
    for i in range(n - 1, -1, -1):
        w = y[i]
        for j in range(i + 1, n):
            w -= a[i, j] * x[j]
        x[i] = w / a[i, i]
    return x


def trisolv(lower, b):
    """Forward substitution."""
    x = np.zeros(len(b))
    for i in range(len(b)):
        x[i] = b[i]
        for j in range(i):
            x[i] -= lower[i, j] * x[j]
        x[i] /= lower[i, i]
    return x


def durbin(r):
    """The Yule-Walker equations of a symmetric Toeplitz matrix."""
    n = len(r)
    y = np.zeros(n)
    z = np.zeros(n)
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, n):
        beta *= 1 - alpha * alpha
        s = 0.0
        for i in range(k):
            s += r[k - i - 1] * y[i]
        alpha = -(r[k] + s) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha
    return y


def gramschmidt(a):
    """Orthonormal columns and the triangle, by the modified method."""
    q = np.zeros(a.shape)
    r = np.zeros((a.shape[1], a.shape[1]))
    for k in range(a.shape[1]):
        norm = 0.0
        for i in range(a.shape[0]):
            norm += a[i, k] * a[i, k]
        r[k, k] = math.sqrt(norm)
        for i in range(a.shape[0]):
            q[i, k] = a[i, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            for i in range(a.shape[0]):
                r[k, j] += q[i, k] * a[i, j]
            for i in range(a.shape[0]):
                a[i, j] -= q[i, k] * r[k, j]
    return q, r


def covariance(data):
    rows, columns = data.shape
    mean = np.zeros(columns)
    out = np.zeros((columns, columns))
    for j in range(columns):
        for i in range(rows):
            mean[j] += data[i, j]
        mean[j] /= rows
    for i in range(rows):
        for j in range(columns):
            data[i, j] -= mean[j]
    for i in range(columns):
        for j in range(i, columns):
            for k in range(rows):
                out[i, j] += data[k, i] * data[k, j]
            out[i, j] /= rows - 1.0
            out[j, i] = out[i, j]
    return out


def fdtd(ex, ey, hz, source):
    """Maxwell's equations in the plane, by Yee's scheme."""
    rows, columns = ex.shape
    for t in range(len(source)):
        for j in range(columns):
            ey[0, j] = source[t]
        for i in range(1, rows):
            for j in range(columns):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(rows):
            for j in range(1, columns):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(rows - 1):
            for j in range(columns - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


def seidel(a, steps):
    """Sweeps of means over nine points, in place."""
    for _ in range(steps):
        for i in range(1, len(a) - 1):
            for j in range(1, len(a) - 1):
                above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                own = a[i, j - 1] + a[i, j] + a[i, j + 1]
                below = a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                a[i, j] = (above + own + below) / 9.0


def _definite(draw, n):
    a = draw.random((n, n))
    return a @ a.T + n * np.eye(n)


def _dense(*shapes):
    """Arguments of these shapes, functions of the size."""
    return lambda draw, n: tuple(draw.random(shape(n)) for shape in shapes)


def _square(n):
    return (n, n)


def _wide(n):
    return (n, n + 10)


def _tall(n):
    return (n + 10, n)


def _row(n):
    return (n,)


POLYBENCH = {
    "atax": Kernel(atax, lambda d, n: (d.random((n, n + 20)), d.random(n + 20)), 18, 390),
    "bicg": Kernel(
        bicg, lambda d, n: (d.random((n + 9, n)), d.random(n), d.random(n + 9)), 18, 390
    ),
    "gemver": Kernel(gemver, _dense(_square, *[_row] * 7), 18, 300),
    "gesummv": Kernel(gesummv, _dense(_square, _square, _row), 18, 400),
    "symm": Kernel(symm, _dense(_wide, _square, _wide), 18, 120),
    "syrk": Kernel(syrk, _dense(_square, _wide), 18, 150),
    "trmm": Kernel(trmm, _dense(_square, _wide), 18, 120),
    "doitgen": Kernel(doitgen, lambda d, n: (d.random((n, n + 2, 30)), d.random((30, 30))), 4, 20),
    "cholesky_by_rows": Kernel(cholesky_by_rows, lambda d, n: (_definite(d, n),), 18, 150),
    "lu_solve": Kernel(lu_solve, lambda d, n: (_definite(d, n), d.random(n)), 18, 120),
    "trisolv": Kernel(trisolv, lambda d, n: (_definite(d, n), d.random(n)), 18, 400),
    "durbin": Kernel(durbin, lambda d, n: (d.random(n) / n,), 18, 400),
    "gramschmidt": Kernel(gramschmidt, _dense(_tall), 18, 80),
    "covariance": Kernel(covariance, _dense(_tall), 18, 110),
    "fdtd": Kernel(fdtd, _dense(_wide, _wide, _wide, lambda n: (20,)), 18, 100),
    "seidel": Kernel(seidel, lambda d, n: (d.random((n, n)), 10), 18, 120),
}
