"""Materialise: which values get a loop of their own, and which are computed inside their consumer.

Every value of the graph is either *inlined* (its expression is substituted into each use, index
arithmetic and all) or computed by a *node*: for these axes, `value[index] = expression`, or an
accumulation of the expression over further axes. Views and iotas are always inlined. A computed
value is inlined when that repeats no work worth mentioning: it has one use, and is not spread over
more elements than it has; or it is so cheap that reading it back would cost as much.
`transpile.fusion.loop_fusion` then decides where a node's value lives: in a scalar, a row, or
memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeGuard

from transpile.fusion.index_lambda import Elements, as_index, is_unrolled, merged_index
from transpile.fusion.inline_cost import Survey, spreads
from transpile.fusion.nodes import (
    Block,
    Branch,
    Choices,
    Effect,
    IndexLambda,
    LibraryCall,
    Loop,
    LoopNode,
    Loops,
    Map,
    Node,
    Reduce,
    Region,
    Scan,
    Scatter,
    array_operands,
)
from transpile.fusion.scopes import Bodies, Scope
from transpile.ir.dims import Dim, Index, Shape, Symbol, recombine, row_major, unravel
from transpile.ir.graph import Atom, Const, Equation, Source, Var, has_effect
from transpile.ir.loop_ir import Expr, Literal, Load
from transpile.ir.loop_rewrite import loads_of
from transpile.primitives import axes as axis_primitives
from transpile.primitives import indexing
from transpile.primitives.control import primitives as control_primitives
from transpile.primitives.control.operands import inputs_of
from transpile.primitives.dot import dot_general
from transpile.util.frozen_records import dataclass, replace

# The loops of the bodies of each loop and branch in a graph.
Parts = Mapping[Equation, tuple[Loops, ...]]
# The fields of any node, and of one that is a loop nest.
_NodeFields = tuple[Equation, dict[str, list[Load]], tuple[Source, ...]]
_NestFields = tuple[
    Equation,
    dict[str, list[Load]],
    tuple[Source, ...],
    tuple[Symbol, ...],
    Shape,
    Expr,
    dict[Symbol, Expr],
]


def materialise(scope: Scope, parts: Parts, choices: Choices, survey: Survey) -> Block:
    """The nodes of a graph that a result needs. Others are left where the readers have no elements,
    or read other pieces only."""
    return _Materialiser(scope, parts, choices, survey).block()


@dataclass(frozen=True)
class _Fixed:
    """The operands of a loop or branch that its bodies read as they are, and which of them they
    read as arrays in memory."""

    operands: tuple[Atom, ...]
    wholes: frozenset[Atom]


class _Materialiser(Elements):
    """The making of a block: first `materialised` is decided, from the results on; then the nodes
    are made in the order of the graph."""

    def __init__(self, scope: Scope, parts: Parts, choices: Choices, survey: Survey) -> None:
        super().__init__(scope.graph, scope.given, scope.prefix, survey.producers)
        self.scope = scope
        self.machine = scope.machine
        self.parts = parts
        self.choices = choices
        self.survey = survey
        self.fixed = {e: _fixed(e, scope.inner[e], parts[e]) for e in scope.inner}

    def block(self) -> Block:
        """The block."""
        graph = self.graph
        self.materialised = self._decide()
        nodes: list[Node] = []
        for equation in graph.equations:
            is_value = any(v in self.materialised and v.type.size != 0 for v in equation.outputs)
            if is_value or has_effect(equation):
                nodes.append(self._node(equation))
        results = tuple(map(self._lambda, graph.outputs if self.scope.is_condition else ()))
        needed = self._needed(nodes, results)
        kept = frozenset(self.materialised)
        return Block(self.scope, self.choices, needed, kept, results, self)

    # -------------------------------------------------------------- which values are materialised

    def _decide(self) -> set[Var]:
        chosen = set(self.choices.kept)
        if not self.scope.is_condition:
            chosen.update(v for v in self.graph.outputs if self._is_produced(v))
        uses: dict[Atom, int] = {}
        spread: set[Atom] = set()
        for equation in reversed(self.graph.equations):
            kind = equation.primitive.kind
            if kind == "routine":
                chosen.update(equation.outputs)
                chosen |= self._produced(equation.inputs)
                continue
            if kind in ("effect", "control"):
                read = equation.inputs
                if kind == "control":
                    chosen |= self._operands_of_bodies(equation)
                    read = self.scope.inner[equation].operands.carry
                for atom in read:
                    uses[atom] = uses.get(atom, 0) + 1
                continue
            var = equation.output
            if var not in chosen and self._deserves_memory(var, equation, uses, var in spread):
                chosen.add(var)
            if equation in self.survey.calls:
                chosen |= self._produced(self.survey.calls[equation].reads.values())
            inline = var not in chosen
            for atom in equation.inputs:
                uses[atom] = uses.get(atom, 0) + (uses.get(var, 0) if inline else 1)
                if spreads(equation, atom) or (inline and var in spread):
                    spread.add(atom)
        return chosen

    def _is_produced(self, atom: Atom) -> TypeGuard[Var]:
        return isinstance(atom, Var) and atom in self.producers

    def _produced(self, atoms: Iterable[Atom]) -> set[Var]:
        """Those that equations of the graph compute."""
        return {atom for atom in atoms if self._is_produced(atom)}

    def _deserves_memory(
        self, var: Var, equation: Equation, uses: dict[Atom, int], spread: bool
    ) -> bool:
        kind = equation.primitive.kind
        if kind in ("view", "generate"):
            return var in self.survey.tangled
        if self.scope.is_body and not var.type.shape:
            value = self.arithmetic(var, ())
            if value is not None and (isinstance(value, Literal) or as_index(value) is not None):
                return False
        if (
            kind in ("scan", "composite", "scatter", "sort", "fft", "convolve")
            or var in self.survey.updates
        ) or (kind in ("reduce", "contract") and not is_unrolled(equation, self.machine)):
            return True
        if var in self.choices.inlined:
            return False
        cost, size = self.survey.costs[var]
        if spread and cost > self.machine.cheap_weight:
            return True
        return uses.get(var, 0) > 1 or size > self.machine.largest_expression

    def _operands_of_bodies(self, equation: Equation) -> set[Var]:
        """What a loop or branch reads in each iteration is in memory, but for views, which its body
        sees through where it takes them by elements, and what is arithmetic on indices."""
        fixed, xs = self.fixed[equation], self.scope.inner[equation].operands.xs
        forced = {*equation.outputs}
        for atom in fixed.operands:
            base = atom if atom in fixed.wholes else self.survey.views.base(atom)[0]
            if isinstance(atom, Var) and base is atom and self._is_cheap_part(atom, xs):
                forced |= self._produced(self.producers[atom].inputs)
                continue
            if self._is_produced(base):
                primitive = self.producers[base].primitive
                if primitive.kind != "generate" or atom in fixed.wholes:
                    forced.add(base)
        return forced

    def _is_cheap_part(self, atom: Var, xs: tuple[Atom, ...]) -> bool:
        """Tell whether each iteration may as well compute its part of an operand itself."""
        equation = self.producers.get(atom)
        return (
            atom in xs
            and equation is not None
            and equation.primitive.kind == "elementwise"
            and equation.primitive.weight <= self.machine.cheap_weight
            and self.survey.uses[atom] == 1
        )

    # --------------------------------------------------------------------------------- the nodes

    def _loops(self, shape: Shape) -> tuple[tuple[Symbol, ...], Shape]:
        """A loop for each axis longer than one, and the index they make."""
        loops: list[Symbol] = []
        index: list[Index] = []
        for extent in shape:
            if extent == 1:
                index.append(0)
            else:
                loops.append(self.symbol(extent))
                index.append(Dim.of(loops[-1]))
        return tuple(loops), tuple(index)

    def _node(self, equation: Equation) -> Node:
        """The node of an equation; what it reads is found when all are there."""
        self.sources, self.bound = {equation.source: None}, {}
        kind = equation.primitive.kind
        node: Node
        if kind == "effect":
            operands = tuple(map(self._lambda, equation.inputs))
            node = Effect(*self._about(equation, operands), operands)
        elif kind == "control":
            node = self._region(equation)
        elif equation in self.survey.calls:
            node = LibraryCall(*self._about(equation), self.survey.calls[equation])
        elif equation.primitive is indexing.scatter or equation.output in self.survey.updates:
            node = self._update(equation)
        else:
            node = self._loop_node(equation)
        return node

    def _region(self, equation: Equation) -> Region:
        bodies, parts = self.scope.inner[equation], self.parts[equation]
        read, wholes = self.fixed[equation].operands, self.fixed[equation].wholes
        at_bounds = tuple(map(self._lambda, bodies.operands.bounds))
        consts, carry, xs = bodies.operands.consts, bodies.operands.carry, bodies.operands.xs
        if equation.primitive is control_primitives.cond:
            about = self._about(equation, at_bounds)
            return Branch(*about, parts, consts, read, wholes, (), *at_bounds)
        limits: list[Index | IndexLambda] = []
        for atom, value in zip(bodies.operands.bounds, at_bounds, strict=True):
            index = self.index_of(atom, ())
            limits.append(value if index is None else index)
        initial = tuple(map(self._lambda, carry))
        about = self._about(equation, (*at_bounds, *initial))
        return Loop(
            *(*about, parts, consts, read, wholes, ()),
            limits=tuple(limits),
            carry=carry,
            initial=initial,
            xs=xs,
            symbol=bodies.symbol,
            where=bodies.where,
        )

    def _lambda(self, atom: Atom) -> IndexLambda:
        """The elements of a value, in loops of their own."""
        before, self.bound = self.bound, {}
        loops, index = self._loops(atom.type.shape)
        body = self.element(atom, index)
        bound, self.bound = self._bound(), before
        return IndexLambda(loops, index, body, bound)

    def _loop_node(self, equation: Equation) -> LoopNode:
        primitive, var = equation.primitive, equation.output
        if primitive is axis_primitives.reshape:
            return self._reshaping(equation)
        loops, index = self._loops(var.type.shape)
        if primitive.kind == "scan":
            return self._scan(equation, loops, index)
        if is_unrolled(equation, self.machine) or (
            primitive.kind != "reduce" and primitive is not dot_general
        ):
            return self._map(equation, loops, index, self.compute(equation, index))
        x = equation.inputs[0]
        if primitive.kind == "reduce":
            axes = equation.params["axes"]
            reduced, inner = self._loops(tuple(x.type.shape[a] for a in axes))
            body = self.element(x, merged_index(x.type.ndim, axes, inner, index))
            combine = primitive.combine
        else:
            (contracting, _), _ = equation.params["dimension_numbers"]
            reduced, inner = self._loops(tuple(x.type.shape[a] for a in contracting))
            combine, body = self.product_body(equation, index, inner)
        nest = self._nest(equation, (*loops, *reduced), index, body)
        return Reduce(*nest, combine, len(reduced))

    def _map(
        self, equation: Equation, loops: tuple[Symbol, ...], index: Shape, body: Expr
    ) -> LoopNode:
        return Map(*self._nest(equation, loops, index, body))

    def _nest(
        self, equation: Equation, order: tuple[Symbol, ...], index: Shape, body: Expr
    ) -> _NestFields:
        """The fields of a node that is a loop nest."""
        bound = self._bound()
        reads = _loads_by_key((*bound.values(), body))
        return equation, reads, tuple(self.sources), order, index, body, bound

    def _about(
        self, equation: Equation, values: Sequence[IndexLambda] = (), tests: Sequence[Expr] = ()
    ) -> _NodeFields:
        """The fields that all nodes have."""
        expressions = [*(e for value in values for e in value.expressions), *tests]
        return equation, _loads_by_key(expressions), tuple(self.sources)

    def _reshaping(self, equation: Equation) -> LoopNode:
        """A reshape into memory walks its operand, whose subscripts are then plain."""
        (x,) = equation.inputs
        loops, inner = self._loops(x.type.shape)
        index = unravel(recombine(row_major(inner, x.type.shape)), equation.output.type.shape)
        return self._map(equation, loops, index, self.element(x, inner))

    def _scan(self, equation: Equation, loops: tuple[Symbol, ...], index: Shape) -> LoopNode:
        (x,) = equation.inputs
        axis: int = equation.params["axis"]
        along = index[axis]
        if x.type.shape[axis] == 1:
            return self._map(equation, loops, index, self.element(x, index))
        if equation.params["reverse"]:
            index = (*index[:axis], x.type.shape[axis] - 1 - along, *index[axis + 1 :])
        order = (
            *(s for s in loops if Dim.of(s) != along),
            *(s for s in loops if Dim.of(s) == along),
        )
        nest = self._nest(equation, order, index, self.element(x, index))
        return Scan(*nest, equation.primitive.combine)

    def _update(self, equation: Equation) -> Scatter:
        """A scatter, or a slice that is put into a larger array where that lies."""
        x, updates = equation.inputs[:2]
        first = self._lambda(x)
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
        then = IndexLambda(loops, target, body, self._bound())
        combine = equation.params.get("combine", "set")
        about = self._about(equation, (first, then), tests)
        return Scatter(*about, first, then, tuple(tests), combine)

    def _bound(self) -> dict[Symbol, Expr]:
        return {symbol: value for value, symbol in self.bound.items()}

    # ------------------------------------------------------------------------------ what is read

    def _needed(self, nodes: list[Node], results: Sequence[IndexLambda]) -> tuple[Node, ...]:
        """The nodes that a result needs, with what they read."""
        wanted = {self.key(v) for v in self.graph.outputs}
        for result in results:
            wanted |= _loads_by_key(result.expressions).keys()
        needed: list[Node] = []
        for node in reversed(nodes):
            is_wanted = not wanted.isdisjoint(map(self.key, node.results))
            if is_wanted or has_effect(node.equation):
                needed.append(self._with_reads(node))
                wanted |= needed[-1].reads.keys()
        needed.reverse()
        for var in (v for node in needed for v in node.results):
            self.key(var)
        return tuple(needed)

    def _with_reads(self, node: Node) -> Node:
        """The node with what it reads of operands as such, which get their keys here."""
        match node:
            case Region():
                elements = [self.element(a, self._loops(a.type.shape)[1]) for a in node.fixed]
                loads = tuple(loads_of(*elements))
                return replace(node, reads=_by_key(node.reads, loads), fixed_loads=loads)
            case LibraryCall():
                loads = tuple(Load(self.key(a), (), a.type.dtype) for a in node.operands)
                return replace(node, reads=_by_key(node.reads, loads))
            case _:
                return node


def _loads_by_key(expressions: Iterable[Expr]) -> dict[str, list[Load]]:
    return _by_key({}, loads_of(*expressions))


def _by_key(before: Mapping[str, Sequence[Load]], loads: Iterable[Load]) -> dict[str, list[Load]]:
    by_key = {key: list(earlier) for key, earlier in before.items()}
    for load in loads:
        by_key.setdefault(load.buffer, []).append(load)
    return by_key


def _fixed(equation: Equation, bodies: Bodies, parts: Sequence[Loops]) -> _Fixed:
    """What the bodies of a loop or branch read of its operands."""
    read: dict[Atom, None] = {}
    wholes: set[Atom] = set()
    operands = (*bodies.operands.consts, *bodies.operands.xs)
    for scope, loops in zip(bodies.parts, parts, strict=True):
        inputs, needed = inputs_of(equation, scope.graph), array_operands(loops.block.nodes)
        for var, atom in zip((*inputs.consts, *inputs.xs), operands, strict=True):
            if var not in scope.given:
                read.setdefault(atom)
                if var in needed:
                    wholes.add(atom)
    by_elements = (a for a in read if not (isinstance(a, Const) and a.is_scalar))
    return _Fixed(tuple(by_elements), frozenset(wholes))
