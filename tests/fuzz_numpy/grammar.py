"""Statements: templates in NumPy's words, filled with the names of earlier values.

A template's fields: {a}, {b}, {c} are values; {axis} an axis of a, or None; {last} one that is
there; {axes} several of them; {k} a small integer; {n} a size; {index} subscripts of a; {s} a
number, {i} one that is whole; {d} a dtype; {rows} a shape of two dimensions for a's elements;
{of1}, {of2} functions of one and of two arguments. A group says how many dimensions a must have at
least, and whether its statements round: of those that do not, nothing but the very same numbers
will do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from fuzz_numpy.values import DTYPES


@dataclass(frozen=True)
class Group:
    """Templates that are drawn alike."""

    weight: int
    least_rank: int
    rounds: bool
    templates: list[str]
    multiplies: bool = False  # by NumPy's BLAS, which has its own ways with complex infinities


def _words(text, form):
    return [form.format(word) for word in text.split()]


ROUNDED_1 = """exp expm1 exp2 log log1p log2 log10 sqrt cbrt sin cos tan arcsin arccos arctan sinh
    cosh tanh arcsinh arccosh arctanh square reciprocal angle deg2rad rad2deg sinc i0 abs"""
EXACT_1 = """floor ceil trunc rint sign positive conj real imag isnan isinf isfinite signbit
    logical_not fabs invert bitwise_count negative spacing isreal iscomplex isposinf isneginf fix
    nan_to_num"""
ROUNDED_2 = """add subtract multiply divide floor_divide remainder arctan2 hypot logaddexp
    logaddexp2 power float_power fmod"""
EXACT_2 = """maximum minimum fmax fmin copysign nextafter gcd lcm bitwise_and bitwise_or bitwise_xor
    left_shift right_shift less less_equal greater greater_equal equal not_equal logical_and
    logical_or logical_xor heaviside"""
FOLDS = """sum prod mean std var median ptp nansum nanprod nanmean nanstd nanvar nanmedian
    average"""
SEARCHES = "max min any all argmax argmin count_nonzero nanmax nanmin"

GROUPS = [
    Group(6, 0, True, _words(ROUNDED_1, "np.{}({{a}})")),
    Group(4, 0, False, _words(EXACT_1, "np.{}({{a}})")),
    Group(7, 0, True, _words(ROUNDED_2, "np.{}({{a}}, {{b}})")),
    Group(5, 0, False, _words(EXACT_2, "np.{}({{a}}, {{b}})")),
    Group(3, 0, True, _words(ROUNDED_2, "np.{}({{a}}, {{s}})")),
    Group(2, 0, False, _words(EXACT_2, "np.{}({{s}}, {{a}})")),
    Group(5, 0, True, _words(FOLDS, "np.{}({{a}}, axis={{axis}})")),
    Group(1, 1, True, _words(FOLDS, "np.{}({{a}}, axis={{last}}, keepdims=True)")),
    Group(3, 0, False, _words(SEARCHES, "np.{}({{a}}, axis={{axis}})")),
    Group(1, 3, True, _words("sum mean var std prod nansum", "np.{}({{a}}, axis={{axes}})")),
    Group(1, 3, False, _words("max min any all count_nonzero", "np.{}({{a}}, axis={{axes}})")),
    Group(
        2,
        0,
        True,
        _words("cumsum cumprod nancumsum nancumprod", "np.{}({{a}}, axis={{axis}})")
        + _words("var std", "np.{}({{a}}, axis={{axis}}, ddof=1)")
        + _words("sum mean prod", "np.{}({{a}}, dtype=np.{{d}})"),
    ),
    Group(
        5,
        0,
        True,
        [
            *(f"{{a}} {o} {{b}}" for o in ("+", "-", "*", "/", "//", "%")),
            *("-{a}", "abs({a})", "{a} ** 2", "{a} ** 3", "{a} ** 0.5", "{a} ** -1"),
            *("{a} + {s}", "{s} * {a}", "{s} - {a}", "{a} / {s}", "{a} ** {i}", "{a} // {s}"),
            "np.divmod({a}, {b})[1]",
            "np.modf(np.real({a}))[0]",
            "np.ldexp(np.real({a}), {i})",
        ],
    ),
    Group(
        3,
        0,
        False,
        [
            *(f"{{a}} {o} {{b}}" for o in ("<", "<=", "==", "!=", "&", "|", "^")),
            *("~{a}", "{a} << 1", "{a} >> 2", "{a} == {s}", "{a} >= {s}", "{a} & {i}"),
            "np.frexp(np.real({a}))[1]",
            "np.isclose({a}, {b})",
            "np.allclose({a}, {s})",
            "np.array_equal({a}, {b})",
            "np.isin({a}, np.array([0, 1, 2]))",
        ],
    ),
    Group(
        4,
        0,
        False,
        [
            *("np.ravel({a})", "np.transpose({a})", "np.squeeze({a})", "np.atleast_2d({a})"),
            *("np.expand_dims({a}, 0)", "np.broadcast_to({a}, ({n},) + np.shape({a}))"),
            *("np.reshape({a}, {rows})", "np.tile({a}, {n})", "np.tile({a}, (2, 1))"),
            *("np.repeat({a}, {n}, axis={axis})", "np.roll({a}, {k}, axis={axis})"),
            *("np.stack([{a}, {a}], axis=0)", "np.concatenate([np.ravel({a}), np.ravel({b})])"),
            *("np.zeros_like({a})", "np.full_like({a}, 3)", "np.meshgrid({a}, {b})[0]"),
            *("np.broadcast_arrays({a}, {b})[0]", "np.flip({a})", "np.copy({a})"),
        ],
    ),
    Group(
        4,
        1,
        False,
        [
            *("{a}[{index}]", "{a}[{index}]", "{a}[{index}]", "np.flip({a}, {last})"),
            *("np.swapaxes({a}, {last}, -1)", "np.moveaxis({a}, {last}, 0)"),
            *(f"np.pad({{a}}, {{n}}, mode={m!r})" for m in ("constant", "edge", "reflect")),
            *(f"np.pad({{a}}, {{n}}, mode={m!r})" for m in ("symmetric", "wrap", "maximum")),
            *("np.diagonal(np.atleast_2d({a}), {k})", "np.diag({a}, {k})", "np.tril({a}, {k})"),
            *("np.triu({a}, {k})", "np.rot90(np.atleast_2d({a}), {k})"),
            *("np.take({a}, np.array([0, -1, 0]), axis={last})", "np.split({a}, [1, 2])[1]"),
            "np.where({a} == {a}, {a}, {b})",
            "np.append({a}, {b})",
        ],
    ),
    Group(
        3,
        0,
        False,
        [
            *("np.where({c}, {a}, {b})", "np.where({c}, {a}, {s})", "np.where({c}, {s}, {i})"),
            *("np.clip({a}, {i}, 3)", "np.clip({a}, None, {s})", "np.clip({a}, {b}, {c})"),
            "np.select([np.greater({a}, 0), np.less({a}, -1)], [{a}, {b}], {i})",
            "np.choose(np.equal({a}, 0).astype(np.int64), [{b}, {c}])",
        ],
    ),
    Group(
        2,
        1,
        True,
        [
            *("np.matmul({a}, {b})", "np.dot({a}, {b})", "np.inner({a}, {b})", "{a} @ {b}"),
            *("np.outer({a}, {b})", "np.vdot({a}, {b})", "np.kron({a}, {b})", "np.trace({a})"),
            *("np.matmul({a}, np.swapaxes({a}, -1, -2))", "np.tensordot({a}, {b}, axes={n})"),
            *("np.einsum('ij,kj->ik', {a}, {b})", "np.einsum('...i,...i->...', {a}, {b})"),
            *("np.einsum('ij->j', {a})", "np.einsum('i,i->i', {a}, {b})", "np.cross({a}, {b})"),
            *(f"np.convolve(np.ravel({{a}}), {{b}}, {m!r})" for m in ("full", "same", "valid")),
            "np.correlate(np.ravel({a}), np.ravel({b})[:5], 'full')",
        ],
        multiplies=True,
    ),
    Group(
        3,
        1,
        True,
        [
            *("np.diff({a}, axis={last})", "np.ediff1d({a})", "np.gradient({a}, axis=0)"),
            *("np.trapezoid({a}, axis=-1)", "np.cov({a})", "np.corrcoef({a})"),
            *("np.unwrap(np.real({a}))", "np.polyval(np.array([1.0, -2.0, 0.5]), {a})"),
            *(
                "np.linalg.norm({a})",
                "np.linalg.norm({a}, axis={last})",
                "np.vander(np.ravel({a}))",
            ),
            *("np.quantile({a}, 0.3, axis={axis})", "np.percentile({a}, 25, axis={last})"),
            "np.quantile({a}, 0.6, method='hazen')",
            "np.interp(np.real({a}), np.arange(4.0), np.array([1.0, 3.0, 2.0, 5.0]))",
            "np.pad({a}, {n}, mode='mean')",
            "np.pad({a}, {n}, mode='linear_ramp')",
            "np.pad({a}, {n}, mode='median')",
            "np.round({a}, {k})",
            # Which parts of a transform a NaN reaches is a matter of the algorithm.
            "np.fft.fft(np.nan_to_num({a}, posinf=1, neginf=2), axis={last})",
            "np.fft.rfft(np.nan_to_num(np.real({a}), posinf=1, neginf=2))",
            "np.fft.ifft(np.nan_to_num({a}, posinf=1, neginf=2), axis=0)",
            "np.linalg.det({a} @ np.conj(np.swapaxes({a}, -1, -2)) + 3 * np.eye({a}.shape[-2]))",
            "np.linalg.inv({a} @ np.conj(np.swapaxes({a}, -1, -2)) + 3 * np.eye({a}.shape[-2]))",
        ],
    ),
    Group(
        2,
        1,
        False,
        [
            *("np.sort({a}, axis={axis})", "np.argsort({a}, axis={last}, kind='stable')"),
            *("np.lexsort((np.ravel({a}), np.ravel({a})))", "np.partition({a}, 0)[..., 0]"),
            "np.searchsorted(np.sort(np.ravel({a})), {b}, side='right')",
            "np.digitize(np.real({a}), np.array([-1.0, 0.0, 1.0, 2.5]))",
            "np.packbits(np.not_equal({a}, 0))",
            "np.maximum.accumulate({a})",
            "np.logical_and.reduce({a})",
            "np.fft.fftshift({a})",
            "np.sort(np.full_like({a}, 3), axis=None)",
        ],
    ),
    Group(
        1, 0, True, ["np.add.reduce({a})", "np.add.accumulate({a})", "np.multiply.outer({a}, {b})"]
    ),
    Group(
        2,
        0,
        False,
        [
            "np.asarray({a}, dtype=np.{real}) if np.asarray({a}).dtype.kind in 'biu' else {a}",
            "np.asarray({a}).astype(np.{float})",
        ],
    ),
    # Assignments to a copy, in two lines.
    Group(2, 1, False, ["np.array({a}); {r}[{index}] = {b}", "np.array({a}); {r}[{index}] = {i}"]),
    Group(1, 1, True, ["np.array({a}); {r}[{index}] += {b}", "np.array({a}); {r}[{index}] *= {i}"]),
]
SCALARS = [
    *("0", "1", "2", "3", "-1", "0.5", "-2.0", "1.5", "0.1", "1e10", "True", "2j", "-70000"),
    *("np.float32(0.1)", "np.int8(3)", "np.float64(1e-3)", "np.uint8(200)", "np.float16(0.3)"),
]
_FIELD = re.compile(r"\{(\w+)\}")


def statement(random, values, name):
    """(text, whether it rounds) of a statement that gives `name` its value."""
    weights = np.array([g.weight for g in GROUPS], float)
    group = GROUPS[random.choice(len(GROUPS), p=weights / weights.sum())]
    template = group.templates[random.integers(len(group.templates))]
    names = list(values)
    names = [n for n in names if np.ndim(values[n]) >= group.least_rank]
    if not names:
        return None
    recent = names[-5:] if random.random() < 0.7 else names
    a = recent[random.integers(len(recent))]
    shape = np.shape(values[a])
    fields = {
        "a": lambda: a,
        "r": lambda: name,
        "axis": lambda: random.choice([None, *range(-len(shape), len(shape))]),
        "last": lambda: random.integers(-len(shape), len(shape)),
        "axes": lambda: _axes(random, len(shape)),
        "index": lambda: index(random, shape),
        "rows": lambda: _rows(random, int(np.prod(shape))),
        "k": lambda: random.integers(-2, 3),
        "n": lambda: random.integers(0, 3),
        "i": lambda: random.integers(-2, 5),
        "s": lambda: SCALARS[random.integers(len(SCALARS))],
        "d": lambda: random.choice(["float64", "float32", "int64", "complex128"]),
        "real": lambda: random.choice([d.name for d in DTYPES]),
        "float": lambda: random.choice(["float16", "float32", "float64", "complex64"]),
    }
    every = list(values)

    def filled(match):
        return str(fields.get(match[1], lambda: every[random.integers(len(every))])())

    text = _FIELD.sub(filled, template)
    if group.multiplies and any(map(_is_complex_infinite, _named(text, values))):
        return None
    return text, group.rounds


def _named(text, values):
    return [x for name, x in values.items() if re.search(rf"\b{name}\b", text)]


def _is_complex_infinite(x):
    x = np.asarray(x)
    return x.dtype.kind == "c" and not np.isfinite(x).all()


def _axes(random, rank):
    count = random.integers(2, rank + 1)
    return tuple(sorted(int(a) for a in random.choice(rank, count, replace=False)))


def _rows(random, size):
    divisors = [n for n in range(1, min(size, 40) + 1) if size % n == 0]
    if not divisors:
        return (0, int(random.integers(1, 4)))
    rows = int(random.choice(divisors))
    return (rows, size // rows)


def index(random, shape):
    """Subscripts: slices of any step, numbers, one array, new axes and an ellipsis."""
    parts = []
    for extent in shape[: random.integers(1, len(shape) + 1)]:
        kind = random.random()
        if kind < 0.25 and extent:
            parts.append(str(random.integers(-extent, extent)))
        elif kind < 0.4 and extent and not any("array" in p for p in parts):
            places = random.integers(-extent, extent, random.integers(0, 5)).tolist()
            parts.append(f"np.array({places}, dtype=np.int64)")
        elif kind < 0.8:
            ends = [
                random.choice(["", str(random.integers(-extent - 1, extent + 2))]) for _ in "ab"
            ]
            parts.append(f"{ends[0]}:{ends[1]}:{random.choice(['', '-1', '2', '-2', '3'])}")
        else:
            parts.append(":")
        if random.random() < 0.1:
            parts.append("None")
    if random.random() < 0.15:
        parts.append("...")
    return ", ".join(parts)
