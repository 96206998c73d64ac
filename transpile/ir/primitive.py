"""Primitives, the operations of the graph: one record each, in `TABLE`, of name, kind, NumPy
meaning, C, facts and transformation rules.

A primitive is defined by its record alone: passes and transformations read its columns, and name no
primitive. The kinds (`transpile.primitives.kinds`) fill most columns, so that a usual definition
gives four or five. The NumPy meaning is the reference semantics, the oracle of the tests, and the
key by which a call such as `np.sin(tracer)` finds its primitive.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from math import inf
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from transpile.ir.dims import Index
from transpile.ir.indices.requirements import may_be_0, require
from transpile.ir.source_info import user_source
from transpile.ir.types import ArrayType
from transpile.util.frozen_records import cached_property, dataclass
from transpile.util.lazy.registry import Rest, Table

TypeRule = Callable[..., "ArrayType | tuple[ArrayType, ...]"]
# The largest magnitude, or how it follows from those of the operands.
Magnitude = float | Callable[..., float]
# The interval of an integer result, before it wraps around, from those of the operands.
IntervalRule = Callable[..., "tuple[int, int] | None"]
# The axes of an array in an order; operands' orders and params for that of a result; the rule.
Order = tuple[int, ...]
Permuted = tuple[Sequence[Order], Mapping[str, Any]]
PermuteRule = Callable[..., Permuted]
_OPERAND = re.compile(r"\b[xyz]\b")  # in a C column
# A number of a dtype, or None where it has no such number.
Element = Callable[[np.dtype[Any]], Any]


def inverse(order: Order) -> Order:
    """The order that puts axes back which are in this order."""
    return tuple(map(order.index, range(len(order))))


def no_element(_: np.dtype[Any]) -> None:
    """The column of a primitive without such an element, whatever the dtype."""


if TYPE_CHECKING:
    from typing import TypedDict

    class Facts(TypedDict, total=False):
        """The columns of `Primitive` that are facts about it, which passes ask for."""

        commutative: bool
        associative: bool
        exact: bool
        involution: bool
        own_format: bool
        neutral: Element
        absorbing: Element
        leaves_range: str
        signs: tuple[int, ...]
        chooses: int
        idempotent: bool
        of_equals: Element
        bitwise: str
        of_bools: str
        divisor: int | None
        effect: bool
        identity: bool
        agrees: bool
        picks: bool
        puts: bool
        c_library: Mapping[str, str]
        hlo: str | Mapping[str, str]
        weight: int
        speculatable: bool
        fills_registers: bool
        scalar_from: int
        magnitude: Magnitude
        interval: IntervalRule
        near: float
        near_of: Mapping[str, str]
        nonnegative: str
        on_indices: Callable[..., Index | None]
        nonempty: Callable[..., Iterable[Index]]


@dataclass(frozen=True)
class Linear:
    """An operand in which an equation is linear: a transpose rule is given its type, no value."""

    type: ArrayType


@dataclass(frozen=True)
class Axis:
    """The axis that a function is mapped over: its size and the name that collectives know it
    by; of devices the `level` at which they are nested, from 1 on."""

    size: Index
    name: Hashable = None
    level: int = 0

    @property
    def static_size(self) -> int:
        """The size as a number; raises ValueError for one that is known at run time alone."""
        if not isinstance(self.size, int):
            raise ValueError(f"{user_source()}: axis {self.name} has size {self.size}")
        return self.size

    def __str__(self) -> str:
        return f"{self.name!r}:{self.size}{'d' * self.level}"


@dataclass(frozen=True)
class NoRule:
    """The rule of a primitive that cannot have one: raises, with the reason."""

    reason: str

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """Raise a NotImplementedError."""
        raise NotImplementedError(f"{user_source()}: {self.reason}")


@dataclass(frozen=True, eq=False)
class Primitive:
    """An operation of the graph: one record of `TABLE`.

    name          its name in the graph's text
    kind          how it is lowered:
                  elementwise  a scalar expression at each index
                  view         arithmetic on subscripts
                  generate     a scalar expression of the index, without operands
                  piecewise    selected by the range in which the index lies, or by index operands
                  reduce       the elements along axes combined
                  scan         prefixes along an axis combined
                  contract     a contraction, by matrix products
                  routine      a call of the intrinsic of its name for each matrix of a batch; there
                               may be several results
                  fft          Fourier transforms along whole axes
                  convolve     runtime_c/products/conv.h, or matrix products that a pass makes of it
                  window       expanded by a pass into views and simpler primitives
                  sort         runtime_c/arrays/sort.h, along an axis
                  search       runtime_c/arrays/first_of.h, along the last axis
                  composite    expanded by a pass into simpler primitives
                  call         inlined by a pass: the graph in its params
                  control      a loop or branch, whose regions are graphs in its params
                  check        no results; `checkify` makes a value of it, and a pass refuses it
                  callback     a call of a Python function, in its params; it may have results
                  collective   exchanges values with the other participants along `axes`, named
                               axes in its params; it becomes one of the kind `communicate`
                  compact      the elements of vectors where a mask holds, and before them their
                               number, which is the length of these results
                  requirement  an inequality of sizes, without which the program ends with an error
                  communicate  exchanges values with other devices: a call of the program's
                               communicator
    numpy         reference semantics: (*arrays, **params) -> an array
    type_rule     type inference: (*types, **params) -> the result's type; raises TypeError or
                  ValueError as NumPy does
    c             elementwise: the C expression over x, y, z by dtype kind; `""` for all others;
                  `e` for halves, where it is computed on their bits
    index         view: (index, input type, **params) -> the index into the input
    combine       reduce, scan, window, collective: the name of the binary primitive that combines
                  elements
    cost          flops per element; transcendental functions are counted apart
    transcendental  it is counted as a transcendental function
    dtypes        the dtype kinds of its operands
    ufunc         the NumPy ufunc that it is, if any
    library       a library that programs with it are linked with: "lapack"; "" for none
    jvp           (tangents, result, *operands, **params) -> the result's tangent; a zero tangent is
                  None. Of a call or control primitive: (tangents, *operands, **params) ->
                  (results, tangents)
    jvp_gives_result  its jvp rule does so, too, with one of each: what is differentiated has
                  another result, among those that its meaning allows
    transpose     (cotangent, *operands, **params) -> a cotangent for each operand; operands in
                  which the primitive is linear are given as Linear, a zero cotangent is None. Of a
                  call or control primitive the first argument is a list, one for each result
    batch         (axis, batched, *operands, **params) -> (result, is it batched). The batch axis of
                  a batched operand is its first. A call or control primitive gives two lists
    permute       (order, *operand types, **params) -> (an order for each operand, params): with its
                  axes in this order the result is that of operands with theirs in those, and of
                  these params. None where axes are not alike
    accumulate    (total, *operands, **params) -> total + result, where the result is few elements
                  among zeros and only these are added; None where it is not
    partial_eval  control: (equation, unknown, eager) -> the equations of what does not depend on
                  the unknown operands, and those of the rest; None: all of it is the rest. Unless
                  eager, parts are split off only where they give a result of the equation
    dce           control: (equation, read) -> the equation without the results that are not read
    index_ranges  (*operands, **params) -> its index operands, each with its axis of the first
                  operand, and the first index that is out of range
    checked       of a call, control primitive or check: (enabled, *operands, **params) -> (results,
                  checks, number, values), `transpile.transforms.checks`; None: there are no checks
    domain        (low, high) of operands for tests, where not all values are in the domain

    Facts. "To the bit" does not tell NaNs apart.

    commutative   f(x, y) is f(y, x) to the bit, except that an extreme of equal numbers, 0.0 and
                  -0.0, is the first one
    associative   f(f(x, y), z) is f(x, f(y, z)) in real arithmetic
    exact         float results are never rounded: they are numbers of the operands' format, and
                  the same numbers if it is computed in a wider format
    involution    f(f(x)) is x to the bit, where both have one dtype
    own_format    it moves floats or reads their bits: it is never computed in a wider format
    neutral       dtype -> n such that f(x, n) is x to the bit, and f(n, x) where f is commutative;
                  None where there is none
    absorbing     dtype -> a such that f(x, a) and f(a, x) are a for all x; None where there is none
    leaves_range  associative: the dtype kinds of whose reductions parts may be infinite or 0 where
                  the whole, in order, is neither
    signs         comparison: the signs of x - y for which it is true
    chooses       extreme: the sign of x - y for which it is x; NaN propagates
    idempotent    f(f(x, y), y) is f(x, y) to the bit: as f is associative, too, an element may be
                  combined more than once
    of_equals     dtype -> c such that f(x, x) is x + c to the bit; None where there is none
    bitwise       logical: the primitive that does the same to each bit of integers
    atomic        the function of CUDA that updates an integer by it in one access; "" for none
    of_bools      arithmetic: the logical primitive that it is on bools
    divisor       the position of the operand by which it divides
    effect        it is never removed, merged with an equal one, repeated or moved
    identity      the result is the operand: only transformations, not lowering, tell them apart
    agrees        collective: all participants of a group get the same result
    picks         the elements of the result are elements of the first operand
    puts          the result is the first operand with some elements replaced
    c_library     its name in C's library by dtype kind: `f`, and `c` for complex numbers
    hlo           elementwise: its instruction in XLA's HLO, or that by dtype kind; "" for others.
                  What has none there has a rule or an expansion in `transpile.hlo`
    weight        throughput cost per element in vector code, relative to an addition
    speculatable  cheap and without branches, calls and traps for any operands: it may be computed
                  under a false predicate
    fills_registers  its vector code needs all registers: fusing it with other code spills
    scalar_from   integers of so many bits and more have no vector code for it, which keeps what is
                  fused with it out of lanes; 0: all have
    magnitude     an upper bound of |result| for floats, NaN excepted: a number, or a function of
                  the operands' bounds. Signs are unknown, so that cancellation cannot be assumed
    interval      for integers and truth values: (*the least and the largest value of each operand)
                  -> those of the result before it wraps around; None where nothing is known
    near          there is a faster version, NAME_near in C, with the same bits for operands of up
                  to this magnitude; 0 where there is none
    near_of       for each dtype kind with such a version the primitive of the operands whose result
                  has that magnitude; "" for the first operand itself
    nonnegative   the dtype kinds for which no result is negative or -0.0
    on_indices    on subscripts: polynomials -> a polynomial, or None where the result is none
    nonempty      (*operand types, **params) -> the extents along which it needs an element: sizes
                  of which 0 is allowed are refused there
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
    jvp_gives_result: bool = False
    transpose: Callable[..., Any] | None = None
    batch: Callable[..., Any] | None = None
    permute: PermuteRule | None = None
    accumulate: Callable[..., Any] | None = None
    partial_eval: Callable[..., Any] | None = None
    dce: Callable[..., Any] | None = None
    index_ranges: Callable[..., Any] | None = None
    checked: Callable[..., Any] | None = None
    domain: tuple[float, float] | None = None
    commutative: bool = False
    associative: bool = False
    exact: bool = False
    involution: bool = False
    own_format: bool = False
    neutral: Element = no_element
    absorbing: Element = no_element
    leaves_range: str = ""
    signs: tuple[int, ...] = ()
    chooses: int = 0
    idempotent: bool = False
    of_equals: Element = no_element
    bitwise: str = ""
    atomic: str = ""
    of_bools: str = ""
    divisor: int | None = None
    effect: bool = False
    identity: bool = False
    agrees: bool = False
    picks: bool = False
    puts: bool = False
    c_library: Mapping[str, str] = field(default_factory=dict)
    hlo: str | Mapping[str, str] = ""
    weight: int = 1
    speculatable: bool = False
    fills_registers: bool = False
    scalar_from: int = 0
    magnitude: Magnitude = inf
    interval: IntervalRule | None = None
    near: float = 0
    near_of: Mapping[str, str] = field(default_factory=lambda: {"f": ""})
    nonnegative: str = ""
    on_indices: Callable[..., Index | None] | None = None
    nonempty: Callable[..., Iterable[Index]] | None = None

    def is_scalar(self, dtype: np.dtype[Any]) -> bool:
        """True if there is no vector code for it of this dtype."""
        return dtype.kind in "iu" and 0 < self.scalar_from <= 8 * dtype.itemsize

    def may_reorder(self, dtype: np.dtype[Any]) -> bool:
        """True if a reduction of this dtype gives the same bits in any order."""
        is_rounded = dtype.kind not in "biu" and not self.exact
        return self.commutative and self.associative and not is_rounded

    def may_combine(self, dtype: np.dtype[Any]) -> bool:
        """True if a reduction of this dtype may be reassociated, up to rounding, with partial
        results that start from the neutral element."""
        return self.commutative and self.associative and self.neutral(dtype) is not None

    @property
    def _words_of_empty(self) -> str:
        """NumPy's error for an array without elements."""
        if not self.combine:
            return f"attempt to get {self.name} of an empty sequence"
        return f"zero-size array to reduction operation {self.combine} which has no identity"

    @cached_property
    def arity(self) -> int:
        """elementwise: how many operands its C columns have."""
        return len({name for text in self.c.values() for name in _OPERAND.findall(text)})

    @property
    def has_graphs(self) -> bool:
        """True if it has regions: its rules take and return lists, one item a result."""
        return self.kind in ("call", "control")

    def result_types(
        self, types: Sequence[ArrayType], params: Mapping[str, Any]
    ) -> tuple[ArrayType, ...]:
        """Infer the types of the results; raises as NumPy does for operands that do not fit, and
        UndecidedSizeError for a runtime size that may be 0 where it needs an element."""
        if self.nonempty is not None:
            for extent in self.nonempty(*types, **params):
                if may_be_0(extent):
                    what = f"{self.name} over an axis of {extent} elements"
                    require(1, extent, what, self._words_of_empty)
        result = self.type_rule(*types, **params)
        return (result,) if isinstance(result, ArrayType) else tuple(result)

    def __repr__(self) -> str:
        return self.name


# The modules of primitives that few programs need, imported at the first lookup of one of theirs;
# `transpile.primitives` says how.
RARE_FAMILIES = Rest()
TABLE: Table[str, Primitive] = Table(RARE_FAMILIES)
BY_UFUNC: Table[Any, Primitive] = Table(RARE_FAMILIES)


# The module that registered each primitive, by name.
_modules: dict[str, ModuleType | None] = {}


def register(primitive: Primitive) -> Primitive:
    """Add a primitive to the table. Raises ValueError if the name is taken.

    A primitive of a module that is no longer in `sys.modules` is replaced: the module's import was
    interrupted, and runs again.
    """
    name, ufunc = primitive.name, primitive.ufunc
    if TABLE.has(name) and not _is_gone(_modules[name]):
        raise ValueError(f"there is a primitive {name!r} already")
    _modules[name] = _module_being_run()
    TABLE[name] = primitive
    if ufunc is not None and BY_UFUNC.setdefault(ufunc, primitive).name == name:
        BY_UFUNC[ufunc] = primitive
    return primitive


def _module_being_run() -> ModuleType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return sys.modules.get(frame.f_globals["__name__"]) if frame is not None else None


def _is_gone(module: ModuleType | None) -> bool:
    return module is not None and sys.modules.get(module.__name__) is not module
