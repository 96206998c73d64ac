"""A concatenation is written part by part."""

import numpy as np

from transpile import ShapeDtypeStruct


def joined(x, y):
    return np.concatenate([x, 2 * y, x + y])


ARGUMENTS = (ShapeDtypeStruct((100,), "float64"), ShapeDtypeStruct((100,), "float64"))
