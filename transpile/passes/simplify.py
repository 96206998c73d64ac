"""Fold constants and apply algebraic identities: peephole rules on an equation and its producers.

Every rule is exact to the bit: `x * 1` becomes `x`, but `x + 0.0` stays (it turns -0.0 into 0.0),
and so does `x * 0.0` (which may be NaN).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from transpile.ir.contracts import contract
from transpile.ir.contracts.graphs import NO_COMMON_SUBEXPRESSIONS, NO_DEAD_CODE, OWN_OUTPUTS
from transpile.ir.graph import Atom, Const, Equation, Graph, Var, calls_python
from transpile.ir.graph_rewrite import Builder, rewrite, sizes_read
from transpile.ir.primitive import TABLE, Primitive
from transpile.ir.types import BOOL, FLOAT32, FLOAT64, ArrayType, is_half, kind_letter
from transpile.machine import USUAL, Machine
from transpile.passes.truth_rules import of_one_truth, select_of_truths
from transpile.primitives import axes, dot, elementwise, indexing, sorting
from transpile.primitives.elementwise import bits
from transpile.primitives.reductions import identity
from transpile.trace.trace import evaluate
from transpile.util.frozen_records import memoized

# An array may have thousands of updates, and as many slices: the search for what a slice reads ends
# after so many, so that its time is not their product.
MOST_UPDATES = 128

SimplifyRule = Callable[[Builder, Equation], "Atom | None"]


@contract(destroys=(NO_DEAD_CODE, NO_COMMON_SUBEXPRESSIONS, OWN_OUTPUTS))
def simplify(graph: Graph, machine: Machine = USUAL) -> Graph:
    """Fold constants and apply algebraic identities."""
    return rewrite(graph, _rule, machine)


def _rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    if len(equation.outputs) != 1 or calls_python(equation):
        return None
    original = equation
    if equation.primitive.kind == "elementwise":
        equation = _with_splats_as_scalars(builder, equation)
    result = None
    if equation.primitive.kind == "length":  # which counts, whatever the number is
        return None
    if equation.primitive.kind != "communicate":  # its value is another device's, too
        result = _fold_constants(builder, equation)
    if result is None:
        result = _simplify_algebraically(builder, equation)
    if result is None:
        rule = _rule_of(equation.primitive)
        result = rule(builder, equation) if rule is not None else None
    if result is not None:
        return [result]
    if equation is original:
        return None
    builder.add(equation)
    return equation.outputs


def _splat_value(builder: Builder, atom: Atom) -> Const | None:
    """The number of which an atom is a splat, or None."""
    if isinstance(atom, Const):
        if atom.is_scalar:
            return atom
        first = atom.value.ravel()[:1]
        if (
            first.size
            and (
                atom.value.view(np.uint8)
                == np.tile(first.view(np.uint8), atom.value.size).reshape(
                    (*atom.value.shape[:-1], -1)
                )
            ).all()
        ):
            return Const(first[0])
        return None
    equation = builder.producers.get(atom)
    if equation is not None and equation.primitive.kind == "view":
        return _splat_value(builder, equation.inputs[0])
    return None


def _with_splats_as_scalars(builder: Builder, equation: Equation) -> Equation:
    """The equation with splats as scalars, as long as one operand has the output's shape."""
    shape = equation.output.type.shape
    inputs = list(equation.inputs)
    for position, atom in enumerate(inputs):
        rest = inputs[:position] + inputs[position + 1 :]
        if atom.type.shape and any(a.type.shape == shape for a in rest):
            scalar = _splat_value(builder, atom)
            if scalar is not None:
                inputs[position] = scalar
    if inputs == list(equation.inputs):
        return equation
    return Equation(
        equation.primitive, tuple(inputs), equation.params, equation.outputs, equation.source
    )


def _fold_constants(builder: Builder, equation: Equation) -> Atom | None:
    """The value of an equation of constants: of splats a splat, of small arrays an array."""
    type_ = equation.output.type
    if equation.primitive.kind == "elementwise" and type_.shape:
        scalars = [_splat_value(builder, a) for a in equation.inputs]
        if all(s is not None for s in scalars):
            (value,) = evaluate(
                Equation(
                    equation.primitive, (), equation.params, (Var(ArrayType((), type_.dtype)),)
                ),
                [s.value for s in scalars if s is not None],
            )
            return builder.apply(
                axes.broadcast_in_dim, Const(value), shape=type_.shape, broadcast_dimensions=()
            )
    if not equation.inputs or not isinstance(type_.size, int):
        return None
    if type_.size > builder.machine.largest_folded:
        return None
    if not all(isinstance(a, Const) for a in equation.inputs) or sizes_read(equation):
        return None
    if type_.shape and all(a.type.shape == () for a in equation.inputs):
        return None  # a broadcast scalar is simpler than the array it stands for
    (value,) = evaluate(equation, [a.value for a in equation.inputs if isinstance(a, Const)])
    return Const(value)


# --------------------------------------------------------------- rules from columns of primitives


def _simplify_algebraically(builder: Builder, equation: Equation) -> Atom | None:
    """The operand that an equation equals: beside a neutral element, or by an involution."""
    primitive, dtype = equation.primitive, equation.output.type.dtype
    if primitive.identity:
        return equation.inputs[0]
    if primitive.involution:
        inner = builder.producer(equation.inputs[0], primitive)
        return inner.inputs[0] if inner and inner.inputs[0].type.dtype == dtype else None
    if len(equation.inputs) != 2:
        return None
    x, y = equation.inputs
    if _is_neutral(y, primitive, dtype):
        return x
    if primitive.commutative and _is_neutral(x, primitive, dtype):
        return y
    if dtype == BOOL and primitive.kind == "elementwise":
        return of_one_truth(builder, equation)
    more = primitive.of_equals(dtype) if x is y else None
    return None if more is None else builder.apply(elementwise.add, x, Const(more))


def _is_neutral(atom: Atom, primitive: Primitive, dtype: np.dtype[Any]) -> bool:
    """True if an atom is the neutral element of a primitive, to the bit."""
    if not isinstance(atom, Const) or not atom.is_scalar or atom.type.dtype != dtype:
        return False
    neutral = primitive.neutral(dtype)
    return neutral is not None and bool(atom.value.tobytes() == neutral.tobytes())


# ------------------------------------------------------------------------- rules of one primitive


def _is(atom: Atom, number: float) -> bool:
    return (
        isinstance(atom, Const)
        and atom.is_scalar
        and bool(atom.value == number)
        and (number != 0 or not (np.signbit(atom.value.real) or np.signbit(atom.value.imag)))
    )


def _add(builder: Builder, equation: Equation) -> Atom | None:
    x, y = equation.inputs
    negated = builder.producer(y, elementwise.negative)
    if negated is not None and equation.output.type.dtype.kind in "if":
        return builder.apply(elementwise.subtract, x, negated.inputs[0])
    return None


def _divide(builder: Builder, equation: Equation) -> Atom | None:
    x, y = equation.inputs
    if equation.output.type.dtype.kind == "c" or not (isinstance(y, Const) and y.is_scalar):
        return None
    mantissa, _ = np.frexp(y.value)
    with np.errstate(all="ignore"):
        inverse = Const(np.reciprocal(y.value))
    if (
        abs(mantissa) == 0.5
        and np.isfinite(inverse.value)
        and np.frexp(inverse.value)[0] == mantissa
        and abs(inverse.value) >= np.finfo(y.value.dtype).tiny
    ):
        return builder.apply(elementwise.multiply, x, inverse)  # by a power of two: exact, faster
    return None


def _comparison(primitive: Primitive) -> SimplifyRule:
    """The rule that folds comparisons decided by the dtype's range, such as an unsigned x < 0, and
    those of an integer with itself."""
    signs = primitive.signs
    is_equality = (-1 in signs) == (1 in signs)
    is_less = -1 in signs
    is_strict = 0 not in signs

    def rule(builder: Builder, equation: Equation) -> Atom | None:
        x, y = equation.inputs
        dtype = x.type.dtype
        if dtype.kind not in "biu":
            return None
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        # x < low, high < x, x > high and low > x are false; x >= low and its like are true.
        right, left = (low, high) if is_less == is_strict else (high, low)
        is_extreme = not is_equality and (_is(y, right) or _is(x, left))
        if x is not y and not is_extreme:
            return None
        truth = Const(np.bool_(not is_strict))
        shape = equation.output.type.shape
        if not shape:
            return truth
        return builder.apply(axes.broadcast_in_dim, truth, shape=shape, broadcast_dimensions=())

    return rule


def _convert(builder: Builder, equation: Equation) -> Atom | None:
    (x,) = equation.inputs
    dtype = equation.params["dtype"]
    if x.type.dtype == dtype:
        return x
    inner = builder.producer(x, elementwise.convert)
    # Widening a half and rounding it back is exact.
    if inner is not None and inner.inputs[0].type.dtype == dtype and is_half(dtype):
        return inner.inputs[0] if x.type.dtype in (FLOAT32, FLOAT64) else None
    return None


def _select(builder: Builder, equation: Equation) -> Atom | None:
    test, x, y = equation.inputs
    if isinstance(test, Const) and test.is_scalar:
        chosen = x if test.value else y
        return chosen if chosen.type.shape == equation.output.type.shape else None
    if x == y and x.type.shape == equation.output.type.shape:
        return x
    if equation.output.type.dtype == BOOL:
        return select_of_truths(builder, equation)
    return _select_of_update(builder, equation)


def _select_of_update(builder: Builder, equation: Equation) -> Atom | None:
    """Integers: `test ? x ^ k : x` as `x ^ (test ? k : 0)`. A comparison of x itself stays, as in
    `x < 0 ? x + n : x`, whose range is known; so does a test from outside, which may be one."""
    test, x, y = equation.inputs
    tested = _producer(builder, test)
    if tested is None:
        return None
    compared = tested.inputs if tested.primitive.signs else ()
    dtype, shape = equation.output.type.dtype, equation.output.type.shape
    for changed, kept in ((x, y), (y, x)):
        update = _producer(builder, changed)
        if dtype.kind not in "iu" or update is None or kept.type.shape != shape:
            continue
        if kept in compared:
            continue
        operation = update.primitive
        if operation.kind == "elementwise" and operation.neutral(dtype) == 0:
            first, step = update.inputs
            if first == kept and isinstance(step, Const) and step.is_scalar:
                if changed is y:
                    test = builder.apply(elementwise.logical_not, test)
                return builder.apply(operation, kept, _where(builder, test, step))
    return None


def _producer(builder: Builder, atom: Atom) -> Equation | None:
    return builder.producers.get(atom) if isinstance(atom, Var) else None


def _where(builder: Builder, test: Atom, step: Const) -> Atom:
    """`test ? step : 0`. Of one number by a mask: of a choice gcc makes a branch, which is often
    mispredicted where the number is carried from iteration to iteration."""
    dtype = step.type.dtype
    if test.type.shape:
        return builder.apply(elementwise.select, test, step, Const(dtype.type(0)))
    truth = builder.apply(elementwise.convert, test, dtype=dtype)
    if step.value == 1:
        return truth
    return builder.apply(bits.bitwise_and, builder.apply(elementwise.negative, truth), step)


def _power_of_two(equation: Equation) -> int | None:
    """The exponent of a constant positive divisor of integers that is a power of two."""
    divisor = equation.inputs[1]
    if not isinstance(divisor, Const) or not divisor.is_scalar:
        return None
    if divisor.type.dtype.kind not in "iu" or divisor.value <= 0:
        return None
    number = int(divisor.value)
    return number.bit_length() - 1 if number & (number - 1) == 0 else None


def _floor_divide(builder: Builder, equation: Equation) -> Atom | None:
    """Division by a power of two rounds down as a shift does."""
    x, exponent = equation.inputs[0], _power_of_two(equation)
    if exponent is None or x.type.shape != equation.output.type.shape:
        return None
    if exponent == 0:
        return x
    return builder.apply(bits.right_shift, x, Const(x.type.dtype.type(exponent)))


def _remainder(builder: Builder, equation: Equation) -> Atom | None:
    """The remainder of a division by a power of two, whose sign is positive, is its last bits."""
    x, exponent = equation.inputs[0], _power_of_two(equation)
    if exponent is None or x.type.shape != equation.output.type.shape:
        return None
    return builder.apply(bits.bitwise_and, x, Const(x.type.dtype.type(2**exponent - 1)))


def _same_shape(_: Builder, equation: Equation) -> Atom | None:
    x = equation.inputs[0]
    return (
        x
        if (x.type.shape == equation.output.type.shape and x.type.shape != ())
        or (x.type.shape == () == equation.output.type.shape and isinstance(x, Var))
        else None
    )


def _reshape(builder: Builder, equation: Equation) -> Atom | None:
    same = _same_shape(builder, equation)
    if same is not None:
        return same
    inner = builder.producer(equation.inputs[0], axes.reshape)
    if inner is not None:
        if inner.inputs[0].type.shape == equation.output.type.shape:
            return inner.inputs[0]
        return builder.apply(axes.reshape, inner.inputs[0], **equation.params)
    return None


def _transpose(builder: Builder, equation: Equation) -> Atom | None:
    (x,) = equation.inputs
    permutation: tuple[int, ...] = equation.params["permutation"]
    if permutation == tuple(range(len(permutation))):
        return x
    inner = builder.producer(x, axes.transpose)
    if inner is not None:
        composed = tuple(inner.params["permutation"][p] for p in permutation)
        if composed == tuple(range(len(composed))):
            return inner.inputs[0]
        return builder.apply(axes.transpose, inner.inputs[0], permutation=composed)
    return None


def _slice(builder: Builder, equation: Equation) -> Atom | None:
    whole = all(s == 1 for s in equation.params["strides"])
    same = _same_shape(builder, equation) if whole else None
    return _slice_of_update(builder, equation) if same is None else same


def _slice_of_update(builder: Builder, equation: Equation) -> Atom | None:
    """Forward a slice through updates that contain it (to the update) or miss it (to the array)."""
    x, params = equation.inputs[0], equation.params
    slice_ends = list(zip(params["start"], params["limit"], strict=True))
    if not all(isinstance(end, int) for ends in slice_ends for end in ends):
        return None
    for _ in range(MOST_UPDATES):
        update = builder.producer(x, indexing.dynamic_update_slice)
        update_ends = None if update is None else _updated_region(update)
        if update is None or update_ends is None:
            break
        pairs = list(zip(slice_ends, update_ends, strict=True))
        if any(high <= first or last <= low for (low, high), (first, last) in pairs):
            x = update.inputs[0]
        elif all(first <= low and high <= last for (low, high), (first, last) in pairs):
            x = update.inputs[1]
            slice_ends = [(low - first, high - first) for (low, high), (first, _) in pairs]
        else:
            break
    if x is equation.inputs[0]:
        return None
    ends = {
        "start": tuple(low for low, _ in slice_ends),
        "limit": tuple(high for _, high in slice_ends),
    }
    return builder.apply(axes.slice_, x, **{**params, **ends})


@memoized
def _updated_region(update: Equation) -> list[tuple[int, int]] | None:
    """The range of subscripts that an update writes, along each axis; None if not constant."""
    x, new, *starts = update.inputs
    known = [s.value for s in starts if isinstance(s, Const)]
    shape = [d for d in x.type.shape if isinstance(d, int)]
    sizes = [d for d in new.type.shape if isinstance(d, int)]
    if any(len(numbers) < len(starts) for numbers in (known, shape, sizes)):
        return None
    first = indexing.clamped_starts(shape, sizes, known)
    return [(at, at + size) for at, size in zip(first, sizes, strict=True)]


def _rev(builder: Builder, equation: Equation) -> Atom | None:
    (x,) = equation.inputs
    moved = tuple(d for d in equation.params["dimensions"] if x.type.shape[d] != 1)
    if not moved:
        return x
    return (
        builder.apply(axes.rev, x, dimensions=moved)
        if moved != equation.params["dimensions"]
        else None
    )


def _concatenate(builder: Builder, equation: Equation) -> Atom | None:
    dimension = equation.params["dimension"]
    kept = [a for a in equation.inputs if a.type.shape[dimension] != 0]
    if len(kept) == 1:
        return kept[0]
    if kept and len(kept) < len(equation.inputs):
        return builder.apply(axes.concatenate, *kept, dimension=dimension)
    return None


def _sort(builder: Builder, equation: Equation) -> Atom | None:
    """Equal elements are sorted."""
    (x,), axis = equation.inputs, equation.params["axis"]
    if _splat_value(builder, x) is not None:
        return x
    spread = builder.producer(x, axes.broadcast_in_dim)
    if spread is None:
        return None
    given = dict(
        zip(spread.params["broadcast_dimensions"], spread.inputs[0].type.shape, strict=True)
    )
    return x if given.get(axis, 1) == 1 else None


def _reduce(builder: Builder, equation: Equation) -> Atom | None:
    (x,) = equation.inputs
    extents = [x.type.shape[a] for a in equation.params["axes"]]
    shape = equation.output.type.shape
    if 0 in extents:
        start = identity(equation.primitive.combine, x.type.dtype)
        return builder.apply(axes.broadcast_in_dim, start, shape=shape, broadcast_dimensions=())
    if all(e == 1 for e in extents):
        only = builder.apply(axes.reshape, x, shape=shape) if shape != x.type.shape else x
        letter, combine = kind_letter(x.type.dtype), equation.primitive.combine
        # A sum starts at 0.0, so that of -0.0 is 0.0; 1 times a complex infinity has a NaN.
        if (combine == "add" and letter in "fc") or (combine == "multiply" and letter == "c"):
            start = identity(combine, x.type.dtype)
            return builder.apply(TABLE[combine], start, only)
        return only
    return None


def _dot_general(builder: Builder, equation: Equation) -> Atom | None:
    x = equation.inputs[0]
    (contracting, _), _ = equation.params["dimension_numbers"]
    if any(x.type.shape[a] == 0 for a in contracting):
        zero = Const(np.zeros((), x.type.dtype))
        return builder.apply(
            axes.broadcast_in_dim, zero, shape=equation.output.type.shape, broadcast_dimensions=()
        )
    return None


_RULES: dict[Primitive, SimplifyRule] = {
    elementwise.add: _add,
    elementwise.divide: _divide,
    elementwise.floor_divide: _floor_divide,
    elementwise.remainder: _remainder,
    elementwise.convert: _convert,
    elementwise.select: _select,
    axes.broadcast_in_dim: _same_shape,
    axes.reshape: _reshape,
    axes.transpose: _transpose,
    axes.slice_: _slice,
    axes.rev: _rev,
    axes.concatenate: _concatenate,
    dot.dot_general: _dot_general,
    sorting.sort: _sort,
}


@cache
def _rule_of(primitive: Primitive) -> SimplifyRule | None:
    """The rule of a primitive. It is asked for one by one: to go through the table would import the
    families of all."""
    if primitive.signs:
        return _comparison(primitive)
    return _reduce if primitive.kind == "reduce" else _RULES.get(primitive)
