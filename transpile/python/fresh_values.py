"""What a variable is that an expression was assigned to: arrays and lists of its own may be arrays
of the program."""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

import numpy as np

from transpile.ir.source_info import user_source
from transpile.numpy.core.coercion import as_traced
from transpile.trace.bytecode.made_arrays import note_fresh
from transpile.util.interrupt_safety import THREAD


def fresh(value: Any) -> Any:
    """The value; of an array, or a list, that the expression has just made, the trace notes where,
    as it may be assigned to."""
    if type(value) is np.ndarray:
        return as_traced(value) if note_fresh(value) else value
    if type(value) in (list, deque) and _references(value) <= _ONLY_VARIABLE:
        source = user_source()
        return THREAD.python.made_list(value, (source.file, source.line))
    return value


def _references(value: Any) -> int:
    """How often a list is referred to, by who has called with it, too."""
    return sys.getrefcount(value)


def _measured() -> int:
    """What `fresh` counts of a list that a variable has, called as it is."""
    values = [0]
    return _as_fresh(values)


def _as_fresh(value: Any) -> int:
    counted = _references(value)
    return counted  # noqa: RET504  # as in `fresh`


_ONLY_VARIABLE = _measured()
