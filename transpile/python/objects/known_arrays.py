"""Known arrays that a statement of the program would change while it is traced: at once, and
whatever the traced values say.

Calls of foreign code are watched one by one (`trace/bytecode/watched_calls.py`). There are other
ways: `k.flat = 3`, `k.shape = (2, 2)`, memoryviews, a change before an exception. So the arrays
that the code of a statement can see are compared with what they were before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from transpile.python.semantics.values import EndedError
from transpile.trace.bytecode.made_arrays import refuse_change
from transpile.trace.guards.samples import sampled
from transpile.trace.trace import Trace
from transpile.trace.tracer import Tracer

T = TypeVar("T")
_DEPTH = 4  # of containers and attributes
_MOST = 256  # arrays, and items of a container
_LARGEST = 2**20  # bytes of an array that is compared as a whole; of others a sample is
_OTHERS = (type, FunctionType, ModuleType, Trace, Tracer, str, bytes, int, float, complex)


class _State(NamedTuple):
    """What an array was: its elements are None where it is large."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    is_writeable: bool
    content: Any
    elements: Any


def leaving_arrays(run: Callable[[], T], function: Callable[..., Any]) -> T:
    """The result of `run()`, which calls a function, a part of the user's.

    Where that changes a known array of its surroundings, the trace begins anew (`made_arrays.py`),
    or is refused. The array is as before again, unless it is large.
    """
    watched = [(array, _state(array)) for array in _arrays(function)]
    try:
        result = run()
    except (Exception, EndedError):
        _check(watched)
        raise
    _check(watched)
    return result


def _check(watched: list[tuple[Any, _State]]) -> None:
    changed = [(array, before) for array, before in watched if not _is_same(array, before)]
    for array, before in changed:
        _restore(array, before)
    for array, _ in changed:
        refuse_change(array)


def _state(array: Any) -> _State:
    content = _content(array)
    is_small = array.nbytes <= _LARGEST
    elements = np.array(array, order="C") if is_small and array.flags.writeable else None
    return _State(array.shape, array.strides, array.dtype, array.flags.writeable, content, elements)


def _content(array: Any) -> Any:
    return array.tobytes() if array.nbytes <= _LARGEST else sampled(array, 0)


def _is_same(array: Any, before: _State) -> bool:
    now = array.shape, array.strides, array.dtype, array.flags.writeable
    return now == before[:4] and bool(_content(array) == before.content)


def _restore(array: Any, before: _State) -> None:
    if array.dtype != before.dtype:
        array.dtype = before.dtype
    if array.shape != before.shape:
        array.shape = before.shape
    if array.flags.writeable != before.is_writeable:
        array.flags.writeable = before.is_writeable
    if before.elements is not None:
        array[...] = before.elements


def _arrays(function: Any) -> Iterator[Any]:
    """The known arrays that the code of a function can see: in its closures and globals, in
    containers and attributes of what is there."""
    pending = [(value, 0) for value in _visible(function)]
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


def variables(function: Any) -> Iterator[tuple[str, Any]]:
    """The variables that a function is handed and those in its closures, and those of the functions
    that it sees there."""
    yield from handed(function)
    for name, value in closed_over(function):
        yield name, value
        yield from handed(value)


def closed_over(function: Any) -> Iterator[tuple[str, Any]]:
    """The variables in the closures of a function, and of those that it sees there."""
    pending, met = [function], set()
    while pending:
        function = pending.pop()
        while isinstance(function, partial):
            function = function.func
        if not isinstance(function, FunctionType) or id(function) in met:
            continue
        met.add(id(function))
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            try:
                value = cell.cell_contents
            except ValueError:  # not filled
                continue
            pending.append(value)
            yield name, value


def _visible(function: Any) -> Iterator[Any]:
    """The variables of closures, those handed over, and the globals that the code names."""
    functions = [function]
    for _, value in variables(function):
        functions.append(value)
        yield value
    for one in functions:
        one = getattr(one, "func", one)
        if isinstance(one, FunctionType):
            names = one.__globals__
            yield from (names[n] for n in one.__code__.co_names if n in names)
