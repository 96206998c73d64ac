"""What goes to the loggers `transpile` and `transpile.cache`.

`logging` takes 3 ms to import; a program that does not use it has nobody who listens.
"""

from __future__ import annotations

import sys
from typing import Any

from transpile.util.lazy_imports import imported


class Log:
    """A logger of that name, made when there is something for it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _logger(self) -> Any:
        return imported("logging").getLogger(self._name)

    def hears_information(self) -> bool:
        """True if a handler may receive messages of the level INFO."""
        return "logging" in sys.modules and self._logger().isEnabledFor(20)

    def debug(self, text: str, *values: Any) -> None:
        """Log for those who look for errors."""
        if "logging" in sys.modules:
            self._logger().debug(text, *values)

    def info(self, text: str, *values: Any) -> None:
        """Log for those who want to know."""
        if "logging" in sys.modules:
            self._logger().info(text, *values)

    def warning(self, text: str, *values: Any) -> None:
        """Log for all: without a handler, Python prints it."""
        self._logger().warning(text, *values)
