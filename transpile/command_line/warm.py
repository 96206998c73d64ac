"""Compile ahead what programs share: large helpers, the pool of threads, the module for calls.

Each is compiled once on a machine, by the first program that needs it (`build/helper_objects.py`),
which waits for it. Here are programs that need all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from transpile import lax
from transpile.api import jit
from transpile.ir.types import ShapeDtypeStruct
from transpile.runtime import fast_call

_Shapes = tuple[tuple[int, ...], ...]


def product(x: Any, y: Any) -> Any:
    """Of matrices, or of a batch of small ones."""
    return x @ y


def layer(x: Any, w: Any) -> Any:
    """A dense layer: a product with an elementwise function behind it."""
    return np.tanh(x @ w)


def convolution(x: Any, w: Any) -> Any:
    """Of images."""
    return lax.conv(x, w, (1, 1), "SAME")


_VECTOR: _Shapes = ((100_000,),)
# Transforms that are made one after the other, and side by side.
_FEW: _Shapes = ((64, 1024),)
_MANY: _Shapes = ((1000, 64),)
# What is compiled for real numbers, and for complex ones; with the shapes of the arguments.
_REAL: tuple[tuple[Callable[..., Any], _Shapes], ...] = (
    (product, ((256, 256), (256, 256))),
    (product, ((64, 64, 64), (64, 64, 64))),
    (layer, ((512, 128), (128, 256))),
    (convolution, ((4, 16, 32, 32), (32, 16, 3, 3))),
    (np.sort, _VECTOR),
    (np.argsort, _VECTOR),
    (np.median, _VECTOR),
    (np.cumsum, ((1_000_000,),)),
    (np.fft.fft, _FEW),
    (np.fft.fft, _MANY),
)
_COMPLEX: tuple[tuple[Callable[..., Any], _Shapes], ...] = (
    (np.fft.fft, _FEW),
    (np.fft.fft, _MANY),
    (np.fft.irfft, ((64, 513),)),
    (np.fft.irfft, ((1000, 33),)),
)
_DTYPES = (
    ("float32", _REAL),
    ("float64", _REAL),
    ("complex64", _COMPLEX),
    ("complex128", _COMPLEX),
)


def compiled() -> Iterator[str]:
    """Compile them one by one; what is in the cache takes no time. Yields what each was."""
    fast_call.module()
    yield "calls"
    for dtype, programs in _DTYPES:
        for function, shapes in programs:
            specimens = [ShapeDtypeStruct(shape, dtype) for shape in shapes]
            jit(function).lower(*specimens).compile()
            yield f"{function.__name__} of {dtype}"
