"""Arguments of the sizes at which time is spent: tall, wide and square, small and large, by rows,
by columns and with gaps, of every dtype; their numbers are ordinary ones."""

import numpy as np

# What programs mostly compute with, the frequent ones repeated.
DTYPES = [np.dtype(c) for c in "?bBhHiIqQefdFD" + "fffdddddi" + "BF"]
# Elements of all of an argument: what a call costs, what a cache holds, what memory holds.
SIZES = (30, 300, 3_000, 30_000, 300_000, 1_000_000)
NARROW = (1, 2, 3, 4, 5, 8, 12, 16, 32)


def argument(random, shapes):
    """An array whose shape is often that of an earlier one, its transpose, a row or a column."""
    shape = _shape(random, shapes)
    shapes.append(shape)
    dtype = DTYPES[random.integers(len(DTYPES))]
    return _laid_out(random, _numbers(random, dtype, shape))


def _shape(random, shapes):
    if shapes and random.random() < 0.8:
        shape = shapes[0]
        return [shape, shape, shape[::-1], shape[-1:], shape[:1], (*shape[:-1], 1)][
            random.integers(6)
        ]
    size = int(SIZES[random.integers(len(SIZES))] * random.uniform(0.5, 1))
    narrow = int(NARROW[random.integers(len(NARROW))])
    side = max(int(size**0.5), 1)
    long = max(size // narrow, 1)
    cube = max(int((size / narrow) ** 0.5), 1)
    of = [(size,), (long, narrow), (narrow, long), (side, side), (cube, cube, narrow)]
    plane = max(int((size / (narrow * narrow)) ** 0.5), 1)
    of += [(narrow, cube, cube), (side, side), (size,), (narrow, narrow, plane, plane)]
    return of[random.integers(len(of))]


def _numbers(random, dtype, shape):
    if dtype.kind == "b":
        return random.random(shape) < 0.5
    if dtype.kind in "iu":
        return random.integers(0 if dtype.kind == "u" else -50, 100, shape).astype(dtype)
    x = random.normal(size=shape)
    return (x + 1j * random.normal(size=shape) if dtype.kind == "c" else x).astype(dtype)


def _laid_out(random, x):
    """The same numbers by columns, at every second place, in some columns of a wider array, or,
    most often, by rows."""
    layout = random.random()
    if layout < 0.65:
        return x
    if layout < 0.85:
        return np.asfortranarray(x)
    if layout < 0.93:
        return np.repeat(x, 2, axis=0)[::2]
    wide = np.zeros((*x.shape[:-1], x.shape[-1] + 3), x.dtype)
    wide[..., 1:-2] = x
    return wide[..., 1:-2]
