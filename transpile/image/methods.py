"""How pictures are sampled: the methods of `jax.image`, and their kernels.

A kernel is a function of the distance to an element, of a radius: the triangle, the cubic
convolution of R. Keys (Cubic Convolution Interpolation for Digital Image Processing, 1981), with
a = -1/2 or, as PyTorch has it, -3/4, and the windowed sinc of C. Lanczos (K. Turkowski, Filters for
Common Resampling Tasks, 1990).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.numpy.core.promotion import error as located


class ResizeMethod(enum.Enum):
    """The methods of `resize` and `scale_and_translate`."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name, such as "linear" or "bilinear"; ValueError for another one."""
        if s not in _BY_NAME:
            raise located(ValueError, f'Unknown resize method "{s}"')
        return _BY_NAME[s]


_NAMES = {
    ResizeMethod.NEAREST: "nearest",
    ResizeMethod.LINEAR: "linear bilinear trilinear triangle",
    ResizeMethod.LANCZOS3: "lanczos3",
    ResizeMethod.LANCZOS5: "lanczos5",
    ResizeMethod.CUBIC: "cubic bicubic tricubic",
    ResizeMethod.CUBIC_PYTORCH: "cubic-pytorch bicubic-pytorch",
    ResizeMethod.AREA: "area",
}
_BY_NAME = {name: method for method, names in _NAMES.items() for name in names.split()}


def triangle(distance: Any) -> Any:
    """1 - |x|, of radius 1."""
    return np.maximum(0, 1 - distance)


def keys_cubic(a: float) -> Callable[[Any], Any]:
    """Keys' kernel of radius 2, whose slope at 1 is a."""

    def kernel(x: Any) -> Any:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return np.where(x >= 2, 0.0, np.where(x >= 1, far, near))

    return kernel


def lanczos(radius: int) -> Callable[[Any], Any]:
    """sinc(x) sinc(x / radius) up to the radius."""

    def kernel(x: Any) -> Any:
        waves = radius * np.sin(math.pi * x) * np.sin(math.pi * x / radius)
        inside = np.where(x > 1e-3, waves / np.where(x != 0, (math.pi * x) ** 2, 1), 1)
        return np.where(x > radius, 0.0, inside)

    return kernel


# The kernels by method; "area" weighs elements by what the sample overlaps of them, by no kernel.
KERNELS = {
    ResizeMethod.LINEAR: triangle,
    ResizeMethod.LANCZOS3: lanczos(3),
    ResizeMethod.LANCZOS5: lanczos(5),
    ResizeMethod.CUBIC: keys_cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: keys_cubic(-0.75),
    ResizeMethod.AREA: None,
}

RADII = {
    ResizeMethod.LANCZOS3: 3,
    ResizeMethod.LANCZOS5: 5,
    ResizeMethod.CUBIC: 2,
    ResizeMethod.CUBIC_PYTORCH: 2,
}
