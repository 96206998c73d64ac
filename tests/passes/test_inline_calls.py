"""Inline calls: the equations of sub-graphs take the places of calls, at any depth."""

import numpy as np
import pytest
from passes import after, graph_of, names, var

import transpile
from transpile.functional.checkpoint import checkpoint
from transpile.functional.custom import custom_jvp, custom_vjp, named_call
from transpile.functional.differentiate import jvp
from transpile.ir.graph import Const, Equation
from transpile.passes.control.inline_calls import inline_calls
from transpile.primitives import elementwise
from transpile.primitives.control import calls
from transpile.primitives.elementary import primitives as elementary
from transpile.transforms.interpret import interpret

X = np.array([0.5, -1.0, 2.0])


def wave(x):
    y = np.sin(x)
    return y * x


def every_kind():
    forward = custom_jvp(wave)
    forward.defjvp(lambda p, t: (p[0], t[0]))
    reverse = custom_vjp(wave)
    reverse.defvjp(lambda x: (x, None), lambda r, ct: (ct,))
    return [named_call(wave), checkpoint(wave), forward, reverse]


@pytest.mark.parametrize("f", every_kind(), ids=["named", "checkpoint", "jvp", "vjp"])
def test_a_call_of_each_kind_is_its_equations(f):
    assert after(inline_calls, f, X) == ["sin", "multiply"]


def test_calls_in_calls():
    inner = named_call(wave, name="inner")
    outer = named_call(lambda x: inner(np.cos(x)) + 1, name="outer")
    assert after(inline_calls, lambda x: -outer(x), X) == [
        "cos",
        "sin",
        "multiply",
        "add",
        "negative",
    ]


def test_one_sub_graph_twice_has_values_of_its_own_each_time():
    inner = graph_of_wave()
    x, first, second = var(name="x"), var(), var()
    equations = [
        Equation(calls.named_call, (a,), {"graph": inner, "name": "wave"}, (b,))
        for a, b in ((x, first), (first, second))
    ]
    graph = graph_of(*equations, inputs=[x], outputs=[second])
    inlined = inline_calls(graph)
    inlined.check()
    assert names(inlined) == ["sin", "multiply"] * 2
    np.testing.assert_array_equal(interpret(inlined, [X])[0], wave(wave(X)))


def graph_of_wave():
    x, y, z = var(name="x"), var(name="y"), var()
    return graph_of(
        Equation(elementary.sin, (x,), {}, (y,)),
        Equation(elementwise.multiply, (y, x), {}, (z,)),
        inputs=[x],
        outputs=[z],
    )


def test_results_that_are_arguments_or_constants_pass_through():
    x, y = var(), var()
    inner = graph_of(inputs=[x, y], outputs=[y, Const(np.arange(3.0)), x])
    a, b = var(), var()
    results = [var(), var(), var()]
    call = Equation(calls.named_call, (a, b), {"graph": inner, "name": "swap"}, tuple(results))
    graph = graph_of(call, inputs=[a, b], outputs=results)
    inlined = inline_calls(graph)
    inlined.check()
    assert inlined.equations == ()
    found = interpret(inlined, [X, X + 1])
    for value, expected in zip(found, [X + 1, np.arange(3.0), X], strict=True):
        np.testing.assert_array_equal(value, expected)


def test_what_nothing_reads_is_not_inlined():
    f = named_call(lambda x: (np.sin(x), np.cos(x)))
    assert after(inline_calls, lambda x: f(x)[0], X) == ["sin"]
    assert after(inline_calls, lambda x: (f(x), x)[1], X) == []


def test_names_and_sources_stay():
    graph = inline_calls(transpile.make_jaxpr(named_call(wave))(X))
    sine, _ = graph.equations
    assert sine.output.name == "y"
    assert sine.source.text == "y = np.sin(x)"


def test_tangents_of_a_reverse_rule_are_an_error_where_they_are_wanted():
    *_, reverse = every_kind()
    graph = transpile.make_jaxpr(lambda x: jvp(reverse, (x,), (x,)))(X)
    with pytest.raises(TypeError, match="can't apply forward-mode autodiff") as caught:
        inline_calls(graph)
    assert "test_inline_calls.py:" in str(caught.value)
    unread = transpile.make_jaxpr(lambda x: jvp(reverse, (x,), (x,))[0])(X)
    assert "custom_vjp_linear" in names(unread)
    assert names(inline_calls(unread)) == []
    inside = named_call(lambda x: jvp(reverse, (np.cos(x),), (x,)))
    graph = inline_calls(transpile.make_jaxpr(lambda x: inside(x)[0])(X))
    graph.check()
    assert names(graph) == ["cos"]


@pytest.mark.parametrize("f", every_kind(), ids=["named", "checkpoint", "jvp", "vjp"])
def test_calls_compile_to_the_c_of_their_equations(f):
    def kernel(function):
        text = transpile.jit(function, keep_unused=False).lower(X).as_text()
        return [line.strip() for line in text.splitlines() if "out[i] =" in line]

    assert kernel(lambda x: f(x)) == kernel(lambda x: wave(x)) != []
    np.testing.assert_array_equal(transpile.jit(lambda x: f(x))(X), transpile.jit(wave)(X))
