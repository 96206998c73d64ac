"""The lines of Python of statements: in `#line` directives, in the loops, in what gcc makes."""

import inspect
import itertools
import re

import numpy as np
import pytest

import transpile
from transpile.build import toolchain
from transpile.options import Options

LINES, _ = inspect.getsourcelines(inspect.getmodule(lambda: None))
FILE = __file__
X = np.linspace(-1.0, 2.0, 64 * 32).reshape(64, 32)


def line_of(mark):
    (number,) = (k for k, line in enumerate(LINES, 1) if line.rstrip().endswith(f"# {mark}"))
    return number


def normalised(x):
    m = x.mean(axis=1, keepdims=True)  # the mean
    s = np.sqrt(((x - m) ** 2).mean(axis=1, keepdims=True))  # the deviation
    return (x - m) / s  # the quotient


def in_place(a, n):
    for i in range(n):
        a[i, 0] = a[i, 1] + 1  # the first column
        if a[i, 2] > 0:  # the test
            a[i, 1] *= 2  # the second column
        while a[i, 2] < 5:
            a[i, 2] += a[i, 0]  # the third column
    return a


def products(x):
    for _ in range(2):
        x = x @ x.T @ x  # the product
    return np.tanh(x).sum(axis=0)  # the sum


def pairs(text):
    """[(line of Python, line of C)] of a text."""
    return re.findall(r'^#line (\d+) "[^"\n]*"\n( .*)$', text, re.M)


def lines_of(function, *arguments):
    text = transpile.jit(function).lower(*arguments).as_text("c", debug_info=True)
    return {c.strip(): int(number) for number, c in pairs(text)}


def test_each_statement_of_a_fused_kernel_has_its_line():
    found = lines_of(normalised, X)
    assert found["acc += x[i][j];"] == line_of("the mean")
    assert found["acc2 += t * t;"] == line_of("the deviation")
    assert found["out[i][j] = (x[i][j] - m) / s;"] == line_of("the quotient")


def test_statements_that_store_into_one_array_have_lines_of_their_own():
    text = transpile.jit(in_place).lower(X.copy(), 3).as_text("loops", debug_info=True)
    stores = re.findall(r"(\w+)\[\w+, (\d)\] = .*# .*:(\d+)$", text, re.M)
    marks = ("the first column", "the second column", "the third column")
    lines = [*enumerate(map(line_of, marks))]
    assert [(int(k), int(n)) for _, k, n in stores] == 2 * lines  # in both versions of the loop


def test_calls_of_routines_have_lines():
    found = lines_of(products, X)
    calls = {n for c, n in found.items() if c.startswith("matmul")}
    assert calls == {line_of("the product")}
    assert line_of("the sum") in found.values()


@pytest.mark.parametrize("function", [normalised, in_place, lambda x: np.tanh(x @ x.T).sum(axis=0)])
def test_the_directives_are_all_that_is_added(function):
    arguments = (X.copy(), 3) if function is in_place else (X,)
    lowered = transpile.jit(function).lower(*arguments)
    text = lowered.as_text("c", debug_info=True)
    assert re.sub(r"^#line .*\n", "", text, flags=re.M).split() == lowered.as_text("c").split()
    # and every statement of a kernel has one
    body = text[text.index("#line ") :].partition('.c"\n')[0].splitlines()
    for before, line in itertools.pairwise(body):
        is_statement = re.match(r"(    )+\S.*;$", line) and not re.match(r" +\w+ \w+\[.*\];$", line)
        if is_statement and not before.endswith((",", "(")):
            assert before.startswith("#line"), line


def test_the_lines_behind_the_kernels_are_those_of_the_file(tmp_path):
    lowered = transpile.jit(normalised).lower(X)
    lowered.compile({"debug": True}).save(tmp_path, "norm")
    text = (tmp_path / "norm.c").read_text().splitlines()
    (place,) = (k for k, line in enumerate(text) if line.endswith('"norm.c"'))
    assert text[place] == f'#line {place + 2} "norm.c"'


def test_what_gcc_makes_of_them_has_the_lines_of_python():
    options = Options(debug=True)
    if toolchain.find_compiler(options).kind != "gcc":
        pytest.skip("the compiler is not gcc, whose .loc directives these are")
    assembly = transpile.jit(normalised).lower(X).compile({"debug": True}).as_text("asm")
    (number,) = set(re.findall(rf'\.file (\d+) .*"{re.escape(FILE)}"', assembly))
    lines = set(map(int, re.findall(rf"\.loc {number} (\d+)", assembly)))
    assert {line_of(f"the {word}") for word in ("mean", "deviation", "quotient")} <= lines
    first = normalised.__code__.co_firstlineno
    assert lines <= set(range(first, first + 4))
