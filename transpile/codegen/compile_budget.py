"""The compile budget: how much optimization a C compiler does, by the length of a program.

gcc at -O3 takes seconds where it inlines large functions, such as matrix products, into many calls,
and some of its passes take quadratic time in the length of a function. So long programs are
compiled without such inlining, which costs no speed. Huge ones are compiled at -O1 with
vectorisation, for which gcc's time is linear: half to a tenth of that at -O3, for code that is up
to a third slower. So is every program for which -O1 is asked: without vectorisation a matrix
product takes 40 times as long.
"""

from __future__ import annotations

from typing import Literal

from transpile.machine import Machine

# "vectors" is for helpers whose inner loops are written in vectors, as those of a matrix product:
# -O3 has nothing to gain there but vectorisation of what stands around them, and takes half as much
# time again.
Effort = Literal["usual", "vectors", "long", "huge"]
_MOST: dict[Effort, int] = {"vectors": 2, "huge": 1}

# Passes that -O1 leaves out and programs gain from: vectorisation also of loops without a simd
# pragma, alias analysis by type, merging equal functions.
_LANES = (
    "-ftree-loop-vectorize",
    "-ftree-slp-vectorize",
    "-fstrict-aliasing",
    "-fipa-icf",
)
_DYNAMIC = ("-ftree-loop-vectorize", "-fvect-cost-model=dynamic")  # as -O3 vectorises
_CALLS = ("-fno-inline-functions", "-fno-inline-functions-called-once")


def effort_for(length: int, machine: Machine) -> Effort:
    """The effort for a program of this length."""
    if length <= machine.longest_usual_program:
        return "usual"
    return "long" if length <= machine.longest_long_program else "huge"


def level(effort: Effort, requested: int) -> int:
    """The -O level for a program, of at most the `requested` one."""
    return min(requested, _MOST.get(effort, requested))


def effort_flags(effort: Effort, requested: int) -> tuple[str, ...]:
    """gcc's flags for a program in addition to the level, if this one is `requested`."""
    chosen = level(effort, requested)
    lanes = _LANES if chosen == 1 else _DYNAMIC if effort == "vectors" and chosen == 2 else ()
    return lanes if effort in ("usual", "vectors") else (*lanes, *_CALLS)


# What a program gets whose compiler has been stopped once, and twice, because it took too long: the
# passes that take more than linear time, or are faulty, are among those that are left out.
MOST_RETREATS = 2


def retreat_flags(kind: str, retreat: int) -> tuple[str, ...]:
    """The flags behind all others for a program whose compiler, of that kind, was stopped so
    often."""
    if retreat == 0:
        return ()
    if retreat == MOST_RETREATS:
        return ("-O0",)
    if kind == "gcc":
        return ("-O1", "-fno-tree-loop-vectorize", "-fno-tree-slp-vectorize", *_CALLS)
    return ("-O1", "-fno-vectorize", "-fno-slp-vectorize")


def notes(effort: Effort) -> list[str]:
    """The lines about it in the comment of a program."""
    if effort == "usual":
        return []
    words = " ".join((*(("-O1", *_LANES) if effort == "huge" else ()), *_CALLS))
    return [f"{effort}: gcc takes least time with", words]
