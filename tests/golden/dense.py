"""A layer: product, bias and rectifier, a block of rows at a time."""

import numpy as np

from transpile import ShapeDtypeStruct


def dense(x, w, b):
    return np.maximum(x @ w + b, 0)


ARGUMENTS = (
    ShapeDtypeStruct((64, 128), "float64"),
    ShapeDtypeStruct((128, 32), "float64"),
    ShapeDtypeStruct((32,), "float64"),
)
