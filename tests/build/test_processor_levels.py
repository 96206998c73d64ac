"""The processors that saved programs are compiled for. There is no old processor here: what asks is
compiled with answers that the test gives, and linked with stubs of the versions. And where Linux
can make CPUID fault, a process answers it for a library as it was saved."""

import ctypes
import os
import re
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from places import ROOT
from programs import needs

import transpile
from transpile.build import processors, toolchain
from transpile.build.processors import dispatch_source, processors_of
from transpile.codegen.plan.provenance import Origin
from transpile.errors import UnsupportedError
from transpile.options import Options

pytestmark = [
    pytest.mark.full_level,
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="levels of x86-64"),
    needs("gcc", "objdump"),
]
# What each level adds: a register of CPUID, and a bit of it as Intel's and AMD's manuals count.
SSE3, SSSE3, FMA, CX16, SSE41, SSE42, MOVBE, POPCNT, XSAVE, AVX, F16C = (
    ("basic", bit) for bit in (0, 9, 12, 13, 19, 20, 22, 23, 27, 28, 29)
)
BMI1, AVX2, BMI2, AVX512F, AVX512DQ, AVX512CD, AVX512BW, AVX512VL = (
    ("more", bit) for bit in (3, 5, 8, 16, 17, 28, 30, 31)
)
LAHF, LZCNT = ("extended", 0), ("extended", 5)
VECTORS, MASKS = [("saved", 1), ("saved", 2)], [("saved", bit) for bit in (5, 6, 7)]
V2 = [SSE3, SSSE3, CX16, SSE41, SSE42, POPCNT, LAHF]
V3 = [*V2, FMA, MOVBE, XSAVE, AVX, F16C, BMI1, AVX2, BMI2, LZCNT, *VECTORS]
V4 = [*V3, AVX512F, AVX512DQ, AVX512CD, AVX512BW, AVX512VL, *MASKS]
# Answers of a processor, in the place of the compiler's header, and nothing is kept.
CPUID = """
#include_next <cpuid.h>
extern unsigned a_basic, a_more, a_extended, a_saved;
#define __get_cpuid(leaf, a, b, c, d) \\
    (*(a) = *(b) = *(d) = 0, *(c) = (leaf) == 1 ? a_basic : a_extended, 1)
#define __get_cpuid_count(leaf, part, a, b, c, d) (*(a) = *(c) = *(d) = 0, *(b) = a_more, 1)
#define __asm__(...) (saved = a_saved)
#undef __atomic_load_n
#define __atomic_load_n(kept, order) 0
"""
STUBS = "unsigned a_basic, a_more, a_extended, a_saved;\n"


def wave(x):
    return np.tanh(x).sum() + np.exp(-x)


def lowered(**options):
    return transpile.jit(wave, compiler_options=options).lower(
        transpile.ShapeDtypeStruct(("n",), np.float64)
    )


def run(*words, cwd):
    done = subprocess.run([*map(str, words)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    """A function that loads what asks, for some levels, with a stub of each version."""

    def load(*wanted):
        folder = tmp_path_factory.mktemp("asking")
        lowering = lowered()._lowering
        text = lowering.rendered("program.h", for_c=True)
        origin = Origin("wave", "waves.py:1", wanted)
        source = dispatch_source(lowering.program(), Options(), text, wanted, origin)
        (folder / "program.h").write_text(text.header)
        (folder / "dispatch.c").write_text(source)
        names = [f"wave_{level.replace('-', '_')}" for level in wanted]
        stubs = [
            f"int {name}(void); int {name}(void) {{ return {k}; }}" for k, name in enumerate(names)
        ]
        (folder / "stubs.c").write_text(STUBS + "\n".join(stubs))
        strict = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-shared", "-fPIC"]
        (folder / "cpuid.h").write_text(CPUID)
        words = [*strict, "-I.", "dispatch.c", "stubs.c"]
        run("gcc", *words, "-o", "asking.so", cwd=folder)
        library = ctypes.CDLL(str(folder / "asking.so"))
        library.wave_error.restype = ctypes.c_char_p
        return library

    return load


def chosen(library, features):
    for register in ("basic", "more", "extended", "saved"):
        bits = sum(1 << bit for of, bit in features if of == register)
        ctypes.c_uint.in_dll(library, f"a_{register}").value = bits
    first, second = library.wave(), library.wave_on_threads()
    assert first == second
    return first


def test_a_processor_without_the_level_is_refused_with_a_text(asking):
    library = asking("x86-64-v3")
    assert [chosen(library, f) for f in ([], [AVX2, FMA], V3, V4)] == [-1, -1, 0, 0]
    for missing in V3:
        assert chosen(library, [f for f in V4 if f != missing]) == -1
    expected = b"this library needs a processor with AVX2 and FMA (x86-64-v3)"
    assert library.wave_error(-1) == expected
    assert library.wave_error(-3).startswith(b"n is less than 1")
    assert asking("x86-64-v4").wave_error(-1).endswith(b"with AVX-512 (x86-64-v4)")


def test_the_best_version_is_called(asking):
    library = asking("x86-64", "x86-64-v3", "x86-64-v4")
    cases = [[], V2, V3, [*V3, AVX512F], V4]
    assert [chosen(library, features) for features in cases] == [0, 0, 1, 1, 2]
    for missing in V4:
        assert chosen(library, [f for f in V4 if f != missing]) == (0 if missing in V3 else 1)
    assert [chosen(asking("x86-64", "x86-64-v2"), f) for f in (V2[:-1], V2)] == [0, 1]
    assert library.wave_error(-1) == b"unknown error code"


def test_what_asks_is_compiled_for_every_processor(tmp_path):
    """And the versions each for its own, in a library that exports the functions alone."""
    for march in ("auto", "multi"):
        (library, *_) = lowered(march=march).save(tmp_path / march, "wave")
        code = run("objdump", "-d", "--no-show-raw-insn", library, cwd=tmp_path)
        widest = {}
        for function in code.split("\n\n"):
            name = re.match(r"[0-9a-f]+ <([^>]+)>", function.strip())
            if name:
                used = re.findall(r"%([xyz])mm|\t(v)[a-z]", function)
                widest.setdefault(name[1], set()).update(a or b for a, b in used)
        named = {n for n in widest if re.fullmatch("wave(_[a-z]+)*", n)}
        public = named - {"wave_processor_asked"}
        assert len(public) == 8 and not set().union(*(widest[name] for name in named))
        others = set().union(*(widest[name] for name in widest.keys() - named))
        assert "y" in others and ("z" in others) <= (march == "multi")
        exported = run("nm", "-D", "--defined-only", library, cwd=tmp_path).split()[2::3]
        assert set(exported) == public
        loaded = ctypes.CDLL(str(library))
        x, out = np.linspace(0.0, 2.0, 1001), np.empty(1001)
        loaded.wave_workspace_size.argtypes = [ctypes.c_int64]
        work = np.empty(loaded.wave_workspace_size(x.size) + 1, np.uint8)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (x, out, work)]
        assert loaded.wave(ctypes.c_int64(x.size), *pointers) == 0
        np.testing.assert_allclose(out, wave(x), rtol=1e-14)


def test_the_processors_of_options(monkeypatch):
    assert processors_of(Options()) == ("x86-64-v3",)
    assert processors_of(Options(march="native")) == ("native",)
    assert processors_of(Options(march="multi")) == ("x86-64", "x86-64-v3", "x86-64-v4")
    assert processors_of(Options(march="x86-64-v4,x86-64")) == ("x86-64", "x86-64-v4")
    with pytest.raises(UnsupportedError, match=r"has versions for x86-64, .*, not 'haswell'"):
        processors_of(Options(march="x86-64,haswell"))
    for target, kind in (("aarch64-linux-gnu", "gcc"), ("x86_64-linux-gnu", "zig")):
        compiler = SimpleNamespace(target=target, kind=kind)
        monkeypatch.setattr(processors, "find_compiler", lambda options, one=compiler: one)
        assert processors_of(Options()) == ("",)
        with pytest.raises(UnsupportedError, match="march='multi' is for x86-64: the compiler"):
            processors_of(Options(march="multi"))


def test_programs_that_run_here_are_compiled_for_this_processor():
    compiler = toolchain.find_compiler(Options())
    auto, native = (toolchain.flags(compiler, Options(march=m)) for m in ("auto", "native"))
    assert auto == native
    with pytest.raises(UnsupportedError, match="march='multi' is for saved programs"):
        lowered(march="multi").compile()


def test_with_native_nothing_is_asked(tmp_path):
    objects = lowered(march="native")._lowering.objects()
    assert [*objects] == ["wave"] and b"AVX2 and FMA" not in objects["wave"]
    assert [*lowered(march="multi")._lowering.objects()] == [
        *("wave", "wave.x86-64", "wave.x86-64-v3", "wave.x86-64-v4")
    ]


def test_a_saved_library_refuses_an_old_processor_or_has_a_version_for_it(tmp_path):
    run(
        "gcc",
        "-Wall",
        "-Werror",
        ROOT / "tests/c/old_processor.c",
        "-o",
        "old",
        "-ldl",
        cwd=tmp_path,
    )
    said = {}
    for march in ("auto", "multi"):
        (library, *_) = lowered(march=march).save(tmp_path / march, "wave")
        done = subprocess.run([tmp_path / "old", library], capture_output=True, text=True)
        if done.returncode == 77:
            pytest.skip("the processor or the kernel cannot make CPUID fault")
        said[march] = done.stdout
    refused = "-1: this library needs a processor with AVX2 and FMA (x86-64-v3)"
    assert said == {"auto": refused, "multi": "0: success"}
