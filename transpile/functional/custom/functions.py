"""Functions with custom derivatives: custom_jvp, custom_vjp, custom_gradient, closure_convert.

Names, arguments and errors are JAX's. Outside a trace, on values, all of these only call the
function.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import Any, cast

from transpile import errors, tree
from transpile.functional.custom.calls import Function, bind_function, finished
from transpile.functional.custom.marks import stopped
from transpile.functional.custom.rules import Call, JvpRule, VjpRule, check_takes
from transpile.functional.flatten_fun import flatten_function, is_inexact, value_type, zero
from transpile.functional.placeholders import Parts, zero_like
from transpile.ir.graph import Graph
from transpile.ir.source_info import user_source
from transpile.primitives.control.calls import custom_jvp_call, custom_vjp_call
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_arguments import parameters
from transpile.trace.call_signature import function_name, place_of
from transpile.trace.trace import current_trace, trace_nested
from transpile.trace.tracebacks import api_boundary
from transpile.trace.tracer import Tracer
from transpile.transforms.closed import Closed


class _Custom:
    """What functions with a rule in forward and in reverse mode share."""

    kind = ""
    __name__: str

    def __init__(
        self,
        fun: Function,
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        functools.update_wrapper(cast(Any, self), fun, updated=())
        self.fun = fun
        numbers = set(nondiff_argnums)
        if nondiff_argnames:
            numbers.update(parameters(fun, None, nondiff_argnames).static_argnums)
        self.nondiff_argnums = tuple(sorted(numbers))

    def __repr__(self) -> str:
        return f"<custom_{self.kind} of {place_of(self.fun)}>"

    def _missing(self) -> AttributeError:
        kind = self.kind.upper()
        return AttributeError(
            f"No {kind} defined for custom_{self.kind} function {function_name(self.fun)} using "
            f"def{self.kind}."
        )

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        return positional(self.fun, args, kwargs, f"custom_{self.kind}")

    def _split(self, args: tuple[Any, ...]) -> tuple[list[Any], list[Any], list[int]]:
        """The arguments that are not differentiated, the others, and their positions."""
        chosen = [i for i in range(len(args)) if i not in self.nondiff_argnums]
        return [args[i] for i in self.nondiff_argnums], [args[i] for i in chosen], chosen

    def _merged(self, function: Function, args: tuple[Any, ...], chosen: list[int]) -> Function:
        """A function of the differentiated arguments alone."""
        if len(chosen) == len(args):
            return function

        @functools.wraps(function)
        def merged(*values: Any) -> Any:
            full = list(args)
            for position, value in zip(chosen, values, strict=True):
                full[position] = value
            return resolved(function)(*full)

        merged.__name__ = function_name(function)
        return merged


def positional(
    fun: Function, args: tuple[Any, ...], kwargs: dict[str, Any], decorator: str
) -> tuple[Any, ...]:
    """All arguments by position, defaults included, as the rules get them."""
    try:
        return _resolved(fun, args, kwargs)
    except TypeError as problem:
        raise TypeError(
            f"{user_source()}: The input arguments to the {decorator}-decorated function "
            f"{function_name(fun)} could not be resolved to positional-only arguments. Binding "
            f"failed with the error:\n{problem}"
        ) from problem


def _resolved(fun: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    try:
        signature = inspect.signature(fun)
    except ValueError:  # a builtin: its arguments have no names
        if kwargs:
            raise TypeError(f"{function_name(fun)} has no signature") from None
        return args
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    if passed := [name for name in bound.kwargs if name in kwargs]:
        raise TypeError(
            f"The following keyword arguments could not be resolved to positions: "
            f"{', '.join(passed)}"
        )
    return bound.args


# ----------------------------------------------------------------------------------- forward mode


class custom_jvp(_Custom):  # a decorator, like JAX's
    """A function whose derivative in forward mode is given by a rule: a decorator.

        @custom_jvp
        def f(x, y):
            return np.sin(x) * y

        @f.defjvp
        def f_jvp(primals, tangents):
            x, y = primals
            dx, dy = tangents
            return f(x, y), np.cos(x) * dx * y + np.sin(x) * dy

    Reverse mode transposes what the rule does to the tangents, in which it must be linear.
    Arguments and results are pytrees of arrays. A call that no derivative is taken of runs the
    function alone.

    nondiff_argnums, nondiff_argnames   arguments that may be anything (functions, say), given to
                                        the rule as its first arguments

    Raises AttributeError where no rule is defined, TypeError for keyword-only arguments, and, when
    the derivative is taken, TypeError for a rule whose results are not like the function's.
    """

    kind = "jvp"
    jvp: Function | None = None
    symbolic_zeros = False

    def defjvp(self, jvp: Function, symbolic_zeros: bool = False) -> Function:
        """Define the rule: `jvp(primals, tangents)`, tuples both, gives (result, its tangent).

        With `symbolic_zeros`, a tangent that is zero for certain arrives as a SymbolicZero, without
        it as an array of zeros; the tangents of integers and bools have the dtype float0. Gives
        `jvp`, so that this is a decorator.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Function | None) -> None:
        """Define the rule by one function for each argument: `(tangent, result, *primals)` returns
        this argument's contribution to the result's tangent; None contributes nothing."""
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            result = self(*primals)
            total = None
            name = function_name(self.fun)
            if len(jvps) != len(primals):
                raise TypeError(
                    f"{user_source()}: defjvps of {name} has {len(jvps)} rules for {len(primals)} "
                    f"arguments; None stands for one that contributes nothing"
                )
            names = ["tangent", "result", *(f"primal_{n}" for n in range(len(primals)))]
            for rule, tangent in zip(jvps, tangents, strict=True):
                if rule is not None:
                    check_takes(rule, f"The rule {function_name(rule)} of {name}.defjvps", names)
                    share = rule(tangent, result, *primals)
                    total = share if total is None else tree.map(_sum, total, share)
            return result, tree.map(zero_like, result) if total is None else total

        self.defjvp(jvp)

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value; under a derivative, by the rule."""
        if self.jvp is None:
            raise self._missing()
        args = self._positional(args, kwargs)
        if current_trace() is None:
            return resolved(self.fun)(*args)
        args = tuple(
            tree.map(stopped, x) if i in self.nondiff_argnums else x for i, x in enumerate(args)
        )
        static, values, chosen = self._split(args)
        function = self._merged(self.fun, args, chosen)
        flat, leaves = flatten_function(function, values, argnums=chosen)
        rule = JvpRule(Call(flat, tuple(static), self.symbolic_zeros), self.jvp)
        closed = flat.closed
        operands = (*closed.captured, *leaves)
        params = {"graph": closed.graph, "jvp": rule, "name": closed.graph.name}
        results = bind_function(self.fun, custom_jvp_call, operands, **params)
        return finished(self.fun, flat.out_tree.unflatten(results))


def _sum(x: Any, y: Any) -> Any:
    return x + y if is_inexact(value_type(x)) else x


# ----------------------------------------------------------------------------------- reverse mode


class custom_vjp(_Custom):  # a decorator, like JAX's
    """A function whose derivative in reverse mode is given by a rule: a decorator.

        @custom_vjp
        def f(x, y):
            return np.sin(x) * y

        def f_fwd(x, y):
            return f(x, y), (np.cos(x), np.sin(x), y)

        def f_bwd(residuals, ct):
            cos_x, sin_x, y = residuals
            return cos_x * ct * y, sin_x * ct

        f.defvjp(f_fwd, f_bwd)

    Arguments and results are pytrees of arrays. Forward mode is not possible. A call that no
    derivative is taken of runs the function alone.

    nondiff_argnums, nondiff_argnames   arguments that are no arrays (functions, say): `fwd` gets
                                        them at their positions, `bwd` as its first arguments

    Raises AttributeError where no rule is defined, TypeError for keyword-only arguments, and, when
    the derivative is taken, TypeError or ValueError for rules whose results do not fit.
    """

    kind = "vjp"
    fwd: Function | None = None
    bwd: Function | None = None
    symbolic_zeros = False
    optimize_remat = False

    def defvjp(
        self,
        fwd: Function,
        bwd: Function,
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Define the rule by two functions, of the forward and of the backward pass.

        fwd             takes the function's arguments, and returns (result, residuals)
        bwd             (residuals, cotangent of the result) -> a tuple of the arguments'
                        cotangents, None for zero; those of integers and bools are ignored
        symbolic_zeros  `fwd` gets a CustomVJPPrimal for each leaf, and `bwd` a SymbolicZero for a
                        cotangent that is zero for certain
        optimize_remat  accepted for compatibility: under `checkpoint` what nothing needs of `fwd`
                        is not computed in any case

        Raises NotImplementedError for both of the last two.
        """
        if symbolic_zeros and optimize_remat:
            raise NotImplementedError(
                "remat optimization for custom_vjp does not support symbolic zeros"
            )
        self.fwd, self.bwd = fwd, bwd
        self.symbolic_zeros, self.optimize_remat = symbolic_zeros, optimize_remat

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value; under a derivative, by the rule."""
        if self.fwd is None or self.bwd is None:
            raise self._missing()
        args = self._positional(args, kwargs)
        for i in self.nondiff_argnums:
            _refuse_tracers(args[i])
        if current_trace() is None:
            return resolved(self.fun)(*args)
        static, values, chosen = self._split(args)
        self._check_fwd(args)
        function = self._merged(self.fun, args, chosen)
        flat, leaves = flatten_function(function, values, argnums=chosen)
        call = Call(flat, tuple(static), self.symbolic_zeros)
        rule = VjpRule(call, self._merged(self.fwd, args, chosen), self.bwd)
        closed = flat.closed
        operands = (*closed.captured, *leaves)
        params = {"graph": closed.graph, "vjp": rule, "name": closed.graph.name}
        results = bind_function(self.fun, custom_vjp_call, operands, **params)
        return finished(self.fun, flat.out_tree.unflatten(results))

    def _check_fwd(self, args: tuple[Any, ...]) -> None:
        """Raise TypeError where the forward rule does not take the function's arguments."""
        fwd = cast(Function, self.fwd)
        named = parameters(self.fun)
        check_takes(
            fwd,
            f"Custom VJP fwd rule {function_name(fwd)} for function {function_name(self.fun)}",
            [named.name_of(position) for position in range(len(args))],
        )


def _refuse_tracers(value: Any) -> None:
    if any(isinstance(leaf, Tracer) for leaf in tree.leaves(value)):
        raise errors.UnexpectedTracerError(
            f"{user_source()}: Found a Tracer object passed as an argument to a custom_vjp "
            f"function in a position indicated by nondiff_argnums as non-differentiable. Tracers "
            f"cannot be passed as non-differentiable arguments to custom_vjp functions; instead, "
            f"nondiff_argnums should only be used for arguments that can't be or contain tracers, "
            f"e.g. function-valued arguments. In particular, array-valued arguments should "
            f"typically not be indicated as nondiff_argnums."
        )


def custom_gradient(fun: Function) -> custom_vjp:
    """A decorator for a function that returns (result, rule): its derivative in reverse mode is
    that rule.

    `rule(cotangent of the result)` returns the cotangents of the arguments: a tuple, or for a
    single argument its cotangent alone. It may close over values that `fun` computes. Forward mode
    is not possible.
    """

    @custom_vjp
    def value(*args: Any) -> Any:
        return resolved(fun)(*args)[0]

    functools.update_wrapper(cast(Any, value), fun, updated=())
    value.fun.__name__ = function_name(fun)

    def fwd(*args: Any) -> tuple[Any, Any]:
        result, rule = resolved(fun)(*args)
        kinds = [value_type(x).strong for x in tree.leaves(result)]
        structure = tree.structure(result)
        name = function_name(fun)
        check_takes(rule, f"The rule that custom_gradient takes from {name}", ["cotangent"])

        def on_leaves(*tracers: Tracer) -> tuple[list[Tracer], Parts]:
            given = iter(tracers)
            leaves = [next(given) if is_inexact(kind) else zero(kind) for kind in kinds]
            return Parts.of(rule(structure.unflatten(leaves)))

        moving = [kind for kind in kinds if is_inexact(kind)]
        graph, captured, parts = trace_nested(on_leaves, moving, [""] * len(moving), name="rule")
        return result, (captured, _Pullback(graph, parts))

    def bwd(residuals: tuple[list[Any], _Pullback], cotangent: Any) -> Any:
        captured, pullback = residuals
        given = [x for x in tree.leaves(cotangent) if isinstance(x, Tracer)]
        leaves = Closed(pullback.graph, tuple(captured))(*given)
        cotangents = pullback.parts.join(leaves)
        return (cotangents,) if pullback.parts.structure == tree.LEAF else cotangents

    value.defvjp(fwd, bwd)
    return value


class _Pullback:
    """The graph of a rule, and how its results make a pytree."""

    def __init__(self, graph: Graph, parts: Parts) -> None:
        self.graph = graph
        self.parts = parts


@api_boundary
def closure_convert(fun: Function, *example_args: Any) -> tuple[Function, list[Any]]:
    """A function that takes the traced values that `fun` closes over as further arguments, and the
    list of them, as a pair.

    So a custom rule of a function of functions can give them derivatives. It is specialised to the
    structure and types of the example arguments. Values that have no derivative (integers, bools,
    arrays that are not traced) stay closed over. Raises TypeError when it is called with another
    structure.
    """
    flat, _ = flatten_function(fun, example_args, known=False)  # other values come later
    closed = flat.closed
    is_hoisted = [is_inexact(x.type) for x in closed.captured]
    hoisted = [x for x, h in zip(closed.captured, is_hoisted, strict=True) if h]

    @functools.wraps(fun)
    def converted(*args: Any) -> Any:
        count = len(args) - len(hoisted)
        leaves, structure = flatten_arrays(tuple(args[:count]))
        if structure != flat.in_tree:
            raise TypeError(
                f"{user_source()}: The inputs to the closure produced by closure_convert must have "
                f"the same Pytree structure as the example arguments passed when closure_convert "
                f"was called. Expected {flat.in_tree}, but got {structure}"
            )
        given = iter(args[count:])
        captured = [
            next(given) if h else x for x, h in zip(closed.captured, is_hoisted, strict=True)
        ]
        return flat.out_tree.unflatten(Closed(closed.graph, tuple(captured))(*leaves))

    return converted, hoisted


# ------------------------------------------------------------------------------- marks on values
