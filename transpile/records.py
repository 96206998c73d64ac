"""Dataclasses that are written when they are used.

Python makes the methods of a dataclass by compiling their text, which takes half a millisecond a
class: a third of what it took to import this package, most of it for classes of which a process
makes no instance. `dataclass` here is that of the standard library, at the first instance.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

_lock = threading.RLock()
_waiting: dict[type, Callable[[], None]] = {}

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **settings: Any) -> Any:
        """As `dataclasses.dataclass`; `fields(cls)` and the like want an instance to be there."""

        def wrap(cls: type) -> type:
            def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
                _complete(cls)
                cls.__init__(self, *args, **kwargs)

            def __setstate__(self: Any, state: dict[str, Any]) -> None:
                _complete(cls)
                self.__dict__.update(state)

            if "__init__" in cls.__dict__:
                return dataclasses.dataclass(**settings)(cls)
            cls.__init__, cls.__setstate__ = __init__, __setstate__
            _waiting[cls] = lambda: _write(cls, settings)
            return cls

        return wrap if cls is None else wrap(cls)


def _complete(cls: type) -> None:
    """Make a class, and those that it extends, the dataclasses that they say they are."""
    with _lock:
        for base in reversed(cls.__mro__):
            write = _waiting.get(base)
            if write is not None:
                write()
                _waiting.pop(base, None)


def _write(cls: Any, settings: dict[str, Any]) -> None:
    del cls.__setstate__
    dataclasses.dataclass(**settings, init=False)(cls)
    cls.__init__ = _constructor(cls)  # last: until then other threads wait in the other one


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
