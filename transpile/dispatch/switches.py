"""What is switched on and off around calls: `disable_jit` and `explain_cache_misses`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

# An item for each thread in which `disable_jit` holds; calls in C look at it.
DISABLED: list[None] = []


class _State(threading.local):
    """What `disable_jit` sets, for each thread."""

    def __init__(self) -> None:
        self.disabled = False


_state = _State()
_explain = [False]


@contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """In this context and thread, jitted functions run their Python on NumPy arrays."""
    before = _state.disabled
    switch_jit(disable)
    try:
        yield
    finally:
        switch_jit(before)


def switch_jit(is_disabled: bool) -> None:
    """From now on, in this thread, what `disable_jit` does in its context; or no longer."""
    if is_disabled and not _state.disabled:
        DISABLED.append(None)
    elif _state.disabled and not is_disabled:
        DISABLED.pop()
    _state.disabled = is_disabled


def is_jit_disabled() -> bool:
    """Tell whether the code is in the context of `disable_jit`."""
    return _state.disabled


def explains_misses() -> bool:
    """Tell whether `explain_cache_misses` is on."""
    return _explain[0]


class explain_cache_misses:  # used as a function and as a context
    """Log why a call traces: which argument differs from the nearest earlier signature, and how.

    `explain_cache_misses()` switches it on, `explain_cache_misses(False)` off; as a context it does
    so until the end of the block. The lines go to the logger "transpile", as warnings.
    """

    def __init__(self, enable: bool = True) -> None:
        self._before = _explain[0]
        _explain[0] = enable

    def __enter__(self) -> None:
        """Nothing more to do."""

    def __exit__(self, *exception: object) -> None:
        _explain[0] = self._before
