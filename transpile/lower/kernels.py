"""Lowering: the fused stages become kernels in the loop language.

Each outermost loop is a kernel; scalar statements between loops go with the kernel before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transpile.errors import UnsupportedError
from transpile.fusion.buffer_reuse import aliases
from transpile.fusion.loop_fusion import explain
from transpile.fusion.nodes import LoopNode, Loops, Nest, Node, Region, nodes_of
from transpile.fusion.rematerialize import loops_of_graph
from transpile.ir.graph import UNKNOWN_SOURCE, Atom, Donated, Graph, Source
from transpile.ir.loop_ir import Buffer, Kernel, Program
from transpile.ir.loop_rewrite import used_buffers
from transpile.ir.types import MOST, size_of
from transpile.lower.builder import Emitter, kernel_scope
from transpile.lower.storage import Memory, Place, Variable
from transpile.symbols.identifiers import names_at_file_scope, program_name
from transpile.util.fp_environment import in_usual_modes

# A kernel's comment quotes at most this many lines of Python.
LONGEST_COMMENT = 6


@in_usual_modes
def lower(graph: Graph, donated: Donated = ()) -> Program:
    """The program that computes an optimised graph; `donated` are positions of its inputs, with
    that of the only output that may take its memory where an input is assigned to."""
    program = _Lowering(graph, loops_of_graph(graph)).program(donated)
    for kernel in program.kernels:
        for name in used_buffers(kernel)[0]:
            buffer = program.buffers()[name]
            if size_of(buffer.shape, buffer.dtype.itemsize) > MOST:
                raise UnsupportedError(
                    f"{kernel.source}: {name}, an array of shape {buffer.shape} and dtype "
                    f"{buffer.dtype}, has more than 2**63 - 1 bytes"
                )
    return program


class _Lowering:
    def __init__(self, graph: Graph, fused: Loops) -> None:
        self.graph = graph
        self.fused = fused
        self.memory = Memory()
        self.function = program_name(graph.name)
        self.memory.names.take(names_at_file_scope(self.function))
        self.inputs = tuple(self.memory.buffer(v, v.name or "x") for v in graph.inputs)
        self.outputs = tuple(self._output_buffers())
        places: dict[Atom, Place | Variable] = {}
        places.update(zip(graph.inputs, map(Place, self.inputs), strict=True))
        places.update(zip(graph.outputs, map(Place, self.outputs), strict=True))
        self.emitter = Emitter(aliases(fused), self.memory, places)

    def _output_buffers(self) -> Iterator[Buffer]:
        hints = self.graph.output_names
        several = len(self.graph.outputs) > 1
        for position, atom in enumerate(self.graph.outputs):
            default = f"out_{position}" if several else "out"
            hint = hints[position] if hints else getattr(atom, "name", "")
            yield self.memory.buffer(atom, hint or default)

    def program(self, donated: Donated) -> Program:
        kernels: list[Kernel] = []
        group: list[Nest | Node] = []
        for item in self.fused.items:
            if _starts_kernel(item) and any(map(_starts_kernel, group)):
                kernels.append(self._kernel(group, len(kernels)))
                group = []
            group.append(item)
        if group:
            kernels.append(self._kernel(group, len(kernels)))
        if len(kernels) == 1:
            kernels = [
                Kernel(
                    self.memory.names.new(f"{self.function}_kernel"),
                    kernels[0].body,
                    kernels[0].source,
                    kernels[0].comment,
                )
            ]
        return Program(
            self.function,
            self.inputs,
            self.outputs,
            tuple(kernels),
            tuple(self.memory.temporaries),
            tuple(place.buffer for place in self.memory.constants.values()),
            placements=tuple(explain(self.fused)),
            sites=tuple(dict.fromkeys(self.graph.sites())),
            donated=tuple(self.inputs[p].name for p in donated if isinstance(p, int)),
            written=tuple(
                (self.inputs[p[0]].name, self.outputs[p[1]].name)
                for p in donated
                if not isinstance(p, int)
            ),
        )

    def _kernel(self, items: Sequence[Nest | Node], number: int) -> Kernel:
        self.emitter.scope = kernel_scope(self.emitter)
        body = tuple(self.emitter.items(items))
        sources = {source: None for source in _sources(items) if source.line}
        ordered = sorted(sources, key=lambda s: (s.file, s.line))
        comment = tuple(f"{s}: {s.text}" if s.text else str(s) for s in ordered)
        if len(comment) > LONGEST_COMMENT:
            comment = (*comment[: LONGEST_COMMENT - 1], "...")
        return Kernel(
            self.memory.names.new(f"{self.function}_{number + 1}"),
            body,
            ordered[0] if ordered else UNKNOWN_SOURCE,
            comment,
        )


def _sources(items: Sequence[Nest | Node]) -> Iterator[Source]:
    """The lines of Python that loops come from, and what stands inside them."""
    for node in nodes_of(items):
        yield from node.sources
        for part in node.parts if isinstance(node, Region) else ():
            yield from _sources(part.items)


def _starts_kernel(item: Nest | Node) -> bool:
    return not isinstance(item, LoopNode)
