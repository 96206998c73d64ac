"""The operations that converted functions call."""

from __future__ import annotations

from transpile.python.semantics.branches import and_, choose, compare, if_, not_, or_
from transpile.python.semantics.exceptions import assert_, bound, handled, raise_, text
from transpile.python.semantics.generators import Generated
from transpile.python.semantics.loops import for_, while_
from transpile.python.semantics.values import Unbound, returned

__all__ = [
    "Generated",
    "Unbound",
    "and_",
    "assert_",
    "bound",
    "choose",
    "compare",
    "for_",
    "handled",
    "if_",
    "not_",
    "or_",
    "raise_",
    "returned",
    "text",
    "while_",
]
