"""Reductions of columns walk memory in order."""

import numpy as np

from transpile import ShapeDtypeStruct


def columns(x):
    return np.mean(x, axis=0), np.std(x, axis=0)


ARGUMENTS = (ShapeDtypeStruct((2000, 300), "float64"),)
