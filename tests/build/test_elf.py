"""The dynamic section of shared objects is read, whatever the texts in them say."""

import subprocess

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile.build import toolchain
from transpile.build.elf import Dynamic, read_dynamic
from transpile.options import Options

pytestmark = pytest.mark.full_level

TEXTS = (
    "see libgomp.so {}",
    "see libtranspile-threads.so {}",
    "#pragma omp parallel {}",
    "omp_get_thread_num() is {}",
    "__asan_init {}",
)


def readelf(path, *options):
    """What binutils say."""
    command = ["readelf", "--wide", *options, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_libraries_and_symbols_are_those_that_binutils_find(tmp_path):
    source = tmp_path / "a.c"
    source.write_text(
        "#include <math.h>\nconst char *said(void);\n"
        'const char *said(void) { return "libz.so.1"; }\n'
        "double more(double x);\ndouble more(double x) { return sin(x); }\n"
    )
    compiler = toolchain.find_compiler(Options())
    command = [*compiler.command, "-shared", "-fPIC", "-fvisibility=default", "-o"]
    subprocess.run([*command, tmp_path / "a.so", source, "-lm"], check=True)
    found = read_dynamic(tmp_path / "a.so")
    listed = readelf(tmp_path / "a.so", "--dynamic")
    needed = [line.split("[")[1].split("]")[0] for line in listed.splitlines() if "NEEDED" in line]
    assert list(found.needed) == needed and any(name.startswith("libm.so") for name in needed)
    symbols = readelf(tmp_path / "a.so", "--dyn-syms").split()
    assert {"said", "more", "sin"} <= found.names
    assert {name.split("@")[0] for name in symbols} >= found.names - {""} - set(needed) - {
        name for name in found.names if name.startswith("GLIBC")
    }
    assert "libz.so.1" not in found.names


def test_other_files_have_none_and_incomplete_ones_are_errors(tmp_path):
    (tmp_path / "text").write_text("libgomp.so")
    assert read_dynamic(tmp_path / "text") == Dynamic()
    (tmp_path / "cut").write_bytes(b"\x7fELF\x02\x01" + bytes(20))
    with pytest.raises(ValueError, match="cut is not a complete ELF file"):
        read_dynamic(tmp_path / "cut")


@pytest.mark.parametrize("is_parallel", [False, True])
@pytest.mark.parametrize("text", TEXTS)
@one_in(3)
def test_words_of_a_message_are_no_links(text, is_parallel, capfd):
    def f(x):
        transpile.debug.print(text, x[0])
        return np.exp(x).sum() if is_parallel else x + 1

    x = np.ones(1 << 20 if is_parallel else 3)
    compiled = transpile.jit(f, compiler_options={"opt_level": 1}).lower(x).compile()
    np.testing.assert_allclose(compiled(x), np.exp(x).sum() if is_parallel else x + 1)
    assert capfd.readouterr().out == text.format(1.0) + "\n"
    has_pool = compiled.runtime_executable().entry.path("threads.so").is_file()
    assert has_pool == (is_parallel and toolchain.find_compiler(Options()).openmp)
