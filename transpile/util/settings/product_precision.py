"""The precision of products of floats that is asked for, by `precision=` of a product, by a context
of a thread, or for all threads.

A name asks for one of two precisions. FULL is that of the operands, and what nobody asks for.
TENSOR_FLOAT allows factors that are rounded to the ten bits of mantissa that tensor cores read of
float32: what "default" and "high" mean on a GPU in JAX. Names of less, such as those of bfloat16,
allow no less here, and names of more are FULL.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from transpile.util.frozen_records import dataclass
from transpile.util.interrupt_safety import SUSPENDING, THREAD

FULL, TENSOR_FLOAT = "float32", "tensorfloat32"
_TENSOR_FLOATS = frozenset(
    ("default", "fastest", "bfloat16", "high", "bfloat16_3x", "tensorfloat32", "tf32_tf32_f32")
)
# Further names, those of algorithms in JAX among them: all may be computed in the operands'
# precision.
_FULL = frozenset(
    (
        *("highest", "float32", "f32_f32_f32", "f64_f64_f64", "f16_f16_f16", "f16_f16_f32"),
        *("any_f8_any_f8_f32", "any_f8_any_f8_f32_fast_accum"),
        *("any_f8_any_f8_any", "any_f8_any_f8_any_fast_accum"),
        *("bf16_bf16_bf16", "bf16_bf16_f32", "bf16_bf16_f32_x3", "bf16_bf16_f32_x6"),
        *("bf16_bf16_f32_x9", "tf32_tf32_f32_x3"),
    )
)
_of_all_threads: list[Any] = [None]


def precision_of(value: Any) -> str | None:
    """FULL or TENSOR_FLOAT, by a name or a member of an enumeration; of a pair, by which each
    operand has one, FULL unless both are TENSOR_FLOAT; None for None. Raises ValueError for other
    names."""
    if value is None:
        return None
    if isinstance(value, tuple | list):
        if hasattr(value, "_fields"):  # an algorithm by its types: of as many bits as there are
            return FULL
        both = {precision_of(part) for part in value}
        return None if both <= {None} else TENSOR_FLOAT if both == {TENSOR_FLOAT} else FULL
    name = value if isinstance(value, str) else getattr(value, "name", None)
    if isinstance(name, str) and name.lower() in _TENSOR_FLOATS:
        return TENSOR_FLOAT
    if isinstance(name, str) and name.lower() in _FULL:
        return FULL
    raise ValueError(f"{value!r} is not a valid Precision")


def asked_for() -> Any:
    """The precision of products that name none: that of the innermost context of this thread, or
    that of all threads; None where nobody asks."""
    return _of_all_threads[0] if THREAD.precision is None else THREAD.precision.value


def precision_in_effect() -> str:
    """FULL or TENSOR_FLOAT: that of products that name none."""
    return precision_of(asked_for()) or FULL


def is_named() -> bool:
    """True while a product is under way that names its precision."""
    return THREAD.precision is not None and THREAD.precision.is_of_product


def ask_in_all_threads(value: Any) -> None:
    """Ask for a precision in all threads, but for contexts that name another one."""
    is_asked, was_asked = (precision_of(v) == TENSOR_FLOAT for v in (value, _of_all_threads[0]))
    _of_all_threads[0] = value
    if is_asked != was_asked:
        SUSPENDING.append(None) if is_asked else SUSPENDING.pop()


@dataclass(frozen=True)
class _Asked:
    value: Any
    is_of_product: bool


@contextmanager
def asking_for(value: Any, *, is_of_product: bool = False) -> Iterator[None]:
    """A context in which this thread's products have a precision where they name none, or that of a
    product which names it; None is that of the operands."""
    before = THREAD.precision
    suspends = TENSOR_FLOAT in (precision_in_effect(), precision_of(value))
    if suspends:
        SUSPENDING.append(None)
    THREAD.precision = _Asked(value, is_of_product)
    try:
        yield
    finally:
        THREAD.precision = before
        if suspends:
            SUSPENDING.pop()


def of_product(value: Any) -> AbstractContextManager[None]:
    """The context of a product with an argument `precision`, which may be None."""
    return nullcontext() if value is None else asking_for(value, is_of_product=True)
