"""Sets of devices that are threads of this process: the communicators of `runtime_c`."""

from __future__ import annotations

from functools import cache
from typing import Any

from transpile.build.support_libraries import support_library
from transpile.disk_cache.cache import Entry
from transpile.runtime.loader import Library, load
from transpile.util.data_files import data_directory

_FILE = "devices.so"


@cache
def _library() -> Library:
    """`runtime_c/python/devices.c`, compiled and loaded."""
    declarations = (data_directory("runtime_c") / "python" / "devices.h").read_text("utf-8")

    def use(entry: Entry) -> Library:
        with entry.opened(_FILE) as handle:
            return load(entry.path(_FILE), declarations, handle)

    return support_library("devices", ("-pthread", "-fvisibility=default"), use)


class DeviceSet:
    """So many devices, for one run of a program on each. It is used with `with`."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._library = _library()
        self._address: Any = None

    def __enter__(self) -> DeviceSet:
        self._address = self._library.handle.transpile_devices_new(self.count)
        if self._address == self._library.ffi.NULL:
            raise MemoryError(f"no memory for {self.count} devices")
        return self

    def __exit__(self, *_: object) -> None:
        self._library.handle.transpile_devices_free(self._address)
        self._address = None

    def communicator(self, rank: int) -> int:
        """The address of a device's communicator."""
        pointer = self._library.handle.transpile_devices_of(self._address, rank)
        return int(self._library.ffi.cast("intptr_t", pointer))

    def end(self, rank: int) -> None:
        """Say that a device exchanges no more: those that wait for it fail."""
        self._library.handle.transpile_devices_end(self._address, rank)

    def fail(self, message: str) -> None:
        """Have all devices fail, with a message; the first one stays."""
        self._library.handle.transpile_devices_fail(self._address, message.encode())

    @property
    def message(self) -> str:
        """Why they have failed, or nothing."""
        text = self._library.handle.transpile_devices_message(self._address)
        return bytes(self._library.ffi.string(text)).decode(errors="replace")
