"""Tables that import the modules which register further entries when a key is missing.

The modules that most programs need are imported with the package, the rest when a key is missing or
all entries are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from typing import Any, TypeVar

from transpile.util.fork_safe_lock import Lock

Key = TypeVar("Key")
Value = TypeVar("Value")


class Rest:
    """The modules that are not imported yet, of several tables."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._load: Callable[[], None] | None = None

    def comes_from(self, load: Callable[[], None]) -> None:
        """Set the function that imports these modules."""
        self._load = load

    def complete(self) -> bool:
        """Import the modules; True if they were not imported yet. Within that import, in the same
        thread, it does nothing."""
        if self._load is None or self._lock.is_ours():
            return False
        with self._lock:
            if self._load is None:
                return False
            self._load()
            self._load = None
            return True


class Table(dict[Key, Value]):
    """A dict that is completed where a key is missing, or all keys are asked for."""

    def __init__(self, rest: Rest) -> None:
        super().__init__()
        self.rest = rest

    def has(self, key: Any) -> bool:
        """True if a module that has been imported so far has registered a key."""
        return super().__contains__(key)

    def __missing__(self, key: Key) -> Value:
        self.rest.complete()
        if not self.has(key):
            raise KeyError(key)
        return self[key]

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, or a default."""
        return super().get(key, default) if key in self else default

    def __contains__(self, key: object) -> bool:
        if not super().__contains__(key):
            self.rest.complete()
        return super().__contains__(key)

    def __iter__(self) -> Iterator[Key]:
        self.rest.complete()
        return super().__iter__()

    def __len__(self) -> int:
        self.rest.complete()
        return super().__len__()

    def keys(self) -> KeysView[Key]:  # type: ignore[override]
        """All keys."""
        self.rest.complete()
        return super().keys()

    def values(self) -> ValuesView[Value]:  # type: ignore[override]
        """All values."""
        self.rest.complete()
        return super().values()

    def items(self) -> ItemsView[Key, Value]:  # type: ignore[override]
        """All keys with their values."""
        self.rest.complete()
        return super().items()
