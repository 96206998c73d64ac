"""Loops and branches taken apart into what is known and what is not.

This serves the derivative: an equation of values and tangents becomes one of values alone, which
also gives the residuals, and one of the tangents that reads them. Residuals of a scan are stacked,
one for each iteration, but for those that the second scan can have otherwise:

    a const, or a value computed from consts alone    as a const: the latter is computed before
    an element of xs                                  read again from xs
    what few and cheap equations make of these        computed again
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from transpile.ir.graph import (
    Atom,
    Const,
    Equation,
    Graph,
    Var,
    has_effect,
    live_equations,
    silenced,
)
from transpile.ir.types import ArrayType
from transpile.primitives.control.dead_results import (
    cond_narrow,
    fori_narrow,
    scan_narrow,
    smaller,
    while_narrow,
)
from transpile.primitives.control.graphs import (
    Flags,
    Outputs,
    chosen,
    fixpoint,
    others,
    split,
    unknown_outputs,
)
from transpile.transforms.linearize import free_variables, partition
from transpile.transforms.residuals import residuals

Parts = tuple[list[Equation], list[Equation]]  # the known equations, and the others


def _fresh(atoms: Sequence[Atom]) -> tuple[Var, ...]:
    return tuple(Var(a.type.strong, a.name) for a in atoms)


# ----------------------------------------------------------------------------------------- scan


def scan_split(equation: Equation, unknown: Flags, eager: bool) -> Parts | None:
    """Two scans: of what is known, which also gives residuals; and of what depends on the unknown
    operands. None: the whole is left to the latter, where only known results need not be."""
    graph: Graph = equation.params["graph"]
    consts, carry = equation.params["consts"], equation.params["carry"]
    before, of_carry, after = split(unknown, consts, carry)
    marks = fixpoint(
        lambda marks: unknown_outputs(graph, [*before, *marks, *after])[:carry], of_carry
    )
    flags = [*before, *marks, *after]
    results = [*marks, *unknown_outputs(graph, flags)[carry:]]
    if not eager and all(results):
        return None
    return _ScanParts(equation, flags, results, eager).parts()


class _ScanParts:
    """A scan on its way to become two: `flags` marks the inputs that are unknown, `results` the
    outputs."""

    def __init__(self, equation: Equation, flags: Flags, results: Flags, eager: bool) -> None:
        self.equation, self.flags, self.results = equation, list(flags), list(results)
        self.graph: Graph = equation.params["graph"]
        self.consts, self.carry = equation.params["consts"], equation.params["carry"]
        self.atoms = dict(zip(self.graph.inputs, equation.inputs, strict=True))
        self.fixed, self.moving, self.xs = self._inputs(False)
        unknown = chosen(self.graph.inputs, flags)
        self.known, self.rest = partition(self.graph, unknown, eager)
        self.outer: list[Equation] = []  # what is computed before both scans

    def _inputs(self, unknown: bool) -> list[list[Var]]:
        """The inputs that are unknown, or those that are known: consts, carry and xs."""
        parts = split(range(len(self.flags)), self.consts, self.carry)
        return [[self.graph.inputs[k] for k in p if self.flags[k] is unknown] for p in parts]

    def parts(self) -> Parts:
        """The known equations, and the scan of the rest."""
        unknown = chosen(self.graph.inputs, self.flags)
        moved = chosen(self.graph.outputs, self.results)
        wanted = free_variables(self.rest, moved, unknown)
        invariant = self._invariant()
        found = residuals(self.known, wanted, {*self.xs, *self.fixed}, invariant)
        self._hoist([v for v in found.kept if v in invariant])
        consts = [v for v in found.kept if v in self.fixed]
        xs = [v for v in found.kept if v in self.xs]
        stacked = [v for v in found.kept if v not in consts and v not in xs]
        known, places = self._known(stacked)
        rest = self._rest(found.repeated, consts, xs, dict(zip(stacked, places, strict=True)))
        return [*self.outer, *known], [rest]

    def _invariant(self) -> set[Var]:
        """The values that the known equations make of consts alone."""
        same: set[Atom] = set(self.fixed)
        for equation in self.known:
            if all(isinstance(a, Const) or a in same for a in equation.inputs):
                same.update(equation.outputs)
        return {v for v in same if isinstance(v, Var)} - set(self.fixed)

    def _hoist(self, values: list[Var]) -> None:
        """Compute values before the scans: they become consts of both."""
        if not values:
            return
        atoms: dict[Atom, Atom] = dict(self.atoms)
        for equation in live_equations(self.known, values, effects=False):
            inputs = tuple(atoms.get(a, a) for a in equation.inputs)
            outputs = _fresh(equation.outputs)
            self.outer.append(replace(silenced(equation), inputs=inputs, outputs=outputs))
            atoms.update(zip(equation.outputs, outputs, strict=True))
        for var in values:
            self.atoms[var] = atoms[var]
        self.fixed += values
        hoisted = set(values)
        self.known = tuple(
            _without(e, hoisted)
            for e in self.known
            if has_effect(e) or not hoisted.issuperset(e.outputs)
        )

    def _known(self, stacked: Sequence[Var]) -> tuple[list[Equation], list[Atom]]:
        """The scan of what is known, if it gives anything, and the stacks of residuals."""
        carried, ys = split(self.graph.outputs, self.carry)
        of_carry, of_ys = split(self.results, self.carry)
        last, given = others(carried, of_carry), others(ys, of_ys)
        further = [v for v in stacked if v not in given]
        if not last and not given and not further and not any(map(has_effect, self.known)):
            return [], []
        old_last, old_ys = split(self.equation.outputs, self.carry)
        length = self.equation.params["length"]
        stacks = [Var(v.type.strong.with_shape((length, *v.type.shape)), v.name) for v in further]
        outputs = [*others(old_last, of_carry), *others(old_ys, of_ys), *stacks]
        body = replace(self.graph, equations=tuple(self.known))
        inputs = [*self.fixed, *self.moving, *self.xs]
        body = smaller(body, inputs, [*last, *given, *further])
        whole = self._scan(body, len(self.fixed), len(last), inputs, outputs)
        places: dict[Atom, Atom] = dict(zip([*given, *further], outputs[len(last) :], strict=True))
        return [scan_narrow(whole, [True] * len(outputs))], [places[v] for v in stacked]

    def _rest(
        self,
        repeated: Sequence[Equation],
        consts: Sequence[Var],
        xs: Sequence[Var],
        stacked: dict[Var, Atom],
    ) -> Equation:
        """The scan of what is not known."""
        fixed, moving, moved_xs = self._inputs(True)
        inputs = [*consts, *fixed, *moving, *xs, *stacked, *moved_xs]
        operands = [stacked[v] if v in stacked else self.atoms[v] for v in inputs]
        body = replace(
            self.graph,
            inputs=tuple(inputs),
            equations=(*repeated, *self.rest),
            outputs=tuple(chosen(self.graph.outputs, self.results)),
        )
        outputs = chosen(self.equation.outputs, self.results)
        count = len(consts) + len(fixed)
        return self._scan(body, count, len(moving), inputs, outputs, operands)

    def _scan(
        self,
        body: Graph,
        consts: int,
        carry: int,
        inputs: Sequence[Var],
        outputs: Sequence[Var],
        operands: Sequence[Atom] | None = None,
    ) -> Equation:
        if operands is None:
            operands = [self.atoms[v] for v in inputs]
        params = {**self.equation.params, "graph": body, "consts": consts, "carry": carry}
        return replace(self.equation, inputs=tuple(operands), params=params, outputs=tuple(outputs))


def _without(equation: Equation, values: set[Var]) -> Equation:
    """The equation with other results in the places of these values, which nothing reads."""
    if values.isdisjoint(equation.outputs):
        return equation
    outputs = [Var(v.type, v.name) if v in values else v for v in equation.outputs]
    return replace(equation, outputs=tuple(outputs))


# ------------------------------------------------------------------------------ while, fori_loop


def while_split(equation: Equation, unknown: Flags, eager: bool) -> Parts | None:
    """The loop of the known carries, and the whole loop for the others."""
    body, condition = equation.params["body"], equation.params["condition"]
    consts = equation.params["consts"]
    before, of_carry = split(unknown, consts)
    marks = fixpoint(lambda marks: unknown_outputs(body, [*before, *marks]), of_carry)
    if unknown_outputs(condition, [*before, *marks])[0] or all(marks):
        return None
    return _known_and_whole(equation, while_narrow, marks)


def fori_split(equation: Equation, unknown: Flags, eager: bool) -> Parts | None:
    """The loop of the known carries, and the whole loop for the others."""
    graph, consts = equation.params["graph"], equation.params["consts"]
    before, of_carry = split(unknown[2:], consts)
    marks = fixpoint(lambda marks: unknown_outputs(graph, [False, *before, *marks]), of_carry)
    if unknown[0] or unknown[1] or all(marks):
        return None
    return _known_and_whole(equation, fori_narrow, marks)


def _known_and_whole(equation: Equation, narrow: Any, marks: Flags) -> Parts:
    known = narrow(equation, [not m for m in marks])
    outputs = [
        v if is_unknown else Var(v.type, v.name)
        for v, is_unknown in zip(equation.outputs, marks, strict=True)
    ]
    whole = silenced(replace(equation, outputs=tuple(outputs)))
    return [known], [narrow(whole, marks)]


# ------------------------------------------------------------------------------------------ cond


def cond_split(equation: Equation, unknown: Flags, eager: bool) -> Parts | None:
    """Two choices: of what is known, with residuals of all branches, zeros in the places of those
    that other branches have; and of what depends on the unknown operands."""
    branches: tuple[Graph, ...] = equation.params["branches"]
    if unknown[0]:
        return None
    flags = list(unknown[1:])
    columns = zip(*[unknown_outputs(b, flags) for b in branches], strict=True)
    results = [any(column) for column in columns]
    if not eager and all(results):
        return None
    index, *operands = equation.inputs
    known_operands = others(operands, flags)
    halves = [_Half(branch, flags, results, eager) for branch in branches]
    slots = _slots([half.stacked for half in halves])
    known_outputs = others(equation.outputs, results)
    handed = [Var(kind) for kind in slots]
    known = Equation(
        equation.primitive,
        (index, *known_operands),
        {"branches": tuple(half.known(slots) for half in halves)},
        (*known_outputs, *handed),
        equation.source,
    )
    rest = Equation(
        equation.primitive,
        (index, *known_operands, *handed, *chosen(operands, flags)),
        {"branches": tuple(half.rest(slots) for half in halves)},
        tuple(chosen(equation.outputs, results)),
        equation.source,
    )
    everything = [True] * len(rest.outputs)
    parts = (
        [cond_narrow(known, [True] * len(known.outputs))]
        if known.outputs or has_effect(known)
        else []
    )
    return parts, [cond_narrow(rest, everything)]


class _Half:
    """A branch on its way to become two."""

    def __init__(self, graph: Graph, flags: Flags, results: Flags, eager: bool) -> None:
        self.graph, self.flags, self.results = graph, flags, results
        self.unknown = chosen(graph.inputs, flags)
        self.inputs = others(graph.inputs, flags)
        self.equations, self.others = partition(graph, self.unknown, eager)
        wanted = free_variables(self.others, chosen(graph.outputs, results), self.unknown)
        found = residuals(self.equations, wanted, set(self.inputs), set())
        self.repeated = found.repeated
        self.stacked = [v for v in found.kept if v not in self.inputs]

    def known(self, slots: Sequence[ArrayType]) -> Graph:
        """The known results and the residuals, zeros in the slots that are not used."""
        outputs = Outputs(replace(self.graph, equations=tuple(self.equations)))
        given = _placed(self.stacked, slots)
        handed = [
            outputs.zeros(kind) if v is None else v for v, kind in zip(given, slots, strict=True)
        ]
        return outputs.finish(self.inputs, [*others(self.graph.outputs, self.results), *handed])

    def rest(self, slots: Sequence[ArrayType]) -> Graph:
        """The results that depend on unknown operands; takes the known ones, the slots, and then
        those."""
        given = _placed(self.stacked, slots)
        handed = [Var(kind) if v is None else v for v, kind in zip(given, slots, strict=True)]
        return replace(
            self.graph,
            inputs=(*self.inputs, *handed, *self.unknown),
            equations=(*self.repeated, *self.others),
            outputs=tuple(chosen(self.graph.outputs, self.results)),
            output_names=(),
        )


def _slots(stacked: Sequence[Sequence[Var]]) -> list[ArrayType]:
    """Types of values enough for the residuals of any branch."""
    slots: list[ArrayType] = []
    for values in stacked:
        left = list(slots)
        for var in values:
            if var.type.strong in left:
                left.remove(var.type.strong)
            else:
                slots.append(var.type.strong)
    return slots


def _placed(values: Sequence[Var], slots: Sequence[ArrayType]) -> list[Var | None]:
    """The values in slots of their types."""
    left = list(values)
    placed: list[Var | None] = []
    for kind in slots:
        found = next((v for v in left if v.type.strong == kind), None)
        if found is not None:
            left.remove(found)
        placed.append(found)
    return placed
