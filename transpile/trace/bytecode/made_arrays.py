"""Arrays that a traced function makes and assigns traced values to.

`out = numpy.zeros(n)` makes an array of NumPy's, as long as nothing traced goes into it: its values
may decide shapes and branches. The trace notes by which call it was made. When traced code is about
to assign a traced value to it, or to one at a traced index, the trace begins anew, and this call
gives a traced array (`trace/captured_arrays.py` runs the attempts).
"""

from __future__ import annotations

import operator
import sys
import weakref
from types import CodeType, FrameType
from typing import Any

import numpy as np

from transpile import errors
from transpile.ir.dims import Dim
from transpile.ir.source_info import user_source
from transpile.trace.bytecode.rewriting import original
from transpile.trace.tracer import Tracer
from transpile.util.interrupt_safety import THREAD

_NOT_MADE = (None, None, False)
Site = tuple[CodeType, int]  # the code, and the offset of the call in its rewritten form


class AssignedError(BaseException):
    """A traced value is about to be assigned to an array that the call at `site` has made.

    No error of the user's: his `except` clauses do not see it.
    """

    def __init__(self, site: Site) -> None:
        self.site = site


def note(array: Any, given: Any, is_maker: bool = True) -> bool:
    """Note that traced code has made an array of these arguments; True if it is to be traced.
    `is_maker` where a call has made it that is there to make arrays."""
    root = root_of(array)
    if root.base is not None:  # memory of something else's
        return False
    if THREAD.sites is None or any(root is root_of(x) for x in given if isinstance(x, np.ndarray)):
        return False
    reference, _, _ = THREAD.traces[-1].made.get(id(root), _NOT_MADE)
    if not is_maker and reference is not None and reference() is root:
        return False
    frame = _traced_frame()
    if frame is None:
        return False
    site = (original(frame.f_code), frame.f_lasti)
    if site in THREAD.sites:
        return True
    THREAD.traces[-1].made[id(root)] = (weakref.ref(root), site, is_maker)
    return False


def note_fresh(array: Any) -> bool:
    """Note an array that the expression which was assigned to a variable has just made: nobody but
    this one holds it. True if it is to be traced. It is called by what traced code calls."""
    counts = _references(array)
    is_fresh = all(map(operator.le, counts, _ONLY_VARIABLE))
    return is_fresh and note(array, (), is_maker=False)


def _references(array: Any) -> tuple[int, int]:
    """How often an array is referred to, and what it is a view of."""
    return sys.getrefcount(array), sys.getrefcount(array.base) if array.base is not None else 0


def _measured() -> tuple[int, int]:
    """What `note_fresh` counts of a fresh view, called as it is."""
    array = np.zeros(2)[1:]
    return _as_operation(array)


def _as_operation(value: Any) -> tuple[int, int]:
    return _as_note(value)


def _as_note(array: Any) -> tuple[int, int]:
    counts = _references(array)
    return counts  # noqa: RET504  # as in `note_fresh`


_ONLY_VARIABLE = _measured()


def _traced_frame() -> FrameType | None:
    """The innermost frame of traced code: the user's, or that of a package such as SciPy, whose
    arrays would all be made at one place if the user's were taken."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and original(frame.f_code) is frame.f_code:
        frame = frame.f_back
    return frame


def is_chosen_by_trace(key: Any) -> bool:
    """True for a subscript with traced indices, and, in functions that are converted from source,
    for a traced mask and for slices of traced bounds."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if THREAD.python is not None:
        parts += [v for p in parts if isinstance(p, slice) for v in (p.start, p.stop)]
    tracers = [part for part in parts if isinstance(part, Tracer)]
    kinds = "iu" if THREAD.python is None else "iub"
    return bool(tracers) and all(t.dtype.kind in kinds for t in tracers)


def check_assignment(value: Any, target: Any, *keys: Any) -> None:
    """Raise AssignedError where a traced value, or one at a traced index, goes into an array that
    the trace has made; UnsupportedError where a trace around it has."""
    if isinstance(target, np.flatiter):
        target = target.base
    if type(target) is list and THREAD.python is not None:
        THREAD.python.check_list(target, keys)
    if not isinstance(target, np.ndarray) or not THREAD.traces or THREAD.sites is None:
        return
    root = root_of(target)
    for trace in THREAD.traces:
        trace.forget(root)
    is_known = not any(_is_traced(part) for part in (value, *keys))
    if is_known and not THREAD.traces[-1].is_region:
        return
    is_own = True
    for trace in reversed(THREAD.traces):
        reference, site, _ = trace.made.get(id(root), _NOT_MADE)
        if reference is None or reference() is not root:
            is_own = is_own and trace.is_region
            continue
        if is_known and trace is THREAD.traces[-1]:
            return
        if is_own:
            raise AssignedError(site)
        raise errors.UnsupportedError(
            f"{user_source()}: `{user_source().text}` assigns a traced value to an array that "
            f"{trace.name}, the function around this one, has made. What a body computes leaves it "
            f"through its result: return the new values, or let them be part of the loop's state."
        )
    _trace_others()
    if is_known:
        raise _of_surroundings()


def _of_surroundings() -> errors.UnsupportedError:
    return errors.UnsupportedError(
        f"{user_source()}: `{user_source().text}`, in a statement that depends on traced values, "
        f"assigns to an array of the function's surroundings, to an argument that is static in "
        f"this call, or to one that arithmetic has made of known arrays, which stays what it is "
        f"until the program runs. Make it an argument, or a copy by numpy.array."
    )


def refuse_change(array: Any) -> None:
    """Raise AssignedError for an array that a statement has changed which depends on traced values,
    where the function has made it; UnsupportedError for others."""
    check_made(array)
    _trace_others()
    raise _of_surroundings()


def _trace_others() -> None:
    """Raise AssignedError for an array that the function has made and that is not traced yet: what
    arithmetic has made of it is traced then, too."""
    for trace in reversed(THREAD.traces):
        for _, site, is_maker in trace.made.values():
            if is_maker and THREAD.sites is not None and site not in THREAD.sites:
                raise AssignedError(site)
        if not trace.is_region:
            return


def check_subscript(array: Any, key: Any) -> None:
    """Raise AssignedError where an array that the trace has made is indexed by a traced value."""
    if isinstance(array, np.ndarray) and THREAD.sites is not None and _is_traced(key):
        check_made(array)


def check_shared(array: Any) -> None:
    """Raise AssignedError for an array that the trace has made, and that a variable would be where
    a traced value says so."""
    if isinstance(array, np.ndarray) and array.ndim and THREAD.sites is not None:
        check_made(array)


def check_made(array: Any) -> None:
    """Raise AssignedError for an array that the trace, or a statement of it, has made."""
    root = root_of(array)
    for trace in reversed(THREAD.traces):
        reference, site, _ = trace.made.get(id(root), _NOT_MADE)
        if reference is not None and reference() is root:
            raise AssignedError(site)
        if not trace.is_region:
            return


def _is_traced(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_traced, value))
    if isinstance(value, slice):
        return _is_traced((value.start, value.stop, value.step))
    return isinstance(value, Tracer | Dim)


def root_of(array: Any) -> Any:
    """The array that has the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
