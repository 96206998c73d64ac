"""JAX's errors about a carry that a loop changes, and about branches whose results differ."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from transpile.ir.source_info import function_source, user_source
from transpile.ir.types import ArrayType
from transpile.pytree.keys import KeyPath, keystr
from transpile.pytree.treedef import TreeDef
from transpile.trace.call_signature import function_name, inner, type_text
from transpile.util.escapes import one_line

Kinds = Sequence[ArrayType]


def check_carry(
    what: str,
    component: Callable[[KeyPath], str],
    before: tuple[TreeDef, Kinds],
    after: tuple[TreeDef, Kinds],
) -> None:
    """Raise JAX's TypeError unless the carry that a body returns is like the one that it takes.

    what       the loop, for the message: `scan body`
    component  the name of a part of the carry, by its path
    """
    differing = list(structure_differences(before[0], after[0]))
    if before[0] != after[0] and differing:
        lines = [
            f"{component(path)} is a {own} but the corresponding component of the carry output is "
            f"a {other}, so {reason}"
            for path, own, other, reason in differing
        ]
        raise TypeError(
            f"{user_source()}: {what} function carry input and carry output must have the same "
            f"pytree structure, but they differ:\n\n{_listed(lines)}\n\nRevise the function so "
            f"that the carry output has the same pytree structure as the carry input."
        )
    lines = [
        f"{component(path)} has type {type_text(own)} but the corresponding output carry component "
        f"has type {type_text(other)}{_reasons(own, other)}"
        for path, own, other in zip(before[0].key_paths(), before[1], after[1], strict=True)
        if own.strong != other.strong
    ]
    if lines:
        raise TypeError(
            f"{user_source()}: {what} function carry input and carry output must have equal types, "
            f"but they differ:\n\n{_listed(lines)}\n\nRevise the function so that all output types "
            f"match the corresponding input types."
        )


def component_of(function: Callable[..., Any]) -> Callable[[KeyPath], str]:
    """The name of a part of a body's carry in messages: its first parameter."""
    try:
        names = list(inspect.signature(function).parameters)
    except (ValueError, TypeError):
        names = []
    return component_named(names[0] if names else "")


def component_named(name: str) -> Callable[[KeyPath], str]:
    """How the parts of a carry of this name are called."""

    def component(path: KeyPath) -> str:
        part = keystr(path)
        if name:
            is_part = part or name.endswith("]")
            return f"the input carry {'component ' if is_part else ''}{name}{part}"
        return f"the input carry{f' at path {part}' if part else ''}"

    return component


def check_branches(
    what: str,
    names: tuple[str, str],
    functions: tuple[Callable[..., Any], Callable[..., Any]],
    first: tuple[TreeDef, Kinds],
    second: tuple[TreeDef, Kinds],
) -> None:
    """Raise JAX's TypeError unless two branches give results of the same structure and types."""
    one, two = names
    both = (
        f"{one} is {_place(functions[0])}\n{two} is {_place(functions[1])}\n\n"
        # the differences stand between
    )
    differing = list(structure_differences(first[0], second[0]))
    if first[0] != second[0] and differing:
        lines = [
            f"{one} output{_at(path)} is a {own} but {two} output{_at(path)} is a {other}, so "
            f"{reason}"
            for path, own, other, reason in differing
        ]
        raise TypeError(
            f"{user_source()}: {what} branch outputs must have the same pytree structure, but they "
            f"differ:\n\n{both}{_listed(lines, capital=False)}\n\nRevise {one} and/or {two} so "
            f"that they have the same pytree structure."
        )
    lines = [
        f"the output of {one}{_at(path)} has type {type_text(own)} but the corresponding output of "
        f"{two} has type {type_text(other)}{_reasons(own, other)}"
        for path, own, other in zip(first[0].key_paths(), first[1], second[1], strict=True)
        if own.strong != other.strong
    ]
    if lines:
        raise TypeError(
            f"{user_source()}: {what} branches must have equal output types but they differ.\n\n"
            f"{both}{_listed(lines)}\n\nRevise {one} and/or {two} so that all output types match."
        )


def _at(path: KeyPath) -> str:
    return f" at path {keystr(path)}" if path else ""


def _place(function: Callable[..., Any]) -> str:
    source = function_source(inner(function))
    return f"{function_name(function)} at {one_line(source.file)}:{source.line}"


def _listed(lines: Sequence[str], capital: bool = True) -> str:
    """One difference as a sentence, or several as a list."""
    if len(lines) == 1:
        (line,) = lines
        return f"{line[0].upper() if capital else line[0]}{line[1:]}."
    return ";\n".join(f"  * {line}" for line in lines) + "."


def _reasons(own: ArrayType, other: ArrayType) -> str:
    """In which respects two types differ."""
    reasons = ["the dtypes do not match"] * (own.dtype != other.dtype)
    reasons += ["the shapes do not match"] * (own.shape != other.shape)
    return f", so {', and '.join(reasons)}"


# ------------------------------------------------------------------------------------- structures


def structure_differences(
    one: TreeDef, two: TreeDef, path: KeyPath = ()
) -> Iterator[tuple[KeyPath, str, str, str]]:
    """Where two structures differ: (path, what stands there in each, in which respect)."""
    if one.node is None or two.node is None or one.node is not two.node:
        if one.node is not two.node:
            yield path, _kind(one), _kind(two), "their Python types differ"
        return
    counts = len(one.subtrees), len(two.subtrees)
    if counts[0] != counts[1]:
        yield path, *_counted(one, two)
        return
    if one.data != two.data:
        yield (
            path,
            f"{_kind(one)} with pytree metadata {one.data}",
            f"{_kind(two)} with pytree metadata {two.data}",
            "the pytree node metadata does not match",
        )
        return
    for key, a, b in zip(one.keys, one.subtrees, two.subtrees, strict=True):
        yield from structure_differences(a, b, (*path, key))


def _kind(structure: TreeDef) -> str:
    return "pytree leaf" if structure.node is None else str(structure.node.cls)


def _counted(one: TreeDef, two: TreeDef) -> tuple[str, str, str]:
    """How containers of one class with different numbers of children differ."""
    assert one.node is not None
    if issubclass(one.node.cls, list | tuple):
        name = one.node.cls.__name__
        here, there = (f"{name} of length {len(t.subtrees)}" for t in (one, two))
        return here, there, "the lengths do not match"
    here, there = (
        f"{_kind(t)} with {len(t.subtrees)} child{'ren' if len(t.subtrees) > 1 else ''}"
        for t in (one, two)
    )
    keys = [{str(getattr(k, "key", k)): k for k in t.keys} for t in (one, two)]
    differing = " ".join(
        repr(getattr(k, "key", k))
        for own, other in (keys, keys[::-1])
        for name, k in own.items()
        if name not in other
    )
    reason = "the numbers of children do not match"
    if differing:
        reason += f", with the symmetric difference of key sets: {{{differing}}}"
    return here, there, reason
