"""What all stages of compilation have: the structure and types of arguments and results."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np

from transpile import tree
from transpile.ir.types import ArrayType, ShapeDtypeStruct, listed
from transpile.trace.call_signature import Signature
from transpile.util.frozen_records import dataclass

_Self = TypeVar("_Self", bound="Stage")


@dataclass(frozen=True)
class ArgInfo:
    """The shape and dtype of one leaf of the arguments, and whether it is donated."""

    shape: tuple[Any, ...]
    dtype: np.dtype[Any]
    donated: bool = False


class Stage:
    """The common members of all stages: the structure and types of arguments and results."""

    def __init__(
        self, signature: Signature, out_tree: tree.TreeDef, out_types: tuple[ArrayType, ...]
    ) -> None:
        self._signature = signature
        self._out_tree = out_tree
        self._out_types = out_types

    _where: str  # the function, and where it is defined

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._where}: {self._types()}>"

    def _types(self) -> str:
        """Those of arguments and results in a line."""
        return f"{listed(self._signature.types)} -> {listed(self._out_types)}"

    def _rows(self) -> list[tuple[str, str]]:
        """The names and types of arguments and results, for notebooks."""
        known = self._signature
        results = self.out_tree.unflatten(map(str, self._out_types))
        arguments = [(p, str(t)) for p, t in zip(known.paths, known.types, strict=True)]
        return [*arguments, ("returns", str(results).replace("'", ""))]

    def __copy__(self: _Self) -> _Self:
        return self  # a stage never changes

    def __deepcopy__(self: _Self, _: Any) -> _Self:
        return self

    @property
    def in_tree(self) -> tree.TreeDef:
        """The structure of (args, kwargs), without static arguments."""
        return self._signature.in_tree

    @property
    def out_tree(self) -> tree.TreeDef:
        """The structure of the result."""
        return self._out_tree

    @property
    def args_info(self) -> Any:
        """(args, kwargs) with an ArgInfo (`shape`, `dtype`, `donated`) for each leaf."""
        known = self._signature
        return self.in_tree.unflatten(
            ArgInfo(t.shape, t.dtype, d) for t, d in zip(known.types, known.donated, strict=True)
        )

    @property
    def in_avals(self) -> Any:
        """(args, kwargs) with the ArrayType of each leaf."""
        return self.in_tree.unflatten(self._signature.types)

    @property
    def out_avals(self) -> Any:
        """The result with the ArrayType of each leaf."""
        return self.out_tree.unflatten(self._out_types)

    @property
    def out_info(self) -> Any:
        """The result with a ShapeDtypeStruct for each leaf."""
        return self.out_tree.unflatten(
            ShapeDtypeStruct(cast(Any, t.shape), t.dtype) for t in self._out_types
        )

    @property
    def in_paths(self) -> tuple[str, ...]:
        """The leaves of the arguments in Python's syntax: `params['w']`."""
        return self._signature.paths

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The donated leaves, by their position among all leaves of the arguments."""
        return tuple(i for i, donated in enumerate(self._signature.donated) if donated)
