"""C's literals: typed, and exactly the number."""

import ctypes
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transpile.build import toolchain
from transpile.codegen.dialect import DIALECTS, C, c_literal, c_literals, suffix
from transpile.ir.types import DTYPES, finfo, kind_letter
from transpile.options import Options


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (True, "bool", "true"),
        (False, "bool", "false"),
        (3, "int8", "3"),
        (-128, "int8", "-128"),
        (-5, "int64", "-5"),
        (-(2**31), "int32", "INT32_MIN"),
        (-(2**63), "int64", "INT64_MIN"),
        (2**63 - 1, "int64", "INT64_MAX"),
        (2**64 - 1, "uint64", "UINT64_MAX"),
        (255, "uint8", "255"),
        (7, "uint32", "7u"),
        (0.5, "float64", "0.5"),
        (2, "float64", "2.0"),
        (0.1, "float32", "0.1f"),
        (1, "float32", "1.0f"),
        (1e-45, "float32", "1e-45f"),
        (5e-324, "float64", "5e-324"),
        (1e300, "float64", "1e+300"),
        (-0.0, "float64", "-0.0"),
        (-0.0, "float32", "-0.0f"),
        (np.inf, "float64", "INFINITY"),
        (-np.inf, "float32", "-INFINITY"),
        (np.nan, "float64", "NAN"),
        (1 - 2j, "complex128", "CMPLX(1.0, -2.0)"),
        (0.1j, "complex64", "CMPLXF(0.0f, 0.1f)"),
        (complex(-0.0, np.inf), "complex128", "CMPLX(-0.0, INFINITY)"),
    ],
)
def test_literals_are_typed(value, dtype, expected):
    dtype = np.dtype(dtype)
    assert c_literal(dtype.type(value), dtype) == expected


@given(st.integers(0, 2**32 - 1))
def test_float_digits_are_the_shortest_that_give_it_back(bits):
    value = np.frombuffer(struct.pack("<I", bits), np.float32)[0]
    literal = c_literal(value, np.dtype(np.float32))
    if np.isfinite(value):
        digits = literal.removesuffix("f")
        assert np.float32(digits) == value and np.signbit(np.float32(digits)) == np.signbit(value)
        assert significant(digits) == significant(np.format_float_scientific(value, unique=True))


def significant(digits):
    """The digits of a number without sign, point, exponent and zeros around them."""
    return digits.partition("e")[0].replace("-", "").replace(".", "").strip("0")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_double_digits_give_it_back(value):
    assert float(c_literal(value, np.dtype(np.float64))).hex() == value.hex()


def values(dtype, random):
    """Edges of a dtype and numbers of every size."""
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        drawn = random.integers(info.min, info.max, 20, dtype, endpoint=True)
        return np.append(drawn, np.array([info.min, info.max, 0, 1], dtype))
    if dtype.kind == "c":
        part = values(np.dtype(f"f{dtype.itemsize // 2}"), random)
        result = np.empty(part.shape, dtype)
        result.real, result.imag = part, part[::-1]
        return result
    info = finfo(dtype)
    some = [0, -0.0, info.max, info.tiny, info.smallest_subnormal, np.inf, -np.inf, np.nan, 0.1]
    drawn = random.standard_normal(20) * 10.0 ** random.integers(-30, 30, 20)
    with np.errstate(over="ignore"):
        return np.append(drawn, np.array(some, np.float64)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_literals_of_an_array_are_those_of_its_elements(dtype):
    drawn = values(dtype, np.random.default_rng(6))
    if dtype.kind == "f":  # NaNs with a sign and a payload, too
        bits = drawn.view(f"u{dtype.itemsize}")
        drawn = np.concatenate([drawn, (bits | bits[-2]).view(dtype), drawn[::-1]])
    assert c_literals(drawn, dtype) == [c_literal(value, dtype) for value in drawn]
    assert c_literals(drawn[::2], dtype) == [c_literal(value, dtype) for value in drawn[::2]]


def test_the_compiler_reads_every_literal_as_the_number_it_is(tmp_path):
    random = np.random.default_rng(5)
    arrays = {suffix(d): values(d, random) for d in DTYPES}
    lines = [f"#include <{name}>" for name in (*C.includes, *C.complex_includes)]
    for dtype in DTYPES:
        name = suffix(dtype)
        literals = ", ".join(c_literals(arrays[name], dtype))
        lines.append(f"extern const {C.types[dtype]} a_{name}[];")
        lines.append(
            f'__attribute__((visibility("default"))) const {C.types[dtype]} a_{name}[] = '
            f"{{{literals}}};"
        )
    (tmp_path / "literals.c").write_text("\n".join(lines) + "\n")
    options = Options(opt_level=0, extra_cflags=("-Werror",))
    compiler = toolchain.find_compiler(options)
    flags = toolchain.flags(compiler, options)
    toolchain.build_shared(compiler, tmp_path / "literals.c", tmp_path / "literals.so", flags)
    library = ctypes.CDLL(str(tmp_path / "literals.so"))
    for name, array in arrays.items():
        raw = (ctypes.c_char * array.nbytes).in_dll(library, f"a_{name}")
        found = np.frombuffer(raw, array.dtype)
        if kind_letter(array.dtype) != "f" or array.itemsize > 2:
            np.testing.assert_array_equal(found, array)
        else:
            np.testing.assert_array_equal(found.view("u2"), array.view("u2"))
        parts = [(found.real, array.real), (found.imag, array.imag)]
        for got, want in parts if array.dtype.kind in "fc" else []:
            known = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(want[known]))


def test_every_dtype_has_a_type_and_a_suffix():
    assert set(C.types) == set(DTYPES)
    assert len({suffix(d) for d in DTYPES}) == len(DTYPES)
    assert DIALECTS["c"] is C
