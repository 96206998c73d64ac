"""Division, remainder and shifts of integers, as Python has them."""

import numpy as np

from transpile import ShapeDtypeStruct


def integers(a, b):
    return (a + b) // 3, (a * b) % 7, (a << 2) ^ (b >> 1), np.abs(a) & 255


ARGUMENTS = (ShapeDtypeStruct((1000,), "int32"), ShapeDtypeStruct((1000,), "int32"))
