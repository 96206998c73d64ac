"""Axes of a size that is 1 or another one, as was declared, broadcast as NumPy's would at the time
of the call: in programs, derivatives, batches, saved libraries and C."""

import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from programs import run_main
from thorough import one_in

import transpile
from transpile import ShapeDtypeStruct, dims
from transpile.artifact import Library

SIZES = [(1, 1), (1, 4), (4, 4), (2, 2), (1, 50), (50, 50)]
EMPTY = [(0, 0), (1, 0)]


def types(*more, columns=3):
    n, m = dims("n, m", "n == m or n == 1", *more)
    return [ShapeDtypeStruct((size, columns), np.float64) for size in (n, m)]


def arguments(n, m):
    rng = np.random.default_rng(n + m)
    return rng.normal(size=(n, 3)), rng.normal(size=(m, 3))


def assigned(x, y):
    out = y + 0
    out[...] = x
    out += x
    return out


def of_numpy(x, y):
    return (
        x + y,
        (x * y).sum(axis=0),
        np.where(y > 0, x, y),
        np.broadcast_to(x, y.shape)[::-1],
        np.stack(np.broadcast_arrays(y, x)),
        x[:, :, None] @ y[:, None, :],
        np.exp(x)[:, 0] - y[:, 1],
        assigned(x, y),
        x * 2,
    )


def loss(x, y):
    return (np.sin(x) * y + x**2 * y).sum()


def transformed(x, y):
    return (
        *transpile.grad(loss, (0, 1))(x, y),
        transpile.hessian(loss)(x, y),
        transpile.jvp(lambda x: x * y, (x,), (np.cos(x),))[1],
        transpile.vmap(lambda a, b: (a * b).sum(), (1, 1))(x, y),
        transpile.vmap(transpile.grad(lambda a, b: (a * b**2).sum()), (1, 1))(x, y),
        transpile.jacobian(lambda x: x[:, 0] * y[:, 0])(x),
    )


@pytest.mark.parametrize("may_be_empty", [False, True])
@pytest.mark.parametrize("f", [of_numpy, transformed])
@one_in(2)
def test_an_axis_of_one_element_broadcasts(f, may_be_empty):
    constraints = ["n >= 0", "m >= 0"] if may_be_empty else []
    compiled = transpile.jit(f).lower(*types(*constraints)).compile()
    expected = f if f is of_numpy else transpile.jit(f)
    for n, m in SIZES + EMPTY * may_be_empty:
        x, y = arguments(n, m)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for got, wanted in zip(compiled(x, y), expected(x, y), strict=True):
                assert got.shape == wanted.shape
                np.testing.assert_allclose(got, wanted, 1e-12, 1e-12)
    for n, m in (3, 5), (5, 1):
        with pytest.raises(ValueError, match=r"n is neither 1 nor m: m is . in axis 0 of 'y', n"):
            compiled(*arguments(n, m))


EITHER = "n == m or n == 1 or m == 1"


def either(x, y):
    return x + y, y * x + x, np.stack(np.broadcast_arrays(y, x))


def gradients_of_loss(x, y):
    """By hand."""
    whole = np.cos(x) * y + 2 * x * y, np.sin(x) + x**2 + 0 * y
    pairs = zip(whole, (x, y), strict=True)
    return tuple(g if g.shape == a.shape else g.sum(0, keepdims=True) for g, a in pairs)


@pytest.mark.parametrize("may_be_empty", [False, True])
@one_in(2)
def test_either_of_two_axes_may_have_one_element(may_be_empty):
    n, m = dims("n, m", EITHER, *["n >= 0", "m >= 0"] * may_be_empty)
    structs = [ShapeDtypeStruct((size, 3), np.float64) for size in (n, m)]
    jitted = transpile.jit(lambda x, y: (*either(x, y), *transpile.grad(loss, (0, 1))(x, y)))
    compiled = jitted.lower(*structs).compile()
    sizes = SIZES + [(4, 1), (50, 1)] + [*EMPTY, (0, 1)] * may_be_empty
    for n, m in sizes:
        x, y = arguments(n, m)
        expected = *either(x, y), *gradients_of_loss(x, y)
        for got, wanted in zip(compiled(x, y), expected, strict=True):
            assert got.shape == wanted.shape
            np.testing.assert_allclose(got, wanted, 1e-12, 1e-12)
    with pytest.raises(ValueError, match="m and n are neither equal, nor is one of them 1: m is 5"):
        compiled(*arguments(3, 5))


def test_a_kernel_has_a_version_for_each_of_two_axes_and_c_checks_both():
    structs = [ShapeDtypeStruct((size,), float) for size in dims("n, m", EITHER)]
    lowered = transpile.jit(np.multiply).lower(*structs)
    text = lowered.as_text()
    assert "if (m != n && m != 1 && n != 1) {" in text
    for product in "x1[i] * x2[i]", "x1[i] * x2[0]", "x1[0] * x2[i]", "x1[0] * x2[0]":
        assert product in text


def test_the_other_size_may_be_a_number_or_an_expression():
    (n,) = dims("n", "n == 1 or n == 5")
    compiled = (
        transpile.jit(lambda x: x + np.arange(5)).lower(ShapeDtypeStruct((n,), float)).compile()
    )
    np.testing.assert_array_equal(compiled(np.ones(1)), np.arange(1.0, 6))
    np.testing.assert_array_equal(compiled(np.ones(5)), np.arange(1.0, 6))
    with pytest.raises(ValueError, match="n is neither 1 nor 5"):
        compiled(np.ones(4))
    n, m = dims("n, m", "n == 2*m or n == 1", "m % 4 == 0")
    structs = [ShapeDtypeStruct((size,), float) for size in (n, m)]
    compiled = transpile.jit(lambda x, y: x * np.concatenate([y, y])).lower(*structs).compile()
    for size in 1, 8:
        x, y = np.arange(1.0, size + 1), np.arange(4.0)
        np.testing.assert_array_equal(compiled(x, y), x * np.concatenate([y, y]))


def test_sizes_of_jitted_calls_broadcast():
    n, m = dims("n, m", "n == m or n == 1")
    traced = []

    @transpile.jit(dynamic_shapes={"x": (n,), "y": (m,)})
    def total(x, y):
        traced.append(x.shape)
        return x + y

    for x, y in (np.ones(1), np.arange(4.0)), (np.arange(3.0), np.ones(3)):
        np.testing.assert_array_equal(total(x, y), x + y)
    assert len(traced) == 1


def test_what_does_not_broadcast_says_what_to_declare():
    structs = [ShapeDtypeStruct((size,), float) for size in "nm"]
    with pytest.raises(ValueError, match=r"transpile.dims\('m, n', 'm == n or m == 1'\) says so"):
        transpile.jit(np.add).lower(*structs)
    with pytest.raises(ValueError, match=r"transpile.dims\('n', 'n == 3 or n == 1'\) says so"):
        transpile.jit(lambda x: x + np.ones(3)).lower(structs[0])
    for text in "n == m or n < 1", "n == m or n", "(n == 1 or m == 1) and n == 2":
        with pytest.raises(ValueError, match="is no constraint of sizes"):
            dims("n, m", text)


def test_a_kernel_has_a_version_for_each_stride():
    gradient = transpile.grad(loss, (0, 1))
    text = transpile.jit(gradient).lower(*types(columns=1)).as_text("loops")
    vectors_and_blocks = r"// (4096|8\b)"
    assert "//" not in re.sub(vectors_and_blocks, "", text.split("kernel", 1)[1])
    assert "if greater_equal((n), 2)" in text
    assert "x[0, 0]" in text and "x[i, 0]" in text


C_PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>

#include "scaled.h"

int main(void)
{
    const double x[] = {2, 3, 4}, y[] = {5, 6, 7};
    double out[3] = {0, 0, 0}, dx[3] = {0, 0, 0};
    const int64_t n[] = {1, 3, 2, 1}, m[] = {3, 3, 3, 0};
    void *workspace = malloc(scaled_workspace_size(3, 3) + scaled_workspace_size(1, 3) + 1);
    for (int k = 0; k < 4; k++) {
        const int code = scaled(n[k], m[k], x, y, out, dx, workspace);
        printf("%s %g %g %g %g %g\n", scaled_error(code), out[0], out[1], out[2], dx[0], dx[1]);
    }
    free(workspace);
    return 0;
}
"""


def scaled(x, y):
    return x * y, transpile.grad(lambda x: (x * y).sum())(x)


def test_a_saved_program_broadcasts(tmp_path):
    n, m = dims("n, m", "n == m or n == 1")
    lowered = transpile.jit(scaled).lower(*(ShapeDtypeStruct((s,), float) for s in (n, m)))
    library = lowered.save(tmp_path)[0]
    assert run_main(tmp_path, library.with_suffix(""), C_PROGRAM) == [
        "success 10 12 14 18 0",
        "success 10 18 28 5 6",
        "n is neither 1 nor m 10 18 28 5 6",
        "m is less than 1, or arrays would be too large 10 18 28 5 6",
    ]
    Library("broadcasts", {"scaled": lowered}).write(tmp_path, ["python"])
    program = (
        "import numpy as np, broadcasts\n"
        "print(broadcasts.scaled(np.full(1, 2.0), np.arange(3.0)))\n"
        "try: broadcasts.scaled(np.ones(2), np.ones(3))\n"
        "except ValueError as error: print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines() == [
        "(array([0., 2., 4.]), array([3.]))",
        "scaled: n is neither 1 nor m",
    ]
