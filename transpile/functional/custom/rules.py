"""The rules that `custom_jvp` and `custom_vjp` give their equations: a user's functions of pytrees,
run on the leaves of the trace that is under way, and their results checked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile import errors, tree
from transpile.functional.flatten_fun import Flat, is_inexact, value_type, zero
from transpile.functional.placeholders import (
    CustomVJPPrimal,
    Parts,
    SymbolicZero,
    is_symbolic_zero,
    standing_in,
    traced,
)
from transpile.ir.source_info import user_source
from transpile.ir.types import FLOAT0, ArrayType, kind_letter
from transpile.primitives.control.calls import Backward, Flags, Values
from transpile.primitives.rules import apply
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.call_signature import function_name, place_of, type_text
from transpile.trace.tracer import Tracer
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True, eq=False)
class Call:
    """One call of a custom function: its trace, and the arguments that are not differentiated.

    `static` are those arguments; the graph's inputs are captured values, then the leaves of the
    others.
    """

    flat: Flat
    static: tuple[Any, ...]
    symbolic_zeros: bool

    @property
    def name(self) -> str:
        """The name of the custom function."""
        return function_name(self.flat.function)

    @property
    def captured(self) -> tuple[Any, ...]:
        """The tracers of outer traces that the function closes over."""
        return self.flat.closed.captured

    def arguments(self, operands: Values) -> list[Any]:
        """The values of the leaves. A Python number of the call promotes as one."""
        return [
            _as_given(x, kind)
            for x, kind in zip(operands[len(self.captured) :], self.flat.in_types, strict=True)
        ]

    def zero(self, kind: ArrayType) -> Any:
        """What a user's rule gets for a zero tangent or cotangent."""
        if self.symbolic_zeros:
            return SymbolicZero(kind.strong)
        symbolic = zero(kind)
        if isinstance(symbolic, Tracer):
            symbolic.variable.type = kind  # beside a Python number's value stands a zero like it
        return symbolic

    def check_captured(self, flags: Sequence[bool], kind: str, rule: str) -> None:
        """Raise an error where the derivative by a captured value is asked for."""
        if any(flags[: len(self.captured)]):
            raise errors.UnexpectedTracerError(
                f"{user_source()}: Detected differentiation of a custom_{kind} function with "
                f"respect to a closed-over value. That isn't supported because the custom "
                f"{kind.upper()} rule only specifies how to differentiate the custom_{kind} "
                f"function with respect to explicit input parameters. Try passing the closed-over "
                f"value into the custom_{kind} function as an argument, and adapting the "
                f"custom_{kind} {rule}."
            )

    def check_takes(self, rule: Callable[..., Any], kind: str, *names: str) -> None:
        """Raise TypeError for a rule that does not take the arguments that are not differentiated,
        and then those of these names."""
        static = [f"nondiff_{number}" for number in range(len(self.static))]
        what = f"Custom {kind} rule {function_name(rule)} for function {self.name}"
        check_takes(rule, what, [*static, *names])

    def results(self, leaves: Sequence[Any], structure: tree.TreeDef, message: Message) -> Any:
        """The result of a rule, which must be like the function's: a list of tracers."""
        kinds = [value_type(x) for x in leaves]
        expected = self.flat.out_types
        described = _types_text(structure, kinds), _types_text(self.flat.out_tree, expected)
        if structure != self.flat.out_tree:
            raise TypeError(f"{user_source()}: {message.structure(*described)}")
        if [k.strong for k in kinds] != [k.strong for k in expected]:
            raise TypeError(f"{user_source()}: {message.types(*described)}")
        return [traced(x, kind) for x, kind in zip(leaves, expected, strict=True)]


def check_takes(rule: Callable[..., Any], what: str, names: Sequence[str]) -> None:
    """Raise TypeError, naming a user's rule, where it cannot be called with as many arguments by
    position as there are names."""
    try:
        inspect.signature(rule).bind(*names)
    except ValueError:  # a callable in C, of which nothing is known
        return
    except TypeError as problem:
        raise TypeError(
            f"{user_source()}: {what} is called as {function_name(rule)}({', '.join(names)}), "
            f"which {place_of(rule)} does not take: {problem}"
        ) from None


def _as_given(value: Any, kind: ArrayType) -> Any:
    """The value of an operand. The constant that a Python integer has become is an integer again:
    it may count a loop."""
    if isinstance(value, Tracer) or not kind.weak:
        return value
    return traced(value, kind) if is_inexact(kind) else value.item()


def _types_text(structure: tree.TreeDef, kinds: Sequence[ArrayType]) -> str:
    return str(structure.unflatten(map(type_text, kinds))).replace("'", "")


@dataclass(frozen=True)
class Message:
    """JAX's words for a rule whose result is not like the function's."""

    rule: str  # "JVP rule f_jvp"
    short: str  # "JVP rule"
    function: str
    kind: str
    equal: str  # "equal in value to the output of ..."
    detail: str  # "and in particular of the same", or nothing
    residuals: str

    def structure(self, actual: str, expected: str) -> str:
        """For another structure."""
        return self._text(
            ", and in particular of the same container/pytree structure" if self.detail else "",
            "container/pytree structure",
            actual,
            expected,
            ".",
        )

    def types(self, actual: str, expected: str) -> str:
        """For other shapes or dtypes."""
        return self._text(
            ", and in particular with leaves of the same shape/dtype" if self.detail else "",
            "shapes/dtypes of",
            actual,
            expected,
            "",
        )

    def _text(self, detail: str, what: str, actual: str, expected: str, end: str) -> str:
        return (
            f"Custom {self.rule} for function {self.function} must produce a pair (list or tuple "
            f"of length two) where the first element represents the primal output (equal "
            f"{self.equal}to the output of the custom_{self.kind}-decorated function "
            f"{self.function}{detail}){self.residuals}, but instead the {self.short} output's "
            f"first element had {what}:\n    {actual}\n"
            f"while the custom_{self.kind}-decorated function {self.function} had output "
            f"{what}:\n    {expected}{end}"
        )


# ----------------------------------------------------------------------------------- forward mode


@dataclass(frozen=True, eq=False)
class JvpRule:
    """A rule in forward mode for the leaves of one call."""

    call: Call
    function: Callable[..., Any]

    @property
    def __name__(self) -> str:
        return function_name(self.function)

    def __call__(self, operands: Values, tangents: Values) -> tuple[list[Any], list[Any]]:
        """The results and their tangents."""
        call, count = self.call, len(self.call.captured)
        call.check_captured([t is not None for t in tangents], "jvp", "rule")
        in_tree = call.flat.in_tree
        moved = [
            call.zero(kind) if t is None else t
            for t, kind in zip(tangents[count:], call.flat.in_types, strict=True)
        ]
        with standing_in(call.captured, operands[:count]):
            call.check_takes(self.function, "JVP", "primals", "tangents")
            pair = resolved(self.function)(
                *call.static,
                in_tree.unflatten(call.arguments(operands)),
                in_tree.unflatten(moved),
            )
            return self._checked(pair)

    def _checked(self, pair: Any) -> tuple[list[Any], list[Any]]:
        rule, name = f"JVP rule {self.__name__}", self.call.name
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise TypeError(
                f"{user_source()}: Custom {rule} for function {name} must produce a pair (list or "
                f"tuple of length two) representing primal and tangent outputs, but got {pair}."
            )
        leaves, structure = tree.flatten(pair[0])
        moved, moved_structure = tree.flatten(pair[1])
        if structure != moved_structure:
            raise TypeError(
                f"{user_source()}: Custom {rule} for function {name} must produce primal and "
                f"tangent outputs with equal container (pytree) structures, but got {structure} "
                f"and {moved_structure} respectively."
            )
        message = Message(rule, "JVP rule", name, "jvp", "in value ", "same", "")
        results = self.call.results(leaves, structure, message)
        kinds = self.call.flat.out_types
        _check_tangents(moved, kinds)
        return results, [
            None if is_symbolic_zero(constant_value(t)) else traced(t, kind)
            for t, kind in zip(moved, kinds, strict=True)
        ]


def constant_value(value: Any) -> Any:
    """A Python number as an array; anything else as it is."""
    return value if hasattr(value, "dtype") else np.asarray(value)


def _check_tangents(tangents: Sequence[Any], kinds: Sequence[ArrayType]) -> None:
    """Raise JAX's TypeError where the tangents are not those of results of these types."""
    wrong = []
    for tangent, kind in zip(tangents, kinds, strict=True):
        expected = _tangent_text(kind)
        known = constant_value(tangent)
        text = _text(tuple(known.shape), known.dtype)
        if text != expected:
            wrong.append((type_text(kind), expected, text))
    if not wrong:
        return
    message = (
        f"{user_source()}: Custom JVP rule must produce primal and tangent outputs with "
        f"corresponding shapes and dtypes"
    )
    if len(kinds) == 1:
        ((primal, expected, text),) = wrong
        raise TypeError(
            f"{message}. Expected {expected} (tangent type of {primal}) but got {text}."
        )
    lines = "\n".join(
        f"  primal {primal} with tangent {text}, expecting tangent {expected}"
        for primal, expected, text in wrong
    )
    raise TypeError(f"{message}, but got:\n{lines}")


def _tangent_text(kind: ArrayType) -> str:
    return type_text(kind) if is_inexact(kind) else _text(kind.shape, FLOAT0)


def _text(shape: tuple[Any, ...], dtype: np.dtype[Any]) -> str:
    name = "float0" if dtype == FLOAT0 else dtype.name
    return f"{name}[{','.join(map(str, shape))}]"


# ----------------------------------------------------------------------------------- reverse mode


@dataclass(frozen=True, eq=False)
class VjpRule:
    """A rule in reverse mode for the leaves of one call; `fwd` takes the arguments that are
    differentiated alone."""

    call: Call
    fwd: Callable[..., Any]
    bwd: Callable[..., Any]

    @property
    def __name__(self) -> str:
        return f"{function_name(self.fwd)},{function_name(self.bwd)}"

    def forward(self, operands: Values, active: Flags) -> tuple[list[Any], list[Any], Backward]:
        """The results, the traced residuals (captured values first), and the backward pass."""
        call, count = self.call, len(self.call.captured)
        call.check_captured(active, "vjp", "fwd and bwd rules")
        arguments = call.arguments(operands)
        if call.symbolic_zeros:
            arguments = [
                CustomVJPPrimal(x, is_active)
                for x, is_active in zip(arguments, active[count:], strict=True)
            ]
        with standing_in(call.captured, operands[:count]):
            pair = resolved(self.fwd)(*call.flat.in_tree.unflatten(arguments))
            results, residuals, parts = self._checked(pair)
        return results, [*operands[:count], *residuals], BackwardRule(self, parts)

    def _checked(self, pair: Any) -> tuple[list[Any], list[Tracer], Parts]:
        name, rule = self.call.name, function_name(self.fwd)
        kept = (
            "the second element represents residuals (i.e. values stored from the forward pass "
            "for use on the backward pass)"
        )
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise TypeError(
                f"{user_source()}: Custom VJP fwd rule {rule} for function {name} must produce a "
                f"pair (list or tuple of length two) where the first element represents the "
                f"primal output (equal to those of the custom_vjp-decorated function {name}) and "
                f"{kept}, but instead of a pair the fwd rule {rule} produced {pair}."
            )
        leaves, structure = tree.flatten(pair[0])
        full = f"VJP fwd rule {rule}"
        message = Message(full, "fwd rule", name, "vjp", "", "", f" and {kept}")
        residuals, parts = Parts.of(pair[1])
        return (
            self.call.results(leaves, structure, message),
            [traced(x, x.type) for x in residuals],
            parts,
        )


@dataclass(frozen=True, eq=False)
class BackwardRule:
    """The backward pass of one call, for the residuals of one run of its forward rule."""

    rule: VjpRule
    parts: Parts

    @property
    def __name__(self) -> str:
        return function_name(self.rule.bwd)

    def __call__(self, residuals: Values, cotangents: Values) -> list[Any]:
        """The cotangents of captured values (none) and of the leaves of the arguments."""
        call, count = self.rule.call, len(self.rule.call.captured)
        arrived = [
            call.zero(kind) if c is None else c
            for c, kind in zip(cotangents, call.flat.out_types, strict=True)
        ]
        with standing_in(call.captured, residuals[:count]):
            call.check_takes(self.rule.bwd, "VJP bwd", "residuals", "cotangents")
            returned = self.rule.bwd(
                *call.static,
                self.parts.join(residuals[count:]),
                call.flat.out_tree.unflatten(arrived),
            )
            in_tree = call.flat.in_tree
            if isinstance(returned, list) and len(returned) == len(in_tree.subtrees):
                returned = tuple(returned)
            leaves = _prefix_leaves(returned, in_tree) if isinstance(returned, tuple) else None
            if leaves is None:
                raise TypeError(
                    f"{user_source()}: Custom VJP bwd rule must produce an output with the same "
                    f"container (pytree) structure as the args tuple of the primal function, and "
                    f"in particular must produce a tuple of length equal to the number of "
                    f"arguments to the primal function, but got bwd output structure "
                    f"{tree.structure(returned)} for primal input structure {in_tree}."
                )
            paths, kinds = in_tree.paths(), call.flat.in_types
            return [None] * count + [
                _cotangent(x, kind, path)
                for x, kind, path in zip(leaves, kinds, paths, strict=True)
            ]


def _prefix_leaves(value: Any, structure: tree.TreeDef) -> list[Any] | None:
    """The leaves of a tree of this structure; a leaf or a None in it stands for all leaves below
    it. None where the structures differ."""
    if value is None and structure.node is not tree.structure(None).node:
        return [None] * structure.num_leaves
    if structure.node is None:
        return [value] if tree.structure(value).node is None else None
    children, level = tree.flatten(value, is_leaf=lambda x: x is not value)
    if level.node is None:
        return [value] * structure.num_leaves
    if (level.node, level.data, len(children)) != (
        structure.node,
        structure.data,
        len(structure.subtrees),
    ):
        return None
    below = [_prefix_leaves(c, s) for c, s in zip(children, structure.subtrees, strict=True)]
    leaves: list[Any] = []
    for part in below:
        if part is None:
            return None
        leaves += part
    return leaves


def _cotangent(value: Any, kind: ArrayType, path: str) -> Any:
    """The cotangent of a leaf: a tracer of its type, or None for zero."""
    if value is None or not is_inexact(kind):
        return None
    if isinstance(value, SymbolicZero):
        if value.type != kind.strong:
            raise ValueError(
                f"{user_source()}: Custom VJP bwd rule produced a SymbolicZero with a shape/dtype "
                f"that does not match the corresponding input tangent shape/dtype: at output{path} "
                f"the SymbolicZero had shape/dtype {type_text(value.type)} while the corresponding "
                f"input had shape/dtype {type_text(kind)}. Consider just returning a None here "
                f"instead of a SymbolicZero object."
            )
        return None
    own = value_type(value).strong
    becomes_real = own.dtype.kind == "c" and kind_letter(kind.dtype) == "f"
    if own.shape != kind.shape or becomes_real:
        differing = ["the dtypes do not match"] * (own.dtype != kind.dtype)
        differing += ["the shapes do not match"] * (own.shape != kind.shape)
        raise ValueError(
            f"{user_source()}: Custom VJP bwd rule must produce an output with the same type as "
            f"the args tuple of the primal function, but at output{path} the bwd rule produced an "
            f"output of type {type_text(own)} corresponding to an input of type "
            f"{type_text(kind)}, so {', and '.join(differing)}"
        )
    if not isinstance(value, Tracer):
        array = np.asarray(value, kind.dtype)
        return traced(array, kind) if np.any(array) else None
    if own.dtype == kind.dtype:
        return traced(value, kind)
    return apply("convert_element_type", value, dtype=kind.dtype)
