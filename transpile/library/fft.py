"""Plan calls of the Fourier transform (transforms/fft.h): for each axis a method, radices, twiddle
factors, and the strides of operand and result.

Methods are a mixed-radix transform in lanes, a split into rows and columns (four steps), and a
convolution with a chirp for large prime factors (Bluestein). The twiddle factors are computed once,
in extended precision, and are a constant of the program.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from transpile.intrinsics.fourier import KINDS, Fft, FftOfSize, Plan, Transforms
from transpile.ir.dims import Dim, Index, Shape, Symbol
from transpile.ir.graph import Atom, Const, Equation
from transpile.ir.types import real_dtype
from transpile.library.plan import CallPlan, LoopedCall, View, Views, array, part
from transpile.machine import USUAL, Machine
from transpile.primitives.fft import Normalization
from transpile.util.frozen_records import replace

DType = np.dtype[Any]

# The methods by their numbers in runtime_c/transforms/fft.h.
TOGETHER, SPLIT, CHIRP = range(3)
# The fields in front of a plan, and the largest prime radix of a pass.
FIELDS, LARGEST_RADIX = 18, 101
# Constants of fft.h, the same for every machine: lanes of the widest registers, the bytes of a
# pair of them, and FFT_SHARED: fewer elements than that are one thread's.
_LANES = {4: 16, 8: 8}
_PAIR = 128
_WORTH_SHARING = 32768
# Columns of a block of twiddle factors of a long transform, whole registers of them, and the
# factors read past the end.
_BLOCK = 32
_PADDING = 16

# The approximate cost of a pass of fft.h per element, relative to one of radix 2.
_PASS_COST = {2: 1.0, 3: 1.3, 4: 1.2, 5: 1.7, 8: 1.6}


# ---------------------------------------------------------------------------------------- factors


def roots(n: int, k: Any) -> Any:
    """exp(-2 pi i k / n) for whole numbers k, in extended precision.

    Angles are folded into the first eighth of a turn before any rounding.
    """
    k = np.asarray(k, np.int64) % n
    quarter, rest = np.divmod(4 * k, n)
    swap = 2 * rest > n
    angle = np.where(swap, n - rest, rest).astype(np.longdouble)
    angle *= np.longdouble("3.14159265358979323846264338327950288") / (2 * n)
    cosine, sine = np.cos(angle), np.sin(angle)
    cosine, sine = np.where(swap, sine, cosine), np.where(swap, cosine, sine)
    result = np.empty(k.shape, np.clongdouble)
    result.real = np.choose(quarter, [cosine, -sine, -cosine, sine])
    result.imag = np.choose(quarter, [-sine, -cosine, sine, cosine])
    return result


def _pairs(values: Any) -> Any:
    """Complex numbers as pairs of real ones."""
    values = np.ravel(values)
    return np.stack([values.real, values.imag], axis=-1).ravel()


def _pass_factors(radices: Sequence[int]) -> Iterator[Any]:
    """The twiddle factors of all passes, in the order in which they are read."""
    n = int(np.prod(radices, dtype=np.int64))
    for r in radices:
        if r not in _PASS_COST:
            yield _pairs(np.conj(roots(r, np.arange(r))))
        yield _pairs(roots(n, np.outer(np.arange(n // r), np.arange(1, r))))
        n //= r


# ------------------------------------------------------------------------------------- factoring


@lru_cache(maxsize=4096)
def prime_factors(n: int) -> tuple[int, ...]:
    """The prime factors, ascending."""
    primes = []
    divisor = 2
    while divisor * divisor <= n:
        while n % divisor == 0:
            primes.append(divisor)
            n //= divisor
        divisor += 1
    return (*primes, n) if n > 1 else tuple(primes)


@lru_cache(maxsize=4096)
def radices_of(n: int) -> tuple[int, ...]:
    """The radices of the passes of a length: eights, fours and twos, then primes."""
    primes = prime_factors(n)
    twos = primes.count(2)
    if twos % 3 == 1 and twos > 1:
        radices = [8] * ((twos - 4) // 3) + [4, 4]
    else:
        radices = [8] * (twos // 3) + [2 ** (twos % 3)] * (twos % 3 > 0)
    return (*radices, *(p for p in primes if p > 2))


@lru_cache(maxsize=4096)
def _cost(n: int, machine: Machine) -> float:
    """The approximate cost of the passes of a length per element."""
    passes = sum(_PASS_COST.get(r, 0.8 + r / 3) for r in radices_of(n))
    return passes * math.sqrt(max(1.0, n / machine.longest_cached_transform))


def _split_cost(sizes: tuple[int, int], lanes: int, machine: Machine) -> float:
    (rows, columns), costs = sizes, [_cost(n, machine) for n in sizes]
    wide, tall = -(-columns // lanes) * lanes, -(-rows // lanes) * lanes
    return wide * rows * (costs[0] + 3) + tall * columns * (costs[1] + 1.5)


def _block(rows: int, columns: int, lanes: int, machine: Machine) -> int:
    """Columns of a block of factors of a split: few where there are more, as those of the other
    blocks follow from the first, which stays in cache."""
    if rows * columns > machine.longest_factor_table:
        return min(columns, _BLOCK)
    return columns if columns < 2 * lanes else lanes


@lru_cache(maxsize=1024)
def split(n: int, lanes: int, machine: Machine) -> tuple[int, int]:
    """The numbers of rows and columns that make the cheapest transform of n elements."""
    divisors = [1]
    for p in set(prime_factors(n)):
        powers = [p**k for k in range(prime_factors(n).count(p) + 1)]
        divisors = [d * q for d in divisors for q in powers]
    pairs = ((d, n // d) for d in sorted(divisors))
    return min(pairs, key=lambda pair: _split_cost(pair, lanes, machine))


@lru_cache(maxsize=1024)
def padded_length(n: int, lanes: int, machine: Machine = USUAL) -> int:
    """The length of the circular convolution with a chirp of n elements: at least 2n - 1, with
    factors 2, 3 and 5 alone, and of the least cost."""
    least = 2 * n - 1
    candidates = []
    fives = 1
    while fives < 2 * least:
        threes = fives
        while threes < 2 * least:
            twos = threes
            while twos < least:
                twos *= 2
            candidates.append(twos)
            threes *= 3
        fives *= 5
    smallest = min(candidates)
    return min(
        sorted(c for c in candidates if c <= 1.3 * smallest),
        key=lambda c: _split_cost(split(c, lanes, machine), lanes, machine),
    )


def _method(core: int, outer: int | None, inner: int | None, lanes: int, machine: Machine) -> int:
    """The method for transforms of `core` elements; None as `outer` or `inner`: not known,
    large."""
    if core > 1 and prime_factors(core)[-1] > LARGEST_RADIX:
        return CHIRP
    total = None if outer is None or inner is None else outer * inner
    many = total is None or 2 * total >= lanes
    across = inner is None or 2 * inner >= lanes
    streams = total is None or total * core >= machine.least_streamed
    longest = machine.longest_streamed if streams else machine.longest_along
    longest = machine.longest_across if across else longest
    alone = len(prime_factors(core)) < 2 or core < 16
    return TOGETHER if alone or (many and core <= longest) else SPLIT


# ----------------------------------------------------------------------------------------- plans


@lru_cache(maxsize=64)
def make_plan(
    kind: str,
    n: int,
    scale: float,
    dtype: DType,
    outer: int | None,
    inner: int | None,
    machine: Machine = USUAL,
) -> Plan:
    """The plan for outer x inner transforms of n elements, the result being scaled.

    `kind` is one of KINDS, `dtype` the real dtype; `inner` transforms begin at adjacent elements.
    """
    lanes = _LANES[dtype.itemsize]
    core = n // 2 if kind in ("rfft", "irfft") and n % 2 == 0 else n
    method = _method(core, outer, inner, lanes, machine)
    rows, columns = core, 1
    if method != TOGETHER:
        length = core if method == SPLIT else padded_length(core, lanes, machine)
        rows, columns = split(length, lanes, machine)
    block = _block(rows, columns, lanes, machine)
    header = [KINDS.index(kind), method, n, core, rows, columns, block]
    inside = method != TOGETHER and rows * columns >= machine.shortest_shared_transform
    radices, width = [*radices_of(rows), 0], [*radices_of(columns), 0]
    slots = machine.slots
    if outer is not None and inner is not None and not inside:
        slots = 1 if outer * inner * n < _WORTH_SHARING else min(slots, outer * inner)
    header += [int(inside), slots, FIELDS, FIELDS + len(radices)]
    parts: list[Any] = [np.array([1.0 if method == CHIRP else scale, scale])]

    def add(*pieces: Any) -> None:
        header.append(sum(part.size for part in parts))
        parts.extend(pieces)

    add(*_pass_factors(radices[:-1]))
    add(*_pass_factors(width[:-1]))
    fine, coarse = _split_factors(rows, columns, block) if method != TOGETHER else ([], [])
    add(*fine)
    add(*coarse)
    add(*([_pairs(roots(n, np.arange(core // 2 + 1)))] if core < n else []))
    chirp, spectrum = _chirp(core, rows * columns) if method == CHIRP else ([], [])
    add(*chirp)
    add(*spectrum)
    if len(header) != FIELDS:
        raise ValueError(f"a plan has {FIELDS} fields, not {len(header)}")
    table = np.concatenate([np.asarray(part).astype(dtype) for part in parts])
    workspace = _workspace(kind, method, core, rows, columns, inside, slots, dtype.itemsize)
    numbers = np.array([*header, *radices, *width], np.int64)
    return Plan(kind, n, scale, method == TOGETHER, numbers, table, workspace)


def _split_factors(rows: int, columns: int, block: int) -> tuple[list[Any], list[Any]]:
    """The twiddle factors between the two transforms of a split: for the first block of columns,
    real parts and imaginary parts; and those that lead to the other blocks."""
    n = rows * columns
    within = roots(n, np.outer(np.arange(rows), np.arange(block)))
    fine = [within.real.ravel(), within.imag.ravel(), np.zeros(_PADDING)]
    if block == columns:
        return fine, []
    return fine, [_pairs(roots(n, np.outer(np.arange(0, columns, block), np.arange(rows))))]


def _chirp(n: int, length: int) -> tuple[list[Any], list[Any]]:
    """The chirp exp(-pi i k^2 / n) for k < n, and the transform of its conjugate, scaled by the
    length."""
    k = np.arange(n, dtype=np.int64)
    chirp = roots(2 * n, k * k % (2 * n))
    wrapped = np.zeros(length, np.clongdouble)
    wrapped[:n] = np.conj(chirp)
    wrapped[length - n + 1 :] = np.conj(chirp[1:])[::-1]
    return [_pairs(chirp)], [_pairs(np.fft.fft(wrapped) / length)]


def _workspace(
    kind: str,
    method: int,
    core: int,
    rows: int,
    columns: int,
    inside: bool,
    slots: int,
    itemsize: int,
) -> int:
    """The bytes of scratch memory, as fft_workspace_F of transforms/fft.h computes them for the
    widest registers."""
    lanes = _PAIR // (2 * itemsize)
    numbers = (rows * columns if method == CHIRP else 0) + (core if kind == "irfft" else 0)
    scratch = 2 * (max(rows, columns) + 1)
    middle = 0 if method == TOGETHER else (rows + lanes - 1) // lanes * columns
    room = middle + scratch + (0 if method == TOGETHER else numbers // lanes + 1)
    pairs = room + (slots - 1) * scratch if inside else slots * room
    return pairs * _PAIR + 64


# ------------------------------------------------------------------- the transforms of an equation


def plan_transform(equation: Equation, views: Views, machine: Machine) -> CallPlan:
    """The calls of an equation, one for each axis: the first reads the operand, the others
    transform the result in place."""
    out, params = equation.output, equation.params
    operand = _operand(equation.inputs[0], views)
    own = _row_major_strides(out.type.shape)
    name, read = "x", operand
    calls: list[LoopedCall] = []
    tables: dict[str, Const] = {}
    order = list(zip(params["axes"], params["fft_lengths"], strict=True))[::-1]
    scaled = _scaled(params["scale"], [n for _, n in order])
    for position, (axis, n) in enumerate(order):
        scale = params["scale"] if position == scaled else 1.0
        *around, outer, inner = _batch(out.type.shape, read.strides, own, axis)
        loops = tuple(Symbol(f"b{k}", 0, b.extent) for k, b in enumerate(around))
        where = [Dim.of(s) for s in loops]
        first = sum((i * b.stride for i, b in zip(where, around, strict=True)), read.offset)
        to: Index = sum(i * b.out_stride for i, b in zip(where, around, strict=True))
        kind, dtype = params["fft_type"], real_dtype(out.type.dtype)
        taken = array(name, read.base, first, (outer.stride, inner.stride, read.strides[axis]))
        given = array("out", out, to, (outer.out_stride, inner.out_stride, own[axis]))
        operands = (kind, n, scale, outer.extent, inner.extent, taken, given)
        call: Transforms
        if isinstance(n, int):
            sizes = [b.extent if isinstance(b.extent, int) else None for b in (outer, inner)]
            layout = make_plan(kind, n, scale, dtype, *sizes, machine)
            numbers, factors = f"plan{axis}", f"factors{axis}"
            tables[numbers] = Const(layout.numbers, name="plan")
            tables[factors] = Const(layout.table, name="factors")
            known = (part(numbers, tables[numbers]), part(factors, tables[factors]))
            call = Fft(*operands, *known, layout.workspace, layout.together)
        else:
            tables["thresholds"] = Const(thresholds(machine), name="thresholds")
            call = FftOfSize(*operands, part("thresholds", tables["thresholds"]))
            if isinstance(scale, Normalization):
                call = replace(call, scale=scale.factor, divisor=scale.divisor, root=scale.root)
        calls.append(LoopedCall(loops, call))
        name, read = "out", View(out, 0, own)
    return CallPlan({"x": operand.base}, {"out": out}, tables, tuple(calls))


def _scaled(scale: float | Normalization, lengths: Sequence[Index]) -> int:
    """The last of the transforms that can scale its result."""
    can = (k for k, n in enumerate(lengths) if isinstance(scale, float) or not isinstance(n, int))
    return max(can)


def thresholds(machine: Machine) -> Any:
    """The thresholds of plans that are made at run time, in the order of transforms/fft_plan.h."""
    lengths = (machine.longest_across, machine.longest_along, machine.longest_streamed)
    shared = (machine.least_streamed, machine.shortest_shared_transform)
    tables = (machine.longest_factor_table, machine.longest_cached_transform)
    return np.array([machine.slots, *lengths, *shared, *tables], np.int64)


def _operand(x: Atom, views: Views) -> View:
    """The operand as a view of an array in memory."""
    for view in views.of(x):
        if view.base.type.shape:
            return view
    return View(x, 0, _row_major_strides(x.type.shape))


def _row_major_strides(shape: Shape) -> tuple[Index, ...]:
    strides: list[Index] = []
    stride: Index = 1
    for extent in reversed(shape):
        strides.insert(0, stride)
        stride = stride * extent
    return tuple(strides)


class _Axis(NamedTuple):
    """An axis that is not transformed, with the strides of operand and result along it."""

    extent: Index
    stride: Index
    out_stride: Index


_NO_AXIS = _Axis(1, 0, 0)


def _batch(shape: Shape, strides: Sequence[Index], own: Sequence[Index], axis: int) -> list[_Axis]:
    """The axes that are not transformed, coalesced where one stride traverses both of two
    neighbours; at least two."""
    batch: list[_Axis] = []
    for a, extent in enumerate(shape):
        if a == axis or extent == 1:
            continue
        if batch:
            wide, *joined = batch[-1]
            if joined == [strides[a] * extent, own[a] * extent]:
                batch[-1] = _Axis(wide * extent, strides[a], own[a])
                continue
        batch.append(_Axis(extent, strides[a], own[a]))
    if len(batch) == 1:  # contiguous axes are inner ones: lanes then load neighbours
        inside = 1 in batch[0][1:]
        batch.insert(0 if inside else 1, _NO_AXIS)
    return [_NO_AXIS] * (2 - len(batch)) + batch
