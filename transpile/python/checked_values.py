"""`assert`, and the values of variables that some paths leave without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transpile.ir.source_info import user_source
from transpile.python.objects.attributes import Variables
from transpile.python.semantics.branches import if_
from transpile.python.semantics.conditions import not_
from transpile.python.semantics.exceptions import raise_
from transpile.python.semantics.values import EndedError, Maybe, Unbound, truth
from transpile.trace.tracer import Tracer


def assert_(test: Any, message: Callable[[], Any]) -> None:
    """`assert`."""
    holds = truth(test)
    if not isinstance(holds, Tracer):
        if not holds:
            raise_(lambda: _failed(message()), None)
        return
    if_(not_(holds), lambda: _asserted(message), lambda: (), (), ())


def _asserted(message: Callable[[], Any]) -> tuple[()]:
    raise_(lambda: _failed(message()), None)
    return ()


def _failed(message: Any) -> AssertionError:
    return AssertionError() if message is None else AssertionError(message)


def bound(value: Any) -> Any:
    """The value of a variable that some path reaches without one."""
    if type(value) is Unbound:
        value.is_used = True
        _raised(value.name)
        raise EndedError(_unbound(value.name))  # what would be done with the value is never done
    if type(value) is not Maybe:
        return value
    name = value.name
    if_(not_(value.is_bound), lambda: _raised(name), lambda: (), (), ())
    return value.value


class Shared(Variables):
    """The variables of these names of a function that functions inside it assign to, too."""

    def __init__(self, *names: str) -> None:
        vars(self).update({name: Unbound(name) for name in names})

    def __getattribute__(self, name: str) -> Any:
        return bound(super().__getattribute__(name))


def bound_if(is_bound: Any, value: Any, name: str) -> Any:
    """The value of a variable that may be None, where it is bound."""
    if_(not_(is_bound), lambda: _raised(name), lambda: (), (), ())
    return value


def _raised(name: str) -> tuple[()]:
    raise_(lambda: _unbound(name), None)
    return ()


def _unbound(name: str) -> UnboundLocalError:
    return UnboundLocalError(
        f"{user_source()}: cannot access local variable {name!r} where it is not associated with "
        f"a value"
    )
