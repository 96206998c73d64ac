"""Names of users that mean something to C, to its libraries, to OpenMP or to C++."""

import ctypes
import ctypes.util
import keyword
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile.build import toolchain
from transpile.build.elf import read_dynamic
from transpile.options import Options
from transpile.symbols import reserved_names
from transpile.symbols.identifiers import LONGEST, Names, identifier, is_reserved, program_name
from transpile.symbols.reserved_names import is_symbol, is_word

QUICK = {"opt_level": 0, "blas": "none"}
WORDS = sorted(
    reserved_names.KEYWORDS
    | reserved_names.MACROS
    | reserved_names.TYPES
    | reserved_names.FAMILIES
    | reserved_names.FUNCTIONS
)


def _split(text):
    return text.split()


# Of every kind: a call of them, or a use of the macro, stands in many programs.
SOME = _split("""
int64_t uint8_t bool true complex I CMPLX INT64_MAX UINT64_MAX HUGE_VAL FP_NAN FE_UPWARD stdin FILE
offsetof linux i386 asm typeof errno NAN NULL fpclassify math_errhandling omp_in omp_out omp_priv
omp_get_thread_num GOMP_parallel memcpy memset malloc fwrite printf puts sincos exp exp10 gammaf y1
main environ workspace name code values context place first last previous callback_code restrict
register nullptr constexpr namespace template thread_local alignas wchar_t EIO SIGINT exp_f64
maximum_f64 MATMUL_ROWS f f_1 f_2 f_kernel f_error f_workspace_size f_called f_print f_call
f_callback f_body f_with_callback kernel error cold _Z x_ __GNUC__ x86_64 M_PI PRId64 L_tmpnam
lapack_int
""")


@given(st.one_of(st.sampled_from(WORDS), st.text(max_size=12), st.text("_eEfFx01ö", max_size=8)))
@example("")
@example("a" * 1000)
@example("omp_get_thread_num_")
@example("omp")
@example("svc")
@example("acc_init")
def test_every_name_becomes_one_that_means_nothing_else_and_stays_it(hint):
    name = Names().new(hint)
    assert re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII)
    assert not (is_word(name) or is_reserved(name) or keyword.iskeyword(name))
    assert Names().new(name) == name and len(name) <= LONGEST + 2
    function = program_name(hint)
    for ending in ("", "_call", "_error", "_workspace_size", "_with_callback", "_callback"):
        assert not is_symbol(function + ending) and not is_word(function + ending)
    assert program_name(function) == function


@pytest.mark.parametrize("name", ["x", "total", "step", "E1", "EPS", "acc_rate", "strain", "a__b"])
def test_names_that_mean_nothing_stay_as_they_are(name):
    assert Names().new(name) == name == program_name(name)


def exported_by(library):
    """The symbols of default version that a library of this process has for others."""
    path = ctypes.util.find_library(library)
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        loaded = {line.split()[-1] for line in maps if f"/{path}" in line}
    listed = subprocess.run(
        ["nm", "--dynamic", "--defined-only", *loaded], capture_output=True, text=True, check=True
    )
    words = (line.split()[-1] for line in listed.stdout.splitlines() if line)
    return {w.partition("@@")[0] for w in words if "@@" in w}


@pytest.mark.skipif(sys.platform != "linux", reason="reads ELF files")
def test_the_table_has_all_functions_of_this_c_library():
    """Of editions that are newer than the table there may be more."""
    ctypes.CDLL(ctypes.util.find_library("m"))
    found = exported_by("c") | exported_by("m")
    assert len(found) > 1000
    edition = os.confstr("CS_GNU_LIBC_VERSION") or ""
    known = tuple(map(int, edition.split()[-1].split("."))) <= (2, 36) if edition else False
    missing = sorted(n for n in found if not n.startswith("_") and not is_symbol(identifier(n)))
    missing = [n for n in missing if not is_word(n)]
    assert not known or not missing


def test_the_table_has_all_functions_of_gccs_openmp():
    compiler = toolchain.find_compiler(Options())
    if compiler.kind == "gcc" and compiler.openmp:
        listed = subprocess.run(
            [*compiler.command, "-print-file-name=libgomp.so"], capture_output=True, text=True
        )
        names = read_dynamic(Path(listed.stdout.strip())).names
        own = [n for n in names if n.startswith(("omp_", "GOMP_", "acc_", "GOACC_", "gomp_"))]
        own = [n for n in own if n.isidentifier()]  # and not the number of an edition
        assert len(own) > 100 and all(map(is_symbol, own))


def header_checked(path, tmp_path):
    """Compile the header as C11 and as C++17, behind the usual headers of a program."""
    compiler = toolchain.find_compiler(Options()).command
    names = (
        "complex errno fenv float inttypes limits locale math setjmp signal stdarg stddef stdint"
    )
    for language, standard in (("c", "c11"), ("c++", "c++17")):
        headers = [f"#include <{n}.h>" for n in (names + " stdio stdlib string time wchar").split()]
        if language == "c++":
            headers.remove("#include <complex.h>")
        source = tmp_path / "user.c"
        source.write_text("\n".join([*headers, f'#include "{path}"', ""]))
        flags = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-std={standard}"]
        done = subprocess.run(
            [*compiler, "-x", language, *flags, source], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


def defined(name, argument="x", other="y", key=None):
    """A function with these names, with a loop in vector lanes, a library call and a sum."""
    result = f"{argument}2 @ {other}, np.sort({other})"
    result = f"{{{key!r}: {result.split(', ')[0]}, 'b': np.sort({other})}}" if key else result
    text = f"def {name}({argument}, {other}):\n    {argument}2 = np.exp({argument})\n"
    text += f"    return {result}\n"
    values = {"np": np}
    exec(compile(text, "<drawn>", "exec"), values)
    return values[name]


def compiled(function, *arguments):
    program = transpile.jit(function, compiler_options=QUICK).lower(*arguments).compile()
    expected = transpile.tree.leaves(function(*arguments))
    for found, wanted in zip(transpile.tree.leaves(program(*arguments)), expected, strict=True):
        np.testing.assert_allclose(found, wanted)
    return program


GROUPS = [SOME[k : k + 8] for k in range(0, len(SOME), 8)]


@pytest.mark.parametrize("group", GROUPS, ids=lambda g: g[0])
@one_in(6)
def test_arguments_variables_and_keys_may_be_called_anything(group, tmp_path):
    """Eight arguments, eight variables and eight results of these names in one function."""
    legal = [n for n in group if n.isidentifier() and not keyword.iskeyword(n)]

    def f(values):
        made = {name: np.exp(v) for name, v in values.items()}
        return {name: np.cumsum(v) * v.sum() for name, v in made.items()}

    x = np.linspace(0.1, 1, 40)
    compiled(f, {name: x + k for k, name in enumerate(group)})
    names = {"np": np}
    lines = [f"    {n} = np.exp({n}) + {n}.sum()" for n in legal]
    text = (
        f"def f({', '.join(legal)}):\n" + "\n".join(lines) + f"\n    return {', '.join(legal)},\n"
    )
    exec(compile(text, "<drawn>", "exec"), names)
    saved = compiled(names["f"], *[x + k for k in range(len(legal))]).save(tmp_path)
    header_checked(saved[1], tmp_path)


@pytest.mark.parametrize("name", [n for n in SOME if n.isidentifier() and not keyword.iskeyword(n)])
def test_functions_may_be_called_anything(name, tmp_path):
    program = transpile.jit(defined(name), compiler_options=QUICK)
    x = np.linspace(0.1, 1, 40)
    text = program.lower(x, x).as_text()
    function = program_name(name)
    assert f"\nint {function}(const double *x" in text
    assert (f"{name} (in C {function})" in text) == (name != function)


@pytest.mark.parametrize("name", ["omp_get_thread_num", "fwrite", "sincos", "INT64_MAX", "gai"])
@one_in(2)
def test_a_function_of_such_a_name_is_compiled_saved_and_called(name, tmp_path):
    x = np.linspace(0.1, 1, 5000)
    program = compiled(defined(name), x, x)
    library, header, _ = program.save(tmp_path)
    assert library.stem == header.stem == program_name(name)
    assert f"{name} (in C {library.stem})" in header.read_text()
    header_checked(header, tmp_path)
    loaded = getattr(ctypes.CDLL(str(library)), library.stem)
    results, work = [np.empty(()), np.empty(5000)], np.empty(1 << 20)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (x, x, *results, work)]
    assert loaded(*pointers) == 0
    np.testing.assert_allclose(results[0], np.exp(x) @ x)
