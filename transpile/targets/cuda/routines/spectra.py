"""Decompositions whose routines take memory of their own: singular values, eigenvalues, roots.

C's have LAPACK's workspaces, which say nothing of what a block needs. Here a call has arrays of
their own dtypes, and where iterations run at once each has its own part of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from transpile.intrinsics.lapack import Eig, Eigh, Eigvals, Eigvalsh, Sqrtm, Svd, Svdvals
from transpile.ir.calls import Call, Strided
from transpile.ir.dims import Index
from transpile.ir.loop_ir import DType
from transpile.util.frozen_records import dataclass

# Makes an array by its name, its size, and its dtype.
Memory = Callable[[str, Index, DType], Strided]


@dataclass(frozen=True)
class SvdOfColumns(Call):
    """Singular values and vectors, by rotations of columns and of a basis."""

    m: Index
    n: Index
    rows: Index
    columns: Index
    least: Index
    x: Strided
    u: Strided
    s: Strided
    vh: Strided
    work: Strided
    basis: Strided

    name = "svd_of_columns"
    signature = "x(m,n) -> u(m,rows), s(least), vh(columns,n), work(m,n), basis(least,least)"


@dataclass(frozen=True)
class SvdvalsOfColumns(Call):
    """Singular values, by rotations of columns."""

    m: Index
    n: Index
    least: Index
    x: Strided
    s: Strided
    work: Strided

    name = "svdvals_of_columns"
    signature = "x(m,n) -> s(least), work(m,n)"


@dataclass(frozen=True)
class EigOfSchur(Call):
    """Eigenvalues and eigenvectors, by the Schur form t and its vectors z; y has the eigenvectors
    of t."""

    n: Index
    x: Strided
    w: Strided
    v: Strided
    t: Strided
    z: Strided
    y: Strided

    name = "eig_of_schur"
    signature = "x(n,n) -> w(n), v(n,n), t(n,n), z(n,n), y(n,n)"


@dataclass(frozen=True)
class EigvalsOfSchur(Call):
    """Eigenvalues, by the Schur form t."""

    n: Index
    x: Strided
    w: Strided
    t: Strided

    name = "eigvals_of_schur"
    signature = "x(n,n) -> w(n), t(n,n)"


@dataclass(frozen=True)
class SqrtmOfSchur(Call):
    """The principal square root, by the complex Schur form t and its vectors z."""

    n: Index
    x: Strided
    root: Strided
    t: Strided
    z: Strided
    product: Strided

    name = "sqrtm_of_schur"
    signature = "x(n,n) -> root(n,n), t(n,n), z(n,n), product(n,n)"


def has_own_memory(intrinsic: type[Call]) -> bool:
    """True for an intrinsic whose routine takes memory of its own."""
    return intrinsic in _MAKERS


def with_own_memory(call: Call, memory: Memory) -> Call:
    """The call with its memory."""
    return _MAKERS[type(call)](call, memory)


def _eigvalsh(call: Eigvalsh, memory: Memory) -> Call:
    vectors = memory("vectors", call.n * call.n, call.x.dtype)
    return Eigh(call.n, call.x, call.lower, call.w, vectors)


def _svd(call: Svd, memory: Memory) -> Call:
    work = memory("columns", call.m * call.n, call.x.dtype)
    basis = memory("basis", call.least * call.least, call.x.dtype)
    sizes = (call.m, call.n, call.rows, call.columns, call.least)
    return SvdOfColumns(*sizes, call.x, call.u, call.s, call.vh, work, basis)


def _svdvals(call: Svdvals, memory: Memory) -> Call:
    work = memory("columns", call.m * call.n, call.x.dtype)
    return SvdvalsOfColumns(call.m, call.n, call.least, call.x, call.s, work)


def _eig(call: Eig, memory: Memory) -> Call:
    size, dtype = call.n * call.n, call.x.dtype
    t, z = memory("schur_form", size, dtype), memory("schur_vectors", size, dtype)
    y = memory("triangle_vectors", size, call.v.dtype)
    return EigOfSchur(call.n, call.x, call.w, call.v, t, z, y)


def _eigvals(call: Eigvals, memory: Memory) -> Call:
    t = memory("schur_form", call.n * call.n, call.x.dtype)
    return EigvalsOfSchur(call.n, call.x, call.w, t)


def _sqrtm(call: Sqrtm, memory: Memory) -> Call:
    dtype = np.result_type(call.x.dtype, np.complex64)
    t, z, product = (
        memory(name, call.n * call.n, dtype) for name in ("schur_form", "schur_vectors", "product")
    )
    return SqrtmOfSchur(call.n, call.x, call.root, t, z, product)


_MAKERS: dict[type[Call], Callable[..., Call]] = {
    Eigvalsh: _eigvalsh,
    Svd: _svd,
    Svdvals: _svdvals,
    Eig: _eig,
    Eigvals: _eigvals,
    Sqrtm: _sqrtm,
}
