"""Heat in a plate, by explicit steps in place; the border keeps its temperature."""

import numpy as np

import transpile


@transpile.jit
def heated(plate, rate):
    for _ in transpile.no_unroll(range(100)):
        inside = plate[1:-1, 1:-1]
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        plate[1:-1, 1:-1] = inside + rate * (around - 4 * inside)
    return plate.mean()


def example():
    plate = np.zeros((64, 64))
    plate[0] = 100
    return plate, 0.2


if __name__ == "__main__":
    print(heated(*example()))
