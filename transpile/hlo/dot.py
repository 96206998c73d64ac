"""A module as a graph in Graphviz's language: a cluster for each computation."""

from __future__ import annotations

import json
from collections.abc import Iterator

from transpile.hlo.module import Computation, Module, called
from transpile.hlo.text import computation_name, literal, type_text

LONGEST_LITERAL = 40  # characters of a constant that a node shows


def to_dot(module: Module) -> str:
    """Arrows lead from operands to what reads them; dashed ones from a computation's result to the
    instruction that calls it."""
    lines = [f"digraph {json.dumps(module.name)} {{", "  node [shape=box, fontname=monospace]"]
    for computation in module.computations:
        lines += [f"  {line}" for line in _cluster(computation)]
    for computation in module.computations:
        for instruction in computation.instructions:
            for callee in called(instruction):
                ends = f"{json.dumps(callee.root.name)} -> {json.dumps(instruction.name)}"
                lines.append(f"  {ends} [style=dashed]")
    return "\n".join([*lines, "}"]) + "\n"


def _cluster(computation: Computation) -> Iterator[str]:
    name = computation_name(computation)
    yield f"subgraph {json.dumps(f'cluster_{name}')} {{"
    yield f"  label={json.dumps(name)}"
    for instruction in computation.instructions:
        text = f"{instruction.name}\n{type_text(instruction.type)}"
        if instruction.literal is not None:
            text += f"\n{literal(instruction.literal)[:LONGEST_LITERAL]}"
        border = ", penwidth=2" if instruction is computation.root else ""
        yield f"  {json.dumps(instruction.name)} [label={json.dumps(text)}{border}]"
    for instruction in computation.instructions:
        for operand in instruction.operands:
            yield f"  {json.dumps(operand.name)} -> {json.dumps(instruction.name)}"
    yield "}"
