"""From a graph to a module: calls inlined, what XLA has no instruction for expanded, an instruction
or a few for each equation."""

from __future__ import annotations

from collections.abc import Sequence

from transpile.errors import UnsupportedError
from transpile.hlo.builder import Builder, Shared
from transpile.hlo.devices.shardings import Sharding, of_tuple
from transpile.hlo.expand import expanded
from transpile.hlo.module import Instruction, Module
from transpile.hlo.rules import rule_of
from transpile.ir.graph import Atom, Equation, Graph, Var
from transpile.ir.graph_rewrite import all_counted
from transpile.ir.primitive import Axis
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Devices:
    """What a module is for: the axes of its replicas, and how its parameters and results are cut
    into parts; None where they are not."""

    axes: tuple[Axis, ...] = ()
    of_inputs: tuple[Sharding, ...] | None = None
    of_outputs: tuple[Sharding, ...] | None = None


def module_of(
    graph: Graph,
    name: str,
    donated: Sequence[int] = (),
    *,
    tuple_args: bool = False,
    devices: Devices = Devices(),  # noqa: B008  # frozen
) -> Module:
    """The module of a graph: its entry takes the inputs one by one, or as one tuple, and gives a
    tuple.

    `donated` are the inputs whose memory outputs may take. Raises UnsupportedError for sizes
    that are known at run time.
    """
    for var in graph.inputs:
        if not all(isinstance(d, int) for d in var.type.shape):
            raise UnsupportedError(
                f"HLO has no sizes that are known at run time, but {var.name or 'an argument'} of "
                f"{name} is {var.type}: give example arguments of known shapes"
            )
    for length in all_counted(graph):
        raise UnsupportedError(
            f"shapes of HLO are known, but {length} in {name} depends on values: "
            "numpy.where(mask, x, 0) keeps the shape of x, and size= gives a length"
        )
    shared = Shared.new(_emit, devices.axes)
    builder = Builder(shared, name)
    types = tuple(v.type.strong for v in graph.inputs)
    cut = devices.of_inputs
    if tuple_args:
        parameters = builder.elements(builder.parameter(types, **of_tuple(cut)))
    else:
        attributes = [{} if cut is None else {"sharding": cut[k]} for k in range(len(types))]
        parameters = [builder.parameter(t, **a) for t, a in zip(types, attributes, strict=True)]
    results = builder.emit(graph, parameters)
    builder.finish(builder.tuple(results, **of_tuple(devices.of_outputs)))
    aliases = _aliases(graph, donated)
    return Module(name, tuple(shared.finished), aliases, is_tuple=tuple_args)


def _aliases(graph: Graph, donated: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Each donated input with the first output of its type that no other has taken."""
    free = list(range(len(graph.outputs)))
    pairs: list[tuple[int, int]] = []
    for position in donated:
        kind = graph.inputs[position].type.strong
        for output in free:
            if graph.outputs[output].type.strong == kind:
                pairs.append((output, position))
                free.remove(output)
                break
    return tuple(sorted(pairs))


def _emit(b: Builder, graph: Graph, operands: Sequence[Instruction]) -> list[Instruction]:
    """The results of a graph as instructions of a computation."""
    graph = expanded(graph)
    values: dict[Atom, Instruction] = dict(zip(graph.inputs, operands, strict=True))

    def read(atom: Atom) -> Instruction:
        return values[atom] if isinstance(atom, Var) else b.constant(atom.value)

    for equation in graph.equations:
        b.source = equation.source
        found = _rule(b, equation, [read(a) for a in equation.inputs])
        values.update(zip(equation.outputs, found, strict=True))
    return [read(a) for a in graph.outputs]


def _rule(b: Builder, equation: Equation, operands: list[Instruction]) -> Sequence[Instruction]:
    rule = rule_of(equation.primitive)
    if rule is None:
        name = equation.primitive.name
        raise UnsupportedError(f"{equation.source}: HLO has no instruction for {name}")
    if equation.primitive.kind == "elementwise":
        shape = equation.output.type.shape
        operands = [x if x.shape == shape else b.broadcast(x, shape, ()) for x in operands]
    result = rule(b, equation, *operands)
    return [result] if isinstance(result, Instruction) else result
