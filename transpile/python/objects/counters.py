"""How often a `while` has iterations at most, where its condition compares a counter with a number.

while k < 50 and error > tolerance:    # 50 times at most, if k is 0 before, and each iteration
    ...                                # adds 1 to it, whichever way it takes
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from transpile.ir.graph import Atom, Const, Equation, Graph, Var

Limits = tuple[Any, Any]  # the least and the greatest value, where they are known


def most_iterations(
    condition: Graph, body: Graph, consts: int, operands: Sequence[Limits]
) -> int | None:
    """The number of iterations that a loop has at most; None where no counter says one. `operands`
    are the limits of the constants, and of the carry before the loop."""
    given = dict(zip(condition.inputs, operands, strict=True))
    found = []
    further: dict[Atom, tuple[int, int]] = {}
    for less, more, extra in _bounds_of(condition):
        for counter, limit, sign in ((less, more, 1), (more, less, -1)):
            if limit in condition.inputs[consts:] and _change(condition, body, consts, limit) != 0:
                continue
            begin, end = _limits(given, counter), _limits(given, limit)
            first, last = (begin[0], end[1]) if sign > 0 else (end[0], begin[1])
            if not isinstance(first, int) or not isinstance(last, int):
                continue
            distance = max(last - first + extra, 0)
            change = _change(condition, body, consts, counter)
            if change is not None and change * sign > 0:
                found.append(-(-distance // abs(change)))
            elif _is_counter(condition, consts, counter):
                further[counter] = sign, distance
    least = _least_change(condition, body, consts, {c: sign for c, (sign, _) in further.items()})
    if least:
        found.append(sum(distance for _, distance in further.values()))
    return min(found, default=None)


def _least_change(condition: Graph, body: Graph, consts: int, signs: dict[Atom, int]) -> int | None:
    """How much nearer to their limits counters come together in each iteration, at least; None
    where one may come to be farther away, or nobody knows."""
    places = {counter: condition.inputs.index(counter) for counter in signs}
    known = {body.inputs[place]: 0 for place in places.values()}
    return least_change(
        body, [(body.outputs[places[c] - consts], s) for c, s in signs.items()], known
    )


def least_change(
    graph: Graph, counters: list[tuple[Atom, int]], known: dict[Var, int]
) -> int | None:
    """The least sum of what these are more than before, whichever way is taken."""
    total = 0
    chosen: dict[Var, tuple[Equation, list[tuple[int, int]]]] = {}
    for atom, sign in counters:
        change = _added(graph, atom, known)
        if change is not None and change * sign >= 0:
            total += change * sign
            continue
        equation = next((e for e in graph.equations if atom in e.outputs), None)
        if change is not None or equation is None or equation.primitive.name != "cond":
            return None
        outputs = chosen.setdefault(equation.outputs[0], (equation, []))[1]
        outputs.append((equation.outputs.index(atom), sign))
    for equation, outputs in chosen.values():
        given = [(k, _added(graph, a, known)) for k, a in enumerate(equation.inputs[1:])]
        ways = [
            least_change(
                branch,
                [(branch.outputs[number], sign) for number, sign in outputs],
                {branch.inputs[k]: x for k, x in given if x is not None},
            )
            for branch in equation.params["branches"]
        ]
        if any(way is None for way in ways):
            return None
        total += min(way for way in ways if way is not None)
    return total


def _is_counter(condition: Graph, consts: int, atom: Atom) -> bool:
    return atom in condition.inputs[consts:] and atom.type.dtype.kind in "iu"


def _bounds_of(condition: Graph) -> Iterator[tuple[Atom, Atom, int]]:
    """Pairs of which the first one is less in each iteration than the second one and the third."""
    producers = {v: e for e in condition.equations for v in e.outputs}
    stack = [*condition.outputs]
    while stack:
        equation = producers.get(stack.pop())  # type: ignore[arg-type]  # constants have none
        if equation is None:
            continue
        primitive, inputs = equation.primitive, equation.inputs
        if "logical_and" in (primitive.name, primitive.of_bools):
            stack += inputs
        elif {*primitive.signs} & {-1, 1} and {-1, 1} - {*primitive.signs}:
            one, other = (_plain(producers, x) for x in inputs)
            extra = int(0 in primitive.signs)
            yield (one, other, extra) if -1 in primitive.signs else (other, one, extra)


def _plain(producers: dict[Var, Equation], atom: Atom) -> Atom:
    """A number before conversions between integers."""
    while (equation := producers.get(atom)) is not None:  # type: ignore[arg-type]  # as above
        source = equation.inputs[0] if equation.inputs else atom
        if equation.primitive.name != "convert_element_type" or source.type.dtype.kind not in "iu":
            break
        atom = source
    return atom


def _limits(given: dict[Var, Limits], atom: Atom) -> Limits:
    if isinstance(atom, Const):
        is_integer = atom.value.dtype.kind in "iu" and not atom.value.ndim
        return (int(atom.value), int(atom.value)) if is_integer else (None, None)
    return given.get(atom, (None, None))


def _change(condition: Graph, body: Graph, consts: int, counter: Atom) -> int | None:
    """What an iteration adds to a number of the carry, whichever way it takes."""
    if counter not in condition.inputs[consts:] or counter.type.dtype.kind not in "iu":
        return None
    position = condition.inputs.index(counter)
    return _added(body, body.outputs[position - consts], {body.inputs[position]: 0})


def _added(graph: Graph, atom: Atom, known: dict[Var, int]) -> int | None:
    """What a value is more than the one that is known."""
    if isinstance(atom, Var) and atom in known:
        return known[atom]
    equation = next((e for e in graph.equations if atom in e.outputs), None)
    if equation is None:
        return None
    match equation.primitive.name, equation.inputs:
        case "convert_element_type", (source,) if source.type.dtype.kind in "iu":
            return _added(graph, source, known)
        case "add", (one, Const() as more) | (Const() as more, one) if not more.type.shape:
            before = _added(graph, one, known)
            return None if before is None else before + int(more.value)
        case "subtract", (one, Const() as less) if not less.type.shape:
            before = _added(graph, one, known)
            return None if before is None else before - int(less.value)
        case "cond", (_, *operands):
            number = equation.outputs.index(atom)
            given = [(k, _added(graph, a, known)) for k, a in enumerate(operands)]
            found = {
                _added(
                    branch,
                    branch.outputs[number],
                    {branch.inputs[k]: x for k, x in given if x is not None},
                )
                for branch in equation.params["branches"]
            }
            return found.pop() if len(found) == 1 else None
    return None
