"""A compiler that takes too long is stopped, and started again with fewer optimizations."""

import logging
import os
import shlex
import subprocess
import sys
import time

import numpy as np
import pytest

import transpile
from transpile.build import commands, toolchain
from transpile.build.commands import TimeLimitError, finished, processor_seconds, running
from transpile.codegen import compile_budget
from transpile.options import Options

pytestmark = pytest.mark.full_level

X = np.linspace(0, 1, 70)
IS_GCC = toolchain.find_compiler(Options()).kind == "gcc"


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """An empty cache."""
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def slow_at(monkeypatch, tmp_path):
    """Make the compiler sleep for a program at these levels of optimization."""
    real = shlex.join(toolchain.find_compiler(Options()).command)

    def install(*levels, file="entry.c"):
        path = tmp_path / "slow"
        path.write_text(
            f"""#!/bin/sh
for word in "$@"; do case $word in -O*) level=$word;; {file}) program=1;; esac; done
case "$program$level" in {"|".join(f"1{level}" for level in levels)})
    sleep 60 & echo $$ $! >> {tmp_path}/pids; wait;;
esac
exec {real} "$@"
"""
        )
        path.chmod(0o755)
        monkeypatch.setenv("TRANSPILE_CC", str(path))
        monkeypatch.setattr(commands, "_CLOCK", 4.0)  # a compiler that sleeps takes no processor
        return lambda: (tmp_path / "pids").read_text().split()

    return install


def are_gone(processes):
    """Whether none of them runs any more; a zombie has yet to be buried by whom it belongs to."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        states = []
        for process in processes:
            if os.path.exists(f"/proc/{process}/stat"):
                with open(f"/proc/{process}/stat") as file:
                    states.append(file.read().rpartition(")")[2].split()[0])
        if set(states) <= {"Z"}:
            return True
        time.sleep(0.02)
    return False


def build(function=lambda x: np.tanh(x) * 2 + x @ x, **options):
    return transpile.jit(function, compiler_options=options).lower(X).compile()


@pytest.mark.parametrize(
    ("levels", "retreats", "final"), [(["-O3"], 1, "-O1"), (["-O3", "-O1"], 2, "-O0")]
)
def test_a_slow_compiler(slow_at, monkeypatch, caplog, levels, retreats, final):
    processes = slow_at(*levels)
    monkeypatch.setenv("TRANSPILE_COMPILE_SECONDS", "0.3")

    def useful(x):
        return np.tanh(x) * 2

    begin = time.monotonic()
    compiled = build(useful)
    assert time.monotonic() - begin < 50
    np.testing.assert_allclose(compiled(X), useful(X), rtol=1e-14)
    info = compiled.build_info()
    assert info.retreats == retreats
    assert [f for f in info.flags if f.startswith("-O")][-1] == final
    assert info.compile_seconds > 4 * 0.3 * retreats
    stopped = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert len(stopped) == retreats
    assert all(
        r.name == "transpile.build" and "useful: the C compiler was stopped" in r.getMessage()
        for r in stopped
    )
    assert final in stopped[-1].getMessage()
    assert len(processes()) == 2 * retreats and are_gone(processes())
    assert "ymm" not in compiled.as_text("asm")  # of the flags that it was compiled with


def test_beside_other_compilers(slow_at, monkeypatch):
    """The limit is also that of a compiler which runs while that of a large helper does."""
    processes = slow_at("-O3")
    monkeypatch.setenv("TRANSPILE_COMPILE_SECONDS", "0.3")
    square = np.ones((70, 70))
    compiled = transpile.jit(lambda x: x @ x).lower(square).compile()
    np.testing.assert_array_equal(compiled(square), square @ square)
    assert compiled.build_info().retreats == 1 and are_gone(processes())


def test_large_helpers_have_no_limit(monkeypatch):
    """They are the same in all programs, so that nothing is known against them."""
    monkeypatch.setenv("TRANSPILE_COMPILE_SECONDS", "0.001")
    square = np.ones((70, 70))
    compiled = transpile.jit(lambda x: x @ x).lower(square).compile()
    np.testing.assert_array_equal(compiled(square), square @ square)
    assert compiled.build_info().retreats == 2


def test_a_saved_program(slow_at, monkeypatch, tmp_path):
    slow_at("-O3", file="program.c")
    monkeypatch.setenv("TRANSPILE_COMPILE_SECONDS", "0.3")
    begin = time.monotonic()
    assert transpile.jit(lambda x: x + 1).lower(X).save(tmp_path / "saved")
    assert time.monotonic() - begin < 50


def test_what_gave_optimizations_up_is_compiled_again_where_there_is_more_time(monkeypatch):
    def found():
        info = build(lambda x: x * 3).build_info()
        return info.retreats, info.from_cache

    monkeypatch.setenv("TRANSPILE_COMPILE_SECONDS", "0.001")
    assert [found(), found()] == [(2, False), (2, True)]
    monkeypatch.setenv("TRANSPILE_COMPILE_SECONDS", "0.002")
    assert [found(), found()] == [(2, False), (2, True)]
    monkeypatch.setenv("TRANSPILE_COMPILE_SECONDS", "0.001")
    assert found() == (2, True)
    monkeypatch.setenv("TRANSPILE_COMPILE_SECONDS", "0")
    assert [found(), found()] == [(0, False), (0, True)]
    monkeypatch.setenv("TRANSPILE_COMPILE_SECONDS", "0.001")
    assert found() == (0, True)  # better than what there would be time for


def test_no_optimizations_are_not_given_up(monkeypatch):
    monkeypatch.setenv("TRANSPILE_COMPILE_SECONDS", "0.001")
    assert build(opt_level=0).build_info().retreats == 0


@pytest.mark.parametrize("text", ["soon", "-1", "nan"])
def test_what_is_no_number_of_seconds(monkeypatch, text):
    monkeypatch.setenv("TRANSPILE_COMPILE_SECONDS", text)
    with pytest.raises(ValueError, match=f"takes a number of seconds, not '{text}'"):
        build()


def test_the_limit(monkeypatch):
    for text, seconds in {"": 30, "0": 0, "2.5": 2.5, "inf": 0}.items():
        monkeypatch.setenv("TRANSPILE_COMPILE_SECONDS", text)
        assert toolchain.time_limit() == seconds


@pytest.mark.skipif(not IS_GCC, reason="flags of gcc")
@pytest.mark.parametrize("effort", ["usual", "long", "huge"])
def test_the_flags_of_a_retreat_come_last(effort):
    compiler = toolchain.find_compiler(Options())
    for asked in (
        Options(),
        Options(opt_level=1),
        Options(extra_cflags=("-O3", "-ftree-vectorize")),
    ):
        usual = toolchain.flags(compiler, asked, effort)
        for retreat in range(1, compile_budget.MOST_RETREATS + 1):
            added = compile_budget.retreat_flags("gcc", retreat)
            flags = toolchain.flags(compiler, asked, effort, (), retreat)
            assert flags == (*usual[:-1], *added, usual[-1])


BUSY = "import time, sys\nwhile time.process_time() < float(sys.argv[1]): pass"


def test_processor_seconds_of_a_group():
    with subprocess.Popen([sys.executable, "-c", BUSY, "60"], process_group=0) as process:
        until = time.monotonic() + 60
        while processor_seconds(process.pid) < 0.3:
            assert time.monotonic() < until
            time.sleep(0.01)
        process.kill()
    assert processor_seconds(process.pid) == 0


def test_the_limit_is_one_of_processor_seconds(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "_CLOCK", 1000.0)
    assert finished(running(["/bin/sleep", "0.5"], tmp_path, 0.1)) == (0, "")
    begin = time.monotonic()
    with pytest.raises(TimeLimitError):
        finished(running([sys.executable, "-c", BUSY, "60"], tmp_path, 0.2))
    assert time.monotonic() - begin >= 0.2


def test_a_command_within_its_limit(tmp_path):
    assert finished(running(["/bin/echo", "a"], tmp_path, 10.0)) == (0, "a\n")
    with pytest.raises(TimeLimitError, match=r"/bin/sleep took more than 0\.05 s"):
        finished(running(["/bin/sleep", "60"], tmp_path, 0.05))
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
