"""debug.print and debug.callback: values at run time, in order, in C and under transformations."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading

import numpy as np
import pytest
from helpers import trace_to_graph
from thorough import one_in

import transpile as tp
from transpile import debug, lax
from transpile import numpy as jnp
from transpile.analysis.oracle.loop_interpreter import run
from transpile.ir.calls import Call
from transpile.ir.loop_rewrite import walk
from transpile.lower.kernels import lower
from transpile.passes import optimise
from transpile.transforms.interpret import interpret


def lines(capsys):
    return capsys.readouterr().out.splitlines()


def ways(function):
    """The function as it is, jitted, and jitted without passing through a trace of its own."""
    return [function, tp.jit(function), tp.djit(function)]


# ------------------------------------------------------------------------------- what is printed

# arguments, keyword arguments, what JAX 0.10.2 prints
FORMATS = [
    ("x {x} {}", (1,), {"x": np.ones(2)}, "x [1. 1.] 1"),
    ("x {}", (1.5,), {}, "x 1.5"),
    ("{:.2f} {y:5d}|", (1.5,), {"y": 3}, "1.50     3|"),
    ("plain", (), {}, "plain"),
    ("{0} {1} {0}", (1, 2), {}, "1 2 1"),
    ("{x.shape} {x[0]}", (), {"x": np.ones(3)}, "(3,) 1.0"),
    ("{{}} {}", (True,), {}, "{} True"),
    ("{}", (np.float32(0.1),), {}, "0.10000000149011612"),
    ("{}", (np.arange(6).reshape(2, 3),), {}, "[[0 1 2]\n [3 4 5]]"),
    ("{}", (1 + 2j,), {}, "(1+2j)"),
]


@pytest.mark.parametrize(("fmt", "args", "kwargs", "text"), FORMATS, ids=[f[0] for f in FORMATS])
@one_in(3)
def test_lines_are_those_of_jax(capsys, fmt, args, kwargs, text):
    debug.print(fmt, *args, **kwargs)
    tp.jit(lambda args, kwargs: debug.print(fmt, *args, **kwargs))(args, kwargs)
    assert capsys.readouterr().out == f"{text}\n" * 2


def test_other_objects_and_both_forms(capsys):
    @tp.jit
    def function(x):
        debug.print("{} {} {}", x, "text", x.shape)
        debug.print(ordered=True)("{y}", y=x)
        debug.print("{}", {"a": x, "b": [None, "c"]})
        debug.print("no", x, skip_format_check=True)

    function(np.float32(2))
    printed = lines(capsys)
    assert printed[:2] == ["2.0 text ()", "2.0"] and printed[3] == "no 2.0"
    assert printed[2].startswith("{'a': ") and printed[2].endswith("'b': [None, 'c']}")


WRONG = [
    (lambda: debug.print("x {}"), IndexError, "index"),
    (
        lambda: debug.print("{}", 1, 2),
        ValueError,
        "Unused positional arguments to `debug.print`: [2]",
    ),
    (lambda: debug.print("{a}", b=2), KeyError, "a"),
    (lambda: debug.print("a", b=2), ValueError, "Unused keyword arguments to `debug.print`: ['b']"),
    (lambda: debug.print(3), TypeError, "expected str, got int"),
    (lambda: debug.print(x=3), TypeError, "unexpected arguments in the two-call form"),
    (
        lambda: debug.callback(3),
        TypeError,
        "must be callable, but got an object of type <class 'int'>",
    ),
    (lambda: debug.callback(x=3), TypeError, "unexpected arguments in the two-call form"),
]


@pytest.mark.parametrize(("call", "kind", "text"), WRONG, ids=[text[:30] for *_, text in WRONG])
def test_arguments_that_do_not_fit(call, kind, text):
    for function in (call, tp.jit(call)):
        with pytest.raises(kind) as found:
            function()
        assert text in str(found.value)


def test_print_options_are_those_of_the_call(capsys):
    with np.printoptions(precision=2):
        debug.print("{}", np.array([0.123456]))
    assert lines(capsys) == ["[0.12]"]


def test_log_goes_to_a_logger(caplog):
    with caplog.at_level(logging.INFO, logger="transpile.debug"):
        tp.jit(lambda x: debug.log("x {}", x))(1.5)
    (record,) = [r for r in caplog.records if r.name == "transpile.debug"]
    assert record.getMessage() == "x 1.5" and record.filename == "test_debug.py"


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "float32", "float64", "complex64"]
)
@one_in(2)
def test_callbacks_get_the_very_values(dtype):
    dtype = np.dtype(dtype) if dtype != "bfloat16" else np.dtype(jnp.bfloat16)
    x = np.array([[0, 1, 3], [7, 1, 0]]).astype(dtype)
    seen = []
    function = lambda x: debug.callback(lambda *a: seen.append(a), x, x[0, 1], x[:, ::-1], x[:0])
    for way in ways(function):
        seen.clear()
        way(x)
        ((whole, number, view, empty),) = seen
        for found, want in ((whole, x), (number, x[0, 1]), (view, x[:, ::-1]), (empty, x[:0])):
            assert np.asarray(found).dtype == dtype and np.shape(found) == want.shape
            assert np.asarray(found).tobytes() == want.tobytes()
        whole[...] = 0  # it is the callback's own
        assert x[1, 0] == np.asarray(7, dtype)


# ------------------------------------------------------------------------------------------- order


def program_of_all_kinds(x):
    debug.print("start {}", x)
    y = np.sin(x) * 2
    debug.print("y {y}", y=y)

    def body(i, c):
        debug.print("i {} before {}", i, c)
        c = c + i
        debug.print("after {}", c)
        return c

    total = lax.fori_loop(0, 3, body, y.sum())

    def step(carry, v):
        new = carry + v
        debug.print("old {} new {}", carry, new)
        return new, v * 2

    last, doubled = lax.scan(step, total, x, reverse=True)
    _ = lax.while_loop(lambda n: n < 3, lambda n: (debug.print("n {}", n), n + 1)[1], 0)
    lax.cond(
        last > 0, lambda v: debug.print("positive {}", v), lambda v: debug.print("no {}", v), last
    )
    lax.switch(x.shape[0] % 2, [lambda: debug.print("even"), lambda: debug.print("odd")])
    lax.map(lambda v: debug.print("map {}", v), x)
    debug.print("start {}", x)
    return last, doubled


def test_lines_come_in_the_order_of_the_program(capsys):
    x = np.array([0.5, 1.5])
    graph = trace_to_graph(program_of_all_kinds, x)
    expected = interpret(graph, [x])
    printed = lines(capsys)
    assert printed[0] == printed[-1] == "start [0.5 1.5]"
    kinds = "start y i after i after i after old old n n n positive even map map start"
    assert " ".join(line.split()[0] for line in printed) == kinds
    assert printed[-3:-1] == ["map 0.5", "map 1.5"]
    for way in (
        lambda x: run(lower(optimise(graph)), [x]),
        tp.jit(program_of_all_kinds),
        tp.djit(program_of_all_kinds),
        program_of_all_kinds,
    ):
        found = way(x)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-14)
        again = lines(capsys)
        assert [line.split(".")[0] for line in again] == [line.split(".")[0] for line in printed]


def test_what_is_printed_is_what_was_there_then(capsys):
    @tp.jit
    def function(x):
        y = x * 1.0
        debug.print("{}", y)
        y[0] = 5
        debug.print("{}", y)
        y = lax.fori_loop(0, 2, lambda i, y: (debug.print("{}", y), y.at[i].set(9.0))[1], y)
        debug.print("{}", y)
        return y

    function(np.zeros(2))
    assert lines(capsys) == ["[0. 0.]", "[5. 0.]", "[5. 0.]", "[9. 0.]", "[9. 9.]"]


def test_nothing_is_dropped_merged_or_moved(capsys):
    @tp.jit
    def function(x):
        for _ in range(2):
            debug.print("same {}", x + 1)
        lax.fori_loop(0, 2, lambda i, c: (debug.print("constant"), c)[1], x)
        lax.fori_loop(0, 2, lambda i, c: (debug.print("of {}", x * 2), c)[1], x)
        lax.scan(lambda c, _: (c + 1, debug.print("carry {}", c)), x, None, length=2)

    function(1.0)
    assert lines(capsys) == [
        *["same 2.0"] * 2,
        *["constant"] * 2,
        *["of 2.0"] * 2,
        "carry 1.0",
        "carry 2.0",
    ]


def test_a_function_without_results(capsys):
    tp.jit(lambda: debug.print("hello"))()
    jitted = tp.jit(lambda x: debug.print("{}", x))
    jitted(1)
    jitted(2)
    assert lines(capsys) == ["hello", "1", "2"] and jitted._cache_size() == 1


# ---------------------------------------------------------------------------------- transformations


def shown(x):
    debug.print("x {}", x)
    return x * x


@pytest.mark.parametrize("wrap", [lambda f: f, tp.jit], ids=["outside", "jit"])
def test_derivatives_show_the_values_once(capsys, wrap):
    for derivative, value in (
        (tp.grad(shown), 6.0),
        (tp.hessian(shown), 2.0),
        (lambda x: tp.jvp(shown, (x,), (1.0,))[1], 6.0),
        (lambda x: tp.vjp(shown, x)[1](1.0)[0], 6.0),
        (lambda x: tp.linearize(shown, x)[1](1.0), 6.0),
        (tp.grad(tp.jit(shown)), 6.0),
    ):
        assert wrap(derivative)(3.0) == value
        assert lines(capsys) == ["x 3.0"]


@pytest.mark.parametrize("wrap", [lambda f: f, tp.jit], ids=["outside", "jit"])
def test_gradients_through_loops_show_the_values_once(capsys, wrap):
    def loss(x):
        def step(c, v):
            debug.print("c {}", c)
            return c * v, c

        return lax.scan(step, x, np.arange(1.0, 4.0))[0]

    assert wrap(tp.grad(loss))(2.0) == 6.0
    assert lines(capsys) == ["c 2.0", "c 2.0", "c 4.0"]

    def branch(x):
        return lax.cond(x > 0, lambda x: (debug.print("p {}", x), x * x)[1], lambda x: -x, x)

    assert wrap(tp.grad(branch))(2.0) == 4.0
    assert lines(capsys) == ["p 2.0"]


@pytest.mark.parametrize("wrap", [lambda f: f, tp.jit], ids=["outside", "jit"])
def test_what_is_the_same_in_all_iterations_is_shown_in_each(wrap):
    seen = []

    def loss(c, a):
        def step(c, v):
            def inner(_, pq):
                debug.callback(lambda p: seen.append(("p", float(p))), pq[0])
                return np.sqrt(pq[0]), pq[1] * 2

            p, q = lax.fori_loop(0, 2, inner, (a, a))
            debug.callback(lambda q: seen.append(("q", float(q))), q)
            return c * p, v

        return lax.scan(step, c, np.arange(3.0))[0]

    once = [("p", 16.0), ("p", 4.0), ("q", 64.0)]
    assert wrap(tp.grad(loss))(1.0, 16.0) == 8.0  # p = 2 is a residual, computed once
    assert seen == once * 3


@pytest.mark.parametrize("wrap", [lambda f: f, tp.jit], ids=["outside", "jit"])
def test_vmap_calls_once_for_each_example(capsys, wrap):
    wrap(tp.vmap(lambda x, y: debug.print("{} {}", x, y), in_axes=(0, None)))(np.arange(3.0), 7)
    assert lines(capsys) == ["0.0 7", "1.0 7", "2.0 7"]
    wrap(tp.vmap(lambda x: debug.print("constant {}", 5)))(np.arange(3.0))
    assert lines(capsys) == ["constant 5"]
    wrap(tp.vmap(tp.vmap(lambda x: debug.print("{}", x))))(np.arange(4).reshape(2, 2))
    assert sorted(lines(capsys)) == ["0", "1", "2", "3"]
    choose = lambda p, x: lax.cond(
        p, lambda x: debug.print("t {}", x), lambda x: debug.print("f {}", x), x
    )
    wrap(tp.vmap(choose))(np.array([True, False]), np.arange(2))
    assert lines(capsys) == ["f 0", "f 1", "t 0", "t 1"]  # both are computed, as in JAX


def test_checkpoint_and_custom_rules(capsys):
    assert tp.grad(tp.checkpoint(lambda x: np.sin(shown(x))))(0.5) == pytest.approx(np.cos(0.25))
    assert set(lines(capsys)) == {"x 0.5"}

    @tp.custom_vjp
    def function(x):
        return shown(x)

    function.defvjp(
        lambda x: (shown(x), x), lambda x, ct: ((debug.print("ct {}", ct), 2 * x * ct)[1],)
    )
    assert tp.jit(tp.grad(function))(3.0) == 6.0
    assert lines(capsys) == ["x 3.0", "ct 1.0"]


# ------------------------------------------------------------------------------------- callbacks


@pytest.mark.parametrize("wrap", [lambda f: f, tp.jit, tp.djit], ids=["outside", "jit", "djit"])
def test_an_exception_reaches_the_caller_whole(wrap):
    class OwnError(Exception):
        pass

    error, seen = OwnError("boom"), []

    def fails(x):
        seen.append(float(x))
        if x > 1:
            raise error

    def function(x):
        return lax.fori_loop(0, 5, lambda i, c: (debug.callback(fails, c), c + 1)[1], x)

    function = wrap(function)
    with pytest.raises(OwnError) as found:
        function(0.0)
    assert found.value is error and seen == [0.0, 1.0, 2.0]
    seen.clear()
    assert function(-9.0) == -4.0  # the next call is as good as any
    assert seen == [-9.0, -8.0, -7.0, -6.0, -5.0]


def test_equal_programs_with_other_functions():
    def make(seen):
        def note(x):
            seen.append(float(x))

        return tp.jit(lambda x: (debug.callback(note, x), x + 1)[1])

    first, second = [], []
    one, other = make(first), make(second)
    one(1.0), other(2.0), one(3.0)
    assert (first, second) == ([1.0, 3.0], [2.0])


def test_one_callback_at_several_places_and_types():
    seen = []

    def note(x):
        seen.append((x.dtype.name, np.shape(x)))

    @tp.jit
    def function(x, y):
        debug.callback(note, x)
        debug.callback(note, y)
        debug.callback(note, x.sum())

    function(np.ones(3, np.float32), np.ones((2, 2), int))
    assert seen == [("float32", (3,)), ("int64", (2, 2)), ("float32", ())]


def test_dynamic_tracing_calls_what_this_trace_has():
    seen = []

    @tp.djit
    def function(x):
        debug.callback(lambda v: seen.append((id(function), float(v))), x)
        return x

    function(np.float64(1.0))
    function(np.float64(2.0))
    assert [v for _, v in seen] == [1.0, 2.0]


def test_values_that_python_asks_for_call_nothing():
    seen = []

    def function(x):
        y = lax.fori_loop(0, 3, lambda i, c: (debug.callback(seen.append, c), c + 1)[1], x)
        return y * 2 if y > 2 else y

    for way in (tp.djit(function), tp.grad(function)):  # both know the values
        seen.clear()
        way(np.float64(0.0))
        assert seen == [0.0, 1.0, 2.0]


def test_pytrees_and_keywords_arrive_as_they_were():
    seen = []
    tp.jit(
        lambda x: debug.callback(lambda *a, **k: seen.append((a, k)), {"q": x}, "s", k=(x, None))
    )(np.arange(2.0))
    ((first, text), keywords) = seen[0]
    assert first["q"].tolist() == [0, 1] and text == "s"
    assert keywords["k"][0].tolist() == [0, 1] and keywords["k"][1] is None


def test_a_callback_may_call_programs():
    inner = tp.jit(lambda x: (debug.callback(seen_inner.append, x), x * 2)[1])
    seen_inner, seen = [], []
    outer = tp.jit(
        lambda x: (
            debug.callback(lambda v: seen.append(inner(v)), x),
            debug.callback(seen.append, x),
        )
    )
    outer(3.0)
    assert seen == [6.0, 3.0] and seen_inner == [3.0]


def test_threads_call_their_own():
    seen = []
    function = tp.jit(
        lambda x: lax.fori_loop(
            0,
            20,
            lambda i, c: (
                debug.callback(lambda v: seen.append((threading.get_ident(), float(v))), c),
                c + 1,
            )[1],
            x,
        )
    )
    function(0.0)
    seen.clear()
    found = {}

    def run(start):
        found[start] = threading.get_ident(), function(start)

    threads = [threading.Thread(target=run, args=(100.0 * k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for start, (ident, result) in found.items():
        assert result == start + 20
        assert [v for owner, v in seen if start <= v < start + 20 and owner == ident] == [
            start + k for k in range(20)
        ]


def test_large_arrays_of_parallel_loops(capsys):
    function = tp.jit(lambda x: (debug.print("{}", np.exp(x).sum()), np.exp(x) * 2)[1])
    x = np.linspace(0, 1, 200_000)
    np.testing.assert_allclose(function(x), np.exp(x) * 2)
    assert float(lines(capsys)[0]) == pytest.approx(np.exp(x).sum())
    program = function.lower(x).compiler_ir("loops")
    calls = [s for k in program.kernels for s in walk(k.body) if isinstance(s, Call)]
    assert [c.site is not None for c in calls] == [True]


# --------------------------------------------------------------------------------- the C library

MAIN = """
#include <stdio.h>
#include "shown.h"

static int called(void *context, int place, const void *const *values, void *const *results)
{
    printf("%s %d %s\\n", (const char *)context, place, values[0] ? "values" : "none");
    return results != NULL;
}

int main(void)
{
    double x[2] = {0.5, -3.25}, out[2];
    _Bool flag = 1;
    static char workspace[65536];
    if (shown_workspace_size() > sizeof workspace) return 2;
    if (shown(x, &flag, out, workspace)) return 1;
    return shown_with_callback(x, &flag, out, workspace, called, "place");
}
"""


def test_a_saved_library_prints_by_itself_or_calls_the_caller(tmp_path):
    @tp.jit
    def shown(x, flag):
        debug.print('x = {x}, "{}"? 100% {}\t', flag, "é\\", x=x)
        debug.callback(lambda v: None, x[1])
        debug.print("{} {} {}", x.astype(np.float32)[0], x[:0], np.int8(-3) * (x > 0).sum())
        debug.print("{}", x + 1j)
        return x * 2

    shown.lower(np.ones(2), True).compile().save(tmp_path)
    (tmp_path / "main.c").write_text(MAIN)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-Wno-unknown-pragmas"]
    subprocess.run(
        ["cc", *flags, "main.c", "shown.c", "-lm", "-o", "main"], cwd=tmp_path, check=True
    )
    found = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == [
        'x = [0.5 -3.25], "True"? 100% é\\\t',
        "0.5 [] -3",
        "[0.5+1j -3.25+1j]",
        "place 0 values",
        "place 1 values",
        "place 2 values",
        "place 3 values",
    ]


def test_a_program_from_the_cache_calls_this_process(tmp_path):
    script = """
import numpy as np, transpile as tp
from transpile import debug
seen = []
tp.jit(lambda x: (debug.callback(seen.append, x), debug.print("x {}", x)))(np.float64(2.5))
print(seen[0] * 2)
"""
    (tmp_path / "script.py").write_text(script)
    for _ in range(2):
        found = subprocess.run(
            [sys.executable, tmp_path / "script.py"],
            env={"TRANSPILE_CACHE_DIR": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"},
            cwd="/",
            capture_output=True,
            text=True,
        )
        assert found.stdout.splitlines() == ["x 2.5", "5.0"], found.stderr
