"""Variables that are None on some paths: there they have no value (`Unbound`), and behind them one
beside a flag (`Maybe`)."""

from __future__ import annotations

from typing import Any

from transpile import errors
from transpile.ir.source_info import user_source
from transpile.numpy.core.promotion import weaken
from transpile.python.semantics.branches import if_
from transpile.python.semantics.conditions import and_, not_
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
        if all(x.type.dtype.kind in "iub" and not x.type.ndim for x in deciding(value.is_bound)):
            raise decided(errors.BranchError(text), value.is_bound)
        if_(is_none(value), lambda: _raised(text), lambda: (), (), ())
    return given(value)


def passed(value: Any, name: str) -> Any:
    """The value of a variable that another one, `name`, is from here on."""
    if type(value) is Maybe:
        return Maybe(value.value, value.is_bound, name)
    return Unbound(name) if _used(value) else value


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
