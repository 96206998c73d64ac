"""Custom calls of LAPACK, by the names under which jaxlib has it for a CPU.

Options are the codes of LAPACK's letters, pivots count from 1, and the last result says of each
matrix whether its factors were found. Where the routine says of which minor or column that is not
so, it is the first one here, or 1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile import lax
from transpile.hlo_import.context import Call, Rules, producer, value_of
from transpile.hlo_import.rules.sorting import first_in_order
from transpile.ir.graph import Equation
from transpile.ir.types import INT64, ArrayType, kind_letter
from transpile.primitives.rules import apply
from transpile.trace.tracer import Tracer

INT32 = np.dtype("int32")
_NAME = re.compile(r"(?:lapack|blas)_[sdcz](\w+?)(?:_ffi)?")
# Calls that say something to a compiler for several devices, and nothing about values.
_IDENTITIES = ("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "MoveToHost")


def custom_call(call: Call, *operands: Any) -> Any:
    """The routine of this name."""
    target = call.get("custom_call_target", str)
    if target in _IDENTITIES and len(operands) == 1:
        return operands[0]
    found = _NAME.fullmatch(target)
    rule = _ROUTINES.get(found[1]) if found else _OTHERS.get(target)
    if rule is None:
        raise call.fail(f"there is no meaning for the target {target!r}")
    _check_layouts(call, operands)
    results = rule(call, *operands)
    return results if isinstance(call.instruction.type, tuple) else results[0]


def _check_layouts(call: Call, operands: Sequence[Any]) -> None:
    """Raise an error for matrices that are not column-major for LAPACK: they would be others."""
    given = call.get("operand_layout_constraints", tuple, ())
    orders = [order for _, order in given] + list(call.instruction.layout or ())
    matrix = max((x.ndim for x in operands), default=0)
    for order in orders:
        rank = len(order) if isinstance(order, tuple) else 0
        if rank == matrix >= 2 and tuple(order[:2]) == (rank - 1, rank - 2):
            raise call.fail("its matrices are row-major")


def _letter(call: Call, name: str, default: str = "") -> str:
    """An option: the letter of a code."""
    options = dict(call.get("backend_config", tuple, ()))
    code = options.get(name, ord(default) if default else None)
    if type(code) is not int or not 0 < code < 128:
        raise call.fail(f"it has no option {name}")
    return chr(code)


def _kinds(call: Call) -> list[ArrayType]:
    """The types of the results."""
    kinds = call.instruction.type
    return [k for k in kinds if isinstance(k, ArrayType)] if isinstance(kinds, tuple) else [kinds]


def _success(x: Any) -> Any:
    """Zeros for each matrix of an array: all went well."""
    return np.zeros(x.shape[:-2], INT32)


def _failed(x: Any) -> Any:
    """1 for each matrix that has a NaN, which is how primitives say that they found nothing."""
    return np.any(np.isnan(x), (-2, -1)).astype(INT32)


def _swapped(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def _adjoint(x: Any) -> Any:
    return np.conjugate(_swapped(x))


def getrf(_: Call, x: Any) -> list[Any]:
    """LU factors, pivots, and the number of the first pivot that is zero."""
    factors, pivots, _permutation = lax.linalg.lu(x)
    count = min(x.shape[-2:])
    if not count:
        return [factors, pivots + INT32.type(1), _success(x)]
    diagonal = np.diagonal(factors, axis1=-2, axis2=-1)
    none = INT32.type(count + 1)
    first = np.min(np.where(diagonal == 0, np.arange(1, count + 1, dtype=INT32), none), -1)
    return [factors, pivots + INT32.type(1), np.where(first == none, INT32.type(0), first)]


def potrf(call: Call, x: Any) -> list[Any]:
    """The Cholesky factor."""
    if _letter(call, "uplo", "L") == "L":
        factor = lax.linalg.cholesky(x, symmetrize_input=False)
    else:
        factor = _adjoint(lax.linalg.cholesky(_adjoint(x), symmetrize_input=False))
    return [factor, _failed(factor)]


def geqrf(_: Call, x: Any) -> list[Any]:
    """The packed reflectors of a QR factorisation, and their factors."""
    packed, taus = apply("householder", x)
    return [_swapped(packed), taus]


def orgqr(_: Call, packed: Any, taus: Any) -> list[Any]:
    """The product of reflections; of those of a factorisation its orthogonal factor."""
    factored = producer(taus, "householder")
    if factored is not None and _is_packed(packed, factored):
        m, n = factored.inputs[0].type.shape[-2:]
        columns = packed.shape[-1]
        if columns in (m, min(m, n)):
            x = value_of(factored.inputs[0])
            return [apply("qr", x, full_matrices=columns == m)[0]]
    return [lax.linalg.householder_product(packed, taus)]


def _is_packed(value: Any, factored: Equation) -> bool:
    """True of the reflectors of a factorisation, or of more columns, or fewer."""
    while isinstance(value, Tracer):
        equation = producer(value, "transpose", "slice", "pad")
        if equation is None:
            return value.variable is factored.outputs[0]
        name, params = equation.primitive.name, equation.params
        if name == "transpose":
            rank = value.ndim
            order = (*range(rank - 2), rank - 1, rank - 2)
            is_same = tuple(params["permutation"]) == order
        elif name == "slice":
            whole = (*value.shape[:-1], params["limit"][-1])
            is_plain = not any(params["start"]) and all(s == 1 for s in params["strides"])
            is_same = is_plain and tuple(params["limit"]) == whole
        else:
            *others, (low, high, inner) = params["padding"]
            is_same = not any(map(any, others)) and not low and not inner and high >= 0
        if not is_same:
            return False
        value = value_of(equation.inputs[0])
    return False


def syevd(call: Call, x: Any) -> list[Any]:
    """Eigenvectors and eigenvalues of Hermitian matrices."""
    vectors = _letter(call, "mode", "V") == "V"
    lower = _letter(call, "uplo", "L") == "L"
    results = apply("eigh", x, lower=lower, vectors=vectors)
    if not vectors:
        return [x, results, _failed(results[..., None])]
    values, found = results
    return [found, values, _failed(values[..., None])]


def gesdd(call: Call, x: Any) -> list[Any]:
    """What is left of x, singular values, and the vectors of both sides."""
    mode = _letter(call, "mode")
    if mode == "N":
        values = apply("svd", x, full_matrices=False, vectors=False)
        rest = [np.zeros(k.static_shape(), k.dtype) for k in _kinds(call)[2:4]]
        return [x, values, *rest, _failed(values[..., None])]
    left, values, right = apply("svd", x, full_matrices=mode == "A", vectors=True)
    return [x, values, left, right, _failed(values[..., None])]


def geev(call: Call, x: Any) -> list[Any]:
    """Eigenvalues, of real matrices in two parts, and vectors on both sides."""
    wants_left = _letter(call, "compute_left", "N") == "V"
    values, right = apply("eig", x, vectors=True)
    left = _left(right) if wants_left else np.zeros(right.shape, right.dtype)
    parts = [values] if x.dtype.kind == "c" else [np.real(values), np.imag(values)]
    return [*parts, left, right, _failed(values[..., None])]


def _left(right: Any) -> Any:
    """The left vectors w, w^H x = value w^H, of norm 1: the columns of the adjoint inverse of the
    right ones. Of each the largest element is real, as LAPACK has it."""
    eye = np.broadcast_to(np.eye(right.shape[-1], dtype=right.dtype), right.shape)
    found = _adjoint(np.linalg.solve(right, eye))
    size = np.abs(found)
    largest = np.take_along_axis(found, np.argmax(size, -2)[..., None, :], -2)
    norm = np.sqrt(np.sum(size * size, -2, keepdims=True))
    return found * (np.conjugate(largest) / np.abs(largest)) / norm


def gees(call: Call, x: Any) -> list[Any]:
    """The Schur form, its vectors, eigenvalues, how many were selected, and success."""
    if _letter(call, "sort", "N") != "N":
        raise call.fail("sorted Schur forms are not supported")
    t, z = apply("schur", x)
    diagonal = np.diagonal(t, axis1=-2, axis2=-1)
    values = [diagonal] if x.dtype.kind == "c" else _in_parts(t, diagonal)
    return [t, z, *values, _success(x), _failed(t)]


def _in_parts(t: Any, diagonal: Any) -> list[Any]:
    """The real and imaginary parts of the eigenvalues of a real Schur form, whose blocks of two
    rows have equal diagonals."""
    above, below = np.diagonal(t, 1, -2, -1), np.diagonal(t, -1, -2, -1)
    size = np.sqrt(np.abs(above)) * np.sqrt(np.abs(below))
    edge = np.zeros((*diagonal.shape[:-1], 1), diagonal.dtype)
    return [diagonal, np.concatenate([size, edge], -1) - np.concatenate([edge, size], -1)]


def trsm(call: Call, a: Any, b: Any) -> list[Any]:
    """The solution of a system with a triangular matrix."""
    form = _letter(call, "trans_x", "N")
    solution = lax.linalg.triangular_solve(
        a,
        b,
        left_side=_letter(call, "side", "L") == "L",
        lower=_letter(call, "uplo", "L") == "L",
        transpose_a=form != "N",
        conjugate_a=form == "C" and a.dtype.kind == "c",
        unit_diagonal=_letter(call, "diag", "N") == "U",
    )
    return [solution]


def gehrd(_: Call, x: Any) -> list[Any]:
    """The Hessenberg form, the factors of its reflectors, and success."""
    packed, taus = lax.linalg.hessenberg(x)
    return [packed, taus, _success(x)]


def sytrd(call: Call, x: Any) -> list[Any]:
    """The tridiagonal form: packed reflectors, both diagonals, taus, and success."""
    lower = _letter(call, "uplo", "L") == "L"
    packed, d, e, taus = lax.linalg.tridiagonal(x, lower=lower)
    return [packed, d, e, taus, _success(x)]


def geqp3(_: Call, x: Any, pivots: Any) -> list[Any]:
    """A QR factorisation with pivoting: its reflectors, the order of columns from 1 on, factors."""
    del pivots
    *_rest, order = lax.linalg.qr(x, pivoting=True)
    moved = np.take_along_axis(x, order[..., None, :].astype(INT64), -1)
    packed, taus = apply("householder", moved)
    return [_swapped(packed), order + INT32.type(1), taus]


def gtsv(_: Call, low: Any, d: Any, up: Any, b: Any) -> list[Any]:
    """The solution of tridiagonal systems; what is left of the diagonals is not said."""
    solution = lax.linalg.tridiagonal_solve(low, d, up, b)
    return [low, d, up, solution, _success(b)]


_ROUTINES: Rules = {
    "gees": gees,
    "geev": geev,
    "gehrd": gehrd,
    "geqp3": geqp3,
    "geqrf": geqrf,
    "gesdd": gesdd,
    "getrf": getrf,
    "gtsv": gtsv,
    "heevd": syevd,
    "hetrd": sytrd,
    "orgqr": orgqr,
    "potrf": potrf,
    "syevd": syevd,
    "sytrd": sytrd,
    "trsm": trsm,
    "ungqr": orgqr,
}


def top_k(call: Call, x: Any) -> list[Any]:
    """The largest elements along the last axis, as many as the result has, and their indices."""
    kinds = _kinds(call)
    if len(kinds) != 2 or kind_letter(x.dtype) not in "iuf":
        raise call.fail("it gives two results")
    values, indices = lax.top_k(x, kinds[0].static_shape()[-1])
    return [values, lax.convert_element_type(indices, kinds[1].dtype)]


def approx_top_k(call: Call, x: Any, index: Any, *_missing: Any) -> list[Any]:
    """The first elements by a comparison, and their indices; exactly these, whatever recall is
    asked for."""
    options = dict(call.get("backend_config", tuple, ()))
    axis, count = options.get("reduction_dim"), options.get("top_k")
    if type(axis) is not int or not 0 <= axis < x.ndim or np.shape(index) != x.shape:
        raise call.fail("it has no axis of its operands")
    if type(count) is not int or not 0 <= count <= x.shape[axis]:
        raise call.fail("it does not say how many elements are wanted")
    return first_in_order(call, (x, index), axis, count)


_OTHERS: Rules = {"ApproxTopK": approx_top_k, "TopK": top_k}
RULES: Rules = {"custom-call": custom_call}
