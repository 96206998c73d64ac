"""The spelling of types in CUDA C++: those of C, but for complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.codegen.dialect import C
from transpile.util.frozen_records import replace

DType = np.dtype[Any]


class _Types(dict[DType, str]):
    """Types of our own; the others are C's."""

    def __missing__(self, dtype: DType) -> str:
        return self.setdefault(dtype, C.types[dtype])

    def __contains__(self, dtype: object) -> bool:
        return super().__contains__(dtype) or dtype in C.types


CUDA = replace(
    C,
    name="cuda",
    types=_Types({np.dtype("complex64"): "complex64", np.dtype("complex128"): "complex128"}),
    template="cuda/program.cu.j2",
    includes=("math.h", "stdint.h", "string.h"),
    complex_includes=(),
)
