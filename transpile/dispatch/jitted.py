"""The jitted function, `jit(f)`: a callable that traces and compiles once for each signature.

As a method it is bound to its instance: an instance that is no pytree is a static argument, whose
attributes are guarded. `C.f(instance, x)`, `super().f(x)`, a property over a jitted function and a
class method reach the function without `__get__`, and are the same call; so a function of a class
body takes instances and subclasses of that class. In a pickle it goes by name or by its function
and settings.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from transpile import tree
from transpile.dispatch.static_arguments import StaticArguments
from transpile.dispatch.switches import DISABLED, is_suspended_or_other
from transpile.dispatch.tracing import Config, Tracing
from transpile.options import Options
from transpile.runtime.devices import CPU, current_default
from transpile.runtime.dispatcher import (
    CalledBySlot,
    Dispatcher,
    InstanceSignature,
    Specializations,
)
from transpile.stages import Lowered, Traced
from transpile.targets import choice
from transpile.trace.call_arguments import Parameters
from transpile.trace.call_signature import function_name, place_of
from transpile.trace.trace import current_trace
from transpile.trace.tracebacks import api_boundary
from transpile.util.lazy.imports import Later
from transpile.util.settings.product_precision import precision_in_effect

if TYPE_CHECKING:
    from transpile.explore import notebook
else:
    notebook = Later("transpile.explore.notebook")


class _Doc:
    """`__doc__` of bound methods: that of the method; of their class: its own."""

    def __init__(self, own: str | None) -> None:
        self._own = own

    def __get__(self, instance: Any, owner: type) -> str | None:
        return self._own if instance is None else instance.__wrapped__.__doc__


class Wrapped(metaclass=CalledBySlot):
    """A function that is compiled when it is called; see `jit`.

    A call traces and compiles the function where no executable has the signature of the arguments.
    `__call__` is a slot that the dispatcher fills, see `runtime/dispatcher.py`.
    """

    # Slots, not attributes in `__dict__`, which `functools.wraps` copies to other functions.
    __slots__ = (
        "__call__",
        "__dict__",
        "__weakref__",
        "_config",
        "_function",
        "_methods",
        "_parameters",
        "_statics",
        "_tracing",
    )

    __call__: Callable[..., Any]
    __name__: str
    __signature__ = InstanceSignature(lambda own: inspect.signature(own.__wrapped__))
    __wrapped__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any], config: Config) -> None:
        functools.update_wrapper(self, function, updated=())
        if not hasattr(function, "__name__"):
            self.__name__ = function_name(function)
            self.__qualname__ = self.__name__
        if isinstance(function, functools.partial):  # its own says what a partial is
            self.__doc__ = function.func.__doc__
        self.__wrapped__ = function
        self._function = function
        self._config = config
        self._parameters = config.parameters
        self._tracing = Tracing(function, config)
        make = functools.partial(_with_entries_in, self._tracing.table)
        self._statics = StaticArguments(function, config, make, (Wrapped, BoundWrapped))
        self._methods = _Methods(function, config, self._first_call())
        Dispatcher(
            self._tracing.table,
            config.parameters.describe,
            self._methods.first_call,
            DISABLED,
            functools.partial(is_suspended_or_other, config.device, config.precision),
        ).attach(self)

    def _first_call(self) -> Callable[..., Any]:
        """What makes a call that has no executable. It does not refer to the jitted function."""
        run, statics = self._tracing.first_call, self._statics
        return lambda args, kwargs: statics.called(run, lambda sibling: sibling, (args, kwargs))

    @property
    def options(self) -> Options:
        """The compiler's options."""
        return self._config.options

    @property
    def parameters(self) -> Parameters:
        """The parameters, and which of them are static or donated."""
        return self._parameters

    def similar(self, function: Callable[..., Any]) -> Wrapped:
        """A function of the same arguments, jitted with the same settings except donation."""
        parameters = dataclasses.replace(
            self._parameters, donate_argnums=(), donate_argnames=frozenset()
        )
        return Wrapped(function, dataclasses.replace(self._config, parameters=parameters))

    def __repr__(self) -> str:
        return f"<{'jit' if self._config.static else 'djit'} of {place_of(self._function)}>"

    def _repr_html_(self) -> str:
        with self._tracing.table.lock:
            traced = [*self._tracing.table.traced.values()]
        return notebook.jitted_fragment(repr(self)[1:-1], self._function, traced)

    # ------------------------------------------------------------------------------- stages

    @api_boundary
    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace for these arguments (arrays, or any objects with `shape` and `dtype`)."""
        own = self._methods.of_call(args) or self
        own = own._methods.of_surroundings() or own
        return own._statics.called(  # type: ignore[no-any-return]
            lambda *call: own._tracing.traced(*call)[0],
            lambda sibling: sibling.trace,
            (args, kwargs),
        )

    @api_boundary
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower for these arguments, as `trace(...).lower()`."""
        return self.trace(*args, **kwargs).lower()

    @api_boundary
    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The result's pytree with a ShapeDtypeStruct for each array. Nothing is compiled."""
        return self.trace(*args, **kwargs).out_info

    def clear_cache(self) -> None:
        """Drop every trace and executable of this function, those of calls as a method too, and the
        instances that these keep alive; the cache on disk stays."""
        self._tracing.table.clear()
        self._methods.clear()
        for sibling in self._statics.siblings.values():
            sibling.clear_cache()

    def _cache_size(self) -> int:
        """How many signatures (dynamic: graphs) have an executable or a trace."""
        others = sum(sibling._cache_size() for sibling in self._statics.siblings.values())
        return len(self._tracing.table.traced) + self._methods.count() + others

    # ------------------------------------------------------------------------------ methods

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind a jitted function in a class body to the instance, as Python does functions."""
        if instance is None or isinstance(self._function, staticmethod):
            return self
        return BoundWrapped(self._methods.of_instance(instance) or self, instance)

    def __copy__(self) -> Wrapped:
        return self

    def __deepcopy__(self, _: Any) -> Wrapped:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        """The name, where another process can import that; else the function and the settings."""
        module, name = self.__module__, self.__qualname__
        if _at(module, name) is not self:
            return _jitted, (self._function, self._config, module, name)
        if not _goes_by_value(module):
            return name
        if isinstance(self._function, FunctionType):
            # pickle finds the function under this name; its own names the jitted function.
            self._function.__qualname__ = f"{name}.__wrapped__"
        return _jitted, (self._function, self._config, module, name)


def _with_entries_in(
    outer: Specializations, function: Callable[..., Any], config: Config
) -> Wrapped:
    """A jitted function that makes calls of another one with equal arguments, whose table is
    `outer`. As their values may be new in each call, it keeps a bounded number of programs."""
    made = Wrapped(function, config)
    made._tracing.table.outer = outer
    made._tracing.table.is_bounded = True
    return made


class _Methods:
    """The calls of a jitted function as a method: those with an instance, or a class, in front that
    is neither an array nor a pytree. A sibling of the function makes them, whose first argument is
    static. Like the dispatcher, this does not refer to the jitted function."""

    def __init__(
        self, function: Callable[..., Any], config: Config, otherwise: Callable[..., Any]
    ) -> None:
        self._function = function
        self._config = config
        self._otherwise = otherwise
        self._sibling: Wrapped | None = None
        self._elsewhere: dict[tuple[str, str], Wrapped] = {}

    def of_surroundings(self) -> Wrapped | None:
        """The sibling for the default device, and for the precision of products that is asked for;
        None where they are this function's."""
        config, precision = self._config, precision_in_effect()
        device = self._default_device()
        if not device and precision == config.precision:
            return None
        key = device, precision
        if key not in self._elsewhere:
            config = config.on_device(device) if device else config
            self._elsewhere[key] = Wrapped(self._function, config.in_precision(precision))
        return self._elsewhere[key]

    def _default_device(self) -> str:
        """The name of the default device; "" where that is the CPU, and where functions run where
        `jit` says, or where their arguments are."""
        device = current_default()
        if device is CPU or self._config.device or not self._config.auto_device:
            return ""
        return choice.name_of(device, "default_device")

    def of_instance(self, instance: Any) -> Wrapped | None:
        """The sibling for an instance to which the function is bound; None where the function takes
        it as it is."""
        parameters = self._config.parameters
        if (
            0 in parameters.static_argnums
            or not parameters.positional
            or hasattr(type(instance), "__array__")
            or tree.one_level(instance) is not None
        ):
            return None
        if self._sibling is None:
            parameters = dataclasses.replace(
                parameters,
                static_argnums=(0, *parameters.static_argnums),
                any_static=True,
                has_receiver=True,
            )
            config = dataclasses.replace(self._config, parameters=parameters)
            self._sibling = Wrapped(self._function, config)
        return self._sibling

    def of_call(self, args: tuple[Any, ...]) -> Wrapped | None:
        """The sibling for a call of the function itself whose first argument is an instance of the
        class in whose body the function is defined, that class, or a subclass."""
        if not args or not _is_receiver(self._function, args[0]):
            return None
        return self.of_instance(args[0])

    def clear(self) -> None:
        """Drop the traces of the siblings."""
        for sibling in self._siblings():
            sibling.clear_cache()

    def count(self) -> int:
        """How many signatures the siblings have."""
        return sum(sibling._cache_size() for sibling in self._siblings())

    def _siblings(self) -> list[Wrapped]:
        own = [] if self._sibling is None else [self._sibling]
        return [*own, *self._elsewhere.values()]

    def first_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call for which the function has no executable."""
        method = self.of_call(args)
        if method is None and current_trace() is None:
            method = self.of_surroundings()
        return self._otherwise(args, kwargs) if method is None else method(*args, **kwargs)


def _is_receiver(function: Any, value: Any) -> bool:
    """True for an instance of the class in whose body a function is defined, for that class, and
    for those of its subclasses."""
    body = getattr(function, "__qualname__", "").rpartition(".")[0]
    module = getattr(function, "__module__", None)
    classes = value.__mro__ if isinstance(value, type) else type(value).__mro__
    return bool(body) and any(c.__qualname__ == body and c.__module__ == module for c in classes)


# The copies of cloudpickle that other packages bring, each with a register of its own.
_CLOUDPICKLES = ("cloudpickle", "ray.cloudpickle", "joblib.externals.cloudpickle")


def _goes_by_value(module: str) -> bool:
    """True for a module that other processes cannot import: the script, and those that cloudpickle
    has been told to pickle by value (`register_pickle_by_value`), with all below them."""
    if module in ("__main__", "__mp_main__"):
        return True
    registered: set[str] = set()
    for name in _CLOUDPICKLES:
        found = sys.modules.get(f"{name}.cloudpickle")
        if found is not None:
            registered |= found.list_registry_pickle_by_value()
    parts = module.split(".")
    return any(".".join(parts[: n + 1]) in registered for n in range(len(parts)))


def _at(module: str, name: str) -> Any:
    """The value of a dotted name in a module, or None."""
    value: Any = sys.modules.get(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def _jitted(function: Any, config: Config, module: str, name: str) -> Wrapped:
    """The unpickled function: the one of that name where this process has it, else a new one."""
    named = _at(module, name)
    if type(named) is Wrapped and named.__wrapped__ is function and named._config == config:
        return named
    if isinstance(function, FunctionType):
        function.__qualname__ = name
    return Wrapped(function, config)


class BoundWrapped:
    """A jitted method bound to an instance, with the members of Wrapped."""

    __slots__ = ("__self__", "__weakref__", "__wrapped__", "_jitted")

    __doc__ = _Doc(__doc__)
    __signature__ = InstanceSignature(lambda own: inspect.signature(own.__wrapped__))

    def __init__(self, jitted: Wrapped, instance: Any) -> None:
        self._jitted = jitted
        self.__self__ = instance
        self.__wrapped__ = MethodType(jitted.__wrapped__, instance)

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method."""
        return self._jitted(self.__self__, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<bound {self._jitted!r} of {self.__self__!r}>"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BoundWrapped)
            and self.__self__ is other.__self__
            and self._jitted is other._jitted
        )

    def __hash__(self) -> int:
        return hash((id(self.__self__), self._jitted))

    @property
    def __func__(self) -> Wrapped:
        """The jitted function, as for a method."""
        return self._jitted

    @api_boundary
    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """As Wrapped.trace."""
        return self._jitted.trace(self.__self__, *args, **kwargs)

    @api_boundary
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """As Wrapped.lower."""
        return self._jitted.lower(self.__self__, *args, **kwargs)

    @api_boundary
    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """As Wrapped.eval_shape."""
        return self._jitted.eval_shape(self.__self__, *args, **kwargs)

    def similar(self, function: Callable[..., Any]) -> Wrapped:
        """As Wrapped.similar, for a function without `self`."""
        parameters = self._jitted._parameters
        # Negative positions count from the end and stay.
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
