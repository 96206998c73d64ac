"""Callbacks of a program in the process: C calls Python with the addresses of values.

An exception in a callback is kept until the program has returned, and raised then; what the program
calls in between is not run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.graph import Site
from transpile.trace.tracebacks import api_boundary


class Calls:
    """What the sites of the program `name` call.

    address    that of the C function that it is to call; `number` is the same as a number
    begin()    a call of the program: an object with `context` for C, and `finish` for afterwards
    """

    def __init__(self, ffi: Any, name: str, sites: Sequence[Site]) -> None:
        self.ffi = ffi
        self.sites = [(s.callback, _arrays(ffi, s)) for s in sites]
        self._function = ffi.callback(f"{name}_callback", _called(ffi))
        self.address = ffi.cast("void *", self._function)
        self.number = int(ffi.cast("intptr_t", self._function))

    def begin(self) -> _Running:
        """The object that one call of the program calls."""
        return _Running(self)


class _Running:
    """One call of a program."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.context = calls.ffi.new_handle(self)
        self.error: BaseException | None = None

    @property
    def address(self) -> int:
        """The context as a number."""
        return int(self.calls.ffi.cast("intptr_t", self.context))

    def call(self, number: int, values: Any) -> None:
        """Call what a site calls, unless something has failed before."""
        if self.error is not None:
            return
        callback, arrays = self.calls.sites[number]
        try:
            callback(*arrays(values))
        except BaseException as error:  # it is raised when the program has returned
            self.error = error

    def finish(self) -> None:
        """Raise what a callback has raised."""
        if self.error is not None:
            with api_boundary:  # a call in C comes here without any other frame of ours
                raise self.error


def _called(ffi: Any) -> Callable[[Any, int, Any], None]:
    def called(context: Any, number: int, values: Any) -> None:
        ffi.from_handle(context).call(number, values)

    return called


def _arrays(ffi: Any, site: Site) -> Callable[[Any], list[Any]]:
    """What makes arrays of the addresses that C hands over; they are valid during the call."""
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
