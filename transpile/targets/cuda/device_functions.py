"""Functions of C as functions of the device: helpers of runtime_c."""

from __future__ import annotations

import re

from transpile.util.frozen_records import dataclass

# What is spelled otherwise. A GPU divides integers as fast as floats: what C does for divisors that
# the compiler knows is right for all of them.
_SPELLED = (
    (re.compile(r"__builtin_constant_p\([xy]\)"), "true"),
    (re.compile(r"__builtin_ctzll\(([^()]*)\)"), r"(__ffsll((long long)(\1)) - 1)"),
    (re.compile(r"\b\w+\(\((cold, )?noinline\)\)\s*"), ""),
    (re.compile(r"^( *)static (inline )?", re.MULTILINE), r"\1static __device__ "),
    (re.compile(r"\bdouble complex\b"), "complex128"),
    (re.compile(r"\bfloat complex\b"), "complex64"),
    (re.compile(r"\brestrict\b"), "__restrict__"),
)


@dataclass(frozen=True)
class Instruction:
    """What a helper is on a GPU: PTX, the type of its result, and the registers of both."""

    text: str
    type: str
    to: str
    given: str


INSTRUCTIONS = {
    "convert_f16_f32": Instruction("cvt.f32.f16 %0, %1;", "float", "f", "h"),
    "convert_f32_f16": Instruction("cvt.rn.f16.f32 %0, %1;", "uint16_t", "h", "f"),
    "convert_f32_bf16": Instruction("cvt.rn.bf16.f32 %0, %1;", "uint16_t", "h", "f"),
    "round_f16": Instruction(
        "{.reg .b16 half; cvt.rn.f16.f32 half, %1; cvt.f32.f16 %0, half;}", "float", "f", "f"
    ),
}


def device_text(helper: str) -> str:
    """The text of a helper as CUDA C++."""
    for pattern, spelling in _SPELLED:
        helper = pattern.sub(spelling, helper)
    return helper
