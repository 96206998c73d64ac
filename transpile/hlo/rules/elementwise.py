"""Elementwise primitives: most are one instruction, which their column `hlo` names."""

from __future__ import annotations

from typing import Any

from transpile.hlo.builder import Builder, Rule, Rules
from transpile.hlo.module import Instruction
from transpile.ir.graph import Equation
from transpile.ir.primitive import Primitive
from transpile.ir.types import ArrayType, kind_letter, real_dtype

# How XLA names a comparison by the signs of x - y for which it is true.
DIRECTIONS = {
    (0,): "EQ",
    (-1, 1): "NE",
    (-1,): "LT",
    (-1, 0): "LE",
    (1,): "GT",
    (0, 1): "GE",
}
ORDERED = "biuf"


def opcode(equation: Equation) -> str:
    """The instruction that an elementwise equation is, or "" where it is none."""
    column, kind = equation.primitive.hlo, kind_letter(equation.inputs[0].type.dtype)
    if isinstance(column, str):
        return column
    return next((name for kinds, name in column.items() if not kinds or kind in kinds), "")


def elementwise(b: Builder, equation: Equation, *operands: Instruction) -> Instruction:
    """The instruction of that name."""
    return b.add(opcode(equation), equation.output.type.strong, *operands)


def comparison(b: Builder, equation: Equation, x: Instruction, y: Instruction) -> Instruction:
    """A comparison of numbers that XLA orders."""
    return b.compare(DIRECTIONS[equation.primitive.signs], x, y)


def select(b: Builder, _: Equation, test: Instruction, x: Instruction, y: Instruction) -> Any:
    """The choice by a predicate."""
    return b.select(test, x, y)


def convert(b: Builder, equation: Equation, x: Instruction) -> Instruction:
    """The real part of what becomes real; of what becomes a bool, whether it is not zero."""
    dtype = equation.output.type.dtype
    if dtype.kind == "b":
        return b.compare("NE", x, b.splat(0, x.array))
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = b.add("real", ArrayType(x.shape, real_dtype(x.dtype)), x)
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
    "behind_branch": unchanged,
    "bits": bitcast,
    "bitwise_count": bit_count,
    "convert_element_type": convert,
    "copy": unchanged,
    "float_from_bits": bitcast,
    "isfinite": is_finite,
    "name": unchanged,
    "opaque": unchanged,
    "select": select,
    "stop_gradient": unchanged,
}


def rule_of(primitive: Primitive) -> Rule | None:
    """The rule of an elementwise primitive: by its columns, or one of its own."""
    if primitive.hlo:
        return elementwise
    return comparison if primitive.signs else RULES.get(primitive.name)


def has_instruction(equation: Equation) -> bool:
    """False where the rule of an elementwise primitive is not for its dtype."""
    primitive, kind = equation.primitive, kind_letter(equation.inputs[0].type.dtype)
    if primitive.hlo:
        return bool(opcode(equation))
    if primitive.signs:  # XLA compares complex numbers for equality alone
        return kind in ORDERED or DIRECTIONS[primitive.signs] in ("EQ", "NE")
    return primitive.name != "isfinite" or kind == "f"
