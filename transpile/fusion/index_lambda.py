"""Index lambdas: in each iteration of loops the element of an array at an index.

Every value of a graph has one, whose expressions are over the values that are materialised. The
functions here make them of equations; what they return is frozen.
"""

from __future__ import annotations

from collections.abc import Mapping

from transpile.fusion.elements import Elements, Values, merged_index
from transpile.ir.dims import Dim, Index, Shape, Symbol
from transpile.ir.graph import Atom, Const, Equation, Source
from transpile.ir.indices.row_major import recombine, row_major, unravel
from transpile.ir.indices.values import as_index
from transpile.ir.loop_ir import Expr, Literal, Load
from transpile.primitives import indexing
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True, eq=False)
class IndexLambda:
    """In each iteration of loops the element of an array at an index.

    order    the loops, from the outside in
    index    the element that an iteration computes
    body     its value
    bound    the subscripts in it that are themselves read from arrays
    sources  the lines of Python that it comes from
    """

    order: tuple[Symbol, ...]
    index: Shape
    body: Expr
    bound: Mapping[Symbol, Expr]
    sources: tuple[Source, ...]

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """All that an iteration evaluates."""
        return (*self.bound.values(), self.body)

    @property
    def is_copy(self) -> bool:
        """Whether the elements are those of another array, at the same indices."""
        return isinstance(self.body, Load) and self.body.index == self.index


def _index_lambda(
    elements: Elements, order: tuple[Symbol, ...], index: Shape, body: Expr
) -> IndexLambda:
    bound = {symbol: value for value, symbol in elements.bound.items()}
    return IndexLambda(order, index, body, bound, tuple(elements.sources))


def value_of(values: Values, atom: Atom, stem: str) -> IndexLambda:
    """The elements of a value, which are read if it is materialised. The symbols of a lambda begin
    with its stem, so that no two lambdas of a program share any."""
    elements = Elements(values, stem)
    loops, index = elements.loops(atom.type.shape)
    return _index_lambda(elements, loops, index, elements.element(atom, index))


def stored_of(values: Values, atom: Atom, stem: str) -> IndexLambda:
    """The elements of a value that is in memory, those of a constant among them."""
    elements = Elements(values, stem)
    loops, index = elements.loops(atom.type.shape)
    return _index_lambda(elements, loops, index, Load(values.keys[atom], index, atom.type.dtype))


def result_of(values: Values, equation: Equation, stem: str) -> IndexLambda:
    """The elements of the result of an equation, in terms of its operands."""
    elements = Elements(values, stem)
    loops, index = elements.loops(equation.output.type.shape)
    return _index_lambda(elements, loops, index, elements.compute(equation, index))


def reshape_of(values: Values, equation: Equation, stem: str) -> IndexLambda:
    """The elements of a reshape, in the order of its operand, whose subscripts are then plain."""
    elements, (x,) = Elements(values, stem), equation.inputs
    loops, inner = elements.loops(x.type.shape)
    index = unravel(recombine(row_major(inner, x.type.shape)), equation.output.type.shape)
    return _index_lambda(elements, loops, index, elements.element(x, inner))


def terms_of(values: Values, equation: Equation, stem: str) -> tuple[IndexLambda, int]:
    """What a reduction combines, with how many loops over its terms there are inside of those over
    its result."""
    elements, x, axes = Elements(values, stem), equation.inputs[0], equation.params["axes"]
    loops, index = elements.loops(equation.output.type.shape)
    reduced, inner = elements.loops(tuple(x.type.shape[a] for a in axes))
    body = elements.element(x, merged_index(x.type.ndim, axes, inner, index))
    return _index_lambda(elements, (*loops, *reduced), index, body), len(reduced)


def products_of(values: Values, equation: Equation, stem: str) -> tuple[IndexLambda, int, str]:
    """What a contraction combines, with how many loops over its terms there are inside of those
    over its result, and how it combines them."""
    elements, x = Elements(values, stem), equation.inputs[0]
    (contracting, _), _ = equation.params["dimension_numbers"]
    loops, index = elements.loops(equation.output.type.shape)
    reduced, inner = elements.loops(tuple(x.type.shape[a] for a in contracting))
    combine, body = elements.product_body(equation, index, inner)
    return _index_lambda(elements, (*loops, *reduced), index, body), len(reduced), combine


def running_terms_of(values: Values, equation: Equation, stem: str) -> IndexLambda:
    """What a scan combines, its axis in the innermost loop."""
    elements, (x,) = Elements(values, stem), equation.inputs
    axis: int = equation.params["axis"]
    loops, index = elements.loops(equation.output.type.shape)
    along = index[axis]
    if equation.params["reverse"]:
        index = (*index[:axis], x.type.shape[axis] - 1 - along, *index[axis + 1 :])
    order = (
        *(s for s in loops if Dim.of(s) != along),
        *(s for s in loops if Dim.of(s) == along),
    )
    return _index_lambda(elements, order, index, elements.element(x, index))


def update_of(
    values: Values, equation: Equation, stem: str
) -> tuple[IndexLambda, tuple[Expr, ...]]:
    """The elements that a scatter, or a slice that is put into an array, puts at their indices, and
    the tests that they are put anywhere."""
    elements = Elements(values, stem)
    x, updates = equation.inputs[:2]
    loops, index = elements.loops(updates.type.shape)
    tests: list[Expr] = []
    if equation.primitive is indexing.scatter:
        places, tests, rest = elements.positions(equation, index)
        left = iter(rest)
        target = tuple(places[a] if a in places else next(left) for a in range(x.type.ndim))
    else:
        start = elements.starts(equation.inputs[2:], x.type.shape, updates.type.shape)
        target = tuple(a + i for a, i in zip(start, index, strict=True))
    body = elements.element(updates, index)
    return _index_lambda(elements, loops, target, body), tuple(tests)


def arithmetic(values: Values, atom: Atom, index: Shape) -> Expr | None:
    """An element that is arithmetic on known numbers and on indices of loops, or a comparison of
    such; None for any other."""
    is_known = atom.is_scalar if isinstance(atom, Const) else atom in values.arithmetic
    return Elements(values).element(atom, index) if is_known else None


def index_of(values: Values, atom: Atom, index: Shape) -> Index | None:
    """An element as an index, if it is arithmetic on indices."""
    value = arithmetic(values, atom, index)
    return None if value is None else as_index(value)


def is_known_scalar(values: Values, atom: Atom) -> bool:
    """Tell whether a value is one number, which is known or arithmetic on sizes and on indices of
    loops: it is no operation when it is read."""
    value = None if atom.type.shape else arithmetic(values, atom, ())
    return value is not None and (isinstance(value, Literal) or as_index(value) is not None)


def is_index(values: Values, atom: Atom) -> bool:
    """Tell whether each element is arithmetic on its subscripts and on indices of loops."""
    if atom not in values.arithmetic:
        return False
    elements = Elements(values)
    _, index = elements.loops(atom.type.shape)
    return as_index(elements.element(atom, index)) is not None
