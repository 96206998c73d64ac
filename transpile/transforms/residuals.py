"""Choose the residuals of a derivative: the values that the linear part reads from memory. It
rematerialises others, where that is cheaper than storing them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from transpile.ir.graph import Atom, Const, Equation, Var
from transpile.ir.graph_rewrite import counts_of, lengths_read, reads_any
from transpile.ir.types import kind_letter
from transpile.util.frozen_records import dataclass

# The float operations that may be repeated to save the memory of a residual.
MOST_REMATERIALISED = 3
# The equations, views included, from which one value may be rematerialised.
LONGEST_CHAIN = 32

_NO_ARITHMETIC = ("view", "generate")  # kinds of primitives that only move or make elements


@dataclass(frozen=True, eq=False)
class Residuals:
    """What the unknown part of a graph reads of its known part.

    kept       the values that are stored
    repeated   the equations that rematerialise the others from these, inputs and constants
    """

    kept: list[Var]
    repeated: list[Equation]


def residuals(
    known: Sequence[Equation],
    wanted: Iterable[Var],
    free: set[Var],
    fixed: set[Var],
    body: Sequence[Equation] = (),
) -> Residuals:
    """The residuals for the values that the unknown part reads.

    `free` ones are stored anyway; `fixed` ones are cheap to store, so that only their views are
    rematerialised. A stored value is free for those after it: of `s` and `s * (1 - s)`, which the
    derivative of a sigmoid reads, only `s` is stored.

    In a body, of which `body` is the unknown part, values are repeated whose length depends on
    values of the iteration: they cannot leave it.
    """
    producers = {v: e for e in known for v in e.outputs}
    wanted = list(wanted)
    varying = _of_own_lengths(known, wanted, body) if body else {}
    wanted = [v for v in wanted if id(producers.get(v)) not in varying]
    cut = _RematerialisationChoice(producers, free, fixed, set(wanted))
    kept = [v for v in wanted if not cut.is_rematerialised(v)]
    cut.repeated |= varying.keys()
    needed = dict.fromkeys(kept)
    repeated = [e for e in known if id(e) in cut.repeated]
    for equation in repeated:
        for atom in equation.inputs:
            if isinstance(atom, Var) and id(producers.get(atom)) not in cut.repeated:
                needed[atom] = None
    return Residuals(list(needed), repeated)


def _of_own_lengths(
    known: Sequence[Equation], wanted: Iterable[Var], body: Sequence[Equation]
) -> dict[int, Equation]:
    """The known equations, by their ids, that the unknown part repeats: those that count lengths,
    and those whose results are as long."""
    counts = counts_of(known)
    producers = {v: e for e in known for v in e.outputs}
    found: dict[int, Equation] = {}
    stack = [*wanted, *(counts[s] for e in body for s in lengths_read(e) if s in counts)]
    while stack:
        equation = producers.get(stack.pop())
        if equation is None or id(equation) in found or not reads_any(equation, counts):
            continue
        found[id(equation)] = equation
        stack += [a for a in equation.inputs if isinstance(a, Var)]
        stack += [counts[s] for s in lengths_read(equation) if s in counts]
    return found


class _RematerialisationChoice:
    """Chooses the values to rematerialise, which cheap equations compute from stored ones."""

    def __init__(
        self, producers: dict[Var, Equation], free: set[Var], fixed: set[Var], wanted: set[Var]
    ) -> None:
        self.producers = producers
        self.free = set(free)
        self.fixed = fixed
        self.repeated: set[int] = set()
        self._known: dict[Var, dict[int, Equation] | None] = {}
        for var in producers:  # in order, so that the recursion stays shallow
            if self._equations(var) is None and var in wanted:
                self.free.add(var)

    def is_rematerialised(self, var: Var) -> bool:
        """True if a value is rematerialised; marks the equations that do it."""
        chain = None if var in self.free else self._equations(var)
        if chain is None:
            return False
        if var in self.fixed and any(
            e.primitive.kind not in _NO_ARITHMETIC for e in chain.values()
        ):
            return False
        self.repeated.update(chain)
        return True

    def _equations(self, var: Var) -> dict[int, Equation] | None:
        """The cheap equations that compute a value from free ones, and from other values of no more
        bytes than its own; None if there are none, or too many."""
        if var not in self._known:
            chain = self._chain(var)
            is_long = chain is not None and (
                len(chain) > LONGEST_CHAIN
                or sum(_is_float_operation(e) for e in chain.values()) > MOST_REMATERIALISED
            )
            self._known[var] = None if is_long else chain
        return self._known[var]

    def _chain(self, var: Var) -> dict[int, Equation] | None:
        equation = self.producers.get(var)
        if equation is None or not _is_cheap(equation):
            return None
        chain = {id(equation): equation}
        stacked = []
        for atom in equation.inputs:
            if isinstance(atom, Const) or atom in self.free or atom in self.fixed:
                continue
            inner = self._equations(atom)
            if inner is None:
                stacked.append(atom)
            else:
                chain.update(inner)
        if not stacked:
            return chain
        if equation.primitive.kind == "view" and _bytes(stacked[0]) <= _bytes(var):
            return chain
        return None


def _bytes(atom: Atom) -> float:
    size = atom.type.size
    return size * atom.type.dtype.itemsize if isinstance(size, int) else float("inf")


def _is_cheap(equation: Equation) -> bool:
    """True if an equation costs no more than loading its result."""
    primitive = equation.primitive
    if primitive.kind in _NO_ARITHMETIC or primitive.picks:
        return True
    return primitive.kind == "elementwise" and not primitive.transcendental and primitive.cost <= 1


def _is_float_operation(equation: Equation) -> bool:
    is_float = kind_letter(equation.outputs[0].type.dtype) in "fc"
    return equation.primitive.kind == "elementwise" and is_float
