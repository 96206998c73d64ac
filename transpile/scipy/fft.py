"""`scipy.fft` for traced functions: the cosine transforms of `jax.scipy.fft`, of SciPy's types 1 to
4, where JAX has type 2 alone.

Each is one Fourier transform and elementwise work: of N/2 + 1 complex numbers for types 2 and 3 (J.
Makhoul, A Fast Cosine Transform in One and Two Dimensions, 1980), of N/2 for type 4 of an even N.
Complex arrays are transformed part by part. Integers become float64.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.indices.requirements import is_at_most, require
from transpile.ir.types import kind_letter
from transpile.lax.operators.binary import complex as complex_of
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import offset_of
from transpile.numpy.subscripts.at import at
from transpile.scipy.sized_arrays import arange, zeros
from transpile.scipy.special.operands import Array, promoted, public

__all__ = ["dct", "dctn", "idct", "idctn"]

# The type of the inverse of each type, but for the scale.
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
_NORMS = (None, "backward", "ortho", "forward")


@public
def dct(
    x: Array, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    """The discrete cosine transform along an axis.

    type  1 to 4; for 2 the sums 2 x_j cos(pi k (2 j + 1) / (2 n)) over j
    n     the length, to which the array is padded with zeros or shortened
    norm  "backward" (the same as None) for these sums, "forward" for them divided by 2 n, "ortho"
          for an orthogonal transform; JAX does not have "forward"

    Raises NotImplementedError for another type, ValueError for another norm, and for less than 2
    elements of type 1.
    """
    return _transformed("dct", x, type, n, axis, norm, is_inverse=False)


@public
def idct(
    x: Array, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    """The inverse of the discrete cosine transform of that type and norm along an axis; arguments
    and errors are those of `dct`."""
    return _transformed("idct", x, type, n, axis, norm, is_inverse=True)


@public
def dctn(
    x: Array,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """The discrete cosine transform along several axes, all by default, or the last `len(s)`.

    s  the lengths, to which the array is padded with zeros or shortened

    Other arguments and errors are those of `dct`. Raises ValueError for more lengths than axes.
    """
    return _along_axes("dctn", dct, x, type, s, axes, norm)


@public
def idctn(
    x: Array,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """The inverse of `dctn` of that type and norm; arguments and errors are those of `dctn`."""
    return _along_axes("idctn", idct, x, type, s, axes, norm)


def _along_axes(
    name: str,
    transform: Callable[..., Any],
    x: Array,
    type: int,
    s: Any,
    axes: Any,
    norm: str | None,
) -> Any:
    (value,) = promoted(name, x)
    ndim = np.ndim(value)
    lengths = None if s is None else [offset_of(n) for n in (s if np.iterable(s) else [s])]
    if lengths is not None and len(lengths) > ndim:
        raise located(
            ValueError, f"s must have at most x.ndim ({ndim}) elements, got {len(lengths)}"
        )
    if axes is None:
        chosen = list(range(0 if lengths is None else ndim - len(lengths), ndim))
    else:
        chosen = [operator.index(a) for a in np.atleast_1d(axes)]
    if lengths is not None and len(lengths) != len(chosen):
        raise located(
            ValueError, "when given, axes and shape arguments have to be of the same length"
        )
    for k, axis in enumerate(chosen):
        n = None if lengths is None else lengths[k]
        value = transform(value, type, n, axis, norm)
    return value


def _transformed(
    name: str, x: Array, type: int, n: int | None, axis: int, norm: str | None, is_inverse: bool
) -> Any:
    if type not in _INVERSE:
        raise located(NotImplementedError, f"Only DCT types 1 to 4 are implemented, got {type}.")
    if norm not in _NORMS:
        raise located(ValueError, f"scipy.fft.{name}: norm={norm!r} is not implemented")
    (value,) = promoted(name, x)
    if kind_letter(value.dtype) == "c":
        parts = (_transformed(name, p, type, n, axis, norm, is_inverse) for p in _parts(value))
        return complex_of(*parts)
    rows = np.moveaxis(value, axis, -1)
    if n is not None:
        rows = _of_length(rows, n)
    size = rows.shape[-1]
    least = 2 if type == 1 else 1
    text = f"invalid number of data points ({size}) specified"
    if isinstance(size, Dim):
        require(least, size, f"a cosine transform of type {type}", text)
    elif size < least:
        raise located(ValueError, text)
    kind = _INVERSE[type] if is_inverse else type
    result = _scaled(_TRANSFORMS[kind], rows, kind, norm, is_inverse)
    return np.moveaxis(result, -1, axis)


def _parts(x: Any) -> tuple[Any, Any]:
    return np.real(x), np.imag(x)


def _of_length(rows: Any, n: int) -> Any:
    """The rows, shortened or with zeros behind them."""
    if not is_at_most(rows.shape[-1], n):
        rows = rows[..., :n]
    missing = n - rows.shape[-1]
    return rows if missing == 0 else np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, missing)])


def _scaled(
    transform: Callable[[Any], Any], rows: Any, kind: int, norm: str | None, is_inverse: bool
) -> Any:
    """The transform under a norm: the forward one is divided for "forward", the inverse one for
    "backward"."""
    size = rows.shape[-1]
    whole = 2 * (size - 1) if kind == 1 else 2 * size
    if norm == "ortho":
        before, after = _ends(kind, size, rows.dtype)
        return transform(rows * before if before is not None else rows) * after
    divides = is_inverse != (norm == "forward")
    result = transform(rows)
    return (result / whole).astype(rows.dtype) if divides else result


def _ends(kind: int, size: int, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """What the operand and the result of a sum are multiplied with to make it orthogonal."""
    whole = 2 * (size - 1) if kind == 1 else 2 * size
    place = arange(size)
    at_start = np.equal(place, 0)
    at_ends = at_start | np.equal(place, size - 1)
    scale = np.sqrt(1 / whole)
    after = scale * np.where(
        {1: at_ends, 2: at_start}.get(kind, False), math.sqrt(0.5), np.ones(())
    )
    after = (after + 0 * place).astype(dtype)
    if kind in (2, 4):
        return None, after
    return np.where(at_ends if kind == 1 else at_start, math.sqrt(2), 1.0).astype(dtype), after


# ----------------------------------------------------------------------------------- the transforms


def _turns(numbers: Any, of: int, dtype: np.dtype[Any]) -> Any:
    """exp(-i pi k / of) for each number k, in the complex dtype of a real one."""
    return np.exp(-1j * math.pi / of * numbers).astype(np.result_type(dtype, np.complex64))


def _type_1(x: Any) -> Any:
    """Of an even extension."""
    extended = np.concatenate([x, x[..., -2:0:-1]], axis=-1)
    return np.real(np.fft.rfft(extended))


def _taken(x: Any, index: Any) -> Any:
    """The elements along the last axis at indices in range."""
    return at(x)[..., index].get(mode="promise_in_bounds")


def _type_2(x: Any) -> Any:
    """Of the even elements and then the odd ones backwards; half of the results are real parts, the
    others imaginary ones."""
    n = x.shape[-1]
    if isinstance(n, Dim):
        place = arange(n)
        ordered = _taken(x, np.where(2 * place < n, 2 * place, 2 * (n - place) - 1))
    else:
        ordered = np.concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], axis=-1)
    turned = np.fft.rfft(ordered) * _turns(arange(n // 2 + 1), 2 * n, x.dtype)
    if isinstance(n, Dim):
        last: Any = n // 2
        real = _taken(np.real(turned), np.minimum(place, last))
        imaginary = _taken(np.imag(turned), np.minimum(n - place, last))
        return 2 * np.where(place <= n // 2, real, -imaginary)
    behind = -np.imag(turned[..., 1 : (n + 1) // 2])[..., ::-1]
    return 2 * np.concatenate([np.real(turned), behind], axis=-1)


def _type_3(x: Any) -> Any:
    """The steps of type 2 backwards, times n."""
    n = x.shape[-1]
    zero = zeros((*x.shape[:-1], 1), x.dtype)
    mirrored = np.concatenate([zero, x[..., :0:-1]], axis=-1)[..., : n // 2 + 1]
    halves = complex_of(x[..., : n // 2 + 1], -mirrored)
    ordered = np.fft.irfft(halves * np.conj(_turns(arange(n // 2 + 1), 2 * n, x.dtype)), n)
    if isinstance(n, Dim):
        half = arange(n) // 2
        return n * _taken(ordered, np.where(np.equal(arange(n) % 2, 0), half, n - 1 - half))
    even, odd = ordered[..., : (n + 1) // 2], ordered[..., (n + 1) // 2 :][..., ::-1]
    padded = np.concatenate([odd, zero], axis=-1) if n % 2 else odd
    pairs = np.stack([even, padded], axis=-1)
    return n * np.reshape(pairs, (*x.shape[:-1], -1))[..., :n]


def _type_4(x: Any) -> Any:
    """Of pairs of elements from both ends for an even length, else of twice the length."""
    n = x.shape[-1]
    if n % 2 != 0:  # or it is not known
        turned = np.fft.fft(x * _turns(arange(n), 2 * n, x.dtype), 2 * n)[..., :n]
        return 2 * np.real(turned * _turns(arange(n) + 0.5, 2 * n, x.dtype))
    turns = _turns(arange(n // 2) + 0.125, n, x.dtype)
    turned = np.fft.fft(complex_of(x[..., ::2], x[..., ::-2]) * turns) * turns
    pairs = np.stack([np.real(turned), -np.imag(turned)[..., ::-1]], axis=-1)
    return 2 * np.reshape(pairs, x.shape)


_TRANSFORMS = {1: _type_1, 2: _type_2, 3: _type_3, 4: _type_4}
