"""A module's computations as graphs, callees first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile.errors import HloError, TranspileError
from transpile.functional.flatten_fun import value_type
from transpile.hlo.module import Computation, Instruction, Type, called
from transpile.hlo.parse.assemble import Parsed
from transpile.hlo_import.context import Call, flat, literal
from transpile.hlo_import.rules import RULES
from transpile.hlo_import.rules.control import nested
from transpile.hlo_import.same_functions import simplified
from transpile.hlo_import.threefry import drawn_by_threefry, with_whole_numbers
from transpile.ir.graph import UNKNOWN_SOURCE, Graph, Var
from transpile.ir.types import ArrayType
from transpile.trace.trace import the_trace
from transpile.transforms.closed import close

# What rules raise about operands and attributes that do not fit.
_ERRORS = (
    TranspileError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    TypeError,
    ValueError,
)


def array_types(kind: Type) -> list[ArrayType]:
    """The arrays of a type."""
    return flat([_listed(kind)])


def _listed(kind: Type) -> Any:
    return kind if isinstance(kind, ArrayType) else [_listed(k) for k in kind]


def graph_of(parsed: Parsed) -> Graph:
    """The graph of the entry of a module.

    Raises HloError for instructions that have no meaning here, and for those whose operands or
    results are not what they should be; the message says where.
    """
    graphs: dict[Computation, Graph] = {}
    needed = _needed(parsed.module.entry)
    for computation in parsed.module.computations:
        if computation in needed:
            graphs[computation] = _graph(computation, parsed, graphs)
    return graphs[parsed.module.entry]


def _needed(entry: Computation) -> set[Computation]:
    """The computations that are reached from the entry."""
    found, stack = {entry}, [entry]
    while stack:
        for instruction in stack.pop().instructions:
            for computation in called(instruction):
                if computation not in found:
                    found.add(computation)
                    stack.append(computation)
    return found


def _graph(computation: Computation, parsed: Parsed, graphs: dict[Computation, Graph]) -> Graph:
    """The graph of a computation: its parameters are inputs, tuples as their parts."""
    parameters = computation.parameters
    types = [t for p in parameters for t in array_types(p.type)]
    name = computation.name

    def run(*inputs: Any) -> list[Any]:
        given = iter(inputs)
        values: dict[Instruction, Any] = {}
        for p in parameters:
            count = len(array_types(p.type))
            values[p] = nested([next(given) for _ in range(count)], p.type)
        for instruction in computation.instructions:
            if instruction not in values:
                values[instruction] = _value(instruction, values, parsed, graphs)
        return flat([values[computation.root]])

    inputs = [Var(t.strong) for t in types]
    closed = close(run, inputs, name=name, source=UNKNOWN_SOURCE)
    if closed.captured:
        raise HloError(f"the computation {name} reads values of another one")
    return with_whole_numbers(drawn_by_threefry(simplified(closed.graph)))


def _value(
    instruction: Instruction,
    values: dict[Instruction, Any],
    parsed: Parsed,
    graphs: dict[Computation, Graph],
) -> Any:
    """The value of an instruction, which has its type."""
    opcode = instruction.opcode
    where = parsed.where.get(instruction, "")
    place = f"{where}: " if where else f"{instruction.name}: "
    if opcode == "constant":
        return literal(instruction.literal)
    rule = RULES.get(opcode)
    if rule is None:
        raise HloError(f"{place}the instruction {opcode} is not supported")
    operands = [values[o] for o in instruction.operands]
    with the_trace().at(instruction.source):
        try:
            value = rule(Call(instruction, graphs), *operands)
        except HloError as problem:
            raise HloError(f"{place}{problem}") from problem
        except _ERRORS as problem:
            raise HloError(f"{place}{opcode}: {_shortened(problem)}") from problem
    _check(instruction, value, place)
    return value


def _shortened(problem: BaseException) -> str:
    """The message of an error, without the place that traced code gives it."""
    text = str(problem) or type(problem).__name__
    return text.split(": ", 1)[-1] if text.startswith(("<", "File")) else text


def _check(instruction: Instruction, value: Any, place: str) -> None:
    """Raise an error unless a value has the type of its instruction."""
    found = [_type(v) for v in flat([value])]
    expected = array_types(instruction.type)
    if isinstance(value, list) != isinstance(instruction.type, tuple) or found != [
        t.strong for t in expected
    ]:
        raise HloError(
            f"{place}{instruction.opcode}: the result is {_text(found)}, not {_text(expected)}"
        )


def _type(value: Any) -> ArrayType:
    if isinstance(value, np.ndarray | np.generic):
        return ArrayType(value.shape, value.dtype)
    return value_type(value).strong


def _text(types: Sequence[ArrayType]) -> str:
    return ", ".join(map(str, types)) if len(types) == 1 else f"({', '.join(map(str, types))})"
