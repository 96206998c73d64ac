"""Distances on the earth between all pairs of places, in kilometres."""

import numpy as np

import transpile


@transpile.jit
def distances(latitude, longitude):
    y, x = np.radians(latitude), np.radians(longitude)
    half_y = np.sin((y[:, None] - y) / 2)
    half_x = np.sin((x[:, None] - x) / 2)
    chord = half_y**2 + np.cos(y)[:, None] * np.cos(y) * half_x**2
    return 2 * 6371 * np.arcsin(np.sqrt(chord))


def example():
    random = np.random.default_rng(0)
    return random.uniform(-90, 90, size=50), random.uniform(-180, 180, size=50)


if __name__ == "__main__":
    print(distances(*example()).max())
