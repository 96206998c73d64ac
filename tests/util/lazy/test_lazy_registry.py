"""Tables that are filled when something is looked for in vain."""

import subprocess
import sys
import threading
import time

import pytest

from transpile.util.lazy.registry import Rest, Table


@pytest.fixture
def table():
    """A table with one entry, and another that comes with the rest."""
    rest = Rest()
    table = Table(rest)
    table.loads = 0

    def load():
        table.loads += 1
        assert table.get("nowhere") is None  # what is looked for meanwhile is there or not
        table["late"] = 2

    rest.comes_from(load)
    table["early"] = 1
    return table


def test_what_is_there_is_found_at_once(table):
    assert table["early"] == 1 and table.get("early") == 1 and "early" in table
    assert table.has("early") and not table.has("late")
    assert table.loads == 0


@pytest.mark.parametrize(
    "look",
    [
        lambda t: t["late"] == 2,
        lambda t: t.get("late") == 2,
        lambda t: "late" in t,
        lambda t: list(t) == ["early", "late"],
        lambda t: len(t) == 2,
        lambda t: dict(t) == {"early": 1, "late": 2},
        lambda t: list(t.values()) == [1, 2],
        lambda t: list(t.keys()) == ["early", "late"],
        lambda t: list(t.items()) == [("early", 1), ("late", 2)],
        lambda t: t.get("never", 5) == 5,
    ],
)
def test_the_rest_comes_when_it_is_looked_for(table, look):
    assert look(table) and look(table)
    assert table.loads == 1


def test_what_is_nowhere_is_a_key_error(table):
    with pytest.raises(KeyError, match="never"):
        table["never"]


def test_a_failure_to_load_is_tried_again():
    rest = Rest()
    table = Table(rest)
    attempts = []

    def load():
        attempts.append(1)
        if len(attempts) == 1:
            raise ImportError("not now")
        table["late"] = 2

    rest.comes_from(load)
    with pytest.raises(ImportError):
        table["late"]
    assert table["late"] == 2 and len(attempts) == 2


def test_other_threads_wait_for_the_rest():
    rest = Rest()
    table = Table(rest)

    def load():
        time.sleep(0.05)
        table["late"] = 2

    rest.comes_from(load)
    found = []
    threads = [threading.Thread(target=lambda: found.append(table.get("late"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2] * 4


def test_rare_rows_are_imported_when_they_are_looked_for():
    code = """
import sys
import numpy as np
import transpile
from transpile.ir.primitive import TABLE
transpile.make_jaxpr(lambda x: np.exp(x).sum())(np.zeros(3))
assert "transpile.primitives.control.primitives" not in sys.modules
assert TABLE["scan"].kind == "control"
assert "transpile.primitives.special.primitives" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rare_rows_are_not_imported_for_c():
    code = """
import sys
import numpy as np
import transpile
transpile.jit(lambda x: np.exp(x).sum() < 3).lower(np.zeros(3)).as_text()
assert "transpile.primitives.special.primitives" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
