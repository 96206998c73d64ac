"""An exponential moving average, which each value of it needs the one before for."""

import numpy as np

import transpile


@transpile.jit
def smoothed(x, weight):
    out = np.empty_like(x)
    mean = x[0]
    for k in range(len(x)):
        mean += weight * (x[k] - mean)
        out[k] = mean
    return out


def example():
    return np.random.default_rng(0).normal(size=1000), 0.1


if __name__ == "__main__":
    print(smoothed(*example())[-5:])
