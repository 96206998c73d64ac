"""Arguments that a function assigns to (`x[0] = 1`), which hold their new values after the call.

A program returns new values as outputs. Such an argument is donated to the program, which then
updates it in place where it can; else its output is copied to it. Arguments that alias are
separated first, unless the order of reads and writes in the function would show: then the call
raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.graph import Donated, Graph
from transpile.runtime.memory.overlap import overlap, overlaps_itself
from transpile.trace.call_signature import Signature

Run = Callable[[Sequence[Any]], list[Any]]


def donated_inputs(
    kept: tuple[int, ...], donated: Sequence[bool], written: tuple[int, ...], graph: Graph
) -> Donated:
    """The positions of the inputs whose memory the program may take: (input, output) for an
    argument that is assigned to, whose new value is that output."""
    first = len(graph.outputs) - len(written)
    return tuple(
        (position, first + written.index(leaf)) if leaf in written else position
        for position, leaf in enumerate(kept)
        if donated[leaf] or leaf in written
    )


def with_write_back(run: Run, known: Signature, kept: tuple[int, ...], where: str) -> Run:
    """The program `run`, which then writes its last outputs back to the arguments.

    A result of the function that is such an argument is that very array.
    """
    positions = [kept.index(leaf) if leaf in kept else -1 for leaf in known.written]
    paths = [known.paths[leaf] for leaf in kept]
    ordered = {(kept.index(a), kept.index(b)) for a, b in known.ordered if {a, b} <= {*kept}}

    def execute(leaves: Sequence[Any]) -> list[Any]:
        leaves = list(leaves)
        targets = [leaves[p] if p >= 0 else None for p in positions]
        for position, target in zip(positions, targets, strict=True):
            if isinstance(target, np.ndarray):
                _check_target(target, f"argument {paths[position]!r} of {where}")
        for position, target in zip(positions, targets, strict=True):
            for other, value in enumerate(leaves):
                if other == position or not isinstance(target, np.ndarray):
                    continue
                if not isinstance(value, np.ndarray) or not np.may_share_memory(target, value):
                    continue
                if (position, other) in ordered and overlap(target, value):
                    raise ValueError(_aliasing(paths[position], paths[other], where))
                # Both are copied: then what the program writes aliases no argument.
                leaves[position], leaves[other] = leaves[position].copy(), value.copy()
        outputs = run(leaves)
        first = len(outputs) - len(targets)
        for number, target in enumerate(targets, first):
            if isinstance(target, np.ndarray) and outputs[number] is not target:
                np.copyto(target, outputs[number])
                outputs[number] = target
        return [outputs[p] for p in known.positions]

    return execute


def _check_target(target: np.ndarray[Any, Any], what: str) -> None:
    """Raise ValueError for an array that is read-only or has elements that alias."""
    if not target.flags.writeable:
        raise ValueError(f"assignment destination is read-only: {what}")
    if overlaps_itself(target):
        raise ValueError(
            f"{what} is assigned to, and some of its elements share memory with others: its shape "
            f"is {target.shape}, its strides are {target.strides}. Pass a copy of it, or assign to "
            f"the array that it is a view of."
        )


def _aliasing(one: str, other: str, where: str) -> str:
    return (
        f"arguments {one!r} and {other!r} of {where} share memory: it assigns to {one!r}, and then "
        f"reads or assigns to {other!r}, which a compiled function sees as it was before the call. "
        f"Pass a copy of one of them."
    )
