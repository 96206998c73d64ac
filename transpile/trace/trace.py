"""Tracing: a Python function is run once on tracers, and what they are asked to do is the graph.

`bind` appends an equation to the trace that is under way in this thread. Traces nest: a
transformation traces the function it was given while another trace is under way, and the tracers of
that one become captured values, the leading inputs of the inner graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any

import numpy as np

from transpile import errors
from transpile.ir.graph import Atom, Const, Equation, Graph, Source, Var, silenced
from transpile.ir.primitive import Primitive
from transpile.ir.source_info import function_source, shown, user_source
from transpile.ir.types import MOST, PYTHON_SCALARS, ArrayType, check_dtype, kind_letter, size_of
from transpile.trace.tracer import UNKNOWN, Tracer, leaked
from transpile.util.frozen_records import dataclass
from transpile.util.interrupt_safety import THREAD, Result, as_before, between


@dataclass(eq=False)
class Trace:
    """A graph in the making.

    known      the values of Vars, as far as Python may ask for them: a value is computed there and
               then from the equations so far. None: Python may ask for nothing
    captures   for a Var of an outer trace: its tracer, and the Var that stands for it here
    written    for an array that was assigned to: the value that it holds since then
    items      for an array that a basic index took: of which array, and what of each axis
    own        arrays that are made like views, but have memory of their own, as NumPy has them
    origin     where the equations come from, when they are made by a transformation
    refused    the error that a conversion to a Python value ended in
    varied     the inputs and captured values whose derivative is wanted
    """

    name: str
    source: Source
    inputs: list[Var] = field(default_factory=list)
    equations: list[Equation] = field(default_factory=list)
    producers: dict[Var, Equation] = field(default_factory=dict)
    births: dict[Var, int] = field(default_factory=dict)  # the number of equations before it
    captures: dict[Var, tuple[Tracer, Var]] = field(default_factory=dict)
    known: dict[Var, Any] | None = None
    written: dict[Var, Var] = field(default_factory=dict)
    rebuilt: dict[tuple[Var, Var], Var] = field(default_factory=dict)
    items: dict[Var, tuple[Var, Any]] = field(default_factory=dict)
    own: set[Var] = field(default_factory=set)
    origin: Source | None = None
    active: bool = True
    refused: errors.TracerError | None = None
    varied: set[Var] = field(default_factory=set)

    def atom(self, value: Any) -> Atom:
        """The graph's atom for a tracer of this trace, an outer trace's tracer, or a value."""
        if not isinstance(value, Tracer):
            return value if isinstance(value, Const) else constant(value)
        if value.owner is self:
            return value.variable
        if not value.owner.active:
            raise leaked(value)
        var = value.variable
        if var not in self.captures:
            captured = Var(value.type, var.name)
            self.captures[var] = (value, captured)
            if self.known is not None:
                self.known[captured] = value
            if value.owner.varies(var):
                self.varied.add(captured)
        return self.captures[var][1]

    def append(
        self, primitive: Primitive, inputs: Sequence[Any], params: dict[str, Any]
    ) -> list[Tracer]:
        """Add an equation and give its results. Errors of the type rule get the user's line."""
        atoms = tuple(self.atom(v) for v in inputs)
        try:
            types = primitive.result_types([a.type for a in atoms], params)
        except (TypeError, ValueError) as problem:
            kind = TypeError if isinstance(problem, TypeError) else ValueError
            raise kind(f"{user_source()}: {problem}") from problem
        for result in types:
            if size_of(result.shape) > MOST:
                raise errors.UnsupportedError(
                    f"{user_source()}: {primitive} gives an array of shape {result.shape}, of more "
                    "than 2**63 - 1 elements"
                )
        outputs = tuple(Var(t) for t in types)
        source = self.origin or user_source()
        return self.add(Equation(primitive, atoms, params, outputs, source))

    def add(self, equation: Equation) -> list[Tracer]:
        """Add an equation whose inputs are atoms of this trace and whose outputs are new."""
        born = len(self.equations)
        self.equations.append(equation)
        for var in equation.outputs:
            self.producers[var], self.births[var] = equation, born
        return [Tracer(self, v) for v in equation.outputs]

    def copy(self, equation: Equation, inputs: Sequence[Any]) -> list[Tracer]:
        """Add an equation of another graph, applied to other values of the same types."""
        outputs = tuple(Var(v.type, v.name) for v in equation.outputs)
        atoms = tuple(self.atom(v) for v in inputs)
        return self.add(
            Equation(equation.primitive, atoms, equation.params, outputs, equation.source)
        )

    @contextmanager
    def at(self, source: Source) -> Iterator[None]:
        """Equations made in this context come from there, and get no name from the user's line."""
        before, self.origin = self.origin, source
        try:
            yield
        finally:
            self.origin = before

    # An array that is assigned to becomes another value of the graph. Its views are the same
    # equations again, applied to that one.

    def viewed(self, var: Var) -> Equation | None:
        """The equation that makes a value a view of another one, if it is that."""
        equation = self.producers.get(var)
        if equation is None or equation.primitive.kind != "view" or var in self.own:
            return None
        (x,) = equation.inputs
        is_repeated = equation.primitive.name == "broadcast_in_dim" and x.type.size != var.type.size
        return None if isinstance(x, Const) or is_repeated else equation

    def is_new(self, var: Var, since: int) -> bool:
        """Tell whether an array shares no memory with one older than so many equations."""
        while (view := self.viewed(var)) is not None:
            (behind,) = view.inputs
            assert isinstance(behind, Var)  # a view of a Const is none
            var = self.newest(behind)
        return self.births.get(var, -1) >= since

    def newest(self, var: Var) -> Var:
        """The value that an array holds now which once held this one."""
        chain: list[Equation] = []
        while True:
            while var in self.written:
                var = self.written[var]
            equation = self.viewed(var)
            if equation is None:
                break
            chain.append(equation)
            var = equation.inputs[0]  # type: ignore[assignment]  # a view of a Const is none
        for equation in reversed(chain):
            if equation.inputs[0] is var:
                var = equation.output
                continue
            key = (equation.output, var)
            if key not in self.rebuilt:
                (tracer,) = self.copy(equation, [Tracer(self, var)])
                self.rebuilt[key] = tracer._variable
            var = self.rebuilt[key]
        return var

    def value(self, var: Var) -> Any:
        """The value of a Var, or UNKNOWN."""
        if self.known is None:
            return UNKNOWN
        for equation in self._needed(var):
            values = [a.value if isinstance(a, Const) else self.known[a] for a in equation.inputs]
            if any(v is UNKNOWN for v in values):
                results: list[Any] = [UNKNOWN] * len(equation.outputs)
            else:
                results = evaluate(silenced(equation), values)
            self.known.update(zip(equation.outputs, results, strict=True))
        return self.known[var]

    def varies(self, var: Var) -> bool:
        """Tell whether a derivative that is wanted goes through a value: a number that Python takes
        out of the trace would have none."""
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
        """The equations that have to be computed for a value, in order; inputs become known."""
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
    """The results of one equation, by the NumPy column of its row."""
    with np.errstate(all="ignore"):
        result = equation.primitive.numpy(*values, **equation.params)
    results = [result] if isinstance(result, np.ndarray | np.generic) else list(result)
    return [
        np.asarray(r, dtype=v.type.dtype) for r, v in zip(results, equation.outputs, strict=True)
    ]


def constant(value: Any, what: str = "a constant") -> Const:
    """The Const of a Python scalar or an array; other things raise a TypeError."""
    if type(value) in PYTHON_SCALARS:
        try:
            return Const(np.array(value, PYTHON_SCALARS[type(value)]), weak=True)
        except OverflowError:
            raise OverflowError(f"{value} does not fit into an int64") from None
    if isinstance(value, np.generic | np.ndarray) or hasattr(value, "__array__"):
        array = np.asarray(value)
        return Const(array.astype(check_dtype(array.dtype, what), copy=False))
    raise TypeError(
        f"{user_source()}: {what} is a {type(value).__name__}, which is not an array: "
        f"{shown(value)}"
    )


# -------------------------------------------------------------------------- the trace under way


# By the module that wants it: what is called with a trace when it begins, and, once or more often,
# when it has ended.
AROUND_TRACES: dict[str, tuple[Callable[[Trace], None], Callable[[Trace], None]]] = {}


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """In this context no trace is under way: what has no traced operands is computed at once.

    What has some is an UnexpectedTracerError.
    """
    before, THREAD.traces = THREAD.traces, ()
    try:
        yield
    finally:
        THREAD.traces = before


def current_trace() -> Trace | None:
    """The trace under way in this thread, or None."""
    traces = THREAD.traces
    return traces[-1] if traces else None


def the_trace() -> Trace:
    """The trace under way, where there is one for sure."""
    trace: Trace = THREAD.traces[-1]
    return trace


def _under_way(trace: Trace, run: Callable[[], Result]) -> Result:
    """The result of `run()`, during which the trace is the one under way in this thread."""
    restore = as_before()

    def begin() -> None:
        for before, _ in AROUND_TRACES.values():
            before(trace)
        THREAD.traces = (*THREAD.traces, trace)

    def end() -> None:
        restore()
        trace.active = False
        for _, after in AROUND_TRACES.values():
            after(trace)

    return between(begin, run, end)


def bind(primitive: Primitive, *inputs: Any, **params: Any) -> Any:
    """Apply a primitive: one tracer, or a list where it has several results.

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
    is_differentiated: bool = False,
) -> tuple[Graph, list[Tracer], Any]:
    """Run `function(*tracers)`, which returns (list of result leaves, anything), and give its
    graph, the tracers of outer traces that it captures, and that `anything` (the callers pass the
    structure of the results).

    The graph's inputs are the captured values, then the arguments. `known` are the values of the
    arguments, or tracers of outer traces that may know theirs; `is_differentiated`: the derivative
    by them is wanted.
    """
    source = source or function_source(function)
    trace = Trace(name or str(getattr(function, "__name__", "f")), source)
    trace.inputs = [Var(t, n) for t, n in zip(types, names, strict=True)]
    if known is not None:
        trace.known = dict(zip(trace.inputs, known, strict=True))
        trace.varied = {
            var
            for var, value in trace.known.items()
            if is_differentiated
            or (isinstance(value, Tracer) and value.owner.varies(value.variable))
        }

    def run() -> tuple[tuple[Atom, ...], Any]:
        leaves, extra = function(*[Tracer(trace, v) for v in trace.inputs])
        return tuple(trace.atom(leaf) for leaf in leaves), extra

    try:
        outputs, extra = _under_way(trace, run)
    except (TypeError, ValueError) as problem:
        # np.zeros(traced) asks for an int, array[0] = traced for a float; they say something else
        # when they do not get one.
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
