"""The variables of a loop: which of their leaves it carries, and how their types settle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile import errors, tree
from transpile.ir.dims import Dim
from transpile.ir.graph import Atom, Graph, Var
from transpile.ir.source_info import user_source
from transpile.ir.types import BOOL, INT64, PYTHON_SCALARS, ArrayType
from transpile.lax.control.bodies import merged
from transpile.numpy.core.promotion import convert
from transpile.primitives import axes
from transpile.python.objects.containers import Lent, check_names, lent_by_choice, lists_in
from transpile.python.objects.references import (
    NO_ARGUMENT,
    Object,
    Objects,
    Row,
    is_object,
    outer_of,
    row_of,
)
from transpile.python.semantics.branches import described
from transpile.python.semantics.regions import Region
from transpile.python.semantics.values import (
    Maybe,
    Unbound,
    array_type,
    is_array,
    joined,
    note_none,
)
from transpile.trace.trace import bind, constant
from transpile.trace.tracer import Tracer
from transpile.trace.views.lists import TracedList, flatten_lists
from transpile.trace.views.results import lies_in_rows
from transpile.util.interrupt_safety import THREAD

_TURNED = "a loop carries it, and it does not lie in rows before or behind each iteration"


class State:
    """The variables of a loop, and which of their leaves are carried.

    A variable that the body may only update in place (`x += y`) is the array itself, as long as no
    other object is assigned to it. One that has no value before the loop is zero, beside a flag. A
    row of an array is carried as the numbers that choose it, as long as it is one of that array.
    """

    def __init__(
        self,
        names: Sequence[str],
        is_updated: Sequence[bool],
        values: Sequence[Any],
        surely_begins: bool = False,
    ) -> None:
        self.names = names
        self.surely_begins = surely_begins
        self.types: list[ArrayType] = []
        self._given = list(zip(names, values, is_updated, strict=True))
        self._initial: list[Any] = []
        self._labels: list[str] = []
        self._without_rows: set[str] = set()
        self._results: Sequence[Any] = ()
        self._body: Callable[..., Any] = len  # until an iteration is traced
        self._turned: set[int] = set()
        self._copies: list[list[Lent]] = []
        self._begin()

    def _begin(self) -> None:
        for record in (self.types, self._initial, self._labels):
            record.clear()
        self._parts = [self._part(*given) for given in self._given]

    def _part(self, name: str, value: Any, is_updated: bool) -> Any:
        if type(value) is Unbound:
            return Unbound(value.name)
        if is_updated and (isinstance(value, TracedList) or is_object(value)):
            return _Same(value)
        if isinstance(value, TracedList) and not value.is_typed:
            return _Same(value)  # until an iteration says what is in it
        flag = None
        if type(value) is Maybe:
            flag = self._carry(value.is_bound, "")
            value = value.value
        leaves, structure = flatten_lists(value)
        return _Carried(structure, [self._slot(x, name) for x in leaves], flag, name=name)

    def _slot(self, value: Any, name: str) -> Any:
        row = None if name in self._without_rows else row_of(value)
        if row is not None:
            numbers = [k if isinstance(k, Tracer) else np.asarray(k) for k in row.numbers]
            return _Chosen(row, [self._carry(k, "") for k in numbers])
        return self._carry(value, name) if is_array(value) else _Static(value)

    def _carry(self, value: Any, name: str) -> int:
        self.types.append(array_type(value))
        self._initial.append(value)
        self._labels.append(name)
        return len(self.types) - 1

    @property
    def last(self) -> int:
        """The position of the last variable, a number."""
        (number,) = self._parts[-1].slots
        assert isinstance(number, int)  # of a number
        return number

    def leaf_names(self) -> list[str]:
        """The names of the variables that have the leaves."""
        return list(self._labels)

    def initial(self) -> list[Any]:
        """The leaves before the loop, in the types of the carry."""
        return [
            _of_type(value, kind) for value, kind in zip(self._initial, self.types, strict=True)
        ]

    def begun(self, leaves: Sequence[Any]) -> list[Any]:
        """The variables in the body, of leaves."""
        values = self.values(leaves)
        self._copies = [
            [Lent(x) for x in lists_in(_bound(value)) if all(map(is_array, x))] for value in values
        ]
        return values

    def values(self, leaves: Sequence[Any], behind: bool = False) -> list[Any]:
        """The variables, of leaves: in the body, or behind the loop."""
        values: list[Any] = []
        for part in self._parts:
            if type(part) is Unbound:
                values.append(part)
            elif type(part) is _Same:
                values.append(part.value)
            elif part.is_new and not behind:
                values.append(part.unbound)
            else:
                value = part.of(leaves)
                is_sure = part.flag is None or (behind and part.is_new and self.surely_begins)
                values.append(value if is_sure else Maybe(value, leaves[part.flag], part.name))
        return values

    def behind(self, leaves: Sequence[Any]) -> list[Any]:
        """The variables behind the loop. Lists and objects that are copies there are noted."""
        values = self.values(leaves, behind=True)
        last = list(map(_bound, self._results))
        first = last if self.surely_begins else [given for _, given, _ in self._given]
        for name, lent in lent_by_choice(self.names, values, (first, last), (self._body,)):
            THREAD.python.lent.append((f"{user_source()}: {name!r}", lent))
        return values

    def is_settled(self, body: Callable[..., Any], results: Sequence[Any], region: Region) -> bool:
        """Take what an iteration of this body gives; False where it is to be traced anew."""
        self._body = body
        if self.absorb(results, region) or self.is_turned():
            return False
        self._check_elements(results)
        return True

    def _check_elements(self, results: Sequence[Any]) -> None:
        """Raise CarryError where an iteration changes a list that an earlier one may have made an
        element of another list: what the variable is then is a copy."""
        for name, (_, given, _), before in zip(self.names, self._given, self._copies, strict=True):
            check_names(name, _bound(given), before)
        elements = {id(lent.value) for _, lent in THREAD.python.lent}
        for name, before, result in zip(self.names, self._copies, results, strict=True):
            lists = [*before, *lists_in(_bound(result))]
            if any(id(x.value if type(x) is Lent else x) in elements for x in lists) and any(
                lent.is_changed() for lent in before
            ):
                raise _kept(name)

    def absorb(self, results: Sequence[Any], region: Region) -> bool:
        """Take what an iteration gives; True where the carry changes, so that it is to be traced
        anew."""
        changed = False
        self._results = results
        for number, (part, result) in enumerate(zip(self._parts, results, strict=True)):
            if type(part) is _Same:
                if result is not part.value:
                    THREAD.python.unite(part.value, _bound(result))
                    self._parts[number] = self._part(self.names[number], part.value, False)
                    changed = True
            elif type(part) is Unbound:
                if type(result) is not Unbound:
                    changed |= self._bind(number, part, result, region)
            elif part.is_new:
                changed |= self._joins(part, result)
            else:
                if self._ceases_to_be_row(part, result):
                    self._without_rows.add(part.name)
                    self._begin()
                    return True
                changed |= self._widen(number, part, result)
        return changed

    def _ceases_to_be_row(self, part: _Carried, result: Any) -> bool:
        if not any(isinstance(slot, _Chosen) for slot in part.slots):
            return False
        leaves, structure = flatten_lists(result.value if type(result) is Maybe else result)
        return structure != part.structure or any(
            isinstance(slot, _Chosen) and not slot.row.is_like(outer_of(leaf))
            for slot, leaf in zip(part.slots, leaves, strict=True)
        )

    def _bind(self, number: int, unbound: Unbound, result: Any, region: Region) -> bool:
        """A variable that the body binds first; True where an iteration may ask for the value that
        an earlier one has given it."""
        given = self._given[number][1]
        if not self.surely_begins or type(result) is Maybe:
            given.is_used = True  # where nothing binds it, it has the value of before
        name = self.names[number]
        value = result.value if type(result) is Maybe else result
        leaves, structure = flatten_lists(value)
        slots: list[Any] = []
        for leaf in leaves:
            row = None if name in self._without_rows else outer_of(leaf)
            if row is not None and row.root[0] is not region.trace:
                numbers = [self._add(ArrayType((), INT64), "", region) for _ in row.numbers]
                slots.append(_Chosen(row, numbers))
            elif is_array(leaf):
                slots.append(self._add(array_type(leaf), name, region))
            else:
                slots.append(_Static(leaf))
        flag = self._add(ArrayType((), BOOL), "", region)
        self._initial[flag] = np.bool_(False)
        is_asked_for = unbound.is_used or type(result) is Maybe
        before = None if is_asked_for else unbound
        self._parts[number] = _Carried(structure, slots, flag, unbound=before, name=name)
        return is_asked_for

    def _add(self, kind: ArrayType, name: str, region: Region) -> int:
        self.types.append(kind)
        self._initial.append(None)
        self._labels.append(name)
        region.trace.inputs.append(Var(kind, name))
        return len(self.types) - 1

    def _widen(self, number: int, part: _Carried, result: Any) -> bool:
        name = self.names[number]
        if type(result) is Unbound:
            raise _unsettled(name, "a value", "none")
        if type(result) is Maybe and part.flag is None:
            part.flag = self._carry(np.bool_(True), "")
            return True
        given = _bound(self._given[number][1])
        if type(given) is Unbound:
            given = part.structure.unflatten(list(map(self._before, part.slots)))
        THREAD.python.unite(given, _bound(result))
        leaves, structure = flatten_lists(_bound(result))
        if structure != part.structure:
            before = part.structure.unflatten(list(map(self._before, part.slots)))
            note_none(before, _bound(result))
            raise _unsettled(name, described(before), described(result))
        changed = False
        for slot, leaf in zip(part.slots, leaves, strict=True):
            if isinstance(slot, _Chosen):
                continue
            if isinstance(slot, _Static):
                if is_array(leaf) or not (leaf is slot.value or leaf == slot.value):
                    note_none(slot.value, leaf)
                    raise _unsettled(name, described(slot.value), described(leaf))
                continue
            kind = joined(self.types[slot], array_type(leaf)) if is_array(leaf) else None
            if kind is None:
                raise _unsettled(name, described(self._initial[slot]), described(leaf))
            changed |= kind != self.types[slot]
            self.types[slot] = kind
        return changed

    def _joins(self, part: _Carried, result: Any) -> bool:
        """Widen what the body binds first: another variable, of which it is made, may be wider than
        in the first iteration. It is carried from one iteration to the next where a path asks for
        it that was not traced before, as an exception ended it."""
        if part.unbound is not None and (part.unbound.is_used or type(result) is Maybe):
            part.unbound = None
            return True
        leaves, structure = flatten_lists(result.value if type(result) is Maybe else result)
        if structure != part.structure:
            return False
        changed = False
        for slot, leaf in zip(part.slots, leaves, strict=True):
            if isinstance(slot, int) and is_array(leaf):
                kind = joined(self.types[slot], array_type(leaf))
                if kind is not None and kind != self.types[slot]:
                    self.types[slot] = kind
                    changed = True
        return changed

    def _before(self, slot: Any) -> Any:
        """A leaf before the loop."""
        if isinstance(slot, int):
            value = self._initial[slot]
            return _of_type(value, self.types[slot]) if value is None else value
        return slot.row.at(slot.row.numbers) if isinstance(slot, _Chosen) else slot.value

    def objects(self) -> list[Object]:
        """The arrays that it carries as they are."""
        objects = []
        for part, result in zip(self._parts, self._results, strict=True):
            if type(part) is not _Carried:
                continue
            value = result.value if type(result) is Maybe else result
            for slot, leaf in zip(part.slots, flatten_lists(value)[0], strict=True):
                if isinstance(slot, int) and self.types[slot].ndim:
                    objects.append(Object(slot, part.name, self._initial[slot], leaf))
        return objects

    def note_orders(self, region: Region, carry: Sequence[Tracer]) -> None:
        """Record in a region which of the carry may lie otherwise than in rows."""
        for number, (value, parameter) in enumerate(zip(self._initial, carry, strict=True)):
            if number in self._turned or not lies_in_rows(value):
                region.trace.layouts.unknown[parameter.original] = _TURNED

    def is_turned(self) -> bool:
        """True if an iteration gives arrays that do not lie in rows, as they did before: it is to
        be traced anew."""
        turned = {o.number for o in self.objects() if not lies_in_rows(o.result)}
        is_new = any(lies_in_rows(self._initial[number]) for number in turned - self._turned)
        self._turned |= turned
        return is_new

    def outputs(self, region: Region) -> list[Any]:
        """The carry behind an iteration."""
        outputs: list[Any] = [None] * len(self.types)
        for part, result in zip(self._parts, self._results, strict=True):
            if type(part) is not _Carried:
                continue
            value = result.value if type(result) is Maybe else result
            if part.flag is not None:
                is_bound = result.is_bound if type(result) is Maybe else np.bool_(True)
                outputs[part.flag] = region.atom(is_bound)
            for slot, leaf in zip(part.slots, flatten_lists(value)[0], strict=True):
                if isinstance(slot, int):
                    outputs[slot] = region.atom(leaf, self.types[slot])
                elif isinstance(slot, _Chosen):
                    row = outer_of(leaf)
                    assert row is not None  # or it would have ceased to be carried as one
                    for number, k in zip(slot.numbers, row.numbers, strict=True):
                        outputs[number] = region.atom(k, self.types[number])
        return outputs


class AssigningError(BaseException):
    """The condition of a loop assigns to an array."""

    def refused(self) -> Exception:
        """What to raise where nothing can be done about it."""
        source = user_source()
        return errors.UnsupportedError(
            f"{source}: the condition of `{source.text}` assigns to an array, and a derivative "
            f"goes back through the loop. Assign in the body of the loop."
        )


class Regions:
    """The regions of a loop that asks before each iteration, and what they assign to."""

    def __init__(self, state: State, region: Region, test: Region, holds: Atom) -> None:
        self.state, self.region, self.test, self.holds = state, region, test, holds
        self.outputs = state.outputs(region)
        self.assigned = assigned = region.assigned()
        self.objects = Objects(state.objects(), region, region.trace.inputs)
        self.objects.check(assigned.values())
        if test.assigned():
            raise AssigningError
        self.outputs += [region.final(var, tracer) for var, tracer in assigned.items()]

    def initial(self) -> list[Any]:
        """The carry before the loop."""
        return [*self.state.initial(), *self.assigned.values()]

    def graphs(self) -> tuple[list[Graph], list[Any]]:
        """Those of condition and body, and what both capture."""
        bodies = []
        for each, results in ((self.test, [self.holds]), (self.region, self.outputs)):
            each.settle_views(self.assigned)
            carry = [*each.trace.inputs]
            carry += [each.captured(var, tracer) for var, tracer in self.assigned.items()]
            bodies.append(each.body(results, carry))
        return merged(bodies)


class _Same:
    """A variable that stays the array, or the list, that it is."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Static:
    """A leaf that is no array, and never changes."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Chosen:
    """A leaf that is a row of an array: one of the kind, and the positions of its numbers."""

    def __init__(self, row: Row, numbers: list[int]) -> None:
        self.row = row
        self.numbers = numbers


class _Carried:
    """A variable that is carried: the positions of its leaves, and that of the flag whether it has
    a value; `unbound` is what it is before each iteration, where nothing asks for that."""

    def __init__(
        self,
        structure: tree.TreeDef,
        slots: list[Any],
        flag: int | None,
        *,
        unbound: Unbound | None = None,
        name: str,
    ) -> None:
        self.structure = structure
        self.slots = slots
        self.flag = flag
        self.unbound = unbound
        self.name = name

    @property
    def is_new(self) -> bool:
        """True where each iteration binds it before it is read."""
        return self.unbound is not None

    def of(self, leaves: Sequence[Any]) -> Any:
        """The value, of the leaves of all variables."""
        return self.structure.unflatten([self._leaf(slot, leaves) for slot in self.slots])

    def _leaf(self, slot: Any, leaves: Sequence[Any]) -> Any:
        if isinstance(slot, _Chosen):
            return slot.row.at([leaves[k] for k in slot.numbers])
        return leaves[slot] if isinstance(slot, int) else slot.value


def _of_type(value: Any, kind: ArrayType) -> Any:
    """A leaf before the loop, in the type of the carry."""
    if isinstance(value, Dim):
        value = value.as_value()
    if value is None:
        zero = np.zeros((), kind.dtype)
        if not kind.shape:
            return constant(zero)
        return bind(axes.broadcast_in_dim, zero, shape=kind.shape, broadcast_dimensions=())
    if type(value) in PYTHON_SCALARS and kind.weak:
        return constant(type(np.zeros((), kind.dtype).item())(value))
    if isinstance(value, Tracer):
        return value if value.dtype == kind.dtype else convert(value, kind.dtype)
    return constant(np.asarray(value, kind.dtype))


def _unsettled(name: str, before: str, after: str) -> Exception:
    source = user_source()
    return errors.CarryError(
        f"{source}: {name!r} is {before} before an iteration of `{source.text}`, and {after} "
        f"behind it. What a loop changes keeps its shape and its structure; give it the shape that "
        f"it ends with before the loop, or collect rows in a list: rows.append(row.copy())."
    )


def _bound(value: Any) -> Any:
    """A value, whether a variable surely has it or not."""
    return value.value if type(value) is Maybe else value


def _kept(name: str) -> errors.CarryError:
    source = user_source()
    problem = errors.CarryError(
        f"{source}: an iteration of `{source.text}` changes {name!r}, which is an element of "
        f"another list since an iteration before. Let that one have a copy: "
        f"values.append({name}.copy())."
    )
    errors.blame(problem, NO_ARGUMENT)
    return problem
