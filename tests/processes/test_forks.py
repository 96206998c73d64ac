"""Forks at any moment: the child waits for nobody who is not there, and NumPy is NumPy's in it."""

import ast
import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from helpers import fresh_seed
from thorough import THOROUGH, thorough

import transpile
from transpile.trace.trace import current_trace
from transpile.util import fork_safe_lock
from transpile.util.fork_safe_lock import Lock, undivided
from transpile.util.gc_pause import without_collector
from transpile.util.lazy.imports import imported

PACKAGE = Path(transpile.__file__).parent
KEPT = {name: getattr(np, name) for name in ("array", "asarray", "full", "vectorize", "broadcast")}
CALLED = vars(np.vectorize)["__call__"]


def fork(function, seconds=60):
    """The exit status of a forked child that runs `function`; 1 where it raises, -14 for a hang."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(seconds)
            function()
            status = 0
        except BaseException as error:
            os.write(2, f"in the child: {error!r}\n".encode())
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Meanwhile:
    """Another thread is inside of `function(wait)` while the block runs, and ends with it."""

    def __init__(self, function):
        self._inside, self._go = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=function, args=(self._wait,))

    def _wait(self):
        self._inside.set()
        assert self._go.wait(60)

    def __enter__(self):
        self._thread.start()
        assert self._inside.wait(60)
        return self

    def go_on(self):
        self._go.set()

    def __exit__(self, *_):
        self.go_on()
        self._thread.join()


def first_calls(number=0.5):
    """Trace, compile and call functions that nobody has called before."""

    def f(x):
        return np.array([x.sum(), number]) + np.sort(x)[:2]

    x = np.array([3.0, 1.0, 2.0])
    options = {"opt_level": 0}
    np.testing.assert_allclose(transpile.jit(f, compiler_options=options)(x), f(x))
    slope = transpile.grad(lambda x: (f(x) ** 2).sum())
    np.testing.assert_allclose(slope(x), transpile.jit(slope, compiler_options=options)(x))


def numpy_is_numpys():
    """Nothing of NumPy's is replaced."""
    assert all(getattr(np, name) is value for name, value in KEPT.items())
    assert vars(np.vectorize)["__call__"] is CALLED
    assert pickle.loads(pickle.dumps(np.asarray)) is np.asarray
    assert not isinstance(1, np.vectorize)


def test_a_child_forked_while_another_thread_traces():
    def trace(wait):
        transpile.jit(lambda x: wait() or x + 1)(np.ones(3))

    def child():
        numpy_is_numpys()
        assert current_trace() is None
        first_calls(os.getpid())
        numpy_is_numpys()

    with Meanwhile(trace):
        numpy_is_numpys()
        assert fork(child) == 0
    numpy_is_numpys()


def test_a_child_forked_by_the_function_that_is_traced():
    """It goes on tracing in the child."""

    def f(x):
        children.append(os.fork())
        return np.array([x[0], 2.0])

    children = []
    found = transpile.jit(f, compiler_options={"opt_level": 0})(np.ones(2))
    is_right = found.tolist() == [1, 2] and np.array is KEPT["array"]
    (child,) = children
    if child == 0:
        os._exit(0 if is_right else 1)
    assert is_right and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_child_forked_while_another_thread_holds_every_lock(monkeypatch):
    monkeypatch.setattr(
        fork_safe_lock, "LONGEST_WAIT", 0.05
    )  # sections do not last as long as this one

    def hold(wait):
        held = [lock for lock in tuple(fork_safe_lock._locks) if lock.acquire(timeout=1)]
        assert len(held) > 5
        wait()
        for lock in held:
            lock.release()

    with Meanwhile(hold):
        assert fork(lambda: first_calls(os.getpid())) == 0
    first_calls(7)


def test_the_locks_of_the_thread_that_forks_stay_its_own():
    lock, other = Lock(), Lock()

    def child():
        assert lock.is_ours() and not other.is_ours()
        lock.release()
        assert other.acquire(timeout=1)
        started = threading.Thread(target=lambda: os._exit(0 if lock.acquire(timeout=5) else 1))
        started.start()
        started.join()

    with Meanwhile(lambda wait: other.acquire() and wait()):
        lock.acquire()
        assert fork(child) == 0
        assert lock.is_ours()
        lock.release()


def test_the_collector_is_on_in_a_child_forked_while_another_thread_compiles():
    def child():
        assert gc.isenabled()

    with Meanwhile(without_collector):
        assert not gc.isenabled()
        assert fork(child) == 0
        assert not gc.isenabled()
    assert gc.isenabled()
    assert without_collector(lambda: fork(lambda: int(gc.isenabled()) and os._exit(9))) == 0


def test_a_fork_waits_for_an_import(tmp_path, monkeypatch):
    (tmp_path / "slow_module_of_a_test.py").write_text(
        "import time\nfirst = 1\ntime.sleep(0.5)\nlast = 2\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    started = threading.Thread(target=imported, args=("slow_module_of_a_test",))
    started.start()
    while "slow_module_of_a_test" not in sys.modules:
        time.sleep(0.01)

    def child():
        assert __import__("slow_module_of_a_test").last == 2

    assert fork(child, 20) == 0
    started.join()


def test_a_fork_waits_for_nothing_for_ever(monkeypatch):
    monkeypatch.setattr(fork_safe_lock, "LONGEST_WAIT", 0.2)

    def stay(wait):
        with undivided():
            wait()

    def child():
        with undivided():
            first_calls(os.getpid())

    before = time.monotonic()
    with Meanwhile(stay):
        assert fork(child) == 0
        assert time.monotonic() - before > 0.2
        with undivided():  # and in a section of its own a thread may fork too
            assert fork(child) == 0


@thorough
def test_a_fork_waits_while_temporary_directories_are_looked_for(tmp_path):
    code = """
        import os, signal, sys, tempfile, threading, time
        import numpy as np
        import transpile

        looking = threading.Event()

        def slowly(frame, event, argument):
            if event == "call" and frame.f_code.co_name == "_get_default_tempdir":
                looking.set()
                time.sleep(0.3)

        def call():
            sys.setprofile(slowly)
            transpile.jit(np.sort, compiler_options={"opt_level": 0})(np.ones(3))

        thread = threading.Thread(target=call)
        thread.start()
        assert looking.wait(60)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            tempfile.gettempdir()
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        thread.join()
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        # A program of the shared cache would need no temporary directory.
        env={**os.environ, "TRANSPILE_CACHE_DIR": str(tmp_path)},
    )
    assert done.stdout.split() == ["0"], done.stderr


def test_a_fork_waits_for_sections_that_begin_while_it_waits():
    is_over = threading.Event()

    def begin(wait):
        with fork_safe_lock._beginning:
            wait()
            time.sleep(0.2)  # the fork waits for us now
            section = undivided()
            section.acquire()
        time.sleep(0.2)
        is_over.set()
        section.release()

    def child():
        assert is_over.is_set()

    with Meanwhile(begin) as meanwhile:
        meanwhile.go_on()
        assert fork(child) == 0


@thorough
def test_forks_at_random_moments_while_others_trace_and_compile():
    code = """
        import json, os, random, signal, sys, threading, time
        import numpy as np, transpile

        options = {"opt_level": 0}
        x = np.random.default_rng(0).normal(size=(60, 40))

        def function(c):
            return lambda x: np.array([np.exp(x * c).sum(), c]) * np.cumsum(x, axis=1)[0, :2]

        def call(c):
            f = function(c)
            return np.allclose(transpile.jit(f, compiler_options=options)(x), f(x))

        problems, done = [], threading.Event()

        def work(n):
            k = 0
            while not done.is_set():
                k += 1
                if not call(n + k / 1000):
                    problems.append("a wrong result in a thread")

        threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        draw = random.Random(int(sys.argv[1]))
        for n in range(int(sys.argv[2])):
            time.sleep(draw.random() * 0.2)
            child = os.fork()
            if child == 0:
                signal.alarm(300)
                right = call(-1 - n) and type(np.array) is type(len)
                os._exit(0 if right else 1)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if status:
                problems.append(f"fork {n}: {status}")
        done.set()
        for thread in threads:
            thread.join()
        print(json.dumps(problems))
    """
    count = "100" if THOROUGH else "5"
    arguments = [str(fresh_seed()), count]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        timeout=900 + 10 * int(count),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


def test_no_lock_is_unknown_to_forks():
    """All locks are `fork_safe_lock.Lock`; before Python 3.12 functools has one in each
    cached_property."""
    texts = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert {path.name: other_locks(text) for path, text in texts.items() if other_locks(text)} == {}
    assert len(texts) > 300


@pytest.mark.parametrize(
    "text",
    [
        "lock = threading.RLock()",
        "from functools import wraps, cached_property",
        "@functools.cached_property\ndef x(self): ...",
    ],
)
def test_other_locks_are_seen(text):
    assert len(other_locks(text)) == 1


def other_locks(text):
    """The lines of a module that make or import a lock which is not `fork_safe_lock.Lock`."""
    forbidden = {"Lock", "RLock", "Condition", "Semaphore", "Barrier", "cached_property"}
    if not any(word in text for word in forbidden):
        return []
    lines = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            is_other = node.value.id in ("threading", "queue", "_thread")
            lines += [node.lineno] if is_other and node.attr in forbidden else []
        if isinstance(node, ast.ImportFrom) and node.module in ("threading", "functools"):
            lines += [node.lineno] if forbidden & {alias.name for alias in node.names} else []
        if isinstance(node, ast.FunctionDef):
            used = {ast.unparse(decorator) for decorator in node.decorator_list}
            lines += [node.lineno] if "functools.cached_property" in used else []
    return lines


def test_a_child_forked_by_the_trace_of_one_of_two_threads_goes_on_tracing():
    def trace(wait):
        transpile.make_jaxpr(lambda x: wait() or x + 1)(np.ones(3))

    def child():
        numpy_is_numpys()
        assert transpile.make_jaxpr(lambda x: np.array([x, 1.0]))(1.0).outputs
        os._exit(0)

    def traced(x):
        assert fork(child) == 0
        return x

    with Meanwhile(trace):
        transpile.make_jaxpr(traced)(np.ones(3))
    numpy_is_numpys()
