"""Loops as one writes them in Python, over x and y: with iterations that meet, and without."""

import numpy as np


def apart(x, y):
    out = np.zeros((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            difference = x[i] - y[j]
            out[i, j] = np.exp(difference) if difference < 0 else difference
    return out


def sums_of_rows(x, y):
    out = np.zeros(len(x))
    for i in range(len(x)):
        total = 0.0
        for j in range(len(y)):
            if y[j] > x[i]:
                total += y[j] * x[i]
        out[i] = total
    return out


def prefixes(x, y):
    out = np.zeros((len(x), len(y) + 1))
    for i in range(len(x)):
        for j in range(len(y)):
            out[i, j + 1] = out[i, j] + x[i] * y[j]
    return out


def below_pivots(x, y):
    a = np.outer(x, y) + 9 * np.eye(len(x), len(y))
    for k in range(len(x) - 1):
        for i in range(k + 1, len(x)):
            a[i, k] /= a[k, k]
            for j in range(k + 1, len(y)):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def pairs(x, y):
    out = np.zeros(2 * len(x) + 1)
    for i in range(len(x)):
        out[2 * i] = x[i]
        out[2 * i + 1] = -x[i]
    return out


def iterated(x, y):
    out = np.zeros(len(x))
    for i in range(len(x)):
        z, steps = 0.0, 0
        while z < 2 and steps < 30:
            z = z * z + abs(x[i])
            steps += 1
        out[i] = steps
    return out


def chained(x, y):
    out = np.zeros(len(x))
    for i in range(1, len(x)):
        out[i] = out[i - 1] * 0.5 + x[i]
    return out


def swept(x, y):
    a = np.outer(x, y)
    for i in range(1, len(x) - 1):
        for j in range(1, len(y) - 1):
            a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4
    return a


def shifted_in_place(x, y):
    for i in range(len(x) - 1):
        x[i] = x[i + 1] + 1
    return x


def scattered(x, y):
    out = np.zeros(len(y))
    for i in range(len(x)):
        out[int(x[i] * x[i]) % 7] = y[i % 5]
    return out


def counted(x, y):
    out, n = np.zeros(len(x)), 0
    for i in range(len(x)):
        if x[i] > 0:
            out[n] = x[i]
            n += 1
    return out


def last_of(x, y):
    out = np.zeros(3)
    for i in range(len(x)):
        out[1] = x[i]
    return out


def tallied(x, y):
    out, n = np.zeros(len(x)), 0
    for i in range(len(x)):
        out[i] = x[i] * 2
        if x[i] > 0:
            n += 1
    return out, n


def tallied_in_order(x, y):
    out, total = np.zeros(len(x)), 0.0
    for i in range(len(x)):
        out[i] = x[i] * 2
        total += x[i]
    return out, total


def numbered(x, y):
    out, n = np.zeros(len(x)), 0
    for i in range(len(x)):
        n += x[i] > 0
        out[i] = n
    return out
