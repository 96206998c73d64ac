"""Assignment into traced arrays: `x[i] = v`, `x += v`, `out=`, with NumPy's views.

A graph has no memory, so an assignment makes a new value, which the array stands for from then on.
A view is an array whose value is made by views (slices, transposes, reshapes, reversals) of
another: assigning to it updates the array that it is a view of, by the inverse of each view, and so
every other view of that array changes with it. See `Trace.newest`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.ir.graph import Equation, Var
from transpile.ir.indices.lengths import are_equal_later
from transpile.ir.primitive import Linear
from transpile.ir.source_info import user_source
from transpile.ir.types import BOOL
from transpile.numpy.core.promotion import (
    as_array,
    as_operand,
    broadcast_in_dim,
    shape_of,
    unsupported,
)
from transpile.numpy.core.promotion import error as located
from transpile.numpy.subscripts.basic import (
    Selection,
    content,
    is_item,
    put_selected,
    set_item,
    shape_text,
    update_item,
)
from transpile.numpy.subscripts.views import extended
from transpile.primitives import axes as primitives
from transpile.primitives import elementwise
from transpile.primitives.indexing import CLIP, COMBINES, FILL, gather, scatter
from transpile.primitives.rules import apply
from transpile.trace.bytecode.made_arrays import check_assignment, check_shared
from transpile.trace.trace import Trace, bind, current_trace, is_assignable, the_trace
from transpile.trace.tracer import BINARY, UFUNC_METHODS, Tracer
from transpile.trace.views.sizes import Undecided
from transpile.util.interrupt_safety import THREAD
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    from transpile.numpy.subscripts import updates_in_turn
else:
    updates_in_turn = Later("transpile.numpy.subscripts.updates_in_turn")

# ---------------------------------------------------------------------------------------- storing


def store(x: Tracer, value: Any, since: int) -> None:
    """Let an array, and all that share its memory, stand for another value of the same type.

    `since` is the number of equations before that value was made: older values belong to other
    arrays.
    """
    trace = x.owner
    var = x.variable
    name = var.name
    while (view := trace.viewed(var)) is not None:
        behind = Tracer(trace, view.inputs[0])  # type: ignore[arg-type]  # a Const has no views
        var = behind.variable
        value = _put_back(trace, view, Tracer(trace, var), value)
    if not isinstance(value, Tracer) or not trace.is_new(trace.newest(value.variable), since):
        value = apply("copy", value)
    for array in trace.fixed.get(trace.roots.get(var, var), ()):
        check_shared(array)
        raise unsupported(
            f"`{user_source().text}` assigns at a traced index into an array of a list, or of its "
            f"surroundings, which stays what it is until the program runs. Let the list be an "
            f"array: numpy.stack(arrays)"
        )
    changed = value.variable
    if not changed.name:
        changed.name = var.name or name
    _stand_for(trace, var, changed)


def _stand_for(trace: Trace, var: Var, changed: Var) -> None:
    if THREAD.python is not None:
        THREAD.python.assigned(var.type)
    trace.written[var] = changed
    trace.roots[changed] = trace.roots.get(var, var)
    if trace.viewed(changed) is not None:  # as what a view was put back by: it is the array itself
        trace.layouts.own.add(changed)
    if trace.copies:
        _reflect(trace, trace.roots[changed], changed)


# Why two arrays may share memory.
_BY_VALUES = "as traced values decided which of several arrays a variable is"


def share(one: Tracer, other: Tracer, holds: Any) -> None:
    """Record that two arrays of the active trace are one and the same in NumPy where a traced bool
    holds, or, with None or the reason as a text, that they may share memory: what is assigned to
    one is then seen in the other, or that one cannot be used any more."""
    trace = the_trace()
    first, second = (trace.root_of(x) for x in (trace.atom(one), trace.atom(other)))  # type: ignore[arg-type]  # of a tracer
    if first is not second:
        trace.copies.setdefault(first, []).append((second, holds))
        trace.copies.setdefault(second, []).append((first, holds))


def mirror(
    one: Tracer, other: Tracer, there: Callable[[Any], Any], back: Callable[[Any], Any]
) -> None:
    """Record that two arrays of the active trace have one memory, whose values the other has by a
    function of those of the first, `there`, and the first by one of those of the other: what is
    assigned to one is seen in the other."""
    trace = the_trace()
    first, second = (trace.root_of(x) for x in (trace.atom(one), trace.atom(other)))  # type: ignore[arg-type]  # of a tracer
    trace.copies.setdefault(first, []).append((second, there))
    trace.copies.setdefault(second, []).append((first, back))


def unclear(x: Tracer, why: str) -> None:
    """Record that nobody knows what an array of the active trace is from here on."""
    trace = the_trace()
    var = trace.root_of(trace.atom(x))  # type: ignore[arg-type]  # of a tracer
    trace.stale[var] = why
    if not trace.written:  # or nobody would look
        trace.written[Var(var.type)] = var


def _reflect(trace: Trace, root: Var, changed: Var) -> None:
    """What is assigned to an array is seen in those that are the same one."""
    met, pending = {root}, [(root, changed)]
    while pending:
        root, changed = pending.pop()
        related = trace.copies.get(root, ())
        for other in dict.fromkeys(x for x, _ in related):
            if other in met or other in trace.stale:
                continue
            met.add(other)
            conditions = [holds for x, holds in related if x is other]
            reasons = [
                c or _BY_VALUES for c in conditions if c is None or isinstance(c, str | Undecided)
            ]
            if len(conditions) == 1 and callable(conditions[0]):
                last = trace.newest(other)
                seen = conditions[0](Tracer(trace, changed))
                trace.written[last] = seen.original
                trace.roots[seen.original] = other
                pending.append((other, seen.original))
                continue
            if reasons or other.type != root.type or any(map(callable, conditions)):
                name = f"{other.name!r}" if other.name else "an array"
                trace.stale[other] = (
                    f"{name} may share memory with an array that was assigned to at "
                    f"{user_source()} (`{user_source().text}`), "
                    f"{reasons[0] if reasons else _BY_VALUES}. Let the variable be a copy: "
                    f"x = y.copy()."
                )
                continue
            holds = reduce(np.logical_or, conditions)
            last = trace.newest(other)
            (seen,) = trace.append(
                elementwise.select,
                [_spread(holds, other), Tracer(trace, changed), Tracer(trace, last)],
                {},
            )
            trace.written[last] = seen.original
            trace.roots[seen.original] = other
            pending.append((other, seen.original))


def _spread(holds: Any, like: Var) -> Any:
    return broadcast_in_dim(holds, like.type.shape, ())


def _own(x: Tracer) -> Tracer:
    """An array as the active trace has it; UnsupportedError where that may not assign to it."""
    trace = current_trace()
    if x.owner is trace:
        return x
    if trace is None or not is_assignable(x.owner):
        raise unsupported(
            f"`{user_source().text}` assigns into an array of {x.owner.name}, "
            f"which is another traced function than the one that runs. Return the new values, and "
            f"assign them there."
        )
    here = trace.atom(x)
    assert isinstance(here, Var)  # of a tracer
    return Tracer(trace, here)


def _check_writeable(x: Tracer, what: str) -> None:
    """Raise ValueError for an array whose flag says that it may not be written."""
    if x.owner.layouts.locked and x.original in x.owner.layouts.locked:
        raise located(ValueError, f"{what} is read-only")


def replace_value(x: Tracer, value: Tracer, since: int) -> None:
    """Let an array of the active trace, or of one around it, stand for another value."""
    x = _own(x)
    if value.variable is not x.variable:  # it is what a loop leaves as it is
        store(x, value, since)


def _put_back(trace: Trace, view: Equation, behind: Tracer, value: Any) -> Any:
    """The base array of a view after the view has been assigned this value.

    A view of all elements is undone by its inverse; a slice leaves the others as they are.
    """
    if view.primitive is gather:
        indices = [Tracer(trace, i) if isinstance(i, Var) else i for i in view.inputs[1:]]
        mode = FILL if view.params["mode"] == CLIP else view.params["mode"]
        params = {"axes": view.params["axes"], "mode": mode, "combine": "set", "unique": True}
        return bind(scatter, behind, value, *indices, **params)
    if view.primitive is elementwise.real:
        return apply("complex", value, apply("imag", behind))
    if view.primitive is elementwise.imag:
        return apply("complex", apply("real", behind), value)
    if view.primitive is primitives.slice_:
        start, limit, strides = (view.params[name] for name in ("start", "limit", "strides"))
        return put_selected(behind, list(map(Selection, start, limit, strides)), value)
    if view.primitive is primitives.broadcast_in_dim:  # repeats nothing: others are no views
        return apply("reshape", value, shape=behind.shape)
    assert view.primitive.transpose is not None
    return view.primitive.transpose(value, Linear(behind.type), **view.params)[0]


# ------------------------------------------------------------------------------------- assignment


def assign(x: Tracer, key: Any, value: Any) -> None:
    """Assign to the elements `x[key]`."""
    if is_item(x, key, value):
        return
    _check_writeable(x, "assignment destination")
    x = _own(x)
    _check_writeable(x, "assignment destination")
    while (picked := x.owner.picked.get(x.original)) is not None:
        further = extended(picked, x.shape, key)
        if further is None:
            break
        x, key = Tracer(x.owner, x.owner.producers[x.original].inputs[0]), further  # type: ignore[arg-type]  # a view is of a Var
    since = len(x.owner.equations)
    store(x, set_item(x, key, as_operand(value)), since)


def assign_result(
    x: Tracer, value: Any, function: str, since: int, casting: str = "same_kind"
) -> Tracer:
    """Assign the result of a function to the array given as `out`, cast as NumPy casts it."""
    if isinstance(x, Tracer):
        _check_writeable(x, "output array")
    else:
        check_assignment(value, x)
        raise located(
            TypeError, f"a traced result of {function} does not fit into {x!r}, which is not traced"
        )
    given = shape_of(value)
    text = (
        f"non-broadcastable output operand with shape {shape_text(x.shape)} doesn't match the "
        f"broadcast shape {shape_text(given)}"
    )
    if len(given) != x.ndim or not all(
        a == b or are_equal_later(a, b, text) for a, b in zip(given, x.shape, strict=True)
    ):
        raise located(ValueError, text)
    dtype = as_operand(value).dtype
    if not np.can_cast(dtype, x.dtype, casting):  # type: ignore[arg-type]  # a str of NumPy's
        raise located(
            TypeError,
            f"Cannot cast ufunc '{function}' output from {dtype!r} to {x.dtype!r} with casting "
            f"rule '{casting}'",
        )
    store(_own(x), content(value, x.dtype, x.shape), since)
    return x


def _in_place(ufunc: Any) -> Callable[[Tracer, Any], Any]:
    def method(self: Tracer, other: Any) -> Any:
        if self.ndim == 0:  # NumPy's scalars do not change: Python binds the name anew
            return NotImplemented
        own = _own(self)
        since = len(own.owner.equations)
        result = UFUNC_METHODS["operator"](ufunc, self, other)
        if result is NotImplemented:
            return result
        return assign_result(self, result, ufunc.__name__, since)

    return method


# By ufunc, what an update by it is called.
_NAMES = {ufunc: name for name, ufunc in COMBINES.items()}
# On truth values these are a sum and a product, by which updates know them.
_OF_TRUTH = {np.logical_or: np.add, np.logical_and: np.multiply}


def _at(ufunc: Any, a: Any, indices: Any, b: Any = None) -> None:
    """The method `ufunc.at(a, indices, b)`: a repeated index is applied repeatedly."""
    if not isinstance(a, Tracer):
        check_assignment(b, a, indices)
        raise located(TypeError, f"{ufunc.__name__}.at: traced values do not fit into {a!r}")
    _check_writeable(a, "operand array with iterator write flag set")
    a = _own(a)
    since = len(a.owner.equations)
    if ufunc is np.subtract:
        ufunc, b = np.add, np.negative(as_array(b))
    combine = _NAMES.get(_OF_TRUTH.get(ufunc, ufunc))
    if combine is None or (ufunc in _OF_TRUTH and a.dtype != BOOL):
        store(a, updates_in_turn.updated_in_turn(ufunc, a, indices, b), since)
        return
    store(a, update_item(a, indices, as_operand(b), combine), since)


for _name, _ufunc in BINARY.items():  # divmod has no operator of this kind, and never asks
    setattr(Tracer, f"__i{_name}__", _in_place(_ufunc))
UFUNC_METHODS["out"] = assign_result
UFUNC_METHODS["at"] = _at
Tracer.__setitem__ = assign
