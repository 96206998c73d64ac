"""The call of a compiled function: from the arguments in Python to a program, and back.

A function is compiled for signatures, and each signature has a `Specialization`. A call makes its
key (`trace/call_key.py`), looks that up, runs the program on the leaves of the arguments and makes
the result of the outputs. `Dispatcher.call` does so for everything that can be called: jitted
functions and the stage `Compiled` differ in what a new key leads to. For signatures that are called
often, `runtime_c/python/call.c` does the same in C (`fast_call.py`).

What users call has a slot named `__call__`. It holds `Dispatcher.call`, and, once a signature has
been called often, an object of C in front of that. Neither refers to what has the slot: that goes
with the last reference to it, and with it all that a function has captured.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from transpile.pytree.treedef import TreeDef
from transpile.runtime.tier_up import how_often
from transpile.trace.call_key import Rejected
from transpile.trace.tracebacks import hide_own_frames
from transpile.util.fork_safe_lock import Lock
from transpile.util.frozen_records import cached_property, dataclass
from transpile.util.lazy_imports import Later

if TYPE_CHECKING:
    from inspect import Signature

    from transpile.runtime import fast_call
    from transpile.runtime.program_call import ProgramCall
    from transpile.trace.guards import Watch
else:
    fast_call = Later("transpile.runtime.fast_call")

Key = tuple[Any, ...]
Run = Callable[[Sequence[Any]], list[Any]]
Describe = Callable[[tuple[Any, ...], dict[str, Any]], tuple[Key, Sequence[Any]]]
# How many signatures of a function C looks at before Python looks them up.
_MOST_ENTRIES = 16


@dataclass(frozen=True)
class Specialization:
    """A function compiled for one signature.

    call       how to call its program
    kept       which leaves of the arguments are the program's inputs; None: all
    around     what is done around a call of the program, where its outputs are not the leaves of
               the result: it makes a function of inputs of another such function
    finish     makes the result of the outputs; None: it is the only one
    structure  of the result
    """

    call: ProgramCall
    kept: tuple[int, ...] | None
    around: Callable[[Run], Run] | None
    finish: Callable[[list[Any]], Any] | None
    structure: TreeDef

    def runner(self, program: Run) -> Callable[[Sequence[Any]], Any]:
        """What makes the result of the leaves of the arguments, which are not checked; `program`
        runs the program, in Python or in C."""
        kept, finish = self.kept, self.finish
        execute = program if self.around is None else self.around(program)

        def run(leaves: Sequence[Any]) -> Any:
            outputs = execute(leaves if kept is None else [leaves[i] for i in kept])
            return outputs[0] if finish is None else finish(outputs)

        return run

    @cached_property
    def run(self) -> Callable[[Sequence[Any]], Any]:
        """That of the program in Python."""
        return self.runner(self.call.run)


class _Known:
    """A specialization in a table: it serves until its guards fail, and calls in Python are counted
    down to the one after which they are made in C; 0: they are not counted."""

    __slots__ = ("left", "run", "specialization", "watch")

    def __init__(self, specialization: Specialization, watch: Watch | None, left: int) -> None:
        self.specialization = specialization
        self.run = specialization.run
        self.watch = watch
        self.left = left


class Specializations:
    """The specializations of a function, by key, and what calls in C look at: `entries`.

    is_quick   whether there has been an entry
    """

    def __init__(self) -> None:
        self.known: dict[Key, _Known] = {}
        self.entries: list[Any] = []
        self.is_quick = False
        self.lock = Lock()

    def clear(self) -> None:
        """Forget all."""
        with self.lock:
            self.known.clear()
            self.entries.clear()

    def keep(self, key: Key, specialization: Specialization, watch: Watch | None) -> None:
        """Run this from now on for calls with that key."""
        often = how_often()
        known = _Known(specialization, watch, often)
        with self.lock:
            self._drop_entry(key)
            self.known[key] = known
        if often == 1:
            self.quicken(key, known)

    def quicken(self, key: Key, known: _Known) -> None:
        """From now on calls with that key run the program from C, and are made there altogether
        where they can be."""
        known.left = 0
        program = fast_call.program(known.specialization.call)
        if program is None:
            return
        known.run = known.specialization.runner(program)
        entry = fast_call.entry(key, known.specialization, program, known.watch)
        if entry is None:
            return
        with self.lock:
            if self.known.get(key) is known:  # and not a later trace's
                self._drop_entry(key)
                self.entries[:] = [entry, *self.entries][:_MOST_ENTRIES]
                self.is_quick = True

    def _drop_entry(self, key: Key) -> None:
        self.entries[:] = [entry for entry in self.entries if entry.key != key]


class CalledBySlot(type):
    """The class of classes whose instances have a slot `__call__`. Through such a class,
    `Compiled.__call__(compiled, x)`, there is a function, as in other classes."""

    def __getattribute__(cls, name: str) -> Any:
        return _call if name == "__call__" else super().__getattribute__(name)


def _call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Run on these arguments."""
    return self.__call__(*args, **kwargs)


_call.__name__ = _call.__qualname__ = "__call__"


class InstanceSignature:
    """What `inspect.signature` says of instances of such a class; of the class it says the usual.
    ValueError and TypeError of `find`: there is none."""

    def __init__(self, find: Callable[[Any], Signature]) -> None:
        self._find = find

    def __get__(self, instance: Any, owner: type) -> Signature:
        if instance is None:
            raise AttributeError("__signature__")
        try:
            return self._find(instance)
        except (ValueError, TypeError) as error:
            raise AttributeError(str(error)) from None


# What a key that is not known, or cannot be made, raises. What follows finds out why.
_UNKNOWN = (KeyError, TypeError, ValueError, RecursionError, Rejected)


class Dispatcher:
    """The calls of one object, which has a slot `__call__` and can be weakly referred to.

    table      may be shared by several
    describe   makes the key and the leaves of a call
    missed     makes the call where there is no specialization for it
    suspended  while there is something in it, all calls are made in Python, and by `missed` in
               those threads in which `is_suspended` says so
    """

    def __init__(
        self,
        table: Specializations,
        describe: Describe,
        missed: Callable[[tuple[Any, ...], dict[str, Any]], Any],
        suspended: list[Any],
        is_suspended: Callable[[], bool],
    ) -> None:
        self._table = table
        self._known: Mapping[Key, _Known] = table.known
        self._describe = describe
        self._missed = missed
        self._suspended = suspended
        self._is_suspended = is_suspended
        self._is_quick = False
        self._callee: Callable[[], Any] = lambda: None

    def attach(self, callee: Any) -> None:
        """Make the calls of an object from now on."""
        self._callee = weakref.ref(callee)
        callee.__call__ = self.call
        if self._table.is_quick:
            self._quicken()

    def _quicken(self) -> None:
        self._is_quick = True
        callee = self._callee()
        if callee is not None:
            callee.__call__ = fast_call.caller(self.call, self._table.entries, self._suspended)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, in Python."""
        try:
            if self._suspended and self._is_suspended():
                return self._missed(args, kwargs)
            known = None
            try:
                key, leaves = self._describe(args, kwargs)
                known = self._known[key]
            except _UNKNOWN:
                pass
            if known is None or (known.watch is not None and known.watch.changed()):
                result = self._missed(args, kwargs)
            else:
                if known.left:
                    known.left = left = known.left - 1
                    if not left:
                        self._table.quicken(key, known)
                result = known.run(leaves)
            if self._table.is_quick is not self._is_quick:
                self._quicken()
        except BaseException as error:  # as `api_boundary`, without a call
            hide_own_frames(error)
            raise
        return result
