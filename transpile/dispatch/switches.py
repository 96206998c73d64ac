"""The switches `disable_jit` and `explain_cache_misses`, functions and contexts, and the choices of
warm-up and of the generator of random keys."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from transpile.runtime.devices import CPU, current_default
from transpile.util.interrupt_safety import SUSPENDING
from transpile.util.settings.product_precision import precision_in_effect

# An item for each thread in which `disable_jit` is on, for each kind of values that results are
# searched for, and where another device than the CPU is the default one, or products have a
# precision that is asked for. While it is empty, calls in C do not ask Python.
DISABLED: list[None] = SUSPENDING
# The kinds of values that results are searched for, in order.
_searched: list[str] = []


class _State(threading.local):
    """The switches of each thread: `disable_jit`, and the kinds of values that a context says are
    searched for or not."""

    def __init__(self) -> None:
        self.disabled = False
        self.searched: dict[str, bool] = {}


_state = _State()
_explain = [False]
# The generators of random keys; the first is the default, unless `choose_generator` says another.
GENERATORS = ("threefry2x32", "philox2x32", "philox4x32", "threefry4x32", "rbg", "unsafe_rbg")
_generator = [GENERATORS[0]]


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
    """Switch `disable_jit` on or off in this thread, without a context."""
    if is_disabled and not _state.disabled:
        DISABLED.append(None)
    elif _state.disabled and not is_disabled:
        DISABLED.pop()
    _state.disabled = is_disabled


def is_jit_disabled() -> bool:
    """True if `disable_jit` is on in this thread."""
    return _state.disabled


def is_suspended() -> bool:
    """True if calls are not made by programs that are known: `disable_jit` is on, or results are
    searched."""
    return _state.disabled or bool(checked_values())


def is_suspended_or_other(device: str, precision: str) -> bool:
    """True if `is_suspended`, or if a function that is traced for a device, or "" for none in
    particular, and for products of a precision is called for others."""
    return (
        is_suspended()
        or (not device and current_default() is not CPU)
        or precision != precision_in_effect()
    )


def search_results(category: str, is_searched: bool) -> None:
    """Have results searched for NaN or infinities, in all threads but in contexts that say
    otherwise."""
    if is_searched and category not in _searched:
        _searched.append(category)
        DISABLED.append(None)
    elif not is_searched and category in _searched:
        _searched.remove(category)
        DISABLED.pop()


@contextmanager
def searching(category: str, is_searched: bool) -> Iterator[None]:
    """In this context and thread, results are searched for values of a kind, or are not."""
    own, before = _state.searched, _state.searched.get(category)
    if is_searched:
        DISABLED.append(None)
    own[category] = is_searched
    try:
        yield
    finally:
        if before is None:
            del own[category]
        else:
            own[category] = before
        if is_searched:
            DISABLED.pop()


def checked_values() -> tuple[str, ...]:
    """The kinds of values that results are searched for in this thread."""
    own = _state.searched
    if not own:
        return tuple(_searched)
    return tuple(c for c in dict.fromkeys([*_searched, *own]) if own.get(c, c in _searched))


def explains_misses() -> bool:
    """True if `explain_cache_misses` is on."""
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
        """The constructor has set the switch."""

    def __exit__(self, *exception: object) -> None:
        _explain[0] = self._before


def warm_up_requested(choice: str | None) -> bool:
    """True if the first calls are to be computed by NumPy: `jit`'s argument says so, or where it is
    None the environment variable TRANSPILE_WARM_UP. ValueError for an unknown word."""
    if choice is None:
        choice, origin = os.environ.get("TRANSPILE_WARM_UP", "") or "off", "TRANSPILE_WARM_UP"
    else:
        origin = "warm_up"
    if choice not in ("numpy", "off"):
        raise ValueError(f"{origin} takes 'numpy' or 'off', not {choice!r}")
    return choice == "numpy"


def default_generator() -> str:
    """The generator of random keys for which none is named."""
    return _generator[0]


def choose_generator(name: str) -> None:
    """Name the generator of random keys for which none is named, in all threads."""
    _generator[0] = name
