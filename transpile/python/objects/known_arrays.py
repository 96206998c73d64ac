"""Known arrays that a statement of the program would change while it is traced: at once, and
whatever the traced values say.

Calls of foreign code are watched one by one (`trace/bytecode/watched_calls.py`). There are other
ways: `k.flat = 3`, `k.shape = (2, 2)`, memoryviews, a change before an exception. So the arrays
that the code of a statement can see are compared with what they were before it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from transpile.python.semantics.values import EndedError
from transpile.trace.bytecode.made_arrays import refuse_change
from transpile.trace.trace import Trace
from transpile.trace.tracer import Tracer
from transpile.trace.views.lists import TracedList
from transpile.util.interrupt_safety import THREAD, between

T = TypeVar("T")
_SMALL = 1 << 12  # bytes of an array of which there may be several copies
_DEPTH = 4  # of containers and attributes
_MOST = 256  # arrays, and items of a container
_MOST_FUNCTIONS = 1024  # that are looked through
_LIBRARIES = ("transpile", "numpy", "scipy")
_CALLED = ("__init__", "__call__")  # methods that code calls without their names
_OTHERS = (
    *(type, FunctionType, ModuleType, Trace, Tracer, TracedList),
    *(str, bytes, int, float, complex),
)


class _State(NamedTuple):
    """What an array was."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    is_writeable: bool
    elements: Any


def leaving_arrays(
    run: Callable[[], T],
    function: Callable[..., Any],
    is_traced: Callable[[T], bool] = lambda result: True,
) -> T:
    """The result of `run()`, which calls a function, a part of the user's.

    Where that changes a known array of its surroundings, the trace begins anew (`made_arrays.py`),
    or is refused. The array is as before again. Where `is_traced` says of the result that it is
    known, as is that of a condition, the change is Python's.
    """
    before = THREAD.copies
    watched = [(array, _state(array)) for array in _arrays(function)]

    def begin() -> None:
        THREAD.copies = (*before, *(pair for pair in watched if pair[0].nbytes > _SMALL))

    def end() -> None:
        THREAD.copies = before

    try:
        result = between(begin, run, end)
    except (Exception, EndedError):
        _check(watched)
        raise
    if is_traced(result):
        _check(watched)
    return result


def _check(watched: list[tuple[Any, _State]]) -> None:
    changed = [(array, before) for array, before in watched if not _is_same(array, before)]
    for array, before in changed:
        _restore(array, before)
    for array, _ in changed:
        refuse_change(array)


def _state(array: Any) -> _State:
    shape, strides, is_writeable = array.shape, array.strides, array.flags.writeable
    return _State(shape, strides, array.dtype, is_writeable, _elements(array))


def _elements(array: Any) -> Any:
    """A copy of an array: that of a statement around this one, where it has the same elements."""
    if array.nbytes > _SMALL:
        for other, before in THREAD.copies:
            if other is array and _is_same(array, before):
                return before.elements
    return np.array(array, order="C")


def _is_same(array: Any, before: _State) -> bool:
    now = array.shape, array.strides, array.dtype, array.flags.writeable
    return now == before[:4] and _are_same_bits(array, before.elements)


def _are_same_bits(array: Any, elements: Any) -> bool:
    """True for the same bits, NaNs included; of arrays of objects, for the same objects."""
    if array.nbytes > _SMALL and array.flags.c_contiguous and not array.dtype.hasobject:
        flat = array.view(np.ndarray).reshape(-1).view(np.uint8)
        return bool(np.array_equal(flat, elements.reshape(-1).view(np.uint8)))
    return bool(array.tobytes() == elements.tobytes())


def _restore(array: Any, before: _State) -> None:
    if array.dtype != before.dtype:
        array.dtype = before.dtype
    if array.shape != before.shape:
        array.shape = before.shape
    if array.flags.writeable != before.is_writeable:
        array.flags.writeable = before.is_writeable
    if before.is_writeable:
        array[...] = before.elements


def _arrays(function: Any) -> Iterator[Any]:
    """The known arrays that the code of a function can see: in its closures and globals, in
    containers and attributes of what is there."""
    pending = [(value, 0) for _, value in seen((function,))]
    met: set[int] = set()
    count = 0
    while pending and count < _MOST:
        value, depth = pending.pop()
        if isinstance(value, _OTHERS) or value is None or id(value) in met:
            continue
        met.add(id(value))
        if isinstance(value, np.ndarray):
            count += 1
            yield value
        elif depth < _DEPTH:
            pending += [(part, depth + 1) for part in _parts(value)]


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())[:_MOST]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)[:_MOST]
    if isinstance(value, memoryview):
        return [value.obj]
    if isinstance(value, np.flatiter):
        return [value.base]
    held = getattr(value, "__dict__", None)
    return list(held.values())[:_MOST] if type(held) is dict else []


class Calling:
    """An object of ours whose attributes are functions of the user's, which its methods call."""


class Handed(partial[Any]):
    """A function with its arguments: the variables that a statement binds, and may change before
    (`x += y` of lists)."""

    names: tuple[str, ...] = ()


def handing(function: Callable[..., T], names: tuple[str, ...], values: Sequence[Any]) -> Handed:
    """A function with the values of these variables as its arguments."""
    result = Handed(function, *values)
    result.names = names
    return result


def handed(function: Any) -> Iterator[tuple[str, Any]]:
    """The variables that a function has got as arguments, or as their defaults: those that are not
    read behind the statement."""
    while isinstance(function, partial):
        if isinstance(function, Handed):
            yield from zip(function.names, function.args, strict=False)
        function = function.func
    if isinstance(function, FunctionType) and function.__defaults__:
        code, defaults = function.__code__, function.__defaults__
        first = code.co_argcount - len(defaults)
        yield from zip(code.co_varnames[first : code.co_argcount], defaults, strict=True)


def seen(functions: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """The variables that functions of the user's are handed, those in their closures, and the
    globals that they name, and so for all functions among these: helpers, which may change what
    they name."""
    pending, met, lists = list(functions), set[int](), set[int]()
    while pending and len(met) < _MOST_FUNCTIONS:
        function = pending.pop()
        yield from handed(function)
        while isinstance(function, partial):
            pending += function.args
            function = function.func
        if isinstance(function, MethodType) and isinstance(function.__self__, Calling):
            function = function.__self__
        if isinstance(function, Calling) and id(function) not in met:
            met.add(id(function))
            pending += vars(function).values()
        if type(function) in (list, tuple) and id(function) not in lists:
            lists.add(id(function))  # one may be an item of itself
            pending += function
        if not isinstance(function, FunctionType) or id(function) in met:
            continue
        met.add(id(function))
        for name, value in (*_closed_over(function), *_named_globals(function)):
            pending.append(value)
            pending += _named_methods(value, function.__code__.co_names)
            if not isinstance(value, FunctionType):
                yield name, value


def closed_over(function: Any) -> Iterator[tuple[str, Any]]:
    """The variables in the closures of a function, and of those that it sees there."""
    pending, met = [function], set()
    while pending:
        function = pending.pop()
        while isinstance(function, partial):
            pending += function.args
            function = function.func
        if isinstance(function, FunctionType) and id(function) not in met:
            met.add(id(function))
            for name, value in _closed_over(function):
                pending.append(value)
                yield name, value


def _closed_over(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The variables in the closure of a function."""
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled
            continue


def _named_globals(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The globals that the code of a function names, and what it may name of modules of the user's;
    nothing for functions of libraries."""
    scope, names = function.__globals__, function.__code__.co_names
    if not _is_users(scope.get("__name__")):
        return
    for name in names:
        if name not in scope:
            continue
        value = scope[name]
        if not isinstance(value, ModuleType):
            yield name, value
        elif _is_users(value.__name__):
            held = vars(value)
            yield from ((f"{name}.{n}", held[n]) for n in names if n in held)


def _named_methods(value: Any, names: Sequence[str]) -> list[FunctionType]:
    """The methods of an object or class of the user's that have one of these names."""
    kind = value if isinstance(value, type) else type(value)
    if not _is_users(kind.__module__):
        return []
    named = (vars(base).get(name) for base in kind.__mro__[:-1] for name in (*names, *_CALLED))
    return [f for f in (getattr(x, "__func__", x) for x in named) if isinstance(f, FunctionType)]


def _is_users(module: Any) -> bool:
    """True for the name of a module that is the user's, or of a package that is no library."""
    package = str(module).partition(".")[0]
    return package not in _LIBRARIES and package not in sys.stdlib_module_names
