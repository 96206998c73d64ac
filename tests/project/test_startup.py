"""What a new process imports: little for `import transpile`, and little more for a warm first call.

Times depend on the machine; benchmarks/startup.py measures them.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from thorough import one_in

from benchmarks import startup, startup_parts

ROOT = Path(__file__).parents[2]
# Of the standard library and of others: each takes milliseconds, and is for something rare.
HEAVY = {
    *(
        "asyncio",
        "bz2",
        "cffi",
        "concurrent",
        "decimal",
        "difflib",
        "email",
        "fractions",
        "hashlib",
    ),
    *("jinja2", "logging", "lzma", "ml_dtypes", "multiprocessing", "numpy.ma", "numpy.testing"),
    *("platform", "pycparser", "random", "scipy", "shutil", "ssl", "subprocess", "tempfile"),
    *("unittest", "xml", "zipfile"),
}
# Of transpile: what few programs use, and what a program from the cache does without.
LATER = {
    *("build.driver", "codegen.render", "functional", "fusion", "lax", "lower", "nn"),
    *("numpy.linalg", "numpy.order", "passes", "primitives.control", "primitives.special"),
    *("random", "schedule", "scipy", "test_util"),
}
FIRST_CALL = """
import sys
import numpy as np
before = set(sys.modules)
import transpile
if sys.argv[1] == "call":
    transpile.jit(lambda x: np.exp(x - x.max()).sum())(np.ones(1000))
print(*sorted(set(sys.modules) - before))
"""


def imported(tmp_path, what):
    """The modules that a new process imports after NumPy."""
    environment = {**os.environ, "TRANSPILE_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALL, what],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def unwanted(modules):
    return sorted((HEAVY | {f"transpile.{name}" for name in LATER}) & modules)


@pytest.mark.parametrize("name", sorted(LATER))
def test_what_is_imported_later_exists(name):
    assert importlib.util.find_spec(f"transpile.{name}")


def test_the_import_brings_nothing_that_is_rarely_used(tmp_path):
    found = imported(tmp_path, "import")
    assert not unwanted(found)
    assert "transpile.runtime.executable" not in found and "json" not in found
    assert "transpile.dispatch.jitted" in found


def test_a_first_call_from_the_cache_brings_no_more_than_what_loads_it(tmp_path):
    cold = imported(tmp_path, "call")
    assert {"transpile.codegen.render", "subprocess"} <= cold
    imported(tmp_path, "call")  # keeps the digest of transpile, if a file of it has just changed
    warm = imported(tmp_path, "call")
    assert not unwanted(warm)
    assert "transpile.runtime.executable" in warm


def test_the_benchmark_measures_what_there_is(monkeypatch, capsys):
    assert {"usual", "further", "gradient"} <= set(startup.contestants([]))
    times = {
        "usual": {"cold": [(0.1, 0.02, 0.5)] * 2, "warm": [(0.1, 0.03, 0.01), (0.2, 0.02, 0.03)]}
    }
    title, line = startup.table(times)
    assert title.split() == ["ms", "NumPy", "package", "first,", "cold", "first,", "warm"]
    assert line.split()[:7] == ["usual", "100.0", "(150.0)", "20.0", "(25.0)", "500.0", "(500.0)"]
    for package, imports, first in startup.PROGRAMS.values():
        if package == "transpile":
            scope = {"np": np, "X": np.ones(1000)}
            exec(imports, scope)
            assert np.isfinite(eval(first, scope)).all()
    # Processes, cold and warm ones, for one program.
    monkeypatch.setattr(startup, "contestants", lambda pythons: {"usual": sys.executable})
    monkeypatch.setattr(sys, "argv", ["startup", "--rounds", "1"])
    startup.main()
    assert [row.split()[0] for row in capsys.readouterr().out.splitlines()] == ["ms", "usual"]


def test_each_part_of_the_start_up_machinery_is_measured():
    """What a copy has in its place is there; only `util/__init__.py` says what it saves."""
    page = importlib.import_module("transpile.util").__doc__
    for part, (module, text) in startup_parts.PARTS.items():
        names = vars(importlib.import_module(f"transpile.util.{module}"))
        compile(text, part, "exec")
        assert part in (*names, module), part
        assert f"{module}.{part} " in page or f"    {module} " in page, part
    times = {"transpile": [(0.1, 0.02, 0.5)] * 3, "hashing": [(0.103, 0.02, 0.499)] * 3}
    title, own, hashing = startup_parts.table(times)
    assert title.split() == ["ms", "import", "first", "to", "C"]
    assert own.split() == ["transpile", "100.0", "20.0", "500.0"]
    assert hashing.split() == ["hashing", "+3.0", "+0.0", "-1.0"]


@pytest.mark.parametrize("part", ["lazy.loggers", "Later"])
@one_in(2)
def test_a_copy_without_a_part_runs(tmp_path, part):
    tree = startup_parts.copy(part, tmp_path)
    assert all(seconds > 0 for seconds in startup_parts.measure(tree))
