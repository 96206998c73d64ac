"""Compute a canonical form of statements, equal for alpha-equivalent ones.

Bound names (loop indices, scalars, local arrays) and parameters are numbered in the order of first
appearance, as de Bruijn would; free names stay. Annotations that do not affect the code are left
out. Kernels with equal forms share one C function, which is given their parameters in this order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from transpile.errors import InternalError
from transpile.ir.calls import Call, Strided
from transpile.ir.dims import Atom, Dim, Index, Shape, Symbol
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    IndexValue,
    Kernel,
    Literal,
    Load,
    Ref,
    Statement,
    Store,
    Swap,
    Update,
    While,
    Within,
)
from transpile.ir.loop_rewrite import names_of_kernel


def canonical_form(kernel: Kernel, parameters: Iterable[str]) -> tuple[Hashable, tuple[str, ...]]:
    """The form of a kernel's body, and `parameters`, the buffers that it takes, in the order in
    which the body mentions them."""
    numbering = _Numbering(kernel, parameters)
    return numbering.body(kernel.body), numbering.parameters()


class _Numbering:
    """Numbers the bound names of one kernel."""

    def __init__(self, kernel: Kernel, parameters: Iterable[str]) -> None:
        self._numbers: dict[str, int] = {}
        self._parameters = frozenset(parameters)
        self._bound = names_of_kernel(kernel) | self._parameters

    def parameters(self) -> tuple[str, ...]:
        """The parameters among the names that have a number, in the order of their numbers."""
        return tuple(name for name in self._numbers if name in self._parameters)

    def name(self, name: str) -> Hashable:
        """The number of a bound name; a free name itself."""
        number = self._numbers.get(name)
        if number is None:
            if name not in self._bound:
                return name
            number = self._numbers[name] = len(self._numbers)
        return number

    def body(self, body: tuple[Statement, ...]) -> Hashable:
        """The form of a sequence of statements."""
        return tuple(map(self._statement, body))

    def _statement(self, statement: Statement) -> Hashable:
        match statement:
            case For():
                return self._loop(statement)
            case If(condition=condition, body=body, orelse=orelse):
                return (If, self._expr(condition), self.body(body), self.body(orelse))
            case While(condition=condition, body=body, test=test):
                return (While, self.body(test), self._expr(condition), self.body(body))
            case Declare(name=name, value=value, constant=constant):
                return (Declare, self._expr(value), self.name(name), constant)
            case Update(target=target, op=op, value=value):
                return (Update, self._expr(target), op, self._expr(value))
            case Store(buffer=buffer, index=index, value=value):
                return (Store, self.name(buffer), self._shape(index), self._expr(value))
            case Alloc(buffer=buffer, slot=slot):
                home = slot and (self.name(slot.home), slot.offset, slot.shared_out)
                return (Alloc, self._buffer(buffer), home)
            case Swap(first=first, second=second):
                return (Swap, self.name(first), self.name(second))
            case Call():
                return self._call(statement)
        raise InternalError(f"no canonical form of {statement}")

    def _loop(self, loop: For) -> Hashable:
        """A loop, without `ordered` and `independent`, which only the schedule reads."""
        return (
            For,
            self._index(loop.start),
            self._index(loop.stop),
            None if loop.limit is None else self._index(loop.limit),
            self._atom(loop.symbol),
            (loop.parallel, loop.simd, loop.lanes, loop.collapse, loop.threads, loop.near),
            self._index(loop.slack),
            tuple((op, self.name(name)) for op, name in loop.reductions),
            self.body(loop.body),
        )

    def _call(self, call: Call) -> Hashable:
        routine: Any = type(call)
        return (routine, *(self._operand(getattr(call, n)) for n in routine.__dataclass_fields__))

    def _operand(self, value: Any) -> Hashable:
        """The form of a call's operand; compile-time data are their own form."""
        match value:
            case Strided(first=first, strides=strides):
                return Strided, self._expr(first), self._shape(strides)
            case int() | Dim():
                return self._index(value)
            case tuple():
                return tuple(map(self._operand, value))
            case _:
                kept: Hashable = value
                return kept

    def _buffer(self, buffer: Buffer) -> Hashable:
        return self.name(buffer.name), self._shape(buffer.shape), buffer.dtype

    def _expr(self, expr: Expr) -> Hashable:
        match expr:
            case Literal():
                return expr
            case Ref(name=name, dtype=dtype):
                return Ref, self.name(name), dtype
            case Load(buffer=buffer, index=index, dtype=dtype):
                return Load, self.name(buffer), self._shape(index), dtype
            case IndexValue(index=index, dtype=dtype):
                return IndexValue, self._index(index), dtype
            case Within(index=index, low=low, high=high):
                return Within, self._index(index), self._index(low), self._index(high)
            case Apply(op=op, args=args, dtype=dtype):
                return Apply, op, tuple(map(self._expr, args)), dtype

    def _shape(self, shape: Shape) -> Hashable:
        return tuple(map(self._index, shape))

    def _index(self, index: Index) -> Hashable:
        """An index with its terms in the order in which they are printed."""
        if isinstance(index, int):
            return index
        return tuple((*map(self._atom, monomial), factor) for monomial, factor in index.terms)

    def _atom(self, atom: Atom) -> Hashable:
        if isinstance(atom, Symbol):
            extent = None if atom.extent is None else self._index(atom.extent)
            return self.name(atom.name), atom.lower, extent
        return type(atom), self._index(atom.dividend), self._index(atom.divisor)
