"""Choices: in loops that run in vector lanes, a choice inside another one is made before it.

    out[2*i] = x > 0 ? k == 0 ? y : 0 : 0;  out[2*i + 1] = z > 0 ? k == 1 ? y : 0 : 0;

is branches to a compiler, which follows what it learns of k from one to the next, and then finds no
way to make lanes of them. Named before anything is stored, each choice is a mask:

    first = k == 0 ? y : 0;  second = k == 1 ? y : 0;  out[2*i] = x > 0 ? first : 0;  ...

So what is not chosen is computed too: it must be cheap, and the elements that it reads inside of
their arrays. Numbers decide, not places: what is left out at some places may not exist there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.ir.dims import Dim, Index, Symbol, is_within, substitute
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    IndexValue,
    Kernel,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
    Within,
)
from transpile.ir.loop_rewrite import (
    names_in,
    names_read,
    seen_by,
    subexpressions,
    walk,
    with_bodies,
    written,
)
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, same

Body = tuple[Statement, ...]


def choices(program: Program, options: Options) -> Program:
    """The program with such choices named."""
    names = Names(names_in(program))
    kernels = tuple(_kernel(program, kernel, names) for kernel in program.kernels)
    return changed(program, kernels=same(program.kernels, kernels))


def _kernel(program: Program, kernel: Kernel, names: Names) -> Kernel:
    local = {s.buffer.name: s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)}
    finder = _Finder({**seen_by(program, kernel), **local}, names)
    return changed(kernel, body=finder.inside(kernel.body, {}))


@dataclass(frozen=True)
class _Finder:
    """Goes through the statements of a kernel, with the numbers that loops around them count from
    where they start."""

    buffers: Mapping[str, Buffer]
    names: Names

    def inside(self, body: Body, starts: Mapping[Symbol, Index]) -> Body:
        """The statements of a body, with their choices named."""
        return same(body, tuple(self._statement(s, starts) for s in body))

    def _statement(self, statement: Statement, starts: Mapping[Symbol, Index]) -> Statement:
        if isinstance(statement, For):
            start = substitute(statement.start, starts)
            counted = Symbol(f"{statement.symbol}'", 0, statement.extent)
            starts = {**starts, statement.symbol: Dim.of(counted) + start}
            if statement.simd and all(
                isinstance(s, Declare | Store | Update) for s in statement.body
            ):
                return changed(statement, body=self._named(statement.body, starts))
        return with_bodies(statement, lambda body: self.inside(body, starts))

    def _named(self, body: Body, starts: Mapping[Symbol, Index]) -> Body:
        """The statements of a loop after those that choose: these stand before all that is stored,
        where they read nothing of it and no name that is declared later."""
        first = next((k for k, s in enumerate(body) if not isinstance(s, Declare)), len(body))
        split = 0
        stored = {name for s in body for name in _changed_by(s)}
        later = {s.name for s in body[first:] if isinstance(s, Declare)}
        early: list[Statement] = []
        rest: list[Statement] = []
        for position, statement in enumerate(body):
            split = len(rest) if position <= first else split
            declared: list[Declare] = []
            after = self._without_inner(statement, starts, declared)
            for declaration in declared:
                used = names_read(declaration) | {load.buffer for load in _loads(declaration.value)}
                is_early = position >= first and used.isdisjoint(stored | later)
                (early if is_early else rest).append(declaration)
                if not is_early:
                    later.add(declaration.name)
            rest.append(after)
        return (*rest[:split], *early, *rest[split:]) if early or len(rest) > len(body) else body

    def _without_inner(
        self, statement: Statement, starts: Mapping[Symbol, Index], declared: list[Declare]
    ) -> Statement:
        if not isinstance(statement, Declare | Store | Update):
            return statement

        def visit(expr: Expr, is_branch: bool) -> Expr:
            if not isinstance(expr, Apply):
                return expr
            if expr.op != "select":
                args = tuple(visit(a, is_branch) for a in expr.args)
                return changed(expr, args=same(expr.args, args))
            may_name = is_branch and self._is_plain(expr, starts)
            test, *others = expr.args
            decides = not any(isinstance(p, IndexValue | Within) for p in subexpressions(test))
            args = (visit(test, False), *(visit(a, decides) for a in others))
            expr = changed(expr, args=same(expr.args, args))
            if not may_name:
                return expr
            declared.append(Declare(self.names.new("chosen"), expr))
            return Ref(declared[-1].name, expr.dtype)

        return changed(statement, value=visit(statement.value, False))

    def _is_plain(self, expr: Expr, starts: Mapping[Symbol, Index]) -> bool:
        """Tell whether an expression may be computed where it is not chosen."""
        return all(
            self._is_inside(part, starts)
            if isinstance(part, Load)
            else not isinstance(part, Apply) or part.primitive.speculatable
            for part in subexpressions(expr)
        )

    def _is_inside(self, load: Load, starts: Mapping[Symbol, Index]) -> bool:
        shape = self.buffers[load.buffer].shape
        pairs = zip(load.index, shape, strict=True)
        return all(is_within(substitute(i, starts), extent) for i, extent in pairs)


def _changed_by(statement: Statement) -> Iterator[str]:
    """The names of the buffers and scalars that a statement changes."""
    yield from written(statement)
    if isinstance(statement, Update) and isinstance(statement.target, Ref):
        yield statement.target.name


def _loads(expr: Expr) -> Iterator[Load]:
    return (part for part in subexpressions(expr) if isinstance(part, Load))
