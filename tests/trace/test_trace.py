"""Tracing: names and places, values that Python asks for, leaks, and the dynamic mode."""

import functools
import threading

import numpy as np
import pytest
from helpers import evaluate, trace_to_graph

from transpile import errors, grad
from transpile.ir.types import ArrayType, type_of
from transpile.primitives import elementwise
from transpile.trace.trace import bind, current_trace, trace_function
from transpile.trace.tracer import Tracer

HERE = r"^test_trace\.py:\d+: "
VECTOR = ArrayType((3,), np.dtype("f8"))


def trace_one(f, *args, known=False):
    types = [type_of(a) for a in args]
    names = [f"argument_{k}" for k in range(len(args))]
    values = [np.asarray(a) for a in args] if known else None
    graph, _ = trace_function(
        lambda *xs: ([f(*xs)], None), types, names, name="quadratic", known=values
    )
    graph.check()
    return graph


# ------------------------------------------------------------------------------ names and places


def test_equation_results_carry_the_names_of_the_users_variables():
    def f(x):
        half = x * 0.5
        angle = np.sin(half)
        largest = angle.max()
        first = angle[0]
        return largest + first

    named = {e.primitive.name: e.outputs[0].name for e in trace_one(f, np.ones(3)).equations}
    assert named["multiply"] == "half"
    assert named["sin"] == "angle"
    assert named["reduce_max"] == "largest"
    assert named["reshape"] == "first"
    assert named["add"] == ""


def test_names_are_not_taken_from_other_statements():
    def f(x):
        y = [np.sin(x)]
        z = abs(np.cos(x) + 1)
        return y[0] + z

    names = {e.primitive.name: e.outputs[0].name for e in trace_one(f, np.ones(3)).equations}
    assert names == {"sin": "", "cos": "", "add": "", "absolute": "z"}


def test_equations_know_their_line():
    def f(x):
        y = x + 1
        return np.mean(y, axis=0)

    graph = trace_one(f, np.ones(3))
    first = f.__code__.co_firstlineno
    lines = [e.source.line - first for e in graph.equations]
    assert lines == [1, 2, 2]
    assert {e.source.file for e in graph.equations} == {__file__}
    assert graph.equations[0].source.text == "y = x + 1"


def test_place_is_the_users_line_however_deep_the_call():
    def inner(x):
        return np.add(x, np.ones(4))

    line = inner.__code__.co_firstlineno + 1
    with pytest.raises(ValueError, match=rf"^test_trace\.py:{line}: operands could not"):
        trace_one(lambda x: np.sin(inner(x)), np.ones(3))


# -------------------------------------------------------------------------- values Python asks for


@pytest.mark.parametrize(
    ("f", "error", "words"),
    [
        (lambda x: 1 if x.sum() > 0 else 2, errors.TracerBoolConversionError, "numpy.where"),
        (lambda x: x[0] and x[1], errors.TracerBoolConversionError, "Python bool"),
        (lambda x: 0 < x[0] < 1, errors.TracerBoolConversionError, "Python bool"),
        (lambda x: range(x[0]), errors.TracerIntegerConversionError, "static_argnums"),
        (lambda x: int(x[0]), errors.TracerIntegerConversionError, "static_argnums"),
        (lambda x: [1, 2, 3][x[0]], errors.TracerIntegerConversionError, "index"),
        (lambda x: float(x[0]), errors.TracerFloatConversionError, "astype"),
        (lambda x: complex(x[0]), errors.TracerFloatConversionError, "complex"),
        (lambda x: x[0].item(), errors.TracerFloatConversionError, "Python scalar"),
        (lambda x: x.tolist(), errors.TracerFloatConversionError, "Python list"),
        (lambda x: x.__array__(), errors.TracerArrayConversionError, "NumPy array"),
    ],
)
def test_value_asked_for_while_tracing_names_function_argument_and_way_out(f, error, words):
    with pytest.raises(error, match=HERE) as caught:
        trace_one(f, np.ones(3))
    text = str(caught.value)
    assert isinstance(caught.value, TypeError)
    assert words in text and "'quadratic'" in text and "'argument_0'" in text


def test_origin_names_only_the_arguments_that_the_value_comes_from():
    with pytest.raises(errors.TracerBoolConversionError, match="the argument 'argument_1'"):
        trace_one(lambda x, y: bool(np.sum(y * 2)), np.ones(3), np.ones(3))
    with pytest.raises(errors.TracerBoolConversionError, match="'argument_0', 'argument_1'"):
        trace_one(lambda x, y: bool((x + y)[0]), np.ones(3), np.ones(3))


def test_function_without_a_traced_form_is_named():
    for function, name in ((np.shares_memory, "shares_memory"), (np.savetxt, "savetxt")):
        with pytest.raises(errors.UnsupportedError, match=rf"\.py:\d+: numpy.{name} is not"):
            trace_one(lambda x, f=function: f(x, x), np.ones(3))


def test_objects_that_are_no_arrays_are_refused():
    with pytest.raises(TypeError):
        trace_one(lambda x: x + None, np.ones(3))
    with pytest.raises(TypeError):
        trace_one(lambda x: "text" + x, np.ones(3))
    with pytest.raises(errors.UnsupportedError, match=HERE + "dtype 'float\\d+'"):
        trace_one(lambda x: x + np.ones(3, "g"), np.ones(3))


def test_tracers_are_not_hashable_as_arrays_are_not():
    for f in (lambda x: {x: 1}, lambda x: {x}, lambda x: {1: 2}[x], functools.cache(np.sin)):
        with pytest.raises(TypeError, match=HERE + r"unhashable type: a traced value, Traced<f64"):
            trace_one(f, np.ones(3))


def test_attributes_of_a_tracer_are_those_of_an_array():
    seen = []

    def f(x):
        seen.append((x.shape, x.dtype, x.ndim, x.size, x.itemsize, x.nbytes, len(x), repr(x)))
        return x

    trace_one(f, np.ones((2, 3), np.float32))
    assert seen == [((2, 3), np.dtype("f4"), 2, 6, 4, 24, 2, "Traced<f32[2,3]>")]


def test_error_of_a_type_rule_has_the_users_line():
    with pytest.raises(TypeError, match=HERE + "the operands have different dtypes"):
        trace_one(lambda x: bind(elementwise.add, x, np.float32(1)), np.ones(3))


# ------------------------------------------------------------------------------------------ leaks


def test_leaked_tracer_says_where_it_was_computed():
    kept = []

    def f(x):
        kept.append(x * 2)
        return x

    trace_one(f, np.ones(3))
    for use in (
        lambda: kept[0] + 1,
        lambda: np.sin(kept[0]),
        lambda: bool(kept[0]),
        lambda: trace_one(lambda y: y + kept[0], np.ones(3)),
    ):
        with pytest.raises(errors.UnexpectedTracerError, match=r"kept.append\(x \* 2\)"):
            use()


def test_trace_ends_when_the_function_fails():
    def f(x):
        raise RuntimeError("the user's")

    with pytest.raises(RuntimeError, match="the user's"):
        trace_one(f, np.ones(3))
    assert current_trace() is None


def test_threads_trace_on_their_own():
    results = {}
    barrier = threading.Barrier(4)

    def work(k):
        def f(x):
            barrier.wait()
            return x * k + np.float64(k)

        results[k] = evaluate(f, np.ones(2))[0]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {k: r.tolist() for k, r in results.items()} == {k: [2.0 * k] * 2 for k in range(4)}


# ------------------------------------------------------------------------------- the dynamic mode


def test_known_values_decide_branches_and_loops():
    def f(x, n):
        if x.sum() > 0:
            for _ in range(n):
                x = x * 2
        return x / float(x.max())

    graph = trace_one(f, np.array([1.0, 2.0]), 3, known=True)
    assert [e.primitive.name for e in graph.equations].count("multiply") == 3
    graph = trace_one(f, np.array([-1.0, -2.0]), 3, known=True)
    assert [e.primitive.name for e in graph.equations].count("multiply") == 0


def test_known_numbers_of_python_are_arrays_where_they_are_evaluated():
    table = np.array([1.0, 2.0, 3.0])

    def f(s):
        return table[np.floor(np.arange(2.0) - s).astype(int)].sum() * s

    assert grad(f)(0.3) == 4.0  # elements -1 and 0


def test_known_values_pass_through_numpy_functions_without_a_traced_form():
    seen = []
    trace_one(lambda x: seen.append(np.asarray(x * 2).tolist()) or x, np.ones(2), known=True)
    assert seen == [[2.0, 2.0]]


# -------------------------------------------------------------------------------------- constants


def test_closed_over_array_is_a_constant_that_later_changes_do_not_touch():
    table = np.arange(3.0)
    graph = trace_to_graph(lambda x: x + table, np.zeros(3))
    table[:] = -1
    (constant,) = graph.constants()
    assert constant.value.tolist() == [0.0, 1.0, 2.0]


def test_uniform_array_constants_become_scalars_and_keep_their_shape():
    graph = trace_to_graph(lambda x: x * np.full((2, 3), 2.0), np.float64(4))
    assert not graph.constants()
    assert graph.outputs[0].type.shape == (2, 3)
    signed = trace_to_graph(lambda x: x * np.array([0.0, -0.0]), np.ones(2))
    assert len(signed.constants()) == 1


def test_constant_results_are_outputs():
    graph = trace_to_graph(lambda x: (1.5, np.arange(3), x), np.ones(2))
    assert [str(o.type) for o in graph.outputs] == ["f64[]", "i64[3]", "f64[2]"]


def test_tracer_is_not_an_array():
    graph, seen = trace_function(lambda x: ([x], x.__class__), [VECTOR], ["x"])
    assert seen is Tracer and not isinstance(seen, np.ndarray) and not graph.equations
