"""`custom_linear_solve`: a user's solver of A x = b with implicit derivatives.

The tangent of x is the solution for the right side db - dA x; the cotangent of b is the solution of
the transposed system. The solver itself is never differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transpile.ir.graph import Graph
from transpile.ir.primitive import Axis, Linear, Primitive, register
from transpile.ir.source_info import user_source
from transpile.ir.types import ArrayType, type_of
from transpile.primitives.control.calls import Flags, Values, call_type, call_value
from transpile.primitives.control.graphs import Outputs, cached_batch, split_list
from transpile.primitives.rules import bind_call, with_batch_axis, zeros
from transpile.transforms.jvp import push

Parts = tuple[list[Any], list[bool]]


def _solve(
    operands: Values, graph: Graph, matvec: Graph, vecmat: Any, transpose_solve: Any, consts: int
) -> list[Any]:
    return bind_call(
        custom_linear_solve,
        *operands,
        graph=graph,
        matvec=matvec,
        vecmat=vecmat,
        transpose_solve=transpose_solve,
        consts=consts,
    )


def _jvp(
    tangents: Values, *operands: Any, matvec: Graph, consts: int, **params: Any
) -> tuple[list[Any], list[Any]]:
    """A dx = db - dA x, where dA follows from the tangents of the consts of `matvec`."""
    results = _solve(operands, matvec=matvec, consts=consts, **params)
    fixed = operands[:consts]
    of_consts, right = split_list(tangents, consts)
    count = len(right)
    if any(t is not None for t in of_consts):
        matvec_tangents = [*of_consts, *[None] * count]
        _, changes = push(matvec, [*fixed, *results[:count]], matvec_tangents)
        right = [_difference(b, t) for b, t in zip(right, changes, strict=True)]
    if all(t is None for t in right):
        return results, [None] * len(results)
    kinds = [type_of(x).strong for x in operands[consts:]]
    right = [zeros(kind) if t is None else t for t, kind in zip(right, kinds, strict=True)]
    dx = _solve([*fixed, *right], matvec=matvec, consts=consts, **params)
    return results, [*dx[:count], *[None] * (len(results) - count)]


def _difference(x: Any, y: Any) -> Any:
    if y is None:
        return x
    return -y if x is None else x - y


def _transpose(
    cotangents: Values,
    *operands: Any,
    graph: Graph,
    matvec: Graph,
    vecmat: Graph | None,
    transpose_solve: Graph | None,
    consts: int,
) -> list[Any]:
    """The solution of the transposed system."""
    if transpose_solve is None or vecmat is None:
        raise TypeError(
            f"{user_source()}: transpose_solve required for backwards mode automatic "
            f"differentiation of custom_linear_solve"
        )
    fixed, right = split_list(operands, consts)
    if any(isinstance(x, Linear) for x in fixed):
        raise NotImplementedError(
            f"{user_source()}: there is no transpose of custom_linear_solve in the values that its "
            f"matvec closes over: the solution is not linear in these"
        )
    kinds: list[ArrayType] = [x.type if isinstance(x, Linear) else type_of(x).strong for x in right]
    right_ct = [
        zeros(kind) if c is None else c
        for c, kind in zip(cotangents[: len(right)], kinds, strict=True)
    ]
    solution = _solve([*fixed, *right_ct], transpose_solve, vecmat, matvec, graph, consts)
    return [None] * consts + solution[: len(right)]


def _batch(
    axis: Axis,
    batched: Flags,
    *operands: Any,
    graph: Graph,
    matvec: Graph,
    vecmat: Graph | None,
    transpose_solve: Graph | None,
    consts: int,
) -> Parts:
    """One solve of all systems: right sides and solutions are batched."""
    fixed, right = split_list(operands, consts)
    flags = [*batched[:consts], *[True] * len(right)]

    def on_batches(part: Graph | None) -> Graph | None:
        return None if part is None else _batched(part, axis, flags)

    solve = _batched(graph, axis, flags)
    results = _solve(
        [
            *fixed,
            *[with_batch_axis(x, axis, b) for x, b in zip(right, batched[consts:], strict=True)],
        ],
        solve,
        _batched(matvec, axis, flags),
        on_batches(vecmat),
        on_batches(transpose_solve),
        consts,
    )
    return results, [True] * len(results)


def _batched(graph: Graph, axis: Axis, batched: Sequence[bool]) -> Graph:
    """The graph on batches, with all results batched."""
    closed, flags = cached_batch(graph, axis, batched)
    assert not closed.captured
    outputs = Outputs(closed.graph)
    results = [
        a if is_batched else outputs.batched(a, axis)
        for a, is_batched in zip(closed.graph.outputs, flags, strict=True)
    ]
    return outputs.finish(closed.graph.inputs, results)


# Operands: (*consts, *b). `graph` solves: (*consts, *b) -> (*x, *further results); `matvec` is A:
# (*consts, *x) -> b; `vecmat` and `transpose_solve` are these for the transposed system, or None.
custom_linear_solve = register(
    Primitive(
        "custom_linear_solve",
        "call",
        call_value,
        call_type,
        jvp=_jvp,
        transpose=_transpose,
        batch=_batch,
    )
)
