"""The attributes of instructions by the texts that XLA writes: ATTRIBUTES, by name.

reader(text, {name: computation}) -> the value, as `transpile.hlo.module` has it
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from transpile.errors import HloError
from transpile.hlo.module import Computation, Labels, Window
from transpile.hlo.parse.cursor import Cursor
from transpile.hlo.parse.hlo_types import parse_shape
from transpile.hlo.parse.mlir_attributes import Attributes

Computations = Mapping[str, Computation]
Read = Callable[[str, Computations], Any]
_INTEGERS = re.compile(r"\{\s*(-?\d{1,18}(?:\s*,\s*-?\d{1,18})*)?\s*\}")
_BOUNDS = re.compile(r"\[\s*(\d{1,18})\s*:\s*(\d{1,18})\s*(?::\s*(\d{1,18})\s*)?\]")
_SLICES = re.compile(r"\{(?:\s*\[[\d:\s]*\]\s*,?)*\s*\}")
_FIELD = re.compile(r"(\w+)=([\w\-]+)")
_LABELS = re.compile(r"([bf0-9?]+)_([oi0-9?]+)->([bf0-9?]+)")
_NAME = re.compile(r"%?([A-Za-z_][\w.\-]*)")
# The attributes that name computations.
CALLS = (
    *("to_apply", "calls", "condition", "body", "select", "scatter"),
    *("true_computation", "false_computation", "branch_computations"),
)


class AttributeFormError(Exception):
    """The text of an attribute is not understood."""


def names_in(text: str) -> list[str]:
    """The names of computations in `%a`, or in `{%a, %b}`."""
    return [m[1] for m in _NAME.finditer(text)]


def _integer(text: str, _: Computations) -> int:
    if not re.fullmatch(r"-?\d{1,18}", text):
        raise AttributeFormError(f"{text} is no integer")
    return int(text)


def _integers(text: str, _: Computations) -> tuple[int, ...]:
    found = _INTEGERS.fullmatch(text)
    if found is None:
        raise AttributeFormError(f"{text} is no list of integers")
    return tuple(int(w) for w in (found[1] or "").split(",") if w.strip())


def _truth(text: str, _: Computations) -> bool:
    if text not in ("true", "false"):
        raise AttributeFormError(f"{text} is no truth value")
    return text == "true"


def _word(text: str, _: Computations) -> str:
    return text


def _string(text: str, _: Computations) -> str:
    return text.strip('"')


def _callee(text: str, known: Computations) -> Computation:
    (name,) = names_in(text) or [""]
    if name not in known:
        raise AttributeFormError(f"there is no computation {text}")
    return known[name]


def _callees(text: str, known: Computations) -> tuple[Computation, ...]:
    return tuple(_callee(name, known) for name in names_in(text))


def _slices(text: str, _: Computations) -> tuple[tuple[int, int, int], ...]:
    if not _SLICES.fullmatch(text):
        raise AttributeFormError(f"{text} is no slice")
    found = _BOUNDS.findall(text)
    if len(found) != text.count("["):
        raise AttributeFormError(f"{text} is no slice")
    return tuple((int(a), int(b), int(c or 1)) for a, b, c in found)


def _times(text: str, count: int) -> list[tuple[int, ...]]:
    """`1_2x3_4` as tuples of so many numbers."""
    found = []
    for part in text.split("x"):
        words = part.split("_")
        if len(words) != count or not all(re.fullmatch(r"-?\d{1,18}", w) for w in words):
            raise AttributeFormError(f"{text} are no numbers")
        found.append(tuple(map(int, words)))
    return found


def _padding(text: str, _: Computations) -> tuple[tuple[int, int, int], ...]:
    found = []
    for part in text.split("x"):
        numbers = _times(part, part.count("_") + 1)[0]
        if len(numbers) not in (2, 3):
            raise AttributeFormError(f"{text} is no padding")
        found.append((numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else 0))
    return tuple(found)


def _window(text: str, _: Computations) -> Window:
    fields = dict(_FIELD.findall(text))
    if "rhs_reversal" in fields and "1" in fields["rhs_reversal"]:
        raise AttributeFormError("reversed windows are not supported")
    size = [n for (n,) in _times(fields["size"], 1)] if "size" in fields else []

    def given(name: str) -> tuple[int, ...]:
        found = [n for (n,) in _times(fields[name], 1)] if name in fields else [1] * len(size)
        return tuple(found)

    pads = _times(fields["pad"], 2) if "pad" in fields else [(0, 0)] * len(size)
    window = Window(
        tuple(size),
        given("stride"),
        tuple((p[0], p[1]) for p in pads),
        given("lhs_dilate"),
        given("rhs_dilate"),
    )
    lengths = {len(x) for x in (window.stride, window.padding, window.base_dilation)}
    if lengths | {len(window.window_dilation)} != {len(size)}:
        raise AttributeFormError(f"{text} is no window")
    return window


def _axes(letters: str, names: str) -> tuple[int, ...]:
    order = [*names, *map(str, range(len(letters) - 2))]
    if sorted(letters) != sorted(order):
        raise AttributeFormError(f"{letters} are no names of axes")
    return tuple(letters.index(n) for n in order)


def _labels(text: str, _: Computations) -> Labels:
    found = _LABELS.fullmatch(text)
    if found is None:
        raise AttributeFormError(f"{text} are no dimension numbers")
    return Labels(_axes(found[1], "bf"), _axes(found[2], "oi"), _axes(found[3], "bf"))


def _layouts(text: str, _: Computations) -> tuple[tuple[Any, Any], ...]:
    inner = Cursor(text[1:-1])
    found = []
    while not inner.is_at_end:
        found.append(parse_shape(inner))
        if not inner.take(","):
            break
    return tuple(found)


def _options(text: str, _: Computations) -> tuple[tuple[str, Any], ...]:
    """The options of a custom call, in MLIR's syntax; others have other texts, which are left."""
    if not text.startswith("{") or text.startswith('{"'):
        return ()
    try:
        return tuple(Attributes(Cursor(text)).dictionary().items())
    except HloError:
        return ()


ATTRIBUTES: Mapping[str, Read] = {
    **dict.fromkeys(
        (
            *("dimensions", "dynamic_slice_sizes", "slice_sizes", "fft_length", "offset_dims"),
            *("collapsed_slice_dims", "start_index_map", "operand_batching_dims"),
            *("start_indices_batching_dims", "update_window_dims", "inserted_window_dims"),
            *("scatter_dims_to_operand_dims", "input_batching_dims"),
            *("scatter_indices_batching_dims", "lhs_batch_dims", "rhs_batch_dims"),
            *("lhs_contracting_dims", "rhs_contracting_dims"),
        ),
        _integers,
    ),
    **dict.fromkeys(
        (
            *("index", "iota_dimension", "index_vector_dim", "feature_group_count", "k"),
            *("batch_group_count", "exponent_bits", "mantissa_bits"),
        ),
        _integer,
    ),
    **dict.fromkeys(
        ("is_stable", "unique_indices", "lower", "left_side", "unit_diagonal", "largest"), _truth
    ),
    **dict.fromkeys(
        ("direction", "type", "fft_type", "transpose_a", "api_version", "algorithm"), _word
    ),
    **dict.fromkeys(CALLS, _callee),
    "backend_config": _options,
    "branch_computations": _callees,
    "custom_call_target": _string,
    "dim_labels": _labels,
    "operand_layout_constraints": _layouts,
    "padding": _padding,
    "slice": _slices,
    "window": _window,
}
