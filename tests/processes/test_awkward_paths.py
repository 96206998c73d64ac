"""Scripts, caches, libraries and destinations whose paths end comments and lines, look like formats
or options, or are no UTF-8."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from thorough import one_in

from transpile.build import toolchain
from transpile.build.toolchain import find_blas, find_lapack
from transpile.codegen.line_wrapping import comment_line, comment_text
from transpile.errors import CompilationError, LibraryNotFoundError
from transpile.options import Options
from transpile.symbols.blas import candidates

NAME = b"new\nline *\x2f ' \" %s%n ?? \\ ;,=$HOME `id` @ {{7*7}} caf\xc3\xa9 \xff\xfe"
SCRIPT = b"""
import sys, warnings
import numpy as np
import transpile

warnings.simplefilter("error")


def f(x):
    y = np.exp(x)  # */ int injected; /*
    return np.linalg.inv(y) * 2


compiled = transpile.jit(f, compiler_options={"debug": sys.argv[1] == "True"})
x = np.eye(3) + np.arange(9.0).reshape(3, 3) / 10
np.testing.assert_allclose(compiled(x), f(x))
stages = compiled.lower(x)
program = stages.compile()
for text in (*(stages.as_text(name) for name in ("c", "loops", "graph")), program.as_text("asm")):
    text.encode()
program.save(sys.argv[2])
try:
    transpile.jit(lambda x: x.no_such_attribute)(x)
except AttributeError as error:
    str(error).encode()
"""


@pytest.fixture
def awkward(tmp_path):
    """A directory with the name; `/` cannot be in a name, so `*/` ends one."""
    path = os.path.join(os.fsencode(tmp_path), *NAME.split(b"/"))
    os.makedirs(path)
    return path


@pytest.mark.parametrize("debug", [False, True])
@one_in(2)
def test_everything_in_awkward_places(awkward, debug):
    (library, _) = next(candidates())
    place = awkward.replace(b"$", b"")  # which the loader takes for a word to replace
    os.makedirs(place)
    os.symlink(library, place + b"/blas*.so")
    script = awkward + b"/" + NAME.replace(b"/", b"") + b".py"
    with open(script, "wb") as file:
        file.write(SCRIPT)
    environment = {b"TRANSPILE_CACHE_DIR": awkward + b"/cache " + NAME.replace(b"/", b"")}
    environment[b"TRANSPILE_LAPACK"] = place + b"/blas*.so"
    done = subprocess.run(
        [sys.executable, script, str(debug), awkward + b"/out"],
        env={**os.environb, **environment},
        capture_output=True,
    )
    assert done.returncode == 0 and done.stderr == b"", done.stderr.decode(errors="replace")
    with open(awkward + b"/out/f.c", "rb") as c, open(awkward + b"/out/f.h", "rb") as h:
        for text in (c.read().decode(), h.read().decode()):
            lines = (line for line in text.splitlines(True) if not line.startswith("#line"))
            code = "".join(part.partition("*/")[2] for part in "".join(lines).split("/*"))
            code = re.sub(r'"(?:[^"\\\n]|\\.)*"', "", code)  # provenance
            assert "injected" not in code and "7*7" not in code and "\\nline" not in code
            assert "new\\nline * / ' " in text  # the path of the library


def test_the_log_of_a_compiler_in_an_awkward_place_is_text(awkward):
    place = Path(os.fsdecode(awkward))
    (place / "program.c").write_text("#warning here\n")
    compiler = toolchain.find_compiler(Options())
    flags = toolchain.flags(compiler, Options())
    log = toolchain.build_shared(compiler, place / "program.c", place / "program.so", flags)
    assert "here" in log.encode().decode() and "caf" not in log
    (place / "program.c").write_text("#error there\n")
    with pytest.raises(CompilationError, match="there") as caught:
        toolchain.build_shared(compiler, place / "program.c", place / "program.so", flags)
    str(caught.value).encode()


@pytest.mark.parametrize("name", ["colon:x", "dollar$ORIGIN", "${LIB}"])
def test_a_library_whose_path_means_another_one_to_the_loader_is_refused(
    monkeypatch, tmp_path, name
):
    """In the list of directories that a program names, a colon begins another one, relative to the
    working directory of the process that loads it."""
    (library, _) = next(candidates())
    place = tmp_path / name
    place.mkdir()
    (place / "lib.so").symlink_to(library)
    monkeypatch.setenv("TRANSPILE_LAPACK", str(place / "lib.so"))
    with pytest.raises(LibraryNotFoundError, match="colon or a dollar sign"):
        find_lapack(Options())
    with pytest.raises(ValueError, match="colon or a dollar sign"):
        find_blas(Options(blas=str(place / "lib.so")))


def test_what_stands_in_a_comment_does_not_end_it():
    for text in ("*/", "**/", "*//", "*/*", "/*/", "a\n*/b", "*/" * 50):
        assert "*/" not in comment_text(text) and "/*" not in comment_text(text)
        assert "*/" not in comment_line(text) and len(comment_line(text)) <= 94
    assert comment_text("a\nb\r\x00\u202ec\udcff é") == "a\\nb\\r\\x00\\u202ec\\udcff é"
    assert comment_text("a" * 200) == "a" * 200
