"""Callbacks from a program: its C code calls Python with the number of a site and addresses.

C cannot propagate a Python exception. So the exception is kept, the program is told to stop, and
the exception is raised when it has returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.graph import Site
from transpile.ir.indices.size_solver import evaluated
from transpile.ir.types import ArrayType
from transpile.trace.tracebacks import api_boundary

# What a program returns when a function of Python has raised.
_FAILED = -1


def site_for_sizes(site: Site, sizes: dict[str, int]) -> Site:
    """A site with the types that it has for these values of runtime sizes."""
    types, results = (
        tuple(kind.with_shape(evaluated(kind.shape, sizes)) for kind in kinds)
        for kinds in (site.types, site.results)
    )
    return Site(site.callback, types, results)


class Callbacks:
    """The callbacks of the program `name`, by their sites.

    address   of the trampoline, the one C function that all sites call; `number` is it as an int
    begin()   the context for one call of the program
    """

    def __init__(self, ffi: Any, name: str, sites: Sequence[Site]) -> None:
        self.ffi = ffi
        self.sites = [(s, _arrays(ffi, s.types), _arrays(ffi, s.results)) for s in sites]
        self._trampoline = ffi.callback(f"{name}_callback", _trampoline(ffi), error=_FAILED)
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

    def call(self, number: int, values: Any, results: Any) -> int:
        """Call the callback of a site and write its results; the code for the program."""
        site, operands, outputs = self.callbacks.sites[number]
        try:
            given = site.callback.results(operands(values), site.results)
        except BaseException as error:  # raised by `finish`
            self.error = error
            return _FAILED
        for array, value in zip(outputs(results), given, strict=True):
            array[...] = value
        return 0

    def finish(self) -> None:
        """Raise the exception of a callback, if there was one."""
        if self.error is not None:
            with api_boundary:  # a call in C comes here without any other frame of ours
                raise self.error


def _trampoline(ffi: Any) -> Callable[[Any, int, Any, Any], int]:
    def trampoline(context: Any, number: int, values: Any, results: Any) -> int:
        code: int = ffi.from_handle(context).call(number, values, results)
        return code

    return trampoline


def _arrays(ffi: Any, types: Sequence[ArrayType]) -> Callable[[Any], list[Any]]:
    """A function from the addresses that C passes to arrays, which are valid during the call."""
    kinds = [(k, t.dtype, t.static_shape()) for k, t in enumerate(types)]
    sizes = [dtype.itemsize * int(np.prod(shape)) for _, dtype, shape in kinds]

    def arrays(values: Any) -> list[Any]:
        return [
            np.frombuffer(ffi.buffer(values[k], size), np.uint8).view(dtype).reshape(shape)
            if size
            else np.empty(shape, dtype)
            for (k, dtype, shape), size in zip(kinds, sizes, strict=True)
        ]

    return arrays
