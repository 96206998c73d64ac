"""Which axes of a jitted function's arguments are runtime sizes: `jit(f, dynamic_shapes=...)`.

A call is generalised before it is traced: extents of its arguments become sizes, and the trace is
kept by the types that it then has. A later call whose shapes fit these types needs no trace.

    {"x": ("n", 3)}   what is declared of some arguments, by name or path
    True              every axis; those that are equally long in the call are one size
    "auto"            the axes that differ from an earlier call; equal in both calls, they are one
                      size. What cannot be compiled for all sizes is compiled for each
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from transpile.errors import UndecidedSizeError
from transpile.ir.dims import Dim, Index, Shape, Symbol, substitute, terms_of
from transpile.ir.indices.size_solver import SizeMismatchError, sizes_of, solved
from transpile.ir.indices.size_text import parsed
from transpile.ir.types import ArrayType
from transpile.trace.call_signature import Signature, same_type, type_text
from transpile.util.frozen_records import dataclass, replace
from transpile.util.interrupt_safety import THREAD, Result, as_before, between

Types = tuple[ArrayType, ...]
# A declared shape; the last item may be an Ellipsis, for further axes that are as in the call.
Template = tuple[Any, ...]
Setting = bool | str | tuple[tuple[str, Template], ...]


def setting(given: Any) -> Setting:
    """The argument of `jit` as part of a key. Raises TypeError or ValueError for another one."""
    if given is None or given is False:
        return False
    if given is True or (isinstance(given, str) and given == "auto"):
        return bool(given) if given is True else "auto"
    if not isinstance(given, Mapping):
        raise TypeError(
            "dynamic_shapes is True, 'auto', or a dict of shapes by the names of arguments, such "
            f"as {{'x': ('n', 3)}}; not {given!r}"
        )
    return tuple((str(name), _template(name, shape)) for name, shape in given.items())


def _template(name: str, shape: Any) -> Template:
    shape = (shape,) if isinstance(shape, str | Dim) else shape
    if not isinstance(shape, tuple | list):
        raise TypeError(f"dynamic_shapes: {name!r} has a shape such as ('n', 3), not {shape!r}")
    extents = tuple(parsed(d) if isinstance(d, str) else d for d in shape)
    if any(not isinstance(d, int | Dim) and d is not None and d is not ... for d in extents):
        raise TypeError(
            f"dynamic_shapes: an extent of {name!r} is a text, an int, None for that of the call, "
            f"or at the end an Ellipsis for all further ones; not {shape!r}"
        )
    if ... in extents[:-1]:
        raise ValueError(f"dynamic_shapes: the Ellipsis of {name!r} is not its last extent")
    return extents


@dataclass
class Seen:
    """What calls of a function have been: the types of traces with runtime sizes, those for which
    there can be no program, and the latest fixed types of each structure ("auto")."""

    general: dict[Any, list[Types]]
    refused: set[tuple[Any, Types]]
    latest: dict[Any, Types]

    @classmethod
    def nothing(cls) -> Seen:
        """Before the first call."""
        return cls({}, set(), {})

    def clear(self) -> None:
        """Forget all calls."""
        self.general.clear()
        self.refused.clear()
        self.latest.clear()


def generalised(chosen: Setting, call: Signature, seen: Seen) -> Types:
    """The types for which a call is traced. Raises TypeError where its shapes are not as declared,
    and ValueError where a declared constraint does not hold."""
    if chosen is False or any(isinstance(d, Dim) for t in call.types for d in t.shape):
        return call.types
    if isinstance(chosen, tuple):
        return _declared(dict(chosen), call)
    structure = _structure(call)
    fitting = next((t for t in seen.general.get(structure, ()) if _fits(t, call)), None)
    if fitting is not None:
        return fitting
    if chosen is True:
        types = _with_sizes(call.types, [_lengths(t.shape) for t in call.types])
    else:
        before = seen.latest.get(structure, call.types)
        seen.latest[structure] = call.types
        types = _with_sizes(call.types, _changes(before, call.types))
        if (structure, types) in seen.refused:
            return call.types
    if types != call.types:
        seen.general.setdefault(structure, []).append(types)
    return types


class Assumed:
    """What a trace needs of sizes that `jit` infers, where it holds in the call: a known subscript
    needs a longer axis. The trace goes on, to collect all that it needs, and is made once more.

    least     the least value that each size has to have
    is_short  whether an axis of the call is too short
    """

    def __init__(self, types: Types, call: Signature) -> None:
        values = sizes_in(types, call)
        self._values = {s: values[s.name] for s in sizes_of(t.shape for t in types)}
        self._text = ""
        self.least: dict[Symbol, int] = {}
        self.is_short = False

    def covers(self, slack: Index, text: str) -> bool:
        """Note that a polynomial has to be 0 or more; False where that is no matter of one size, or
        does not hold in the call."""
        factors = dict(terms_of(slack))
        rest = factors.pop((), 0)
        (atom, *others), factor = next(iter(factors.items()), ((None,), 0))
        if len(factors) != 1 or others or not isinstance(atom, Symbol) or factor < 1:
            return False
        least = -(rest // factor)
        self.is_short |= self._values.get(atom, least) < least
        if self._values.get(atom, -1) < least:
            return False
        self.least[atom] = max(self.least.get(atom, 0), least)
        self._text = self._text or text
        return True

    def settle(self) -> None:
        """Raise UndecidedSizeError if the trace needs anything: it is for other sizes, too."""
        if self.least:
            raise UndecidedSizeError(self._text)

    def held(self, run: Callable[[], Result]) -> Result:
        """The result of `run()`, which collects what it needs."""

        def begin() -> None:
            THREAD.assumed = self

        return between(begin, run, as_before())


def longer(types: Types, assumed: Assumed, call: Signature, seen: Seen) -> Types:
    """The types with sizes that are as large as a trace needs them."""
    refuse(types, call, seen)
    values: dict[Symbol, Index] = {
        size: Dim.symbol(size.name, least) for size, least in assumed.least.items()
    }
    found = tuple(
        replace(t, shape=tuple(substitute(d, values) if isinstance(d, Dim) else d for d in t.shape))
        for t in types
    )
    seen.general.setdefault(_structure(call), []).append(found)
    return found


def refuse(types: Types, call: Signature, seen: Seen) -> None:
    """Note that there can be no program for these types."""
    structure = _structure(call)
    seen.refused.add((structure, types))
    seen.general[structure].remove(types)


def sizes_in(types: Types, call: Signature) -> dict[str, int]:
    """The runtime sizes of a call, for which a program of these types is there."""
    shapes = (
        (path, general.shape, kind.static_shape())
        for path, general, kind in zip(call.paths, types, call.types, strict=True)
    )
    return solved(sizes_of(t.shape for t in types), shapes)


def _structure(call: Signature) -> tuple[Any, ...]:
    """All of a call but the extents."""
    return (call.in_tree, *[(t.dtype, t.weak, len(t.shape)) for t in call.types])


def _fits(types: Types, call: Signature) -> bool:
    if not all(map(same_type, types, call.types)):
        return False
    try:
        sizes_in(types, call)
    except (SizeMismatchError, ValueError):
        return False
    return True


# --------------------------------------------------------------------------------- what is declared


def _declared(templates: Mapping[str, Template], call: Signature) -> Types:
    types = []
    used = set()
    for path, kind in zip(call.paths, call.types, strict=True):
        name = path if path in templates else _parameter(path)
        used.add(name)
        template = templates.get(name)
        types.append(
            kind if template is None else replace(kind, shape=_filled(template, path, kind))
        )
    if unknown := sorted(templates.keys() - used):
        raise ValueError(
            f"dynamic_shapes names {', '.join(map(repr, unknown))}, and the traced arguments are "
            f"{', '.join(map(repr, call.paths))}"
        )
    result = tuple(types)
    wrong = [
        f"argument {path!r} is {type_text(kind)}, and dynamic_shapes says {type_text(general)}"
        for path, kind, general in zip(call.paths, call.types, result, strict=True)
        if not same_type(general, kind)
    ]
    if wrong:
        raise TypeError("\n".join(wrong))
    sizes_in(result, call)
    return result


def _parameter(path: str) -> str:
    """The parameter of a leaf: `params` for `params['w']`."""
    return path.partition("[")[0].partition(".")[0]


def _filled(template: Template, path: str, kind: ArrayType) -> Shape:
    """The declared shape of a leaf, with what is as in the call."""
    given = kind.shape
    rest: tuple[Index | None, ...] = template
    if template and template[-1] is ...:
        rest = (*template[:-1], *given[len(template) - 1 :])
    if len(rest) != len(given):
        raise TypeError(
            f"argument {path!r} is {type_text(kind)}, and dynamic_shapes says that it has "
            f"{len(rest)} axes"
        )
    return tuple(d if d is not None else own for d, own in zip(rest, given, strict=True))


# --------------------------------------------------------------------------------- what is inferred

# What decides whether two axes are one size; None for an axis that is none.
Marks = Sequence[Sequence[Any]]


def _lengths(shape: Shape) -> list[Any]:
    """Lengths of 0 and 1 are part of what a function means: broadcasting, and nothing at all."""
    return [d if isinstance(d, int) and d > 1 else None for d in shape]


def _changes(before: Types, now: Types) -> Marks:
    """The pairs of lengths, of axes whose length has changed."""
    return [
        [
            (d, e) if d != e and min(d, e) > 1 else None
            for d, e in zip(old.static_shape(), new.static_shape(), strict=True)
        ]
        for old, new in zip(before, now, strict=True)
    ]


def _with_sizes(types: Types, marks: Marks) -> Types:
    names: dict[Any, Dim] = {}
    general = []
    for kind, of_axes in zip(types, marks, strict=True):
        shape = tuple(
            d if mark is None else names.setdefault(mark, Dim.symbol(f"n{len(names)}", 2))
            for d, mark in zip(kind.shape, of_axes, strict=True)
        )
        general.append(replace(kind, shape=shape))
    return tuple(general)
