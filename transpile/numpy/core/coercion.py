"""`numpy.array`, `numpy.asarray` and others that NumPy does not dispatch by their arguments.

All other functions of NumPy call `__array_function__` of their arguments. Those that make arrays do
so only for `like=`, so that `numpy.asarray(traced)` would fail, and a list of traced values too. In
traced code their calls are calls of ours (`trace/bytecode/call_resolution.py`), and NumPy stays as
it is.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.ir.types import SHORT_NAMES, check_dtype
from transpile.numpy.changes import CHANGING, changing_method, check_changes
from transpile.numpy.core import creation
from transpile.numpy.core.promotion import (
    EXPORTS,
    NOTHING,
    PYTHON_TYPES,
    as_array,
    dispatching,
    fill,
    has_tracer,
    scalar_of,
    unsupported,
)
from transpile.primitives import elementwise
from transpile.trace.bytecode.call_resolution import OF_INSTANCES, OF_METHODS, SUBSTITUTES
from transpile.trace.bytecode.made_arrays import check_assignment, note
from transpile.trace.trace import bind
from transpile.trace.tracer import FUNCTIONS, UFUNC_METHODS, Tracer, named
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    from transpile.numpy import jax_compat
    from transpile.numpy.core import ranges
else:
    jax_compat = Later("transpile.numpy.jax_compat")
    ranges = Later("transpile.numpy.core.ranges")

_IMPLEMENTED = creation  # where these are registered
_CONVERSIONS: tuple[Any, ...] = (
    np.array,
    np.asarray,
    np.asanyarray,
    np.ascontiguousarray,
    np.asfortranarray,
    np.asarray_chkfinite,
    np.require,
    np.full,
)
# Whose implementations are imported at the first use.
_RARE = (np.broadcast, np.broadcast_shapes, np.from_dlpack, np.iterable, np.ndenumerate)

# Functions whose results traced code may assign traced values to.
_MAKERS: tuple[Any, ...] = (
    *(np.zeros, np.ones, np.empty, np.eye, np.identity, np.tri, np.arange, np.linspace),
    *(np.logspace, np.geomspace, np.zeros_like, np.ones_like, np.empty_like, np.full_like),
    *(np.copy, np.diag, np.tile, np.repeat, np.concatenate, np.stack, np.vstack, np.hstack),
    *(np.column_stack, np.where, np.outer, np.pad, np.tril, np.triu, np.indices, np.fromfunction),
    *(np.bartlett, np.blackman, np.hamming, np.hanning, np.kaiser, np.diag_indices),
    *(np.tril_indices, np.triu_indices, np.mask_indices),
    *(np.fft.fftfreq, np.fft.rfftfreq),
)
_MAKING_METHODS = ("copy", "astype", "repeat")
# What has no values would bring whatever the memory holds into the program.
_WITH_VALUES: dict[Any, Any] = {np.empty: np.zeros, np.empty_like: np.zeros_like}


def _making(function: Any, given: tuple[Any, ...] = ()) -> Callable[..., Any]:
    """The function, whose result is traced where traced values are going to be assigned to it."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            check_changes(function, args, kwargs)
        result = function(*args, **kwargs)
        is_array = type(result) is np.ndarray
        return as_traced(result) if is_array and note(result, (*given, *args)) else result

    return call


def _of_sizes(function: Any) -> Callable[..., Any]:
    """The function, which is ours for runtime sizes: NumPy does not dispatch by them. Few traces
    need it, so it is looked up in the call."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if has_tracer(args) or has_tracer(kwargs):
            return named(FUNCTIONS[function](*args, **kwargs))
        return function(*args, **kwargs)

    return call


def as_traced(array: Any) -> Any:
    """A known array as a traced one."""
    dtype = check_dtype(array.dtype, "an array that traced values are assigned to")
    scalar = scalar_of(array)
    if scalar is not None:
        return named(fill(scalar, array.shape, dtype))
    return named(bind(elementwise.copy, array.astype(dtype)))


def _new_array(
    shape: Any,
    dtype: Any = float,
    buffer: Any = None,
    offset: int = 0,
    strides: Any = None,
    order: Any = None,
) -> Any:
    """numpy.ndarray: of a shape alone it makes an array, and has no values for it."""
    if buffer is None and strides is None and offset == 0:
        return _of_sizes(np.zeros)(shape, dtype)
    return np.ndarray(shape, dtype, buffer, offset, strides, order)


@creation.makes(np.require)
def require(a: Any, dtype: Any = None, requirements: Any = None, **kwargs: Any) -> Any:
    """The array, or a copy of it where `requirements` name another order of memory (`C`, `F`),
    memory of its own (`O`), or memory that may be written (`W`)."""
    letters = {str(r)[0].upper() for r in requirements or ()}
    x = creation.asarray(a, dtype, next((order for order in "CF" if order in letters), None))
    if not isinstance(x, Tracer):
        return x
    is_lacking = "W" in letters and x.original in x.owner.layouts.locked
    is_lacking |= "O" in letters and x.owner.viewed(x.original) is not None
    return bind(elementwise.copy, x) if is_lacking else x


for _conversion in _CONVERSIONS:
    _ours = _making(dispatching(_conversion, FUNCTIONS[_conversion]))
    SUBSTITUTES[id(_conversion)] = (_conversion, _ours)
for _maker in _MAKERS:
    SUBSTITUTES[id(_maker)] = (_maker, _making(_of_sizes(_WITH_VALUES.get(_maker, _maker))))
SUBSTITUTES[id(np.ndarray)] = (np.ndarray, _making(_new_array))


def _method(method: Any) -> Any:
    """A method of a known array."""
    if method.__name__ in _MAKING_METHODS:
        return _making(method, (method.__self__,))
    return changing_method(method) if method.__name__ in CHANGING else _with_out(method)


def _with_out(method: Any) -> Callable[..., Any]:
    """A method of a known array, which changes at most another one."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            check_changes(None, args, kwargs)
        if has_tracer(kwargs):  # NumPy wants memory for `out=`
            return getattr(as_traced(method.__self__), method.__name__)(*args, **kwargs)
        return method(*args, **kwargs)

    return call


OF_METHODS[np.ndarray] = _method


def _scalar_type(kind: Any) -> Callable[..., Any]:
    """A scalar type of NumPy's, of which the call with a traced value is a conversion."""

    @functools.wraps(kind, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and has_tracer(args):
            return named(as_array(args[0]).astype(kind))
        return kind(*args, **kwargs)

    return call


for _kind in {dtype.type for dtype in SHORT_NAMES}:
    SUBSTITUTES[id(_kind)] = (_kind, _scalar_type(_kind))


def _exported(function: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        is_plain = not has_tracer(args) and not has_tracer(kwargs)
        return (function if is_plain else EXPORTS[function.__name__])(*args, **kwargs)

    return call


for _function in _RARE:
    SUBSTITUTES[id(_function)] = (_function, _exported(_function))


def _of_scalars(*args: Any, **kwargs: Any) -> Any:
    """`numpy.frompyfunc`, whose ufuncs take traced arrays."""
    return jax_compat.frompyfunc(*args, **kwargs)


SUBSTITUTES[id(np.frompyfunc)] = (np.frompyfunc, _of_scalars)


def _vectorized(plain: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of an instance of `numpy.vectorize`."""
    if plain.pyfunc is NOTHING or not (has_tracer(args) or has_tracer(kwargs)):
        return plain(*args, **kwargs)
    known = (plain.pyfunc, plain.otypes, None, plain.excluded, plain.cache, plain.signature)
    return EXPORTS["vectorize"](*known)(*args, **kwargs)


OF_INSTANCES[np.vectorize] = lambda plain: functools.partial(_vectorized, plain)


def _of_lists(function: Any) -> Any:
    """A function of NumPy's that it dispatches by its arguments, but not by what lists hold, nor by
    sizes."""
    implementation = FUNCTIONS.get(function)
    if implementation is None:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        is_ours = has_tracer(args) or has_tracer(kwargs)
        check_changes(function, args, kwargs)
        return named((implementation if is_ours else function)(*args, **kwargs))

    return call


OF_INSTANCES[type(np.sum)] = _of_lists


def _of_ufunc(function: Any) -> Any:
    """A ufunc or a method of one, which NumPy makes arrays of lists for, whatever they hold."""
    is_method = isinstance(function, BuiltinFunctionType)
    ufunc, method = (function.__self__, function.__name__) if is_method else (function, "__call__")

    def call(*args: Any, **kwargs: Any) -> Any:
        if method == "at":
            check_assignment(args[1:], args[0])
        else:
            check_changes(ufunc if method == "__call__" else None, args, kwargs)
        if any(isinstance(a, list | tuple) and has_tracer(a) for a in args):
            return named(UFUNC_METHODS[method](ufunc, *args, **kwargs))
        return function(*args, **kwargs)

    return call


OF_INSTANCES[np.ufunc] = OF_METHODS[np.ufunc] = _of_ufunc


def _from_items(iter: Iterable[Any], dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    """`numpy.fromiter`, of traced items too."""
    items = list(iter if count < 0 else itertools.islice(iter, count))
    if has_tracer(items):
        return named(as_array(items).astype(dtype))
    return np.fromiter(items, dtype, count, like=like)


SUBSTITUTES[id(np.fromiter)] = (np.fromiter, _from_items)


def _class_of(x: Any) -> type:
    """The class that a value has in Python where it is not traced: an array's, or that of a number;
    what has no axes is a scalar, as NumPy's results without axes are."""
    if not isinstance(x, Tracer):
        return type(x)
    if x.ndim:
        return np.ndarray
    return PYTHON_TYPES.get(x.dtype, x.dtype.type) if x.type.weak else x.dtype.type


def is_instance(value: Any, kinds: Any, /) -> bool:
    """`isinstance`, of traced values as of what they stand for."""
    if not isinstance(value, Tracer) or isinstance(value, kinds):
        return isinstance(value, kinds)
    try:
        return issubclass(_class_of(value), kinds)
    except TypeError:  # a protocol with data, which asks for an instance
        return False


def _type(*args: Any, **kwargs: Any) -> Any:
    """`type`, of traced values that of what they stand for."""
    is_asked = len(args) == 1 and not kwargs
    return _class_of(args[0]) if is_asked else type(*args, **kwargs)


def _isscalar(element: Any) -> bool:
    """`numpy.isscalar`: a traced number is one."""
    return element.ndim == 0 if isinstance(element, Tracer) else np.isscalar(element)


SUBSTITUTES[id(isinstance)] = (isinstance, is_instance)
SUBSTITUTES[id(type)] = (type, _type)
SUBSTITUTES[id(np.isscalar)] = (np.isscalar, _isscalar)


class _Joined:
    """`numpy.r_` or `numpy.c_` with a traced value in the brackets."""

    def __init__(self, plain: Any, name: str) -> None:
        self._plain, self._name = plain, name

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):  # a matrix of the variables of the code that asks for it
            frame = sys._getframe(1)
            return np.bmat(key, frame.f_globals, frame.f_locals)
        return (getattr(ranges, self._name) if has_tracer(key) else self._plain)[key]


for _name in ("r_", "c_"):
    SUBSTITUTES[id(getattr(np, _name))] = (getattr(np, _name), _Joined(getattr(np, _name), _name))


def _nditer(op: Any, *args: Any, **kwargs: Any) -> Any:
    """numpy.nditer, which goes over arrays in memory."""
    if any(map(has_tracer, op if isinstance(op, list | tuple) else [op])):
        raise unsupported(
            "numpy.nditer goes over memory, which traced arrays have not: write numpy.ndenumerate, "
            "or `for v in x.flat`"
        )
    return np.nditer(op, *args, **kwargs)


SUBSTITUTES[id(np.nditer)] = (np.nditer, _nditer)
