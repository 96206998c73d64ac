"""Functions whose files have changed: what is compiled is what Python runs."""

import importlib
import linecache
import os
import sys

import numpy as np
import pytest

import transpile

TEXT = """\
def f(x):
    total = 0.0
    for value in x:
        if value > 0:
            total += {}
    return total
"""
X = np.array([1.0, -2.0, 3.0])


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes the module, as if some time after the last time."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    times = iter(range(10))

    def write(expression):
        path = tmp_path / "module_that_changes.py"
        path.write_text(TEXT.format(expression))
        os.utime(path, (10_000 * next(times),) * 2)
        importlib.invalidate_caches()

    yield write
    sys.modules.pop("module_that_changes", None)


def test_a_module_that_is_loaded_again_is_converted_anew(module):
    module("value")
    loaded = importlib.import_module("module_that_changes")
    assert transpile.jit(loaded.f)(X) == 4.0
    module("value * value")  # lines and name stay
    again = importlib.reload(loaded)
    assert transpile.jit(again.f)(X) == again.f(X) == 10.0


def test_a_file_that_has_changed_since_is_not_what_runs(module):
    module("value")
    loaded = importlib.import_module("module_that_changes")
    linecache.getlines(loaded.__file__)
    module("value * value")
    assert transpile.jit(loaded.f)(X) == loaded.f(X) == 4.0


def test_a_file_that_changed_before_it_was_read_is_an_error(module):
    module("value")
    loaded = importlib.import_module("module_that_changes")
    linecache.clearcache()
    module("value * value")
    changed = "module_that_changes.py:1 does not have it any more: the file has changed since"
    with pytest.raises(transpile.errors.TracerBoolConversionError) as caught:
        transpile.jit(loaded.f)(X)
    assert changed in "\n".join(caught.value.__notes__)
