"""Compiling makes many small objects, hardly any of them garbage: the collector would look through
all of them again and again, for up to a third of the time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Without the collector, where it is on; what no cycle holds goes at once, as always."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
