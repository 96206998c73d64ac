"""Elementwise primitives: most are one instruction, whose name depends on the kind of dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from transpile.hlo.builder import Builder, Rules
from transpile.hlo.module import Instruction
from transpile.ir.graph import Equation
from transpile.ir.types import ArrayType

# The instruction by the kinds of dtype that it is for; "" is all others. Not there: an expansion.
OPCODES = {
    "absolute": {"ifc": "abs"},
    "add": {"b": "or", "": "add"},
    "arctan2": {"": "atan2"},
    "bitwise_and": {"": "and"},
    "bitwise_or": {"": "or"},
    "bitwise_xor": {"": "xor"},
    "cbrt": {"": "cbrt"},
    "ceil": {"": "ceil"},
    "complex": {"": "complex"},
    "cos": {"": "cosine"},
    "count_leading_zeros": {"": "count-leading-zeros"},
    "divide": {"": "divide"},
    "erf": {"": "erf"},
    "exp": {"": "exponential"},
    "expm1": {"": "exponential-minus-one"},
    "floor": {"": "floor"},
    "fmod": {"f": "remainder"},
    "imag": {"": "imag"},
    "invert": {"": "not"},
    "left_shift": {"": "shift-left"},
    "log": {"": "log"},
    "log1p": {"": "log-plus-one"},
    "logical_and": {"b": "and"},
    "logical_not": {"b": "not"},
    "logical_or": {"b": "or"},
    "logical_xor": {"b": "xor"},
    "logistic": {"": "logistic"},
    "maximum": {"b": "or", "iuf": "maximum"},
    "minimum": {"b": "and", "iuf": "minimum"},
    "multiply": {"b": "and", "": "multiply"},
    "negative": {"": "negate"},
    "optimization_barrier": {"": "opt-barrier"},
    "power": {"fc": "power"},
    "quotient": {"": "divide"},
    "real": {"": "real"},
    "right_shift": {"u": "shift-right-logical", "i": "shift-right-arithmetic"},
    "rint": {"f": "round-nearest-even"},
    "sign": {"if": "sign"},
    "sin": {"": "sine"},
    "sqrt": {"": "sqrt"},
    "subtract": {"": "subtract"},
    "tan": {"": "tan"},
    "tanh": {"": "tanh"},
}
DIRECTIONS = {
    "equal": "EQ",
    "greater": "GT",
    "greater_equal": "GE",
    "less": "LT",
    "less_equal": "LE",
    "not_equal": "NE",
}
ORDERED = "biuf"  # XLA compares complex numbers for equality alone


def opcode(equation: Equation) -> str:
    """The instruction that an elementwise equation is, or "" where it is none."""
    kind = kind_of(equation.inputs[0].type.dtype)
    for kinds, name in OPCODES.get(equation.primitive.name, {}).items():
        if not kinds or kind in kinds:
            return name
    return ""


def kind_of(dtype: np.dtype[Any]) -> str:
    """The kind of a dtype; bfloat16 is a float."""
    return "f" if dtype.name == "bfloat16" else dtype.kind


def elementwise(b: Builder, equation: Equation, *operands: Instruction) -> Instruction:
    """The instruction of that name."""
    return b.add(opcode(equation), equation.output.type.strong, *operands)


def comparison(b: Builder, equation: Equation, x: Instruction, y: Instruction) -> Instruction:
    """A comparison of numbers that XLA orders."""
    return b.compare(DIRECTIONS[equation.primitive.name], x, y)


def select(b: Builder, _: Equation, test: Instruction, x: Instruction, y: Instruction) -> Any:
    """The choice by a predicate."""
    return b.select(test, x, y)


def convert(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """The real part of what becomes real; of what becomes a bool, whether it is not zero."""
    dtype = equation.output.type.dtype
    if dtype.kind == "b":
        return b.compare("NE", x, b.splat(0, x.array))
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = b.add("real", ArrayType(x.shape, np.dtype(f"f{x.dtype.itemsize // 2}")), x)
    return b.convert(x, dtype)


def bitcast(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """The same bits as another dtype."""
    return b.add("bitcast-convert", equation.output.type.strong, x)


def bit_count(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """The number of bits of |x| that are set; NumPy's result has eight bits."""
    x = b.same("abs", x) if x.dtype.kind == "i" else x
    return b.convert(b.same("popcnt", x), equation.output.type.dtype)


def is_finite(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """True unless infinite or NaN."""
    return b.add("is-finite", equation.output.type, x)


def unchanged(_: Builder, __: Equation, x: Instruction) -> Instruction:
    """The operand itself."""
    return x


RULES: Rules = {
    **dict.fromkeys(OPCODES, elementwise),
    **dict.fromkeys(DIRECTIONS, comparison),
    "bits": bitcast,
    "bitwise_count": bit_count,
    "convert_element_type": convert,
    "copy": unchanged,
    "float_from_bits": bitcast,
    "isfinite": is_finite,
    "name": unchanged,
    "select": select,
    "stop_gradient": unchanged,
}


def has_instruction(equation: Equation) -> bool:
    """False where the rule of an elementwise primitive is not for its dtype."""
    name, kind = equation.primitive.name, kind_of(equation.inputs[0].type.dtype)
    if name in OPCODES:
        return bool(opcode(equation))
    if name in DIRECTIONS and name not in ("equal", "not_equal"):
        return kind in ORDERED
    return name != "isfinite" or kind == "f"
