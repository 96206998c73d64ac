"""Elementwise functions of `lax`, and those that see numbers as bits, against NumPy and Python."""

import math
import struct

import numpy as np
import pytest
from helpers import assert_equal_values, values
from hypothesis import example, given
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile import lax
from transpile.ir.types import DTYPES, SHORT_NAMES, kind_letter
from transpile.test_util import check_grads

FLOATS = [d for d in DTYPES if kind_letter(d) == "f" and d.itemsize >= 4]
INTEGERS = [d for d in DTYPES if d.kind in "iu"]
UNARY = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sqrt": np.sqrt,
    "square": np.square,
    "reciprocal": np.reciprocal,
    "neg": np.negative,
    "abs": np.absolute,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
}
REAL = {"cbrt": np.cbrt, "floor": np.floor, "ceil": np.ceil, "is_finite": np.isfinite}
BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "eq": np.equal,
    "ne": np.not_equal,
}
ORDERS = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
BITWISE = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "shift_left": np.left_shift,
}


def quietly(function, *arguments):
    with np.errstate(all="ignore"):
        return np.asarray(function(*arguments))


@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype("c8"), np.dtype("c16")], ids=str)
@one_in(2)
def test_functions_of_one_operand_are_numpys(dtype, shared_cache):
    x = np.random.default_rng(3).uniform(0.1, 0.9, 40).astype(dtype)
    if dtype.kind == "c":
        x = x + dtype.type(1j) * x[::-1]
    table = UNARY if dtype.kind == "c" else {**UNARY, **REAL, "acosh": lambda x: np.arccosh(1 + x)}

    def apply(name, x):
        return getattr(lax, name)(1 + x if name == "acosh" and dtype.kind == "f" else x)

    compiled = transpile.jit(lambda x: [apply(name, x) for name in table])(x)
    for found, (name, function) in zip(compiled, table.items(), strict=True):
        expected = quietly(function, x)
        outside = np.asarray(apply(name, x))
        for got in (found, outside):
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape), name
            limit = 60 * np.finfo(dtype).eps
            np.testing.assert_allclose(got, expected, rtol=limit, atol=limit, err_msg=name)


@pytest.mark.parametrize("dtype", DTYPES[1:], ids=SHORT_NAMES.get)
@one_in(3)
def test_functions_of_two_operands_are_numpys(dtype, shared_cache):
    x, y = values(dtype, 60, 1), values(dtype, 60, 2)
    table = BINARY if dtype.kind == "c" else {**BINARY, **ORDERS}
    if dtype.kind in "iu":
        table = {**table, **BITWISE}
    found = transpile.jit(lambda x, y: [getattr(lax, name)(x, y) for name in table])(x, y)
    for got, (name, function) in zip(found, table.items(), strict=True):
        expected = quietly(function, x, y)
        if dtype.kind == "c" and name == "mul":  # products with infinities: see test_primitives
            finite = np.isfinite(x) & np.isfinite(y)
            got, expected = got[finite], expected[finite]
        if name in ("max", "min"):  # of two zeros either
            got, expected = got + dtype.type(0), expected + dtype.type(0)
        assert_equal_values(got, expected)
        outside = quietly(getattr(lax, name), x, y)
        assert outside.dtype == expected.dtype


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@one_in(2)
def test_integers_are_divided_as_in_c(dtype, shared_cache):
    info = np.iinfo(dtype)
    some = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, info.min // 2]
    some += [-1, -2, -3, -7] if dtype.kind == "i" else []
    x, y = (v.ravel() for v in np.meshgrid(np.array(some, dtype), np.array(some, dtype)))
    both = transpile.jit(lambda x, y: (lax.div(x, y), lax.rem(x, y), lax.mulhi(x, y)))
    for found in (both(x, y), [lax.div(x, y), lax.rem(x, y), lax.mulhi(x, y)]):
        for a, b, quotient, rest, upper in zip(x, y, *found, strict=True):
            a, b = int(a), int(b)
            whole = -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            left = a if b == 0 else a - whole * b
            assert quotient == np.array(whole % 2**info.bits, f"u{dtype.itemsize}").astype(dtype)
            assert rest == left
            assert upper == (a * b) >> info.bits


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@one_in(2)
def test_shifts_and_counts_go_by_the_bits(dtype, shared_cache):
    x = values(dtype, 50, 5)
    width = 8 * dtype.itemsize
    y = np.resize(np.array([0, 1, 3, width - 1, width, 100], dtype), 50)

    def everything(x, y):
        return [
            lax.shift_right_logical(x, y),
            lax.shift_right_arithmetic(x, y),
            lax.population_count(x),
            lax.clz(x),
            lax.bitwise_not(x),
        ]

    for found in (transpile.jit(everything)(x, y), everything(x, y)):
        assert all(v.dtype == dtype for v in found)
        for a, s, logical, arithmetic, count, zeros, inverse in zip(x, y, *found, strict=True):
            raw, s = int(a) % 2**width, int(s)
            signed = raw - 2**width if raw >> (width - 1) else raw
            for got, want in (
                (logical, raw >> s),
                (arithmetic, signed >> s),
                (count, raw.bit_count()),
                (zeros, width - raw.bit_length()),
                (inverse, ~raw),
            ):
                assert int(got) % 2**width == want % 2**width


@given(st.floats(width=64), st.sampled_from(FLOATS))
def test_halves_are_rounded_away_from_zero_or_to_even(x, dtype):
    some = np.array([x, -x, 0.5, -0.5, 2.5, 0.49999999999999994, 2.0**52 + 1])
    with np.errstate(all="ignore"):
        x = some.astype(dtype)
        whole = np.trunc(x)
        away = np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole).astype(dtype)
    assert_equal_values(np.asarray(lax.round(x)), away)
    even = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    assert_equal_values(np.asarray(even), np.rint(x))


def test_rounding_is_compiled_as_it_is_computed(shared_cache):
    x = np.array([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, -0.2, np.nan, -np.inf, 1e300])
    expected = np.array([1, -1, 2, 3, -3, 0, -0.0, np.nan, -np.inf, 1e300])
    assert_equal_values(transpile.jit(lax.round)(x), expected)


@example(5e-324, ("d", 11, 52))
@example(2.0**-14 * (1 - 2.0**-20), ("e", 5, 10))
@given(
    st.floats(width=64) | st.floats(-1e5, 1e5),
    st.sampled_from([("e", 5, 10), ("f", 8, 23), ("d", 11, 52)]),
)
def test_reduced_precision_is_that_of_narrower_floats(x, form):
    """Of float64: as a cast to the narrower dtype, but for its subnormal numbers, which become 0;
    those of float64 itself stay."""
    code, exponent, mantissa = form
    with np.errstate(all="ignore"):
        narrow = np.float64(np.array(x, code))
        if code != "d" and abs(narrow) < 2.0 ** (2 - 2 ** (exponent - 1)):
            narrow = np.copysign(0.0, x)
    found = np.asarray(lax.reduce_precision(np.float64(x), exponent, mantissa))
    assert_equal_values(found, np.asarray(narrow))


def test_reduced_precision_rounds_mantissas_of_any_width(shared_cache):
    x = np.concatenate([np.linspace(-9, 9, 181), [0.0, -0.0, np.inf, np.nan]])
    found = transpile.jit(lambda x: [lax.reduce_precision(x, 11, k) for k in range(6)])(x)
    for bits, got in enumerate(found):
        with np.errstate(all="ignore"):
            exponent = np.floor(np.log2(np.abs(x)))
            step = 2.0 ** (exponent - bits)
            parts = x / step
            expected = np.where(np.isfinite(parts), np.rint(parts) * step, x)
            if bits == 0:  # the bit that has to be even is the exponent's last
                up = np.where((exponent + 1023) % 2 == 1, 2, 1)
                expected = np.where(np.abs(parts) == 1.5, np.sign(x) * step * up, expected)
        np.testing.assert_array_equal(got, expected)


# -------------------------------------------------------------------------------------- dtypes

CODES = {d: np.dtype(d).char for d in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")}


@pytest.mark.parametrize("source", [*CODES, "f2"])
@one_in(3)
def test_bits_are_those_of_numpys_views(source, shared_cache):
    raw = np.random.default_rng(5).integers(0, 256, 96, dtype=np.uint8)
    raw[3::8] &= 0x3F  # no NaN, whose bits a processor may change
    x = raw.view(source).reshape(-1, 8 // np.dtype(source).itemsize)
    targets = [*CODES, "f2"]
    compiled = transpile.jit(
        lambda x: [lax.bitcast_convert_type(x, t) for t in targets if fits(x, t)]
    )(x)
    outside = [lax.bitcast_convert_type(x, t) for t in targets if fits(x, t)]
    for found in (compiled, outside):
        for got, target in zip(found, [t for t in targets if fits(x, t)], strict=True):
            expected = np.ascontiguousarray(x).view(target)
            if expected.dtype.itemsize < x.itemsize:
                expected = expected.reshape(*x.shape, -1)
            elif expected.dtype.itemsize > x.itemsize:
                expected = expected.reshape(x.shape[:-1])
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
            assert got.tobytes() == expected.tobytes()


def fits(x, target):
    """Tell whether the last axis has as many numbers as make one of the other dtype."""
    wide = np.dtype(target).itemsize // x.dtype.itemsize
    return wide <= 1 or x.shape[-1] == wide


@given(st.floats(width=64))
def test_a_float_is_made_of_its_bits(x):
    (bits,) = struct.unpack("<q", struct.pack("<d", x))
    assert lax.bitcast_convert_type(np.float64(x), np.int64) == bits
    back = lax.bitcast_convert_type(np.int64(bits), np.float64)
    assert back == x or math.isnan(x)


def test_python_numbers_take_the_dtype_of_arrays_of_their_kind():
    single = np.ones(2, np.float32)
    assert lax.add(single, 2.0).dtype == np.float32
    assert lax.add(np.int8(3), 2).dtype == np.int8
    assert lax.mul(np.ones(2, np.complex64), 2j).dtype == np.complex64
    for wrong in (lambda: lax.add(single, 2), lambda: lax.add(np.arange(2), 2.0)):
        with pytest.raises(TypeError, match="requires arguments to have the same dtypes"):
            wrong()
    assert transpile.jit(lambda x: lax.add(single, lax.add(x, 1.0)))(2.0).dtype == np.float32


# ----------------------------------------------------------------------------- transformations


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "logistic", "rsqrt", "cbrt", "log1p"])
def test_derivatives_of_one_operand(name):
    check_grads(getattr(lax, name), (np.array([0.3, 1.2, 2.7]),), 2)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "atan2", "pow", "max", "rem"])
def test_derivatives_of_two_operands(name):
    x, y = np.array([0.3, 1.2, 2.7]), np.array([1.1, 0.5, 1.6])
    check_grads(getattr(lax, name), (x, y), 1)


@pytest.mark.parametrize("power", [-3, -1, 0, 1, 2, 5, 13])
@one_in(2)
def test_whole_powers_and_their_derivatives(power, shared_cache):
    x = np.array([-1.5, -0.5, 0.5, 2.0])
    expected = x**power
    for function in (lax.integer_pow, lax.pow):
        np.testing.assert_allclose(function(x, power), expected, rtol=1e-14)
        compiled = transpile.jit(lambda x, f=function: f(x, power))(x)
        np.testing.assert_allclose(compiled, expected, rtol=1e-14)
    check_grads(lambda x: lax.integer_pow(x, power), (x,), 2)


def test_the_slope_of_the_logistic_function_vanishes_far_away():
    slope = transpile.vmap(transpile.grad(lax.logistic))(np.array([-800.0, 0.0, 800.0]))
    np.testing.assert_array_equal(slope, [0, 0.25, 0])


def test_choices_by_integers_and_their_derivatives(shared_cache):
    which = np.array([2, 0, 1, -4, 9], np.int32)
    cases = [np.arange(5.0), np.arange(5.0) * 10, np.arange(5.0) * 100]
    expected = np.choose(np.clip(which, 0, 2), cases)
    np.testing.assert_array_equal(lax.select_n(which, *cases), expected)
    np.testing.assert_array_equal(transpile.jit(lax.select_n)(which, *cases), expected)
    found = transpile.vmap(lambda w, *c: lax.select_n(w, *c))(which, *cases)
    np.testing.assert_array_equal(found, expected)
    check_grads(lambda *c: lax.select_n(which, *c), tuple(cases), 1)


def test_functions_of_a_traced_value_are_strict_too():
    with pytest.raises(TypeError, match="got incompatible shapes for broadcasting"):
        transpile.jit(lambda x: lax.add(x, np.ones(3)))(np.ones(4))
