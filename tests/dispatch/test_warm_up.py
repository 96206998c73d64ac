"""`jit(f, warm_up="numpy")`: NumPy computes the first calls while a process builds the program.

The compiler of these tests does nothing until a file lets it, so that the state of a build is
known.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from thorough import one_in, thorough

import transpile
from transpile.build.compiler_probe import find_compiler
from transpile.dispatch import background_build, warm_up
from transpile.errors import CompilationError
from transpile.options import Options

pytestmark = pytest.mark.full_level  # the process that builds knows nothing of a lower level

ROW = np.linspace(-1, 1, 24)
X = np.random.default_rng(0).standard_normal((4, 24))


class Compiler:
    """The state of the compiler: it waits for `go`, fails for `fail`, and counts its programs."""

    def __init__(self, directory):
        self.directory = directory

    def let(self, word):
        (self.directory / word).touch()

    @property
    def programs(self):
        """How many programs it has compiled or begun to."""
        log = self.directory / "log"
        return log.read_text().count("entry.c") if log.exists() else 0


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    real = " ".join(find_compiler(Options()).command)
    script = tmp_path / "cc"
    script.write_text(
        f"""#!/bin/sh
case "$*" in *entry.c*)
    echo "$@" >> {tmp_path}/log
    rounds=0
    while ! [ -e {tmp_path}/go ] && [ $((rounds += 1)) -lt 6000 ]; do
        [ -e {tmp_path}/fail ] && {{ echo "refused to compile" >&2; exit 1; }}
        sleep 0.01
    done
esac
exec {real} "$@"
"""
    )
    script.chmod(0o700)
    monkeypatch.setenv("TRANSPILE_CC", str(script))
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))
    yield Compiler(tmp_path)
    (tmp_path / "fail").touch()
    (tmp_path / "go").unlink(missing_ok=True)
    for build in list(background_build._under_way.values()):
        build.wait()
    background_build._under_way.clear()


def warmed(function, **settings):
    return transpile.jit(function, warm_up="numpy", **settings)


def is_built(function, *args):
    lowered = function.lower(*args)
    return () in lowered.built_layouts()


def until_ended():
    for build in list(background_build._under_way.values()):
        build.wait()


def assert_same_kind(one, other):
    """Equal in all but rounding."""
    assert type(one) is type(other) is np.ndarray
    assert (one.dtype, one.shape, one.strides) == (other.dtype, other.shape, other.strides)
    assert one.flags.writeable and other.flags.writeable
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_numpy_answers_until_the_program_is_there(compiler):
    def softmax(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    f = warmed(softmax)
    first = [f(X) for _ in range(3)]
    assert not is_built(f, X)
    compiler.let("go")
    until_ended()
    later = f(X)
    assert is_built(f, X) and compiler.programs == 1
    assert f.lower(X).compile().build_info().from_cache
    for result in first:
        assert_same_kind(result, later)
    np.testing.assert_array_equal(later, transpile.jit(softmax)(X))


def test_a_program_of_the_cache_is_used_at_once(compiler, monkeypatch):
    def function(x):
        return np.sinh(x)

    compiler.let("go")
    expected = transpile.jit(function)(ROW)
    transpile.clear_caches()
    monkeypatch.setattr(warm_up, "begun", None)
    f = warmed(function)
    assert f(ROW).tolist() == expected.tolist() and is_built(f, ROW)


def test_errors_of_the_build_are_raised_by_a_later_call(compiler):
    f = warmed(lambda x: np.cosh(x) + 1)
    np.testing.assert_allclose(f(ROW), np.cosh(ROW) + 1, rtol=1e-14)
    compiler.let("fail")
    until_ended()
    for _ in range(2):
        with pytest.raises(CompilationError, match="refused to compile"):
            f(ROW)
    (compiler.directory / "fail").unlink()
    compiler.let("go")
    np.testing.assert_allclose(f(ROW), np.cosh(ROW) + 1, rtol=1e-14)


def test_errors_of_the_function_are_raised_at_once(compiler):
    f = warmed(lambda x: x @ np.ones(3))
    with pytest.raises(ValueError):
        f(ROW)
    with pytest.raises(OverflowError, match="does not fit"):
        warmed(lambda x: x * np.uint8(2))(2**80)


@thorough
def test_each_signature_warms_up(compiler):
    f = warmed(lambda x: x * 2 + 1)
    f(ROW)
    compiler.let("go")
    until_ended()
    f(ROW)
    (compiler.directory / "go").unlink()
    narrow = ROW.astype(np.float32)
    assert f(narrow).dtype == np.float32
    assert is_built(f, ROW) and not is_built(f, narrow)


def test_static_arguments_and_keywords(compiler):
    def power(x, n, *, shift):
        return {"y": x**n + shift, "n": (x, n)[0]}

    f = warmed(power, static_argnames="n")
    for n in (2, 3):
        result = f(ROW, n, shift=2.0)
        np.testing.assert_allclose(result["y"], ROW**n + 2.0, rtol=1e-14)
        assert result["n"] is not ROW and result["n"].tolist() == ROW.tolist()


SCALE = 2.0


def test_guards_hold_for_calls_of_numpy(compiler, monkeypatch):
    f = warmed(lambda x: x * SCALE)
    assert f(ROW).tolist() == (ROW * 2).tolist()
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    assert f(ROW).tolist() == (ROW * 3).tolist()


def test_arguments_that_are_assigned_to_hold_their_new_values(compiler):
    def update(x, y):
        x[0] = y.sum()
        x[1:] *= 2
        return x[:3]

    expected_x = ROW.copy()
    expected = update(expected_x, X)
    f = warmed(update)
    x = ROW.copy()
    result = f(x, X)
    np.testing.assert_allclose(x, expected_x, rtol=1e-13)
    np.testing.assert_allclose(result, expected, rtol=1e-13)
    read_only = ROW.copy()
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(read_only, X)
    assert not np.shares_memory(result, x)


def test_donated_arguments_may_be_passed_again(compiler):
    f = warmed(lambda x, y: (x + y, x * y), donate_argnums=0)
    x = ROW.copy()
    total, product = f(x, ROW)
    assert total.tolist() == (ROW + ROW).tolist() and product.tolist() == (ROW * ROW).tolist()
    assert not np.shares_memory(total, product)


def test_results_are_new_arrays(compiler):
    f = warmed(lambda x: (x, x, x.T, np.broadcast_to(x[0], (3, 24))))
    x = X.copy()
    results = f(x)
    for number, one in enumerate(results):
        assert one.flags.writeable and not np.shares_memory(one, x)
        assert not any(np.shares_memory(one, other) for other in results[number + 1 :])
    compiler.let("go")
    until_ended()
    for one, other in zip(results, f(x), strict=True):
        assert_same_kind(one, other)


@pytest.mark.parametrize("turn", [np.asfortranarray, np.transpose, lambda x: x[::2, ::-1]])
@one_in(3)
def test_results_lie_in_memory_as_those_of_the_program(compiler, turn):
    f = warmed(lambda x: (x * 2, x.sum(axis=0), np.exp(x).T))
    first = f(turn(X))
    compiler.let("go")
    until_ended()
    for one, other in zip(first, f(turn(X)), strict=True):
        assert_same_kind(one, other)


def test_callbacks_are_called_once_for_each_call(compiler, capsys):
    seen = []

    def f(x):
        transpile.debug.callback(lambda total: seen.append(float(total)), x.sum())
        transpile.debug.print("first {}", x[0])
        return x + 1

    g = warmed(f)
    for _ in range(3):
        g(ROW + 1)
    assert len(seen) == 3 and not is_built(g, ROW)
    compiler.let("go")
    until_ended()
    g(ROW + 1)
    assert is_built(g, ROW)
    np.testing.assert_allclose(seen, [24.0] * 4)
    assert capsys.readouterr().out == "first 0.0\n" * 4


def test_an_exception_of_a_callback_reaches_the_caller(compiler):
    class OwnError(Exception):
        pass

    def refuse(_):
        raise OwnError

    calls = []

    def f(x):
        transpile.debug.callback(refuse, x)
        transpile.debug.callback(lambda _: calls.append(1), x)
        return x

    g = warmed(f)
    with pytest.raises(OwnError):
        g(ROW)
    assert not calls and not is_built(g, ROW)


def test_callbacks_in_loops_wait_for_the_program(compiler):
    compiler.let("go")
    seen = []

    def body(k, x):
        transpile.debug.callback(lambda value: seen.append(float(value)), x[0])
        return x + 1

    f = warmed(lambda x: transpile.lax.fori_loop(0, 3, body, x))
    assert f(ROW).tolist() == (ROW + 3).tolist()
    assert seen == [-1.0, 0.0, 1.0] and is_built(f, ROW)


@thorough
def test_long_loops_are_left_to_the_program(compiler):
    def f(x):
        return transpile.lax.fori_loop(0, 100_000, lambda k, x: np.cos(x), x)

    compiler.let("go")
    g = warmed(f)
    np.testing.assert_allclose(g(ROW), 0.7390851332151607, rtol=1e-12)
    assert is_built(g, ROW)


def test_what_needs_much_memory_is_left_to_the_program(compiler):
    """Distances of all pairs, 80 MB, of which the program stores none."""

    def nearest(x):
        return np.abs(x[:, None] - x[None, :] + 1).min(axis=1)

    compiler.let("go")
    x = np.linspace(0, 1, 3200)
    f = warmed(nearest)
    assert not warm_up._suits(f.trace(x).jaxpr)
    np.testing.assert_allclose(f(x), nearest(x), rtol=1e-14)
    assert is_built(f, x)
    assert warm_up._suits(warmed(np.exp).trace(np.ones(10_000_000)).jaxpr)


@thorough
def test_what_numpy_takes_longer_for_is_left_to_the_program(compiler, monkeypatch):
    f = warmed(lambda x: np.exp(np.sin(x)) + 1)
    expected = transpile.jit(lambda x: np.exp(np.sin(x)) + 1)
    real = warm_up._WarmUp._is_ahead

    def meanwhile(self):
        compiler.let("go")
        self._build.wait()
        return real(self)

    monkeypatch.setattr(warm_up._WarmUp, "_is_ahead", meanwhile)
    result = f(ROW)
    assert is_built(f, ROW) and result.tolist() == expected(ROW).tolist()


def test_stages_build_at_once(compiler):
    f = warmed(lambda x: np.tanh(x) * 3)
    first = f(ROW)
    threading.Timer(0.3, compiler.let, ["go"]).start()
    compiled = f.lower(ROW).compile()
    assert compiler.programs == 1, "the process builds it, this one waits"
    np.testing.assert_allclose(first, compiled(ROW), rtol=1e-14)
    assert f(ROW).tolist() == compiled(ROW).tolist()


@thorough
def test_threads_begin_one_build(compiler):
    f = warmed(lambda x: np.arctan(x) - 1)
    results = []
    threads = [threading.Thread(target=lambda: results.append(f(ROW))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(background_build._under_way) == 1
    compiler.let("go")
    until_ended()
    results.append(f(ROW))
    assert compiler.programs == 1
    for result in results:
        np.testing.assert_allclose(result, np.arctan(ROW) - 1, rtol=1e-14)


@thorough
def test_no_more_builds_than_processors(compiler, monkeypatch):
    monkeypatch.setattr(background_build, "most_commands", lambda: 1)
    one, other = warmed(lambda x: x + 1), warmed(lambda x: x + 2)
    for _ in range(2):
        assert one(ROW).tolist() == (ROW + 1).tolist()
        assert other(ROW).tolist() == (ROW + 2).tolist()
    assert len(background_build._under_way) == 1
    compiler.let("go")
    until_ended()
    other(ROW)
    until_ended()
    other(ROW)
    assert is_built(other, ROW) and one(ROW).tolist() == (ROW + 1).tolist()


def test_equal_functions_share_a_build(compiler):
    for _ in range(3):
        warmed(lambda x: x * 7 - 1)(ROW)
    assert len(background_build._under_way) == 1


def test_functions_with_rules_of_the_user_warm_up(compiler):
    """Their rules are closures, which cannot be pickled and which no program calls."""
    factor = 2.0

    @transpile.custom_jvp
    def f(x):
        return np.sin(x) * factor

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * factor))
    g = warmed(lambda x: f(x) + 1)
    first = g(ROW)
    assert len(background_build._under_way) == 1
    compiler.let("go")
    until_ended()
    assert_same_kind(first, g(ROW))
    assert compiler.programs == 1, "the process has found the place of the program in the cache"


def test_a_graph_that_cannot_be_pickled_is_built_at_once(compiler, monkeypatch):
    compiler.let("go")

    def refuse(*_):
        raise TypeError("cannot be pickled")

    monkeypatch.setattr(background_build._Pickler, "dump", refuse)
    f = warmed(lambda x: x - 3)
    assert f(ROW).tolist() == (ROW - 3).tolist() and is_built(f, ROW)


def test_without_a_cache_the_first_call_waits(compiler, monkeypatch):
    compiler.let("go")
    monkeypatch.setattr(type(background_build.default_cache()), "problem", lambda self: "full")
    f = warmed(lambda x: x - 4)
    assert f(ROW).tolist() == (ROW - 4).tolist() and is_built(f, ROW)


def test_djit_and_methods_warm_up(compiler):
    class Model:
        weight = 3.0

        @transpile.jit(warm_up="numpy")
        def apply(self, x):
            return x * self.weight

    assert Model().apply(ROW).tolist() == (ROW * 3).tolist()
    f = transpile.djit(lambda x: x + 1 if x.sum() > 0 else x - 1, warm_up="numpy")
    assert f(ROW + 1).tolist() == (ROW + 2).tolist()
    assert f(ROW - 1).tolist() == (ROW - 2).tolist()
    compiler.let("go")
    until_ended()
    assert f(ROW + 1).tolist() == (ROW + 2).tolist()


def test_gradients_of_warmed_functions_warm_up(compiler):
    f = warmed(lambda x: (x**3).sum())
    np.testing.assert_allclose(transpile.jit(transpile.grad(f), warm_up="numpy")(ROW), 3 * ROW**2)


@pytest.mark.parametrize("word", ["fast", "", True])
def test_another_word_is_refused(word):
    with pytest.raises(ValueError, match="warm_up takes 'numpy' or 'off'"):
        transpile.jit(np.sin, warm_up=word)


def test_the_environment_decides_where_the_function_does_not(monkeypatch):
    def setting(**given):
        return transpile.jit(np.sin, **given)._config.warms_up

    assert not setting() and setting(warm_up="numpy")
    monkeypatch.setenv("TRANSPILE_WARM_UP", "numpy")
    assert setting() and not setting(warm_up="off")
    monkeypatch.setenv("TRANSPILE_WARM_UP", "yes")
    with pytest.raises(ValueError, match="TRANSPILE_WARM_UP takes"):
        setting()


# -- processes -------------------------------------------------------------------------------------


def test_a_forked_child_leaves_the_build_to_its_parent(compiler):
    f = warmed(lambda x: np.log1p(x * x))
    expected = np.log1p(ROW * ROW)
    np.testing.assert_allclose(f(ROW), expected, rtol=1e-14)
    while not compiler.programs:
        time.sleep(0.01)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            # It waits for what its parent's process builds.
            threading.Timer(0.2, compiler.let, ["go"]).start()
            np.testing.assert_allclose(f(ROW), expected, rtol=1e-14)
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    until_ended()
    np.testing.assert_allclose(f(ROW), expected, rtol=1e-14)
    assert is_built(f, ROW) and compiler.programs == 1


CODE = """
import sys, time, numpy as np, transpile
from transpile.dispatch import background_build
background_build._LONGEST_END = float(sys.argv[1])
f = transpile.jit(lambda x: np.exp(x) + 1, warm_up="numpy")
print(f(np.zeros(5)).tolist(), flush=True)
lowered = f.lower(np.zeros(5))
print(() in lowered.built_layouts(), flush=True)
"""


def run(*words):
    return subprocess.run([sys.executable, "-c", CODE, *words], capture_output=True, text=True)


@thorough
def test_the_end_of_a_process_lets_the_build_come_to_its_end(compiler):
    compiler.let("go")
    done = run("60")
    assert (done.stdout, done.stderr) == (f"{[2.0] * 5}\nFalse\n", "")
    done = run("60")
    assert (done.stdout, done.stderr) == (f"{[2.0] * 5}\nTrue\n", "")
    assert compiler.programs == 1


def test_the_end_of_a_process_does_not_wait_for_long(compiler):
    begin = time.monotonic()
    done = run("0.2")
    assert (done.stdout, done.stderr) == (f"{[2.0] * 5}\nFalse\n", "")
    assert time.monotonic() - begin < 60, "a compiler that hangs for ever"
    assert not list((compiler.directory / "cache").glob("_lambda_*"))
