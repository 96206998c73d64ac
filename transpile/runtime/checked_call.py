"""The call of a `Compiled`, which has one signature and raises TypeError for any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transpile import tree
from transpile.ir.indices.size_solver import sizes_of, solved
from transpile.ir.memory_layout import Layout
from transpile.ir.primitive import Order
from transpile.ir.types import ArrayType
from transpile.pytree.device_arrays import adopted
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.pytree.treedef import TreeDef
from transpile.runtime.dispatcher import Specialization, Specializations, finisher
from transpile.runtime.mutated_arguments import around_program, layouts_of, rows_check
from transpile.trace.call_key import Rejected, concrete, described
from transpile.trace.call_signature import (
    TRACED,
    Signature,
    as_plain,
    leaf_type,
    same_type,
    type_text,
)
from transpile.trace.tracer import Tracer


def specialization(
    known: Signature,
    kept: tuple[int, ...],
    where: str,
    out_tree: TreeDef,
    call: Any,
    layouts: tuple[Layout, ...] = (),
    stored: tuple[Order, ...] = (),
) -> Specialization:
    """The specialization for the `ProgramCall` of a function, or with None for the caller of
    `runner`; `kept` are the leaves of its arguments that the program takes."""
    check = rows_check(known, kept, where)
    return Specialization(
        call,
        None if kept == tuple(range(len(known.types))) else kept,
        around_program(known, kept, where) if call is None else call.around(known, kept, where),
        finisher(out_tree),
        out_tree,
        layouts,
        stored,
        (call is None or call.tiers_up) and check is None,
        None if call is None else call.in_place(known, kept),
        check,
    )


class CheckedCall:
    """The calls of one executable, with a check of their arguments where the key is new.

    specialize  the specialization for values of the runtime sizes
    table   the specializations under the keys of calls whose arguments need no conversion: one, or
            one for each of the last sets of runtime sizes
    """

    def __init__(
        self,
        signature: Signature,
        specialize: Callable[[dict[str, int]], Specialization],
        where: str,
    ) -> None:
        self.table = Specializations()
        self._signature = signature
        self._sizes = sizes_of(kind.shape for kind in signature.types)
        self.specialize = specialize
        self._where = where

    def on_miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call whose key is not in the table. Raises TypeError where structure, shapes or
        dtypes differ from those that it was compiled for."""
        specialization, leaves = self._checked(args, kwargs)
        return specialization.run(leaves)

    def _checked(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Specialization, list[Any]]:
        """The specialization and the leaves of a call, or TypeError with all differences from the
        signature."""
        known = self._signature
        leaves, in_tree = flatten_arrays((args, kwargs))
        leaves = list(map(adopted, leaves))
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            raise TypeError(
                "Cannot apply transpile transformations to a function lowered and compiled for a "
                "particular signature. Detected argument of Tracer type. Call the jitted function "
                f"{self._where} instead."
            )
        if in_tree != known.in_tree:
            raise tree.call_mismatch(known.in_tree, in_tree)
        types = [leaf_type(x, p, self._where) for x, p in zip(leaves, known.paths, strict=True)]
        lines = [
            f"Argument '{path}' compiled with {type_text(a)} and called with {type_text(b)}"
            for path, a, b in zip(known.paths, known.types, types, strict=True)
            if not same_type(a, b)
        ]
        for path, value, leaf in zip(known.paths, known.fixed, leaves, strict=False):
            if value is not TRACED and not (type(value) is type(leaf) and value == leaf):
                lines.append(f"Argument '{path}' compiled with {value!r} and called with {leaf!r}")
        if lines:
            raise TypeError(
                "Argument types differ from the types for which this computation was compiled. The "
                "mismatches are:\n" + "\n".join(lines)
            )
        self._check_rows(leaves)
        try:
            plain = [
                x if t.weak else as_plain(concrete(x), t)
                for x, t in zip(leaves, types, strict=True)
            ]
        except Rejected:
            raise TypeError(
                "an argument has a shape and a dtype, but no values; pass arrays"
            ) from None
        specialization = self.specialize(self._solved(types))
        if not known.fixed and all(a is b for a, b in zip(plain, leaves, strict=True)):
            keep = self.table.keep_sized if self._sizes else self.table.keep
            keep(described(args, kwargs)[0], specialization, None)
        return specialization, plain

    def for_leaves(self, leaves: Sequence[Any]) -> Specialization:
        """The specialization for the runtime sizes of leaves of the right types."""
        self._check_rows(leaves)
        paths = self._signature.paths
        types = [leaf_type(x, p, self._where) for x, p in zip(leaves, paths, strict=True)]
        return self.specialize(self._solved(types))

    def _check_rows(self, leaves: Sequence[Any]) -> None:
        layouts_of(self._signature, leaves, self._where)

    def _solved(self, types: list[ArrayType]) -> dict[str, int]:
        """The runtime sizes of a call with leaves of these types."""
        known = self._signature
        shapes = (
            (p, a.shape, b.static_shape())
            for p, a, b in zip(known.paths, known.types, types, strict=True)
        )
        return solved(self._sizes, shapes)
