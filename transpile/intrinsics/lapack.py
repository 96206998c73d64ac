"""Decompositions by LAPACK: the helpers of `runtime_c/products/lapack.h`.

Workspace sizes are those of LAPACK's documentation and more, for its full block size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from transpile.intrinsics.lapack_routines import (
    GEES,
    GEEV,
    GEQRF,
    GESDD,
    GETRF,
    HEEVD,
    ORGQR,
    POTRF,
    TRSM,
    LapackRoutine,
)
from transpile.intrinsics.routines import Routine
from transpile.ir.calls import Invocation, Strided
from transpile.ir.dims import Index
from transpile.ir.indices.requirements import at_least_both, extreme
from transpile.ir.loop_ir import UNALLOCATED
from transpile.ir.types import SHORT_NAMES, real_dtype
from transpile.util.frozen_records import dataclass

BLOCK = 64  # the largest block size of LAPACK's blocked algorithms
ALIGNMENT = 64
_INTEGER = 8  # the most bytes of a library's integers
VECTORS: Mapping[str, Any] = MappingProxyType({"vectors": True})
NO_VECTORS: Mapping[str, Any] = MappingProxyType({"vectors": False})

_SINGULAR = "a singular matrix: solutions are infinite or NaN"
_NOT_FINITE = "a matrix with infinities or NaNs: what is found of it is NaN"
_ENDLESS = "an iteration that does not come to an end: what it finds is NaN"


class Decomposition(Routine):
    """A routine that calls LAPACK. `m` and `n` are the sizes of the first operand.

    routines   the LAPACK routines that it calls
    outcome    for the header of a saved program: the results where NumPy raises a LinAlgError
    weight     the number of operations as a multiple of m n min(m, n), roughly
    further    rows of workspace besides those of a block
    """

    x: Strided

    routines: ClassVar[tuple[LapackRoutine, ...]] = ()
    outcome: ClassVar[str] = ""
    weight: ClassVar[int] = 1
    further: ClassVar[int] = 0

    @property
    def routine_dtype(self) -> np.dtype[Any]:
        """The dtype that LAPACK computes in."""
        return self.x.dtype

    @property
    def pieces(self) -> Sequence[Index]:
        """The bytes of each part of the workspace."""
        return ()

    @property
    def scratch_bytes(self) -> Index:
        return sum(self.pieces, ALIGNMENT * (len(self.pieces) + 1))

    def in_lapack(self) -> Invocation:
        suffix = SHORT_NAMES[self.routine_dtype]
        return self.helper(tuple((routine.name, suffix) for routine in self.routines))

    def _bytes(
        self, own: Sequence[Index], real: Sequence[Index] = (), whole: Index = -1
    ) -> list[Index]:
        """The bytes of parts that hold so many numbers of the operand's dtype, of the real dtype of
        its precision, and integers."""
        dtype = self.x.dtype
        pieces: list[Index] = [count * dtype.itemsize for count in own]
        pieces += [count * real_dtype(dtype).itemsize for count in real]
        return pieces + ([] if whole == -1 else [whole * _INTEGER])


@dataclass(frozen=True)
class _Matrix(Decomposition):
    """A decomposition of an m x n matrix."""

    m: Index
    n: Index
    x: Strided

    @property
    def least(self) -> Index:
        """The length of the diagonal."""
        return extreme(self.m, self.n, -1)

    @property
    def flops(self) -> Index:
        return self.weight * self.m * self.n * self.least


@dataclass(frozen=True)
class _Square(Decomposition):
    """A decomposition of an n x n matrix."""

    n: Index
    x: Strided

    @property
    def is_complex(self) -> bool:
        """True if the matrix is complex."""
        return self.x.dtype.kind == "c"

    @property
    def flops(self) -> Index:
        return self.weight * self.n * self.n * self.n


@dataclass(frozen=True)
class Lu(_Matrix):
    """The LU factorization with partial pivoting: packed factors, pivots, permutation."""

    lu: Strided
    pivots: Strided
    permutation: Strided
    workspace: Strided = UNALLOCATED

    name = primitive = "lu"
    signature = "x(m,n) -> lu(m,n), pivots(least), permutation(m)"
    routines = (GETRF,)
    outcome = _SINGULAR

    @property
    def pieces(self) -> Sequence[Index]:
        return self._bytes([self.m * self.n], whole=self.least)


@dataclass(frozen=True)
class Cholesky(_Square):
    """The Cholesky factor of a positive definite matrix."""

    factor: Strided
    workspace: Strided = UNALLOCATED

    name = primitive = "cholesky"
    signature = "x(n,n) -> factor(n,n)"
    routines = (POTRF,)
    outcome = "a matrix that is not positive definite: its factor is NaN"


@dataclass(frozen=True)
class TriangularSolve(_Square):
    """The solutions of a triangular system for k right sides."""

    k: Index
    lower: bool
    unit_diagonal: bool
    form: int
    b: Strided
    solution: Strided
    workspace: Strided = UNALLOCATED

    name = primitive = "triangular_solve"
    signature = "x(n,n), b(n,k) -> solution(n,k)"
    routines = (TRSM,)
    outcome = _SINGULAR

    @property
    def flops(self) -> Index:
        return self.n * self.n * self.k


@dataclass(frozen=True)
class Qr(_Matrix):
    """The QR factorization, reduced or complete."""

    full_matrices: bool
    q: Strided
    r: Strided
    workspace: Strided = UNALLOCATED

    name = primitive = "qr"
    signature = "x(m,n) -> q(m,columns), r(columns,n)"
    routines = (GEQRF, ORGQR)
    weight = 4

    @property
    def columns(self) -> Index:
        """The columns of q."""
        return self.m if self.full_matrices else self.least

    @property
    def _length(self) -> Index:
        return at_least_both(1, at_least_both(self.n, self.columns)) * BLOCK

    @property
    def sizes(self) -> tuple[Index, ...]:
        return self.m, self.n, self.columns, self._length

    @property
    def pieces(self) -> Sequence[Index]:
        wide = at_least_both(self.n, self.columns)
        return self._bytes([self.m * wide, self.least, self._length])


@dataclass(frozen=True)
class Householder(_Matrix):
    """The QR factorization as the reflectors that LAPACK packs."""

    h: Strided
    tau: Strided
    workspace: Strided = UNALLOCATED

    name = primitive = "householder"
    signature = "x(m,n) -> h(n,m), tau(least)"
    routines = (GEQRF,)
    weight = 2

    @property
    def _length(self) -> Index:
        return at_least_both(1, self.n) * BLOCK

    @property
    def sizes(self) -> tuple[Index, ...]:
        return self.m, self.n, self._length

    @property
    def pieces(self) -> Sequence[Index]:
        return self._bytes([self._length])


@dataclass(frozen=True)
class _Hermitian(_Square):
    """syevd and heevd: eigenvalues of a Hermitian matrix, of which one triangle is read."""

    lower: bool

    primitive = "eigh"
    routines = (HEEVD,)
    outcome = _ENDLESS
    weight = 9

    @property
    def _lengths(self) -> tuple[Index, Index, Index]:
        """The numbers, real numbers and integers of LAPACK's work arrays."""
        n, vectors = self.n, self.where["vectors"]
        if self.is_complex:
            length = 2 * n + n * n if vectors else n + 1
            real = 1 + 5 * n + 2 * n * n if vectors else n
        else:
            length = 1 + 6 * n + 2 * n * n if vectors else 2 * n + 1
            real = 0
        return length + n * BLOCK, real, 3 + 5 * n if vectors else 1

    @property
    def sizes(self) -> tuple[Index, ...]:
        return self.n, int(self.lower), *self._lengths

    @property
    def pieces(self) -> Sequence[Index]:
        length, real, whole = self._lengths
        return self._bytes([self.n * self.n, length], [real], whole)


@dataclass(frozen=True)
class Eigh(_Hermitian):
    """The eigenvalues and eigenvectors of a Hermitian matrix."""

    w: Strided
    v: Strided
    workspace: Strided = UNALLOCATED

    name = "eigh"
    signature = "x(n,n) -> w(n), v(n,n)"
    where = VECTORS


@dataclass(frozen=True)
class Eigvalsh(_Hermitian):
    """The eigenvalues of a Hermitian matrix."""

    w: Strided
    workspace: Strided = UNALLOCATED

    name = "eigvalsh"
    signature = "x(n,n) -> w(n)"
    where = NO_VECTORS


@dataclass(frozen=True)
class _General(_Square):
    """A decomposition of any square matrix."""

    outcome = _NOT_FINITE

    @property
    def _length(self) -> Index:
        return at_least_both(1, self.n) * (self.further + BLOCK)

    @property
    def sizes(self) -> tuple[Index, ...]:
        return self.n, self._length


@dataclass(frozen=True)
class _Eigenvalues(_General):
    """geev: eigenvalues of a square matrix."""

    primitive = "eig"
    routines = (GEEV,)
    weight = 25
    further = 4

    @property
    def pieces(self) -> Sequence[Index]:
        n = self.n
        return self._bytes([n * n, n * n, self._length], [n, n])


@dataclass(frozen=True)
class Eig(_Eigenvalues):
    """The eigenvalues and eigenvectors of a matrix."""

    w: Strided
    v: Strided
    workspace: Strided = UNALLOCATED

    name = "eig"
    signature = "x(n,n) -> w(n), v(n,n)"
    where = VECTORS


@dataclass(frozen=True)
class Eigvals(_Eigenvalues):
    """The eigenvalues of a matrix."""

    w: Strided
    workspace: Strided = UNALLOCATED

    name = "eigvals"
    signature = "x(n,n) -> w(n)"
    where = NO_VECTORS


@dataclass(frozen=True)
class _SingularValues(_Matrix):
    """gesdd: the singular value decomposition by divide and conquer."""

    full_matrices: bool

    primitive = "svd"
    routines = (GESDD,)
    outcome = _NOT_FINITE
    weight = 20

    @property
    def _lengths(self) -> tuple[Index, Index]:
        """The numbers and real numbers of LAPACK's work arrays."""
        k, most, vectors = self.least, at_least_both(self.m, self.n), self.where["vectors"]
        if self.x.dtype.kind == "c":
            length = 2 * k * k + 3 * k + most if vectors else 2 * k + most
            real = at_least_both(5 * k * (k + 1), k * (2 * most + 2 * k + 1)) if vectors else 7 * k
        else:
            length = 4 * k * k + 7 * k + most if vectors else 3 * k + at_least_both(most, 7 * k)
            real = 0
        return length + (self.m + self.n) * BLOCK, real


@dataclass(frozen=True)
class Svd(_SingularValues):
    """The singular values and vectors."""

    u: Strided
    s: Strided
    vh: Strided
    workspace: Strided = UNALLOCATED

    name = "svd"
    signature = "x(m,n) -> u(m,rows), s(least), vh(columns,n)"
    where = VECTORS

    @property
    def rows(self) -> Index:
        """The number of left singular vectors."""
        return self.m if self.full_matrices else self.least

    @property
    def columns(self) -> Index:
        """The number of right singular vectors."""
        return self.n if self.full_matrices else self.least

    @property
    def sizes(self) -> tuple[Index, ...]:
        return self.m, self.n, self.rows, self.columns, *self._lengths

    @property
    def pieces(self) -> Sequence[Index]:
        length, real = self._lengths
        m, n = self.m, self.n
        own = [m * n, m * self.rows, n * self.columns, length]
        return self._bytes(own, [real], 8 * self.least)


@dataclass(frozen=True)
class Svdvals(_SingularValues):
    """The singular values."""

    s: Strided
    workspace: Strided = UNALLOCATED

    name = "svdvals"
    signature = "x(m,n) -> s(least)"
    where = NO_VECTORS

    @property
    def sizes(self) -> tuple[Index, ...]:
        return self.m, self.n, *self._lengths

    @property
    def pieces(self) -> Sequence[Index]:
        length, real = self._lengths
        return self._bytes([self.m * self.n, self.m, self.n, length], [real], 8 * self.least)


@dataclass(frozen=True)
class Sqrtm(_General):
    """The principal square root of a matrix, by the complex Schur form (gees) also of a real
    one."""

    root: Strided
    workspace: Strided = UNALLOCATED

    name = primitive = "sqrtm"
    signature = "x(n,n) -> root(n,n)"
    routines = (GEES,)
    weight = 30
    further = 2

    @property
    def routine_dtype(self) -> np.dtype[Any]:
        return np.result_type(self.x.dtype, np.complex64)

    @property
    def pieces(self) -> Sequence[Index]:
        n, each = self.n, 1 if self.is_complex else 2
        own = (each * n * n, each * n * n, each * n, each * self._length)
        return self._bytes(own, [n])


@dataclass(frozen=True)
class Schur(_General):
    """The Schur form of a matrix and its vectors, by gees."""

    t: Strided
    z: Strided
    workspace: Strided = UNALLOCATED

    name = primitive = "schur"
    signature = "x(n,n) -> t(n,n), z(n,n)"
    routines = (GEES,)
    weight = 25
    further = 3

    @property
    def pieces(self) -> Sequence[Index]:
        n = self.n
        return self._bytes([n * n, n * n, 2 * n, self._length], [n])


@dataclass(frozen=True)
class PivotsToPermutation(Routine):
    """The permutation of rows by successive exchanges with the pivots."""

    n: Index
    x: Strided
    size: int
    permutation: Strided
    workspace: Strided = UNALLOCATED

    name = primitive = "pivots_to_permutation"
    signature = "x(n) -> permutation(size)"

    @property
    def scratch_bytes(self) -> Index:
        return ALIGNMENT

    def in_c(self) -> Invocation:
        return self.helper()


DECOMPOSITIONS: tuple[type[Decomposition], ...] = (
    *(Lu, TriangularSolve, Cholesky, Qr, Householder),
    *(Eig, Eigvals, Svd, Svdvals, Sqrtm, Schur, Eigh, Eigvalsh),
)
