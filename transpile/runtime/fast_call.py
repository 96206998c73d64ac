"""Calls in C: `runtime_c/python/call.c`, built once for a Python and a NumPy, and its entries.

A jitted function looks a call's signature up, makes the results' arrays and calls the program; in
Python that takes longer than many a program. The module `call` runs the programs of signatures that
are called often, and makes their whole calls for arguments that are exactly what the program reads;
it leaves everything else to Python. Where there are no headers or no compiler, all stays in Python.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile import tree
from transpile.build.support_libraries import support_library
from transpile.disk_cache.cache import Entry
from transpile.disk_cache.cache_entry import DamagedError
from transpile.errors import CompilationError, CompilerNotFoundError
from transpile.ir.types import PYTHON_SCALARS
from transpile.runtime.dispatcher import Specialization
from transpile.runtime.loader import DamagedLibraryError, spelling
from transpile.runtime.program_call import ProgramCall
from transpile.trace.call_key import KEYWORDS
from transpile.trace.guards import Watch
from transpile.util.fork_safe_lock import Lock
from transpile.util.lazy_imports import Later
from transpile.util.lazy_logging import Log

if TYPE_CHECKING:
    import sysconfig
else:
    sysconfig = Later("sysconfig")

logger = Log("transpile")

_OBJECT = "call.so"
# Why the module may not be had.
_REASONS = (CompilerNotFoundError, CompilationError, DamagedError, ImportError, OSError)

_lock = Lock()
_modules: list[Any] = []  # the module, None where it cannot be had, nothing before it is wanted


def module() -> Any:
    """The module `call`, loaded or built first; None where it cannot be built or loaded."""
    with _lock:
        if not _modules:
            _modules.append(_module())
        return _modules[0]


def caller(python: Any, entries: list[Any], suspended: list[Any]) -> Any:
    """What makes calls in C: with an entry that fits, while `suspended` is empty, else by `python`.

    There is an entry, so the module is there.
    """
    return module().Caller(python, entries, suspended)


def program(call: ProgramCall) -> Any:
    """The program of the module, which takes a list of inputs and gives a list of outputs; None
    without the module."""
    found = module()
    if found is None:
        return None
    return found.Program(
        inputs=tuple((found.ARRAY, dtype, shape) for dtype, shape in call.inputs),
        outputs=tuple((found.ARRAY, dtype, shape) for dtype, shape in call.outputs),
        aliases=call.aliases,
        convert=call.converted,
        fail=call.fail,
        address=call.address,
        workspace=call.workspace,
        makers=call.makers,
        spare=call.spare,
        is_brief=call.is_brief,
        callbacks=call.callbacks,
        called=call.callbacks.number if call.callbacks is not None else 0,
    )


def entry(key: tuple[Any, ...], compiled: Specialization, program: Any, watch: Watch | None) -> Any:
    """The entry for the calls with a key, which run this program of the module; None where more
    has to be done than C does."""
    found = module()
    parsed = _parsed(found, key)
    if parsed is None or compiled.around is not None:
        return None
    nodes, positional, names = parsed
    leaves = [node for node in nodes if node[0] in (found.ARRAY, found.NUMBER)]
    kept = compiled.kept if compiled.kept is not None else tuple(range(len(leaves)))
    if not all(map(_fits, (leaves[k] for k in kept), compiled.call.inputs)):
        return None
    guards, rest = watch.comparisons() if watch is not None else ((), None)
    return found.Entry(
        key=key,
        arguments=tuple(nodes),
        positional=positional,
        names=names,
        program=program,
        inputs=kept,
        result=_result(found, compiled.structure),
        finish=compiled.structure.unflatten,
        guards=guards,
        changed=rest.changed if rest is not None else None,
    )


def describe() -> str:
    """What `python -m transpile doctor` says about calls."""
    reason = _why_not()
    if os.environ.get("TRANSPILE_CALLS") == "python":
        reason = "the environment variable TRANSPILE_CALLS asks for it"
    return f"in Python: {reason}" if reason else "in C, for signatures that are called often"


# -- entries ---------------------------------------------------------------------------------------

Node = tuple[int, Any, tuple[int, ...]]


def _parsed(found: Any, key: tuple[Any, ...]) -> tuple[list[Node], int, tuple[str, ...]] | None:
    """A key's nodes, how many arguments are positional, and the others' names; None where there is
    something that C has no kind for."""
    nodes: list[Node] = []
    names: tuple[str, ...] = ()
    items = iter(key)
    positional = 0
    for item in items:
        if item is KEYWORDS:
            names = next(items)
            break
        if not _parse(found, item, items, nodes):
            return None
        positional += 1
    for _ in names:
        if not _parse(found, next(items), items, nodes):
            return None
    return nodes, positional, names


def _parse(found: Any, item: Any, items: Any, nodes: list[Node]) -> bool:
    """Append the nodes of an argument, whose part of the key starts with `item`; see `keys`."""
    if isinstance(item, np.dtype):
        nodes.append((found.ARRAY, item, next(items)))
        return True
    if item is None:
        nodes.append((found.NONE, None, ()))
        return True
    if type(item) is tuple:  # static: its type and value, but for those that go by their digits
        if item[0] in (tuple, float, complex) or not _has_identity(item[1]):
            return False
        nodes.append((found.STATIC, item[1], ()))
        return True
    if item in PYTHON_SCALARS:
        nodes.append((found.NUMBER, item, ()))
        return True
    if item is tuple or item is list:
        count = next(items)
        nodes.append((found.TUPLE if item is tuple else found.LIST, None, (count,)))
    elif item is dict:
        names = next(items)
        if not all(type(name) is str for name in names):
            return False
        count = len(names)
        nodes.append((found.DICT, names, ()))
    else:
        return False
    return all(_parse(found, next(items), items, nodes) for _ in range(count))


def _has_identity(value: Any) -> bool:
    """Tell whether C can compare a static value: a usual one, or one that equals itself alone."""
    return type(value) in (int, str, bool, type(None)) or _hash(value) is _hash(object())


def _hash(value: Any) -> Any:
    return type(value).__hash__


def _fits(leaf: Node, wanted: tuple[np.dtype[Any], tuple[int, ...]]) -> bool:
    """Tell whether the program reads a leaf as it is."""
    dtype, shape = wanted
    _, kind, numbers = leaf
    if isinstance(kind, np.dtype):
        return kind == dtype and bool(kind.isnative) and numbers == shape
    return np.dtype(kind) == dtype and not shape


def _result(found: Any, out_tree: tree.TreeDef) -> tuple[Node, ...] | None:
    """The nodes of a result; None where Python has to make it."""
    if out_tree == tree.LEAF:
        return ((found.ARRAY, None, ()),)
    known = out_tree.node_data()
    assert known is not None
    kind, data = known
    count = len(out_tree.subtrees)
    if kind is tuple or kind is list:
        own: Node = (found.TUPLE if kind is tuple else found.LIST, None, (count,))
    elif kind is dict and all(type(name) is str for name in data):
        own = (found.DICT, tuple(data), ())
    elif kind is type(None):
        own = (found.NONE, None, ())
    else:
        return None
    nodes = [own]
    for subtree in out_tree.subtrees:
        inside = _result(found, subtree)
        if inside is None:
            return None
        nodes += inside
    return tuple(nodes)


# -- the module ------------------------------------------------------------------------------------


def _module() -> Any:
    reason = _why_not()
    if not reason:
        try:
            return _loaded()
        except _REASONS as error:
            reason = str(error)
    logger.info("calls are made in Python: %s", reason)
    return None


def _why_not() -> str:
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python has no GIL"
    missing = [path for path, header in _headers() if not (path / header).is_file()]
    return f"there are no headers in {', '.join(map(str, missing))}" if missing else ""


def _headers() -> list[tuple[Path, str]]:
    """The directories with the headers of Python and NumPy, and one in each."""
    python = Path(sysconfig.get_path("include"))
    return [(python, "Python.h"), (Path(np.get_include()), "numpy/arrayobject.h")]


def _loaded() -> ModuleType:
    """The module from the cache, built first where it is missing or damaged."""
    return support_library(
        "call",
        [word for path, _ in _headers() for word in ("-isystem", str(path))],
        _imported,
        {
            "python": f"{sys.implementation.cache_tag} {sys.version} {sys.abiflags}",
            "numpy": np.__version__,
        },
    )


def _imported(entry: Entry) -> ModuleType:
    """The module, from its file; it is not in `sys.modules`."""
    path = entry.path(_OBJECT)
    with entry.opened(_OBJECT) as handle, spelling(path, handle) as name:
        loader = ExtensionFileLoader("transpile.call", name)
        spec = importlib.util.spec_from_loader("transpile.call", loader)
        assert spec is not None
        try:
            made = importlib.util.module_from_spec(spec)
        except ImportError as error:
            raise DamagedLibraryError(f"{path} cannot be loaded: {error}") from error
        loader.exec_module(made)
    return made
