"""Results of C compared with NumPy's, for every primitive: how near they are, and where NumPy's
depend on the machine."""

import platform
from dataclasses import dataclass

import numpy as np
from complex_errors import within_relative

from transpile.ir.primitive import TABLE
from transpile.ir.types import HALVES, finfo, kind_letter
from transpile.transforms.interpret import interpret

WIDER = {2: np.float64, 4: np.float64, 8: np.longdouble}
ULPS = 4
# Special functions of two and more operands, or of those that are sums which may cancel: their
# tests say more (test_special_functions).
ULPS_OF = {
    "zeta": 12,
    "polygamma": 4000,
    "lgamma": 8,
    "digamma": 8,
    **dict.fromkeys(("gamma", "dawsn", "ndtri", "expn", "expi"), 16),
    **dict.fromkeys(("sine_integral", "cosine_integral"), 16),
    **dict.fromkeys(("fresnel_sine", "fresnel_cosine"), 64),
    **dict.fromkeys(("igamma", "igammac", "igamma_grad_a", "random_gamma_grad", "betainc"), 2000),
}
# The largest size at which an ulp counts where the terms of a sum are as large.
WHOLE = {"betainc", "cosine_integral"}
SIZES = {
    "lgamma": 4.0,
    "digamma": 4.0,
    "polygamma": 1.0,
    "zeta": 1.0,
    "betainc": 1.0,
    "cosine_integral": 1.0,
}
# Halves are computed in float32: what they are off by is one rounding.
ULPS_OF_HALVES = 1
# Relative errors of complex results, in units of the precision of their parts.
COMPLEX_ULPS = 16
# NumPy adds one before it takes the logarithm: errors are relative to one.
COMPLEX_SIZES = {"log1p": 1.0}
# Sums of an operand and a logarithm: their errors are relative to the operand.
CANCELLING = {"logaddexp", "logaddexp2"}
# Where -0.0 meets 0.0, NumPy gives one or the other, by the place in the array.
EITHER_ZERO = {"maximum", "minimum", "fmax", "fmin"}


def numpy_results(batch):
    """The results of a batch by the table's NumPy column."""
    with np.errstate(all="ignore"):
        return interpret(batch.graph(), batch.values)


def same_bits(got, want):
    """Where two arrays are equal, NaN like NaN and 0.0 unlike -0.0."""
    if want.dtype.kind == "c":
        return same_bits(got.real, want.real) & same_bits(got.imag, want.imag)
    if kind_letter(want.dtype) != "f":
        return got == want
    return ((got == want) & (np.signbit(got) == np.signbit(want))) | (
        np.isnan(got) & np.isnan(want)
    )


def within_ulps(got, want, ulps, scale=0):
    """Where floats are near the value of a wider type, infinities and NaN the same; an ulp is that
    of the value, or of `scale` where that is larger."""
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        unit = np.spacing(np.maximum(np.abs(rounded), scale).astype(got.dtype)).astype(want.dtype)
        near = np.abs(got.astype(want.dtype) - want) <= ulps * unit
        # Just above the largest number either answer is right.
        edge = np.isinf(got) & (np.abs(rounded) >= float(finfo(got.dtype).max) * (1 - 1e-6))
    special = ~np.isfinite(rounded)
    return np.where(special, same_bits(got, rounded), near | edge)


def agrees(primitive, operands, params, got, want, elsewhere=""):
    """Where a result of C is as good as NumPy's; `elsewhere`: C has run with another "C library",
    or on another "processor"."""
    dtype = operands[0].dtype
    letter = kind_letter(dtype)
    if primitive.name == "convert_element_type" and letter in "fc" and params["dtype"].kind in "iu":
        return same_bits(got, want) | ~NumpyConversion(params["dtype"], elsewhere).is_settled(
            operands[0].real
        )
    if elsewhere and dtype.kind == "c" and primitive.name == "power":
        return _power_agrees(*operands, got)  # NumPy calls cpow of this machine's C library
    if (
        dtype.kind == "c"
        and want.dtype.kind in "fc"
        and primitive.cost
        and primitive.name != "conjugate"
    ):
        near = within_relative(got, want, COMPLEX_ULPS, COMPLEX_SIZES.get(primitive.name, 0.0))
        if primitive.name in ("multiply", "square"):  # inf - inf, where NumPy has one rounding less
            parts = [part for x in operands for part in (x.real, x.imag)]
            huge = np.any([np.isfinite(p) & (np.abs(p) > 1e18) for p in parts], axis=0)
            near |= huge & ~np.isfinite(got) & ~np.isfinite(want)
        return near
    if letter == "f" and primitive.transcendental:
        wide = [x.astype(WIDER[dtype.itemsize]) for x in operands]
        with np.errstate(all="ignore"):
            exact = primitive.numpy(*wide, **params)
        scale = np.maximum(*map(np.abs, wide)) if primitive.name in CANCELLING else 0
        if primitive.name in SIZES:
            scale = np.where((wide[-1] < 0) | (primitive.name in WHOLE), SIZES[primitive.name], 0)
        ulps = ULPS_OF_HALVES if dtype in HALVES else ULPS_OF.get(primitive.name, ULPS)
        return within_ulps(got, exact, ulps, scale) | same_bits(got, want)
    if primitive.name in EITHER_ZERO and kind_letter(want.dtype) == "f":
        return same_bits(got, want) | ((got == 0) & (want == 0) & ~same_bits(*operands))
    if primitive.name == "nextafter" and dtype == np.float16:
        # Of two zeros the second, as in other formats; NumPy below 2.5 gives the first.
        x, y = operands
        return same_bits(got, np.where((x == 0) & (y == 0), y, want))
    return same_bits(got, want)


def _power_agrees(x, y, got):
    """Where a complex power is as near as exp(y log(x)) in its own precision. What is not settled
    by that, infinities and what is near them, C libraries give in ways of their own."""
    with np.errstate(all="ignore"):
        x, y = x.astype(np.clongdouble), y.astype(np.clongdouble)
        exponent = y * np.log(x)
        exact, info = np.exp(exponent), np.finfo(got.dtype)
        relative = COMPLEX_ULPS * info.eps * (1 + np.abs(exponent))
        near = np.abs(got - exact) <= relative * np.abs(exact) + info.tiny
    return near | ~((relative < 1) & (np.abs(exact) < info.max / 4))


class NumpyConversion:
    """Which numbers NumPy converts to an integer dtype in one way only.

    C leaves it undefined what becomes of those out of range. On x86 NumPy gives what the processor
    gives, except that for uint32 it depends on the place in the array. `elsewhere`: C has run on
    another "processor".
    """

    def __init__(self, target, elsewhere=""):
        self.target, self.elsewhere = target, elsewhere

    def is_settled(self, x):
        info = np.iinfo(self.target)
        x = x.astype(np.longdouble)
        fits = (x > info.min - np.longdouble(1)) & (x < info.max + np.longdouble(1))
        if self.elsewhere == "processor" or platform.machine() not in ("x86_64", "AMD64"):
            return fits
        if self.target == np.uint32:
            return fits | ((x < 0) & (x > -(2.0**31)))
        return np.full(x.shape, True)


def is_exact(primitive, dtype):
    """True if a primitive over arrays leaves no choice in the order of rounding."""
    moves = primitive.kind in ("view", "generate", "piecewise", "sort")
    return moves or dtype.kind in "biu" or primitive.combine in ("maximum", "minimum")


@dataclass(frozen=True)
class Verdict:
    """What is to be said of a case of a batch.

    good    where the result of C is as good as NumPy's
    exact   whether all of it has the bits that NumPy gives
    """

    name: str
    params: dict
    operands: list
    got: np.ndarray
    want: np.ndarray
    good: np.ndarray

    @property
    def exact(self):
        return bool(np.all(same_bits(self.got, self.want)))

    def __str__(self):
        bad = ~np.asarray(self.good)
        where = tuple(np.argwhere(bad)[0])
        values = [v[where] if isinstance(v, np.ndarray) else v for v in self.operands]
        return (
            f"{self.name} {self.params} of {values}: {self.got[where]!r}, NumPy "
            f"{self.want[where]!r} ({np.count_nonzero(bad)} of {self.want.size})"
        )


def verdicts(batch, results, elsewhere=""):
    """Compare each case of a batch with NumPy."""
    for (name, atoms, params, _), got, want in zip(
        batch.cases, results, numpy_results(batch), strict=True
    ):
        assert (got.dtype, got.shape) == (want.dtype, want.shape), name
        primitive = TABLE[name]
        shown = [str(a.type) for a in atoms]
        if not want.size:
            good = np.array(True)
        elif primitive.kind == "elementwise":
            shown = [np.broadcast_to(batch.value(a), want.shape) for a in atoms]
            good = agrees(primitive, shown, params, got, want, elsewhere)
        else:
            good = _arrays_agree(primitive, got, want)
        yield Verdict(name, params, shown, got, want, np.broadcast_to(good, want.shape))


def _arrays_agree(primitive, got, want):
    """Where a result of a primitive over arrays is as good as NumPy's."""
    if is_exact(primitive, want.dtype):
        return same_bits(got, want)
    if primitive.kind in ("fft", "convolve"):  # each element is a sum of many, and may cancel
        return np.abs(got - want) <= 8 * finfo(want.dtype).eps * np.max(np.abs(want))
    if want.dtype.kind == "c":
        return within_relative(got, want, 100 * COMPLEX_ULPS)
    ulps = ULPS_OF_HALVES if want.dtype in HALVES else 100
    limit = ulps * float(finfo(want.dtype).eps)
    got_wide, want_wide = (v.astype(np.float64) for v in (got, want))
    return np.isclose(got_wide, want_wide, rtol=limit, atol=0, equal_nan=True)


def check(batch, results, elsewhere=""):
    """Compare each case of a batch with NumPy; the failing ones in one message."""
    judged = verdicts(batch, results, elsewhere)
    problems = [str(each) for each in judged if not np.all(each.good)]
    assert not problems, f"{batch.name}:\n" + "\n".join(problems)
