"""Arguments that a function assigns to: which memory its program may take, and where the new values
go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.graph import Donated, Graph
from transpile.signature import Signature

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


def writing(run: Run, known: Signature, kept: tuple[int, ...]) -> Run:
    """A program whose function assigns to arguments: they hold their new values afterwards.

    Such an argument is changed in its own memory where the program can take it; else its new values
    are copied there. The function that was called may give it as a result: then it is that array.
    """
    places = [kept.index(leaf) if leaf in kept else -1 for leaf in known.written]

    def execute(leaves: Sequence[Any]) -> list[Any]:
        leaves = list(leaves)
        targets = [leaves[p] if p >= 0 else None for p in places]
        for place, target in zip(places, targets, strict=True):
            if not isinstance(target, np.ndarray):
                continue
            if not target.flags.writeable:
                raise ValueError(f"assignment destination is read-only: {known.paths[kept[place]]}")
            others = (x for p, x in enumerate(leaves) if p != place and isinstance(x, np.ndarray))
            if any(np.may_share_memory(target, x) for x in others):
                leaves[place] = target.copy()
        results = run(leaves)
        first = len(results) - len(targets)
        for position, target in enumerate(targets, first):
            if isinstance(target, np.ndarray) and results[position] is not target:
                np.copyto(target, results[position])
                results[position] = target
        return [results[p] for p in known.places]

    return execute
