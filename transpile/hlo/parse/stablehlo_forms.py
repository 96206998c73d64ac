"""The attributes of instructions by those of StableHLO's operations, in both their forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from transpile.hlo.module import Computation, Instruction, Labels, Window
from transpile.hlo.parse.mlir_attributes import Opaque, Symbol
from transpile.hlo.parse.mlir_operations import Operation, Slice
from transpile.ir.types import ArrayType

Attributes = dict[str, Any]
Computations = Sequence[Computation]
Operands = Sequence[Instruction]
Form = Callable[[Operation, Operands, Computations], Attributes]

# Instructions that have another name than the operation's with hyphens.
NAMES = {
    "broadcast_in_dim": "broadcast",
    "dot_general": "dot",
    "optimization_barrier": "opt-barrier",
    "top_k": "topk",
}
_BOUNDS = re.compile(r"\s*(-?\d{1,18})\s*:\s*(-?\d{1,18})\s*(?::\s*(-?\d{1,18})\s*)?")
_FIELD = re.compile(r"\s*(\w+)\s*=\s*(\[[^\]]*\]|[\w\-]+)\s*,?")
_LABELS = re.compile(r"\s*\[([^\]]*)\]\s*x\s*\[([^\]]*)\]\s*->\s*\[([^\]]*)\]\s*")
_FORMAT = re.compile(r"e(\d{1,2})m(\d{1,2})")
_DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")


class FormError(Exception):
    """An attribute is missing, or is none that the operation has."""


def _get(operation: Operation, *names: str) -> Any:
    """The attribute of one of these names."""
    for name in names:
        if name in operation.attributes:
            return operation.attributes[name]
    raise FormError(f"it has no attribute {names[0]}")


def _axes(operation: Operation, *names: str) -> tuple[int, ...]:
    return integers(_get(operation, *names), names[0])


def integers(value: Any, name: str) -> tuple[int, ...]:
    """A list of integers, or an array of them."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.size < 10_000:
        value = value.reshape(-1).tolist()
    if not isinstance(value, list) or not all(type(v) is int for v in value):
        raise FormError(f"{name} is no list of integers")
    if any(abs(v) >= 2**62 for v in value):
        raise FormError(f"{name} has too large an integer")
    return tuple(value)


def _pairs(value: Any, name: str) -> tuple[tuple[int, int], ...]:
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.size < 10_000 else None
    if not isinstance(value, list):
        raise FormError(f"{name} is no list of pairs")
    pairs = [integers(v, name) for v in value]
    if any(len(p) != 2 for p in pairs):
        raise FormError(f"{name} is no list of pairs")
    return tuple((p[0], p[1]) for p in pairs)


def _integer(operation: Operation, *names: str, default: int | None = None) -> int:
    if default is not None and not any(n in operation.attributes for n in names):
        return default
    value = _get(operation, *names)
    if type(value) is not int or abs(value) >= 2**62:
        raise FormError(f"{names[0]} is no integer")
    return value


def _truth(operation: Operation, name: str) -> bool:
    return operation.attributes.get(name, False) is True


def _word(operation: Operation, *names: str) -> str:
    """An attribute that is one of several words: `LT`, or `#stablehlo<comparison_direction LT>`."""
    value = _get(operation, *names)
    if isinstance(value, Opaque):
        value = value.text.split()[-1] if value.text.split() else ""
    if not isinstance(value, str):
        raise FormError(f"{names[0]} is no word")
    return value


def _fields(operation: Operation, name: str) -> dict[str, Any]:
    """The fields of an attribute of the dialect: `#stablehlo.gather<offset_dims = [0], ...>`."""
    value = _get(operation, name)
    if not isinstance(value, Opaque):
        raise FormError(f"{name} is not understood")
    found: dict[str, Any] = {}
    position = 0
    while position < len(value.text.rstrip()):
        match = _FIELD.match(value.text, position)
        if match is None:
            raise FormError(f"{name} is not understood")
        position = match.end()
        text = match[2]
        words = text[1:-1].split(",") if text[0] == "[" else [text]
        try:
            numbers = [int(w) for w in words if w.strip()]
        except ValueError as problem:
            raise FormError(f"{name} is not understood") from problem
        found[match[1]] = tuple(numbers) if text[0] == "[" else numbers[0]
    return found


def _axes_of(fields: dict[str, Any], name: str) -> tuple[int, ...]:
    value = fields.get(name, ())
    if not isinstance(value, tuple):
        raise FormError(f"{name} is no list of integers")
    return value


def one(computations: Computations) -> Computation:
    """The only region."""
    if len(computations) != 1:
        raise FormError(f"it has {len(computations)} regions, not one")
    return computations[0]


# ------------------------------------------------------------------------------ views and shapes


def _dimensions(*names: str) -> Form:
    return lambda operation, _, __: {"dimensions": _axes(operation, *names)}


def _concatenate(operation: Operation, _: Operands, __: Computations) -> Attributes:
    return {"dimensions": (_integer(operation, "dim", "dimension"),)}


def _iota(operation: Operation, _: Operands, __: Computations) -> Attributes:
    return {"iota_dimension": _integer(operation, "dim", "iota_dimension")}


def _slice(operation: Operation, _: Operands, __: Computations) -> Attributes:
    if operation.words and isinstance(operation.words[0], Slice):
        text = operation.words[0].text
        found = [_BOUNDS.fullmatch(t) for t in text.split(",")] if text.strip() else []
        if not all(found):
            raise FormError(f"[{text}] is no slice")
        return {"slice": tuple((int(m[1]), int(m[2]), int(m[3] or 1)) for m in found if m)}
    names = ("start_indices", "limit_indices", "strides")
    columns = [_axes(operation, n) for n in names]
    if len({len(c) for c in columns}) != 1:
        raise FormError("its bounds are lists of several lengths")
    return {"slice": tuple(zip(*columns, strict=True))}


def _pad(operation: Operation, _: Operands, __: Computations) -> Attributes:
    columns = [
        _axes(operation, short, name)
        for short, name in (
            ("low", "edge_padding_low"),
            ("high", "edge_padding_high"),
            ("interior", "interior_padding"),
        )
    ]
    if len({len(c) for c in columns}) != 1:
        raise FormError("its paddings are lists of several lengths")
    return {"padding": tuple(zip(*columns, strict=True))}


def _dynamic_slice(operation: Operation, _: Operands, __: Computations) -> Attributes:
    return {"dynamic_slice_sizes": _axes(operation, "sizes", "slice_sizes")}


def _element(operation: Operation, _: Operands, __: Computations) -> Attributes:
    if operation.words and isinstance(operation.words[0], Slice):
        text = operation.words[0].text.strip()
        if not re.fullmatch(r"\d{1,6}", text):
            raise FormError(f"[{text}] is no index")
        return {"index": int(text)}
    return {"index": _integer(operation, "index")}


# ----------------------------------------------------------------------------------- elementwise


def _compare(operation: Operation, _: Operands, __: Computations) -> Attributes:
    words = [w for w in operation.words if isinstance(w, str)]
    direction = words[0] if words else _word(operation, "comparison_direction")
    if direction not in _DIRECTIONS:
        raise FormError(f"{direction} is no comparison")
    kind = words[1] if len(words) > 1 else ""
    if "compare_type" in operation.attributes:
        kind = _word(operation, "compare_type")
    is_total = {"type": "TOTALORDER"} if kind == "TOTALORDER" else {}
    return {"direction": direction, **is_total}


def _reduce_precision(operation: Operation, _: Operands, __: Computations) -> Attributes:
    if "format" in operation.attributes:
        found = _FORMAT.fullmatch(_word(operation, "format"))
        if found is None:
            raise FormError("its format is not understood")
        return {"exponent_bits": int(found[1]), "mantissa_bits": int(found[2])}
    names = ("exponent_bits", "mantissa_bits")
    return {name: _integer(operation, name) for name in names}


# ------------------------------------------------------------------------- reductions and sorts


def _map(operation: Operation, _: Operands, found: Computations) -> Attributes:
    return {"dimensions": _axes(operation, "dimensions"), "to_apply": one(found)}


def _sort(operation: Operation, operands: Operands, found: Computations) -> Attributes:
    rank = len(operands[0].shape) if operands and isinstance(operands[0].type, ArrayType) else 0
    axis = _integer(operation, "dimension", default=-1)
    return {
        "dimensions": (axis + rank if axis < 0 else axis,),
        "is_stable": _truth(operation, "is_stable"),
        "to_apply": one(found),
    }


def _window(operation: Operation, rank: int) -> Window:
    """The windows of a reduction."""
    size = _axes(operation, "window_dimensions")
    ones = [1] * rank

    def given(name: str) -> tuple[int, ...]:
        return integers(operation.attributes.get(name, ones), name)

    padding = operation.attributes.get("padding", [[0, 0]] * rank)
    window = Window(
        size,
        given("window_strides"),
        _pairs(padding, "padding"),
        given("base_dilations"),
        given("window_dilations"),
    )
    lengths = (window.size, window.stride, window.padding)
    if any(len(x) != rank for x in (*lengths, window.base_dilation, window.window_dilation)):
        raise FormError("its windows have another rank than the array")
    return window


def _rank(operands: Operands) -> int:
    if not operands or not isinstance(operands[0].type, ArrayType):
        raise FormError("it has no operand that is an array")
    return len(operands[0].type.shape)


def _reduce_window(operation: Operation, operands: Operands, found: Computations) -> Attributes:
    return {"window": _window(operation, _rank(operands)), "to_apply": one(found)}


def _select_and_scatter(
    operation: Operation, operands: Operands, found: Computations
) -> Attributes:
    if len(found) != 2:
        raise FormError("it has two regions")
    window = _window(operation, _rank(operands))
    return {"window": window, "select": found[0], "scatter": found[1]}


# -------------------------------------------------------------------------- gathers and products


def _gather(operation: Operation, _: Operands, __: Computations) -> Attributes:
    fields = _fields(operation, "dimension_numbers")
    batching = ("operand_batching_dims", "start_indices_batching_dims")
    return {
        **{n: _axes_of(fields, n) for n in ("offset_dims", "collapsed_slice_dims")},
        **{n: _axes_of(fields, n) for n in batching if n in fields},
        "start_index_map": _axes_of(fields, "start_index_map"),
        "index_vector_dim": int(fields.get("index_vector_dim", 0)),
        "slice_sizes": _axes(operation, "slice_sizes"),
    }


def _scatter(operation: Operation, _: Operands, found: Computations) -> Attributes:
    fields = _fields(operation, "scatter_dimension_numbers")
    names = ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims")
    batching = ("input_batching_dims", "scatter_indices_batching_dims")
    return {
        **{n: _axes_of(fields, n) for n in names},
        **{n: _axes_of(fields, n) for n in batching if n in fields},
        "index_vector_dim": int(fields.get("index_vector_dim", 0)),
        "unique_indices": _truth(operation, "unique_indices"),
        "to_apply": one(found),
    }


def _dot(operation: Operation, _: Operands, __: Computations) -> Attributes:
    names = ("lhs_batch_dims", "rhs_batch_dims", "lhs_contracting_dims", "rhs_contracting_dims")
    if "dot_dimension_numbers" in operation.attributes:
        fields = _fields(operation, "dot_dimension_numbers")
        written = (
            *("lhs_batching_dimensions", "rhs_batching_dimensions"),
            *("lhs_contracting_dimensions", "rhs_contracting_dimensions"),
        )
        lists = [_axes_of(fields, w) for w in written]
    else:
        lists = []
        for name in ("batching_dims", "contracting_dims"):
            pair = operation.attributes.get(name, ([], []))
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise FormError(f"{name} is no pair of lists")
            lists += [integers(part, name) for part in pair]
    found = dict(zip(names, lists, strict=True))
    order = ("lhs_batch_dims", "lhs_contracting_dims", "rhs_batch_dims", "rhs_contracting_dims")
    return {name: found[name] for name in order}


def _plain_dot(_: Operation, operands: Operands, __: Computations) -> Attributes:
    """`dot`: the last axis of the first operand and the first one of the second."""
    rank = _rank(operands)
    return {
        "lhs_batch_dims": (),
        "lhs_contracting_dims": (rank - 1,),
        "rhs_batch_dims": (),
        "rhs_contracting_dims": (0,),
    }


def _label_axes(text: str, letters: str) -> tuple[int, ...]:
    """The two named axes, then those of space."""
    words = [w.strip() for w in text.split(",")]
    names = [*letters, *map(str, range(len(words) - 2))]
    if sorted(words) != sorted(names):
        raise FormError(f"[{text}] are no names of axes")
    return tuple(words.index(n) for n in names)


def labels_of(text: str) -> Labels:
    """The axes that `[b, f, 0]x[o, i, 0]->[b, f, 0]` names."""
    found = _LABELS.fullmatch(text)
    if found is None:
        raise FormError("its dimension numbers are not understood")
    return Labels(
        _label_axes(found[1], "bf"), _label_axes(found[2], "oi"), _label_axes(found[3], "bf")
    )


def _convolution(operation: Operation, operands: Operands, __: Computations) -> Attributes:
    given = _get(operation, "dimension_numbers", "dim_numbers")
    if not isinstance(given, Opaque):
        raise FormError("its dimension numbers are not understood")
    labels = labels_of(given.text)
    inner = operation.attributes.get("window", {})
    if not isinstance(inner, dict):
        raise FormError("its window is not understood")
    space = len(labels.kernel) - 2
    ones = [1] * space

    def value(short: str, name: str, default: Any) -> Any:
        return inner.get(short, operation.attributes.get(name, default))

    if any(_flags(value("reverse", "window_reversal", []))):
        raise FormError("reversed windows are not supported")
    if len(operands) != 2 or len(operands[1].shape) != space + 2:
        raise FormError("its kernel has another rank than its dimension numbers")
    window = Window(
        tuple(int(operands[1].shape[a]) for a in labels.kernel[2:]),
        integers(value("stride", "window_strides", ones), "stride"),
        _pairs(value("pad", "padding", [[0, 0]] * space), "pad"),
        integers(value("lhs_dilate", "lhs_dilation", ones), "lhs_dilate"),
        integers(value("rhs_dilate", "rhs_dilation", ones), "rhs_dilate"),
    )
    return {
        "window": window,
        "dim_labels": labels,
        "feature_group_count": _integer(operation, "feature_group_count", default=1),
        "batch_group_count": _integer(operation, "batch_group_count", default=1),
    }


def _flags(value: Any) -> list[Any]:
    """A list, or the elements of an array."""
    if isinstance(value, np.ndarray) and value.size < 10_000:
        value = value.reshape(-1).tolist()
    if not isinstance(value, list):
        raise FormError("a list of values is not understood")
    return value


def _fft(operation: Operation, _: Operands, __: Computations) -> Attributes:
    return {
        "fft_type": _word(operation, "type", "fft_type"),
        "fft_length": _axes(operation, "length", "fft_length"),
    }


# ------------------------------------------------------------------------------- calls of others


def _layout(value: Any) -> tuple[int, ...]:
    return tuple(_flags(value)) if isinstance(value, np.ndarray) else ()


def _custom_call(operation: Operation, operands: Operands, called: Computations) -> Attributes:
    words = [w.name for w in operation.words if isinstance(w, Symbol)]
    target = words[0] if words else _get(operation, "call_target_name")
    given = operation.attributes
    options = given.get("mhlo.backend_config", given.get("backend_config", {}))
    listed = options if isinstance(options, dict) else {}
    layouts = given.get("operand_layouts", [])
    results = given.get("result_layouts", [])
    if not isinstance(target, str) or not isinstance(layouts, list):
        raise FormError("its target is no name")
    found: Attributes = {
        "custom_call_target": target,
        "operand_layout_constraints": tuple(
            (o.type, _layout(x)) for o, x in zip(operands, layouts, strict=False)
        ),
        "api_version": "API_VERSION_TYPED_FFI",
        "backend_config": tuple(listed.items()),
    }
    if isinstance(results, list) and results:
        found["layout"] = tuple(map(_layout, results))
    if called:
        found["to_apply"] = called[0]
    return found


def _triangular_solve(operation: Operation, _: Operands, __: Computations) -> Attributes:
    return {
        **{n: _truth(operation, n) for n in ("left_side", "lower", "unit_diagonal")},
        "transpose_a": _word(operation, "transpose_a"),
    }


def _random_bits(operation: Operation, _: Operands, __: Computations) -> Attributes:
    return {"algorithm": _word(operation, "algorithm", "rng_algorithm")}


FORMS: Mapping[str, Form] = {
    "broadcast_in_dim": _dimensions("dims", "broadcast_dimensions"),
    "cholesky": lambda operation, _, __: {"lower": _truth(operation, "lower")},
    "compare": _compare,
    "concatenate": _concatenate,
    "convolution": _convolution,
    "custom_call": _custom_call,
    "dot": _plain_dot,
    "dot_general": _dot,
    "dynamic_slice": _dynamic_slice,
    "fft": _fft,
    "gather": _gather,
    "get_tuple_element": _element,
    "iota": _iota,
    "map": _map,
    "pad": _pad,
    "reduce": lambda operation, _, found: {
        "dimensions": _axes(operation, "dimensions"),
        "to_apply": one(found),
    },
    "reduce_precision": _reduce_precision,
    "reduce_window": _reduce_window,
    "reverse": _dimensions("dims", "dimensions"),
    "rng_bit_generator": _random_bits,
    "scatter": _scatter,
    "select_and_scatter": _select_and_scatter,
    "slice": _slice,
    "sort": _sort,
    "top_k": lambda operation, _, __: {"k": _integer(operation, "k"), "largest": True},
    "transpose": _dimensions("dims", "permutation"),
    "triangular_solve": _triangular_solve,
}
