"""Transpose rules of loops and branches.

The transpose of a linear scan is a scan in reverse, whose carry is the cotangent of the carry;
cotangents of xs are stacked, those of consts accumulated in the carry (sparse ones in place, by the
`accumulate` rules). A sum over iterations of matrix products is instead computed after the scan, as
one product that also contracts the iterations, if its factors fit in the memory of what the scan
reads; so are sums of values that are stacked anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, NoReturn

from transpile.ir.dims import Index
from transpile.ir.graph import Atom, Equation, Graph, Var
from transpile.ir.indices.estimates import estimate
from transpile.ir.indices.lengths import lengths_of
from transpile.ir.indices.requirements import is_at_most
from transpile.ir.primitive import Linear
from transpile.ir.source_info import user_source
from transpile.ir.types import ArrayType
from transpile.primitives.control.dead_results import restricted
from transpile.primitives.control.graphs import (
    Flags,
    Outputs,
    Values,
    cached_transpose,
    chosen,
    filled,
    fixpoint,
    named_primitive,
    others,
    split_list,
    with_captures,
    with_zeros,
)
from transpile.primitives.rules import apply, bind_call, zeros
from transpile.trace.trace import the_trace
from transpile.transforms.closed import Closed, close
from transpile.transforms.closed import apply as applied
from transpile.transforms.transpose import added

# A product that contracts more elements gains nothing from a further contracted axis.
LONG_CONTRACTION = 16
# The least ratio of the size of a product to that of the factors which are stacked for it.
WORTH_STACKING = 4


def _flags(cotangents: Values) -> list[bool]:
    return [c is not None for c in cotangents]


def _present(values: Values) -> list[Any]:
    return [x for x in values if x is not None]


def _is_linear(operands: Values) -> list[bool]:
    return [isinstance(x, Linear) for x in operands]


def _cotangents_for(kinds: Sequence[ArrayType], cotangents: Values, flags: Flags) -> list[Any]:
    """The marked cotangents, with zeros for None."""
    pairs = chosen(zip(kinds, cotangents, strict=True), flags)
    return [zeros(kind) if c is None else c for kind, c in pairs]


def scan_transpose(
    cotangents: Values,
    *operands: Any,
    graph: Graph,
    consts: int,
    carry: int,
    length: int,
    reverse: bool,
) -> list[Any]:
    """A scan in reverse."""
    fixed, initial, xs = split_list(operands, consts, carry)
    # All carries are linear: one whose initial value is not starts from zero.
    linear = [*_is_linear(fixed), *[True] * carry, *_is_linear(xs)]
    carry_cts, ys_cts = split_list(cotangents, carry)
    given = _flags(ys_cts)

    def of_carry(flags: list[bool]) -> Flags:
        has_cotangent = filled(cached_transpose(graph, linear, [*flags, *given])[1], linear, False)
        return has_cotangent[consts : consts + carry]

    marks = fixpoint(of_carry, _flags(carry_cts))
    closed, flags = cached_transpose(graph, linear, [*marks, *given])
    has = filled(flags, linear, False)
    if not any(has):
        return [None] * len(operands)
    body = _ReverseBody(closed, graph, linear, marks, has, consts)
    results = bind_call(
        named_primitive("scan"),
        *closed.captured,
        *others(fixed, _is_linear(fixed)),
        *[zeros(v.type) for v in body.sums],
        *_cotangents_for(body.kinds[consts : consts + carry], carry_cts, marks),
        *others(xs, _is_linear(xs)),
        *_present(ys_cts),
        graph=body.graph(),
        consts=len(closed.captured) + consts - sum(linear[:consts]),
        carry=len(body.sums) + sum(marks),
        length=length,
        reverse=not reverse,
    )
    counts = len(body.sums), sum(marks), len(body.xs_cts)
    sums, initial_cts, xs_cts, factors = split_list(results, *counts)
    of_consts = body.of_consts(sums, factors, others(xs, _is_linear(xs)))
    has_const, _, has_x = split_list(has, consts, carry)
    of_initial = [
        c if isinstance(x, Linear) else None
        for c, x in zip(filled(initial_cts, marks), initial, strict=True)
    ]
    return [*filled(of_consts, has_const), *of_initial, *filled(xs_cts, has_x)]


class _ReverseBody:
    """The body of the reverse scan, from the transpose of the forward body.

    backward   the transpose of the body; its outputs are
    const_cts, carry_cts, xs_cts   the cotangents of consts, carry and xs
    kinds      the types of the cotangents of the inputs of the body
    products   for each const the equation whose sum over iterations is computed after the scan,
               None where the scan accumulates it
    sums       the accumulators of the latter
    stacks     the operands of the former that the scan stacks
    """

    def __init__(
        self,
        closed: Closed,
        body: Graph,
        linear: Flags,
        marks: Flags,
        has: Flags,
        consts: int,
    ) -> None:
        carry = len(marks)
        self.backward, self.marks = closed.graph, list(marks)
        self.kinds = [v.type.strong for v in body.inputs]
        self.carried = self.kinds[consts : consts + carry]
        self.inputs = split_list(
            closed.graph.inputs,
            len(closed.captured),
            consts - sum(linear[:consts]),
            len(linear) - consts - carry - sum(linear[consts + carry :]),
            sum(marks),
        )
        self.xs: list[Var] = self.inputs[2]
        has_const, self.has_carry, _ = split_list(has, consts, carry)
        parts = split_list(closed.graph.outputs, sum(has_const), sum(self.has_carry))
        self.const_cts, self.carry_cts, self.xs_cts = parts
        self.products = self._products()
        factors = [a for e in self.products if e is not None for a in e.inputs]
        self.stacks = [a for a in dict.fromkeys(factors) if a not in self.xs]
        pairs = zip(self.const_cts, self.products, strict=True)
        self.sums = [Var(part.type.strong) for part, product in pairs if product is None]

    def _products(self) -> list[Equation | None]:
        """The equations that are computed after the scan, by a fixpoint: operands that are stacked
        for one of them are free for the others."""
        producers = {v: e for e in self.backward.equations for v in e.outputs}
        room = _bytes(self.xs)
        stacked: set[Atom] = set(self.xs)
        products: list[Equation | None] = [None] * len(self.const_cts)
        is_changed = True
        while is_changed:
            is_changed = False
            for position, part in enumerate(self.const_cts):
                equation = producers.get(part) if isinstance(part, Var) else None
                if equation is None or products[position] is not None:
                    continue
                if _is_worth_stacking(equation, stacked, room):
                    further = [a for a in equation.inputs if a not in stacked]
                    room -= _bytes(further)
                    stacked.update(further)
                    products[position] = equation
                    is_changed = True
        return products

    def graph(self) -> Graph:
        """(*consts, *sums, *cotangents of the carry, *xs, *cotangents of ys) -> (*sums,
        *cotangents of the carry before it, *cotangents of xs, *stacks)."""
        captured, consts, xs, carry_cts, ys_cts = self.inputs
        everything = (*self.backward.outputs, *self.stacks)
        source = Outputs(self.backward).finish(self.backward.inputs, everything)

        def on_values(*values: Any) -> list[Any]:
            first, sums, rest = split_list(values, len(captured) + len(consts), len(self.sums))
            with the_trace().at(self.backward.source):
                carry_values, xs_values, ys_values = split_list(rest, len(carry_cts), len(xs))
                results = applied(source, [*first, *xs_values, *carry_values, *ys_values])
                counts = len(self.const_cts), len(self.carry_cts)
                const_cts, carry_out, further = split_list(results, *counts)
                summed = [p for p, e in zip(const_cts, self.products, strict=True) if e is None]
                totals = [added(x, y) for x, y in zip(sums, summed, strict=True)]
                carried = with_zeros(
                    filled(carry_out, self.has_carry), self.carried, self.marks, zeros
                )
            return [*totals, *carried, *further]

        inputs = [*captured, *consts, *self.sums, *carry_cts, *xs, *ys_cts]
        closed = close(on_values, inputs, name=self.backward.name, source=self.backward.source)
        return restricted(closed.graph, closed.graph.inputs, closed.graph.outputs)

    def of_consts(self, sums: Values, factors: Values, xs: Values) -> list[Any]:
        """The cotangents of consts: the accumulated sums, and the products over all iterations."""
        given = iter(sums)
        values: dict[Atom, Any] = dict(zip(self.stacks, factors, strict=True))
        values.update(zip(self.xs, xs, strict=True))
        return [
            next(given) if equation is None else _product(equation, values)
            for equation in self.products
        ]


def _bytes(atoms: Sequence[Atom]) -> Index:
    return sum(a.type.size * a.type.dtype.itemsize for a in atoms)


def _likely(extents: Iterable[Index]) -> int:
    """The product of extents. A runtime size counts as one for which stacking still pays: a product
    in each iteration costs as much for few rows as for many, a stack as much as its rows."""
    return prod(d if isinstance(d, int) else min(estimate(d), LONG_CONTRACTION) for d in extents)


def _is_worth_stacking(equation: Equation, stacked: set[Atom], room: Index) -> bool:
    """True if the sum over iterations of this equation's result is worth computing after the scan:
    a matrix product, much larger than the factors still to be stacked, which take at most `room`
    bytes; or a sum of stacked values."""
    inputs = equation.inputs
    if not all(isinstance(a, Var) and not any(map(lengths_of, a.type.shape)) for a in inputs):
        return False
    if equation.primitive.name == "reduce_sum":
        return stacked.issuperset(inputs)
    if equation.primitive.name != "dot_general":
        return False
    shape = inputs[0].type.shape
    (contracted, _), _ = equation.params["dimension_numbers"]
    further = [a for a in inputs if a not in stacked]
    return (
        _likely(shape[a] for a in contracted) <= LONG_CONTRACTION
        and sum(_likely(a.type.shape) for a in further) * WORTH_STACKING
        <= _likely(equation.output.type.shape)
        and is_at_most(_bytes(further), room)
    )


def _product(equation: Equation, values: dict[Atom, Any]) -> Any:
    """The sum over iterations of a product or sum, from the stacks of its operands."""
    if equation.primitive.name == "reduce_sum":
        (x,) = (values[a] for a in equation.inputs)
        of_iterations = apply("reduce_sum", x, axes=tuple(a + 1 for a in equation.params["axes"]))
        return apply("reduce_sum", of_iterations, axes=(0,))
    (left, right), (of_left, of_right) = equation.params["dimension_numbers"]
    contracted = tuple((0, *(a + 1 for a in axes)) for axes in (left, right))
    batched = tuple(tuple(a + 1 for a in axes) for axes in (of_left, of_right))
    x, y = (values[a] for a in equation.inputs)
    params = {**equation.params, "dimension_numbers": (contracted, batched)}
    return apply("dot_general", x, y, **params)


def cond_transpose(
    cotangents: Values, index: Any, *operands: Any, branches: tuple[Graph, ...]
) -> list[Any]:
    """A branch to the transposes of the branches."""
    linear, given = _is_linear(operands), _flags(cotangents)
    transposed = [cached_transpose(branch, linear, given) for branch in branches]
    marks = [any(column) for column in zip(*[flags for _, flags in transposed], strict=True)]
    if not any(marks):
        return [None] * (1 + len(operands))
    graphs, captured = with_captures([closed for closed, _ in transposed])
    kinds = [v.type.strong for v in chosen(branches[0].inputs, linear)]
    regions = []
    for graph, (_, flags) in zip(graphs, transposed, strict=True):
        outputs = Outputs(graph)
        cotangents_out = with_zeros(filled(graph.outputs, flags), kinds, marks, outputs.zeros)
        regions.append(outputs.finish(graph.inputs, cotangents_out))
    results = bind_call(
        named_primitive("cond"),
        index,
        *captured,
        *others(operands, linear),
        *_present(cotangents),
        branches=tuple(regions),
    )
    return [None, *filled(filled(results, marks), linear)]


def refuse_reverse(*_: Any, **__: Any) -> NoReturn:
    """Raise the ValueError for the transpose of a loop without a static trip count."""
    raise ValueError(
        f"{user_source()}: Reverse-mode differentiation does not work for lax.while_loop or "
        f"lax.fori_loop with dynamic start/stop values. Try using lax.scan, or using fori_loop "
        f"with static start/stop. A `while` of Python's, and a `for` whose number of iterations is "
        f"traced, need a bound here: `while k < 100 and ...` with `k += 1` in each iteration, or "
        f"`for k in range(100)` with `break`."
    )
