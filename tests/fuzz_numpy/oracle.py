"""How far a result may be from NumPy's: as far as NumPy's own goes when it rounds otherwise."""

from __future__ import annotations

import numpy as np

from fuzz_numpy.programs import quiet

RUNS = 4
# Rounding errors that the runs happened not to show, in multiples of what they showed.
SLACK = 24


class Oracle:
    """What NumPy gives for a program, and for each result how sure that is."""

    def __init__(self, program):
        self.program = program
        with quiet():
            self.values = program.values()
            noise = [np.random.default_rng(k) for k in range(RUNS)]
            zeros = [(-1) ** k * 0.0 for k in range(RUNS)]
            self.others = [program.values(n, z) for n, z in zip(noise, zeros, strict=True)]

    def difference(self, name, got):
        """What is wrong with a result; "" if nothing is."""
        got, want = np.asarray(got), np.asarray(self.values[name])
        others = [np.asarray(o[name]) for o in self.others]
        for what in ("dtype", "shape"):
            if getattr(got, what) != getattr(want, what):
                return f"{what} {getattr(got, what)}, not {getattr(want, what)}"
        others = [o for o in others if o.shape == want.shape and o.dtype == want.dtype]
        if want.dtype.kind == "c":
            size = np.abs(np.where(np.isfinite(want), want, 0))
            parts = [
                (f(got), f(want), [f(o) for o in others], size, f"{f.__name__} part of ")
                for f in (np.real, np.imag)
            ]
        else:
            parts = [(got, want, others, 0.0, "")]
        with quiet():
            for part in parts:
                found = _difference(*part, is_complex=want.dtype.kind == "c")
                if found:
                    return found
        return ""


def _difference(got, want, others, size, part, is_complex):
    if want.dtype.kind not in "f":
        wrong = (got != want) & np.all([o == want for o in others], axis=0)
        return _first(wrong, got, want, f"{part}value")
    wrong, zeros = _unlike(got, want, others, size)
    text = _first(wrong, got, want, f"{part}value")
    return text or ("" if is_complex else _first(zeros, got, want, "sign of zero"))


def _unlike(got, want, others, size):
    """Where floats are too far from NumPy's, and where zeros have another sign than all of
    NumPy's."""
    limits = np.finfo(want.dtype)
    got, want, *others = (x.astype(np.float64) for x in (got, want, *others))
    finite = np.isfinite(want)
    kinds = [np.isfinite(o) != finite for o in others]
    unsure = np.any(kinds, axis=0) if kinds else np.zeros(want.shape, bool)
    spread = np.zeros(want.shape)
    for other in others:
        spread = np.fmax(spread, np.abs(other - want))
    spread = np.where(np.isfinite(spread), spread, 0)
    scale = np.maximum(np.where(finite, np.abs(want), 0), size)
    allowed = (
        SLACK * spread + 16 * float(limits.eps) * scale + 64 * float(limits.smallest_subnormal)
    )
    near = np.abs(got - want) <= allowed
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    # Next to the largest number rounding decides whether a result is an infinity.
    edge = finite & np.isinf(got) & (np.abs(want) * (1 + 1e-2) > float(limits.max))
    wrong = ~(same | (finite & np.isfinite(got) & near) | edge | unsure)
    signs = [np.signbit(o) != np.signbit(want) for o in others]
    unsigned = np.any(signs, axis=0) if signs else np.zeros(want.shape, bool)
    zeros = (got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want))
    return wrong, zeros & ~unsigned & (spread == 0)


def _first(wrong, got, want, what):
    if not np.any(wrong):
        return ""
    place = np.unravel_index(np.argmax(wrong), wrong.shape)
    return f"{what} {got[place]!r}, not {want[place]!r}, at {tuple(map(int, place))}"
