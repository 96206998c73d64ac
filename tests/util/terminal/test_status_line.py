"""What a terminal, and a notebook, show while a compiler works; and that others show nothing."""

import io
import os
import pty
import re
import shlex
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import transpile
from transpile.build import toolchain
from transpile.options import Options
from transpile.util.terminal import status_line

DRAWN = re.compile(r"\r\x1b\[Ktranspile: compiling waited_for, [\d,]+ characters of C, \d+ s")


@pytest.fixture
def slow(monkeypatch, tmp_path):
    """A compiler that takes half a second, and a line that is drawn after a tenth of one."""
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))
    real = shlex.join(toolchain.find_compiler(Options()).command)
    path = tmp_path / "slow"
    path.write_text(f'#!/bin/sh\ncase "$*" in *entry.c*) sleep 0.4;; esac\nexec {real} "$@"\n')
    path.chmod(0o755)
    monkeypatch.setenv("TRANSPILE_CC", str(path))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(status_line, "_PATIENCE", 0.1)
    monkeypatch.setattr(status_line, "_EVERY", 0.1)


class Terminal:
    """A terminal, which `begin` makes standard error: pytest sets that at the beginning of a test,
    after its fixtures."""

    def __init__(self, monkeypatch):
        self._patch = monkeypatch
        self._ours, theirs = pty.openpty()
        self._stream = os.fdopen(theirs, "w")

    def begin(self):
        self._patch.setattr(sys, "stderr", self._stream)

    def written(self):
        """What has been written to it since this was asked."""
        self._stream.write("\0")
        self._stream.flush()
        text = ""
        while not text.endswith("\0"):
            text += os.read(self._ours, 65536).decode()
        return text[:-1]

    def close(self):
        self._stream.close()
        os.close(self._ours)


@pytest.fixture
def terminal(monkeypatch):
    found = Terminal(monkeypatch)
    yield found
    found.close()


def compile_one(**options):
    def waited_for(x):
        return x * 2.0

    return transpile.jit(waited_for, compiler_options=options).lower(np.ones(3)).compile()


@pytest.mark.parametrize("limit", ["30", "0"])
def test_a_terminal_shows_a_line_which_goes(slow, terminal, monkeypatch, limit):
    monkeypatch.setenv("TRANSPILE_COMPILE_SECONDS", limit)
    terminal.begin()
    compile_one()
    text = terminal.written()
    assert len(DRAWN.findall(text)) >= 2
    rest = re.sub(r"\r\x1b\[Ktranspile: (tracing|preparing) waited_for[^\r]*\r\x1b\[K", "", text)
    assert rest.endswith("\r\x1b[K") and DRAWN.sub("", rest) == "\r\x1b[K"
    compile_one()  # from the cache
    assert terminal.written() == ""


def test_phases_in_python_are_one_wait_with_the_compiler_s(terminal, monkeypatch, tmp_path):
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(status_line, "_PATIENCE", 0.0)
    monkeypatch.setattr(status_line, "_EVERY", 0.02)
    monkeypatch.setattr(status_line._wait, "line", None)  # of another test
    terminal.begin()

    def long(x):
        for k in range(150):
            x = np.sin(x) * k + np.cos(x[::-1]) / (k + 1)
        return x

    transpile.jit(long, python_control_flow=False)(np.ones(20))
    text = terminal.written()
    drawn = re.findall(r"transpile: (\w+) long([^\r]*), \d+ s", text)
    assert [phase for phase, _ in drawn[:1]] == ["tracing"]
    assert {"tracing", "preparing", "compiling"} == {phase for phase, _ in drawn}
    assert any(re.fullmatch(r", [\d,]+ operations", text) for _, text in drawn)
    assert status_line._wait.line is None  # the compiler was the last of that wait


def test_nothing_is_shown_elsewhere(slow, terminal, monkeypatch):
    terminal.begin()
    thread = threading.Thread(target=compile_one, kwargs={"opt_level": 1})
    thread.start()
    thread.join()
    monkeypatch.setenv("TRANSPILE_PROGRESS", "0")
    compile_one(opt_level=2)
    monkeypatch.delenv("TRANSPILE_PROGRESS")
    monkeypatch.setenv("TERM", "dumb")
    compile_one(fast_math=True)
    assert terminal.written() == ""
    for stream in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        with status_line.waiting("anything"):
            assert not status_line.is_waiting()
    assert not status_line._lines


def test_a_forked_child_draws_and_erases_nothing(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(status_line, "_PATIENCE", 0.0)
    terminal.begin()
    with status_line.waiting("a child"):
        status_line.tick()
        before = terminal.written()
        monkeypatch.setattr(os, "getpid", lambda: -1)
        status_line._lines[-1]._next = 0.0
        status_line.tick()
        status_line._lines[-1].erase()
        assert terminal.written() == "" and "a child" in before
        monkeypatch.undo()


def test_a_long_text_is_cut_to_the_width(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(status_line, "_PATIENCE", 0.0)
    terminal.begin()
    with status_line.waiting("a\nb" * 100):
        status_line.tick()
    assert "\n" not in terminal.written()


def test_a_notebook_shows_it_in_the_cell(slow, monkeypatch):
    """By IPython's interface; here are only the three functions of it that are called."""
    shown = []

    class Cell:
        def update(self, data, raw):
            shown.append(data)

    def display(data, raw, display_id):
        assert raw and display_id is True
        shown.append(data)
        return Cell()

    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    compile_one()
    # On a busy machine the phases before the compiler's take long enough to be shown, too.
    assert any("compiling waited_for" in data["text/plain"] for data in shown)
    assert shown[-1] == {"text/plain": "", "text/html": ""}
