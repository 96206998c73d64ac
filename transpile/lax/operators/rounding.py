"""Functions of `lax` that select, clamp and round numbers, convert them, and reinterpret their
bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.graph import Const
from transpile.ir.types import BOOL, finfo
from transpile.lax.arrays.enums import RoundingMethod
from transpile.lax.arrays.promotion import (
    Array,
    DType,
    aligned,
    array,
    as_value,
    check_kind,
    dtype_argument,
    dtype_of,
    is_weak,
    of_dtype,
    public,
    same_dtypes,
    shape_of,
    spelled,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.promotion import (
    strengthen,
    warn_if_imaginary_is_lost,
    weaken,
)
from transpile.numpy.manipulation.bitcasts import as_unsigned, cut, from_unsigned, joined
from transpile.primitives import elementwise as primitives
from transpile.primitives.elementwise import bits
from transpile.trace.trace import bind

__all__ = [
    "bitcast_convert_type",
    "clamp",
    "convert_element_type",
    "dtype",
    "reduce_precision",
    "round",
    "select",
    "select_n",
]

# -------------------------------------------------------------------------------------- choices


def _cases(name: str, cases: Sequence[Any]) -> list[Any]:
    """Operands of one dtype and shape to choose from."""
    values = [as_value(v, name, k + 1) for k, v in enumerate(cases)]
    tip = "where" if name == "select" else ""
    common = same_dtypes(name, values, tip)
    shapes = [shape_of(v) for v in values]
    if any(s != shapes[0] for s in shapes):
        listed = ", ".join(map(spelled, shapes))
        raise located(TypeError, f"select cases must have the same shapes, got [{listed}].")
    return [of_dtype(v, common) for v in values]


def _check_which(which: Any, cases: Sequence[Any]) -> None:
    shape, wanted = shape_of(which), shape_of(cases[0])
    if shape and shape != wanted:
        raise located(
            TypeError,
            "select `which` must be scalar or have the same shape as cases, got `which` shape "
            f"{spelled(shape)} but case shape {spelled(wanted)}.",
        )


def _chosen(test: Any, x: Any, y: Any) -> Any:
    """x where a test holds, which may be a scalar, else y."""
    return bind(primitives.select, *aligned("select", [test, x, y], None))


@public
def select(pred: Array, on_true: Array, on_false: Array) -> Any:
    """Elements of `on_true` where `pred` holds, else of `on_false`, which have one dtype and shape.

    `pred` is a bool of that shape or a scalar; an integer holds unless it is 0. Raises TypeError
    for other dtypes and shapes.
    """
    test = as_value(pred, "select")
    if dtype_of(test) != BOOL:
        test = _unequal_to_zero(test)
    # JAX hands them on in the other order, which its errors show.
    y, x = _cases("select", [on_false, on_true])
    _check_which(test, [x])
    result = _chosen(test, x, y)
    return weaken(result) if is_weak(on_true) and is_weak(on_false) else result


def _unequal_to_zero(test: Any) -> Any:
    if dtype_of(test).kind not in "iu":
        _refuse_which(test)
    return bind(
        primitives.not_equal, *aligned("select", [test, np.zeros((), dtype_of(test))], None)
    )


def _refuse_which(which: Any) -> None:
    raise located(
        TypeError,
        f"select `which` must be boolean or integer type, got {dtype_of(which).name}.",
    )


@public
def select_n(which: Array, *cases: Array) -> Any:
    """The element of the case that `which` numbers: a bool between at most two cases, an integer
    between any number.

    `which` has the shape of the cases or is a scalar; numbers out of range mean the nearest case.
    Raises ValueError for no cases, and TypeError for cases that differ in dtype or shape.
    """
    if not cases:
        raise located(ValueError, "select_n() must have at least one case")
    number = as_value(which, "select_n")
    values = _cases("select_n", cases)
    kind = dtype_of(number)
    if kind.kind not in "biu":
        _refuse_which(number)
    if kind == BOOL and len(values) > 2:
        raise located(TypeError, "select with boolean `which` cannot have > 2 cases.")
    _check_which(number, values)
    result = array(values[-1], "select_n")
    if kind == BOOL and len(values) == 2:
        result = _chosen(number, values[1], values[0])
    elif kind != BOOL:
        for position in reversed(range(len(values) - 1)):
            limit = np.asarray(position, kind)
            test = bind(primitives.less_equal, *aligned("select_n", [number, limit], None))
            result = _chosen(test, values[position], result)
    return weaken(result) if all(map(is_weak, cases)) else strengthen(result)


@public
def clamp(min: Array, x: Array, max: Array) -> Any:
    """Each element limited to [min, max], max where min is larger; the limits have the shape of x
    or are scalars.

    Raises TypeError for dtypes that differ, for complex numbers, and for other shapes.
    """
    values = [as_value(v, "clamp", k) for k, v in enumerate((min, x, max))]
    for position, value in enumerate(values):
        check_kind("clamp", value, "nfb", position)
    common = same_dtypes("clamp", values)
    shape = shape_of(values[1])
    for name, value in (("min", values[0]), ("max", values[2])):
        if shape_of(value) not in ((), shape):
            raise located(
                TypeError,
                f"clamp requires {name}.shape == operand.shape or {name}.shape == (), got "
                f"{name}.shape={spelled(shape_of(value))}, operand.shape={spelled(shape)}.",
            )
    low, middle, high = aligned("clamp", values, common)
    result = bind(primitives.minimum, bind(primitives.maximum, middle, low), high)
    return weaken(result) if all(map(is_weak, values)) else result


# ------------------------------------------------------------------------------------- rounding


@public
def round(x: Array, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """The nearest whole number of floats; halves away from zero, or to even for
    `RoundingMethod.TO_NEAREST_EVEN`.

    Raises TypeError for other dtypes than floats.
    """
    value = as_value(x, "round")
    check_kind("round", value, "f")
    method = RoundingMethod(rounding_method)
    (value,) = aligned("round", [value], dtype_of(value))
    if method is RoundingMethod.TO_NEAREST_EVEN:
        result = bind(primitives.rint, value)
    else:
        # x - trunc(x) is exact, as x + 0.5 is not.
        whole = bind(primitives.trunc, value)
        rest = bind(primitives.absolute, bind(primitives.subtract, value, whole))
        one = Const(np.ones((), value.type.dtype))
        half = Const(np.asarray(0.5, value.type.dtype))
        further = bind(primitives.add, whole, bind(primitives.copysign, one, value))
        result = bind(primitives.select, bind(primitives.greater_equal, rest, half), further, whole)
    return weaken(result) if is_weak(x) else result


@public
def reduce_precision(operand: Array, exponent_bits: int, mantissa_bits: int) -> Any:
    """The nearest float with so many bits of exponent and mantissa, halfway to even, in the dtype
    of the operand.

    Infinite where it is too large; 0 where it would be subnormal. Raises ValueError for fewer than
    one bit of exponent or a negative number of mantissa bits, and TypeError for other dtypes than
    floats.
    """
    value = as_value(operand, "reduce_precision")
    check_kind("reduce_precision", value, "f")
    if exponent_bits < 1:
        raise located(
            ValueError, f"reduce_precision: exponent_bits must be positive; got {exponent_bits}"
        )
    if mantissa_bits < 0:
        raise located(
            ValueError, f"reduce_precision: mantissa_bits must be non-negative; got {mantissa_bits}"
        )
    own = array(value, "reduce_precision")
    rounded = _Precision(own.dtype, int(exponent_bits), int(mantissa_bits)).reduced(own)
    return weaken(rounded) if is_weak(value) else rounded


class _Precision:
    """The conversion of a float's bits to those of another format."""

    def __init__(self, own: DType, exponent_bits: int, mantissa_bits: int) -> None:
        info = finfo(own)
        self.dtype = own
        self.raw = bits.unsigned(own)
        self.exponent_bits, self.mantissa_bits = exponent_bits, mantissa_bits
        self.own_mantissa = int(info.nmant)
        self.own_exponent = 8 * own.itemsize - 1 - self.own_mantissa

    def word(self, number: int) -> Any:
        """An unsigned constant."""
        return Const(np.asarray(number, self.raw))

    def reduced(self, x: Any) -> Any:
        """The traced value, rounded."""
        width = 8 * self.dtype.itemsize
        raw = bind(bits.bits, x)
        sign = bind(bits.bitwise_and, raw, self.word(1 << (width - 1)))
        size = bind(bits.bitwise_xor, raw, sign)
        dropped = self.own_mantissa - self.mantissa_bits
        if dropped > 0:
            size = self._rounded(size, dropped)
        if self.exponent_bits < self.own_exponent:
            size = self._in_range(size)
        rounded = bind(bits.float_from_bits, bind(bits.bitwise_or, size, sign), dtype=self.dtype)
        return bind(primitives.select, bind(primitives.isnan, x), x, rounded)

    def _rounded(self, size: Any, dropped: int) -> Any:
        """The carry of the rounding goes into the exponent, up to infinity."""
        last = bind(bits.right_shift, size, self.word(dropped))
        last = bind(bits.bitwise_and, last, self.word(1))
        bias = bind(primitives.add, last, self.word((1 << (dropped - 1)) - 1))
        whole = (1 << (8 * self.dtype.itemsize)) - (1 << dropped)
        return bind(bits.bitwise_and, bind(primitives.add, size, bias), self.word(whole))

    def _in_range(self, size: Any) -> Any:
        """Exponents that the other format does not have: infinity and zero."""
        bias = (1 << (self.own_exponent - 1)) - 1
        reach = (1 << (self.exponent_bits - 1)) - 1
        above = self.word((bias + reach + 1) << self.own_mantissa)
        below = self.word((bias - reach + 1) << self.own_mantissa)
        infinity = self.word(((1 << self.own_exponent) - 1) << self.own_mantissa)
        large = bind(primitives.greater_equal, size, above)
        small = bind(primitives.less, size, below)
        return bind(
            primitives.select, small, self.word(0), bind(primitives.select, large, infinity, size)
        )


# --------------------------------------------------------------------------------- other dtypes


def dtype(x: Any) -> DType:
    """The dtype of an array or a Python number, of which those have 64 bits."""
    own = getattr(x, "dtype", None)
    return dtype_of(as_value(x, "dtype")) if own is None else np.dtype(own)


@public
def convert_element_type(operand: Array, new_dtype: Any) -> Any:
    """The numbers cast to another dtype, as `astype` casts them.

    Warns with ComplexWarning where an imaginary part is lost. Raises UnsupportedError for a dtype
    that C has not.
    """
    value = as_value(operand, "convert_element_type")
    wanted = dtype_argument(new_dtype)
    if type(value) not in (bool, int, float, complex):
        warn_if_imaginary_is_lost(value, wanted)
    return strengthen(array(of_dtype(value, wanted), "convert_element_type"))


@public
def bitcast_convert_type(operand: Array, new_dtype: Any) -> Any:
    """The bits of the elements as numbers of another dtype.

    A narrower one makes several numbers of each along a new last axis, the lowest bits first; a
    wider one makes one number of the last axis. Raises TypeError for bools and complex numbers, and
    ValueError for a last axis of another size.
    """
    value = array(operand, "bitcast_convert_type")
    wanted = dtype_argument(new_dtype)
    if value.dtype == wanted:
        return strengthen(value)
    if value.dtype.kind in "bc" or wanted.kind in "bc":
        raise located(
            TypeError,
            "lax.bitcast_convert_type does not support bool or complex values unless the operand "
            f"and destination types match. Got operand dtype={value.dtype}, "
            f"new_dtype={wanted!r}. Consider using the arr.view() method instead.",
        )
    raw = as_unsigned(strengthen(value))
    if value.dtype.itemsize > wanted.itemsize:
        raw = cut(raw, bits.unsigned(wanted))
    elif value.dtype.itemsize < wanted.itemsize:
        _check_parts(value, wanted)
        raw = joined(raw, bits.unsigned(wanted))
    return from_unsigned(raw, wanted)


def _check_parts(x: Any, wanted: DType) -> None:
    """Raise ValueError unless the last axis has the parts of one number of a wider dtype."""
    size, own, wide = x.shape[-1] if x.ndim else 1, 8 * x.dtype.itemsize, 8 * wanted.itemsize
    if x.ndim == 0 or size * own != wide:
        raise located(
            ValueError,
            f"Attempting to convert array of shape {spelled(x.shape)} from {x.dtype.name} of size "
            f"{own} bits to {wanted.name} of size {wide}, bits but {size} * {own} != {wide}",
        )
