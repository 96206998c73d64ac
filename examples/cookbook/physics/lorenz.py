"""A path of the Lorenz attractor, by the method of Runge and Kutta of order four."""

import numpy as np

import transpile


def flow(state):
    x, y, z = state
    return np.array([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])


@transpile.jit
def path(state, dt):
    out = np.zeros((500, 3))
    for k in range(500):
        out[k] = state
        a = flow(state)
        b = flow(state + 0.5 * dt * a)
        c = flow(state + 0.5 * dt * b)
        d = flow(state + dt * c)
        state = state + dt / 6 * (a + 2 * b + 2 * c + d)
    return out


def example():
    return np.array([1.0, 1.0, 1.0]), 0.005


if __name__ == "__main__":
    print(path(*example())[-1])
