"""What the primitives over windows, and the convolution, are tried on: shapes and parameters."""

from __future__ import annotations

import numpy as np

from transpile.primitives.windows import taps_of


def windowed(window, strides=None, padding=None, base=None, apart=None):
    """The parameters of a primitive over windows, those left out being the usual ones."""
    one, none = (1,) * len(window), ((0, 0),) * len(window)
    return {
        "window_dimensions": window,
        "window_strides": strides or one,
        "padding": padding or none,
        "base_dilation": base or one,
        "window_dilation": apart or one,
    }


def convolved(rank, numbers=None, strides=None, padding=None, base=None, apart=None, groups=(1, 1)):
    """The parameters of a convolution."""
    plain, one = tuple(range(rank + 2)), (1,) * rank
    return {
        "window_strides": strides or one,
        "padding": padding or ((0, 0),) * rank,
        "lhs_dilation": base or one,
        "rhs_dilation": apart or one,
        "dimension_numbers": numbers or (plain, plain, plain),
        "feature_group_count": groups[0],
        "batch_group_count": groups[1],
    }


LAST = ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))  # NHWC, HWIO, NHWC
MIXED = ((1, 0, 2), (2, 1, 0), (0, 2, 1))

WINDOWS = [
    ((7,), windowed((3,))),
    ((7,), windowed((3,), (2,), ((1, 1),))),
    ((7,), windowed((2,), (3,), ((2, -1),))),
    ((7,), windowed((2,), (2,), ((0, 1),), (2,))),
    ((7,), windowed((3,), (1,), ((1, 2),), (2,), (2,))),
    ((5,), windowed((2,), (1,), ((1, 0),), (3,), (2,))),
    ((4, 3), windowed((2, 2), (1, 1), ((1, 0), (0, 1)))),
    ((4, 3), windowed((2, 3), (2, 1), ((0, 0), (1, 1)), (1, 2), (2, 1))),
    ((2, 3, 4), windowed((1, 3, 2), (1, 1, 2), ((0, 0), (1, 1), (0, 0)))),
    ((6, 6), windowed((3, 3), (2, 2), ((0, 1), (1, 0)))),
    ((5,), windowed((9,), (1,), ((4, 4),))),
    ((12, 9), windowed((9, 8), (1, 1), ((4, 4), (0, 0)))),
    ((7,), windowed((8,))),
    ((0, 3), windowed((1, 2))),
    ((), windowed(())),
]
VIEWS = [
    ((7,), {"window_dimensions": (3,), "window_strides": (2,), "window_dilation": (1,)}),
    ((4, 3), {"window_dimensions": (2, 1), "window_strides": (1, 2), "window_dilation": (2, 1)}),
    ((2,), {"window_dimensions": (3,), "window_strides": (1,), "window_dilation": (1,)}),
]
CONVOLUTIONS = [
    ((1, 2, 7), (3, 2, 3), convolved(1)),
    ((2, 1, 6), (1, 1, 3), convolved(1, None, (2,), ((1, 2),))),
    ((2, 3, 6), (3, 2, 5), convolved(1, MIXED, (1,), ((2, 1),), (2,), (1,))),
    ((1, 2, 5), (2, 2, 2), convolved(1, None, (2,), ((1, 2),), (3,), (2,))),
    ((1, 4, 5), (4, 2, 2), convolved(1, None, (1,), ((-1, 2),), (1,), (1,), (2, 1))),
    ((4, 1, 5), (4, 1, 2), convolved(1, None, (1,), ((1, 0),), (1,), (2,), (1, 2))),
    ((1, 3, 4), (3, 1, 3), convolved(1, None, (1,), ((1, 1),), (2,), (1,), (3, 1))),
    ((1, 2, 4, 3), (2, 2, 2, 2), convolved(2, None, (1, 2), ((1, 0), (0, 1)))),
    ((1, 4, 3, 2), (2, 2, 2, 3), convolved(2, LAST, (1, 1), ((1, 1), (0, 0)), (1, 2))),
    ((1, 1, 2, 2, 3), (2, 1, 1, 2, 2), convolved(3)),
    ((1, 1, 2, 1, 2, 2), (1, 1, 2, 1, 1, 2), convolved(4)),
    ((2, 3), (4, 3), convolved(0)),
    ((1, 2, 3), (3, 2, 5), convolved(1)),
    ((0, 2, 5), (3, 2, 3), convolved(1)),
    ((1, 0, 5), (3, 0, 3), convolved(1)),
]
# Those that runtime_c/products/conv.h is worth calling for.
LARGE_CONVOLUTIONS = [
    ((2, 4, 9, 8), (17, 4, 3, 3), convolved(2, None, (1, 1), ((1, 1), (1, 1)))),
    ((2, 9, 8, 4), (3, 3, 4, 17), convolved(2, LAST, (1, 1), ((1, 1), (1, 1)))),
    ((2, 9, 8, 4), (3, 3, 2, 34), convolved(2, LAST, (2, 1), ((0, 0), (0, 0)), None, None, (2, 1))),
    ((2, 4, 13, 12), (8, 4, 3, 3), convolved(2, None, (2, 2), ((1, 1), (0, 1)))),
    ((2, 4, 9, 8), (8, 4, 3, 3), convolved(2, None, (1, 1), ((2, 1), (1, 1)), (2, 2))),
    ((4, 4, 9, 8), (8, 4, 3, 3), convolved(2, None, None, ((1, 1), (-1, 1)), None, (1, 2), (1, 2))),
    ((2, 3, 5, 6, 7), (8, 3, 2, 3, 3), convolved(3, None, (1, 2, 1), ((1, 0), (1, 1), (1, 1)))),
    ((3, 2, 70), (9, 2, 31), convolved(1, None, (1,), ((15, 15),))),
]


def window_cases(primitive, large=False):
    """(shapes of the operands, parameters) for a primitive over windows, or for the convolution."""
    if primitive.name == "windows":
        return [([shape], params) for shape, params in VIEWS]
    if primitive.kind == "convolve":
        every = CONVOLUTIONS + (LARGE_CONVOLUTIONS if large else [])
        return [([x, w], params) for x, w, params in every]
    windows = (
        WINDOWS if large or primitive.name == "reduce_window_sum" else [*filter(has_taps, WINDOWS)]
    )
    if not primitive.name.startswith("select_and"):
        return [([shape], params) for shape, params in windows]
    found = []
    for number, (shape, params) in enumerate(windows):
        chosen = {"select": ("ge", "le")[number % 2], **params}
        if primitive.name == "select_and_gather_add":
            found.append(([shape, shape], chosen))
        else:
            found.append(([counts(shape, params), shape], chosen))
    return found


def has_taps(case):
    """True if no window of a case sees padding only, of which no extreme is a number."""
    shape, params = case
    return bool(np.all(taps_of(np.ones(shape), 0, **params).any(axis=-1)))


def counts(shape, params):
    """How many windows there are along each axis."""
    found = []
    for axis, size in enumerate(shape):
        base, apart = params["base_dilation"][axis], params["window_dilation"][axis]
        wide = max(0, (size - 1) * base + 1) + sum(params["padding"][axis])
        reach = (params["window_dimensions"][axis] - 1) * apart + 1
        steps = (wide - reach) // params["window_strides"][axis] + 1
        found.append(steps if wide >= reach else 0)
    return tuple(found)
