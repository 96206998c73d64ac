"""A tridiagonal system of equations, by elimination in one pass there and one back."""

import numpy as np

import transpile


@transpile.jit
def solved(below, diagonal, above, right):
    n = len(diagonal)
    c = np.zeros(n)
    x = np.zeros(n)
    c[0] = above[0] / diagonal[0]
    x[0] = right[0] / diagonal[0]
    for k in range(1, n):
        pivot = diagonal[k] - below[k] * c[k - 1]
        c[k] = above[k] / pivot
        x[k] = (right[k] - below[k] * x[k - 1]) / pivot
    for k in range(n - 2, -1, -1):
        x[k] -= c[k] * x[k + 1]
    return x


def example():
    random = np.random.default_rng(0)
    below, above, right = random.uniform(size=(3, 300))
    return below, np.full(300, 3.0), above, right


if __name__ == "__main__":
    print(solved(*example())[:4])
