"""The loops and branches of lax, as users call them, against Python's own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in, tries

import transpile
from transpile import lax, tree
from transpile.functional.differentiate import vjp
from transpile.functional.gradients import grad
from transpile.functional.vectorize import vmap

XS = np.array([0.5, 2.0, 3.0])


def same(found, expected):
    """Equal trees of equal arrays."""
    assert tree.structure(found) == tree.structure(expected)
    for x, y in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_array_equal(x, y)


def graph(function, *args):
    return transpile.make_jaxpr(function)(*args)


# ------------------------------------------------------------------------------------------ scan


def shapes():
    return st.lists(st.integers(0, 3), max_size=2).map(tuple)


@given(
    length=st.integers(0, 5),
    carried=st.lists(shapes(), min_size=1, max_size=3),
    sliced=st.lists(shapes(), min_size=1, max_size=3),
    reverse=st.booleans(),
    is_list=st.booleans(),
)
@settings(max_examples=tries(40), deadline=None, derandomize=True)
def test_scan_over_drawn_trees_is_the_loop(length, carried, sliced, reverse, is_list):
    random = np.random.default_rng(3)
    init = [random.integers(-5, 5, s) for s in carried]
    init = init if is_list else {str(k): x for k, x in enumerate(init)}
    xs = {"xs": tuple(random.integers(-5, 5, (length, *s)) for s in sliced), "no": None}

    def step(c, x):
        total = sum(leaf.sum() for leaf in x["xs"])
        c = tree.map(lambda leaf: leaf * 2 + total, c)
        return c, (x["xs"][0] + total, None, [total, tree.leaves(c)[-1]])

    carry, ys = lax.scan(step, init, xs, length, reverse)
    state, seen = init, []
    for i in range(length)[:: -1 if reverse else 1]:
        state, y = step(state, {"xs": tuple(x[i] for x in xs["xs"]), "no": None})
        seen.append(y)
    same(carry, tree.map(np.asarray, state))
    if length:
        same(ys, tree.map(lambda *parts: np.stack(parts), *(seen[::-1] if reverse else seen)))
    else:
        assert [y.shape[0] for y in tree.leaves(ys)] == [0, 0, 0]


def test_scan_without_xs_goes_around_as_often_as_it_is_told():
    carry, ys = lax.scan(lambda c, x: (c * 2, (c, x)), 1, length=5)
    assert carry == 32
    same(ys, (np.array([1, 2, 4, 8, 16]), None))
    carry, nothing = lax.scan(lambda c, _: (c, None), 1.5, None, 3)
    assert carry == 1.5 and nothing is None


def test_results_outside_of_traces_are_arrays():
    carry, ys = lax.scan(lambda c, x: (c + x, c), 0.0, XS)
    assert type(carry) is np.ndarray and type(ys) is np.ndarray
    for value in (
        lax.fori_loop(0, 3, lambda i, c: c + i, 0),
        lax.while_loop(lambda c: c < 3, lambda c: c + 1, 0),
        lax.cond(True, np.sin, np.cos, 1.0),
        lax.switch(0, [np.sin, np.cos], 1.0),
        lax.associative_scan(np.add, XS),
        lax.map(np.sin, XS),
    ):
        assert type(value) is np.ndarray


WEAK = [
    (0.0, "float32", np.float32),  # a Python number takes the dtype of the body's result
    (0, "float32", np.float32),
    (0, "float64", np.float64),
    (0, "int8", np.int8),
    (0, "complex64", np.complex64),
    (0.5, "int32", np.float64),
    (np.float64(0), "float32", np.float64),  # a NumPy number has a dtype
]


@pytest.mark.parametrize(("init", "dtype", "expected"), WEAK)
@one_in(2)
def test_a_python_number_takes_the_dtype_of_the_carry(init, dtype, expected):
    xs = np.ones(3, dtype)

    def scanned(c):
        return lax.scan(lambda c, x: (c + x, None), c, xs)[0]

    looped = lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0] + xs[0], c[1] + 1), (init, 0))
    counted = lax.fori_loop(0, 3, lambda i, c: c + xs[0] * i, init)
    for found in (scanned(init), transpile.jit(scanned)(init), counted, looped[0]):
        assert found.dtype == expected and found == init + 3


def test_the_number_of_an_iteration_is_a_python_number():
    x = np.ones(2, "float32")
    for zero, three in ((0, 3), (np.int64(0), np.int64(3))):
        found = lax.fori_loop(zero, three, lambda i, c: c * 2 + i, x)
        assert found.dtype == np.float32 and found.tolist() == [12, 12]
    seen = []

    def body(i, c):
        seen.append(i.type)
        return c

    graph(lambda n: lax.fori_loop(np.int32(0), n, body, 1.0), np.int32(4))
    assert [str(t) for t in seen] == ["i32[]"] and not seen[0].weak


def test_bodies_close_over_arrays_that_they_index():
    table = np.arange(5.0)
    numbers = {"order": np.array([3, 1])}

    def helper(i):
        return table[i]

    assert lax.fori_loop(0, 5, lambda i, c: c + table[i], 0.0) == 10
    assert lax.fori_loop(0, 2, lambda i, c: c + helper(numbers["order"][i]), 0.0) == 4
    assert GLOBAL_SUM(3) == 3.0
    np.testing.assert_array_equal(lax.map(lambda i: table[i], np.array([4, 0])), [4.0, 0.0])
    assert lax.cond(True, lambda i: table[i], lambda i: helper(i + 1), 2) == 2.0
    size = np.array([2, 3])

    def counted(i, c):  # what Python asks for is known, beside a traced index
        for _ in range(int(size[0])):
            c = c + table[i]
        return c

    assert lax.fori_loop(0, 5, counted, 0.0) == 20.0


TABLE = np.arange(4.0)


def GLOBAL_SUM(n):
    return lax.fori_loop(0, n, lambda i, c: c + TABLE[i], 0.0)


def test_assignments_in_a_body_change_what_it_returns():
    x = np.zeros(4)

    def step(i, c):
        c[i] = i * 2.0
        c[0] += 1
        return c

    np.testing.assert_array_equal(lax.fori_loop(0, 4, step, x), [4.0, 2.0, 4.0, 6.0])
    assert not x.any()
    np.testing.assert_array_equal(
        transpile.jit(lambda x: lax.fori_loop(0, 4, step, x) + x)(x), [4.0, 2.0, 4.0, 6.0]
    )
    with transpile.disable_jit():
        np.testing.assert_array_equal(lax.fori_loop(0, 4, step, x), [4.0, 2.0, 4.0, 6.0])
    assert not x.any()


def test_bodies_may_be_jitted_or_call_jitted_functions():
    twice = transpile.jit(lambda x: x * 2)

    @transpile.jit
    def step(c, x):
        return twice(c) + x, c

    carry, ys = lax.scan(step, 1.0, XS)
    assert carry == 17.0
    np.testing.assert_array_equal(ys, [1.0, 2.5, 7.0])
    assert lax.while_loop(transpile.jit(lambda c: c < 10), twice, 1.5) == 12.0


def test_a_carry_that_does_not_change_and_a_y_that_is_an_x_are_no_work():
    def f(x, xs):
        (_, b), (ys, zs) = lax.scan(lambda c, x: ((c[0], c[1] + x), (x, c[0])), (x, 0.0), xs)
        return b, ys, zs

    (equation,) = (e for e in graph(f, 1.0, XS).equations if e.primitive.name == "scan")
    assert equation.params["carry"] == 1 and len(equation.outputs) == 2
    found = f(1.0, XS)
    same(found, (np.array(5.5), XS, np.ones(3)))


def test_equal_loops_are_computed_once():
    def f(x):
        return [lax.fori_loop(0, 3, lambda i, c: np.sin(c) + i, x) for _ in range(2)]

    text = transpile.jit(f).lower(0.5).as_text("loops")
    assert text.count("ordered") == 1


# ----------------------------------------------------------------------------------- other loops


@pytest.mark.parametrize(("lower", "upper"), [(0, 5), (2, 4), (3, 3), (5, 2), (-3, 2)])
@one_in(2)
def test_fori_loop_is_the_loop_over_a_range(lower, upper):
    def body(i, c):
        return c[0] * 3 + i, c[1] + 1

    expected = (1, 0)
    for i in range(lower, upper):
        expected = body(i, expected)
    same(lax.fori_loop(lower, upper, body, (1, 0)), tree.map(np.asarray, expected))
    loop = transpile.jit(lambda a, b: lax.fori_loop(a, b, body, (1, 0)))
    same(loop(lower, upper), tree.map(np.asarray, expected))
    static = transpile.jit(lambda: lax.fori_loop(lower, upper, body, (1, 0), unroll=2))
    same(static(), tree.map(np.asarray, expected))
    with transpile.disable_jit():
        assert lax.fori_loop(lower, upper, body, (1, 0)) == expected


def test_fori_loop_counts_in_floats_as_well():
    count = transpile.jit(lambda n: lax.fori_loop(0.0, n, lambda i, c: c + i, 0.5))
    assert count(4.0) == 6.5
    assert lax.fori_loop(0.0, 4.0, lambda i, c: c + i, 0) == 6


def test_bounds_that_are_known_are_static_under_derivatives():
    _, pullback = vjp(lambda x, n: lax.fori_loop(0, n, lambda i, c: c * x, 1.0), 2.0, 3)
    assert pullback(np.array(1.0))[0] == 12.0


def test_while_loop_is_the_loop():
    def collatz(n):
        return lax.while_loop(
            lambda s: s[0] != 1,
            lambda s: (np.where(s[0] % 2, 3 * s[0] + 1, s[0] // 2), s[1] + 1),
            n,
        )

    same(collatz((27, 0)), (np.array(1), np.array(111)))
    same(transpile.jit(collatz)((27, 0)), (np.array(1), np.array(111)))
    found = vmap(lambda n: collatz((n, 0))[1])(np.arange(1, 9))
    np.testing.assert_array_equal(found, [0, 1, 7, 2, 5, 8, 16, 3])
    with transpile.disable_jit():
        assert collatz((27, 0))[1] == 111


def test_a_python_bool_is_an_array_in_a_loop():
    def count(start):
        return lax.while_loop(lambda s: ~s[0], lambda s: (s[1] > 3, s[1] + 1), (False, start))

    same(count(0), (np.array(True), np.array(5)))
    same(transpile.jit(count)(0), (np.array(True), np.array(5)))


def test_long_loops_outside_of_traces_are_compiled():
    count = 3_000_000
    found = lax.fori_loop(0, count, lambda i, c: (c * 5 + i) % 1000003, 1)
    state = 1
    for i in range(1000):
        state = (state * 5 + i) % 1000003
    assert lax.fori_loop(0, 1000, lambda i, c: (c * 5 + i) % 1000003, 1) == state
    assert 0 <= found < 1000003


@pytest.mark.parametrize("batch_size", [None, 0, 1, 2, 5, 7])
@one_in(2)
def test_map_stacks_the_results(batch_size):
    xs = {"a": np.arange(10.0).reshape(5, 2), "b": np.arange(5)}

    def f(x):
        return x["a"] * x["b"], x["a"].sum()

    expected = (xs["a"] * xs["b"][:, None], xs["a"].sum(1))
    same(lax.map(f, xs, batch_size=batch_size), expected)
    same(transpile.jit(lambda xs: lax.map(f, xs, batch_size=batch_size))(xs), expected)


@given(size=st.integers(0, 20), reverse=st.booleans(), axis=st.sampled_from([0, 1, -1]))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_associative_scan_is_the_running_combination(size, reverse, axis):
    random = np.random.default_rng(size)
    shape = (size, 2) if axis == 0 else (2, size)
    x = random.integers(-9, 9, shape)

    def reference(function, x):
        x = np.flip(x, axis) if reverse else x
        found = function.accumulate(x, axis)
        return np.flip(found, axis) if reverse else found

    found = lax.associative_scan(
        lambda a, b: (a[0] + b[0], np.maximum(a[1], b[1])), (x, x), reverse, axis
    )
    same(found, (reference(np.add, x), reference(np.maximum, x)))


def test_associative_scan_of_matrices_keeps_their_order():
    matrices = np.random.default_rng(1).normal(size=(7, 2, 2))
    expected = [matrices[0]]
    for m in matrices[1:]:
        expected.append(expected[-1] @ m)
    np.testing.assert_allclose(lax.associative_scan(np.matmul, matrices), expected, rtol=1e-12)
    compiled = transpile.jit(lambda m: lax.associative_scan(np.matmul, m))
    np.testing.assert_allclose(compiled(matrices), expected, rtol=1e-12)


def test_associative_scan_has_derivatives():
    xs = np.array([0.5, 2.0, 3.0, 0.25])
    found = grad(lambda x: lax.associative_scan(np.multiply, x).sum())(xs)
    np.testing.assert_allclose(found, grad(lambda x: np.cumprod(x).sum())(xs), rtol=1e-12)
