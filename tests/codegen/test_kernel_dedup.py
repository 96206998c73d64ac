"""Kernels that are alike: long programs have one function for all that differ in names only."""

import re

import numpy as np
import pytest

import transpile
from transpile.codegen import compile_budget
from transpile.codegen.kernel_dedup import functions_and_calls

pytestmark = pytest.mark.full_level


def kernel(number, text, parameters, arguments, index="i", comment="here"):
    """A kernel as the template gets it: a loop around a line."""
    line = {"kind": "line", "text": text}
    loop = {"kind": "for", "pragma": "#pragma omp simd", "index": index, "start": "0"}
    return {
        "comment": [comment],
        "signature": f"f_{number}({parameters})",
        "line_directive": "",
        "body": [{**loop, "stop": "8", "body": [line], "braces": False}],
        "call": f"f_{number}({arguments});",
    }


@pytest.fixture
def all_long(monkeypatch):
    """Every program is long."""
    monkeypatch.setattr(compile_budget, "LONGEST_USUAL", 0)


def functions(*kernels):
    """The calls of kernels, with the numbers of the functions that are called."""
    found, calls, _ = functions_and_calls(list(kernels))
    assert {k["signature"].partition("(")[0] for k in found} == {c.partition("(")[0] for c in calls}
    return calls


ONE = kernel(
    1, "y[i] = 2.0 * x[i];", "const double x[restrict 8],\n    double y[restrict 8]", "x, y"
)


def test_kernels_that_differ_in_names_are_one_function_called_with_their_arguments(
    monkeypatch, all_long
):
    other = kernel(
        2,
        "result[k] = 2.0 * argument[k];",
        "const double argument[restrict 8], double result[restrict 8]",
        "argument, result",
        index="k",
        comment="there",
    )
    assert functions(ONE, other) == ["f_1(x, y);", "f_1(argument, result);"]
    assert functions_and_calls([ONE, other])[0][0]["comment"] == ["here", "there"]
    monkeypatch.setattr(compile_budget, "LONGEST_USUAL", 100)
    assert functions(ONE, other) == ["f_1(x, y);", "f_2(argument, result);"]


def test_a_huge_program_of_few_functions_is_but_long(monkeypatch, all_long):
    monkeypatch.setattr(compile_budget, "LONGEST", 20)
    assert functions_and_calls([ONE])[2] == "long"
    assert functions_and_calls([ONE] * 9)[2] == "long"
    others = [kernel(n, f"y[i] = {n} * c;", "double y[restrict 8]", "y") for n in range(9)]
    assert functions_and_calls(others)[2] == "huge"
    monkeypatch.setattr(compile_budget, "LONGEST_USUAL", 20)
    assert functions_and_calls([ONE])[2] == "usual"


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("y[i] = 3.0 * x[i];", "const double x[restrict 8], double y[restrict 8]"),
        ("y[i] = 2.0 + x[i];", "const double x[restrict 8], double y[restrict 8]"),
        ("y[i] = 2.0 * y[i];", "const double x[restrict 8], double y[restrict 8]"),
        ("x[i] = 2.0 * y[i];", "const double x[restrict 8], double y[restrict 8]"),
        ("y[i] = 2.0 * c[i];", "const double x[restrict 8], double y[restrict 8]"),
        ("y[i] = 2.0 * x[i];", "const float x[restrict 8], double y[restrict 8]"),
        ("y[i] = 2.0 * x[i];", "const double x[restrict 9], double y[restrict 8]"),
        ("y[i] = 2.0 * x[i];", "const double x[8], double y[restrict 8]"),
        ("y[i] = 2.0 * x[i];", "double y[restrict 8], const double x[restrict 8]"),
    ],
)
def test_kernels_that_differ_in_more_are_two(all_long, text, parameters):
    assert len(set(functions(ONE, kernel(1, text, parameters, "x, y")))) == 1  # of one name
    found, _, _ = functions_and_calls([ONE, kernel(2, text, parameters, "x, y")])
    assert len(found) == 2


def test_names_within_numbers_and_words_of_openmp_are_no_names(all_long):
    parameters = "const double {}[restrict 8], double y[restrict 8]"
    first = kernel(1, "y[i] = 0x1p3 * x1[i];", parameters.format("x1"), "x1, y")
    second = kernel(2, "y[i] = 0x2p3 * x2[i];", parameters.format("x2"), "x2, y")
    assert functions(first, second) == ["f_1(x1, y);", "f_2(x2, y);"]
    one = kernel(1, "y[i] = simd[i];", parameters.format("simd"), "simd, y")
    other = kernel(2, "y[i] = parallel[i];", parameters.format("parallel"), "parallel, y")
    other["body"][0]["pragma"] = "#pragma omp parallel"
    assert functions(one, other) == ["f_1(simd, y);", "f_2(parallel, y);"]


def test_kernels_of_which_one_has_a_block_more_are_two(all_long):
    inner = {"kind": "if", "branches": [{"head": "if (c)", "body": [{"text": "a;"}]}]}
    outer = {"kind": "if", "branches": [{"head": "if (c)", "body": []}]}
    parameters = "double y[restrict 8]"
    first, second = (kernel(n, "a;", parameters, "y") for n in (1, 2))
    first["body"], second["body"] = [inner], [outer, {"text": "a;"}]
    assert functions(first, second) == ["f_1(y);", "f_2(y);"]


def layered(x, weights, table, depth):
    """Layers of which the third has another table and the last one adds a number of its own."""
    for layer in range(depth):
        hidden = np.maximum(x @ weights[layer % 2], 0.1)
        hidden = hidden * (table if layer == 2 else 1.5)
        x = hidden / (1 + np.abs(hidden).sum(axis=1, keepdims=True)) + x[::-1]
        x = x + (7 if layer == depth - 1 else 3)
    return x, x.sum(axis=0)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_long_programs_of_layers_have_few_functions_and_the_same_results(
    monkeypatch, tmp_path, dtype
):
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path))
    random, depth = np.random.default_rng(1), 21
    x, weights = random.normal(size=(6, 16)) * 4, random.normal(size=(2, 16, 16)) * 2
    x, weights, table = x.astype(dtype), weights.astype(dtype), np.arange(16).astype(dtype)

    def compiled():
        return transpile.jit(lambda *given: layered(*given, table, depth)).lower(x, weights)

    usual = compiled()
    usual_text, usual_results = usual.as_text(), usual.compile()(x, weights)
    monkeypatch.setattr(compile_budget, "LONGEST_USUAL", 10)
    lowered = compiled()
    text = lowered.as_text()
    pattern = r"^static void lambda\w*_\d+\("
    many, few = (len(re.findall(pattern, t, re.MULTILINE)) for t in (usual_text, text))
    assert few <= many / 2 and many > depth / 2
    calls = r"^    lambda\w*_\d+\("
    assert len(re.findall(calls, text, re.MULTILINE)) == many
    expected = layered(x, weights, table, depth)
    for found, before, reference in zip(
        lowered.compile()(x, weights), usual_results, expected, strict=True
    ):
        np.testing.assert_allclose(found, reference, rtol=1e-3 if dtype == "f4" else 1e-10)
        np.testing.assert_allclose(found, before, rtol=1e-4 if dtype == "f4" else 1e-12)


def test_programs_that_are_debugged_have_a_function_for_each_line(monkeypatch):
    monkeypatch.setattr(compile_budget, "LONGEST_USUAL", 10)
    x, weights = np.ones((4, 4)), np.ones((2, 4, 4))
    function = transpile.jit(
        lambda *given: layered(*given, 1.0, 5), compiler_options={"debug": True}
    )
    text = function.lower(x, weights).as_text()
    assert len(re.findall(r"^static void lambda\w*_\d+\(", text, re.MULTILINE)) == len(
        re.findall(r"^    lambda\w*_\d+\(", text, re.MULTILINE)
    )
