"""Bind the arguments of a call to a function's parameters, some of which are static or donated."""

from __future__ import annotations

import dataclasses
import inspect
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from transpile.ir.source_info import shown
from transpile.ir.types import PYTHON_SCALARS
from transpile.pytree.device_arrays import DeviceArray
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.call_key import (
    KEYWORDS,
    Held,
    concrete,
    describe,
    ndarray,
    receiver_key,
    shape_and_layout,
    static_key,
)
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class Bound:
    """The arguments of one call.

    `traced` are (position or keyword, name in messages, value, is it donated), `statics` (name,
    value) by position or keyword; `count` is the number of positional arguments.
    """

    traced: tuple[tuple[int | str, str, Any, bool], ...]
    statics: Mapping[int | str, tuple[str, Any]]
    count: int
    has_receiver: bool = False

    def split(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The traced arguments alone, as (args, kwargs)."""
        return (
            tuple(value for place, _, value, _ in self.traced if isinstance(place, int)),
            {place: value for place, _, value, _ in self.traced if isinstance(place, str)},
        )

    def join(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], Any]:
        """The arguments of the call, from traced ones as `split` gives them."""
        traced = iter(args)
        return (
            [
                self.statics[place][1] if place in self.statics else next(traced)
                for place in range(self.count)
            ],
            dict(kwargs)
            | {place: v for place, (_, v) in self.statics.items() if isinstance(place, str)},
        )

    def given(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], Any]:
        """As `join`, as the function gets them."""
        joined, names = self.join(args, kwargs)
        return [*map(_given, joined)], {name: _given(value) for name, value in names.items()}

    def held(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[str, Held, Any]]:
        """For each static value of which the function gets a copy its name, it, and the copy among
        these arguments."""
        return [
            (name, value, args[place] if isinstance(place, int) else kwargs[place])
            for place, (name, value) in self.statics.items()
            if type(value) is Held
        ]

    def names_of_leaves(self) -> list[str]:
        """For each traced leaf the name of the argument that holds it."""
        return [
            name for _, name, value, _ in self.traced for _ in range(len(flatten_arrays(value)[0]))
        ]

    def names_of_numbers(self) -> frozenset[str]:
        """The names of the arguments that are Python's numbers."""
        return frozenset(n for _, n, value, _ in self.traced if type(value) in PYTHON_SCALARS)

    def names_of_integers(self) -> frozenset[str]:
        """The names of those that are integers, or True or False."""
        kinds = (int, np.integer, np.bool_)
        return frozenset(n for _, n, value, _ in self.traced if isinstance(value, kinds))

    def check_statics(self, function_name: str) -> None:
        """Raise ValueError for a static value that cannot be hashed."""
        for place, (name, value) in self.statics.items():
            if place == 0 and self.has_receiver:
                continue
            try:
                hash(value)
            except TypeError:
                index = f" (index {place})" if isinstance(place, int) else ""
                raise ValueError(
                    f"Non-hashable static arguments cannot be used: argument {name!r}{index} "
                    f"of type {type(value)} for function {function_name} is non-hashable: "
                    f"{shown(value)}"
                ) from None


def _given(value: Any) -> Any:
    """A static value, as the function gets it."""
    return value.value if type(value) is Held else value


@dataclass(frozen=True)
class Parameters:
    """The parameters of a function: their names, and which are static or donated.

    `variadic` is the name of `*args` (`args` too if the signature is unknown), or `""`.
    `has_receiver` says that the first argument is that of a method, a static one: it goes by
    identity where its class has no hash. A call may lack the static arguments of `*args` at
    `optional`.
    """

    positional: tuple[str, ...]
    variadic: str
    static_argnums: tuple[int, ...]
    static_argnames: frozenset[str]
    donate_argnums: tuple[int, ...]
    donate_argnames: frozenset[str]
    any_static: bool
    has_receiver: bool = False
    optional: frozenset[int] = frozenset()

    def positions(self, argnums: tuple[int, ...], count: int) -> frozenset[int]:
        """The positions that argnums mean in a call with `count` positional arguments."""
        if not self.variadic:
            return frozenset(argnums)
        plain = len(self.positional)  # a parameter with a default may be left out, `*args` may not
        declared = [n for n in argnums if n not in self.optional]
        if any(n < -count or (n >= count and n >= plain) for n in declared):
            raise ValueError(
                f"jitted function has static_argnums={self.static_argnums}, "
                f"donate_argnums={self.donate_argnums} but was called with only {count} positional "
                f"argument{'s' if count != 1 else ''}"
            )
        return frozenset(n if n >= 0 else n + count for n in argnums)

    def describe(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], leaf: Callable[[Any], Any] = concrete
    ) -> tuple[tuple[Any, ...], list[Any]]:
        """The key and the traced leaves of a call. Raises Rejected for a leaf that is no array."""
        key: list[Any] = []
        leaves: list[Any] = []
        if self.any_static:
            static = self.positions(self.static_argnums, len(args))
            for position, value in enumerate(args):
                if position == 0 and self.has_receiver:
                    key.append(receiver_key(value))
                elif position in static:
                    key.append(static_key(value))
                else:
                    describe(value, key, leaves, leaf)
        else:
            for value in args:
                if type(value) is ndarray:  # inlined for speed
                    key.append(value.dtype)
                    contiguous = value.flags.c_contiguous
                    key.append(value.shape if contiguous else shape_and_layout(value))
                    leaves.append(value)
                elif isinstance(value, DeviceArray):
                    key.append(value.kind)
                    leaves.append(value)
                else:
                    describe(value, key, leaves, leaf)
        if kwargs:
            names = sorted(kwargs)
            key += (KEYWORDS, tuple(names))
            for name in names:
                if name in self.static_argnames:
                    key.append(static_key(kwargs[name]))
                else:
                    describe(kwargs[name], key, leaves, leaf)
        return tuple(key), leaves

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Bound:
        """Split the arguments of a call into traced and static ones."""
        static = self.positions(self.static_argnums, len(args))
        donated = self.positions(self.donate_argnums, len(args))
        traced: list[tuple[int | str, str, Any, bool]] = []
        statics: dict[int | str, tuple[str, Any]] = {}
        for position, value in enumerate(args):
            name = self.name_of(position)
            if position in static:
                statics[position] = (name, value)
            else:
                traced.append((position, name, value, position in donated))
        for name in sorted(kwargs):
            if name in self.static_argnames:
                statics[name] = (name, kwargs[name])
            else:
                traced.append((name, name, kwargs[name], name in self.donate_argnames))
        return Bound(tuple(traced), statics, len(args), self.has_receiver)

    def name_of(self, position: int) -> str:
        """The name of a positional argument in messages."""
        if position < len(self.positional):
            return self.positional[position]
        return f"{self.variadic or 'args'}[{position - len(self.positional)}]"

    def with_static(self, names: Iterable[str], count: int) -> Parameters:
        """These with arguments of these names static too, of calls with `count` positional
        arguments, or of fewer."""
        found = {n for n in range(count) if self.name_of(n) in names}
        found |= {n for n, name in enumerate(self.positional) if name in names}
        return dataclasses.replace(
            self,
            static_argnums=tuple(sorted({*self.static_argnums, *found})),
            static_argnames=self.static_argnames.union(names),
            any_static=True,
            optional=self.optional | {n for n in found if n >= len(self.positional)},
        )


def parameters(
    function: Callable[..., Any],
    static_argnums: int | Iterable[int] | None = (),
    static_argnames: str | Iterable[str] | None = (),
    donate_argnums: int | Iterable[int] | None = (),
    donate_argnames: str | Iterable[str] | None = (),
) -> Parameters:
    """The parameters of a function from its signature; argnums and argnames complete each other.

    Raises ValueError for a number or name that the function does not have, and for an argument that
    is both static and donated.
    """
    try:
        declared: list[inspect.Parameter] | None = list(
            inspect.signature(function).parameters.values()
        )
    except (ValueError, TypeError):
        declared = None
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = tuple(p.name for p in declared or () if p.kind in plain)
    variadic = "args"
    if declared is not None:
        variadic = next((p.name for p in declared if p.kind is p.VAR_POSITIONAL), "")
    numbers = _numbers(static_argnums, "static_argnums")
    donated = _numbers(donate_argnums, "donate_argnums")
    names = _names(static_argnames, "static_argnames")
    donated_names = _names(donate_argnames, "donate_argnames")
    for given, what in ((numbers, "static_argnums"), (donated, "donate_argnums")):
        _check_numbers(given, what, positional, variadic)
    for listed, what in ((names, "static_argnames"), (donated_names, "donate_argnames")):
        _check_names(listed, what, declared)
    numbers, all_names = _complete(numbers, names, positional, variadic)
    donated, all_donated = _complete(donated, donated_names, positional, variadic)
    both = sorted({*numbers} & {*donated}), sorted(all_names & all_donated)
    if both[0] or both[1]:
        which = ", ".join(map(repr, both[1] or both[0]))
        raise ValueError(
            f"static and donated arguments cannot intersect: {which} is in both "
            f"(static_argnums={numbers}, donate_argnums={donated}, "
            f"static_argnames={tuple(sorted(all_names))}, "
            f"donate_argnames={tuple(sorted(all_donated))})"
        )
    return Parameters(
        positional,
        variadic,
        numbers,
        frozenset(all_names),
        donated,
        frozenset(all_donated),
        bool(numbers or all_names),
    )


def _numbers(given: int | Iterable[int] | None, what: str) -> tuple[int, ...]:
    if given is None:
        return ()
    try:
        items = given if isinstance(given, Iterable) else (given,)
        return tuple(operator.index(item) for item in items)
    except TypeError:
        raise TypeError(f"{what} must be an int or a sequence of ints, not {given!r}") from None


def _names(given: str | Iterable[str] | None, what: str) -> tuple[str, ...]:
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what} must be a str or a sequence of str, not {given!r}")
    return names


def _check_numbers(
    numbers: tuple[int, ...], what: str, positional: tuple[str, ...], variadic: str
) -> None:
    count = len(positional)
    if numbers and not variadic and (max(numbers) >= count or min(numbers) < -count):
        raise ValueError(
            f"Jitted function has {what}={numbers}, but only accepts {count} positional "
            f"argument{'s' if count != 1 else ''}."
        )


def _check_names(
    names: tuple[str, ...], what: str, declared: Sequence[inspect.Parameter] | None
) -> None:
    if declared is None or not names:
        return
    by_position = {p.name for p in declared if p.kind is p.POSITIONAL_ONLY}
    if both := sorted(by_position.intersection(names)):
        raise ValueError(
            f"Jitted function has invalid argnames {both} in {what}. These are positional-only; "
            f"use {what.replace('names', 'nums')} for them."
        )
    if any(p.kind is p.VAR_KEYWORD for p in declared):
        return
    known = {p.name for p in declared if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    if unknown := sorted(set(names) - known):
        raise ValueError(
            f"Jitted function has invalid argnames {unknown} in {what}. Function does not take "
            f"these args."
        )


def _complete(
    numbers: tuple[int, ...], names: tuple[str, ...], positional: tuple[str, ...], variadic: str
) -> tuple[tuple[int, ...], set[str]]:
    """The argnums with those of the names, the argnames with those of the numbers."""
    count = len(positional)
    if not variadic:
        numbers = tuple(n % count for n in numbers)
    listed = dict.fromkeys(numbers)
    listed.update(dict.fromkeys(positional.index(n) for n in names if n in positional))
    named = {positional[n] for n in listed if 0 <= n < count} | set(names)
    return tuple(sorted(listed)), named
