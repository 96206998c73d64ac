"""The operators that evaluate an operand only where another one says so, and comparisons."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from transpile import errors
from transpile.ir.graph import Equation, has_effect
from transpile.ir.graph_rewrite import may_repeat
from transpile.ir.indices.size_value import SizeValue
from transpile.ir.source_info import user_source
from transpile.ir.types import BOOL
from transpile.numpy.core.promotion import weaken
from transpile.python.growing import growth
from transpile.python.objects.attributes import Attributes
from transpile.python.objects.containers import contains, unchanging
from transpile.python.semantics.branches import Later, choose, known_to_hold
from transpile.python.semantics.exceptions import ending
from transpile.python.semantics.regions import Region
from transpile.python.semantics.values import EndedError, array_type, is_array, joined, truth
from transpile.trace.tracer import Tracer
from transpile.trace.views.lists import TracedList
from transpile.transforms.closed import apply

_ORDERS = ("<", "<=", ">", ">=")
_EQUAL = ("<=", ">=", "==")
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.is_,
    "is not": operator.is_not,
}
# Of an operand that is cheaper to compute than to jump over.
_FEW_EQUATIONS = 8


def and_(value: Any, *others: Later) -> Any:
    """`value and ...`: the first operand that is false, or the last one."""
    return _chain(value, others, np.logical_and)


def or_(value: Any, *others: Later) -> Any:
    """`value or ...`: the first operand that is true, or the last one."""
    return _chain(value, others, np.logical_or)


def _chain(value: Any, others: Sequence[Later], combine: Callable[[Any, Any], Any]) -> Any:
    """Operands that cost little are computed together; the others are a branch, which begins a
    chain of its own. So each is traced at most twice, in a chain of any length."""
    ends, budget = combine is np.logical_or, _FEW_EQUATIONS
    for number, other in enumerate(others):
        holds = truth(value)
        if not isinstance(holds, Tracer) and bool(holds) is ends:
            return value
        if not isinstance(holds, Tracer):
            value = other()
            continue
        if isinstance(value, TracedList):  # as a condition
            value, other = holds, partial(_as_condition, other)
        joint = growth.fitted(partial(_joint, holds, other, value, combine, budget))
        if joint is None:
            later = [other, *others[number + 1 :]]
            first, rest = partial(_same, value, None), partial(_rest, later, combine)
            return choose(holds, *((first, rest) if ends else (rest, first)))
        value, equations = joint
        budget -= equations
    return value


def while_running(running: Any, condition: Later) -> Any:
    """`running and condition`: both are computed at once, unless that could be noticed, as the
    condition may raise an exception where Python does not ask it any more."""
    if not isinstance(running, Tracer):
        return condition() if running else False
    joint = growth.fitted(partial(_joint, running, condition, running, np.logical_and, None))
    return choose(running, condition, lambda: False) if joint is None else joint[0]


def _as_condition(other: Later) -> Any:
    """An operand behind a list, whose place a truth takes: it is one, too, or an error."""
    value = other()
    holds = truth(value)
    if isinstance(value, bool | np.bool_ | TracedList) or getattr(value, "dtype", None) == BOOL:
        return holds
    raise errors.UnsupportedError(
        f"{user_source()}: `{user_source().text}` chooses between a list which the program adds "
        f"elements to and another value. Compare its length: len(values) > 0"
    )


def _rest(others: Sequence[Later], combine: Callable[[Any, Any], Any]) -> Any:
    return _chain(others[0](), others[1:], combine)


def not_(value: Any) -> Any:
    """`not value`."""
    holds = truth(value)
    return weaken(np.logical_not(holds)) if isinstance(holds, Tracer) else not holds


def compare(left: Any, *parts: Any) -> Any:
    """A chain of comparisons: of operators, and functions that give the operand behind each."""
    sign, later, *rest = parts
    right = later()
    if sign in ("in", "not in"):
        result = weaken(contains(right, left))  # a bool of Python's, also of NumPy's numbers
        result = not_(result) if sign == "not in" else result
    else:
        result = compared(sign, left, right)
    return and_(result, lambda: compare(right, *rest)) if rest else result


def compared(sign: str, one: Any, other: Any) -> Any:
    """One comparison. Tuples, and lists, compare the first elements that differ, else lengths."""
    if type(one) is not type(other) or type(one) not in (tuple, list):
        try:
            return _with_sizes(sign, one, other)
        except errors.UndecidedSizeError:  # the program decides
            one, other = (x.as_value() if isinstance(x, SizeValue) else x for x in (one, other))
            return _COMPARISONS[sign](one, other)
    if sign in ("==", "!=") and len(one) != len(other):
        return sign == "!="
    result: Any = _COMPARISONS[sign](len(one), len(other))
    for a, b in reversed([*zip(one, other, strict=False)]):
        is_same = True if a is b else truth(_of_elements("==", a, b))
        if not isinstance(is_same, Tracer) and is_same:
            continue
        differing = truth(_of_elements(sign, a, b)) if sign in _ORDERS else sign == "!="
        if isinstance(is_same, Tracer):
            result = weaken(np.where(is_same, result, differing))
        else:
            result = differing
    return result


def _of_elements(sign: str, one: Any, other: Any) -> Any:
    """A comparison inside of tuples, which those of sizes do not become one of the program in."""
    is_nested = type(one) in (tuple, list)
    return compared(sign, one, other) if is_nested else _with_sizes(sign, one, other)


def _with_sizes(sign: str, one: Any, other: Any) -> Any:
    """A comparison, of runtime sizes too: UndecidedSizeError where their ranges leave it open."""
    if sign in ("is", "is not"):
        return _COMPARISONS[sign](one, other)
    if isinstance(one, SizeValue) and isinstance(other, int | SizeValue):
        return sign in _EQUAL if one is other else one.decided(_COMPARISONS[sign], other)
    if isinstance(one, int) and isinstance(other, SizeValue):
        return other.decided(_COMPARISONS[_MIRRORED.get(sign, sign)], one)
    return _COMPARISONS[sign](one, other)


def is_singleton(value: Any, constant: Any, is_rest: bool = False) -> Any:
    """Whether a value is True, False or None, which Python's bools are and those of NumPy are not;
    `is_rest` where it is known not to be the other bool."""
    is_bool = isinstance(value, Tracer) and value.dtype == BOOL and not value.ndim
    if not is_bool or constant is None:
        return value is constant
    if not value.type.weak:  # it may be one of either
        return bool(value) is constant
    if is_rest:
        return True
    return truth(value) if constant else not_(value)


def _joint(
    holds: Tracer,
    other: Later,
    value: Any,
    combine: Callable[[Any, Any], Any],
    budget: int | None,
) -> tuple[Any, int] | None:
    """`value and other`, or `or`, computed at once, and how many equations that took; None where it
    takes more than a budget, if there is one, or could be noticed."""
    region = Region("operand")
    attributes = Attributes([other])
    try:
        known = partial(known_to_hold, holds, combine is np.logical_and, partial(ending, other))
        result = unchanging(partial(region.run, known), other)
        changes = bool(attributes.changed())
    except EndedError:
        result, changes = None, False
    finally:
        attributes.restore()
    equations = region.trace.equations
    is_cheap = (
        not changes
        and (
            not any(map(has_effect, equations)) if budget is None else _is_cheap(equations, budget)
        )
        and not region.assigned()
        and is_array(result)
    )
    if not is_cheap:
        return None
    # A known operand may decide, so that `if found and mode == "drop":` is no branch elsewhere.
    if result is (combine is np.logical_or) and array_type(value).dtype == BOOL:
        return result, 0
    region.settle_views(())
    body = region.body([region.atom(result)], [])
    (result,) = apply(body.graph, body.captured)
    if array_type(value).dtype == BOOL and array_type(result).dtype == BOOL:
        return combine(holds, truth(result)), len(equations) + 1
    kind = joined(array_type(value), array_type(result))
    if kind is None or kind.shape:
        return None
    chosen = (value, result) if combine is np.logical_or else (result, value)
    return np.where(holds, *chosen), len(equations) + 1


def _is_cheap(equations: Sequence[Equation], most: int) -> bool:
    """True for a few equations, of which none is a branch or a loop."""
    are_plain = all(may_repeat(e) and e.primitive.kind != "control" for e in equations)
    return are_plain and len(equations) <= most


def _same(value: Any, _: Any) -> Any:
    return value
