"""Elements: one element of a value as a scalar expression over the elements of others.

Views are arithmetic on subscripts. A value that is materialised is read; any other is computed
where it is used. Where a subscript is itself a value (an element of an array of indices), it is
bound to a symbol, which a statement before the expression declares.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from transpile.analysis.value_range import is_never_minus_zero
from transpile.fusion.guarded_choice import guarded
from transpile.ir.dims import Dim, Index, Shape, Symbol, bounds, is_within, symbols_of
from transpile.ir.graph import Atom, Const, Equation, Graph, Source, Var
from transpile.ir.graph_rewrite import counts_of
from transpile.ir.indices.lengths import Length
from transpile.ir.indices.row_major import product
from transpile.ir.indices.values import as_index, as_value, convert, of_indices
from transpile.ir.loop_ir import Apply, Expr, IndexValue, Literal, Load, Within
from transpile.ir.primitive import Primitive
from transpile.ir.types import BOOL, INT64
from transpile.machine import Machine
from transpile.primitives import axes as axis_primitives
from transpile.primitives import indexing
from transpile.primitives.dot import dot_general, free_axes
from transpile.primitives.elementwise import copy, select
from transpile.util.frozen_records import dataclass

# Choices between more joined arrays than this are made by halves: C compilers need not take more
# parentheses in one another than 63.
MOST_CHOICES = 64
# The kinds of primitives that `Elements.compute` knows; also reductions that are written out.
_BY_ELEMENTS = frozenset({"elementwise", "view", "generate", "piecewise"})


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a graph, or of a body, that expressions are made of.

    producers     the equation of each that has one
    keys          the names by which expressions refer to values, and `atoms` the values
    given         inputs of a body that are arithmetic on the indices of loops around it
    counters      the indices of these loops
    arithmetic    values that are arithmetic on known numbers and such indices, or comparisons
    materialised  those that are read; the others are computed
    """

    producers: Mapping[Var, Equation]
    keys: Mapping[Atom, str]
    atoms: Mapping[str, Atom]
    given: Mapping[Var, Expr]
    counters: frozenset[Symbol]
    arithmetic: Set[Var]
    materialised: Set[Var] = frozenset()

    def is_inlined(self, atom: Atom) -> bool:
        """Tell whether a value is computed wherever it is read."""
        return atom in self.producers and atom not in self.materialised


def values_of(graph: Graph, given: Mapping[Var, Expr]) -> Values:
    """The values of a graph, of which none is materialised yet."""
    producers: dict[Var, Equation] = {}
    keys: dict[Atom, str] = {atom: f"%{number}" for number, atom in enumerate(graph.inputs)}
    arithmetic: set[Var] = set(given)
    number = len(graph.inputs)
    for equation in graph.equations:
        is_known = True
        for atom in equation.inputs:
            if isinstance(atom, Var):
                is_known = is_known and atom in arithmetic
                continue
            is_known = is_known and not atom.type.shape
            if atom not in keys:
                keys[atom] = f"%{number}"
                number += 1
        if is_known and is_index_arithmetic(equation.primitive):
            arithmetic.update(equation.outputs)
        for var in equation.outputs:
            producers[var] = equation
            keys[var] = f"%{number}"
            number += 1
    for atom in graph.outputs:
        if atom not in keys:
            keys[atom] = f"%{number}"
            number += 1
    atoms = {key: atom for atom, key in keys.items()}
    atoms.update((length_key(s), v) for s, v in counts_of(graph.equations).items())
    counters = frozenset(s for e in given.values() for s in symbols_of(as_index(e) or 0))
    return Values(producers, keys, atoms, given, counters, arithmetic)


def length_key(length: Length) -> str:
    """The name by which nodes say that they need a length; expressions have its symbol."""
    return f"#{length}"


def is_index_arithmetic(primitive: Primitive) -> bool:
    """Tell whether of indices it is one again, or a truth that their ranges may decide."""
    if primitive.kind == "view" or primitive is axis_primitives.iota or primitive is select:
        return True
    return primitive.on_indices is not None or bool(primitive.signs)


class Elements:
    """The elements of a graph's values, while one index lambda is made of some of them.

    values   the values
    sources  the lines of Python that the expressions so far come from
    bound    the subscripts in them that are read from arrays, and the symbols that stand for them
    """

    def __init__(self, values: Values, stem: str = "") -> None:
        self.values = values
        self.stem = stem
        self.sources: dict[Source, None] = {}
        self.bound: dict[Expr, Symbol] = {}
        self._guards: list[Expr] = []  # what holds wherever the present expression is evaluated
        self._symbols = 0

    def symbol(self, extent: Index) -> Symbol:
        """A new symbol, from 0 to below an extent."""
        self._symbols += 1
        return Symbol(f"{self.stem}s{self._symbols}", 0, extent)

    def loops(self, shape: Shape) -> tuple[tuple[Symbol, ...], Shape]:
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

    def element(self, atom: Atom, index: Shape) -> Expr:
        """The expression of one element of a value."""
        if 0 in atom.type.shape:  # where a test that never holds asks for an element of nothing
            return Literal(np.zeros((), atom.type.dtype)[()], atom.type.dtype)
        if isinstance(atom, Const):
            if atom.is_scalar:
                return Literal(atom.value[()], atom.type.dtype)
            known = tuple(i for i in index if isinstance(i, int))
            if len(known) == len(index):
                return Literal(atom.value[known], atom.type.dtype)
            return Load(self.values.keys[atom], index, atom.type.dtype)
        if atom in self.values.given:
            return self.values.given[atom]
        equation = self.values.producers.get(atom)
        if equation is None or atom in self.values.materialised:
            return Load(self.values.keys[atom], index, atom.type.dtype)
        return self.compute(equation, index)

    def compute(self, equation: Equation, index: Shape) -> Expr:
        """The expression of one element of an equation's result."""
        primitive, var = equation.primitive, equation.output
        self.sources.setdefault(equation.source)
        if primitive.kind == "elementwise":
            args = tuple(self.element(a, index if a.type.shape else ()) for a in equation.inputs)
            if primitive is copy:
                return args[0]
            return of_indices(Apply(primitive.name, args, var.type.dtype))
        if primitive.kind == "view":
            if primitive.index is None:
                raise TypeError(f"the view {primitive.name} has no index rule")
            x = equation.inputs[0]
            return self.element(x, primitive.index(index, x.type, **equation.params))
        rule = _RULES.get(primitive, Elements._unrolled)
        return rule(self, equation, index)

    def _count(self, equation: Equation, index: Shape) -> Expr:
        dimension = equation.params["dimension"]
        return convert(IndexValue(index[dimension]), equation.output.type.dtype)

    def _concatenated(self, equation: Equation, index: Shape) -> Expr:
        axis = equation.params["dimension"]
        offset: Index = 0
        pieces: list[tuple[Index, Expr]] = []
        for atom in equation.inputs:
            inner = (*index[:axis], index[axis] - offset, *index[axis + 1 :])
            limit = offset + atom.type.shape[axis]
            if isinstance(index[axis], int) and isinstance(limit, int) and not pieces:
                if index[axis] < limit:
                    return self.element(atom, inner)
                offset = limit
                continue
            pieces.append((limit, self._where([Within(index[axis], offset, limit)], atom, inner)))
            offset = limit
        return _chosen(pieces, index[axis])

    def _padded(self, equation: Equation, index: Shape) -> Expr:
        x, value = equation.inputs
        inner: list[Index] = []
        tests: list[Expr] = []
        for i, extent, (low, high, interior) in zip(
            index, x.type.shape, equation.params["padding"], strict=True
        ):
            step = interior + 1
            span = (extent - 1) * step + 1
            if isinstance(i, int) and isinstance(span, int):
                if not low <= i < span + low:
                    return self.element(value, ())
            elif low or high or interior:
                tests.append(Within(i, low, span + low))
            phase = (i - low) % step
            if isinstance(phase, int):
                if phase != 0:
                    return self.element(value, ())
            else:
                tests.append(Apply("equal", (IndexValue(phase), Literal(0, INT64)), BOOL))
            inner.append((i - low) // step)
        result = self._where(tests, x, tuple(inner))
        fill = self.element(value, ())
        for test in reversed(tests):
            result = guarded(test, result, fill)
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
        terms: list[Expr] = []
        for inner in np.ndindex(*extents):
            if equation.primitive is dot_general:
                combine, term = self.product_body(equation, index, inner)
            else:
                term = self.element(x, merged_index(x.type.ndim, over, inner, index))
            terms.append(term)
        if combine == "add" and not any(map(is_never_minus_zero, terms)):
            terms.insert(0, Literal(terms[0].dtype.type(0), terms[0].dtype))
        elif combine == "multiply" and terms[0].dtype.kind == "c":  # 1 times an infinity has a NaN
            terms.insert(0, Literal(terms[0].dtype.type(1), terms[0].dtype))
        return functools.reduce(lambda p, q: Apply(combine, (p, q), q.dtype), terms)

    def product_body(self, equation: Equation, index: Shape, inner: Shape) -> tuple[str, Expr]:
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

    # -------------------------------------------------------------------- subscripts from arrays

    def _where(self, tests: Sequence[Expr], atom: Atom, index: Shape) -> Expr:
        """An element that is there only where the tests hold."""
        around = self._guards
        self._guards = [*around, *(t for t in tests if isinstance(t, Within))]
        result = self.element(atom, index)
        self._guards = around
        return result

    def bind(self, value: Expr, extent: Index, is_target: bool = False) -> Index:
        """A subscript with this value, which is at least 0 and below the extent.

        In a target different iterations of a loop must be known to meet different elements, or
        their subscript must be a variable.
        """
        known = as_index(value)
        if known is not None and not (is_target and self._may_repeat(known)):
            return known
        for test in reversed(self._guards):  # the variable is declared where they may not hold
            value = Apply("select", (test, value, Literal(0, INT64)), INT64)
        if value not in self.bound:
            self.bound[value] = self.symbol(extent)
        return Dim.of(self.bound[value])

    def _may_repeat(self, index: Index) -> bool:
        """Tell whether an index may be the same in different iterations of a loop that it depends
        on: unless it is a multiple of one loop's index. The loops around a body do not count."""
        if isinstance(index, int):
            return False
        moving = [atoms for atoms, _ in index.terms if not self.values.counters.issuperset(atoms)]
        if not moving:
            return False
        return len(moving) != 1 or len(moving[0]) != 1 or not isinstance(moving[0][0], Symbol)

    def clipped(self, value: Expr, extent: Index, is_target: bool = False) -> Index:
        """The subscript next to a value that is at least 0 and below the extent."""
        known = as_index(value)
        if isinstance(known, int) and isinstance(extent, int):
            return min(max(known, 0), extent - 1)
        if known is None or not is_within(known, extent):
            least, most = (None, None) if known is None else bounds(known)
            if least is None or least < 0:
                value = Apply("maximum", (value, Literal(0, INT64)), INT64)
            if most is None or not is_within(most, extent):
                value = Apply("minimum", (value, as_value(extent - 1)), INT64)
        return self.bind(value, extent, is_target)

    def positions(
        self, equation: Equation, index: Shape
    ) -> tuple[dict[int, Index], list[Expr], Shape]:
        """For each axis that an equation indexes by arrays its subscript, the tests that it is one,
        and what is left of an index into the updates or the result."""
        indices = indexing.index_operands(equation)
        is_target = equation.primitive is indexing.scatter
        x, mode = equation.inputs[0], equation.params["mode"]
        rank = indices[0].type.ndim if indices else 0
        places: dict[int, Index] = {}
        tests: list[Expr] = []
        for axis, atom in zip(equation.params["axes"], indices, strict=True):
            extent = x.type.shape[axis]
            value = self.element(atom, index[:rank])
            if mode == indexing.PROMISED:
                places[axis] = self.bind(value, extent, is_target)
                continue
            if not is_within(0, extent):  # there may be no element at all
                tests.append(Within(0, 0, extent))
            places[axis] = self.clipped(value, extent, is_target)
            known = as_index(value)
            if mode == indexing.FILL and (known is None or not is_within(known, extent)):
                tests.append(Apply("equal", (as_value(places[axis]), value), BOOL))
        return places, tests, index[rank:]

    def _gathered(self, equation: Equation, index: Shape) -> Expr:
        x = equation.inputs[0]
        fill = Literal(indexing.fill_value(x.type.dtype), x.type.dtype)
        if any(x.type.shape[a] == 0 for a in equation.params["axes"]):
            return fill
        places, tests, rest = self.positions(equation, index)
        left = iter(rest)
        inner = tuple(places[a] if a in places else next(left) for a in range(x.type.ndim))
        result = self._where(tests, x, inner)
        for test in reversed(tests):
            result = guarded(test, result, fill)
        return result

    def starts(self, starts: Sequence[Atom], shape: Shape, sizes: Shape) -> Shape:
        """Where a slice with starts from values begins: as near to them as it fits."""
        return tuple(
            0 if size == extent else self.clipped(self.element(atom, ()), extent - size + 1)
            for atom, extent, size in zip(starts, shape, sizes, strict=True)
        )

    def _sliced(self, equation: Equation, index: Shape) -> Expr:
        x, *starts = equation.inputs
        first = self.starts(starts, x.type.shape, equation.params["sizes"])
        return self.element(x, tuple(a + i for a, i in zip(first, index, strict=True)))

    def _updated(self, equation: Equation, index: Shape) -> Expr:
        x, update, *starts = equation.inputs
        first = self.starts(starts, x.type.shape, update.type.shape)
        tests = [
            Within(i, low, low + size)
            for low, i, size, extent in zip(
                first, index, update.type.shape, x.type.shape, strict=True
            )
            if size != extent
        ]
        inner = tuple(i - a for a, i in zip(first, index, strict=True))
        result = self._where(tests, update, inner)
        otherwise = self.element(x, index)
        for test in reversed(tests):
            result = guarded(test, result, otherwise)
        return result


def _chosen(pieces: list[tuple[Index, Expr]], index: Index) -> Expr:
    """The piece in which an index lies, from the pieces with their ends; of many pieces by halves,
    since choices cannot stand inside one another without end."""
    if len(pieces) > MOST_CHOICES:
        middle = len(pieces) // 2
        first, second = _chosen(pieces[:middle], index), _chosen(pieces[middle:], index)
        is_first = Within(index, 0, pieces[middle - 1][0])
        return guarded(is_first, first, second)
    result = pieces[-1][1]
    for limit, piece in reversed(pieces[:-1]):
        result = guarded(Within(index, 0, limit), piece, result)
    return result


_RULES: dict[Any, Callable[[Elements, Equation, Shape], Expr]] = {
    axis_primitives.iota: Elements._count,
    axis_primitives.concatenate: Elements._concatenated,
    axis_primitives.pad: Elements._padded,
    indexing.gather: Elements._gathered,
    indexing.dynamic_slice: Elements._sliced,
    indexing.dynamic_update_slice: Elements._updated,
}


def merged_index(rank: int, reduced: tuple[int, ...], inner: Shape, outer: Shape) -> Shape:
    """The index into an operand from those of its reduced axes and of the rest."""
    inside, outside = iter(inner), iter(outer)
    places = dict(zip(reduced, inside, strict=True))
    return tuple(places[a] if a in places else next(outside) for a in range(rank))


def is_by_elements(equation: Equation, machine: Machine) -> bool:
    """Tell whether an element of an equation's result is an expression over elements of others."""
    return equation.primitive.kind in _BY_ELEMENTS or is_unrolled(equation, machine)


def is_unrolled(equation: Equation, machine: Machine) -> bool:
    """Tell whether a reduction or contraction is small enough to be written out."""
    if equation.primitive.kind == "reduce":
        over, longest = equation.params["axes"], machine.longest_unrolled_reduction
    elif equation.primitive is dot_general:
        over = equation.params["dimension_numbers"][0][0]
        longest = machine.longest_unrolled_contraction
    else:
        return False
    count = product(equation.inputs[0].type.shape[a] for a in over)
    return isinstance(count, int) and 0 < count <= longest
