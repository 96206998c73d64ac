"""Dispatch: from the arguments of a call to the executable for their signature.

A function has a `Specialization` for each signature that it was compiled for. A call makes its key
(`trace/call_key.py`), looks up the specialization, runs the program on the leaves of the arguments
and builds the result from the outputs. Jitted functions and the stage `Compiled` share this code;
they differ in what happens where a key is new (`on_miss`).

Dispatch has two tiers. All calls begin in Python, in `Dispatcher.call`. A signature that has been
called often tiers up: its program is called from C, and where its key, guards and result allow it,
`runtime_c/python/call.c` makes the whole call (`fast_call.py`).

What users call has a slot `__call__`, which holds `Dispatcher.call` or, after the first tier-up, a
C object in front of it. Neither refers to the object with the slot, so that this object, and all
that its function has captured, is freed with the last reference to it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from transpile import tree
from transpile.ir.memory_layout import Gaps, Layout
from transpile.ir.primitive import Order, inverse
from transpile.pytree.treedef import TreeDef
from transpile.runtime.tier_up import AGAIN, threshold
from transpile.trace.call_key import Rejected
from transpile.trace.tracebacks import hide_own_frames
from transpile.util.fork_safe_lock import Lock
from transpile.util.frozen_records import cached_property, dataclass
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    from inspect import Signature

    from transpile.runtime import fast_call
    from transpile.trace.guards.checks import Watch
else:
    fast_call = Later("transpile.runtime.fast_call")

Key = tuple[Any, ...]
Run = Callable[[Sequence[Any]], list[Any]]
Describe = Callable[[tuple[Any, ...], dict[str, Any]], tuple[Key, Sequence[Any]]]
# C compares a call with its entries one by one, Python looks the key up: so C has at most so many.
_MOST_ENTRIES = 16
# The sets of runtime sizes of a function whose calls are looked up without solving for them.
MOST_SIZES = 256


@dataclass(frozen=True)
class Specialization:
    """A function compiled for one signature.

    call       calls its program: a `ProgramCall`, or what a target has in its place
    kept       the leaves of the arguments that are inputs of the program; None: all
    around     a wrapper of the program where its outputs are not the leaves of the result, as for
               a function that assigns to its arguments
    finish     builds the result from the outputs; None: the result is the only output
    structure  of the result
    layouts    the layout in which the program takes each input; () is row-major
    stored     the order of axes in which it stores each output
    tiers_up   False: C makes no calls of it
    in_place   with `around`: the outputs that are the leaves of the result, where C may do without
               the wrapper if all arguments can be changed where they lie; None where it may not
    check      raises an error for leaves of arguments that the function cannot take; C makes no
               calls with one
    """

    call: Any
    kept: tuple[int, ...] | None
    around: Callable[[Run], Run] | None
    finish: Callable[[list[Any]], Any] | None
    structure: TreeDef
    layouts: tuple[Layout, ...] = ()
    stored: tuple[Order, ...] = ()
    tiers_up: bool = True
    in_place: tuple[int, ...] | None = None
    check: Callable[[Sequence[Any]], None] | None = None

    def runner(self, program: Run) -> Callable[[Sequence[Any]], Any]:
        """The function from the leaves of the arguments, which it does not check, to the result.
        `program` calls the program, from Python or from C."""
        kept, finish, check = self.kept, self.finish, self.check
        execute = self._in_layouts(program) if any(self.layouts + self.stored) else program
        if self.around is not None:
            execute = self.around(execute)

        def run(leaves: Sequence[Any]) -> Any:
            if check is not None:
                check(leaves)
            outputs = execute(leaves if kept is None else [leaves[i] for i in kept])
            return outputs[0] if finish is None else finish(outputs)

        return run

    def _in_layouts(self, program: Run) -> Run:
        """The program with its inputs and outputs in row-major order, as views."""
        layouts, back = self.layouts, [inverse(order) for order in self.stored]

        def run(leaves: Sequence[Any]) -> list[Any]:
            inputs = [*map(_in_row_major_order, leaves, layouts)]
            outputs = program(inputs)
            return [y.transpose(o) if o else y for y, o in zip(outputs, back, strict=True)]

        return run

    @cached_property
    def run(self) -> Callable[[Sequence[Any]], Any]:
        """The `runner` that calls the program from Python."""
        return self.runner(self.call.run)


def finisher(out_tree: TreeDef) -> Callable[[list[Any]], Any] | None:
    """The function from the list of outputs to the result; None where the result is the only
    output."""
    if out_tree == tree.LEAF:
        return None
    if all(child == tree.LEAF for child in out_tree.subtrees):
        if out_tree.node is tree.node_of(tuple):
            return tuple
        if out_tree.node is tree.node_of(list):
            return list
    return out_tree.unflatten


def _in_row_major_order(x: Any, layout: Layout) -> Any:
    """The array that a program of a layout takes for an argument: a view."""
    if isinstance(layout, Gaps):
        return layout.frame_of(x)
    return x.transpose(layout) if layout else x


class _Cached:
    """A specialization in a table, with the guards under which it is valid.

    countdown   calls in Python until it tiers up; 0: it does not, or has done so
    seen        what that was when somebody asked for calls last
    """

    __slots__ = ("countdown", "run", "seen", "specialization", "watch")

    def __init__(self, specialization: Specialization, watch: Watch | None, countdown: int) -> None:
        self.specialization = specialization
        self.run = specialization.run
        self.watch = watch
        self.countdown = countdown
        self.seen = countdown


class Specializations:
    """The specializations of a function by key, and the entries of those that C calls.

    has_entries   True once there has been an entry
    outer         the table of the function whose calls another one makes, in which some arguments
                  are static: C finds the entries of both there, without a way through Python
    """

    def __init__(self) -> None:
        self.known: dict[Key, _Cached] = {}
        self.entries: list[Any] = []
        self.has_entries = False
        self.outer: Specializations | None = None
        self.lock = Lock()
        self._sized: dict[Key, None] = {}

    def clear(self) -> None:
        """Drop all specializations."""
        with self.lock:
            self.known.clear()
            self._sized.clear()
            self.entries.clear()

    def keep(self, key: Key, specialization: Specialization, watch: Watch | None) -> None:
        """Store a specialization for calls with this key."""
        calls = threshold() if specialization.tiers_up else 0
        known = _Cached(specialization, watch, calls)
        with self.lock:
            self._drop_entry(key)
            self.known[key] = known
        if calls == 1:
            self.tier_up(key, known, waits=True)

    def keep_sized(self, key: Key, specialization: Specialization, watch: Watch | None) -> None:
        """Store a specialization for runtime sizes, of a bounded number: another is soon made."""
        self.keep(key, specialization, watch)
        with self.lock:
            self._sized.pop(key, None)
            self._sized[key] = None
            if len(self._sized) > MOST_SIZES:
                oldest = next(iter(self._sized))
                del self._sized[oldest]
                self.drop(oldest)

    def was_called(self, key: Key) -> bool:
        """True if Python has made calls with this key since somebody asked last, or C makes them.
        Nothing more is counted in a call."""
        known = self.known.get(key)
        if known is None:
            return False
        before, known.seen = known.seen, known.countdown
        return before != known.countdown or any(entry.key == key for entry in self.entries)

    def drop(self, key: Key) -> None:
        """Drop the specialization for calls with this key."""
        with self.lock:
            self._drop_entry(key)
            self.known.pop(key, None)

    def tier_up(self, key: Key, known: _Cached, *, waits: bool = False) -> None:
        """Call the program from C for this key, and where C can make the whole call, add an entry
        for it; later, unless `waits`, where the module is still being built."""
        known.countdown = AGAIN
        if not waits and not fast_call.is_there():
            return
        known.countdown = 0
        program = fast_call.program(known.specialization.call)
        if program is None:
            return
        call = known.specialization.call
        known.run = known.specialization.runner(
            (lambda leaves: call.shaped(program(leaves))) if call.is_shaped_in_python else program
        )
        entry = fast_call.entry(key, known.specialization, program, known.watch)
        if entry is None:
            return
        with self.lock:
            if self.known.get(key) is known:  # no other thread has traced again
                self._drop_entry(key)
                self._add(entry)

    def _add(self, entry: Any) -> None:
        with self.lock:
            self.entries[:] = [entry, *self.entries][:_MOST_ENTRIES]
            self.has_entries = True
        if self.outer is not None:
            self.outer._add(entry)

    def _drop_entry(self, key: Key) -> None:
        for entry in [entry for entry in self.entries if entry.key == key]:
            self._drop(entry)

    def _drop(self, entry: Any) -> None:
        with self.lock:
            self.entries[:] = [other for other in self.entries if other is not entry]
        if self.outer is not None:
            self.outer._drop(entry)


class CalledBySlot(type):
    """The metaclass of classes whose instances have a slot `__call__`: the attribute of the class
    is a function, as in other classes, so that `Compiled.__call__(compiled, x)` works."""

    def __getattribute__(cls, name: str) -> Any:
        return _call if name == "__call__" else super().__getattribute__(name)


def _call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call it with these arguments."""
    return self.__call__(*args, **kwargs)


_call.__name__ = _call.__qualname__ = "__call__"


class InstanceSignature:
    """The attribute `__signature__` of instances of such a class, for `inspect.signature`; the
    class itself has none. Where `find` raises ValueError or TypeError, an instance has none
    either."""

    def __init__(self, find: Callable[[Any], Signature]) -> None:
        self._find = find

    def __get__(self, instance: Any, owner: type) -> Signature:
        if instance is None:
            raise AttributeError("__signature__")
        try:
            return self._find(instance)
        except (ValueError, TypeError) as error:
            raise AttributeError(str(error)) from None


# Errors of a key that is new or cannot be made. `on_miss` raises those that are the user's.
_UNKNOWN = (KeyError, TypeError, ValueError, RecursionError, Rejected)


class Dispatcher:
    """The calls of one object, which has a slot `__call__` and supports weak references.

    table      several dispatchers may share it
    describe   makes the key and the leaves of a call
    on_miss    makes a call for which the table has no valid specialization
    suspended  while it is not empty, all calls are made in Python, and by `on_miss` in the threads
               in which `is_suspended` returns True (`disable_jit`)
    """

    def __init__(
        self,
        table: Specializations,
        describe: Describe,
        on_miss: Callable[[tuple[Any, ...], dict[str, Any]], Any],
        suspended: list[Any],
        is_suspended: Callable[[], bool],
    ) -> None:
        self._table = table
        self._known: Mapping[Key, _Cached] = table.known
        self._describe = describe
        self._on_miss = on_miss
        self._suspended = suspended
        self._is_suspended = is_suspended
        self._calls_in_c = False
        self._callee: Callable[[], Any] = lambda: None

    def attach(self, callee: Any) -> None:
        """Fill the slot of an object."""
        self._callee = weakref.ref(callee)
        callee.__call__ = self.call
        if self._table.has_entries:
            self._install_c_caller()

    def _install_c_caller(self) -> None:
        self._calls_in_c = True
        callee = self._callee()
        if callee is not None:
            callee.__call__ = fast_call.caller(self.call, self._table.entries, self._suspended)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, in Python."""
        try:
            if self._suspended and self._is_suspended():
                return self._on_miss(args, kwargs)
            known = None
            try:
                key, leaves = self._describe(args, kwargs)
                known = self._known[key]
            except _UNKNOWN:
                pass
            if known is None or (known.watch is not None and known.watch.changed()):
                result = self._on_miss(args, kwargs)
            else:
                if known.countdown:
                    known.countdown = countdown = known.countdown - 1
                    if not countdown:
                        self._table.tier_up(key, known)
                result = known.run(leaves)
            if self._table.has_entries is not self._calls_in_c:
                self._install_c_caller()
        except BaseException as error:  # as `api_boundary`, without a call
            hide_own_frames(error)
            raise
        return result
