"""The entry that Python calls, and its call in Python; test_fast_call.py has that in C."""

import subprocess

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.errors import InternalError
from transpile.runtime import fast_call
from transpile.runtime.memory import pool

X = np.arange(12.0).reshape(3, 4)


def executable_of(function, *args, **options):
    return transpile.jit(function, **options).lower(*args).compile().runtime_executable()


def symbols(library, *words):
    """{name: (address, size and kind)} of the symbols of a library."""
    listed = subprocess.run(["nm", *words, library], capture_output=True, text=True, check=True)
    lines = [line.split() for line in listed.stdout.splitlines()]
    return {line[-1]: line[:-1] for line in lines}


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.full_level  # at -O0 nothing would be inlined
def test_a_program_for_python_has_one_entry_and_the_code_of_the_saved_library(tmp_path):
    compiled = transpile.jit(softmax, compiler_options={"march": "native"}).lower(X).compile()
    library = compiled.runtime_executable().entry.path("program.so")
    names = symbols(library, "-D", "--defined-only")
    assert {n for n in names if n.startswith("softmax")} == {"softmax_call", "softmax_error"}
    compiled.save(tmp_path)
    ours, saved = (symbols(path, "-S") for path in (library, tmp_path / "softmax.so"))
    assert ours["softmax"][1] == saved["softmax"][1]  # its size
    assert "softmax_call" not in saved
    text = (tmp_path / "softmax.c").read_text() + (tmp_path / "softmax.h").read_text()
    assert "softmax_call" not in text and "softmax_call" not in compiled.as_text()


def f_call(x):
    return x + 1


def f(x, call):
    return transpile.named_call(f_call)(x) * call.sum()


def test_other_things_may_be_called_as_the_entry_is():
    for function, args in ((f, (X, X)), (f_call, (X,))):
        np.testing.assert_array_equal(transpile.jit(function)(*args), function(*args))


@pytest.mark.parametrize("count", [0, 1, 7, 40, 41, 500])
@one_in(3)
def test_any_number_of_inputs_and_outputs(count):
    arrays = [np.full(3, float(n)) for n in range(count)]
    run = executable_of(lambda *a: (np.ones(2), *(x + 1 for x in a)), *arrays)
    first, *others = run(arrays)
    np.testing.assert_array_equal(first, np.ones(2))
    assert len(others) == count
    for n, x in enumerate(others):
        np.testing.assert_array_equal(x, np.full(3, n + 1.0))


def test_leaves_of_another_number_or_shape_are_refused():
    run = executable_of(lambda x, y: x + y, X, X)
    for leaves in ((), (X,), (X, X, X)):
        with pytest.raises(InternalError, match=f"takes 2 arrays, not {len(leaves)}"):
            run(leaves)
    with pytest.raises(InternalError, match=r"takes an array of shape \(3, 4\), not \(4, 3\)"):
        run((X, X.T))
    np.testing.assert_array_equal(run((X, X.T.copy().T))[0], 2 * X)


@pytest.mark.parametrize("calls", ["python", "c"])
def test_an_int_that_is_too_large_is_named_with_the_users_line(calls, monkeypatch):
    monkeypatch.setenv("TRANSPILE_CALLS", calls)
    f = transpile.jit(lambda x, n: x + n)
    for _ in range(2):
        np.testing.assert_array_equal(f(X, 2), X + 2)
        message = r"test_program_call\.py:\d+: 1180591620717411303424 does not fit int64"
        with pytest.raises(OverflowError, match=message):
            f(X, 2**70)


def test_outputs_take_the_memory_of_donated_inputs_that_nothing_else_uses():
    run = executable_of(lambda x, y, z: (y * 2, x + 1, z), X, X, X, donate_argnums=(0, 1))
    assert sorted(run.call.aliases) == [-1, 0, 1]
    x, y = X.copy(), X.copy()
    first, second, third = run([x, y, X])
    assert first is y and second is x and third is not X
    np.testing.assert_array_equal(first, 2 * X)
    np.testing.assert_array_equal(second, X + 1)
    x = X.copy()
    first, second, _ = run([x, x[:], X])
    assert not np.shares_memory(first, x) and not np.shares_memory(second, x)
    np.testing.assert_array_equal(x, X)


def locked(array):
    array.flags.writeable = False
    return array


class Subclass(np.ndarray):
    """An array of a class of its own."""


NO_RESULTS = {
    "another dtype of that size": lambda: np.empty((3, 4), np.int64),
    "a smaller dtype": lambda: np.empty((3, 4), np.float32),
    "another byte order": lambda: np.empty((3, 4), ">f8"),
    "another shape": lambda: np.empty((4, 3)),
    "fewer axes": lambda: np.empty(12),
    "too few elements": lambda: np.empty((3, 3)),
    "column-major": lambda: np.empty((4, 3)).T,
    "strided": lambda: np.empty((3, 8))[:, ::2],
    "read-only": lambda: locked(np.empty((3, 4))),
    "not aligned": lambda: np.empty(97, np.uint8)[1:].view(np.float64).reshape(3, 4),
    "a subclass": lambda: np.empty((3, 4)).view(Subclass),
    "no array": lambda: 3.0,
}


@pytest.mark.parametrize("name", NO_RESULTS)
def test_what_a_maker_makes_is_checked_in_python_and_in_c(name, monkeypatch):
    made = NO_RESULTS[name]
    monkeypatch.setattr(pool, "maker", lambda shape, dtype: made if shape == (3, 4) else None)
    call = executable_of(lambda x: x + 1, X).call
    for run in (call.run, fast_call.program(call)):
        with pytest.raises(TypeError, match=r"maker of an array .* of its dtype and shape"):
            run([X])


def test_an_array_is_no_maker(monkeypatch):
    monkeypatch.setattr(pool, "maker", lambda shape, dtype: np.empty(shape, dtype))
    call = executable_of(lambda x: x + 2, X).call
    for run in (call.run, fast_call.program(call)):
        with pytest.raises(TypeError, match="not callable"):
            run([X])


def test_a_workspace_of_a_maker_is_checked_in_python_and_in_c(monkeypatch):
    x = np.ones((200, 3))
    sizes = []

    def maker(shape, dtype):
        if dtype != np.uint8:
            return None
        sizes.append(shape)
        return lambda: np.empty(made(shape), dtype)

    monkeypatch.setattr(pool, "maker", maker)
    call = executable_of(lambda x: np.sort(np.exp(x), axis=0)[::-1], x).call
    assert sizes == [(call.room,)] and call.room >= call.workspace > 0
    for run in (call.run, fast_call.program(call)):
        made = lambda shape: shape
        call.spare.clear()
        np.testing.assert_allclose(run([x])[0], np.exp(x))
        made = lambda shape: (shape[0] - 1,)
        assert len(call.spare) == 1
        np.testing.assert_allclose(run([x])[0], np.exp(x))  # with the one before
        call.spare.clear()
        with pytest.raises(TypeError, match=r"maker of an array .* of its dtype and shape"):
            run([x])


def test_a_failed_call_names_the_program_and_the_reason():
    run = executable_of(lambda x: np.sort(np.exp(x), axis=0)[::-1], np.ones((200, 3)))
    with pytest.raises(InternalError, match="lambda_ failed with code 1: the workspace is NUL"):
        run.call.fail(1)


def test_a_callback_may_call_its_own_program():
    seen = []

    def note(x):
        seen.append(float(x))
        if x < 3:
            count(np.float64(x + 1))

    @transpile.jit
    def count(x):
        transpile.debug.callback(note, x)
        return x * 2

    assert count(np.float64(0)) == 0
    assert seen == [0.0, 1.0, 2.0, 3.0]
