"""Accelerations of bodies that attract each other."""

import numpy as np

import transpile


@transpile.jit
def accelerations(positions, masses):
    apart = positions[None, :, :] - positions[:, None, :]
    squares = (apart * apart).sum(axis=-1) + 1e-6
    return (apart * (masses / squares**1.5)[:, :, None]).sum(axis=1)


def example():
    random = np.random.default_rng(0)
    return random.normal(size=(100, 3)), random.uniform(1, 2, size=100)


if __name__ == "__main__":
    print(accelerations(*example())[0])
