"""The text of a module, in the syntax that XLA's parser reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from transpile.hlo.module import (
    Computation,
    Instruction,
    Labels,
    Module,
    Type,
    Window,
    axis_letters,
    element_name,
)
from transpile.ir.types import ArrayType

# Attributes whose values are names of XLA's, written as they are; other strings are quoted.
_UNQUOTED = frozenset(("direction", "fft_type", "transpose_a", "api_version"))
# Words of the syntax, among them types: a module of such a name is written %NAME.
_SYNTAX = (
    "true false inf nan HloModule ENTRY ROOT maximal replicated manual last_tile_dim_replicate"
    " shard_as shard_like unknown unreduced pred token opaque bf16 f16 f32 f64 c64 c128 s1 s2 s4"
    " s8 s16 s32 s64 u1 u2 u4 u8 u16 u32 u64 f4e2m1fn f8e3m4 f8e4m3 f8e4m3b11fnuz f8e4m3fn"
    " f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0fnu"
)
WORDS = frozenset(_SYNTAX.split())


def to_text(module: Module, *, sources: bool = False) -> str:
    """The module; `sources` adds the user's file and line to each instruction."""
    name = f"%{module.name}" if module.name in WORDS else module.name
    parts = [f"HloModule {name}{_aliases(module)}"]
    for computation in module.computations:
        parts.append("\n".join(_computation(computation, computation is module.entry, sources)))
    return "\n\n".join(parts) + "\n"


def _aliases(module: Module) -> str:
    where = "(0, {{{}}}, may-alias)" if module.is_tuple else "({}, {{}}, may-alias)"
    pairs = [f"{{{output}}}: {where.format(argument)}" for output, argument in module.aliases]
    return f", input_output_alias={{ {', '.join(pairs)} }}" if pairs else ""


def computation_name(computation: Computation) -> str:
    """The name in the module, which no other computation has."""
    return f"{computation.name}.{computation.number}"


def _computation(computation: Computation, is_entry: bool, sources: bool) -> Iterator[str]:
    yield f"{'ENTRY ' if is_entry else ''}{computation_name(computation)} {{"
    for instruction in computation.instructions:
        root = "ROOT " if instruction is computation.root else ""
        yield f"  {root}{_instruction(instruction)}{_source(instruction) if sources else ''}"
    yield "}"


def _source(instruction: Instruction) -> str:
    source = instruction.source
    if not source.line:
        return ""
    return f", metadata={{source_file={json.dumps(source.file)} source_line={source.line}}}"


def _instruction(instruction: Instruction) -> str:
    attributes = dict(instruction.attributes)
    inside = ", ".join(operand.name for operand in instruction.operands)
    if instruction.opcode == "parameter":
        inside = str(attributes.pop("number"))
    elif instruction.opcode == "constant":
        inside = literal(instruction.literal)
    kind = type_text(instruction.type, instruction.layout)
    text = f"{instruction.name} = {kind} {instruction.opcode}({inside})"
    return "".join((text, *(f", {_attribute(n, v)}" for n, v in attributes.items())))


def type_text(type: Type, layout: tuple[Any, ...] | None = None) -> str:
    """A type as XLA writes it: f32[2,3], or (f32[2,3], s32[])."""
    if isinstance(type, ArrayType):
        order = "" if not layout else f"{{{','.join(map(str, layout))}}}"
        return f"{element_name(type.dtype)}[{','.join(map(str, type.shape))}]{order}"
    layouts = layout or (None,) * len(type)
    return f"({', '.join(map(type_text, type, layouts))})"


# --------------------------------------------------------------------------------------- literals


def literal(array: Any) -> str:
    """The numbers of a constant, nested as its axes are."""
    if array.ndim == 0:
        return number(array[()])
    return f"{{{', '.join(map(literal, array))}}}"


def number(value: Any) -> str:
    """A number that reads back as the same one."""
    if value.dtype.kind == "c":
        return f"({number(value.real)}, {number(value.imag)})"
    if value.dtype.kind in "biu":
        return str(value.item()).lower()
    value = value.astype(np.float32) if value.dtype.name == "bfloat16" else value
    if np.isnan(value):
        return "nan"
    return str(value).lower()  # the shortest text of a float of this format; inf and -inf


# ------------------------------------------------------------------------------------- attributes


def _attribute(name: str, value: Any) -> str:
    return f"{name}={_special(name, value) or _value(name, value)}"


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if name in _UNQUOTED else json.dumps(value)
    if isinstance(value, Computation):
        return computation_name(value)
    if isinstance(value, tuple):
        return f"{{{','.join(_value(name, v) for v in value)}}}"
    return str(value)


def _special(name: str, value: Any) -> str:
    write = _WRITERS.get(name)
    return write(value) if write else ""


def _layouts(operands: Any) -> str:
    """Of the operands of a call: their types with the layouts that it takes."""
    return f"{{{', '.join(type_text(kind, layout) for kind, layout in operands)}}}"


def options(pairs: Any) -> str:
    """The options of a call, in MLIR's syntax: letters are bytes, numbers have 32 bits."""
    kinds = {str: "ui8", int: "i32"}
    texts = (f"{k} = {ord(v) if type(v) is str else v} : {kinds[type(v)]}" for k, v in pairs)
    return f"{{{', '.join(texts)}}}"


def _slices(bounds: Any) -> str:
    return f"{{{', '.join(f'[{a}:{b}:{c}]' for a, b, c in bounds)}}}"


def _padding(padding: Any) -> str:
    return "x".join(f"{low}_{high}_{inner}" for low, high, inner in padding) or "0_0"


def _window(window: Window) -> str:
    fields = {
        "size": _times(window.size),
        "stride": _times(window.stride),
        "pad": "x".join(f"{low}_{high}" for low, high in window.padding),
        "lhs_dilate": _times(window.base_dilation),
        "rhs_dilate": _times(window.window_dilation),
    }
    return f"{{{' '.join(f'{name}={text}' for name, text in fields.items() if text)}}}"


def _times(numbers: tuple[int, ...]) -> str:
    return "x".join(map(str, numbers))


def _labels(labels: Labels) -> str:
    array, result = (_axes("bf", axes) for axes in (labels.array, labels.result))
    return f"{array}_{_axes('oi', labels.kernel)}->{result}"


def _axes(names: str, axes: tuple[int, ...]) -> str:
    return "".join(axis_letters(names, axes))


_WRITERS: Mapping[str, Callable[[Any], str]] = {
    "backend_config": options,
    "dim_labels": _labels,
    "operand_layout_constraints": _layouts,
    "padding": _padding,
    "sharding": str,
    "slice": _slices,
    "window": _window,
}
