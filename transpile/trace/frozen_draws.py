"""Draws from `numpy.random` and `random` while a function is traced: they become constants.

The generators that a function names are found in its bytecode, and in that of the functions that it
names: the global ones of NumPy and of Python's module `random`, and `Generator`s and `Random`s in
globals, closures, defaults, static arguments, arguments of a partial and the object of a method.
One whose state is another after the trace has been drawn from, which is worth a warning. So is one
that is made in the trace without a seed.
`SystemRandom` and classes of users have no state that could be asked for without running code of
theirs.
"""

from __future__ import annotations

import dis
import functools
import linecache
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from transpile.errors import FrozenDrawWarning
from transpile.ir.graph import Source
from transpile.ir.source_info import user_source
from transpile.trace.bytecode.reads import Read, reads
from transpile.trace.static_lookup import (
    MISSING,
    content,
    defaults,
    function_in,
    held,
    in_class,
    module_of,
    scope_of,
)
from transpile.util.lazy.imports import imported

_MOST_FUNCTIONS = 256
_NOT_USERS = ("numpy", "transpile", "scipy")
_warned: set[tuple[CodeType, int]] = set()
_warned_of_seeds: set[tuple[str, int]] = set()


class _Use(NamedTuple):
    """A generator, and where code names it."""

    generator: Any
    code: CodeType
    read: Read


class FrozenDraws:
    """The generators that a function may draw from, with their states before it is traced."""

    def __init__(self, function: Any, named: Mapping[str, Any]) -> None:
        innermost, held_by_it = _innermost(function)
        uses = _uses(innermost, {**held_by_it, **named}) if innermost is not None else ()
        self._before = [(use, _state(use.generator)) for use in uses]

    def warn(self, where: str) -> None:
        """Warn, once for each line, of generators that have been drawn from since."""
        for use, before in self._before:
            if _state(use.generator) == before:
                continue
            code, line = use.code, _line(use.code, use.read)
            if (code, line) in _warned:
                continue
            _warned.add((code, line))
            text = linecache.getline(code.co_filename, line).strip()
            source = Source(code.co_filename, line, code.co_name, text)
            message = (
                f"{source}: `{text}` draws random numbers while {where} is traced. They are "
                f"constants of the program: each later call computes with the same ones. Make them "
                f"arguments, or draw with transpile.random from a key that is an argument."
            )
            warnings.warn_explicit(message, FrozenDrawWarning, code.co_filename, line)


def warn_of_seed(seeds: Iterable[Any]) -> None:
    """Warn, once for each line, of a generator that is made while tracing without a seed, which the
    system chooses."""
    source = user_source()
    line = source.file, source.line
    if any(seed is not None for seed in seeds) or line in _warned_of_seeds:
        return
    _warned_of_seeds.add(line)
    message = (
        f"{source}: `{source.text}` makes a random number generator without a seed while tracing. "
        f"What it draws is a constant of the program: each later call computes with the same "
        f"numbers. Make them arguments, or draw with transpile.random from a key that is an "
        f"argument; of a generator with a seed the numbers are the same in any case."
    )
    warnings.warn_explicit(message, FrozenDrawWarning, source.file, source.line)


def _innermost(function: Any) -> tuple[FunctionType | None, dict[str, Any]]:
    """The function of Python inside partials, bound methods and callable objects, and the arguments
    that these hold, by its parameters."""
    args: list[Any] = []
    keywords: dict[str, Any] = {}
    while True:
        if isinstance(function, functools.partial):
            args, keywords = [*function.args, *args], {**function.keywords, **keywords}
            function = function.func
        elif isinstance(function, MethodType):
            args, function = [function.__self__, *args], function.__func__
        else:
            known = function_in(function)
            if known is None:  # a callable object, whose method takes it
                known = function_in(in_class(type(function), "__call__"))
                args = [function, *args]
            if known is None:
                return None, {}
            names = known.__code__.co_varnames[: known.__code__.co_argcount]
            return known, {**dict(zip(names, args, strict=False)), **keywords}


def _uses(function: FunctionType, named: Mapping[str, Any]) -> Iterator[_Use]:
    """The generators that a function, and the functions that it names, name."""
    functions: dict[int, FunctionType] = {id(function): function}
    stack = [function]
    generators: set[int] = set()
    while stack and len(functions) < _MOST_FUNCTIONS:
        one = stack.pop()
        cells = zip(one.__code__.co_freevars, one.__closure__ or (), strict=True)
        local = {**defaults(one), **{name: content(cell) for name, cell in cells}}
        if one is function:
            local.update(named)
        for code, read in _all_reads(one.__code__):
            value = _value(read, local, one.__globals__)
            inner = function_in(value)
            if inner is not None and id(inner) not in functions and _is_users(inner):
                functions[id(inner)] = inner
                stack.append(inner)
            generator = _generator(value)
            if generator is not None and id(generator) not in generators:
                generators.add(id(generator))
                yield _Use(generator, code, read)


def _is_users(function: FunctionType) -> bool:
    return str(scope_of(function)).split(".")[0] not in _NOT_USERS


def _all_reads(code: CodeType) -> Iterator[tuple[CodeType, Read]]:
    known = reads(code)
    for read in known.reads:
        yield code, read
    for nested in known.nested:
        yield from _all_reads(nested)


def _value(read: Read, local: Mapping[str, Any], scope: Mapping[str, Any]) -> Any:
    """What an access path leads to, up to the first generator; MISSING where it is not known."""
    value = scope.get(read.name, MISSING) if read.is_global else local.get(read.name, MISSING)
    for step in read.steps:
        if _generator(value) is not None:
            return value
        if step.is_item:
            is_plain = type(value) in (tuple, list, dict)
            try:
                value = value[step.key] if is_plain else MISSING
            except (LookupError, TypeError):
                return MISSING
        elif issubclass(type(value), ModuleType):
            if module_of(value) == "numpy" and step.key == "random":
                value = imported("numpy.random")  # NumPy imports it at its first use
            else:
                value = vars(value).get(step.key, MISSING)
        else:
            value = held(value).get(step.key, MISSING)
    return value


def _generator(value: Any) -> Any:
    """The generator that a value is, or is a method of; None for anything else."""
    if is_generator(type(value)):
        return value
    owner = getattr(value, "__self__", None) if type(value).__name__ in _METHODS else None
    return owner if is_generator(type(owner)) else None


def is_generator(kind: type) -> bool:
    """True for the class of a generator; modules that nobody has imported have made none."""
    python, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    if python is not None and kind is python.Random:
        return True
    return numpy is not None and issubclass(kind, (numpy.Generator, numpy.RandomState))


def takes_a_seed(kind: type) -> bool:
    """True for the class of a generator, or of what generators take their bits or seeds from."""
    if is_generator(kind):
        return True
    numpy = sys.modules.get("numpy.random")
    return numpy is not None and issubclass(kind, (numpy.BitGenerator, numpy.SeedSequence))


_METHODS = ("method", "builtin_function_or_method", "cython_function_or_method")


def _state(generator: Any) -> Any:
    """A state that can be compared."""
    if type(generator).__module__ == "random":  # Python's
        return generator.getstate()
    is_new = hasattr(generator, "bit_generator")
    state = generator.bit_generator.state if is_new else generator.get_state(legacy=False)
    return _comparable(state)


def _comparable(state: Any) -> Any:
    if isinstance(state, dict):
        return {name: _comparable(value) for name, value in state.items()}
    return state.tobytes() if hasattr(state, "tobytes") else state


def _line(code: CodeType, read: Read) -> int:
    """The first line of a code object that has an access path; its own where none is found."""
    wanted = (read.name, *(step.key for step in read.steps))
    line = code.co_firstlineno
    instructions = list(dis.get_instructions(code))
    for at, instruction in enumerate(instructions):
        if instruction.positions is not None and instruction.positions.lineno is not None:
            line = instruction.positions.lineno
        names = tuple(i.argval for i in instructions[at : at + len(wanted)])
        if names == wanted:
            return line
    return code.co_firstlineno
