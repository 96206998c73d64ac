"""Extract the access paths that a function reads from its bytecode.

A path is a global, free or local variable followed by attributes and constant subscripts:
`config.layers[0].rate`. CPython compiles such a path to consecutive instructions, so that a linear
scan finds it without simulating the stack. How the value at its end is used is not analysed, except
that assigning to one of its attributes or items is no use.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from opcode import opmap, opname
from types import CodeType
from typing import Any, NamedTuple

from transpile.trace.bytecode.rewriting import original

_EXTENDED = opmap["EXTENDED_ARG"]
_CACHE = opmap["CACHE"]
# From Python 3.12 on the argument of LOAD_ATTR has a flag in its low bit.
_ATTRIBUTE_SHIFT = 1 if sys.version_info >= (3, 12) else 0
_SUBSCRIPT = 26  # of BINARY_OP, from Python 3.14 on

_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_CELLS = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_LOCALS = (
    "LOAD_FAST",
    "LOAD_FAST_CHECK",
    "LOAD_FAST_AND_CLEAR",
    "LOAD_FAST_BORROW",
    *_CELLS,
)
_PAIRS = ("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_NAMING = frozenset((*_ATTRIBUTES, "LOAD_SUPER_ATTR"))
_LOADING = frozenset((*_GLOBALS, *_LOCALS, *_PAIRS, "STORE_FAST_LOAD_FAST"))
_STORES = ("STORE_ATTR", "DELETE_ATTR", "STORE_SUBSCR", "DELETE_SUBSCR")
_CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT")


class Step(NamedTuple):
    """One step of an access path: `.name`, or `[key]` with a constant."""

    is_item: bool
    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]" if self.is_item else f".{self.key}"


class Read(NamedTuple):
    """An access path: a name and the steps from it on. `is_used`: the value at its end is used
    otherwise than by assigning to one of its attributes or items."""

    name: str
    is_global: bool
    steps: tuple[Step, ...]
    is_used: bool


class Reads(NamedTuple):
    """The access paths of a code object, the names of all attributes that it loads, and the code
    objects of the functions defined in it."""

    reads: tuple[Read, ...]
    attributes: frozenset[str]
    nested: tuple[CodeType, ...]


@lru_cache(maxsize=1024)
def reads(code: CodeType) -> Reads:
    """The reads of a code object, without those of nested functions."""
    code = original(code)
    instructions = list(_instructions(code))
    paths: dict[Read, None] = {}
    attributes = set()
    for at, (name, argument) in enumerate(instructions):
        if name in _NAMING:
            attributes.add(_attribute(code, name, argument))
        elif name in _LOADING:
            for root, is_global, is_last in _loaded_names(code, name, argument):
                path, is_used = _access_path(code, instructions, at + 1) if is_last else ((), True)
                paths[Read(root, is_global, path, is_used)] = None
    nested = tuple(c for c in code.co_consts if isinstance(c, CodeType))
    return Reads(tuple(paths), frozenset(attributes), nested)


def global_names(code: CodeType) -> tuple[str, ...]:
    """The globals that a code object and its nested functions read."""
    known = reads(code)
    names = dict.fromkeys(read.name for read in known.reads if read.is_global)
    for nested in known.nested:
        names.update(dict.fromkeys(global_names(nested)))
    return tuple(names)


def _instructions(code: CodeType) -> Iterator[tuple[str, int]]:
    text = code.co_code
    high = 0
    for at in range(0, len(text), 2):
        operation, argument = text[at], text[at + 1] | high
        high = argument << 8 if operation == _EXTENDED else 0
        if operation not in (_EXTENDED, _CACHE):
            yield opname[operation], argument


@lru_cache(maxsize=1024)
def _variables(code: CodeType) -> tuple[str, ...]:
    """The names of local variables, in the order of their numbers in instructions."""
    cells = [name for name in code.co_cellvars if name not in code.co_varnames]
    return (*code.co_varnames, *cells, *code.co_freevars)


def _loaded_names(code: CodeType, name: str, argument: int) -> Iterator[tuple[str, bool, bool]]:
    """The names that an instruction loads: (name, is it a global, is it on top of the stack)."""
    if name in _GLOBALS:
        number = argument >> 1 if name == "LOAD_GLOBAL" else argument
        yield code.co_names[number], True, True
        return
    variables = _variables(code)
    loaded = [(variables[argument >> 4], False)] if name in _PAIRS else []
    loaded.append((variables[argument if name in _LOCALS else argument & 15], True))
    for variable, is_last in loaded:
        # Such an instruction loads the cell, for the closure of a function, and not its content.
        is_cell = name not in _CELLS and variable in (*code.co_cellvars, *code.co_freevars)
        if not is_cell:
            yield variable, False, is_last


def _attribute(code: CodeType, name: str, argument: int) -> str:
    """The attribute that an instruction reads."""
    if name == "LOAD_SUPER_ATTR":
        return code.co_names[argument >> 2]
    return code.co_names[argument >> (_ATTRIBUTE_SHIFT if name == "LOAD_ATTR" else 0)]


def _access_path(
    code: CodeType, instructions: list[tuple[str, int]], at: int
) -> tuple[tuple[Step, ...], bool]:
    """The access path from the value on top of the stack, and whether its end is used."""
    path: list[Step] = []
    while at < len(instructions):
        name, argument = instructions[at]
        after = instructions[at + 1] if at + 1 < len(instructions) else ("", 0)
        if name in _ATTRIBUTES:
            path.append(Step(False, _attribute(code, name, argument)))
        elif name == "COPY" and argument == 1 and after[0] in _ATTRIBUTES:
            pass  # x.a += 1 duplicates x for the assignment
        elif name in _STORES or (name in _CONSTANTS and after[0] in _STORES):
            return tuple(path), False
        elif name in _CONSTANTS and (
            after[0] == "BINARY_SUBSCR" or after == ("BINARY_OP", _SUBSCRIPT)
        ):
            key = code.co_consts[argument] if name == "LOAD_CONST" else argument
            if type(key) is slice:  # a constant in some versions; the sliced value is used
                break
            path.append(Step(True, key))
            at += 1
        else:
            break
        at += 1
    return tuple(path), True
