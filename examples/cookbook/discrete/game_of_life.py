"""A generation of Conway's game of life; beyond the border nothing lives."""

import numpy as np

import transpile


@transpile.jit
def next_generation(alive):
    wide = np.pad(alive, 1).astype(np.int8)
    rows = wide[:-2] + wide[1:-1] + wide[2:]
    around = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] - alive
    return (around == 3) | (alive & (around == 2))


def example():
    return (np.random.default_rng(0).uniform(size=(48, 64)) < 0.3,)


if __name__ == "__main__":
    print(next_generation(*example()).sum(), "alive")
