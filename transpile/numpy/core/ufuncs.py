"""The ufuncs and Python's operators on traced arrays.

The installed NumPy decides the dtypes (`ufunc.resolve_dtypes`, with Python types for weak
operands); the primitive of the ufunc, or one of the rules below, makes the equations.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.ir.dims import Shape
from transpile.ir.graph import Const
from transpile.ir.primitive import BY_UFUNC, Primitive
from transpile.ir.types import BOOL, INT64, PYTHON_SCALARS, check_dtype, computed_dtype, kind_letter
from transpile.numpy.core.promotion import (
    Array,
    DType,
    NumpyErrors,
    as_operand,
    cast,
    common_shape,
    convert,
    fill,
    fit,
    fit_all,
    is_empty,
    is_weak,
    kept_bfloat16,
    kind_of,
    refuse,
    shape_of,
    strengthen,
    unsupported,
    weaken,
)
from transpile.numpy.core.promotion import error as located
from transpile.primitives import elementwise as primitives
from transpile.primitives.elementary import primitives as elementary
from transpile.primitives.elementary.whole_powers import whole_power
from transpile.primitives.elementwise import bits as _bits  # noqa: F401 (any trace may call its ufuncs)
from transpile.trace.bytecode.call_resolution import of_package
from transpile.trace.trace import bind, current_trace
from transpile.trace.tracer import RARE_FUNCTIONS, UFUNC_METHODS, Tracer
from transpile.trace.views.results import equations_so_far, lies_in_rows, note_results
from transpile.util.lazy.imports import Later
from transpile.util.lazy.registry import Table

if TYPE_CHECKING:
    from transpile.numpy.subscripts import bounds
else:
    bounds = Later("transpile.numpy.subscripts.bounds")

Operands = Sequence[Any]
Loop = tuple[DType, ...]  # the dtypes of a ufunc's loop, inputs first
Rule = Callable[[Any, Operands, Loop], Any]

RULES: dict[Any, Rule] = {}
# Generalized ufuncs: they have a signature, and shapes of their own.
SPECIAL: Table[Any, Callable[..., Any]] = Table(RARE_FUNCTIONS)


def resolve(
    ufunc: Any,
    operands: Operands,
    dtype: Any = None,
    casting: str = "same_kind",
    signature: Any = None,
) -> Loop:
    """The dtypes of the loop that NumPy chooses for operands, inputs first."""
    if dtype is not None:
        signature = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    elif signature is not None:
        signature = _signature(ufunc, signature)
    kinds = kept_bfloat16([kind_of(v) for v in operands])
    if all(isinstance(k, type) for k in kinds):  # NumPy would leave these to Python's objects
        kinds = [PYTHON_SCALARS[k] for k in kinds]
    with NumpyErrors():
        options = {} if signature is None else {"signature": signature}
        if casting == "equiv":
            _check_equivalent(ufunc, kinds, options)
        loop = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout), casting=casting, **options)
        return tuple(check_dtype(d, f"numpy.{ufunc.__name__}'s loop") for d in loop)


def _check_equivalent(ufunc: Any, kinds: Operands, options: dict[str, Any]) -> None:
    """NumPy's error about a Python number that is not of the loop's dtype, with which its own
    `resolve_dtypes` crashes."""
    loop = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout), casting="unsafe", **options)
    for kind, dtype in zip(kinds, loop, strict=False):
        if isinstance(kind, type) and PYTHON_SCALARS[kind] != dtype:
            raise TypeError(
                f"cannot cast Python {kind.__name__} to {dtype} under the casting rule 'equiv'"
            )


def _signature(ufunc: Any, given: Any) -> tuple[Any, ...]:
    """A signature as dtypes, inputs first: NumPy takes `"dd->d"` as well."""
    if isinstance(given, str) and "->" in given:
        given = tuple(given.replace("->", ""))
    elif not isinstance(given, tuple) or len(given) == 1:
        raise located(TypeError, "Use `dtype` or  fill the tuple with more than one 'None'.")
    with NumpyErrors():
        return tuple(None if d is None else np.dtype(d) for d in given)


def call(
    ufunc: Any,
    *operands: Array,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    subok: bool = True,
    signature: Any = None,
    sig: Any = None,
    **axes: Any,
) -> Any:
    """The result of a ufunc, or a tuple of its results.

    Where the mask `where` does not hold, NumPy's result is undefined, and this one 0.
    """
    name = ufunc.__name__
    special = None if ufunc.signature is None else SPECIAL.get(ufunc)
    if special is None:
        refuse(name, **axes)
    given = out if isinstance(out, tuple) else (out,)
    if any(o is not None for o in given) or len(operands) > ufunc.nin:
        given = operands[ufunc.nin :] or given
        settings = {"dtype": dtype, "casting": casting, "signature": signature or sig, **axes}
        return _into(ufunc, operands[: ufunc.nin], given, where, settings)
    if len(operands) < ufunc.nin:
        raise located(
            TypeError,
            f"{name}() takes from {ufunc.nin} to {ufunc.nin + ufunc.nout} "
            f"positional arguments but {len(operands)} were given",
        )
    values = [as_operand(v) for v in operands]
    since = equations_so_far()
    if special is not None:
        refuse(name, where=None if where is True else where)
        settings = {**axes, "order": order}
        results = special(*values, dtype=dtype, **axes)
        return note_results(ufunc, tuple(values), settings, results, since)
    rule = RULES.get(ufunc)
    if rule is None and ufunc in BY_UFUNC:
        rule = _row_rule
    if rule is None:
        if getattr(np, name, None) is not ufunc:
            ours = of_package(ufunc, "scipy")
            if ours is not None:
                settings = {"where": where, "dtype": dtype, "casting": casting}
                return ours(*operands, **settings)
            raise unsupported(
                f"{name!r} is a ufunc of another package than NumPy, which only computes with "
                f"values. docs/scipy.md has those of SciPy that can be traced."
            )
        raise unsupported(f"numpy.{name} is not supported on traced arrays yet")
    loop = resolve(ufunc, values, dtype, casting, sig if signature is None else signature)
    result = rule(ufunc, values, loop)
    if _BOOLS_ARE_WEAK[0] and _of_bools_and_numbers(values) and loop[-1] != BOOL:
        result = weaken(result)
    if where is True and order in ("K", "C") and all(map(lies_in_rows, values)):
        return result
    settings = {"order": order}
    if where is not True:
        result, settings["where"] = _where(result, where), where
    return note_results(ufunc, tuple(values), settings, result, since)


_BOOLS_ARE_WEAK = [False]


def take_bools_as_weak(are_weak: bool) -> None:
    """Say whether what a traced bool and Python's numbers give is weak, as in JAX: `1 - b` then
    takes the dtype of the array it meets. In NumPy it is int64. For the whole process."""
    _BOOLS_ARE_WEAK[0] = are_weak


def _of_bools_and_numbers(values: Operands) -> bool:
    """True for arrays of bools with at least one Python number that is none."""
    kinds = [kind_of(v) for v in values]
    numbers = [isinstance(k, type) and k is not bool for k in kinds]
    return any(numbers) and all(n or k in (bool, BOOL) for n, k in zip(numbers, kinds, strict=True))


def _where(result: Any, where: Array) -> Any:
    """The results where a mask holds, and 0 elsewhere."""
    if isinstance(result, tuple):
        return tuple(_where(r, where) for r in result)
    mask = as_operand(False if where is None else where)  # as NumPy reads None
    kind = BOOL if type(mask) is bool else mask.dtype
    if kind != BOOL:
        raise located(
            TypeError,
            f"Cannot cast array data from {kind!r} to {BOOL!r} according to the rule 'safe'",
        )
    shape = common_shape(result, mask)
    test = fit(mask, shape, BOOL)
    return bind(
        primitives.select, test, fit(result, shape, result.dtype), fill(0, (), result.dtype)
    )


def _into(
    ufunc: Any, operands: Operands, given: Operands, where: Any, settings: dict[str, Any]
) -> Any:
    """The results, assigned to the arrays given as `out` where the mask holds."""
    trace = current_trace()
    since = len(trace.equations) if trace is not None else 0
    computed = call(ufunc, *operands, **settings)
    results = list(computed) if isinstance(computed, tuple) else [computed]
    for position, (target, result) in enumerate(zip(given, results, strict=True)):
        if target is not None:
            chosen = result if where is True else np.where(where, result, target)
            chosen = _repeated(chosen, shape_of(target))
            rule = settings["casting"]
            results[position] = UFUNC_METHODS["out"](target, chosen, ufunc.__name__, since, rule)
    return tuple(results) if isinstance(computed, tuple) else results[0]


def _repeated(result: Any, shape: Shape) -> Any:
    """A result for an array of a shape that it may be repeated to; others as they are."""
    given = shape_of(result)
    pairs = zip(given[::-1], shape[::-1], strict=False)
    fits = len(given) <= len(shape) and all(a in (1, b) for a, b in pairs)
    return fit(result, shape, result.dtype) if fits and given != shape else result


def apply(primitive: Primitive, operands: Operands, dtypes: Sequence[DType]) -> Any:
    """Apply an elementwise primitive to operands converted to these dtypes and to one shape."""
    return bind(primitive, *fit_all(operands, dtypes))


def _row_rule(ufunc: Any, operands: Operands, loop: Loop) -> Any:
    result = apply(BY_UFUNC[ufunc], operands, loop[: ufunc.nin])
    return convert(result, loop[-1])


# -------------------------------------------------------------------------------- special rules


def rule(*ufuncs: Any) -> Callable[[Rule], Rule]:
    """Register the rule of ufuncs that are not a single primitive."""

    def decorate(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(ufuncs, function))
        return function

    return decorate


_COMPARISONS = {
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}


@rule(*_COMPARISONS)
def _compare(ufunc: Any, operands: Operands, loop: Loop) -> Any:
    """Comparisons are exact between all integers: of any sign, and with Python ints of any size."""
    compare = _COMPARISONS[ufunc]
    if {loop[0].kind, loop[1].kind} <= {"i", "u"}:
        for position, value in enumerate(operands):
            other = kind_of(operands[1 - position])
            if type(value) is int and other != BOOL and not _holds(loop[position], value):
                pair = (value, 0) if position == 0 else (0, value)
                return fill(compare(*pair), common_shape(*operands), BOOL)
        if any(isinstance(v, Tracer) and v.type.weak for v in operands):
            loop = tuple(
                INT64 if d.kind == "i" or d.itemsize < 8 or _is_traced_weak(v) else d
                for v, d in zip(operands, loop[:2], strict=True)
            )
        if loop[0] != loop[1]:
            return _compare_signs(ufunc, operands, loop)
    return apply(BY_UFUNC[ufunc], operands, loop[:2])


def _is_traced_weak(value: Any) -> bool:
    return isinstance(value, Tracer) and value.type.weak


def _holds(dtype: DType, value: int) -> bool:
    limits = np.iinfo(dtype)
    return bool(limits.min <= value <= limits.max)


def _compare_signs(ufunc: Any, operands: Operands, loop: Loop) -> Any:
    """int64 with uint64: a negative number is below every unsigned one."""
    signed = 0 if loop[0].kind == "i" else 1
    values = fit_all(operands, loop[:2])
    zero = np.zeros((), INT64)
    as_unsigned = list(values)
    as_unsigned[signed] = _constant_or_convert(values[signed], loop[1 - signed])
    same = bind(BY_UFUNC[ufunc], *as_unsigned)
    below = _COMPARISONS[ufunc](-1, 0) if signed == 0 else _COMPARISONS[ufunc](0, -1)
    if below:
        return bind(primitives.logical_or, bind(primitives.less, values[signed], zero), same)
    return bind(primitives.logical_and, bind(primitives.greater_equal, values[signed], zero), same)


def _constant_or_convert(value: Any, dtype: DType) -> Any:
    return convert(value.value if isinstance(value, Const) else value, dtype)


@rule(np.isnan, np.isinf, np.isfinite)
def _predicate(ufunc: Any, operands: Operands, loop: Loop) -> Any:
    if kind_letter(loop[0]) in "fc":
        return _row_rule(ufunc, operands, loop)
    return fill(ufunc is np.isfinite, common_shape(*operands), BOOL)


@rule(np.positive)
def _identity(ufunc: Any, operands: Operands, loop: Loop) -> Any:
    result = strengthen(convert(operands[0], loop[0]))
    return bind(primitives.copy, result) if result is operands[0] and result.ndim else result


@rule(np.floor, np.ceil, np.trunc, np.conjugate)
def _identity_of_some(ufunc: Any, operands: Operands, loop: Loop) -> Any:
    exact = loop[0].kind != "c" if ufunc is np.conjugate else loop[0].kind in "biu"
    return (_identity if exact else _row_rule)(ufunc, operands, loop)


@rule(np.isnat)
def _not_a_time(ufunc: Any, operands: Operands, loop: Loop) -> Any:
    raise located(TypeError, "ufunc 'isnat' is only defined for np.datetime64 and np.timedelta64.")


@rule(np.fabs)
def _fabs(ufunc: Any, operands: Operands, loop: Loop) -> Any:
    return apply(primitives.absolute, operands, loop[:1])


@rule(np.degrees, np.rad2deg)
def _degrees(ufunc: Any, operands: Operands, loop: Loop) -> Any:
    return _scaled(operands[0], loop[0], lambda real: real(180) / real(np.pi))


@rule(np.radians, np.deg2rad)
def _radians(ufunc: Any, operands: Operands, loop: Loop) -> Any:
    return _scaled(operands[0], loop[0], lambda real: real(np.pi) / real(180))


def _scaled(x: Any, dtype: DType, factor: Callable[[Any], Any]) -> Any:
    """The product with a constant, which NumPy rounds to float32 even for float16."""
    wide = computed_dtype(dtype)
    scale = np.asarray(factor(wide.type))
    return convert(apply(primitives.multiply, (convert(x, dtype), scale), (wide, wide)), dtype)


@rule(np.frexp)
def _frexp(ufunc: Any, operands: Operands, loop: Loop) -> Any:
    parts = primitives.mantissa, primitives.exponent
    return tuple(apply(part, operands, loop[:1]) for part in parts)


@rule(np.modf)
def _modf(ufunc: Any, operands: Operands, loop: Loop) -> Any:
    (x,) = fit_all(operands, loop[:1])
    whole = bind(primitives.trunc, x)
    rest = bind(primitives.subtract, x, whole)
    finite = bind(primitives.select, bind(primitives.isinf, x), np.zeros((), loop[0]), rest)
    return bind(primitives.copysign, finite, x), whole


@rule(np.divmod)
def _divmod(ufunc: Any, operands: Operands, loop: Loop) -> Any:
    x, y = fit_all(operands, loop[:2])
    return bind(primitives.floor_divide, x, y), bind(primitives.remainder, x, y)


@rule(np.float_power)
def _float_power(ufunc: Any, operands: Operands, loop: Loop) -> Any:
    return _power(np.power, operands, loop)


@rule(np.power)
def _power(ufunc: Any, operands: Operands, loop: Loop) -> Any:
    """A power; a known exponent of one element takes NumPy's shortcuts, seen at -0 and infinity."""
    exponent = operands[1]
    known = None if isinstance(exponent, Tracer) else cast(exponent, loop[1])
    shape = common_shape(*operands)
    if loop[0].kind == "i" and not is_empty(shape):
        bounds.check_powers(exponent if known is None else known)
    if known is not None and known.size == 1 and loop[0].kind != "c":
        value = known.reshape(-1)[0]
        if value == 2:
            return bind(primitives.square, fit_all(operands, loop[:2])[0])
        if kind_letter(loop[0]) == "f" and value == 1:
            return strengthen(fit_all(operands, loop[:2])[0])
        if kind_letter(loop[0]) == "f" and value == 0:
            return fill(1, shape, loop[0])
        if kind_letter(loop[0]) == "f" and value in (0.5, -1):
            primitive = elementary.sqrt if value == 0.5 else primitives.reciprocal
            return bind(primitive, fit_all(operands, loop[:2])[0])
    both_traced = known is None and isinstance(operands[0], Tracer)
    if both_traced and exponent.dtype.kind in "iu" and kind_letter(loop[0]) in "fc":
        return whole_power(*fit_all(operands, loop[:2]))
    return apply(elementary.power, operands, loop[:2])


def _power_operator(base: Any, exponent: Any) -> Any:
    """`base ** exponent`: NumPy's operator has shortcuts that its function has not."""
    if type(exponent) in (int, float) and isinstance(base, Tracer):
        is_shortcut = exponent in (0.5, 2) or (exponent == -1 and type(exponent) is int)
        if base.dtype.kind == "c" and is_shortcut:
            return call({0.5: np.sqrt, 2: np.square, -1: np.reciprocal}[exponent], base)
        if base.dtype == BOOL and type(exponent) is int and exponent == 2:
            return call(np.square, base)
    return call(np.power, base, exponent)


# ------------------------------------------------------------------------------------ operators

_SYMBOLS = {
    np.add: "+",
    np.subtract: "-",
    np.multiply: "*",
    np.divide: "/",
    np.floor_divide: "//",
    np.remainder: "%",
    np.divmod: "divmod()",
    np.power: "** or pow()",
    np.matmul: "@",
    np.bitwise_and: "&",
    np.bitwise_or: "|",
    np.bitwise_xor: "^",
    np.left_shift: "<<",
    np.right_shift: ">>",
    np.less: "<",
    np.less_equal: "<=",
    np.greater: ">",
    np.greater_equal: ">=",
    np.invert: "~",
}
_BITS = (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
_ONLY_INTEGERS = (*_BITS, np.left_shift, np.right_shift, np.invert)
_ORDERS = _COMPARISONS.keys() - {np.equal, np.not_equal}
_ONLY_REALS = (np.floor_divide, np.remainder, np.divmod, *_ORDERS)
_RANK = (bool, int, float, complex)


def apply_operator(ufunc: Any, *operands: Any) -> Any:
    """A Python operator: the ufunc, except that Python scalars among themselves stay Python's."""
    values = [as_operand(v) for v in operands]
    if not all(map(is_weak, values)):
        if ufunc is np.power:
            return _power_operator(*values)
        return call(ufunc, *values)
    kinds = [kind_of(v) for v in values]
    python = [bool if k is BOOL else k for k in kinds]
    highest = max(python, key=_RANK.index)
    if (
        ufunc is np.matmul
        or (ufunc in _ONLY_INTEGERS and highest in (float, complex))
        or (ufunc in _ONLY_REALS and highest is complex)
    ):
        raise located(TypeError, _refusal(ufunc, python))
    result = _python_type(ufunc, values, highest)
    if ufunc in (np.positive, np.conjugate) and result is highest:
        return values[0]
    dtype = PYTHON_SCALARS[result]
    if ufunc is np.power and dtype == INT64 and isinstance(values[1], Tracer):
        return weaken(apply(elementary.power, values, (dtype, dtype)))  # NumPy's raises exceptions
    if ufunc is np.power:  # which has a rule for exponents that are integers
        return weaken(call(ufunc, convert(values[0], dtype), strengthen(values[1])))
    return weaken(call(ufunc, *[convert(v, dtype) for v in values]))


def _refusal(ufunc: Any, python: list[type]) -> str:
    names = [f"'{p.__name__}'" for p in python]
    if len(names) == 1:
        return f"bad operand type for unary {_SYMBOLS[ufunc]}: {names[0]}"
    if ufunc in _COMPARISONS:
        return f"'{_SYMBOLS[ufunc]}' not supported between instances of {names[0]} and {names[1]}"
    return f"unsupported operand type(s) for {_SYMBOLS[ufunc]}: {names[0]} and {names[1]}"


def _python_type(ufunc: Any, values: Operands, highest: type) -> type:
    """The Python type in which an operator computes."""
    if ufunc is np.divide and highest in (bool, int):
        return float
    if highest is bool and ufunc not in (*_BITS, np.invert) and ufunc not in _COMPARISONS:
        return int
    if ufunc is np.power and highest is int and type(values[1]) is int and values[1] < 0:
        return float
    return highest


UFUNC_METHODS["__call__"] = call
UFUNC_METHODS["operator"] = apply_operator
