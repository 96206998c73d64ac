"""Lines of the log, which reach those who listen and cost nothing where nobody does."""

import logging
import subprocess
import sys

from transpile.util.lazy.loggers import Log


def test_lines_reach_the_logger_of_that_name(caplog):
    log = Log("transpile.something")
    with caplog.at_level(logging.INFO, logger="transpile.something"):
        assert log.hears_information()
        log.debug("not %s", "this")
        log.info("a %s", "hint")
        log.warning("a warning")
    assert [r.getMessage() for r in caplog.records] == ["a hint", "a warning"]
    assert {r.name for r in caplog.records} == {"transpile.something"}
    with caplog.at_level(logging.WARNING, logger="transpile.something"):
        assert not log.hears_information()


def test_logging_is_imported_for_a_warning_only():
    code = """
import sys
from transpile.util.lazy.loggers import Log
log = Log("transpile")
log.debug("x"), log.info("y"), log.hears_information()
assert "logging" not in sys.modules
log.warning("careful")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "careful\n"
