"""The computation that `xla_computation` gives: a module, and what others read of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transpile import tree
from transpile.hlo.devices.named_shapes import NamedShapeStruct, named_shapes
from transpile.hlo.devices.shardings import Sharding, of_leaves
from transpile.hlo.dot import to_dot
from transpile.hlo.emit import Devices, module_of
from transpile.hlo.module import Module, Type
from transpile.hlo.proto import serialised
from transpile.hlo.stablehlo import to_stablehlo
from transpile.hlo.text import to_text, type_text
from transpile.ir.graph import Donated, Graph
from transpile.ir.primitive import Axis
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class ProgramShape:
    """The types of a program's parameters and of its result."""

    parameters: tuple[Type, ...]
    result: Type

    def parameter_shapes(self) -> tuple[Type, ...]:
        """The types of the parameters."""
        return self.parameters

    def result_shape(self) -> Type:
        """The type of the result, a tuple."""
        return self.result

    def __str__(self) -> str:
        return f"({', '.join(map(type_text, self.parameters))}) -> {type_text(self.result)}"

    __repr__ = __str__


class XlaComputation:
    """A function as a module of HLO, not optimised. Made by `xla_computation`."""

    def __init__(self, module: Module, result_info: Any = None) -> None:
        self.module = module
        self.result_info = result_info  # the result's pytree, with `named_shape` of each leaf

    def __repr__(self) -> str:
        return f"<XlaComputation {self.name()}: {self.program_shape()}>"

    def name(self) -> str:
        """The name of the module."""
        return self.module.name

    def program_shape(self) -> ProgramShape:
        """The types of its parameters and of its result."""
        entry = self.module.entry
        return ProgramShape(tuple(p.type for p in entry.parameters), entry.root.type)

    def as_hlo_text(self) -> str:
        """The text of the module, which XLA's parser reads."""
        return to_text(self.module)

    def as_stablehlo_text(self) -> str:
        """The module as StableHLO, in MLIR's syntax."""
        return to_stablehlo(self.module)

    def as_serialized_hlo_module_proto(self) -> bytes:
        """The module as XLA's HloModuleProto, serialised.

        Raises ImportError where the package protobuf, of the extra `hlo`, is not installed.
        """
        return serialised(self.module)

    def as_hlo_dot_graph(self) -> str:
        """The instructions as a graph, in Graphviz's language."""
        return to_dot(self.module)


def computation_of(
    graph: Graph,
    donated: Donated = (),
    types: tuple[Any, Any] | None = None,
    *,
    tuple_args: bool = False,
    axes: Sequence[Axis] = (),
    in_parts: Any = None,
    out_parts: Any = None,
) -> XlaComputation:
    """The computation of a traced graph.

    donated  positions of its inputs
    types    the pytrees of ((args, kwargs), results) with an ArrayType for each leaf
    axes     those of the replicas; `in_parts` and `out_parts` are prefixes of args and results with
             the parts into which they are cut
    """
    name = "".join(c if c.isalnum() else "_" for c in graph.name)
    positions = [p for p in donated if isinstance(p, int)]
    cut: list[Any] = [None, None]
    if types is not None:
        (args, kwargs), results = types
        named = (Sharding(),) * len(tree.leaves(kwargs))
        cut[0] = _cut("in_parts", in_parts, args, named)
        cut[1] = _cut("out_parts", out_parts, results)
    module = module_of(
        graph,
        f"xla_computation_{name}",
        positions,
        tuple_args=tuple_args,
        devices=Devices(tuple(axes), *cut),
    )
    varying = named_shapes(graph)
    info = (
        None
        if types is None
        else tree.structure(types[1]).unflatten(
            NamedShapeStruct(t.shape, t.dtype, n)
            for t, n in zip(tree.leaves(types[1]), varying, strict=True)
        )
    )
    return XlaComputation(module, info)


def _cut(
    what: str, parts: Any, types: Any, more: tuple[Sharding, ...] = ()
) -> tuple[Sharding, ...] | None:
    if parts is None:
        return None
    return (*of_leaves(what, parts, types, [t.ndim for t in tree.leaves(types)]), *more)
