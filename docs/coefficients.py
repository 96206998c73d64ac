"""Derives every polynomial of `runtime_c/`, so that the coefficients there are reproducible.

`python docs/coefficients.py` prints, for each function and precision, the coefficients (lowest
power first, as C hexadecimal literals) and the weighted error of the rounded polynomial in bits.
`python docs/coefficients.py sin` prints those whose name contains `sin`, and
`python docs/coefficients.py pi` the table of 1 / pi.

The method is the exchange algorithm of Remez on a fixed fine grid (J.-M. Muller, *Elementary
Functions*, 3rd edition, chapter 3), in 50 digits. Coefficients are rounded one at a time, lowest
power first, and the rest is fitted again each time (by least squares, to the best polynomial), so
that later coefficients absorb the rounding of earlier ones.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from mpmath import mp, mpf

mp.dps = 50

Function = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Fit:
    """Minimise max |weight(t) (target(t) - P(t))| on [low, high], P with `count` coefficients."""

    name: str
    count: int
    bits: int
    low: mpf
    high: mpf
    target: Function
    weight: Function


def rounded(value: mpf, bits: int) -> mpf:
    """The nearest number with `bits` bits."""
    with mp.workprec(bits):
        return +value


def literal(value: mpf, bits: int) -> str:
    """A C literal: hexadecimal, with the suffix of its type."""
    mantissa, exponent = float(value).hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}" + ("f" if bits == 24 else "")


def alternation(errors: list[mpf], wanted: int) -> list[int]:
    """Indices of `wanted` extrema of alternating sign, the largest ones."""
    peaks: list[int] = []
    for index, error in enumerate(errors):
        if peaks and (error > 0) == (errors[peaks[-1]] > 0):
            if abs(error) > abs(errors[peaks[-1]]):
                peaks[-1] = index
        else:
            peaks.append(index)
    while len(peaks) > wanted:
        peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
    return peaks


def remez(grid: list[mpf], target: list[mpf], weight: list[mpf], count: int) -> list[mpf]:
    """Coefficients of the minimax polynomial of degree count - 1 on the grid."""
    size = count + 1
    nodes = [round((len(grid) - 1) * mpf(k) / count) for k in range(size)]
    coefficients: list[mpf] = []
    for _ in range(20):
        rows = [[grid[i] ** j for j in range(count)] for i in nodes]
        matrix = mp.matrix([[*row, (-1) ** k / weight[nodes[k]]] for k, row in enumerate(rows)])
        solution = mp.lu_solve(matrix, mp.matrix([target[i] for i in nodes]))
        coefficients = list(solution)[:count]
        errors = weighted_errors(grid, target, weight, coefficients)
        nodes = alternation(errors, size)
        sizes = [abs(errors[i]) for i in nodes]
        if len(nodes) < size:
            raise ArithmeticError("the exchange lost its alternation: use a finer grid")
        if max(sizes) < min(sizes) * mpf("1.001"):
            break
    return coefficients


def weighted_errors(
    grid: list[mpf], target: list[mpf], weight: list[mpf], coefficients: list[mpf]
) -> list[mpf]:
    """weight (target - sum_j c_j t^j) on the grid."""
    reverse = coefficients[::-1]
    return [w * (f - mp.polyval(reverse, t)) for t, f, w in zip(grid, target, weight, strict=True)]


def least_squares(
    grid: list[mpf], target: list[mpf], weight: list[mpf], first: int, count: int
) -> list[mpf]:
    """Coefficients of t^first ... t^(first + count - 1) nearest the target in the weighted norm."""
    power = [
        [w * t ** (first + j) for t, w in zip(grid, weight, strict=True)] for j in range(count)
    ]
    right = [w * f for w, f in zip(weight, target, strict=True)]
    normal = mp.matrix([[mp.fdot(a, b) for b in power] for a in power])
    return list(mp.lu_solve(normal, mp.matrix([mp.fdot(a, right) for a in power])))


def solve(fit: Fit) -> tuple[list[mpf], mpf]:
    """The rounded coefficients and the largest weighted error that they leave."""
    points = 20 * fit.count
    middle, half = (fit.high + fit.low) / 2, (fit.high - fit.low) / 2
    # Chebyshev-like spacing, never exactly zero: the targets have removable singularities there
    angles = [mp.pi * (2 * k + 1) / (2 * points) for k in range(points)]
    grid = [middle - half * mp.cos(angle) for angle in angles]
    # a weight has one sign, or the errors would not alternate
    weight = [abs(fit.weight(t)) for t in grid]
    target = [fit.target(t) for t in grid]
    best = remez(grid, target, weight, fit.count)
    rest = [mp.polyval(best[::-1], t) for t in grid]
    done: list[mpf] = []
    for first in range(fit.count):
        value = rounded(least_squares(grid, rest, weight, first, fit.count - first)[0], fit.bits)
        done.append(value)
        rest = [f - value * t**first for f, t in zip(rest, grid, strict=True)]
    return done, max(abs(error) for error in weighted_errors(grid, target, weight, done))


def square_root(function: Function) -> Function:
    """As a function of t = r^2, for odd and even functions of r."""
    return lambda t: function(mp.sqrt(t))


def scaled_erfc(t: mpf) -> mpf:
    """(1 + 2 r) exp(r^2) erfc(r) for r = 4 (1 + t) / (1 - t)."""
    r = 4 * (1 + t) / (1 - t)
    return (1 + 2 * r) * mp.exp(r * r) * mp.erfc(r)


LN2_HALF = mp.log(2) / 2 * mpf("1.002")
ROOT_HALF, ROOT_TWO = mp.sqrt(2) / 2, mp.sqrt(2)
LOG_S = ((ROOT_TWO - 1) / (ROOT_TWO + 1)) ** 2


def fits() -> list[Fit]:
    """All polynomials of runtime_c/, in the order of its files."""
    found: list[Fit] = []

    def both(name, counts, low, high, target, weight):
        for bits, count in zip((24, 53), counts, strict=True):
            if count:
                suffix = "f32" if bits == 24 else "f64"
                interval = (mpf(low), mpf(high))
                found.append(Fit(f"{name}_{suffix}", count, bits, *interval, target, weight))

    # exp(r) = 1 + r + r^2 P(r), relative to exp(r) - 1
    both(
        "exp",
        (5, 10),
        -LN2_HALF,
        LN2_HALF,
        lambda r: (mp.expm1(r) - r) / r**2,
        lambda r: r**2 / mp.expm1(r),
    )
    # 2^r = 1 + r P(r)
    both(
        "exp2",
        (6, 11),
        -0.501,
        0.501,
        lambda r: mp.expm1(r * mp.log(2)) / r,
        lambda r: r / 2**r,
    )
    # the same, and log2((1 + s) / (1 - s)) = s P(s^2), in double for single precision functions
    fit_exp2 = Fit(
        "exp2_wide_f32",
        7,
        53,
        mpf("-0.501"),
        mpf("0.501"),
        lambda r: mp.expm1(r * mp.log(2)) / r,
        lambda r: r / 2**r,
    )
    fit_log2 = Fit(
        "log2_ratio_f32",
        5,
        53,
        mpf(0),
        LOG_S,
        square_root(lambda s: 2 * mp.atanh(s) / mp.log(2) / s),
        square_root(lambda s: s / (2 * mp.atanh(s) / mp.log(2))),
    )
    found += [fit_exp2, fit_log2]
    # log(1 + f) = f - f^2/2 + f^3 P(f)
    both(
        "log",
        (9, 0),
        ROOT_HALF - 1,
        ROOT_TWO - 1,
        lambda f: (mp.log1p(f) - f + f * f / 2) / f**3,
        lambda f: f**3 / mp.log1p(f),
    )
    # log((1 + s) / (1 - s)) = 2 s + s^3 P(s^2)
    both(
        "log_ratio",
        (3, 7),
        0,
        LOG_S,
        square_root(lambda s: (2 * mp.atanh(s) - 2 * s) / s**3),
        square_root(lambda s: s**3 / (2 * mp.atanh(s))),
    )
    # sin(r) = r + r^3 P(r^2) on half a turn; the single precision routine evaluates it in double
    for name, count in (("sin_f32", 4), ("sin_f64", 8)):
        found.append(
            Fit(
                name,
                count,
                53,
                mpf(0),
                (mp.pi / 2 * mpf("1.0001")) ** 2,
                square_root(lambda r: (mp.sin(r) - r) / r**3),
                square_root(lambda r: r**3 / mp.sin(r)),
            )
        )
    # tan(r) = r + r^3 P(r^2) on a quarter turn; the single precision routine evaluates it in double
    for name, count in (("tan_f32", 7), ("tan_f64", 14)):
        found.append(
            Fit(
                name,
                count,
                53,
                mpf(0),
                (mp.pi / 4 * mpf("1.0001")) ** 2,
                square_root(lambda r: (mp.tan(r) - r) / r**3),
                square_root(lambda r: r**3 / mp.tan(r)),
            )
        )
    # tanh(r) = r + r^3 P(r^2) up to 9/16
    both(
        "tanh",
        (5, 10),
        0,
        0.317,
        square_root(lambda r: (mp.tanh(r) - r) / r**3),
        square_root(lambda r: r**3 / mp.tanh(r)),
    )
    # arctan(r) = r + r^3 P(r^2) up to 1/2
    both(
        "arctan",
        (6, 12),
        0,
        0.25,
        square_root(lambda r: (mp.atan(r) - r) / r**3),
        square_root(lambda r: r**3 / mp.atan(r)),
    )
    # arcsin(r) = r + r^3 P(r^2) up to 1/2
    both(
        "arcsin",
        (5, 13),
        0,
        0.25,
        square_root(lambda r: (mp.asin(r) - r) / r**3),
        square_root(lambda r: r**3 / mp.asin(r)),
    )
    # log2((1 + s) / (1 - s)) = a s + a/3 s^3 + s^5 P(s^2), a = 2 / log 2, for numpy.power
    both(
        "log2_ratio_tail",
        (0, 7),
        0,
        LOG_S,
        square_root(lambda s: (2 * mp.atanh(s) - 2 * s - 2 * s**3 / 3) / mp.log(2) / s**5),
        square_root(lambda s: s**5 / (2 * mp.atanh(s) / mp.log(2))),
    )
    # log2(1 + f) = 3/2 f - 3/4 f^2 + f P(f), log10(1 + f) = c f - f^2/4 + f P(f), c = log10(e) in
    # single precision
    for name, base, count, first, second in (
        ("log2_rest", mpf(2), 10, mpf("1.5"), mpf("0.75")),
        ("log10_rest", mpf(10), 11, rounded(1 / mp.log(10), 24), mpf("0.25")),
    ):
        both(
            name,
            (count, 0),
            ROOT_HALF - 1,
            ROOT_TWO - 1,
            lambda f, base=base, first=first, second=second: (
                mp.log1p(f) / mp.log(base) / f - first + second * f
            ),
            lambda f, base=base: f * mp.log(base) / mp.log1p(f),
        )
    # t^(-1/3) near one, which corrects the first guess of numpy.cbrt
    both(
        "cbrt_correction",
        (4, 7),
        "0.902",
        "1.1085",
        lambda t: 1 / mp.cbrt(t),
        lambda t: mp.cbrt(t),
    )
    # erf(r) = r P(r^2) up to 1
    for name, count in (("erf_f32", 7), ("erf_f64", 15)):
        target = square_root(lambda r: mp.erf(r) / r)
        weight = square_root(lambda r: r / mp.erf(r))
        found.append(Fit(name, count, 53, mpf(0), mpf(1), target, weight))
    # (1 + 2 r) exp(r^2) erfc(r) = P(t), t = (r - 4) / (r + 4), r from 1/2 to 28 (10.5)
    for name, count, bits, low, high in (
        ("erfc_f32", 10, 53, 0.5, 10.5),
        ("erfc_f64", 24, 53, 0.5, 28),
    ):
        target = scaled_erfc
        ends = [(mpf(r) - 4) / (mpf(r) + 4) for r in (low, high)]
        found.append(Fit(name, count, bits, *ends, target, lambda t: 1 / scaled_erfc(t)))
    return found


def windows_of_reciprocal_pi() -> list[list[mpf]]:
    """For each block of 32 exponents of x: the part of 2^128 / pi that matters modulo 2.

    Row r serves 2^(32 r + 1) <= |x| < 2^(32 r + 33). Bits of 1 / pi whose product with any such x
    is a multiple of 2 may go, as long as x times the rest stays at least 2^54: its leading double
    is then an even integer. The rest is given as a sum of four doubles.
    """
    rows = []
    with mp.workprec(1600):
        for row in range(32):
            low = 32 * row + 1
            weight = mpf(2) ** (54 - low)
            kept = 1 / mp.pi
            if row > 1:
                while (kept := (1 / mp.pi) % weight) < mpf(2) ** (54 - low):
                    weight *= 2
            rest = kept * mpf(2) ** 128
            parts = []
            for _ in range(4):
                parts.append(rounded(rest, 53))
                rest -= parts[-1]
            rows.append(parts)
    return rows


def print_windows() -> None:
    """The table of `half_turns_f64`, as C."""
    for row in windows_of_reciprocal_pi():
        print("        {" + ", ".join(literal(value, 53) for value in row) + "},")


def main() -> None:
    """Print the fits whose name contains the first argument, or all, or the table of 1 / pi."""
    if sys.argv[1:] == ["pi"]:
        print_windows()
        return
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for fit in fits():
        if wanted in fit.name:
            coefficients, error = solve(fit)
            print(f"{fit.name}: error 2^{float(mp.log(error, 2)):.1f}")
            for power, value in enumerate(coefficients):
                print(f"    c{power} = {literal(value, fit.bits)}")


if __name__ == "__main__":
    main()
