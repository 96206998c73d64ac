"""Verify that a loop program is well formed, after lowering and after each schedule pass: names are
declared before their use and in scope, subscripts have the rank of their buffer, loop indices
belong to enclosing loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from transpile.errors import InternalError
from transpile.ir.calls import Call
from transpile.ir.dims import Shape, Symbol, symbols_of
from transpile.ir.loop_ir import (
    UNALLOCATED,
    Alloc,
    Buffer,
    Declare,
    For,
    If,
    Program,
    Ref,
    Statement,
    Store,
    Swap,
    While,
)
from transpile.ir.loop_rewrite import loads, parts, seen_by


def check(program: Program, before: Program | None = None) -> None:
    """Raise InternalError for a program that is not well formed. Kernels of a program verified
    `before`, over the same buffers, are not verified again."""
    if program is before:
        return
    known: set[int] = set()
    if before is not None and before.buffers() == program.buffers():
        known = {id(kernel) for kernel in before.kernels}
    for kernel in program.kernels:
        if id(kernel) not in known:
            sizes = (*program.sizes, *(length for length, _ in program.lengths))
            _Checker(seen_by(program, kernel), sizes).scope(kernel.body)


class _Checker:
    """The names in scope at the statement being verified: buffers, runtime sizes, enclosing loops,
    scalars and local arrays declared before."""

    def __init__(self, buffers: Mapping[str, Buffer], sizes: Iterable[Symbol]) -> None:
        self.buffers = buffers
        self.symbols = set(sizes)
        self.names: set[str] = set()
        self.local: dict[str, Buffer] = {}

    def scope(self, body: tuple[Statement, ...], *around: Symbol) -> None:
        """Verify the statements of a scope, in order; their declarations end with it."""
        declared: set[str] = set()
        names: set[str] = set()
        symbols = {s for s in around if s not in self.symbols}
        local: dict[str, Buffer | None] = {}
        self.symbols |= symbols
        for statement in body:
            match statement:
                case Declare(name=name, symbol=symbol):
                    self.reads(statement)
                    if name in declared:
                        raise InternalError(f"{name} is declared twice")
                    declared.add(name)
                    if name not in self.names:
                        names.add(name)
                        self.names.add(name)
                    if symbol is not None and symbol not in self.symbols:
                        symbols.add(symbol)
                        self.symbols.add(symbol)
                case Alloc(buffer=buffer):
                    local.setdefault(buffer.name, self.local.get(buffer.name))
                    self.local[buffer.name] = buffer
                case _:
                    self.statement(statement)
        self.names -= names
        self.symbols -= symbols
        self.local.update((name, outer) for name, outer in local.items() if outer is not None)
        for name in (name for name, outer in local.items() if outer is None):
            del self.local[name]

    def statement(self, statement: Statement) -> None:
        """Verify a statement that declares nothing, and its nested statements."""
        if isinstance(statement, While):
            self.scope((*statement.test, If(statement.condition, statement.body)))
            return
        if isinstance(statement, Call):
            self.call(statement)
        self.reads(statement)
        match statement:
            case For(symbol=symbol, start=start, stop=stop, limit=limit, body=body):
                self.indices((start, stop, 0 if limit is None else limit))
                self.scope(body, symbol)
            case If(body=body, orelse=orelse):
                self.scope(body)
                self.scope(orelse)
            case Store(buffer=name, index=index):
                self.element(name, index)
            case Swap(first=first, second=second):
                one, other = self.buffers.get(first), self.buffers.get(second)
                if one is None or other is None or one.shape != other.shape:
                    raise InternalError(f"{first} and {second} cannot be exchanged")
            case _:
                pass

    def call(self, call: Call) -> None:
        """Verify the integer operands of a call, and that its workspace is allocated."""
        self.indices(call.numbers)
        if UNALLOCATED in call.arrays.values():
            raise InternalError(f"the workspace of {call.name} is not allocated")

    def reads(self, statement: Statement) -> None:
        """Verify the reads of a statement itself."""
        for part in parts(statement):
            if type(part) is Ref and part.name not in self.names:
                raise InternalError(f"{part.name} is read before it is declared")
        for load in loads(statement):
            self.element(load.buffer, load.index)

    def element(self, name: str, index: Shape) -> None:
        """Verify an element of a buffer."""
        buffer = self.local.get(name) or self.buffers.get(name)
        if buffer is None:
            raise InternalError(f"unknown buffer {name}")
        if len(buffer.shape) != len(index):
            raise InternalError(f"{name} has {len(buffer.shape)} axes, not {len(index)}")
        self.indices(index)

    def indices(self, indices: Shape) -> None:
        """Verify subscripts or loop bounds."""
        for part in indices:
            free = symbols_of(part) - self.symbols
            if free:
                raise InternalError(f"{', '.join(map(str, free))} is not a loop here: {part}")
