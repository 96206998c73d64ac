"""A low-pass filter with a finite impulse response: a windowed sinc, convolved with a signal."""

import numpy as np

import transpile


@transpile.jit
def low_pass(x, cutoff):
    k = np.arange(-16, 17)
    taps = 2 * cutoff * np.sinc(2 * cutoff * k) * np.hamming(33)
    return np.convolve(x, taps / taps.sum(), mode="same")


def example():
    return np.random.default_rng(0).normal(size=2000), 0.1


if __name__ == "__main__":
    x, cutoff = example()
    print(x.std(), low_pass(x, cutoff).std())
