"""Calls of a jitted function for which there is no executable: trace, compile, then run.

In static mode (`jit`) a trace is kept by the key of the call, with guards of what the function
reads besides its arguments. In dynamic mode (`djit`) every call is traced, with the values of its
arguments where they are arrays, and the trace is kept by its graph.
"""

from __future__ import annotations

import dataclasses
import time
import weakref
from collections.abc import Callable, Set
from dataclasses import field
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from transpile import tree
from transpile.dispatch import dynamic_shapes
from transpile.dispatch.flat_function import FlatFunction, output_names
from transpile.dispatch.switches import checked_values, explains_misses, is_jit_disabled
from transpile.dispatch.trace_cache import Traces, traces_of
from transpile.errors import (
    BLAMABLE,
    BranchError,
    CarryError,
    TracerRecursionError,
    TranspileError,
    blame,
    blamed,
)
from transpile.ir.graph import Graph
from transpile.ir.memory_layout import Gaps, Layout
from transpile.ir.source_info import user_source
from transpile.ir.types import PYTHON_SCALARS, ArrayType
from transpile.options import Options
from transpile.pytree.device_arrays import DeviceArray
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.runtime.mutated_arguments import layouts_of
from transpile.stages import Lowered, Traced
from transpile.targets import choice
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_arguments import Bound, Parameters
from transpile.trace.call_key import abstract, ndarray
from transpile.trace.call_signature import (
    TRACED,
    Signature,
    function_name,
    inner,
    place_of,
    signature,
)
from transpile.trace.captured_arrays import retried
from transpile.trace.frozen_draws import FrozenDraws
from transpile.trace.guards.checks import Watch
from transpile.trace.guards.executed_code import recorded
from transpile.trace.guards.survey import survey
from transpile.trace.history.record import Recorder
from transpile.trace.trace import current_trace, trace_function
from transpile.util.frozen_records import cached_property, dataclass
from transpile.util.interrupt_safety import THREAD, as_before, between
from transpile.util.lazy.imports import Later
from transpile.util.lazy.loggers import Log
from transpile.util.settings.product_precision import FULL
from transpile.util.terminal.status_line import waiting

if TYPE_CHECKING:
    from transpile.build import compiler_probe
    from transpile.dispatch import value_checks, warm_up
    from transpile.primitives.effects import arithmetic
    from transpile.runtime.dispatcher import Specialization
else:
    compiler_probe = Later("transpile.build.compiler_probe")
    arithmetic = Later("transpile.primitives.effects.arithmetic")
    value_checks = Later("transpile.dispatch.value_checks")
    warm_up = Later("transpile.dispatch.warm_up")

logger = Log("transpile")
_ARRAYS = (ndarray, DeviceArray)
# So many traces because of one captured value are worth a warning.
_MANY_CHANGES = 5


@dataclass(frozen=True)
class Config:
    """The arguments of `jit` besides the function; `device` is a name, "" for none. `precision` is
    that which calls ask for around them (`util/settings/product_precision.py`)."""

    parameters: Parameters
    static: bool = True
    show_graph: bool = False
    keep_unused: bool = False
    options: Options = field(default_factory=Options)
    warms_up: bool = False
    dynamic_shapes: dynamic_shapes.Setting = False
    python_control_flow: bool = True
    check_bounds: bool = False
    check_arithmetic: bool = False
    device: str = ""
    auto_device: bool = True
    precision: str = FULL

    def on_device(self, name: str) -> Config:
        """These for the device of a name."""
        options = dataclasses.replace(self.options, device=name)
        return dataclasses.replace(self, device=name, options=options)

    def in_precision(self, name: str) -> Config:
        """These for products that have a precision where they name none."""
        return dataclasses.replace(self, precision=name)


class Tracing:
    """A function, the settings with which it is traced, and the table of its traces, which jitted
    functions share."""

    def __init__(self, function: Callable[..., Any], config: Config) -> None:
        self.function = function
        self.config = config
        self.table: Traces = traces_of(function, config)

    def first_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call, tracing and compiling first where that is needed."""
        # While another function is traced, this one becomes a part of its graph.
        if is_jit_disabled() or current_trace() is not None:
            return resolved(self.function)(*args, **kwargs)
        with compiler_probe.probing(self.config.options):
            return self._first_call(args, kwargs)

    def _first_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        traced, key, leaves = self.traced(args, kwargs)
        self._check_values(traced, leaves)
        if self.config.show_graph:
            self._show(traced)
        lowered = traced.lower()
        if traced.jaxpr.sizes:
            return self._sized_call(traced, lowered, key, leaves)
        layouts = layouts_of(traced._signature, leaves, place_of(self.function))
        if self._is_heard():
            self._log_layouts(traced, lowered, layouts)
        searched = checked_values()
        if self.config.warms_up and not searched and self._is_on_host(leaves):
            warm = warm_up.result(lowered, layouts, leaves)
            if warm is not None:
                return warm[0]
        specialization = lowered.specialization(layouts)
        if self.config.static:
            with self.table.lock:
                self.table.keep_program(key, specialization, traced)
        if searched:
            return self._searched(traced, specialization, leaves)
        return specialization.run(leaves)

    def _is_on_host(self, leaves: list[Any]) -> bool:
        """True for a call that runs on the CPU."""
        is_named = self.config.options.device != choice.HOST
        return not is_named and not any(isinstance(x, DeviceArray) for x in leaves)

    def _check_values(self, traced: Traced, leaves: list[Any]) -> None:
        for path, leaf in zip(traced.in_paths, leaves, strict=True):
            if not isinstance(leaf, _ARRAYS) and type(leaf) not in PYTHON_SCALARS:
                raise TypeError(
                    f"{user_source()}: argument {path!r} of {place_of(self.function)} has a shape "
                    f"and a dtype, but no values: {leaf}. Pass an array, or use `lower`."
                )

    def _sized_call(self, traced: Traced, lowered: Lowered, key: Any, leaves: list[Any]) -> Any:
        """Make a call of a program with runtime sizes."""
        specialization = lowered.compile().calls.for_leaves(leaves)
        with self.table.lock:
            self.table.keep_program(key, specialization, traced)
        if checked_values():
            return self._searched(traced, specialization, leaves)
        return specialization.run(leaves)

    def _searched(self, traced: Traced, specialization: Specialization, leaves: list[Any]) -> Any:
        """The result of a call, which is searched for NaN or infinities."""
        before = value_checks.copied(leaves)
        result = specialization.run(leaves)
        results, _ = flatten_arrays(result)
        inputs = [before[k] for k in traced._signature.traced]
        value_checks.check_results(traced.jaxpr, inputs, results, self.config.options)
        return result

    def _show(self, traced: Traced) -> None:
        """Print the graph of a trace, once."""
        with self.table.lock:
            is_new = traced not in self._shown
            self._shown.add(traced)
        if is_new:
            print(traced.jaxpr)

    @cached_property
    def _shown(self) -> weakref.WeakSet[Traced]:
        return weakref.WeakSet()

    def traced(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Traced, Any, list[Any]]:
        """The trace for a call, its key and its leaves. Traces where the table has no trace with
        this key whose guards hold."""
        bound = self.config.parameters.bind(args, kwargs)
        bound.check_statics(place_of(self.function))
        call, leaves = signature(bound, place_of(self.function))
        if not self.config.static:
            return self._traced_dynamically(bound, call, leaves)
        describe, natives = self.config.parameters.describe, map(_native, leaves, call.types)
        key, _ = describe(*bound.join(*call.in_tree.unflatten(natives)), abstract)
        with self.table.lock:
            return self._generalised(bound, call, leaves), key, leaves

    def _generalised(self, bound: Bound, call: Signature, leaves: list[Any]) -> Traced:
        """The trace for a call, whose extents may be runtime sizes."""
        chosen, seen = self.config.dynamic_shapes, self.table.seen
        types = dynamic_shapes.generalised(chosen, call, seen)
        while types != call.types:
            if isinstance(chosen, tuple):
                return self._of_types(bound, call, types, leaves)
            assumed = dynamic_shapes.Assumed(types, call)
            trace = partial(self._of_types, bound, call, types, leaves)
            try:
                traced = assumed.held(trace)
                if chosen == "auto":
                    traced.lower().compile()
                return traced
            except (TranspileError, TypeError, ValueError, NotImplementedError) as error:
                if assumed.least and not assumed.is_short:
                    types = dynamic_shapes.longer(types, assumed, call, seen)
                    continue
                if chosen != "auto" and not assumed.is_short:
                    raise
                log = logger.warning if explains_misses() else logger.info
                log(
                    "%s: %s has no program for all sizes, but one for each: %s",
                    user_source(),
                    place_of(self.function),
                    error,
                )
                dynamic_shapes.refuse(types, call, seen)
                break
        return self._known_or_new(bound, call, leaves)

    def _of_types(
        self, bound: Bound, call: Signature, types: dynamic_shapes.Types, leaves: list[Any]
    ) -> Traced:
        """The trace for a call as one of these types."""
        return self._known_or_new(bound, dataclasses.replace(call, types=types), leaves)

    def _known_or_new(self, bound: Bound, call: Signature, leaves: list[Any]) -> Traced:
        """The trace of these types, if its guards hold; else a new one. The table is locked."""
        table, describe = self.table, self.config.parameters.describe
        pairs = zip(leaves, call.types, strict=True)
        unplaced = [t if isinstance(x, ndarray) else x for x, t in pairs]
        graph_key, _ = describe(*bound.join(*call.in_tree.unflatten(unplaced)), abstract)
        traced = table.traced.get(graph_key)
        changed = traced.watch.changed() if traced and traced.watch else ""
        if traced is None or changed:
            why = self._why(call, changed) if self._is_heard() else []
            if explains_misses():
                self._log_miss(why)
            if changed:
                self._count(changed)
            traced = self._trace_now(bound, call, leaves, guarded=True)
            table.add(graph_key, traced)
            self._log_trace(traced, why)
        return traced

    def _traced_dynamically(
        self, bound: Bound, call: Signature, leaves: list[Any]
    ) -> tuple[Traced, Any, list[Any]]:
        """As `traced`; Python numbers are constants of the graph, and the key is that of a
        graph."""
        fixed = tuple(x if type(x) in PYTHON_SCALARS else TRACED for x in leaves)
        if any(value is not TRACED for value in fixed):
            call = dataclasses.replace(call, fixed=fixed)
        traced = self._trace_now(bound, call, leaves, guarded=False)
        graph = traced.jaxpr
        sites = tuple(graph.sites())
        key = (graph.fingerprint(), sites, traced.in_tree, traced.out_tree, call.donated)
        with self.table.lock:
            if key not in self.table.traced and self._is_heard():
                why = self._why(call, "")
                if explains_misses():
                    self._log_miss(why)
                self._log_trace(traced, why)
            return self.table.recent(key, traced), key, leaves

    def _trace_now(self, bound: Bound, call: Signature, leaves: list[Any], guarded: bool) -> Traced:
        begin = time.perf_counter()
        guards = self._survey(bound) if guarded else None
        draws = FrozenDraws(self.function, dict(bound.statics.values())) if guarded else None
        executed = None
        recorder = Recorder()
        trace = partial(self._graph, bound, call, leaves, recorder)
        with waiting(f"tracing {function_name(self.function)}", is_last=False):
            if guards is not None and guards.takes_callbacks:
                outcome, executed = recorded(trace)
            else:
                outcome = trace()
        if THREAD.assumed is not None:
            THREAD.assumed.settle()
        graph, (out_tree, out_paths, known) = outcome
        if guards is not None and executed is not None:
            self._drop_callbacks(guards, bound, graph, executed)
        if draws is not None:
            draws.warn(place_of(self.function))
        settled = guards.settle() if guards else None
        if guards and guards.unseen and explains_misses():
            self._log_unseen(guards.unseen)
        return Traced(
            dataclasses.replace(graph, output_names=output_names(graph, out_paths)),
            dataclasses.replace(call, **known),
            out_tree,
            place_of(self.function),
            self._options(call, leaves),
            self.config.keep_unused,
            settled,
            recorder.record(time.perf_counter() - begin),
        )

    def _options(self, call: Signature, leaves: list[Any]) -> Options:
        """The options for a call: with the device of its arrays, where `jit` names none."""
        options = self.config.options
        devices = {x.device for x in leaves if isinstance(x, DeviceArray)}
        if not devices or self.config.device:
            return options
        on_host = [p for p, x in zip(call.paths, leaves, strict=True) if isinstance(x, ndarray)]
        if len(devices) > 1 or (on_host and not self.config.auto_device):
            where = ", ".join(
                f"{path!r} on {x.device if isinstance(x, DeviceArray) else 'the CPU'}"
                for path, x in zip(call.paths, leaves, strict=True)
                if isinstance(x, _ARRAYS)
            )
            raise ValueError(
                f"{user_source()}: {place_of(self.function)} is called with arrays of several "
                f"devices: {where}. Move them to one with device_put"
            )
        (device,) = devices
        return dataclasses.replace(options, device=choice.name_of(device, "device_put"))

    def _graph(
        self, bound: Bound, call: Signature, leaves: list[Any], recorder: Recorder
    ) -> tuple[Graph, Any]:
        """The graph of the function, and how its result is made of the outputs (`FlatFunction`)."""
        types = [call.types[i] for i in call.traced]
        names = call.identifiers()
        values = [leaves[i] for i in call.traced]
        concrete = not self.config.static and all(isinstance(v, _ARRAYS) for v in values)

        def attempt(begin: Callable[[], Any], _: bool) -> tuple[Graph, Any]:
            return trace_function(
                cast(Any, FlatFunction(self.function, bound, call, leaves, begin)),
                types,
                [names[i] for i in call.traced],
                name=function_name(self.function),
                known=[np.asarray(v, t.dtype) for v, t in zip(values, types, strict=True)]
                if concrete
                else None,
            )

        def begin() -> None:
            THREAD.record = recorder
            THREAD.converts = self.config.python_control_flow
            THREAD.platform = self._options(call, leaves).device.partition(":")[0]
            THREAD.checks_bounds = self.config.check_bounds
            THREAD.checks_arithmetic = self.config.check_arithmetic
            THREAD.arithmetic = arithmetic

        try:
            return between(begin, lambda: retried(attempt, self.function), as_before())
        except RecursionError as error:
            if not str(error).startswith("maximum recursion depth"):
                raise  # it says what is endless
            endless = TracerRecursionError(
                f"{place_of(self.function)}: it calls itself too often, or as long as a traced "
                "value says: while tracing both ways of an `if` are taken. Write it as a loop, or "
                "make the argument that ends it static (static_argnums or static_argnames)."
            )
            blame(endless, bound.names_of_numbers())
            raise endless from error
        except BLAMABLE as error:
            inputs = blamed(error) or recorder.counting
            pairs = zip(bound.names_of_leaves(), names, strict=True)
            causes = frozenset(argument for argument, leaf in pairs if leaf in inputs)
            is_unlike = isinstance(error, (BranchError, CarryError)) and blamed(error)
            if is_unlike and not causes <= bound.names_of_integers():
                causes = frozenset()  # a program for each of their values is one for each call
            blame(error, causes)
            raise

    def _survey(self, bound: Bound, without: Set[CodeType] = frozenset()) -> Watch:
        """The guards of what the function may read besides its traced arguments."""
        classes = {type(value) for _, _, value, _ in bound.traced}
        named = dict(bound.statics.values())
        for _, name, value, _ in bound.traced:  # a function among the fields of a dataclass
            held = [data for data in tree.structure(value).data_values() if callable(data)]
            named.update((f"{name}: {function_name(data)}", data) for data in held)
        return survey(self.function, inner(self.function), named, classes, without)

    def _drop_callbacks(
        self, watch: Watch, bound: Bound, graph: Graph, executed: Set[CodeType]
    ) -> None:
        """Drop the guards to which only callbacks lead that the trace did not call itself."""
        called_back = {code for site in graph.sites() for code in site.callback.codes}
        if without := called_back - executed:
            watch.restrict(self._survey(bound, without))

    def _log_unseen(self, what: list[str]) -> None:
        logger.warning(
            "%s: %s traces no new program when these change:\n%s",
            user_source(),
            place_of(self.function),
            "\n".join(f"  {line}" for line in what),
        )

    def _count(self, changed: str) -> None:
        """Count the traces that changes of one captured value have made; say so once."""
        counts = self.table.changes
        counts[changed] += 1
        if counts[changed] == _MANY_CHANGES:
            logger.warning(
                "%s: %s has been traced and compiled again %d times because %r, which it reads "
                "besides its arguments, had changed. Make it an argument of the function.",
                user_source(),
                place_of(self.function),
                _MANY_CHANGES,
                changed,
            )

    def _log_layouts(self, traced: Traced, lowered: Lowered, layouts: list[Layout]) -> None:
        """Say which arguments lie in memory otherwise than those that there are programs for."""
        built, kept = lowered.built_layouts(), lowered.kept_layouts(layouts)
        if not built or kept in built:
            return
        row_major = ((),) * len(lowered.kept)
        before, kept = built[-1] or row_major, kept or row_major
        log = logger.warning if explains_misses() else logger.info
        log(
            "%s: compiling %s again, because\n%s",
            user_source(),
            place_of(self.function),
            "\n".join(
                f"  argument {traced.in_paths[leaf]!r} lies in memory {_layout_text(now)}, "
                f"then {_layout_text(then)}"
                for leaf, now, then in zip(lowered.kept, before, kept, strict=True)
                if now != then
            ),
        )

    def _is_heard(self) -> bool:
        """True if somebody is told why calls trace."""
        return explains_misses() or logger.hears_information()

    def _why(self, call: Signature, changed: str) -> list[str]:
        """Why a call traces; a line for each argument that differs from the nearest trace."""
        earlier = [traced.differences(call) for traced in self.table.traced.values()]
        if changed:
            return [f"{changed!r}, which it reads besides its arguments, has changed"]
        if not earlier:
            return ["it has not been traced before"]
        nearest = min(earlier, key=len) or ["its graph differs"]
        return ["no earlier signature matches; the nearest differs in", *nearest]

    def _log_miss(self, why: list[str]) -> None:
        first, *others = why
        lines = [f"{user_source()}: tracing {place_of(self.function)}, because", f"  {first}"]
        logger.warning("\n".join([*lines, *(f"    {line}" for line in others)]))

    def _log_trace(self, traced: Traced, why: list[str]) -> None:
        """Say in a line what has been traced, for which call, and why."""
        if not logger.hears_information():
            return
        first, *differing = why
        count = len(traced.jaxpr.equations)
        logger.info(
            "%s: traced %s in %.1f ms, %d operation%s: %s",
            user_source(),
            place_of(self.function),
            1e3 * traced.seconds,
            count,
            "s" * (count != 1),
            "; ".join(differing) or first,
        )


def _layout_text(layout: Layout) -> str:
    """A layout in memory, as messages say it."""
    if not layout:
        return "row by row"
    if isinstance(layout, Gaps):
        return f"with gaps, at strides of {layout.strides} elements"
    return f"in the order of axes {layout}" if len(layout) > 2 else "column by column"


def _native(leaf: Any, kind: ArrayType) -> Any:
    """The leaf of which the key is made: for an array in another byte order its native type."""
    return kind if isinstance(leaf, ndarray) and leaf.dtype != kind.dtype else leaf
