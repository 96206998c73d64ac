"""Partial evaluation rules of loops and branches: an equation becomes a known one, of what does not
depend on the unknown operands, and an unknown one, of the rest.

Linearization uses them: the JVP of a scan is split into a scan of primals, which also gives the
residuals, and a linear scan of tangents, which reads them. Residuals are stacked, one for each
iteration, but for those that the second scan has without a stack:

    consts                                  consts of the second scan
    values computed from consts alone       hoisted before both scans, consts of both
    elements of xs                          read again from xs
    cheap functions of these                rematerialised
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from transpile.errors import UnsupportedError
from transpile.ir.graph import Atom, Const, Equation, Graph, Var, graphs_in, has_effect
from transpile.ir.graph_rewrite import counts_of, live_equations, may_repeat, reads_any, silenced
from transpile.ir.primitive import TABLE
from transpile.ir.types import ArrayType
from transpile.primitives.control.dead_results import (
    cond_dce,
    fori_dce,
    restricted,
    scan_dce,
    while_dce,
)
from transpile.primitives.control.graphs import (
    Flags,
    Outputs,
    chosen,
    fixpoint,
    others,
    split_list,
    unknown_outputs,
)
from transpile.transforms.linearize import free_variables, partition
from transpile.transforms.residuals import residuals

Parts = tuple[list[Equation], list[Equation]]  # the known equations, and the unknown ones


def _fresh(atoms: Sequence[Atom]) -> tuple[Var, ...]:
    return tuple(Var(a.type.strong, a.name) for a in atoms)


# ----------------------------------------------------------------------------------------- scan


def scan_partial_eval(equation: Equation, unknown: Flags, eager: bool) -> Parts | None:
    """A scan of what is known, with the residuals, and one of the rest. None if no result is known,
    unless eager."""
    graph: Graph = equation.params["graph"]
    consts, carry = equation.params["consts"], equation.params["carry"]
    before, of_carry, after = split_list(unknown, consts, carry)
    marks = fixpoint(
        lambda marks: unknown_outputs(graph, [*before, *marks, *after])[:carry], of_carry
    )
    flags = [*before, *marks, *after]
    results = [*marks, *unknown_outputs(graph, flags)[carry:]]
    if not eager and all(results):
        return None
    return _ScanFission(equation, flags, results, eager).parts()


class _ScanFission:
    """A scan that becomes two: `flags` marks the unknown inputs of the body, `results` its unknown
    outputs."""

    def __init__(self, equation: Equation, flags: Flags, results: Flags, eager: bool) -> None:
        self.equation, self.flags, self.results = equation, list(flags), list(results)
        self.graph: Graph = equation.params["graph"]
        self.consts, self.carry = equation.params["consts"], equation.params["carry"]
        self.atoms = dict(zip(self.graph.inputs, equation.inputs, strict=True))
        self.fixed, self.moving, self.xs = self._inputs(False)
        unknown = chosen(self.graph.inputs, flags)
        self.known, self.rest = partition(self.graph, unknown, eager)
        self.hoisted: list[Equation] = []  # loop-invariant equations before both scans

    def _inputs(self, unknown: bool) -> list[list[Var]]:
        """The unknown inputs of the body, or the known ones: consts, carry and xs."""
        parts = split_list(range(len(self.flags)), self.consts, self.carry)
        return [[self.graph.inputs[k] for k in p if self.flags[k] is unknown] for p in parts]

    def parts(self) -> Parts:
        """The known equations, and the scan of the rest."""
        unknown = chosen(self.graph.inputs, self.flags)
        outputs = chosen(self.graph.outputs, self.results)
        wanted = free_variables(self.rest, outputs, unknown)
        invariant = self._invariant()
        residual = residuals(self.known, wanted, {*self.xs, *self.fixed}, invariant, self.rest)
        self._hoist([v for v in residual.kept if v in invariant])
        consts = [v for v in residual.kept if v in self.fixed]
        xs = [v for v in residual.kept if v in self.xs]
        stacked = [v for v in residual.kept if v not in consts and v not in xs]
        known, stacks = self._known(stacked)
        rest = self._rest(residual.repeated, consts, xs, dict(zip(stacked, stacks, strict=True)))
        return [*self.hoisted, *known], [rest]

    def _invariant(self) -> set[Var]:
        """The values that known equations compute from consts alone."""
        invariant: set[Atom] = set(self.fixed)
        counted = counts_of(self.known)
        for equation in self.known:
            is_fixed = may_repeat(equation) and not reads_any(equation, counted)
            if is_fixed and all(isinstance(a, Const) or a in invariant for a in equation.inputs):
                invariant.update(equation.outputs)
        return {v for v in invariant if isinstance(v, Var)} - set(self.fixed)

    def _hoist(self, values: list[Var]) -> None:
        """Loop-invariant code motion: compute values before the scans, as consts of both."""
        if not values:
            return
        atoms: dict[Atom, Atom] = dict(self.atoms)
        for equation in live_equations(self.known, values, effects=False):
            inputs = tuple(atoms.get(a, a) for a in equation.inputs)
            outputs = _fresh(equation.outputs)
            self.hoisted.append(replace(silenced(equation), inputs=inputs, outputs=outputs))
            atoms.update(zip(equation.outputs, outputs, strict=True))
        for var in values:
            self.atoms[var] = atoms[var]
        self.fixed += values
        moved = set(values)
        self.known = tuple(
            _without(e, moved)
            for e in self.known
            if has_effect(e) or not moved.issuperset(e.outputs)
        )

    def _known(self, stacked: Sequence[Var]) -> tuple[list[Equation], list[Atom]]:
        """The scan of what is known, if it has results or effects, and the stacks of residuals."""
        carried, ys = split_list(self.graph.outputs, self.carry)
        of_carry, of_ys = split_list(self.results, self.carry)
        last, given = others(carried, of_carry), others(ys, of_ys)
        further = [v for v in stacked if v not in given]
        if not last and not given and not further and not any(map(has_effect, self.known)):
            return [], []
        old_last, old_ys = split_list(self.equation.outputs, self.carry)
        length = self.equation.params["length"]
        stacks = [Var(v.type.strong.with_shape((length, *v.type.shape)), v.name) for v in further]
        outputs = [*others(old_last, of_carry), *others(old_ys, of_ys), *stacks]
        body = replace(self.graph, equations=tuple(self.known))
        inputs = [*self.fixed, *self.moving, *self.xs]
        body = restricted(body, inputs, [*last, *given, *further])
        whole = self._scan(body, len(self.fixed), len(last), inputs, outputs)
        stack_of: dict[Atom, Atom] = dict(
            zip([*given, *further], outputs[len(last) :], strict=True)
        )
        return [scan_dce(whole, [True] * len(outputs))], [stack_of[v] for v in stacked]

    def _rest(
        self,
        repeated: Sequence[Equation],
        consts: Sequence[Var],
        xs: Sequence[Var],
        stacked: dict[Var, Atom],
    ) -> Equation:
        """The scan of what is unknown."""
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
    """The equation with fresh, unread results instead of these values."""
    if values.isdisjoint(equation.outputs):
        return equation
    outputs = [Var(v.type, v.name) if v in values else v for v in equation.outputs]
    return replace(equation, outputs=tuple(outputs))


# ------------------------------------------------------------------------------ while, fori_loop


def while_partial_eval(equation: Equation, unknown: Flags, eager: bool) -> Parts | None:
    """The loop of the known carries, and the whole loop for the others."""
    body, condition = equation.params["body"], equation.params["condition"]
    consts = equation.params["consts"]
    before, of_carry = split_list(unknown, consts)
    marks = fixpoint(lambda marks: unknown_outputs(body, [*before, *marks]), of_carry)
    if unknown_outputs(condition, [*before, *marks])[0] or all(marks):
        return None
    return _known_and_whole(equation, while_dce, marks)


def fori_partial_eval(equation: Equation, unknown: Flags, eager: bool) -> Parts | None:
    """The loop of the known carries, and the whole loop for the others."""
    graph, consts = equation.params["graph"], equation.params["consts"]
    before, of_carry = split_list(unknown[2:], consts)
    marks = fixpoint(lambda marks: unknown_outputs(graph, [False, *before, *marks]), of_carry)
    if unknown[0] or unknown[1] or all(marks):
        return None
    return _known_and_whole(equation, fori_dce, marks)


def _known_and_whole(equation: Equation, dce: Any, marks: Flags) -> Parts:
    known = dce(equation, [not m for m in marks])
    outputs = [
        v if is_unknown else Var(v.type, v.name)
        for v, is_unknown in zip(equation.outputs, marks, strict=True)
    ]
    whole = dce(silenced(replace(equation, outputs=tuple(outputs))), marks)
    if _performs(whole):
        raise UnsupportedError(
            f"{equation.source}: a derivative computes this loop twice, once for the values and "
            "once for the tangents, which depend on results of its io_callback. Use lax.scan, "
            "whose values are kept, or forward mode: jvp"
        )
    return [known], [whole]


def _performs(equation: Equation) -> bool:
    """True if an effect is left of those that `silenced` made none of."""
    return TABLE[equation.primitive.name].effect or any(
        _performs(part) for graph in graphs_in(equation) for part in graph.equations
    )


# ------------------------------------------------------------------------------------------ cond


def cond_partial_eval(equation: Equation, unknown: Flags, eager: bool) -> Parts | None:
    """A branch to what is known, with the residuals, and a branch to the rest. Residuals of all
    branches share slots of equal types; a branch leaves zeros in slots that it does not use."""
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
    halves = [_BranchFission(branch, flags, results, eager) for branch in branches]
    slots = _slots([half.residuals for half in halves])
    known_outputs = others(equation.outputs, results)
    residual = [Var(kind) for kind in slots]
    known = Equation(
        equation.primitive,
        (index, *known_operands),
        {"branches": tuple(half.known(slots) for half in halves)},
        (*known_outputs, *residual),
        equation.source,
    )
    rest = Equation(
        equation.primitive,
        (index, *known_operands, *residual, *chosen(operands, flags)),
        {"branches": tuple(half.rest(slots) for half in halves)},
        tuple(chosen(equation.outputs, results)),
        equation.source,
    )
    everything = [True] * len(rest.outputs)
    parts = (
        [cond_dce(known, [True] * len(known.outputs))] if known.outputs or has_effect(known) else []
    )
    return parts, [cond_dce(rest, everything)]


class _BranchFission:
    """A branch that becomes two."""

    def __init__(self, graph: Graph, flags: Flags, results: Flags, eager: bool) -> None:
        self.graph, self.flags, self.results = graph, flags, results
        self.unknown = chosen(graph.inputs, flags)
        self.inputs = others(graph.inputs, flags)
        self.equations, self.others = partition(graph, self.unknown, eager)
        wanted = free_variables(self.others, chosen(graph.outputs, results), self.unknown)
        residual = residuals(self.equations, wanted, set(self.inputs), set(), self.others)
        self.repeated = residual.repeated
        self.residuals = [v for v in residual.kept if v not in self.inputs]

    def known(self, slots: Sequence[ArrayType]) -> Graph:
        """The known results and the residuals, zeros in unused slots."""
        outputs = Outputs(replace(self.graph, equations=tuple(self.equations)))
        used = _in_slots(self.residuals, slots)
        residual = [
            outputs.zeros(kind) if v is None else v for v, kind in zip(used, slots, strict=True)
        ]
        return outputs.finish(self.inputs, [*others(self.graph.outputs, self.results), *residual])

    def rest(self, slots: Sequence[ArrayType]) -> Graph:
        """(*known operands, *slots, *unknown operands) -> the unknown results."""
        used = _in_slots(self.residuals, slots)
        residual = [Var(kind) if v is None else v for v, kind in zip(used, slots, strict=True)]
        return replace(
            self.graph,
            inputs=(*self.inputs, *residual, *self.unknown),
            equations=(*self.repeated, *self.others),
            outputs=tuple(chosen(self.graph.outputs, self.results)),
            output_names=(),
        )


def _slots(residuals_of_branches: Sequence[Sequence[Var]]) -> list[ArrayType]:
    """The least types of slots that hold the residuals of any one branch."""
    slots: list[ArrayType] = []
    for values in residuals_of_branches:
        left = list(slots)
        for var in values:
            if var.type.strong in left:
                left.remove(var.type.strong)
            else:
                slots.append(var.type.strong)
    return slots


def _in_slots(values: Sequence[Var], slots: Sequence[ArrayType]) -> list[Var | None]:
    """For each slot the value in it, of its type; None where it is unused."""
    left = list(values)
    slotted: list[Var | None] = []
    for kind in slots:
        fitting = next((v for v in left if v.type.strong == kind), None)
        if fitting is not None:
            left.remove(fitting)
        slotted.append(fitting)
    return slotted
