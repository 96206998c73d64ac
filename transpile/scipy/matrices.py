"""Structured matrices of scipy.linalg, which vectors or sizes determine.

Leading axes of vectors are a batch. Matrices of sizes alone are exact as far as their dtype holds
the numbers.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index
from transpile.ir.indices.requirements import require
from transpile.ir.types import broadcast_shapes, kind_letter
from transpile.nn.operands import operand, public
from transpile.numpy.core.promotion import Array, result_dtype, unsupported
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.runtime_sizes import larger_of, offset_of, smaller_of
from transpile.scipy.sized_arrays import arange, eye

_MODES = ("full", "valid", "same")
_KINDS = ("symmetric", "lower", "upper")


def _vector(function: str, value: Array) -> Any:
    return np.atleast_1d(operand(function, value))


def _inexact(x: Any) -> Any:
    return x if kind_letter(x.dtype) in "fc" else x.astype(np.float64)


def _counted(function: str, n: Any) -> Any:
    count = offset_of(n)
    _require_least(1, count, f"n must be a positive integer; got {count}.")
    return count


def _require_least(least: int, size: Index, text: str) -> None:
    """A ValueError, or of a runtime size an error that says what to declare, unless a size is at
    least so much."""
    if isinstance(size, Dim):
        require(least, size, "the matrix", text)
    elif size < least:
        raise located(ValueError, text)


@public
def circulant(c: Array) -> Any:
    """The circulant matrix with first column c: each further column is shifted cyclically by
    one."""
    x = _vector("circulant", c)
    n = x.shape[-1]
    row = arange(n)
    return x[..., (row[:, None] - row) % n]


@public
def hankel(c: Array, r: Array | None = None) -> Any:
    """The Hankel matrix with first column c and last row r, whose first element does not count;
    zeros by default."""
    column = _vector("hankel", c)
    row = np.zeros_like(column) if r is None else _vector("hankel", r)
    dtype = result_dtype(column, row)
    head: Any = broadcast_shapes([column.shape[:-1], row.shape[:-1]])
    m, n = column.shape[-1], row.shape[-1]
    column = np.broadcast_to(column.astype(dtype), (*head, m))
    row = np.broadcast_to(row.astype(dtype), (*head, n))
    values = np.concatenate([column, row[..., 1:]], -1)
    return values[..., arange(m)[:, None] + arange(n)]


@public
def companion(a: Array) -> Any:
    """The companion matrix of a polynomial with these coefficients, the highest power first: its
    eigenvalues are the zeros.

    Raises ValueError for fewer than two coefficients.
    """
    x = _inexact(_vector("companion", a))
    n = x.shape[-1] - 1
    _require_least(
        1, n, f"The length of `a` along the last axis must be at least 2; got shape {x.shape}."
    )
    first = -x[..., 1:] / x[..., :1]
    below = np.broadcast_to(eye(n - 1, n, dtype=x.dtype), (*x.shape[:-1], n - 1, n))
    return np.concatenate([first[..., None, :], below], -2)


@public
def fiedler_companion(a: Array) -> Any:
    """Fiedler's companion matrix of a polynomial, which has five diagonals; its eigenvalues are the
    zeros.

    M. Fiedler, A Note on Companion Matrices, 2003.
    """
    x = _inexact(_vector("fiedler_companion", a))
    n = x.shape[-1] - 1
    if isinstance(n, Dim):
        return _fiedler_companion(x, n)
    if n < 1:
        return np.zeros((*x.shape[:-1], 0, 0), x.dtype)
    c = -x / x[..., :1]
    if n == 1:
        return c[..., 1:, None]
    rows = []
    zero, one = np.zeros_like(c[..., 0]), np.ones_like(c[..., 0])
    for i in range(n):
        entries = [zero] * n
        for j, value in _fiedler_row(i, n, c, one):
            entries[j] = value
        rows.append(np.stack(entries, -1))
    return np.stack(rows, -2)


def _fiedler_companion(x: Any, n: Dim) -> Any:
    """The same of a runtime size, which the program chooses elements for."""
    require(2, n, "Fiedler's companion matrix")
    c = np.pad(-x / x[..., :1], [(0, 0)] * (x.ndim - 1) + [(0, 2)])
    row, column = arange(n)[:, None], arange(n)
    is_even = np.equal(row % 2, 0)
    values = np.where(is_even & (row > 0) & np.equal(column, row - 1), c[..., 1:-2, None], 0)
    values = np.where(is_even & np.equal(column, row + 1), c[..., 2:-1, None], values)
    values = np.where(np.equal(row, 0) & np.equal(column, 0), c[..., 1:2, None], values)
    is_one = is_even & np.equal(column, row + 2)
    is_one = is_one | (~is_even & np.equal(column, np.maximum(row - 2, 0)))
    return np.where(is_one, 1, values).astype(x.dtype)


def _fiedler_row(i: int, n: int, c: Any, one: Any) -> list[tuple[int, Any]]:
    """The elements of a row: M. Fiedler, A note on companion matrices, 2003."""
    elements: list[tuple[int, Any]] = []
    if i == 0:
        elements = [(0, c[..., 1]), (1, c[..., 2])]
        return elements + ([(2, one)] if n > 2 else [])
    if i == 1:
        return [(0, one)]
    if i % 2 == 0:
        elements = [(i - 1, c[..., i + 1])]
        if i + 1 < n:
            elements.append((i + 1, c[..., i + 2]))
        if i + 2 < n:
            elements.append((i + 2, one))
        return elements
    return [(i - 2, one)]


@public
def fiedler(a: Array) -> Any:
    """The symmetric Fiedler matrix |a_i - a_j|."""
    x = _vector("fiedler", a)
    return np.absolute(x[..., :, None] - x[..., None, :])


@public
def leslie(f: Array, s: Array) -> Any:
    """The Leslie matrix of a population: fertilities f in the first row, survival rates s below the
    diagonal.

    Raises ValueError unless s is shorter than f by one.
    """
    births, survivals = _vector("leslie", f), _vector("leslie", s)
    n = births.shape[-1]
    if survivals.shape[-1] != n - 1:
        raise located(
            ValueError,
            "Incorrect lengths for f and s. The length of s along the last axis must be one less "
            f"than the length of f; got f shape {births.shape} and s shape {survivals.shape}.",
        )
    _require_least(
        2, n, f"The length of f along the last axis must be at least 2; got shape {births.shape}."
    )
    dtype = result_dtype(births, survivals)
    head: Any = broadcast_shapes([births.shape[:-1], survivals.shape[:-1]])
    first = np.broadcast_to(births.astype(dtype), (*head, n))[..., None, :]
    below = survivals.astype(dtype)[..., :, None] * eye(n - 1, n, dtype=dtype)
    return np.concatenate([first, np.broadcast_to(below, (*head, n - 1, n))], -2)


@public
def convolution_matrix(a: Array, n: int, mode: str = "full") -> Any:
    """The Toeplitz matrix A with A v = convolve(a, v, mode) for v of length n.

    Raises ValueError for n below 1 and another mode than "full", "valid" and "same".
    """
    x = _vector("convolution_matrix", a)
    count = _counted("convolution_matrix", n)
    if mode not in _MODES:
        raise located(ValueError, f"mode must be one of 'full', 'valid', 'same'; got {mode!r}.")
    m = x.shape[-1]
    padded = np.concatenate([x, np.zeros_like(x[..., :1])], -1)
    diagonal = arange(m + count - 1)[:, None] - arange(count)
    full = padded[..., np.where((diagonal >= 0) & (diagonal < m), diagonal, m)]
    size = m + count - 1
    if mode != "full":
        longer = larger_of(m, count)
        size = longer if mode == "same" else longer - smaller_of(m, count) + 1
    start = (m + count - 1 - size) // 2
    return full[..., start : start + size, :]


@public
def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Any:
    """The matrix of the discrete Fourier transform of length n, complex128; with `scale` "n" or
    "sqrtn" divided by that.

    Raises ValueError for another scale.
    """
    if scale not in (None, "sqrtn", "n"):
        raise located(ValueError, f"scale must be None, 'sqrtn', or 'n'; got {scale!r}.")
    count = offset_of(n)
    whole = larger_of(count, 1)
    turns = np.outer(arange(count), arange(count)) % whole
    matrix = np.exp(-2j * np.pi / whole * turns)
    factor: Any = {None: 1, "sqrtn": np.sqrt(count), "n": count}[scale]
    return (matrix / factor).astype(np.complex128 if dtype is None else dtype)


@public
def hadamard(n: int, dtype: Any = int) -> Any:
    """The Hadamard matrix of 1 and -1 with orthogonal rows, by J. Sylvester's construction; raises
    ValueError unless n is a power of 2."""
    count = _known("hadamard", n)
    if count < 1 or count & (count - 1):
        raise located(ValueError, f"n must be a positive power of 2; got {count}.")
    matrix = np.ones((1, 1), int)
    while len(matrix) < count:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix.astype(dtype)


@public
def helmert(n: int, full: bool = False) -> Any:
    """The Helmert matrix of orthonormal contrasts, (n - 1, n); with `full` the row of equal
    elements comes first."""
    count = _counted("helmert", n)
    steps = arange(count)
    row = steps[:, None]
    below = np.where(steps < row, 1, np.where(np.equal(steps, row), -row, 0))
    sizes = np.where(np.equal(steps, 0), count, steps * (steps + 1))
    matrix = np.where(np.equal(row, 0), 1, below) / np.sqrt(sizes)[:, None]
    return matrix if full else matrix[1:]


@public
def hilbert(n: int) -> Any:
    """The Hilbert matrix 1 / (i + j + 1), of float64."""
    row = arange(offset_of(n)).astype(np.float64)
    return 1 / (row[:, None] + row + 1)


def _known(function: str, n: Any) -> int:
    """A size that has to be known."""
    if isinstance(n, Dim):
        raise unsupported(f"{function} of a runtime size: its elements are exact integers")
    return operator.index(n)


@public
def invhilbert(n: int) -> Any:
    """The inverse of the Hilbert matrix of size n, whose elements are integers, rounded to
    float64."""
    count = _known("invhilbert", n)

    def element(i: int, j: int) -> float:
        product = math.comb(count + i, count - j - 1) * math.comb(count + j, count - i - 1)
        return float((-1) ** (i + j) * (i + j + 1) * product * math.comb(i + j, i) ** 2)

    elements = [element(i, j) for i in range(count) for j in range(count)]
    return np.array(elements, np.float64).reshape(count, count)


def _pascal(n: Any, kind: str | None, inverse: bool) -> Any:
    count, chosen = _known("the Pascal matrix", n), kind or "symmetric"
    if chosen not in _KINDS:
        word = "one" if inverse else "on"
        text = f"Expected kind to be {word} of: {list(_KINDS)}; got {kind}"
        raise located(ValueError, text)
    sign = -1 if inverse else 1
    lower = [[sign ** (i + j) * math.comb(i, j) for j in range(count)] for i in range(count)]
    exact = np.array(lower, object).reshape(count, count)
    if chosen == "symmetric":
        exact = exact.T @ exact if inverse else exact @ exact.T
    elif chosen == "upper":
        exact = exact.T
    return exact.astype(np.float64)


@public
def pascal(n: int, kind: str | None = None) -> Any:
    """The Pascal matrix of binomial coefficients, as float64; `kind` is "symmetric", "lower" or
    "upper", else ValueError."""
    return _pascal(n, kind, False)


@public
def invpascal(n: int, kind: str | None = None) -> Any:
    """The inverse of the Pascal matrix of that size and kind, exact as far as float64 goes."""
    return _pascal(n, kind, True)
