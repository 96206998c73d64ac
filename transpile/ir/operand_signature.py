"""Signatures of intrinsics, in the notation of NumPy's generalized ufuncs: the arrays that a
routine reads and writes, and their shapes.

`a(m,k), b(k,n) -> c(m,n)` reads `a` and `b` and writes `c`; `m`, `n` and `k` are sizes. An array on
both sides is updated in place. `plan(*)` has an opaque layout.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from transpile.util.frozen_records import dataclass

# The names of an array's extents, one for each axis; None for an opaque layout.
Sizes = tuple[str, ...] | None
_ARRAY = re.compile(r"(\w+)\(([\w,*]*)\)")


@dataclass(frozen=True)
class Signature:
    """The arrays that a routine reads and writes, by name."""

    reads: Mapping[str, Sizes]
    writes: Mapping[str, Sizes]


@cache
def parse(text: str) -> Signature:
    """The signature of a text."""
    reads, _, writes = text.partition("->")
    return Signature(_arrays(reads), _arrays(writes))


def _arrays(text: str) -> dict[str, Sizes]:
    return {
        name: None if sizes == "*" else tuple(filter(None, sizes.split(",")))
        for name, sizes in _ARRAY.findall(text)
    }
