"""Trace a Python function: run it once on tracers, and record the primitives that they bind.

`bind` appends an equation to the active trace of this thread. Traces nest: a transformation traces
its function inside another trace, whose tracers become captured values, the leading inputs of the
inner graph. Graphs are pure: an assignment `x[i] = y` makes a new value (functionalisation), and
views of x are recomputed from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any

import numpy as np

from transpile import errors
from transpile.ir.dims import Dim
from transpile.ir.graph import Atom, Const, Equation, Graph, Source, Var, axis_names
from transpile.ir.graph_rewrite import may_repeat, silenced, sizes_read
from transpile.ir.indices.lengths import Length
from transpile.ir.primitive import TABLE, Primitive
from transpile.ir.source_info import function_source, shown, user_source
from transpile.ir.types import MOST, PYTHON_SCALARS, ArrayType, check_dtype, kind_letter, size_of
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.bytecode.made_arrays import root_of
from transpile.trace.tracer import UNKNOWN, Tracer, leaked
from transpile.trace.views.memory import NOTED, note_equation, note_outputs
from transpile.trace.views.results import Layouts
from transpile.util.frozen_records import dataclass
from transpile.util.interrupt_safety import THREAD, Result, as_before, between
from transpile.util.terminal.status_line import tick

_LENGTH = 100  # equations: a length may take an argument of the program
_REFUSED = (errors.UndecidedSizeError, TypeError, ValueError)  # as type rules raise them


@dataclass(eq=False)
class Trace:
    """A graph under construction.

    births     for each Var the number of equations before it
    known      the concrete values of Vars, where Python may ask for them (lazily evaluated from the
               equations so far); None where all values are abstract
    captures   for a Var of an outer trace: its tracer, and the input that stands for it here
    written    for the Var of an array that was assigned to: its new value
    roots      for the later values of an array that was assigned to, or of a view: its first one
    copies     for the first value of an array: those of others which are this very array where a
               traced bool holds; it is None where nobody knows
    fixed      for the first value of an array that holds NumPy's arrays, as a list does: these
    stale      for the first value of an array that may not be used any more: why
    rebuilt    for a view and the new value of its base: the view's new value
    items      for an array made by basic indexing: its base, and the index of each axis
    picked     for a view by a gather: the index of each axis, where that can be extended; else None
    layouts    how arrays would lie in memory if NumPy ran the function
    origin     the source of equations that a transformation makes
    refused    the error of a conversion to a Python value; varied: what is differentiated
    made       by id: NumPy's arrays that traced code has made, and by which call
    lifts      by id: arrays that traced code indexes by traced values, and their traced constants
    lengths    that equations count, and the values that they are; length_names: in regions, too
    counters   the numbers of iterations of loops, and how many there are: an int, or traced
    is_region  a statement of the function around it, whose arrays it may assign to
    role       what is done with the graph: see `trace_nested`
    sizes      runtime sizes by the Vars of their values; around: the region that a region is in
    mirrored   in a region, by the Var of an outer view: the view of what the base is here
    """

    name: str
    source: Source
    inputs: list[Var] = field(default_factory=list)
    equations: list[Equation] = field(default_factory=list)
    producers: dict[Var, Equation] = field(default_factory=dict)
    births: dict[Var, int] = field(default_factory=dict)
    captures: dict[Var, tuple[Tracer, Var]] = field(default_factory=dict)
    known: dict[Var, Any] | None = None
    written: dict[Var, Var] = field(default_factory=dict)
    roots: dict[Var, Var] = field(default_factory=dict)
    copies: dict[Var, list[tuple[Var, Any]]] = field(default_factory=dict)
    fixed: dict[Var, Sequence[Any]] = field(default_factory=dict)
    stale: dict[Var, str] = field(default_factory=dict)
    rebuilt: dict[tuple[Var, Var], Var] = field(default_factory=dict)
    items: dict[Var, tuple[Var, Any]] = field(default_factory=dict)
    picked: dict[Var, Any] = field(default_factory=dict)
    layouts: Layouts = field(default_factory=Layouts)
    origin: Source | None = None
    active: bool = True
    refused: errors.TracerError | None = None
    varied: set[Var] = field(default_factory=set)
    made: dict[int, Any] = field(default_factory=dict)
    lifts: dict[int, tuple[Any, Tracer]] = field(default_factory=dict)
    lengths: dict[Length, Var] = field(default_factory=dict)
    sizes: dict[Var, Dim] = field(default_factory=dict)
    counters: dict[Var, Any] = field(default_factory=dict)
    length_names: set[str] = field(default_factory=set)
    is_region: bool = False
    role: str = ""
    around: Trace | None = None
    mirrored: dict[Var, tuple[Tracer, Var]] = field(default_factory=dict)

    def atom(self, value: Any) -> Atom:
        """The atom of a tracer, captured if it is of an outer trace, or of a concrete value."""
        if not isinstance(value, Tracer):
            return value if isinstance(value, Const) else constant(value)
        if value.owner is self:
            return value.variable
        if not value.owner.active:
            raise leaked(value)
        if self.is_region:
            if self.around is not None and value.owner is not self.around:
                here = self.around.atom(value)  # an array is the same, however it is captured
                assert isinstance(here, Var)
                value = Tracer(self.around, here)
            return self.newest(self._seen(value))
        return self._captured(value)

    def _captured(self, value: Tracer) -> Var:
        var = value.variable
        if var not in self.captures:
            captured = Var(value.type, var.name)
            self.captures[var] = (value, captured)
            if self.known is not None:
                self.known[captured] = value
            if value.owner.varies(var):
                self.varied.add(captured)
        return self.captures[var][1]

    def _seen(self, value: Tracer) -> Var:
        """What an outer value is in this region: a view is made anew of its base, which the region
        may assign to."""
        var = value.variable
        view = value.owner.viewed(var)
        if view is None:
            return self._captured(value)
        if var not in self.mirrored:
            base, *indices = view.inputs
            assert isinstance(base, Var)  # `viewed` has no views of constants
            here = [
                i if isinstance(i, Const) else self._captured(Tracer(value.owner, i))
                for i in indices
            ]
            base = self._seen(Tracer(value.owner, base))
            self.mirrored[var] = value, self._made_anew(view, base, here)
            if var in value.owner.picked:
                self.picked[self.mirrored[var][1]] = value.owner.picked[var]
        return self.mirrored[var][1]

    def _made_anew(self, view: Equation, base: Var, indices: Sequence[Atom]) -> Var:
        """The view of another base."""
        output, inputs = Var(view.output.type, view.output.name), (base, *indices)
        self.add(Equation(view.primitive, inputs, view.params, (output,), view.source))
        return output

    def append(
        self, primitive: Primitive, inputs: Sequence[Any], params: dict[str, Any]
    ) -> list[Tracer]:
        """Append an equation with fresh outputs; errors of the type rule get the user's line."""
        atoms = tuple(self.atom(v) for v in inputs)
        try:
            types = primitive.result_types([a.type for a in atoms], params)
        except (TypeError, ValueError) as problem:
            kind = next(kind for kind in _REFUSED if isinstance(problem, kind))
            raise kind(f"{user_source()}: {problem}") from problem
        for result in types:
            if size_of(result.shape) > MOST:
                raise errors.UnsupportedError(
                    f"{user_source()}: {primitive} gives an array of shape {result.shape}, of more "
                    "than 2**63 - 1 elements"
                )
        outputs = tuple(Var(t) for t in types)
        if primitive.kind == "view" and isinstance(inputs[0], Tracer) and inputs[0].owner is self:
            self.layouts.holders.setdefault(inputs[0].original, inputs[0])
        source = self.origin or user_source()
        return self.add(Equation(primitive, atoms, params, outputs, source))

    def add(self, equation: Equation) -> list[Tracer]:
        """Append an equation over atoms of this trace, whose outputs are fresh."""
        born = len(self.equations)
        if THREAD.longest is not None and born + _LENGTH * len(self.lengths) > THREAD.longest:
            raise LongTraceError
        self.equations.append(equation)
        tick()
        for var in equation.outputs:
            self.producers[var], self.births[var] = equation, born
        if equation.primitive.kind in NOTED:
            note_equation(self, equation)
        if equation.primitive.kind == "length":
            self.lengths.setdefault(equation.params["length"], equation.outputs[0])
        return [Tracer(self, v) for v in equation.outputs]

    def copy(self, equation: Equation, inputs: Sequence[Any]) -> list[Tracer]:
        """Append an equation of another graph with these inputs, which have the same types."""
        outputs = tuple(Var(v.type, v.name) for v in equation.outputs)
        atoms = tuple(self.atom(v) for v in inputs)
        again = Equation(equation.primitive, atoms, equation.params, outputs, equation.source)
        return self.add(again)

    @contextmanager
    def at(self, source: Source) -> Iterator[None]:
        """Attribute equations to a source; their outputs get no name from the user's line."""
        before, self.origin = self.origin, source
        try:
            yield
        finally:
            self.origin = before

    def lifted(self, array: Any) -> Tracer:
        """An array, or a number, as a traced constant: its values as they are now."""
        if id(array) not in self.lifts:
            value = constant(np.array(array))
            shape = value.type.shape
            params = {"shape": shape, "broadcast_dimensions": tuple(range(len(shape)))}
            (tracer,) = self.append(TABLE["broadcast_in_dim"], [value], params)
            self.lifts[id(array)] = array, tracer
        return self.lifts[id(array)][1]

    def forget(self, root: Any) -> None:
        """The array with this memory is about to be assigned to: what was lifted is out of date."""
        for key, (array, _) in list(self.lifts.items()):
            if isinstance(array, np.ndarray) and root_of(array) is root:
                self.check_lifted()
                del self.lifts[key]

    def check_lifted(self) -> None:
        """Raise UnsupportedError where the function assigned to an array that was lifted."""
        if any(t.variable is not t.original for _, t in self.lifts.values()):
            raise errors.UnsupportedError(
                f"{user_source()}: {self.name} assigns at a traced index into an array of its "
                f"surroundings, which stays what it is until the program runs. Return the new "
                f"values, and assign them there."
            )

    # Functionalisation: an assignment replaces the value of an array by a new Var. The views of the
    # array are recomputed by the same equations from the new value.

    def viewed(self, var: Var) -> Equation | None:
        """The equation of a value that is a view, of its first operand; None for others."""
        equation = self.producers.get(var)
        if var in self.picked:
            return equation
        if equation is None or equation.primitive.kind != "view" or var in self.layouts.own:
            return None
        (x,) = equation.inputs
        is_repeated = equation.primitive.name == "broadcast_in_dim" and x.type.size != var.type.size
        return None if isinstance(x, Const) or is_repeated else equation

    def is_new(self, var: Var, since: int) -> bool:
        """True if an array aliases none that is older than so many equations."""
        while (view := self.viewed(var)) is not None:
            base = view.inputs[0]
            assert isinstance(base, Var)  # `viewed` has no views of constants
            var = self.newest(base)
        return self.births.get(var, -1) >= since

    def root_of(self, var: Var) -> Var:
        """The first value of the array that has this value, or that it is a view of."""
        while (view := self.viewed(var)) is not None:
            var = view.inputs[0]  # type: ignore[assignment]  # a Var, as it is viewed
        return self.roots.get(var, var)

    def newest(self, var: Var) -> Var:
        """The current value of the array that once had this value."""
        chain: list[Equation] = []
        while True:
            while var in self.written:
                var = self.written[var]
            equation = self.viewed(var)
            if equation is None:
                break
            chain.append(equation)
            var = equation.inputs[0]  # type: ignore[assignment]  # a Var, as it is viewed
        if self.stale and (reason := self.stale.get(self.roots.get(var, var))):
            raise errors.UnsupportedError(f"{user_source()}: {reason}")
        for equation in reversed(chain):
            if equation.inputs[0] is var:
                var = equation.output
                continue
            key = (equation.output, var)
            if key not in self.rebuilt:
                self.rebuilt[key] = self._made_anew(equation, var, equation.inputs[1:])
                self.roots[self.rebuilt[key]] = equation.output
                if equation.output in self.picked:
                    self.picked[self.rebuilt[key]] = self.picked[equation.output]
            var = self.rebuilt[key]
        return var

    def value(self, var: Var) -> Any:
        """The concrete value of a Var, or UNKNOWN."""
        if self.known is None:
            return UNKNOWN
        for equation in self._needed(var):
            values = [a.value if isinstance(a, Const) else self.known[a] for a in equation.inputs]
            given = not any(v is UNKNOWN for v in values)
            sized = given and sizes_read(equation)  # of this trace or of one around it
            if not given or sized or axis_names(equation) or not may_repeat(equation):
                results: list[Any] = [UNKNOWN] * len(equation.outputs)
            else:
                results = evaluate(silenced(equation), values)
            self.known.update(zip(equation.outputs, results, strict=True))
        return self.known[var]

    def varies(self, var: Var) -> bool:
        """True if a value depends on a differentiated one: its concrete value would lose the
        derivative."""
        stack, seen = [var] if self.varied else [], {var}
        while stack:
            wanted = stack.pop()
            if kind_letter(wanted.type.dtype) not in "fc":
                continue
            if wanted in self.varied:
                return True
            equation = self.producers.get(wanted)
            if equation is not None and equation.primitive.name != "stop_gradient":
                further = {a for a in equation.inputs if isinstance(a, Var)} - seen
                stack += further
                seen |= further
        return False

    def _needed(self, var: Var) -> list[Equation]:
        """The equations to evaluate for a value, in topological order; inputs become known."""
        assert self.known is not None
        ordered: dict[int, Equation] = {}
        stack: list[tuple[Var, bool]] = [(var, False)]
        while stack:
            wanted, is_ready = stack.pop()
            equation = self.producers.get(wanted)
            if is_ready and equation is not None:
                ordered.setdefault(id(equation), equation)
                continue
            value = self.known.get(wanted, UNKNOWN if equation is None else None)
            if isinstance(value, Tracer):
                value = value.owner.value(value.variable)
            if value is not None:
                self.known[wanted] = value
            elif equation is not None and id(equation) not in ordered:
                stack.append((wanted, True))
                stack += [(a, False) for a in equation.inputs if isinstance(a, Var)]
        return list(ordered.values())


def evaluate(equation: Equation, values: Sequence[Any]) -> list[Any]:
    """Evaluate one equation with the NumPy reference of its primitive."""
    arrays = [np.asarray(v) if type(v) in PYTHON_SCALARS else v for v in values]
    with np.errstate(all="ignore"):
        result = equation.primitive.numpy(*arrays, **equation.params)
    results = [result] if isinstance(result, np.ndarray | np.generic) else list(result)
    return [
        np.asarray(r, dtype=v.type.dtype) for r, v in zip(results, equation.outputs, strict=True)
    ]


def constant(value: Any, what: str = "a constant") -> Const:
    """The Const of a Python scalar or an array; raises TypeError for anything else."""
    if type(value) in PYTHON_SCALARS:
        try:
            return Const(np.array(value, PYTHON_SCALARS[type(value)]), weak=True)
        except OverflowError:
            raise OverflowError(f"{value} does not fit into an int64") from None
    if isinstance(value, np.generic | np.ndarray) or hasattr(value, "__array__"):
        array = np.asarray(value)
        return Const(array.astype(check_dtype(array.dtype, what), copy=False))
    kind = type(value).__name__
    raise TypeError(f"{user_source()}: {what} is a {kind}, which is not an array: {shown(value)}")


class LongTraceError(BaseException):
    """A trace has more equations, or lengths, than are wanted (`trace/captured_arrays.py`).

    No error of the user's: his `except` clauses do not see it.
    """


# ------------------------------------------------------------------------------- the active trace


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Suspend tracing: operations on concrete arrays are computed at once.

    Operations on traced arrays raise UnexpectedTracerError.
    """
    before, THREAD.traces = THREAD.traces, ()
    try:
        yield
    finally:
        THREAD.traces = before


def current_trace() -> Trace | None:
    """The active trace of this thread, or None."""
    traces = THREAD.traces
    return traces[-1] if traces else None


def the_trace() -> Trace:
    """The active trace of this thread, which there must be."""
    trace: Trace = THREAD.traces[-1]
    return trace


def is_assignable(trace: Trace) -> bool:
    """True if a trace is the active one, or regions of it are."""
    for active in reversed(THREAD.traces):
        if active is trace:
            return True
        if not active.is_region:
            return False
    return False


def with_active(trace: Trace, run: Callable[[], Result]) -> Result:
    """Run `run()` with the trace as the active one of this thread."""
    restore = as_before()

    def begin() -> None:
        THREAD.traces = (*THREAD.traces, trace)

    def end() -> None:
        restore()
        trace.active = False

    return between(begin, run, end)


def bind(primitive: Primitive, *inputs: Any, **params: Any) -> Any:
    """Apply a primitive in the active trace; returns a tracer, or a list for several results.

    Errors of the type rule carry the user's file and line.
    """
    trace = current_trace()
    if trace is None:
        for value in inputs:
            if isinstance(value, Tracer):
                raise leaked(value)
        raise errors.InternalError(f"{primitive} was applied outside a trace")
    results = trace.append(primitive, inputs, params)
    return results[0] if len(results) == 1 else results


def trace_nested(
    function: Callable[..., Any],
    types: Sequence[ArrayType],
    names: Sequence[str],
    *,
    name: str | None = None,
    source: Source | None = None,
    known: Sequence[Any] | None = None,
    role: str = "",
) -> tuple[Graph, list[Tracer], Any]:
    """Trace `function(*tracers)`, which returns (list of result leaves, extra). Returns the graph,
    the tracers of outer traces that it captures, and `extra` (the structure of the results, say).

    The graph's inputs are the captured values, then the arguments. `known` are concrete values of
    the arguments, or tracers of outer traces that may have them; `role`: the arguments are
    differentiated "forward" or "backward", or the graph is "repeated", by a loop or for examples.
    """
    source = source or function_source(function)
    trace = Trace(name or str(getattr(function, "__name__", "f")), source, role=role)
    trace.inputs = [Var(t, n) for t, n in zip(types, names, strict=True)]
    if known is not None:
        trace.known = dict(zip(trace.inputs, known, strict=True))
        trace.varied = {
            var
            for var, value in trace.known.items()
            if role in ("forward", "backward")
            or (isinstance(value, Tracer) and value.owner.varies(value.variable))
        }

    def run() -> tuple[tuple[Atom, ...], Any]:
        leaves, extra = resolved(function)(*[Tracer(trace, v) for v in trace.inputs])
        trace.check_lifted()
        return note_outputs(trace, [trace.atom(leaf) for leaf in leaves]), extra

    try:
        outputs, extra = with_active(trace, run)
    except (TypeError, ValueError) as problem:
        # np.zeros(traced) and array[0] = traced replace our error with one of their own.
        is_other = isinstance(problem, ValueError) and "array element" not in str(problem)
        if trace.refused is None or is_other or isinstance(problem, errors.TracerError):
            raise
        raise trace.refused from problem
    captured = [tracer for tracer, _ in trace.captures.values()]
    inputs = (*[var for _, var in trace.captures.values()], *trace.inputs)
    graph = Graph(inputs, tuple(trace.equations), outputs, trace.name, source=source)
    return graph, captured, extra


def trace_function(
    function: Callable[..., Any],
    types: Sequence[ArrayType],
    names: Sequence[str],
    *,
    name: str | None = None,
    known: Sequence[Any] | None = None,
) -> tuple[Graph, Any]:
    """The graph of `function(*tracers)`, which may not capture values of outer traces."""
    graph, captured, extra = trace_nested(function, types, names, name=name, known=known)
    if captured:
        raise leaked(captured[0])
    return graph, extra
