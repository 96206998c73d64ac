"""Lowering: from a graph to loops, each phase from one frozen structure to the next.

    Graph --materialise, fuse--> Loops --assign storage--> Storage --build--> Program

Each outermost loop is a kernel; scalar statements between loops go with the kernel before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transpile.errors import UnsupportedError
from transpile.fusion.loop_fusion import explain
from transpile.fusion.nodes import LoopNode, Nest, Node, Region, nodes_of
from transpile.fusion.rematerialize import loops_of_graph
from transpile.intrinsics.callbacks import Callback
from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import (
    CANONICAL_DOTS,
    NO_BARRIERS,
    NO_CALLS,
    NO_COMPOSITES,
    NO_DEAD_CODE,
    NO_HALF_ARITHMETIC,
    OWN_OUTPUTS,
)
from transpile.ir.contracts.loops import (
    INNERMOST_LANES,
    NO_ALIASES,
    NO_LANES,
    ONE_VERSION,
    OWN_SHAPES,
)
from transpile.ir.dims import Dim, Index, Symbol
from transpile.ir.graph import UNKNOWN_SOURCE, Donated, Graph, Source
from transpile.ir.graph_rewrite import counts_of, rooms_of
from transpile.ir.indices.lengths import (
    LIST_IS_LONGER,
    Length,
    lengths_in,
    room_of,
    too_little_room,
)
from transpile.ir.loop_ir import Kernel, Program, Statement
from transpile.ir.loop_rewrite import used_buffers, walk
from transpile.ir.types import MOST, size_of
from transpile.lower.assign_storage import assign_storage
from transpile.lower.builder import kernel_body, loop_depth
from transpile.lower.storage import Place, Storage
from transpile.machine import USUAL, Machine
from transpile.symbols.identifiers import Names, is_reserved, program_name
from transpile.util.fp_environment import in_default_fp_environment
from transpile.util.terminal.status_line import tick

# A kernel's comment quotes at most this many lines of Python.
LONGEST_COMMENT = 6

Items = Sequence[Nest | Node]


@contract(
    requires=(
        NO_CALLS,
        NO_HALF_ARITHMETIC,
        NO_COMPOSITES,
        NO_BARRIERS,
        CANONICAL_DOTS,
        NO_DEAD_CODE,
        OWN_OUTPUTS,
    ),
    provides=(OWN_SHAPES, NO_ALIASES, NO_LANES, INNERMOST_LANES, ONE_VERSION),
)
@in_default_fp_environment
def lower(graph: Graph, donated: Donated = (), machine: Machine = USUAL) -> Program:
    """The program that computes an optimised graph; `donated` are positions of its inputs, with
    that of the only output that may take its memory where an input is assigned to."""
    name = program_name(graph.name)
    _check_names(graph)
    if rooms_of(graph):
        donated = ()  # a call that finds too little room is made again, with the same arguments
    loops = loops_of_graph(graph, machine)
    storage = assign_storage(loops, name)
    program = _program(name, graph, storage, donated)
    if rooms_of(graph):
        _check_repeatable(program)
    _check_sizes(program)
    return program


def _program(name: str, graph: Graph, storage: Storage, donated: Donated) -> Program:
    """The statements, as kernels of a program with this storage."""
    names = Names(storage.names)
    groups = list(_kernel_items(storage.frame.loops.items))
    depth = loop_depth(storage.frame.loops)
    kernels: list[Kernel] = []
    for number, items in enumerate(groups, start=1):
        tick()
        body = kernel_body(storage.frame, names, items, depth)
        ending = "kernel" if len(groups) == 1 else str(number)
        source, comment = _origin(items)
        kernels.append(Kernel(names.new(f"{name}_{ending}"), body, source, comment))
    inputs, outputs = storage.inputs, storage.outputs
    named = zip(outputs, graph.outputs, strict=True)
    return Program(
        name,
        inputs,
        outputs,
        tuple(kernels),
        storage.temporaries,
        storage.constants,
        placements=tuple(explain(storage.frame.loops)),
        sites=tuple(dict.fromkeys(graph.sites())),
        communicates=graph.communicates,
        lengths=tuple(_lengths(graph, storage)),
        required=tuple(_required(graph)),
        results=tuple((b.name, a.type.shape) for b, a in named if lengths_in([a.type.shape])),
        donated=tuple(inputs[p].name for p in donated if isinstance(p, int)),
        written=tuple(
            (inputs[p[0]].name, outputs[p[1]].name) for p in donated if not isinstance(p, int)
        ),
    )


def _lengths(graph: Graph, storage: Storage) -> Iterator[tuple[Symbol, str]]:
    """The lengths that the program finds, and where."""
    for length, count in counts_of(graph.equations).items():
        place = storage.frame.places.get(count)
        if isinstance(place, Place):
            yield length, place.name


def _required(graph: Graph) -> Iterator[tuple[Index, Index, str]]:
    """What the program has to check of sizes."""
    for equation in graph.equations:
        if equation.primitive.kind == "requirement":
            yield tuple(equation.params[name] for name in ("smaller", "larger", "text"))
    for length, room in rooms_of(graph).items():
        yield Dim.of(length), Dim.of(room), too_little_room(length)


def _kernel_items(items: Items) -> Iterator[Items]:
    """The items of each kernel: what needs a length comes after the kernel that counts it."""
    group: list[Nest | Node] = []
    counted: set[Length] = set()
    for item in items:
        is_second = _starts_kernel(item) and any(map(_starts_kernel, group))
        if is_second or any(not node.lengths.isdisjoint(counted) for node in nodes_of([item])):
            yield group
            group = []
            counted.clear()
        group.append(item)
        counted.update(s for node in nodes_of([item]) for s in node.counted)
    if group:
        yield group


def _starts_kernel(item: Nest | Node) -> bool:
    return not isinstance(item, LoopNode)


def _origin(items: Items) -> tuple[Source, tuple[str, ...]]:
    """The first line of Python that a kernel comes from, and the comment that quotes them."""
    sources = {source: None for source in _sources(items) if source.line}
    ordered = sorted(sources, key=lambda s: (s.file_name, s.line))
    comment = tuple(f"{s}: {s.text}" if s.text else str(s) for s in ordered)
    if len(comment) > LONGEST_COMMENT:
        comment = (*comment[: LONGEST_COMMENT - 1], "...")
    return ordered[0] if ordered else UNKNOWN_SOURCE, comment


def _sources(items: Items) -> Iterator[Source]:
    """The lines of Python that loops come from, and what stands inside them."""
    for node in nodes_of(items):
        yield from node.sources
        for part in node.parts if isinstance(node, Region) else ():
            yield from _sources(part.items)


def _check_names(graph: Graph) -> None:
    """Refuse runtime sizes whose names a program cannot have: those of C's own."""
    for size in (*graph.sizes, *rooms_of(graph).values()):
        if is_reserved(size.name):
            raise UnsupportedError(
                f"{size} cannot be the name of a runtime size, as C has it for something else; "
                f"{size}_ can"
            )


def _check_repeatable(program: Program) -> None:
    """Refuse programs that cannot be called again when they have found too little room, which they
    say behind the kernel that counts a length, or where a list becomes longer. A failure can be met
    again: it ends the call either way."""
    counts = {name for length, name in program.lengths if _has_room(length)}
    counting = [
        number
        for number, kernel in enumerate(program.kernels)
        if counts & used_buffers(kernel)[1] or any(map(_is_list_longer, walk(kernel.body)))
    ]
    before = program.kernels[: max(counting, default=-1) + 1]
    calls = (s for kernel in before for s in walk(kernel.body) if isinstance(s, Callback))
    if program.communicates or any(not call.fails for call in calls):
        raise UnsupportedError(
            f"{program.name} has a length without a bound, for which it may be called twice, and "
            "calls Python or other devices before it has found the length, which is to happen "
            "once. Call Python behind the loop, or say how long the result is: a counter that "
            "bounds a loop, values = transpile.with_room([], n) for a list that grows, "
            "transpile.numpy.repeat(..., total_repeat_length=n), numpy.bincount(x, minlength=n)"
        )


def _is_list_longer(statement: Statement) -> bool:
    """True for what ends the program where a list is longer than its room."""
    if not isinstance(statement, Callback):
        return False
    return bool(statement.site.callback.failure == LIST_IS_LONGER)


def _has_room(length: Symbol) -> bool:
    return isinstance(length, Length) and room_of(length) is not None


def _check_sizes(program: Program) -> None:
    """Refuse buffers that are larger than addresses go, and those whose rows are as long as values
    in a loop say."""
    buffers = program.buffers()
    known = {length for length, _ in program.lengths}
    for kernel in program.kernels:
        for name in used_buffers(kernel)[0]:
            buffer = buffers[name]
            if not known.issuperset(lengths_in([buffer.shape])):
                raise UnsupportedError(
                    f"{kernel.source}: {name} has the shape {buffer.shape}, of which an extent "
                    "behind the first one depends on values in the body of a loop or branch. "
                    "Select along the first axis there, or outside of the body"
                )
            if size_of(buffer.shape, buffer.dtype.itemsize) > MOST:
                raise UnsupportedError(
                    f"{kernel.source}: {name}, an array of shape {buffer.shape} and dtype "
                    f"{buffer.dtype}, has more than 2**63 - 1 bytes"
                )
