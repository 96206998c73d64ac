"""What objects hold, as it is stored: nothing of the user's is executed to find it.

An attribute that is asked for in the ordinary way may be a property, or come from `__getattr__`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any

MISSING = object()


def module_of(value: Any) -> str:
    """The name of a module, or of the one that a class is from."""
    name = vars(value).get("__name__" if issubclass(type(value), ModuleType) else "__module__")
    return name if type(name) is str else ""


def scope_of(function: FunctionType) -> Any:
    """The name of the module that a function stands in."""
    return function.__globals__.get("__name__", "")


def may_call(value: Any) -> bool:
    """Tell whether a value may call functions of users."""
    kind = type(value)
    return callable(value) and kind is not BuiltinFunctionType and not issubclass(kind, type)


def function_in(value: Any) -> FunctionType | None:
    """The function that a value is or, as a jitted one does, wraps."""
    while type(value) is not FunctionType:
        value = held(value).get("__wrapped__")
        if value is None:
            return None
    return value


def getter(raw: Any) -> Any:
    """The function behind a property, also a cached one, or None."""
    if type(raw) is property:
        return raw.fget
    return raw.func if type(raw) is functools.cached_property else None


def content(cell: CellType) -> Any:
    """What a closure's cell holds, MISSING where it is not filled."""
    try:
        return cell.cell_contents
    except ValueError:  # not filled
        return MISSING


def defaults(function: FunctionType) -> dict[str, Any]:
    """The default values of a function's arguments, by name."""
    code = function.__code__
    given = function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(given) : code.co_argcount]
    return dict(zip(names, given, strict=False)) | (function.__kwdefaults__ or {})


def in_class(cls: type, name: str) -> Any:
    """What a class and its bases hold under a name, descriptors as they are."""
    return next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), MISSING)


def asks_python(cls: type) -> bool:
    """Tell whether attributes of instances are looked up by a function of the user's."""
    return type(in_class(cls, "__getattribute__")) is FunctionType


def held(value: Any) -> Mapping[str, Any]:
    """The attributes in the dict of an object, asked for past the object's own ways."""
    for cls in type(value).__mro__:
        found: Any = vars(cls).get("__dict__")
        if type(found) in (GetSetDescriptorType, MemberDescriptorType):
            held: Any = found.__get__(value)
            return held if issubclass(type(held), Mapping) else {}
    return {}


def slots(value: Any) -> dict[str, Any]:
    """The attributes in the slots of an object."""
    found: dict[str, Any] = {}
    for cls in type(value).__mro__:
        for name, member in vars(cls).items():
            if type(member) is MemberDescriptorType:
                try:
                    found[name] = member.__get__(value)
                except AttributeError:  # not filled
                    continue
    return found
