"""Choices are expressions."""

import numpy as np

from transpile import ShapeDtypeStruct


def clipped(x, low):
    return np.where(x < low, 0, np.clip(x, -1, 1))


ARGUMENTS = (ShapeDtypeStruct((1000,), "float64"), ShapeDtypeStruct((1000,), "float64"))
