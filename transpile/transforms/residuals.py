"""What the linear part of a derivative reads of the other part: values that are handed over, and
values that it takes less to compute again than to keep.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from transpile.ir.graph import Atom, Const, Equation, Var
from transpile.ir.types import kind_letter
from transpile.util.frozen_records import dataclass

# How many float operations are done again to save the memory of a residual.
MOST_REPEATED = 3
# How many equations, views among them, one value is made of again.
LONGEST_CHAIN = 32

_MOVING = ("view", "generate")  # kinds of rows that compute nothing


@dataclass(frozen=True, eq=False)
class Residuals:
    """What the unknown part of a graph reads of its known part.

    kept       the values that are handed over
    repeated   the equations that make the others from these, inputs and constants again
    """

    kept: list[Var]
    repeated: list[Equation]


def residuals(
    known: Sequence[Equation], wanted: Iterable[Var], free: set[Var], fixed: set[Var]
) -> Residuals:
    """The residuals for values that the unknown part wants. It costs nothing to hand over `free`
    ones, and little to hand over `fixed` ones, which are not computed again but for views. What is
    handed over costs nothing more to those that come after it: of `s` and `s * (1 - s)`, which the
    derivative of a sigmoid wants, only `s` is."""
    producers = {v: e for e in known for v in e.outputs}
    wanted = list(wanted)
    cut = _Cut(producers, free, fixed, set(wanted))
    kept = [v for v in wanted if not cut.is_repeated(v)]
    needed = dict.fromkeys(kept)
    repeated = [e for e in known if id(e) in cut.repeated]
    for equation in repeated:
        for atom in equation.inputs:
            if isinstance(atom, Var) and id(producers.get(atom)) not in cut.repeated:
                needed[atom] = None
    return Residuals(list(needed), repeated)


class _Cut:
    """Decides which values are computed again: those that cheap equations make of free values, or
    of wanted ones that are not computed again."""

    def __init__(
        self, producers: dict[Var, Equation], free: set[Var], fixed: set[Var], wanted: set[Var]
    ) -> None:
        self.producers = producers
        self.free = set(free)
        self.fixed = fixed
        self.repeated: set[int] = set()
        self._known: dict[Var, dict[int, Equation] | None] = {}
        for var in producers:  # in order, so that none waits for a long row of others
            if self._equations(var) is None and var in wanted:
                self.free.add(var)

    def is_repeated(self, var: Var) -> bool:
        """Tell whether a value is computed again; then mark the equations that do so."""
        found = None if var in self.free else self._equations(var)
        if found is None:
            return False
        if var in self.fixed and any(e.primitive.kind not in _MOVING for e in found.values()):
            return False
        self.repeated.update(found)
        return True

    def _equations(self, var: Var) -> dict[int, Equation] | None:
        """The cheap equations that make a value out of free ones, and of no more bytes of others
        than it has itself; None where there are none such, or too many."""
        if var not in self._known:
            found = self._chain(var)
            is_long = found is not None and (
                len(found) > LONGEST_CHAIN
                or sum(_is_float_operation(e) for e in found.values()) > MOST_REPEATED
            )
            self._known[var] = None if is_long else found
        return self._known[var]

    def _chain(self, var: Var) -> dict[int, Equation] | None:
        equation = self.producers.get(var)
        if equation is None or not _is_cheap(equation):
            return None
        found = {id(equation): equation}
        stacked = []
        for atom in equation.inputs:
            if isinstance(atom, Const) or atom in self.free or atom in self.fixed:
                continue
            inner = self._equations(atom)
            if inner is None:
                stacked.append(atom)
            else:
                found.update(inner)
        if not stacked:
            return found
        if equation.primitive.kind == "view" and _bytes(stacked[0]) <= _bytes(var):
            return found
        return None


def _bytes(atom: Atom) -> float:
    size = atom.type.size
    return size * atom.type.dtype.itemsize if isinstance(size, int) else float("inf")


def _is_cheap(equation: Equation) -> bool:
    """Tell whether an equation takes no more work than reading its result from memory."""
    row = equation.primitive
    if row.kind in _MOVING or row.picks:
        return True
    return row.kind == "elementwise" and not row.transcendental and row.cost <= 1


def _is_float_operation(equation: Equation) -> bool:
    is_float = kind_letter(equation.outputs[0].type.dtype) in "fc"
    return equation.primitive.kind == "elementwise" and is_float
