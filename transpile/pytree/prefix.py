"""Prefixes of pytrees: a prefix has leaves where the full tree has subtrees.

`{"w": 0, "b": 1}` is a prefix of `{"w": [x, y], "b": z}`; its leaves are broadcast to (0, 0, 1).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from transpile.pytree.keys import KeyPath, keystr, simple_key
from transpile.pytree.treedef import IsLeaf, TreeDef, flatten
from transpile.util.frozen_records import dataclass
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    import difflib
else:
    difflib = Later("difflib")


@dataclass(frozen=True)
class Mismatch:
    """A node at which a tree is not a prefix of another one.

    what  the property that differs
    own   that of the prefix
    rest  that of the full tree
    """

    path: KeyPath
    what: str
    own: str
    rest: str

    def error(self, name: str) -> ValueError:
        """The error, in which `name` stands for the prefix."""
        return ValueError(
            f"pytree structure error: different {self.what} at key path\n    {name}"
            f"{keystr(self.path)}\nAt that key path, the prefix pytree {name} has a subtree of "
            f"type{self.own}{self.rest}"
        )


def mismatches(
    prefix: Any, structure: TreeDef, full: Any, path: KeyPath = ()
) -> Iterator[Mismatch]:
    """The nodes at which a tree of a structure is not a prefix of another one, in preorder."""
    if structure.node is None:
        return
    cls = type(prefix)
    in_lines = f"\n    {cls}\n"
    if cls is not type(full):
        yield Mismatch(
            path,
            "types",
            in_lines,
            f"but at the same key path the full pytree has a subtree of different type\n"
            f"    {type(full)}.",
        )
        return
    (parts, own), (others, other) = _level(prefix), _level(full)
    same_type = "but at the same key path the full pytree has a subtree of the same type"
    if cls in (list, tuple) and len(parts) != len(others):
        yield Mismatch(
            path,
            f"lengths of {cls.__name__}",
            f" {cls.__name__} of length {len(parts)}, ",
            f"but the full pytree has a subtree of the same type but of length {len(others)}.",
        )
        return
    if len(parts) != len(others):
        names, other_names = (sorted(map(simple_key, s.keys)) for s in (own, other))
        yield Mismatch(
            path,
            "numbers of pytree children",
            f"{in_lines}with {len(parts)} child keys\n    {' '.join(names)}\n",
            f"{same_type} but with {len(others)} child keys\n    {' '.join(other_names)}\n"
            "so the symmetric difference on key sets is\n"
            f"    {' '.join(sorted({*names} ^ {*other_names}))}",
        )
        return
    if own.data != other.data:
        yield Mismatch(
            path,
            "pytree metadata",
            f"{in_lines}with metadata\n    {own.data}\n",
            f"{same_type} but with metadata\n    {other.data}\n"
            "so the diff in the metadata at these pytree nodes is\n"
            f"{_difference(own.data, other.data)}",
        )
        return
    inner = zip(own.keys, parts, structure.subtrees, others, strict=True)
    for key, part, below, whole in inner:
        yield from mismatches(part, below, whole, (*path, key))


def _level(value: Any) -> tuple[list[Any], TreeDef]:
    """The children of a container, and its structure with the children as leaves."""
    return flatten(value, is_leaf=lambda part: part is not value)


def _difference(own: Any, other: Any) -> str:
    lines = difflib.ndiff(str(own).splitlines(), str(other).splitlines())
    return textwrap.indent("\n".join(lines), "    ")


def prefix_errors(prefix: Any, full: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """For each mismatch a function from the prefix's name to the error."""
    structure = flatten(prefix, is_leaf)[1]
    return [mismatch.error for mismatch in mismatches(prefix, structure, full)]


def parts_of(name: str, tree: Any, structure: TreeDef, full: Any) -> list[Any]:
    """The subtrees of `full` at the leaves of the prefix `tree`, which has this structure.

    Raises ValueError, in which `name` stands for the prefix, where it is not one.
    """
    try:
        return structure.flatten_up_to(full)
    except ValueError:
        for mismatch in mismatches(tree, structure, full):
            raise mismatch.error(name) from None
        raise


def broadcast_prefix(
    prefix: Any, full: Any, is_leaf: IsLeaf | None = None
) -> tuple[list[Any], TreeDef]:
    """The leaves of a prefix, each repeated for the leaves of its subtree of the full tree, and the
    structure of the full tree."""
    leaves, structure = flatten(prefix, is_leaf)
    parts = parts_of("broadcast_prefix prefix_tree", prefix, structure, full)
    repeated: list[Any] = []
    for leaf, part in zip(leaves, parts, strict=True):
        repeated += [leaf] * flatten(part, is_leaf)[1].num_leaves
    return repeated, flatten(full, is_leaf)[1]
