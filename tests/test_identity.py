"""The digest of transpile's own files: remembered as long as they stay as they are."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import transpile

PACKAGE = Path(transpile.__file__).parent


@pytest.fixture
def copy(tmp_path):
    """A copy of the package that was not touched for a while, and a cache of its own."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("transpile", "templates", "runtime_c"):
        source = PACKAGE.parent / name
        if not source.is_dir():
            pytest.skip("not a checkout")
        shutil.copytree(source, tmp_path / name, ignore=ignored)
    old = time.time() - 1000
    for path in tmp_path.rglob("*"):
        os.utime(path, (old, old))
    return tmp_path


def digest(copy, expression="own_digest()"):
    code = f"from transpile import identity\nfrom transpile.identity import *\nprint({expression})"
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TRANSPILE_CACHE_DIR": str(copy / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=copy, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr
    return done.stdout.strip()


READS_NOTHING = "setattr(identity, '_digest', None) or own_digest()"


def test_the_digest_is_remembered_while_the_files_stay(copy):
    first = digest(copy)
    assert len(first) == 32
    assert digest(copy, READS_NOTHING) == first
    helper = copy / "runtime_c" / "sign.h"
    helper.write_text(helper.read_text() + "\n")  # just now: not remembered yet
    second = digest(copy)
    assert second != first
    old = time.time() - 500
    os.utime(helper, (old, old))
    assert digest(copy) == second
    assert digest(copy, READS_NOTHING) == second


def test_what_is_remembered_and_damaged_is_made_anew(copy):
    first = digest(copy)
    (kept,) = (copy / "cache").glob("transpile-*.txt")
    for text in ("", "nonsense", f"{'0' * 32} {'1' * 32}\n", "a b c"):
        kept.write_text(text)
        assert digest(copy) == first
    kept.chmod(0o666)  # not private: not trusted
    kept.write_text(kept.read_text().split()[0] + f" {'1' * 32}\n")
    assert digest(copy) == first
