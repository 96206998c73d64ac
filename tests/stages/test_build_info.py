"""What it took to build a program: of the stages, of the cache, of the logger."""

import json
import logging
import os
import pickle
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

import transpile
from transpile.build import driver, stopwatch
from transpile.build.stopwatch import Stopwatch

PROGRAM = """
import dataclasses, json, logging
import numpy as np
import transpile

logging.basicConfig(level=logging.INFO)

def doubled(x):
    return np.tanh(x) * 2

info = transpile.jit(doubled).lower(np.ones(5)).compile().build_info()
print(json.dumps(dataclasses.asdict(info)))
"""


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """An empty cache."""
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))


def in_a_process():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout), done.stderr


def test_a_later_process_tells_what_the_first_one_needed():
    """Where the second one builds again, its log says by which ingredient its key differs."""
    (first, _), (second, log) = in_a_process(), in_a_process()
    assert (first.pop("from_cache"), second.pop("from_cache")) == (False, True), log
    assert first == second


def test_the_phases_of_a_build():
    def slow(x):
        time.sleep(0.2)
        return np.tanh(x) + 3

    begin = time.perf_counter()
    compiled = transpile.jit(slow).lower(np.ones(7)).compile()
    total = time.perf_counter() - begin
    info = compiled.build_info()
    phases = (info.lower_seconds, info.render_seconds, info.compile_seconds)
    assert info.trace_seconds >= 0.2 and all(seconds > 0 for seconds in phases)
    assert info.trace_seconds + sum(phases) < total
    assert info.c_size == len(compiled.as_text("c").encode())
    (command,) = info.commands
    assert "entry.c" in command and all(flag in command.split() for flag in info.flags)
    assert str(os.environ["TRANSPILE_CACHE_DIR"]) not in command


def test_the_program_is_from_the_cache_for_another_function():
    def twice():
        return transpile.jit(lambda x: x * 2 + 1).lower(np.ones(3)).compile().build_info()

    first, second = twice(), twice()
    assert not first.from_cache and second.from_cache
    assert second.trace_seconds == first.trace_seconds  # of the process that built it


def test_a_stage_that_was_pickled():
    traced = transpile.jit(lambda x: x - 4).trace(np.ones(3))
    compiled = pickle.loads(pickle.dumps(traced)).lower().compile()
    assert compiled.build_info().trace_seconds == 0
    again = pickle.loads(pickle.dumps(compiled)).build_info()
    assert again.from_cache and again.compile_seconds == compiled.build_info().compile_seconds


def test_other_compiler_options():
    lowered = transpile.jit(lambda x: x - 5).lower(np.ones(3))
    info = lowered.compile({"opt_level": 0}).build_info()
    assert "-O0" in info.flags and info.trace_seconds > 0


def test_the_time_inside_another_phase_counts_once(monkeypatch):
    moments = iter((1, 3, 10, 14, 30, 50))  # the outer phase begins at 1 and ends at 50
    monkeypatch.setattr(stopwatch, "time", SimpleNamespace(perf_counter=lambda: next(moments)))
    watch = Stopwatch(outer=0.0)
    with watch.phase("outer"):
        for _ in range(2):
            with watch.phase("inner"):
                pass
    assert watch.seconds == {"inner": 7 + 16, "outer": 2 + 4 + 20}


def test_each_build_is_logged_and_a_slow_compiler_is_told_of(caplog, monkeypatch):
    def logged(number):
        def named(x):
            return x + number

        caplog.clear()
        with caplog.at_level(logging.INFO, "transpile.build"):
            for _ in range(2):
                transpile.jit(named).lower(np.ones(3)).compile()
        return [(r.levelname, r.getMessage()) for r in caplog.records if "build" in r.name]

    (level, text), *none = logged(1)
    assert level == "INFO" and not none
    assert text.startswith("named: built in ") and "compile " in text
    monkeypatch.setattr(driver, "_SLOW", 0.001)
    found = logged(2)
    assert [level for level, _ in found] == ["INFO", "WARNING"]
    assert found[1][1].startswith("named: the C compiler took 0 s for ")
