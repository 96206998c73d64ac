"""Systems with banded matrices, as in `scipy.linalg`.

The bands are kept by rows, with room for what the exchange of rows adds above the diagonal. Each
step of Gaussian elimination with partial pivoting (Golub and Van Loan, Matrix Computations, 4th
edition, 4.3.3) changes the rows below by the block of the matrix that the pivot's column and row
span, so that it takes l (l + u) operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.lax.control.fori import fori_loop
from transpile.nn.operands import operand, public
from transpile.numpy.core.promotion import error as located
from transpile.numpy.subscripts.at import at
from transpile.scipy.sized_arrays import arange
from transpile.scipy.special.operands import Array, promoted

__all__ = ["solve_banded", "solveh_banded"]

_INSIDE = "promise_in_bounds"


@public
def solve_banded(l_and_u: tuple[int, int], ab: Array, b: Array) -> Any:
    """The solution (n,) or (n, k) with a matrix (n, n) of l diagonals below the main one, u above.

    ab  (l + u + 1, n): ab[u + i - j, j] is element (i, j)

    Raises ValueError for shapes that do not fit. A singular matrix gives infinities or NaN.
    """
    lower, upper = l_and_u
    bands, rhs = promoted("solve_banded", operand("", ab), operand("", b))
    if bands.ndim != 2 or bands.shape[0] != lower + upper + 1 or bands.shape[1] != rhs.shape[0]:
        raise located(
            ValueError,
            f"the bands {bands.shape} of {lower} lower and {upper} upper diagonals, and a right "
            f"side {rhs.shape}, do not fit",
        )
    count = rhs.shape[0]
    matrix = rhs if rhs.ndim > 1 else rhs[:, None]
    pad = [(0, lower), (0, 0)]
    rows = np.pad(_by_rows(bands, lower, upper), pad)

    def step(k: Any, state: Any) -> Any:
        return _eliminated(k, state[0], state[1], lower, upper)

    rows, matrix = fori_loop(0, count, step, (rows, np.pad(matrix, pad)))
    x = _substituted(rows, matrix[:count], lower, lower + upper)
    return x if rhs.ndim > 1 else x[:, 0]


def _by_rows(bands: Any, lower: int, upper: int) -> Any:
    """Row i of the result (n, 2 l + u + 1) has the elements (i, i - l) ... (i, i + u + l)."""
    count, width = bands.shape[1], 2 * lower + upper + 1
    column = arange(count)[:, None] + arange(width) - lower
    band = upper + arange(count)[:, None] - column
    is_inside = (band >= 0) & (band <= lower + upper) & (column >= 0) & (column < count)
    index = np.where(is_inside, band, 0), np.where(is_inside, column, 0)
    return np.where(is_inside, at(bands)[index].get(mode=_INSIDE), 0)


def _eliminated(k: Any, rows: Any, rhs: Any, lower: int, upper: int) -> tuple[Any, Any]:
    """The bands and the right side with no elements below the diagonal in column k."""
    below = arange(lower + 1)
    index = k + below[:, None], (lower - below)[:, None] + arange(lower + upper + 1)
    block, side = at(rows)[index].get(mode=_INSIDE), at(rhs)[k + below].get(mode=_INSIDE)
    pivot = np.argmax(np.abs(block[:, 0]))
    order = np.where(below == 0, pivot, np.where(np.equal(below, pivot), 0, below))
    block, side = at(block)[order].get(mode=_INSIDE), at(side)[order].get(mode=_INSIDE)
    factor = np.where(below == 0, 0, block[:, 0] / block[0, 0])[:, None]
    return (
        at(rows)[index].set(block - factor * block[0]),
        at(rhs)[k + below].set(side - factor * side[0]),
    )


def _substituted(rows: Any, rhs: Any, lower: int, above: int) -> Any:
    """The solution with the upper triangle, from its last row to its first."""
    count = rhs.shape[0]
    behind = arange(1, above + 1)

    def row(step: Any, x: Any) -> Any:
        k = count - 1 - step
        known = at(x)[k + behind].get(mode=_INSIDE)
        upper = at(rows)[k, lower + behind].get(mode=_INSIDE)
        diagonal = at(rows)[k, lower].get(mode=_INSIDE)
        return at(x)[k].set((at(x)[k].get(mode=_INSIDE) - upper @ known) / diagonal)

    return fori_loop(0, count, row, np.pad(rhs, [(0, above), (0, 0)]))[:count]


@public
def solveh_banded(ab: Array, b: Array, lower: bool = False) -> Any:
    """The solution with a Hermitian positive-definite matrix (n, n), of which `ab` (u + 1, n) has
    the diagonals on one side: ab[u + i - j, j], or ab[i - j, j] if `lower`. See `solve_banded`."""
    bands, rhs = promoted("solveh_banded", operand("", ab), operand("", b))
    width, count = bands.shape[0] - 1, bands.shape[1]
    given = bands if lower else bands[::-1]  # by the distance from the diagonal
    sign = 1 if lower else -1
    rows = [given[0]]
    for distance in range(1, width + 1):
        other = np.conj(np.roll(given[distance], sign * distance))
        above, below = (other, given[distance]) if lower else (given[distance], other)
        rows = [above, *rows, below]
    return solve_banded((width, width), np.stack(rows), rhs) if count else rhs
