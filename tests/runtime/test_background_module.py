"""The C module of calls is built in the background: no call waits for its compiler."""

import os
import shlex
import subprocess
import sys
import textwrap
import time

import pytest
from child_processes import children
from interrupted import Interrupter
from thorough import thorough

from transpile.build import toolchain
from transpile.build.commands import running
from transpile.errors import CompilationError
from transpile.options import Options
from transpile.runtime import fast_call

pytestmark = pytest.mark.skipif(
    bool(fast_call._why_unavailable()), reason="there are no headers to build the module with"
)

BEGIN = """
import os, sys, time
import numpy as np
import transpile
from transpile.runtime import fast_call

f = transpile.jit(lambda x: x * 2 + 1)
x = np.arange(5.0)

def call(number):
    for _ in range(number):
        assert (f(x) == x * 2 + 1).all()

def is_in_c():
    return "Caller" in type(f.__call__).__name__

def until_in_c(seconds=60):
    until = time.monotonic() + seconds
    while not is_in_c():
        call(100)
        assert time.monotonic() < until
        time.sleep(0.01)

call(101)  # the first one traces
"""


@pytest.fixture
def compiler(tmp_path):
    """A compiler that takes long for the module, or fails; files say which and note the process."""
    real = shlex.join(toolchain.find_compiler(Options()).command)
    path = tmp_path / "compiler"
    path.write_text(
        f"""#!/bin/sh
case "$*" in *call.so*)
    if test -e {tmp_path}/slow; then sleep 60 & echo $$ $! >> {tmp_path}/pids; wait; fi
    if test -e {tmp_path}/broken; then echo broken; exit 1; fi;;
esac
exec {real} "$@"
"""
    )
    path.chmod(0o755)
    return str(path)


def start(compiler, tmp_path, code, *switches):
    """A process that runs the code after a hundred calls, with an empty cache."""
    environment = {n: v for n, v in os.environ.items() if n != "TRANSPILE_CALLS"}
    environment |= {"TRANSPILE_CC": compiler, "TRANSPILE_CACHE_DIR": str(tmp_path / "cache")}
    words = [sys.executable, *switches, "-c", BEGIN + textwrap.dedent(code)]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, env=environment, stdout=pipe, stderr=pipe, text=True)


def output(process):
    try:
        said, errors = process.communicate(timeout=100)
    finally:
        process.kill()
    assert (process.returncode, errors) == (0, "")
    return said


def compilers_are_gone(tmp_path):
    """Whether the slow compilers, which there were, have been ended."""
    until = time.monotonic() + 5
    processes = (tmp_path / "pids").read_text().split()
    while any(os.path.exists(f"/proc/{process}") for process in processes):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return bool(processes)


STRICT = ("-X", "dev", "-W", "error")


def test_calls_go_on_in_python_and_then_in_c(compiler, tmp_path):
    code = """
    assert not is_in_c()
    until_in_c()
    call(500)
    print(os.listdir(os.environ["TRANSPILE_CACHE_DIR"] + "/building"))
    """
    assert output(start(compiler, tmp_path, code, *STRICT)) == "[]\n"
    assert len(list((tmp_path / "cache").glob("transpile_call-*/call.so"))) == 1
    again = "assert is_in_c()"  # the hundredth call loads the module
    assert output(start(compiler, tmp_path, again, *STRICT)) == ""


@thorough
def test_a_process_that_ends_soon_leaves_the_module_to_the_next(compiler, tmp_path):
    assert output(start(compiler, tmp_path, "assert not is_in_c()", *STRICT)) == ""
    assert len(list((tmp_path / "cache").glob("transpile_call-*/call.so"))) == 1
    assert os.listdir(tmp_path / "cache/building") == []
    assert output(start(compiler, tmp_path, "assert is_in_c()", *STRICT)) == ""


def test_no_call_waits_for_a_slow_compiler(compiler, tmp_path):
    (tmp_path / "slow").touch()
    code = """
    fast_call._LONGEST_END = 0.5
    begin = time.monotonic()
    call(5000)
    assert not is_in_c() and time.monotonic() - begin < 20
    """
    assert output(start(compiler, tmp_path, code, *STRICT)) == ""
    assert compilers_are_gone(tmp_path)  # with the process
    assert os.listdir(tmp_path / "cache/building") == []


@thorough
def test_a_forked_child_leaves_the_compiler_to_its_parent(compiler, tmp_path):
    code = """
    import warnings
    child = os.fork()
    if child == 0:
        until_in_c()
        sys.exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    until_in_c()
    gone = os.fork()
    if gone == 0:
        sys.exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(gone, 0)[1]) == 4
    print(os.listdir(os.environ["TRANSPILE_CACHE_DIR"] + "/building"))
    """
    assert output(start(compiler, tmp_path, code, *STRICT)) == "[]\n"


def test_a_child_that_ends_at_once_does_not_end_the_compiler(compiler, tmp_path):
    (tmp_path / "slow").touch()
    code = f"""
    fast_call._LONGEST_END = 0.5
    pids = {str(tmp_path / "pids")!r}
    while not (os.path.exists(pids) and open(pids).read().strip()):
        time.sleep(0.01)
    if (child := os.fork()) == 0:
        sys.exit(0)
    os.waitpid(child, 0)
    for process in open(pids).read().split():
        os.kill(int(process), 0)  # it is there
    print("there")
    """
    assert output(start(compiler, tmp_path, code)) == "there\n"
    assert compilers_are_gone(tmp_path)


@thorough
def test_processes_that_start_together(compiler, tmp_path):
    started = [start(compiler, tmp_path, "until_in_c()") for _ in range(3)]
    assert [output(process) for process in started] == [""] * 3
    assert len(list((tmp_path / "cache").glob("transpile_call-*"))) == 1
    assert os.listdir(tmp_path / "cache/building") == []


def test_a_program_that_waits_for_its_children(compiler, tmp_path):
    """It takes the compiler's end away from it, and then the module is built once more."""
    code = """
    import warnings
    os.wait()
    until_in_c()
    """
    assert output(start(compiler, tmp_path, code)) == ""


def test_a_compiler_that_fails(compiler, tmp_path):
    (tmp_path / "broken").touch()
    code = """
    import logging
    logging.basicConfig(stream=sys.stdout, format="%(name)s %(message).60s")
    logging.getLogger("transpile").setLevel(logging.INFO)
    until = time.monotonic() + 30
    from transpile.runtime import fast_call
    while not fast_call._modules:
        call(100)
        assert time.monotonic() < until
    call(1000)
    assert not is_in_c()
    """
    said = [s for s in output(start(compiler, tmp_path, code)).splitlines() if ".cache" not in s]
    (line,) = said
    assert line.startswith("transpile calls are made in Python: the C compiler failed")


@pytest.fixture
def fresh(monkeypatch):
    """The state of a process that has no module yet, to which everything is built in the
    background."""
    OTHERS.clear()
    OTHERS.update(children())
    monkeypatch.setattr(fast_call, "_modules", [])
    monkeypatch.setattr(fast_call, "in_background", True)
    return monkeypatch


# Those of others: the trackers of packages that an earlier test in this process has used.
OTHERS = set()


def no_child():
    assert not children() - OTHERS


def settled():
    until = time.monotonic() + 10
    while not fast_call.is_there():
        assert time.monotonic() < until
        time.sleep(0.002)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of what was being opened
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_moment(fresh, tmp_path):
    def loading(*, alone):
        yield from running(["/bin/sleep", "0.01"], tmp_path)
        return "module"

    fresh.setattr(fast_call, "_loading", loading)

    class Inside(Interrupter):
        """Interrupts at the events of some modules."""

        def __call__(self, frame, event, argument):
            if os.path.basename(frame.f_code.co_filename) in ("fast_call.py", "commands.py"):
                super().__call__(frame, event, argument)

    interrupts = 0
    for point in range(400):
        fast_call._modules.clear()
        interrupter = Inside(point)
        sys.setprofile(interrupter)
        try:
            settled()
        except KeyboardInterrupt:
            interrupts += 1
        finally:
            sys.setprofile(None)
        settled()
        assert fast_call._modules == ["module"] and not fast_call._under_way
        no_child()
        if interrupter.count <= point:
            break
    assert interrupts > 30


def test_who_cannot_wait_any_longer_builds_it(fresh, tmp_path):
    def loading(*, alone):
        yield from running(["/bin/sleep", "0.01" if alone else "60"], tmp_path)
        return alone

    fresh.setattr(fast_call, "_loading", loading)
    assert not fast_call.is_there() and not fast_call.is_there()
    assert fast_call.module() is True and not fast_call._under_way
    no_child()


def test_an_error_at_once(fresh):
    def loading(*, alone):
        raise CompilationError("no")
        yield

    fresh.setattr(fast_call, "_loading", loading)
    assert fast_call.is_there() and fast_call.module() is None
