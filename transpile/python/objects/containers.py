"""Lists, dicts and objects that a statement of the program would change while it is traced: once,
and not as often as the program comes to it, or in a copy of them."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from functools import reduce
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np

from transpile import errors
from transpile.ir.source_info import user_source
from transpile.python.objects.known_arrays import closed_over, leaving_arrays, seen
from transpile.python.objects.references import NO_ARGUMENT
from transpile.python.semantics.values import Maybe, is_array, truth
from transpile.trace.bytecode.rewriting import original
from transpile.trace.trace import Trace
from transpile.trace.tracer import Tracer
from transpile.trace.views.lists import TracedList, flatten_lists
from transpile.util.interrupt_safety import THREAD

T = TypeVar("T")
_OWN = (Trace, Tracer, TracedList)
_CONTAINERS = (list, dict, set, deque, bytearray)
CHANGEABLE = (list, deque, dict)  # whose elements are variables of statements
_DEPTH = 3  # of what is in containers and attributes
MOST_ITEMS = 256  # of a container that is looked through


def unchanging(
    run: Callable[[], T],
    function: Callable[..., Any],
    is_traced: Callable[[T], bool] = lambda result: True,
) -> T:
    """The result of `run()`, which calls a function.

    Raises CarryError where that changes a container that it, or a helper of it, sees, or in an
    object there; the container is then as before. Known arrays are, too. Where `is_traced` says of
    the result that it is known, as is that of a condition, the changes are Python's.
    """
    watched = [(name, value, held_items(value)) for name, value in _seen(function)]
    result = leaving_arrays(run, function, is_traced)
    if not is_traced(result):
        return result
    for name, container, before in watched:
        after = held_items(container)
        is_variable = isinstance(container, CHANGEABLE) and len(container) <= MOST_ITEMS
        if _is_regrown(container, before) or (
            not is_variable and any(a is not b for a, b in zip(after, before, strict=True))
        ):
            restore(container, before)
            raise changing(name, container)
    return result


def asking(run: Callable[[], T], condition: Callable[..., Any]) -> T:
    """The result of `run()`, which asks a condition: it may change nothing if that is traced."""
    return unchanging(run, condition, lambda holds: isinstance(holds, Tracer))


def changing(name: str, container: Any) -> errors.CarryError:
    """What to raise of a container whose changes are no variables of a statement."""
    return errors.CarryError(
        f"{user_source()}: `{user_source().text}`, where traced values decide what runs, or how "
        f"often, changes the {type(container).__name__} {name!r}. Collect values in an array: out "
        f"= numpy.zeros(n) before it, and out[i] = value."
    )


def _is_regrown(container: Any, before: Sequence[Any]) -> bool:
    """True where a container has another number of items by now, or other keys."""
    if isinstance(container, dict):
        keys = before[::2]
        return len(keys) != len(container) or any(
            a is not b for a, b in zip(container, keys, strict=True)
        )
    return len(container) != len(before)


def keeping(body: Callable[..., T]) -> Callable[..., T]:
    """A loop's body that raises CarryError where it changes its item: a list or an object that the
    program makes of arrays, so that the one of the user would stay as it is."""

    def call(item: Any, *values: Any) -> T:
        before = Lent(item)
        result = body(item, *values)
        if before.is_changed():
            raise errors.CarryError(
                f"{user_source()}: `{user_source().text}` changes its items, which are copies in a "
                f"loop of the program. Collect values in an array: out = numpy.zeros(n) before it, "
                f"and out[i] = value."
            )
        return result

    return call


class Lent:
    """A value that stands for one of the user's, and how it was."""

    def __init__(self, value: Any) -> None:
        self.value = value.value if type(value) is Maybe else value
        self._leaves, self._structure = flatten_lists(self.value)

    def is_changed(self) -> bool:
        """True where something else is in it by now."""
        leaves, structure = flatten_lists(self.value)
        pairs = zip(leaves, self._leaves, strict=False)
        return structure != self._structure or any(a is not b for a, b in pairs)


def check_names(name: str, given: Any, copies: Sequence[Lent]) -> None:
    """Raise CarryError where an iteration changes a list that it binds a variable of this name
    anew to, and what the list was before the loop has another name, which would not see that: in
    a frame of traced code, or in what variables there hold."""
    ids = {id(x) for x in lists_in(given)}
    if not ids or not any(lent.is_changed() for lent in copies):
        return
    others: set[int] = set()
    frame: FrameType | None = sys._getframe(1)
    is_inner = True
    while frame is not None:
        if original(frame.f_code) is not frame.f_code:
            for other, value in frame.f_locals.items():
                if not (is_inner and other == name):
                    _take_ids(value, _DEPTH, others)
            is_inner = False
        frame = frame.f_back
    if ids & others:
        source = user_source()
        problem = errors.CarryError(
            f"{source}: an iteration of `{source.text}` changes {name!r} and binds it anew, and "
            f"the list that it was before has another name, which would not see the change. Give "
            f"the loop a copy: {name} = {name}.copy()."
        )
        errors.blame(problem, NO_ARGUMENT)
        raise problem


def lent_by_choice(
    names: Sequence[str],
    values: Sequence[Any],
    results: Sequence[Sequence[Any]],
    branches: Sequence[Callable[..., Any]],
) -> list[tuple[str, Lent]]:
    """The values behind two branches, or behind a loop of no iterations or more, that stand for
    lists or objects which were there before."""
    triples = zip(names, values, *results, strict=True)
    chosen = [
        (n, v, pair)
        for n, v, *pair in triples
        if any(map(_may_change, inside(v))) and not (v is pair[0] and v is pair[1])
    ]
    if not chosen:
        return []
    before = there_before(branches, names)
    for _, lent in THREAD.python.lent:  # what stands for such ones itself
        before[id(lent.value)] = set()
    found: list[tuple[str, Lent]] = []
    for name, value, pair in chosen:
        themselves = {id(x) for x in inside(value)}
        parts = [x for part in pair for x in inside(part) if id(x) not in themselves]
        named = [x for x in parts if before.get(id(x), {name}) != {name}]
        found += [(name, Lent(value))] if named else []
        # One that changes later is unlike its copy then.
        found += [(name, Lent(x)) for x in named if isinstance(x, CHANGEABLE)]
    return found


def there_before(
    branches: Sequence[Callable[..., Any]], names: Collection[str] = ()
) -> dict[int, set[str]]:
    """The ids of the lists and objects that were there before branches, which have been traced.
    With each those of some `names`, of variables of the function, by which alone it was known; none
    where it has another name."""
    before: dict[int, set[str]] = {}

    def take(name: str, value: Any) -> None:
        ids: set[int] = set()
        _take_ids(value, _DEPTH, ids)
        own = {name} if name in names else set()
        for each in ids:
            before[each] = before[each] & own if each in before else {*own}

    for branch in branches:
        for _, value in closed_over(branch):
            take("", value)
    inner: CodeType | None = None
    is_own = True
    for frame in _traced_frames():
        code = original(frame.f_code)
        is_own = is_own and (inner is None or inner in code.co_consts)
        for name, value in frame.f_locals.items():
            take(name if is_own else "", value)
        inner = code
    return before


def _traced_frames() -> Iterator[FrameType]:
    """The frames of traced code, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if original(frame.f_code) is not frame.f_code:
            yield frame
        frame = frame.f_back


def in_both(one: Any, other: Any, before: Container[int]) -> set[int]:
    """The ids of the lists and dicts from before two branches that have one place in the results of
    both, or in the one of the branch that has any, where the other is None. They are the results
    themselves, and no copies: what is assigned to them later is seen in these."""
    if one is None or other is None:
        parts = inside(other if one is None else one)
        return {id(x) for x in parts if isinstance(x, CHANGEABLE) and id(x) in before}
    equal: set[int] = set()
    unlike: set[int] = set()
    _compare_places(one, other, equal, unlike)
    return equal - unlike


def _compare_places(
    one: Any, other: Any, equal: set[int], unlike: set[int], depth: int = _DEPTH
) -> None:
    if one is other and isinstance(one, CHANGEABLE):
        equal.add(id(one))
        return
    unlike |= {id(one), id(other)}
    is_alike = type(one) is type(other) and type(one) in (list, tuple) and len(one) == len(other)
    if depth and is_alike and len(one) <= MOST_ITEMS:
        for x, y in zip(one, other, strict=True):
            _compare_places(x, y, equal, unlike, depth - 1)
    else:
        unlike |= {id(x) for value in (one, other) for x in inside(value)}


def inside(value: Any, depth: int = _DEPTH) -> Iterator[Any]:
    """A value, and what is in it if it is a list or tuple."""
    value = value.value if type(value) is Maybe else value
    yield value
    if depth and type(value) in (list, tuple) and len(value) <= MOST_ITEMS:
        for item in value:
            yield from inside(item, depth - 1)


def lists_in(value: Any) -> Iterator[list[Any]]:
    """The lists in a value, which may be one."""
    return (x for x in inside(value) if type(x) is list)


def _may_change(value: Any) -> bool:
    if isinstance(value, _CONTAINERS):
        return True
    fixed = isinstance(value, (*_OWN, type, FunctionType, ModuleType))
    return not fixed and hasattr(value, "__dict__")


def _take_ids(value: Any, depth: int, ids: set[int]) -> None:
    """Take the lists and objects in a value."""
    value = value.value if type(value) is Maybe else value
    if _may_change(value):
        ids.add(id(value))
    if depth and isinstance(value, (*_CONTAINERS, tuple)) and len(value) <= MOST_ITEMS:
        for item in value.values() if isinstance(value, dict) else value:
            _take_ids(item, depth - 1, ids)
    elif depth and _may_change(value):
        for item in list(vars(value).values()):
            _take_ids(item, depth - 1, ids)


def _seen(function: Any) -> Iterator[tuple[str, Any]]:
    """The containers that a function is handed, in its closures and those of what it sees there,
    and among the globals that it and its helpers name, by the names that they have."""
    for name, value in seen((function,)):
        yield from _held(name, value)


def _held(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value, or what it has in its attributes, if these are containers."""
    value = value.value if type(value) is Maybe else value
    if isinstance(value, _CONTAINERS):
        yield name, value
    elif not isinstance(value, (*_OWN, type, FunctionType, ModuleType)):
        for field, held in list(getattr(value, "__dict__", {}).items()):
            if isinstance(held, _CONTAINERS):
                yield f"{name}.{field}", held


def held_items(container: Any) -> list[Any]:
    """What a container holds: of a dict, keys and values in turn."""
    if isinstance(container, dict):
        return [part for item in container.items() for part in item]
    return list(container)


def restore(container: Any, items: Sequence[Any]) -> None:
    """Let the items be those of before."""
    container.clear()
    if isinstance(container, dict):  # a Counter would count what it is updated with
        for key, value in zip(items[::2], items[1::2], strict=True):
            container[key] = value
    elif isinstance(container, set):
        container.update(items)
    else:
        container.extend(items)


def contains(container: Any, value: Any) -> Any:
    """`value in container`, of traced values."""
    if isinstance(container, TracedList):
        return container.contains(value)
    if isinstance(container, Tracer):
        return np.any(np.equal(container, value))
    if isinstance(container, np.ndarray) and isinstance(value, Tracer):
        return np.any(value == container)
    traced = isinstance(value, Tracer)
    if type(container) is range and traced:
        inside = np.logical_and(value >= container.start, value < container.stop)
        if container.step < 0:
            inside = np.logical_and(value <= container.start, value > container.stop)
        return np.logical_and(inside, (value - container.start) % container.step == 0)
    if isinstance(container, list | tuple | deque | set | frozenset | dict):
        items = list(container)
        if traced or any(isinstance(item, Tracer) for item in items):
            tests = [item == value for item in items if is_array(item)]
            return reduce(np.logical_or, map(truth, tests), False)
    return value in container
