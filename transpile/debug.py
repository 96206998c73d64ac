"""Values at run time: `debug.print` and `debug.callback`, with JAX's names and arguments.

They work in jitted functions, in loops and branches, and under every transformation: a derivative
shows the values, `vmap` calls once for each example. Calls come in the order of the program, and an
exception in one ends the program and reaches its caller. Outside of traces they call at once.
"""

from __future__ import annotations

import builtins
import logging
import string
import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from transpile.ir.dims import Dim
from transpile.ir.number_text import number_text
from transpile.ir.source_info import user_source
from transpile.ir.types import PYTHON_SCALARS, SHORT_NAMES
from transpile.primitives.effects.callbacks import Callback, Message, Same, debug_callback
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.pytree.treedef import TreeDef
from transpile.trace.call_signature import function_name
from transpile.trace.guards.executed_code import codes_of, takes_callback
from transpile.trace.trace import bind, current_trace
from transpile.trace.tracer import Tracer
from transpile.util.frozen_records import dataclass

__all__ = ["callback", "log", "print"]

_logger = logging.getLogger("transpile.debug")
_NOTHING: Any = object()


@takes_callback
def callback(
    callback: Callable[..., object] = _NOTHING,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call `callback(*args, **kwargs)` when the program runs, with arrays for traced values.

    args, kwargs  pytrees; what is no array in them is passed on as it is
    ordered       changes nothing: all calls come in the order of the program
    partitioned   changes nothing: there is one device

    `callback(ordered=True)(function, *args)` is the same in two steps. Raises TypeError for what
    cannot be called. What the function returns is ignored.
    """
    if callback is _NOTHING:
        if args or kwargs:
            raise TypeError(
                "debug_callback received unexpected arguments in the two-call form: "
                f"{args=} {kwargs=}"
            )
        return _call_back
    return _call_back(callback, *args, **kwargs)


def _call_back(callback: Callable[..., object], *args: Any, **kwargs: Any) -> None:
    if not callable(callback):
        raise TypeError(
            "first argument to debug.callback must be callable, but got an object of type "
            f"{type(callback)}"
        )
    arguments = _Arguments.of(args, kwargs)
    name = function_name(callback)
    key = ("callback", Same(callback), arguments.key)
    functions = (callback, *filter(callable, arguments.leaves))
    codes = [code for function in functions for code in codes_of(function)]
    _effect(arguments, Callback(name, _Bound(callback, arguments), key, codes=codes))


def print(  # the name is jax.debug's
    fmt: str = _NOTHING,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Print `fmt.format(*args, **kwargs)` when the program runs, with arrays for traced values.

    fmt                a format string, no f-string: `debug.print("x = {x}", x=x)`
    ordered            changes nothing: all lines come in the order of the program
    partitioned        changes nothing: there is one device
    skip_format_check  do not check that the arguments and the format fit

    `print(ordered=True)("x = {}", x)` is the same in two steps. Arrays are printed with the options
    of `numpy.printoptions` of now. A saved C library prints the values in a plain form. Raises
    ValueError for arguments that the format does not use, IndexError and KeyError for missing ones.
    """
    return _printed(fmt, args, kwargs, skip_format_check, is_logged=False)


def log(
    fmt: str = _NOTHING,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """As `print`; the line goes to the logger "transpile.debug", at level INFO."""
    return _printed(fmt, args, kwargs, skip_format_check, is_logged=True)


def _printed(
    fmt: Any, args: tuple[Any, ...], kwargs: dict[str, Any], is_unchecked: bool, is_logged: bool
) -> Any:
    def now(fmt: str, *args: Any, **kwargs: Any) -> None:
        _print(fmt, args, kwargs, is_unchecked, is_logged)

    if fmt is not _NOTHING:
        now(fmt, *args, **kwargs)
        return None
    if args or kwargs:
        raise TypeError(
            f"debug_print received unexpected arguments in the two-call form: {args=} {kwargs=}"
        )
    return now


def _print(
    fmt: str, args: tuple[Any, ...], kwargs: dict[str, Any], is_unchecked: bool, is_logged: bool
) -> None:
    if not isinstance(fmt, str):
        raise TypeError(f"expected str, got {type(fmt).__name__}")
    if not is_unchecked:
        _Checker().vformat(fmt, args, kwargs)
    arguments = _Arguments.of(args, kwargs)
    options = tuple(sorted(np.get_printoptions().items(), key=lambda item: item[0]))
    source = user_source() if is_logged else None
    line = _Line(fmt, options, (source.file, source.line) if source is not None else None)
    key = ("print", line, arguments.key) if _is_hashable(line) else ("print", Same(line))
    message = None if is_logged else _message(fmt, arguments)
    _effect(arguments, Callback("print", _Bound(line, arguments), key, message))


class _Checker(string.Formatter):
    """A formatter that only checks that all arguments exist and are used."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Nothing."""
        return ""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        """The value itself."""
        return value

    def check_unused_args(
        self, used_args: set[int | str], args: Sequence[Any], kwargs: Any
    ) -> None:
        """Refuse arguments that the format does not name."""
        if left := [x for i, x in enumerate(args) if i not in used_args]:
            raise ValueError(f"Unused positional arguments to `debug.print`: {left}")
        if named := [k for k in kwargs if k not in used_args]:
            raise ValueError(
                f"Unused keyword arguments to `debug.print`: {named}. You may be passing an "
                'f-string (i.e, `f"{x}"`) into `debug.print` and instead should pass in a regular '
                "string."
            )


# --------------------------------------------------------------------------------------- arguments


class _Operand:
    """The placeholder of a traced leaf among arguments."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


@dataclass(frozen=True, eq=False)
class _Arguments:
    """Arguments whose traced leaves are operands: `leaves` has an _Operand for each."""

    operands: tuple[Tracer, ...]
    leaves: tuple[Any, ...]
    structure: TreeDef

    @staticmethod
    def of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Arguments:
        """The arguments of a call; arrays that are not traced are copied."""
        leaves, structure = flatten_arrays((args, kwargs))
        operands: list[Tracer] = []
        kept: list[Any] = []
        for leaf in leaves:
            if isinstance(leaf, Dim):
                leaf = leaf.as_value()
            if isinstance(leaf, Tracer):
                kept.append(_Operand(len(operands)))
                operands.append(leaf)
            elif type(leaf) in PYTHON_SCALARS or isinstance(leaf, np.ndarray | np.generic):
                kept.append(np.array(leaf)[()])
            else:
                kept.append(leaf)
        return _Arguments(tuple(operands), tuple(kept), structure)

    @property
    def key(self) -> Hashable:
        """The arguments without the values of the operands, for comparison."""
        leaves = tuple(
            ("operand", x.number) if isinstance(x, _Operand) else _value_key(x) for x in self.leaves
        )
        return (leaves, self.structure)

    def filled(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with values substituted for the operands."""
        leaves = [values[x.number] if isinstance(x, _Operand) else x for x in self.leaves]
        args, kwargs = self.structure.unflatten(leaves)
        return args, kwargs


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _value_key(value: Any) -> Hashable:
    if isinstance(value, np.generic):
        return (value.dtype.str, value.tobytes())
    return (type(value), value) if isinstance(value, str) else Same(value)


class _Bound:
    """A function of operands alone, made of one of all arguments."""

    __slots__ = ("arguments", "function")

    def __init__(self, function: Callable[..., object], arguments: _Arguments) -> None:
        self.function = function
        self.arguments = arguments

    def __call__(self, *values: Any) -> None:
        args, kwargs = self.arguments.filled(values)
        self.function(*args, **kwargs)


def _effect(arguments: _Arguments, callback: Callback) -> None:
    """Add a callback to the active trace; without a trace, call it now."""
    if current_trace() is None:
        callback()
    else:
        bind(debug_callback, *arguments.operands, callback=callback)


# -------------------------------------------------------------------------------------------- lines


@dataclass(frozen=True)
class _Line:
    """What prints a line: its format, NumPy's print options, and where a record of it comes from,
    if it is one."""

    fmt: str
    options: tuple[tuple[str, Any], ...]
    place: tuple[str, int] | None

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Print it."""
        if _has_fields(self.fmt):
            with np.printoptions(**dict(self.options)):
                text = self.fmt.format(*args, **kwargs)
        else:
            text = " ".join((self.fmt, *map(str, args)))
        if self.place is None:
            sys.stdout.write(text + "\n")
        else:
            file, line = self.place
            _logger.handle(
                _logger.makeRecord(_logger.name, logging.INFO, file, line, text, (), None)
            )


def _has_fields(fmt: str) -> bool:
    return any(field is not None for _, field, _, _ in string.Formatter().parse(fmt))


def _message(fmt: str, arguments: _Arguments) -> Message:
    """The parts of a line, texts and operands, without format specifications."""
    args, kwargs = arguments.structure.unflatten(arguments.leaves)
    parts: list[str | int] = []
    position = 0
    for literal, field, _, _ in string.Formatter().parse(fmt):
        parts.append(literal)
        if field is None:
            continue
        name, _, _ = field.partition(".")
        name, _, _ = name.partition("[")
        if not name:
            name, position = str(position), position + 1
        value = args[int(name)] if name.isdigit() else kwargs[name]
        parts += _pieces(value)
    if not _has_fields(fmt):
        for value in args:
            parts += [" ", *_pieces(value)]
    return (*parts, "\n")


def _pieces(value: Any) -> list[str | int]:
    """The leaves of an argument, as text or operands."""
    leaves, _ = flatten_arrays(value)
    pieces: list[str | int] = []
    for k, leaf in enumerate(leaves):
        pieces += [", "] if k else []
        pieces.append(leaf.number if isinstance(leaf, _Operand) else _known_text(leaf))
    return pieces


def _known_text(leaf: Any) -> str:
    """What a program prints for a value that is known while tracing."""
    if isinstance(leaf, np.generic) and leaf.dtype in SHORT_NAMES:
        return number_text(leaf, leaf.dtype)
    return builtins.str(leaf)
