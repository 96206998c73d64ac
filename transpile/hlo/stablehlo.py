"""The text of a module as StableHLO, in MLIR's syntax: the short form for operations on arrays of
one type, the generic form for others.

Where HLO calls a computation StableHLO has a region, and where HLO passes a tuple the parts of it:
a tuple is here a list of names, and neither `tuple` nor `get-tuple-element` is an operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from transpile.hlo.devices.shardings import Sharding
from transpile.hlo.module import (
    Computation,
    Instruction,
    Labels,
    Module,
    Type,
    Window,
    axis_letters,
    called,
)
from transpile.hlo.text import options
from transpile.ir.types import ArrayType

# Operations that have another name than the instruction's with underscores.
_NAMES = {
    "broadcast": "broadcast_in_dim",
    "conditional": "if",
    "dot": "dot_general",
    "opt-barrier": "optimization_barrier",
}
_OF_CHLO = {"erf"}  # CHLO has what StableHLO has no operation for; XLA reads both

Names = list[str]


def to_stablehlo(module: Module) -> str:
    """The module, with a function `main`; the last operation of every region is its result."""
    writer = _Writer()
    entry = module.entry
    arguments: Names = []
    types: list[ArrayType] = []
    for parameter in entry.parameters:
        names = [f"%arg{len(types) + k}" for k in range(_count(parameter.type))]
        writer.values[parameter] = names
        arguments += names
        types += list(_parts(parameter.type))
    body = list(writer.body(entry, "    ", "return"))
    cut = [s for p in entry.parameters for s in _shardings(p)]
    declared = ", ".join(
        f"{a}: {_cut(t, s)}" for a, t, s in zip(arguments, types, cut, strict=True)
    )
    results = ", ".join(map(_cut, _parts(entry.root.type), _shardings(entry.root)))
    lines = [
        f"module @{module.name} {{",
        f"  func.func public @main({declared}) -> ({results}) {{",
        *body,
        "  }",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _shardings(instruction: Instruction) -> list[Sharding | None]:
    """Those of the arrays of a parameter or result."""
    sharding: Sharding | None = instruction.attributes.get("sharding")
    if sharding is None:
        return [None] * _count(instruction.type)
    return [sharding] if sharding.elements is None else list(sharding.elements)


def _cut(type: ArrayType, sharding: Sharding | None) -> str:
    """The type of a parameter or result, with its sharding."""
    return _type(type) if sharding is None else f'{_type(type)} {{mhlo.sharding = "{sharding}"}}'


def _parts(type: Type) -> tuple[ArrayType, ...]:
    """The arrays of a value."""
    if isinstance(type, ArrayType):
        return (type,)
    return tuple(part for inner in type for part in _parts(inner))


def _count(type: Type) -> int:
    return len(_parts(type))


def _element(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "b":
        return "i1"
    if dtype.kind == "c":
        return f"complex<f{4 * dtype.itemsize}>"
    if dtype.name == "bfloat16":
        return "bf16"
    return f"{ {'i': 'i', 'u': 'ui', 'f': 'f'}[dtype.kind] }{8 * dtype.itemsize}"


def _type(type: ArrayType) -> str:
    return f"tensor<{''.join(f'{d}x' for d in type.shape)}{_element(type.dtype)}>"


class _Writer:
    """The operations, and the names of the values so far: a list for each instruction."""

    def __init__(self) -> None:
        self.values: dict[Instruction, Names] = {}

    def body(self, computation: Computation, indent: str, end: str) -> Iterator[str]:
        """The operations of a computation whose parameters have names, and its return."""
        for instruction in computation.instructions:
            if instruction.opcode == "tuple":
                parts = instruction.operands
                self.values[instruction] = [n for p in parts for n in self.values[p]]
            elif instruction.opcode == "get-tuple-element":
                self.values[instruction] = self._element_of(instruction)
            elif instruction.opcode != "parameter":
                yield from self._operation(instruction, indent)
        names, types = self.values[computation.root], _parts(computation.root.type)
        listed = f" {', '.join(names)} : {', '.join(map(_type, types))}" if names else ""
        yield f"{indent}{end}{listed}"

    def _element_of(self, instruction: Instruction) -> Names:
        (whole,) = instruction.operands
        assert isinstance(whole.type, tuple)
        index = instruction.attributes["index"]
        before = sum(map(_count, whole.type[:index]))
        return self.values[whole][before : before + _count(instruction.type)]

    def _operation(self, instruction: Instruction, indent: str) -> Iterator[str]:
        operands, regions = self._operands(instruction), self._regions(instruction)
        results = _parts(instruction.type)
        name = f"%{instruction.number}"
        single = len(results) == 1
        self.values[instruction] = (
            [name] if single else [f"{name}#{k}" for k in range(len(results))]
        )
        if instruction.opcode == "constant":
            value = _dense(instruction.literal, instruction.array)
            yield f"{indent}{name} = stablehlo.constant {value}"
            return
        count = "" if single else f":{len(results)}"
        target = f"{name}{count} = " if results else ""
        names = [n for o in operands for n in self.values[o]]
        kinds = [t for o in operands for t in _parts(o.type)]
        types = ", ".join(map(_type, kinds))
        attributes = ", ".join(_attributes(instruction))
        is_alike = single and {t.strong for t in kinds} == {results[0].strong}
        if is_alike and not regions and not attributes and len(kinds) <= 2:
            operation = _operation_name(instruction)
            arrow = f"{types} -> " if operation.startswith("chlo") else ""
            yield f"{indent}{name} = {operation} {', '.join(names)} : {arrow}{_type(results[0])}"
            return
        properties = f" <{{{attributes}}}>" if attributes else ""
        head = f'{indent}{target}"{_operation_name(instruction)}"({", ".join(names)})'
        tail = f" : ({types}) -> ({', '.join(map(_type, results))})"
        if not regions:
            yield f"{head}{properties}{tail}"
            return
        yield f"{head}{properties} ({{"
        for k, (computation, takes_arguments) in enumerate(regions):
            if k:
                yield f"{indent}}}, {{"
            yield from self._region(instruction, computation, takes_arguments, indent + "  ")
        yield f"{indent}}}){tail}"

    def _operands(self, instruction: Instruction) -> Sequence[Instruction]:
        """Branches read what they need from their surroundings."""
        is_branch = instruction.opcode == "conditional"
        return instruction.operands[:1] if is_branch else instruction.operands

    def _regions(self, instruction: Instruction) -> list[tuple[Computation, bool]]:
        """The computations, each with: does its region take arguments."""
        return [(c, instruction.opcode != "conditional") for c in called(instruction)]

    def _region(
        self, instruction: Instruction, computation: Computation, takes: bool, indent: str
    ) -> Iterator[str]:
        parameters = computation.parameters
        if not takes:
            position = list(called(instruction)).index(computation)
            (parameter,) = parameters
            self.values[parameter] = self.values[instruction.operands[1 + position]]
        else:
            declared = []
            for parameter in parameters:
                types = _parts(parameter.type)
                names = [f"%a{parameter.number}_{k}" for k in range(len(types))]
                self.values[parameter] = names
                declared += [f"{n}: {_type(t)}" for n, t in zip(names, types, strict=True)]
            yield f"{indent}^bb0({', '.join(declared)}):"
        yield from self.body(computation, indent, "stablehlo.return")


def _operation_name(instruction: Instruction) -> str:
    opcode = instruction.opcode
    if opcode == "conditional" and "branch_computations" in instruction.attributes:
        return "stablehlo.case"
    dialect = "chlo" if opcode in _OF_CHLO else "stablehlo"
    return f"{dialect}.{_NAMES.get(opcode, opcode.replace('-', '_'))}"


# ------------------------------------------------------------------------------------- attributes


def _attributes(instruction: Instruction) -> Iterator[str]:
    """The attributes of an operation, in MLIR's syntax."""
    if instruction.opcode == "custom-call":
        yield from _of_call(instruction)
        return
    write = _WHOLE.get(instruction.opcode)
    if write:
        yield from write(instruction.attributes)
        return
    for name, value in instruction.attributes.items():
        if not isinstance(value, Computation) and name != "branch_computations":
            yield _attribute(instruction.opcode, name, value)


def _attribute(opcode: str, name: str, value: Any) -> str:
    name = _RENAMED.get((opcode, name), name)
    if name in _ENUMS:
        return f"{name} = #stablehlo<{_ENUMS[name]} {value}>"
    if isinstance(value, bool):
        return f"{name} = {str(value).lower()}"
    if isinstance(value, int):
        return f"{name} = {value} : i64"
    if isinstance(value, str):
        return f'{name} = "{value}"'
    if (opcode, name) in _SINGLE:
        (value,) = value
        return f"{name} = {value} : i64"
    return f"{name} = {_array(value)}"


def _array(values: Sequence[int]) -> str:
    return f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>"


def _pairs(pairs: Sequence[tuple[int, int]]) -> str:
    if not pairs:
        return "dense<> : tensor<0x2xi64>"
    inside = ", ".join(f"[{low}, {high}]" for low, high in pairs)
    return f"dense<[{inside}]> : tensor<{len(pairs)}x2xi64>"


_RENAMED = {
    ("broadcast", "dimensions"): "broadcast_dimensions",
    ("compare", "direction"): "comparison_direction",
    ("concatenate", "dimensions"): "dimension",
    ("dynamic-slice", "dynamic_slice_sizes"): "slice_sizes",
    ("sort", "dimensions"): "dimension",
    ("transpose", "dimensions"): "permutation",
}
_SINGLE = {("concatenate", "dimension"), ("sort", "dimension")}
_ENUMS = {
    "comparison_direction": "comparison_direction",
    "fft_type": "fft_type",
    "transpose_a": "transpose",
}

Attributes = Mapping[str, Any]


def _of_call(instruction: Instruction) -> Iterator[str]:
    attributes = instruction.attributes
    yield f'call_target_name = "{attributes["custom_call_target"]}"'
    if attributes.get("custom_call_has_side_effect"):
        yield "has_side_effect = true"
    yield "api_version = 4 : i32"  # with typed operands and options
    yield f"backend_config = {options(attributes['backend_config'])}"
    operands = [layout for _, layout in attributes["operand_layout_constraints"]]
    for name, layouts in (("operand", operands), ("result", instruction.layout or ())):
        yield f"{name}_layouts = [{', '.join(map(_layout, layouts))}]"


def _layout(order: Sequence[int]) -> str:
    inside = f"[{', '.join(map(str, order))}]" if order else ""
    return f"dense<{inside}> : tensor<{len(order)}xindex>"


def _of_slice(attributes: Attributes) -> Iterator[str]:
    columns = zip(*attributes["slice"], strict=True) if attributes["slice"] else ((), (), ())
    for name, values in zip(("start_indices", "limit_indices", "strides"), columns, strict=True):
        yield f"{name} = {_array(tuple(values))}"


def _of_pad(attributes: Attributes) -> Iterator[str]:
    padding = attributes["padding"]
    columns = zip(*padding, strict=True) if padding else ((), (), ())
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    for name, values in zip(names, columns, strict=True):
        yield f"{name} = {_array(tuple(values))}"


def _of_reduce_window(attributes: Attributes) -> Iterator[str]:
    window: Window = attributes["window"]
    yield f"window_dimensions = {_array(window.size)}"
    yield f"window_strides = {_array(window.stride)}"
    yield f"base_dilations = {_array(window.base_dilation)}"
    yield f"window_dilations = {_array(window.window_dilation)}"
    yield f"padding = {_pairs(window.padding)}"


def _of_convolution(attributes: Attributes) -> Iterator[str]:
    window: Window = attributes["window"]
    labels: Labels = attributes["dim_labels"]
    array, result = (_axes("bf", axes) for axes in (labels.array, labels.result))
    numbers = f"[{array}]x[{_axes('oi', labels.kernel)}]->[{result}]"
    yield f"dimension_numbers = #stablehlo.conv<{numbers}>"
    yield f"window_strides = {_array(window.stride)}"
    yield f"padding = {_pairs(window.padding)}"
    yield f"lhs_dilation = {_array(window.base_dilation)}"
    yield f"rhs_dilation = {_array(window.window_dilation)}"
    for name in ("feature_group_count", "batch_group_count"):
        yield f"{name} = {attributes[name]} : i64"


def _axes(names: str, axes: tuple[int, ...]) -> str:
    return ", ".join(axis_letters(names, axes))


def _numbers(dialect: str, attributes: Attributes, names: Mapping[str, str]) -> str:
    """`#stablehlo.gather<offset_dims = [0], ...>`; empty lists are left out."""
    parts = []
    for name, written in names.items():
        value = attributes[name]
        if isinstance(value, tuple) and not value:
            continue
        text = f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)
        parts.append(f"{written} = {text}")
    return f"#stablehlo.{dialect}<{', '.join(parts)}>"


def _of_dot(attributes: Attributes) -> Iterator[str]:
    names = {
        "lhs_batch_dims": "lhs_batching_dimensions",
        "rhs_batch_dims": "rhs_batching_dimensions",
        "lhs_contracting_dims": "lhs_contracting_dimensions",
        "rhs_contracting_dims": "rhs_contracting_dimensions",
    }
    yield f"dot_dimension_numbers = {_numbers('dot', attributes, names)}"


def _of_gather(attributes: Attributes) -> Iterator[str]:
    names = ("offset_dims", "collapsed_slice_dims", "start_index_map", "index_vector_dim")
    numbers = _numbers("gather", attributes, dict(zip(names, names, strict=True)))
    yield f"dimension_numbers = {numbers}"
    yield f"slice_sizes = {_array(attributes['slice_sizes'])}"
    yield "indices_are_sorted = false"


def _of_scatter(attributes: Attributes) -> Iterator[str]:
    names = (
        *("update_window_dims", "inserted_window_dims"),
        *("scatter_dims_to_operand_dims", "index_vector_dim"),
    )
    numbers = _numbers("scatter", attributes, dict(zip(names, names, strict=True)))
    yield f"scatter_dimension_numbers = {numbers}"
    yield f"unique_indices = {str(attributes['unique_indices']).lower()}"
    yield "indices_are_sorted = false"


def _replica_groups(attributes: Attributes) -> str:
    """Groups of one length: shorter ones are filled with -1."""
    groups = attributes["replica_groups"]
    size = max(map(len, groups))
    rows = [[*group, *[-1] * (size - len(group))] for group in groups]
    return f"replica_groups = dense<{rows}> : tensor<{len(rows)}x{size}xi64>"


def _of_all_reduce(attributes: Attributes) -> Iterator[str]:
    yield _replica_groups(attributes)


def _of_all_gather(attributes: Attributes) -> Iterator[str]:
    yield f"all_gather_dim = {attributes['dimensions'][0]} : i64"
    yield _replica_groups(attributes)


def _of_reduce_scatter(attributes: Attributes) -> Iterator[str]:
    yield f"scatter_dimension = {attributes['dimensions'][0]} : i64"
    yield _replica_groups(attributes)


def _of_all_to_all(attributes: Attributes) -> Iterator[str]:
    for name in ("split_dimension", "concat_dimension"):
        yield f"{name} = {attributes['dimensions'][0]} : i64"
    yield f"split_count = {len(attributes['replica_groups'][0])} : i64"
    yield _replica_groups(attributes)


def _of_permute(attributes: Attributes) -> Iterator[str]:
    yield f"source_target_pairs = {_pairs(attributes['source_target_pairs'])}"


_WHOLE: Mapping[str, Callable[[Attributes], Iterator[str]]] = {
    "all-gather": _of_all_gather,
    "all-reduce": _of_all_reduce,
    "all-to-all": _of_all_to_all,
    "collective-broadcast": _of_all_reduce,
    "collective-permute": _of_permute,
    "reduce-scatter": _of_reduce_scatter,
    "convolution": _of_convolution,
    "dot": _of_dot,
    "gather": _of_gather,
    "pad": _of_pad,
    "reduce-window": _of_reduce_window,
    "scatter": _of_scatter,
    "slice": _of_slice,
}

# --------------------------------------------------------------------------------------- literals


def _dense(array: Any, type: ArrayType) -> str:
    return f"dense<{_nested(array) if array.size else ''}> : {_type(type)}"


def _nested(array: Any) -> str:
    if array.ndim == 0:
        return _number(array[()])
    return f"[{', '.join(map(_nested, array))}]"


def _number(value: Any) -> str:
    """A number; of a float that is not finite its bits."""
    if value.dtype.kind == "c":
        return f"({_number(value.real)}, {_number(value.imag)})"
    if value.dtype.kind in "biu":
        return str(value.item()).lower()
    if not np.isfinite(value):
        bits = np.asarray(value).view(f"u{value.dtype.itemsize}")
        return f"0x{int(bits):0{2 * value.dtype.itemsize}X}"
    text = repr(float(value)) if value.dtype.name == "bfloat16" else str(value)
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}"
    return text
