"""`if`, and conditional expressions."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import partial
from typing import Any

import numpy as np

from transpile import errors, tree
from transpile.ir.graph import Equation, Var
from transpile.ir.source_info import user_source
from transpile.ir.types import BOOL, INT64, PYTHON_SCALARS, ArrayType
from transpile.lax.control.branches import bind_cond
from transpile.numpy.subscripts.assignment import replace_value
from transpile.primitives.effects.failures import fail
from transpile.python.growing import growth
from transpile.python.objects.attributes import Attribute, Attributes, unlike_ones
from transpile.python.objects.containers import (
    CHANGEABLE,
    Lent,
    in_both,
    inside,
    lent_by_choice,
    there_before,
    unchanging,
)
from transpile.python.objects.known_arrays import handing
from transpile.python.objects.references import (
    Row,
    check_copies,
    is_object,
    leave,
    outer_of,
    row_of,
    share_among,
    share_with,
)
from transpile.python.semantics.bounds import within
from transpile.python.semantics.exceptions import decided, ending
from transpile.python.semantics.regions import Region
from transpile.python.semantics.values import (
    EndedError,
    Maybe,
    Unbound,
    array_type,
    is_array,
    joined,
    note_none,
    record,
    truth,
)
from transpile.trace.call_signature import type_text
from transpile.trace.trace import the_trace
from transpile.trace.tracer import Tracer
from transpile.trace.views.lists import flatten_lists
from transpile.util.interrupt_safety import THREAD

Later = Callable[[], Any]
_NUMBER = ArrayType((), INT64)


def if_(
    test: Any,
    then: Callable[..., tuple[Any, ...]],
    otherwise: Callable[..., tuple[Any, ...]],
    names: tuple[str, ...],
    values: tuple[Any, ...],
) -> tuple[Any, ...]:
    """An `if` statement: the values of the variables behind it.

    names   of the variables that it binds; with a `+` those that only `x += y` does
    values  before it
    """
    holds = truth(test)
    met("if", holds)
    if not isinstance(holds, Tracer):
        return (then if holds else otherwise)(*values)
    plain = tuple(name.lstrip("+") for name in names)
    return _traced(holds, [handing(f, plain, values) for f in (then, otherwise)], plain)


def met(kind: str, holds: Any) -> None:
    """Record what a branch becomes."""
    if isinstance(holds, Tracer):
        record(kind, "a branch of the program, as its condition is traced")
    else:
        record(kind, f"no branch of the program: it is {bool(holds)} while tracing")


def choose(test: Any, then: Later, otherwise: Later) -> Any:
    """A conditional expression."""
    holds = truth(test)
    met("choose", holds)
    if not isinstance(holds, Tracer):
        return then() if holds else otherwise()
    branches = lambda: (then(),), lambda: (otherwise(),)
    return _traced(holds, branches, ["the expression"])[0]


def _traced(holds: Tracer, branches: Sequence[Later], names: Sequence[str]) -> tuple[Any, ...]:
    """The values behind two branches, the first one for true; of one that an exception ends,
    nothing comes."""
    source = user_source()
    site = source.file, source.line, tuple(names)
    try:
        return within(site, branches, partial(_chosen_of, holds, branches, names))
    except (errors.BranchError, errors.CarryError) as error:
        raise decided(error, holds) from None


def known_to_hold(condition: Any, holds: bool, branch: Later) -> Any:
    """The result of a branch, in which it is known whether a condition holds."""
    conditions = THREAD.python.conditions
    conditions.append((condition, holds))
    try:
        return branch()
    finally:
        conditions.pop()


def _chosen_of(holds: Tracer, branches: Sequence[Later], names: Sequence[str]) -> tuple[Any, ...]:
    regions = Region("then"), Region("otherwise")
    attributes = Attributes(branches)
    results: list[Any] = []
    copies: list[Any] = []
    ends: list[EndedError] = []
    changes: list[dict[Any, Any]] = []
    changed: dict[Any, Attribute] = {}
    for region, branch in zip(regions, branches, strict=True):
        run = partial(known_to_hold, holds, region is regions[0], partial(ending, branch))
        try:
            results.append(unchanging(partial(region.run, run), branch))
            copies.append(attributes.copied(results[-1]))
            changed |= {a.key: a for a in attributes.changed()}
            changes.append({a.key: a.get() for a in attributes.changed()})
        except EndedError as ended:
            results.append(None)
            changes.append({})
            ends.append(ended)
        finally:
            attributes.restore()
    names = [*names, *(a.label for a in changed.values())]

    def behind(own: Sequence[Any]) -> list[list[Any]]:
        return [
            [_Never] * len(names)
            if result is None
            else [*result, *(change.get(key, a.get()) for key, a in changed.items())]
            for result, change in zip(own, changes, strict=True)
        ]

    alike = behind(results if ends else unlike_ones(results, copies))
    values = _chosen(holds, regions, alike, names, branches)
    lent = lent_by_choice(names, values, behind(results), branches)
    if len(ends) == len(regions):
        raise ends[0]
    count = len(names) - len(changed)
    for attribute, value in zip(changed.values(), values[count:], strict=True):
        attribute.set(value)
    _lend(lent, results)
    return values[:count]


def _lend(lent: Sequence[tuple[str, Lent]], results: Sequence[Any]) -> None:
    """Note what stands for lists and objects from before the branches: of the results themselves,
    each path has them as they are behind it."""
    given = {id(x) for result in results if result is not None for x in result}
    for name, value in lent:
        kept = Lent(value.value) if id(value.value) in given else value
        THREAD.python.lent.append((f"{user_source()}: {name!r}", kept))


# ------------------------------------------------------------------------------------ two results


class _Columns:
    """Pairs of traced values, one of each region, and the type that both have.

    before  the ids of lists and objects that were there before both
    """

    def __init__(self) -> None:
        self.before: Container[int] = ()
        self.pairs: list[tuple[Any, Any]] = []
        self.types: list[ArrayType] = []

    def add(self, one: Any, other: Any, kind: ArrayType) -> Callable[[Sequence[Any]], Any]:
        """A function of the results that gives the one of this pair."""
        number = len(self.pairs)
        self.pairs.append((one, other))
        self.types.append(kind)
        return lambda results: results[number]


class _Zeros:
    """Stands for the value of a variable that a path does not bind."""


class _Never:
    """Stands for the values behind a path that ends the program."""


def _chosen(
    holds: Tracer,
    regions: Sequence[Region],
    results: Sequence[Sequence[Any]],
    names: Sequence[str],
    branches: Sequence[Later],
) -> tuple[Any, ...]:
    """The values behind two regions, of which one runs. The first is for true."""
    columns = _Columns()
    if any(isinstance(x, CHANGEABLE) for result in results for x in inside(list(result))):
        columns.before = there_before(branches)
    ended = [any(map(_ends, region.trace.equations)) for region in regions]
    if any(ended) and not all(ended):
        results = [[_Never] * len(names) if e else r for e, r in zip(ended, results, strict=True)]
        # Arrays that the other path has made are there behind it as they are, not as results.
        the_trace().made |= regions[ended.index(False)].trace.made
    triples = zip(names, *results, strict=True)
    parts = [_merged(name, one, other, columns) for name, one, other in triples]
    assigned: dict[Var, Tracer] = {}
    for region in regions:
        assigned |= region.assigned()
    check_copies([region.trace for region in regions], assigned.values())
    bodies = []
    for number, region in enumerate(regions):
        outputs = [
            region.zeros(kind) if pair[number] is _Zeros else region.atom(pair[number], kind)
            for pair, kind in zip(columns.pairs, columns.types, strict=True)
        ]
        outputs += [region.final(var, tracer) for var, tracer in assigned.items()]
        region.settle_views(assigned)
        bodies.append(region.body(outputs, []))
    growth.chosen([r.trace for r, e in zip(regions, ended, strict=True) if not e])
    since = len(the_trace().equations)
    values = bind_cond(holds, bodies[::-1], [])
    for tracer, value in zip(assigned.values(), values[len(columns.pairs) :], strict=True):
        replace_value(tracer, value, since)
    chosen = [as_result(value, "") for value in values]
    _note_shared(holds, regions, columns, chosen)
    return tuple(part(chosen) for part in parts)


def _note_shared(
    holds: Tracer, regions: Sequence[Region], columns: _Columns, chosen: Sequence[Any]
) -> None:
    """Record which arrays the results are, for what is assigned to them later."""
    for number, region in enumerate(regions):
        leave(region.trace)
        here = [
            (result, pair[number])
            for result, pair in zip(chosen, columns.pairs, strict=False)
            if is_object(result) and pair[number] is not _Zeros
        ]
        if here:
            condition = np.logical_not(holds) if number else holds
            for result, value in here:
                share_with(result, value, region.trace, condition)
            share_among(here, region.trace, condition)


def _ends(equation: Equation) -> bool:
    """True if the program ends here whatever the values are."""
    if equation.primitive.name == "cond":
        return all(any(map(_ends, body.equations)) for body in equation.params["branches"])
    return equation.primitive is fail


def as_result(value: Any, name: str) -> Any:
    """A result of control flow as a value of Python's."""
    if isinstance(value, Tracer):
        if name and not value.variable.name:
            value.variable.name = name
        return Tracer(value.owner, value.variable)
    return value.value.item() if value.type.weak else value.value


def _merged(name: str, one: Any, other: Any, columns: _Columns) -> Callable[[Any], Any]:
    """How the value of a variable is made of the results."""
    if one is other or (type(one) is Unbound and type(other) is Unbound):
        return lambda _: one
    for value in (one, other):
        if type(value) is Unbound:
            value.is_used = True
    if one is _Never or other is _Never:
        return _only(name, other if one is _Never else one, other is _Never, columns)
    flags = [_flag(x) for x in (one, other)]
    values = [x.value if type(x) is Maybe else x for x in (one, other)]
    if type(one) is Unbound or type(other) is Unbound:
        known = values[type(one) is Unbound]
        leaves, structure = flatten_lists(known, whole=in_both(known, None, columns.before))
        pairs = [(x, _Zeros) if type(other) is Unbound else (_Zeros, x) for x in leaves]
    else:
        THREAD.python.unite(*values)
        whole = in_both(values[0], values[1], columns.before)
        leaves, structure = flatten_lists(values[0], whole=whole)
        others, structure_2 = flatten_lists(values[1], whole=whole)
        if structure != structure_2:
            raise _differing(name, structure.unflatten(leaves), structure_2.unflatten(others))
        pairs = list(zip(leaves, others, strict=True))
    parts = [_leaf(name, one, other, columns) for one, other in pairs]
    flag = None
    if flags[0] is not True or flags[1] is not True:
        flag = columns.add(flags[0], flags[1], ArrayType((), BOOL))
    return lambda results: _rebuilt(name, structure, parts, flag, results)


def _only(name: str, value: Any, is_first: bool, columns: _Columns) -> Callable[[Any], Any]:
    """The value of a variable behind two paths, of which only one goes on."""
    if type(value) is Unbound:
        return lambda _: value
    known = value.value if type(value) is Maybe else value
    leaves, structure = flatten_lists(known, whole=in_both(known, None, columns.before))
    flags = [value.is_bound] if type(value) is Maybe else []
    parts: list[Callable[[Any], Any]] = []
    for leaf in [*leaves, *flags]:
        if isinstance(leaf, Tracer) and not leaf.owner.active:  # of the path itself
            one, other = (leaf, _Zeros) if is_first else (_Zeros, leaf)
            parts.append(columns.add(one, other, leaf.type))
        else:
            parts.append(partial(_same, leaf))
    flag = parts.pop() if flags else None
    return lambda results: _rebuilt(name, structure, parts, flag, results)


def _same(value: Any, _: Any) -> Any:
    return value


def _flag(value: Any) -> Any:
    return value.is_bound if type(value) is Maybe else type(value) is not Unbound


def _rebuilt(name: str, structure: tree.TreeDef, parts: Any, flag: Any, results: Any) -> Any:
    value = structure.unflatten([part(results) for part in parts])
    return value if flag is None else Maybe(value, flag(results), name)


def _leaf(name: str, one: Any, other: Any, columns: _Columns) -> Callable[[Any], Any]:
    if one is other or _is_same(one, other):
        return lambda _: one
    row = row_of(one)
    if row is not None and row.is_like(other_row := row_of(other)):
        return _row(row, other_row, columns)
    known = other if one is _Zeros else one
    if one is _Zeros or other is _Zeros:
        outer = outer_of(known)
        if outer is not None:
            numbers = [
                columns.add(k, _Zeros, _NUMBER)
                if other is _Zeros
                else columns.add(_Zeros, k, _NUMBER)
                for k in outer.numbers
            ]
            return lambda results: outer.at([number(results) for number in numbers])
        if not is_array(known):
            return lambda _: known
        return columns.add(one, other, array_type(known))
    if is_array(one) and is_array(other):
        if type(one) is type(other) and type(one) in PYTHON_SCALARS and repr(one) == repr(other):
            return lambda _: one
        kind = joined(array_type(one), array_type(other))
        if kind is not None:
            return columns.add(one, other, kind)
    elif not is_array(one) and not is_array(other) and type(one) is type(other) and one == other:
        return lambda _: one
    raise _differing(name, one, other)


def _is_same(one: Any, other: Any) -> bool:
    """True for one array that is there before both paths."""
    if not isinstance(one, Tracer) or not isinstance(other, Tracer):
        return False
    return one.owner is other.owner and one.original is other.original


def _row(row: Row, other: Any, columns: _Columns) -> Callable[[Any], Any]:
    """A view, at the numbers of the path that is taken."""
    parts = [
        columns.add(one, two, _NUMBER) for one, two in zip(row.numbers, other.numbers, strict=True)
    ]
    return lambda results: row.at([part(results) for part in parts])


def _differing(name: str, one: Any, other: Any) -> Exception:
    shown = " and ".join(f"{described(x)}" for x in (one, other))
    what = f"{name!r}" if name.isidentifier() else name
    note_none(one, other)
    return errors.BranchError(
        f"{user_source()}: {what} would be {shown}, as a traced value decides at "
        f"`{user_source().text}`. Both need one shape, or the same value."
    )


def described(value: Any) -> str:
    """A value, as messages about variables say it: the type of an array and its line, or itself."""
    if isinstance(value, Tracer):
        equation = value.owner.producers.get(value.variable)
        line = f" of line {equation.source.line}" if equation is not None else ""
        return f"{type_text(value.type)}{line}"
    return type_text(array_type(value)) if is_array(value) else repr(value)
