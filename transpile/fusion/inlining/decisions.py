"""Inlining: which values are materialised; every other one is substituted into each use.

Views and iotas are always inlined. A computed value is inlined when that repeats no work worth
mentioning: it has one use, and is not spread over more elements than it has; or it is so cheap that
reading it back would cost as much; or it is arithmetic on its subscripts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from transpile.fusion.elements import is_by_elements
from transpile.fusion.index_lambda import is_index, is_known_scalar
from transpile.fusion.inlining.cost import spreads
from transpile.fusion.nodes import Choices
from transpile.fusion.survey import Survey
from transpile.ir.graph import Atom, Equation, Var

_BY_ELEMENTS = ("elementwise", "view", "piecewise")


def materialised(survey: Survey, choices: Choices) -> frozenset[Var]:
    """The values that are not inlined, from the results of the graph on: what a value is read by
    is decided before it."""
    scope = survey.scope
    chosen = set(choices.kept)
    if not scope.is_condition:
        chosen |= _produced(survey, scope.graph.outputs)
    chosen |= _read_before_puts(survey)
    uses: dict[Atom, int] = {}
    spread: set[Atom] = set()
    for equation in reversed(scope.graph.equations):
        call = survey.calls.get(equation)
        if call is not None:
            chosen |= _produced(survey, call.reads.values())
        match equation.primitive.kind:
            case "routine":
                chosen.update(equation.outputs)
            case "requirement":
                pass
            case "length":  # a loop that counts runs in no lanes
                chosen.update(equation.outputs)
                _count(uses, equation.inputs)
                spread.update(equation.inputs)
            case "callback":
                chosen.update(equation.outputs)
                _count(uses, equation.inputs)
            case "control":
                chosen |= _operands_of_bodies(survey, equation)
                _count(uses, scope.inner[equation].operands.carry)
            case _:
                var = equation.output
                is_spread, readers = var in spread, uses.get(var, 0)
                if var in chosen or _deserves_memory(survey, choices, equation, readers, is_spread):
                    chosen.add(var)
                    is_spread, readers = False, 1
                for atom in equation.inputs:
                    uses[atom] = uses.get(atom, 0) + readers
                    if is_spread or spreads(equation, atom):
                        spread.add(atom)
    return frozenset(chosen)


def _read_before_puts(survey: Survey) -> set[Var]:
    """The single elements of an array that are used behind the first update of that array: read
    there, they would need the array as it was. Iterations read such elements in order anyway."""
    scope = survey.scope
    if scope.is_body:
        return set()
    updates: dict[Atom, Equation] = {}
    ends: dict[Atom, set[Equation]] = {}  # what reads a value, directly or through single elements
    for equation in reversed(scope.graph.equations):
        if equation.primitive.puts:
            updates[survey.views.base(equation.inputs[0])[0]] = equation
        is_element = _is_by_elements(equation) and equation.output.type.size == 1
        own = ends.get(equation.output, set()) if is_element else {equation}
        for atom in equation.inputs:
            ends.setdefault(atom, set()).update(own)
    return {
        e.output
        for e in scope.graph.equations
        if _is_by_elements(e)
        and (e.primitive.kind == "view" or e.primitive.picks)
        and (update := updates.get(survey.views.base(e.inputs[0])[0])) is not None
        and _is_one_element(e.output, e.inputs[0])
        and not ends.get(e.output, {update}) <= {update}
    }


def _is_by_elements(equation: Equation) -> bool:
    return equation.primitive.kind in _BY_ELEMENTS and not equation.primitive.puts


def _count(uses: dict[Atom, int], atoms: Iterable[Atom]) -> None:
    for atom in atoms:
        uses[atom] = uses.get(atom, 0) + 1


def _produced(survey: Survey, atoms: Iterable[Atom]) -> set[Var]:
    """Those that equations of the graph compute."""
    producers: Mapping[Var, Equation] = survey.scope.values.producers
    return {atom for atom in atoms if isinstance(atom, Var) and atom in producers}


def _deserves_memory(
    survey: Survey, choices: Choices, equation: Equation, readers: int, is_spread: bool
) -> bool:
    """Tell whether a value that is read so often, and perhaps for many elements of what reads it,
    had better be computed once; or has to be."""
    scope, var = survey.scope, equation.output
    if equation.primitive.kind in ("view", "generate"):
        return var in survey.tangled
    if scope.is_body and is_known_scalar(scope.values, var):
        return False
    if var in survey.updates or not is_by_elements(equation, scope.machine):
        return True
    if var in choices.inlined or (readers > 1 and is_index(scope.values, var)):
        return False
    if var in survey.often:
        return not is_index(scope.values, var)
    cost, size = survey.costs[var]
    if is_spread and cost > scope.machine.cheap_weight:
        return True
    return readers > 1 or size > scope.machine.largest_expression


def _operands_of_bodies(survey: Survey, equation: Equation) -> set[Var]:
    """What a loop or branch reads in each iteration is in memory, but for views, which its body
    sees through where it takes them by elements, and what is arithmetic on indices. One element of
    an array that the body changes is read before it: else the array would be copied for its sake.
    """
    producers = survey.scope.values.producers
    fixed, xs = survey.fixed[equation], survey.scope.inner[equation].operands.xs
    forced = {*equation.outputs}
    changed = {survey.views.base(x)[0] for x in survey.scope.inner[equation].operands.carry}
    for atom in fixed.operands:
        base = atom if atom in fixed.wholes else survey.views.base(atom)[0]
        if base is not atom and base in changed and _is_one_element(atom, base):
            forced |= _produced(survey, (atom,))
            continue
        if isinstance(atom, Var) and base is atom and atom in xs and _is_cheap(survey, atom):
            forced |= _produced(survey, producers[atom].inputs)
        elif atom in fixed.wholes or not _is_generated(survey, base):
            forced |= _produced(survey, (base,))
    return forced


def _is_one_element(atom: Atom, base: Atom) -> bool:
    """True for a view of one element of an array that has more."""
    return atom.type.size == 1 and base.type.size != 1


def _is_generated(survey: Survey, atom: Atom) -> bool:
    """Tell whether a value is a function of its subscripts."""
    equation = survey.scope.values.producers.get(atom) if isinstance(atom, Var) else None
    return equation is not None and equation.primitive.kind == "generate"


def _is_cheap(survey: Survey, atom: Var) -> bool:
    """Tell whether each iteration may as well compute its part of an operand itself."""
    equation = survey.scope.values.producers.get(atom)
    return (
        equation is not None
        and equation.primitive.kind == "elementwise"
        and equation.primitive.weight <= survey.scope.machine.cheap_weight
        and survey.uses[atom] == 1
    )
