"""The energy of a gas and the forces on its atoms: the energy's derivative."""

import numpy as np

import transpile


def energy(positions):
    apart = positions[:, None] - positions
    squares = (apart * apart).sum(axis=-1) + np.eye(len(positions))
    sixth = 1 / squares**3
    return 2 * ((sixth * sixth - sixth) * (1 - np.eye(len(positions)))).sum()


@transpile.jit
def energy_and_forces(positions):
    value, slope = transpile.value_and_grad(energy)(positions)
    return value, -slope


def example():
    grid = np.mgrid[:4, :4, :4].reshape(3, -1).T
    return (1.1 * grid + np.random.default_rng(0).normal(0, 0.05, size=grid.shape),)


if __name__ == "__main__":
    value, forces = energy_and_forces(*example())
    print(value, np.abs(forces).max())
