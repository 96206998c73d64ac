"""Structured control flow: `cond`, `while`, `fori_loop` and `scan`, whose regions are graphs in
their params.

    cond       operands (index, *operands)
    while      operands (*consts, *carry)
    fori_loop  operands (lower, upper, *consts, *carry)
    scan       operands (*consts, *carry, *xs)

The carry is passed from an iteration to the next; consts are loop-invariant; an iteration of a scan
reads a slice of each xs, and its other results are stacked. Regions are closed: the values that a
body reads from its surroundings are operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from transpile.ir.graph import Graph
from transpile.ir.primitive import Primitive, register
from transpile.ir.types import BOOL, ArrayType
from transpile.primitives.control import dead_results
from transpile.primitives.control import jvp as derivatives
from transpile.primitives.control import partial_eval as parts
from transpile.primitives.control import transpose as transposes
from transpile.primitives.control import vmap as batches
from transpile.primitives.effects import checks
from transpile.transforms.interpret import Interpreter

Types = tuple[ArrayType, ...]


def _check_inputs(what: str, graph: Graph, types: Sequence[ArrayType]) -> None:
    """Raise a TypeError unless a graph takes values of these types."""
    expected = [v.type.strong for v in graph.inputs]
    given = [t.strong for t in types]
    if given != expected:
        raise TypeError(f"the {what} takes {_listed(expected)}, not {_listed(given)}")


def _check_carry(what: str, graph: Graph, carry: Sequence[ArrayType], results: int) -> None:
    """Raise a TypeError unless the first results of a graph have the types of the carry."""
    if len(graph.outputs) < len(carry) or (not results and len(graph.outputs) > len(carry)):
        raise TypeError(f"the {what} gives {len(graph.outputs)} values for a carry of {len(carry)}")
    expected = [t.strong for t in carry]
    given = [a.type.strong for a in graph.outputs[: len(carry)]]
    if given != expected:
        raise TypeError(f"the {what} takes a carry of {_listed(expected)}, gives {_listed(given)}")


def _listed(types: Sequence[ArrayType]) -> str:
    return f"({', '.join(map(str, types))})"


def _results(graph: Graph, count: int) -> Types:
    """The types of the carry that a body returns; weak types stay weak."""
    return tuple(a.type for a in graph.outputs[:count])


# ------------------------------------------------------------------------------------------- cond


def _cond_type(index: ArrayType, *operands: ArrayType, branches: tuple[Graph, ...]) -> Types:
    if index.shape or index.dtype.kind not in "biu":
        raise TypeError(f"the index of a branch is a bool or an integer, not {index}")
    if not branches:
        raise TypeError("a cond needs at least one branch")
    first = [a.type.strong for a in branches[0].outputs]
    for number, branch in enumerate(branches):
        _check_inputs(f"branch {number}", branch, operands)
        given = [a.type.strong for a in branch.outputs]
        if given != first:
            raise TypeError(
                f"branch 0 gives {_listed(first)}, and branch {number} {_listed(given)}"
            )
    columns = zip(*[[a.type for a in b.outputs] for b in branches], strict=True)
    return tuple(c[0] if all(t.weak for t in c) else c[0].strong for c in columns)


def _cond_value(index: Any, *operands: Any, branches: tuple[Graph, ...]) -> list[Any]:
    chosen = min(max(int(index), 0), len(branches) - 1)
    return Interpreter(branches[chosen])(operands)


# The index is a bool, of which False is branch 0, or an integer, which is clamped.
cond = register(
    Primitive(
        "cond",
        "control",
        _cond_value,
        _cond_type,
        jvp=derivatives.cond_jvp,
        transpose=transposes.cond_transpose,
        batch=batches.cond_batch,
        partial_eval=parts.cond_partial_eval,
        dce=dead_results.cond_dce,
        checked=checks.cond_checked,
    )
)


# ------------------------------------------------------------------------------------------ while


def _while_type(*types: ArrayType, condition: Graph, body: Graph, consts: int) -> Types:
    carry = types[consts:]
    _check_inputs("condition", condition, types)
    _check_inputs("body", body, types)
    _check_carry("body", body, carry, 0)
    if [a.type.strong for a in condition.outputs] != [ArrayType((), BOOL)]:
        raise TypeError(
            f"the condition gives {_listed([a.type for a in condition.outputs])}, not one bool"
        )
    return _results(body, len(carry))


def _while_value(*values: Any, condition: Graph, body: Graph, consts: int) -> list[Any]:
    test, step = Interpreter(condition), Interpreter(body)
    fixed, carry = list(values[:consts]), list(values[consts:])
    while test([*fixed, *carry])[0]:
        carry = step([*fixed, *carry])
    return _copies(carry)


def _copies(values: Sequence[Any]) -> list[Any]:
    return [np.array(x) for x in values]


# condition: (*consts, *carry) -> bool; body: (*consts, *carry) -> carry.
while_ = register(
    Primitive(
        "while",
        "control",
        _while_value,
        _while_type,
        jvp=derivatives.while_jvp,
        transpose=transposes.refuse_reverse,
        batch=batches.while_batch,
        partial_eval=parts.while_partial_eval,
        dce=dead_results.while_dce,
        checked=checks.while_checked,
    )
)


# -------------------------------------------------------------------------------------- fori_loop


def _fori_type(
    lower: ArrayType, upper: ArrayType, *types: ArrayType, graph: Graph, consts: int
) -> Types:
    if lower.shape or upper.shape or lower.dtype != upper.dtype or lower.dtype.kind not in "iu":
        raise TypeError(f"the bounds of a loop are integers of one type, not {lower} and {upper}")
    _check_inputs("body", graph, (lower, *types))
    _check_carry("body", graph, types[consts:], 0)
    return _results(graph, len(types) - consts)


def _fori_value(lower: Any, upper: Any, *values: Any, graph: Graph, consts: int) -> list[Any]:
    step, fixed, carry = Interpreter(graph), list(values[:consts]), list(values[consts:])
    for i in range(int(lower), int(upper)):
        carry = step([i, *fixed, *carry])
    return _copies(carry)


# A counted loop with bounds that are values; graph: (i, *consts, *carry) -> carry.
fori_loop = register(
    Primitive(
        "fori_loop",
        "control",
        _fori_value,
        _fori_type,
        jvp=derivatives.fori_jvp,
        transpose=transposes.refuse_reverse,
        batch=batches.fori_batch,
        partial_eval=parts.fori_partial_eval,
        dce=dead_results.fori_dce,
        checked=checks.fori_checked,
    )
)


# ------------------------------------------------------------------------------------------- scan


def _scan_type(
    *types: ArrayType, graph: Graph, consts: int, carry: int, length: int, reverse: bool
) -> Types:
    xs = types[consts + carry :]
    for x in xs:
        if not x.shape or x.shape[0] != length:
            raise TypeError(f"a scan of length {length} goes over the first axis, not over {x}")
    slices = [x.with_shape(x.shape[1:]) for x in xs]
    _check_inputs("body", graph, (*types[: consts + carry], *slices))
    _check_carry("body", graph, types[consts : consts + carry], len(graph.outputs))
    ys = [a.type for a in graph.outputs[carry:]]
    return _results(graph, carry) + tuple(y.with_shape((length, *y.shape)) for y in ys)


def _scan_value(
    *values: Any, graph: Graph, consts: int, carry: int, length: int, reverse: bool
) -> list[Any]:
    step, fixed = Interpreter(graph), list(values[:consts])
    state, xs = list(values[consts : consts + carry]), values[consts + carry :]
    kinds = [a.type for a in graph.outputs[carry:]]
    ys = [np.empty((length, *k.static_shape()), k.dtype) for k in kinds]
    for i in iterations(length, reverse):
        results = step([*fixed, *state, *[x[i] for x in xs]])
        state = results[:carry]
        for y, element in zip(ys, results[carry:], strict=True):
            y[i] = element
    return [*_copies(state), *ys]


def iterations(length: int, reverse: bool) -> Iterator[int]:
    """The indices of a scan's iterations, in order of execution."""
    return iter(reversed(range(length)) if reverse else range(length))


# graph: (*consts, *carry, *x) -> (*carry, *y); `carry` says how many values the carry has.
scan = register(
    Primitive(
        "scan",
        "control",
        _scan_value,
        _scan_type,
        jvp=derivatives.scan_jvp,
        transpose=transposes.scan_transpose,
        batch=batches.scan_batch,
        partial_eval=parts.scan_partial_eval,
        dce=dead_results.scan_dce,
        checked=checks.scan_checked,
    )
)
