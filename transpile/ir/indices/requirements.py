"""What an operation requires of runtime sizes, asked while a function is traced.

Sizes that are 1 or another size, as `n == m or n == 1` declares, broadcast. An element of such an
axis is read with a stride of 0 or 1, which follows from the size when the program is called:
1 // n is 1 for the size 1, and 0 for greater ones.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from transpile.errors import UndecidedSizeError
from transpile.ir.dims import (
    Atom,
    Dim,
    Index,
    Quotient,
    Remainder,
    Symbol,
    bounds,
    floor_divide,
    modulo,
    normal_form,
    sides,
    symbols_of,
    terms_of,
    without_facts,
)
from transpile.ir.indices.lengths import (
    index_error,
    is_checked_later,
    is_refused_by_call,
    lengths_in,
)
from transpile.ir.indices.polynomial_text import declaration, undecided
from transpile.util.interrupt_safety import THREAD


def may_be_0(extent: Index) -> bool:
    """True if an extent is a runtime size for which 0 is allowed."""
    return isinstance(extent, Dim) and bounds(extent)[0] in (None, 0)


def is_at_most(smaller: Index, larger: Index) -> bool:
    """True if `smaller <= larger` for all runtime sizes."""
    slack = bounds(larger - smaller)[0]
    return slack is not None and slack >= 0


def is_open(one: Index, other: Index) -> bool:
    """True if which of two sizes is smaller depends on their values."""
    return not (is_at_most(one, other) or is_at_most(other, one))


def require(smaller: Index, larger: Index, what: str, words: str = "") -> None:
    """Raise UndecidedSizeError unless `smaller <= larger` for all runtime sizes, which `what`
    needs. Where it is one of lengths, or NumPy refuses other sizes with an error of these `words`,
    the program checks it."""
    if not is_at_most(smaller, larger):
        if is_checked_later(smaller, larger, words or f"{what} needs {smaller} <= {larger}"):
            return
        if words and THREAD.assumed is None and is_refused_by_call(smaller, larger, words):
            return
        a, b = sides(larger - smaller)
        text = (
            f"{what} needs {smaller} <= {larger}, which does not follow from what is declared of "
            f"the sizes; declare it: {declaration(a, '<=', b)}"
        )
        assumed = THREAD.assumed
        is_settled = assumed is not None and (
            assumed.covers(larger - smaller, text)
            or (words and not assumed.is_short and is_refused_by_call(smaller, larger, words))
        )
        if not is_settled:
            raise UndecidedSizeError(text)


def require_index(index: Index, axis: int, size: Index, start: Index) -> None:
    """Raise UndecidedSizeError unless an index, which is the element `start` of an axis, is one of
    it for all runtime sizes, or the call can end with NumPy's IndexError where it is none."""
    what, words = _texts(index, axis, size)
    require(0, start, what, words)
    require(start + 1, size, what, words)


def require_signed_index(index: Index, axis: int, size: Index, behind: int = 0) -> None:
    """The same for an index that counts from the end of the axis where it turns out less than 0; so
    many indices behind the end are allowed."""
    what, words = _texts(index, axis, size)
    require(0, index + size, what, words)
    require(index + 1, size + behind, what, words)


def _texts(index: Index, axis: int, size: Index) -> tuple[str, str]:
    words = index_error(f"index {index} is out of bounds for axis {axis} with size {size}")
    return f"the index {index} of an axis of size {size}", words


def require_slice(start: Index, limit: Index, size: Index) -> None:
    """Have the program check a slice of an axis whose length it finds."""
    if lengths_in([(start, limit, size)]):
        what = f"a slice from {start} to {limit} of an axis of size {size}"
        for smaller, larger in ((0, start), (start, limit), (limit, size)):
            require(smaller, larger, what)


def extreme(a: Index, b: Index, sign: int) -> Index:
    """The larger of two sizes (sign 1), or the smaller one (-1). Raises UndecidedSizeError where
    which it is depends on their values."""
    for larger, smaller in ((a, b), (b, a)):
        if is_at_most(smaller, larger):
            return larger if sign > 0 else smaller
    raise UndecidedSizeError(undecided(a, b, *sides(b - a)))


def at_least_both(a: Index, b: Index) -> Index:
    """The larger of two sizes or, where which it is depends on their values, their sum: what memory
    for either takes."""
    if is_at_most(a, b):
        return b
    return a if is_at_most(b, a) else a + b


# ------------------------------------------------------------------------ sizes that broadcast


def may_stretch(size: Index, to: Index) -> bool:
    """True if a size is 1 or another one in every call, as was declared."""
    if not any(s.facts for s in symbols_of(size)):
        return False
    if any(without_facts(to) == whole for whole in _wholes(size)):
        return True
    return bounds((size - 1) * (to - size)) == (0, 0)


def common_of(one: Index, other: Index) -> Index | None:
    """The extent of two axes that broadcast, either of which may have one element, as was declared;
    None where it was not."""
    pair = {without_facts(one), without_facts(other)}
    for fact in (f for s in symbols_of(one) for f in s.facts):
        if pair == {*either_stretched_by(fact)}:
            return _whole(*sorted((one, other), key=str))
    return None


def _wholes(size: Index) -> Iterator[Index]:
    """The extents to which an axis broadcasts together with axes that may have one element, too."""
    for fact in (f for s in symbols_of(size) for f in s.facts):
        pair = either_stretched_by(fact)
        if without_facts(size) in pair:
            yield _whole(*pair)


def _whole(one: Index, other: Index) -> Index:
    """The second extent if the first one is 1, and else the first one."""
    if all((bounds(d)[0] or 0) >= 1 for d in (one, other)):
        return one + (other - 1) * floor_divide(1, one)
    is_one = modulo(floor_divide(2, one + 1), 2)
    return other * is_one + one * modulo(is_one + 1, 2)


def broadcast_hint(size: Index, to: Index) -> str:
    """What to declare where runtime sizes do not broadcast, for the error."""
    symbols = symbols_of(size) | symbols_of(to)
    if not symbols or any(s.is_found for s in symbols) or isinstance(size - to, int):
        return ""
    one, other = (size, to) if isinstance(size, Dim) else (to, size)
    names = ", ".join(sorted(map(str, symbols)))
    return (
        f"; if an axis of {one} may have one element, transpile.dims({names!r}, "
        f"'{one} == {other} or {one} == 1') says so"
    )


def stride_of(size: Index) -> Index:
    """0 if a size is 1, and 1 if it is more. Of no elements nothing is read."""
    if isinstance(size, int):
        return 0 if size == 1 else 1
    if bounds(size)[0] in (None, 0):
        return floor_divide(modulo(2, size + 1), 2)
    return 1 - floor_divide(1, size)


@functools.lru_cache(maxsize=64)
def _quotient_of(size: Dim) -> Atom | None:
    """The quotient that the stride of a size is made of, if that is not known."""
    for monomial, _ in terms_of(stride_of(size)):
        for atom in monomial:
            return atom
    return None


def strides_in(index: Index) -> Iterator[Dim]:
    """The sizes whose strides an index has."""
    for monomial, _ in terms_of(index):
        for atom in monomial:
            if isinstance(atom, Quotient):
                for size in _candidates(atom):
                    if atom == _quotient_of(size):
                        yield size
            if not isinstance(atom, Symbol):
                yield from strides_in(atom.dividend)
                yield from strides_in(atom.divisor)


def _candidates(atom: Quotient) -> Iterator[Dim]:
    """The sizes whose stride a quotient may be."""
    if isinstance(atom.divisor, Dim):
        yield atom.divisor
    for monomial, _ in terms_of(atom.dividend):
        for part in monomial:
            if isinstance(part, Remainder):
                size = part.divisor - 1
                if isinstance(size, Dim):
                    yield size


def with_strides(index: Index, size: Dim, stride: int) -> Index:
    """An index in which the stride of a size is known."""
    quotient = _quotient_of(size)
    value = stride if bounds(size)[0] == 0 else 1 - stride
    total: Index = 0
    for monomial, factor in terms_of(index):
        product: Index = factor
        for part in monomial:
            known = value if part == quotient else _rebuilt(part, size, stride)
            product = known * product
        total = product + total
    return total


def _rebuilt(atom: Atom, size: Dim, stride: int) -> Index:
    if isinstance(atom, Symbol):
        return Dim.of(atom)
    divide = floor_divide if isinstance(atom, Quotient) else modulo
    return divide(
        with_strides(atom.dividend, size, stride), with_strides(atom.divisor, size, stride)
    )


def stretched_by(fact: Dim) -> tuple[Dim, Index] | None:
    """The size that is 1 or another one, and that one, if it is what a polynomial says that is 0 or
    more: (size - 1)*(other - size), or its negative."""
    for symbol in sorted(fact.symbols(), key=str):
        size = Dim.of(symbol) * symbol.unit
        without = normal_form({m: c for m, c in fact.terms if symbol not in m})
        for other in (without, without * -1):
            product = (size - 1) * (other - size)
            if isinstance(size, Dim) and fact in (product, product * -1):
                return size, other
    return None


def either_stretched_by(fact: Dim) -> tuple[Dim, ...]:
    """The two sizes of which either is 1 or the other one, in order of their names, if that is what
    a polynomial says that is 0 or more; else none."""
    symbols = sorted(fact.symbols(), key=str)
    if len(symbols) == 2:
        one, other = (Dim.of(s) * s.unit for s in symbols)
        product = (one - 1) * (other - 1) * (one - other)
        if isinstance(one, Dim) and isinstance(other, Dim) and fact in (product, product * -1):
            return one, other
    return ()


def equal_in(fact: Dim) -> tuple[tuple[Index, Index], ...]:
    """The pairs of sizes of which a fact says that one is equal, as it does of axes that broadcast;
    none for other facts."""
    if pair := either_stretched_by(fact):
        return (pair[0], pair[1]), (pair[0], 1), (pair[1], 1)
    stretched = stretched_by(fact)
    return () if stretched is None else ((stretched[0], 1), stretched)


def neither_text(fact: Dim) -> str:
    """What does not hold where declared sizes do not broadcast; "" for other facts."""
    if pair := either_stretched_by(fact):
        return f"{pair[0]} and {pair[1]} are neither equal, nor is one of them 1"
    found = stretched_by(fact)
    return "" if found is None else f"{found[0]} is neither 1 nor {found[1]}"
