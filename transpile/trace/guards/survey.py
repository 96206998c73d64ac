"""Compute the guards of a function before it is traced: a static analysis of the code that it
reaches, and of the objects that this code reads.

The access paths in the bytecode (`trace/bytecode/reads.py`) are resolved against globals, closures
and arguments, and each step gets a guard (`checks.py`): `model.layers[0].rate` is guarded
from the global `model` to the rate. Functions, methods and properties on the way are analysed too.
A value that escapes, into a call or a loop, is guarded whole: a container with its items, an object
with those of its attributes that any of the code names.

No user code is executed. Functions and classes of the standard library, of NumPy and of installed
packages are not analysed, and taken to be constant.
"""

from __future__ import annotations

import collections
import functools
import sys
from collections.abc import Iterable, Mapping, MutableMapping, Set
from types import (
    CodeType,
    FunctionType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from transpile.trace.bytecode.reads import Read, Step, reads
from transpile.trace.bytecode.rewriting import original
from transpile.trace.guards.checks import (
    ARRAY,
    ATTRIBUTE,
    CELL,
    ENTRY,
    INDEX,
    ITEMS,
    PAIRS,
    SAMPLE,
    Guard,
    Watch,
    function_guard,
)
from transpile.trace.guards.executed_code import TAKE_CALLBACKS
from transpile.trace.guards.samples import can_be_sampled, sampled
from transpile.trace.static_lookup import (
    MISSING,
    asks_python,
    content,
    defaults,
    function_in,
    getter,
    held,
    in_class,
    may_call,
    module_of,
    scope_of,
    slots,
)

SMALL = 4096  # bytes of an array that is compared by content
_MOST_BYTES = 1 << 16  # that are compared in a call
_MOST_ITEMS = 1024  # of a container that is compared by content
_MOST_GUARDS = 4096
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype, np.ufunc)
_ITERATORS = tuple(c.__iter__ for c in (list, tuple, set, frozenset, collections.deque))
# Packages whose modules are taken to be constant.
_CONSTANT = frozenset(("numpy", "transpile", "scipy", "builtins"))
# Code that names one of these may read any attribute of any object.
_DYNAMIC = frozenset(
    ("getattr", "vars", "hasattr", "asdict", "astuple", "fields", "attrgetter", "__dict__")
)
# Methods in C of containers, which change them and tell nothing about them.
_CHANGING = frozenset(
    ("append", "appendleft", "add", "clear", "discard", "extend", "extendleft", "insert", "update")
) | {"__setitem__"}
_IN_C = (MethodDescriptorType, WrapperDescriptorType)
# Special methods that a trace does not usually call.
_NOT_CALLED = frozenset(
    f"__{name}__"
    for name in (
        *("init", "new", "del", "repr", "str", "format", "eq", "ne", "hash", "reduce", "reduce_ex"),
        *("getstate", "setstate", "init_subclass", "set_name", "replace", "setattr", "delattr"),
    )
)


def survey(
    function: Any,
    innermost: Any,
    named: Mapping[str, Any],
    classes: Iterable[type] = (),
    without: Set[CodeType] = frozenset(),
) -> Watch:
    """The guards of what a function may read. `named` are its arguments with known values, by the
    parameter names of the innermost function; `classes` are the classes of the other arguments;
    `without` is code that is not executed."""
    analysis = _Survey(getattr(innermost, "__globals__", {}).get("__name__", ""), without)
    analysed: tuple[str, ...] = ()
    if type(innermost) is FunctionType:
        analysis.add_function(innermost, dict(named), "")
        if analysis.is_users(scope_of(innermost)):  # else it is not known how they are used
            analysed = innermost.__code__.co_varnames
    analysis.add(function, "")
    for name, value in named.items():
        if name not in analysed:
            analysis.add(value, name)
    for cls in classes:
        analysis.add(cls, cls.__name__)
    analysis.finish()
    return Watch(analysis.guards.values(), analysis.unseen, analysis.long, analysis.takes_callbacks)


class _Survey:
    """The worklist of the analysis. Each value is visited once.

    guards      by (kind, id of holder, name)
    unseen      what has no guard, and why
    long        containers with too many items to compare
    takes_callbacks  whether the code may hand over functions that the program will call
    _objects    instances, classes and modules, with the attribute names that were analysed
    _attributes every attribute name in the code; an object that escapes may be asked for any
    """

    def __init__(self, home: str, without: Set[CodeType]) -> None:
        self.guards: dict[tuple[Any, ...], Guard] = {}
        self.unseen: dict[str, None] = {}
        self.long: list[Any] = []
        self.takes_callbacks = False
        self._home = home.partition(".")[0]
        self._without = without
        self._seen: dict[int, Any] = {}  # by id; the values stay, so that no id is given again
        self._codes: set[tuple[Any, ...]] = set()
        self._waiting: collections.deque[tuple[Any, str]] = collections.deque()
        self._bytes = self._samples = 0
        self._attributes: set[str] = {"__call__"}
        self._objects: list[tuple[Any, str, set[str]]] = []

    # ------------------------------------------------------------------------------- values

    def add(self, value: Any, label: str) -> None:
        """Enqueue a value that escapes, to guard its content."""
        if not issubclass(type(value), _PLAIN) and id(value) not in self._seen:
            self._seen[id(value)] = value
            self._waiting.append((value, label))

    def finish(self) -> None:
        """Process the worklist to a fixed point."""
        while True:
            while self._waiting:
                self._visit(*self._waiting.popleft())
            for value, label, done in tuple(self._objects):
                names = self._names_for(value) - done
                done |= names
                for name in sorted(names):
                    self._step(value, Step(False, name), label, is_read=False)
            if not self._waiting:
                return

    def _guard(self, kind: int, holder: Any, name: Any, value: Any, label: str) -> None:
        if len(self.guards) < _MOST_GUARDS:
            self.guards.setdefault(
                (kind, id(holder), name), Guard(kind, holder, name, value, label)
            )
        else:
            self.unseen[f"what comes after the first {_MOST_GUARDS} values that it reads"] = None

    def _visit(self, value: Any, label: str) -> None:
        kind = type(value)
        if kind is FunctionType:
            self.add_function(value, {}, label)
        elif kind is MethodType:
            self._add_method(value.__func__, value.__self__, label)
        elif issubclass(kind, functools.partial):
            self._add_partial(value, label)
        elif issubclass(kind, np.ndarray):
            self._add_array(value, label)
        elif issubclass(kind, dict):
            self._add_dict(value, label)
        elif in_class(kind, "__iter__") in _ITERATORS:
            self._add_items(value, label)
        if issubclass(kind, type | ModuleType):
            if self.is_users(module_of(value)):
                self._objects.append((value, label, set()))
        elif kind.__module__ not in ("builtins", "numpy"):
            self._add_object(value, label)

    def _add_array(self, array: Any, label: str) -> None:
        is_small = array.nbytes <= SMALL and not array.dtype.hasobject
        self._bytes += array.nbytes if is_small else 0
        text = array.tobytes() if is_small and self._bytes <= _MOST_BYTES else None
        kind, content = ARRAY, (array.dtype, array.shape, text)
        if text is None:
            some = "single" if can_be_sampled(array) else "the"
            self.unseen[f"{some} elements of {label} ({array.nbytes} bytes)"] = None
            if can_be_sampled(array):
                self._samples += 1
                kind, content = SAMPLE, sampled(array, self._samples)
        self._guard(kind, array, None, content, label)

    def _add_dict(self, value: dict[Any, Any], label: str) -> None:
        copy = dict.copy(value)
        if self._is_short(value, copy, label):
            self._guard(PAIRS, value, None, copy, label)
            for key, item in copy.items():
                self.add(item, f"{label}[{key!r}]" if type(key) in _PLAIN else f"{label}[...]")

    def _add_items(self, value: Any, label: str) -> None:
        items = tuple(value)
        if self._is_short(value, items, label):
            if not issubclass(type(value), tuple | frozenset):
                self._guard(ITEMS, value, None, items, label)
            is_list = issubclass(type(value), list | tuple)
            for number, item in enumerate(items):
                self.add(item, f"{label}[{number}]" if is_list else label)

    def _is_short(self, value: Any, items: Any, label: str) -> bool:
        if len(items) > _MOST_ITEMS:
            self.long.append(value)
            self.unseen[f"the {len(items)} items of {label}"] = None
        return len(items) <= _MOST_ITEMS

    def _add_object(self, value: Any, label: str) -> None:
        """An instance of a class: the attributes that the code names, and its special methods."""
        kind = type(value)
        own = held(value)
        if self.is_users(kind.__module__) or issubclass(
            kind, SimpleNamespace | MutableMapping | _namespaces()
        ):
            self._objects.append((value, label, set()))
            return
        # An instance of a library's class matters for the user functions that it calls.
        for inside in (*own.values(), *slots(value).values()):
            if may_call(inside):
                self.add(inside, label)
        if own and not may_call(value):
            self.unseen[f"what {label} holds (a {kind.__module__}.{kind.__qualname__})"] = None

    def _names_for(self, value: Any) -> set[str]:
        """The attributes of an object that the code may read."""
        kind = type(value)
        if issubclass(kind, type):
            return self._attributes | {"__init__", "__new__", "__post_init__"}
        if issubclass(kind, ModuleType):
            return set(self._attributes)
        special = {n for c in kind.__mro__ for n in vars(c) if _is_special(c, n)}
        if issubclass(kind, MutableMapping) or not _DYNAMIC.isdisjoint(self._attributes):
            special |= {*held(value), *slots(value)}
        return self._attributes | special

    # ---------------------------------------------------------------------------- functions

    def add_function(self, function: FunctionType, known: dict[str, Any], label: str) -> None:
        """Analyse a function, some of whose arguments have known values."""
        if original(function.__code__) in self._without:
            return
        inner = getattr(function, "__wrapped__", None)
        if inner is not None:
            self.add(inner, label)
        if not self.is_users(scope_of(function)):
            for cell in function.__closure__ or ():
                if may_call(value := content(cell)):
                    self.add(value, label)
            return
        code = function.__code__
        key = (id(function), *((name, id(value)) for name, value in known.items()))
        if key in self._codes:
            return
        self._codes.add(key)
        self._seen.setdefault(id(function), function)
        guard = function_guard(function, label or function.__name__)
        self.guards.setdefault((guard.kind, id(function), None), guard)
        local = defaults(function) | known
        names = self._names_read(code)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            local[name] = value = content(cell)
            if name in names and value is not MISSING and self._may_change(value):
                self._guard(CELL, cell, None, value, name)
        self._add_code(code, function.__globals__, local)

    def _add_partial(self, value: functools.partial[Any], label: str) -> None:
        """The function, for which some arguments are known; those whose parameter is not escape."""
        function, args, keywords = value.func, value.args, dict(value.keywords)
        self._guard(PAIRS, value.keywords, None, keywords, f"{label}.keywords")
        known: dict[str, Any] = {}
        if type(function) is FunctionType and self.is_users(scope_of(function)):
            code = function.__code__
            first = code.co_varnames[: code.co_argcount]
            named = code.co_varnames[code.co_posonlyargcount : len(first) + code.co_kwonlyargcount]
            known = dict(zip(first, args, strict=False))
            known |= {name: keywords.pop(name) for name in named if name in keywords}
            args = args[len(first) :]
            self.add_function(function, known, label)
        self.add(function, label)
        for item in (*args, *keywords.values()):
            self.add(item, f"{label}.args")

    def _add_method(self, function: Any, bound: Any, label: str) -> None:
        if type(function) is not FunctionType:
            self.add(function, label)
            return
        first = function.__code__.co_varnames[:1]
        self.add_function(function, dict.fromkeys(first, bound), label)
        key = ("super", id(function), id(bound))
        if "super" not in function.__code__.co_names or key in self._codes:
            return
        self._codes.add(key)
        classes = bound.__mro__ if issubclass(type(bound), type) else type(bound).__mro__
        for name in reads(function.__code__).attributes:
            for cls in classes[1:]:
                behind = function_in(vars(cls).get(name))
                if behind is not None:
                    self._add_method(behind, bound, f"{label}.super().{name}")

    def _names_read(self, code: CodeType) -> set[str]:
        """The variables that a code object reads, or a function in it."""
        known = reads(code)
        names = {read.name for read in known.reads if not read.is_global}
        for inside in known.nested:
            if inside not in self._without:
                names |= self._names_read(inside).intersection(inside.co_freevars)
        return names

    def _add_code(self, code: CodeType, scope: dict[str, Any], local: dict[str, Any]) -> None:
        known = reads(code)
        self._attributes |= known.attributes
        self.takes_callbacks |= not known.attributes.isdisjoint(_names_of_callbacks())
        for read in known.reads:
            if read.is_global:
                if read.name in _DYNAMIC:
                    self._attributes.add(read.name)
                value = scope.get(read.name, MISSING)
                if value is not MISSING and self._may_change(value):
                    self._guard(ENTRY, scope, read.name, value, read.name)
            else:
                value = local.get(read.name, MISSING)
            if value is not MISSING:
                self._follow_read(value, read)
        for inside in known.nested:
            if inside not in self._without:
                taken = {name: local[name] for name in inside.co_freevars if name in local}
                self._add_code(inside, scope, taken)

    # -------------------------------------------------------------------------------- steps

    def _follow_read(self, value: Any, read: Read) -> None:
        label = read.name
        if type(value) is FunctionType and value in TAKE_CALLBACKS:
            self.takes_callbacks = True
        for step in read.steps:
            value = self._step(value, step, label)
            if value is MISSING:
                return
            label += str(step)
        if read.is_used:
            self.add(value, label)

    def _step(self, value: Any, step: Step, label: str, is_read: bool = True) -> Any:
        """Guard an attribute or item and return its value; MISSING where it does not exist, or is
        analysed already. `is_read`: the code is known to read it from this value."""
        if step.is_item:
            return self._item(value, step.key, f"{label}{step}")
        kind = type(value)
        if issubclass(kind, ModuleType):
            target = self._module_entry(value, step.key, f"{label}{step}")
        elif issubclass(kind, type):
            target = self._class_attribute(value, step.key, f"{label}{step}")
        else:
            target = self._attribute(value, step.key, label, is_read)
        if not is_read and target is not MISSING:
            self.add(target, f"{label}{step}")
        return target

    def _item(self, value: Any, key: Any, label: str) -> Any:
        kind = type(value)
        if issubclass(kind, dict) and kind.__getitem__ is dict.__getitem__:
            item = dict.get(value, key, MISSING)
            if item is not MISSING:
                self._guard(ENTRY, value, key, item, label)
            return item
        if kind in (list, tuple) and type(key) is int and -len(value) <= key < len(value):
            if kind is list:
                self._guard(INDEX, value, key, value[key], label)
            return value[key]
        self.add(value, label.rpartition("[")[0])
        return MISSING

    def _module_entry(self, module: ModuleType, name: str, label: str) -> Any:
        entry = vars(module).get(name, MISSING)
        if _is_constant(module) or entry is MISSING:
            return MISSING
        if not self.is_users(module_of(module)) and (
            callable(entry) or issubclass(type(entry), ModuleType)
        ):
            return entry if issubclass(type(entry), ModuleType) else MISSING
        self._guard(ENTRY, vars(module), name, entry, label)
        return entry

    def _class_attribute(self, cls: type, name: str, label: str) -> Any:
        raw = in_class(cls, name)
        if raw is MISSING or not self.is_users(cls.__module__):
            return MISSING
        if type(raw) is classmethod:
            return MethodType(raw.__func__, cls)
        is_function = type(raw) is staticmethod or function_in(raw) is not None
        if type(raw) is staticmethod:
            raw = raw.__func__
        if not is_function and hasattr(type(raw), "__get__"):
            return MISSING
        if not asks_python(type(cls)):
            self._guard(ATTRIBUTE, cls, name, raw, label)
        return raw

    def _attribute(self, value: Any, name: str, label: str, is_read: bool) -> Any:
        kind = type(value)
        attribute = held(value).get(name, MISSING)
        raw = in_class(kind, name)
        path = f"{label}.{name}"
        if attribute is MISSING or type(raw) is property:
            behind = getter(raw)
            if behind is not None:
                self._add_method(behind, value, path)
                return MISSING
            if type(raw) in (classmethod, staticmethod) or function_in(raw) is not None:
                return self._method(value, name, label, is_read)
        is_own = attribute is not MISSING or raw is not MISSING
        is_plain = attribute is not MISSING or not hasattr(type(raw), "__get__")
        if not is_own or not (is_plain or type(raw) is MemberDescriptorType):
            # A method of a container or an array, `__getattr__`, or a descriptor.
            if is_read and not (type(raw) in _IN_C and name in _CHANGING):
                self.add(value, label)
            return MISSING
        if asks_python(kind):
            return MISSING
        attribute = getattr(value, name, MISSING)
        if attribute is not MISSING:
            self._guard(ATTRIBUTE, value, name, attribute, path)
        return attribute

    def _method(self, value: Any, name: str, label: str, is_read: bool) -> Any:
        if not self.is_users(type(value).__module__):
            if is_read:  # such as `get` of a mapping
                self.add(value, label)
            return MISSING
        method = self._class_attribute(type(value), name, f"{label}.{name}")
        function = function_in(method)
        if function is None or type(in_class(type(value), name)) is staticmethod:
            return method
        self._add_method(function, value, f"{label}.{name}")
        return MISSING

    # ---------------------------------------------------------------------------- user code

    def is_users(self, module: Any) -> bool:
        """True for user modules: not of the standard library, NumPy, transpile or an installed
        package, unless the traced function is of that package."""
        top = module.partition(".")[0] if type(module) is str else ""
        return (top == self._home and top not in _CONSTANT) or _is_of_users(top)

    def _may_change(self, value: Any) -> bool:
        """True if a name may be bound to another value later; not for one bound to a library's
        module."""
        return not issubclass(type(value), ModuleType) or self.is_users(module_of(value))


def _names_of_callbacks() -> set[str]:
    """The attributes by which a module has the functions that take callbacks."""
    return {function.__name__ for function in TAKE_CALLBACKS}


@functools.lru_cache(maxsize=1024)
def _is_of_users(top: str) -> bool:
    if top in sys.stdlib_module_names or top in _CONSTANT:
        return False
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return "site-packages" not in file and "dist-packages" not in file


def _is_constant(module: ModuleType) -> bool:
    """True if a module is taken to be constant: NumPy's, say, or one that is written in C."""
    name = module_of(module)
    if name.partition(".")[0] in _CONSTANT:
        return True
    file = vars(module).get("__file__")
    return name in sys.stdlib_module_names if file is None else not str(file).endswith(".py")


def _is_special(cls: type, name: str) -> bool:
    return name[:2] == "__" and name not in _NOT_CALLED and type(vars(cls)[name]) is FunctionType


def _namespaces() -> type:
    """`argparse.Namespace`, if that module is imported."""
    module = sys.modules.get("argparse")
    return module.Namespace if module is not None else SimpleNamespace
