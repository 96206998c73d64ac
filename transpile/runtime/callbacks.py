"""Callbacks from a program: its C code calls Python with the number of a site and addresses.

C cannot propagate a Python exception. So the first exception is kept while the program runs on,
later callbacks of this call are skipped, and the exception is raised when the program has returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.graph import Site
from transpile.trace.tracebacks import api_boundary


class Callbacks:
    """The callbacks of the program `name`, by their sites.

    address   of the trampoline, the one C function that all sites call; `number` is it as an int
    begin()   the context for one call of the program
    """

    def __init__(self, ffi: Any, name: str, sites: Sequence[Site]) -> None:
        self.ffi = ffi
        self.sites = [(s.callback, _arrays(ffi, s)) for s in sites]
        self._trampoline = ffi.callback(f"{name}_callback", _trampoline(ffi))
        self.address = ffi.cast("void *", self._trampoline)
        self.number = int(ffi.cast("intptr_t", self._trampoline))

    def begin(self) -> _CallbackContext:
        """The context for one call of the program."""
        return _CallbackContext(self)


class _CallbackContext:
    """The state of one call of a program: `context` goes to C, `finish` is called at the end."""

    def __init__(self, callbacks: Callbacks) -> None:
        self.callbacks = callbacks
        self.context = callbacks.ffi.new_handle(self)
        self.error: BaseException | None = None

    @property
    def address(self) -> int:
        """The context as an int."""
        return int(self.callbacks.ffi.cast("intptr_t", self.context))

    def call(self, number: int, values: Any) -> None:
        """Call the callback of a site, unless an earlier one has raised."""
        if self.error is not None:
            return
        callback, arrays = self.callbacks.sites[number]
        try:
            callback(*arrays(values))
        except BaseException as error:  # raised by `finish`
            self.error = error

    def finish(self) -> None:
        """Raise the exception of a callback, if there was one."""
        if self.error is not None:
            with api_boundary:  # a call in C comes here without any other frame of ours
                raise self.error


def _trampoline(ffi: Any) -> Callable[[Any, int, Any], None]:
    def trampoline(context: Any, number: int, values: Any) -> None:
        ffi.from_handle(context).call(number, values)

    return trampoline


def _arrays(ffi: Any, site: Site) -> Callable[[Any], list[Any]]:
    """A function from the addresses that C passes to arrays, which are valid during the call."""
    kinds = [(k, t.dtype, t.static_shape()) for k, t in enumerate(site.types)]
    sizes = [dtype.itemsize * int(np.prod(shape)) for _, dtype, shape in kinds]

    def arrays(values: Any) -> list[Any]:
        return [
            np.frombuffer(ffi.buffer(values[k], size), np.uint8).view(dtype).reshape(shape)
            if size
            else np.empty(shape, dtype)
            for (k, dtype, shape), size in zip(kinds, sizes, strict=True)
        ]

    return arrays
