"""Threefry-2x32, found in a computation that spells its rounds: then it is the primitive of that
name, which random numbers are drawn by here as well.

The primitive takes and gives two words of 32 bits as one number. What is taken apart into words and
put together again is the number itself, and the exclusive or of both words is a primitive, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transpile import lax
from transpile.hlo_import.same_functions import is_same, simplified
from transpile.ir.graph import UNKNOWN_SOURCE, Atom, Const, Equation, Graph, Var
from transpile.ir.graph_rewrite import Builder, rewrite
from transpile.ir.primitive import TABLE
from transpile.passes.dead_code import eliminate_dead_code
from transpile.primitives.reference.threefry import PARITY, ROTATIONS, UINT32, UINT64
from transpile.primitives.rules import apply
from transpile.transforms.closed import close

LEAST_EQUATIONS = 60  # twenty rounds of three operations and more


def drawn_by_threefry(graph: Graph) -> Graph:
    """The graph, or two words of the primitive where it computes nothing else: of two words of a
    key and arrays of two words of a counter."""
    types = [v.type.strong for v in graph.inputs]
    if len(graph.equations) < LEAST_EQUATIONS or len(types) != 4 or len(graph.outputs) != 2:
        return graph
    if any(t.dtype != UINT32 for t in types) or types[0].shape or types[1].shape:
        return graph
    if types[2] != types[3] or not is_same(graph, rounds, types):
        return graph
    inputs = [Var(t) for t in types]
    return simplified(close(_drawn, inputs, name=graph.name, source=UNKNOWN_SOURCE).graph)


def _drawn(k0: Any, k1: Any, x: Any, y: Any) -> list[Any]:
    """The words by the primitive, which takes and gives two as one number."""
    shift = np.uint64(32)
    key = (k0.astype(UINT64) << shift) | k1.astype(UINT64)
    counter = (x.astype(UINT64) << shift) | y.astype(UINT64)
    both = apply("threefry_2x32", _spread(key, x), counter)
    return [(both >> shift).astype(UINT32), both.astype(UINT32)]


def _spread(word: Any, x: Any) -> Any:
    return lax.broadcast_in_dim(word, x.shape, ())


def rounds(k0: Any, k1: Any, x: Any, y: Any) -> list[Any]:
    """The rounds as JAX writes them."""
    parity = np.array(PARITY, UINT32)
    schedule = (k1, lax.bitwise_xor(lax.bitwise_xor(k0, k1), parity), k0)
    x, y = lax.add(x, _spread(k0, x)), lax.add(y, _spread(k1, y))
    for block in range(5):
        for rotation in ROTATIONS[block % 2]:
            x = lax.add(x, y)
            left = lax.shift_left(y, _spread(np.uint32(rotation), y))
            right = lax.shift_right_logical(y, _spread(np.uint32(32 - rotation), y))
            y = lax.bitwise_xor(x, lax.bitwise_or(left, right))
        x = lax.add(x, _spread(schedule[block % 3], x))
        y = lax.add(y, _spread(schedule[(block + 1) % 3], y))
        y = lax.add(y, _spread(np.uint32(block + 1), y))
    return [x, y]


# --------------------------------------------------------------------------------- words, numbers


def with_whole_numbers(graph: Graph) -> Graph:
    """The graph without numbers that are only taken apart and put together."""
    if all(e.primitive.name != "threefry_2x32" for e in graph.equations):
        return graph
    return eliminate_dead_code(rewrite(graph, _rule))


def _rule(builder: Builder, equation: Equation) -> Sequence[Atom] | None:
    name = equation.primitive.name
    if name == "bitwise_or" and equation.output.type.dtype == UINT64:
        x, y = equation.inputs
        return _put_together(builder, x, y) or _put_together(builder, y, x)
    if name != "bitwise_xor":
        return None
    x, y = equation.inputs
    found = _whole(builder, x, y) or _whole(builder, y, x)
    drawn = builder.producer(found, TABLE["threefry_2x32"]) if found is not None else None
    if drawn is None:
        return None
    return [builder.apply(TABLE["threefry_2x32_folded"], *drawn.inputs)]


def _put_together(builder: Builder, x: Atom, y: Atom) -> list[Atom] | None:
    """The number whose high word is shifted in x, and whose low word is y."""
    shifted = builder.producer(x, TABLE["left_shift"])
    if shifted is None or not _is_shift(shifted):
        return None
    high, low = (_converted(builder, a, UINT64) for a in (shifted.inputs[0], y))
    found = _whole(builder, high, low) if high is not None and low is not None else None
    return None if found is None else [found]


def _whole(builder: Builder, high: Atom, low: Atom) -> Atom | None:
    """The number of which these are both words."""
    number, shifted = _converted(builder, low, UINT32), _converted(builder, high, UINT32)
    back = None if shifted is None else builder.producer(shifted, TABLE["right_shift"])
    if number is None or back is None or not _is_shift(back):
        return None
    return number if back.inputs[0] is number and number.type.dtype == UINT64 else None


def _converted(builder: Builder, atom: Atom, dtype: Any) -> Atom | None:
    """What was converted to this dtype."""
    found = builder.producer(atom, TABLE["convert_element_type"])
    return found.inputs[0] if found is not None and atom.type.dtype == dtype else None


def _is_shift(equation: Equation) -> bool:
    """True of a shift by 32 bits."""
    by = equation.inputs[1]
    return isinstance(by, Const) and by.is_scalar and int(by.value) == 32
