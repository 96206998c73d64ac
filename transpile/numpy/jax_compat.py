"""What `jax.numpy` has beyond NumPy: further arguments, copies in place of assignment, and
`frompyfunc` as functions of traced values.

Arguments that choose between algorithms, or that promise something about values, change nothing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.ir.types import broadcast_shapes
from transpile.numpy.core.promotion import EXPORTS, Array, axis_of, device_argument
from transpile.numpy.core.promotion import error as located
from transpile.numpy.core.ufuncs import SPECIAL
from transpile.numpy.keywords import extended, with_dtype
from transpile.numpy.subscripts.at import at
from transpile.pytree.registry import EXTENDED
from transpile.trace.tracer import Tracer
from transpile.util.settings.product_precision import of_product

Function = Callable[..., Any]
_EXCEPT_DOC = tuple(name for name in functools.WRAPPER_ASSIGNMENTS if name != "__doc__")


def _array(value: Any) -> Any:
    return value if isinstance(value, Tracer) else np.asarray(value)


# ---------------------------------------------------------------------------- further arguments

_PRODUCTS = ("dot", "inner", "matmul", "tensordot", "vdot", "einsum", "vecdot", "matvec", "vecmat")
_IGNORED = {
    "delete": ("assume_unique_indices",),
    "digitize": ("method",),
    "isin": ("method",),
    "searchsorted": ("method",),
    "polyval": ("unroll",),
    "roots": ("strip_zeros",),
    "polymul": ("trim_leading_zeros",),
    "polydiv": ("trim_leading_zeros",),
}


def _numpys(name: str) -> Any:
    """The function of the namespace for NumPy's function of that name."""
    return EXPORTS.get(name) or getattr(np, name)


def _documented(function: Function, addition: str) -> Function:
    """The function, whose docstring says more than that of the one that it wraps."""
    function.__doc__ = f"{(function.__doc__ or '').rstrip()}\n\n    {addition}\n    "
    return function


def _with_precision(name: str) -> Function:
    """A product that takes `precision`, which may let tensor cores of a GPU round float32, and
    `preferred_element_type`, the dtype that it is computed in."""

    @functools.wraps(_numpys(name))
    def product(
        *args: Any,
        precision: Any = None,
        preferred_element_type: Any = None,
        out_sharding: Any = None,
        **kwargs: Any,
    ) -> Any:
        if preferred_element_type is not None:
            args = tuple(
                _array(v).astype(preferred_element_type) if _is_array(v) else v for v in args
            )
        with of_product(precision):
            return _numpys(name)(*args, **kwargs)

    names = ("precision", "preferred_element_type", "out_sharding")
    product.__signature__ = extended(_numpys(name), names)  # type: ignore[attr-defined]
    rule = SPECIAL.get(getattr(np, name))  # a ufunc's docstring is NumPy's
    product.__doc__ = product.__doc__ if rule is None else rule.__doc__
    text = (
        "Arrays are cast to `preferred_element_type` first; `precision` is that of "
        "`lax.dot_general`."
    )
    return _documented(product, text)


def _is_array(value: Any) -> bool:
    return isinstance(value, Tracer | np.ndarray | np.generic | list)


def _without(name: str, ignored: Sequence[str]) -> Function:
    """A function that takes arguments which change nothing."""

    @functools.wraps(_numpys(name))
    def function(*args: Any, **kwargs: Any) -> Any:
        kept = {k: v for k, v in kwargs.items() if k not in ignored}
        return _numpys(name)(*args, **kept)

    function.__signature__ = extended(_numpys(name), ignored)  # type: ignore[attr-defined]
    return _documented(function, f"`{ignored[0]}` is an argument of JAX's and changes nothing.")


def _of_types(name: str) -> Function:
    """A function of an array, which may be an object with its shape and dtype."""

    @functools.wraps(_numpys(name))
    def function(a: Array, *args: Any, **kwargs: Any) -> Any:
        is_type = hasattr(a, "shape") and hasattr(a, "dtype") and not _is_array(a)
        if is_type and type(a) not in EXTENDED:
            a = np.broadcast_to(np.zeros((), a.dtype), a.shape)
            kwargs.setdefault("order", "C")
        return _numpys(name)(a, *args, **kwargs)

    return _documented(function, "An object with `shape` and `dtype` serves as an array.")


_LIKE = ("empty_like", "full_like", "ones_like", "zeros_like")
_WITH_DTYPE = ("argsort", "dstack", "ravel_multi_index")
_IN_PLACE = ("fill_diagonal", "place", "put", "put_along_axis")


@functools.wraps(np.take, assigned=_EXCEPT_DOC)
def take(
    a: Array,
    indices: Array,
    axis: Any = None,
    out: Any = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    """The elements at indices along an axis, or of the flattened array, with JAX's modes for
    indices out of range.

    `fill` (the default once `fill_value` is given) reads `fill_value`, NaN or the extreme integer
    by default; `promise_in_bounds` says that there are none; `clip` and `wrap` are NumPy's. Without
    a mode, and in the mode `raise`, known indices out of range raise IndexError, and traced ones
    read the nearest element. `unique_indices` and `indices_are_sorted` change nothing.
    """
    if mode is None and fill_value is None:
        return _numpys("take")(a, indices, axis, out)
    if mode in ("raise", "clip", "wrap"):
        return _numpys("take")(a, indices, axis, out, mode)
    x = _array(a)
    if axis is None:
        x, axis = x.reshape(-1), 0
    key = (*[slice(None)] * axis_of(axis, x.ndim), _array(indices))
    return at(x)[key].get(mode="fill" if mode is None else mode, fill_value=fill_value)


@functools.wraps(np.take_along_axis, assigned=_EXCEPT_DOC)
def take_along_axis(
    arr: Array,
    indices: Array,
    axis: Any = -1,
    mode: str | None = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool = True,
) -> Any:
    """The elements at indices along one axis, which broadcast with the array along the others;
    modes and `fill_value` as those of `take`.

    With `wrap_negative_indices=False` negative indices are out of range.
    """
    if mode is None and fill_value is None:
        return _numpys("take_along_axis")(arr, indices, axis)
    x, along = _array(arr), _array(indices)
    if axis is None:
        x, axis = x.reshape(-1), 0
    number = axis_of(axis, x.ndim)
    shape = broadcast_shapes([(*x.shape[:number], 1, *x.shape[number + 1 :]), tuple(along.shape)])
    if not wrap_negative_indices:  # then they are out of range
        along = np.where(along < 0, x.shape[number], along)
    sizes: list[Any] = list(shape)
    grid: list[Any] = [
        np.arange(sizes[k]).reshape([-1 if j == k else 1 for j in range(x.ndim)])
        for k in range(x.ndim)
    ]
    grid[number] = along
    return at(x)[tuple(grid)].get(mode="fill" if mode is None else mode, fill_value=fill_value)


_own: Any
for _own in (take, take_along_axis):  # NumPy's, which they wrap, say less
    _own.__signature__ = inspect.signature(_own, follow_wrapped=False)


# ------------------------------------------------------------------- new arrays in place of changes


def _new(name: str) -> Function:
    """A function that changes its first argument as NumPy's does, or with `inplace=False` gives a
    changed copy."""

    @functools.wraps(_numpys(name))
    def function(arr: Array, *args: Any, inplace: bool = True, **kwargs: Any) -> Any:
        if inplace:
            return _numpys(name)(arr, *args, **kwargs)
        changed = _array(arr).copy()
        _numpys(name)(changed, *args, **kwargs)
        return changed

    function.__signature__ = extended(_numpys(name), ("inplace",), True)  # type: ignore[attr-defined]
    return _documented(function, "With inplace=False, as in JAX, a changed copy is returned.")


# ---------------------------------------------------------------------------- functions of scalars


class ufunc:  # the name is JAX's
    """A function of scalars as one of arrays, which broadcasts and has the methods of a ufunc; see
    `frompyfunc`."""

    def __init__(
        self, func: Function, nin: int, nout: int, *, identity: Any = None, name: str | None = None
    ) -> None:
        if not callable(func):
            raise located(TypeError, f"func must be a callable; got {func!r}")
        self.func, self.nin, self.nout, self.identity = func, int(nin), int(nout), identity
        self.nargs = self.nin + self.nout
        self.__name__ = name or str(getattr(func, "__name__", "ufunc"))
        self._apply = EXPORTS["vectorize"](func)

    def __repr__(self) -> str:
        return f"<transpile.numpy.ufunc {self.__name__!r}>"

    def __call__(self, *args: Array) -> Any:
        """The function of each element; raises TypeError for another number of arguments."""
        if len(args) != self.nin:
            raise located(
                TypeError,
                f"{self.__name__}() takes {self.nin} positional arguments but {len(args)} were "
                "given",
            )
        return self._apply(*args)

    def _check_binary(self, method: str) -> None:
        if self.nin != 2 or self.nout != 1:
            raise located(
                ValueError, f"{method} only supported for binary functions with one output"
            )

    def reduce(
        self,
        a: Array,
        axis: int | None = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """The elements along an axis, or all for None, combined from the first on, where the mask
        holds; `initial`, by default the identity, comes first.

        One call for each position along the axis. Raises ValueError for a function that is not
        binary, for no elements without identity, and for a mask without initial value.
        """
        self._check_binary("reduce")
        x = _array(a) if dtype is None else _array(a).astype(dtype)
        if axis is None:
            shape = (1,) * x.ndim
            x, axis = x.reshape(-1), 0
            flat = self.reduce(x, 0, None, None, False, initial, where)
            return np.reshape(flat, shape) if keepdims else flat
        number = axis_of(axis, x.ndim)
        total = self.identity if initial is None else initial
        if where is not None and total is None:
            raise located(ValueError, "reduce with where needs an identity or initial")
        if where is not None:
            where = np.broadcast_to(_array(where), x.shape)
        for k in range(x.shape[number]):
            part = np.take(x, k, number)
            step = part if total is None else self(total, part)
            total = step if where is None else np.where(np.take(where, k, number), step, total)
        if total is None:
            raise located(
                ValueError,
                f"zero-size array to reduction operation {self.__name__} which has no identity",
            )
        rest = (*x.shape[:number], *x.shape[number + 1 :])
        total = np.broadcast_to(_array(total), rest)
        return np.expand_dims(total, number) if keepdims else total

    def accumulate(self, a: Array, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """The results of combining the elements along an axis up to each; one call for each
        position."""
        self._check_binary("accumulate")
        x = _array(a) if dtype is None else _array(a).astype(dtype)
        number = axis_of(axis, x.ndim)
        parts = [np.take(x, k, number) for k in range(x.shape[number])]
        for k in range(1, len(parts)):
            parts[k] = self(parts[k - 1], parts[k])
        return np.stack(parts, number) if parts else x

    def outer(self, A: Array, B: Array, /) -> Any:
        """The function of all pairs of elements of two arrays."""
        self._check_binary("outer")
        x, y = _array(A), _array(B)
        return self(x.reshape(*x.shape, *[1] * y.ndim), y)

    def at(self, a: Array, indices: Any, b: Array | None = None, /, *, inplace: bool = True) -> Any:
        """The array with the function applied to the elements at indices, a copy: raises
        NotImplementedError unless inplace=False.

        Of indices that occur twice only one counts.
        """
        if inplace:
            raise located(NotImplementedError, "ufunc.at: only inplace=False is supported")
        chosen = _array(a)[indices]
        values = self(chosen) if b is None else self(chosen, b)
        return at(_array(a))[indices].set(values)


def astype(x: Array, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """A number or array, or what NumPy makes an array of, converted to a dtype; of complex numbers
    to a real one the real part. With `copy` never the array itself."""
    device_argument(device)
    value = x if isinstance(x, Tracer) else np.asarray(x)
    return value.astype(dtype) if isinstance(value, Tracer) else value.astype(dtype, copy=copy)


def frompyfunc(func: Function, /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """A function of scalars as one of arrays, with the methods of a ufunc.

    The function is traced once for scalars and batched; NumPy's `frompyfunc` calls it for each
    element.
    """
    return ufunc(func, nin, nout, identity=identity)


def __getattr__(name: str) -> Any:
    """A function of the namespace by its name: made when it is used for the first time."""
    if name in _PRODUCTS:
        return _with_precision(name)
    if name in _IGNORED:
        return _without(name, _IGNORED[name])
    if name in _LIKE:
        return _of_types(name)
    if name in _WITH_DTYPE:
        return with_dtype(_numpys(name))
    if name in _IN_PLACE:
        return _new(name)
    raise AttributeError(f"module 'transpile.numpy.jax_compat' has no attribute {name!r}")
