"""How long the phases of a build take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Seconds by the name of a phase. What a phase inside another one takes counts for the inner
    one alone."""

    def __init__(self, **seconds: float) -> None:
        self.seconds = dict(seconds)
        self._inside = 0.0  # of the phases that have ended inside the present one

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time of the `with` block to a phase."""
        before, self._inside = self._inside, 0.0
        begin = time.perf_counter()
        try:
            yield
        finally:
            total = time.perf_counter() - begin
            self.seconds[name] = self.seconds.get(name, 0.0) + total - self._inside
            self._inside = before + total
