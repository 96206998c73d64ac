"""Rendered programs: names, comments, line breaks, the helpers that are in them, the header."""

import re
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile.build import toolchain
from transpile.build.compiler_probe import find_compiler
from transpile.codegen.line_wrapping import WIDTH, hanging, wrapped
from transpile.options import Options
from transpile.symbols.identifiers import Names, is_reserved

pytestmark = pytest.mark.full_level

X = np.linspace(0.5, 2, 16)
STRICT = {"opt_level": 1, "extra_cflags": ["-Werror"]}


def text_of(function, *arguments, **options):
    return transpile.jit(function, compiler_options=options).lower(*arguments).as_text("c")


def check(function, *arguments):
    """The compiled function gives what NumPy gives; warnings are errors."""
    result = transpile.jit(function, compiler_options=STRICT)(*arguments)
    np.testing.assert_allclose(result, function(*arguments), rtol=1e-14)


# ------------------------------------------------------------------------------------------ names


def test_arguments_may_be_called_what_c_or_the_program_calls_something():
    def f(int, exp, i, double, y1, workspace, out, f, acc, first, last, strip, minimum_f64, j):
        total = np.sum(np.exp(int) + exp * i / double - y1 + workspace, axis=0)
        return np.minimum(total, out) + f + acc + first + last + strip + minimum_f64 + j

    rows = np.ones((300, 16)) * X
    check(f, rows, rows, rows, rows, rows, rows, *[X] * 8)


def test_words_of_c_get_an_underscore_and_other_names_stay():
    def f(double, y1, workspace, i, mass):
        return double + y1 + workspace + i + mass

    text = text_of(f, *[X] * 5)
    assert "double_[i" not in text  # i is an argument
    for name in ("double_", "y1_", "workspace_", "i", "mass"):
        assert f"const double {name}[restrict 16]" in text
    assert "int64_t j = 0" in text


@pytest.mark.parametrize(
    "name", ["while", "errno", "NULL", "gamma", "index", "I", "lambda", "main", "exp_f64"]
)
def test_no_value_takes_a_reserved_name(name):
    assert Names().new(name) == name + "_"


@given(st.lists(st.text(max_size=6), max_size=20))
def test_names_are_distinct_identifiers(hints):
    names = Names()
    given_out = [names.new(hint) for hint in hints]
    assert len(set(given_out)) == len(given_out)
    assert all(re.fullmatch(r"[A-Za-z_]\w*", n, re.ASCII) for n in given_out)
    assert not any(map(is_reserved, given_out))


def test_results_and_temporaries_have_the_user_s_names():
    def f(x):
        weight = np.exp(x)
        weight = weight / np.sum(weight)
        mean = np.mean(weight)
        return mean, np.max(weight)

    text = text_of(f, X)
    assert "double *restrict mean" in text and "double weight[restrict 16]" in text


# --------------------------------------------------------------------------------------- comments


def test_a_comment_in_the_users_line_does_not_end_the_c_comment():
    def f(x):
        return np.exp(x) + 1  # */ int broken = 1; /* and on

    check(f, X)
    text = text_of(f, X)
    assert "* / int broken = 1; / * and on" in text


def test_a_long_line_of_the_user_is_cut():
    def f(x):
        return x * 1.01 + x * 1.02 + x * 1.03 + x * 1.04 + x * 1.05 + x * 1.06 + np.exp(x)  # long

    lines = text_of(f, X).splitlines()
    (comment,) = (line for line in lines if "test_render.py" in line and "return" in line)
    assert len(comment) <= WIDTH and comment.endswith("... */")


def test_each_kernel_names_the_lines_it_comes_from():
    def f(x):
        y = np.sin(x)
        return y * 2

    text = text_of(f, X)
    line = f.__code__.co_firstlineno
    assert f"/* test_render.py:{line + 1}: y = np.sin(x)\n" in text
    assert f"   test_render.py:{line + 2}: return y * 2 */\nstatic void f_kernel(" in text


def test_nothing_stands_between_collapsed_loops():
    """The window of a strip is named inside both, or C has no nest that OpenMP can collapse."""
    x = np.random.default_rng(0).random((200, 50, 400))

    def f(x):
        return x.transpose(2, 1, 0).sum(axis=2)

    assert re.search(
        r"collapse\(2\).*\n *for .*\n *for .*\n *const int64_t first = ", text_of(f, x)
    )
    check(f, x)


# ---------------------------------------------------------------------------------------- helpers


def test_only_what_is_used_is_in_the_text():
    text = text_of(lambda x: x * 2 + 1, X)
    assert "static inline" not in text and "#include <complex.h>" not in text
    text = text_of(lambda k: k // 3, np.int64(9))
    helpers = ["is_opposed_i64", "floor_divide_i64"]
    assert re.findall(r"static inline \w+ (\w+)\(", text) == helpers


def test_complex_programs_include_their_header():
    assert "#include <complex.h>" in text_of(lambda z: z * z, X + 1j)


# ------------------------------------------------------------------------------------ line breaks


def test_a_statement_breaks_at_the_loosest_operator():
    left, right = "a[i] * " * 5 + "b[i]", "c[i] / " * 5 + "d[i]"
    lines = wrapped(f"out[i] = {left} + {right} - {left};", "    ").splitlines()
    assert lines == [f"    out[i] = {left} + {right}", f"            - {left};"]
    lines = wrapped(f"out[i] = f({left} + {right}, {left});", "    ").splitlines()
    assert lines == [f"    out[i] = f({left} + {right},", f"            {left});"]


def test_a_call_breaks_after_a_comma():
    call = f"f({', '.join(f'argument_{k}' for k in range(12))});"
    lines = wrapped(call, "    ").splitlines()
    assert (
        len(lines) == 2 and lines[0].endswith(",") and lines[1].startswith("            argument")
    )


def test_a_name_is_never_broken():
    text = "out = " + "x" * 200 + ";"
    assert wrapped(text, "    ") == f"    {text}"


terms = st.sampled_from(["a", "b[i]", "f(x, y)", "(p + q)", "-3.5"])


@given(st.lists(terms, min_size=1, max_size=60))
def test_broken_lines_are_short_and_say_the_same(terms):
    text = "out[i] = " + " + ".join(terms) + ";"
    lines = wrapped(text, "        ").splitlines()
    assert all(len(line) <= WIDTH for line in lines)
    assert " ".join(line.strip() for line in lines) == text


def test_signatures_wrap_under_the_parenthesis():
    parameters = ", ".join(f"const double *x_{k}" for k in range(9))
    lines = hanging(f"int function({parameters})").splitlines()
    assert len(lines) > 1 and all(len(line) <= WIDTH for line in lines)
    assert all(line.startswith(" " * len("int function(") + "const") for line in lines[1:])
    assert hanging("int nothing(void)") == "int nothing(void)"


def test_no_line_is_longer_than_the_width():
    def f(x, y, z, w):
        a = np.sin(x) * np.cos(y) + np.exp(-z * z) * np.log(w) - np.sqrt(x * x + y * y + z * z)
        return np.where(
            a > 0, np.hypot(x, y) * np.arctan2(z, w) + a, np.tanh(a) * (x - y) * (z - w)
        )

    lines = text_of(f, *[X] * 4).splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("static void f_kernel"))
    assert not [line for line in lines[start:] if len(line) > WIDTH]


# ----------------------------------------------------------------------------------------- header


def test_the_header_stands_alone_in_c_and_is_the_programs_interface(tmp_path):
    compiled = transpile.jit(lambda x, z: (x + 1, np.abs(z))).lower(X, X + 1j).compile()
    compiled.save(tmp_path, "half")
    header, source = tmp_path / "half.h", tmp_path / "half.c"
    text = f'#include "{header.name}"\n#include "{header.name}"\nint use(void);\n'
    text += "int use(void) { return half_workspace_size() != 0; }\n"
    (tmp_path / "use.c").write_text(text)
    compiler = toolchain.find_compiler(Options())
    command = [*compiler.command, "-std=c11", "-Wall", "-Wextra", "-Werror", "-c", "use.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert f'#include "{header.name}"' in source.read_text()


def test_debug_text_leads_back_to_the_python_line():
    def f(x):
        return np.sin(x)

    text = text_of(f, X, debug=True)
    line = f.__code__.co_firstlineno + 1
    assert f'#line {line} "' in text


# ----------------------------------------------------------------------------- vectorised loops

MASK = np.random.default_rng(0).random((128, 128)) < 0.5


@pytest.mark.parametrize(
    "function",
    [
        lambda x, mask: (np.clip(x, 0, 1) * 255).astype(np.uint8),
        lambda x, mask: (np.clip(np.hypot(x, x + 1), 0, 1) * 255).astype(np.uint8),
        lambda x, mask: np.maximum(0, np.minimum(np.minimum(2 * x, (1 + x) / 2), 2)) * x,
        lambda x, mask: np.where(mask, x, np.float32(-1e9)).max(axis=1),
        lambda x, mask: np.exp(np.where(mask, x, np.float32(-1e9))),
        lambda x, mask: np.exp(np.where(MASK, x, np.float32(-1e9))),
        lambda x, mask: x * mask,
        lambda x, mask: mask & (x < 1),
        lambda x, mask: (np.signbit(x), np.signbit(x) < x),
        lambda x, mask: (np.isnan(x) & mask) / x,
        lambda x, mask: np.hypot(np.sign(mask.astype(np.uint8)), x.astype(np.float16)),
        lambda x, mask: x.astype(np.float16) * x[:, :1].astype(np.float16),
        lambda x, mask: np.power(x, (mask[:, :1] & (x[:, 1:2] > 0)) + 0.5),
        lambda x, mask: np.logical_or(x, x + 1),
        lambda x, mask: np.minimum(x + 1j, 2j),
        lambda x, mask: (x + 1j) / (x - 2j),
        lambda x, mask: np.sign(np.where(mask, x + 1j, 0)),
        lambda x, mask: np.hypot((x + 1j).real, x),
    ],
    ids=[
        "to bytes",
        "lengths to bytes",
        "limited slopes",
        "largest chosen",
        "chosen by an argument",
        "chosen by a constant",
        "products with truths",
        "truths and comparisons",
        "truths that are stored and counted",
        "truths over numbers",
        "signs of bytes beside halves",
        "halves of a row",
        "truths of a row",
        "truths of numbers",
        "complex minima",
        "complex quotients",
        "complex signs",
        "choices beside complex numbers",
    ],
)
@one_in(4)
def test_gcc_vectorises_every_loop_that_is_marked(function, tmp_path):
    compiler = find_compiler(Options())
    if compiler.kind != "gcc":
        pytest.skip("reads what gcc reports")
    plain = {"openmp": False, "march": "", "extra_cflags": ("-mavx2", "-mfma")}
    lowered = transpile.jit(function, compiler_options=plain).lower(
        np.ones((128, 128), np.float32), np.ones((128, 128), bool)
    )
    source = next(path for path in lowered.compile().save(tmp_path, "f") if path.suffix == ".c")
    report = tmp_path / "report"
    flags = [*toolchain.flags(compiler, Options(**plain)), f"-fopt-info-vec={report}"]
    toolchain.build_shared(compiler, source, tmp_path / "again.so", flags)
    text = source.read_text()
    lines = text.splitlines()
    marked = [n for n, line in enumerate(lines, 1) if line.strip().startswith("#pragma omp simd")]
    done = {int(n) for n in re.findall(r":(\d+):\d+: optimized: loop vec", report.read_text())}
    assert [n for n in marked if done.isdisjoint(range(n + 1, n + 4))] == []


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x < 1).all(axis=0),
        lambda x: (x > 1).any(axis=0) ^ (x < -1).all(axis=0),
        lambda x: np.where((np.sin(x) > 0) ^ (x.sum(axis=1, keepdims=True) > 0), x, -x),
        lambda x: np.logical_and.accumulate(x > -1, axis=0),
    ],
)
@one_in(2)
def test_local_truths_are_numbers_that_compilers_vectorise(function):
    x = np.random.default_rng(0).standard_normal((300, 40))
    check(function, x)
    text = text_of(function, x)
    assert not re.search(r"^ +bool \w+\[", text, re.MULTILINE)


def test_truths_of_columns_are_collected_in_bytes():
    x = np.zeros((300, 64))
    assert re.search(r"uint8_t acc\[\d+\];", text_of(lambda x: (x < 1).all(axis=0), x))


def test_truths_that_iterations_read_and_write_are_bytes():
    """gcc makes vectors of bytes, and none of the bools of two arrays that change places."""

    def rule(cells, n):
        new = np.zeros_like(cells)
        for _ in range(n):
            for i in range(len(cells)):
                left = cells[i - 1] if i > 0 else False
                right = cells[i + 1] if i < len(cells) - 1 else False
                new[i] = (cells[i] or right) and not (left and cells[i] and right)
            cells, new = new, cells
        return cells

    x = np.random.default_rng(0).random(70) < 0.3
    text = text_of(rule, x, 5)
    assert "uint8_t *previous" in text
    for n in (0, 1, 4):
        np.testing.assert_array_equal(transpile.jit(rule)(x.copy(), n), rule(x.copy(), n))
