"""The power spectrum of a signal, by Welch: the mean of windows that overlap by half."""

import numpy as np

import transpile


@transpile.jit
def power_spectrum(x):
    length = 256
    starts = np.arange(0, len(x) - length + 1, length // 2)
    windows = x[starts[:, None] + np.arange(length)] * np.hanning(length)
    return (np.abs(np.fft.rfft(windows)) ** 2).mean(axis=0)


def example():
    time = np.arange(4096) / 1000
    noise = np.random.default_rng(0).normal(size=time.size)
    return (np.sin(2 * np.pi * 125 * time) + noise,)


if __name__ == "__main__":
    print(power_spectrum(*example()).argmax() * 1000 / 256, "Hz")
