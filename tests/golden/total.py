"""A long sum is a sum of block sums."""

import numpy as np

from transpile import ShapeDtypeStruct


def total(x):
    return np.sum(x)


ARGUMENTS = (ShapeDtypeStruct((10_000_000,), "float64"),)
