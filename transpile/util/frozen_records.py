"""Dataclasses whose methods are generated at first use, and which memoise functions of them.

Python makes the methods of a dataclass by compiling their text, which takes half a millisecond a
class: a third of what it took to import this package, most of it for classes of which a process
makes no instance. `dataclass` here is that of the standard library, at the first instance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import lru_cache, wraps
from operator import attrgetter, is_
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from transpile.util.fork_safe_lock import Lock

__all__ = ["cached_property", "changed", "dataclass", "once", "replace", "same"]

_Record = TypeVar("_Record")
_Found = TypeVar("_Found")
_Item = TypeVar("_Item")
_lock = Lock()
_waiting: dict[type, Callable[[], None]] = {}

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, *, frozen: bool = False, eq: bool = True) -> Any:
        """As `dataclasses.dataclass`; `fields(cls)` and the like want an instance to be there."""

        def wrap(cls: type) -> type:
            def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
                _complete(cls)
                cls.__init__(self, *args, **kwargs)

            def __setstate__(self: Any, state: dict[str, Any]) -> None:
                _complete(cls)
                self.__dict__.update(state)

            if "__init__" in cls.__dict__:
                return dataclasses.dataclass(frozen=frozen, eq=eq)(cls)
            # What the standard library takes out of the class; an attempt may be interrupted.
            given = {k: v for k, v in vars(cls).items() if isinstance(v, dataclasses.Field)}
            cls.__init__, cls.__setstate__ = __init__, __setstate__
            _waiting[cls] = lambda: _write(cls, given, frozen, eq)
            return cls

        return wrap if cls is None else wrap(cls)


def replace(record: _Record, /, **changes: Any) -> _Record:
    """As `dataclasses.replace`, in a third of the time: a compiler rebuilds much of its programs.

    What an instance keeps beside its fields (a `cached_property`) does not go over.
    """
    cls: Any = type(record)
    copy: _Record = object.__new__(cls)
    kept, values = record.__dict__, copy.__dict__
    names = _field_names(cls)
    for name in names:
        values[name] = kept[name]
    values.update(changes)
    if len(values) != len(names):
        raise TypeError(f"{cls.__name__} has no field {sorted(changes.keys() - set(names))}")
    if hasattr(cls, "__post_init__"):
        copy.__post_init__()  # type: ignore[attr-defined]
    return copy


@lru_cache(maxsize=1024)
def _field_names(cls: Any) -> tuple[str, ...]:
    """The fields of a dataclass; `__dataclass_fields__` has its class variables, too."""
    return tuple([field.name for field in dataclasses.fields(cls)])


def changed(record: _Record, /, **values: Any) -> _Record:
    """The record with these values; itself where it has them already."""
    kept = record.__dict__
    for name, value in values.items():
        if kept[name] is not value:
            return replace(record, **values)
    return record


def same(before: tuple[_Item, ...], after: tuple[_Item, ...]) -> tuple[_Item, ...]:
    """The tuple before, if the one after has the same objects in it."""
    if after is before or len(after) != len(before):
        return after
    return before if all(map(is_, before, after)) else after


def once(find: Callable[[_Record], _Found]) -> Callable[[_Record], _Found]:
    """A function of a record that never changes, which finds its answer once and keeps it in that
    record: a compiler asks the same of all parts of a program at every step, and a step leaves
    most of them as they were."""
    name = f"_{find.__name__}"

    @wraps(find)
    def answer(record: _Record) -> _Found:
        kept = record.__dict__
        if name not in kept:
            kept[name] = find(record)
        found: _Found = kept[name]
        return found

    return answer


class cached_property(Generic[_Found]):
    """As `functools.cached_property`, without a lock: that one has, before Python 3.12, a lock for
    all instances, which a forked child may find taken for ever. Threads that find the value at the
    same time all get the one that was kept first. It is named after its function:
    `__set_name__` runs while a class is made, where an interrupt becomes a RuntimeError."""

    def __init__(self, find: Callable[[Any], _Found]) -> None:
        self._find = find
        self._name = find.__name__
        self.__doc__ = find.__doc__

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> cached_property[_Found]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> _Found: ...

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return instance.__dict__.setdefault(self._name, self._find(instance))


def _complete(cls: type) -> None:
    """Make a class, and those that it extends, the dataclasses that they say they are.

    An interrupt may end this between any two lines. Then the next instance does all of it again:
    the constructor that calls this is replaced last.
    """
    with _lock:
        for base in reversed(cls.__mro__):
            write = _waiting.get(base)
            if write is not None:
                write()
                _waiting.pop(base, None)


def _write(cls: Any, given: dict[str, Any], frozen: bool, eq: bool) -> None:
    """The methods, as closures: the standard library compiles a text for each."""
    for name, unchanged in given.items():
        setattr(cls, name, unchanged)
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    fields = dataclasses.fields(cls)
    methods: dict[str, Any] = {"__repr__": _representation([f.name for f in fields if f.repr])}
    if eq:
        methods |= _comparison([f.name for f in fields if f.compare])
        if not frozen:
            methods["__hash__"] = None
    if frozen:
        methods |= _refusals(cls, {f.name for f in fields})
    for name, function in methods.items():
        # Python itself gives a class with an __eq__ the __hash__ None.
        if cls.__dict__.get(name) is None:
            setattr(cls, name, function)
    cls.__init__ = _constructor(cls)  # until then other threads wait in the other one
    if "__setstate__" in cls.__dict__:
        del cls.__setstate__


def _representation(names: list[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def __repr__(self: Any) -> str:
        listed = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({listed})"

    return __repr__


def _comparison(names: list[str]) -> dict[str, Any]:
    """Equality and hashes by the fields."""
    if len(names) > 1:
        values: Callable[[Any], tuple[Any, ...]] = attrgetter(*names)
    else:  # of one name, attrgetter gives the value itself
        values = eval(f"lambda self: ({''.join(f'self.{name}, ' for name in names)})")

    def __eq__(self: Any, other: object) -> Any:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": __eq__, "__hash__": __hash__}


def _refusals(cls: Any, names: set[str]) -> dict[str, Any]:
    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _constructor(cls: Any) -> Callable[..., None]:
    """The `__init__` of a dataclass."""
    fields = dataclasses.fields(cls)
    names: dict[str, Any] = {"_missing": dataclasses.MISSING, "_assign": object.__setattr__}
    parameters, lines = [], []
    for field in fields:
        name = field.name
        value = name
        if field.default is not dataclasses.MISSING:
            names[f"default_{name}"] = field.default
            parameters.append(f"{name}=default_{name}")
        elif field.default_factory is not dataclasses.MISSING:
            names[f"make_{name}"] = field.default_factory
            parameters.append(f"{name}=_missing")
            value = f"make_{name}() if {name} is _missing else {name}"
        else:
            parameters.append(name)
        lines.append(f"    _assign(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    text = f"def __init__({', '.join(['self', *parameters])}):\n" + "\n".join(lines or ["    pass"])
    exec(text, names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init
