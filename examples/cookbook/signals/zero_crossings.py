"""The pitch of a tone from its upward zero crossings, between which samples are interpolated."""

import numpy as np

import transpile


@transpile.jit
def pitch(x, rate):
    first, last, count = 0.0, 0.0, 0
    for k in range(len(x) - 1):
        if x[k] < 0 and x[k + 1] >= 0:
            last = k + x[k] / (x[k] - x[k + 1])
            if count == 0:
                first = last
            count += 1
    return rate * (count - 1) / (last - first) if count > 1 else 0.0


def example():
    return np.sin(2 * np.pi * 441.5 * np.arange(8000) / 8000 + 0.3), 8000.0


if __name__ == "__main__":
    print(pitch(*example()), "Hz")
