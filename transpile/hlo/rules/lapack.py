"""Factorisations: two are instructions, others calls of LAPACK by the names under which jaxlib
registers it for a CPU. There matrices are column-major, pivots count from 1, options are the codes
of LAPACK's letters, and the last result says of each matrix whether its factors were found; NaN
where not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.hlo.builder import Builder, Rules
from transpile.hlo.module import Instruction
from transpile.hlo.traced import traced
from transpile.ir.graph import Equation
from transpile.ir.types import INT64, ArrayType, real_dtype
from transpile.primitives.rules import apply

INT32 = np.dtype("int32")
_LETTERS = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}
_TRANSPOSED = ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
Results = list[Instruction]


def _letter(x: Instruction) -> str:
    return _LETTERS[f"{x.dtype.kind}{x.dtype.itemsize}"]


def _call(
    b: Builder,
    routine: str,
    operands: Sequence[Instruction],
    results: Sequence[ArrayType],
    **options: str,
) -> Results:
    """The results of a routine. `options` are letters."""
    batch = len(operands[0].shape) - 2
    x = operands[0]
    done = b.add(
        "custom-call",
        tuple(results),
        *operands,
        layout=tuple(_layout(kind, batch) for kind in results),
        custom_call_target=f"lapack_{_letter(x)}{routine}_ffi",
        operand_layout_constraints=tuple((o.array, _layout(o.array, batch)) for o in operands),
        api_version="API_VERSION_TYPED_FFI",
        backend_config=tuple(options.items()),
    )
    return b.elements(done)


def _layout(kind: ArrayType, batch: int) -> tuple[int, ...]:
    """The axes, minor one first: of a matrix its rows are."""
    order = list(range(kind.ndim))[::-1]
    if kind.ndim == batch + 2:
        order[:2] = order[1::-1]
    return tuple(order)


def _finished(
    b: Builder, name: str, function: Callable[..., Sequence[Any]], *values: Instruction
) -> Results:
    """The results of a function of arrays, as a user could write it."""
    return b.emit(traced(function, [v.array for v in values], name), list(values))


def _unless_failed(x: Any, info: Any, *results: Any) -> list[Any]:
    """NaN where a routine failed, or numbers are not finite."""
    is_right = (info == 0) & np.all(np.isfinite(x), axis=(-2, -1))
    return [
        np.where(is_right[(..., *[None] * (r.ndim - info.ndim))], r, np.asarray(np.nan, r.dtype))
        for r in results
    ]


def _sizes(x: Instruction) -> tuple[tuple[Any, ...], int, int, int]:
    """The batch, the rows and the columns, and the smaller of these."""
    *head, m, n = x.shape
    assert isinstance(m, int) and isinstance(n, int)
    return tuple(head), m, n, min(m, n)


# -------------------------------------------------------------------------------- instructions


def cholesky(b: Builder, _: Equation, x: Instruction) -> Results:
    """The lower factor; XLA leaves the other triangle as it is."""
    factor = b.same("cholesky", x, lower=True)
    return _finished(b, "lower", lambda f: [np.tril(f)], factor)


def triangular_solve(b: Builder, equation: Equation, a: Instruction, y: Instruction) -> Instruction:
    """The solution of a x = y."""
    params = equation.params
    return b.add(
        "triangular-solve",
        y.array.strong,
        a,
        y,
        left_side=True,
        lower=bool(params["lower"]),
        unit_diagonal=bool(params["unit_diagonal"]),
        transpose_a=_TRANSPOSED[params["form"]],
    )


# ------------------------------------------------------------------------------------- LU and QR


def lu(b: Builder, _: Equation, x: Instruction) -> Results:
    """The packed factors, pivots from 0 on, and the permutation."""
    head, m, _n, k = _sizes(x)
    pivots, info = ArrayType((*head, k), INT32), ArrayType(head, INT32)
    factors, found, _info = _call(b, "getrf", [x], [x.array.strong, pivots, info])

    def finish(factors: Any, pivots: Any) -> list[Any]:
        pivots = pivots.astype(INT64) - 1
        return [factors, pivots, apply("pivots_to_permutation", pivots, size=m)]

    return _finished(b, "permutation", finish, factors, found)


def _reflectors(b: Builder, x: Instruction) -> Results:
    """The packed reflectors of a QR factorisation, and their factors."""
    head, _m, _n, k = _sizes(x)
    return _call(b, "geqrf", [x], [x.array.strong, ArrayType((*head, k), x.dtype)])


def householder(b: Builder, _: Equation, x: Instruction) -> Results:
    """NumPy gives the matrix of reflectors transposed."""
    packed, factors = _reflectors(b, x)
    return [*_finished(b, "transposed", lambda h: [np.swapaxes(h, -1, -2)], packed), factors]


def qr(b: Builder, equation: Equation, x: Instruction) -> Results:
    """The product of the reflectors, and the triangle that they leave."""
    head, m, n, k = _sizes(x)
    columns = m if equation.params["full_matrices"] else k
    packed, factors = _reflectors(b, x)

    def parts(h: Any) -> list[Any]:
        upper = np.triu(h[..., :columns, :])
        if columns <= n:
            return [h[..., :columns], upper]
        rest = np.zeros((*head, m, columns - n), h.dtype)
        return [np.concatenate([h, rest], -1), upper]

    kept, upper = _finished(b, "parts", parts, packed)
    routine = "ungqr" if x.dtype.kind == "c" else "orgqr"
    (q,) = _call(b, routine, [kept, factors], [kept.array])
    return [q, upper]


# --------------------------------------------------------------- eigenvalues and singular values


def eigh(b: Builder, equation: Equation, x: Instruction) -> Results:
    """Eigenvalues of Hermitian matrices, of which one triangle is read, and their vectors."""
    head, n, _n, _k = _sizes(x)
    vectors, lower = equation.params["vectors"], equation.params["lower"]
    kinds = [
        x.array.strong,
        ArrayType((*head, n), real_dtype(x.dtype)),
        ArrayType(head, INT32),
    ]
    routine = "heevd" if x.dtype.kind == "c" else "syevd"
    mode, triangle = "V" if vectors else "N", "L" if lower else "U"
    found, values, info = _call(b, routine, [x], kinds, mode=mode, uplo=triangle)
    wanted = [values, found] if vectors else [values]
    return _finished(b, "unless_failed", _unless_failed, x, info, *wanted)


def svd(b: Builder, equation: Equation, x: Instruction) -> Results:
    """Singular values, and the vectors of both sides."""
    head, m, n, k = _sizes(x)
    is_full, vectors = equation.params["full_matrices"], equation.params["vectors"]
    rows, columns = (m, n) if vectors and is_full else (k, k)
    if not k:  # which LAPACK refuses
        left, right = (
            b.constant(np.broadcast_to(np.eye(*shape, dtype=x.dtype), (*head, *shape)))
            for shape in ((m, rows), (columns, n))
        )
        values = b.constant(np.zeros((*head, 0), real_dtype(x.dtype)))
        return [left, values, right] if vectors else [values]
    kinds = [
        x.array.strong,
        ArrayType((*head, k), real_dtype(x.dtype)),
        ArrayType((*head, m, rows), x.dtype),
        ArrayType((*head, columns, n), x.dtype),
        ArrayType(head, INT32),
    ]
    mode = "N" if not vectors else "A" if is_full else "S"
    _x, values, left, right, info = _call(b, "gesdd", [x], kinds, mode=mode)
    wanted = [left, values, right] if vectors else [values]
    return _finished(b, "unless_failed", _unless_failed, x, info, *wanted)


def eig(b: Builder, equation: Equation, x: Instruction) -> Results:
    """Eigenvalues, and vectors on the right; all of them complex."""
    head, n, _n, _k = _sizes(x)
    wide = np.result_type(x.dtype, np.complex64)
    matrix, vector = ArrayType(x.shape, wide), ArrayType((*head, n), x.dtype)
    values = [vector] if x.dtype.kind == "c" else [vector, vector]
    vectors = equation.params["vectors"]
    *parts, _left, right, info = _call(
        b, "geev", [x], [*values, matrix, matrix, ArrayType(head, INT32)],
        compute_left="N", compute_right="V" if vectors else "N",
    )  # fmt: skip

    def finish(x: Any, info: Any, *results: Any) -> list[Any]:
        if x.dtype.kind != "c":
            real, imag, *rest = results
            results = (apply("complex", real, imag), *rest)
        return _unless_failed(x, info, *results)

    wanted = [*parts, right] if vectors else parts
    return _finished(b, "unless_failed", finish, x, info, *wanted)


def schur(b: Builder, _: Equation, x: Instruction) -> Results:
    """The Schur form and its unitary matrix."""
    head, n, _n, _k = _sizes(x)
    matrix, vector = x.array.strong, ArrayType((*head, n), x.dtype)
    number = ArrayType(head, INT32)
    values = [vector] if x.dtype.kind == "c" else [vector, vector]
    found = _call(
        b, "gees", [x], [matrix, matrix, *values, number, number], mode="V", sort="N"
    )  # fmt: skip
    return _finished(b, "unless_failed", _unless_failed, x, found[-1], *found[:2])


RULES: Rules = {
    "cholesky": cholesky,
    "eig": eig,
    "eigh": eigh,
    "householder": householder,
    "lu": lu,
    "qr": qr,
    "schur": schur,
    "svd": svd,
    "triangular_solve": triangular_solve,
}
