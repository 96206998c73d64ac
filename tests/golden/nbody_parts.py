"""Sums over pairs, with coordinates in arrays of their own."""

import numpy as np

from transpile import ShapeDtypeStruct


def nbody_parts(x, y, z, m):
    dx = x[None, :] - x[:, None]
    dy = y[None, :] - y[:, None]
    dz = z[None, :] - z[:, None]
    r2 = dx * dx + dy * dy + dz * dz + 1e-3
    w = m[None, :] / (r2 * np.sqrt(r2))
    return np.sum(w * dx, axis=1), np.sum(w * dy, axis=1), np.sum(w * dz, axis=1)


ARGUMENTS = (ShapeDtypeStruct((500,), "float64"),) * 4
