"""The call of a `Compiled`, which has one signature and raises TypeError for any other."""

from __future__ import annotations

from typing import Any

from transpile import tree
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.runtime.dispatcher import Specialization, Specializations
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


class CheckedCall:
    """The calls of one specialization, with a check of their arguments where the key is new.

    table   the specialization under the keys of calls whose arguments need no conversion
    """

    def __init__(self, signature: Signature, specialization: Specialization, where: str) -> None:
        self.table = Specializations()
        self._signature = signature
        self._specialization = specialization
        self._where = where

    def on_miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call whose key is not in the table. Raises TypeError where structure, shapes or
        dtypes differ from those that it was compiled for."""
        return self._specialization.run(self._checked(args, kwargs))

    def _checked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The leaves of a call, or TypeError with all differences from the signature."""
        known = self._signature
        leaves, in_tree = flatten_arrays((args, kwargs))
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
            f"Argument {path!r} compiled with {type_text(a)} and called with {type_text(b)}"
            for path, a, b in zip(known.paths, known.types, types, strict=True)
            if not same_type(a, b)
        ]
        for path, value, leaf in zip(known.paths, known.fixed, leaves, strict=False):
            if value is not TRACED and not (type(value) is type(leaf) and value == leaf):
                lines.append(f"Argument {path!r} compiled with {value!r} and called with {leaf!r}")
        if lines:
            raise TypeError(
                "Argument types differ from the types for which this computation was compiled. The "
                "mismatches are:\n" + "\n".join(lines)
            )
        try:
            plain = [
                x if t.weak else as_plain(concrete(x), t)
                for x, t in zip(leaves, types, strict=True)
            ]
        except Rejected:
            raise TypeError(
                "an argument has a shape and a dtype, but no values; pass arrays"
            ) from None
        if not known.fixed and all(a is b for a, b in zip(plain, leaves, strict=True)):
            self.table.keep(described(args, kwargs)[0], self._specialization, None)
        return plain
