"""What an entry checks of runtime sizes before anything is computed: that each is in its range,
that no array is larger than addresses go, and what was declared.

An array's bytes are a polynomial in the sizes. Where that is a multiple of one size, it is a bound
of that size; otherwise the product is checked factor by factor, as it might overflow. Arrays that
are provably no larger than another one need no check of their own. Inequalities that were declared
are checked last, when no size is too large for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transpile.codegen.line_wrapping import type_text
from transpile.ir.calls import Call
from transpile.ir.dims import (
    Dim,
    Index,
    Monomial,
    Shape,
    Symbol,
    bounds,
    sides,
    substitute,
    terms_of,
)
from transpile.ir.indices.estimates import ADDRESSABLE
from transpile.ir.indices.lengths import lengths_of, most_of
from transpile.ir.indices.requirements import equal_in, neither_text
from transpile.ir.loop_ir import Buffer, Program
from transpile.ir.loop_rewrite import walk
from transpile.machine.platforms import platform_of
from transpile.options import Options
from transpile.util.frozen_records import dataclass, replace


@dataclass(frozen=True)
class Check:
    """A condition on runtime sizes, and the `text` of the error where it does not hold.

    One of: the size is from `low` to `high` and a multiple of its unit; an array of this shape has
    at most `high` elements; one of some pairs is `equal`; `smaller` is at most `larger`.
    """

    text: str
    size: Symbol | None = None
    low: int = 0
    high: int = 0
    shape: Shape = ()
    smaller: Index = 0
    larger: Index = 0
    equal: tuple[tuple[Index, Index], ...] = ()

    @property
    def power(self) -> int:
        """n, if `high` is 2**n and long to write; else 0."""
        high = self.high
        return high.bit_length() - 1 if high > 1 << 20 and not high & (high - 1) else 0


def size_checks(program: Program, options: Options) -> list[Check]:
    """The checks of a program's sizes, in the order of their error codes, from -3 down."""
    if not program.sizes:
        return []
    most_bytes = _most_bytes(program, options)
    highest: dict[Symbol, int] = {}
    arrays: list[Check] = []
    for buffer in _largest(program):
        of_size = _multiple_of_size(buffer.size_in_bytes)
        if of_size is not None:
            size, factor = of_size
            highest[size] = min(highest.get(size, most_bytes), most_bytes // factor)
        else:
            text = f"{buffer.name}, {type_text(buffer)}, has more than {most_bytes} bytes"
            most = most_bytes // buffer.dtype.itemsize
            arrays += _of_shape(buffer.shape, most, text)
    ranges = [_of_size(size, highest.get(size, most_bytes)) for size in program.sizes]
    facts = {fact: None for size in program.sizes for fact in size.facts}
    arrays = [*dict.fromkeys(arrays), *_of_calls(program)]
    declared = dict.fromkeys(check for fact in facts for check in _of_fact(fact))
    return [*ranges, *arrays, *declared, *_required(program, of_lengths=False)]


def length_checks(program: Program) -> list[Check]:
    """The checks of lengths that the program finds, whose error codes follow on those of sizes: one
    for each inequality, of which several may have a text."""
    return _required(program, of_lengths=True)


def _required(program: Program, *, of_lengths: bool) -> list[Check]:
    """The checks of what operations need of lengths, or of sizes of the caller's."""
    return [
        Check(text, smaller=a, larger=b)
        for a, b, text in program.required
        if bool(lengths_of(b - a)) == of_lengths
    ]


def helpers_of_checks(program: Program, options: Options) -> set[str]:
    """The functions of runtime_c that the checks call."""
    return {"has_at_most" for check in size_checks(program, options) if check.shape}


def _most_bytes(program: Program, options: Options) -> int:
    """The most bytes of an array, so that addresses and the size of the workspace are exact."""
    if platform_of(options.target).address_bits == 64:
        return ADDRESSABLE
    return (1 << 31) // (len(program.temporaries) + 1)


def _of_shape(shape: Shape, most: int, text: str) -> Iterator[Check]:
    """The checks that a shape has at most so many elements. An extent that is a product counts by
    its factors; before a sum of products is computed, each of these is checked."""
    factors: list[Index] = []
    for extent in shape:
        for dividend in _dividends(extent):
            yield from _of_products(dividend, ADDRESSABLE, text)
        match terms_of(extent):
            case [(monomial, factor)] if factor > 0:
                factors += [*_factors(monomial), *([factor] if factor > 1 else [])]
            case _:
                yield from _of_products(extent, most, text)
                factors.append(extent)
    yield Check(text, high=most, shape=tuple(factors))


def _of_products(extent: Index, most: int, text: str) -> Iterator[Check]:
    """The checks that no product in a sum is more than `most`."""
    for monomial, factor in terms_of(extent):
        if len(monomial) > 1:
            yield Check(text, high=most // abs(factor), shape=_factors(monomial))


def _dividends(extent: Index) -> Iterator[Index]:
    """What is divided in an extent, the innermost first."""
    for monomial, _ in terms_of(extent):
        for atom in monomial:
            if not isinstance(atom, Symbol):
                for part in (atom.dividend, atom.divisor):
                    yield from _dividends(part)
                    yield part


def _of_size(size: Symbol, highest: int) -> Check:
    unit = size.unit
    low, declared = size.lower * unit, bounds(Dim.of(size))[1]
    power = 1 << (highest.bit_length() - 1)  # which is shorter to write
    if declared is not None and declared <= power:
        among = "" if unit == 1 else f"a multiple of {unit} from "
        text = f"{size} is not {among}{low} to {declared * unit}"
        return Check(text, size, low, declared * unit)
    multiple = "" if unit == 1 else f"no multiple of {unit}, "
    text = f"{size} is less than {low}, {multiple}or arrays would be too large"
    return Check(text, size, low, power * unit)


def _of_fact(fact: Dim) -> Iterator[Check]:
    """The checks that a declared inequality holds, the sizes being in their ranges: before a
    product is compared, that it does not overflow."""
    smaller, larger = sides(fact)
    text = f"{smaller} <= {larger} does not hold"
    if alternatives := equal_in(fact):
        yield Check(neither_text(fact), equal=alternatives)
        return
    match terms_of(smaller):
        case [(monomial, factor)] if isinstance(larger, int) and len(monomial) > 1:
            yield Check(text, high=larger // factor, shape=_factors(monomial))
            return
    for monomial, factor in fact.terms:
        product = Dim(((monomial, abs(factor)),))
        high = bounds(product)[1]
        if len(monomial) > 1 and (high is None or high > ADDRESSABLE):
            too_large = f"{product} is more than {ADDRESSABLE}"
            yield Check(too_large, high=ADDRESSABLE // abs(factor), shape=_factors(monomial))
    yield Check(text, smaller=smaller, larger=larger)


def _of_calls(program: Program) -> Iterator[Check]:
    """The checks of sizes that are more than routines can count."""
    limits: dict[tuple[Index, int], None] = {}
    for statement in (s for kernel in program.kernels for s in walk(kernel.body)):
        if isinstance(statement, Call):
            sizes = [(_over_loops(size, program.sizes), most) for size, most in statement.limits]
            limits.update(dict.fromkeys(sizes))
    for size, most in limits:
        high = bounds(size)[1]
        if high is None or high > most:
            yield Check(f"{size} is more than {most}", smaller=size, larger=most)


def _over_loops(size: Index, known: Sequence[Symbol]) -> Index:
    """What a size is at most, whichever iteration of the loops around it is. Of what values of the
    program say nothing is known: there is memory for as much as the caller has room for."""
    total: Index = 0
    for monomial, factor in terms_of(most_of(size)):
        part = Dim(((monomial, factor),))
        loops = part.symbols() - {*known}
        most: dict[Symbol, Index] = {s: 0 if s.extent is None else s.extent - 1 for s in loops}
        if not loops:
            total = total + part
        elif factor > 0 and not any(
            m == 0 or (isinstance(m, int) and m > ADDRESSABLE) for m in most.values()
        ):  # loops may end at what those around them count
            total = total + _over_loops(substitute(part, most), known)
    return most_of(total)


def _factors(monomial: Monomial) -> Shape:
    return tuple(Dim((((atom,), 1),)) for atom in monomial)


def range_text(size: Symbol) -> str:
    """The range of a size, for the comment of a program."""
    unit = size.unit
    high = bounds(Dim.of(size))[1]
    least = size.lower * unit
    text = f"{size}: at least {least}" if high is None else f"{size}: {least} to {high * unit}"
    return text if unit == 1 else f"{text}, a multiple of {unit}"


def _largest(program: Program) -> Iterator[Buffer]:
    """The arrays whose sizes depend on runtime sizes, but those that are provably no larger than
    an array before them."""
    kept: list[Buffer] = []
    candidates = (*program.inputs, *program.outputs, *program.temporaries)
    for buffer in (replace(b, shape=tuple(map(most_of, b.shape))) for b in candidates):
        if isinstance(buffer.size_in_bytes, int):
            continue
        if not any(_is_at_most(buffer.size_in_bytes, other.size_in_bytes) for other in kept):
            kept = [b for b in kept if not _is_at_most(b.size_in_bytes, buffer.size_in_bytes)]
            kept.append(buffer)
    yield from kept


def _is_at_most(size: Index, other: Index) -> bool:
    """True if a size is provably no larger than another one."""
    slack = bounds(other - size)[0]
    return slack is not None and slack >= 0


def _multiple_of_size(index: Index) -> tuple[Symbol, int] | None:
    """(size, factor) for an index that is factor times a size."""
    if isinstance(index, Dim) and len(index.terms) == 1:
        (monomial, factor) = index.terms[0]
        if len(monomial) == 1 and isinstance(monomial[0], Symbol):
            return monomial[0], factor
    return None
