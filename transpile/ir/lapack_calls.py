"""The calls of library routines: for each row its C helper, sizes and scratch memory.

A helper of `products/lapack.h` takes its sizes, the operands, the results and scratch memory, in
this order. LAPACK says in its documentation how much scratch memory is enough; what is given here
suffices for its blocked algorithms too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transpile.errors import UnsupportedError
from transpile.ir.dims import Shape
from transpile.ir.graph import Equation
from transpile.ir.types import SHORT_NAMES, real_dtype
from transpile.util.frozen_records import dataclass

# The rows that LAPACK's blocked algorithms work on together, at most.
BLOCK = 64
ALIGNMENT = 64
_INTEGER = 8  # the bytes of a library's integer, at most
# Roughly, in multiples of m n min(m, n).
_FLOPS = {
    "lu": 1,
    "cholesky": 1,
    "qr": 4,
    "householder": 2,
    "eigh": 9,
    "eig": 25,
    "svd": 20,
    "sqrtm": 30,
    "schur": 25,
}


@dataclass(frozen=True)
class Routine:
    """How an equation is a loop of library calls over its leading axes, `batch`.

    function   the C helper, with the suffix of its dtype
    sizes      the integers that it takes first
    operands   the shapes of what it reads, and
    results    of what it writes, without the leading axes
    workspace  its scratch memory in bytes
    flops      about how many operations one call is
    row        the row's name and
    params     its params: what the call means
    """

    function: str
    sizes: tuple[int, ...]
    operands: tuple[tuple[int, ...], ...]
    results: tuple[Shape, ...]
    batch: Shape
    workspace: int
    flops: int
    row: str
    params: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class _Sizes:
    """A call's integers, the numbers of operands' and real elements and integers of its scratch
    memory, each piece a list entry."""

    integers: tuple[int, ...]
    own: tuple[int, ...] = ()
    real: tuple[int, ...] = ()
    whole: tuple[int, ...] = ()
    helper: str = ""


def routine_of(equation: Equation) -> Routine:
    """The calls that an equation of the kind `routine` is.

    Raises UnsupportedError where a matrix has a runtime size.
    """
    row, params = equation.primitive.name, equation.params
    types = [a.type for a in equation.inputs]
    if row == "pivots_to_permutation":
        return _exchanges(equation)
    rank = types[0].ndim - 2
    known = [tuple(d for d in t.shape[rank:] if isinstance(d, int)) for t in types]
    if any(len(sizes) < 2 for sizes in known):
        raise UnsupportedError(f"{equation.source}: {row} of a matrix with a runtime size")
    dtype = types[0].dtype
    m, n = known[0]
    is_complex = dtype.kind == "c"
    if row == "triangular_solve":
        sizes = _triangular_solve(n, known[1][1], **params)
    else:
        sizes = _SIZES[row](m, n, is_complex, **params)
    real = real_dtype(dtype).itemsize
    pieces = [k * dtype.itemsize for k in sizes.own] + [k * real for k in sizes.real]
    pieces += [k * _INTEGER for k in sizes.whole]
    return Routine(
        f"{sizes.helper or row}_{SHORT_NAMES[dtype]}",
        sizes.integers,
        tuple(known),
        tuple(v.type.shape[rank:] for v in equation.outputs),
        types[0].shape[:rank],
        sum(pieces) + ALIGNMENT * (len(pieces) + 1),
        _FLOPS.get(row, 1) * m * n * (known[1][1] if len(known) > 1 else min(m, n)),
        row,
        tuple(sorted(params.items())),
    )


def _exchanges(equation: Equation) -> Routine:
    (pivots,), (result,) = equation.inputs, equation.outputs
    size, count = result.type.shape[-1], pivots.type.shape[-1]
    if not (isinstance(size, int) and isinstance(count, int)):
        raise UnsupportedError(f"{equation.source}: a permutation of a runtime size")
    name = equation.primitive.name
    return Routine(
        f"{name}_{SHORT_NAMES[pivots.type.dtype]}",
        (count, size),
        ((count,),),
        ((size,),),
        pivots.type.shape[:-1],
        ALIGNMENT,
        0,
        name,
        (("size", size),),
    )


def _lu(m: int, n: int, _: bool) -> _Sizes:
    return _Sizes((m, n), own=(m * n,), whole=(min(m, n),))


def _cholesky(_: int, n: int, __: bool) -> _Sizes:
    return _Sizes((n,))


def _triangular_solve(n: int, k: int, lower: bool, unit_diagonal: bool, form: int) -> _Sizes:
    return _Sizes((n, k, int(lower), int(unit_diagonal), form))


def _qr(m: int, n: int, _: bool, full_matrices: bool) -> _Sizes:
    columns = m if full_matrices else min(m, n)
    wide = max(n, columns)
    length = max(1, wide) * BLOCK
    return _Sizes((m, n, columns, length), own=(m * wide, min(m, n), length))


def _householder(m: int, n: int, _: bool) -> _Sizes:
    length = max(1, n) * BLOCK
    return _Sizes((m, n, length), own=(length,))


def _eigh(_: int, n: int, is_complex: bool, lower: bool, vectors: bool) -> _Sizes:
    """syevd and heevd."""
    if is_complex:
        length = 2 * n + n * n if vectors else n + 1
        real = 1 + 5 * n + 2 * n * n if vectors else n
    else:
        length = 1 + 6 * n + 2 * n * n if vectors else 2 * n + 1
        real = 0
    length += n * BLOCK
    whole = 3 + 5 * n if vectors else 1
    return _Sizes(
        (n, int(lower), length, real, whole),
        own=(n * n, length),
        real=(real,),
        whole=(whole,),
        helper="" if vectors else "eigvalsh",
    )


def _eig(_: int, n: int, __: bool, vectors: bool) -> _Sizes:
    """geev."""
    length = max(1, n) * (4 + BLOCK)
    helper = "" if vectors else "eigvals"
    return _Sizes((n, length), own=(n * n, n * n, length), real=(n, n), helper=helper)


def _sqrtm(_: int, n: int, is_complex: bool) -> _Sizes:
    """gees of complex matrices, whatever those of the operand are."""
    length = max(1, n) * (2 + BLOCK)
    each = 1 if is_complex else 2
    pieces = (each * n * n, each * n * n, each * n, each * length)
    return _Sizes((n, length), own=pieces, real=(n,))


def _schur(_: int, n: int, __: bool) -> _Sizes:
    """gees."""
    length = max(1, n) * (3 + BLOCK)
    return _Sizes((n, length), own=(n * n, n * n, 2 * n, length), real=(n,))


def _svd(m: int, n: int, is_complex: bool, full_matrices: bool, vectors: bool) -> _Sizes:
    """gesdd."""
    k, most = min(m, n), max(m, n)
    if is_complex:
        length = 2 * k * k + 3 * k + most if vectors else 2 * k + most
        real = max(5 * k * k + 5 * k, 2 * most * k + 2 * k * k + k) if vectors else 7 * k
    else:
        length = 4 * k * k + 7 * k + most if vectors else 3 * k + max(most, 7 * k)
        real = 0
    length += (m + n) * BLOCK
    if not vectors:
        pieces = (m * n, m, n, length)
        integers: tuple[int, ...] = (m, n, length, real)
        return _Sizes(integers, own=pieces, real=(real,), whole=(8 * k,), helper="svdvals")
    rows, columns = (m, n) if full_matrices else (k, k)
    pieces = (m * n, m * rows, n * columns, length)
    integers = (m, n, rows, columns, length, real)
    return _Sizes(integers, own=pieces, real=(real,), whole=(8 * k,))


_SIZES: dict[str, Callable[..., _Sizes]] = {
    "lu": _lu,
    "cholesky": _cholesky,
    "qr": _qr,
    "householder": _householder,
    "eigh": _eigh,
    "eig": _eig,
    "svd": _svd,
    "sqrtm": _sqrtm,
    "schur": _schur,
}
