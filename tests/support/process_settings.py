"""A program of its own: compile some functions under settings of a process, and print what came of
it, which must be the same under all of them. tests/processes/test_process_settings.py runs it.

    python process_settings.py CACHE SETTING...
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

    transpile.debug.print("x = {} of {}", x[0], SINGLE)
    return x + SINGLE


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


def limits(_):
    """The least recursion, digits and time slices."""
    sys.setrecursionlimit(400)
    sys.set_int_max_str_digits(640)
    sys.setswitchinterval(1e-6)


SETTINGS = {
    "none": lambda _: None,
    "legacy 1.13": lambda _: np.set_printoptions(legacy="1.13"),
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
    "umask": lambda _: os.umask(0o777),
    "directory": leave_directory,
    "limits": limits,
}


def digest(data):
    """A hash, to compare."""
    return hashlib.sha256(data).hexdigest()[:16]


def leaves(result):
    return result if isinstance(result, tuple) else (result,)


def is_numpys(function, results, x):
    """True if these are NumPy's results: products by numbers to the bit."""
    with np.errstate(all="ignore"):
        wanted = leaves(function(x))
        if function is constants and results[0].tobytes() != wanted[0].tobytes():
            return False
        return all(np.allclose(a, b, rtol=1e-3) for a, b in zip(results, wanted, strict=True))


def facts_of(function):
    """What has to be the same everywhere."""
    import transpile

    x = np.array([0.5, 1.0, 1.0, 1.0, 2.0, -1.0, 1.0])
    lowered = transpile.jit(function, compiler_options={"opt_level": 0, "blas": "none"}).lower(x)
    compiled = lowered.compile()
    results = leaves(compiled(x))
    executable = compiled.runtime_executable()
    return {
        "key": executable.entry.key,
        "graph": digest(lowered.as_text("graph").encode()),
        "text": digest(lowered.as_text().encode()),
        "header": digest(executable.lowering.rendered("x.h").header.encode()),
        "results": digest(b"".join(r.tobytes() for r in results)),
        "is_numpys": is_numpys(function, results, x),
    }


def under(setting, cache):
    """Print what comes of every function under a setting, as a line."""
    os.environ["TRANSPILE_CACHE_DIR"] = cache
    with tempfile.TemporaryDirectory() as directory:
        SETTINGS[setting](directory)
        found = {f.__name__: facts_of(f) for f in (constants, loops, printed)}
    print("\n" + json.dumps(found), flush=True)


def main(cache, *settings):
    """A process for each setting, forked from this one, which has imported everything."""
    import transpile

    transpile.jit(lambda x: np.exp(x) + 1).lower(np.ones(3)).as_text()
    for number, setting in enumerate(settings):
        child = os.fork()
        if child == 0:
            try:
                under(setting, os.path.join(cache, str(number)))
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            sys.exit(f"{setting} failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
