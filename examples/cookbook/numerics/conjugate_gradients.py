"""Poisson's equation on a square, by conjugate gradients and without a matrix."""

import numpy as np

import transpile


def laplacian(u):
    wide = np.pad(u, 1)
    return 4 * u - wide[:-2, 1:-1] - wide[2:, 1:-1] - wide[1:-1, :-2] - wide[1:-1, 2:]


@transpile.jit
def solution(charge):
    u = np.zeros_like(charge)
    residual = charge.copy()
    direction = residual.copy()
    size = (residual * residual).sum()
    while size > 1e-16:
        moved = laplacian(direction)
        step = size / (direction * moved).sum()
        u = u + step * direction
        residual = residual - step * moved
        before, size = size, (residual * residual).sum()
        direction = residual + size / before * direction
    return u


def example():
    charge = np.zeros((32, 32))
    charge[8, 8], charge[20, 24] = 1, -1
    return (charge,)


if __name__ == "__main__":
    print(solution(*example()).max())
