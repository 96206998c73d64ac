"""Callbacks: custom calls of a target that whoever runs the module is to register. Arrays are in
row-major order, and `place` in the configuration tells the calls of a module apart. Checks are
refused, as in C."""

from __future__ import annotations

from typing import Any

from transpile.hlo.builder import Builder, Rules
from transpile.hlo.module import Instruction
from transpile.ir.graph import Equation
from transpile.ir.types import ArrayType
from transpile.primitives.effects.checks import refuse_check


def call_python(b: Builder, equation: Equation, *operands: Instruction) -> list[Instruction]:
    """The results of a callback, a tuple of none, one or several."""
    results = tuple(v.type.strong for v in equation.outputs)
    effect: dict[str, Any] = (
        {"custom_call_has_side_effect": True} if equation.primitive.effect else {}
    )
    done = b.add(
        "custom-call",
        results,
        *operands,
        layout=tuple(map(_row_major, results)),
        custom_call_target=f"transpile_{equation.primitive.name}",
        operand_layout_constraints=tuple((o.array, _row_major(o.array)) for o in operands),
        **effect,
        api_version="API_VERSION_TYPED_FFI",
        backend_config=(("place", next(b.shared.places)),),
    )
    return b.elements(done)


def _row_major(kind: ArrayType) -> tuple[int, ...]:
    """The axes, minor one first."""
    return tuple(range(kind.ndim))[::-1]


RULES: Rules = dict.fromkeys(
    ("debug_callback", "fail", "io_callback", "pure_callback"), call_python
)
RULES["check"] = refuse_check
