"""numpy.fft for traced functions: the same names, shapes, dtypes and errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index
from transpile.ir.indices.requirements import require
from transpile.ir.types import FLOAT32, real_dtype
from transpile.numpy.core.creation import arange
from transpile.numpy.core.promotion import (
    EXPORTS,
    Array,
    NumpyErrors,
    as_array,
    axis_of,
    convert,
    fill,
    implements,
    index_of,
    refuse,
    slice_axis,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import exact, smaller_of
from transpile.numpy.core.ufuncs import call
from transpile.numpy.keywords import with_dtype
from transpile.numpy.manipulation.joins import roll
from transpile.primitives import axes as primitives
from transpile.primitives.fft import Normalization
from transpile.primitives.fft import fft as primitive
from transpile.trace.trace import bind

_OPPOSITE = {"backward": "forward", None: "forward", "ortho": "ortho", "forward": "backward"}
_INVERSE = ("ifft", "irfft")
Scale = float | Normalization


# ------------------------------------------------------------------------------------ one axis


def _number(n: Any, default: Any) -> Index:
    """A length: the user's, or that of the operand."""
    if n is None:
        n = default
    number: Index = n if isinstance(n, Dim) else index_of(exact(n))
    text = f"Invalid number of FFT data points ({number}) specified."
    if isinstance(number, Dim):
        require(1, number, "a Fourier transform", text)
    elif number < 1:
        raise located(ValueError, text)
    return number


def _extent(x: Any, axis: Any) -> Any:
    """The size of an axis; NumPy's IndexError where there is none."""
    with NumpyErrors():
        return x.shape[index_of(axis)]


def _scale(norm: Any, n: Index, dtype: Any, kind: str) -> Scale:
    """The factor of a result, rounded as NumPy rounds it."""
    if norm not in _OPPOSITE:
        raise located(
            ValueError, f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".'
        )
    if kind in _INVERSE:
        norm = _OPPOSITE[norm]
    if norm not in ("ortho", "forward"):
        return 1.0
    if isinstance(n, Dim):
        return Normalization(1.0, n, norm == "ortho")
    return float(np.reciprocal(np.sqrt(n, dtype=dtype) if norm == "ortho" else n, dtype=dtype))


def _resized(x: Any, n: Index, axis: int) -> Any:
    """The array cropped, or zero-padded, to n elements along an axis."""
    size = x.shape[axis]
    if n == size:
        return x
    kept = smaller_of(n, size)
    x = slice_axis(x, axis, 0, kept)
    if n == kept:
        return x
    padding = [(0, n - kept if a == axis else 0, 0) for a in range(x.ndim)]
    return bind(primitives.pad, x, fill(0, (), x.dtype), padding=tuple(padding))


def _operand(a: Array, kind: str) -> tuple[Any, Any]:
    """The operand in a dtype that is transformed, and the real dtype that NumPy's results have."""
    x = as_array(a)
    with NumpyErrors():
        dtype = np.result_type(real_dtype(x.dtype), 1.0)
    if kind == "rfft" and x.dtype.kind == "c":
        raise located(TypeError, f"rfft of {x.dtype.name}")
    computed = FLOAT32 if dtype.itemsize < FLOAT32.itemsize else dtype
    is_complex = x.dtype.kind == "c" or kind == "irfft"
    return convert(x, np.dtype(f"c{2 * computed.itemsize}") if is_complex else computed), dtype


def _transformed(x: Any, kind: str, n: Index, axis: int, scale: Scale) -> Any:
    size = n // 2 + 1 if kind == "irfft" else n
    x = _resized(x, size, axis)
    return bind(primitive, x, fft_type=kind, fft_lengths=(n,), axes=(axis,), scale=scale)


def _along(kind: str, a: Array, n: Any, axis: Any, norm: Any, out: Any) -> Any:
    """A transform along one axis."""
    refuse(kind, out=out)
    x, dtype = _operand(a, kind)
    extent = None if n is not None else _extent(x, axis)
    if extent is not None and kind == "irfft":
        extent = (extent - 1) * 2
    number = _number(n, extent)
    scale = _scale(norm, number, dtype, kind)
    result = _transformed(x, kind, number, axis_of(axis, x.ndim), scale)
    return convert(result, dtype) if kind == "irfft" else result


def _make(kind: str, meaning: str) -> Callable[..., Any]:
    def function(a: Array, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
        return _along(kind, a, n, axis, norm, out)

    function.__name__ = function.__qualname__ = kind
    function.__doc__ = meaning
    return implements(getattr(np.fft, kind))(function)


fft = _make(
    "fft",
    """The discrete Fourier transform X[k] = sum of x[j] exp(-2 pi i j k / n) along an axis.

    Complex. `n`, a number or a runtime size, crops or zero-pads; `norm` is "backward" (the
    default, no factor), "ortho" or "forward". float32 and halves are computed in single precision.
    Mixed radix, in the self-sorting form of T. Stockham (C. Van Loan, Computational Frameworks for
    the Fast Fourier Transform, 1992, section 1.7); in four steps for long axes (D. Bailey, FFTs in
    External or Hierarchical Memory, 1990), and as a convolution with a chirp for large prime
    factors (L. Bluestein, 1970). Raises ValueError for n below 1 and an unknown `norm`, and
    UnsupportedError for an axis of a runtime size.
    """,
)
ifft = _make(
    "ifft",
    "The inverse discrete Fourier transform along an axis, complex, scaled by 1 / n unless `norm` "
    "says otherwise; see `fft`.",
)
rfft = _make(
    "rfft",
    """The discrete Fourier transform of real numbers along an axis: the n // 2 + 1 frequencies that
    are not negative; see `fft`.

    Raises TypeError for complex numbers.
    """,
)
irfft = _make(
    "irfft",
    "The real inverse of `rfft` along an axis: of m frequencies 2 (m - 1) numbers, unless `n` says "
    "otherwise; see `fft`.",
)


def _opposite(norm: Any) -> Any:
    if norm not in _OPPOSITE:
        raise located(
            ValueError, f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".'
        )
    return _OPPOSITE[norm]


@implements(np.fft.hfft)
def hfft(a: Array, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """The real spectrum of a Hermitian signal, of which the non-negative half is given: n = 2 (m -
    1) numbers by default."""
    x = as_array(a)
    conjugate = call(np.conjugate, x) if x.dtype.kind == "c" else x
    return irfft(conjugate, n, axis, _opposite(norm), out)


@implements(np.fft.ihfft)
def ihfft(a: Array, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """The non-negative half of the Hermitian signal with a real spectrum, the inverse of `hfft`: n
    // 2 + 1 complex numbers."""
    return call(np.conjugate, rfft(a, n, axis, _opposite(norm), out))


# -------------------------------------------------------------------------------- several axes


def _sizes_and_axes(
    x: Any, s: Any, axes: Any, from_half: bool = False
) -> tuple[list[Any], list[int]]:
    """The length along each axis, and the axes, as NumPy reads its arguments."""
    shape = x.shape
    with NumpyErrors():
        if s is None:
            sizes = list(shape) if axes is None else [shape[index_of(a)] for a in axes]
            if from_half:
                sizes[-1] = (shape[-1 if axes is None else index_of(axes[-1])] - 1) * 2
        else:
            sizes = list(s)
    given = list(range(-len(sizes), 0)) if axes is None else [index_of(a) for a in axes]
    if len(sizes) != len(given):
        raise located(ValueError, "Shape and axes have different lengths.")
    with NumpyErrors():
        sizes = [shape[a] if n == -1 else n for n, a in zip(sizes, given, strict=True)]
    return sizes, given


def _lengths(x: Any, sizes: Sequence[Any], axes: Sequence[int]) -> list[Index]:
    """The lengths, of which None stands for the size of the axis."""
    return [
        _number(n, _extent(x, a) if n is None else None) for n, a in zip(sizes, axes, strict=True)
    ]


def _over(kind: str, x: Any, lengths: Sequence[Index], axes: Sequence[int], norm: Any) -> Any:
    """Complex transforms along axes, the last one first: as few equations as the sizes allow."""
    group: list[tuple[int, Index]] = []
    scale: Scale = 1.0
    dtype = real_dtype(x.dtype)
    steps = [(axis_of(a, x.ndim), n) for n, a in zip(lengths, axes, strict=True)][::-1]
    if len({a for a, _ in steps}) == len(steps):  # what is cut off need not be transformed
        for axis, n in steps:
            x = _resized(x, n, axis) if n < x.shape[axis] else x
    for axis, n in steps:
        if group and (x.shape[axis] != n or axis in dict(group)):
            x, group, scale = _of_group(kind, x, group, scale), [], 1.0
        x = _resized(x, n, axis)
        group.insert(0, (axis, n))
        factor = _scale(norm, n, dtype, kind)
        scale = factor * scale if isinstance(factor, Normalization) else scale * factor
    return _of_group(kind, x, group, scale) if group else x


def _of_group(kind: str, x: Any, group: Sequence[tuple[int, Index]], scale: Scale) -> Any:
    axes, lengths = zip(*group, strict=True)
    return bind(primitive, x, fft_type=kind, fft_lengths=lengths, axes=axes, scale=scale)


def _complex_transform(kind: str, a: Array, s: Any, axes: Any, norm: Any, out: Any) -> Any:
    refuse(f"fft.{kind}n", out=out)
    given = as_array(a)
    sizes, over = _sizes_and_axes(given, s, axes)
    if not over:
        return given
    x, _ = _operand(given, kind)
    return _over(kind, x, _lengths(x, sizes, over), over, norm)


@implements(np.fft.fftn)
def fftn(a: Array, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """The Fourier transform along axes, all by default, of lengths `s`, which crop or zero-pad;
    otherwise as `fft`.

    Raises ValueError where `s` and `axes` differ in length.
    """
    return _complex_transform("fft", a, s, axes, norm, out)


@implements(np.fft.ifftn)
def ifftn(a: Array, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """The inverse Fourier transform along axes; as `fftn`, scaled by 1 / n unless `norm` says
    otherwise."""
    return _complex_transform("ifft", a, s, axes, norm, out)


@implements(np.fft.rfftn)
def rfftn(a: Array, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """The Fourier transform of real numbers along axes: the non-negative frequencies of the last of
    them only.

    Raises TypeError for complex numbers.
    """
    refuse("fft.rfftn", out=out)
    x, _ = _operand(a, "rfft")
    sizes, over = _sizes_and_axes(x, s, axes)
    if not over:
        raise located(IndexError, "list index out of range")
    x = rfft(x, sizes[-1], over[-1], norm)
    return _over("fft", x, _lengths(x, sizes[:-1], over[:-1]), over[:-1], norm)


@implements(np.fft.irfftn)
def irfftn(a: Array, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """The real inverse of `rfftn`: of m frequencies along the last axis 2 (m - 1) numbers, unless
    `s` says otherwise."""
    refuse("fft.irfftn", out=out)
    x = as_array(a)
    sizes, over = _sizes_and_axes(x, s, axes, from_half=True)
    if not over:
        raise located(IndexError, "list index out of range")
    if len(over) > 1:
        x, _ = _operand(x, "irfft")
        lengths = _lengths(x, sizes[:-1], over[:-1])
        x = _over("ifft", x, lengths[::-1], over[-2::-1], norm)  # the first axis first
    return irfft(x, sizes[-1], over[-1], norm)


def _plane(function: Callable[..., Any], of: Callable[..., Any]) -> Callable[..., Any]:
    """A transform along two axes, the last ones by default."""

    def plane(
        a: Array, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None
    ) -> Any:
        return of(a, s, axes, norm, out)

    plane.__name__ = plane.__qualname__ = function.__name__
    plane.__doc__ = f"`{of.__name__}` over two axes, the last ones by default."
    return implements(function)(plane)


fft2, ifft2 = _plane(np.fft.fft2, fftn), _plane(np.fft.ifft2, ifftn)
rfft2, irfft2 = _plane(np.fft.rfft2, rfftn), _plane(np.fft.irfft2, irfftn)


# ---------------------------------------------------------------------- frequencies and shifts


def _shift(x: Array, axes: Any, half: Callable[[int], int]) -> Any:
    """The halves of some axes exchanged."""
    array = as_array(x)
    if axes is None:
        axes = tuple(range(array.ndim))
    elif not isinstance(axes, tuple | list):
        axes = (axes,)
    return roll(array, tuple(half(_extent(array, a)) for a in axes), tuple(axes))


@implements(np.fft.fftshift)
def fftshift(x: Array, axes: Any = None) -> Any:
    """The frequency 0 moved to the middle: the halves of axes exchanged."""
    return _shift(x, axes, lambda n: n // 2)


@implements(np.fft.ifftshift)
def ifftshift(x: Array, axes: Any = None) -> Any:
    """The inverse of `fftshift`, which differs from it for odd sizes."""
    return _shift(x, axes, lambda n: -(n // 2))


def _frequencies(numbers: Any, n: Any, d: Any) -> Any:
    return call(np.multiply, numbers, call(np.divide, 1.0, call(np.multiply, n, d)))


@implements(np.fft.fftfreq)
def fftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """The frequencies of `fft` in its order, for n samples at a distance d, which may be traced;
    raises ValueError unless n is an int or a runtime size."""
    if not isinstance(n, int | np.integer | Dim):
        raise located(ValueError, "n should be an integer")
    numbers: Any = arange(n) if isinstance(n, Dim) else np.arange(n)
    return _frequencies(np.where(numbers < (n + 1) // 2, numbers, numbers - n), n, d)


@implements(np.fft.rfftfreq)
def rfftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """The non-negative frequencies of `rfft`, for n samples at a distance d, which may be traced;
    raises ValueError unless n is an int or a runtime size."""
    if not isinstance(n, int | np.integer | Dim):
        raise located(ValueError, "n should be an integer")
    count: Any = n // 2 + 1
    return _frequencies(arange(count) if isinstance(n, Dim) else np.arange(count), n, d)


# As a namespace the module has what is NumPy's own function where nothing is traced.
__all__ = [name for name in np.fft.__all__ if name in EXPORTS]
globals().update({name: EXPORTS[name] for name in __all__})
globals().update({name: with_dtype(EXPORTS[name]) for name in ("fftfreq", "rfftfreq")})
