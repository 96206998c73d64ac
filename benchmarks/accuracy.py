"""The accuracy of every elementary function, in ulp, against long double: docs/accuracy.md.

    python -m benchmarks.accuracy             writes the page
    python -m benchmarks.accuracy --points N  with N points for each function and dtype

The points are drawn over the whole domain (uniformly in the exponent, and uniformly over the part
where the function bends), with the ends of the domain, the neighbours of one and the smallest and
largest numbers among them. Single precision is compared with double, double with long double, whose
64 bits hold the exact value to 1/1000 ulp. A unit in the last place (ulp) is that of the exact
value.
"""

from __future__ import annotations

import argparse
import ctypes
import platform
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import transpile
from transpile.ir.primitive import TABLE
from transpile.scipy import special
from transpile.symbols import c_helpers

PAGE = Path(__file__).parents[1] / "docs" / "accuracy.md"
ALLOWED = {False: 4.0, True: 1.0}
WIDER = {np.dtype("f4"): np.float64, np.dtype("f8"): np.longdouble}


@dataclass(frozen=True)
class Case:
    """A function of one or two arguments, and the intervals that its arguments come from."""

    name: str
    intervals: tuple[tuple[float, float], ...]

    @property
    def function(self) -> Any:
        """NumPy's function."""
        return getattr(np, self.name)


HUGE = 1e300
CASES = (
    Case("sqrt", ((0, HUGE),)),
    Case("cbrt", ((-HUGE, HUGE),)),
    Case("exp", ((-745, 709),)),
    Case("exp2", ((-1074, 1023),)),
    Case("expm1", ((-40, 709),)),
    Case("log", ((0, HUGE),)),
    Case("log2", ((0, HUGE),)),
    Case("log10", ((0, HUGE),)),
    Case("log1p", ((-1, HUGE),)),
    Case("sin", ((-1e5, 1e5),)),
    Case("cos", ((-1e5, 1e5),)),
    Case("tan", ((-1e5, 1e5),)),
    Case("arcsin", ((-1, 1),)),
    Case("arccos", ((-1, 1),)),
    Case("arctan", ((-HUGE, HUGE),)),
    Case("sinh", ((-709, 709),)),
    Case("cosh", ((-709, 709),)),
    Case("tanh", ((-25, 25),)),
    Case("arcsinh", ((-HUGE, HUGE),)),
    Case("arccosh", ((1, HUGE),)),
    Case("arctanh", ((-1, 1),)),
    Case("power", ((0, 1e10), (-30, 30))),
    Case("arctan2", ((-HUGE, HUGE), (-HUGE, HUGE))),
    Case("hypot", ((-HUGE, HUGE), (-HUGE, HUGE))),
    Case("logaddexp", ((-700, 700), (-700, 700))),
    Case("logaddexp2", ((-1000, 1000), (-1000, 1000))),
)

# Functions of scipy.special: their row, whose meaning in long doubles is exact, and the interval,
# on which the function has no zero but those that its formula knows.
SPECIAL = (
    ("erf", "erf", (-6, 6)),
    ("erfc", "erfc", (-6, 26)),
    ("erfcx", "erfcx", (-20, 1e6)),
    ("erfinv", "erf_inv", (-1, 1)),
    ("ndtri", "ndtri", (0, 1)),
    ("dawsn", "dawsn", (-1e6, 1e6)),
    ("gamma", "gamma", (0, 171)),
    ("gammaln", "lgamma", (0, HUGE)),
    ("digamma", "digamma", (0, HUGE)),
    ("i0e", "bessel_i0e", (-HUGE, HUGE)),
    ("i1e", "bessel_i1e", (-HUGE, HUGE)),
    ("expi", "expi", (-500, 700)),
    ("spence", "spence", (0, HUGE)),
)
SPECIAL_ALLOWED = 12.0


def points(low: float, high: float, dtype: np.dtype[Any], count: int, seed: int) -> Any:
    """Numbers of an interval: by exponent, by value, near zero and one, and the edges."""
    random = np.random.default_rng(seed)
    limits = np.finfo(dtype)
    low, high = max(low, float(limits.min) / 4), min(high, float(limits.max) / 4)
    largest = max(abs(low), abs(high))
    smallest = float(limits.tiny)
    exponents = random.uniform(np.log2(smallest), np.log2(largest), count // 3)
    spread = np.exp2(exponents) * random.choice([-1.0, 1.0], len(exponents))
    even = random.uniform(max(low, -20), min(high, 20), count // 3)
    wide = random.uniform(low, high, count - 2 * (count // 3))
    near = [1 + k * float(limits.eps) for k in range(-20, 21)]
    some = [low, high, 0.0, 1.0, -1.0, smallest, float(limits.smallest_subnormal), *near]
    found = np.concatenate([spread, even, wide, some, [-v for v in near]]).astype(dtype)
    found = found[np.isfinite(found) & (found >= dtype.type(low)) & (found <= dtype.type(high))]
    random.shuffle(found)
    return found


def errors(got: Any, exact: Any, scale: Any) -> Any:
    """By how many ulp of the exact value, or of `scale` where that is larger, results are off."""
    dtype = got.dtype
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(exact), scale).astype(dtype)
        size = np.minimum(size, np.finfo(dtype).max)
        unit = np.spacing(size).astype(exact.dtype)
        off = np.abs(got.astype(exact.dtype) - exact) / unit
        overflows = np.abs(exact) > np.finfo(dtype).max
        same = (got == exact.astype(dtype)) | (np.isnan(got) & np.isnan(exact))
    return np.where(same | (overflows & np.isinf(got)), np.minimum(np.nan_to_num(off), 0.5), off)


def measure(dtype: np.dtype[Any], precise: bool, count: int) -> dict[str, tuple[float, float]]:
    """For each function the largest error, and the share of results that are not the nearest."""
    operands = {}
    for case in CASES:
        drawn = [points(*pair, dtype, count, seed) for seed, pair in enumerate(case.intervals)]
        size = min(map(len, drawn))
        operands[case.name] = [x[:size] for x in drawn]

    def everything(of: dict[str, Any]) -> dict[str, Any]:
        return {case.name: case.function(*of[case.name]) for case in CASES}

    got = transpile.jit(everything, compiler_options={"precise_math": precise})(operands)
    return {case.name: _judged(case, got[case.name], operands[case.name]) for case in CASES}


def _judged(case: Case, got: Any, operands: list[Any]) -> tuple[float, float]:
    wide = [x.astype(WIDER[got.dtype]) for x in operands]
    with np.errstate(all="ignore"):
        exact = case.function(*wide)
    cancels = case.name in ("logaddexp", "logaddexp2")
    scale = np.maximum(*map(np.abs, wide)) if cancels else np.zeros((), exact.dtype)
    off = errors(got, exact, scale)
    return float(off.max()), float((off > 0.5001).mean())


def table(count: int) -> list[dict[str, Any]]:
    """The errors of every function, by dtype and option."""
    columns = {
        (dtype.name, precise): measure(dtype, precise, count)
        for dtype in map(np.dtype, ("f4", "f8"))
        for precise in (False, True)
    }
    return [
        {"name": case.name, **{key: found[case.name] for key, found in columns.items()}}
        for case in CASES
    ]


def measure_special(dtype: np.dtype[Any], count: int) -> dict[str, tuple[float, float]]:
    """The same of the functions of scipy.special."""
    operands = {name: points(*ends, dtype, count, 0) for name, _, ends in SPECIAL}

    def everything(of: dict[str, Any]) -> dict[str, Any]:
        return {name: getattr(special, name)(x) for name, x in of.items()}

    got = transpile.jit(everything)(operands)
    found = {}
    for name, row, _ in SPECIAL:
        exact = TABLE[row].numpy(operands[name].astype(np.longdouble))
        off = errors(got[name], exact, np.zeros((), exact.dtype))
        found[name] = (float(off.max()), float((off > 0.5001).mean()))
    return found


HEAD = """# The accuracy of elementary functions

This page is made by `python -m benchmarks.accuracy`, from {count} points for each function and
dtype, over the whole domain. A number is the largest error found, in units in the last place (ulp)
of the exact value, and in brackets the share of results that are not the number nearest to it.
By default functions are this project's own ([decision a](decisions/a-own-elementary-functions.md)),
for which at most 4 ulp are allowed; with `compiler_options={{"precise_math": True}}` they are the C
library's (here {libc}) where it keeps to 1 ulp, or else its functions of the next wider type, or
this project's own. Where `long double` is no wider than `double`, some of the last column may
exceed 1 a little.

| | float32 | float32, precise | float64 | float64, precise |
|---|--:|--:|--:|--:|
"""
SPECIAL_HEAD = """
## Special functions

The same of functions of `scipy.special`, from {count} points each; the exact values are those of
series in long double, which tests hold against mpmath. Functions of several numbers have relative
errors, which stand in the comments of their helpers in `runtime_c/`: up to 3e-14 for the incomplete
gamma functions where the result is above 1e-30 (and 3e-13 at 1e-300), 1e-13 for the incomplete beta
function, and 3e-15 for the zeta and polygamma functions.

| | float32 | float64 |
|---|--:|--:|
"""
COMPLEX_HEAD = """
## Complex numbers

Functions of complex numbers are made of those of real ones, without branches, so that they have
vector code (`runtime_c/elementary/complex_functions.h`); `precise_math` takes those of C's library
where these are accurate. A number is the largest error found at {count} points, near branch points
and the unit circle among them, relative to the size of the result and in units of 2^-52, or of
2^-23 for `complex64`; 4 are allowed. Errors of `exp2`, `power` and `logistic` grow with their
intermediate results, as C's do. On a GPU these functions, those of real numbers, and arithmetic
have the same bits as on a processor with fused multiply-add, but for NaNs: conversions of float16
and bfloat16 make the one NaN of the device, where a processor keeps the payload.

| | complex64 | complex128 |
|---|--:|--:|
"""
NOTES = """
The errors of `logaddexp` and `logaddexp2` are in ulp of the larger operand: the result is a sum of
that and a logarithm, which may cancel.
"""


COMPLEX = (
    *("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"),
)
COMPLEX_ALLOWED = 4.0
HEADERS = ("math.h", "stdint.h", "stdbool.h", "complex.h", "string.h")
FLAGS = ("-std=c11", "-O2", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")


def complex_points(count: int) -> Any:
    """Complex numbers of ordinary and of small size, near the unit circle, near the axes and near
    the branch points."""
    random = np.random.default_rng(5)

    def sizes(low: float, high: float) -> Any:
        return np.exp2(random.uniform(low, high, count // 5)) * random.choice(
            [-1.0, 1.0], count // 5
        )

    circle = (1 + sizes(-40, -1)) * np.exp(2j * np.pi * random.random(count // 5))
    axis, tiny = sizes(-5, 3), sizes(-40, -3)
    near_one = np.sign(sizes(0, 1)) * (1 + sizes(-50, -3)) + 1j * sizes(-60, -3)
    ordinary = sizes(-12, 5) + 1j * sizes(-12, 5)
    return np.concatenate([ordinary, sizes(-40, -3) + 1j * tiny, circle, axis + 1j * tiny, near_one,
                           1j * (axis + 1j * tiny)])  # fmt: skip


def measure_complex(count: int, dtype: str = "complex128") -> dict[str, float]:
    """For each function of complex numbers the largest error relative to the size of the result, in
    units of the last place of 1. The exact values are those of long doubles."""
    suffix, number = {"complex64": ("c64", "float"), "complex128": ("c128", "double")}[dtype]
    parts = [f"#include <{header}>" for header in HEADERS]
    parts += c_helpers.collect({f"{name}_{suffix}" for name in COMPLEX})
    parts += [
        f"void all_{name}(const {number} complex *x, {number} complex *y, long n)\n"
        f"{{ for (long i = 0; i < n; i++) y[i] = {name}_{suffix}(x[i]); }}"
        for name in COMPLEX
    ]
    x = complex_points(count).astype(dtype)
    worst = {}
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "complex.c", Path(folder) / "complex.so"
        source.write_text("\n".join(parts), encoding="utf-8")
        subprocess.run(["cc", *FLAGS, source, "-o", library, "-lm"], check=True)
        functions = ctypes.CDLL(str(library))
        for name in COMPLEX:
            got = np.empty_like(x)
            addresses = (ctypes.c_void_p(v.ctypes.data) for v in (x, got))
            getattr(functions, f"all_{name}")(*addresses, ctypes.c_long(len(x)))
            exact = getattr(np, name)(x.astype(np.clongdouble))
            worst[name] = float(np.max(np.abs(got - exact) / np.abs(exact)) / np.finfo(dtype).eps)
    return worst


def complex_page(count: int) -> str:
    """The text of the part on complex functions."""
    columns = [measure_complex(count, dtype) for dtype in ("complex64", "complex128")]
    cells = (f"| `{n}` | {' | '.join(f'{c[n]:.2f}' for c in columns)} |\n" for n in COMPLEX)
    return COMPLEX_HEAD.format(count=f"{count:,}".replace(",", " ")) + "".join(cells)


def page(rows: list[dict[str, Any]], count: int) -> str:
    """The text of the page."""
    lines = [HEAD.format(count=f"{count:,}".replace(",", " "), libc=" ".join(platform.libc_ver()))]
    over = []
    for row in rows:
        cells = []
        for dtype in ("float32", "float64"):
            for precise in (False, True):
                worst, share = row[dtype, precise]
                cells.append(f"{worst:.2f} ({100 * share:.2g} %)")
                if worst > ALLOWED[precise]:
                    option = " with precise_math" if precise else ""
                    over.append(f"`{row['name']}` of {dtype}{option}: {worst:.2f}")
        lines.append(f"| `{row['name']}` | {' | '.join(cells)} |\n")
    lines.append(NOTES)
    if over:
        lines.append("\nOver the limit: " + ", ".join(over) + ".\n")
    return "".join(lines)


def special_page(count: int) -> str:
    """The text of the part on special functions."""
    columns = [measure_special(np.dtype(name), count) for name in ("f4", "f8")]
    lines = [SPECIAL_HEAD.format(count=f"{count:,}".replace(",", " "))]
    for name, *_ in SPECIAL:
        cells = [f"{found[name][0]:.2f} ({100 * found[name][1]:.2g} %)" for found in columns]
        lines.append(f"| `{name}` | {' | '.join(cells)} |\n")
    return "".join(lines)


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--points", type=int, default=1_000_000)
    count = parser.parse_args().points
    text = page(table(count), count) + special_page(max(count // 10, 1000)) + complex_page(count)
    PAGE.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
