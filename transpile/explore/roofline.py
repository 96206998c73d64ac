"""This machine's roofline: measured bandwidth of memory, and measured rate of multiply-adds.

A kernel of so many operations for a byte can be no faster than the lower of the two allows
(Williams, Waterman and Patterson, Roofline, 2009). Data in caches is faster than memory: a kernel
of small arrays may lie above the slope.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from html import escape
from math import ceil, floor, log2
from pathlib import Path

import numpy as np

from transpile.build import toolchain
from transpile.disk_cache.process_directory import scratch_directory
from transpile.explore.costs import KernelCost
from transpile.explore.drawing import document
from transpile.options import Options
from transpile.util.data_files import data_directory
from transpile.util.frozen_records import dataclass, replace

_ELEMENTS = 1 << 22  # of an array of the triad: larger than most caches
# Of the chains: a tenth of a millisecond, so that a busy machine leaves some turns alone.
_ROUNDS = 50_000
_LANES = 64  # bytes of a vector in a chain
_CHAINS = 10
_SECONDS = 0.2  # for which each is repeated


@dataclass(frozen=True)
class Roof:
    """What a number of threads reach: bytes and operations a second."""

    threads: int
    bandwidth: float
    peak: float

    def at(self, intensity: float) -> float:
        """The most operations a second for so many operations a byte."""
        return min(self.peak, self.bandwidth * intensity)


@dataclass(frozen=True)
class Speed:
    """A kernel's seconds, operations and bytes a second, and which part they are of what the
    highest roof allows."""

    seconds: float
    operations: float
    bytes: float
    part: float

    @property
    def cells(self) -> tuple[str, ...]:
        """Microseconds, Gop/s, GB/s and per cent, for a table."""
        rates = (f"{rate / 1e9:.2f}" for rate in (self.operations, self.bytes))
        return f"{1e6 * self.seconds:,.2f}", *rates, f"{100 * self.part:.0f} %"

    @classmethod
    def of(cls, kernel: KernelCost, seconds: float, every: Sequence[Roof]) -> Speed:
        """That of a kernel which takes so long."""
        taken = max(seconds, 1e-9)
        operations, moved = kernel.operations / taken, kernel.cost.bytes / taken
        roof = every[-1]
        best = max(operations / roof.peak, moved / roof.bandwidth)
        return cls(seconds, operations, moved, best)


@lru_cache(maxsize=8)
def roofs(options: Options, is_single: bool) -> tuple[Roof, ...]:
    """The roof of one thread and, if loops may run on several, that of as many as there are; with
    products of float32, or of float64. CompilationError where it cannot be built."""
    options = replace(options, opt_level=3, debug=False, sanitize=False, fast_math=False)
    compiler = toolchain.find_compiler(options)
    flags = [*toolchain.flags(compiler, options), "-ffp-contract=fast", "-fvisibility=default"]
    with scratch_directory() as folder:
        source = Path(folder, "roof.c")
        source.write_bytes((data_directory("templates") / "explore" / "roof.c").read_bytes())
        toolchain.build_shared(compiler, source, source.with_suffix(".so"), flags)
        library = ctypes.CDLL(str(source.with_suffix(".so")))
    most = len(os.sched_getaffinity(0)) if "-fopenmp" in flags else 1
    most = min(most, options.num_threads or most)
    one = _measured(library, 1, is_single)
    if most == 1:
        return (one,)
    several = _measured(library, most, is_single)
    # On a busy machine several threads may have been slower than one, which they contain.
    return one, Roof(most, max(one.bandwidth, several.bandwidth), max(one.peak, several.peak))


def _measured(library: ctypes.CDLL, threads: int, is_single: bool) -> Roof:
    library.seconds_of_triad.restype = library.seconds_of_products.restype = ctypes.c_double
    arrays = [np.ones(_ELEMENTS) for _ in range(3)]
    places = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
    size, count = ctypes.c_ssize_t(_ELEMENTS), ctypes.c_int(threads)
    moved = _shortest(lambda: library.seconds_of_triad(*places, size, count))
    kept, rounds = ctypes.c_double(), ctypes.c_long(_ROUNDS)
    products = _shortest(
        lambda: library.seconds_of_products(rounds, count, int(is_single), ctypes.byref(kept))
    )
    lanes = _LANES // (4 if is_single else 8)
    operations = 2.0 * _CHAINS * lanes * _ROUNDS * threads
    return Roof(threads, 3 * 8 * _ELEMENTS / moved, operations / products)


def _shortest(seconds: Callable[[], float]) -> float:
    """The shortest of what is measured, again and again for a while."""
    shortest, end = seconds(), time.perf_counter() + _SECONDS
    while time.perf_counter() < end:
        shortest = min(shortest, seconds())
    return shortest


# ----------------------------------------------------------------------------------- the drawing

_WIDTH, _HEIGHT, _LEFT, _TOP = 560, 300, 60, 16


def roofline_svg(
    every: Sequence[Roof], kernels: Sequence[KernelCost], seconds: Sequence[float]
) -> str:
    """The roofs, and a point for each kernel that computes something; logarithmic axes."""
    points = [
        (kernel, kernel.intensity, kernel.operations / taken)
        for kernel, taken in zip(kernels, seconds, strict=True)
        if kernel.operations and kernel.cost.bytes and taken > 0
    ]
    xs = [log2(x) for _, x, _ in points] + [log2(roof.peak / roof.bandwidth) for roof in every]
    low, high = floor(min(-4.0, *xs)) - 1, ceil(max(4.0, *xs)) + 1
    rates = [y for *_, y in points] + [roof.peak for roof in every] + [every[-1].at(2.0**low)]
    ys = [log2(rate / 1e9) for rate in rates]
    bottom, top = floor(min(ys)) - 1, ceil(max(ys)) + 1

    def place(x: float, y: float) -> tuple[float, float]:
        across = (min(max(log2(x), low), high) - low) / (high - low)
        up = (min(max(log2(y / 1e9), bottom), top) - bottom) / (top - bottom)
        return _LEFT + across * _WIDTH, _TOP + (1 - up) * _HEIGHT

    parts = [*_axes(low, high, bottom, top)]
    for roof in every:
        corners = [2.0**low, min(max(roof.peak / roof.bandwidth, 2.0**low), 2.0**high), 2.0**high]
        line = " ".join("{:.1f},{:.1f}".format(*place(x, roof.at(x))) for x in corners)
        plural = "s" * (roof.threads != 1)
        label = f"{roof.threads} thread{plural}: {roof.bandwidth / 1e9:.0f} GB/s, "
        label += f"{roof.peak / 1e9:.0f} Gop/s"
        x, y = place(2.0**high, roof.peak)
        y += -5 if roof is every[-1] else 14
        parts.append(
            f'<g class="roof"><title>{label}</title><polyline points="{line}"/>'
            f'<text x="{x - 4:.1f}" y="{y:.1f}">{label}</text></g>'
        )
    for kernel, intensity, rate in points:
        x, y = place(intensity, rate)
        places = " ".join(map(str, kernel.places))
        focus = f' tabindex="0" data-places="{places}"' if places else ""
        label = f"{kernel.name}: {intensity:.2g} operations for a byte, {rate / 1e9:.3g} Gop/s"
        parts.append(
            f'<g class="point"{focus}><title>{escape(label)}</title>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6"/></g>'
        )
    size = _LEFT + _WIDTH + 20, _TOP + _HEIGHT + 40
    return document(*size, parts, "Kernels under the roofline of this machine", "roofline")


def _axes(low: int, high: int, bottom: int, top: int) -> list[str]:
    parts = []
    right, floor = _LEFT + _WIDTH, _TOP + _HEIGHT
    for power in range(low, high + 1):
        x = _LEFT + _WIDTH * (power - low) / (high - low)
        text = _power(power)
        parts.append(f'<path class="grid" d="M{x:.1f} {_TOP}V{floor}"/>')
        parts.append(f'<text class="type" x="{x:.1f}" y="{floor + 14}">{text}</text>')
    every = max((top - bottom) // 8, 1)
    for power in range(bottom, top + 1, every):
        y = floor - _HEIGHT * (power - bottom) / (top - bottom)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{right}"/>')
        text = _power(power)
        parts.append(f'<text class="type" x="{_LEFT - 26}" y="{y + 4:.1f}">{text}</text>')
    parts.append(f'<text x="{_LEFT + _WIDTH / 2}" y="{floor + 32}">operations for a byte</text>')
    parts.append(f'<text x="{_LEFT + 20}" y="{_TOP - 5}">Gop/s</text>')
    return parts


def _power(number: int) -> str:
    """A power of two."""
    return f"{2**number}" if number >= 0 else f"1/{2**-number}"
