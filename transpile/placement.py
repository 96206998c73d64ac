"""Placement: which values get a loop of their own, and which are computed inside their consumer.

Every value of the graph is either *inline* (its expression is substituted into each use, index
arithmetic and all) or a *stage*: for these axes, `value[index] = expression`, or an accumulation of
the expression over further axes. Views and iotas are always inline. A computed value is inline when
that repeats no work worth mentioning: it has one use, and is not spread over more elements than it
has; or it is so cheap that reading it back would cost as much. `transpile.nest` then decides where
a stage's value lives: in a scalar, a row, or memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transpile.dims import (
    Dim,
    Index,
    Shape,
    Symbol,
    product,
    recombine,
    row_major,
    unravel,
)
from transpile.graph import Atom, Const, Equation, Graph, Source, Var
from transpile.loops import Apply, Expr, IndexValue, Literal, Load, Within
from transpile.primitive import Primitive
from transpile.primitives import axes as axis_rows
from transpile.primitives.linalg import dot_general, free_axes
from transpile.products import Product, as_product
from transpile.tangles import tangled
from transpile.types import BOOL, INT64
from transpile.walks import subexpressions

# A value that costs no more than this is computed again rather than kept.
CHEAP = 2
# Expressions with more parts than this are cut, so that C lines stay readable and compile fast.
LARGEST_EXPRESSION = 40
# Reductions of no more elements than this are written out.
UNROLLED_REDUCTION = 8
UNROLLED_CONTRACTION = 4

_COSTLY = {"divide": 4, "sqrt": 4, "floor_divide": 8, "remainder": 8, "fmod": 8, "reciprocal": 4}
_TRANSCENDENTAL_COST = 16


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
    product: Product | None = None
    reads: dict[str, list[Load]] = field(default_factory=dict)
    sources: tuple[Source, ...] = ()

    @property
    def axes(self) -> list[Symbol]:
        """The loops over the value's own axes."""
        return self.order[: self.rank]


class Placement:
    """The stages of a graph, in order, and the key by which expressions name each value."""

    def __init__(self, graph: Graph, recompute: frozenset[Var] = frozenset()) -> None:
        self.graph = graph
        self.recompute = recompute
        self.producers: dict[Var, Equation] = {v: e for e in graph.equations for v in e.outputs}
        self.keys: dict[Atom, str] = {}
        self.atoms: dict[str, Atom] = {}
        self.costs = _inline_costs(self)
        self.products: dict[Var, Product] = {}
        self.tangled = tangled(graph)
        self.staged = self._decide()
        self.stages: list[Stage] = []
        self._symbols = 0
        for equation in graph.equations:
            for var in equation.outputs:
                if var in self.staged and var.type.size != 0:
                    self._sources: dict[Source, None] = {equation.source: None}
                    stage = self._stage(equation)
                    stage.sources = tuple(self._sources)
                    self.stages.append(stage)
        self.stages = self._read_stages()
        self.position = {s: i for i, s in enumerate(self.stages)}
        self.by_key = {self.key(s.var): s for s in self.stages}

    # ------------------------------------------------------------------- which values are stages

    def _decide(self) -> set[Var]:
        staged = {v for v in self.graph.outputs if isinstance(v, Var)}
        uses: dict[Atom, int] = {}
        spread: set[Atom] = set()
        for equation in reversed(self.graph.equations):
            var = equation.output
            if var not in staged and self._deserves_stage(var, equation, uses, var in spread):
                staged.add(var)
            if is_library_product(equation):
                staged |= self._place_operands(equation)
            inline = var not in staged
            for atom in equation.inputs:
                uses[atom] = uses.get(atom, 0) + (uses.get(var, 0) if inline else 1)
                if _spreads(equation, atom) or (inline and var in spread):
                    spread.add(atom)
        return staged

    def _deserves_stage(
        self, var: Var, equation: Equation, uses: dict[Atom, int], spread: bool
    ) -> bool:
        kind = equation.primitive.kind
        if kind in ("view", "generate"):
            return var in self.tangled
        if kind in ("scan", "composite") or (
            kind in ("reduce", "contract") and not is_unrolled(equation)
        ):
            return True
        if var in self.recompute:
            return False
        cost, size = self.costs[var]
        if spread and cost > CHEAP:
            return True
        return uses.get(var, 0) > 1 or size > LARGEST_EXPRESSION

    def _place_operands(self, equation: Equation) -> set[Var]:
        """A library product reads its operands from memory: the views of them that it can step
        through with strides stay views, anything else becomes a stage."""
        forced: set[Var] = set()
        accesses = []
        for atom in equation.inputs:
            base, path = atom, []
            while (
                isinstance(base, Var)
                and base in self.producers
                and (self.producers[base].primitive.kind == "view")
            ):
                path.append(self.producers[base])
                base = self.producers[base].inputs[0]
            accesses.append((base, path))
        found = as_product(equation, accesses)
        for position, (base, _) in enumerate(accesses):
            if found.operands[position].base is not base:
                base = equation.inputs[position]
            if isinstance(base, Var) and base in self.producers:
                forced.add(base)
        self.products[equation.output] = found
        return forced

    # -------------------------------------------------------------------------------- the stages

    def key(self, atom: Atom) -> str:
        """The name by which expressions refer to a value until it has a buffer."""
        key = self.keys.get(atom)
        if key is None:
            key = self.keys[atom] = f"%{len(self.keys)}"
            self.atoms[key] = atom
        return key

    def _symbol(self, extent: Index) -> Symbol:
        self._symbols += 1
        return Symbol(f"s{self._symbols}", 0, extent)

    def _loops(self, shape: Shape) -> tuple[list[Symbol], Shape]:
        """A loop for each axis longer than one, and the index they make."""
        loops: list[Symbol] = []
        index: list[Index] = []
        for extent in shape:
            if extent == 1:
                index.append(0)
            else:
                loops.append(self._symbol(extent))
                index.append(Dim.of(loops[-1]))
        return loops, tuple(index)

    def _stage(self, equation: Equation) -> Stage:
        primitive, var = equation.primitive, equation.output
        if var in self.products:
            return Stage(var, "call", equation, [], 0, (), None, product=self.products[var])
        if primitive is axis_rows.reshape:
            return self._reshaping(equation)
        loops, index = self._loops(var.type.shape)
        if primitive.kind == "reduce" and not is_unrolled(equation):
            return self._reduction(equation, loops, index)
        if primitive is dot_general and not is_unrolled(equation):
            return self._contraction(equation, loops, index)
        if primitive.kind == "scan":
            return self._scan(equation, loops, index)
        return Stage(var, "map", equation, loops, len(loops), index, self.compute(equation, index))

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
        full = _merge(x.type.ndim, equation.params["axes"], inner, index)
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
        combine, body = self._product_body(equation, index, inner)
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

    def _product_body(self, equation: Equation, index: Shape, inner: Shape) -> tuple[str, Expr]:
        """The term of a contraction at an index of the result and of the contracted axes."""
        x, y = equation.inputs
        (cx, cy), (bx, by) = equation.params["dimension_numbers"]
        batch, free = index[: len(bx)], index[len(bx) :]
        free_x = free_axes(x.type.ndim, cx, bx)
        free_y = free_axes(y.type.ndim, cy, by)
        x_index = dict(
            zip((*bx, *cx, *free_x), (*batch, *inner, *free[: len(free_x)]), strict=True)
        )
        y_index = dict(
            zip((*by, *cy, *free_y), (*batch, *inner, *free[len(free_x) :]), strict=True)
        )
        dtype = equation.output.type.dtype
        is_bool = dtype == BOOL
        factors = (
            self.element(x, tuple(x_index[a] for a in range(x.type.ndim))),
            self.element(y, tuple(y_index[a] for a in range(y.type.ndim))),
        )
        return (
            "logical_or" if is_bool else "add",
            Apply("logical_and" if is_bool else "multiply", factors, dtype),
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

    def _read_stages(self) -> list[Stage]:
        """The stages that a result needs. Others are left where the readers have no elements, or
        read other pieces only."""
        wanted = {self.key(v) for v in self.graph.outputs}
        kept: list[Stage] = []
        for stage in reversed(self.stages):
            if self.key(stage.var) in wanted:
                self._note_reads(stage)
                wanted |= stage.reads.keys()
                kept.append(stage)
        return kept[::-1]

    def _note_reads(self, stage: Stage) -> None:
        parts = list(subexpressions(stage.body)) if stage.body is not None else []
        if stage.product is not None:
            parts = [Load(self.key(o.base), (), o.base.type.dtype) for o in stage.product.operands]
        for part in parts:
            if isinstance(part, Load):
                stage.reads.setdefault(part.buffer, []).append(part)

    # ------------------------------------------------------------------------------- expressions

    def element(self, atom: Atom, index: Shape) -> Expr:
        """The expression of one element of a value."""
        if isinstance(atom, Const):
            if atom.is_scalar:
                return Literal(atom.value[()], atom.type.dtype)
            return Load(self.key(atom), index, atom.type.dtype)
        equation = self.producers.get(atom)
        if equation is None or atom in self.staged:
            return Load(self.key(atom), index, atom.type.dtype)
        return self.compute(equation, index)

    def compute(self, equation: Equation, index: Shape) -> Expr:
        """The expression of one element of an equation's result."""
        primitive, var = equation.primitive, equation.output
        self._sources.setdefault(equation.source)
        if primitive.kind == "elementwise":
            args = tuple(self.element(a, index if a.type.shape else ()) for a in equation.inputs)
            return Apply(primitive.name, args, var.type.dtype)
        if primitive.kind == "view":
            if primitive.index is None:
                raise TypeError(f"the view {primitive.name} has no index rule")
            x = equation.inputs[0]
            return self.element(x, primitive.index(index, x.type, **equation.params))
        if primitive is axis_rows.iota:
            return convert(IndexValue(index[equation.params["dimension"]]), var.type.dtype)
        if primitive is axis_rows.concatenate:
            return self._concatenated(equation, index)
        if primitive is axis_rows.pad:
            return self._padded(equation, index)
        return self._unrolled(equation, index)

    def _concatenated(self, equation: Equation, index: Shape) -> Expr:
        axis = equation.params["dimension"]
        offset: Index = 0
        pieces: list[tuple[Index, Expr]] = []
        for atom in equation.inputs:
            inner = (*index[:axis], index[axis] - offset, *index[axis + 1 :])
            offset = offset + atom.type.shape[axis]
            pieces.append((offset, self.element(atom, inner)))
        result = pieces[-1][1]
        for limit, piece in reversed(pieces[:-1]):
            inside = Within(index[axis], 0, limit)
            result = Apply("select", (inside, piece, result), piece.dtype)
        return result

    def _padded(self, equation: Equation, index: Shape) -> Expr:
        x, value = equation.inputs
        inner: list[Index] = []
        tests: list[Expr] = []
        for i, extent, (low, high, interior) in zip(
            index, x.type.shape, equation.params["padding"], strict=True
        ):
            step = interior + 1
            span = (extent - 1) * step + 1
            if low or high or interior:
                tests.append(Within(i, low, span + low))
            phase = (i - low) % step
            if isinstance(phase, int):
                if phase != 0:
                    return self.element(value, ())
            else:
                tests.append(Apply("equal", (IndexValue(phase), Literal(0, INT64)), BOOL))
            inner.append((i - low) // step)
        result = self.element(x, tuple(inner))
        fill = self.element(value, ())
        for test in reversed(tests):
            result = Apply("select", (test, result, fill), result.dtype)
        return result

    def _unrolled(self, equation: Equation, index: Shape) -> Expr:
        """A small reduction or contraction, written out."""
        x = equation.inputs[0]
        if equation.primitive is dot_general:
            over = equation.params["dimension_numbers"][0][0]
        else:
            over = equation.params["axes"]
        extents = [int(x.type.shape[a]) for a in over]
        combine = equation.primitive.combine
        result: Expr | None = None
        for inner in np.ndindex(*extents):
            if equation.primitive is dot_general:
                combine, term = self._product_body(equation, index, inner)
            else:
                term = self.element(x, _merge(x.type.ndim, over, inner, index))
            result = term if result is None else Apply(combine, (result, term), term.dtype)
        if result is None:
            raise ValueError(f"{equation.primitive} over no elements")
        return result


def convert(expr: Expr, dtype: np.dtype[Any]) -> Expr:
    """The expression in another dtype."""
    if expr.dtype == dtype:
        return expr
    return Apply("convert_element_type", (expr,), dtype)


def _merge(rank: int, reduced: tuple[int, ...], inner: Shape, outer: Shape) -> Shape:
    """The index into an operand from those of its reduced axes and of the rest."""
    inside, outside = iter(inner), iter(outer)
    places = dict(zip(reduced, inside, strict=True))
    return tuple(places[a] if a in places else next(outside) for a in range(rank))


def is_unrolled(equation: Equation) -> bool:
    """Tell whether a reduction or contraction is small enough to be written out."""
    if equation.primitive.kind == "reduce":
        over, largest = equation.params["axes"], UNROLLED_REDUCTION
    elif equation.primitive is dot_general:
        over, largest = equation.params["dimension_numbers"][0][0], UNROLLED_CONTRACTION
    else:
        return False
    count = product(equation.inputs[0].type.shape[a] for a in over)
    return isinstance(count, int) and 0 < count <= largest


def is_library_product(equation: Equation) -> bool:
    """Tell whether a contraction is large enough for the matrix product routine."""
    if equation.primitive is not dot_general or equation.output.type.dtype.kind != "f":
        return False
    x, y = equation.inputs
    (cx, cy), (bx, by) = equation.params["dimension_numbers"]
    k = product(x.type.shape[a] for a in cx)
    m = product(x.type.shape[a] for a in free_axes(x.type.ndim, cx, bx))
    n = product(y.type.shape[a] for a in free_axes(y.type.ndim, cy, by))
    if not (isinstance(m, int) and isinstance(n, int) and isinstance(k, int)):
        return False
    return min(m, n, k) >= 4 and m * n * k >= 2048


def _spreads(equation: Equation, atom: Atom) -> bool:
    """Tell whether an equation reads each element of an operand many times."""
    if equation.primitive is axis_rows.broadcast_in_dim:
        return equation.output.type.size != atom.type.size
    return equation.primitive is dot_general and equation.output.type.ndim > 0


def cost_of(primitive: Primitive) -> int:
    """What one element of an elementwise primitive costs, an addition being 1."""
    if primitive.transcendental and primitive.name not in _COSTLY:
        return _TRANSCENDENTAL_COST
    return _COSTLY.get(primitive.name, min(primitive.cost, 1))


def _inline_costs(placement: Placement) -> dict[Var, tuple[int, int]]:
    """For each value the cost and the number of parts of its expression, single uses inlined."""
    uses = placement.graph.uses()
    costs: dict[Var, tuple[int, int]] = {}
    for equation in placement.graph.equations:
        cost, size = cost_of(equation.primitive), 0 if equation.primitive.kind == "view" else 1
        repeat = 1
        if is_unrolled(equation):
            shape = equation.inputs[0].type.shape
            over = equation.params.get("axes") or equation.params["dimension_numbers"][0][0]
            count = product(shape[a] for a in over)
            repeat = count if isinstance(count, int) else 1
        for atom in equation.inputs:
            if isinstance(atom, Var) and atom in costs:
                kind = placement.producers[atom].primitive.kind
                shared = uses[atom] > 1 and kind == "elementwise" and costs[atom][0] > CHEAP
                if (
                    costs[atom][1] <= LARGEST_EXPRESSION
                    and not shared
                    and (
                        kind not in ("reduce", "scan", "contract", "composite")
                        or is_unrolled(placement.producers[atom])
                    )
                ):
                    cost += costs[atom][0] * repeat
                    size += costs[atom][1] * repeat
                    continue
            size += repeat
        costs[equation.output] = (cost + repeat - 1, size)
    return costs
