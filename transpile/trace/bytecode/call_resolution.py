"""Which function a call in traced code is of: NumPy's constructors become ours, functions of users
run as rewritten copies.

A traced function runs as a copy in which each call first asks here (`trace/bytecode/rewriting.py`),
and so do the functions that it calls, which are discovered as they are called: helpers, methods,
closures, partials, instances with `__call__`, constructors of classes. Nothing that others can see
is changed: no attribute of NumPy's, no global, no function. Outside of a trace of this thread the
copies call what the originals call.

Functions of the standard library (but for those that wrap others), of NumPy and of transpile are
not copied; transpile asks here for the functions that users hand to it.
"""

from __future__ import annotations

import collections
import functools
import inspect
import itertools
import operator
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from transpile import tree
from transpile.errors import TracerError
from transpile.trace.bytecode.made_arrays import (
    check_assignment,
    check_subscript,
    is_chosen_by_trace,
)
from transpile.trace.bytecode.rewriting import Marker, original, rewritten
from transpile.trace.bytecode.watched_calls import watched
from transpile.trace.frozen_draws import takes_a_seed, warn_of_seed
from transpile.trace.static_lookup import in_class
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD
from transpile.util.lazy.imports import imported

# By id: a callable, or what is written with brackets, and what takes its place in traced code.
SUBSTITUTES: dict[int, tuple[Any, Any]] = {}
# By class: what is called in the place of its instances.
OF_INSTANCES: dict[type, Callable[[Any], Callable[..., Any]]] = {}

# By class: what is called in the place of its methods.
OF_METHODS: dict[type, Callable[[Any], Callable[..., Any]]] = {}
# By package: the module whose `substitute` says what is called in the place of its callables, and
# whose `operand` what is multiplied in the place of its matrices.
_OF_PACKAGES = {"scipy": "transpile.scipy.calls"}
# By the name of a class in C that names no module: its package. `splu` gives such an object.
_NOT_PYTHONS = {"SuperLU": "scipy"}

_CONTAINERS = (list, collections.deque, dict)
_WRAPPERS = frozenset(("contextlib", "functools"))
_NOT_COPIED = (sys.stdlib_module_names - _WRAPPERS - {"__main__"}) | {"numpy", "transpile"}
# Functions that call the functions which they are given.
_CALLERS: tuple[Any, ...] = (
    *(map, filter, sorted, min, max, functools.reduce, itertools.starmap, itertools.accumulate),
    *(itertools.takewhile, itertools.dropwhile, itertools.filterfalse, itertools.groupby),
    *(tree.map, tree.reduce, tree.reduce_associative, tree.map_with_path),
)


class Resolver(Marker):
    """A constant of rewritten code, which the operators are instructions of that code on."""

    __slots__ = ()

    def __matmul__(self, callee: Any) -> Any:
        """What is called in the place of a callable."""
        found = resolved(callee)
        if THREAD.python is not None and type(getattr(callee, "__self__", None)) in _CONTAINERS:
            found = THREAD.python.method(callee) or found
        if not THREAD.traces or not THREAD.traces[-1].is_region or _is_replaced(callee):
            return found
        return watched(callee, found)

    def __or__(self, subscripted: tuple[Any, Any]) -> Any:
        """What is subscripted in the place of a container, of (container, index)."""
        container, key = subscripted
        if THREAD.traces:
            check_subscript(container, key)
            if type(container) is np.ndarray and is_chosen_by_trace(key):
                return THREAD.traces[-1].lifted(container)
            if id(container) in SUBSTITUTES:
                return SUBSTITUTES[id(container)][1]
            if THREAD.python is not None:
                return THREAD.python.subscripted(container, key)
        return container

    def __and__(self, value: Any) -> Any:
        """What has the attribute `at` in the place of an object: of an array, a traced one."""
        is_array = THREAD.traces and isinstance(value, np.ndarray | np.generic)
        return THREAD.traces[-1].lifted(value) if is_array else value

    def __mod__(self, operands: tuple[Any, Any]) -> Any:
        """What is multiplied in the place of the left operand of a product `@`."""
        left = operands[0]
        if THREAD.traces:
            for value in operands:
                module = _module_of(type(value).__module__)
                if module is not None:
                    return module.operand(*operands)
            if isinstance(left, np.ndarray) and _has_traced(operands[1]):
                return THREAD.traces[-1].lifted(left)
        return left

    def __sub__(self, value: Any) -> Any:
        """What is compared with True or False, as an object, in the place of a value."""
        is_bool = isinstance(value, Tracer) and value.dtype.kind == "b" and not value.ndim
        return bool(value) if is_bool else value

    def __xor__(self, assigned: tuple[Any, ...]) -> None:
        """What is done before an assignment of (value, container, index ...)."""
        if THREAD.traces:
            check_assignment(*assigned)


def _is_replaced(callee: Any) -> bool:
    """True where another function is called in the place of a callable of Python's or NumPy's."""
    ours = THREAD.python
    return id(callee) in SUBSTITUTES or (ours is not None and id(callee) in ours.substitutes)


def _has_traced(value: Any) -> bool:
    """True for a list or a tuple, of lists or tuples perhaps, with a traced value."""
    if isinstance(value, list | tuple):
        return any(map(_has_traced, value))
    return isinstance(value, Tracer)


def resolved(callee: Any) -> Any:
    """What a traced function calls in the place of a callable: that itself, for the most part."""
    if not THREAD.traces:
        return callee
    if THREAD.python is not None and id(callee) in THREAD.python.substitutes:
        return THREAD.python.substitutes[id(callee)][1]
    if id(callee) in SUBSTITUTES:
        return SUBSTITUTES[id(callee)][1]
    kind = type(callee)
    ours = of_package(callee)
    if ours is not None:
        return ours
    if kind is FunctionType:
        return _copy(callee)
    if kind is MethodType:
        function = resolved(callee.__func__)
        return callee if function is callee.__func__ else MethodType(function, callee.__self__)
    if issubclass(kind, type) and in_class(kind, "__call__") is vars(type)["__call__"]:
        return _constructor(callee)
    if kind is functools.partial:
        function = resolved(callee.func)
        if function is callee.func:
            return callee
        return functools.partial(function, *callee.args, **callee.keywords)
    for cls in kind.__mro__:
        if cls in OF_INSTANCES:
            return OF_INSTANCES[cls](callee)
    if kind is BuiltinFunctionType and type(callee.__self__) in OF_METHODS:
        return OF_METHODS[type(callee.__self__)](callee)
    method = in_class(kind, "__call__")
    if type(method) is FunctionType and _is_copied(method):
        return MethodType(_copy(method), callee)
    if "cython" in kind.__name__ or kind.__name__ == "fortran":
        return functools.partial(_compiled, callee)
    return callee


def of_package(callee: Any, package: str | None = None) -> Any:
    """What the package of a callable has in its place; None where it has nothing. A ufunc does not
    tell its package."""
    module = _module_of(package or getattr(callee, "__module__", None) or _package_in_c(callee))
    return None if module is None else module.substitute(callee)


def _package_in_c(method: Any) -> str | None:
    """The package of a method in C whose class says that it is one of Python's own, and is not."""
    cls = type(getattr(method, "__self__", None))
    return _NOT_PYTHONS.get(cls.__name__) if cls.__module__ == "builtins" else None


def _module_of(name: Any) -> Any:
    """Our module of the package that a module of this name is of; None where there is none."""
    ours = _OF_PACKAGES.get(name.partition(".")[0]) if type(name) is str else None
    return None if ours is None else imported(ours)


def _is_copied(function: FunctionType) -> bool:
    module = function.__globals__.get("__name__")
    return type(module) is not str or module.partition(".")[0] not in _NOT_COPIED


def _copy(function: FunctionType) -> Any:
    """The function with rewritten code, and all else the same."""
    code = function.__code__
    if not _is_copied(function):
        return _around_users(function)
    is_copy = original(code) is not code
    is_generator = code.co_flags & inspect.CO_GENERATOR and code.co_name != "<genexpr>"
    if THREAD.python is not None and is_generator:
        return THREAD.python.generating(function, function if is_copy else resolving(function))
    if is_copy:
        return function
    if THREAD.record is not None:
        THREAD.record.called(code)
    return resolving(function if THREAD.python is None else THREAD.python.converted(function))


def resolving(function: FunctionType) -> FunctionType:
    """The function with code that asks before each call which function to call."""
    code = function.__code__
    copy = FunctionType(
        rewritten(code, code.co_filename, Resolver),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    copy.__dict__.update(function.__dict__)
    return copy


def _around_users(function: FunctionType) -> FunctionType:
    """What a decorator of NumPy's, such as `errstate`, has made of a user's function, which is
    resolved in it."""
    wrapped = function.__dict__.get("__wrapped__")
    cells = function.__closure__ or ()
    inner = resolved(wrapped) if type(wrapped) is FunctionType else wrapped
    if inner is wrapped:
        return function
    closure = tuple(CellType(inner) if c.cell_contents is wrapped else c for c in cells)
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, closure
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__dict__.update(function.__dict__)
    return copy


def _constructor(cls: type) -> Any:
    """What makes an instance, whose `__init__` is resolved where it is a user's."""
    init = cls.__init__  # type: ignore[misc]  # of this very class
    if type(init) is not FunctionType or not _is_copied(init):
        return functools.partial(_compiled, cls) if takes_a_seed(cls) else cls
    return functools.partial(_instance, cls)


def _instance(cls: type, /, *args: Any, **kwargs: Any) -> Any:
    instance = resolved(cls.__new__)(cls, *args, **kwargs) if _has_new(cls) else object.__new__(cls)
    if isinstance(instance, cls):
        resolved(type(instance).__init__)(instance, *args, **kwargs)
    return instance


def _has_new(cls: type) -> bool:
    new: Any = cls.__new__
    return new is not object.__new__


def _calling(function: Any) -> Callable[..., Any]:
    """A function that is given resolved ones."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_argument, args), **{k: _argument(v) for k, v in kwargs.items()})

    return call


def _argument(value: Any) -> Any:
    return resolved(value) if callable(value) else value


def _power(*args: Any, **kwargs: Any) -> Any:
    """`pow`, whose modulus takes integers that are known while tracing."""
    if len(args) + len(kwargs) < 3 or (*args[2:], kwargs.get("mod"))[0] is None:
        return pow(*args, **kwargs)
    return pow(*map(_integer, args), **{k: _integer(v) for k, v in kwargs.items()})


def _integer(value: Any) -> Any:
    return operator.index(value) if isinstance(value, Tracer) else value


def _compiled(callee: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A call of a function in Cython or Fortran. What it raises of a traced value, which it does
    not know, is a TracerError."""
    try:
        result = callee(*args, **kwargs)
    except TracerError:
        raise
    except (TypeError, ValueError, IndexError, AttributeError, BufferError):
        for value in (*args, *kwargs.values()):
            if isinstance(value, Tracer):
                wanted_by(callee, value)
        raise
    if takes_a_seed(type(result)):
        warn_of_seed((*args, *kwargs.values()))
    return result


def wanted_by(callee: Any, value: Any) -> Any:
    """The values of an array, for a compiled function; a TracerError where they are not known."""
    name = getattr(callee, "__qualname__", None) or getattr(callee, "__name__", repr(callee))
    module = getattr(callee, "__module__", None)
    place = f"{module}.{name}" if module else name
    return value.known("array", f"an argument of {place}, which is compiled,")


# By which libraries ask whether something is an array.
_INTERFACES = ("__array_interface__", "__array_struct__")


def _has_attribute(value: Any, name: str, /) -> bool:
    """`hasattr`, of an array that has no memory yet."""
    return hasattr(value, name) or (isinstance(value, Tracer) and name in _INTERFACES)


class _Deque:
    """`deque`, whose `maxlen` has to be known: Python asks no `__index__` for it."""

    def __new__(cls, iterable: Any = (), maxlen: Any = None) -> Any:
        return collections.deque(iterable, None if maxlen is None else operator.index(maxlen))

    def __class_getitem__(cls, _: Any) -> Any:
        return cls


SUBSTITUTES[id(collections.deque)] = (collections.deque, _Deque)
SUBSTITUTES[id(pow)] = (pow, _power)
SUBSTITUTES[id(hasattr)] = (hasattr, _has_attribute)
for _function in _CALLERS:
    SUBSTITUTES[id(_function)] = (_function, _calling(_function))
