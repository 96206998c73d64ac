"""Tracebacks of errors: the user's frames in them, the package's not, and all else untouched."""

from __future__ import annotations

import operator
import os
import pdb
import subprocess
import sys
import traceback

import numpy as np
import pytest

import transpile as tp
from transpile import errors, lax
from transpile.trace.tracebacks import HINT, api_boundary
from transpile.util.users_code import OWN_FILES

X = np.arange(3.0)


def helper(y):
    if operator.truth(y.sum() > 0):  # a function in C, which no conversion reaches
        return y
    return -y


def outer(x):
    return helper(x * 2)


def raised(call, error_type=errors.TracerBoolConversionError):
    with pytest.raises(error_type) as caught:
        call()
    return caught.value


def functions(error):
    """The functions in the traceback of an error, after those of `raised` and of its argument."""
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert names[0] == "raised"
    return names[2:]


def own_frames(error):
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return [file for file in files if file.startswith(OWN_FILES)]


jitted = tp.jit(outer)


custom = tp.custom_vjp(lambda x: helper(x))
custom.defvjp(lambda x: (helper(x), None), lambda _, t: (t,))


class Model:
    @tp.jit
    def method(self, x):
        return helper(x)


@pytest.mark.parametrize(
    "call",
    [
        lambda: jitted(X),
        lambda: jitted.lower(X),
        lambda: jitted.trace(X),
        lambda: jitted.eval_shape(X),
        lambda: tp.xpr(outer, X),
        lambda: tp.make_jaxpr(outer)(X),
        lambda: tp.eval_shape(outer, X),
        lambda: tp.vmap(outer)(np.ones((2, 3))),
        lambda: tp.checkpoint(jitted)(X),
        lambda: tp.jacfwd(tp.jit(outer))(X),
    ],
    ids=lambda _: "",
)
def test_two_functions_of_the_user_are_two_frames(call):
    error = raised(call)
    assert functions(error) == ["outer", "helper"]
    assert error.__notes__ == [HINT]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: lax.fori_loop(0, 3, lambda i, c: helper(c), x),
        lambda x: lax.scan(lambda c, y: (helper(c), y), x, x),
        lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: helper(c), x),
        lambda x: lax.cond(x[0] < 3, lambda c: helper(c), lambda c: c, x),
        lambda x: lax.switch(0 * x[0].astype(int), [lambda c: helper(c)] * 2, x),
        lambda x: lax.map(lambda c: helper(c), x),
        lambda x: tp.grad(tp.jit(lambda c: helper(c).sum()))(x),
        lambda x: tp.jit(lambda c: Model().method(c))(x),
        lambda x: tp.jit(custom)(x),
    ],
    ids=["fori", "scan", "while", "cond", "switch", "map", "grad", "method", "custom"],
)
def test_bodies_of_control_flow_and_derivatives(call):
    names = functions(raised(lambda: call(X)))
    assert len(names) <= 4 and names[-1] == "helper" and names[0] == "<lambda>"
    inside = raised(lambda: tp.jit(lambda x: call(x))(X))
    assert functions(inside)[-1] == "helper" and not own_frames(inside)


def test_exceptions_of_the_user_keep_identity_cause_context_and_notes():
    mine, reason = KeyError("mine"), OSError("reason")

    def fails(x):
        np.sin(x)
        mine.add_note("a note")
        raise mine from reason

    error = raised(lambda: tp.jit(fails)(X), KeyError)
    assert error is mine and error.__cause__ is reason and error.__notes__ == ["a note"]
    assert functions(error) == ["fails"]


def test_causes_and_contexts_lose_the_frames_too():
    def fails(x):
        try:
            helper(x)
        except TypeError as problem:
            raise ValueError("mine") from problem

    error = raised(lambda: tp.jit(fails)(X), ValueError)
    cause = error.__cause__
    assert isinstance(cause, errors.TracerBoolConversionError) and not own_frames(cause)
    assert [f.name for f in traceback.extract_tb(cause.__traceback__)] == ["fails", "helper"]

    def groups(x):
        raise ExceptionGroup("several", [error, raised(lambda: helper(x))])

    group = raised(lambda: tp.jit(groups)(X), ExceptionGroup)
    assert not own_frames(group) and not any(map(own_frames, group.exceptions))


def test_frames_of_numpy_stay_where_the_user_called_it():
    def called(row):
        raise KeyError("mine")

    error = raised(lambda: tp.jit(lambda x: np.vectorize(called)(np.ones(2)) + x)(X), KeyError)
    assert functions(error)[-1] == "called" and not own_frames(error)
    error = raised(lambda: tp.jit(lambda x: np.linalg.solve(x, x))(X), np.linalg.LinAlgError)
    assert functions(error) == ["<lambda>"]


def test_errors_of_callbacks_at_run_time():
    def fails(x):
        raise KeyError("mine")

    for often in (1, 150):  # in Python, then in C

        @tp.jit
        def calls(x):
            tp.debug.callback(lambda v: fails(v) if v[0] else None, x)
            return x + 1

        for _ in range(often):
            calls(np.zeros(2))
        assert functions(raised(lambda f=calls: f(np.ones(2)), KeyError)) == ["<lambda>", "fails"]


def test_the_traceback_can_be_debugged_after_death():
    error = raised(lambda: jitted(X))
    debugger = pdb.Pdb()
    stack, position = debugger.get_stack(None, error.__traceback__)
    assert [frame.f_code.co_name for frame, _ in stack[-2:]] == ["outer", "helper"]
    assert position == len(stack) - 1 and stack[-1][0].f_locals["y"] is not None


def test_an_error_of_the_package_itself_keeps_its_frames():
    @api_boundary
    def broken():
        raise errors.InternalError("a bug")

    @api_boundary
    def outside():
        broken()

    files = traceback.extract_tb(raised(outside, errors.InternalError).__traceback__)
    assert any(frame.filename.startswith(OWN_FILES) for frame in files)


def test_all_frames_are_shown_on_demand(monkeypatch):
    monkeypatch.setenv("TRANSPILE_TRACEBACK", "full")
    error = raised(lambda: jitted(X))
    assert len(own_frames(error)) > 5 and not hasattr(error, "__notes__")
    monkeypatch.delenv("TRANSPILE_TRACEBACK")
    before = tp.config.jax_traceback_filtering
    tp.config.update("jax_traceback_filtering", "off")
    try:
        assert len(own_frames(raised(lambda: jitted(X)))) > 5
    finally:
        tp.config.update("jax_traceback_filtering", before)
    assert not own_frames(raised(lambda: jitted(X)))


SCRIPT = """
import numpy as np
import transpile

def helper(y):
    return [y][y.sum():]

@transpile.jit
def f(x):
    return helper(x)

f(np.ones(3))
"""


def test_what_a_script_prints(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def printed(**variables):
        command = [sys.executable, str(script)]
        environment = {**os.environ, **variables}
        run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert run.returncode == 1 and "TracerIntegerConversionError" in run.stderr
        return run.stderr.count('  File "')

    assert printed() == 3
    assert printed(TRANSPILE_TRACEBACK="full") > 10
