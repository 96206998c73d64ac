"""Linear systems by LU factors: solve, inv, det, slogdet and what is made of them.

A singular matrix, for which NumPy raises a LinAlgError, gives infinities and NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.dims import Dim, Index, Shape, bounds
from transpile.ir.indices.row_major import product
from transpile.ir.types import INT64, broadcast_shapes, real_dtype
from transpile.numpy.core.promotion import (
    Array,
    as_array,
    as_operand,
    ask_numpy,
    broadcast_to,
    convert,
    fill,
    index_of,
    reshape_to,
    strengthen,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.ufuncs import call
from transpile.numpy.linalg.common import (
    LinAlgError,
    check_square,
    common_operands,
    identity,
    implements_linalg,
    is_empty,
    matrices,
    with_derivative,
)
from transpile.numpy.loops import chosen, repeated, scanned
from transpile.primitives.linalg import decompositions as primitives
from transpile.primitives.rules import apply
from transpile.trace.lengths import none_of
from transpile.trace.trace import bind
from transpile.trace.tracer import Tracer

SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))


def triangular(a: Any, b: Any, lower: bool, unit_diagonal: bool = False, form: int = 0) -> Any:
    """The solution of triangular systems; a transposed for form 1, and conjugated for 2."""
    params = {"lower": lower, "unit_diagonal": unit_diagonal, "form": form}
    return bind(primitives.triangular_solve, a, b, **params)


# --------------------------------------------------------------------------------------- solve


def _solution(a: Any, b: Any) -> list[Any]:
    factors, _, permutation = bind(primitives.lu, a)
    first = triangular(factors, primitives.rows_taken(b, permutation), True, unit_diagonal=True)
    return [triangular(factors, first, False)]


def _solution_rule(operands: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
    """The tangent of a x = b: a dx = db - da x."""
    (a, b), (ta, tb) = operands, tangents
    x = solved(a, b)
    rest = tb
    if ta is not None:
        rest = -np.matmul(ta, x) if tb is None else tb - np.matmul(ta, x)
    return [x], [solved(a, rest)]


def solved(a: Any, b: Any) -> Any:
    """The solution x of a x = b for stacks of matrices of one dtype, which broadcast."""
    batch = broadcast_shapes([a.shape[:-2], b.shape[:-2]], lambda text: ValueError(text))
    n, k = b.shape[-2:]
    if n == 0 or k == 0:
        return fill(0, (*batch, n, k), b.dtype)
    if product(a.shape[:-2]) == 1 and b.ndim > 2:  # all right sides are columns of one
        columns = np.moveaxis(broadcast_to(b, (*batch, n, k)), -2, 0)
        one = solved(reshape_to(a, (n, n)), reshape_to(columns, (n, product(batch) * k)))
        return np.moveaxis(reshape_to(one, (n, *batch, k)), 0, -2)
    a = broadcast_to(a, (*batch, n, n))
    b = broadcast_to(b, (*batch, n, k))
    (x,) = with_derivative("solve", _solution, _solution_rule, a, b)
    return x


@implements_linalg(np.linalg.solve)
def solve(a: Array, b: Array) -> Any:
    """The solution x of a x = b by LU factors with partial pivoting (LAPACK's getrf), for a vector
    b or stacks of matrices that broadcast.

    A singular matrix gives infinities and NaN, where NumPy raises LinAlgError. float32 is computed
    in single precision. Differentiable in both. Raises LinAlgError for what is not square, and
    ValueError for sizes that do not match.
    """
    x, y = as_array(a), as_array(b)
    check_square(x)
    if y.ndim == 0 or y.shape[0 if y.ndim == 1 else -2] != x.shape[-1]:
        ask_numpy(np.linalg.solve, (a, b), {})
        raise located(ValueError, f"solve: the shapes {x.shape} and {y.shape} do not match")
    x, y = common_operands(x, y)
    if y.ndim == 1:
        return solved(x, y[:, None])[..., 0]
    return solved(x, y)


def _inverse(a: Any) -> list[Any]:
    return _solution(a, identity(a.shape[-1], a.dtype, tuple(a.shape[:-2])))


def _inverse_rule(operands: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
    x = inverse(operands[0])
    return [x], [-np.matmul(np.matmul(x, tangents[0]), x)]


def inverse(a: Any) -> Any:
    """The inverse of a stack of matrices."""
    if is_empty(a):
        return a
    (x,) = with_derivative("inv", _inverse, _inverse_rule, a)
    return x


@implements_linalg(np.linalg.inv)
def inv(a: Array) -> Any:
    """The inverses of a stack of square matrices, by LU factors; infinities and NaN for singular
    ones.

    Raises LinAlgError for what is not square.
    """
    return inverse(matrices(a, square=True))


@implements_linalg(np.linalg.tensorsolve)
def tensorsolve(a: Array, b: Array, axes: Any = None) -> Any:
    """The solution x of tensordot(a, x, x.ndim) = b: a linear system whose unknowns have several
    axes.

    Raises LinAlgError unless the sizes make a square matrix.
    """
    x, y = as_array(a), as_array(b)
    if axes is not None:
        order = list(range(x.ndim))
        for axis in axes:
            order.remove(axis)
            order.insert(x.ndim, axis)
        x = np.transpose(x, order)
    shape: Shape = tuple(x.shape[-(x.ndim - y.ndim) :])
    size = product(shape)
    if x.size != size * size:
        raise located(
            LinAlgError,
            "Input arrays must satisfy the requirement "
            "            prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])",
        )
    solution = solve(reshape_to(x, (size, size)), reshape_to(y, (y.size,)))
    return reshape_to(solution, shape)


@implements_linalg(np.linalg.tensorinv)
def tensorinv(a: Array, ind: int = 2) -> Any:
    """The inverse of a tensor as a linear map between its first `ind` axes and the others; raises
    ValueError unless `ind` is positive."""
    x = as_array(a)
    if ind <= 0:
        raise located(ValueError, "Invalid ind argument.")
    first, last = tuple(x.shape[:ind]), tuple(x.shape[ind:])
    rest = product(last)
    return reshape_to(inv(np.reshape(x, (rest, -1))), (*last, *first))


@implements_linalg(np.linalg.matrix_power)
def matrix_power(a: Array, n: int) -> Any:
    """The n-th powers of a stack of square matrices, by repeated squaring; of the inverses for
    negative n.

    n may be a runtime size or traced. An integer matrix then has no negative powers, which are a
    ValueError of the call, and a gradient stores two matrices for each bit that n may have. Raises
    LinAlgError for what is not square.
    """
    x = as_array(a)
    check_square(x)
    if isinstance(n, Dim | Tracer):
        return _powers(x, n)
    exponent = index_of(n)
    if exponent == 0:
        return identity(x.shape[-1], x.dtype, tuple(x.shape[:-2]))
    if exponent < 0:
        x, exponent = inv(x), -exponent
    if exponent == 3:
        return np.matmul(np.matmul(x, x), x)
    power, result = None, None
    while exponent:
        power = x if power is None else np.matmul(power, power)
        if exponent % 2:
            result = power if result is None else np.matmul(result, power)
        exponent //= 2
    return result


def _powers(x: Any, exponent: Any) -> Any:
    """The powers of matrices by a number that only the program has."""
    count = strengthen(as_operand(exponent))
    if count.ndim or count.dtype.kind not in "iu":
        raise located(TypeError, "exponent must be an integer")
    count = convert(count, INT64)
    may_be_negative = not isinstance(exponent, Dim) and exponent.dtype.kind == "i"
    if may_be_negative and x.dtype.kind in "biu":
        text = "an integer matrix has no negative powers of its dtype: convert it to floats"
        none_of(reshape_to(call(np.less, count, 0), (1,)), text)
    elif may_be_negative:
        x = chosen(call(np.less, count, 0), lambda: inv(x), lambda: x)
        count = call(np.absolute, count)

    # A gradient needs a known number of iterations: as many as there are bits, most of which copy.
    most = bounds(exponent)[1] if isinstance(exponent, Dim) else None
    bits = 63 if most is None else most.bit_length()

    def rule(operands: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
        matrices, number = operands
        if tangents[0] is None:
            return _repeated_squares(matrices, number), [None]
        power, tangent = _powers_with_tangents(matrices, number, tangents[0], bits)
        return [power], [tangent]

    return with_derivative("matrix_power", _repeated_squares, rule, x, count)[0]


def _repeated_squares(x: Any, count: Any) -> list[Any]:
    def is_left(result: Any, square: Any, left: Any) -> list[Any]:
        return [call(np.greater, left, 0)]

    def halved(result: Any, square: Any, left: Any) -> list[Any]:
        result = chosen(_is_odd(left), lambda: np.matmul(result, square), lambda: result)
        is_last = call(np.less_equal, left, 1)
        square = chosen(is_last, lambda: square, lambda: np.matmul(square, square))
        return [result, square, call(np.right_shift, left, 1)]

    one = identity(x.shape[-1], x.dtype, tuple(x.shape[:-2]))
    return repeated(is_left, halved, (), (one, x, count))[:1]


def _powers_with_tangents(x: Any, count: Any, dx: Any, bits: Index) -> list[Any]:
    """The powers and their tangents, in so many iterations."""

    def halved(state: list[Any], _: list[Any]) -> list[Any]:
        result, d_result, square, d_square, left = state
        is_odd, is_last = _is_odd(left), call(np.less_equal, left, 1)

        def either(condition: Any, values: Any, others: Any) -> list[Any]:
            return [chosen(condition, *pair) for pair in zip(values, others, strict=True)]

        nexts = either(
            is_odd,
            (lambda: np.matmul(result, square), lambda: both(d_result, square, result, d_square)),
            (lambda: result, lambda: d_result),
        )
        nexts += either(
            is_last,
            (lambda: square, lambda: d_square),
            (lambda: np.matmul(square, square), lambda: both(d_square, square, square, d_square)),
        )
        return [*nexts, call(np.right_shift, left, 1)]

    def both(da: Any, b: Any, a: Any, db: Any) -> Any:
        return call(np.add, np.matmul(da, b), np.matmul(a, db))

    one = identity(x.shape[-1], x.dtype, tuple(x.shape[:-2]))
    zero = call(np.multiply, one, 0)
    return scanned(halved, (one, zero, x, dx, count), (), bits)[:2]


def _is_odd(count: Any) -> Any:
    return call(np.equal, call(np.bitwise_and, count, 1), 1)


# ---------------------------------------------------------------------------------- determinants

# So many numbers of at least a half have a product that is no subnormal number, of float32 either.
_SIGNIFICANDS = 64


def _parity(pivots: Any, dtype: Any) -> Any:
    """1 or -1: the sign of the permutation that the pivots make."""
    row = apply("iota", shape=tuple(pivots.shape), dimension=pivots.ndim - 1, dtype=INT64)
    one = real_dtype(dtype).type(1)
    return np.prod(np.where(np.equal(pivots, row), one, -one), axis=-1)


def _diagonal(x: Any) -> Any:
    return np.diagonal(x, axis1=-2, axis2=-1)


def _trace(x: Any) -> Any:
    return np.sum(_diagonal(x), axis=-1)


def _product(x: Any, sign: Any) -> Any:
    """The product along the last axis, times a sign. No part of it overflows unless the whole does:
    significands are multiplied, and exponents added."""
    extent = x.shape[-1]
    if isinstance(extent, int) and extent <= 2:
        return np.prod(x, axis=-1) * sign
    exponent: Any = 0
    for _ in range(_rounds(extent)):
        exponents = _exponents(x)
        x, exponent = _scaled(x, -exponents), exponent + np.sum(exponents, axis=-1)
        blocks = (x.shape[-1] + _SIGNIFICANDS - 1) // _SIGNIFICANDS
        ones = fill(1, (*x.shape[:-1], blocks * _SIGNIFICANDS - x.shape[-1]), x.dtype)
        x = np.concatenate([x, ones], axis=-1)
        x = np.prod(x.reshape((*x.shape[:-1], blocks, _SIGNIFICANDS)), axis=-1)
    x = np.prod(x, axis=-1) * sign
    exponents = _exponents(x)
    return _of_parts(_scaled(x, -exponents), exponent + exponents)


def _rounds(extent: Any) -> int:
    """How many products of blocks leave one number; for runtime sizes three, for more than memory
    has."""
    rounds = 1
    while isinstance(extent, int) and _SIGNIFICANDS**rounds < extent:
        rounds += 1
    return rounds if isinstance(extent, int) else 3


def _exponents(x: Any) -> Any:
    """Of numbers between 0.5 and 1; of complex ones, for the larger part."""
    if x.dtype.kind == "c":
        x = np.maximum(np.absolute(np.real(x)), np.absolute(np.imag(x)))
    return np.frexp(x)[1]


def _scaled(x: Any, exponents: Any) -> Any:
    """x times these powers of two."""
    if x.dtype.kind != "c":
        return np.ldexp(x, exponents)
    return apply("complex", np.ldexp(np.real(x), exponents), np.ldexp(np.imag(x), exponents))


def _of_parts(x: Any, exponents: Any) -> Any:
    """Significands times powers of two. Complex infinities have NaN beside a part that is 0, as in
    NumPy, which multiplies a complex sign by a size."""
    scaled = _scaled(x, exponents)
    if x.dtype.kind != "c":
        return scaled
    parts = np.real(scaled), np.imag(scaled)
    overflow = np.logical_or(*map(np.isinf, parts))
    nan = real_dtype(x.dtype).type(np.nan)
    zeros = [np.logical_and(overflow, np.equal(part, 0)) for part in parts]
    return apply("complex", *(np.where(z, nan, p) for z, p in zip(zeros, parts, strict=True)))


def _determinant(a: Any) -> list[Any]:
    factors, pivots, _ = bind(primitives.lu, a)
    return [_product(_diagonal(factors), _parity(pivots, a.dtype))]


def _determinant_rule(operands: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
    """The trace of adj(a) da, where adj(a) = det(a) U^-1 L^-1 P has a limit when the last pivot
    becomes 0. With more of them the rank is lower, as a rule by two, and the derivative 0."""
    a, t = operands[0], tangents[0]
    n = a.shape[-1]
    factors, pivots, permutation = bind(primitives.lu, a)
    diagonal = _diagonal(factors)
    parity = _parity(pivots, a.dtype)
    before, whole = _product(diagonal[..., :-1], parity), _product(diagonal, parity)
    regular = np.not_equal(before, 0)[..., None, None]
    last = np.equal(apply("iota", shape=(n,), dimension=0, dtype=INT64), n - 1)
    corner = np.logical_and(last[:, None], last)
    scale = np.where(regular, before[..., None, None], 1)
    upper = np.where(corner, 1 / scale, factors)
    upper = np.where(regular, upper, identity(n, a.dtype))
    rest = triangular(factors, primitives.rows_taken(t, permutation), True, unit_diagonal=True)
    rest = np.where(last[:, None], rest, rest * whole[..., None, None])
    moved = np.where(regular, triangular(upper, rest, False), 0)
    return [whole], [_trace(moved)]


@implements_linalg(np.linalg.det)
def det(a: Array) -> Any:
    """The determinants of a stack of square matrices: the products of the pivots of LU factors,
    which overflow only where the determinant does.

    Differentiable at singular matrices too. Raises LinAlgError for what is not square.
    """
    x = matrices(a, square=True)
    if is_empty(x):
        return fill(1, tuple(x.shape[:-2]), x.dtype)
    (determinant,) = with_derivative("det", _determinant, _determinant_rule, x)
    return determinant


def _log_determinant(a: Any) -> list[Any]:
    factors, pivots, _ = bind(primitives.lu, a)
    diagonal = _diagonal(factors)
    sign = np.prod(np.sign(diagonal), axis=-1) * _parity(pivots, a.dtype)
    return [sign, np.sum(np.log(np.absolute(diagonal)), axis=-1)]


def _log_determinant_rule(operands: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
    """The trace of a^-1 da; its imaginary part turns a complex sign."""
    sign, size = _of_logarithm(operands[0])
    moved = _trace(solved(operands[0], tangents[0]))
    if moved.dtype.kind != "c":
        return [sign, size], [None, moved]
    return [sign, size], [sign * (1j * np.imag(moved)), np.real(moved)]


def _of_logarithm(a: Any) -> list[Any]:
    return with_derivative("slogdet", _log_determinant, _log_determinant_rule, a)


@implements_linalg(np.linalg.slogdet)
def slogdet(a: Array) -> Any:
    """The sign of each determinant and the logarithm of its absolute value, which neither overflow
    nor underflow, as a named tuple.

    0 and -inf for singular matrices. Raises LinAlgError for what is not square.
    """
    x = matrices(a, square=True)
    if is_empty(x):
        shape = tuple(x.shape[:-2])
        return SlogdetResult(fill(1, shape, x.dtype), fill(0, shape, real_dtype(x.dtype)))
    return SlogdetResult(*_of_logarithm(x))
