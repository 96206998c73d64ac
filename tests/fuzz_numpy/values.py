"""Arguments: arrays of every dtype, with the numbers at which things go wrong, in every layout."""

from __future__ import annotations

import numpy as np

DTYPES = [np.dtype(c) for c in "?bBhHiIqQefdFD"]
# Dimensions, the frequent ones repeated; programs of more elements take NumPy's time, not ours.
SIDES = [0, 1, 1, 2, 2, 3, 3, 3, 4, 5, 8, 17, 33]
MOST_ELEMENTS = 2000
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0]


def argument(random, shapes):
    """An array; its shape is often one of, or broadcasts with, those drawn before."""
    dtype = DTYPES[random.integers(len(DTYPES))]
    shape = _shape(random, shapes)
    shapes.append(shape)
    return laid_out(random, np.asarray(numbers(random, dtype, shape)))


def _shape(random, shapes):
    if shapes and random.random() < 0.6:
        shape = shapes[random.integers(len(shapes))]
        if random.random() < 0.3:
            shape = tuple(1 if random.random() < 0.4 else d for d in shape)
        if random.random() < 0.3:
            shape = shape[random.integers(len(shape) + 1) :]
        return shape
    while True:
        rank = random.choice(4, p=[0.1, 0.35, 0.35, 0.2])
        shape = tuple(int(random.choice(SIDES)) for _ in range(rank))
        if np.prod(shape) <= MOST_ELEMENTS:
            return shape


def numbers(random, dtype, shape):
    """Numbers of a dtype, some of them equal, some special."""
    if dtype.kind == "b":
        return random.random(shape) < 0.5
    if dtype.kind in "iu":
        return _integers(random, dtype, shape)
    x = random.normal(size=shape) * random.choice([0.3, 1, 10])
    if random.random() < 0.5:  # numbers that are equal, and zeros of both signs
        x = np.round(x * 2) / 2
    if dtype.kind == "c":
        x = x + 1j * np.round(random.normal(size=shape) * 4) / 2
    x = np.asarray(x).astype(dtype)
    if random.random() < 0.4:
        _put_some(random, x, SPECIAL)
    return x


def _integers(random, dtype, shape):
    limits = np.iinfo(dtype)
    if random.random() < 0.15:
        return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    low = 0 if dtype.kind == "u" else -5
    x = np.asarray(random.integers(low, 10, shape)).astype(dtype)
    if random.random() < 0.2:
        _put_some(random, x, [limits.min, limits.max, limits.max - 1, 0])
    return x


def _put_some(random, x, numbers):
    for _ in range(random.integers(1, 4) if x.size else 0):
        place = np.unravel_index(random.integers(x.size), x.shape)
        x[place] = numbers[random.integers(len(numbers))]


def laid_out(random, x):
    """The same numbers, elsewhere in memory: by columns, backwards, with gaps, at odd addresses,
    with axes of stride 0, or read-only."""
    layout = random.random()
    if layout < 0.6 or not x.ndim:
        return x
    if layout < 0.7:
        return np.asfortranarray(x)
    if layout < 0.8:
        return np.repeat(x, 2, axis=-1)[..., ::2]
    if layout < 0.88:
        return np.flip(np.flip(x, 0).copy(), 0)
    if layout < 0.93:
        room = np.zeros(x.nbytes + 1, np.uint8)
        odd = np.ndarray(x.shape, x.dtype, room, offset=1)
        odd[...] = x
        return odd
    if layout < 0.97 and x.size:
        return np.broadcast_to(x[:1], x.shape)
    x.flags.writeable = False
    return x
