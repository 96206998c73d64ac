"""Dataclasses whose methods are generated at the first instance, and memoised functions of them.

Python generates the methods of a dataclass as text and compiles it, which takes half a millisecond
a class: a third of what it took to import this package, most of it for classes of which a process
has no instance. `dataclass` here is that of the standard library, at the first instance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import lru_cache, wraps
from operator import attrgetter, is_
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from transpile.util.fork_safe_lock import Lock

__all__ = ["cached_property", "changed", "dataclass", "field_names", "memoized", "replace", "same"]

_Record = TypeVar("_Record")
_Result = TypeVar("_Result")
_Item = TypeVar("_Item")
_lock = Lock()
_pending: dict[type, Callable[[], None]] = {}  # class -> what generates its methods

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, *, frozen: bool = False, eq: bool = True) -> Any:
        """As `dataclasses.dataclass`; `fields(cls)` and its like work once there is an instance."""

        def wrap(cls: type) -> type:
            def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
                _complete(cls)
                cls.__init__(self, *args, **kwargs)

            def __setstate__(self: Any, state: dict[str, Any]) -> None:
                _complete(cls)
                self.__dict__.update(state)

            if "__init__" in cls.__dict__:
                return dataclasses.dataclass(frozen=frozen, eq=eq)(cls)
            # The standard library deletes these from the class, and an attempt may be interrupted.
            declared = {k: v for k, v in vars(cls).items() if isinstance(v, dataclasses.Field)}
            cls.__init__, cls.__setstate__ = __init__, __setstate__
            _pending[cls] = lambda: _generate(cls, declared, frozen, eq)
            return cls

        return wrap if cls is None else wrap(cls)


def replace(record: _Record, /, **changes: Any) -> _Record:
    """As `dataclasses.replace`, in a third of the time: passes rebuild much of a program.

    What an instance holds beside its fields (a `cached_property`) is not copied.
    """
    cls: Any = type(record)
    copy: _Record = object.__new__(cls)
    original, values = record.__dict__, copy.__dict__
    names = field_names(cls)
    for name in names:
        values[name] = original[name]
    values.update(changes)
    if len(values) != len(names):
        raise TypeError(f"{cls.__name__} has no field {sorted(changes.keys() - set(names))}")
    if hasattr(cls, "__post_init__"):
        copy.__post_init__()  # type: ignore[attr-defined]
    return copy


@lru_cache(maxsize=1024)
def field_names(cls: Any) -> tuple[str, ...]:
    """The names of a dataclass's fields; `__dataclass_fields__` includes class variables."""
    return tuple([field.name for field in dataclasses.fields(cls)])


def changed(record: _Record, /, **values: Any) -> _Record:
    """The record with these field values; itself, not a copy, if it has these objects already."""
    fields = record.__dict__
    for name, value in values.items():
        if fields[name] is not value:
            return replace(record, **values)
    return record


def same(before: tuple[_Item, ...], after: tuple[_Item, ...]) -> tuple[_Item, ...]:
    """The tuple `before` if `after` has the same objects, else `after`: so they are shared."""
    if after is before or len(after) != len(before):
        return after
    return before if all(map(is_, before, after)) else after


def memoized(compute: Callable[[_Record], _Result]) -> Callable[[_Record], _Result]:
    """A decorator of a function of an immutable record: the result is stored in the record.

    Every pass asks the same of all nodes of a program, and leaves most nodes as they were.
    """
    name = f"_{compute.__name__}"

    @wraps(compute)
    def lookup(record: _Record) -> _Result:
        stored = record.__dict__
        if name not in stored:
            stored[name] = compute(record)
        result: _Result = stored[name]
        return result

    return lookup


class cached_property(Generic[_Result]):
    """As `functools.cached_property`, without a lock: before Python 3.12 that one has a lock for
    all instances, which a forked child may inherit locked for ever. Threads that compute the value
    at the same time all get the one that was stored first. The name is that of the function, not of
    `__set_name__`, which runs while a class is created, where an interrupt becomes a
    RuntimeError."""

    def __init__(self, compute: Callable[[Any], _Result]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> cached_property[_Result]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> _Result: ...

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return instance.__dict__.setdefault(self._name, self._compute(instance))


def _complete(cls: type) -> None:
    """Generate the pending methods of a class and of its bases.

    An interrupt may come between any two lines. Then the next instance starts over: the constructor
    that calls this is replaced last.
    """
    with _lock:
        for base in reversed(cls.__mro__):
            generate = _pending.get(base)
            if generate is not None:
                generate()
                _pending.pop(base, None)


def _generate(cls: Any, declared: dict[str, Any], frozen: bool, eq: bool) -> None:
    """Add the methods, as closures: the standard library compiles a text for each."""
    for name, field in declared.items():
        setattr(cls, name, field)
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
        methods |= _immutability(cls, {f.name for f in fields})
    for name, function in methods.items():
        # A class with __eq__ and without __hash__ has the __hash__ None.
        if cls.__dict__.get(name) is None:
            setattr(cls, name, function)
    cls.__init__ = _constructor(cls)  # until then other threads wait for the lock in the former one
    if "__setstate__" in cls.__dict__:
        del cls.__setstate__


def _representation(names: list[str]) -> Callable[[Any], str]:
    """`__repr__`, with these fields."""

    @recursive_repr()
    def __repr__(self: Any) -> str:
        listed = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({listed})"

    return __repr__


def _comparison(names: list[str]) -> dict[str, Any]:
    """`__eq__` and `__hash__` of the tuple of these fields."""
    if len(names) > 1:
        values: Callable[[Any], tuple[Any, ...]] = attrgetter(*names)
    else:  # attrgetter of one name returns no tuple
        values = eval(f"lambda self: ({''.join(f'self.{name}, ' for name in names)})")

    def __eq__(self: Any, other: object) -> Any:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": __eq__, "__hash__": __hash__}


def _immutability(cls: Any, names: set[str]) -> dict[str, Any]:
    """`__setattr__` and `__delattr__` of a frozen dataclass."""

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
    """`__init__`, compiled from a text: it is called most."""
    fields = sorted(dataclasses.fields(cls), key=lambda field: field.kw_only is True)
    names: dict[str, Any] = {"_missing": dataclasses.MISSING}
    parameters, values = [], []
    for field in fields:
        if field.kw_only and "*" not in parameters:
            parameters.append("*")
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
        values.append(f"{name}={value}")
    # In one step, which is compiled in half the time of an assignment for each, and runs in less.
    lines = [f"    self.__dict__.update({', '.join(values)})"]
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    text = f"def __init__({', '.join(['self', *parameters])}):\n" + "\n".join(lines)
    exec(text, names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init
