"""Conversions of float16 in vector registers: `runtime_c/arrays/half.h`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from transpile.ir.calls import Call, Invocation, Strided
from transpile.ir.dims import Index
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class _Conversion(Call):
    """The next `size` elements of an array, or as many as are `left`, in another format."""

    size: Index
    left: Index
    x: Strided
    out: Strided

    signature = "x(n) -> out(n)"
    function: ClassVar[str]

    @property
    def n(self) -> int:
        """The elements that are converted."""
        return min(_known(self.size), _known(self.left))

    def in_c(self) -> Invocation:
        return Invocation(self.function, (self.size, self.left, self.x.first, self.out.first))


@dataclass(frozen=True)
class WidenHalves(_Conversion):
    """float16 to float32."""

    name = "widen_halves"
    magnitude = float(np.finfo(np.float16).max)
    function = "widen_each_f16"

    def numpy(self, x: Any) -> Any:
        return x.astype(np.float32)


@dataclass(frozen=True)
class RoundHalves(_Conversion):
    """float32 to float16."""

    name = "round_halves"
    function = "round_each_f16"

    def numpy(self, x: Any) -> Any:
        return x.astype(np.float16)


def _known(size: Index) -> int:
    """A size as an int, which it is when the interpreter runs a call."""
    if not isinstance(size, int):
        raise TypeError(f"the size {size} is symbolic")
    return size
