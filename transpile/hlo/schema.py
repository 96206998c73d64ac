"""The part of XLA's protocol-buffer schema that a module needs: messages, fields, numbers.

The facts are those of `xla/xla_data.proto` and `xla/service/hlo.proto` in the OpenXLA repository. A
field is "NAME NUMBER TYPE"; a plus after the type is a repeated field.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from transpile.util.lazy.imports import Later

descriptor_pb2 = Later("google.protobuf.descriptor_pb2")
descriptor_pool = Later("google.protobuf.descriptor_pool")
message_factory = Later("google.protobuf.message_factory")
protobuf_message = Later("google.protobuf.message")

ENUMS = {
    "PrimitiveType": (
        "PRIMITIVE_TYPE_INVALID 0, PRED 1, S8 2, S16 3, S32 4, S64 5, U8 6, U16 7, U32 8, U64 9, "
        "F16 10, F32 11, F64 12, TUPLE 13, C64 15, BF16 16, C128 18"
    ),
    "FftType": "FFT 0, IFFT 1, RFFT 2, IRFFT 3",
    "Transpose": "TRANSPOSE_INVALID 0, NO_TRANSPOSE 1, TRANSPOSE 2, ADJOINT 3",
    "ShardingType": "REPLICATED 0, MAXIMAL 1, TUPLE_OF 2, OTHER 3",
    "Kind": "UNDEFINED_ALIAS 0, MAY_ALIAS 1, MUST_ALIAS 2",
    "CustomCallApiVersion": (
        "API_VERSION_UNSPECIFIED 0, API_VERSION_ORIGINAL 1, API_VERSION_STATUS_RETURNING 2, "
        "API_VERSION_STATUS_RETURNING_UNIFIED 3, API_VERSION_TYPED_FFI 4"
    ),
}
MESSAGES = {
    "LayoutProto": "minor_to_major 1 int64+",
    "ShapeProto": (
        "element_type 2 PrimitiveType, dimensions 3 int64+, tuple_shapes 4 ShapeProto+, "
        "layout 5 LayoutProto, is_dynamic_dimension 6 bool+"
    ),
    "ProgramShapeProto": "parameters 1 ShapeProto+, result 2 ShapeProto, parameter_names 3 string+",
    "LiteralProto": (
        "shape 1 ShapeProto, preds 2 bool+, u8s 3 bytes, s32s 4 int32+, s64s 5 int64+, "
        "u32s 6 uint32+, u64s 7 uint64+, f32s 8 float+, f64s 9 double+, f16s 11 bytes, "
        "c64s 12 float+, bf16s 13 bytes, s8s 15 bytes, u16s 16 bytes, s16s 17 bytes, "
        "c128s 18 double+"
    ),
    "OpMetadata": "op_type 1 string, op_name 2 string, source_file 3 string, source_line 4 int32",
    "WindowDimension": (
        "size 1 int64, stride 2 int64, padding_low 3 int64, padding_high 4 int64, "
        "window_dilation 5 int64, base_dilation 6 int64, window_reversal 7 bool"
    ),
    "Window": "dimensions 1 WindowDimension+",
    "ConvolutionDimensionNumbers": (
        "kernel_input_feature_dimension 3 int64, kernel_output_feature_dimension 4 int64, "
        "kernel_spatial_dimensions 6 int64+, input_batch_dimension 7 int64, "
        "input_feature_dimension 8 int64, output_batch_dimension 9 int64, "
        "output_feature_dimension 10 int64, input_spatial_dimensions 11 int64+, "
        "output_spatial_dimensions 12 int64+"
    ),
    "DotDimensionNumbers": (
        "lhs_contracting_dimensions 1 int64+, rhs_contracting_dimensions 2 int64+, "
        "lhs_batch_dimensions 3 int64+, rhs_batch_dimensions 4 int64+"
    ),
    "GatherDimensionNumbers": (
        "offset_dims 1 int64+, collapsed_slice_dims 2 int64+, start_index_map 3 int64+, "
        "index_vector_dim 4 int64, operand_batching_dims 5 int64+, "
        "start_indices_batching_dims 6 int64+"
    ),
    "ScatterDimensionNumbers": (
        "update_window_dims 1 int64+, inserted_window_dims 2 int64+, "
        "scatter_dims_to_operand_dims 3 int64+, index_vector_dim 4 int64, "
        "input_batching_dims 5 int64+, scatter_indices_batching_dims 6 int64+"
    ),
    "SliceDimensions": "start 1 int64, limit 2 int64, stride 3 int64",
    "PaddingConfigDimension": (
        "edge_padding_low 1 int64, edge_padding_high 2 int64, interior_padding 3 int64"
    ),
    "PaddingConfig": "dimensions 1 PaddingConfigDimension+",
    "TriangularSolveOptions": (
        "left_side 1 bool, lower 2 bool, unit_diagonal 3 bool, transpose_a 4 Transpose"
    ),
    "CholeskyOptions": "lower 1 bool",
    "ReplicaGroup": "replica_ids 1 int64+",
    "SourceTarget": "source 1 int64, target 2 int64",
    "OpSharding": (
        "type 1 ShardingType, tile_assignment_dimensions 3 int64+, "
        "tile_assignment_devices 4 int64+, tuple_shardings 5 OpSharding+"
    ),
    "HloInstructionProto": (
        "name 1 string, opcode 2 string, shape 3 ShapeProto, metadata 7 OpMetadata, "
        "literal 8 LiteralProto, parameter_number 9 int64, tuple_index 13 int64, "
        "dimensions 14 int64+, window 15 Window, "
        "convolution_dimension_numbers 16 ConvolutionDimensionNumbers, "
        "slice_dimensions 17 SliceDimensions+, exponent_bits 18 int32, "
        "mantissa_bits 19 int32, dynamic_slice_sizes 20 int64+, "
        "padding_config 21 PaddingConfig, custom_call_target 28 string, "
        "dot_dimension_numbers 30 DotDimensionNumbers, fft_type 31 FftType, fft_length 32 int64+, "
        "gather_dimension_numbers 33 GatherDimensionNumbers, gather_slice_sizes 34 int64+, "
        "id 35 int64, operand_ids 36 int64+, called_computation_ids 38 int64+, "
        "sharding 40 OpSharding, "
        "backend_config 43 bytes, scatter_dimension_numbers 48 ScatterDimensionNumbers, "
        "replica_groups 49 ReplicaGroup+, source_target_pairs 52 SourceTarget+, "
        "feature_group_count 50 int64, constrain_layout 56 bool, "
        "operand_shapes_with_layout 57 ShapeProto+, batch_group_count 58 int64, "
        "triangular_solve_options 59 TriangularSolveOptions, is_stable 60 bool, "
        "cholesky_options 62 CholeskyOptions, comparison_direction 63 string, "
        "custom_call_has_side_effect 65 bool, "
        "unique_indices 69 bool, rng_algorithm 70 int32, comparison_type 72 string, "
        "custom_call_api_version 77 CustomCallApiVersion, "
        "k 81 int64, largest 85 bool"
    ),
    "HloComputationProto": (
        "name 1 string, instructions 2 HloInstructionProto+, program_shape 4 ProgramShapeProto, "
        "id 5 int64, root_id 6 int64"
    ),
    "AliasEntryProto": (
        "output_shape_index 1 int64+, parameter_number 2 int64, parameter_shape_index 3 int64+, "
        "kind 4 Kind"
    ),
    "HloInputOutputAliasProto": "entries 1 AliasEntryProto+",
    "HloModuleProto": (
        "name 1 string, entry_computation_name 2 string, computations 3 HloComputationProto+, "
        "host_program_shape 4 ProgramShapeProto, id 5 int64, entry_computation_id 6 int64, "
        "input_output_alias 8 HloInputOutputAliasProto"
    ),
}


def new_message(name: str, **fields: Any) -> Any:
    """An empty message, or one with these fields.

    Raises ImportError, which says how to install it, where the package protobuf is missing.
    """
    try:
        return messages()[name](**fields)
    except ImportError as error:
        raise ImportError(
            "messages are written and read by the package protobuf: pip install transpile[hlo]"
        ) from error


def message_error() -> type[Exception]:
    """What protobuf raises for bytes that are no message."""
    return protobuf_message.DecodeError  # type: ignore[no-any-return]


@cache
def messages() -> dict[str, Any]:
    """The classes of the messages, by name.

    Raises ImportError where the package protobuf is not installed.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name="transpile/hlo.proto", package="transpile.xla", syntax="proto3"
    )
    for name, text in ENUMS.items():
        enum = file.enum_type.add(name=name)
        for item in text.split(", "):
            value, number = item.split()
            enum.value.add(name=value, number=int(number))
    for name, text in MESSAGES.items():
        message = file.message_type.add(name=name)
        for item in text.split(", "):
            _add_field(message, *item.split())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    find = pool.FindMessageTypeByName
    return {n: message_factory.GetMessageClass(find(f"transpile.xla.{n}")) for n in MESSAGES}


def _add_field(message: Any, name: str, number: str, kind: str) -> None:
    field = descriptor_pb2.FieldDescriptorProto
    is_repeated, kind = kind.endswith("+"), kind.rstrip("+")
    label = field.LABEL_REPEATED if is_repeated else field.LABEL_OPTIONAL
    added = message.field.add(name=name, number=int(number), label=label)
    if kind in ENUMS or kind in MESSAGES:
        added.type = field.TYPE_ENUM if kind in ENUMS else field.TYPE_MESSAGE
        added.type_name = f".transpile.xla.{kind}"
    else:
        added.type = getattr(field, f"TYPE_{kind.upper()}")
