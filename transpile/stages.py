"""The stages of compilation, Traced -> Lowered -> Compiled, with the members of `jax.stages`.

    traced = jit(f).trace(x)      the graph
    lowered = traced.lower()      the loops and the C text
    compiled = lowered.compile()  a loaded program, called with arrays

Each stage makes the next one once and keeps it. A pickle of a stage has the graph and the options:
a program is loaded from the cache, or compiled again, where it is unpickled.
"""

from __future__ import annotations

import copyreg
import dataclasses
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from transpile import primitives, tree
from transpile.analysis.dialects import OBJECTS, text
from transpile.explore.stage import ArgInfo, Stage
from transpile.ir.graph import Graph
from transpile.ir.graph_rewrite import all_counted, counts_of, live_equations
from transpile.ir.indices.lengths import room_of
from transpile.ir.indices.size_solver import sizes_of
from transpile.ir.memory_layout import Layout
from transpile.ir.primitive import TABLE, Order, Primitive
from transpile.options import Options
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.runtime.checked_call import CheckedCall, specialization
from transpile.runtime.dispatcher import (
    CalledBySlot,
    Dispatcher,
    InstanceSignature,
    Specialization,
)
from transpile.runtime.mutated_arguments import check_rows, donated_inputs
from transpile.targets import choice
from transpile.trace.call_key import described
from transpile.trace.call_signature import Signature
from transpile.trace.guards.checks import Watch
from transpile.trace.history.record import Record
from transpile.trace.tracebacks import api_boundary
from transpile.util.fork_safe_lock import Lock
from transpile.util.frozen_records import cached_property
from transpile.util.lazy.imports import Later
from transpile.util.lazy.loggers import Log

if TYPE_CHECKING:
    import transpile.hlo.computation as hlo
    from transpile.explore import notebook
    from transpile.explore import page as explore
    from transpile.hlo.computation import XlaComputation
    from transpile.passes.control import inline_calls
    from transpile.primitives import memory_orders
    from transpile.runtime.executable import BuildInfo, Executable, Lowering, MemoryAnalysis
else:
    explore = Later("transpile.explore.page")
    notebook = Later("transpile.explore.notebook")
    hlo = Later("transpile.hlo.computation")
    inline_calls = Later("transpile.passes.control.inline_calls")
    memory_orders = Later("transpile.primitives.memory_orders")

__all__ = ["ArgInfo", "Compiled", "Lowered", "Traced", "Wrapped"]

logger = Log("transpile.build")


class Traced(Stage):
    """A function traced for one signature. Made by `jit(f).trace(...)`."""

    def __init__(
        self,
        graph: Graph,
        signature: Signature,
        out_tree: tree.TreeDef,
        where: str,
        options: Options,
        keep_unused: bool = False,
        watch: Watch | None = None,
        record: Record | None = None,
    ) -> None:
        types = [a.type for a in graph.outputs]
        super().__init__(signature, out_tree, tuple(types[p] for p in signature.positions))
        self._graph = graph
        self._where = where
        self._options = options
        self._keep_unused = keep_unused
        self._lowered: Lowered | None = None
        self._lock = Lock()
        self.watch = watch
        self._record = record or Record()

    @property
    def jaxpr(self) -> Graph:
        """The graph, whose text is that of `xpr`."""
        return self._graph

    @property
    def seconds(self) -> float:
        """How long the trace took."""
        return self._record.seconds

    @property
    def fun_name(self) -> str:
        """The name of the traced function."""
        return self._graph.name

    def _repr_html_(self) -> str:
        graph = notebook.graph_section(self._graph)
        facts = [f"traced in {1e3 * self.seconds:.1f} ms"]
        return notebook.fragment(f"Traced {self._where}", facts, self._rows(), [graph])

    def differences(self, later: Signature) -> list[str]:
        """A line for each argument in which a later signature differs from this one."""
        return later.differences(self._signature)

    @api_boundary
    def lower(self) -> Lowered:
        """The lowered program, always the same object; nothing is compiled."""
        with self._lock:
            if self._lowered is None:
                program = self._program()
                leaves = dict(zip(self._graph.inputs, self._signature.traced, strict=True))
                kept = tuple(leaves[v] for v in program.inputs)
                donated = self._signature.donated
                given = donated_inputs(kept, donated, self._signature.written, program)
                lowering = choice.lowering(program, self._options, given, self._record)
                self._lowered = Lowered(lowering, self, kept, self._where)
            return self._lowered

    @property
    def flat_graph(self) -> Graph:
        """The graph with an output for each leaf of the result, in their order."""
        results = tuple(self._graph.outputs[p] for p in self._signature.positions)
        return dataclasses.replace(self._graph, outputs=results)

    @api_boundary
    def hlo(self, **settings: Any) -> XlaComputation:
        """The graph as a module of HLO, with all arguments, also those that it does not read."""
        known, types = self._signature, (self.in_avals, self.out_avals)
        donated = tuple(k for k, leaf in enumerate(known.traced) if known.donated[leaf])
        return hlo.computation_of(self.flat_graph, donated, types, **settings)

    def __reduce__(self) -> tuple[Any, ...]:
        # Static values and guards stay behind.
        signature = dataclasses.replace(self._signature, statics=())
        state = (self._graph, signature, self._out_tree, self._where, self._options)
        return Traced, (*state, self._keep_unused, None, self._record)

    def _program(self) -> Graph:
        """The graph without unused inputs, unless `keep_unused`."""
        graph = _with_counted_lengths(self._graph)
        if self._keep_unused:
            return graph
        equations = live_equations(graph.equations, graph.outputs, results=False)
        live = {a for e in equations for a in e.inputs} | set(graph.outputs)
        # Inputs that define a runtime size are used, and so are those that are assigned to.
        known = self._signature
        leaves = zip(graph.inputs, known.traced, strict=True)
        live |= {v for v, leaf in leaves if leaf in known.written}
        inputs = tuple(v for v in graph.inputs if v in live or sizes_of([v.type.shape]))
        return dataclasses.replace(graph, inputs=inputs, equations=equations)


def _with_counted_lengths(graph: Graph) -> Graph:
    """The graph, inlined where a call counts a length of which no bound is known: the program gives
    it as a result."""
    own = counts_of(graph.equations)
    is_inside = any(room_of(s) is not None for s in all_counted(graph) if s not in own)
    return inline_calls.inline_calls(graph) if is_inside else graph


class _ProgramStage(Stage):
    """The common members of the stages with a program."""

    _lowering: Lowering

    def _fragment(self, facts: list[str], text: str, *more: notebook.Section) -> str:
        """How a notebook shows it."""
        counts = [f"{value:,.0f} {name}" for name, value in self.cost_analysis().items() if value]
        kernels = self._lowering.program().kernels
        of_c = notebook.c_sections(text, kernels[0].name if kernels else "")
        sections = [*of_c, notebook.graph_section(self._lowering.optimised()), *more]
        title = f"{type(self).__name__} {self._where}"
        return notebook.fragment(title, [*facts, *counts], self._rows(), sections)

    def cost_analysis(self) -> dict[str, float]:
        """`flops`, `transcendentals` and `bytes accessed` of the fused program."""
        return self._lowering.cost_analysis()

    @api_boundary
    def save(
        self,
        directory: str | Path,
        name: str | None = None,
        *,
        private_libraries: bool = False,
        communicator: str | None = None,
        target: str | None = None,
    ) -> list[Path]:
        """Write NAME.so, NAME.h and NAME.c for use from C, for this machine or the `target`
        ("aarch64-linux-gnu"); returns their paths. With `communicator="mpi"` a program for several
        devices comes with files by which processes of an MPI program are the devices; ValueError
        for another communicator, or a program that needs none.

        They replace those of an earlier `save` all together, or where an OSError is raised not at
        all. A program that is linked with a library of this installation of Python, such as NumPy's
        own LAPACK, is refused (LibraryNotFoundError) unless `private_libraries` is given.
        """
        options = self._lowering.options.replace({} if target is None else {"target": target})
        return choice.changed(self._lowering, options).save(
            directory, name, private_libraries=private_libraries, communicator=communicator
        )


class Lowered(_ProgramStage):
    """A program lowered to C and not compiled yet. Made by `jit(f).lower(...)`."""

    def __init__(self, lowering: Lowering, stage: Stage, kept: tuple[int, ...], where: str) -> None:
        super().__init__(stage._signature, stage._out_tree, stage._out_types)
        self._lowering = lowering
        self.kept = kept
        self._where = where
        self._compiled: dict[Options, Compiled] = {}
        self._in_layouts: dict[tuple[Layout, ...], Specialization] = {}
        self._lock = Lock()

    @api_boundary
    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program as text: "c" (the default on a CPU), "cuda" (on a GPU), "graph", "loops",
        "dot", "hlo" or "stablehlo"; or the Python that was traced: "python", "control_flow".

        With `debug_info` each statement of the C, and of the loops, has its line of Python. Raises
        ValueError for an unknown dialect.
        """
        lowering = self._lowering
        if debug_info:
            options = dataclasses.replace(lowering.options, debug=True)
            lowering = lowering.changed(options)
        return text(lowering, dialect or lowering.dialect, choice.DIALECTS)

    def _repr_html_(self) -> str:
        return self._fragment([], self.as_text())

    @api_boundary
    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The program as an object: the Graph for "graph", the loops for "loops", else its text."""
        if dialect in OBJECTS:
            return OBJECTS[dialect](self._lowering)
        return text(self._lowering, dialect or self._lowering.dialect, choice.DIALECTS)

    @api_boundary
    def explore(
        self, path: str | Path, *, measure: bool | Mapping[str, int] | Sequence[Any] = False
    ) -> Path:
        """Write a page of HTML, which needs nothing else: Python, loops, C, assembly and graph side
        by side.

        measure   True: run the program on drawn arguments, and show how long each kernel takes and
                  how far it is below this machine's roofline; {"n": 1000}: on drawn arguments of
                  these runtime sizes; or a tuple of arguments to run it on

        Raises UnsupportedError on a GPU, and where drawn arguments will not do; TypeError for
        arguments of another structure, and OSError if the file cannot be written.
        """
        given = None if isinstance(measure, bool | Mapping) else self._inputs_of(tuple(measure))
        return explore.write(
            Path(path),
            self._where,
            self._lowering,
            measure=measure is not False,
            given=given,
            sizes=measure if isinstance(measure, Mapping) else {},
        )

    def _inputs_of(self, args: tuple[Any, ...]) -> list[Any]:
        """The inputs of the program for these arguments; TypeError for others than it takes."""
        leaves, structure = flatten_arrays((args, {}))
        if structure != self.in_tree:
            raise TypeError(f"measure has arguments of {structure}, and not of {self.in_tree}")
        return [leaves[leaf] for leaf in self.kept]

    @api_boundary
    def compile(self, compiler_options: Mapping[str, Any] | None = None) -> Compiled:
        """Compile, or find in the cache, and load.

        `compiler_options` are names and values of `Options` (`opt_level`, `march`, `openmp`, ...);
        an unknown name or a bad value raises ValueError. The same object for the same options.
        """
        options = self._lowering.options.replace(compiler_options)
        with self._lock:
            if options not in self._compiled:
                lowering = choice.changed(self._lowering, options)
                executable = self._built(lowering)
                self._compiled[options] = Compiled(
                    executable, lowering, self, self.kept, self._where
                )
            return self._compiled[options]

    def _built(self, lowering: Lowering) -> Executable:
        """The program, compiled or from the cache; what was compiled has been logged."""
        begin = time.perf_counter()
        executable = lowering.build()
        if executable.from_cache:
            seconds = time.perf_counter() - begin
            logger.info("%s: loaded from the cache in %.1f ms", self._where, 1e3 * seconds)
        return executable

    def specialization(self, layouts: Sequence[Layout]) -> Specialization:
        """The compiled program for leaves of the arguments that lie in memory in these layouts."""
        kept = self.kept_layouts(layouts)
        if not kept:
            return self.compile().specialization
        with self._lock:
            if kept not in self._in_layouts:
                lowering, stored = self.in_layouts(kept)
                self._in_layouts[kept] = self.specialized(self._built(lowering).call, kept, stored)
            return self._in_layouts[kept]

    def kept_layouts(self, layouts: Sequence[Layout]) -> tuple[Layout, ...]:
        """The layouts of the inputs, of those of the leaves of the arguments; () is row-major, also
        for what is copied. None where all inputs and results are, which is taken where the program
        may write to inputs."""
        lowering = self._lowering
        check_rows(self._signature, layouts, self._where)
        if lowering.donated or lowering.graph.sizes or not lowering.takes_layouts:
            return ()
        graph, machine = self._lowering.graph, self._lowering.options.machine
        given = [layouts[leaf] for leaf in self.kept]
        return memory_orders.read_in_place(graph, given, [*self._in_layouts], machine)

    def in_layouts(self, kept: tuple[Layout, ...]) -> tuple[Lowering, tuple[Order, ...]]:
        """What is built for inputs in these layouts, and the orders of its outputs."""
        if not kept:
            return self._lowering, ()
        graph, stored = memory_orders.in_memory_layouts(self._lowering.graph, kept)
        return choice.lowering(graph, self._lowering.options), stored

    def built_layouts(self) -> list[tuple[Layout, ...]]:
        """The layouts of the inputs for which this process has the program; () is row-major."""
        return [*self._in_layouts, *([()] if self._lowering.options in self._compiled else [])]

    def specialized(
        self, call: Any, layouts: tuple[Layout, ...] = (), stored: tuple[Order, ...] = ()
    ) -> Specialization:
        """The specialization for a loaded program, or with None for the caller of `runner`."""
        known = self._signature, self.kept, self._where, self._out_tree
        return specialization(*known, call, layouts, stored)

    def __reduce__(self) -> tuple[Any, ...]:
        return _lowered, _state(self)


class Compiled(_ProgramStage, metaclass=CalledBySlot):
    """A loaded program for one signature. Made by `jit(f).lower(...).compile()`.

    Called with the arguments of the function, without static ones; dtypes and shapes must be those
    it was compiled for (TypeError), any memory layout is accepted.
    """

    __slots__ = ("__call__",)  # see runtime/dispatcher.py

    __call__: Callable[..., Any]
    __signature__ = InstanceSignature(lambda _: inspect.signature(lambda *args, **kwargs: None))

    def __init__(
        self,
        executable: Executable,
        lowering: Lowering,
        stage: Lowered,
        kept: tuple[int, ...],
        where: str,
    ) -> None:
        super().__init__(stage._signature, stage._out_tree, stage._out_types)
        self._executable = executable
        self._lowering = lowering
        self.kept = kept
        self._where = where
        known = self._signature, kept, where, self._out_tree

        def specialized(sizes: dict[str, int]) -> Specialization:
            """That of a call with these sizes. It does not refer to this object, which goes with
            its last reference."""
            return specialization(*known, executable.for_sizes(sizes))

        self.calls = calls = CheckedCall(self._signature, specialized, where)
        Dispatcher(calls.table, described, calls.on_miss, [], lambda: False).attach(self)

    @property
    def call(self) -> Callable[..., Any]:
        """The callable itself: `compiled.call(x)` is `compiled(x)`."""
        return self.__call__

    @cached_property
    def specialization(self) -> Specialization:
        """That of a program without runtime sizes."""
        return self.calls.specialize({})

    def run(self, leaves: Sequence[Any]) -> Any:
        """Run on the leaves of the arguments, in order, without checks."""
        return self.specialization.run(leaves)

    @api_boundary
    def as_text(self, dialect: str | None = None) -> str:
        """The program as text: "c" as it was built (the default; on a GPU "cuda"), "asm", or as of
        `Lowered`.

        Raises ValueError for an unknown dialect.
        """
        lowering = self._lowering
        if dialect in (None, lowering.dialect):
            return self._executable.source_text()
        if dialect == "asm":
            return self._executable.assembly()
        return text(lowering, dialect, choice.DIALECTS, ("asm",))

    def _repr_html_(self) -> str:
        info = self.build_info()
        came = "from the cache" if info.from_cache else f"compiled in {info.compile_seconds:.2f} s"
        how = notebook.text_section("How it was compiled", "\n".join(info.commands))
        return self._fragment([came], self.as_text(), how)

    def memory_analysis(self, **sizes: int) -> MemoryAnalysis:
        """The bytes of arguments, results, workspace, aliased (donated) arguments and code; for
        these runtime sizes, if the program has any: `memory_analysis(n=128)`."""
        return self._executable.memory_analysis(**sizes)

    def build_info(self) -> BuildInfo:
        """What it took to build the program: the seconds of each phase, and the C compiler's
        command. For a program from the cache, in the process that built it."""
        return self._executable.build_info()

    def runtime_executable(self) -> Executable:
        """The loaded program, which takes and gives flat lists of arrays."""
        return self._executable

    @property
    def input_shardings(self) -> Any:
        """(args, kwargs) with None for each leaf: every array is whole, on the CPU."""
        return self.in_tree.unflatten([None] * len(self._signature.types))

    @property
    def output_shardings(self) -> Any:
        """The result with None for each leaf: every array is whole, on the CPU."""
        return self.out_tree.unflatten([None] * len(self._out_types))

    def __reduce__(self) -> tuple[Any, ...]:
        # The program is rebuilt (through the cache) where it is loaded.
        return _compiled, _state(self)


@runtime_checkable
class Wrapped(Protocol):
    """What `jit` returns: a function that can be called, traced, lowered."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run, tracing and compiling where that has not been done."""
        return self(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The trace for these arguments, which may be any objects with `shape` and `dtype`."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program for these arguments, traced and lowered; nothing is compiled yet."""

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The shapes and dtypes of the result for these arguments, by tracing alone."""

    def clear_cache(self) -> None:
        """Forget every trace and executable of this function; later calls trace again."""


def _state(stage: Lowered | Compiled) -> tuple[Any, ...]:
    """The state of a pickled stage, without static values."""
    lowering = stage._lowering
    signature = dataclasses.replace(stage._signature, statics=())
    known = (signature, stage._out_tree, stage._out_types, stage.kept, stage._where)
    return lowering.graph, lowering.options, lowering.donated, lowering.record, *known


def _lowered(*state: Any) -> Lowered:
    *program, signature, out_tree, out_types, kept, where = state
    return Lowered(choice.lowering(*program), Stage(signature, out_tree, out_types), kept, where)


def _compiled(*state: Any) -> Compiled:
    return _lowered(*state).compile()


def _primitive(name: str) -> Primitive:
    return TABLE[name]


# Rows hold functions.
copyreg.pickle(Primitive, lambda primitive: (_primitive, (primitive.name,)))
copyreg.pickle(tree.NodeType, tree.reduce_node)
_REGISTERED = primitives  # unpickling looks primitives up: their modules must be known
