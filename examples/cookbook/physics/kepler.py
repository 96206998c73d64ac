"""Kepler's equation, by Newton's method: where planets are on their ellipses."""

import numpy as np

import transpile


@transpile.jit
def eccentric_anomaly(mean, eccentricity):
    angle = mean + eccentricity * np.sin(mean)
    error = 1.0
    while error > 1e-12:
        step = (angle - eccentricity * np.sin(angle) - mean) / (1 - eccentricity * np.cos(angle))
        angle = angle - step
        error = np.abs(step).max()
    return angle


def example():
    return np.linspace(0, 2 * np.pi, 200), 0.4


if __name__ == "__main__":
    print(eccentric_anomaly(*example())[:3])
