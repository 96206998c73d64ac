"""Primitives: each is one record of name, kind, NumPy meaning, C, facts and rules, kept in `TABLE`.

The kinds (in `transpile.primitives.kinds`) fill most columns, so that a usual row has four or five.
The NumPy column is the reference semantics, the oracle of the tests, and the key by which a call
such as `np.sin(tracer)` finds its row.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from math import inf
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from transpile.ir.dims import Index
from transpile.ir.source_info import user_source
from transpile.ir.types import ArrayType
from transpile.util.frozen_records import dataclass
from transpile.util.lazy_registry import Rest, Table

TypeRule = Callable[..., "ArrayType | tuple[ArrayType, ...]"]
# The largest magnitude, or how it follows from those of the operands.
Magnitude = float | Callable[..., float]
# A number of a dtype, or None where it has no such number.
Element = Callable[[np.dtype[Any]], Any]


def no_element(_: np.dtype[Any]) -> None:
    """The element that a primitive has not, whatever the dtype."""


if TYPE_CHECKING:
    from typing import TypedDict

    class Facts(TypedDict, total=False):
        """The columns of `Primitive` that say what is true of it, for passes to ask."""

        commutative: bool
        associative: bool
        exact: bool
        involution: bool
        own_format: bool
        neutral: Element
        absorbing: Element
        signs: tuple[int, ...]
        chooses: int
        bitwise: str
        of_bools: str
        identity: bool
        picks: bool
        puts: bool
        c_library: Mapping[str, str]
        weight: int
        speculatable: bool
        fills_registers: bool
        magnitude: Magnitude
        near: float
        nonnegative: str
        on_indices: Callable[..., Index | None]


@dataclass(frozen=True)
class Linear:
    """An operand in which an equation is linear: for the rule of a transpose it has no value."""

    type: ArrayType


@dataclass(frozen=True)
class Axis:
    """The axis that `vmap` maps over: its size and the name that collectives know it by."""

    size: Index
    name: Hashable = None


@dataclass(frozen=True)
class NoRule:
    """In the place of a rule that a row has not, by its nature: raises, and says why."""

    reason: str

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        raise NotImplementedError(f"{user_source()}: {self.reason}")


@dataclass(frozen=True, eq=False)
class Primitive:
    """One row of the table.

    name       what the graph's text calls it
    kind       elementwise, view, generate, piecewise, reduce, scan or contract: how it is lowered;
               routine: by calls of the intrinsic that names it, in a loop over leading axes; it
               may have several results;
               fft: by a Fourier transform of whole axes;
               convolve: by runtime_c/products/conv.h, or as the products that a pass makes of it;
               window: over the windows of an array; a pass makes views and simpler rows of it;
               sort: by runtime_c/arrays/sort.h, all rows along an axis;
               composite, call: a pass replaces it by simpler rows, or by the graph in its params;
               control: loops and branches, whose graphs stand in its params;
               effect: it has no results, and calls the function in its params
    numpy      its meaning: (*arrays, **params) -> an array
    type_rule  (*types, **params) -> the result's type; raises TypeError or ValueError as NumPy does
    c          elementwise: the C expression over x, y, z, by dtype kind; `""` is every other kind
    index      view: (index, input type, **params) -> the index into the input
    cost       flops an element; transcendentals count apart
    dtypes     the dtype kinds that it accepts
    ufunc      the NumPy ufunc whose loop it is, if any
    library    that programs with it are linked with: "lapack", or none
    jvp        (tangents, result, *operands, **params) -> the result's tangent. A tangent is None
               where it is zero. A call or a control row: (tangents, *operands, **params) ->
               (results, tangents)
    transpose  (cotangent, *operands, **params) -> a cotangent for each operand: those in which the
               row is linear are given as Linear; None is zero. A call or a control row has a
               list of cotangents
    batch      (axis, batched, *operands, **params) -> (result, whether it is batched). Batched
               operands have the new axis in front. A call or a control row gives two lists
    added      (total, *operands, **params) -> the sum of a total and the row's result, where that
               is few elements among zeros; None where it is not
    split      control: (equation, unknown, eager) -> the equations that it becomes, for what does
               not depend on the unknown operands and for what does; None leaves it to the latter.
               Not eager: only what is a result need be split off
    narrow     control: (equation, read) -> the equation without the results that are not read
    domain     (low, high) of arguments for tests, where not every value is one

    Facts, which passes ask for. "To the bit" leaves out which NaN it is.

    commutative  f(x, y) is f(y, x) to the bit; but of equal numbers, as 0.0 and -0.0, an extreme is
                 the first one
    associative  f(f(x, y), z) is f(x, f(y, z)) for real numbers
    exact        floats that it gives are never rounded: they are numbers of the operands' format,
                 and the same ones in a wider format
    involution   f(f(x)) is x to the bit, where both have one dtype
    own_format   floats of each format are taken as they are, never computed in a wider format: it
                 moves them, or goes by their bits
    neutral      dtype -> n such that f(x, n) is x to the bit, and f(n, x) where f is commutative;
                 None where there is none
    absorbing    dtype -> a such that f(x, a) and f(a, x) are a, for all x; None where there is none
    signs        a comparison: those of x - y for which it holds
    chooses      an extreme, which is x where x - y has this sign, and a NaN if there is one
    bitwise      of bools: the primitive that does the same to each bit of a number
    of_bools     of numbers: the logical primitive that it is of bools
    identity     the result is the operand; it means something only to what has read it by now
    picks        elements of the result are elements of the first operand
    puts         the result is the first operand with some elements changed
    c_library    what C's library calls it, by dtype kind: `f`, and `c` for complex numbers
    weight       the time of an element in vector lanes, that of an addition being 1
    speculatable a few instructions without a branch or a call, whatever the operands: it may as
                 well be computed where its result is not wanted
    fills_registers  it needs all vector registers: other code is better off in another loop
    magnitude    how large float results are at most, NaN apart: a number, or a function of the
                 operands' magnitudes. No sign is known, so that nothing cancels: roundings stay
                 small beside a magnitude
    near         there is a faster version, called NAME_near in C, with the same bits for operands
                 of up to this magnitude; 0 where there is none
    nonnegative  dtype kinds of which no result is below zero, nor -0.0
    on_indices   what it is on subscripts: integer polynomials in, one out; None if that is none
    """

    name: str
    kind: str
    numpy: Callable[..., Any]
    type_rule: TypeRule
    c: Mapping[str, str] = field(default_factory=dict)
    index: Callable[..., Any] | None = None
    combine: str = ""
    cost: int = 1
    transcendental: bool = False
    dtypes: str = "biufc"
    ufunc: Any = None
    library: str = ""
    jvp: Callable[..., Any] | None = None
    transpose: Callable[..., Any] | None = None
    batch: Callable[..., Any] | None = None
    added: Callable[..., Any] | None = None
    split: Callable[..., Any] | None = None
    narrow: Callable[..., Any] | None = None
    domain: tuple[float, float] | None = None
    commutative: bool = False
    associative: bool = False
    exact: bool = False
    involution: bool = False
    own_format: bool = False
    neutral: Element = no_element
    absorbing: Element = no_element
    signs: tuple[int, ...] = ()
    chooses: int = 0
    bitwise: str = ""
    of_bools: str = ""
    identity: bool = False
    picks: bool = False
    puts: bool = False
    c_library: Mapping[str, str] = field(default_factory=dict)
    weight: int = 1
    speculatable: bool = False
    fills_registers: bool = False
    magnitude: Magnitude = inf
    near: float = 0
    nonnegative: str = ""
    on_indices: Callable[..., Index | None] | None = None

    def may_reorder(self, dtype: np.dtype[Any]) -> bool:
        """True if a reduction of a dtype gives the same bits in any order."""
        is_rounded = dtype.kind not in "biu" and not self.exact
        return self.commutative and self.associative and not is_rounded

    def may_combine(self, dtype: np.dtype[Any]) -> bool:
        """True if a reduction of a dtype may be reassociated, up to rounding, and begin with a
        neutral element."""
        return self.commutative and self.associative and self.neutral(dtype) is not None

    @property
    def has_graphs(self) -> bool:
        """True if it has regions: its rules take and return lists, one item a result."""
        return self.kind in ("call", "control")

    def result_types(
        self, types: Sequence[ArrayType], params: Mapping[str, Any]
    ) -> tuple[ArrayType, ...]:
        """Infer the types of the results; raises as NumPy does for operands that do not fit."""
        result = self.type_rule(*types, **params)
        return (result,) if isinstance(result, ArrayType) else tuple(result)

    def __repr__(self) -> str:
        return self.name


# The families of rows that few programs need; `transpile.primitives` says which.
RARE_ROWS = Rest()
TABLE: Table[str, Primitive] = Table(RARE_ROWS)
BY_UFUNC: Table[Any, Primitive] = Table(RARE_ROWS)


# The module that registered each row, by the row's name.
_modules: dict[str, ModuleType | None] = {}


def register(row: Primitive) -> Primitive:
    """Add a row to the table. Raises ValueError where there is one of that name.

    A row of a module that is not there any more gives way: its import was interrupted, and has
    begun again.
    """
    if TABLE.has(row.name) and not _is_gone(_modules[row.name]):
        raise ValueError(f"there is a primitive {row.name!r} already")
    _modules[row.name] = _module_being_run()
    TABLE[row.name] = row
    if row.ufunc is not None and BY_UFUNC.setdefault(row.ufunc, row).name == row.name:
        BY_UFUNC[row.ufunc] = row
    return row


def _module_being_run() -> ModuleType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return sys.modules.get(frame.f_globals["__name__"]) if frame is not None else None


def _is_gone(module: ModuleType | None) -> bool:
    return module is not None and sys.modules.get(module.__name__) is not module
