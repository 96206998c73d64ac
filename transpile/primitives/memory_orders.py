"""Programs for arguments whose axes lie in memory in another order, as those of `x.T` do.

An argument in such an order is the transpose of an array in row-major order: the program takes that
array, without a copy, and begins with the transpose. So it reads the argument as it reads `x.T`.

Its results lie as NumPy's would (order "K"): where the operands of an equation are all in the order
in which it would read them for a result in some order, the result is in that one. A result in
another order than the rows' is stored as its transpose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from transpile.ir.graph import Atom, Equation, Graph, Var
from transpile.ir.primitive import Order, inverse
from transpile.ir.types import ArrayType
from transpile.primitives.axes import broadcast_in_dim, transpose
from transpile.util.frozen_records import replace


def in_memory_orders(graph: Graph, orders: Sequence[Order]) -> tuple[Graph, tuple[Order, ...]]:
    """The graph for inputs in these orders, and the orders of its outputs; () is row-major.

    An input `x` becomes `x.transpose(order)`, and so does an output.
    """
    inputs, before = [], []
    known: dict[Atom, Order | None] = {}
    for x, order in zip(graph.inputs, orders, strict=True):
        if not order:
            inputs.append(x)
            continue
        shape = tuple(x.type.shape[axis] for axis in order)
        inputs.append(Var(x.type.with_shape(shape), x.name))
        back = {"permutation": inverse(order)}
        before.append(Equation(transpose, (inputs[-1],), back, (x,), graph.source))
        known[x] = order
    known |= orders_of(graph, known)
    after, outputs, stored = [], [], []
    for atom in graph.outputs:
        order = known.get(atom) or ()
        stored.append(order)
        if order:
            shape = tuple(atom.type.shape[axis] for axis in order)
            y = Var(atom.type.with_shape(shape), atom.name)
            after.append(Equation(transpose, (atom,), {"permutation": order}, (y,), graph.source))
            atom = y
        outputs.append(atom)
    equations = (*before, *graph.equations, *after)
    moved = replace(graph, inputs=tuple(inputs), equations=equations, outputs=tuple(outputs))
    return moved, tuple(stored)


def orders_of(graph: Graph, inputs: Mapping[Atom, Order | None]) -> dict[Atom, Order | None]:
    """The order in which each computed value would lie, from those of inputs; () is row-major, None
    any."""
    known = dict(inputs)
    for equation in graph.equations:
        for output in equation.outputs:
            known[output] = _order(equation, known)
    return known


def _order(equation: Equation, known: Mapping[Atom, Order | None]) -> Order | None:
    """The order of an equation's result that suits all its operands; () where there is none, None
    where any does, because nothing is read from memory, or one number again and again."""
    if all(_is_narrow(output.type) for output in equation.outputs):
        return None
    primitive, permute = equation.primitive, equation.primitive.permute
    orders = [known.get(atom, _of_input(atom)) for atom in equation.inputs]
    if primitive is transpose and orders[0] is not None:
        undone = inverse(equation.params["permutation"])
        return _usual(tuple(undone[axis] for axis in orders[0] or range(len(undone))))
    if permute is None or len(equation.outputs) != 1:
        return ()
    if all(order is None for order in orders):
        return None
    if primitive is broadcast_in_dim:
        return _with_unit_axes(equation, orders[0])
    for order in dict.fromkeys(filter(None, orders)):
        result = order_of_result(equation, order)
        if len(result) != equation.output.type.ndim or not _usual(result):
            continue
        wanted, _ = permute(result, *(a.type for a in equation.inputs), **equation.params)
        if all(map(_lies_in, equation.inputs, orders, wanted)):
            return result
    return ()


def _with_unit_axes(equation: Equation, order: Order | None) -> Order:
    """The order of a value with further axes of one element, as those of `x[None]`; () where an
    axis repeats elements. As NumPy sorts the strides of its operands: an axis goes before all that
    lie closer in memory, and one of a single element, which suits anywhere, stays where it comes.
    """
    (x,), axes = equation.inputs, equation.params["broadcast_dimensions"]
    shape = equation.output.type.shape
    is_whole = all(shape[a] == extent for a, extent in zip(axes, x.type.shape, strict=True))
    if not order or not is_whole or any(shape[a] != 1 for a in range(len(shape)) if a not in axes):
        return ()
    places = {axes[axis]: place for place, axis in enumerate(order) if x.type.shape[axis] != 1}
    result: list[int] = []
    for axis in range(len(shape)):
        at = len(result)
        for position in range(len(result) - 1, -1, -1) if axis in places else ():
            if result[position] in places:
                if places[result[position]] < places[axis]:
                    break
                at = position
        result.insert(at, axis)
    return _usual(tuple(result))


def _of_input(atom: Atom) -> Order | None:
    """The order of an input or a constant in row-major order; None: any will do."""
    return None if _is_narrow(atom.type) else ()


def _is_narrow(kind: ArrayType) -> bool:
    """True for arrays that are the same in every order: at most one axis is wide."""
    return sum(extent != 1 for extent in kind.shape) < 2


def order_of_result(equation: Equation, order: Order) -> Order:
    """The order of an operand's axes in the result: without those that a reduction sums over."""
    axes = equation.params.get("axes", ()) if equation.primitive.kind == "reduce" else ()
    left = [axis for axis in order if axis not in axes]
    return tuple(sorted(left).index(axis) for axis in left)


def _lies_in(atom: Atom, order: Order | None, wanted: Order) -> bool:
    """True if an operand in an order is as good as one in the wanted order."""
    if order is None:
        return True
    wide = [axis for axis, extent in enumerate(atom.type.shape) if extent != 1]
    order = order or tuple(range(atom.type.ndim))
    return [a for a in order if a in wide] == [a for a in wanted if a in wide]


def _usual(order: Order) -> Order:
    """The order, or () for that of the rows."""
    return () if order == tuple(range(len(order))) else order
