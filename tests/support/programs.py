"""What tests of compiled programs share: under the sanitizers, and called from a main in C."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import importing

from transpile.build import toolchain
from transpile.options import Options


def run_sanitized(statement, file):
    """Run a statement of Python in a process that can load programs built with the sanitizers.

    It can import the test module `file`. The test fails where the statement does, and where a
    sanitizer complains.
    """
    compiler = toolchain.find_compiler(Options(sanitize=True))
    environment = toolchain.sanitizer_environment(compiler)
    if not Path(environment["LD_PRELOAD"]).is_absolute():
        pytest.skip(f"{compiler.command[0]} has no address sanitizer library")
    # The compiler itself need not be run under the sanitizer.
    code = f"import os; os.environ.pop('LD_PRELOAD')\n{statement}\nprint('ran everything')"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**importing(file), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "ran everything" in done.stdout, done.stderr[-4000:]
    assert "runtime error" not in done.stderr, done.stderr[-4000:]


def run_main(directory, library, text):
    """The lines that a main in C prints which calls a saved program; compiled without a warning."""
    (directory / "main.c").write_text(text)
    cc = toolchain.find_compiler(Options()).command
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    sources = ["main.c", f"{library}.so", f"-Wl,-rpath,{directory}", "-lm", "-o", "main"]
    subprocess.run([*cc, *strict, *sources], cwd=directory, check=True)
    done = subprocess.run(
        [str(directory / "main")],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
    )
    return done.stdout.splitlines()


def needs(*programs):
    """A mark that skips where one of these programs does not run: rustup's rustc may have no
    toolchain."""
    missing = [program for program in programs if not _runs(program)]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)}: not installed")


def _runs(program):
    if shutil.which(program) is None:
        return False
    return not subprocess.run([program, "--version"], capture_output=True, check=False).returncode
