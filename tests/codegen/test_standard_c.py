"""What is saved is C11 without a warning, with OpenMP and without, and headers are C++17, too."""

import subprocess

import numpy as np
import pytest
from golden_functions import FUNCTIONS

import transpile
from transpile.build import toolchain
from transpile.options import Options

pytestmark = pytest.mark.full_level

STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsyntax-only"]
OPTIONS = {"openmp": True, "blas": "none"}


def printing(x, z):
    """With complex numbers of both kinds, and a message."""
    transpile.debug.print("x = {}", x)
    return x * z, np.abs(z), (z * 2).astype(np.complex64)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A directory with the C file and the header of each function."""
    directory = tmp_path_factory.mktemp("programs")
    numbers = (np.ones(30), np.ones(30, complex))
    for function, arguments in {**FUNCTIONS, printing: numbers}.items():
        lowered = transpile.jit(function, compiler_options=OPTIONS).lower(*arguments)
        text = lowered._lowering.rendered(f"{function.__name__}.h", for_c=True)
        (directory / f"{function.__name__}.c").write_text(text.source)
        (directory / f"{function.__name__}.h").write_text(text.header)
    return directory


def check(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("flags", [["-std=c11"], ["-std=c17", "-fopenmp"], ["-std=gnu11", "-O2"]])
def test_c_is_compiled_without_a_warning(written, flags):
    compiler = toolchain.find_compiler(Options())
    if "-fopenmp" not in flags or compiler.openmp:
        check(*compiler.command, *flags, *STRICT, *sorted(written.glob("*.c")))


@pytest.mark.parametrize("standard", ["c++11", "c++17", "c++20"])
def test_headers_are_cpp_and_go_together(written, standard):
    """Also those with complex numbers, which C++ passes as std::complex."""
    source = written / f"user_{standard}.cc"
    lines = [f'#include "{path.name}"' for path in sorted(written.glob("*.h"))]
    lines += [
        "int called(void);",
        "int called(void)",
        "{",
        "    std::complex<double> z[30] = {}, c[30], w[30];",
        "    std::complex<float> s[30];",
        "    double x[30] = {}, r[30];",
        "    bool b[1000];",
        "    return printing(x, z, w, r, s, nullptr) + mandelbrot_step(z, c, w, b, nullptr);",
        "}",
    ]
    source.write_text("\n".join(lines) + "\n")
    compiler = toolchain.find_compiler(Options()).command
    check(*compiler, "-x", "c++", f"-std={standard}", "-pedantic", *STRICT, source)


def test_headers_of_f_and_capital_f_are_two(tmp_path):
    """Their guards were one, so that the second header had nothing."""
    for name in ("f", "F"):
        values = {}
        exec(f"def {name}(x):\n    return x + 1\n", values)
        lowered = transpile.jit(values[name], compiler_options=OPTIONS).lower(np.ones(3))
        (tmp_path / f"{name}.h").write_text(lowered._lowering.rendered(f"{name}.h").header)
    lines = [
        '#include "f.h"',
        '#include "F.h"',
        "int (*one)(const double *, double *, void *) = f;",
    ]
    lines += ["int (*two)(const double *, double *, void *) = F;"]
    (tmp_path / "user.c").write_text("\n".join(lines) + "\n")
    check(*toolchain.find_compiler(Options()).command, *STRICT, tmp_path / "user.c")
