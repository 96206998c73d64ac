"""Loop-invariant code motion of values that C computes with conditions, out of vector loops.

    for i: for j simd: out[i, j] = power(float32(half[i]), x[i, j])
    for i: t = float32(half[i]);  for j simd: out[i, j] = power(t, x[i, j])

gcc hoists what is straight-line code itself. A conversion of float16, an elementary function or a
select of invariant operands has conditions that are the same in all lanes, of which gcc makes no
vector mask: the loop stays scalar. The largest such expressions become constants before the loop.
They are evaluated there also if the loop has no iterations or a predicate is false, so that their
loads must be within bounds. Runs after `vectorize_loops`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.analysis.elements.bounds import (
    OUTSIDE,
    Ranges,
    inside,
    is_in_bounds,
    map_with_arrays,
)
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND, SUBEXPRESSIONS_SHARED
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    Expr,
    For,
    Program,
    Ref,
    Statement,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import (
    loads_of,
    map_expr,
    names_in,
    subexpressions,
    with_bodies,
)
from transpile.ir.types import is_half
from transpile.options import Options
from transpile.schedule.cleanup.licm import Invariant
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, same

Body = tuple[Statement, ...]


@contract(requires=(LANES_BOUND,), destroys=(SUBEXPRESSIONS_SHARED,))
def hoist_choices(program: Program, options: Options) -> Program:
    """The program in which vector loops evaluate no invariant conditions."""
    names = Names(names_in(program))
    return map_with_arrays(program, lambda a, body: _Hoister(a, names).hoisted(body, OUTSIDE))


@dataclass(frozen=True)
class _Hoister:
    """Hoists out of the loops of a kernel. `ranges` has those of the loops around."""

    buffers: Mapping[str, Buffer]
    names: Names

    def hoisted(self, body: Body, ranges: Ranges) -> Body:
        """The statements of a body, with declarations before its vector loops."""
        result: list[Statement] = []
        for statement in body:
            if isinstance(statement, For):
                result += self._loop(statement, ranges)
            else:
                result.append(with_bodies(statement, lambda inner: self.hoisted(inner, ranges)))
        return same(body, tuple(result))

    def _loop(self, loop: For, ranges: Ranges) -> list[Statement]:
        """A loop, behind what is hoisted out of it."""
        outer = ranges
        ranges = inside(loop, ranges)
        if loop.simd and all(isinstance(s, Declare | Store | Update) for s in loop.body):
            constants: dict[Expr, Declare] = {}
            body = tuple(self._without_invariants(loop, outer, constants))
            return [*constants.values(), changed(loop, body=same(loop.body, body))]
        if loop.collapse > 1:  # collapsed loops must stay a perfect nest
            (within,) = loop.body
            assert isinstance(within, For)
            if within.simd:
                return [loop]
            body = self.hoisted(within.body, inside(within, ranges))
            inner: Body = (changed(within, body=body),)
        else:
            inner = self.hoisted(loop.body, ranges)
        return [changed(loop, body=same(loop.body, inner))]

    def _without_invariants(
        self, loop: For, ranges: Ranges, constants: dict[Expr, Declare]
    ) -> Iterator[Statement]:
        """The statements of a loop, which refer to `constants` for what is invariant in them."""
        invariant = Invariant(loop)
        moved: dict[Expr, Expr] = {}  # references to declarations that the loop no longer has

        def visit(expr: Expr) -> Expr:
            if not isinstance(expr, Apply):
                return expr
            if (
                expr.dtype.kind != "b"
                and invariant.has(expr)
                and any(map(_is_choice, subexpressions(expr)))
                and all(is_in_bounds(load, self.buffers, ranges) for load in loads_of(expr))
            ):
                if expr not in constants:
                    constants[expr] = Declare(self.names.new("t"), expr)
                return Ref(constants[expr].name, expr.dtype)
            return changed(expr, args=same(expr.args, tuple(map(visit, expr.args))))

        for statement in loop.body:
            assert isinstance(statement, Declare | Store | Update)
            value = (
                map_expr(statement.value, lambda e: moved.get(e, e)) if moved else statement.value
            )
            after = visit(value)
            match statement:
                case Declare(name=name, dtype=dtype, constant=True, symbol=None) if (
                    isinstance(after, Ref) and after != value
                ):
                    moved[Ref(name, dtype)] = after
                    invariant.names.discard(name)
                case _:
                    yield changed(statement, value=after)


def _is_choice(expr: Expr) -> bool:
    """True for what C computes with a condition, or by a function that may have some."""
    match expr:
        case Apply(op="select"):
            return True
        case Apply(op="convert_element_type", args=(x,), dtype=dtype):
            is_cut = x.dtype.kind == "f" and dtype.kind in "iu"
            is_rounded = is_half(x.dtype) or is_half(dtype)
            return is_rounded or is_cut or (x.dtype.kind == "b" and dtype.kind == "f")
        case Apply():
            return not expr.primitive.speculatable
        case _:
            return False
