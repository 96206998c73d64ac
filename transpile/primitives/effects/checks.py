"""`check`: a predicate of the user that `checkify` makes a value of, and what it makes of loops,
branches and calls, whose regions have checks.

    rule(enabled, *operands, **params) -> (results, checks, number, values), or None without checks

A carry has the number and the values beside the user's; a branch gives zeros for the checks of the
others. A user's derivative rule is not checked: the function is, beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

import numpy as np

from transpile.errors import CheckError, InternalError
from transpile.ir.graph import Graph, Var
from transpile.ir.primitive import TABLE, Axis, Primitive, register
from transpile.ir.types import ArrayType
from transpile.primitives.control.graphs import split_list
from transpile.primitives.rules import bind_call, zeros
from transpile.trace.trace import bind
from transpile.transforms.checks import (
    INT32,
    Check,
    checked,
    failure_of,
    first_of,
    shifted,
    values_of,
)
from transpile.transforms.closed import Closed, apply, close
from transpile.util.frozen_records import dataclass

Enabled = frozenset[str]
Found = tuple[Sequence[Any], Sequence[Check], Any, Sequence[Any]]


@dataclass(frozen=True, eq=False)
class _Region:
    """A region with its checks: the graph that gives its results, the number and the values."""

    graph: Graph
    checks: tuple[Check, ...]
    results: int

    def __call__(self, values: Sequence[Any]) -> tuple[list[Any], Any, list[Any]]:
        """Append it to the active trace."""
        results, rest = split_list(apply(self.graph, values), self.results)
        return (results, rest[0], rest[1:]) if self.checks else (results, np.int32(0), [])


_regions: WeakKeyDictionary[Graph, dict[Enabled, _Region]] = WeakKeyDictionary()


def _region(graph: Graph, enabled: Enabled) -> _Region:
    known = _regions.setdefault(graph, {})
    if enabled not in known:
        closed, checks = checked(Closed(graph), enabled)
        known[enabled] = _Region(_alone(closed), checks, len(graph.outputs))
    return known[enabled]


def _alone(closed: Closed) -> Graph:
    if closed.captured:
        raise InternalError(f"{closed.graph.name} captures what its checks should be given")
    return closed.graph


def _graph(run: Callable[..., Sequence[Any]], inputs: Sequence[Var], like: Graph) -> Graph:
    """The graph of a function of values like these inputs."""
    own = [Var(v.type, v.name) for v in inputs]
    return _alone(close(run, own, name=like.name, source=like.source))


def _slots(checks: Sequence[Check]) -> list[Var]:
    """Inputs for a number and the values of checks."""
    return [Var(ArrayType((), INT32)), *(Var(kind) for c in checks for kind in c.kinds)]


def _empty(checks: Sequence[Check]) -> list[Any]:
    return [zeros(kind) for check in checks for kind in check.kinds]


def _merged(before: Sequence[Any], code: Any, values: Sequence[Any]) -> list[Any]:
    """The number and the values after an iteration: those of the first failure are kept."""
    kept = [np.where(before[0] != 0, x, y) for x, y in zip(before[1:], values, strict=True)]
    return [first_of(before[0], code), *kept]


# ------------------------------------------------------------------------------------ regions


def cond_checked(
    enabled: Enabled, index: Any, *operands: Any, branches: tuple[Graph, ...]
) -> Found | None:
    """A branch whose bodies give the number and the values of the checks of all."""
    parts = [_region(branch, enabled) for branch in branches]
    checks = [check for part in parts for check in part.checks]
    if not checks:
        return None
    graphs, offset = [], 0
    for branch, part in zip(branches, parts, strict=True):

        def run(*values: Any, part: _Region = part, offset: int = offset) -> list[Any]:
            results, code, shown = part(values)
            before, after = checks[:offset], checks[offset + len(part.checks) :]
            return [*results, shifted(code, offset), *_empty(before), *shown, *_empty(after)]

        graphs.append(_graph(run, branch.inputs, branch))
        offset += len(part.checks)
    given = bind_call(TABLE["cond"], index, *operands, branches=tuple(graphs))
    results, rest = split_list(given, len(branches[0].outputs))
    return results, checks, rest[0], rest[1:]


def while_checked(
    enabled: Enabled, *operands: Any, condition: Graph, body: Graph, consts: int
) -> Found | None:
    """The condition is checked before the loop, and in the body for the next iteration."""
    test, step = _region(condition, enabled), _region(body, enabled)
    checks = [*test.checks, *step.checks]
    if not checks:
        return None
    slots = _slots(checks)
    inputs = [*body.inputs[:consts], *slots, *body.inputs[consts:]]

    def asked(*values: Any) -> list[Any]:
        fixed, _, carry = split_list(values, consts, len(slots))
        return apply(condition, [*fixed, *carry])

    def iteration(*values: Any) -> list[Any]:
        fixed, before, carry = split_list(values, consts, len(slots))
        carry, code, shown = step([*fixed, *carry])
        _, tested, of_test = test([*fixed, *carry])
        number = first_of(shifted(code, len(test.checks)), tested)
        return [*_merged(before, number, [*of_test, *shown]), *carry]

    fixed, carry = split_list(operands, consts)
    _, code, shown = test(operands)
    given = bind_call(
        TABLE["while"],
        *fixed,
        *(code, *shown, *_empty(step.checks)),
        *carry,
        condition=_graph(asked, inputs, condition),
        body=_graph(iteration, inputs, body),
        consts=consts,
    )
    return given[len(slots) :], checks, given[0], given[1 : len(slots)]


def fori_checked(
    enabled: Enabled, lower: Any, upper: Any, *operands: Any, graph: Graph, consts: int
) -> Found | None:
    """A loop that carries the number and the values."""
    step = _region(graph, enabled)
    if not step.checks:
        return None
    slots, first = _slots(step.checks), 1 + consts

    def iteration(*values: Any) -> list[Any]:
        fixed, before, carry = split_list(values, first, len(slots))
        carry, code, shown = step([*fixed, *carry])
        return [*_merged(before, code, shown), *carry]

    fixed, carry = split_list(operands, consts)
    inputs = [*graph.inputs[:first], *slots, *graph.inputs[first:]]
    given = bind_call(
        TABLE["fori_loop"],
        lower,
        upper,
        *fixed,
        *(np.int32(0), *_empty(step.checks)),
        *carry,
        graph=_graph(iteration, inputs, graph),
        consts=consts,
    )
    return given[len(slots) :], step.checks, given[0], given[1 : len(slots)]


def scan_checked(
    enabled: Enabled,
    *operands: Any,
    graph: Graph,
    consts: int,
    carry: int,
    length: int,
    reverse: bool,
) -> Found | None:
    """A scan that carries the number and the values."""
    step = _region(graph, enabled)
    if not step.checks:
        return None
    slots = _slots(step.checks)

    def iteration(*values: Any) -> list[Any]:
        fixed, before, rest = split_list(values, consts, len(slots))
        results, code, shown = step([*fixed, *rest])
        return [*_merged(before, code, shown), *results]

    fixed, rest = split_list(operands, consts)
    inputs = [*graph.inputs[:consts], *slots, *graph.inputs[consts:]]
    given = bind_call(
        TABLE["scan"],
        *fixed,
        *(np.int32(0), *_empty(step.checks)),
        *rest,
        graph=_graph(iteration, inputs, graph),
        consts=consts,
        carry=carry + len(slots),
        length=length,
        reverse=reverse,
    )
    return given[len(slots) :], step.checks, given[0], given[1 : len(slots)]


# -------------------------------------------------------------------------------------- calls


def call_checked(
    name: str, wrapped: Callable[[dict[str, Any], _Region], dict[str, Any]]
) -> Callable[..., Found | None]:
    """The rule of a call, with a function that adapts its params to the further results."""

    def rule(enabled: Enabled, *operands: Any, graph: Graph, **params: Any) -> Found | None:
        region = _region(graph, enabled)
        if not region.checks:
            return None
        given = bind_call(TABLE[name], *operands, graph=region.graph, **wrapped(params, region))
        results, rest = split_list(given, region.results)
        return results, region.checks, rest[0], rest[1:]

    return rule


def as_it_is(params: dict[str, Any], _: _Region) -> dict[str, Any]:
    """The params of a call without a derivative rule."""
    return params


def _failures(region: _Region, operands: Sequence[Any]) -> list[Any]:
    """The number and the values of the checks of a call, beside a rule that gives the results."""
    given = bind_call(TABLE["named_call"], *operands, graph=region.graph)
    return given[region.results :]


@dataclass(frozen=True, eq=False)
class _CheckedJvp:
    rule: Callable[[Any, Any], tuple[list[Any], list[Any]]]
    region: _Region

    def __call__(self, operands: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
        results, moved = self.rule(operands, tangents)
        further = _failures(self.region, operands)
        return [*results, *further], [*moved, *[None] * len(further)]


@dataclass(frozen=True, eq=False)
class _CheckedVjp:
    rule: Any
    region: _Region

    def forward(self, operands: Any, active: Any) -> tuple[list[Any], list[Any], Any]:
        results, residuals, backward = self.rule.forward(operands, active)
        count = len(results)

        def without_checks(residuals: Any, cotangents: Any) -> Any:
            return backward(residuals, cotangents[:count])

        return [*results, *_failures(self.region, operands)], residuals, without_checks


def with_jvp(params: dict[str, Any], region: _Region) -> dict[str, Any]:
    """The params of a custom_jvp_call."""
    return {**params, "jvp": _CheckedJvp(params["jvp"], region)}


def with_vjp(params: dict[str, Any], region: _Region) -> dict[str, Any]:
    """The params of a custom_vjp_call."""
    return {**params, "vjp": _CheckedVjp(params["vjp"], region)}


# -------------------------------------------------------------------------------------- check


def _failed(number: Any, *values: Any, checks: tuple[Check, ...], debug: bool) -> list[Any]:
    if number != 0 and not debug:
        failure = failure_of(checks[int(number) - 1], values_of(checks, int(number), values))
        raise CheckError(str(failure)) from failure
    return []


def _enabled_check(
    enabled: Enabled, number: Any, *values: Any, checks: tuple[Check, ...], debug: bool
) -> Found:
    """The number, 0 for checks that are not enabled."""
    if not all(check.category in enabled for check in checks):
        numbers = [k + 1 if c.category in enabled else 0 for k, c in enumerate(checks)]
        chosen = [number == k for k in numbers if k]
        number = np.where(np.any(np.stack(chosen)), number, np.int32(0)) if chosen else np.int32(0)
    return [], checks, number, values


def _batch(
    axis: Axis, batched: Sequence[bool], number: Any, *values: Any, **params: Any
) -> tuple[list[Any], list[bool]]:
    """That of the first example that fails."""
    which = np.argmax(number != 0) if batched[0] else np.int64(0)
    chosen = (x[which] if b else x for x, b in zip((number, *values), batched, strict=True))
    bind(check, *chosen, **params)
    return [], []


def refuse_check(*_: Any, **__: Any) -> NoReturn:
    """Raise the ValueError for a check in a program."""
    raise ValueError(
        "Cannot abstractly evaluate a checkify.check which was not functionalized. This probably "
        "means you tried to stage (jit/scan/pmap/...) a `check` without functionalizing it through "
        "`checkify.checkify`."
    )


check = register(
    Primitive(
        "check",
        "check",
        _failed,
        lambda *_, checks, debug: (),
        effect=True,
        jvp=lambda tangents, results, *operands, **params: [],
        transpose=lambda _, *operands, **params: [None] * len(operands),
        batch=_batch,
        checked=_enabled_check,
    )
)
