"""Many threads at once: first calls of the same and of different functions, beside other work."""

import threading

import numpy as np

import transpile
from transpile import lax
from transpile.functional import flatten_fun
from transpile.util.lazy.imports import imported

X = np.random.default_rng(0).normal(size=(50, 60))


def all_at_once(*functions):
    """Run each in a thread; what they raise is raised."""
    problems, gate = [], threading.Barrier(len(functions))

    def run(function):
        gate.wait()
        try:
            function()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=run, args=(f,)) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for problem in problems:
        raise problem


def made(k):
    def f(x):
        return np.array([x.sum(), 1.0])[0] + np.sort(x, axis=k % 2) * k + np.asarray(x)[::-1]

    return f


def test_first_calls_of_the_same_and_of_different_functions():
    functions = [made(k) for k in range(4)]
    jitted = [transpile.jit(f, compiler_options={"opt_level": 0}) for f in functions]
    done, finished = threading.Event(), []

    def calls(n):
        def run():
            try:
                for k in range(4):
                    k = (n + k) % 4 if n % 2 else k
                    np.testing.assert_allclose(jitted[k](X), functions[k](X))
            finally:
                finished.append(n)
                if len(finished) == 12:
                    done.set()

        return run

    def others():
        while not done.wait(0.005):
            assert np.array([1, 2]).sum() == 3 and np.vectorize(abs)(np.array([-1])) == 1

            class Extended(np.vectorize):
                pass

            assert isinstance(Extended(abs), np.vectorize)

    all_at_once(*(calls(n) for n in range(12)), others, others)
    assert type(np.vectorize) is type and type(np.array) is type(len)
    assert [f._cache_size() for f in jitted] == [1] * 4


def test_loops_outside_of_functions_while_their_programs_are_forgotten(monkeypatch):
    monkeypatch.setattr(flatten_fun, "MOST_EXECUTABLES", 1)
    monkeypatch.setattr(flatten_fun, "MOST_INTERPRETED", 0)

    def work(n):
        def run():
            for k in range(6):
                step = float((n + k) % 3 + 1)
                found = lax.fori_loop(0, 50, lambda i, c, step=step: c + step * i, np.ones(3))
                np.testing.assert_allclose(found, 1 + step * 49 * 25)

        return run

    all_at_once(*(work(n) for n in range(6)))


def test_caches_are_cleared_while_functions_are_made():
    def make():
        for k in range(300):
            transpile.jit(lambda x, k=k: x + k)

    def clear():
        for _ in range(300):
            transpile.clear_caches()

    all_at_once(*[make, clear] * 4)


def test_an_interrupted_import_is_repeated_by_other_threads(tmp_path, monkeypatch):
    """The first one is interrupted while the others wait for it."""
    package = tmp_path / "package_of_a_test"
    package.mkdir()
    text = "import time\nfrom package_of_a_test import part\ntime.sleep(0.3)\n"
    text += "if not part.tried:\n    part.tried.append(1)\n    raise KeyboardInterrupt\n"
    (package / "__init__.py").write_text(text, encoding="utf-8")
    part = "import builtins\ntried = builtins.__dict__.setdefault('tried_in_a_test', [])\n"
    (package / "part.py").write_text(part, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    interrupted = []

    def work():
        try:
            found = imported("package_of_a_test")
        except KeyboardInterrupt:
            interrupted.append(1)
            found = imported("package_of_a_test")
        assert found.part.tried == [1]
        assert found.part is imported("package_of_a_test.part")

    all_at_once(*[work] * 6)
    assert interrupted == [1]
