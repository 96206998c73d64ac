"""What a program of a GPU does besides computing: errors that end it, `debug.print`, and callbacks,
on the CPU in its place where there is none."""

import ctypes
import re
from functools import partial

import numpy as np
import pytest
from cuda_programs import WIDE, lowered, results, run
from cuda_runtime import using_toolkit
from thorough import each, one_in

import transpile as tp
from transpile import debug, lax
from transpile.codegen import callback_messages
from transpile.targets.cuda import render

X = np.arange(1.0, 11.0)


@pytest.fixture(scope="module", autouse=True)
def _toolkit():
    with using_toolkit():
        yield


def checked(x):
    if x.sum() < 0:
        raise ValueError("a negative sum")
    assert x[0] < 5, f"{x[0]} is too large"
    return x * 2


def roots(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            raise ArithmeticError(f"no root of {x[i]} at {i}")
        total += np.sqrt(x[i])
    return total


def shifted(x):
    y = x + 1
    while y.sum() < 100:
        debug.print("sum {}", y.sum())
        if y[3] > 7:
            raise RuntimeError(f"at {y[3]} of {y}")
        y = y + 1
    return y


def outcome(function, *args):
    """The result, or the class and the text of the error."""
    try:
        return [np.asarray(r) for r in tp.tree.leaves(function(*args))]
    except Exception as error:
        return type(error), str(error)


def same_as_on_the_cpu(capsys, function, *args):
    """Compare a function on both, with what they print; the outcome."""
    capsys.readouterr()
    expected = outcome(tp.jit(function), *args)
    printed = capsys.readouterr().out
    found = outcome(tp.jit(function, device="cuda"), *args)
    assert capsys.readouterr().out == printed
    if isinstance(expected, tuple):
        assert found == expected
    else:
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y)
    return expected


@pytest.mark.parametrize("x", [X, -X, X + 5])
@one_in(3)
def test_the_first_error_is_raised_by_the_call(capsys, x):
    same_as_on_the_cpu(capsys, checked, x)


def test_errors_end_loops_and_have_the_values_of_then(capsys):
    bad = np.where(X > 6, -X, X)
    assert same_as_on_the_cpu(capsys, roots, bad) == (ArithmeticError, "no root of -7.0 at 6")
    same_as_on_the_cpu(capsys, roots, X)
    same_as_on_the_cpu(capsys, shifted, X)
    same_as_on_the_cpu(capsys, shifted, np.where(X == 4, 0, X))


def called(x):
    kind = tp.ShapeDtypeStruct(x.shape, x.dtype)
    y = tp.pure_callback(np.cumsum, kind, x * 2)
    return y.sum() + tp.experimental.io_callback(lambda v: v[::-1].copy(), kind, y)


def printing_loops(x, n):
    def body(i, total):
        debug.print("{} {}", i, total)
        return total + x[i]

    total = lax.fori_loop(0, n, body, 0.0)
    lax.cond(total > 5, lambda: debug.print("large"), lambda: debug.print("small"))
    return total


def test_callbacks_come_in_the_order_of_the_program(capsys):
    same_as_on_the_cpu(capsys, called, X)
    same_as_on_the_cpu(capsys, printing_loops, X, 2)
    same_as_on_the_cpu(capsys, printing_loops, X, 4)
    same_as_on_the_cpu(capsys, tp.vmap(lambda x: debug.print("{}", x)), X[:3])


def fails(x):
    raise KeyError(f"{x}")


def test_what_a_callback_raises_ends_the_program(capsys):
    def function(x):
        debug.callback(fails, x[2])
        debug.print("not reached")
        return x

    assert same_as_on_the_cpu(capsys, function, X)[0] is KeyError


def test_checks_of_indices_and_of_pythons_arithmetic(capsys):
    def element(x, k):
        return x[k] + 1

    def quotient(x, k):
        return x + 1 // k

    for options in ({"check_bounds": True}, {"check_bounds": True, "device": "cuda"}):
        with pytest.raises(IndexError, match="index 12 is out of bounds"):
            tp.jit(element, **options)(X, 12)
    on_gpu = tp.jit(quotient, check_arithmetic=True, device="cuda")
    np.testing.assert_array_equal(on_gpu(X, 1), X + 1)
    with pytest.raises(ZeroDivisionError):
        on_gpu(X, 0)


def test_a_program_that_has_failed_is_called_again():
    on_gpu = tp.jit(checked, device="cuda")
    for _ in range(2):
        with pytest.raises(ValueError, match="a negative sum"):
            on_gpu(-X)
        np.testing.assert_array_equal(on_gpu(X), 2 * X)


CODES = {"checked": (checked, 1001, 1002), "roots": (roots, 1001), "shifted": (shifted, 1002)}


@each("name", tuple(CODES), ordinary=("shifted",))
def test_kernels_with_errors_race_for_nothing(name):
    function, *codes = CODES[name]
    stage = tp.jit(function).lower(X)._lowering
    good = np.where(X == 4, 0, X)
    bad = {"checked": (-X, X + 5), "roots": (np.where(X > 6, -X, X),), "shifted": (X - 2,)}[name]
    np.testing.assert_allclose(results(stage, [good], WIDE)[0], tp.jit(function)(good))
    for x, code in zip(bad, codes, strict=True):
        results(stage, [x], WIDE, partial(run, code=code))


def test_no_launch_has_the_code_of_an_error(monkeypatch):
    """As if a program had a thousand launches before the first number that errors have."""
    for module in (callback_messages, render):
        monkeypatch.setattr(module, "FIRST_FAILURE", 2)
    stage = tp.jit(checked).lower(X)._lowering
    loops = lowered(stage.graph, stage.options)
    text = render.cuda_file(loops, stage.options, gpu=WIDE, header="checked.h").source
    codes = re.findall(r"case (\d+):\n        return", text)
    assert len(codes) == len(set(codes)) > 3 and {"1", "2", "3", "4"} <= set(codes)
    results(stage, [X], WIDE, partial(run, code=0))
    results(stage, [X + 5], WIDE, partial(run, code=3))


def test_a_saved_library_returns_the_code_of_the_error(tmp_path):
    paths = tp.jit(checked, device="cuda").lower(X).save(tmp_path, "checked")
    header = next(p for p in paths if p.suffix == ".h").read_text()
    assert "waits for them" in header and "checked_with_callback" in header
    library = ctypes.CDLL(str(next(p for p in paths if p.suffix == ".so")))
    library.checked_error.restype = ctypes.c_char_p
    size = library.checked_workspace_size()
    workspace, out = (tp.device_put(np.zeros(n, np.uint8), "cuda") for n in (size, 80))
    for x, code, text in (
        (X, 0, b"success"),
        (-X, 1001, b"ValueError: a negative sum"),
        (X + 5, 1002, b"AssertionError: {} is too large"),
    ):
        arrays = (tp.device_put(x, "cuda"), out, workspace)
        assert library.checked(*(ctypes.c_void_p(a.pointer) for a in arrays), None) == code
        assert library.checked_error(code) == text
