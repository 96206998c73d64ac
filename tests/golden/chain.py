"""A chain of elementwise operations is one loop."""

import numpy as np

from transpile import ShapeDtypeStruct


def chain(x, y):
    return np.exp(-x * x) * np.sin(y) + 0.5 * x


ARGUMENTS = (ShapeDtypeStruct((1000,), "float64"), ShapeDtypeStruct((1000,), "float64"))
