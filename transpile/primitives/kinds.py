"""The kinds of primitives: each fills the columns that all its rows share."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.ir.dims import Index, Shape
from transpile.ir.primitive import Axis, Element, NoRule, Primitive, register
from transpile.ir.types import BOOL, ArrayType, kind_letter, real_dtype
from transpile.primitives.rules import ByOperand, Rule, batch_elementwise, batch_first, flat, linear

if TYPE_CHECKING:
    from typing import Unpack

    from transpile.ir.primitive import Facts


def common_shape(types: tuple[ArrayType, ...]) -> Shape:
    """The one shape of the operands; scalars (constants) may stand beside arrays."""
    shapes = {t.shape for t in types if t.shape}
    if len(shapes) > 1:
        raise TypeError(f"the operands have different shapes: {', '.join(map(str, types))}")
    return next(iter(shapes), ())


def _check_equal_dtypes(types: tuple[ArrayType, ...]) -> None:
    if len({t.dtype for t in types}) > 1:
        raise TypeError(f"the operands have different dtypes: {', '.join(map(str, types))}")


def same_type(*types: ArrayType) -> ArrayType:
    """Elementwise, and the result has the operands' dtype."""
    _check_equal_dtypes(types)
    return ArrayType(common_shape(types), types[0].dtype)


def bool_type(*types: ArrayType) -> ArrayType:
    """Elementwise, and the result is a bool."""
    _check_equal_dtypes(types)
    return ArrayType(common_shape(types), BOOL)


def real_type(*types: ArrayType) -> ArrayType:
    """Elementwise, and the result is real."""
    _check_equal_dtypes(types)
    return ArrayType(common_shape(types), real_dtype(types[0].dtype))


def first_type(*types: ArrayType) -> ArrayType:
    """Elementwise, operands of different dtypes, and the result has the first one's."""
    return ArrayType(common_shape(types), types[0].dtype)


def number(**by_kinds: complex) -> Element:
    """The same number for all dtypes of some kinds: `number(iu=0, f=-0.0)`."""

    @cache
    def element(dtype: np.dtype[Any]) -> Any:
        letter = kind_letter(dtype)
        for kinds, value in by_kinds.items():
            if letter in kinds:
                return np.asarray(value, dtype)[()]
        return None

    return element


def lowest(dtype: np.dtype[Any]) -> Any:
    """The number of a dtype that is below all others; complex ones are ordered by their real part,
    then by their imaginary one."""
    if dtype.kind in "iu":
        return dtype.type(np.iinfo(dtype).min)
    return number(b=False, f=-np.inf, c=complex(-np.inf, -np.inf))(dtype)


def highest(dtype: np.dtype[Any]) -> Any:
    """The number of a dtype that is above all others."""
    if dtype.kind in "iu":
        return dtype.type(np.iinfo(dtype).max)
    return number(b=True, f=np.inf, c=complex(np.inf, np.inf))(dtype)


def unchanged(x: Index) -> Index:
    """The subscript itself."""
    return x


def scaled(x: Index, y: Index) -> Index | None:
    """The product of two subscripts, of which one is a number: of two symbols it has no bounds."""
    return x * y if isinstance(x, int) or isinstance(y, int) else None


def all_bits(dtype: np.dtype[Any]) -> Any:
    """The bool or integer of which all bits are set."""
    return np.invert(np.zeros((), dtype))[()] if dtype.kind in "biu" else None


# The time of an elementary function in vector lanes, that of an addition being 1.
TRANSCENDENTAL_WEIGHT = 10
# Calls, and operators that are undefined for some integers.
_CALL_OR_TRAP = re.compile(r"\w\(|[/%]|<<|>>")
_TYPE_RULES = {"same": same_type, "bool": bool_type, "real": real_type, "first": first_type}


def elementwise(
    name: str,
    numpy: Callable[..., Any],
    c: str,
    *,
    dtypes: str = "biufc",
    result: str | Callable[..., ArrayType] = "same",
    transcendental: bool = False,
    cost: int = 1,
    domain: tuple[float, float] | None = None,
    jvp: Rule | tuple[Rule, ...] | None = None,
    transpose: Rule | None = None,
    b: str = "",
    i: str = "",
    u: str = "",
    z: str = "",
    **facts: Unpack[Facts],
) -> Primitive:
    """A row whose result at an index depends on the operands at that index alone.

    `c` is an expression over x, y, z in Python's syntax; `b`, `i`, `u` and `z` are others for
    bools, signed and unsigned integers, and complex numbers. A function in it is the helper of that
    name for the operand's dtype, or the C library's. Unsigned integers narrower than int use the
    `i` column, where C's promotion to int needs the same care as signed overflow. `jvp` has a rule
    for each operand, (tangent, result, *operands) -> its share of the result's tangent. `facts` are
    those columns of `Primitive`, where they are unusual.
    """
    facts.setdefault("weight", TRANSCENDENTAL_WEIGHT if transcendental else min(cost, 1))
    facts.setdefault("speculatable", facts["weight"] <= 1 and not _CALL_OR_TRAP.search(c))
    columns = {kind: text for kind, text in zip("biuc", (b, i, u, z), strict=True) if text}
    return register(
        Primitive(
            name,
            "elementwise",
            numpy,
            _TYPE_RULES[result] if isinstance(result, str) else result,
            c={"": c, **columns},
            dtypes=dtypes,
            transcendental=transcendental,
            cost=cost,
            ufunc=numpy if isinstance(numpy, np.ufunc) else None,
            jvp=_derivative(jvp),
            transpose=transpose,
            batch=batch_elementwise(name),
            domain=domain,
            **facts,
        )
    )


def combining(name: str, numpy: np.ufunc, c: str, **columns: Any) -> Primitive:
    """An elementwise row of two operands by which many elements become one, in any order."""
    return elementwise(name, numpy, c, commutative=True, associative=True, **columns)


_COMPARISONS: dict[frozenset[int], Primitive] = {}


def comparison(
    name: str, numpy: np.ufunc, c: str, *, signs: tuple[int, ...], **columns: Any
) -> Primitive:
    """A comparison of two numbers, which holds where x - y has one of these signs."""
    row = elementwise(name, numpy, c, result="bool", signs=signs, **columns)
    _COMPARISONS[frozenset(signs)] = row
    return row


def comparison_of(*signs: int) -> Primitive:
    """The comparison of x and y that holds where x - y has one of these signs."""
    return _COMPARISONS[frozenset(signs)]


def rounding(name: str, numpy: np.ufunc, *, dtypes: str = "f") -> Primitive:
    """A whole number next to the operand."""
    return elementwise(
        name,
        numpy,
        f"{name}(x)",
        dtypes=dtypes,
        jvp=flat,
        exact=True,
        magnitude=lambda x: x + 1,
        c_library={"f": name},
    )


def _derivative(jvp: Rule | tuple[Rule, ...] | None) -> Rule | None:
    if jvp is None or isinstance(jvp, NoRule):
        return jvp
    return ByOperand(jvp if isinstance(jvp, tuple) else (jvp,))


def transcendental(
    name: str,
    ufunc: np.ufunc,
    *,
    dtypes: str = "fc",
    arity: int = 1,
    domain: tuple[float, float] | None = None,
    jvp: Rule | tuple[Rule, ...] | None = None,
    **facts: Unpack[Facts],
) -> Primitive:
    """An elementary function, called by its NumPy name; C has `asin` for `arcsin`."""
    own = name.replace("arc", "a")
    facts.setdefault("c_library", {"f": own, "c": f"c{own}"} if "c" in dtypes else {"f": own})
    arguments = "x" if arity == 1 else "x, y"
    return elementwise(
        name,
        ufunc,
        f"{name}({arguments})",
        dtypes=dtypes,
        transcendental=True,
        domain=domain,
        jvp=jvp,
        **facts,
    )


def view(
    name: str,
    numpy: Callable[..., Any],
    type_rule: Callable[..., ArrayType],
    index: Callable[..., Any],
    *,
    transpose: Rule,
    shift: Callable[..., dict[str, Any]],
) -> Primitive:
    """A row that only renames elements: the result at an index is the operand at another one.

    `shift(axis, **params)` gives the params with a new axis in front.
    """
    return register(
        Primitive(
            name,
            "view",
            numpy,
            type_rule,
            index=index,
            cost=0,
            weight=0,
            picks=True,
            jvp=linear(name),
            transpose=transpose,
            batch=batch_first(name, shift),
        )
    )


def next_axes(_: Axis, *, axes: tuple[int, ...]) -> dict[str, Any]:
    """The params of a reduction with a new axis in front."""
    return {"axes": tuple(a + 1 for a in axes)}


_REDUCTIONS: dict[str, Primitive] = {}


def reduction(
    name: str,
    numpy: Callable[..., Any],
    combine: str,
    *,
    dtypes: str = "biufc",
    jvp: Rule | None = None,
    transpose: Rule | None = None,
) -> Primitive:
    """A row that combines all elements along `axes` with the binary primitive `combine`."""

    def type_rule(operand: ArrayType, *, axes: tuple[int, ...]) -> ArrayType:
        return operand.with_shape(tuple(d for i, d in enumerate(operand.shape) if i not in axes))

    row = register(
        Primitive(
            name,
            "reduce",
            numpy,
            type_rule,
            combine=combine,
            dtypes=dtypes,
            jvp=_derivative(jvp),
            transpose=transpose,
            batch=batch_first(name, next_axes),
        )
    )
    _REDUCTIONS[combine] = row
    return row


def reduction_by(combine: Primitive, dtype: np.dtype[Any]) -> Primitive | None:
    """The row that reduces by a binary primitive: of bools, by what it is of them."""
    is_logic = dtype == BOOL and combine.of_bools != ""
    return _REDUCTIONS.get(combine.of_bools if is_logic else combine.name)


def scan(
    name: str,
    numpy: Callable[..., Any],
    combine: str,
    *,
    dtypes: str = "iufc",
    jvp: Rule | None = None,
    transpose: Rule | None = None,
) -> Primitive:
    """A row that combines each element with all that stand before it along `axis`."""

    def type_rule(operand: ArrayType, *, axis: int, reverse: bool) -> ArrayType:
        return operand.strong

    def meaning(x: Any, *, axis: int, reverse: bool) -> Any:
        if reverse:
            return np.flip(numpy(np.flip(x, axis), axis=axis, dtype=x.dtype), axis)
        return numpy(x, axis=axis, dtype=x.dtype)

    return register(
        Primitive(
            name,
            "scan",
            meaning,
            type_rule,
            combine=combine,
            dtypes=dtypes,
            jvp=_derivative(jvp),
            transpose=transpose,
            batch=batch_first(
                name, lambda _, *, axis, reverse: {"axis": axis + 1, "reverse": reverse}
            ),
        )
    )
