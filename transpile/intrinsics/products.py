"""Matrix products, by `runtime_c/products/` or by a BLAS: whole, batches of small ones, and the
blocks of rows that fused kernels call, with the right operand packed into panels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.ir.calls import Call, Invocation, Strided
from transpile.ir.dims import Index
from transpile.ir.indices.estimates import estimate
from transpile.ir.loop_ir import UNALLOCATED, Load
from transpile.ir.types import SHORT_NAMES
from transpile.util.frozen_records import dataclass, replace

# The cache blocks of runtime_c/products/matmul.h: rows or columns, depth, and rows that panels pad.
_BLOCK, _DEPTH, _FURTHER = 1024, 384, 64
_ALIGNMENT = 64
# Up to so many multiplications the products of a batch are up to 1.2 times as fast where the C
# compiler knows their sizes.
_SPECIALISED = 32**3


class Product(Call):
    """A matrix product, c = a b; the intrinsics below are ways to compute one, or several."""

    m: Index
    n: Index
    k: Index
    c: Strided

    is_steady = True

    @property
    def flops(self) -> Index:
        return 2 * self.m * self.n * self.k

    @property
    def panel_bytes(self) -> int:
        """The packed panels of a cache block, as matmul_workspace_F of products/matmul.h
        computes."""
        m, n, k = map(estimate, (self.m, self.n, self.k))
        panels = min(m, _BLOCK) + min(n, _BLOCK) + _FURTHER
        return panels * min(k, _DEPTH) * self.c.dtype.itemsize + 128

    def numpy(self, *arrays: Any) -> Any:
        a, b = arrays[:2]  # panels hold what b does
        # Sums of halves are float32.
        return np.matmul(a.astype(self.c.dtype), b.astype(self.c.dtype))

    def calling(self, function: str, *arguments: Index | Load) -> Invocation:
        """The call of a function for the dtype of the result."""
        return Invocation(f"{function}_{SHORT_NAMES[self.c.dtype]}", arguments)

    def calling_blas(self) -> Invocation:
        """The call in C of a BLAS, by a function of the same arguments as that without one."""
        routines = (("gemm", SHORT_NAMES[self.c.dtype]),)
        own = self.invocation("c")
        return Invocation(f"blas_{own.function}", own.arguments, routines)


@dataclass(frozen=True)
class Matmul(Product):
    """A matrix product of strided operands; the rows of the result are contiguous. `precision` is
    that of the params of `dot_general`: of the operands, or less for tensor cores."""

    m: Index
    n: Index
    k: Index
    a: Strided
    b: Strided
    c: Strided
    workspace: Strided = UNALLOCATED
    precision: str = ""

    name = "matmul"
    signature = "a(m,k), b(k,n) -> c(m,n)"

    @property
    def is_symmetric(self) -> bool:
        """True if the right operand is the transpose of the left one in the same memory: the whole
        product takes half of the operations."""
        return (
            self.m == self.n
            and self.a.first == self.b.first
            and self.a.strides == self.b.strides[::-1]
        )

    @property
    def scratch_bytes(self) -> int:
        return self.panel_bytes

    def in_c(self) -> Invocation:
        sizes = (self.m, self.n, self.k)
        arrays = (*self.a.with_strides, *self.b.with_strides, *self.c.with_row_strides)
        return self.calling("matmul", *sizes, *arrays, self.workspace.first)

    def in_blas(self) -> Invocation:
        return self.calling_blas()

    def batch(self, count: int, strides: Sequence[Index], slots: int) -> MatmulBatch:
        """The batch of `count` such products, whose operands have these strides between them and
        whose results are contiguous, with workspace for `slots` threads."""
        a, b = (
            replace(x, strides=(stride, *x.strides))
            for x, stride in zip((self.a, self.b), strides, strict=True)
        )
        c = replace(self.c, strides=(self.m * self.n, *self.c.strides))
        sizes = (count, self.m, self.n, self.k)
        return MatmulBatch(*sizes, a, b, c, slots, self.workspace, self.precision)


@dataclass(frozen=True)
class MatmulBatch(Product):
    """A batch of small matrix products, computed by up to `slots` threads with a workspace each."""

    count: int
    m: Index
    n: Index
    k: Index
    a: Strided
    b: Strided
    c: Strided
    slots: int
    workspace: Strided = UNALLOCATED
    precision: str = ""

    name = "matmul_batch"
    signature = "a(count,m,k), b(count,k,n) -> c(count,m,n)"

    @property
    def flops(self) -> Index:
        return self.count * super().flops

    @property
    def scratch_bytes(self) -> int:
        return -(-self.panel_bytes // _ALIGNMENT) * _ALIGNMENT * self.slots

    @property
    def is_specialised(self) -> bool:
        return estimate(self.m * self.n * self.k) <= _SPECIALISED

    def in_c(self) -> Invocation:
        sizes = (self.count, self.m, self.n, self.k)
        arrays = (*self.a.with_strides, *self.b.with_strides, *self.c.with_row_strides)
        return self.calling("matmul_batch", *sizes, *arrays, self.slots, self.workspace.first)

    def in_blas(self) -> Invocation:
        return self.calling_blas()


@dataclass(frozen=True)
class ComplexMatmul(Product):
    """A matrix product of strided complex operands; the rows of the result are contiguous."""

    m: int
    n: int
    k: int
    a: Strided
    b: Strided
    c: Strided
    workspace: Strided = UNALLOCATED

    name = "complex_matmul"
    signature = "a(m,k), b(k,n) -> c(m,n)"

    @property
    def flops(self) -> Index:
        return 4 * super().flops

    @property
    def scratch_bytes(self) -> int:
        """As complex_matmul_workspace_C of products/complex_matmul.h computes."""
        columns = min(self.n, _BLOCK // 2)
        copied = 0 if self.a.strides[-1:] == (1,) else self.m
        pairs = 4 * self.k * columns + 2 * self.k * copied + 16
        panels = min(self.m, _BLOCK) + min(2 * columns, _BLOCK) + _FURTHER
        numbers = pairs + panels * min(2 * self.k, _DEPTH)
        return numbers * self.c.dtype.itemsize // 2 + 128

    def in_c(self) -> Invocation:
        sizes = (self.m, self.n, self.k)
        arrays = (*self.a.with_strides, *self.b.with_strides, *self.c.with_row_strides)
        return self.calling("complex_matmul", *sizes, *arrays, self.workspace.first)


@dataclass(frozen=True)
class MatmulPanels(Call):
    """Pack a right operand into panels, in the layout that the kernel reads; where `rows` is given,
    only if the products have many rows in all, which is known at run time."""

    n: Index
    k: Index
    b: Strided
    panels: Strided
    rows: Index | None = None

    name = "matmul_panels"
    is_steady = True
    signature = "b(k,n) -> panels(k,n)"

    def numpy(self, b: Any) -> Any:
        return b

    def in_c(self) -> Invocation:
        arrays = (*self.b.with_strides, self.panels.first)
        name = "matmul_panels" if self.rows is None else "matmul_panels_of_many"
        in_all = () if self.rows is None else (self.rows,)
        sizes = (*in_all, self.n, self.k)
        return Invocation(f"{name}_{SHORT_NAMES[self.b.dtype]}", (*sizes, *arrays))


@dataclass(frozen=True)
class MatmulRows(Product):
    """A matrix product of one thread whose right operand is read where it is: its rows are
    contiguous, and a multiple of the vector length."""

    m: Index
    n: Index
    k: Index
    a: Strided
    b: Strided
    c: Strided

    name = "matmul_rows"
    signature = "a(m,k), b(k,n) -> c(m,n)"

    def in_c(self) -> Invocation:
        arrays = (*self.a.with_strides, *self.b.with_row_strides, *self.c.with_row_strides)
        return self.calling("matmul_rows", self.m, self.n, self.k, *arrays)


@dataclass(frozen=True)
class MatmulPanelRows(Product):
    """A matrix product of one thread whose right operand is packed into panels, which the C
    function knows by the stride 0."""

    m: Index
    n: Index
    k: Index
    a: Strided
    panels: Strided
    c: Strided

    name = "matmul_panel_rows"
    signature = "a(m,k), panels(k,n) -> c(m,n)"

    def in_c(self) -> Invocation:
        arrays = (*self.a.with_strides, self.panels.first, 0, *self.c.with_row_strides)
        return self.calling("matmul_rows", self.m, self.n, self.k, *arrays)


@dataclass(frozen=True)
class MatmulEitherRows(Product):
    """A matrix product of one thread whose right operand is read from panels if the products have
    many rows in all, `rows`, for which `MatmulPanels` has packed it, and where it is otherwise."""

    m: Index
    n: Index
    k: Index
    a: Strided
    b: Strided
    panels: Strided
    c: Strided
    rows: Index

    name = "matmul_either_rows"
    signature = "a(m,k), b(k,n), panels(k,n) -> c(m,n)"

    def in_c(self) -> Invocation:
        right = (*self.b.with_strides, self.panels.first)
        arrays = (*self.a.with_strides, *right, *self.c.with_row_strides)
        return self.calling("matmul_either_rows", self.rows, self.m, self.n, self.k, *arrays)
