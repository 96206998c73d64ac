"""XLA's HloModuleProto as a module, by the part of its schema that `transpile.hlo.schema` has."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from transpile.errors import HloError
from transpile.hlo.module import Computation, Instruction, Labels, Type, Window
from transpile.hlo.parse.assemble import Assembler, Body, Parsed
from transpile.hlo.parse.cursor import MOST_NESTED, Cursor
from transpile.hlo.parse.dense import from_bytes, splat
from transpile.hlo.parse.hlo_types import array_type, dtype_of
from transpile.hlo.parse.mlir_attributes import Attributes
from transpile.hlo.schema import ENUMS, message_error, new_message
from transpile.ir.graph import UNKNOWN_SOURCE, Source
from transpile.ir.types import ArrayType

_NUMBER = re.compile(r"(.*?)\.(\d{1,9})")
_LOW = 2**32 - 1  # an id may have that of the computation above its lower 32 bits
_PRIMITIVE_TYPES = {
    int(item.split()[1]): item.split()[0] for item in ENUMS["PrimitiveType"].split(", ")
}
_ENUM_NAMES = {
    enum: {int(i.split()[1]): i.split()[0] for i in ENUMS[enum].split(", ")}
    for enum in ("FftType", "Transpose", "CustomCallApiVersion")
}
_ALGORITHMS = ("rng_default", "rng_three_fry", "rng_philox")


def parse_proto(data: bytes) -> Parsed:
    """The module of a serialised message.

    Raises HloError, and ImportError where the package protobuf is not installed.
    """
    proto = new_message("HloModuleProto")
    try:
        proto.ParseFromString(data)
    except message_error() as problem:
        raise HloError(f"these bytes are no HloModuleProto: {problem}") from problem
    return _Reader(proto).parsed()


class _Reader:
    def __init__(self, proto: Any) -> None:
        self.proto = proto
        ids = [i.id & _LOW for c in proto.computations for i in c.instructions]
        numbered = [c.id & _LOW for c in proto.computations]
        self.assembler = Assembler(max([*ids, *numbered], default=0))
        self.done: dict[int, Computation] = {}

    def parsed(self) -> Parsed:
        """The module; its computations are in the order in which they call each other."""
        proto = self.proto
        if not proto.computations:
            raise HloError("the message has no computation")
        entry_id = proto.entry_computation_id or proto.computations[-1].id
        ordered = [c for c in proto.computations if c.id != entry_id]
        entries = [c for c in proto.computations if c.id == entry_id]
        if len(entries) != 1:
            raise HloError("the message has no entry")
        for computation in [*ordered, entries[0]]:
            self.done[computation.id] = self._computation(computation)
        types = [p.type for p in self.done[entry_id].parameters]
        is_tuple = len(types) == 1 and isinstance(types[0], tuple)
        pairs = [
            (
                e.output_shape_index[0] if e.output_shape_index else 0,
                (e.parameter_shape_index or [0])[0] if is_tuple else e.parameter_number,
            )
            for e in proto.input_output_alias.entries
        ]
        return self.assembler.parsed(proto.name or "module", pairs, is_tuple=is_tuple)

    def _computation(self, proto: Any) -> Computation:
        body, values = Body(self.assembler), dict[int, Instruction]()
        for instruction in proto.instructions:
            values[instruction.id] = self._instruction(body, instruction, values)
        if not body.instructions:
            raise HloError(f"the computation {proto.name} is empty")
        root = values.get(proto.root_id)
        if root is None:
            raise HloError(f"the computation {proto.name} has no result")
        found = _NUMBER.fullmatch(proto.name)
        name = found[1] if found else proto.name
        return self.assembler.finish(name, body, root, proto.id & _LOW)

    def _instruction(self, body: Body, proto: Any, values: dict[int, Instruction]) -> Instruction:
        place, opcode = f"{proto.name}: {proto.opcode}", proto.opcode
        source = UNKNOWN_SOURCE
        if proto.metadata.source_line > 0:
            file, line = proto.metadata.source_file, proto.metadata.source_line
            source = Source(file, line, self.proto.name)
        body.at(proto.name, source)
        kind, layout = _shape(proto.shape, place, 0)
        missing = [n for n in proto.operand_ids if n not in values]
        missing += [n for n in proto.called_computation_ids if n not in self.done]
        if missing:
            raise HloError(f"{place}: it reads {missing[0]}, which is not before it")
        literal = None
        if opcode == "constant":
            literal = _literal(proto.literal, kind, place)
        callees = [self.done[n] for n in proto.called_computation_ids]
        try:
            attributes = {**_attributes(proto), **_called(opcode, callees)}
        except (ValueError, IndexError, KeyError) as problem:
            raise HloError(f"{place}: its attributes are not understood: {problem}") from problem
        operands = [values[n] for n in proto.operand_ids]
        return body.add(
            opcode, kind, *operands,
            as_number=proto.id & _LOW, literal=literal, layout=layout, **attributes,
        )  # fmt: skip


def _shape(proto: Any, place: str, depth: int) -> tuple[Type, Any]:
    name = _PRIMITIVE_TYPES.get(proto.element_type, "")
    if name == "TUPLE":
        if depth > MOST_NESTED:
            raise HloError(f"{place}: tuples are nested deeper than {MOST_NESTED} levels")
        parts = [_shape(p, place, depth + 1) for p in proto.tuple_shapes]
        return tuple(k for k, _ in parts), tuple(order for _, order in parts)
    dtype = dtype_of(name.lower())
    if dtype is None or any(proto.is_dynamic_dimension):
        raise HloError(f"{place}: elements of type {name or proto.element_type} are not supported")
    kind = array_type(proto.dimensions, dtype)
    order = tuple(proto.layout.minor_to_major)
    if kind is None or (order and sorted(order) != list(range(kind.ndim))):
        raise HloError(f"{place}: this shape is not understood")
    is_plain = order == tuple(range(kind.ndim))[::-1]
    return kind, None if is_plain or not order else order


_AS_BYTES = {"s8", "u8", "s16", "u16", "f16", "bf16"}


def _literal(proto: Any, kind: Type, place: str) -> Any:
    """The elements, which are bytes or numbers."""
    if not isinstance(kind, ArrayType):
        raise HloError(f"{place}: constants that are tuples are not supported")
    name = _PRIMITIVE_TYPES.get(proto.shape.element_type, "").lower()
    if dtype_of(name) != kind.dtype if name else True:
        raise HloError(f"{place}: its elements have another type")
    found = getattr(proto, f"{name}s")
    try:
        if name in _AS_BYTES:
            return from_bytes(found, kind)
        base = kind.dtype
        if base.kind == "c":
            base = np.dtype(f"f{base.itemsize // 2}")
        flat = np.array(found, base)
        flat = flat.view(kind.dtype) if kind.dtype.kind == "c" else flat
        if flat.size == 1 and kind.size != 1:
            return splat(flat[0], kind)
        order = tuple(proto.shape.layout.minor_to_major)
        shape = kind.static_shape()
        if not order or order == tuple(range(len(shape)))[::-1]:
            return flat.reshape(shape)
        stored = order[::-1]
        turned = flat.reshape([shape[a] for a in stored])
        return np.ascontiguousarray(turned.transpose(np.argsort(stored)))
    except (ValueError, OverflowError) as problem:
        raise HloError(f"{place}: these elements are no constant: {problem}") from problem


# ------------------------------------------------------------------------------------- attributes

_CALLEES = {
    "conditional": ("true_computation", "false_computation"),
    "fusion": ("calls",),
    "select-and-scatter": ("select", "scatter"),
    "while": ("condition", "body"),
}


def _called(opcode: str, callees: list[Computation]) -> dict[str, Any]:
    """The computations that an instruction calls, by their roles."""
    if not callees:
        return {}
    if opcode == "conditional" and len(callees) != 2:
        return {"branch_computations": tuple(callees)}
    if opcode == "while":  # whose message has the body first
        callees = callees[::-1]
    names = _CALLEES.get(opcode, ("to_apply",))
    return dict(zip(names, callees, strict=False))


def _attributes(proto: Any) -> dict[str, Any]:
    read = _ATTRIBUTES.get(proto.opcode)
    return read(proto) if read else {}


def _dimensions(proto: Any) -> dict[str, Any]:
    return {"dimensions": tuple(proto.dimensions)}


def _window(proto: Any) -> dict[str, Any]:
    axes = proto.window.dimensions
    if any(a.window_reversal for a in axes):
        raise ValueError("reversed windows are not supported")
    window = Window(
        tuple(a.size for a in axes),
        tuple(a.stride for a in axes),
        tuple((a.padding_low, a.padding_high) for a in axes),
        tuple(a.base_dilation for a in axes),
        tuple(a.window_dilation for a in axes),
    )
    return {"window": window}


def _labels(proto: Any) -> dict[str, Any]:
    n = proto.convolution_dimension_numbers
    labels = Labels(
        (n.input_batch_dimension, n.input_feature_dimension, *n.input_spatial_dimensions),
        (
            n.kernel_output_feature_dimension,
            n.kernel_input_feature_dimension,
            *n.kernel_spatial_dimensions,
        ),
        (n.output_batch_dimension, n.output_feature_dimension, *n.output_spatial_dimensions),
    )
    return {
        **_window(proto),
        "dim_labels": labels,
        "feature_group_count": proto.feature_group_count or 1,
        "batch_group_count": proto.batch_group_count or 1,
    }


def _fields(message: str, **names: str) -> Callable[[Any], dict[str, Any]]:
    """Fields of a message in the message: lists as tuples."""

    def read(proto: Any) -> dict[str, Any]:
        inner = getattr(proto, message) if message else proto
        found = {}
        for name, field in names.items():
            value = getattr(inner, field)
            found[name] = value if isinstance(value, int | str) else tuple(value)
        return found

    return read


def _gather(proto: Any) -> dict[str, Any]:
    names = (
        *("offset_dims", "collapsed_slice_dims", "start_index_map", "operand_batching_dims"),
        *("start_indices_batching_dims", "index_vector_dim"),
    )
    found = _fields("gather_dimension_numbers", **{n: n for n in names})(proto)
    return {**found, "slice_sizes": tuple(proto.gather_slice_sizes)}


def _scatter(proto: Any) -> dict[str, Any]:
    names = (
        *("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims"),
        *("input_batching_dims", "scatter_indices_batching_dims", "index_vector_dim"),
    )
    found = _fields("scatter_dimension_numbers", **{n: n for n in names})(proto)
    return {**found, "unique_indices": bool(proto.unique_indices)}


def _compare(proto: Any) -> dict[str, Any]:
    is_total = {"type": "TOTALORDER"} if proto.comparison_type == "TOTALORDER" else {}
    return {"direction": proto.comparison_direction, **is_total}


def _slice(proto: Any) -> dict[str, Any]:
    return {"slice": tuple((s.start, s.limit, s.stride) for s in proto.slice_dimensions)}


def _pad(proto: Any) -> dict[str, Any]:
    axes = proto.padding_config.dimensions
    padding = tuple((a.edge_padding_low, a.edge_padding_high, a.interior_padding) for a in axes)
    return {"padding": padding}


def _solve(proto: Any) -> dict[str, Any]:
    options = proto.triangular_solve_options
    form = _ENUM_NAMES["Transpose"].get(options.transpose_a, "")
    names = ("left_side", "lower", "unit_diagonal")
    found = {n: bool(getattr(options, n)) for n in names}
    return {**found, "transpose_a": "NO_TRANSPOSE" if form == "TRANSPOSE_INVALID" else form}


def _custom_call(proto: Any) -> dict[str, Any]:
    text = proto.backend_config.decode("utf-8", "replace")
    options: tuple[Any, ...] = ()
    if text.startswith("{") and not text.startswith('{"'):
        options = tuple(Attributes(Cursor(text)).dictionary().items())
    layouts = tuple(_shape(s, proto.name, 0) for s in proto.operand_shapes_with_layout)
    return {
        "custom_call_target": proto.custom_call_target,
        "operand_layout_constraints": layouts,
        "api_version": _ENUM_NAMES["CustomCallApiVersion"].get(proto.custom_call_api_version, ""),
        "backend_config": options,
    }


def _sort(proto: Any) -> dict[str, Any]:
    return {**_dimensions(proto), "is_stable": bool(proto.is_stable)}


def _iota(proto: Any) -> dict[str, Any]:
    return {"iota_dimension": proto.dimensions[0] if proto.dimensions else 0}


def _fft(proto: Any) -> dict[str, Any]:
    name = _ENUM_NAMES["FftType"].get(proto.fft_type, "")
    return {"fft_type": name, "fft_length": tuple(proto.fft_length)}


def _random(proto: Any) -> dict[str, Any]:
    return {"algorithm": _ALGORITHMS[proto.rng_algorithm]}


def _cholesky(proto: Any) -> dict[str, Any]:
    return {"lower": bool(proto.cholesky_options.lower)}


_ATTRIBUTES: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    **dict.fromkeys(
        ("broadcast", "concatenate", "map", "reduce", "reverse", "transpose"), _dimensions
    ),
    "cholesky": _cholesky,
    "compare": _compare,
    "convolution": _labels,
    "custom-call": _custom_call,
    "dot": _fields(
        "dot_dimension_numbers",
        lhs_batch_dims="lhs_batch_dimensions",
        lhs_contracting_dims="lhs_contracting_dimensions",
        rhs_batch_dims="rhs_batch_dimensions",
        rhs_contracting_dims="rhs_contracting_dimensions",
    ),
    "dynamic-slice": _fields("", dynamic_slice_sizes="dynamic_slice_sizes"),
    "fft": _fft,
    "gather": _gather,
    "get-tuple-element": _fields("", index="tuple_index"),
    "iota": _iota,
    "pad": _pad,
    "parameter": _fields("", number="parameter_number"),
    "reduce-precision": _fields("", exponent_bits="exponent_bits", mantissa_bits="mantissa_bits"),
    "reduce-window": _window,
    "rng-bit-generator": _random,
    "scatter": _scatter,
    "select-and-scatter": _window,
    "slice": _slice,
    "sort": _sort,
    "topk": _fields("", k="k", largest="largest"),
    "triangular-solve": _solve,
}
