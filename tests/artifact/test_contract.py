"""What docs/c_contract.md promises, held by a program in C11 and C++17 (tests/c/contract.c)."""

import os
import re
import shutil
import subprocess

import numpy as np
import pytest
from places import ROOT
from programs import needs

import transpile
from transpile import ShapeDtypeStruct
from transpile.artifact import Library

STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"]
F64 = np.dtype("float64")
TABLE = np.arange(5000.0)


def loss(x, y):
    return (np.tanh(x[: y.size] * np.exp(x[y.size :] - y)) ** 2).mean()


step = transpile.value_and_grad(loss)


def spectrum(z):
    return np.fft.fft(z)


def update(u, mask):
    u += mask.sum()
    return ~mask


def descend(w, b, x):
    """Both new values need what both old ones were."""
    residual = w @ x + b
    w -= 0.1 * residual[:, None] * x
    b[:] = b[::-1] - 0.1 * residual
    return residual @ residual


def ask(x):
    doubled = transpile.pure_callback(lambda x: 2 * x, ShapeDtypeStruct((3,), F64), x)
    return doubled + 1


def look_up(k):
    return TABLE[k] + np.array([0.5, 0.25])[k % 2]


def library():
    (n,) = transpile.dims("n", "n % 4 == 0", "n <= 400000")
    (m,) = transpile.dims("m")
    kinds = {
        "step": (step, ((2 * n,), F64), ((n,), F64)),
        "spectrum": (spectrum, ((8,), "c8")),
        "update": (update, ((m,), F64), ((m,), bool)),
        "descend": (descend, ((m, 3), F64), ((m,), F64), ((3,), F64)),
        "ask": (ask, ((3,), F64)),
        "look_up": (look_up, ((m,), np.int64)),
    }
    functions = {
        f"kit_{name}": transpile.jit(f, compiler_options={"layout": "strided"}).lower(
            *(ShapeDtypeStruct(s, d) for s, d in arguments)
        )
        for name, (f, *arguments) in kinds.items()
    }
    return Library("kit", functions)


@pytest.fixture(scope="module")
def made(tmp_path_factory, shared_cache):
    """The files of the library, and nothing else but the program."""
    folder = tmp_path_factory.mktemp("contract")
    library().write(folder, ["archive"])
    shutil.copy(ROOT / "tests" / "c" / "contract.c", folder)
    return folder


def run(*words, cwd):
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


SHARED = ["-L.", "-lkit", "-Wl,-rpath,$ORIGIN"]
ARCHIVE = ["-x", "none", "libkit.a"]
WAYS = {
    "C11 with the library": ["gcc", "-std=c11", *STRICT, "contract.c", *SHARED],
    "C11 with the C files": ["gcc", "-std=c11", *STRICT, "-Wrestrict", "*.c"],
    "C++17 with the library": ["g++", "-x", "c++", "-std=c++17", *STRICT, "contract.c", *SHARED],
    "C++17 with the archive": ["g++", "-std=c++17", *STRICT, "-x", "c++", "contract.c", *ARCHIVE],
    "clang's C11": ["clang", "-std=c11", *STRICT, "contract.c", *SHARED],
    "clang's C++17": ["clang++", "-x", "c++", "-std=c++17", *STRICT, "contract.c", *SHARED],
}


@pytest.mark.parametrize("way", [pytest.param(w, marks=needs(WAYS[w][0])) for w in WAYS])
def test_each_sentence_holds(made, way):
    files = sorted(path.name for path in made.glob("*.c"))
    words = [w for word in WAYS[way] for w in (files if word == "*.c" else [word])]
    run(*words, "-D_GNU_SOURCE", "-fopenmp", "-pthread", "-lm", "-o", "contract", cwd=made)
    variables = {**os.environ, "OMP_NUM_THREADS": "3"}
    done = subprocess.run([made / "contract"], env=variables, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


@needs("nm", "readelf")
def test_libraries_have_no_memory_of_their_own_and_ask_for_none(made):
    """No function that allocates is called; what is writable belongs to the C runtime, or is the
    processor's level, or a thread's note of whom it calls back."""
    wanted = {line.split()[-1].split("@")[0] for line in _nm(made, "-D", "--undefined-only")}
    assert wanted & {"memcpy", "GOMP_parallel"}
    assert not {name for name in wanted if re.search("alloc|free|mmap|sbrk|memalign", name)}
    relro = next(
        [int(word, 16) for word in line.split()[2:6:3]]
        for line in run("readelf", "-lW", "libkit.so", cwd=made).splitlines()
        if "GNU_RELRO" in line
    )
    begin, end = relro[0], relro[0] + relro[1]
    writable = {
        line.split()[2].split(".")[0]
        for line in _nm(made, "--defined-only")
        if line.split()[1] in "bBdDcC" and not begin <= int(line.split()[0], 16) < end
    }
    runtime = {"completed", "__dso_handle", "__TMC_END__", "__bss_start", "_edata", "_end"}
    runtime |= {"_GLOBAL_OFFSET_TABLE_"}
    assert writable - runtime == {"kit_ask_called", "processor_level"}
    exported = {line.split()[2] for line in _nm(made, "-D", "--defined-only")}
    assert {name for name in exported if not name.startswith("kit_")} == set()
    assert len(exported) == 6 * 10 + 2  # of one with callbacks
    constants = [line for line in _nm(made, "--defined-only") if "constant" in line]
    assert constants and all(line.split()[1] == "r" for line in constants)


def _nm(made, *words):
    return run("nm", *words, "libkit.so", cwd=made).splitlines()


def test_results_that_overlap_are_warned_of(made):
    """As the header says `__restrict`; an argument and its new value may be one array."""
    call = (
        '#include "kit.h"\nint f(double *u, bool *m);\nint f(double *u, bool *m)\n{ return %s; }\n'
    )
    words = ["gcc", "-std=c11", *STRICT, "-O2", "-fsyntax-only", "user.c"]
    (made / "user").mkdir()
    shutil.copy(made / "kit_update.h", made / "user" / "kit.h")
    user = made / "user" / "user.c"
    user.write_text(call % "kit_update(3, u, m, m, u, NULL)")
    done = subprocess.run(words, cwd=user.parent, capture_output=True, text=True)
    assert "-Werror=restrict" in done.stderr and "overlap" not in done.stdout
    user.write_text(call % "kit_update(3, u, m, m + 3, u, NULL)")
    run(*words, cwd=user.parent)


def test_what_a_function_does_not_need_it_does_not_have():
    def header(function, **options):
        x = ShapeDtypeStruct((3_000_000,), F64)
        lowered = transpile.jit(function, compiler_options=options).lower(x)
        text = lowered._lowering.rendered("f.h", for_c=True)
        return text.header, text.source

    plain, source = header(np.tanh)
    assert "on_threads" in plain and "NEW_WORKSPACE" not in plain and "set_num_threads" in source
    assert "NEW_WORKSPACE" in header(lambda x: x - x.mean())[0]
    assert "on_threads" not in "".join(header(np.tanh, num_threads=2))
    alone, source = header(np.tanh, openmp=False)
    assert "on_threads" in alone and "set_num_threads" not in source


def test_the_version_is_another_one_where_callers_have_to_change():
    def version(function, *arguments, **settings):
        lowered = transpile.jit(function).lower(*(ShapeDtypeStruct(*a) for a in arguments))
        header = lowered._lowering.rendered("f.h", for_c=True).header
        return re.search(r"ABI_VERSION (0x[0-9a-f]{8}U)\n", header)[1]

    x = ((3,), F64)
    same = version(lambda a: a + 1, x)
    assert version(lambda a: np.tanh(a) * 2, x) == same
    others = [
        version(lambda b: b + 1, x),
        version(lambda a: a + 1, ((4,), F64)),
        version(lambda a: a + 1, ((3,), np.dtype("int64"))),
        version(lambda a: (a + 1).sum(), x),
        version(lambda a: a + 1, (("n",), F64)),
        version(lambda a: a + 1, ((*transpile.dims("n", "n <= 8"),), F64)),
    ]
    assert len({same, *others}) == len(others) + 1
