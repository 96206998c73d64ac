"""The log for people: a line for each event, that says what and why."""

import io
import logging
import subprocess
import sys

import numpy as np
import pytest
from places import importing

import transpile


@pytest.fixture
def stream():
    yield io.StringIO()
    transpile.log.disable()


def test_a_line_says_what_was_traced_and_why(stream, tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))
    scale = np.ones(3)

    @transpile.jit(static_argnames="kind")
    def logged(x, kind="a"):
        return x * 2.0 if kind == "a" else x + scale

    with transpile.log.enable(stream=stream):
        logged(np.ones(3))
        logged(np.ones(3))
        logged(np.ones((2, 3)))
        logged(np.asfortranarray(np.ones((2, 3))))
        logged(np.ones(3), kind="b")
        scale = np.full(3, 2.0)
        logged(np.ones(3), kind="b")
    logged(np.ones(5))
    lines = stream.getvalue().splitlines()
    traces = [line for line in lines if ": traced logged (" in line]
    ends = [line.partition(" operation")[2].partition(": ")[2] for line in traces]
    assert ends == [
        "it has not been traced before",
        "argument 'x': float64[3], then float64[2,3]",
        "static argument 'kind': not given, then 'b'",
        "'scale', which it reads besides its arguments, has changed",
    ]
    assert all("transpile: test_log.py:" in line for line in traces)
    built = [line for line in lines if ": logged: built in " in line]
    assert len(built) == 5 and "characters of C" in built[0]
    assert sum("lies in memory row by row, then column by column" in line for line in lines) == 1
    assert any(
        "miss: logged-" in line and "the first program of that name" in line for line in lines
    )


def test_a_program_from_the_cache_has_a_line(stream, shared_cache):
    def kept(x):
        return x - 1.0

    transpile.jit(kept)(np.ones(3))
    transpile.clear_caches()
    transpile.log.enable(stream=stream)
    transpile.jit(kept).lower(np.ones(3)).compile()
    assert "kept (test_log.py:" in stream.getvalue()
    assert ": loaded from the cache in " in stream.getvalue()


def test_integers_that_become_static_and_levels(stream):
    with transpile.log.enable("warning", stream=stream):
        transpile.jit(lambda n: np.array([0.5] * n)).trace(3)
    (line,) = stream.getvalue().splitlines()
    assert "transpile: warning: " in line and "static_argnames=['n']" in line


def test_it_ends_as_it_began(stream):
    logger = logging.getLogger("transpile")
    before = logger.level, list(logger.handlers)
    transpile.log.enable("debug", stream=stream)
    transpile.log.enable(stream=stream)
    assert len(logger.handlers) == len(before[1]) + 1 and logger.level == logging.INFO
    transpile.log.disable()
    assert (logger.level, logger.handlers) == before
    with pytest.raises(ValueError, match="is one of info, debug, warning, not 'all'"):
        transpile.log.enable("all")


def test_the_environment_asks_for_it():
    code = "import numpy, transpile; transpile.jit(lambda x: x + 1).trace(numpy.ones(3))"
    variables = {**importing(), "TRANSPILE_LOG": "info"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert done.stderr.count("has not been traced before\n") == 1


def test_words_of_the_environment(monkeypatch):
    logger = logging.getLogger("transpile")
    for word in ("0", ""):
        monkeypatch.setenv("TRANSPILE_LOG", word)
        transpile.log.begin_as_asked()
        assert not any(type(h).__module__ == "transpile.log" for h in logger.handlers)
    monkeypatch.setenv("TRANSPILE_LOG", "loud")
    with pytest.raises(ValueError, match="takes info, debug, warning or 0, not 'loud'"):
        transpile.log.begin_as_asked()
