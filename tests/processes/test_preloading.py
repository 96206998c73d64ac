"""Modules that are imported beside the user's code: nobody notices, whatever happens meanwhile."""

import _imp
import importlib
import os
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from thorough import tries

import transpile
from transpile.dispatch import preloading
from transpile.util.lazy import imports

ROOT = Path(transpile.__file__).parents[1]
# As a process is that has imported transpile, and made nothing else.
BEGIN = """
import os, random, signal, sys, threading, time
import numpy as np
import transpile
from transpile.dispatch import preloading

def chain(x):
    return np.exp(x - x.max()).sum()

def is_there():
    return "transpile.build.driver" in sys.modules

def wait():
    until = time.monotonic() + 60
    while not is_there() or preloading._state.is_running:
        assert time.monotonic() < until
        time.sleep(0.001)

def right(f):
    return "static void chain_2" in f.lower(np.ones(1000)).as_text()
"""


def run(text, cache, is_silent=True, **environment):
    """What a process says that does this; it must end well, and in silence otherwise."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BEGIN + textwrap.dedent(text)],
        env={**os.environ, "TRANSPILE_CACHE_DIR": str(cache), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and (not is_silent or done.stderr == ""), done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def two_processors():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.fail("tests need two processors")


def test_jitting_a_function_that_is_not_in_the_cache_imports_what_compiling_needs(tmp_path):
    text = """
    assert not is_there()
    f = transpile.jit(chain)
    wait()
    before = set(sys.modules)
    assert f(np.zeros(1000)) == 1000 and threading.active_count() == 1
    print(*sorted(name for name in set(sys.modules) - before if name.startswith("transpile.")))
    """
    # What few programs need comes with them.
    assert len(run(text, tmp_path).split()) < 12
    text = """
    f = transpile.jit(chain)
    assert not preloading._state.has_begun
    assert f(np.zeros(1000)) == 1000
    time.sleep(0.05)
    assert not is_there()
    transpile.jit(lambda x: x)
    wait()
    """
    assert run(text, tmp_path) == ""  # now the cache has one, but none for the other function


def test_a_function_whose_file_has_changed_is_compiled_again(tmp_path):
    """So the modules are imported, once for each change of the file."""
    module, cache = tmp_path / "edited.py", tmp_path / "cache"
    text = f"""
    from functools import partial
    sys.path.insert(0, {str(tmp_path)!r})
    import edited
    f = transpile.jit(edited.f if {{0}} else partial(edited.f, k=2))
    print(preloading._state.has_begun)
    assert f(np.zeros(1000)).shape == (1000,)
    """
    module.write_text("def f(x, k=1): return x + k")
    runs = partial(run, cache=cache, PYTHONDONTWRITEBYTECODE="1")
    assert [runs(text.format(whole)) for whole in (1, 0)] == ["True\n", "False\n"]
    for whole in (1, 0):
        module.write_text(f"def f(x, k=1): return x * {whole} - k")
        used, changed = time.time() - 100, time.time() - 50
        os.utime(module, (changed, changed))
        for entry in cache.iterdir():
            os.utime(entry, (used, used))
        assert [runs(text.format(whole)) for _ in range(2)] == ["True\n", "False\n"]


@pytest.mark.parametrize("variables", [{"TRANSPILE_PRELOAD": "0"}, {}])
def test_nothing_is_imported_where_nothing_is_compiled_or_it_is_not_wanted(tmp_path, variables):
    text = """
    if "TRANSPILE_PRELOAD" in os.environ:
        transpile.jit(chain)
    else:
        transpile.eval_shape(chain, np.ones(3)), transpile.xpr(chain, np.ones(3))
    time.sleep(0.05)
    assert not is_there() and not preloading._state.is_running
    """
    run(text, tmp_path, **variables)


def test_it_stops_between_modules(monkeypatch):
    state, imported = preloading._Preloading(), []

    def importing(name):
        imported.append(name)
        if len(imported) == 2:
            state.is_stopped = True
        raise ImportError(name)  # is left to whoever needs the module

    monkeypatch.setattr(preloading, "imported_beside", importing)
    state.run()
    assert imported == list(preloading.MODULES[:2]) and not state.is_running


def test_all_modules_exist():
    for name in preloading.MODULES:
        imports.imported_beside(name)
    assert set(preloading.MODULES) <= sys.modules.keys()


def test_a_failed_import_can_be_made_again(tmp_path, monkeypatch):
    package = tmp_path / "preloaded_package"
    package.mkdir()
    (package / "__init__.py").write_text("import preloaded_package.part\nraise OSError('once')\n")
    (package / "part.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(OSError, match="once"):
        imports.imported_beside("preloaded_package")
    assert not any(name.startswith("preloaded_package") for name in sys.modules)
    (package / "__init__.py").write_text("import preloaded_package.part\n")
    assert imports.imported("preloaded_package").part.value == 1


def test_forks_meanwhile(tmp_path):
    """At moments that are drawn: child and parent compile."""
    text = """
    draw = random.Random()
    for _ in range(TRIES):
        child = os.fork()
        if child == 0:
            signal.alarm(100)
            f = transpile.jit(chain)
            assert preloading._state.has_begun
            time.sleep(draw.random() * 0.2)
            grandchild = os.fork()
            if grandchild == 0:
                os._exit(0 if right(f) and not preloading._state.has_begun else 3)
            assert not preloading._state.is_running
            status = os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1])
            os._exit(status or (0 if right(f) else 4))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """
    run(text.replace("TRIES", str(tries(15))), tmp_path)


def test_the_process_ends_meanwhile(tmp_path):
    ends = ["", "sys.exit()", "os.kill(os.getpid(), signal.SIGTERM)", "transpile.nn"]
    for k in range(tries(12)):
        run(
            f"""
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            transpile.jit(chain)
            time.sleep({k % 8 * 0.02})
            {ends[k % len(ends)]}
            """,
            tmp_path,
        )


def test_interrupts_threads_and_imports_meanwhile(tmp_path):
    """An interrupt reaches the user's code; calls in several threads, and imports of what is being
    imported, wait for no longer than that takes. Python ignores an interrupt in a callback of its
    own, which leaves the lock of imports to the thread: then the next one reaches the code."""
    text = """
    def interrupt(*_):
        raise KeyboardInterrupt
    for _ in range(TRIES):
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, interrupt)
            signal.setitimer(signal.ITIMER_REAL, random.random() * 0.1, 1)
            try:
                f = transpile.jit(chain)
                import transpile.schedule, transpile.lower.kernels, transpile.nn
                time.sleep(2)
            except KeyboardInterrupt:
                pass
            except RuntimeError as error:  # around one in `__set_name__`, until Python 3.12
                assert isinstance(error.__cause__, KeyboardInterrupt)
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(60)
            f, found = transpile.jit(chain), []
            threads = [threading.Thread(target=lambda: found.append(right(f))) for _ in range(3)]
            [t.start() for t in threads], [t.join() for t in threads]
            os._exit(0 if found == [True] * 3 else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """
    # Python says which files and callbacks of its own were interrupted.
    run(text.replace("TRIES", str(tries(9))), tmp_path, is_silent=False)


def test_an_interrupt_in_pythons_import_leaves_its_lock_to_nobody():
    def attempt():
        importlib.import_module("colorsys")

    repairs = (
        preloading._Preloading().stop,
        lambda: preloading.begin(attempt),
        lambda: imports.importing(int),
    )
    for repair in repairs:
        _imp.acquire_lock()  # as where an interrupt comes directly behind
        _imp.acquire_lock()
        sys.modules.pop("colorsys", None)
        thread = threading.Thread(target=attempt)
        thread.start()
        repair()
        thread.join(60)
        assert "colorsys" in sys.modules and not _imp.lock_held()


def test_one_processor_is_the_users(tmp_path):
    text = """
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    transpile.jit(chain)
    time.sleep(0.05)
    assert not is_there()
    """
    run(text, tmp_path)


def test_threads_that_jit_at_once_begin_it_once(monkeypatch):
    state = preloading._Preloading()
    state.programs = {"chain": [__file__]}
    started = []
    monkeypatch.setattr(preloading, "_state", state)
    monkeypatch.setattr(preloading, "MODULES", ("not_there", "transpile.not_there", "not_there"))
    starting = SimpleNamespace(start_new_thread=lambda *args: started.append(args))
    monkeypatch.setattr(preloading, "_thread", starting)

    def chain(x):
        return x

    transpile.jit(chain)
    assert not started
    for _ in range(3):
        transpile.jit(lambda x: x + 1)
    assert len(started) == 1
