"""Variables that are None on some paths: there they have no value (`Unbound`), and behind them one
beside a flag (`Maybe`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transpile import errors, tree
from transpile.ir.source_info import user_source
from transpile.numpy.core.promotion import weaken
from transpile.python.semantics.branches import choose, if_
from transpile.python.semantics.conditions import and_, compared, not_, or_
from transpile.python.semantics.exceptions import decided, deciding, raise_
from transpile.python.semantics.values import Maybe, Unbound, truth


def is_none(value: Any) -> Any:
    """`x is None`."""
    if type(value) is Maybe:
        return weaken(not_(value.is_bound))
    return _used(value) or value is None


def is_none_alone(value: Any, name: str, other: Any) -> Any:
    """True where a variable is None and what it is compared with is not."""
    if other is None:
        handed(value, name)
        return False
    return is_none(value)


def given(value: Any) -> Any:
    """The value of a variable that is not None, as a test before has found."""
    if type(value) is Maybe:
        return value.value
    return None if _used(value) else value


def not_none(value: Any, name: str) -> Any:
    """The value of a variable that is an operand: of None, Python raises TypeError."""
    if type(value) is Maybe:
        if_(
            is_none(value),
            lambda: _raised(f"{user_source()}: {name!r} is None"),
            lambda: (),
            (),
            (),
        )
    return given(value)


def handed(value: Any, name: str) -> Any:
    """The value of a variable that is handed on: a program has no None to hand on. Where integers
    and flags alone decide whether it is None, there is one for each of their values."""
    if type(value) is Maybe:
        source = user_source()
        text = (
            f"{source}: {name!r} is None where `{source.text}` hands it on, which a program cannot "
            f"do. Ask before it: `if {name} is None:`"
        )
        if _is_decided_by_integers(value):
            raise decided(errors.BranchError(text), value.is_bound)
        if_(is_none(value), lambda: _raised(text), lambda: (), (), ())
    return given(value)


def never_none(value: Any, name: str) -> Any:
    """A value that is bound in an expression, where no flag is kept beside it."""
    if type(value) is Maybe:
        raise errors.BranchError(
            f"{user_source()}: {name} would be None or a value where `:=` binds it, as a traced "
            f"value decides. Assign it in a statement of its own."
        )
    return given(value)


def equals(value: Any, other: Any, differs: bool) -> Any:
    """`value == other`, or `!=`, of a value that may be None, which nothing else is equal to."""
    if other is None:
        same = is_none(value)
        return not_(same) if differs else same
    sign = "!=" if differs else "=="
    if type(value) is not Maybe:
        return compared(sign, given(value), other)
    join, flag = (or_, not_(value.is_bound)) if differs else (and_, value.is_bound)
    return join(flag, lambda: compared(sign, value.value, other))


def or_given(value: Any, other: Callable[[], Any]) -> Any:
    """`value or ...` of a value that may be None."""
    if type(value) is Maybe:
        return choose(holds(value), lambda: value.value, other)
    return other() if given(value) is None else or_(value, other)


def result_of(value: Any, function: str) -> Any:
    """The result of the function that is compiled: a program has one always, or never."""
    if type(value) is not Maybe:
        if not any(map(_is_open, tree.leaves(value, is_leaf=_is_open))):
            return value
        return tree.map(lambda leaf: handed(leaf, "a part of the result"), value, is_leaf=_is_open)
    text = (
        f"{function}: the result is None for some values and not for others, which a program "
        f"cannot return. Return a number that says so, or a flag beside it."
    )
    if _is_decided_by_integers(value):
        raise decided(errors.BranchError(text), value.is_bound)
    if_(is_none(value), lambda: _raised(text), lambda: (), (), ())
    return value.value


def _is_open(value: Any) -> bool:
    return type(value) in (Maybe, Unbound)


def _is_decided_by_integers(value: Maybe) -> bool:
    inputs = deciding(value.is_bound)
    return all(x.type.dtype.kind in "iub" and not x.type.ndim for x in inputs)


def passed(value: Any, name: str) -> Any:
    """The value of a variable that another one, `name`, is from here on."""
    if type(value) is Maybe:
        return Maybe(value.value, value.is_bound, name)
    return Unbound(name) if _used(value) or value is None else value


def holds(value: Any) -> Any:
    """What Python takes a variable for: None is false."""
    if type(value) is Maybe:
        return and_(value.is_bound, lambda: truth(value.value))
    return given(value)


def _used(value: Any) -> bool:
    """True for None, which has been asked for then."""
    if type(value) is not Unbound:
        return False
    value.is_used = True
    return True


def _raised(text: str) -> tuple[()]:
    raise_(lambda: TypeError(text), None)
    return ()
