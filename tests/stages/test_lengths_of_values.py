"""Results whose length depends on values: against NumPy, in programs of runtime sizes, derivatives,
loops and branches, and in C."""

import importlib.util
import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import run_main
from thorough import one_in, thorough

import transpile
from transpile import ShapeDtypeStruct, lax
from transpile.analysis.oracle.loop_interpreter import run
from transpile.artifact.library import Library
from transpile.errors import UndecidedSizeError, UnsupportedError

rng = np.random.default_rng(11)
DTYPES = [np.float64, np.float32, np.int8, np.int64, np.uint16, np.bool_, np.complex128]


def drawn(shape, dtype, density, seed):
    """An array with some zeros; every number is there several times."""
    draw = np.random.default_rng(seed)
    values = draw.integers(1, 6, shape).astype(dtype)
    return np.where(draw.random(shape) < density, values, np.zeros((), dtype))


def assert_agree(found, expected):
    pairs = zip(transpile.tree.leaves(found), transpile.tree.leaves(expected), strict=True)
    for got, want in pairs:
        want = np.asarray(want)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got, want, rtol=1e-5 if want.dtype.itemsize < 8 else 1e-12)


def vectors(x):
    m = x != 0
    y = x[m]
    return y, np.nonzero(x), np.flatnonzero(m), np.argwhere(x), np.where(m), x.nonzero()


def kin(x):
    return (
        np.compress(x != 0, x),
        np.extract(x, x),
        np.unique(x),
        np.unique(x, return_index=True, return_inverse=True, return_counts=True),
        np.unique(x[x != 0]),
        np.trim_zeros(x),
        np.trim_zeros(x[x != 1]),
        np.delete(x, x == 0),
        np.unique_counts(x),
    )


def pairs(x, y):
    return (
        np.intersect1d(x, y),
        np.intersect1d(x, y, return_indices=True),
        np.setdiff1d(x, y),
        np.setxor1d(x, y),
        np.union1d(x, y),
    )


def matrices(x):
    rows, columns = (x != 0).all(1), (x != 0).any(0)
    return (
        x[x != 0],
        np.nonzero(x),
        np.argwhere(x),
        x[rows],
        x[:, columns],
        x[rows, 0],
        x[..., columns, None],
        x[np.ix_(rows, columns)],
        np.compress(columns, x, 1),
        x[rows].T,
        np.unique(x, axis=0),
        np.unique(x),
    )


SIZES = st.integers(0, 9)
DENSITIES = st.sampled_from([0.0, 0.3, 0.8, 1.0])
SEEDS = st.integers(0, 1000)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [vectors, kin])
@one_in(8)
def test_of_every_length(function, dtype):
    known = {n: transpile.jit(function) for n in (0, 1, 7)}

    @settings(max_examples=12, deadline=None)
    @given(n=st.sampled_from(list(known)), density=DENSITIES, seed=SEEDS)
    def agrees(n, density, seed):
        x = drawn(n, dtype, density, seed)
        assert_agree(known[n](x), function(x))

    agrees()


@pytest.mark.parametrize("dtype", [np.float64, np.int8])
@one_in(2)
def test_of_matrices_and_pairs(dtype):
    of_matrix, of_pair = transpile.jit(matrices), transpile.jit(pairs)

    @settings(max_examples=15, deadline=None)
    @given(shape=st.sampled_from([(4, 3), (1, 2), (0, 3), (3, 0)]), density=DENSITIES, seed=SEEDS)
    def agrees(shape, density, seed):
        x = drawn(shape, dtype, density, seed)
        if x.size:
            assert_agree(of_matrix(x), matrices(x))
        else:
            assert_agree(transpile.jit(lambda x: x[x != 0])(x), x[x != 0])
        a, b = drawn(6, dtype, density, seed), drawn(4, dtype, 0.7, seed + 1)
        assert_agree(of_pair(a, b), pairs(a, b))

    agrees()


def nested(x, w):
    m = x > 0
    y = x[m]
    return (
        (x[m] * w[m]).sum(),
        y @ y,
        np.cumsum(y),
        np.sort(y)[::-1],
        np.argsort(y),
        y[y > 1],
        y[:, None] - y,
        np.outer(y, x[~m]).sum(1),
        np.concatenate([y, x, y]),
        np.ones_like(y),
        len(y) * 2,
        y.sum() / y.size,
        np.unique(np.floor(y)),
        x[x > 0] + w[x > 0],
        np.any(y > 2),
        np.histogram(y, 4, (0, 3))[0],
        y.prod(),
        np.stack([y, w[m]], 1).reshape(-1),
    )


@thorough
def test_nested_for_fixed_and_for_runtime_sizes():
    fixed = transpile.jit(nested)
    n = ShapeDtypeStruct(("n",), np.float64)
    compiled = transpile.jit(nested).lower(n, n).compile()
    for size in (1, 2, 6, 50):
        x, w = rng.normal(size=(2, size))
        # Of one number none may be above 0; NumPy warns of the mean of nothing.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_agree(fixed(x, w), nested(x, w))
            for y in (x, np.abs(x), -np.abs(x)):
                assert_agree(compiled(y, w), nested(y, w))


def test_every_shape_of_runtime_sizes():
    def f(x):
        return x[x > 0], x[x[:, 0] > 0], x[:, x[0] > 0], np.argwhere(x > 0), np.unique(x)

    compiled = transpile.jit(f).lower(ShapeDtypeStruct(("n", "m"), np.float64)).compile()
    for shape in ((1, 1), (3, 2), (20, 9)):
        x = rng.normal(size=shape).round(1)
        assert_agree(compiled(x), f(x))
        assert_agree(compiled(-np.abs(x) - 1), f(-np.abs(x) - 1))


def test_jit_of_dynamic_shapes_compiles_once():
    traced = []

    @transpile.jit(dynamic_shapes=True)
    def f(x):
        traced.append(1)
        return x[x > 0] * 2, np.flatnonzero(x)

    for size in (2, 5, 9):
        x = rng.normal(size=size)
        assert_agree(f(x), (x[x > 0] * 2, np.flatnonzero(x)))
    assert len(traced) == 1


def test_results_are_exactly_as_long_and_own_their_memory():
    f = transpile.jit(lambda x: (x[x > 0], np.argwhere(x > 0)))
    x = rng.normal(size=(100, 40))
    for _ in range(300):  # the later calls go through C
        found, where = f(x)
    assert found.flags.owndata and where.flags.owndata and found.base is None
    assert_agree((found, where), (x[x > 0], np.argwhere(x > 0)))


def test_an_assignment_of_a_value_for_each_selected_element():
    def f(x, v):
        x = x.copy()
        x[x > 0] *= 3
        y = x.copy()
        y[y < 0] = v
        return x, y, x[x > 0] + 1

    x = np.array([1.0, -1.0, 2.0, -3.0])
    assert_agree(transpile.jit(f)(x, np.array([5.0, 6.0])), f(x, np.array([5.0, 6.0])))
    with pytest.raises(ValueError, match=r"could not broadcast input array from shape \(3,\)"):
        transpile.jit(f)(x, np.ones(3))


# ------------------------------------------------------------------------------------------ errors


def test_what_needs_an_element_is_an_error_of_the_call_in_numpys_words():
    x = np.array([1.0, -2.0])
    for f, words in (
        (lambda x: x[x > 5].max(), "zero-size array to reduction operation maximum which has no"),
        (lambda x: x[x > 5].min(), "zero-size array to reduction operation minimum which has no"),
        (lambda x: x[x > 5].argmax(), "attempt to get argmax of an empty sequence"),
    ):
        compiled = transpile.jit(f)
        with pytest.raises(ValueError, match=words):
            compiled(x)
        assert compiled(x + 7) == f(x + 7)
    for f, words in (
        (lambda x: x[x > 5][0], "f: index 0 is out of bounds for axis 0 with size u"),
        (lambda x: x[x > 5][[0, -3]], "f: index -3 is out of bounds for axis 0 with size u"),
        (lambda x: np.delete(x[x > 5], 1), "f: index 1 is out of bounds for axis 0 with size u"),
    ):
        f.__name__ = "f"
        with pytest.raises(IndexError, match=words):
            transpile.jit(f)(x)
        with pytest.raises(IndexError):
            f(x)
    padded = transpile.jit(lambda x: np.pad(x[x > 5], 1, mode="mean"))
    with pytest.raises(ValueError, match="can't extend empty axis 0 using modes other than"):
        padded(x)
    assert_agree(padded(x + 8), np.pad(x + 8, 1, mode="mean"))
    assert np.isnan(transpile.jit(lambda x: x[x > 5].mean())(x))
    assert transpile.jit(lambda x: x[x > 5].max(initial=3))(x) == 3


def test_lengths_of_different_masks_are_compared_in_the_call():
    f = transpile.jit(lambda x, y: x[x > 0] + y[y > 0])
    assert_agree(f(np.array([1.0, 2, -1]), np.array([-1.0, 5, 6, -2])), np.array([6.0, 8.0]))
    with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(u,\)"):
        f(np.array([1.0, 2, 3]), np.array([-1.0, 5, 6, -2]))
    g = transpile.jit(lambda x, w: x[x > 0] * w)
    assert_agree(g(np.array([1.0, 2, -1]), np.array([2.0, 3.0])), np.array([2.0, 6.0]))
    with pytest.raises(ValueError, match="could not be broadcast"):
        g(np.array([1.0, -2, -1]), np.array([2.0, 3.0]))
    equal = transpile.xpr(lambda x, y: x[x * 2 > 0] + y[x * 2 > 0], np.ones(3), np.ones(3))
    assert "require" not in str(equal) and str(equal).count("compact") == 1


def test_what_is_computed_of_a_length_while_tracing():
    x = np.array([1.0, -2.0, 3.0])
    f = transpile.jit(lambda x: (x[x > 0][[0, -1]], x[x > 0][:1], x[x > 0][1:], np.diff(x[x > 0])))
    assert_agree(f(x), (x[[0, 2]], x[:1], x[2:], np.array([2.0])))
    with pytest.raises(IndexError, match="index -1 is out of bounds for axis 0 with size u"):
        f(-x * [1, 0, 1])
    words = "how much u is depends on values, which are not known while a function is traced"
    choice = lambda x: x if len(x[x > 0]) > 2 else -x
    with pytest.raises(UndecidedSizeError, match=words):
        transpile.jit(choice, python_control_flow=False)(x)
    assert_agree(transpile.jit(choice)(x), -x)


def cut(x):
    y = x[x > 0]
    n = len(y)
    parts = y[:3], y[2:], y[1:-1], y[-2:], y[:-2], y[3:1], y[2:3], y[1:-2:2], y[:2][1:], y[: n // 2]
    z = y.copy()
    z[:2] = 7
    z[1:-1] += 1
    sizes = min(n, 3) * 2, max(n, 2), max(n - 3, 0)
    return *parts, z, np.diff(y), np.diff(y, 2), np.roll(y, -1), np.trapezoid(y), np.zeros(sizes[1])


def test_slices_are_cut_short_as_numpy_cuts_them():
    found = transpile.jit(cut)
    slope = transpile.jit(transpile.grad(lambda x: (x[x > 0][1:3] ** 2).sum()))
    for count in range(8):
        x = np.where(np.arange(9) < count, np.arange(9) + 1.0, -1)
        assert_agree(found(x), cut(x))
        expected = np.where((np.arange(9) > 0) & (np.arange(9) < min(count, 3)), 2 * x, 0)
        np.testing.assert_array_equal(slope(x), expected)

    def in_loop(x):
        return lax.fori_loop(0, 3, lambda i, a: a + x[x > a][:2].sum() + x[1:4].sum(), 0.0)

    x = np.array([3.0, -1, 5])
    compiled = transpile.jit(in_loop).lower(ShapeDtypeStruct(("n",), np.float64)).compile()
    with transpile.disable_jit():
        assert compiled(x) == in_loop(x)


def test_equal_masks_are_selected_by_once():
    def f(x, w):
        return np.cumsum(w[x > 0]), np.sort(w[x > 0])[w[x > 0] > 0.5], w[x > 0].max(initial=-9)

    x, w = rng.normal(size=(2, 9))
    assert_agree(transpile.jit(f)(x, w), f(x, w))
    assert str(transpile.xpr(f, x, w)).count("= compact") == 2


def test_masks_of_inner_traces_that_equal_one_outside_have_its_length():
    def f(x):
        y = x[x > 0]
        slope = transpile.grad(lambda x: np.cumsum(x[x > 0]).prod())(x)
        return y * slope[x > 0], np.cumsum(y)

    x = np.array([1.0, -2.0, 3.0, 0.5])
    lowered = transpile.jit(f).lower(x)
    assert lowered.as_text("graph").count("= compact") == 1
    h = 1e-6
    steps = [np.cumsum((x + h * e)[x > 0]).prod() for e in np.eye(4)]
    slope = (np.array(steps) - np.cumsum(x[x > 0]).prod()) / h
    found = lowered.compile()(x)
    np.testing.assert_allclose(found[0], (x * slope)[x > 0], rtol=1e-5)
    np.testing.assert_array_equal(found[1], np.cumsum(x[x > 0]))


def test_under_vmap_the_error_says_what_to_write():
    with pytest.raises(NotImplementedError, match=r"numpy.where\(mask, x, 0\) keeps the shape"):
        transpile.jit(transpile.vmap(lambda x: x[x > 0].sum()))(np.ones((3, 2)))
    x, m = rng.normal(size=(3, 4)), np.array([True, False, True, True])
    same_mask = transpile.jit(transpile.vmap(lambda x, m: x[m] * 2, in_axes=(0, None)))
    assert_agree(same_mask(x, m), x[:, m] * 2)


# ------------------------------------------------------------------------- loops, branches, grads


def test_in_bodies_of_loops_and_branches():
    def in_fori(x):
        return lax.fori_loop(0, 3, lambda i, a: a + x[x > a].sum(), 0.0)

    def in_while(x):
        return lax.while_loop(
            lambda a: a < 3, lambda a: a + 1 + np.sort(x[x > a])[::-1].sum() * 0.1, 0.0
        )

    def in_scan(x):
        def step(total, row):
            chosen = row[row > total / 9]
            return total + chosen.sum(), (np.cumsum(chosen).sum(), np.unique(chosen).size)

        return lax.scan(step, 0.0, x.reshape(4, -1))

    def in_cond(x):
        return lax.cond(x[0] > 0, lambda x: x[x > 0].sum(), lambda x: x[x < 0].mean(), x)

    def outside(x):
        y = x[x > 0]
        return lax.fori_loop(0, 3, lambda i, a: a + y, y)

    for f in (in_fori, in_while, in_scan, in_cond, outside):
        for seed in range(3):
            x = np.random.default_rng(seed).normal(size=12)
            with transpile.disable_jit():
                expected = f(x)
            assert_agree(transpile.jit(f)(x), expected)


def test_what_leaves_a_body_and_what_cannot_be_checked_in_one():
    x = np.ones(4)
    with pytest.raises(TypeError, match="must have equal types"):
        transpile.jit(lambda x: lax.fori_loop(0, 3, lambda i, a: x[x > 0], x))(x)
    with pytest.raises(UnsupportedError, match="in the body of a loop or branch a program cannot"):
        transpile.jit(lambda x: lax.fori_loop(0, 3, lambda i, a: a + x[x > a].max(), 0.0))(x)


def in_scan(x):
    def step(total, row):
        return total + (row[row > 0] ** 2).sum(), None

    return lax.scan(step, 0.0, x[:, None])[0]


def in_branch(x):
    return lax.cond(x[0] > 0, lambda x: (x[x > 0] ** 2).sum(), lambda x: x.sum(), x)


def test_derivatives():
    def f(x):
        y = x[x > 0]
        return (y**2).sum() + np.sort(y)[-1] + (y * y.mean()).sum() + np.cumsum(y).sum()

    x = np.array([0.5, -1.0, 2.0, 1.5, -0.25])
    h = 1e-6
    steps = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(5)]
    np.testing.assert_allclose(transpile.jit(transpile.grad(f))(x), steps, rtol=1e-6)
    np.testing.assert_allclose(transpile.grad(f)(x), steps, rtol=1e-6)

    def tangents(x, t):
        return transpile.jvp(lambda x: x[x > 0] ** 2, (x,), (t,))

    t = rng.normal(size=5)
    assert_agree(transpile.jit(tangents)(x, t), (x[x > 0] ** 2, 2 * x[x > 0] * t[x > 0]))
    hessian = transpile.jit(transpile.hessian(lambda x: (x[x > 0] ** 3).sum()))
    np.testing.assert_allclose(hessian(x), np.diag(6 * x * (x > 0)))
    both = transpile.jit(lambda x, y: transpile.grad(f)(x) + transpile.grad(f)(y))
    np.testing.assert_allclose(both(x, -x), transpile.grad(f)(x) + transpile.grad(f)(-x))

    for g in (in_scan, in_branch):
        np.testing.assert_allclose(transpile.jit(transpile.grad(g))(x), 2 * x * (x > 0))

    def matched(x, y):
        return (x[x > 0] * y[y > 0]).sum()

    found = transpile.jit(transpile.grad(matched, (0, 1)))(x, x[::-1].copy())
    assert [len(g) for g in found] == [5, 5]


# ---------------------------------------------------------------------------------------- programs


def test_shapes_show_the_length():
    x = np.ones(5)
    assert transpile.eval_shape(lambda x: x[x > 0], x).shape[0].__str__() == "u"
    text = str(transpile.xpr(lambda x: (x[x > 0], np.flatnonzero(x)), x))
    assert "f64[u]" in text and "i64[u2]" in text


MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "positive.h"

int main(void)
{{
    for (int64_t n = 1; n <= 5; n += 2) {{
        double x[5] = {{-1.0, 2.0, -3.0, 4.0, 5.0}}, values[5], least;
        int64_t places[5], length;
        void *workspace = malloc(positive_workspace_size({size}) + 1);
        int code = positive({size}{comma}x, values, places, &least, &length, workspace);
        printf("%d %s;", code, positive_error(code));
        for (int64_t k = 0; code == 0 && k < length; k++) {{
            printf(" %g at %d", values[k], (int)places[k]);
        }}
        printf("\\n");
        free(workspace);
    }}
    return 0;
}}
"""


def test_a_c_program_reads_the_length(tmp_path):
    @transpile.jit
    def positive(x):
        values = x[x > 0]
        return values, np.flatnonzero(x > 0), values.min()

    compiled = positive.lower(ShapeDtypeStruct(("n",), np.float64)).compile()
    compiled.save(tmp_path)
    header = (tmp_path / "positive.h").read_text()
    assert "values: float64[u], out" in header and "u: at most n, in *u_length" in header
    lines = run_main(tmp_path, "positive", MAIN.format(size="n", comma=", "))
    assert lines == [
        "-4 zero-size array to reduction operation minimum which has no identity;",
        "0 success; 2 at 1",
        "0 success; 2 at 1 4 at 3 5 at 4",
    ]


def test_a_python_module_of_a_library_cuts_results(tmp_path):
    def selected(x):
        return {"x": x[x > 0], "columns": x[:, x[0] > 0], "sum": x[x > 0].sum()}

    lowered = transpile.jit(selected).lower(ShapeDtypeStruct(("n", 4), np.float64))
    Library("cut", {"selected": lowered}).write(tmp_path, ["python", "metadata"])
    (told,) = json.loads((tmp_path / "cut.json").read_text())["functions"]
    assert told["lengths"] == {"u": "u_length", "u2": "u2_length"}
    assert [a.get("most_elements") for a in told["outputs"]] == ["4*n", None, "4*n", None, None]
    spec = importlib.util.spec_from_file_location("cut", tmp_path / "cut.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for n in (1, 6):
        x = rng.normal(size=(n, 4))
        assert_agree(module.selected(x), selected(x))


def test_a_python_module_of_a_library_makes_room(tmp_path):
    def repeated(x, y, counts):
        return {"x": np.repeat(x, counts) - y.sum(), "counts": np.bincount(counts)}

    types = [(("n + m",), np.float64), (("n",), np.float64), (("n + m",), np.int64)]
    lowered = transpile.jit(repeated).lower(*(ShapeDtypeStruct(*t) for t in types))
    Library("roomy", {"repeated": lowered}).write(tmp_path, ["python"])
    spec = importlib.util.spec_from_file_location("roomy", tmp_path / "roomy.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for n, m in (2, 1), (3, 9):  # which C takes as m, n
        x, y = rng.normal(size=n + m), rng.normal(size=n)
        counts = rng.integers(0, 9, n + m)
        assert_agree(module.repeated(x, y, counts), repeated(x, y, counts))
    with pytest.raises(ValueError, match="repeats may not contain negative values"):
        module.repeated(x, y, -counts - 1)


@pytest.mark.parametrize("f", [nested, lambda x, w: in_scan(x) + w[w > 0].sum()])
def test_programs_read_what_they_have_written_and_write_into_their_arrays(f):
    n = ShapeDtypeStruct(("n",), np.float64)
    program = transpile.jit(f).lower(n, n)._lowering.program()
    for x, w in (rng.normal(size=(2, 5)), -np.ones((2, 3)), np.ones((2, 4))):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = transpile.tree.leaves(transpile.jit(f)(x, w))
            found = run(program, [x, w])[: len(wanted)]
        assert_agree(found, wanted)


# ------------------------------------------------------------------------ lengths without a bound


def repeated(x, c, i):
    y = np.repeat(x, c)
    return (
        y,
        y.sum(),
        x[np.repeat(i, c)],
        np.bincount(i),
        np.bincount(i)[i],
        np.bincount(i, weights=x),
        np.bincount(i[i > 2]),
        np.repeat(x[c > 1], c[c > 1]),
        np.repeat(np.repeat(i, c), y > 0),
        np.repeat(x, c.sum() % 3),
        y[np.repeat(x, c) > 0],
        np.unique(np.repeat(i, c), return_counts=True),
        np.concatenate([x, y]),
        np.outer(y, x)[:, c > 0],
    )


@thorough
def test_lengths_without_a_bound_are_of_every_size():
    fixed = {n: transpile.jit(repeated) for n in (1, 2, 7)}
    n = ShapeDtypeStruct(("n",), np.int64)
    sized = transpile.jit(repeated).lower(ShapeDtypeStruct(("n",), np.float64), n, n).compile()

    @settings(max_examples=15, deadline=None)
    @given(n=st.sampled_from(list(fixed)), most=st.sampled_from([1, 3, 200]), seed=SEEDS)
    def agrees(n, most, seed):
        draw = np.random.default_rng(seed)
        x, c = draw.normal(size=n), draw.integers(0, most, n)
        i = draw.integers(0, n, n)
        expected = repeated(x, c, i)
        assert_agree(fixed[n](x, c, i), expected)
        assert_agree(sized(x, c, i), expected)

    agrees()
    nothing = np.zeros(0), np.zeros(0, int)
    both = transpile.jit(lambda x, c: (np.repeat(x, c), np.bincount(c)))
    assert_agree(both(*nothing), (np.repeat(*nothing), np.bincount(nothing[1])))


def test_repeats_of_rows_and_columns():
    x, c = rng.normal(size=(4, 3)), np.array([2, 0, 3, 1])
    f = transpile.jit(
        lambda x, c: (np.repeat(x, c, 0), np.repeat(x, c[:3], 1), np.repeat(x, c[:1]))
    )
    for counts in (c, 9 * c, c[::-1].copy(), 0 * c):
        assert_agree(
            f(x, counts), (x.repeat(counts, 0), x.repeat(counts[:3], 1), x.repeat(counts[0]))
        )


def test_a_call_with_more_than_the_last_one_runs_again_and_keeps_what_is_assigned():
    def f(x, c):
        x *= 2
        return np.repeat(x, c)

    compiled = transpile.jit(f)
    for size in (1, 1000, 3, 10**5, 0):
        x, c = np.ones(3), np.array([size, 0, 1])
        assert_agree(compiled(x, c), np.repeat([2.0, 2.0, 2.0], c))
        assert x.tolist() == [2.0, 2.0, 2.0]


def test_errors_of_counts():
    x, f = np.ones(3), transpile.jit(np.repeat)
    with pytest.raises(ValueError, match=r"repeats may not contain negative values\."):
        f(x, np.array([3, -1, 2]))
    with pytest.raises(ValueError, match="'list' argument must have no negative elements"):
        transpile.jit(np.bincount)(np.array([1, -1]))
    for huge in (1 << 50, 1 << 62):  # the sum of the last ones overflows
        with pytest.raises((MemoryError, ValueError)):
            f(x, np.array([huge, huge, huge]))
    assert_agree(f(x, np.array([1, 0, 1])), np.ones(2))  # and the next call is as it was
    with pytest.raises(TypeError, match="according to the rule 'safe'"):
        f(x, x)
    with pytest.raises(
        ValueError, match=r"could not be broadcast together with shape \(3,\) \(2,\)"
    ):
        f(x, np.array([1, 2]))
    with pytest.raises(NotImplementedError, match="total_repeat_length="):
        transpile.jit(transpile.vmap(np.repeat))(np.ones((2, 3)), np.ones((2, 3), int))
    with pytest.raises(UnsupportedError, match="in the body of a loop or branch a length needs"):
        transpile.jit(lambda x: lax.fori_loop(0, 3, lambda i, a: a + np.repeat(a, i).sum(), x))(x)

    def told(x, c):
        return np.repeat(x, transpile.pure_callback(np.negative, ShapeDtypeStruct((3,), int), c))

    with pytest.raises(
        UnsupportedError, match="calls Python or other devices before it has found the length"
    ):
        transpile.jit(told)(x, np.array([1, 2, 3]))


def test_derivatives_of_repeats():
    def f(x, c):
        return (np.repeat(x, c) ** 3).sum() + np.repeat(np.repeat(x, c), 2).sum()

    x, c = rng.normal(size=4), np.array([2, 0, 3, 1])
    for gradient in (transpile.grad(f), transpile.jit(transpile.grad(f))):
        np.testing.assert_allclose(gradient(x, c), 3 * x**2 * c + 2 * c)
    hessian = transpile.jit(transpile.hessian(f))(x, c)
    np.testing.assert_allclose(hessian, np.diag(6 * x * c), atol=1e-12)
    both = transpile.jit(lambda x, c: transpile.jvp(lambda x: np.repeat(x, c) ** 2, (x,), (x,)))
    assert_agree(both(x, c), (np.repeat(x, c) ** 2, 2 * np.repeat(x, c) ** 2))


REPEATING = """
#include <stdio.h>
#include <stdlib.h>
#include "repeating.h"

int main(void)
{
    const double x[3] = {1.0, 2.0, 3.0};
    const int64_t counts[3][3] = {{2, 0, 3}, {0, 0, 0}, {1, -1, 1}};
    for (int k = 0; k < 3; k++) {
        int64_t room = 0, length = 0;
        double *out = NULL;
        void *workspace = malloc(repeating_workspace_size(room) + 1);
        int code = repeating(room, x, counts[k], out, &length, workspace);
        printf("%s;", repeating_error(code));
        if (length > room) {
            room = length;
            out = malloc((size_t)room * sizeof *out);
            free(workspace);
            workspace = malloc(repeating_workspace_size(room) + 1);
            code = repeating(room, x, counts[k], out, &length, workspace);
            printf(" %s;", repeating_error(code));
        }
        for (int64_t i = 0; code == 0 && i < length; i++) {
            printf(" %g", out[i]);
        }
        printf("\\n");
        free(out);
        free(workspace);
    }
    return 0;
}
"""


def test_a_c_program_asks_how_much_room_there_is_to_be(tmp_path):
    @transpile.jit
    def repeating(x, counts):
        return np.repeat(x, counts)

    x, counts = np.ones(3), np.ones(3, np.int64)
    repeating.lower(x, counts).compile().save(tmp_path)
    assert "u: at most u_room, in *u_length" in (tmp_path / "repeating.h").read_text()
    assert run_main(tmp_path, "repeating", REPEATING) == [
        "u is more than u_room, for which there is memory; success; 1 1 3 3 3",
        "success;",
        "u is more than u_room, for which there is memory; "
        "repeats may not contain negative values.;",
    ]


def loops_of(f, *args):
    text = transpile.jit(f).lower(*args).as_text("loops")
    return text[text.index("\nkernel ") :]


def test_selected_elements_are_stored_in_one_pass_without_a_branch():
    x, m = np.ones(9), np.ones(9, bool)
    text = loops_of(lambda x, m: x[m], x, m)
    assert text.count("for ") == 1 and "out[at] = x[i]" in text and "if" not in text

    def sorted_both(x, m):
        y = x * 2
        return np.sort(x[m]) + np.sort(y[m])

    pair = loops_of(sorted_both, x, m)
    assert pair.count("for i in 0..9") == 1 and "[at] = multiply(x[i], 2.0)" in pair


def test_a_reduction_of_selected_elements_is_one_under_the_mask():
    x = np.array([1.0, np.nan, 3.0, -0.0, np.inf])
    for f in (
        lambda x: x[x < 5].sum(),
        lambda x: (x[x < 5] * 2 + x[x < 5]).sum(),
        lambda x: x[x < 5].prod(),
        lambda x: np.any(x[x < 5] > 2),
        lambda x: np.all(x[x < 5] < 3),
        lambda x: x[x < 5].astype(np.float32).sum(dtype=np.float64),
    ):
        assert_agree(transpile.jit(f)(x), f(x))
        assert_agree(transpile.jit(f)(x * np.nan), f(x * np.nan))
        text = loops_of(f, np.tile(x, 20))
        assert "..100" in text and "0..u" not in text and "at" not in text.split()
    largest = loops_of(lambda x: x[x < 5].max(), np.tile(x, 20))
    assert "maximum" in largest and "at" not in largest.split()
    for f in (  # a length, and what is not cheap for elements that are not selected
        lambda x: x[x < 5].mean(),
        lambda x: np.exp(x[x < 5]).sum(),
        lambda x: x[x < 5].max(),
        lambda x: (x[x < 5] * len(x[x < 5])).sum(),
    ):
        assert_agree(transpile.jit(f)(x), f(x))
    assert "u" in loops_of(lambda x: np.exp(x[x < 5]).sum(), x)


def test_transforms_along_a_counted_axis():
    def transforms(x):
        y = x[x > 0]
        return np.fft.fft(y), np.fft.rfft(y), np.fft.ifft(y, 3), np.fft.irfft(y)

    compiled = transpile.jit(transforms)
    for count in (2, 3, 7, 9):
        x = np.where(np.arange(9) < count, np.arange(9) + 1.0, -1)
        for got, want in zip(compiled(x), transforms(x), strict=True):
            np.testing.assert_allclose(got, want, atol=1e-12)
    with pytest.raises(ValueError, match=r"Invalid number of FFT data points \(u\) specified"):
        transpile.jit(lambda x: np.fft.fft(x[x > 9]))(x)


def test_room_is_given_back_where_calls_need_little_of_it():
    x, counts = np.arange(10.0), np.ones(10, np.int64)
    compiled = transpile.jit(np.repeat).lower(x, counts).compile()
    call = compiled.runtime_executable().for_sizes({})
    rooms = []
    for repeats in [9000, *[2] * 40, 9000, *[9000, 2] * 40]:
        assert compiled(x, repeats * counts).shape == (10 * repeats,)
        rooms.append([room.size for room in call.grown.rooms.rooms])
    assert rooms[0] == [101250] and rooms[40] == [22] and rooms[41:] == [[101250]] * 81
