"""If-conversion: name nested selects and chosen elements of vector loops, so that compilers make
masks of the selects.

    out[2*i] = x > 0 ? k == 0 ? y : 0 : 0;  out[2*i + 1] = z > 0 ? k == 1 ? y : 0 : 0;

Compilers lower nested selects to branches, thread jumps from one on `k` to the next, and then fail
to vectorise. An inner select that is named before the first store is a mask (Allen, Kennedy,
Porterfield and Warren, Conversion of control dependence to data dependence, 1983):

    first = k == 0 ? y : 0;  second = k == 1 ? y : 0;  out[2*i] = x > 0 ? first : 0;  ...

The inner select is then speculated: its operations must be speculatable and its loads within
bounds. Selects on data are converted, those on subscripts (`Within`) are not: the elements that
they guard may not exist.

    total += m[i] ? x[i] : 0;   ->   loaded = x[i];  total += m[i] ? loaded : 0;

C loads what is chosen only where it is chosen. Where the processor has no masked load of that
width, or the compiler cannot see that the element is there, it keeps the branch. So elements that
are in bounds are loaded first.

    out[i] = x[i];   ->   part = creal(x[i]);  part2 = cimag(x[i]);  out[i] = CMPLX(part, part2);

A complex number that is copied as a whole keeps gcc from vector lanes for what is computed of its
parts beside it. So its parts are named.

In long programs helpers are called in place of being inlined (`codegen.plan.helper_inlining`), and
a call that is made only where it is chosen keeps a loop out of lanes, too. So their arms are named
where they compute something. Runs after `vectorize_loops`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from transpile.analysis.elements.bounds import OUTSIDE, Ranges, arrays_of, inside, is_in_bounds
from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND
from transpile.ir.dims import Symbol, symbols_of
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
    changed_by,
    map_expr,
    names_in,
    names_read,
    parts,
    subexpressions,
    walk,
    with_bodies,
)
from transpile.ir.primitive import TABLE
from transpile.ir.types import SHORT_NAMES
from transpile.options import Options
from transpile.primitives.elementwise import COMPLEX_PARTS, make_complex
from transpile.symbols.c_helpers import calls_in, find, has_branches
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, dataclass, replace, same

Body = tuple[Statement, ...]


@contract(requires=(LANES_BOUND,))
def convert_ifs(program: Program, options: Options) -> Program:
    """The program with nested selects of vector loops, and the elements they choose, named."""
    names = Names(names_in(program))
    operations = sum(isinstance(p, Apply) for k in program.kernels for p in _parts(k.body))
    is_long = operations > options.machine.most_chosen_operations
    kernels = tuple(_kernel(program, kernel, names, is_long) for kernel in program.kernels)
    return changed(program, kernels=same(program.kernels, kernels))


def _parts(body: Body) -> Iterator[Expr]:
    return (part for statement in walk(body) for part in parts(statement))


def _kernel(program: Program, kernel: Kernel, names: Names, is_long: bool) -> Kernel:
    converter = _Converter(arrays_of(program, kernel), names, is_long)
    return changed(kernel, body=converter.convert(kernel.body, OUTSIDE))


@dataclass(frozen=True)
class _Converter:
    """Converts the loops of a kernel. `ranges` has those of the loops around. In a long program
    all arms are named."""

    buffers: Mapping[str, Buffer]
    names: Names
    is_long: bool

    def convert(self, body: Body, ranges: Ranges) -> Body:
        """The statements of a body, with their nested selects named."""
        return same(body, tuple(self._statement(s, ranges) for s in body))

    def _statement(self, statement: Statement, ranges: Ranges) -> Statement:
        if isinstance(statement, For):
            ranges = inside(statement, ranges)
            if statement.simd and all(
                isinstance(s, Declare | Store | Update) for s in statement.body
            ):
                body = self._named(self._by_parts(statement.body), ranges)
                return changed(statement, body=self._loaded(body, ranges))
        return with_bodies(statement, lambda body: self.convert(body, ranges))

    def _by_parts(self, body: Body) -> Body:
        """The body of a loop with the parts of complex elements declared that it copies beside
        other work."""
        if all(map(_is_complex_copy, body)):
            return body
        after: list[Statement] = []
        for statement in body:
            if isinstance(statement, Store) and _is_complex_copy(statement):
                real = np.dtype(f"f{statement.value.dtype.itemsize // 2}")
                parts = [
                    Declare(self.names.new("part"), Apply(p.name, (statement.value,), real))
                    for p in COMPLEX_PARTS
                ]
                after += parts
                refs = tuple(Ref(part.name, real) for part in parts)
                joined = Apply(make_complex.name, refs, statement.value.dtype)
                statement = replace(statement, value=joined)
            after.append(statement)
        return same(body, tuple(after))

    def _named(self, body: Body, ranges: Ranges) -> Body:
        """The body of a loop with its inner selects declared: before the first store where they
        neither load a stored buffer nor read a later declaration, else just before their use."""
        first = next((k for k, s in enumerate(body) if not isinstance(s, Declare)), len(body))
        split = 0
        stored = {name for s in body for name in changed_by(s)}
        later = {s.name for s in body[first:] if isinstance(s, Declare)}
        early: list[Statement] = []
        rest: list[Statement] = []
        for position, statement in enumerate(body):
            split = len(rest) if position <= first else split
            declared: list[Declare] = []
            after = self._name_inner(statement, ranges, declared)
            for declaration in declared:
                used = names_read(declaration) | {load.buffer for load in _loads(declaration.value)}
                is_early = position >= first and used.isdisjoint(stored | later)
                (early if is_early else rest).append(declaration)
                if not is_early:
                    later.add(declaration.name)
            rest.append(after)
        return (*rest[:split], *early, *rest[split:]) if early or len(rest) > len(body) else body

    def _name_inner(
        self, statement: Statement, ranges: Ranges, declared: list[Declare]
    ) -> Statement:
        """The statement with references for its nested selects, whose declarations are appended to
        `declared`."""
        if not isinstance(statement, Declare | Store | Update):
            return statement

        def visit(expr: Expr, is_arm: bool) -> Expr:
            if not isinstance(expr, Apply):
                return expr
            may_name = is_arm and self._is_speculatable(expr, ranges)
            if expr.op != "select":
                is_inner = is_arm and not (self.is_long and may_name)
                args = tuple(visit(a, is_inner) for a in expr.args)
                expr = changed(expr, args=same(expr.args, args))
                return named(expr) if is_arm and not is_inner else expr
            test, *arms = expr.args
            is_by_data = not any(isinstance(p, IndexValue | Within) for p in subexpressions(test))
            args = (visit(test, False), *(visit(a, is_by_data) for a in arms))
            expr = changed(expr, args=same(expr.args, args))
            return named(expr) if may_name else expr

        def named(expr: Apply) -> Expr:
            declared.append(Declare(self.names.new("chosen"), expr))
            return Ref(declared[-1].name, expr.dtype)

        return changed(statement, value=visit(statement.value, False))

    def _loaded(self, body: Body, ranges: Ranges) -> Body:
        """The body of a loop with the elements declared, just before their use, that are loaded
        only where a select chooses them."""
        sure = {load for s in body for load in _loads_of(s, is_chosen=False)}
        placed = {s.symbol for s in body if isinstance(s, Declare)}
        known: dict[Load, Ref] = {}
        after: list[Statement] = []
        for statement in body:
            for load in _loads_of(statement, is_chosen=True):
                is_there = is_in_bounds(load, self.buffers, ranges)
                if (
                    is_there
                    and load not in sure
                    and load not in known
                    and placed.isdisjoint(_symbols_of(load))
                ):
                    declared = Declare(self.names.new("loaded"), load)
                    known[load] = Ref(declared.name, load.dtype)
                    after.append(declared)
            after.append(_with_refs(statement, known))
            stale = set(changed_by(statement))
            known = {load: ref for load, ref in known.items() if load.buffer not in stale}
        return same(body, tuple(after))

    def _is_speculatable(self, expr: Expr, ranges: Ranges) -> bool:
        """True if the expression may be speculated. Lanes compute both arms in any case: in a long
        program it is enough that there is vector code and nothing traps, as on floats."""
        return all(
            is_in_bounds(part, self.buffers, ranges)
            if isinstance(part, Load)
            else not isinstance(part, Apply)
            or part.primitive.speculatable
            or (self.is_long and part.dtype.kind == "f" and has_vector_code(part.op, part.dtype))
            for part in subexpressions(expr)
        )


def _is_complex_copy(statement: Statement) -> bool:
    return (
        isinstance(statement, Store)
        and isinstance(statement.value, Load)
        and statement.value.dtype.kind == "c"
    )


@cache
def has_vector_code(op: str, dtype: np.dtype[Any]) -> bool:
    """True if the C of an operation on numbers of a dtype calls no helper with branches: such as
    series that run until they converge, which are slow to speculate, or divisions of integers."""
    columns = TABLE[op].c
    names = calls_in(columns.get(dtype.kind, columns.get("", "")))
    # Those of integers in lanes have no branches, but are done lane by lane.
    kinds = ("_in_lanes", "") if dtype.kind == "f" else ("",)
    helpers = [[f"{name}{kind}_{SHORT_NAMES[dtype]}" for kind in kinds] for name in names]
    chosen = [next((h for h in versions if find(h) is not None), "") for versions in helpers]
    return not any(helper and has_branches(helper) for helper in chosen)


def _loads(expr: Expr) -> Iterator[Load]:
    return (part for part in subexpressions(expr) if isinstance(part, Load))


def _loads_of(statement: Statement, *, is_chosen: bool) -> Iterator[Load]:
    """The elements that a statement loads in any case, or those that a select chooses on data."""
    if isinstance(statement, Declare | Store | Update):
        yield from _loads_in(statement.value, is_chosen, False)


def _loads_in(expr: Expr, is_chosen: bool, is_arm: bool) -> Iterator[Load]:
    match expr:
        case Load() if is_chosen == is_arm:
            yield expr
        case Apply(op="select", args=(test, *arms)):
            yield from _loads_in(test, is_chosen, is_arm)
            for arm in arms:
                yield from _loads_in(arm, is_chosen, True)
        case Apply(args=args):
            for arg in args:
                yield from _loads_in(arg, is_chosen, is_arm)


def _symbols_of(load: Load) -> frozenset[Symbol]:
    return frozenset(symbol for index in load.index for symbol in symbols_of(index))


def _with_refs(statement: Statement, known: Mapping[Load, Ref]) -> Statement:
    """The statement that reads these elements by their names."""
    if not known or not isinstance(statement, Declare | Store | Update):
        return statement

    def named(part: Expr) -> Expr:
        return known.get(part, part) if isinstance(part, Load) else part

    return changed(statement, value=map_expr(statement.value, named))
