"""Programs for sizes with constraints: what they settle, sizes of 0, and what a call is told."""

import itertools
import warnings

import numpy as np
import pytest
from programs import run_main, run_sanitized
from thorough import thorough

import transpile
from transpile import ShapeDtypeStruct, dims, tree
from transpile.errors import UndecidedSizeError


def struct(*shape):
    return ShapeDtypeStruct(shape, np.float64)


def parts(x, y, z):
    n = x.shape[0]
    return x.reshape(-1, 4).sum(1), (y.reshape(2, n) * x).sum(0), z[:n] + x, x[::-4]


CONSTRAINTS = "n % 8 == 0", "1 <= n <= 4096", "m == 2*n", "n <= p", "n*p <= 1000000"


def types_of_parts():
    n, m, p = dims("n, m, p", *CONSTRAINTS)
    return struct(n), struct(m), struct(p)


def test_constraints_settle_shapes():
    compiled = transpile.jit(parts).lower(*types_of_parts()).compile()
    for n, p in (8, 8), (16, 30), (96, 97):
        x, y, z = np.arange(n) * 1.0, np.arange(2 * n) * 1.0, np.arange(p) * 1.0
        for got, expected in zip(compiled(x, y, z), parts(x, y, z), strict=True):
            np.testing.assert_array_equal(got, expected)
    for (n, m, p), error, text in [
        ((16, 32, 15), ValueError, "n <= p does not hold: n is 16 in axis 0 of 'x', p is 15"),
        ((12, 24, 24), TypeError, "axis 0 of 'x' is n with n % 8 == 0, which cannot be 12"),
        ((16, 33, 16), TypeError, "axis 0 of 'y' is 2\\*n, which is 32"),
        ((8000, 16000, 8000), ValueError, "n is more than 4096: n is 8000 in axis 0 of 'x'"),
        ((4096, 8192, 5000), ValueError, "n\\*p <= 1000000 does not hold"),
    ]:
        with pytest.raises(error, match=text):
            compiled(np.ones(n), np.ones(m), np.ones(p))


C_PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>

#include "parts.h"

int main(void)
{
    static double x[4096], y[8192], z[5000], a[1024], b[4096], c[4096], d[1024];
    const int64_t n[] = {8, 12, 8000, 16, 4096, 0}, p[] = {8, 12, 8000, 15, 5000, 0};
    for (int k = 0; k < 6; k++) {
        printf("%s\n", parts_error(parts(n[k], p[k], x, y, z, a, b, c, d, NULL)));
    }
    const int64_t much = (int64_t)1 << 50;
    printf("%s\n", parts_error(parts(4096, much, x, y, z, a, b, c, d, NULL)));
    return 0;
}
"""


def test_c_is_told_what_does_not_hold(tmp_path):
    lowered = transpile.jit(parts).lower(*types_of_parts())
    library = lowered.save(tmp_path)[0]
    multiple = "n is not a multiple of 8 from 8 to 4096"
    product = "n*p <= 1000000 does not hold"
    assert run_main(tmp_path, library.with_suffix(""), C_PROGRAM) == [
        *("success", multiple, multiple, "n <= p does not hold", product, multiple, product)
    ]


def rowwise(function, x):
    """What is mapped over rows, of which there may be none, is not run in every call."""
    return transpile.vmap(function)(x)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x, y: rowwise(lambda z: x.max(), y), "reduce_max .* needs 1 <= "),
        (lambda x, y: rowwise(lambda z: x.argmin(0), y), "argmin over .*dims\\('n', '1 <= n'\\)"),
        (
            lambda x, y: rowwise(lambda z: x[0, 0], y),
            "the index 0 of an axis of size n needs 1 <= n",
        ),
        (lambda x, y: rowwise(lambda z: y[4, 0], x), "the index 4 of an .* m needs 5 <= m"),
        (lambda x, y: rowwise(lambda z: y[-2, 0], x), "needs 0 <= m - 2.*'2 <= m'"),
        (lambda x, y: x if len(x) < len(y) else y, "neither true nor false.*'n < m'"),
    ],
)
def test_what_is_not_known_of_a_size_is_asked_for(function, text):
    n, m = dims("n, m", "n >= 0")
    with pytest.raises(UndecidedSizeError, match=text):
        transpile.jit(function).lower(struct(n, 3), struct(m, 3))


def test_a_step_that_turns_out_to_be_0_is_numpy_s_error():
    n, m = dims("n, m", "n >= 0", "m >= 0")

    def steps(x, y):
        every = len(y)
        return x[::every], x[::-every], x[5 : 1 : -(every // 2 + every % 2)]

    compiled = transpile.jit(steps).lower(struct(n), struct(m)).compile()
    for size, every in itertools.product((0, 1, 7), (1, 2, 5)):
        x, y = np.arange(1.0, size + 1), np.ones(every)
        for found, expected in zip(compiled(x, y), steps(x, y), strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)
        with pytest.raises(ValueError, match="slice step cannot be zero"):
            compiled(x, np.ones(0))


def zeroed(x, part):
    x = x.copy()
    x[part] = 0
    return x


COUNTED = {
    "slices": lambda x, y: (x[: x.size - 5], x[x.size - 5 :], x[-y.size :], x[: -y.size : 2]),
    "differences": lambda x, y: (x[x.size - y.size :], x[x.size // 2 - 2 : y.size - 3]),
    "backwards": lambda x, y: (x[x.size - 5 :: -1], x[: x.size - 5 : -1], x[-1 - y.size :: -1]),
    "element": lambda x, y: x[x.size - 5],
    "element from the end": lambda x, y: x[-y.size],
    "elements of axes": lambda x, y: np.outer(x, y)[x.size - 4, y.size - 3 :],
    "assignment": lambda x, y: zeroed(x, slice(x.size - 3, None)) + zeroed(x, slice(-y.size)),
    "insert": lambda x, y: (np.insert(x, -2, 9.0), np.insert(x, x.size - 3, 9.0)),
    "insert from the end": lambda x, y: np.insert(x, -y.size, 9.0),
    "delete": lambda x, y: np.delete(x, x.size - 3),
}


@pytest.mark.parametrize("least", [0, 1])
@pytest.mark.parametrize("name", COUNTED)
def test_indices_that_turn_out_less_than_0_count_from_the_end(name, least):
    function = COUNTED[name]
    n, m = dims("n, m", "n >= 0", f"m >= {least}")
    types = (ShapeDtypeStruct((size,), np.float64) for size in (n, m))
    compiled = transpile.jit(function).lower(*types).compile()
    for count, further in itertools.product((0, 1, 2, 3, 4, 5, 6, 9), (0, 1, 2, 4, 7)):
        if further < least:
            continue
        x, y = np.arange(1.0, count + 1), np.arange(2.0, further + 2)
        try:
            expected = function(x, y)
        except IndexError:
            with pytest.raises(IndexError, match="is out of bounds for axis"):
                compiled(x, y)
            continue
        found = compiled(x, y)
        for one, other in zip(tree.leaves(found), tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(one, other)


def test_slices_of_differences_have_derivatives_and_are_mapped():
    def energy(x):
        return (x[: x.size - 2] ** 2).sum()

    (n,) = dims("n", "n >= 0")

    def both(x):
        return transpile.grad(energy)(x), transpile.vmap(energy)(x * x[:, None])

    compiled = transpile.jit(both).lower(ShapeDtypeStruct((n,), np.float64)).compile()
    for count in (0, 1, 2, 3, 8):
        x = np.arange(1.0, count + 1)
        slope, mapped = compiled(x)
        expected = np.zeros(count)
        expected[: count - 2] = 2 * x[: count - 2]
        np.testing.assert_array_equal(slope, expected)
        np.testing.assert_allclose(mapped, [energy(row) for row in x * x[:, None]])


def elements(x, y):
    """What NumPy refuses of short arrays, in the order of the lines."""
    total = x.max() + y[1] * y[-3]
    for k in range(8):
        total = total + x[k % 4] * y[k // 4]
    return total, np.partition(y, 3)[3], np.delete(x, 2)


def test_calls_refuse_what_numpy_refuses():
    n, m = dims("n, m", "n >= 0", "m >= 0")
    lowered = transpile.jit(elements).lower(struct(n), struct(m))
    # One for each axis, and one behind np.partition, which takes any array without elements.
    assert lowered.as_text().count("IndexError: index") == 3
    compiled = lowered.compile()
    x = np.arange(9.0)
    for found, expected in zip(compiled(x, x[:5]), elements(x, x[:5]), strict=True):
        np.testing.assert_allclose(found, expected)
    for n, m, error, text in [
        (0, 9, ValueError, "zero-size array to reduction operation maximum which has no identity"),
        (3, 9, IndexError, "index 3 is out of bounds for axis 0 with size n"),
        (9, 2, IndexError, "index -3 is out of bounds for axis 0 with size m"),
        (9, 3, ValueError, r"kth\(=3\) out of bounds \(m\)"),
    ]:
        with pytest.raises(error, match=text):
            compiled(x[:n], x[:m])
        with pytest.raises(error):
            elements(x[:n], x[:m])


def pairs(x):
    return np.concatenate([x, x[:1]]).reshape(-1, 2)


def test_calls_refuse_sizes_that_a_number_does_not_divide():
    of_all = transpile.jit(pairs).lower(struct("n")).compile()
    for f in of_all, transpile.jit(pairs, dynamic_shapes=True):
        for n in 5, 1, 7:
            np.testing.assert_array_equal(f(np.arange(n) * 1.0), pairs(np.arange(n) * 1.0))
        with pytest.raises(ValueError, match=r"cannot reshape array of size n\w* \+ 1 into shape"):
            f(np.ones(4))


def in_statements(x, y):
    total = x[5] if len(x) > 5 else x[0] + x[-1]
    for k in range(len(y)):
        if y[k] > 0:
            y[k] = x[2]
            x[-3] += y[k]
    return total


def test_statements_need_no_constraints_for_what_they_do_not_read():
    compiled = transpile.jit(in_statements).lower(struct("n"), struct("m")).compile()
    for n in 1, 2, 5, 6, 9:
        x, y = np.arange(n) + 1.0, np.array([2.0, 0.0, 3.0]) * (n >= 3)
        x2, y2 = x.copy(), y.copy()
        assert compiled(x, y) == in_statements(x2, y2)
        np.testing.assert_array_equal(x, x2)
        np.testing.assert_array_equal(y, y2)
    with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size n"):
        compiled(np.ones(2), np.ones(3))


def test_refusals_go_through_derivatives_and_calls():
    n, m = dims("n, m", "n >= 0", "m >= 0")
    slope = transpile.grad(lambda x, y: transpile.jit(elements)(x, y)[0])
    compiled = transpile.jit(slope).lower(struct(n), struct(m)).compile()
    x = np.arange(6.0)
    expected = np.array([x[0] + x[1]] * 4 + [0, 1.0])
    np.testing.assert_allclose(compiled(x, x), expected)
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size n"):
        compiled(x[:3], x)


def rows(x, y):
    moved = np.exp(x[:, ::-1]) * 2 + y[0]
    pairs = np.sqrt(((x[:, None] - y[None]) ** 2).sum(-1))
    return moved, x.max(1), x.argmin(1), pairs.sum(1), np.concatenate([x, y])


def columns(x, y):
    sums = x.sum(0), x.prod(0), x.max(0, initial=-5.0), x.min(initial=2.0), (x > 0).all(0)
    return *sums, x @ y.T, x.T @ x, np.cumsum(x, 0), x.T.reshape(-1), x[::-1]


def views(x, y):
    squares = (x[:, None] * x[None]).sum(2)
    ordered = np.sort(x, 0), np.argsort(x[:, 0]), np.searchsorted(np.sort(x[:, 1]), y[:, 0])
    moved = np.repeat(x, 2, 0), np.roll(x, 1, 0), np.roll(x, -1, 0)
    return squares, np.pad(x, 1), *moved, *ordered, x[:, 0].sum() / len(y)


def cut_short(x, y):
    n = len(x)
    y = y.copy()
    y[:4] *= 2
    y[2:-1] += 1
    ends = x[:1], x[2:], x[-3:], x[:-2], x[1:-1], x[1:-2:2], x[2:3], x[3:1], x[:2][1:]
    return *ends, y[:n], y, np.diff(x, axis=0), np.diff(x, 2, 0), x[1:].sum(0) * x[:2].sum()


def test_slices_are_cut_short_as_numpy_cuts_them():
    n, m = dims("n, m", "n >= 0")
    compiled = transpile.jit(cut_short).lower(struct(n, 3), struct(m, 3)).compile()
    slope = transpile.jit(transpile.grad(lambda x: (x[1:4] ** 2).sum()))
    slopes = slope.lower(struct(n, 3)).compile()
    for count in 0, 1, 2, 3, 4, 9:
        x, y = np.arange(3.0 * count).reshape(-1, 3), np.arange(15.0).reshape(5, 3)
        for y in y, y[:1], y[:3]:
            for got, expected in zip(compiled(x, y), cut_short(x, y), strict=True):
                np.testing.assert_array_equal(got, expected)
        expected = np.zeros_like(x)
        expected[1:4] = 2 * x[1:4]
        np.testing.assert_array_equal(slopes(x), expected)
    compiled = transpile.jit(transpile.vmap(lambda x: x[:3].sum())).lower(struct(n, m)).compile()
    np.testing.assert_array_equal(compiled(np.ones((2, 2))), [2.0, 2.0])


def of_extremes(x, y, z):
    n, m = len(x), len(y)
    k = max(n, m)
    sums = np.pad(x, (0, k - n)) + np.pad(y, (0, k - m)), x[: min(n, m)] * y[: min(n, m)]
    sizes = np.zeros(max(n - 5, 0)), np.ones(min(n, 3)).sum(), max(n, m, 4) * 2
    return *sums, *sizes, np.diagonal(z), np.diagonal(z, 1), np.trace(z, -2), np.diag(z, -1)


def test_the_larger_of_two_sizes_is_one_that_the_program_finds():
    types = struct("n"), struct("m"), struct("n", "m")
    compiled = transpile.jit(of_extremes).lower(*types).compile()
    for n, m in (1, 1), (1, 4), (3, 9), (7, 4), (7, 1):
        x, y = np.arange(1.0, n + 1), np.arange(2.0, m + 2)
        z = np.outer(x, y)
        for got, expected in zip(compiled(x, y, z), of_extremes(x, y, z), strict=True):
            np.testing.assert_array_equal(got, expected)


def agree_for_all_sizes(sanitize=False):
    """`rows`, `columns` and `views` of arrays with 0 and more rows, as NumPy has them."""
    n, m = dims("n, m", "n >= 0")
    options = {"sanitize": sanitize}
    for function in rows, columns, views:
        jitted = transpile.jit(function, compiler_options=options)
        compiled = jitted.lower(struct(n, 3), struct(m, 3)).compile()
        for count in 0, 1, 2, 300:
            x, y = (
                np.sin(np.arange(3.0 * count)).reshape(-1, 3),
                np.cos(np.arange(15)).reshape(5, 3),
            )
            for got, expected in zip(compiled(x, y), function(x, y), strict=True):
                np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_sizes_of_0_where_they_are_declared():
    agree_for_all_sizes()


@pytest.mark.sanitized
def medians(x, k):
    return (
        np.median(x), np.median(x, 1), np.nanmedian(x, 0), np.nanquantile(x, 0.3), np.median(k),
        np.median(x[x > 0]), np.nanmedian(x[x > 0]), np.median(x[:, :1], 0, keepdims=True),
    )  # fmt: skip


def test_the_median_of_no_elements_is_nan():
    n, m = dims("n, m", "n >= 0", "m >= 0")
    structs = ShapeDtypeStruct((n, m), np.float64), ShapeDtypeStruct((n,), np.int64)
    compiled = transpile.jit(medians).lower(*structs).compile()
    for shape in (0, 3), (3, 0), (1, 1), (2, 3), (5, 4):
        x = np.sin(np.arange(1.0, shape[0] * shape[1] + 1)).reshape(shape)
        k = np.arange(shape[0]) * 3
        x[2:, 1:2] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for got, wanted in zip(compiled(x, k), medians(x, k), strict=True):
                assert got.shape == np.shape(wanted)
                np.testing.assert_allclose(got, wanted)
    with pytest.raises(IndexError, match="a quantile of no elements"):
        transpile.jit(lambda k: np.quantile(k, 0.3)).lower(structs[1]).compile()(k[:0])
    with pytest.raises(IndexError, match="a quantile of no elements"):
        transpile.jit(lambda x: np.quantile(x[x > 0], 0.3))(np.zeros(3))


@thorough
def test_sizes_of_0_under_the_sanitizers():
    run_sanitized(
        "from test_constrained_sizes import agree_for_all_sizes as f; f(sanitize=True)", __file__
    )


def test_a_command_takes_constraints(tmp_path, capsys):
    from transpile.__main__ import main

    (tmp_path / "sums.py").write_text("def f(x):\n    return x.reshape(-1, 8).sum(1)\n")
    words = ["show", f"{tmp_path}/sums.py:f", "--arg", "float64[n]", "--size", "n % 8 == 0"]
    assert main(words) == 0
    assert "n % 8 != 0" in capsys.readouterr().out


def test_a_vector_product_needs_three_components():
    (n,) = transpile.dims("n", "n <= 5")
    with pytest.raises(UndecidedSizeError, match="a vector product needs 3 <= n"):
        transpile.jit(np.cross).lower(*[ShapeDtypeStruct((4, n), float)] * 2)


@pytest.mark.parametrize("kth", [2, -3, [0, 2]], ids=str)
def test_an_array_without_elements_may_be_partitioned_anywhere(kth):
    (n,) = dims("n", "n >= 0")
    of_any = transpile.jit(lambda x: np.partition(x, kth)).lower(ShapeDtypeStruct((n,), float))
    compiled = of_any.compile()
    for count in (0, 3, 6):
        x = np.arange(float(count))[::-1].copy()
        np.testing.assert_array_equal(np.sort(compiled(x)), np.sort(np.partition(x, kth)))
    with pytest.raises(ValueError, match=r"kth\(=-?\d\) out of bounds \(n\)"):
        compiled(np.ones(1))
