"""`pure_callback` and `io_callback`: transformations, loops, branches, saved libraries."""

import subprocess
import threading
import traceback
from functools import partial

import numpy as np
import pytest

import transpile as tp
from transpile import experimental, io_callback, lax, pure_callback
from transpile.errors import CallbackResultError

F64 = np.dtype("float64")
NUMBER = tp.ShapeDtypeStruct((), F64)


def like(x):
    return tp.ShapeDtypeStruct(np.shape(x), x.dtype)


def sine(x):
    return pure_callback(np.sin, like(x), x, vmap_method="expand_dims")


X = np.linspace(0.1, 1.0, 6).reshape(2, 3)


def test_it_is_where_jax_has_it():
    assert experimental.io_callback is io_callback
    assert tp.pure_callback is pure_callback


@pytest.mark.parametrize("way", [lambda f: f, tp.jit, tp.djit])
def test_results_are_values_like_others(way):
    f = way(lambda x: sine(x * 2).sum(axis=1) + sine(x[0, 0]))
    np.testing.assert_allclose(f(X), np.sin(X * 2).sum(axis=1) + np.sin(0.1))


@pytest.mark.parametrize(
    "result",
    [
        {"a": X, "b": [np.arange(3), (np.float32(2.5), np.array([True, False]))]},
        (X.astype(np.float16), X * 1j, np.zeros((0, 3)), np.array(7, np.uint8)),
        X[0],
        [],
    ],
    ids=["dict", "dtypes", "array", "nothing"],
)
def test_pytrees_of_results(result):
    kinds = tp.tree.map(lambda v: tp.ShapeDtypeStruct(v.shape, v.dtype), result)

    def f(x):
        return pure_callback(lambda x, y: result, kinds, x, y=[x, 1])

    found, structure = tp.tree.flatten(tp.jit(f)(X))
    expected, wanted = tp.tree.flatten(result)
    assert structure == wanted
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


def test_arguments_are_copies_in_row_major_order():
    kept = []

    def keep(x, n):
        kept.append(x)
        assert x.flags.carray and type(n) is np.int64
        x[:] = 0  # which is nobody's but ours
        return x.T

    f = tp.jit(lambda x: (pure_callback(keep, tp.ShapeDtypeStruct((2, 3), F64), x.T, 3), x + 0))
    zeros, same = f(X)
    np.testing.assert_array_equal(zeros, 0 * X)
    np.testing.assert_array_equal(same, X)
    kept[0][:] = 5
    np.testing.assert_array_equal(f(X)[0], 0 * X)


WRONG = [
    (lambda x: np.zeros(4), "returned float64[4] as array 0", "says float64[3]"),
    (lambda x: np.zeros(3, np.float32), "returned float32[3]", "says float64[3]"),
    (lambda x: 1.0, "returned float64[]", "says float64[3]"),
    (lambda x: (x, x), "returned 2 arrays", "has 1: float64[3]"),
    (lambda x: None, "returned 0 arrays", "has 1: float64[3]"),
    (lambda x: "text", "returned <U4[]", "says float64[3]"),
]


@pytest.mark.parametrize(("function", "got", "wanted"), WRONG)
@pytest.mark.parametrize("way", [lambda f: f, tp.jit])
def test_wrong_results_are_named_errors(way, function, got, wanted):
    f = way(lambda x: pure_callback(function, like(x), x) + 1)
    with pytest.raises(CallbackResultError) as caught:
        f(np.zeros(3))
    assert "the callback <lambda> " + got in str(caught.value) and wanted in str(caught.value)


def test_python_numbers_fit_dtypes_that_hold_their_kind():
    def given(value, dtype):
        kind = tp.ShapeDtypeStruct((), dtype)
        return tp.jit(lambda: pure_callback(lambda: value, kind))()

    assert given(1, np.float32) == 1 and given(True, np.int8) == 1 and given(1.5, complex) == 1.5
    with pytest.raises(CallbackResultError, match="int32"):
        given(1.5, np.int32)
    with pytest.raises(OverflowError):
        given(300, np.uint8)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="vmap_method must be on of the allowed methods"):
        pure_callback(np.sin, NUMBER, 1.0, vmap_method="all")
    with pytest.raises(TypeError, match="pure_callback takes a function, not a int"):
        tp.jit(lambda x: pure_callback(3, NUMBER, x))(1.0)
    with pytest.raises(TypeError, match="result_shape_dtypes of io_callback is a str"):
        tp.jit(lambda x: io_callback(np.sin, "f8", x))(1.0)
    with pytest.raises(TypeError, match="is a str, which is not an array"):
        tp.jit(lambda x: pure_callback(np.sin, NUMBER, "x"))(1.0)


# ---------------------------------------------------------------------------------------- errors


def fails(x):
    raise KeyError("what the user raised")


@pytest.mark.parametrize("call", [pure_callback, io_callback])
def test_an_exception_reaches_the_caller_whole(call):
    f = tp.jit(lambda x: call(fails, NUMBER, x) + 1)
    with pytest.raises(KeyError, match="what the user raised") as caught:
        f(1.0)
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-1] == "fails"
    assert not caught.value.__cause__


def test_an_exception_ends_a_loop_without_an_end():
    calls = []

    def step(x):
        calls.append(float(x))
        if len(calls) == 3:
            raise StopIteration
        return x + 1

    @tp.jit
    def f(x):
        return lax.while_loop(lambda x: x >= 0, lambda x: io_callback(step, NUMBER, x), x)

    with pytest.raises(StopIteration):
        f(0.0)
    assert calls == [0, 1, 2]


def test_many_calls_that_fail_and_do_not_fail_in_c():
    def root(x):
        if x < 0:
            raise ValueError(f"negative: {x}")
        return np.sqrt(x)

    f = tp.jit(lambda x: pure_callback(root, NUMBER, x))
    for k in range(300):  # past the point at which calls are made in C
        if k % 3:
            assert f(float(k)) == np.sqrt(k)
        else:
            with pytest.raises(ValueError, match="negative"):
                f(-1.0 - k)


# ------------------------------------------------------------------------------------------ vmap


def added(shapes, vmap_method):
    def add(x, y):
        shapes.append((np.shape(x), np.shape(y)))
        return x + y

    return lambda x, y: pure_callback(add, NUMBER, x, y, vmap_method=vmap_method)


SHAPES = {
    "sequential": [((), ())] * 4,
    "sequential_unrolled": [((), ())] * 4,
    "expand_dims": [((4,), (1,))],
    "broadcast_all": [((4,), (4,))],
    "legacy_vectorized": [((4,), ())],
}


@pytest.mark.parametrize("method", SHAPES)
@pytest.mark.parametrize("way", [lambda f: f, tp.jit])
def test_vmap_methods(way, method):
    shapes = []
    f = way(tp.vmap(added(shapes, method), in_axes=(0, None)))
    np.testing.assert_array_equal(f(np.arange(4.0), 1.0), np.arange(4.0) + 1)
    assert shapes == SHAPES[method]


def test_vmap_of_vmap_and_of_several_results():
    def both(x, y):
        return x + y, (x > y).astype(np.int8)

    kinds = (NUMBER, tp.ShapeDtypeStruct((), np.int8))
    for method in ("expand_dims", "sequential"):
        f = partial(pure_callback, both, kinds, vmap_method=method)
        g = tp.jit(tp.vmap(tp.vmap(f, (0, None)), (None, 0)))
        a, b = g(np.arange(3.0), np.arange(2.0))
        np.testing.assert_array_equal(a, np.add.outer(np.arange(2.0), np.arange(3.0)))
        np.testing.assert_array_equal(b, [[0, 1, 1], [0, 0, 1]])


def test_vmap_without_a_method_or_of_ordered_calls_is_refused():
    with pytest.raises(NotImplementedError, match=r"one of 'sequential', .* Got vmap_method=None"):
        tp.vmap(lambda x: pure_callback(np.sin, NUMBER, x))(np.ones(3))
    with pytest.raises(ValueError, match="Cannot `vmap` ordered IO callback"):
        tp.vmap(lambda x: io_callback(np.sin, NUMBER, x, ordered=True))(np.ones(3))


def test_vmap_of_io_calls_for_each_example():
    seen = []

    def note(x, y):
        seen.append((float(x), float(y)))
        return x * y

    f = tp.jit(tp.vmap(lambda x, y: io_callback(note, NUMBER, x, y), in_axes=(0, None)))
    np.testing.assert_array_equal(f(np.arange(3.0), 2.0), [0, 2, 4])
    assert seen == [(0, 2), (1, 2), (2, 2)]


# ----------------------------------------------------------------------------------- derivatives


def test_derivatives_need_a_rule():
    for call, text in (
        (pure_callback, "Pure callbacks do not support JVP. Please use `transpile.custom_jvp`"),
        (io_callback, "IO callbacks do not support JVP."),
    ):
        f = lambda x, call=call: call(np.sin, like(x), x).sum()
        for derivative in (tp.grad(f), tp.jit(tp.jacfwd(f))):
            with pytest.raises(ValueError, match=text):
                derivative(X)
        assert tp.grad(lambda x: f(tp.stop_gradient(x)) + x.sum())(X).min() == 1


def test_derivatives_by_a_rule():
    by_jvp = tp.custom_jvp(sine)

    @by_jvp.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return by_jvp(x), pure_callback(np.cos, like(x), x, vmap_method="expand_dims") * t

    by_vjp = tp.custom_vjp(sine)
    by_vjp.defvjp(
        lambda x: (by_vjp(x), x),
        lambda x, g: (
            pure_callback(lambda x, g: np.cos(x) * g, like(x), x, g, vmap_method="broadcast_all"),
        ),
    )
    for f in (by_jvp, by_vjp):
        for way in (lambda f: f, tp.jit):
            gradient = way(tp.grad(lambda x, f=f: (f(x) ** 2).sum()))
            np.testing.assert_allclose(gradient(X), np.sin(2 * X))
            each = way(tp.vmap(tp.grad(lambda x, f=f: f(x).sum())))
            np.testing.assert_allclose(each(X), np.cos(X))
    along = lambda x: lax.scan(lambda c, v: (c * by_jvp(v), by_jvp(c)), x[0, 0], x[0])[0]
    plain = lambda x: lax.scan(lambda c, v: (c * np.sin(v), np.sin(c)), x[0, 0], x[0])[0]
    np.testing.assert_allclose(tp.jit(tp.grad(along))(X), tp.grad(plain)(X))


# ------------------------------------------------------------------------- how often, which order


def test_pure_ones_are_removed_and_io_ones_never():
    calls = []

    def count(x):
        calls.append(1)
        return x

    tp.jit(lambda x: (pure_callback(count, NUMBER, x), x + 1)[1])(1.0)
    assert not calls
    tp.jit(lambda x: (io_callback(count, NUMBER, x), x + 1)[1])(1.0)
    assert len(calls) == 1
    tp.jit(lambda x: io_callback(count, None, x))  # traced only when called
    assert len(calls) == 1
    tp.jit(lambda x: (io_callback(count, NUMBER, x), io_callback(count, NUMBER, x)))(1.0)
    assert len(calls) == 3  # equal ones are two


def test_constants_are_not_folded():
    calls = []

    def count(x):
        calls.append(1)
        return x * 2

    f = tp.jit(lambda: pure_callback(count, NUMBER, 3.0))
    lowered = f.lower()
    assert "pure_callback" in lowered.as_text("graph") and not calls
    assert f() == 6 and f() == 6 and len(calls) == 2


def test_ordered_calls_keep_their_order_in_loops_and_branches():
    seen = []

    def note(name, i):
        seen.append((str("ab"[int(name)]), int(i)))
        return np.float64(i)

    def body(carry, i):
        a = io_callback(note, NUMBER, 0, i, ordered=True)
        b = lax.cond(
            i % 2 == 0,
            lambda i: io_callback(note, NUMBER, 1, i, ordered=True),
            lambda i: 0.0,
            i,
        )
        return carry + a - b, b

    total, bs = tp.jit(lambda xs: lax.scan(body, 0.0, xs))(np.arange(4))
    assert seen == [("a", 0), ("b", 0), ("a", 1), ("a", 2), ("b", 2), ("a", 3)]
    assert total == 4 and bs.tolist() == [0, 0, 2, 0]


def test_a_generator_as_state_of_the_caller():
    random = np.random.default_rng(3)

    @tp.jit
    def walk(n):
        draw = lambda: io_callback(lambda: random.normal(), NUMBER)
        return lax.fori_loop(0, n, lambda i, x: x + draw(), 0.0)

    again = np.random.default_rng(3)
    for n in (3, 0, 5):
        expected = 0.0
        for _ in range(n):
            expected += again.normal()
        assert walk(n) == expected


def test_callbacks_call_jitted_functions_also_themselves():
    inner = tp.jit(np.exp)

    @tp.jit
    def factorial(n):
        below = lambda n: pure_callback(lambda n: factorial(n), NUMBER, n)
        return lax.cond(n > 1, lambda n: n * below(n - 1), lambda n: 1.0, n)

    assert factorial(5.0) == 120
    f = tp.jit(lambda x: pure_callback(inner, like(x), x) + 1)
    np.testing.assert_allclose(f(X), np.exp(X) + 1)


def test_programs_with_threads_and_threads_with_programs():
    large = np.linspace(0, 1, 200_000)

    @tp.jit
    def f(x):
        y = np.exp(x)  # loops on several threads before and behind
        return pure_callback(lambda y: y[::-1], like(y), y) * x

    expected = np.exp(large)[::-1] * large
    np.testing.assert_allclose(f(large), expected)
    wrong = []

    def work():
        for _ in range(10):
            if not np.allclose(f(large), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_two_functions_do_not_share_a_program():
    def loop(function):
        call = lambda i, c: c + pure_callback(function, NUMBER, c)
        return lambda x: lax.fori_loop(0, 20_000, call, x)

    up, down = loop(lambda c: 1.0), loop(lambda c: -1.0)
    for way in (tp.jit, lambda f: f):
        assert way(up)(0.0) == 20_000 and way(down)(0.0) == -20_000


# --------------------------------------------------------------------------------- saved programs

MAIN = r"""
#include <stdio.h>
#include "asks.h"
static int give(void *context, int place, const void *const *values, void *const *results)
{
    const double *x = values[0];
    double *y = results[0];
    if (place != 0 || x[0] > *(const double *)context) return 7;
    for (int k = 0; k < 2; k++) y[k] = 10.0 * x[k];
    return 0;
}
int main(void)
{
    double x[2] = {1.0, 2.0}, out = 0.0, limit = 50.0;
    static char workspace[4096];
    if (asks_workspace_size() > sizeof workspace) return 3;
    int code = asks(x, &out, workspace);
    printf("%d %s\n", code, asks_error(code));
    code = asks_with_callback(x, &out, workspace, give, &limit);
    printf("%d %g\n", code, out);
    limit = 0.0;
    code = asks_with_callback(x, &out, workspace, give, &limit);
    printf("%d %s\n", code, asks_error(code));
}
"""


def test_a_saved_library_asks_a_function_of_c(tmp_path):
    @tp.jit
    def asks(x):
        return lax.fori_loop(0, 2, lambda i, y: y + sine(y), x).sum()

    asks.lower(np.ones(2)).compile().save(tmp_path)
    assert "0: sin(float64[2]) -> float64[2]" in (tmp_path / "asks.h").read_text()
    (tmp_path / "main.c").write_text(MAIN)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-Wno-unknown-pragmas"]
    subprocess.run(
        ["cc", *flags, "main.c", "asks.c", "-lm", "-o", "main"], cwd=tmp_path, check=True
    )
    found = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == [
        "2 it calls functions for their results: give one to asks_with_callback",
        "0 363",
        "7 the code of a function that the program has called",
    ]


def test_as_hlo():
    def f(x):
        tp.debug.print("{}", x)
        return sine(x) + io_callback(np.cos, like(x), x)

    lowered = tp.jit(f).lower(X)
    for dialect in ("hlo", "stablehlo"):
        text = lowered.as_text(dialect)
        for name in ("debug_callback", "pure_callback", "io_callback"):
            assert f"transpile_{name}" in text
        assert text.count("has_side_effect") == 2
