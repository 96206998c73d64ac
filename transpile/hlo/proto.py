"""A module as XLA's HloModuleProto, serialised: the message by which programs are exchanged.

Ids are the numbers of the module's instructions and computations. Every shape has a layout,
row-major where none is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
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
    called,
    element_name,
)
from transpile.hlo.schema import new_message
from transpile.hlo.text import computation_name, options
from transpile.ir.types import ArrayType


def serialised(module: Module) -> bytes:
    """The bytes of the message.

    Raises ImportError, which says how to install it, where the package protobuf is missing.
    """
    proto = new_message("HloModuleProto")
    entry = module.entry
    proto.name = module.name
    proto.entry_computation_name = computation_name(entry)
    proto.entry_computation_id = entry.number
    for computation in module.computations:
        _fill_computation(proto.computations.add(), computation)
    proto.host_program_shape.CopyFrom(proto.computations[-1].program_shape)
    for output, argument in module.aliases:
        alias = proto.input_output_alias.entries.add(output_shape_index=[output])
        alias.kind = 1  # MAY_ALIAS
        if module.is_tuple:
            alias.parameter_shape_index.append(argument)
        else:
            alias.parameter_number = argument
    return bytes(proto.SerializeToString(deterministic=True))


def _fill_computation(proto: Any, computation: Computation) -> None:
    proto.name, proto.id = computation_name(computation), computation.number
    proto.root_id = computation.root.number
    for instruction in computation.instructions:
        _fill_instruction(proto.instructions.add(), instruction)
    for parameter in computation.parameters:
        proto.program_shape.parameters.append(shape_of(parameter.type))
        proto.program_shape.parameter_names.append(parameter.name)
    proto.program_shape.result.CopyFrom(shape_of(computation.root.type))


def shape_of(type: Type, layout: tuple[Any, ...] | None = None) -> Any:
    """The message of a type."""
    if not isinstance(type, ArrayType):
        layouts = layout or (None,) * len(type)
        shape = new_message("ShapeProto", element_type="TUPLE")
        shape.tuple_shapes.extend(map(shape_of, type, layouts))
        return shape
    order = range(len(type.shape))[::-1] if layout is None else layout
    name = element_name(type.dtype).upper()
    shape = new_message("ShapeProto", element_type=name, dimensions=type.shape)
    shape.is_dynamic_dimension.extend([False] * len(type.shape))
    shape.layout.minor_to_major.extend(order)
    shape.layout.SetInParent()
    return shape


def _fill_instruction(proto: Any, instruction: Instruction) -> None:
    proto.name, proto.opcode, proto.id = instruction.name, instruction.opcode, instruction.number
    proto.shape.CopyFrom(shape_of(instruction.type, instruction.layout))
    proto.operand_ids.extend(operand.number for operand in instruction.operands)
    callees = [c.number for c in called(instruction)]
    if instruction.opcode == "while":  # whose message has the body first
        callees.reverse()
    proto.called_computation_ids.extend(callees)
    source = instruction.source
    if source.line:
        proto.metadata.source_file, proto.metadata.source_line = source.file, source.line
    if instruction.literal is not None:
        _fill_literal(proto.literal, instruction.array, instruction.literal)
    for name, value in instruction.attributes.items():
        _FILL.get(name, _fill_nothing)(proto, value)


# --------------------------------------------------------------------------------------- literals

_AS_BYTES = {"s8", "u8", "s16", "u16", "f16", "bf16"}


def _fill_literal(proto: Any, kind: ArrayType, array: Any) -> None:
    """The elements in row-major order: little-endian bytes, or numbers."""
    proto.shape.CopyFrom(shape_of(kind))
    name, flat = element_name(kind.dtype), np.ascontiguousarray(array).ravel()
    if name in _AS_BYTES:
        little = flat.view(f"<u{flat.dtype.itemsize}") if flat.size else flat
        setattr(proto, f"{name}s", little.tobytes())
        return
    if kind.dtype.kind == "c":
        flat = flat.view(f"f{kind.dtype.itemsize // 2}")
    getattr(proto, f"{name}s").extend(flat.tolist())


# ------------------------------------------------------------------------------------- attributes

Fill = Callable[[Any, Any], None]


def _fill_nothing(proto: Any, value: Any) -> None:
    """Computations that are called stand in the ids alone."""
    assert isinstance(value, Computation | tuple), value


def _plain(field: str) -> Fill:
    def fill(proto: Any, value: Any) -> None:
        setattr(proto, field, value)

    return fill


def _list(field: str) -> Fill:
    def fill(proto: Any, value: Any) -> None:
        getattr(proto, field).extend(value)

    return fill


def _inside(field: str, inner: str) -> Fill:
    """A field of a message in the message."""

    def fill(proto: Any, value: Any) -> None:
        message = getattr(proto, field)
        message.SetInParent()
        if isinstance(value, tuple):
            getattr(message, inner).extend(value)
        else:
            setattr(message, inner, value)

    return fill


def _one_dimension(proto: Any, axis: int) -> None:
    proto.dimensions.append(axis)


def _slices(proto: Any, bounds: Any) -> None:
    for start, limit, stride in bounds:
        proto.slice_dimensions.add(start=start, limit=limit, stride=stride)


def _padding(proto: Any, padding: Any) -> None:
    proto.padding_config.SetInParent()
    for low, high, inner in padding:
        proto.padding_config.dimensions.add(
            edge_padding_low=low, edge_padding_high=high, interior_padding=inner
        )


def _window(proto: Any, window: Window) -> None:
    proto.window.SetInParent()
    for k, (low, high) in enumerate(window.padding):
        proto.window.dimensions.add(
            size=window.size[k],
            stride=window.stride[k],
            padding_low=low,
            padding_high=high,
            base_dilation=window.base_dilation[k],
            window_dilation=window.window_dilation[k],
        )


def _labels(proto: Any, labels: Labels) -> None:
    numbers = proto.convolution_dimension_numbers
    for name, axes in (("input", labels.array), ("output", labels.result)):
        setattr(numbers, f"{name}_batch_dimension", axes[0])
        setattr(numbers, f"{name}_feature_dimension", axes[1])
        getattr(numbers, f"{name}_spatial_dimensions").extend(axes[2:])
    numbers.kernel_output_feature_dimension = labels.kernel[0]
    numbers.kernel_input_feature_dimension = labels.kernel[1]
    numbers.kernel_spatial_dimensions.extend(labels.kernel[2:])


def _index_vector(proto: Any, axis: int) -> None:
    is_gather = proto.opcode == "gather"
    name = "gather_dimension_numbers" if is_gather else "scatter_dimension_numbers"
    getattr(proto, name).index_vector_dim = axis


def _lower(proto: Any, is_lower: bool) -> None:
    is_solve = proto.opcode == "triangular-solve"
    name = "triangular_solve_options" if is_solve else "cholesky_options"
    getattr(proto, name).SetInParent()
    getattr(proto, name).lower = is_lower


def _operand_layouts(proto: Any, operands: Any) -> None:
    proto.constrain_layout = True
    proto.operand_shapes_with_layout.extend(shape_of(*operand) for operand in operands)


def _options(proto: Any, pairs: Any) -> None:
    proto.backend_config = options(pairs).encode()


def _replica_groups(proto: Any, groups: Any) -> None:
    for group in groups:
        proto.replica_groups.add(replica_ids=group)


def _pairs(proto: Any, pairs: Any) -> None:
    for source, target in pairs:
        proto.source_target_pairs.add(source=source, target=target)


def _sharding(proto: Any, sharding: Sharding) -> None:
    proto.sharding.SetInParent()
    _fill_sharding(proto.sharding, sharding)


def _fill_sharding(proto: Any, sharding: Sharding) -> None:
    if sharding.elements is not None:
        proto.type = 2  # TUPLE_OF
        for element in sharding.elements:
            _fill_sharding(proto.tuple_shardings.add(), element)
    elif sharding.parts is not None:
        proto.type = 3  # OTHER
        proto.tile_assignment_dimensions.extend(sharding.parts)
        proto.tile_assignment_devices.extend(range(math.prod(sharding.parts)))


_GATHER, _SCATTER = "gather_dimension_numbers", "scatter_dimension_numbers"
_DOT, _SOLVE = "dot_dimension_numbers", "triangular_solve_options"
_FILL: Mapping[str, Fill] = {
    "api_version": _plain("custom_call_api_version"),
    "backend_config": _options,
    "batch_group_count": _plain("batch_group_count"),
    "collapsed_slice_dims": _inside(_GATHER, "collapsed_slice_dims"),
    "custom_call_has_side_effect": _plain("custom_call_has_side_effect"),
    "custom_call_target": _plain("custom_call_target"),
    "dim_labels": _labels,
    "dimensions": _list("dimensions"),
    "direction": _plain("comparison_direction"),
    "dynamic_slice_sizes": _list("dynamic_slice_sizes"),
    "feature_group_count": _plain("feature_group_count"),
    "fft_length": _list("fft_length"),
    "fft_type": _plain("fft_type"),
    "index": _plain("tuple_index"),
    "index_vector_dim": _index_vector,
    "inserted_window_dims": _inside(_SCATTER, "inserted_window_dims"),
    "iota_dimension": _one_dimension,
    "is_stable": _plain("is_stable"),
    "left_side": _inside(_SOLVE, "left_side"),
    "lhs_batch_dims": _inside(_DOT, "lhs_batch_dimensions"),
    "lhs_contracting_dims": _inside(_DOT, "lhs_contracting_dimensions"),
    "lower": _lower,
    "number": _plain("parameter_number"),
    "offset_dims": _inside(_GATHER, "offset_dims"),
    "operand_layout_constraints": _operand_layouts,
    "padding": _padding,
    "replica_groups": _replica_groups,
    "rhs_batch_dims": _inside(_DOT, "rhs_batch_dimensions"),
    "rhs_contracting_dims": _inside(_DOT, "rhs_contracting_dimensions"),
    "scatter_dims_to_operand_dims": _inside(_SCATTER, "scatter_dims_to_operand_dims"),
    "sharding": _sharding,
    "slice": _slices,
    "slice_sizes": _list("gather_slice_sizes"),
    "source_target_pairs": _pairs,
    "start_index_map": _inside(_GATHER, "start_index_map"),
    "transpose_a": _inside(_SOLVE, "transpose_a"),
    "unique_indices": _plain("unique_indices"),
    "unit_diagonal": _inside(_SOLVE, "unit_diagonal"),
    "update_window_dims": _inside(_SCATTER, "update_window_dims"),
    "window": _window,
}
