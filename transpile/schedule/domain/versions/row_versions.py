"""A version of a kernel for one row, where the number of rows of its products is a runtime size.

    call matmul_rows(n, ...)     ->     if n != 1: call matmul_rows(n, ...)
                                        else:      for j: acc = 0; for p: acc += a[0, p] * b[p, j]

A network that is called for one example spends less time in such products than on the way into
routines that are made for many rows. A program of a fixed size has loops there, and what follows
makes the same of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from transpile.intrinsics.products import (
    Matmul,
    MatmulEitherRows,
    MatmulPanelRows,
    MatmulPanels,
    MatmulRows,
)
from transpile.ir.calls import Strided
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import OF_LOOPS, OWN_SHAPES
from transpile.ir.dims import Dim, Index, Shape, Symbol, substitute, symbols_of
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.indices.row_major import product
from transpile.ir.indices.values import as_value
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Declare,
    For,
    If,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import accessed, indices, map_kernels, names_in, walk, with_bodies
from transpile.ir.types import BOOL, INT64
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.domain.versions.known_sizes import Body, with_known_sizes
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import dataclass, replace

_PRODUCTS = (Matmul, MatmulRows, MatmulPanelRows, MatmulEitherRows)


@contract(requires=(OWN_SHAPES,), destroys=OF_LOOPS)
def version_rows(program: Program, options: Options) -> Program:
    """The program with a version for one row of kernels with products of few numbers then."""
    if not program.sizes or options.blas != "none":
        return program
    names = Names(names_in(program))

    def versions(kernel: Kernel) -> Kernel:
        for size in _sizes_of_products(kernel, program):
            one = _OneRow(program, size, names, options.machine).body(kernel)
            if one is not None:
                many = Apply("not_equal", (as_value(Dim.of(size)), Literal(1, INT64)), BOOL)
                return replace(kernel, body=(If(many, kernel.body, one),))
        return kernel

    return map_kernels(program, versions)


def _sizes_of_products(kernel: Kernel, program: Program) -> Iterator[Symbol]:
    """The runtime sizes that may be 1, if the kernel has products and they are read in it."""
    inside = list(walk(kernel.body))
    if kernel.shapes or not any(isinstance(s, _PRODUCTS) for s in inside):
        return
    read = {symbol for s in inside for index in indices(s) for symbol in symbols_of(index)}
    for size in program.sizes:
        if size in read and size.lower <= 1 and (size.extent is None or size.extent != 1):
            yield size


class _NoVersionError(Exception):
    """A product has no loops, or too many numbers to multiply."""


@dataclass(frozen=True)
class _OneRow:
    """Makes the statements of kernels in which a size is 1."""

    program: Program
    size: Symbol
    names: Names
    machine: Machine

    def body(self, kernel: Kernel) -> Body | None:
        """The statements of a kernel; None where a product remains a call."""
        body = with_known_sizes(kernel.body, self._known)
        inside = list(walk(body))
        shapes = {name: b.shape for name, b in self.program.buffers().items()}
        shapes.update((s.buffer.name, s.buffer.shape) for s in inside if isinstance(s, Alloc))
        shapes = {name: tuple(map(self._known, shape)) for name, shape in shapes.items()}
        packed = {s.panels.buffer: s.b for s in inside if isinstance(s, MatmulPanels)}
        try:
            body = self._without_calls(body, shapes, packed)
        except _NoVersionError:
            return None
        read = {name for s in walk(body) if not isinstance(s, Alloc) for name in accessed(s)}
        return _without(body, read)

    def _known(self, index: Index) -> Index:
        return substitute(index, {self.size: 1})

    def _without_calls(
        self, body: Body, shapes: Mapping[str, Shape], packed: Mapping[str, Strided]
    ) -> Body:
        """The statements with loops in the place of products."""
        statements: list[Statement] = []
        for statement in body:
            match statement:
                case MatmulPanels():
                    continue
                case MatmulPanelRows(panels=panels):
                    statements += self._loops(statement, packed[panels.buffer], shapes)
                case Matmul() | MatmulRows() | MatmulEitherRows():
                    statements += self._loops(statement, statement.b, shapes)
                case _:
                    inside = partial(self._without_calls, shapes=shapes, packed=packed)
                    statements.append(with_bodies(statement, inside))
        return tuple(statements)

    def _is_loop(self, m: Index, n: Index, k: Index) -> bool:
        """True if a product of known sizes would be loops, and not too long ones."""
        machine, terms = self.machine, m * n * k
        if not is_at_most(terms, machine.most_terms_of_a_row):
            return False
        is_narrow = any(is_at_most(side, machine.shortest_product_side - 1) for side in (m, n, k))
        return is_narrow or is_at_most(terms, machine.least_product_terms - 1)

    def _loops(
        self,
        call: Matmul | MatmulRows | MatmulPanelRows | MatmulEitherRows,
        right: Strided,
        shapes: Mapping[str, Shape],
    ) -> Body:
        """The nest that computes a product: a dot product for each element of the result."""
        (m, n, k), dtype = (call.m, call.n, call.k), call.c.dtype
        if not (self._is_loop(m, n, k) and call.a.dtype == right.dtype == dtype):
            raise _NoVersionError
        i, j, p = (Symbol(self.names.new(x), 0, size) for x, size in (("i", m), ("j", n), ("k", k)))
        a, b, c = (
            _element(x, shapes[x.buffer], axes)
            for x, axes in ((call.a, (i, p)), (right, (p, j)), (call.c, (i, j)))
        )
        term, zero = Apply("multiply", (a, b), dtype), Literal(np.zeros((), dtype)[()], dtype)
        if k == 1:
            body: Body = (Store(c.buffer, c.index, Apply("add", (zero, term), dtype)),)
        else:
            acc = Ref(self.names.new("acc"), dtype)
            declare = Declare(acc.name, zero, constant=False)
            body = (declare, _loop(p, (Update(acc, "add", term),)), Store(c.buffer, c.index, acc))
        for symbol in (j, i):
            body = body if symbol.extent == 1 else (_loop(symbol, body),)
        return body


def _loop(symbol: Symbol, body: Body) -> Statement:
    return For(symbol, symbol.extent or 0, body)


def _element(array: Strided, shape: Shape, axes: tuple[Symbol, ...]) -> Load:
    """The element of an operand at these loop indices, each of which moves along one axis."""
    index = list(array.first.index)
    for symbol, stride in zip(axes, array.strides, strict=True):
        if symbol.extent == 1:
            continue
        for axis, extent in enumerate(shape):
            own = product(shape[axis + 1 :])
            if own == stride and is_at_most(index[axis] + (symbol.extent or 0), extent):
                index[axis] = index[axis] + Dim.of(symbol)
                break
        else:
            raise _NoVersionError
    return replace(array.first, index=tuple(index))


def _without(body: Body, read: set[str]) -> Body:
    """The statements without arrays that nothing accesses."""
    return tuple(
        with_bodies(s, lambda inner: _without(inner, read))
        for s in body
        if not (isinstance(s, Alloc) and s.buffer.name not in read)
    )
