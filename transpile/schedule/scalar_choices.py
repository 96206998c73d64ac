"""Choices in scalar code, in the form of which gcc makes the faster code.

    t = x < 0 ? 0.0 : x                 ->      t = x;  if (x < 0) t = 0.0;
    if (t > best[i]) best[i] = t;       ->      best[i] = t > best[i] ? t : best[i];
    if (x > y) { a[2 * i] = y; a[2 * i + 1] = x; }
                                        ->      less = x > y ? y : x;  more = x > y ? x : y;
                                                a[2 * i] = less;  a[2 * i + 1] = more;
    best = a[j] < a[best] ? j : best;   ->      if (a[j] < a[best]) best = j;
    t = k + (x[i] == word[k]);          ->      t = k;  if (x[i] == word[k]) t = k + 1;

A choice of a float or a constant goes through integer registers where it is one expression, which
takes longer than the arithmetic around it. A store under a condition keeps a loop out of vector
registers; where the element is read in any case, and each iteration has one of its own, storing
what was there does no harm. The same holds for several elements that no other iteration uses, as in
a network that sorts. Other loops keep the branch, which spares most stores of a search.
Where a search keeps the place of the best so far, that changes ever more rarely: behind a branch,
which is predicted, the load at that place does not wait for the comparison before. Nor does a
search wait for it that goes on where it was, or one element further, by what it compares there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND, SUBEXPRESSIONS_SHARED
from transpile.ir.dims import Index, Symbol, symbols_of, terms_of
from transpile.ir.loop_ir import (
    Apply,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Update,
)
from transpile.ir.loop_rewrite import (
    accesses,
    indices_in,
    loads,
    loads_of,
    map_bodies,
    names_in,
    parts,
    subexpressions,
    walk,
    with_bodies,
)
from transpile.ir.primitive import TABLE
from transpile.ir.types import BOOL
from transpile.options import Options
from transpile.schedule.cleanup.choices.late_operands import strict_extreme
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, same

Body = tuple[Statement, ...]
_Choice = tuple[Load, Expr, Expr]  # an element, what it is if a test holds, and if it does not
_MOST_OPERATIONS = 3  # of a value that is computed in any case
_MOST_STORES = 4  # in each iteration, in place of a branch


@contract(requires=(LANES_BOUND,), destroys=(SUBEXPRESSIONS_SHARED,))
def shape_choices(program: Program, options: Options) -> Program:
    """The program with such choices in its scalar code."""
    names = Names(names_in(program))
    return map_bodies(program, lambda body: _body(body, names))


def _body(body: Body, names: Names, is_of_loop: bool = False) -> Body:
    return same(body, tuple(_statements(body, names, is_of_loop)))


def _statements(body: Body, names: Names, is_of_loop: bool) -> Iterator[Statement]:
    for statement in body:
        if isinstance(statement, Update):
            statement = _record(statement, body, is_of_loop)
        if isinstance(statement, Update):
            statement = _moved(statement, body)
        match statement:
            case For(simd=True):
                yield statement
            case For():
                stored = _with_stores_in_any_case(statement, names)
                yield with_bodies(stored, lambda inner: _body(inner, names, True))
            case Declare(value=Apply(op="select", args=args), constant=True, symbol=None):
                yield from _by_branch(statement, *args)
            case Declare(value=Apply(op="add", args=(x, y)), constant=True, symbol=None):
                yield from _further(statement, x, y, body)
            case _:
                yield with_bodies(statement, lambda inner: _body(inner, names))


def _by_branch(statement: Declare, test: Expr, x: Expr, y: Expr) -> Iterable[Statement]:
    """The declaration of a choice between a float and a constant: the constant is assigned. An
    extreme is an instruction."""
    if strict_extreme(statement.value) is not None:
        return (statement,)
    target = Ref(statement.name, statement.dtype)
    match x, y:
        case (Literal(), Ref()) if statement.dtype.kind == "f":
            assigned = If(test, (Update(target, "set", x),))
            return changed(statement, value=y, constant=False), assigned
        case (Ref(), Literal()) if statement.dtype.kind == "f":
            opposite = Apply("logical_not", (test,), BOOL)
            assigned = If(opposite, (Update(target, "set", y),))
            return changed(statement, value=x, constant=False), assigned
    return (statement,)


def _record(update: Update, body: Body, is_of_loop: bool) -> Statement:
    """The update of the place of a record, at which the same body loads, by a branch. In each
    iteration of a counted loop, compilers cannot undo it: searches that end early are short, and
    many of their branches are not predicted."""
    match update:
        case Update(target=Ref() as place, op="set", value=Apply(op="select", args=(test, x, y))):
            other = x if y == place else y
            derived = _derived_from(place.name, body)
            if (
                place in (x, y)
                and derived.isdisjoint(_names_in(other))
                and any(
                    s.name in derived
                    for statement in walk(body)
                    for load in loads(statement)
                    for index in load.index
                    for s in symbols_of(index)
                )
            ):
                branch = test if y == place else Apply("logical_not", (test,), BOOL)
                value = _kept(other) if is_of_loop else other
                return If(branch, (changed(update, value=value),))
    return update


def _kept(value: Expr) -> Expr:
    """An integer that compilers do not compute in any case."""
    return Apply("behind_branch", (value,), value.dtype) if value.dtype.kind in "iu" else value


def _further(statement: Declare, x: Expr, y: Expr, body: Body) -> Iterable[Statement]:
    """The declaration of a place that is one further if an element there says so, by a branch."""
    for place, step in ((x, y), (y, x)):
        match place, step:
            case Ref(), Apply(op="convert_element_type", args=(test,)) if (
                test.dtype == BOOL and _is_found_at(place.name, test, body)
            ):
                target = Ref(statement.name, statement.dtype)
                moved = Update(target, "add", _one(statement.dtype), source=statement.source)
                return changed(statement, value=place, constant=False), If(test, (moved,))
    return (statement,)


def _moved(update: Update, body: Body) -> Statement:
    """The update of a place that moves by one if an element there says so, by a branch."""
    target, op, value = update.target, update.op, update.value
    if op == "set" and isinstance(value, Apply) and value.args[0] == target:
        op, value = value.op, value.args[-1]
    match target, value:
        case Ref(), Apply(op="convert_element_type", args=(test,)) if (
            _leaves_alone(op, target.dtype)
            and test.dtype == BOOL
            and _is_found_at(target.name, test, body)
        ):
            return If(test, (changed(update, op=op, value=_one(target.dtype)),))
    return update


def _leaves_alone(op: str, dtype: np.dtype[Any]) -> bool:
    """True for an update that changes nothing where its value is 0."""
    return op != "set" and dtype.kind == "i" and TABLE[op].neutral(dtype) == 0


def _one(dtype: np.dtype[Any]) -> Literal:
    return Literal(dtype.type(1), dtype)


def _is_found_at(place: str, test: Expr, body: Body) -> bool:
    """True if a truth comes from elements at subscripts that are computed of a scalar."""
    derived = _derived_from(place, body)
    found: set[str] = set()  # what such elements decide
    for value in [*(s.value for s in body if isinstance(s, Declare)), test]:
        is_found = not found.isdisjoint(_names_in(value)) or any(
            s.name in derived
            for load in loads_of(value)
            for index in load.index
            for s in symbols_of(index)
        )
        if value is test:
            return is_found
        if is_found:
            found.update(s.name for s in body if isinstance(s, Declare) and s.value is value)
    return False


def _derived_from(name: str, body: Body) -> set[str]:
    """A scalar, and the constants that are computed of it."""
    derived = {name}
    for statement in walk(body):
        if isinstance(statement, Declare) and not derived.isdisjoint(_names_in(statement.value)):
            derived.add(statement.name)
    return derived


def _names_in(value: Expr) -> set[str]:
    names = {part.name for part in subexpressions(value) if isinstance(part, Ref)}
    return names.union(s.name for i in indices_in(value) for s in symbols_of(i))


def _with_stores_in_any_case(loop: For, names: Names) -> For:
    """The loop, if all it does is to declare constants and store elements under a condition: one,
    or several of which no two iterations share any."""
    match loop.body[-1:]:
        case (If(condition=test) as branch,):
            before = loop.body[:-1]
        case _:
            return loop
    is_plain = loop.ordered and loop.limit is None and not loop.parallel
    if not is_plain or not all(isinstance(s, Declare) and s.symbol is None for s in before):
        return loop
    stores = _merged(branch)
    if not stores:
        return loop
    known = {load for s in before for load in loads_of(*parts(s))} | {*loads_of(test)}
    known |= {element for element, x, y in stores if element not in (x, y)}
    if not all(_is_known(store, known) for store in stores):
        return loop
    if len(stores) == 1:
        slopes = _slopes(loop, stores[0][0].buffer)
        if slopes is None or not any(slopes) or not all(s in (-1, 0, 1) for s in slopes):
            return loop
    elif not _are_apart(loop, stores):
        return loop
    if len(stores) > 1 and not isinstance(test, Ref):
        named = Declare(names.new("chosen"), test)
        before, test = (*before, named), Ref(named.name, BOOL)
    loaded = {s.value: Ref(s.name, s.dtype) for s in before if isinstance(s, Declare)}
    chosen = []
    for element, x, y in stores:
        arms = (loaded.get(v, v) if v == element else v for v in (x, y))
        value: Expr = Apply("select", (test, *arms), element.dtype)
        if len(stores) > 1:  # before all stores, as else compilers make one branch for them again
            stored = Declare(names.new("stored"), value)
            before, value = (*before, stored), Ref(stored.name, element.dtype)
        chosen.append(Store(element.buffer, element.index, value))
    return changed(loop, body=(*before, *chosen))


def _merged(branch: If) -> list[_Choice]:
    """The elements that the arms of a branch store, with what they are in either case, if all the
    arms do is to store them: each once, and where both do, in arrays of their own."""
    arms: list[dict[Load, Expr]] = []
    for arm in (branch.body, branch.orelse):
        stores = [s for s in arm if isinstance(s, Store)]
        arms.append({_element(s): s.value for s in stores})
        if len(arms[-1]) != len(arm):
            return []
    elements = list(dict.fromkeys((*arms[0], *arms[1])))
    if arms[1] and len({element.buffer for element in elements}) != len(elements):
        return []
    return [(e, arms[0].get(e, e), arms[1].get(e, e)) for e in elements]


def _element(store: Store) -> Load:
    return Load(store.buffer, store.index, store.value.dtype)


def _is_known(choice: _Choice, known: set[Load]) -> bool:
    """True if an iteration has read an element, and what it is to be, in any case."""
    element, *arms = choice
    operations = [p for arm in arms for p in subexpressions(arm) if isinstance(p, Apply)]
    return (
        element in known
        and known.issuperset(loads_of(*arms))
        and len(operations) <= _MOST_OPERATIONS
    )


def _are_apart(loop: For, choices: Sequence[_Choice]) -> bool:
    """True if no store of an iteration waits for one before: no two iterations use the same
    elements, and none is read behind a store to its array."""
    stored: set[str] = set()
    for element, *arms in choices:
        others = [load for arm in arms for load in loads_of(arm) if arm != element]
        if not stored.isdisjoint(load.buffer for load in others):
            return False
        stored.add(element.buffer)
    return len(choices) <= _MOST_STORES and all(_uses_own_elements(loop, b) for b in stored)


def _slopes(loop: For, buffer: str) -> tuple[int | None, ...] | None:
    """The multiples of the counter in the subscripts of a buffer, if all accesses agree in them:
    iterations that meet do so at a fixed distance."""
    slopes = {tuple(_slope(i, loop.symbol) for i in index) for index in _accessed(loop, buffer)}
    if len(slopes) != 1:
        return None
    (found,) = slopes
    return None if None in found else found


def _accessed(loop: For, buffer: str) -> list[tuple[Index, ...]]:
    return [i for s in walk(loop.body) for name, i in accesses(s) if name == buffer]


def _uses_own_elements(loop: For, buffer: str) -> bool:
    """True if each iteration uses elements of a buffer that no other one does."""
    slopes = _slopes(loop, buffer)
    if slopes is None or not any(slopes):
        return False
    for one, other in combinations(_accessed(loop, buffer), 2):
        distances = [y - x for x, y in zip(one, other, strict=True)]
        if all(d == 0 for d in distances):
            continue
        # An axis along which the counter does not step from one of the elements to the other.
        if not any(
            isinstance(d, int) and (d != 0 if not slope else d % slope != 0)
            for d, slope in zip(distances, slopes, strict=True)
        ):
            return False
    return True


def _slope(index: Index, own: Symbol) -> int | None:
    """The multiple of a counter in a subscript; None if it is none."""
    rest = {atom for monomial, _ in terms_of(index) if monomial != (own,) for atom in monomial}
    is_sum = own not in rest and all(isinstance(atom, Symbol) for atom in rest)
    return dict(terms_of(index)).get((own,), 0) if is_sum else None
