"""Contracts of passes: the properties of a program that each requires, provides and destroys.

A property is a predicate of an intermediate representation: "no call is left", "no loop is in
lanes". What a pass says of its properties stands at its function, as GCC's passes say it in
`pass_data`. It is data, which nothing reads when a program is compiled: tests follow the properties
through the list of passes, and evaluate them on programs after each pass. What a pass neither
provides nor destroys, it preserves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Pass = TypeVar("Pass", bound=Callable[..., Any])


class Property:
    """What is true of a program: `holds(program, context)`, where the context is what passes are
    given beside the program, the machine or the options."""

    def __init__(self, text: str, holds: Callable[[Any, Any], bool]) -> None:
        self.text = text
        self.holds = holds

    def __repr__(self) -> str:
        return self.text


class Settled:
    """The property that the pass that provides it has nothing left to do: it leaves what `seen`
    gives of a program as it is, which is the program itself if not given."""

    def __init__(self, text: str, seen: Callable[[Any], Any] = lambda program: program) -> None:
        self.text = text
        self.seen = seen

    def __repr__(self) -> str:
        return self.text


Properties = tuple[Property | Settled, ...]


class Contract:
    """The properties of a pass.

    requires   without them its result is wrong, or it has nothing to work on
    provides   what is true after it
    destroys   what need not be true after it
    """

    def __init__(self, requires: Properties, provides: Properties, destroys: Properties) -> None:
        self.requires = requires
        self.provides = provides
        self.destroys = destroys


def contract(
    *,
    requires: Properties = (),
    provides: Properties = (),
    destroys: Properties = (),
) -> Callable[[Pass], Pass]:
    """Say what a pass, or a phase of lowering, requires, provides and destroys."""

    def at(function: Pass) -> Pass:
        vars(function)["contract"] = Contract(requires, provides, destroys)
        return function

    return at


def contract_of(function: Callable[..., Any]) -> Contract:
    """What a pass says of its properties. Raises TypeError for a function that says nothing."""
    own: Contract | None = vars(function).get("contract")
    if own is None:
        raise TypeError(
            f"{function.__module__}.{function.__qualname__} is no pass: it has no @contract, which "
            "says what it requires, provides and destroys"
        )
    return own
