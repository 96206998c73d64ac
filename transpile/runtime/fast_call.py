"""Calls in C: builds the module of `runtime_c/python/call.c` and translates signatures for it.

A call looks up the signature, makes the arrays of the results and calls the program. In Python that
takes longer than a small program. The C module calls the programs of signatures that have tiered
up. For a signature with an `Entry` it makes the whole call where the arguments are arrays that the
program reads as they are; everything else it leaves to Python. Without Python's headers or a
compiler there is no module, and all calls are made in Python.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile import tree
from transpile.build.support_libraries import obtaining_library
from transpile.disk_cache.cache import Entry
from transpile.disk_cache.cache_entry import DamagedError
from transpile.disk_cache.concurrent_steps import Command, Steps, finished
from transpile.errors import CompilationError, CompilerNotFoundError
from transpile.ir.memory_layout import Gaps, Layout
from transpile.ir.primitive import inverse
from transpile.ir.types import PYTHON_SCALARS
from transpile.runtime.dispatcher import Specialization
from transpile.runtime.loader import DamagedLibraryError, loader_path
from transpile.runtime.program_call import ProgramCall
from transpile.trace.call_key import KEYWORDS
from transpile.trace.guards.checks import Watch
from transpile.util.fork_safe_lock import Lock
from transpile.util.lazy.imports import Later
from transpile.util.lazy.loggers import Log

if TYPE_CHECKING:
    import sysconfig
else:
    sysconfig = Later("sysconfig")

logger = Log("transpile")

_OBJECT = "call.so"
# Errors with which all calls stay in Python.
_UNAVAILABLE = (CompilerNotFoundError, CompilationError, DamagedError, ImportError, OSError)

_lock = Lock()
_modules: list[Any] = []  # after the first use: the module, or None where it is unavailable


# While a compiler builds the module in the background: the steps of that, and the command.
_under_way: list[tuple[Steps[ModuleType], Command]] = []
_LONGEST_END = (
    5.0  # how many seconds the end of a process waits for it, once in the life of a cache
)
_LOOK = 0.01  # in seconds
# False: nothing is built in the background, for those to whom its process matters.
in_background = True


def module() -> Any:
    """The C module, which the first use builds and loads; None where that is not possible."""
    with _lock:
        if not _modules:
            _under_way.clear()
            _go_on(_loading(alone=True), waits=True)
        return _modules[0]


def is_there() -> bool:
    """True if `module` gives an answer without waiting for a compiler. The first call starts the
    compiler where the cache does not have the module, and a call after its end loads that."""
    with _lock:
        if not in_background:
            module()
        elif not _modules:
            if not _under_way:
                _go_on(_loading(alone=False))
            elif _under_way[0][1].has_ended():
                # Taken out: an interrupt ends the steps, and what is left of them goes on nowhere.
                _go_on(_under_way.pop()[0])
        return bool(_modules)


def caller(python: Any, entries: list[Any], suspended: list[Any]) -> Any:
    """A callable that makes a call in C, if an entry has its key and `suspended` is empty, and else
    calls `python`. The module exists, as there are entries."""
    return module().Caller(python, entries, suspended)


def program(call: ProgramCall, root: ProgramCall | None = None) -> Any:
    """The program as a callable of the C module, from a list of inputs to a list of outputs; None
    without the module, and where a call is more than the program's.

    root   the call that was resized to this one
    """
    api = module()
    if api is None or call.is_limited or (call.rooms is not None and call.is_shaped_in_python):
        return None
    axes = call.axes_of_lengths
    return api.Program(
        inputs=tuple((api.ARRAY, dtype, shape) for dtype, shape in call.inputs),
        outputs=tuple((api.ARRAY, dtype, shape) for dtype, shape in call.outputs),
        aliases=call.aliases,
        convert=call.converted,
        fail=call.fail,
        address=call.address,
        workspace=call.room,
        makers=call.makers,
        spare=call.spare,
        is_brief=call.is_brief,
        callbacks=call.callbacks,
        called=call.callbacks.number if call.callbacks is not None else 0,
        sizes=call.sizes,
        lengths=None if axes is None else tuple((api.ARRAY, None, a) for a in axes),
        resize=None if call.rooms is None else partial(_resized, root or call, call),
    )


def _resized(root: ProgramCall, call: ProgramCall, code: int, lengths: Sequence[int]) -> Any:
    """The program that is called from now on in the place of `call`; None: the same."""
    other = call.resized(code, lengths)
    if other is None:
        return None
    root.grown = other
    return program(other, root)


def entry(key: tuple[Any, ...], compiled: Specialization, program: Any, watch: Watch | None) -> Any:
    """The entry of the C module for calls with this key; None where a call needs more than C does:
    conversions, wrappers, containers of other classes."""
    api = module()
    arguments = _nodes(api, key)
    outputs = compiled.in_place if compiled.around is not None else None
    is_wrapped = compiled.around is not None and outputs is None
    if arguments is None or is_wrapped or compiled.call.is_shaped_in_python:
        return None
    nodes, positional, names = arguments
    leaves = [node for node in nodes if node[0] in (api.ARRAY, api.NUMBER)]
    kept = compiled.kept if compiled.kept is not None else tuple(range(len(leaves)))
    layouts = compiled.layouts or ((),) * len(kept)
    if not all(map(_reads_as_is, (leaves[k] for k in kept), compiled.call.inputs, layouts)):
        return None
    results = _result_nodes(api, compiled.structure, _result_leaves(api, compiled))
    if results is None and any(compiled.stored):
        return None
    guards, rest = watch.comparisons() if watch is not None else ((), None)
    return api.Entry(
        key=key,
        arguments=tuple(map(_with_strides, nodes)),
        positional=positional,
        names=names,
        program=program,
        inputs=kept,
        result=results,
        finish=compiled.structure.unflatten,
        guards=guards,
        changed=rest.changed if rest is not None else None,
        outputs=outputs,
    )


def describe() -> str:
    """The line of `python -m transpile doctor` about calls."""
    reason = _why_unavailable()
    if os.environ.get("TRANSPILE_CALLS") == "python":
        reason = "the environment variable TRANSPILE_CALLS asks for it"
    return f"in Python: {reason}" if reason else "in C, for signatures that are called often"


# -- entries ---------------------------------------------------------------------------------------

# A node of a pytree in preorder, as `call_nodes.h` has it: its kind, its class, dtype or value, and
# its shape or number of children; and for an array that is not in row-major order, its layout.
Node = tuple[int, Any, tuple[int, ...]] | tuple[int, Any, tuple[int, ...], Layout]


def _nodes(api: Any, key: tuple[Any, ...]) -> tuple[list[Node], int, tuple[str, ...]] | None:
    """The nodes of a key, the number of positional arguments, and the names of the others; None
    where C has no kind for one of the nodes."""
    nodes: list[Node] = []
    names: tuple[str, ...] = ()
    items = iter(key)
    positional = 0
    for item in items:
        if item is KEYWORDS:
            names = next(items)
            break
        if not _append_nodes(api, item, items, nodes):
            return None
        positional += 1
    for _ in names:
        if not _append_nodes(api, next(items), items, nodes):
            return None
    return nodes, positional, names


def _append_nodes(api: Any, item: Any, items: Any, nodes: list[Node]) -> bool:
    """Append the nodes of an argument, whose part of the key begins with `item`
    (`trace/call_key.py`); False where C has no kind for one of them."""
    if isinstance(item, np.dtype):
        shape = next(items)
        has_layout = bool(shape) and isinstance(shape[0], (tuple, Gaps))
        nodes.append((api.ARRAY, item, *(shape[::-1] if has_layout else (shape,))))
        return True
    if item is None:
        nodes.append((api.NONE, None, ()))
        return True
    if type(item) is tuple:  # a static argument: its type and value, or digits for some types
        if item[0] in (tuple, float, complex) or not _comparable_in_c(item[1]):
            return False
        nodes.append((api.STATIC, item[1], ()))
        return True
    if item in PYTHON_SCALARS:
        nodes.append((api.NUMBER, item, ()))
        return True
    if item is tuple or item is list:
        count = next(items)
        nodes.append((api.TUPLE if item is tuple else api.LIST, None, (count,)))
    elif item is dict:
        names = next(items)
        if not all(type(name) is str for name in names):
            return False
        count = len(names)
        nodes.append((api.DICT, names, ()))
    else:
        return False
    return all(_append_nodes(api, next(items), items, nodes) for _ in range(count))


def _comparable_in_c(value: Any) -> bool:
    """True if C can compare a static value: a usual one, or one that is equal to itself alone."""
    return type(value) in (int, str, bool, type(None)) or _hash(value) is _hash(object())


def _hash(value: Any) -> Any:
    return type(value).__hash__


def _with_strides(node: Node) -> tuple[Any, ...]:
    """The node of an argument, for C: of an array with gaps, the order of its axes, its strides in
    bytes, and how many bytes its frame begins before it."""
    *kept, layout = node
    if not isinstance(layout, Gaps):
        return node
    size = node[1].itemsize
    return (*kept, layout.axes, tuple(size * s for s in layout.strides), size * layout.offset)


def _reads_as_is(leaf: Node, wanted: tuple[np.dtype[Any], tuple[int, ...]], taken: Layout) -> bool:
    """True if a program that takes an input in a layout reads a leaf without conversion."""
    dtype, shape = wanted
    _, kind, numbers, *rest = leaf
    layout = rest[0] if rest else ()
    if layout != taken:
        return False
    if isinstance(layout, Gaps):
        numbers = layout.frame
    elif layout:
        numbers = tuple(numbers[axis] for axis in layout)
    if isinstance(kind, np.dtype):
        return kind == dtype and bool(kind.isnative) and numbers == shape
    return np.dtype(kind) == dtype and not shape


def _result_leaves(api: Any, compiled: Specialization) -> Iterator[Node]:
    """The nodes of the leaves of a result, which are the outputs: those of results in another order
    of axes have as many axes, whatever their lengths."""
    count = len(compiled.call.outputs)
    if compiled.around is not None and compiled.in_place is not None:
        count = len(compiled.in_place)
    for order in compiled.stored or ((),) * count:
        axes = (0,) * len(order)
        yield (api.ARRAY, None, axes, inverse(order)) if order else (api.ARRAY, None, ())


def _result_nodes(
    api: Any, out_tree: tree.TreeDef, leaves: Iterator[Node]
) -> tuple[Node, ...] | None:
    """The nodes of a result with these leaves; None where C has no kind for one of them."""
    if out_tree == tree.LEAF:
        return (next(leaves),)
    known = out_tree.node_data()
    assert known is not None
    kind, data = known
    count = len(out_tree.subtrees)
    if kind is tuple or kind is list:
        own: Node = (api.TUPLE if kind is tuple else api.LIST, None, (count,))
    elif kind is dict and all(type(name) is str for name in data):
        own = (api.DICT, tuple(data), ())
    elif kind is type(None):
        own = (api.NONE, None, ())
    else:
        return None
    nodes = [own]
    for subtree in out_tree.subtrees:
        inside = _result_nodes(api, subtree, leaves)
        if inside is None:
            return None
        nodes += inside
    return tuple(nodes)


# -- the module ------------------------------------------------------------------------------------


def _go_on(steps: Steps[ModuleType], *, waits: bool = False) -> None:
    """Take the next of the steps, or with `waits` all of them; at their end `_modules` has the
    module, or None where it is unavailable."""
    reason = _why_unavailable()
    try:
        if not reason and waits:
            _modules.append(finished(steps))
        elif not reason:
            _under_way.append((steps, next(steps)))
    except StopIteration as end:
        _modules.append(end.value)
    except _UNAVAILABLE as error:
        reason = str(error)
    if reason:
        logger.info("calls are made in Python: %s", reason)
        _modules.append(None)


def _why_unavailable() -> str:
    """The reason why the module cannot be built for this Python, or ""."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python has no GIL"
    missing = [path for path, header in _headers() if not (path / header).is_file()]
    return f"there are no headers in {', '.join(map(str, missing))}" if missing else ""


def _headers() -> list[tuple[Path, str]]:
    """The include directories of Python and NumPy, and a header in each."""
    python = Path(sysconfig.get_path("include"))
    return [(python, "Python.h"), (Path(np.get_include()), "numpy/arrayobject.h")]


def _loading(*, alone: bool) -> Steps[ModuleType]:
    """The steps that take the module from the cache, see `Cache.obtaining`."""
    return obtaining_library(
        "call",
        [flag for path, _ in _headers() for flag in ("-isystem", str(path))],
        _imported,
        {
            "python": f"{sys.implementation.cache_tag} {sys.version} {sys.abiflags}",
            "numpy": np.__version__,
        },
        alone=alone,
    )


def _imported(entry: Entry) -> ModuleType:
    """The module of a cache entry, which is not added to `sys.modules`."""
    path = entry.path(_OBJECT)
    with entry.opened(_OBJECT) as handle, loader_path(path, handle) as name:
        loader = ExtensionFileLoader("transpile.call", name)
        spec = importlib.util.spec_from_loader("transpile.call", loader)
        assert spec is not None
        try:
            made = importlib.util.module_from_spec(spec)
        except ImportError as error:
            raise DamagedLibraryError(f"{path} cannot be loaded: {error}") from error
        loader.exec_module(made)
    return made


def _finish() -> None:
    """Let a compiler that is under way come to its end, before the process does: else the next
    short process would start it again, and make all its calls in Python, too."""
    with _lock:
        until = time.monotonic() + _LONGEST_END
        while _under_way and not _under_way[0][1].has_ended() and time.monotonic() < until:
            time.sleep(_LOOK)
        if _under_way and _under_way[0][1].has_ended():
            _go_on(_under_way.pop()[0])
        _under_way.clear()


# A forked child drops the steps without ending the parent's compiler (`ChildProcess`).
os.register_at_fork(after_in_child=_under_way.clear)
atexit.register(_finish)
