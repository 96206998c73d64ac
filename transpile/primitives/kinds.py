"""Constructors of primitives by kind: each fills the columns that all primitives of a kind share.

    exp = transcendental("exp", np.exp, domain=(-20, 20), jvp=lambda t, out, x: t * out)

gives `exp` its type rule, C, cost, dtypes and batching rule, and registers it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.ir.dims import Index, Shape
from transpile.ir.primitive import (
    Axis,
    Element,
    NoRule,
    Order,
    Permuted,
    PermuteRule,
    Primitive,
    register,
)
from transpile.ir.types import BOOL, ArrayType, kind_letter, real_dtype
from transpile.primitives.rules import (
    ByOperand,
    Rule,
    batch_elementwise,
    batch_first,
    flat,
    linear,
    permute_alike,
)

if TYPE_CHECKING:
    from typing import Unpack

    from transpile.ir.primitive import Facts


def common_shape(types: tuple[ArrayType, ...]) -> Shape:
    """The shape of the operands, which is one but for scalars. Raises TypeError otherwise."""
    shapes = {t.shape for t in types if t.shape}
    if len(shapes) > 1:
        raise TypeError(f"the operands have different shapes: {', '.join(map(str, types))}")
    return next(iter(shapes), ())


def _check_equal_dtypes(types: tuple[ArrayType, ...]) -> None:
    if len({t.dtype for t in types}) > 1:
        raise TypeError(f"the operands have different dtypes: {', '.join(map(str, types))}")


def same_type(*types: ArrayType) -> ArrayType:
    """Type rule of elementwise primitives whose result has the operands' dtype."""
    _check_equal_dtypes(types)
    return ArrayType(common_shape(types), types[0].dtype)


def bool_type(*types: ArrayType) -> ArrayType:
    """Type rule of elementwise primitives whose result is a bool."""
    _check_equal_dtypes(types)
    return ArrayType(common_shape(types), BOOL)


def real_type(*types: ArrayType) -> ArrayType:
    """Type rule of elementwise primitives whose result is the real dtype of the operands'."""
    _check_equal_dtypes(types)
    return ArrayType(common_shape(types), real_dtype(types[0].dtype))


def first_type(*types: ArrayType) -> ArrayType:
    """Type rule of elementwise primitives of mixed dtypes, whose result has the first one's."""
    return ArrayType(common_shape(types), types[0].dtype)


def number(**by_kinds: complex) -> Element:
    """The column of an element that depends on the dtype's kind: `number(iu=0, f=-0.0)`."""

    @cache
    def element(dtype: np.dtype[Any]) -> Any:
        letter = kind_letter(dtype)
        for kinds, value in by_kinds.items():
            if letter in kinds:
                return np.asarray(value, dtype)[()]
        return None

    return element


def lowest(dtype: np.dtype[Any]) -> Any:
    """The smallest element of a dtype; complex numbers are ordered lexicographically."""
    if dtype.kind in "iu":
        return dtype.type(np.iinfo(dtype).min)
    return number(b=False, f=-np.inf, c=complex(-np.inf, -np.inf))(dtype)


def highest(dtype: np.dtype[Any]) -> Any:
    """The largest element of a dtype; complex numbers are ordered lexicographically."""
    if dtype.kind in "iu":
        return dtype.type(np.iinfo(dtype).max)
    return number(b=True, f=np.inf, c=complex(np.inf, np.inf))(dtype)


def unchanged(x: Index) -> Index:
    """The identity on subscripts."""
    return x


def scaled(x: Index, y: Index) -> Index | None:
    """The product of subscripts if one is a number; that of two symbols is not bounded: None."""
    return x * y if isinstance(x, int) or isinstance(y, int) else None


def all_bits(dtype: np.dtype[Any]) -> Any:
    """The bool or integer whose bits are all set; None for other dtypes."""
    return np.invert(np.zeros((), dtype))[()] if dtype.kind in "biu" else None


TRANSCENDENTAL_WEIGHT = 10  # the throughput cost in vector code, relative to an addition
# Calls, and operators that are undefined behaviour for some integers.
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
    e: str = "",
    **facts: Unpack[Facts],
) -> Primitive:
    """Register a primitive whose result at an index depends on the operands at that index alone.

    `c` is an expression over x, y, z in Python's syntax; `b`, `i`, `u` and `z` replace it for
    bools, signed and unsigned integers, and complex numbers. `e` is that of halves, where it is
    computed on their bits, exactly. A function in it is the helper of that
    name for the operand's dtype, or the C library's. Unsigned integers narrower than int use `i`:
    C promotes them to int, which may overflow. `jvp` is a rule, or one for each operand: (tangent,
    result, *operands) -> its term of the result's tangent. `facts` are further columns of
    `Primitive`.
    """
    facts.setdefault("weight", TRANSCENDENTAL_WEIGHT if transcendental else min(cost, 1))
    facts.setdefault("speculatable", facts["weight"] <= 1 and not _CALL_OR_TRAP.search(c))
    columns = {kind: text for kind, text in zip("biuce", (b, i, u, z, e), strict=True) if text}
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
            permute=permute_alike,
            domain=domain,
            **facts,
        )
    )


def combining(name: str, numpy: np.ufunc, c: str, **columns: Any) -> Primitive:
    """Register an elementwise primitive that is commutative and associative, as reductions need."""
    return elementwise(name, numpy, c, commutative=True, associative=True, **columns)


_COMPARISONS: dict[frozenset[int], Primitive] = {}


def comparison(
    name: str, numpy: np.ufunc, c: str, *, signs: tuple[int, ...], **columns: Any
) -> Primitive:
    """Register a comparison, which is true where x - y has one of these signs."""
    primitive = elementwise(name, numpy, c, result="bool", signs=signs, **columns)
    _COMPARISONS[frozenset(signs)] = primitive
    return primitive


def comparison_of(*signs: int) -> Primitive:
    """The comparison that is true where x - y has one of these signs."""
    return _COMPARISONS[frozenset(signs)]


def rounding(
    name: str, numpy: np.ufunc, *, dtypes: str = "f", hlo: str | Mapping[str, str] = ""
) -> Primitive:
    """Register a rounding to an integer that is within 1 of the operand."""
    return elementwise(
        name,
        numpy,
        f"{name}(x)",
        dtypes=dtypes,
        jvp=flat,
        exact=True,
        magnitude=lambda x: x + 1,
        c_library={"f": name},
        hlo=hlo,
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
    """Register an elementary function under NumPy's name; C has `asin` for `arcsin`."""
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
    permute: PermuteRule | None = None,
) -> Primitive:
    """Register a view: the result at an index is the operand at `index(...)`; nothing is computed.

    `shift(axis, **params)` gives the params of the view of a batch, whose axis is the first;
    `permute` those of the view with its axes in another order.
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
            permute=permute,
        )
    )


def next_axes(_: Axis, *, axes: tuple[int, ...]) -> dict[str, Any]:
    """The params of a reduction of each example of a batch, whose axis is the first."""
    return {"axes": tuple(a + 1 for a in axes)}


_REDUCTIONS: dict[str, Primitive] = {}


def _permuted_reduction(order: Order, x: ArrayType, *, axes: tuple[int, ...]) -> Permuted:
    kept = [a for a in range(x.ndim) if a not in axes]
    moved = iter([kept[a] for a in order])
    inner = tuple(a if a in axes else next(moved) for a in range(x.ndim))
    return [inner], {"axes": axes}


def reduction(
    name: str,
    numpy: Callable[..., Any],
    combine: str,
    *,
    dtypes: str = "biufc",
    jvp: Rule | None = None,
    transpose: Rule | None = None,
    has_identity: bool = True,
) -> Primitive:
    """Register a reduction along `axes` by the binary primitive `combine`."""

    def type_rule(operand: ArrayType, *, axes: tuple[int, ...]) -> ArrayType:
        return operand.with_shape(tuple(d for i, d in enumerate(operand.shape) if i not in axes))

    def reduced(operand: ArrayType, *, axes: tuple[int, ...]) -> list[Index]:
        return [operand.shape[axis] for axis in axes]

    primitive = register(
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
            permute=_permuted_reduction,
            nonempty=None if has_identity else reduced,
        )
    )
    _REDUCTIONS[combine] = primitive
    return primitive


def reduction_by(combine: Primitive, dtype: np.dtype[Any]) -> Primitive | None:
    """The reduction by a binary primitive, or by the logical one that it is on bools; None where
    there is none."""
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
    """Register an inclusive scan along `axis` by the binary primitive `combine`."""

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
