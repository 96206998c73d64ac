"""The errors that users of jit meet: what they say, and that they name file, line and argument."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

import transpile as tp
from transpile import errors

X = np.arange(3.0)
THIS = "test_errors.py"


def here(offset: int = 0) -> int:
    return sys._getframe(1).f_lineno + offset


def message(error_type, function, *args, **kwargs) -> str:
    with pytest.raises(error_type) as caught:
        function(*args, **kwargs)
    assert not isinstance(caught.value.__context__, KeyError)  # no trace of our own lookups
    return str(caught.value)


# ------------------------------------------------------------------- Python wants a traced value


def test_bool_of_a_traced_value():
    line = here(5)

    @tp.jit(python_control_flow=False)
    def branch(x, y):
        z = x * 2
        if z.sum() > 0:
            return y
        return x

    text = message(errors.TracerBoolConversionError, branch, X, X)
    assert f"{THIS}:{line}" in text and "if z.sum() > 0:" in text
    assert "the argument 'x'" in text and "'branch'" in text
    for advice in ("numpy.where", "static_argnums", "djit"):
        assert advice in text


def test_while_and_of_two_arguments():
    @tp.jit(python_control_flow=False)
    def loop(x, y):
        while (x + y).sum() < 10:
            x = x + 1
        return x

    text = message(errors.TracerBoolConversionError, loop, X, X)
    assert "the arguments 'x', 'y'" in text


@pytest.mark.parametrize(
    "use",
    [lambda n: int(n), lambda n: list(range(n)), lambda n: [1, 2][n]],
    ids=["int", "range", "[]"],
)
def test_integer_of_a_traced_value(use):
    text = message(
        errors.TracerIntegerConversionError, tp.jit(lambda n: use(n), python_control_flow=False), 2
    )
    assert "the argument 'n'" in text and THIS in text and "static_argnums" in text


def test_float_and_complex_of_a_traced_value():
    for use in (float, complex, lambda v: v.item()):
        text = message(
            errors.TracerFloatConversionError,
            tp.jit(lambda value: use(value), python_control_flow=False),
            2.0,
        )
        assert "the argument 'value'" in text and "astype" in text


def test_library_that_wants_an_array():
    draw = np.random.default_rng(0).normal
    text = message(errors.TracerArrayConversionError, tp.jit(lambda x: draw(x)), X)
    assert "the argument 'x'" in text and THIS in text


def test_numpy_functions_that_have_no_traced_form():
    for function, name in (
        (np.shares_memory, "numpy.shares_memory"),
        (np.savetxt, "numpy.savetxt"),
    ):
        text = message(errors.UnsupportedError, tp.jit(lambda x, f=function: f(x, x)), np.eye(3))
        assert f"{name} is not supported on traced arrays yet" in text and THIS in text


BOUND_EARLY = np.array  # as `from numpy import array` binds it


def test_numpys_array_of_traced_values_works_by_a_name_of_ones_own():
    by_name = tp.jit(lambda x: BOUND_EARLY([x[0], 1.0]))
    by_default = tp.jit(lambda x, array=BOUND_EARLY: array([x[0], 1.0]))
    for function in (by_name, by_default):
        np.testing.assert_array_equal(function(X), np.array([X[0], 1.0]))


def test_every_conversion_error_is_a_type_error():
    for name in ("Bool", "Integer", "Float", "Array"):
        assert issubclass(getattr(errors, f"Tracer{name}ConversionError"), TypeError)
    assert issubclass(errors.UnexpectedTracerError, TypeError)
    assert issubclass(errors.UnsupportedError, NotImplementedError)


# ------------------------------------------------------------------------------------- leaks

leaked = []


def test_leak_into_another_trace():
    leaked.clear()

    @tp.jit
    def leaks(x):
        y = x + 1
        leaked.append(y)
        return y

    leaks(X)
    for use in (lambda: leaked[0] + 1, lambda: np.sin(leaked[0]), lambda: bool(leaked[0])):
        text = message(errors.UnexpectedTracerError, use)
        assert "outside the function that it belongs" in text and "leaks" in text
        assert "y = x + 1" in text
    text = message(errors.UnexpectedTracerError, tp.jit(lambda x: x + leaked[0]), X)
    assert "leaks" in text
    text = message(errors.UnexpectedTracerError, tp.jit(lambda x: x), leaked[0])
    assert "argument 'x'" in text and "leaks" in text
    text = message(errors.UnexpectedTracerError, tp.jit(lambda x: leaked[0]), X)
    assert "leaks" in text


# ------------------------------------------------------------------------- arguments and results


@pytest.mark.parametrize("value", [object(), {1, 2}, bytearray(b"x")])
def test_argument_that_is_no_array(value):
    def takes(x, y):
        return x

    text = message(TypeError, tp.jit(takes), X, value)
    assert "argument 'y' of takes (test_errors.py:" in text and type(value).__name__ in text
    assert "neither an array nor a number" in text and "static_argnums" in text


def test_argument_deep_in_a_pytree():
    text = message(TypeError, tp.jit(lambda p: p), {"layers": [X, {"w": "text"}]})
    assert """argument "p['layers'][1]['w']" of <lambda>""" in text
    text = message(TypeError, tp.jit(lambda *rest, **more: rest), X, object())
    assert "argument 'rest[1]'" in text
    text = message(TypeError, tp.jit(lambda *rest, **more: rest), X, more=object())
    assert "argument 'more'" in text


@pytest.mark.parametrize("dtype", ["longdouble", "datetime64[s]", "U3", "S3", object])
def test_argument_of_an_unsupported_dtype(dtype):
    value = np.zeros(3, dtype)
    text = message(errors.UnsupportedError, tp.jit(lambda x: x), value)
    assert "argument 'x'" in text and repr(value.dtype.name) in text and "astype" in text


def test_argument_that_is_a_masked_array():
    masked = np.ma.masked_array(X, X > 1)
    text = message(errors.UnsupportedError, tp.jit(lambda x: x), masked)
    assert "argument 'x'" in text and "filled" in text


def test_argument_without_values():
    text = message(TypeError, tp.jit(lambda x: x), tp.ShapeDtypeStruct((3,), "f8"))
    assert "argument 'x'" in text and "no values" in text and "lower" in text


def test_integer_that_fits_no_int64():
    message(OverflowError, tp.jit(lambda x: x + 1), 2**70)


@pytest.mark.parametrize("result", ["text", object(), {1}, print])
def test_result_that_is_no_array(result):
    line = here(2)

    def gives(x):
        return {"a": [x, result]}

    text = message(TypeError, tp.jit(gives), X)
    assert f"{THIS}:{line}" in text and "the result['a'][1] of 'gives'" in text
    assert type(result).__name__ in text


def test_result_of_an_unsupported_dtype():
    text = message(errors.UnsupportedError, tp.jit(lambda x: np.zeros(3, "longdouble")), X)
    assert (
        np.dtype("longdouble").name in text and "the result of '<lambda>'" in text and THIS in text
    )


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((), {}, "missing 2 required positional arguments: 'x' and 'y'"),
        ((X,), {}, "missing 1 required positional argument: 'y'"),
        ((X, X, X), {}, "takes 2 positional arguments but 3 were given"),
        ((X,), {"x": X, "y": X}, "got multiple values for argument 'x'"),
        ((X, X), {"z": X}, "got an unexpected keyword argument 'z'"),
    ],
)
def test_wrong_arguments_give_pythons_own_error(args, kwargs, words):
    def plain(x, y):
        return x + y

    expected = message(TypeError, plain, *args, **kwargs)
    assert words in expected
    for call in (
        tp.jit(plain),
        tp.jit(plain).lower,
        tp.djit(plain),
        lambda *a, **k: tp.xpr(plain, *a, **k),
    ):
        assert message(TypeError, call, *args, **kwargs) == expected


def test_exception_of_the_function_itself_is_untouched():
    @tp.jit
    def fails(x):
        raise KeyError("mine")

    assert message(KeyError, fails, X) == "'mine'"
    assert message(KeyError, fails, X) == "'mine'"
    assert fails._cache_size() == 0


def test_shape_errors_carry_the_line():
    line = here(4)

    @tp.jit
    def adds(x, y):
        return x + y

    text = message(ValueError, adds, X, np.ones(4))
    assert "could not be broadcast together" in text
    assert line


# --------------------------------------------------------------------------- static and donated


def two(a, b, *, c=1):
    return a


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"static_argnums": 2}, "static_argnums=(2,), but only accepts 2 positional arguments"),
        ({"static_argnums": (0, -3)}, "static_argnums=(0, -3), but only accepts 2"),
        ({"donate_argnums": 5}, "donate_argnums=(5,), but only accepts 2"),
        ({"static_argnames": "d"}, "invalid argnames ['d'] in static_argnames"),
        ({"donate_argnames": ("a", "e")}, "invalid argnames ['e'] in donate_argnames"),
        ({"static_argnums": 1, "donate_argnums": 1}, "cannot intersect: 'b' is in both"),
        ({"static_argnums": 1, "donate_argnums": -1}, "cannot intersect: 'b' is in both"),
        ({"static_argnames": "b", "donate_argnums": 1}, "cannot intersect: 'b' is in both"),
        ({"static_argnames": "c", "donate_argnames": "c"}, "cannot intersect: 'c' is in both"),
        ({"compiler_options": {"speed": 3}}, "unknown compiler option 'speed'"),
        ({"compiler_options": {"opt_level": 9}}, "compiler option 'opt_level' takes"),
        ({"compiler_options": "O3"}, "compiler options are a dict, such as {'opt_level': 1}"),
    ],
)
def test_settings_that_are_wrong(settings, words):
    for make in (tp.jit, tp.djit):
        assert words in message(ValueError, make, two, **settings)


def test_settings_of_the_wrong_type():
    assert "static_argnums must be an int" in message(TypeError, tp.jit, two, static_argnums="b")
    assert "static_argnames must be a str" in message(TypeError, tp.jit, two, static_argnames=1.5)
    assert "jit takes a function, not a int" in message(TypeError, tp.jit, 3)


def test_positional_only_parameter_by_name():
    def only(a, /, b):
        return a

    assert "positional-only" in message(ValueError, tp.jit, only, static_argnames="a")


@pytest.mark.parametrize(
    "value", [[1], {"a": 1}, X, ([1],)], ids=["list", "dict", "array", "tuple"]
)
def test_static_value_that_cannot_be_hashed(value):
    jitted = tp.jit(two, static_argnums=1)
    text = message(ValueError, jitted, X, value)
    assert "'b' (index 1)" in text and "two" in text and "non-hashable" in text
    assert "non-hashable" in message(ValueError, jitted, X, b=value)


def test_static_number_beyond_the_arguments_of_a_variadic_function():
    jitted = tp.jit(lambda *xs: xs[0], static_argnums=2)
    text = message(ValueError, jitted, X, X)
    assert "static_argnums=(2,)" in text and "only 2 positional arguments" in text


def test_errors_of_other_threads_leave_no_trace_behind():
    f = tp.jit(lambda x: x[0].item(), python_control_flow=False)
    message(errors.TracerFloatConversionError, f, X)
    assert re.match(r"\[0", str(tp.jit(lambda x: x)(X)))


def test_a_traced_shape_for_a_numpy_constructor_is_explained():
    def f(n):
        return np.zeros(n) + 1

    f = tp.jit(f, python_control_flow=False)
    with pytest.raises(errors.TracerIntegerConversionError) as caught:
        f(3)
    text = str(caught.value)
    assert "test_errors.py:" in text and "np.zeros(n) + 1" in text and "'n'" in text
    assert "static_argnums" in text
