"""Effort: how much of its time a C compiler may take, by the length of a program.

gcc at -O3 takes seconds where it copies large functions, such as matrix products, to each of many
calls, and some of its steps take time in the square of a function's length. Neither makes a long
program faster, so a long one is compiled without such copies, at the same speed of its code, and a
huge one at -O1 with vector lanes, for which gcc takes time in the program's length: half of that
at -O3, or a tenth, for code that is as fast up to a third slower.
"""

from __future__ import annotations

from typing import Literal

from transpile.machine import Machine

Effort = Literal["usual", "long", "huge"]

# Loops that are not marked for lanes get them as well. Aliases by type and functions that are equal
# are what else -O1 leaves out and programs gain from.
_HUGE = (
    "-ftree-loop-vectorize",
    "-ftree-slp-vectorize",
    "-fstrict-aliasing",
    "-fipa-icf",
)
_CALLS = ("-fno-inline-functions", "-fno-inline-functions-called-once")


def effort_for(length: int, machine: Machine) -> Effort:
    """What the length of a program asks for."""
    if length <= machine.longest_usual_program:
        return "usual"
    return "long" if length <= machine.longest_long_program else "huge"


def level(effort: Effort, asked: int) -> int:
    """The -O level for a program, where the options ask for this one."""
    return min(asked, 1) if effort == "huge" else asked


def effort_flags(effort: Effort, asked: int) -> tuple[str, ...]:
    """gcc's flags for a program beside the level, where the options ask for this one."""
    if effort == "usual":
        return ()
    return (*_HUGE, *_CALLS) if effort == "huge" and asked > 1 else _CALLS


def notes(effort: Effort) -> list[str]:
    """What the comment of a program says of it."""
    if effort == "usual":
        return []
    words = " ".join((*(("-O1", *_HUGE) if effort == "huge" else ()), *_CALLS))
    return [f"{effort}: gcc takes least time with", words]
