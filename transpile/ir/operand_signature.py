"""Which arrays a routine reads and writes, and their shapes: signatures in the words of NumPy's
generalized ufuncs.

`a(m,k), b(k,n) -> c(m,n)` reads `a` and `b` and writes `c`; `m`, `n` and `k` are sizes. An array on
both sides is updated. `plan(*)` has a layout that only the routine knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from transpile.util.frozen_records import dataclass

# The names of an array's sizes, one for each axis; None where only the routine knows the layout.
Sizes = tuple[str, ...] | None
_ARRAY = re.compile(r"(\w+)\(([\w,*]*)\)")


@dataclass(frozen=True)
class Signature:
    """The arrays that a routine reads and those that it writes, by name."""

    reads: Mapping[str, Sizes]
    writes: Mapping[str, Sizes]


@cache
def parse(text: str) -> Signature:
    """A signature from its text."""
    reads, _, writes = text.partition("->")
    return Signature(_arrays(reads), _arrays(writes))


def _arrays(text: str) -> dict[str, Sizes]:
    return {
        name: None if sizes == "*" else tuple(filter(None, sizes.split(",")))
        for name, sizes in _ARRAY.findall(text)
    }
