"""A program of its own: compile some functions under a setting of the process, and print what came
of it, which must be the same under all of them. tests/test_process_settings.py runs it.

    python process_settings.py SETTING CACHE
"""

import ctypes
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

SINGLE = np.nextafter(np.float32(0.1), np.float32(1))
VALUES = np.array([1 / 3, 1e-310, 5e-324, -0.0, np.inf, 1e22, 2**53 + 2], np.float64)


def constants(x):
    """Numbers of every float dtype, and subnormal ones."""
    half = np.float16(0.33325)
    single, small = x.astype(np.float32), x.astype(np.float16)
    return x * VALUES, single * SINGLE, small * half, x * (1 / 3 - 2e-5j), small + 0.1


def loops(x):
    """Helpers, kernels, a sum over threads and one over an axis."""
    e = np.exp(x - x.max())
    return np.outer(e, e).sum(0) / e.sum(), np.sort(x), x @ np.cos(x)


def printed(x):
    """A message."""
    import transpile

    transpile.debug.print("x = {} of {}", x[0], 0.1)
    return x + np.float32(1e-3)


# -- settings ------------------------------------------------------------------------------------


def flush_to_zero(directory):
    """Load a library linked with -ffast-math, as some packages are."""
    source = os.path.join(directory, "nothing.c")
    with open(source, "w") as file:
        file.write("int nothing(void);\nint nothing(void) { return 0; }\n")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-ffast-math", "-o", f"{source}.so", source], check=True
    )
    ctypes.CDLL(f"{source}.so")


def set_rounding(mode):
    """FE_UPWARD and its like, by their numbers on x86-64; elsewhere the C library refuses."""
    ctypes.CDLL("libm.so.6").fesetround(mode)


def leave_directory(directory):
    """Stand in a directory that is deleted."""
    lost = os.path.join(directory, "lost")
    os.mkdir(lost)
    os.chdir(lost)
    os.rmdir(lost)


def set_locale(_):
    """The first locale of this machine whose numbers have a comma."""
    import locale

    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR", ""):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        return


def decimals(_):
    import decimal

    decimal.getcontext().prec = 2
    decimal.getcontext().traps[decimal.Inexact] = True


SETTINGS = {
    "none": lambda _: None,
    "legacy 1.13": lambda _: np.set_printoptions(legacy="1.13"),
    "legacy 1.21": lambda _: np.set_printoptions(legacy="1.21"),
    "legacy 1.25": lambda _: np.set_printoptions(legacy="1.25"),
    "precision": lambda _: np.set_printoptions(
        precision=2, suppress=True, threshold=2, floatmode="fixed", sign="+", nanstr="?"
    ),
    "formatter": lambda _: np.set_printoptions(formatter={"all": lambda x: "?"}),
    "seterr": lambda _: np.seterr(all="raise"),
    "warnings": lambda _: warnings.simplefilter("error"),
    "decimal": decimals,
    "locale": set_locale,
    "flush to zero": flush_to_zero,
    "round upwards": lambda _: set_rounding(0x800),
    "round to zero": lambda _: set_rounding(0xC00),
    "umask 0": lambda _: os.umask(0),
    "umask 777": lambda _: os.umask(0o777),
    "directory": leave_directory,
    "recursion": lambda _: sys.setrecursionlimit(400),
    "digits": lambda _: sys.set_int_max_str_digits(640),
    "switches": lambda _: sys.setswitchinterval(1e-6),
}


def digest(data):
    """A hash, to compare."""
    return hashlib.sha256(data).hexdigest()[:16]


def raw(results):
    """The bytes of results, without NumPy's arithmetic or printing."""
    return b"".join(np.ascontiguousarray(r).tobytes() for r in results)


def main(setting, cache):
    os.environ["TRANSPILE_CACHE_DIR"] = cache
    with tempfile.TemporaryDirectory() as directory:
        SETTINGS.get(setting, SETTINGS["none"])(directory)
        import transpile

        found = {}
        x = np.array([0.5, 1.0, 1.0, 1.0, 2.0, -1.0, 1.0])
        for function in (constants, loops, printed):
            jitted = transpile.jit(function, compiler_options={"opt_level": 0, "blas": "none"})
            lowered = jitted.lower(x)
            compiled = lowered.compile()
            results = compiled(x)
            results = results if isinstance(results, tuple) else (results,)
            entry = compiled.runtime_executable().entry
            found[function.__name__] = {
                "key": entry.key,
                "graph": digest(str(lowered.as_text("graph")).encode()),
                "text": digest(lowered.as_text().encode()),
                "header": digest(
                    lowered.compile().runtime_executable().lowering.rendered("x.h").header.encode()
                ),
                "results": digest(raw(results)),
            }
    os.umask(0o77)
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
