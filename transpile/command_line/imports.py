"""Import what MODULE:FUNCTION names, and print errors of users' code as lines."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from transpile.command_line.arguments import UsageError
from transpile.errors import TranspileError
from transpile.symbols.identifiers import identifier
from transpile.util.data_files import PACKAGE

# The errors of a user's module, and of a function that is traced, which are printed as a line.
# Other exceptions keep their traceback.
USER_ERRORS = (
    TranspileError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


def function_named(text: str) -> Any:
    """The function that MODULE:FUNCTION names; its module is imported."""
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise UsageError(f"{text!r} is not of the form MODULE:FUNCTION, such as heat:step")
    found: Any = _module(place)
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{place} has no function {name!r}")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"{text} is not a function, but of type {type(found).__name__}")
    return found


def _module(place: str) -> Any:
    """A module by its name, or by the path of its file. Its `__name__` is not `__main__`.

    What its top level prints is no part of the output. What it raises, an exit too, is an error.
    """
    sys.path.insert(0, os.getcwd())
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return _imported(place)
    except ModuleNotFoundError as error:
        if error.name and (place == error.name or place.startswith(f"{error.name}.")):
            raise UsageError(f"there is no module {place!r}") from None
        raise UsageError(_not_imported(place, error)) from None
    except UsageError:
        raise
    except (*USER_ERRORS, SystemExit) as error:
        raise UsageError(_not_imported(place, error)) from None


def loaded_files() -> list[str]:
    """The files of the modules that have been imported, but for those of packages: transpile, and
    what is installed."""
    installed = tuple({sysconfig.get_path(name) for name in ("stdlib", "platlib", "purelib")})
    files = {getattr(module, "__file__", None) or "" for module in [*sys.modules.values()]}
    ours = (f"{PACKAGE}{os.sep}", *installed)
    return sorted(f for f in files if f.endswith(".py") and not f.startswith(ours))


def _imported(place: str) -> Any:
    if not place.endswith(".py"):
        return importlib.import_module(place)
    path = Path(place)
    if not path.is_file():
        raise UsageError(f"there is no file {place}")
    known = sys.modules.get(identifier(path.stem))
    if known is not None and getattr(known, "__file__", "") == str(path.resolve()):
        return known  # for another function of the file
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(identifier(path.stem), path.resolve())
    if spec is None or spec.loader is None:
        raise UsageError(f"{place} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _not_imported(place: str, error: BaseException) -> str:
    """The message about an error that a module's top level has raised."""
    line = f"{place} cannot be imported: {type(error).__name__}: {' '.join(str(error).split())}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.name == "<module>"]
    users = [frame for frame in frames if not frame.filename.startswith((str(PACKAGE), "<"))]
    if not users or isinstance(error, (ImportError, SyntaxError)):
        return line
    where = f"{os.path.basename(users[-1].filename)}:{users[-1].lineno}"
    return (
        f"{line}, raised at {where}, which runs when the module is imported: put what is not for "
        "importing behind `if __name__ == '__main__':`"
    )


def guarded(what: str, work: Callable[[], None]) -> int:
    """Run `work`; errors of a user's function and of the compiler are printed as lines that begin
    with `what`. The exit code is returned."""
    try:
        work()
    except (UsageError, BrokenPipeError):
        raise
    except USER_ERRORS as error:
        print(f"transpile: {what}: {type(error).__name__}: {error}", file=sys.stderr)
        place = _place(error)
        if place and place not in str(error):
            print(f"  raised at {place}", file=sys.stderr)
        return 1
    return 0


def _place(error: BaseException) -> str:
    """The last line outside transpile and NumPy that an error came through, as file:line."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = (str(PACKAGE), os.path.dirname(np.__file__), "<")
    users = [frame for frame in frames if not frame.filename.startswith(ours)]
    return f"{os.path.basename(users[-1].filename)}:{users[-1].lineno}" if users else ""
