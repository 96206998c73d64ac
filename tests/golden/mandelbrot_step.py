"""Complex numbers."""

import numpy as np

from transpile import ShapeDtypeStruct


def mandelbrot_step(z, c):
    w = z * z + c
    return w, np.abs(w) < 2


ARGUMENTS = (ShapeDtypeStruct((1000,), "complex128"), ShapeDtypeStruct((1000,), "complex128"))
