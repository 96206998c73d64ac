"""Which points are inside a polygon: those from which a ray crosses an odd number of edges."""

import numpy as np

import transpile


@transpile.jit
def inside(points, corners):
    x, y = points[:, 0, None], points[:, 1, None]
    x1, y1 = corners[:, 0], corners[:, 1]
    x2, y2 = np.roll(x1, -1), np.roll(y1, -1)
    crossed = ((y1 > y) != (y2 > y)) & (x < x1 + (y - y1) * (x2 - x1) / (y2 - y1))
    return crossed.sum(axis=1) % 2 == 1


def example():
    angles = np.linspace(0, 2 * np.pi, 11)[:-1]
    radii = np.where(np.arange(10) % 2, 0.4, 1.0)
    star = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)
    return np.random.default_rng(0).uniform(-1, 1, size=(400, 2)), star


if __name__ == "__main__":
    print(inside(*example()).mean() * 4)
