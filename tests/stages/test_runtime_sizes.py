"""Programs for sizes that are known when they are called: one compilation for all of them."""

import ctypes
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import run_main
from thorough import one_in

import transpile
from transpile import ShapeDtypeStruct, lax, nn
from transpile.errors import UnsupportedError
from transpile.ir.dims import evaluate

rng = np.random.default_rng(5)


def struct(*shape, dtype=np.float64):
    return ShapeDtypeStruct(shape, dtype)


def layers(x, w, b):
    return np.tanh(x @ w + b).sum(axis=0)


def distances(x, y):
    return np.sqrt(((x[:, None] - y[None]) ** 2).sum(-1))


def standardised(x):
    return (x - x.mean(0)) / (x.std(0) + 1.0), x.shape[0]


def joined(x, y):
    return np.concatenate([x, y[::-1], x[1:]]), np.stack([x[:-1], x[1:]], axis=1).reshape(-1)


FUNCTIONS = {
    "elementwise": (lambda x, y: np.exp(x) * y + x, [struct("n", 3), struct(3)]),
    "reductions": (lambda x: (x.sum(0), x.max(1), x.mean(), x.argmin()), [struct("n", "m")]),
    "a network": (layers, [struct("n", 6), struct(6, 4), struct(4)]),
    "inner products": (lambda x, y: (x @ y, y.T @ y), [struct(4, "n"), struct("n", 3)]),
    "pairs": (distances, [struct("n", 3), struct("m", 3)]),
    "a mean": (standardised, [struct("n", 5)]),
    "views": (lambda x: (x.T.reshape(-1), x[::2], x[:, ::-1], np.pad(x, 1)), [struct("n", "m")]),
    "joins": (joined, [struct("n"), struct("m")]),
    "scans": (lambda x: (np.cumsum(x), np.diff(x), np.where(x > 0, x, 0)), [struct("n")]),
    "compound extents": (lambda x, y: (x[:-1] * y, x.sum()), [struct("2*n + 1"), struct("2*n")]),
    "repeats": (lambda x: (np.repeat(x, 3), np.tile(x, 2), np.outer(x, x)), [struct("n")]),
    "products of stacks": (lambda a, b: a @ b, [struct("n", 4, 4), struct("n", 4, "m")]),
    "counts": (lambda x: (x % 3 == 1).sum(0), [struct("n", 4, dtype=np.int32)]),
}


def drawn(types, sizes):
    arrays = []
    for kind in types:
        shape = tuple(evaluate(extent, sizes) for extent in kind.shape)
        values = rng.integers(-9, 9, shape) if kind.dtype.kind == "i" else rng.normal(size=shape)
        arrays.append(values.astype(kind.dtype))
    return arrays


def assert_agree(result, expected):
    for got, wanted in zip(
        transpile.tree.leaves(result), transpile.tree.leaves(expected), strict=True
    ):
        assert np.shape(got) == np.shape(wanted)
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
@one_in(2)
def test_one_program_serves_every_size(name):
    function, types = FUNCTIONS[name]
    compiled = transpile.jit(function).lower(*types).compile()

    @settings(max_examples=25)
    @given(n=st.integers(1, 70), m=st.integers(1, 70))
    def agrees(n, m):
        args = drawn(types, {"n": n, "m": m})
        assert_agree(compiled(*args), function(*args))

    agrees()


def loss(params, x, y):
    hidden = nn.relu(x @ params["w"] + params["b"])
    return ((hidden @ params["v"] - y) ** 2).mean()


PARAMS = {"w": struct(5, 8), "b": struct(8), "v": struct(8, 2)}


def some_params():
    return {name: rng.normal(size=kind.shape) for name, kind in PARAMS.items()}


def test_a_gradient_for_batches_of_any_size():
    gradient = transpile.jit(transpile.value_and_grad(loss))
    compiled = gradient.lower(PARAMS, struct("batch", 5), struct("batch", 2)).compile()
    params = some_params()
    for batch in 1, 7, 128, 3000:
        x, y = rng.normal(size=(batch, 5)), rng.normal(size=(batch, 2))
        assert_agree(compiled(params, x, y), gradient(params, x, y))


def test_sizes_of_loops_and_maps():
    def total(x):
        mapped = transpile.vmap(lambda row: row @ row)(x)
        return lax.scan(lambda carry, a: (carry + a, carry * a), 0.0, mapped)

    compiled = transpile.jit(total).lower(struct("n", 3)).compile()
    for n in 1, 2, 50:
        x = rng.normal(size=(n, 3))
        assert_agree(compiled(x), transpile.jit(total)(x))


def test_an_array_that_a_loop_carries_is_the_result_of_an_even_number_of_iterations_too():
    def coefficients(zeros):
        def multiplied(carry, zero):
            return carry - zero * np.concatenate([np.zeros(1), carry[:-1]]), 0.0

        one = np.concatenate([np.ones(1), np.zeros(len(zeros))])
        return lax.scan(multiplied, one, zeros)[0]

    compiled = transpile.jit(coefficients).lower(struct("n")).compile()
    for n in 1, 2, 3, 4, 30:
        zeros = rng.normal(size=n)
        assert_agree(compiled(zeros), np.poly(zeros))


def test_tiles_of_rows_and_of_columns_have_bounds_of_their_own():
    def quotients(x, y):
        return np.transpose(np.floor_divide(np.clip(x, x, y), 0.1))

    types = ShapeDtypeStruct(("n",), np.uint64), ShapeDtypeStruct(("m", "n"), np.bool_)
    compiled = transpile.jit(quotients).lower(*types).compile()
    for n, m in (8, 33), (40, 70):
        x, y = rng.integers(0, 10, n).astype(np.uint64), rng.random((m, n)) < 0.5
        np.testing.assert_array_equal(compiled(x, y), quotients(x, y))


def test_results_of_calls_in_python_and_in_c_are_the_same():
    function = transpile.jit(lambda x, y: (x[:, None] * y).sum(1))
    compiled = function.lower(struct("n"), struct("m")).compile()
    pairs = [(rng.normal(size=n), rng.normal(size=m)) for n, m in [(3, 4), (4, 3), (100, 2)]]
    first = [compiled(x, y) for x, y in pairs]
    for _ in range(300):
        for (x, y), expected in zip(pairs, first, strict=True):
            assert np.array_equal(compiled(x, y), expected)


def test_contradictory_shapes_are_named():
    compiled = transpile.jit(lambda x, y: x + y).lower(struct("n", 2), struct("n", 2)).compile()
    with pytest.raises(
        TypeError, match=r"axis 0 of 'y' is n, which is 3 \(n is 3 in axis 0 of 'x'"
    ):
        compiled(np.ones((3, 2)), np.ones((4, 2)))
    with pytest.raises(
        TypeError, match=r"'x' compiled with float64\[n,2\] and called with float64\[3\]"
    ):
        compiled(np.ones(3), np.ones((3, 2)))


def test_a_size_out_of_its_range_is_refused():
    compiled = transpile.jit(lambda x: x.max()).lower(struct("n")).compile()
    with pytest.raises(ValueError, match="n is less than 1"):
        compiled(np.ones(0))


def test_extents_that_are_not_known_to_be_equal_do_not_broadcast():
    with pytest.raises(ValueError, match=r"\(n,\) \(m,\)|n,\) and \(m"):
        transpile.jit(lambda x, y: x + y).lower(struct("n"), struct("m"))


def test_a_name_that_c_has_is_refused():
    with pytest.raises(
        UnsupportedError, match=r"int cannot be the name of a runtime size.*int_ can"
    ):
        transpile.jit(lambda x: x + 1).lower(struct("int")).as_text()


def test_arguments_and_loops_go_out_of_the_way_of_sizes():
    def f(n, out, i):
        return n[:, None] * i + out

    types = struct("i"), struct("n"), struct("n")
    compiled = transpile.jit(f).lower(*types).compile()
    args = rng.normal(size=4), rng.normal(size=3), rng.normal(size=3)
    assert_agree(compiled(*args), f(*args))


def test_prints_of_programs_with_sizes(capfd):
    def f(x):
        transpile.debug.print("{} elements end with {}", x.shape[0], x[-1])
        return x * 2

    compiled = transpile.jit(f).lower(struct("n")).compile()
    for _ in range(3):
        compiled(np.arange(5.0))
    assert capfd.readouterr().out.count("5 elements end with 4.0") == 3


def test_pickles_have_their_sizes():
    compiled = transpile.jit(lambda x: x.sum(0)).lower(struct("n", 2)).compile()
    again = pickle.loads(pickle.dumps(compiled))
    assert_agree(again(np.ones((9, 2))), np.array([9.0, 9.0]))


def test_the_sizes_that_a_compiled_function_knows_are_bounded():
    compiled = transpile.jit(lambda x: x + 1).lower(struct("n")).compile()
    for n in (*range(1, 400), 1, 399):
        assert compiled(np.ones(n)).shape == (n,)
    assert len(compiled.calls.table.known) == 256


def test_memory_is_told_for_sizes():
    compiled = transpile.jit(lambda x: np.exp(x).T @ x).lower(struct("n", 3)).compile()
    memory = compiled.memory_analysis(n=10)
    assert memory.argument_size_in_bytes == 10 * 3 * 8
    assert memory.output_size_in_bytes == 9 * 8
    with pytest.raises(TypeError, match=r"memory_analysis takes the runtime sizes n, not m, k"):
        compiled.memory_analysis(m=3, k=2)


C_PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>

#include "pairs.h"

int main(void)
{
    const int64_t n[] = {1, 4, 50}, m[] = {3, 1, 80};
    for (int k = 0; k < 3; k++) {
        double *x = malloc(sizeof(double[3]) * (size_t)n[k]);
        double *y = malloc(sizeof(double[3]) * (size_t)m[k]);
        double *out = malloc(sizeof(double) * (size_t)(n[k] * m[k]));
        void *workspace = malloc(pairs_workspace_size(n[k], m[k]) + 1);
        for (int64_t i = 0; i < 3 * n[k]; i++) {
            x[i] = (double)(i % 7);
        }
        for (int64_t i = 0; i < 3 * m[k]; i++) {
            y[i] = (double)(i % 5) / 2;
        }
        double low;
        const int code = pairs(n[k], m[k], x, y, out, &low, workspace);
        double sum = 0;
        for (int64_t i = 0; i < n[k] * m[k]; i++) {
            sum += out[i];
        }
        printf("%d %.9f %.9f\n", code, sum, low);
        free(x);
        free(y);
        free(out);
        free(workspace);
    }
    const int64_t much = (int64_t)1 << 40;
    printf("%s\n", pairs_error(pairs(0, 1, NULL, NULL, NULL, NULL, NULL)));
    printf("%s\n", pairs_error(pairs(much, -1, NULL, NULL, NULL, NULL, NULL)));
    printf("%s\n", pairs_error(pairs(much, much, NULL, NULL, NULL, NULL, NULL)));
    return 0;
}
"""


def pairs(x, y):
    d = distances(x, y)
    return d / d.sum(1, keepdims=True), d.min()


def test_a_c_program_calls_it_with_several_sizes(tmp_path):
    library = transpile.jit(pairs).lower(struct("n", 3), struct("m", 3)).save(tmp_path)[0]
    lines = run_main(tmp_path, library.with_suffix(""), C_PROGRAM)
    for line, (n, m) in zip(lines, [(1, 3), (4, 1), (50, 80)], strict=False):
        x = (np.arange(3 * n) % 7.0).reshape(n, 3)
        y = (np.arange(3 * m) % 5 / 2).reshape(m, 3)
        out, low = pairs(x, y)
        assert line == f"0 {out.sum():.9f} {low:.9f}"
    assert lines[3:] == [
        "n is less than 1, or arrays would be too large",
        "m is less than 1, or arrays would be too large",
        f"out_0, float64[n, m], has more than {2**56} bytes",
    ]


def told(x):
    transpile.debug.print("sum {s} of {x}", s=x.sum(), x=x)
    doubled = transpile.pure_callback(lambda v: 2 * v, ShapeDtypeStruct(x.shape, x.dtype), x)
    return doubled + 1


TWICE = r"""
#include <stdio.h>
#include <stdlib.h>

#include "told.h"

static int twice(void *context, int place, const void *const *values, void *const *results)
{
    const int64_t n = *(const int64_t *)context;
    if (place == 1)
        for (int64_t k = 0; k < n; k++)
            ((double *)results[0])[k] = 2 * ((const double *)values[0])[k];
    return 0;
}

int main(void)
{
    for (int64_t n = 1; n < 9; n += 7) {
        double x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8];
        void *workspace = malloc(told_workspace_size(n));
        int code = told_with_callback(n, x, out, workspace, twice, &n);
        printf("%d %g\n", code, out[n - 1]);
        code = told(n, x, out, workspace);
        printf("%d\n", code);
        free(workspace);
    }
    return 0;
}
"""


def test_callbacks_take_arrays_of_runtime_sizes(tmp_path, capsys):
    compiled = transpile.jit(told).lower(struct("n")).compile()
    for n in (1, 4, 1):
        assert_agree(compiled(np.arange(1.0 * n)), 2 * np.arange(1.0 * n) + 1)
    assert capsys.readouterr().out.splitlines()[1] == "sum 6.0 of [0. 1. 2. 3.]"
    library = compiled.save(tmp_path)[0]
    lines = run_main(tmp_path, library.with_suffix(""), TWICE)
    assert lines == ["0 3", "sum 1 of float64[n]", "2", "0 17", "sum 36 of float64[n]", "2"]
    with pytest.raises(UnsupportedError, match="arrays whose length depends on values"):
        transpile.jit(lambda x: told(x[x > 0]))(np.ones(3))


def test_windows_of_a_runtime_number_are_taken_from_memory():
    """What a convolution computes of the longer vector, and of the shorter one, is not computed for
    each window again."""

    def products(x, y):
        return np.convolve(x, y, "valid")

    types = [ShapeDtypeStruct((name,), np.float64) for name in ("n", "m")]
    lowered = transpile.jit(products).lower(*types)
    assert re.search(r"acc_own \+= t\d*\[16 \* group \+ i \+ j\] \* t\d*\[", lowered.as_text())
    program = lowered.compile()
    for n, m in ((3, 7), (7, 3), (1, 1), (40, 17)):
        x, y = np.arange(1.0, n + 1), np.arange(m) - 2.0
        np.testing.assert_array_equal(program(x, y), np.convolve(x, y, "valid"))


PRODUCTS = {
    "argwhere": lambda a: np.argwhere(a > 0).sum(0),
    "flat": lambda a: np.concatenate([a.ravel(), a[0]]),
    "kron": lambda a: np.kron(a, a),
    "half": lambda a: np.repeat(a.ravel()[::2], 3).reshape(-1, 3),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("power", [32, 40, 56])
@one_in(3)
def test_products_that_overflow_are_refused(tmp_path, name, power):
    """2**32 * 2**32 is 0 in 64 bits."""
    lowered = transpile.jit(PRODUCTS[name]).lower(struct("n", "m"))
    library = ctypes.CDLL(lowered.save(tmp_path, name="product")[0])
    size, pointers = ctypes.c_int64(2**power), [None] * 4
    code = library.product(size, size, *pointers)
    library.product_error.restype = ctypes.c_char_p
    assert code < 0
    assert b"has more than" in library.product_error(code)
    assert library.product_workspace_size(size, size) == 0


TIED = {
    "max": lambda x: x.max(),
    "max of a list": lambda x: max(x),
    "min, default": lambda x: min(x, default=3.0),
    "max, initial": lambda x: np.max(x, initial=2.0),
    "min, where": lambda x: np.min(x, where=x > 1, initial=9.0),
    "median": np.median,
    "percentile": lambda x: np.percentile(x, 30),
    "sort": lambda x: (np.sort(x) * np.arange(x.size)).sum(),
    "prod": lambda x: (x - 1).prod(),
    "rows": lambda x: np.max(np.stack([x, x, x[::-1]]), axis=0).sum(),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 3).max(1).sum(),
}


@pytest.mark.parametrize("name", TIED)
def test_equal_elements_share_a_derivative_as_in_a_program_of_known_sizes(name):
    slope = transpile.grad(TIED[name])
    (n,) = transpile.dims("n", "n >= 3")
    compiled = transpile.jit(slope).lower(ShapeDtypeStruct((n,), np.float64)).compile()
    for x in ([2.0, 2, 2, 2], [1.0, 2, 2, 2, 1], [2.0, 1, 1, 3, 3, 1, 3], [1.0] * 6 + [2] * 5):
        found = compiled(np.array(x))
        np.testing.assert_allclose(found, transpile.jit(slope)(np.array(x)), rtol=1e-14)
