"""Fourier transforms along an axis: `runtime_c/transforms/fft.h`.

The C function interprets a plan (factorisation of the length, algorithm of each factor) and reads a
table of twiddle factors. Both are constants of the program, made by `transpile.library.fft`; of a
length that is known at run time `runtime_c/transforms/fft_plan.h` makes them in the workspace.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.calls import Call, Invocation, Strided
from transpile.ir.dims import Index, evaluate, floor_divide
from transpile.ir.indices.estimates import estimate
from transpile.ir.loop_ir import UNALLOCATED, Load
from transpile.ir.primitive import TABLE
from transpile.ir.types import SHORT_NAMES, real_dtype
from transpile.util.frozen_records import dataclass

# By their numbers in runtime_c/transforms/fft.h.
KINDS = ("fft", "ifft", "rfft", "irfft")


@dataclass(frozen=True, eq=False)
class Plan:
    """The plan of a transform of `n` elements of one of the four kinds of the primitive `fft`:
    whether many are made together, the integers that the C function reads, twiddle factors, and
    bytes of workspace."""

    kind: str
    n: int
    scale: float
    together: bool
    numbers: Any
    table: Any
    workspace: int


class Transforms(Call):
    """`outer` x `inner` transforms of `n` elements along the axis between, of one of the four kinds
    of the primitive `fft`, times `scale`."""

    kind: str
    n: Index
    scale: float
    outer: Index
    inner: Index
    x: Strided
    out: Strided
    workspace: Strided

    @property
    def taken(self) -> Index:
        """The elements of a transform's operand."""
        return floor_divide(self.n, 2) + 1 if self.kind == "irfft" else self.n

    @property
    def given(self) -> Index:
        """The elements of a transform's result."""
        return floor_divide(self.n, 2) + 1 if self.kind == "rfft" else self.n

    @property
    def flops(self) -> Index:
        passes = max(1.0, float(np.log2(estimate(self.n))))
        count = self.outer * self.inner
        if isinstance(self.n, int):
            return count * round(5 * self.n * passes)
        return count * self.n * round(5 * passes)

    def numpy(self, x: Any) -> Any:
        params = {"fft_type": self.kind, "fft_lengths": (self.n,), "axes": (2,)}
        return TABLE["fft"].numpy(x, **params, scale=self.scale)

    @property
    def _form(self) -> tuple[str, str]:
        """What operand and result are, and the suffix of the complex one: of the names of C
        functions."""
        x, out = self.x.dtype, self.out.dtype
        if out.kind == "f":
            return "hermitian", SHORT_NAMES[x]
        return "complex" if x.kind == "c" else "real", SHORT_NAMES[out]

    @property
    def _arrays(self) -> tuple[Index | Load, ...]:
        arrays = (*self.x.with_strides, *self.out.with_strides)
        return (self.outer, self.inner, *arrays, self.workspace.first)


@dataclass(frozen=True)
class Fft(Transforms):
    """Transforms of a length that is known while compiling. `together`: many of them side by side,
    else one after the other, which are functions of their own: compilers take long for either."""

    kind: str
    n: Index
    scale: float
    outer: Index
    inner: Index
    x: Strided
    out: Strided
    plan: Strided
    factors: Strided
    room: int
    together: bool
    workspace: Strided = UNALLOCATED

    name = "fft"
    signature = "plan(*), factors(*), x(outer,inner,taken) -> out(outer,inner,given)"

    @property
    def scratch_bytes(self) -> int:
        return self.room

    def in_c(self) -> Invocation:
        form, suffix = self._form
        function = f"fft_{form}_{'together' if self.together else 'alone'}_{suffix}"
        return Invocation(function, (self.plan.first, self.factors.first, *self._arrays))


@dataclass(frozen=True)
class FftOfSize(Transforms):
    """Transforms of a length that is known at run time, also divided by `divisor`, or with `root`
    by its square root. `thresholds` are those of the machine, by which the plan is made."""

    kind: str
    n: Index
    scale: float
    outer: Index
    inner: Index
    x: Strided
    out: Strided
    thresholds: Strided
    divisor: Index = 1
    root: bool = False
    workspace: Strided = UNALLOCATED

    name = "fft_of_size"
    signature = "thresholds(*), x(outer,inner,taken) -> out(outer,inner,given)"

    @property
    def scratch_bytes(self) -> Index:
        # For a thread: the plan, its factors and scratch memory, of which transforms in lanes need
        # the most, and convolutions with a chirp. For further ones as much as for the results.
        own = 2 * real_dtype(self.out.dtype).itemsize
        return self.outer * self.inner * self.n * own + self.n * 320 + 4096

    def in_c(self) -> Invocation:
        scale = (repr(self.scale), self.divisor, "true" if self.root else "false")
        size = (KINDS.index(self.kind), self.n, *scale, self.thresholds.first)
        function = f"fft_any_{'_'.join(self._form)}"
        return Invocation(function, (*size, *self._arrays, self.scratch_bytes))

    def numpy(self, x: Any) -> Any:
        divisor = evaluate(self.divisor, {})
        return super().numpy(x) / (divisor**0.5 if self.root else divisor)
