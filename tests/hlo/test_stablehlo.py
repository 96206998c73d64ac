"""StableHLO's text: regions in the place of computations, parts in the place of tuples."""

import re

import numpy as np

import transpile
from transpile import lax, xla_computation


def text_of(function, *arguments):
    return xla_computation(function)(*arguments).as_stablehlo_text()


def test_the_text_of_a_short_function():
    assert text_of(lambda x, y: np.sin(x) + y, np.float32(1), np.float32(2)) == (
        "module @xla_computation__lambda_ {\n"
        "  func.func public @main(%arg0: tensor<f32>, %arg1: tensor<f32>) -> (tensor<f32>) {\n"
        "    %3 = stablehlo.sine %arg0 : tensor<f32>\n"
        "    %4 = stablehlo.add %3, %arg1 : tensor<f32>\n"
        "    return %4 : tensor<f32>\n"
        "  }\n"
        "}\n"
    )


def test_it_is_a_dialect_of_a_lowered_function():
    lowered = transpile.jit(np.sin).lower(np.ones(3))
    assert "stablehlo.sine %arg0 : tensor<3xf64>" in lowered.as_text("stablehlo")
    assert lowered.compiler_ir("stablehlo") == lowered.as_text("stablehlo")


def test_every_name_is_defined_before_its_use_and_in_scope():
    def f(x, n):
        x, total = lax.scan(lambda c, r: (c + np.sort(r), r.sum()), x[0], x)
        x = lax.fori_loop(0, n, lambda i, s: lax.cond(s[0] > i, np.sin, np.cos, s), x)
        return lax.switch(n, [np.sin, np.cos, np.tan], x), total.argmax()

    scopes = [set()]
    for line in text_of(f, np.ones((4, 3)), 2).splitlines():
        if line.strip().startswith(("}",)):
            scopes.pop()
        target, _, rest = line.partition(" = ") if " = " in line else ("", "", line)
        names = {re.sub(r"#\d+|:\d+", "", n) for n in re.findall(r"%[\w#:]+", rest)}
        if "func.func" in line or "^bb0" in line:
            scopes[-1] |= {n.rstrip(":") for n in re.findall(r"%\w+", line)}
        else:
            assert names <= set().union(*scopes), line
        if target:
            scopes[-1].add(re.sub(r":\d+", "", target.strip()))
        if line.endswith("{"):
            scopes.append(set(scopes[-1]) if "func.func" in line else set())
    assert len(scopes) == 1


def test_numbers():
    values = np.array([0.5, np.inf, np.nan, 1e300, -0.0])
    assert "dense<[0.5, 0x7FF0000000000000, 0x7FF8000000000000, 1.0e300, -0.0]>" in text_of(
        lambda: values
    ).replace("1e+300", "1.0e300").replace("e+300", "e300")
    assert "dense<[(1.0, -2.0)]> : tensor<1xcomplex<f32>>" in text_of(
        lambda: np.array([1 - 2j], "c8")
    )
    assert "dense<[true, false]> : tensor<2xi1>" in text_of(lambda: np.array([True, False]))
    assert "dense<255> : tensor<ui8>" in text_of(lambda: np.uint8(255) + np.zeros((), "u1"))
