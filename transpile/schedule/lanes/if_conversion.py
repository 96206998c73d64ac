"""If-conversion: name nested selects of vector loops, so that compilers make masks of them.

    out[2*i] = x > 0 ? k == 0 ? y : 0 : 0;  out[2*i + 1] = z > 0 ? k == 1 ? y : 0 : 0;

Compilers lower nested selects to branches, thread jumps from one on `k` to the next, and then fail
to vectorise. An inner select that is named before the first store is a mask (Allen, Kennedy,
Porterfield and Warren, Conversion of control dependence to data dependence, 1983):

    first = k == 0 ? y : 0;  second = k == 1 ? y : 0;  out[2*i] = x > 0 ? first : 0;  ...

The inner select is then speculated: its operations must be speculatable and its loads within
bounds. Selects on data are converted, those on subscripts (`Within`) are not: the elements that
they guard may not exist. Runs after `vectorize_loops`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.analysis.element_bounds import Starts, arrays_of, inside, is_in_bounds
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND
from transpile.ir.loop_ir import (
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
    subexpressions,
    with_bodies,
    written,
)
from transpile.options import Options
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, same

Body = tuple[Statement, ...]


@contract(requires=(LANES_BOUND,))
def convert_ifs(program: Program, options: Options) -> Program:
    """The program with nested selects of vector loops named."""
    names = Names(names_in(program))
    kernels = tuple(_kernel(program, kernel, names) for kernel in program.kernels)
    return changed(program, kernels=same(program.kernels, kernels))


def _kernel(program: Program, kernel: Kernel, names: Names) -> Kernel:
    converter = _Converter(arrays_of(program, kernel), names)
    return changed(kernel, body=converter.convert(kernel.body, {}))


@dataclass(frozen=True)
class _Converter:
    """Converts the loops of a kernel. `starts` maps the symbols of enclosing loops to symbols that
    count from zero, for which bounds are known."""

    buffers: Mapping[str, Buffer]
    names: Names

    def convert(self, body: Body, starts: Starts) -> Body:
        """The statements of a body, with their nested selects named."""
        return same(body, tuple(self._statement(s, starts) for s in body))

    def _statement(self, statement: Statement, starts: Starts) -> Statement:
        if isinstance(statement, For):
            starts = inside(statement, starts)
            if statement.simd and all(
                isinstance(s, Declare | Store | Update) for s in statement.body
            ):
                return changed(statement, body=self._named(statement.body, starts))
        return with_bodies(statement, lambda body: self.convert(body, starts))

    def _named(self, body: Body, starts: Starts) -> Body:
        """The body of a loop with its inner selects declared: before the first store where they
        neither load a stored buffer nor read a later declaration, else just before their use."""
        first = next((k for k, s in enumerate(body) if not isinstance(s, Declare)), len(body))
        split = 0
        stored = {name for s in body for name in _changed_by(s)}
        later = {s.name for s in body[first:] if isinstance(s, Declare)}
        early: list[Statement] = []
        rest: list[Statement] = []
        for position, statement in enumerate(body):
            split = len(rest) if position <= first else split
            declared: list[Declare] = []
            after = self._name_inner(statement, starts, declared)
            for declaration in declared:
                used = names_read(declaration) | {load.buffer for load in _loads(declaration.value)}
                is_early = position >= first and used.isdisjoint(stored | later)
                (early if is_early else rest).append(declaration)
                if not is_early:
                    later.add(declaration.name)
            rest.append(after)
        return (*rest[:split], *early, *rest[split:]) if early or len(rest) > len(body) else body

    def _name_inner(
        self, statement: Statement, starts: Starts, declared: list[Declare]
    ) -> Statement:
        """The statement with references for its nested selects, whose declarations are appended to
        `declared`."""
        if not isinstance(statement, Declare | Store | Update):
            return statement

        def visit(expr: Expr, is_arm: bool) -> Expr:
            if not isinstance(expr, Apply):
                return expr
            if expr.op != "select":
                args = tuple(visit(a, is_arm) for a in expr.args)
                return changed(expr, args=same(expr.args, args))
            may_name = is_arm and self._is_speculatable(expr, starts)
            test, *arms = expr.args
            is_by_data = not any(isinstance(p, IndexValue | Within) for p in subexpressions(test))
            args = (visit(test, False), *(visit(a, is_by_data) for a in arms))
            expr = changed(expr, args=same(expr.args, args))
            if not may_name:
                return expr
            declared.append(Declare(self.names.new("chosen"), expr))
            return Ref(declared[-1].name, expr.dtype)

        return changed(statement, value=visit(statement.value, False))

    def _is_speculatable(self, expr: Expr, starts: Starts) -> bool:
        """True if the expression may be speculated."""
        return all(
            is_in_bounds(part, self.buffers, starts)
            if isinstance(part, Load)
            else not isinstance(part, Apply) or part.primitive.speculatable
            for part in subexpressions(expr)
        )


def _changed_by(statement: Statement) -> Iterator[str]:
    """The buffers and scalars that a statement writes."""
    yield from written(statement)
    if isinstance(statement, Update) and isinstance(statement.target, Ref):
        yield statement.target.name


def _loads(expr: Expr) -> Iterator[Load]:
    return (part for part in subexpressions(expr) if isinstance(part, Load))
