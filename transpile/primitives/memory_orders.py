"""Programs for arguments that lie in memory otherwise than by rows, as `x.T` and `x[::2]` do.

An argument in another order of axes is the transpose of an array in row-major order: the program
takes that array, without a copy, and begins with the transpose. So it reads the argument as it
reads `x.T`. An argument with gaps is a part of such an array, its frame: the program begins with a
slice of that.

Its results lie as NumPy's would (order "K"): where the operands of an equation are all in the order
in which it would read them for a result in some order, the result is in that one. A result in
another order than the rows' is stored as its transpose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from transpile.ir.graph import Atom, Equation, Graph, Var
from transpile.ir.memory_layout import Gaps, Layout
from transpile.ir.primitive import Order, Primitive, inverse
from transpile.ir.types import ArrayType
from transpile.machine import USUAL, Machine
from transpile.primitives.axes import broadcast_in_dim, rev, slice_, transpose
from transpile.util.frozen_records import replace

# Of one function and signature, programs that read arrays with gaps in place: others are copied.
_MOST_GAPS = 8


def in_memory_layouts(graph: Graph, layouts: Sequence[Layout]) -> tuple[Graph, tuple[Order, ...]]:
    """The graph for inputs in these layouts, and the orders of its outputs; () is row-major.

    An input `x` becomes `x.transpose(order)`, or the frame around it, and an output
    `y.transpose(order)`.
    """
    inputs: list[Var] = []
    before: list[Equation] = []
    known: dict[Atom, Order | None] = {}
    for x, order in zip(graph.inputs, layouts, strict=True):
        if not order:
            inputs.append(x)
            continue
        if isinstance(order, Gaps):
            frame, parts = _part_of_frame(graph, x, order)
            inputs.append(frame)
            before += parts
            if order.order and not order.repeated:
                known[x] = order.order
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


def read_in_place(
    graph: Graph,
    layouts: Sequence[Layout],
    known: Sequence[tuple[Layout, ...]] = (),
    machine: Machine = USUAL,
) -> tuple[Layout, ...]:
    """The layouts of inputs that a program of their own takes; () for those that are copied into
    rows. None where that is the program for rows. `known` are the layouts of other programs."""
    read = Counter(atom for equation in graph.equations for atom in equation.inputs)
    pairs = zip(graph.inputs, layouts, strict=True)
    taken = tuple(() if _is_scattered(x, y, machine) and read[x] > 1 else y for x, y in pairs)
    if taken not in known and sum(map(_has_gaps, known)) >= _MOST_GAPS:
        taken = tuple(() if isinstance(layout, Gaps) else layout for layout in taken)
    _, stored = in_memory_layouts(graph, taken)
    return taken if any(taken + stored) else ()


def _is_scattered(x: Var, layout: Layout, machine: Machine) -> bool:
    """True for an array with gaps of which each element has a cache line."""
    step = layout.step if isinstance(layout, Gaps) else 1
    return step * x.type.dtype.itemsize >= max(machine.cache_line_bytes, 2 * x.type.dtype.itemsize)


def _has_gaps(layouts: tuple[Layout, ...]) -> bool:
    return any(isinstance(layout, Gaps) for layout in layouts)


def _part_of_frame(graph: Graph, x: Var, gaps: Gaps) -> tuple[Var, list[Equation]]:
    """The frame around an input with gaps, and the equations that make the input of it."""
    frame = Var(x.type.with_shape(gaps.frame), x.name)
    applied: list[tuple[Primitive, dict[str, Any]]] = [(slice_, _slice_of_frame(x, gaps))]
    if gaps.order:
        applied.append((transpose, {"permutation": inverse(gaps.order)}))
    if gaps.reversed:
        applied.append((rev, {"dimensions": gaps.reversed}))
    if gaps.repeated:
        axes = tuple(range(x.type.ndim))
        applied.append((broadcast_in_dim, {"shape": x.type.shape, "broadcast_dimensions": axes}))
    equations: list[Equation] = []
    value = frame
    for number, (primitive, params) in enumerate(applied, 1):
        (kind,) = primitive.result_types([value.type], params)
        result = x if number == len(applied) else Var(kind, x.name)
        equations.append(Equation(primitive, (value,), params, (result,), graph.source))
        value = result
    return frame, equations


def _slice_of_frame(x: Var, gaps: Gaps) -> dict[str, Any]:
    """The parameters of the slice that an array with gaps is of its frame."""
    limit, steps, inside = [], [], 1
    for axis, extent in zip(reversed(gaps.axes), reversed(gaps.frame), strict=True):
        stride = abs(gaps.strides[axis])
        steps.append(max(stride // inside, 1))
        limit.append((x.type.shape[axis] - 1) * steps[-1] + 1 if stride else 1)
        inside *= extent
    start = (0,) * len(limit)
    return {"start": start, "limit": tuple(limit[::-1]), "strides": tuple(steps[::-1])}


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
