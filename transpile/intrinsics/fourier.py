"""Fourier transforms along an axis: `runtime_c/transforms/fft.h`.

The C function interprets a plan (factorisation of the length, algorithm of each factor) and reads a
table of twiddle factors. Both are constants of the program, made by `transpile.library.fft`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.ir.calls import Call, Invocation, Strided
from transpile.ir.dims import Index
from transpile.ir.loop_ir import UNALLOCATED
from transpile.ir.primitive import TABLE
from transpile.ir.types import SHORT_NAMES
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True, eq=False)
class Plan:
    """The plan of a transform of `n` elements of one of the four kinds of the primitive `fft`: the
    integers that the C function reads, twiddle factors, and bytes of workspace."""

    kind: str
    n: int
    scale: float
    numbers: Any
    table: Any
    workspace: int


@dataclass(frozen=True)
class Fft(Call):
    """`outer` x `inner` transforms along the axis between."""

    plan: Strided
    factors: Strided
    outer: Index
    inner: Index
    x: Strided
    out: Strided
    layout: Plan
    workspace: Strided = UNALLOCATED

    name = "fft"
    signature = "plan(*), factors(*), x(outer,inner,taken) -> out(outer,inner,given)"

    @property
    def taken(self) -> int:
        """The elements of a transform's operand."""
        n = self.layout.n
        return n // 2 + 1 if self.layout.kind == "irfft" else n

    @property
    def given(self) -> int:
        """The elements of a transform's result."""
        n = self.layout.n
        return n // 2 + 1 if self.layout.kind == "rfft" else n

    @property
    def flops(self) -> Index:
        n = self.layout.n
        return self.outer * self.inner * round(5 * n * max(1.0, float(np.log2(n))))

    @property
    def scratch_bytes(self) -> int:
        return self.layout.workspace

    def numpy(self, x: Any) -> Any:
        params = {"fft_type": self.layout.kind, "fft_lengths": (self.layout.n,), "axes": (2,)}
        return TABLE["fft"].numpy(x, **params, scale=self.layout.scale)

    def in_c(self) -> Invocation:
        return Invocation(
            self._function(),
            (
                *(self.plan.first, self.factors.first, self.outer, self.inner),
                *(*self.x.with_strides, *self.out.with_strides, self.workspace.first),
            ),
        )

    def _function(self) -> str:
        x, out = self.x.dtype, self.out.dtype
        if out.kind == "f":
            return f"fft_hermitian_{SHORT_NAMES[x]}"
        return f"fft_{'complex' if x.kind == 'c' else 'real'}_{SHORT_NAMES[out]}"
