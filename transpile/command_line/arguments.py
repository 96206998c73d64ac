"""The words of a command that describe a call: types of arguments, static values, options."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from transpile.errors import UnsupportedError
from transpile.ir.dims import Index, Shape
from transpile.ir.indices.size_constraints import declared
from transpile.ir.indices.size_text import extent
from transpile.ir.types import PYTHON_SCALARS, ShapeDtypeStruct, type_of
from transpile.options import Options

NUMBERS = {kind.__name__: kind() for kind in PYTHON_SCALARS}
_NO_SIZES: Mapping[str, Index] = MappingProxyType({})
_NAMED = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<rest>.+)", re.DOTALL)


class UsageError(Exception):
    """What is wrong with the command, in one line."""


def sizes(constraints: Sequence[str]) -> dict[str, Index]:
    """The runtime sizes of `--size n % 8 == 0`s, by name."""
    try:
        return declared(constraints)
    except ValueError as error:
        raise UsageError(f"--size: {error}") from None


def argument(text: str, known: Mapping[str, Index] = _NO_SIZES) -> tuple[str, Any]:
    """(name or nothing, example) of a `--arg`: `float64[3]`, `float64[n, 3]` with a runtime size,
    `x=float`, `{"w": float64[3]}`.

    The text is read as a Python expression in which types stand in the place of values; `known` are
    sizes with constraints.
    """
    named = _NAMED.fullmatch(text.strip())
    name, type_text = (named["name"], named["rest"]) if named else ("", text)
    try:
        return name, _example(ast.parse(type_text.strip(), mode="eval").body, known)
    except (SyntaxError, TypeError, ValueError, UnsupportedError):
        raise UsageError(
            f"--arg {text!r} is no type; write for example float64[1000,3], int32 or float, or "
            f"{{'w': float64[3], 'b': float64}} for a dict of them"
        ) from None


def _example(node: ast.expr, known: Mapping[str, Index]) -> Any:
    match node:
        case ast.Dict(keys=keys, values=values):
            names = [ast.literal_eval(key) if key is not None else None for key in keys]
            return dict(zip(names, [_example(v, known) for v in values], strict=True))
        case ast.Tuple(elts=items):
            return tuple([_example(item, known) for item in items])
        case ast.List(elts=items):
            return [_example(item, known) for item in items]
        case ast.Name(id=word) if word in NUMBERS:
            return NUMBERS[word]
        case ast.Name(id=word):
            return _array((), word)
        case ast.Subscript(value=ast.Name(id=word), slice=ast.Tuple(elts=sizes)):
            return _array(tuple([extent(size, known) for size in sizes]), word)
        case ast.Subscript(value=ast.Name(id=word), slice=size):
            return _array((extent(size, known),), word)
    raise ValueError(ast.dump(node))


def _array(shape: Shape, dtype: str) -> ShapeDtypeStruct:
    example = ShapeDtypeStruct(shape, np.dtype(dtype))
    type_of(example)
    return example


def static(text: str) -> tuple[str, Any]:
    """(name, value) of a `--static`; a word that is no literal is a string."""
    named = _NAMED.fullmatch(text)
    if named is None:
        raise UsageError(f"--static {text!r} is not of the form NAME=VALUE")
    try:
        return named["name"], ast.literal_eval(named["rest"])
    except (ValueError, SyntaxError):
        if named["rest"].isidentifier():
            return named["name"], named["rest"]
        raise UsageError(f"--static {text!r}: {named['rest']!r} is no Python literal") from None


def check_call(
    where: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raise a UsageError that names the arguments for which there is neither `--arg` nor
    `--static`."""
    try:
        signature = inspect.signature(function)
        given = signature.bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):  # the call says what is wrong with it
        return
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    missing = [
        name
        for name, parameter in signature.parameters.items()
        if name not in given and parameter.default is parameter.empty
        if parameter.kind not in several
    ]
    if missing:
        raise UsageError(
            f"{where} takes {', '.join(signature.parameters)}: there is no --arg for "
            f"{', '.join(missing)}, such as --arg '{missing[0]}=float64[3]'"
        )


def options(texts: Sequence[str]) -> Options:
    """The options that `--option`s ask for."""
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--option {text!r} is not of the form NAME=VALUE")
        default = getattr(Options, name, "") if name in Options.__dataclass_fields__ else ""
        values[name] = value
        if isinstance(default, int):
            words = {"true": True, "yes": True, "false": False, "no": False}
            digits = int(value) if value.isdecimal() else value
            values[name] = words.get(value.lower(), digits)
    try:
        return Options().replace(values)
    except ValueError as error:
        raise UsageError(str(error)) from None
