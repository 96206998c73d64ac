"""Temporary directories that processes which are forked meanwhile can make, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transpile.util.fork_safe_lock import undivided
from transpile.util.lazy_imports import Later

if TYPE_CHECKING:
    import tempfile
else:
    tempfile = Later("tempfile")


def scratch_directory() -> tempfile.TemporaryDirectory[str]:
    """A new temporary directory, which is removed at the end of a `with` block.

    At its first one `tempfile` finds out where they can be, under a lock, for which a child that
    was forked meanwhile would wait for ever.
    """
    with undivided():
        return tempfile.TemporaryDirectory(prefix="transpile-")
