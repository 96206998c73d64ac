"""The loggers `transpile` and `transpile.cache`, without importing `logging`, which takes 3 ms:
where the program has not imported it, there is no handler for messages below the level of warnings.
"""

from __future__ import annotations

import sys
from typing import Any

from transpile.util.lazy.imports import imported


class Log:
    """A logger of that name, which is made when a message is logged."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _logger(self) -> Any:
        return imported("logging").getLogger(self._name)

    def hears_information(self) -> bool:
        """True if a handler may receive messages of the level INFO."""
        return "logging" in sys.modules and self._logger().isEnabledFor(20)

    def debug(self, text: str, *values: Any) -> None:
        """Log at the level DEBUG."""
        if "logging" in sys.modules:
            self._logger().debug(text, *values)

    def info(self, text: str, *values: Any) -> None:
        """Log at the level INFO."""
        if "logging" in sys.modules:
            self._logger().info(text, *values)

    def warning(self, text: str, *values: Any) -> None:
        """Log at the level WARNING: without a handler, Python prints it."""
        self._logger().warning(text, *values)
