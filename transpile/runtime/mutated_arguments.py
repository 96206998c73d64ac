"""Arguments that a function assigns to (`x[0] = 1`), which hold their new values after the call.

A program returns new values as outputs. Such an argument is donated to the program, which then
updates it in place where it can; else its output is copied to it. Arguments that alias are
separated first, unless the order of reads and writes in the function would show: then the call
raises.

A result takes the memory of a donated argument, too, and the argument is deleted then. NumPy cannot
free an array that others refer to: so the result is a view of that memory, and the argument's own
dtype becomes one of bytes, called "deleted ..." after the one it had. NumPy's functions and jitted
ones raise for it, and its repr says why. Other views of the memory see the result. An argument
whose memory no result took is left as it is: one that is read-only, that shares memory with another
argument, or that no result fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.errors import UnsupportedError
from transpile.ir.graph import Donated, Graph
from transpile.ir.memory_layout import Layout
from transpile.ir.types import deleted_dtype, refuse_byte_order
from transpile.runtime.memory.overlap import overlap, overlaps_itself
from transpile.trace.call_key import memory_layout
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


def around_program(
    known: Signature, kept: tuple[int, ...], where: str
) -> Callable[[Run], Run] | None:
    """The wrapper of a program that makes the leaves of the result of its outputs, and does to the
    arguments what the function does; None where there is nothing to do."""
    is_direct = not known.written and known.positions == tuple(range(len(known.positions)))
    donated = donated_positions(known, kept)
    if is_direct and not donated:
        return None

    def around(run: Run) -> Run:
        run = run if is_direct else with_write_back(run, known, kept, where)
        return with_deletion(run, donated) if donated else run

    return around


def donated_positions(known: Signature, kept: tuple[int, ...]) -> tuple[int, ...]:
    """The inputs of the program that are donated, but for those that the function assigns to."""
    return tuple(
        position
        for position, leaf in enumerate(kept)
        if known.donated[leaf] and leaf not in known.written
    )


def outputs_in_place(
    known: Signature, kept: tuple[int, ...], aliases: Sequence[int]
) -> tuple[int, ...] | None:
    """The outputs that are the leaves of the result, of a program that changes all arguments where
    they lie to which its function assigns: for each output `aliases` has the input whose memory it
    takes, or -1. None for other programs."""
    count = len(known.written)
    wanted = tuple(kept.index(leaf) if leaf in kept else None for leaf in known.written)
    if donated_positions(known, kept) or tuple(aliases[len(aliases) - count :]) != wanted:
        return None
    return known.positions


# What changes the dtype of an array in place; from NumPy 2.5 on it is no assignment any more.
_set_dtype = getattr(np.ndarray, "_set_dtype", None) or vars(np.ndarray)["dtype"].__set__


def with_deletion(run: Run, positions: tuple[int, ...]) -> Run:
    """The program `run`, after which those of its inputs are deleted whose memory results have."""

    def execute(leaves: Sequence[Any]) -> list[Any]:
        outputs = list(run(leaves))
        for position in positions:
            array = leaves[position]
            if not isinstance(array, np.ndarray):
                continue
            taken = [k for k, y in enumerate(outputs) if np.may_share_memory(array, y)]
            if taken:
                view = array.view(np.ndarray)
                for number in taken:
                    outputs[number] = view if outputs[number] is array else outputs[number]
                _set_dtype(array, deleted_dtype(array.dtype))
        return outputs

    return execute


def with_write_back(run: Run, known: Signature, kept: tuple[int, ...], where: str) -> Run:
    """The program `run`, which then writes its last outputs back to the arguments.

    A result of the function that is such an argument is that very array.
    """
    rows = [kept.index(leaf) for leaf in known.rows if leaf in kept]
    positions = [kept.index(leaf) if leaf in kept else -1 for leaf in known.written]
    paths = [known.paths[leaf] for leaf in kept]
    ordered = {(kept.index(a), kept.index(b)) for a, b in known.ordered if {a, b} <= {*kept}}

    def execute(leaves: Sequence[Any]) -> list[Any]:
        leaves = list(leaves)
        for position in rows:
            array = leaves[position]
            if isinstance(array, np.ndarray) and not array.flags.c_contiguous:
                raise not_in_rows(paths[position], where)
        targets = [leaves[p] if p >= 0 else None for p in positions]
        for position, target in zip(positions, targets, strict=True):
            if isinstance(target, np.ndarray):
                check_target(target, f"argument {paths[position]!r} of {where}")
        for position, target in zip(positions, targets, strict=True):
            for other, value in enumerate(leaves):
                if other == position or not isinstance(target, np.ndarray):
                    continue
                if not isinstance(value, np.ndarray) or not np.may_share_memory(target, value):
                    continue
                if (position, other) in ordered and overlap(target, value):
                    raise ValueError(aliasing(paths[position], paths[other], where))
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


def check_target(target: np.ndarray[Any, Any], what: str) -> None:
    """Raise ValueError for an array that is read-only or has elements that alias."""
    if not target.flags.writeable:
        raise ValueError(f"assignment destination is read-only: {what}")
    if overlaps_itself(target):
        raise ValueError(
            f"{what} is assigned to, and some of its elements share memory with others: its shape "
            f"is {target.shape}, its strides are {target.strides}. Pass a copy of it, or assign to "
            f"the array that it is a view of."
        )


def layouts_of(known: Signature, leaves: Sequence[Any], where: str) -> list[Layout]:
    """How the leaves of the arguments of a call lie in memory.

    Raises UnsupportedError for one in the byte order of other machines that a result has elements
    of, and for one that has to lie in rows.
    """
    layouts = [memory_layout(x) if isinstance(x, np.ndarray) else () for x in leaves]
    for leaf in known.moved:
        array = leaves[leaf]
        if isinstance(array, np.ndarray) and not array.dtype.isnative:
            what = f"argument {known.paths[leaf]!r} of {where}, whose elements results have,"
            refuse_byte_order(array.dtype, what)
    check_rows(known, layouts, where)
    return layouts


def rows_check(
    known: Signature, kept: tuple[int, ...], where: str
) -> Callable[[Sequence[Any]], None] | None:
    """What raises UnsupportedError for leaves of the arguments that have to lie in rows and do not,
    where the program would not notice: it reads a copy of them, or does not read them."""
    unnoticed = [n for n in known.rows if n not in known.written or n not in kept]
    if not unnoticed:
        return None

    def check(leaves: Sequence[Any]) -> None:
        for leaf in unnoticed:
            array = leaves[leaf]
            if isinstance(array, np.ndarray) and not array.flags.c_contiguous:
                raise not_in_rows(known.paths[leaf], where)

    return check


def check_rows(known: Signature, layouts: Sequence[Layout], where: str) -> None:
    """Raise UnsupportedError for arguments in other layouts than rows that have to lie in rows."""
    for leaf in known.rows:
        if layouts[leaf]:
            raise not_in_rows(known.paths[leaf], where)


def not_in_rows(path: str, where: str) -> Exception:
    """The error for an argument that lies in memory otherwise than in rows."""
    return UnsupportedError(
        f"argument {path!r} of {where} does not lie in rows in memory, which decides in NumPy what "
        f"is a view there, and what a copy: {where} asks for an order in memory, or assigns to a "
        f"reshape. Pass numpy.ascontiguousarray({path}), or let the function begin with a copy: "
        f"{path} = {path}.copy()"
    )


def aliasing(one: str, other: str, where: str) -> str:
    """What is wrong with two arguments that alias."""
    return (
        f"arguments {one!r} and {other!r} of {where} share memory: it assigns to {one!r}, and then "
        f"reads or assigns to {other!r}, which a compiled function sees as it was before the call. "
        f"Pass a copy of one of them."
    )
