"""Keyword arguments of JAX's functions that NumPy's lack, and signatures that say so.

Most change nothing here: arrays are on one device (`out_sharding`, `device`), and there is one
algorithm (`method`). `precision` is that of products (`util/settings/product_precision.py`).
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.trace.tracer import Tracer
from transpile.util.settings.product_precision import of_product

Function = Callable[..., Any]
# Arguments of which None says in JAX that they are left out; in NumPy it is an error, or False.
LEFT_OUT = frozenset(
    ("append", "correction", "edge_order", "keepdims", "mean", "prepend", "rtol", "where")
)
_SHARDED = (
    *("arange", "asarray", "bincount", "broadcast_to", "empty", "empty_like", "full", "full_like"),
    *("ones", "ones_like", "percentile", "ravel", "repeat", "reshape", "zeros", "zeros_like"),
)
# Keywords that change something.
_USED = ("precision", "preferred_element_type")
# By namespace and function: what changes nothing, but for these.
UNUSED: dict[str, dict[str, tuple[str, ...]]] = {
    "numpy": {
        **dict.fromkeys(_SHARDED, ("out_sharding",)),
        "array": ("device", "out_sharding"),
        "convolve": ("precision", "preferred_element_type"),
        "correlate": ("precision", "preferred_element_type"),
    },
    "numpy.linalg": {
        "lstsq": ("numpy_resid",),
        "matmul": ("precision", "preferred_element_type"),
        "multi_dot": ("precision",),
        "slogdet": ("method",),
        "tensordot": ("precision", "preferred_element_type", "out_sharding"),
        "vecdot": ("precision", "preferred_element_type"),
    },
}


def as_in_jax(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keywords as NumPy takes them: what is left out in JAX's way is not there, and axes are a
    tuple."""
    axis = kwargs.get("axis")
    if type(axis) is list:
        kwargs = {**kwargs, "axis": tuple(axis)}
    if all(v is not None for v in kwargs.values()):
        return kwargs
    return {k: v for k, v in kwargs.items() if v is not None or k not in LEFT_OUT}


def position_of(function: Function, name: str) -> int:
    """The position at which a call may give an argument without its name; beyond all, if none."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    names = () if code is None else code.co_varnames[: code.co_argcount]
    return names.index(name) if name in names else sys.maxsize


def taken_out(
    args: tuple[Any, ...], kwargs: dict[str, Any], name: str, position: int
) -> tuple[tuple[Any, ...], Any]:
    """The positional arguments without one that is given at a position, or by its name; and that
    one, None where it is not given."""
    value = kwargs.pop(name, None)
    if position < len(args):
        return (*args[:position], None, *args[position + 1 :]), args[position]
    return args, value


def extended(function: Function, names: Sequence[str], defaults: Any = None) -> inspect.Signature:
    """The signature of a function with further keywords."""
    own = inspect.signature(function)
    parameters = [p for p in own.parameters.values() if p.name not in names]
    last = [p for p in parameters if p.kind is p.VAR_KEYWORD]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults) for name in names
    ]
    return own.replace(parameters=[*[p for p in parameters if p not in last], *more, *last])


def accepting(function: Function, names: Sequence[str]) -> Function:
    """The function, which takes keywords that change nothing; `preferred_element_type` is the dtype
    in which it computes, `precision` that of its products."""

    @functools.wraps(function)
    def more(*args: Any, **kwargs: Any) -> Any:
        dtype = kwargs.get("preferred_element_type") if "preferred_element_type" in names else None
        precision = kwargs.get("precision") if "precision" in names else None
        for name in names:
            kwargs.pop(name, None)
        if dtype is not None:
            args = tuple(_array(x).astype(dtype) if _is_array(x) else x for x in args)
        with of_product(precision):
            return function(*args, **kwargs)

    more.__signature__ = extended(function, names)  # type: ignore[attr-defined]
    idle = ", ".join(f"`{name}`" for name in names if name not in _USED)
    text = f"JAX's {idle}: changes nothing." if idle else ""
    if "precision" in names:
        text = f"{text} `precision` is that of `lax.dot_general`.".strip()
    more.__doc__ = f"{(function.__doc__ or '').rstrip()}\n\n    {text}\n    "
    return more


def with_keywords(namespace: str, name: str, value: Any) -> Any:
    """What a namespace has under a name: with JAX's keywords."""
    names = UNUSED[namespace].get(name)
    return accepting(value, names) if names else value


def choice(function: Function) -> Function:
    """`where`, to which two values that are None are left out, as in JAX."""

    @functools.wraps(function)
    def more(condition: Any, *values: Any, **kwargs: Any) -> Any:
        if len(values) == 2 and values[0] is None and values[1] is None:
            values = ()
        given = {k: v for k, v in kwargs.items() if v is not None or k not in ("x", "y")}
        values += tuple(given.pop(name) for name in ("x", "y") if name in given)
        return function(condition, *values, **given)

    more.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return more


def with_dtype(function: Function) -> Function:
    """A function whose result is cast to `dtype`."""

    @functools.wraps(function)
    def more(*args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return result if dtype is None else result.astype(dtype)

    more.__signature__ = extended(function, ("dtype",))  # type: ignore[attr-defined]
    more.__doc__ = (
        f"{(function.__doc__ or '').rstrip()}\n\n    The result is cast to `dtype` where it is "
        "given, as in JAX.\n    "
    )
    return more


def total(function: Function) -> Function:
    """`sum` or `prod`, which take `promote_integers`: False keeps the dtype of small integers."""

    @functools.wraps(function)
    def more(*args: Any, promote_integers: bool = True, **kwargs: Any) -> Any:
        if not promote_integers and kwargs.get("dtype") is None and len(args) < 3:
            dtype = _array(args[0] if args else kwargs["a"]).dtype
            if dtype.kind in "iu":
                kwargs["dtype"] = dtype
        return function(*args, **kwargs)

    more.__signature__ = extended(function, ("promote_integers",), True)  # type: ignore[attr-defined]
    more.__doc__ = (
        f"{(function.__doc__ or '').rstrip()}\n\n    With `promote_integers=False` small integers "
        "keep their dtype.\n    "
    )
    return more


def _array(value: Any) -> Any:
    return value if isinstance(value, Tracer) else np.asarray(value)


def _is_array(value: Any) -> bool:
    return isinstance(value, Tracer | np.ndarray | np.generic | list)
