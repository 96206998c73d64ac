import json
import os
import struct
import subprocess
import sys

import numpy as np
import pytest

import transpile
from transpile.build import toolchain
from transpile.codegen.python_entry import declarations
from transpile.disk_cache.cache import Cache
from transpile.errors import InternalError
from transpile.options import Options
from transpile.runtime import loader

DECLARATIONS = "int triple(int n, const double *x, double *y); const char *triple_error(int code);"
SOURCE = """#include <stddef.h>
#define PUBLIC __attribute__((visibility("default")))
PUBLIC int triple(int n, const double *x, double *y);
PUBLIC const char *triple_error(int code);
int triple(int n, const double *x, double *y) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) {
        y[i] = 3.0 * x[i];
    }
    return n < 0;
}
const char *triple_error(int code) {
    return code ? "negative size" : NULL;
}
"""


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))


def compile_into(directory, source=SOURCE, options=Options()):
    (directory / "program.c").write_text(source)
    compiler = toolchain.find_compiler(options)
    flags = toolchain.flags(compiler, options)
    toolchain.build_shared(compiler, directory / "program.c", directory / "program.so", flags)
    meta = {"declarations": DECLARATIONS}
    (directory / "meta.json").write_text(json.dumps(meta))
    return directory / "program.so"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        return compile_into(tmp_path_factory.mktemp("program")).read_bytes()


@pytest.fixture
def path(program, tmp_path):
    (tmp_path / "program.so").write_bytes(program)
    return tmp_path / "program.so"


def triple(library, x, call=lambda function, *arguments: function(*arguments)):
    y = np.empty_like(x)
    views = [library.ffi.from_buffer("double[]", array) for array in (x, y)]
    assert call(library.function("triple"), x.size, *views) == 0
    return y


# -- loading ---------------------------------------------------------------------------------------


def test_load_gives_functions_that_work(path):
    library = loader.load(path, DECLARATIONS)
    x = np.arange(10.0)
    assert (triple(library, x) == 3 * x).all()
    message = library.function("triple_error")(1)
    assert library.ffi.string(message) == b"negative size"
    assert library.path == path
    path.unlink()
    assert (triple(library, x) == 3 * x).all()


def test_a_program_is_never_unloaded(path):
    # Closing a program at the end of the process took OpenMP's code from its running threads.
    library = loader.load(path, DECLARATIONS)
    function = library.function("triple_error")
    library.ffi.dlclose(library.handle)
    assert library.ffi.string(function(1)) == b"negative size"


def test_load_uses_the_stored_tables(path, monkeypatch):
    stored = loader.tables(DECLARATIONS)
    assert stored == loader.tables(DECLARATIONS)
    path.with_name("program.ffi").write_text(stored)
    monkeypatch.setattr(loader, "tables", None)
    assert triple(loader.load(path, DECLARATIONS), np.ones(2)).tolist() == [3.0, 3.0]


@pytest.mark.parametrize("text", ["", "garbage", "{}\n{}\n", "other", "cut", "newer"])
def test_load_ignores_tables_that_do_not_fit(path, text):
    stored = loader.tables(DECLARATIONS)
    if text == "other":
        text = loader.tables("int triple(double x);")
    elif text == "cut":
        text = stored[: len(stored) // 2]
    elif text == "newer":  # a well-formed file of a cffi to come
        tables = stored.partition("\n")[2].replace("9729", "99999")
        text = f"{loader._digest(DECLARATIONS, tables)}\n{tables}"
        assert tables not in stored
    path.with_name("program.ffi").write_text(text)
    assert triple(loader.load(path, DECLARATIONS), np.ones(2)).tolist() == [3.0, 3.0]


def test_a_warm_process_imports_no_parser_and_starts_no_compiler(tmp_path):
    code = f"""
import os, subprocess, sys
from pathlib import Path
from transpile.build import toolchain
from transpile.disk_cache import cache
from transpile.options import Options
from transpile.runtime import loader

def build(directory):
    (directory / "program.c").write_text({SOURCE!r})
    (directory / "meta.json").write_text('{{"declarations": "int triple(int, void *, void *);"}}')
    c = directory / "program.c"
    toolchain.build_shared(compiler, c, directory / "program.so", flags)

if "warm" in sys.argv:
    def build(directory): raise AssertionError("it is there")
    def refuse(event, arguments):
        assert event not in ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.exec")
    sys.addaudithook(refuse)
compiler = toolchain.find_compiler(Options())
flags = toolchain.flags(compiler, Options())
ingredients = toolchain.ingredients(compiler, Options())
entry, library = loader.load_or_build(cache.default_cache(), "triple", ingredients, build)
assert library.function("triple")(0, library.ffi.NULL, library.ffi.NULL) == 0
if "warm" in sys.argv:
    assert not {{"pycparser", "jinja2", "setuptools"}} & {{*sys.modules}}
"""
    for argument in ("cold", "warm"):
        subprocess.run([sys.executable, "-c", code, argument], check=True)


@pytest.mark.parametrize("name", ["f", "int_", "char_call", "call", "o", "error_call_error"])
@pytest.mark.parametrize("has_callback", [False, True])
def test_the_tables_of_programs_are_those_of_cffi(name, has_callback, monkeypatch):
    def function(x):
        if has_callback:
            transpile.debug.print("{}", x)
        return x + 1

    function.__name__ = function.__qualname__ = name
    program = transpile.jit(function).lower(np.ones(3)).compiler_ir("loops")
    text = declarations(program)
    assert name in text and ("callback" in text) is has_callback
    parsed = loader._parsed_tables(text)
    monkeypatch.setattr(loader, "_parsed_tables", None)  # nothing is parsed
    assert loader.tables(text).partition("\n")[2] == f"{parsed!r}\n"


def test_tables_for_another_cffi_are_made_by_it(monkeypatch):
    program = transpile.jit(np.sin).lower(np.ones(3)).compiler_ir("loops")
    text = declarations(program)
    expected = loader.tables(text)
    newer = {digest: {**usual, "_version": 0x99999} for digest, usual in loader._USUAL.items()}
    monkeypatch.setattr(loader, "_USUAL", newer)
    assert loader._usual_tables(text) is None
    assert loader.tables(text) == expected


def test_tables_of_bad_declarations_are_a_bug_of_ours():
    with pytest.raises(InternalError, match="int f\\(unknown x\\)"):
        loader.tables("int f(unknown x);")


def test_load_reports_a_missing_function(path):
    with pytest.raises(loader.DamagedLibraryError, match="no function missing"):
        loader.load(path, DECLARATIONS + "int missing(void);")
    with pytest.raises(loader.DamagedLibraryError, match="no function undeclared"):
        loader.load(path, DECLARATIONS).function("undeclared")


def cut_anywhere(program):
    return [program[: len(program) * n // 8] for n in range(8)]


def test_load_refuses_a_truncated_program_at_any_length(path, program):
    # The loader does not need the section headers, which end the file; all else counts.
    for part in cut_anywhere(program)[:6]:
        path.write_bytes(part)
        with pytest.raises(loader.DamagedLibraryError):
            loader.load(path, DECLARATIONS)


@pytest.mark.parametrize("kind", ["text", "machine", "32 bits", "big-endian", "directory"])
def test_load_refuses_what_is_no_program_for_this_machine(path, program, kind):
    changed = bytearray(program)
    if kind == "text":
        changed = b"int main(void);" * 100
    elif kind == "machine":
        struct.pack_into("H", changed, 18, 0xF3 if program[18] != 0xF3 else 0x3E)
    elif kind == "32 bits":
        changed[4] = 1
    elif kind == "big-endian":
        changed[5] = 3 - changed[5]
    path.unlink()
    if kind == "directory":
        path.mkdir()
    else:
        path.write_bytes(changed)
    with pytest.raises(loader.DamagedLibraryError, match=r"program\.so"):
        loader.load(path, DECLARATIONS)


def test_load_refuses_a_program_with_missing_symbols(tmp_path):
    path = compile_into(tmp_path, "int nowhere(void);\n" + SOURCE.replace("n < 0", "nowhere()"))
    with pytest.raises(loader.DamagedLibraryError, match="nowhere"):
        loader.load(path, DECLARATIONS)


def test_load_refuses_the_address_sanitizer_in_an_ordinary_process(tmp_path):
    options = Options(sanitize=True)
    found = toolchain.sanitizer_environment(toolchain.find_compiler(options))["LD_PRELOAD"]
    if not os.path.isabs(found):
        pytest.skip("the compiler has no address sanitizer")
    path = compile_into(tmp_path, options=options)
    code = "from transpile.runtime import loader\nfrom pathlib import Path\n"
    code += f"loader.load(Path({str(path)!r}), "
    code += f"{DECLARATIONS!r})"
    command = [sys.executable, "-c", code]
    plain = subprocess.run(command, capture_output=True, text=True)
    assert plain.returncode == 1 and "LoadError" in plain.stderr and "LD_PRELOAD" in plain.stderr
    environment = {**os.environ, "LD_PRELOAD": found, "ASAN_OPTIONS": "detect_leaks=0"}
    subprocess.run(command, check=True, env=environment)


# -- loading from the cache ------------------------------------------------------------------------


class Builder:
    """Writes the program; the first `bad` times, something that cannot be loaded."""

    def __init__(self, program, bad=0):
        self.program, self.bad, self.count = program, bad, 0

    def __call__(self, directory):
        self.count += 1
        program = self.program if self.count > self.bad else b"not a program"
        (directory / "program.so").write_bytes(program)
        (directory / "meta.json").write_text(json.dumps({"declarations": DECLARATIONS}))


def test_load_or_build_builds_once(tmp_path, program):
    cache, build = Cache(tmp_path / "cache"), Builder(program)
    for _ in range(2):
        entry, library = loader.load_or_build(cache, "triple", {}, build)
        assert (triple(library, np.ones(3)) == 3).all()
    assert build.count == 1
    assert entry.path("program.ffi").read_text() == loader.tables(DECLARATIONS)


@pytest.mark.parametrize("size", [0, 100, 5000])
def test_load_or_build_rebuilds_a_truncated_program(tmp_path, program, size):
    cache, build = Cache(tmp_path / "cache"), Builder(program)
    entry, _ = loader.load_or_build(cache, "triple", {}, build)
    # The old file stays mapped into this process: cutting it short in place would end the process.
    cut = tmp_path / "cut"
    cut.write_bytes(entry.path("program.so").read_bytes()[:size])
    cut.replace(entry.path("program.so"))
    _, library = loader.load_or_build(cache, "triple", {}, build)
    assert build.count == 2 and (triple(library, np.ones(3)) == 3).all()


def test_load_or_build_rebuilds_what_cannot_be_loaded(tmp_path, program):
    cache, build = Cache(tmp_path / "cache"), Builder(program, bad=1)
    _, library = loader.load_or_build(cache, "triple", {}, build)
    assert build.count == 2 and (triple(library, np.ones(3)) == 3).all()


def test_load_or_build_gives_up_after_the_second_time(tmp_path, program):
    build = Builder(program, bad=5)
    with pytest.raises(loader.DamagedLibraryError, match="not a complete shared object"):
        loader.load_or_build(Cache(tmp_path / "cache"), "triple", {}, build)
    assert build.count == 2
