"""Loops and branches: rows that apply the graphs in their params as often as values decide.

    cond       operands (index, *operands)
    while      operands (*consts, *carry)
    fori_loop  operands (lower, upper, *consts, *carry)
    scan       operands (*consts, *carry, *xs)

The carry is what an iteration hands to the next one; consts are the same in all iterations. The
graphs capture nothing: what a body reads of its surroundings is an operand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from transpile.ir.graph import Graph
from transpile.ir.primitive import Primitive, register
from transpile.ir.types import BOOL, ArrayType
from transpile.primitives.control import dead_results as narrow
from transpile.primitives.control import jvp as derivatives
from transpile.primitives.control import partial_eval as parts
from transpile.primitives.control import transpose as transposes
from transpile.primitives.control import vmap as batches
from transpile.transforms.interpret import Interpreter

Types = tuple[ArrayType, ...]


def _check_inputs(what: str, graph: Graph, types: Sequence[ArrayType]) -> None:
    """Raise a TypeError unless a graph takes values of these types."""
    expected = [v.type.strong for v in graph.inputs]
    found = [t.strong for t in types]
    if found != expected:
        raise TypeError(f"the {what} takes {_listed(expected)}, not {_listed(found)}")


def _check_carry(what: str, graph: Graph, carry: Sequence[ArrayType], results: int) -> None:
    """Raise a TypeError unless the first results of a graph have the types of the carry."""
    if len(graph.outputs) < len(carry) or (not results and len(graph.outputs) > len(carry)):
        raise TypeError(f"the {what} gives {len(graph.outputs)} values for a carry of {len(carry)}")
    expected = [t.strong for t in carry]
    found = [a.type.strong for a in graph.outputs[: len(carry)]]
    if found != expected:
        raise TypeError(f"the {what} takes a carry of {_listed(expected)}, gives {_listed(found)}")


def _listed(types: Sequence[ArrayType]) -> str:
    return f"({', '.join(map(str, types))})"


def _results(graph: Graph, count: int) -> Types:
    """The types of a carry, as the body gives it: that of a Python number stays weak."""
    return tuple(a.type for a in graph.outputs[:count])


# ------------------------------------------------------------------------------------------- cond


def _cond_type(index: ArrayType, *operands: ArrayType, branches: tuple[Graph, ...]) -> Types:
    if index.shape or index.dtype.kind not in "biu":
        raise TypeError(f"the index of a branch is a bool or an integer, not {index}")
    if not branches:
        raise TypeError("there is no branch")
    first = [a.type.strong for a in branches[0].outputs]
    for number, branch in enumerate(branches):
        _check_inputs(f"branch {number}", branch, operands)
        found = [a.type.strong for a in branch.outputs]
        if found != first:
            raise TypeError(
                f"branch 0 gives {_listed(first)}, and branch {number} {_listed(found)}"
            )
    columns = zip(*[[a.type for a in b.outputs] for b in branches], strict=True)
    return tuple(c[0] if all(t.weak for t in c) else c[0].strong for c in columns)


def _cond_value(index: Any, *operands: Any, branches: tuple[Graph, ...]) -> list[Any]:
    chosen = min(max(int(index), 0), len(branches) - 1)
    return Interpreter(branches[chosen])(operands)


# The index: a bool, of which False is branch 0, or an integer, clamped to the branches there are.
cond = register(
    Primitive(
        "cond",
        "control",
        _cond_value,
        _cond_type,
        jvp=derivatives.cond_jvp,
        transpose=transposes.cond_transpose,
        batch=batches.cond_batch,
        split=parts.cond_split,
        narrow=narrow.cond_narrow,
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
    goes_on, once = Interpreter(condition), Interpreter(body)
    fixed, carry = list(values[:consts]), list(values[consts:])
    while goes_on([*fixed, *carry])[0]:
        carry = once([*fixed, *carry])
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
        split=parts.while_split,
        narrow=narrow.while_narrow,
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
    once, fixed, carry = Interpreter(graph), list(values[:consts]), list(values[consts:])
    for i in range(int(lower), int(upper)):
        carry = once([i, *fixed, *carry])
    return _copies(carry)


# A loop whose bounds are known at run time only; graph: (i, *consts, *carry) -> carry.
fori_loop = register(
    Primitive(
        "fori_loop",
        "control",
        _fori_value,
        _fori_type,
        jvp=derivatives.fori_jvp,
        transpose=transposes.refuse_reverse,
        batch=batches.fori_batch,
        split=parts.fori_split,
        narrow=narrow.fori_narrow,
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
    once, fixed = Interpreter(graph), list(values[:consts])
    state, xs = list(values[consts : consts + carry]), values[consts + carry :]
    kinds = [a.type for a in graph.outputs[carry:]]
    ys = [np.empty((length, *k.static_shape()), k.dtype) for k in kinds]
    for i in steps(length, reverse):
        results = once([*fixed, *state, *[x[i] for x in xs]])
        state = results[:carry]
        for y, found in zip(ys, results[carry:], strict=True):
            y[i] = found
    return [*_copies(state), *ys]


def steps(length: int, reverse: bool) -> Iterator[int]:
    """The places of a scan, in the order in which it goes to them."""
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
        split=parts.scan_split,
        narrow=narrow.scan_narrow,
    )
)
