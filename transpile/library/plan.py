"""Plans of library calls: which intrinsics compute an equation, wherever its arrays will be.

A planner knows one family of intrinsics. From an equation, and from the values that its operands
are views of, it makes a `CallPlan`: calls whose arrays go by names, in loops over what the calls do
not do themselves. Storage for these names is assigned later; then each call is rewritten once,
address by address.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from transpile.ir.calls import Call, Strided
from transpile.ir.dims import Dim, Index, Shape, Symbol, normal_form, symbols_of, terms_of
from transpile.ir.graph import Atom, Const, Equation, Var
from transpile.ir.indices.row_major import recombine, row_major, unravel
from transpile.ir.loop_ir import UNALLOCATED, Load
from transpile.primitives.axes import reshape
from transpile.util.frozen_records import cached_property, dataclass

# What the scratch memory of calls is called.
SCRATCH = UNALLOCATED.buffer


@dataclass(frozen=True, eq=False)
class LoopedCall:
    """A call in loops. A loop over one element is none, and its symbol is in no subscript."""

    loops: tuple[Symbol, ...]
    call: Call


@dataclass(frozen=True, eq=False)
class CallPlan:
    """The calls that compute an equation, in order.

    reads   the values in memory that they read, by the names that the calls have for them
    writes  the results
    tables  the constants that planning computed
    """

    reads: Mapping[str, Atom]
    writes: Mapping[str, Var]
    tables: Mapping[str, Const]
    calls: tuple[LoopedCall, ...]

    @cached_property
    def scratch_bytes(self) -> Index | None:
        """The bytes of scratch memory that the calls share; None where they take none."""
        calls = [c.call for c in self.calls if SCRATCH in c.call.scratch]
        needs = {call.scratch_bytes: None for call in calls}
        known = max((size for size in needs if isinstance(size, int)), default=0)
        total: Index = known
        for size in needs:  # those that are not known are one, mostly
            total = total if isinstance(size, int) else total + size
        return total if calls else None


def array(name: str, value: Atom, offset: Index = 0, strides: Shape = ()) -> Strided:
    """The part of a value that begins at an offset in row-major order."""
    kind = value.type
    return Strided(Load(name, unravel(offset, kind.shape), kind.dtype), strides)


def part(name: str, value: Atom, where: Shape = (), strides: Shape = ()) -> Strided:
    """The part of a value at an index into its leading axes."""
    kind = value.type
    index = (*where, *[0] * (kind.ndim - len(where)))
    return Strided(Load(name, index, kind.dtype), strides)


# ---------------------------------------------------------------------------------------- operands


@dataclass(frozen=True)
class View:
    """Elements of a value: element i is at `offset` + sum(i * strides) of `base`."""

    base: Atom
    offset: Index
    strides: Shape


@dataclass(frozen=True, eq=False)
class Views:
    """The producers of a graph's values, by which a value is a view of another one; those in `cut`
    are in memory, although they are reshapes."""

    producers: Mapping[Var, Equation]
    cut: Set[Var] = frozenset()

    def base(self, atom: Atom) -> tuple[Atom, Sequence[Equation]]:
        """What a value is a view of, and the views, the last one first."""
        path = []
        while isinstance(atom, Var) and atom in self.producers:
            if self.producers[atom].primitive.kind != "view":
                break
            path.append(self.producers[atom])
            atom = self.producers[atom].inputs[0]
        return atom, path

    def of(self, atom: Atom) -> Iterator[View]:
        """A value as a view: of what it is made of by views, if strides describe that; and of
        itself."""
        for base, path in (self.base(atom), (atom, ())):
            strided = strides_in(atom, base, path)
            if strided is not None:
                yield View(base, strided[0], tuple(strided[1]))

    def in_order(self, atom: Atom) -> Atom:
        """The value whose memory has the elements of a value in their order: it, or what it is a
        reshape of."""
        while isinstance(atom, Var) and atom in self.producers and atom not in self.cut:
            equation = self.producers[atom]
            if equation.primitive is not reshape:
                break
            (atom,) = equation.inputs
        return atom


def strides_in(
    atom: Atom, base: Atom, path: Sequence[Equation]
) -> tuple[Index, list[Index]] | None:
    """The offset and the stride of each axis of `atom` inside `base`, or None."""
    symbols = [Symbol(f"a{axis}", 0, extent) for axis, extent in enumerate(atom.type.shape)]
    index: Shape = tuple(0 if s.extent == 1 else Dim.of(s) for s in symbols)
    for view in path:
        if view.primitive.index is None:
            return None
        index = view.primitive.index(index, view.inputs[0].type, **view.params)
    flat = recombine(row_major(index, base.type.shape))
    strides: list[Index] = [0] * len(symbols)
    offset: Index = 0
    for monomial, coefficient in terms_of(flat):
        along = [atom for atom in monomial if atom in symbols]
        around = tuple(atom for atom in monomial if atom not in symbols)
        factor = normal_form({around: coefficient})
        if len(along) > 1 or not symbols_of(factor).isdisjoint(symbols):
            return None
        if along:
            axis = symbols.index(along[0])
            strides[axis] = strides[axis] + factor
        else:
            offset = offset + factor
    return offset, strides
