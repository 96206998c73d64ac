"""Derivatives: jvp, vjp, linearize, linear_transpose, grad, value_and_grad.

Names, arguments, results and errors are JAX's. Each traces the function it is given, transforms the
graph (`transpile.transforms`) and runs it: inside another trace it becomes part of that one;
elsewhere NumPy runs it, or, where the function is jitted, its compiled program. The values of the
arguments are known to Python while the function is traced, unless they are traced themselves.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from transpile import tree
from transpile.flat import (
    Flat,
    argument_names,
    as_value,
    cast_weak,
    describe,
    flatten_function,
    is_inexact,
    jitted_like,
    value_type,
    zero,
)
from transpile.graph import Graph
from transpile.signature import function_name, type_text
from transpile.source import user_source
from transpile.transforms.closed import Closed
from transpile.transforms.jvp import jvp as push_forward
from transpile.transforms.linearize import linearize as linearize_graph
from transpile.transforms.transpose import transpose
from transpile.types import FLOAT0, ArrayType

# ---------------------------------------------------------------------------------- forward mode


def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """The value of `fun` at `primals` and its derivative there in the direction of `tangents`.

    primals, tangents   tuples or lists of the positional arguments and of their tangents: pytrees
                        of the same structure, shapes and dtypes; the tangents of integers and bools
                        have the dtype float0
    has_aux             `fun` returns (result, auxiliary result)

    Gives (result, its tangent), and the auxiliary result if there is one. Raises TypeError or
    ValueError where primals and tangents do not match.
    """
    for what, given in (("Primal", primals), ("Tangent", tangents)):
        if not isinstance(given, tuple | list):
            raise TypeError(
                f"{user_source()}: primal and tangent arguments to jvp must be tuples or lists; "
                f"{what.lower()}s are a {type(given).__name__}"
            )
    directions, tangent_tree = tree.flatten(tuple(tangents))
    if tree.structure(tuple(primals)) != tangent_tree:
        raise TypeError(
            f"{user_source()}: primal and tangent arguments to jvp must have the same tree "
            f"structure; primals have tree structure {tree.structure(tuple(primals))} whereas "
            f"tangents have tree structure {tangent_tree}."
        )
    flat, leaves = flatten_function(fun, primals, has_aux=has_aux)
    directions = [
        _checked_tangent(t, kind) for t, kind in zip(directions, flat.in_types, strict=True)
    ]
    active = [is_inexact(kind) for kind in flat.in_types]
    both, flags = push_forward(flat.closed, active)
    given = [t for t, is_active in zip(directions, active, strict=True) if is_active]
    values = flat.run(both, [*leaves, *given])
    count, results = flat.out_tree.num_leaves, len(flags)
    moved = _filled(values[results:], flags, flat.out_types)
    pair = (flat.out_tree.unflatten(values[:count]), flat.out_tree.unflatten(moved))
    return (*pair, flat.aux(values[count:results])) if has_aux else pair


def _checked_tangent(tangent: Any, kind: ArrayType) -> Any:
    """The tangent of a value of a type, or the error that it deserves."""
    tangent = as_value(tangent, "'tangents'")
    expected = kind.dtype if is_inexact(kind) else FLOAT0
    if not kind.shape and is_inexact(kind):
        tangent = cast_weak(tangent, kind.dtype)
    dtype = tangent.dtype if hasattr(tangent, "dtype") else value_type(tangent).dtype
    if dtype != expected:
        raise TypeError(
            f"{user_source()}: primal and tangent arguments to jvp do not match; dtypes must be "
            f"equal, or in case of int/bool primal dtype the tangent dtype must be float0. Got "
            f"primal dtype {kind.dtype} and so expected tangent dtype {_dtype_name(expected)}, but "
            f"got tangent dtype {_dtype_name(dtype)} instead."
        )
    if np.shape(tangent) != kind.shape:
        raise ValueError(
            f"{user_source()}: jvp called with different primal and tangent shapes; Got primal "
            f"shape {kind.shape} and tangent shape as {np.shape(tangent)}"
        )
    return tangent


def _dtype_name(dtype: np.dtype[Any]) -> str:
    return "float0" if dtype == FLOAT0 else dtype.name


def _filled(values: Sequence[Any], flags: Sequence[bool], kinds: Sequence[ArrayType]) -> list[Any]:
    """The derivatives that there are, and zeros in the places of the others."""
    given = iter(values)
    return [
        next(given) if flag else zero(kind)
        for flag, kind in zip(flags[: len(kinds)], kinds, strict=True)
    ]


# ---------------------------------------------------------------------------------- reverse mode


@dataclass(frozen=True, eq=False)
class LinearMap:
    """What `linearize` and `vjp` give: a linear function with the residuals that it reads.

    A pytree whose leaves are the residuals, so that a jitted function may return it.
    """

    flat: Flat
    linear: Graph
    active: tuple[bool, ...]  # the arguments that have tangents
    moving: tuple[bool, ...]  # the results that depend on them
    residuals: tuple[Any, ...]
    is_transposed: bool = False

    def __call__(self, *args: Any) -> Any:
        """The tangents of the results for tangents of the arguments, or transposed: the
        cotangents of the arguments, as a tuple, for the cotangents of the results."""
        return self._backwards(*args) if self.is_transposed else self._forwards(args)

    def __repr__(self) -> str:
        kind = "vjp" if self.is_transposed else "linearized"
        return f"<{kind} function of {describe(self.flat.function)}>"

    def _forwards(self, tangents: tuple[Any, ...]) -> Any:
        leaves, structure = tree.flatten(tangents)
        if structure != self.flat.in_tree:
            raise TypeError(f"{user_source()}: expected {self.flat.in_tree}, got {structure}")
        given = []
        for tangent, kind in zip(leaves, self.flat.in_types, strict=True):
            if is_inexact(kind):
                value = _like(tangent, kind)
                if value is None:
                    raise ValueError(
                        f"{user_source()}: linearized function called on tangent values "
                        f"inconsistent with the original primal values: Got tangent aval "
                        f"{_text_of(tangent)} for primal aval {type_text(kind)} but expected "
                        f"{type_text(kind)}."
                    )
                given.append(value)
        values = self.flat.run(Closed(self.linear), [*self.residuals, *given])
        return self.flat.out_tree.unflatten(_filled(values, self.moving, self.flat.out_types))

    def _backwards(self, *args: Any) -> tuple[Any, ...]:
        name = function_name(self.flat.function)
        if len(args) != 1:
            raise TypeError(
                f"{user_source()}: The function returned by `vjp` applied to {name} was called "
                f"with {len(args)} arguments, but functions returned by `vjp` must be called with "
                f"a single argument corresponding to the single value returned by the function "
                f"being differentiated (even if that returned value is a tuple or other container)."
            )
        leaves, structure = tree.flatten(args[0])
        if structure != self.flat.out_tree:
            lines = tree.differences(self.flat.out_tree, structure, "out")
            raise ValueError(
                f"{user_source()}: unexpected tree structure. The argument to a VJP function "
                f"returned by `vjp` must match the pytree structure of the differentiated function "
                f"{describe(self.flat.function)}. But the tree structures differ:\n"
                + "\n".join(f"  * {line}" for line in lines)
            )
        given = []
        for value, kind, moves in zip(leaves, self.flat.out_types, self.moving, strict=True):
            if is_inexact(kind):
                cotangent = _cotangent(value, kind)
                given += [cotangent] if moves else []
        tangents = sum(self.active)
        linear = [False] * len(self.residuals) + [True] * tangents
        pullback, flags = transpose(Closed(self.linear), linear, [True] * len(given))
        found = iter(self.flat.run(pullback, [*self.residuals, *given]))
        cotangents = iter([next(found) if f else None for f in flags])
        results = []
        for kind, is_active in zip(self.flat.in_types, self.active, strict=True):
            cotangent = next(cotangents) if is_active else None
            results.append(zero(kind) if cotangent is None else cotangent)
        return tuple(self.flat.in_tree.unflatten(results))


def _restore(data: tuple[Any, ...], residuals: Sequence[Any]) -> LinearMap:
    flat, linear, active, moving, is_transposed = data
    return LinearMap(flat, linear, active, moving, tuple(residuals), is_transposed)


tree.register_pytree_node(
    LinearMap,
    lambda f: (f.residuals, (f.flat, f.linear, f.active, f.moving, f.is_transposed)),
    _restore,
)


def _like(value: Any, kind: ArrayType) -> Any:
    """A value of a type, or None if it is of another."""
    value = as_value(value, "of a derivative")
    if not kind.shape:
        value = cast_weak(value, kind.dtype)
    if np.shape(value) != kind.shape or value_type(value).dtype != kind.dtype:
        return None
    return value


def _cotangent(value: Any, kind: ArrayType) -> Any:
    found = _like(value, kind)
    if found is None:
        raise ValueError(
            f"{user_source()}: unexpected type (e.g. shape/dtype) for argument to VJP function: "
            f"got {_text_of(value)}, but expected {type_text(kind)} because the corresponding "
            f"output of the differentiated function had type {type_text(kind)}"
        )
    return found


def _text_of(value: Any) -> str:
    return type_text(value_type(as_value(value, "of a derivative")))


def _linearized(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    has_aux: bool,
    is_transposed: bool,
    argnums: Sequence[int] | None = None,
) -> tuple[Any, LinearMap, Any]:
    """The result, the linear function, and the auxiliary result."""
    flat, leaves = flatten_function(fun, primals, has_aux=has_aux, argnums=argnums)
    active = [is_inexact(kind) for kind in flat.in_types]
    count = flat.out_tree.num_leaves
    found = linearize_graph(flat.closed, active, wanted=count)
    results, residuals = found.split(flat.run(found.forward, leaves))
    derivative = LinearMap(
        flat,
        found.linear,
        tuple(active),
        tuple(found.active[:count]),
        tuple(residuals),
        is_transposed,
    )
    return flat.out_tree.unflatten(results[:count]), derivative, flat.aux(results[count:])


def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of `fun` at `primals` and its derivative there as a linear function.

    Gives (result, f_jvp), and the auxiliary result if `has_aux`: `f_jvp(*tangents)` is the second
    result of `jvp(fun, primals, tangents)`. What does not depend on the tangents is computed once.
    """
    result, derivative, aux = _linearized(fun, primals, has_aux, False)
    return (result, derivative, aux) if has_aux else (result, derivative)


def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of `fun` at `primals` and the transpose of its derivative there.

    Gives (result, f_vjp), and the auxiliary result if `has_aux`: `f_vjp(cotangent)`, for a
    cotangent of the structure, shapes and dtypes of the result, is the tuple of the cotangents of
    the primals. Cotangents of integers and bools have the dtype float0.
    """
    result, derivative, aux = _linearized(fun, primals, has_aux, True)
    return (result, derivative, aux) if has_aux else (result, derivative)


def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()
) -> Callable[[Any], tuple[Any, ...]]:
    """The transpose of a function that is linear: like the function that `vjp` gives, without
    computing `fun`.

    primals   the arguments, or objects with their `shape` and `dtype`: values are not looked at

    Raises NotImplementedError where `fun` is not linear.
    """
    if reduce_axes:
        raise NotImplementedError("reduce_axes argument to transpose is deprecated")
    kinds = [value_type(x) for x in tree.leaves(primals)]
    examples = [np.broadcast_to(np.zeros((), k.dtype), k.static_shape()) for k in kinds]
    stand_ins = tree.structure(primals).unflatten(examples)
    flat, _ = flatten_function(fun, stand_ins, known=False, types=kinds)
    dtypes = [k.dtype for k in (*flat.in_types, *flat.out_types)]
    if not (all(d.kind in "fc" for d in dtypes) or all(d.kind in "iu" for d in dtypes)):
        count = len(flat.in_types)
        raise TypeError(
            f"{user_source()}: linear_transpose only supports [float or complex] -> [float or "
            f"complex], and integer -> integer functions, but got "
            f"{[d.name for d in dtypes[:count]]} -> {[d.name for d in dtypes[count:]]}."
        )

    def transposed(cotangent: Any) -> tuple[Any, ...]:
        leaves, structure = tree.flatten(cotangent)
        if structure != flat.out_tree:
            raise TypeError(
                f"{user_source()}: cotangent tree does not match function output, expected "
                f"{flat.out_tree} but got {structure}"
            )
        given = [_like(x, kind) for x, kind in zip(leaves, flat.out_types, strict=True)]
        if any(x is None for x in given):
            raise TypeError(
                f"{user_source()}: cotangent type does not match function output, expected "
                f"{list(map(type_text, flat.out_types))} but got {list(map(_text_of, leaves))}"
            )
        linear = [True] * len(flat.in_types)
        pullback, flags = transpose(flat.closed, linear, [True] * len(given))
        found = _filled(flat.run(pullback, given), flags, flat.in_types)
        return tuple(flat.in_tree.unflatten(found))

    return transposed


# -------------------------------------------------------------------------------------- gradients


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """A function that gives the gradient of `fun`, which returns a scalar.

    argnums      the positional argument, or the tuple of them, to differentiate by: pytrees of
                 floats or complex numbers
    has_aux      `fun` returns (scalar, auxiliary result), and the gradient is paired with that one
    holomorphic  arguments and result are complex, and `fun` is promised to be holomorphic
    allow_int    arguments may be integers; their gradients have the dtype float0

    The gradient has the structure, shapes and dtypes of the arguments, as a tuple for a tuple of
    `argnums`. Raises TypeError for a result that is no real scalar and for arguments that cannot be
    differentiated by.
    """
    value_and_gradient = _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = value_and_gradient(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return _named(fun, gradient, "grad")


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """A function that gives (value, gradient) of `fun`; arguments and errors are `grad`'s.

    With `has_aux` the value is the pair (value, auxiliary result).
    """
    found = _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)
    return _named(fun, found, "value_and_grad")


def _named(fun: Callable[..., Any], found: Callable[..., Any], prefix: str) -> Callable[..., Any]:
    found.__name__ = found.__qualname__ = f"{prefix}_{function_name(fun)}"
    return jitted_like(fun, found)


def _value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    reduce_axes: Sequence[Any],
) -> Callable[..., Any]:
    if reduce_axes:
        raise NotImplementedError("reduce_axes argument to grad is deprecated")
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    numbers, is_single = argument_numbers(argnums)

    @functools.wraps(fun)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        partial, chosen, places = chosen_arguments(fun, argnums, numbers, args, kwargs)
        for leaf, name in zip(
            tree.leaves(chosen), argument_names(fun, chosen, places), strict=True
        ):
            _check_input("grad", as_value(leaf, repr(name)), holomorphic, allow_int)
        result, pullback, aux = _linearized(partial, chosen, has_aux, True, places)
        _check_scalar(result, holomorphic)
        found = pullback(np.ones((), value_type(result).dtype))
        gradient = found[0] if is_single else found
        return ((result, aux) if has_aux else result), gradient

    return value_and_gradient


def argument_numbers(argnums: int | Sequence[int]) -> tuple[tuple[int, ...], bool]:
    """The argument numbers as a tuple, and whether it was a single one."""
    try:
        return (operator.index(argnums),), True  # type: ignore[arg-type]
    except TypeError:
        return tuple(operator.index(n) for n in argnums), False  # type: ignore[union-attr]


def chosen_arguments(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    numbers: tuple[int, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...]]:
    """The function of the chosen positional arguments alone, these, and their positions."""
    count = len(args)
    if max(numbers, default=-1) >= count or min(numbers, default=0) < -count:
        raise TypeError(
            f"{user_source()}: differentiating with respect to {argnums=} requires at least "
            f"{max(numbers) + 1} positional arguments to be passed by the caller, but got only "
            f"{count} positional arguments."
        )
    places = tuple(n % count for n in numbers)

    @functools.wraps(fun)
    def partial(*chosen: Any) -> Any:
        full = list(args)
        for place, value in zip(places, chosen, strict=True):
            full[place] = value
        return fun(*full, **kwargs)

    return partial, tuple(args[n] for n in places), places


def _check_input(name: str, leaf: Any, holomorphic: bool, allow_int: bool) -> None:
    dtype = value_type(leaf).dtype
    if holomorphic and dtype.kind != "c":
        raise TypeError(
            f"{user_source()}: {name} with holomorphic=True requires inputs with complex dtype, "
            f"but got {dtype.name}."
        )
    if dtype.kind in "biu" and not allow_int:
        raise TypeError(
            f"{user_source()}: {name} requires real- or complex-valued inputs (input dtype that is "
            f"a sub-dtype of np.inexact), but got {dtype.name}. If you want to use Boolean- or "
            f"integer-valued inputs, use vjp or set allow_int to True."
        )


def _check_scalar(result: Any, holomorphic: bool) -> None:
    if not hasattr(result, "dtype"):
        raise TypeError(
            f"{user_source()}: Gradient only defined for scalar-output functions. Output was "
            f"{result}."
        )
    if result.shape != ():
        raise TypeError(
            f"{user_source()}: Gradient only defined for scalar-output functions. Output had "
            f"shape: {result.shape}."
        )
    check_output("grad", result.dtype, holomorphic)


def check_output(name: str, dtype: np.dtype[Any], holomorphic: bool) -> None:
    """Raise a TypeError for a result that reverse mode cannot start from."""
    if holomorphic:
        if dtype.kind != "c":
            raise TypeError(
                f"{user_source()}: {name} with holomorphic=True requires outputs with complex "
                f"dtype, but got {dtype.name}."
            )
    elif dtype.kind != "f":
        use = (
            "For holomorphic differentiation, pass holomorphic=True. For differentiation of "
            "non-holomorphic functions involving complex outputs, use vjp directly."
            if dtype.kind == "c"
            else "For differentiation of functions with integer outputs, use vjp directly."
        )
        raise TypeError(
            f"{user_source()}: {name} requires real-valued outputs (output dtype that is a "
            f"sub-dtype of np.floating), but got {dtype.name}. {use}"
        )
