"""Arguments that a function assigns to: which memory its program may take, and where the new values
go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.graph import Donated, Graph
from transpile.runtime.memory_overlap import overlap, overlaps_itself
from transpile.trace.call_signature import Signature

Run = Callable[[Sequence[Any]], list[Any]]


def given_up(
    kept: tuple[int, ...], donated: Sequence[bool], written: tuple[int, ...], graph: Graph
) -> Donated:
    """The inputs whose memory a program may take, by position; with its output for one that is
    assigned to."""
    first = len(graph.outputs) - len(written)
    return tuple(
        (place, first + written.index(leaf)) if leaf in written else place
        for place, leaf in enumerate(kept)
        if donated[leaf] or leaf in written
    )


def writing(run: Run, known: Signature, kept: tuple[int, ...], where: str) -> Run:
    """A program whose function assigns to arguments: they hold their new values afterwards.

    Such an argument is changed in its own memory where the program can take it; else its new values
    are copied there. The function that was called may give it as a result: then it is that array.
    """
    places = [kept.index(leaf) if leaf in kept else -1 for leaf in known.written]
    paths = [known.paths[leaf] for leaf in kept]
    ordered = {(kept.index(a), kept.index(b)) for a, b in known.ordered if {a, b} <= {*kept}}

    def execute(leaves: Sequence[Any]) -> list[Any]:
        leaves = list(leaves)
        targets = [leaves[p] if p >= 0 else None for p in places]
        for place, target in zip(places, targets, strict=True):
            if isinstance(target, np.ndarray):
                _check_target(target, f"argument {paths[place]!r} of {where}")
        for place, target in zip(places, targets, strict=True):
            for other, value in enumerate(leaves):
                if other == place or not isinstance(target, np.ndarray):
                    continue
                if not isinstance(value, np.ndarray) or not np.may_share_memory(target, value):
                    continue
                if (place, other) in ordered and overlap(target, value):
                    raise ValueError(_together(paths[place], paths[other], where))
                # What the program writes lies in no memory of the caller's.
                leaves[place], leaves[other] = leaves[place].copy(), value.copy()
        results = run(leaves)
        first = len(results) - len(targets)
        for position, target in enumerate(targets, first):
            if isinstance(target, np.ndarray) and results[position] is not target:
                np.copyto(target, results[position])
                results[position] = target
        return [results[p] for p in known.places]

    return execute


def _check_target(target: np.ndarray[Any, Any], what: str) -> None:
    """Raise ValueError for an array that cannot hold the values that are assigned to it."""
    if not target.flags.writeable:
        raise ValueError(f"assignment destination is read-only: {what}")
    if overlaps_itself(target):
        raise ValueError(
            f"{what} is assigned to, and some of its elements share memory with others: its shape "
            f"is {target.shape}, its strides are {target.strides}. Pass a copy of it, or assign to "
            f"the array that it is a view of."
        )


def _together(one: str, other: str, where: str) -> str:
    return (
        f"arguments {one!r} and {other!r} of {where} share memory: it assigns to {one!r}, and then "
        f"reads or assigns to {other!r}, which a compiled function sees as it was before the call. "
        f"Pass a copy of one of them."
    )
