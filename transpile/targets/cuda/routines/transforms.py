"""Fourier transforms in place of an intrinsic: one to three passes of transforms of factors that
fit into shared memory, or a convolution with a chirp, whose length has such factors.

A length that is known at run time has one routine, in which a block has a transform.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from transpile.intrinsics.fourier import Fft, FftOfSize, Transforms
from transpile.ir.calls import Call, Strided
from transpile.ir.dims import Index
from transpile.ir.loop_ir import DType
from transpile.targets.cuda.routines.calls import (
    ChirpOperand,
    ChirpProduct,
    ChirpResult,
    FftOfAnySize,
    FftPass,
)
from transpile.targets.cuda.routines.tiles import longest_transform
from transpile.util.frozen_records import dataclass, replace

# Makes an array by its name, its size, and its dtype.
Memory = Callable[[str, Index, DType], Strided]
# What the length of a convolution is, times a power of two.
_ODD_FACTORS = (1, 3, 5)
# An operand of a power of two numbers has at most so many times as many as 2 n - 1 has.
_ROOM = 4


@dataclass(frozen=True)
class _Transforms:
    """`outer` by `inner` transforms of n numbers."""

    outer: Index
    inner: Index
    n: int
    sign: int
    scale: float
    halves: tuple[bool, bool]
    x: Strided
    out: Strided


def transforms(call: Fft, memory: Memory) -> Iterator[Call]:
    """The calls in place of transforms of a known length."""
    n = int(call.n)
    whole = _Transforms(
        call.outer, call.inner, n, _sign(call), call.scale, _halves(call), call.x, call.out
    )
    longest = longest_transform(_dtype(call))
    factors = _factors(n, longest)
    padded = _padded(n, longest)
    if factors is not None:
        yield from _passes(whole, factors, memory)
    elif padded is not None:
        yield from _convolution(whole, padded, memory)
    else:
        yield _of_any_size(call, memory)


def transforms_of_size(call: FftOfSize, memory: Memory) -> Iterator[Call]:
    """The call in place of transforms of a length that is known at run time."""
    yield replace(_of_any_size(call, memory), divisor=call.divisor, root=call.root)


def _of_any_size(call: Transforms, memory: Memory) -> FftOfAnySize:
    room = _ROOM * call.n
    work = memory("circles", 2 * call.outer * call.inner * room, _dtype(call))
    return FftOfAnySize(
        call.outer, call.inner, call.n, _sign(call), call.scale, _halves(call), call.x, call.out,
        room, work,
    )  # fmt: skip


def _passes(of: _Transforms, factors: tuple[int, ...], memory: Memory) -> Iterator[Call]:
    """Passes of transforms of these factors: each is along an axis of the numbers as an array of so
    many axes, and twists what the later ones take."""
    n, sign, (is_half, gives_half) = of.n, of.sign, of.halves
    whole = (of.outer, of.inner)
    if len(factors) == 1:
        yield FftPass(*whole, 1, n, n, sign, False, of.scale, (0, 1, 0, 1), of.halves, of.x, of.out)
        return
    first, *further = factors
    rest, last = n // first, factors[-1]
    between = _rows_of(of, memory, (of.inner * n, n, 1))
    yield FftPass(
        *whole, rest, first, n, sign, True, 1.0, (1, rest, 1, rest), (is_half, False), of.x, between
    )
    if len(further) == 2:
        # The results of the two passes are neighbours in the order of the whole result.
        second = further[0]
        x = replace(between, strides=(n, rest, 1))
        between = _rows_of(of, memory, (n, last, 1))
        yield FftPass(
            of.outer * of.inner, first, last, second, rest, sign, True, 1.0,
            (1, last, 1, first * last), (False, False), x, between,
        )  # fmt: skip
        between = replace(between, strides=(of.inner * n, n, 1))
    done = n // last
    yield FftPass(
        *whole, done, last, n, sign, False, of.scale, (last, 1, 1, done), (False, gives_half),
        between, of.out,
    )  # fmt: skip


def _rows_of(of: _Transforms, memory: Memory, strides: tuple[Index, ...]) -> Strided:
    """Memory for all numbers of transforms."""
    dtype = np.result_type(of.out.dtype, np.complex64)
    between = memory("between", of.outer * of.inner * of.n, dtype)
    return replace(between, strides=strides)


def _convolution(of: _Transforms, padded: int, memory: Memory) -> Iterator[Call]:
    """A convolution of operands and a chirp, as a circle of so many numbers."""
    count, dtype = of.outer * of.inner, np.result_type(of.out.dtype, np.complex64)
    is_half, gives_half = of.halves
    factors = _factors(padded, longest_transform(dtype))
    assert factors is not None
    work, found, back = (
        replace(memory("circles", (count + 1) * padded, dtype), strides=(padded, padded, 1))
        for _ in range(3)
    )
    yield ChirpOperand(of.outer, of.inner, of.n, padded, of.sign, is_half, of.x, work)
    forth = _Transforms(count + 1, 1, padded, -1, 1.0, (False, False), work, found)
    yield from _passes(forth, factors, memory)
    yield ChirpProduct(count, padded, found)
    forth = _Transforms(count, 1, padded, 1, 1.0 / padded, (False, False), found, back)
    yield from _passes(forth, factors, memory)
    sizes = (of.outer, of.inner, of.n, padded, of.sign)
    yield ChirpResult(*sizes, of.scale, gives_half, back, of.out)


def _sign(call: Transforms) -> int:
    """The sign of the exponent."""
    return -1 if call.kind in ("fft", "rfft") else 1


def _halves(call: Transforms) -> tuple[bool, bool]:
    """Whether the operand is a half, and whether the result is."""
    return call.kind == "irfft", call.kind == "rfft"


def _dtype(call: Transforms) -> np.dtype[Any]:
    """The dtype that a transform computes in."""
    return np.result_type(call.out.dtype, np.complex64)


def _factors(n: int, longest: int) -> tuple[int, ...] | None:
    """One to three factors of n that are no longer than that, the more equal the better; None
    without."""
    if n <= longest:
        return (n,)
    few = (d for d in range(longest, 1, -1) if n % d == 0)
    pairs, triples = [], []
    for d in few:
        rest = n // d
        if rest <= longest:
            pairs.append((d, rest))
        elif not pairs and rest <= longest * longest:
            pair = _factors(rest, longest)
            triples += [(d, *pair)] if pair is not None and len(pair) == 2 else []
    return min(pairs, key=max, default=None) or min(triples, key=max, default=None)


def _padded(n: int, longest: int) -> int | None:
    """The length of a convolution with a chirp for n numbers; None for one that is too long."""
    lengths = (odd << max(0, (-(-(2 * n - 1) // odd) - 1).bit_length()) for odd in _ODD_FACTORS)
    return min((m for m in lengths if _factors(m, longest) is not None), default=None)
