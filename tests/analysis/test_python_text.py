"""The dialects "python" and "control_flow": what a trace has met of the user's Python."""

import pickle

import numpy as np
import pytest

import transpile

X = np.arange(5.0)


def clipped(x):
    if x < 0:
        return 0.0
    return x


def summed(x):
    """A sum that may end early."""
    total = 0.0
    for value in x:
        total += clipped(value)
        if 0 < total < 100:
            continue
        if total > 100:
            return -1.0
    return total if len(x) > 2 else 2.0


def straight(x):
    return np.sin(x) + double(x)


def double(x):
    total = x
    for _ in range(1):
        total = total + x
    return total


CLIPPED = """\
def clipped(x):
    result = python.Unbound()
    # line 14: if x < 0:
    #     a branch of the program, as its condition is traced
    def then(result):
        result = 0.0
        return result
    def otherwise(result):
        result = x
        return result
    result = python.if_(x < 0, then, otherwise, result=None)
    return python.returned(result)
"""


def test_converted_functions_stand_in_the_order_of_their_calls_with_their_lines():
    text = transpile.jit(summed).lower(X).as_text("python")
    assert text.startswith(
        "# test_python_text.py:19: summed, converted\n"
        'def summed(x):\n    """A sum that may end early."""\n'
    )
    assert "# test_python_text.py:13: clipped, converted\n" + CLIPPED in text
    assert "python.and_(0 < total, lambda: total < 100)" in text
    assert "python.until('returned'), python.updating('total')" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    compile(text, "text", "exec")  # it is Python


def test_why_each_statement_became_what_it_is():
    text = transpile.jit(summed).lower(X).as_text("control_flow")
    branch = "a branch of the program, as its condition is traced"
    assert text.splitlines() == [
        f"test_python_text.py:14: `if x < 0:`: {branch}",
        "test_python_text.py:22: `for value in x:`: a loop of the program with 5 iterations, as a "
        "traced condition may end it",
        f"test_python_text.py:24: `if 0 < total < 100:`: {branch}",
        f"test_python_text.py:26: `if total > 100:`: {branch}",
        "test_python_text.py:28: `return total if len(x) > 2 else 2.0`: no branch of the program: "
        "it is True while tracing",
    ]


def test_a_trace_that_needs_no_conversion_says_so_and_shows_the_source():
    lowered = transpile.jit(straight).lower(X)
    plain = "# Nothing was converted, as no traced value decides a statement"
    assert lowered.as_text("control_flow").startswith(plain)
    text = lowered.as_text("python")
    assert text.startswith(plain)
    assert "# test_python_text.py:31: straight, as it is\ndef straight(x):\n" in text
    assert "# test_python_text.py:35: double, as it is\ndef double(x):\n    total = x\n" in text


@pytest.mark.parametrize(
    ("size", "outcome"),
    [
        (3, "run by Python while tracing, 3 iterations: at most 64 equations"),
        (
            80,
            "a loop of the program with 80 iterations, as Python would trace more than 64 "
            "equations",
        ),
    ],
)
def test_known_loops_say_how_long_they_are(size, outcome):
    def f(x, n):
        for i in range(size):
            x[i] = x[i] + 1
        if n > 0:
            x[0] = 0.0
        return x

    text = transpile.jit(f).lower(np.zeros(90), 1).as_text("control_flow")
    assert f"`for i in range(size):`: {outcome}\n" in text


def test_other_loops_say_why_python_ran_them():
    def f(x, n):
        for name in {"a": 1, "b": 2}:
            x = x + len(name)
        rows = [x, x[:2]]
        for k in range(2):
            x = x + rows[k].sum()
        k = 0
        while k < 2:
            k += 1
        for i in range(n):
            x = x + i
        while n > 0:
            n -= 1
        return x + n

    text = transpile.jit(f).lower(X, 3).as_text("control_flow")
    for line in (
        '`for name in {"a": 1, "b": 2}:`: run by Python while tracing, as it is over a dict\n',
        "`for k in range(2):`: run by Python while tracing, 2 iterations: at most 64 equations\n",
        "`while k < 2:`: run by Python while tracing, 2 iterations\n",
        "`for i in range(n):`: a loop of the program, as the number of its iterations is traced\n",
        "`while n > 0:`: a loop of the program, as its condition is traced\n",
    ):
        assert line in text


def test_stages_keep_the_texts_also_pickled():
    compiled = transpile.jit(summed).lower(X).compile()
    traced = transpile.jit(summed).trace(X)
    for dialect in ("python", "control_flow"):
        text = compiled.as_text(dialect)
        for stage in (compiled, traced.lower(), traced):
            again = pickle.loads(pickle.dumps(stage))
            again = again.lower() if stage is traced else again
            assert again.as_text(dialect) == text
        assert transpile.djit(summed).lower(X).as_text(dialect) != ""


def test_a_function_inside_a_derivative_is_there_once():
    text = transpile.jit(transpile.grad(lambda x: clipped(x.sum()))).lower(X).as_text("python")
    assert text.count(": clipped, converted") == text.count(": <lambda>, as it is") == 1
