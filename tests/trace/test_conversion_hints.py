"""What an error advises where Python, or another library, wants the value of a tracer."""

from __future__ import annotations

import math
import re
import sys
from math import sin as sine

import numpy as np
import pytest
from scipy import linalg, optimize, special
from thorough import one_in

import transpile as tp
from transpile import errors
from transpile.errors import TracerError, UnsupportedError

X = np.arange(3.0)


def message(function, *args, kind=TracerError):
    with pytest.raises(kind) as caught:
        tp.jit(function, python_control_flow=False)(*args)
    text = str(caught.value)
    assert text.startswith("test_conversion_hints.py:") or kind is not TracerError
    return text


def gamma_of(x):
    return math.gamma(x[0])


@pytest.mark.parametrize(
    ("function", "expression", "advice"),
    [
        (lambda x: max(x, 2 * x), "max(x, 2 * x)", "write numpy.maximum(x, y)"),
        (lambda x: max(x), "max(x)", "write numpy.max(x)"),
        (lambda x: min(x[0], 0), "min(x[0], 0)", "write numpy.minimum(x, y)"),
        (lambda x: sorted(x), "sorted(x)", "write numpy.sort(x)"),
        (lambda x: any(x > 0), "any(x > 0)", "write numpy.any(x)"),
        (lambda x: all(x > 0), "all(x > 0)", "write numpy.all(x)"),
        (lambda x: round(x[0]), "round(x[0])", "write numpy.round(x)"),
        (lambda x: math.sin(x[0]), "math.sin(x[0])", "write numpy.sin."),
        (lambda x: 1 + sine(x[0]), "sine(x[0])", "write numpy.sin."),
        (lambda x: math.pow(x[0], 2), "math.pow(x[0], 2)", "write numpy.power."),
        (lambda x: math.atan2(x[0], 2), "math.atan2(x[0], 2)", "write numpy.arctan2."),
        (lambda x: math.floor(x[0]), "math.floor(x[0])", "write numpy.floor."),
        (gamma_of, "math.gamma(x[0])", "write transpile.scipy.special.gamma."),
        (lambda x: 3 in x, "3 in x", "write numpy.any(x == value)"),
        (lambda x: 0 < x < 1, "0 < x < 1", "write (a < b) & (b < c)"),
        (lambda x: "%.3f" % x[0], '"%.3f" % x[0]', "transpile.debug.print('{}', x)"),  # noqa: UP031
        (lambda x: np.linspace(0, 1, x[0].astype(int)), "np.linspace(", "static_argnums"),
        (lambda x: np.arange(x[0]), "np.arange(x[0])", "an array of the largest length"),
    ],
)
def test_the_expression_and_what_to_write_instead(function, expression, advice):
    text = message(function, X)
    assert f"In `{expression}" in text and advice in text


def test_every_name_that_is_advised_is_there():
    from transpile.trace import conversion_hints

    for name in conversion_hints._MATH.values():
        value = sys.modules["numpy"] if name.startswith("numpy.") else tp
        for part in name.split(".")[1:]:
            value = getattr(value, part)
        assert callable(value), name
    for name in conversion_hints._MATH:
        assert hasattr(math, name) or name == "phase"


def test_an_expression_of_several_lines_and_other_alphabets():
    def f(größe):
        return "é" * 0, max(
            größe,
            0.5,
        )

    assert "In `max( größe, 0.5, )`" in message(f, X)


def test_a_function_without_source_gets_the_general_advice():
    scope = {}
    exec("def f(x):\n    return x if x.sum() > 0 else -x\n", scope)
    with pytest.raises(errors.TracerBoolConversionError, match=r"numpy\.where"):
        tp.jit(scope["f"])(X)


def test_a_function_of_ones_own_named_like_a_builtin():
    def max(x, y):
        return x if x > y else y

    assert "numpy.maximum" not in message(lambda x: max(x[0], x[1]), X)


def test_a_format_of_a_traced_value_is_an_error():
    text = message(lambda x: f"{x[0]:.3f}", X)
    assert "`return f" in text or 'f"{x[0]:.3f}"' in text
    assert "transpile.debug.print" in text and "{:.3f}" in text
    assert "transpile.debug.print" in message(lambda x: f"{x:>8}", X)
    seen = []
    tp.jit(lambda x: seen.append((f"{x}", str(x))) or x)(X)
    assert seen == [("Traced<f64[3]>", "Traced<f64[3]>")]
    tp.djit(lambda x: seen.append(f"{x[1]:.3f}") or x)(X)
    assert seen[-1] == "1.000"


def test_the_text_of_a_traced_value_is_for_messages():
    shown = []

    @tp.jit
    def f(x):
        shown.append("x: " + str(x) + ", " + "%s" % x)  # noqa: UP031
        return x

    f(X)
    assert shown == ["x: Traced<f64[3]>, Traced<f64[3]>"]
    for read in (len, hash, float, lambda text: text[0], lambda text: text + "s" == "s"):
        text = message(lambda x, read=read: read(str(x[0])), X)
        assert "was used as a text" in text
        assert "It comes from the argument 'x'" in text
        assert "static_argnums" in text
    assert tp.djit(lambda x: x * len(str(x[1])))(X)[1] == 3.0


def test_round_to_digits_is_numpys():
    assert tp.jit(lambda x: round(x[0], 1))(X + 0.26) == 0.3


def test_functions_of_scipy_are_told_at_the_users_line():
    line = sys._getframe().f_lineno + 2
    for function, kind in (
        (lambda x: optimize.linear_sum_assignment(x[:, None] * x), TracerError),
        (lambda x: linalg.ldl(x[:, None] * x), TracerError),
        (lambda x: special.jv(1, x), UnsupportedError),
    ):
        text = message(function, X, kind=kind)
        assert text.startswith(f"test_conversion_hints.py:{line}: ") and "docs/scipy.md" in text
        line += 1


def test_functions_of_numpy_that_have_no_traced_form():
    strided = np.lib.stride_tricks.as_strided
    text = message(lambda x: strided(x, (2, 2)), X)
    assert "x[numpy.arange(rows)[:, None] * step + numpy.arange(columns)]" in text


def test_a_length_of_bincount_that_is_traced():
    text = message(lambda x: np.bincount(np.array([1, 2]), minlength=x[0].astype(int)), X)
    assert "np.bincount(" in text and "static_argnums" in text


def test_branches_in_vectorize_name_the_users_function():
    def step(v):
        return v if v > 0 else 0 * v

    text = message(lambda x: np.vectorize(step)(x), X)
    assert "in the function 'step' (test_conversion_hints.py:" in text and "numpy.where" in text
    assert "leaves_of" not in text and "''" not in text


def test_bincount_takes_its_length_from_minlength():
    numbers = np.array([0, 2, 2, 7])
    counts = tp.jit(lambda x: np.bincount(x, minlength=9))(numbers)
    assert np.array_equal(counts, np.bincount(numbers, minlength=9))
    assert np.array_equal(tp.jit(lambda x: np.bincount(x))(numbers), np.bincount(numbers))


NO_BIN = (
    "bincount has no bin for {} with a minlength of 3, where NumPy's result is longer: without a "
    "minlength the program finds the length; length= ignores larger values"
)


@pytest.mark.parametrize(("numbers", "first"), [([0, 1, 2, 7], 7), ([1, -1, 9], -1)])
def test_values_without_a_bin_are_not_lost(numbers, first):
    numbers, weights = np.array(numbers), np.ones(len(numbers))
    for f in (
        tp.jit(lambda x, w: np.bincount(x, minlength=3)),
        tp.jit(lambda x, w: np.bincount(x, w, 3)),
        tp.jit(lambda x, w: tp.vmap(lambda x, w: np.bincount(x, w, 3))(x[None], w[None])),
        tp.jit(lambda x, w: np.bincount(x, minlength=3), dynamic_shapes=True),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(NO_BIN.format(first))}"):
            f(numbers, weights)
    g = tp.jit(np.bincount, dynamic_shapes=True)
    assert np.array_equal(g(np.array([0, 2, 2]), minlength=4), [1, 0, 2, 0])
    with pytest.raises(ValueError, match=f"has no bin for {first} with a minlength of 5,"):
        g(numbers, minlength=5)


@pytest.mark.parametrize(
    ("array", "advice"),
    [
        (np.array(["2020-01-01"], "M8[D]"), "x.astype('int64')"),
        (np.array([3], "m8[s]"), "x / numpy.timedelta64(1, 's')"),
        (np.zeros(2, [("a", "f8"), ("b", "i4")]), "{'a': x['a'], 'b': x['b']}"),
        (np.array(["a"]), "numpy.unique(x, return_inverse=True)"),
        (np.array([b"a"]), "numpy.unique(x, return_inverse=True)"),
        (np.array([1, 2], object), "x.astype('float64')"),
        (np.zeros(2, "V8"), "x.view('uint8')"),
        (np.zeros(2, np.longdouble), "x.astype('float64')"),
        (np.zeros(2, np.clongdouble), "x.astype('complex128')"),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
@one_in(3)
def test_dtypes_that_are_not_supported(array, advice):
    text = message(lambda x: x, array, kind=UnsupportedError)
    assert "argument 'x'" in text and advice in text
    x = array
    names = {"numpy": np, "x": x}
    converted = eval(advice, names) if "unique" not in advice else eval(advice, names)[1]
    tp.jit(lambda x: x)(converted)


@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [
        (lambda x: max(x, 2 * x), ValueError, "In `max(x, 2 * x)`: for traced values write num"),
        (lambda x: min(x, 0), ValueError, "In `min(x, 0)`: for traced values write numpy.minimum"),
        (lambda x: x + math.sin(x), TypeError, "In `math.sin(x)`: math takes numbers; for traced"),
        (lambda x: 0 < x < 1, ValueError, "In `0 < x < 1`: Python reads a chain of comparisons"),
    ],
)
def test_numpys_errors_of_arrays_advise_too(function, kind, text):
    """Where Python's statements are part of the program, an array has no truth value all the
    same."""
    with pytest.raises(kind) as caught:
        tp.jit(function)(X)
    assert text in str(caught.value)
