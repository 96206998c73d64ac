"""What `jit` makes of a function: a callable that traces and compiles once for each signature."""

from __future__ import annotations

import dataclasses
import functools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from types import FunctionType, MethodType
from typing import Any, cast

import numpy as np

from transpile import tree
from transpile.dispatch.flat_function import OnLeaves, output_names
from transpile.dispatch.trace_cache import OfFunction, Traces
from transpile.ir.graph import Graph
from transpile.ir.source_info import user_source
from transpile.ir.types import PYTHON_SCALARS, ArrayType
from transpile.options import Options
from transpile.runtime.memory_pool import RESERVE
from transpile.stages import Lowered, Traced
from transpile.trace.call_arguments import Bound, Parameters
from transpile.trace.call_key import Rejected, abstract, ndarray
from transpile.trace.call_signature import (
    TRACED,
    Signature,
    function_name,
    inner,
    place_of,
    signature,
)
from transpile.trace.captured_arrays import retried
from transpile.trace.guard_survey import survey
from transpile.trace.guards import Watch
from transpile.trace.trace import current_trace, trace_function
from transpile.util.fork_safe_lock import Lock
from transpile.util.frozen_records import cached_property, dataclass
from transpile.util.lazy_logging import Log

logger = Log("transpile")


@dataclass(frozen=True)
class Config:
    """What `jit` was told, besides the function."""

    parameters: Parameters
    static: bool = True
    show_graph: bool = False
    keep_unused: bool = False
    options: Options = field(default_factory=Options)


class _State(threading.local):
    """What `disable_jit` sets, for each thread."""

    def __init__(self) -> None:
        self.disabled = False


_state = _State()
_disabled: list[None] = []  # an item for each thread in which `disable_jit` holds
_every: weakref.WeakSet[Traces] = weakref.WeakSet()
_explain = [False]
_tables_lock = Lock()


def _table_for(function: Any, config: Config) -> Traces:
    """The table of a function: two `jit`s of one function with equal settings share theirs."""
    with _tables_lock:
        if isinstance(function, FunctionType):
            table = OfFunction.of(function).table(config)
        else:
            table = Traces()
        _every.add(table)
    return table


class Wrapped:
    """A function that is compiled when it is called; `jit` makes it and says what it does."""

    __slots__ = ("__dict__", "__weakref__", "_entries")  # calls in C find `_entries` at its place

    __name__: str
    __wrapped__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any], config: Config) -> None:
        functools.update_wrapper(self, function, updated=())
        if not hasattr(function, "__name__"):
            self.__name__ = function_name(function)
            self.__qualname__ = self.__name__
        self.__wrapped__ = function
        self._function = function
        self._config = config
        self._parameters = config.parameters
        self._table = _table_for(function, config)
        self._fast = self._table.fast
        self._entries = self._table.entries
        self._plain = not config.parameters.any_static
        self._for_methods: Wrapped | None = None

    @property
    def options(self) -> Options:
        """The compiler's options."""
        return self._config.options

    def similar(self, function: Callable[..., Any]) -> Wrapped:
        """A function of the same arguments, jitted with the same settings, but for donation."""
        parameters = dataclasses.replace(
            self._parameters, donate_argnums=(), donate_argnames=frozenset()
        )
        return Wrapped(function, dataclasses.replace(self._config, parameters=parameters))

    def __repr__(self) -> str:
        return f"<{'jit' if self._config.static else 'djit'} of {place_of(self._function)}>"

    # -------------------------------------------------------------------------------- calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on these arguments, tracing and compiling where that has not been done."""
        if _state.disabled:
            return self._function(*args, **kwargs)
        leaves: Any = None
        found = None
        try:
            if self._plain and not kwargs:  # the usual cases, without a call
                if len(args) == 1:
                    (x,) = args
                    if type(x) is ndarray:
                        leaves = args
                        found = self._fast[x.dtype, x.shape]
                elif len(args) == 2:
                    x, y = args
                    if type(x) is ndarray and type(y) is ndarray:
                        leaves = args
                        found = self._fast[x.dtype, x.shape, y.dtype, y.shape]
            if leaves is None:
                key, leaves = self._parameters.describe(args, kwargs)
                found = self._fast[key]
        except (KeyError, TypeError, ValueError, RecursionError, Rejected):
            pass  # what follows may raise, and that error has nothing to do with this one
        if found is None:
            return self._first_call(args, kwargs)
        (execute, kept, finish), watch = found
        if watch is not None and watch.changed():
            return self._first_call(args, kwargs)
        results = execute(leaves if kept is None else [leaves[i] for i in kept])
        return results[0] if finish is None else finish(results)

    def _first_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if current_trace() is not None:  # inside another traced function: become part of it
            return self._function(*args, **kwargs)
        traced, key, leaves = self._traced(args, kwargs)
        compiled = traced.lower().compile()
        for path, leaf in zip(traced.in_paths, leaves, strict=True):
            if not isinstance(leaf, ndarray) and type(leaf) not in PYTHON_SCALARS:
                raise TypeError(
                    f"{user_source()}: argument {path!r} of {place_of(self._function)} has a shape "
                    f"and a dtype, but no values: {leaf}. Pass an array, or use `lower`."
                )
        with self._table.lock:
            shown = traced in self._shown
            if self._config.static:
                self._table.keep(key, compiled, traced.watch, Wrapped, _disabled)
        if self._config.show_graph and not shown:
            self._shown.add(traced)
            print(traced.jaxpr)
        return compiled.run(leaves)

    @cached_property
    def _shown(self) -> weakref.WeakSet[Traced]:
        return weakref.WeakSet()

    # ------------------------------------------------------------------------------- stages

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace for these arguments (arrays, or any objects with `shape` and `dtype`)."""
        return self._traced(args, kwargs)[0]

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower for these arguments, as `trace(...).lower()`."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The result's pytree with a ShapeDtypeStruct for each array. Nothing is compiled."""
        return self.trace(*args, **kwargs).out_info

    def clear_cache(self) -> None:
        """Forget every trace and executable of this function (the cache on disk stays)."""
        self._table.clear()

    def _cache_size(self) -> int:
        """How many signatures (dynamic: graphs) have an executable or a trace."""
        return len(self._table.traced)

    def _traced(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Traced, Any, list[Any]]:
        """The trace for a call, its key and its leaves; traced only when there is none."""
        bound = self._parameters.bind(args, kwargs)
        bound.check_statics(place_of(self._function))
        known, leaves = signature(bound, place_of(self._function))
        _check_hashable(known, place_of(self._function))
        if not self._config.static:
            return self._traced_dynamically(bound, known, leaves)
        natives = map(_native, leaves, known.types)
        full = bound.join(*known.in_tree.unflatten(natives))
        key, _ = self._parameters.describe(*full, abstract)
        table = self._table
        with table.lock:
            traced = table.traced.get(key)
            changed = traced.watch.changed() if traced and traced.watch else ""
            if traced is None or changed:
                if _explain[0]:
                    self._log_miss(known, changed)
                traced = self._trace_now(bound, known, leaves, watch=True)
                table.traced[key] = traced
        return traced, key, leaves

    def _traced_dynamically(
        self, bound: Bound, known: Signature, leaves: list[Any]
    ) -> tuple[Traced, Any, list[Any]]:
        fixed = tuple(x if type(x) in PYTHON_SCALARS else TRACED for x in leaves)
        if any(value is not TRACED for value in fixed):
            known = dataclasses.replace(known, fixed=fixed)
        traced = self._trace_now(bound, known, leaves, watch=False)
        graph = traced.jaxpr
        sites = tuple(graph.sites())
        key = (graph.fingerprint(), sites, traced.in_tree, traced.out_tree, known.donated)
        with self._table.lock:
            if key not in self._table.traced and _explain[0]:
                self._log_miss(known, "")
            return self._table.traced.setdefault(key, traced), key, leaves

    def _trace_now(self, bound: Bound, known: Signature, leaves: list[Any], watch: bool) -> Traced:
        places = known.traced
        names = known.identifiers()
        values = [leaves[place] for place in places]
        concrete = not self._config.static and all(isinstance(v, ndarray) for v in values)
        surroundings = self._survey(bound) if watch else None

        def attempt(give: Callable[[], Any], _: bool) -> tuple[Graph, Any]:
            return trace_function(
                cast(Any, OnLeaves(self._function, bound, known, leaves, give)),
                [known.types[place] for place in places],
                [names[place] for place in places],
                name=function_name(self._function),
                known=[
                    np.asarray(v, known.types[p].dtype) for v, p in zip(values, places, strict=True)
                ]
                if concrete
                else None,
            )

        found = retried(attempt, self._function)
        watch_after = surroundings.settle() if surroundings else None
        if surroundings and surroundings.unseen and _explain[0]:
            self._log_unseen(surroundings.unseen)
        graph, (out_tree, out_paths, positions, written, ordered) = found
        known = dataclasses.replace(known, written=written, ordered=ordered, places=positions)
        return Traced(
            dataclasses.replace(graph, output_names=output_names(graph, out_paths)),
            known,
            out_tree,
            place_of(self._function),
            self._config.options,
            self._config.keep_unused,
            watch_after,
        )

    def _survey(self, bound: Bound) -> Watch:
        """The guards of what the function may read besides its traced arguments."""
        classes = {type(value) for _, _, value, _ in bound.traced}
        named = dict(bound.statics.values())
        return survey(self._function, inner(self._function), named, classes)

    def _log_unseen(self, what: list[str]) -> None:
        logger.warning(
            "%s: %s traces no new program when these change:\n%s",
            user_source(),
            place_of(self._function),
            "\n".join(f"  {line}" for line in what),
        )

    def _log_miss(self, known: Signature, changed: str) -> None:
        earlier = [traced.differences(known) for traced in self._table.traced.values()]
        lines = [f"{user_source()}: tracing {place_of(self._function)}, because"]
        if changed:
            lines.append(f"  {changed!r}, which it reads from its surroundings, has changed")
        elif not earlier:
            lines.append("  it has not been traced before")
        else:
            nearest = min(earlier, key=len) or ["its graph differs"]
            lines.append("  no earlier signature fits; the nearest differs in")
            lines += [f"    {line}" for line in nearest]
        logger.warning("\n".join(lines))

    # ------------------------------------------------------------------------------ methods

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a function in a class body: bound to the instance that it is reached through."""
        return self if instance is None else BoundWrapped(self._bindable(instance), instance)

    def _bindable(self, instance: Any) -> Wrapped:
        """This, or a sibling that takes a `self` that is no pytree for a static argument."""
        parameters = self._parameters
        if (
            0 in parameters.static_argnums
            or not parameters.positional
            or hasattr(instance, "__array__")
            or tree.one_level(instance) is not None
        ):
            return self
        if self._for_methods is None:
            parameters = dataclasses.replace(
                parameters, static_argnums=(0, *parameters.static_argnums), any_static=True
            )
            config = dataclasses.replace(self._config, parameters=parameters)
            self._for_methods = Wrapped(self._function, config)
        return self._for_methods

    def __copy__(self) -> Wrapped:
        return self

    def __deepcopy__(self, _: Any) -> Wrapped:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        """By name where another process can import it; else by the function and the settings."""
        module, name = self.__module__, self.__qualname__
        if _at(module, name) is not self:
            return _jitted, (self._function, self._config, module, name)
        if module not in ("__main__", "__mp_main__"):
            return name
        if isinstance(self._function, FunctionType):
            # Where pickle finds the function: its own name leads to this. Cloudpickle has its code.
            self._function.__qualname__ = f"{name}.__wrapped__"
        return _jitted, (self._function, self._config, module, name)


def _at(module: str, name: str) -> Any:
    """What stands in a module under a name with dots."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _jitted(function: Any, config: Config, module: str, name: str) -> Wrapped:
    """The function that a pickle holds: the very one where it is in this process."""
    found = _at(module, name)
    if type(found) is Wrapped and found.__wrapped__ is function and found._config == config:
        return found
    if isinstance(function, FunctionType):
        function.__qualname__ = name
    return Wrapped(function, config)


class BoundWrapped:
    """A jitted method of an instance: `obj.method`, with the members of Wrapped."""

    __slots__ = ("__self__", "__wrapped__", "_jitted")

    def __init__(self, jitted: Wrapped, instance: Any) -> None:
        self._jitted = jitted
        self.__self__ = instance
        self.__wrapped__ = MethodType(jitted.__wrapped__, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the method."""
        return self._jitted(self.__self__, *args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """As Wrapped.trace."""
        return self._jitted.trace(self.__self__, *args, **kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """As Wrapped.lower."""
        return self._jitted.lower(self.__self__, *args, **kwargs)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """As Wrapped.eval_shape."""
        return self._jitted.eval_shape(self.__self__, *args, **kwargs)

    def similar(self, function: Callable[..., Any]) -> Wrapped:
        """As Wrapped.similar, for a function without `self`."""
        parameters = self._jitted._parameters
        # What is counted from the end stays where it is.
        statics = tuple(n - (n > 0) for n in parameters.static_argnums if n != 0)
        bound = dataclasses.replace(
            parameters,
            positional=parameters.positional[1:],
            static_argnums=statics,
            any_static=bool(parameters.static_argnames or statics),
        )
        config = dataclasses.replace(self._jitted._config, parameters=bound)
        return Wrapped(function, config).similar(function)

    def clear_cache(self) -> None:
        """As Wrapped.clear_cache, for all instances."""
        self._jitted.clear_cache()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jitted, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.__self__, self._jitted.__name__)


# ------------------------------------------------------------------------------------- tracing


def _native(leaf: Any, kind: ArrayType) -> Any:
    """What stands in a key for a leaf: its type, for an array of another byte order."""
    return kind if isinstance(leaf, ndarray) and leaf.dtype != kind.dtype else leaf


def _check_hashable(known: Signature, where: str) -> None:
    try:
        hash(known.in_tree)
    except TypeError:
        raise TypeError(
            f"{user_source()}: a container among the arguments of {where} has data (what is not an "
            f"array in it) that cannot be hashed: {known.in_tree}. Let its flatten function give "
            f"hashable data, such as a tuple for a list."
        ) from None


# ------------------------------------------------------------------------------------ switches


@contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """In this context and thread, jitted functions run their Python on NumPy arrays."""
    before = _state.disabled
    switch_jit(disable)
    try:
        yield
    finally:
        switch_jit(before)


def switch_jit(is_disabled: bool) -> None:
    """From now on, in this thread, what `disable_jit` does in its context; or no longer."""
    if is_disabled and not _state.disabled:
        _disabled.append(None)
    elif _state.disabled and not is_disabled:
        _disabled.pop()
    _state.disabled = is_disabled


def is_jit_disabled() -> bool:
    """Tell whether the code is in the context of `disable_jit`."""
    return _state.disabled


def clear_caches() -> None:
    """Forget every trace and executable of every jitted function, and give the memory that is kept
    for results back to the system. The cache on disk stays."""
    with _tables_lock:  # other threads may be adding theirs
        tables = list(_every)
    for table in tables:
        table.clear()
    RESERVE.clear()


class explain_cache_misses:  # used as a function and as a context
    """Log why a call traces: which argument differs from the nearest earlier signature, and how.

    `explain_cache_misses()` switches it on, `explain_cache_misses(False)` off; as a context it does
    so until the end of the block. The lines go to the logger "transpile", as warnings.
    """

    def __init__(self, enable: bool = True) -> None:
        self._before = _explain[0]
        _explain[0] = enable

    def __enter__(self) -> None:
        """Nothing more to do."""

    def __exit__(self, *exception: object) -> None:
        _explain[0] = self._before
