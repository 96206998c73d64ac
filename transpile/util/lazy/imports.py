"""Import names and modules at their first use, to keep `import transpile` short."""

from __future__ import annotations

import _imp
import contextlib
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from transpile.util.fork_safe_lock import Lock, undivided
from transpile.util.gc_pause import without_collector
from transpile.util.interrupt_safety import Result

_lock = Lock()


def imported(module: str) -> Any:
    """The module of that name, imported where it is not; see `importing`."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    if spec is not None and not getattr(spec, "_initializing", False):  # as importlib asks
        return sys.modules[module]
    return importing(lambda: import_module(module))


def importing(run: Callable[[], Result]) -> Result:
    """The result of `run()`, which imports modules: one thread at a time, undivided by forks, and
    repeatable where it fails or is interrupted.

    Python removes a module whose import fails from `sys.modules`, but not the submodules that it
    has imported; a second import of the package would not have these as attributes.
    """
    free_import_lock()
    with undivided(), _lock:
        before = set(sys.modules)
        try:
            return without_collector(run)  # what modules make stays
        except BaseException:
            free_import_lock()
            _make_whole(sys.modules.keys() - before)
            raise


def free_import_lock() -> None:
    """Release Python's global import lock, if this thread has it. It should not: only importlib
    takes it, for a moment. But an interrupt can come in that moment, and then every other thread
    that imports would wait for ever, with the locks of its modules."""
    with contextlib.suppress(RuntimeError):  # this thread does not have it
        while True:
            _imp.release_lock()


def imported_beside(module: str) -> None:
    """Import a module in a thread of which others need not know. As `imported`, without its lock:
    a thread that imports another module does not wait for this one."""
    with undivided():
        before = set(sys.modules)
        try:
            without_collector(lambda: import_module(module))
        except BaseException:
            with _lock:
                _make_whole(sys.modules.keys() - before)
            raise


def _make_whole(names: set[str]) -> None:
    """Remove modules whose package was removed; the others become attributes of their package."""
    for name in sorted(names):
        package, _, own = name.rpartition(".")
        if package and package not in sys.modules:
            sys.modules.pop(name, None)
        elif package and not hasattr(sys.modules[package], own):
            setattr(sys.modules[package], own, sys.modules[name])


def on_demand(
    package: str, modules: Iterable[str], names: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's `__getattr__` and `__dir__`, for submodules and names that other modules define.

    modules   the submodules that are attributes of the package
    names     by module, the names that it has for the package, separated by blanks

    The package then has the attribute like any other. Raises AttributeError for other names.
    """
    places = {name: module for module, listed in names.items() for name in listed.split()}
    known = frozenset(modules)

    def attribute(name: str) -> Any:
        if name in known:
            return imported(f"{package}.{name}")
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(imported(places[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def every() -> list[str]:
        own = vars(sys.modules[package])
        if "__all__" in own:  # what users need, without the packages of the compiler's stages
            return sorted({*own["__all__"], *(name for name in own if name.startswith("__"))})
        return sorted({*own, *known, *places})

    return attribute, every


class Later:
    """A module that is imported when one of its names is first used.

    It replaces an `import` in a module that rarely needs the other one:

        if TYPE_CHECKING:
            import tempfile
        else:
            tempfile = Later("tempfile")
    """

    __slots__ = ("_module",)

    def __init__(self, module: str) -> None:
        object.__setattr__(self, "_module", module)

    def __getattr__(self, name: str) -> Any:
        return getattr(imported(self._module), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(imported(self._module), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(imported(self._module), name)
