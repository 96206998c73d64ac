"""Programs without a C library, and without numbers of double precision."""

import ctypes
import re
import subprocess

import numpy as np
import pytest
from programs import needs

import transpile
from transpile import ShapeDtypeStruct
from transpile.errors import UnsupportedError

SINGLE = np.ones((8, 4), np.float32)
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Werror"]


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def lowered(f, *args, **options):
    options = {"freestanding": True, **options}
    return transpile.jit(f, compiler_options=options).lower(*args)


@needs("gcc", "nm")
def test_nothing_but_mathematics_is_called(tmp_path):
    """Also for an array that is copied, and one that is filled; the C compiles without warnings,
    and without a value of double precision."""

    def f(x, k):
        y = np.concatenate([x, np.zeros((2, 4), np.float32)])
        return softmax(y), np.sqrt(y).sum(), np.sort(y, axis=0)[k], np.floor(x), np.tanh(x) @ x.T

    program = lowered(f, SINGLE, np.zeros(3, np.int32), float_only=True)
    folder = tmp_path
    for name, data in program._lowering.sources().items():
        (folder / name).write_bytes(data)
    text = (folder / "f.c").read_text()
    assert re.findall(r"#include <(\w+)", text) == ["math", "stdbool", "stddef", "stdint"]
    header = (folder / "f.h").read_text()
    assert "stdlib" not in header and "transpile_array" not in header and "threads" not in header
    subprocess.run(["gcc", "-O2", *STRICT, "-c", "f.c"], cwd=folder, check=True)
    said = subprocess.check_output(["nm", "-u", "f.o"], cwd=folder, text=True)
    mathematics = {"floorf", "sqrtf", "rintf", "nearbyintf", "fmaf", "_GLOBAL_OFFSET_TABLE_"}
    assert {*said.split()} - {"U"} <= mathematics | {"memcpy", "memset", "memcmp", "memmove"}


def test_results_are_those_of_other_programs():
    want = transpile.jit(softmax)(SINGLE)
    got = transpile.jit(softmax, compiler_options={"freestanding": True})(SINGLE)
    np.testing.assert_array_equal(got, want)


def test_the_workspace_is_a_number(tmp_path):
    (n,) = transpile.dims("n", "n <= 16")

    def f(x):
        return np.cumsum(np.sort(x)[::-1] + x.sum())

    sizes = [lowered(f, ShapeDtypeStruct((k,), np.float32)) for k in (16, n, "m")]
    headers = [one._lowering.sources()["f.h"].decode() for one in sizes]
    macros = [re.findall(r"#define f_WORKSPACE_BYTES (\d+)", header) for header in headers]
    assert 0 < int(macros[0][0]) <= int(macros[1][0]) and macros[2] == []
    assert "static unsigned char f_workspace[f_WORKSPACE_BYTES]" in headers[0]


def test_what_needs_a_library_is_refused():
    def shown(x):
        transpile.debug.print("{}", x)
        return x

    with pytest.raises(UnsupportedError, match=r"shown calls .* of Python, or prints: it is not"):
        lowered(shown, SINGLE).as_text()

    with pytest.raises(UnsupportedError, match="calls a library for linear algebra"):
        lowered(np.linalg.inv, np.eye(2)).as_text()


@needs("gcc", "nm")
def test_an_exception_is_a_code_and_its_text(tmp_path):
    """Nobody is called, not for the values of its text either; Python's own call raises it."""

    def root(x, k):
        if x.sum() < 0:
            raise ValueError(f"no root of {x}")
        for i in range(k):
            if x[0, i] > 9:
                raise OverflowError("too large")
        return np.sqrt(x)

    program = lowered(root, SINGLE, np.int32(3), float_only=True)
    for name, data in program._lowering.sources().items():
        (tmp_path / name).write_bytes(data)
    assert "callback *" not in (tmp_path / "root.c").read_text() + (tmp_path / "root.h").read_text()
    subprocess.run(["gcc", "-O2", *STRICT, "-c", "root.c"], cwd=tmp_path, check=True)
    said = subprocess.check_output(["nm", "-u", "root.o"], cwd=tmp_path, text=True)
    assert {*said.split()} <= {"U", "sqrtf", "memcpy", "_GLOBAL_OFFSET_TABLE_"}
    library, *_ = program.save(tmp_path / "library")
    c = ctypes.CDLL(str(library))
    c.root_error.restype = ctypes.c_char_p
    workspace, out = np.zeros(4096, np.uint8), np.zeros((8, 4), np.float32)

    def code(x, k):
        arrays = x, np.array(k, np.int32), out, workspace
        return c.root(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))

    large = np.where(np.arange(4) == 2, np.float32(10), SINGLE)
    codes = [code(SINGLE, 3), code(-SINGLE, 3), code(large, 2), code(large, 3)]
    assert codes == [0, 1001, 0, 1002]
    texts = [c.root_error(number) for number in (1001, 1002)]
    assert texts == [b"ValueError: no root of {}", b"OverflowError: too large"]
    with pytest.raises(OverflowError, match="too large"):
        transpile.jit(root, compiler_options={"freestanding": True})(large, np.int32(3))


def test_absolute_values_of_complex_numbers_are_computed_in_single_precision():
    f = transpile.jit(np.abs, compiler_options={"float_only": True})
    text = f.lower(np.ones(3, np.complex64)).as_text()
    assert "sqrtf(" in text and "double" not in text[text.index("hypot_single_f32") :]
    scales = 2.0 ** np.arange(-149, 128)
    x = np.float32(scales * 1.4) + 1j * np.float32(scales[::-1] * 0.7)
    x = np.concatenate([x, x.real * (1 + 0.75j), x.real[60:] * (1 + 1e-9j)]).astype(np.complex64)
    exact = np.hypot(x.real.astype(float), x.imag.astype(float))
    fits = exact < np.finfo("f4").max
    np.testing.assert_array_less(
        np.abs(f(x)[fits] - exact[fits]), 1.01 * np.spacing(exact[fits].astype("f4"))
    )
    odd = np.array([complex(np.inf, np.nan), complex(np.nan, -np.inf), complex(np.nan, 1), 0j])
    np.testing.assert_array_equal(f(odd.astype(np.complex64)), [np.inf, np.inf, np.nan, 0])


def test_the_first_double_is_named():
    def mean(x, weights):
        total = (x * np.float32(2)).sum()
        return total / np.arange(1.0, 5.0)[2] * weights.sum()

    def scaled(x):
        return x * np.float64(3)

    def looped(x):
        return transpile.lax.fori_loop(0, 3, lambda i, s: s + x.sum() / (i + 1), 0.0)

    ints = np.ones(3, np.int32)
    with pytest.raises(UnsupportedError, match=r"its argument weights is of double precision"):
        lowered(mean, SINGLE, np.ones(4), float_only=True).as_text()
    line = r"scaled is not float_only: `return x \* np.float64\(3\)` \(.*py:\d+\) gives numbers"
    with pytest.raises(UnsupportedError, match=line):
        lowered(scaled, SINGLE, float_only=True).as_text()
    with pytest.raises(UnsupportedError, match=r"`return .*fori_loop.*of double precision"):
        lowered(looped, ints, float_only=True).as_text()
    with pytest.raises(
        UnsupportedError, match=r"sin_in_lanes_f32 computes in double .*precise_math=True"
    ):
        lowered(np.sin, SINGLE, float_only=True).as_text()
    assert "sinf(" in lowered(np.sin, SINGLE, float_only=True, precise_math=True).as_text()
    assert "double" not in lowered(softmax, SINGLE, float_only=True).as_text()
