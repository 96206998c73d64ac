"""`np.stack`, `np.concatenate` and their kin, of the arrays in a list that grows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transpile.python.growing.arrays import GrowingArrays, fail_if

Function = Callable[..., Any]


def _joining(original: Function, of_rows: Function, text: str) -> Function:
    """A function of a sequence of arrays, which takes a list that grows, too."""

    def joined(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(arrays, GrowingArrays) or arrays.items is not None:
            plain = arrays.items if isinstance(arrays, GrowingArrays) else arrays
            return original(plain, *args, **kwargs)
        fail_if(arrays.length() == 0, lambda: ValueError(text))
        return of_rows(arrays.array(), *args, **kwargs)

    return joined


def _stack(rows: Any, axis: int = 0) -> Any:
    return np.moveaxis(rows, 0, axis) if axis else rows


def _concatenate(rows: Any, axis: int | None = 0) -> Any:
    if axis is None:
        return rows.ravel()
    if rows.ndim < 2:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = axis + rows.ndim - 1 if axis < 0 else axis
    turned = np.moveaxis(rows, 0, axis) if axis else rows
    shape = (*turned.shape[:axis], -1, *turned.shape[axis + 2 :])
    return np.reshape(turned, shape)


def _vstack(rows: Any) -> Any:
    if rows.ndim < 3:
        return rows[:, None] if rows.ndim == 1 else rows
    return _concatenate(rows)


def _hstack(rows: Any) -> Any:
    return rows if rows.ndim == 1 else _concatenate(rows, 0 if rows.ndim == 2 else 1)


def _column_stack(rows: Any) -> Any:
    if rows.ndim < 3:
        return rows[None, :] if rows.ndim == 1 else rows.T
    return _concatenate(rows, 1)


_STACK, _CONCATENATE = (f"need at least one array to {what}" for what in ("stack", "concatenate"))
TABLE: dict[Any, Any] = {
    np.stack: _joining(np.stack, _stack, _STACK),
    np.concatenate: _joining(np.concatenate, _concatenate, _CONCATENATE),
    np.vstack: _joining(np.vstack, _vstack, _CONCATENATE),
    np.hstack: _joining(np.hstack, _hstack, _CONCATENATE),
    np.column_stack: _joining(np.column_stack, _column_stack, _CONCATENATE),
}
