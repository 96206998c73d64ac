"""Read what objects store without executing user code.

`getattr` may run a property, a descriptor or `__getattr__`; these functions read the dicts, slots
and cells themselves.
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
    """The name of a module, or of the module that defines a class."""
    name = vars(value).get("__name__" if issubclass(type(value), ModuleType) else "__module__")
    return name if type(name) is str else ""


def scope_of(function: FunctionType) -> Any:
    """The name of the module that defines a function."""
    return function.__globals__.get("__name__", "")


def may_call(value: Any) -> bool:
    """True if calling a value may run a user's function."""
    kind = type(value)
    return callable(value) and kind is not BuiltinFunctionType and not issubclass(kind, type)


def function_in(value: Any) -> FunctionType | None:
    """The Python function that a value is or wraps, as a jitted one does."""
    while type(value) is not FunctionType:
        value = held(value).get("__wrapped__")
        if value is None:
            return None
    return value


def getter(raw: Any) -> Any:
    """The getter of a property or cached_property, or None."""
    if type(raw) is property:
        return raw.fget
    return raw.func if type(raw) is functools.cached_property else None


def content(cell: CellType) -> Any:
    """The content of a closure cell, MISSING if it is empty."""
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
    """The raw entry of a class or its bases, with descriptors unbound."""
    return next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), MISSING)


def asks_python(cls: type) -> bool:
    """True if a class has a `__getattribute__` in Python."""
    return type(in_class(cls, "__getattribute__")) is FunctionType


def held(value: Any) -> Mapping[str, Any]:
    """The instance dict of an object, past its `__getattribute__`."""
    for cls in type(value).__mro__:
        descriptor: Any = vars(cls).get("__dict__")
        if type(descriptor) in (GetSetDescriptorType, MemberDescriptorType):
            attributes: Any = descriptor.__get__(value)
            return attributes if issubclass(type(attributes), Mapping) else {}
    return {}


def slots(value: Any) -> dict[str, Any]:
    """The attributes in the slots of an object."""
    attributes: dict[str, Any] = {}
    for cls in type(value).__mro__:
        for name, member in vars(cls).items():
            if type(member) is MemberDescriptorType:
                try:
                    attributes[name] = member.__get__(value)
                except AttributeError:  # not filled
                    continue
    return attributes
