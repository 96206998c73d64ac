"""An image of another size, by bilinear interpolation."""

import numpy as np

import transpile


@transpile.jit
def halved_and_more(image):
    height, width = 90, 70
    y = np.linspace(0, image.shape[0] - 1, height)
    x = np.linspace(0, image.shape[1] - 1, width)
    top = np.minimum(y.astype(int), image.shape[0] - 2)
    left = np.minimum(x.astype(int), image.shape[1] - 2)
    down = (y - top)[:, None]
    across = x - left
    rows = image[top] * (1 - down) + image[top + 1] * down
    return rows[:, left] * (1 - across) + rows[:, left + 1] * across


def example():
    return (np.random.default_rng(0).uniform(size=(120, 160)),)


if __name__ == "__main__":
    print(halved_and_more(*example()).shape)
