"""A step of k-means: each point goes to the nearest centre, each centre to its points' mean."""

import numpy as np

import transpile


@transpile.jit
def moved(points, centres):
    squares = ((points[:, None] - centres) ** 2).sum(axis=-1)
    nearest = squares.argmin(axis=1)
    sums = np.zeros_like(centres)
    np.add.at(sums, nearest, points)
    counts = np.bincount(nearest, minlength=len(centres))
    return sums / np.maximum(counts, 1)[:, None]


def example():
    random = np.random.default_rng(0)
    return random.normal(size=(500, 2)), random.normal(size=(4, 2))


if __name__ == "__main__":
    points, centres = example()
    for _ in range(10):
        centres = moved(points, centres)
    print(centres)
