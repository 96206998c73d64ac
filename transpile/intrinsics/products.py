"""Matrix products: the functions of `runtime_c/products/` for them, and those of a BLAS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.calls import Call, Invocation, Strided
from transpile.ir.dims import Index
from transpile.ir.loop_ir import UNALLOCATED
from transpile.ir.types import SHORT_NAMES
from transpile.util.frozen_records import dataclass, replace

# The blocks of runtime_c/products/matmul.h: rows or columns, terms, and rows of panels beyond them.
_BLOCK, _DEPTH, _FURTHER = 1024, 384, 64
_ALIGNMENT = 64


@dataclass(frozen=True)
class Matmul(Call):
    """A matrix product; the columns of its result are adjacent."""

    m: int
    n: int
    k: int
    a: Strided
    b: Strided
    c: Strided
    workspace: Strided = UNALLOCATED

    name = "matmul"
    signature = "a(m,k), b(k,n) -> c(m,n)"

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k

    @property
    def scratch_bytes(self) -> int:
        """As matmul_workspace_F of products/matmul.h has it."""
        panels = min(self.m, _BLOCK) + min(self.n, _BLOCK) + _FURTHER
        return panels * min(self.k, _DEPTH) * self.c.dtype.itemsize + 128

    def numpy(self, a: Any, b: Any) -> Any:
        return np.matmul(a, b)

    def in_c(self) -> Invocation:
        sizes = (self.m, self.n, self.k)
        arrays = (*self.a.by_elements, *self.b.by_elements, *self.c.by_rows)
        return Invocation(
            f"matmul_{SHORT_NAMES[self.c.dtype]}", (*sizes, *arrays, self.workspace.first)
        )

    def in_blas(self) -> Invocation:
        return _of_blas(self.in_c(), self.c)

    def batch(self, count: int, steps: Sequence[Index], places: int) -> MatmulBatch:
        """As many products of operands that are so many elements apart; results follow each
        other."""
        a, b = (
            replace(x, strides=(step, *x.strides))
            for x, step in zip((self.a, self.b), steps, strict=True)
        )
        c = replace(self.c, strides=(self.m * self.n, *self.c.strides))
        return MatmulBatch(count, self.m, self.n, self.k, a, b, c, places, self.workspace)


@dataclass(frozen=True)
class MatmulBatch(Call):
    """A batch of small matrix products, `places` of which are made at a time."""

    count: int
    m: int
    n: int
    k: int
    a: Strided
    b: Strided
    c: Strided
    places: int
    workspace: Strided = UNALLOCATED

    name = "matmul_batch"
    signature = "a(count,m,k), b(count,k,n) -> c(count,m,n)"

    @property
    def flops(self) -> int:
        return 2 * self.count * self.m * self.n * self.k

    @property
    def scratch_bytes(self) -> int:
        one = Matmul(self.m, self.n, self.k, self.a, self.b, self.c).scratch_bytes
        return -(-one // _ALIGNMENT) * _ALIGNMENT * self.places

    def numpy(self, a: Any, b: Any) -> Any:
        return np.matmul(a, b)

    def in_c(self) -> Invocation:
        sizes = (self.count, self.m, self.n, self.k)
        arrays = (*self.a.by_elements, *self.b.by_elements, *self.c.by_rows)
        return Invocation(
            f"matmul_batch_{SHORT_NAMES[self.c.dtype]}",
            (*sizes, *arrays, self.places, self.workspace.first),
        )

    def in_blas(self) -> Invocation:
        return _of_blas(self.in_c(), self.c)


def _of_blas(invocation: Invocation, result: Strided) -> Invocation:
    """The function of the same arguments that calls a BLAS."""
    routines = (("gemm", SHORT_NAMES[result.dtype]),)
    return Invocation(f"blas_{invocation.function}", invocation.arguments, routines)


@dataclass(frozen=True)
class MatmulPanels(Call):
    """A right operand packed into panels, which hold all of it; the order is the routine's."""

    n: int
    k: int
    b: Strided
    panels: Strided

    name = "matmul_panels"
    signature = "b(k,n) -> panels(k,n)"

    def numpy(self, b: Any) -> Any:
        return b

    def in_c(self) -> Invocation:
        arrays = (*self.b.by_elements, self.panels.first)
        return Invocation(f"matmul_panels_{SHORT_NAMES[self.b.dtype]}", (self.n, self.k, *arrays))


@dataclass(frozen=True)
class MatmulRows(Call):
    """A matrix product by one thread, of a right operand whose rows are whole vectors."""

    m: int
    n: int
    k: int
    a: Strided
    b: Strided
    c: Strided

    name = "matmul_rows"
    signature = "a(m,k), b(k,n) -> c(m,n)"

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k

    def numpy(self, a: Any, b: Any) -> Any:
        return np.matmul(a, b)

    def in_c(self) -> Invocation:
        arrays = (*self.a.by_elements, *self.b.by_rows, *self.c.by_rows)
        return Invocation(
            f"matmul_rows_{SHORT_NAMES[self.c.dtype]}", (self.m, self.n, self.k, *arrays)
        )


@dataclass(frozen=True)
class MatmulPanelRows(Call):
    """A matrix product by one thread, of a right operand in panels, which C knows by a stride
    of 0."""

    m: int
    n: int
    k: int
    a: Strided
    panels: Strided
    c: Strided

    name = "matmul_panel_rows"
    signature = "a(m,k), panels(k,n) -> c(m,n)"

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k

    def numpy(self, a: Any, panels: Any) -> Any:
        return np.matmul(a, panels)

    def in_c(self) -> Invocation:
        arrays = (*self.a.by_elements, self.panels.first, 0, *self.c.by_rows)
        return Invocation(
            f"matmul_rows_{SHORT_NAMES[self.c.dtype]}", (self.m, self.n, self.k, *arrays)
        )
