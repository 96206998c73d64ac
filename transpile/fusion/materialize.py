"""Placement: which values get a loop of their own, and which are computed inside their consumer.

Every value of the graph is either *inline* (its expression is substituted into each use, index
arithmetic and all) or a *stage*: for these axes, `value[index] = expression`, or an accumulation of
the expression over further axes. Views and iotas are always inline. A computed value is inline when
that repeats no work worth mentioning: it has one use, and is not spread over more elements than it
has; or it is so cheap that reading it back would cost as much. `transpile.fusion.loop_fusion` then
decides where a stage's value lives: in a scalar, a row, or memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from transpile.fusion.index_lambda import Elements, as_index, is_unrolled, merged_index
from transpile.fusion.inline_cost import (
    CHEAP,
    LARGEST_EXPRESSION,
    Survey,
    cost_of,
    is_library_product,
    spreads,
)
from transpile.fusion.regions import Bodies, Control, NoBodies
from transpile.ir.dims import (
    Dim,
    Index,
    Shape,
    Symbol,
    recombine,
    row_major,
    unravel,
)
from transpile.ir.graph import Atom, Equation, Graph, Source, Var, has_effect
from transpile.ir.loop_ir import Expr, Literal, Load
from transpile.ir.loop_rewrite import subexpressions
from transpile.ir.types import BOOL, ArrayType
from transpile.library.convolution import Convolution, as_convolution
from transpile.library.fft import Transform, as_transform
from transpile.library.lapack import Decompositions, as_decomposition
from transpile.library.matmul import Product, as_product
from transpile.library.scan import is_library_sum
from transpile.primitives import axes as axis_rows
from transpile.primitives import elementwise, indexing
from transpile.primitives.dot import dot_general
from transpile.util.frozen_records import dataclass


@dataclass(eq=False)
class Stage:
    """One value with a loop nest of its own.

    `order` lists its loops from the outside in: the axes of the value (those longer than one), then
    those it reduces over. `index` is the element of the value that an iteration computes.
    """

    var: Var
    kind: str
    equation: Equation
    order: list[Symbol]
    rank: int
    index: Shape
    body: Expr | None
    combine: str = ""
    product: Product | Convolution | None = None
    wholes: tuple[Atom, ...] = ()  # what a sort or a cumulative sum reads, as wholes
    reads: dict[str, list[Load]] = field(default_factory=dict)
    sources: tuple[Source, ...] = ()
    bound: dict[Symbol, Expr] = field(default_factory=dict)  # subscripts read from arrays
    scatter: Scatter | None = None
    routine: Decompositions | None = None
    transform: Transform | None = None
    control: Control | None = None
    # Of a loop or branch: its bounds, or its index, and its first carry; of an effect: its values.
    starts: tuple[Stage, ...] = ()

    @property
    def results(self) -> tuple[Var, ...]:
        """What it computes: one value, or all results of a routine, a loop or a branch."""
        return self.equation.outputs

    def parts(self) -> list[Stage]:
        """The stages that this one consists of."""
        if self.scatter is not None:
            return [self.scatter.first, self.scatter.then]
        return list(self.starts) if self.kind in ("control", "effect") else [self]

    @property
    def axes(self) -> list[Symbol]:
        """The loops over the value's own axes."""
        return self.order[: self.rank]


@dataclass(frozen=True)
class Scatter:
    """The result of a scatter: all its elements by `first`; then, in order, `then` combines its
    elements into those of the result at its index, where the tests hold."""

    first: Stage
    then: Stage
    tests: tuple[Expr, ...]


class Placement(Elements):
    """The stages of a graph, in order, and the key by which expressions name each value.

    `bodies` places the graphs of loops and branches. The graph of a condition is asked only for the
    expression of its result: `results`.
    """

    def __init__(
        self,
        graph: Graph,
        recompute: frozenset[Var] = frozenset(),
        bodies: Bodies = NoBodies,
        given: Mapping[Var, Expr] | None = None,
        kept: frozenset[Var] = frozenset(),
        survey: Survey | None = None,
    ) -> None:
        survey = survey or Survey(graph, bodies.is_body)
        super().__init__(graph, given, bodies.prefix, survey.producers)
        self.bodies = bodies
        self.recompute = recompute
        self.kept = kept
        self.updates = survey.updates
        self.controls: dict[Equation, Control] = {}
        self.uses = survey.uses
        self.costs = survey.costs
        self.products: dict[Var, Product | Convolution] = {}
        self.transforms: dict[Var, Transform] = {}
        self.tangled = survey.tangled
        self.staged = self._decide()
        self.stages: list[Stage] = []
        for equation in graph.equations:
            is_value = any(v in self.staged and v.type.size != 0 for v in equation.outputs)
            if is_value or has_effect(equation):
                self.sources, self.bound = {equation.source: None}, {}
                stage = self._stage(equation)
                stage.sources = tuple(self.sources)
                stage.bound = self._bound()
                self.stages.append(stage)
        self.results = (
            [self._start(_copy(a), a) for a in graph.outputs] if bodies.is_condition else []
        )
        self.stages = self._read_stages()
        self.position = {s: i for i, s in enumerate(self.stages)}
        self.by_key = {self.key(v): s for s in self.stages for v in s.results}
        self.readers: dict[str, list[Stage]] = {}  # of the results of stages
        for stage in self.stages:
            for key in stage.reads.keys() & self.by_key.keys():
                self.readers.setdefault(key, []).append(stage)

    # ------------------------------------------------------------------- which values are stages

    def _decide(self) -> set[Var]:
        staged = {v for v in self.graph.outputs if isinstance(v, Var) and v in self.producers}
        if self.bodies.is_condition:
            staged = set()
        staged |= self.kept
        uses: dict[Atom, int] = {}
        spread: set[Atom] = set()
        for equation in reversed(self.graph.equations):
            if equation.primitive.kind == "routine":
                staged.update(equation.outputs)
                read = (v for v in equation.inputs if isinstance(v, Var))
                staged.update(v for v in read if v in self.producers)
                continue
            if equation.primitive.kind == "effect":
                for atom in equation.inputs:
                    uses[atom] = uses.get(atom, 0) + 1
                continue
            if equation.primitive.kind == "control":
                staged |= self._place_control(equation)
                for atom in self.controls[equation].carry:
                    uses[atom] = uses.get(atom, 0) + 1
                continue
            var = equation.output
            if var not in staged and self._deserves_stage(var, equation, uses, var in spread):
                staged.add(var)
            if equation.primitive.kind == "convolve" or is_library_product(equation):
                staged |= self._place_operands(equation)
            if equation.primitive.kind == "fft":
                staged |= self._place_transform(equation)
            if equation.primitive.kind == "sort" or is_library_sum(equation):
                keys = map(self._in_memory, equation.inputs)
                staged |= {v for v in keys if isinstance(v, Var) and v in self.producers}
            inline = var not in staged
            for atom in equation.inputs:
                uses[atom] = uses.get(atom, 0) + (uses.get(var, 0) if inline else 1)
                if spreads(equation, atom) or (inline and var in spread):
                    spread.add(atom)
        return staged

    def _deserves_stage(
        self, var: Var, equation: Equation, uses: dict[Atom, int], spread: bool
    ) -> bool:
        kind = equation.primitive.kind
        if kind in ("view", "generate"):
            return var in self.tangled
        if self.bodies.is_body and not var.type.shape:
            value = self.arithmetic(var, ())
            if value is not None and (isinstance(value, Literal) or as_index(value) is not None):
                return False
        if (
            kind in ("scan", "composite", "scatter", "sort", "fft", "convolve")
            or var in self.updates
        ) or (kind in ("reduce", "contract") and not is_unrolled(equation)):
            return True
        if var in self.recompute:
            return False
        cost, size = self.costs[var]
        if spread and cost > CHEAP:
            return True
        return uses.get(var, 0) > 1 or size > LARGEST_EXPRESSION

    def _place_operands(self, equation: Equation) -> set[Var]:
        """A library product, or a convolution, reads its operands from memory: the views of them
        that it can step through with strides stay views, anything else becomes a stage."""
        forced: set[Var] = set()
        accesses = [self._views(atom) for atom in equation.inputs]
        as_call = as_convolution if equation.primitive.kind == "convolve" else as_product
        found = as_call(equation, accesses)
        for position, (base, _) in enumerate(accesses):
            if found.operands[position].base is not base:
                base = equation.inputs[position]
            if isinstance(base, Var) and base in self.producers:
                forced.add(base)
        self.products[equation.output] = found
        return forced

    def _views(self, atom: Atom) -> tuple[Atom, list[Equation]]:
        """What a value is a view of, and the views, the last one first."""
        path = []
        while isinstance(atom, Var) and atom in self.producers:
            if self.producers[atom].primitive.kind != "view":
                break
            path.append(self.producers[atom])
            atom = self.producers[atom].inputs[0]
        return atom, path

    def _place_transform(self, equation: Equation) -> set[Var]:
        found = as_transform(equation, *self._views(equation.inputs[0]))
        self.transforms[equation.output] = found
        base = found.base
        return {base} if isinstance(base, Var) and base in self.producers else set()

    def _place_control(self, equation: Equation) -> set[Var]:
        """What a loop or branch reads in each iteration is in memory, but for views, which its body
        sees through where it takes them by elements, and what is arithmetic on indices."""
        found = self.bodies.place(self, equation)
        self.controls[equation] = found
        forced = {*equation.outputs}
        for atom in found.fixed:
            base = atom if atom in found.wholes else self._views(atom)[0]
            if isinstance(atom, Var) and base is atom and self._is_cheap_part(atom, found.xs):
                read = (v for v in self.producers[atom].inputs if isinstance(v, Var))
                forced.update(v for v in read if v in self.producers)
                continue
            if isinstance(base, Var) and base in self.producers:
                row = self.producers[base].primitive
                if row.kind != "generate" or atom in found.wholes:
                    forced.add(base)
        return forced

    def _is_cheap_part(self, atom: Var, xs: tuple[Atom, ...]) -> bool:
        """Tell whether each iteration may as well compute its part of an operand itself."""
        equation = self.producers.get(atom)
        return (
            atom in xs
            and equation is not None
            and equation.primitive.kind == "elementwise"
            and cost_of(equation.primitive) <= CHEAP
            and self.uses[atom] == 1
        )

    def _in_memory(self, atom: Atom) -> Atom:
        """The value whose memory has the elements of a value in their order: it, or what it is a
        reshape of."""
        while isinstance(atom, Var) and atom in self.producers and atom not in self.tangled:
            equation = self.producers[atom]
            if equation.primitive is not axis_rows.reshape:
                break
            (atom,) = equation.inputs
        return atom

    # -------------------------------------------------------------------------------- the stages

    def _loops(self, shape: Shape) -> tuple[list[Symbol], Shape]:
        """A loop for each axis longer than one, and the index they make."""
        loops: list[Symbol] = []
        index: list[Index] = []
        for extent in shape:
            if extent == 1:
                index.append(0)
            else:
                loops.append(self.symbol(extent))
                index.append(Dim.of(loops[-1]))
        return loops, tuple(index)

    def _stage(self, equation: Equation) -> Stage:
        primitive = equation.primitive
        var = equation.outputs[0] if equation.outputs else Var(ArrayType((), BOOL))
        if primitive.kind == "effect":
            starts = tuple(self._start(_copy(a), a) for a in equation.inputs)
            return Stage(var, "effect", equation, [], 0, (), None, starts=starts)
        if primitive.kind == "control":
            found = self.controls[equation]
            operands = (*found.bounds, *found.carry)
            starts = tuple(
                self._start(equation if equation.outputs else _copy(a), a) for a in operands
            )
            return Stage(var, "control", equation, [], 0, (), None, control=found, starts=starts)
        if primitive.kind == "routine":
            called = as_decomposition(equation)
            return Stage(var, "call", equation, [], 0, (), None, routine=called)
        if var in self.products:
            return Stage(var, "call", equation, [], 0, (), None, product=self.products[var])
        if var in self.transforms:
            return Stage(var, "call", equation, [], 0, (), None, transform=self.transforms[var])
        if primitive.kind == "sort" or is_library_sum(equation):
            operands = tuple(map(self._in_memory, equation.inputs))
            return Stage(var, "call", equation, [], 0, (), None, wholes=operands)
        if primitive is axis_rows.reshape:
            return self._reshaping(equation)
        if primitive is indexing.scatter or var in self.updates:
            return self._update(equation)
        loops, index = self._loops(var.type.shape)
        if primitive.kind == "reduce" and not is_unrolled(equation):
            return self._reduction(equation, loops, index)
        if primitive is dot_general and not is_unrolled(equation):
            return self._contraction(equation, loops, index)
        if primitive.kind == "scan":
            return self._scan(equation, loops, index)
        return Stage(var, "map", equation, loops, len(loops), index, self.compute(equation, index))

    def _start(self, equation: Equation, atom: Atom) -> Stage:
        """What a loop begins with: the elements of one of its operands."""
        before, self.bound = self.bound, {}
        loops, index = self._loops(atom.type.shape)
        body = self.element(atom, index)
        stage = Stage(equation.outputs[0], "map", equation, loops, len(loops), index, body)
        stage.bound, self.bound = self._bound(), before
        return stage

    def _reshaping(self, equation: Equation) -> Stage:
        """A reshape into memory walks its operand, whose subscripts are then plain."""
        (x,) = equation.inputs
        loops, inner = self._loops(x.type.shape)
        index = unravel(recombine(row_major(inner, x.type.shape)), equation.output.type.shape)
        body = self.element(x, inner)
        return Stage(equation.output, "map", equation, loops, len(loops), index, body)

    def _reduction(self, equation: Equation, loops: list[Symbol], index: Shape) -> Stage:
        (x,) = equation.inputs
        reduced, inner = self._loops(tuple(x.type.shape[a] for a in equation.params["axes"]))
        full = merged_index(x.type.ndim, equation.params["axes"], inner, index)
        return Stage(
            equation.output,
            "reduce",
            equation,
            loops + reduced,
            len(loops),
            index,
            self.element(x, full),
            equation.primitive.combine,
        )

    def _contraction(self, equation: Equation, loops: list[Symbol], index: Shape) -> Stage:
        x = equation.inputs[0]
        (contracting, _), _ = equation.params["dimension_numbers"]
        reduced, inner = self._loops(tuple(x.type.shape[a] for a in contracting))
        combine, body = self.product_body(equation, index, inner)
        return Stage(
            equation.output,
            "reduce",
            equation,
            loops + reduced,
            len(loops),
            index,
            body,
            combine,
        )

    def _scan(self, equation: Equation, loops: list[Symbol], index: Shape) -> Stage:
        (x,) = equation.inputs
        axis: int = equation.params["axis"]
        along = index[axis]
        if x.type.shape[axis] == 1:
            body = self.element(x, index)
            return Stage(equation.output, "map", equation, loops, len(loops), index, body)
        if equation.params["reverse"]:
            index = (*index[:axis], x.type.shape[axis] - 1 - along, *index[axis + 1 :])
        order = [s for s in loops if Dim.of(s) != along] + [s for s in loops if Dim.of(s) == along]
        return Stage(
            equation.output,
            "scan",
            equation,
            order,
            len(order),
            index,
            self.element(x, index),
            equation.primitive.combine,
        )

    def _update(self, equation: Equation) -> Stage:
        """A scatter, or a slice that is put into a larger array where that lies."""
        x, updates = equation.inputs[:2]
        var, combine = equation.output, equation.params.get("combine", "set")
        loops, index = self._loops(x.type.shape)
        first = Stage(var, "map", equation, loops, len(loops), index, self.element(x, index))
        first.bound, self.bound = self._bound(), {}
        loops, index = self._loops(updates.type.shape)
        tests: list[Expr] = []
        if equation.primitive is indexing.scatter:
            places, tests, rest = self.positions(equation, index)
            left = iter(rest)
            target = tuple(places[a] if a in places else next(left) for a in range(x.type.ndim))
        else:
            start = self.starts(equation.inputs[2:], x.type.shape, updates.type.shape)
            target = tuple(a + i for a, i in zip(start, index, strict=True))
        body = self.element(updates, index)
        then = Stage(var, "update", equation, loops, len(loops), target, body, combine)
        then.bound, self.bound = self._bound(), {}
        found = Scatter(first, then, tuple(tests))
        return Stage(var, "scatter", equation, [], 0, (), None, combine, scatter=found)

    def _bound(self) -> dict[Symbol, Expr]:
        return {symbol: value for value, symbol in self.bound.items()}

    def _read_stages(self) -> list[Stage]:
        """The stages that a result needs. Others are left where the readers have no elements, or
        read other pieces only."""
        wanted = {self.key(v) for v in self.graph.outputs}
        for stage in self.results:
            self._note_reads(stage)
            wanted |= stage.reads.keys()
        kept: list[Stage] = []
        for stage in reversed(self.stages):
            is_wanted = not wanted.isdisjoint(map(self.key, stage.results))
            if is_wanted or has_effect(stage.equation):
                self._note_reads(stage)
                wanted |= stage.reads.keys()
                kept.append(stage)
        return kept[::-1]

    def _note_reads(self, stage: Stage) -> None:
        expressions = [e for part in stage.parts() for e in (*part.bound.values(), part.body) if e]
        if stage.scatter is not None:
            expressions += stage.scatter.tests
        if stage.control is not None:
            for atom in stage.control.fixed:
                expressions.append(self.element(atom, self._loops(atom.type.shape)[1]))
        parts = [part for expression in expressions for part in subexpressions(expression)]
        if stage.product is not None:
            parts = [Load(self.key(o.base), (), o.base.type.dtype) for o in stage.product.operands]
        parts += [Load(self.key(a), (), a.type.dtype) for a in stage.wholes]
        if stage.transform is not None:
            parts.append(Load(self.key(stage.transform.base), (), stage.transform.base.type.dtype))
        if stage.routine is not None:
            parts += [Load(self.key(a), (), a.type.dtype) for a in stage.equation.inputs]
        for part in parts:
            if isinstance(part, Load):
                stage.reads.setdefault(part.buffer, []).append(part)


def _copy(atom: Atom) -> Equation:
    return Equation(elementwise.copy, (atom,), {}, (Var(atom.type.strong),))
