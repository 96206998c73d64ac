"""How updates of an element are made in any order, with the same bits in all of them.

    integers             one access that adds, or takes the larger, the smaller, both
    narrow integers      the same of a copy in int32, as memory has no such access for them
    maximum of floats    the larger of integers that are ordered as the floats are
    sum of floats        integers, too: multiples of a power of 2, which is chosen for each element
                         by the largest of what is added to it. A first pass finds that
    complex, halves      the same of their parts, and of copies in float32
    assignments          the last one: a first pass finds which iteration has it

A sum of floats is rounded to the format once, behind all additions, so that it is at least as exact
as one that is computed in their order. Infinities and NaNs are added by themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from transpile.codegen.c_functions import applied
from transpile.ir.dims import Dim, Index, Shape, Symbol, bounds
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    Declare,
    DType,
    Expr,
    If,
    IndexValue,
    Literal,
    Load,
    Ref,
    Statement,
    Store,
)
from transpile.ir.primitive import TABLE
from transpile.ir.types import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    finfo,
    is_half,
    real_dtype,
)
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.device_ir import AtomicUpdate
from transpile.util.frozen_records import dataclass

Body = tuple[Statement, ...]
# What stands in place of an update of an element by a value.
Make = Callable[[Shape, Expr], Body]
# Updates of an element of an array of a runtime size are fewer than two to this power.
_MOST_BITS = 34
# Bits of the sums of parts of floats: one is the sign.
_SUM_BITS = 62


@dataclass(frozen=True)
class Way:
    """Updates of elements in any order.

    element  the index of an element in what is done `before` and `behind` all of them
    updates  for each pass over the updates what stands in place of one
    """

    element: Symbol
    before: Body
    updates: tuple[Make, ...]
    behind: Body


class Ways:
    """Finds ways; `arrays` are the temporaries that these take."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.arrays: list[Buffer] = []

    def of_stores(self, buffer: Buffer, number: Index, count: Index) -> Way:
        """The last of all stores, by the numbers of the iterations that have them."""
        most = bounds(count)[1]
        dtype = INT32 if most is not None and most < 1 << 31 else INT64
        element, at = self._element(buffer)
        last = self._array("last", buffer, dtype)
        own = _convert(IndexValue(number), dtype)

        def found(at: Shape, _: Expr) -> Body:
            return (AtomicUpdate(Load(last.name, at, dtype), "maximum", own),)

        def stored(at: Shape, value: Expr) -> Body:
            is_last = Apply("equal", (Load(last.name, at, dtype), own), BOOL)
            return (If(is_last, (Store(buffer.name, at, value),)),)

        return Way(element, (Store(last.name, at, _number(-1, dtype)),), (found, stored), ())

    def of_updates(self, buffer: Buffer, op: str, count: Index) -> Way | None:
        """Updates by an operation; None for those that depend on their order."""
        dtype = buffer.dtype
        if op == "subtract":
            way = self.of_updates(buffer, "add", count)
            return way and _of_values(way, lambda x: applied("negative", (x,), x.dtype))
        primitive = TABLE[op]
        if dtype == BOOL:  # the numbers 0 and 1
            as_number = TABLE[primitive.of_bools or op].bitwise or (op if primitive.atomic else "")
            return self._widened(buffer, INT32, as_number, count) if as_number else None
        if dtype.kind in "iu":
            if not primitive.atomic:
                return None
            if dtype.itemsize < INT32.itemsize:
                return self._widened(buffer, INT32, op, count)
            return Way(self._element(buffer)[0], (), (_accessed(buffer, op),), ())
        if is_half(dtype):
            return self._widened(buffer, FLOAT32, op, count)
        if op == "add":
            return self._parts(buffer, count) if dtype.kind == "c" else self._sum(buffer, count)
        if primitive.atomic and primitive.chooses and dtype.kind == "f":
            return self._extreme(buffer, op)
        return None

    # ------------------------------------------------------------------------------- other formats

    def _widened(self, buffer: Buffer, dtype: DType, op: str, count: Index) -> Way | None:
        """The updates of a copy in another format."""
        wide = self._array(f"{buffer.name}_wide", buffer, dtype)
        way = self.of_updates(wide, op, count)
        if way is None:
            return None
        at = (Dim.of(way.element),)
        element = _convert(Load(buffer.name, at, buffer.dtype), dtype)
        behind = Store(buffer.name, at, _convert(Load(wide.name, at, dtype), buffer.dtype))
        widened = _of_values(way, lambda x: _convert(x, dtype))
        return Way(
            way.element,
            (Store(wide.name, at, element), *way.before),
            widened.updates,
            (*way.behind, behind),
        )

    def _parts(self, buffer: Buffer, count: Index) -> Way:
        """The sums of the parts of complex numbers."""
        dtype = real_dtype(buffer.dtype)
        element, at = self._element(buffer)
        arrays = {}
        arrays["real"] = self._array(f"{buffer.name}_re", buffer, dtype)
        arrays["imag"] = self._array(f"{buffer.name}_im", buffer, dtype)
        number = Load(buffer.name, at, buffer.dtype)
        before: list[Statement] = []
        behind: list[Statement] = []
        updates: list[tuple[Make, ...]] = []
        for part, array in arrays.items():
            way = self._sum(array, count, element)
            before += [Store(array.name, at, Apply(part, (number,), dtype)), *way.before]
            behind += way.behind
            updates.append(_of_values(way, partial(_part, part, dtype)).updates)
        both = tuple(Load(array.name, at, dtype) for array in arrays.values())
        behind.append(Store(buffer.name, at, Apply("complex", both, buffer.dtype)))

        def together(makes: tuple[Make, ...]) -> Make:
            return lambda place, value: tuple(s for make in makes for s in make(place, value))

        passes = tuple(map(together, zip(*updates, strict=True)))
        return Way(element, tuple(before), passes, tuple(behind))

    # ------------------------------------------------------------------------------ floats

    def _extreme(self, buffer: Buffer, op: str) -> Way:
        """The largest floats, or the smallest, by unsigned integers in their order: the bits with
        the sign turned, and all of them of negative numbers. NaN is beyond all numbers."""
        element, at = self._element(buffer)
        dtype = np.dtype(f"u{buffer.dtype.itemsize}")
        bits = 8 * dtype.itemsize
        sign, every = _number(1 << (bits - 1), dtype), _number((1 << bits) - 1, dtype)
        none, nan = _number(0, dtype), every
        if TABLE[op].chooses < 0:
            none, nan = nan, none
        keys = self._array("keys", buffer, dtype)

        def update(place: Shape, value: Expr) -> Body:
            x = self._scalar("x", value)
            number = self._scalar("bits", Apply("bits", (_ref(x),), dtype))
            negative = Apply("greater_equal", (_ref(number), sign), BOOL)
            key = _select(
                negative,
                Apply("invert", (_ref(number),), dtype),
                Apply("bitwise_or", (_ref(number), sign), dtype),
            )
            key = _select(Apply("isnan", (_ref(x),), BOOL), nan, key)
            return (x, number, AtomicUpdate(Load(keys.name, place, dtype), op, key))

        key = Load(keys.name, at, dtype)
        positive = Apply("greater_equal", (key, sign), BOOL)
        of_key = _select(
            positive, Apply("bitwise_xor", (key, sign), dtype), Apply("invert", (key,), dtype)
        )
        number = Apply("float_from_bits", (of_key,), buffer.dtype)
        result = Apply(op, (Load(buffer.name, at, buffer.dtype), number), buffer.dtype)
        any_ = Apply("not_equal", (key, none), BOOL)
        behind = If(any_, (Store(buffer.name, at, result),))
        return Way(element, (Store(keys.name, at, none),), (update,), (behind,))

    def _sum(self, buffer: Buffer, count: Index, element: Symbol | None = None) -> Way:
        """The sums of floats, in integers: of x * 2^(bits - e), where 2^e is more than any number
        that is added to the element. Numbers in double precision have two such parts."""
        element = element or self._element(buffer)[0]
        at = (Dim.of(element),)
        dtype = buffer.dtype
        most = bounds(count)[1]
        bits = _SUM_BITS - min(_MOST_BITS, _MOST_BITS if most is None else int(most).bit_length())
        parts = -(-(finfo(dtype).nmant + 8) // bits)
        exponents = self._array("exponents", buffer, INT32)
        sums = [self._array("sums", buffer, INT64) for _ in range(parts)]

        def found(place: Shape, value: Expr) -> Body:
            x = self._scalar("x", value)
            exponent = Apply("exponent", (_ref(x),), INT32)
            raised = AtomicUpdate(Load(exponents.name, place, INT32), "maximum", exponent)
            special = AtomicUpdate(Load(buffer.name, place, dtype), "add", _ref(x))
            zero = Apply("not_equal", (_ref(x), _number(0, dtype)), BOOL)
            return (x, If(_is_finite(x), (If(zero, (raised,)),), (special,)))

        def added(place: Shape, value: Expr) -> Body:
            x = self._scalar("x", value)
            up = Apply(
                "subtract", (_number(bits, INT32), Load(exponents.name, place, INT32)), INT32
            )
            scaled = self._scalar("scaled", _scaled(_convert(_ref(x), FLOAT64), up))
            made: list[Statement] = [scaled]
            for number, array in enumerate(sums):
                part = self._scalar("part", _convert(_ref(scaled), INT64))
                made += [part, AtomicUpdate(Load(array.name, place, INT64), "add", _ref(part))]
                if number < parts - 1:
                    rest = Apply("subtract", (_ref(scaled), _convert(_ref(part), FLOAT64)), FLOAT64)
                    scaled = self._scalar("scaled", _scaled(rest, _number(bits, INT32)))
                    made.append(scaled)
            return (x, If(_is_finite(x), tuple(made)))

        smallest = int(finfo(dtype).minexp) - finfo(dtype).nmant
        before = [Store(exponents.name, at, _number(smallest, INT32))]
        before += [Store(array.name, at, _number(0, INT64)) for array in sums]
        down = Apply("subtract", (Load(exponents.name, at, INT32), _number(bits, INT32)), INT32)
        total: Expr | None = None
        any_: Expr | None = None
        for array in reversed(sums):
            sum_ = Load(array.name, at, INT64)
            number = _convert(sum_, FLOAT64)
            if total is not None:
                number = Apply("add", (number, _scaled(total, _number(-bits, INT32))), FLOAT64)
            total = number
            is_there = Apply("not_equal", (sum_, _number(0, INT64)), BOOL)
            any_ = is_there if any_ is None else Apply("logical_or", (is_there, any_), BOOL)
        assert total is not None and any_ is not None
        own = Load(buffer.name, at, dtype)
        result = Apply("add", (own, _convert(_scaled(total, down), dtype)), dtype)
        behind = If(any_, (Store(buffer.name, at, result),))
        return Way(element, tuple(before), (found, added), (behind,))

    # ---------------------------------------------------------------------------------- names

    def _element(self, buffer: Buffer) -> tuple[Symbol, Shape]:
        """The index of an element of an array, and its subscript."""
        symbol = Symbol(self.names.new("element"), 0, product(buffer.shape))
        return symbol, (Dim.of(symbol),)

    def _array(self, hint: str, like: Buffer, dtype: DType) -> Buffer:
        buffer = Buffer(self.names.new(hint), like.shape, dtype)
        self.arrays.append(buffer)
        return buffer

    def _scalar(self, hint: str, value: Expr) -> Declare:
        return Declare(self.names.new(hint), value)


def _accessed(buffer: Buffer, op: str) -> Make:
    return lambda at, value: (AtomicUpdate(Load(buffer.name, at, buffer.dtype), op, value),)


def _of_values(way: Way, function: Callable[[Expr], Expr]) -> Way:
    """The way for other values."""
    updates = tuple(lambda at, value, make=make: make(at, function(value)) for make in way.updates)
    return Way(way.element, way.before, updates, way.behind)


def _part(part: str, dtype: DType, x: Expr) -> Expr:
    return Apply(part, (x,), dtype)


def _convert(x: Expr, dtype: DType) -> Expr:
    return x if x.dtype == dtype else Apply("convert_element_type", (x,), dtype)


def _number(value: int, dtype: DType) -> Literal:
    return Literal(dtype.type(value), dtype)


def _ref(declared: Declare) -> Ref:
    return Ref(declared.name, declared.dtype)


def _select(condition: Expr, chosen: Expr, other: Expr) -> Expr:
    return Apply("select", (condition, chosen, other), chosen.dtype)


def _scaled(x: Expr, exponent: Expr) -> Expr:
    return Apply("ldexp", (x, exponent), x.dtype)


def _is_finite(x: Declare) -> Expr:
    return Apply("isfinite", (_ref(x),), BOOL)
