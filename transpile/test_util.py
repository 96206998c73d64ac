"""check_grads: derivatives against finite differences, for tests of users' functions.

**Forwards.** Along a random direction v the derivative J v that `jvp` gives is compared with the
central difference (f(x + h v) - f(x - h v)) / 2h. Its error is of the order h² from the third
derivative, and of the order ε |f| / h from rounding, ε being the precision of the dtype. The step h
is near ε^(1/3), where both are small, and a power of two. The direction is the one in which the
arguments really move, after rounding.

**Backwards.** For random cotangents w the vector Jᵀw that `vjp` gives must be the transpose:
⟨Jᵀw, v⟩ = ⟨w, J v⟩, with J v from the same central difference.

**Order.** A derivative of order n is checked as the first derivative of the function that computes
the derivative of order n - 1, which has been checked itself: no difference of differences is taken.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from transpile import tree
from transpile.functional.differentiate import jvp, vjp
from transpile.functional.flatten_fun import is_inexact, value_type
from transpile.ir.types import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    PYTHON_SCALARS,
    finfo,
    real_dtype,
)
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_signature import function_name, type_text

__all__ = ["check_grads", "check_jvp", "check_vjp"]

Tolerance = float | Mapping[Any, float] | None

MODES = ("fwd", "rev")
# By the real dtype: the errors allowed, which correct derivatives of functions that vary on the
# scale of 1 stay well below, and the steps.
TOLERANCES = {FLOAT16: 2e-2, FLOAT32: 2e-3, FLOAT64: 1e-5}
STEPS = {FLOAT16: 2.0**-4, FLOAT32: 2.0**-8, FLOAT64: 2.0**-17}
if BFLOAT16 is not None:
    TOLERANCES[BFLOAT16], STEPS[BFLOAT16] = 1e-1, 2.0**-2


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = MODES,
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
) -> None:
    """Raise an AssertionError unless the derivatives of `f` at `args`, up to an order, are those
    that finite differences give along one random direction.

    f           a function of pytrees of arrays and numbers that gives such a pytree. Integers and
                bools in the arguments stay as they are; in the result they are not looked at
    args        the positional arguments
    order       the highest order of derivatives to check: 1, 2, ...
    modes       "fwd" checks `jvp`, "rev" checks `vjp`; higher orders check every sequence of them
    atol, rtol  the absolute and relative errors allowed: a number, or a mapping from dtypes to
                numbers; 1e-5 in double precision and 2e-3 in single, unless given
    eps         the step of the finite differences: 2⁻¹⁷ in double precision and 2⁻⁸ in single,
                unless given. The arguments should be of the order of 1, and `f` smooth near them

    Forwards, (f(x + eps v) - f(x - eps v)) / (2 eps) must be the tangent that `jvp` gives for a
    random direction v. Each element may be off by atol + rtol times its size, and by the rounding
    of the difference. Backwards, the inner product of the difference with random cotangents w must
    be that of v with what `vjp` gives for w; it may be off by atol + rtol times the sum of the
    sizes of its terms, and by rounding. Orders above the first check the derivatives of those
    derivatives in the same way. The precision is that of the coarsest dtype that takes part.

    The message says which mode, order and leaf failed and how far off it is. Raises ValueError for
    an order below 1 and for other modes, and whatever `f` raises.
    """
    if isinstance(modes, str) or not modes or not set(modes) <= set(MODES):
        raise ValueError(f"the modes of check_grads are among {MODES}, not {modes!r}")
    if order < 1:
        raise ValueError(f"check_grads needs an order of at least 1, not {order!r}")
    of_inexact, leaves = _of_inexact(f, tuple(args))
    _check(of_inexact, leaves, order, _Check(function_name(f), modes, _Limits(atol, rtol, eps)), "")


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Raise an AssertionError unless `f_jvp(args, tangents)` gives `f(*args)` and its derivative.

    `f_jvp` is usually `functools.partial(transpile.jvp, f)`. All leaves are floats or complex
    numbers. The further arguments and the method are those of `check_grads`; `err_msg` begins the
    message.
    """
    args, limits, what = tuple(args), _Limits(atol, rtol, eps), err_msg or "JVP"
    expected = f(*args)
    precision = _coarsest([*tree.leaves(args), *tree.leaves(expected)])
    direction, change = _difference(f, args, limits.step(precision))
    result, tangent = f_jvp(args, direction)
    _check_results(expected, result, limits, precision, what)
    _check_types(expected, tangent, f"{what}: the tangent")
    for path, found, (wanted, rounding) in zip(
        tree.structure(expected).paths(), tree.leaves(tangent), change, strict=True
    ):
        allowed = limits.allowed(precision, np.abs(wanted)) + rounding
        _compare(
            found, wanted, allowed, f"{what}: the tangent of the result{path}", "finite differences"
        )


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Raise an AssertionError unless `f_vjp(*args)` gives `f(*args)` and its transposed derivative.

    `f_vjp` is usually `functools.partial(transpile.vjp, f)`. All leaves are floats or complex
    numbers. The further arguments and the method are those of `check_grads`; `err_msg` begins the
    message.
    """
    args, limits, what = tuple(args), _Limits(atol, rtol, eps), err_msg or "VJP"
    expected = f(*args)
    precision = _coarsest([*tree.leaves(args), *tree.leaves(expected)])
    direction, change = _difference(f, args, limits.step(precision))
    result, pullback = f_vjp(*args)
    _check_results(expected, result, limits, precision, what)
    weights = _random_like(np.random.default_rng(1), expected)
    cotangents = pullback(tree.map(_conjugate, weights))
    _check_types(args, cotangents, f"{what}: the cotangents")
    # A pullback is the transpose; with both conjugates it is the adjoint.
    terms = [
        np.conj(v) * np.conj(_wide(c))
        for v, c in zip(map(_wide, tree.leaves(direction)), tree.leaves(cotangents), strict=True)
    ]
    wanted = [
        np.conj(moved) * _wide(w)
        for (moved, _), w in zip(change, tree.leaves(weights), strict=True)
    ]
    rounding = sum(
        float(np.sum(r * np.abs(_wide(w))))
        for (_, r), w in zip(change, tree.leaves(weights), strict=True)
    )
    size = max(sum(float(np.sum(np.abs(t))) for t in group) for group in (terms, wanted))
    _compare(
        sum(float(np.sum(t).real) for t in terms),
        sum(float(np.sum(t).real) for t in wanted),
        limits.allowed(precision, size) + rounding,
        f"{what}: the inner product of the cotangents with a direction",
        "finite differences",
    )


# -------------------------------------------------------------------------------------- recursion


@dataclass(frozen=True)
class _Limits:
    """The tolerances and the step, given by the user or the defaults."""

    atol: Tolerance
    rtol: Tolerance
    eps: float | None

    def step(self, precision: np.dtype[Any]) -> float:
        """The step of finite differences."""
        return STEPS[precision] if self.eps is None else float(self.eps)

    def allowed(self, precision: np.dtype[Any], size: Any) -> Any:
        """The error allowed for a number of this size."""
        absolute, relative = (_tolerance(t, precision) for t in (self.atol, self.rtol))
        return absolute + relative * size


def _tolerance(given: Tolerance, precision: np.dtype[Any]) -> float:
    if isinstance(given, Mapping):
        given = {np.dtype(key): value for key, value in given.items()}.get(precision)
    return TOLERANCES[precision] if given is None else float(given)


@dataclass(frozen=True)
class _Check:
    """The settings of a `check_grads`."""

    name: str
    modes: Sequence[str]
    limits: _Limits


def _of_inexact(
    f: Callable[..., Any], args: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """(function, leaves): the function from the differentiable leaves of the arguments to those of
    the result, and the former leaves."""
    leaves, in_tree = tree.flatten(args)
    moves = [is_inexact(value_type(x)) for x in leaves]

    def of_inexact(*given: Any) -> Any:
        values = iter(given)
        full = [next(values) if m else x for x, m in zip(leaves, moves, strict=True)]
        result = resolved(f)(*in_tree.unflatten(full))
        return tree.map(lambda x: x if is_inexact(value_type(x)) else None, result)

    return of_inexact, tuple(x for x, m in zip(leaves, moves, strict=True) if m)


def _check(
    f: Callable[..., Any], args: tuple[Any, ...], order: int, check: _Check, done: str
) -> None:
    """Check the first derivatives of `f`, and recursively further ones; `done` names `f`."""
    level = 1 + done.count("of")
    limits = (check.limits.atol, check.limits.rtol, check.limits.eps)
    for mode in [mode for mode in MODES if mode in check.modes]:
        name = {"fwd": "JVP", "rev": "VJP"}[mode]
        message = f"check_grads of {check.name}, order {level}, {name}{done}"
        if mode == "fwd":
            check_jvp(f, functools.partial(jvp, f), args, *limits, err_msg=message)
        else:
            check_vjp(f, functools.partial(vjp, f), args, *limits, err_msg=message)
        if order > 1:
            derivative, further = _derivative(f, args, mode)
            _check(derivative, (*args, further), order - 1, check, f" of {name}{done}")


def _derivative(
    f: Callable[..., Any], args: tuple[Any, ...], mode: str
) -> tuple[Callable[..., Any], Any]:
    """The derivative of `f` as a function of the arguments and a direction, and a direction."""
    random = np.random.default_rng(2)

    def pushed(*arguments: Any) -> Any:
        return jvp(f, arguments[:-1], arguments[-1])

    def pulled(*arguments: Any) -> Any:
        return vjp(f, *arguments[:-1])[1](arguments[-1])

    if mode == "fwd":
        return pushed, _random_like(random, args)
    return pulled, _random_like(random, f(*args))


# ---------------------------------------------------------------------------------------- numbers


def _coarsest(leaves: Sequence[Any]) -> np.dtype[Any]:
    """The real dtype of least precision among those of the leaves."""
    dtypes = {real_dtype(value_type(x).dtype) for x in leaves}
    return max(dtypes, key=lambda d: float(finfo(d).eps), default=FLOAT64)


def _wide(x: Any) -> Any:
    """The value in double precision."""
    return np.asarray(x, np.result_type(np.asarray(x).dtype, np.float64))


def _random_like(random: np.random.Generator, values: Any) -> Any:
    """Normally distributed numbers of the types of the leaves."""

    def draw(x: Any) -> Any:
        kind = value_type(x)
        drawn = random.standard_normal(kind.static_shape())
        if kind.dtype.kind == "c":
            drawn = drawn + 1j * random.standard_normal(kind.static_shape())
        return _typed(drawn, x)

    return tree.map(draw, values)


def _typed(value: Any, like: Any) -> Any:
    """The value with the dtype of another, as a Python number if that is one."""
    array = np.asarray(value, value_type(like).dtype)
    return array.item() if type(like) in PYTHON_SCALARS else array


def _conjugate(x: Any) -> Any:
    return _typed(np.conj(x), x)


def _difference(
    f: Callable[..., Any], args: tuple[Any, ...], step: float
) -> tuple[Any, list[tuple[Any, Any]]]:
    """A random direction, and for each leaf of the result its finite difference in that direction
    with a bound of its rounding error."""
    direction = _random_like(np.random.default_rng(0), args)
    ahead, behind = (
        tree.map(lambda x, v, h=h: _typed(x + _typed(h * v, x), x), args, direction)
        for h in (step, -step)
    )
    # The arguments are rounded when they move: this is the direction that they took.
    direction = tree.map(lambda a, b: _typed((a - b) / (2 * step), a), ahead, behind)
    changes = []
    with np.errstate(all="ignore"):
        for a, b in zip(tree.leaves(f(*ahead)), tree.leaves(f(*behind)), strict=True):
            precision = float(finfo(value_type(a).dtype).eps)
            a, b = _wide(a), _wide(b)
            change = np.where(a == b, 0, a - b) / (2 * step)  # inf - inf is no change
            changes.append((change, precision * (np.abs(a) + np.abs(b)) / step))
    return direction, changes


# ------------------------------------------------------------------------------------ comparisons


def _check_types(expected: Any, found: Any, what: str) -> None:
    """Raise AssertionError unless structure, shapes and dtypes are equal."""
    lines = tree.differences(tree.structure(expected), tree.structure(found))
    if lines:
        raise AssertionError(f"{what}: the structure differs: {'; '.join(lines)}")
    for path, x, y in zip(
        tree.structure(expected).paths(), tree.leaves(expected), tree.leaves(found), strict=True
    ):
        if value_type(x).strong != value_type(y).strong:
            raise AssertionError(
                f"{what}{path} is a {type_text(value_type(y))} instead of a "
                f"{type_text(value_type(x))}"
            )


def _check_results(
    expected: Any, found: Any, limits: _Limits, precision: np.dtype[Any], what: str
) -> None:
    """Raise AssertionError unless a transformation returns the results of the function."""
    _check_types(expected, found, f"{what}: the result")
    for path, x, y in zip(
        tree.structure(expected).paths(), tree.leaves(expected), tree.leaves(found), strict=True
    ):
        allowed = limits.allowed(precision, np.abs(_wide(x)))
        _compare(y, x, allowed, f"{what}: the result{path}", "calls of the function")


def _compare(found: Any, wanted: Any, allowed: Any, what: str, source: str) -> None:
    """Raise AssertionError where the error of a value is larger than allowed."""
    found, wanted = _wide(found), _wide(wanted)
    allowed = np.broadcast_to(np.asarray(allowed, np.float64), wanted.shape)
    with np.errstate(all="ignore"):
        same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
        error = np.where(same, 0.0, np.abs(found - wanted))
        excess = np.where(np.isnan(error), np.inf, error - allowed)
    wrong = ~((error <= allowed) | same)
    if wrong.any():
        place = np.unravel_index(np.argmax(np.where(wrong, excess, -np.inf)), wanted.shape)
        at = f" at {tuple(map(int, place))}" if place else ""
        count = f" ({int(wrong.sum())} of {wrong.size} elements are off)" if place else ""
        raise AssertionError(
            f"{what} is {found[place]:.10g}{at}, but {source} give {wanted[place]:.10g}: it is off "
            f"by {error[place]:.3g}, and {allowed[place]:.3g} is allowed{count}"
        )
