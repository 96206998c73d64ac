"""`unroll` and `no_unroll`: who runs a loop."""

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import errors, no_unroll, unroll

X = np.arange(4.0)


def loops(f, *args, **settings):
    return transpile.jit(f, **settings).lower(*args).as_text().count("for (")


def test_outside_of_traces_they_are_what_they_take():
    for hint in (unroll, no_unroll):
        numbers = range(3)
        assert hint(numbers) is numbers and list(hint(zip("ab", X, strict=False))) == [
            ("a", 0.0),
            ("b", 1.0),
        ]


def long_by_python(x):
    if x > 3:
        x = x - 1
    for k in unroll(range(100)):
        x = x * 0.5 + k
    return x


def short_by_program(x):
    for k in no_unroll(range(3)):
        x = x * 0.5 + k
    return x


def short_with_an_end(x):
    for k, item in no_unroll(enumerate([1.0, 2.0, 4.0])):
        if item > x:
            return k
    return -1


def long_with_an_end(x):
    for k in unroll(range(70)):
        if k * k > x:
            return k
    return -1


@pytest.mark.parametrize(
    ("f", "count"),
    [(long_by_python, 0), (short_by_program, 1), (short_with_an_end, 1), (long_with_an_end, 0)],
)
@pytest.mark.parametrize("x", [0.5, 2.5, 20.0])
@one_in(3)
def test_loops_are_run_by_whom_it_is_asked(f, count, x):
    assert transpile.jit(f)(x) == f(x)
    text = transpile.jit(f).lower(x).as_text()
    assert text.count("for (") + text.count("while (") == count


def test_the_reason_is_told():
    told = transpile.jit(short_by_program).lower(1.0).as_text("control_flow")
    assert "a loop of the program with 3 iterations, as no_unroll asks for it\n" in told
    told = transpile.jit(long_by_python).lower(1.0).as_text("control_flow")
    assert "run by Python while tracing, as unroll asks for it\n" in told


def test_derivatives_and_batches():
    for f in (long_by_python, short_by_program):
        slope = transpile.jit(transpile.grad(f))(2.0)
        np.testing.assert_allclose(slope, transpile.grad(f)(2.0))
        values = transpile.jit(transpile.vmap(f))(X)
        np.testing.assert_allclose(values, [f(x) for x in X])


def of_traced_length(n):
    total = 0
    for k in unroll(range(n)):
        total += k
    return total


def over_texts(x):
    for name in no_unroll(["a", "bc"]):
        x = x + len(name)
    return x


def growing(x):
    y = x
    for _ in no_unroll(range(3)):
        y = np.concatenate([y, x])
    return y


def not_a_statement(x):
    return {k: x * k for k in no_unroll(range(3))}[1]


@pytest.mark.parametrize(
    ("f", "arg", "kind", "text"),
    [
        (of_traced_length, 3, errors.TracerError, "unroll takes what has a length that is known"),
        (over_texts, X, errors.UnsupportedError, "no_unroll takes a range, .*, not a list"),
        (growing, X, errors.CarryError, "'y' is float64.4. before an iteration of"),
        (not_a_statement, X, errors.UnsupportedError, "no_unroll is for what a `for` statement"),
    ],
)
def test_what_cannot_be_is_an_error_with_its_line(f, arg, kind, text):
    with pytest.raises(kind, match=f"test_python_loop_hints.py:[0-9]+: {text}") as caught:
        transpile.jit(f).lower(arg)
    if f is growing:
        note = "So `for _ in no_unroll(range(3)):` is no loop of the program: leave out no_unroll."
        assert note in caught.value.__notes__


def test_without_conversion_no_unroll_is_an_error():
    with pytest.raises(errors.ConcretizationTypeError, match="python_control_flow=False says"):
        transpile.jit(short_by_program, python_control_flow=False).lower(1.0)
    assert transpile.jit(long_with_an_end, static_argnums=0, python_control_flow=False)(20) == 5
